"""Plain cells, looked at after they ran: results that are nan or inf, and what lints find in what they trace.

A plain cell leaves no program. Its statements without effects are traced once more, on copies of what they began with
and each text only once, as long as that takes next to no time; of what is found only what may be wrong is told, and
loops and conditionals that cost without being seen.
"""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.lints.context import LintContext, as_called
from jaxnb.findings.lints.lint import When
from jaxnb.findings.lints.linter import asked_lints, in_words, lint_piece, with_function
from jaxnb.findings.lints.loop_copies import copies_in_text
from jaxnb.findings.lints.plain_results import find_bad
from jaxnb.findings.lints.rules.side_effect import may_act, side_effects
from jaxnb.findings.lints.snapshot import LONGEST, Snapshot
from jaxnb.findings.loops import LoopText, ends_soon
from jaxnb.findings.values import dry_run
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Severity
from jaxnb.staging import Session, parse_cell

__all__ = ["PlainCells"]

_WORTH = re.compile(
    r"\b(jnp|jax|lax|random|grad|vmap|jit|optax|nn|for|while|time\w*|perf_counter\w*|monotonic\w*)\b|\[|loss|mean|sum"
    r"|[~&]|\.(reshape|sort|_?replace)\("
)
"""What stands in cells in which there may be something to find."""
_TOLD = frozenset({"unrolled", "both_branches", "transfer"})
_PATIENCE, _LONGEST_PATIENCE = 0.05, 0.3
"""Seconds for the first of two traces, which is watched and takes longer than the second: at least, and of a cell that
has run for long itself, as it does when it compiles for the first time."""
_MOST_CELLS = 256


class PlainCells:
    """Looks at one plain cell after the other.

    Args:
      label: what the user knows a file by.
    """

    def __init__(self, label: Callable[[str], str]) -> None:
        self._label = label
        self._known: OrderedDict[str, None] = OrderedDict()

    def look(self, snapshot: Snapshot, namespace: dict[str, Any], value: Any, compiling: float = 0.0) -> list[Finding]:
        """What there is to say of a cell that has run well.

        Args:
          snapshot: what it began with.
          namespace: the names now.
          value: that it shows; None if it shows none.
          compiling: seconds that it has compiled.
        """
        seconds = snapshot.seconds
        found = find_bad(snapshot, namespace, value)
        return [*found, *self._linted(snapshot, namespace, seconds, compiling)]

    def _linted(self, snapshot: Snapshot, namespace: dict[str, Any], seconds: float, compiling: float) -> list[Finding]:
        text = snapshot.text
        if text in self._known or not (_WORTH.search(text) or any(map(_is_narrow, snapshot.values.values()))):
            return []
        self._known[text] = None
        if len(self._known) > _MOST_CELLS:
            self._known.popitem(last=False)
        cell = CellText(text, namespace, seconds - compiling)
        if cell.text is None:
            return []
        copies = copies_in_text(cell.text, cell.seconds or 0.0)
        words = list(in_words(cell))
        found = [*words, *copies]
        if seconds < LONGEST + compiling:
            patience = max(_PATIENCE, min(seconds / 3, _LONGEST_PATIENCE))
            found += [*self._acting(text, namespace), *self._traced(snapshot, cell.text, patience)]
        return list(_told(found, text, words))

    def _acting(self, text: str, namespace: dict[str, Any]) -> list[Finding]:
        """What functions do besides computing while they are traced."""
        try:
            cell = parse_cell(text, filename=_FILE)
        except Exception:  # what only IPython understands
            return []
        return side_effects(cell, namespace, self._label) if may_act(cell.statements, namespace) else []

    def _traced(self, snapshot: Snapshot, text: LoopText, patience: float) -> tuple[Finding, ...]:
        """What lints find in the statements that are proved to have no effects, traced on copies."""
        nodes = dry_run.harmless_nodes(text.tree.body, snapshot.values)
        if not nodes or dry_run.outer_reads(nodes) & snapshot.lost:
            return ()
        ends = ends_soon(nodes, text, snapshot.values)
        if not dry_run.traces(nodes, snapshot.values, patience, all_of_it=True, ends=ends):
            return ()
        try:
            cell, names = parse_cell(snapshot.text_of(nodes), filename=_FILE), dict(snapshot.values)
            with _jax.apart():
                whole = Session().trace_whole(cell, names, StageOptions())
        except Exception:  # the cell has run; this was only a look
            return ()
        if whole is None:
            return ()
        cell, piece, _, _ = whole
        given = [_given(text, snapshot.values) for text in piece.input_names()]
        traced = LintContext(as_called(cell, piece), piece, given, namespace=names, label=self._label)
        return lint_piece(traced, asked_lints(traced)[When.TRACED])


def _is_narrow(value: Any) -> bool:
    """Whether it is an array of integers that hold little."""
    dtype = value.dtype if isinstance(value, jax.Array) else None
    return isinstance(dtype, np.dtype) and dtype.itemsize <= 2 and dtype.kind in "iu"


def _given(text: str, values: Mapping[str, Any]) -> Any:
    """What the name of an input stands for, such as `params['w']`; None if that is not known, or would run code."""
    try:
        node: ast.expr = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    keys: list[Any] = []
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        keys.append(node.slice.value)
        node = node.value
    value: Any = values.get(node.id) if isinstance(node, ast.Name) else None
    for key in reversed(keys):
        value = value[key] if type(value) in (dict, list, tuple) else None  # pyright: ignore[reportOptionalSubscript]
    return value if isinstance(value, jax.Array | int | float) else None


_FILE = "<a plain cell that is looked at>"


def _told(found: Iterable[Finding], text: str, words: Container[Finding]) -> Iterable[Finding]:
    """What is told of a plain cell, once for each line, with the function in which it stands: what may be wrong, what
    costs without being seen, and all that its words say."""
    seen: set[tuple[str, int | None]] = set()
    for finding in found:
        if (finding.kind, finding.line) in seen or not (
            finding.severity is Severity.WRONG or finding.kind in _TOLD or finding in words
        ):
            continue
        seen.add((finding.kind, finding.line))
        yield with_function(finding, text)
