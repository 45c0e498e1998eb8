"""The parts of a `Program`: spans, types, values, ops, levels and links, and what there is to say about them.

Ops, values and computations refer to one another by index, so that the whole is plain data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from jaxnb.program.columns import Column, column, columns_of
from jaxnb.program.severity import Severity, severity_of
from jaxnb.units import format_seconds

__all__ = [
    "BACKWARD",
    "CALLS",
    "COLUMNS",
    "LEVELS",
    "PHASES",
    "Assigned",
    "Aval",
    "Call",
    "Computation",
    "Fate",
    "Finding",
    "Fix",
    "Level",
    "Link",
    "Op",
    "Peaks",
    "Place",
    "PlacedOp",
    "ProcessTime",
    "Source",
    "Span",
    "Timing",
    "Value",
]

FORMAT_VERSION = 1

LEVELS = ("source", "jaxpr", "stablehlo", "hlo")
"""The names of the levels, from the cell's text down."""

PHASES = ("primal", "tangent", "transposed", "rematerialised")
"""What an op is to a derivative: the function itself, its derivative forwards or backwards, or the function again."""

BACKWARD = frozenset({"transposed", "rematerialised"})
"""The phases of a backward pass."""

FATES = ("folded", "fused", "removed")

CALLS = ("function", "library", "loop", "line", "scope")
"""What a step on the way to an op can be."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of source text. Lines count from 1, the magic line being 1; columns count from 0, as in `ast`.

    Attributes:
      line: the first line.
      column: the first column, in characters.
      end_line: the last line.
      end_column: the column after the last character.
      file: "" for the program's own cell, otherwise the name of the cell or file it stands in.
    """

    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    file: str = ""


@dataclass(frozen=True, slots=True)
class Aval:
    """The abstract value of an array: what the compiler knows about it.

    Attributes:
      dtype: the name of the dtype, such as "float32" or "key<fry>".
      shape: the sizes; a symbolic one is a string.
      weak_type: whether it gives way to other dtypes, as a Python scalar does.
      itemsize: bytes of one element, 0 where unknown.
    """

    dtype: str
    shape: tuple[int | str, ...] = ()
    weak_type: bool = False
    itemsize: int = 0

    def __str__(self) -> str:
        """`float32[64,128]`, with a `~` in front where it is weakly typed."""
        sizes = ",".join(str(n) for n in self.shape)
        return f"{'~' if self.weak_type else ''}{self.dtype}[{sizes}]"

    @property
    def nbytes(self) -> int | None:
        """The size in bytes, or None where it is not known."""
        if self.itemsize == 0 or any(isinstance(n, str) for n in self.shape):
            return None
        return self.itemsize * math.prod(int(n) for n in self.shape)


@dataclass(frozen=True, slots=True)
class Value:
    """An operand or result. `name` is what the level's text calls it, or the literal itself.

    `sharding` says how it is spread over devices, in the words of its level; "" where it is not, or not known. `axes`
    are the named axes that it varies over, each with its size, which is None where it is not known.
    """

    name: str
    aval: Aval | None = None
    literal: bool = False
    sharding: str = ""
    axes: tuple[tuple[str, int | None], ...] = ()


Place = tuple[int, int]
"""Where an op stands in a level: its computation, and its position there."""


@dataclass(frozen=True, slots=True)
class Call:
    """A step on the way from the cell to the ops that it comes to: which function was called where, on what.

    Attributes:
      name: of the function, as `Block.__call__` or `jax.nn.softmax`; of a loop its primitive; of a scope what it was
        given; "" for a line.
      kind: one of `CALLS`: a "function" of the user's, a call into a "library" whose inside is folded, a "loop",
        a "scope" that the user's code enters by `jax.named_scope`, or a "line" of the step above that computes
        something by itself; in the cell's own text the span of the op says which.
      span: where it is written, in the text of the step above; None where that is not known.
      parent: the step above; None for the cell.
      path: to the module that it belongs to, as `blocks[0].attn`, from the outermost one; "" for that itself, and
        for what belongs to none.
      turns: of a loop, how often its body runs; None where nobody knows.
    """

    name: str
    kind: str = "function"
    span: Span | None = None
    parent: Call | None = None
    path: str = ""
    turns: int | None = 1

    def steps(self) -> tuple[Call, ...]:
        """The way here from the cell, this one included.

        >>> inner = Call("g", parent=Call("f"))
        >>> [call.name for call in inner.steps()]
        ['f', 'g']
        """
        found: list[Call] = [self]
        while (above := found[-1].parent) is not None:
            found.append(above)
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class Op:
    """One step of a computation.

    Attributes:
      name: the primitive, instruction, or kind of statement.
      inputs: indices into the level's values.
      outputs: likewise.
      attributes: parameters as pairs of name and text, without the bodies.
      span: where in the source it comes from, if known.
      bodies: indices of the computations that it owns, into the level's computations.
      phase: one of `PHASES`.
      scopes: what it stands in, the outermost first: "scan", "while", "vmap", "shard_map", and the names that the
        user gave by `jax.named_scope`.
      call: the innermost call that it was made in; None for what the cell does by itself.
      flops: of all its runs, without those of the ops in its bodies, so that a sum over ops counts nothing twice; None
        where nobody knows.
      bytes: read and written, likewise.
      transcendentals: values of exp, log, tanh and the like, likewise; they are not among the flops.
      times: how often the loops around it run it; None where a `while` is among them, whose body is counted once.
      seconds: measured, or the share of what was measured; None where nothing was.
    """

    name: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    span: Span | None = None
    bodies: tuple[int, ...] = ()
    phase: str = "primal"
    scopes: tuple[str, ...] = ()
    call: Call | None = None
    flops: int | None = column("flops", "floating point operations, of all runs", rank=2, leaves=3)
    bytes: int | None = column("bytes", "read and written, of all runs", total="{} moved", rank=3, leaves=1)
    transcendentals: int | None = column(
        "count", "values of exp, log, tanh and the like", total="{} transcendentals", rank=5, leaves=None
    )
    times: int | None = 1
    seconds: float | None = column("seconds", "measured, apportioned to ops", head="time", rank=1, leaves=4)

    @property
    def line(self) -> int | None:
        """The line in the program's own cell, or None."""
        return self.span.line if self.span is not None and not self.span.file else None

    @property
    def cell_line(self) -> int | None:
        """The line of the cell that it comes from, be it by way of functions in other files; None if there is none."""
        if self.line is not None or self.call is None:
            return self.line
        spans = (step.span for step in self.call.steps())
        return next((span.line for span in spans if span is not None and not span.file), None)

    @property
    def is_backward(self) -> bool:
        """Whether it runs backwards, or again for that."""
        return self.phase in BACKWARD


COLUMNS = {
    **columns_of(Op),
    "memory": Column("bytes", "live while it runs", total="peak {}", rank=4, leaves=2, of="line", name="memory"),
    "roof": Column(
        "share",
        "achieved of what the device can, where a run was timed",
        rank=6,
        leaves=None,
        of="derived",
        name="roof",
    ),
    "sent": Column("bytes", "sent by a device to others, of all runs", rank=7, leaves=None, of="derived", name="sent"),
}
"""What is shown beside ops and lines, by name, in the order of the texts."""


@dataclass(frozen=True, slots=True)
class PlacedOp(Op):
    """An op with where it stands, as (computation, op), and the links that end there."""

    place: tuple[int, int] = (0, 0)
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Computation:
    """A straight list of ops.

    Attributes:
      name: what it is: a function's name, or its part in the op that owns it, such as "body" or "branch 1".
      inputs: indices into the level's values.
      outputs: likewise.
      ops: in the order of execution.
      constants: values that are part of the program and were not passed to it, as indices.
      input_names: what the user calls the inputs, one for each or none at all.
      output_names: likewise for the outputs.
    """

    name: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    ops: tuple[Op, ...] = ()
    constants: tuple[int, ...] = ()
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()

    def called(self, inputs: Sequence[str], outputs: Sequence[str]) -> Computation:
        """The same with names of the user's, of inputs and of outputs as far as there is one for each."""
        named = tuple(inputs) if len(inputs) == len(self.inputs) else self.input_names
        return replace(
            self,
            input_names=named,
            output_names=tuple(outputs) if len(outputs) == len(self.outputs) else self.output_names,
        )


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a function that ops were made in.

    Attributes:
      file: as in the spans there.
      line: the first one of the text.
      text: of the whole function.
    """

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Level:
    """One form of the program.

    Attributes:
      name: one of `LEVELS`.
      values: of all computations.
      computations: entry points, and the bodies of ops behind them.
      entries: how many of these are entry points.
      sources: of the functions outside of the cell whose calls the ops name, as far as their text is known.
    """

    name: str
    values: tuple[Value, ...] = ()
    computations: tuple[Computation, ...] = ()
    entries: int = 1
    sources: tuple[Source, ...] = ()

    def ops(self) -> Iterator[Op]:
        """Every op, computation by computation."""
        for computation in self.computations:
            yield from computation.ops

    def placed(self) -> Iterator[tuple[Place, Op]]:
        """Every op with where it stands, computation by computation."""
        for index, computation in enumerate(self.computations):
            for at, op in enumerate(computation.ops):
                yield (index, at), op


@dataclass(frozen=True, slots=True)
class Link:
    """Two ops of neighbouring levels that are the same thing, each as (computation, op).

    `exact` is False where the link was inferred rather than carried through.
    """

    upper: str
    upper_op: tuple[int, int]
    lower: str
    lower_op: tuple[int, int]
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an op that has no instruction of its own.

    Attributes:
      op: of the level "jaxpr", as (computation, op).
      kind: "folded", if its result was known at compile time; "fused", if it is computed inside the instruction
        `into`; "removed", if nothing of it is left.
      into: of the level "hlo", as (computation, op).
    """

    op: tuple[int, int]
    kind: str
    into: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do about a finding: `options` for the magic line, or `edit` as (line, old text, new text).

    `verified` says that jaxnb has tried it and that it worked; otherwise it is advice.
    """

    text: str
    options: str = ""
    edit: tuple[int, str, str] | None = None
    verified: bool = False


_CLAUSE = re.compile(r": |; |\. |\.$")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to say about a cell.

    Attributes:
      kind: one word, such as "x64" or "not-reusable".
      message: a sentence for the user.
      line: the line of the cell as displayed, the magic line being 1.
      span: the exact place, if known.
      holder: who holds or feeds it, as the path that a user would write.
      origin: where the value was made.
      fix: what to do, if something is known.
      trail: the lines of the cell on which the value came about that this is about.
      folded: whether it is only counted under the cell, and shown when that is unfolded.
      operands: the values that it is about, each with what it is and where it was made.
      said: what JAX itself says of it, where it is about an error.
    """

    kind: str
    message: str
    line: int | None = None
    span: Span | None = None
    holder: str = ""
    origin: str = ""
    fix: Fix | None = None
    trail: tuple[int, ...] = ()
    folded: bool = False
    operands: tuple[str, ...] = ()
    said: str = ""

    @property
    def id(self) -> str:
        """What the kind is called in documents, such as "JNB-contraction"."""
        return f"JNB-{self.kind}"

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return severity_of(self.kind)

    @property
    def short(self) -> str:
        """The first clause of what it says, and the line: "`key` was used on line 3 already, line 4"."""
        where = f", line {self.line}" if self.line is not None else ""
        return f"{_CLAUSE.split(self.message, maxsplit=1)[0]}{where}"

    def to_json(self) -> dict[str, Any]:
        """It as data that `json.dumps` takes, without the fields that say nothing.

        >>> Finding("x64", "`a` was rounded to float32.", line=3).to_json()
        {'id': 'JNB-x64', 'severity': 'wrong', 'message': '`a` was rounded to float32.', 'line': 3}
        """
        said = {key: value for key, value in asdict(self).items() if value not in (None, "", (), False)}
        said.pop("kind")
        return {"id": self.id, "severity": self.severity.name.lower(), **said}


@dataclass(frozen=True, slots=True)
class Assigned:
    """What a name was, in the abstract, after an assignment in the cell or in a function that it calls.

    Attributes:
      name: as written; `self.x` and `params["w"]` are names, too.
      span: of the assignment.
      function: the one that it stands in; "" for the cell itself.
      text: an aval such as `float32[64,128]`, a pytree of them, or the type of what is no array.
      times: how often it was assigned with this very text.
    """

    name: str
    span: Span
    function: str
    text: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Peaks:
    """What a device was measured to do at most, per second.

    Attributes:
      device: what kind it is.
      products: flops of matrix products, by dtype.
      bandwidth: bytes read and written in its memory.
    """

    device: str
    products: tuple[tuple[str, float], ...]
    bandwidth: float

    def rate(self, dtype: str) -> float:
        """Flops a second of a dtype; of one that was not measured the highest of any, so that nothing is flattered."""
        known = dict(self.products)
        return known.get(dtype) or max(known.values())


@dataclass(frozen=True, slots=True)
class ProcessTime:
    """What a run of a cell took in one process of a cluster.

    Attributes:
      process: its number.
      host: where it is.
      seconds: from the start of the cell to its end.
      waited: those of them in which it waited for other processes to come as far.
    """

    process: int
    host: str
    seconds: float
    waited: float


@dataclass(frozen=True, slots=True)
class Timing:
    """What a program took, in seconds. What each op took is said by `Op.seconds`.

    Attributes:
      total: the median of runs without a profiler; None if there were none, and then `why` says why.
      spread: half of the distance between the quartiles of these runs.
      runs: how many there were.
      profiled: one run under the profiler, whose shares the ops have; None if there was none.
      unattributed: the part of `total` that is of no instruction.
      why: what could not be measured, and why; "" if all was.
      peaks: of the device, if they are known; None for several devices.
    """

    total: float | None = None
    spread: float = 0.0
    runs: int = 0
    profiled: float | None = None
    unattributed: float = 0.0
    why: str = ""
    peaks: Peaks | None = None

    def __str__(self) -> str:
        """What was measured, in a sentence or two.

        >>> print(Timing(5.7e-5, 4e-6, 1000, 7e-5))
        57 us ± 4 us, the median of 1000 runs; 70 us under the profiler.
        """
        parts: list[str] = []
        if self.total is not None:
            times = f"the median of {self.runs} runs" if self.runs > 1 else "of one run"
            text = f"{format_seconds(self.total)} ± {format_seconds(self.spread)}, {times}"
            if self.profiled is not None:
                text += f"; {format_seconds(self.profiled)} under the profiler"
            parts.append(f"{text}.")
        return " ".join([*parts, self.why]).strip()
