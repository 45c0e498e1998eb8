"""What helpers print, log, warn and write while something around them changes how that looks or where it goes."""

from ..cell import written

PRELUDE = """
import collections, contextlib, decimal, functools, io, itertools, json, logging, math, os, random, sys, time, warnings
from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### ua-helper-prints-arrays-under-numpy-printoptions
def show(name, x, digits=2):
    with np.printoptions(precision=digits, suppress=True):
        print(name, x)
    print(name, x.sum())
x = jnp.array([1.23456, 1e-5, 1000.5])
---
show("a", x)
y = jnp.sqrt(x)
show("b", y, 4)
y
---
x = x * 3

### ua-helper-redirects-its-own-prints-into-a-buffer
def captured(f, *a):
    buf = io.StringIO()
    with contextlib.redirect_stdout(buf):
        r = f(*a)
    return r, buf.getvalue()
def step(x):
    print(f"loss {jnp.sum(x ** 2):.3f}")
    return x * 0.5
x, log = jnp.array([1.0, 2.0]), []
---
y, t = captured(step, x)
z, u = captured(step, y)
log.append((len(t), len(u)))
z
---
x = x * 100

### ua-tee-stdout-class-swapped-in-a-context
class Tee:
    def __init__(self, out): self.out, self.lines = out, []
    def write(self, s): self.lines.append(s); return self.out.write(s)
    def flush(self): self.out.flush()
@contextlib.contextmanager
def tee():
    old, sys.stdout = sys.stdout, Tee(sys.stdout)
    try: yield sys.stdout
    finally: sys.stdout = old
def step(x):
    print("norm", jnp.linalg.norm(x))
    return x / 2
x = jnp.array([3.0, 4.0])
---
with tee() as t:
    for _ in range(2): x = step(x)
text = "".join(t.lines)
del t
x
---
x = jnp.array([6.0, 8.0])

### ua-logger-level-lowered-in-the-middle-of-a-helper
log = logging.getLogger("ua.mid")
log.setLevel(logging.WARNING)
def fit(w):
    for i in range(3):
        w = w - 0.1 * jax.grad(lambda w: jnp.sum(w ** 2))(w)
        log.info("step %d %.3f", i, w[0])
        if i == 1: log.setLevel(logging.INFO)
    log.warning("done %s", w.shape)
    log.setLevel(logging.WARNING)
    return w
w = jnp.array([1.0, 2.0])
---
w = fit(w)
w
---
w = jnp.array([5.0, 2.0])

### ua-handler-added-removed-and-stream-closed-in-the-cell
log = logging.getLogger("ua.h"); log.setLevel(logging.INFO); log.propagate = False
def run(x):
    log.info("mean %.2f", x.mean())
    return x + 1
x = jnp.arange(3.0)
---
stream = io.StringIO()
h = logging.StreamHandler(stream)
h.setFormatter(logging.Formatter("%(levelname)s|%(message)s"))
log.addHandler(h)
y = run(x)
log.removeHandler(h)
z = run(y)
out = stream.getvalue().splitlines()
print(out, len(log.handlers))
del h, stream
z
---
x = x * 5

### ua-helper-writes-carriage-returns-to-stdout-and-stderr
def train(w, n):
    for i in range(n):
        w = w * 0.9
        sys.stdout.write(f"\r{i + 1}/{n} {'=' * i}> {w.sum():.2f}")
        sys.stdout.flush()
    sys.stdout.write("\n")
    print("finished", file=sys.stderr)
    return w
w, n = jnp.ones(2), 3
---
w = train(w, n)
w
---
n = 4

### ua-helper-warns-with-a-value-and-is-filtered
def check(x, tol):
    worst = jnp.abs(x).max()
    if worst > tol: warnings.warn(f"max {float(worst):.1f} above {tol}", RuntimeWarning, stacklevel=2)
    return jnp.clip(x, -tol, tol)
x, tol = jnp.array([1.0, -7.0]), 5.0
---
with warnings.catch_warnings(record=True) as ws:
    warnings.simplefilter("always")
    y = check(x, tol)
    z = check(x / 2, tol)
texts = [(str(w.message), w.category.__name__) for w in ws]
del ws
print(texts)
y + z
---
tol = 1.0
---
x = x * 0

### ua-decimal-context-and-number-formats-in-a-helper
def money(v):
    with decimal.localcontext() as c:
        c.prec = 4
        d = +decimal.Decimal(str(round(float(v), 5)))
    return f"{d:,} EUR"
rates = jnp.array([0.05, 0.1])
---
vals = 1234.5678 * jnp.exp(rates * 2)
lines = [money(v) for v in vals]
print(*lines, sep=" | ")
vals
---
rates = rates * 2

### ua-make-jaxpr-of-closures-over-floats-ints-and-arrays-printed
s, k, c = 2.5, 3, jnp.array([1.0, 2.0])
def f(x): return (x * s + c) ** k
x = jnp.ones(2)
---
jp = jax.make_jaxpr(f)(x)
text = str(jp)
consts = [v.shape for v in jp.consts]
del jp
print(text, consts)
f(x)
---
s = 0.5
---
k = 2
---
c = c * 2

### ua-lowered-text-and-trace-stages-looked-at
s = 3.0
f = jax.jit(lambda x: jnp.tanh(x) * s)
x = jnp.ones(2)
---
text = f.lower(x).as_text()
ops = [w.split("=")[1].split()[0] for w in text.splitlines() if "stablehlo." in w and "=" in w]
tr = f.trace(x)
n = len(tr.jaxpr.eqns)
del tr, text
print(ops, n)
f(x)
---
x = jnp.ones(3)

### ua-checking-leaks-and-disable-jit-contexts-around-a-call
def f(x):
    y = jnp.sin(x)
    return y.sum() * 2
leaks, x = [], jnp.arange(3.0)
@jax.jit
def leaky(x):
    leaks.append(x)
    return x * 2
---
with jax.checking_leaks():
    a = f(x)
    try:
        leaky(x)
    except Exception as e:
        msg = type(e).__name__, "Leaked" in str(e)
with jax.disable_jit():
    b = jax.jit(f)(x)
leaks.clear()
print(msg)
a + b
---
x = x + 1

### ua-seeded-rng-contexts-restore-state-in-a-with-block
@contextlib.contextmanager
def seeded(n):
    py, npy = random.getstate(), np.random.get_state()
    random.seed(n); np.random.seed(n)
    try: yield np.random.default_rng(n)
    finally: random.setstate(py); np.random.set_state(npy)
def noisy(x, rng): return x + jnp.asarray(rng.normal(size=x.shape), x.dtype) + random.random() + np.random.rand()
x, n = jnp.zeros(2), 3
random.seed(0); np.random.seed(0)
---
with seeded(n) as rng:
    a = noisy(x, rng)
with seeded(n) as rng2:
    b = noisy(x, rng2)
same = bool((a == b).all())
print(same)
a
---
n = 4

### ua-rich-like-table-printed-by-a-class-with-widths
class Table:
    def __init__(self, *heads): self.heads, self.rows = heads, []
    def row(self, *cells): self.rows.append([c if isinstance(c, str) else f"{c:.3g}" for c in cells])
    def __str__(self):
        ws = [max(len(r[i]) for r in [self.heads, *self.rows]) for i in range(len(self.heads))]
        line = lambda r: " | ".join(f"{c:>{w}}" for c, w in zip(r, ws))
        return "\n".join([line(self.heads), "-+-".join("-" * w for w in ws), *map(line, self.rows)])
fs = {"sin": jnp.sin, "square": jnp.square}
x = jnp.array(0.5)
---
t = Table("f", "value", "grad")
for name, f in fs.items():
    v, g = jax.value_and_grad(f)(x)
    t.row(name, v, g)
print(t)
v + g
---
x = jnp.array(12.0)
---
fs["tanh"] = jnp.tanh

### ua-helper-writes-a-file-per-call-and-names-it-by-value
def dump(x, folder):
    os.makedirs(folder, exist_ok=True)
    m = jnp.mean(x)
    name = f"{folder}/m{m:.1f}.txt"
    with open(name, "w") as f:
        print(*x, sep=",", file=f)
    return m
x = jnp.arange(4.0)
---
m = dump(x, "out") + dump(x * 2, "out")
print(sorted(os.listdir("out")))
m
---
x = x + 1

### ua-timer-with-fake-clock-prints-and-accumulates cold
class Clock:
    def __init__(self): self.t = 0.0
    def __call__(self): self.t += 0.25; return self.t
clock, spent = Clock(), collections.defaultdict(float)
def timed(label):
    def deco(f):
        def g(*a):
            t0 = clock()
            r = jax.block_until_ready(f(*a))
            spent[label] += clock() - t0
            print(f"{label} took {spent[label]:.2f}s -> {r.mean():.2f}")
            return r
        return g
    return deco
@timed("mul")
def mul(x): return x * 3
x = jnp.ones(2)
---
y = mul(mul(x))
print(dict(spent)["mul"] > 0)
y
---
clock.t = 0.0; spent.clear()
""",
)
