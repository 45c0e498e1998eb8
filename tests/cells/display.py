"""The trailing expression, its value and its display, and suppression by a semicolon."""

from .case import Case

CASES = [
    Case("trailing-array", cell="jnp.sin(x)"),
    Case(
        "trailing-name",
        cell="""\
y = x * 2
y""",
    ),
    Case(
        "trailing-semicolon",
        cell="""\
y = x * 2
y;""",
    ),
    Case(
        "trailing-semicolon-and-comment",
        cell="""\
y = x * 2
y ;  # quiet; please""",
    ),
    Case(
        "trailing-comment-with-semicolon",
        cell="""\
y = x * 2
y  # not quiet;""",
    ),
    Case(
        "trailing-string-with-semicolon",
        cell="""\
y = x * 2
'a;'""",
    ),
    Case("trailing-assignment", cell="y = x * 4"),
    Case(
        "trailing-none",
        cell="""\
y = x * 2
None""",
    ),
    Case(
        "trailing-call-returning-none",
        cell="""\
l = []
l.append(x)""",
    ),
    Case(
        "trailing-string",
        cell="""\
y = x * 2
'done'""",
    ),
    Case(
        "trailing-int",
        cell="""\
y = x * 2
x.shape[0]""",
    ),
    Case(
        "trailing-float",
        setup="lr = 0.1",
        cell="""\
y = x * lr
lr""",
    ),
    Case(
        "trailing-bool",
        cell="""\
y = x * 2
x.ndim == 1""",
    ),
    Case("trailing-tuple", cell="x, x * 2, 3, 'a', None"),
    Case("trailing-dict", cell="{'z': x * 2, 'a': [w.sum(), 1]}"),
    Case(
        "trailing-function",
        cell="""\
y = x * 2
lambda a: a""",
    ),
    Case(
        "trailing-class",
        cell="""\
y = x * 2
jnp.float32""",
    ),
    Case(
        "trailing-dtype-and-shape",
        cell="""\
y = x * 2
y.dtype, y.shape""",
    ),
    Case(
        "trailing-static-arithmetic",
        setup="n = 3",
        cell="""\
y = x * 2
1 + n""",
    ),
    Case(
        "trailing-numpy",
        cell="""\
a = np.arange(3.0)
y = x * a
a.mean()""",
        rule=2,
    ),
    Case("trailing-walrus", cell="(y := x * 2)"),
    Case("trailing-docstring-only", cell="'just a string'", reused2=None),
    Case(
        "trailing-ellipsis",
        cell="""\
y = x
...""",
        rule=5,
    ),
    Case(
        "trailing-if-shows-nothing",
        cell="""\
y = x
if True:
    y""",
        rule=5,
    ),
    Case(
        "two-expressions-show-the-last",
        cell="""\
x + 1
x + 2""",
    ),
    Case("two-on-a-line", cell="y = x * 2; y"),
    Case("two-on-a-line-quiet", cell="y = x * 2; y;"),
    Case(
        "trailing-multi-line-expression",
        cell="""\
y = x * 2
(
    y
    + 1
)""",
    ),
    Case("trailing-multi-line-quiet", cell=("y = x * 2\n(\n    y\n    + 1\n);\n\n")),
    Case("trailing-conditional", setup="n = 1", cell="x if n else w"),
    Case(
        "trailing-named-tuple",
        cell="""\
from collections import namedtuple
P = namedtuple('P', 'loss n')
P(x.sum(), 3)""",
    ),
    Case("trailing-key", cell="jax.random.key(0)"),
    Case("trailing-scalar-array", cell="x.sum()"),
    Case("trailing-bfloat16", cell="x.astype(jnp.bfloat16)"),
    Case("trailing-lambda-call", cell="(lambda a: a * 2)(x)"),
    Case("trailing-comprehension", cell="[a * 2 for a in (x, w)]"),
    Case(
        "trailing-generator",
        cell="""\
y = x * 2
(i for i in range(2))""",
        reused2=None,
    ),
    Case("only-a-name", cell="x", reused2=None, rule=5),
    Case("only-a-semicolon-name", cell="x;", reused2=None, rule=5),
]
