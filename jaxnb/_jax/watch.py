"""Questions that code asks of tracers while a cell is traced, and that JAX answers, or refuses, by itself.

A door to private JAX, as `_jax.py`: there is no public hook for any of these. Checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax._src import (
    api as _api,
    core as _core,  # jax.core.Tracer is replaced here
    custom_derivatives as _custom_derivatives,
)
from jax._src.interpreters.partial_eval import DynamicJaxprTrace as _DynamicTrace
from jax._src.lax.control_flow import loops as _loops
from jax.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer
from jax.stages import Traced as _Traced  # what `trace` gives, and `make_jaxpr` and `lower` begin with

from jaxnb._jax.base import TRACING_ERRORS, Array as _ArrayImpl, in_jax
from jaxnb._jax.hosted import NumpyValue, tracer_of
from jaxnb._jax.identity import array_of
from jaxnb._jax.scalars import asks, class_of_numbers, keep_number, number_class, refuse_attribute
from jaxnb.runtime import Undo, is_jax_module, is_library, is_own, tells

__all__ = ["OF_OBJECTS", "REPLACED", "Answers", "TraceWatch", "watch_trace"]


class Answers(Protocol):
    """Who is told of the questions. Each may raise."""

    def on_text(self, tracer: Any, method: str, frame: FrameType, *spec: str) -> str | None:
        """Called when code of the user asks for the text or the hash of a tracer. May answer in its place."""
        ...

    def on_library_text(self, tracer: Any) -> None:
        """Called when a library built on JAX asks for the text of a tracer."""
        ...

    def on_library_test(self, tracer: Any) -> None:
        """Called when a library built on JAX makes a text, or the user's answer, of it that a value is a tracer."""
        ...

    def on_class(self, tracer: Any) -> type:
        """Called when code of the user reads the class of a tracer as its `__class__`."""
        ...

    def on_missing(self, tracer: Any, name: str, frame: FrameType) -> Any:
        """Called when code of the user reads an attribute that a tracer lacks. May answer in its place."""
        ...

    def on_object(self, tracer: Any, name: str) -> None:
        """Called when code of the user reads an attribute that says how an object is made: of `OF_OBJECTS`."""
        ...

    def on_numpy(self, tracer: Any, other: Any, function: Callable[..., Any], reflected: bool) -> Any:
        """Called when an operator meets a tracer and a NumPy value. NotImplemented leaves it to JAX."""
        ...

    def on_number(self, result: Any, function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        """Called when an operator of the user's code has computed with a tracer that stands for a number."""
        ...

    def on_device_get(self, tracer: Any) -> None:
        """Called when a tracer is to become a NumPy array."""
        ...

    def on_lowered(self, tracer: Any) -> None:
        """Called when code of the user lowers a function that has closed over a tracer, or traces it to do so."""
        ...

    def on_exponent(self, tracer: Any) -> None:
        """Called when an integer is raised to the power of a tracer, the value of which decides the type."""
        ...

    def on_walk(self, tracer: Any) -> None:
        """Called when somebody walks over the first dimension of a tracer."""
        ...

    def is_no_array(self, tracer: Any) -> bool:
        """Whether a tracer stands for something that `jnp.asarray` makes a new array of."""
        ...


class TraceWatch:
    """What happened to tracers during a trace that JAX itself lets pass.

    Attributes:
      filename: of the cell.
      errors: for each tracing error that was made, whether or not somebody caught it, the line of the cell.
      answers: who is told of the questions.
      thread: the one that traces; what others do is none of its business.
      shown: whether code of the user made a jaxpr or lowered a function, which it may look into.
      with_constants: the traces, also of functions inside, that took something for a constant.
      arrays: variables of scalars that are arrays, though operators made them of Python's numbers and constants.
      constants: the large arrays that traces took for constants, and their tracers, by where they lie.
    """

    def __init__(self, filename: str, answers: Answers) -> None:
        self.filename, self.answers = filename, answers
        self.errors: list[int | None] = []
        self.thread = threading.get_ident()
        self.shown = False
        self.arrays: set[Any] = set()
        self.constants: dict[tuple[Any, ...], tuple[np.ndarray, weakref.ref[Any]]] = {}
        self.with_constants: weakref.WeakSet[Any] = weakref.WeakSet()

    def end_traces(self) -> None:
        """Ends the traces of functions that have failed inside: what they took for constants would hold them for ever.

        JAX ends those that come to their end. What others are under can be over and gone by then.
        """
        for trace in list(self.with_constants):
            if trace.frame.constvar_to_val:
                trace.invalidate()


_watch: list[TraceWatch] = []


def _watching() -> TraceWatch | None:
    """The watch on what this thread traces, if there is one."""
    return _watch[-1] if _watch and _watch[-1].thread == threading.get_ident() else None


@contextmanager
def watch_trace(
    filename: str, answers: Answers, reads_class: bool = False, reads: Collection[str] = ()
) -> Generator[TraceWatch]:
    """Reports what a plain cell would answer with a value and a trace with something else.

    Tracing errors are recorded when they are made. There is no public hook for any of these.

    Args:
      filename: of the cell.
      answers: who is told.
      reads_class: whether the code may read `__class__`, which JAX itself does in many an `isinstance`.
      reads: the names of attributes that the code reads; of those in `OF_OBJECTS` it is told.
    """
    watch = TraceWatch(filename, answers)
    with Undo() as undo:
        undo.add(_forget, watch)
        if not _watch:
            _install_hooks()
        for base in (_Classed,) * reads_class + (_Looked,) * (not OF_OBJECTS.isdisjoint(reads)):
            if base not in _core.Tracer.__bases__:
                _hooks.add(setattr, _core.Tracer, "__bases__", _core.Tracer.__bases__)
                _core.Tracer.__bases__ = (base, *_core.Tracer.__bases__)
        _watch.append(watch)
        yield watch


def _forget(watch: TraceWatch) -> None:
    _watch[:] = [item for item in _watch if item is not watch]
    if not _watch:
        _hooks.close()


_NEW_CONSTANT = "_new_const"
_CONVERT = "_closure_convert_for_avals"  # its cache keeps every function for ever, and with it what that holds


_hooks = Undo()
"""What is replaced while anything is traced, in whichever thread."""


def _install_hooks() -> None:
    for name in (*_TEXTS, "__hash__"):
        _hooks.patch(_core.Tracer, name, _text_hook(name))
    for name in _OF_ARRAYS:
        _hooks.add(delattr, _core.Tracer, name)
        setattr(_core.Tracer, name, _text_hook(name))
    _hooks.patch(_core.Tracer, "__getattr__", _attribute_hook(_core.Tracer.__getattr__))
    _hooks.patch(_DynamicTrace, _NEW_CONSTANT, _constant_hook(getattr(_DynamicTrace, _NEW_CONSTANT)))
    for kind in TRACING_ERRORS:
        if "__init__" in kind.__dict__:
            _hooks.patch(kind, "__init__", _error_hook(kind.__init__))

    _hooks.patch(jax.core, "Tracer", _TRACER)
    _hooks.patch(type(jax.Array), "__subclasscheck__", _subclass_hook(type(jax.Array).__subclasscheck__))
    _hooks.patch(type(jax.Array), "__instancecheck__", _instance_hook(type(jax.Array).__instancecheck__))
    _hooks.patch(_custom_derivatives, _CONVERT, getattr(_custom_derivatives, _CONVERT).__wrapped__)
    _hooks.patch(_Traced, "__init__", _traced_hook(_Traced.__init__))
    _hooks.patch(_core, "is_concrete", _concrete_hook(_core.is_concrete))
    _hooks.patch(_core.Tracer, "__iter__", _walk_hook(_core.Tracer.__iter__))
    for name in ("asarray", "array"):
        _hooks.patch(jnp, name, _array_hook_for(getattr(jnp, name)))
    _hooks.patch(_loops, _PUT, _put_hook(getattr(_loops, _PUT)))
    _hooks.patch(_api, _GET, _get_hook(getattr(_api, _GET)))
    for name in _OPERATORS:
        function = getattr(operator, f"__{name}__", divmod)
        _hooks.patch(_core.Tracer, f"__{name}__", _operator_hook(f"__{name}__", function, reflected=False))
        if name not in _COMPARISONS:
            _hooks.patch(_core.Tracer, f"__r{name}__", _operator_hook(f"__r{name}__", function, reflected=True))
    for name in _SIGNS:
        _hooks.patch(_core.Tracer, f"__{name}__", _sign_hook(f"__{name}__", getattr(operator, f"__{name}__")))


_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BITS = ("and", "or", "xor", "lshift", "rshift")
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "divmod", *_BITS, *_COMPARISONS)
_SIGNS = ("neg", "pos", "abs")
_GET = "_device_get"  # hands tracers back as they are
_PUT = "_maybe_put"  # puts NumPy's arrays on a device, and hands the rest on


def _operator_hook(name: str, function: Callable[..., Any], reflected: bool) -> Callable[..., Any]:
    """A Python scalar and a NumPy value make a NumPy value, also where a tracer stands for the scalar; two Python
    scalars make one of Python's."""
    original = getattr(_core.Tracer, name)

    def hook(self: Any, other: Any, *more: Any) -> Any:
        watch = _watching() if type(other) in _NUMPY else None
        if watch is not None and not in_jax(_caller().f_code.co_filename):
            result = watch.answers.on_numpy(self, other, function, reflected)
            if result is not NotImplemented:
                return result
        result = original(self, other, *more)
        if (_is_constant(self) or _is_constant(other)) and (watch := _watching()) is not None:
            watch.arrays.update(item.val for item in _parts(result) if _is_scalar(item))
        if number_class(self) is not None and asks(_caller()):
            operands = (other, self) if reflected else (self, other)
            keep_number(result, function, *operands)
            if (watch := _watching()) is not None:
                watch.answers.on_number(result, function, operands)
        return result

    return hook


def _is_constant(item: Any) -> bool:
    """Whether this is an array of no dimensions that the code made of numbers, such as `jnp.array(2)`."""
    if not isinstance(item, _JaxprTracer) or number_class(item) is not None:
        return False
    watch = _watching()
    return hasattr(item.val, "val") or (watch is not None and item.val in watch.arrays)


def _parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _is_scalar(item: Any) -> bool:
    return isinstance(item, _JaxprTracer) and np.shape(item) == () and not hasattr(item.val, "val")


def _concrete_hook(original: Any) -> Any:
    """`jnp.power` asks it of the exponent: it computes otherwise with a value, and for integers gives another type."""

    def is_concrete(x: Any) -> Any:
        watch = _watching() if isinstance(x, _core.Tracer) and np.shape(x) == () else None
        if watch is not None and jnp.issubdtype(x.dtype, jnp.integer):
            frame = _caller()
            base = frame.f_locals.get("x1") if frame.f_code.co_name == "power" else None
            if base is not None and jnp.issubdtype(jnp.result_type(base), jnp.integer):
                watch.answers.on_exponent(x)
        return original(x)

    return is_concrete


def _walk_hook(original: Any) -> Any:
    def __iter__(self: Any) -> Any:
        watch = _watching()
        if watch is not None:
            watch.answers.on_walk(self)
        return original(self)

    return __iter__


def _sign_hook(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    original = getattr(_core.Tracer, name)

    def hook(self: Any) -> Any:
        result = original(self)
        if number_class(self) is not None and asks(_caller()):
            keep_number(result, function, self)
            if (watch := _watching()) is not None:
                watch.answers.on_number(result, function, (self,))
        return result

    return hook


_NUMPY = frozenset({NumpyValue, np.ndarray, *np.sctypeDict.values()})


def _get_hook(original: Any) -> Any:
    def hook(value: Any) -> Any:
        if type(value) is NumpyValue:
            return value
        if isinstance(value, _core.Tracer) and (watch := _watching()) is not None:
            watch.answers.on_device_get(value)
        return original(value)

    return hook


class _Classed:
    """What has a `__class__` of its own: a base, as that of a class which exists is the class of the class."""

    __slots__ = ()

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        file = frame.f_code.co_filename
        if in_jax(file) or is_own(file) or is_library(_name_of(frame)) or (watch := _watching()) is None:
            return type(self)
        return watch.answers.on_class(self)


class _Looked:
    """What is told of reads of attributes: a base, and for code alone that reads such, as JAX reads many."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in OF_OBJECTS and (watch := _watching()) is not None and user_caller(_caller()) is not None:
            watch.answers.on_object(self, name)
        return object.__getattribute__(self, name)


OF_OBJECTS = frozenset(dir(_JaxprTracer)).difference(dir(_ArrayImpl), ("__getattr__", "__jax_array__")) | {
    *("__array_priority__", "__hash__", "__slots__", "__weakref__", "__annotations__", "__module__"),
}
"""Attributes by which the object of an array is another than a tracer: the tracer has them alone, or others."""


class _TracerClass:
    """Stands for `jax.core.Tracer`, which libraries look up when they ask; JAX itself has the class by another name."""

    __doc__ = _core.Tracer.__doc__

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type

    def __instancecheck__(self, value: Any) -> bool:
        traced = isinstance(value, _core.Tracer)
        if traced and (watch := _watching()) is not None:
            frame = _caller()
            if asks_for_user(frame) and (_makes_text(frame) or tells(frame)):
                watch.answers.on_library_test(value)
        return traced

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, _core.Tracer)

    def __mro_entries__(self, bases: Any) -> tuple[type]:
        return (_core.Tracer,)

    def __getattr__(self, name: str) -> Any:
        return getattr(_core.Tracer, name)

    def __or__(self, other: Any) -> Any:
        return _CLASS | other

    def __ror__(self, other: Any) -> Any:
        return other | _CLASS

    def __eq__(self, other: object) -> bool:
        return other is self or other is _core.Tracer

    def __hash__(self) -> int:
        return hash(_core.Tracer)


_TRACER = _TracerClass()
_CLASS: Any = _core.Tracer
REPLACED: dict[int, Any] = {id(_TRACER): _core.Tracer}
"""What is replaced while a trace is watched and code can hold, by the id of the replacement."""


def _makes_text(frame: FrameType | None) -> bool:
    """Whether a library asks in order to make the text of an object."""
    while frame is not None and is_library(_name_of(frame)):
        if frame.f_code.co_name in _TEXTS:
            return True
        frame = frame.f_back
    return False


_TEXTS = ("__repr__", "__str__", "__format__")
_OF_ARRAYS = ("__bytes__", "__dir__", "__sizeof__")
"""What the class of tracers does not define: its bytes, the names of its attributes, how large its object is."""


def _name_of(frame: FrameType | None) -> object:
    return frame.f_globals.get("__name__", "__main__") if frame is not None else None


def _traced_hook(original: Any) -> Callable[..., None]:
    """What `jax.make_jaxpr`, and `trace` and `lower` of a jitted function, give or begin with."""

    def hook(self: Any, *args: Any, **kwargs: Any) -> None:
        watch, frame = _watching(), _caller()
        while frame.f_back is not None and in_jax(frame.f_code.co_filename):
            frame = frame.f_back
        original(self, *args, **kwargs)
        if watch is not None and not is_own(frame.f_code.co_filename) and not is_library(_name_of(frame)):
            watch.shown = True
            constants = [item for item in self._consts if isinstance(item, _core.Tracer)]
            if constants:
                watch.answers.on_lowered(constants[0])

    return hook


def _subclass_hook(original: Any) -> Any:
    """`isinstance(x, Union[jax.Array, ...])` asks for the class of a value only: a tracer's counts as an array's.

    `functools.singledispatch` is told better, see `jaxnb.staging.trace.choosing`.
    """

    def hook(cls: Any, kind: Any) -> bool:
        tracer = cls is jax.Array and isinstance(kind, type) and issubclass(kind, _core.Tracer)
        if tracer and (number := class_of_numbers(kind)) is not None and asks(_beyond_typing(_caller())):
            return original(cls, number)
        return (tracer and _caller().f_globals.get("__name__") != "functools") or original(cls, kind)

    return hook


def _beyond_typing(frame: FrameType) -> FrameType:
    """The frame that asks `isinstance` for a `typing.Union`, which itself asks for the class."""
    while frame.f_globals.get("__name__") == "typing" and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _instance_hook(original: Any) -> Any:
    """A tracer that stands for a number is no array, but for JAX itself."""

    def hook(cls: Any, value: Any) -> bool:
        return (number_class(value) is None or not asks(_caller())) and original(cls, value)

    return hook


def _array_hook(original: Any) -> Any:
    """`jnp.asarray` hands a tracer back as it is. Where that stands for a NumPy value or a Python scalar, the plain
    cell would have got a new array, so that a new tracer of the same variable must come out."""

    @functools.wraps(original)
    def hook(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if (watch := _watching()) is not None and watch.answers.is_no_array(result):
            result = original(result, copy=True)
        return result

    return hook


def _array_hook_for(original: Any) -> Any:
    """The hook of a function, of which there is one: code that binds the function by its name binds that itself."""
    known = next((hook for hook, instead in _array_hooks if instead is original), None)
    if known is None:
        known = _array_hook(original)
        _array_hooks.append((known, original))
        REPLACED[id(known)] = original
    return known


_array_hooks: list[tuple[Any, Any]] = []
for _name in ("asarray", "array"):
    _array_hook_for(getattr(jnp, _name))  # so that it is known before anything is traced


def _put_hook(original: Any) -> Any:
    """What the body of a `lax.scan` hands on as it is comes out as an Array, also of what is a NumPy value."""

    def hook(value: Any) -> Any:
        watch = _watching()
        value = tracer_of(value) if watch is not None and type(value) is NumpyValue else value
        return array_of(value) if watch is not None and watch.answers.is_no_array(value) else original(value)

    return hook


def _text_hook(name: str) -> Callable[..., Any]:
    original = getattr(_core.Tracer, name, bytes)  # JAX's arrays have bytes as a buffer, and its tracers not at all

    def hook(self: Any, *args: Any) -> Any:
        watch = _watching() if name == "__hash__" or not _names_for_jax(_caller()) else None
        frame = _asking(self, _caller()) if watch is not None else None
        if frame is not None and watch is not None:
            answer = watch.answers.on_text(self, name, frame, *args)
            if answer is not None:
                return answer
        elif watch is not None and name in _TEXTS and asks_for_user(_caller()):
            watch.answers.on_library_text(self)
        return original(self, *args)

    return hook


def _names_for_jax(frame: FrameType | None) -> bool:
    """Whether JAX has the text made of an object that holds the tracer, as it does to name a function that is one.

    Methods of libraries, and those that `dataclass` writes, make it of the text of each part. A method of the user's
    own may do more than that.
    """
    maker: FrameType | None = None
    while frame is not None and (_is_generated_text(frame) or is_library(_name_of(frame))):
        if frame.f_code.co_name in _TEXTS:
            maker = frame
        frame = frame.f_back
    asker = maker.f_back if maker is not None else None
    while asker is not None and _name_of(asker) in _RECURSION_GUARDS:
        asker = asker.f_back
    return asker is not None and in_jax(asker.f_code.co_filename)


_RECURSION_GUARDS = ("dataclasses", "reprlib")
"""Where the function is defined that keeps a generated `__repr__` from calling itself for ever."""


def _is_generated_text(frame: FrameType) -> bool:
    """Whether a frame is that of a `__repr__` that `dataclass` has written."""
    return frame.f_code.co_filename == "<string>" and _name_of(frame.f_back) in _RECURSION_GUARDS


_OF_AVALS = frozenset(name for name in dir(jax.core.ShapedArray) if name[:1] != "_" and not hasattr(_ArrayImpl, name))
"""What a tracer has because its abstract value does, and an array has not."""


def _attribute_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    def hook(self: Any, name: str) -> Any:
        refuse_attribute(self, name, _caller())
        try:
            found = original(self, name)
            if name in _OF_AVALS and _watching() is not None and user_caller(_caller()) is not None:
                raise AttributeError(name)
            return found
        except AttributeError:
            watch = _watching() if not name.startswith("_") else None
            frame = user_caller(_caller()) if watch is not None else None
            if frame is not None and watch is not None:
                answer = watch.answers.on_missing(self, name, frame)
                if answer is not None:
                    return answer
            raise

    return hook


_LARGE = 4096
"""Bytes of an array from which on it is looked up among the constants that there are."""


def _constant_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy array that a trace takes for a constant is copied: the plain cell has computed with it by the time that
    something is written to it."""

    def hook(self: Any, aval: Any, c: Any, *args: Any) -> Any:
        watch = _watching()
        if watch is not None:
            watch.with_constants.add(self)
        if watch is None or not isinstance(c, np.ndarray):
            return original(self, aval, c, *args)
        if c.nbytes < _LARGE:
            return original(self, aval, c.copy(), *args)
        place = (id(self), c.ctypes.data, c.shape, c.strides, c.dtype, aval)
        known, reference = watch.constants.get(place, (None, None))
        tracer = reference() if reference is not None else None
        if tracer is None or known is None or known.tobytes() != c.tobytes():
            known = c.copy()
            tracer = original(self, aval, known, *args)
            watch.constants[place] = known, weakref.ref(tracer)
        return tracer

    return hook


def _error_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        watch = _watching()
        if watch is not None and not _expected_by_jax(_caller()):
            watch.errors.append(_line_in(_caller(), watch.filename))
        return original(self, *args, **kwargs)

    return hook


def _asking(tracer: Any, frame: FrameType) -> FrameType | None:
    """The frame that asks for a text: a library on JAX has its own way to show an array, and none for a number."""
    if number_class(tracer) is not None and asks(frame):
        return frame
    return user_caller(frame)


def _caller() -> FrameType:
    """The frame that called the function which calls this one. It holds no frame in a name of its own: that would be a
    cycle, and keep all frames above alive, and what they hold."""
    return sys._getframe(2)  # pyright: ignore[reportPrivateUsage]


_CATCHERS = ("control_flow/loops.py", "ad_checkpoint.py", "sparse/bcoo.py")
"""Where JAX itself asks for a value and goes on without it."""


def _expected_by_jax(frame: FrameType | None) -> bool:
    while frame is not None and in_jax(frame.f_code.co_filename):
        if frame.f_code.co_filename.endswith(_CATCHERS):
            return True
        frame = frame.f_back
    return False


def _line_in(frame: FrameType | None, filename: str) -> int | None:
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else None


def user_caller(frame: FrameType | None) -> FrameType | None:
    """The frame of the user that asked, perhaps through a library; None if JAX, or a library built on it, asked."""
    while frame is not None:
        path, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "__main__")
        if is_own(path) and frame.f_code.co_name == "print":  # which stands in for the user's own call
            frame = frame.f_back
            continue
        if is_own(path) or is_jax_module(module):
            return None
        if not is_library(module):
            return frame
        frame = frame.f_back
    return None


def asks_for_user(frame: FrameType | None) -> bool:
    """Whether a library built on JAX asked, neither JAX itself nor this package."""
    while frame is not None:
        path, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "__main__")
        if is_own(path) or in_jax(path):
            return False
        if is_jax_module(module):
            return True
        frame = frame.f_back
    return False
