"""What stands around the program of a piece, so that its results lie where those of the plain cell do.

A program has one set of devices. Inputs that the cell puts elsewhere are put there before it runs, results after it; in
between, a value that is put on the program's own devices is one that its program lays there. What is committed to
nothing in the plain cell comes out of a program on several devices once, as if it had never been there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from jaxnb import _jax
from jaxnb._jax import is_variable
from jaxnb.staging.trace.placement import Placements

__all__ = ["Apart", "Arranged", "Placing", "arrange"]

_SMALL = 2**20
"""Bytes up to which what has nothing to do with the devices of a program is computed on them, too."""


class Apart(Exception):
    """What cannot be one program: there is more than one set of devices.

    Attributes:
      eqn: the first one that is of another set than those before it, or too large to be computed beside them.
      short: why, in a few words.
    """

    def __init__(self, eqn: Any, short: str) -> None:
        self.eqn, self.short = eqn, short


class _Result(NamedTuple):
    """How a result of a piece is made.

    Attributes:
      kind: what `place` counts: "out" the results of the program, "first" what was put before it, "argument" what the
        piece takes, "same" earlier results of the piece.
      place: which one.
      puts: where it is then put, one after the other.
      frees: whether it is committed to nothing.
      label: of what JAX has the words for how it lies; None where it has none of its own.
    """

    kind: str
    place: int
    puts: tuple[Any, ...] = ()
    frees: bool = False
    label: _jax.Label | None = None


@dataclass(frozen=True, slots=True)
class Placing:
    """What is done before and after a program.

    Attributes:
      first: which arguments are put where, before.
      kept: which arguments the program takes, besides.
      results: how each result of the piece is made.
    """

    first: tuple[tuple[int, tuple[Any, ...]], ...]
    kept: tuple[int, ...]
    results: tuple[_Result, ...]

    def arguments(self, arguments: Sequence[Any]) -> list[Any]:
        """What the program takes, from what the piece takes."""
        given = [arguments[index] for index in self.kept]
        given += [_put(arguments[index], targets) for index, targets in self.first]
        return given

    def outputs(self, outputs: Sequence[Any], arguments: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """The results of the piece.

        Args:
          outputs: of the program.
          arguments: of the piece.
          given: what the program took.
        """
        found: list[Any] = []
        device = None
        for kind, place, puts, frees, label in self.results:
            if kind == "out":
                value = outputs[place] if label is None else _jax.labelled(outputs[place], label)
                if frees:
                    device = device if device is not None else _jax.default_device()
                    value = _jax.uncommitted(value, device)
            elif kind == "first":
                value = given[len(self.kept) + place]
            else:
                value = arguments[place] if kind == "argument" else found[place]
            found.append(_put(value, puts))
        return found

    def kept_arguments(self, arguments: Sequence[Any]) -> list[Any]:
        """What the program takes, of which nothing is put anywhere."""
        return [*(arguments[index] for index in self.kept), *(arguments[index] for index, _ in self.first)]

    def kept_outputs(self, outputs: Sequence[Any], arguments: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """The results of the piece, of which nothing is put anywhere."""
        found: list[Any] = []
        sources = {"out": outputs, "first": given[len(self.kept) :], "argument": arguments, "same": found}
        for kind, place, *_ in self.results:
            found.append(sources[kind][place])
        return found

    def argument_of(self, result: int) -> int | None:
        """Which argument of the piece a result of it is; None if its program makes it."""
        kind, place = self.results[result][:2]
        if kind == "same":
            return self.argument_of(place)
        return place if kind == "argument" else self.first[place][0] if kind == "first" else None

    def place_of(self, result: int) -> int | None:
        """Which result of the program a result of the piece is made of; None if it is made of none."""
        kind, place = self.results[result][:2]
        return self.place_of(place) if kind == "same" else place if kind == "out" else None


def _put(value: Any, targets: Sequence[Any]) -> Any:
    for target in targets:
        value = jax.device_put(value, target)
    return value


class Arranged(NamedTuple):
    """A program with what stands around it.

    Attributes:
      placing: what is done before and after it.
      closed: its jaxpr, whose arguments are those that `placing` says.
      shapes: of what is put before it, which are its last arguments.
      out_shardings: how its results are to lie; None where XLA may choose.
    """

    placing: Placing
    closed: Any
    shapes: tuple[Any, ...]
    out_shardings: tuple[Any, ...]


def arrange(
    closed: Any, leaves: Sequence[Any], donated: Collection[int], places: Placements, split: bool = True
) -> Arranged | None:
    """Finds what is done before and after a program; None if nothing is, and XLA is told nothing.

    Args:
      closed: the closed jaxpr of a piece, whose last arguments are the leaves.
      leaves: the inputs.
      donated: which of these the program may write over: they are neither put before it nor handed on.
      places: where its values lie in the plain cell.
      split: whether what is large, and has nothing to do with the devices of the program, must stand apart.

    Raises:
      Apart: if it cannot be one program, or should not.
    """
    return _Arranging(closed, leaves, donated, places, split).arranged()


class _Arranging:
    def __init__(
        self, closed: Any, leaves: Sequence[Any], donated: Collection[int], places: Placements, split: bool
    ) -> None:
        self.closed, self.places, self.split = closed, places, split
        jaxpr = closed.jaxpr
        self.front = jaxpr.invars[: len(jaxpr.invars) - len(leaves)]
        self.leaves = jaxpr.invars[len(jaxpr.invars) - len(leaves) :]
        self.held = {var: index for index, var in enumerate(self.leaves) if index not in donated}
        self.whole = {var for var, leaf in zip(self.leaves, leaves, strict=True) if isinstance(leaf, jax.Array)}
        self.first: dict[Any, tuple[int, tuple[Any, ...]]] = {}
        self.last: dict[Any, tuple[Any, Any]] = {}
        self.devices: tuple[Any, ...] | None = None

    def arranged(self) -> Arranged | None:
        eqns = self.closed.jaxpr.eqns
        middle = self._without_first()
        middle = self._without_last(middle)
        self.devices = self._devices_of(middle)
        middle = self._with_last(middle)
        self._check_size(middle)
        outvars: list[Any] = []
        results: list[_Result] = []
        seen: dict[Any, tuple[int, bool]] = {}
        for atom in self.closed.jaxpr.outvars:
            results.append(self._result(atom, outvars, seen, len(results)))
        used = {self.places.root(var) for index in middle for var in eqns[index].invars if is_variable(var)}
        used |= set(filter(is_variable, outvars))
        put = {index for index, _ in self.first.values()}
        kept = tuple(i for i, var in enumerate(self.leaves) if var in used or i not in put)
        placing = Placing(tuple(self.first.values()), kept, tuple(results))
        forced = not used.isdisjoint(self.places.devices.keys() & {*self.leaves, *self.first})
        shardings = tuple(self._sharding(atom, forced) for atom in outvars)
        plain = all(result == _Result("out", n) for n, result in enumerate(results))
        if plain and not self.first and all(sharding is None for sharding in shardings):
            return None
        invars = [*self.front, *(self.leaves[index] for index in kept), *self.first]
        left = _jax.with_parts(self.closed, invars, [self._rooted(eqns[index]) for index in middle], outvars)
        lies = [(var, _jax.sharding_of(targets[-1])) for var, (_, targets) in self.first.items()]
        shapes = tuple(_jax.shape_of(var.aval, sharding) for var, sharding in lies)
        return Arranged(placing, left, shapes, shardings)

    def _without_first(self) -> list[int]:
        """Takes out what only puts inputs somewhere."""
        middle: list[int] = []
        for index in self.places.live:
            puts = self.places.puts.get(index)
            if puts is None or not all(self._is_first(put) for put in puts):
                middle.append(index)
                continue
            for put in puts:
                if put.result not in self.places.alias and put.target is not None:
                    before = self.first.get(self.places.root(put.operand))
                    at, targets = before if before is not None else (self.held[self.places.root(put.operand)], ())
                    self.first[put.result] = (at, (*targets, put.goes))
        return middle

    def _rooted(self, eqn: Any) -> Any:
        """An equation that reads nothing that is an alias."""
        invars = [self.places.root(atom) for atom in eqn.invars]
        return eqn if invars == list(eqn.invars) else eqn.replace(invars=invars)

    def _is_first(self, put: Any) -> bool:
        if not is_variable(put.operand):
            return False
        root = self.places.root(put.operand)
        return (root in self.held or root in self.first) and (put.target is not None or put.result in self.places.alias)

    def _without_last(self, middle: list[int]) -> list[int]:
        """Takes out what only puts results somewhere."""
        eqns = self.closed.jaxpr.eqns
        read: set[Any] = set()
        left: list[int] = []
        for index in reversed(middle):
            puts = self.places.puts.get(index)
            if puts is not None and not any(put.result in read for put in puts):
                for put in puts:
                    self.last[put.result] = (put.operand, put.goes)
                continue
            left.append(index)
            read.update(var for var in eqns[index].invars if is_variable(var))
        return left[::-1]

    def _devices_of(self, middle: list[int]) -> tuple[Any, ...] | None:
        """The devices of a program.

        Raises:
          Apart: if they are of more than one set.
        """
        found: tuple[Any, ...] | None = None
        for index in middle:
            eqn = self.closed.jaxpr.eqns[index]
            for var in (*eqn.invars, *eqn.outvars):
                devices = self.places.devices.get(var) if is_variable(var) else None
                if devices is None:
                    continue
                if found is not None and devices != found:
                    raise Apart(eqn, "its values go from one set of devices to another")
                found = devices
                sharding = self.places.shardings[var]
                if sharding is not None and not _jax.in_default_memory(sharding):
                    raise Apart(eqn, f"its values are in {sharding.memory_kind} memory")
        return found

    def _with_last(self, middle: list[int]) -> list[int]:
        """Leaves to the program the puts of results that stay on its devices; the positions of all equations then."""
        targets = {_jax.sharding_of(target) for _, target in self.last.values() if target is not None}
        groups = {_jax.devices_of(target) for target in targets}
        if self.devices is None and len(groups) == 1 and all(map(_jax.in_default_memory, targets)):
            (only,) = groups
            if len(only) > 1 and middle:
                others = set(filter(is_variable, self.closed.jaxpr.outvars)) - self.places.devices.keys()
                if all(_nbytes(var) <= _SMALL for var in others if self.places.root(var) not in self.held):
                    self.devices = only
        kept: list[int] = list(middle)
        for index, puts in self.places.puts.items():
            if index not in middle and puts[0].result in self.last and self._stays(puts):
                kept.append(index)
                for put in puts:
                    self.last.pop(put.result)
        return sorted(kept) if len(kept) > len(middle) else middle

    def _stays(self, puts: Sequence[Any]) -> bool:
        """Whether what a `device_put` gives is on the devices of the program, and so is what it takes."""
        for put in puts:
            root = self.places.root(put.operand) if is_variable(put.operand) else None  # a literal lies nowhere yet
            if root is not None and (put.operand in self.last or root in self.first):
                return False
            if put.target is None or self.devices is None:
                return False
            if _jax.devices_of(put.target) != self.devices or not _jax.in_default_memory(put.target):
                return False
            if root is not None and self.places.devices.get(root, self.devices) != self.devices:
                return False
        return True

    def _check_size(self, middle: list[int]) -> None:
        """Raises if much of what is computed has nothing to do with the devices of the program."""
        if not self.split or self.devices is None or self.devices == (_jax.default_device(),):
            return
        results = set(filter(is_variable, self.closed.jaxpr.outvars))
        first: bool | None = None
        for index in middle:
            eqn = self.closed.jaxpr.eqns[index]
            free = [var for var in eqn.outvars if var not in self.places.devices]
            large = any(var in results and _nbytes(var) > _SMALL for var in free)
            if not large and len(free) == len(eqn.outvars):
                continue
            if first is None:
                first = large
            elif first != large:
                raise Apart(eqn, "")

    def _result(self, atom: Any, outvars: list[Any], seen: dict[Any, tuple[int, bool]], place: int) -> _Result:
        root = self.places.root(atom)
        if is_variable(root):
            earlier, shared = seen.setdefault(root, (place, root is not atom))
            if earlier != place and (shared or root is not atom):
                return _Result("same", earlier)
            if root in self.held and root is not atom and root in self.whole:
                return _Result("argument", self.held[root])
            if root in self.first:
                return _Result("first", list(self.first).index(root))
        puts: list[Any] = []
        base = root
        while is_variable(base) and base in self.last:
            base, target = self.last[base]
            puts.insert(0, target)
            base = self.places.root(base) if is_variable(base) else base
        puts = [target for target in puts if target is not None]
        if is_variable(base) and base in self.held and puts:
            return _Result("argument", self.held[base], tuple(puts))
        committed = is_variable(base) and base in self.places.devices
        outvars.append(base)
        label = self.places.labels.get(base) if is_variable(base) else None
        return _Result("out", len(outvars) - 1, tuple(puts), self.devices is not None and not committed, label)

    def _sharding(self, atom: Any, forced: bool) -> Any:
        """How a result of the program is to lie; None where it will, or where XLA may choose.

        Args:
          atom: which one.
          forced: whether the program runs on its devices in any case, because of its arguments.
        """
        if self.devices is None:
            return None
        if not is_variable(atom) or atom not in self.places.devices:
            return _jax.replicated(self.devices) if len(self.devices) > 1 else None
        sharding = self.places.shardings[atom]
        return None if sharding is None or (forced and _jax.on_one_device(sharding)) else sharding


def _nbytes(var: Any) -> int:
    return getattr(var.aval, "size", 0) * getattr(getattr(var.aval, "dtype", None), "itemsize", 0)
