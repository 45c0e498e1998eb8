"""Models as people train them: tutorials of libraries, trainers, checkpoints, samplers, solvers, agents."""

from ..cell import written

PRELUDE = """
import os, json, math, time, pickle, random as pyrandom, functools, dataclasses, collections, itertools
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional
import numpy as np
import jax, jax.numpy as jnp
from jax import random, grad, jit, vmap, lax
import optax
rng_np = np.random.default_rng(0)
X = rng_np.normal(size=(24, 4)).astype(np.float32)
true_w = np.array([1.0, -2.0, 0.5, 0.0], np.float32)
y = (X @ true_w + 0.1 * rng_np.normal(size=24)).astype(np.float32)
labels = (y > 0).astype(np.int32)
"""

CELLS = written(
    PRELUDE,
    r"""
### law-nnx-cnn-tutorial-eval-every needs=flax
from flax import nnx
class CNN(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs):
        self.conv1 = nnx.Conv(1, 2, kernel_size=(3, 3), rngs=rngs)
        self.avg_pool = functools.partial(nnx.avg_pool, window_shape=(2, 2), strides=(2, 2))
        self.linear1 = nnx.Linear(8, 4, rngs=rngs)
        self.dropout = nnx.Dropout(rate=0.25, rngs=rngs)
        self.linear2 = nnx.Linear(4, 3, rngs=rngs)
    def __call__(self, x):
        x = self.avg_pool(nnx.relu(self.conv1(x)))
        x = x.reshape(x.shape[0], -1)
        return self.linear2(nnx.relu(self.dropout(self.linear1(x))))
images = rng_np.uniform(size=(12, 4, 4, 1)).astype(np.float32)
digits = rng_np.integers(0, 3, size=12)
def batches(bs):
    for i in range(0, len(images), bs):
        yield {"image": images[i:i + bs], "label": digits[i:i + bs]}
def loss_fn(model, batch):
    logits = model(batch["image"])
    loss = optax.softmax_cross_entropy_with_integer_labels(logits=logits, labels=batch["label"]).mean()
    return loss, logits
@nnx.jit
def train_step(model, optimizer, metrics, batch):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
    optimizer.update(model, grads)
@nnx.jit
def eval_step(model, metrics, batch):
    loss, logits = loss_fn(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
learning_rate, momentum, batch_size, eval_every = 0.005, 0.9, 4, 2
model = CNN(rngs=nnx.Rngs(0))
---
optimizer = nnx.Optimizer(model, optax.adamw(learning_rate, momentum), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
metrics_history = {"train_loss": [], "train_accuracy": [], "test_loss": [], "test_accuracy": []}
for step, batch in enumerate(batches(batch_size)):
    model.train()
    train_step(model, optimizer, metrics, batch)
    if step > 0 and (step % eval_every == 0 or step == 2):
        for metric, value in metrics.compute().items():
            metrics_history[f"train_{metric}"].append(value)
        metrics.reset()
        model.eval()
        for test_batch in batches(6):
            eval_step(model, metrics, test_batch)
        for metric, value in metrics.compute().items():
            metrics_history[f"test_{metric}"].append(value)
        metrics.reset()
        print(f"[train] step {step}, loss: {metrics_history['train_loss'][-1]:.4f}")
len(metrics_history["test_loss"])
---
learning_rate = 0.05
---
batch_size = 6
---
eval_every = 1; model = CNN(rngs=nnx.Rngs(7))

### law-nnx-basics-count-and-linear needs=flax
from flax import nnx
class Count(nnx.Variable): pass
class Linear(nnx.Module):
    def __init__(self, din, dout, *, rngs):
        key = rngs.params()
        self.w = nnx.Param(random.uniform(key, (din, dout)))
        self.b = nnx.Param(jnp.zeros((dout,)))
        self.count = Count(jnp.array(0))
    def __call__(self, x):
        self.count[...] += 1
        return x @ self.w + self.b
class MLP(nnx.Module):
    def __init__(self, din, dhidden, dout, *, rngs):
        self.linear1 = Linear(din, dhidden, rngs=rngs)
        self.linear2 = Linear(dhidden, dout, rngs=rngs)
    def __call__(self, x):
        return self.linear2(nnx.relu(self.linear1(x)))
model = MLP(4, 6, 1, rngs=nnx.Rngs(0))
n_steps, log_every = 4, 2
def dataset(bs, seed=0):
    g = np.random.default_rng(seed)
    while True:
        idx = g.choice(len(X), size=bs)
        yield X[idx], y[idx, None]
---
graphdef, params, counts = nnx.split(model, nnx.Param, Count)
@jax.jit
def train_step(params, counts, batch):
    x_, y_ = batch
    def loss_fn(params):
        m = nnx.merge(graphdef, params, counts)
        pred = m(x_)
        return jnp.mean((y_ - pred) ** 2), nnx.state(m, Count)
    (loss, counts), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    params = jax.tree.map(lambda w, g: w - 0.05 * g, params, grads)
    return params, counts, loss
for step, batch in zip(range(n_steps), dataset(8)):
    params, counts, loss = train_step(params, counts, batch)
    if step % log_every == 0:
        print(f"step: {step}, loss: {loss:.4f}")
nnx.update(model, params, counts)
print("times called:", model.linear1.count[...], "predictions", model(X[:2]).shape)
---
n_steps = 2
---
def dataset(bs, seed=3):
    order = np.random.default_rng(seed).permutation(len(X))
    for i in range(0, len(X), bs):
        yield X[order[i:i + bs]], y[order[i:i + bs], None]

### law-nnx-decision-boundary-figure needs=flax,matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
from flax import nnx
pts = rng_np.uniform(-1, 1, size=(20, 2)).astype(np.float32)
cls = (np.hypot(*pts.T) < 0.7).astype(np.float32)
net = nnx.Sequential(nnx.Linear(2, 8, rngs=nnx.Rngs(0)), nnx.tanh, nnx.Linear(8, 1, rngs=nnx.Rngs(1)))
opt = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
res, epochs, cmap = 6, 3, "coolwarm"
---
@nnx.jit
def step(net, opt, xb, yb):
    def loss(m): return optax.sigmoid_binary_cross_entropy(m(xb)[:, 0], yb).mean()
    l, g = nnx.value_and_grad(loss)(net)
    opt.update(net, g)
    return l
losses = [step(net, opt, pts, cls) for _ in range(epochs)]
xx, yy = np.meshgrid(np.linspace(-1, 1, res), np.linspace(-1, 1, res))
zz = nnx.sigmoid(net(jnp.c_[xx.ravel(), yy.ravel()])).reshape(xx.shape)
fig, (ax0, ax1) = plt.subplots(1, 2, figsize=(6, 3))
ax0.plot(losses); ax0.set_title(f"loss {losses[-1]:.4f}")
ax1.contourf(xx, yy, zz, levels=5, cmap=cmap)
ax1.scatter(*pts.T, c=cls)
n_artists = (len(ax0.lines), len(ax1.collections))
fig.savefig("boundary.png", dpi=20, metadata={"Software": None})
plt.close(fig); del fig, ax0, ax1
n_artists
---
res = 4
---
cls = (pts[:, 0] * pts[:, 1] > 0).astype(np.float32)

### law-nnx-warmup-cosine-logs-lr needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(4, rngs=rngs)
        self.out = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, x): return self.out(self.norm(x)).squeeze(-1)
cfg = dict(peak=0.1, warmup=2, total=8, epochs=2, bs=8, clip=1.0)
logs = []
---
sched = optax.warmup_cosine_decay_schedule(0.0, cfg["peak"], cfg["warmup"], cfg["total"], end_value=1e-3)
tx = optax.chain(optax.clip_by_global_norm(cfg["clip"]), optax.adamw(sched))
model = Net(nnx.Rngs(42))
opt = nnx.Optimizer(model, tx, wrt=nnx.Param)
global_step = 0
for epoch in range(cfg["epochs"]):
    perm = np.random.default_rng(epoch).permutation(len(X))
    for i in range(0, len(X), cfg["bs"]):
        sel = perm[i:i + cfg["bs"]]
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(X[sel]) - y[sel]) ** 2))(model)
        lr = float(sched(global_step))
        opt.update(model, grads)
        logs.append({"step": global_step, "lr": round(lr, 5), "loss": float(loss)})
        global_step += 1
    print(f"epoch {epoch:02d} | lr {lr:.5f} | loss {logs[-1]['loss']:.4f}")
assert int(opt.step[...]) == global_step
---
cfg["warmup"] = 0
---
cfg |= {"bs": 12, "peak": 0.01}; logs = []
---
logs.clear()

### law-nnx-vae-with-noise-stream needs=flax
from flax import nnx
class KL(nnx.Variable): pass
class Encoder(nnx.Module):
    def __init__(self, din, h, z, *, rngs):
        self.l1 = nnx.Linear(din, h, rngs=rngs)
        self.mu, self.sig = nnx.Linear(h, z, rngs=rngs), nnx.Linear(h, z, rngs=rngs)
        self.rngs = rngs
    def __call__(self, x):
        h = jax.nn.relu(self.l1(x))
        mean, std = self.mu(h), jnp.exp(self.sig(h))
        self.kl = KL(jnp.mean(0.5 * jnp.mean(-jnp.log(std ** 2) - 1 + std ** 2 + mean ** 2, axis=-1)))
        return mean + std * random.normal(self.rngs.noise(), mean.shape)
class VAE(nnx.Module):
    def __init__(self, rngs):
        self.enc, self.dec = Encoder(4, 6, 2, rngs=rngs), nnx.Linear(2, 4, rngs=rngs)
    def __call__(self, x): return self.dec(self.enc(x))
model = VAE(nnx.Rngs(0, noise=1))
model(X)
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
beta, steps = 0.1, 3
---
@nnx.jit
def train_step(model, optimizer, x):
    def loss_fn(model):
        recon = model(x)
        losses = jax.tree_util.tree_leaves(nnx.pop(model, KL))
        return jnp.mean((recon - x) ** 2) + beta * sum(losses, 0.0)
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss
hist = []
for i in range(steps):
    loss = train_step(model, optimizer, X)
    hist.append(np.asarray(loss))
    print(f"Step {i}: loss={loss:.4f}")
has_kl = hasattr(model.enc, "kl")
has_kl, len(hist)
---
beta = 1.0
---
steps = 1

### law-nnx-mini-gpt-generate needs=flax
from flax import nnx
text = "hello world, hello jax"
chars = sorted(set(text)); stoi = {c: i for i, c in enumerate(chars)}; itos = dict(enumerate(chars))
class Block(nnx.Module):
    def __init__(self, d, rngs):
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=d, qkv_features=d, decode=False, rngs=rngs)
        self.ln = nnx.LayerNorm(d, rngs=rngs)
    def __call__(self, x):
        mask = nnx.make_causal_mask(jnp.ones(x.shape[:1]))
        return x + self.attn(self.ln(x), mask=mask)
class GPT(nnx.Module):
    def __init__(self, vocab, d, depth, rngs):
        self.tok, self.pos = nnx.Embed(vocab, d, rngs=rngs), nnx.Embed(16, d, rngs=rngs)
        self.blocks = nnx.List([Block(d, rngs) for _ in range(depth)])
        self.head = nnx.Linear(d, vocab, rngs=rngs)
    def __call__(self, ids):
        h = self.tok(ids) + self.pos(jnp.arange(ids.shape[0]))
        for b in self.blocks: h = b(h)
        return self.head(h)
gpt = GPT(len(chars), 4, 1, nnx.Rngs(0))
prompt, max_new, temperature, seed = "hel", 4, 0.8, 0
---
key = random.key(seed)
ids = [stoi[c] for c in prompt]
for _ in range(max_new):
    logits = gpt(jnp.array(ids[-8:]))[-1]
    if temperature == 0:
        nxt = int(logits.argmax())
    else:
        key, sub = random.split(key)
        nxt = int(random.categorical(sub, logits / temperature))
    ids.append(nxt)
out = "".join(itos[i] for i in ids)
print(repr(out))
targets = jnp.array([stoi[c] for c in text[1:9]])
nll = optax.softmax_cross_entropy_with_integer_labels(gpt(jnp.array([stoi[c] for c in text[:8]])), targets).mean()
print(f"perplexity {jnp.exp(nll):.4f}")
---
temperature = 0
---
prompt = "world"; temperature = 1.5
---
seed = 11; max_new = 2

### law-nnx-finetune-head-only needs=flax
from flax import nnx
class Model(nnx.Module):
    def __init__(self, rngs):
        self.backbone = nnx.Linear(4, 6, rngs=rngs)
        self.head = nnx.Linear(6, 2, rngs=rngs)
    def __call__(self, x): return self.head(nnx.relu(self.backbone(x)))
model = Model(nnx.Rngs(0))
train_only, lr = "head", 0.1
---
trainable = nnx.All(nnx.Param, nnx.PathContains(train_only))
opt = nnx.Optimizer(model, optax.sgd(lr), wrt=trainable)
before = jax.tree.map(np.array, nnx.to_pure_dict(nnx.state(model, nnx.Param)))
diff = nnx.DiffState(0, trainable)
def loss_fn(m):
    return optax.softmax_cross_entropy_with_integer_labels(m(X), labels).mean()
for _ in range(3):
    loss, grads = nnx.value_and_grad(loss_fn, argnums=diff)(model)
    opt.update(model, grads)
after = nnx.to_pure_dict(nnx.state(model, nnx.Param))
moved = {name: bool(any(not np.array_equal(a, b) for a, b in zip(jax.tree.leaves(before[name]), jax.tree.leaves(after[name])))) for name in before}
print(moved, f"{loss:.4f}")
---
train_only = "backbone"
---
lr = 0.0

### law-nnx-early-stopping-restores-best needs=flax
from flax import nnx
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.best_state, self.bad = float("inf"), None, 0
    def __call__(self, value, model):
        if value < self.best - self.min_delta:
            self.best, self.bad = value, 0
            self.best_state = jax.tree.map(lambda a: a.copy(), nnx.state(model))
        else:
            self.bad += 1
        return self.bad >= self.patience
model = nnx.Linear(4, 1, rngs=nnx.Rngs(0))
lr, patience = 0.9, 2
Xtr, Xva, ytr, yva = X[:16], X[16:], y[:16, None], y[16:, None]
---
stopper = EarlyStopping(patience)
opt = nnx.Optimizer(model, optax.sgd(lr), wrt=nnx.Param)
for epoch in range(8):
    grads = nnx.grad(lambda m: jnp.mean((m(Xtr) - ytr) ** 2))(model)
    opt.update(model, grads)
    val = float(jnp.mean((model(Xva) - yva) ** 2))
    if stopper(val, model):
        print(f"stopping at {epoch}")
        break
else:
    print("ran all epochs")
nnx.update(model, stopper.best_state)
final = float(jnp.mean((model(Xva) - yva) ** 2))
print(f"{final:.4f} {stopper.best:.4f} {stopper.bad}")
---
lr = 0.1
---
patience = 1; lr = 1.4
---
model = nnx.Linear(4, 1, rngs=nnx.Rngs(5)); stopper = None

### law-nnx-layer-summary-table needs=flax
from flax import nnx
model = nnx.Sequential(nnx.Linear(4, 8, rngs=nnx.Rngs(0)), nnx.BatchNorm(8, rngs=nnx.Rngs(1)), nnx.relu, nnx.Linear(8, 2, rngs=nnx.Rngs(2)))
---
rows, total, nbytes = [], 0, 0
for path, var in nnx.to_flat_state(nnx.state(model)):
    arr = var.get_value() if hasattr(var, "get_value") else var
    rows.append(("/".join(map(str, path)), type(var).__name__, str(arr.shape), str(arr.dtype), float(jnp.linalg.norm(arr))))
    if isinstance(var, nnx.Param):
        total += arr.size
    nbytes += arr.size * arr.dtype.itemsize
w = max(len(r[0]) for r in rows)
print(f"{'name':<{w}} | kind | shape | dtype | norm")
print("-" * (w + 20))
for name, kind, shape, dtype, norm in rows:
    print(f"{name:<{w}} | {kind:<9} | {shape:>8} | {dtype} | {norm:.4f}")
print(f"total {total:,} params, {nbytes / 1024:.2f} KiB")
---
model.layers[0].kernel[...] = model.layers[0].kernel * 2
---
model = nnx.Linear(4, 3, use_bias=False, rngs=nnx.Rngs(3))
---
model = nnx.Sequential(nnx.Linear(4, 4, param_dtype=jnp.bfloat16, rngs=nnx.Rngs(0)), nnx.gelu)

### law-linen-mnist-style-epochs needs=flax
from flax import linen as nn
from flax.training import train_state
class CNN(nn.Module):
    features: int = 3
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(features=self.features, kernel_size=(3, 3))(x)
        x = nn.relu(x)
        x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))
        return nn.Dense(features=3)(x)
imgs = rng_np.uniform(size=(10, 4, 4, 1)).astype(np.float32)
train_ds = {"image": imgs, "label": np.arange(10) % 3}
@jax.jit
def apply_model(state, images, labels):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, images)
        one_hot = jax.nn.one_hot(labels, 3)
        return jnp.mean(optax.softmax_cross_entropy(logits=logits, labels=one_hot)), logits
    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return grads, loss, jnp.mean(jnp.argmax(logits, -1) == labels)
@jax.jit
def update_model(state, grads): return state.apply_gradients(grads=grads)
def train_epoch(state, ds, batch_size, rng):
    n = len(ds["image"]); steps = n // batch_size
    perms = jax.random.permutation(rng, n)[: steps * batch_size].reshape((steps, batch_size))
    losses, accs = [], []
    for perm in perms:
        grads, loss, acc = apply_model(state, ds["image"][perm, ...], ds["label"][perm, ...])
        state = update_model(state, grads)
        losses.append(loss); accs.append(acc)
    return state, np.mean(losses), np.mean(accs)
epochs, bs, seed, lr = 2, 5, 0, 0.1
---
rng = jax.random.key(seed)
rng, init_rng = jax.random.split(rng)
cnn = CNN()
params = cnn.init(init_rng, jnp.ones([1, 4, 4, 1]))["params"]
state = train_state.TrainState.create(apply_fn=cnn.apply, params=params, tx=optax.sgd(lr, 0.9))
for epoch in range(1, epochs + 1):
    rng, input_rng = jax.random.split(rng)
    state, train_loss, train_acc = train_epoch(state, train_ds, bs, input_rng)
    print("epoch:% 3d, train_loss: %.4f, train_accuracy: %.2f" % (epoch, train_loss, train_acc * 100))
int(state.step), type(train_loss).__name__
---
bs = 3
---
lr = 0.01; seed = 4
---
train_ds = {k: v[:6] for k, v in train_ds.items()}

### law-linen-batchnorm-train-and-eval needs=flax
from flax import linen as nn
from flax.training import train_state
class TrainState(train_state.TrainState):
    batch_stats: Any
class MLP(nn.Module):
    width: int
    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.Dense(self.width)(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.Dropout(0.2, deterministic=not train)(nn.relu(x))
        return nn.Dense(2)(x)
width, lr, n_epochs = 5, 0.05, 2
---
model = MLP(width)
variables = model.init(random.key(0), X, train=False)
state = TrainState.create(apply_fn=model.apply, params=variables["params"], batch_stats=variables["batch_stats"], tx=optax.adam(lr))
@jax.jit
def train_step(state, xb, yb, key):
    def loss_fn(params):
        logits, updates = state.apply_fn({"params": params, "batch_stats": state.batch_stats}, xb, train=True, mutable=["batch_stats"], rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(logits, yb).mean(), (logits, updates)
    (loss, (logits, updates)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads)
    return state.replace(batch_stats=updates["batch_stats"]), {"loss": loss, "acc": (logits.argmax(-1) == yb).mean()}
key, log = random.key(1), []
for epoch in range(n_epochs):
    epoch_metrics = []
    for xb, yb in zip(np.split(X, 3), np.split(labels, 3)):
        key, dkey = random.split(key)
        state, m = train_step(state, xb, yb, dkey)
        epoch_metrics.append(m)
    epoch_metrics = jax.device_get(epoch_metrics)
    log.append({k: float(np.mean([m[k] for m in epoch_metrics])) for k in epoch_metrics[0]})
eval_logits = state.apply_fn({"params": state.params, "batch_stats": state.batch_stats}, X, train=False)
print(log[-1].keys(), f"{log[-1]['loss']:.4f}", eval_logits.shape)
---
lr = 0.5
---
width = 3
---
n_epochs = 1; X = X * 2

### law-linen-trainer-module-class needs=flax
from flax import linen as nn
from flax.training import train_state
class TrainerModule:
    def __init__(self, model, lr=1e-2, seed=42, log_dir="logs"):
        self.model, self.lr, self.seed = model, lr, seed
        self.log_dir = Path(log_dir); self.log_dir.mkdir(exist_ok=True)
        self.history, self.best = collections.defaultdict(list), None
        self.create_functions()
        self.init_model()
    def create_functions(self):
        def calculate_loss(params, batch):
            xb, yb = batch
            preds = self.model.apply(params, xb).squeeze(-1)
            return ((preds - yb) ** 2).mean()
        def train_step(state, batch):
            loss, grads = jax.value_and_grad(calculate_loss)(state.params, batch)
            return state.apply_gradients(grads=grads), loss
        self.train_step, self.eval_step = jax.jit(train_step), jax.jit(calculate_loss)
    def init_model(self):
        params = self.model.init(jax.random.key(self.seed), X[:1])
        self.state = train_state.TrainState.create(apply_fn=self.model.apply, params=params, tx=optax.adam(self.lr))
    def train_model(self, loader, num_epochs):
        for epoch in range(1, num_epochs + 1):
            for batch in loader:
                self.state, loss = self.train_step(self.state, batch)
            self.history["loss"].append(loss.item())
            if self.best is None or loss.item() < self.best:
                self.best = loss.item()
                self.save_model(epoch)
    def save_model(self, step):
        (self.log_dir / "best.json").write_text(json.dumps({"step": step, "loss": round(self.best, 3)}))
loader = [(X[i:i + 8], y[i:i + 8]) for i in range(0, 24, 8)]
trainer = TrainerModule(nn.Dense(1))
epochs = 2
---
trainer.train_model(loader, epochs)
val = trainer.eval_step(trainer.state.params, (X, y))
meta = json.loads((trainer.log_dir / "best.json").read_text())
print(f"val {val:.4f}; best at epoch {meta['step']}; {len(trainer.history['loss'])} epochs in all")
---
trainer = TrainerModule(nn.Dense(1), lr=0.3, log_dir="logs2")
---
loader = loader[:1]; epochs = 3
---
trainer.best = None

### law-linen-reverse-task-encoder needs=flax
from flax import linen as nn
class EncoderBlock(nn.Module):
    dim: int
    heads: int
    drop: float = 0.0
    def setup(self):
        self.attn = nn.MultiHeadDotProductAttention(num_heads=self.heads, qkv_features=self.dim)
        self.mlp = [nn.Dense(self.dim), nn.relu, nn.Dense(self.dim)]
        self.norm = nn.LayerNorm()
    def __call__(self, x):
        x = self.norm(x + self.attn(x, x))
        h = x
        for l in self.mlp:
            h = l(h)
        return x + h
class Encoder(nn.Module):
    n_cls: int
    dim: int = 4
    layers: int = 1
    @nn.compact
    def __call__(self, ids):
        x = nn.one_hot(ids, self.n_cls)
        x = nn.Dense(self.dim)(x)
        for i in range(self.layers):
            x = EncoderBlock(self.dim, 2, name=f"block_{i}")(x)
        return nn.Dense(self.n_cls)(x)
def gen_batch(g, n, L=5, n_cls=4):
    inp = g.integers(0, n_cls, size=(n, L))
    return inp, inp[:, ::-1]
cfg = {"layers": 1, "steps": 3, "n": 6, "lr": 0.05}
gen = np.random.default_rng(0)
---
net = Encoder(4, layers=cfg["layers"])
params = net.init(random.key(0), gen_batch(np.random.default_rng(1), 1)[0])
tx = optax.adam(optax.linear_schedule(cfg["lr"], 0.0, cfg["steps"]))
opt_state = tx.init(params)
@jit
def step(params, opt_state, inp, tgt):
    def loss_fn(p):
        logits = net.apply(p, inp)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tgt).mean(), (logits.argmax(-1) == tgt).mean()
    (loss, acc), g = jax.value_and_grad(loss_fn, has_aux=True)(params)
    updates, opt_state = tx.update(g, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss, acc
for it in range(cfg["steps"]):
    inp, tgt = gen_batch(gen, cfg["n"])
    params, opt_state, loss, acc = step(params, opt_state, inp, tgt)
    print(it, f"loss={loss:.4f}")
sorted(params["params"]), inp.shape
---
cfg["layers"] = 2
---
def gen_batch(g, n, L=3, n_cls=4):
    inp = g.integers(0, n_cls, size=(n, L))
    return inp, np.sort(inp, axis=1)
---
cfg["n"] = 2; gen = np.random.default_rng(9)

### law-linen-autoencoder-latents-to-frame needs=flax,sklearn,pandas
import pandas as pd
from flax import linen as nn
from sklearn.decomposition import PCA
class AE(nn.Module):
    latent: int = 2
    def setup(self):
        self.encoder, self.decoder = nn.Dense(self.latent), nn.Dense(4)
    def encode(self, x): return nn.tanh(self.encoder(x))
    def __call__(self, x): return self.decoder(self.encode(x))
latent, n_steps = 2, 4
---
ae = AE(latent)
params = ae.init(random.key(0), X)
tx = optax.adam(0.05); opt_state = tx.init(params)
loss_fn = lambda p: jnp.mean((ae.apply(p, X) - X) ** 2)
for i in range(n_steps):
    value, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
z = ae.apply(params, X, method=ae.encode)
df = pd.DataFrame(np.asarray(z), columns=[f"z{i}" for i in range(latent)])
df["label"] = labels
means = df.groupby("label").mean()
pca = PCA(n_components=latent).fit(X)
var = pca.explained_variance_ratio_.sum()
print(means.shape, f"pca keeps {var:.4f}, ae mse {value:.4f}")
---
latent = 3
---
labels = 1 - labels; n_steps = 2

### law-linen-save-and-resume-msgpack needs=flax
from flax import linen as nn, serialization
from flax.training import train_state
ckpt_dir = Path("checkpoints")
def create_state(key):
    model = nn.Dense(1)
    return train_state.TrainState.create(apply_fn=model.apply, params=model.init(key, X), tx=optax.sgd(0.1, momentum=0.9))
resume, epochs = True, 2
---
state = create_state(random.key(0))
ckpt_dir.mkdir(exist_ok=True)
files = sorted(ckpt_dir.glob("ckpt_*.msgpack"))
if resume and files:
    state = serialization.from_bytes(state, files[-1].read_bytes())
    start = int(state.step)
    print(f"Resuming from {files[-1].name} at step {start}")
else:
    start = 0
    print("Training from scratch")
for step in range(start, start + epochs):
    grads = jax.grad(lambda p: jnp.mean((state.apply_fn(p, X)[:, 0] - y) ** 2))(state.params)
    state = state.apply_gradients(grads=grads)
path = ckpt_dir / f"ckpt_{int(state.step):04d}.msgpack"
path.write_bytes(serialization.to_bytes(jax.tree.map(lambda a: np.round(np.asarray(a), 1), state)))
loss = jnp.mean((state.apply_fn(state.params, X)[:, 0] - y) ** 2)
len(files), int(state.step)
---
resume = False
---
for f in ckpt_dir.iterdir(): f.unlink()
resume = True
---
epochs = 1

### law-linen-ema-of-params-evaluated needs=flax
from flax import linen as nn
from flax.training import train_state
class EMATrainState(train_state.TrainState):
    ema_params: Any = None
    decay: float = 0.9
    def apply_gradients(self, *, grads, **kw):
        new = super().apply_gradients(grads=grads, **kw)
        ema = jax.tree.map(lambda e, p: e * self.decay + p * (1 - self.decay), self.ema_params, new.params)
        return new.replace(ema_params=ema)
model = nn.Dense(1)
params = model.init(random.key(0), X)["params"]
state = EMATrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(0.1), ema_params=params, decay=0.9)
def evaluate(params): return jnp.abs(model.apply({"params": params}, X)[:, 0] - y).mean()
---
@jax.jit
def train_step(state, x, t):
    grads = jax.grad(lambda p: ((state.apply_fn({"params": p}, x)[:, 0] - t) ** 2).mean())(state.params)
    return state.apply_gradients(grads=grads)
curve = []
for i in range(3):
    state = train_step(state, X, y)
    curve.append((i, evaluate(state.params), evaluate(state.ema_params)))
for i, raw, ema in curve:
    print(f"{i:>3} raw={raw:.4f} ema={ema:.4f} {'*' if ema < raw else ''}")
state.decay
---
state = state.replace(decay=0.5)
---
state = state.replace(ema_params=state.params, step=0)

### law-eqx-getting-started-train needs=equinox
import equinox as eqx
class Net(eqx.Module):
    layers: list
    def __init__(self, key):
        k1, k2 = jax.random.split(key)
        self.layers = [eqx.nn.Linear(4, 6, key=k1), jax.nn.relu, eqx.nn.Linear(6, 2, key=k2), jax.nn.log_softmax]
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
@eqx.filter_jit
def loss(model, x, t):
    pred = jax.vmap(model)(x)
    return -jnp.mean(jnp.take_along_axis(pred, jnp.expand_dims(t, 1), axis=1))
@eqx.filter_jit
def accuracy(model, x, t): return jnp.mean(t == jnp.argmax(jax.vmap(model)(x), axis=1))
class Loader:
    def __init__(self, x, t, bs, shuffle=True, seed=0):
        self.x, self.t, self.bs, self.rng, self.shuffle = x, t, bs, np.random.default_rng(seed), shuffle
    def __iter__(self):
        idx = self.rng.permutation(len(self.x)) if self.shuffle else np.arange(len(self.x))
        for i in range(0, len(idx), self.bs):
            yield self.x[idx[i:i + self.bs]], self.t[idx[i:i + self.bs]]
    def __len__(self): return -(-len(self.x) // self.bs)
LEARNING_RATE, STEPS, PRINT_EVERY, SEED = 3e-2, 5, 2, 5678
trainloader, testloader = Loader(X[:16], labels[:16], 8), Loader(X[16:], labels[16:], 4, shuffle=False)
---
def evaluate(model, loader):
    avg_loss, avg_acc = 0, 0
    for x, t in loader:
        avg_loss += loss(model, x, t)
        avg_acc += accuracy(model, x, t)
    return avg_loss / len(loader), avg_acc / len(loader)
def train(model, optim, steps, print_every):
    opt_state = optim.init(eqx.filter(model, eqx.is_array))
    @eqx.filter_jit
    def make_step(model, opt_state, x, t):
        loss_value, grads = eqx.filter_value_and_grad(loss)(model, x, t)
        updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), opt_state, loss_value
    def infinite():
        while True:
            yield from trainloader
    for step, (x, t) in zip(range(steps), infinite()):
        model, opt_state, train_loss = make_step(model, opt_state, x, t)
        if step % print_every == 0 or step == steps - 1:
            test_loss, test_acc = evaluate(model, testloader)
            print(f"{step=}, train_loss={train_loss.item():.4f}, test_loss={test_loss.item():.4f}")
    return model
model = train(Net(jax.random.key(SEED)), optax.adamw(LEARNING_RATE), STEPS, PRINT_EVERY)
---
LEARNING_RATE = 0.3
---
trainloader.bs = 16
---
SEED, STEPS = 1, 2
---
@eqx.filter_jit
def accuracy(model, x, t): return jnp.mean(jnp.abs(t - jnp.exp(jax.vmap(model)(x))[:, 1]) < 0.5)

### law-eqx-rnn-scan-classifier needs=equinox
import equinox as eqx
class RNN(eqx.Module):
    hidden_size: int
    cell: eqx.Module
    linear: eqx.nn.Linear
    bias: jax.Array
    def __init__(self, in_size, out_size, hidden_size, *, key):
        ckey, lkey = random.split(key)
        self.hidden_size = hidden_size
        self.cell = eqx.nn.GRUCell(in_size, hidden_size, key=ckey)
        self.linear = eqx.nn.Linear(hidden_size, out_size, use_bias=False, key=lkey)
        self.bias = jnp.zeros(out_size)
    def __call__(self, inp):
        def f(carry, inp): return self.cell(inp, carry), None
        out, _ = lax.scan(f, jnp.zeros((self.hidden_size,)), inp)
        return jax.nn.sigmoid(self.linear(out) + self.bias)
def get_data(n, *, key):
    t = jnp.linspace(0, 2 * math.pi, 6)
    offset = random.uniform(key, (n, 1), minval=0, maxval=2 * math.pi)
    x1, x2 = jnp.sin(t + offset) / (1 + t), jnp.cos(t + offset) / (1 + t)
    lab = jnp.zeros((n, 1)).at[: n // 2].set(1)
    x1 = x1.at[: n // 2].multiply(-1)
    return jnp.stack([x1, x2], axis=-1), lab
def dataloader(arrays, bs, seed=0):
    n = arrays[0].shape[0]; g = np.random.default_rng(seed)
    while True:
        perm = g.permutation(n)
        for s in range(0, n - bs + 1, bs):
            yield tuple(a[perm[s:s + bs]] for a in arrays)
hidden, steps, bs, lr = 4, 3, 4, 3e-2
---
dkey, mkey = random.split(random.key(5678), 2)
xs, ys = get_data(8, key=dkey)
model = RNN(2, 1, hidden, key=mkey)
@eqx.filter_value_and_grad
def compute_loss(model, x, t):
    pred = vmap(model)(x)
    return -jnp.mean(t * jnp.log(pred) + (1 - t) * jnp.log(1 - pred))
optim = optax.adam(lr)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
for step, (x, t) in zip(range(steps), dataloader((xs, ys), bs)):
    loss, grads = compute_loss(model, x, t)
    updates, opt_state = optim.update(grads, opt_state)
    model = eqx.apply_updates(model, updates)
    print(f"step={step}, loss={loss.item():.4f}")
final_acc = jnp.mean((vmap(model)(xs) > 0.5) == ys)
---
hidden = 2
---
bs, steps = 8, 2
---
def get_data(n, *, key):
    return random.normal(key, (n, 3, 2)), (jnp.arange(n) % 2)[:, None].astype(jnp.float32)

### law-eqx-freeze-last-layer-spec needs=equinox
import equinox as eqx
model = eqx.nn.MLP(4, 1, 5, 2, key=random.key(0))
frozen_everything_but = -1
---
filter_spec = jax.tree.map(lambda _: False, model)
filter_spec = eqx.tree_at(lambda t: (t.layers[frozen_everything_but].weight, t.layers[frozen_everything_but].bias), filter_spec, replace=(True, True))
diff, static = eqx.partition(model, filter_spec)
@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(diff, static, x, t):
    m = eqx.combine(diff, static)
    return jnp.mean((vmap(m)(x)[:, 0] - t) ** 2)
optim = optax.sgd(1e-1)
st = optim.init(diff)
for _ in range(2):
    val, g = loss(diff, static, X, y)
    up, st = optim.update(g, st)
    diff = eqx.apply_updates(diff, up)
new = eqx.combine(diff, static)
changed = [bool(jnp.any(a.weight != b.weight)) for a, b in zip(model.layers, new.layers)]
same_objects = [a.weight is b.weight for a, b in zip(model.layers, new.layers)]
print(changed, same_objects, f"{val:.4f}")
model = new
---
frozen_everything_but = 0
---
model = eqx.nn.MLP(4, 1, 5, 1, key=random.key(3)); frozen_everything_but = 1

### law-eqx-ensemble-uncertainty-frame needs=equinox,pandas
import equinox as eqx, pandas as pd
n_models, width, n_steps = 3, 4, 3
---
@eqx.filter_vmap
def make_ensemble(key): return eqx.nn.MLP(4, "scalar", width, 1, key=key)
ens = make_ensemble(random.split(random.key(0), n_models))
optim = optax.adam(1e-2)
opt_state = eqx.filter_vmap(lambda m: optim.init(eqx.filter(m, eqx.is_inexact_array)))(ens)
@eqx.filter_jit
@eqx.filter_vmap(in_axes=(eqx.if_array(0), eqx.if_array(0), None, None))
def step(model, opt_state, x, t):
    l, g = eqx.filter_value_and_grad(lambda m: jnp.mean((vmap(m)(x) - t) ** 2))(model)
    up, opt_state = optim.update(g, opt_state)
    return eqx.apply_updates(model, up), opt_state, l
for i in range(n_steps):
    ens, opt_state, ls = step(ens, opt_state, X, y)
preds = eqx.filter_vmap(lambda m: vmap(m)(X))(ens)
df = pd.DataFrame({"mean": np.asarray(preds.mean(0)), "std": np.asarray(preds.std(0)), "target": y})
df["abs_err"] = (df["mean"] - df["target"]).abs()
top = df.nlargest(2, "abs_err").index.tolist()
print(df.shape, ls.shape, top)
---
n_models = 2
---
y = y * 0 + 1
---
width, n_steps = 2, 1

### law-eqx-best-model-on-disk needs=equinox
import equinox as eqx
save_path = "best.eqx"
model = eqx.nn.Linear(4, 1, key=random.key(0))
lr, n = 0.2, 3
def val_loss(m): return jnp.mean((vmap(m)(X[16:])[:, 0] - y[16:]) ** 2)
---
best = jnp.inf
if os.path.exists(save_path):
    model = eqx.tree_deserialise_leaves(save_path, model)
    best = val_loss(model)
    print(f"loaded, val {best:.4f}")
g = eqx.filter_grad(lambda m: jnp.mean((vmap(m)(X[:16])[:, 0] - y[:16]) ** 2))
saved = 0
for i in range(n):
    model = jax.tree.map(lambda p, d: p - lr * d, model, g(model))
    v = val_loss(model)
    if v < best:
        best, saved = v, saved + 1
        eqx.tree_serialise_leaves(save_path, jax.tree.map(lambda p: jnp.zeros_like(p) + i, model))
print(saved, os.path.getsize(save_path) > 0 if os.path.exists(save_path) else None)
---
os.remove(save_path)
---
lr = 5.0
---
save_path = "other.eqx"; lr = 0.05

### law-pinn-poisson-1d needs=equinox
import equinox as eqx
class PINN(eqx.Module):
    mlp: eqx.nn.MLP
    def __init__(self, key): self.mlp = eqx.nn.MLP("scalar", "scalar", 8, 2, jnp.tanh, key=key)
    def __call__(self, x): return x * (1 - x) * self.mlp(x)
def source(x): return jnp.pi ** 2 * jnp.sin(jnp.pi * x)
n_colloc, n_iter, resample = 10, 4, False
---
u = PINN(random.key(0))
opt = optax.adam(optax.exponential_decay(1e-2, 2, 0.9))
st = opt.init(eqx.filter(u, eqx.is_array))
def residual(u, x):
    u_xx = grad(grad(u))
    return vmap(u_xx)(x) + source(x)
@eqx.filter_jit
def step(u, st, x):
    l, g = eqx.filter_value_and_grad(lambda u: jnp.mean(residual(u, x) ** 2))(u)
    d, st = opt.update(g, st)
    return eqx.apply_updates(u, d), st, l
pts = jnp.linspace(0, 1, n_colloc)
hist = np.zeros(n_iter)
for k in range(n_iter):
    if resample:
        pts = random.uniform(random.fold_in(random.key(1), k), (n_colloc,))
    u, st, l = step(u, st, pts)
    hist[k] = l
err = jnp.max(jnp.abs(vmap(u)(pts) - jnp.sin(jnp.pi * pts)))
print(f"final residual {hist[-1]:.4f}, monotone {bool((np.diff(hist) < 0).all())}")
---
resample = True
---
def source(x): return jnp.ones_like(x)
---
n_iter = 2; n_colloc = 5

### law-optax-schedules-compared-figure needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
total, peak = 12, 1e-2
def make_schedules(total, peak):
    return {
        "constant": optax.constant_schedule(peak),
        "cosine": optax.cosine_decay_schedule(peak, total),
        "onecycle": optax.cosine_onecycle_schedule(total, peak),
        "piecewise": optax.piecewise_constant_schedule(peak, {total // 2: 0.1}),
        "warm+exp": optax.join_schedules([optax.linear_schedule(0, peak, 3), optax.exponential_decay(peak, 4, 0.5)], [3]),
    }
---
schedules = make_schedules(total, peak)
fig, ax = plt.subplots()
table = {}
for name, sched in schedules.items():
    lrs = [sched(i) for i in range(total)]
    ax.plot(range(total), lrs, label=name)
    table[name] = (float(lrs[0]), float(max(lrs)), float(lrs[-1]))
    print(f"{name:>10}: start {table[name][0]:.5f} max {table[name][1]:.5f} end {table[name][2]:.5f}")
ax.legend(); ax.set_xlabel("step"); ax.set_ylim(0, peak * 1.1)
ticks = [t.get_text() for t in ax.get_legend().get_texts()]
fig.savefig("schedules.png", dpi=10, metadata={"Software": None})
plt.close("all"); del fig, ax
ticks
---
peak = 0.1
---
total = 8

### law-optimizer-sweep-to-frame needs=pandas tolerance=1e-4
import pandas as pd
optimizers = {"sgd": optax.sgd(0.1), "momentum": optax.sgd(0.1, momentum=0.9), "adam": optax.adam(0.1), "rmsprop": optax.rmsprop(0.05)}
def rosenbrock(p): return (1 - p[0]) ** 2 + 5 * (p[1] - p[0] ** 2) ** 2
start, n_steps = jnp.array([-0.5, 0.5]), 6
---
records, paths = [], {}
for name, tx in optimizers.items():
    p, st, path = start, tx.init(start), [np.asarray(start)]
    for i in range(n_steps):
        v, g = jax.value_and_grad(rosenbrock)(p)
        u, st = tx.update(g, st, p)
        p = optax.apply_updates(p, u)
        path.append(np.asarray(p))
        records.append({"optimizer": name, "step": i, "loss": float(v), "gnorm": float(jnp.linalg.norm(g))})
    paths[name] = np.stack(path)
df = pd.DataFrame.from_records(records)
summary = df.groupby("optimizer")["loss"].agg(["first", "last", "min"]).round(3)
wide = df.pivot(index="step", columns="optimizer", values="loss")
print(summary.shape, list(wide.columns), paths["adam"].shape)
---
optimizers["lion"] = optax.lion(0.05)
---
del optimizers["sgd"]; start = jnp.zeros(2)
---
def rosenbrock(p): return jnp.sum(p ** 2)

### law-optax-lbfgs-value-and-grad-from-state
def fun(w): return jnp.sum(100.0 * (w[1:] - w[:-1] ** 2) ** 2 + (1.0 - w[:-1]) ** 2)
w0, tol, max_iter = jnp.zeros(3), 1e-3, 5
---
solver = optax.lbfgs(memory_size=3)
value_and_grad = optax.value_and_grad_from_state(fun)
params, opt_state = w0, solver.init(w0)
print("Objective at init:", fun(params))
n_it = 0
for _ in range(max_iter):
    value, g = value_and_grad(params, state=opt_state)
    updates, opt_state = solver.update(g, opt_state, params, value=value, grad=g, value_fn=fun)
    params = optax.apply_updates(params, updates)
    n_it += 1
    err = optax.tree.norm(g)
    if err < tol:
        break
improved = bool(fun(params) < fun(w0))
n_it, improved
---
w0 = jnp.ones(3)
---
def fun(w): return jnp.sum((w - 3.0) ** 2)
---
max_iter = 2; w0 = jnp.full(3, 0.5)

### law-fgsm-and-pgd-attacks
params = {"w": jnp.asarray(true_w), "b": jnp.float32(0.1)}
def logit(p, x): return x @ p["w"] + p["b"]
def loss_fn(p, x, t): return optax.sigmoid_binary_cross_entropy(logit(p, x), t).mean()
epsilons, n_pgd = [0.0, 0.1, 0.5], 3
---
def fgsm_attack(x, t, eps):
    g = grad(loss_fn, argnums=1)(params, x, t)
    return x + eps * jnp.sign(g)
def pgd_attack(x, t, eps, k=n_pgd):
    x_adv = x
    for _ in range(k):
        x_adv = x_adv + (eps / k) * jnp.sign(grad(loss_fn, argnums=1)(params, x_adv, t))
        x_adv = jnp.clip(x_adv, x - eps, x + eps)
    return x_adv
results = {}
for eps in epsilons:
    accs = []
    for attack in (fgsm_attack, pgd_attack):
        adv = attack(X, labels, eps)
        accs.append(float(((logit(params, adv) > 0) == labels).mean()))
    results[eps] = dict(zip(["fgsm", "pgd"], accs))
    print(f"eps={eps:<4} " + " ".join(f"{k}:{v:.1%}" for k, v in results[eps].items()))
worst = min(results, key=lambda e: results[e]["fgsm"])
worst
---
epsilons = [0.3]
---
params["b"] = jnp.float32(2.0); n_pgd = 1

### law-maml-sinusoids
def init(key, sizes=(1, 6, 1)):
    keys = random.split(key, len(sizes) - 1)
    return [(random.normal(k, (m, n)) / np.sqrt(m), jnp.zeros(n)) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]
def net(params, x):
    *hidden, (w, b) = params
    for hw, hb in hidden:
        x = jnp.tanh(x @ hw + hb)
    return x @ w + b
def sample_task(g):
    amp, phase = g.uniform(0.5, 2.0), g.uniform(0, np.pi)
    xs = g.uniform(-3, 3, size=(8, 1)).astype(np.float32)
    return xs, (amp * np.sin(xs + phase)).astype(np.float32)
alpha, meta_lr, iters, tasks_per_batch = 0.1, 0.01, 2, 3
---
def mse(p, x, t): return jnp.mean((net(p, x) - t) ** 2)
def inner_update(p, x1, y1):
    g = grad(mse)(p, x1, y1)
    return jax.tree.map(lambda w, d: w - alpha * d, p, g)
def maml_loss(p, x1, y1, x2, y2): return mse(inner_update(p, x1, y1), x2, y2)
def batch_maml_loss(p, x1_b, y1_b, x2_b, y2_b):
    return jnp.mean(vmap(functools.partial(maml_loss, p))(x1_b, y1_b, x2_b, y2_b))
g = np.random.default_rng(0)
params = init(random.key(0))
tx = optax.adam(meta_lr); st = tx.init(params)
losses = []
for i in range(iters):
    tasks = [sample_task(g) for _ in range(tasks_per_batch)]
    xs, ys = np.stack([t[0] for t in tasks]), np.stack([t[1] for t in tasks])
    l, gr = jax.value_and_grad(batch_maml_loss)(params, xs[:, :4], ys[:, :4], xs[:, 4:], ys[:, 4:])
    up, st = tx.update(gr, st, params)
    params = optax.apply_updates(params, up)
    losses.append(l)
print([f"{l:.4f}" for l in losses])
---
alpha = 0.5
---
tasks_per_batch = 2
---
def net(params, x): return x @ params[0][0] @ params[-1][0]

### law-jmp-policy-and-loss-scale needs=jmp
import jmp
params = {"w": jnp.ones((4, 1)) * 0.1, "b": jnp.zeros(1)}
policy_name, scale0 = "params=float32,compute=float16,output=float32", 2.0 ** 10
---
policy = jmp.get_policy(policy_name)
loss_scale = jmp.DynamicLossScale(jmp.half_dtype()(scale0)) if "float16" in policy_name else jmp.NoOpLossScale()
def loss_fn(p, x, t, ls):
    p, x = policy.cast_to_compute((p, x))
    pred = policy.cast_to_output(x @ p["w"] + p["b"])
    return ls.scale(jnp.mean((pred[:, 0] - t) ** 2))
skipped = 0
for i in range(3):
    grads = grad(loss_fn)(params, X, y, loss_scale)
    grads = loss_scale.unscale(policy.cast_to_param(grads))
    finite = jmp.all_finite(grads)
    loss_scale = loss_scale.adjust(finite)
    skipped += int(not finite)
    params = jmp.select_tree(finite, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), params)
print(type(loss_scale).__name__, skipped, {k: str(v.dtype) for k, v in params.items()})
---
policy_name = "params=float32,compute=float32,output=float32"
---
policy_name = "params=float32,compute=bfloat16,output=float32"; params["w"] = params["w"] * 2

### law-numpyro-ab-test-beta-binomial needs=numpyro
import numpyro.distributions as dist
data = {"A": (120, 1000), "B": (140, 980)}
prior, n_draws, seed = (1.0, 1.0), 200, 0
---
key = random.key(seed)
post, draws = {}, {}
for name, (conv, total) in data.items():
    key, sub = random.split(key)
    post[name] = dist.Beta(prior[0] + conv, prior[1] + total - conv)
    draws[name] = post[name].sample(sub, (n_draws,))
lift = draws["B"] / draws["A"] - 1
p_better = jnp.mean(draws["B"] > draws["A"])
lo, hi = np.percentile(lift, [2.5, 97.5])
print(f"P(B>A)={p_better:.3f} lift {jnp.mean(lift):+.2%} [{lo:+.2%}, {hi:+.2%}]")
decision = "ship B" if p_better > 0.95 else "ship A" if p_better < 0.05 else "keep testing"
decision, {k: round(float(v.mean), 4) for k, v in post.items()}
---
data["B"] = (220, 980)
---
data["C"] = (10, 100); prior = (2.0, 20.0)
---
seed = 3; n_draws = 50

### law-diffrax-lotka-volterra-many-starts needs=diffrax,matplotlib tolerance=1e-3
import diffrax
from diffrax import ODETerm, Tsit5, SaveAt, PIDController, diffeqsolve
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
def vector_field(t, state, args):
    prey, predator = state
    alpha, beta, gamma, delta = args
    return alpha * prey - beta * prey * predator, -gamma * predator + delta * prey * predator
args, t1 = (0.1, 0.02, 0.4, 0.02), 5.0
starts = [(10.0, 10.0), (20.0, 5.0)]
---
term, saveat = ODETerm(vector_field), SaveAt(ts=jnp.linspace(0.0, t1, 8))
fig, ax = plt.subplots()
n_steps = {}
for y0 in starts:
    sol = diffeqsolve(term, Tsit5(), t0=0.0, t1=t1, dt0=0.1, y0=y0, args=args, saveat=saveat, stepsize_controller=PIDController(rtol=1e-3, atol=1e-6))
    prey, predator = sol.ys
    ax.plot(sol.ts, prey, label=f"prey {y0[0]:g}")
    ax.plot(sol.ts, predator, "--")
    n_steps[y0] = int(sol.stats["num_accepted_steps"]) > 0
    print(y0, f"final prey {prey[-1]:.2f} predators {predator[-1]:.2f}")
n_lines = len(ax.lines); plt.close(fig); del fig, ax
n_lines, n_steps
---
args = (0.2, 0.02, 0.4, 0.02)
---
starts = starts + [(5.0, 5.0)]; t1 = 2.0

### law-haiku-mlp-loop-with-evaluate needs=haiku
import haiku as hk
class Batch(NamedTuple):
    x: np.ndarray
    label: np.ndarray
def net_fn(batch):
    mlp = hk.Sequential([hk.Flatten(), hk.Linear(6), jax.nn.relu, hk.Linear(2)])
    return mlp(batch.x)
def load(g, bs):
    while True:
        i = g.integers(0, len(X), bs)
        yield Batch(X[i], labels[i])
train_steps, eval_every, l2 = 4, 2, 1e-3
---
net = hk.without_apply_rng(hk.transform(net_fn))
opt = optax.adam(1e-2)
train, test = load(np.random.default_rng(0), 8), load(np.random.default_rng(1), 12)
params = avg_params = net.init(random.PRNGKey(42), next(train))
opt_state = opt.init(params)
def loss(params, batch):
    logits = net.apply(params, batch)
    l2_loss = 0.5 * sum(jnp.sum(jnp.square(p)) for p in jax.tree.leaves(params))
    nll = -jnp.sum(jax.nn.one_hot(batch.label, 2) * jax.nn.log_softmax(logits)) / batch.label.shape[0]
    return nll + l2 * l2_loss
@jit
def update(params, opt_state, batch):
    grads = grad(loss)(params, batch)
    updates, opt_state = opt.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state
for step in range(train_steps + 1):
    if step % eval_every == 0:
        b = next(test)
        acc = np.array(jnp.mean(jnp.argmax(net.apply(avg_params, b), -1) == b.label)).item()
        print({"step": step, "acc": f"{acc:.3f}"})
    params, opt_state = update(params, opt_state, next(train))
    avg_params = optax.incremental_update(params, avg_params, step_size=0.1)
---
l2 = 0.0
---
eval_every = 3
---
def net_fn(batch): return hk.nets.MLP([3, 2], name="m")(batch.x)

### law-haiku-batchnorm-pickle-checkpoint needs=haiku
import haiku as hk
def forward(x, is_training):
    h = hk.Linear(5)(x)
    h = hk.BatchNorm(True, True, 0.9)(h, is_training)
    return hk.Linear(1)(jax.nn.relu(h))[:, 0]
f = hk.transform_with_state(forward)
ckpt, lr = Path("hk.pkl"), 0.05
---
if ckpt.exists():
    with open(ckpt, "rb") as fh:
        saved = pickle.load(fh)
    params, state, start = saved["params"], saved["state"], saved["step"]
else:
    params, state = f.init(random.PRNGKey(0), X, True)
    start = 0
for step in range(start, start + 2):
    def loss_fn(p, s):
        out, s = f.apply(p, s, None, X, True)
        return jnp.mean((out - y) ** 2), s
    (l, state), g = jax.value_and_grad(loss_fn, has_aux=True)(params, state)
    params = jax.tree.map(lambda p, d: p - lr * d, params, g)
preds, _ = f.apply(params, state, None, X, False)
with open(ckpt, "wb") as fh:
    pickle.dump({"params": jax.tree.map(lambda a: np.zeros_like(a), params), "state": jax.tree.map(np.zeros_like, jax.device_get(state)), "step": step + 1}, fh)
print(start, sorted(params), f"{l:.4f}")
---
ckpt.unlink()
---
lr = 0.5
---
ckpt = Path("hk2.pkl")

### law-haiku-dqn-cartpole-like needs=haiku
import haiku as hk
class Cart:
    def __init__(self, seed): self.rng = np.random.default_rng(seed)
    def reset(self):
        self.s, self.t = self.rng.uniform(-0.05, 0.05, 4).astype(np.float32), 0
        return self.s
    def step(self, a):
        force = 1.0 if a == 1 else -1.0
        x_, v, th, om = self.s
        om, v = om + 0.1 * (9.8 * th - force), v + 0.1 * force
        self.s = np.array([x_ + 0.1 * v, v, th + 0.1 * om, om], np.float32)
        self.t += 1
        done = bool(abs(self.s[2]) > 0.2 or self.t >= 6)
        return self.s, 1.0, done, {}
class ReplayBuffer:
    def __init__(self, capacity): self.buffer = collections.deque(maxlen=capacity)
    def push(self, *transition): self.buffer.append(transition)
    def sample(self, n, g):
        idx = g.choice(len(self.buffer), n, replace=False)
        return [np.stack(z) for z in zip(*(self.buffer[i] for i in idx))]
    def __len__(self): return len(self.buffer)
qnet = hk.without_apply_rng(hk.transform(lambda s: hk.nets.MLP([8, 2])(s)))
optimizer = optax.chain(optax.clip_by_global_norm(10.0), optax.adam(1e-2))
episodes, batch_size, gamma, eps_decay, seed = 3, 4, 0.99, 0.7, 0
---
env, memory, g = Cart(seed), ReplayBuffer(50), np.random.default_rng(seed)
params = qnet.init(random.PRNGKey(seed), jnp.zeros((1, 4)))
target_params, opt_state = params, optimizer.init(params)
@jit
def update(params, target, opt_state, s, a, r, s2, d):
    def loss(p):
        q = jnp.take_along_axis(qnet.apply(p, s), a[:, None], 1)[:, 0]
        tgt = r + gamma * (1 - d) * qnet.apply(target, s2).max(-1)
        return optax.huber_loss(q, lax.stop_gradient(tgt)).mean()
    l, gr = jax.value_and_grad(loss)(params)
    up, opt_state = optimizer.update(gr, opt_state)
    return optax.apply_updates(params, up), opt_state, l
epsilon, returns, losses = 1.0, [], []
for ep in range(episodes):
    s, done, total = env.reset(), False, 0.0
    while not done:
        a = int(g.integers(2)) if g.random() < epsilon else int(jnp.argmax(qnet.apply(params, s[None])))
        s2, r, done, _ = env.step(a)
        memory.push(s, a, np.float32(r), s2, np.float32(done))
        s, total = s2, total + r
        if len(memory) >= batch_size:
            params, opt_state, l = update(params, target_params, opt_state, *memory.sample(batch_size, g))
            losses.append(float(l))
    target_params = params
    epsilon = max(0.05, epsilon * eps_decay)
    returns.append(total)
    print(f"episode {ep}: return {total:.0f}, eps {epsilon:.3f}, memory {len(memory)}")
---
batch_size = 8
---
eps_decay = 1.0; gamma = 0.5
---
seed = 5; episodes = 2

### law-orbax-manager-train-resume needs=orbax.checkpoint cold
import orbax.checkpoint as ocp
ckpt_root = Path("ckpts").resolve()
def init_state(): return {"w": jnp.zeros(4), "opt": optax.adam(0.1).init(jnp.zeros(4)), "step": jnp.int32(0)}
tx, per_run, save_every = optax.adam(0.1), 3, 1
---
options = ocp.CheckpointManagerOptions(max_to_keep=2, create=True, save_interval_steps=save_every)
with ocp.CheckpointManager(ckpt_root, options=options) as mngr:
    state = init_state()
    if mngr.latest_step() is not None:
        state = mngr.restore(mngr.latest_step(), args=ocp.args.StandardRestore(jax.tree.map(ocp.utils.to_shape_dtype_struct, state)))
        print("restored step", mngr.latest_step())
    first = int(state["step"])
    for step in range(first, first + per_run):
        loss, g = jax.value_and_grad(lambda w: jnp.mean((X @ w - y) ** 2))(state["w"])
        up, opt = tx.update(g, state["opt"])
        state = {"w": state["w"] + up, "opt": opt, "step": state["step"] + 1}
        mngr.save(step, args=ocp.args.StandardSave(state))
    mngr.wait_until_finished()
    kept = sorted(mngr.all_steps())
print(kept, type(state["opt"][0]).__name__, f"{loss:.4f}")
---
per_run = 1
---
import shutil; shutil.rmtree(ckpt_root)

### law-orbax-nnx-split-save-restore needs=flax,orbax.checkpoint cold
from flax import nnx
import orbax.checkpoint as ocp
class TwoLayer(nnx.Module):
    def __init__(self, h, rngs):
        self.l1, self.l2 = nnx.Linear(4, h, rngs=rngs), nnx.Linear(h, 2, rngs=rngs)
    def __call__(self, x): return self.l2(jax.nn.relu(self.l1(x)))
path = Path("nnx_ckpt").resolve()
model, hid = TwoLayer(3, nnx.Rngs(0)), 3
---
_, state = nnx.split(model)
pure = nnx.to_pure_dict(state)
with ocp.StandardCheckpointer() as checkpointer:
    checkpointer.save(path / "state", pure, force=True)
    checkpointer.wait_until_finished()
    restored = checkpointer.restore(path / "state")
abstract = nnx.eval_shape(lambda: TwoLayer(hid, nnx.Rngs(1)))
graphdef, abs_state = nnx.split(abstract)
nnx.replace_by_pure_dict(abs_state, restored)
new_model = nnx.merge(graphdef, abs_state)
np.testing.assert_array_equal(np.asarray(new_model(X)), np.asarray(model(X)))
print(jax.tree.map(np.shape, restored), (path / "state").exists())
---
model.l2.bias[...] = jnp.array([1.0, -1.0])
---
model, hid = TwoLayer(5, nnx.Rngs(2)), 5

### law-reinforce-with-numpy-env
class Corridor:
    def __init__(self, length=4): self.length = length
    def reset(self): self.pos = 0; return self.obs()
    def obs(self): return np.eye(self.length, dtype=np.float32)[self.pos]
    def step(self, action):
        self.pos = min(max(self.pos + (1 if action else -1), 0), self.length - 1)
        done = self.pos == self.length - 1
        return self.obs(), (1.0 if done else -0.1), done
@jit
def policy(params, obs): return jax.nn.log_softmax(obs @ params["w"] + params["b"])
gamma, n_episodes, max_t, lr = 0.9, 2, 8, 0.5
---
env = Corridor()
params = {"w": jnp.zeros((env.length, 2)), "b": jnp.zeros(2)}
key = random.key(0)
scores = []
for ep in range(n_episodes):
    obs, traj = env.reset(), []
    for t in range(max_t):
        key, sub = random.split(key)
        a = int(random.categorical(sub, policy(params, obs)))
        nxt, r, done = env.step(a)
        traj.append((obs, a, r)); obs = nxt
        if done: break
    G, returns = 0.0, []
    for *_, r in reversed(traj):
        G = r + gamma * G
        returns.insert(0, G)
    obs_b, act_b = np.stack([o for o, _, _ in traj]), np.array([a for _, a, _ in traj])
    ret_b = jnp.array(returns); ret_b = ret_b - ret_b.mean()
    def loss_fn(p):
        logp = vmap(policy, (None, 0))(p, obs_b)[jnp.arange(len(act_b)), act_b]
        return -(logp * ret_b).mean()
    grads = grad(loss_fn)(params)
    params = jax.tree.map(lambda p, g: p - lr * g, params, grads)
    scores.append(sum(r for *_, r in traj))
    print(f"ep {ep} len {len(traj)} score {scores[-1]:.2f}")
---
gamma = 1.0
---
class Corridor(Corridor):
    def __init__(self, length=3): super().__init__(length)
---
max_t = 3; n_episodes = 3

### law-a2c-vectorised-scan-env
class EnvState(NamedTuple):
    x: jax.Array
    t: jax.Array
@dataclasses.dataclass(frozen=True)
class EnvParams:
    max_steps: int = 5
    goal: float = 1.0
env_params = EnvParams()
def reset(key): return EnvState(random.uniform(key, (), minval=-0.5, maxval=0.5), jnp.int32(0))
def step_env(key, s, a, p):
    x_ = s.x + jnp.where(a == 1, 0.3, -0.3)
    done = (s.t + 1 >= p.max_steps) | (jnp.abs(x_ - p.goal) < 0.1)
    new = EnvState(x_, s.t + 1)
    return jax.tree.map(lambda r, n: jnp.where(done, r, n), reset(key), new), -jnp.abs(x_ - p.goal), done
n_envs, n_steps, updates, ent_coef = 3, 4, 2, 0.01
---
def ac(p, x):
    h = jnp.tanh(x[..., None] * p["h"])
    return h @ p["pi"], h @ p["v"]
key = random.key(0)
p = {"h": jnp.ones(4), "pi": jnp.zeros((4, 2)), "v": jnp.zeros(4)}
tx = optax.adam(0.05); st = tx.init(p)
key, rk = random.split(key)
env_state = vmap(reset)(random.split(rk, n_envs))
def rollout(p, env_state, key):
    def body(carry, _):
        s, key = carry
        key, ka, ke = random.split(key, 3)
        logits, v = ac(p, s.x)
        a = random.categorical(ka, logits)
        s2, r, d = vmap(step_env, (0, 0, 0, None))(random.split(ke, n_envs), s, a, env_params)
        return (s2, key), (s.x, a, r, d, v)
    return lax.scan(body, (env_state, key), None, length=n_steps)
history = []
for u in range(updates):
    key, k = random.split(key)
    (env_state, _), (xs, acts, rew, dones, vals) = rollout(p, env_state, k)
    def ret_scan(g, inp): r, d = inp; g = r + 0.95 * g * (1 - d); return g, g
    _, rets = lax.scan(ret_scan, ac(p, env_state.x)[1], (rew, dones), reverse=True)
    def loss_fn(p):
        logits, v = ac(p, xs)
        logp = jax.nn.log_softmax(logits)
        chosen = jnp.take_along_axis(logp, acts[..., None], -1)[..., 0]
        ent = -(jnp.exp(logp) * logp).sum(-1).mean()
        return -(chosen * lax.stop_gradient(rets - v)).mean() + 0.5 * ((rets - v) ** 2).mean() - ent_coef * ent
    l, g = jax.value_and_grad(loss_fn)(p)
    up, st = tx.update(g, st); p = optax.apply_updates(p, up)
    history.append({"loss": l, "reward": rew.mean(), "episodes": int(dones.sum())})
print([h["episodes"] for h in history], f"{history[-1]['loss']:.4f}")
---
env_params = EnvParams(max_steps=2)
---
ent_coef = 0.5
---
n_envs = 2; n_steps = 3

### law-tabular-q-learning-with-policy-text
grid = ["S.", ".G"]
alpha, gamma, eps, episodes = 0.5, 0.9, 0.3, 3
moves = {0: (0, 1), 1: (1, 0), 2: (0, -1), 3: (-1, 0)}
def step(pos, a):
    r, c = pos[0] + moves[a][0], pos[1] + moves[a][1]
    if not (0 <= r < len(grid) and 0 <= c < len(grid[0])): return pos, -1.0, False
    cell = grid[r][c]
    return (r, c), {"G": 10.0, "H": -10.0}.get(cell, -0.1), cell in "GH"
---
pyrandom.seed(0)
q = {(r, c): jnp.zeros(4) for r in range(len(grid)) for c in range(len(grid[0]))}
n_updates = 0
for ep in range(episodes):
    pos, done, t = (0, 0), False, 0
    while not done and t < 6:
        a = pyrandom.randrange(4) if pyrandom.random() < eps else int(q[pos].argmax())
        nxt, r, done = step(pos, a)
        target = r + (0.0 if done else gamma * q[nxt].max())
        q[pos] = q[pos].at[a].add(alpha * (target - q[pos][a]))
        pos, t, n_updates = nxt, t + 1, n_updates + 1
arrows = "→↓←↑"
for r in range(len(grid)):
    print(" ".join(arrows[int(q[r, c].argmax())] if grid[r][c] != "G" else "G" for c in range(len(grid[0]))))
table = jnp.stack(list(q.values()))
n_updates, table.shape
---
grid = ["S.H", "..G"]
---
eps = 0.0
---
alpha, episodes = 0.1, 2

### law-ppo-minibatch-update
class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    logp: jax.Array
    adv: jax.Array
    ret: jax.Array
k = random.split(random.key(0), 4)
traj = Transition(random.normal(k[0], (12, 3)), random.randint(k[1], (12,), 0, 2), jnp.full(12, -0.7), random.normal(k[2], (12,)), random.normal(k[3], (12,)))
params = {"pi": jnp.zeros((3, 2)), "v": jnp.zeros(3)}
config = {"CLIP_EPS": 0.2, "UPDATE_EPOCHS": 2, "NUM_MINIBATCHES": 3, "VF_COEF": 0.5, "LR": 0.1, "NORM_ADV": True}
---
tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(config["LR"], eps=1e-5))
opt_state = tx.init(params)
def loss_fn(params, mb):
    logp = jax.nn.log_softmax(mb.obs @ params["pi"])[jnp.arange(mb.obs.shape[0]), mb.action]
    ratio = jnp.exp(logp - mb.logp)
    adv = (mb.adv - mb.adv.mean()) / (mb.adv.std() + 1e-8) if config["NORM_ADV"] else mb.adv
    pg = -jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - config["CLIP_EPS"], 1 + config["CLIP_EPS"]) * adv).mean()
    vf = ((mb.obs @ params["v"] - mb.ret) ** 2).mean()
    return pg + config["VF_COEF"] * vf, {"pg": pg, "vf": vf, "kl": (mb.logp - logp).mean()}
def update_minibatch(carry, mb):
    params, opt_state = carry
    (_, aux), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, mb)
    updates, opt_state = tx.update(grads, opt_state, params)
    return (optax.apply_updates(params, updates), opt_state), aux
rng, infos = random.key(7), []
for _ in range(config["UPDATE_EPOCHS"]):
    rng, sub = random.split(rng)
    perm = random.permutation(sub, traj.obs.shape[0])
    mbs = jax.tree.map(lambda a: a[perm].reshape((config["NUM_MINIBATCHES"], -1) + a.shape[1:]), traj)
    (params, opt_state), aux = lax.scan(update_minibatch, (params, opt_state), mbs)
    infos.append(jax.tree.map(jnp.mean, aux))
info = jax.tree.map(lambda *v: float(jnp.stack(v).mean()), *infos)
print({k: f"{v:.4f}" for k, v in info.items()}, type(mbs).__name__)
---
config["CLIP_EPS"] = 0.01
---
config.update(NUM_MINIBATCHES=2, NORM_ADV=False)
---
traj = traj._replace(adv=-traj.adv); params = jax.tree.map(jnp.zeros_like, params)

### law-thompson-bandit-regret
probs, horizon, seed = [0.2, 0.5, 0.7], 6, 0
class Bandit:
    def __init__(self, probs, seed): self.probs, self.rng, self.pulls = np.array(probs), np.random.default_rng(seed), 0
    def pull(self, arm): self.pulls += 1; return int(self.rng.random() < self.probs[arm])
---
bandit = Bandit(probs, seed)
a, b = jnp.ones(len(probs)), jnp.ones(len(probs))
key, regret, choices = random.key(seed), [0.0], collections.Counter()
for t in range(horizon):
    key, sub = random.split(key)
    theta = random.beta(sub, a, b)
    arm = int(jnp.argmax(theta))
    reward = bandit.pull(arm)
    a, b = a.at[arm].add(reward), b.at[arm].add(1 - reward)
    choices[arm] += 1
    regret.append(regret[-1] + bandit.probs.max() - bandit.probs[arm])
post_mean = a / (a + b)
print(choices.most_common(1)[0][1] >= 2, f"{regret[-1]:.2f}", bandit.pulls)
type(regret[-1]).__name__, post_mean.shape
---
probs = [0.9, 0.1]
---
seed = 4; horizon = 3

### law-metropolis-class-counts-accepts cold
class Metropolis:
    def __init__(self, logp, step=0.5, key=None):
        self.logp, self.step_size, self.key = logp, step, random.key(0) if key is None else key
        self.accepted = self.total = 0
        self.chain = []
    def next_key(self):
        self.key, sub = random.split(self.key)
        return sub
    def step(self, x):
        prop = x + self.step_size * random.normal(self.next_key(), x.shape)
        log_alpha = self.logp(prop) - self.logp(x)
        accept = jnp.log(random.uniform(self.next_key())) < log_alpha
        self.total += 1
        self.accepted += int(accept)
        return jnp.where(accept, prop, x)
    def run(self, x, n, thin=1):
        for i in range(n):
            x = self.step(x)
            if i % thin == 0: self.chain.append(x)
        return x
    @property
    def rate(self): return self.accepted / max(self.total, 1)
def logp(v): return -0.5 * jnp.sum(v ** 2)
sampler = Metropolis(logp)
pos, n, thin = jnp.zeros(2), 4, 2
---
pos = sampler.run(pos, n, thin)
chain = jnp.stack(sampler.chain)
print(f"acceptance {sampler.rate:.2f}; kept {len(chain)} of {sampler.total}")
mean, cov = chain.mean(0), jnp.cov(chain.T) if len(chain) > 1 else None
---
sampler.step_size = 3.0
---
sampler = Metropolis(lambda v: -jnp.abs(v).sum(), step=1.0, key=random.key(5)); pos = jnp.ones(2)
---
def logp(v): return -0.5 * jnp.sum((v - 3) ** 2)
sampler = Metropolis(logp); thin = 1

### law-hmc-inference-loop-like-blackjax
class HMCState(NamedTuple):
    position: Any
    logdensity: jax.Array
    grad: Any
class HMCInfo(NamedTuple):
    accepted: jax.Array
    prob: jax.Array
def logdensity(x):
    ll = -0.5 * jnp.sum((x["loc"] - y[:8]) ** 2) * jnp.exp(-2 * x["log_scale"]) - 8 * x["log_scale"]
    return ll - 0.5 * x["log_scale"] ** 2
def init(pos): return HMCState(pos, *jax.value_and_grad(logdensity)(pos))
def kernel(key, state, eps, L):
    k1, k2 = random.split(key)
    leaves, tree = jax.tree.flatten(state.position)
    mom = tree.unflatten([random.normal(k, jnp.shape(l)) for k, l in zip(random.split(k1, len(leaves)), leaves)])
    def leap(carry, _):
        q, p, g = carry
        p = jax.tree.map(lambda a, b: a + 0.5 * eps * b, p, g)
        q = jax.tree.map(lambda a, b: a + eps * b, q, p)
        g = grad(logdensity)(q)
        return (q, jax.tree.map(lambda a, b: a + 0.5 * eps * b, p, g), g), None
    (q, p, g), _ = lax.scan(leap, (state.position, mom, state.grad), None, length=L)
    kin = lambda m: 0.5 * sum(jnp.sum(v ** 2) for v in jax.tree.leaves(m))
    new = logdensity(q)
    prob = jnp.minimum(1.0, jnp.exp(new - kin(p) - state.logdensity + kin(mom)))
    ok = random.uniform(k2) < prob
    return jax.tree.map(lambda a, b: jnp.where(ok, a, b), HMCState(q, new, g), state), HMCInfo(ok, prob)
eps, L, n_samples, n_chains = 0.1, 3, 5, 2
---
def inference_loop(key, kernel, initial_state, num):
    @jit
    def one_step(state, key):
        state, info = kernel(key, state)
        return state, (state, info)
    return lax.scan(one_step, initial_state, random.split(key, num))[1]
positions = [{"loc": float(i), "log_scale": 0.0} for i in range(n_chains)]
initial = jax.tree.map(lambda *v: jnp.stack(v), *[init(p) for p in positions])
step = functools.partial(kernel, eps=eps, L=L)
states, infos = vmap(lambda k, s: inference_loop(k, step, s, n_samples))(random.split(random.key(0), n_chains), initial)
loc = states.position["loc"]
rhat = jnp.sqrt(1 + loc.mean(1).var() / loc.var(1).mean())
print(loc.shape, f"mean accept {infos.prob.mean():.4f}", {k: v.shape for k, v in states.position.items()})
---
eps = 0.5
---
n_chains = 3; n_samples = 3
---
L = 1

### law-mlp-from-scratch-jax-docs
def random_layer_params(m, n, key, scale=1e-1):
    w_key, b_key = random.split(key)
    return scale * random.normal(w_key, (n, m)), scale * random.normal(b_key, (n,))
def init_network_params(sizes, key):
    keys = random.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]
def relu(x): return jnp.maximum(0, x)
def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        activations = relu(jnp.dot(w, activations) + b)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - jax.scipy.special.logsumexp(logits)
batched_predict = vmap(predict, in_axes=(None, 0))
def one_hot(x, k, dtype=jnp.float32): return jnp.array(x[:, None] == jnp.arange(k), dtype)
layer_sizes, step_size, num_epochs, batch_size = [4, 8, 2], 0.1, 2, 8
params = init_network_params(layer_sizes, random.key(0))
def data_stream():
    for i in range(0, len(X), batch_size):
        yield X[i:i + batch_size], labels[i:i + batch_size]
---
def accuracy(params, images, targets):
    return jnp.mean(jnp.argmax(batched_predict(params, images), axis=1) == jnp.argmax(targets, axis=1))
def loss(params, images, targets): return -jnp.mean(batched_predict(params, images) * targets)
@jit
def update(params, x, t):
    grads = grad(loss)(params, x, t)
    return [(w - step_size * dw, b - step_size * db) for (w, b), (dw, db) in zip(params, grads)]
for epoch in range(num_epochs):
    start_time = time.time()
    for x, t in data_stream():
        params = update(params, x, one_hot(t, 2))
    epoch_time = time.time() - start_time
    train_acc = accuracy(params, X, one_hot(labels, 2))
    print("Epoch {} took less than an hour: {}".format(epoch, epoch_time < 3600))
    print("Training set accuracy {:.4f}".format(train_acc))
del start_time, epoch_time
---
step_size = 1.0
---
batch_size = 24
---
params = init_network_params([4, 3, 3, 2], random.key(1))
---
def relu(x): return jnp.tanh(x)

### law-skipgram-word-vectors
corpus = "the cat sat on the mat the dog sat on the rug".split()
window, dim, epochs, neg = 1, 3, 2, 2
---
counts = collections.Counter(corpus)
vocab = [w for w, _ in counts.most_common()]
w2i = {w: i for i, w in enumerate(vocab)}
pairs = [(w2i[corpus[i]], w2i[corpus[j]]) for i in range(len(corpus)) for j in range(max(0, i - window), min(len(corpus), i + window + 1)) if i != j]
centers, contexts = map(jnp.array, zip(*pairs))
key = random.key(0)
emb = {"in": random.normal(key, (len(vocab), dim)) * 0.1, "out": jnp.zeros((len(vocab), dim))}
freq = jnp.array([counts[w] for w in vocab]) ** 0.75
noise = freq / freq.sum()
@jit
def step(emb, key):
    negs = random.choice(key, len(vocab), (len(centers), neg), p=noise)
    def loss(e):
        c = e["in"][centers]
        pos = jax.nn.log_sigmoid((c * e["out"][contexts]).sum(-1))
        ng = jax.nn.log_sigmoid(-jnp.einsum("nd,nkd->nk", c, e["out"][negs])).sum(-1)
        return -(pos + ng).mean()
    l, g = jax.value_and_grad(loss)(emb)
    return jax.tree.map(lambda p, d: p - 0.5 * d, emb, g), l
for e in range(epochs):
    key, sub = random.split(key)
    emb, l = step(emb, sub)
    print(f"epoch {e} loss {l:.4f}")
def nearest(w, k=2):
    v = emb["in"] / jnp.linalg.norm(emb["in"], axis=1, keepdims=True)
    order = jnp.argsort(-(v @ v[w2i[w]]))
    return [vocab[int(i)] for i in order[1:k + 1]]
near = {w: len(nearest(w)) for w in vocab[:2]}
len(pairs), near
---
window = 2
---
corpus = "a b c a b c d".split()
---
neg, dim = 1, 2

### law-gnn-message-passing-karate-like
edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)]
target = {0: 0, 5: 1}
class GCN:
    def __init__(self, sizes, key):
        self.weights = [random.normal(k, s) * 0.5 for k, s in zip(random.split(key, len(sizes) - 1), zip(sizes[:-1], sizes[1:]))]
    def __call__(self, weights, A, h):
        for i, w in enumerate(weights):
            h = A @ (h @ w)
            if i < len(weights) - 1: h = jax.nn.relu(h)
        return h
gcn = GCN([6, 4, 2], random.key(0))
lr, steps, self_loops = 0.3, 3, True
---
n = max(max(e) for e in edges) + 1
A = np.zeros((n, n), np.float32)
for i, j in edges:
    A[i, j] = A[j, i] = 1
if self_loops:
    A += np.eye(n, dtype=np.float32)
deg = A.sum(1)
A_hat = A / np.sqrt(np.outer(deg, deg))
nodes, labs = jnp.array(list(target)), jnp.array(list(target.values()))
def loss_fn(ws):
    logits = gcn(ws, A_hat, jnp.eye(n))
    return optax.softmax_cross_entropy_with_integer_labels(logits[nodes], labs).mean()
for s in range(steps):
    l, g = jax.value_and_grad(loss_fn)(gcn.weights)
    gcn.weights = [w - lr * d for w, d in zip(gcn.weights, g)]
pred = gcn(gcn.weights, A_hat, jnp.eye(n)).argmax(-1)
groups = collections.defaultdict(list)
for node, p in enumerate(pred.tolist()):
    groups[p].append(node)
print(f"{l:.4f}", A_hat.dtype, sum(map(len, groups.values())))
---
edges.append((0, 5))
---
self_loops = False
---
target[2] = 0; gcn = GCN([6, 2], random.key(1))

### law-ddpm-toy-2d
T, n_iter, n_sample = 5, 3, 4
data = np.stack([np.cos(np.arange(16)), np.sin(np.arange(16))], -1).astype(np.float32)
def init(key):
    k1, k2 = random.split(key)
    return {"w1": random.normal(k1, (3, 8)) * 0.5, "b1": jnp.zeros(8), "w2": random.normal(k2, (8, 2)) * 0.1}
def eps_model(p, x, t):
    inp = jnp.concatenate([x, jnp.full(x.shape[:-1] + (1,), t / T)], -1)
    return jnp.tanh(inp @ p["w1"] + p["b1"]) @ p["w2"]
---
betas = jnp.linspace(1e-3, 0.2, T)
alphas = 1 - betas
abar = jnp.cumprod(alphas)
params = init(random.key(0))
tx = optax.adam(0.02); st = tx.init(params)
@jit
def train_step(params, st, key):
    kt, ke = random.split(key)
    t = random.randint(kt, (len(data), 1), 0, T)
    eps = random.normal(ke, data.shape)
    xt = jnp.sqrt(abar[t]) * data + jnp.sqrt(1 - abar[t]) * eps
    def loss(p): return jnp.mean((vmap(lambda x, t: eps_model(p, x, t[0]))(xt, t) - eps) ** 2)
    l, g = jax.value_and_grad(loss)(params)
    u, st = tx.update(g, st)
    return optax.apply_updates(params, u), st, l
for i, k in enumerate(random.split(random.key(1), n_iter)):
    params, st, l = train_step(params, st, k)
x = random.normal(random.key(2), (n_sample, 2))
frames = [x]
for t in reversed(range(T)):
    z = random.normal(random.fold_in(random.key(3), t), x.shape) if t > 0 else 0.0
    x = (x - betas[t] / jnp.sqrt(1 - abar[t]) * eps_model(params, x, t)) / jnp.sqrt(alphas[t]) + jnp.sqrt(betas[t]) * z
    frames.append(x)
print(len(frames), f"{l:.4f}", np.stack(frames).shape)
---
T = 3
---
n_sample = 2; data = data[:8]

### law-realnvp-coupling-flow
def mlp_init(key, sizes): return [{"w": random.normal(k, (m, n)) * 0.1, "b": jnp.zeros(n)} for k, m, n in zip(random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:])]
def mlp(ps, x):
    for i, p in enumerate(ps):
        x = x @ p["w"] + p["b"]
        x = jnp.tanh(x) if i + 1 < len(ps) else x
    return x
n_layers, steps, lr = 2, 3, 0.01
samples = (X[:, :2] @ np.array([[1.0, 0.5], [0.0, 1.0]], np.float32))
---
flows = [{"s": mlp_init(random.fold_in(random.key(0), 2 * i), (1, 4, 1)), "t": mlp_init(random.fold_in(random.key(0), 2 * i + 1), (1, 4, 1))} for i in range(n_layers)]
def forward(flows, x):
    logdet = 0.0
    for i, f in enumerate(flows):
        a, b = (x[:, :1], x[:, 1:]) if i % 2 == 0 else (x[:, 1:], x[:, :1])
        s = jnp.tanh(mlp(f["s"], a))
        b = b * jnp.exp(s) + mlp(f["t"], a)
        logdet = logdet + s.sum(-1)
        x = jnp.concatenate([a, b] if i % 2 == 0 else [b, a], -1)
    return x, logdet
def inverse(flows, z):
    for i in reversed(range(len(flows))):
        f = flows[i]
        a, b = (z[:, :1], z[:, 1:]) if i % 2 == 0 else (z[:, 1:], z[:, :1])
        b = (b - mlp(f["t"], a)) * jnp.exp(-jnp.tanh(mlp(f["s"], a)))
        z = jnp.concatenate([a, b] if i % 2 == 0 else [b, a], -1)
    return z
def nll(flows):
    z, ld = forward(flows, samples)
    return -(jax.scipy.stats.norm.logpdf(z).sum(-1) + ld).mean()
curve = []
for _ in range(steps):
    l, g = jax.value_and_grad(nll)(flows)
    flows = jax.tree.map(lambda p, d: p - lr * d, flows, g)
    curve.append(l)
z, _ = forward(flows, samples)
assert jnp.allclose(inverse(flows, z), samples, atol=1e-3), "not invertible"
print([f"{c:.4f}" for c in curve], jax.tree.structure(flows).num_leaves)
---
n_layers = 3
---
lr = 0.1; samples = samples[:10] * 2

### law-simclr-augment-and-ntxent
temperature, noise, epochs = 0.5, 0.1, 2
enc = {"w": jnp.eye(4)[:, :3] + 0.1, "proj": jnp.ones((3, 2)) * 0.5 - jnp.eye(3, 2)}
def augment(key, x):
    k1, k2 = random.split(key)
    return x * random.bernoulli(k1, 0.8, x.shape) + noise * random.normal(k2, x.shape)
---
def encode(p, x):
    z = jnp.tanh(x @ p["w"]) @ p["proj"]
    return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-6)
def nt_xent(p, key, x):
    ka, kb = random.split(key)
    z = jnp.concatenate([encode(p, augment(ka, x)), encode(p, augment(kb, x))])
    sim = z @ z.T / temperature
    sim = jnp.where(jnp.eye(len(z), dtype=bool), -jnp.inf, sim)
    tgt = (jnp.arange(len(z)) + len(x)) % len(z)
    return optax.softmax_cross_entropy_with_integer_labels(sim, tgt).mean()
key = random.key(0)
tx = optax.lars(0.1); st = tx.init(enc)
for e in range(epochs):
    key, *subs = random.split(key, 4)
    for sub, xb in zip(subs, np.array_split(X, 3)):
        l, g = jax.value_and_grad(nt_xent)(enc, sub, xb)
        up, st = tx.update(g, st, enc)
        enc = optax.apply_updates(enc, up)
    print(f"epoch {e + 1}/{epochs} nt-xent {l:.4f}")
align = jnp.mean(jnp.sum(encode(enc, X[:-1]) * encode(enc, X[1:]), -1))
---
temperature = 0.1
---
def augment(key, x): return x + noise * random.normal(key, x.shape)
---
noise, epochs = 0.0, 1

### law-learned-scale-and-frozen-embedding-multi-transform needs=flax
from flax import linen as nn, traverse_util
class TextCls(nn.Module):
    vocab: int
    @nn.compact
    def __call__(self, ids, mask):
        e = nn.Embed(self.vocab, 3, name="embed")(ids)
        pooled = (e * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return nn.Dense(2, name="head")(pooled)
ids = jnp.array([[1, 2, 0], [3, 1, 2], [2, 0, 0]]); tgt = jnp.array([0, 1, 0])
rules = {"embed": "frozen", "head": "train"}
lrs = {"train": 0.5, "frozen": None}
---
mask = (ids > 0).astype(jnp.float32)
model = TextCls(5)
params = model.init(random.key(0), ids, mask)["params"]
param_labels = traverse_util.path_aware_map(lambda path, v: next((lab for k, lab in rules.items() if k in path), "train"), params)
tx = optax.multi_transform({k: optax.sgd(v) if v is not None else optax.set_to_zero() for k, v in lrs.items()}, param_labels)
state = tx.init(params)
old = params
for _ in range(2):
    loss, g = jax.value_and_grad(lambda p: optax.softmax_cross_entropy_with_integer_labels(model.apply({"params": p}, ids, mask), tgt).mean())(params)
    up, state = tx.update(g, state, params)
    params = optax.apply_updates(params, up)
delta = {"/".join(k): float(jnp.abs(v).sum()) > 0 for k, v in traverse_util.flatten_dict(jax.tree.map(jnp.subtract, params, old)).items()}
print(delta, f"{loss:.4f}")
---
rules["embed"] = "train"
---
lrs["train"] = 0.05; rules["head"] = "frozen"; rules["embed"] = "slow"; lrs["slow"] = 0.01

### law-gp-hyperparameters-by-gradient tolerance=1e-3
kernels = {"rbf": lambda d, l: jnp.exp(-0.5 * (d / l) ** 2), "exp": lambda d, l: jnp.exp(-jnp.abs(d) / l)}
kernel_name, n_opt = "rbf", 3
xs = np.linspace(0, 3, 8).astype(np.float32); ts = np.sin(xs * 2) + 0.05
theta = {"log_l": jnp.zeros(()), "log_s": jnp.zeros(()), "log_n": jnp.array(-2.0)}
---
k = kernels[kernel_name]
def gram(th, a, b): return jnp.exp(2 * th["log_s"]) * k(a[:, None] - b[None], jnp.exp(th["log_l"]))
def neg_log_ml(th):
    K = gram(th, xs, xs) + jnp.exp(2 * th["log_n"]) * jnp.eye(len(xs))
    L = jnp.linalg.cholesky(K)
    a = jax.scipy.linalg.cho_solve((L, True), ts)
    return 0.5 * ts @ a + jnp.log(jnp.diag(L)).sum() + 0.5 * len(xs) * jnp.log(2 * jnp.pi)
for i in range(n_opt):
    v, g = jax.value_and_grad(neg_log_ml)(theta)
    theta = {n: theta[n] - 0.05 * g[n] for n in theta}
xq = jnp.linspace(-0.5, 3.5, 5)
K = gram(theta, xs, xs) + jnp.exp(2 * theta["log_n"]) * jnp.eye(len(xs))
Kq = gram(theta, xq, xs)
mean = Kq @ jnp.linalg.solve(K, ts)
std = jnp.sqrt(jnp.diag(gram(theta, xq, xq) - Kq @ jnp.linalg.solve(K, Kq.T)))
for q, m, s in zip(xq, mean, std):
    print(f"{q:6.2f} {m:8.3f} ± {1.96 * s:.3f}")
---
kernel_name = "exp"
---
ts = np.cos(xs); theta = jax.tree.map(lambda v: v * 0, theta)
""",
)
