"""Loops that copy between host and device in each turn, each with the same loop as it is meant; and good loops."""

from __future__ import annotations

from findings.quietly import Case

__all__ = ["CLEAN", "COPYING", "SETUP"]

SETUP = """
import jax, jax.numpy as jnp, numpy as np
x, w = jnp.arange(8.0), jnp.ones((8, 8))
table = np.ones((100, 8), np.float32)
small = np.ones(4, np.float32)
data = {"table": table, "w": w}
batches = [np.full((32, 8), i, np.float32) for i in range(3)]
losses, rows = [], []
"""

_BEHIND = "convert behind it"
_FRONT = "in front of the loop"
_NUMPY = "use jax.numpy in the loop"
_LOOP = "for i in range(3):\n    x = jnp.tanh(w @ x)\n"


def number(line: str, said: str, fixed: str) -> Case:
    return Case(_LOOP + f"    {line}", 3, said, _BEHIND, _LOOP + f"    {fixed}")


COPYING: dict[str, Case] = {
    "float of a sum": number("losses.append(float(jnp.sum(x)))", "`float(jnp.sum(x))`", "losses.append(jnp.sum(x))"),
    "float of an element": number("losses.append(float(x[0]))", "`float(x[0])`", "losses.append(x[0])"),
    "int": number("losses.append(int(jnp.argmax(x)))", "`int(jnp.argmax(x))`", "losses.append(jnp.argmax(x))"),
    "bool": number("losses.append(bool(jnp.any(x > 0)))", "`bool(", "losses.append(jnp.any(x > 0))"),
    "item": number("losses.append(x[0].item())", "`x[0].item()`", "losses.append(x[0])"),
    "item of a result": number("losses.append(jnp.max(x).item())", "`jnp.max(x).item()`", "losses.append(jnp.max(x))"),
    "tolist": number("losses.append(x.tolist())", "`x.tolist()`: 32 B are copied from the device", "losses.append(x)"),
    "float of a difference": number(
        "losses.append(float(x[0] - x[1]))", "`float(x[0] - x[1])`", "losses.append(x[0] - x[1])"
    ),
    "a name for the loss": Case(
        _LOOP + "    loss = jnp.mean(x)\n    losses.append(float(loss))",
        4,
        "`float(loss)`: 4 B are copied from the device in each turn",
        _BEHIND,
        _LOOP + "    loss = jnp.mean(x)\n    rows.append(loss)\ny = [float(a) for a in jax.device_get(rows)]",
    ),
    "asarray of NumPy": Case(
        _LOOP + "    rows.append(np.asarray(x))",
        3,
        "`np.asarray(x)`: 32 B are copied from the device",
        _NUMPY,
        _LOOP + "    rows.append(x)",
    ),
    "a function of NumPy": Case(
        _LOOP + "    losses.append(np.median(x))",
        3,
        "`np.median(x)`",
        _NUMPY,
        _LOOP + "    losses.append(jnp.median(x))",
    ),
    "a function in a submodule": Case(
        _LOOP + "    losses.append(np.linalg.norm(x))",
        3,
        "`np.linalg.norm(x)`",
        _NUMPY,
        _LOOP + "    losses.append(jnp.linalg.norm(x))",
    ),
    "an item of a dict": Case(
        "for i in range(3):\n    data['w'] = jnp.tanh(data['w'])\n    rows.append(np.array(data['w']))",
        3,
        "256 B are copied from the device",
        _NUMPY,
        "for i in range(3):\n    data['w'] = jnp.tanh(data['w'])\n    rows.append(data['w'])",
    ),
    "a while loop": Case(
        "n = 0\nwhile n < 3:\n    x = jnp.tanh(w @ x)\n    losses.append(float(x[0]))\n    n += 1",
        4,
        "`float(x[0])`",
        _BEHIND,
        "n = 0\nwhile n < 3:\n    x = jnp.tanh(w @ x)\n    losses.append(x[0])\n    n += 1",
    ),
    "nested loops": Case(
        "for i in range(2):\n    for j in range(2):\n        x = jnp.tanh(w @ x)\n        losses.append(float(x[0]))",
        4,
        "`float(x[0])`",
        _BEHIND,
        "for i in range(2):\n    for j in range(2):\n        x = jnp.tanh(w @ x)\n        losses.append(x[0])",
    ),
    "what a method of an array gives": Case(
        "for row in jnp.ones((3, 8)):\n    losses.append(float(row.sum()))",
        2,
        "`float(row.sum())`: its value is copied from the device",
        _BEHIND,
        "for row in jnp.ones((3, 8)):\n    losses.append(row.sum())",
    ),
    "NumPy's array in each turn": Case(
        "for i in range(3):\n    y = jnp.tanh(table @ x)\n    print(i, y[0])",
        2,
        "`table`, float32[100,8], is NumPy's: 3.2 KB are copied to the device in each turn",
        _FRONT,
        "table = jax.device_put(table)\nfor i in range(3):\n    y = jnp.tanh(table @ x)\n    print(i, y[0])",
    ),
    "NumPy's array in a dict": Case(
        "for i in range(3):\n    y = jnp.tanh(data['table'] @ x)\n    print(i, y[0])",
        2,
        "copied to the device in each turn",
        _FRONT,
        "data = jax.device_put(data)\nfor i in range(3):\n    y = jnp.tanh(data['table'] @ x)\n    print(i, y[0])",
    ),
}

CLEAN: dict[str, str] = {
    "no loop": "y = float(jnp.sum(x))\nz = np.asarray(x)",
    "behind the loop": "for i in range(3):\n    x = jnp.tanh(w @ x)\ny = float(x[0])",
    "now and then": "for i in range(3):\n    x = jnp.tanh(w @ x)\n    if i % 2:\n        rows.append(float(x[0]))",
    "batches": "for batch in batches:\n    x = jnp.tanh(batch @ x)[:8]\n    print(x[0])",
    "a small array": "for i in range(3):\n    y = jnp.sum(small) * x\n    print(y[0])",
    "numbers of Python": "for i in range(3):\n    losses.append(float(i))\n    print(float('1.5'))",
    "NumPy alone": "for i in range(3):\n    rows.append(np.mean(table))\n    losses.append(table[0].tolist())",
    "printing": "for i in range(3):\n    x = jnp.tanh(w @ x)\n    print(x[0])",
    "a condition": "while x[1] > 0.9:\n    x = x * 0.5",
    "a traced loop": "for i in range(3):\n    x = jnp.tanh(w @ x)",
    "a function that is defined": "for i in range(3):\n    def f(v): return float(v)\n    x = jnp.tanh(w @ x)",
    "copied once": "t = jnp.asarray(table)\nfor i in range(3):\n    y = jnp.tanh(t @ x)\n    print(y[0])",
    "explicit": "for i in range(3):\n    x = jnp.tanh(w @ x)\n    rows.append(jax.device_get(x))",
    "an argument": "for i in range(3):\n    x = jnp.reshape(x, (int(8), -1))[:, 0]\n    print(x[0])",
    "NumPy's own array": "for batch in batches:\n    rows.append(np.asarray(batch).mean())",
}
