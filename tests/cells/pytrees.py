"""Every container that jax accepts, and those that only hold leaves."""

from .case import Case

DATA = """\
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class S:
    a: object
    b: object
    n: int = dataclasses.field(default=2, metadata={'static': True})
s = S(x, w)"""

NODE = """\
@jax.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, a, b, tag):
        self.a, self.b, self.tag = a, b, tag
    def tree_flatten(self):
        return (self.a, self.b), self.tag
    @classmethod
    def tree_unflatten(cls, tag, kids):
        return cls(*kids, tag)
    def __repr__(self):
        return f'Pair({self.a}, {self.b}, {self.tag})'
p = Pair(x, w, 'tag')"""

WRAP = """\
class Wrapped:
    def __init__(self, v):
        self.v = v
    def __jax_array__(self):
        return self.v
v = Wrapped(x + 1)"""

LINEN = """\
import flax.linen as nn
class Net(nn.Module):
    size: int = 4
    @nn.compact
    def __call__(self, a):
        return nn.Dense(1)(nn.tanh(nn.Dense(self.size)(a)))
net = Net()
variables = net.init(jax.random.key(0), x)"""

EQX = """\
import equinox as eqx
linear = eqx.nn.Linear(3, 2, key=jax.random.key(0))
mlp = eqx.nn.MLP(3, 1, 4, 1, key=jax.random.key(1))"""

OPTAX = """\
import optax
params = {'b': x * 1, 'w': w * 1}
opt = optax.adam(1e-2)
state = opt.init(params)"""

CASES = [
    Case(
        "dict",
        setup="p = {'b': w, 'a': x}",
        cell="y = p['a'] * 2 + p['b'] @ p['a']",
        change="p['a'] = x * 5",
        rule=4,
    ),
    Case(
        "dict-order-is-kept",
        setup="p = {'z': x, 'a': w, 'm': x * 2}",
        cell="""\
q = {k: v + 1 for k, v in p.items()}
r = jax.tree.map(lambda v: v, p)""",
    ),
    Case(
        "dict-new-key",
        setup="p = {'a': x}",
        cell="y = sum(v.sum() for v in p.values())",
        change="p['b'] = w",
        reused=False,
        reason="p",
        rule=4,
    ),
    Case(
        "dict-key-removed",
        setup="p = {'a': x, 'b': w}",
        cell="""\
y = sum(v.sum() for v in p.values())
q = 1""",
        change="del p['b']",
        reused=False,
        reason="p",
        rule=4,
    ),
    Case(
        "dict-merge",
        setup="p = {'b': w, 'a': x}",
        cell="""\
q = {**p, 'c': x * 3}
r = p | {'a': None}""",
        rule=5,
    ),
    Case(
        "dict-with-int-and-tuple-keys",
        setup="p = {0: x, (1, 'a'): w}",
        cell="q = {k: v * 2 for k, v in p.items()}",
    ),
    Case(
        "dict-get-and-setdefault",
        setup="p = {'a': x}",
        cell="""\
y = p.get('a', 0) + p.get('zz', 0)
q = dict(p)
q.setdefault('n', x)""",
        rule=5,
    ),
    Case(
        "nested",
        setup="p = {'layers': [{'w': w, 'b': x}, {'w': w * 2, 'b': None}], 'n': (x,)}",
        cell="""\
q = jax.tree.map(lambda v: v * 2, p)
y = q['layers'][0]['w']""",
    ),
    Case(
        "nested-change-deep",
        setup="p = {'l': [x, (x * 2, 'k')]}",
        cell="y = p['l'][1][0] + 1",
        change="p['l'][1] = (x * 9, 'k')",
        rule=4,
    ),
    Case(
        "list-and-tuple",
        setup="""\
l = [x, w]
t = (x, 3, 'a')""",
        cell="""\
a = [v * 2 for v in l]
b = tuple(l) + t
c = l + [x]
d = t[::-1]""",
        rule=5,
    ),
    Case(
        "static-leaves-mixed",
        setup="p = {'v': x, 'k': 2, 'name': 'n', 'none': None, 'flag': True}",
        cell="q = {**p, 'v': p['v'] * p['k']}",
        change="p['v'] = x + 9",
        rule=4,
    ),
    Case(
        "static-leaf-changes",
        setup="p = {'v': x, 'flag': True}",
        cell="q = p['v'] * 2 if p['flag'] else p['v']",
        change="p['flag'] = False",
        reused=False,
        reason="flag",
        rule=4,
    ),
    Case(
        "none-leaves",
        setup="p = {'a': x, 'b': None}",
        cell="""\
q = jax.tree.map(lambda v: v + 1, p)
r = [None, p['b']]""",
    ),
    Case(
        "empty-containers",
        cell="""\
q = jax.tree.map(lambda v: v + 1, ({}, [], (), None, x))
e = {}, [], ()""",
    ),
    Case(
        "named-tuple",
        setup="""\
from collections import namedtuple
P = namedtuple('P', 'a b')
p = P(x, w)""",
        cell="""\
q = p._replace(a=p.a * 2)
a, b = q
q.b""",
        rule=5,
    ),
    Case(
        "typed-named-tuple-method",
        setup="""\
from typing import NamedTuple
class P(NamedTuple):
    a: object
    def scaled(self, k):
        return P(self.a * k)
p = P(x)""",
        cell="q = p.scaled(2)",
    ),
    Case(
        "ordered-dict",
        setup="""\
import collections
p = collections.OrderedDict(z=x, a=w)""",
        cell="""\
from collections import OrderedDict
q = OrderedDict((k, v * 2) for k, v in p.items())
q.move_to_end('z')""",
    ),
    Case(
        "default-dict",
        setup="""\
import collections
p = collections.defaultdict(list, a=x)""",
        cell="""\
y = p['a'] * 2
q = jax.tree.map(lambda v: v + 1, p)""",
    ),
    Case(
        "default-dict-made",
        cell="""\
import collections
p = collections.defaultdict(float)
p['a'] = p['a'] + x
p['b'] += 1""",
    ),
    Case(
        "deque",
        setup="""\
import collections
d = collections.deque([x, x + 1], maxlen=4)""",
        cell="""\
y = sum(d)
e = type(d)([v * 2 for v in d], maxlen=3)""",
        change="d[0] = x * 4",
        rule=4,
    ),
    Case(
        "set-of-statics",
        setup="t = {2}",
        cell="""\
s = {1, 'a'} | t
y = x * len(s)""",
    ),
    Case(
        "registered-dataclass",
        setup=DATA,
        cell="""\
t = jax.tree.map(lambda v: v * 2, s)
y = s.a * s.n
u = dataclasses.replace(s, a=y)""",
        change="s.a = x * 7",
        rule=4,
    ),
    Case(
        "registered-dataclass-static-field",
        setup=DATA,
        cell="""\
y = s.a * s.n
q = 1""",
        change="s.n = 3",
        reused=None,
        rule=4,
    ),
    Case(
        "registered-node",
        setup=NODE,
        cell="""\
q = jax.tree.map(lambda v: v + 1, p)
y = p.a * 2
q""",
        change="p = Pair(x * 8, w, 'tag')",
    ),
    Case(
        "registered-node-aux-changes",
        setup=NODE,
        cell="""\
y = p.a * 2 if p.tag == 'tag' else p.a
q = 1""",
        change="p = Pair(x, w, 'other')",
        reused=False,
        reason="p",
        rule=4,
    ),
    Case(
        "registered-node-made",
        setup=NODE,
        cell="""\
q = Pair(p.a + 1, [p.b, 3], 'new')
leaves = jax.tree.leaves(q)""",
        rule=5,
    ),
    Case(
        "jax-array-protocol",
        setup=WRAP,
        cell="""\
y = jnp.asarray(v) * 2
z = jnp.array(v)""",
        change="v.v = x + 2",
        rule=4,
    ),
    Case(
        "jax-array-protocol-kept",
        setup=WRAP,
        cell="""\
u = v
y = jnp.asarray(v) * 2""",
        rule=5,
    ),
    Case(
        "linen-apply",
        setup=LINEN,
        cell="""\
y = net.apply(variables, x)
y.shape""",
        change="variables = net.init(jax.random.key(5), x)",
    ),
    Case(
        "linen-init",
        setup=LINEN,
        cell="""\
v2 = net.init(jax.random.key(1), x)
n = sum(v.size for v in jax.tree.leaves(v2))""",
    ),
    Case(
        "linen-grad",
        setup=LINEN,
        cell="""\
def loss(v):
    return (net.apply(v, x) ** 2).sum()
l, g = jax.value_and_grad(loss)(variables)""",
        probes=("loss(variables)",),
    ),
    Case(
        "linen-module-defined-in-cell",
        cell="""\
import flax.linen as nn
class M(nn.Module):
    @nn.compact
    def __call__(self, a):
        return nn.Dense(2)(a)
m = M()
v = m.init(jax.random.key(0), x)
y = m.apply(v, x)""",
        reused2=None,
        probes=("m.apply(v, x)",),
    ),
    Case(
        "linen-static-field-changes",
        setup=LINEN,
        cell="""\
v2 = net.init(jax.random.key(1), x)
q = 1""",
        change="net = Net(size=5)",
        reused=False,
        reason="net",
        rule=4,
    ),
    Case(
        "linen-batch-stats",
        setup="""\
import flax.linen as nn
bn = nn.BatchNorm(use_running_average=False)
v = bn.init(jax.random.key(0), w)""",
        cell="y, new = bn.apply(v, w, mutable=['batch_stats'])",
    ),
    Case(
        "linen-dropout",
        setup="""\
import flax.linen as nn
k = jax.random.key(3)""",
        cell="y = nn.Dropout(0.5, deterministic=False).apply({}, w, rngs={'dropout': k})",
        change="k = jax.random.key(4)",
    ),
    Case(
        "frozen-dict",
        setup="""\
import flax
f = flax.core.freeze({'a': x, 'c': {'d': w}})""",
        cell="""\
y = f['a'] * 2
g = f.copy({'b': x})
h = jax.tree.map(lambda v: v + 1, f)""",
    ),
    Case(
        "flax-struct",
        setup="""\
import flax.struct
@flax.struct.dataclass
class S:
    a: object
    n: int = flax.struct.field(pytree_node=False, default=3)
s = S(x)""",
        cell="""\
t = s.replace(a=s.a * 2)
u = jax.tree.map(lambda v: v + 1, s)""",
        change="s = s.replace(a=x * 3)",
    ),
    Case(
        "flax-train-state",
        setup="""\
import optax
from flax.training.train_state import TrainState
ts = TrainState.create(apply_fn=None, params={'b': x}, tx=optax.sgd(0.1))""",
        cell="""\
grads = jax.grad(lambda p: (p['b'] ** 2).sum())(ts.params)
ts = ts.apply_gradients(grads=grads)
ts.step""",
        reused2=None,
        tolerance=0.0001,
    ),
    Case(
        "equinox-call",
        setup=EQX,
        cell="""\
y = linear(x)
z = mlp(x)""",
        change="linear = jax.tree.map(lambda v: v * 2, linear)",
    ),
    Case(
        "equinox-grad-and-update",
        setup=EQX,
        cell="""\
@eqx.filter_value_and_grad
def loss(m, a):
    return (m(a) ** 2).sum()
l, g = loss(linear, x)
linear = eqx.apply_updates(linear, jax.tree.map(lambda v: -0.1 * v, g))""",
        tolerance=0.0001,
    ),
    Case("equinox-filter-jit", setup=EQX, cell="y = eqx.filter_jit(lambda m, a: m(a))(mlp, x)"),
    Case(
        "equinox-partition",
        setup=EQX,
        cell="""\
arrays, static = eqx.partition(mlp, eqx.is_array)
back = eqx.combine(arrays, static)
y = back(x)""",
        loose_identity=(
            "arrays",
            "static",
            "back",
        ),
    ),
    Case(
        "equinox-tree-at",
        setup=EQX,
        cell="""\
m2 = eqx.tree_at(lambda m: m.bias, linear, jnp.zeros(2))
y = m2(x)""",
    ),
    Case(
        "equinox-module-defined-in-cell",
        cell="""\
import equinox as eqx
class M(eqx.Module):
    k: jax.Array
    n: int = eqx.field(static=True, default=2)
    def __call__(self, a):
        return a * self.k * self.n
m = M(x + 1)
y = m(x)""",
        reused2=None,
        probes=("m(1.0)",),
    ),
    Case(
        "equinox-static-field-changes",
        setup="""\
import equinox as eqx
class M(eqx.Module):
    k: jax.Array
    n: int = eqx.field(static=True)
    def __call__(self, a):
        return a[: self.n] * self.k
m = M(jnp.float32(2), 2)""",
        cell="y = m(x)",
        change=(
            "m = M(jnp.float32(3), 2)",
            "m = M(jnp.float32(3), 1)",
        ),
        reused=(
            True,
            False,
        ),
        reason="m",
        rule=4,
    ),
    Case(
        "optax-sgd-step",
        setup="""\
import optax
opt = optax.sgd(0.1)
state = opt.init(x)""",
        cell="""\
grads = jax.grad(lambda p: (p**2).sum())(x)
updates, state = opt.update(grads, state)
x = optax.apply_updates(x, updates)""",
    ),
    Case(
        "optax-adam-step",
        setup=OPTAX,
        cell="""\
def loss(p):
    return ((p['w'] @ x + p['b']) ** 2).mean()
l, grads = jax.value_and_grad(loss)(params)
updates, state = opt.update(grads, state, params)
params = optax.apply_updates(params, updates)
l""",
        change="x = x * 1.5",
        tolerance=0.001,
        probes=("loss(params)",),
    ),
    Case(
        "optax-init-and-chain",
        setup=OPTAX,
        cell="""\
opt2 = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=0.1))
state2 = opt2.init(params)
up, state2 = opt2.update(params, state2, params)""",
        tolerance=0.0001,
        reused2=None,
    ),
    Case(
        "optax-schedule",
        setup="""\
import optax
schedule = optax.cosine_decay_schedule(0.1, 10)""",
        cell="lrs = jnp.stack([schedule(i) for i in range(3)])",
        reused2=None,
    ),
    Case(
        "optax-masked-and-multi",
        setup="""\
import optax
params = {'a': x, 'b': w}
opt = optax.multi_transform({'s': optax.sgd(1.0), 'z': optax.set_to_zero()}, {'a': 's', 'b': 'z'})""",
        cell="""\
state = opt.init(params)
up, state = opt.update(params, state, params)""",
    ),
    Case(
        "training-loop-unrolled",
        cell="""\
for _ in range(3):
    g = jax.grad(lambda p: ((p @ x) ** 2).sum())(w)
    w = w - 0.01 * g
w""",
        tolerance=0.0001,
    ),
    Case(
        "training-with-history",
        cell="""\
history = []
for i in range(3):
    l, g = jax.value_and_grad(lambda p: ((p @ x) ** 2).sum())(w)
    w = w - 0.01 * g
    history.append(l)
history = jnp.stack(history)""",
        tolerance=0.0001,
    ),
    Case(
        "tree-util",
        setup="p = {'a': [x, w], 'b': (x,)}",
        cell="""\
leaves, treedef = jax.tree.flatten(p)
q = jax.tree.unflatten(treedef, [v * 2 for v in leaves])
n = treedef.num_leaves
paths = [jax.tree_util.keystr(k) for k, _ in jax.tree_util.tree_leaves_with_path(p)]""",
        rule=5,
    ),
    Case(
        "tree-reduce-and-all",
        setup="p = [x, w]",
        cell="""\
total = jax.tree.reduce(lambda a, b: a + b.sum(), p, 0.0)
same = jax.tree.structure(p) == jax.tree.structure([w, x])""",
    ),
    Case(
        "ravel-pytree",
        setup="""\
import jax.flatten_util
p = {'a': x, 'b': w}""",
        cell="""\
flat, unravel = jax.flatten_util.ravel_pytree(p)
back = unravel(flat * 2)""",
        reused2=None,
    ),
    Case(
        "partial-pytree",
        cell="""\
f = jax.tree_util.Partial(jnp.multiply, x)
y = f(2.0)""",
        probes=("f(3.0)",),
    ),
    Case(
        "mixed-numpy-and-jax",
        setup="p = {'a': x, 'b': np.ones(3)}",
        cell="q = {'s': p['a'] + p['b'], 'k': p['b']}",
        rule=2,
    ),
    Case(
        "mapping-proxy-and-simple-namespace",
        setup="""\
import types
ns = types.SimpleNamespace(a=x, sub=types.SimpleNamespace(b=w))""",
        cell="""\
y = ns.a * 2
z = ns.sub.b""",
        rule=5,
    ),
    Case(
        "cyclic-container",
        setup="""\
l = [x]
l.append(l)""",
        cell="y = l[0] * 2",
        rule=4,
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "dict-subclass",
        setup="""\
class Cfg(dict):
    def __getattr__(self, k):
        return self[k]
cfg = Cfg(a=x, n=2)""",
        cell="""\
y = cfg.a * 2
z = cfg['a'] + 1""",
        rule=4,
    ),
    Case(
        "list-subclass",
        setup="""\
class L(list):
    def double(self):
        return L(v * 2 for v in self)
l = L([x, x + 1])""",
        cell="""\
y = sum(l)
m = l.double()""",
        rule=4,
    ),
    Case(
        "big-list-of-arrays",
        setup="arrays = [x * i for i in range(40)]",
        cell="""\
s = sum(arrays)
y = [a * 2 for a in arrays]""",
        change="arrays[7] = x * 99",
        rule=4,
    ),
    Case(
        "bcoo",
        setup="""\
from jax.experimental import sparse
m = sparse.BCOO.fromdense(w)""",
        cell="""\
y = m @ x
d = m.todense()""",
        reused2=None,
    ),
]
