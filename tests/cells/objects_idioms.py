"""Idioms of libraries that people write by hand: optimisers, layers, registries, caches (rules 4 to 6)."""

from ._objects import BOX
from .case import Case

CASES = [
    # Idioms of hand-written libraries
    Case(
        "obj-modules-that-register-parameters",
        setup="""\
from collections import OrderedDict
class Parameter:
    def __init__(self, data):
        self.data, self.grad = data, None
class Module:
    def __init__(self):
        object.__setattr__(self, 'params', OrderedDict())
        object.__setattr__(self, 'modules', OrderedDict())
    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self.params[name] = value
        elif isinstance(value, Module):
            self.modules[name] = value
        object.__setattr__(self, name, value)
    def parameters(self):
        yield from self.params.values()
        for module in self.modules.values():
            yield from module.parameters()
class Linear(Module):
    def __init__(self, w, b):
        super().__init__()
        self.w, self.b = Parameter(w), Parameter(b)
class Net(Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Linear(w, x), Linear(w * 0.5, x)
def loss(values, a):
    w1, b1, w2, b2 = values
    return jnp.mean((jnp.tanh(a @ w1 + b1) @ w2 + b2) ** 2)
net = Net()
params = list(net.parameters())""",
        cell="""\
value, grads = jax.value_and_grad(loss)([p.data for p in net.parameters()], x)
for p, g in zip(params, grads):
    p.grad = g
    p.data = p.data - 0.1 * p.grad""",
        change=("net.one.w.data = w", "net.two.b = Parameter(x)"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-backward-closures",
        setup="""\
class Value:
    def __init__(self, data, parents=()):
        self.data, self.grad, self.parents = data, 0.0, parents
        self.backward = lambda: None
    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))
        def backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
            for parent in out.parents:
                parent.backward()
        out.backward = backward
        return out
a, b = Value(x.sum()), Value(x.max())""",
        cell="""\
out = a * b
out.grad = 1.0
out.backward()
a.data = a.data - 0.1 * a.grad""",
        change=("a.grad = 0.0", "b = a"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-state-made-when-first-needed",
        setup="params = {'w': w, 'b': x}\nstate = {}",
        cell="""\
for k, p in params.items():
    if k not in state:
        state[k] = {'m': jnp.zeros_like(p), 't': 0}
    state[k]['t'] += 1
    state[k]['m'] = 0.9 * state[k]['m'] + p
    params[k] = p - 0.1 * state[k]['m'] / state[k]['t']""",
        change=("", "del state['b']"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-none-until-first-step",
        setup="""\
class Momentum:
    m = None
    def step(self, g):
        self.m = g if self.m is None else 0.9 * self.m + g
        return self.m
opt = Momentum()""",
        cell="d = opt.step(x * 2)",
        change=("opt.m = x", "opt.m = None"),
        reused=(True, None),
        reused2=False,
        rule=6,
    ),
    Case(
        "obj-hasattr-until-first-step",
        setup="""\
class Momentum:
    def step(self, g):
        if not hasattr(self, 'm'):
            self.m = jnp.zeros_like(g)
        self.m = 0.9 * self.m + g
opt = Momentum()""",
        cell="opt.step(x * 2)",
        change=("", "del opt.m"),
        reused=(True, None),
        reused2=False,
        rule=6,
    ),
    Case(
        "obj-ring-buffer",
        setup="""\
class Ring:
    def __init__(self, n):
        self.rows, self.i = [None] * n, 0
    def add(self, row):
        self.rows[self.i % len(self.rows)] = row
        self.i += 1
ring = Ring(3)""",
        cell="""\
ring.add(x)
ring.add(x + 1)
total = sum(row for row in ring.rows if row is not None)""",
        change=("", "ring.i = 0"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-environment",
        setup="""\
class Env:
    def __init__(self):
        self.reset()
    def reset(self):
        self.state, self.t = x, 0
        return self.state
    def step(self, action):
        self.state = self.state * 0.9 + action
        self.t += 1
        return self.state, -(self.state ** 2).sum(), self.t >= 3
env = Env()""",
        cell="""\
state, reward, done = env.step(jnp.float32(0.5))
if done:
    state = env.reset()""",
        change=("", "", "env.t = 0"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-cache-filled-in-cell",
        setup="""\
class Powers:
    def __init__(self):
        self.cache = {}
    def get(self, k):
        if k not in self.cache:
            self.cache[k] = x ** k
        return self.cache[k]
powers = Powers()""",
        cell="""\
y = powers.get(2) + powers.get(3)
same = powers.get(2) is powers.get(2)""",
        change=("x = x + 1", "powers.cache.clear()"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-callbacks",
        setup="""\
class Loop:
    def __init__(self, *callbacks):
        self.callbacks, self.n, self.log = callbacks, 0, {}
    def run(self, a):
        self.n += 1
        for callback in self.callbacks:
            callback(self, a)
loop = Loop(
    lambda loop, a: loop.log.setdefault('sum', []).append(a.sum()),
    lambda loop, a: setattr(loop, 'last', a * loop.n),
)""",
        cell="loop.run(x)",
        change=("", "loop.log.clear()"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-operators-of-own-class",
        setup="""\
class V:
    def __init__(self, v):
        self.v = v
    def __add__(self, other):
        return V(self.v + other.v)
    def __iadd__(self, other):
        self.v = self.v + other.v
        return self
    def __rmul__(self, k):
        return V(k * self.v)
class Holder:
    pass
a, b, h = V(x), V(x * 2), Holder()
h.a = kept = a""",
        cell="""\
c = a + b
h.a += b
d = 0.5 * a
same = h.a is kept""",
        change=("a.v = x", "b = a"),
        reused=None,
        rule=5,
    ),
    Case(
        "obj-numbered-instances",
        setup="""\
class Node:
    count = 0
    def __init__(self, v):
        Node.count += 1
        self.id, self.v = Node.count, v""",
        cell="""\
a = Node(x)
b = Node(x * a.id)
n = Node.count""",
        change="Node.count = 0",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-append-to-class-attribute",
        setup="class A:\n    log = []\nclass B(A):\n    pass\na, b = A(), B()",
        cell="""\
a.log.append(x.sum())
b.log += [x.max()]
n, own = len(A.log), 'log' in vars(b)""",
        change="del b.log",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-proxy",
        setup="""\
class Proxy:
    def __init__(self, target):
        object.__setattr__(self, 'target', target)
    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, 'target'), name)
    def __setattr__(self, name, value):
        setattr(object.__getattribute__(self, 'target'), name, value)
"""
        + BOX
        + "box = Box(x)\nproxy = Proxy(box)",
        cell="""\
y = proxy.v * 2
proxy.v = y""",
        change="box.v = x + 3",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-shared-weights-by-id",
        setup="params = [x, x, x + 1]",
        cell="""\
unique = list({id(p): p for p in params}.values())
n = len(unique)
total = sum(unique)""",
        change=("params = [x, x + 1, x + 2]", "params[1] = x"),
        reused=None,
        reused2=None,
        may_refuse=True,
        rule=5,
    ),
    Case(
        "obj-set-frozen-attribute",
        setup="""\
import dataclasses
@dataclasses.dataclass(frozen=True)
class F:
    v: object
f = F(x)""",
        cell="object.__setattr__(f, 'v', f.v * 0.5)",
        change="object.__setattr__(f, 'v', x)",
        reused=None,
        reused2=None,
        rule=6,
    ),
]
