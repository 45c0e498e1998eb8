"""What changes an object as a whole, tracers left behind, and cells that fail: everything is as before (rule 8)."""

from ._objects import BOX
from .case import Case

CASES = [
    # What changes an object as a whole
    Case(
        "obj-dict-of-object-replaced",
        setup=BOX + "box = Box(x)\nbox.k = 2",
        cell="box.__dict__ = {'v': box.v * 0.5, 'k': 3}",
        change="box.v = x",
        reused=None,
        reused2=None,
        rule=6,
        may_refuse=True,
    ),
    Case(
        "obj-dict-of-object-replaced-by-static",
        setup=BOX + "box = Box(x)",
        cell="""\
box.__dict__ = {'k': 1}
y = x * 2""",
        reused2=None,
        rule=6,
        may_refuse=True,
    ),
    Case(
        "obj-class-changed-in-cell",
        setup="""\
class A:
    def f(self):
        return self.v * 2
class B:
    def f(self):
        return self.v * 3
o = A()
o.v = x""",
        cell="""\
o.__class__ = B
o.v = o.f()""",
        again="o.__class__ = A",
        change="o.__class__, o.v = A, x",
        reused=None,
        reused2=None,
        may_refuse=True,
        rule=6,
    ),
    Case(
        "obj-class-made-by-type",
        setup=BOX,
        cell="""\
Made = type('Made', (Box,), {'k': x})
made = Made(x * 2)
y = made.v + made.k""",
        rule=6,
        may_refuse=True,
    ),
    Case(
        "obj-tuple-subclass-with-attribute",
        setup="class Row(tuple):\n    pass",
        cell="""\
row = Row((x * 2, x))
row.name = 'first'""",
        rule=6,
    ),
    Case(
        "obj-tuple-subclass-holds-array",
        setup="class Row(tuple):\n    pass",
        cell="""\
row = Row((1, 2))
row.v = x * 2""",
        rule=6,
    ),
    Case(
        "obj-tuple-subclass-changed",
        setup="class Row(tuple):\n    pass\nrow = Row((x,))\nrow.v = x + 1",
        cell="row.v = row[0] * 2",
        change="row.v = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    # A tracer of an inner transformation that is left behind: refused, and nothing is changed
    Case(
        "obj-self-keeps-tracer-of-grad",
        setup="""\
class Net:
    def loss(self, v):
        self.hidden = jnp.tanh(v)
        return (self.hidden ** 2).sum()
net = Net()""",
        cell="g = jax.grad(net.loss)(x)",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "obj-list-keeps-tracer-of-vmap",
        setup="seen = []\ndef f(row):\n    seen.append(row)\n    return row * 2",
        cell="y = jax.vmap(f)(w)",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "obj-global-keeps-tracer-of-jit",
        setup="last = None\n@jax.jit\ndef f(a):\n    global last\n    last = a * 2\n    return last + 1",
        cell="y = f(x)",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    # A cell that fails: Python's own changes are undone as well
    Case(
        "obj-undo-append-to-item",
        setup="log = {'a': []}",
        cell="""\
log['a'].append(1)
y = x * 2
y @ jnp.ones(5)""",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "obj-undo-static-class-attribute",
        setup="class A:\n    n = 1",
        cell="""\
A.n += 1
y = x * A.n
y @ jnp.ones(5)""",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "obj-undo-mutable-default",
        setup="def record(seen=[]):\n    seen.append(1)",
        cell="""\
record()
x @ jnp.ones(5)""",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "obj-undo-bound-append",
        setup="seen = []\nadd = seen.append",
        cell="""\
add(1)
x @ jnp.ones(5)""",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "obj-undo-through-partial",
        setup="import functools\nseen = []\nadd = functools.partial(list.append, seen)",
        cell="""\
add(1)
x @ jnp.ones(5)""",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "obj-undo-class-of-object",
        setup="class A:\n    pass\nclass B:\n    pass\no = A()\no.v = x",
        cell="""\
o.__class__ = B
o.v @ jnp.ones(5)""",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "obj-undo-bytearray",
        setup=BOX + "box = Box(x)\nbox.flags = bytearray(3)",
        cell="""\
box.flags[0] = 1
box.v = box.v * 2
box.v @ jnp.ones(5)""",
        raises="TypeError",
        may_refuse=True,
        rule=8,
    ),
    Case(
        "obj-undo-array-of-array-module",
        setup="import array\ncounts = array.array('i', [1])",
        cell="""\
counts.append(2)
x @ jnp.ones(5)""",
        raises="TypeError",
        rule=8,
    ),
]
