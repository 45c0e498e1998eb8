"""While a cell is traced: answers that a plain cell would give otherwise, and the questions that must not be answered.

A tracer stands where the plain cell has an array, a NumPy value or a Python scalar. `isinstance`, `type`, `hasattr` and
`getattr` are answered for what it stands for; `str`, `repr`, `format` and `hash` need the value itself, and so do the
attributes that only a concrete array has, and an error that the cell's own `except` would swallow (SEMANTICS, rule 7).
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax_watch import TraceWatch

__all__ = ["StandIns", "ValueNeeded"]


class ValueNeeded(BaseException):
    """The value of a tracer was asked for. No `except Exception` of the cell is meant to catch it.

    Attributes:
      tracer: whose value.
      what: what asked for it, as a clause.
      line: of the cell, where the traceback does not tell.
    """

    def __init__(self, tracer: Any, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.tracer, self.what, self.line = tracer, what, line


def _kind_of(leaf: Any) -> type:
    """The class of what a leaf stands for: a shape stands for an array."""
    return _jax.Array if type(leaf) is jax.ShapeDtypeStruct else type(leaf)


class StandIns:
    """What the tracers of one trace stand for.

    Args:
      leaves: the values.
      tracers: the tracer for each.

    Attributes:
      plain: the leaves that are no JAX arrays, by the id of their tracer.
      originals: the built-in functions that were replaced, by the id of the replacement.
    """

    NAMES = ("isinstance", "type", "hasattr", "getattr")

    def __init__(self, leaves: Sequence[Any], tracers: Sequence[Any]) -> None:
        self._tracers = tracers
        self._types = {id(t): _kind_of(leaf) for t, leaf in zip(tracers, leaves, strict=True)}
        own = (float, complex, int, np.ndarray, np.generic)
        self.plain = {id(t): leaf for t, leaf in zip(tracers, leaves, strict=True) if isinstance(leaf, own)}
        self.asked: list[ValueNeeded] = []
        self.originals: dict[int, Any] = {}
        self.line = 0

    def install(self, namespace: dict[str, Any]) -> None:
        """Puts the stand-ins of built-in functions into the namespace, unless the user has such names there."""
        made = {
            "isinstance": self._isinstance_for,
            "type": self._type_for,
            "hasattr": self._hasattr_for,
            "getattr": self._getattr_for,
        }
        for name, make in made.items():
            if name not in namespace:
                namespace[name] = stand_in = make()
                self.originals[id(stand_in)] = getattr(builtins, name)

    def on_text(self, tracer: Any, method: str, frame: FrameType) -> None:
        """Called when code of the user asks for the text or the hash of a tracer."""
        what = "its text is wanted" if method != "__hash__" else "its hash is wanted"
        self._need(tracer, what)

    def on_missing(self, tracer: Any, name: str, frame: FrameType) -> None:
        """Called when code of the user reads an attribute that a tracer lacks."""
        if self._has(tracer, name) is not False:
            self._need(tracer, f"its attribute {name} is wanted, which only a concrete value has")

    def check(self, watch: TraceWatch) -> None:
        """After the statements: was a question swallowed that the plain cell would have answered?

        Raises:
          ValueNeeded: if so.
        """
        if self.asked:
            raise self.asked[0]
        if watch.errors:
            raise ValueNeeded(None, "the cell caught an error that only tracing raises", watch.errors[0])

    def _need(self, tracer: Any, what: str) -> None:
        error = ValueNeeded(tracer, what)
        self.asked.append(error)
        raise error

    def _type_of(self, tracer: Any) -> type | None:
        """What the plain cell has there; None where it could be a Python scalar or a NumPy value."""
        known = self._types.get(id(tracer))
        if known is not None:
            return known
        sources, complete = _jax.sources_of(tracer, self._tracers)
        if complete and sources and all(id(self._tracers[index]) in self.plain for index in sources):
            return None
        return _jax.Array

    def _has(self, tracer: Any, name: str) -> bool | None:
        """Whether the plain cell's value has an attribute; None where that depends on what kind of value it is."""
        leaf = self.plain.get(id(tracer), tracer)
        if leaf is not tracer:
            return hasattr(leaf, name)
        kinds = (_jax.Array,) if self._type_of(tracer) is _jax.Array else (_jax.Array, float, np.ndarray)
        answers = {hasattr(kind, name) for kind in kinds}
        return answers.pop() if len(answers) == 1 else None

    def _lacks(self, value: Any, name: Any) -> bool:
        """Whether a tracer has an attribute that the plain cell's value lacks. Stops where that cannot be told."""
        if not _jax.is_tracer(value) or not builtins.isinstance(name, str):
            return False
        expected = self._has(value, name)
        if expected is None or (expected and not hasattr(value, name)):
            self._need(value, f"it is asked for its attribute {name}")
        return not expected

    def _hasattr_for(self) -> Any:
        def hasattr(value: Any, name: str, /) -> bool:
            return not self._lacks(value, name) and builtins.hasattr(value, name)

        return hasattr

    def _getattr_for(self) -> Any:
        def getattr(value: Any, name: str, /, *default: Any) -> Any:
            if not self._lacks(value, name):
                return builtins.getattr(value, name, *default)
            if default:
                return default[0]
            raise AttributeError(f"{self._type_of(value)!r} object has no attribute {name!r}", name=name, obj=value)

        return getattr

    def _isinstance_for(self) -> Any:
        def isinstance(value: Any, kinds: Any, /) -> bool:
            answer = builtins.isinstance(value, kinds)
            if not _jax.is_tracer(value):
                return answer
            plain = self._type_of(value)
            if plain is None:
                candidates = (_jax.Array, float, np.ndarray)
                if len({issubclass(kind, kinds) for kind in candidates}) > 1:
                    self._need(value, "its type is tested")
                return issubclass(_jax.Array, kinds)
            expected = issubclass(plain, kinds)
            if expected != answer and plain is not _jax.Array:
                self._need(value, "its type is tested")
            return expected

        return isinstance

    def _type_for(self) -> Any:
        stand_ins = self

        class Meta(builtins.type):
            def __call__(cls, *args: Any, **kwargs: Any) -> Any:
                if len(args) != 1 or not _jax.is_tracer(args[0]):
                    made = builtins.type(*args, **kwargs)
                    if len(args) == 3 and "__module__" not in args[2]:
                        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
                        made.__module__ = caller.f_globals.get("__name__", "__main__")
                    return made
                plain = stand_ins._type_of(args[0])
                if plain is not _jax.Array:
                    stand_ins._need(args[0], "its type is wanted")
                return plain

            def __instancecheck__(cls, instance: Any) -> bool:
                return isinstance(instance, builtins.type)

            def __getitem__(cls, item: Any) -> Any:
                return builtins.type[item]

            def __or__(cls, other: Any) -> Any:
                return builtins.type | other

            def __ror__(cls, other: Any) -> Any:
                return other | builtins.type

            def __eq__(cls, other: object) -> bool:
                return other is builtins.type or other is cls

            def __hash__(cls) -> int:
                return hash(builtins.type)

        class type(builtins.type, metaclass=Meta):
            pass

        return type
