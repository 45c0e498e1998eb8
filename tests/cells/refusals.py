"""Cells that need a concrete value, or what later issues bring: refused with the reason (rule 7)."""

from .case import Case

CASES = [
    Case(
        "refuse-branch",
        cell="""\
loss = x.sum()
if loss > 0:
    y = x
else:
    y = -x""",
        rule=7,
        refused="line 2",
    ),
    Case(
        "refuse-branch-inside-function",
        cell="""\
def f(a):
    if a.sum() > 0:
        return a
    return -a
y = f(x)""",
        rule=7,
        refused="line",
    ),
    Case(
        "refuse-branch-inside-grad",
        cell="""\
def f(a):
    return a.sum() if a[0] > 0 else 0.0
g = jax.grad(f)(x)""",
        rule=7,
        refused="line",
    ),
    Case(
        "refuse-float",
        cell="""\
loss = x.sum()
v = float(loss)""",
        rule=7,
        refused="line 2",
    ),
    Case(
        "refuse-int",
        cell="""\
n = int(x.argmax())
y = x[:n]""",
        rule=7,
        refused="line 1",
    ),
    Case("refuse-device-attribute", cell="y = x * 2\nd = y.device", rule=7, refused="line 2"),
    Case("refuse-getattr-of-the-device", cell="y = x * 2\nd = getattr(y, 'device', None)", rule=7, refused="line 2"),
    Case("refuse-hasattr-of-the-device", cell="y = x * 2\nok = hasattr(y, 'device')", rule=7, refused="line 2"),
    Case(
        "refuse-a-missing-attribute-that-is-caught",
        cell="""\
y = x * 2
try:
    d = y.device
except AttributeError:
    d = None""",
        rule=7,
        refused="line 3",
    ),
    Case("refuse-item", cell="v = x[0].item()", rule=7, refused="line 1"),
    Case("refuse-tolist", cell="v = x.tolist()", rule=7, refused="line 1"),
    Case(
        "refuse-while",
        cell="""\
while x.sum() < 100:
    x = x * 2""",
        refused="line 1",
        rule=7,
    ),
    Case(
        "refuse-assert",
        cell="""\
y = x * 2
assert jnp.all(y < 100)""",
        refused="line 2",
        rule=7,
    ),
    Case(
        "refuse-fstring",
        cell="""\
loss = x.sum()
label = f'{loss:.2f}'""",
        rule=7,
        refused="line 2",
    ),
    Case("refuse-str", cell="s = str(x * 2)", rule=7, refused="line 1"),
    Case(
        "refuse-repr-in-function",
        cell="""\
def f(a):
    return a, repr(a)
y = f(x)""",
        rule=7,
        refused="line",
    ),
    Case("refuse-format-method", cell="s = '{}'.format(x.sum())", rule=7, refused="line 1"),
    Case(
        "refuse-swallowed",
        cell="""\
try:
    if x.sum() > 0:
        y = x
    else:
        y = -x
except Exception:
    y = None""",
        rule=7,
        refused="line",
    ),
    Case(
        "refuse-swallowed-in-helper",
        setup="""\
def f(a):
    try:
        return a * float(a.sum())
    except Exception:
        return None""",
        cell="y = f(x)",
        rule=7,
        refused="line",
    ),
    Case("refuse-numpy-of-traced", cell="y = np.asarray(x * 2)", rule=7, refused="line 1"),
    Case("refuse-numpy-function-of-traced", cell="y = np.sin(x * 2)", rule=7, refused="line 1"),
    Case("refuse-boolean-mask", cell="y = x[x > 0]", rule=7, refused="line 1"),
    Case("refuse-nonzero", cell="i, = jnp.nonzero(x > 0)", rule=7, refused="line 1"),
    Case(
        "refuse-range",
        cell="""\
n = x.argmax()
y = [x * i for i in range(n)]""",
        rule=7,
        refused="line 2",
    ),
    Case(
        "refuse-type-test",
        cell="""\
y = x * 2
kind = type(y).__name__""",
        rule=7,
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "refuse-in-operator",
        cell="""\
y = x * 2
found = y[0] in [1.0]""",
        refused="line 2",
        rule=7,
    ),
    Case("refuse-sorted", cell="order = sorted([x[0], x[1]])", rule=7, refused="line 1"),
    Case("refuse-max-builtin", cell="m = max(x[0], x[1])", rule=7, refused="line 1"),
    Case(
        "refuse-match-on-value",
        cell="""\
match x.sum():
    case 0:
        y = x
    case _:
        y = -x""",
        rule=7,
        refused="line",
    ),
    Case(
        "refuse-index-list",
        cell="""\
l = [w, x]
y = l[x.argmin()]""",
        refused="line 2",
        rule=7,
    ),
    Case("refuse-shape-from-value", cell="y = jnp.zeros(x.argmax())", refused="line 1", rule=7),
    Case("refuse-shape-from-value-arange", cell="y = jnp.arange(x.sum())", rule=7, refused="line 1"),
    Case(
        "refuse-await",
        cell="""\
import asyncio
await asyncio.sleep(0)
y = x""",
        refused="await",
        rule=7,
    ),
    Case(
        "refuse-magic-line",
        cell="""\
%matplotlib inline
y = x""",
        raises="SyntaxError",
        rule=14,
        may_refuse=True,
    ),
    Case(
        "refuse-config-change",
        cell="""\
jax.config.update('jax_default_matmul_precision', 'highest')
y = x
jax.config.update('jax_default_matmul_precision', None)""",
        refused="config",
        rule=7,
    ),
    Case(
        "refuse-nnx",
        setup="""\
from flax import nnx
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))""",
        cell="""\
y = model(x)
model.kernel[...] = model.kernel[...] * 2""",
        refused="",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "refuse-attribute-mutation",
        setup="""\
class Box:
    pass
box = Box()
box.v = x""",
        cell="box.v = box.v + x",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "refuse-string-array-in-staged",
        setup="names = np.array(['a', 'b'])",
        cell="z = {'n': names, 'y': x * 2}",
        may_refuse=True,
        reused2=None,
        rule=2,
    ),
    Case(
        "refuse-deleted-array",
        setup="""\
gone = x + 1
gone.delete()""",
        cell="y = gone * 2",
        raises="RuntimeError",
        same_message=False,
        may_refuse=True,
        rule=8,
    ),
    Case(
        "isinstance-numpy-of-numpy-input",
        setup="a = np.ones(3)",
        cell="y = x * a if isinstance(a, np.ndarray) else None",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "isinstance-tracer-is-not-told",
        cell="y = x * 2 if isinstance(x, jax.core.Tracer) else x",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "type-of-input-is-not-told",
        cell="""\
k = type(x).__name__
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "id-of-traced",
        setup="z = x",
        cell="""\
same = id(x) == id(z)
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "hash-of-traced",
        cell="""\
try:
    h = hash(x * 2)
except TypeError:
    h = None
y = x""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "numpy-attribute-of-traced",
        cell="""\
d = list(x.devices())[0].platform
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "sharding-of-traced",
        cell="""\
s = x.sharding
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "committed-of-traced",
        cell="""\
c = (x * 2).committed
y = x""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "is-deleted-of-traced",
        cell="""\
d = x.is_deleted()
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "copy-and-deepcopy",
        setup="p = {'a': x, 'n': [1]}",
        cell="""\
import copy
y = copy.copy(x)
z = copy.deepcopy(p)""",
        may_refuse=True,
        reused2=None,
        loose_identity=(
            "y",
            "z",
        ),
        rule=7,
    ),
    Case(
        "pickle-of-traced",
        cell="""\
import pickle
b = len(pickle.dumps(x)) > 0
y = x""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "weakref-of-traced",
        cell="""\
import weakref
r = weakref.ref(x)
alive = r() is x
del r""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "dir-of-traced",
        cell="""\
n = 'at' in dir(x) and callable(x.sum)
y = x * n""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "nbytes-and-itemsize",
        cell="""\
n = x.nbytes + x.itemsize + x.size
y = x * n""",
        rule=1,
    ),
    Case("iterating-zip-of-traced", cell="pairs = [(a, b) for a, b in zip(x, w)]"),
    Case(
        "traced-bool-in-list-count",
        cell="""\
n = [1, 2, 3].count(2)
y = x * n""",
    ),
    Case(
        "equality-of-lists-with-arrays",
        cell="""\
l = [x]
same = l == l
y = x""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "in-list-of-arrays",
        cell="""\
l = [x, 1]
found = x in l
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "float-key-needed-in-helper",
        setup="""\
s = 0.5
def f(a, s):
    return a * {0.5: 2, 1.5: 3}[s]""",
        cell="y = f(x, s)",
        change="s = 1.5",
        reused=False,
        reason="s",
        rule=3,
    ),
]
