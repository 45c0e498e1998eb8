"""Programs that leak nothing, of which nothing is to be said: a corpus of what users write, as data.

What holds a tracer only while a function is traced, what JAX's own caches keep, what holds shapes, arrays or text, and
what a kept error has given up. Each runs on its own in the names of `leaking.SETUP`.
"""

from __future__ import annotations

__all__ = ["CLEAN"]

CLEAN = {
    # transformations, alone and nested
    "jit": "y = jax.jit(lambda a: a * 2)(x)",
    "grad": "g = jax.grad(lambda a: (a**2).sum())(x)",
    "value_and_grad with has_aux": """
def loss(a):
    hidden = a * 2
    return (hidden**2).sum(), {"hidden": hidden}
(value, aux), g = jax.value_and_grad(loss, has_aux=True)(x)
kept.append(aux["hidden"])
""",
    "vjp": "y, back = jax.vjp(jnp.sin, x)\ng = back(y)",
    "vjp that is kept": "y, back = jax.vjp(lambda a: jnp.sin(a) * 2, x)\nkept.append(back)",
    "linearize": "y, along = jax.linearize(jnp.sin, x)\nz = along(x)",
    "linear_transpose": "f = jax.linear_transpose(lambda a: a * 2, x)\ny = f(x)",
    "jvp": "y, t = jax.jvp(jnp.sin, (x,), (x,))",
    "jvp inside jit": "y, t = jax.jit(lambda a: jax.jvp(jnp.sin, (a,), (a,)))(x)",
    "vmap": "y = jax.vmap(lambda a: a / a.sum())(w)",
    "vmap of grad in jit": "y = jax.jit(jax.vmap(jax.grad(jnp.sin)))(x)",
    "jacobians": "f = lambda a: a**2\ny = jax.jacfwd(f)(x), jax.jacrev(f)(x), jax.hessian(lambda a: (a**3).sum())(x)",
    "scan": "y = lax.scan(lambda c, a: (c + a, a), 0.0, x)",
    "scan in grad": "g = jax.grad(lambda a: lax.scan(lambda c, v: (c * v, c), 1.0, a)[0])(x)",
    "fori_loop": "y = lax.fori_loop(0, 3, lambda i, a: a + i, x)",
    "while_loop": "y = lax.while_loop(lambda a: a[0] < 3, lambda a: a + 1, x)",
    "cond and switch": "y = lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), lax.switch(1, [jnp.sin, jnp.cos], x)",
    "lax.map": "y = lax.map(lambda a: a * 2, x)",
    "associative_scan": "y = lax.associative_scan(jnp.add, x)",
    "checkpoint": "g = jax.grad(jax.checkpoint(lambda a: jnp.sin(a).sum()))(x)",
    "checkpoint with a policy": """
policy = jax.checkpoint_policies.dots_saveable
f = jax.checkpoint(lambda a: jnp.sin(w @ a).sum(), policy=policy)
g = jax.jit(jax.grad(f))(x)
""",
    "saved names": """
from jax.ad_checkpoint import checkpoint_name
f = lambda a: checkpoint_name(jnp.sin(a), "s").sum()
g = jax.grad(jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names("s")))(x)
""",
    "custom_jvp": """
@jax.custom_jvp
def f(a):
    return a * 2
@f.defjvp
def rule(primals, tangents):
    return f(*primals), tangents[0] * 2
y = jax.jvp(jax.jit(f), (x,), (x,)), jax.grad(lambda a: f(a).sum())(x)
""",
    "custom_vjp": """
f = jax.custom_vjp(lambda a: a * 2)
f.defvjp(lambda a: (a * 2, a), lambda a, g: (g * a,))
g = jax.jit(jax.grad(lambda a: f(a).sum()))(x)
""",
    "custom_vjp with static arguments": """
f = jax.custom_vjp(lambda n, a: a * n, nondiff_argnums=(0,))
f.defvjp(lambda n, a: (a * n, None), lambda n, _, g: (g * n,))
g = jax.grad(lambda a: f(3, a).sum())(x)
""",
    "shard_map": """
mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
f = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))
y = f(x), jax.jit(f)(x)
""",
    "stop_gradient": "g = jax.grad(lambda a: (a * lax.stop_gradient(a)).sum())(x)",
    "a custom root": """
root = lambda a: lax.custom_root(
    lambda v: v**2 - a, a, lambda f, g: lax.fori_loop(0, 5, lambda i, v: v - f(v) / 2, g), lambda g, y: y / g(1.0)
)
y = jax.grad(root)(2.0)
""",
    # ahead of time, abstract
    "make_jaxpr": "j = jax.make_jaxpr(lambda a: a * 2)(x)\nkept.append(j)",
    "a traced stage": "kept.append(jax.jit(lambda a: a * 2).trace(x))",
    "a lowered stage": "kept.append(jax.jit(lambda a: a * 2).lower(x))",
    "a compiled stage": "kept.append(jax.jit(lambda a: a * 2).lower(x).compile())",
    "eval_shape": "kept.append(jax.eval_shape(lambda a: {'w': a @ w}, x))",
    "shapes and dtypes": """
@jax.jit
def step(a):
    kept.append((a.shape, a.dtype, a.aval))
    return a
step(x)
""",
    "the type of a value": """
@jax.jit
def step(a):
    kept.append(jax.typeof(a * 2))
    table["like"] = jax.ShapeDtypeStruct(a.shape, a.dtype)
    return a
step(x)
""",
    "the text of a tracer": """
@jax.jit
def step(a):
    kept.append(f"{a} {a * 2!r}")
    return a
step(x)
""",
    "export": "from jax import export\nkept.append(export.export(jax.jit(lambda a: a * 2))(x))",
    # what JAX's own caches hold
    "closure_convert": "f, consts = jax.closure_convert(lambda a: a * x, x)",
    "closure_convert in grad": """
def loss(scale):
    f, consts = jax.closure_convert(lambda a: (a * scale).sum(), x)
    return f(x, *consts)
g = jax.grad(loss)(2.0)
""",
    "odeint": """
from jax.experimental.ode import odeint
y = jax.jit(lambda a: odeint(lambda s, t: -s * a[0], a, jnp.linspace(0, 1, 3)))(x)
""",
    "odeint in grad": """
from jax.experimental.ode import odeint
g = jax.grad(lambda k: odeint(lambda s, t, k: -k * s, x, jnp.linspace(0, 1, 3), k)[-1].sum())(1.0)
""",
    "library functions with caches": """
y = jax.jit(lambda a: jax.nn.softmax(jax.nn.gelu(a)) + jnp.linalg.norm(a) + jax.scipy.special.logsumexp(a))(x)
s = jax.jit(lambda a: jnp.sort(a)[::-1] + jnp.cumsum(a) + jnp.interp(a, a, a))(x)
""",
    "random numbers": """
key = jax.random.key(0)
y = jax.jit(lambda k: jax.random.permutation(k, 5) + jax.random.normal(k, (5,)))(key)
""",
    "jnp.vectorize": "y = jnp.vectorize(lambda a, b: a @ b, signature='(n),(n)->()')(w, x)",
    "cg and other solvers": """
from jax.scipy.sparse.linalg import cg
y = jax.jit(lambda a: cg(lambda v: w @ v * 2, a)[0])(x)
""",
    # callbacks and effects
    "jax.debug.callback": """
jax.jit(lambda a: jax.debug.callback(kept.append, a.sum()))(x)
jax.effects_barrier()
""",
    "jax.debug.print": "jax.jit(lambda a: jax.debug.print('{}', a.sum()))(x)\njax.effects_barrier()",
    "pure_callback": "y = jax.jit(lambda a: jax.pure_callback(np.sin, a, a))(x)",
    "pure_callback under vmap": """
y = jax.vmap(lambda a: jax.pure_callback(np.sin, a, a, vmap_method="sequential"))(w)
""",
    "io_callback that keeps values": """
from jax.experimental import io_callback
def log(v):
    kept.append(np.asarray(v))
jax.jit(lambda a: io_callback(log, None, a.sum(), ordered=True))(x)
jax.effects_barrier()
""",
    "mutable references": """
ref = jax.new_ref(jnp.zeros(3))
@jax.jit
def step(a):
    ref[...] += a
    return a
step(x)
kept.append(ref[...])
""",
    # errors
    "an error that is dropped": """
try:
    jax.jit(lambda a: 1 / 0)(x)
except ZeroDivisionError:
    pass
""",
    "a concretization error that is dropped": """
try:
    jax.jit(lambda a: 1 if a.sum() > 0 else 2)(x)
except jax.errors.TracerBoolConversionError:
    pass
""",
    "an error kept without its traceback": """
try:
    jax.jit(lambda a: 1 / 0)(x)
except ZeroDivisionError as error:
    kept.append(error.with_traceback(None))
    kept[0].__context__ = kept[0].__cause__ = None
""",
    "the text of an error": """
import traceback
try:
    jax.jit(lambda a: jnp.ones(2) + a)(x)
except TypeError as error:
    kept.append((str(error), traceback.format_exc()))
""",
    "a traceback whose frames were cleared": """
import traceback
def step(a):
    b = a * 2
    raise ValueError("no")
try:
    jax.jit(step)(x)
except ValueError as error:
    walk, frames = error.__traceback__, []
    while walk is not None:
        frames.append(walk.tb_frame)
        walk = walk.tb_next
    kept.append(error.with_traceback(None))
    kept[0].__context__ = kept[0].__cause__ = None
    del walk, frames
""",
    "an error outside of any trace": """
def check(a):
    b = a * 2
    raise ValueError("no")
try:
    check(jax.jit(lambda a: a)(x))
except ValueError as error:
    kept.append(error)
""",
    "an error that only sys.last_value keeps": """
import sys
try:
    jax.jit(lambda a: 1 / 0)(x)
except ZeroDivisionError as error:
    sys.last_value, sys.last_traceback = error, error.__traceback__
""",
    # holders that have let go
    "a list that was emptied": """
@jax.jit
def step(a):
    kept.append(a * 2)
    kept.pop()
    return a
step(x)
""",
    "an attribute that was set back": """
@jax.jit
def step(a):
    box.v = a * 2
    out = box.v + 1
    del box.v
    return out
step(x)
""",
    "an object of the function": """
class Node:
    def __init__(self, v): self.v, self.me = v, self
@jax.jit
def step(a):
    node = Node(a * 2)
    return node.v
step(x)
""",
    "a cycle": """
@jax.jit
def step(a):
    loop = [a * 2]
    loop.append(loop)
    return a
step(x)
""",
    "weak references": """
@jax.jit
def step(a):
    b = a * 2
    kept.append(weakref.ref(b))
    table["w"] = weakref.WeakValueDictionary({"b": b})
    return a
step(x)
""",
    "a generator that has ended": """
def batches(a):
    yield a * 2
it = None
@jax.jit
def step(a):
    global it
    it = batches(a)
    return sum(it)
step(x)
""",
    "a generator that has gone on": """
def batches(a):
    b = a * 2
    yield b
    a = b = None
    yield 1
@jax.jit
def step(a):
    it = batches(a)
    kept.append(it)
    total = next(it) + next(it)
    return total
step(x)
""",
    "a context variable that was reset": """
current = contextvars.ContextVar("current")
@jax.jit
def step(a):
    token = current.set(a * 2)
    out = current.get()
    current.reset(token)
    del token
    return out
step(x)
""",
    "a thread that has ended": """
@jax.jit
def step(a):
    b = a * 2
    thread = threading.Thread(target=lambda: id(b))
    thread.start()
    thread.join()
    kept.append(thread)
    return b
step(x)
""",
    "a thread that traces meanwhile": """
traced, go_on = threading.Event(), threading.Event()
def slow(a):
    b = a * 2
    traced.set()
    go_on.wait(5)
    return b
thread = threading.Thread(target=lambda: table.update(y=jax.jit(slow)(x)))
thread.start()
traced.wait(5)
""",
    "an object that updates itself by values": """
class Trainer:
    def __init__(self): self.w, self.history = w, []
    def step(self, a):
        self.w, loss = update(self.w, a)
        self.history.append(loss)
@jax.jit
def update(w, a):
    return w - 0.1, (w @ a).sum()
trainer = Trainer()
for _ in range(3):
    trainer.step(x)
""",
    "a counter of traces": """
count = 0
@jax.jit
def step(a):
    global count
    count += 1
    kept.append(len(a))
    return a
step(x)
""",
    "a cache of NumPy values": """
@functools.lru_cache
def angles(n):
    return np.arange(n) * 2.0
y = jax.jit(lambda a: a * angles(3))(x)
""",
    "a cache under ensure_compile_time_eval": """
@functools.lru_cache
def angles(n):
    with jax.ensure_compile_time_eval():
        return jnp.arange(n) * 2.0
y = jax.jit(lambda a: a * angles(3))(x)
""",
    # how JAX is run
    "disable_jit": """
with jax.disable_jit():
    y = jax.jit(lambda a: kept.append(a * 2) or a)(x)
""",
    "ensure_compile_time_eval": """
@jax.jit
def step(a):
    with jax.ensure_compile_time_eval():
        kept.append(jnp.arange(3) * 2)
    return a
step(x)
""",
    "donated arguments": "f = jax.jit(lambda a: a + 1, donate_argnums=0)\ny = f(jnp.ones(3))",
    "static arguments": "f = jax.jit(lambda n, a: a * n, static_argnums=0)\ny = f(3, x)\nkept.append(f)",
    "asynchronous dispatch": "kept.extend(jax.jit(lambda a: (a @ w, a))(x))\njax.block_until_ready(kept)",
    "device_put inside jit": "y = jax.jit(lambda a: jax.device_put(a, jax.devices()[0]) * 2)(x)",
    "NumPy functions": "y = jnp.where(x > 0, x, 0) + np.asarray(x)\nz = [float(v) for v in x]",
    "a plain loop without jit": "history = []\nfor i in range(3):\n    history.append((x * i).sum())",
    "named scopes": "with jax.named_scope('s'):\n    y = jax.jit(jax.named_call(lambda a: a * 2, name='n'))(x)",
    "a pytree class": """
@jax.tree_util.register_dataclass
@__import__("dataclasses").dataclass
class State:
    w: object
    n: int = __import__("dataclasses").field(metadata={"static": True}, default=1)
state = jax.jit(lambda s: State(s.w * s.n))(State(w))
kept.append(state)
""",
    "tree_util.Partial": "f = jax.jit(lambda a: jax.tree_util.Partial(jnp.add, a))(x)\nkept.append(f)\ny = f(x)",
    "a decorator": """
def counted(f):
    @functools.wraps(f)
    def wrapper(*args):
        wrapper.calls += 1
        return f(*args)
    wrapper.calls = 0
    return wrapper
y = jax.jit(counted(lambda a: a * 2))(x)
""",
}
