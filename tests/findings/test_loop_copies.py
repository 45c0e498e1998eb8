"""What loops of plain cells copy in each turn: told with the count and a fix; and when nothing is said."""

from __future__ import annotations

import pytest
from shells import Shell, shell

__all__ = ["shell"]

SETUP = """
import time
rows = jnp.arange(80.0).reshape(20, 4)
data = np.ones((64, 16), dtype=np.float32)
w = jnp.ones(16)
@jax.jit
def step(w):
    return w * 0.9, (w * w).sum()
@jax.jit
def project(w, data):
    return data @ w
w, loss = step(w)
y = project(w, data)
"""

TOLD = {  # the cell; the line; what is said
    "a number": (
        "losses = []\nfor _ in range(20):\n    w, loss = step(w)\n    losses.append(float(loss))",
        4,
        ("`float(loss)` made Python wait for the device 20 times", "keep `loss` as an array", "jax.device_get"),
    ),
    "an item of a call": (
        "total = 0.0\nfor row in rows:\n    total += step(row)[1].item()",
        3,
        ("`step(row)[1].item()` made Python wait", "20 times"),
    ),
    "a text": (
        "for n in range(20):\n    w, loss = step(w)\n    print(f'{n}: {loss:.2f}')",
        3,
        ("printing `loss` made Python wait for the device 20 times", "print less often"),
    ),
    "a truth": (
        "while loss > 1e-2:\n    w, loss = step(w)",
        1,
        ("`loss > 0.01` made Python wait", "jax.lax.while_loop"),
    ),
    "a branch": (
        "for _ in range(20):\n    w, loss = step(w)\n    if loss < 0:\n        print('no')",
        3,
        ("`loss < 0` made Python wait", "jax.lax.cond"),
    ),
    "numbers one by one": (
        "flat = rows.reshape(-1)\nbest = 0.0\nfor n in range(80):\n    best = max(best, float(flat[n]))",
        4,
        ("`float(flat[n])` made Python wait for the device 80 times", "flat = np.asarray(flat)"),
    ),
    "an array of NumPy": (
        "for _ in range(20):\n    y = project(w, data)",
        2,
        ("`data`, float32[64,16],", "4.1 KB", "for `project`", "20 times", "data = jnp.asarray(data)"),
    ),
    "an array that is made of NumPy's": (
        "for _ in range(20):\n    y = project(w, jnp.asarray(data))",
        2,
        ("`data`", "copied to the device for `project` 20 times"),
    ),
    "a function of NumPy": (
        "for _ in range(20):\n    y = np.clip(np.asarray(project(w, y_in)), 0, 1)".replace("y_in", "rows[:, :1] * w"),
        2,
        ("np.asarray", "from the device to the host 20 times"),
    ),
}
QUIET = {
    "behind the loop": "for _ in range(20):\n    w, loss = step(w)\nprint(float(loss))",
    "now and then": "for n in range(20):\n    w, loss = step(w)\n    if n % 10 == 0:\n        print(float(loss))",
    "a few turns": "for _ in range(5):\n    w, loss = step(w)\n    print(float(loss))",
    "once an epoch": ("for _ in range(12):\n    for _ in range(5):\n        w, loss = step(w)\n    print(float(loss))"),
    "turns that take long": "for _ in range(11):\n    w, loss = step(w)\n    time.sleep(0.03)\n    print(float(loss))",
    "results that are there": "values = [step(row)[1] for row in rows]\ntotal = sum([float(v) for v in values])",
    "numbers of NumPy": "flat = np.asarray(rows).reshape(-1)\nbest = max([float(flat[n]) for n in range(80)])",
    "a small array of NumPy": "small = np.ones(16, np.float32)\nfor _ in range(20):\n    y = project(w, small)",
    "another array in each turn": (
        "for n in range(20):\n    batch = np.full((64, 16), n, np.float32)\n    y = project(w, batch)"
    ),
    "on the device": "data = jnp.asarray(data)\nfor _ in range(20):\n    y = project(w, data)",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_copied_in_each_turn_is_told_once(shell: Shell, name: str) -> None:
    cell, line, said = TOLD[name]
    shell.run(SETUP)
    text = " ".join(shell.run(cell).split())
    assert f"line {line}" in text, text
    for part in said:
        assert part in text, text
    again = shell.run(cell)
    assert "made Python wait" not in again and "copied to the device" not in again


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_what_costs_nothing(shell: Shell, name: str) -> None:
    shell.run(SETUP)
    text = shell.run(QUIET[name])
    assert not any(word in text for word in ("made Python wait", "copie", "could not")), text


def test_a_staged_cell_is_told_the_same_once(shell: Shell) -> None:
    shell.run(SETUP)
    text = shell.run("%%jit\nfor n in range(20):\n    w, loss = step(w)\n    print(f'{n}: {loss:.2f}')")
    assert "made Python wait for the device 20 times" in text, text
    text = shell.run("%%jit\nlosses = []\nfor n in range(20):\n    w, loss = step(w)\n    losses.append(float(loss))")
    assert "`float(loss)`" in text and "made Python wait" not in text, text


def test_jax_is_as_before_when_the_extension_is_gone(shell: Shell) -> None:
    kind = type(shell.ns["x"])
    watched = vars(kind)["_value"], vars(kind)["item"]
    shell.run("%unload_ext jaxnb")
    assert all(one is not other for one, other in zip(watched, (vars(kind)["_value"], vars(kind)["item"]), strict=True))
    shell.run("%load_ext jaxnb")
