"""Frames of pandas beside JAX: columns in, results back, groups, files."""

from ..cell import written

PRELUDE = """
import io, jax, jax.numpy as jnp, numpy as np, pandas as pd
df = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [2.1, 3.9, 6.2, 7.8], "g": list("abab")})
"""

CELLS = written(
    PRELUDE,
    r"""
### pd-column-to-jnp
---
x = jnp.asarray(df["x"].to_numpy())
slope = jnp.sum(x * jnp.asarray(df["y"].values)) / jnp.sum(x**2)
slope
---
df.loc[0, "y"] = 100.0

### pd-result-column
---
df["pred"] = np.asarray(jnp.asarray(df["x"].to_numpy()) * 2 + 1)
mse = jnp.mean((jnp.asarray(df["pred"].to_numpy()) - jnp.asarray(df["y"].to_numpy())) ** 2)
df.columns.tolist(), mse
---
df = df.iloc[:2].copy()

### pd-jax-array-as-column
---
z = jnp.asarray(df["x"].values) ** 2
df["z"] = z
df["z"].dtype, z
---
df["x"] = df["x"] + 1

### pd-standardise
---
num = df[["x", "y"]]
norm = (num - num.mean()) / num.std()
X = jnp.asarray(norm.to_numpy(), jnp.float32)
X.sum(axis=0), norm.shape
---
df["x"] *= 1000

### pd-groupby-mean
---
means = df.groupby("g")["y"].mean()
v = jnp.asarray(means.to_numpy()) * 2
list(means.index), v
---
df["g"] = list("aabb")

### pd-groupby-loop
---
out = {}
for name, part in df.groupby("g"):
    out[name] = jnp.mean(jnp.asarray(part["y"].to_numpy()))
out
---
df = pd.concat([df, df])

### pd-get-dummies
---
d = pd.get_dummies(df["g"], dtype=float)
w = jnp.ones(d.shape[1])
y = jnp.asarray(d.to_numpy()) @ w
list(d.columns), y
---
df["g"] = list("abca")

### pd-history-frame
rows = []
w = jnp.array([1.0, -1.0])
---
w = w * 0.9
rows.append({"step": len(rows), "norm": float(jnp.linalg.norm(w))})
hist = pd.DataFrame(rows)
hist.shape

### pd-append-row
log = pd.DataFrame(columns=["step", "loss"])
w = jnp.float32(2)
---
w = w * 0.5
log.loc[len(log)] = [len(log), float(w)]
len(log)

### pd-read-csv-string
text = "a,b\n1,2\n3,4\n"
---
t = pd.read_csv(io.StringIO(text))
m = jnp.asarray(t.to_numpy()).sum(axis=0)
t.dtypes.astype(str).tolist(), m
---
text = "a,b\n1,2\n3,4\n5,6\n"

### pd-read-csv-file
df.to_csv("d.csv", index=False)
---
t = pd.read_csv("d.csv")
m = jnp.asarray(t[["x", "y"]].to_numpy()).mean(axis=0)
m
---
(df[["x", "y", "g"]].assign(x=9.0)).to_csv("d.csv", index=False)

### pd-to-csv
w = jnp.arange(3.0)
---
out = pd.DataFrame({"w": np.asarray(w * 2)})
out.to_csv("w.csv", index=False)
total = w.sum()
---
w = w + 1

### pd-describe-print
---
print(df[["x", "y"]].describe().loc["mean"].to_dict())
r = jnp.corrcoef(jnp.asarray(df["x"].to_numpy()), jnp.asarray(df["y"].to_numpy()))[0, 1]
r
---
df["y"] = -df["y"]

### pd-apply-jax
---
s = df["x"].apply(lambda v: float(jnp.sin(v)))
total = jnp.asarray(s.to_numpy()).sum()
s.dtype, total
---
df["x"] = 0.0

### pd-mask-rows
thr = 2.5
---
sub = df[df["x"] > thr]
y = jnp.asarray(sub["y"].to_numpy()) - thr
len(sub), y
---
thr = 1.5

### pd-itertuples
---
acc = jnp.float32(0)
for row in df.itertuples():
    acc = acc + row.x * row.y
acc
---
df = df.head(3)

### pd-series-arith
s = pd.Series([1.0, 2.0], index=["a", "b"])
---
t = s * 2
y = jnp.asarray(t.values) + 1
t["a"], y
---
s["a"] = 50.0

### pd-merge
other = pd.DataFrame({"g": ["a", "b"], "k": [10.0, 20.0]})
---
m = df.merge(other, on="g")
y = jnp.asarray((m["x"] * m["k"]).to_numpy())
y.sum()
---
other.loc[0, "k"] = 0.0

### pd-datetime-index
ts = pd.date_range("2024-01-01", periods=4, freq="D")
---
days = (ts - ts[0]).days.to_numpy()
y = jnp.asarray(days) * 2.0
y
---
ts = pd.date_range("2024-01-01", periods=6, freq="2D")

### pd-inplace-changes
---
df.drop(columns="g", inplace=True, errors="ignore")
df["x"] = df["x"] + 1
y = jnp.asarray(df.to_numpy()).sum()
y

### pd-categorical
c = pd.Categorical(["lo", "hi", "lo"], categories=["lo", "hi"], ordered=True)
---
codes = jnp.asarray(c.codes)
oh = jax.nn.one_hot(codes, len(c.categories))
oh
---
c = pd.Categorical(["hi", "hi", "lo"], categories=["lo", "hi"])

### pd-pivot-to-matrix
long = pd.DataFrame({"u": [0, 0, 1], "i": [0, 1, 1], "r": [5.0, 3.0, 4.0]})
---
M = jnp.asarray(long.pivot(index="u", columns="i", values="r").fillna(0).to_numpy())
u, s, v = jnp.linalg.svd(M)
s
---
long.loc[0, "r"] = 1.0

### pd-regression-loop
w, b = jnp.float32(0), jnp.float32(0)
---
X = jnp.asarray(df["x"].to_numpy(), jnp.float32)
Y = jnp.asarray(df["y"].to_numpy(), jnp.float32)
losses = []
for _ in range(3):
    e = w * X + b - Y
    w, b = w - 0.02 * jnp.mean(e * X), b - 0.02 * jnp.mean(e)
    losses.append(float(jnp.mean(e**2)))
pd.Series(losses).is_monotonic_decreasing
---
df["y"] = df["y"] + 5

### pd-value-counts-static
---
n = df["g"].nunique()
k = jnp.zeros(n).at[jnp.asarray(df["g"].factorize()[0])].add(1.0)
k
---
df["g"] = list("abcd")
""",
    needs=("pandas",),
)
