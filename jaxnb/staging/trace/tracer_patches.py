"""While a cell is traced: answers that a plain cell would give otherwise, and the questions that must not be answered.

A tracer stands where the plain cell has an array, a NumPy value or a Python scalar. `isinstance`, `type`, `hasattr`,
`getattr` and `id` are answered for what it stands for; `str`, `repr`, `format` and `hash` need the value itself, and so
do the attributes that only a concrete array has, and an error that the cell's own `except` would swallow (SEMANTICS,
rule 7).
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import REPLACED, NumpyValue, TraceWatch, number_class, stand_for_number
from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.spoken import is_only_said
from jaxnb.staging.trace.kinds import looks_at_values
from jaxnb.staging.trace.recorder import Recorder
from jaxnb.staging.trace.side_effects import SideEffects, write_to
from jaxnb.staging.trace.size_questions import SizeQuestions

__all__ = ["TracerPatches", "ValueNeeded"]


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
    return _jax.array_class(leaf) if type(leaf) is jax.ShapeDtypeStruct else type(leaf)


def _is_array(kind: type | None) -> bool:
    """Whether the plain cell has an array of JAX where the class is this one; None where that could not be told."""
    return kind is _jax.Array or kind is _jax.KeyArray


def _is_over_devices(array: jax.Array) -> bool:
    return len(array.sharding.device_set) > 1


_NUMBERS = (int, float, complex)
_WANTED = {
    "__hash__": "its hash is wanted",
    "__bytes__": "its bytes are wanted",
    "__dir__": "the names of its attributes are wanted",
    "__sizeof__": "the size of its object is wanted",
}
"""What is wanted by which special method; the others give a text."""


def _extreme(original: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for `min` or `max` where sizes are names."""

    @functools.wraps(original)
    def extreme(*args: Any, **kwargs: Any) -> Any:
        sizes = len(args) == 2 and not kwargs and all(type(item) is int or _jax.is_dim(item) for item in args)
        if sizes and any(map(_jax.is_dim, args)):
            return _jax.extreme_dim(original.__name__, *args)
        return original(*args, **kwargs)

    return extreme


class TracerPatches:
    """What the tracers of one trace stand for.

    Args:
      leaves: the values.
      tracers: the tracer for each.
      outside: takes down what is to be said with values that are not there yet.
      text: a value as a user would write it, by its position.
      to_jax: positions of the leaves with which only JAX computes: what is differentiated by.
      lies: the sharding that every array of the trace has, as far as can be told then; None if that cannot be told.
      on_host: whether numbers that change are inputs, so that questions about their class must be answered.
      identify: called with a value whose id is asked for; gives what was there in its place, if it was built anew.
      questions: what is asked of sizes, where they are names, which stand for ints.

    Attributes:
      held: what stands for each leaf where the user's names and containers hold it: a tracer, or a `NumpyValue`.
      recorder: computes with NumPy's values.
      plain: the values that are no JAX arrays, by the id of what stands for them.
      originals: the built-in functions that were replaced, by the id of the replacement.
      ids: what was answered where an id was asked for.
    """

    NAMES = ("isinstance", "type", "hasattr", "getattr", "print", "id", "len", "min", "max")

    def __init__(
        self,
        leaves: Sequence[Any],
        tracers: Sequence[Any],
        outside: SideEffects,
        text: Callable[[int], str],
        to_jax: Collection[int] = (),
        lies: Callable[[], Any] = lambda: None,
        on_host: bool = False,
        identify: Callable[[Any], Any] = lambda value: value,
        questions: SizeQuestions | None = None,
    ) -> None:
        self._questions = questions
        self._lies, self._on_host, self._identify = lies, on_host, identify
        self._tracers: Sequence[Any] = tracers
        self._outside = outside
        self._trace: object = _jax.surrounding_trace()
        self.recorder = Recorder(self.need, self._type_of)
        self.held = [
            tracers[index] if index in to_jax else self.recorder.leaf(index, leaf, tracers[index], text)
            for index, leaf in enumerate(leaves)
        ]
        own = (float, complex, int, np.ndarray, np.generic)
        self.plain = self.recorder.values
        self.plain.update((id(t), leaf) for t, leaf in zip(self.held, leaves, strict=True) if isinstance(leaf, own))
        self._arrays = {id(t): leaf for t, leaf in zip(tracers, leaves, strict=True) if isinstance(leaf, jax.Array)}
        self._spread = [(t, a) for t in tracers if (a := self._arrays.get(id(t))) is not None and _is_over_devices(a)]
        self.ids: set[int] = set()
        self._types = {id(t): _jax.Array for t in tracers}
        self._types.update((id(t), _kind_of(leaf)) for t, leaf in zip(self.held, leaves, strict=True))
        for leaf, tracer in zip(leaves, tracers, strict=True):
            stand_for_number(tracer, type(leaf))
        self.asked: list[ValueNeeded] = []
        self.originals: dict[int, Any] = dict(REPLACED)
        self.line = 0

    def install(self, namespace: dict[str, Any]) -> None:
        """Puts the stand-ins of built-in functions into the namespace, unless the user has such names there."""
        made = {
            "isinstance": self._isinstance_for,
            "type": self._type_for,
            "hasattr": self._hasattr_for,
            "getattr": self._getattr_for,
            "print": self._print_for,
            "id": self._id_for,
        }
        if self._questions is not None:
            made |= {"len": self._len_for, "min": partial(_extreme, min), "max": partial(_extreme, max)}
        for name, make in made.items():
            if name not in namespace:
                namespace[name] = stand_in = make()
                self.originals[id(stand_in)] = getattr(builtins, name)

    def on_text(self, tracer: Any, method: str, frame: FrameType, *spec: str) -> str | None:
        """Called when code of the user asks for the text or the hash of a tracer. A text that is only said comes later.

        Returns:
          What stands for the text; None never.
        """
        if method == "__format__" and self._can_come_later(tracer) and is_only_said(frame):
            return self._outside.promise(tracer, *spec)
        self.need(tracer, _WANTED.get(method, "its text is wanted"))

    def on_library_text(self, tracer: Any) -> None:
        """Called when a library built on JAX asks for the text of a tracer."""
        if not self._is_inner(tracer):
            self.need(tracer, "its text is wanted")

    def on_library_test(self, tracer: Any) -> None:
        """Called when a library built on JAX makes a text, or the user's answer, of it that a value is a tracer."""
        if not self._is_inner(tracer):
            self.need(tracer, "it is told whether it is traced")

    def on_class(self, tracer: Any) -> type:
        """Called when code of the user reads the class of a tracer as its `__class__`."""
        plain = self.class_of(tracer)
        if plain is None:
            self.need(tracer, "its type is wanted")
        return plain

    def on_missing(self, tracer: Any, name: str, frame: FrameType) -> Any:
        """Called when code of the user reads an attribute that a tracer lacks. The sharding may be known.

        Raises:
          AttributeError: with the words of the plain cell's value, which has no such attribute either.
        """
        if (sharding := self._sharding(tracer, name)) is not None:
            return sharding
        if self._has(tracer, name) is not False:
            self.need(tracer, f"its attribute {name} is wanted, which only a concrete value has")
        kind = self.class_of(tracer)
        if kind is not None and kind is not type(tracer):
            called = f"{kind.__module__}.{kind.__qualname__}" if kind is _jax.Array else kind.__name__
            raise AttributeError(f"{called!r} object has no attribute {name!r}", name=name) from None

    def on_object(self, tracer: Any, name: str) -> None:
        """Called when code of the user reads an attribute by which the object of an array differs from a tracer."""
        if not self._is_inner(tracer):
            self.need(tracer, f"its attribute {name} is wanted, which says how the object is made")

    def check(self, watch: TraceWatch) -> None:
        """After the statements: was a question swallowed that the plain cell would have answered?

        Raises:
          ValueNeeded: if so.
        """
        if self.asked:
            raise self.asked[0]
        if self.recorder.failed:
            raise ValueNeeded(None, "the cell caught an error of a computation with NumPy")
        if watch.errors:
            raise ValueNeeded(None, "the cell caught an error that only tracing raises", watch.errors[0])

    def close(self) -> None:
        """The trace is over: no tracer is held any more."""
        self.asked.clear()
        self._tracers, self.held, self._arrays, self._trace = (), [], {}, None
        self.recorder.close()

    def on_numpy(self, tracer: Any, other: Any, function: Callable[..., Any], reflected: bool) -> Any:
        """Called when an operator meets a tracer and a NumPy value. A Python scalar and such a value are NumPy's."""
        if self._questions is not None and self._questions.is_number(tracer):
            self.need(tracer, "NumPy computes with a size")
        return self.recorder.operate(function, *((other, tracer) if reflected else (tracer, other)))

    def on_number(self, result: Any, function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        """Called when an operator has computed with a tracer that stands for a number."""
        if self._questions is not None:
            self._questions.on_number(result, function, operands)

    def on_device_get(self, tracer: Any) -> None:
        """Called when a tracer is to become a NumPy array."""
        if _jax.trace_of(tracer) is self._trace:
            self.need(tracer, "jax.device_get makes a NumPy array of it")

    def on_lowered(self, tracer: Any) -> None:
        """Called when code of the user lowers a function that has closed over a tracer."""
        if _jax.trace_of(tracer) is self._trace:
            self.need(tracer, "a function that is lowered has it as a constant")

    def on_exponent(self, tracer: Any) -> None:
        """Called when an integer is raised to the power of a tracer."""
        if _jax.trace_of(tracer) is self._trace:
            self.need(tracer, "the value of an exponent decides the type")

    def on_walk(self, tracer: Any) -> None:
        """Called when somebody walks over a tracer: JAX fetches an array that is split over devices, and puts each part
        on the default one."""
        if self._questions is not None:
            self._questions.on_rows(tracer.shape)
        if _jax.trace_of(tracer) is self._trace and self.is_spread(tracer, walks=True):
            self.need(tracer, "it walks over an array that is split over devices")

    def is_spread(self, tracer: Any, walks: bool = False) -> bool:
        """Whether a tracer stands for an array on several devices, or was computed from one.

        Args:
          tracer: of the trace itself.
          walks: whether one that is whole on each of them does not count.
        """
        spread = {id(t) for t, leaf in self._spread if not (walks and leaf.sharding.is_fully_replicated)}
        if id(tracer) in self._arrays or not spread:
            return id(tracer) in spread
        roots = [t.val for t in self._tracers if id(t) in spread]
        return _jax.is_computed_from(tracer, roots)

    def is_no_array(self, tracer: Any) -> bool:
        """Whether a tracer stands for what is no JAX array in the plain cell, or may stand for several that are."""
        known = id(tracer) in self.plain or id(tracer) in self.recorder.lifts
        return known or number_class(tracer) is not None

    def class_of(self, tracer: Any) -> type | None:
        """The class of the plain cell's value; None where it could be several."""
        if (number := number_class(tracer)) is not None:
            return number if self._on_host or self._is_of_sizes(tracer) else None
        if self._is_inner(tracer):
            return None if _jax.is_of_custom_rule(tracer) else type(tracer)
        plain = self._type_of(tracer)
        return plain if _is_array(plain) else None

    def need(self, tracer: Any, what: str) -> NoReturn:
        error = ValueNeeded(tracer, what)
        self.asked.append(error)
        raise error

    def _type_of(self, tracer: Any) -> type | None:
        """What the plain cell has there; None where it could be a Python scalar or a NumPy value."""
        known = self._types.get(id(tracer)) if id(tracer) not in self.recorder.lifts else _jax.Array
        known = known or number_class(tracer)
        if known is not None:
            return known
        sources, complete = _jax.sources_of(tracer, self._tracers)
        if complete and sources and all(id(self._tracers[index]) in self.plain for index in sources):
            return None
        return _jax.array_class(tracer)

    def _has(self, tracer: Any, name: str) -> bool | None:
        """Whether the plain cell's value has an attribute; None where that depends on what kind of value it is."""
        leaf = self.plain.get(id(tracer), tracer)
        if leaf is not tracer:
            return hasattr(leaf, name)
        plain = self._type_of(tracer)
        kinds = (plain,) if plain is not None else (_jax.Array, float, np.ndarray)
        answers = {hasattr(kind, name) for kind in kinds}
        return answers.pop() if len(answers) == 1 else None

    def _sharding(self, value: Any, name: Any) -> Any:
        """How the plain cell's array lies, if it is asked for that, and if it can be told; None otherwise."""
        if not builtins.isinstance(name, str) or name != "sharding" or not _jax.is_tracer(value):
            return None
        own = _jax.trace_of(value) is self._trace and _is_array(self._type_of(value))
        return self._lies() if own else None

    def _lacks(self, value: Any, name: Any) -> bool:
        """Whether a tracer has an attribute that the plain cell's value lacks. Stops where that cannot be told."""
        if not _jax.is_tracer(value) or not builtins.isinstance(name, str):
            return False
        if self._is_inner(value) and number_class(value) is None:
            if _jax.is_of_custom_rule(value) and hasattr(value, name) != hasattr(_jax.Array, name):
                self.need(value, f"it is asked for its attribute {name}")  # plainly it may be called with the array
            return False
        expected = self._has(value, name)
        if expected and name in _jax.OF_OBJECTS:
            self.on_object(value, name)
        if expected is None or (expected and not hasattr(value, name)):
            self.need(value, f"it is asked for its attribute {name}")
        return not expected

    def _hasattr_for(self) -> Any:
        def hasattr(value: Any, name: str, /) -> bool:
            if self._sharding(value, name) is not None:
                return True
            return not self._lacks(value, name) and builtins.hasattr(value, name)

        return hasattr

    def _getattr_for(self) -> Any:
        def getattr(value: Any, name: str, /, *default: Any) -> Any:
            if (sharding := self._sharding(value, name)) is not None:
                return sharding
            if not self._lacks(value, name):
                return builtins.getattr(value, name, *default)
            if default:
                return default[0]
            raise AttributeError(f"{self._type_of(value)!r} object has no attribute {name!r}", name=name, obj=value)

        return getattr

    def _id_for(self) -> Any:
        def id(value: Any, /) -> int:
            number = builtins.id(self._object_for(value))
            self.ids.add(number)
            return number

        return id

    def _object_for(self, value: Any) -> Any:
        """The object of the plain cell, whose id is asked for."""
        if type(value) in ATOMS or (_jax.is_tracer(value) and self._is_inner(value)):
            return value
        original = self._identify(value)
        leaf = self.plain.get(id(value), self._arrays.get(id(value), original))
        if type(leaf) in ATOMS:
            self.need(value, "its id is wanted")
        return leaf

    def _len_for(self) -> Any:
        def len(value: Any, /) -> Any:
            shape = value.shape if _jax.is_tracer(value) else ()
            return shape[0] if shape and _jax.is_dim(shape[0]) else builtins.len(value)

        return len

    def _is_of_sizes(self, value: Any) -> bool:
        """Whether something is a size that is a name, or a number that was computed from such, known in each run."""
        return (
            self._questions is not None
            and not builtins.isinstance(value, _NUMBERS)
            and self._questions.is_number(value)
        )

    def _class_of_sizes(self, value: Any) -> type:
        """The class of a number that sizes tell."""
        return number_class(value) or (self._questions.class_of(value) if self._questions is not None else int)

    def _is_said_later(self, item: Any) -> bool:
        """Whether something that is printed is not there while tracing: a tracer, or sizes that are names."""
        if _jax.is_tracer(item):
            return True
        sizes = item if builtins.isinstance(item, tuple) else (item,)
        return self._questions is not None and any(map(_jax.is_dim, sizes))

    def _print_for(self) -> Any:
        def print(
            *args: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
        ) -> None:
            if not any(map(self._is_said_later, args)) or file not in (None, sys.stdout, sys.stderr):
                builtins.print(*args, sep=sep, end=end, file=file, flush=flush)
                return
            parts: list[Any] = []
            for item in args:
                if _jax.is_tracer(item) and not self._can_come_later(item):
                    self.need(item, "its text is wanted")
                parts += [" " if sep is None else sep, item if self._is_said_later(item) else str(item)]
            stream = "stderr" if file is not None and file is sys.stderr else "stdout"
            self._outside.tell_text(partial(write_to, stream), *parts[1:], "\n" if end is None else end)

        return print

    def _can_come_later(self, value: Any) -> bool:
        """Whether something printed is an array of the program, whose text is that of the result, or a number of
        Python's own, which is said as it is then."""
        own = (
            _jax.is_tracer(value) and _jax.trace_of(value) is _jax.trace_of(self._tracers[0])
            if self._tracers
            else False
        )
        if own and self._on_host and number_class(value) is not None:
            return True
        return own and _is_array(self._type_of(value))

    def _is_inner(self, tracer: Any) -> bool:
        """Whether a tracer is one in the plain cell, too: of a function that the code has JAX trace or transform."""
        return _jax.trace_of(tracer) is not self._trace and id(tracer) not in self._types

    def _isinstance_for(self) -> Any:
        def isinstance(value: Any, kinds: Any, /) -> bool:
            if self._is_of_sizes(value):
                return issubclass(self._class_of_sizes(value), kinds)
            answer = builtins.isinstance(value, kinds)
            if not _jax.is_tracer(value):
                return answer
            if self._is_inner(value) and number_class(value) is None:
                if answer != issubclass(_jax.Array, kinds) and _jax.is_of_custom_rule(value):
                    self.need(value, "its type is tested")  # plainly such a function may be called with the array
                return answer
            plain = self._type_of(value)
            if looks_at_values(kinds):
                leaf = self.plain.get(id(value))
                if not _is_array(plain) and (leaf is None or builtins.isinstance(leaf, kinds) != answer):
                    self.need(value, "its type is tested")
                return answer
            if plain is None:
                candidates = (_jax.Array, float, np.ndarray)
                if len({issubclass(kind, kinds) for kind in candidates}) > 1:
                    self.need(value, "its type is tested")
                return issubclass(_jax.Array, kinds)
            expected = issubclass(plain, kinds)
            if expected != answer and not (_is_array(plain) or (self._on_host and number_class(value) is not None)):
                self.need(value, "its type is tested")
            return expected

        return isinstance

    def _type_for(self) -> Any:
        stand_ins = self

        class Meta(builtins.type):
            def __call__(cls, *args: Any, **kwargs: Any) -> Any:
                if len(args) == 1 and builtins.type(args[0]) is NumpyValue:
                    return args[0].__class__
                if len(args) == 1 and stand_ins._is_of_sizes(args[0]):
                    return stand_ins._class_of_sizes(args[0])
                if len(args) != 1 or not _jax.is_tracer(args[0]):
                    made = builtins.type(*args, **kwargs)
                    if len(args) == 3 and "__module__" not in args[2]:
                        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
                        made.__module__ = caller.f_globals.get("__name__", "__main__")
                    return made
                return stand_ins.on_class(args[0])

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
