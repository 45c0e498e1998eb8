"""The same of plain cells: names that a cell bound to nan or inf, said after it, with the equation if that is cheap.

A plain cell leaves no program. Where the statements that a name depends on are proved to have no effects, and what they
began with is small and still known, they are staged once more on copies, and looked through like a staged cell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.findings.errors.scene import last_binding
from jaxnb.findings.lints.nans import read_nans
from jaxnb.findings.lints.results import bad_kind
from jaxnb.findings.place import parse_shown
from jaxnb.findings.values import dry_run
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Fix
from jaxnb.staging import ATOMS, Execution, Observer, Session

__all__ = ["PlainResults"]

_NAME = re.compile(r"[A-Za-z_]\w*")
_SMALL = 1 << 20
"""Bytes up to which an array that a cell begins with is kept until it has run."""
_MOST_NUMBERS = 1 << 16
_MOST_LEAVES = 64
_LONGEST = 2.0
"""Seconds that a cell may have taken for its statements to be worth another run."""
_PATIENCE = 1.0


class PlainResults:
    """Looks at what one plain cell after the other has bound."""

    def __init__(self) -> None:
        self._text = ""
        self._entry: dict[str, Any] = {}
        self._lost: set[str] = set()
        self._start = 0.0

    def begin(self, text: str, namespace: Mapping[str, Any]) -> None:
        """A cell is about to run: what its names stand for is kept, as far as it is small."""
        self._text, self._entry, self._lost, self._start = text, {}, set(), perf_counter()
        if text.lstrip().startswith("%%"):
            self._text = ""
            return
        for name in dict.fromkeys(_NAME.findall(text)):
            if name in namespace:
                kept = _kept(namespace[name])
                if kept is _LOST:
                    self._lost.add(name)
                else:
                    self._entry[name] = kept

    def end(self, namespace: Mapping[str, Any], value: Any) -> list[Finding]:
        """The cell has run well.

        Args:
          namespace: the names now.
          value: that it shows; None if it shows none.
        """
        text, entry, self._text, self._entry = self._text, self._entry, "", {}
        seconds = perf_counter() - self._start
        bad = dict(_bad_names(text, entry, namespace)) if text else {}
        if text and (kind := _bad_leaf(value)) and not any(namespace.get(name) is value for name in bad):
            bad[""] = kind
        tree = parse_shown(text) if bad else None
        if tree is None:
            return []
        meant = _meant(tree)
        lines = {name: _line(tree, name) for name, kind in bad.items() if kind not in meant}
        bound = sorted(((line, name) for name, line in lines.items() if line is not None))
        if not bound:
            return []
        line, name = bound[0]
        nodes = _needed(tree, name)
        before = [one for one in sorted(dry_run.outer_reads(nodes)) if _bad_leaf(entry.get(one))]
        found = self._replayed(text, nodes, entry) if seconds < _LONGEST and not before else None
        return found or [_in_short(tree, name, line, bad[name], len(bound) - 1, before)]

    def _replayed(self, text: str, nodes: list[ast.stmt], entry: dict[str, Any]) -> list[Finding] | None:
        """What is found when the statements that a name depends on are staged; None if that is not to be done."""
        if dry_run.outer_reads(nodes) & self._lost or not dry_run.traces(nodes, entry, _PATIENCE, all_of_it=True):
            return None
        lines = [""] * (text.count("\n") + 1)
        for node in nodes:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            lines[first - 1 : node.end_lineno] = text.split("\n")[first - 1 : node.end_lineno]
        try:
            with _jax.apart():
                run = Session(observer=_Nans()).stage("\n".join(lines), dict(entry), StageOptions(nans=True))
        except Exception:  # the cell has run; this was only a look
            return None
        return [finding for finding in run.findings if finding.kind == "nans" and finding.line is not None] or None


class _Nans(Observer):
    def on_nans(self, execution: Execution, entry: dict[str, Any]) -> list[Finding]:
        return read_nans(execution, entry)


_LOST = object()


def _kept(value: Any) -> Any:
    """What a name stands for, so that it stays: containers are copied, and large arrays are not kept."""
    if isinstance(value, jax.Array):
        return value if not _jax.is_tracer(value) and not value.is_deleted() and value.nbytes <= _SMALL else _LOST
    if type(value) in (list, tuple, dict):
        leaves = jax.tree.leaves(value)
        if len(leaves) > _MOST_LEAVES or any(_kept(leaf) is _LOST for leaf in leaves):
            return _LOST
        return jax.tree.map(lambda leaf: leaf, value)
    return value if type(value) in ATOMS or callable(value) or type(value).__name__ == "module" else _LOST


def _bad_names(text: str, entry: Mapping[str, Any], namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names in a text that stand for something else than before, which holds nan or inf, and which of them."""
    for name in dict.fromkeys(_NAME.findall(text)):
        value = namespace.get(name)
        if value is not None and entry.get(name) is not value and (kind := _bad_leaf(value)):
            yield name, kind


def _bad_leaf(value: Any) -> str:
    """ "nan" or "inf" if an array, or one of the first in a container, holds one."""
    if isinstance(value, float):
        return "nan" if value != value else "inf" if abs(value) == float("inf") else ""
    if isinstance(value, jax.Array):
        return "" if _jax.is_tracer(value) else bad_kind(value, _MOST_NUMBERS)
    if type(value) in (list, tuple):
        return next(filter(None, map(_bad_leaf, value[:_MOST_LEAVES])), "")
    if type(value) is dict:
        return next(filter(None, map(_bad_leaf, list(value.values())[:_MOST_LEAVES])), "")
    return ""


def _meant(tree: ast.Module) -> set[str]:
    """What a cell writes itself: an inf, as a mask does, or a nan, of which an inf says nothing either."""
    words = {str(getattr(node, "attr", getattr(node, "id", getattr(node, "value", "")))) for node in ast.walk(tree)}
    if any("nan" in word.lower() for word in words):
        return {"nan", "inf"}
    return {"inf"} if any("inf" in word.lower() for word in words) else set()


def _line(tree: ast.Module, name: str) -> int | None:
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
