"""Classes with state, closures, caches, files, threads and other ways of Python around computations."""

from ..cell import written

PRELUDE = """
import abc, atexit, bisect, collections, configparser, contextlib, contextvars, copy, csv, dataclasses, enum, functools, gc
import glob, gzip, hashlib, heapq, io, itertools, json, logging, math, operator, os, pickle, queue, random, re, shelve
import shutil, sqlite3, statistics, string, struct, sys, tempfile, textwrap, threading, time, types, typing, warnings
import weakref, zipfile
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-memo-decorator-on-bytes-of-an-array-with-hit-counter
class Memo:
    def __init__(self, f): self.f, self.store, self.hits = f, {}, 0; functools.update_wrapper(self, f)
    def __call__(self, x):
        k = (x.shape, str(x.dtype), np.asarray(x).tobytes())
        if k in self.store: self.hits += 1
        else: self.store[k] = self.f(x)
        return self.store[k]
@Memo
def spectrum(x): "Power."; return jnp.abs(jnp.fft.rfft(x)) ** 2
x = jnp.array([1.0, 0.0, -1.0, 0.0])
---
a = spectrum(x); b = spectrum(x + 0.0)
r = a is b, spectrum.hits, len(spectrum.store), spectrum.__doc__
z = a.sum() / len(x)
print(r)
---
x = x * 2
---
spectrum.store.clear()

### xa-undo-redo-stack-of-parameter-edits
class Editor:
    def __init__(self, v): self.v, self.past, self.future = v, [], []
    def do(self, f): self.past.append(self.v); self.v = f(self.v); self.future.clear(); return self
    def undo(self):
        if not self.past: raise IndexError("nothing to undo")
        self.future.append(self.v); self.v = self.past.pop(); return self
    def redo(self): self.past.append(self.v); self.v = self.future.pop(); return self
ed = Editor(jnp.arange(3.0)); gain = 2.0
---
ed.do(lambda v: v * gain).do(jnp.sin).undo()
kept = ed.v
ed.redo().undo()
same = ed.v is kept
try:
    for _ in range(9): ed.undo()
except IndexError as e: print(e, len(ed.future), same)
ed.v
---
gain = 3
---
ed.do(lambda v: v[:2])
---
ed.future.clear(); ed = Editor(kept)

### xa-sqlite-runs-table-written-and-best-selected
db = sqlite3.connect(":memory:"); db.execute("create table runs (id integer primary key, lr real, loss real)"); lrs = [0.1, 0.4]
x = jnp.array([1.0, 2.0])
---
for lr in lrs:
    w = x
    for _ in range(3): w = w - lr * 2 * w
    db.execute("insert into runs (lr, loss) values (?, ?)", (lr, float((w ** 2).sum())))
best = db.execute("select lr from runs order by loss, id limit 1").fetchone()[0]
n, = db.execute("select count(*) from runs").fetchone()
y = x * best
print(best, n)
---
lrs.append(0.5)
---
db.execute("delete from runs")

### xa-prefetch-thread-with-queue-and-sentinel-feeding-a-loop
def producer(q, n, scale):
    for i in range(n): q.put(np.full(3, i * scale, np.float32))
    q.put(None)
n, scale = 3, 1.0
---
q = queue.Queue(maxsize=2)
th = threading.Thread(target=producer, args=(q, n, scale), daemon=True); th.start()
acc, seen = jnp.zeros(3), 0
while (b := q.get()) is not None:
    acc = acc + jnp.tanh(b); seen += 1
th.join(); alive = th.is_alive(); del th, q
print(seen, alive)
acc
---
scale = 0.5
---
n = 5

### xa-abstract-base-kernel-algebra-with-operator-composition
class Kernel(abc.ABC):
    @abc.abstractmethod
    def __call__(self, x, y): ...
    def __add__(self, o): return Sum(self, o)
    def __mul__(self, o): return Prod(self, o)
@dataclasses.dataclass
class RBF(Kernel):
    l: float = 1.0
    def __call__(self, x, y): return jnp.exp(-0.5 * ((x[:, None] - y) / self.l) ** 2)
@dataclasses.dataclass
class Lin(Kernel):
    c: float = 0.0
    def __call__(self, x, y): return (x[:, None] - self.c) * (y - self.c)
@dataclasses.dataclass
class Sum(Kernel):
    a: Kernel; b: Kernel
    def __call__(self, x, y): return self.a(x, y) + self.b(x, y)
class Prod(Sum):
    def __call__(self, x, y): return self.a(x, y) * self.b(x, y)
X = jnp.linspace(-1, 1, 5); t = jnp.sin(3 * X); noise = 0.1; rbf = RBF(0.5)
---
k = rbf + Lin() * RBF(2.0)
K = k(X, X) + noise ** 2 * jnp.eye(len(X))
L = jnp.linalg.cholesky(K)
alpha = jax.scipy.linalg.cho_solve((L, True), t)
nll = 0.5 * t @ alpha + jnp.log(jnp.diagonal(L)).sum()
mean = k(jnp.array([0.3]), X) @ alpha
try: Kernel()
except TypeError as e: msg = str(e)[:30]
print(k, f"{nll:.3f}", msg)
mean
---
rbf.l = 1.5
---
noise = 1
---
Sum.__call__ = lambda self, x, y: self.a(x, y) - 0.1 * self.b(x, y)

### xa-config-ini-read-with-defaults-and-edited-on-disk
Path("c.ini").write_text("[model]\nwidth = 3\nact = tanh\n[train]\nlr = 0.1\nsteps = 2\n")
x = jnp.ones((2, 2))
---
cp = configparser.ConfigParser(); cp.read("c.ini")
m, t = cp["model"], cp["train"]
W = jax.random.normal(jax.random.key(t.getint("seed", 0)), (2, m.getint("width")))
for _ in range(t.getint("steps")): W = W - t.getfloat("lr") * jax.grad(lambda W: (getattr(jnp, m["act"])(x @ W) ** 2).sum())(W)
print(cp.sections(), m.get("drop", fallback="none"), W.shape); del cp, m, t
W
---
Path("c.ini").write_text(Path("c.ini").read_text().replace("tanh", "sin"))
---
Path("c.ini").write_text(Path("c.ini").read_text().replace("width = 3", "width = 1\ndrop = 0.5"))

### xa-contextvar-holds-the-current-precision-policy
policy = contextvars.ContextVar("policy", default=jnp.float32)
@contextlib.contextmanager
def using(dt):
    tok = policy.set(dt)
    try: yield
    finally: policy.reset(tok)
def dense(x, w): return (x.astype(policy.get()) @ w.astype(policy.get())).astype(jnp.float32)
x = jnp.arange(4.0).reshape(2, 2) / 3; w = jnp.eye(2) + 0.1; low = jnp.bfloat16
---
a = dense(x, w)
with using(low):
    b = dense(x, w)
    with using(jnp.float16): c = dense(x, w)
d = dense(x, w)
print(policy.get().__name__, float(jnp.abs(a - b).max()) >= 0, bool((a == d).all()))
a.dtype, c
---
low = jnp.float32
---
tok = policy.set(jnp.float16)

### xa-event-bus-with-subscribers-added-by-decorator
class Bus:
    def __init__(self): self.subs = collections.defaultdict(list)
    def on(self, name):
        def deco(f): self.subs[name].append(f); return f
        return deco
    def emit(self, name, **kw): return [f(**kw) for f in self.subs[name]]
bus = Bus(); hist = []
@bus.on("step")
def keep(step, loss): hist.append((step, loss))
w = jnp.array([2.0, -1.0])
---
for step in range(3):
    loss = jnp.sum(w ** 2); w = w * 0.8
    bus.emit("step", step=step, loss=loss)
curve = jnp.stack([l for _, l in hist[-3:]])
print(len(hist), len(bus.subs["step"]))
curve
---
hist.clear()
---
bus.on("step")(lambda step, loss: hist.append((step, -loss)) if step == 2 else None)
---
bus.subs["step"].pop(0)

### xa-lazy-descriptor-parameters-validated-by-set-name
class Bounded:
    def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, tp=None): return self if obj is None else getattr(obj, self.name)
    def __set__(self, obj, v):
        if isinstance(v, (int, float)) and not self.lo <= v <= self.hi: raise ValueError(f"{self.name[1:]}={v}")
        setattr(obj, self.name, v)
class Osc:
    zeta, w0 = Bounded(0, 2), Bounded(0.1, 10)
    def __init__(self, zeta, w0): self.zeta, self.w0 = zeta, w0
    def step(self, s, dt=0.1): x, v = s; return x + dt * v, v - dt * (2 * self.zeta * self.w0 * v + self.w0 ** 2 * x)
osc = Osc(0.2, 2.0); s0 = (jnp.float32(1), jnp.float32(0))
---
s, xs = s0, []
for _ in range(6): s = osc.step(s); xs.append(s[0])
try: osc.zeta = 5
except ValueError as e: bad = str(e)
xs = jnp.array(xs)
print(bad, osc.zeta, Osc.w0.hi)
xs
---
osc.zeta = 1
---
osc.w0 = jnp.array([1.0, 2.0])
---
Osc.zeta.hi = 9

### xa-gzip-jsonl-log-appended-and-summarised
p = Path("log.jsonl.gz"); x = jnp.array([3.0, 4.0]); run = "a"
---
with gzip.open(p, "at") as f:
    for i in range(2): f.write(json.dumps({"run": run, "i": i, "v": round(float(jnp.linalg.norm(x) / (i + 1)), 4)}) + "\n")
with gzip.open(p, "rt") as f: rows = [json.loads(l) for l in f]
by = {k: jnp.array([r["v"] for r in g]).mean() for k, g in itertools.groupby(sorted(rows, key=lambda r: r["run"]), key=lambda r: r["run"])}
print({k: f"{v:.2f}" for k, v in by.items()}, len(rows))
---
run = "b"; x = x * 2
---
p.unlink()

### xa-plugin-registry-by-init-subclass-and-string-lookup
class Layer:
    registry = {}
    def __init_subclass__(cls, /, kind=None, **kw): super().__init_subclass__(**kw); cls.registry[kind or cls.__name__.lower()] = cls
class Scale(Layer):
    def __init__(self, c=2): self.c = c
    def __call__(self, x): return x * self.c
class Shift(Layer, kind="+"):
    def __init__(self, b=1.0): self.b = b
    def __call__(self, x): return x + self.b
spec = "scale:3 | + | scale"; x = jnp.arange(3.0)
---
layers = []
for part in spec.split("|"):
    name, _, arg = part.strip().partition(":")
    layers.append(Layer.registry[name](*([float(arg)] if arg else [])))
y = functools.reduce(lambda h, l: l(h), layers, x)
print([type(l).__name__ for l in layers], sorted(Layer.registry))
y
---
spec += " | +:0.5"
---
class Scale(Layer):
    def __init__(self, c=2): self.c = c
    def __call__(self, x): return x / self.c
---
Layer.registry["+"] = lambda b=0: (lambda x: x - 1)

### xa-iterator-class-with-state-dict-resumed-midway
class Stream:
    def __init__(self, data, bs, seed=0): self.data, self.bs, self.seed, self.pos = data, bs, seed, 0
    def __iter__(self): return self
    def __next__(self):
        if self.pos + self.bs > len(self.data): self.pos = 0; self.seed += 1; raise StopIteration
        perm = np.random.default_rng(self.seed).permutation(len(self.data)); b = self.data[perm[self.pos:self.pos + self.bs]]; self.pos += self.bs; return b
    def state(self): return {"pos": self.pos, "seed": self.seed}
s = Stream(np.arange(10, dtype=np.float32), 3); saved = []; w = jnp.float32(0)
---
for b in itertools.islice(s, 2): w = w + jnp.mean(jnp.asarray(b))
saved.append(s.state())
rest = sum(1 for _ in s)
print(saved[-1], rest, s.state())
w
---
s.pos, s.seed = saved[0]["pos"], 5
---
s.bs = 5

### xa-exception-hierarchy-with-context-and-cleanup-order
class NumErr(ArithmeticError):
    def __init__(self, step, val): super().__init__(f"step {step}: {val:.2f}"); self.step = step
log = []
@contextlib.contextmanager
def section(name):
    log.append("in " + name)
    try: yield
    except NumErr as e: log.append(f"{name} saw {e.step}"); raise
    finally: log.append("out " + name)
x = jnp.array([1.0, 2.0]); limit = 20.0
---
log.clear()
try:
    with section("outer"), section("inner"):
        for i in range(8):
            x2 = x * 2 ** i
            if x2.sum() > limit: raise NumErr(i, float(x2.sum()))
except NumErr as e: caught = e.step, str(e), e.__context__ is None
else: caught = None
finally: log.append("end")
print(caught, log)
x2
---
limit = 1e9
---
limit = 0

### xa-weak-cache-of-grids-keyed-by-size-kept-while-used
class Grid:
    def __init__(self, n): self.n, self.x = n, jnp.linspace(0, 1, n)
grids = weakref.WeakValueDictionary(); hold = []; n = 3
---
g = grids.get(n)
if g is None: g = grids[n] = Grid(n); hold.append(g); print("made", n)
y = jnp.trapezoid(g.x ** 2, g.x)
print(sorted(grids.keys()), len(hold))
y
---
n = 5
---
n = 3

### xa-typed-dict-and-protocol-structural-solver-swap
class Solver(typing.Protocol):
    def step(self, y: jax.Array, dt: float) -> jax.Array: ...
class Euler:
    def __init__(self, f): self.f, self.n = f, 0
    def step(self, y, dt): self.n += 1; return y + dt * self.f(y)
class RK4(Euler):
    def step(self, y, dt):
        k1 = self.f(y); k2 = self.f(y + dt / 2 * k1); k3 = self.f(y + dt / 2 * k2); k4 = self.f(y + dt * k3)
        self.n += 4; return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
mu = 1.0
vdp = lambda y: jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])
solvers: dict[str, Solver] = {"euler": Euler(vdp), "rk4": RK4(vdp)}; y0 = jnp.array([2.0, 0.0]); dt = 0.1
---
out = {}
for name, s in solvers.items():
    y = y0
    for _ in range(5): y = s.step(y, dt)
    out[name] = y
err = jnp.abs(out["euler"] - out["rk4"]).max()
print({k: s.n for k, s in solvers.items()}, f"{err:.3f}")
out["rk4"]
---
mu = 3.0
---
dt = 0.2; solvers["euler"].f = lambda y: -y
---
solvers["mid"] = types.SimpleNamespace(n=0, step=lambda y, dt: y); del solvers["euler"]; solvers["euler"] = Euler(vdp)

### xa-hash-of-config-names-the-output-folder-and-skips-done-runs
cfgs = [{"lr": 0.1, "n": 2}, {"lr": 0.2, "n": 3}]; x = jnp.array([1.0, -2.0])
---
res = {}
for cfg in cfgs:
    h = hashlib.md5(json.dumps(cfg, sort_keys=True).encode()).hexdigest()[:6]
    d = Path("runs") / h
    if (d / "w.npy").exists(): w = jnp.load(d / "w.npy"); src = "skip"
    else:
        d.mkdir(parents=True, exist_ok=True); w = x
        for _ in range(cfg["n"]): w = w * (1 - cfg["lr"])
        jnp.save(d / "w.npy", w); src = "run"
    res[h] = (src, w.sum())
print({k: v[0] for k, v in res.items()})
res
---
cfgs.append({"lr": 0.5, "n": 1})
---
shutil.rmtree("runs")
---
x = x * 7

### xa-logging-with-handler-to-stringio-and-level-changed
logger = logging.Logger("xa.train", logging.INFO)
buf = io.StringIO(); handler = logging.StreamHandler(buf); handler.setFormatter(logging.Formatter("%(levelname)s %(message)s")); logger.handlers[:] = [handler]
w = jnp.array([1.0, 3.0])
---
for i in range(3):
    w = w * 0.5
    logger.debug("w=%s", w)
    logger.info("step %d norm %.3f", i, jnp.linalg.norm(w))
if logger.isEnabledFor(logging.DEBUG): logger.warning("verbose")
text = buf.getvalue(); print(text.count("\n"))
w
---
logger.setLevel(logging.DEBUG)
---
handler.setLevel(logging.ERROR); w = w * 8

### xa-matrix-class-with-cached-inverse-invalidated-on-set
class SPD:
    def __init__(self, A): self._A, self._inv, self.solves = A, None, 0
    @property
    def A(self): return self._A
    @A.setter
    def A(self, v): self._A = v; self._inv = None
    @property
    def inv(self):
        if self._inv is None: self._inv = jnp.linalg.inv(self._A); self.solves += 1
        return self._inv
    def __matmul__(self, o): return self._A @ o
    def __array__(self, dtype=None, copy=None): return np.asarray(self._A, dtype)
S = SPD(jnp.array([[2.0, 0.5], [0.5, 1.0]])); b = jnp.array([1.0, 2.0])
---
x1 = S.inv @ b
r = S @ x1 - b
S.A = S.A + 0.1 * jnp.eye(2)
x2 = S.inv @ b
tr = np.trace(S)
print(S.solves, bool(jnp.abs(r).max() < 1e-4), type(tr).__name__)
x1 - x2
---
S._inv = jnp.eye(2)
---
S.solves = 0; b = b[::-1]

### xa-simulated-annealing-tsp-with-python-random-and-tour-list
pts = jnp.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]]); random.seed(0); T0 = 1.0
D = np.asarray(jnp.sqrt(((pts[:, None] - pts) ** 2).sum(-1)))
def length(t): return float(sum(D[a, b] for a, b in zip(t, t[1:] + t[:1])))
tour = list(range(len(pts)))
---
T, best, acc = T0, (length(tour), tour[:]), 0
while T > 0.3:
    i, j = sorted(random.sample(range(len(tour)), 2))
    cand = tour[:i] + tour[i:j + 1][::-1] + tour[j + 1:]
    d = length(cand) - length(tour)
    if d < 0 or random.random() < math.exp(-d / T): tour = cand; acc += 1
    if length(tour) < best[0]: best = (length(tour), tour[:])
    T *= 0.8
closed = pts[jnp.array(best[1] + best[1][:1])]
print(acc, round(best[0], 3), sorted(best[1]))
jnp.linalg.norm(jnp.diff(closed, axis=0), axis=1).sum()
---
T0 = 3
---
random.seed(11); tour = tour[::-1]

### xa-module-written-edited-and-reloaded-with-importlib
import importlib
Path("xa_helper.py").write_text("import jax.numpy as jnp\nSCALE = 2\ndef f(x): return jnp.sin(x) * SCALE\n")
sys.path.insert(0, os.getcwd()); importlib.invalidate_caches()
sys.modules.pop("xa_helper", None); import xa_helper
sys.path.pop(0); x = jnp.arange(3.0)
---
y = xa_helper.f(x) + xa_helper.SCALE
g = jax.vmap(jax.grad(xa_helper.f))(x)
y
---
xa_helper.SCALE = 5
---
Path("xa_helper.py").write_text("import jax.numpy as jnp\nSCALE = 30\ndef f(x): return jnp.cos(x) * SCALE + x\n")
exec(compile(Path("xa_helper.py").read_text(), "xa_helper.py", "exec"), xa_helper.__dict__)
---
xa_helper.f = lambda x: x ** 2

### xa-shapes-checked-by-decorator-reading-annotations-and-signature
import inspect
def checked(f):
    sig = inspect.signature(f)
    @functools.wraps(f)
    def g(*a, **k):
        ba = sig.bind(*a, **k); ba.apply_defaults()
        for n, v in ba.arguments.items():
            want = f.__annotations__.get(n)
            if isinstance(want, tuple) and jnp.shape(v) != want: raise TypeError(f"{n}: {jnp.shape(v)} is not {want}")
        g.calls += 1
        return f(*ba.args, **ba.kwargs)
    g.calls = 0
    return g
@checked
def affine(x: (3,), w: (3, 2), b: (2,) = jnp.zeros(2)): return x @ w + b
x = jnp.arange(3.0); w = jnp.ones((3, 2))
---
y = affine(x, w)
try: affine(x[:2], w)
except TypeError as e: msg = str(e)
z = affine(w=w, x=x, b=y)
print(msg)
z
---
w = w * 2
---
affine.__wrapped__.__annotations__["x"] = (2,); x = x[:2]; w = w[:2]

### xa-bank-of-filters-in-an-ordered-dict-moved-and-popped
bank = collections.OrderedDict(lp=jnp.array([0.25, 0.5, 0.25]), hp=jnp.array([-0.5, 1.0, -0.5])); sig = jnp.array([0.0, 1, 0, 2, 0])
---
out = {}
for name, k in list(bank.items()):
    out[name] = jnp.convolve(sig, k, mode="same")
    if float(jnp.abs(out[name]).max()) > 1.5: bank.move_to_end(name, last=False)
energy = {n: float((o ** 2).sum()) for n, o in out.items()}
first = next(iter(bank))
print(first, list(bank), {n: round(e, 2) for n, e in energy.items()})
out[first]
---
bank["id"] = jnp.array([0.0, 1.0, 0.0])
---
bank.popitem(last=False)
---
sig = sig[::-1] * 3

### xa-struct-packed-header-and-raw-body-read-back
A = jnp.arange(6, dtype=jnp.float32).reshape(2, 3); name = "t.bin"; scale = 2
---
B = A * scale
with open(name, "wb") as f: f.write(struct.pack("<4sII", b"XA01", *B.shape)); f.write(np.asarray(B).tobytes())
with open(name, "rb") as f:
    magic, r, c = struct.unpack("<4sII", f.read(12)); body = np.frombuffer(f.read(), np.float32).reshape(r, c)
C = jnp.asarray(body).T @ B
print(magic, r, c, body.flags.writeable)
C
---
scale = 3
---
A = A[:1]; name = "u.bin"

### xa-counter-of-calls-in-grad-of-recursion-through-tree-nodes
class Node:
    def __init__(self, w, kids=()): self.w, self.kids, self.seen = w, list(kids), 0
    def value(self, x): self.seen += 1; return jnp.tanh(self.w * x + sum((k.value(x) for k in self.kids), jnp.float32(0)))
    def walk(self, depth=0):
        yield depth, self
        for k in self.kids: yield from k.walk(depth + 1)
leaf = Node(jnp.float32(0.5)); root = Node(jnp.float32(1.0), [leaf, Node(jnp.float32(-1.0), [leaf])]); x = jnp.float32(0.3)
---
v = root.value(x)
deep = [(d, n.seen) for d, n in root.walk()]
g = jax.grad(root.value)(x)
for _, n in root.walk(): n.w = n.w * 0.9
print(deep, leaf.seen)
v, g
---
leaf.kids.append(Node(jnp.float32(2.0)))
---
root.kids[1].kids[0] = Node(0.5); x = 1.0
---
for _, n in root.walk(): n.seen = 0

### xa-text-table-of-results-sorted-with-dashes-and-bold-best
results = {"sgd": [0.5, 0.4], "adam": [0.2, 0.35], "lion": [0.9]}; digits = 2
---
M = {k: jnp.array(v) for k, v in results.items()}
rows = sorted(((k, m.mean(), m.std() if len(m) > 1 else None) for k, m in M.items()), key=lambda r: float(r[1]))
w = max(map(len, results)) + 2
print("name".ljust(w) + "mean".rjust(8)); print("-" * (w + 8))
for i, (k, mu, sd) in enumerate(rows): print(f"{('*' + k if i == 0 else k):<{w}}{mu:>8.{digits}f}" + (f" ± {sd:.1g}" if sd is not None else ""))
gap = rows[1][1] - rows[0][1]
gap
---
digits = 3
---
results["lion"].append(0.1); del results["sgd"]

### xa-class-level-counter-ids-and-registry-of-instances-with-eq-and-hash
class Particle:
    _ids = itertools.count(); all = []
    def __init__(self, pos): self.id = next(self._ids); self.pos = pos; Particle.all.append(self)
    def __eq__(self, o): return isinstance(o, Particle) and self.id == o.id
    def __hash__(self): return hash(self.id)
    def __lt__(self, o): return bool(self.pos.sum() < o.pos.sum())
    def __repr__(self): return f"P{self.id}"
base = jnp.array([0.0, 1.0])
---
a, b = Particle(base), Particle(base * -1)
c = copy.copy(a); c.pos = c.pos + 1
s = {a, b, c}
order = sorted(Particle.all[-2:] + [c])
tot = sum(p.pos for p in s if p == a or p == b)
print(len(s), a == c, len(Particle.all), type(order[0]).__name__)
tot
---
Particle.all.clear()
---
base = base + 5
""",
)
