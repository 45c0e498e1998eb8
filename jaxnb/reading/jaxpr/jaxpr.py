"""A jaxpr as the level "jaxpr": one op an equation, one computation a sub-jaxpr, with the cell's lines.

Equations are read as objects; JAX's printed text is never parsed. Values get the names that JAX prints, by the same
rule: letters in the order in which variables are met, and one name for one variable wherever it occurs.

An unrolled loop makes equations by the hundred thousand that are much alike. So what is told of an aval, a traceback,
a name or some parameters is found out once, and remembered for all that have the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import count, product
from string import ascii_lowercase
from types import CodeType
from typing import Any

from jax.extend import core as jax_core

from jaxnb import _jax
from jaxnb._jax import Bodies
from jaxnb.program import PROMOTION, Aval, Call, Computation, Level, Op, Span, Value
from jaxnb.reading.flow.varying import Varying, varying_axes
from jaxnb.reading.jaxpr.calls import Calls, Instances
from jaxnb.reading.jaxpr.params import Attributes, literal_text, params_key, read_params
from jaxnb.reading.jaxpr.phases import Setting, read_settings
from jaxnb.reading.jaxpr.spans import Spans
from jaxnb.runtime import collection_put_off

__all__ = ["MOST_OPS", "read_jaxpr"]

MOST_OPS = 20_000
_LOOPS = frozenset({"scan", "while"})
_CHECKPOINTS = frozenset({"remat2", "checkpoint"})


def read_jaxpr(
    closed_jaxpr: Any,
    *,
    cell_file: str,
    invar_names: Sequence[str] = (),
    outvar_names: Sequence[str] = (),
    source: str = "",
    file_label: Callable[[str], str] = str,
    varying: Varying | None = None,
    called: Span | None = None,
    instances: Callable[[Any], Instances] = lambda traceback: (),
    is_cell: Callable[[CodeType], bool] | None = None,
) -> Level:
    """Reads a jaxpr and all that is nested in it.

    A jaxpr that several equations share is written out for each of them, up to `MOST_OPS` ops in all; after
    that the op says in an attribute that its body stands above.

    Args:
      closed_jaxpr: what `jax.make_jaxpr(f)(...)` or `jax.jit(f).trace(...).jaxpr` gives.
      cell_file: the `co_filename` of the cell's code. The span of an op is the innermost frame there; where
        there is none, the innermost in another cell or file of the user; else that of the op that owns it. It
        is never in jax, the standard library or site-packages.
      invar_names: what the user calls the inputs, one for each or none.
      outvar_names: likewise for the outputs.
      source: the text of the cell; with it columns count characters, without it bytes of UTF-8.
      file_label: what to call another file of the user; by default its name as Python knows it.
      varying: over which named axes its values vary, where that is not to be found from the jaxpr alone.
      called: where in the cell the function was called of which this is a part, if it is one.
      instances: gives the objects whose methods a traceback went through, see `InstanceLog`.
      is_cell: whether code is that of the cell as a whole; by default that of a module in `cell_file`.

    Raises:
      ValueError: if there are names, but not one for each input or output.

    >>> import jax
    >>> level = read_jaxpr(jax.make_jaxpr(lambda x: x * 2)(1.0), cell_file="", invar_names=["x"])
    >>> [(op.name, [level.values[i].name for i in op.inputs + op.outputs]) for op in level.ops()]
    [('mul', ['a', '2.0', 'b'])]
    """
    entry = _jax.open_jaxpr(closed_jaxpr)
    for kind, names, variables in (
        ("input", invar_names, entry.invars),
        ("output", outvar_names, entry.outvars),
    ):
        if names and len(names) != len(variables):
            raise ValueError(f"{len(names)} {kind} names for a jaxpr with {len(variables)} {kind}s")
    with collection_put_off():
        known = varying_axes(closed_jaxpr) if varying is None else varying
        spans = Spans(cell_file, source, file_label, called)
        whole = is_cell or (lambda code: code.co_filename == cell_file and code.co_name == "<module>")
        reading = _Reading(spans, Calls(spans, instances, whole), known)
        reading.computation("main", entry, None, tuple(invar_names), tuple(outvar_names))
    computations = tuple(c for c in reading.computations if c is not None)
    return Level("jaxpr", tuple(reading.values), computations, sources=reading.calls.sources())


class _Reading:
    """What grows while one jaxpr is read."""

    def __init__(self, spans: Spans, calls: Calls, varying: Varying) -> None:
        self.spans, self.calls = spans, calls
        self.varying = varying  # of the computation that is being read
        self.values: list[Value] = []
        self.computations: list[Computation | None] = []
        self.ops = 0
        self.jaxs_own = False  # whether what is read is a body that JAX wrote, and keeps from its first caller on
        self._traced = ""  # the function that it was traced from
        self._letters = _letters()
        self._names: dict[jax_core.Var, str] = {}
        self._avals: dict[int, tuple[Aval, str, Any]] = {}
        self._params: dict[Hashable, tuple[Attributes, Bodies]] = {}
        self._seen: dict[int, jax_core.Jaxpr] = {}

    def computation(
        self,
        name: str,
        jaxpr: jax_core.Jaxpr,
        owner: Span | None,
        input_names: tuple[str, ...] = (),
        output_names: tuple[str, ...] = (),
        setting: Setting | None = None,
        caller: Call | None = None,
    ) -> int:
        """Reads a jaxpr as a computation and returns its index."""
        index = len(self.computations)
        self.computations.append(None)  # its place comes before those of its bodies
        self._seen[id(jaxpr)] = jaxpr
        scope: dict[jax_core.Var, int] = {}
        used = {v for eqn in jaxpr.eqns for v in eqn.invars if not isinstance(v, jax_core.Literal)}
        used.update(v for v in jaxpr.outvars if not isinstance(v, jax_core.Literal))
        constants = self._defined(jaxpr.constvars, scope)
        inputs = self._defined(jaxpr.invars, scope)
        settings = read_settings(jaxpr, setting or Setting())
        outer, self._traced = self._traced, _jax.traced_name(jaxpr)
        homes = self._homes(jaxpr, owner, caller)
        ops = tuple(
            self._op(eqn, scope, used, own, *homes.get(self.calls.first(_jax.eqn_traceback(eqn)), (owner, caller)))
            for eqn, own in zip(jaxpr.eqns, settings, strict=True)
        )
        self._traced = outer
        outputs = self._used(jaxpr.outvars, scope)
        self.computations[index] = Computation(name, inputs, outputs, ops, constants, input_names, output_names)
        return index

    def _op(
        self,
        eqn: jax_core.JaxprEqn,
        scope: dict[jax_core.Var, int],
        used: set[jax_core.Var],
        setting: Setting,
        owner: Span | None,
        caller: Call | None,
    ) -> Op:
        self.ops += 1
        span = owner if self.jaxs_own else self.spans.of(eqn, owner)
        call = caller if self.jaxs_own else self.calls.of(_jax.eqn_traceback(eqn), caller, owner, self._traced)
        outputs = self._defined(eqn.outvars, scope, used)
        attributes, found = self._attributes(eqn)
        if self.ops > MOST_OPS and all(id(jaxpr) in self._seen for _, jaxpr in found):
            attributes += tuple((".".join(path), f"as above, {len(body.eqns)} eqns") for path, body in found)
            found = []
        name = eqn.primitive.name
        if (dtypes := _jax.promotion_of(eqn)) is not None:
            attributes = ((PROMOTION, " → ".join(dtypes)), *attributes)
        bodies: tuple[int, ...] = ()
        if found:
            inside = setting.inside(name)
            turning = self._turning(eqn, span, call)
            bodies = tuple(self._body(eqn, path, body, span, inside, turning) for path, body in found)
        inputs = self._used(eqn.invars, scope)
        return Op(name, inputs, outputs, attributes, span, bodies, setting.phase, setting.scopes, call)

    def _homes(
        self, jaxpr: jax_core.Jaxpr, owner: Span | None, caller: Call | None
    ) -> dict[CodeType | None, tuple[Span | None, Call | None]]:
        """By the function that is the body of a loop, where that stands: JAX takes out of it what is always the same,
        and such an equation does not say that it was made there."""
        found: dict[CodeType | None, tuple[Span | None, Call | None]] = {}
        for eqn in jaxpr.eqns if not self.jaxs_own else ():
            if eqn.primitive.name in _LOOPS:
                traceback = _jax.eqn_traceback(eqn)
                span = self.spans.of(eqn, owner)
                turning = self._turning(eqn, span, self.calls.of(traceback, caller, owner, self._traced))
                for code in self._firsts(eqn) - {None, self.calls.first(traceback)}:
                    found.setdefault(code, (span, turning))
        return found

    def _firsts(self, loop: jax_core.JaxprEqn) -> set[CodeType | None]:
        """The functions in which the tracing of a loop's body began, or of what that checkpoints."""
        found: set[CodeType | None] = set()
        for _, body in self._attributes(loop)[1]:
            for eqn in body.eqns:
                found.add(self.calls.first(_jax.eqn_traceback(eqn)))
                if eqn.primitive.name in _CHECKPOINTS:
                    found |= self._firsts(eqn)
        return found

    def _turning(self, eqn: jax_core.JaxprEqn, span: Span | None, call: Call | None) -> Call | None:
        """The call that the bodies of an equation stand in: a step of its own for a loop."""
        name = eqn.primitive.name
        if name not in _LOOPS:
            return call
        turns = eqn.params["length"] if name == "scan" else None
        return self.calls.loop(name, turns if isinstance(turns, int) else None, span, call)

    def _attributes(self, eqn: jax_core.JaxprEqn) -> tuple[Attributes, Bodies]:
        """What the parameters of an equation say, and the jaxprs among them."""
        if not eqn.params:
            return (), []
        key = params_key(eqn.primitive.name, eqn.params)
        try:
            known = self._params.get(key)
        except TypeError:
            key = known = None
        if known is None:
            found = _jax.body_jaxprs(eqn.params)
            known = read_params(eqn.params, {path[0] for path, _ in found}), found
            if key is not None:
                self._params[key] = known
        return known

    def _body(
        self,
        eqn: jax_core.JaxprEqn,
        path: tuple[str, ...],
        body: jax_core.Jaxpr,
        owner: Span | None,
        setting: Setting,
        caller: Call | None,
    ) -> int:
        outer = self.varying, self.jaxs_own
        self.varying = self.varying.inside(eqn, path)
        self.jaxs_own = self.jaxs_own or path[0] == "update_jaxpr"  # how a scatter combines two elements
        index = self.computation(_body_name(path, body, eqn.params), body, owner, setting=setting, caller=caller)
        self.varying, self.jaxs_own = outer
        return index

    def _defined(
        self,
        variables: Sequence[jax_core.Var],
        scope: dict[jax_core.Var, int],
        used: set[jax_core.Var] | None = None,
    ) -> tuple[int, ...]:
        """Adds a value for each of some variables; one that is not among the used ones has no name."""
        values, names = self.values, self._names
        indices: list[int] = []
        for var in variables:
            if used is not None and var not in used:
                name = "_"
            elif (name := names.get(var, "")) == "":
                name = names[var] = next(self._letters)
            aval, sharding, _ = self._aval(var.aval)
            scope[var] = index = len(values)
            indices.append(index)
            values.append(Value(name, aval, False, sharding, self.varying.axes(var)))
        return tuple(indices)

    def _used(
        self, atoms: Sequence[jax_core.Var | jax_core.Literal], scope: dict[jax_core.Var, int]
    ) -> tuple[int, ...]:
        """The values that some operands are; a literal is one of its own."""
        indices: list[int] = []
        for atom in atoms:
            if isinstance(atom, jax_core.Literal):
                indices.append(len(self.values))
                self.values.append(Value(literal_text(atom.val), self._aval(atom.aval)[0], True))
            else:
                indices.append(scope[atom])
        return tuple(indices)

    def _aval(self, aval: Any) -> tuple[Aval, str, Any]:
        """An aval, how what has it is spread, and JAX's own object, of which there is mostly one for equal avals."""
        known = self._avals.get(id(aval))
        if known is None:
            shape, dtype, itemsize = _jax.shape_and_dtype(aval)
            sizes = tuple(int(n) if isinstance(n, int) else str(n) for n in shape)
            read = Aval(dtype, sizes, bool(getattr(aval, "weak_type", False)), itemsize)
            known = self._avals[id(aval)] = read, _sharding_text(aval), aval
        return known


def _sharding_text(aval: Any) -> str:
    """How a value is spread where that is part of its type: `P('x',)`; "" elsewhere."""
    sharding = getattr(aval, "sharding", None)  # of an aval: a tracer's would walk through everything before it
    spec = getattr(sharding, "spec", None)
    return str(spec) if spec is not None and any(part is not None for part in spec) else ""


def _letters() -> Iterator[str]:
    """a, b, ..., z, ba, bb, ..., zz, baa, ...: numbers in base 26, as JAX counts, without a zero in front."""
    yield from ascii_lowercase
    for more in count(1):
        yield from map("".join, product(ascii_lowercase[1:], *[ascii_lowercase] * more))


def _body_name(path: tuple[str, ...], body: jax_core.Jaxpr, params: Any) -> str:
    """What a body is to its op: the name of a function that is called, "branch 1", "cond", "body"."""
    *above, last = path
    if last.isdigit() and above:
        return f"{above[-1].replace('branches', 'branch')} {last}"
    if last == "call_jaxpr":
        return _jax.function_name(body) or "body"
    if last == "jaxpr":
        name = params.get("name")
        return name if isinstance(name, str) and name else "body"
    return last.removesuffix("_jaxpr")
