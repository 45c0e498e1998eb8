"""What decides where the results of single operations lie in the plain cell, and what only seems to.

What a function does not use, or has closed over, does not count; what a part of a jitted function gives lies where its
arguments do; and JAX takes parts of an array on several devices in a way of its own.
"""

from __future__ import annotations

from textwrap import indent
from typing import Any

import jax
import numpy as np
import pytest

import jaxnb

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
four = jax.make_mesh((4,), ("e",), axis_types=(AxisType.Auto,))
one, u = jax.device_put(jnp.arange(4.0), jax.devices()[3]), jnp.ones(4)
x = jax.device_put(jnp.arange(8.0).reshape(4, 2), NamedSharding(four, P("e")))
m = jax.device_put(jnp.arange(16.0), NamedSharding(mesh, P("d")))
w = jax.device_put(jnp.ones(3), NamedSharding(mesh, P()))
i = jnp.int32(3)
grid = jax.make_mesh((2, 2), ("r", "c"), axis_types=(AxisType.Auto,) * 2, devices=jax.devices()[:4])
e, v, b = (
    jax.device_put(a, NamedSharding(grid, P(*s)))
    for a, s in ((jnp.arange(16.0).reshape(4, 4), ("r", "c")), (jnp.ones((4, 2)), ("c", None)), (jnp.zeros(2), ()))
)
"""
CELLS = {
    "a number that is put on a mesh": "n = jax.device_put(jnp.zeros([], int), NamedSharding(mesh, P()))\ny = m * 2",
    "an argument that is not used": "y = jax.jit(lambda a: jnp.zeros(3))(one)\nz = one * 2",
    "an argument that is kept": "y = jax.jit(lambda a: jnp.zeros(3), keep_unused=True)(one)\nz = one * 2",
    "an argument that is handed on": "y = jax.jit(lambda a, b: b)(one, u)\nz = one * 2",
    "an operand of no branch": "y = lax.cond(True, lambda a: jnp.ones(2), lambda a: jnp.zeros(2), one)\nz = one * 2",
    "what a loop walks over in vain": "y, _ = lax.scan(lambda c, a: (c + 1, None), jnp.zeros(2), one)\nz = one * 2",
    "what a function has closed over": "f = jax.jit(lambda t: t + one)\ny = f(u)",
    "closed over, and an argument": "f = jax.jit(lambda t: t + one)\ny = f(one)",
    "closed over alone": "f = jax.jit(lambda: one * 2)\ny = f()",
    "closed over, on no device": "f = jax.jit(lambda t: t + u)\ny = f(one)",
    "a batch that is closed over": "f = jax.jit(jax.grad(lambda p: (x @ p).mean()))\ny = f(jnp.ones(2))",
    "a jacobian of a linear function": "y = jax.jacobian(lambda a: a * 2.0)(one)",
    "gradients": "g = jax.grad(lambda t: (t * 2).sum())(one)\nh = jax.grad(lambda t: (t**2).sum())(one)",
    "derivatives along": """
p, t = jax.jvp(lambda a: a * 2.0, (one,), (jnp.ones(4),))
l = jax.linearize(lambda a: a * 2.0, one)[1](u)
v = jax.vjp(lambda a: a * 2.0, one)[1](u)""",
    "gradients of a dict": "g = jax.grad(lambda d: (d['a'] * 2).sum() + d['b'].sum() * 3)({'a': one, 'b': one})",
    "gradients of replicas": "g = jax.grad(lambda w: w.sum() * 2)(w)",
    "gradients of shards": """
g = jax.grad(lambda m: (m * 2).sum())(m)
v = jax.grad(lambda m: ((m - 1) ** 2).mean() / 2)(m)""",
    "rows": "rows = [r for r in x]\na, *b = x\nt = sum(w)",
    "rows of what was computed": "a, *b = x + 1\nc, *d = jnp.ones((3, 2))",
    "parts": "h, e, f, g = m[:8], m[::2], m[3], m[2:]\nall_ = m[:]",
    "parts of what was computed": "d = (m + 1)[:8]\nr, q, t = x[:, 0], x[1], x.T[0]\nz = jnp.zeros(4)[1:]",
    "parts by arrays": "a, b = m[jnp.arange(4)], m[i]\nc = x[jnp.array([0, 2])]",
    "parts by functions": """
d = lax.dynamic_slice(m, (0,), (8,))
e = lax.dynamic_slice(m, (i,), (8,))
k, s = lax.slice(m, (0,), (8,)), lax.slice(m, (0,), (8,), (2,))
n = lax.dynamic_update_slice(m, jnp.ones(2), (3,))
o = m.at[:8].set(0.0)""",
    "a gradient of a product of what is split along two axes": """
g = jax.grad(lambda t: ((t["e"][:2] @ t["w"] + t["b"]) ** 2).sum())({"e": e, "w": v, "b": b})
h = jax.value_and_grad(lambda v: jnp.sum((e @ v) ** 2))(v)""",
    "what functions of several operations give": """
r, s, t = jnp.add(v, b), jnp.matmul(e[0], v), jnp.swapaxes(e @ v, 0, 1)
n, k = jnp.linalg.norm(e), jnp.linalg.norm(e, axis=1)
p, q, o = jnp.where(e > 3, e, b[0]), jnp.hypot(v, b), jnp.cross(e[:, :3], e[:, 1:])""",
    "parts of what lies on one device": "a = jnp.ones(5)\nb, c = a[2:], a[0]\nd = m * 1",
}


def sides(more: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """Two namespaces after the setup, one for the plain cell and one for the staged one."""
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(SETUP + more, namespace)
    return plain, staged


def names(namespace: dict[str, Any]) -> dict[str, Any]:
    leaves = {
        name: jax.tree.leaves(value) for name, value in namespace.items() if not callable(value) and name[0] != "_"
    }
    return {
        f"{name}[{place}]": (value.shape, str(value.dtype), value.weak_type, str(value.sharding), value.committed)
        for name, values in leaves.items()
        for place, value in enumerate(values)
        if isinstance(value, jax.Array)
    }


@pytest.mark.parametrize("name", CELLS)
def test_results_lie_where_the_plain_cell_has_them(name: str) -> None:
    plain, staged = sides()
    for _ in range(2):
        exec(CELLS[name], plain)
        jaxnb.stage(CELLS[name], staged)
        assert names(staged) == names(plain)
        for key in names(plain):
            own, _, place = key.partition("[")
            values = [jax.tree.leaves(namespace[own])[int(place[:-1])] for namespace in (plain, staged)]
            np.testing.assert_allclose(*values, rtol=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        *("parts", "rows of what was computed", "gradients of shards", "parts by functions"),
        "closed over, and an argument",
    ],
)
def test_what_is_known_of_placements_is_staged(name: str) -> None:
    """Parts of what is not split over devices are found by following what was computed from what is."""
    namespace, _ = sides()
    on_host = jaxnb.stage(CELLS[name], namespace).on_host
    assert [line for line, _ in on_host] == ([1] if name.startswith("rows") else [])


REFUSED = {
    "a result that nobody takes": "moved + one",
    "in a function": "def f(a, b):\n    a + b\n    return a\ny = f(moved, one)",
    "after other operations": "moved * 2 @ jnp.sin(one + 1)",
    "before others": "(moved * 2 + one).sum() * 3",
    "on a mesh": "m[0] + moved",
    "a sharding that does not divide": "jax.device_put(jnp.ones(3), NamedSharding(mesh, P('d')))",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_jax_refuses_is_refused_where_nobody_takes_the_result(name: str) -> None:
    text = f"moved = jax.device_put(one * 2, jax.devices()[5])\nclash = None\ntry:\n{indent(REFUSED[name], '    ')}\n"
    text += "except ValueError:\n    clash = 1\nz = u + 1\n"
    plain, staged = sides()
    exec(text, plain)
    jaxnb.stage(text, staged)
    assert plain["clash"] == staged["clash"] == 1


@pytest.mark.parametrize("name", ["f = jax.jit(lambda a, b: a)\nf(one, m)", "jax.jit(lambda: one * 2)() + u"])
def test_what_jax_computes_is_staged_where_nobody_takes_the_result(name: str) -> None:
    _, staged = sides()
    assert "host" not in str(jaxnb.stage(f"{name}\nz = one * 2", staged).status)


@pytest.mark.parametrize(
    "cell",
    [
        "s = 2 ** jnp.asarray(3)\ny = b * s",
        "s = 2**v\ny = b * s",
        "y = b**v\nz = u**v",
        "y = jnp.power(b, v)\nz = jnp.power(2.0, v)",
        "v = v + 1\ny = 3**v",
    ],
)
def test_an_integer_to_the_power_of_a_value_has_the_type_that_it_has_plainly(cell: str) -> None:
    """`jnp.power` computes otherwise where the exponent is an array whose value it can read."""
    plain, staged = sides("b, v = jnp.array([1, 2, 3], jnp.int8), jnp.asarray(3)")
    for _ in range(3):
        exec(cell, plain)
        jaxnb.stage(cell, staged)
        assert names(staged) == names(plain)


def test_a_constant_of_jax_and_a_number_that_moves_on_make_an_array() -> None:
    """While Python computes numbers, an array of no dimensions is no number, and what is made of it is staged."""
    cell = """
step += 1
lr, n = jnp.asarray(0.1) * step, jnp.array(3) + step
big, half, more = jnp.asarray(2) > step, step * 0.5, 2.0 * (jnp.asarray(0.1) * step)
"""
    plain, staged = sides("step = 0")
    for turn in range(5):
        exec(cell, plain)
        run = jaxnb.stage(cell, staged)
        assert names(staged) == names(plain) and not run.on_host
        assert turn < 2 or run.reused
        for name in ("lr", "n", "big", "half", "more", "step"):
            assert type(staged[name]) is type(plain[name]) and np.allclose(staged[name], plain[name])


@pytest.mark.parametrize(
    "cell",
    [
        "c = put(one, there)",
        "c = jax.tree.map(lambda v: jax.device_put(v, there), {'a': one})['a']",
        "c, e = put(one, there), put(one, there)\nk = c is e",
        "c = put(one, there)\nk = c is one",
        "c = put(one, lies)\nk = c is one",
        "c = put(one * 2, there)",
        "d = one * 2\nc = put(d, lies)\nk = c is d",
        "d = u * 2\nc = put(d, lies)\nk = c is d",
        "k = put(u, u.sharding) is u",
    ],
)
def test_which_object_a_put_gives(cell: str) -> None:
    """To a device JAX makes an Array also of what lies there; to a sharding it hands on what is committed to it."""
    plain, staged = sides(
        "there, lies = jax.devices()[3], one.sharding\ndef put(v, to):\n    return jax.device_put(v, to)"
    )
    for _ in range(3):
        exec(cell, plain)
        jaxnb.stage(cell, staged)
        assert names(staged) == names(plain)
        values = [[ns.get(key) for key in ("one", "u", "c", "d", "e")] for ns in (plain, staged)]
        same = [[a is b for a in found for b in found] for found in values]
        assert same[0] == same[1] and plain.get("k") == staged.get("k")
