"""What memory a program needs, as text: the peak, who lives there, and what is kept, computed again, or for nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxnb.program import Held, Memory, Noted, Saved, Saving, common_text, unnumbered
from jaxnb.views.compact import bar, profile, short_bytes, short_share
from jaxnb.views.rows import listed
from jaxnb.views.table import Head, Table, table_lines
from jaxnb.views.width import wrapped

__all__ = ["render_memory"]

_MOST = 12
_BAR = 6
_WIDEST_PROFILE = 64
_SOURCES = {"buffers": "from the compiled program's buffers", "liveness": "by the order of the jaxpr"}


def render_memory(
    memory: Memory | Sequence[Memory], *, width: int | None = None, source: str = "", limit: int | None = _MOST
) -> str:
    """Where memory goes: how much lives over the program's order, who lives at the peak and from which line, what the
    forward pass keeps for the backward pass, what is computed again, what no result needs, and what depends on no
    input.

    Args:
      memory: of a piece, or what `Program.memory()` gave.
      width: how many columns there are; by default those of the terminal.
      source: the cell as displayed; its lines are shown beside what they made.
      limit: how many values of a kind at most, or None for all.

    >>> x = Held("x", "input", 400, 0, 1)
    >>> held = (x, Held("a", "temporary", 800, 0, 0, (0, 0), line=2))
    >>> print(render_memory(Memory("liveness", "jaxpr", 0, (1200, 400), held), width=60, source="x\\na = f(x)"))
    peak 1.2 KB at op 1 of 2 · by the order of the jaxpr
    █▃
     bytes  share         kind       name  line
     800 B   67 % ████    temporary  a        2  a = f(x)
     400 B   33 % ██      input      x
    """
    room = max(40, shutil.get_terminal_size().columns if width is None else width)
    pieces = [memory] if isinstance(memory, Memory) else list(memory)
    lines = source.split("\n") if source else []
    told: list[str] = []
    for number, piece in enumerate(pieces, 1):
        told += [f"── piece {number} "] if len(pieces) > 1 else []
        told += _piece(piece, lines, room, limit)
    return "\n".join(line.rstrip() for line in told)


def _piece(memory: Memory, source: Sequence[str], room: int, limit: int | None) -> Iterable[str]:
    count = len(memory.live)
    parts = [
        f"peak {short_bytes(memory.peak)} at op {memory.peak_at + 1} of {count}" if memory.peak else "nothing lives",
        _SOURCES.get(memory.source, memory.source),
    ]
    if memory.reserved is not None:
        parts.append(f"{short_bytes(memory.reserved)} reserved")
    yield from wrapped(" · ".join(parts), room)
    if memory.note:
        yield from wrapped(memory.note, room)
    if memory.peak and count > 1:
        yield profile(memory.live, min(room, _WIDEST_PROFILE))
    # What takes no memory is not worth a line.
    yield from _held([held for held in memory.at(memory.peak_at) if held.nbytes], memory.peak, source, room, limit)
    yield from _saved(memory, source, room, limit)
    yield from _savings(memory, room)
    yield from _noted("recomputed", "in the backward pass", memory.recomputed, room)
    yield from _noted("dead", "no result needs them", memory.dead, room)
    yield from _noted("known", "they depend on no input", memory.known, room)


@dataclass(frozen=True, slots=True)
class _Living:
    """One value that lives at the peak, or several of one kind and origin."""

    nbytes: int
    kind: str
    name: str
    line: int | None


def _several(names: Sequence[str], within: Sequence[str]) -> str:
    """What is said of several values: where they were made, by calls on modules that differ in their numbers only."""
    if len(names) == 1:
        return f"{names[0]} in {within[0]}" if within[0] else names[0]
    return f"{len(names)} × {common_text(within)}" if within[0] else f"{len(names)} values"


def _together(held: Sequence[Held], limit: int | None) -> list[_Living]:
    """Values with their sizes; where there are too many, those of one call, line, or input, are put together."""
    if limit is None or len(held) <= limit:
        return [_Living(one.nbytes, one.kind, one.name, one.line) for one in held]
    found: dict[tuple[str, int | None, str, str], list[Held]] = {}
    for one in held:
        # Parts of one input are meant by its name; what a line made is meant by the line and what it calls.
        root = one.root if one.line is None else ""
        found.setdefault((one.kind, one.line, root, unnumbered(one.within)), []).append(one)
    living: list[_Living] = []
    for (kind, line, root, _), some in found.items():
        name = _several([one.name for one in some], [one.within for one in some])
        name = f"{root} ×{len(some)}" if root and len(some) > 1 else name
        living.append(_Living(sum(one.nbytes for one in some), kind, name, line))
    return sorted(living, key=lambda one: -one.nbytes)


def _held(held: Sequence[Held], peak: int, source: Sequence[str], room: int, limit: int | None) -> Iterable[str]:
    if not held:
        return
    living = _together(held, limit)
    shown = living if limit is None else living[:limit]
    bars = room >= 60
    own = [Head(least=_BAR, gap=1), Head("kind", least=9)] if bars else []
    widest = max(12, room // 3 if source else room - 42)
    heads = (Head("bytes", "number", 6), Head("share", "number"), *own, Head("name", most=widest))
    rows: list[tuple[str, ...]] = []
    for one in shown:
        share = one.nbytes / peak if peak else 0
        mark = (bar(share, _BAR), one.kind) if bars else ()
        rows.append((short_bytes(one.nbytes), short_share(share), *mark, one.name, *_place(one.line, source)))
    if len(shown) < len(living):
        rest = sum(one.nbytes for one in living[len(shown) :])
        rows.append((short_bytes(rest), short_share(rest / peak), f"in {len(living) - len(shown)} more"))
    yield from table_lines(Table((*heads, Head("line", "number", 4), Head()), tuple(rows)), room)


def _saved(memory: Memory, source: Sequence[str], room: int, limit: int | None) -> Iterable[str]:
    if not memory.saved:
        return
    kept = sorted((saved for saved in memory.saved if not saved.argument), key=lambda saved: -saved.nbytes)
    arguments = len(memory.saved) - len(kept)
    besides = f", and {arguments} argument{'' if arguments == 1 else 's'} that {_are(arguments)} there anyway"
    head = f"kept for the backward pass: {short_bytes(memory.saved_bytes())}{besides if arguments else ''}"
    yield from wrapped(head, room)
    if limit is not None and len(kept) > limit:
        groups: dict[tuple[int | None, str], list[Saved]] = {}
        for one in kept:
            groups.setdefault((one.line, unnumbered(one.within)), []).append(one)
        rows = [
            (sum(one.nbytes for one in some), _several([*map(_saved_text, some)], [one.within for one in some]), line)
            for (line, _), some in groups.items()
        ]
    else:
        rows = [(one.nbytes, _several([_saved_text(one)], [one.within]), one.line) for one in kept]
    rows.sort(key=lambda row: -row[0])
    rest = sum(size for size, _, _ in rows[limit:]) if limit is not None else 0
    cells: list[tuple[str, ...]] = [
        (short_bytes(size), text, *_place(line, source)) for size, text, line in rows[:limit]
    ]
    if rest:
        cells.append((short_bytes(rest), f"in {len(rows[limit:])} more"))
    heads = (Head("", "number", 6), Head(most=room // 2 if source else room - 16), Head("", "number", 4), Head())
    yield from table_lines(Table(heads, tuple(cells)), room)


def _savings(memory: Memory, room: int) -> Iterable[str]:
    """What `jax.checkpoint` would take from the peak; the best of several calls of one function stands for them."""
    best: dict[str, Saving] = {}
    for one in memory.savings:
        best.setdefault(one.function, one)
    for function, one in best.items():
        saved = f"{short_bytes(one.nbytes)} of {short_bytes(memory.peak)}"
        yield from wrapped(f"jax.checkpoint around {function} would save {saved}", room)


def _saved_text(saved: Saved) -> str:
    text = f"{saved.label} ({saved.name})" if saved.label else saved.name
    text += f" ×{saved.times}" if saved.times > 1 else ""
    text += f" [{saved.policy}]" if saved.policy else ""
    text += f", read at line {saved.read_line}" if saved.read_line is not None else ""
    return text


def _noted(what: str, why: str, noted: Sequence[Noted], room: int) -> Iterable[str]:
    if not noted:
        return
    size = sum(one.nbytes for one in noted)
    lines = sorted({one.line for one in noted if one.line is not None})
    where = f", line{'' if len(lines) == 1 else 's'} {listed([str(n) for n in lines], ', ')}" if lines else ""
    text = f"{what}: {len(noted)} op{'' if len(noted) == 1 else 's'}, {short_bytes(size)}{where} ({why})"
    yield from wrapped(text, room)


def _place(line: int | None, source: Sequence[str]) -> tuple[str, str]:
    if line is None:
        return "", ""
    return str(line), source[line - 1].strip() if 0 < line <= len(source) else ""


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
