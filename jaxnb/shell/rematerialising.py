"""`%jaxnb remat loss wrt params`: what a gradient of the last cell would take under other policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jaxnb.errors import JaxnbError
from jaxnb.shell.header import parse_grad, parse_header

if TYPE_CHECKING:
    from jaxnb.program import RematPolicies
    from jaxnb.staging import Run

__all__ = ["remat_command"]

_MAGIC = "%jaxnb remat"
_OPTIONS = {"time": "flag"}


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
    if not text or text.startswith("--"):
        header = parse_header(text, _OPTIONS, _MAGIC)
    else:
        header = parse_grad(text, _MAGIC, _OPTIONS)
    if run is None:
        raise JaxnbError("no cell has been staged yet.", fix="run a cell that begins with %%jit, and ask then.")
    time = bool(header.get("time"))
    return run.remat(time=time, loss=header.get("loss", ""), wrt=header.get("wrt", ()), progress=progress)
