"""Arguments that are static and must not be, or are not and must be."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom functools import partial\n"

CASES = written(
    "static",
    r"""
### static-list raises=ValueError line=5
# https://github.com/genjax-community/genjax/issues/1179
x = jnp.ones(6)
---
@partial(jax.jit, static_argnums=1)
def reshape_to(x, shape):
    return x.reshape(shape) * 2

y = reshape_to(x, [2, 3])
---
@partial(jax.jit, static_argnums=1)
def reshape_to(x, shape):
    return x.reshape(shape) * 2

y = reshape_to(x, (2, 3))
---
cause: hash; list
names: shape; reshape_to
fix: (2, 3)|tuple

### static-array raises=ValueError line=7
# https://github.com/jax-ml/jax/issues/883
x = jnp.ones((10, 10))
knots = jnp.array([1, 2, 3])
---
@partial(jax.jit, static_argnames="knots")
def spline(x, knots):
    return sum(jax.nn.relu(x - k) for k in knots)

def evaluate(x):
    h = x + 1
    return spline(h, knots=knots)

y = evaluate(x)
---
@jax.jit
def spline(x, knots):
    return sum(jax.nn.relu(x - k) for k in knots)

def evaluate(x):
    h = x + 1
    return spline(h, knots=knots)

y = evaluate(x)
---
cause: hash; array
names: knots; spline
fix: static|tuple|without

### static-number-made-by-jnp raises=ValueError line=3
# https://github.com/jax-ml/jax/issues/6233
---
symmetric = jax.jit(lambda n: jnp.arange(-n, n), static_argnums=0)
count = jnp.add(4, 1)
grid = symmetric(count)
---
symmetric = jax.jit(lambda n: jnp.arange(-n, n), static_argnums=0)
count = jnp.add(4, 1)
grid = symmetric(int(count))
---
cause: hash; array
names: count
fix: int(

### static-dataclass-not-frozen raises=ValueError line=9
# https://github.com/jax-ml/jax/issues/3701
from dataclasses import dataclass
data = jnp.ones(4)
---
@dataclass
class Config:
    width: int

@partial(jax.jit, static_argnums=1)
def model(data, config):
    return jnp.tile(data, config.width)

out = model(data, Config(3))
---
@dataclass(frozen=True)
class Config:
    width: int

@partial(jax.jit, static_argnums=1)
def model(data, config):
    return jnp.tile(data, config.width)

out = model(data, Config(3))
---
cause: hash; Config
names: config; model
fix: frozen|__hash__

### static-dict-of-options raises=ValueError line=5
# https://github.com/alonfnt/pcax/issues/3
x = jnp.ones((5, 3))
---
@partial(jax.jit, static_argnames=("options",))
def normalize(x, options):
    return x / jnp.linalg.norm(x, axis=options["axis"], keepdims=True)

y = normalize(x, options={"axis": 1})
---
@partial(jax.jit, static_argnames=("axis",))
def normalize(x, axis):
    return x / jnp.linalg.norm(x, axis=axis, keepdims=True)

y = normalize(x, axis=1)
---
cause: hash; dict
names: options; normalize
fix: axis|tuple|frozen|hashable

### static-component-count-is-traced raises=ValueError line=8
# https://github.com/alonfnt/pcax/issues/3
x = jnp.ones((6, 4))
---
@partial(jax.jit, static_argnames="n_components")
def fit(x, n_components):
    u, s, vt = jnp.linalg.svd(x, full_matrices=False)
    return vt[:n_components]

@jax.jit
def pipeline(x, n_components):
    components = fit(x, n_components=n_components)
    return x @ components.T

scores = pipeline(x, 2)
---
@partial(jax.jit, static_argnames="n_components")
def fit(x, n_components):
    u, s, vt = jnp.linalg.svd(x, full_matrices=False)
    return vt[:n_components]

@partial(jax.jit, static_argnames="n_components")
def pipeline(x, n_components):
    components = fit(x, n_components=n_components)
    return x @ components.T

scores = pipeline(x, 2)
---
cause: traced|tracer|hash
names: n_components; pipeline
fix: static_argnames|static

### string-argument raises=TypeError line=6
# https://github.com/jax-ml/jax/issues/3045
x = jnp.ones((4, 2))
---
@jax.jit
def pool(x, mode):
    reduce = {"max": jnp.max, "mean": jnp.mean}[mode]
    return reduce(x, axis=0)

y = pool(x, "max")
---
@partial(jax.jit, static_argnames="mode")
def pool(x, mode):
    reduce = {"max": jnp.max, "mean": jnp.mean}[mode]
    return reduce(x, axis=0)

y = pool(x, "max")
---
cause: str|text|string
names: mode; pool
fix: static

### batch-with-file-names raises=TypeError line=6
# https://github.com/google/flax/issues/1492
batch = {"image": jnp.ones((2, 8)), "id": ["test_1", "test_2"]}
params = jnp.ones(8)
---
@jax.jit
def eval_step(params, batch):
    logits = batch["image"] @ params
    return logits.mean()

metric = eval_step(params, batch)
---
@jax.jit
def eval_step(params, batch):
    logits = batch["image"] @ params
    return logits.mean()

metric = eval_step(params, {"image": batch["image"]})
---
cause: str|text|string; id
names: batch; eval_step
fix: without|remove|del |drop|only|batch["image"]

### jitted-method-without-static-self raises=TypeError line=10
# https://github.com/jax-ml/jax/issues/5595
x = jnp.ones(3)
---
class Model:
    def __init__(self):
        self.w = jnp.ones((3, 3))

    @jax.jit
    def apply(self, x):
        return self.w @ x

model = Model()
y = model.apply(x)
---
class Model:
    def __init__(self):
        self.w = jnp.ones((3, 3))

    @partial(jax.jit, static_argnums=0)
    def apply(self, x):
        return self.w @ x

model = Model()
y = model.apply(x)
---
cause: self; Model
names: apply; Model
fix: static|register|pytree

### function-argument-not-static raises=TypeError line=5
# https://github.com/jax-ml/jax/issues/4416
x = jnp.ones(4)
---
@jax.jit
def layer(x, activation):
    return activation(2 * x)

y = layer(x, jnp.tanh)
---
@partial(jax.jit, static_argnums=1)
def layer(x, activation):
    return activation(2 * x)

y = layer(x, jnp.tanh)
---
cause: function|callable|ufunc
names: activation; layer
fix: static

### optimizer-of-functions-not-static raises=TypeError line=6
# https://github.com/jax-ml/jax/issues/953
import optax
params = jnp.ones(3)
---
@jax.jit
def init_state(optimizer, params):
    state = optimizer.init(params)
    return state

state = init_state(optax.adam(1e-3), params)
---
@partial(jax.jit, static_argnums=0)
def init_state(optimizer, params):
    state = optimizer.init(params)
    return state

state = init_state(optax.adam(1e-3), params)
---
cause: function
names: optimizer; init_state
fix: static|close|closure|outside|partial

### loader-object-passed-to-jit raises=TypeError line=10
# https://github.com/BirkhoffG/jax-dataloader/issues/2
X = jnp.ones((10, 3))
---
class Loader:
    def __init__(self, data):
        self.data = data

@jax.jit
def first_mean(loader):
    return loader.data[0].mean()

loader = Loader(X)
m = first_mean(loader)
---
class Loader:
    def __init__(self, data):
        self.data = data

@jax.jit
def first_mean(data):
    return data[0].mean()

loader = Loader(X)
m = first_mean(loader.data)
---
cause: Loader; type
names: loader; first_mean
fix: loader.data|static|register|pytree|NamedTuple

### object-in-vmapped-arguments raises=TypeError line=8
# https://github.com/jax-ml/jax/issues/15115
xs = jnp.ones((5, 2))
---
class Opt:
    lr = 0.1

class Trainer:
    def step(self, opt, x):
        return x - opt.lr * x
    def run(self, opt, xs):
        return jax.jit(self.step)(opt, xs)

out = Trainer().run(Opt(), xs)
---
class Opt:
    lr = 0.1

class Trainer:
    def step(self, opt, x):
        return x - opt.lr * x
    def run(self, opt, xs):
        return jax.jit(self.step, static_argnums=0)(opt, xs)

out = Trainer().run(Opt(), xs)
---
cause: Opt
names: opt; step
fix: static|register|pytree|NamedTuple

### jitted-classmethod-without-cls raises=TypeError line=8
# https://github.com/jax-ml/jax/issues/15727
---
class Filters:
    size = 3
    @classmethod
    @jax.jit
    def box(cls, scale):
        return jnp.ones(cls.size) * scale

kernel = Filters.box(0.5)
---
class Filters:
    size = 3
    @classmethod
    @partial(jax.jit, static_argnums=0)
    def box(cls, scale):
        return jnp.ones(cls.size) * scale

kernel = Filters.box(0.5)
---
cause: class|type|cls
names: box; Filters
fix: static

### static-argnames-misspelt raises=ValueError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.jit.html
x = jnp.ones((2, 2))
---
@partial(jax.jit, static_argnames=("axes",))
def total(x, axis):
    return x.sum(axis)

y = total(x, axis=0)
---
@partial(jax.jit, static_argnames=("axis",))
def total(x, axis):
    return x.sum(axis)

y = total(x, axis=0)
---
cause: axes; argument|parameter|name
names: total; axes
fix: axis

### static-argnums-out-of-range raises=ValueError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.jit.html
x = jnp.ones((4, 4))
---
@partial(jax.jit, static_argnums=2)
def shrink(x, factor):
    return x[::factor, ::factor]

y = shrink(x, 2)
---
@partial(jax.jit, static_argnums=1)
def shrink(x, factor):
    return x[::factor, ::factor]

y = shrink(x, 2)
---
cause: 2; argument|parameter
names: shrink
fix: static_argnums=1|argnums|1

### axis-is-traced raises=ConcretizationTypeError line=3
# https://github.com/jax-ml/jax/pull/12334
x = jnp.ones((4, 1))
---
@jax.jit
def drop_axis(x, axis):
    return jnp.squeeze(x, axis)

y = drop_axis(x, axis=jnp.array(1))
---
def drop_axis(x, axis):
    return jnp.squeeze(x, axis)

y = drop_axis(x, axis=1)
---
cause: axis; static|concrete|traced
names: axis; drop_axis
fix: static

### donated-then-used raises=RuntimeError line=7
# https://github.com/jax-ml/jax/issues/9675
params = jnp.ones(3)
---
@partial(jax.jit, donate_argnums=0)
def update(params):
    return params * 0.9

new = update(params)
ratio = 2.0
change = new - params
---
@jax.jit
def update(params):
    return params * 0.9

new = update(params)
ratio = 2.0
change = new - params
---
cause: donate|deleted
names: params; update
fix: donate|copy|without

### donated-state-updated-twice raises=ValueError line=7
# https://github.com/talmolab/track-mjx/issues/192
state = {"x": jnp.ones(4)}
---
step = jax.jit(lambda s: {"x": s["x"] + 1}, donate_argnums=0)

def train(state):
    history = []
    for _ in range(3):
        new = step(state)
        history.append(new["x"].sum() + state["x"].sum())
    return history

h = train(state)
---
step = jax.jit(lambda s: {"x": s["x"] + 1}, donate_argnums=0)

def train(state):
    history = []
    for _ in range(3):
        state = step(state)
        history.append(state["x"].sum())
    return history

h = train(state)
---
cause: donate|deleted
names: state; step
fix: state = step|donate|copy|reassign

### same-buffer-donated-twice raises=JaxRuntimeError line=3
# https://github.com/jax-ml/jax/issues/9635
x = jnp.zeros(10)
---
def add(x, y):
    return x + y
z = jax.jit(add, donate_argnums=(0, 1))(x, x)
---
def add(x, y):
    return x + y
z = jax.jit(add)(x, x)
---
cause: donate|same buffer|twice
names: x; add
fix: copy|donate

### static-field-holds-array raises=ValueError line=8
# https://github.com/jax-ml/jax/issues/7826
from dataclasses import dataclass, field
import numpy as np
---
@jax.tree_util.register_dataclass
@dataclass
class Basis:
    weights: jax.Array
    grid: np.ndarray = field(metadata=dict(static=True))

evaluate = jax.jit(lambda b: b.weights.sum() * b.grid.mean())
pair = [evaluate(Basis(jnp.ones(3), np.ones(10))) for _ in range(2)]
---
@jax.tree_util.register_dataclass
@dataclass
class Basis:
    weights: jax.Array
    grid: np.ndarray

evaluate = jax.jit(lambda b: b.weights.sum() * b.grid.mean())
pair = [evaluate(Basis(jnp.ones(3), np.ones(10))) for _ in range(2)]
---
cause: static; hash|equal|compare|truth|ambiguous
names: grid|Basis
fix: static|data|without|pytree

### jit-of-a-number raises=TypeError line=1
# https://github.com/jax-ml/jax/issues/7702
x = jnp.ones(2)
---
scale = jax.jit(2.0)
y = scale(x)
---
scale = jax.jit(lambda x: 2.0 * x)
y = scale(x)
---
cause: callable|function
names: scale
fix: lambda|function|def
""",
    prelude=PRELUDE,
)
