"""The same of plain cells: names that a cell bound to nan or inf, said after it, with the equation if that is cheap.

A plain cell leaves no program. Where the statements that a name depends on are proved to have no effects, and what they
began with is small and still known, they are staged once more on copies, and looked through like a staged cell.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.findings.errors.scene import last_binding
from jaxnb.findings.lints.nans import read_nans
from jaxnb.findings.lints.results import MOST_NUMBERS, PATIENCE, bad_kind
from jaxnb.findings.lints.snapshot import LONGEST, Snapshot
from jaxnb.findings.place import parse_shown
from jaxnb.findings.values import dry_run
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Fix
from jaxnb.staging import Execution, Observer, Session

__all__ = ["find_bad", "line_of", "meant_kinds"]

_MOST_LEAVES = 8
_PATIENCE = 1.0


def find_bad(snapshot: Snapshot, namespace: Mapping[str, Any], value: Any) -> list[Finding]:
    """What there is to say of nans and infs that a plain cell, which has run well, has bound or shows.

    Args:
      snapshot: what it began with.
      namespace: the names now.
      value: that it shows; None if it shows none.
    """
    bad = dict(_bad_names(snapshot, namespace))
    if (kind := _bad_leaf(value)) and not any(namespace.get(name) is value for name in bad):
        bad[""] = kind
    tree = parse_shown(snapshot.text) if bad else None
    if tree is None:
        return []
    meant = meant_kinds(tree)
    lines = {name: line_of(tree, name) for name, kind in bad.items() if kind not in meant}
    bound = sorted((line, name) for name, line in lines.items() if line is not None)
    if not bound:
        return []
    line, name = bound[0]
    nodes = _needed(tree, name)
    before = [one for one in sorted(dry_run.outer_reads(nodes)) if _bad_leaf(snapshot.values.get(one))]
    found = _replayed(snapshot, nodes) if snapshot.seconds < LONGEST and not before else None
    return found or [_in_short(tree, name, line, bad[name], len(bound) - 1, before)]


def _replayed(snapshot: Snapshot, nodes: list[ast.stmt]) -> list[Finding] | None:
    """What is found when the statements that a name depends on are staged; None if that is not to be done."""
    if dry_run.outer_reads(nodes) & snapshot.lost or not dry_run.traces(
        nodes, snapshot.values, _PATIENCE, all_of_it=True
    ):
        return None
    try:
        with _jax.apart():
            text, names = snapshot.text_of(nodes), dict(snapshot.values)
            run = Session(observer=_Nans()).stage(text, names, StageOptions(nans=True))
    except Exception:  # the cell has run; this was only a look
        return None
    return [finding for finding in run.findings if finding.kind == "nans" and finding.line is not None] or None


class _Nans(Observer):
    def on_nans(self, execution: Execution, entry: dict[str, Any]) -> list[Finding]:
        return read_nans(execution, entry, PATIENCE)


def _bad_names(snapshot: Snapshot, namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names in a text that stand for something else than before, which holds nan or inf, and which of them."""
    for name in snapshot.names:
        value = namespace.get(name)
        if value is not None and snapshot.values.get(name) is not value and (kind := _bad_leaf(value, snapshot.leaves)):
            yield name, kind


def _bad_leaf(value: Any, known: Container[int] = ()) -> str:
    """Whether an array, or one of the first in a container, holds nan or inf: which of these, or "".

    Args:
      value: anything.
      known: the ids of arrays that are not looked at.
    """
    if isinstance(value, float):
        return "nan" if value != value else "inf" if abs(value) == float("inf") else ""
    if isinstance(value, jax.Array):
        return "" if id(value) in known or _jax.is_tracer(value) else bad_kind(value, MOST_NUMBERS)
    items = value if type(value) in (list, tuple) else list(value.values()) if type(value) is dict else ()
    return next((kind for item in items[:_MOST_LEAVES] if (kind := _bad_leaf(item, known))), "")


def meant_kinds(tree: ast.Module) -> set[str]:
    """What a cell writes itself: an inf, as a mask does, or a nan, of which an inf says nothing either."""
    words = {str(getattr(node, "attr", getattr(node, "id", getattr(node, "value", "")))) for node in ast.walk(tree)}
    if any("nan" in word.lower() or word == "isfinite" for word in words):
        return {"nan", "inf"}
    return {"inf"} if any("inf" in word.lower() for word in words) else set()


def line_of(tree: ast.Module, name: str) -> int | None:
    """The last line that binds a name; of the value that is shown the last statement."""
    return last_binding(tree, name, 1 << 30) if name else tree.body[-1].lineno


def _needed(tree: ast.Module, name: str) -> list[ast.stmt]:
    """The statement that binds a name last, and those above it that bind what it reads, directly or not."""
    nodes = list(tree.body)
    while name and nodes and last_binding(ast.Module([nodes[-1]], []), name, 1 << 30) is None:
        nodes.pop()
    return dry_run.needed_nodes(nodes)


def _in_short(tree: ast.Module, name: str, line: int, kind: str, more: int, before: Sequence[str]) -> Finding:
    others = f", and so {'does another name' if more == 1 else f'do {more} other names'}" if more else ""
    what = f"`{name}`" if name else f"`{ast.unparse(tree.body[-1])[:60]}`"
    source = before[0] if before else ""
    message = f"{what} holds {kind}{others}" + (f", and so did `{source}` before the cell." if source else ".")
    fix = None if source else Fix("%%jit --nans on top of the cell says which equation made it, of what.")
    return Finding("nans", message, line, holder=name or source, fix=fix)
