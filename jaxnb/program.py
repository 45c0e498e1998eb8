"""What a cell became, as one neutral, frozen structure that every view and the codec share.

A `Program` holds levels, from the cell's source down. A level is a list of values and a list of computations;
a computation is a straight list of ops over those values; an op may own further computations (the body of a
scan, the branches of a cond). Ops, values and computations refer to one another by index, so that the whole
is plain data:

    Program
      levels: source, jaxpr (later: stablehlo, hlo)
        Level.values         Value(name, Aval)
        Level.computations   Computation(inputs, outputs, ops); entry points first
          Op                 name, inputs, outputs, span in the cell, bodies
      links                  between an op of one level and an op of the next
      findings               what there is to say about it

Nothing here imports jax: a saved program is read and drawn without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = [
    "Aval",
    "Computation",
    "Finding",
    "Fix",
    "Level",
    "Link",
    "Op",
    "Program",
    "Span",
    "Value",
    "check_program",
]

FORMAT_VERSION = 1


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
    """An operand or result. `name` is what the level's text calls it, or the literal itself."""

    name: str
    aval: Aval | None = None
    literal: bool = False


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
    """

    name: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    span: Span | None = None
    bodies: tuple[int, ...] = ()

    @property
    def line(self) -> int | None:
        """The line in the program's own cell, or None."""
        return self.span.line if self.span is not None and not self.span.file else None


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


@dataclass(frozen=True, slots=True)
class Level:
    """One form of the program. The first `entries` computations are entry points, the others are bodies."""

    name: str
    values: tuple[Value, ...] = ()
    computations: tuple[Computation, ...] = ()
    entries: int = 1

    def ops(self) -> Iterator[Op]:
        """Every op, computation by computation."""
        for computation in self.computations:
            yield from computation.ops


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
class Fix:
    """What to do about a finding: `options` for the magic line, or `edit` as (line, old text, new text).

    `verified` says that jaxnb has tried it and that it worked; otherwise it is advice.
    """

    text: str
    options: str = ""
    edit: tuple[int, str, str] | None = None
    verified: bool = False


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
    """

    kind: str
    message: str
    line: int | None = None
    span: Span | None = None
    holder: str = ""
    origin: str = ""
    fix: Fix | None = None
    trail: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """A cell at every level that was made, with the links between them and what was found.

    Attributes:
      source: the text of the cell as displayed, the magic line included if there is one.
      levels: from the source down.
      links: between ops of neighbouring levels.
      findings: in the order of their lines.
    """

    source: str
    levels: tuple[Level, ...] = ()
    links: tuple[Link, ...] = ()
    findings: tuple[Finding, ...] = field(default=())

    def level(self, name: str) -> Level:
        """The level of that name.

        Raises:
          KeyError: if it was not made; the message names those that were.
        """
        for level in self.levels:
            if level.name == name:
                return level
        made = ", ".join(level.name for level in self.levels) or "none"
        raise KeyError(f"there is no level {name!r} in this program; made so far: {made}")

    def __str__(self) -> str:
        from jaxnb.views.text import render_program

        return render_program(self)


def check_program(program: Program) -> None:
    """Checks the laws of the structure.

    Every index points to something; bodies form a forest below the entry points; spans of the cell lie inside
    its source; links name ops that exist, of neighbouring levels.

    Raises:
      ValueError: naming the law and the place where it does not hold.
    """
    names = [level.name for level in program.levels]
    if len(set(names)) != len(names):
        raise ValueError(f"two levels have one name: {names}")
    lines = program.source.count("\n") + 1
    for level in program.levels:
        _check_level(level, lines)
    by_name = {level.name: level for level in program.levels}
    for link in program.links:
        if link.upper not in by_name or link.lower not in by_name:
            raise ValueError(f"{link} names a level that is not there")
        if names.index(link.lower) != names.index(link.upper) + 1:
            raise ValueError(f"{link} joins levels that are not neighbours")
        for name, (computation, op) in ((link.upper, link.upper_op), (link.lower, link.lower_op)):
            computations = by_name[name].computations
            if not 0 <= computation < len(computations) or not 0 <= op < len(computations[computation].ops):
                raise ValueError(f"{link} names an op that is not there")


def _check_level(level: Level, lines: int) -> None:
    where = f"level {level.name!r}"
    if level.entries > len(level.computations):
        raise ValueError(f"{where} has fewer computations than entry points")
    owned = set(range(level.entries))
    for index, computation in enumerate(level.computations):
        place = f"{where}, computation {index}"
        _check_indices(computation.inputs + computation.outputs + computation.constants, len(level.values), place)
        for kind, names, named in (
            ("input", computation.input_names, computation.inputs),
            ("output", computation.output_names, computation.outputs),
        ):
            if names and len(names) != len(named):
                raise ValueError(f"{place}: {len(names)} {kind} names for {len(named)} {kind}s")
        for op in computation.ops:
            _check_indices(op.inputs + op.outputs, len(level.values), f"{place}, op {op.name!r}")
            for body in op.bodies:
                if not index < body < len(level.computations) or body in owned:
                    raise ValueError(f"{place}, op {op.name!r}: body {body} is missing, shared or above it")
                owned.add(body)
            if op.span is not None and not op.span.file and not 1 <= op.span.line <= lines:
                raise ValueError(f"{place}, op {op.name!r}: line {op.span.line} is not in the source")
    if len(owned) != len(level.computations):
        raise ValueError(f"{where} has computations that nothing owns")


def _check_indices(indices: tuple[int, ...], size: int, place: str) -> None:
    for index in indices:
        if not 0 <= index < size:
            raise ValueError(f"{place}: value {index} is not there (there are {size})")
