"""jaxnb: see what `jit` makes of a notebook cell.

`%load_ext jaxnb` in a notebook, or the functions below in a script. Importing this package imports neither jax nor
IPython; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxnb._version import __version__

if TYPE_CHECKING:
    from jaxnb.api import grad_cell, inspect, last, stage, xmap_cell
    from jaxnb.errors import BadHeader, JaxnbError, NeedsConcrete, Refused
    from jaxnb.findings.leaks import leaks, watch
    from jaxnb.findings.puts import watch_put
    from jaxnb.findings.retraces import retraces
    from jaxnb.named import NamedShape, SerialLoop, fake_mesh, named_shape, serial_loop, xmap
    from jaxnb.options import StageOptions
    from jaxnb.planning.search import search_resources
    from jaxnb.planning.simulate import simulate
    from jaxnb.program import Finding, Fix, Program
    from jaxnb.running.held import memory
    from jaxnb.running.run import Run
    from jaxnb.sharding import abstract, make_mesh, show_sharding
    from jaxnb.shell.commands import auto, devices
    from jaxnb.shell.extension import load_ipython_extension, unload_ipython_extension
    from jaxnb.shell.health import doctor
    from jaxnb.shell.widgets import widget

_HOMES = {
    "BadHeader": "errors",
    "Finding": "program",
    "Fix": "program",
    "JaxnbError": "errors",
    "NamedShape": "named",
    "NeedsConcrete": "errors",
    "Program": "program",
    "Refused": "errors",
    "Run": "running.run",
    "SerialLoop": "named",
    "StageOptions": "options",
    "abstract": "sharding",
    "auto": "shell.commands",
    "devices": "shell.commands",
    "doctor": "shell.health",
    "fake_mesh": "named",
    "grad_cell": "api",
    "inspect": "api",
    "leaks": "findings.leaks",
    "load_ipython_extension": "shell.extension",
    "last": "api",
    "make_mesh": "sharding",
    "memory": "running.held",
    "named_shape": "named",
    "retraces": "findings.retraces",
    "search_resources": "planning.search",
    "serial_loop": "named",
    "show_sharding": "sharding",
    "simulate": "planning.simulate",
    "stage": "api",
    "unload_ipython_extension": "shell.extension",
    "watch": "findings.leaks",
    "watch_put": "findings.puts",
    "widget": "shell.widgets",
    "xmap": "named",
    "xmap_cell": "api",
}

_MODULES = frozenset({"lax", "nn", "numpy", "random"})

__all__ = [
    "BadHeader",
    "Finding",
    "Fix",
    "JaxnbError",
    "NamedShape",
    "NeedsConcrete",
    "Program",
    "Refused",
    "Run",
    "SerialLoop",
    "StageOptions",
    "__version__",
    "abstract",
    "auto",
    "devices",
    "doctor",
    "fake_mesh",
    "grad_cell",
    "inspect",
    "last",
    "leaks",
    "load_ipython_extension",
    "make_mesh",
    "memory",
    "named_shape",
    "retraces",
    "search_resources",
    "serial_loop",
    "show_sharding",
    "simulate",
    "stage",
    "unload_ipython_extension",
    "watch",
    "watch_put",
    "widget",
    "xmap",
    "xmap_cell",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"jaxnb.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'jaxnb' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"jaxnb.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
