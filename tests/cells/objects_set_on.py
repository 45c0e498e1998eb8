"""What users set on callables that are no plain functions, and on members of enumerations."""

from .case import Case

_MAKES = {
    "partial": "f = functools.partial(jnp.power, x)",
    "tree-partial": "f = jax.tree_util.Partial(jnp.power, x)",
    "subclass-of-partial": "class P(functools.partial): pass\nf = P(jnp.power, x)",
    "jitted": "f = jax.jit(lambda k: x ** k)",
    "cached": "f = functools.lru_cache(lambda k: k + 1)",
}
_MEMBERS = """\
import enum
class K(enum.Enum):
    A = 1
    B = (2.0, 3)
    C = [4]
    def __init__(self, *v):
        self.gain, self.n, self.w = 1.0, 0, jnp.ones(3)
    def __call__(self, v):
        return v * self.gain
"""


def _setup(kind: str) -> str:
    return f"import functools\n{_MAKES[kind]}\nf.n, f.gain, f.w = 2, 0.5, jnp.ones(3)"


CASES = [
    *(
        Case(
            f"set-on-{kind}-read",
            setup=_setup(kind),
            cell="y = f(f.n) * f.gain * x + f.w",
            change=("f.n = 3", "f.gain = 0.25", "f.w = f.w * 2", "f.more = 1"),
            reused=None,
            rule=4,
        )
        for kind in _MAKES
    ),
    *(
        Case(
            f"set-on-{kind}-written",
            setup=_setup(kind) + "\nf.calls = 0",
            cell="f.calls += 1\nf.w = f.w * x + 1\ny = f(2) * x + f.calls",
            change=("f.calls = 7", "f.w = f.w * 0"),
            reused=None,
            reused2=None,
            rule=6,
        )
        for kind in _MAKES
    ),
    *(
        Case(
            f"set-on-{kind}-first",
            setup=f"import functools\n{_MAKES[kind]}",
            cell="f.w = x * 2\ny = f(2) * x",
            change="f.w = 3",
            reused=None,
            reused2=None,
            rule=6,
        )
        for kind in _MAKES
    ),
    *(
        Case(
            f"set-on-{kind}-made-in-the-cell",
            cell=f"import functools\n{_MAKES[kind]}\nf.calls, f.w = 0, x * 2\ny = f(2) * x",
            probes=("f.calls", "f.w", "f.missing if hasattr(f, 'missing') else 0"),
            again="f.calls = f.missing = 3",
            reused2=None,
            rule=6,
        )
        for kind in ("partial", "jitted")
    ),
    Case(
        "set-on-jitted-that-holds-itself",
        cell="""\
def make(k):
    @jax.jit
    def f(v):
        return v * k if f.calls < 0 else v
    f.calls, f.itself = 0, f
    return f
f = make(x)
y = f(x)
g = f.itself""",
        probes=("f is g", "f.calls"),
        rule=6,
    ),
    Case(
        "set-on-member-read",
        setup=_MEMBERS,
        cell="y = K.A(x) * K.B.n + K.A.w",
        change=("K.A.gain = 3.0", "K.B.n = 4", "K.A.w = K.A.w + 1", "K.C.more = 1"),
        reused=None,
        rule=4,
    ),
    Case(
        "set-on-member-written",
        setup=_MEMBERS,
        cell="K.A.n += 1\nK.A.w = K.A.w * 0.5 + x\nK.B.seen = x.sum()\ny = x * K.A.n",
        change=("K.A.n = 9", "K.A.w = x", "del K.B.seen"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "value-of-member",
        setup=_MEMBERS,
        cell="y = x * K.A.value * K.B.value[0] + len(K.C.value) + K(1).n",
        change=("K.C.value.append(3)", "K.A.n = 2"),
        reused=None,
        rule=4,
    ),
    Case(
        "jitted-in-a-closure",
        setup="def f(v): return v * 2\ndef wrap(h):\n    def inner(v): return h(v) + 1\n    return inner",
        cell="g = wrap(jax.jit(f))\ny = g(x)",
        rule=5,
    ),
    Case(
        "jitted-in-an-attribute",
        setup="def f(v): return v * 2\nclass A:\n    def __init__(self, f): self.f = f",
        cell="a = A(jax.jit(f))\ny = a.f(x)",
        rule=5,
    ),
    Case(
        "jitted-and-checkified",
        setup="from jax.experimental import checkify\ndef f(v): return v * 2",
        cell="g = checkify.checkify(jax.jit(f))\nerr, y = g(x)",
        rule=5,
    ),
    Case(
        "jitted-and-not-called",
        setup="def f(v): return v * 2",
        cell="g = jax.jit(f)\nh = [jax.jit(f), g]\ny = x + 1",
        probes=("h[1] is g", "h[0] is g"),
        rule=5,
    ),
]
