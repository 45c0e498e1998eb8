"""scikit-learn beside JAX: data sets, splits, scalers, metrics, estimators."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np
from sklearn import datasets
X, Y = datasets.load_iris(return_X_y=True)
X, Y = X[::10], Y[::10]
"""

CELLS = written(
    PRELUDE,
    r"""
### sk-dataset-to-jnp
---
x = jnp.asarray(X, jnp.float32)
centred = x - x.mean(axis=0)
cov = centred.T @ centred / len(x)
cov.shape
---
X = X * 2

### sk-load-in-cell
---
data = datasets.load_iris()
x = jnp.asarray(data.data[:5])
x.sum(), list(data.target_names)

### sk-train-test-split
from sklearn.model_selection import train_test_split
---
a, b, c, d = train_test_split(X, Y, test_size=0.4, random_state=0)
m = jnp.asarray(a).mean()
a.shape, a.dtype, m
---
X = X + 1

### sk-split-unseeded
from sklearn.model_selection import train_test_split
---
a, b = train_test_split(X)
m = jnp.asarray(b).sum()
b.shape
---
np.random.seed(5)

### sk-standard-scaler
from sklearn.preprocessing import StandardScaler
---
scaler = StandardScaler()
Z = scaler.fit_transform(X)
z = jnp.asarray(Z, jnp.float32)
z.std(axis=0), type(Z)
---
X = X * 7

### sk-scaler-kept
from sklearn.preprocessing import StandardScaler
scaler = StandardScaler().fit(X)
x = jnp.ones((2, 4))
---
z = jnp.asarray(scaler.transform(np.asarray(x)))
z.sum()
---
scaler.mean_ = scaler.mean_ + 1
---
x = x * 3

### sk-pca-against-svd
from sklearn.decomposition import PCA
---
p = PCA(2).fit(X)
u, s, vt = jnp.linalg.svd(jnp.asarray(X - X.mean(0), jnp.float32), full_matrices=False)
ok = jnp.allclose(jnp.abs(vt[:2]), jnp.abs(jnp.asarray(p.components_)), atol=1e-3)
bool(ok)
---
X = X[:, ::-1] + 0

### sk-accuracy-of-jax-model
from sklearn.metrics import accuracy_score, confusion_matrix
W = jnp.ones((4, 3)) * jnp.array([0.1, 0.2, -0.1])
---
pred = jnp.argmax(jnp.asarray(X, jnp.float32) @ W, axis=1)
acc = accuracy_score(Y, pred)
cm = confusion_matrix(Y, np.asarray(pred))
type(acc), cm.dtype
---
W = -W

### sk-logreg-then-jax
from sklearn.linear_model import LogisticRegression
---
clf = LogisticRegression(max_iter=50).fit(X, Y)
W = jnp.asarray(clf.coef_)
logits = jnp.asarray(X) @ W.T + jnp.asarray(clf.intercept_)
logits.argmax(1)[:4]
---
Y = Y[::-1].copy()

### sk-softmax-training
W = jnp.zeros((4, 3))
def loss_fn(W, x, y):
    return -jax.nn.log_softmax(x @ W)[jnp.arange(len(y)), y].mean()
---
x, y = jnp.asarray(X, jnp.float32), jnp.asarray(Y)
for i in range(3):
    loss, g = jax.value_and_grad(loss_fn)(W, x, y)
    W = W - 0.1 * g
    print(i, f"{loss:.3f}")
acc = (jnp.argmax(x @ W, 1) == y).mean()
acc
---
X = X - 3

### sk-make-moons
from sklearn.datasets import make_moons
---
x, y = make_moons(10, noise=0.1, random_state=0)
xj = jnp.asarray(x)
d = jnp.linalg.norm(xj[:, None] - xj[None], axis=-1)
d.max(), x.dtype

### sk-kfold-loop
from sklearn.model_selection import KFold
kf = KFold(3)
---
scores = []
for tr, te in kf.split(X):
    w = jnp.linalg.lstsq(jnp.asarray(X[tr]), jnp.asarray(Y[tr], jnp.float32))[0]
    scores.append(float(jnp.mean((jnp.asarray(X[te]) @ w - Y[te]) ** 2)))
len(scores), np.round(np.mean(scores), 2)
---
kf = KFold(2)

### sk-one-hot-encoder
from sklearn.preprocessing import OneHotEncoder
enc = OneHotEncoder(sparse_output=False)
---
oh = enc.fit_transform(Y[:, None])
p = jnp.asarray(oh).mean(axis=0)
oh.dtype, p
---
Y = np.zeros_like(Y)

### sk-kmeans-init
from sklearn.cluster import KMeans
---
km = KMeans(2, n_init=1, random_state=0).fit(X)
c = jnp.asarray(km.cluster_centers_)
lab = jnp.argmin(((jnp.asarray(X)[:, None] - c) ** 2).sum(-1), axis=1)
lab.shape
---
X = X + np.arange(4)

### sk-pipeline-kept
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.linear_model import Ridge
pipe = make_pipeline(MinMaxScaler(), Ridge()).fit(X, Y)
---
pred = pipe.predict(X)
r = jnp.asarray(Y) - jnp.asarray(pred)
sse = jnp.sum(r**2)
type(pred), sse
---
pipe.fit(X, -Y)

### sk-bunch-bound
bunch = datasets.load_wine()
---
x = jnp.asarray(bunch.data[:6, :2])
names = bunch["target_names"]
mx = x.max(axis=0)
len(names), mx
---
bunch["data"] = bunch["data"] * 2

### sk-batch-generator
def batches(X, Y, n):
    for i in range(0, len(X), n):
        yield X[i:i + n], Y[i:i + n]
w = jnp.zeros(4)
---
seen = 0
for xb, yb in batches(X, Y, 5):
    w = w + 0.01 * (yb[:, None] * xb).sum(axis=0)
    seen += len(xb)
seen, w, xb.dtype
---
X = X[:10]; Y = Y[:10]
""",
    needs=("sklearn",),
)
