"""Python scalars (rule 3): floats traced unless it shows, ints static until they change, the rest static."""

from .case import Case

CASES = [
    Case(
        "float-is-traced",
        setup="lr = 0.1",
        cell="x = x - lr * x",
        change=(
            "lr = 0.2",
            "lr = 0.05",
        ),
        rule=3,
    ),
    Case(
        "float-weak-type",
        setup="""\
lr = 0.1
x = x.astype(jnp.bfloat16)""",
        cell="y = x * lr",
        change="lr = 0.3",
        rule=3,
    ),
    Case(
        "float-with-int-array",
        setup="""\
lr = 0.5
a = jnp.arange(3)""",
        cell="y = a * lr",
        change="lr = 1.5",
        rule=3,
    ),
    Case(
        "float-becomes-int",
        setup="s = 0.5",
        cell="y = x * s",
        change="s = 2",
        reused=False,
        reason="s",
        rule=3,
    ),
    Case(
        "float-on-the-left",
        setup="lr = 0.5",
        cell="""\
y = lr - x
z = lr / x
q = lr ** x""",
        change="lr = 0.75",
        rule=3,
    ),
    Case(
        "float-in-jnp-call",
        setup="c = 0.75",
        cell="""\
y = jnp.clip(x, -c, c)
z = jnp.full(3, c)
q = jnp.asarray(c)""",
        change="c = 0.25",
        rule=3,
        reused=None,
    ),
    Case(
        "float-is-bound",
        setup="lr = 0.1",
        cell="""\
y = x * lr
kept = lr""",
        change="lr = 0.2",
        reused=None,
        rule=3,
    ),
    Case(
        "float-bound-by-function",
        setup="lr = 0.1",
        cell="""\
def f(a):
    return a * 2
lr2 = f(lr)
y = x * lr2""",
        change="lr = 0.2",
        reused=None,
        rule=3,
    ),
    Case(
        "float-in-tuple-with-array",
        setup="lr = 0.1",
        cell="pair = (x * 2, lr)",
        change="lr = 0.2",
        reused=None,
        rule=3,
    ),
    Case(
        "float-computed-next-to-array",
        setup="lr = 0.1",
        cell="y, lr2 = x * lr, lr * 2",
        change="lr = 0.2",
        reused=None,
        rule=3,
    ),
    Case(
        "float-needed-by-math",
        setup="v = 2.0",
        cell="""\
import math
y = x * math.sqrt(v)""",
        change="v = 3.0",
        reused=None,
        rule=3,
    ),
    Case(
        "float-needed-by-branch",
        setup="lr = 0.1",
        cell="y = x * 2 if lr > 0.5 else x * 3",
        change="lr = 0.9",
        reused=False,
        reason="lr",
        rule=3,
    ),
    Case(
        "float-needed-by-int",
        setup="r = 0.5",
        cell="""\
n = int(r * 4)
y = jnp.zeros(n) + x[:1]""",
        change="r = 0.75",
        reused=None,
        rule=3,
    ),
    Case(
        "float-needed-in-staged-int",
        setup="r = 0.7",
        cell="y = x[: int(r * x.shape[0])]",
        change="r = 0.4",
        reused=False,
        reason="r",
        rule=3,
    ),
    Case(
        "float-isinstance",
        setup="s = 0.5",
        cell="y = x * s if isinstance(s, float) else None",
        change="s = 1.5",
        reused=None,
        rule=7,
    ),
    Case(
        "float-isinstance-in-helper",
        setup="""\
s = 0.5
def f(a, s):
    return a * s if isinstance(s, (int, float)) else None""",
        cell="""\
y = f(x, 0.5)
z = f(x, s)""",
        change="s = 1.5",
        reused=None,
        rule=7,
    ),
    Case(
        "float-type-is",
        setup="s = 0.5",
        cell="y = x * s if type(s) is float else None",
        change="s = 1.5",
        reused=None,
        rule=7,
    ),
    Case(
        "float-as-dict-key",
        setup="s = 0.5",
        cell="""\
t = {s: x * 2}
y = t[0.5]""",
        rule=3,
    ),
    Case(
        "float-in-set-and-hash",
        setup="s = 0.5",
        cell="""\
same = s in {0.5} and x.ndim == 1
y = x * s""",
        rule=3,
    ),
    Case(
        "float-in-fstring-with-shape",
        setup="s = 0.5",
        cell="""\
label = f'{s:.2f}-{x.ndim}'
y = x * s""",
        change="s = 0.25",
        reused=None,
        rule=7,
    ),
    Case(
        "float-equality",
        setup="p = 0.0",
        cell="y = x if p == 0.0 else x * p",
        change="p = 0.5",
        reused=False,
        reason="p",
        rule=3,
    ),
    Case("float-zero-division", setup="s = 0.0", cell="y = x * (1.0 / s)", raises="ZeroDivisionError", rule=3),
    Case(
        "float-arithmetic-in-double",
        setup="""\
a = 1.0000000001
b = 1.0""",
        cell="y = x * (a - b)",
        tolerance=0.0001,
        rule=1,
    ),
    Case("float-arithmetic-in-double-large", setup="a = 1e30", cell="y = x * (a * a / 1e60)", rule=1),
    Case("float-negative-root", setup="s = -1.0", cell="y = x * (s**0.5)", rule=3),
    Case("float-method", setup="s = 2.0", cell="y = x * s.is_integer() + s.real", rule=3),
    Case("float-floor-and-mod", setup="s = 1.0", cell="y = x + (s // 0.3) + (s % 0.3)", rule=3),
    Case("float-round", setup="s = 0.26", cell="y = x * round(s, 1)", rule=3),
    Case(
        "float-round-to-int",
        setup="s = 1.6",
        cell="y = x[: round(s)]",
        change="s = 0.6",
        reused=False,
        rule=3,
    ),
    Case("float-min-max-abs", setup="s = -2.0", cell="y = x * min(s, 1.0) + max(0.0, s) + abs(s)", rule=3),
    Case("float-nan", setup="s = float('nan')", cell="y = x * s", change="s = float('inf')", rule=3),
    Case("float-minus-zero", setup="s = -0.0", cell="y = jnp.copysign(x, s)", rule=3),
    Case(
        "float-in-dict",
        setup="hp = {'lr': 0.1, 'name': 'sgd'}",
        cell="y = x * hp['lr']",
        change=(
            "hp['lr'] = 0.2",
            "hp['name'] = 'adam'",
        ),
        reused=(
            True,
            None,
        ),
        rule=3,
    ),
    Case(
        "float-in-list-of-inputs",
        setup="coefficients = [0.1, 0.2]",
        cell="y = sum(c * x for c in coefficients)",
        change="coefficients[0] = 0.5",
        rule=3,
    ),
    Case(
        "float-too-big-for-float32",
        # JAX warns of the overflow when it first compiles such a product, staged or not
        setup="import warnings\nwarnings.filterwarnings('ignore', 'overflow')\ns = 1e200",
        cell="y = x * s",
        rule=3,
    ),
    Case("complex-scalar", setup="c = 1 + 2j", cell="y = x * c", change="c = 3 - 1j", reused=None, rule=3),
    Case(
        "complex-parts",
        cell="""\
z = x + 1j * x
y = z.real, z.imag, z.conj()""",
        rule=3,
    ),
    Case(
        "int-is-static",
        setup="n = 2",
        cell="y = jnp.zeros(n) + x[0]",
        change="n = 3",
        reused=False,
        reason="n",
        rule=3,
    ),
    Case(
        "int-changed-becomes-input",
        setup="n = 2",
        cell="y = x * n",
        change=(
            "n = 3",
            "n = 4",
            "n = 5",
        ),
        reused=(
            False,
            True,
            True,
        ),
        rule=3,
    ),
    Case(
        "int-changed-but-bound",
        setup="n = 2",
        cell="""\
y = x * n
m = (n + 1, x)""",
        change=(
            "n = 3",
            "n = 4",
        ),
        reused=(
            False,
            True,
        ),
        reason="n",
        rule=3,
    ),
    Case(
        "int-changed-but-needed",
        setup="n = 1",
        cell="y = x.reshape(n, -1)",
        change=(
            "n = 3",
            "n = 1",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "int-used-as-index",
        setup="i = 0",
        cell="y = x[i]",
        change=(
            "i = 1",
            "i = 2",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "int-index-out-of-bounds",
        setup="i = 0",
        cell="y = x[i] + 1",
        change=(
            "i = 1",
            "i = -1",
            "i = 5",
        ),
        reused=None,
        rule=3,
    ),
    Case(
        "int-loop-counter",
        setup="step = 0",
        cell="""\
step = step + 1
x = x * 0.9""",
        change=(
            "pass",
            "pass",
        ),
        reused2=None,
        reused=None,
        rule=3,
    ),
    Case(
        "int-too-big-for-int32",
        setup="n = 2**40",
        cell="y = x * n",
        raises="OverflowError",
        same_message=False,
        rule=3,
    ),
    Case(
        "int-arithmetic-is-exact",
        setup="n = 123456789",
        cell="y = x * ((n * n) % 1000)",
        change=(
            "n = 123456788",
            "n = 123456787",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "int-division",
        setup="n = 3",
        cell="y = x * (n / 2) + n // 2 + n % 2",
        change=(
            "n = 4",
            "n = 5",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "int-power",
        setup="n = 2",
        cell="y = x**n",
        change=(
            "n = 3",
            "n = 0",
            "n = -1",
        ),
        reused=(
            False,
            None,
            None,
        ),
        rule=3,
    ),
    Case(
        "int-shift-and-bits",
        setup="""\
n = 1
a = jnp.arange(8)""",
        cell="y = a & ((1 << n) - 1)",
        change=(
            "n = 2",
            "n = 3",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "int-as-axis",
        setup="axis = 0",
        cell="y = w.sum(axis)",
        change="axis = 1",
        reused=False,
        reason="axis",
        rule=3,
    ),
    Case(
        "int-and-int-array",
        setup="""\
n = 2
a = jnp.arange(3, dtype=jnp.int8)""",
        cell="y = a + n",
        change=(
            "n = 3",
            "n = 4",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "int-becomes-float",
        setup="n = 2",
        cell="y = x * n + 1",
        change="n = 2.5",
        reused=False,
        reason="n",
        rule=3,
    ),
    Case(
        "int-becomes-bool",
        setup="n = 1",
        cell="y = x + n",
        change="n = True",
        reused=False,
        reason="n",
        rule=3,
    ),
    Case(
        "bool-is-static",
        setup="flag = True",
        cell="y = x * flag",
        change="flag = False",
        reused=False,
        reason="flag",
        rule=3,
    ),
    Case(
        "bool-where",
        setup="flag = True",
        cell="y = jnp.where(flag, x, -x)",
        change="flag = False",
        reused=False,
        reason="flag",
        rule=3,
    ),
    Case(
        "str-is-static",
        setup="spec = 'ij,j->i'",
        cell="y = jnp.einsum(spec, w, x)",
        change="spec = 'ji,j->i'",
        reused=False,
        reason="spec",
        rule=3,
    ),
    Case("none-is-static", setup="k = None", cell="y = x[k]", change="k = 0", reused=False, reason="k", rule=3),
    Case("none-axis", setup="axis = None", cell="y = w.sum(axis)"),
    Case(
        "two-ints-one-changes",
        setup="n, m = 2, 3",
        cell="y = x * n + jnp.zeros(m)",
        change=(
            "n = 5",
            "n = 6",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "int-and-array-change-together",
        setup="n = 2",
        cell="y = n * x",
        change="""\
n = 3
x = x + 1""",
        reused=None,
        rule=3,
    ),
    Case(
        "scalars-bound-exactly",
        cell="""\
a, b, c, d, e, f = 1, 1.5, True, None, 'a', 2j
y = x * a""",
        rule=3,
    ),
    Case(
        "scalars-made-by-staged-statements",
        cell="""\
i, f, t = len(x), x.ndim / 2, x.ndim == 1
names = str(x.dtype)
y = x * f""",
        rule=3,
    ),
    Case(
        "static-option",
        setup="lr = 0.1",
        cell="y = x * lr",
        change=(
            "lr = 0.2",
            "lr = 0.1",
        ),
        options={"static": ("lr",)},
        reused=(
            False,
            None,
        ),
        reason="lr",
        rule=3,
    ),
    Case(
        "static-option-allows-branch",
        setup="lr = 0.1",
        cell="y = x * lr if lr > 0 else x",
        options={"static": ("lr",)},
        rule=3,
    ),
    Case(
        "static-option-for-int",
        setup="n = 2",
        cell="y = x * n",
        change=(
            "n = 3",
            "n = 4",
        ),
        options={"static": ("n",)},
        reused=False,
        reason="n",
        rule=3,
    ),
    Case(
        "dynamic-option",
        setup="n = 2",
        cell="y = x * n",
        change=(
            "n = 3",
            "n = 4",
        ),
        options={"dynamic": ("n",)},
        reused=True,
        rule=3,
    ),
    Case(
        "dynamic-option-by-path",
        setup="cfg = {'n': 2, 'mode': 'a'}",
        cell="y = x * cfg['n']",
        change=("cfg['n'] = 3",),
        options={"dynamic": ("cfg['n']",)},
        reused=None,
        may_refuse=True,
        reused2=None,
        rule=3,
    ),
    Case(
        "dynamic-option-attribute",
        setup="""\
import types
cfg = types.SimpleNamespace(n=2)""",
        cell="y = x * cfg.n",
        change=("cfg.n = 3",),
        options={"dynamic": ("cfg.n",)},
        reused=True,
        rule=3,
    ),
    Case(
        "static-option-attribute",
        setup="""\
import types
cfg = types.SimpleNamespace(s=0.5)""",
        cell="y = x * cfg.s",
        change=("cfg.s = 0.25",),
        options={"static": ("cfg.s",)},
        reused=False,
        reason="s",
        rule=3,
    ),
    Case(
        "numpy-scalars",
        setup="""\
s = np.float32(0.5)
i = np.int64(2)""",
        cell="""\
y = x * s
z = x + i""",
        change="""\
s = np.float32(1.5)
i = np.int64(3)""",
    ),
    Case(
        "numpy-scalar-promotes",
        setup="""\
h = x.astype(jnp.bfloat16)
s = np.float32(0.5)""",
        cell="y = h * s",
    ),
    Case(
        "numpy-float64-scalar-promotes",
        setup="""\
h = x.astype(jnp.bfloat16)
s = np.float64(0.5)""",
        cell="""\
y = h * s
z = s * h""",
    ),
    Case(
        "numpy-bool-scalar",
        setup="b = np.bool_(True)",
        cell="y = jnp.where(b, x, -x)",
        change="b = np.bool_(False)",
    ),
    Case(
        "numpy-scalar-branch",
        setup="s = np.float32(2)",
        cell="y = x if s > 1 else -x",
        rule=7,
        reused2=None,
        may_refuse=True,
    ),
    Case(
        "scalar-subclasses",
        setup="""\
import enum
class K(enum.IntEnum):
    A = 2
class F(float):
    pass
k, m = F(1.5), K.A""",
        cell="""\
y = x * k
z = x[: m]""",
        reused2=None,
        rule=3,
    ),
    Case(
        "computed-number-to-numpy",
        setup="s = {'lr': 0.5}\na = np.arange(3.0)",
        cell="s['lr'] = s['lr'] * 0.9\ny = x * s['lr']\nz = a * (s['lr'] * 2)",
        change=("pass", "s['lr'] = 0.25"),
        reused=None,
        reused2=None,
        rule=3,
    ),
    Case(
        "computed-number-as-text-in-a-library",
        setup="""\
import equinox as eqx
class M(eqx.Module):
    w: jax.Array
    lr: float
m = M(x, 0.5)""",
        cell="m = M(m.w * m.lr, m.lr * 0.9)\nt = repr(m)",
        change=("pass", "m = M(x, 2.0)"),
        reused=None,
        reused2=None,
        rule=7,
    ),
    Case(
        "computed-number-by-the-built-ins",
        setup="import builtins\ns = {'lr': 0.5, 'n': 1}",
        cell="s = {'lr': s['lr'] * 0.9, 'n': s['n'] + 1}\ny = x * s['lr']\n"
        "t = [builtins.type(v).__name__ for v in s.values()]",
        change=("pass", "s = {'lr': 2.0, 'n': 4}"),
        reused=None,
        reused2=None,
        rule=7,
    ),
    Case(
        "computed-number-under-singledispatch",
        setup="""\
import functools
@functools.singledispatch
def kind(v): return "other"
@kind.register
def _(v: float): return "float"
@kind.register
def _(v: int): return "int"
s = {'lr': 0.5, 'n': 1, 'w': x}""",
        cell="s = {'lr': s['lr'] * 0.9, 'n': s['n'] + 1, 'w': s['w'] * s['lr']}\n"
        "t = [kind(v) for v in s.values()]\nd = divmod(s['lr'], 1)[1] * x",
        change=("pass", "s['n'] = 2.5"),
        reused=None,
        reused2=None,
        rule=7,
    ),
]
