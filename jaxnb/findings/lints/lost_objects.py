"""Objects of flax.nnx that a function changes which `jax.jit` compiles, as the text of a cell shows.

`jax.jit` takes them for pytrees: the function is given copies, and what it changes in these is lost. `nnx.jit` carries
the changes out.
Source: https://flax.readthedocs.io/en/latest/guides/transforms.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.loops import LoopText
from jaxnb.findings.values.functional import is_object
from jaxnb.program import Finding

__all__ = ["lost_objects"]


def lost_objects(cell: CellText) -> Iterator[Finding]:
    """The changes of objects that are lost in a cell.

    Args:
      cell: plain or staged.
    """
    text = cell.text if "jit" in cell.shown and "nnx" in cell.shown else None
    for node in text.nodes if text is not None else ():
        if isinstance(node, ast.FunctionDef) and text is not None and any(map(_is_jit, node.decorator_list)):
            yield from _changed(node, text)


def _is_jit(node: ast.expr) -> bool:
    shown = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(shown) == "jax.jit"


def _changed(function: ast.FunctionDef, text: LoopText) -> Iterator[Finding]:
    names = [one.arg for one in function.args.args]
    returned = {
        part.id
        for one in ast.walk(function)
        if isinstance(one, ast.Return) and one.value is not None
        for part in ast.walk(one.value)
        if isinstance(part, ast.Name)
    }
    for statement in function.body:
        changed = _change(statement)
        if changed not in names or changed in returned or not _is_given_object(function, names.index(changed), text):
            continue
        call = ast.unparse(statement)
        others = [
            one.id
            for one in ast.walk(statement)
            if isinstance(one, ast.Name) and one.id in names and one.id not in (changed, *returned)
        ]
        also = [one for one in dict.fromkeys(others) if _is_given_object(function, names.index(one), text)]
        whose = " and ".join(f"`{one}`" for one in [*also, changed])
        message = (
            f"`{call if len(call) <= 50 else call[:49] + '…'}` changes {whose} in `{function.name}`, which jax.jit"
            " compiles: it is given copies, the changes are lost, and outside all stays unchanged."
        )
        fix = "compile it by `nnx.jit`, which carries changes of modules and optimizers out."
        yield text.finding("dropped", message, statement, changed, fix)
        return


def _change(statement: ast.stmt) -> str:
    """The name of the object that a statement changes; "" if it changes none."""
    node: ast.AST | None = None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        node = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "update" else None
    elif isinstance(statement, ast.Assign | ast.AugAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        node = target if isinstance(target, ast.Attribute | ast.Subscript) else None
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_given_object(function: ast.FunctionDef, place: int, text: LoopText) -> bool:
    """Whether a call in the cell gives a parameter an object that is changed."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function.name:
            given = node.args[place] if place < len(node.args) else None
            if given is not None and is_object(text.value(given)):
                return True
    return False
