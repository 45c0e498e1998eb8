"""How data shows itself: it names a form, and whoever can draw it in that form has said so.

The data knows nothing of how it is drawn. `jaxnb/__init__.py` says who fills the table, which is loaded when the first
thing is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

__all__ = ["Displayed", "Picture", "filled_by", "lowers", "render"]


class Picture(Protocol):
    """What shows itself in a notebook, and can be written to a file."""

    @property
    def svg(self) -> str:
        """As an SVG file."""
        ...

    @property
    def html(self) -> str:
        """As HTML."""
        ...


_lowerings: dict[tuple[type, str], Callable[..., Any]] = {}
_fillers: list[str] = []


def filled_by(module: str) -> None:
    """Says which module fills the table of what draws what, by `lowers`, as it is loaded."""
    _fillers.append(module)


def lowers(kind: type, form: str, draw: Callable[..., Any]) -> None:
    """Enters what draws the objects of a class in one form, such as "text", "html" or "svg"."""
    _lowerings[kind, form] = draw


def render(value: object, form: str, /, *args: Any, **options: Any) -> Any:
    """What an object is in one form: a text, or a picture that shows itself.

    Raises:
      TypeError: if nobody draws it so.
    """
    draw = _drawing(type(value), form)
    if draw is None:
        for module in _fillers:  # where another thread does it already, the import waits for that
            import_module(module)
        draw = _drawing(type(value), form)
    if draw is None:
        raise TypeError(f"nothing draws a {type(value).__name__} as {form}")
    return draw(value, *args, **options)


def _drawing(kind: type, form: str) -> Callable[..., Any] | None:
    return next((draw for base in kind.__mro__ if (draw := _lowerings.get((base, form))) is not None), None)


class Displayed:
    """Data that shows itself: as text, and in a notebook as HTML."""

    __slots__ = ()

    @property
    def html(self) -> str:
        """As HTML."""
        return str(render(self, "html"))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html}

    def __str__(self) -> str:
        return render(self, "text")

    __repr__ = __str__
