"""The text of a cell: strings over lines, comments, continuations, semicolons, futures, odd layout."""

from .case import Case

CASES = [
    Case("triple-quoted", cell=('doc = """first\n  indented\n\tlast\n"""\ny = x * len(doc)')),
    Case(
        "triple-quoted-in-function",
        cell="""\
def f(a):
    '''Doc
  not indented
    '''
    return a * 2
y = f(x)""",
        probes=("f.__doc__",),
    ),
    Case(
        "comments",
        cell="""\
# a comment
y = x * 2  # another
# y = 0

# last""",
    ),
    Case(
        "only-comments",
        cell="""\
# nothing

# here""",
        reused2=None,
        rule=14,
    ),
    Case("empty-cell", cell="", reused2=None, rule=14),
    Case("only-pass", cell="pass", reused2=None, rule=14),
    Case("continuation", cell=("y = x + \\\n    1\nz = (x +\n     2)\nl = [\n    x,\n    y,\n]")),
    Case("semicolons", cell="a = x * 2; b = a + 1; c = b.sum()"),
    Case(
        "compound-on-one-line",
        cell="""\
if True: y = x * 2
for i in range(2): y = y + i
def f(a): return a * 2
z = f(y)""",
    ),
    Case(
        "fstring-over-static",
        setup="n = 3",
        cell="""\
name = f'n={n:>4} {n!r} {"nested"} {{}}'
y = {name: x * n}""",
    ),
    Case(
        "fstring-over-shape",
        cell="""\
label = f'{x.shape}-{x.dtype}'
y = x * 2""",
    ),
    Case(
        "fstring-debug",
        setup="n = 3",
        cell="""\
s = f'{n=}'
y = x * n""",
    ),
    Case("raw-and-bytes", cell=("r = r'\\d+'\nb = b'\\x00a'\nu = '\\u00e9'\ny = x * len(r + u)")),
    Case(
        "implicit-concatenation",
        cell="""\
s = ('a'
     'b'
     f'{1 + 1}')
y = x * len(s)""",
    ),
    Case(
        "future-annotations",
        cell="""\
from __future__ import annotations
def f(a: Missing, b: AlsoMissing = 1) -> Nothing:
    return a * b
y: Unknown = f(x)""",
        probes=("f.__annotations__",),
    ),
    Case("tabs", cell=("if True:\n\ty = x * 2\n\tz = y + 1")),
    Case("windows-line-ends", cell=("y = x * 2\r\nz = y + 1\r\n")),
    Case("form-feed-and-blank-lines", cell=("\n\n\x0cy = x * 2\n\n\n\nz = y\n\n")),
    Case("trailing-whitespace", cell=("y = x * 2   \n   \n")),
    Case(
        "non-ascii-text",
        cell="""\
s = 'grüße → 数'
λ = x * len(s)""",
    ),
    Case("number-forms", cell="y = x * 1_000 + 0x10 + 0b11 + 1e-3 + .5"),
    Case(
        "chained-calls-over-lines",
        cell="""\
y = (
    x
    .reshape(3, 1)
    .sum(axis=0)
)""",
    ),
    Case(
        "decorator-expression",
        cell="""\
@(lambda f: f)
def g(a): return a + 1
y = g(x)""",
        probes=("g(1)",),
    ),
    Case(
        "lambda-over-lines",
        cell="""\
f = (
    lambda a, b=2:
    a * b
)
y = f(x)""",
        probes=("f(2)",),
    ),
    Case(
        "nested-quotes-hash",
        cell="""\
s = '# not a comment; y = 1'
y = x * s.count(';')""",
    ),
    Case(
        "star-expressions",
        cell="""\
y = [*[x, w], *(1, 2)]
d = {**{'a': x}}
f = lambda *a, **k: (a, k)
z = f(*y[:1], **d)""",
    ),
    Case("slices-and-steps", cell="y = x[::2], x[-1:], w[1:, :-1], w[..., ::-1]"),
    Case(
        "conditional-import",
        cell="""\
try:
    import not_there_at_all as lib
except ImportError:
    lib = None
y = x if lib is None else lib.f(x)""",
        rule=5,
    ),
    Case(
        "del-then-error-free",
        cell="""\
t = x
del t
found = 't' in dir()
y = x * 2""",
        may_refuse=True,
        reused2=None,
    ),
    Case("long-cell", cell=("y = x\n") + "\n".join(f"y = jnp.sin(y) + {i}" for i in range(60))),
    Case(
        "exec-inside",
        cell="""\
exec('q = 3')
y = x * q""",
        may_refuse=True,
        reused2=None,
    ),
    Case("eval-of-array-expression", cell="y = eval('x * 2')", may_refuse=True, reused2=None),
    Case(
        "dunder-name-and-doc",
        cell="""\
n = __name__
y = {n: x * 2}""",
    ),
    Case(
        "assert-message-fstring",
        cell="""\
assert x.ndim == 1, f'{x.shape}'
y = x""",
    ),
    Case("positional-pattern", cell="y = {'a': x}['a'] if 'a' in {'a'} else None", rule=5),
    Case(
        "lambda-in-default-and-decorated-class",
        cell="""\
def reg(c):
    c.tag = 'r'
    return c
@reg
class A:
    f = staticmethod(lambda a: a * 2)
y = A.f(x)
t = A.tag""",
    ),
]
