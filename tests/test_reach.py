"""What a statement reaches: JAX or not, and whether anything could be seen of it besides what it binds."""

from __future__ import annotations

import math
import sys
import types
from typing import Any

import flax.nnx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxnb.runtime.libraries import is_jax_module, is_library
from jaxnb.staging.cells.code import names_of
from jaxnb.staging.cells.effects import first_effect, resolve
from jaxnb.staging.cells.mutation import may_mutate
from jaxnb.staging.cells.reach import is_user_function, refers_to_jax

SETUP = """
import collections, copy, functools, itertools, math, operator, os, random, time
x, a, n, s, d, l = jnp.ones(3), np.ones(3), 2, "s", {"k": 1}, [1, 2]
boxed = {"deep": [(x,)]}
keyed = {(1, 2): [a]}
def plain(v): return v + n
def calls_jax(v): return jnp.sin(v)
def calls_calls_jax(v): return [calls_jax(w) for w in v]
def reads_x(): return x
def late(v):
    import jax
    return v
def default(v, k=x): return v
def keyword(v, *, k=x): return v
def closes(k):
    def inner(v): return v + k
    return inner
over_x, over_n = closes(x), closes(n)
part, part_n = functools.partial(plain, x), functools.partial(plain, 1)
class Holds:
    def __init__(self, k): self.k = k
    def method(self): return self.k
class Slotted:
    __slots__ = ("k",)
    def __init__(self, k): self.k = k
class Hides:
    __slots__ = ("__k", "unset")
    def __init__(self, k): self.__k = k
    def times(self, v): return v * self.__k
hides_x, hides_n = Hides(x), Hides(n)
class Computes:
    def __call__(self, v): return jnp.sin(v)
class Tidy(dict):
    def total(self): return sum(self.values())
holds_x, holds_n, slotted_x, slotted_n = Holds(x), Holds(n), Slotted(x), Slotted(n)
computes, tidy = Computes(), Tidy(a=1)
objects = np.array([x, None], dtype=object)
def shows(v): print(v)
def shows_deep(v): return shows(v)
def appends(v): l.append(v)
def sets(v): d["k"] = v
def draws(): return np.random.rand()
def recursive(v): return recursive(v - 1) if v else 0
counter = itertools.count()
generated = (i for i in l)
rng = np.random.default_rng(0)
class Shouts:
    def __init__(self): print("made")
"""


@pytest.fixture(scope="module")
def ns() -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, "optax": optax}
    exec(SETUP, namespace)
    return namespace


def names(text: str) -> Any:
    return names_of(compile(text, "<test>", "exec"))


# --- modules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "answer"),
    [
        ("__main__", False),
        (None, True),
        ("math", True),
        ("collections.abc", True),
        ("numpy.linalg", True),
        ("jax", True),
        ("jax._src.core", True),
        ("hypothesis.strategies", True),
        ("no_such_module", False),
        (__name__, False),
    ],
)
def test_libraries_are_what_is_installed(module: str | None, answer: bool) -> None:
    assert is_library(module) is answer


@pytest.mark.parametrize(
    ("module", "answer"),
    [
        ("jax", True),
        ("jax.numpy", True),
        ("jaxlib.xla_client", True),
        ("optax", True),
        (flax.nnx.__name__, True),
        ("numpy", False),
        ("math", False),
        ("__main__", False),
        (None, False),
        ("pytest", False),
        (__name__, True),  # it is the user's own, and imports JAX
    ],
)
def test_jax_modules_are_jax_and_what_is_built_on_it(module: str | None, answer: bool) -> None:
    assert is_jax_module(module) is answer


def test_a_module_of_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("own_of_reach")
    module.__file__ = "/somewhere/own_of_reach.py"
    exec("import numpy as np\nk = 1\nx = np.ones(2)\ndef g(a): return a + k + x", vars(module))
    monkeypatch.setitem(sys.modules, "own_of_reach", module)
    assert not is_library("own_of_reach") and is_user_function(module.g)
    assert not refers_to_jax(names("own_of_reach.g(1)"), {"own_of_reach": module}, {})
    vars(module)["x"] = jnp.ones(2)
    assert refers_to_jax(names("own_of_reach.g(1)"), {"own_of_reach": module}, {})
    assert not refers_to_jax(names("own_of_reach.k"), {"own_of_reach": module}, {})


# --- JAX or not ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["x", "jnp.pi", "y = jax", "boxed", "objects", "calls_jax(1)", "calls_calls_jax(a)", "reads_x()", "default(1)"]
    + ["keyword(1)", "over_x(1)", "part(1)", "holds_x", "slotted_x.k", "computes(1)", "Computes", "holds_x.method()"]
    + ["hides_x.times(2)"]
    + ["def f(): return x", "y = [jnp.sin(v) for v in l]", "x.sum", "optax.sgd(0.1)", "m = x.at", "lambda: x"],
)
def test_what_refers_to_jax(ns: dict[str, Any], text: str) -> None:
    assert refers_to_jax(names(text), ns, {})


@pytest.mark.parametrize(
    "text",
    ["a", "n + 1", "y = 3", "np.sin(a)", "plain(n)", "keyed", "over_n(1)", "part_n(1)", "holds_n", "slotted_n.k"]
    + ["hides_n.times(2)"]
    + ["Holds", "tidy.total()", "d", "print(s)", "math.sin(n)", "missing + 1", "recursive(3)", "def f(x): return x"]
    + ["open", "len(l)", "Slotted(2)", "rng.normal()", "[x for x in l]"],
)
def test_what_does_not_refer_to_jax(ns: dict[str, Any], text: str) -> None:
    assert not refers_to_jax(names(text), ns, {})


def test_a_tracer_that_stands_for_a_plain_value_does_not_count(ns: dict[str, Any]) -> None:
    assert not refers_to_jax(names("y = x + 1"), ns, {id(ns["x"]): 1.5})


def test_resolve_follows_modules_and_classes_and_runs_no_code(ns: dict[str, Any]) -> None:
    class Loud:
        @property
        def k(self) -> int:
            raise AssertionError("was read")

    loud = Loud()
    assert resolve(("math", "sin"), ns) is math.sin and resolve(("len",), ns) is len
    assert resolve(("np", "random", "rand"), ns) is np.random.rand
    assert resolve(("loud", "k", "j"), {"loud": loud}) is loud and resolve(("missing", "a"), {}) is None


# --- effects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("y = 1\nprint(x)", 2, "print"),
        ("y = input()", 1, "input"),
        ("y = np.random.rand()", 1, "random state"),
        ("y = random.gauss(0, 1)", 1, "random"),
        ("y = 1\n\ny = time.time()", 3, "time"),
        ("os.remove('a')", 1, "os"),
        ("y = next(counter)", 1, ""),
        ("y = 1\nfor i in generated: y = i", 2, "iterator"),
        ("shows(1)", 1, "shows does: print"),
        ("shows_deep(1)", 1, "shows_deep does: shows does"),
        ("y = draws() + x", 1, "draws does"),
        ("y = rng.normal()", 1, "rng"),
        ("y = [shows(i) for i in l]", 1, "shows"),
        ("y = functools.partial(shows, 1)", 1, "shows"),
        ("Shouts()", 1, "Shouts"),
        ("def f():\n    return time.time()", 2, "time"),
    ],
)
def test_what_a_replay_would_leave_out_is_found_with_its_line(
    ns: dict[str, Any], text: str, line: int, said: str
) -> None:
    found = first_effect(names(text), ns)
    assert found is not None and found[0] == line and said in found[1]


@pytest.mark.parametrize(
    "text",
    ["y = jnp.sin(x)", "y = math.sin(n)", "y = plain(x)", "y = over_x(n)", "y = part(n)", "y = [i for i in range(n)]"]
    + ["y = collections.OrderedDict(d)", "y = sorted(l, key=len)", "y = np.sin(a)", "y = recursive(3)", "y = Holds(x)"]
    + ["y = jax.random.normal(jax.random.key(0))", "y = optax.sgd(0.1)", "y = computes(x)", "y = holds_x.method()"]
    + ["y = copy.copy(l)", "y = jax.nn.relu(x)", "y = itertools.chain(l)", "y = missing", "def f(): return x"],
)
def test_pure_code_has_no_effect(ns: dict[str, Any], text: str) -> None:
    assert first_effect(names(text), ns) is None


# --- mutation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("d['k'] = 1", True),
        ("a[0] = 1", True),
        ("a += 1", True),
        ("holds_n.k = 1", True),
        ("del d['k']", True),
        ("l.append(1)", True),
        ("appends(1)", True),
        ("sets(1)", True),
        ("[sets(i) for i in l]", True),
        ("y = next(counter)", True),
        ("setattr(holds_n, 'k', 1)", True),
        ("exec(s)", True),
        ("np.copyto(a, 1)", True),
        ("np.random.shuffle(a)", True),
        ("operator.setitem(d, 'k', 1)", True),
        ("random.shuffle(l)", True),
        ("np.put(a, 0, 1)", True),
        ("holds_n.method()", True),  # it might
        ("y = n + 1", False),
        ("y = a + 1", False),
        ("y = np.sin(a)", False),
        ("y = math.sin(n)", False),
        ("y = plain(1)", False),
        ("y = [1, 2]", False),
        ("y = len(l)", False),
        ("y = d['k']", False),
        ("print(n)", False),
        ("def f(): return n", False),
    ],
)
def test_what_might_change_an_object(ns: dict[str, Any], text: str, answer: bool) -> None:
    assert may_mutate(names(text), ns) is answer
