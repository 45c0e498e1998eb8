"""What IPython shows of JAX's own errors in plain cells, where one comes of a tracer that leaked in an earlier cell.

IPython shows an exception by its `_render_traceback_`, if its class has one; a handler that the user has set with
`set_custom_exc` goes before that. So JAX's classes get one while the extension is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxnb import _jax
from jaxnb.errors import unexplained
from jaxnb.program import Finding, attach, finding_of

__all__ = ["TracebackHooks"]

_HOOK = "_render_traceback_"


class TracebackHooks:
    """Gives JAX's classes of errors another way to be shown.

    Args:
      explain: gives the finding on an error, or None.
      source: gives the cell that ran, as displayed.
      render: gives the lines in which an error is shown, those of what was found out included.
    """

    def __init__(
        self,
        explain: Callable[[BaseException], Finding | None],
        source: Callable[[], str],
        render: Callable[[BaseException], list[str]],
    ) -> None:
        self._explain, self._source, self._render = explain, source, render

    def enter(self) -> None:
        """From now on."""
        answers = self

        def render(error: Any) -> list[str]:
            return answers._shown(error)

        for kind in _jax.SHOWN_ERRORS:
            setattr(kind, _HOOK, render)

    def leave(self) -> None:
        """No longer."""
        for kind in _jax.SHOWN_ERRORS:
            if _HOOK in vars(kind):
                delattr(kind, _HOOK)

    def attach_to(self, error: BaseException) -> None:
        """Attaches to an error what it comes of, if that is something an earlier cell did."""
        if finding_of(error) is not None:
            return
        try:
            finding = self._explain(error)
        except Exception as fault:  # the user's own error is what counts
            error.add_note(unexplained(fault))
            return
        if finding is not None:
            attach(error, finding, self._source())

    def _shown(self, error: BaseException) -> list[str]:
        self.attach_to(error)
        return self._render(error)
