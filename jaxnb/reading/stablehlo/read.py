"""A StableHLO module as the level "stablehlo": one op an operation, one computation a function or region.

Operations are read as objects of MLIR; its printed text is never parsed. A function is written out for each call of
it, as a jaxpr is, so that each op stands in one place and belongs to one call. Values are numbered as MLIR numbers
them, but for constants, which stand as literals wherever they are used, as in a jaxpr.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from jax.extend.mlir import ir

from jaxnb._jax import location_name
from jaxnb.program import Aval, Computation, Level, Op, Value
from jaxnb.reading.stablehlo.mlir_text import attribute_text, complex_text, constant_text, element_type, sharding_text

__all__ = ["MOST_OPS", "NamedLevel", "read_stablehlo"]

MOST_OPS = 50_000

_TERMINATORS = frozenset({"func.return", "stablehlo.return", "sdy.return", "mhlo.return"})
_REGIONS = {"stablehlo.while": ("cond", "body"), "stablehlo.if": ("true", "false")}
# What says the same as the bodies, or what JAX writes for its own use.
_SKIPPED = frozenset({"callee", "value", "sym_name", "operandSegmentSizes", "mhlo.frontend_attributes"})


class NamedLevel(NamedTuple):
    """A level, and for each op of each computation the name that JAX gave it, with the names of the calls around it."""

    level: Level
    names: list[list[str]]


def read_stablehlo(module: Any, input_names: Sequence[str] = (), output_names: Sequence[str] = ()) -> NamedLevel:
    """Reads a module and everything that its main function reaches.

    Functions that are called several times are written out for each call, up to `MOST_OPS` ops in all; after that
    the op says in an attribute that its body stands above.

    Args:
      module: what `jax.stages.Lowered.compiler_ir("stablehlo")` gives.
      input_names: what the user calls the inputs, one for each or none.
      output_names: likewise for the outputs.
    """
    reading = _Reading(module)
    main = reading.functions["main"]
    reading.computation("main", main.regions[0].blocks[0], _Around("", ""), sharding_of=main)
    computations = [made for made in reading.computations if made is not None]
    computations[0] = computations[0].called(input_names, output_names)
    return NamedLevel(Level("stablehlo", tuple(reading.values), tuple(computations)), reading.names)


class _Reading:
    """What grows while one module is read."""

    def __init__(self, module: Any) -> None:
        operations = [operation.operation for operation in module.body.operations]
        self.functions = {_symbol(op, "sym_name"): op for op in operations if op.name == "func.func"}
        self.values: list[Value] = []
        self.computations: list[Computation | None] = []
        self.names: list[list[str]] = []
        self.ops = 0
        self._written: set[str] = set()
        self._avals: dict[Any, Aval | None] = {}

    def computation(
        self, name: str, block: Any, around: _Around, scope: _Scope | None = None, sharding_of: Any = None
    ) -> int:
        """Reads a block as a computation and returns its index.

        Args:
          name: what it is to its owner.
          block: of operations.
          around: the names of the calls and of the operation that it belongs to.
          scope: of the values that it can see; None for a function, which sees only its arguments.
          sharding_of: the function whose arguments say how they are spread.
        """
        index = len(self.computations)
        self.computations.append(None)
        names: list[str] = []
        self.names.append(names)
        scope = _Scope({}, [0, 0]) if scope is None else _Scope(dict(scope.values), scope.counts)
        shardings = _argument_shardings(sharding_of)
        inputs: list[int] = []
        for argument in block.arguments:
            text = f"%arg{scope.counts[1]}"
            scope.counts[1] += 1
            inputs.append(self._value(scope, argument, text, shardings.get(len(inputs), "")))
        ops: list[Op] = []
        outputs: tuple[int, ...] = ()
        for view in block.operations:
            operation = view.operation
            if operation.name in _TERMINATORS:
                outputs = tuple(self._used(scope, operand) for operand in operation.operands)
            elif operation.name == "stablehlo.constant":
                scope.values[operation.results[0]] = self._constant(operation)
            else:
                inside = around.inside(location_name(operation.location))
                names.append(inside.full)
                ops.append(self._op(operation, scope, inside))
        self.computations[index] = Computation(name, tuple(inputs), outputs, tuple(ops))
        return index

    def _op(self, operation: Any, scope: _Scope, around: _Around) -> Op:
        self.ops += 1
        inputs = tuple(self._used(scope, operand) for operand in operation.operands)
        attributes = [
            (name, text)
            for name, attribute in _attributes(operation)
            if name not in _SKIPPED and (text := attribute_text(attribute))
        ]
        bodies: list[int] = []
        callee = _symbol(operation, "callee") if operation.name in ("func.call", "stablehlo.composite") else ""
        if callee and callee in self.functions:
            if self.ops > MOST_OPS and callee in self._written:
                attributes.append((callee, "as above"))
            else:
                self._written.add(callee)
                block = self.functions[callee].regions[0].blocks[0]
                bodies.append(self.computation(callee, block, _Around(around.full, "")))
        regions = list(operation.regions)
        for number, region in enumerate(regions):
            blocks = list(region.blocks)
            if blocks:
                name = _region_name(operation.name, number, len(regions))
                bodies.append(self.computation(name, blocks[0], around, scope))
        results = list(operation.results)
        text = f"%{scope.counts[0]}"
        scope.counts[0] += bool(results)
        outputs = tuple(
            self._value(scope, result, text if len(results) == 1 else f"{text}#{number}")
            for number, result in enumerate(results)
        )
        name = operation.name.removeprefix("stablehlo.").removeprefix("func.")
        return Op(name, inputs, outputs, tuple(attributes), None, tuple(bodies))

    def _constant(self, operation: Any) -> str:
        aval = self._aval(operation.results[0].type)
        if aval is not None and aval.dtype.startswith("complex"):
            return complex_text(operation)
        return constant_text(operation.attributes["value"])

    def _value(self, scope: _Scope, value: Any, name: str, sharding: str = "") -> int:
        self.values.append(Value(name, self._aval(value.type), False, sharding))
        scope.values[value] = len(self.values) - 1
        return len(self.values) - 1

    def _used(self, scope: _Scope, value: Any) -> int:
        known = scope.values[value]
        if isinstance(known, int):
            return known
        self.values.append(Value(known, self._aval(value.type), literal=True))
        return len(self.values) - 1

    def _aval(self, kind: Any) -> Aval | None:
        if kind not in self._avals:
            self._avals[kind] = _read_type(kind)
        return self._avals[kind]


class _Around(NamedTuple):
    """What stands in front of the names inside an operation: the names of the calls, and its own name behind them."""

    calls: str
    own: str

    @property
    def full(self) -> str:
        return "/".join(filter(None, self))

    def inside(self, name: str) -> _Around:
        """The same for an operation inside. Its name begins where that of its owner does, or (in a shard_map) anew."""
        if not self.own or name.split("/", 1)[0] == self.own.split("/", 1)[0]:
            return _Around(self.calls, name)
        return _Around(self.full, name)


class _Scope(NamedTuple):
    """The values that are visible: the index of each, or the text of a literal; and how many have been named, results
    and arguments."""

    values: dict[Any, int | str]
    counts: list[int]


def _read_type(kind: Any) -> Aval | None:
    if not isinstance(kind, ir.RankedTensorType):
        return Aval("token") if "token" in str(kind) else None
    dtype, itemsize = element_type(str(cast(Any, kind).element_type))
    sizes = tuple("?" if kind.is_dynamic_dim(n) else int(kind.get_dim_size(n)) for n in range(kind.rank))
    return Aval(dtype, sizes, False, itemsize)


def _attributes(operation: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of each attribute; iterating gives names on newer bindings and pairs on older ones."""
    attributes = operation.attributes
    for item in attributes:
        yield (item, attributes[item]) if isinstance(item, str) else (item.name, item.attr)


def _symbol(operation: Any, name: str) -> str:
    attributes = operation.attributes
    if name == "callee" and operation.name == "stablehlo.composite":
        name = "decomposition"
    return str(attributes[name].value) if name in attributes else ""


def _region_name(operation: str, number: int, count: int) -> str:
    if operation in _REGIONS:
        return _REGIONS[operation][number]
    return "body" if count == 1 else f"branch {number}"


def _argument_shardings(function: Any) -> dict[int, str]:
    """How the arguments of a function are spread, by their places."""
    if function is None or "arg_attrs" not in function.attributes:
        return {}
    found: dict[int, str] = {}
    for place, known in enumerate(function.attributes["arg_attrs"]):
        for name in ("sdy.sharding", "mhlo.sharding"):
            if name in known:
                found[place] = sharding_text(known[name])
                break
    return found
