"""What JAX is given of NumPy's is an input of the program, whatever takes it: changing it does not trace again."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb

TAKEN = (
    "jnp.float32(a)",
    "jax.nn.softmax(a)",
    "jnp.float32(d)",
    "jnp.int32(i)",
    "jax.random.permutation(jax.random.key(0),a)",
    "jnp.cumsum(d)",
    "jnp.dot(a,x)",
    "jnp.outer(d,d)",
    "jnp.vstack([a,d])",
    "jnp.asarray(b)",
    "jnp.asarray(d[::2],jnp.float32)",
    "jnp.mean(d)",
    "jnp.linalg.norm(d)",
    "jnp.argmax(a)",
    "jnp.sort(d)",
    "jax.lax.map(lambda q:q*2,a)",
    "jax.lax.cond(b[0],lambda:x,lambda:x*2)",
    "jax.lax.select(b,a,a)",
    "jax.ops.segment_sum(a,i,3)",
    "jnp.bincount(i,length=4)",
    "jnp.histogram(a,bins=3)[0]",
    "jnp.isin(a,x)",
    "jnp.unique(i,size=3)",
    "jnp.nonzero(b,size=2)",
    "jnp.tile(a,2)",
    "jnp.roll(a,1)",
    "jnp.meshgrid(a,a)[0]",
    "jnp.broadcast_to(a,(2,3))",
    "jnp.transpose(a)",
    "jnp.ravel(a)",
    "jnp.swapaxes(a[None],0,1)",
    'jax.image.resize(a,(5,),"linear")',
    "jax.scipy.stats.norm.logpdf(a)",
    "jnp.convolve(a,x)",
    "jnp.matmul(a,x)",
    "jnp.tensordot(a,x,1)",
    "jnp.real(a)",
    "jnp.abs(a)",
    "jnp.square(d)",
    "jnp.power(a,2)",
    "jnp.fft.fft(a)",
    "jnp.diag(a)",
    "jnp.tril(a[None])",
    "jnp.delete(a,1)",
    "jnp.insert(a,1,s)",
    "jnp.append(a,x)",
    "jnp.flip(a)",
    "jnp.array_split(a,2)",
    "jnp.allclose(a,x)",
    "jnp.bfloat16(a)",
    "jnp.asarray(a)",
    "jnp.asarray(np.stack([a,a]),jnp.float32)",
    "jnp.array(a)",
    "jnp.asarray(a,jnp.float32)",
    "jnp.asarray(a,dtype='float32')",
    "jnp.array(a,jnp.float32)",
    "jnp.asarray(a,a.dtype)",
    "jnp.array(a,dtype=a.dtype)",
    "jnp.asarray(a,jnp.bfloat16)",
    "jnp.array(a,jnp.int32)",
    "jnp.asarray(i,jnp.int32)",
    "jnp.asarray(i)",
    "jnp.array(i,jnp.float32)",
    "jnp.asarray(b,bool)",
    "jnp.asarray(d)",
    "jnp.asarray(d,jnp.float32)",
    "jnp.asarray(s,jnp.float32)",
    "jnp.asarray(s)",
    "jnp.array([a,a])",
    "jnp.array([a,a],jnp.float32)",
    "jnp.asarray([a[0],a[1]],jnp.float32)",
    "jnp.stack([a,a])",
    "jnp.full((2,),s)",
    "jnp.full((2,),s,jnp.float32)",
    "jnp.array(a,ndmin=3)",
    "jnp.array(a,copy=False)",
    "jnp.array(a,copy=True)",
    "jax.device_put(a)",
    "jnp.zeros(3).at[:].set(a)",
    "jnp.where(b,a,0)",
    "jnp.asarray(a.T,jnp.float32)",
    "jax.tree.map(jnp.asarray,{'a':a})",
    "jnp.astype(a,jnp.float32)",
    "jnp.ones_like(a)*a",
    "jax.nn.one_hot(i,4)",
    "jax.lax.convert_element_type(a,jnp.float32)",
    "jnp.take(x,i)",
    "x[i]",
    "jnp.asarray(a,copy=True)",
    "jnp.asarray(a,device=jax.devices()[0])",
    "jnp.linspace(s,s+1,3)",
    "jnp.arange(3)*s",
    "jnp.clip(a,s,2*s)",
    "jnp.pad(a,1)",
    "jnp.split(a,3)",
    "jnp.interp(x,a,a)",
    "jnp.concatenate([a,x])",
    "jnp.expand_dims(a,0)",
    "jnp.einsum('i,i',a,a)",
    "jnp.repeat(a,2)",
    "jnp.searchsorted(a,x)",
    "jax.vmap(lambda q:q*2)(a)",
    "jax.lax.scan(lambda c,q:(c+q,q),0.,a)",
    "jax.grad(lambda q:(q*a).sum())(x)",
    "jax.jit(lambda q:q*2)(a)",
    "jax.lax.dynamic_slice(x,(i[0],),(1,))",
    "jax.random.normal(jax.random.key(0),(3,))*a",
    "jnp.polyfit(x,a,1)",
    "jnp.asarray(a).astype(jnp.bfloat16)",
    "jnp.asarray(list(a),jnp.float32)",
    "jnp.asarray(h,jnp.float32)",
    "jax.lax.scan(lambda c,q:(c,q),a,None,length=2)",
    "jax.lax.scan(lambda c,q:(c,c*2),d,None,length=2)",
    "jax.lax.while_loop(lambda c:False,lambda c:c,a)",
    "jax.lax.fori_loop(0,2,lambda k,c:c,a)",
    "jax.lax.cond(True,lambda q:q,lambda q:q*1,a)",
    "jax.jit(lambda q:q)(a)",
    "jax.vmap(lambda q:q)(a)",
    "jax.lax.map(lambda q:q,a)",
    "jax.value_and_grad(lambda q:(q*a).sum())(x)",
    "jax.lax.switch(0,[lambda q:q],a)",
    "jax.lax.associative_scan(jnp.add,a)",
    "jax.jvp(lambda q:q,(a,),(a,))",
)


def given(turn: int) -> dict[str, Any]:
    return {
        "a": np.linspace(turn, turn + 2, 3).astype("float32"),
        "i": np.array([turn % 3, 1, 2]),
        "b": np.array([True, turn % 2 == 0, False]),
        "d": np.linspace(turn, turn + 1, 3),
        "s": np.float32(turn + 0.5),
        "h": np.ones(3, np.float16) * turn,
    }


def kinds(value: Any, names: dict[str, Any]) -> list[Any]:
    """Type, dtype, weak type and committedness of each leaf, and which name it is that was given."""
    return [
        (
            type(leaf).__name__,
            *(getattr(leaf, name, None) for name in ("dtype", "weak_type", "committed")),
            [name for name in given(0) if names[name] is leaf],
        )
        for leaf in jax.tree.leaves(value)
    ]


@pytest.mark.parametrize("expression", TAKEN)
def test_what_is_given_is_an_input(expression: str) -> None:
    cell = f"y = {expression}\nz = jnp.sin(jax.tree.leaves(y)[0] * 1.0)"
    staged: dict[str, Any] = {"jax": jax, "jnp": jnp, "np": np, "x": jnp.arange(3.0), "__name__": "__main__"}
    plain = dict(staged)
    runs: list[Any] = []
    for turn in range(4):
        for names in (staged, plain):
            names.update(given(turn))
        exec(cell, plain)
        runs.append(jaxnb.stage(cell, staged))
        jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, 1e-5, 1e-5), staged["y"], plain["y"])
        assert kinds(staged["y"], staged) == kinds(plain["y"], plain)
    assert not runs[0].on_host
    assert all(run.reused for run in runs[2:]), runs[-1].line


def test_a_step_of_a_library_over_batches_of_numpy_is_staged_once() -> None:
    pytest.importorskip("optax")
    nnx = pytest.importorskip("flax.nnx")
    draw = np.random.default_rng(0)
    batches = [(draw.normal(size=(4, 5)).astype(np.float32), draw.integers(0, 3, 4)) for _ in range(40)]
    names: dict[str, Any] = {"nnx": nnx, "jax": jax, "batches": batches, "__name__": "__main__"}
    exec(
        "import optax\nmodel = nnx.Linear(5, 3, rngs=nnx.Rngs(0))\n"
        "opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)\n"
        "def loss(m, x, y):\n    return optax.softmax_cross_entropy_with_integer_labels(m(x), y).mean()\n"
        "def step(x, y):\n    l, g = nnx.value_and_grad(loss)(model, x, y)\n    opt.update(model, g)\n    return l",
        names,
    )
    run = jaxnb.stage("for x, y in batches:\n    last = step(x, y)", names)
    assert "loop of 40 turns" in run.line and run.pieces == 1
