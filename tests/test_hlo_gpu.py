"""A program of XLA's GPU compiler, as an H200 runs it: products by Triton, convolutions and more by NVIDIA's libraries.

`data/h200_step.hlo.pb.gz` is the optimised module of `step` below, compiled by jaxlib 0.11.2 with CUDA 13.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxnb.program import Level
from jaxnb.reading.cost import cost_of
from jaxnb.reading.cost.hlo import with_hlo_costs
from jaxnb.reading.cost.hlo.library_calls import library_rule
from jaxnb.reading.hlo.decode import _read_config, read_module
from jaxnb.reading.hlo.module import Computation, DotNumbers, Instruction, Module, Shape
from jaxnb.reading.hlo.read import read_hlo

FILE = Path(__file__).with_name("data") / "h200_step.hlo.pb.gz"


def strided(images: Any, kernel: Any) -> Any:
    return lax.conv_general_dilated(images, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def step(a: Any, w1: Any, w2: Any, k: Any, im: Any) -> Any:
    def loss(w1: Any, w2: Any, k: Any) -> Any:
        h = jax.nn.gelu(a @ w1)
        q = (h @ w2).astype(jnp.bfloat16).reshape(8, 32, 4, 32)
        s = jnp.einsum("bqhd,bkhd->bhqk", q, q)
        o = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s), q)
        return jnp.mean(o.astype(jnp.float32) ** 2) + (strided(im, k) ** 2).mean()

    v, g = jax.value_and_grad(loss, (0, 1, 2))(w1, w2, k)
    gi = jax.grad(lambda im: (strided(im, k) ** 2).sum())(im)
    m, _ = lax.scan(lambda c, _: (jnp.tanh(c @ c), None), w1[:, :128], None, length=5)
    return v, g, gi, m, jnp.sort(a, axis=0), jnp.linalg.cholesky(jnp.eye(64) * 2 + m[:64, :64] * 0)


SHAPES = [(256, 128), (128, 512), (512, 128), (3, 3, 16, 32), (4, 28, 28, 16)]


@pytest.fixture(scope="module")
def module() -> Module:
    return read_module(gzip.decompress(FILE.read_bytes()))


@pytest.fixture(scope="module")
def level(module: Module) -> Level:
    return with_hlo_costs(read_hlo(module).level, module)


def flops(module: Module, targets: str) -> list[int | None]:
    found: list[int | None] = []
    for computation in module.computations.values():
        for item in computation.instructions.values():
            if item.target.startswith(targets):
                rule = library_rule(item)
                found.append(rule(item, computation).flops if rule is not None else None)
    return found


def test_it_costs_what_its_jaxpr_costs(level: Level) -> None:
    whole = cost_of(jax.make_jaxpr(step)(*(jnp.ones(shape) for shape in SHAPES)))
    assert sum(op.flops or 0 for op in level.ops()) == pytest.approx(whole.flops, rel=0.05)


def test_convolutions_of_cudnn_cost_what_the_equations_do(module: Module) -> None:
    """Forward and by each of the two. XLA has padded the images before, and cuDNN multiplies with the zeros, too."""
    images, kernel = jnp.ones(SHAPES[4]), jnp.ones(SHAPES[3])
    forward = cost_of(jax.make_jaxpr(strided)(images, kernel)).flops
    assert flops(module, "__cudnn$convForward") == pytest.approx([forward], rel=0.06)
    assert flops(module, "__cudnn$convBackwardInput") == pytest.approx([forward], rel=0.06)
    assert flops(module, "__cudnn$convBackwardFilter") == pytest.approx([forward], rel=0.06)


def test_what_nobody_knows_has_no_cost(module: Module) -> None:
    assert flops(module, "cusolver") == [None]


def test_products_of_cublas() -> None:
    """As XLA writes them: the first result is the product, the second one scratch memory."""
    config = {
        "gemm_backend_config": {
            "dot_dimension_numbers": {
                "lhs_batch_dimensions": ["0"],
                "lhs_contracting_dimensions": ["2"],
                "rhs_batch_dimensions": ["0"],
                "rhs_contracting_dimensions": ["1"],
            }
        }
    }
    assert _read_config(json.dumps(config).encode()) == {"dot": DotNumbers((2,), (1,), (0,), (0,))}
    left, right, product = (Shape(sizes, 4) for sizes in ((8, 16, 32), (8, 32, 64), (8, 16, 64)))
    call = Instruction(
        "c", "custom-call", Shape(parts=(product, Shape((1000,), 1))), 3, (1, 2), target="__cublas$lt$matmul"
    )
    call = replace(call, **_read_config(json.dumps(config).encode()))
    given = {n: Instruction(f"p{n}", "parameter", shape, n) for n, shape in ((1, left), (2, right))}
    around = Computation({**given, 3: call}, 3)
    rule = library_rule(call)
    assert rule is not None
    assert rule(call, around)[:2] == (2 * 8 * 16 * 32 * 64, left.nbytes + right.nbytes + product.nbytes)


@pytest.mark.parametrize("config", ["", "{", "[]", '{"gemm_backend_config": {}}', '{"known_trip_count": 1}'])
def test_other_configurations_say_nothing(config: str) -> None:
    assert _read_config(config.encode()) == {}
