"""What a library is told of a traced value and hands on: its text, its class, whether a type of its own fits it."""

from .case import Case

TYPED = """\
from jaxtyping import Array, Float, Int, Shaped
def kind_of(v):
    if isinstance(v, Float[Array, 'n']):
        return 'vector'
    if isinstance(v, (Float[Array, 'n m'], Int[Array, '...'])):
        return 'matrix or ints'
    return type(v).__name__"""

RESULTS = """\
import equinox as eqx
class RESULTS(eqx.Enumeration):
    ok = ''
    diverged = 'it diverged'
def solve(v):
    return RESULTS.where(v.sum() < 10, RESULTS.ok, RESULTS.diverged)"""

OWN_TYPES = """\
class Meta(type):
    def __instancecheck__(cls, v):
        return isinstance(v, jax.Array) and v.ndim == cls.ndim
class Vector(metaclass=Meta):
    ndim = 1
class Matrix(metaclass=Meta):
    ndim = 2"""

CASES = [
    Case("jaxtyping-isinstance", "y = w * 2\nok = isinstance(y, Float[Array, '3 3'])", setup=TYPED, rule=7),
    Case("jaxtyping-isinstance-no", "y = w * 2\nok = isinstance(y, Float[Array, '3 4'])", setup=TYPED, rule=7),
    Case(
        "jaxtyping-chain",
        "ys = [x * 2, w[:1] + 1, jnp.arange(3) * 2]\nkinds = [kind_of(y) for y in ys]",
        setup=TYPED,
        change="x = w[0]",
        rule=7,
    ),
    Case(
        "jaxtyping-union",
        "y = x * 2\nok = isinstance(y, Float[Array, '3'] | None), isinstance(y, Int[Array, '3'] | None)",
        setup=TYPED,
        rule=7,
    ),
    Case(
        "jaxtyping-number",
        "y = x * k\nok = isinstance(k, Float[Array, '']), isinstance(k * 2, Shaped[Array, ''])",
        setup=TYPED + "\nk = 2.0",
        change="k = jnp.array(3.0)",
        reused=False,
        rule=7,
    ),
    Case(
        "own-class-that-looks-at-values",
        "y = w @ x\nkinds = [isinstance(v, (Vector, dict)) for v in (y, w * 2)], isinstance(y, Vector | Matrix)",
        setup=OWN_TYPES,
        rule=7,
    ),
    Case(
        "enumeration-message",
        "result = solve(x)\nmessage = RESULTS[result]\ny = x * 2",
        setup=RESULTS,
        change="x = x * 100",
        rule=7,
    ),
    Case(
        "enumeration-text",
        "result = solve(x)\ntexts = f'{result}', str(result), repr(result)",
        setup=RESULTS,
        change="x = x * 100",
        rule=7,
    ),
    Case("enumeration-is-traced", "result = solve(x)\ntraced = result.is_traced()", setup=RESULTS, rule=7),
    Case(
        "enumeration-inside-jit",
        "texts = []\ny = jax.jit(lambda v: (texts.append(RESULTS[solve(v)]), v * 2)[1])(x)",
        setup=RESULTS,
        may_refuse=True,
        reused2=None,
        rule=7,
    ),
    Case(
        "tree-pformat",
        "tree = jax.tree.map(lambda v: v * 2, {'w': w})\ntext = eqx.tree_pformat(tree, short_arrays=False)",
        setup="import equinox as eqx",
        rule=7,
    ),
    Case(
        "module-text",
        "model = jax.tree.map(lambda v: v * 2, model)\ntext = repr(model), eqx.tree_pformat(model)",
        setup="import equinox as eqx\nmodel = eqx.nn.Linear(3, 1, key=jax.random.key(0))",
        rule=7,
    ),
    Case(
        "nnx-text",
        "net.kernel[...] = net.kernel[...] * 2\ntext = repr(net), str(net.kernel)",
        setup="from flax import nnx\nnet = nnx.Linear(3, 1, rngs=nnx.Rngs(0))",
        rule=7,
    ),
    Case(
        "class-attribute",
        "y = x * 2\nname = y.__class__.__name__\nsame = y.__class__ is type(x)\ndescribed = described_by(y * 2)",
        setup="def described_by(v):\n    return f'{v.__class__.__qualname__}{v.shape}'",
        rule=7,
    ),
    Case(
        "class-attribute-of-numbers-and-numpy",
        "y = x * k\nnames = [v.__class__.__name__ for v in (k, a, a * 2, k * 2, y)]",
        setup="k = 2.0\na = np.ones(3, np.float32)",
        change="k = 3.0",
        reused=None,
        rule=7,
    ),
    Case(
        "class-attribute-inside-vmap",
        "names = []\ny = jax.vmap(lambda v: (names.append(v.__class__.__name__), v * 2)[1])(w)",
        reused2=None,
        rule=7,
    ),
    Case(
        "numpy-indexed-inside-jit",
        "y = x * 2\nz = jax.jit(lambda i: table[i])(jnp.arange(3))",
        setup="table = np.arange(3.0)",
        raises="TracerArrayConversionError",
        same_message=False,
    ),
    Case(
        "numpy-indexed-inside-scan",
        """\
try:
    y = jax.lax.scan(lambda c, i: (c + table[i], c), 0.0, jnp.arange(3))
except Exception as error:
    y = x * 2, type(error).__name__""",
        setup="table = np.arange(3.0)",
    ),
    Case(
        "numpy-lifted-and-indexed-inside-vmap",
        "y = jax.vmap(lambda i: jnp.asarray(table)[i] + jnp.take(table, i))(jnp.arange(3))",
        setup="table = np.arange(3.0, dtype=np.float32)",
        change="table = table + 1",
    ),
    Case("tracer-class-kept", "y = x * 2\nkept = jax.core.Tracer\nis_one = isinstance(y, jax.core.Tracer)", rule=7),
]
