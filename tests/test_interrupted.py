"""An interrupt at any call leaves nothing behind: no stand-in in a module of others, no half of a cell."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import types
from collections.abc import Iterator
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from drawing import DEEP, drawn_seed
from jax._src import source_info_util

import jaxnb
from jaxnb.runtime import undo_depth
from jaxnb.staging import current_session

SETUP = """
import time, jax, jax.numpy as jnp, numpy as np
class Keeper:
    def __init__(self): self.count, self.w = 0, jnp.ones(3)
    def step(self, a):
        self.count += 1
        print(f"step {a.sum()}")
        return jnp.tanh(a + self.w)
keeper, x, log = Keeper(), jnp.ones(3), []
"""
CELLS = {
    "steps": "y = keeper.step(x)\nlog.append(y.sum())\nz = jax.grad(lambda a: (a**2).sum())(y)",
    "pieces": "y = jnp.sin(x)\nprint(float(y.sum()))\nz = y * 2\nfor i in range(3):\n    z = jnp.cos(z) + i\n"
    "    if z.sum() > 2: z = z * 0.5",
    "places": "y = jnp.full(3, 2.0) + jnp.zeros_like(x)\nkeeper.w = keeper.w * 2\ns = y.sum()",
}
OWNERS = ("time", "os", "builtins", "threading", "sys", "io", "logging", "warnings", "jax", "numpy", "random", "abc")
CLASSES_OF = ("threading", "os", "jax._src.core", "jax._src.array", "jax._src.config", "io", "logging")
MOMENTS = 150 if DEEP else 12


def _owners() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in OWNERS and type(module) is types.ModuleType:
            yield name, vars(module)
    for name in CLASSES_OF:
        for value in list(vars(sys.modules[name]).values()):
            if isinstance(value, type):
                yield f"{name}.{value.__qualname__}", dict(vars(value))


def _held() -> dict[tuple[str, str], Any]:
    return {(owner, name): value for owner, names in _owners() for name, value in list(names.items())}


def _other(before: dict[tuple[str, str], Any], now: dict[tuple[str, str], Any]) -> list[tuple[str, str]]:
    """What stands in place of something else, or is gone; numbers and texts that move on aside."""
    plain = (int, float, str, tuple)
    changed = [key for key, value in now.items() if key in before and before[key] is not value]
    return [key for key in changed if not isinstance(now[key], plain)] + [key for key in before if key not in now]


def _run(cell: str, namespace: dict[str, Any], at: int = 0) -> int:
    """Stages a cell, interrupts it at one of the calls and returns of jaxnb and JAX; returns how many there were."""
    count = 0

    def on_call(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        file = frame.f_code.co_filename
        if event in ("call", "return") and ("/jaxnb/" in file or "/jax/" in file or "contextlib" in file):
            count += 1
            if count == at:
                raise KeyboardInterrupt

    with contextlib.redirect_stdout(io.StringIO()):
        sys.setprofile(on_call)
        try:
            jaxnb.stage(cell, namespace)
        finally:
            sys.setprofile(None)
    return count


def _space() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, names)
    return names


def _is_whole(cell: str, names: dict[str, Any]) -> bool:
    """Whether all is as the cell leaves it: the interrupt came behind its last word."""
    keeper = names["keeper"]
    done = (1, 1, 3) if "step(" in cell else (0, 0, 6) if "keeper.w" in cell else (0, 0, 3)
    bound = all(name in names for name in ("y", "s" if "s =" in cell else "z"))
    return bound and (keeper.count, len(names["log"]), float(keeper.w.sum())) == done


def _line_of_what_is_traced() -> int | None:
    ops = jaxnb.stage("\ny = x + 1", {"x": jnp.ones(3)}).program.levels[1].ops()
    return list(ops)[-1].line


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what it leaves half open
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_an_interrupt_leaves_nothing_behind(cell: str) -> None:
    draw = random.Random(drawn_seed())
    _run(cell, _space())  # loads modules
    session = current_session()
    assert session is not None
    session.clear()
    calls = _run(cell, _space())
    for _ in range(MOMENTS):
        session.clear()
        names = _space()
        before, kept, moment = dict(names), _held(), draw.randrange(1, calls)
        try:
            _run(cell, names, moment)
        except BaseException as error:
            # what comes while JAX's caches compare their keys they make a ValueError of
            assert "KeyboardInterrupt" in f"{error!r}", moment
            if not _is_whole(cell, names):
                assert list(names) == list(before) and all(names[name] is before[name] for name in before), moment
                assert names["keeper"].count == 0 and not names["log"] and names["keeper"].w.sum() == 3, moment
        assert not _other(kept, _held()) and not undo_depth(), moment
        assert _line_of_what_is_traced() == 2, moment
    assert isinstance(jax.jit(lambda a: a + 1)(1), jax.Array)


def test_an_interrupt_after_an_attempt_that_failed_leaves_nothing_behind() -> None:
    _run(CELLS["pieces"], _space())  # loads modules
    names, kept = _space(), _held()

    def on_call(frame: FrameType, event: str, argument: Any) -> None:
        back = frame.f_back
        if event == "call" and frame.f_code.co_name == "__exit__" and back and back.f_code.co_name == "let_go":
            raise KeyboardInterrupt

    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(KeyboardInterrupt):
        sys.setprofile(on_call)
        try:
            jaxnb.stage(CELLS["pieces"] + "\nw = z", names)
        finally:
            sys.setprofile(None)
    assert not _other(kept, _held()) and not undo_depth()


def test_a_place_that_an_interrupt_left_in_jax_is_not_that_of_the_next_cell() -> None:
    (eqn,) = jax.make_jaxpr(jnp.sin)(1.0).eqns
    source_info_util.user_context(eqn.source_info.traceback).__enter__()  # and its end never comes
    assert _line_of_what_is_traced() == 2
