"""Cells that are split, or whose first trace is given up: nothing is done twice, and nothing is answered otherwise."""

from __future__ import annotations

from .case import Case

__all__ = ["CASES"]

CASES = [
    Case(
        "file-that-an-object-holds-above-a-value-that-is-needed",
        setup="import io\nclass Box:\n    pass\nbox = Box()\nbox.v, box.out = x, io.StringIO()",
        cell="box.out.write('step')\nn = jnp.max(w).item()\nbox.v = box.v * 0.5",
        reused2=None,
        probes=("box.out.getvalue()",),
    ),
    Case(
        "gradient-function-of-an-earlier-cell",
        setup="def loss(a):\n    return (a ** 2).sum()\ngrad = jax.grad(loss)",
        cell="d = grad(x)",
    ),
    Case(
        "gradient-function-in-a-loop-that-is-taken-apart",
        cell="""\
step = jax.value_and_grad(lambda a: (a ** 2).sum())
for i in range(3):
    loss, d = step(x)
    x = x - 0.1 * d
    print(i, loss)
    if loss < 2.2:
        break""",
        reused2=None,
    ),
    Case(
        "module-that-an-object-holds",
        setup="class Model:\n    pass\nmodel = Model()\nmodel.xp, model.v = jnp, x",
        cell="y = model.xp.sin(model.v)",
    ),
    Case(
        "text-of-an-abandoned-trace",
        setup="def speaks(a):\n    print('speaks')\n    return a * 2",
        cell="y = speaks(x)\nv = float(y.sum())",
    ),
    Case(
        "text-of-a-statement-that-turns-out-to-need-values",
        setup="def shows(a):\n    print('shown', a)\n    return a",
        cell="y = x * 2\nv = shows(y)",
    ),
    Case(
        "text-of-a-method-that-keeps-a-log",
        setup="""\
class Log:
    def __init__(self):
        self.values = []
    def add(self, value):
        self.values.append(value)
        print(len(self.values), value)
log = Log()""",
        cell="y = x * 2\nlog.add(y)\nlog.add(y + 1)",
        reused2=None,
    ),
    Case(
        "writing-of-a-helper",
        setup="import io\nfile = io.StringIO()\ndef write(a):\n    file.write('line ')\n    file.write(str(a))",
        cell="y = x * 2\nwrite(y)",
        reused2=None,
    ),
    Case(
        "iterator-in-an-abandoned-trace",
        setup="batches = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])",
        cell="y = x * next(batches)\nv = float(x.sum())",
        reused2=None,
    ),
    Case(
        "iterator-in-a-loop-that-is-taken-apart",
        setup="batches = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])",
        cell="""\
y = x * 2
for i in range(2):
    y = y * next(batches)
    if y.sum() > 100:
        break""",
        reused2=None,
    ),
    Case(
        "iterator-in-the-statement-that-needs-values",
        setup="import itertools\ncount = itertools.count()",
        cell="y = x * 2\npair = [next(count), float(y.sum())]",
        reused2=None,
    ),
    Case(
        "numpy-generator-in-an-abandoned-trace",
        setup="rng = np.random.default_rng(0)",
        cell="y = x + rng.normal(size=3)\nt = x.tolist()",
        reused2=None,
    ),
    Case(
        "python-random-in-an-abandoned-trace",
        setup="import random",
        cell="""\
random.seed(1)
total = 0.0
for row in w:
    total = total + row.sum() * random.random()
    if total > 100:
        break""",
        reused2=None,
    ),
    Case(
        "numpy-buffer-that-takes-a-result",
        setup="losses = np.zeros(3)",
        cell="losses[1] = x.sum()",
        reused2=None,
        tolerance=1e-4,
    ),
    Case(
        "numpy-buffer-that-a-loop-fills",
        cell="losses = np.zeros(3)\nfor i in range(3):\n    losses[i] = jnp.sum(x) * i\n    print(losses[i])",
        reused2=None,
        tolerance=1e-4,
    ),
    Case(
        "error-behind-a-need-that-was-swallowed",
        cell="try:\n    y = x * float(x.sum())\nexcept Exception:\n    y = None\nz = jnp.sum(y)",
        reused2=None,
    ),
    Case(
        "finally-that-reads-what-needs-values",
        cell="try:\n    z = float(x.sum())\nfinally:\n    v = z * 2",
        reused2=None,
    ),
    Case(
        "except-that-raises-another-error",
        setup="""\
def parse(a):
    try:
        return float(a.sum())
    except TypeError as error:
        raise ValueError('not a scalar') from error""",
        cell="y = parse(x * 2)",
        reused2=None,
    ),
    Case(
        "exit-of-a-context-that-fails-where-values-are-needed",
        setup="""\
class Timer:
    def __enter__(self):
        self.value = None
        return self
    def __exit__(self, *error):
        self.value = self.value + 1""",
        cell="with Timer() as timer:\n    timer.value = float(x.sum())\ny = timer.value",
        reused2=None,
    ),
    Case(
        "enum-of-the-user-is-another-member",
        setup="import enum\nclass Mode(enum.Enum):\n    UP = 1\n    DOWN = -1\nmode = Mode.UP",
        cell="y = x * mode.value",
        change="mode = Mode.DOWN",
        reused=None,
    ),
    Case(
        "key-that-goes-and-comes-behind-a-new-one",
        setup="d = {'a': x, 'b': x}",
        cell="d['c'] = x * 2\nb = d.pop('b')\nd['b'] = b * 0.5",
        reused2=None,
    ),
    Case(
        "array-found-in-a-list-by-identity",
        cell="l = [x, 1]\nprint(x)\nfound = x in l",
        reused2=None,
    ),
    Case(
        "archive-of-numpy",
        setup="import io\nfile = io.BytesIO()\nnp.savez(file, a=np.ones(3))\nfile.seek(0)\narchive = np.load(file)",
        cell="y = x * archive['a']",
        reused2=None,
        loose_identity=("archive", "file"),
    ),
    Case(
        "values-needed-in-threads",
        setup="from concurrent.futures import ThreadPoolExecutor",
        cell="with ThreadPoolExecutor(2) as pool:\n    sums = list(pool.map(lambda a: float(a.sum()), [x, x * 2]))",
        loose_identity=("pool",),
        reused2=None,
    ),
    Case(
        "weak-reference-to-an-input",
        setup="import weakref",
        cell="r = weakref.ref(x)\ny = x * 2\nprint(y)\nsame = r() is x",
        reused2=None,
    ),
    Case(
        "object-that-hands-on-every-attribute",
        setup="""\
class Box:
    __slots__ = ("v",)
    def __init__(self, v):
        self.v = v
    def __getattr__(self, name):
        return getattr(self.v, name)
box = Box(x)""",
        cell="y = box.v + 1\nprint(box.v)\nz = box.v * 2",
    ),
    Case(
        "seed-before-values-are-needed",
        cell="""\
np.random.seed(0)
y = jnp.asarray(np.random.rand(3), jnp.float32)
same = bool(jnp.allclose(y, y))
z = y + x if same else y""",
    ),
    Case(
        "mesh-that-is-set",
        setup="mesh = jax.make_mesh((1,), ('x',))\ny = x * 2",
        cell="with jax.set_mesh(mesh):\n    z = jnp.sin(y)\nu = z + 1",
    ),
    Case(
        "reference-that-is-made-and-read",
        cell="y = x * 2\nr = jax.new_ref(y)\nr[...] += 1\nz = r[...]\ndel r\nu = z * 2",
        reused2=None,
    ),
    Case(
        "type-of-type", setup="from typing import cast\ndef f(a):\n    return cast(type[int], a) + 1", cell="y = f(x)"
    ),
    Case(
        "union-that-a-library-asks-for",
        setup="""\
from flax import nnx
class Held(nnx.Pytree):
    def __init__(self, v):
        self.v = v""",
        cell="held = Held(x * 2)\nn = len(jax.tree.leaves(held))\ny = x + n",
    ),
    Case(
        "value-that-a-custom-rule-needs",
        setup="""\
@jax.custom_vjp
def solved(a):
    return jnp.asarray(np.asarray(a) * 2)
solved.defvjp(lambda a: (solved(a), None), lambda _, g: (g,))
@jax.custom_jvp
def picked(a):
    return a[a > 0]
picked.defjvp(lambda p, t: (picked(*p), picked(*t)))""",
        cell="y = x * 2\nz = solved(y)\nu = picked(z)\nv = u.sum()",
    ),
    Case(
        "id-that-is-a-key",
        setup="class Box:\n    pass\ndef make(v):\n    b = Box()\n    b.v = v\n    return b",
        cell="b = make(x * 2)\nm = {id(b): b}\ngood = [k == id(v) for k, v in m.items()]\nm = len(m)\ny = x + 1",
    ),
    Case(
        "configuration-that-changes",
        cell="""\
old = jax.config.jax_default_matmul_precision
y = w @ x
jax.config.update("jax_default_matmul_precision", "highest")
z = w @ x
jax.config.update("jax_default_matmul_precision", old)""",
    ),
    Case(
        "long-loop",
        cell="y = x\nfor i in range(100):\n    y = y * 0.9 + 0.1\nz = y + 1",
    ),
    Case(
        "long-loop-in-a-branch",
        cell="y = x\nif len(y) == 3:\n    for i in range(50):\n        y = jnp.sin(y) + i\nz = y + 1",
    ),
    Case(
        "long-loop-that-collects",
        setup="losses = []",
        cell="y = x\nfor i in range(60):\n    y = y * 0.9\n    losses.append(y.sum())\nz = y + 1",
        tolerance=1e-4,
    ),
    Case("nested-loops", cell="y = x\nfor i in range(8):\n    for j in range(8):\n        y = y * 0.9 + j\nz = y + 1"),
    Case(
        "error-in-a-later-statement",
        cell="y = x * 2\nz = y @ jnp.ones(7)",
        raises="TypeError",
    ),
]
