"""Whole training and evaluation cells: steps, loops, evaluations, decoding, checkpoints, agents and generative models."""

from ..cell import written

PRELUDE = """
import os, json, math, copy, csv, time, random, itertools, functools, collections, dataclasses, pickle, string
from collections import defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence
from functools import partial
import numpy as np
import jax, jax.numpy as jnp
from jax import lax
import optax
gen = np.random.default_rng(11)
X = gen.normal(size=(24, 4)).astype(np.float32)
y = (X @ np.array([1.0, -1.5, 0.5, 0.25], np.float32) + 0.3).astype(np.float32)
labels = (y > 0.3).astype(np.int32)
"""

CELLS = written(
    PRELUDE,
    r"""
### ga-nnx-minigpt-epochs-with-generated-text needs=flax
from flax import nnx
text = "the cat sat on the mat. the dog sat on the log. "
chars = sorted(set(text))
class Tokenizer:
    def __init__(self, chars): self.stoi = {c: i for i, c in enumerate(chars)}; self.itos = dict(enumerate(chars))
    n_vocab = property(lambda self: len(self.stoi))
    def encode(self, s): return [self.stoi[c] for c in s]
    def decode(self, ids): return "".join(self.itos[i] for i in ids)
tokenizer = Tokenizer(chars)
maxlen, embed_dim, num_heads = 8, 8, 2
def causal_attention_mask(n): return jnp.tril(jnp.ones((n, n)))
class TransformerBlock(nnx.Module):
    def __init__(self, d, h, *, rngs, rate=0.1):
        self.mha = nnx.MultiHeadAttention(num_heads=h, in_features=d, decode=False, use_bias=False, rngs=rngs)
        self.dropout1 = nnx.Dropout(rate, rngs=rngs)
        self.ln = nnx.LayerNorm(d, rngs=rngs)
        self.ff = nnx.Linear(d, d, rngs=rngs)
    def __call__(self, x, training=False):
        a = self.mha(x, mask=causal_attention_mask(x.shape[1]))
        x = self.ln(x + self.dropout1(a, deterministic=not training))
        return x + nnx.relu(self.ff(x))
class MiniGPT(nnx.Module):
    def __init__(self, rngs, blocks=1):
        self.tok = nnx.Embed(tokenizer.n_vocab, embed_dim, rngs=rngs)
        self.pos = nnx.Embed(maxlen, embed_dim, rngs=rngs)
        self.blocks = nnx.List([TransformerBlock(embed_dim, num_heads, rngs=rngs) for _ in range(blocks)])
        self.out = nnx.Linear(embed_dim, tokenizer.n_vocab, rngs=rngs)
    def __call__(self, ids, training=False):
        x = self.tok(ids) + self.pos(jnp.arange(ids.shape[1])[None])
        for b in self.blocks: x = b(x, training=training)
        return self.out(x)
    def generate(self, n, start):
        got = list(start)
        for _ in range(n):
            window = got[-maxlen:]
            ids = jnp.array(window + [0] * (maxlen - len(window)))[None]
            got.append(int(jnp.argmax(self(ids)[0, len(window) - 1])))
        return tokenizer.decode(got)
@nnx.jit
def train_step(model, optimizer, metrics, batch):
    def loss_fn(m):
        logits = m(batch[0], training=True)
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch[1]).mean(), logits
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model)
    metrics.update(loss=loss, logits=logits, labels=batch[1])
    optimizer.update(model, grads)
model = MiniGPT(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), acc=nnx.metrics.Accuracy())
num_epochs, every = 1, 2
---
ids = np.array(tokenizer.encode(text))
windows = np.stack([ids[i:i + maxlen + 1] for i in range(0, len(ids) - maxlen, 10)])
metrics_history = {"train_loss": [], "train_acc": []}
step = 0
start = tokenizer.encode("the ")
for epoch in range(num_epochs):
    for batch in np.array_split(windows, 2):
        train_step(model, optimizer, metrics, (jnp.array(batch[:, :-1]), jnp.array(batch[:, 1:])))
        if (step + 1) % every == 0:
            for metric, value in metrics.compute().items():
                metrics_history[f"train_{metric}"].append(value)
            metrics.reset()
            print(f"Step {step + 1}, Loss: {metrics_history['train_loss'][-1]:.2f}")
        step += 1
sample = model.generate(3, start)
len(sample), sample.startswith("the ")
---
num_epochs, every = 2, 1
---
model.blocks[0].dropout1.rate = 0.0
---
text = text + "a log. "; model.out.bias[...] = jnp.ones(tokenizer.n_vocab)

### ga-nnx-metrics-history-train-and-test needs=flax,matplotlib
from flax import nnx
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
class CNN(nnx.Module):
    def __init__(self, *, rngs):
        self.conv = nnx.Conv(1, 3, kernel_size=(3, 3), use_bias=False, rngs=rngs)
        self.bn = nnx.BatchNorm(3, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.pool = partial(nnx.avg_pool, window_shape=(2, 2), strides=(2, 2))
        self.fc = nnx.Linear(3 * 2 * 2, 2, rngs=rngs)
    def __call__(self, x):
        x = self.pool(nnx.relu(self.bn(self.conv(x))))
        return self.fc(self.drop(x.reshape(x.shape[0], -1)))
imgs = gen.normal(size=(12, 4, 4, 1)).astype(np.float32)
lab = (imgs.mean((1, 2, 3)) > 0).astype(np.int32)
def train_batches(bs):
    for i in range(0, 8, bs): yield {"image": imgs[i:i + bs], "label": lab[i:i + bs]}
test_ds = [{"image": imgs[8:], "label": lab[8:]}]
def loss_fn(model, batch):
    logits = model(batch["image"])
    return optax.softmax_cross_entropy_with_integer_labels(logits=logits, labels=batch["label"]).mean(), logits
@nnx.jit
def train_step(model, optimizer, metrics, batch):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
    optimizer.update(model, grads)
@nnx.jit
def eval_step(model, metrics, batch):
    loss, logits = loss_fn(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
model = CNN(rngs=nnx.Rngs(0, dropout=1))
optimizer = nnx.Optimizer(model, optax.adamw(0.005, 0.9), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
metrics_history = {"train_loss": [], "train_accuracy": [], "test_loss": [], "test_accuracy": []}
eval_every, bs = 1, 4
---
for step, batch in enumerate(train_batches(bs)):
    model.train()
    train_step(model, optimizer, metrics, batch)
    if step > 0 and (step % eval_every == 0):
        for metric, value in metrics.compute().items():
            metrics_history[f"train_{metric}"].append(float(value))
        metrics.reset()
        model.eval()
        for test_batch in test_ds:
            eval_step(model, metrics, test_batch)
        for metric, value in metrics.compute().items():
            metrics_history[f"test_{metric}"].append(float(value))
        metrics.reset()
fig, (ax1, ax2) = plt.subplots(1, 2, figsize=(4, 2))
ax1.set_title("Loss"); ax2.set_title("Accuracy")
for dataset in ("train", "test"):
    ax1.plot(metrics_history[f"{dataset}_loss"], label=f"{dataset}_loss")
    ax2.plot(metrics_history[f"{dataset}_accuracy"], label=f"{dataset}_accuracy")
n_lines = [len(a.lines) for a in fig.axes]
plt.close(fig)
n_lines, {k: len(v) for k, v in metrics_history.items()}, model.drop.deterministic
---
bs = 2
---
for v in metrics_history.values(): v.clear()
---
model.bn.momentum = 0.5; model.drop.rate = 0.0

### ga-nnx-lora-finetune-only-adapters needs=flax
from flax import nnx
class Base(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(4, 6, rngs=rngs)
        self.l2 = nnx.Linear(6, 1, rngs=rngs)
    def __call__(self, x): return self.l2(nnx.gelu(self.l1(x)))[:, 0]
base = Base(nnx.Rngs(0))
rank, steps = 2, 3
---
model = copy.deepcopy(base)
model.l1 = nnx.LoRA(4, rank, 6, base_module=model.l1, rngs=nnx.Rngs(1))
opt = nnx.Optimizer(model, optax.adam(0.05), wrt=nnx.LoRAParam)
frozen_before = [np.array(v) for v in jax.tree.leaves(nnx.state(base, nnx.Param))]
@nnx.jit
def step(model, opt, x, t):
    diff = nnx.DiffState(0, nnx.LoRAParam)
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - t) ** 2), argnums=diff)(model)
    opt.update(model, grads)
    return loss
losses = [step(model, opt, X, y) for _ in range(steps)]
adapters = nnx.state(model, nnx.LoRAParam)
trainable = sum(p.size for p in jax.tree.leaves(adapters))
frozen_after = [np.array(v) for v in jax.tree.leaves(nnx.state(model.l1.base_module, nnx.Param))]
print(trainable, all(any(np.array_equal(a, b) for b in frozen_before) for a in frozen_after))
delta = jnp.abs(model.l1.lora_a[...] @ model.l1.lora_b[...]).max()
bool(losses[-1] < losses[0]), delta
---
rank = 1
---
base.l2.kernel[...] = base.l2.kernel[...] * 2

### ga-nnx-scan-over-vmapped-layers tolerance=1e-3 needs=flax
from flax import nnx
class Block(nnx.Module):
    def __init__(self, d, rngs):
        self.lin = nnx.Linear(d, d, use_bias=False, rngs=rngs)
        self.drop = nnx.Dropout(0.3, rngs=rngs)
        self.bn = nnx.BatchNorm(d, rngs=rngs)
    def __call__(self, x): return nnx.gelu(self.drop(self.bn(self.lin(x))))
class Deep(nnx.Module):
    def __init__(self, d, n, rngs):
        @nnx.split_rngs(splits=n)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def create(rngs): return Block(d, rngs)
        self.blocks, self.n = create(rngs), n
        self.head = nnx.Linear(d, 1, rngs=rngs)
    def __call__(self, x):
        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        def forward(x, block): return block(x)
        return self.head(forward(x, self.blocks))[:, 0]
model = Deep(4, 3, nnx.Rngs(0))
lr = 1e-2
---
optimizer = nnx.Optimizer(model, optax.chain(optax.clip_by_global_norm(1.0), optax.adam(lr)), wrt=nnx.Param)
@nnx.jit
def train_step(model, optimizer, x, t):
    def loss_fn(model): return ((model(x) - t) ** 2).mean()
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss
model.train()
for i in range(3):
    loss = train_step(model, optimizer, X, y)
model.eval()
pred = model(X)
r2 = 1 - jnp.sum((pred - y) ** 2) / jnp.sum((y - y.mean()) ** 2)
print(model.blocks.lin.kernel.shape)
loss, r2, model.blocks.bn.mean.shape
---
lr = 0.1
---
model = Deep(4, 2, nnx.Rngs(1))
---
model.blocks.drop.rate = 0.0

### ga-nnx-orbax-save-restore-continue needs=flax,orbax.checkpoint
from flax import nnx
import orbax.checkpoint as ocp
class MLP(nnx.Module):
    def __init__(self, h, rngs):
        self.a, self.b = nnx.Linear(4, h, rngs=rngs), nnx.Linear(h, 1, rngs=rngs)
    def __call__(self, x): return self.b(nnx.relu(self.a(x)))[:, 0]
model = MLP(5, nnx.Rngs(0))
ckpt_dir = Path("ckpts").resolve()
n = 2
---
opt = nnx.Optimizer(model, optax.sgd(0.05, momentum=0.9), wrt=nnx.Param)
loss_of = lambda m: jnp.mean((m(X) - y) ** 2)
for _ in range(n):
    loss, grads = nnx.value_and_grad(loss_of)(model)
    opt.update(model, grads)
_, state = nnx.split(model)
ckptr = ocp.StandardCheckpointer()
ckptr.save(ckpt_dir / "state", state, force=True)
ckptr.wait_until_finished()
abstract = nnx.eval_shape(lambda: MLP(model.a.out_features, nnx.Rngs(0)))
gdef, abs_state = nnx.split(abstract)
restored = nnx.merge(gdef, ckptr.restore(ckpt_dir / "state", abs_state))
np.testing.assert_allclose(restored(X), model(X), rtol=1e-4, atol=1e-5)
after = loss_of(restored)
print(sorted(p.name for p in ckpt_dir.iterdir()), restored.a.kernel.shape)
after
---
n = 1
---
model = MLP(3, nnx.Rngs(4))

### ga-linen-trainstate-batchstats-dropout-epoch needs=flax
import flax.linen as nn
from flax.training import train_state
class Net(nn.Module):
    width: int
    p: float = 0.2
    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.Dense(self.width, use_bias=False)(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.relu(x)
        x = nn.Dropout(self.p, deterministic=not train)(x)
        return nn.Dense(2)(x)
class TrainState(train_state.TrainState):
    batch_stats: Any
    key: jax.Array
def create(width, lr, seed):
    k1, k2 = jax.random.split(jax.random.PRNGKey(seed))
    net = Net(width)
    variables = net.init(k1, X[:1], train=False)
    return TrainState.create(apply_fn=net.apply, params=variables["params"], tx=optax.adamw(lr),
                             batch_stats=variables["batch_stats"], key=k2)
state = create(6, 0.01, 0)
batch_size, epochs = 8, 1
---
@jax.jit
def train_step(state, batch):
    dropout_key = jax.random.fold_in(state.key, state.step)
    def loss_fn(params):
        logits, updates = state.apply_fn({"params": params, "batch_stats": state.batch_stats}, batch["x"], train=True,
                                         rngs={"dropout": dropout_key}, mutable=["batch_stats"])
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()
        return loss, (logits, updates)
    (loss, (logits, updates)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads).replace(batch_stats=updates["batch_stats"])
    return state, {"loss": loss, "accuracy": (logits.argmax(-1) == batch["y"]).mean()}
def train_epoch(state, rng, epoch):
    steps = len(X) // batch_size
    perms = np.asarray(jax.random.permutation(rng, len(X)))[: steps * batch_size].reshape(steps, batch_size)
    batch_metrics = []
    for perm in perms:
        state, m = train_step(state, {"x": X[perm], "y": labels[perm]})
        batch_metrics.append(m)
    got = jax.device_get(batch_metrics)
    mean = {k: np.mean([m[k] for m in got]) for k in got[0]}
    print(f"train epoch: {epoch}, loss: {mean['loss']:.3f}, n: {len(got)}")
    return state, mean
for epoch in range(epochs):
    state, summary = train_epoch(state, jax.random.PRNGKey(epoch), epoch)
eval_logits = state.apply_fn({"params": state.params, "batch_stats": state.batch_stats}, X, train=False)
int(state.step), eval_logits.shape
---
batch_size = 12
---
state = create(3, 0.1, 5); epochs = 2

### ga-linen-sow-remat-scan-decoder needs=flax
import flax.linen as nn
class Layer(nn.Module):
    d: int
    @nn.compact
    def __call__(self, h, _):
        a = nn.SelfAttention(num_heads=2, qkv_features=self.d)(h)
        self.sow("intermediates", "norm", jnp.linalg.norm(a))
        return h + nn.Dense(self.d)(nn.LayerNorm()(a)), None
class Decoder(nn.Module):
    d: int
    n: int
    remat: bool = True
    @nn.compact
    def __call__(self, x):
        h = nn.Dense(self.d)(x)
        layer = nn.remat(Layer, prevent_cse=False) if self.remat else Layer
        Stack = nn.scan(layer, variable_axes={"params": 0, "intermediates": 0}, split_rngs={"params": True}, length=self.n)
        h, _ = Stack(self.d, name="layers")(h, None)
        return nn.Dense(1, name="out")(h)[..., 0]
seqs, targets = X.reshape(6, 4, 4), y.reshape(6, 4)
cfg = dict(d=4, n=2, remat=True)
steps = 2
---
net = Decoder(**cfg)
params = net.init(jax.random.key(3), seqs)["params"]
tx = optax.adam(optax.warmup_cosine_decay_schedule(0.0, 0.05, 2, 10))
opt_state = tx.init(params)
@jax.jit
def step(params, opt_state):
    def loss_fn(p):
        out, mods = net.apply({"params": p}, seqs, mutable=["intermediates"])
        return jnp.mean((out - targets) ** 2), mods["intermediates"]
    (l, inter), g = jax.value_and_grad(loss_fn, has_aux=True)(params)
    up, opt_state = tx.update(g, opt_state, params)
    return optax.apply_updates(params, up), opt_state, l, inter
for i in range(steps):
    params, opt_state, l, inter = step(params, opt_state)
norms = inter["layers"]["norm"][0]
print(jax.tree.map(jnp.shape, params["layers"]["Dense_0"]), norms.shape)
l, norms.mean()
---
cfg["remat"] = False
---
cfg = {**cfg, "n": 3, "d": 2}
---
steps = 0
---
steps = 1

### ga-eqx-batchnorm-state-train-and-inference needs=equinox
import equinox as eqx
class Model(eqx.Module):
    l1: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    l2: eqx.nn.Linear
    drop: eqx.nn.Dropout
    def __init__(self, key, p=0.2):
        k1, k2 = jax.random.split(key)
        self.l1 = eqx.nn.Linear(4, 6, use_bias=False, key=k1)
        self.norm = eqx.nn.BatchNorm(6, axis_name="batch", mode="batch")
        self.l2 = eqx.nn.Linear(6, 1, key=k2)
        self.drop = eqx.nn.Dropout(p)
    def __call__(self, x, state, key=None):
        x, state = self.norm(self.l1(x), state)
        return self.l2(self.drop(jax.nn.relu(x), key=key))[0], state
model, state = eqx.nn.make_with_state(Model)(jax.random.key(0))
def dataloader(arrays, batch_size, *, seed):
    r = np.random.default_rng(seed)
    perm = r.permutation(len(arrays[0]))
    for s in range(0, len(perm) - batch_size + 1, batch_size):
        yield tuple(a[perm[s:s + batch_size]] for a in arrays)
batch_size, epochs = 8, 1
---
def compute_loss(model, state, xs, ys, keys):
    batched = jax.vmap(model, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
    pred, state = batched(xs, state, keys)
    return jnp.mean((pred - ys) ** 2), state
@eqx.filter_jit
def make_step(model, state, opt_state, xs, ys, keys):
    (loss, state), grads = eqx.filter_value_and_grad(compute_loss, has_aux=True)(model, state, xs, ys, keys)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), state, opt_state, loss
optim = optax.adam(3e-2)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
key = jax.random.key(5)
for epoch in range(epochs):
    total = 0.0
    for i, (xb, yb) in enumerate(dataloader((X, y), batch_size, seed=epoch)):
        key, sub = jax.random.split(key)
        model, state, opt_state, loss = make_step(model, state, opt_state, xb, yb, jax.random.split(sub, len(xb)))
        total += loss.item() * len(xb)
    print(f"epoch={epoch}, loss={total / len(X):.2f}, batches={i + 1}")
inference_model = eqx.nn.inference_mode(model)
inference_model = eqx.Partial(inference_model, state=state)
pred, _ = jax.vmap(inference_model)(X)
pred.shape, jnp.mean((pred - y) ** 2)
---
batch_size = 12
---
model, state = eqx.nn.make_with_state(Model)(jax.random.key(7)); epochs = 2
---
model = eqx.tree_at(lambda m: m.drop.p, model, 0.0)

### ga-eqx-serialise-hyperparams-header needs=equinox
import equinox as eqx
def make(*, key, hyperparameters):
    return eqx.nn.MLP(4, "scalar", hyperparameters["width"], hyperparameters["depth"], key=key)
def save(filename, hyperparams, model):
    with open(filename, "wb") as f:
        f.write((json.dumps(hyperparams) + "\n").encode())
        eqx.tree_serialise_leaves(f, jax.tree.map(lambda a: jnp.round(a, 2) if eqx.is_array(a) else a, model))
def load(filename):
    with open(filename, "rb") as f:
        hyperparams = json.loads(f.readline().decode())
        return eqx.tree_deserialise_leaves(f, make(key=jax.random.key(0), hyperparameters=hyperparams))
hyper = {"width": 5, "depth": 1}
resume = True
---
if resume and os.path.exists("model.eqx"):
    model = load("model.eqx")
    print("resumed")
else:
    model = make(key=jax.random.key(1), hyperparameters=hyper)
optim = optax.adabelief(0.01)
opt_state = optim.init(eqx.filter(model, eqx.is_array))
@eqx.filter_jit
def step(model, opt_state):
    loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(X) - y) ** 2))(model)
    updates, opt_state = optim.update(grads, opt_state, model)
    return loss, eqx.apply_updates(model, updates), opt_state
for _ in range(3):
    loss, model, opt_state = step(model, opt_state)
save("model.eqx", hyper, model)
again = load("model.eqx")
print(eqx.tree_equal(model, again, rtol=0, atol=0.01), os.path.getsize("model.eqx") > 100, again.layers[0].weight.shape)
loss
---
resume = False
---
os.remove("model.eqx"); hyper["depth"] = 2
---
resume = True

### ga-eqx-gru-classifier-freeze-with-tree-at needs=equinox
import equinox as eqx
class RNN(eqx.Module):
    hidden_size: int
    cell: eqx.nn.GRUCell
    linear: eqx.nn.Linear
    bias: jax.Array
    def __init__(self, in_size, out_size, hidden_size, *, key):
        ckey, lkey = jax.random.split(key)
        self.hidden_size = hidden_size
        self.cell = eqx.nn.GRUCell(in_size, hidden_size, key=ckey)
        self.linear = eqx.nn.Linear(hidden_size, out_size, use_bias=False, key=lkey)
        self.bias = jnp.zeros(out_size)
    def __call__(self, seq):
        def f(carry, inp): return self.cell(inp, carry), None
        out, _ = lax.scan(f, jnp.zeros((self.hidden_size,)), seq)
        return jax.nn.sigmoid(self.linear(out) + self.bias)
def get_data(n, *, key):
    t = jnp.linspace(0, 4, 6)
    off = jax.random.uniform(key, (n, 1), maxval=2)
    x = jnp.stack([jnp.sin(t + off), jnp.cos(t + off)], -1)
    half = n // 2
    x = x.at[:half, :, 1].multiply(-1)
    return x, jnp.zeros((n, 1)).at[:half].set(1)
hidden, freeze, steps = 4, True, 3
xs, ys = get_data(8, key=jax.random.key(2))
---
model = RNN(2, 1, hidden, key=jax.random.key(5))
filter_spec = jax.tree.map(lambda _: not freeze, model)
filter_spec = eqx.tree_at(lambda m: (m.linear.weight, m.bias), filter_spec, replace=(True, True))
@eqx.filter_jit
def make_step(model, x, t, opt_state):
    @eqx.filter_value_and_grad
    def loss(diff, static):
        pred = jax.vmap(eqx.combine(diff, static))(x)
        return -jnp.mean(t * jnp.log(pred) + (1 - t) * jnp.log(1 - pred))
    diff, static = eqx.partition(model, eqx.is_array if not freeze else filter_spec)
    value, grads = loss(diff, static)
    updates, opt_state = optim.update(grads, opt_state)
    return value, eqx.apply_updates(model, updates), opt_state
optim = optax.adam(0.05)
opt_state = optim.init(eqx.filter(model, filter_spec) if freeze else eqx.filter(model, eqx.is_array))
before = model.cell.weight_hh
for s, (x, t) in zip(range(steps), itertools.cycle([(xs[:4], ys[:4]), (xs[4:], ys[4:])])):
    value, model, opt_state = make_step(model, x, t, opt_state)
    print(f"step={s}, loss={value.item():.2f}")
moved = bool(jnp.any(before != model.cell.weight_hh))
pred_ys = jax.vmap(model)(xs)
moved, jnp.mean((pred_ys > 0.5) == (ys == 1))
---
freeze = False
---
hidden = 3
---
xs = xs[:, :3]

### ga-haiku-transform-with-state-ema-eval needs=haiku
import haiku as hk
class Batch(NamedTuple):
    image: np.ndarray
    label: np.ndarray
class TrainingState(NamedTuple):
    params: hk.Params
    avg_params: hk.Params
    net_state: hk.State
    opt_state: optax.OptState
def net_fn(x, is_training):
    h = hk.Linear(width, with_bias=False)(x)
    h = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)(h, is_training)
    return hk.Linear(2)(jax.nn.relu(h))
def load_dataset(split, *, shuffle, batch_size):
    part = slice(0, 16) if split == "train" else slice(16, 24)
    a, b = X[part], labels[part]
    idx = np.arange(len(a))
    if shuffle: idx = np.random.default_rng(4).permutation(idx)
    for i in itertools.count():
        j = idx[(np.arange(batch_size) + i * batch_size) % len(a)]
        yield Batch(a[j], b[j])
width, n_steps, every = 5, 4, 2
---
network = hk.without_apply_rng(hk.transform_with_state(net_fn))
optimiser = optax.adam(1e-2)
def loss(params, net_state, batch):
    logits, net_state = network.apply(params, net_state, batch.image, True)
    l2 = 0.5 * sum(jnp.sum(jnp.square(p)) for m, n, p in hk.data_structures.traverse(params) if n == "w")
    ll = jnp.sum(jax.nn.one_hot(batch.label, 2) * jax.nn.log_softmax(logits))
    return -ll / batch.label.shape[0] + 1e-4 * l2, net_state
@jax.jit
def evaluate(params, net_state, batch):
    logits, _ = network.apply(params, net_state, batch.image, False)
    return jnp.mean(jnp.argmax(logits, -1) == batch.label)
@jax.jit
def update(state, batch):
    grads, net_state = jax.grad(loss, has_aux=True)(state.params, state.net_state, batch)
    updates, opt_state = optimiser.update(grads, state.opt_state)
    params = optax.apply_updates(state.params, updates)
    return TrainingState(params, optax.incremental_update(params, state.avg_params, 0.1), net_state, opt_state)
train, test = (load_dataset(s, shuffle=s == "train", batch_size=8) for s in ("train", "test"))
initial, net_state = network.init(jax.random.PRNGKey(0), next(train).image, True)
state = TrainingState(initial, initial, net_state, optimiser.init(initial))
accs = []
for step in range(n_steps):
    if step % every == 0:
        accs.append(np.array(evaluate(state.avg_params, state.net_state, next(test))).item())
    state = update(state, next(train))
print(len(accs), sorted(state.params), hk.data_structures.tree_size(state.params))
state.net_state
---
width = 3
---
every, n_steps = 1, 2
---
def net_fn(x, is_training):
    return hk.Linear(2)(hk.BatchNorm(True, True, 0.5)(x, is_training))

### ga-haiku-lstm-scan-char-model needs=haiku
import haiku as hk
corpus = "hello world, hello haiku. "
vocab = sorted(set(corpus))
ids = np.array([vocab.index(c) for c in corpus], np.int32)
class CharModel(hk.Module):
    def __init__(self, hidden, name=None):
        super().__init__(name=name)
        self.hidden = hidden
    def __call__(self, tokens):
        core = hk.LSTM(self.hidden)
        emb = hk.Embed(len(vocab), self.hidden)
        def body(state, t):
            out, state = core(emb(t), state)
            return state, out
        _, outs = hk.scan(body, core.initial_state(tokens.shape[0]), tokens.T)
        return hk.BatchApply(hk.Linear(len(vocab)))(outs).swapaxes(0, 1)
hidden, lr, steps = 4, 0.05, 2
params = None
---
model = hk.without_apply_rng(hk.transform(lambda t: CharModel(hidden)(t)))
batch = np.stack([ids[i:i + 7] for i in (0, 6, 13)])
if params is None:
    params = model.init(jax.random.PRNGKey(42), batch[:, :-1])
opt = optax.chain(optax.clip(0.5), optax.rmsprop(lr))
opt_state = opt.init(params)
@jax.jit
def loss_fn(params, seq):
    logits = model.apply(params, seq[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, seq[:, 1:]).mean()
for i in range(steps):
    value, grads = jax.value_and_grad(loss_fn)(params, batch)
    updates, opt_state = opt.update(grads, opt_state)
    params = optax.apply_updates(params, updates)
    if i % 2 == 0:
        print("step %d: bits %.2f" % (i, value / math.log(2)))
logits = model.apply(params, ids[None, :5])
nxt = vocab[int(logits[0, -1].argmax())]
type(nxt).__name__, logits.shape
---
params = None; hidden = 3
---
steps = 3; lr = 0.01

### ga-optax-inject-hyperparams-plateau-by-hand cold
def loss_fn(params, a, b): return jnp.mean((a @ params["w"] + params["b"] - b) ** 2)
params = {"w": jnp.zeros(4), "b": jnp.zeros(())}
tx = optax.inject_hyperparams(optax.adamw)(learning_rate=0.3, weight_decay=1e-3)
opt_state = tx.init(params)
class ReduceLROnPlateau:
    def __init__(self, factor=0.5, patience=1, min_lr=1e-3, threshold=0.5):
        self.factor, self.patience, self.min_lr, self.threshold = factor, patience, min_lr, threshold
        self.best, self.bad = float("inf"), 0
    def step(self, loss, opt_state):
        if loss < self.best * (1 - self.threshold):
            self.best, self.bad = loss, 0
            return False
        self.bad += 1
        if self.bad > self.patience:
            hp = opt_state.hyperparams
            hp["learning_rate"] = jnp.maximum(hp["learning_rate"] * self.factor, self.min_lr)
            self.bad = 0
            return True
        return False
sched = ReduceLROnPlateau()
epochs = 5
---
@jax.jit
def train_step(params, opt_state, a, b):
    loss, grads = jax.value_and_grad(loss_fn)(params, a, b)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss
lrs, cuts = [], 0
for epoch in range(epochs):
    for i in range(0, len(X), 8):
        params, opt_state, loss = train_step(params, opt_state, X[i:i + 8], y[i:i + 8])
    if sched.step(float(loss_fn(params, X, y)), opt_state):
        cuts += 1
    lrs.append(float(opt_state.hyperparams["learning_rate"]))
print(cuts, ["%.3g" % v for v in lrs])
sched.bad, opt_state.hyperparams["weight_decay"]
---
sched = ReduceLROnPlateau(patience=0); epochs = 2
---
opt_state.hyperparams["learning_rate"] = 1.0
---
params = jax.tree.map(jnp.zeros_like, params)

### ga-optax-multi-transform-labels-and-frozen
params = {"encoder": {"w": jnp.ones((4, 3)) * 0.1, "b": jnp.zeros(3)}, "head": {"w": jnp.ones((3,)) * 0.5}, "scale": jnp.ones(())}
def forward(p, a): return jnp.tanh(a @ p["encoder"]["w"] + p["encoder"]["b"]) @ p["head"]["w"] * p["scale"]
frozen = {"encoder"}
lrs = {"head": 0.1, "scale": 0.01}
steps = 3
---
def label_fn(params):
    return {k: jax.tree.map(lambda _: "frozen" if k in frozen else k, v) for k, v in params.items()}
transforms = {k: optax.sgd(lr, momentum=0.9) for k, lr in lrs.items()}
transforms |= {"frozen": optax.set_to_zero(), "encoder": optax.adam(1e-2)}
tx = optax.chain(optax.clip_by_global_norm(5.0), optax.partition(transforms, label_fn))
opt_state = tx.init(params)
start = params
for step in range(steps):
    grads = jax.grad(lambda p: jnp.mean(optax.huber_loss(forward(p, X), y)))(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
changed = jax.tree.map(lambda a, b: bool(jnp.any(a != b)), start, params)
print(json.dumps(changed, sort_keys=True))
optax.tree.norm(updates)
---
frozen.add("scale")
---
frozen = set()
---
lrs["head"] = 0.0
---
del lrs["scale"]; frozen.add("scale")

### ga-optax-multisteps-grad-accumulation-logging
log = []
params = jnp.zeros(4)
k_acc = 3
def mse(p, a, b): return jnp.mean(optax.squared_error(a @ p, b))
opt = optax.MultiSteps(optax.chain(optax.add_decayed_weights(1e-3), optax.sgd(0.1)), every_k_schedule=k_acc)
state = opt.init(params)
---
@jax.jit
def micro_step(params, state, a, b):
    loss, g = jax.value_and_grad(mse)(params, a, b)
    updates, state = opt.update(g, state, params)
    return optax.apply_updates(params, updates), state, loss
for a, b in zip(np.split(X, 6), np.split(y, 6)):
    params, state, loss = micro_step(params, state, a, b)
    if opt.has_updated(state):
        log.append({"grad_step": int(state.gradient_step), "loss": round(float(loss), 2)})
print(log[-1]["grad_step"], int(state.mini_step))
params
---
log.clear()
---
opt = optax.MultiSteps(optax.adam(0.05), every_k_schedule=lambda s: 2); state = opt.init(params)
---
params = params * 0

### ga-optax-lookahead-ema-contrib-compare
def fit(tx, steps):
    params = {"w": jnp.zeros(4)}
    if isinstance(tx, str) and tx == "lookahead":
        params = optax.LookaheadParams.init_synced(params)
        tx = optax.lookahead(optax.sgd(0.1), sync_period=2, slow_step_size=0.5)
    state = tx.init(params)
    fast = lambda p: p.fast if isinstance(p, optax.LookaheadParams) else p
    for _ in range(steps):
        g = jax.grad(lambda p: jnp.mean((X @ p["w"] - y) ** 2))(fast(params))
        u, state = tx.update(g, state, params)
        params = optax.apply_updates(params, u)
    return params
import optax.contrib
candidates = {"lion": optax.lion(0.05), "prodigy": optax.contrib.prodigy(0.1), "lookahead": "lookahead",
              "schedule_free": optax.contrib.schedule_free_sgd(0.1, warmup_steps=1)}
steps = 2
---
ema = optax.ema(0.5, debias=True)
results = {}
for name, tx in candidates.items():
    params = fit(tx, steps)
    w = params.slow["w"] if hasattr(params, "slow") else params["w"]
    avg, _ = ema.update(w, ema.init(w))
    results[name] = {"mse": float(jnp.mean((X @ w - y) ** 2)), "ema": avg}
best = min(results, key=lambda k: results[k]["mse"])
for name in sorted(results):
    print(f"{name:>14s} | {results[name]['mse']:8.2f}")
best in results
---
candidates.pop("prodigy")
---
steps = 3
---
candidates["adan"] = optax.adan(0.1)

### ga-dqn-numpy-replay-epsilon-greedy needs=flax
import flax.linen as nn
from flax.training.train_state import TrainState as Base
class TrainState(Base):
    target_params: Any
class QNet(nn.Module):
    n: int
    @nn.compact
    def __call__(self, s): return nn.Dense(self.n)(nn.relu(nn.Dense(8)(s)))
class Corridor:
    n_actions = 2
    def __init__(self, length): self.length = length
    def reset(self, seed=None):
        self.pos, self.t = 0, 0
        return self._obs(), {}
    def _obs(self): return np.array([self.pos / self.length, 1.0], np.float32)
    def step(self, a):
        self.pos = max(0, self.pos + (1 if a else -1)); self.t += 1
        done = self.pos >= self.length
        return self._obs(), 1.0 if done else -0.1, done, self.t >= 8, {}
class ReplayBuffer:
    def __init__(self, size):
        self.obs, self.next = np.zeros((size, 2), np.float32), np.zeros((size, 2), np.float32)
        self.act, self.rew, self.done = np.zeros(size, np.int32), np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.i, self.full, self.size = 0, False, size
    def add(self, o, a, r, n, d):
        k = self.i % self.size
        self.obs[k], self.act[k], self.rew[k], self.next[k], self.done[k] = o, a, r, n, d
        self.i += 1
    def sample(self, n, rng):
        j = rng.integers(0, min(self.i, self.size), n)
        return self.obs[j], self.act[j], self.rew[j], self.next[j], self.done[j]
env, rb, q = Corridor(3), ReplayBuffer(16), QNet(2)
p0 = q.init(jax.random.PRNGKey(1), jnp.zeros((1, 2)))
state = TrainState.create(apply_fn=q.apply, params=p0, target_params=p0, tx=optax.adam(1e-2))
gamma, tau, total, learning_starts = 0.9, 0.5, 12, 4
linear_schedule = lambda s, e, d, t: max((e - s) / d * t + s, e)
---
q_apply = jax.jit(q.apply)
@jax.jit
def update(state, obs, act, rew, nxt, done):
    target = rew + (1 - done) * gamma * q.apply(state.target_params, nxt).max(-1)
    def loss(params):
        pred = q.apply(params, obs)[jnp.arange(len(act)), act]
        return ((pred - target) ** 2).mean(), pred
    (l, pred), g = jax.value_and_grad(loss, has_aux=True)(state.params)
    return l, pred, state.apply_gradients(grads=g)
rng = np.random.default_rng(0)
returns, ret, td = [], 0.0, []
obs, _ = env.reset(seed=1)
for t in range(total):
    epsilon = linear_schedule(1.0, 0.2, 0.8 * total, t)
    if rng.random() < epsilon:
        action = int(rng.integers(env.n_actions))
    else:
        action = int(jax.device_get(q_apply(state.params, obs[None]).argmax(-1))[0])
    nxt, r, term, trunc, info = env.step(action)
    rb.add(obs, action, r, nxt, term)
    ret += r
    obs = nxt
    if term or trunc:
        returns.append(round(ret, 2)); ret = 0.0
        obs, _ = env.reset()
    if t > learning_starts and t % 2 == 0:
        l, pred, state = update(state, *rb.sample(4, rng))
        td.append(l)
    if t % 6 == 5:
        state = state.replace(target_params=optax.incremental_update(state.params, state.target_params, tau))
print(f"episodes {len(returns)} updates {len(td)} filled {min(rb.i, rb.size)}")
state.step, np.mean(jax.device_get(td)) >= 0
---
gamma = 0.5
---
rb = ReplayBuffer(8); total = 8
---
env.length = 1; learning_starts = 0

### ga-reinforce-own-env-discounted-returns
class Bandit:
    def __init__(self, means, horizon): self.means, self.horizon = np.asarray(means), horizon
    def reset(self, rng): self.t, self.rng = 0, rng; return np.zeros(2, np.float32)
    def step(self, a):
        self.t += 1
        r = float(self.rng.normal(self.means[a], 0.1))
        return np.array([self.t / self.horizon, r], np.float32), r, self.t >= self.horizon
env = Bandit([0.0, 1.0, 0.3], 4)
def policy(params, obs): return jax.nn.log_softmax(obs @ params["w"] + params["b"])
params = {"w": jnp.zeros((2, 3)), "b": jnp.zeros(3)}
tx = optax.adam(0.1); opt_state = tx.init(params)
gamma, n_episodes, baseline = 0.9, 2, True
rewards_log = deque(maxlen=5)
---
def discount(rs):
    out, acc = np.zeros(len(rs), np.float32), 0.0
    for i in reversed(range(len(rs))):
        acc = rs[i] + gamma * acc
        out[i] = acc
    return out
@jax.jit
def update(params, opt_state, obs, acts, rets):
    def loss(p):
        logp = jnp.take_along_axis(jax.vmap(policy, (None, 0))(p, obs), acts[:, None], 1)[:, 0]
        return -(logp * lax.stop_gradient(rets)).mean()
    l, g = jax.value_and_grad(loss)(params)
    u, opt_state = tx.update(g, opt_state)
    return optax.apply_updates(params, u), opt_state, l
key = jax.random.PRNGKey(3)
for ep in range(n_episodes):
    obs, done = env.reset(np.random.default_rng(ep)), False
    traj = {"obs": [], "act": [], "rew": []}
    while not done:
        key, k = jax.random.split(key)
        a = int(jax.random.categorical(k, policy(params, obs)))
        traj["obs"].append(obs); traj["act"].append(a)
        obs, r, done = env.step(a)
        traj["rew"].append(r)
    rets = discount(traj["rew"])
    if baseline:
        rets = (rets - rets.mean()) / (rets.std() + 1e-8)
    params, opt_state, l = update(params, opt_state, np.stack(traj["obs"]), np.array(traj["act"]), rets)
    rewards_log.append(sum(traj["rew"]))
    print(f"Episode {ep}: length {len(traj['rew'])}, actions {traj['act']}")
len(rewards_log), params["b"]
---
baseline = False
---
env = Bandit([1.0, 0.0, 0.0], 2); n_episodes = 3
---
params = jax.tree.map(jnp.zeros_like, params); rewards_log.clear()

### ga-ppo-scan-gae-minibatches
class Transition(NamedTuple):
    done: Any
    action: Any
    value: Any
    reward: Any
    log_prob: Any
    obs: Any
def env_reset(key): return jax.random.uniform(key, (2,), minval=-0.1, maxval=0.1)
def env_step(key, s, a):
    v = s[1] + jnp.where(a == 1, 0.2, -0.2)
    s2 = jnp.array([s[0] + v, v])
    done = jnp.abs(s2[0]) > 1.0
    return jnp.where(done, env_reset(key), s2), 1.0 - jnp.abs(s2[0]), done
def network(p, o):
    h = jnp.tanh(o @ p["h"])
    return h @ p["pi"], (h @ p["v"])[..., 0]
k = jax.random.split(jax.random.PRNGKey(0), 3)
params = {"h": jax.random.normal(k[0], (2, 4)), "pi": jax.random.normal(k[1], (4, 2)) * 0.01, "v": jax.random.normal(k[2], (4, 1))}
config = {"NUM_ENVS": 3, "NUM_STEPS": 4, "GAMMA": 0.99, "GAE_LAMBDA": 0.95, "CLIP_EPS": 0.2, "NUM_MINIBATCHES": 2, "UPDATE_EPOCHS": 2, "LR": 3e-3, "NUM_UPDATES": 2}
---
def make_train(config):
    tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(config["LR"], eps=1e-5))
    def train(rng, params):
        rng, r = jax.random.split(rng)
        obs = jax.vmap(env_reset)(jax.random.split(r, config["NUM_ENVS"]))
        def _update(carry, _):
            def _env_step(carry, _):
                params, obs, rng = carry
                rng, ra, rs = jax.random.split(rng, 3)
                logits, value = network(params, obs)
                action = jax.random.categorical(ra, logits)
                lp = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
                nobs, reward, done = jax.vmap(env_step)(jax.random.split(rs, config["NUM_ENVS"]), obs, action)
                return (params, nobs, rng), Transition(done, action, value, reward, lp, obs)
            params, opt_state, obs, rng = carry
            (params, obs, rng), traj = lax.scan(_env_step, (params, obs, rng), None, config["NUM_STEPS"])
            _, last = network(params, obs)
            def _adv(c, t):
                gae, nxt = c
                delta = t.reward + config["GAMMA"] * nxt * (1 - t.done) - t.value
                gae = delta + config["GAMMA"] * config["GAE_LAMBDA"] * (1 - t.done) * gae
                return (gae, t.value), gae
            _, adv = lax.scan(_adv, (jnp.zeros_like(last), last), traj, reverse=True)
            def _epoch(c, _):
                params, opt_state, rng = c
                rng, rp = jax.random.split(rng)
                perm = jax.random.permutation(rp, config["NUM_STEPS"] * config["NUM_ENVS"])
                flat = jax.tree.map(lambda a: a.reshape((-1,) + a.shape[2:])[perm], (traj, adv, adv + traj.value))
                mb = jax.tree.map(lambda a: a.reshape((config["NUM_MINIBATCHES"], -1) + a.shape[1:]), flat)
                def _mini(c, b):
                    def loss(p, t, gae, target):
                        logits, value = network(p, t.obs)
                        lsm = jax.nn.log_softmax(logits)
                        ratio = jnp.exp(jnp.take_along_axis(lsm, t.action[:, None], 1)[:, 0] - t.log_prob)
                        gae = (gae - gae.mean()) / (gae.std() + 1e-8)
                        clip = jnp.clip(ratio, 1 - config["CLIP_EPS"], 1 + config["CLIP_EPS"])
                        return -jnp.minimum(ratio * gae, clip * gae).mean() + 0.5 * ((value - target) ** 2).mean()
                    l, g = jax.value_and_grad(loss)(c[0], *b)
                    u, s = tx.update(g, c[1], c[0])
                    return (optax.apply_updates(c[0], u), s), l
                (params, opt_state), ls = lax.scan(_mini, (params, opt_state), mb)
                return (params, opt_state, rng), ls
            (params, opt_state, rng), ls = lax.scan(_epoch, (params, opt_state, rng), None, config["UPDATE_EPOCHS"])
            return (params, opt_state, obs, rng), {"loss": ls.mean(), "reward": traj.reward.mean()}
        carry, metrics = lax.scan(_update, (params, tx.init(params), obs, rng), None, config["NUM_UPDATES"])
        return carry[0], metrics
    return train
train_jit = jax.jit(make_train(config))
trained, metrics = train_jit(jax.random.PRNGKey(30), params)
print(jax.tree.map(jnp.shape, metrics))
metrics["reward"].mean()
---
config["NUM_ENVS"] = 2
---
config["CLIP_EPS"] = 0.1; config["LR"] = 0.1
---
params = trained

### ga-gan-two-nnx-optimizers-alternating needs=flax
from flax import nnx
class Generator(nnx.Module):
    def __init__(self, z, rngs): self.net = nnx.Sequential(nnx.Linear(z, 6, rngs=rngs), nnx.leaky_relu, nnx.Linear(6, 2, rngs=rngs)); self.z = z
    def __call__(self, key, n): return self.net(jax.random.normal(key, (n, self.z)))
class Discriminator(nnx.Module):
    def __init__(self, rngs): self.a, self.b = nnx.Linear(2, 6, rngs=rngs), nnx.Linear(6, 1, rngs=rngs)
    def __call__(self, x): return self.b(nnx.leaky_relu(self.a(x), 0.2))[:, 0]
rngs = nnx.Rngs(0, noise=7)
G, D = Generator(3, rngs), Discriminator(rngs)
opt_g = nnx.Optimizer(G, optax.adam(0.01, b1=0.5), wrt=nnx.Param)
opt_d = nnx.Optimizer(D, optax.adam(0.01, b1=0.5), wrt=nnx.Param)
real = X[:, :2] * 0.5 + 1.0
bs, n_critic, g_losses, d_losses = 8, 2, [], []
---
bce = optax.sigmoid_binary_cross_entropy
@nnx.jit
def d_step(G, D, opt_d, x, key):
    fake = lax.stop_gradient(G(key, len(x)))
    def loss(D): return (bce(D(x), jnp.ones(len(x))) + bce(D(fake), jnp.zeros(len(x)))).mean()
    l, g = nnx.value_and_grad(loss)(D)
    opt_d.update(D, g)
    return l
@nnx.jit(static_argnames="n")
def g_step(G, D, opt_g, key, n):
    l, g = nnx.value_and_grad(lambda G: bce(D(G(key, n)), jnp.ones(n)).mean())(G)
    opt_g.update(G, g)
    return l
for i in range(0, len(real), bs):
    for _ in range(n_critic):
        d_losses.append(d_step(G, D, opt_d, real[i:i + bs], rngs.noise()))
    g_losses.append(g_step(G, D, opt_g, rngs.noise(), n=bs))
fixed = G(jax.random.key(99), 4)
print(f"[{len(g_losses)}] D {np.mean(d_losses[-2:]):.2f} G {float(g_losses[-1]):.2f}")
fixed.shape, opt_d.step[...], rngs.noise.count[...]
---
n_critic = 1
---
g_losses.clear(); d_losses = []; bs = 12
---
D = Discriminator(nnx.Rngs(5)); opt_d = nnx.Optimizer(D, optax.sgd(0.1), wrt=nnx.Param)

### ga-vae-linen-beta-annealing-elbo-history needs=flax
import flax.linen as nn
class Encoder(nn.Module):
    z: int
    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(6)(x))
        return nn.Dense(self.z, name="mean")(h), nn.Dense(self.z, name="logvar")(h)
class VAE(nn.Module):
    z: int = 2
    def setup(self): self.encoder, self.decoder = Encoder(self.z), nn.Sequential([nn.Dense(6), nn.tanh, nn.Dense(4)])
    def __call__(self, x, key):
        mean, logvar = self.encoder(x)
        zs = mean + jnp.exp(0.5 * logvar) * jax.random.normal(key, mean.shape)
        return self.decoder(zs), mean, logvar
    def generate(self, z): return nn.sigmoid(self.decoder(z))
bx = (X > 0).astype(np.float32)
latents, epochs, warmup = 2, 3, 2
---
@jax.vmap
def kl_divergence(mean, logvar): return -0.5 * jnp.sum(1 + logvar - jnp.square(mean) - jnp.exp(logvar))
@jax.vmap
def bce(logits, t): return -jnp.sum(t * nn.log_sigmoid(logits) + (1 - t) * jnp.log(-jnp.expm1(nn.log_sigmoid(logits))))
model = VAE(latents)
key = jax.random.key(0)
key, ik, zk = jax.random.split(key, 3)
params = model.init(ik, bx, zk)["params"]
tx = optax.adam(1e-2)
opt = tx.init(params)
history = {"elbo": [], "kl": [], "beta": []}
@jax.jit
def step(params, opt, batch, key, beta):
    def loss_fn(p):
        recon, mean, logvar = model.apply({"params": p}, batch, key)
        kl = kl_divergence(mean, logvar).mean()
        return bce(recon, batch).mean() + beta * kl, kl
    (l, kl), g = jax.value_and_grad(loss_fn, has_aux=True)(params)
    u, opt = tx.update(g, opt)
    return optax.apply_updates(params, u), opt, l, kl
for epoch in range(epochs):
    beta = min(1.0, epoch / warmup)
    for batch in np.array_split(bx, 2):
        key, sub = jax.random.split(key)
        params, opt, l, kl = step(params, opt, batch, sub, beta)
    history["elbo"].append(-l); history["kl"].append(float(kl)); history["beta"].append(beta)
samples = model.apply({"params": params}, jax.random.normal(key, (3, latents)), method=VAE.generate)
print(history["beta"], [round(k, 2) for k in history["kl"]])
samples.min() >= 0, history["elbo"][-1]
---
warmup = 1
---
latents = 1; epochs = 2
---
bx = bx[:12]

### ga-diffusion-ddpm-train-and-ancestral-sample needs=equinox
import equinox as eqx
def linear_beta_schedule(T): return np.linspace(1e-3, 0.3, T, dtype=np.float32)
class Denoiser(eqx.Module):
    mlp: eqx.nn.MLP
    T: int = eqx.field(static=True)
    def __init__(self, T, key): self.mlp = eqx.nn.MLP(2 + 2, 2, 8, 1, activation=jax.nn.silu, key=key); self.T = T
    def __call__(self, x, t):
        tt = t / self.T
        return self.mlp(jnp.concatenate([x, jnp.stack([jnp.sin(tt), jnp.cos(tt)])]))
T, steps, n_samples = 4, 3, 5
data = np.stack([np.cos(np.arange(12.0)), np.sin(np.arange(12.0))], 1).astype(np.float32)
model = Denoiser(T, jax.random.key(0))
---
betas = linear_beta_schedule(T)
alphas = 1.0 - betas
alphas_bar = np.cumprod(alphas)
ema_model = jax.tree.map(lambda a: a, model)
optim = optax.adam(1e-2)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
@eqx.filter_jit
def train_step(model, ema_model, opt_state, x0, key):
    kt, kn = jax.random.split(key)
    t = jax.random.randint(kt, (len(x0),), 0, T)
    noise = jax.random.normal(kn, x0.shape)
    ab = jnp.asarray(alphas_bar)[t][:, None]
    xt = jnp.sqrt(ab) * x0 + jnp.sqrt(1 - ab) * noise
    loss, g = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(xt, t) - noise) ** 2))(model)
    u, opt_state = optim.update(g, opt_state)
    model = eqx.apply_updates(model, u)
    ema_model = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p if eqx.is_inexact_array(p) else p, ema_model, model)
    return model, ema_model, opt_state, loss
key = jax.random.key(1)
for i in range(steps):
    key, k = jax.random.split(key)
    model, ema_model, opt_state, loss = train_step(model, ema_model, opt_state, data, k)
x = jax.random.normal(jax.random.key(2), (n_samples, 2))
frames = [np.asarray(x)]
for t in reversed(range(T)):
    key, k = jax.random.split(key)
    eps = jax.vmap(ema_model, in_axes=(0, None))(x, jnp.array(t))
    mean = (x - betas[t] / np.sqrt(1 - alphas_bar[t]) * eps) / np.sqrt(alphas[t])
    x = mean + (np.sqrt(betas[t]) * jax.random.normal(k, x.shape) if t > 0 else 0)
    frames.append(np.asarray(x))
print(len(frames), frames[-1].shape, f"{loss:.1f}")
np.stack(frames).shape, x
---
T = 3
---
def linear_beta_schedule(T): return np.full(T, 0.2, np.float32)
---
model = Denoiser(T, jax.random.key(8)); n_samples = 2

### ga-simclr-augment-ntxent-temperature
def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [dict(w=jax.random.normal(k, (a, b)) / np.sqrt(a), b=jnp.zeros(b)) for k, a, b in zip(keys, sizes[:-1], sizes[1:])]
def encode(params, v):
    *hidden, last = params
    for layer in hidden: v = jax.nn.relu(v @ layer["w"] + layer["b"])
    z = v @ last["w"] + last["b"]
    return z / jnp.linalg.norm(z, axis=1, keepdims=True)
augmentations = [lambda k, v: v + 0.1 * jax.random.normal(k, v.shape), lambda k, v: v * jax.random.bernoulli(k, 0.8, v.shape)]
rng = {"aug": jax.random.PRNGKey(0), "init": jax.random.PRNGKey(1)}
params = init(rng["init"], [4, 6, 3])
tau, bs = 0.5, 8
---
def next_key(name):
    rng[name], sub = jax.random.split(rng[name])
    return sub
def augment(v):
    for aug in augmentations:
        v = aug(next_key("aug"), v)
    return v
def nt_xent(params, a, b, tau):
    z = jnp.concatenate([encode(params, a), encode(params, b)])
    n = len(a)
    sim = z @ z.T / tau - 1e9 * jnp.eye(2 * n)
    target = jnp.concatenate([jnp.arange(n) + n, jnp.arange(n)])
    return optax.softmax_cross_entropy_with_integer_labels(sim, target).mean()
tx = optax.lars(0.1)
opt_state = tx.init(params)
history = []
for i in range(0, len(X), bs):
    a, b = augment(X[i:i + bs]), augment(X[i:i + bs])
    loss, grads = jax.value_and_grad(nt_xent)(params, a, b, tau)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    history.append(loss)
alignment = (encode(params, X) * encode(params, augment(X))).sum(1).mean()
alignment, len(history), jax.random.key_data(rng["aug"])
---
tau = 0.1
---
augmentations.pop()
---
bs = 12; rng["aug"] = jax.random.PRNGKey(77)

### ga-gpt-jnp-scratch-bpe-train-sample
class BPE:
    def __init__(self, text, merges):
        ids, self.merges = list(text.encode()), {}
        for i in range(merges):
            counts = collections.Counter(zip(ids, ids[1:]))
            if not counts: break
            pair = max(sorted(counts), key=counts.get)
            self.merges[pair] = 256 + i
            ids = self._merge(ids, pair, 256 + i)
        self.used = sorted(set(ids) | {0})
        self.lookup = {v: i for i, v in enumerate(self.used)}
    @staticmethod
    def _merge(ids, pair, new):
        out, i = [], 0
        while i < len(ids):
            if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair: out.append(new); i += 2
            else: out.append(ids[i]); i += 1
        return out
    def encode(self, text):
        ids = list(text.encode())
        for pair, new in self.merges.items(): ids = self._merge(ids, pair, new)
        return [self.lookup.get(i, 0) for i in ids]
text = "low lower lowest new newer newest wide wider widest "
n_merges, d, steps = 6, 8, 2
def layernorm(x, eps=1e-5): return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + eps)
def attention(p, x):
    q, k, v = jnp.split(x @ p["qkv"], 3, -1)
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    n = x.shape[-2]
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((n, n), bool)), s, -jnp.inf)) @ v @ p["o"]
---
tok = BPE(text, n_merges)
ids = jnp.array(tok.encode(text))
V = len(tok.used)
ks = iter(jax.random.split(jax.random.key(0), 10))
normal = lambda *s: jax.random.normal(next(ks), s) * 0.2
params = {"emb": normal(V, d), "blocks": [{"qkv": normal(d, 3 * d), "o": normal(d, d), "up": normal(d, 2 * d), "down": normal(2 * d, d)} for _ in range(2)]}
def model(params, x):
    h = params["emb"][x]
    for p in params["blocks"]:
        h = h + attention(p, layernorm(h))
        h = h + jax.nn.gelu(layernorm(h) @ p["up"]) @ p["down"]
    return layernorm(h) @ params["emb"].T
@partial(jax.jit, donate_argnums=(0, 1))
def step(params, opt_state, x):
    loss, g = jax.value_and_grad(lambda p: optax.softmax_cross_entropy_with_integer_labels(model(p, x[:, :-1]), x[:, 1:]).mean())(params)
    u, opt_state = tx.update(g, opt_state, params)
    return optax.apply_updates(params, u), opt_state, loss
tx = optax.adamw(1e-2)
opt_state = tx.init(params)
blocks = jnp.stack([ids[i:i + 6] for i in range(0, len(ids) - 6, 5)])
for it in range(steps):
    params, opt_state, loss = step(params, opt_state, blocks)
out = ids[:3]
for _ in range(3):
    out = jnp.append(out, model(params, out[None])[0, -1].argmax())
n_params = sum(p.size for p in jax.tree.leaves(params))
print(f"vocab {V} params {n_params} tokens {len(ids)} loss {loss:.2f}")
out.shape
---
n_merges = 2
---
steps = 1; d = 4
---
text = "aa ab abc " * 5

### ga-kv-cache-generate-with-while-loop
class Cache(NamedTuple):
    k: jax.Array
    v: jax.Array
    pos: jax.Array
V, D, L = 7, 6, 2
ks = jax.random.split(jax.random.key(4), 4)
params = {"emb": jax.random.normal(ks[0], (V, D)), "qkv": jax.random.normal(ks[1], (L, D, 3 * D)) / D**0.5, "o": jax.random.normal(ks[2], (L, D, D)) / D**0.5}
def init_cache(n): return Cache(jnp.zeros((L, n, D)), jnp.zeros((L, n, D)), jnp.zeros((), jnp.int32))
prompt, max_new, eos, temperature, use_jit = [1, 2, 3], 4, 0, 0.0, True
---
def decode_one(params, cache, tok):
    h, ck, cv = params["emb"][tok], cache.k, cache.v
    for l in range(L):
        q, k, v = jnp.split(h @ params["qkv"][l], 3)
        ck = ck.at[l].set(lax.dynamic_update_slice(ck[l], k[None], (cache.pos, 0)))
        cv = cv.at[l].set(lax.dynamic_update_slice(cv[l], v[None], (cache.pos, 0)))
        s = jnp.where(jnp.arange(ck.shape[1]) <= cache.pos, ck[l] @ q / D**0.5, -1e9)
        h = h + (jax.nn.softmax(s) @ cv[l]) @ params["o"][l]
    return h @ params["emb"].T, Cache(ck, cv, cache.pos + 1)
step = jax.jit(decode_one) if use_jit else decode_one
cache = init_cache(len(prompt) + max_new)
for tok in prompt:
    logits, cache = step(params, cache, tok)
key, out = jax.random.key(0), list(prompt)
while len(out) < len(prompt) + max_new:
    if temperature == 0.0:
        tok = int(jnp.argmax(logits))
    else:
        key, sub = jax.random.split(key)
        tok = int(jax.random.categorical(sub, logits / temperature))
    if tok == eos:
        break
    out.append(tok)
    logits, cache = step(params, cache, tok)
print(out, int(cache.pos))
cache.k[:, : int(cache.pos)].sum()
---
temperature = 1.0
---
use_jit = False; prompt = [5]
---
max_new, eos = 2, 99
---
params["emb"] = params["emb"].at[:3].multiply(2.0)

### ga-beam-search-numpy-hypotheses
V, D = 6, 5
params = {"E": jax.random.normal(jax.random.key(1), (V, D)), "W": jax.random.normal(jax.random.key(2), (D, D)) * 0.5}
@dataclass(order=True)
class Hyp:
    score: float
    tokens: list = field(compare=False)
    state: Any = field(compare=False, repr=False)
BOS, EOS = 1, 0
beam, max_len, alpha = 2, 4, 0.6
---
@jax.jit
def next_logp(params, state, tok):
    state = jnp.tanh(state @ params["W"] + params["E"][tok])
    return jax.nn.log_softmax(params["E"] @ state), state
beams, finished = [Hyp(0.0, [BOS], jnp.zeros(D))], []
for t in range(max_len):
    cand = []
    for h in beams:
        logp, state = next_logp(params, h.state, h.tokens[-1])
        top = np.argsort(-np.asarray(logp))[:beam]
        cand += [Hyp(h.score + float(logp[i]), h.tokens + [int(i)], state) for i in top]
    cand.sort(reverse=True)
    beams = []
    for h in cand[:beam]:
        if h.tokens[-1] == EOS:
            finished.append(Hyp(h.score / ((5 + len(h.tokens)) / 6) ** alpha, h.tokens, h.state))
        else:
            beams.append(h)
    if not beams:
        break
best = max(finished or beams)
print(best.tokens, round(best.score, 2), len(finished))
best.state.shape
---
beam = 3
---
params["W"] = params["W"] * -2.0
---
BOS, max_len = 4, 2

### ga-early-stopping-best-params-validation
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.wait, self.best_params, self.stopped_epoch = np.inf, 0, None, None
    def __call__(self, epoch, loss, params):
        if loss < self.best - self.min_delta:
            self.best, self.wait, self.best_params = loss, 0, jax.tree.map(np.array, params)
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = epoch
                return True
        return False
Xtr, Xva, ytr, yva = X[:16], X[16:], y[:16], y[16:]
lr, patience, max_epochs = 0.9, 2, 6
---
params = {"w": jnp.zeros(4), "b": 0.0}
def predict(p, a): return a @ p["w"] + p["b"]
mse = jax.jit(lambda p, a, b: jnp.mean((predict(p, a) - b) ** 2))
grad = jax.jit(jax.grad(lambda p, a, b: jnp.mean((predict(p, a) - b) ** 2)))
stopper = EarlyStopping(patience)
train_losses, val_losses = [], []
for epoch in range(max_epochs):
    g = grad(params, Xtr, ytr)
    params = jax.tree.map(lambda p, d: p - lr * d, params, g)
    train_losses.append(mse(params, Xtr, ytr))
    val_losses.append(mse(params, Xva, yva).item())
    if stopper(epoch, val_losses[-1], params):
        print(f"Early stopping at epoch {epoch}")
        break
else:
    print("ran all")
params = stopper.best_params
final = mse(params, Xva, yva)
assert abs(float(final) - stopper.best) < 1e-3 * max(1, stopper.best)
len(val_losses), type(params["b"]).__name__, final
---
lr = 0.1
---
patience = 1; lr = 1.5
---
EarlyStopping.__call__ = lambda self, epoch, loss, params: setattr(self, "best_params", params) or setattr(self, "best", loss) or epoch >= 1

### ga-lr-finder-exponential-range needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
def batches(bs):
    while True:
        for i in range(0, len(X), bs): yield X[i:i + bs], y[i:i + bs]
class LRFinder:
    def __init__(self, loss_fn, make_tx): self.loss_fn, self.make_tx, self.history = loss_fn, make_tx, {"lr": [], "loss": []}
    def range_test(self, params, data, lo, hi, num, diverge=5.0, smooth=0.3):
        schedule = optax.exponential_decay(lo, num, hi / lo)
        tx = self.make_tx(schedule)
        state = tx.init(params)
        avg, best = 0.0, None
        for i in range(num):
            a, b = next(data)
            loss, g = jax.value_and_grad(self.loss_fn)(params, a, b)
            u, state = tx.update(g, state, params)
            params = optax.apply_updates(params, u)
            avg = smooth * float(loss) + (1 - smooth) * avg
            debiased = avg / (1 - (1 - smooth) ** (i + 1))
            self.history["lr"].append(float(schedule(i))); self.history["loss"].append(debiased)
            if best is None or debiased < best: best = debiased
            if debiased > diverge * best: return i
        return num
lo, hi, num = 1e-3, 10.0, 10
---
finder = LRFinder(lambda p, a, b: jnp.mean((a @ p - b) ** 2), lambda s: optax.sgd(s))
stopped = finder.range_test(jnp.zeros(4), batches(8), lo, hi, num)
lrs, losses = np.array(finder.history["lr"]), np.array(finder.history["loss"])
suggestion = lrs[np.gradient(losses).argmin()]
fig, ax = plt.subplots()
ax.plot(lrs, losses); ax.set_xscale("log"); ax.axvline(suggestion, ls="--")
title = ax.set_title(f"lr {suggestion:.1e}").get_text()
plt.close(fig)
print(stopped, title)
---
hi = 0.1
---
num = 5
---
LRFinder.range_test = lambda self, *a, **k: self.history["lr"].extend([0.1, 0.2, 0.3]) or self.history["loss"].extend([3.0, 1.0, 2.0])

### ga-mixed-precision-dynamic-loss-scale
@jax.tree_util.register_dataclass
@dataclass
class LossScale:
    scale: jax.Array
    good: jax.Array
    period: int = field(metadata=dict(static=True), default=2)
    def adjust(self, finite):
        grow = self.good + 1 >= self.period
        scale = jnp.where(finite, jnp.where(grow, self.scale * 2, self.scale), jnp.maximum(self.scale / 2, 1.0))
        return LossScale(scale, jnp.where(finite & ~grow, self.good + 1, 0), self.period)
policy = {"param": jnp.float32, "compute": jnp.float16, "output": jnp.float32}
cast = lambda t, d: jax.tree.map(lambda a: a.astype(d) if jnp.issubdtype(a.dtype, jnp.floating) else a, t)
params = {"w1": jnp.full((4, 3), 0.25), "w2": jnp.full((3,), 0.5)}
ls = LossScale(jnp.float32(2.0**15), jnp.int32(0))
tx = optax.sgd(0.125)
opt_state = tx.init(params)
steps, magnitude = 4, 1.0
XI = np.round(X * 4) / 4
---
def loss_fn(params, ls, a, b):
    p, a = cast((params, a), policy["compute"])
    out = (jax.nn.relu(a @ p["w1"]) @ p["w2"]).astype(policy["output"])
    return jnp.mean(jnp.abs(out - b)) * ls.scale
@jax.jit
def step(params, opt_state, ls, a, b):
    loss, grads = jax.value_and_grad(loss_fn)(params, ls, a, b)
    grads = jax.tree.map(lambda g: g / ls.scale, grads)
    finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(grads)]))
    updates, new_state = tx.update(grads, opt_state, params)
    new = optax.apply_updates(params, updates)
    pick = lambda n, o: jax.tree.map(partial(jnp.where, finite), n, o)
    return pick(new, params), pick(new_state, opt_state), ls.adjust(finite), finite
skipped = 0
for i in range(steps):
    params, opt_state, ls, finite = step(params, opt_state, ls, XI * magnitude, y)
    if not finite:
        skipped += 1
print(f"skipped {skipped}, scale 2**{int(math.log2(float(ls.scale)))}")
params["w1"].dtype, ls.good
---
magnitude = 64.0
---
policy["compute"] = jnp.bfloat16
---
ls = LossScale(jnp.float32(1024.0), jnp.int32(0), period=1)
---
magnitude = 1.0; steps = 2

### ga-kfold-sklearn-pandas-summary needs=sklearn,pandas
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import StandardScaler
import pandas as pd
@partial(jax.jit, static_argnames=("n_steps",))
def fit(a, b, l2, n_steps):
    def loss(w): return optax.sigmoid_binary_cross_entropy(a @ w[:-1] + w[-1], b).mean() + l2 * (w[:-1] ** 2).sum()
    def body(w, _):
        l, g = jax.value_and_grad(loss)(w)
        return w - 0.5 * g, l
    return lax.scan(body, jnp.zeros(a.shape[1] + 1), None, length=n_steps)
folds, l2, n_steps, stratified = 3, 1e-3, 10, False
---
rows = []
splitter = (StratifiedKFold if stratified else KFold)(n_splits=folds, shuffle=True, random_state=0)
oof = np.full(len(X), np.nan)
for fold, (tr, va) in enumerate(splitter.split(X, labels)):
    scaler = StandardScaler().fit(X[tr])
    w, curve = fit(jnp.asarray(scaler.transform(X[tr])), jnp.asarray(labels[tr]), l2, n_steps)
    prob = jax.nn.sigmoid(scaler.transform(X[va]) @ w[:-1] + w[-1])
    oof[va] = prob
    rows.append({"fold": fold, "n": len(va), "loss": float(curve[-1]), "acc": accuracy_score(labels[va], np.asarray(prob) > 0.5)})
df = pd.DataFrame(rows).set_index("fold")
print(df[["n"]].to_string())
summary = df.agg({"loss": "mean", "acc": "mean"}).round(2)
bool(summary["acc"] > 0.6), not np.isnan(oof).any(), w.shape
---
folds = 4
---
stratified = True
---
l2 = 1.0; n_steps = 3

### ga-dataloader-class-transforms-collate-iter
class ArrayDataset:
    def __init__(self, *arrays, transform=None): self.arrays, self.transform = arrays, transform
    def __len__(self): return len(self.arrays[0])
    def __getitem__(self, i):
        item = tuple(a[i] for a in self.arrays)
        return self.transform(*item) if self.transform else item
def numpy_collate(batch):
    if isinstance(batch[0], (tuple, list)): return type(batch[0])(numpy_collate(s) for s in zip(*batch))
    return np.stack(batch) if isinstance(batch[0], np.ndarray) else np.array(batch)
class DataLoader:
    def __init__(self, ds, batch_size, shuffle=False, drop_last=False, seed=0, collate_fn=numpy_collate):
        self.ds, self.batch_size, self.shuffle, self.drop_last, self.collate_fn = ds, batch_size, shuffle, drop_last, collate_fn
        self.rng = np.random.default_rng(seed)
    def __len__(self): return len(self.ds) // self.batch_size if self.drop_last else -(-len(self.ds) // self.batch_size)
    def __iter__(self):
        order = self.rng.permutation(len(self.ds)) if self.shuffle else np.arange(len(self.ds))
        for b in range(len(self)):
            yield self.collate_fn([self.ds[int(i)] for i in order[b * self.batch_size:(b + 1) * self.batch_size]])
noise = np.random.default_rng(5)
train_dl = DataLoader(ArrayDataset(X, y, transform=lambda a, b: (a + noise.normal(0, 0.01, a.shape).astype(np.float32), b)), 9, shuffle=True)
params = np.zeros(4, np.float32)
---
@jax.jit
def update(params, a, b):
    loss, g = jax.value_and_grad(lambda p: jnp.abs(a @ p - b).mean())(params)
    return params - 0.1 * g, loss
sizes, epoch_losses = [], []
for epoch in range(2):
    running = []
    for i, (a, b) in enumerate(train_dl):
        params, loss = update(params, a, b)
        sizes.append(len(a))
        running.append(loss)
        if i == len(train_dl) - 1:
            print(f"[{epoch + 1}, {i + 1:3d}] batches of {sorted(set(sizes))}")
    epoch_losses.append(jnp.stack(running).mean())
x0, _ = next(iter(train_dl))
type(params).__name__, x0.shape, x0.dtype, jnp.array(epoch_losses)
---
train_dl.drop_last = True
---
train_dl.shuffle = False; train_dl.batch_size = 6
---
train_dl = DataLoader(ArrayDataset(X, y.astype(np.float64)), 12)

### ga-prefetch-thread-queue-loader
import queue, threading
class Prefetcher:
    def __init__(self, it, size=2):
        self.q, self._done = queue.Queue(size), object()
        self.t = threading.Thread(target=self._fill, args=(it,), daemon=True); self.t.start()
    def _fill(self, it):
        for item in it: self.q.put(jax.tree.map(np.asarray, item))
        self.q.put(self._done)
    def __iter__(self):
        while (item := self.q.get()) is not self._done: yield item
        self.t.join()
def source(bs, repeat=1):
    for _ in range(repeat):
        for i in range(0, len(X), bs): yield {"x": X[i:i + bs], "y": y[i:i + bs]}
bs, size = 8, 2
params, momentum = jnp.zeros(4), jnp.zeros(4)
---
@jax.jit
def step(params, momentum, batch):
    g = jax.grad(lambda p: jnp.mean((batch["x"] @ p - batch["y"]) ** 2))(params)
    momentum = 0.9 * momentum + g
    return params - 0.05 * momentum, momentum
seen = 0
for batch in Prefetcher(source(bs), size):
    params, momentum = step(params, momentum, batch)
    seen += batch["x"].shape[0]
resid = y - X @ params
print(f"seen {seen}")
jnp.mean(resid**2)
---
bs = 12
---
params = params * 0; momentum = momentum * 0; size = 1

### ga-csv-json-logger-classes
class CSVLogger:
    def __init__(self, path): self.path, self.rows = Path(path), 0
    def log(self, **kw):
        new = not self.path.exists()
        with self.path.open("a", newline="") as f:
            w = csv.DictWriter(f, fieldnames=list(kw))
            if new: w.writeheader()
            w.writerow({k: f"{float(v):.3g}" if not isinstance(v, (int, str)) else v for k, v in kw.items()})
        self.rows += 1
@dataclass
class Config:
    lr: float = 0.25
    epochs: int = 3
    log_every: int = 1
    name: str = "run"
    def to_json(self): return json.dumps(dataclasses.asdict(self), sort_keys=True)
cfg = Config()
XI, yi = np.sign(X) + 0.0, np.round(y)
---
out = Path(cfg.name); out.mkdir(exist_ok=True)
(out / "config.json").write_text(cfg.to_json())
logger = CSVLogger(out / "log.csv")
w = jnp.zeros(4)
loss_and_grad = jax.jit(jax.value_and_grad(lambda w: jnp.mean((XI @ w - yi) ** 2)))
for epoch in range(cfg.epochs):
    loss, g = loss_and_grad(w)
    w = w - cfg.lr * g
    if epoch % cfg.log_every == 0:
        logger.log(epoch=epoch, loss=loss, grad_norm=jnp.linalg.norm(g), run=cfg.name)
np.savez(out / "weights.npz", w=w, epoch=epoch)
with open(out / "log.csv") as f:
    rows = list(csv.DictReader(f))
back = np.load(out / "weights.npz")
print(len(rows), rows[-1]["epoch"], logger.rows, sorted(p.name for p in out.iterdir()))
np.abs(back["w"] - np.asarray(w)).max(), int(back["epoch"])
---
cfg = dataclasses.replace(cfg, epochs=2, name="second")
---
import shutil; shutil.rmtree("second")
---
cfg.lr = 0.1; cfg.log_every = 2

### ga-trainer-class-callbacks-and-history
class Callback:
    def on_epoch_begin(self, trainer, epoch): ...
    def on_batch_end(self, trainer, loss): ...
    def on_epoch_end(self, trainer, epoch, logs): ...
class History(Callback):
    def __init__(self): self.h = defaultdict(list)
    def on_epoch_end(self, trainer, epoch, logs):
        for k, v in logs.items(): self.h[k].append(v)
class Printer(Callback):
    def __init__(self, every): self.every = every
    def on_epoch_end(self, trainer, epoch, logs):
        if epoch % self.every == 0: print(f"epoch {epoch:02d} " + " ".join(f"{k}={v:.2f}" for k, v in logs.items()))
class WeightClip(Callback):
    def __init__(self, c): self.c, self.calls = c, 0
    def on_batch_end(self, trainer, loss):
        trainer.params = jax.tree.map(lambda p: jnp.clip(p, -self.c, self.c), trainer.params); self.calls += 1
class Trainer:
    def __init__(self, loss_fn, params, tx, callbacks=()):
        self.loss_fn, self.params, self.tx, self.callbacks = loss_fn, params, tx, list(callbacks)
        self.opt_state, self.should_stop, self.global_step = tx.init(params), False, 0
    @partial(jax.jit, static_argnums=(0,))
    def _step(self, params, opt_state, a, b):
        l, g = jax.value_and_grad(self.loss_fn)(params, a, b)
        u, opt_state = self.tx.update(g, opt_state, params)
        return optax.apply_updates(params, u), opt_state, l
    def _call(self, name, *args):
        for cb in self.callbacks: getattr(cb, name)(self, *args)
    def fit(self, a, b, epochs, bs):
        for epoch in range(epochs):
            self._call("on_epoch_begin", epoch)
            losses = []
            for i in range(0, len(a), bs):
                self.params, self.opt_state, l = self._step(self.params, self.opt_state, a[i:i + bs], b[i:i + bs])
                self.global_step += 1
                losses.append(l)
                self._call("on_batch_end", l)
            self._call("on_epoch_end", epoch, {"loss": float(jnp.mean(jnp.stack(losses)))})
            if self.should_stop: break
        return self
hist, clip = History(), WeightClip(1.0)
trainer = Trainer(lambda p, a, b: jnp.mean((a @ p["w"] + p["b"] - b) ** 2), {"w": jnp.zeros(4), "b": jnp.zeros(())}, optax.adam(0.1), [hist, clip, Printer(1)])
epochs, bs = 2, 8
---
trainer.fit(X, y, epochs=epochs, bs=bs)
best = int(np.argmin(hist.h["loss"]))
pred = X @ trainer.params["w"] + trainer.params["b"]
class StopBelow(Callback):
    def __init__(self, t): self.t = t
    def on_epoch_end(self, trainer, epoch, logs): trainer.should_stop = logs["loss"] < self.t
other = Trainer(trainer.loss_fn, trainer.params, optax.sgd(0.01), [StopBelow(1e9)]).fit(X, y, epochs=3, bs=12)
trainer.global_step, clip.calls, other.global_step, pred.std()
---
clip.c = 0.5
---
hist.h.clear(); trainer.callbacks.pop()
---
trainer.loss_fn = lambda p, a, b: jnp.abs(a @ p["w"] + p["b"] - b).mean()
---
WeightClip.on_batch_end = lambda self, trainer, loss: None; bs = 12

### ga-resume-from-pickle-latest-checkpoint cold
def save(path, **kw):
    tmp = path.with_suffix(".tmp")
    tmp.write_bytes(pickle.dumps(jax.device_get(kw)))
    tmp.rename(path)
def latest(folder):
    found = sorted(folder.glob("step_*.pkl"), key=lambda p: int(p.stem.split("_")[1]))
    return found[-1] if found else None
folder = Path("checkpoints"); folder.mkdir()
tx = optax.adam(optax.piecewise_constant_schedule(0.1, {2: 0.5}))
keep, per_run = 2, 2
---
ckpt = latest(folder)
if ckpt is not None:
    blob = pickle.loads(ckpt.read_bytes())
    params, opt_state, start, key = blob["params"], blob["opt_state"], blob["step"], jnp.asarray(blob["key"])
    print(f"Resuming from {ckpt.name}")
else:
    params = {"w": jnp.zeros(4)}
    opt_state, start, key = tx.init(params), 0, jax.random.PRNGKey(0)
for step in range(start, start + per_run):
    key, sub = jax.random.split(key)
    idx = jax.random.choice(sub, len(X), (6,), replace=False)
    loss, g = jax.value_and_grad(lambda p: jnp.mean((jnp.asarray(X)[idx] @ p["w"] - jnp.asarray(y)[idx]) ** 2))(params)
    updates, opt_state = tx.update(g, opt_state)
    params = optax.apply_updates(params, updates)
    save(folder / f"step_{step + 1}.pkl", params=params, opt_state=opt_state, step=step + 1, key=key)
    for old in sorted(folder.glob("step_*.pkl"), key=lambda p: int(p.stem[5:]))[:-keep]:
        old.unlink()
print(sorted(p.name for p in folder.iterdir()), int(opt_state[0].count))
loss
---
keep = 1
---
for p in folder.iterdir(): p.unlink()
---
per_run = 1

### ga-scan-epoch-vmap-ensemble-uncertainty
members, n_epochs, bs, lr = 3, 2, 6, 0.05
def init(key):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (4, 5)) * 0.5, "w2": jax.random.normal(k2, (5,)) * 0.5}
def apply(p, a): return jnp.tanh(a @ p["w1"]) @ p["w2"]
Xj, yj = jnp.asarray(X), jnp.asarray(y)
---
tx = optax.adam(lr)
def train_one(key):
    ik, sk, bk = jax.random.split(key, 3)
    boot = jax.random.randint(bk, (len(X),), 0, len(X))
    params = init(ik)
    def epoch(carry, k):
        perm = jax.random.permutation(k, boot).reshape(-1, bs)
        def step(carry, idx):
            params, opt = carry
            l, g = jax.value_and_grad(lambda p: jnp.mean((apply(p, Xj[idx]) - yj[idx]) ** 2))(params)
            u, opt = tx.update(g, opt)
            return (optax.apply_updates(params, u), opt), l
        carry, ls = lax.scan(step, carry, perm)
        return carry, ls.mean()
    (params, _), curve = lax.scan(epoch, (params, tx.init(params)), jax.random.split(sk, n_epochs))
    return params, curve
ensemble, curves = jax.jit(jax.vmap(train_one))(jax.random.split(jax.random.key(0), members))
preds = jax.vmap(apply, (0, None))(ensemble, Xj)
mean, std = preds.mean(0), preds.std(0)
worst = np.argsort(np.asarray(std))[-2:]
for m, c in enumerate(np.asarray(curves)):
    print(f"member {m}: {c.shape} {'down' if c[-1] < c[0] else 'up'}")
mean, std.max(), worst.shape
---
lr = 0.01
---
members = 2; bs = 12
---
def apply(p, a): return jax.nn.relu(a @ p["w1"]) @ p["w2"]

### ga-hyper-sweep-product-leaderboard needs=pandas
import pandas as pd
grid = {"lr": [0.01, 0.1], "wd": [0.0, 0.5], "opt": ["sgd", "adam"]}
makers = {"sgd": lambda c: optax.chain(optax.add_decayed_weights(c["wd"]), optax.sgd(c["lr"])), "adam": lambda c: optax.adamw(c["lr"], weight_decay=c["wd"])}
results, steps = [], 2
---
@partial(jax.jit, static_argnums=(0,))
def run(tx, params):
    state = tx.init(params)
    def body(i, c):
        p, s = c
        u, s = tx.update(jax.grad(loss)(p), s, p)
        return optax.apply_updates(p, u), s
    return lax.fori_loop(0, steps, body, (params, state))[0]
def loss(p): return jnp.mean((X @ p - y) ** 2)
for values in itertools.product(*grid.values()):
    conf = dict(zip(grid, values))
    w = run(makers[conf["opt"]](conf), jnp.zeros(4))
    results.append({**conf, "loss": float(loss(w)), "norm": float(jnp.linalg.norm(w))})
df = pd.DataFrame(results)
pivot = df.groupby(["opt", "lr"])["loss"].mean().unstack()
top = df.sort_values("loss").iloc[0]
print(df.shape, top["opt"], top["lr"])
pivot.shape, float(pivot.to_numpy().min()) < 3
---
results.clear(); grid["wd"] = [0.0]
---
steps = 4; results = []
---
makers["sgd"] = lambda c: optax.sgd(c["lr"], momentum=0.9, nesterov=True)

### ga-class-static-self-donate-momentum
class LogisticRegression:
    def __init__(self, dim, lr=0.5, l2=0.0, seed=0):
        self.lr, self.l2 = lr, l2
        self.params = {"w": jax.random.normal(jax.random.PRNGKey(seed), (dim,)) * 0.1, "b": jnp.zeros(())}
        self.losses = []
    def _loss(self, params, a, t):
        logits = a @ params["w"] + params["b"]
        return optax.sigmoid_binary_cross_entropy(logits, t).mean() + self.l2 * jnp.sum(params["w"] ** 2)
    @partial(jax.jit, static_argnums=0, donate_argnums=1)
    def _update(self, params, a, t):
        loss, g = jax.value_and_grad(self._loss)(params, a, t)
        return jax.tree.map(lambda p, d: p - self.lr * d, params, g), loss
    @partial(jax.jit, static_argnums=(0, 2))
    def predict(self, a, threshold=0.5):
        return (jax.nn.sigmoid(a @ self.params["w"] + self.params["b"]) > threshold).astype(jnp.int32)
    def fit(self, a, t, n):
        for _ in range(n):
            self.params, l = self._update(self.params, a, t)
            self.losses.append(float(l))
        return self
seed, lr = 0, 0.5
---
clf = LogisticRegression(4, lr, seed=seed)
clf.fit(X, labels, 3)
pred = clf.predict(X)
strict = clf.predict(X, 0.9)
tp = jnp.sum((pred == 1) & (labels == 1)); fp = jnp.sum((pred == 1) & (labels == 0)); fn = jnp.sum((pred == 0) & (labels == 1))
precision, recall = tp / jnp.maximum(tp + fp, 1), tp / jnp.maximum(tp + fn, 1)
print(f"TP {tp} FP {fp} FN {fn} F1 {2 * precision * recall / (precision + recall):.2f}")
clf.losses[-1] < clf.losses[0], int(strict.sum()) <= int(pred.sum())
---
lr = 0.05
---
LogisticRegression._loss = lambda self, params, a, t: jnp.mean((a @ params["w"] + params["b"] - t) ** 2)
---
seed = 4

### ga-debug-print-callback-inside-scan
lines = []
def on_progress(i, loss): lines.append((int(i), round(float(loss), 1)))
verbose, every, n = True, 2, 5
XI, yi = np.sign(X), np.round(y)
---
@jax.jit
def train(w):
    def body(w, i):
        loss, g = jax.value_and_grad(lambda w: jnp.mean((XI @ w - yi) ** 2))(w)
        if verbose:
            lax.cond(i % every == 0, lambda: jax.debug.callback(on_progress, i, loss, ordered=True), lambda: None)
        return w - 0.1 * g, loss
    w, losses = lax.scan(body, w, jnp.arange(n))
    jax.debug.print("final {l:.1f} after {n}", l=losses[-1], n=n)
    return w, losses
w, losses = train(jnp.zeros(4))
jax.effects_barrier()
print(len(lines), [i for i, _ in lines[-2:]])
losses[-1] < losses[0]
---
verbose = False
---
lines.clear(); verbose = True; every = 1
---
n = 3

### ga-rng-dict-dropout-mc-inference
rngs = {"params": jax.random.PRNGKey(0), "dropout": jax.random.PRNGKey(1), "shuffle": jax.random.PRNGKey(2)}
def split_all(rngs):
    out, new = {}, {}
    for name, k in rngs.items(): new[name], out[name] = jax.random.split(k)
    return new, out
rate, mc = 0.5, 8
def init(key): return {"l%d" % i: jax.random.normal(k, s) * 0.4 for i, (k, s) in enumerate(zip(jax.random.split(key, 2), [(4, 6), (6, 1)]))}
---
rngs, use = split_all(rngs)
params = init(use["params"])
def apply(params, a, key=None):
    h = jax.nn.relu(a @ params["l0"])
    if key is not None:
        keep = jax.random.bernoulli(key, 1 - rate, h.shape)
        h = jnp.where(keep, h / (1 - rate), 0)
    return (h @ params["l1"])[..., 0]
perm = jax.random.permutation(use["shuffle"], len(X))
for i, idx in enumerate(np.array_split(np.asarray(perm), 3)):
    k = jax.random.fold_in(use["dropout"], i)
    g = jax.grad(lambda p: jnp.mean((apply(p, X[idx], k) - y[idx]) ** 2))(params)
    params = jax.tree.map(lambda p, d: p - 0.05 * jnp.clip(d, -1, 1), params, g)
samples = jax.vmap(lambda k: apply(params, X, k))(jax.random.split(use["dropout"], mc))
mu, sigma = samples.mean(0), samples.std(0)
det = apply(params, X)
print(samples.shape, sorted(rngs), perm[:3])
mu[:2], sigma.mean(), jnp.abs(det).max()
---
rate = 0.0
---
rngs["dropout"] = jax.random.PRNGKey(9); rate = 0.25
---
rngs = {k: jax.random.key(i) for i, k in enumerate(rngs)}

### ga-tqdm-postfix-timing-loop needs=tqdm
from tqdm.auto import tqdm
class AverageMeter:
    def __init__(self): self.reset()
    def reset(self): self.sum = self.n = 0.0
    def update(self, v, n=1): self.sum += float(v) * n; self.n += n
    avg = property(lambda self: self.sum / max(self.n, 1))
meter, times = AverageMeter(), []
w = jnp.zeros(4); epochs = 2
@jax.jit
def step(w, a, b):
    l, g = jax.value_and_grad(lambda w: jnp.mean((a @ w - b) ** 2))(w)
    return w - 0.1 * g, l
---
times.clear()
pbar = tqdm(range(epochs), desc="train", leave=False, disable=True)
for epoch in pbar:
    meter.reset()
    t0 = time.perf_counter()
    for i in range(0, len(X), 8):
        w, loss = step(w, X[i:i + 8], y[i:i + 8])
        meter.update(loss, 8)
    loss.block_until_ready()
    times.append(time.perf_counter() - t0 > 0)
    pbar.set_postfix(loss=f"{meter.avg:.3f}", n=int(meter.n))
del t0, pbar
throughput_ok = all(times)
print(f"done {epochs} epochs, {meter.n:.0f} samples, ok={throughput_ok}")
w
---
epochs = 1
---
w = jnp.ones(4)
---
AverageMeter.update = lambda self, v, n=1: setattr(self, "n", self.n + 1)

### ga-target-ddpg-soft-update-dataclass-agent
@jax.tree_util.register_pytree_node_class
@dataclass
class Agent:
    actor: dict
    critic: dict
    target_critic: dict
    opt: Any
    steps: int = 0
    def tree_flatten(self): return (self.actor, self.critic, self.target_critic, self.opt), self.steps
    @classmethod
    def tree_unflatten(cls, aux, ch): return cls(*ch, aux)
def mlp(p, v): return jnp.tanh(v @ p["a"]) @ p["b"]
ks = jax.random.split(jax.random.key(8), 4)
new = lambda k1, k2, i: {"a": jax.random.normal(k1, (i, 5)) * 0.3, "b": jax.random.normal(k2, (5, 1)) * 0.3}
actor, critic = new(ks[0], ks[1], 3), new(ks[2], ks[3], 4)
tx = optax.partition({"actor": optax.adam(1e-2), "critic": optax.adam(5e-2)}, {"actor": "actor", "critic": "critic"})
agent = Agent(actor, critic, critic, tx.init({"actor": actor, "critic": critic}))
buffer = {k: gen.normal(size=(10, d)).astype(np.float32) for k, d in [("s", 3), ("a", 1), ("r", 1), ("s2", 3)]}
hp = dict(gamma=0.9, tau=0.1, batch=5)
---
@jax.jit
def train(agent, batch):
    q_next = mlp(agent.target_critic, jnp.concatenate([batch["s2"], jnp.tanh(mlp(agent.actor, batch["s2"]))], 1))
    target = batch["r"] + hp["gamma"] * q_next
    def critic_loss(c): return jnp.mean((mlp(c, jnp.concatenate([batch["s"], batch["a"]], 1)) - target) ** 2)
    def actor_loss(a): return -mlp(agent.critic, jnp.concatenate([batch["s"], jnp.tanh(mlp(a, batch["s"]))], 1)).mean()
    cl, cg = jax.value_and_grad(critic_loss)(agent.critic)
    al, ag = jax.value_and_grad(actor_loss)(agent.actor)
    both = {"actor": agent.actor, "critic": agent.critic}
    u, opt = tx.update({"actor": ag, "critic": cg}, agent.opt, both)
    both = optax.apply_updates(both, u)
    return Agent(both["actor"], both["critic"], optax.incremental_update(both["critic"], agent.target_critic, hp["tau"]), opt, agent.steps), {"critic": cl, "actor": al}
rng = np.random.default_rng(agent.steps)
infos = []
for _ in range(2):
    idx = rng.choice(10, hp["batch"], replace=False)
    agent, info = train(agent, {k: v[idx] for k, v in buffer.items()})
    infos.append(info)
agent.steps += 2
stats = jax.tree.map(lambda *v: np.mean(v), *infos)
print(agent.steps, sorted(stats), isinstance(agent, Agent))
stats["critic"], agent.target_critic["b"].ravel()
---
hp["tau"] = 1.0
---
hp.update(gamma=0.0, batch=10)
---
agent = dataclasses.replace(agent, steps=0); buffer["r"] = buffer["r"] * 10

### ga-knowledge-distillation-teacher-student-eqx needs=equinox
import equinox as eqx
teacher = eqx.nn.MLP(4, 2, 8, 1, key=jax.random.key(0))
student = eqx.nn.Linear(4, 2, key=jax.random.key(1))
T, alpha, epochs = 2.0, 0.5, 2
history = {"distill": [], "hard": []}
---
def kd_loss(student, teacher, a, t):
    s, q = jax.vmap(student)(a), jax.vmap(teacher)(a)
    soft = optax.losses.kl_divergence(jax.nn.log_softmax(s / T), jax.nn.softmax(lax.stop_gradient(q) / T)).mean() * T**2
    hard = optax.softmax_cross_entropy_with_integer_labels(s, t).mean()
    return alpha * soft + (1 - alpha) * hard, {"distill": soft, "hard": hard}
optim = optax.sgd(0.1, momentum=0.9)
opt_state = optim.init(eqx.filter(student, eqx.is_array))
@eqx.filter_jit
def make_step(student, opt_state, a, t):
    (_, aux), g = eqx.filter_value_and_grad(kd_loss, has_aux=True)(student, teacher, a, t)
    u, opt_state = optim.update(g, opt_state)
    return eqx.apply_updates(student, u), opt_state, aux
for epoch in range(epochs):
    for a, t in zip(np.split(X, 2), np.split(labels, 2)):
        student, opt_state, aux = make_step(student, opt_state, a, t)
    for k, v in aux.items():
        history[k].append(v)
agree = (jax.vmap(student)(X).argmax(-1) == jax.vmap(teacher)(X).argmax(-1)).mean()
print(len(history["hard"]), f"{agree:.0%}")
history["distill"][-1]
---
alpha = 1.0
---
teacher = eqx.tree_at(lambda m: m.layers[-1].bias, teacher, jnp.array([5.0, -5.0]))
---
T = 1; history = {k: [] for k in history}

### ga-nnx-mha-decode-cache-greedy needs=flax
from flax import nnx
class Dec(nnx.Module):
    def __init__(self, v, d, rngs):
        self.emb = nnx.Embed(v, d, rngs=rngs)
        self.mha = nnx.MultiHeadAttention(2, d, decode=True, rngs=rngs)
        self.out = nnx.Linear(d, v, rngs=rngs)
    def __call__(self, ids): return self.out(self.mha(self.emb(ids)))
dec = Dec(6, 4, nnx.Rngs(0))
prompts, max_len = np.array([[1, 2], [3, 4]]), 5
---
dec.mha.init_cache((len(prompts), max_len, 4))
seq = [prompts[:, i:i + 1] for i in range(prompts.shape[1])]
@nnx.jit
def one(m, tok): return m(tok)[:, -1]
for tok in seq[:]:
    logits = one(dec, tok)
while len(seq) < max_len:
    tok = jnp.argmax(logits, -1, keepdims=True)
    seq.append(tok)
    if len(seq) < max_len:
        logits = one(dec, tok)
ids = np.concatenate([np.asarray(s) for s in seq], 1)
print(ids.tolist(), int(dec.mha.cache_index[...]), dec.mha.cached_key.shape)
---
max_len = 4
---
prompts = prompts[:1]
---
dec.out.bias[...] = jnp.array([0.0, 0, 0, 0, 0, 9.0])

### ga-nnx-split-merge-jax-jit-fast-loop needs=flax
from flax import nnx
class Count(nnx.Variable): pass
class Net(nnx.Module):
    def __init__(self, rngs):
        self.l1, self.bn, self.l2 = nnx.Linear(4, 5, use_bias=False, rngs=rngs), nnx.BatchNorm(5, rngs=rngs), nnx.Linear(5, 1, rngs=rngs)
        self.calls = Count(jnp.array(0))
    def __call__(self, x):
        self.calls[...] += 1
        return self.l2(nnx.relu(self.bn(self.l1(x))))[:, 0]
net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.adam(0.02), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), w=nnx.metrics.Welford("loss"))
bs = 8
---
graphdef, state = nnx.split((net, opt, metrics))
@jax.jit
def train_step(graphdef, state, a, b):
    net, opt, metrics = nnx.merge(graphdef, state)
    def loss_fn(net): return jnp.mean((net(a) - b) ** 2)
    loss, grads = nnx.value_and_grad(loss_fn)(net)
    opt.update(net, grads)
    metrics.update(loss=loss)
    return nnx.state((net, opt, metrics)), loss
for i in range(0, len(X), bs):
    state, loss = train_step(graphdef, state, X[i:i + bs], y[i:i + bs])
nnx.update((net, opt, metrics), state)
res = metrics.compute()
print(int(net.calls[...]), int(opt.step[...]), sorted(res))
metrics.reset()
res["loss"], res["w"].mean, net.bn.mean[...].shape
---
bs = 12
---
net.calls[...] = jnp.array(100)
---
net.bn.use_running_average = True

### ga-word2vec-negative-sampling-nearest
words = "king queen man woman royal crown man king woman queen crown royal".split()
vocab = {w: i for i, w in enumerate(sorted(set(words)))}
def skipgrams(words, window):
    for i, w in enumerate(words):
        for j in range(max(0, i - window), min(len(words), i + window + 1)):
            if i != j: yield vocab[w], vocab[words[j]]
window, dim, negatives, epochs = 1, 3, 2, 2
rng = np.random.default_rng(0)
---
pairs = np.array(list(skipgrams(words, window)))
emb = {"in": jax.random.normal(jax.random.key(0), (len(vocab), dim)), "out": jnp.zeros((len(vocab), dim))}
@jax.jit
def step(emb, c, o, neg):
    def loss(emb):
        v = emb["in"][c]
        pos = jax.nn.log_sigmoid((v * emb["out"][o]).sum(-1))
        negs = jax.nn.log_sigmoid(-jnp.einsum("bd,bnd->bn", v, emb["out"][neg])).sum(-1)
        return -(pos + negs).mean()
    l, g = jax.value_and_grad(loss)(emb)
    return jax.tree.map(lambda e, d: e - 0.5 * d, emb, g), l
losses = []
for epoch in range(epochs):
    rng.shuffle(pairs)
    for b in range(0, len(pairs), 10):
        c, o = pairs[b:b + 10].T
        neg = rng.integers(0, len(vocab), (len(c), negatives))
        emb, l = step(emb, c, o, neg)
        losses.append(l)
def nearest(word, k=2):
    e = emb["in"] / jnp.linalg.norm(emb["in"], axis=1, keepdims=True)
    sims = e @ e[vocab[word]]
    inv = {i: w for w, i in vocab.items()}
    return [inv[int(i)] for i in jnp.argsort(-sims)[1:k + 1]]
print(len(losses), nearest("king"))
emb["out"].std()
---
negatives = 1
---
window = 2; epochs = 1
---
rng = np.random.default_rng(5); words = words + ["king", "crown"]

### ga-lbfgs-optax-while-tolerance
def fun(w): return jnp.sum(jnp.logaddexp(0.0, -(2 * labels - 1) * (jnp.asarray(X) @ w))) / len(X) + reg * jnp.sum(w**2)
reg, max_iter, tol, mem = 0.05, 6, 1e-2, 3
---
opt = optax.lbfgs(memory_size=mem, linesearch=optax.scale_by_backtracking_linesearch(max_backtracking_steps=10, store_grad=True))
vg = optax.value_and_grad_from_state(fun)
def run(w0):
    def step(c):
        w, s = c
        v, g = vg(w, state=s)
        u, s = opt.update(g, s, w, value=v, grad=g, value_fn=fun)
        return optax.apply_updates(w, u), s
    def cont(c):
        n, g = optax.tree.get(c[1], "count"), optax.tree.get(c[1], "grad")
        return (n == 0) | ((n < max_iter) & (optax.tree.norm(g) >= tol))
    return lax.while_loop(cont, step, (w0, opt.init(w0)))
w, state = run(jnp.zeros(4))
value = fun(w)
print(f"converged {bool(optax.tree.norm(jax.grad(fun)(w)) < 0.5)}, iterations <= {max_iter}: {int(optax.tree.get(state, 'count')) <= max_iter}")
value < fun(jnp.zeros(4))
---
reg = 1.0
---
max_iter = 2
---
labels = 1 - labels

### ga-lstm-forecast-rolling-autoregressive needs=equinox,pandas
import equinox as eqx
import pandas as pd
series = pd.Series(np.sin(np.arange(40) * 0.5) + 0.1 * np.arange(40), index=pd.date_range("2024-01-01", periods=40))
lag, horizon, steps = 5, 3, 2
class Forecaster(eqx.Module):
    cell: eqx.nn.LSTMCell
    head: eqx.nn.Linear
    def __init__(self, h, key):
        a, b = jax.random.split(key)
        self.cell, self.head = eqx.nn.LSTMCell(1, h, key=a), eqx.nn.Linear(h, "scalar", key=b)
    def __call__(self, seq):
        init = (jnp.zeros(self.cell.hidden_size),) * 2
        (h, _), _ = lax.scan(lambda c, v: (self.cell(v[None], c), None), init, seq)
        return self.head(h)
---
scaled = (series - series.mean()) / series.std()
frame = pd.concat({f"t-{k}": scaled.shift(k) for k in range(lag, -1, -1)}, axis=1).dropna()
train, test = frame.iloc[:-8], frame.iloc[-8:]
xs, ts = train.iloc[:, :-1].to_numpy(np.float32), train["t-0"].to_numpy(np.float32)
model = Forecaster(4, jax.random.key(0))
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.02))
opt = tx.init(eqx.filter(model, eqx.is_array))
@eqx.filter_jit
def step(model, opt):
    l, g = eqx.filter_value_and_grad(lambda m: jnp.mean(jnp.square(jax.vmap(m)(xs) - ts)))(model)
    u, opt = tx.update(g, opt)
    return eqx.apply_updates(model, u), opt, l
for _ in range(steps):
    model, opt, l = step(model, opt)
window = jnp.asarray(test.iloc[0, :-1].to_numpy(np.float32))
forecast = []
for _ in range(horizon):
    nxt = model(window)
    forecast.append(float(nxt))
    window = jnp.concatenate([window[1:], nxt[None]])
out = pd.Series(forecast, index=test.index[:horizon]) * series.std() + series.mean()
print(frame.shape, list(out.index.strftime("%m-%d")))
float(np.round(out.mean(), 1))
---
lag = 3
---
steps = 0; horizon = 2
---
series.iloc[-10:] += 5.0

### ga-federated-clients-average-rounds
@dataclass
class Client:
    x: np.ndarray
    y: np.ndarray
    seen: int = 0
    def local_train(self, params, epochs, lr):
        for _ in range(epochs):
            g = jax.grad(client_loss)(params, self.x, self.y)
            params = jax.tree.map(lambda p, d: p - lr * d, params, g)
        self.seen += epochs
        return params, len(self.x)
def client_loss(p, a, b): return jnp.mean((a @ p["w"] + p["b"] - b) ** 2)
clients = [Client(a, b) for a, b in zip(np.split(X, [4, 12]), np.split(y, [4, 12]))]
server = {"params": {"w": jnp.zeros(4), "b": jnp.zeros(())}, "round": 0}
rounds, frac, lr = 2, 0.7, 0.1
---
rng = random.Random(server["round"])
for r in range(rounds):
    chosen = rng.sample(range(len(clients)), max(1, int(frac * len(clients))))
    updates, weights = zip(*(clients[c].local_train(server["params"], 2, lr) for c in sorted(chosen)))
    total = sum(weights)
    server["params"] = jax.tree.map(lambda *ps: sum(w / total * p for w, p in zip(weights, ps)), *updates)
    server["round"] += 1
    print(f"round {server['round']} clients {sorted(chosen)} weight {total}")
losses = {i: client_loss(server["params"], c.x, c.y) for i, c in enumerate(clients)}
max(losses.values()), [c.seen for c in clients]
---
frac = 1.0
---
clients[0].y = -clients[0].y
---
clients.append(Client(X[:2], y[:2])); server["round"] = 0
---
def client_loss(p, a, b): return jnp.abs(a @ p["w"] + p["b"] - b).mean()

### ga-swa-snapshots-cyclic-lr-average
snapshots = []
cycle, n_cycles, lr_max = 3, 2, 0.2
def net(p, a): return jnp.tanh(a @ p[0]) @ p[1]
init = (jnp.full((4, 3), 0.1) * jnp.arange(1, 4), jnp.ones(3) * 0.3)
---
lr_at = lambda i: 0.5 * lr_max * (1 + math.cos(math.pi * (i % cycle) / cycle))
params = init if not snapshots else snapshots[-1]
vg = jax.jit(jax.value_and_grad(lambda p, a, b: jnp.mean((net(p, a) - b) ** 2)))
for i in range(cycle * n_cycles):
    l, g = vg(params, X, y)
    lr = lr_at(i)
    params = tuple(p - lr * d for p, d in zip(params, g))
    if (i + 1) % cycle == 0:
        snapshots.append(params)
        if len(snapshots) > 3:
            snapshots.pop(0)
swa = jax.tree.map(lambda *ps: jnp.stack(ps).mean(0), *snapshots)
ens = jnp.stack([net(s, X) for s in snapshots]).mean(0)
print(len(snapshots), f"{lr:.3f}")
jnp.abs(net(swa, X) - ens).max() < 1.0, l
---
cycle = 2
---
snapshots.clear()
---
snapshots[:] = [jax.tree.map(jnp.zeros_like, s) for s in snapshots]; n_cycles = 1
""",
)
