"""Which operations make a new array and which hand on the one that they were given (rule 5): as without a trace."""

from .case import Case

SETUP = """\
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.flatten_util import ravel_pytree
s = jnp.array(2.0)
i = jnp.array([1, 2, 3])
u = jnp.array([1, 2], jnp.uint32)
b = jnp.array([True, False, True])
n = np.arange(3.0, dtype=np.float32)
raw = jax.random.PRNGKey(0)
committed = jax.device_put(x, jax.devices()[0])

@jax.custom_jvp
def with_jvp(a):
    return a

with_jvp.defjvp(lambda primals, tangents: (primals[0], tangents[0]))

@jax.custom_vjp
def with_vjp(a):
    return a

with_vjp.defvjp(lambda a: (a, None), lambda residual, cotangent: (cotangent,))
"""

GROUPS = {
    "operators": "+x; +i; +b; abs(u); abs(b); x[:]; x[...]; x[0:3]; s[()]; x.T; x**1; x.real; i.real; ~~b",
    "methods": "x.copy(); x.ravel(); x.flatten(); x.squeeze(); x.astype(x.dtype); x.reshape(-1); x.view(); x.conj()",
    "more methods": "w.swapaxes(0, 0); w.reshape(w.shape); x.at[:].get(); x.sum(()); x.clip(); i.astype(int); s.sum()",
    "shapes": "jnp.ravel(x); jnp.squeeze(s); jnp.reshape(x, x.shape); jnp.broadcast_to(x, (3,)); jnp.atleast_1d(x)",
    "more shapes": "jnp.transpose(w, (0, 1)); jnp.moveaxis(w, 0, 0); jnp.expand_dims(x, ()); jnp.meshgrid(x)[0]",
    "conversions": "jnp.asarray(x); jnp.array(x); jnp.array(x, copy=False); jnp.float32(x); jnp.bool_(b); jnp.copy(x)",
    "of numpy": "jnp.asarray(n); jnp.array(n, copy=False); jnp.ravel(n); jax.device_put(n)",
    "one of many": "jnp.concatenate([x]); jnp.stack([x])[0]; jnp.broadcast_arrays(x, x); jnp.split(x, 1)[0]",
    "numbers": "jnp.positive(x); jnp.conj(x); jnp.real(i); jnp.floor(i); jnp.abs(u); jnp.einsum('i->i', x)",
    "lax": "lax.reshape(x, (3,)); lax.expand_dims(x, ()); lax.squeeze(x, ()); lax.broadcast_in_dim(x, (3,), (0,))",
    "more lax": "lax.convert_element_type(x, jnp.float32); lax.slice(x, (0,), (3,)); lax.transpose(x, (0,))",
    "derivatives": "lax.stop_gradient(x); jax.tree.map(lax.stop_gradient, [x, w]); with_jvp(x); with_vjp(x)",
    "inner ones": "with_jvp(with_vjp(x)); checkpoint_name(x, 'n'); jax.jvp(jnp.ravel, (x,), (x,))",
    "functions": "jax.jit(lambda a: a)(x); jax.vmap(lambda a: a)(x); jax.vmap(jnp.ravel)(w)",
    "checkpoints": "jax.checkpoint(lambda a: a)(x); jax.checkpoint(lambda a: (lax.stop_gradient(a), a + 1))(x)",
    "control flow": "lax.cond(True, lambda a: a, lambda a: a, x); lax.fori_loop(0, 3, lambda i, a: a, x)",
    "trees": "jax.tree.map(jnp.ravel, [x, w]); jax.tree.map(jnp.asarray, [x, n]); ravel_pytree(x)[0]",
    "placing": "jax.device_put(x); jax.device_put(committed); jax.device_put(x, may_alias=False)",
    "keys": "jax.random.key_data(raw); jax.random.clone(raw)",
}


def _cell(texts: str) -> str:
    lines = [f"r{number} = {text}" for number, text in enumerate(texts.split("; "))]
    return "\n".join([*lines, "total = x * 2"])


CASES = [
    *(Case(f"made-by-{name}", setup=SETUP, cell=_cell(texts), rule=5, reused2=None) for name, texts in GROUPS.items()),
    *(
        Case(f"results-made-by-{name}", setup=SETUP, cell=f"x = x * 2\nw = w + 1\n{_cell(texts)}", rule=5)
        for name, texts in GROUPS.items()
        if name not in ("of numpy", "keys", "placing")
    ),
    Case(
        "new-by-is",
        cell="""\
y = jnp.ravel(x)
found = [y is x, jnp.asarray(x) is x, +x is x, jnp.ravel(y) is y, x.reshape(3) is x]
z = y if y is not x else x * 0""",
        rule=5,
    ),
    Case(
        "handed-on-by-is",
        setup=SETUP,
        cell="""\
found = [v is x for v in (lax.stop_gradient(x), checkpoint_name(x, 'n'), jnp.broadcast_to(x, (3,)), jax.device_put(x))]
found += [with_jvp(x) is x, with_vjp(with_jvp(x)) is x, jax.checkpoint(lambda a: a)(x) is x, lax.stop_gradient(+x) is x]
y = lax.stop_gradient(x)
g = jax.grad(lambda v: (v * lax.stop_gradient(v) + with_vjp(v)).sum())(x)
m = jax.vmap(lambda v: lax.stop_gradient(v) is v and v * 2)(x)
z = y * 2""",
        rule=5,
    ),
    Case(
        "handed-on-of-numbers-by-is",
        setup=SETUP + "f = 2.0\n",
        cell="found = [lax.stop_gradient(v) is v for v in (n, s, i)]\nz = lax.stop_gradient(n) + s * f",
        rule=5,
        reused2=None,
    ),
    Case(
        "computed-while-tracing",
        cell="""\
with jax.ensure_compile_time_eval():
    c = jnp.arange(3.0)
    k = jax.random.key(0)
    d = [c, {'k': k}, jax.device_put(c + 1, jax.devices()[0])]
y = x * c""",
        probes=("d[0] is c and d[1]['k'] is k", "d[2].committed"),
        rule=5,
    ),
    Case("new-as-default", cell="y = jnp.ravel(x)\nz = [y, y, jnp.ravel(y)]\nx = x.squeeze()", rule=5, reused2=None),
    Case("new-of-donated", setup="z = x * 3", cell="x = +x\ny = jnp.ravel(x)", rule=5, reused2=None),
    Case(
        "new-in-containers",
        setup="p = {'a': x, 'b': [w]}",
        cell="q = jax.tree.map(jnp.ravel, p)\nv = jax.tree.map(lambda a: a, p)\np['c'] = p['a'].ravel()",
        again="del p['c']",
        rule=5,
    ),
    Case(
        "new-from-numbers",
        setup="f = 2.0\nm = 3",
        cell="y = +f\nz = jnp.asarray(f)\nv = jnp.ravel(f) + x\nk = +m\nt = jnp.asarray(m) * x",
        rule=5,
        reused2=None,
    ),
]
