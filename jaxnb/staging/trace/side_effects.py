"""What code says while it is traced: taken down, and said when the program has run, on this run and on each reused one.

A trace may be given up half way, and its statements then run once more. Text that they printed or logged must not
appear twice, and the random states of Python and NumPy must not move on twice. What a traced function of JAX says is
said when JAX traces it and not on each call, and what is displayed may look at anything: both are left to Python.
"""

from __future__ import annotations

import logging
import random
import re
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxnb import _jax
from jaxnb.runtime import Undo
from jaxnb.staging.objects.process import set_filters
from jaxnb.staging.trace.collecting import is_within_collection
from jaxnb.staging.trace.log_records import (
    handle_again,
    is_read_back,
    logging_state,
    taken_apart,
    what_is_said,
)
from jaxnb.staging.trace.reachable import reaches_tracer

__all__ = ["Said", "SideEffects", "write_to"]

_TRACERS_OWN = ("jax", "jaxlib")
"""Loggers of JAX itself, which speak of tracing and compiling."""

_PASSED_ON = ("warnings", "logging")
"""Modules whose text goes through at once: a warning is given once, and log records are taken down as such."""


class Said(NamedTuple):
    """Something to be said: `say` called with `values`, in which tracers may stand for what is computed."""

    say: Callable[..., None]
    values: tuple[Any, ...]


class _Later(NamedTuple):
    """Where the text of a value belongs in a text: as `format` gives it, or `str` where there is no format."""

    spec: str | None


class SideEffects:
    """Takes down what one thread says, as a context manager.

    Attributes:
      said: in order.
      unsure: whether something was said, since `begin`, of which it cannot be told whether each run would say it.
      promised: tracers whose text was promised, see `promise`, and has not come up in anything said, by their marks.
    """

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.unsure = False
        self.promised: dict[str, tuple[Any, str]] = {}
        self._promises = 0
        self._registering = False
        self._given: list[tuple[dict[Any, Any], Any]] = []  # what says that a warning was given, and by which key
        self._own: object = None
        self._filters = list(warnings.filters)
        self._logging, self._options = logging_state(), np.get_printoptions()
        self._thread = threading.get_ident()
        self._undo = Undo()

    def __enter__(self) -> SideEffects:
        self._random, self._numpy = random.getstate(), np.random.get_state()
        self._drawn = _places()
        undo = self._undo
        undo.__enter__()
        undo.patch(sys, "stdout", _Held(sys.stdout, partial(self._hold_text, "stdout")))
        undo.patch(sys, "stderr", _Held(sys.stderr, partial(self._hold_text, "stderr")))
        undo.patch(logging.Logger, "handle", _handling(logging.Logger.handle, self._hold_record))
        show: Any = warnings._showwarnmsg  # type: ignore[attr-defined]
        undo.patch(warnings, "_showwarnmsg", _showing(show, self._hold_warning))
        self._shown_by = _shown_by()
        if (publisher := _publisher()) is not None:
            undo.patch(publisher, "publish", _publishing(publisher.publish, self._hold_output))
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._undo.close()

    def begin(self) -> None:
        """A statement begins."""
        self.unsure = False
        self._logging, self._options = logging_state(), np.get_printoptions()
        self._filters = list(warnings.filters)
        if self._own is None:
            self._own = _jax.current_trace()

    def filters_warnings(self) -> bool:
        """Whether the statement has changed which warnings are given; that is taken back then."""
        if warnings.filters == self._filters:
            return False
        set_filters(self._filters)
        return True

    def drew(self) -> bool:
        """Whether anybody has drawn from the random states of Python and NumPy since this was asked last."""
        before, self._drawn = self._drawn, _places()
        return self._drawn != before

    def tell(self, say: Callable[..., None], *values: Any) -> None:
        """Takes something down.

        Args:
          say: says it, called with `values`.
          values: tracers of this trace among them will be the arrays that they stand for.
        """
        if _jax.surrounding_trace() is not self._own:
            self.unsure = True
        if values and (options := np.get_printoptions()) != self._options:
            say = partial(_under, options, say)
        self.said.append(Said(say, values))

    def tell_text(self, write: Callable[[str], None], *parts: Any) -> None:
        """Takes a text down.

        Args:
          write: takes the whole text.
          parts: strings, in which there may be marks, and tracers, whose text stands between them.
        """
        layout: list[str | _Later] = []
        values: list[Any] = []
        for part in parts:
            for piece in _MARK.split(part) if isinstance(part, str) else (part,):
                if isinstance(piece, str) and piece not in self.promised:
                    layout.append(piece)
                    continue
                value, spec = self.promised.pop(piece) if isinstance(piece, str) else (piece, None)
                layout.append(_Later(spec))
                values.append(value)
        self.tell(partial(_say, write, tuple(layout)), *values)

    def promise(self, tracer: Any, spec: str) -> str:
        """A mark that stands for the text of a tracer, formatted, in a text that is only said."""
        self._promises += 1
        mark = f"\ue000{self._promises}\ue001"
        self.promised[mark] = (tracer, spec)
        return mark

    def release(self) -> None:
        """Says what was said without values, where no program will run that could."""
        for item in self.said:
            if not any(_jax.is_tracer(value) for value in item.values):
                item.say(*item.values)
        self.said.clear()

    def take_back(self) -> None:
        """The trace is given up: nothing was said, nothing was drawn, and the same warnings are given as before."""
        self.filters_warnings()
        self.said.clear()
        self.promised.clear()
        for registry, key in self._given:
            registry.pop(key, None)
        self._given.clear()
        random.setstate(self._random)
        np.random.set_state(self._numpy)

    def end(self) -> None:
        """The trace is over: no tracer is held any more."""
        self.said.clear()
        self.promised.clear()
        self._given.clear()
        self._own = None

    # Each takes in something that comes from the thread that traces, and returns whether it did.

    def _is_of_cell(self) -> bool:
        """Whether it is the code that is traced that says something."""
        return threading.get_ident() == self._thread and not is_within_collection(sys._getframe(2))  # pyright: ignore[reportPrivateUsage]

    def _hold_text(self, stream: str, text: str) -> bool:
        if not self._is_of_cell():
            return False
        if stream == "stderr" and sys._getframe(2).f_globals.get("__name__") in _PASSED_ON:  # pyright: ignore[reportPrivateUsage]
            return False
        self.tell_text(partial(write_to, stream), text)
        return True

    def _hold_record(self, logger: logging.Logger, record: logging.LogRecord) -> bool:
        if not self._is_of_cell() or logger.name.partition(".")[0] in _TRACERS_OWN:
            return False
        self.unsure |= record.exc_info is not None or is_read_back(logger) or logging_state() != self._logging
        values, said = list[Any](), what_is_said(record)
        apart = taken_apart(said, values)
        if not record.args and type(record.msg) is str and not values:
            self.tell_text(lambda text: handle_again(logger, (text, *said[1:])), record.msg)
        elif apart is not NotImplemented:
            self.tell(partial(handle_again, logger, apart), *values)
        elif reaches_tracer(said):
            self.unsure = True
        else:
            text = record.getMessage()
            self.tell(partial(handle_again, logger, (text, (), said[2])))
        return True

    def _hold_warning(self, warning: Any) -> bool:
        """A warning is given at once, and again on each run if the filters want that then; False if it is not given.

        Where somebody takes down warnings, as around a block of a `with` statement, it is given when the trace has come
        to its end: it may be given up, and what was taken down would be there twice. One that the statement itself
        records, by `warnings.catch_warnings`, is part of what it binds. One of a function that JAX traces is no reason
        to leave it to Python: libraries warn of what is out of date there, too.
        """
        if self._is_of_cell():
            if self._registering:
                return False
            if _shown_by() != self._shown_by:
                self.unsure |= any(item[0] == "once" for item in warnings.filters)
                return True
            given = partial(_warn, warning.message, warning.category, warning.filename, warning.lineno)
            registry: dict[Any, Any] = {}
            self._note_given(warning)
            if _taken_down():
                self.said.append(Said(partial(given, registry), ()))
                return False
            self._registering = True
            try:
                given(registry)  # which takes down that it was given
            finally:
                self._registering = False
            self.said.append(Said(_AfterFirst(partial(given, registry)), ()))
        return True

    def _note_given(self, warning: Any) -> None:
        """Takes down where it is noted that a warning was given, so that it is given again if the trace is given up."""
        frame = sys._getframe(3)  # pyright: ignore[reportPrivateUsage]
        while frame is not None and frame.f_code.co_filename != warning.filename:
            frame = frame.f_back
        key = (str(warning.message), warning.category)
        self._given.append((warnings.onceregistry, key))  # type: ignore[attr-defined]
        registry = frame.f_globals.get("__warningregistry__") if frame is not None else None
        if isinstance(registry, dict):
            self._given.append((registry, (*key, warning.lineno)))

    def _hold_output(self, say: Callable[[], Any]) -> bool:
        if not self._is_of_cell():
            return False
        self.unsure = True
        self.said.append(Said(say, ()))
        return True


def _shown_by() -> tuple[Any, Any]:
    """What shows a warning, or records it."""
    return warnings.showwarning, warnings._showwarnmsg_impl  # type: ignore[attr-defined]


def _taken_down() -> bool:
    """Whether a warning goes to somebody who takes it down, and not to where everybody reads it."""
    show, record = _shown_by()
    return getattr(show, "__module__", "") != "warnings" or getattr(record, "__module__", "") != "warnings"


def _warn(message: Any, category: type[Warning], filename: str, line: int, registry: dict[Any, Any]) -> None:
    """Gives a warning, whose message is an object that each run makes anew."""
    if type(message) is category and vars(message) == {}:
        message = category(*message.args)
    warnings.warn_explicit(message, category, filename, line, registry=registry)


class _AfterFirst:
    """Calls a function, but not the first time."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function, self._first = function, True

    def __call__(self) -> None:
        first, self._first = self._first, False
        if not first:
            self._function()


_MARK = re.compile("(\ue000[0-9]+\ue001)")


def _say(write: Callable[[str], None], layout: tuple[str | _Later, ...], *values: Any) -> None:
    there = iter(values)
    texts = (item if isinstance(item, str) else _text_of(next(there), item.spec) for item in layout)
    write("".join(texts))


def _under(options: Any, say: Callable[..., None], *values: Any) -> None:
    """Says something as it was printed within `np.printoptions`."""
    with np.printoptions(**options):
        say(*values)


def _text_of(value: Any, spec: str | None) -> str:
    return str(value) if spec is None else format(value, spec)


def write_to(stream: str, text: str) -> None:
    """Writes to what is `sys.stdout` or `sys.stderr` now."""
    getattr(sys, stream).write(text)


def _places() -> tuple[Any, ...]:
    """Where the global random states of Python and NumPy stand."""
    _, state, gauss = random.getstate()
    name, keys, place, has_gauss, cached = np.random.get_state(legacy=True)
    return state[-1], state[0], gauss, name, keys[0], place, has_gauss, cached


class _Held:
    """Stands in for a text stream."""

    def __init__(self, stream: Any, hold: Callable[[str], bool]) -> None:
        self._stream, self._hold = stream, hold

    def write(self, text: str) -> int:
        if not self._hold(text):
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _handling(handle: Any, hold: Callable[[logging.Logger, logging.LogRecord], bool]) -> Any:
    def held(logger: logging.Logger, record: logging.LogRecord) -> None:
        if not hold(logger, record):
            handle(logger, record)

    return held


def _showing(show: Any, hold: Callable[[Any], bool]) -> Any:
    def shown(warning: Any) -> None:
        if hold(warning):
            show(warning)

    return shown


def _publisher() -> Any:
    """What displays outputs in the running IPython shell, if there is one."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell.display_pub if shell is not None and "publish" not in vars(shell.display_pub) else None


def _publishing(publish: Any, hold: Callable[[Callable[[], Any]], bool]) -> Any:
    def held(*args: Any, **kwargs: Any) -> Any:
        return None if hold(lambda: publish(*args, **kwargs)) else publish(*args, **kwargs)

    return held
