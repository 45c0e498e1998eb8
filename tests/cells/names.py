"""Names and bindings: every kind of target, deletions, rebinding of inputs."""

from .case import Case

CASES = [
    Case("tuple-target", cell="a, b = x + 1, x - 1"),
    Case("nested-tuple-target", cell="(a, (b, c)), d = (x, (x + 1, 2)), 'd'"),
    Case("list-target", cell="[a, b] = x * 1, x * 2"),
    Case(
        "starred-target",
        cell="""\
first, *rest = x, x + 1, x + 2
*most, last = rest""",
    ),
    Case("unpack-array", cell="a, b, c = x"),
    Case("unpack-rows", cell="(a, b, _), *others = w[:2]"),
    Case("chained", cell="a = b = c = jnp.sin(x)", rule=5),
    Case("chained-with-tuple", cell="a = (b, c) = x + 1, x + 2", rule=5),
    Case(
        "augmented",
        cell="""\
y = x
y += 1""",
        rule=5,
    ),
    Case("augmented-input", cell="x += 1", change="x = x * 0"),
    Case(
        "augmented-every-operator",
        cell="""\
x -= 1
x *= 2
x /= 3
x **= 2
w @= w
x %= 1""",
    ),
    Case(
        "rebind-input",
        cell="""\
x = jnp.sin(x)
x = x * 2
x""",
        change="x = jnp.zeros(3)",
    ),
    Case("rebind-input-other-shape", cell="x = jnp.outer(x, x)[:2]", reused2=False),
    Case("swap", setup="z = x + 10", cell="x, z = z, x", rule=5),
    Case("swap-shapes", cell="x, w = w, x", rule=5),
    Case("walrus", cell="y = (t := jnp.sin(x)) + t"),
    Case("walrus-in-comprehension", cell="ys = [last := x * i for i in range(3)]"),
    Case(
        "walrus-in-condition",
        cell="""\
if (n := len(x)) > 2:
    y = x * n""",
    ),
    Case(
        "delete-own",
        cell="""\
t = x + 1
y = t * 2
del t""",
    ),
    Case(
        "delete-input",
        cell="""\
y = x + 1
del x""",
        again="x = y",
        change="x = y * 2",
    ),
    Case(
        "delete-input-then-bind",
        cell="""\
y = x
del x
x = y + 1""",
        change="x = x * 2",
    ),
    Case(
        "delete-static",
        setup="n = 2",
        cell="""\
y = x * n
del n""",
        again="n = 2",
        change="n = 2",
    ),
    Case(
        "delete-several",
        cell="""\
a = b = x * 2
del a, (b)""",
    ),
    Case(
        "annotated",
        cell="""\
y: jax.Array = x * 2
z: 'unseen'""",
    ),
    Case(
        "annotations-are-kept",
        cell="""\
n: int = 3
y: object = x * n""",
        probes=("sorted(__annotations__)",),
    ),
    Case(
        "global-in-function",
        cell="""\
def f():
    global total
    total = x.sum()
f()""",
        reused2=None,
    ),
    Case(
        "global-read-and-write",
        cell="""\
def bump():
    global x
    x = x + 1
    return x
y = bump() + bump()""",
        reused2=None,
    ),
    Case(
        "global-statement-at-top",
        cell="""\
global y
y = x * 2""",
    ),
    Case(
        "loop-variable-stays",
        cell="""\
for i, row in enumerate(w):
    y = row * i""",
    ),
    Case(
        "comprehension-variable-does-not",
        cell="""\
i = 'kept'
ys = [x * i for i in range(2)]""",
    ),
    Case(
        "with-target",
        cell="""\
import contextlib
with contextlib.nullcontext(x) as y:
    z = y * 2""",
        rule=5,
    ),
    Case(
        "except-target-is-unbound",
        cell="""\
e = 'gone'
try:
    {}['k']
except KeyError as e:
    y = x * 2""",
    ),
    Case(
        "import-target",
        cell="""\
import math as m, jax.nn
from jax import lax as l
y = l.sin(x) * m.pi + jax.nn.relu(x)""",
    ),
    Case(
        "underscore-names",
        cell="""\
_ = x + 1
__t = _ * 2
_y = __t""",
    ),
    Case(
        "unicode-names",
        cell="""\
α = x * 2
β̂ = α + 1
ﬁ = 2 * x""",
    ),
    Case(
        "name-of-builtin",
        cell="""\
sum = x + 1
list = [sum]
len = 3""",
        rule=1,
    ),
    Case(
        "shadowed-builtin-of-earlier-cell",
        setup="""\
def sum(a):
    return a * 100""",
        cell="y = sum(x)",
    ),
    Case(
        "shadowed-builtin-then-deleted",
        cell="""\
max = x
y = max * 2
del max
z = max(1, 2)""",
    ),
    Case(
        "shadowed-range-and-int",
        cell="""\
def range(n):
    return [n]
y = [x * i for i in range(3)]
int = x
z = int + 1""",
    ),
    Case(
        "shadowed-print",
        cell="""\
def print(a):
    return a * 2
y = print(x)""",
    ),
    Case(
        "item-target",
        cell="""\
d = {}
d['a'], d['b'] = x, x + 1""",
    ),
    Case(
        "slice-target",
        cell="""\
l = [0, 0, 0]
l[1:] = [x, x + 1]""",
    ),
    Case(
        "augmented-item",
        cell="""\
d = {'a': x}
d['a'] += 1""",
        rule=6,
    ),
    Case(
        "star-import",
        cell="""\
from math import *
y = x * pi + sqrt(4.0)""",
    ),
    Case(
        "star-import-of-numpy-functions",
        cell="""\
from jax.numpy import *
y = sin(x) + sum(w)""",
        reused2=None,
    ),
    Case(
        "type-alias-and-class",
        cell="""\
Vec = jax.Array
y = x * 2
ok = issubclass(bool, int)""",
    ),
    Case(
        "conditional-binding",
        setup="flag = True",
        cell="""\
if flag:
    y = x
else:
    z = x""",
        change="flag = False",
        reused=False,
        reason="flag",
        rule=5,
    ),
    Case(
        "use-before-rebind",
        setup="s = jnp.float32(3)",
        cell="""\
y = x * s
s = x.sum()""",
    ),
    Case("rebind-static-to-array", setup="n = 3", cell="n = x * n", reused2=False, rule=3),
    Case(
        "rebind-array-to-static",
        setup="n = jnp.arange(2)",
        cell="""\
n = x.shape[0]
y = jnp.ones(n)""",
    ),
    Case(
        "module-attribute-chain",
        cell="""\
y = jax.nn.softmax(x)
z = jax.lax.stop_gradient(y)
u = jax.tree.map(jnp.sin, {'a': x})""",
        loose_identity=("z",),
    ),
    Case(
        "locals-and-globals-lookups",
        cell="""\
names = sorted(k for k in ('x', 'zzz') if k in globals())
y = x * len(names)""",
        may_refuse=True,
        reused2=None,
    ),
    Case("no-names", cell="jnp.sin(x) + 1"),
]
