"""Calls of functions and methods that need values themselves: loops that keep `float(loss)`, solvers, early stopping."""

from ..cell import written

PRELUDE = """
import functools, contextlib, threading, itertools
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
data = [jnp.arange(4.0) + k for k in range(3)]
def step(p, b, lr=0.01):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((p * b - 1.0) ** 2))(p)
    return p - lr * g, loss
"""

CELLS = written(
    PRELUDE,
    r"""
### cal-train-keeps-floats
def train(p, data, n=4):
    "Trains."
    losses, best = [], None
    for i in range(n):
        for b in data:
            p, loss = step(p, b)
            scaled = loss * 2 + i
            losses.append(float(loss))
        if best is None or losses[-1] < best:
            best = losses[-1]
    return p, losses, best, scaled
p0 = jnp.ones(4)
---
p, losses, best, scaled = train(p0, data)
---
p0 = p0 * 2
---
data = data[:2]

### cal-trainer-fit
class Trainer:
    def __init__(self):
        self.p, self.history, self.__steps = jnp.ones(4), {"loss": [], "norm": []}, 0
    def fit(self, data, *, epochs=2, **kw):
        for epoch in range(epochs):
            total = 0.0
            for b in data:
                self.p, loss = step(self.p, b, **kw)
                self.__steps += 1
                total += loss.item()
            self.history["loss"].append(total / len(data))
            self.history["norm"].append(float(jnp.linalg.norm(self.p)))
        return self
    @property
    def steps(self): return self.__steps
t = Trainer()
---
same = t.fit(data, lr=0.1)
is_same, count, history = same is t, t.steps, t.history
---
t = Trainer()
---
data = [b[:2] for b in data]; t.p = t.p[:2]

### cal-newton-while
def solve(f, x0, tol=1e-5):
    x, n, trace = x0, 0, []
    df = jax.grad(f)
    while abs(float(f(x))) > tol and n < 50:
        x = x - f(x) / df(x)
        n += 1
        trace.append(x)
    else:
        trace.append("done")
    return x, n, trace
---
root, n, trace = solve(lambda v: v ** 2 - 2.0, jnp.float32(3.0))
last_is_root = trace[-2] is root
---
x0 = 1

### cal-early-stopping-break
def fit(p, data, patience=2):
    best, bad, log = np.inf, 0, []
    for epoch in range(10):
        for b in data:
            p, loss = step(p, b, 0.3)
        value = float(loss)
        log.append((epoch, value))
        if value < best - 1e-4:
            best, bad = value, 0
            kept = p
            continue
        bad += 1
        if bad >= patience:
            break
    else:
        log.append("all")
    return kept, best, log
---
kept, best, log = fit(jnp.ones(4), data)
---
data = [jnp.zeros(4)]

### cal-nested-helpers tolerance=1e-6
def epoch(p, data):
    seen = []
    for b in data:
        p, loss = step(p, b)
        seen.append(float(loss))
    return p, np.mean(seen)
def run(p, n):
    means = []
    for i in range(n):
        p, mean = epoch(p, data)
        means.append(mean)
        q = p * 2 + i
    return p, q, means
---
p, q, means = run(jnp.ones(4), 3)
---
data = data[::-1]

### cal-returns-in-the-middle
def find(p):
    for i in range(5):
        p, loss = step(p, x, 0.5)
        if float(loss) < 0.6:
            return i, p, "found"
    return None, jnp.sum(p) * 2, "not"
---
where, what, word = find(jnp.ones(4))
---
x = x * 0.1

### cal-nonlocal-and-global
total = jnp.zeros(())
def make():
    count, acc = 0, jnp.zeros(4)
    def update(p):
        nonlocal count, acc
        global total
        acc = acc + p * 2
        total = total + jnp.sum(acc)
        count += 1
        return float(acc[0])
    def read(): return count, acc
    return update, read
update, read = make()
---
a = update(x)
b = update(x + 1)
seen = read()
---
update, read = make()
---
total = jnp.ones(())

### cal-recursion
def halve(v, depth, log):
    s = jnp.sum(v * v) + depth
    log.append(float(s))
    if depth == 0:
        return s
    left = halve(v / 2, depth - 1, log)
    return left + halve(v * 0.5 + 1, depth - 1, log) * 2
---
log = []
s = halve(x, 3, log)
---
x = x + 1

### cal-try-finally-with
class Ctx:
    def __init__(self): self.log = []
    def __enter__(self): self.log.append("in"); return self
    def __exit__(self, *a): self.log.append(a[0].__name__ if a[0] else "out"); return True
def guarded(v):
    c, out = Ctx(), []
    with c as inner:
        y = jnp.exp(v)
        out.append(float(y.sum()))
        z = y / 2
    try:
        w = z * 3
        if float(w[0]) > 0:
            raise ValueError("big")
        never = w * 2
    except ValueError as e:
        out.append(str(e)); u = w + 1
    finally:
        f = u * 2
    with Ctx() as d:
        g = f + 1
        out.append(1 / int(g[0] * 0))
    return c.log, d.log, out, f, g, inner is c
---
r = guarded(x)
---
x = -x

### cal-aliases-made
def make(v):
    a = v * 2
    float(a[0])
    b = a
    c = [a, b, {"k": a}]
    d = c[2]
    d["again"] = c[0]
    return v, a, b, c, d
---
v, a, b, c, d = make(x)
facts = v is x, a is b, c[0] is a, d is c[2], d["again"] is a, c[2]["k"] is a
---
x = x * 3

### cal-numpy-in-place
def fill(n):
    out = np.zeros((n, 4), np.float64)
    ref = out[1:]
    for i in range(n):
        out[i] = jnp.sin(x * i)
        k = jnp.sum(x) * i
        out[i, 0] = float(k)
    return out, ref, out.dtype, ref.base is out
---
out, ref, dtype, based = fill(3)
---
x = x + 0.5

### cal-deletes-and-unbound
def odd(v, flag):
    y = v * 2
    float(y[0])
    del v
    if flag:
        z = y + 1
    try:
        return z * 2, "z"
    except UnboundLocalError as e:
        return y, type(e).__name__, str(e).split("'")[1]
def gone(v):
    y = v * 2
    float(y[0])
    del y
    try:
        return y + 1
    except NameError as e:
        return type(e).__name__
---
one, two, three = odd(x, True), odd(x, False), gone(x)
---
x = x + 1

### cal-walrus-comprehension-lambda
def many(v):
    if (s := float(jnp.sum(v))) > 2 and (w := v * 2) is not None:
        ys = [w * k for k in range(3)]
    fs = [lambda a, k=k: a * k + v for k in range(3)]
    late = [lambda: w]
    w = w + 1
    zs = {k: f(w) for k, f in enumerate(fs)}
    gen = sum(y.sum() for y in ys)
    return s, ys, zs, gen, late[0]() is w, [f.__qualname__ for f in fs], late[0].__name__
---
r = many(x)
---
x = x * 2

### cal-signatures
def all_kinds(a, /, b, c=jnp.ones(4), *rest, d=2.0, **more):
    y = a * b + c * d
    note = float(y[0])
    z = y + sum(rest) + sum(more.values())
    a, b = b, a
    return z, note, a is more.get("q"), sorted(more), len(rest), b
---
one = all_kinds(x, x + 1)
two = all_kinds(x, 2.0, x, 1.0, x, d=0.5, q=x, r=3)
---
x = x * 2

### cal-decorated
def logged(f):
    @functools.wraps(f)
    def inner(*a, **k):
        r = f(*a, **k)
        calls.append((f.__name__, float(jnp.sum(r))))
        return r * 2
    return inner
calls = []
@logged
def g(v):
    u = jnp.tanh(v)
    calls.append(round(float(u[1]), 3))
    return u + v
@functools.lru_cache(maxsize=None)
def scale(k):
    return float(jnp.sqrt(jnp.float32(k))) * 2
---
y = g(x)
z = g(y) * scale(4)
names = g.__name__, g.__wrapped__.__name__
---
x = x + 1
---
calls.clear()

### cal-generator-inside
def batches(n):
    for i in range(n):
        yield jnp.ones(4) * i, i
def use(n):
    acc, seen = jnp.zeros(4), []
    for b, i in batches(n):
        acc = acc + b * x
        seen.append((i, float(acc[1])))
    first, *others = seen
    return acc, first, others
---
acc, first, others = use(4)
---
x = x * 2

### cal-class-and-function-inside
def build(v):
    scale = v * 2
    float(scale[0])
    class Model:
        w = scale
        def __call__(self, u): return u * self.w + scale
    def helper(u): return u - scale
    m = Model()
    y = helper(m(v)) * 3
    return m, helper, y, Model.__qualname__, helper.__qualname__
---
m, helper, y, q1, q2 = build(x)
z = m(x) + helper(x)
---
x = x + 2

### cal-same-cell-definition
k = 3.0
---
def run(v, n):
    out = []
    for i in range(n):
        v = jnp.sin(v) * k
        out.append(float(v[1]))
    return v, out
v, out = run(x, 3)
---
k = 4.0
---
x = x + 1

### cal-function-changed
def run(v):
    y = v * 2
    return y, float(y[1])
---
y, f = run(x)
---
def run(v):
    y = v * 3
    return y + 1, float(y[2]), "new"
def unpack(): pass
_run = run
def run(v):
    a, b, c = _run(v)
    return a, b
---
def run(v):
    return v * 2, 1.0

### cal-raises-midway
def bad(v, log):
    y = v * 2
    log.append(float(y[0]))
    v = y + 1
    if float(v[0]) > 0.5:
        raise RuntimeError(f"at {float(v[0]):.2f}")
    return v
log = []
---
try:
    r = bad(x, log)
except RuntimeError as e:
    r = str(e), e.args
---
x = -x - 5

### cal-raises-out
def bad(v, log):
    y = v * 2
    log.append(float(y[0]))
    z = jnp.dot(y, jnp.ones(7))
    return z
log = []
---
a = x * 2
r = bad(x, log)
---
x = x + 1

### cal-threads watched
def worker(v, out, k):
    for i in range(3):
        v = jnp.cos(v) + i
        out[k].append(float(v[0]))
    return v
def both(v):
    out = {0: [], 1: [], 2: []}
    t = [threading.Thread(target=worker, args=(v + k, out, k)) for k in (1, 2)]
    for one in t: one.start()
    r = worker(v, out, 0)
    for one in t: one.join()
    return r, out
---
r, out = both(x)
---
x = x + 1

### cal-under-jit-and-vmap
def inner(v):
    y = v * 2
    try:
        note = float(y.sum())
    except Exception as e:
        note = "traced"
    return y, note if note == "traced" else 0
def both(v):
    a, n = inner(v)
    b = jax.vmap(lambda u: inner(u)[0])(jnp.stack([v, v]))
    c = jax.jit(lambda u: inner(u)[0])(v)
    return a, b, c, n, float(c[0])
---
a, b, c, n, f = both(x)
---
x = x + 3

### cal-match-and-defaults
def kind(item, into=[]):
    match item:
        case {"w": w, **rest}:
            y = w * 2
            into.append(float(y[0]))
            out = y, sorted(rest)
        case [a, *b] if float(a) > 0:
            out = a * 3, len(b)
        case jax.Array() as z:
            out = jnp.sum(z) + 1, into
        case _:
            out = None
    return out
---
r = kind({"w": x, "k": 1}), kind([1.0, 2, 3]), kind(x), kind("no")
---
x = x + 1

### cal-dicts-and-loops-over-state
def adam(params, data, b1=0.9):
    m = {k: jnp.zeros_like(v) for k, v in params.items()}
    history = []
    for t, b in enumerate(data, 1):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((p["w"] * b + p["b"] - 1) ** 2))(params)
        for k in params:
            m[k] = b1 * m[k] + (1 - b1) * grads[k]
            params[k] = params[k] - 0.1 * m[k] / (1 - b1 ** t)
        history.append({"t": t, "loss": float(loss), "w": params["w"]})
    return m, history
params = {"w": jnp.ones(4), "b": jnp.zeros(4)}
---
m, history = adam(params, data)
shared = history[-1]["w"] is params["w"]
---
params["w"] = params["w"] * 2

### cal-grows-a-list-of-arrays
hist = []
def collect(v, n):
    for i in range(n):
        v = jnp.sin(v) + 1
        hist.append(v)
        last = float(hist[-1][0])
    return v, last, len(hist)
---
v, last, count = collect(x, 4)
---
x = x + 1

### cal-prints-inside
def noisy(v, n):
    for i in range(n):
        v = v * 0.9
        loss = jnp.sum(v ** 2)
        if i % 2 == 0:
            print(f"step {i}: {loss:.4f}")
        print("done", i)
    print("end", float(loss))
    return v
---
v = noisy(x, 4)
---
x = x + 1

### cal-random-keys
def sample(key, n):
    out = []
    for _ in range(n):
        key, sub = jax.random.split(key)
        u = jax.random.uniform(sub)
        if float(u) < 0.5:
            out.append(("low", u))
        else:
            out.append(("high", jax.random.normal(sub, (2,))))
    return key, out
---
key, out = sample(jax.random.key(0), 5)
---
n = 3

### cal-host-random-and-permutation
def train(p, rng, n):
    order = []
    for i in range(n):
        perm = rng.permutation(4)
        order.append(perm.tolist())
        batch = x[perm]
        p, loss = step(p, batch)
        order.append(round(float(loss), 5))
    return p, order
---
p, order = train(jnp.ones(4), np.random.default_rng(0), 3)
---
x = x * 2

### cal-static-methods-and-slots
class Box:
    __slots__ = ("w", "n")
    def __init__(self, w): self.w, self.n = w, 0
    @staticmethod
    def norm(v):
        s = jnp.sqrt(jnp.sum(v * v))
        return v / s, float(s)
    @classmethod
    def of(cls, v):
        u, s = cls.norm(v)
        out = cls(u * 2)
        out.n = s
        return out
    def move(self, k):
        self.w = self.w + k
        self.n = float(self.w[0])
        return self
b = Box(x)
---
c = Box.of(x + 1)
d = b.move(2.0)
vals = b.w, b.n, c.w, c.n, d is b
---
b = Box(x * 2)

### cal-partial-and-bound
class S:
    def __init__(self): self.v = x
    def go(self, k):
        self.v = self.v * k + 1
        return float(self.v[0]), self.v
s = S()
go, half = s.go, functools.partial(S.go, s, 0.5)
---
a, b = go(2.0), half()
same = b[1] is s.v
---
s.v = x

### cal-map-and-sorted-callbacks
def score(v):
    y = jnp.sum(v ** 2)
    return float(y)
---
best = min(data, key=score)
order = sorted(data, key=score, reverse=True)
scores = list(map(score, data))
is_one = any(best is d for d in data)
---
data = data[::-1]

### cal-while-true-with-state
def bisect(f, lo, hi):
    steps = 0
    while True:
        mid = (lo + hi) / 2
        value = f(mid)
        steps += 1
        if abs(float(value)) < 1e-4 or steps > 40:
            return mid, value, steps
        if float(value) > 0:
            hi = mid
        else:
            lo = mid
---
mid, value, steps = bisect(lambda v: v ** 3 - 2, jnp.float32(0), jnp.float32(2))
---
y = 1

### cal-long-loop-without-floats
def long(p, n):
    m = jnp.zeros_like(p)
    for i in range(n):
        loss, g = jax.value_and_grad(lambda p: jnp.mean(jnp.tanh(p * x) ** 2))(p)
        m = 0.9 * m + g
        p = p - 0.05 * m
    return p, loss
---
p, loss = long(jnp.ones(4), 300)
---
x = x + 1

### cal-scalars-of-python
def mix(a, n):
    t, k = 0.5, 1
    for i in range(n):
        t = t * a
        k += i
        y = x * t + k
        u = float(y[0])
    return t, k, y, u, type(t), type(k), t is not a
---
t, k, y, u, tt, kt, other = mix(0.9, 4)
---
x = x + 1

### cal-two-cells-deep-closure
def outer(v):
    w = v * 2
    def mid(u):
        z = u + w
        def deep(q):
            r = q * z
            return float(r.sum()), r
        return deep(u * 2)
    a = mid(v)
    w = w + 1
    b = mid(v)
    return a, b, w
---
a, b, w = outer(x)
---
x = x + 1

### cal-attribute-of-function
def count(v):
    count.calls = getattr(count, "calls", 0) + 1
    y = v * count.calls
    count.last = y
    return float(y[1])
---
a = count(x)
b = count(x)
kept = count.last, count.calls
---
count.calls = 10

### cal-devices devices=4
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4,), ("i",))
sharded = jax.device_put(x, NamedSharding(mesh, P("i")))
def go(v):
    y = v * 2
    s = float(y.sum())
    z = jax.device_put(y, NamedSharding(mesh, P()))
    w = jax.device_put(y + 1, jax.devices()[1])
    return y, s, z, w
---
y, s, z, w = go(sharded)
---
sharded = jax.device_put(x + 1, NamedSharding(mesh, P()))

### cal-x64 x64
def go(v):
    y = v * 2
    s = float(y.sum())
    n = np.float64(1.5) * s
    return y + n, s, n, jnp.asarray(n) * y
---
a, s, n, b = go(jnp.arange(3.0))
---
y = 1
""",
)
