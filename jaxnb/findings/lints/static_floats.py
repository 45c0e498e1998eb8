"""Numbers of Python in the calls of functions under `eqx.filter_jit` (`"retrace"`), as the text of a cell shows.

`jax.jit` makes an array of a number; `eqx.filter_jit` makes everything a part of the program that is no array, and each
value of a number has a program of its own. Source: https://docs.kidger.site/equinox/api/transformations/
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.loops import LoopText
from jaxnb.findings.syntax import in_short, stored_names
from jaxnb.program import Finding

__all__ = ["static_floats"]

FEW = 3


def static_floats(cell: CellText) -> Iterator[Finding]:
    """The floats that a loop of a cell changes, and for which a function is compiled anew.

    Args:
      cell: plain or staged.
    """
    text = cell.text if "filter_jit" in cell.shown or _any_filtered(cell) else None
    for node in text.nodes if text is not None else ():
        if isinstance(node, ast.Call) and text is not None:
            loop = text.loop(node)
            if isinstance(loop, ast.For) and _is_filtered(text.value(node.func)):
                yield from _changing(node, loop, text)


def _changing(call: ast.Call, loop: ast.For, text: LoopText) -> Iterator[Finding]:
    turns = text.turns(loop)
    if turns is not None and turns < FEW:
        return
    bound = stored_names(loop)
    for given in [*call.args, *(one.value for one in call.keywords)]:
        if not isinstance(given, ast.Name) or given.id not in bound or type(text.namespace.get(given.id)) is not float:
            continue
        name = in_short(call.func)
        message = (
            f"`{given.id}` is a float of Python, and `{name}` is under eqx.filter_jit, which makes it a part of the"
            f" program: `{name}` is traced and compiled anew for each value, {text.where(loop)}."
        )
        yield text.finding("retrace", message, call, given.id, f"pass it as an array: `jnp.asarray({given.id})`.")
        return


def _any_filtered(cell: CellText) -> bool:
    return "for " in cell.shown and any(map(_is_filtered, cell.namespace.values()))


def _is_filtered(value: Any) -> bool:
    kind = type(value)
    return kind.__name__ == "_JitWrapper" and kind.__module__.startswith("equinox")
