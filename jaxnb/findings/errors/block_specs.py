"""Where in a text the calls of Pallas and the blocks of their operands and results are written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxnb.findings.errors.scene import last_binding
from jaxnb.findings.place import parse_shown
from jaxnb.program import Span

__all__ = ["block_spec_node", "block_spec_span", "is_call_of"]


def is_call_of(node: ast.AST, name: str) -> bool:
    """Whether it is a call of a function of this name, of whatever module."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", "")) == name


def block_spec_node(tree: ast.Module, call: ast.Call, name: str, place: int) -> ast.expr | None:
    """What is written for a block of a `pallas_call`; None where its option is not given.

    Args:
      tree: the syntax of the text.
      call: the `pallas_call`.
      name: "in_specs" or "out_specs".
      place: which of these.
    """
    for keyword in _keywords(tree, call):
        if keyword.arg == name:
            specs = _resolved(tree, keyword.value, call.lineno)
            return _resolved(tree, _item(specs, place), call.lineno)
    return None


def block_spec_span(shown: str, at: Span | None, name: str, place: int) -> Span | None:
    """Where in a cell a block of a `pallas_call` is written.

    Args:
      shown: the cell as displayed.
      at: where it is called.
      name: "in_specs" or "out_specs".
      place: which of these.

    >>> block_spec_span("b = pl.BlockSpec((8,))\\ny = pl.pallas_call(k, s, in_specs=[b])(x)", Span(2), "in_specs", 0)
    Span(line=1, column=4, end_line=1, end_column=22, file='')
    """
    tree = parse_shown(shown)
    if tree is None or at is None or at.file:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_call_of(node, "pallas_call"):
            found = block_spec_node(tree, node, name, place) if _holds(node, at.line) else None
            if found is not None:
                return _span(shown, found)
    return None


def _holds(node: ast.Call, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _keywords(tree: ast.Module, call: ast.Call) -> Iterator[ast.keyword]:
    """The keywords of a call, and those of its `grid_spec`."""
    for keyword in call.keywords:
        yield keyword
        value = _resolved(tree, keyword.value, call.lineno)
        if keyword.arg == "grid_spec" and isinstance(value, ast.Call):
            yield from value.keywords


def _item(node: ast.expr, place: int) -> ast.expr:
    if isinstance(node, ast.List | ast.Tuple) and place < len(node.elts):
        return node.elts[place]
    return node


def _resolved(tree: ast.Module, node: ast.expr, before: int) -> ast.expr:
    """What a name was last given by an assignment above; anything else as it is."""
    if not isinstance(node, ast.Name):
        return node
    line = last_binding(tree, node.id, before)
    for one in ast.walk(tree):
        if isinstance(one, ast.Assign) and one.lineno == line:
            return _of_target(one, node.id) or node
    return node


def _of_target(assign: ast.Assign, name: str) -> ast.expr | None:
    """What an assignment gives one of its names; None where that is not written out."""
    for target in assign.targets:
        if isinstance(target, ast.Name) and target.id == name:
            return assign.value
        if isinstance(target, ast.Tuple) and isinstance(assign.value, ast.Tuple):
            pairs = zip(target.elts, assign.value.elts, strict=False)
            found = [value for one, value in pairs if isinstance(one, ast.Name) and one.id == name]
            if found:
                return found[0]
    return None


def _span(shown: str, node: ast.expr) -> Span:
    lines = shown.splitlines()
    last = node.end_lineno or node.lineno
    begin = len(lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace"))
    end = len(lines[last - 1].encode()[: node.end_col_offset].decode(errors="replace"))
    return Span(node.lineno, begin, last, end)
