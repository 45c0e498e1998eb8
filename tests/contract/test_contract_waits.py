"""What Python waits for a device for."""

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
from covering import covers, private

from jaxnb._jax import WaitLog


@covers("array.ArrayImpl._value", "array.ArrayImpl._npy_value")
def test_numbers_texts_and_truths_are_told() -> None:
    kind = private("array").ArrayImpl
    before, told = [vars(kind)[name] for name in ("_value", "item")], list[float]()
    log = WaitLog(told.append)
    log.start()
    try:
        x: Any = None
        looks: tuple[Any, ...] = (float, int, bool, str, repr, lambda x: x.tolist(), lambda x: f"{x:.2f}")
        for number, look in enumerate(looks, 1):
            x = jax.jit(lambda: jnp.float32(1.5))()
            look(x)
            assert len(told) == number, look
        assert x.item() == 1.5 and len(told) == 8
        assert log.failure == "" and all(seconds >= 0 for seconds in told)
    finally:
        log.stop()
    assert [vars(kind)[name] for name in ("_value", "item")] == before


def test_threads_do_not_hide_one_another() -> None:
    """One waits in `item` for what takes long while another needs a number that is there."""
    told: list[float] = []
    log = WaitLog(told.append)
    long = jax.jit(lambda m: (m @ m @ m @ m @ m @ m)[0, 0])
    m = jnp.ones((1200, 1200))
    long(m).block_until_ready()
    log.start()
    try:
        other = jax.jit(lambda: jnp.float32(2.5))().block_until_ready()
        thread = threading.Thread(target=long(m).item)
        thread.start()
        while not log._asking and thread.is_alive():  # pyright: ignore[reportPrivateUsage]
            pass
        assert float(other) == 2.5
        thread.join()
    finally:
        log.stop()
    assert len(told) == 2
