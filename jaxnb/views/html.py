"""A program as static HTML for a notebook: one quiet line, and folded under it the cell beside what it
became.

There is no script in it and nothing is loaded, so it is the same in a live notebook, a saved one and a page.
Where a notebook is not trusted and its styles are taken away, the lines still read well: each line of the
cell is a `pre`, and the ops that it caused are the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from jaxnb.program import Finding, Level, Program, Status, read_derived, read_tree
from jaxnb.views.call_tree import Branch, branches
from jaxnb.views.columns import column_widths, row_pieces
from jaxnb.views.cost_table import NO_COLUMNS, RANKED, Columns, choose_columns, read_cost_table
from jaxnb.views.escape import Html, element, joined
from jaxnb.views.grouping import MOST_ROWS, level_below, read_groups
from jaxnb.views.line import line_element
from jaxnb.views.painting import edit_lines, fed_by
from jaxnb.views.rows import Group, Row, legend
from jaxnb.views.style import style_element

__all__ = ["render_html"]

_LONGEST_ATTRIBUTES = 60
_ROOM = 60  # columns that the statements and types of the ops are laid out for
_LINE_COSTS = 18  # columns for two figures beside a line
_OP_COSTS = 10  # and for one beside an op
_COLOURS = 6
_DEEP = 3  # calls of a tree
_LEAST_BRANCHES, _MOST_BRANCHES = 12, 40
_TAGS = {"op": "b", "heading": "em", "type": "i", "bound": "u", "note": "i", "attributes": "small"}


def render_html(
    program: Program,
    *,
    line: Status | str,
    findings: Sequence[Finding] | None = None,
    level: str | None = None,
    limit: int | None = MOST_ROWS,
    columns: Sequence[str] | Literal["auto"] = "auto",
) -> str:
    """The one line, folded under it source and ops side by side, and the findings. Of a program with more ops than are
    shown, which calls functions, that is its call tree: the dearest lines and what they call, with their sums.

    Args:
      program: what the cell became.
      line: what was done, in one line, as its parts or as text.
      findings: what to show under the line; by default the program's own. Those that are folded are unfolded with it.
      level: which level to show; by default the one below the source.
      limit: how many ops at most, or None for all.
      columns: which costs to show, as in `render_program`; beside the lines two of them, beside the ops one.

    Raises:
      KeyError: if the program does not have that level.
      ValueError: for a column that there is not.

    >>> "<summary>staged · 0 eqns</summary>" in render_html(Program("x"), line="staged · 0 eqns")
    True
    """
    tally = read_cost_table(program, level_below(program, level), columns) if columns else None
    costs = choose_columns(columns, tally, _LINE_COSTS) if tally else NO_COLUMNS
    shown = level_below(program, level)
    if limit is not None and _goes_by_calls(shown, limit):
        rows = _tree(
            program, shown, choose_columns(columns, tally, _LINE_COSTS, ops_alone=True) if tally else NO_COLUMNS, limit
        )
    else:
        own = choose_columns(columns, tally, _OP_COSTS, ops_alone=True) if tally else NO_COLUMNS
        rows = _listing(read_groups(program, level, limit, tally=tally), costs, own)
    style = {"style": f"--k:{costs.width}ch"} if costs.names else {}
    listing = element("div", {"class": "g", **style}, *rows)
    told = program.findings if findings is None else findings
    folded = [_finding_element(finding) for finding in told if finding.folded]
    return element(
        "div",
        {"class": "jnb"},
        style_element("program.css"),
        element("details", {"class": "jaxnb"}, element("summary", None, line_element(line)), *folded, listing),
        *(_finding_element(finding) for finding in told if not finding.folded),
    )


def _goes_by_calls(level: Level, limit: int) -> bool:
    """Whether a level has more ops than there is room for, and calls to show instead."""
    return sum(len(computation.ops) for computation in level.computations) > limit and any(
        op.call is not None for op in level.ops()
    )


def _tree(program: Program, level: Level, costs: Columns, limit: int) -> Iterable[Html]:
    """The dearest lines and what they call, each with its costs."""
    tree = read_tree(level, *read_derived(program, level))
    by = next((name for name in RANKED if name in tree.total and tree.total[name].number), "")
    most = max(_LEAST_BRANCHES, min(limit, _MOST_BRANCHES))
    found = branches(program, level, tree, _DEEP, by, most)
    digits = len(str(tree.count))
    if costs.names:
        yield _pair({"class": "r"}, _dim(f"{'ops':>{digits}}  {costs.head}"), Html())
    for row in found[:most]:
        yield _pair({"class": "r"}, _dim(f"{row.node.count:>{digits}}  {costs.cells(row.node.total)}"), _branch(row))
    if costs.names:
        yield _pair({"class": "r"}, _dim(f"{tree.count:>{digits}}  {costs.total}"), _dim("(all)"))
    if len(found) > most:
        yield element("div", {"class": "p"}, f"… {len(found) - most} more rows")


def _branch(row: Branch) -> Html:
    before = "   " * row.depth
    return joined((before, row.label, element("u", None, f"  → {row.calls}")) if row.calls else (before, row.label))


def _listing(groups: Sequence[Group], costs: Columns, own: Columns) -> Iterable[Html]:
    gutter = len(str(len(groups)))
    widths = column_widths((row for group in groups for row in group.rows), _ROOM)
    colour = 0
    if costs.names:
        yield _pair({"class": "r"}, _dim(f"{'':{gutter}}  {costs.head}"), _dim(own.head))
    for group in groups:
        number = "" if group.line is None else str(group.line)
        source = joined((_dim(f"{number:>{gutter}}  {costs.cells(group.cost)}"), group.text))
        rows = joined((_row(row, widths, own) for row in group.rows), "\n")
        if group.note and not rows:
            rows = _dim(group.note)
        if group.border:
            yield element("div", {"class": "p"}, group.border)
        attributes = {"class": f"r c{colour % _COLOURS}" if group.rows and number else "r"}
        colour += "c" in attributes["class"]
        yield _pair(attributes, source, rows)
    if costs.names:
        yield _pair({"class": "r"}, _dim(f"{'':{gutter}}  {costs.total}(all)"), Html())
    for text in legend(row for group in groups for row in group.rows):
        yield element("div", {"class": "p"}, text)


def _pair(attributes: Mapping[str, str], left: Html, right: Html) -> Html:
    return element("div", attributes, element("pre", None, left), element("pre", None, right))


def _dim(text: str) -> Html:
    return element("i", None, text)


def _row(row: Row, widths: tuple[int, int], own: Columns) -> Html:
    """A row as the text view writes it, with its parts marked."""
    cells = own.cells(row.cost)
    parts = (
        element(_TAGS[kind], None, _shortened(text) if kind == "attributes" else text) if kind in _TAGS else text
        for kind, text in row_pieces(row, widths)
    )
    return joined((_dim(cells) if cells.strip() else cells, *parts))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ATTRIBUTES else text[: _LONGEST_ATTRIBUTES - 1] + "…"


def _finding_element(finding: Finding) -> Html:
    """A finding in a box of its own, its edit as lines to take away and to add."""
    where = f"line {finding.line} · " if finding.line is not None else ""
    parts: list[str] = [element("b", None, f"{where}{finding.kind}"), f": {finding.message}"]
    held, made = fed_by(finding)
    if finding.holder:
        parts += [f" {held.capitalize()}", element("code", None, finding.holder), "."]
    if finding.origin:
        parts += [f" {made.capitalize()}", element("code", None, finding.origin), "."]
    if (fix := finding.fix) is not None:
        parts += [element("br"), "Try: " if not fix.verified else "Try (it works): ", fix.text]
        if fix.options:
            parts += [" ", element("code", None, fix.options)]
        if fix.edit is not None:
            parts.append(element("pre", None, "\n".join(edit_lines(fix))))
    return element("div", {"class": "f"}, *parts)
