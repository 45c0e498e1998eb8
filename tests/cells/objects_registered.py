"""Classes that are registered with abstract ones."""

from .case import Case

_CLASSES = """\
import abc, numbers
class A(abc.ABC):
    pass
class Below(A):
    pass
class B:
    k = 2.0
    def __call__(self, v):
        return v * self.k
class C(B):
    pass
def f(v):
    return B()(v) if isinstance(B(), A) else v
"""

CASES = [
    Case(
        "registered-in-the-cell",
        setup=_CLASSES,
        cell="before = isinstance(B(), A)\nA.register(B)\ny = x + 1",
        reused2=None,
        rule=6,
    ),
    Case(
        "registered-between-uses",
        setup=_CLASSES,
        cell="y = f(x)\nA.register(B)\nz = f(x)",
        change=("class B(B): pass", "B.k = 3.0"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "registered-by-a-function",
        setup=_CLASSES + "def g(v):\n    A.register(B)\n    return f(v)",
        cell="y = f(x)\nz = g(x)",
        reused2=None,
        rule=6,
    ),
    Case(
        "registered-by-the-user",
        setup=_CLASSES,
        cell="y = f(x)",
        change=("A.register(C)", "A.register(B)", "x = x + 1", "class B(B): pass", "Below.register(B)"),
        reused=(False, False, True, False, False),
        rule=4,
    ),
    Case(
        "registered-below",
        setup=_CLASSES,
        cell="y = f(x)",
        change="Below.register(B)",
        reused=False,
        rule=4,
    ),
    Case(
        "registered-with-a-library-class",
        setup=_CLASSES,
        cell="y = x * (3 if isinstance(B(), numbers.Number) else 2)",
        change=("numbers.Complex.register(B)", "x = x + 1"),
        reused=(False, True),
        rule=4,
    ),
]
