"""What a staged cell that ran out of memory needed, line by line, and what would lower that.

The error of XLA has the size of one allocation. What counts is the peak of the program, which is known without running
it: who lives then, made by which line; and what else the devices hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import jax

from jaxnb.errors import unexplained
from jaxnb.program import Finding, Fix, Held, Memory, attach, finding_of
from jaxnb.reading import donated_inputs
from jaxnb.staging import (
    CellSource,
    Piece,
    held_arrays,
    is_out_of_memory,
    leaves_of,
    read_program,
    render_path,
    root_name,
)
from jaxnb.units import format_bytes
from jaxnb.views import Head, Table, table_lines

__all__ = ["Measure", "explain_later", "explain_oom", "find_donations", "find_oom"]

_SHARE = 0.05
"""Of the peak: what is less is not worth a line."""
_MOST = 5


class Measure(NamedTuple):
    """Something that lowers the peak: in words, and as options of the header if it is one.

    `donate` are the names that it gives up, and `replaced` says whether the cell binds all of them anew.
    """

    text: str
    options: str = ""
    donate: tuple[str, ...] = ()
    replaced: bool = False


def explain_oom(
    error: BaseException, cell: CellSource, piece: Piece, namespace: Mapping[str, Any], label: Callable[[str], str]
) -> None:
    """Attaches to an error what there is to say about it; where that fails itself, a note says so.

    Args:
      error: JAX's, see `jaxnb.staging.session.dispatch.is_out_of_memory`.
      cell: that was run.
      piece: of it, which did not get its memory.
      namespace: the names as they were before the cell, and are again.
      label: what the user knows a file by.
    """
    if finding_of(error) is not None:
        return
    try:
        attach(error, find_oom(str(error), cell, piece, namespace, label), cell.shown)
    except Exception as fault:  # the error itself is what counts
        error.add_note(unexplained(fault))


def explain_later(
    error: BaseException, pieces: Iterable[Piece], namespace: Mapping[str, Any], label: Callable[[str], str]
) -> bool:
    """Attaches the same to an error that came up after the cell had returned, when somebody waited for its results.

    Such an array keeps the error of the program that should have made it, and so does whatever was computed from it. So
    the cell is the one that bound such arrays and was given none.

    Args:
      error: JAX's.
      pieces: of the cells that ran.
      namespace: the names as they are.
      label: what the user knows a file by.

    Returns:
      Whether there is such a cell.
    """
    failed = {name: piece for piece in pieces for name in _failed(piece, namespace)}
    if not failed:
        return False
    found = [piece for piece in failed.values() if not any(root_name(path) in failed for path in piece.paths)]
    piece = found[0] if found else next(iter(failed.values()))
    cell = piece.cell
    assert cell is not None
    try:
        finding = find_oom(str(error), cell, piece, namespace, label, label(cell.filename))
        attach(error, finding, cell.shown)
    except Exception as fault:  # the error itself is what counts
        error.add_note(unexplained(fault))
        return False
    return True


def _failed(piece: Piece, namespace: Mapping[str, Any]) -> Iterator[str]:
    """The names bound by a piece whose arrays did not get their memory; what is still computed is not waited for."""
    for name in sorted(piece.cell.binds) if piece.cell is not None else ():
        for _, leaf in leaves_of(namespace.get(name)):
            if _is_there(leaf):
                try:
                    leaf.block_until_ready()
                except Exception as error:
                    if is_out_of_memory(error):
                        yield name
                        break


def _is_there(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and not leaf.is_deleted() and cast(Any, leaf).is_ready()


def find_oom(
    said: str,
    cell: CellSource,
    piece: Piece,
    namespace: Mapping[str, Any],
    label: Callable[[str], str] = str,
    earlier: str = "",
) -> Finding:
    """The finding on a program that did not get its memory, of kind "memory".

    Args:
      said: the text of the error.
      cell: that was run.
      piece: of it.
      namespace: the names as they were before the cell.
      label: what the user knows a file by.
      earlier: what the user knows the cell by, if it had returned before.
    """
    (memory,) = read_program(cell, (), (piece,), (), label).memory()
    lines = [said.strip().partition("\n")[0]]
    whose = f"the program of {earlier}" if earlier else "the program"
    lines.append(f"  at its peak {whose} needs {format_bytes(memory.peak)} a device, inputs and results included:")
    by_line = [(line, size) for line, size in memory.peak_by_line().items() if line is not None]
    shown = [(line, size) for line, size in by_line if size >= _SHARE * memory.peak][:_MOST]
    living = [*((f"made by line {line}", size) for line, size in shown), *_without_line(memory)]
    rows = tuple((format_bytes(size), text) for text, size in living)
    lines += table_lines(Table((Head("", "number", 12), Head()), rows))
    elsewhere, largest = _elsewhere(piece, namespace, cell.binds if earlier else frozenset())
    if elsewhere:
        held = ", ".join(largest[:3]) + (", ..." if len(largest) > 3 else "")
        lines.append(f"  besides, {format_bytes(elsewhere)} are held by {held}: %jaxnb memory lists them")
    measures = list(_measures(cell, piece, memory, elsewhere, namespace))
    best, *others = measures
    lines += [f"  also: {measure.text}{f' {measure.options}' if measure.options else ''}" for measure in others]
    line = shown[0][0] if shown else None
    origin = f"{earlier}, line {line}" if earlier and line is not None else ""
    return Finding("memory", "\n".join(lines), line, origin=origin, fix=Fix(best.text, best.options))


def _without_line(memory: Memory) -> Iterator[tuple[str, int]]:
    """What lives at the peak and no line of the cell has made: inputs by their names, constants, the rest."""
    groups: dict[str, list[Held]] = {}
    for held in memory.at(memory.peak_at):
        if held.line is None:
            groups.setdefault(held.kind if held.kind in ("input", "constant") else "", []).append(held)
    for kind, some in groups.items():
        size = sum(held.nbytes for held in some)
        if size < _SHARE * memory.peak:
            continue
        names = list(dict.fromkeys(held.name for held in some))
        listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        text = {"input": f"inputs: {listed}", "constant": "constants of the program"}.get(kind, "of no line")
        yield text, size


def _elsewhere(piece: Piece, namespace: Mapping[str, Any], made: frozenset[str]) -> tuple[int, list[str]]:
    """The bytes of arrays that the program neither takes nor has made, and who holds them, the largest first."""
    own = {root_name(path) for path in piece.paths} | {*piece.plan.roots, *made}
    found = [array for array in held_arrays(namespace) if array.roots and not own & set(array.roots)]
    return sum(array.bytes for array in found), list(dict.fromkeys(array.holders[0] for array in found))


def _measures(
    cell: CellSource, piece: Piece, memory: Memory, elsewhere: int, namespace: Mapping[str, Any]
) -> Iterator[Measure]:
    """What would lower the peak, the cheapest first; at least one."""
    count = 0
    for measure in (*find_donations(cell, piece, memory.peak, namespace), *_checkpoints(memory)):
        count += 1
        yield measure
    if elsewhere >= _SHARE * memory.peak:
        yield Measure("let go of what is not needed any more: %jaxnb memory says how.")
    if not count:
        yield Measure("compute with smaller batches, in a narrower dtype, or spread over more devices: %jaxnb mesh.")


def find_donations(
    cell: CellSource, piece: Piece, peak: int, namespace: Mapping[str, Any] | None = None
) -> Iterator[Measure]:
    """Inputs that die in the program and have the form of a result: that could be written over them.

    Args:
      cell: that was traced.
      piece: of it.
      peak: bytes that the program needs, of which what is saved is a part worth telling.
      namespace: the names of the user, among which others may hold the same arrays.
    """
    variables, results = piece.jaxpr.jaxpr.invars, list(piece.jaxpr.jaxpr.outvars)
    given, first = donated_inputs(piece.traced), len(variables) - len(piece.paths)
    free = [_form(v.aval) for v in results]
    for at in given:
        if _form(variables[at].aval) in free:
            free.remove(_form(variables[at].aval))
    passed = {id(v) for v in results}
    replaced: dict[int, str] = {}
    dying: dict[int, str] = {}
    for at in sorted(set(range(first, len(variables))) - given, key=lambda at: -_nbytes(variables[at].aval)):
        form, path = _form(variables[at].aval), piece.paths[at - first]
        name = root_name(path)
        if form not in free or name is None or id(variables[at]) in passed or not _nbytes(variables[at].aval):
            continue
        free.remove(form)
        (replaced if name in cell.binds else dying)[at] = render_path(path) if name in cell.binds else name
    for chosen, why in ((replaced, "which the cell replaces"), (dying, "if nothing needs them any more")):
        names = sorted({name.partition("[")[0].partition(".")[0] for name in chosen.values()})
        saved = sum(_nbytes(variables[at].aval) for at in chosen)
        if names and saved >= _SHARE * peak:
            listed = ", ".join(f"`{name}`" for name in names)
            others = _holding(names, namespace or {}, cell)
            lost = f" {', '.join(f'`{other}`' for other in others)} would lose the same arrays." if others else ""
            text = f"let results take the memory of {listed}, {why}: up to {format_bytes(saved)} less.{lost}"
            yield Measure(text, f"--donate {', '.join(names)}", tuple(names), chosen is replaced)


def _holding(names: Sequence[str], namespace: Mapping[str, Any], cell: CellSource) -> list[str]:
    """Other names that hold arrays of these, and keep them: two names may be of one pytree."""
    given = {id(leaf) for name in names for leaf in _leaves(namespace.get(name))}
    others = [name for name in namespace if not name.startswith("_") and name not in names and name not in cell.binds]
    return sorted(name for name in others if any(id(leaf) in given for leaf in _leaves(namespace[name])))


def _leaves(value: Any) -> list[Any]:
    """The arrays, or shapes of such, that a value holds."""
    try:
        leaves = jax.tree.leaves(value)
    except Exception:  # what is no pytree after all
        return []
    return [leaf for leaf in leaves if isinstance(leaf, jax.Array | jax.ShapeDtypeStruct)]


def _checkpoints(memory: Memory) -> Iterator[Measure]:
    """Lines whose values the forward pass keeps for the backward pass, and could compute again."""
    kept: dict[int, int] = {}
    for saved in memory.saved:
        if not saved.argument and not saved.policy and saved.line is not None:
            kept[saved.line] = kept.get(saved.line, 0) + saved.nbytes
    large = {line: size for line, size in kept.items() if size >= _SHARE * memory.peak}
    if large:
        lines = sorted(large)
        where = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
        size = format_bytes(sum(large.values()))
        yield Measure(
            f"put jax.checkpoint around what {where} compute{'' if len(lines) > 1 else 's'}: {size} are kept "
            "there for the backward pass, and would be computed again."
        )


def _form(aval: Any) -> tuple[Any, ...]:
    return tuple(getattr(aval, "shape", ())), getattr(aval, "dtype", None)


def _nbytes(aval: Any) -> int:
    size = int(getattr(getattr(aval, "dtype", None), "itemsize", 0))
    for length in getattr(aval, "shape", ()):
        size *= length if isinstance(length, int) else 0
    return size
