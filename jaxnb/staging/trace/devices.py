"""Which device a cell runs on, and what has to be moved there."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxnb.errors import Refused

__all__ = ["find_device", "move", "on_device"]


def find_device(text: str) -> Any:
    """The device that `cpu`, `cpu:1`, `gpu`, `cuda:0` or `tpu` names.

    Raises:
      Refused: if there is none, with a list of those that there are.
    """
    platform, _, number = text.partition(":")
    try:
        devices = jax.devices(platform)
        return devices[int(number) if number else 0]
    except (RuntimeError, IndexError, ValueError):
        platforms = dict.fromkeys(device.platform for device in jax.devices())
        with contextlib.suppress(RuntimeError):
            platforms.update(dict.fromkeys(device.platform for device in jax.devices("cpu")))
        found = [f"{name}:{index}" for name in platforms for index in range(len(jax.devices(name)))]
        raise Refused(
            f"there is no device {text!r} here.",
            why=f"JAX sees {', '.join(found)}.",
            fix=f"--device {found[0]}, or leave the option out.",
        ) from None


def on_device(device: Any) -> contextlib.AbstractContextManager[Any]:
    """Makes a device the default one, so that what a cell creates is created there."""
    return jax.default_device(device) if device is not None else contextlib.nullcontext()


def move(leaves: Sequence[Any], device: Any) -> tuple[list[Any], int]:
    """The leaves on `device`, and how many bytes had to be moved there. Python scalars stay as they are."""
    moved: list[Any] = []
    total = 0
    for leaf in leaves:
        if isinstance(leaf, jax.Array):
            if leaf.devices() != {device}:
                total += leaf.nbytes
                leaf = jax.device_put(leaf, device)
            elif not leaf.committed:
                leaf = jax.device_put(leaf, device)
        elif isinstance(leaf, np.ndarray | np.generic):
            total += leaf.nbytes
            leaf = jax.device_put(leaf, device)
        moved.append(leaf)
    return moved, total
