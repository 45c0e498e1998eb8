"""Libraries on JAX as their notebooks use them: flax, equinox, optax, haiku, numpyro, diffrax, optimistix, lineax."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, pathlib, json, math, itertools, operator
import jax, jax.numpy as jnp, numpy as np
X = jax.random.normal(jax.random.key(1), (8, 3))
Y = jnp.sin(X.sum(-1))
"""

CELLS = written(
    PRELUDE,
    r"""
### nli-nnx-multimetric-history tolerance=1e-2 needs=flax,optax
import optax
from flax import nnx
class MLP(nnx.Module):
    def __init__(self, din, dh, dout, *, rngs: nnx.Rngs):
        self.l1 = nnx.Linear(din, dh, use_bias=False, rngs=rngs)
        self.bn = nnx.BatchNorm(dh, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.l2 = nnx.Linear(dh, dout, rngs=rngs)
    def __call__(self, x):
        return self.l2(nnx.relu(self.drop(self.bn(self.l1(x)))))
model = MLP(3, 6, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(5e-2), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
labels = (Y > 0).astype(jnp.int32)
def loss_fn(model, x, y):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits
@nnx.jit
def train_step(model, optimizer, metrics, x, y):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, x, y)
    metrics.update(loss=loss, logits=logits, labels=y)
    optimizer.update(model, grads)
@nnx.jit
def eval_step(model, metrics, x, y):
    loss, logits = loss_fn(model, x, y)
    metrics.update(loss=loss, logits=logits, labels=y)
history = {"train_loss": [], "train_accuracy": [], "test_loss": [], "test_accuracy": []}
---
for step in range(4):
    model.train()
    train_step(model, optimizer, metrics, X, labels)
    if step > 0 and step % 2 == 1:
        for metric, value in metrics.compute().items():
            history[f"train_{metric}"].append(value)
        metrics.reset()
        model.eval()
        eval_step(model, metrics, X, labels)
        for metric, value in metrics.compute().items():
            history[f"test_{metric}"].append(value)
        metrics.reset()
        print(f"step {step}: loss {history['test_loss'][-1]:.1f}, acc {history['test_accuracy'][-1] * 100:.0f}")
---
history = {k: [] for k in history}
---
labels = 1 - labels

### nli-nnx-loop-with-partial-metrics needs=flax
from flax import nnx
class Block(nnx.Module):
    def __init__(self, d, rngs):
        self.lin = nnx.Linear(d, d, rngs=rngs)
        self.norm = nnx.LayerNorm(d, rngs=rngs)
    def __call__(self, x):
        return x + nnx.gelu(self.norm(self.lin(x)))
class Net(nnx.Module):
    def __init__(self, depth, rngs):
        self.blocks = nnx.List([Block(3, rngs) for _ in range(depth)])
    def __call__(self, x, collect=None):
        for i, b in enumerate(self.blocks):
            x = b(x)
            if collect is not None:
                collect[f"block{i}"] = x.std()
        return x.sum(-1)
net = Net(2, nnx.Rngs(1))
acts = {}
---
out = net(X, collect=acts)
top = max(acts, key=lambda k: float(acts[k]))
sizes = [l.size for l in jax.tree.leaves(nnx.state(net, nnx.Param))]
top, sum(sizes), out.shape
---
net.blocks.append(Block(3, nnx.Rngs(5)))
---
acts = None
acts = {}

### nli-nnx-params-surgery needs=flax
from flax import nnx
net = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
---
graphdef, params, rest = nnx.split(net, nnx.Param, ...)
params = jax.tree.map(lambda p: p * 0.5, params)
clone = nnx.merge(graphdef, params, rest)
nnx.update(net, jax.tree.map(lambda p: p + 1.0, nnx.state(net)))
diff = jax.tree.map(lambda a, b: jnp.abs(a - b).mean(), nnx.state(net, nnx.Param), nnx.state(clone, nnx.Param))
clone is net, diff["kernel"][...], type(params).__name__
---
net.bias[...] = net.bias[...] + 5

### nli-nnx-optimizer-grad-norm-log needs=flax,optax
import optax
from flax import nnx
model = nnx.Sequential(nnx.Linear(3, 4, rngs=nnx.Rngs(0)), jnp.tanh, nnx.Linear(4, 1, rngs=nnx.Rngs(1)))
opt = nnx.Optimizer(model, optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1, momentum=0.9)), wrt=nnx.Param)
norms = []
---
@nnx.jit
def step(model, opt, x, y):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x)[:, 0] - y) ** 2))(model)
    opt.update(model, grads)
    return loss, optax.global_norm(grads)
for _ in range(2):
    loss, gn = step(model, opt, X, Y)
    norms.append(gn.item())
print(f"{loss:.4f} {len(norms)} {opt.step[...]}")
---
norms = []
Y = Y * 2

### nli-nnx-cond-and-scan-over-layers needs=flax
from flax import nnx
@nnx.vmap(in_axes=0, out_axes=0)
def create(key):
    return nnx.Linear(3, 3, rngs=nnx.Rngs(key))
layers = create(jax.random.split(jax.random.key(0), 3))
---
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def forward(x, layer):
    return jnp.tanh(layer(x))
out = forward(X, layers)
total = nnx.cond(out.sum() > 0, lambda l, v: l.kernel[...].sum() + v.sum(), lambda l, v: -v.sum(), layers, out)
layers.bias[...] = layers.bias[...] + 0.1
layers.kernel.shape, total
---
X = -X

### nli-linen-cnn-tabulate-then-train needs=flax,optax
import flax.linen as nn, optax
from flax.training import train_state
class CNN(nn.Module):
    features: typing.Sequence[int] = (4, 2)
    @nn.compact
    def __call__(self, x):
        for f in self.features:
            x = nn.relu(nn.Conv(f, (3, 3))(x))
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        return nn.Dense(3)(x.reshape((x.shape[0], -1)))
imgs = jax.random.uniform(jax.random.key(0), (4, 8, 8, 1))
labels = jnp.array([0, 1, 2, 1])
cnn = CNN()
---
params = cnn.init(jax.random.key(0), imgs[:1])["params"]
state = train_state.TrainState.create(apply_fn=cnn.apply, params=params, tx=optax.sgd(0.1, 0.9))
@jax.jit
def apply_model(state, images, labels):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, images)
        one_hot = jax.nn.one_hot(labels, 3)
        return jnp.mean(optax.softmax_cross_entropy(logits=logits, labels=one_hot)), logits
    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return grads, loss, jnp.mean(jnp.argmax(logits, -1) == labels)
epoch_loss = []
for _ in range(2):
    grads, loss, acc = apply_model(state, imgs, labels)
    state = state.apply_gradients(grads=grads)
    epoch_loss.append(loss)
train_loss = np.mean(epoch_loss)
shapes = jax.tree.map(jnp.shape, state.params)
train_loss.dtype, shapes["Dense_0"], int(state.step)
---
cnn = CNN(features=(3,))
---
labels = labels[::-1]

### nli-linen-early-stopping-class needs=flax
import flax.linen as nn
from flax.training.early_stopping import EarlyStopping
es = EarlyStopping(min_delta=1e-2, patience=1)
net = nn.Dense(1)
v = net.init(jax.random.key(0), X)
---
for epoch in range(1, 8):
    l, g = jax.value_and_grad(lambda v: jnp.mean((net.apply(v, X)[:, 0] - Y) ** 2))(v)
    v = jax.tree.map(lambda p, d: p - 0.3 * d, v, g)
    es = es.update(l)
    if es.should_stop:
        print(f"Met early stopping criteria, breaking at epoch {epoch}")
        break
es.has_improved, es.patience_count, es.best_metric
---
es = es.reset()
---
Y = Y * 10

### nli-linen-intermediates-and-perturb needs=flax
import flax.linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.tanh(nn.Dense(4, name="hid")(x))
        h = self.perturb("h", h)
        self.sow("intermediates", "norm", jnp.linalg.norm(h, axis=-1))
        return nn.Dense(1)(h).sum()
net = Net()
variables = net.init(jax.random.key(0), X)
---
def loss(params, pert):
    return net.apply({"params": params, "perturbations": pert}, X)
g_h = jax.grad(loss, argnums=1)(variables["params"], variables["perturbations"])["h"]
out, mod = net.apply(variables, X, mutable=["intermediates"])
norms = mod["intermediates"]["norm"]
_, filtered = net.apply(variables, X, capture_intermediates=lambda m, n: m.name == "hid", mutable=["intermediates"])
type(norms).__name__, g_h.shape, sorted(filtered["intermediates"])
---
variables = jax.tree.map(lambda a: a * 0.5, variables)

### nli-linen-rnn-carry-text needs=flax
import flax.linen as nn
text = "hello world hello"
vocab = sorted(set(text))
stoi = {c: i for i, c in enumerate(vocab)}
ids = jnp.array([stoi[c] for c in text])
class CharRNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        emb = nn.Embed(len(vocab), 4)(x)
        h = nn.RNN(nn.GRUCell(5))(emb)
        return nn.Dense(len(vocab))(h)
model = CharRNN()
params = model.init(jax.random.key(0), ids[None, :-1])
---
def loss(p):
    logp = jax.nn.log_softmax(model.apply(p, ids[None, :-1]))
    return -jnp.take_along_axis(logp, ids[None, 1:, None], -1).mean()
l, g = jax.value_and_grad(loss)(params)
params = jax.tree.map(lambda p, d: p - 0.5 * d, params, g)
nxt = model.apply(params, ids[None, :-1])[0, -1].argmax()
print(f"{l:.3f} -> {vocab[int(nxt)]!r}")
---
text = "abcabcabc"
vocab = sorted(set(text)); stoi = {c: i for i, c in enumerate(vocab)}
ids = jnp.array([stoi[c] for c in text])
params = model.init(jax.random.key(0), ids[None, :-1])

### nli-linen-scope-global-config needs=flax
import flax.linen as nn
@dataclasses.dataclass
class Config:
    dim: int = 4
    act: typing.Callable = nn.gelu
    dtype: typing.Any = jnp.float32
cfg = Config()
class FF(nn.Module):
    cfg: Config
    @nn.compact
    def __call__(self, x):
        c = self.cfg
        return nn.Dense(3, dtype=c.dtype)(c.act(nn.Dense(c.dim, dtype=c.dtype)(x)))
---
ff = FF(cfg)
out, params = ff.init_with_output(jax.random.key(0), X)
n = sum(p.size for p in jax.tree.leaves(params))
print(f"{n} parameters, out {out.dtype}, {ff.cfg.act.__name__}")
mean = out.mean()
---
cfg.dim = 6
---
cfg.dtype, cfg.act = jnp.bfloat16, nn.relu

### nli-eqx-module-counts-and-filter-spec needs=equinox,optax
import equinox as eqx, optax
model = eqx.nn.MLP(3, 1, 4, 2, activation=jax.nn.silu, key=jax.random.key(0))
spec = jax.tree.map(lambda _: False, model)
spec = eqx.tree_at(lambda t: (t.layers[-1].weight, t.layers[-1].bias), spec, replace=(True, True))
optim = optax.adam(3e-2)
opt_state = optim.init(eqx.filter(model, spec))
---
@eqx.filter_jit
def make_step(model, x, y, opt_state):
    @eqx.filter_value_and_grad
    def loss(diff, static):
        m = eqx.combine(diff, static)
        return jnp.mean((jax.vmap(m)(x)[:, 0] - y) ** 2)
    diff, static = eqx.partition(model, spec)
    value, grads = loss(diff, static)
    updates, opt_state = optim.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, value
old = model
for i in range(3):
    model, opt_state, value = make_step(model, X, Y, opt_state)
    if i == 2 or i == 0:
        print(i, f"{value:.4f}")
frozen = bool(jnp.all(old.layers[0].weight == model.layers[0].weight))
frozen, model.layers[0].weight is old.layers[0].weight
---
Y = jnp.cos(Y)
---
model = eqx.tree_at(lambda m: m.layers[0].bias, model, jnp.ones(4))

### nli-eqx-nested-modules-and-abstract needs=equinox
import abc, equinox as eqx
class Kernel(eqx.Module):
    @abc.abstractmethod
    def __call__(self, a, b): ...
    def gram(self, xs):
        return jax.vmap(lambda a: jax.vmap(lambda b: self(a, b))(xs))(xs)
    def __add__(self, other): return Sum(self, other)
    def __rmul__(self, c): return Scaled(self, jnp.asarray(c))
class RBF(Kernel):
    ls: jax.Array = eqx.field(converter=jnp.asarray)
    def __call__(self, a, b): return jnp.exp(-jnp.sum((a - b) ** 2) / (2 * self.ls ** 2))
class Linear(Kernel):
    def __call__(self, a, b): return a @ b
class Sum(Kernel):
    k1: Kernel
    k2: Kernel
    def __call__(self, a, b): return self.k1(a, b) + self.k2(a, b)
class Scaled(Kernel):
    k: Kernel
    c: jax.Array
    def __call__(self, a, b): return self.c * self.k(a, b)
kern = 0.5 * RBF(1.0) + Linear()
noise = 0.1
---
@eqx.filter_value_and_grad
def nll(kern):
    K = kern.gram(X) + noise * jnp.eye(len(X))
    L = jnp.linalg.cholesky(K)
    a = jax.scipy.linalg.cho_solve((L, True), Y)
    return 0.5 * Y @ a + jnp.log(jnp.diag(L)).sum()
val, grads = nll(kern)
kern = eqx.apply_updates(kern, jax.tree.map(lambda g: -0.01 * g, grads))
print(f"nll {val:.3f} ls {kern.k1.k.ls:.4f}")
type(grads).__name__, kern.k1.c
---
noise = 0.5
---
kern = kern + 2.0 * Linear()

### nli-eqx-enumeration-and-error needs=equinox
import equinox as eqx
class RESULTS(eqx.Enumeration):
    ok = "all good"
    diverged = "it diverged"
def solve(x0, rate):
    x = jax.lax.fori_loop(0, 5, lambda i, x: x * rate, x0)
    return x, RESULTS.where(jnp.abs(x) < 10, RESULTS.ok, RESULTS.diverged)
rate = 0.5
---
x, result = solve(jnp.array(1.0), rate)
ok = result == RESULTS.ok
if ok:
    msg = "fine"
else:
    msg = RESULTS[result]
msg, x
---
rate = 3.0

### nli-eqx-jit-counts-traces needs=equinox
import equinox as eqx
@eqx.filter_jit
def apply(m, v):
    return jnp.tanh(m(v)).sum()
lin = eqx.nn.Linear(3, 2, key=jax.random.key(0))
sizes = [4, 8]
outs = []
---
for n in sizes:
    outs.append(apply(lambda v: jax.vmap(lin)(v), X[:n]))
lin = eqx.tree_at(lambda l: l.bias, lin, lin.bias + 0.1)
ema = functools.reduce(lambda a, b: 0.9 * a + 0.1 * b, outs)
len(outs), ema
---
sizes.append(2)
---
outs = outs[:1]

### nli-eqx-conv-groupnorm-image needs=equinox
import equinox as eqx
class Net(eqx.Module):
    layers: list
    def __init__(self, key):
        k1, k2 = jax.random.split(key)
        self.layers = [eqx.nn.Conv2d(1, 4, 3, padding=1, key=k1), eqx.nn.GroupNorm(2, 4), jax.nn.relu,
                       eqx.nn.MaxPool2d(2, 2), jnp.ravel, eqx.nn.Linear(16, 2, key=k2), jax.nn.log_softmax]
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
net = Net(jax.random.key(2))
imgs = jax.random.normal(jax.random.key(3), (3, 1, 4, 4))
---
logp = jax.vmap(net)(imgs)
static = eqx.filter(net, eqx.is_array, inverse=True)
names = [getattr(f, "__name__", type(f).__name__) for f in static.layers]
count = sum(x.size for x in jax.tree.leaves(eqx.filter(net, eqx.is_array)))
print(names[2], count, jnp.exp(logp).sum())
same = static.layers[2] is jax.nn.relu
---
imgs = imgs * 3
---
net = eqx.tree_at(lambda n: n.layers[2], net, jnp.tanh)

### nli-optax-perturbed-lookahead-sam needs=optax
import optax
params = {"w": jnp.ones(3)}
tx = optax.lookahead(optax.sgd(0.2), sync_period=2, slow_step_size=0.5)
lp = optax.LookaheadParams.init_synced(params)
state = tx.init(lp)
---
for i in range(3):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((X @ p["w"] - Y) ** 2))(lp.fast)
    up, state = tx.update(g, state, lp)
    lp = optax.apply_updates(lp, up)
    print(i, f"{loss:.4f}", bool(jnp.allclose(lp.fast["w"], lp.slow["w"])))
---
lp = optax.LookaheadParams.init_synced({"w": jnp.zeros(3)})

### nli-optax-losses-and-projections needs=optax
import optax
w = jnp.array([0.2, 0.5, 0.9])
hist = []
---
for name in ["huber_loss", "l2_loss", "log_cosh"]:
    fn = getattr(optax, name)
    val, g = jax.value_and_grad(lambda w: fn(X @ w, Y).mean())(w)
    w = optax.projections.projection_simplex(w - 0.3 * g)
    hist.append((name, val))
print(" ".join(f"{n}:{v:.3f}" for n, v in hist[-3:]), f"sum={w.sum():.3f}")
cos = optax.cosine_similarity(w, jnp.ones(3))
---
hist = []
w = jnp.array([5.0, -1.0, 0.0])

### nli-optax-own-transform needs=optax
import optax
class State(typing.NamedTuple):
    count: jax.Array
    last: optax.Updates
def sign_agree(decay):
    def init(params):
        return State(jnp.zeros([], jnp.int32), jax.tree.map(jnp.zeros_like, params))
    def update(g, state, params=None):
        del params
        new = jax.tree.map(lambda l, u: decay * l + (1 - decay) * u, state.last, g)
        out = jax.tree.map(lambda n, u: jnp.where(jnp.sign(n) == jnp.sign(u), u, 0.0), new, g)
        return out, State(optax.safe_increment(state.count), new)
    return optax.GradientTransformation(init, update)
tx = optax.chain(sign_agree(0.8), optax.scale_by_learning_rate(optax.cosine_decay_schedule(0.3, 10)))
p = (jnp.zeros(3), jnp.zeros(()))
st = tx.init(p)
---
@jax.jit
def step(p, st):
    l, g = jax.value_and_grad(lambda p: jnp.mean((X @ p[0] + p[1] - Y) ** 2))(p)
    u, st = tx.update(g, st, p)
    return optax.apply_updates(p, u), st, l
for _ in range(3):
    p, st, l = step(p, st)
int(st[0].count), optax.tree.norm(p), l
---
tx = optax.chain(sign_agree(0.1), optax.scale(-0.1))
st = tx.init(p)

### nli-haiku-vae-like needs=haiku,optax
import haiku as hk, optax
@dataclasses.dataclass
class Encoder(hk.Module):
    latent: int = 2
    name: str = None
    def __post_init__(self):
        super().__post_init__() if hasattr(super(), "__post_init__") else None
    def __call__(self, x):
        h = jax.nn.relu(hk.Linear(5)(x))
        return hk.Linear(self.latent)(h), jnp.exp(0.5 * hk.Linear(self.latent)(h))
class VAE(hk.Module):
    def __call__(self, x):
        mu, sd = Encoder()(x)
        z = mu + sd * jax.random.normal(hk.next_rng_key(), mu.shape)
        rec = hk.Sequential([hk.Linear(5), jax.nn.relu, hk.Linear(x.shape[-1])])(z)
        kl = 0.5 * jnp.sum(sd ** 2 + mu ** 2 - 1 - 2 * jnp.log(sd), -1)
        return {"rec": jnp.sum((rec - x) ** 2, -1), "kl": kl}
model = hk.transform(lambda x: VAE()(x))
rng = hk.PRNGSequence(42)
params = model.init(next(rng), X)
opt = optax.adam(1e-2)
opt_state = opt.init(params)
---
def loss_fn(params, key, x):
    out = model.apply(params, key, x)
    return (out["rec"] + out["kl"]).mean(), out
for _ in range(2):
    grads, out = jax.grad(loss_fn, has_aux=True)(params, next(rng), X)
    updates, opt_state = opt.update(grads, opt_state)
    params = optax.apply_updates(params, updates)
    print("elbo %.3f" % -(out["rec"] + out["kl"]).mean())
sorted(params)[:1], len(params)
---
X = X[:4]

### nli-numpyro-eight-schools tolerance=2e-2 needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS
from numpyro.infer.reparam import TransformReparam
y = np.array([28.0, 8.0, -3.0, 7.0])
sigma = np.array([15.0, 10.0, 16.0, 11.0])
def schools(J, sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", J):
        with numpyro.handlers.reparam(config={"theta": TransformReparam()}):
            theta = numpyro.sample("theta", dist.TransformedDistribution(dist.Normal(0.0, 1.0), dist.transforms.AffineTransform(mu, tau)))
        numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)
---
mcmc = MCMC(NUTS(schools), num_warmup=10, num_samples=10, progress_bar=False)
mcmc.run(jax.random.key(0), len(y), sigma, y=y, extra_fields=("potential_energy",))
post = mcmc.get_samples()
pe = mcmc.get_extra_fields()["potential_energy"]
print(sorted(post), pe.shape)
shrunk = {k: v.shape for k, v in post.items()}
---
y = y[:3]; sigma = sigma[:3]

### nli-numpyro-svi-autoguide-params tolerance=1e-2 needs=numpyro,optax
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
def model(x, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    with numpyro.plate("n", len(x)):
        numpyro.sample("y", dist.Normal(x @ w + b, 0.2), obs=y)
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
state = svi.init(jax.random.key(0), X, Y)
elbos = []
---
update = jax.jit(svi.update)
for i in range(4):
    state, loss = update(state, X, Y)
    elbos.append(-loss)
params = svi.get_params(state)
med = guide.median(params)
q = guide.quantiles(params, [0.1, 0.9])
print(f"{len(elbos)} {sorted(params)}")
q["w"].shape
---
elbos.clear()

### nli-numpyro-scan-ar needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.contrib.control_flow import scan
def ar1(y, steps):
    a = numpyro.sample("a", dist.Uniform(-1, 1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    def f(prev, t):
        v = numpyro.sample("v", dist.Normal(a * prev, s))
        return v, v
    with numpyro.handlers.condition(data={"v": y}):
        _, vs = scan(f, 0.0, jnp.arange(steps))
    return vs
series = np.cumsum(np.random.default_rng(0).normal(size=6)).astype(np.float32)
a = 0.5
---
lp = {}
for a in (0.1, 0.5, 0.9):
    cond = numpyro.handlers.substitute(ar1, {"a": jnp.array(a), "s": jnp.array(1.0)})
    val, _ = numpyro.infer.util.log_density(cond, (series, len(series)), {}, {})
    lp[a] = float(val)
best = max(lp, key=lp.get)
best, len(lp)
---
series = -series[:4]

### nli-diffrax-controlled-and-args needs=diffrax,equinox
import diffrax as dfx
ts = jnp.linspace(0, 1, 6)
u = jnp.sin(3 * ts)
control = dfx.LinearInterpolation(ts, u)
theta = {"k": jnp.array(2.0), "c": jnp.array(0.1)}
def f(t, y, args):
    p, ctl = args
    return jnp.stack([y[1], ctl.evaluate(t) - p["k"] * y[0] - p["c"] * y[1]])
---
def simulate(theta, y0):
    return dfx.diffeqsolve(dfx.ODETerm(f), dfx.Tsit5(), 0.0, 1.0, 0.1, y0, args=(theta, control),
                           saveat=dfx.SaveAt(ts=ts), stepsize_controller=dfx.PIDController(1e-3, 1e-3))
sol = simulate(theta, jnp.array([1.0, 0.0]))
sens = jax.jacfwd(lambda th: simulate(th, jnp.array([1.0, 0.0])).ys[-1, 0])(theta)
stats = {k: int(v) for k, v in sol.stats.items() if k.startswith("num")}
okay = sol.result == dfx.RESULTS.successful
bool(okay), stats["num_steps"] >= 1, sens["k"]
---
theta["k"] = theta["k"] * 3
---
u = -u
control = dfx.CubicInterpolation(ts, dfx.backward_hermite_coefficients(ts, u))

### nli-optimistix-in-grad needs=optimistix
import optimistix as optx
a = jnp.array([2.0, 3.0])
solver = optx.Newton(rtol=1e-5, atol=1e-5)
---
def root(a, y0=1.0):
    sol = optx.root_find(lambda y, a: y ** 3 - a, solver, jnp.full_like(a, y0), args=a, max_steps=50, throw=False)
    return sol.value
r = root(a)
J = jax.jacobian(root)(a)
err = jnp.abs(jnp.diag(J) - 1 / (3 * r ** 2)).max()
good = bool(err < 1e-3)
print(good, r)
---
a = jnp.array([0.5, 8.0, 27.0])

### nli-lineax-operators needs=lineax
import lineax as lx
A = X[:3] + 3 * jnp.eye(3)
b = Y[:3]
---
op = lx.MatrixLinearOperator(A)
normal = op.T @ op + lx.IdentityLinearOperator(jax.ShapeDtypeStruct((3,), b.dtype)) * 0.1
sol = lx.linear_solve(lx.TaggedLinearOperator(normal, lx.positive_semidefinite_tag), op.T.mv(b), lx.CG(rtol=1e-5, atol=1e-5))
direct = jnp.linalg.solve(A.T @ A + 0.1 * jnp.eye(3), A.T @ b)
close = jnp.allclose(sol.value, direct, atol=1e-3)
if not close:
    print("differs", sol.value, direct)
num = sol.stats["num_steps"]
del sol
bool(close), op.out_size()
---
A = A.at[0, 0].set(9.0)

### nli-jaxtyping-annotated-dims needs=jaxtyping
from jaxtyping import Array, Float, Int, PyTree, jaxtyped
def attend(q: Float[Array, "t d"], k: Float[Array, "s d"], v: Float[Array, "s e"]) -> Float[Array, "t e"]:
    return jax.nn.softmax(q @ k.T / math.sqrt(q.shape[-1])) @ v
checks = []
---
out = attend(X[:2], X, Y[:, None])
checks.append(isinstance(out, Float[Array, "2 1"]))
checks.append(isinstance(out, Int[Array, "..."]))
checks.append(isinstance({"a": out}, PyTree[Float[Array, "..."]]))
hint = attend.__annotations__["return"]
hint.dim_str, checks
---
checks = []
X = X[:, :2]

### nli-orbax-manager-best-metric needs=orbax.checkpoint
import os, orbax.checkpoint as ocp
here = os.path.abspath(".")
opts = ocp.CheckpointManagerOptions(max_to_keep=1, best_fn=lambda m: m["loss"], best_mode="min")
mngr = ocp.CheckpointManager(f"{here}/best", options=opts)
w, step = jnp.zeros(3), 0
---
for lr in (0.2, 5.0):
    loss, g = jax.value_and_grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
    w = w - lr * g
    mngr.save(step, args=ocp.args.StandardSave({"w": w, "step": step}), metrics={"loss": float(loss)})
    step += 1
mngr.wait_until_finished()
best = mngr.best_step()
back = mngr.restore(best, args=ocp.args.StandardRestore({"w": w, "step": 0}))
best, back["step"], mngr.all_steps()
---
w = jnp.zeros(3)
""",
)
