"""What changed from one program to another, as text: the sums, and below them what was added, removed and changed."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from jaxnb.program import COLUMNS, Change, Diff, Difference, Op, Program, differences_by_call
from jaxnb.units import format_bytes, format_change, format_flops, format_seconds
from jaxnb.views.rows import short_type
from jaxnb.views.table import Head, Table, table_lines
from jaxnb.views.width import clipped

__all__ = ["render_diff", "render_sums"]

_MOST_SHOWN = 40
_MOST_NAMES = 3
_FEW = 12
"""Ops that a library made are told one by one, if there are no more."""
_MARKS = {"added": "+", "removed": "-", "changed": "~"}
_FORMATS: dict[str, Callable[[float], str]] = {
    "flops": format_flops,
    "bytes": lambda n: format_bytes(int(n)),
    "count": lambda n: f"{n:.0f}",
    "seconds": format_seconds,
}


def render_sums(diff: Diff) -> str:
    """The figures that changed, in one line: `23 ops → 25 ops (+8.7 %) · ...`; "" where none did."""
    parts: list[str] = []
    for name, amount in diff.amounts.items():
        if amount.old is None or amount.new is None or not amount.changed:
            continue
        text = f"{_figure(name, amount.old)} → {_figure(name, amount.new)}"
        more = format_change(amount.old, amount.new)
        parts.append(f"{text} ({more})" if more else text)
    return " · ".join(parts)


def _figure(name: str, number: float) -> str:
    if name == "equations":
        return f"{number:.0f} op{'' if number == 1 else 's'}"
    return COLUMNS[name].total.format(_FORMATS[COLUMNS[name].unit](number))


def render_diff(diff: Diff, *, width: int = 100, limit: int | None = _MOST_SHOWN) -> str:
    """What changed, each op with its line in the cell: `+` in the new program only, `-` in the old one only, `~`
    in both with what is different. What is in a function that the cell calls is said by the function.

    Args:
      diff: what to show.
      width: how many columns there are.
      limit: how many ops at most, or None for all.
    """
    changed = [change for change in diff.changes if change.kind not in ("same", "resized")]
    resized = diff.count("resized")
    lines = textwrap.wrap(render_sums(diff), width, break_on_hyphens=False) or ["no figure changed"]
    if resized:
        lines += textwrap.wrap(_sizes(diff, resized, bool(changed)), width, break_on_hyphens=False)
    if not changed and resized:
        return "\n".join(lines)
    if not changed:
        lines.append(f"the same {diff.level}, op by op" if diff.changes else f"no ops at level {diff.level}")
        return "\n".join(lines)
    told = [f"{diff.count(kind)} {kind}" for kind in _MARKS if diff.count(kind)]
    lines.append(clipped(f"{', '.join(told)}, {diff.count('same')} the same", width))
    in_call = [_is_in_call(diff, change, len(changed)) for change in changed]
    by_call = [change for change, inside in zip(changed, in_call, strict=True) if inside]
    here = [change for change, inside in zip(changed, in_call, strict=True) if not inside]
    entries = [[*_rows(diff, change)] for change in here] + _call_rows(diff, by_call)
    shown = entries if limit is None else entries[:limit]
    rows = [row for entry in shown for row in entry]
    if len(shown) < len(entries):
        rows.append(("", f"… {len(entries) - len(shown)} more"))
    return "\n".join([*lines, *table_lines(Table((Head("", "number"), Head()), tuple(rows)), width)])


def _sizes(diff: Diff, count: int, more: bool) -> str:
    """`batch[0] 16 → 8 in 574 ops; nothing else`: what inputs became, and how many ops differ in that alone."""
    parts = [
        f"{x} → {y} ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})" for (x, y), names in diff.sizes.items()
    ]
    return f"{', '.join(parts)}: in {count} op{'' if count == 1 else 's'}{'' if more else ', nothing else'}"


def _is_in_call(diff: Diff, change: Change, count: int) -> bool:
    """Whether an op is said by its call: one in a function of the user's, and where there are many, in any."""
    call = _op(diff, change).call
    return call is not None and (count > _FEW or any(step.kind == "function" for step in call.steps()))


def _call_rows(diff: Diff, changes: Sequence[Change]) -> list[list[tuple[str, str]]]:
    """What changed in calls, one row for each line of a function, and how many ops only take what changed."""
    own = [change for change in changes if not change.follows]
    rows = [[(str(one.line or ""), _difference_text(one))] for one in differences_by_call(diff, own)]
    if follow := len(changes) - len(own):
        rows.append([("", f"~ {follow} op{'s take' if follow > 1 else ' takes'} what changed above")])
    return rows


def _difference_text(one: Difference) -> str:
    """`~ Block.__call__ blocks[0…3], line 26: exp → tanh`, and how many ops that are."""
    removed, added = _first(one.removed), _first(one.added)
    told = [" → ".join(filter(None, (removed, added)))] if removed or added else []
    told += [_first(one.changed)] if one.changed else []
    mark = _MARKS["changed" if one.changed or (removed and added) else "removed" if removed else "added"]
    count = f"{one.old} → {one.new}" if one.old and one.new else str(one.old or one.new)
    many = max(one.old, one.new) > max(len(one.removed), len(one.added), 1)
    within = f"{one.within}: " if one.within else ""
    return f"{mark} {within}{'; '.join(told)}{f' ({count} ops)' if many else ''}"


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (f", …+{len(names) - _MOST_NAMES}" if len(names) > _MOST_NAMES else "")


def _rows(diff: Diff, change: Change) -> Iterator[tuple[str, str]]:
    """The line and the op, and below it what is different."""
    op, indent = _op(diff, change), "  " * change.depth
    program = diff.old if change.kind == "removed" else diff.new
    yield str(op.line or ""), f"{_MARKS[change.kind]} {indent}{_text(program, diff.level, op)}"
    yield from (("", f"    {indent}{why}") for why in change.why)


def _op(diff: Diff, change: Change) -> Op:
    program, place = (diff.old, change.old) if change.new is None else (diff.new, change.new)
    assert place is not None
    return program.level(diff.level).computations[place[0]].ops[place[1]]


def _text(program: Program, level: str, op: Op) -> str:
    values = program.level(level).values
    results = ", ".join(values[index].name for index in op.outputs)
    operands = " ".join(values[index].name for index in op.inputs)
    types = ", ".join(filter(None, (short_type(values[index].aval) for index in op.outputs)))
    return f"{results} = {op.name} {operands}".rstrip() + (f"  {types}" if types else "")
