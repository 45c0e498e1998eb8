"""Loading into IPython, and leaving without a trace."""

from __future__ import annotations

import contextlib
import gc
import platform
import sys
from collections.abc import Generator
from typing import Any

import jaxnb.shell as room
from jaxnb import __version__, _jax, clusters, staging
from jaxnb.errors import JaxnbError

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_ATTRIBUTE = "_jaxnb_magics"
_PARKED = "_jaxnb_session"


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext jaxnb`: registers the magics and prints one line. No backend is started."""
    with _no_collection():
        import jax
        import jaxlib

        try:
            settings_of, magics_of = room.JaxNB, room.JaxnbMagics
        except (ImportError, AttributeError) as error:
            raise _unknown_jax() or error from error
    staging.prepare_backend()
    session, values = shell.__dict__.pop(_PARKED, None) or (None, {})
    before = staging.current_session()
    settings = settings_of(parent=shell, **values)
    magics = magics_of(shell, settings, session)
    shell.register_magics(magics)
    shell.configurables.append(settings)
    shell.events.register("pre_run_cell", magics.before_cell)
    shell.events.register("post_run_cell", magics.after_cell)
    magics.enter()
    setattr(shell, _ATTRIBUTE, magics)
    if before is not None:
        magics.session.elsewhere = magics.session.elsewhere or before.elsewhere
    staging.use_session(magics.session)
    versions = f"jax {jax.__version__} · jaxlib {jaxlib.version.__version__} · Python {platform.python_version()}"
    there: Any = magics.session.elsewhere
    others = clusters.listed_clusters(there.cluster.name if there is not None else "")
    print("\n".join([f"jaxnb {__version__} · {versions}", *others]))


def _unknown_jax() -> JaxnbError | None:
    """What to say where a module does not load because this JAX lacks what it needs; None if it has all of it."""
    found = [item.what for item in _jax.broken()]
    if not found:
        return None
    return JaxnbError(
        "this version of jax is another inside than those that jaxnb knows.",
        why=f"{found[0]}{f', and {len(found) - 1} more' if len(found) > 1 else ''}.",
        fix="jaxnb doctor, on the command line, lists what is missing, and which versions to install.",
    )


@contextlib.contextmanager
def _no_collection() -> Generator[None]:
    """Importing makes much and drops nothing: a collection of JAX's heap in between takes longer than all of it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext jaxnb`: removes the magics, the events, the settings and everything that was staged."""
    magics = shell.__dict__.pop(_ATTRIBUTE, None)
    if magics is None:
        return
    if _is_reloading():
        values = {name: getattr(magics.settings, name) for name in magics.settings.trait_names(config=True)}
        setattr(shell, _PARKED, (magics.session, values))
    shell.events.unregister("pre_run_cell", magics.before_cell)
    shell.events.unregister("post_run_cell", magics.after_cell)
    magics.leave()
    manager = shell.magics_manager
    for kind, names in type(magics).magics.items():
        for name in names:
            manager.magics[kind].pop(name, None)
    manager.registry.pop(type(magics).__name__, None)
    for own in (magics, magics.settings):  # IPython itself adds every object with magics
        if own in shell.configurables:
            shell.configurables.remove(own)
    staging.use_session(None)


def _is_reloading() -> bool:
    """Whether IPython unloads only to load again: `%reload_ext` calls the same function and says nothing of it."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code.co_name == "reload_extension":
            return True
        frame = frame.f_back
    return False
