"""What a cell became, as one neutral, frozen structure that every view and the codec share.

A `Program` holds levels, from the cell's source down. A level is a list of values and a list of computations;
a computation is a straight list of ops over those values; an op may own further computations (the body of a
scan, the branches of a cond). Ops, values and computations refer to one another by index, so that the whole
is plain data:

    Program
      levels: source, jaxpr, stablehlo, hlo
        Level.values         Value(name, Aval)
        Level.computations   Computation(inputs, outputs, ops); entry points first
          Op                 name, inputs, outputs, span in the cell, bodies
      links                  between an op of one level and an op of the next
      fates                  what became of an equation that no instruction bears
      findings               what there is to say about it

A level that costs something to make is made when it is first asked for (`Program.level`), by whatever the program
was given as its maker, and kept. Nothing here imports jax: a saved program is read and drawn without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jaxnb.coverage import Coverage

__all__ = [
    "LEVELS",
    "PHASES",
    "Aval",
    "Computation",
    "Fate",
    "Finding",
    "Fix",
    "Level",
    "Link",
    "Maker",
    "Op",
    "Program",
    "Span",
    "Value",
    "check_program",
]

FORMAT_VERSION = 2

LEVELS = ("source", "jaxpr", "stablehlo", "hlo")
"""The names of the levels, from the cell's text down."""

PHASES = ("primal", "tangent", "transposed", "rematerialised")
"""What an op is to a derivative: the function itself, its derivative forwards or backwards, or the function again."""

FATES = ("folded", "fused", "removed")


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

    `sharding` says how it is spread over devices, in the words of its level; "" where it is not, or not known.
    """

    name: str
    aval: Aval | None = None
    literal: bool = False
    sharding: str = ""


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
    """

    name: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    span: Span | None = None
    bodies: tuple[int, ...] = ()
    phase: str = "primal"
    scopes: tuple[str, ...] = ()

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


class Maker(Protocol):
    """Makes the levels of a program that were not made with it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The levels that it can make, from the top down."""
        ...

    def make(self, name: str, above: Program) -> tuple[Level, tuple[Link, ...], tuple[Fate, ...]]:
        """A level, its links to the level above, and the fates that it tells.

        Args:
          name: of the level.
          above: the program, whose last level is the one above.
        """
        ...


@dataclass(frozen=True, slots=True)
class Program:
    """A cell at every level that was made, with the links between them and what was found.

    Two programs are equal if they are the same cell and have the same levels; what could still be made does not count.

    Attributes:
      source: the text of the cell as displayed, the magic line included if there is one.
      levels: from the source down, those that were made. Asking for another one adds it, which is the only thing
        about a program that ever changes.
      links: between ops of neighbouring levels.
      findings: in the order of their lines.
      fates: of ops of the level "jaxpr", once the level "hlo" was made.
    """

    source: str
    levels: tuple[Level, ...] = ()
    links: tuple[Link, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    fates: tuple[Fate, ...] = ()
    _maker: Maker | None = field(default=None, compare=False, repr=False)

    @property
    def level_names(self) -> tuple[str, ...]:
        """The levels that were made, and then those that can be."""
        made = tuple(level.name for level in self.levels)
        return made + tuple(name for name in (self._maker.names if self._maker else ()) if name not in made)

    def level(self, name: str) -> Level:
        """The level of that name, which is made now if it was not yet.

        Args:
          name: "source", "jaxpr", "stablehlo" or "hlo". What is lowered for "stablehlo" is not compiled; "hlo" is
            that of the program that ran, and only where nothing ran is it compiled for this.

        Raises:
          KeyError: if there is none and none can be made; the message names those that there are.
        """
        for level in self.levels:
            if level.name == name:
                return level
        if self._maker is not None and name in self._maker.names:
            self._make(name)
            return self.levels[-1]
        made = ", ".join(level.name for level in self.levels) or "none"
        more = [known for known in self.level_names if not any(level.name == known for level in self.levels)]
        can = f"; can be made: {', '.join(more)}" if more else ""
        raise KeyError(f"there is no level {name!r} in this program; made so far: {made}{can}")

    def ops(self, level: str) -> Iterator[Op]:
        """Every op of a level, computation by computation; the level is made if it was not yet.

        Raises:
          KeyError: as `level`.
        """
        return self.level(level).ops()

    def linked(self, level: str, op: tuple[int, int], to: str) -> dict[tuple[int, int], bool]:
        """What an op is at another level, above or below, by following links from level to level.

        Args:
          level: where it stands.
          op: as (computation, op).
          to: the other level. It and the levels between are made if they were not yet.

        Returns:
          The ops of the other level in their order, each with whether some way there has only exact links.

        Raises:
          KeyError: as `level`.
        """
        from jaxnb.linking import follow

        for name in (level, to):
            self.level(name)
        return follow(self, level, op, to)

    def coverage(self) -> Coverage:
        """How much of the program is linked: four shares from 0 to 1. Levels that can be made are made for it.

        >>> Program("x = 1").coverage().eqn_line is None
        True
        """
        from jaxnb.coverage import read_coverage

        if self._maker is not None:
            for name in self._maker.names:
                self.level(name)
        return read_coverage(self)

    def _make(self, name: str) -> None:
        """Makes the levels down to the one of that name: each is linked to the one above."""
        maker = self._maker
        assert maker is not None
        for next_name in maker.names:
            if not any(level.name == next_name for level in self.levels):
                level, links, fates = maker.make(next_name, self)
                object.__setattr__(self, "levels", (*self.levels, level))
                object.__setattr__(self, "links", (*self.links, *links))
                object.__setattr__(self, "fates", (*self.fates, *fates))
            if next_name == name:
                return

    def __reduce__(self) -> tuple[type[Program], tuple[object, ...]]:
        """A copy, or what comes out of a pickle, has the levels that were made and makes no others."""
        return Program, (self.source, self.levels, self.links, self.findings, self.fates)

    def __str__(self) -> str:
        from jaxnb.views.text import render_program

        return render_program(self)


def check_program(program: Program) -> None:
    """Checks the laws of the structure.

    Every index points to something; bodies form a forest below the entry points, so that nothing contains itself;
    spans of the cell lie inside its source; links name ops that exist, of neighbouring levels, and none occurs twice,
    so that going down a link and up again leads back; fates name ops that exist.

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
    seen: set[tuple[str, tuple[int, int], str, tuple[int, int]]] = set()
    for link in program.links:
        ends = (link.upper, link.upper_op, link.lower, link.lower_op)
        if ends in seen:
            raise ValueError(f"{link} occurs twice")
        seen.add(ends)
        if link.upper not in by_name or link.lower not in by_name:
            raise ValueError(f"{link} names a level that is not there")
        if names.index(link.lower) != names.index(link.upper) + 1:
            raise ValueError(f"{link} joins levels that are not neighbours")
        for name, op in ((link.upper, link.upper_op), (link.lower, link.lower_op)):
            if not _has(by_name[name], op):
                raise ValueError(f"{link} names an op that is not there")
    for fate in program.fates:
        _check_fate(fate, by_name)


def _check_fate(fate: Fate, levels: dict[str, Level]) -> None:
    if fate.kind not in FATES:
        raise ValueError(f"{fate} is none of {', '.join(FATES)}")
    if (fate.kind == "fused") != (fate.into is not None):
        raise ValueError(f"{fate}: what is fused, and nothing else, is fused into something")
    for name, op in (("jaxpr", fate.op), ("hlo", fate.into)):
        if op is not None and (name not in levels or not _has(levels[name], op)):
            raise ValueError(f"{fate} names an op that is not there")


def _has(level: Level, place: tuple[int, int]) -> bool:
    computation, op = place
    return 0 <= computation < len(level.computations) and 0 <= op < len(level.computations[computation].ops)


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
            if op.phase not in PHASES:
                raise ValueError(f"{place}, op {op.name!r}: phase {op.phase!r} is none of {', '.join(PHASES)}")
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
