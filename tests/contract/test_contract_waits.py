"""What Python waits for a device for."""

from __future__ import annotations

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
