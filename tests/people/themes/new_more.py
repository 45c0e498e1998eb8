"""What is said, asked and compared about values: summaries, types, identities, formats, tables, reports, small projects."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, math, json, collections, itertools, copy, logging, pprint, textwrap, io, inspect, string, enum
import jax, jax.numpy as jnp, numpy as np
x = jnp.linspace(0.5, 1.0, 6)
"""

CELLS = written(
    PRELUDE,
    r"""
### nmo-eqx-summary-string-in-report needs=equinox
import equinox as eqx
model = eqx.nn.MLP(2, 1, 3, 1, key=jax.random.key(0))
report = []
---
model = jax.tree.map(lambda a: a * 1.5 if eqx.is_array(a) else a, model)
summary = eqx.tree_pformat(model)
report.append(f"model: {summary.splitlines()[0]} {model.layers[0].weight.shape}")
text = str(model)
len(text.splitlines()), "weight=f32[3,2]" in summary
---
model = eqx.nn.Linear(2, 3, key=jax.random.key(1))
model = eqx.nn.Sequential([model, eqx.nn.Lambda(jnp.tanh)])
model = type("Holder", (eqx.Module,), {"__annotations__": {"layers": typing.Any}})(model.layers)

### nmo-nnx-repr-kept-as-text needs=flax
from flax import nnx
net = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
snapshots = {}
---
net.kernel[...] = net.kernel[...] * 0.5
n = sum(v.size for v in jax.tree.leaves(nnx.state(net)))
title = f"{type(net).__name__} with {n} parameters, kernel {net.kernel.shape} {net.kernel.dtype}"
lines = repr(net).splitlines()
snapshots[len(snapshots)] = title
title, len(lines) > 2, any("Tracer" in l for l in lines)
---
net = nnx.LayerNorm(3, rngs=nnx.Rngs(0)); net.kernel = net.scale

### nmo-solver-report-of-results needs=optimistix
import optimistix as optx
report = {}
solver = optx.BFGS(rtol=1e-3, atol=1e-3)
start = jnp.array([1.5, -0.5])
---
sol = optx.minimise(lambda y, a: jnp.sum((y - a) ** 2) + 0.1 * jnp.sum(y ** 4), solver, start, x[:2], max_steps=30, throw=False)
report["message"] = optx.RESULTS[sol.result]
report["line"] = f"{sol.result} after {int(sol.stats['num_steps'])}"
status = "ok" if sol.result == optx.RESULTS.successful else "failed"
print(status, report["message"] or "no message")
---
solver = optx.BFGS(rtol=1e-30, atol=1e-30)

### nmo-diffrax-failed-solve-text needs=diffrax
import diffrax as dfx
max_steps = 100
msgs = []
---
sol = dfx.diffeqsolve(dfx.ODETerm(lambda t, y, k: -k * y), dfx.Tsit5(), 0.0, 1.0, 0.05, x[:2], args=20.0,
                      max_steps=max_steps, throw=False)
msg = dfx.RESULTS[sol.result]
msgs.append(msg.splitlines()[0] if msg else "fine")
y1 = sol.ys[-1]
msgs[-1], len(msgs)
---
max_steps = 3

### nmo-jaxtyping-guards-in-helper needs=jaxtyping
from jaxtyping import Array, Float, Int, Shaped
def check(v):
    if isinstance(v, Float[Array, "n"]):
        return "vector"
    if isinstance(v, Float[Array, "n m"]):
        return "matrix"
    if isinstance(v, Int[Array, "..."]):
        return "ints"
    return type(v).__name__
things = [x, x[:, None], jnp.arange(3), 2.0]
---
outs = [t * 2 for t in things]
kinds = [check(o) for o in outs]
ok = isinstance(outs[0], Shaped[Array, "6"])
kinds, ok
---
things = things[1:] + [np.ones(2, np.float32)]
---
things = [x.astype(jnp.int32), x.reshape(2, 3)]

### nmo-jaxtyping-own-checker needs=jaxtyping
from jaxtyping import Array, Float
def typed(fn):
    hints = typing.get_type_hints(fn)
    @functools.wraps(fn)
    def run(*args):
        for (name, hint), a in zip(hints.items(), args):
            if name != "return" and not isinstance(a, hint):
                raise TypeError(f"{name} is {a.shape}, wanted {hint.dim_str}")
        return fn(*args)
    return run
@typed
def norm(v: Float[Array, "6"], s: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.linalg.norm(v) * s
scale = jnp.float32(2.0)
---
out = norm(x, scale)
try:
    norm(x[:3], scale)
    bad = None
except TypeError as e:
    bad = str(e)
bad, out
---
scale = scale * 3

### nmo-types-of-state-leaves
state = {"lr": 0.1, "step": 0, "w": x, "on": True, "name": "sgd"}
---
state = {k: v * 0.9 if isinstance(v, float) else v for k, v in state.items()}
state["step"] += 1
state["w"] = state["w"] - state["lr"] * 0.1
kinds = {k: type(v).__name__ for k, v in state.items()}
n_float = sum(isinstance(v, float) for v in state.values())
print(kinds, n_float)
---
state["lr"] = np.float32(0.5)
---
state["lr"] = 1

### nmo-tuple-carry-mixed-kinds
carry = (1.0, 2, x, None)
---
a, n, w, none = carry
carry = (a * 2, n + 1, w * a, none)
names = tuple(type(c).__name__ for c in carry)
total = sum(c if isinstance(c, (int, float)) else 0 for c in carry)
names, total, carry[2].sum()
---
carry = (jnp.float32(1), True, x, ())

### nmo-dataclass-asdict-of-config-and-arrays
@dataclasses.dataclass
class State:
    w: typing.Any
    lr: float = 0.1
    momentum: float = 0.9
    step: int = 0
    def advance(self, g):
        return dataclasses.replace(self, w=self.w - self.lr * g, lr=self.lr * 0.5, step=self.step + 1)
s = State(x)
---
s = s.advance(jnp.cos(s.w))
d = dataclasses.asdict(s)
row = {k: type(v).__name__ for k, v in d.items()}
flat = [f for f in dataclasses.fields(s) if isinstance(getattr(s, f.name), float)]
print(row, [f.name for f in flat])
d["w"] is s.w
---
s = dataclasses.replace(s, lr=1, momentum=jnp.float32(0.5))

### nmo-pytree-of-scalars-updated
hyper = {"a": 1.0, "b": [2.0, 3], "c": {"d": True}}
---
hyper = jax.tree.map(lambda v: v * 2, hyper)
score = jnp.sum(x) * hyper["a"] + hyper["b"][1]
leaf_kinds = [type(l).__name__ for l in jax.tree.leaves(hyper)]
as_json = json.dumps({"a": hyper["a"], "b": hyper["b"]})
leaf_kinds, as_json, score
---
hyper = {"a": 0.5, "b": [1, 2.5], "c": {"d": 0}}

### nmo-isinstance-chain-to-text
def fmt(v):
    if isinstance(v, bool): return "yes" if v else "no"
    if isinstance(v, (float, np.floating)): return f"{v:.2f}"
    if isinstance(v, (int, np.integer)): return f"{v:d}"
    if isinstance(v, jax.Array): return f"array{v.shape}"
    return repr(v)
row = {"loss": 0.5, "step": 3, "ok": True, "w": x}
---
row["loss"] = row["loss"] * 0.8
row["step"] += 1
row["w"] = row["w"] * row["loss"]
line = " | ".join(f"{k}={fmt(v)}" for k, v in row.items())
row["w"].sum()
---
row["loss"] = jnp.float32(0.25)
---
row["ok"] = np.bool_(False)

### nmo-lookup-by-id-of-params
params = {"w": x, "b": x * 0}
groups = [{"params": [params["w"]], "lr": 0.1}, {"params": [params["b"]], "lr": 1.0}]
---
lr_of = {id(p): g["lr"] for g in groups for p in g["params"]}
new = {}
for name, p in params.items():
    new[name] = p - lr_of[id(p)] * jnp.ones_like(p)
for g, name in zip(groups, params):
    g["params"] = [new[name]]
params = new
rates = sorted(lr_of.values())
del lr_of
rates, params["b"]
---
groups[1]["lr"] = 0.5

### nmo-dedupe-tied-weights-by-id
E = jnp.ones((4, 2))
model = {"embed": E, "out": E, "bias": jnp.zeros(4)}
---
model["bias"] = model["bias"] + 0.1
unique = list({id(v): v for v in model.values()}.values())
n_params = sum(v.size for v in unique)
tied = model["embed"] is model["out"]
index = {id(v): k for k, v in model.items()}
owner = index[id(model["embed"])]
del index
n_params, tied, owner
---
model["out"] = model["out"] * 1

### nmo-object-array-grid-of-states
grid = np.empty((2, 2), dtype=object)
for idx in np.ndindex(2, 2):
    grid[idx] = x[:2] * (1 + sum(idx))
best = None
---
for i in range(2):
    grid[i, i] = grid[i, i] + 1.0
norms = np.array([[float(jnp.linalg.norm(c)) for c in r] for r in grid])
best = np.unravel_index(norms.argmax(), norms.shape)
winner = grid[best]
print(tuple(int(b) for b in best), norms.round(2).tolist())
winner is grid[best], winner
---
grid[0, 1] = x[:2] * 10
---
grid = grid.T

### nmo-object-array-then-value
hist = np.array([None, None, None], dtype=object)
i = 0
---
hist[i % 3] = jnp.sin(x + i)
i += 1
peak = float(hist[(i - 1) % 3].max())
filled = sum(h is not None for h in hist)
print(f"{filled} filled, peak {peak:.3f}")
hist[(i - 1) % 3]
---
hist[:] = None

### nmo-cached-table-identity-in-display
@functools.lru_cache(maxsize=4)
def basis(n):
    return np.stack([np.ones(n), np.arange(n)], 1).astype(np.float32)
n = 6
---
B = basis(n)
coef, *_ = jnp.linalg.lstsq(B, x[:n])
fit = B @ coef
(B is basis(n), fit.shape, basis.cache_info().misses)
---
n = 4
---
basis.cache_clear()

### nmo-cached-jax-constants
@functools.cache
def freqs(d):
    return 1.0 / (100.0 ** (jnp.arange(0, d, 2) / d))
def rope(v, pos):
    f = freqs(v.shape[-1])
    a = pos[:, None] * f
    v1, v2 = v[:, ::2], v[:, 1::2]
    return jnp.stack([v1 * jnp.cos(a) - v2 * jnp.sin(a), v1 * jnp.sin(a) + v2 * jnp.cos(a)], -1).reshape(v.shape)
q = jnp.ones((3, 4))
---
out = rope(q, jnp.arange(3.0))
again = rope(out, -jnp.arange(3.0))
near = bool(jnp.allclose(again, q, atol=1e-4))
near, freqs(4) is freqs(4), freqs.cache_info().currsize
---
q = jnp.ones((2, 6))
---
freqs.cache_clear(); q = q[:, :4]

### nmo-history-table-by-columns
hist = collections.defaultdict(list)
w = x
---
for step in range(3):
    l, g = jax.value_and_grad(lambda w: jnp.sum((w - 1) ** 2))(w)
    w = w - 0.1 * g
    for k, v in dict(step=step, loss=l, gnorm=jnp.linalg.norm(g)).items():
        hist[k].append(v)
widths = {k: max(len(k), 8) for k in hist}
head = " ".join(k.rjust(widths[k]) for k in hist)
body = [" ".join(f"{float(v):8.3f}" for v in r) for r in zip(*hist.values())]
print(head, body[-1], sep="\n")
len(body)
---
hist.clear()
---
w = jnp.zeros(3)

### nmo-pprint-and-textwrap-tree
cfg = {"model": {"dims": [2, 3], "act": jnp.tanh, "w0": x[:2]}, "seed": 0}
---
cfg["model"]["w0"] = cfg["model"]["w0"] * 2
cfg["seed"] += 1
text = pprint.pformat({k: v for k, v in cfg["model"].items() if k != "act"}, width=60)
short = textwrap.shorten(text, 30)
act = cfg["model"]["act"].__name__
act, short[:10], cfg["seed"]
---
cfg["model"]["act"] = jax.nn.relu

### nmo-format-specs-and-percent
loss, acc, step = jnp.float32(0.12345), jnp.float32(0.875), 7
---
loss = loss * 0.5
step += 1
a = f"{step:05d} {loss:.2e} {acc:>8.1%}"
b = "%d %.3f" % (step, loss)
c = "{:{w}.{p}f}|{!r:>12.12}".format(loss, "abc", w=10, p=2)
d = string.Template("$s/$l").substitute(s=step, l=round(float(loss), 3))
a, b, c, d
---
acc = 0.5
---
loss = np.float64(3.0)

### nmo-comparison-of-python-and-array-numbers
best = float("inf")
val = jnp.float32(0.7)
hits = []
---
val = val * 0.9
if val < best:
    best = val
    hits.append("new")
best_py = min(float(val), 10.0)
rounded = round(float(val), 2)
clipped = max(best, 0.1)
type(best).__name__, type(clipped).__name__, rounded, len(hits)
---
best = 0.0
---
val = 5.0

### nmo-counter-of-predictions
logits = jax.random.normal(jax.random.key(0), (8, 3))
names = ["a", "b", "c"]
---
pred = jnp.argmax(logits, -1)
counts = collections.Counter(pred.tolist())
named = {names[k]: v for k, v in sorted(counts.items())}
top, n = counts.most_common(1)[0]
frac = (pred == top).mean()
first = {names[int(p)]: i for i, p in reversed(list(enumerate(pred)))}
named, names[top], frac, first
---
logits = logits.at[:, 2].add(5)

### nmo-class-hierarchy-with-super-and-counts
class Base:
    registry = {}
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Base.registry[cls.__name__] = cls
    def __init__(self): self.n_calls = 0
    def __call__(self, v):
        self.n_calls += 1
        return self.forward(v)
class Square(Base):
    def forward(self, v): return v ** 2
class Noisy(Square):
    def __init__(self, seed):
        super().__init__()
        self.key = jax.random.key(seed)
    def forward(self, v):
        self.key, k = jax.random.split(self.key)
        return super().forward(v) + 0.1 * jax.random.normal(k, v.shape)
mods = [Square(), Noisy(1)]
---
class Neg(Base):
    def forward(self, v): return -v
out = x
for m in [*mods, Neg()]:
    out = m(out)
print([m.n_calls for m in mods], sorted(Base.registry))
Base.registry["Neg"] is Neg, out.sum()
---
mods.append(mods[0])

### nmo-trapezoid-and-simpson-table
fns = {"sin": jnp.sin, "exp": jnp.exp, "poly": lambda t: t ** 3 - t}
rules = {}
def rule(f):
    rules[f.__name__] = f
    return f
@rule
def trap(f, a, b, n):
    t = jnp.linspace(a, b, n + 1)
    y = f(t)
    return (b - a) / n * (y.sum() - (y[0] + y[-1]) / 2)
@rule
def simpson(f, a, b, n):
    t = jnp.linspace(a, b, 2 * n + 1)
    y = f(t)
    return (b - a) / (6 * n) * (y[0] + y[-1] + 4 * y[1::2].sum() + 2 * y[2:-1:2].sum())
n = 4
---
table = {(r, f): rules[r](fns[f], 0.0, 1.0, n) for r, f in itertools.product(rules, fns)}
gap = {f: jnp.abs(table["trap", f] - table["simpson", f]) for f in fns}
worst = max(gap, key=gap.get)
print(worst, f"{gap[worst]:.1e}")
---
n = 8
---
fns["const"] = lambda t: jnp.ones_like(t)

### nmo-beam-search-small
logp = jax.nn.log_softmax(jax.random.normal(jax.random.key(1), (5, 5)))
width = 2
---
beams = [((0,), jnp.float32(0))]
for _ in range(3):
    cand = []
    for seq, s in beams:
        vals, idx = jax.lax.top_k(logp[seq[-1]], width)
        cand += [(seq + (int(i),), s + v) for i, v in zip(idx, vals)]
    beams = sorted(cand, key=lambda c: -c[1])[:width]
best_seq, best_score = beams[0]
print(best_seq, f"{best_score:.2f}")
---
width = 3

### nmo-em-gaussian-mixture-until-tol
data = jnp.concatenate([jnp.linspace(-1, 0, 5), jnp.linspace(3, 4, 5)])
mu, sd, pi = jnp.array([-0.5, 2.0]), jnp.ones(2), jnp.ones(2) / 2
tol, log_lik = 1e-2, []
---
prev = -jnp.inf
for it in range(20):
    lp = jax.scipy.stats.norm.logpdf(data[:, None], mu, sd) + jnp.log(pi)
    ll = jax.scipy.special.logsumexp(lp, 1).sum()
    r = jax.nn.softmax(lp, 1)
    nk = r.sum(0)
    mu, pi = (r * data[:, None]).sum(0) / nk, nk / len(data)
    sd = jnp.sqrt((r * (data[:, None] - mu) ** 2).sum(0) / nk) + 1e-3
    log_lik.append(float(ll))
    if ll - prev < tol:
        break
    prev = ll
print(it, [f"{m:.2f}" for m in mu])
---
mu = jnp.array([0.0, 1.0]); log_lik.clear()

### nmo-enum-result-of-own-solver
class Status(enum.Enum):
    OK = 0
    STALLED = 1
    DIVERGED = 2
def judge(a, b):
    if not math.isfinite(b): return Status.DIVERGED
    return Status.OK if b < a else Status.STALLED
seen = collections.Counter()
rate = 0.1
w = jnp.ones(3)
---
f = lambda w: jnp.sum(w ** 2)
before = f(w).item()
w = w - rate * jax.grad(f)(w)
status = judge(before, f(w).item())
seen[status] += 1
match status:
    case Status.OK: word = "down"
    case Status.STALLED | Status.DIVERGED: word = status.name.lower()
word, dict(seen)
---
rate = 5.0

### nmo-optimizer-asks-kind-of-own-lr
class SGD:
    def __init__(self, lr): self.lr, self.n = lr, 0
    def rate(self):
        if callable(self.lr):
            return self.lr(self.n)
        return self.lr if isinstance(self.lr, float) else float("nan")
    def step(self, w, g):
        self.n += 1
        return w - self.rate() * g
    def decay(self, k): self.lr = self.lr * k
opt, w = SGD(0.1), x
---
w = opt.step(w, jnp.cos(w))
opt.decay(0.5)
w = opt.step(w, jnp.cos(w))
finite = jnp.isfinite(w).all()
finite
---
opt.lr = 0.4
---
opt = SGD(lambda n: 0.1 / (n + 1)); opt.decay = lambda k: None

### nmo-match-on-config-dict
cfg = {"kind": "decay", "lr": 0.5, "step": 0, "w": x}
---
cfg = cfg | {"lr": cfg["lr"] * 0.9, "step": cfg["step"] + 1}
match cfg:
    case {"kind": "decay", "lr": float() as lr, "step": int() as step}:
        out = cfg["w"] * lr ** step
    case {"lr": lr}:
        out = cfg["w"] * 0
out.sum()
---
cfg["kind"] = "const"
---
cfg = {**cfg, "kind": "decay", "lr": jnp.float32(0.5)}

### nmo-treescope-and-nnx-text needs=flax,treescope
import treescope
from flax import nnx
net = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
params = {"w": x[:2]}
---
params["w"] = params["w"] * 2
shown = treescope.render_to_text(params)
net.kernel[...] = net.kernel[...] * 2
desc = repr(net)
shown.startswith("{'w'"), "Tracer" in shown, "Tracer" in desc
---
params["b"] = jnp.zeros(())

### nmo-visited-nodes-by-id
class Node:
    def __init__(self, val, *kids): self.val, self.kids = val, kids
leaf = Node(x)
root = Node(x * 2, leaf, Node(x * 3, leaf))
---
visited, total = set(), jnp.zeros(())
todo = [root]
while todo:
    node = todo.pop()
    if id(node) in visited or id(node.val) in visited:
        continue
    visited |= {id(node), id(node.val)}
    total = total + node.val.sum()
    todo.extend(node.kids)
again = id(leaf.val) in visited
n = len(visited)
del visited
n, again, total
---
leaf.val = root.val

### nmo-class-name-of-result
vals = {"a": 2.0, "x": x}
---
vals["x"] = vals["x"] * vals["a"]
label = vals["x"].__class__.__name__
table = {k: v.__class__.__qualname__ for k, v in vals.items()}
label, table
---
vals["a"] = np.float32(3)
""",
)
