"""Parts of what a function returns, in its text and by their paths."""

from __future__ import annotations

import ast
import re
from typing import Any

import jax

from jaxnb.findings.errors.calls import bound_to
from jaxnb.findings.errors.edits import exchanged, segment
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix

__all__ = ["compared_apart", "differing", "part_at", "resolved", "unpacked_otherwise"]


def differing(before: Any, after: Any) -> list[tuple[str, Any, Any]] | None:
    """The leaves of two trees of avals that differ in shape or dtype, each with its path; None if the structures do."""
    paths, own = jax.tree_util.tree_flatten_with_path(before)
    leaves, other = jax.tree.flatten(after)
    if own != other:
        return None
    named = [(jax.tree_util.keystr(path), a, b) for (path, a), b in zip(paths, leaves, strict=True)]
    return [(path, a, b) for path, a, b in named if (a.shape, a.dtype) != (b.shape, b.dtype)]


def resolved(place: FailedExpression, function: Any, node: Any) -> Any:
    """What a name was last assigned in a function; anything else as it is."""
    if not isinstance(node, ast.Name) or not isinstance(function, ast.FunctionDef):
        return node
    return bound_to(place, node, function) or node


def part_at(node: Any, path: str) -> Any:
    """The item of a tuple or dict that is written out, at a path such as "[1]"; None if it is not."""
    for key in re.findall(r"\[([^]]*)\]", path):
        if isinstance(node, ast.Tuple | ast.List) and key.isdigit() and int(key) < len(node.elts):
            node = node.elts[int(key)]
        elif isinstance(node, ast.Dict):
            places = [n for n, one in enumerate(node.keys) if isinstance(one, ast.Constant) and repr(one.value) == key]
            if not places:
                return None
            node = node.values[places[0]]
        else:
            return None
    return node


def compared_apart(place: FailedExpression, comparison: ast.AST | None) -> Fix | None:
    """`a > 0 & b < 1` with brackets around its two comparisons; None of any other expression."""
    parts = [comparison.left, *comparison.comparators] if isinstance(comparison, ast.Compare) else []
    middle = parts[1] if len(parts) == 3 else None
    if comparison is None or not isinstance(middle, ast.BinOp) or not isinstance(middle.op, ast.BitAnd | ast.BitOr):
        return None
    whole, text = segment(place, middle), segment(place, comparison)
    left, right = segment(place, middle.left), segment(place, middle.right)
    sign = "&" if isinstance(middle.op, ast.BitAnd) else "|"
    head, _, tail = text.partition(whole)
    new = f"({head}{left}) {sign} ({right}{tail})"
    return Fix(f"put the comparisons in brackets: `{new}`.", edit=exchanged(place.text, [(comparison, new)]))


def unpacked_otherwise(place: FailedExpression, node: ast.AST | None) -> Fix | None:
    """The two names that a pair was given exchanged, where a name is one of them; None of anything else."""
    pairs = [
        (item, target)
        for item in ast.walk(place.tree)
        if isinstance(item, ast.Assign) and item.lineno <= place.statement.lineno
        for target in item.targets
        if isinstance(target, ast.Tuple) and len(target.elts) == 2
    ]
    named = [
        (item, target)
        for item, target in pairs
        if isinstance(node, ast.Name) and any(isinstance(one, ast.Name) and one.id == node.id for one in target.elts)
    ]
    if not named or not isinstance(named[-1][0].value, ast.Call):
        return None
    item, target = named[-1]
    new = f"{segment(place, target.elts[1])}, {segment(place, target.elts[0])}"
    edit = exchanged(place.text, [(target, new)])
    return Fix(f"exchange the names: `{new} = {' '.join(segment(place, item.value).split())}`.", edit=edit)
