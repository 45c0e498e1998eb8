"""What people get wrong, in three forms each: kept in a name, printed, and not caught at all."""

from ..cell import PersonCell

SETUP = """
import math, operator
from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([3.0, -1.0, 2.0, 0.5]); n = jnp.array([4, 1, 3]); s = jnp.float32(2.5); k = jnp.int32(2); d = {"a": x}; l = [1, 2]
"""

WRONG = {
    "add-text": 'v + "a"',
    "text-add": '"a" + str(v.shape) + v',
    "item-by-text": 'v["a"]',
    "no-such-attribute": "v.foo",
    "set-attribute": "setattr(v, 'tag', 1)",
    "len-of-scalar": "len(q)",
    "iterate-scalar": "[t for t in q]",
    "call-array": "v(1)",
    "format-of-array": 'f"{v:.2f}"',
    "percent-of-array": '"%d" % v',
    "less-than-text": 'v < "a"',
    "float-of-array": "float(v)",
    "int-of-nan": "int(q * float('nan'))",
    "truth": "1 if v > 0 else 2",
    "float-index": "v[1.5]",
    "too-many-indices": "v[0, 0]",
    "unpack-two": "(lambda a, b: a)(*v)",
    "reshape": "v.reshape(3)",
    "hash": "hash(v)",
    "range-of-float": "list(range(q))",
    "list-index-float": "l[q]",
    "list-index-far": "l[w + 5]",
    "negative-shape": "jnp.ones(-1) * v",
    "text-shape": 'jnp.zeros((2, "a")) + q',
    "ragged": "jnp.array([v, n])",
    "stack-ragged": "jnp.stack([v, n])",
    "concat-dims": "jnp.concatenate([v, q])",
    "matmul": "v @ n",
    "broadcast": "v + n",
    "lax-dtypes": "lax.add(v, n)",
    "lax-dtypes-same-shape": "lax.mul(v[:3], n)",
    "scan-carry": "lax.scan(lambda c, t: (c + 1.5, t), 0, v)",
    "cond-branches": "lax.cond(q > 1, lambda: v, lambda: v[:2])",
    "while-type": "lax.while_loop(lambda c: c < 3, lambda c: c + 0.5, w)",
    "vmap-sizes": "jax.vmap(jnp.add)(v, n)",
    "grad-of-vector": "jax.grad(lambda t: t * 2)(v)",
    "grad-of-int": "jax.grad(lambda t: t * 2)(w)",
    "jit-if": "jax.jit(lambda t: 1 if t > 0 else 2)(q)",
    "jit-mask": "jax.jit(lambda t: t[t > 0])(v)",
    "jit-shape": "jax.jit(lambda m: jnp.ones(m))(w)",
    "jit-static-list": "jax.jit(lambda t, m: t, static_argnums=1)(v, [1])",
    "jit-numpy": "jax.jit(lambda t: np.sin(t))(v)",
    "jit-range": "jax.jit(lambda m: sum(range(m)))(w)",
    "key-missing": 'd["b"] + v',
    "name-missing": "undefined_name + v",
    "zero-division": "v / 0 + 1 / (len(v) - 4)",
    "overflow": "w + 2**40",
    "numpy-overflow": "jnp.array(2**70) + v",
    "math-domain": "math.log(v[1])",
    "math-of-array": "math.sin(v)",
    "assert-shape": "[None for _ in [0] if (_ for _ in ()).throw(AssertionError(f'{v.shape} {q}'))]",
    "own-error-with-value": "(_ for _ in ()).throw(ValueError(f'bad {v.sum():.1f}'))",
    "missing-argument": "jnp.where(v > 0, 1)",
    "wrong-keyword": "jnp.sum(v, axes=0)",
    "axis-out-of-bounds": "v.sum(axis=3)",
    "einsum-letters": 'jnp.einsum("ij,j->i", v, v)',
    "at-shape": "v.at[:2].set(n)",
    "split-uneven": "jnp.split(v, 3)",
    "key-wrong": "jax.random.normal(w, (2,))",
    "astype-text": 'v.astype("flot32")',
    "tree-mismatch": 'jax.tree.map(jnp.add, {"a": v}, {"b": v})',
    "tree-mismatch-length": "jax.tree.map(jnp.add, [v, q], [v])",
    "device-put-nonsense": 'jax.device_put(v, "gpu0")',
    "deleted": "(t := v + 1).delete() or t * 2",
    "assign-item": "v.__setitem__(0, 1)",
    "in-place": "operator.setitem(v, slice(0, 2), 0)",
    "item-of-many": "v.item()",
    "custom-vjp-without-rule": "jax.grad(jax.custom_vjp(lambda t: t * 2))(q)",
    "argmax-of-empty": "v[:0].argmax()",
    "max-of-empty": "v[:0].max()",
    "numpy-into": "np.zeros(2).__iadd__(v)",
    "numpy-set": "np.zeros(2).__setitem__(slice(None), v)",
    "json": "__import__('json').dumps({'v': v})",
    "format-int-of-float": 'f"{q:d}"',
    "join": '", ".join(v)',
    "bytes-of-float": "bytes(v)",
    "slice-of-floats": "l[q:]",
    "pow-negative": "n ** -1",
    "shift-float": "v << 1",
    "invert-float": "~v",
    "complex-less": "(v + 1j) < q",
    "round-digits": "round(v, 'a')",
    "dot-method": "v.dot(n)",
    "norm-ord": "jnp.linalg.norm(v, ord='bad')",
    "cholesky-vector": "jnp.linalg.cholesky(v)",
    "inv-not-square": "jnp.linalg.inv(v.reshape(1, 4))",
    "isinstance-wrong": "isinstance(v, 'x')",
}

FORMS = {
    "kept": "v, q, w = x * 2, s + 1, k + 0\ntry:\n    r = {}\nexcept Exception as e:\n    r = type(e).__name__, str(e)\nz = v.sum()\n",
    "printed": "v, q, w = x * 2, s + 1, k + 0\ntry:\n    r = {}\nexcept Exception as e:\n    print(type(e).__name__, '|', e, '|', v[0])\nelse:\n    print('fine')\nz = v.sum()\n",
    "raised": "v, q, w = x * 2, s + 1, k + 0\nz = v.sum(); d['z'] = z\nr = {}\n",
}

CELLS = tuple(
    PersonCell(f"xa-e-{form}-{name}", SETUP, text.replace("{}", wrong), ("x = x + 1",))
    for form, text in FORMS.items()
    for name, wrong in WRONG.items()
)
