"""How a trace ends before its last statement."""

from __future__ import annotations

__all__ = ["MissingName", "ReadsGrown", "StopAt"]


class StopAt(Exception):
    """A statement turned out to read nothing of JAX: the piece ends before it, and Python runs it."""

    def __init__(self, index: int) -> None:
        self.index = index


class ReadsGrown(BaseException):
    """A method was about to read a list that was taken for one that only grows, what it holds not being looked at.

    Nothing of the method has run: what it would change through such a list could not be taken back.
    """


class MissingName(Exception):
    """A name that was taken for one that the piece binds itself is read first; its value is an input."""

    def __init__(self, name: str) -> None:
        self.name = name
