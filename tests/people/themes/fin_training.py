"""Training that other tutorials show: experts, pairs, pruning, federated rounds, sequence losses, samplers, solvers."""

from ..cell import written

PRELUDE = """
import os, json, math, copy, itertools, functools, collections, dataclasses, pickle
from pathlib import Path
from typing import Any, NamedTuple
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, random
import optax
gen = np.random.default_rng(3)
X = gen.normal(size=(20, 4)).astype(np.float32)
coef = np.array([1.5, -1.0, 0.25, 0.0], np.float32)
y = (X @ coef + 0.05 * gen.normal(size=20)).astype(np.float32)
labels = (y > 0).astype(np.int32)
"""

CELLS = written(
    PRELUDE,
    r"""
### fin-nnx-siamese-contrastive needs=flax
from flax import nnx
class Encoder(nnx.Module):
    def __init__(self, din, dout, rngs):
        self.a = nnx.Linear(din, 6, rngs=rngs)
        self.b = nnx.Linear(6, dout, rngs=rngs)
    def __call__(self, x):
        z = self.b(nnx.elu(self.a(x)))
        return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-6)
class Siamese(nnx.Module):
    def __init__(self, rngs, margin=0.5):
        self.left = self.right = Encoder(4, 3, rngs)
        self.margin = margin
    def __call__(self, a, b):
        return jnp.sum((self.left(a) - self.right(b)) ** 2, axis=-1)
def make_pairs(seed, n):
    r = np.random.default_rng(seed)
    i, j = r.integers(0, len(X), (2, n))
    return X[i], X[j], (labels[i] == labels[j]).astype(np.float32)
net, seen = Siamese(nnx.Rngs(1)), 0
n_pairs, rounds = 6, 3
---
opt = nnx.Optimizer(net, optax.rmsprop(0.02), wrt=nnx.Param)
def contrastive(m, a, b, same):
    d = m(a, b)
    return jnp.mean(same * d + (1 - same) * nnx.relu(m.margin - d))
curve = {}
for r in range(rounds):
    a, b, same = make_pairs(r, n_pairs)
    loss, g = nnx.value_and_grad(contrastive)(net, a, b, same)
    opt.update(net, g)
    curve[f"round{r}"] = loss
    seen += len(same)
assert net.left is net.right
tied = len(jax.tree.leaves(nnx.state(net, nnx.Param)))
gap = net(X[:5], X[5:10])
tied, seen, {k: round(float(v), 3) for k, v in curve.items()}
---
net.margin = 1.0
---
net.right = Encoder(4, 3, nnx.Rngs(8))
def make_pairs(seed, n):
    i = np.arange(n) + seed
    return X[i], X[i + 1], (labels[i] == labels[i + 1]).astype(np.float32)
net.left = net.right
---
n_pairs, rounds = 10, 2

### fin-nnx-experts-with-load-counts needs=flax
from flax import nnx
class Load(nnx.Variable): pass
class Experts(nnx.Module):
    def __init__(self, n, rngs, top=1):
        self.gate = nnx.Linear(4, n, use_bias=False, rngs=rngs)
        self.experts = nnx.List([nnx.Linear(4, 1, rngs=rngs) for _ in range(n)])
        self.load = Load(jnp.zeros(n, jnp.int32))
        self.top = top
    def __call__(self, x):
        scores = nnx.softmax(self.gate(x))
        vals, idx = lax.top_k(scores, self.top)
        weights = jnp.zeros_like(scores).at[jnp.arange(len(x))[:, None], idx].set(vals)
        self.load[...] += (weights > 0).sum(0).astype(jnp.int32)
        outs = jnp.concatenate([e(x) for e in self.experts], axis=-1)
        return (weights * outs).sum(-1), (scores.mean(0) ** 2).sum()
moe = Experts(3, nnx.Rngs(4))
balance, epochs = 0.1, 3
---
graph, params, load = nnx.split(moe, nnx.Param, Load)
tx = optax.adam(0.05)
state = tx.init(params)
@jax.jit
def step(params, load, state, xb, yb):
    def loss_fn(p, load):
        m = nnx.merge(graph, p, load, copy=True)
        pred, aux = m(xb)
        return jnp.mean((pred - yb) ** 2) + balance * aux, nnx.state(m, Load)
    (l, load), g = jax.value_and_grad(loss_fn, has_aux=True)(params, load)
    up, state = tx.update(g, state, params)
    return optax.apply_updates(params, up), load, state, l
for e in range(epochs):
    params, load, state, l = step(params, load, state, X, y)
    if e == epochs - 1:
        print(f"epoch {e} loss {l:.3f} routed {load['load'].get_value().sum()}")
nnx.update(moe, params, load)
usage = np.asarray(moe.load[...]) / int(moe.load[...].sum())
usage.shape, bool(usage.max() <= 1)
---
balance = 0.0
---
moe.top = 2
---
moe = Experts(2, nnx.Rngs(0)); epochs = 1

### fin-nnx-grow-layers-between-stages needs=flax
from flax import nnx
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
        self.layers = nnx.List([])
        self.head = nnx.Linear(4, 1, rngs=rngs)
    def grow(self):
        self.layers.append(nnx.Linear(4, 4, kernel_init=nnx.initializers.zeros_init(), rngs=self.rngs))
        return len(self.layers)
    def __call__(self, x):
        for layer in self.layers:
            x = x + nnx.tanh(layer(x))
        return self.head(x)[:, 0]
stack = Stack(nnx.Rngs(0, params=5))
stages, per_stage, lr = 2, 2, 0.1
log = []
---
for stage in range(stages):
    depth = stack.grow()
    opt = nnx.Optimizer(stack, optax.sgd(lr, momentum=0.9), wrt=nnx.Param)
    for _ in range(per_stage):
        l, g = nnx.value_and_grad(lambda m: jnp.mean((m(X) - y) ** 2))(stack)
        opt.update(stack, g)
    n = sum(p.size for p in jax.tree.leaves(nnx.state(stack, nnx.Param)))
    log.append((depth, n, float(l)))
for depth, n, l in log[-stages:]:
    print(f"depth={depth:<3d} params={n:>4d} loss={l:.4f}")
stack.layers[-1].kernel.shape
---
while len(stack.layers) > 1:
    stack.layers.pop()
---
lr, stages = 0.01, 1
---
log = log[:1]; per_stage = 3

### fin-nnx-bidirectional-rnn-lengths needs=flax
from flax import nnx
class Tagger(nnx.Module):
    def __init__(self, vocab, h, rngs):
        self.emb = nnx.Embed(vocab, h, rngs=rngs)
        self.rnn = nnx.Bidirectional(nnx.RNN(nnx.SimpleCell(h, h, rngs=rngs)), nnx.RNN(nnx.SimpleCell(h, h, rngs=rngs)))
        self.out = nnx.Linear(2 * h, 2, rngs=rngs)
    def __call__(self, ids, lengths):
        return self.out(self.rnn(self.emb(ids), seq_lengths=lengths))
words = "the cat sat on a mat near the door".split()
vocab = {w: i + 1 for i, w in enumerate(dict.fromkeys(words))}
sents = [["the", "cat"], ["a", "mat", "near", "the"], ["sat"]]
tagger = Tagger(len(vocab) + 1, 3, nnx.Rngs(0))
opt = nnx.Optimizer(tagger, optax.adam(0.1), wrt=nnx.Param)
def is_noun(w): return int(w in {"cat", "mat", "door"})
---
T = max(map(len, sents))
ids = np.zeros((len(sents), T), np.int32)
tags = np.zeros_like(ids)
for r, s in enumerate(sents):
    ids[r, : len(s)] = [vocab[w] for w in s]
    tags[r, : len(s)] = [is_noun(w) for w in s]
lengths = jnp.array([len(s) for s in sents])
mask = jnp.arange(T) < lengths[:, None]
@nnx.jit
def train(m, o, ids, tags):
    def loss(m):
        ce = optax.softmax_cross_entropy_with_integer_labels(m(ids, lengths), tags)
        return jnp.sum(ce, where=mask) / mask.sum()
    l, g = nnx.value_and_grad(loss)(m)
    o.update(m, g)
    return l
losses = [train(tagger, opt, ids, tags) for _ in range(3)]
pred = tagger(ids, lengths).argmax(-1)
acc = jnp.where(mask, pred == tags, False).sum() / mask.sum()
[f"{l:.3f}" for l in losses], pred.shape, pred.dtype
---
sents.append(["the", "door", "near"])
---
def is_noun(w): return int(w.endswith("t"))
---
sents = sents[1:3]

### fin-nnx-polyak-variable-kind needs=flax
from flax import nnx
class Shadow(nnx.Variable): pass
class Averaged(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(4, 1, rngs=rngs)
        self.shadow = Shadow(jnp.array(self.lin.kernel[...]))
        self.updates = nnx.BatchStat(jnp.zeros((), jnp.int32))
    def absorb(self, decay):
        self.updates[...] += 1
        d = jnp.minimum(decay, (1 + self.updates[...]) / (10 + self.updates[...]))
        self.shadow[...] = d * self.shadow[...] + (1 - d) * self.lin.kernel[...]
    def __call__(self, x, averaged=False):
        k = self.shadow[...] if averaged else self.lin.kernel[...]
        return (x @ k)[:, 0] + self.lin.bias[...]
m = Averaged(nnx.Rngs(2))
opt = nnx.Optimizer(m, optax.sgd(0.05), wrt=nnx.Param)
decay, steps = 0.9, 4
---
history = collections.defaultdict(list)
for i in range(steps):
    l, g = nnx.value_and_grad(lambda m: jnp.mean((m(X) - y) ** 2))(m)
    opt.update(m, g)
    m.absorb(decay)
    history["raw"].append(l)
    history["avg"].append(jnp.mean((m(X, averaged=True) - y) ** 2))
kinds = sorted({type(v).__name__ for _, v in nnx.to_flat_state(nnx.state(m))})
n_updates = int(m.updates[...])
flat = {"/".join(map(str, k)): v.get_value().shape for k, v in nnx.to_flat_state(nnx.state(m, nnx.Any(Shadow, nnx.Param)))}
print(n_updates, kinds, flat)
drift = jnp.abs(m.shadow[...] - m.lin.kernel[...]).max()
---
decay = 0.5
---
m.updates[...] = jnp.zeros((), jnp.int32)
---
m.lin.kernel[...] = m.shadow[...]; steps = 2

### fin-nnx-loops-lifted-fori-while needs=flax
from flax import nnx
class Counter(nnx.Module):
    def __init__(self, rngs):
        self.w = nnx.Param(random.normal(rngs.params(), (4,)))
        self.t = nnx.Variable(jnp.array(0))
model, n, tol = Counter(nnx.Rngs(3)), 3, 0.3
---
def body(i, m):
    g = jax.grad(lambda w: jnp.mean((X @ w - y) ** 2))(m.w[...])
    m.w[...] = m.w[...] - 0.1 * g
    m.t[...] += 1
    return m
model = nnx.fori_loop(0, n, body, model)
def unfinished(m):
    return (jnp.mean((X @ m.w[...] - y) ** 2) > tol) & (m.t[...] < 40)
model = nnx.while_loop(unfinished, lambda m: body(0, m), model)
took = int(model.t[...])
final = jnp.mean((X @ model.w[...] - y) ** 2)
print("took", took, "ok" if final <= tol else "limit")
model.t[...] = jnp.array(0)
model
---
tol = 0.05
---
n = 1; model.w[...] = jnp.zeros(4)

### fin-linen-logically-partitioned-params needs=flax
import flax.linen as nn
from flax.linen import partitioning as nnp
class Net(nn.Module):
    width: int = 6
    @nn.compact
    def __call__(self, x):
        k = self.param("k", nn.with_partitioning(nn.initializers.lecun_normal(), ("embed", "mlp")), (x.shape[-1], self.width))
        h = nn.relu(x @ k)
        return nn.Dense(1, kernel_init=nn.with_partitioning(nn.initializers.normal(0.1), ("mlp", None)))(h)[..., 0]
net, lr, epochs = Net(), 0.1, 2
---
boxed = net.init(random.key(0), X)
specs = nn.get_partition_spec(boxed)
params = nn.meta.unbox(boxed)["params"]
tx = optax.sgd(lr)
st = tx.init(params)
for e in range(epochs):
    l, g = jax.value_and_grad(lambda p: jnp.mean((net.apply({"params": p}, X) - y) ** 2))(params)
    up, st = tx.update(g, st)
    params = optax.apply_updates(params, up)
names = {jax.tree_util.keystr(p): str(s) for p, s in jax.tree_util.tree_leaves_with_path(specs)}
back = nn.meta.replace_boxed(boxed, {"params": params})
kind = type(back["params"]["k"]).__name__
print(kind, back["params"]["k"].names, f"{l:.3f}")
names
---
net = Net(width=3)
---
lr = 0.3

### fin-linen-spectral-and-weight-norm needs=flax
import flax.linen as nn
class Disc(nn.Module):
    spectral: bool = True
    @nn.compact
    def __call__(self, x, train=True):
        d = nn.Dense(5, name="d")
        if self.spectral:
            h = nn.SpectralNorm(d)(x, update_stats=train)
        else:
            h = nn.WeightNorm(d)(x)
        return nn.Dense(1)(nn.leaky_relu(h))[:, 0]
spectral, steps, penalty = True, 3, 0.0
---
disc = Disc(spectral)
variables = disc.init(random.key(1), X)
params = variables["params"]
stats = {k: v for k, v in variables.items() if k != "params"}
opt = optax.adam(0.05, b1=0.5)
ost = opt.init(params)
def hinge(p, stats, real, fake):
    r, new = disc.apply({"params": p, **stats}, real, mutable=list(stats))
    f = disc.apply({"params": p, **new}, fake, train=False)
    gp = jnp.mean(jax.vmap(jax.grad(lambda x: disc.apply({"params": p, **new}, x[None], train=False)[0]))(real) ** 2)
    return jnp.mean(nn.relu(1 - r)) + jnp.mean(nn.relu(1 + f)) + penalty * gp, new
for i in range(steps):
    fake = random.normal(random.fold_in(random.key(7), i), X.shape)
    (l, stats), g = jax.value_and_grad(hinge, has_aux=True)(params, stats, X, fake)
    up, ost = opt.update(g, ost)
    params = optax.apply_updates(params, up)
sorted(params), sorted(stats), jax.tree.map(jnp.shape, stats), l
---
spectral = False
---
penalty = 1.0
---
spectral, steps = True, 1

### fin-linen-unet-skips-and-masks needs=flax
import flax.linen as nn
class UNet(nn.Module):
    widths: tuple = (2, 4)
    @nn.compact
    def __call__(self, x):
        skips = []
        for i, w in enumerate(self.widths):
            x = nn.relu(nn.Conv(w, (3,), name=f"down{i}")(x))
            skips.append(x)
            x = nn.max_pool(x, (2,), strides=(2,))
        for i, w in reversed(list(enumerate(self.widths))):
            x = jax.image.resize(x, (*x.shape[:-2], x.shape[-2] * 2, x.shape[-1]), "nearest")
            x = nn.relu(nn.Conv(w, (3,), name=f"up{i}")(jnp.concatenate([x, skips.pop()], -1)))
        assert not skips
        return nn.Conv(1, (1,), name="out")(x)[..., 0]
signal = np.sin(np.linspace(0, 6, 16, dtype=np.float32))[None, :, None] + gen.normal(size=(3, 16, 1)).astype(np.float32) * 0.2
target = (signal[..., 0] > 0.3).astype(np.float32)
widths, epochs, use_dice = (2, 4), 2, False
---
net = UNet(widths)
p = net.init(random.key(0), signal)
def dice(logits, t):
    q = nn.sigmoid(logits)
    return 1 - (2 * (q * t).sum() + 1) / (q.sum() + t.sum() + 1)
def loss(p):
    logits = net.apply(p, signal)
    bce = optax.sigmoid_binary_cross_entropy(logits, target).mean()
    return bce + dice(logits, target) if use_dice else bce
tx = optax.chain(optax.clip(0.5), optax.sgd(0.1))
s = tx.init(p)
for _ in range(epochs):
    val, g = jax.value_and_grad(loss)(p)
    u, s = tx.update(g, s); p = optax.apply_updates(p, u)
pred = net.apply(p, signal) > 0
iou = (pred & (target > 0)).sum() / jnp.maximum((pred | (target > 0)).sum(), 1)
art = "\n".join("".join(".#"[int(c)] for c in row) for row in np.asarray(target, int))
print(art)
sorted(p["params"])
---
use_dice = True
---
widths = (2,)
---
target = np.roll(target, 1, axis=1)

### fin-linen-path-aware-freeze-and-report needs=flax
import flax.linen as nn
from flax import traverse_util
from flax.core import freeze, unfreeze
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(5, name="body")(x))
        x = nn.LayerNorm(name="norm")(x)
        return nn.Dense(1, name="head")(x)[:, 0]
net = Net()
variables = freeze(net.init(random.key(2), X))
frozen, decay = ("body",), 1e-2
---
params = unfreeze(variables)["params"]
def label(path, _):
    return "frozen" if path[0] in frozen else "nodecay" if path[-1] in ("bias", "scale") else "train"
labels_tree = traverse_util.path_aware_map(label, params)
tx = optax.partition({"frozen": optax.set_to_zero(), "nodecay": optax.sgd(0.1), "train": optax.adamw(0.1, weight_decay=decay)}, labels_tree)
st = tx.init(params)
for _ in range(2):
    g = jax.grad(lambda p: jnp.mean((net.apply({"params": p}, X) - y) ** 2))(params)
    u, st = tx.update(g, st, params)
    params = optax.apply_updates(params, u)
flat_old = traverse_util.flatten_dict(unfreeze(variables)["params"], sep=".")
flat_new = traverse_util.flatten_dict(params, sep=".")
moved = {k: float(jnp.abs(flat_new[k] - flat_old[k]).max()) for k in flat_old}
for k in sorted(moved):
    print(f"{k:<12s} {'-' if moved[k] == 0 else 'moved'}")
count = collections.Counter(jax.tree.leaves(labels_tree))
count
---
frozen = ("head", "norm")
---
decay = 0.5; frozen = ()
---
variables = variables.copy({"params": params})

### fin-linen-vmapped-heads-ensemble needs=flax
import flax.linen as nn
class Heads(nn.Module):
    n: int
    @nn.compact
    def __call__(self, x):
        Many = nn.vmap(nn.Dense, in_axes=None, out_axes=0, axis_size=self.n, variable_axes={"params": 0}, split_rngs={"params": True})
        return Many(1, name="heads")(x)[..., 0]
n, epochs, prior = 3, 2, 0.0
---
net = Heads(n)
p0 = net.init(random.key(0), X)
p = p0
boot = random.randint(random.key(1), (n, len(X)), 0, len(X))
def loss(p):
    preds = net.apply(p, X) + prior * net.apply(p0, X)
    err = (jnp.take_along_axis(preds, boot, 1) - y[boot]) ** 2
    return err.mean(1).sum()
for e in range(epochs):
    l, g = jax.value_and_grad(loss)(p)
    p = jax.tree.map(lambda a, b: a - 0.1 * b, p, g)
preds = net.apply(p, X[:4])
mean, std = preds.mean(0), preds.std(0)
most_uncertain = np.argsort(-np.asarray(std), kind="stable")[:2]
for k, (a, b) in enumerate(zip(mean, std)):
    print(f"{k}: {a:+.2f} ± {b:.2f}")
p["params"]["heads"]["kernel"].shape, len(most_uncertain)
---
n = 2
---
prior = 0.5; X = X[:16]; y = y[:16]

### fin-eqx-shared-embedding-autoregress needs=equinox
import equinox as eqx
class LM(eqx.Module):
    shared: eqx.nn.Shared
    mix: eqx.nn.Linear
    def __init__(self, vocab, d, key):
        k1, k2, k3 = random.split(key, 3)
        emb = eqx.nn.Embedding(vocab, d, key=k1)
        proj = eqx.nn.Linear(d, vocab, use_bias=False, key=k2)
        self.shared = eqx.nn.Shared((emb, proj), where=lambda p: p[1].weight, get=lambda p: p[0].weight)
        self.mix = eqx.nn.Linear(d, d, key=k3)
    def __call__(self, tok):
        emb, proj = self.shared()
        return proj(jax.nn.silu(self.mix(emb(tok))))
corpus = "abracadabra"
table = {c: i for i, c in enumerate(sorted(set(corpus)))}
model = LM(len(table), 4, random.key(0))
tx, lr_steps = optax.adam(0.05), 3
---
seq = np.array([table[c] for c in corpus])
pairs = (seq[:-1], seq[1:])
@eqx.filter_value_and_grad
def nll(m, xs, ys):
    return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(m)(xs), ys).mean()
st = tx.init(eqx.filter(model, eqx.is_inexact_array))
for i in range(lr_steps):
    l, g = nll(model, *pairs)
    up, st = tx.update(g, st, model)
    model = eqx.apply_updates(model, up)
    print(i, f"ppl={math.exp(l):.2f}")
tok, text = table["a"], "a"
for _ in range(5):
    tok = int(jnp.argmax(model(tok)))
    text += sorted(table)[tok]
n_leaves = len(jax.tree.leaves(eqx.filter(model, eqx.is_array)))
len(text), n_leaves
---
corpus = "abcabcabca"; table = {c: i for i, c in enumerate("abcdr")}
---
lr_steps = 1
---
tx = optax.sgd(0.5, nesterov=True, momentum=0.9)

### fin-eqx-attention-mask-and-dropout-inference needs=equinox
import equinox as eqx
class Block(eqx.Module):
    attn: eqx.nn.MultiheadAttention
    norm: eqx.nn.RMSNorm
    drop: eqx.nn.Dropout
    causal: bool = eqx.field(static=True)
    def __init__(self, d, key, causal=True):
        self.attn = eqx.nn.MultiheadAttention(2, d, key=key)
        self.norm = eqx.nn.RMSNorm(d)
        self.drop = eqx.nn.Dropout(0.5)
        self.causal = causal
    def __call__(self, h, key=None):
        z = jax.vmap(self.norm)(h)
        mask = jnp.tril(jnp.ones((len(h),) * 2, bool)) if self.causal else None
        return h + self.drop(self.attn(z, z, z, mask=mask), key=key)
seqs = gen.normal(size=(3, 5, 4)).astype(np.float32)
block = Block(4, random.key(0))
key, steps = random.key(9), 2
---
params, static = eqx.partition(block, eqx.is_inexact_array)
def loss_fn(params, key):
    m = eqx.combine(params, static)
    keys = random.split(key, len(seqs))
    out = jax.vmap(m)(seqs[:, :-1], keys)
    return jnp.mean((out - seqs[:, 1:]) ** 2)
for s in range(steps):
    key, sub = random.split(key)
    l, g = jax.value_and_grad(loss_fn)(params, sub)
    params = eqx.apply_updates(params, jax.tree.map(lambda t: -0.1 * t, g))
block = eqx.combine(params, static)
frozen = eqx.nn.inference_mode(block)
a, b = (jax.vmap(frozen)(seqs[:1, :4]) for _ in range(2))
same = bool(jnp.array_equal(a, b))
try:
    block(seqs[0])
except RuntimeError as error:
    refused = str(error).split(".")[0]
same, frozen.drop.inference, block.drop.inference, refused, l
---
block = Block(4, random.key(3), causal=False)
---
block = eqx.tree_at(lambda m: m.drop.p, block, 0.0)
---
seqs = seqs[:2, :4]

### fin-eqx-hypernetwork-closure-convert needs=equinox
import equinox as eqx
class Hyper(eqx.Module):
    net: eqx.nn.MLP
    sizes: tuple = eqx.field(static=True)
    def __init__(self, sizes, key):
        n = sum(a * b + b for a, b in zip(sizes, sizes[1:]))
        self.net = eqx.nn.MLP(2, n, 6, 1, activation=jnp.tanh, key=key)
        self.sizes = tuple(sizes)
    def weights(self, task):
        flat, out, at = self.net(task), [], 0
        for a, b in zip(self.sizes, self.sizes[1:]):
            w = flat[at:at + a * b].reshape(b, a); at += a * b
            out.append((w, flat[at:at + b])); at += b
        return out
    def __call__(self, task, x):
        *hidden, (w, b) = self.weights(task)
        for W, c in hidden:
            x = jax.nn.relu(W @ x + c)
        return (w @ x + b)[0]
tasks = {"sum": (jnp.array([1.0, 0.0]), lambda v: v.sum(-1)), "max": (jnp.array([0.0, 1.0]), lambda v: v.max(-1))}
hyper, rounds = Hyper([4, 3, 1], random.key(1)), 2
---
opt = optax.adam(0.01)
ost = opt.init(eqx.filter(hyper, eqx.is_array))
@eqx.filter_jit
def update(h, s, code, target):
    def loss(h): return jnp.mean((jax.vmap(lambda x: h(code, x))(X) - target) ** 2)
    l, g = eqx.filter_value_and_grad(loss)(h)
    u, s = opt.update(g, s)
    return eqx.apply_updates(h, u), s, l
report = {}
for r, (name, (code, fn)) in itertools.product(range(rounds), tasks.items()):
    hyper, ost, l = update(hyper, ost, code, fn(jnp.asarray(X)))
    report.setdefault(name, []).append(round(float(l), 3))
frozen_task = eqx.filter_closure_convert(lambda x: hyper(tasks["sum"][0], x), X[0])
check = frozen_task(X[1]) - hyper(tasks["sum"][0], X[1])
[w.shape for w, _ in hyper.weights(tasks["max"][0])], report.keys(), check
---
tasks["min"] = (jnp.array([0.5, 0.5]), lambda v: v.min(-1))
---
hyper = Hyper([4, 2, 2, 1], random.key(5))
---
del tasks["max"]; tasks["max"] = (jnp.ones(2), lambda v: v.max(-1)); rounds = 1

### fin-optax-schedule-free-eval-params
from optax import contrib
params = {"w": jnp.zeros(4), "b": jnp.zeros(())}
lr, steps, name = 0.1, 5, "schedule_free"
def loss(p, xb, yb): return jnp.mean((xb @ p["w"] + p["b"] - yb) ** 2)
---
if name == "schedule_free":
    tx = contrib.schedule_free(optax.sgd(lr), learning_rate=lr)
    evaluate = contrib.schedule_free_eval_params
elif name == "prodigy":
    tx, evaluate = contrib.prodigy(lr), lambda s, p: p
else:
    tx, evaluate = contrib.dadapt_adamw(lr), lambda s, p: p
p, s = params, tx.init(params)
trace = []
for i in range(steps):
    sel = slice(4 * (i % 5), 4 * (i % 5) + 4)
    l, g = jax.value_and_grad(loss)(p, X[sel], y[sel])
    up, s = tx.update(g, s, p)
    p = optax.apply_updates(p, up)
    trace.append(l)
shown = evaluate(s, p)
test = loss(shown, X, y)
print(f"{name:>14s} {test:.4f}")
type(s).__name__, len(trace)
---
name = "prodigy"
---
name, steps = "dadapt", 3
---
params = {"w": jnp.ones(4), "b": jnp.zeros(())}; name = "schedule_free"

### fin-optax-sam-and-lookahead-compare
from optax import contrib
start = [jnp.full((4, 3), 0.1), jnp.full((3, 1), 0.2)]
def net(ws, x):
    for w in ws[:-1]: x = jax.nn.gelu(x @ w)
    return (x @ ws[-1])[:, 0]
def loss(ws): return optax.huber_loss(net(ws, X), y, delta=0.5).mean()
rho, steps = 0.05, 4
---
results = {}
sam = contrib.sam(optax.sgd(0.1), optax.chain(contrib.normalize(), optax.sgd(rho)), sync_period=2)
ws, st = start, sam.init(start)
for _ in range(steps):
    ws, st = (lambda u, s: (optax.apply_updates(ws, u), s))(*sam.update(jax.grad(loss)(ws), st, ws))
results["sam"] = loss(ws)
look = optax.lookahead(optax.sgd(0.1), sync_period=2, slow_step_size=0.5)
pair = optax.LookaheadParams.init_synced(start)
st2 = look.init(pair)
for _ in range(steps):
    g = jax.grad(loss)(pair.fast)
    u, st2 = look.update(g, st2, pair)
    pair = optax.apply_updates(pair, u)
results["lookahead"] = loss(pair.slow)
best = min(results, key=lambda k: float(results[k]))
gap = optax.tree.norm(optax.tree.sub(pair.fast, pair.slow))
int(st.steps_since_sync), int(st2.steps_since_sync), gap, list(results)
---
steps = 3
---
rho = 0.5

### fin-optax-private-aggregation-and-clipping
noise, clip, seed, rounds = 0.1, 1.0, 0, 3
w = jnp.zeros(4)
def example_loss(w, x, t): return (jnp.dot(w, x) - t) ** 2
---
dp = optax.contrib.differentially_private_aggregate(l2_norm_clip=clip, noise_multiplier=noise, key=random.key(seed))
tx = optax.chain(dp, optax.trace(0.5), optax.scale(-0.05))
st = tx.init(w)
norms, spent = [], 0.0
for r in range(rounds):
    idx = np.random.default_rng(r).choice(len(X), 8, replace=False)
    per_example = jax.vmap(jax.grad(example_loss), (None, 0, 0))(w, X[idx], y[idx])
    norms.append(jnp.linalg.norm(per_example, axis=1).max())
    u, st = tx.update(per_example, st, w)
    w = optax.apply_updates(w, u)
    spent += clip ** 2 / (2 * noise ** 2) if noise else math.inf
frac = sum(float(n) > clip for n in norms) / rounds
print(f"rho={spent:.1f} clipped in {frac:.0%} of rounds")
isinstance(st, tuple), type(st[0]).__name__, jnp.round(w, 2)
---
noise = 0.0
---
clip, seed = 0.1, 4
---
w = w.astype(jnp.bfloat16).astype(jnp.float32); noise = 1.0

### fin-optax-own-stateful-transform-class
class TrackState(NamedTuple):
    count: jax.Array
    biggest: jax.Array
    names: tuple = ()
def track_biggest(window=None):
    def init(params):
        return TrackState(jnp.zeros([], jnp.int32), jnp.array(-jnp.inf), tuple(sorted(params)))
    def update(updates, state, params=None, *, value=None, **extra):
        size = optax.tree.norm(updates)
        if value is not None:
            size = size * (1 + 0 * value)
        big = jnp.where(state.count % window == 0, size, jnp.maximum(state.biggest, size)) if window else jnp.maximum(state.biggest, size)
        return updates, state._replace(count=optax.safe_increment(state.count), biggest=big)
    return optax.GradientTransformationExtraArgs(init, update)
window, p = None, {"b": jnp.zeros(()), "w": jnp.ones(4)}
---
tx = optax.named_chain(("track", track_biggest(window)), ("scale", optax.scale_by_adam()), ("lr", optax.scale_by_learning_rate(0.1)))
st = tx.init(p)
f = lambda p: jnp.mean((X @ p["w"] + p["b"] - y) ** 2)
for _ in range(3):
    v, g = jax.value_and_grad(f)(p)
    u, st = tx.update(g, st, p, value=v)
    p = optax.apply_updates(p, u)
found = optax.tree.get(st, "biggest")
all_counts = {jax.tree_util.keystr(k): int(v) for k, v in optax.tree.get_all_with_path(st, "count")}
st = optax.tree.set(st, biggest=jnp.zeros(()))
print(sorted(st), st["track"].names)
all_counts, found
---
window = 2
---
p = {"w": jnp.zeros(4), "b": jnp.ones(()), }

### fin-ctc-loss-greedy-decoder
alphabet = "-abc"
targets = ["ab", "cab", "b"]
T, lr, steps = 6, 1.0, 3
feats = gen.normal(size=(3, 6, 5)).astype(np.float32)
W = jnp.asarray(gen.normal(size=(5, 4)).astype(np.float32)) * 0.3
def collapse(path):
    out = [k for k, _ in itertools.groupby(path)]
    return "".join(alphabet[k] for k in out if k)
---
L = max(map(len, targets))
lab = np.zeros((len(targets), L), np.int32)
pad = np.ones((len(targets), L), np.float32)
for i, t in enumerate(targets):
    lab[i, :len(t)] = [alphabet.index(c) for c in t]
    pad[i, :len(t)] = 0
def ctc(W):
    logits = feats[:len(targets), :T] @ W
    return optax.ctc_loss(logits, jnp.zeros(logits.shape[:2]), lab, pad).mean()
hist = []
for i in range(steps):
    l, g = jax.value_and_grad(ctc)(W)
    W = W - lr * g
    hist.append(l)
paths = (feats[:len(targets), :T] @ W).argmax(-1)
texts = [collapse(p) for p in paths.tolist()]
def edit(a, b):
    row = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, cb in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (ca != cb))
    return row[-1]
cer = sum(map(edit, texts, targets)) / sum(map(len, targets))
bool(hist[-1] < hist[0]), 0 <= cer
---
targets = ["a", "bc"]
---
lr = 0.1; T = 5

### fin-mixup-focal-label-smoothing
smoothing, gamma, alpha, steps = 0.1, 0.0, 0.4, 3
params = (jnp.zeros((4, 2)), jnp.zeros(2))
def mixup(key, x, t, alpha):
    if not alpha:
        return x, t
    k1, k2 = random.split(key)
    lam = random.beta(k1, alpha, alpha)
    perm = random.permutation(k2, len(x))
    return lam * x + (1 - lam) * x[perm], lam * t + (1 - lam) * t[perm]
---
def focal(logits, t):
    logp = jax.nn.log_softmax(logits)
    return -(t * (1 - jnp.exp(logp)) ** gamma * logp).sum(-1).mean()
onehot = optax.smooth_labels(jax.nn.one_hot(labels, 2), smoothing)
key = random.key(12)
rows = []
for i in range(steps):
    key, sub = random.split(key)
    xb, tb = mixup(sub, jnp.asarray(X), onehot, alpha)
    l, (gw, gb) = jax.value_and_grad(lambda p: focal(xb @ p[0] + p[1], tb))(params)
    params = (params[0] - 0.5 * gw, params[1] - 0.5 * gb)
    rows.append({"step": i, "loss": l, "entropy": -(tb * jnp.log(tb)).sum(-1).mean()})
acc = jnp.mean((X @ params[0] + params[1]).argmax(1) == labels)
print("\n".join(f"{r['step']} {r['loss']:.4f} {r['entropy']:.4f}" for r in rows))
acc > 0.5
---
gamma = 2.0
---
alpha = 0
---
def mixup(key, x, t, alpha):
    return x[::-1], t[::-1]

### fin-federated-averaging-clients
@dataclasses.dataclass
class Client:
    name: str
    rows: slice
    local_steps: int = 2
    seen: int = 0
    def fit(self, w, lr):
        for _ in range(self.local_steps):
            w = w - lr * jax.grad(lambda v: jnp.mean((X[self.rows] @ v - y[self.rows]) ** 2))(w)
            self.seen += self.rows.stop - self.rows.start
        return w, self.rows.stop - self.rows.start
clients = [Client("a", slice(0, 5)), Client("b", slice(5, 12)), Client("c", slice(12, 20), 1)]
server, fraction, lr, rounds = jnp.zeros(4), 1.0, 0.1, 2
---
pick = np.random.default_rng(1)
ledger = []
for rnd in range(rounds):
    k = max(1, int(fraction * len(clients)))
    chosen = sorted(pick.choice(len(clients), k, replace=False))
    results = [clients[c].fit(server, lr) for c in chosen]
    total = sum(n for _, n in results)
    update = sum((n / total) * (w - server) for w, n in results)
    server = server + update
    ledger.append((rnd, [clients[c].name for c in chosen], float(jnp.linalg.norm(update))))
for rnd, names, size in ledger:
    print(rnd, "+".join(names), f"{size:.3f}")
divergence = jnp.stack([clients[c].fit(server, lr)[0] for c in range(len(clients))]).std(0).max()
[(c.name, c.seen) for c in clients]
---
fraction = 0.67
---
clients.append(Client("d", slice(0, 20), 3))
---
clients[0].local_steps = 0; lr = 0.05

### fin-magnitude-pruning-lottery
shapes = [(4, 6), (6, 1)]
init = [random.normal(random.key(i), s) * 0.5 for i, s in enumerate(shapes)]
def forward(ws, x):
    h = jnp.tanh(x @ ws[0]); return (h @ ws[1])[:, 0]
sparsity_steps, rewind = [0.25, 0.5], True
---
masks = [jnp.ones_like(w) for w in init]
table = []
for target in sparsity_steps:
    ws = [w * m for w, m in zip(init, masks)] if rewind or not table else ws
    for _ in range(2):
        g = jax.grad(lambda ws: jnp.mean((forward([w * m for w, m in zip(ws, masks)], X) - y) ** 2))(ws)
        ws = [w - 0.1 * d * m for w, d, m in zip(ws, g, masks)]
    magnitudes = jnp.concatenate([jnp.abs(w).ravel() for w in ws])
    cut = jnp.sort(magnitudes)[int(target * magnitudes.size)]
    masks = [(jnp.abs(w) >= cut).astype(w.dtype) for w in ws]
    kept = int(sum(m.sum() for m in masks))
    table.append((target, kept, jnp.mean((forward([w * m for w, m in zip(ws, masks)], X) - y) ** 2)))
for t, kept, l in table:
    bar = "#" * (kept // 3)
    print(f"{t:.0%} {bar:<12s} {l:.3f}")
ticket = jax.tree.map(lambda w, m: jnp.where(m > 0, w, 0), init, masks)
[int((t == 0).sum()) for t in ticket]
---
rewind = False
---
sparsity_steps = [0.1, 0.2, 0.6]
---
init[1] = init[1] * 3

### fin-elastic-weights-two-tasks
def task(seed):
    r = np.random.default_rng(seed)
    w = r.normal(size=4).astype(np.float32)
    return X @ w
lam, order = 5.0, [0, 1]
theta = jnp.zeros(4)
---
anchors = []
matrix = np.full((len(order), len(order)), np.nan, np.float32)
for col, seed in enumerate(order):
    t = task(seed)
    def loss(w):
        base = jnp.mean((X @ w - t) ** 2)
        return base + sum(lam * jnp.sum(f * (w - a) ** 2) for f, a in anchors)
    for _ in range(4):
        theta = theta - 0.1 * jax.grad(loss)(theta)
    fisher = jnp.mean(jax.vmap(lambda x, t: jax.grad(lambda w: (x @ w - t) ** 2)(theta) ** 2)(X, t), axis=0)
    anchors.append((fisher, theta))
    for row in range(col + 1):
        matrix[row, col] = jnp.mean((X @ theta - task(order[row])) ** 2)
forgetting = matrix[0, -1] - matrix[0, 0]
print(np.array2string(matrix, precision=2, floatmode="fixed"))
len(anchors), type(forgetting).__name__, anchors[-1][1] is theta
---
lam = 0.0
---
order = [1, 0, 2]
---
def task(seed): return np.float32(seed) + X.sum(1)

### fin-evolution-strategy-ask-tell
class OpenES:
    def __init__(self, dim, pop, sigma=0.1, seed=0):
        self.mean, self.pop, self.sigma = jnp.zeros(dim), pop, sigma
        self.key, self.generation, self.best = random.key(seed), 0, (jnp.inf, None)
    def ask(self):
        self.key, sub = random.split(self.key)
        half = random.normal(sub, (self.pop // 2, self.mean.size))
        self.noise = jnp.concatenate([half, -half])
        return self.mean + self.sigma * self.noise
    def tell(self, fitness):
        ranks = jnp.argsort(jnp.argsort(fitness)) / (len(fitness) - 1) - 0.5
        self.mean = self.mean - 0.2 / (self.pop * self.sigma) * self.noise.T @ ranks
        i = int(fitness.argmin())
        if fitness[i] < self.best[0]:
            self.best = (fitness[i], self.mean + self.sigma * self.noise[i])
        self.generation += 1
es, generations = OpenES(4, 6), 3
---
fit = jax.jit(jax.vmap(lambda w: jnp.mean((X @ w - y) ** 2)))
progress = []
for _ in range(generations):
    candidates = es.ask()
    scores = fit(candidates)
    es.tell(scores)
    progress.append((es.generation, float(scores.min()), float(scores.mean())))
improved = all(b <= a for a, b in itertools.pairwise([float(es.best[0])] + [float(es.best[0])]))
print(*(f"g{g}: {lo:.3f}/{mu:.3f}" for g, lo, mu in progress), sep=" | ")
es.best[1].shape, es.generation, improved
---
es.sigma *= 0.5
---
es = OpenES(4, 4, seed=9)
---
generations = 1; es.best = (jnp.inf, None)

### fin-restricted-boltzmann-cd-k
class RBM(NamedTuple):
    w: jax.Array
    v: jax.Array
    h: jax.Array
    def free_energy(self, x):
        return -(x @ self.v) - jnp.logaddexp(0.0, x @ self.w + self.h).sum(-1)
    def hidden(self, key, x):
        p = jax.nn.sigmoid(x @ self.w + self.h)
        return p, random.bernoulli(key, p).astype(x.dtype)
    def visible(self, key, h):
        p = jax.nn.sigmoid(h @ self.w.T + self.v)
        return p, random.bernoulli(key, p).astype(h.dtype)
patterns = (gen.uniform(size=(8, 6)) < 0.4).astype(np.float32)
rbm = RBM(0.1 * random.normal(random.key(0), (6, 3)), jnp.zeros(6), jnp.zeros(3))
k, epochs, lr = 1, 3, 0.2
---
data = jnp.asarray(patterns)
for epoch in range(epochs):
    keys = iter(random.split(random.fold_in(random.key(5), epoch), 1 + 2 * k))
    ph0, h = rbm.hidden(next(keys), data)
    for _ in range(k):
        pv, v = rbm.visible(next(keys), h)
        ph, h = rbm.hidden(next(keys), v)
    grads = RBM((data.T @ ph0 - v.T @ ph) / len(data), (data - v).mean(0), (ph0 - ph).mean(0))
    rbm = jax.tree.map(lambda a, g: a + lr * g, rbm, grads)
gap = rbm.free_energy(data).mean() - rbm.free_energy(1 - data).mean()
recon = rbm.visible(random.key(0), rbm.hidden(random.key(1), data)[0])[0]
shown = ["".join("█" if c else "·" for c in row.astype(int)) for row in patterns[:3]]
print(*shown, sep="\n")
type(rbm).__name__, rbm._fields, jnp.mean((recon - data) ** 2)
---
k = 3
---
patterns = 1 - patterns
---
rbm = rbm._replace(w=jnp.zeros((6, 2)), h=jnp.zeros(2))

### fin-mixture-density-and-quantiles
xs = np.linspace(-1, 1, 16, dtype=np.float32)
ts = np.sin(3 * xs) + 0.1 * gen.normal(size=16).astype(np.float32)
K, head, steps = 2, "mdn", 3
quantiles = (0.1, 0.5, 0.9)
---
out = 3 * K if head == "mdn" else len(quantiles)
k1, k2 = random.split(random.key(0))
p = {"w1": random.normal(k1, (1, 8)), "b1": jnp.zeros(8), "w2": random.normal(k2, (8, out)) * 0.3, "b2": jnp.zeros(out)}
def net(p, x): return jnp.tanh(x[:, None] @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
def loss(p):
    o = net(p, xs)
    if head == "mdn":
        logit, mu, logs = jnp.split(o, 3, axis=-1)
        comp = jax.scipy.stats.norm.logpdf(ts[:, None], mu, jnp.exp(logs))
        return -jax.nn.logsumexp(jax.nn.log_softmax(logit) + comp, axis=-1).mean()
    q = jnp.array(quantiles)
    d = ts[:, None] - o
    return jnp.maximum(q * d, (q - 1) * d).mean()
tx = optax.adam(0.05)
s = tx.init(p)
losses = np.empty(steps, np.float32)
for i in range(steps):
    losses[i], g = jax.value_and_grad(loss)(p)
    u, s = tx.update(g, s)
    p = optax.apply_updates(p, u)
summary = dict(zip(("first", "last"), losses[[0, -1]].round(3).tolist()))
if head == "quantile":
    cover = np.mean((np.asarray(net(p, xs)) > ts[:, None]), axis=0)
    summary["n"] = cover.shape
losses.dtype, sorted(summary)
---
head = "quantile"
---
quantiles = (0.25, 0.75); steps = 2
---
head, K = "mdn", 3

### fin-sgld-snapshots-and-calibration
burn, keep_every, total, T0 = 2, 2, 8, 1e-2
b0 = jnp.zeros(5)
Xa = np.c_[X, np.ones(len(X), np.float32)]
---
def logpost(b, idx):
    z = Xa[idx] @ b
    like = jnp.sum(labels[idx] * jax.nn.log_sigmoid(z) + (1 - labels[idx]) * jax.nn.log_sigmoid(-z))
    return like * len(Xa) / len(idx) - 0.5 * b @ b
chain, b = [], b0
for t in range(total):
    idx = np.random.default_rng(100 + t).permutation(len(Xa))[:10]
    step = T0 / (1 + t) ** 0.55
    b = b + 0.5 * step * jax.grad(logpost)(b, idx) + math.sqrt(step) * random.normal(random.fold_in(random.key(2), t), b.shape)
    if t >= burn and (t - burn) % keep_every == 0:
        chain.append((t, b))
probs = jax.nn.sigmoid(jnp.stack([Xa @ b for _, b in chain])).mean(0)
edges = np.linspace(0, 1, 4)
which = np.clip(np.digitize(np.asarray(probs), edges) - 1, 0, 2)
ece = 0.0
for k in range(3):
    sel = which == k
    if sel.any():
        ece += sel.mean() * abs(float(probs[sel].mean()) - labels[sel].mean())
print(f"{len(chain)} samples, ece {ece:.3f}")
[t for t, _ in chain], probs.dtype
---
burn = 4
---
keep_every, total = 1, 5
---
T0 = 1e-3; labels = 1 - labels

### fin-numpyro-svi-loop-by-hand-with-guide-class needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO, TraceMeanField_ELBO, Predictive
from numpyro.infer.autoguide import AutoNormal, AutoMultivariateNormal
def model(x, t=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([4]).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("obs", dist.Normal(x @ w, s), obs=t)
guide_class, n_steps, particles = AutoNormal, 3, 1
---
guide = guide_class(model, init_scale=0.05)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), TraceMeanField_ELBO(num_particles=particles) if guide_class is AutoNormal else Trace_ELBO(particles))
state = svi.init(random.key(0), X, y)
losses = []
for i in range(n_steps):
    state, l = svi.update(state, X, y)
    losses.append(l)
params = svi.get_params(state)
post = guide.sample_posterior(random.key(1), params, sample_shape=(5,))
pred = Predictive(model, guide=guide, params=params, num_samples=4)(random.key(2), X[:3])
for k in sorted(params):
    print(k, params[k].shape)
{k: v.shape for k, v in pred.items()}, post["s"].min() > 0, jnp.stack(losses)
---
guide_class = AutoMultivariateNormal
---
particles, n_steps = 3, 2; guide_class = AutoNormal
---
def model(x, t=None):
    w = numpyro.sample("w", dist.Laplace(jnp.zeros(4), 1.0).to_event(1))
    s = numpyro.sample("s", dist.Exponential(2.0))
    numpyro.sample("obs", dist.StudentT(5.0, x @ w, s), obs=t)

### fin-numpyro-nuts-small-with-summary needs=numpyro tolerance=5e-2
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, log_likelihood, init_to_value
from numpyro.diagnostics import effective_sample_size
counts = np.array([3, 5, 2, 8, 4])
exposure = np.array([1.0, 2.0, 1.0, 3.0, 1.5], np.float32)
def model(n, c=None):
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
    numpyro.deterministic("per_hour", rate * 60)
    numpyro.sample("c", dist.Poisson(rate * n), obs=c)
warm, draws, start = 5, 6, 2.0
---
mcmc = MCMC(NUTS(model, init_strategy=init_to_value(values={"rate": start}), max_tree_depth=3), num_warmup=warm, num_samples=draws, progress_bar=False)
mcmc.run(random.key(3), exposure, counts)
draws_ = mcmc.get_samples()
ll = log_likelihood(model, draws_, exposure, counts)["c"]
lppd = (jax.nn.logsumexp(ll, axis=0) - jnp.log(len(ll))).sum()
waic = -2 * (lppd - ll.var(0).sum())
table = {name: (v.shape, str(v.dtype)) for name, v in sorted(draws_.items())}
grouped = mcmc.get_samples(group_by_chain=True)["rate"].shape
last = mcmc.last_state.i
table, grouped, int(last), bool(jnp.isfinite(waic))
---
start = 0.5
---
counts = counts + 1
---
draws = 3

### fin-haiku-intercept-and-getstate-ema needs=haiku
import haiku as hk
calls = collections.Counter()
def spy(f, args, kwargs, ctx):
    if ctx.method_name != "__init__":
        calls[f"{ctx.module.module_name}.{ctx.method_name}"] += 1
    return f(*args, **kwargs)
def forward(x, train):
    with hk.intercept_methods(spy):
        h = hk.nets.MLP([6, 3], activation=jnp.tanh, name="mlp")(x)
    ema = hk.ExponentialMovingAverage(0.9, name="center")
    mu = ema(h.mean(0), update_stats=train)
    hk.set_state("steps", hk.get_state("steps", [], jnp.int32, init=jnp.zeros) + 1)
    return hk.Linear(1)(h - lax.stop_gradient(mu))[:, 0]
steps = 2
---
net = hk.without_apply_rng(hk.transform_with_state(forward))
params, state = net.init(random.key(0), X, True)
def loss(p, s):
    out, s = net.apply(p, s, X, True)
    return jnp.mean((out - y) ** 2), s
for _ in range(steps):
    (l, state), g = jax.value_and_grad(loss, has_aux=True)(params, state)
    params = jax.tree.map(lambda a, b: a - 0.05 * b, params, g)
weights, biases = hk.data_structures.partition(lambda m, n, v: n == "w", params)
lines = [f"{m}/{n}{tuple(v.shape)}" for m, n, v in hk.data_structures.traverse(params)]
merged = hk.data_structures.merge(weights, biases)
out, _ = net.apply(merged, state, X, False)
print("\n".join(lines))
sorted(calls), hk.data_structures.tree_size(weights), sorted(state)
---
steps = 3
---
calls.clear()
---
def spy(f, args, kwargs, ctx):
    out = f(*args, **kwargs)
    calls["all"] += out is not None
    return out if out is None else out * 2

### fin-haiku-scan-vmap-lifted needs=haiku
import haiku as hk
def core(x, units):
    layer = hk.Linear(units, name="cell")
    def step(carry, xt):
        new = jnp.tanh(layer(jnp.concatenate([carry, xt], -1)))
        return new, new
    last, all_ = hk.scan(step, jnp.zeros(units), x)
    gates = hk.vmap(lambda h: jax.nn.sigmoid(hk.Linear(1, name="gate")(h)), split_rng=False)(all_)
    return hk.cond(jnp.array(x.shape[0] > 2), lambda v: v * 2.0, lambda v: v, last), gates
units, reverse = 3, False
---
net = hk.without_apply_rng(hk.transform(functools.partial(core, units=units)))
seq = jnp.asarray(X[:6])[:: -1 if reverse else 1]
params = net.init(random.key(1), seq)
(last, gates), vjp = jax.vjp(lambda p: net.apply(p, seq), params)
(g,) = vjp((jnp.ones_like(last), jnp.zeros_like(gates)))
norms = {f"{m}.{n}": round(float(jnp.linalg.norm(v)), 3) for m, d in g.items() for n, v in d.items()}
params = jax.tree.map(lambda p, d: p - 0.01 * jnp.sign(d), params, g)
text = hk.experimental.tabulate(net, columns=("module", "params_size"), tabulate_kwargs={"tablefmt": "plain"})(seq)
print(len(text.splitlines()) > 2, last.shape, gates.shape)
norms
---
reverse = True
---
units = 2

### fin-diffrax-cde-and-linear-interpolation needs=diffrax,equinox
import diffrax, equinox as eqx
class Func(eqx.Module):
    mlp: eqx.nn.MLP
    scale: float = eqx.field(static=True, default=0.5)
    def __call__(self, t, h, args):
        return self.scale * self.mlp(h).reshape(3, 2)
func = Func(eqx.nn.MLP(3, 6, 4, 1, key=random.key(0)))
ts = jnp.linspace(0, 1, 5)
paths = jnp.stack([jnp.stack([ts, jnp.sin(k * ts)], -1) for k in (1.0, 2.0, 3.0)])
cls = jnp.array([0.0, 1.0, 1.0])
kind, epochs = "linear", 2
---
readout = jnp.ones(3) * 0.2
def logits(params, path):
    f, r = params
    control = diffrax.LinearInterpolation(ts, path) if kind == "linear" else diffrax.CubicInterpolation(ts, diffrax.backward_hermite_coefficients(ts, path))
    term = diffrax.ControlTerm(f, control).to_ode()
    sol = diffrax.diffeqsolve(term, diffrax.Heun(), 0.0, 1.0, 0.25, jnp.full(3, 0.1), saveat=diffrax.SaveAt(t1=True))
    return sol.ys[-1] @ r
@eqx.filter_jit
def step(params):
    def loss(p): return optax.sigmoid_binary_cross_entropy(jax.vmap(lambda q: logits(p, q))(paths), cls).mean()
    l, g = eqx.filter_value_and_grad(loss)(params)
    return eqx.apply_updates(params, jax.tree.map(lambda t: -0.5 * t, g)), l
params = (func, readout)
for e in range(epochs):
    params, l = step(params)
    print(e, f"{l:.4f}")
func, readout = params
func.scale, readout.shape
---
kind = "cubic"
---
func = Func(func.mlp, scale=1.5); epochs = 1
---
paths = paths[:2]; cls = cls[:2]; kind = "linear"

### fin-diffrax-sde-multiterm-stats needs=diffrax
import diffrax
def drift(t, x, args): return args["k"] * (args["m"] - x)
def vol(t, x, args): return args["s"] * jnp.ones_like(x)
args = {"k": 1.0, "m": 0.5, "s": 0.2}
n_paths, dt0, levy = 4, 0.1, diffrax.BrownianIncrement
---
@jax.vmap
def path(key):
    bm = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=key, levy_area=levy)
    terms = diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(vol, bm))
    solver = diffrax.Euler() if levy is diffrax.BrownianIncrement else diffrax.SRA1()
    sol = diffrax.diffeqsolve(terms, solver, 0.0, 1.0, dt0, 0.0, args=args, saveat=diffrax.SaveAt(ts=jnp.linspace(0, 1, 6)))
    return sol.ys, sol.stats["num_steps"]
ys, n = path(random.split(random.key(4), n_paths))
quant = jnp.quantile(ys, jnp.array([0.1, 0.5, 0.9]), axis=0)
theory = args["m"] * (1 - math.exp(-args["k"]))
z = (ys[:, -1].mean() - theory) / (ys[:, -1].std() / math.sqrt(n_paths))
spark = "".join("▁▂▃▄▅▆▇█"[min(7, max(0, int(v * 8)))] for v in np.linspace(0, 0.99, 6))
print(spark, n.tolist())
quant.shape, z.dtype
---
args["s"] = 0.0
---
levy = diffrax.SpaceTimeLevyArea
---
args = dict(args, m=1.0, k=2.0); n_paths = 3

### fin-orbax-composite-with-json-and-cast needs=orbax.checkpoint
import orbax.checkpoint as ocp
root = Path(place) / "runs"
params = {"dense": {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}, "step": jnp.array(0)}
meta = {"lr": 0.1, "notes": ["first"]}
run, dtype = 0, jnp.float32
---
folder = root / f"run{run}"
run += 1
with ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=False)) as mgr:
    for step in range(3):
        params = jax.tree.map(lambda p: p + 1, params)
        meta["notes"].append(f"s{step}")
        mgr.save(step, args=ocp.args.Composite(params=ocp.args.StandardSave(params), meta=ocp.args.JsonSave(meta)))
    steps = mgr.all_steps()
    target = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, dtype if jnp.issubdtype(a.dtype, jnp.floating) else a.dtype), params)
    back = mgr.restore(mgr.latest_step(), args=ocp.args.Composite(params=ocp.args.StandardRestore(target), meta=ocp.args.JsonRestore()))
restored, note = back["params"], back.meta["notes"][-1]
diff = jax.tree.map(lambda a, b: jnp.abs(a - b.astype(a.dtype)).max(), params, restored)
print(steps, note, restored["dense"]["w"].dtype)
jax.tree.leaves(diff), sorted(p.name for p in folder.iterdir() if p.name.isdigit())
---
dtype = jnp.bfloat16
---
params["extra"] = jnp.arange(3); meta["lr"] = 0.01

### fin-actor-critic-soft-targets-dataclass tolerance=2e-3
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Nets:
    actor: Any
    critic: Any
    target: Any
    log_alpha: jax.Array
    tau: float = dataclasses.field(metadata=dict(static=True), default=0.1)
def dense(key, a, b): return {"w": random.normal(key, (a, b)) * 0.3, "b": jnp.zeros(b)}
def lin(p, x): return x @ p["w"] + p["b"]
def make(seed=0, tau=0.1):
    k1, k2 = random.split(random.key(seed))
    q = dense(k2, 5, 1)
    return Nets(dense(k1, 4, 2), q, q, jnp.zeros(()), tau)
nets, updates, entropy_target = make(), 3, -1.0
rewards = (X[:, 0] > 0).astype(np.float32)
---
def sample(actor, s, key):
    mu, ls = jnp.split(lin(actor, s), 2, -1)
    u = mu + jnp.exp(ls) * random.normal(key, mu.shape)
    logp = (jax.scipy.stats.norm.logpdf(u, mu, jnp.exp(ls)) - jnp.log(1 - jnp.tanh(u) ** 2 + 1e-2)).sum(-1)
    return jnp.tanh(u), logp
def q(c, s, a): return lin(c, jnp.concatenate([s, a], -1))[:, 0]
infos = []
for i in range(updates):
    k1, k2 = random.split(random.key(i))
    nxt = jnp.roll(X, -1, axis=0)
    a2, lp2 = sample(nets.actor, nxt, k1)
    backup = rewards + 0.9 * (q(nets.target, nxt, a2) - jnp.exp(nets.log_alpha) * lp2)
    acts = jnp.tanh(X[:, :1])
    closs, gc = jax.value_and_grad(lambda c: jnp.mean((q(c, X, acts) - lax.stop_gradient(backup)) ** 2))(nets.critic)
    critic = jax.tree.map(lambda p, g: p - 0.05 * g, nets.critic, gc)
    def actor_loss(p):
        a, lp = sample(p, X, k2)
        return jnp.mean(jnp.exp(nets.log_alpha) * lp - q(critic, X, a)), lp.mean()
    (aloss, lp), ga = jax.value_and_grad(actor_loss, has_aux=True)(nets.actor)
    nets = dataclasses.replace(nets, actor=jax.tree.map(lambda p, g: p - 0.05 * g, nets.actor, ga), critic=critic,
        target=optax.incremental_update(critic, nets.target, nets.tau), log_alpha=nets.log_alpha - 0.01 * (-lp - entropy_target))
    infos.append({"critic": closs, "actor": aloss, "alpha": jnp.exp(nets.log_alpha)})
means = {k: float(np.mean([i[k] for i in infos])) for k in infos[0]}
nets.target is nets.critic, {k: f"{v:.2f}" for k, v in means.items()}.keys(), nets.tau
---
nets = make(seed=4, tau=0.5)
---
entropy_target = -2.0; updates = 2
---
rewards = rewards * 2 - 1

### fin-hindsight-buffer-and-priorities
class SumTree:
    def __init__(self, n):
        self.n, self.tree, self.at, self.size = n, np.zeros(2 * n), 0, 0
        self.items = [None] * n
    def add(self, item, p):
        self.items[self.at] = item
        self.set(self.at, p)
        self.at, self.size = (self.at + 1) % self.n, min(self.size + 1, self.n)
    def set(self, i, p):
        i += self.n
        self.tree[i] = p
        while i > 1:
            i //= 2
            self.tree[i] = self.tree[2 * i] + self.tree[2 * i + 1]
    def find(self, u):
        i = 1
        while i < self.n:
            i *= 2
            if u > self.tree[i]:
                u -= self.tree[i]; i += 1
        return i - self.n
tree = SumTree(8)
w, beta, batch = jnp.zeros(4), 0.4, 3
draw = np.random.default_rng(11)
---
for row in draw.integers(0, len(X), 4):
    tree.add((X[row], y[row]), float(tree.tree[tree.n:].max()) or 1.0)
for _ in range(2):
    us = (np.arange(batch) + draw.uniform(size=batch)) * tree.tree[1] / batch
    idx = [tree.find(u) for u in us]
    xb, yb = map(np.stack, zip(*(tree.items[i] for i in idx)))
    prob = tree.tree[tree.n + np.array(idx)] / tree.tree[1]
    weights = jnp.asarray((tree.size * prob) ** -beta, jnp.float32)
    weights = weights / weights.max()
    def loss(w):
        td = xb @ w - yb
        return (weights * td ** 2).mean(), td
    g, td = jax.grad(loss, has_aux=True)(w)
    w = w - 0.1 * g
    for i, e in zip(idx, np.abs(np.asarray(td)).tolist()):
        tree.set(i, round(e, 2) + 0.01)
print(tree.at, tree.size, round(float(tree.tree[1]), 1))
weights.max(), len(idx)
---
beta = 1.0
---
tree = SumTree(4); batch = 2
---
draw = np.random.default_rng(5)

### fin-active-learning-pool-queries
pool = {i: X[i] for i in range(12)}
labelled = [0, 1]
oracle_calls, strategy, budget = [], "margin", 3
def oracle(i):
    oracle_calls.append(i)
    return int(labels[i])
known = {i: int(labels[i]) for i in labelled}
for i in labelled: pool.pop(i)
---
def fit(idx):
    w = jnp.zeros(4)
    xs, ts = X[idx], np.array([known[i] for i in idx], np.float32)
    for _ in range(3):
        w -= 0.5 * jax.grad(lambda w: optax.sigmoid_binary_cross_entropy(xs @ w, ts).mean() + 0.01 * w @ w)(w)
    return w
spent = 0
while pool and spent < budget:
    w = fit(sorted(known))
    cand = np.array(sorted(pool))
    margin = np.abs(np.asarray(X[cand] @ w))
    pick = int(cand[margin.argmin()] if strategy == "margin" else cand[0])
    del pool[pick]
    known[pick] = oracle(pick)
    spent += 1
acc = ((X @ w > 0) == labels).mean()
print(f"{len(known)} known, {len(pool)} left, last query {pick if spent else None}")
if not pool:
    print("pool is empty")
sorted(known)
---
strategy = "first"
---
budget = 20
---
pool = {i: X[i] for i in range(12, 16)}; budget = 2

### fin-boosted-stumps-with-jax-split-search
class Stump(NamedTuple):
    feature: int
    threshold: float
    left: float
    right: float
    def __call__(self, x): return jnp.where(x[:, self.feature] <= self.threshold, self.left, self.right)
n_rounds, shrink = 3, 0.5
stumps = []
---
residual = jnp.asarray(y) - sum((shrink * s(X) for s in stumps), jnp.zeros(len(X)))
@jax.jit
def split_errors(x, r):
    order = jnp.argsort(x, axis=0)
    sr = r[order]
    n = jnp.arange(1, len(r))[:, None]
    left = jnp.cumsum(sr, 0)[:-1]
    right = r.sum() - left
    return -(left ** 2 / n + right ** 2 / (len(r) - n)), jnp.take_along_axis(x, order, 0)
for _ in range(n_rounds):
    gain, xs = split_errors(jnp.asarray(X), residual)
    k, f = divmod(int(gain.argmin()), X.shape[1])
    t = float((xs[k, f] + xs[k + 1, f]) / 2)
    mask = X[:, f] <= t
    s = Stump(f, t, float(residual[mask].mean()), float(residual[~mask].mean()))
    stumps.append(s)
    residual = residual - shrink * s(X)
importance = collections.Counter(s.feature for s in stumps)
print(*(f"x{s.feature} <= {s.threshold:.2f}" for s in stumps), sep="; ")
importance.most_common(1)[0][0], residual.var()
---
shrink = 0.1
---
stumps = []; X = X[:12]; y = y[:12]
---
del stumps[1:]

### fin-neural-cellular-automaton-steps
grid = np.zeros((6, 6, 4), np.float32); grid[3, 3] = 1
goal = (np.hypot(*np.mgrid[-2.5:3, -2.5:3]) < 2).astype(np.float32)
ident = np.outer([0, 1, 0], [0, 1, 0]).astype(np.float32); dx = np.outer([1, 2, 1], [-1, 0, 1]).astype(np.float32) / 8
params = {"w": random.normal(random.key(0), (12, 4)) * 0.05, "b": jnp.zeros(4)}
n_iter, fire, epochs = (2, 4), 0.8, 2
---
def perceive(g):
    pads = jnp.pad(g, ((1, 1), (1, 1), (0, 0)))
    return jnp.concatenate([sum(k[i, j] * pads[i:i + 6, j:j + 6] for i in range(3) for j in range(3) if k[i, j]) for k in (ident, dx, dx.T)], -1)
def update(p, g, key):
    d = perceive(g) @ p["w"] + p["b"]
    return g + d * random.bernoulli(key, fire, (6, 6, 1))
def rollout(p, g, keys):
    return lax.scan(lambda g, k: (update(p, g, k), g[..., 0].sum()), g, keys)
losses, alive = [], []
for e in range(epochs):
    n = int(np.random.default_rng(e).integers(*n_iter))
    keys = random.split(random.key(e), n)
    def loss(p):
        g, trace = rollout(p, grid, keys)
        return jnp.mean((g[..., 3] - goal) ** 2), (g, trace)
    (l, (final, trace)), gr = jax.value_and_grad(loss, has_aux=True)(params)
    params = jax.tree.map(lambda a, b: a - 0.5 * b / (jnp.linalg.norm(b) + 1e-8), params, gr)
    losses.append(l); alive.append(trace)
print("\n".join("".join(" ░▒▓█"[min(4, int(4 * v))] for v in row) for row in goal))
[a.shape for a in alive], final.shape
---
fire = 1.0
---
n_iter = (3, 4); goal = goal.T * 0.5
---
grid[1, 1] = 0.5

### fin-conformal-and-temperature-scaling
logits_val = gen.normal(size=(15, 3)).astype(np.float32) * 3
y_val = gen.integers(0, 3, 15)
logits_test = gen.normal(size=(6, 3)).astype(np.float32) * 3
alpha, method = 0.2, "lac"
---
def nll(log_t):
    return optax.softmax_cross_entropy_with_integer_labels(logits_val / jnp.exp(log_t), y_val).mean()
log_t, it = jnp.zeros(()), 0
while abs(g := float(jax.grad(nll)(log_t))) > 1e-3 and it < 10:
    log_t = log_t - g / jnp.maximum(jax.grad(jax.grad(nll))(log_t), 0.1)
    it += 1
T = float(jnp.exp(log_t))
probs = jax.nn.softmax(logits_val / T)
if method == "lac":
    scores = 1 - probs[jnp.arange(len(y_val)), y_val]
else:
    order = jnp.argsort(-probs, axis=1)
    ranked = jnp.take_along_axis(probs, order, 1).cumsum(1)
    scores = ranked[jnp.arange(len(y_val)), (order == y_val[:, None]).argmax(1)]
level = min(1.0, math.ceil((len(scores) + 1) * (1 - alpha)) / len(scores))
qhat = jnp.quantile(scores, level, method="higher")
ptest = jax.nn.softmax(logits_test / T)
if method == "lac":
    sets = [np.flatnonzero(row).tolist() for row in np.asarray(1 - ptest <= qhat)]
else:
    sets = [np.flatnonzero(row).tolist() for row in np.asarray(ptest >= 1 - qhat)]
sizes = collections.Counter(map(len, sets))
print(f"T={T:.2f} level={level:.3f}", dict(sorted(sizes.items())))
---
method = "aps"
---
alpha = 0.05
---
logits_val = logits_val / 3; method = "lac"
""",
)
