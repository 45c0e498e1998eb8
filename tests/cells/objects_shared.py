"""Objects that several hold: aliases, cycles, closures, defaults, partials (rule 5)."""

from ._objects import BOX, LAYER
from .case import Case

CASES = [
    # Aliases and cycles
    Case(
        "obj-two-attributes-one-array",
        setup=BOX + "a, b = Box(x), Box(x)",
        cell="""\
before = a.v is b.v
a.v = a.v * 2
after = a.v is b.v""",
        change="b.v = a.v",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-list-item-under-two-names",
        setup="params = [x, w]\nfirst = params[0]",
        cell="""\
params[0] = params[0] - 0.5
kept = first
same = params[0] is first""",
        change="first = params[0]",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-same-object-in-two-containers",
        setup=BOX + "box = Box(x)\nl = [box]\nd = {'b': box}",
        cell="""\
l[0].v = l[0].v * 0.5
y = d['b'].v + box.v""",
        change="d['b'].v = x + 1",
        rule=5,
    ),
    Case(
        "obj-inner-list-shared",
        setup=BOX + "rows = [x]\na, b = Box(rows), Box(rows)",
        cell="""\
a.v[0] = a.v[0] + 1
y = b.v[0]""",
        change=("b.v[0] = x", "b.v = list(rows)"),
        reused=None,
        rule=5,
    ),
    Case(
        "obj-swap-attributes",
        setup=BOX + "a, b = Box(x), Box(x * 2)",
        cell="a.v, b.v = b.v, a.v",
        change="a.v = x + 5",
        rule=5,
    ),
    Case(
        "obj-swap-objects-in-list",
        setup=BOX + "boxes = [Box(x), Box(x * 2)]\nfirst = boxes[0]",
        cell="""\
boxes[0], boxes[1] = boxes[1], boxes[0]
y = boxes[0].v - first.v""",
        change="first.v = x + 5",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-target-network",
        setup=LAYER + "online, target = Layer(w, x), Layer(w, x)",
        cell="""\
online.w = online.w * 0.9
target.w = 0.5 * target.w + 0.5 * online.w""",
        change="target.w, target.b = online.w, online.b",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-attribute-is-dropped-alias",
        setup=BOX + "box = Box(x)\nkept = box.v",
        cell="""\
box.v = jnp.zeros_like(box.v)
y = kept + 1""",
        change="box.v = x * 2",
        rule=5,
    ),
    Case(
        "obj-parent-child-cycle",
        setup="""\
class Node:
    def __init__(self, v, parent=None):
        self.v, self.parent, self.children = v, parent, []
        if parent is not None:
            parent.children.append(self)
    def total(self):
        return self.v + sum(c.total() for c in self.children)
root = Node(x)
leaf = Node(x * 2, root)""",
        cell="""\
leaf.v = leaf.parent.v * 0.5
y = root.total()""",
        change="root.v = x * 3",
        rule=6,
    ),
    Case(
        "obj-node-added-in-cell",
        setup="""\
class Node:
    def __init__(self, v, parent=None):
        self.v, self.parent, self.children = v, parent, []
        if parent is not None:
            parent.children.append(self)
root = Node(x)""",
        cell="""\
leaf = Node(root.v * 0.5, root)
n = len(root.children)""",
        change=("root.children.clear()", "root = leaf"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-self-reference",
        setup=BOX + "box = Box(x)\nbox.me = box",
        cell="""\
box.me.me.v = box.v + 1
y = box.me.v""",
        change="box.v = x * 2",
        rule=6,
    ),
    Case(
        "obj-list-holds-itself-through-object",
        setup=BOX + "l = [x]\nl.append(Box(l))",
        cell="""\
l[1].v[0] = l[0] * 0.5
y = l[0] + 1""",
        change="l[0] = x",
        rule=6,
    ),
    Case(
        "obj-linked-list-walk",
        setup="""\
class Cell:
    def __init__(self, v, rest):
        self.v, self.rest = v, rest
head = Cell(x, Cell(x + 1, Cell(x + 2, None)))""",
        cell="""\
total, c = x * 0, head
while c is not None:
    total = total + c.v
    c = c.rest""",
        change=("head.rest.v = x * 3", "head.rest = head.rest.rest"),
        reused=(True, False),
        rule=4,
    ),
    Case(
        "obj-cycle-made-in-cell",
        setup=BOX,
        cell="""\
a, b = Box(x), Box(x * 2)
a.other, b.other = b, a""",
        may_refuse=True,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-weak-reference",
        setup=BOX + "import weakref\nbox = Box(x)\nref = weakref.ref(box)",
        cell="""\
box.v = box.v * 2
y = box.v + 1""",
        change="box.v = x",
        probes=("ref() is box",),
        rule=5,
    ),
    Case(
        "obj-weak-parent",
        setup="""\
import weakref
class Node:
    def __init__(self, v, parent=None):
        self.v = v
        self._parent = weakref.ref(parent) if parent is not None else None
    @property
    def parent(self):
        return self._parent() if self._parent is not None else None
root = Node(x)
leaf = Node(x * 2, root)""",
        cell="""\
leaf.v = leaf.parent.v * 0.5
y = leaf.v""",
        change="root.v = x + 7",
        reused=None,
        reused2=None,
        probes=("leaf.parent is root",),
        rule=4,
    ),
    Case(
        "obj-weak-reference-made-in-cell",
        setup=BOX + "import weakref\nbox = Box(x)",
        cell="""\
box.v = box.v * 2
ref = weakref.ref(box)""",
        reused2=None,
        may_refuse=True,
        probes=("ref() is box",),
        rule=5,
    ),
    Case(
        "obj-weak-value-dict",
        setup=BOX + "import weakref\nbox = Box(x)\ncache = weakref.WeakValueDictionary(a=box)",
        cell="y = cache['a'].v * 2",
        change="box.v = x + 7",
        reused=None,
        reused2=None,
        may_refuse=True,
        rule=4,
    ),
    # Closures, defaults, partials
    Case(
        "obj-nonlocal-state",
        setup="""\
def make():
    state = x
    def step(a):
        nonlocal state
        state = 0.5 * state + a
        return state
    def peek():
        return state
    return step, peek
step, peek = make()""",
        cell="""\
a = step(x)
b = peek()""",
        change="step(x * 0)",
        rule=6,
    ),
    Case(
        "obj-nonlocal-counter",
        setup="""\
def make():
    n = 0
    def step(a):
        nonlocal n
        n += 1
        return a * n
    return step
step = make()""",
        cell="y = step(x)",
        change="step(x)",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-global-statement",
        setup="""\
state = x
def step(a):
    global state
    state = 0.5 * state + a""",
        cell="""\
step(x)
y = state * 2""",
        change="state = x * 0",
        rule=6,
    ),
    Case(
        "obj-default-argument-array",
        setup="def f(a, scale=x * 2, *, shift=x):\n    return a * scale + shift",
        cell="y = f(x)",
        change=("f.__defaults__ = (x * 3,)", "f.__kwdefaults__['shift'] = x + 1"),
        rule=4,
    ),
    Case(
        "obj-mutable-default",
        setup="def record(a, seen=[]):\n    seen.append(a)\n    return len(seen)",
        cell="n = record(x * 2)",
        change="record.__defaults__[0].clear()",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-function-attribute",
        setup="def f(a):\n    f.last = a * 2\n    return f.last\nf.last = x",
        cell="y = f(x + 1)",
        change="f.last = None",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-partial-over-array",
        setup="import functools\nf = functools.partial(jnp.dot, w)",
        cell="y = f(x)",
        change="f = functools.partial(jnp.dot, w * 2)",
        rule=4,
    ),
    Case(
        "obj-partial-of-a-partial",
        setup="""\
import functools
def f(a, b, c=1):
    return a * b + c
p = functools.partial(f, 2.0)""",
        cell="q = functools.partial(p, c=3)\ny = q(x)\nr = functools.partial(q, x)\nz = r()",
        probes=("q.func is f, q.args, q.keywords", "r.func is f, len(r.args)", "functools.partial(r).func is f"),
        rule=5,
    ),
    Case(
        "obj-partial-that-gets-an-attribute",
        setup="import functools\np = functools.partial(jnp.multiply, 2.0)",
        cell="p.last = x * 3\ny = p(x)",
        probes=("p.last", "functools.partial(p).func is p"),
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-annotations-of-new-functions",
        setup="""\
import functools
def f(a):
    return a * 2
before = f""",
        again="before = h",
        cell="""\
@functools.wraps(f)
def g(a):
    return f(a) + 1
def h(a):
    return a - 1
y = g(x) + h(x)""",
        probes=("g.__annotations__ is f.__annotations__", "h.__annotations__ is before.__annotations__"),
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-partial-over-object",
        setup=LAYER
        + """\
import functools
def apply(layer, a, *, k):
    layer.b = layer.b + k
    return layer(a)
layer = Layer(w, x)
f = functools.partial(apply, layer, k=jnp.float32(0.5))""",
        cell="y = f(x)",
        change="layer.b = x",
        rule=6,
    ),
    Case(
        "obj-dict-of-functions",
        setup=BOX + "box = Box({'up': lambda a: a * 2, 'down': lambda a: a * 0.5})",
        cell="ys = {k: f(x) for k, f in box.v.items()}",
        change="box.v['up'] = lambda a: a * 3",
        reused=False,
        rule=4,
    ),
]
