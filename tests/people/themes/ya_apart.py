"""Functions that need values half way: trainers, solvers and helpers with all of Python's statements in them."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, enum, functools, io, itertools, json, math, operator, os, random, re, time, types
from collections import Counter, defaultdict, deque
from functools import partial, wraps, reduce
from typing import NamedTuple, Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
X = jnp.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0], [-1.0, 1.0]]); y = jnp.array([1.0, 0.0, 1.0, 0.0])
def mse(w): return jnp.mean((X @ w - y) ** 2)
"""

CELLS = written(
    PRELUDE,
    r"""
### ya-fit-with-nonlocal-log-global-count-and-finally
total_calls = 0
def make_fit():
    history = []; runs = 0
    def fit(w, n, *, lr=0.1, tol=1e-4, **kw):
        global total_calls
        nonlocal runs
        total_calls += 1; runs += 1
        prev = None
        try:
            for i in range(n):
                l, g = jax.value_and_grad(mse)(w)
                if prev is not None and abs(prev - l) < tol: return w, i
                history.append(float(l)); prev = l
                w = w - lr * g
            else:
                kw.setdefault("note", "full")
        finally:
            history.append(-1.0)
            del g
        return w, kw.get("note", runs)
    return fit, history, lambda: runs
fit, history, runs = make_fit(); tol = 1e-4
---
w, info = fit(jnp.zeros(2), 5, tol=tol)
w2, info2 = fit(w, 2, note="second")
msg = f"{total_calls} {runs()} {len(history)} {info} {info2}"
print(msg)
---
tol = 0.1
---
fit.__kwdefaults__["lr"] = 0.2
---
fit, history, runs = make_fit(); total_calls = 0
---
def mse(w): return jnp.sum(jnp.abs(X @ w - y))

### ya-method-with-mangled-names-class-cell-and-super
class Base:
    def __init__(self): self.__n, self.w = 0, jnp.zeros(2)
    def bump(self): self.__n += 1; return self.__n
    def describe(self): return f"{type(self).__name__}:{self.__n}"
class Child(Base):
    __secret = 0.5
    def train(self, n):
        best = math.inf
        for i in range(n):
            l, g = jax.value_and_grad(mse)(self.w)
            self.w = self.w - self.__secret * 0.2 * g
            k = super().bump()
            if l < best: best, self.__best_i = float(l), i
            elif i - self.__best_i > 1: break
        return __class__.__name__, best, k, self.__best_i
c = Child()
---
name, best, k, at = c.train(4)
d = c.describe()
print(name, f"{best:.3f}", k, at, d)
---
Child._Child__secret = 2
---
c = Child()
---
Base.bump = lambda self: -1

### ya-solver-with-while-walrus-continue-else-and-closures-made-inside
def solve(f, z, tol=1e-3, maxit=25):
    df = jax.grad(f)
    trace, hooks = [], []
    it = 0
    while (r := f(z)) ** 2 > tol**2:
        it += 1
        if it > maxit: break
        d = df(z)
        if d == 0:
            z = z + 0.1
            continue
        step = r / d
        hooks.append(lambda: (it, step))
        trace.append((it, round(float(z), 2)))
        z = z - step
    else:
        trace.append("converged")
    return z, trace, hooks
f = lambda z: z**2 - 2.0
---
z, trace, hooks = solve(f, jnp.float32(0.0))
late = [h()[0] for h in hooks]
last = hooks[-1]()[1] if hooks else None
print(trace[-1], len(trace), late[:2])
---
f = lambda z: z**3 - 5
---
solve.__defaults__ = (1e-3, 2)
---
f = lambda z: z * 0.0

### ya-helper-with-match-del-star-and-exception-variable
def process(items, w, /, *extra, mode="fast", **opts):
    out, errs = [], []
    for k, item in enumerate(items, *extra):
        try:
            match item:
                case (a, *rest) if len(rest): v = a * w.sum() + sum(rest)
                case {"scale": s, **more}: v = w * s; opts.update(more)
                case str() as s: v = float(s) * w.max()
                case _: raise TypeError(f"{k}: {type(item).__name__}")
            if v.sum() > 3: out.append(("big", v)); del v; continue
        except (TypeError, ValueError) as e:
            errs.append(f"{e}"); v = None
        out.append(("small", v))
    try: e
    except UnboundLocalError as u: gone = type(u).__name__
    head, *tail = out
    return head, tail, errs, gone, opts
items = [(1, 2.0, 3), {"scale": 2, "tag": "t"}, "0.5", 7, "zz"]; w = jnp.array([1.0, 0.5])
---
head, tail, errs, gone, opts = process(items, w)
labels = [t for t, _ in [head, *tail]]
tot = sum(v.sum() for _, v in [head, *tail] if v is not None)
print(labels, errs, gone, opts)
---
items.append((w, w))
---
w = w * 10
---
items = [{"scale": True}, (2, 1)]
---
items = ["nan", "inf", [1]]

### ya-generator-trainer-yields-state-and-receives-lr
def trainer(w, lr=0.1):
    n = 0
    try:
        while True:
            l, g = jax.value_and_grad(mse)(w)
            new = yield n, float(l), w
            if new is not None: lr = new
            w = w - lr * g; n += 1
            if l < 0.05: return "good"
    finally:
        closed.append(n)
closed = []; lrs = [0.1, 0.3]
---
t = trainer(jnp.zeros(2))
n, l, w = next(t)
for lr in lrs:
    try: n, l, w = t.send(lr)
    except StopIteration as s: end = s.value; break
else:
    t.close(); end = None
print(n, f"{l:.3f}", closed, end)
---
lrs = [0.5] * 6
---
closed.clear(); lrs = []
---
lrs = [1, None]

### ya-recursive-bisect-tree-split-with-value-tests
def grow(ix, depth=0, path="r"):
    yy = y[jnp.array(ix)]
    if depth == max_depth or len(ix) < 2 or yy.std() < 1e-3:
        leaves.append((path, len(ix))); return float(yy.mean())
    j = depth % X.shape[1]
    col = X[jnp.array(ix), j]
    thr = jnp.median(col)
    lo = [i for i in ix if X[i, j] <= thr]; hi = [i for i in ix if i not in lo]
    if not lo or not hi: return float(yy.mean())
    return (j, float(thr), grow(lo, depth + 1, path + "l"), grow(hi, depth + 1, path + "h"))
leaves, max_depth = [], 2
def predict(t, v):
    while isinstance(t, tuple): t = t[2] if v[t[0]] <= t[1] else t[3]
    return t
---
leaves.clear()
tree = grow(list(range(len(X))))
pred = [predict(tree, v) for v in X]
acc = float(jnp.mean((jnp.array(pred) > 0.5) == (y > 0.5)))
print(acc, leaves)
---
max_depth = 1
---
y = y[::-1]
---
X, y, max_depth = jnp.vstack([X, X + 1]), jnp.hstack([y, 1 - y]), 3

### ya-wrapped-fit-retry-decorator-and-classmethod-factory
def retry(times, on=(ValueError,)):
    def deco(f):
        @wraps(f)
        def inner(*a, **k):
            for t in range(1, times + 1):
                try: return f(*a, attempt=t, **k)
                except on as e:
                    inner.errors.append(str(e))
                    if t == times: raise
        inner.errors = []
        return inner
    return deco
class Model:
    made = 0
    def __init__(self, w): self.w = w; Model.made += 1
    @classmethod
    def start(cls, n): return cls(jnp.ones(n) * cls.made)
    @staticmethod
    def clip(g, c=1.0): n = jnp.linalg.norm(g); return g * c / n if n > c else g
    @property
    def loss(self): return mse(self.w)
    @retry(3)
    def fit(self, lr, *, attempt):
        for _ in range(3):
            self.w = self.w - lr / attempt * self.clip(jax.grad(mse)(self.w))
            if self.loss > limit: raise ValueError(f"try {attempt}: too big")
        return self
limit = 0.9
---
m = Model.start(2)
try: m.fit(0.4); state = "fitted"
except ValueError as e: state = str(e)
n_err = len(Model.fit.errors)
print(state, n_err, Model.made, f"{m.loss:.3f}")
---
Model.made = 0; Model.fit.errors.clear()
---
limit = 0.1
---
Model.clip = staticmethod(lambda g, c=1.0: g * 0)
---
mse = lambda w: jnp.sum(w**2) * 0 + 0.5; limit = 1

### ya-function-with-local-import-assert-nested-class-and-comprehension-scopes
def analyse(a, n=3):
    "Docs of it."
    import statistics as st
    class Box:
        scale = 2
        vals = [i * 2 for i in range(3)]
        def __init__(self, v): self.v = v
        def get(self): return self.v * Box.scale + n
    i = "outer"
    boxes = [Box(a * i) for i in range(n)]
    m = [float(b.get().mean()) for b in boxes]
    if m[0] > m[-1]: n = -n
    assert all(isinstance(v, float) for v in m), "no floats"
    d = {k: v for k, v in zip("abc", m) if v > st.median(m) - 100}
    s = {round(v) for v in m}
    g = (b.get() for b in boxes)
    first = next(g)
    return i, n, d, sorted(s), first, sum(g), Box.vals, analyse.__doc__
a = jnp.array([1.0, -3.0]); n = 3
---
i, n2, d, s, first, rest, vals, doc = analyse(a, n)
print(i, n2, d, s, doc)
---
a = -a
---
n = 2
---
analyse.__doc__ = "other"; a = jnp.arange(3); n = 4

### ya-with-blocks-and-returns-in-a-fitting-function
class Timer:
    log = []
    def __init__(self, name): self.name = name
    def __enter__(self): Timer.log.append(f"+{self.name}"); return self
    def __exit__(self, t, e, tb): Timer.log.append(f"-{self.name}{'!' if t else ''}"); return t is ArithmeticError
@contextlib.contextmanager
def guard(lim):
    box = []
    try: yield box
    except OverflowError: box.append("over")
    finally: Timer.log.append(len(box))
def fit(w, lim):
    with Timer("fit"), guard(lim) as box:
        for i in range(4):
            with Timer(f"s{i}") as t:
                l, g = jax.value_and_grad(mse)(w)
                if l > lim: raise OverflowError
                if l < 0.2: raise ArithmeticError
                w = w - 0.2 * g
                box.append(i)
                if i == 2: return w, box, t.name
    return w, box, None
lim = 5.0
---
Timer.log.clear()
w, box, name = fit(jnp.zeros(2), lim)
print(box, name, Timer.log)
---
lim = 0.3
---
lim = 0
---
def mse(w): return jnp.sum(w) + 0.1
---
lim = 9; mse = lambda w: jnp.sum((w - 1) ** 2)

### ya-mutual-helpers-with-early-stop-flag-object-and-locals-shadowing
class Flag:
    def __init__(self): self.v = False
    def __bool__(self): return self.v
stop = Flag()
def check(l, hist, *, win=2):
    hist.append(l)
    if len(hist) > win and max(hist[-win:]) > 0.9 * hist[-win - 1]:
        stop.v = True
    return stop
def loop(n):
    hist, w = [], jnp.zeros(2)
    max = n
    for len in range(max):
        l, g = jax.value_and_grad(mse)(w)
        if check(float(l), hist): break
        w = w - rate(len) * g
    return w, len, hist[-1]
rate = lambda t: 0.3 / (1 + t)
---
stop.v = False
w, last, h = loop(8)
print(last, f"{h:.3f}", bool(stop))
if stop: w = w * 0.5
---
rate = lambda t: 0.01
---
check.__kwdefaults__["win"] = 1
---
stop = [0]; check = lambda l, hist: hist.append(l) or False

### ya-cell-raises-in-the-middle-after-a-state-has-changed
state = {"w": jnp.zeros(2), "n": 0}; log = []; fail_at = 99
def guarded(w, t):
    l, g = jax.value_and_grad(mse)(w)
    if t == fail_at: raise RuntimeError(f"failed at {t} with {l:.3f}")
    return w - 0.1 * g, l
---
for t in range(4):
    state["n"] += 1
    log.append(state["n"])
    state["w"], l = guarded(state["w"], t)
summary = f"{state['n']} {l:.3f} {len(log)}"
fail_at_next = state["n"] % 5
---
fail_at = 2
---
fail_at = 0
---
fail_at = None
---
fail_at = 3; log = deque(log, maxlen=2)

### ya-fit-predict-estimator-class-with-underscore-attributes-and-checks
class NotFitted(AttributeError): pass
class Ridge:
    def __init__(self, alpha=1.0, tol=1e-3, max_iter=30): self.alpha, self.tol, self.max_iter = alpha, tol, max_iter
    def fit(self, X, y):
        n, d = X.shape
        self.coef_, self.n_iter_ = jnp.zeros(d), 0
        L = float(jnp.linalg.eigvalsh(X.T @ X / n)[-1]) + self.alpha
        for self.n_iter_ in range(1, self.max_iter + 1):
            g = X.T @ (X @ self.coef_ - y) / n + self.alpha * self.coef_
            new = self.coef_ - g / L
            if jnp.max(jnp.abs(new - self.coef_)) < self.tol: break
            self.coef_ = new
        else:
            self.warned_ = True
        return self
    def predict(self, X):
        if not hasattr(self, "coef_"): raise NotFitted(f"{type(self).__name__} is not fitted")
        return X @ self.coef_
    def score(self, X, y): return 1 - ((y - self.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
alphas = [1.0, 0.1, 0.01]; fitted = {}
---
try: Ridge().predict(X)
except NotFitted as e: msg = str(e)
for a in alphas:
    m = fitted[a] = Ridge(a).fit(X, y)
    print(f"{a:<5} it={m.n_iter_:2d} r2={m.score(X, y):.3f} {'!' if getattr(m, 'warned_', False) else ''}")
best = max(fitted.values(), key=lambda m: m.score(X, y))
coefs = jnp.stack([m.coef_ for m in fitted.values()])
---
Ridge.__init__.__defaults__ = (1.0, 0.5, 3)
---
alphas.append(10)
---
fitted.clear(); alphas = [True]
---
Ridge.predict = lambda self, X: X[:, 0]
""",
)
