"""The table of private names: it is complete, each row is used, tested and looked up, and nothing in it is public."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.core
import jax.interpreters.ad
import jax.interpreters.batching
import jax.interpreters.mlir
import jax.interpreters.partial_eval
import jax.interpreters.pxla
import jax.ref
import pytest
from private_names import Reader

from jaxnb import _jax
from jaxnb._jax import contract
from jaxnb._jax.contract import CONTRACT, EQUATIONS, Name

ROOM = Path(contract.__file__).parent
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in ROOM.glob("*.py") if path.stem != "contract"}
TESTS = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]

OTHERS = frozenset({"opaque_jaxpr", "given", "JAX_EARLY", "vals", "tree", "PjitFunction"})
"""What is read of objects that other modules of the package make, and what is public in some versions only."""

NOWHERE = frozenset({"call", "closed_call", "custom_partitioning", "run_scoped"})
"""Primitives that are told by their name alone: kernels, and those of which other versions have equations."""

ELSEWHERE = frozenset({"jax", "jaxlib", "name"})
"""Texts in the places of parameters that are none of JAX's equations."""


def unlisted(source: str) -> set[str]:
    """What a source text relies on and the contract does not list."""
    reader = Reader(source)
    paths = {path for name in CONTRACT for path in (name.path, *name.instead)}
    last = {path.rpartition(".")[2] for path in paths}
    parameters = {text for row in EQUATIONS for text in (*row.parameters, *row.instead)} | last | COMPILE_ARGS
    primitives = {row.primitive for row in EQUATIONS} | NOWHERE
    found = {path for path in reader.paths if not any(f"{name}.".startswith(f"{path}.") for name in paths)}
    raising = frozenset[str]().union(*_jax.RAISING.values())  # see test_contract_raising
    found |= {f".{name}" for name in reader.attributes - last - OTHERS - raising}
    found |= {f"[{name!r}]" for name in reader.parameters - parameters - ELSEWHERE}
    return found | {f"primitive {name}" for name in reader.primitives - primitives}


COMPILE_ARGS = frozenset(
    {"in_shardings", "kept_var_idx", "ordered_effects", "out_shardings", "sharding", "out_sharding"}
)
"""Keys of `MeshComputation.compile_args`, and the parameter by which many primitives name how their result lies."""


@pytest.mark.parametrize("module", SOURCES)
def test_every_private_name_is_in_the_contract(module: str) -> None:
    assert unlisted(SOURCES[module]) == set()


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("from jax._src import made_up", "jax._src.made_up"),
        ("from jax._src import core\ncore.made_up()", "jax._src.core.made_up"),
        ("from jax._src import core as _core\n_core.trace_ctx.made_up", ".made_up"),
        ("import jax._src.core as c\nx = c.made_up", "jax._src.core.made_up"),
        ("from jax._src.core import made_up as ours", "jax._src.core.made_up"),
        ("from jaxlib import _jax\n_jax.made_up", "jaxlib._jax.made_up"),
        ("def f(x):\n    return x._made_up", "._made_up"),
        ("def f(x):\n    return x.aval.made_up", ".made_up"),
        ("def f(x):\n    return getattr(x, '_made_up', None)", "._made_up"),
        ("NAME = '_made_up'\ndef f(x):\n    return hasattr(x, NAME)", "._made_up"),
        ("def f(x):\n    return [getattr(x, name) for name in ('val', 'made_up')]", ".made_up"),
        ("import jax\njax.numpy._made_up", "._made_up"),
        ("def f(eqn):\n    return eqn.params['made_up']", "['made_up']"),
        ("def f(eqn):\n    return eqn.primitive.name == 'made_up'", "primitive made_up"),
        ("def f(x):\n    return type(x).__name__ == 'MadeUp'", ".MadeUp"),
    ],
)
def test_a_name_that_is_not_in_the_contract_is_found(source: str, missing: str) -> None:
    assert missing in unlisted(source)


def test_what_is_public_need_not_be_in_the_contract() -> None:
    source = (
        "import jax\nfrom jax import numpy as jnp\ndef f(x):\n    return jnp.sin(x).shape, jax.typeof(x), x.aval.dtype"
    )
    assert unlisted(source) == set()


def test_every_row_is_used_where_it_says() -> None:
    assert [name.path for name in CONTRACT if not is_used(name.path)] == []
    for name in (*CONTRACT, *EQUATIONS):
        module, _, function = name.used_by.partition(".")
        assert function in words_of(module), f"there is no {name.used_by}"


def is_used(path: str) -> bool:
    """Whether a name, or a text of which it is the end, occurs in the room."""
    last, words = path.rpartition(".")[2], set[str]().union(*map(words_of, SOURCES))
    if "/" in path:
        return any(path.endswith(word) for word in words if word.endswith(".py"))
    return last in words or any(last.endswith(word) for word in words if word.startswith("_") and len(word) > 8)


def test_every_equation_is_used() -> None:
    words = set[str]().union(*map(words_of, SOURCES))
    assert {text for row in EQUATIONS for text in (*row.parameters, *row.instead)} - words == set()
    names = {row.primitive for row in EQUATIONS if not row.parameters} | NOWHERE
    assert {name for name in names if not {name, f"{name}_p"} & words} == set()


@cache
def words_of(module: str) -> frozenset[str]:
    """The names, attributes and texts of a module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(SOURCES[module])):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found.add(node.name)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return frozenset(found)


# --- each row has a test of what it promises ---


def covered() -> list[str]:
    """What the decorators `covers` of the tests beside this one name, whether or not they run."""
    return [
        argument.value
        for source in TESTS
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        for call in node.decorator_list
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "covers"
        for part in call.args
        for argument in ast.walk(part)
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def test_every_row_has_a_test_of_what_it_promises() -> None:
    rows = [*(name.path for name in CONTRACT), *(row.primitive for row in EQUATIONS)]
    meant = {
        text: [text] if text in rows else [row for row in rows if row.endswith(f".{text}")] for text in set(covered())
    }
    assert {text: found for text, found in meant.items() if len(found) != 1} == {}, "no row, or several"
    assert set(rows) - {row for found in meant.values() for row in found} == set()
    assert len(set(rows)) == len(rows)


# --- the look-up ---


def test_nothing_is_broken() -> None:
    assert [item.what for item in _jax.broken()] == []


MADE_UP: dict[str, tuple[Name, str]] = {
    "a name": (Name("jax._src.core.made_up", "", "", ""), "there is no jax._src.core.made_up"),
    "a module": (Name("jax._src.made_up.name", "", "", ""), "there is no jax._src.made_up"),
    "an attribute": (Name("jax._src.core.Tracer.made_up", "", "", ""), "there is no jax._src.core.Tracer.made_up"),
    "a file": (Name("jax/_src/made_up.py", "", "", ""), "there is no file jax/_src/made_up.py"),
    "both places": (Name("jax._src.a", "", "", "", instead=("jax._src.b",)), "there is no jax._src.a"),
    "arguments": (Name("jax._src.core.eval_jaxpr", "", "", "", (1,)), "other parameters: missing a required argument"),
    "a keyword": (Name("jax._src.core.eval_jaxpr", "", "", "", (2, "made_up")), "unexpected keyword argument"),
    "a count": (Name("jax._src.core.Tracer.__repr__", "", "", "", arity=2), "has other parameters: (self)"),
}


@pytest.mark.parametrize("kind", MADE_UP)
def test_what_is_missing_is_told(kind: str) -> None:
    name, what = MADE_UP[kind]
    (found,) = _jax.broken([name])
    assert found.name is name and what in found.what


def test_what_lies_in_something_that_is_missing_is_told_once() -> None:
    names = [Name(f"jax._src.made_up.{name}", "", "", "") for name in ("a", "b.c")]
    assert [item.what for item in _jax.broken(names)] == ["there is no jax._src.made_up"]
    assert _jax.broken([Name("jax._src.core.a", "", "", "", instead=("jax._src.core.Tracer",))]) == []


def test_the_look_up_needs_none_of_its_sisters_and_loads_nothing_that_jax_has_not() -> None:
    code = """
import sys, jax, jax.experimental.layout, jax.experimental.layout
before = set(sys.modules)
import jaxnb
from jaxnb import _jax
assert _jax.broken() == []
more = {name for name in set(sys.modules) - before if name.partition(".")[0] != "jaxnb"}
own = {name for name in sys.modules if name.startswith("jaxnb._jax.")}
print(sorted(name for name in more if name.startswith("jax")), sorted(own))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] ['jaxnb._jax.contract']"


PUBLIC: list[Any] = [
    *(jax, jax.core, jax.lax, jax.numpy, jax.stages, jax.sharding, jax.ref, jax.errors, jax.dtypes, jax.tree_util),
    *(jax.interpreters.ad, jax.interpreters.batching, jax.interpreters.partial_eval, jax.interpreters.mlir),
    jax.interpreters.pxla,
]

KEPT = (
    "jax._src.api.vjp ",
    "jax._src.core.Tracer ",
    "jax._src.interpreters.partial_eval.convert_",
    "jax._src.interpreters.partial_eval.partial_",
)
"""What has a public name that is replaced while code is watched, or that only jax 0.12 has."""


def test_no_row_has_a_public_name_that_would_do() -> None:
    """Other than those that are replaced, which must be done where JAX itself looks."""
    public = {
        id(value): f"{module.__name__}.{name}"
        for module in PUBLIC
        for name, value in vars(module).items()
        if name[0] != "_" and not isinstance(value, str | int | tuple | ModuleType)
    }
    found: list[str] = []
    for name in CONTRACT:
        value, _ = contract.look_up(name.path) if "/" not in name.path else (None, "")
        if value is not None and id(value) in public and not name.arity and name.path.startswith("jax._src"):
            found.append(f"{name.path} is {public[id(value)]}")
    assert [text for text in found if not text.startswith(KEPT)] == []


def test_all_of_it_is_asked_of_the_door() -> None:
    assert _jax.broken is contract.broken and _jax.Broken is contract.Broken
    assert not _jax.fails_to_load("base")
