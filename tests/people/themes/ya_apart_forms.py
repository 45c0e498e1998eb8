"""Small functions that need values half way, in as many of Python's forms as there are."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, itertools, math, operator, random, types
from collections import Counter, defaultdict, deque
from functools import partial, wraps
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([1.0, -2.0, 3.0, 0.5]); w = jnp.array([0.5, 0.25]); lr = 0.1; k = 3
"""

CELLS = written(
    PRELUDE,
    r"""
### ya-h-closure-made-before-a-needed-value-sees-later-rebinding
def fit(v):
    f = lambda: v * 2
    if v.sum() > 1: v = v + 10
    a = f()
    v = v * 0
    return a, f()
---
a, b = fit(x)
---
x = -x
---
x = x * 0

### ya-h-default-argument-of-inner-function-frozen
def fit(v, n):
    fs = []
    for i in range(n):
        v = v * 0.5
        if float(v[0]) < 0.3: fs.append(lambda u, v=v, i=i: u + v * i)
        else: fs.append(lambda u: u + v * i)
    return [f(x) for f in fs]
---
ys = fit(x, k)
---
k = 1
---
x = x * 8

### ya-h-nonlocal-of-inner-written-between-values
def run(v):
    best = None; count = 0
    def see(l, p):
        nonlocal best, count
        count += 1
        if best is None or l < best[0]: best = (float(l), p)
        return best[1] is p
    flags = []
    for i in range(k):
        v = v - lr * v * (1 if i != 1 else -5)
        flags.append(see((v**2).sum(), v))
    return best, count, flags
---
best, count, flags = run(x)
---
lr = 1
---
k = 0

### ya-h-global-read-then-written-by-callee-in-the-middle
scale = 1.0
def bump(v):
    global scale
    scale = scale * 2 if v > 0 else scale / 2
    return scale
def run(v):
    a = v * scale
    s = bump(a.sum())
    b = v * scale
    return a, s, b
---
a, s, b = run(x)
---
scale = 1
---
scale = jnp.float32(-1)

### ya-h-global-name-made-by-a-function
def setup_once(v):
    global cached
    try: cached
    except NameError: cached = float(v.mean())
    return v - cached
---
y = setup_once(x)
---
del cached
---
cached = w[0]

### ya-h-args-kwargs-star-in-calls-with-values
def inner(*a, s=1, **k): return sum(a) * s, tuple(k)
def run(v, *a, **k):
    m = float(v.max())
    k = {**k, f"m{int(m)}": m}
    if m > 2: a = (*a, m)
    return inner(v, *a, **k)
---
y, ks = run(x, 1, 2.0, s=lr)
---
x = x * 0.1
---
lr = w[0]

### ya-h-return-inside-nested-loops-and-try
def find(m, target):
    for i, r in enumerate(m):
        try:
            for j, v in enumerate(r):
                if abs(v - target) < 1e-6: return (i, j), m.at[i, j].set(0)
        finally: seen.append(i)
    return None, m
seen = []; target = 3.0
---
seen.clear(); pos, m = find(jnp.outer(x, w) * 2, target); pos2, m2 = find(x[None], 9)
---
target = 0.5
---
x = x + 2

### ya-h-method-chain-with-value-check-each
class P:
    def __init__(self, v): self.v, self.log = v, ()
    def relu(self): self.v = jnp.maximum(self.v, 0); self.log += (bool((self.v == 0).any()),); return self
    def norm(self):
        s = self.v.sum()
        if s == 0: self.log += ("zero",); return self
        self.v = self.v / s; return self
---
p = P(x).relu().norm().relu(); y, log = p.v, p.log
---
x = -jnp.abs(x)
---
P.norm = lambda self: self

### ya-h-recursion-with-values-and-accumulator
def qs(v):
    if v.size <= 1: return v
    p, r = v[0], v[1:]
    lo, hi = r[r < p], r[r >= p]
    cmp.append(r.size)
    return jnp.concatenate([qs(lo), p[None], qs(hi)])
cmp = []
---
cmp.clear(); y = qs(x); c = sum(cmp)
---
x = jnp.arange(5)
---
x = x[:0]

### ya-h-inner-function-same-name-as-global-and-param
def step(v): return v + 1
def run(step, v):
    v = step(v)
    def step(u): return u * 2
    if v[0] > 0: v = step(v)
    return v
---
y = run(step, x); z = step(x)
---
def step(v): return v - 5
---
step = partial(operator.mul, 3)

### ya-h-comprehension-variable-hides-local
def run(v):
    i = 7
    a = [float(i) for i in v if i > 0]
    b = {i: i * 2 for i in range(len(a))}
    v = v * i
    return v, a, b, [j for i in range(2) if (j := i + len(a))], j
---
y, a, b, c, j = run(x)
---
x = -x
---
x = x[:1]

### ya-h-exception-raised-after-mutation-of-argument cold
def run(d):
    d["n"] += 1
    d["w"] = d["w"] * 2
    if d["w"].max() > 1.5: raise ValueError(f"n={d['n']} max={d['w'].max():.2f}")
    return d["w"]
d = {"n": 0, "w": w}
---
try: y = run(d); err = None
except ValueError as e: err = str(e); d["w"] = d["w"] / 8
---
d = {"n": 0, "w": w * 4}
---
d["n"] = 0.5

### ya-h-exception-uncaught-leaves-things-as-they-were
def run(d):
    d["n"] += 1; d["h"].append(d["n"])
    v = x * d["n"]
    if v.max() > lim: raise ValueError(f"{d['n']}: {v.max():.1f}")
    return v
d = {"n": 0, "h": []}; lim = 100
---
z = x * 2
y = run(d)
---
lim = 1
---
lim = 50
---
d["n"] = 100

### ya-h-decorated-twice-with-state-and-values
def every(n):
    def deco(f):
        c = 0
        @wraps(f)
        def g(*a):
            nonlocal c
            c += 1
            r = f(*a)
            if c % n == 0: out.append((c, round(float(r.sum()), 2)))
            return r
        return g
    return deco
out = []
@every(2)
@every(3)
def f(v): return v * lr
---
y = f(f(x)); m = len(out)
---
lr = 2
---
out.clear()

### ya-h-generator-consumed-by-a-fit-with-break
def batches():
    i = 0
    while True: yield x * i; i += 1
def fit(it, lim):
    tot, used = jnp.zeros(4), 0
    for b in it:
        used += 1; tot = tot + b
        if jnp.abs(tot).max() > lim: break
    return tot, used
g = batches(); lim = 10
---
a, u = fit(g, lim); b, u2 = fit(batches(), 5)
---
lim = 1
---
g = batches(); x = x * 2

### ya-h-while-true-with-inner-try-continue
def fit(v):
    n = bad = 0
    while True:
        n += 1
        try:
            r = 1 / int(v[n % 4])
        except ZeroDivisionError:
            bad += 1; v = v.at[n % 4].add(1); continue
        if r < 0 or n > 6: break
        v = v * 0.9
    return v, n, bad
---
y, n, bad = fit(x)
---
x = jnp.abs(x)
---
x = jnp.zeros(4)

### ya-h-class-defined-inside-with-closure-over-values
def build(v):
    m = float(v.mean())
    class Node:
        shift = m
        count = 0
        def __init__(self): Node.count += 1; self.v = v - self.shift
    a, b = Node(), Node()
    return a.v + b.v, Node.count, Node.__qualname__
---
y, c, q = build(x)
---
x = x * 2

### ya-h-swap-of-function-attributes-as-state
def ema(v):
    ema.s = v if ema.s is None else 0.9 * ema.s + 0.1 * v
    ema.n += 1
    if ema.s.max() > 2 and ema.n > 2: ema.s = None; return v
    return ema.s
ema.s, ema.n = None, 0
---
y = ema(x); hot = ema.s is None
---
ema.n = 0
---
ema.s = jnp.zeros(4); x = x * 0.1

### ya-h-lambda-with-conditional-on-value
pick = lambda v, a, b: a if v.sum() > 0 else b
---
f = pick(x, jnp.sin, jnp.cos); y = f(x); z = pick(x - 5, 1, "neg")
---
x = -x
---
pick = lambda v, a, b: b

### ya-h-sorted-with-key-helper-that-needs-values
def key(p): r = float((p["w"] ** 2).sum()); keys.append(r); return r
keys = []; ps = [{"w": x}, {"w": w}, {"w": x * 0.1}]
---
order = sorted(ps, key=key); best, *_ = order; y = best["w"] * 2; nk = len(keys)
---
ps.append({"w": w * 0}); keys.clear()
---
keys = deque(maxlen=2)

### ya-h-annotated-local-and-assert-and-pass
def run(v: "jax.Array", tol: float = 1e-3) -> tuple:
    out: list = []
    n: int
    for n, a in enumerate(v):
        assert jnp.isfinite(a), n
        if a > tol: pass
        else: out += [n]
    return out, n, run.__annotations__["tol"].__name__
---
out, n, nm = run(x)
---
x = jnp.where(x > 2, jnp.inf, x)
---
x = jnp.ones(2)

### ya-h-starred-assignment-and-aug-on-subscripts-in-function
def run(v, d):
    first, *rest = v
    d["c"][0] += 1 if first > 0 else 10
    d["w"][d["c"][0] % 2] *= first
    (d["l"], d["r"]), [*d["m"]] = (rest[0], rest[-1]), rest[1:-1]
    return d
d = {"c": [0], "w": [w, w]}
---
r = run(x, d); same = r is d
---
x = -x
---
d["c"][0] = 1.0; d["c"][0] = int(d["c"][0]); x = n = jnp.arange(5)

### ya-h-two-calls-of-one-function-with-other-kinds
def f(v, s):
    if v.max() > s: v = v / s
    return v, type(s).__name__
---
a = f(x, 2), f(x, 2.0), f(w, True), f(w, np.float32(2)), f(x, w[0])
---
x = x * 0
---
f = lambda v, s: (v, s)

### ya-h-context-manager-function-with-value-before-yield
@contextlib.contextmanager
def scaled(d):
    s = float(jnp.abs(d["v"]).max()); old = d["v"]; d["v"] = d["v"] / s
    try: yield s
    finally: d["v"] = old * s if d.get("keep") else old
d = {"v": x}
---
with scaled(d) as s: y = d["v"] + 1
z = d["v"]
---
d["keep"] = True
---
d = {"v": w, "keep": 1}

### ya-h-dict-dispatch-of-methods-by-value-string
class M:
    def lo(self, v): return v - self.k
    def hi(self, v): self.k += 1; return v / self.k
    table = {"lo": lo, "hi": hi}
    def go(self, v): return self.table["hi" if v.mean() > 0.2 else "lo"](self, v)
m = M(); m.k = 1
---
y = m.go(m.go(x)); kk = m.k
---
m.k = 1.5
---
M.table["hi"] = M.lo

### ya-h-inf-nan-flow-and-isnan-branch
def safe(v):
    l = jnp.log(v)
    if jnp.isnan(l).any(): l = jnp.nan_to_num(l, nan=-1.0, neginf=-9)
    return l, math.isnan(l[1]), float("nan") if l.min() < -5 else None
---
l, f, g = safe(x)
---
x = jnp.abs(x)
---
x = x * 0

### ya-h-round-trip-through-numpy-inside-helper
def whiten(v):
    a = np.array(v); a[a < 0] = 0
    mu = a.mean(); a -= mu
    if a.std() > lim: a /= a.std()
    return jnp.asarray(a) * lr, mu
lim = 0.5
---
y, mu = whiten(x); t = type(mu).__name__
---
lim = 5
---
x = jnp.arange(4); lim = 0.1

### ya-h-counter-of-branches-taken-in-a-loop-of-calls
br = Counter()
def act(v):
    if v > 2: br["big"] += 1; return v * 0.5
    elif v > 0: br["pos"] += 1; return v
    br["neg"] += 1; return -v
---
ys = [act(v) for v in x]; y = jnp.stack(ys); tot = sum(br.values())
---
br.clear()
---
x = x * 3; del br["neg"]
""",
)
