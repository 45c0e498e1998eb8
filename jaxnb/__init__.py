"""jaxnb: see what `jit` makes of a notebook cell.

`%load_ext jaxnb` in a notebook, or the functions below in a script. Importing this package imports neither jax nor
IPython; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxnb._version import __version__

if TYPE_CHECKING:
    from jaxnb.errors import BadHeader, JaxnbError, NeedsConcrete, Refused
    from jaxnb.named import NamedShape, SerialLoop, fake_mesh, named_shape, serial_loop, xmap
    from jaxnb.program import Finding, Fix, Program

_HOMES = {
    "NamedShape": "named",
    "SerialLoop": "named",
    "fake_mesh": "named",
    "named_shape": "named",
    "serial_loop": "named",
    "xmap": "named",
    "BadHeader": "errors",
    "Finding": "program",
    "Fix": "program",
    "JaxnbError": "errors",
    "NeedsConcrete": "errors",
    "Program": "program",
    "Refused": "errors",
}

__all__ = [*sorted(_HOMES), "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'jaxnb' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"jaxnb.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
