"""A jaxpr as the level "jaxpr": one op an equation, one computation a sub-jaxpr, with the cell's lines.

Equations are read as objects; JAX's printed text is never parsed. Values get the names that JAX prints, by
the same
rule: letters in the order in which variables are met, and one name for one variable wherever it occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.extend import core as jax_core

from jaxnb import _jax_eqns
from jaxnb.program import Aval, Computation, Level, Op, Span, Value
from jaxnb.readers.params import literal_text, read_params
from jaxnb.readers.phases import Setting, read_settings
from jaxnb.readers.spans import Spans

__all__ = ["MOST_OPS", "read_jaxpr"]

MOST_OPS = 20_000


def read_jaxpr(
    closed_jaxpr: Any,
    *,
    cell_file: str,
    invar_names: Sequence[str] = (),
    outvar_names: Sequence[str] = (),
    source: str = "",
    file_label: Callable[[str], str] = str,
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

    Raises:
      ValueError: if there are names, but not one for each input or output.

    >>> import jax
    >>> level = read_jaxpr(jax.make_jaxpr(lambda x: x * 2)(1.0), cell_file="", invar_names=["x"])
    >>> [(op.name, [level.values[i].name for i in op.inputs + op.outputs]) for op in level.ops()]
    [('mul', ['a', '2.0', 'b'])]
    """
    entry = _jax_eqns.open_jaxpr(closed_jaxpr)
    for kind, names, variables in (
        ("input", invar_names, entry.invars),
        ("output", outvar_names, entry.outvars),
    ):
        if names and len(names) != len(variables):
            raise ValueError(f"{len(names)} {kind} names for a jaxpr with {len(variables)} {kind}s")
    reading = _Reading(Spans(cell_file, source, file_label))
    reading.computation("main", entry, None, tuple(invar_names), tuple(outvar_names))
    return Level("jaxpr", tuple(reading.values), tuple(c for c in reading.computations if c is not None))


class _Reading:
    """What grows while one jaxpr is read."""

    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self.values: list[Value] = []
        self.computations: list[Computation | None] = []
        self.ops = 0
        self._names: dict[jax_core.Var, str] = {}
        self._avals: dict[Any, Aval] = {}
        self._seen: dict[int, jax_core.Jaxpr] = {}

    def computation(
        self,
        name: str,
        jaxpr: jax_core.Jaxpr,
        owner: Span | None,
        input_names: tuple[str, ...] = (),
        output_names: tuple[str, ...] = (),
        setting: Setting | None = None,
    ) -> int:
        """Reads a jaxpr as a computation and returns its index."""
        index = len(self.computations)
        self.computations.append(None)  # its place comes before those of its bodies
        self._seen[id(jaxpr)] = jaxpr
        scope: dict[jax_core.Var, int] = {}
        used = {v for eqn in jaxpr.eqns for v in eqn.invars if not isinstance(v, jax_core.Literal)}
        used.update(v for v in jaxpr.outvars if not isinstance(v, jax_core.Literal))
        constants = tuple(self._defined(v, scope) for v in jaxpr.constvars)
        inputs = tuple(self._defined(v, scope) for v in jaxpr.invars)
        settings = read_settings(jaxpr, setting or Setting())
        ops = tuple(self._op(eqn, scope, used, owner, own) for eqn, own in zip(jaxpr.eqns, settings, strict=True))
        outputs = tuple(self._used(v, scope) for v in jaxpr.outvars)
        self.computations[index] = Computation(name, inputs, outputs, ops, constants, input_names, output_names)
        return index

    def _op(
        self,
        eqn: jax_core.JaxprEqn,
        scope: dict[jax_core.Var, int],
        used: set[jax_core.Var],
        owner: Span | None,
        setting: Setting,
    ) -> Op:
        self.ops += 1
        span = self.spans.of(eqn, owner)
        outputs = tuple(self._defined(v, scope, dropped=v not in used) for v in eqn.outvars)
        found = list(_jax_eqns.body_jaxprs(eqn.params))
        attributes = read_params(eqn.params, {path[0] for path, _ in found})
        if self.ops > MOST_OPS and all(id(jaxpr) in self._seen for _, jaxpr in found):
            attributes += tuple((".".join(path), f"as above, {len(body.eqns)} eqns") for path, body in found)
            found = []
        inside = setting.inside(eqn.primitive.name)
        bodies = tuple(
            self.computation(_body_name(path, body, eqn.params), body, span, setting=inside) for path, body in found
        )
        inputs = tuple(self._used(v, scope) for v in eqn.invars)
        name = eqn.primitive.name
        return Op(name, inputs, outputs, attributes, span, bodies, setting.phase, setting.scopes)

    def _defined(self, var: jax_core.Var, scope: dict[jax_core.Var, int], dropped: bool = False) -> int:
        if not dropped and var not in self._names:
            self._names[var] = _letters(len(self._names))
        name = "_" if dropped else self._names[var]
        self.values.append(Value(name, self._aval(var.aval), False, _sharding_text(var.aval)))
        scope[var] = len(self.values) - 1
        return scope[var]

    def _used(self, atom: jax_core.Var | jax_core.Literal, scope: dict[jax_core.Var, int]) -> int:
        if not isinstance(atom, jax_core.Literal):
            return scope[atom]
        self.values.append(Value(literal_text(atom.val), self._aval(atom.aval), literal=True))
        return len(self.values) - 1

    def _aval(self, aval: Any) -> Aval:
        shape, dtype, itemsize = _jax_eqns.shape_and_dtype(aval)
        sizes = tuple(int(n) if isinstance(n, int) else str(n) for n in shape)
        read = Aval(dtype, sizes, bool(getattr(aval, "weak_type", False)), itemsize)
        return self._avals.setdefault(read, read)  # one object for equal avals: there are few


def _sharding_text(aval: Any) -> str:
    """How a value is spread where that is part of its type: `P('x',)`; "" elsewhere."""
    sharding = getattr(aval, "sharding", None)  # of an aval: a tracer's would walk through everything before it
    spec = getattr(sharding, "spec", None)
    return str(spec) if spec is not None and any(part is not None for part in spec) else ""


def _letters(index: int) -> str:
    """0, 1, ... as a, b, ..., z, ba, bb, ...: numbers in base 26, as JAX counts."""
    letters = ""
    while True:
        index, digit = divmod(index, 26)
        letters = chr(ord("a") + digit) + letters
        if index == 0:
            return letters


def _body_name(path: tuple[str, ...], body: jax_core.Jaxpr, params: Any) -> str:
    """What a body is to its op: the name of a function that is called, "branch 1", "cond", "body"."""
    *above, last = path
    if last.isdigit() and above:
        return f"{above[-1].replace('branches', 'branch')} {last}"
    if last == "call_jaxpr":
        return _jax_eqns.function_name(body) or "body"
    if last == "jaxpr":
        name = params.get("name")
        return name if isinstance(name, str) and name else "body"
    return last.removesuffix("_jaxpr")
