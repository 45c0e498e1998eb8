"""What memory a program needs: from the buffers of its executable where it has one, else from its jaxpr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from jax.extend import core as jax_core

from jaxnb._jax import open_jaxpr
from jaxnb.program import Held, Level, Memory, Noted, Op, Place, Saved, made_in
from jaxnb.reading.cost.control import shards
from jaxnb.reading.cost.sizes import Unsized
from jaxnb.reading.flow.liveness import Lived, Liveness, live_bytes
from jaxnb.reading.flow.residuals import recomputed_equations, residuals
from jaxnb.reading.flow.unneeded import Found, computations, dead_equations, known_equations
from jaxnb.reading.hlo.buffers import read_assignment
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.lifetimes import lifetimes, preorder, use_of_memory

__all__ = ["donated_inputs", "read_memory"]

_CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "remat", "checkpoint"})
"""Primitives that call their one body once, with what they take."""


def read_memory(
    closed_jaxpr: Any,
    jaxpr: Level,
    entry: int = 0,
    *,
    compiled: Any = None,
    hlo: Level | None = None,
    donated: Collection[int] = (),
) -> Memory:
    """What memory one piece of a cell needs. Nothing is traced, lowered or compiled for it.

    Args:
      closed_jaxpr: the piece.
      jaxpr: the level that was read of it, alone or among other pieces of the cell.
      entry: the index of its entry computation, which is the same at every level.
      compiled: its `jax.stages.Compiled`, if there is one.
      hlo: the level that was read of that.
      donated: the inputs, by number, whose memory the program may have; only asked where nothing was compiled.

    Returns:
      Memory, whose `source` says where the live bytes come from. Where a size is a symbol it has none, and where the
      buffers cannot be read it has those of the jaxpr; its `note` says so.

    >>> import jax, jax.numpy as jnp
    >>> from jaxnb.reading.jaxpr.jaxpr import read_jaxpr
    >>> closed = jax.make_jaxpr(lambda x: jnp.sin(jnp.cos(x)) * x)(jnp.ones(1000))
    >>> memory = read_memory(closed, read_jaxpr(closed, cell_file="", invar_names=["x"]))
    >>> memory.source, memory.live, [held.name for held in memory.at(2)]
    ('liveness', (8000, 12000, 12000), ['x', 'c', 'd'])
    """
    reading = _Reading(closed_jaxpr, jaxpr, entry)
    memory, note = None, ""
    if compiled is not None and hlo is not None:
        try:
            memory = _compiled_memory(compiled, hlo, jaxpr, entry)
        except ValueError as error:  # a runtime that writes its messages differently
            note = f"its buffers could not be read: {error}"
    try:
        memory = memory or replace(reading.live(live_bytes(closed_jaxpr, donated)), note=note)
        memory = replace(memory, saved=reading.saved())
    except Unsized as error:
        memory = replace(memory or Memory("liveness", "jaxpr", entry), note=str(error))
    return replace(
        memory,
        recomputed=reading.noted(recomputed_equations(reading.visited)),
        dead=reading.noted(dead_equations(reading.visited)),
        known=reading.noted(known_equations(reading.visited)),
    )


def donated_inputs(traced: Any) -> frozenset[int]:
    """The inputs, by their number in the jaxpr, whose memory a `jax.stages.Traced` gives to the program."""
    given = traced.donate_argnums
    if not given:
        return frozenset()
    before = len(open_jaxpr(traced.jaxpr).invars) - traced.in_tree.num_leaves  # constants that became inputs come first
    return frozenset(before + number for number in given)


def _compiled_memory(compiled: Any, hlo: Level, jaxpr: Level, entry: int) -> Memory | None:
    """The live bytes of an executable; None where the backend tells nothing of its buffers."""
    modules = read_modules(compiled)
    assigned = getattr(compiled.memory_analysis(), "serialized_buffer_assignment_proto", b"")
    if len(modules) != 1 or not assigned:
        return None
    assignment = read_assignment(assigned)
    lives = lifetimes(modules[0], assignment)
    use = use_of_memory(lives, hlo, entry, jaxpr.computations[entry].output_names)
    return Memory("buffers", "hlo", entry, use.live, use.held, assignment.reserved)


class _Reading:
    """A program and the level that was read of it, with what its variables are called there.

    Args:
      closed_jaxpr: the program.
      level: where it stands, alone or among others.
      entry: the index of its entry computation.
    """

    def __init__(self, closed_jaxpr: Any, level: Level, entry: int) -> None:
        self.visited = computations(closed_jaxpr)
        self._level = level
        self._entry = entry
        self._places = preorder(level, entry)
        self._names: dict[Any, str] = {}
        self._of_user: dict[Any, str] = {}
        for here, index in zip(self.visited, self._places, strict=True):
            made = level.computations[index]
            values = [*made.inputs, *made.constants, *(value for op in made.ops for value in op.outputs)]
            variables = [
                *here.jaxpr.invars,
                *here.jaxpr.constvars,
                *(v for eqn in here.jaxpr.eqns for v in eqn.outvars),
            ]
            for v, value in zip(variables, values, strict=True):
                self._names.setdefault(v, level.values[value].name)
            self._call(zip(here.jaxpr.outvars, made.output_names, strict=False))
            self._call(zip(here.jaxpr.invars, made.input_names, strict=False))
        often = Counter(id(here.jaxpr) for here in self.visited)
        for here in self.visited:  # each before those that it calls
            for eqn, bodies in zip(here.jaxpr.eqns, here.bodies, strict=True):
                inside = self.visited[bodies[0]].jaxpr if len(bodies) == 1 else None
                if inside is not None and eqn.primitive.name in _CALLS and often[id(inside)] == 1:
                    self._hand_on(eqn.outvars, inside.outvars)
                    self._hand_on(eqn.invars, inside.invars)

    def _call(self, names: Iterable[tuple[Any, str]]) -> None:
        """Notes what the user calls some variables."""
        named = {v: name for v, name in names if name and type(v) is not jax_core.Literal}
        self._names.update(named)
        self._of_user.update(named)

    def _hand_on(self, outside: Sequence[Any], inside: Sequence[Any]) -> None:
        """What a function is called with, and what it returns, has the same names inside."""
        if len(outside) == len(inside):
            pairs = zip(outside, inside, strict=True)
            self._call((own, self._of_user.get(v, "")) for v, own in pairs if type(v) is not jax_core.Literal)

    def live(self, liveness: Liveness) -> Memory:
        """What lives when, and who that is."""
        held = sorted(self._held(liveness), key=lambda one: (one.first, one.last))
        return Memory("liveness", "jaxpr", self._entry, liveness.live, tuple(held))

    def saved(self) -> tuple[Saved, ...]:
        """What the forward pass keeps for the backward pass."""
        return tuple(
            Saved(
                self._names[kept.var],
                kept.nbytes,
                self._place(kept.read),
                self._line(kept.read),
                self._place(kept.origin) if kept.origin else None,
                self._line(kept.origin) if kept.origin else None,
                kept.times,
                kept.label,
                kept.policy,
                made_in(self._op(kept.origin)) if kept.origin else "",
            )
            for kept in residuals(self.visited)
        )

    def noted(self, found: Iterable[Found]) -> tuple[Noted, ...]:
        """The same with places in the level, lines and sizes."""
        return tuple(Noted(self._place(one.place), self._line(one.place), self._size(one.place)) for one in found)

    def _held(self, liveness: Liveness) -> Iterator[Held]:
        constants = set(liveness.jaxpr.constvars)
        for value in filter(_has_size, liveness.values):
            name, op = self._names[value.var], None
            if value.made is None:
                kind = "constant" if value.var in constants else "input"
            else:
                op = (0, value.made)
                kind = "output" if value.results else "temporary"
            yield self._one(name, kind, value.nbytes, value.first, value.last, op)
        for position, inside in liveness.bodies.items():
            eqn = liveness.jaxpr.eqns[position]
            times = shards(eqn) if eqn.primitive.name == "shard_map" else 1
            yield from self._inside(inside, (0, position), position, times)

    def _inside(self, inside: Liveness, owner: Place, position: int, times: int) -> Iterator[Held]:
        """What lives in a body when it needs the most.

        Args:
          inside: the body.
          owner: the op that has it.
          position: of the op of the entry computation that it stands in.
          times: on how many devices it runs.
        """
        bodies = self.visited[owner[0]].bodies[owner[1]]
        index = next((body for body in bodies if self.visited[body].jaxpr is inside.jaxpr), None)
        for value in filter(_has_size, inside.at(inside.peak_at)):
            op = owner if index is None or value.made is None else (index, value.made)
            yield self._one(self._names[value.var], "temporary", value.nbytes * times, position, position, op)
        deeper = inside.bodies.get(inside.peak_at)
        if deeper is not None:
            eqn = inside.jaxpr.eqns[inside.peak_at]
            more = shards(eqn) if eqn.primitive.name == "shard_map" else 1
            at = owner if index is None else (index, inside.peak_at)
            yield from self._inside(deeper, at, position, times * more)

    def _one(self, name: str, kind: str, nbytes: int, first: int, last: int, op: Place | None) -> Held:
        if op is None:
            return Held(name, kind, nbytes, first, last)
        return Held(name, kind, nbytes, first, last, self._place(op), self._line(op), made_in(self._op(op)))

    def _place(self, place: Place) -> Place:
        return self._places[place[0]], place[1]

    def _line(self, place: Place) -> int | None:
        return self._op(place).line

    def _op(self, place: Place) -> Op:
        index, at = self._place(place)
        return self._level.computations[index].ops[at]

    def _size(self, place: Place) -> int:
        avals = [self._level.values[value].aval for value in self._op(place).outputs]
        return sum(aval.nbytes or 0 for aval in avals if aval is not None)


def _has_size(value: Lived) -> bool:
    return value.nbytes > 0
