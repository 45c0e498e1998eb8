"""From a jaxpr to the cost of each of its equations, and of all of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
from jax.extend import core as jax_core

from jaxnb._jax import CALLS, body_jaxprs, eqn_scope, function_name, open_jaxpr
from jaxnb.reading.cost.context import Context
from jaxnb.reading.cost.control import CONTROL
from jaxnb.reading.cost.folding import constant_of, folded, spread_operands
from jaxnb.reading.cost.mapped import MAPPED, Told
from jaxnb.reading.cost.needed import Needed, NeededEqn, NeededJaxpr
from jaxnb.reading.cost.rules import RULES
from jaxnb.reading.cost.runs import Runs
from jaxnb.reading.cost.sizes import Unsized
from jaxnb.reading.cost.value import Cost, sum_costs
from jaxnb.runtime import collection_put_off

__all__ = ["MOST_EQNS", "Costed", "cost_of", "costs_of", "scope_of"]

MOST_EQNS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Costed:
    """What an equation costs in all its runs.

    Attributes:
      place: computation and op, as `jaxnb.reading.jaxpr.jaxpr.read_jaxpr` numbers them.
      eqn: the equation.
      cost: the whole, with the bodies that it runs.
      own: the part of it that no other entry of the list has; the sum of these over a list is the program's cost.
      owner: the entry of the equation in whose body this stands; None at the top.
      function: the name of the called function in which it stands; "" at the top.
    """

    place: tuple[int, int]
    eqn: jax_core.JaxprEqn
    cost: Cost
    own: Cost
    owner: Costed | None = None
    function: str = ""


def scope_of(entry: Costed) -> str:
    """The scopes in which an equation stands, the outermost first, joined by slashes."""
    names: list[str] = []
    at: Costed | None = entry
    while at is not None:
        names.append(str(eqn_scope(at.eqn)))
        at = at.owner
    return "/".join(name for name in reversed(names) if name)


def cost_of(closed_jaxpr: Any, *, once: bool = False) -> Cost:
    """What a jaxpr costs.

    A loop counts as often as it runs, a `while` once (and `trips` is None); of a `cond` the dearest branch counts; the
    body of a `shard_map` counts on every device. What no result needs does not count: JAX leaves it out.

    Args:
      closed_jaxpr: what `jax.make_jaxpr(f)(...)` or `jax.jit(f).trace(...).jaxpr` gives.
      once: count as XLA's analysis of the lowered program does: bodies of loops once, a `shard_map` on one device.

    >>> import jax
    >>> loop = lambda x: jax.lax.fori_loop(0, 10, lambda i, x: x * x, x)
    >>> jaxpr = jax.make_jaxpr(loop)(1.0)
    >>> cost_of(jaxpr).flops, cost_of(jaxpr).trips, cost_of(jaxpr, once=True).flops
    (30, 10, 3)
    """
    return _Counting(once).body(open_jaxpr(closed_jaxpr))


def costs_of(closed_jaxpr: Any, *, once: bool = False, most: int = MOST_EQNS) -> list[Costed]:
    """The cost of every equation of a jaxpr and of those in its bodies, each owner before what it owns.

    A jaxpr that several equations share is walked for each of them, until there are `most` entries; after that the
    entries of its owner hold its cost as their own.

    Args:
      closed_jaxpr: as for `cost_of`.
      once: likewise.
      most: see above; `read_jaxpr` has the same limit.
    """
    listing = _Listing(once, most)
    with collection_put_off():
        listing.computation(open_jaxpr(closed_jaxpr), None, "", _Weight())
    return listing.entries


class _Counting:
    """Counts, and remembers the cost of jaxprs, which equations may share."""

    def __init__(self, once: bool) -> None:
        self.once = once
        self.needed = Needed()
        self._bodies: dict[tuple[int, tuple[bool, ...] | None], Cost] = {}
        self._hidden: dict[tuple[int, tuple[bool, ...]], tuple[Any, Runs]] = {}

    def body(self, jaxpr: jax_core.Jaxpr, outputs: tuple[bool, ...] | None = None) -> Cost:
        """The cost of one run of a jaxpr for some of its results, by default for all."""
        key = (id(jaxpr), outputs)
        if key not in self._bodies:
            self._bodies[key] = self._count(jaxpr, outputs, _context(jaxpr, self.once))
        return self._bodies[key]

    def equation(self, eqn: Any, needs: NeededEqn, context: Context) -> Cost:
        """The cost of one run of an equation, with its bodies."""
        found = self.leaf(eqn, context)
        return self.total(eqn, needs, self.runs(eqn, needs, context), context) if found is None else found

    def total(self, eqn: Any, needs: NeededEqn, runs: Runs, context: Context) -> Cost:
        """What an equation does itself, and what its bodies do."""
        costs = [runs.own]
        for path, body in body_jaxprs(eqn.params):
            if path in runs.times:
                outputs = needs.bodies.get(path)
                inner = _inlined(eqn, body, context) if runs.inlined else None
                cost = self.body(body, outputs) if inner is None else self._count(body, outputs, inner)
                costs.append(_weighed(cost, runs.times[path], runs))
        return sum_costs(costs)

    def _count(self, jaxpr: jax_core.Jaxpr, outputs: tuple[bool, ...] | None, context: Context) -> Cost:
        pairs = zip(jaxpr.eqns, self.needed.of(jaxpr, outputs).equations, strict=True)
        return sum_costs(self.equation(eqn, need, context) for eqn, need in pairs if need is not None)

    def leaf(self, eqn: Any, context: Context) -> Cost | None:
        """The cost of one run of an equation without bodies to walk; None if it has some."""
        name = eqn.primitive.name
        rule = RULES.get(name)
        if rule is None:
            return None if name in CONTROL else Cost(unknown=frozenset({name}))
        try:
            cost = folded(eqn, context)
            if cost is not None:
                return cost
            cost = rule(eqn, context)
            more = spread_operands(eqn, context) if context.constants else 0
            return cost + Cost(0, more) if more else cost
        except Unsized:
            return Cost(unknown=frozenset({name}))
        except Exception as error:  # parameters that this version of JAX names otherwise
            _warn(name, error)
            return Cost(unknown=frozenset({name}))

    def runs(self, eqn: Any, needs: NeededEqn, context: Context) -> Runs:
        """How often an equation runs its bodies, those that it chooses among narrowed down to one."""
        key = (id(eqn), needs.outputs)
        if key in self._hidden:
            return self._hidden[key][1]
        try:
            runs = CONTROL[eqn.primitive.name](eqn, context, needs)
            runs = runs._replace(own=runs.own + Cost(0, spread_operands(eqn, context)))
        except Unsized:
            return Runs(Cost(unknown=frozenset({eqn.primitive.name})), {})
        except Exception as error:
            _warn(eqn.primitive.name, error)
            return Runs(Cost(unknown=frozenset({eqn.primitive.name})), {})
        if runs.hidden is not None:
            program = open_jaxpr(runs.hidden)
            # An `xmap` is lowered in place, and so shares what was spread with the jaxpr around it.
            inner = _hidden_context(program, context)
            cost = self._count(program, needs.outputs, inner) if runs.told else self.body(program)
            runs = runs._replace(own=runs.own + cost)
            self._hidden[key] = eqn, runs  # costs are remembered by identity, so that what they are of must stay
            return runs
        return self._narrowed(eqn, needs, runs) if runs.one_of else runs

    def _narrowed(self, eqn: Any, needs: NeededEqn, runs: Runs) -> Runs:
        """Only the dearest of the bodies runs."""
        costs = {
            path: self.body(body, needs.bodies.get(path))
            for path, body in body_jaxprs(eqn.params)
            if path in runs.times
        }
        dearest = max(costs, key=lambda path: _price(costs[path]))
        own = runs.own + Cost(unknown=frozenset[str]().union(*(cost.unknown for cost in costs.values())))
        if self.once:
            most, chosen = costs.values(), costs[dearest]
            own += Cost(
                max(cost.flops for cost in most) - chosen.flops,
                max(cost.bytes for cost in most) - chosen.bytes,
                max(cost.transcendentals for cost in most) - chosen.transcendentals,
            )
        return runs._replace(own=own, times={dearest: 1})


@cache
def _warn_once(text: str) -> None:
    warnings.warn(text, stacklevel=5)


def _warn(name: str, error: Exception) -> None:
    """Warns, once, that the rule of a primitive does not fit this JAX: a cost that is unknown spoils no view."""
    _warn_once(f"jax {jax.__version__} has another {name} than its cost rule expects ({error!r}): its cost is unknown")


def _context(jaxpr: jax_core.Jaxpr, once: bool) -> Context:
    return Context(once, frozenset(v for v in jaxpr.outvars if type(v) is not jax_core.Literal))


def _inlined(eqn: Any, body: jax_core.Jaxpr, context: Context) -> Context:
    """The context of a body that is lowered in place: it shares what was spread, and knows constants among operands."""
    known = zip(body.invars, (constant_of(v, context) for v in eqn.invars), strict=True)
    constants = {v: value for v, value in known if value is not None}
    return replace(_context(body, context.once), spread=context.spread, constants=constants)


def _hidden_context(program: jax_core.Jaxpr, context: Context) -> Context:
    return replace(_context(program, context.once), spread=context.spread)


def _price(cost: Cost) -> tuple[int, int]:
    return cost.flops + cost.transcendentals, cost.bytes


def _weighed(cost: Cost, times: int, runs: Runs) -> Cost:
    """The cost of a body that an equation runs so often."""
    total = cost * times
    moved = 0 if runs.scalar else total.bytes
    # That a reduction applies its function many times makes no loop of it.
    trips = cost.trips if runs.scalar else None if runs.open_ended else total.trips
    return Cost(total.flops, moved, total.transcendentals, trips, total.unknown)


@dataclass(frozen=True, slots=True)
class _Weight:
    """How often a computation runs within the whole program."""

    times: int = 1
    open_ended: bool = False
    scalar: bool = False

    def inside(self, times: int, runs: Runs) -> _Weight:
        return _Weight(self.times * times, self.open_ended or runs.open_ended, self.scalar or runs.scalar)

    def of(self, cost: Cost) -> Cost:
        if self.times == 1 and not self.open_ended and not self.scalar:
            return cost
        total = cost * self.times
        trips = None if self.open_ended and self.times else total.trips
        return Cost(total.flops, 0 if self.scalar else total.bytes, total.transcendentals, trips, total.unknown)


class _Listing(_Counting):
    """The entries for all equations, in the order and with the numbers of `read_jaxpr`."""

    def __init__(self, once: bool, most: int) -> None:
        super().__init__(once)
        self.entries: list[Costed] = []
        self._most = most
        self._seen: set[int] = set()
        self._tables: dict[tuple[int, tuple[bool, ...]], Told] = {}
        self._computations = 0

    def computation(
        self,
        jaxpr: jax_core.Jaxpr,
        owner: Costed | None,
        function: str,
        weight: _Weight,
        outputs: tuple[bool, ...] | None = None,
        context: Context | None = None,
    ) -> None:
        index = self._computations
        self._computations += 1
        self._seen.add(id(jaxpr))
        needs = self.needed.of(jaxpr, outputs) if weight.times else NeededJaxpr([None] * len(jaxpr.eqns), ())
        context = context or _context(jaxpr, self.once)
        for number, (eqn, need) in enumerate(zip(jaxpr.eqns, needs.equations, strict=True)):
            self._entry((index, number), eqn, need, context, owner, function, weight)

    def _entry(
        self,
        place: tuple[int, int],
        eqn: Any,
        needs: NeededEqn | None,
        context: Context,
        owner: Costed | None,
        function: str,
        weight: _Weight,
    ) -> None:
        found = body_jaxprs(eqn.params)
        if needs is None:
            runs, cost = Runs(_NOTHING, {}), _NOTHING
        elif (leaf := self.leaf(eqn, context)) is not None:
            runs, cost = Runs(leaf, {}), weight.of(leaf)
        else:
            # The entries of the map's own program come to the constants after this.
            before = replace(context, spread=set(context.spread)) if eqn.primitive.name == "xmap" else context
            runs = self.runs(eqn, needs, before)
            # The entries of the bodies come to the constants after this.
            before = replace(context, spread=set(context.spread)) if runs.inlined else context
            cost = weight.of(self.total(eqn, needs, runs, before))
        full = len(self.entries) >= self._most and all(id(body) in self._seen for _, body in found)
        told = self._told(eqn, runs, needs, context) if runs.told and needs else None
        own = told.own(()) if told is not None else runs.own
        entry = Costed(place, eqn, cost, cost if full or not found else weight.of(own), owner, function)
        self.entries.append(entry)
        for path, body in () if full else found:
            if told is not None and path == MAPPED:
                self._mapped(body, told, (), entry, function, weight)
                continue
            name = _called(eqn, path, body) if runs.called else ""
            inside = weight.inside(runs.times.get(path, 0), runs)
            inner = _inlined(eqn, body, context) if runs.inlined else None
            self.computation(body, entry, name or function, inside, needs.bodies.get(path) if needs else None, inner)

    def _told(self, eqn: Any, runs: Runs, needs: NeededEqn, context: Context) -> Told:
        """What the equations in the body of an `xmap` cost in one run of it."""
        key = (id(eqn), needs.outputs)
        if key not in self._tables:
            program = open_jaxpr(runs.hidden)
            listing = _Listing(self.once, self._most)
            listing.computation(program, None, "", _Weight(), needs.outputs, _hidden_context(program, context))
            entries = ((scope_of(entry), entry.own) for entry in listing.entries)
            self._tables[key] = Told(dict(body_jaxprs(eqn.params))[MAPPED], entries)
        return self._tables[key]

    def _mapped(
        self,
        jaxpr: jax_core.Jaxpr,
        told: Told,
        outer: tuple[int, ...],
        owner: Costed,
        function: str,
        weight: _Weight,
    ) -> None:
        """The entries of a jaxpr in the body of an `xmap`; `outer` is the path of the equation that holds it."""
        index = self._computations
        self._computations += 1
        self._seen.add(id(jaxpr))
        for number, eqn in enumerate(jaxpr.eqns):
            path = told.path(outer, jaxpr, number)
            found = body_jaxprs(eqn.params)
            full = len(self.entries) >= self._most and all(id(body) in self._seen for _, body in found)
            cost = weight.of(told.whole(path))
            entry = Costed((index, number), eqn, cost, cost if full else weight.of(told.own(path)), owner, function)
            self.entries.append(entry)
            for key, body in () if full else found:
                name = _called(eqn, key, body) if eqn.primitive.name in CALLS else ""
                self._mapped(body, told, path, entry, name or function, weight)


_NOTHING = Cost(trips=0)


def _called(eqn: Any, path: tuple[str, ...], body: jax_core.Jaxpr) -> str:
    """The name of a function that an equation calls."""
    name = eqn.params.get("name") if path[-1] == "jaxpr" else None
    return name if isinstance(name, str) and name else function_name(body)
