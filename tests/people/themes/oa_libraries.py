"""Notebooks of the libraries: flax, equinox, optax, numpyro, diffrax, haiku, orbax, optimistix, lineax and others."""

from ..cell import written

PRELUDE = """
import os, io, csv, json, math, copy, pickle, random, itertools, functools, collections
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from contextlib import contextmanager
from dataclasses import dataclass, field, replace, asdict
from functools import partial, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, random as jr
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### oal-nnx-cnn-digits-epochs-batchnorm-dropout-train-eval-history needs=flax tolerance=2e-3
from flax import nnx
class CNN(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.conv = nnx.Conv(1, 4, kernel_size=(3, 3), rngs=rngs)
        self.bn = nnx.BatchNorm(4, momentum=0.9, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(16, 3, rngs=rngs)
    def __call__(self, x):
        x = nnx.relu(self.bn(self.conv(x)))
        x = nnx.avg_pool(x, window_shape=(4, 4), strides=(4, 4))
        return self.out(self.drop(x.reshape(x.shape[0], -1)))
rng = np.random.default_rng(0)
labels = rng.integers(0, 3, 48)
images = (rng.normal(size=(48, 8, 8, 1)) + labels[:, None, None, None]).astype(np.float32)
train_x, train_y, test_x, test_y = images[:32], labels[:32], images[32:], labels[32:]
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
model = CNN(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(5e-3, b1=0.9), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
batch_size, epochs = 8, 2
---
metrics_history = {f"{split}_{name}": [] for split in ("train", "test") for name in ("loss", "accuracy")}
for epoch in range(epochs):
    model.train()
    order = np.random.default_rng(epoch).permutation(len(train_x))
    for i in range(0, len(order), batch_size):
        idx = order[i : i + batch_size]
        train_step(model, optimizer, metrics, jnp.asarray(train_x[idx]), jnp.asarray(train_y[idx]))
    for name, value in metrics.compute().items():
        metrics_history[f"train_{name}"].append(value)
    metrics.reset()
    model.eval()
    eval_step(model, metrics, jnp.asarray(test_x), jnp.asarray(test_y))
    for name, value in metrics.compute().items():
        metrics_history[f"test_{name}"].append(value)
    metrics.reset()
    print(f"[epoch {epoch + 1}] keys={sorted(metrics_history)}")
pred = model(jnp.asarray(test_x)).argmax(axis=-1)
pred.shape, metrics_history["train_loss"][-1], int(optimizer.step[...])
---
batch_size = 16
---
optimizer = nnx.Optimizer(model, optax.sgd(1e-2, momentum=0.9), wrt=nnx.Param); epochs = 1
---
train_y = (train_y + 1) % 3

### oal-nnx-resnet-blocks-list-freeze-backbone-by-path-filter needs=flax tolerance=1e-3
from flax import nnx
class Block(nnx.Module):
    def __init__(self, d, rngs):
        self.norm, self.lin = nnx.LayerNorm(d, rngs=rngs), nnx.Linear(d, d, rngs=rngs)
    def __call__(self, x):
        return x + nnx.gelu(self.lin(self.norm(x)))
class Net(nnx.Module):
    def __init__(self, d, n, rngs):
        self.stem = nnx.Linear(4, d, rngs=rngs)
        self.blocks = nnx.List([Block(d, rngs) for _ in range(n)])
        self.head = nnx.Linear(d, 1, rngs=rngs)
    def __call__(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
net = Net(6, 2, nnx.Rngs(params=3))
x = jr.normal(jr.key(1), (10, 4)); y = x[:, :1] ** 2
trainable = nnx.All(nnx.Param, nnx.PathContains("head"))
lr = 0.05
---
opt = nnx.Optimizer(net, optax.adam(lr), wrt=trainable)
before = jax.tree.map(jnp.copy, nnx.state(net, nnx.Param))
diff = nnx.DiffState(0, trainable)
losses = []
for step in range(4):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2), argnums=diff)(net)
    opt.update(net, grads)
    losses.append(loss)
after = nnx.state(net, nnx.Param)
moved = {}
for (path, a), (_, b) in zip(nnx.to_flat_state(before), nnx.to_flat_state(after)):
    moved[".".join(map(str, path))] = bool(jnp.any(a[...] != b[...]))
frozen = [k for k, v in moved.items() if not v]
print(len(frozen), [k for k in moved if moved[k]])
jnp.stack(losses)
---
trainable = nnx.All(nnx.Param, nnx.Any(nnx.PathContains("head"), nnx.PathContains("blocks")))
---
net.blocks.append(Block(6, nnx.Rngs(9)))
---
lr = 0.2; x = x[:6]; y = y[:6]

### oal-nnx-split-merge-pure-step-with-ema-weights-and-swap needs=flax tolerance=1e-3
from flax import nnx
class MLP(nnx.Module):
    def __init__(self, din, dmid, dout, *, rngs):
        self.l1, self.l2 = nnx.Linear(din, dmid, rngs=rngs), nnx.Linear(dmid, dout, rngs=rngs)
    def __call__(self, x):
        return self.l2(jnp.tanh(self.l1(x)))
def ema_update(avg, new, decay):
    return jax.tree.map(lambda a, n: decay * a + (1 - decay) * n, avg, new)
@contextmanager
def swapped(model, weights):
    backup = jax.tree.map(lambda v: v, nnx.state(model, nnx.Param))
    nnx.update(model, weights)
    try:
        yield model
    finally:
        nnx.update(model, backup)
model = MLP(2, 8, 1, rngs=nnx.Rngs(7))
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
X = jr.uniform(jr.key(0), (20, 2)); Y = jnp.sin(3 * X[:, :1])
decay, steps = 0.8, 5
---
graphdef, params, rest = nnx.split(model, nnx.Param, ...)
opt_state, ema = tx.init(params), params
@jax.jit
def step(params, opt_state, ema, x, y):
    def loss(p):
        return jnp.mean((nnx.merge(graphdef, p, rest)(x) - y) ** 2)
    value, g = jax.value_and_grad(loss)(params)
    up, opt_state = tx.update(g, opt_state, params)
    params = optax.apply_updates(params, up)
    return params, opt_state, ema_update(ema, params, decay), value
curve = []
for i in range(steps):
    sl = slice((i * 4) % 20, (i * 4) % 20 + 4)
    params, opt_state, ema, value = step(params, opt_state, ema, X[sl], Y[sl])
    curve.append(float(value))
nnx.update(model, params)
with swapped(model, ema) as m:
    ema_mse = jnp.mean((m(X) - Y) ** 2)
raw_mse = jnp.mean((model(X) - Y) ** 2)
print(len(curve), type(rest).__name__)
raw_mse - ema_mse
---
decay = 0.0
---
def ema_update(avg, new, decay):
    return new
---
steps = 2; model.l2.bias[...] = jnp.ones(1)

### oal-nnx-scan-over-stacked-layers-with-vmap-init needs=flax tolerance=1e-3
from flax import nnx
N_LAYERS, DIM = 3, 6
class Layer(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.lin = nnx.Linear(DIM, DIM, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return x + self.drop(nnx.relu(self.lin(x)))
x = jnp.linspace(-1, 1, 4 * DIM).reshape(4, DIM)
seed, train = 0, False
---
@nnx.split_rngs(splits=N_LAYERS)
@nnx.vmap(in_axes=(0,), out_axes=0)
def create(rngs):
    return Layer(rngs)
stack = create(nnx.Rngs(seed))
stack.train() if train else stack.eval()
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def forward(x, layer):
    return layer(x)
out = forward(x, stack)
shapes = jax.tree.map(jnp.shape, nnx.to_pure_dict(nnx.state(stack, nnx.Param)))
unrolled = x
for i in range(N_LAYERS):
    k, b = stack.lin.kernel[...][i], stack.lin.bias[...][i]
    unrolled = unrolled + jax.nn.relu(unrolled @ k + b)
gap = jnp.abs(out - unrolled).max()
print(shapes, "same" if not train and gap < 1e-5 else "different")
out.sum()
---
seed = 5
---
train = True
---
N_LAYERS = 2; train = False

### oal-nnx-rngs-streams-counted-and-reseeded-dropout-samples needs=flax
from flax import nnx
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.4, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.calls[...] += 1
        return self.drop(self.lin(x))
rngs = nnx.Rngs(params=0, dropout=1)
model = Noisy(rngs)
x = jnp.ones((2, 3))
n_samples = 5
---
model.train()
samples = []
for _ in range(n_samples):
    samples.append(model(x))
mc = jnp.stack(samples)
mean, std = mc.mean(0), mc.std(0)
nnx.reseed(model, dropout=42)
first = model(x)
nnx.reseed(model, dropout=42)
again = model(x)
assert jnp.array_equal(first, again)
key = rngs.params()
noise = jr.normal(key, (2,))
model.eval()
det = model(x)
zero_share = jnp.mean(mc == 0)
print(int(model.calls[...]), mc.shape)
det - mean
---
n_samples = 3
---
model.drop.rate = 0.0
---
rngs = nnx.Rngs(params=8, dropout=9); model = Noisy(rngs)

### oal-nnx-lora-wrap-linear-train-only-lora-params-then-fold needs=flax tolerance=1e-3
from flax import nnx
class Tower(nnx.Module):
    def __init__(self, rngs):
        self.q = nnx.Linear(4, 4, use_bias=False, rngs=rngs)
        self.out = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, x):
        return self.out(nnx.silu(self.q(x)))
def add_lora(model, rank, rngs):
    for name, child in list(vars(model).items()):
        if isinstance(child, nnx.Linear) and not isinstance(child, nnx.LoRALinear):
            wrapped = nnx.LoRA(child.in_features, rank, child.out_features, base_module=child, rngs=rngs)
            setattr(model, name, wrapped)
    return model
tower = Tower(nnx.Rngs(0))
data = [(jr.normal(jr.key(i), (6, 4)), jr.randint(jr.key(i + 50), (6,), 0, 2)) for i in range(3)]
rank, lr = 2, 5e-2
---
tuned = add_lora(nnx.clone(tower), rank, nnx.Rngs(lora=11, params=12))
opt = nnx.Optimizer(tuned, optax.adam(lr), wrt=nnx.LoRAParam)
def loss_fn(m, xb, yb):
    return optax.softmax_cross_entropy_with_integer_labels(m(xb), yb).mean()
history = []
for epoch in range(2):
    for xb, yb in data:
        loss, grads = nnx.value_and_grad(loss_fn, argnums=nnx.DiffState(0, nnx.LoRAParam))(tuned, xb, yb)
        opt.update(tuned, grads)
        history.append({"epoch": epoch, "loss": loss})
lora_state = nnx.state(tuned, nnx.LoRAParam)
n_lora = sum(p.size for p in jax.tree.leaves(lora_state))
n_total = sum(p.size for p in jax.tree.leaves(nnx.state(tuned)))
folded = nnx.clone(tower)
for name in ("q", "out"):
    adapter = getattr(tuned, name)
    lin = getattr(folded, name)
    lin.kernel[...] = lin.kernel[...] + adapter.lora_a[...] @ adapter.lora_b[...]
gap = jnp.abs(folded(data[0][0]) - tuned(data[0][0])).max()
print(f"{n_lora}/{n_total} trainable, folded ok: {bool(gap < 1e-4)}")
history[-1]["loss"]
---
rank = 1
---
data.append((jnp.ones((6, 4)), jnp.zeros(6, int)))
---
lr = 0.0

### oal-nnx-transformer-decode-with-kv-cache-generates-token-list needs=flax tolerance=1e-3
from flax import nnx
class Attn(nnx.Module):
    def __init__(self, d, heads, rngs):
        self.mha = nnx.MultiHeadAttention(num_heads=heads, in_features=d, decode=False, rngs=rngs)
        self.ln, self.ff = nnx.LayerNorm(d, rngs=rngs), nnx.Linear(d, d, rngs=rngs)
    def __call__(self, x, mask=None, decode=False):
        x = x + self.mha(self.ln(x), mask=mask, decode=decode)
        return x + nnx.gelu(self.ff(x))
class GPT(nnx.Module):
    def __init__(self, vocab, d, n, rngs):
        self.emb = nnx.Embed(vocab, d, rngs=rngs)
        self.blocks = nnx.List([Attn(d, 2, rngs) for _ in range(n)])
    def __call__(self, ids, mask=None, decode=False):
        x = self.emb(ids)
        for b in self.blocks:
            x = b(x, mask, decode)
        return self.emb.attend(x)
stoi = {c: i for i, c in enumerate(" abcdefghij")}
itos = {i: c for c, i in stoi.items()}
gpt = GPT(len(stoi), 8, 2, nnx.Rngs(4))
@nnx.jit
def decode_step(gpt, tok):
    return gpt(tok, decode=True)[0, -1]
prompt, max_new = "bad", 4
---
ids = [stoi[c] for c in prompt]
total = len(ids) + max_new
for b in gpt.blocks:
    b.mha.init_cache((1, total, 8), dtype=jnp.float32)
for t in ids[:-1]:
    decode_step(gpt, jnp.array([[t]]))
margins = []
while len(ids) < total:
    logits = decode_step(gpt, jnp.array([[ids[-1]]]))
    top2 = jax.lax.top_k(logits, 2)[0]
    margins.append(top2[0] - top2[1])
    ids.append(int(jnp.argmax(logits)))
text = "".join(itos[i] for i in ids)
full = gpt(jnp.array([ids[:-1]]), mask=nnx.make_causal_mask(jnp.array([ids[:-1]])))
agree = [int(i) for i in full[0].argmax(-1)][len(prompt) - 1 :] == ids[len(prompt) :]
cache_index = [int(b.mha.cache_index[...]) for b in gpt.blocks]
print(repr(text), agree, cache_index)
jnp.stack(margins)
---
prompt = "a bee"
---
max_new = 2
---
gpt.emb.embedding[...] = gpt.emb.embedding[...] * jnp.linspace(0.5, 2, 11)[:, None]

### oal-nnx-gan-two-nnx-optimizers-with-jitted-steps-and-sample-grid needs=flax tolerance=5e-3
from flax import nnx
def mlp(sizes, rngs, last=lambda x: x):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nnx.Linear(a, b, rngs=rngs), nnx.leaky_relu]
    return nnx.Sequential(*layers[:-1], last)
G, D = mlp([2, 8, 1], nnx.Rngs(0)), mlp([1, 8, 1], nnx.Rngs(1))
opt_g = nnx.Optimizer(G, optax.adam(1e-2, b1=0.5), wrt=nnx.Param)
opt_d = nnx.Optimizer(D, optax.adam(1e-2, b1=0.5), wrt=nnx.Param)
bce = optax.sigmoid_binary_cross_entropy
@nnx.jit
def d_step(D, opt_d, fake, real):
    def loss(D):
        return bce(D(real), jnp.ones((len(real), 1))).mean() + bce(D(fake), jnp.zeros((len(fake), 1))).mean()
    l, g = nnx.value_and_grad(loss)(D)
    opt_d.update(D, g)
    return l
@nnx.jit
def g_step(G, D, opt_g, z):
    l, g = nnx.value_and_grad(lambda G: bce(D(G(z)), jnp.ones((len(z), 1))).mean())(G)
    opt_g.update(G, g)
    return l
def real_batches(n, bs, seed=0):
    r = np.random.default_rng(seed)
    for _ in range(n):
        yield r.normal(2.0, 0.3, size=(bs, 1)).astype("float32")
key, bs, d_per_g = jr.key(3), 8, 1
---
log = defaultdict(list)
for it, real in enumerate(real_batches(4, bs)):
    key, kz = jr.split(key)
    z = jr.normal(kz, (bs, 2))
    for _ in range(d_per_g):
        log["d"].append(d_step(D, opt_d, G(z), jnp.asarray(real)))
    log["g"].append(g_step(G, D, opt_g, z))
    if it % 2 == 1:
        log["snap"].append(np.asarray(G(jnp.eye(2))).ravel())
grid = np.concatenate(log["snap"])
print({k: len(v) for k, v in log.items()}, grid.shape)
jnp.mean(jnp.array(log["d"])), int(opt_d.step[...])
---
d_per_g = 2
---
bs = 5
---
def real_batches(n, bs, seed=0):
    for i in range(n):
        yield np.full((bs, 1), -1.0 - i, "float32")

### oal-nnx-vae-reparam-rng-stream-with-beta-warmup-and-recon-table needs=flax,pandas tolerance=2e-3
from flax import nnx
import pandas as pd
class VAE(nnx.Module):
    def __init__(self, din, latent, rngs):
        self.enc = nnx.Linear(din, 2 * latent, rngs=rngs)
        self.dec = nnx.Linear(latent, din, rngs=rngs)
        self.rngs = rngs
    def __call__(self, x):
        mu, logvar = jnp.split(self.enc(x), 2, axis=-1)
        eps = jr.normal(self.rngs.noise(), mu.shape)
        return self.dec(mu + jnp.exp(0.5 * logvar) * eps), mu, logvar
def vae_loss(model, x, beta):
    logits, mu, logvar = model(x)
    rec = optax.sigmoid_binary_cross_entropy(logits, x).sum(-1).mean()
    kl = -0.5 * jnp.sum(1 + logvar - mu**2 - jnp.exp(logvar), axis=-1).mean()
    return rec + beta * kl, {"rec": rec, "kl": kl}
vae = VAE(6, 2, nnx.Rngs(params=0, noise=1))
optim = nnx.Optimizer(vae, optax.adam(3e-2), wrt=nnx.Param)
data = (np.random.default_rng(1).random((24, 6)) > 0.6).astype(np.float32)
cfg = {"warmup": 3, "beta": 1.0, "epochs": 3, "bs": 12}
---
rows = []
for epoch in range(cfg["epochs"]):
    beta = cfg["beta"] * min(1.0, (epoch + 1) / cfg["warmup"])
    for b, xb in enumerate(np.split(data, len(data) // cfg["bs"])):
        (loss, aux), grads = nnx.value_and_grad(vae_loss, has_aux=True)(vae, jnp.asarray(xb), beta)
        optim.update(vae, grads)
        rows.append({"epoch": epoch, "batch": b, "beta": beta, "loss": float(loss), **{k: float(v) for k, v in aux.items()}})
history = pd.DataFrame(rows)
per_epoch = history.groupby("epoch")[["rec", "kl"]].mean()
z = jr.normal(vae.rngs.noise(), (3, 2))
gen = jax.nn.sigmoid(vae.dec(z))
print(history.columns.tolist(), per_epoch.shape)
gen.mean()
---
cfg["beta"] = 4.0
---
cfg.update(bs=8, epochs=2)
---
def vae_loss(model, x, beta):
    logits, mu, logvar = model(x)
    return jnp.mean((jax.nn.sigmoid(logits) - x) ** 2), {"rec": jnp.mean(mu**2), "kl": jnp.mean(logvar**2)}

### oal-nnx-checkpoint-with-orbax-restored-into-abstract-model needs=flax,orbax.checkpoint cold
from flax import nnx
import orbax.checkpoint as ocp
import shutil
class TwoLayerMLP(nnx.Module):
    def __init__(self, dim, rngs: nnx.Rngs):
        self.linear1 = nnx.Linear(dim, dim, rngs=rngs, use_bias=False)
        self.linear2 = nnx.Linear(dim, dim, rngs=rngs, use_bias=False)
    def __call__(self, x):
        return self.linear2(nnx.relu(self.linear1(x)))
ckpt_dir = Path("nnx_ckpt").absolute()
model = TwoLayerMLP(4, rngs=nnx.Rngs(0))
x = jr.normal(jr.key(42), (3, 4))
scale = 1.0
---
if ckpt_dir.exists():
    shutil.rmtree(ckpt_dir)
model.linear1.kernel[...] = model.linear1.kernel[...] * scale
graphdef, state = nnx.split(model)
with ocp.StandardCheckpointer() as checkpointer:
    checkpointer.save(ckpt_dir / "state", state)
    checkpointer.wait_until_finished()
    abstract = nnx.eval_shape(lambda: TwoLayerMLP(4, rngs=nnx.Rngs(0)))
    gd, abs_state = nnx.split(abstract)
    restored = checkpointer.restore(ckpt_dir / "state", abs_state)
same = jax.tree.map(lambda a, b: bool(jnp.array_equal(a, b)), state, restored)
assert all(jax.tree.leaves(same))
model2 = nnx.merge(gd, restored)
y = model2(x)
print(sorted(p.name for p in ckpt_dir.iterdir()), y.shape)
jnp.abs(y - model(x)).max(), y.sum()
---
scale = 0.5
---
model.linear2.kernel[...] = jnp.eye(4)

### oal-nnx-checkify-nan-guard-raises-in-loop needs=flax
from flax import nnx
class TrainingDiverged(RuntimeError):
    def __init__(self, step, value):
        super().__init__(f"diverged at step {step}")
        self.step, self.value = step, value
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.sgd(50.0), wrt=nnx.Param)
x = jnp.array([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]]); y = jnp.array([[1.0], [0.0], [2.0]])
limit, seen = 1e4, []
---
for step in range(8):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    seen.append(step)
    if not jnp.isfinite(loss) or loss > limit:
        raise TrainingDiverged(step, loss)
    opt.update(model, grads)
    best = loss
print("finished", len(seen))
---
opt = nnx.Optimizer(model, optax.sgd(1e-3), wrt=nnx.Param); model.kernel[...] = jnp.ones((2, 1)); model.bias[...] = jnp.zeros(1)
---
limit = 1e-3

### oal-nnx-bert-like-masked-token-batches-from-sentences-with-padding needs=flax tolerance=2e-3
from flax import nnx
sentences = ["the cat sat", "a dog sat here", "the dog ran", "a cat ran away"]
def build_vocab(texts):
    words = sorted({w for t in texts for w in t.split()})
    return {w: i for i, w in enumerate(["[PAD]", "[MASK]", *words])}
def encode(text, vocab, width):
    ids = [vocab.get(w, 1) for w in text.split()][:width]
    return ids + [0] * (width - len(ids))
def mask_tokens(ids, rng, p):
    ids = ids.copy()
    pick = (rng.random(ids.shape) < p) & (ids != 0)
    targets = np.where(pick, ids, -100)
    ids[pick] = 1
    return ids, targets
class MaskedLM(nnx.Module):
    def __init__(self, n_vocab, d, width, rngs):
        self.tok, self.pos = nnx.Embed(n_vocab, d, rngs=rngs), nnx.Param(0.1 * jr.normal(rngs.params(), (width, d)))
        self.attn = nnx.MultiHeadAttention(2, d, decode=False, rngs=rngs)
        self.out = nnx.Linear(d, n_vocab, rngs=rngs)
    def __call__(self, ids):
        h = self.tok(ids) + self.pos[...]
        return self.out(h + self.attn(h, mask=nnx.make_attention_mask(ids > 0, ids > 0)))
width, p, lr = 5, 0.4, 1e-2
---
vocab = build_vocab(sentences)
tokens = np.array([encode(s, vocab, width) for s in sentences])
lm = MaskedLM(len(vocab), 8, width, nnx.Rngs(2))
opt = nnx.Optimizer(lm, optax.adam(lr), wrt=nnx.Param)
rng, losses, n_masked = np.random.default_rng(3), [], Counter()
def loss_fn(m, ids, tgt):
    ce = optax.softmax_cross_entropy_with_integer_labels(m(ids), jnp.maximum(tgt, 0))
    w = tgt != -100
    return (ce * w).sum() / jnp.maximum(w.sum(), 1)
@nnx.jit
def step(lm, opt, ids, tgt):
    loss, grads = nnx.value_and_grad(loss_fn)(lm, ids, tgt)
    opt.update(lm, grads)
    return loss
for epoch in range(4):
    ids, tgt = mask_tokens(tokens, rng, p)
    for t in tgt[tgt >= 0]:
        n_masked[int(t)] += 1
    losses.append(step(lm, opt, jnp.asarray(ids), jnp.asarray(tgt)))
probe = jnp.array([encode("the [MASK] sat", vocab, width)])
words = list(vocab)
guess = words[int(lm(probe)[0, 1].argmax())]
print(len(vocab), n_masked.most_common(1), guess in words)
jnp.array(losses)
---
sentences.append("the bird sang")
---
p = 0.8
---
width = 4; lr = 3e-2

### oal-linen-trainstate-batchstats-dropout-train-epoch-functions needs=flax tolerance=3e-3
import flax.linen as nn
from flax.training import train_state
class Net(nn.Module):
    hidden: int
    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.Dense(self.hidden)(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.8)(x)
        x = nn.relu(x)
        x = nn.Dropout(0.25, deterministic=not train)(x)
        return nn.Dense(3)(x)
class TrainState(train_state.TrainState):
    batch_stats: Any
    key: jax.Array
def create_state(key, lr):
    pk, dk = jr.split(key)
    net = Net(hidden=8)
    variables = net.init({"params": pk, "dropout": dk}, jnp.zeros((1, 4)), train=False)
    return TrainState.create(apply_fn=net.apply, params=variables["params"], tx=optax.adam(lr), batch_stats=variables["batch_stats"], key=dk)
@jax.jit
def train_step(state, batch):
    dk = jr.fold_in(state.key, state.step)
    def loss_fn(params):
        logits, upd = state.apply_fn({"params": params, "batch_stats": state.batch_stats}, batch["x"], train=True, mutable=["batch_stats"], rngs={"dropout": dk})
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean(), (logits, upd)
    (loss, (logits, upd)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads).replace(batch_stats=upd["batch_stats"])
    return state, {"loss": loss, "acc": (logits.argmax(-1) == batch["y"]).mean()}
r = np.random.default_rng(5)
ds = {"x": r.normal(size=(30, 4)).astype(np.float32), "y": r.integers(0, 3, 30)}
lr, bs = 1e-2, 10
---
state = create_state(jr.key(0), lr)
history = []
for epoch in range(2):
    perm = np.random.default_rng(epoch).permutation(30)[: 30 // bs * bs].reshape(-1, bs)
    batch_metrics = []
    for p in perm:
        state, m = train_step(state, {k: v[p] for k, v in ds.items()})
        batch_metrics.append(m)
    got = jax.device_get(batch_metrics)
    history.append({k: np.mean([m[k] for m in got]) for k in got[0]})
    print("epoch", epoch, "steps", len(batch_metrics), list(history[-1]))
logits = state.apply_fn({"params": state.params, "batch_stats": state.batch_stats}, ds["x"], train=False)
acc = (logits.argmax(-1) == ds["y"]).mean()
int(state.step), history[-1]["loss"], state.batch_stats["BatchNorm_0"]["mean"].shape
---
lr = 0.1
---
bs = 6
---
ds["y"] = np.zeros(30, int)

### oal-linen-mutable-cache-and-sow-with-nn-module-counter needs=flax
import flax.linen as nn
class RunningNorm(nn.Module):
    decay: float = 0.9
    @nn.compact
    def __call__(self, x):
        ready = self.has_variable("stats", "mean")
        mean = self.variable("stats", "mean", lambda s: jnp.zeros(s), x.shape[1:])
        count = self.variable("stats", "count", lambda: jnp.zeros((), jnp.int32))
        bias = self.param("bias", nn.initializers.zeros, x.shape[1:])
        if ready and self.is_mutable_collection("stats"):
            mean.value = self.decay * mean.value + (1 - self.decay) * x.mean(0)
            count.value += 1
        h = x - mean.value + bias
        self.sow("intermediates", "centered_norm", jnp.linalg.norm(h))
        return h
norm = RunningNorm()
batches = [jnp.full((4, 2), float(i)) + jr.normal(jr.key(i), (4, 2)) for i in range(5)]
collections_on = ["stats"]
---
variables = norm.init(jr.key(0), batches[0])
variables = {k: v for k, v in variables.items() if k != "intermediates"}
trail, updated = [], {}
for i, xb in enumerate(batches):
    out, updated = norm.apply(variables, xb, mutable=[*collections_on, "intermediates"])
    inter = updated.pop("intermediates")["centered_norm"][0]
    trail.append(inter)
    variables = {**variables, **updated}
    if i == len(batches) - 1:
        frozen_out = norm.apply(variables, xb)
counts = int(variables["stats"]["count"])
print(sorted(variables), counts, sorted(updated))
frozen_out.mean(0), jnp.stack(trail)
---
norm = RunningNorm(decay=0.5)
---
collections_on = []
---
batches.insert(0, jnp.zeros((4, 2))); collections_on = ["stats"]

### oal-linen-seq2seq-rnn-cells-teacher-forcing-vocab-and-decode needs=flax tolerance=2e-3
import flax.linen as nn
CHARS = "_0123456789+="
ctable = {c: i for i, c in enumerate(CHARS)}
def one_hot(s, width):
    return np.eye(len(CHARS), dtype=np.float32)[[ctable[c] for c in s.ljust(width, "_")]]
class Seq2Seq(nn.Module):
    hidden: int = 12
    @nn.compact
    def __call__(self, enc, dec):
        carry, _ = nn.RNN(nn.GRUCell(self.hidden), return_carry=True, name="enc")(enc)
        out = nn.RNN(nn.GRUCell(self.hidden), name="dec")(dec, initial_carry=carry)
        return nn.Dense(len(CHARS), name="proj")(out)
def make_batch(pairs):
    qs = np.stack([one_hot(f"{a}+{b}", 5) for a, b in pairs])
    ans = np.stack([one_hot("=" + str(a + b), 4) for a, b in pairs])
    return qs, ans
pairs = [(1, 2), (10, 5), (7, 8), (3, 3)]
seq = Seq2Seq()
lr, n_steps = 1e-2, 4
---
q, a = make_batch(pairs)
params = seq.init(jr.key(1), q, a[:, :-1])["params"]
tx = optax.adam(lr)
opt_state = tx.init(params)
@jax.jit
def step(params, opt_state):
    def loss_fn(p):
        logits = seq.apply({"params": p}, q, a[:, :-1])
        return optax.softmax_cross_entropy(logits, a[:, 1:]).mean(), logits
    (loss, logits), g = jax.value_and_grad(loss_fn, has_aux=True)(params)
    up, opt_state2 = tx.update(g, opt_state)
    return optax.apply_updates(params, up), opt_state2, loss, logits
losses = []
for _ in range(n_steps):
    params, opt_state, loss, logits = step(params, opt_state)
    losses.append(float(loss))
decoded = ["".join(CHARS[int(i)] for i in row).rstrip("_") for row in logits.argmax(-1)]
table = [f"{x}+{y}={x + y}" for x, y in pairs]
exact = sum(d == t.split("=")[1] for d, t in zip(decoded, table))
print(len(decoded), exact >= 0, sorted(params))
params["proj"]["bias"].sum(), losses[-1] < losses[0]
---
pairs.append((11, 22))
---
lr = 5e-2; n_steps = 2

### oal-linen-freeze-embedding-with-multi-transform-labels-by-path needs=flax tolerance=1e-3
import flax.linen as nn
from flax import traverse_util
class Classifier(nn.Module):
    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(10, 4, name="backbone_embed")(ids).mean(1)
        x = nn.tanh(nn.Dense(6, name="backbone_dense")(x))
        return nn.Dense(2, name="head")(x)
model = Classifier()
ids = jr.randint(jr.key(0), (12, 5), 0, 10)
labels = (ids[:, 0] > 4).astype(jnp.int32)
params = model.init(jr.key(1), ids)["params"]
rules = {"backbone_embed": "frozen", "backbone_dense": "slow"}
lrs = {"slow": 1e-3, "fast": 1e-1}
---
def label(path, _):
    return rules.get(path[0], "fast")
labels_tree = traverse_util.path_aware_map(label, params)
tx = optax.multi_transform({"frozen": optax.set_to_zero(), "slow": optax.sgd(lrs["slow"]), "fast": optax.adam(lrs["fast"])}, labels_tree)
opt_state = tx.init(params)
start = params
grad_fn = jax.jit(jax.grad(lambda p: optax.softmax_cross_entropy_with_integer_labels(model.apply({"params": p}, ids), labels).mean()))
for i in range(3):
    grads = grad_fn(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
delta = {"/".join(k): float(jnp.abs(v).max()) for k, v in traverse_util.flatten_dict(jax.tree.map(jnp.subtract, params, start)).items()}
changed = sorted(k for k, v in delta.items() if v > 0)
print(changed, Counter(traverse_util.flatten_dict(labels_tree).values()))
params["head"]["kernel"]
---
rules["backbone_embed"] = "slow"
---
lrs["fast"] = 0.0
---
labels = 1 - labels; rules.clear()

### oal-linen-apply-missing-rng-raises-invalid-rng-error needs=flax
import flax.linen as nn
class M(nn.Module):
    rate: float = 0.5
    @nn.compact
    def __call__(self, x, train=False):
        return nn.Dropout(self.rate)(nn.Dense(3)(x), deterministic=not train)
m = M()
x = jnp.arange(6.0).reshape(2, 3)
variables = m.init(jr.key(0), x)
outs, kwargs = {}, {"train": True}
---
outs["eval"] = m.apply(variables, x)
norm = jnp.linalg.norm(outs["eval"])
stage = "before"
outs["train"] = m.apply(variables, x, **kwargs)
stage = "after"
kept = jnp.mean(outs["train"] != 0)
ratio = norm / jnp.maximum(jnp.linalg.norm(outs["train"]), 1e-6)
print(stage, sorted(outs))
---
kwargs["rngs"] = {"dropout": jr.key(5)}
---
m = M(rate=0.0); kwargs.pop("rngs")
---
x = jnp.ones((2, 4))

### oal-linen-vmap-ensemble-and-lift-remat-with-dataclass-config needs=flax tolerance=1e-3
import flax.linen as nn
@dataclass(frozen=True)
class Cfg:
    width: int = 6
    depth: int = 2
    members: int = 3
    remat: bool = False
class MLP(nn.Module):
    cfg: Cfg
    @nn.compact
    def __call__(self, x):
        Dense = nn.remat(nn.Dense) if self.cfg.remat else nn.Dense
        for i in range(self.cfg.depth):
            x = nn.relu(Dense(self.cfg.width, name=f"layer{i}")(x))
        return nn.Dense(1, name="out")(x)
class Ensemble(nn.Module):
    cfg: Cfg
    @nn.compact
    def __call__(self, x):
        Members = nn.vmap(MLP, in_axes=None, out_axes=0, variable_axes={"params": 0}, split_rngs={"params": True}, axis_size=self.cfg.members)
        return Members(self.cfg, name="members")(x)
x = jnp.linspace(-2, 2, 9)[:, None]; y = jnp.abs(x)
cfg = Cfg()
---
ens = Ensemble(cfg)
params = ens.init(jr.key(2), x)
tx = optax.adam(2e-2)
st, hist = tx.init(params), []
vg = jax.jit(jax.value_and_grad(lambda p: jnp.mean((ens.apply(p, x) - y) ** 2)))
for epoch in range(3):
    loss, g = vg(params)
    up, st = tx.update(g, st)
    params = optax.apply_updates(params, up)
    hist.append(loss)
preds = ens.apply(params, x)
mean, spread = preds.mean(0), preds.std(0)
sizes = {k: v.shape for k, v in sorted(("/".join(p.key for p in path[1:]), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(params))}
print(preds.shape, sizes.get("members/out/kernel"))
spread.max(), jnp.stack(hist)
---
cfg = replace(cfg, members=2, remat=True)
---
cfg = replace(cfg, width=3)

### oal-linen-diffusion-time-embedding-ddpm-loop-and-ancestral-samples needs=flax tolerance=3e-3
import flax.linen as nn
class Denoiser(nn.Module):
    dim: int = 8
    @nn.compact
    def __call__(self, x, t):
        freqs = jnp.exp(-jnp.arange(self.dim // 2) * math.log(100.0) / (self.dim // 2))
        emb = jnp.concatenate([jnp.sin(t[:, None] * freqs), jnp.cos(t[:, None] * freqs)], -1)
        h = nn.swish(nn.Dense(16)(jnp.concatenate([x, emb], -1)))
        return nn.Dense(x.shape[-1])(h)
class Schedule:
    def __init__(self, T, lo=1e-3, hi=0.2):
        self.betas = jnp.linspace(lo, hi, T)
        self.alphas = 1 - self.betas
        self.abar = jnp.cumprod(self.alphas)
    def noise(self, x, t, eps):
        a = self.abar[t][:, None]
        return jnp.sqrt(a) * x + jnp.sqrt(1 - a) * eps
data = np.random.default_rng(2).normal([2.0, -1.0], 0.1, size=(32, 2)).astype(np.float32)
T, steps, key0 = 6, 5, jr.key(11)
---
sched, net = Schedule(T), Denoiser()
params = net.init(jr.key(0), data[:1], jnp.zeros(1))
tx = optax.adam(1e-2)
ost = tx.init(params)
@jax.jit
def train_step(params, ost, x, key):
    kt, ke = jr.split(key)
    t = jr.randint(kt, (len(x),), 0, T)
    eps = jr.normal(ke, x.shape)
    loss, g = jax.value_and_grad(lambda p: jnp.mean((net.apply(p, sched.noise(x, t, eps), t.astype(float)) - eps) ** 2))(params)
    up, ost = tx.update(g, ost)
    return optax.apply_updates(params, up), ost, loss
key, losses = key0, []
for i in range(steps):
    key, sub = jr.split(key)
    params, ost, loss = train_step(params, ost, data[i * 6 : i * 6 + 8], sub)
    losses.append(loss)
x = jr.normal(jr.key(99), (4, 2))
for t in reversed(range(T)):
    key, sub = jr.split(key)
    eps = net.apply(params, x, jnp.full(4, float(t)))
    x = (x - sched.betas[t] / jnp.sqrt(1 - sched.abar[t]) * eps) / jnp.sqrt(sched.alphas[t])
    if t > 0:
        x = x + jnp.sqrt(sched.betas[t]) * jr.normal(sub, x.shape)
print(len(losses), x.shape, bool(jnp.isfinite(x).all()))
x.mean(0), jnp.stack(losses)[-1]
---
T = 4
---
Schedule.noise = lambda self, x, t, eps: x + 0.1 * eps
---
steps = 2; data = data * -1

### oal-eqx-training-loop-infinite-dataloader-filter-jit-make-step needs=equinox tolerance=1e-3
import equinox as eqx
def get_data(n, seed=0):
    r = np.random.default_rng(seed)
    t = np.linspace(0, 2 * np.pi, 8)
    signs = r.integers(0, 2, n)
    xs = np.stack([np.where(signs == 1, 1, -1)[:, None] * np.sin(t), np.tile(np.cos(t), (n, 1))], -1)
    return jnp.asarray(xs + 0.05 * r.normal(size=xs.shape), jnp.float32), jnp.asarray(signs, jnp.float32)
def dataloader(arrays, batch_size, seed):
    n, r = arrays[0].shape[0], np.random.default_rng(seed)
    while True:
        perm = r.permutation(n)
        for start in range(0, n - batch_size + 1, batch_size):
            yield tuple(a[perm[start : start + batch_size]] for a in arrays)
class RNN(eqx.Module):
    cell: eqx.nn.GRUCell
    linear: eqx.nn.Linear
    bias: jax.Array
    hidden_size: int = eqx.field(static=True)
    def __init__(self, in_size, hidden_size, *, key):
        ck, lk = jr.split(key)
        self.cell, self.linear = eqx.nn.GRUCell(in_size, hidden_size, key=ck), eqx.nn.Linear(hidden_size, 1, use_bias=False, key=lk)
        self.bias, self.hidden_size = jnp.zeros(1), hidden_size
    def __call__(self, xs):
        out, _ = lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(self.hidden_size), xs)
        return jax.nn.sigmoid(self.linear(out) + self.bias)
@eqx.filter_value_and_grad
def compute_loss(model, x, y):
    p = jax.vmap(model)(x)[:, 0]
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
optim = optax.adam(1e-2)
@eqx.filter_jit
def make_step(model, x, y, opt_state):
    loss, grads = compute_loss(model, x, y)
    updates, opt_state = optim.update(grads, opt_state)
    return loss, eqx.apply_updates(model, updates), opt_state
xs, ys = get_data(24)
hidden, batch_size, steps = 6, 8, 5
---
model = RNN(2, hidden, key=jr.key(0))
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
losses = []
for step, (x, y) in zip(range(steps), dataloader((xs, ys), batch_size, seed=1)):
    loss, model, opt_state = make_step(model, x, y, opt_state)
    losses.append(loss.item())
    if step % 2 == 0:
        print(f"step={step} batch={x.shape}")
pred = jax.vmap(model)(xs)[:, 0]
accuracy = jnp.mean((pred > 0.5) == (ys > 0.5))
losses[-1], model.bias
---
hidden = 4
---
batch_size = 12; xs, ys = get_data(24, seed=3)
---
optim = optax.sgd(0.5)

### oal-eqx-partition-freeze-all-but-last-layer-filter-spec needs=equinox tolerance=1e-3
import equinox as eqx
model = eqx.nn.MLP(2, 1, 8, 2, key=jr.key(5))
x = jr.normal(jr.key(0), (16, 2)); y = (x[:, :1] * x[:, 1:])
def spec_for(model, where):
    spec = jax.tree.map(lambda _: False, model)
    return eqx.tree_at(where, spec, replace=(True, True))
where = lambda tree: (tree.layers[-1].weight, tree.layers[-1].bias)
lr, steps = 0.05, 4
---
filter_spec = spec_for(model, where)
diff, static = eqx.partition(model, filter_spec)
optim = optax.sgd(lr)
opt_state = optim.init(diff)
@eqx.filter_jit
def step(diff, opt_state):
    @eqx.filter_value_and_grad
    def loss(d):
        return jnp.mean((jax.vmap(eqx.combine(d, static))(x) - y) ** 2)
    l, g = loss(diff)
    up, opt_state = optim.update(g, opt_state)
    return eqx.apply_updates(diff, up), opt_state, l
curve = []
for i in range(steps):
    diff, opt_state, l = step(diff, opt_state)
    curve.append(l)
tuned = eqx.combine(diff, static)
unchanged = [bool(jnp.array_equal(a.weight, b.weight)) for a, b in zip(model.layers, tuned.layers)]
n_train = sum(v.size for v in jax.tree.leaves(eqx.filter(diff, eqx.is_array)))
print(unchanged, n_train)
jnp.stack(curve)
---
where = lambda tree: (tree.layers[0].weight, tree.layers[1].bias)
---
lr = 0.5; steps = 2
---
model = eqx.tree_at(lambda m: m.layers[0].bias, model, jnp.ones(8))

### oal-eqx-save-load-with-hyperparams-json-header-then-continue needs=equinox
import equinox as eqx
def make(*, key, hyper):
    return eqx.nn.MLP(**hyper, key=key)
def save(filename, hyper, model):
    with open(filename, "wb") as f:
        f.write((json.dumps(hyper) + "\n").encode())
        eqx.tree_serialise_leaves(f, model)
def load(filename):
    with open(filename, "rb") as f:
        hyper = json.loads(f.readline().decode())
        return hyper, eqx.tree_deserialise_leaves(f, make(key=jr.key(0), hyper=hyper))
hyper = {"in_size": 2, "out_size": 1, "width_size": 4, "depth": 1}
model = make(key=jr.key(7), hyper=hyper)
x = jnp.array([[0.5, -1.0], [2.0, 0.1]])
fname = "model.eqx"
---
save(fname, hyper, model)
got_hyper, restored = load(fname)
assert eqx.tree_equal(model, restored)
grads = eqx.filter_grad(lambda m: jnp.mean(jax.vmap(m)(x) ** 2))(restored)
restored = eqx.apply_updates(restored, jax.tree.map(lambda g: -0.1 * g, grads))
save("step1.eqx", got_hyper, restored)
_, again = load("step1.eqx")
files = sorted(p.name for p in Path(".").glob("*.eqx"))
same_as_before = eqx.tree_equal(again, model)
header = Path(fname).read_bytes().split(b"\n", 1)[0].decode()
print(files, header, bool(same_as_before))
jax.vmap(again)(x)
---
hyper["width_size"] = 3; model = make(key=jr.key(7), hyper=hyper)
---
x = x * 2
---
fname = "other.eqx"; model = eqx.tree_at(lambda m: m.layers[0].weight, model, jnp.ones((3, 2)))

### oal-eqx-batchnorm-state-threaded-inference-mode-switched needs=equinox tolerance=1e-3
import equinox as eqx
class Model(eqx.Module):
    norm: eqx.nn.BatchNorm
    l1: eqx.nn.Linear
    l2: eqx.nn.Linear
    drop: eqx.nn.Dropout
    def __init__(self, key):
        k1, k2 = jr.split(key)
        self.norm = eqx.nn.BatchNorm(4, axis_name="batch", mode="batch", momentum=0.9)
        self.l1, self.l2 = eqx.nn.Linear(3, 4, key=k1), eqx.nn.Linear(4, 2, key=k2)
        self.drop = eqx.nn.Dropout(0.3)
    def __call__(self, x, state, *, key=None):
        x, state = self.norm(self.l1(x), state)
        return self.l2(self.drop(jax.nn.relu(x), key=key)), state
def compute_loss(model, state, xs, ys, key):
    bm = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    keys = jr.split(key, len(xs))
    preds, state = jax.vmap(lambda x, s, k: model(x, s, key=k), axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))(xs, state, keys)
    return jnp.mean((preds - ys) ** 2), state
@eqx.filter_jit
def make_step(model, state, opt_state, xs, ys, key):
    (loss, state), grads = eqx.filter_value_and_grad(compute_loss, has_aux=True)(model, state, xs, ys, key)
    updates, opt_state = optim.update(grads, opt_state)
    return eqx.apply_updates(model, updates), state, opt_state, loss
xs, ys = jr.normal(jr.key(0), (12, 3)) * 3 + 1, jr.normal(jr.key(1), (12, 2))
optim, seed = optax.adam(1e-2), 4
---
model, state = eqx.nn.make_with_state(Model)(jr.key(seed))
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
losses = []
for i, k in enumerate(jr.split(jr.key(9), 4)):
    model, state, opt_state, loss = make_step(model, state, opt_state, xs, ys, k)
    losses.append(loss)
infer = eqx.nn.inference_mode(model)
preds, _ = jax.vmap(infer, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(xs, state)
back = eqx.nn.inference_mode(infer, value=False)
flags = [m.drop.inference for m in (model, infer, back)]
one, _ = eqx.filter_jit(lambda m, x, s: m(x, s))(infer, xs[0], state)
print(flags, preds.shape)
jnp.abs(one - preds[0]).max() < 1e-4, jnp.stack(losses)
---
seed = 6
---
optim = optax.sgd(0.1)
---
xs = xs[:8]; ys = ys[:8]

### oal-eqx-custom-counter-layer-stateindex-schedules-its-own-gain needs=equinox
import equinox as eqx
class Gain(eqx.Module):
    index: eqx.nn.StateIndex
    weight: jax.Array
    rate: float = eqx.field(static=True, default=0.5)
    def __init__(self, size, rate=0.5):
        self.index = eqx.nn.StateIndex((jnp.array(0), jnp.zeros(size)))
        self.weight, self.rate = jnp.ones(size), rate
    def __call__(self, x, state):
        n, mem = state.get(self.index)
        mem = self.rate * mem + (1 - self.rate) * x
        state = state.set(self.index, (n + 1, mem))
        return self.weight * mem, state
stream = [jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0]), jnp.array([-1.0, 1.0])]
rate, verbose = 0.5, True
---
layer, state = eqx.nn.make_with_state(Gain)(2, rate=rate)
first_state = state
outs = []
for i, x in enumerate(stream):
    y, state = layer(x, state)
    outs.append(y)
    if verbose:
        print("saw", int(state.get(layer.index)[0]))
n, memory = state.get(layer.index)
sub = state.substate(layer)
state = state.update(sub)
reset = eqx.nn.State(Gain(2))
try:
    first_state.get(layer.index)
    stale = "ok"
except Exception as err:
    stale = type(err).__name__
print(stale, int(n))
jnp.stack(outs)
---
rate = 0.0
---
stream.append(jnp.array([5.0, 5.0])); verbose = False

### oal-eqx-filter-vmap-ensemble-bootstrap-and-tree-unstack needs=equinox,pandas tolerance=1e-3
import equinox as eqx
import pandas as pd
def make_member(key):
    return eqx.nn.MLP(1, 1, 6, 1, activation=jax.nn.tanh, key=key)
def bootstrap(n, members, seed):
    return np.random.default_rng(seed).integers(0, n, (members, n))
x = jnp.linspace(-1, 1, 10)[:, None]; y = x**3
members, lr, steps = 3, 0.05, 4
---
ensemble = eqx.filter_vmap(make_member)(jr.split(jr.key(0), members))
idx = jnp.asarray(bootstrap(10, members, seed=1))
opt = optax.adam(lr)
opt_state = opt.init(eqx.filter(ensemble, eqx.is_array))
@eqx.filter_jit
def step(ens, opt_state):
    def loss(ens):
        per = eqx.filter_vmap(lambda m, i: jnp.mean((jax.vmap(m)(x[i]) - y[i]) ** 2))(ens, idx)
        return per.sum(), per
    (_, per), g = eqx.filter_value_and_grad(loss, has_aux=True)(ens)
    up, opt_state = opt.update(g, opt_state)
    return eqx.apply_updates(ens, up), opt_state, per
records = []
for s in range(steps):
    ensemble, opt_state, per = step(ensemble, opt_state)
    records += [{"step": s, "member": m, "loss": float(v)} for m, v in enumerate(per)]
df = pd.DataFrame(records).pivot(index="step", columns="member", values="loss")
arrays, static = eqx.partition(ensemble, eqx.is_array)
singles = [eqx.combine(jax.tree.map(lambda a: a[i], arrays), static) for i in range(members)]
pred = jnp.stack([jax.vmap(m)(x) for m in singles])
best = singles[int(df.iloc[-1].idxmin())]
print(df.shape, pred.shape)
pred.std(0).mean(), best(jnp.array([0.5]))
---
members = 2
---
def make_member(key):
    return eqx.nn.Linear(1, 1, key=key)
---
y = jnp.cos(x); lr = 0.2

### oal-eqx-spectral-like-weight-constraint-by-tree-at-each-step needs=equinox tolerance=1e-3
import equinox as eqx
def is_linear(m): return isinstance(m, eqx.nn.Linear)
def weights(model):
    return [m.weight for m in jax.tree.leaves(model, is_leaf=is_linear) if is_linear(m)]
def clip_model(model, c):
    return eqx.tree_at(weights, model, [jnp.clip(w, -c, c) for w in weights(model)])
critic = eqx.nn.Sequential([eqx.nn.Linear(2, 6, key=jr.key(0)), eqx.nn.Lambda(jax.nn.relu), eqx.nn.Linear(6, 1, key=jr.key(1))])
r = np.random.default_rng(4)
real, fake = jnp.asarray(r.normal(1, 1, (20, 2)), jnp.float32), jnp.asarray(r.normal(-1, 1, (20, 2)), jnp.float32)
c, n_critic, opt = 0.2, 5, optax.rmsprop(2e-2)
---
state = opt.init(eqx.filter(critic, eqx.is_array))
@eqx.filter_jit
def critic_step(critic, state):
    loss, g = eqx.filter_value_and_grad(lambda f: jax.vmap(f)(fake).mean() - jax.vmap(f)(real).mean())(critic)
    up, state = opt.update(g, state)
    return eqx.apply_updates(critic, up), state, -loss
distances = np.empty(n_critic)
for i in range(n_critic):
    critic, state, w = critic_step(critic, state)
    critic = clip_model(critic, c)
    distances[i] = w
biggest = max(float(jnp.abs(w).max()) for w in weights(critic))
shapes = [w.shape for w in weights(critic)]
print(shapes, biggest <= c + 1e-6)
distances[-1], weights(critic)[1]
---
c = 0.05
---
n_critic = 2; opt = optax.sgd(0.5)
---
def clip_model(model, c):
    return model

### oal-eqx-jaxtyped-attention-with-einsum-and-rope needs=equinox,jaxtyping tolerance=1e-3
import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray
def rope(x: Float[Array, "seq dim"], base: float = 100.0) -> Float[Array, "seq dim"]:
    seq, dim = x.shape
    ang = jnp.arange(seq)[:, None] * base ** (-jnp.arange(0, dim, 2) / dim)
    a, b = x[:, ::2], x[:, 1::2]
    return jnp.stack([a * jnp.cos(ang) - b * jnp.sin(ang), a * jnp.sin(ang) + b * jnp.cos(ang)], -1).reshape(seq, dim)
class Head(eqx.Module):
    wq: Float[Array, "d h"]
    wk: Float[Array, "d h"]
    wv: Float[Array, "d h"]
    def __init__(self, d: int, h: int, *, key: PRNGKeyArray):
        self.wq, self.wk, self.wv = (0.3 * jr.normal(k, (d, h)) for k in jr.split(key, 3))
    def __call__(self, x: Float[Array, "seq d"], mask=None) -> Float[Array, "seq h"]:
        q, k, v = rope(x @ self.wq), rope(x @ self.wk), x @ self.wv
        s = jnp.einsum("qh,kh->qk", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            s = jnp.where(mask, s, -jnp.inf)
        return jax.nn.softmax(s, -1) @ v
heads = [Head(6, 4, key=k) for k in jr.split(jr.key(3), 2)]
x = jr.normal(jr.key(0), (5, 6))
causal = True
---
mask = jnp.tril(jnp.ones((len(x), len(x)), bool)) if causal else None
outs = [h(x, mask) for h in heads]
merged = jnp.concatenate(outs, axis=-1)
checks = {}
for name, val, want in [("merged", merged, Float[Array, "5 8"]), ("x", x, Float[Array, "_ 6"]), ("ids", jnp.arange(3), Int[Array, "n"])]:
    checks[name] = isinstance(val, want)
shifted = x.at[-1].add(1.0)
leak = jnp.abs(heads[0](shifted, mask)[:-1] - outs[0][:-1]).max()
print(checks, "causal" if leak < 1e-6 else "leaks")
grads = eqx.filter_grad(lambda h: h(x, mask).sum())(heads[0])
merged, jnp.linalg.norm(grads.wq)
---
causal = False
---
def rope(x, base=100.0):
    return x
---
x = x[:3]

### oal-optax-multisteps-accumulation-vs-big-batch-with-inject-hyperparams tolerance=1e-3
def init(key):
    k1, k2 = jr.split(key)
    return {"w1": 0.5 * jr.normal(k1, (3, 5)), "w2": 0.5 * jr.normal(k2, (5, 1))}
def loss_fn(p, x, y):
    return jnp.mean((jnp.tanh(x @ p["w1"]) @ p["w2"] - y) ** 2)
X = jr.normal(jr.key(1), (24, 3)); Y = X.sum(1, keepdims=True)
every_k, base_lr, micro = 3, 0.1, 4
---
inner = optax.inject_hyperparams(optax.sgd)(learning_rate=base_lr)
ms = optax.MultiSteps(inner, every_k_schedule=every_k)
params = init(jr.key(0))
state = ms.init(params)
trace = []
for i, start in enumerate(range(0, len(X), micro)):
    xb, yb = X[start : start + micro], Y[start : start + micro]
    g = jax.grad(loss_fn)(params, xb, yb)
    up, state = ms.update(g, state, params)
    params = optax.apply_updates(params, up)
    if ms.has_updated(state):
        state.inner_opt_state.hyperparams["learning_rate"] *= 0.5
        trace.append((i, float(state.inner_opt_state.hyperparams["learning_rate"])))
big, big_state = init(jr.key(0)), inner.init(init(jr.key(0)))
up, big_state = inner.update(jax.grad(loss_fn)(big, X[: micro * every_k], Y[: micro * every_k]), big_state)
big = optax.apply_updates(big, up)
print(trace, int(state.gradient_step), int(state.mini_step))
loss_fn(params, X, Y), loss_fn(big, X, Y)
---
every_k = 2
---
base_lr = 0.02; micro = 6
---
def loss_fn(p, x, y):
    return jnp.mean(optax.losses.huber_loss(jnp.tanh(x @ p["w1"]) @ p["w2"], y))

### oal-optax-reduce-on-plateau-and-schedule-table-in-pandas needs=pandas tolerance=1e-3
import pandas as pd
schedules = {
    "warmcos": optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=3, decay_steps=10, end_value=0.01),
    "exp": optax.exponential_decay(0.1, transition_steps=2, decay_rate=0.7, staircase=True),
    "joined": optax.join_schedules([optax.constant_schedule(0.05), optax.linear_schedule(0.05, 0.0, 5)], [4]),
}
A = jnp.array([[3.0, 0.5], [0.5, 1.0]]); b = jnp.array([1.0, -2.0])
def objective(z): return 0.5 * z @ A @ z - b @ z
horizon, patience = 8, 2
---
table = pd.DataFrame({name: [float(s(t)) for t in range(horizon)] for name, s in schedules.items()})
results = {}
for name, sched in schedules.items():
    opt = optax.chain(optax.adam(sched), optax.contrib.reduce_on_plateau(factor=0.5, patience=patience, rtol=0.0, atol=0.5))
    z = jnp.zeros(2)
    st = opt.init(z)
    for t in range(horizon):
        value, g = jax.value_and_grad(objective)(z)
        up, st = opt.update(g, st, z, value=value)
        z = optax.apply_updates(z, up)
    results[name] = (z, objective(z), float(st[-1].scale))
ranked = sorted(results, key=lambda k: float(results[k][1]))
table.loc["mean"] = table.mean()
print(ranked, table.shape, {k: v[2] for k, v in results.items()})
results[ranked[0]][0]
---
schedules["flat"] = optax.constant_schedule(0.3)
---
patience = 1; horizon = 5
---
del schedules["exp"]; A = A * 2

### oal-optax-custom-gradient-transformation-with-named-tuple-state-and-stats
class SignMomentumState(NamedTuple):
    mu: Any
    count: jax.Array
def sign_momentum(decay, lr):
    def init_fn(params):
        return SignMomentumState(jax.tree.map(jnp.zeros_like, params), jnp.zeros([], jnp.int32))
    def update_fn(updates, state, params=None):
        mu = jax.tree.map(lambda m, g: decay * m + (1 - decay) * g, state.mu, updates)
        return jax.tree.map(lambda m: -lr * jnp.sign(m), mu), SignMomentumState(mu, optax.safe_increment(state.count))
    return optax.GradientTransformation(init_fn, update_fn)
def rosenbrock(p):
    return (1 - p["x"]) ** 2 + 10 * (p["y"] - p["x"] ** 2) ** 2
def mask_fn(p): return {k: k != "frozen" for k in p}
decay, lr, budget = 0.5, 0.1, 6
start = {"x": jnp.array(-0.5), "y": jnp.array(0.8)}
---
tx = optax.chain(optax.clip(5.0), sign_momentum(decay, lr), optax.masked(optax.add_decayed_weights(1e-4), mask_fn))
params, best = dict(start), (float("inf"), None)
opt_state = tx.init(params)
path, norms = [], []
while int(opt_state[1].count) < budget:
    value, grads = jax.value_and_grad(rosenbrock)(params)
    norms.append(optax.tree.norm(grads))
    if value < best[0]:
        best = (float(value), dict(params))
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    path.append((params["x"], params["y"]))
xy = jnp.array(path)
print(xy.shape, best[1].keys(), int(opt_state[1].count))
best[0], jnp.stack(norms).max()
---
lr = 0.03
---
def rosenbrock(p):
    return jnp.abs(p["x"] - 1) + jnp.abs(p["y"])
---
start["y"] = jnp.array(-1.0); budget = 3

### oal-optax-lbfgs-run-with-zoom-linesearch-info-namedtuple-printed tolerance=1e-2
class InfoState(NamedTuple):
    iter_num: int
    value: float
    grad_norm: float
def run_opt(init, fun, opt, max_iter, tol):
    vg = optax.value_and_grad_from_state(fun)
    params, state, infos = init, opt.init(init), []
    for it in range(max_iter):
        value, grad = vg(params, state=state)
        gn = optax.tree.norm(grad)
        infos.append(InfoState(it, value, gn))
        if gn < tol:
            break
        updates, state = opt.update(grad, state, params, value=value, grad=grad, value_fn=fun)
        params = optax.apply_updates(params, updates)
    return params, infos
r = np.random.default_rng(0)
feats = jnp.asarray(r.normal(size=(20, 3)), jnp.float32); target = jnp.asarray(r.integers(0, 2, 20))
l2, max_iter, tol = 0.1, 6, 1e-3
---
def fun(w):
    return optax.sigmoid_binary_cross_entropy(feats @ w, target).mean() + l2 * jnp.sum(w**2)
w, infos = run_opt(jnp.zeros(3), fun, optax.lbfgs(memory_size=4), max_iter, tol)
w_gd, infos_gd = run_opt(jnp.zeros(3), fun, optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(10, store_grad=True)), max_iter, tol)
better = infos[-1].value <= infos_gd[-1].value + 1e-4
print(f"lbfgs better: {bool(better)}", InfoState._fields)
hess = jax.hessian(fun)(w)
cond = jnp.linalg.cond(hess)
w, cond
---
l2 = 1.0
---
max_iter = 3; target = 1 - target

### oal-optax-sam-like-two-pass-adversarial-step-class-with-call-counter tolerance=1e-3
class SAM:
    def __init__(self, fn, rho, tx):
        self.fn, self.rho, self.tx, self.calls = fn, rho, tx, Counter()
        self._grad = jax.jit(jax.value_and_grad(fn))
    def grad(self, p, *batch, tag):
        self.calls[tag] += 1
        return self._grad(p, *batch)
    def step(self, p, st, *batch):
        loss, g = self.grad(p, *batch, tag="clean")
        scale = self.rho / (optax.tree.norm(g) + 1e-12)
        p_adv = optax.tree.add_scale(p, scale, g)
        _, g_adv = self.grad(p_adv, *batch, tag="sharp")
        up, st = self.tx.update(g_adv, st, p)
        return optax.apply_updates(p, up), st, loss
def mse(p, x, y):
    return jnp.mean((jax.nn.relu(x @ p[0]) @ p[1] - y) ** 2)
p0 = [jr.normal(jr.key(0), (2, 6)), jr.normal(jr.key(1), (6,)) * 0.3]
x = jr.normal(jr.key(2), (12, 2)); y = jnp.sign(x[:, 0])
rho, lr = 0.05, 0.05
---
sam = SAM(mse, rho, optax.sgd(lr, momentum=0.9))
p, st = p0, sam.tx.init(p0)
losses = {}
for epoch in range(2):
    for j, sl in enumerate((slice(0, 6), slice(6, 12))):
        p, st, losses[epoch, j] = sam.step(p, st, x[sl], y[sl])
eigs = jnp.linalg.eigvalsh(jax.hessian(lambda w: mse([p[0], w], x, y))(p[1]))
print(dict(sam.calls), sorted(losses))
eigs[-1], losses[1, 1]
---
rho = 0.5
---
def mse(p, x, y):
    return jnp.mean(jnp.abs(jax.nn.relu(x @ p[0]) @ p[1] - y))
---
SAM.step = lambda self, p, st, *b: (p, st, self.grad(p, *b, tag="only")[0])

### oal-numpyro-linear-regression-nuts-predictive-summary-table needs=numpyro,pandas tolerance=3e-2 cold
import numpyro, numpyro.distributions as dist, pandas as pd
from numpyro.infer import MCMC, NUTS, Predictive
def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0.0, 1.0))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    s = numpyro.sample("sigma", dist.HalfNormal(1.0))
    with numpyro.plate("N", len(x)):
        numpyro.sample("obs", dist.Normal(a + b * x, s), obs=y)
x = jnp.linspace(-1, 1, 12)
y = 0.5 - 1.2 * x + 0.1 * jr.normal(jr.key(3), (12,))
n, thin = 12, 1
---
mcmc = MCMC(NUTS(model, max_tree_depth=3), num_warmup=10, num_samples=n, thinning=thin, progress_bar=False)
mcmc.run(jr.key(0), x, y=y)
samples = mcmc.get_samples()
summary = pd.DataFrame({k: {"mean": float(v.mean()), "n": len(v)} for k, v in samples.items()}).T
pp = Predictive(model, samples)(jr.key(1), jnp.array([0.0, 2.0]))["obs"]
lo, hi = np.percentile(np.asarray(pp), [5, 95], axis=0)
extra = sorted(mcmc.get_extra_fields())
print(summary.index.tolist(), pp.shape, extra, bool((lo <= hi).all()))
summary["n"].sum(), samples["sigma"].min() > 0
---
thin = 2
---
y = -y
---
def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0.0, 2.0))
    numpyro.sample("obs", dist.Normal(a * jnp.ones_like(x), 0.5).to_event(1), obs=y)
    numpyro.deterministic("sigma", jnp.abs(a))

### oal-numpyro-svi-manual-guide-update-loop-with-best-params-kept needs=numpyro tolerance=5e-3
import numpyro, numpyro.distributions as dist
from numpyro.distributions import constraints
from numpyro.infer import SVI, Trace_ELBO, Predictive
def model(data):
    f = numpyro.sample("fairness", dist.Beta(10.0, 10.0))
    with numpyro.plate("N", len(data)):
        numpyro.sample("obs", dist.Bernoulli(f), obs=data)
def guide(data):
    a = numpyro.param("alpha_q", 15.0, constraint=constraints.positive)
    b = numpyro.param("beta_q", lambda key: jr.uniform(key) + 14.0, constraint=constraints.positive)
    numpyro.sample("fairness", dist.Beta(a, b))
data = jnp.array([1.0] * 6 + [0.0] * 4)
lr, steps, patience = 0.05, 8, 5
---
svi = SVI(model, guide, optax.adam(lr), Trace_ELBO(num_particles=2))
state = svi.init(jr.key(1), data)
losses, best, bad = [], (np.inf, None), 0
for i in range(steps):
    state, loss = svi.update(state, data)
    losses.append(loss)
    if loss < best[0]:
        best, bad = (float(loss), svi.get_params(state)), 0
    else:
        bad += 1
    if bad >= patience:
        print("stopping at", i)
        break
params = svi.get_params(state)
a, b = params["alpha_q"], params["beta_q"]
mean = a / (a + b)
std = mean * jnp.sqrt(b / (a * (1 + a + b)))
post = Predictive(guide, params=params, num_samples=5)(jr.key(2), data)["fairness"]
elbo = -svi.evaluate(state, data)
print(sorted(best[1]), post.shape)
mean, std, jnp.stack(losses).mean()
---
data = jnp.concatenate([data, jnp.ones(5)])
---
patience = 1
---
def guide(data):
    m = numpyro.param("alpha_q", 5.0, constraint=constraints.positive)
    numpyro.param("beta_q", 5.0, constraint=constraints.positive)
    numpyro.sample("fairness", dist.Beta(m, m))

### oal-numpyro-handlers-seed-trace-substitute-scale-block-by-hand needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
def model(groups, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 2))
    tau = numpyro.sample("tau", dist.HalfCauchy(1.0))
    with numpyro.plate("J", 3):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
    with numpyro.plate("obs_plate", len(groups)):
        return numpyro.sample("y", dist.Normal(theta[groups], 0.5), obs=y)
def site_log_probs(tr):
    return {n: s["fn"].log_prob(s["value"]).sum() for n, s in tr.items() if s["type"] == "sample"}
groups = jnp.array([0, 1, 1, 2, 0]); y = jnp.array([0.1, 1.2, 0.9, -0.4, 0.3])
fixed, seed = {"mu": jnp.array(0.5)}, 0
---
with handlers.seed(rng_seed=seed):
    prior = handlers.trace(model).get_trace(groups)
tr = handlers.trace(handlers.seed(handlers.substitute(model, data=fixed), seed)).get_trace(groups, y)
lps = site_log_probs(tr)
joint = sum(lps.values())
with handlers.seed(rng_seed=seed), handlers.block(hide=["tau"]), handlers.trace() as outer:
    model(groups)
do_tr = handlers.trace(handlers.seed(handlers.do(model, data={"tau": 0.1}), 4)).get_trace(groups)
del do_tr["tau"]["_intervener_id"]
replayed = handlers.trace(handlers.replay(handlers.seed(model, 99), prior)).get_trace(groups)
same = bool(jnp.array_equal(replayed["theta"]["value"], prior["theta"]["value"]))
scaled = handlers.trace(handlers.seed(handlers.scale(model, scale=0.5), 0)).get_trace(groups)
print(sorted(outer), same, scaled["mu"]["scale"], [k for k, s in tr.items() if s.get("is_observed")])
joint, lps, do_tr["theta"]["value"].shape
---
fixed["tau"] = jnp.array(0.2)
---
seed = 12; y = y + 1
---
fixed.clear(); groups = groups[:3]; y = y[:3]

### oal-numpyro-hmm-forward-with-scan-and-factor-and-em-like-loop needs=numpyro tolerance=3e-3
import numpyro, numpyro.distributions as dist
from numpyro.infer.util import log_density, initialize_model, potential_energy
K = 2
def hmm(obs):
    trans = numpyro.sample("trans", dist.Dirichlet(jnp.array([[4.0, 1.0], [1.0, 4.0]])).to_event(1))
    means = numpyro.sample("means", dist.Normal(jnp.array([-1.0, 1.0]), 1.0).to_event(1))
    def step(alpha, o):
        alpha = jax.nn.logsumexp(alpha[:, None] + jnp.log(trans), axis=0) + dist.Normal(means, 0.5).log_prob(o)
        return alpha, alpha
    first = jnp.log(jnp.full(K, 1 / K)) + dist.Normal(means, 0.5).log_prob(obs[0])
    last, alphas = lax.scan(step, first, obs[1:])
    numpyro.factor("ll", jax.nn.logsumexp(last))
    return alphas
obs = jnp.array([-1.1, -0.9, 1.2, 0.8, 1.1, -1.0])
lr, iters = 0.1, 5
---
init, potential_fn, postprocess, _ = initialize_model(jr.key(0), hmm, model_args=(obs,), dynamic_args=False)
z = init.z
tx = optax.adam(lr)
st = tx.init(z)
energies = []
for _ in range(iters):
    u, g = jax.value_and_grad(potential_fn)(z)
    up, st = tx.update(g, st)
    z = optax.apply_updates(z, up)
    energies.append(u)
    if len(energies) > 2 and energies[-1] > energies[-2]:
        print("went up at", len(energies))
        break
map_est = postprocess(z)
ld, tr = log_density(hmm, (obs,), {}, {k: map_est[k] for k in ("trans", "means")})
rows = map_est["trans"].sum(-1)
order = np.argsort(np.asarray(map_est["means"]))
print(sorted(map_est), sorted(tr), np.allclose(rows, 1, atol=1e-4))
map_est["means"], ld
---
obs = jnp.append(obs, jnp.array([2.0, 2.1]))
---
lr = 0.5
---
iters = 2

### oal-diffrax-lotka-volterra-fit-parameters-adam-over-saveat-grid needs=diffrax tolerance=5e-3
import diffrax as dfx
def vector_field(t, y, args):
    prey, predator = y
    a, b, c, d = jnp.exp(args)
    return jnp.array([a * prey - b * prey * predator, -c * predator + d * prey * predator])
true = jnp.log(jnp.array([1.0, 0.8, 1.2, 0.6])); y0 = jnp.array([1.5, 1.0])
ts = jnp.linspace(0.0, 3.0, 7)
solver, rtol = dfx.Tsit5(), 1e-4
---
def solve(theta):
    sol = dfx.diffeqsolve(dfx.ODETerm(vector_field), solver, ts[0], ts[-1], 0.05, y0, args=theta, saveat=dfx.SaveAt(ts=ts), stepsize_controller=dfx.PIDController(rtol=rtol, atol=rtol * 1e-2), max_steps=256)
    return sol.ys, sol.stats
data, stats = solve(true)
vg = jax.jit(jax.value_and_grad(lambda th: jnp.mean((solve(th)[0] - data) ** 2)))
theta = true + jnp.array([0.1, -0.1, 0.05, 0.1])
opt = optax.adam(0.03)
st = opt.init(theta)
log = {"loss": [], "theta": []}
for i in range(5):
    loss, g = vg(theta)
    up, st = opt.update(g, st)
    theta = optax.apply_updates(theta, up)
    log["loss"].append(loss); log["theta"].append(jnp.exp(theta))
ok = log["loss"][-1] < log["loss"][0]
names = dict(zip("abcd", (round(float(v), 1) for v in log["theta"][-1])))
print(bool(ok), int(stats["num_accepted_steps"]) > 0, list(names))
data[-1], jnp.stack(log["loss"])
---
y0 = jnp.array([1.0, 1.0])
---
solver = dfx.Heun(); ts = jnp.linspace(0.0, 2.0, 5)
---
def vector_field(t, y, args):
    a, b, c, d = jnp.exp(args)
    return jnp.array([a * y[1], -c * y[0]]) - 0.1 * b * d * y

### oal-diffrax-bouncing-ball-event-restarted-in-python-loop needs=diffrax,optimistix tolerance=5e-3
import diffrax as dfx, optimistix as optx
def gravity(t, y, args):
    x, v = y
    return v, -args["g"] - args["drag"] * v * jnp.abs(v)
def hit_floor(t, y, args, **kwargs):
    return y[0]
args = {"g": 9.81, "drag": 0.0}
restitution, max_bounces, height = 0.6, 4, 5.0
---
event = dfx.Event(hit_floor, optx.Newton(1e-4, 1e-4, optx.rms_norm))
t, y = jnp.array(0.0), (jnp.array(height), jnp.array(0.0))
bounces = []
for k in range(max_bounces):
    sol = dfx.diffeqsolve(dfx.ODETerm(gravity), dfx.Tsit5(), t, t + 20.0, 0.01, y, args=args, event=event, stepsize_controller=dfx.PIDController(1e-4, 1e-6))
    t_hit, v_hit = sol.ts[-1], sol.ys[1][-1]
    bounces.append({"k": k, "t": t_hit, "v": v_hit})
    if jnp.abs(v_hit) < 1.0:
        print("at rest after", k)
        break
    t, y = t_hit, (jnp.array(1e-3), -restitution * v_hit)
times = jnp.stack([b["t"] for b in bounces])
gaps = jnp.diff(times)
energy = [0.5 * float(b["v"]) ** 2 for b in bounces]
print(len(bounces), all(a > b for a, b in zip(energy, energy[1:])), sol.result == dfx.RESULTS.event_occurred)
times[0], gaps
---
restitution = 0.3
---
args["drag"] = 0.05
---
height = 1.0; max_bounces = 2

### oal-diffrax-ou-sde-paths-vmapped-brownian-trees-and-moments needs=diffrax tolerance=5e-3
import diffrax as dfx
@dataclass
class OU:
    theta: float = 1.0
    mu: float = 0.5
    sigma: float = 0.4
    def terms(self, key, t1):
        bm = dfx.VirtualBrownianTree(0.0, t1, tol=1e-3, shape=(), key=key)
        drift = dfx.ODETerm(lambda t, y, a: self.theta * (self.mu - y))
        diffusion = dfx.ControlTerm(lambda t, y, a: self.sigma, bm)
        return dfx.MultiTerm(drift, diffusion)
proc, t1, n_paths = OU(), 1.0, 6
---
save = dfx.SaveAt(ts=jnp.linspace(0, t1, 5))
@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def simulate(key, y0):
    return dfx.diffeqsolve(proc.terms(key, t1), dfx.Euler(), 0.0, t1, 0.05, y0, saveat=save).ys
stats = []
for y0 in (0.0, 2.0):
    paths = simulate(jr.split(jr.key(7), n_paths), jnp.array(y0))
    expect = proc.mu + (y0 - proc.mu) * np.exp(-proc.theta * np.asarray(save.subs.ts))
    stats.append({"y0": y0, "mean": paths.mean(0), "err": np.abs(paths.mean(0) - expect).max()})
closer = [s["y0"] for s in stats if s["err"] < 0.5]
spread = paths.std(0)
print(paths.shape, len(closer), [sorted(s) for s in stats][0])
spread, stats[0]["mean"]
---
proc.sigma = 0.0
---
proc = replace(proc, sigma=1.0, theta=3.0)
---
n_paths = 3; t1 = 2.0

### oal-diffrax-neural-cde-classifier-hermite-coeffs-equinox needs=diffrax,equinox tolerance=5e-3
import diffrax as dfx, equinox as eqx
class Func(eqx.Module):
    mlp: eqx.nn.MLP
    data: int
    hidden: int
    def __init__(self, data, hidden, *, key):
        self.data, self.hidden = data, hidden
        self.mlp = eqx.nn.MLP(hidden, hidden * data, 8, 1, activation=jax.nn.softplus, final_activation=jnp.tanh, key=key)
    def __call__(self, t, y, args):
        return self.mlp(y).reshape(self.hidden, self.data)
class NeuralCDE(eqx.Module):
    initial: eqx.nn.Linear
    func: Func
    head: eqx.nn.Linear
    def __init__(self, data, hidden, *, key):
        a, b, c = jr.split(key, 3)
        self.initial, self.func, self.head = eqx.nn.Linear(data, hidden, key=a), Func(data, hidden, key=b), eqx.nn.Linear(hidden, 1, key=c)
    def __call__(self, ts, coeffs):
        control = dfx.CubicInterpolation(ts, coeffs)
        sol = dfx.diffeqsolve(dfx.ControlTerm(self.func, control).to_ode(), dfx.Heun(), ts[0], ts[-1], 0.2, self.initial(control.evaluate(ts[0])), max_steps=32)
        return self.head(sol.ys[-1])[0]
def spirals(n, seed):
    r = np.random.default_rng(seed)
    ts, lab = np.linspace(0, 2, 6), r.integers(0, 2, n)
    th = r.uniform(0, 2 * np.pi, n)[:, None] + np.where(lab, 1, -1)[:, None] * ts
    ys = np.stack([np.tile(ts, (n, 1)), np.cos(th), np.sin(th)], -1)
    return jnp.asarray(ts, jnp.float32), jnp.asarray(ys, jnp.float32), jnp.asarray(lab, jnp.float32)
n, hidden, lr = 8, 4, 1e-2
---
ts, ys, labels = spirals(n, seed=2)
coeffs = jax.vmap(dfx.backward_hermite_coefficients, in_axes=(None, 0))(ts, ys)
model = NeuralCDE(3, hidden, key=jr.key(0))
optim = optax.adam(lr)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
@eqx.filter_jit
def step(model, opt_state):
    def loss(m):
        logits = jax.vmap(m, in_axes=(None, 0))(ts, coeffs)
        return optax.sigmoid_binary_cross_entropy(logits, labels).mean(), (logits > 0) == labels
    (l, hit), g = eqx.filter_value_and_grad(loss, has_aux=True)(model)
    up, opt_state = optim.update(g, opt_state)
    return eqx.apply_updates(model, up), opt_state, l, hit.mean()
rows = []
for i in range(3):
    model, opt_state, l, acc = step(model, opt_state)
    rows.append((i, l, acc))
    print(f"step {i} n={n}")
final = jnp.array([r[1] for r in rows])
final, model.head.bias
---
hidden = 3
---
n = 5
---
lr = 0.1

### oal-haiku-resnet-like-state-batchnorm-with-loss-scale-and-eval needs=haiku tolerance=3e-3
import haiku as hk
class Block(hk.Module):
    def __init__(self, width, name=None):
        super().__init__(name=name)
        self.width = width
    def __call__(self, x, is_training):
        h = hk.Linear(self.width)(x)
        h = hk.BatchNorm(True, True, decay_rate=0.9)(h, is_training)
        h = jax.nn.relu(h)
        if is_training:
            h = hk.dropout(hk.next_rng_key(), 0.1, h)
        return h + hk.Linear(self.width, with_bias=False, name="skip")(x)
def forward(x, is_training):
    n = hk.get_state("calls", (), jnp.int32, init=jnp.zeros)
    hk.set_state("calls", n + 1)
    for i in range(2):
        x = Block(5, name=f"block_{i}")(x, is_training)
    return hk.nets.MLP([4, 2])(x)
net = hk.transform_with_state(forward)
r = np.random.default_rng(8)
X, Y = r.normal(size=(20, 3)).astype(np.float32), r.integers(0, 2, 20)
opt, bs = optax.adam(1e-2), 5
---
rng = hk.PRNGSequence(42)
params, state = net.init(next(rng), X[:bs], True)
opt_state = opt.init(params)
@jax.jit
def update(params, state, opt_state, key, x, y):
    def loss(p):
        logits, new = net.apply(p, state, key, x, True)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), new
    (l, new_state), g = jax.value_and_grad(loss, has_aux=True)(params)
    up, opt_state = opt.update(g, opt_state, params)
    return optax.apply_updates(params, up), new_state, opt_state, l
losses = []
for i in range(0, len(X), bs):
    params, state, opt_state, l = update(params, state, opt_state, next(rng), X[i : i + bs], Y[i : i + bs])
    losses.append(l)
logits, _ = net.apply(params, state, None, X, False)
acc = float((logits.argmax(-1) == Y).mean())
n_params = sum(int(np.prod(p.shape)) for p in jax.tree.leaves(params))
calls = int(state["~"]["calls"]) if "~" in state else None
print(n_params, calls, sorted(params)[:2], 0 <= acc <= 1)
jnp.stack(losses)
---
bs = 10
---
opt = optax.chain(optax.add_decayed_weights(1e-2), optax.sgd(0.1))
---
Block.__call__ = lambda self, x, is_training: hk.Linear(self.width)(x)
net = hk.transform_with_state(forward)

### oal-haiku-dqn-replay-deque-target-params-epsilon-episodes needs=haiku tolerance=3e-3
import haiku as hk
class Corridor:
    def __init__(self, n=5):
        self.n = n
    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()
    def obs(self):
        return np.eye(self.n, dtype=np.float32)[self.pos]
    def step(self, a):
        self.pos = int(np.clip(self.pos + (1 if a else -1), 0, self.n - 1))
        self.t += 1
        done = self.pos == self.n - 1
        return self.obs(), float(done) - 0.01, done or self.t >= 8
qnet = hk.without_apply_rng(hk.transform(lambda o: hk.nets.MLP([8, 2])(o)))
Transition = namedtuple("Transition", "obs act rew next done")
env, opt = Corridor(), optax.adam(1e-2)
gamma, bs, episodes, sync = 0.9, 4, 3, 5
---
py_rng, buf = random.Random(0), deque(maxlen=50)
params = qnet.init(jr.key(0), env.reset())
target, opt_state = params, opt.init(params)
@jax.jit
def learn(params, target, opt_state, batch):
    def loss(p):
        q = jnp.take_along_axis(qnet.apply(p, batch.obs), batch.act[:, None], 1)[:, 0]
        y = batch.rew + gamma * (1 - batch.done) * qnet.apply(target, batch.next).max(-1)
        return optax.huber_loss(q, lax.stop_gradient(y)).mean()
    l, g = jax.value_and_grad(loss)(params)
    up, opt_state = opt.update(g, opt_state)
    return optax.apply_updates(params, up), opt_state, l
returns, n_updates, last = [], 0, None
for ep in range(episodes):
    obs, done, total = env.reset(), False, 0.0
    while not done:
        a = py_rng.randrange(2) if py_rng.random() < 0.5 else int(qnet.apply(params, obs).argmax())
        nxt, rew, done = env.step(a)
        buf.append(Transition(obs, a, rew, nxt, float(done)))
        obs, total = nxt, total + rew
        if len(buf) >= bs:
            batch = Transition(*map(np.array, zip(*py_rng.sample(list(buf), bs))))
            params, opt_state, last = learn(params, target, opt_state, batch)
            n_updates += 1
            if n_updates % sync == 0:
                target = params
    returns.append(total)
print(len(returns), len(buf) == sum([len(buf)]), n_updates > 0)
qnet.apply(params, np.eye(env.n, dtype=np.float32)).shape, last
---
gamma = 0.5
---
env = Corridor(4)
---
episodes = 2; bs = 6

### oal-haiku-transform-misuse-outside-raises-value-error needs=haiku
import haiku as hk
def build(width):
    return hk.Linear(width)
x = jnp.ones((2, 3))
inside, width, out = True, 4, None
---
f = hk.without_apply_rng(hk.transform(lambda v: build(width)(v)))
params = f.init(jr.key(0), x)
out = f.apply(params, x).sum()
print("width", params["linear"]["w"].shape)
if not inside:
    layer = build(width)
    out = layer(x)
final = out * 2
---
width = 2
---
inside = False
---
inside = True; x = jnp.ones((1, 3))

### oal-orbax-manager-best-metric-composite-resume-after-crash needs=orbax.checkpoint cold
import orbax.checkpoint as ocp, shutil
root = Path("runs/exp").absolute()
class Crash(Exception): pass
def loss_fn(p, x): return jnp.mean((x @ p["w"] + p["b"] - x.sum(-1)) ** 2)
x = jr.normal(jr.key(0), (8, 3))
tx = optax.sgd(0.1, momentum=0.9)
total, crash_at, keep = 5, 3, 2
---
if root.exists():
    shutil.rmtree(root)
def fit(mngr, total, crash_at=None):
    params = {"w": jnp.zeros(3), "b": jnp.array(0.0)}
    state, start = {"params": params, "opt": tx.init(params)}, 0
    if mngr.latest_step() is not None:
        got = mngr.restore(mngr.latest_step(), args=ocp.args.Composite(state=ocp.args.StandardRestore(state), meta=ocp.args.JsonRestore()))
        state, start = got["state"], got["meta"]["next"]
    for step in range(start, total):
        if step == crash_at:
            raise Crash(step)
        l, g = jax.value_and_grad(loss_fn)(state["params"], x)
        up, o = tx.update(g, state["opt"])
        state = {"params": optax.apply_updates(state["params"], up), "opt": o}
        mngr.save(step, args=ocp.args.Composite(state=ocp.args.StandardSave(state), meta=ocp.args.JsonSave({"next": step + 1})), metrics={"loss": float(l)})
    mngr.wait_until_finished()
    return state, start
options = ocp.CheckpointManagerOptions(max_to_keep=keep, best_fn=lambda m: m["loss"], best_mode="min")
with ocp.CheckpointManager(root, options=options) as mngr:
    try:
        fit(mngr, total, crash_at)
    except Crash as e:
        print("crashed at", e)
        mngr.wait_until_finished()
    state, resumed = fit(mngr, total)
    kept, best = list(mngr.all_steps()), mngr.best_step()
print(resumed, kept, best)
state["params"]["w"], loss_fn(state["params"], x)
---
crash_at = None
---
keep = 1; total = 4
---
tx = optax.sgd(0.01, momentum=0.9); crash_at = 1

### oal-orbax-missing-checkpoint-raises-then-exists needs=orbax.checkpoint cold
import orbax.checkpoint as ocp
base = Path("store").absolute()
tree = {"a": jnp.arange(3.0), "n": 2}
tag, loaded = "missing", []
---
ckptr = ocp.PyTreeCheckpointer()
total = jnp.sum(tree["a"]) * tree["n"]
loaded.append(tag)
where = base / tag
if where.exists():
    print("found", where.name)
back = ckptr.restore(where)
diff = jax.tree.map(lambda u, v: jnp.sum(jnp.abs(u - v)), tree, back)
print(sorted(diff), len(loaded))
---
ocp.PyTreeCheckpointer().save(base / "v1", {"a": jnp.arange(3.0) + 1, "n": 2}); tag = "v1"
---
tree["a"] = jnp.zeros(3)
---
tag = "v2"

### oal-optimistix-curve-fit-levenberg-marquardt-bootstrap-with-aux needs=optimistix tolerance=5e-3
import optimistix as optx
def decay(p, t):
    return p["amp"] * jnp.exp(-p["rate"] * t) + p["offset"]
def residuals(p, args):
    t, y = args
    pred = decay(p, t)
    return pred - y, {"pred": pred}
t = jnp.linspace(0, 4, 15)
y = 2.0 * jnp.exp(-0.9 * t) + 0.3 + 0.02 * jr.normal(jr.key(1), (15,))
guess = {"amp": jnp.array(1.0), "rate": jnp.array(0.5), "offset": jnp.array(0.0)}
solvers = {"lm": optx.LevenbergMarquardt(1e-5, 1e-5), "dogleg": optx.Dogleg(1e-5, 1e-5)}
n_boot = 2
---
fits = {}
for name, solver in solvers.items():
    sol = optx.least_squares(residuals, solver, guess, args=(t, y), has_aux=True, max_steps=64)
    fits[name] = sol.value
    rss = jnp.sum((sol.aux["pred"] - y) ** 2)
    print(name, sol.result == optx.RESULTS.successful, rss < 0.1)
rng, boots = np.random.default_rng(3), []
for b in range(n_boot):
    idx = np.sort(rng.integers(0, len(t), len(t)))
    sol = optx.least_squares(residuals, solvers["lm"], fits["lm"], args=(t[idx], y[idx]), has_aux=True, throw=False)
    boots.append(sol.value)
stacked = jax.tree.map(lambda *v: jnp.stack(v), *boots)
half_life = math.log(2) / fits["lm"]["rate"]
agree = jax.tree.map(lambda a, b: bool(jnp.allclose(a, b, atol=1e-2)), fits["lm"], fits["dogleg"] if "dogleg" in fits else fits["lm"])
print(agree, stacked["amp"].shape)
half_life, fits["lm"]
---
y = y + 0.5
---
del solvers["dogleg"]
---
def decay(p, t):
    return p["amp"] / (1 + p["rate"] * t) + p["offset"]

### oal-optimistix-root-find-no-root-raises-equinox-runtime-error needs=optimistix,equinox
import optimistix as optx
def fn(y, args):
    return args + y**2
solver = optx.Newton(rtol=1e-5, atol=1e-5)
targets, roots = [-4.0, -2.0, 1.0], {}
---
for c in targets:
    sol = optx.root_find(fn, solver, jnp.array(1.0), args=c, max_steps=30)
    roots[c] = sol.value
    slope = jax.grad(fn)(sol.value, c)
    steps = int(sol.stats["num_steps"])
    print("root for", c, steps > 0)
worst = max(abs(float(fn(r, c))) for c, r in roots.items())
print("all done", worst < 1e-3)
---
targets.pop()
---
def fn(y, args):
    return jnp.cos(y) - y + 0 * args
---
targets = [2.0]; roots = {}
def fn(y, args):
    return jnp.exp(y) + args

### oal-optimistix-equilibrium-economy-root-implicit-diff-and-bisection needs=optimistix tolerance=3e-3
import optimistix as optx
@dataclass
class Market:
    elasticity: float
    subsidy: float = 0.0
    def excess(self, price, tax):
        demand = 10.0 * price ** (-self.elasticity)
        supply = 2.0 * (price - tax + self.subsidy)
        return demand - supply
market = Market(1.5)
taxes = [0.0, 0.2, 0.5]
---
def price_at(tax):
    sol = optx.root_find(lambda p, a: market.excess(p, a), optx.Newton(1e-5, 1e-5), jnp.array(2.0), args=tax)
    return sol.value
def price_bisect(tax):
    sol = optx.root_find(lambda p, a: market.excess(p, a), optx.Bisection(1e-5, 1e-5), jnp.array(2.0), args=tax, options=dict(lower=0.1, upper=20.0), max_steps=64)
    return sol.value
table = []
for tax in taxes:
    p, dp = jax.value_and_grad(price_at)(jnp.asarray(tax))
    q = price_bisect(jnp.asarray(tax))
    table.append([tax, p, dp, jnp.abs(p - q)])
pass_through = jnp.array([row[2] for row in table])
revenue = {tax: float(tax * market.elasticity) for tax in taxes}
cobweb = optx.fixed_point(lambda p, a: 0.5 * p + 0.5 * (5.0 * p ** (-market.elasticity)) + 0 * a, optx.FixedPointIteration(1e-4, 1e-4), jnp.array(2.0), args=0.0, throw=False, max_steps=50)
print(all(row[3] < 1e-2 for row in table), len(revenue))
pass_through, cobweb.value
---
market.subsidy = 0.5
---
taxes.append(1.0)
---
market = Market(0.8)

### oal-lineax-gp-posterior-cholesky-cg-tags-and-jitter-fallback needs=lineax,equinox tolerance=5e-3
import lineax as lx
def rbf(a, b, ls):
    return jnp.exp(-0.5 * (a[:, None] - b[None]) ** 2 / ls**2)
def solve(K, rhs, how):
    op = lx.MatrixLinearOperator(K, (lx.symmetric_tag, lx.positive_semidefinite_tag))
    solver = {"chol": lx.Cholesky(), "cg": lx.CG(1e-5, 1e-5), "auto": lx.AutoLinearSolver(well_posed=True)}[how]
    return lx.linear_solve(op, rhs, solver, throw=False)
xs = jnp.array([-1.5, -0.7, 0.2, 0.9, 1.4]); ys = jnp.sin(2 * xs)
grid, ls, noise = jnp.linspace(-2, 2, 7), 0.6, 1e-2
---
K = rbf(xs, xs, ls) + noise * jnp.eye(len(xs))
sols = {how: solve(K, ys, how) for how in ("chol", "cg", "auto")}
alpha = sols["chol"].value
Ks = rbf(grid, xs, ls)
mean = Ks @ alpha
V = jax.vmap(lambda k: solve(K, k, "chol").value)(Ks)
var = 1.0 - jnp.sum(Ks * V, axis=1)
steps = {how: s.stats.get("num_steps") is not None for how, s in sols.items()}
ok = {how: bool(s.result == lx.RESULTS.successful) for how, s in sols.items()}
gaps = [float(jnp.abs(s.value - alpha).max()) < 1e-2 for s in sols.values()]
op = lx.MatrixLinearOperator(K, lx.positive_semidefinite_tag)
diag = lx.DiagonalLinearOperator(jnp.arange(1.0, len(xs) + 1.0))
both = (op + diag).mv(ys) - op.mv(ys) - diag.mv(ys)
print(ok, gaps, lx.is_positive_semidefinite(op), lx.is_diagonal(diag), steps)
mean, var.min() > -1e-3, jnp.abs(both).max() < 1e-5
---
ls = 0.3
---
noise = 0.5
---
xs = jnp.append(xs, 0.5); ys = jnp.cos(xs)

### oal-jmp-policy-mixed-precision-dynamic-loss-scale-skips needs=jmp,haiku tolerance=2e-2
import jmp, haiku as hk
policy = jmp.get_policy("params=float32,compute=float16,output=float32")
def forward(x):
    return hk.nets.MLP([6, 1])(x)
net = hk.without_apply_rng(hk.transform(forward))
x = jr.normal(jr.key(0), (8, 2)); y = x[:, :1] - x[:, 1:]
init_scale, spike_at, steps = 2.0**10, 2, 5
---
params = policy.cast_to_param(net.init(jr.key(1), x))
scale = jmp.DynamicLossScale(jnp.float32(init_scale), period=2)
opt = optax.sgd(0.05)
ost = opt.init(params)
skipped, scales = [], []
for step in range(steps):
    boost = 1e6 if step == spike_at else 1.0
    def loss_fn(p):
        out = net.apply(policy.cast_to_compute(p), policy.cast_to_compute(x * boost))
        return scale.scale(jnp.mean((policy.cast_to_output(out) - y) ** 2))
    grads = scale.unscale(jax.grad(loss_fn)(params))
    finite = jmp.all_finite(grads)
    scale = scale.adjust(finite)
    if finite:
        up, ost = opt.update(grads, ost)
        params = optax.apply_updates(params, up)
    else:
        skipped.append(step)
    scales.append(float(scale.loss_scale))
dtypes = {str(p.dtype) for p in jax.tree.leaves(params)}
print(skipped, scales, dtypes, policy.compute_dtype.__name__)
jnp.mean((net.apply(params, x) - y) ** 2)
---
spike_at = 0
---
init_scale = 8.0; spike_at = None
---
policy = jmp.get_policy("full")

### oal-reinforce-bandit-chain-episodes-discounted-with-nnx-policy needs=flax tolerance=3e-3
from flax import nnx
class Policy(nnx.Module):
    def __init__(self, n_obs, n_act, rngs):
        self.body, self.head = nnx.Linear(n_obs, 8, rngs=rngs), nnx.Linear(8, n_act, rngs=rngs)
    def __call__(self, obs):
        return self.head(nnx.tanh(self.body(obs)))
class PoleEnv:
    def __init__(self, seed): self.rng = np.random.default_rng(seed)
    def reset(self):
        self.s, self.t = self.rng.uniform(-0.05, 0.05, 2), 0
        return self.s.astype(np.float32)
    def step(self, a):
        self.s = self.s + 0.1 * np.array([self.s[1], 0.5 * np.sin(self.s[0]) + (a - 0.5)])
        self.t += 1
        return self.s.astype(np.float32), 1.0, bool(abs(self.s[0]) > 0.15 or self.t >= 10)
def discount(rewards, gamma):
    out, acc = [], 0.0
    for r in reversed(rewards):
        acc = r + gamma * acc
        out.append(acc)
    return np.array(out[::-1], np.float32)
gamma, n_eps, lr, use_baseline = 0.95, 3, 1e-2, True
---
env, policy = PoleEnv(0), Policy(2, 2, nnx.Rngs(1))
opt = nnx.Optimizer(policy, optax.adam(lr), wrt=nnx.Param)
act_rng, lengths, baseline = np.random.default_rng(5), [], None
for ep in range(n_eps):
    traj, obs, done = [], env.reset(), False
    while not done:
        p = np.asarray(jax.nn.softmax(policy(obs)))
        a = int(act_rng.random() < p[1])
        nxt, r, done = env.step(a)
        traj.append((obs, a, r))
        obs = nxt
    o, a, r = zip(*traj)
    G = discount(r, gamma)
    baseline = G.mean() if baseline is None else 0.9 * baseline + 0.1 * G.mean()
    adv = jnp.asarray(G - baseline if use_baseline else G)
    def pg_loss(m):
        lp = jax.nn.log_softmax(m(jnp.array(o)))
        return -jnp.mean(lp[jnp.arange(len(a)), jnp.array(a)] * adv)
    loss, grads = nnx.value_and_grad(pg_loss)(policy)
    opt.update(policy, grads)
    lengths.append(len(traj))
print(len(lengths), min(lengths) > 0)
loss, policy.head.bias[...].shape
---
use_baseline = False
---
gamma = 0.0; n_eps = 2
---
def discount(rewards, gamma):
    return np.full(len(rewards), sum(rewards), np.float32)

### oal-maml-sinusoid-equinox-inner-adapt-outer-adam needs=equinox tolerance=3e-3
import equinox as eqx
class TaskSampler:
    def __init__(self, seed): self.rng = np.random.default_rng(seed)
    def __iter__(self): return self
    def __next__(self):
        amp, phase = self.rng.uniform(0.5, 2.0), self.rng.uniform(0, np.pi)
        x = self.rng.uniform(-3, 3, (8, 1)).astype(np.float32)
        y = (amp * np.sin(x + phase)).astype(np.float32)
        return (x[:4], y[:4]), (x[4:], y[4:])
def mse(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)
def adapt(model, x, y, lr, k):
    for _ in range(k):
        g = eqx.filter_grad(mse)(model, x, y)
        model = eqx.apply_updates(model, jax.tree.map(lambda v: -lr * v, g))
    return model
inner_lr, inner_steps, meta_batch, outer = 0.05, 1, 3, 3
---
meta = eqx.nn.MLP(1, 1, 8, 1, activation=jnp.tanh, key=jr.key(0))
opt = optax.adam(1e-2)
st = opt.init(eqx.filter(meta, eqx.is_inexact_array))
@eqx.filter_jit
def meta_step(meta, st, tasks):
    @eqx.filter_value_and_grad
    def outer_loss(m):
        return sum(mse(adapt(m, *sup, inner_lr, inner_steps), *qry) for sup, qry in tasks) / len(tasks)
    l, g = outer_loss(meta)
    up, st = opt.update(g, st)
    return eqx.apply_updates(meta, up), st, l
sampler, curve = TaskSampler(1), []
for it in range(outer):
    tasks = list(itertools.islice(sampler, meta_batch))
    meta, st, l = meta_step(meta, st, tasks)
    curve.append(l)
(sx, sy), (qx, qy) = next(sampler)
before, after = mse(meta, qx, qy), mse(adapt(meta, sx, sy, inner_lr, 3), qx, qy)
print(len(curve), jax.tree.structure(tasks).num_leaves)
jnp.stack(curve), before - after
---
inner_steps = 2
---
inner_lr = 0.0; meta_batch = 2
---
def mse(model, x, y):
    return jnp.mean(jnp.abs(jax.vmap(model)(x) - y))

### oal-gnn-segment-sum-haiku-karate-like-semi-supervised-node-labels needs=haiku tolerance=3e-3
import haiku as hk
edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5)]
known = {0: 0, 5: 1}
n_nodes = 6
def gcn(x, senders, receivers):
    deg = jax.ops.segment_sum(jnp.ones(len(receivers)), receivers, len(x))
    for i, width in enumerate((5, 2)):
        h = hk.Linear(width, name=f"gc{i}")(x)
        msg = h[senders] / jnp.sqrt(deg[senders] * deg[receivers])[:, None]
        x = jax.ops.segment_sum(msg, receivers, len(x))
        x = jax.nn.relu(x) if i == 0 else x
    return x
steps, lr = 6, 0.05
---
both = edges + [(b, a) for a, b in edges] + [(i, i) for i in range(n_nodes)]
senders, receivers = (jnp.array(v) for v in zip(*both))
feats = jnp.eye(n_nodes)
net = hk.without_apply_rng(hk.transform(gcn))
params = net.init(jr.key(4), feats, senders, receivers)
nodes, labels = jnp.array(list(known)), jnp.array(list(known.values()))
opt = optax.adam(lr)
st = opt.init(params)
loss = lambda p: optax.softmax_cross_entropy_with_integer_labels(net.apply(p, feats, senders, receivers)[nodes], labels).mean()
history = []
for s in range(steps):
    l, g = jax.value_and_grad(loss)(params)
    up, st = opt.update(g, st)
    params = optax.apply_updates(params, up)
    history.append(l)
    if s % 3 == 0:
        print("step", s, "edges", len(both))
logits = net.apply(params, feats, senders, receivers)
groups = defaultdict(list)
for node, lab in enumerate(np.asarray(logits.argmax(-1))):
    groups[int(lab)].append(node)
print(sum(map(len, groups.values())))
logits.sum(0), history[-1]
---
edges.append((1, 4))
---
known[3] = 1
---
n_nodes = 7; edges.append((6, 0)); lr = 0.2

### oal-particle-filter-resampled-when-ess-low-with-equinox-dynamics needs=equinox tolerance=5e-3
import equinox as eqx
class Dynamics(eqx.Module):
    a: jax.Array
    q: float = 0.3
    def propagate(self, key, x):
        return self.a * x + 0.5 * jnp.sin(x) + self.q * jr.normal(key, x.shape)
    def loglik(self, x, obs, r=0.4):
        return -0.5 * ((obs - x) / r) ** 2
def systematic(key, w):
    u = (jnp.arange(len(w)) + jr.uniform(key)) / len(w)
    return jnp.clip(jnp.searchsorted(jnp.cumsum(w), u), 0, len(w) - 1)
dyn = Dynamics(jnp.array(0.8))
observations = [0.2, 0.5, 1.1, 0.9, np.nan, 1.4]
N, threshold = 16, 0.5
---
key = jr.key(21)
particles, logw = jr.normal(key, (N,)), jnp.full(N, -jnp.log(N))
track = {"mean": [], "ess": [], "resampled": []}
for t, obs in enumerate(observations):
    key, kp, kr = jr.split(key, 3)
    particles = dyn.propagate(kp, particles)
    if not np.isnan(obs):
        logw = logw + dyn.loglik(particles, obs)
    w = jax.nn.softmax(logw)
    ess = 1 / jnp.sum(w**2)
    track["mean"].append(jnp.sum(w * particles))
    track["ess"].append(float(ess))
    if ess < threshold * N:
        particles, logw = particles[systematic(kr, w)], jnp.full(N, -jnp.log(N))
        track["resampled"].append(t)
means = jnp.stack(track["mean"])
print(all(1 <= e <= N + 1e-2 for e in track["ess"]), len(means))
means, particles.std()
---
threshold = 1.1
---
observations.append(2.0); dyn = eqx.tree_at(lambda d: d.a, dyn, jnp.array(0.5))
---
N = 8; threshold = 0.0

### oal-kalman-em-with-flax-struct-dataclass-and-scan-smoother needs=flax tolerance=3e-3
from flax import struct
@struct.dataclass
class LDS:
    F: jax.Array
    Q: jax.Array
    R: jax.Array
    name: str = struct.field(pytree_node=False, default="lds")
def kf_step(m, carry, y):
    mu, P = carry
    mu_p, P_p = m.F * mu, m.F**2 * P + m.Q
    S = P_p + m.R
    K = P_p / S
    ll = -0.5 * (jnp.log(2 * jnp.pi * S) + (y - mu_p) ** 2 / S)
    new = (mu_p + K * (y - mu_p), (1 - K) * P_p)
    return new, (*new, ll)
lds = LDS(jnp.array(0.9), jnp.array(0.1), jnp.array(0.5))
ys = jnp.cumsum(0.3 * jr.normal(jr.key(2), (12,)))
n_iter, lr = 4, 0.1
---
@jax.jit
def nll(logp):
    m = lds.replace(Q=jnp.exp(logp["Q"]), R=jnp.exp(logp["R"]))
    _, (_, _, ll) = lax.scan(partial(kf_step, m), (jnp.array(0.0), jnp.array(1.0)), ys)
    return -ll.sum()
logp = {"Q": jnp.log(lds.Q), "R": jnp.log(lds.R)}
hist = [nll(logp)]
for it in range(n_iter):
    g = jax.grad(nll)(logp)
    logp = jax.tree.map(lambda p, d: p - lr * jnp.clip(d, -1, 1), logp, g)
    hist.append(nll(logp))
    if abs(float(hist[-1] - hist[-2])) < 1e-4:
        break
fitted = lds.replace(Q=jnp.exp(logp["Q"]), R=jnp.exp(logp["R"]), name=lds.name + "-fit")
_, (mus, Ps, _) = lax.scan(partial(kf_step, fitted), (jnp.array(0.0), jnp.array(1.0)), ys)
back, smooth = mus[-1], [mus[-1]]
for t in range(len(ys) - 2, -1, -1):
    J = Ps[t] * fitted.F / (fitted.F**2 * Ps[t] + fitted.Q)
    back = mus[t] + J * (back - fitted.F * mus[t])
    smooth.insert(0, back)
smoothed = jnp.stack(smooth)
print(fitted.name, len(hist), smoothed.shape)
smoothed - mus, jnp.stack(hist)
---
lr = 0.5
---
lds = lds.replace(F=jnp.array(0.5), name="slow")
---
ys = ys[:6]

### oal-beam-search-over-linen-lm-with-heap-and-length-penalty needs=flax tolerance=3e-3
import heapq
import flax.linen as nn
class LM(nn.Module):
    vocab: int
    @nn.compact
    def __call__(self, ids):
        h = nn.Embed(self.vocab, 6)(ids).mean(0) + jnp.sin(len(ids) + jnp.arange(6.0))
        return nn.log_softmax(3 * nn.Dense(self.vocab)(nn.tanh(h)))
words = ["<s>", "</s>", "red", "green", "blue", "bird"]
lm = LM(len(words))
params = lm.init(jr.key(8), jnp.array([0]))
@dataclass(order=True)
class Hyp:
    score: float
    ids: tuple = field(compare=False)
    @property
    def done(self): return self.ids[-1] == 1
    def text(self): return " ".join(words[i] for i in self.ids if i > 1)
beam, max_len, alpha = 2, 4, 0.6
---
def penal(s, n): return s / ((5 + n) / 6) ** alpha
live, finished, expanded = [Hyp(0.0, (0,))], [], 0
for t in range(max_len):
    cands = []
    for h in live:
        lp = lm.apply(params, jnp.array(h.ids))
        vals, idx = lax.top_k(lp, beam)
        for v, i in zip(vals, idx):
            cands.append(Hyp(h.score + float(v), (*h.ids, int(i))))
        expanded += 1
    best = heapq.nlargest(beam, cands)
    finished += [h for h in best if h.done]
    live = [h for h in best if not h.done]
    if not live:
        break
pool = finished or live
winner = max(pool, key=lambda h: penal(h.score, len(h.ids)))
rescored = sum(lm.apply(params, jnp.array(winner.ids[:k]))[winner.ids[k]] for k in range(1, len(winner.ids)))
print(repr(winner.text()), expanded, abs(float(rescored) - winner.score) < 1e-3)
rescored
---
beam = 3
---
words[2] = "purple"; max_len = 2
---
params = jax.tree.map(lambda p: p * 1.5, params); alpha = 0.0

### oal-normalizing-flow-realnvp-haiku-affine-couplings-nll-and-sampling needs=haiku tolerance=5e-3
import haiku as hk
class Coupling(hk.Module):
    def __init__(self, flip, name=None):
        super().__init__(name=name)
        self.flip = flip
    def params_for(self, a):
        s, t = jnp.split(hk.nets.MLP([6, 2], name="st")(a), 2, -1)
        return jnp.tanh(s), t
    def __call__(self, x, inverse=False):
        a, b = jnp.split(x, 2, -1)
        if self.flip: a, b = b, a
        s, t = self.params_for(a)
        b = (b - t) * jnp.exp(-s) if inverse else b * jnp.exp(s) + t
        out = (b, a) if self.flip else (a, b)
        return jnp.concatenate(out, -1), (-s if inverse else s).sum(-1)
def build():
    layers = [Coupling(bool(i % 2), name=f"c{i}") for i in range(n_layers)]
    def logp(x):
        total = 0.0
        for l in reversed(layers):
            x, ld = l(x, inverse=True)
            total += ld
        return -0.5 * (x**2).sum(-1) - math.log(2 * math.pi) + total
    def sample(z):
        for l in layers:
            z, _ = l(z)
        return z
    return logp, (logp, sample)
n_layers, lr = 3, 1e-2
moons = np.random.default_rng(6).normal(size=(24, 2)).astype(np.float32) * [1.0, 0.3] + [0.5, -1.0]
moons = moons.astype(np.float32)
---
flow = hk.without_apply_rng(hk.multi_transform(build))
logp, sample = flow.apply
params = flow.init(jr.key(0), moons[:1])
opt = optax.adam(lr)
st = opt.init(params)
step = jax.jit(jax.value_and_grad(lambda p, x: -logp(p, x).mean()))
nlls = []
for i in range(4):
    l, g = step(params, moons[i * 6 : (i + 1) * 6])
    up, st = opt.update(g, st)
    params = optax.apply_updates(params, up)
    nlls.append(l)
z = jr.normal(jr.key(1), (5, 2))
xs = sample(params, z)
n_mods = len({m.split("/")[0] for m in params})
print(n_mods, xs.shape, bool(jnp.isfinite(logp(params, xs)).all()))
jnp.stack(nlls), xs.mean(0)
---
n_layers = 2
---
Coupling.params_for = lambda self, a: (0 * a, hk.Linear(1, name="shift")(a))
---
lr = 0.1; moons = moons + 1

### oal-pinn-equinox-poisson-hard-boundary-collocation-resampled needs=equinox tolerance=1e-2
import equinox as eqx
class PINN(eqx.Module):
    net: eqx.nn.MLP
    hard: bool = eqx.field(static=True)
    def __init__(self, key, hard=True):
        self.net, self.hard = eqx.nn.MLP("scalar", "scalar", 10, 2, activation=jnp.tanh, key=key), hard
    def __call__(self, x):
        u = self.net(x)
        return x * (1 - x) * u if self.hard else u
source = lambda x: jnp.pi**2 * jnp.sin(jnp.pi * x)
def residual(model, x):
    return jax.grad(jax.grad(model))(x) + source(x)
def loss_fn(model, xs, w):
    res = jnp.mean(jax.vmap(partial(residual, model))(xs) ** 2)
    bc = model(jnp.array(0.0)) ** 2 + model(jnp.array(1.0)) ** 2
    return res + w * bc, {"res": res, "bc": bc}
hard, n_col, lr, weight = True, 12, 1e-2, 10.0
---
model = PINN(jr.key(2), hard)
opt = optax.adam(optax.exponential_decay(lr, 3, 0.8))
st = opt.init(eqx.filter(model, eqx.is_inexact_array))
vg = eqx.filter_jit(eqx.filter_value_and_grad(loss_fn, has_aux=True))
key, logs = jr.key(0), []
for it in range(6):
    if it % 3 == 0:
        key, sub = jr.split(key)
        xs = jr.uniform(sub, (n_col,))
    (l, parts), g = vg(model, xs, weight)
    up, st = opt.update(g, st)
    model = eqx.apply_updates(model, up)
    logs.append({"loss": l, **parts})
grid = jnp.linspace(0, 1, 5)
err = jnp.abs(jax.vmap(model)(grid) - jnp.sin(jnp.pi * grid)).max()
summary = {k: jnp.stack([d[k] for d in logs]) for k in logs[0]}
print(sorted(summary), bool(summary["bc"][-1] < 1e-6))
summary["loss"], err
---
hard = False
---
source = lambda x: 2.0 + 0 * x
---
n_col = 6; lr = 0.0

### oal-contrastive-simclr-nnx-augment-functions-and-temperature-param needs=flax tolerance=3e-3
from flax import nnx
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.f, self.g = nnx.Linear(6, 8, rngs=rngs), nnx.Linear(8, 4, rngs=rngs)
        self.log_t = nnx.Param(jnp.array(-1.0))
    def __call__(self, x):
        z = self.g(nnx.relu(self.f(x)))
        return z / jnp.linalg.norm(z, axis=-1, keepdims=True)
def jitter(key, x): return x + 0.1 * jr.normal(key, x.shape)
def drop(key, x): return x * jr.bernoulli(key, 0.8, x.shape)
augments = [jitter, drop]
def nt_xent(m, a, b):
    z = jnp.concatenate([m(a), m(b)])
    n = len(a)
    sim = z @ z.T / jnp.exp(m.log_t[...]) - 1e9 * jnp.eye(2 * n)
    return optax.softmax_cross_entropy_with_integer_labels(sim, jnp.roll(jnp.arange(2 * n), n)).mean()
enc = Encoder(nnx.Rngs(0))
optimizer = nnx.Optimizer(enc, optax.lars(0.05), wrt=nnx.Param)
pool = np.random.default_rng(3).normal(size=(18, 6)).astype(np.float32)
bs = 6
---
rngs, losses, temps = nnx.Rngs(aug=5), [], []
def view(x):
    for fn in augments:
        x = fn(rngs.aug(), x)
    return x
for start in range(0, len(pool), bs):
    xb = jnp.asarray(pool[start : start + bs])
    loss, grads = nnx.value_and_grad(nt_xent)(enc, view(xb), view(xb))
    optimizer.update(enc, grads)
    losses.append(loss)
    temps.append(float(jnp.exp(enc.log_t[...])))
emb = enc(jnp.asarray(pool))
sims = np.array(emb @ emb.T)
np.fill_diagonal(sims, -2)
nn_idx = sims.argmax(1)
print(len(temps), int(rngs.aug.count[...]), nn_idx.shape)
jnp.stack(losses), temps[-1]
---
augments.append(lambda key, x: x[:, ::-1])
---
bs = 9
---
augments[:] = [jitter]; enc.log_t[...] = jnp.array(0.0)

### oal-trainer-with-callback-list-csv-logger-early-stop-and-rich-table needs=equinox,rich tolerance=2e-3
import equinox as eqx
from rich.console import Console
from rich.table import Table
class Callback:
    def on_epoch_end(self, trainer, logs): pass
class CSVLog(Callback):
    def __init__(self, path): self.path = Path(path)
    def on_epoch_end(self, trainer, logs):
        fresh = trainer.epoch == 0
        with self.path.open("w" if fresh else "a", newline="") as f:
            w = csv.DictWriter(f, ["epoch", *logs])
            if fresh: w.writeheader()
            w.writerow({"epoch": trainer.epoch, **{k: f"{v:.2f}" for k, v in logs.items()}})
class EarlyStop(Callback):
    def __init__(self, patience, min_delta=0.0): self.patience, self.min_delta, self.best, self.wait = patience, min_delta, np.inf, 0
    def on_epoch_end(self, trainer, logs):
        if logs["val"] < self.best - self.min_delta: self.best, self.wait = logs["val"], 0
        else: self.wait += 1
        trainer.stop = self.wait >= self.patience
class Trainer:
    def __init__(self, model, tx, callbacks):
        self.model, self.tx, self.callbacks, self.stop, self.epoch = model, tx, callbacks, False, 0
        self.opt_state = tx.init(eqx.filter(model, eqx.is_array))
    def fit(self, train, val, epochs):
        loss = lambda m, x, y: jnp.mean((jax.vmap(m)(x) - y) ** 2)
        for self.epoch in range(epochs):
            l, g = eqx.filter_value_and_grad(loss)(self.model, *train)
            up, self.opt_state = self.tx.update(g, self.opt_state)
            self.model = eqx.apply_updates(self.model, up)
            logs = {"train": float(l), "val": float(loss(self.model, *val))}
            for cb in self.callbacks: cb.on_epoch_end(self, logs)
            if self.stop: break
        return logs
x = jr.normal(jr.key(0), (20, 3)); y = x @ jnp.array([[1.0], [-2.0], [0.5]])
lr, patience, epochs, min_delta = 0.1, 2, 5, 0.0
---
trainer = Trainer(eqx.nn.Linear(3, 1, key=jr.key(1)), optax.sgd(lr), [CSVLog("log.csv"), EarlyStop(patience, min_delta)])
logs = trainer.fit((x[:15], y[:15]), (x[15:], y[15:]), epochs)
rows = list(csv.DictReader(open("log.csv")))
table = Table("epoch", "train", "val", title="run")
for row in rows:
    table.add_row(*row.values())
buf = io.StringIO()
Console(file=buf, width=40, color_system=None).print(table)
print(buf.getvalue().splitlines()[0].strip(), len(rows), trainer.epoch, trainer.stop)
jnp.linalg.norm(trainer.model.weight - jnp.array([[1.0, -2.0, 0.5]]))
---
min_delta = 100.0
---
lr = 0.01; min_delta = 0.0
---
class CSVLog(CSVLog):
    def on_epoch_end(self, trainer, logs):
        super().on_epoch_end(trainer, dict(logs, gap=logs["val"] - logs["train"]))
""",
)
