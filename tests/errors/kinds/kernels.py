"""Kernels of Pallas that cannot be traced."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
"""

CASES = (
    *written(
        "kernels",
        r"""
### block-of-another-rank raises=ValueError line=2
# https://docs.jax.dev/en/latest/pallas/grid_blockspec.html
x = jnp.ones((32, 128))
---
rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
part = pl.BlockSpec((8,), lambda i: (i, 0))
y = pl.pallas_call(scale, out_shape=x, grid=(4,), in_specs=[part], out_specs=rows, interpret=True)(x)
---
rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
part = pl.BlockSpec((8, 128), lambda i: (i, 0))
y = pl.pallas_call(scale, out_shape=x, grid=(4,), in_specs=[part], out_specs=rows, interpret=True)(x)
---
cause: block; 1 size; (32, 128); in_specs[0]
names: x
fix: (8, 128)

### index-map-of-too-few raises=ValueError line=3
# https://docs.jax.dev/en/latest/pallas/quickstart.html
x = jnp.ones((32, 128))
---
y = pl.pallas_call(
    scale, out_shape=x, grid=(4,), interpret=True, in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: i))(x)
---
y = pl.pallas_call(
    scale, out_shape=x, grid=(4,), interpret=True, in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)))(x)
---
cause: index map; 1 index; 2 dimensions; out_specs
names: o_ref
fix: (i, 0)

### index-map-of-a-smaller-grid raises=TypeError line=1
# https://docs.jax.dev/en/latest/pallas/quickstart.html
x = jnp.ones((32, 256))
---
tile = pl.BlockSpec((8, 128), lambda i: (i, 0))
y = pl.pallas_call(scale, out_shape=x, grid=(4, 2), in_specs=[tile], out_specs=tile, interpret=True)(x)
---
tile = pl.BlockSpec((8, 128), lambda i, j: (i, j))
y = pl.pallas_call(scale, out_shape=x, grid=(4, 2), in_specs=[tile], out_specs=tile, interpret=True)(x)
---
cause: index map; 1 argument; grid; 2 dimensions
names: x
fix: lambda i, j: (i, j)

### index-map-of-floats raises=ValueError line=1
# https://docs.jax.dev/en/latest/pallas/grid_blockspec.html
x = jnp.ones((32, 128))
---
half = pl.BlockSpec((8, 128), lambda i: (i / 2, 0))
rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
y = pl.pallas_call(scale, out_shape=x, grid=(4,), in_specs=[half], out_specs=rows, interpret=True)(x)
---
half = pl.BlockSpec((8, 128), lambda i: (i // 2, 0))
rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
y = pl.pallas_call(scale, out_shape=x, grid=(4,), in_specs=[half], out_specs=rows, interpret=True)(x)
---
cause: index map; float32; int32|whole
names: x
fix: i // 2

### kernel-writes-another-dtype raises=ValueError line=2
# https://docs.jax.dev/en/latest/pallas/quickstart.html
x = jnp.ones((8, 128), jnp.bfloat16)
---
def halve(x_ref, o_ref):
    o_ref[...] = x_ref[...].astype(jnp.float32) / 2

y = pl.pallas_call(halve, out_shape=x, interpret=True)(x)
---
def halve(x_ref, o_ref):
    o_ref[...] = (x_ref[...].astype(jnp.float32) / 2).astype(o_ref.dtype)

y = pl.pallas_call(halve, out_shape=x, interpret=True)(x)
---
cause: bfloat16; float32; ref
names: o_ref
fix: .astype(o_ref.dtype)

### kernel-writes-another-shape raises=ValueError line=2
# https://docs.jax.dev/en/latest/pallas/quickstart.html
x = jnp.ones((8, 128))
---
def total(x_ref, o_ref):
    o_ref[...] = x_ref[...].sum(0)

y = pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((1, 128), x.dtype), interpret=True)(x)
---
def total(x_ref, o_ref):
    o_ref[...] = x_ref[...].sum(0, keepdims=True)

y = pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((1, 128), x.dtype), interpret=True)(x)
---
cause: float32[1,128]; float32[128]
names: o_ref
fix: shape

### kernel-returns raises=ValueError line=2
# https://docs.jax.dev/en/latest/pallas/quickstart.html
x = jnp.ones((8, 128))
---
def double(x_ref, o_ref):
    return x_ref[...] * 2

y = pl.pallas_call(double, out_shape=x, interpret=True)(x)
---
def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2

y = pl.pallas_call(double, out_shape=x, interpret=True)(x)
---
cause: returns; None; refs|ref
names: double; o_ref
fix: o_ref[...] = x_ref[...] * 2

### call-without-out-shape raises=TypeError line=1
# https://docs.jax.dev/en/latest/pallas/quickstart.html
x = jnp.ones((8, 128))
---
y = pl.pallas_call(scale, interpret=True)(x)
---
y = pl.pallas_call(scale, interpret=True, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
---
cause: out_shape; shapes
names: pallas_call
fix: out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
""",
        PRELUDE,
    ),
)
