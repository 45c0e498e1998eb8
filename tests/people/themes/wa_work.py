"""Work on data, models and settings in which what changes between runs is seen by order, type, identity or setting."""

from ..cell import written

PRELUDE = """
import array, bisect, collections, contextlib, copy, csv, dataclasses, decimal, enum, fractions, functools, heapq, io
import itertools, json, logging, math, operator, os, pickle, random, re, statistics, string, struct, time, types
import warnings
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, tree_util
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
"""

CELLS = written(
    PRELUDE,
    r"""
### wa-feature-dict-to-matrix-with-header-line-joined-from-the-keys
feats = {"age": jnp.array([30.0, 41.0]), "height": jnp.array([1.7, 1.8]), "weight": jnp.array([60.0, 81.0])}
---
X = jnp.stack([*feats.values()], axis=1)
Z = (X - X.mean(0)) / X.std(0)
header = ",".join(feats)
first, *rest = feats
rows = [header] + [",".join(f"{v:.2f}" for v in r) for r in Z.tolist()]
print(rows[0], first, len(rest))
Z[:, 0]
---
feats = {k: feats[k] for k in ("weight", "age", "height")}
---
feats["bmi"] = feats["weight"] / feats["height"] ** 2

### wa-column-order-kept-in-a-list-that-is-extended-from-two-dicts
num = {"a": jnp.arange(3.0), "b": jnp.ones(3)}
cat = {"c": jnp.array([0, 1, 0])}
---
cols = []
cols.extend(num)
cols += cat
parts = [num[c][:, None] if c in num else jax.nn.one_hot(cat[c], 2) for c in cols]
X = jnp.concatenate(parts, axis=1)
spans = dict(zip(cols, itertools.accumulate([p.shape[1] for p in parts], initial=0)))
print(cols, spans)
X.sum(0)
---
num = {"b": num["b"], "a": num["a"]}
---
cat["d"] = jnp.array([1, 1, 0])

### wa-param-table-printed-with-total-and-percent-of-each
params = {"enc": {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}, "dec": {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}}
---
total = sum(p.size for p in jax.tree.leaves(params))
lines = ["{:<8}{:>6}{:>8}".format("name", "size", "share")]
for path, leaf in tree_util.tree_leaves_with_path(params):
    name = "/".join(k.key for k in path)
    lines.append("{:<8}{:>6d}{:>8.1%}".format(name, leaf.size, leaf.size / total))
by_top = {k: sum(map(operator.attrgetter("size"), v.values())) for k, v in params.items()}
print("\n".join(lines))
norm = jnp.sqrt(sum(jnp.vdot(p, p) for p in jax.tree.leaves(params)))
max(by_top, key=by_top.get), norm
---
params = {"dec": params["dec"], "enc": params["enc"]}
---
params["dec"]["b"] = None

### wa-lr-given-as-string-int-or-schedule-and-resolved-by-a-helper
lr = 0.1
def resolve(lr):
    if isinstance(lr, str): return lambda s: float(lr)
    if callable(lr): return lr
    if isinstance(lr, bool): raise TypeError("lr is a bool")
    return lambda s: lr
w = jnp.array([1.0, -2.0])
---
sched = resolve(lr)
hist = []
for s in range(4):
    w = w - sched(s) * 2 * w
    hist.append(sched(s))
print([type(h).__name__ for h in hist], hist[0])
w
---
lr = "0.05"
---
lr = lambda s: 0.1 / (s + 1)
---
lr = 1

### wa-config-object-with-intenum-flags-picks-activation-and-says-its-name
class Act(enum.IntEnum):
    RELU = 0
    TANH = 1
    GELU = 2
TABLE = {Act.RELU: jax.nn.relu, Act.TANH: jnp.tanh, Act.GELU: jax.nn.gelu}
cfg = types.SimpleNamespace(act=Act.TANH, width=3, scale=2)
x = jnp.linspace(-1, 1, 3)
---
h = TABLE[cfg.act](x * cfg.scale)
label = f"{cfg.act!r} {cfg.act:d} {cfg.width}"
chosen = Act(cfg.act).name.lower()
known = cfg.act in TABLE, isinstance(cfg.act, Act)
print(label, chosen, known)
h
---
cfg.act = 1
---
cfg.act, cfg.scale = Act.GELU, 0.5
---
cfg.act = True

### wa-mixed-precision-policy-as-namedtuple-or-tuple
Policy = collections.namedtuple("Policy", "param compute output")
policy = Policy(jnp.float32, jnp.bfloat16, jnp.float32)
w, x = jnp.ones((2, 2)) * 0.25, jnp.arange(4.0).reshape(2, 2)
---
p, c, o = policy
y = (x.astype(c) @ w.astype(c)).astype(o)
names = policy._fields if hasattr(policy, "_fields") else ("?",) * len(policy)
told = dict(zip(names, [jnp.dtype(d).name for d in policy]))
print(told, y.dtype, w.astype(p).dtype)
y
---
policy = Policy(*policy[:2], jnp.bfloat16)
---
policy = tuple(policy)
---
policy = policy[:1] + (jnp.float16,) + policy[2:]

### wa-decimal-prices-to-cents-array-with-rounding-context
prices = [decimal.Decimal("1.005"), decimal.Decimal("2.50"), decimal.Decimal("0.125")]
decimal.getcontext().rounding = decimal.ROUND_HALF_EVEN
rate = decimal.Decimal("0.10")
---
cents = [int((p * 100).to_integral_value()) for p in prices]
a = jnp.asarray(cents)
tax = [str((p * rate).quantize(decimal.Decimal("0.01"))) for p in prices]
shown = " ".join(map(str, prices))
net = a * (1 - float(rate))
print(cents, tax, shown)
net
---
decimal.getcontext().rounding = decimal.ROUND_UP
---
prices[1] = decimal.Decimal("2.500")
---
rate = decimal.Decimal("0.2")

### wa-signed-zero-and-nan-in-clipping-bounds
lo, hi = 0.0, 1.0
x = jnp.array([-1.0, -0.0, 0.0, 2.0, jnp.nan])
---
y = jnp.clip(x, lo, hi)
side = math.copysign(1.0, lo)
inv = 1.0 / (jnp.zeros(2) + lo) if lo == 0 else None
words = f"[{lo}, {hi}]"
open_top = math.isnan(hi) or hi == math.inf
print(words, side, open_top)
jnp.where(jnp.isnan(y), -1.0, y), inv
---
lo = -0.0
---
hi = math.inf
---
lo, hi = -math.inf, math.nan

### wa-bucket-edges-as-dict-keys-of-floats-ints-and-bools
edges = {0: "low", 1: "mid", 2: "high"}
x = jnp.array([0.2, 1.7, 2.5, 0.9])
---
cuts = jnp.array(list(edges), dtype=jnp.float32)
idx = jnp.searchsorted(cuts, x, side="right") - 1
names = [edges[k] for k in edges]
got = [names[i] for i in idx.tolist()]
kinds = sorted({type(k).__name__ for k in edges})
print(got, kinds, json.dumps(edges))
jnp.bincount(idx, length=len(edges))
---
edges = {0.0: "low", 1.0: "mid", 2.0: "high"}
---
edges = {False: "low", True: "mid", 2: "high"}

### wa-weak-typed-scale-array-made-strong-between-runs
scale = jnp.asarray(2.0)
h = jnp.ones(3, jnp.bfloat16)
n = jnp.arange(3, dtype=jnp.int8)
---
a = h * scale
b = n * scale
c = jnp.where(n > 1, h, scale)
kinds = [str(v.dtype) for v in (a, b, c)] + [scale.weak_type]
up = jnp.result_type(h, scale)
print(kinds, up)
a + c
---
scale = jnp.asarray(2.0, jnp.float32)
---
scale = jnp.asarray(2)
---
scale = np.float16(2)

### wa-default-device-and-x64-switched-by-a-helper
def setup(x64=False, device=0):
    jax.config.update("jax_enable_x64", x64)
    jax.config.update("jax_default_device", jax.devices()[device])
setup()
---
a = jnp.linspace(0, 1, 4)
b = jnp.arange(4) * 2
where = {d.id for d in (a @ a).devices()}
print(a.dtype, b.dtype, where, jax.config.jax_enable_x64)
a * b
---
setup(x64=True)
---
setup(device=1)
---
setup()

### wa-default-prng-and-key-style-printed-with-draws cold
seed = 0
---
key = jax.random.key(seed)
k1, k2 = jax.random.split(key)
u = jax.random.uniform(k1, (2,))
old = jax.random.PRNGKey(seed)
info = str(key.dtype), old.shape, str(jax.random.key_impl(key))
print(*info)
u.round(3), jax.random.key_data(k2).shape
---
jax.config.update("jax_default_prng_impl", "rbg")
---
seed = 1
---
jax.config.update("jax_default_prng_impl", "threefry2x32")

### wa-matmul-precision-context-from-a-settings-dict
settings = {"precision": "highest", "dtype": "float32"}
A = jnp.linspace(0, 1, 9).reshape(3, 3)
def build(settings):
    with jax.default_matmul_precision(settings["precision"]):
        return str(jax.make_jaxpr(lambda m: m @ m)(A)), A.astype(settings["dtype"]) @ A.astype(settings["dtype"])
---
text, B = build(settings)
level = re.findall(r"Precision\.(\w+)", text)
print(level[:1], B.dtype)
jnp.trace(B)
---
settings["precision"] = "default"
---
settings = {"dtype": "bfloat16", "precision": "high"}

### wa-array-resharded-over-two-then-four-devices-and-report devices=4
devs = np.array(jax.devices()[:4])
mesh = Mesh(devs.reshape(2, 2), ("x", "y"))
A = jax.device_put(jnp.arange(16.0).reshape(4, 4), NamedSharding(mesh, P("x", None)))
---
B = jnp.tanh(A / 16) @ A.T
rows = [(s.index[0].start or 0, s.data.shape, s.device.id) for s in B.addressable_shards]
spec = getattr(A.sharding, "spec", None)
print(spec, sorted(rows), B.committed)
total = B.sum()
total
---
A = jax.device_put(A, NamedSharding(mesh, P("y", "x")))
---
mesh = Mesh(devs[::-1].reshape(2, 2), ("x", "y")); A = jax.device_put(A, NamedSharding(mesh, P("x", None)))
---
A = jax.device_put(A, jax.devices()[2])

### wa-uncommitted-then-committed-operands-meet
a, b = jnp.ones(3), jnp.arange(3.0)
---
c = a + b
d = jnp.zeros(3) + c
places = [(v.committed, min(x.id for x in v.devices())) for v in (a, b, c, d)]
same = c.sharding == d.sharding
print(places, same)
d
---
a = jax.device_put(a, jax.devices()[1])
---
b = jax.device_put(b, jax.devices()[1])
---
a = jnp.ones(3)

### wa-batches-deleted-by-hand-are-skipped
batches = [jnp.full(2, float(i)) for i in range(3)]
---
alive = [b for b in batches if not b.is_deleted()]
means = jnp.stack([b.mean() for b in alive])
print(len(alive), [b.shape for b in batches])
means.sum()
---
batches[1].delete()
---
batches[1] = jnp.full(2, 9.0)

### wa-numpy-view-of-a-buffer-made-readonly-or-copied
base = np.arange(12, dtype=np.float32).reshape(3, 4)
win = base[1:, ::2]
---
j = jnp.asarray(win) * 2
facts = win.base is not None, win.strides, win.flags.writeable, np.shares_memory(win, base)
if win.flags.writeable:
    win[0, 0] += 1
print(facts, base[1, 0])
j
---
win.setflags(write=False)
---
win = win.copy()
---
base = np.asfortranarray(base); win = base[1:, ::2]

### wa-structured-records-field-order-and-byte-order
rec = np.array([(1, 2.0), (3, 4.5)], dtype=[("id", "i4"), ("v", "f4")])
---
v = jnp.asarray(np.ascontiguousarray(rec["v"]).astype(np.float32))
names = rec.dtype.names
swapped = [rec.dtype[n].byteorder for n in names]
last = jnp.asarray(rec[names[-1]].astype("f4"))
print(names, swapped, rec.dtype.itemsize, rec[0].item())
v + last
---
rec = rec[["v", "id"]]
---
rec = rec.astype([("id", ">i4"), ("v", ">f4")])
---
rec = np.array([(0, 1, 5.0)], dtype=[("id", "i4"), ("k", "i4"), ("v", "f4")])

### wa-object-array-of-ragged-rows-padded
rows = np.empty(3, object)
rows[:] = [jnp.arange(2.0), jnp.arange(4.0), np.ones(1)]
---
width = max(len(r) for r in rows)
pad = jnp.stack([jnp.pad(jnp.asarray(r, jnp.float32), (0, width - len(r))) for r in rows])
kinds = [type(r).__module__.split(".")[0] for r in rows]
mask = jnp.arange(width) < jnp.array([[len(r)] for r in rows])
print(width, kinds)
(pad * mask).sum(1)
---
rows[2] = jnp.ones(6)
---
rows[0] = [1, 2, 3]

### wa-memoryview-and-array-module-fill-a-jax-buffer
raw = array.array("f", [1, 2, 3, 4]); view = memoryview(raw)
---
a = jnp.asarray(np.frombuffer(view, np.float32).copy())
s = view[1:3].tolist()
head = struct.unpack_from("<2f", view.cast("B"), 4)
print(s, head, view.readonly, view.format)
jnp.cumsum(a)
---
raw[1] = 9.0
---
view = memoryview(bytes(raw)).cast("f")

### wa-priority-queue-of-proposals-with-ties
heap = [(0.5, "b", jnp.array(2.0)), (0.5, "a", jnp.array(1.0)), (0.1, "c", jnp.array(3.0))]
---
h = list(heap)
heapq.heapify(h)
order, vals = [], []
while h:
    pri, name, val = heapq.heappop(h)
    order.append(name)
    vals.append(val * pri)
top = heapq.nlargest(2, heap, key=operator.itemgetter(0))
print(order, [t[1] for t in top])
jnp.stack(vals)
---
heap[0], heap[1] = heap[1], heap[0]
---
heap.append((0.5, "A", jnp.array(5.0)))

### wa-vocabulary-by-frequency-with-ties-to-embedding-rows
words = "the cat the dog a cat dog a".split()
E = jax.random.normal(jax.random.key(0), (4, 2))
---
freq = collections.Counter(words)
vocab = [w for w, _ in freq.most_common()]
ids = {w: i for i, w in enumerate(vocab)}
tok = jnp.array([ids[w] for w in words])
bag = E[tok].mean(0)
common = statistics.mode(words)
print(vocab, common, tok.tolist())
bag
---
words = words[::-1]
---
words = [*words, "zebra"][1:]

### wa-groupby-speaker-keeps-first-seen-order
lines = [("ann", 1.0), ("bob", 2.0), ("ann", 3.0), ("cy", 4.0)]
---
groups = collections.defaultdict(list)
for who, v in lines:
    groups[who].append(v)
means = {k: jnp.mean(jnp.array(v)) for k, v in groups.items()}
first, second, *_ = means
runs = [(k, len(list(g))) for k, g in itertools.groupby(lines, key=operator.itemgetter(0))]
print(list(means), runs)
means[first] - means[second]
---
lines = lines[::-1]
---
lines.append(("ann", 10.0))

### wa-tied-weights-counted-by-identity
emb = jnp.ones((3, 2))
model = {"emb": emb, "out": emb, "b": jnp.zeros(3)}
---
count = sum({id(v): v.size for v in jax.tree.leaves(model)}.values())
tied = model["emb"] is model["out"]
new = jax.tree.map(lambda v: v * 0.9, model)
if tied:
    new["out"] = new["emb"]
same = operator.is_(new["emb"], new["out"])
model = new
print(count, tied, same)
model["out"].sum()
---
model["out"] = model["out"] + 0
---
model["out"] = model["emb"] = jnp.full((3, 2), 2.0)

### wa-deep-copied-ema-shares-what-was-shared
w = jnp.arange(2.0)
net = {"a": [w, w], "meta": {"tags": ["x"]}}
net["alias"] = net["meta"]
---
ema = copy.deepcopy(net)
shallow = copy.copy(net)
facts = ema["alias"] is ema["meta"], ema["a"][0] is ema["a"][1], shallow["a"] is net["a"]
ema["a"] = [0.9 * e + 0.1 for e in ema["a"]]
ema["meta"]["tags"].append("ema")
print(facts, ema["alias"], net["alias"])
ema["a"][0]
---
net["alias"] = dict(net["meta"])
---
net["a"][1] = w + 1

### wa-pickle-size-tells-shared-arrays
big = np.arange(50.0); state = {"p": big, "q": big}
---
blob = pickle.dumps(state)
back = pickle.loads(blob)
shared = back["p"] is back["q"]
y = jnp.asarray(back["p"]) - jnp.asarray(back["q"])
print(len(blob) > 700, shared)
y.sum()
---
state["q"] = big.copy()
---
state["p"] = state["q"]

### wa-registry-of-losses-with-decorator-and-added-entries
LOSSES = {}
def loss(fn=None, *, name=None):
    if fn is None: return partial(loss, name=name)
    LOSSES[name or fn.__name__] = fn
    return fn
@loss
def l2(e): return jnp.mean(e ** 2)
@loss(name="abs")
def l1(e): return jnp.mean(jnp.abs(e))
e = jnp.array([1.0, -3.0])
---
vals = {n: f(e) for n, f in LOSSES.items()}
worst = max(vals, key=lambda n: float(vals[n]))
total = functools.reduce(operator.add, vals.values())
print("|".join(vals), worst, [f.__name__ for f in LOSSES.values()])
total
---
@loss
def huber(e): return jnp.mean(jnp.where(jnp.abs(e) < 1, e ** 2 / 2, jnp.abs(e) - 0.5))
---
LOSSES["l2"] = LOSSES.pop("l2")

### wa-singledispatch-norm-gets-new-types-registered
@functools.singledispatch
def norm(v): return jnp.sqrt(sum(norm(u) ** 2 for u in jax.tree.leaves(v)))
@norm.register
def _(v: jax.Array): return jnp.linalg.norm(v)
@norm.register
def _(v: float): return abs(v)
tree = {"a": jnp.array([3.0, 4.0]), "b": 2.0, "c": 1}
---
try:
    n = norm({k: v for k, v in tree.items() if k != "c"})
    c = norm.dispatch(type(tree["c"])).__name__
except RecursionError:
    n, c = None, "?"
known = sorted(t.__name__ for t in norm.registry)
print(c, known)
n
---
@norm.register
def of_int(v: int): return v
---
tree["b"] = jnp.asarray(2.0)

### wa-cached-kernel-matrix-keyed-by-length-scale
@functools.lru_cache(maxsize=4)
def grid(n): return np.linspace(0, 1, n)
class GP:
    def __init__(self, n, ell): self.n, self.ell = n, ell
    @functools.cached_property
    def K(self):
        g = jnp.asarray(grid(self.n), jnp.float32)
        return jnp.exp(-((g[:, None] - g[None]) ** 2) / self.ell ** 2)
gp = GP(3, 0.5)
---
L = jnp.linalg.cholesky(gp.K + 1e-3 * jnp.eye(gp.n))
kept = "K" in vars(gp)
logdet = 2 * jnp.log(jnp.diag(L)).sum()
print(kept, gp.K.shape)
logdet
---
gp.ell = 0.1
---
del gp.K
---
gp = GP(4, 0.1)

### wa-class-default-shadowed-on-one-instance-then-restored
class Layer:
    gain, bias = 2.0, None
    def __call__(self, x):
        y = x * self.gain
        return y if self.bias is None else y + self.bias
a, b = Layer(), Layer()
x = jnp.arange(3.0)
---
y = b(a(x))
own = sorted(vars(a)), sorted(vars(b))
print(own, Layer.gain, type(a.bias).__name__)
y
---
a.gain = 0.5
---
Layer.bias = jnp.ones(3)
---
del a.gain; b.bias = None

### wa-mutable-default-cache-and-kwdefault-changed
def step(w, g, *, lr=0.1, seen=[]):
    seen.append(w.shape)
    return w - lr * g
w = jnp.ones(2)
---
w = step(w, w)
w = step(w, w * 2)
n = len(step.__kwdefaults__["seen"]) % 2
print(n, step.__kwdefaults__["lr"])
w
---
step.__kwdefaults__["lr"] = 0.2
---
step.__kwdefaults__["seen"].clear()

### wa-closure-with-nonlocal-scale-set-by-its-setter
def make(scale):
    calls = 0
    def f(x):
        nonlocal calls
        calls += 1
        return x * scale
    def set_scale(s):
        nonlocal scale
        scale = s
    return f, set_scale, lambda: calls
f, set_scale, calls = make(2.0)
x = jnp.arange(2.0)
---
y = f(x) + f(x + 1)
told = calls()
print(told, f.__code__.co_freevars)
y
---
set_scale(5)
---
f, set_scale, calls = make(True)

### wa-contextvar-scopes-name-the-parameters
import contextvars
scope = contextvars.ContextVar("scope", default="root")
store = {}
def param(name, value):
    full = f"{scope.get()}/{name}"
    return store.setdefault(full, value)
@contextlib.contextmanager
def in_scope(name):
    tok = scope.set(f"{scope.get()}/{name}")
    try: yield
    finally: scope.reset(tok)
x = jnp.ones(2)
---
h = x
for name in ("enc", "dec"):
    with in_scope(name):
        h = jnp.tanh(h * param("w", jnp.full(2, 0.5)))
print(sorted(store), scope.get())
h
---
token = scope.set("model")
---
scope.reset(token); store["root/enc/w"] = jnp.zeros(2)

### wa-environment-picks-the-branch-and-the-size
os.environ.pop("WA_DEBUG", None)
os.environ["WA_SIZE"] = "3"
def debug(): return os.environ.get("WA_DEBUG", "0") not in ("", "0")
---
n = int(os.environ["WA_SIZE"])
x = jnp.arange(n, dtype=jnp.float32)
y = jnp.sum(x ** 2) if not debug() else jnp.sum(jnp.abs(x))
mode = "debug" if debug() else "fast"
print(n, mode)
y
---
os.environ["WA_DEBUG"] = "1"
---
os.environ["WA_SIZE"] = "5"
---
del os.environ["WA_DEBUG"]

### wa-patched-activation-of-a-module-of-ones-own-and-undone
acts = types.ModuleType("acts")
exec("import jax\ndef silu(v): return jax.nn.silu(v)\ndef both(v): return silu(v) + jax.nn.relu(-v)", vars(acts))
x = jnp.linspace(-2, 2, 5)
def block(x): return acts.both(x) + acts.silu(x)
---
y = block(x)
name = acts.silu.__name__
print(name, hasattr(acts, "gelu"))
y.sum()
---
kept, acts.silu = acts.silu, lambda v: v * 0.5
---
acts.silu = kept; acts.gelu = jax.nn.gelu

### wa-warnings-as-errors-while-a-model-warns-of-its-input
def check(x):
    if x.shape[0] < 4:
        warnings.warn(f"few rows: {x.shape[0]}", stacklevel=2)
    return x - x.mean()
def fit(x):
    try:
        return check(x), "ok"
    except UserWarning as w:
        return x, f"stopped: {w}"
x = jnp.arange(3.0)
---
y, how = fit(x)
print(how)
y
---
warnings.simplefilter("error")
---
x = jnp.arange(5.0)
---
warnings.simplefilter("ignore"); x = jnp.arange(3.0)

### wa-logger-gets-a-filter-and-a-formatter
buf = io.StringIO()
log = logging.Logger("wa.train"); log.setLevel(logging.INFO); log.propagate = False
log.handlers[:] = [logging.StreamHandler(buf)]; log.filters[:] = []
def step(w):
    g = 2 * w
    log.info("shape %s", w.shape)
    return w - 0.1 * g
w = jnp.ones(2)
---
w = step(w)
text = buf.getvalue()
n = len(log.handlers), len(log.filters)
print(text.splitlines()[-1:], n)
w
---
log.handlers[0].setFormatter(logging.Formatter("%(levelname)s:%(message)s"))
---
log.addFilter(lambda r: False)

### wa-generator-of-batches-restarted-by-hand
def batches(X, n):
    while True:
        for i in range(0, len(X), n):
            yield X[i:i + n]
X = jnp.arange(6.0); it = batches(X, 2)
---
b = next(it)
c = next(it)
ahead = it.gi_frame.f_locals["i"]
m = (b * c).sum()
print(b.tolist(), ahead)
m
---
it = batches(X, 3)
---
X = X * 10; it.close(); it = iter([X[:1], X[1:2]] * 9) if False else batches(X, 2)

### wa-count-and-cycle-drive-seeds-and-augmentations
ids = itertools.count(10); augs = itertools.cycle([jnp.flip, jnp.negative])
x = jnp.arange(3.0)
---
i = next(ids)
aug = next(augs)
y = aug(x) + jax.random.uniform(jax.random.key(i))
print(i, aug.__name__)
y.round(3)
---
ids = itertools.count(0, 5)
---
next(augs)

### wa-fraction-weights-of-a-quadrature-rule
rule = [fractions.Fraction(1, 6), fractions.Fraction(4, 6), fractions.Fraction(1, 6)]
f = lambda t: jnp.sin(t)
---
w = jnp.array([float(r) for r in rule])
t = jnp.linspace(0.0, jnp.pi, len(rule))
I = jnp.pi * jnp.dot(w, f(t))
text = " + ".join(map(str, rule))
exact = sum(rule) == 1
print(text, exact, rule[1].denominator)
I
---
rule = [fractions.Fraction(1, 8), fractions.Fraction(3, 8), fractions.Fraction(3, 8), fractions.Fraction(1, 8)]
---
f = jnp.cos; rule[0] = 0.125

### wa-metrics-format-from-a-template-and-percent-dict
m = {"loss": 0.5, "acc": 0.75}; tmpl = string.Template("loss=$loss acc=$acc")
w = jnp.ones(2)
---
row = "%(loss).2f %(acc).1f" % m
line = tmpl.safe_substitute(m)
whole = "{}".format(m)
keys = "/".join([*m])
w = w * m["loss"]
print(row, line, whole, keys)
w
---
m = {"acc": 0.5, "loss": 0.25}
---
tmpl = string.Template("$acc $missing"); m["lr"] = 1

### wa-bool-int-and-numpy-scalars-as-reduction-axes-and-flags
axis, keep = 0, True
A = jnp.arange(6.0).reshape(2, 3)
---
s = A.sum(axis=axis, keepdims=bool(keep))
f = A * keep
k = jnp.asarray(keep).dtype.name, jnp.asarray(axis).dtype.name
told = f"{axis!r} {keep!r} {type(axis).__name__}"
print(k, told, f.dtype)
s
---
axis, keep = np.int64(1), 1
---
axis, keep = (0, 1), np.True_
---
axis, keep = -1, 0.0

### wa-sparse-operator-switched-between-bcoo-bcsr-and-dense
from jax.experimental import sparse
D = jnp.array([[0.0, 2.0], [1.0, 0.0]]); A = sparse.BCOO.fromdense(D)
x = jnp.array([1.0, 3.0])
---
y = A @ x
kind, nse = type(A).__name__.replace("Impl", ""), getattr(A, "nse", None)
flags = getattr(A, "indices_sorted", "-"), getattr(A, "unique_indices", "-")
print(kind, nse, flags)
y
---
A = sparse.BCSR.from_bcoo(A)
---
A = D
---
A = sparse.BCOO((jnp.ones(3), jnp.array([[0, 0], [0, 0], [1, 1]])), shape=(2, 2))
""",
)
