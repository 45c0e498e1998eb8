"""Trees that differ, leaves that are none, and classes that are no trees or no good ones."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom dataclasses import dataclass\nfrom typing import NamedTuple\n"

CASES = written(
    "pytrees",
    r"""
### tree-map-lists-of-other-lengths raises=ValueError line=4
# https://github.com/jax-ml/jax/pull/23771
params = {"mlp": {"kernels": [jnp.ones(2), jnp.ones(2), jnp.ones(2)]}}
grads = {"mlp": {"kernels": [jnp.ones(2), jnp.ones(2)]}}
---
def sgd(params, grads, lr):
    def step(p, g):
        return p - lr * g
    return jax.tree.map(step, params, grads)

params = sgd(params, grads, 0.1)
---
def sgd(params, grads, lr):
    def step(p, g):
        return p - lr * g
    return {"mlp": {"kernels": [step(p, g) for p, g in zip(params["mlp"]["kernels"], grads["mlp"]["kernels"])]}}

params = sgd(params, grads, 0.1)
---
cause: 3|three; 2|two; kernels
names: grads; kernels
fix: same length|same structure|third|equal

### tree-map-dicts-with-other-keys raises=ValueError line=3
# https://github.com/jax-ml/jax/pull/19044
params = {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}
ema = {"kernel": jnp.ones((3, 2))}
---
@jax.jit
def update_ema(ema, params):
    return jax.tree.map(lambda e, p: 0.99 * e + 0.01 * p, ema, params)

ema = update_ema(ema, params)
---
@jax.jit
def update_ema(ema, params):
    return jax.tree.map(lambda e, p: 0.99 * e + 0.01 * p, ema, {"kernel": params["kernel"]})

ema = update_ema(ema, params)
---
cause: bias; key
names: ema; params
fix: bias|same keys|same structure

### tree-map-list-against-tuple raises=ValueError line=2
# https://github.com/google/trax/issues/1061
slots = [jnp.zeros(3), jnp.zeros(3)]
updates = (jnp.ones(3), jnp.ones(3))
---
scale = 0.5
slots = jax.tree.map(lambda s, u: s + scale * u, slots, updates)
---
scale = 0.5
slots = jax.tree.map(lambda s, u: s + scale * u, slots, list(updates))
---
cause: list; tuple
names: slots; updates
fix: list(|tuple(|same type

### tree-map-none-leaf-against-array raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/10366
params = {"kernel": jnp.ones(3), "bias": None}
grads = {"kernel": jnp.ones(3), "bias": jnp.ones(1)}
---
class Trainer:
    lr = 0.1
    def step(self, params, grads):
        return jax.tree.map(lambda p, g: p - self.lr * g, params, grads)

params = Trainer().step(params, grads)
---
class Trainer:
    lr = 0.1
    def step(self, params, grads):
        return jax.tree.map(lambda p, g: p - self.lr * g, params, dict(grads, bias=None))

params = Trainer().step(params, grads)
---
cause: None; bias
names: params; grads
fix: None|is_leaf|remove|zeros

### tree-map-array-against-subtree raises=ValueError line=4
# https://github.com/google-deepmind/optax/issues/291
params = {"layer": {"w": jnp.ones(3), "b": jnp.zeros(3)}}
x = jnp.ones(3)
---
def loss(x, params):
    return ((params["layer"]["w"] * x + params["layer"]["b"]) ** 2).sum()
grads = jax.grad(loss)(x, params)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
def loss(x, params):
    return ((params["layer"]["w"] * x + params["layer"]["b"]) ** 2).sum()
grads = jax.grad(loss, argnums=1)(x, params)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
cause: dict; array|leaf
names: params; grads
fix: argnums=1|argnums|by params|with respect to params

### tree-map-arguments-swapped raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.tree.map.html
params = {"w": jnp.ones(3)}
---
double = lambda p: 2 * p
doubled = jax.tree.map(params, double)
---
double = lambda p: 2 * p
doubled = jax.tree.map(double, params)
---
cause: dict; call|function
names: params; double
fix: double, params|order|swap|first

### named-tuple-against-tuple raises=ValueError line=7
# https://github.com/google/flax/issues/1566
---
class Moments(NamedTuple):
    mean: jax.Array
    var: jax.Array

state = Moments(jnp.zeros(2), jnp.ones(2))
fresh = (jnp.ones(2), jnp.ones(2))
state = jax.tree.map(lambda s, f: 0.9 * s + 0.1 * f, state, fresh)
---
class Moments(NamedTuple):
    mean: jax.Array
    var: jax.Array

state = Moments(jnp.zeros(2), jnp.ones(2))
fresh = Moments(jnp.ones(2), jnp.ones(2))
state = jax.tree.map(lambda s, f: 0.9 * s + 0.1 * f, state, fresh)
---
cause: Moments; tuple
names: state; fresh
fix: Moments(

### dict-of-mixed-keys raises=ValueError line=2
# https://github.com/jax-ml/jax/issues/15358
---
scores = {1: jnp.ones(2), "total": jnp.zeros(2)}
doubled = jax.tree.map(lambda s: s * 2, scores)
---
scores = {"1": jnp.ones(2), "total": jnp.zeros(2)}
doubled = jax.tree.map(lambda s: s * 2, scores)
---
cause: key|sort|compar|<
names: scores
fix: str|"1"|same type

### flat-mapping-against-dict raises=ValueError line=5 needs=flax
# https://github.com/google-deepmind/dm-haiku/issues/191
from flax.core import freeze
params = freeze({"w": jnp.ones(3)})
---
@jax.jit
def decay(params):
    plain = {"w": 0.01 * params["w"]}

    return jax.tree.map(lambda p, d: p - d, params, plain)

params = decay(params)
---
@jax.jit
def decay(params):
    plain = freeze({"w": 0.01 * params["w"]})

    return jax.tree.map(lambda p, d: p - d, params, plain)

params = decay(params)
---
cause: FrozenDict; dict
names: params; plain
fix: freeze|unfreeze|FrozenDict

### optimiser-state-of-other-params raises=ValueError line=8 needs=optax
# https://github.com/google/flax/issues/3955
import optax
encoder = {"w": jnp.ones((3, 2))}
decoder = {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}
---
optimizer = optax.adam(1e-3)
state = optimizer.init(encoder)

def loss(decoder):
    return (decoder["w"] ** 2).sum() + decoder["b"].sum()

grads = jax.grad(loss)(decoder)
updates, state = optimizer.update(grads, state)
---
optimizer = optax.adam(1e-3)
state = optimizer.init(decoder)

def loss(decoder):
    return (decoder["w"] ** 2).sum() + decoder["b"].sum()

grads = jax.grad(loss)(decoder)
updates, state = optimizer.update(grads, state)
---
cause: key|structure; b
names: grads; state
fix: init(decoder)|init|same params

### gradient-by-the-input-to-the-optimiser raises=TypeError line=6 needs=equinox,optax
# https://github.com/patrick-kidger/equinox/issues/458
import equinox as eqx
import optax
model = eqx.nn.Linear(2, 1, key=jax.random.key(0))
---
optim = optax.adam(0.1)
state = optim.init(model)
def loss(x):
    return jnp.mean(model(x))
grads = jax.grad(loss)(jnp.zeros(2))
updates, state = optim.update(grads, state)
---
optim = optax.adam(0.1)
state = optim.init(model)
def loss(model, x):
    return jnp.mean(model(x))
grads = jax.grad(loss)(model, jnp.zeros(2))
updates, state = optim.update(grads, state)
---
cause: Linear|structure; array|float
names: grads; model|state
fix: model|with respect to|first argument

### params-given-as-optimiser-state raises=AttributeError line=5 needs=optax
# https://github.com/google-deepmind/optax/issues/808
import optax
params = {"w": jnp.ones(3)}
---
optimizer = optax.scale_by_adam()
state = optimizer.init(params)
def train_step(params, state, grads):
    scaled = grads
    updates, state = optimizer.update(scaled, params)
    return optax.apply_updates(params, updates), state
params, state = train_step(params, state, params)
---
optimizer = optax.scale_by_adam()
state = optimizer.init(params)
def train_step(params, state, grads):
    scaled = grads
    updates, state = optimizer.update(scaled, state)
    return optax.apply_updates(params, updates), state
params, state = train_step(params, state, params)
---
cause: state; dict
names: params
fix: state|order

### equinox-model-given-to-jax-jit raises=TypeError line=7 needs=equinox
# https://docs.kidger.site/equinox/faq/
import equinox as eqx
x = jnp.ones(3)
---
model = eqx.nn.MLP(3, 1, 8, 2, key=jax.random.key(0))

@jax.jit
def forward(model, x):
    return model(x).sum()

out = forward(model, x)
---
model = eqx.nn.MLP(3, 1, 8, 2, key=jax.random.key(0))

@eqx.filter_jit
def forward(model, x):
    return model(x).sum()

out = forward(model, x)
---
cause: function|activation; valid JAX type|array|leaf|leaves
names: model; forward
fix: filter_jit

### register-dataclass-with-own-init raises=TypeError line=9
# https://github.com/jax-ml/jax/issues/25486
---
@jax.tree_util.register_dataclass
@dataclass
class Box:
    corner: jax.Array

    def __init__(self, *, centre):
        self.corner = centre - 0.5

grown = jax.tree.map(lambda c: c * 2, Box(centre=jnp.ones(2)))
---
@jax.tree_util.register_dataclass
@dataclass
class Box:
    corner: jax.Array

    @classmethod
    def around(cls, centre):
        return cls(centre - 0.5)

grown = jax.tree.map(lambda c: c * 2, Box.around(jnp.ones(2)))
---
cause: __init__|constructor; corner
names: Box; corner
fix: classmethod|__init__|without|corner=|register_pytree_node

### unflatten-checks-shapes raises=AttributeError line=5
# https://github.com/jax-ml/jax/issues/12319
---
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        self.corners = corners
        assert corners.shape[-1] == 4

    def tree_flatten(self):
        return (self.corners,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

axes = jax.tree.map(lambda leaf: 0, Boxes(jnp.ones((2, 4))))
---
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        self.corners = corners

    def tree_flatten(self):
        return (self.corners,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

axes = jax.tree.map(lambda leaf: 0, Boxes(jnp.ones((2, 4))))
---
cause: int|placeholder|no array|__init__|not an array; shape
names: Boxes; corners
fix: __init__|object.__new__|isinstance|check|without

### unflatten-broadcasts-in-init raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/3265
---
@jax.tree_util.register_pytree_node_class
class Normal:
    def __init__(self, loc, scale):
        self.loc, self.scale = jnp.broadcast_arrays(loc, scale)

    def tree_flatten(self):
        return (self.loc, self.scale), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

sizes = jax.tree.map(jnp.shape, Normal(jnp.ones(3), 1.0))
---
@jax.tree_util.register_pytree_node_class
class Normal:
    def __init__(self, loc, scale):
        self.loc, self.scale = loc, scale

    def tree_flatten(self):
        return (self.loc, self.scale), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

sizes = jax.tree.map(jnp.shape, Normal(jnp.ones(3), 1.0))
---
cause: tuple|placeholder|no array|__init__|not an array
names: Normal; loc
fix: __init__|object.__new__|check|without

### flatten-without-aux-data raises=ValueError line=6
# https://github.com/jax-ml/jax/issues/25760
---
class Scale:
    def __init__(self, factor, shift):
        self.factor, self.shift = factor, shift

def flatten(s):
    return s.factor, s.shift, "linear", None
jax.tree_util.register_pytree_node(Scale, flatten, lambda aux, children: Scale(*children))
doubled = jax.tree.map(lambda p: 2 * p, Scale(jnp.ones(2), jnp.zeros(2)))
---
class Scale:
    def __init__(self, factor, shift):
        self.factor, self.shift = factor, shift

def flatten(s):
    return (s.factor, s.shift), None
jax.tree_util.register_pytree_node(Scale, flatten, lambda aux, children: Scale(*children))
doubled = jax.tree.map(lambda p: 2 * p, Scale(jnp.ones(2), jnp.zeros(2)))
---
cause: pair|tuple|two; flatten
names: flatten|Scale
fix: (s.factor, s.shift), None|pair|children

### unflatten-with-swapped-arguments raises=TypeError line=11
# https://github.com/jax-ml/jax/issues/10366
---
@jax.tree_util.register_pytree_node_class
class Affine:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def tree_flatten(self):
        return (self.w, self.b), None

    @classmethod
    def tree_unflatten(cls, children, aux):
        return cls(*children)

scaled = jax.tree.map(lambda p: p * 0.5, Affine(jnp.ones(2), jnp.zeros(2)))
---
@jax.tree_util.register_pytree_node_class
class Affine:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def tree_flatten(self):
        return (self.w, self.b), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

scaled = jax.tree.map(lambda p: p * 0.5, Affine(jnp.ones(2), jnp.zeros(2)))
---
cause: None; aux|order|children
names: children; Affine
fix: aux, children|order|swap

### class-is-no-tree raises=TypeError line=8
# https://github.com/jax-ml/jax/issues/2749
---
@dataclass
class Params:
    w: jax.Array
    b: jax.Array

params = Params(jnp.ones(3), jnp.zeros(3))

halved = jax.tree.map(lambda p: p * 0.5, params)
---
@jax.tree_util.register_dataclass
@dataclass
class Params:
    w: jax.Array
    b: jax.Array

params = Params(jnp.ones(3), jnp.zeros(3))

halved = jax.tree.map(lambda p: p * 0.5, params)
---
cause: Params; leaf|pytree|register|tree
names: params; Params
fix: register

### unflatten-with-too-few-leaves raises=ValueError line=5
# https://docs.jax.dev/en/latest/pytrees.html
params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
---
def only_large(params):
    leaves, treedef = jax.tree.flatten(params)
    kept = [leaf for leaf in leaves if leaf.sum() > 0]
    clipped = [jnp.clip(leaf, 0, 1) for leaf in kept]
    return jax.tree.unflatten(treedef, clipped)

params = only_large(params)
---
def only_large(params):
    leaves, treedef = jax.tree.flatten(params)
    kept = [jnp.where(leaf.sum() > 0, leaf, 0) for leaf in leaves]
    clipped = [jnp.clip(leaf, 0, 1) for leaf in kept]
    return jax.tree.unflatten(treedef, clipped)

params = only_large(params)
---
cause: 1|few|one; 2|two
names: clipped; treedef
fix: leaves|2|same number|each leaf

### checkpoint-of-other-width raises=TypeError line=3
# https://github.com/google-research/reincarnating_rl/issues/5
params = {"head": {"kernel": jnp.ones((512, 6)), "bias": jnp.zeros(6)}}
saved = {"head": {"kernel": jnp.ones((512, 4)), "bias": jnp.zeros(4)}}
---
def distance(params, saved):
    def far(p, s):
        return ((p - s) ** 2).sum()
    return jax.tree.map(far, params, saved)

apart = distance(params, saved)
---
def distance(params, saved):
    def far(p, s):
        return (p**2).sum() - (s**2).sum()
    return jax.tree.map(far, params, saved)

apart = distance(params, saved)
---
cause: 6; 4
names: far; p; s
fix: same|head|shape|4|6

### checkpoint-without-a-parameter raises=ScopeParamNotFoundError line=2 needs=flax
# https://github.com/patil-suraj/stable-diffusion-jax/issues/12
import flax.linen as nn
model = nn.Dense(2)
x = jnp.ones(3)
---
saved = {"params": {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
out = model.apply(saved, x)
---
saved = {"params": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
out = model.apply(saved, x)
---
cause: kernel
names: kernel
fix: weight|kernel|rename

### stack-of-trees-of-other-shapes raises=ValueError line=3
# https://docs.jax.dev/en/latest/pytrees.html
members = [{"w": jnp.ones((3, 2))}, {"w": jnp.ones((3, 4))}]
---
def ensemble(members):
    stack = lambda *leaves: jnp.stack(leaves)
    return jax.tree.map(stack, *members)

stacked = ensemble(members)
---
def ensemble(members):
    stack = lambda *leaves: jnp.concatenate(leaves, axis=1)
    return jax.tree.map(stack, *members)

stacked = ensemble(members)
---
cause: (3, 2)|3,2; (3, 4)|3,4
names: leaves; members
fix: same shape|concatenate|equal

### frozen-state-is-assigned raises=FrozenInstanceError line=9
# https://github.com/patrick-kidger/equinox/issues/512
---
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    step: int
    total: jax.Array

@jax.jit
def advance(state):
    state.step = state.step + 1
    return state

state = advance(State(0, jnp.zeros(2)))
---
from dataclasses import replace
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    step: int
    total: jax.Array

@jax.jit
def advance(state):
    state = replace(state, step=state.step + 1)
    return state

state = advance(State(0, jnp.zeros(2)))
---
cause: frozen|immutable|assign
names: state; step
fix: replace|new

### register-dataclass-forgets-a-field raises=ValueError line=6
# https://github.com/patrick-kidger/jaxtyping/issues/277
---
@dataclass
class Data:
    values: jax.Array
    name: str

jax.tree_util.register_dataclass(Data, data_fields=["values"], meta_fields=[])
data = jax.tree.map(lambda v: v * 2, Data(jnp.ones(2), "train"))
---
@dataclass
class Data:
    values: jax.Array
    name: str

jax.tree_util.register_dataclass(Data, data_fields=["values"], meta_fields=["name"])
data = jax.tree.map(lambda v: v * 2, Data(jnp.ones(2), "train"))
---
cause: name; field
names: Data; name
fix: meta_fields=["name"]|meta_fields|data_fields
""",
    prelude=PRELUDE,
)
