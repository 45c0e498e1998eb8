"""Cells that raise after they changed modules, functions, frames, references and containers."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, functools, collections
x = jnp.arange(4.0)
bad = True
"""

CELLS = written(
    PRELUDE,
    r"""
### fail-module-attribute
import types as _t, sys
mod = _t.ModuleType("settings"); mod.rate = 1.0
---
mod.rate = 5.0
mod.fresh = x * 2
if bad:
    raise ValueError("no")
y = x * mod.rate
---
bad = False

### fail-function-defaults
def f(v, k=2.0, *, m=1.0):
    return v * k * m
---
f.__defaults__ = (7.0,)
f.__kwdefaults__ = {"m": 3.0}
y = f(x)
if bad:
    raise ValueError("no")
---
bad = False

### fail-function-attribute
def g(v):
    g.calls = getattr(g, "calls", 0) + 1
    return v * 2
---
y = g(x)
g.last = y
if bad:
    raise ValueError("no")
---
bad = False

### fail-class-attribute
class C:
    total = jnp.float32(0)
    items = []
---
C.total = C.total + x.sum()
C.items.append(1)
C.extra = "e"
if bad:
    raise ValueError("no")
y = C.total
---
bad = False

### fail-pandas-frame needs=pandas
import pandas as pd
df = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
---
df["c"] = np.asarray(x[:2]) * 2
df.loc[0, "a"] = 100.0
if bad:
    raise ValueError("no")
y = jnp.asarray(df["c"].to_numpy())
---
bad = False

### fail-pandas-inplace needs=pandas
import pandas as pd
df = pd.DataFrame({"a": [3.0, 1.0, 2.0]})
s = df["a"]
---
df.sort_values("a", inplace=True)
df.rename(columns={"a": "z"}, inplace=True)
y = jnp.asarray(df.iloc[:, 0].to_numpy())
if bad:
    raise ValueError("no")
---
bad = False

### fail-numpy-inplace
buf = np.zeros(4)
view = buf[1:3]
---
buf += 1
view[:] = 9
y = jnp.asarray(buf) + x
if bad:
    raise ValueError("no")
---
bad = False

### fail-ref
ref = jax.new_ref(jnp.zeros(4))
---
ref[...] = ref[...] + x
y = ref[...] * 2
if bad:
    raise ValueError("no")
---
bad = False

### fail-nested-containers
tree = {"a": [x, {"b": (x, [1, 2])}], "s": {1}}
---
tree["a"][1]["b"][1].append(3)
tree["a"].insert(0, x * 2)
tree["s"].add(2)
tree["new"] = {}
if bad:
    raise ValueError("no")
---
bad = False

### fail-deque-and-default
dq = collections.deque([1, 2], maxlen=3)
dd = collections.defaultdict(list)
---
dq.append(3); dq.appendleft(0)
dd["k"].append(x)
if bad:
    raise ValueError("no")
y = x * len(dq)
---
bad = False

### fail-sorted-list
names = ["b", "a", "c"]
---
names.sort()
names.reverse()
y = x * len(names)
if bad:
    raise ValueError("no")
---
bad = False

### fail-del-name
tmp = x * 3
---
y = tmp + 1
del tmp
if bad:
    raise ValueError("no")
---
bad = False

### fail-rebind-then-raise
w = jnp.ones(4)
---
w = w * 2
print("halfway", float(w[0]))
w = w + undefined_thing
---
undefined_thing = 1.0

### fail-class-made
---
class Fresh:
    v = x * 2
inst = Fresh()
if bad:
    raise ValueError("no")
inst.v
---
bad = False

### fail-closure-cell
def make():
    n = x
    def add(v):
        nonlocal n
        n = n + v
        return n
    return add
add = make()
---
y = add(x)
if bad:
    raise ValueError("no")
y
---
bad = False

### fail-generator-advanced
def gen():
    for i in range(10):
        yield i
it = iter([1, 2, 3, 4])
---
y = x * 2
if bad:
    raise ValueError("no")
k = next(it)
---
bad = False

### fail-debug-nans
jax.config.update("jax_debug_nans", True)
---
y = jnp.log(x - 1.0)
z = y * 2
---
x = x + 5

### fail-custom-exception
class Diverged(Exception):
    def __init__(self, step, value):
        super().__init__(f"diverged at {step}")
        self.step = step
best = {"w": x}
---
w = best["w"]
for i in range(3):
    w = w * 10
    if i == 1 and bad:
        raise Diverged(i, w)
best["w"] = w
---
bad = False

### fail-assert-values
---
y = jnp.sqrt(x)
assert not bad or jnp.all(y > 0), f"zero in {y.shape}"
z = 1 / (y + 1)
---
bad = False

### fail-type-error-in-grad
w = jnp.arange(4)
---
g = jax.grad(lambda w: jnp.sum(w * 2))(w)
g
---
w = jnp.arange(4.0)

### fail-index-static
lst = [x, x * 2]
k = 5
---
y = lst[k] + 1
y
---
k = 1

### fail-unpack
pair = (x, x, x)
---
a, b = pair
---
pair = (x, x * 2)

### fail-stop-iteration
it = iter([])
---
y = x + 1
v = next(it)
---
it = iter([2.0, 3.0])

### fail-keyboard-like
class Stop(KeyError): pass
def maybe(v):
    if bad:
        raise Stop("stop")
    return v
---
y = maybe(x)
y
---
bad = False
""",
)
