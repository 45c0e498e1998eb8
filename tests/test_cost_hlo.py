"""What instructions and StableHLO operations cost, against XLA's own sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from level_programs import PROGRAMS

import jaxnb
from jaxnb.api import new_session
from jaxnb.program import Level, Op
from jaxnb.reading.cost.hlo import RULES, with_hlo_costs, with_stablehlo_costs
from jaxnb.reading.hlo import read as hlo_reader
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.read import read_hlo
from jaxnb.staging.session import strategy
from jaxnb.staging.session.session import Session

KEY = jax.random.key(0)
X = jax.random.normal(KEY, (64, 64))
IMAGES, KERNEL = jax.random.normal(KEY, (4, 28, 28, 3)), jax.random.normal(KEY, (3, 3, 3, 8))
FEW = jnp.array([3, 1, 5])


def conv(x: Any, w: Any, strides: tuple[int, int] = (1, 1), padding: str = "SAME", **more: Any) -> Any:
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), **more)


def pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x: jnp.tanh(x) * 2 + jnp.exp(-x) / (1 + x * x), (X,)),
    "product": (lambda a, b: (a @ b).sum(0) @ b, (X, X)),
    "batched product": (lambda a: jnp.einsum("bij,bkj->bik", a, a), (jnp.ones((8, 16, 32)),)),
    "reductions": (lambda x: (x.sum(1), x.max(0), jnp.argmax(x, 1), x.mean()), (X,)),
    "softmax": (lambda x: jax.nn.softmax(x, -1), (X,)),
    "convolution": (conv, (IMAGES, KERNEL)),
    "strided convolution": (lambda x, w: conv(x, w, (2, 2), "VALID"), (IMAGES, KERNEL)),
    "dilated convolution": (lambda x, w: conv(x, w, rhs_dilation=(2, 2)), (IMAGES, KERNEL)),
    "grouped convolution": (lambda x, w: conv(x, w, feature_group_count=3), (IMAGES, jnp.ones((3, 3, 1, 9)))),
    "gradient of a convolution": (
        jax.grad(lambda w, x: (conv(x, w, (2, 2)) ** 2).sum(), argnums=(0, 1)),
        (KERNEL, IMAGES),
    ),
    "pooling": (pool, (IMAGES,)),
    "gradient of pooling": (jax.grad(lambda x: (pool(x) ** 2).sum()), (IMAGES,)),
    "running sum": (lambda x: jnp.cumsum(x, 0), (X,)),
    "sort": (lambda x: jnp.sort(x, 0), (X,)),
    "sort with indices": (lambda x: jnp.argsort(x, 1), (X,)),
    "gather": (lambda x, at: x[at] * 2, (X, FEW)),
    "scatter": (lambda x, at: x.at[at].add(1.0), (X, FEW)),
    "slices": (lambda x, at: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (at, 0), (8, 64)) * 2, (at, 0)), (X, 3)),
    "scan": (lambda x: lax.scan(lambda c, _: (jnp.tanh(c @ c), c.sum()), x, None, length=17), (X,)),
    "while": (lambda x: lax.while_loop(lambda c: c.sum() < 1e4, lambda c: c @ c + 1, x), (X,)),
    "random": (lambda key: jax.random.normal(key, (128,)), (KEY,)),
    "integers": (lambda x: (x.astype(jnp.int32) // 3) % 7, (X,)),
    "bfloat16": (lambda x: x.astype(jnp.bfloat16) @ x.astype(jnp.bfloat16), (X,)),
    "complex": (lambda x: jnp.exp(x * 1j) * (x + 2j), (X,)),
}


def priced(compiled: Any, once: bool = False) -> Level:
    (module,) = read_modules(compiled)
    return with_hlo_costs(read_hlo(module).level, module, once)


def sums(level: Level) -> dict[str, int]:
    """Of all that is known."""
    fields = ("flops", "bytes", "transcendentals")
    return {name: sum(getattr(op, name) or 0 for op in level.ops()) for name in fields}


def xla(stage: Any) -> dict[str, float]:
    told = stage.cost_analysis()
    return {
        name: told.get(key, 0.0)
        for name, key in zip(sums(Level("hlo")), ("flops", "bytes accessed", "transcendentals"), strict=True)
    }


def compiled(case: str) -> Any:
    function, arguments = CASES[case]
    return jax.jit(function).lower(*arguments).compile()


def named(level: Level, name: str) -> list[Op]:
    return [op for op in level.ops() if op.name == name]


@pytest.mark.parametrize("case", CASES)
def test_instructions_add_up_to_what_xla_counts(case: str) -> None:
    program = compiled(case)
    level = priced(program, once=True)
    assert sums(level) == pytest.approx(xla(program), rel=0.01, abs=1)
    assert all(op.flops is not None and op.bytes is not None for op in level.ops())


@pytest.mark.parametrize("name", PROGRAMS)
def test_so_they_do_of_whole_cells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    dispatch = strategy.dispatch
    monkeypatch.setattr(
        strategy, "dispatch", lambda piece, *rest: (seen.append(piece.compiled), dispatch(piece, *rest))[1]
    )
    setup, cell = PROGRAMS[name]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, namespace)
    new_session().stage(cell, namespace, jaxnb.StageOptions())
    for program in seen:
        assert sums(priced(program, once=True)) == pytest.approx(xla(program), rel=0.02, abs=1)
    assert seen


def test_a_loop_counts_as_often_as_it_runs() -> None:
    once, often = priced(compiled("scan"), once=True), priced(compiled("scan"))
    (product,) = named(often, "dot") or [op for op in often.ops() if (op.flops or 0) > 17 * 500_000]
    assert product.flops == 17 * 2 * 64**3 and product.times == 17
    assert sums(often)["flops"] > 16 * sums(once)["flops"]
    assert all(op.times is not None for op in often.ops())


def test_a_loop_of_unknown_length_counts_once_and_says_so() -> None:
    level = priced(compiled("while"))
    assert sums(level)["flops"] == sums(priced(compiled("while"), once=True))["flops"]
    (loop,) = named(level, "while")
    assert loop.times == 1 and loop.flops == 0
    assert all(op.times is None for body in loop.bodies for op in level.computations[body].ops)


def test_a_fusion_moves_and_what_is_in_it_computes() -> None:
    level = priced(jax.jit(lambda x, y: jnp.tanh(x) * y + x).lower(X, X).compile())
    (fusion,) = named(level, "fusion")
    assert (fusion.flops, fusion.bytes, fusion.transcendentals) == (0, 3 * 4 * 64 * 64, 0)
    inside = [op for body in fusion.bodies for op in level.computations[body].ops]
    assert {op.bytes for op in inside} == {0}
    assert sum(op.flops or 0 for op in inside) == 2 * 64 * 64
    assert sum(op.transcendentals or 0 for op in inside) == 64 * 64


def test_in_a_large_program_the_fusion_itself_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what is in it is not written out any more."""
    whole = sums(priced(compiled("softmax")))
    monkeypatch.setattr(hlo_reader, "MOST_OPS", 0)
    level = priced(compiled("softmax"))
    assert not any(op.bodies for op in level.ops())
    assert sums(level) == whole


def test_of_branches_the_dearest_counts() -> None:
    function = lambda x: lax.cond(x.sum() > 0, lambda x: x @ x, lambda x: jnp.sin(x), x)  # noqa: E731
    level = priced(jax.jit(function).lower(X).compile())
    (branch,) = named(level, "conditional")
    times = {tuple(op.times for op in level.computations[body].ops) for body in branch.bodies}
    assert {max(some) for some in times if some} == {0, 1}
    assert sums(level)["transcendentals"] == 0 and sums(level)["flops"] >= 2 * 64**3


def test_what_nobody_knows_has_no_cost() -> None:
    """A call into LAPACK; what stands around it is counted."""
    level = priced(jax.jit(lambda a: jnp.linalg.cholesky(a @ a.T)).lower(X).compile())
    (call,) = named(level, "custom-call")
    assert (call.flops, call.bytes, call.transcendentals) == (None, None, None)
    assert "custom-call" not in RULES
    assert sums(level)["flops"] >= 2 * 64**3


def test_collectives_count_their_elements() -> None:
    mesh, rows, whole = jax.make_mesh((4,), ("d",)), jax.sharding.PartitionSpec("d"), jax.sharding.PartitionSpec()
    function = jax.jit(jax.shard_map(lambda x: lax.psum(x * 2, "d"), mesh=mesh, in_specs=rows, out_specs=whole))
    x = jax.device_put(X, jax.sharding.NamedSharding(mesh, rows))
    (reduce,) = named(priced(function.lower(x).compile()), "all-reduce")
    assert reduce.flops == 16 * 64 and reduce.bytes == 2 * 4 * 16 * 64


def operations(case: str) -> tuple[Level, Level]:
    """The levels "jaxpr" and "stablehlo" of a case, with costs."""
    function, arguments = CASES[case]
    program = jaxnb.inspect(function)(*arguments)
    lower = program.level("stablehlo")
    return program.level("jaxpr"), with_stablehlo_costs(program.level("jaxpr"), lower, program.links)


@pytest.mark.parametrize("case", CASES)
def test_operations_compute_what_their_equations_do(case: str) -> None:
    """Bytes differ more: transpositions and spread constants are XLA's to take out or to keep."""
    upper, lower = operations(case)
    above, below = sums(upper), sums(lower)
    assert below["flops"] == pytest.approx(above["flops"], rel=0.02, abs=8)
    assert below["transcendentals"] == above["transcendentals"]
    assert 0.7 * above["bytes"] <= below["bytes"] <= 1.1 * above["bytes"] + 8


def test_operations_without_loops_add_up_to_what_xla_counts() -> None:
    for case in ("product", "convolution", "softmax", "pooling", "gradient of pooling", "sort", "gather", "integers"):
        function, arguments = CASES[case]
        told = xla(jax.jit(function).lower(*arguments))
        assert sums(operations(case)[1])["flops"] == pytest.approx(told["flops"], rel=0.05)


def test_the_product_in_a_scan_counts_as_often_as_the_scan_runs() -> None:
    _, lower = operations("scan")
    (product,) = named(lower, "dot_general")
    assert (product.flops, product.times) == (17 * 2 * 64**3, 17)
    _, lower = operations("while")
    (product,) = named(lower, "dot_general")
    assert (product.flops, product.times) == (2 * 64**3, None)
