"""A staged cell as a file: `--export`. What ran as one program is exported by JAX, with names around it.

The program of the file is that of the run: the same jaxpr, what Python computed before it as operations of 64 bits,
and no donation. What the cell reads from names becomes inputs; arrays that functions hold are part of the program.
The results are found by applying the recipe of the run to marks in the place of arrays.
"""

from __future__ import annotations

import hashlib
import platform
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib

from jaxnb import __version__, _jax, exported
from jaxnb._jax import ExportedParts
from jaxnb.errors import JaxnbError
from jaxnb.exported import Leaf, Signature, Sizes
from jaxnb.program import Program
from jaxnb.runtime import is_library, is_library_class
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import render_path, root_name
from jaxnb.staging.reuse.cache import find_piece
from jaxnb.staging.reuse.changes import parts_by_path
from jaxnb.staging.session.execution import Ran
from jaxnb.staging.session.file_program import WIDE, Mark, leaf_of, leaf_of_aval, program_of, read_inputs
from jaxnb.staging.session.file_results import read_results
from jaxnb.staging.session.file_source import NUMBERS, Entry, Source, check_effects, check_ran_whole, ran_by_python
from jaxnb.staging.trace.piece import Piece

__all__ = ["Entry", "Source", "export_again", "export_run"]

_LONGEST = 200
"""Characters of a static value that is told."""


def export_run(
    source: Source,
    ran: Sequence[Ran],
    entry: Entry,
    namespace: Mapping[str, Any],
    after: Mapping[str, Any],
    program: Callable[[], Program],
    path: str,
) -> None:
    """Writes a run as a file.

    Args:
      source: the cell.
      ran: the pieces that ran.
      entry: the structures of what it read.
      namespace: the names when the run began.
      after: the names after it.
      program: reads what the cell became.
      path: of the file.

    Raises:
      Refused: if the cell is no program that a file can hold, naming the line or the input.
    """
    check_ran_whole(source, ran, after)
    (one,) = ran
    _export(source, one.piece, one.reached, one.outputs, entry, namespace, after, program(), path)


def export_again(
    source: Source,
    pieces: Sequence[Piece],
    namespace: dict[str, Any],
    device: Any,
    program: Callable[[], Program],
    path: str,
) -> None:
    """Writes a run as a file that has ended: with the structures that its names have now.

    Args:
      source: the cell.
      pieces: that ran.
      namespace: the names as they are now.
      device: where it ran, or None.
      program: reads what the cell became.
      path: of the file.

    Raises:
      Refused: as `export_run`.
      JaxnbError: if the program would not serve another run of the cell now.
    """
    fix = f"run the cell with --export {path}, which writes it as it runs."
    if len(pieces) != 1 or source.host_lines:
        check_ran_whole(source, [Ran(source.cell, one, Reached([], [], [], []), []) for one in pieces], namespace)
    (piece,) = pieces
    if piece.recipe.changed:
        raise JaxnbError(
            "the run cannot be exported any more.", why="the cell changes what it reads in place.", fix=fix
        )
    found = find_piece(source.record, piece.plan.start, namespace, _jax.trace_context(), device)
    if found is None or found[0] is not piece:
        raise JaxnbError("the run cannot be exported any more.", why="what it read is no longer as it was.", fix=fix)
    _export(source, piece, found[1], [], Entry.of(source.cell, namespace), namespace, namespace, program(), path)


def _export(
    source: Source,
    piece: Piece,
    reached: Reached,
    outputs: Sequence[Any],
    entry: Entry,
    namespace: Mapping[str, Any],
    after: Mapping[str, Any],
    program: Program,
    path: str,
) -> None:
    check_effects(source, piece, reached)
    sizes = _sizes(source, piece)
    inputs = read_inputs(source, entry, reached, namespace)
    texts = [render_path(path) for path in reached.paths]
    results, named, shown, left_out = read_results(source, piece, entry, reached, outputs, after)
    wide = piece.prelude is not None or any(mark.kind == "number" for mark in results.marks)
    types_of = [leaf_of(source, texts[at], leaf, wide) for at, leaf in enumerate(reached.leaves)]
    if piece.named is not None and piece.questions is not None:
        for index, text in piece.named.leaves.items():
            _check_taken(source, text, index in inputs.order)
            types_of[index] = replace(types_of[index], shape=piece.questions.shapes.given(text))
    leaves = [types_of[index] for index in inputs.order]
    places = {
        leaf.index: place
        for name, node in reversed([*named, *([("value", shown)] if shown is not None else [])])
        for place, leaf in exported.leaf_places(name, node)
    }
    marks = [(mark, places.get(number, "a result")) for number, mark in enumerate(results.marks)]
    made = [_leaf_of_result(source, piece, mark, types_of, text) for mark, text in marks]
    held = {index: text for index, text in inputs.held.items() if text}
    numbers = {index: repr(reached.leaves[index]) for index in held if type(reached.leaves[index]) in NUMBERS}
    own = {index for index in numbers if not _is_of_library(namespace.get(root_name(reached.paths[index]) or ""))}
    static = [*_static(source, piece, {name for name, _ in inputs.named}, namespace)]
    static += [(held[index], value) for index, value in numbers.items() if index in own]
    signature = Signature(
        tuple(inputs.named),
        tuple(leaves),
        tuple(named),
        tuple(made),
        shown,
        tuple(static),
        tuple((text, types_of[index]) for index, text in held.items() if index not in numbers),
        tuple(source.options.donate),
        tuple(left_out),
        bool(jax.config.jax_enable_x64),  # type: ignore[attr-defined]
        sizes,
    )
    shapes = [_traced_shape(piece, index, types_of[index]) for index in inputs.order]
    parts = _lowered(source, program_of(piece, reached, inputs, leaves, results.marks), leaves, shapes, wide)
    program.level("stablehlo")
    exported.save(path, signature, _provenance(source.cell.shown, parts), program, parts)


def _check_taken(source: Source, text: str, taken: bool) -> None:
    """Whether an array whose sizes have names is an input of the file."""
    if not taken:
        raise source.refuse(
            f"a function of the cell holds `{text}`, whose sizes have names.",
            why="what functions hold is part of the program, and has one size.",
            fix=f"give `{text}` to the function as an argument.",
        )


def _sizes(source: Source, piece: Piece) -> Sizes | None:
    """The names of sizes of the program; None where all are numbers."""
    if not source.options.shapes:
        return None
    if piece.named is None or piece.questions is None:
        line, text = next(((line, text) for _, line, text in piece.notes if "alone: " in text), (None, ""))
        raise source.refuse(
            "its program is for the sizes of this run alone.",
            why=f"{text.partition('alone: ')[2] or 'it compares sizes'}, and for other sizes the answer is another.",
            fix="run it with --export for sizes of which that is not so, or leave --shapes out.",
            line=line,
        )
    questions = piece.questions
    (_, where), implied = questions.shapes.texts, questions.shapes.implied
    return Sizes(tuple(piece.named.values.items()), where, implied, tuple(questions.answers))


def _traced_shape(piece: Piece, index: int, leaf: Leaf) -> tuple[Any, ...]:
    """The shape of an input as the program has it."""
    if piece.named is None or piece.questions is None or index not in piece.named.leaves:
        return leaf.flat_shape
    words = (leaf.words,) if leaf.kind == "key" else ()
    return (*piece.questions.shapes.traced(piece.named.leaves[index]), *words)


def _lowered(
    source: Source,
    function: Callable[..., list[Any]],
    leaves: Sequence[Leaf],
    shapes: Sequence[tuple[Any, ...]],
    wide: bool,
) -> ExportedParts:
    wide = wide or any(leaf.dtype in ("float64", "int64") for leaf in leaves)
    with jax.enable_x64(True) if wide else nullcontext():
        avals = [jax.ShapeDtypeStruct(shape, jnp.dtype(leaf.dtype)) for leaf, shape in zip(leaves, shapes, strict=True)]
        try:
            parts = _jax.export_flat(function, avals, source.options.platforms or None)
        except Exception as error:
            said = str(error).strip().partition("\n")[0][:300]
            fix = "leave --shapes out, and export one file for each size." if source.options.shapes else ""
            raise source.refuse("JAX does not export it.", why=f"{type(error).__name__}: {said}", fix=fix) from error
    if parts.devices > 1:
        raise source.refuse(
            f"its program is for {parts.devices} devices.", why="a file holds a program of one device.",
            fix="export it without a mesh, and lay its inputs out where it is loaded.",
        )  # fmt: skip
    return parts


def _leaf_of_result(source: Source, piece: Piece, mark: Mark, leaves: Sequence[Leaf], text: str) -> Leaf:
    if mark.kind == "leaf":
        return leaves[mark.index]
    if mark.kind == "value":
        return leaf_of(source, text, mark.value, False)
    if mark.kind == "number":
        return Leaf(WIDE[mark.value[1]], (), True, "number")
    place: int | None = mark.index
    if piece.prelude is not None:
        kind, place = piece.prelude.outputs[mark.index]
        if kind == "value":
            told = piece.prelude.source_of(place)
            return leaves[told] if isinstance(told, int) else Leaf(WIDE[told], (), True, "number")
    if piece.placing is not None:
        argument = piece.placing.argument_of(place)
        if argument is not None:
            kind, at = piece.prelude.inputs[argument] if piece.prelude is not None else ("leaf", argument)
            if kind == "leaf":
                return leaves[at]
        place = piece.placing.place_of(place)
    assert place is not None
    whole = piece.jaxpr if piece.general is None else piece.general
    return leaf_of_aval(source, text, whole.out_avals[place])


def _static(source: Source, piece: Piece, inputs: set[str], namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is part of the program and stands below no input, as a user writes it, and its value."""
    own = {name for item in source.cell.statements if ran_by_python(source, item) for name in item.names.binds}
    for path, parts in parts_by_path(piece).items():
        root = root_name(path)
        if root is None or root in inputs | own or len(parts) != 1 or not isinstance(parts[0], tuple):
            continue
        part: Any = parts[0]
        if len(part) != 2 or part[0] not in (*NUMBERS, str, type(None)) or type(part[1]) is not part[0]:
            continue
        text, value = render_path(path), repr(part[1])
        if not _is_of_library(namespace.get(root)) and "__" not in text and len(value) <= _LONGEST:
            yield text, value


def _is_of_library(value: Any) -> bool:
    """Whether a value is a module, a class, or a function or an object of a library, of which users set nothing."""
    if isinstance(value, type | types.ModuleType | partial):
        return True
    inner = getattr(value, "__wrapped__", value)
    if isinstance(inner, types.FunctionType | types.BuiltinFunctionType):
        return is_library(inner.__module__)
    return is_library_class(type(value)) and type(value).__module__ not in ("builtins", "collections", "types")


def _provenance(shown: str, parts: ExportedParts) -> exported.Provenance:
    versions = {
        "jaxnb": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "python": platform.python_version(),
    }
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = hashlib.sha256(shown.encode(errors="surrogatepass")).hexdigest()
    return exported.Provenance(shown, digest, created, versions, parts.stablehlo, parts.platforms)
