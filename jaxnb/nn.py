"""`jaxnb.nn`: `jax.nn` with named axes; see `jaxnb.named.nn`."""

from __future__ import annotations

from typing import Any

from jaxnb.named import nn as _named


def __getattr__(name: str) -> Any:
    return getattr(_named, name)


def __dir__() -> list[str]:
    return dir(_named)
