"""NumPy values in statements that compute with JAX: NumPy computes with them, in its own types, to the last digit."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawing import drawn_seed
from hypothesis import example, given, seed, settings, strategies as st

import jaxnb

VALUES = """\
a = np.array([1e9 + 0.125, 1e9 + 1.5, 2.0])
b = np.linspace(-1, 1, 3)
h = np.array([0.1, 0.2, 0.3], np.float32)
q = np.array([1.5, 2.5, 3.5], np.float16)
i = np.array([2**40, 3, -5])
j = np.array([1, 2, 3], np.int32)
u = np.array([250, 3, 7], np.uint8)
m = np.array([True, False, True])
w = np.arange(9.0).reshape(3, 3) / 7
s = np.float64(0.1)
r = np.float32(0.7)
k = np.int64(2**33 + 1)
f, n = 0.3, 3
x = jnp.array([0.5, -1.0, 2.0])
"""
CHANGED = "a = a * 1.25; b = b + 0.1; h = h * 2; i = i - 7; u = u + np.uint8(1); w = w.T.copy(); s = s * 3; f = 0.9"


def spaces(setup: str) -> tuple[dict[str, Any], dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for _ in range(2):
        made.append({"np": np, "jnp": jnp, "jax": jax})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(VALUES + setup, made[-1])
    return made[0], made[1]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, jax.Array):
        facts = [(v.dtype, v.shape, v.weak_type) for v in (one, other)] if isinstance(other, jax.Array) else [0, 1]
        return facts[0] == facts[1] and np.allclose(one, other, rtol=2e-4, atol=1e-4, equal_nan=True)
    if isinstance(one, np.ndarray):
        strides = [v.strides if v.size > 1 else () for v in (one, other)]
        facts = [(type(v), v.dtype, v.shape, v.flags.writeable) for v in (one, other)]
        facts = list(zip(facts, strides, strict=True))
        return facts[0] == facts[1] and one.tobytes() == other.tobytes()
    return type(one) is type(other) and repr(one) == repr(other)


def run_plain(cell: str, space: dict[str, Any]) -> Exception | None:
    try:
        exec(cell, space)
    except Exception as error:
        return error
    return None


def check(cell: str, setup: str = "", changed: str = CHANGED) -> list[jaxnb.Run]:
    """Runs a cell plainly and staged: twice, with changed values, and with the first ones again."""
    plain, staged = spaces(setup)
    runs: list[jaxnb.Run] = []
    for change in ("", "", changed, VALUES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for space in (plain, staged):
                exec(change, space)
            if change:
                jax.clear_caches()  # JAX's own cache of a traced function gives the plain cell the old value
            error = run_plain(cell, plain)
            if error is not None:
                with pytest.raises(type(error)):
                    jaxnb.stage(cell, staged)
                continue
            runs.append(jaxnb.stage(cell, staged))
        assert same(plain["y"], staged["y"]), (cell, setup, plain["y"], staged["y"])
    return runs


NUMBERS = [
    "(a * f)",
    "(f - h)",
    "(np.ones(3) * f)",
    "(k // n)",
    "(f ** 2 * b)",
    "np.power(b, n)",
    "np.linspace(0, f, 3)",
]
ATOMS = st.sampled_from([*"abhqijumwsrkx", "x.sum()", "2", "0.5", "True", *NUMBERS])


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "<", ">=", "=="])
    unary = st.sampled_from(
        ["-{}", "abs({})", "{}.sum()", "{}.mean(0)", "{}[0]", "{}[::-1]", "{}[1:]", "{}[..., None]", "{}.T", "{}.max()"]
        + ["{}.astype(np.float32)", "{}.reshape(-1)", "np.sin({})", "np.cumsum({})", "np.square({})", "{} ** 2"]
        + ["np.asarray({})", "jnp.asarray({})", "jnp.sin({})", "np.sort({})", "{}.round(1)", "{}.shape", "({} > 0.2)"]
        + ["np.stack([{0}, {0}])", "{}.copy()", "{}.dtype.name", "divmod({}, 3)", "len({})", "np.unique({})"]
    )
    two = st.sampled_from(["np.maximum({}, {})", "np.where(m, {}, {})", "{}[{} > 0.2]", "np.hypot({}, y={})"])
    return st.one_of(
        st.tuples(inner, binary, inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(unary, inner).map(lambda t: t[0].format(t[1] if t[1].isidentifier() else f"({t[1]})")),
        st.tuples(two, inner, inner).map(lambda t: t[0].format(f"({t[1]})", f"({t[2]})")),
    )


EXPRESSIONS = st.recursive(ATOMS, _deeper, max_leaves=5)


@seed(drawn_seed())
@settings(max_examples=40, deadline=None, database=None)
@given(text=EXPRESSIONS)
@example("a - a[0]")
@example("(i * i)")
@example("(divmod(x.sum(), 3) == b)")
@example("([x.sum(), 1, 2] != b)")
@example("(b[0] == {'a': x})")
def test_any_expression_is_numpys_at_the_top(text: str) -> None:
    check(f"y = ({text}, x * 2)")


@seed(drawn_seed())
@settings(max_examples=40, deadline=None, database=None)
@given(text=EXPRESSIONS)
@example("jnp.asarray(a - a[0])")
def test_any_expression_is_numpys_in_a_helper(text: str) -> None:
    check("y = helper(a, x), x + 1", f"def helper(b, x):\n    c = {text}\n    return [c, jnp.asarray(x) * 2]")


# --- as people write it --------------------------------------------------------------------------------------------

CELLS = {
    "difference of large numbers": ("", "y = jnp.array(a - a[0])"),
    "standardised": ("", "y = jnp.tanh((w - w.mean(0)) / w.std(0)) @ x"),
    "a global of a helper": ("def g(v): return v * jnp.asarray(a - a.min())", "y = g(x)"),
    "a closure": (
        "def make(c):\n    def g(v): return v * jnp.asarray(c - c[0])\n    return g\ng = make(a)",
        "y = g(x)",
    ),
    "a default": ("def g(v, c=a): return v * jnp.asarray(c - c[0])", "y = g(x)"),
    "an attribute": (
        "class C:\n    def __init__(self): self.c = a\n    def __call__(self, v): return v * jnp.array(self.c - 1e9)\n"
        "g = C()",
        "y = g(x)",
    ),
    "inside jit": ("@jax.jit\ndef g(v): return v * jnp.asarray(a - a[0])", "y = g(x)"),
    "inside grad": ("def g(v): return (v * (a - a[0])).sum()", "y = jax.grad(g)(x)"),
    "inside vmap": ("def g(v): return v * (a - a[0])", "y = jax.vmap(g)(jnp.stack([x, x]))"),
    "inside scan": ("def g(c, v): return c + (a - a[0]).sum() * v, None", "y = jax.lax.scan(g, 0.0, x)[0]"),
    "an argument of jit": ("@jax.jit\ndef g(v): return v - v[0]", "y = g(a)"),
    "an argument of grad": ("", "y = jax.grad(lambda v: (v * v).sum())(b)"),
    "an argument of vmap": ("", "y = jax.vmap(lambda v: v - 1e9)(a)"),
    "an operand of scan": ("", "y = jax.lax.scan(lambda c, v: (c + v, c * v), jnp.float32(0), b)"),
    "a tree": ("t = {'a': a, 'b': [b, x]}", "y = jax.tree.map(lambda v: v - v[0], t)"),
    "functions of JAX": ("", "y = [jnp.sum(a), jnp.asarray(a), jnp.ravel(b), jax.nn.softmax(b), jnp.zeros_like(a)]"),
    "what JAX makes of it": ("", "c = jnp.asarray(a)\ny = c - c[0], a - a[0], x"),
    "the rows": ("", "y = [jnp.sum(row - row[0]) for row in w]"),
    "a mask": ("", "y = x[m], jnp.sum(a[a > 1e9])"),
    "a condition": ("", "y = x * 2 if a[0] > 1e9 else x"),
    "an index": ("", "y = x[int(j[0])], x[j - 1], [x, x + 1, x + 2][j[1]]"),
    "NumPy's index by JAX": ("", "p = jnp.argsort(x)\ny = a[p] - a[0], x + 1"),
    "a number": ("", "y = float(a.sum()) * x, f'{a[0]:.3f}', a.tolist(), int(i[0])"),
    "settings": ("", "with np.errstate(divide='ignore'):\n    y = 1 / (b * 0), x"),
    "an error that is caught": ("", "try:\n    c = a[int(j[0])] + a[7]\nexcept IndexError:\n    c = x\ny = c * 2"),
    "several results": ("", "y = (*np.linalg.svd(w), *np.unique(j, return_counts=True), x * 2, np.linalg.svd(w))"),
    "Python scalars": ("", "y = a * (f + 1), np.float64(2) * f, np.ones(3) * f, x * f, (f - n) * s, f < s"),
    "of no dimensions": ("z = np.array(2.5)", "y = z * s + len(x), z[()], x * z"),
    "flat and strides": ("", "y = x + w.strides[0], w.flags.c_contiguous, list(w.flat)[0], w.ctypes.data == 0"),
    "pairs": ("", "y = divmod(i, 3), round(s, 1), 3 in j, abs(-b), x"),
    "a copy": ("import copy", "y = copy.copy(a) - a[0], copy.deepcopy([a, x])"),
    "device_get of what has no inputs": ("", "c = jnp.ones(3)\ny = jax.device_get(c * 2), type(jax.device_get(c[0]))"),
    "device_get": ("", "y = jax.device_get({'x': x * 2, 'a': a})"),
    "fft": ("", "y = jnp.abs(x) * np.abs(np.fft.rfft(a))[:1], np.fft.rfft(a)"),
    "einsum": ("", "y = np.einsum('ij,j->i', w, a), jnp.einsum('ij,j->i', w, x)"),
    "save and sort": ("", "y = np.sort(a)[::-1], np.argsort(b), jnp.argsort(x), a.argmax(), sorted(b)[0]"),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_gives_what_the_plain_one_gives(name: str) -> None:
    setup, cell = CELLS[name]
    check(cell, setup)


def test_changed_values_are_computed_again_and_nothing_is_traced() -> None:
    runs = check("y = jnp.array(a - a[0]) * x, a.astype(np.float32) * h.mean(), w @ b")
    assert [run.reused for run in runs] == [False, True, True, True] and runs[0].host_lines == ()


def test_a_result_of_another_shape_is_traced_for_and_said() -> None:
    plain, staged = spaces("")
    for change in ("", "b = b - 1", "b = b + 1"):
        for space in (plain, staged):
            exec(change, space)
        run_plain("y = x.sum() + b[b > -0.5]", plain)
        run = jaxnb.stage("y = x.sum() + b[b > -0.5]", staged)
        assert same(plain["y"], staged["y"])
        if change == "b = b - 1":
            assert run.retrace is not None and "b[b > -0.5] has another shape" in run.retrace.reasons[0]
    assert run.reused


def test_a_condition_on_a_numpy_value_is_looked_at_each_time() -> None:
    _, staged = spaces("def g(v): return v * 2 if b[0] < 0 else v")
    for low, reused in ((-1.0, False), (-2.0, True), (1.0, False), (-1.0, True), (2.0, True)):
        staged["b"] = np.array([low, 0.0, 0.0])
        run = jaxnb.stage("y = g(x) + 1", staged)
        assert run.reused == reused and same(staged["x"] * (2 if low < 0 else 1) + 1, staged["y"])
    _, staged = spaces("def g(v): return v * 2 if b[0] < 0 else v")
    jaxnb.stage("y = g(x) + 3", staged)
    staged["b"] = np.ones(3)
    run = jaxnb.stage("y = g(x) + 3", staged)
    assert run.retrace is not None and "bool(b[0] < 0) is no longer True" in run.retrace.reasons[0]


def test_a_view_stays_one() -> None:
    plain, staged = spaces("")
    for _ in range(2):
        for space, run in ((plain, exec), (staged, lambda cell, space: jaxnb.stage(cell, space))):
            run("v, y = a[1:], x * 2 + a.sum()", space)
            assert space["v"].base is space["a"] and space["v"].flags.writeable
            space["v"][0] += 1
        assert same(plain["a"], staged["a"]) and same(plain["y"], staged["y"])


def test_a_view_of_what_is_made_there_is_one_of_what_is_made_anew() -> None:
    _, staged = spaces("")
    cell = "c = [v := np.arange(6.0), v[1:4], np.frombuffer(b'abcd', np.uint8), v.reshape(2, 3).T, x * 2]"
    for _ in range(2):
        jaxnb.stage(cell, staged)
        v, part, text, turned, _ = staged["c"]
        assert part.base is v is turned.base and not text.flags.writeable and turned.flags.f_contiguous
        assert part.tolist() == [1, 2, 3] and turned.tolist() == [[0, 3], [1, 4], [2, 5]]
        part[0] = 9
        assert v[1] == 9


@pytest.mark.parametrize(
    "cell",
    [
        "a += len(x)\ny = x * a",
        "a[0] = x[0]\ny = x * a",
        "np.add(a, 1, out=a); y = x * a",
        "g(a); y = x * a",
        "y = g(a) + x",
        "np.add.at(a, [0], x.sum()); y = x",
        "a.sort(); y = x * a",
        "np.copyto(a, b + len(x)); y = x + a",
        "v = a[1:]; v *= len(x); y = x * a",
        "c = np.zeros(3); c += a * len(x); y = c, x + 1",
        "a.fill(len(x)); y = a * x",
        "y = fill(x)",
    ],
)
def test_what_is_written_in_place_is_written_once_a_run(cell: str) -> None:
    setup = "def g(v):\n    v[1] = 7\n    v -= 2\n    return v * jnp.ones(3)\n"
    setup += "def fill(v):\n    c = np.empty(3)\n    for t in range(3):\n        c[t] = a[t] * 2\n    return v + c"
    plain, staged = spaces(setup)
    for _ in range(3):
        assert run_plain(cell, plain) is None
        jaxnb.stage(cell, staged)
        for name in ("a", "y"):
            assert same(plain[name], staged[name]), (name, plain[name], staged[name])


def test_a_failed_cell_leaves_the_arrays_as_they_were() -> None:
    _, staged = spaces("")
    before = staged["a"].copy()
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage("y = x * (a - a[0])\na += len(x)\n1 / 0", staged)
    assert same(before, staged["a"]) and "y" not in staged


def test_read_only_arrays_stay_so_and_raise() -> None:
    _, staged = spaces("a.flags.writeable = False")
    jaxnb.stage("y, z, c = x * 2, a, a[1:]", staged)
    assert staged["z"] is staged["a"] and not staged["c"].flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        jaxnb.stage("a[0] = len(x); y = x * a", staged)


def test_an_iterator_of_a_dict_keeps_its_type() -> None:
    _, staged = spaces("t = {'a': x, 'b': x * 2}")
    for _ in range(2):
        jaxnb.stage("k, v, i, y = iter(t), iter(t.values()), iter(t.items()), x * 2", staged)
        kinds = [type(staged[name]).__name__ for name in "kvi"]
        assert kinds == ["dict_keyiterator", "dict_valueiterator", "dict_itemiterator"]
        assert list(staged["k"]) == ["a", "b"]


def test_gradients_go_through_numpy_inputs_that_were_asked_for() -> None:
    _, staged = spaces("")
    for _ in range(2):
        jaxnb.grad_cell("loss = jnp.sum((h * 2) ** 2 * (b - b[0]))", staged, "loss", ["h"])
        assert np.allclose(staged["d_h"], 8 * staged["h"] * (staged["b"] - staged["b"][0]))


def test_nothing_of_numpy_is_held_afterwards() -> None:
    import gc
    import weakref

    _, staged = spaces("")
    big = weakref.ref(staged["a"])
    jaxnb.stage("y = jnp.array(a - a[0]) * x", staged)
    del staged["a"]
    gc.collect()
    assert big() is None


@pytest.mark.parametrize(
    "made",
    [
        "jnp.ravel(X[0])",
        "jnp.squeeze(X[:2])",
        "jnp.expand_dims(X[:2], ())",
        "jnp.broadcast_to(X[:2], (2, 4))",
        "jnp.concatenate([X[:2]])",
        "jnp.concatenate([X ** d for d in range(1, 2)], -1)",
        "jnp.astype(X[:2], jnp.float32)",
        "jnp.reshape(X[:2], (2, 4))",
    ],
)
def test_what_jax_gives_for_a_value_of_numpy_has_the_class_of_the_plain_cell(made: str) -> None:
    """JAX makes an Array of it, or hands it on, also where no operation is left to be done."""
    plain, staged = ({"jnp": jnp, "X": np.ones((2, 4), np.float32)} for _ in range(2))
    for _ in range(2):
        exec(f"r = {made}", plain)
        jaxnb.stage(f"r = {made}", staged)
        assert type(staged["r"]) is type(plain["r"])
        assert np.array_equal(np.asarray(staged["r"]), np.asarray(plain["r"]))
