"""Cells that say where values lie: every result has the sharding, the devices and the committedness of the plain cell.

The comparison looks at all of these for every array that there is. The tests have eight devices.
"""

from __future__ import annotations

from dataclasses import replace

from .case import Case

__all__ = ["CASES"]

_SETUP = """\
from functools import partial
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
devices = jax.devices()
mesh = jax.make_mesh((8,), ('x',), axis_types=(AxisType.Auto,))
grid = jax.make_mesh((4, 2), ('a', 'b'), axis_types=(AxisType.Auto,) * 2)
four = jax.make_mesh((4,), ('x',), axis_types=(AxisType.Auto,), devices=devices[4:])
single = jax.make_mesh((1,), ('x',), axis_types=(AxisType.Auto,))
typed = jax.make_mesh((8,), ('x',), axis_types=(AxisType.Explicit,))
rows, whole, halves = NamedSharding(mesh, P('x')), NamedSharding(mesh, P()), NamedSharding(grid, P('a', 'b'))
quarters, alone, typed_rows = NamedSharding(four, P('x')), NamedSharding(single, P('x')), NamedSharding(typed, P('x'))
m = jnp.arange(32.0).reshape(8, 4)
k = jax.random.key(3)
s_rows, s_whole, s_grid = jax.device_put(m, rows), jax.device_put(m, whole), jax.device_put(m, halves)
s_four, s_alone, s_typed = jax.device_put(m, quarters), jax.device_put(m, alone), jax.device_put(m, typed_rows)
on3, on5 = jax.device_put(m, devices[3]), jax.device_put(m, devices[5])
on0 = jax.device_put(m, devices[0])
with jax.default_device(devices[2]):
    at2 = m * 1
n = np.arange(8.0, dtype=np.float32)
params = {'w': jnp.ones((4, 8)) * 0.1, 'b': jnp.zeros(8), 'head': [jnp.ones((8, 1)), jnp.zeros(1)]}
def forward(p, a):
    h = jax.nn.relu(a @ p['w'] + p['b'])
    return h @ p['head'][0] + p['head'][1]
def loss_of(p, a, t):
    return jnp.mean((forward(p, a) - t) ** 2)
"""

_TARGETS = {
    "rows": "rows",
    "whole": "whole",
    "grid": "halves",
    "four": "quarters",
    "one-device-mesh": "alone",
    "typed-rows": "typed_rows",
    "device": "devices[3]",
    "single-device-sharding": "SingleDeviceSharding(devices[5])",
    "default-device": "devices[0]",
}

_INPUTS = ("s_rows", "s_whole", "s_grid", "s_four", "s_alone", "s_typed", "on3", "on0", "at2")

_CELLS = [
    *(Case(f"put-of-a-result-{name}", cell=f"y = jax.device_put(m * 2, {to})") for name, to in _TARGETS.items()),
    *(Case(f"put-of-an-input-{name}", cell=f"y = jax.device_put(m, {to})") for name, to in _TARGETS.items()),
    *(
        Case(f"put-and-computed-with-{name}", cell=f"y = jax.device_put(m * 2, {to})\nz = jnp.sin(y) + 1\nq = z.sum()")
        for name, to in _TARGETS.items()
    ),
    *(
        Case(f"put-within-an-expression-{name}", cell=f"z = (jax.device_put(m, {to}) * 2).sum(0)")
        for name, to in _TARGETS.items()
    ),
    *(
        Case(f"tree-that-is-put-{name}", cell=f"p = jax.tree.map(lambda a: jax.device_put(a * 2, {to}), [m, m + 1])")
        for name, to in _TARGETS.items()
    ),
    *(
        Case(
            f"computed-from-{name}",
            cell=f"a = {name} * 2\nb = {name}.sum()\nc = {name} @ jnp.ones(4)\ne = m + 1\nf = {name} + m\n"
            f"d = jnp.exp({name})[{':, ' if name == 's_typed' else ''}0]",
        )
        for name in _INPUTS
    ),
    *(
        Case(
            f"made-like-{name}",
            cell=f"a, b = jnp.zeros_like({name}), jnp.ones_like({name})\nc = jnp.ones_like({name}) * 3",
        )
        for name in _INPUTS
    ),
    *(
        Case(
            f"made-like-what-is-made-here-{name}",
            cell=f"a = jnp.zeros_like({name} * 2)\nb = jnp.full_like(jnp.sin({name}), 3.0) + 1\n"
            f"mu = jax.tree.map(jnp.zeros_like, [{name} + 1, m])",
        )
        for name in _INPUTS
    ),
    *(
        Case(f"made-like-what-is-put-{name}", cell=f"a = jnp.zeros_like(jax.device_put(m * 2, {to}))\nb = m + 1")
        for name, to in _TARGETS.items()
    ),
    *(
        Case(f"handed-on-{name}", cell=f"a = {name}\nb = jnp.asarray({name})\nc = jax.device_put({name})\nd = m * 2")
        for name in _INPUTS
    ),
    Case("made-on-a-device", cell="a = jnp.zeros(8, device=devices[2])\nb = jnp.ones((8, 2), device=rows)"),
    Case("made-on-devices-and-used", cell="a = jnp.zeros((8, 4), device=rows)\nb = a + m\nc = b.sum()"),
    Case("range-on-devices", cell="a = jnp.arange(8, device=rows)\nb = jnp.linspace(0, 1, 8, device=devices[1])"),
    Case("full-on-devices", cell="a = jnp.full((8,), 3.0, device=whole)\nb = jnp.empty(8, device=rows) * 0"),
    Case("as-array-on-a-device", cell="a = jnp.asarray(m * 2, device=devices[4])\nb = jnp.array(m, device=rows)"),
    Case("as-array-from-numpy-on-devices", cell="a = jnp.asarray(n, device=rows)\nb = m * 2"),
    Case("put-of-numpy", cell="a = jax.device_put(n, rows)\nb = jax.device_put(n)\nc = m * 2", loose_identity=("n",)),
    Case("put-of-a-number", cell="a = jax.device_put(1.5, devices[1])\nb = m * 2\nc = jax.device_put(2)"),
    Case("put-with-no-device", cell="a = jax.device_put(m * 2)\nb = jax.device_put(a)\nc = a + 1"),
    Case("put-where-it-is", cell="a = jax.device_put(s_rows, rows)\nb = jax.device_put(s_rows * 2, rows)"),
    Case("put-twice", cell="a = jax.device_put(jax.device_put(m * 2, rows), devices[6])"),
    Case(
        "put-there-and-back", cell="a = jax.device_put(m + 1, devices[6])\nb = jax.device_put(a, devices[0])\nc = b * 2"
    ),
    Case("two-puts-of-one-value", cell="y = m * 2\na = jax.device_put(y, devices[1])\nb = jax.device_put(y, rows)"),
    Case("put-of-keys", cell="a = jax.device_put(jax.random.split(k, 8), rows)\nb, c = jax.random.split(k)"),
    Case("keys-beside-shards", cell="k, sub = jax.random.split(k)\ny = s_rows * jax.random.normal(sub, s_rows.shape)"),
    Case("counter-beside-shards", setup="step = jnp.int32(0)", cell="step = step + 1\ny = s_rows * step"),
    Case("large-beside-shards", cell="big = jnp.ones((600, 600)) * m[0, 0]\ny = s_rows * 2\nz = big.sum()"),
    Case("host-memory", cell="a = jax.device_put(m * 2, SingleDeviceSharding(devices[0], memory_kind='pinned_host'))"),
    Case(
        "host-memory-of-shards",
        cell="a = jax.device_put(s_rows * 2, rows.with_memory_kind('pinned_host'))\nb = s_rows + 1",
    ),
    Case("constraint", cell="y = jax.lax.with_sharding_constraint(m * 2, rows)\nz = y.sum(1)"),
    Case("constraint-of-shards", cell="y = jax.lax.with_sharding_constraint(s_rows + 1, NamedSharding(mesh, P(None)))"),
    Case("jit-with-out-shardings", cell="f = jax.jit(lambda a: a * 2, out_shardings=rows)\ny = f(m)\nz = f(m + 1) + 1"),
    Case(
        "jit-told-of-whole-dimensions",
        cell="y = jax.jit(lambda: jnp.ones((8, 4)), out_shardings=NamedSharding(mesh, P('x', None)))()\nz = y * 2",
    ),
    Case(
        "jit-told-of-one-result",
        cell="f = jax.jit(lambda a: (a @ a.T, a * 2), out_shardings=(NamedSharding(mesh, P('x', None)), None))\n"
        "y, z = f(s_rows)",
    ),
    Case(
        "step-with-whole-dimensions",
        setup="b = jax.device_put(m, NamedSharding(grid, P('a')))\n"
        "net = {'up': jax.device_put(jnp.ones((4, 8)) / 8, NamedSharding(grid, P(None, 'b'))),"
        " 'down': jax.device_put(jnp.ones((8, 4)) / 8, NamedSharding(grid, P('b', None)))}",
        cell="""\
@jax.jit
def step(net, b):
    def loss(p):
        return jnp.mean((jnp.tanh(b @ p['up']) @ p['down'] - b) ** 2)
    value, g = jax.value_and_grad(loss)(net)
    return value, jax.tree.map(lambda p, q: p - 0.1 * q, net, g)
value, net = step(net, b)
""",
    ),
    Case(
        "jit-with-in-shardings",
        cell="f = jax.jit(lambda a: (a * 2, a.sum()), in_shardings=rows)\ny, z = f(m)\nq = f(s_rows)[0]",
    ),
    Case("jit-of-shards", cell="f = jax.jit(lambda a: (a @ a.T, a.sum(0), a.mean()))\ny = f(s_grid)"),
    Case(
        "shard-map",
        cell="f = partial(jax.shard_map, mesh=mesh, in_specs=P('x'), out_specs=P())(lambda a: jax.lax.psum(a, 'x'))\n"
        "y = f(m * 2)",
    ),
    Case(
        "shard-map-of-shards",
        cell="y = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=P('x'), out_specs=P('x'))(s_rows)\nz = y + 1",
    ),
    Case("mixed-replicated-and-spread", cell="y = s_rows + s_whole\nz = s_whole * 2\nq = s_whole.sum()"),
    Case("two-device-sets", cell="y = s_rows * 2\nz = on3 * 2\nq = s_rows.sum()"),
    Case("two-devices", cell="y = on3 * 2\nz = on5 * 3"),
    Case("incompatible-devices", cell="y = m * 2\nz = s_rows + on3", raises="ValueError"),
    Case("incompatible-after-a-put", cell="y = jax.device_put(m * 2, devices[1])\nz = y + on3", raises="ValueError"),
    Case(
        "incompatible-puts",
        cell="z = jax.device_put(m, devices[1]) + jax.device_put(m, devices[2])",
        raises="ValueError",
    ),
    Case("incompatible-meshes", cell="a = s_rows * 2\nb = a + s_typed", raises="ValueError"),
    Case(
        "bad-sharding", cell="y = jax.device_put(jnp.ones(3) * 2, rows)", raises="IndivisibleError", same_message=False
    ),
    Case(
        "default-device-around",
        cell="with jax.default_device(devices[4]):\n    y = m * 2\n    z = jnp.ones(3)\nq = m * 3",
    ),
    Case("default-device-after", cell="a = m * 2\nwith jax.default_device(devices[4]):\n    y = a * 2\nq = y * 3"),
    Case(
        "default-device-in-a-helper",
        setup="def make(a):\n    with jax.default_device(devices[4]):\n        return jnp.ones(3) + a",
        cell="y = make(m[0, 0])\nz = y * 2",
    ),
    Case(
        "default-device-that-is-caught",
        setup="""\
def make(a):
    try:
        with jax.default_device(devices[4]):
            return jnp.ones(3) + a
    except Exception:
        return a""",
        cell="y = make(m[0, 0])",
    ),
    Case(
        "set-mesh",
        cell="with jax.set_mesh(mesh):\n    y = jax.device_put(m * 2, P('x'))\n    z = y + 1\n    o = jnp.ones(8)",
    ),
    Case(
        "set-typed-mesh",
        cell="with jax.set_mesh(typed):\n    y = jax.device_put(m * 2, P('x'))\n    z = y.sum(0)\n    o = jnp.ones(8)",
    ),
    Case("typed-shards", cell="y = s_typed * 2\nz = y.sum(0)\nq = y.T\nr = jnp.sin(y) @ jnp.ones((4, 2))"),
    Case(
        "typed-zeros", cell="with jax.set_mesh(typed):\n    y = jnp.zeros((8, 2), out_sharding=P('x'))\n    z = y + 1"
    ),
    Case("callback-array", cell="a = jax.make_array_from_callback((8,), rows, lambda i: n[i])\nb = a * 2"),
    Case(
        "parameters-that-are-made-and-put",
        cell="p = jax.device_put({'w': jax.random.normal(k, (8, 8)), 'b': jnp.zeros(8)}, rows)",
    ),
    Case(
        "training-step",
        cell="""\
p = jax.tree.map(lambda a: jax.device_put(a, whole), params)
a = jax.device_put(m, rows)
t = jax.device_put(jnp.ones((8, 1)), rows)
loss, grads = jax.value_and_grad(loss_of)(p, a, t)
p = jax.tree.map(lambda v, g: v - 0.1 * g, p, grads)""",
    ),
    Case(
        "training-step-of-spread-parameters",
        setup="""\
p = jax.device_put(params, NamedSharding(mesh, P()))
p['w'] = jax.device_put(p['w'], NamedSharding(mesh, P(None, 'x')))""",
        cell="""\
loss, grads = jax.value_and_grad(loss_of)(p, s_rows, 1.0)
p = jax.tree.map(lambda v, g: v - 0.1 * g, p, grads)""",
    ),
    Case(
        "jitted-training-steps",
        setup="""\
p = jax.device_put(params, whole)
@jax.jit
def step(p, a):
    loss, grads = jax.value_and_grad(loss_of)(p, a, 1.0)
    return jax.tree.map(lambda v, g: v - 0.1 * g, p, grads), loss""",
        cell="losses = []\nfor i in range(3):\n    p, loss = step(p, s_rows)\n    losses.append(loss)",
    ),
    Case(
        "one-jitted-training-step",
        setup="""\
p = jax.device_put(params, whole)
@jax.jit
def step(p, a):
    loss, grads = jax.value_and_grad(loss_of)(p, a, 1.0)
    return jax.tree.map(lambda v, g: v - 0.1 * g, p, grads), loss""",
        cell="p, loss = step(p, jax.device_put(m, rows))",
    ),
    Case(
        "shardings-that-change",
        cell="y = v * 2\nz = y.sum(0)",
        setup="v = m",
        change=("v = s_rows", "v = on3", "v = m", "v = s_grid"),
        reused=(False, False, True, False),
    ),
    Case("uncommitted-elsewhere", cell="y = at2 * 2\nz = at2 + m\nq = at2", change="at2 = m + 1"),
    Case("uncommitted-mixes-again", cell="y = m * 2", change="y2 = y + on3\ny3 = y + s_rows"),
    Case("aliases-of-puts", cell="a = jax.device_put(m * 2, rows)\nb = a\nc = [a, jax.device_put(a, rows)]"),
    Case(
        "put-in-a-jitted-function", cell="f = jax.jit(lambda a: jax.device_put(a * 2, rows))\ny = f(m)\nz = f(s_whole)"
    ),
    Case("grad-through-a-put", cell="g = jax.grad(lambda a: (jax.device_put(a, rows) ** 2).sum())(m * 1)"),
    Case("scan-over-shards", cell="c, ys = jax.lax.scan(lambda c, r: (c + r, c.sum()), jnp.zeros(4), s_rows)"),
    Case("vmap-of-shards", cell="y = jax.vmap(lambda r: r / r.sum())(s_rows + 1)\nz = jnp.argsort(y, 1)"),
    Case(
        "object-that-holds-shards",
        setup="class Box: pass\nbox = Box()\nbox.v = s_rows",
        cell="box.v = box.v * 2\nbox.n = jnp.ones(2)",
    ),
    Case("printed-between", cell="y = s_rows * 2\nprint(y.sum())\nz = jax.device_put(y + 1, devices[2])\nq = z * 2"),
    Case(
        "donated-by-a-function",
        setup="step = jax.jit(lambda a, g: a - g, donate_argnums=0)\nold = m * 1",
        cell="new = step(old, m)\nkept = new * 2",
        again="old = m * 1",
        gives_up=True,
    ),
    Case(
        "donated-by-a-function-in-a-loop",
        setup="step = jax.jit(lambda a, g: a - g, donate_argnums=0)\nv = s_rows * 1",
        cell="first = v\nfor i in range(3):\n    v = step(v, m)\ngone = first.is_deleted()",
        gives_up=True,
    ),
    Case(
        "donated-intermediate", setup="f = jax.jit(lambda a: a * 2, donate_argnums=0)", cell="y = f(m * 2)\nz = m + 1"
    ),
    Case(
        "training-loop-with-keys",
        setup="p = jax.device_put(params, whole)",
        cell="""\
for i in range(3):
    k, sub = jax.random.split(k)
    a = jax.device_put(jax.random.normal(sub, (8, 4)), rows)
    p = jax.tree.map(lambda v, d: v - 0.1 * d, p, jax.grad(loss_of)(p, a, 1.0))""",
    ),
    Case(
        "pipeline-of-two-devices",
        setup="u, v = jax.device_put(jnp.ones((4, 4)), devices[1]), jax.device_put(jnp.ones((4, 4)), devices[2])",
        cell="h = jax.device_put(m, devices[1]) @ u\ng = jax.device_put(h, devices[2]) @ v\nloss = g.sum()",
    ),
    Case(
        "pipeline-in-a-helper",
        setup="""\
u, v = jax.device_put(jnp.ones((4, 4)), devices[1]), jax.device_put(jnp.ones((4, 4)), devices[2])
def run(a):
    return jax.device_put(jax.device_put(a, devices[1]) @ u, devices[2]) @ v""",
        cell="y = run(m)\nz = y * 2",
    ),
    Case("put-of-several", cell="a, b = jax.device_put((m * 2, m.T), (rows, NamedSharding(mesh, P(None, 'x'))))"),
    Case("to-device", cell="y = (m * 2).to_device(devices[3])\nz = y + 1"),
    Case("put-that-donates", setup="v = m * 1", cell="a = jax.device_put(v * 2, rows, donate=True)"),
    Case("put-of-a-format", cell="a = jax.device_put(m * 2, s_rows.format)"),
    Case("handed-on-in-a-tree", cell="t = jax.tree.map(lambda a: a, {'a': m * 2, 'b': s_rows + 1, 'c': on3, 'd': 3})"),
    Case(
        "while-and-cond",
        cell="""\
y = jax.lax.cond(s_rows.sum() > 0, lambda a: a * 2, lambda a: a, s_rows)
z = jax.lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * 2, c[1] + 1), (s_rows, 0))""",
    ),
    Case(
        "keys-that-are-committed",
        setup="kk = jax.device_put(k, devices[3])",
        cell="kk, sub = jax.random.split(kk)\ny = jax.random.normal(sub, (3,))\nz = m * 2",
    ),
    Case(
        "mesh-set-and-unset",
        cell="""\
jax.set_mesh(mesh)
y = jax.device_put(m * 2, P('x'))
jax.set_mesh(Mesh(np.empty((), object), ()))
q = m + 1""",
    ),
    Case(
        "default-device-in-config",
        cell="""\
jax.config.update('jax_default_device', devices[4])
y = m + 1
jax.config.update('jax_default_device', None)
z = m + 2""",
    ),
    Case(
        "asked-where-it-is",
        cell="y = s_rows * 2\nz = jax.device_put(m * 3, s_rows.sharding)\nq = jax.device_put(m, y.sharding)",
    ),
    Case("asked-whether-it-lies-somewhere", cell="y = m * 2\nok = hasattr(y, 'sharding')"),
    Case("asked-how-it-lies", cell="y = m * 2\nhow = getattr(y, 'sharding', None)\nz = jax.device_put(m, how)"),
]

_NOT_REUSED = {"jit-with-in-shardings", "object-that-holds-shards"}

CASES = [
    replace(
        case,
        setup=(_SETUP, case.setup) if case.setup else _SETUP,
        reused2=None if case.name in _NOT_REUSED else case.reused2,
    )
    for case in _CELLS
]
