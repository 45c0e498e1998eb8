"""Python around JAX: closures, counters, own context managers, dispatch, retries, containers and strings."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, enum, functools, io, itertools, json, math, operator, os, pickle, random, re, time, types
from collections import Counter, defaultdict, deque
from functools import partial, wraps, reduce
from typing import NamedTuple, Any, Callable
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([1.0, -2.0, 3.0, 0.5]); A = jnp.arange(6.0).reshape(2, 3) / 6
"""

CELLS = written(
    PRELUDE,
    r"""
### ya-nonlocal-optimizer-closure-get-update-reset
def make_opt(lr, beta=0.9):
    m, t = None, 0
    def update(g):
        nonlocal m, t
        m = g if m is None else jax.tree.map(lambda a, b: beta * a + (1 - beta) * b, m, g)
        t += 1
        return jax.tree.map(lambda a: -lr * a / (1 - beta**t) if t < 3 else -lr * a, m)
    def reset():
        nonlocal m, t
        m, t = None, 0
    def peek(): return t, m
    return update, reset, peek
update, reset, peek = make_opt(0.1)
p = {"x": x}
---
for _ in range(2):
    g = jax.grad(lambda p: jnp.sum(p["x"] ** 2))(p)
    p = jax.tree.map(jnp.add, p, update(g))
t, m = peek()
if t > 5:
    reset()
    print("reset at", t)
msg = f"{t} {jnp.abs(p['x']).max():.3f}"
---
reset()
---
update, reset, peek = make_opt(0.5, beta=0)
---
p["y"] = jnp.ones(2); reset()

### ya-counted-and-timed-decorators-stacked-with-fake-clock cold
class Clock:
    now = 0.0
    def __call__(self): self.now += 0.5; return self.now
clock = Clock()
stats = defaultdict(lambda: {"n": 0, "t": 0.0})
def timed(name=None):
    def deco(f):
        key = name or f.__name__
        @wraps(f)
        def inner(*a, **k):
            t0 = clock()
            try: return f(*a, **k)
            finally:
                stats[key]["n"] += 1; stats[key]["t"] += clock() - t0
        return inner
    return deco
@timed()
def forward(v): return jnp.tanh(v)
@timed("bwd")
def backward(v): return jax.grad(lambda u: forward(u).sum())(v)
---
y = x
for i in range(2):
    y = y - 0.1 * backward(y)
    if i % 2: z = forward(y)
report = [f"{k}:{v['n']}x{v['t']:.1f}" for k, v in sorted(stats.items())]
print(", ".join(report))
---
stats.clear()
---
clock.now = 100
---
@timed("fwd2")
def forward(v): return v**2
---
Clock.__call__ = lambda self: 1

### ya-own-context-managers-nested-scope-names
class scope:
    stack = []
    def __init__(self, name): self.name = name
    def __enter__(self): scope.stack.append(self.name); return "/".join(scope.stack)
    def __exit__(self, *exc): scope.stack.pop(); return False
store = {}
def param(name, init):
    full = "/".join([*scope.stack, name])
    if full not in store: store[full] = init()
    return store[full]
def dense(v, k, name):
    with scope(name):
        return v @ param("w", lambda: jnp.ones((v.shape[-1], k)) / v.shape[-1]) + param("b", lambda: jnp.zeros(k))
depth = 2
---
with scope("net") as top:
    h = A
    for i in range(depth):
        with scope(f"block{i}"):
            h = jax.nn.relu(dense(h, 3, "d1"))
    out = dense(h, 1, "head")
names = sorted(store)
print(top, len(names), scope.stack)
store["net/head/b"] = store["net/head/b"] + out.mean()
---
depth = 3
---
store.clear()
---
store["net/block0/d1/w"] = jnp.eye(3) * 2
---
depth = 0

### ya-command-parser-match-with-captures-on-tuples-and-strings
prog = ["push 2", "push x", "mul", "push 1.5", "add", "dup", "sin"]
env = {"x": x}
def run(prog):
    st = []
    for n, line in enumerate(prog):
        match line.split():
            case ["push", num] if re.fullmatch(r"-?\d+", num): st.append(int(num))
            case ["push", num] if re.fullmatch(r"-?\d*\.\d+", num): st.append(float(num))
            case ["push", name]: st.append(env[name])
            case ["dup"]: st.append(st[-1])
            case [("add" | "mul" | "sub") as op]:
                b, a = st.pop(), st.pop(); st.append(getattr(operator, op)(a, b))
            case [fn] if hasattr(jnp, fn): st.append(getattr(jnp, fn)(st.pop()))
            case other: raise SyntaxError(f"line {n}: {other}")
    return st
---
try:
    *rest, top = run(prog)
    ok = True
except (SyntaxError, KeyError, IndexError) as e:
    ok, top, rest = False, f"{type(e).__name__}: {e}", []
types_ = [type(r).__name__ for r in rest]
print(ok, len(rest), types_)
---
prog.append("frobnicate 1 2")
---
prog.pop(); env["x"] = 3
---
prog = ["push 2", "push 3", "mul", "push y"]
---
env = {"y": A}; prog = ["push y", "push 2", "sub", "abs"]

### ya-retry-with-structured-errors-and-log-lines
class Transient(Exception): pass
class Fatal(Exception):
    def __init__(self, msg, *, code): super().__init__(msg); self.code = code
script = deque(["ok", "transient", "ok", "transient", "transient", "ok"])
def fetch(i):
    what = script[0]; script.rotate(-1)
    if what == "transient": raise Transient(f"item {i}")
    if what == "fatal": raise Fatal("gone", code=i)
    return x * i
log = []
---
got, total = [], jnp.zeros(4)
for i in range(3):
    for attempt in itertools.count(1):
        try:
            v = fetch(i)
        except Transient as e:
            log.append(f"{e} (try {attempt})")
            if attempt >= 3: v = None; break
            continue
        except Fatal as e:
            v = jnp.full(4, e.code); break
        else:
            break
    if v is not None: got.append(i); total = total + v
print(got, log[-2:], f"{total.sum():.1f}")
---
script.appendleft("fatal")
---
log.clear(); script = deque(["ok"])
---
x = x * 2; script = deque(["transient"])
---
def fetch(i): return jnp.ones(4) * i

### ya-event-log-as-sets-of-tuples-and-frozen-keys
edges = [(0, 1), (1, 2), (2, 0), (2, 1)]
val = jnp.array([1.0, 2.0, 4.0])
---
und = {tuple(sorted(e)) for e in edges}
deg = Counter(itertools.chain.from_iterable(und))
nb = defaultdict(set)
for a, b in und: nb[a].add(b); nb[b].add(a)
new = val
for i in sorted(nb):
    new = new.at[i].set(sum(val[j] for j in sorted(nb[i])) / deg[i])
tri = {frozenset((a, b, c)) for a, b in und for c in nb[a] & nb[b]}
print(len(und), sorted(map(sorted, tri)), dict(sorted(deg.items())))
val = new / new.max()
---
edges.append((0, 1))
---
edges.pop(0); edges.pop()
---
edges = [(0, 2)]; val = jnp.array([1, 2, 3])

### ya-class-hierarchy-layers-with-call-and-init-subclass-registry
class Layer:
    registry = {}
    def __init_subclass__(cls, **kw): super().__init_subclass__(**kw); Layer.registry[cls.__name__.lower()] = cls
    def __rshift__(self, other): return Seq(self, other)
class Seq(Layer):
    def __init__(self, *ls): self.ls = [m for l in ls for m in (l.ls if isinstance(l, Seq) else [l])]
    def __call__(self, v): return reduce(lambda v, l: l(v), self.ls, v)
class Lin(Layer):
    made = 0
    def __init__(self, n, m): self.w = jnp.full((n, m), 0.1 * (1 + Lin.made)); Lin.made += 1
    def __call__(self, v): return v @ self.w
class Act(Layer):
    def __init__(self, f): self.f, self.seen = f, 0
    def __call__(self, v): self.seen += 1; return self.f(v)
---
net = Lin(3, 4) >> Act(jnp.tanh) >> Lin(4, 2) >> Act(lambda v: v * scale if (scale := 2) else v)
y = net(A)
kinds = [type(l).__name__ for l in net.ls]
seen = sum(l.seen for l in net.ls if isinstance(l, Layer.registry["act"]))
print(kinds, seen, Lin.made, len(Layer.registry))
---
Lin.made = 0
---
class Act(Layer):
    seen = 10
    def __init__(self, f): self.f = f
    def __call__(self, v): return self.f(v) + 1
---
A = A[:1]

### ya-memoised-by-shape-with-dict-in-default-arg
def basis(n, kind="cos", _cache={}):
    key = n, kind
    if key not in _cache:
        t = (jnp.arange(n) + 0.5) / n
        _cache[key] = jnp.stack([getattr(jnp, kind)(math.pi * k * t) for k in range(n)])
    return _cache[key]
kinds = ["cos"]
---
coeffs = {}
for kind in kinds:
    B = basis(x.size, kind)
    c = B @ x * 2 / x.size
    coeffs[kind] = c
    rec = B.T @ c.at[0].divide(2)
size = len(basis.__defaults__[1])
err = {k: float(jnp.round(jnp.abs(rec - x).max(), 2)) for k in coeffs}
print(size, err)
---
kinds.append("sin")
---
basis.__defaults__[1].clear()
---
x = x[:3]; kinds = ["cos"]

### ya-pipeline-of-generators-with-send-and-close
def smoother(beta):
    avg, n = 0.0, 0
    while True:
        v = yield (avg / (1 - beta**n) if n else None)
        if v is None: return n
        avg = beta * avg + (1 - beta) * v; n += 1
beta = 0.5
def consume(seq):
    g = smoother(beta); next(g)
    out = [g.send(v) for v in seq]
    try: g.send(None)
    except StopIteration as s: return out, s.value
---
out, n = consume(x)
out2, _ = consume([float(v) for v in x * 2])
gap = max(abs(float(a) - b / 2) for a, b in zip(out, out2))
print(n, gap < 1e-5, f"{out[-1]:.3f}")
y = jnp.stack(out)
---
beta = 0.9
---
x = jnp.arange(1, 4)
---
beta = 0

### ya-config-merge-deep-with-overrides-and-types
base = {"opt": {"lr": 0.1, "name": "sgd"}, "model": {"width": 3, "act": "tanh"}, "seed": 0}
over = ["opt.lr=0.5", "model.act=relu"]
def parse(s):
    try: return json.loads(s)
    except json.JSONDecodeError: return s
def merge(cfg, items):
    cfg = copy.deepcopy(cfg)
    for it in items:
        path, _, raw = it.partition("=")
        *ks, last = path.split(".")
        d = reduce(lambda d, k: d.setdefault(k, {}), ks, cfg)
        if last in d and type(d[last]) is not type(v := parse(raw)): print(f"type of {path}: {type(d[last]).__name__} -> {type(v).__name__}")
        d[last] = parse(raw)
    return cfg
---
cfg = merge(base, over)
key = jax.random.key(cfg["seed"])
w = jax.random.normal(key, (3, cfg["model"]["width"]))
act = {"tanh": jnp.tanh, "relu": jax.nn.relu, "id": lambda v: v}[cfg["model"]["act"]]
h = act(A @ w)
g = jax.grad(lambda w: (act(A @ w) ** 2).sum())(w)
w = w - cfg["opt"]["lr"] * g
tag = "_".join(f"{k}-{v}" for k, v in sorted(cfg["opt"].items()))
print(tag, h.shape)
---
over.append("opt.lr=1")
---
over += ["model.width=2", "seed=3"]
---
over = ["opt.momentum=null", "model.act=id"]
---
base["opt"]["lr"] = True; over = []

### ya-stateful-env-class-with-step-reset-done-loop
class Env:
    def __init__(self, seed=0): self.rng, self.episodes = np.random.default_rng(seed), 0
    def reset(self): self.s, self.t = self.rng.normal(size=2).astype(np.float32), 0; self.episodes += 1; return self.s
    def step(self, a):
        self.t += 1
        self.s = np.clip(self.s + 0.3 * np.asarray(a), -2, 2)
        r = -float(np.sum(self.s**2))
        return self.s, r, self.t >= 5 or r > -0.05, {"t": self.t}
env = Env(); K = jnp.eye(2) * -1.0
@jax.jit
def policy(K, s): return jnp.tanh(K @ s)
---
returns, lens = [], []
for ep in range(2):
    s, done, R = env.reset(), False, 0.0
    while not done:
        a = policy(K, s)
        s, r, done, info = env.step(a)
        R += 0.9 ** (info["t"] - 1) * r
    returns.append(R); lens.append(info["t"])
print(env.episodes, lens, [f"{r:.2f}" for r in returns])
if np.mean(returns) < -1: K = K * 1.1
---
K = jnp.zeros((2, 2))
---
env = Env(5)
---
policy = lambda K, s: -3 * s

### ya-topo-sorted-graph-of-lambdas-with-missing-deps-error
nodes = {"a": ((), lambda: x), "b": (("a",), lambda a: a * 2), "c": (("a", "b"), lambda a, b: a - b), "out": (("c",), jnp.sum)}
def evaluate(nodes, target, cache=None, depth=0):
    cache = {} if cache is None else cache
    if target not in cache:
        if target not in nodes: raise LookupError(f"no {target!r} at depth {depth}")
        deps, f = nodes[target]
        cache[target] = f(*(evaluate(nodes, d, cache, depth + 1)[0] for d in deps))
    return cache[target], cache
---
try:
    val, cache = evaluate(nodes, "out")
    order = " -> ".join(cache)
except LookupError as e:
    val, order = None, f"failed: {e}"
grad = jax.grad(lambda v: evaluate({**nodes, "a": ((), lambda: v)}, "out")[0])(x) if val is not None else None
print(order)
---
nodes["c"] = (("a", "zz"), lambda a, z: a)
---
nodes["zz"] = ((), lambda: 2)
---
nodes = {"a": ((), lambda: x), "out": (("a",), lambda a: (a**2).sum())}

### ya-table-of-strings-built-column-wise-with-alignments
cols = {"name": ["a", "bb", "ccc"], "val": [x.sum(), x.mean(), x.max()]}
prec = 2
---
def fmt(v): return v if isinstance(v, str) else f"{float(v):.{prec}f}"
cells = {k: [fmt(v) for v in vs] for k, vs in cols.items()}
width = {k: max(len(k), *map(len, c)) for k, c in cells.items()}
lines = [" | ".join(f"{k:^{width[k]}}" for k in cells)]
lines.append("-+-".join("-" * w for w in width.values()))
for row in zip(*cells.values(), strict=True):
    lines.append(" | ".join(c.rjust(width[k]) if k == "val" else c.ljust(width[k]) for k, c in zip(cells, row)))
print("\n".join(lines))
scaled = jnp.stack(cols["val"]) / max(cols["val"])
---
prec = 0
---
cols["name"].append("d"); cols["val"].append(x.min())
---
cols["std"] = [x.std()] * 4

### ya-closures-in-loop-shared-cell-and-late-change
facs = [1, 2.0, jnp.float32(3)]
---
early, late = [], []
for f in facs:
    early.append(lambda v, f=f: v * f)
    late.append(lambda v: v * f)
a = [g(x) for g in early]
b = [g(x) for g in late]
f = 10
c = late[0](x)
def outer():
    hs = []
    for i in range(3):
        hs.append(lambda v: v + i)
    i = 100
    return [h(x) for h in hs], [(lambda v, j=j: v - j)(x) for j in range(2)]
d, e = outer()
same = bool(jnp.array_equal(b[0], b[-1]))
---
facs = facs[:2]
---
facs = [True, 0]
---
x = x.astype(jnp.int32)

### ya-ring-buffer-numpy-with-jax-read-and-wraparound
class Ring:
    def __init__(self, cap, dim): self.buf, self.i, self.full = np.zeros((cap, dim), np.float32), 0, False
    def push(self, v):
        self.buf[self.i] = v
        self.i = (self.i + 1) % len(self.buf)
        self.full |= self.i == 0
    def view(self): return self.buf if self.full else self.buf[: self.i]
    def sample(self, key, k): v = jnp.asarray(self.view()); return v[jax.random.randint(key, (k,), 0, len(v))]
ring = Ring(4, 2); key = jax.random.key(0)
---
for j in range(3):
    ring.push(np.array([ring.i, j], np.float32))
key, sub = jax.random.split(key)
batch = ring.sample(sub, 5)
mean = jnp.asarray(ring.view()).mean(0)
cap = len(ring.view()), ring.full
print(cap, mean)
---
ring.buf[:] = 1
---
ring = Ring(2, 2)
---
ring.push(jnp.array([5.0, 6.0])); key = jax.random.key(9)

### ya-global-step-and-writer-object-with-scalars
global_step = 0
class Writer:
    def __init__(self): self.rows = []
    def add(self, tag, v, step=None): self.rows.append((tag, float(v), global_step if step is None else step))
    def last(self, tag): return next((v for t, v, _ in reversed(self.rows) if t == tag), None)
    def flush(self, path):
        with open(path, "a") as f: f.writelines(f"{t},{v:.3f},{s}\n" for t, v, s in self.rows)
        n, self.rows = len(self.rows), []
        return n
writer = Writer()
def train_one(w):
    global global_step
    l, g = jax.value_and_grad(lambda w: jnp.sum((A @ w - 1) ** 2))(w)
    global_step += 1
    writer.add("loss", l)
    if global_step % 2 == 0: writer.add("gnorm", jnp.linalg.norm(g), step=-global_step)
    return w - 0.1 * g
w = jnp.zeros(3); n = 3
---
for _ in range(n): w = train_one(w)
last = writer.last("loss"), writer.last("gnorm")
if len(writer.rows) > 5: flushed = writer.flush("log.csv")
else: flushed = 0
print(global_step, flushed, len(writer.rows))
---
global_step = 100
---
writer.rows.clear(); n = 1
---
w = jnp.ones(3); writer.add = lambda *a, **k: None

### ya-vmap-and-switch-over-piecewise-branches-with-int-codes
codes = [0, 2, 1, 1]; extra = False
k = 3.0; codes_seen = []
---
fns = [jnp.sin, lambda v: v**2, lambda v: v * k]
if extra: fns.append(lambda v: -v)
c = jnp.array(codes)
a = jax.vmap(lambda i, v: lax.switch(i, fns, v))(c, x)
b = jnp.stack([fns[i](v) for i, v in zip(codes, x)])
m = jnp.select([c == i for i in range(len(fns))], [f(x) for f in fns], default=jnp.nan)
same = bool(jnp.allclose(a, b) & jnp.allclose(b, m))
hist = dict(Counter(codes))
grads = jax.grad(lambda v: jnp.sum(jax.vmap(lambda i, u: lax.switch(i, fns, u))(c, v)))(x)
print(same, hist)
---
codes[0] = 1
---
k = 2
---
k = x[0]
---
extra = True; codes = [3, 3, 3, 0]

### ya-fixed-point-with-custom-vjp-and-iteration-count-side-list
iters = []
tol = 1e-3
def solve(a):
    z, n = jnp.ones(()), 0
    while n < 50:
        zn = 0.5 * (z + a / z); n += 1
        if abs(zn - z) < tol: break
        z = zn
    iters.append(n)
    return zn
@jax.custom_vjp
def root(a): return lax.fori_loop(0, 20, lambda i, z: 0.5 * (z + a / z), jnp.ones_like(a))
root.defvjp(lambda a: (r := root(a), r), lambda r, g: (g / (2 * r),))
---
vals = [2.0, 9, jnp.float32(5.0)]
rs = [solve(v) for v in vals]
g = jax.vmap(jax.grad(root))(jnp.array([2.0, 9.0, 5.0]))
check = [abs(float(r) ** 2 - float(v)) < 0.1 for r, v in zip(rs, vals)]
print(iters[-3:], check, g.round(3))
---
tol = 1
---
iters.clear(); tol = 0
---
root.defvjp(lambda a: (r := root(a), r), lambda r, g: (g * 0,))

### ya-simple-autodiff-tape-class-with-dunder-ops
class Var:
    n = 0
    def __init__(self, v, parents=()): self.v, self.parents, self.g, self.id = v, parents, 0.0, Var.n; Var.n += 1
    def __add__(self, o): o = o if isinstance(o, Var) else Var(o); return Var(self.v + o.v, ((self, lambda g: g), (o, lambda g: g)))
    def __mul__(self, o): o = o if isinstance(o, Var) else Var(o); return Var(self.v * o.v, ((self, lambda g: g * o.v), (o, lambda g: g * self.v)))
    __radd__, __rmul__ = __add__, __mul__
    def tanh(self): t = jnp.tanh(self.v); return Var(t, ((self, lambda g: g * (1 - t**2)),))
    def backward(self):
        order, seen = [], set()
        def visit(u):
            if u.id in seen: return
            seen.add(u.id)
            for p, _ in u.parents: visit(p)
            order.append(u)
        visit(self); self.g = jnp.ones_like(self.v)
        for u in reversed(order):
            for p, back in u.parents: p.g = p.g + back(u.g)
        return len(order)
---
a, b = Var(x), Var(jnp.float32(0.5))
y = (a * b + 1.0).tanh() * a + 2 * b
n = y.backward()
ref = jax.grad(lambda v: jnp.sum(jnp.tanh(v * 0.5 + 1) * v))(x)
ok = bool(jnp.allclose(a.g, ref, atol=1e-4))
print(n, ok, f"{jnp.sum(b.g):.3f}", y.id)
---
Var.n = 0
---
x = x[:2] + 1
---
Var.tanh = lambda self: Var(self.v, ((self, lambda g: g),))

### ya-heap-scheduler-of-jobs-with-priority-by-array-value
import heapq
jobs = {"a": 3.0, "b": 1.0, "c": 2.0}
def work(name, v): return jnp.sum(x ** len(name)) * v
limit = 3
---
h = []
for tie, (name, pr) in enumerate(jobs.items()):
    heapq.heappush(h, (-float(work(name, pr)), tie, name))
done, budget = [], limit
while h and budget:
    pr, tie, name = heapq.heappop(h)
    v = work(name, -pr)
    done.append((name, v))
    if len(name) == 1 and v > 10 and budget > 1:
        heapq.heappush(h, (-1.0, 99, name * 2))
    budget -= 1
print([d[0] for d in done], len(h))
total = sum(v for _, v in done)
---
limit = 5
---
jobs["dd"] = 0.1
---
x = -x; jobs = {"z": 1}

### ya-tokenizer-vocab-grows-and-embedding-extended
vocab = {"<pad>": 0, "<unk>": 1}
emb = jnp.zeros((2, 2)); texts = ["the cat", "the dog sat"]
frozen = False
---
added = []
for t in texts:
    for tok in t.split():
        if tok not in vocab and not frozen:
            vocab[tok] = len(vocab); added.append(tok)
if (extra := len(vocab) - len(emb)) > 0:
    new = jax.random.normal(jax.random.key(len(vocab)), (extra, emb.shape[1]))
    emb = jnp.vstack([emb, new])
L = max(len(t.split()) for t in texts)
ids = jnp.array([[vocab.get(w, 1) for w in t.split()] + [0] * (L - len(t.split())) for t in texts])
mask = (ids > 0)[..., None]
sent = (emb[ids] * mask).sum(1) / mask.sum(1)
sim = float(sent[0] @ sent[-1])
print(len(vocab), added, ids.tolist(), f"{sim:.2f}")
---
texts.append("a bird sat")
---
frozen = True; texts = ["fish sat"]
---
del vocab["sat"]; frozen = False

### ya-monte-carlo-with-budget-of-fake-time-and-welford
class FakeTime:
    def __init__(self, ticks): self.ticks = iter(ticks)
    def perf_counter(self): return next(self.ticks)
ftime = FakeTime(itertools.count(0, 0.25))
budget = 1.0
class Welford:
    def __init__(self): self.n, self.m, self.s = 0, 0.0, 0.0
    def add(self, v):
        self.n += 1; d = v - self.m
        self.m = self.m + d / self.n; self.s = self.s + d * (v - self.m)
    @property
    def var(self): return self.s / (self.n - 1) if self.n > 1 else float("nan")
---
t0 = ftime.perf_counter(); acc = Welford(); key = jax.random.key(1)
while (el := ftime.perf_counter() - t0) < budget:
    key, k = jax.random.split(key)
    u = jax.random.uniform(k, (8, 2))
    acc.add(4 * jnp.mean(jnp.sum(u**2, 1) < 1))
    if acc.n >= 3 and acc.var < 1e-4: break
est = f"{acc.m:.3f} after {acc.n} in {el}"
print(est)
---
budget = 2
---
ftime = FakeTime([0, 0.1, 5])
---
ftime = types.SimpleNamespace(perf_counter=iter(range(99)).__next__); budget = 4

### ya-namedtuple-generic-tree-surgery-with-paths
class Block(NamedTuple):
    w: Any
    b: Any = None
    name: str = "blk"
tree = {"a": [Block(jnp.ones((2, 2)), jnp.zeros(2))], "b": (Block(x, name="vec"), None), "lr": 0.1}
pat = r"\.w"
---
is_arr = lambda v: hasattr(v, "shape")
flat, td = jax.tree_util.tree_flatten_with_path(tree)
paths = [jax.tree_util.keystr(p) for p, _ in flat]
hit = [p for p in paths if re.search(pat, p)]
new = jax.tree_util.tree_unflatten(td, [v * 2 if p in hit and is_arr(v) else v for p, (_, v) in zip(paths, flat)])
sizes = {p: (v.size if is_arr(v) else type(v).__name__) for p, (_, v) in zip(paths, flat)}
tree["b"] = (new["b"][0]._replace(name="vec2" if new["b"][0].name == "vec" else "vec"), *new["b"][1:])
print(len(flat), hit, td.num_leaves)
---
pat = r"lr|\.b"
---
tree["a"].append(Block(jnp.zeros(1), name="n"))
---
tree["lr"] = 1
---
tree = {"b": (Block(None), 3)}

### ya-linear-system-in-rows-with-pivot-and-swap-log
M = np.array([[0.0, 2, 1], [1, 1, 0], [2, 0, 3]], np.float32); rhs = np.array([3.0, 2, 5], np.float32)
pivot = True
---
U = jnp.column_stack([M, rhs]); n = len(M); swaps = []
for k in range(n):
    if pivot:
        p = k + int(jnp.argmax(jnp.abs(U[k:, k])))
        if p != k:
            U = U.at[jnp.array([k, p])].set(U[jnp.array([p, k])]); swaps.append((k, p))
    if U[k, k] == 0:
        sol = None; break
    for i in range(k + 1, n):
        U = U.at[i].add(-U[i, k] / U[k, k] * U[k])
else:
    sol = jnp.zeros(n)
    for i in reversed(range(n)):
        sol = sol.at[i].set((U[i, -1] - U[i, :-1] @ sol) / U[i, i])
det = None if sol is None else float(jnp.prod(jnp.diag(U[:, :-1])).round(2)) * (-1) ** len(swaps)
print(swaps, det)
---
pivot = False
---
M[0, 0] = 4
---
M, rhs = M[:2, :2], rhs[:2]
---
pivot = 1; M = M * 0
""",
)
