"""Cells in which a dtype does what nobody asked for, each with the same cell as it is meant; and cells where it does
not, or was asked to."""

from __future__ import annotations

from findings.quietly import Case

__all__ = ["CAST", "CLEAN", "SETUP"]

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
b, h, f = jnp.ones(8, jnp.bfloat16), jnp.ones(8, jnp.float16), jnp.ones(8)
w16, w32 = jnp.ones((8, 8), jnp.bfloat16), jnp.ones((8, 8))
i, i8, u8 = jnp.arange(8), jnp.arange(8, dtype=jnp.int8), jnp.arange(8, dtype=jnp.uint8)
u32 = jnp.arange(8, dtype=jnp.uint32)
scale = np.float32(2)
limit = 1000
def layer(v): return v @ w32
"""

_MEANT = "if that is meant"
_WIDER = "a wider dtype first"
_X64 = "jax_enable_x64"

CAST: dict[str, Case] = {
    # promotion
    "product": Case(
        "a = b + 1\ny = a * f", 2, "`a * f`: bfloat16 meets float32", "`a.astype(jnp.float32)`", "y = b * b"
    ),
    "the other side": Case(
        "y = f - b", 1, "bfloat16 meets float32", "`f.astype(jnp.bfloat16)`", "y = f - b.astype(f.dtype)"
    ),
    "float16": Case("y = h / f", 1, "float16 meets float32 and becomes float32", _MEANT, "y = h / f.astype(h.dtype)"),
    "two halves": Case("y = b + h", 1, "becomes float32", _MEANT, "y = b + h.astype(b.dtype)"),
    "NumPy scalar": Case("y = b * scale", 1, "bfloat16 meets float32", _MEANT, "y = b * 2.0"),
    "matrix product": Case(
        "y = b @ w32", 1, "`b @ w32`: bfloat16 meets float32", "`w32.astype(jnp.bfloat16)`", "y = b @ w16"
    ),
    "dot": Case("y = jnp.dot(w16, f)", 1, "bfloat16 meets float32", "`w16.astype(jnp.float32)`", "y = jnp.dot(w16, b)"),
    "where": Case("y = jnp.where(f > 0, b, f)", 1, "bfloat16 meets float32", _MEANT, "y = jnp.where(f > 0, b, 0.0)"),
    "concatenate": Case(
        "y = jnp.concatenate([b, f])", 1, "bfloat16 meets", "cast one of them", "y = jnp.concatenate([b, b])"
    ),
    "jnp function": Case("y = jnp.maximum(b, f)", 1, "bfloat16", "`b.astype(jnp.float32)`", "y = jnp.maximum(b, 0.5)"),
    "in place": Case("y = b\ny += f", 2, "bfloat16 meets float32", "`f.astype(jnp.bfloat16)`", "y = b\ny += b"),
    "in a jitted function": Case(
        "@jax.jit\ndef g(v):\n    return v * f\ny = g(b)",
        3,
        "`v * f`: bfloat16",
        "`v.astype(jnp.float32)`",
        "@jax.jit\ndef g(v):\n    return v * b\ny = g(b)",
    ),
    "in a scan": Case(
        "def step(c, v):\n    c = c + v\n    return c, c\ny = lax.scan(step, f[0], b)",
        2,
        "`c + v`: bfloat16 meets",
        "`v.astype(jnp.float32)`",
        "def step(c, v):\n    c = c + v\n    return c, c\ny = lax.scan(step, b[0], b)",
    ),
    "in a helper of another cell": Case(
        "y = b * 2\ny = layer(y)", 2, "`v @ w32`: bfloat16 meets", "`v.astype(jnp.float32)`", "y = b * 2\ny = y @ w16"
    ),
    "positions": Case(
        "pos = jnp.arange(8, dtype=jnp.float32)\ny = b + pos",
        2,
        "`b + pos`",
        "`pos.astype(jnp.bfloat16)`",
        "pos = jnp.arange(8, dtype=b.dtype)\ny = b + pos",
    ),
    "unsigned and signed": Case("y = u32 + i", 1, "uint32 meets int32", _MEANT, "y = u32 + i.astype(u32.dtype)"),
    "comparison": Case("y = b < f", 1, "`b < f`", "`f.astype(jnp.bfloat16)`", "y = b < 0.5"),
    # numbers that do not fit
    "sum that wraps": Case(
        "y = i8 + 300", 1, "300 does not fit into int8 and becomes 44", _WIDER, "y = i8.astype(i.dtype) + 300"
    ),
    "negative factor": Case(
        "y = i8 * -1000", 1, "-1,000 does not fit into int8 and becomes 24", _WIDER, "y = i8 * -10"
    ),
    "where in a small dtype": Case(
        "y = jnp.where(f > 0, i8, 300)", 1, "300 does not fit", _WIDER, "y = jnp.where(f > 0, i8, 100)"
    ),
    "mask in unsigned": Case(
        "y = jnp.where(f > 0, u8, -1)",
        1,
        "-1 does not fit into uint8 and becomes 255",
        _WIDER,
        "y = jnp.where(f > 0, u8.astype(i.dtype), -1)",
    ),
    "a number by its name": Case("y = i8 + limit", 1, "1,000 does not fit", _WIDER, "y = i8.astype(jnp.int16) + limit"),
    "an argument": Case(
        "g = jax.jit(lambda v, n: v * n)\ny = g(i8, 300)",
        1,
        "300 does not fit",
        _WIDER,
        "g = jax.jit(lambda v, n: v * n)\ny = g(i8, 3)",
    ),
    "full": Case(
        "y = f[0] + jnp.full(3, 300, jnp.int8)", 1, "300 does not fit", _WIDER, "y = f[0] + jnp.full(3, 44, jnp.int8)"
    ),
    "comparison that is never true": Case("y = u8 > 300", 1, "300 does not fit into uint8", _WIDER, "y = u8 > 200"),
    "mask in float16": Case(
        "y = jnp.where(f > 0, h, -1e9)",
        1,
        "does not fit into float16 and becomes -inf",
        _WIDER,
        "y = jnp.where(f > 0, h, -jnp.inf)",
    ),
    "large factor": Case(
        "y = h * 100000", 1, "100,000 does not fit into float16 and becomes inf", _WIDER, "y = h * 1000"
    ),
    # 64 bits
    "float64": Case(
        "y = f * 2\nz = jnp.zeros(3, dtype=jnp.float64) + y[0]",
        2,
        "`jnp.float64` asks for float64, and gets float32",
        _X64,
        "z = jnp.zeros(3) + f[0]",
    ),
    "cast": Case("y = f.astype(jnp.float64) * 2", 1, "gets float32", _X64, "y = f.astype(jnp.float32) * 2"),
    "by name": Case("y = (f * 2).astype('float64')", 1, "`'float64'` asks for", _X64, "y = (f * 2).astype('float32')"),
    "of NumPy": Case(
        "y = jnp.ones(3, np.int64) * i[0]",
        1,
        "`np.int64` asks for int64, and gets int32",
        _X64,
        "y = jnp.ones(3, np.int32) * i[0]",
    ),
    "scalar": Case("y = f * jnp.float64(0.5)", 1, "gets float32", _X64, "y = f * jnp.float32(0.5)"),
    "complex": Case(
        "y = f.astype(jnp.complex128)", 1, "complex128, and gets complex64", _X64, "y = f.astype(jnp.complex64)"
    ),
}

CLEAN: dict[str, str] = {
    "half of the unsigned numbers": "bright = (u8 > 128).sum()\nmiddle = u8 - 128\nrest = jnp.where(u8 == 9, u8, 156)",
    "the least number": "y = jnp.maximum(i8, -128)",
    "weak numbers": "y = b * 2.0 + 1 - b / 3\nz = i8 + 100\nw = u8 - 1",
    "a cast that was written": "y = b.astype(jnp.float32) * f",
    "a cast by asarray": "y = jnp.asarray(b, jnp.float32) * f",
    "mean and variance": "y = jnp.mean(b), jnp.var(b), b.sum(), jnp.linalg.norm(f)",
    "softmax of half": "y = jax.nn.softmax(b), jax.nn.gelu(h), jax.nn.log_softmax(b)",
    "half alone": "y = jnp.tanh(w16 @ b) * b",
    "accumulate in float32": "y = jnp.einsum('ij,j->i', w16, b, preferred_element_type=jnp.float32)",
    "integers and floats": "y = i * f + jnp.arange(8) * 0.1",
    "counts": "acc = (jnp.argmax(w32, 1) == i).mean()",
    "bool": "y = (f > 0) * f + (f > 0).sum()",
    "infinite on purpose": "y = jnp.where(f > 0, h, -jnp.inf)",
    "less one, unsigned": "y = u8 + (-1)",
    "shapes are no values": "y = jnp.zeros(300, jnp.int8) + i8[0]",
    "a question about 64 bits": "wide = f.dtype == jnp.float64\ny = f * jnp.finfo(jnp.float32).eps",
    "NumPy in 64 bits": "t = np.zeros(3, np.float64)\ny = f[0] * 2",
    "float32 and Python": "y = f * 1e30 + 2**20",
    "in a string": "label = 'float64'\ny = f * 2",
    "gradient": "g = jax.grad(lambda v: (v * b.astype(v.dtype)).sum())(f)",
}
