"""Which calls an equation was made in: the user's functions one by one, of libraries what has a public name."""

from __future__ import annotations

import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Hashable
from types import CodeType
from typing import Any

from jaxnb._jax import traceback_frames
from jaxnb.program import Call, Source, Span
from jaxnb.reading.jaxpr.spans import Spans
from jaxnb.runtime import is_closed_package

__all__ = ["Calls", "Instances", "library_name", "public_name"]

Instances = tuple[tuple[int, str], ...]
"""Of a traceback: frames by their place in it, the innermost being 0, each with the path to the object whose method
ran there, from the outermost one that holds it: "blocks[0].attn", or "" for that itself."""

_SPEAKING = re.compile(r"jax\.(nn|random|scipy|image|experimental|numpy\.linalg|numpy\.fft)(\..*)?")
"""Modules of JAX whose functions are calls to speak of; the others are what programs are written in."""
_WRAPPERS = frozenset({"optax.with_extra_args_support"})
"""They give a function another signature, and are around everything."""
_TRANSPARENT = frozenset({"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})


class Calls:
    """Finds the calls that equations were made in, and remembers them: equal ones are one object.

    Args:
      spans: tells whose code a frame is, and where it stood.
      instances: gives what is known of the objects whose methods a traceback went through.
      is_cell: whether code is that of the cell, or of the function that is read as one.
    """

    def __init__(
        self, spans: Spans, instances: Callable[[Any], Instances], is_cell: Callable[[CodeType], bool]
    ) -> None:
        self._spans, self._instances, self._is_cell = spans, instances, is_cell
        self._found: dict[Hashable, Call | None] = {}
        self._known: dict[Hashable, Call] = {}
        self._functions: dict[int, CodeType] = {}
        self._names: dict[tuple[int, bool], tuple[str, bool]] = {}

    def sources(self) -> tuple[Source, ...]:
        """The text of the user's functions outside of the cell, as far as there is one."""
        codes = sorted(self._functions.values(), key=lambda code: (code.co_filename, code.co_firstlineno))
        found = {(code.co_filename, code.co_firstlineno): code for code in codes}
        texts = ((self._spans.label(code), code.co_firstlineno, _text_of(code)) for code in found.values())
        return tuple(Source(*text) for text in texts if text[0] and text[2])

    def of(self, traceback: Hashable, owner: Call | None, owned: Span | None) -> Call | None:
        """The innermost call of an equation; what its traceback does not tell is what its owner's does.

        Args:
          traceback: of the equation.
          owner: the call of the equation in whose body it is.
          owned: where that stands in the cell.
        """
        if traceback is None:
            return owner
        instances = self._instances(traceback)
        key = (traceback, instances, id(owner), owned)
        if key not in self._found:
            self._found[key] = self._find(traceback, dict(instances), owner, owned)
        return self._found[key]

    def loop(self, primitive: str, turns: int | None, span: Span | None, owner: Call | None) -> Call:
        """The body of a loop as a step of its own."""
        return self._step(Call(primitive, "loop", span if owner is None else None, owner, turns=turns))

    def _find(
        self, traceback: Hashable, instances: dict[int, str], owner: Call | None, owned: Span | None
    ) -> Call | None:
        frames = list(enumerate(traceback_frames(traceback)))
        whose = [self._spans.whose(code) for _, (code, _) in frames]
        outermost = next((n for n in reversed(range(len(frames))) if self._is_cell(frames[n][1][0])), None)
        if outermost is not None:
            call: Call | None = None
            where = self._spans.place(*frames[outermost][1])
            rest = range(outermost - 1, -1, -1)
        else:
            call = owner
            where = owned if owner is None or owner.kind == "function" else None
            rest = range(len(frames) - 1, -1, -1)
        last_user = next((n for n in range(len(frames)) if whose[n] != "library"), len(frames))
        writes = outermost is not None and outermost == last_user  # whether it is the user's text that we are in
        depth = len(call.steps()) if call is not None else 0
        for n in rest:
            if depth >= _DEEPEST:
                return call
            code, offset = frames[n][1]
            if code.co_qualname == "<module>":  # a stretch of a function that was taken apart, run by itself
                continue
            if whose[n] != "library":
                place = self._spans.place(code, offset)
                if not _is_part(code, where, place):
                    name = _short(code.co_qualname)
                    call = self._step(Call(name, "function", where, call, instances.get(n, "")))
                    self._functions[id(code)] = code
                    depth += 1
                where = place
                writes = True
                continue
            name, is_last = self._library_name(code, n < last_user)
            if name:
                path = instances.get(n, "")
                call = self._step(Call(name, "library", where, call, path))
                where, writes, depth = None, False, depth + 1
            if is_last:
                break
        if writes and call is not None and call is not owner and where is not None and where.file:
            call = self._step(Call("", "line", where, call))  # in the cell the span of the op says it
        return call

    def _library_name(self, code: CodeType, is_innermost: bool) -> tuple[str, bool]:
        key = (id(code), is_innermost)  # the equations keep it alive
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = library_name(code, is_innermost)
        return found

    def _step(self, call: Call) -> Call:
        key = (call.name, call.kind, call.span, id(call.parent), call.path, call.turns)
        return self._known.setdefault(key, call)


def _is_part(code: CodeType, where: Span | None, place: Span | None) -> bool:
    """Whether code is a part of the line that it is called from: of a comprehension, or a lambda written there."""
    if code.co_name in _TRANSPARENT:
        return where is not None
    if code.co_name != "<lambda>" or where is None or place is None:
        return False
    return (where.file, where.line) == (place.file, place.line)


_DEEPEST = 50  # calls within one another; of a recursion the rest belongs to the last of them
_LONGEST = 200  # lines of a function


def _text_of(code: CodeType) -> str:
    """The lines of a function, "" where its file cannot be read."""
    lines = linecache.getlines(code.co_filename)
    first = code.co_firstlineno
    last = max((end for _, end, _, _ in code.co_positions() if end is not None), default=first)
    return textwrap.dedent("".join(lines[first - 1 : min(last, first + _LONGEST)])).rstrip("\n")


def _short(qualname: str) -> str:
    """`make.<locals>.Block.__call__` as `Block.__call__`."""
    return qualname.rpartition("<locals>.")[2]


def library_name(code: CodeType, is_innermost: bool) -> tuple[str, bool]:
    """The public name of a library's function, "" where it is none to speak of, and whether what it calls is folded.

    Args:
      code: of the function.
      is_innermost: whether no code of the user's is called from it. What only passes on to that is left out, but for
        methods.
    """
    head, _, rest = code.co_qualname.partition(".")
    parts = [part for part in rest.split(".") if part and part != "<locals>"]
    if any(part.startswith("_") and part != "__call__" for part in parts) or "<lambda>" in parts:
        return "", False
    is_method = bool(parts) and "<locals>" not in rest
    if not (is_method or is_innermost) or _TRANSPARENT & set(parts):
        return "", False
    name = public_name(code.co_filename, head)
    if not name or name in _WRAPPERS:
        return "", False
    tail = {"update_fn": "update", "init_fn": "init"}.get(parts[-1], parts[-1]) if parts else ""
    return (f"{name}.{tail}" if tail else name), not parts


_public: dict[tuple[str, str], str] = {}
_modules: dict[str, str] = {}


def public_name(file: str, name: str) -> str:
    """What a function or class of a library is called by those who use it; "" for what is not public.

    >>> import jax.nn, inspect
    >>> public_name(inspect.getsourcefile(jax.nn.softmax), "softmax")
    'jax.nn.softmax'
    >>> public_name(inspect.getsourcefile(jax.numpy.mean), "mean"), public_name(inspect.__file__, "Signature")
    ('', '')
    """
    key = (file, name)
    if key not in _public:
        _public[key] = _find_public(file, name)
    return _public[key]


def _find_public(file: str, name: str) -> str:
    if name.startswith(("_", "<")):
        return ""
    module = _module_of(file)
    if module is None or (item := vars(module).get(name)) is None:
        return ""
    package = module.__name__.partition(".")[0]
    if package != "jax" and is_closed_package(package):
        return ""  # Python's and NumPy's are no more to speak of than those of jax.numpy
    homes = [
        other
        for other, found in list(sys.modules.items())
        if (other == package or other.startswith(f"{package}."))
        and not any(part.startswith("_") for part in other.split("."))
        and other.count(".") <= (2 if package == "jax" else 1)
        and getattr(found, "__dict__", {}).get(name) is item
    ]
    homes = [home for home in homes if _SPEAKING.fullmatch(home)] if package == "jax" else homes
    if not homes:
        return ""
    home = min(homes, key=lambda home: (home.count("."), len(home), home))
    return f"{home.removeprefix('flax.')}.{name}"


def _module_of(file: str) -> Any:
    if file not in _modules:
        for name, module in list(sys.modules.items()):
            found = getattr(module, "__dict__", {}).get("__file__")
            if isinstance(found, str):
                _modules.setdefault(found, name)
    return sys.modules.get(_modules.get(file, ""))
