"""What cannot be a file is refused by name and line, and then nothing has changed: no name, no file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cells_to_export import FLOATS  # pyright: ignore
from jax.experimental import io_callback

import jaxnb
from jaxnb.errors import Refused


class Plain:
    """An object whose class a file does not know."""

    def __init__(self) -> None:
        self.w = jnp.arange(3.0)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Registered:
    """A pytree of the user's own."""

    w: Any


def spread() -> dict[str, Any]:
    mesh = jax.make_mesh((8,), ("d",))
    return {"x": jax.device_put(jnp.arange(8.0), jax.NamedSharding(mesh, jax.P("d")))}


REFUSED: dict[str, tuple[str, Callable[[], dict[str, Any]], str, int | None]] = {
    "a print": ("y = x + 1\nprint(y)\nz = y", lambda: {"x": FLOATS}, "Python runs line 2 on the host.", 2),
    "a number": ("y = x.sum()\nn = float(y)", lambda: {"x": FLOATS}, "Python runs line 2 on the host.", 2),
    "arithmetic of Python": ("r = lr * 2\ny = x * r", lambda: {"x": FLOATS, "lr": 0.1}, "Python runs line 1", 1),
    "NumPy": ("y = x * a.mean()", lambda: {"x": FLOATS, "a": np.arange(3.0)}, "line 1: NumPy computes a part", 1),
    "nothing": ("n = 3", lambda: {}, "nothing in it was compiled", None),
    "a debug print": ("y = x + 1\njax.debug.print('{}', y)", lambda: {"x": FLOATS}, "in line 2 calls Python", 2),
    "an ordered print": (
        "y = x + 1\njax.debug.print('{}', y, ordered=True)", lambda: {"x": FLOATS}, "in line 2 calls Python", 2,
    ),
    "a callback": (
        "y = jax.pure_callback(np.sin, x, x)", lambda: {"x": FLOATS, "np": np},
        "pure_callback in line 1 calls Python", 1,
    ),
    "an effect in a loop": (
        "def body(i, a):\n    io_callback(print, None, i, ordered=True)\n    return a\n"
        "y = jax.lax.fori_loop(0, 2, body, x)",
        lambda: {"x": FLOATS, "io_callback": io_callback}, "io_callback in line", None,
    ),
    "an object": (
        "y = x\nz = model.w + 1", lambda: {"x": FLOATS, "model": Plain()}, "`model.w` is in an object of Plain", 2,
    ),
    "a registered node": ("y = p.w + 1", lambda: {"p": Registered(FLOATS)}, "`p.w` is in an object of Registered", 1),
    "a node in a list": (
        "y = ps[1].w + 1", lambda: {"ps": [1, Registered(FLOATS)]}, "is in an object of Registered", 1,
    ),
    "a node as a result": (
        "y = x\np = Registered(x + 1)", lambda: {"x": FLOATS, "Registered": Registered},
        "`p` is bound to an object of Registered", 2,
    ),
    "several devices": ("y = x * 2", spread, "`x` is spread over 8 devices", 1),
    "a loop in turns": (
        "for i in range(3):\n    x = jnp.sin(x)\n    print(float(x[0]))", lambda: {"x": FLOATS},
        "Python runs line", None,
    ),
    "a branch on a number": (
        "def f(v):\n    state['n'] += 1\n    return v if state['n'] else -v\ny = f(x)",
        lambda: {"x": FLOATS, "state": {"n": 4}}, "asks whether", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_it_is_refused_by_name_and_line(kind: str, tmp_path: Path) -> None:
    source, make, message, line = REFUSED[kind]
    names = {"jnp": jnp, "jax": jax, "__name__": "__main__", "__builtins__": __builtins__} | make()
    path = tmp_path / "cell.jaxexport"
    path.write_bytes(b"before")
    runs = 3 if kind == "a branch on a number" else 1
    for _ in range(runs - 1):
        jaxnb.stage(source, names)
    before = dict(names)
    with pytest.raises(Refused) as caught:
        jaxnb.stage(source, names, export=str(path))
    assert message in caught.value.what and caught.value.what.startswith("the cell cannot be exported: ")
    assert caught.value.why and (line is None or caught.value.line == line)
    assert line is None or f"line {line}" in caught.value.what
    assert {name: id(value) for name, value in names.items()} == {name: id(value) for name, value in before.items()}
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_a_cell_of_several_programs_says_where_the_second_begins(tmp_path: Path) -> None:
    names = {"jnp": jnp, "x": FLOATS}
    with pytest.raises(Refused, match=r"Python runs line 2 on the host[\s\S]*only a cell that is staged whole"):
        jaxnb.stage("y = x + 1\nn = y.tolist()\nz = y * 2", names, export=str(tmp_path / "f"))


def test_a_loop_that_is_run_in_turns_is_no_program(tmp_path: Path) -> None:
    source = "for i in range(3):\n    x = jnp.sin(x)"
    with pytest.raises(Refused, match=r"the cell cannot be exported[\s\S]*whole"):
        jaxnb.stage(source, {"jnp": jnp, "x": FLOATS}, export=str(tmp_path / "f"), roll=True)
    run = jaxnb.stage(source, {"jnp": jnp, "x": FLOATS}, export=str(tmp_path / "f"))
    assert run.pieces == 1


def test_a_file_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    names = {"jnp": jnp, "x": FLOATS}
    with pytest.raises(
        jaxnb.JaxnbError, match=r"cannot write .*no/such/f[\s\S]*Try: give a path in a folder that exists"
    ):
        jaxnb.stage("y = x + 1", names, export=str(tmp_path / "no/such/f"))
    assert "y" not in names


def test_what_only_runs_plainly_or_nowhere_is_refused(tmp_path: Path) -> None:
    names = {"jnp": jnp, "x": FLOATS}
    with jax.disable_jit(), pytest.raises(Refused, match="nothing is compiled"):
        jaxnb.stage("y = x + 1", names, export=str(tmp_path / "f"))
    with pytest.raises(Refused, match="nothing would run"):
        jaxnb.stage("", names, export=str(tmp_path / "f"))
    run = jaxnb.stage("n = 3", names)
    with pytest.raises(jaxnb.JaxnbError, match="this run cannot be exported"):
        run.export(tmp_path / "f")


def test_a_run_that_python_took_part_in_is_refused_afterwards_too(tmp_path: Path) -> None:
    run = jaxnb.stage("y = x + 1\nn = float(y[0])", {"jnp": jnp, "x": FLOATS})
    with pytest.raises(Refused, match="Python runs line 2 on the host"):
        run.export(tmp_path / "f")


def test_keys_of_a_kind_of_ones_own_are_refused(tmp_path: Path) -> None:
    kind = jax.extend.random.define_prng_impl(
        key_shape=(2,), seed=lambda seed: jnp.zeros(2, "uint32"),
        split=lambda key, shape: jnp.zeros((*shape, 2), "uint32"),
        random_bits=lambda key, width, shape: jnp.zeros(shape, "uint32"), fold_in=lambda key, data: key, tag="mine",
    )  # fmt: skip
    names = {"jax": jax, "key": jax.random.key(0, impl=kind)}
    with pytest.raises(Refused, match="`key` holds keys of a kind of its own, key<mine>"):
        jaxnb.stage("r = jax.random.bits(key)", names, export=str(tmp_path / "f"))


def test_types_without_numbers_are_refused(tmp_path: Path) -> None:
    names = {"jax": jax, "i": jnp.arange(3)}
    with pytest.raises(Refused, match=r"line 1: `g` is float0\[3\]"):
        source = "g = jax.grad(lambda a: (a * 2.0).sum(), allow_int=True)(i)"
        jaxnb.stage(source, names, export=str(tmp_path / "f"))
