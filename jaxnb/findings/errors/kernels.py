"""Kernels of Pallas that cannot be lowered or compiled for a machine: which kernel, which line, what the compiler says.

Errors of lowering have frames that hold the equation; those of the compilers of TPUs and GPUs are texts, with locations
of MLIR or the number of the equation in them.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from jaxnb import _jax
from jaxnb._jax import all_eqns, kernel_call, kernel_lowered, kernel_origins
from jaxnb.errors import JaxnbError
from jaxnb.findings.errors.block_specs import block_spec_span
from jaxnb.findings.place import Label
from jaxnb.program import Finding, Fix, Span, Target, attach, finding_of, read_kernel_room
from jaxnb.reading import NotCompiled, OutOfMemory, SimulatedMesh, Spans, number_equations, read_kernel
from jaxnb.staging import CellSource
from jaxnb.units import format_bytes
from jaxnb.views import kernel_windows_text

__all__ = ["KernelRefused", "find_kernel_refusal", "find_kernel_refusal_in_files", "tidied"]


class KernelRefused(JaxnbError):
    """A kernel of the cell cannot be lowered or compiled for a machine."""


@dataclass(frozen=True, slots=True)
class _Text:
    """The text in which lines are told.

    Attributes:
      filename: what tracebacks call it.
      shown: as displayed.
      label: what its lines are said to be of; "" for the cell, which needs no name.
    """

    filename: str
    shown: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with a kernel.

    Attributes:
      call: the equation of its `pallas_call`.
      span: where in the user's text it is wrong.
      said: by the compiler, in a sentence or two.
      about: the equation of the body that it is about, in words; "" where that is not known.
    """

    call: Any
    span: Span | None
    said: str
    about: str = ""


def find_kernel_refusal(
    error: BaseException, jaxpr: Any, cell: CellSource, label: Label, mesh: SimulatedMesh
) -> JaxnbError | None:
    """What to raise in the place of an error that is about a kernel; None for one that is about anything else.

    Args:
      error: of lowering or compiling the cell.
      jaxpr: of the cell.
      cell: which one.
      label: what the user knows a file by.
      mesh: what it was to be compiled for; a target.
    """
    return _find(error, jaxpr, _Text(cell.filename, cell.shown), label, mesh)


def find_kernel_refusal_in_files(
    error: BaseException, jaxpr: Any, label: Label, mesh: SimulatedMesh
) -> JaxnbError | None:
    """The same for a function, whose kernels may stand in any files: lines are counted in the file that has them.

    Args:
      error: of lowering or compiling it.
      jaxpr: of it.
      label: what the user knows a file by.
      mesh: what it was to be compiled for; a target.
    """
    found: JaxnbError | None = None
    for file in _files(jaxpr):
        text = _Text(file, "".join(linecache.getlines(file)), label(file))
        told = _find(error, jaxpr, text, label, mesh)
        if told is None:
            return None
        finding = finding_of(told)
        span = None if finding is None else finding[0].span
        if span is not None and span.file == text.label:
            return told
        found = found or told
    return found


def _files(jaxpr: Any) -> list[str]:
    """The files of the user in which kernels, or what they compute, are written."""
    spans = Spans("", "", str)
    placed = [own for call in _kernels(jaxpr) for own in _spans_of(call, spans)]
    return [*dict.fromkeys(span.file for span in placed if span is not None)]


def _spans_of(call: Any, spans: Spans) -> Iterator[Span | None]:
    at = spans.of(call, None)
    yield at
    for _, own in _placed(kernel_call(call).body, spans, at):
        yield own


def _find(error: BaseException, jaxpr: Any, cell: _Text, label: Label, mesh: SimulatedMesh) -> JaxnbError | None:
    if mesh.target is None:  # CPUs run no kernels, right or wrong: the error says so
        return None
    spans = Spans(cell.filename, cell.shown, label)
    if isinstance(error, OutOfMemory):
        return _no_room(error, jaxpr, spans, cell, mesh.target)
    verb = "compiled"
    if isinstance(error, NotCompiled):
        fault = _compiled(error.said, jaxpr, spans, cell)
    else:
        verb, fault = "lowered", _lowered(error, spans, cell)
    if fault is None:
        return None
    name = _name(fault.call)
    where = _where(fault.span, cell)
    why = tidied(fault.said, cell.filename) + (f" It is about {fault.about}." if fault.about else "")
    machine = str(mesh.target)
    fix = next((text for word, text in _ADVICE if word in fault.said), "")
    if "shared memory" in fault.said:
        why = f"{why} {_room(fault.call, mesh.target, 0)[0]}".rstrip()
    line = _line(fault.span, cell)
    what = f"kernel `{name}` cannot be {verb} for {machine}: {where}."
    told = KernelRefused(what, why=why, fix=fix, line=line)
    call = spans.of(fault.call, None)
    inside = not cell.label and call is not None and not call.file and call.line != line
    trail = (call.line,) if inside and call is not None else ()
    said = f"kernel `{name}` cannot be {verb} for {machine}: {why}"
    finding = Finding("error", said, line, _named(fault.span, cell), trail=trail)
    attach(told, replace(finding, fix=Fix(fix) if fix else None), cell.shown)
    return told


def _line(span: Span | None, text: _Text) -> int | None:
    """A line of the cell; None for one of a file."""
    return span.line if span is not None and not span.file and not text.label else None


def _named(span: Span | None, text: _Text) -> Span | None:
    """A span that says of which file it is."""
    return replace(span, file=text.label) if span is not None and text.label and not span.file else span


# By words of the compilers, which say nothing else of what is wrong.
_ADVICE = (
    (
        "last two dimensions of your block shape",
        "blocks whose last two sizes are multiples of 8 and 128, or the array's.",
    ),
    ("Unimplemented primitive", "compute it outside of the kernel, or write it with operations that kernels have."),
    ("a multiple of", "pl.multiple_of(i, 128) says that an index is aligned, where it is."),
    (
        "aligned to tiles",
        "begin at multiples of the tile, 8 rows and 128 columns; pl.multiple_of says that an index is one.",
    ),
    ("Cannot store scalars to VMEM", "store an array, as o[0:1, 0:1] = x[0:1, 0:1]; scalars belong to pltpu.SMEM."),
    ("Can only load scalars from SMEM", "read it item by item, or leave memory_space=pltpu.SMEM out."),
    ("ANY memory space", "pltpu.sync_copy(x, scratch) brings it to VMEM first, or leave memory_space=pl.ANY out."),
    ("shared memory", "smaller blocks: what a step works on must fit into the shared memory of a block of threads."),
    ("size is a power of 2", "sizes of blocks that are powers of 2; a mask leaves out what is too much."),
    ("Unsupported TPU device kind", "JAX asks which TPU this process has, and there is none: compute it otherwise."),
    ("automatically partitioned", "call it under jax.shard_map, where each device has its own piece."),
)


def _name(call: Any) -> str:
    return kernel_call(call).name or "a kernel"


def _where(span: Span | None, text: _Text) -> str:
    if span is None:
        return "of no line of the cell" if not text.label else "where it is written is not known"
    file = span.file or text.label
    of = f" of {file}" if file else ""
    if span.file:
        return f"line {span.line}{of}"
    lines = text.shown.split("\n")
    written = lines[span.line - 1].strip() if 0 < span.line <= len(lines) else ""
    return f"line {span.line}{of}, `{written}`" if written else f"line {span.line}{of}"


_NOISE = (
    re.compile(r"^\s*(INTERNAL|UNIMPLEMENTED|INVALID_ARGUMENT): "),
    re.compile(r"Mosaic failed to compile TPU kernel: "),
    re.compile(r"^E\d{4}: \w+: ?"),
    re.compile(r"Pallas encountered an internal verification error\..*?Error details: ", re.DOTALL),
    re.compile(r"\s*Please (file|report) a[n]? (bug|issue)( at)?:? ?\S*", re.DOTALL),
    re.compile(r"\s*See https?://\S+ for more details\.?"),
    re.compile(r'error: (?:"[^\n]*\)\)*: )?'),
    re.compile(r", and index_map \{.*?\}(?=,|\.| in)", re.DOTALL),
)
_ENDS = re.compile(
    r"\n\s*(at location:|The MLIR operation involved|see current operation)|\. Consider adding extra tests"
)


def tidied(said: str, file: str) -> str:
    """The words of a compiler without the operation that it prints, requests to report it, and names of files."""
    found = _ENDS.search(said)
    text = said[: found.start()] if found is not None else said
    for noise in _NOISE:
        text = noise.sub("", text)
    text = re.sub(r"(?:Blocked|Element|Squeezed)\(block_size=(\d+)[^()]*(?:\([^()]*\))?\)", r"\1", text)
    text = re.sub(rf"{re.escape(file)}:(\d+)", r"line \1", text) if file else text
    text = re.sub(r", in memory space <[^>]*>", "", text)
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


# --- errors of lowering, which have frames ---


def _lowered(error: BaseException, spans: Spans, cell: _Text) -> _Fault | None:
    found = kernel_lowered(error)
    if found is None:
        return None
    call, inner = found
    cause = error.__cause__ if isinstance(error, JaxnbError) and error.__cause__ is not None else error
    said = str(cause).strip()
    if " " not in said:  # the name of a dtype that is in no table
        said = f"{type(cause).__name__}: {said}"
    at = spans.of(call, None)
    if not inner:
        at_fault = _of_verification(cause, call, spans, at)
        if at_fault is not None:
            return _Fault(call, at_fault[1], said, _equation(at_fault[0]))
        return _Fault(call, _block_spec(said, call, at, cell.shown) or at, said)
    # Equations of a library's own function have no place in the cell: they are of the line that calls it.
    span = next((span for eqn in reversed(inner) if (span := spans.of(eqn, None)) is not None), at)
    about = "" if inner[-1].primitive.name in said else _equation(inner[-1])
    return _Fault(call, span, said, about)


def _equation(eqn: Any) -> str:
    """`get` of float32[8,128]."""
    avals = [getattr(atom.aval, "inner_aval", atom.aval) for atom in (*eqn.outvars, *eqn.invars)]
    shown = next((aval.str_short() for aval in avals if hasattr(aval, "str_short")), "")
    return f"`{eqn.primitive.name}` of {shown}" if shown else f"`{eqn.primitive.name}`"


def _of_verification(error: BaseException, call: Any, spans: Spans, at: Span | None) -> tuple[Any, Span | None] | None:
    """The equation of the body that an error of the verifier is about, by its name in the location or the operation."""
    for one in (error, error.__context__, error.__cause__):
        text = "" if one is None else str(one)
        located = re.search(r'error: "(\w+):"', text)
        operation = re.search(r"'(?:tpu|arith|vector|math|tt)\.(\w+)' op", text)
        names = {located[1]} if located is not None else _PRIMITIVES.get(operation[1], set()) if operation else set()
        for eqn, span in _placed(kernel_call(call).body, spans, at):
            if eqn.primitive.name in names:
                return eqn, span
    return None


def _placed(jaxpr: Any, spans: Spans, owner: Span | None) -> Iterator[tuple[Any, Span | None]]:
    """Every equation of a body with its place; those of a library's own function are where that is called."""
    for eqn in jaxpr.eqns:
        span = spans.of(eqn, owner)
        yield eqn, span
        for _, body in _jax.body_jaxprs(eqn.params):
            yield from _placed(body, spans, span)


_PRIMITIVES = {"matmul": {"dot_general"}, "dot": {"dot_general"}, "iota": {"iota"}, "transpose": {"transpose"}}


def _block_spec(said: str, call: Any, at: Span | None, shown: str) -> Span | None:
    """The line of the block that an error names, as `args[0]` or `outputs[0]`."""
    for name, origins in zip(("in_specs", "out_specs"), kernel_origins(call), strict=True):
        for place, origin in enumerate(origins):
            if re.search(rf"\b{re.escape(origin)}(?!\w)", said):
                return block_spec_span(shown, at, name, place)
    return None


# --- errors of compilers, which are texts ---

_LOCATED = re.compile(r"at location: loc\((?P<loc>.*?)\)\s*(?:\n|$)")
_PLACE = re.compile(r'"(?P<file>[^"\n]+)":(?P<line>\d+):(?P<column>\d+)(?: to (?:(?P<end>\d+))?:(?P<end_column>\d+))?')
_LAST_NAME = re.compile(r'"(?P<name>\w+):"')
_NUMBERED = re.compile(r"\beqn(\d+)\b")


def _kernels(jaxpr: Any) -> list[Any]:
    return [eqn for eqn in all_eqns(jaxpr) if eqn.primitive.name == "pallas_call"]


def _compiled(said: str, jaxpr: Any, spans: Spans, cell: _Text) -> _Fault | None:
    if "Mosaic" not in said and "riton" not in said and "tpu_custom_call" not in said:
        return None
    kernels = _kernels(jaxpr)
    located = _LOCATED.search(said)
    span = _cell_span(located["loc"], cell) if located is not None else None
    name = _LAST_NAME.search(located["loc"]) if located is not None else None
    for call in kernels:
        at = spans.of(call, None)
        body = [*_placed(kernel_call(call).body, spans, at)]
        if span is not None and any(own is not None and own.line == span.line for _, own in body):
            return _Fault(call, span, said)
        if span is None and name is not None:  # a location without a place: the equation by what it is called
            found = {own for eqn, own in body if eqn.primitive.name == name["name"]}
            if found:
                several = f"one of the `{name['name']}` in it; the compiler does not say which"
                return _Fault(call, found.pop(), said) if len(found) == 1 else _Fault(call, at, said, several)
    call = _numbered(said, jaxpr) or (kernels[0] if len(kernels) == 1 else None)
    return None if call is None else _Fault(call, span or spans.of(call, None), said)


def _cell_span(location: str, cell: _Text) -> Span | None:
    """The innermost place of the cell in a location; call sites stand from the inside out."""
    for found in _PLACE.finditer(location):
        if found["file"] == cell.filename:
            line = int(found["line"])
            end = int(found["end"] or line)
            width = int(found["end_column"] or 0)
            return Span(line, int(found["column"]), end, width) if width else Span(line)
    return None


def _numbered(said: str, jaxpr: Any) -> Any | None:
    """The kernel whose equation a compiler names by its number."""
    numbers = number_equations(jaxpr)
    found = {int(one[1]) for one in _NUMBERED.finditer(said)}
    for owner in (_jax.open_jaxpr(jaxpr), *_jaxprs(jaxpr)):
        for at, eqn in enumerate(owner.eqns):
            if eqn.primitive.name == "pallas_call" and numbers.first(owner) + at in found:
                return eqn
    return None


def _jaxprs(jaxpr: Any) -> Iterator[Any]:
    for eqn in all_eqns(jaxpr):
        for _, body in _jax.body_jaxprs(eqn.params):
            yield body


def _room(call: Any, target: Target, needed: int) -> tuple[str, str]:
    """What the windows of a kernel take, and what lets it have that; "" for what is not known.

    Args:
      call: the equation of its `pallas_call`.
      target: what it is compiled for.
      needed: bytes that the compiler says it needs.
    """
    room = read_kernel_room(read_kernel(call), target)
    if room is None or not room.needed:
        return "", ""
    needed, fix = max(needed, room.needed), ""
    if room.limit < needed <= room.most:
        asked = f"vmem_limit_bytes={-(-needed // 2**20)} * 2**20"
        fix = f"compiler_params=pltpu.CompilerParams({asked}) lets it have that; or smaller blocks."
    return f"It takes {format_bytes(room.needed)}: {kernel_windows_text(room)}.", fix


def _no_room(error: OutOfMemory, jaxpr: Any, spans: Spans, cell: _Text, target: Target) -> JaxnbError | None:
    """The same error with the kernel that does not fit, and the line of its largest window or of its call."""
    if error.refusal.memory == "HBM":
        return None
    kernels = _kernels(jaxpr)
    call = _numbered(error.said, jaxpr) or (kernels[0] if len(kernels) == 1 else None)
    if call is None:
        return None
    at = spans.of(call, None)
    window = re.search(r"for operator (input|output) (\d+)", error.said)
    if window is not None:
        at = block_spec_span(cell.shown, at, "in_specs" if window[1] == "input" else "out_specs", int(window[2])) or at
    line = _line(at, cell)
    where = f", {_where(at, cell)}," if at is not None else ""
    kernel = f"kernel `{_name(call)}`{where}"
    refusal = error.refusal
    more, fix = _room(call, target, refusal.needed)
    told = OutOfMemory(refusal, error.device, error.said, kernel, line, more=more, fix=fix)
    message = f"{told.what[:-1]}: {told.why}"
    attach(told, Finding("error", message, line, _named(at, cell), fix=Fix(told.fix)), cell.shown)
    return told
