"""`%jaxnb gradient` and `%jaxnb remat`: how a gradient of the last cell is taken, and what if it kept less."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jaxnb import staging
from jaxnb.shell.header import parse_grad, parse_header

if TYPE_CHECKING:
    from jaxnb.program import Gradients, RematPolicies
    from jaxnb.staging import Run

__all__ = ["gradient_command", "remat_command"]


def remat_command(text: str, run: Run | None, progress: Callable[[str], None]) -> RematPolicies:
    """Tries policies on the gradient of the last run.

    Args:
      text: what stands behind `%jaxnb remat`: `loss wrt params --time`; nothing asks for the gradient of the run.
      run: the last one.
      progress: called with what is going on.

    Raises:
      BadHeader: pointing at the word that is wrong.
      JaxnbError: if no cell has run, or it takes no gradient.
    """
    header = _read(text, "%jaxnb remat", {"time": "flag"})
    time = header.pop("time", False)
    return _there(run).remat(time=time, progress=progress, **header)


def gradient_command(text: str, run: Run | None) -> Gradients:
    """Says how the gradients of the last run are taken. Arguments and errors: as of `remat_command`."""
    header = _read(text, "%jaxnb gradient", {})
    return _there(run).gradients(**header)


def _read(text: str, magic: str, options: Mapping[str, str]) -> dict[str, Any]:
    alone = not text or text.startswith("--")
    return parse_header(text, options, magic) if alone else parse_grad(text, magic, options)


def _there(run: Run | None) -> Run:
    if run is None:
        raise staging.no_run()
    return run
