"""Arrays that Python goes through, or puts together, element by element (`"transfer"`), as the text of a cell shows.

`sum` of Python adds up the rows of an array one after the other, each an array of its own; and an array that is made of
a list of arrays takes them one after the other, where `vmap` makes one program of all of them.
Source: https://docs.jax.dev/en/latest/faq.html (benchmarking, small operations)
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.lints.misread_text import values_of
from jaxnb.findings.loops import LoopText
from jaxnb.findings.syntax import in_short
from jaxnb.program import Finding

__all__ = ["one_by_one"]

MANY = 50
"""So many elements are told."""
_WORTH = re.compile(r"\b(sum|max|min|sorted|any|all|array|asarray|stack)\(")
_REDUCING = {"sum": "sum", "max": "max", "min": "min", "sorted": "sort", "any": "any", "all": "all"}
_JOINING = frozenset({"array", "asarray", "stack"})


def one_by_one(cell: CellText) -> Iterator[Finding]:
    """The arrays of a cell that are taken apart, or put together, by Python.

    Args:
      cell: plain or staged.
    """
    text = cell.text if _WORTH.search(cell.shown) else None
    for node in text.nodes if text is not None else ():
        if isinstance(node, ast.Call) and len(node.args) == 1 and text is not None:
            yield from _reduced(node, text)
            yield from _joined(node, text)


def _reduced(call: ast.Call, text: LoopText) -> Iterator[Finding]:
    """`sum(x)` of an array, by Python's own function."""
    name, given = getattr(call.func, "id", ""), call.args[0]
    if name not in _REDUCING or not isinstance(given, ast.Name) or call.keywords:
        return
    if text.namespace.get(name, getattr(builtins, name)) is not getattr(builtins, name):
        return
    values = list(values_of(given, text, jitted=True))
    sizes = [value.shape[0] for value in values if isinstance(value, jax.Array) and value.ndim]
    if not sizes or len(sizes) < len(values) or min(sizes) < MANY:
        return
    axis = "" if all(value.ndim == 1 for value in values) else ", axis=0"
    message = (
        f"`{name}({given.id})` is Python's: it goes through the {sizes[0]} elements of `{given.id}` one by one, each of"
        " which becomes an array of its own."
    )
    fix = f"write `jnp.{_REDUCING[name]}({given.id}{axis})`."
    yield text.finding("transfer", message, call, given.id, fix)


def _joined(call: ast.Call, text: LoopText) -> Iterator[Finding]:
    """`jnp.array([f(x) for x in xs])`, outside of functions that are compiled."""
    elements = call.args[0]
    if not isinstance(elements, ast.ListComp) or text.called(call).rpartition(".")[2] not in _JOINING:
        return
    turns = text.turns(elements)
    if turns is None or turns < MANY or any(isinstance(one, ast.FunctionDef | ast.Lambda) for one in text.around(call)):
        return
    computed = [one for one in ast.walk(elements.elt) if isinstance(one, ast.Call) and _dispatches(one, text)]
    if not computed:
        return
    what = in_short(computed[0])
    message = (
        f"`{in_short(call)}` is put together of {turns} arrays one by one: `{what}` is dispatched for each of them, and"
        " each is taken over on its own."
    )
    target = ast.unparse(elements.generators[0].iter)
    fix = f"compute all of them at once: jax.vmap of what is done with one, over `{target}`."
    yield text.finding("transfer", message, call, what, fix)


def _dispatches(call: ast.Call, text: LoopText) -> bool:
    """Whether a call gives an array of JAX: it is of `jax.numpy`, or of a jitted function."""
    value: Any = text.value(call.func)
    return text.called(call).startswith(("jax.numpy", "jax._src.numpy")) or _jax.jit_options(value) is not None
