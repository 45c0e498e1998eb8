"""Identity (rule 5): what was one object stays one object, and an input comes back as itself."""

from .case import Case

CASES = [
    Case(
        "same-object",
        cell="""\
y = x
z = x * 2""",
        rule=5,
    ),
    Case(
        "only-aliases",
        cell="""\
y = x
z = y""",
        rule=5,
        reused2=None,
    ),
    Case(
        "two-names-one-result",
        cell="""\
a = jnp.sin(x)
b = a""",
        rule=5,
    ),
    Case(
        "two-results-stay-two",
        cell="""\
a = jnp.sin(x)
b = jnp.sin(x)""",
        rule=5,
    ),
    Case("input-in-container", cell="c = [x, {'x': x}, (x, x + 1)]", rule=5),
    Case(
        "same-list-in-two-names",
        cell="""\
a = [x * 2]
b = a
b.append(x)""",
        rule=5,
    ),
    Case(
        "same-list-inside",
        cell="""\
inner = [x * 2]
outer = {'a': inner, 'b': [inner]}""",
        rule=5,
    ),
    Case(
        "equal-lists-stay-two",
        cell="""\
a = [x]
b = [x]
c = {'a': a, 'b': b}""",
        rule=5,
    ),
    Case(
        "list-holds-itself",
        cell="""\
l = [x * 2]
l.append(l)""",
        rule=5,
        may_refuse=True,
    ),
    Case(
        "input-list-returned",
        setup="l = [x, w]",
        cell="""\
m = l
y = l[0] * 2
n = [l]""",
        rule=5,
    ),
    Case(
        "input-dict-in-new-dict",
        setup="p = {'a': x}",
        cell="state = {'old': p, 'new': {k: v * 2 for k, v in p.items()}}",
        rule=5,
    ),
    Case(
        "input-containers-that-share",
        setup="""\
b = [x]
a = {'v': b}""",
        cell="""\
y = a['v'][0] + b[0]
q = [a, b]""",
        rule=5,
    ),
    Case(
        "one-array-under-two-names",
        setup="z = x",
        cell="""\
y = x + z
q = (x, z)""",
        change=(
            "z = x * 1",
            "x = z",
        ),
        reused=None,
        rule=5,
    ),
    Case(
        "leaf-of-container-bound",
        setup="p = {'l': [x, w]}",
        cell="""\
y = p['l'][0]
z = p['l']""",
        rule=5,
    ),
    Case(
        "identity-through-function",
        cell="""\
def same(a):
    return a
y = same(x)
z = same([x])""",
        rule=5,
    ),
    Case(
        "identity-through-tree-map",
        setup="p = {'a': x, 'b': [w]}",
        cell="y = jax.tree.map(lambda a: a, p)",
        rule=5,
    ),
    Case(
        "identity-through-conditional",
        cell="""\
y = x if True else None
z = (None or x)""",
        rule=5,
    ),
    Case(
        "identity-through-no-op",
        cell="""\
y = jnp.asarray(x)
z = x.astype(x.dtype)
q = x.reshape(3)""",
        loose_identity=(
            "y",
            "z",
            "q",
        ),
        rule=5,
    ),
    Case(
        "rebind-keeps-old-object",
        cell="""\
old = x
x = x + 1""",
        rule=5,
    ),
    Case("rotate", setup="y, z = x + 1, x + 2", cell="x, y, z = y, z, x", rule=5),
    Case(
        "alias-then-update",
        setup="params = {'a': x}",
        cell="""\
ref = params
params = {k: v - 0.1 for k, v in params.items()}""",
        rule=5,
    ),
    Case(
        "result-equal-to-constant",
        cell="""\
a = jnp.zeros(3)
b = jnp.zeros(3)
c = a""",
        rule=5,
    ),
    Case(
        "numpy-input-is-kept",
        setup="a = np.ones(3)",
        cell="""\
y = x * a
b = a
c = [a]""",
        rule=5,
    ),
    Case(
        "objects-are-kept",
        setup="""\
o = object()
class K:
    pass
o = K()""",
        cell="""\
y = x * 2
o2 = o
c = {'o': o}""",
        rule=5,
    ),
    Case(
        "trailing-value-is-the-binding",
        cell="""\
y = jnp.sin(x)
y""",
        rule=5,
    ),
    Case(
        "trailing-value-is-the-input",
        cell="""\
y = x * 2
x""",
        rule=5,
    ),
    Case(
        "trailing-container-shares",
        cell="""\
y = [x * 2]
{'y': y, 'x': x}""",
        rule=5,
    ),
    Case(
        "tuple-is-shared",
        cell="""\
t = (x * 2, x)
a = b = t""",
        rule=5,
    ),
    Case(
        "function-is-shared",
        cell="""\
f = lambda a: a
g = f
h = [f]
y = f(x)""",
        rule=5,
    ),
    Case(
        "class-is-shared",
        cell="""\
class A:
    pass
B = A
a = A()
y = x * isinstance(a, B)""",
        rule=5,
    ),
    Case(
        "dict-of-shared-leaves",
        cell="""\
s = x * 2
d = {'a': s, 'b': s, 'c': s + 0}""",
        rule=5,
    ),
    Case("swap-in-container", setup="p = {'a': x, 'b': x + 1}", cell="p = {'a': p['b'], 'b': p['a']}", rule=5),
    Case(
        "unpacked-rows-are-new",
        cell="""\
a, b, c = w
d = a""",
        rule=5,
    ),
    Case(
        "slice-copies-list",
        setup="l = [x]",
        cell="""\
m = l[:]
m.append(x * 2)
k = list(l)""",
        rule=5,
    ),
    Case(
        "append-to-own-list-alias",
        cell="""\
a = b = []
a.append(x)
b.append(x * 2)""",
        rule=5,
    ),
    Case(
        "kept-over-loop",
        cell="""\
keep = []
for i in range(2):
    t = x * i
    keep.append(t)
last = t""",
        rule=5,
    ),
    Case(
        "untouched-names-are-untouched",
        setup="""\
other = [x, {'w': w}]
more = other[1]
num = np.ones(2)""",
        cell="y = x * 2",
        rule=5,
    ),
    Case(
        "type-itself-in-a-table",
        setup="kept = {'t': type}",
        cell="""\
table = {"t": type, "i": isinstance}
kinds = list(map(type, [x * 2, 1]))
told = kept["t"] is type, table["t"] is type, table["i"](x + 1, jax.Array), [kind.__name__ for kind in kinds]""",
        reused2=None,
    ),
    Case(
        "metaclass-made-in-the-cell",
        cell="""\
class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = cls.__name__
        return made
class Net(metaclass=Meta):
    def __init__(self, v):
        self.v = v
net = Net(x * 2)
y = net.v + 1
told = isinstance(Net, type), type(Net) is Meta, Meta.__mro__[1] is type, net.tag""",
        reused2=None,
    ),
    Case(
        "globals-of-a-function-held-as-a-dict",
        setup="ns = {'jnp': jnp}\nexec('def act(v):\\n    return v * 2', ns)",
        cell="y = ns['act'](jnp.ones(2)) * len(ns)\nz = y + x[0]",
    ),
    Case(
        "dict-that-exec-has-filled",
        setup="ns = {'x': x}\nexec('y = x * 2', ns)",
        cell="z = ns['y'] + ns['x']",
        change="ns['y'] = x * 3",
    ),
]
