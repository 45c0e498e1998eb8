"""Where each value of a traced piece lies in the plain cell, in which every operation is a program of its own.

An operation whose operands are committed to no device runs on the default one, and its results are committed to none.
Where operands are committed, or the operation names devices, its results are committed, too; how they lie there is
what XLA chooses for that operation by itself. `read_placements` follows this rule through a jaxpr, from the inputs on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxnb import _jax
from jaxnb._jax import Label, Notes, Put, Written, is_variable

__all__ = ["Conflict", "Placements", "read_placements"]

_LARGE = 16
"""Equations from which on a jitted function is not compiled by itself where that tells nothing more."""

_MOST_KNOWN = 2048

_CLASH = "its values lie on different devices"


class Conflict(Exception):
    """An operation that the plain cell, too, could not compute, or of which it is not known where its results lie.

    Attributes:
      eqn: which one.
      short: why, in a few words.
      refused: whether JAX surely refuses it, as long as its operands lie as they do.
    """

    def __init__(self, eqn: Any, short: str, refused: bool = False) -> None:
        self.eqn, self.short, self.refused = eqn, short, refused


class Placements(NamedTuple):
    """Where the variables of a jaxpr lie.

    Attributes:
      shardings: of those that are committed; None for what the program itself may choose, on the devices below.
      devices: of those that are committed, in their order.
      alias: variables that are one and the same array as another one.
      puts: what the equations do that are a `device_put`, by the position of the equation.
      live: the positions of the equations that a result, or an effect, needs.
      labels: for variables that lie as the program chooses, of what JAX has the words for that.
    """

    shardings: dict[Any, Any]
    devices: dict[Any, tuple[Any, ...]]
    alias: dict[Any, Any]
    puts: dict[int, list[Put]]
    live: list[int]
    labels: dict[Any, Label]

    def root(self, var: Any) -> Any:
        """The variable that a variable is an alias of."""
        while is_variable(var) and var in self.alias:
            var = self.alias[var]
        return var


def read_placements(closed: Any, leaves: Sequence[Any], notes: Notes) -> Placements | None:
    """Follows where values lie through a jaxpr; None if everything lies where JAX puts it by default.

    Args:
      closed: the closed jaxpr of a piece, whose last arguments are the leaves.
      leaves: the inputs.
      notes: what the trace forgot.

    Raises:
      Conflict: if an operation has operands on different devices, or JAX refuses it.
    """
    jaxpr = closed.jaxpr
    known = _Reader(closed, notes)
    consts = zip(jaxpr.constvars, closed.consts, strict=True)
    inputs = zip(jaxpr.invars[len(jaxpr.invars) - len(leaves) :], leaves, strict=True)
    for var, value in (*consts, *inputs):
        if isinstance(value, jax.Array) and value.committed:
            known.commit(var, value.sharding)
        if isinstance(value, jax.Array):
            known.arrays.add(var)
    ambient = not jax.sharding.get_abstract_mesh().empty
    if not (known.shardings or ambient or notes.placed or any(map(_names_devices, jaxpr.eqns))):
        return None
    known.read(ambient)
    return Placements(known.shardings, known.devices, known.alias, known.puts, known.live, known.labels)


def _names_devices(eqn: Any) -> bool:
    if _jax.reads_reference(eqn):
        return True
    if eqn.primitive.name == _jax.PUT or next(_jax.named_shardings(eqn), None) is not None:
        return True
    return any(_jax.is_explicit(var.aval) for var in eqn.outvars) or _jax.has_inner_put(eqn)


_asked: OrderedDict[Any, list[Any]] = OrderedDict()
"""What XLA chose, for operations of which the parameters are short."""


class _Reader:
    def __init__(self, closed: Any, notes: Notes) -> None:
        self.closed, self.notes = closed, notes
        self.shardings: dict[Any, Any] = {}
        self.devices: dict[Any, tuple[Any, ...]] = {}
        self.alias: dict[Any, Any] = {}
        self.arrays: set[Any] = set()  # what the plain cell has as an array of JAX
        self.puts: dict[int, list[Put]] = {}
        self.live: list[int] = []
        self.labels: dict[Any, Label] = {}
        self._beside: dict[Any, Any] = {}  # constants, with the sharding that they have if nothing else says how
        self._here: dict[Any, list[Any]] = {}
        self._inputs = {*closed.jaxpr.invars, *closed.jaxpr.constvars}
        self._written = _written_out(closed.jaxpr.eqns, notes.written)
        self._settled: dict[int, tuple[Any, ...]] = {}  # by position among those, with their devices

    def commit(self, var: Any, sharding: Any, devices: tuple[Any, ...] | None = None) -> None:
        """A variable is committed; with `devices` alone, how it lies there is the program's own choice."""
        self.shardings[var] = sharding
        self.devices[var] = devices if devices is not None else _jax.devices_of(sharding)

    def read(self, ambient: bool) -> None:
        eqns, outvars = self.closed.jaxpr.eqns, self.closed.jaxpr.outvars
        self.live, read_by = _live(eqns, outvars, {})
        live = {*self.live}
        beside = {**{var: (like,) for var, like in self.notes.like.items()}, **self.notes.beside}
        read = _live(eqns, outvars, beside)[0] if beside else self.live
        for index in read:
            eqn = eqns[index]
            puts = _jax.puts_of(eqn)
            if _jax.moves_between_memories(eqn) and not {*outvars}.isdisjoint(eqn.outvars):
                raise Conflict(eqn, "where device_put leaves its value is not known")
            if puts is not None:
                done = [self._put(eqn, put) for put in puts]
                if index in live:
                    self.puts[index] = done
                continue
            if (devices := self._settled.get(self._written.get(index, -1))) is not None:
                for var in eqn.outvars:
                    if var not in self.devices:
                        self.commit(var, None, devices)
            else:
                self._compute(eqn, read_by, ambient, self._written.get(index))
            self.arrays.update(eqn.outvars)
        for var in outvars:
            if is_variable(var) and var in self._beside and var not in self.devices:
                self.commit(var, self._beside[var])
        self._check_spread([eqns[index] for index in self.live])
        known = {*read}
        self._check_dead([eqn for index, eqn in enumerate(eqns) if index not in known])

    def _check_dead(self, eqns: Sequence[Any]) -> None:
        """What no result needs is computed in the plain cell, too, and JAX may refuse it.

        Raises:
          Conflict: if values on different devices meet there.
        """
        devices = dict(self.devices)
        for eqn in eqns:
            for put in (puts := _jax.puts_of(eqn) or ()):
                if put.target is not None and put.source is None:
                    _check_divides(eqn, put.target, put.result)
                    devices[put.result] = _jax.devices_of(put.target)
                elif is_variable(put.operand) and put.operand in devices:
                    devices[put.result] = devices[put.operand]
            committed = [] if puts else [var for var in eqn.invars if is_variable(var) and var in devices]
            if not committed:
                continue
            counting = _jax.counting(self.closed, eqn)
            groups = {devices[var] for var in committed if var in counting}
            if len(groups | {*map(_jax.devices_of, _jax.named_shardings(eqn))}) > 1:
                raise Conflict(eqn, _CLASH)
            for group in groups:
                devices.update(dict.fromkeys(eqn.outvars, group))

    def _check_spread(self, eqns: Sequence[Any]) -> None:
        """What was indexed must be on several devices, or on one, as was taken when it was.

        Raises:
          Conflict: if it is not.
        """
        unlike = {var for var, spread in self.notes.spread.items() if spread != (len(self.devices.get(var, ())) > 1)}
        for eqn in eqns if unlike else ():
            if any(is_variable(var) and var in unlike for var in eqn.invars):
                raise Conflict(eqn, "on how many devices a value lies decides how it is indexed")

    def _put(self, eqn: Any, put: Put) -> Put:
        if not put.known:
            raise Conflict(eqn, "where device_put leaves its value is not known")
        lies = self.shardings.get(put.operand) if is_variable(put.operand) else None
        target = put.target if put.source is None else self._source(eqn, put)
        stays = target is None or target == lies
        if stays and put.reuses and is_variable(put.operand) and put.operand in self.arrays:
            self.alias[put.result] = put.operand
        if target is not None:
            _check_divides(eqn, target, put.result)
            self.commit(put.result, target)
        elif is_variable(put.operand) and put.operand in self.devices:
            self.commit(put.result, lies, self.devices[put.operand])
        self.arrays.add(put.result)
        return put._replace(target=target)

    def _source(self, eqn: Any, put: Put) -> Any:
        """Where a cotangent goes: to where the value was that was put.

        Raises:
          Conflict: if several were put there, from different places.
        """
        same = [item for puts in self.puts.values() for item in puts if item.target == put.source]
        found = {self.shardings.get(item.operand) for item in same if item.operand.aval.shape == put.operand.aval.shape}
        if len(found) != 1 or any(self.shardings.get(item.operand, ...) is None for item in same):
            raise Conflict(eqn, "where device_put leaves a cotangent is not known")
        sharding = found.pop()
        return sharding if sharding is not None else _jax.replicated((_jax.default_device(),))

    def _compute(self, eqn: Any, read_by: Mapping[Any, int], ambient: bool, written: int | None) -> None:
        results = [var for var in eqn.outvars if type(var).__name__ != "DropVar"]
        for var in results:
            like = self.notes.like.get(var)
            sharding = self.notes.placed.get(var, self.shardings.get(like))
            if sharding is not None and (like is None or _fits(var, like, sharding)):
                self.commit(var, sharding)
                return
        operands = list(dict.fromkeys(var for var in eqn.invars if is_variable(var)))
        for var in operands if not any(var in self.devices for var in operands) else ():
            if var in self._beside:
                self.commit(var, self._beside[var])
        committed = [var for var in operands if var in self.devices]
        if not committed and results and results[0] in self.notes.beside:
            around = map(self.shardings.get, self.notes.beside[results[0]])
            lies = next((sharding for sharding in around if sharding is not None), None)
            if lies is not None:
                self._beside[results[0]] = _jax.whole_like(lies)
                return
        if committed:
            counting = _jax.counting(self.closed, eqn)
            elsewhere = {self.devices[var] for var in committed if var not in counting}
            committed = [var for var in committed if var in counting]
            there = {self.devices[var] for var in committed} or {(_jax.default_device(),)}
            if not elsewhere <= there:
                raise Conflict(eqn, "a value on other devices is given to it that does not say where its results lie")
        self._check_told(eqn, committed)
        named = list(_jax.named_shardings(eqn))
        if _jax.has_inner_put(eqn):
            raise Conflict(eqn, "it places values inside of a function with a derivative of its own")
        explicit = any(_jax.is_explicit(var.aval) for var in results)
        if not committed and _jax.reads_reference(eqn):
            for var in results:
                self.commit(var, _jax.replicated((_jax.default_device(),)))
            return
        if not (committed or named or ambient or explicit):
            return
        groups = {*(self.devices[var] for var in committed), *map(_jax.devices_of, named)}
        constraint = self._constraint(eqn)
        if constraint is not None and len(groups) == 1:
            _check_divides(eqn, constraint, results[0])
            self.commit(results[0], constraint)
            return
        if len(groups) > 1:
            raise Conflict(eqn, _CLASH)
        if not results:
            return
        mapped = _jax.mapped_shardings(eqn)
        if mapped is not None and len(results) == len(mapped):
            for var, sharding in zip(results, mapped, strict=True):
                self.commit(var, sharding)
            return
        told = dict(zip(eqn.outvars, _jax.out_shardings_of(eqn), strict=True))
        if not explicit and all(told[var] is not None for var in results):
            for var in results:
                _check_divides(eqn, told[var], var)
                self.commit(var, told[var])
            return
        whole = {self.shardings[var] for var in committed} | set(named)
        if len(whole) == 1 and not explicit and not ambient:
            (sharding,) = whole
            same = all(_shape(self.shardings, var, results[0]) for var in committed)
            if sharding is not None and (
                _jax.on_one_device(sharding)
                or (not named and same and results[0].aval.size and _jax.is_elementwise(eqn))
            ):
                for var in results:
                    self.commit(var, _jax.computed(sharding, var.aval.ndim))
                return
        typed = [_jax.typed_sharding(var.aval, next(iter(whole), None)) for var in results]
        if all(sharding is not None for sharding in typed):
            for var, sharding in zip(results, typed, strict=True):
                self.commit(var, sharding)
            return
        if groups and self._left_to_the_program(eqn, committed, results, read_by):
            (devices,) = groups
            lies = [self.shardings.get(var) if is_variable(var) else None for var in eqn.invars]
            label = _jax.label_of(eqn, lies)
            for var in results:
                self.commit(var, told[var], devices)
                if label is not None and told[var] is None:
                    self.labels[var] = label
            return
        if written is None or not self._ask_whole(eqn, written):
            self._lay(results, self._ask(eqn, operands, results, committed))

    def _check_told(self, eqn: Any, committed: Sequence[Any]) -> None:
        """What a jitted function was told of its arguments must be so; inside of a program JAX would move them.

        Raises:
          Conflict: if one lies otherwise.
        """
        for var, told in zip(eqn.invars, _jax.in_shardings_of(eqn), strict=True):
            if told is None or var not in committed:
                continue
            lies = self.shardings[var]
            if lies is None:
                raise Conflict(eqn, "how its values lie on their devices is not known")
            if lies.memory_kind != told.memory_kind or not lies.is_equivalent_to(told, var.aval.ndim):
                raise Conflict(eqn, "its arguments do not lie as it was told", refused=True)

    def _lay(self, results: Sequence[Any], shardings: Sequence[Any]) -> None:
        for var, sharding in zip(results, shardings, strict=True):
            devices = _jax.devices_of(sharding)
            self.commit(var, sharding if _jax.can_be_asked_for(sharding) else None, devices)

    def _ask_whole(self, eqn: Any, written: int) -> bool:
        """Lays the results of a function that JAX has written out; False if it has to be asked part by part.

        Args:
          eqn: the first part of which it has to be asked how its results lie.
          written: which function.
        """
        call = self.notes.written[written].call(eqn)
        operands = list(dict.fromkeys(filter(is_variable, call.invars)))
        committed = [var for var in _jax.counting(self.closed, call) if var in self.devices]
        groups = {self.devices[var] for var in committed}
        if len(groups) != 1 or any(self.shardings[var] is None for var in committed):
            return False
        results = list(dict.fromkeys(call.outvars))
        self._lay(results, self._ask(call, operands, results, committed, eqn))
        (self._settled[written],) = groups
        return True

    def _constraint(self, eqn: Any) -> Any:
        operand = eqn.invars[0] if eqn.invars and is_variable(eqn.invars[0]) else None
        if operand in self.devices and self.shardings[operand] is None:
            return None  # the program chooses how it lies
        try:
            return _jax.constraint_of(eqn, self.shardings.get(operand))
        except ValueError as error:
            raise Conflict(eqn, f"JAX refuses it: {error}") from None

    def _left_to_the_program(
        self, eqn: Any, committed: Sequence[Any], results: Sequence[Any], read_by: Mapping[Any, int]
    ) -> bool:
        """Whether an equation is a large function whose results go out as they are: as a program it chooses alike."""
        inner = eqn.params.get("jaxpr")
        if eqn.primitive.name != "jit" or len(getattr(inner, "jaxpr", inner).eqns) < _LARGE:
            return False
        return self._inputs.issuperset(committed) and not any(read_by.get(var) for var in results)

    def _ask(
        self, eqn: Any, operands: Sequence[Any], results: Sequence[Any], committed: Sequence[Any], part: Any = None
    ) -> list[Any]:
        shardings = [self.shardings.get(var) if var in committed else None for var in operands]
        if any(self.shardings[var] is None for var in committed):
            raise Conflict(eqn, "how its values lie on their devices is not known")
        key = _jax.eqn_key(eqn)
        avals = tuple(str(getattr(var, "aval", None)) for var in eqn.invars)
        places = tuple(operands.index(var) if is_variable(var) else -1 for var in eqn.invars)
        mesh = jax.sharding.get_abstract_mesh()
        known = _asked if key is not None else self._here
        key = (key if key is not None else id(eqn.params.get("jaxpr", eqn)), avals, places, tuple(shardings), mesh)
        key = (*key, tuple(eqn.outvars.index(var) for var in results))
        if key not in known:
            try:
                known[key] = _jax.ask_shardings(self.closed, eqn, operands, results, shardings)
            except Exception as error:
                text = str(error).partition("\n")[0]
                raise Conflict(part or eqn, f"JAX refuses it: {text}"[:120]) from None
            if len(_asked) > _MOST_KNOWN:
                _asked.popitem(last=False)
        return known[key]


def _check_divides(eqn: Any, sharding: Any, result: Any) -> None:
    """Raises a `Conflict` for a sharding that does not divide a value; inside of a program JAX would let it pass."""
    try:
        sharding.shard_shape(result.aval.shape)
    except ValueError:
        raise Conflict(eqn, "its sharding does not divide the value") from None


def _shape(shardings: Mapping[Any, Any], var: Any, result: Any) -> bool:
    return var.aval.shape == result.aval.shape


def _fits(var: Any, like: Any, sharding: Any) -> bool:
    return var.aval.shape == like.aval.shape or sharding.is_fully_replicated


def _written_out(eqns: Sequence[Any], written: Sequence[Written]) -> dict[int, int]:
    """Of which function that JAX has written out equations are parts, by position; not of those of one part."""
    maker = {var: index for index, eqn in enumerate(eqns) for var in eqn.outvars} if written else {}
    found: dict[int, int] = {}
    for place, each in enumerate(written):
        known, todo = set(filter(is_variable, each.args)), list(each.results)
        parts: set[int] = set()
        while todo:
            var = todo.pop()
            if var not in known and var in maker:
                parts.add(maker[var])
                todo += filter(is_variable, eqns[maker[var]].invars)
            known.add(var)
        found.update(dict.fromkeys(parts if len(parts) > 1 else (), place))
    return found


def _live(
    eqns: Sequence[Any], outvars: Sequence[Any], beside: Mapping[Any, tuple[Any, ...]]
) -> tuple[list[int], dict[Any, int]]:
    """The equations that a result or an effect needs, and how many of them read each variable.

    Args:
      eqns: the equations.
      outvars: the results.
      beside: for variables, others that are needed as well, because they say how the first lie.
    """
    wanted = {var for var in outvars if is_variable(var)}
    live: list[int] = []
    read_by: dict[Any, int] = {}
    for index in range(len(eqns) - 1, -1, -1):
        eqn = eqns[index]
        if eqn.effects or any(var in wanted for var in eqn.outvars):
            live.append(index)
            variables = {var for var in eqn.invars if is_variable(var)}
            wanted |= variables
            wanted.update(item for var in eqn.outvars for item in beside.get(var, ()))
            for var in variables:
                read_by[var] = read_by.get(var, 0) + 1
    return live[::-1], read_by
