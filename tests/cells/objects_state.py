"""Objects read and changed by their methods: attributes, slots, properties, dataclasses (rules 4 and 6)."""

from ._objects import BOX, LAYER, TRAINER
from .case import Case

CASES = [
    # Reading
    Case(
        "obj-call-reads-attributes",
        setup=LAYER + "layer = Layer(w, jnp.zeros(3))",
        cell="y = layer(x)",
        change=("layer.b = layer.b + 0.5", "layer.w = layer.w * 0.5"),
        rule=4,
    ),
    Case(
        "obj-nested-objects-read",
        setup=LAYER
        + """\
class Net:
    def __init__(self):
        self.layers = [Layer(w, x), Layer(w * 0.5, -x)]
        self.out = {'scale': jnp.float32(2.0)}
    def forward(self, a):
        for layer in self.layers:
            a = layer(a)
        return a * self.out['scale']
net = Net()""",
        cell="y = net.forward(x)",
        change=("net.layers[1].b = net.layers[1].b + 1", "net.out['scale'] = jnp.float32(0.5)"),
        rule=4,
    ),
    Case(
        "obj-nested-layer-added",
        setup=LAYER + "net = [Layer(w, x)]",
        cell="""\
a = x
for layer in net:
    a = layer(a)""",
        change="net.append(Layer(w * 0.25, x))",
        reused=False,
        rule=4,
    ),
    Case(
        "obj-static-attribute-decides",
        setup=BOX + "box = Box(x)\nbox.mode = 'sin'",
        cell="y = jnp.sin(box.v) if box.mode == 'sin' else jnp.cos(box.v)",
        change="box.mode = 'cos'",
        reused=False,
        rule=4,
    ),
    Case(
        "obj-class-attribute-is-shared",
        setup="""\
class A:
    scale = jnp.float32(2.0)
    def f(self, a):
        return a * self.scale
a, b = A(), A()""",
        cell="y = a.f(x) + b.f(x + 1)",
        change="A.scale = jnp.float32(3.0)",
        rule=4,
    ),
    Case(
        "obj-instance-shadows-class-attribute",
        setup="""\
class A:
    scale = jnp.float32(2.0)
a, b = A(), A()""",
        cell="y = a.scale * x + b.scale",
        change=("a.scale = jnp.float32(5.0)", "A.scale = jnp.float32(1.0)", "del a.scale"),
        reused=(None, None, None),
        rule=4,
    ),
    Case(
        "obj-base-class-attribute",
        setup="""\
class Base:
    offset = x * 0.5
class Sub(Base):
    def f(self, a):
        return a + self.offset
s = Sub()""",
        cell="y = s.f(x)",
        change="Base.offset = Base.offset * 2",
        rule=4,
    ),
    Case(
        "obj-super-chain",
        setup=LAYER
        + """\
class Residual(Layer):
    def __init__(self, w, b, k):
        super().__init__(w, b)
        self.k = k
    def __call__(self, a):
        return a + self.k * super().__call__(a)
layer = Residual(w, x, jnp.float32(0.5))""",
        cell="y = layer(x)",
        change="layer.k = jnp.float32(0.25)",
        rule=4,
    ),
    Case(
        "obj-property-read",
        setup="""\
class P:
    def __init__(self, v):
        self._v = v
    @property
    def doubled(self):
        return self._v * 2
p = P(x)""",
        cell="y = p.doubled + p.doubled",
        change="p._v = p._v + 1",
        rule=4,
    ),
    Case(
        "obj-cached-property",
        setup="""\
import functools
class P:
    def __init__(self, v):
        self.v = v
    @functools.cached_property
    def norm(self):
        return jnp.sqrt((self.v ** 2).sum())
p = P(x)""",
        cell="y = x / p.norm",
        change="p.v = p.v * 2",
        reused=None,
        reused2=None,
        rule=4,
    ),
    Case(
        "obj-slots-read",
        setup="""\
class S:
    __slots__ = ('a', 'b')
s = S()
s.a, s.b = x, w""",
        cell="y = s.b @ s.a",
        change="s.a = s.a + 1",
        rule=4,
    ),
    Case(
        "obj-slots-and-dict",
        setup="""\
class S:
    __slots__ = ('a',)
class T(S):
    pass
t = T()
t.a, t.b = x, x * 2""",
        cell="t.a, t.b = t.b * 0.5, t.a * 0.5",
        change="t.b = t.b + 1",
        rule=6,
    ),
    Case(
        "obj-getattr-hook",
        setup="""\
class Bag:
    def __init__(self, **items):
        self.__dict__['items'] = items
    def __getattr__(self, name):
        try:
            return self.__dict__['items'][name]
        except KeyError:
            raise AttributeError(name)
    def __setattr__(self, name, value):
        self.items[name] = value
bag = Bag(w=w, b=x)""",
        cell="""\
bag.b = bag.w @ bag.b * 0.25
has = hasattr(bag, 'c')""",
        change="bag.b = bag.b + 1",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-container-protocol",
        setup="""\
class Params:
    def __init__(self, items):
        self.items = items
    def __getitem__(self, i):
        return self.items[i]
    def __setitem__(self, i, v):
        self.items[i] = v
    def __len__(self):
        return len(self.items)
    def __iter__(self):
        return iter(self.items)
params = Params([x, x + 1, x * 2])""",
        cell="""\
for i in range(len(params)):
    params[i] = params[i] * 0.5
total = sum(params)""",
        change="params[1] = x * 3",
        rule=6,
    ),
    Case(
        "obj-eq-and-hash-as-key",
        setup="""\
class Key:
    def __init__(self, n):
        self.n = n
    def __eq__(self, other):
        return isinstance(other, Key) and self.n == other.n
    def __hash__(self):
        return hash(self.n)
d = {Key(1): x, Key(2): x + 1}""",
        cell="""\
y = d[Key(2)] * 2
known = Key(3) in d""",
        change="d[Key(2)] = x - 1",
        reused=None,
        reused2=None,
        may_refuse=True,
        rule=4,
    ),
    Case(
        "obj-bool-and-len",
        setup="""\
class Buffer:
    def __init__(self):
        self.rows = [x]
    def __bool__(self):
        return len(self.rows) > 1
buf = Buffer()""",
        cell="y = sum(buf.rows) if buf else x * 0",
        change="buf.rows.append(x)",
        reused=False,
        rule=4,
    ),
    Case(
        "obj-enum-member-in-attribute",
        setup=BOX
        + """\
import enum
class Mode(enum.Enum):
    UP = 1
    DOWN = -1
box = Box(x)
box.mode = Mode.UP""",
        cell="""\
y = box.v * box.mode.value
flipped = Mode.DOWN if box.mode is Mode.UP else Mode.UP""",
        change="box.mode = Mode.DOWN",
        reused=False,
        rule=4,
    ),
    Case(
        "obj-metaclass-counts",
        setup="""\
class Meta(type):
    made = []
    def __call__(cls, *args):
        obj = super().__call__(*args)
        Meta.made.append(obj)
        return obj
class A(metaclass=Meta):
    def __init__(self, v):
        self.v = v""",
        cell="""\
a = A(x * 2)
n = len(Meta.made)""",
        reused2=None,
        may_refuse=True,
        rule=6,
    ),
    Case(
        "obj-registered-subclasses",
        setup="""\
class Op:
    known = {}
    def __init_subclass__(cls):
        Op.known[cls.__name__] = cls
class Double(Op):
    def run(self, a):
        return a * 2
class Sine(Op):
    def run(self, a):
        return jnp.sin(a)""",
        cell="ys = {name: op().run(x) for name, op in Op.known.items()}",
        change="class Cosine(Op):\n    def run(self, a):\n        return jnp.cos(a)",
        reused=None,
        rule=4,
    ),
    Case(
        "obj-named-tuple-in-attribute",
        setup=BOX
        + """\
from typing import NamedTuple
class State(NamedTuple):
    w: object
    step: int
box = Box(State(x, 0))""",
        cell="""\
box.v = box.v._replace(w=box.v.w * 0.5)
y = box.v.w""",
        change="box.v = box.v._replace(w=x * 3)",
        rule=6,
    ),
    # Methods that change self
    Case(
        "obj-trainer-step",
        setup=TRAINER,
        cell="loss = trainer.step(x)",
        change=("trainer.w = trainer.w * 0.5", "trainer.lr = 0.05"),
        rule=6,
    ),
    Case("obj-trainer-step-unbound-result", setup=TRAINER, cell="trainer.step(x)", rule=6),
    Case(
        "obj-trainer-step-in-loop",
        setup=TRAINER,
        cell="""\
for _ in range(3):
    loss = trainer.step(x)
final = trainer.w""",
        change="trainer.w = w",
        rule=6,
    ),
    Case(
        "obj-trainer-losses-list",
        setup=TRAINER,
        cell="""\
losses = [trainer.step(x * k) for k in (1.0, 0.5)]
trainer.last = losses[-1]""",
        change="trainer.w = w",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-bound-method-in-a-name",
        setup=TRAINER + "step = trainer.step",
        cell="loss = step(x)",
        change="trainer.w = w * 0.5",
        rule=6,
    ),
    Case(
        "obj-trainer-replaced-between-runs",
        setup=TRAINER,
        cell="value = trainer.step(x)",
        change="old = trainer\ntrainer = Trainer(w * 0.5, 0.1)",
        rule=6,
    ),
    Case(
        "obj-step-counter",
        setup=TRAINER
        + """\
trainer.n = 0
def step(t, a):
    t.n += 1
    return t.step(a)""",
        cell="loss = step(trainer, x)",
        change="trainer.n = 10",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-counter-and-bias-correction",
        setup="""\
class Adam:
    def __init__(self, lr=0.1):
        self.lr, self.t = lr, 0
        self.m, self.v = jnp.zeros(3), jnp.zeros(3)
    def update(self, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g * g
        m = self.m / (1 - 0.9 ** self.t)
        v = self.v / (1 - 0.99 ** self.t)
        return -self.lr * m / (jnp.sqrt(v) + 1e-8)
opt = Adam()
p = x""",
        cell="""\
g = jax.grad(lambda p: (p ** 2).sum())(p)
p = p + opt.update(g)""",
        change=("opt.m = jnp.ones(3)", "opt.t = 0"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-sgd-with-momentum",
        setup="""\
class Momentum:
    def __init__(self, params, lr=0.1, mu=0.9):
        self.params, self.lr, self.mu = params, lr, mu
        self.velocity = {k: jnp.zeros_like(p) for k, p in params.items()}
    def step(self, grads):
        for k, g in grads.items():
            self.velocity[k] = self.mu * self.velocity[k] - self.lr * g
            self.params[k] = self.params[k] + self.velocity[k]
params = {'w': w, 'b': x}
opt = Momentum(params)
def loss(p):
    return jnp.mean((x @ p['w'] + p['b']) ** 2)""",
        cell="""\
value, grads = jax.value_and_grad(loss)(params)
opt.step(grads)""",
        change=("params['b'] = params['b'] * 0", "opt.velocity['w'] = w", "opt.mu = 0.5"),
        rule=6,
    ),
    Case(
        "obj-optimizer-swaps-params-dict",
        setup="""\
class SGD:
    def __init__(self, params):
        self.params = params
    def step(self, grads):
        self.params = jax.tree.map(lambda p, g: p - 0.1 * g, self.params, grads)
params = {'w': w, 'b': x}
opt = SGD(params)""",
        cell="""\
opt.step(jax.tree.map(lambda p: 2 * p, opt.params))
same = opt.params is params""",
        change="params = opt.params",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-lr-schedule",
        setup=TRAINER,
        cell="""\
loss = trainer.step(x)
trainer.lr *= 0.9""",
        change="trainer.lr = 0.1",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-lr-schedule-of-array",
        setup=TRAINER + "trainer.lr = jnp.float32(0.1)",
        cell="""\
trainer.lr *= 0.9
loss = trainer.step(x)""",
        change="trainer.lr = jnp.float32(0.1)",
        rule=6,
    ),
    Case(
        "obj-two-trainers-share-weights",
        setup=TRAINER + "other = Trainer(trainer.w, 0.2)\nshared = other.w is trainer.w",
        cell="""\
loss = trainer.step(x)
shared = other.w is trainer.w
other.w = trainer.w""",
        change="trainer.w = w * 1.0",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-running-mean",
        setup="""\
class Mean:
    total = 0.0
    count = 0
    def add(self, v):
        self.total = self.total + v
        self.count += 1
mean = Mean()""",
        cell="""\
mean.add(x.mean())
now = mean.total / mean.count""",
        change="mean.total = jnp.float32(0.0)",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-classmethod-changes-class",
        setup="""\
class Registry:
    best = x
    @classmethod
    def improve(cls, v):
        cls.best = jnp.maximum(cls.best, v)
    @staticmethod
    def scale(v):
        return v * 2""",
        cell="Registry.improve(Registry.scale(x) - 1)",
        change="Registry.best = x * 0",
        rule=6,
    ),
    Case(
        "obj-method-replaced-on-instance",
        setup=LAYER + "layer = Layer(w, x)\nlayer.act = jnp.tanh",
        cell="y = layer.act(layer(x))",
        change=("layer.act = jnp.sin", "layer.act = lambda a: a * layer.b"),
        reused=False,
        rule=4,
    ),
    Case(
        "obj-method-replaced-in-cell",
        setup=BOX + "box = Box(x)\nbox.f = lambda a: a",
        cell="""\
y = box.f(x)
box.f = lambda a, s=x * 2: a + s""",
        reused2=None,
        probes=("box.f(1.0)",),
        rule=6,
    ),
    Case(
        "obj-fluent-methods",
        setup="""\
class Chain:
    def __init__(self, v):
        self.v = v
    def add(self, c):
        self.v = self.v + c
        return self
    def scale(self, k):
        self.v = self.v * k
        return self
c = Chain(x)""",
        cell="d = c.add(1.0).scale(0.5)",
        change="c.v = x * 2",
        rule=5,
    ),
    Case(
        "obj-context-manager",
        setup="""\
class Scaled:
    def __init__(self, k):
        self.k, self.seen = k, x * 0
    def __enter__(self):
        return self
    def __exit__(self, *args):
        self.k = self.k * 0.5
    def __call__(self, a):
        self.seen = a * self.k
        return self.seen
s = Scaled(jnp.float32(2.0))""",
        cell="""\
with s as t:
    y = t(x)""",
        change="s.k = jnp.float32(4.0)",
        rule=6,
    ),
    Case(
        "obj-setter-property",
        setup="""\
class P:
    def __init__(self, v):
        self._v = v
    @property
    def v(self):
        return self._v
    @v.setter
    def v(self, value):
        self._v = value * 0.5
p = P(x)""",
        cell="""\
p.v = p.v + 1
p.v *= 0.5""",
        change="p._v = x",
        rule=6,
    ),
    Case(
        "obj-descriptor",
        setup="""\
class Clipped:
    def __set_name__(self, owner, name):
        self.name = '_' + name
    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name)
    def __set__(self, obj, value):
        setattr(obj, self.name, jnp.clip(value, -1, 1))
class P:
    v = Clipped()
p = P()
p.v = x""",
        cell="p.v = p.v * 1.5 + 0.25",
        change="p.v = x * 0.25",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-property-that-raises",
        setup="""\
class P:
    v = x
    @property
    def bad(self):
        raise ValueError('not ready')
p = P()""",
        cell="""\
p.v = p.v * 0.5
try:
    q = p.bad
except ValueError as e:
    q = str(e)""",
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-property-raises-out",
        setup="""\
class P:
    v = x
    @property
    def bad(self):
        raise ValueError('not ready')
p = P()""",
        cell="""\
p.v = p.v * 0.5
q = p.bad""",
        raises="ValueError",
        rule=8,
    ),
    # Dataclasses
    Case(
        "obj-dataclass-fields",
        setup="""\
from dataclasses import dataclass, field
@dataclass
class State:
    w: object
    log: list = field(default_factory=list)
    n: int = 0
s = State(w)""",
        cell="""\
s.w = s.w * 0.5
t = State(s.w + 1)""",
        change="s.w = w",
        rule=6,
    ),
    Case(
        "obj-dataclass-log-append",
        setup="""\
from dataclasses import dataclass, field
@dataclass
class State:
    w: object
    log: list = field(default_factory=list)
    n: int = 0
s = State(w)""",
        cell="""\
s.w = s.w * 0.5
s.log.append(s.w.sum())
s.n += 1""",
        change=("s.log.clear()", "s.n = 7"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-frozen-dataclass-replace",
        setup="""\
import dataclasses
@dataclasses.dataclass(frozen=True)
class State:
    w: object
    scale: float = 0.5
    def stepped(self):
        return dataclasses.replace(self, w=self.w * self.scale)
s = State(x)""",
        cell="""\
old = s
s = s.stepped()""",
        change="s = State(x * 3)",
        rule=5,
    ),
    Case(
        "obj-dataclass-eq",
        setup="""\
from dataclasses import dataclass
@dataclass(eq=True)
class Shape:
    n: int
    m: int
a, b = Shape(3, 3), Shape(3, 3)""",
        cell="""\
same = a == b
y = x * 2 if same else x""",
        change="b.n = 4",
        reused=False,
        rule=4,
    ),
    Case(
        "obj-dataclass-slots",
        setup="""\
from dataclasses import dataclass
@dataclass(slots=True)
class Point:
    pos: object
    vel: object
    def move(self, dt):
        self.pos = self.pos + dt * self.vel
        self.vel = self.vel * 0.5
p = Point(x, x * 2)""",
        cell="p.move(0.1)",
        change="p.vel = x",
        rule=6,
    ),
    Case(
        "obj-dataclass-of-dataclasses",
        setup="""\
from dataclasses import dataclass
@dataclass
class Particle:
    pos: object
    mass: float
@dataclass
class World:
    parts: list
    g: object
    def step(self):
        for p in self.parts:
            p.pos = p.pos + self.g * p.mass
world = World([Particle(x, 1.0), Particle(x + 1, 2.0)], jnp.float32(0.5))""",
        cell="""\
world.step()
centre = sum(p.pos for p in world.parts) / len(world.parts)""",
        change=("world.g = jnp.float32(0.25)", "world.parts[0].pos = x * 0"),
        rule=6,
    ),
    Case(
        "obj-registered-dataclass",
        setup="""\
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Params:
    w: object
    b: object
params = Params(w, x * 2)""",
        cell="""\
g = jax.grad(lambda p: jnp.mean((x @ p.w + p.b) ** 2))(params)
params = jax.tree.map(lambda p, d: p - 0.1 * d, params, g)""",
        change="params.b = params.b * 0",
        rule=5,
    ),
]
