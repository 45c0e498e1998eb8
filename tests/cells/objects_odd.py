"""Names, dictionaries and copies of attributes; what cannot be copied; several statements that share (rule 6)."""

from ._objects import BOX, LAYER, TRAINER
from .case import Case

CASES = [
    # Names, dictionaries and copies of attributes
    Case(
        "obj-deleting-attributes",
        setup=BOX + "box = Box(x)\nbox.tmp = x * 2",
        cell="""\
y = box.tmp + box.v
del box.tmp""",
        again="box.tmp = x * 3",
        change="box.tmp = x * 4",
        rule=6,
    ),
    Case(
        "obj-deleting-slot",
        setup="""\
class S:
    __slots__ = ('a', 'b')
s = S()
s.a, s.b = x, x * 2""",
        cell="""\
s.a = s.a + s.b
del s.b""",
        again="s.b = x",
        change="s.b = x * 3",
        rule=6,
    ),
    Case(
        "obj-vars-of-object",
        setup=BOX + "box = Box(x)\nbox.k = 2",
        cell="""\
vars(box)['v'] = vars(box)['v'] * 0.5
names = sorted(vars(box))""",
        change="box.v = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-dict-update-of-object",
        setup=BOX + "box = Box(x)",
        cell="box.__dict__.update(v=box.v * 0.5, u=box.v)",
        change="box.v = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-computed-attribute-names",
        setup=BOX + "box = Box(x)\nbox.a, box.b = x * 2, x * 3",
        cell="""\
for name in ('a', 'b'):
    setattr(box, name, getattr(box, name) * 0.5)
    setattr(box, name + '_old', getattr(box, name))
delattr(box, 'v')""",
        again="box.v = x",
        change="box.v = x\nbox.a = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-getattr-with-default",
        setup=BOX + "box = Box(x)",
        cell="""\
y = getattr(box, 'scale', 2.0) * box.v
z = hasattr(box, 'scale')""",
        change="box.scale = 3.0",
        reused=False,
        rule=4,
    ),
    Case(
        "obj-shallow-copy",
        setup=BOX + "import copy\nbox = Box([x, w])",
        cell="""\
twin = copy.copy(box)
twin.v[0] = twin.v[0] * 0.5
same = twin.v is box.v""",
        change="box.v[0] = x",
        rule=5,
    ),
    Case(
        "obj-deep-copy",
        setup=BOX + "import copy\nbox = Box({'w': x, 'shared': None})\nbox.v['shared'] = box.v",
        cell="""\
twin = copy.deepcopy(box)
twin.v['w'] = twin.v['w'] * 0.5
loop = twin.v['shared'] is twin.v""",
        change="box.v['w'] = x + 1",
        reused=None,
        reused2=None,
        may_refuse=True,
        rule=5,
    ),
    Case(
        "obj-deep-copy-of-model",
        setup=LAYER + "import copy\nlayer = Layer(w, x)",
        cell="""\
ema = copy.deepcopy(layer)
layer.b = layer.b + 1
gap = layer.b - ema.b""",
        change="layer.b = x",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-deep-copy-of-model-with-activation",
        setup=LAYER + "import copy\nlayer = Layer(w, x)\nlayer.act = jax.nn.relu",
        cell="""\
target = copy.deepcopy(layer)
y = target.act(target(x))""",
        change="layer.b = x + 1",
        reused=None,
        reused2=None,
        rule=5,
        loose_identity=("target",),
    ),
    Case(
        "obj-deep-copy-of-numpy",
        setup="import copy\nclass Box: pass\nbox = Box()\nbox.v, box.array = x, np.array([0.5, 1.0], np.float32)",
        cell="t = copy.deepcopy(box)\nt.v = t.v * 2",
        change="box.array = box.array + 1",
        reused=False,
        rule=2,
    ),
    Case(
        "obj-deep-copy-keeps-sharing",
        setup=BOX + "import copy\nbox = Box(x)\nbox.rows = [x]",
        cell="""\
twin = copy.deepcopy(box)
y = twin.v * 2""",
        change="box.rows[0] = box.v = x + 1",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-made-in-cell-and-stored",
        setup=LAYER + "layers = {}",
        cell="""\
layers['new'] = Layer(w * 0.5, x)
y = layers['new'](x)""",
        change="layers['new'].b = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-made-in-cell-replaces-attribute",
        setup=LAYER + "class Net:\n    pass\nnet = Net()\nnet.head = Layer(w, x)",
        cell="""\
old = net.head
net.head = Layer(old.w * 0.5, old.b)
y = net.head(x)""",
        change="net.head.b = x + 1",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-class-and-instance-in-cell",
        cell="""\
class Acc:
    def __init__(self):
        self.items = []
    def add(self, v):
        self.items.append(v)
acc = Acc()
acc.add(x * 2)
acc.add(acc)""",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-instance-made-with-new",
        setup=BOX,
        cell="""\
b = Box.__new__(Box)
b.v = x * 2
b.__dict__['u'] = b.v""",
        rule=6,
    ),
    Case(
        "obj-change-of-class",
        setup="""\
class A:
    def f(self):
        return self.v * 2
class B:
    def f(self):
        return self.v * 3
o = A()
o.v = x""",
        cell="y = o.f()",
        change="o.__class__ = B",
        reused=False,
        rule=4,
    ),
    # What cannot be copied, and what moves on
    Case(
        "obj-lock-in-attribute",
        setup=BOX + "import threading\nbox = Box(x)\nbox.lock = threading.Lock()",
        cell="""\
with box.lock:
    box.v = box.v * 0.5""",
        change="box.v = x",
        reused=None,
        reused2=None,
        may_refuse=True,
        rule=6,
    ),
    Case(
        "obj-lock-that-is-not-used",
        setup=BOX + "import threading\nbox = Box(x)\nbox.lock = threading.Lock()",
        cell="box.v = box.v * 0.5",
        change="box.v = x",
        rule=6,
    ),
    Case(
        "obj-lock-stored-in-cell",
        setup=BOX + "import threading",
        cell="""\
box = Box(x * 2)
box.lock = threading.Lock()""",
        reused2=None,
        may_refuse=True,
        rule=6,
    ),
    Case(
        "obj-file-in-attribute",
        setup=BOX + "import io\nbox = Box(x)\nbox.out = io.StringIO()",
        cell="""\
box.out.write('step')
box.v = box.v * 0.5""",
        change="box.v = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-iterator-in-attribute",
        setup=BOX + "box = Box(x)\nbox.batches = iter([x, x * 2, x * 3, x * 4])",
        cell="box.v = box.v + next(box.batches)",
        reused2=None,
        change="box.v = x",
        reused=None,
        may_refuse=True,
        rule=6,
    ),
    Case(
        "obj-generator-in-attribute",
        setup="""\
class Loader:
    def __init__(self):
        self.source = (k for k in range(10))
    def next(self):
        return next(self.source)
loader = Loader()""",
        cell="""\
k = loader.next()
y = x * k""",
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-iterator-of-own-class",
        setup="""\
class Batches:
    def __init__(self, rows):
        self.rows, self.i = rows, 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.i >= len(self.rows):
            raise StopIteration
        self.i += 1
        return self.rows[self.i - 1]
batches = Batches([x, x + 1])""",
        cell="""\
total = x * 0
for b in batches:
    total = total + b""",
        change="batches.i = 0",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-numpy-attribute-in-place",
        setup=BOX + "box = Box(np.ones(3, np.float32))\nview = box.v[:2]",
        cell="""\
box.v[0] += 1
y = x * box.v""",
        change="view[1] = 5",
        rule=2,
    ),
    Case(
        "obj-rng-in-attribute",
        setup=BOX + "box = Box(np.random.default_rng(0))",
        cell="""\
noise = box.v.normal(size=3).astype(np.float32)
y = x + noise""",
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-key-split-in-attribute",
        setup="""\
class Rng:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
    def next(self):
        self.key, sub = jax.random.split(self.key)
        return sub
rng = Rng(0)""",
        cell="""\
a = jax.random.normal(rng.next(), (3,))
b = jax.random.normal(rng.next(), (3,))""",
        change="rng.key = jax.random.key(1)",
        rule=6,
    ),
    # Several statements, some on the host, that share what they change
    Case(
        "obj-host-and-staged-share-a-list",
        setup="log = []",
        cell="""\
log.append('start')
y = x * 2
log.append(y)
log.append('end')""",
        change="log.clear()",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-print-static-attribute",
        setup=BOX + "box = Box(x)\nbox.name = 'b'",
        cell="""\
box.v = box.v * 0.5
print(box.name, len(vars(box)))
y = box.v""",
        change="box.name = 'c'",
        reused=None,
        reused2=None,
        may_refuse=True,
        rule=6,
    ),
    Case(
        "obj-repr-of-object-shown",
        setup="""\
class Net:
    def __init__(self):
        self.w = w
    def __repr__(self):
        return f'Net({self.w.shape})'
net = Net()""",
        cell="""\
net.w = net.w * 0.5
net""",
        change="net.w = w[:2]",
        reused=None,
        rule=6,
    ),
    Case(
        "obj-trailing-attribute",
        setup=TRAINER,
        cell="""\
trainer.step(x)
trainer.w""",
        rule=5,
    ),
    Case(
        "obj-step-conditional-on-counter",
        setup="""\
class Sched:
    def __init__(self):
        self.n, self.lr = 0, jnp.float32(1.0)
    def step(self):
        self.n += 1
        if self.n % 2 == 0:
            self.lr = self.lr * 0.5
sched = Sched()""",
        cell="""\
sched.step()
y = x * sched.lr""",
        change=("sched.n = 0", "sched.lr = jnp.float32(4.0)"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-error-after-mutation",
        setup=TRAINER + "trainer.history = []",
        cell="""\
trainer.history.append(trainer.step(x))
trainer.missing""",
        raises="AttributeError",
        rule=8,
    ),
    Case(
        "obj-error-inside-method",
        setup=BOX
        + """\
def bad(b):
    b.v = b.v * 2
    b.extra = [b.v]
    return b.v @ jnp.ones(5)
box = Box(x)""",
        cell="y = bad(box)",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "obj-method-under-jit-and-grad",
        setup=LAYER
        + """\
layer = Layer(w, x)
def loss(b):
    return (layer(x) * b).sum()""",
        cell="g = jax.grad(loss)(layer.b)",
        change="layer.b = layer.b + 1",
        rule=4,
    ),
    Case(
        "obj-float-attribute-beside-an-assigned-one",
        setup=BOX + "box = Box(x)\nbox.k = 0.5",
        cell="box.v = box.v * box.k",
        change=("box.k = 0.25", "box.k = 0.75", "box.k = jnp.float32(0.5)", "box.k = jnp.float32(0.25)"),
        reused=(None, True, None, True),
        rule=3,
    ),
]
