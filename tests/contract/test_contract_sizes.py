"""Sizes that are names: what they are made of, what is asked of them, and a jaxpr with numbers for the names."""

from __future__ import annotations

from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from covering import covers, private
from jax import export

from jaxnb._jax import base, dims

poly = private("export.shape_poly")


def size(text: str, *constraints: str) -> Any:
    return export.symbolic_shape(text, scope=export.SymbolicScope(constraints))[0]


@covers(
    "shape_poly._DimExpr", "_DimExpr._get_vars", "_DimExpr._sorted_terms", "_DimTerm._factors", "_DimFactor.operands"
)
def test_a_size_has_names_and_a_value_for_each_of_theirs() -> None:
    found = size("2*c + b")
    assert type(found) is poly._DimExpr and dims.is_dim(found) and not dims.is_dim(3)
    assert dims.dim_variables(found) == {"b", "c"} and dims.dim_variables(3) == frozenset()
    assert dims.dim_value(found, {"b": 3, "c": 4}) == 11 and type(dims.dim_value(found, {"b": 3, "c": 4})) is int
    assert dims.dim_value(size("floordiv(b, 3) + mod(b, 3) + max(b, 9)"), {"b": 8}) == 13
    assert dims.dim_value(size("100000*b*b*b*b + min(c, floordiv(1000000*b, 7))"), {"b": 10**6, "c": 5}) == 10**29 + 5
    assert dims.dim_text(found) == str(found) == "2*c + b"


@covers("_DimExpr.max", "_DimExpr.min")
def test_the_greater_of_two_sizes_is_a_size() -> None:
    assert str(dims.extreme_dim("max", 4, size("b"))) == "max(b, 4)" and dims.extreme_dim("min", size("b"), 1) == 1


@covers("BoundsPrecision.BEST")
def test_a_size_has_bounds_and_constraints_that_contradict_raise() -> None:
    assert dims.dim_bounds(size("b", "b >= 3", "b <= 9")) == (3, 9) and dims.dim_bounds(4) == (4, 4)
    with pytest.raises(ValueError, match="Unsatisfiable"):
        dims.dim_bounds(size("b", "b >= 3", "b <= 1"))


class Heard:
    """Takes down what is asked."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def on_dim_text(self, dim: Any, method: str, frame: FrameType, *spec: str) -> str:
        self.said.append(method)
        return "text"

    def on_dim_hash(self, dim: Any, frame: FrameType) -> None:
        self.said.append("hash")

    def is_of_sizes(self, item: Any) -> bool:
        return dims.is_dim(item)

    def class_of(self, size: Any) -> type:
        return int

    def on_dim_computed(self, result: Any, dim: Any, other: Any, frame: FrameType) -> Any:
        return result

    def on_dim_called(self, function: Any, name: str, args: Any, frame: FrameType) -> Any:
        self.said.append(name)
        return NotImplemented

    def is_number(self, other: Any) -> bool:
        return type(other) in (int, float) or dims.is_dim(other)

    def on_dim_number(self, result: Any, function: str, dim: Any, other: Any) -> None:
        self.said.append((function, other))

    def on_dim_numpy(self, dim: Any, frame: FrameType) -> None:
        self.said.append("numpy")

    def on_dim_equal(self, dim: Any, other: Any, answer: bool, frame: FrameType) -> None:
        self.said.append((other, answer))

    def on_dim_truth(self, dim: Any, frame: FrameType) -> bool:
        self.said.append("truth")
        return False

    def on_decided(self, decision: dims.Decision, frame: FrameType) -> None:
        self.said.append(decision)

    def on_undecided(self, dim: Any, frame: FrameType) -> None:
        self.said.append(dims.dim_text(dim))

    def on_rewritten(self, term: str, frame: FrameType) -> None:
        self.said.append(term)


@covers("_DimExpr.__jax_array__")
def test_what_code_asks_of_a_size_is_heard_and_what_jax_asks_is_not() -> None:
    scope, heard = export.SymbolicScope(), Heard()
    (b,) = export.symbolic_shape("b", scope=scope)

    def f(x: Any) -> Any:
        n = x.shape[0]
        with dims.watch_dims(scope, heard):
            assert (f"{n}", str(n), repr(n)) == ("text", "text", "text")
            _ = hash(n), n == 3, n != 4, 1 / n, n**0.5, n * 2, bool(n)
            return jnp.mean(x) + n

    jaxpr = jax.make_jaxpr(f)(jax.ShapeDtypeStruct((b,), jnp.float32))
    texts, rest = heard.said[:3], heard.said[3:]
    assert texts == ["__format__", "__str__", "__repr__"] and "dim_as_value" in str(jaxpr)
    assert rest == ["hash", (3, False), (4, False), ("__rtruediv__", 1), ("__pow__", 0.5), "truth"]
    assert f"{b}" == "b" and hash(b) == hash(b) and bool(b)
    assert not {"__format__", "__bool__"} & vars(poly._DimExpr).keys()


@covers("shape_poly._bounds_decision", "BoundsPrecision._bounds_are_sufficient", "SymbolicScope._normalization_rules")
def test_that_a_comparison_was_decided_is_heard_and_what_it_needed() -> None:
    scope, heard = export.SymbolicScope(["b >= 8", "mod(c, 4) == 0"]), Heard()
    b, c = export.symbolic_shape("b, c", scope=scope)
    with dims.watch_dims(scope, heard):
        assert b > 7 and c % 4 == 0
        with pytest.raises(dims.INCONCLUSIVE):
            _ = b > 9
    decided = [item for item in heard.said if isinstance(item, tuple)]
    assert dims.is_decided(decided[0], scope) and not dims.is_decided(decided[0], export.SymbolicScope())
    assert "mod(c, 4)" in heard.said and heard.said[-1] == "- b + 9"
    assert dims.is_rewritten("mod(c, 4)", scope) and not dims.is_rewritten("mod(c, 4)", export.SymbolicScope())


@covers("dim_as_value")
def test_a_jaxpr_for_all_sizes_computes_with_numbers_for_the_names() -> None:
    def f(x: Any) -> Any:
        n = x.shape[0]
        total, rows = jax.lax.scan(lambda c, row: (c + row.sum(), row * n), 0.0, x)
        return total / n, rows.reshape(2 * n, -1), jnp.arange(n), jax.nn.softmax(x)

    (b,) = export.symbolic_shape("b")
    closed: Any = jax.make_jaxpr(f)(jax.ShapeDtypeStruct((b, 4), jnp.float32))
    for count in (3, 5):
        found: Any = dims.with_sizes(closed, {"b": count})
        assert [eqn.primitive.name for eqn in closed.eqns if eqn.primitive.name != "dim_as_value"] == [
            eqn.primitive.name for eqn in found.eqns if eqn.primitive.name != "copy"
        ]
        x = jax.random.normal(jax.random.key(count), (count, 4))
        for one, other in zip(base.as_function(found)(x), f(x), strict=True):
            assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, other.weak_type)
            assert jnp.allclose(one, other, 1e-5)
    assert "b" in str(closed.out_avals[1])
