"""Small cells to which larger ones of many people came down: recorded warnings, profilers, hooks, mocks, tracebacks."""

from ..cell import written

PRELUDE = """
import cProfile, contextlib, io, logging, pstats, sys, traceback, warnings
from unittest import mock
import numpy as np
import jax
import jax.numpy as jnp
x = jnp.array([1.0, 2.0, 3.0])
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-warning-of-a-helper-that-then-branches-is-recorded-once
def scaled(v):
    warnings.warn("scaled is deprecated", DeprecationWarning)
    if float(v.sum()) > 3:
        v = v / v.sum()
    return v * 2
---
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = scaled(x)
texts = [str(w.message) for w in caught]
print(texts)
assert len(texts) == 1
y
---
x = x / 10
---
x = x * 100

### sn-numpy-warning-recorded-around-a-helper-that-branches
table = np.array([0.0, 1.0])
def f(v):
    logs = np.log(table)
    if float(jnp.sum(v)) > 2:
        v = v + jnp.float32(logs[1])
    return v
---
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = f(x)
print(len(caught), {w.category.__name__ for w in caught})
y
---
table = table + 1
---
x = -x

### sn-warning-of-a-truncated-dtype-counted-before-a-branch
---
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = x.astype("float64")
    z = jnp.arange(3, dtype="int64") + y
    if z.sum() > 2:
        z = z * 2
print(len(caught), y.dtype, {w.category.__name__ for w in caught})
z
---
x = x * 0

### sn-own-showwarning-collects-what-a-loop-warns
got = []
def check(v):
    warnings.warn("checked", UserWarning)
    return bool((v > 2).any())
---
got.clear()
with warnings.catch_warnings():
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, *rest, **more: got.append(str(message))
    y = x
    for _ in range(3):
        if check(y):
            y = y - 1
print(got)
y
---
x = x + 2

### sn-matrix-free-cg-of-a-global-matrix-changed-between-runs needs=lineax tolerance=2e-3
import lineax as lx
A, b = jnp.array([[3.0, 1.0], [1.0, 2.0]]), jnp.array([1.0, 0.0])
like = jax.ShapeDtypeStruct((2,), jnp.float32)
---
op = lx.FunctionLinearOperator(lambda v: A @ v, like, lx.positive_semidefinite_tag)
sol = lx.linear_solve(op, b, lx.CG(rtol=1e-6, atol=1e-6)).value
resid = jnp.abs(A @ sol - b).max()
print("solved" if resid < 1e-3 else "NOT solved")
sol
---
A = A + jnp.eye(2)
---
b = jnp.array([0.0, 2.0])

### sn-matrix-free-gmres-with-a-shift-that-is-a-global-float needs=lineax tolerance=2e-3
import lineax as lx
M, rhs, shift = jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.array([1.0, 1.0]), 0.5
---
matvec = lambda v: M @ v + shift * v
sol = lx.linear_solve(lx.FunctionLinearOperator(matvec, jax.ShapeDtypeStruct(rhs.shape, rhs.dtype)), rhs, lx.GMRES(1e-6, 1e-6)).value
jnp.allclose(matvec(sol), rhs, atol=1e-3), sol
---
shift = 2.0
---
M = M.T

### sn-cprofile-counts-the-calls-of-a-helper
def f(v): return jnp.sin(v)
---
profile = cProfile.Profile()
profile.enable()
y = f(f(x))
profile.disable()
stats = pstats.Stats(profile, stream=io.StringIO())
calls = sum(counts[0] for where, counts in stats.stats.items() if where[2] == "f")
del profile, stats
print(calls)
y
---
x = x + 1

### sn-settrace-collects-the-lines-of-a-helper
def f(v):
    a = v * 2
    return a + 1
---
events = []
def tracer(frame, event, arg):
    if frame.f_code.co_name == "f":
        events.append(event)
        return tracer
sys.settrace(tracer)
y = f(x)
sys.settrace(None)
print(events)
y
---
x = x + 1

### sn-displayhook-swapped-for-a-list
shown = []
---
shown.clear()
old, sys.displayhook = sys.displayhook, shown.append
sys.displayhook(x.shape)
sys.displayhook = old
y = x * 2
print(shown)
del old
y
---
x = x[:2]

### sn-an-attribute-of-an-object-is-a-magic-mock
class Trainer:
    def step(self, v): self.logger.log(v.shape); return v * 2
t = Trainer()
t.logger = mock.MagicMock()
---
t.logger.reset_mock()
y = t.step(x)
z = t.step(y) + x
print(t.logger.log.call_count, t.logger.log.call_args.args)
z
---
x = x[:2]

### sn-patch-object-on-an-instance-with-a-return-value
class Sampler:
    def draw(self, n): return jnp.ones(n)
s, canned = Sampler(), jnp.arange(3.0)
---
with mock.patch.object(s, "draw", return_value=canned) as fake:
    a = s.draw(3) + x
n = fake.call_count
del fake
b = s.draw(3) * x
print(n, "draw" in vars(s))
a, b
---
canned = canned * 2

### sn-lines-of-an-own-error-of-a-helper
def f(v):
    k = v * 2
    if k.sum() > limit:
        raise ValueError("too big")
    return k
limit = 3
---
where = y = None
try:
    y = f(x)
except ValueError as error:
    where = [(each.name, each.lineno) for each in traceback.extract_tb(error.__traceback__)]
print(where)
y
---
limit = 1000

### sn-locals-of-the-frame-that-failed
def reshaped(v, n):
    scale = n * 2
    out = v.reshape(n, -1)
    return out * scale
n = 2
---
held = y = None
try:
    y = reshaped(x, n)
except TypeError as error:
    tb = error.__traceback__
    while tb.tb_frame.f_code.co_name != "reshaped":
        tb = tb.tb_next
    held = sorted(tb.tb_frame.f_locals)
    del tb
print(held)
y
---
n = 3

### sn-columns-of-a-frame-handed-straight-to-fit needs=pandas
import pandas as pd
df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0], "t": [1, 0, 1]})
def fit(X, y, steps=5, lr=0.1):
    w = jnp.zeros(X.shape[1])
    for _ in range(steps):
        w = w - lr * jax.grad(lambda w: jnp.mean((X @ w - y) ** 2))(w)
    return w
---
w = fit(jnp.asarray(df[["a", "b"]].to_numpy(np.float32)), jnp.asarray(df.t.values))
df["pred"] = np.asarray(jnp.asarray(df[["a", "b"]].to_numpy(np.float32)) @ w)
print(df.columns.tolist(), df.pred.round(1).tolist())
w
---
df["a"] *= 2

### sn-failing-solver-caught-by-the-class-of-its-error needs=optimistix,equinox
import equinox as eqx, optimistix as optx
gain = 3.0
---
try:
    sol = optx.fixed_point(lambda y, g: y * g + 1, optx.FixedPointIteration(1e-4, 1e-4), jnp.array(0.5), gain, max_steps=8)
    got = sol.value
except eqx.EquinoxRuntimeError as error:
    got = None
    print("diverged")
got
---
gain = 0.1

### sn-linked-list-of-three-hundred-nodes-walked
class Node:
    def __init__(self, value, next): self.value, self.next = value, next
head = None
for i in range(300):
    head = Node(x * i, head)
---
total, node = jnp.zeros_like(x), head
while node is not None:
    total, node = total + node.value, node.next
total
---
head = Node(x, head)

### sn-warning-of-a-property-that-branches-is-recorded-once
class Model:
    limit = 3.0
    @property
    def weight(self):
        warnings.warn("weight is old, use w", FutureWarning)
        return x if float(x.sum()) < self.limit else x / x.sum()
model = Model()
---
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = model.weight + 1
print(len(caught), caught[0].category.__name__)
y
---
Model.limit = 100.0
""",
)
