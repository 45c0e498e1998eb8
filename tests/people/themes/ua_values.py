"""Numbers out of arrays where Python wants its own: lengths, indices, keys, weights, texts, and comparisons."""

from ..cell import written

PRELUDE = """
import bisect, collections, copy, dataclasses, datetime, functools, fractions, heapq, io, itertools, json, math
import operator, os, random, statistics, sys, time
from functools import partial
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### ua-array-integers-as-repeat-counts-slices-and-indices
x = jnp.array([3, 1, 2])
toks = ["a", "b", "c", "d", "e"]
---
n = x.max()
pad = ["<pad>"] * n
rule = "-" * x[1]
part = toks[x[1]:n]
pick = toks[x[2]]
text = "hello"[: x[0]]
rng = list(range(x[0], x[0] + n))
h = hex(x[0]), bin(n), chr(97 + x[2])
z = [0] * (5 - len(pad)) + [1] * int(x[1])
print(pad, rule, part, pick, text, rng, h, z)
jnp.arange(n) + x
---
x = jnp.array([2, 1, 1])

### ua-builtins-round-divmod-abs-pow-complex-on-array-scalars
v = jnp.array([2.71828, -1.5])
---
a, b = v
r = round(a, 2)
ri = round(float(b))
q, m = divmod(a, 1)
p = pow(a, 2)
c = complex(a)
s = abs(b)
i, fl, tr = int(a), math.floor(a), math.trunc(b)
lst = sorted([a, b, jnp.float32(0.5)])
print(r, ri, c, i, fl, tr, [type(t).__name__ for t in (r, q, p, s, c)], lst[0] is b)
q + m + p
---
v = v * 10

### ua-membership-index-remove-count-among-array-scalars
xs = [jnp.float32(i) for i in (1, 2, 3, 2)]
---
has = 2 in xs
where = xs.index(3)
cnt = xs.count(2)
lst = list(xs)
lst.remove(2)
k = next((i for i, v in enumerate(xs) if v > 1.5), None)
mn = min(xs, key=lambda v: (v - 2.2) ** 2)
tup = (jnp.float32(1), "b") == (jnp.float32(1), "b")
print(has, where, cnt, len(lst), k, tup, mn is xs[1])
mn + sum(lst)
---
xs[2] = jnp.float32(30)
---
xs.insert(0, jnp.float32(3))

### ua-heap-and-bisect-over-device-distances-with-ties
pts = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
---
D = jnp.sqrt(((pts[:, None] - pts[None]) ** 2).sum(-1))
heap = [(d, i) for i, d in enumerate(D[0])]
heapq.heapify(heap)
order = [heapq.heappop(heap)[1] for _ in range(len(heap))]
near = heapq.nsmallest(2, range(4), key=lambda i: D[1, i])
knots = [0.0, 1.0, 2.5]
slots = [bisect.bisect_left(knots, d) for d in D[0]]
print(order, near, slots)
D[order[-1]]
---
pts = pts[::-1]

### ua-dict-keyed-by-item-values-and-grouped-counts
labels = jnp.array([2, 0, 2, 1, 0, 2]); vals = jnp.arange(6.0)
---
groups = collections.defaultdict(list)
for l, v in zip(labels.tolist(), vals): groups[l].append(v)
means = {k: jnp.mean(jnp.stack(v)) for k, v in sorted(groups.items())}
counts = collections.Counter(int(l) for l in labels)
common = counts.most_common(1)[0]
uniq, inv = jnp.unique(labels, return_inverse=True)
seg = jax.ops.segment_sum(vals, inv, num_segments=len(uniq))
print(common, {k: round(float(v), 2) for k, v in means.items()}, uniq.tolist())
seg / jnp.bincount(labels)
---
labels = jnp.array([1, 1, 1, 0, 0, 5])
---
vals = vals ** 2

### ua-random-choices-weighted-by-device-probabilities cold
logits, names = jnp.array([0.1, 2.0, -1.0]), ["left", "up", "right"]
random.seed(11)
---
p = jax.nn.softmax(logits)
picks = random.choices(names, weights=p.tolist(), k=4)
one = np.random.default_rng(3).choice(names, p=np.asarray(p, np.float64) / np.asarray(p, np.float64).sum())
ent = -jnp.sum(p * jnp.log(p))
print(len(picks), str(one) in names, {type(x).__name__ for x in (one, picks[0])})
ent, picks
---
logits = logits * 0
---
random.seed(12)

### ua-chained-comparisons-and-or-not-ternaries-on-scalars
x, lo, hi = jnp.array([1.0, 2.0]), 0.5, 5
---
s = x.sum()
inside = lo < s < hi
first = s and "truthy"
other = (s - s) or "fallback"
neg = not s > 100
grade = "A" if s > 10 else "B" if s > 2 else "C"
allp, anyp = all(x > 0), any(v > 1.5 for v in x)
assert s >= 0, f"negative {s}"
print(inside, first, other, neg, grade, allp, anyp, type(inside).__name__)
x * (s if inside else -s)
---
hi = 2
---
x = x * 10

### ua-numpy-arrays-indexed-and-written-by-device-indices
a = np.zeros(5, np.float32)
idx, w = jnp.array([1, 3, 1]), jnp.array([1.0, 2.0, 4.0])
---
np.add.at(a, idx, w)
a[idx] *= 2
m = jnp.arange(5) % 2 == 0
a[m] -= 1
b = a[np.asarray(m)]
c = np.take(a, idx)
d = np.where(m, a, -1)
e = np.concatenate([a, w])
print(a.tolist(), [type(t).__name__ for t in (b, c, d, e)], d.dtype)
jnp.asarray(a)[idx] + w
---
idx = jnp.array([0, 0, 4])
---
a[:] = 0

### ua-numpy-vectorize-apply-along-axis-and-frompyfunc-of-jnp
M = np.arange(6, dtype=np.float32).reshape(2, 3)
f = np.vectorize(lambda a, b: float(jnp.hypot(a, b)), otypes=[np.float32])
---
h = f(M, 1.0)
rows = np.apply_along_axis(lambda r: np.asarray(jnp.sort(-r)), 1, M)
clip = np.frompyfunc(lambda v: min(v, 3), 1, 1)(M).astype(np.float32)
g = np.fromfunction(lambda i, j: np.asarray(jnp.where(i > j, 1.0, 0.0)), (3, 3))
pw = np.piecewise(M, [M < 2, M >= 2], [lambda v: v * 0, lambda v: np.asarray(jnp.log(v))])
print(h.shape, rows[0].tolist(), clip.max(), g.sum(), pw.dtype)
jnp.asarray(h) @ rows.T
---
M = M + 1

### ua-statistics-fractions-datetimes-from-device-floats
losses = jnp.array([0.5, 0.25, 0.125])
t0 = datetime.datetime(2024, 5, 1, 12)
---
vals = losses.tolist()
mean, med = statistics.fmean(vals), statistics.median(vals)
fr = [fractions.Fraction(v) for v in vals]
eta = t0 + datetime.timedelta(seconds=float(losses.sum()) * 1000)
stamp = f"{eta:%Y-%m-%d %H:%M:%S}"
pct = f"{losses[1]:.1%} {losses[0]:>8.3f}|{losses[2]:<+10.2e}|{losses.shape!s:^9}"
old = "%s has %d and %.2f" % ("x", losses[0] * 4, losses[1])
print(mean, med, sum(fr), stamp, pct, old, sep=" / ")
losses * mean
---
losses = losses[:2]

### ua-json-encoder-default-for-arrays-and-numpy-scalars
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, jax.Array): return {"__a__": o.tolist(), "dtype": str(o.dtype)}
        if isinstance(o, (np.integer, np.floating)): return o.item()
        if isinstance(o, set): return sorted(o)
        return super().default(o)
def hook(d): return jnp.array(d["__a__"], d["dtype"]) if "__a__" in d else d
rec = {"w": jnp.arange(3), "n": np.int64(4), "tags": {"b", "a"}}
---
rec["loss"] = jnp.mean(rec["w"] ** 2.0)
s = json.dumps(rec, cls=Enc, sort_keys=True)
back = json.loads(s, object_hook=hook)
try:
    json.dumps(rec)
except TypeError as e:
    print(str(e)[:40])
print(s, back["w"].dtype, back["loss"].weak_type, rec["loss"].weak_type)
back["w"] * back["loss"]
---
rec["w"] = rec["w"] * 2
---
rec["bad"] = [jnp.array([1.5]), {"k": jnp.array(True)}]

### ua-empty-arrays-zero-sizes-and-guards
rows = []
def mean(xs): return jnp.stack(xs).mean(0) if xs else jnp.zeros(0)
n = 0
---
m = mean(rows)
e = jnp.arange(n)
tot, pr = e.sum(), e.prod()
try:
    mx = e.max()
except ValueError as err:
    mx = None
    print(type(err).__name__, str(err)[:30])
c = jnp.concatenate([e, jnp.array([7])])
print(m.shape, e.dtype, tot, pr, len(e), e.size == 0, list(e))
c
---
n = 3
---
rows.append(jnp.ones(2))

### ua-newton-digits-table-with-decimal-convergence-orders x64
f = lambda x: x ** 3 - a
a = 2.0
---
x, tab = jnp.array(1.0), []
for k in range(10):
    step = f(x) / jax.grad(f)(x)
    x = x - step
    tab.append((k, float(x), float(abs(step))))
    if abs(step) < 1e-6 * abs(x): break
orders = [math.log(c[2] + 1e-30) / math.log(b[2] + 1e-30) for b, c in zip(tab, tab[1:]) if 0 < b[2] < 0.5 and c[2] > 1e-5]
for k, v, s in tab[:3]: print(f"{k:2d} {v:10.5f} {s:9.2e}")
print(len(orders) > 0)
x
---
a = 9.0

### ua-while-pop-work-list-with-device-bounds-bisection
f = lambda x: jnp.cos(3 * x) - shift
shift = 0.1
---
work, roots, seen = [(0.0, 3.0, 0)], [], 0
while work:
    lo, hi, depth = work.pop()
    seen += 1
    if depth < 3:
        mid = (lo + hi) / 2
        work += [(lo, mid, depth + 1), (mid, hi, depth + 1)]
        continue
    if f(lo) * f(hi) > 0: continue
    while hi - lo > 0.05:
        mid = (lo + hi) / 2
        lo, hi = (lo, mid) if f(lo) * f(mid) <= 0 else (mid, hi)
    roots.append(round((lo + hi) / 2, 3))
roots.sort()
print(seen, roots)
f(jnp.array(roots))
---
shift = -0.7

### ua-array-truth-error-caught-and-any-all-hint
x = jnp.array([0.0, 1.0])
msgs = []
---
msgs.clear()
for expr in (lambda: bool(x), lambda: x and 1, lambda: 1 if x > 0 else 0, lambda: int(x), lambda: x in [x + 1], lambda: hash(x)):
    try:
        msgs.append(expr())
    except (ValueError, TypeError) as e:
        msgs.append(type(e).__name__ + ":" + str(e)[:25])
print(*msgs, sep="\n")
x.any() & ~x.all()
---
x = jnp.array([3.0])

### ua-persistent-ref-counter-and-swap-between-cells
from jax import ref as jref
count, ring = jax.new_ref(jnp.int32(0)), jax.new_ref(jnp.zeros((3, 2)))
@jax.jit
def push(v):
    i = count[...] % 3
    ring[i] = v
    count[...] += 1
    return i
v = jnp.array([1.0, -1.0])
---
i = push(v)
j = push(v * 2)
n = count[...]
old = jref.swap(ring, (0,), jnp.full(2, 9.0)) if n > 4 else ring[0]
print(int(i), int(j), int(n))
ring[...] + old
---
v = v * 10
---
ring[...] = jnp.zeros((3, 2)); count[...] = jnp.int32(0)

### ua-deepcopied-model-diverges-and-shallow-copy-shares
class Net:
    def __init__(self): self.w, self.log, self.opt = jnp.ones(2), [], {"m": jnp.zeros(2)}
    def step(self):
        self.opt["m"] = 0.9 * self.opt["m"] + self.w
        self.w = self.w - 0.1 * self.opt["m"]
        self.log.append(self.w.sum())
        return self
net = Net()
---
deep, shallow = copy.deepcopy(net), copy.copy(net)
net.step().step()
deep.step()
shallow.w = shallow.w + 1
print(len(net.log) - len(deep.log), shallow.log is net.log, shallow.opt is net.opt, deep.opt["m"] is net.opt["m"])
net.w - deep.w, shallow.opt["m"]
---
net.w = jnp.zeros(2)
---
net = Net(); net.opt["m"] = jnp.ones(2)

### ua-dict-of-callbacks-mutated-while-listed-and-setdefault-chain
hooks = {}
def on(name, times=1):
    def deco(f):
        hooks.setdefault(name, []).append([f, times])
        return f
    return deco
@on("step", times=2)
def halve(x): return x / 2
@on("step", times=100)
def add(x): return x + bias
x, bias = jnp.array(8.0), 1.0
---
for name in list(hooks):
    for h in hooks[name][:]:
        x = h[0](x)
        h[1] -= 1
        if h[1] <= 0: hooks[name].remove(h)
left = {k: [(h[0].__name__, h[1] > 0) for h in v] for k, v in hooks.items()}
print(left)
x
---
bias = 2.5
---
hooks.setdefault("step", []).insert(0, [halve, 1])

### ua-try-jit-fallback-to-eager-when-it-does-not-trace
def maybe_jit(f):
    jf = jax.jit(f)
    mode = []
    @functools.wraps(f)
    def g(*a):
        try:
            r = jf(*a)
            mode.append("jit")
        except (jax.errors.TracerBoolConversionError, jax.errors.ConcretizationTypeError) as e:
            mode.append(type(e).__name__)
            r = f(*a)
        return r
    g.mode = mode
    return g
@maybe_jit
def relu(x): return x if x.sum() > 0 else x * 0
@maybe_jit
def sq(x): return x ** 2
x = jnp.array([1.0, -3.0])
---
y = relu(x) + sq(x)
z = relu(-x)
print(relu.mode[-2:], sq.mode[-1])
y - z
---
x = -x
""",
)
