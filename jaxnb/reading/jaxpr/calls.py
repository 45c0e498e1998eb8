"""Which calls an equation was made in: the user's functions one by one, of libraries what has a public name."""

from __future__ import annotations

import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any, NamedTuple

from jaxnb._jax import traceback_frames
from jaxnb.program import Call, Source, Span
from jaxnb.reading.jaxpr.spans import Spans
from jaxnb.runtime import is_closed_package

__all__ = ["Calls", "Entered", "Instances", "Ran", "library_name", "public_name"]


class Ran(NamedTuple):
    """On what a method ran.

    Attributes:
      place: of its frame in the traceback, the innermost being 0.
      path: to the object, from the outermost one that holds it: "blocks[0].attn", or "" for that itself.
      kind: what its class is called by those who use it; "" where that is the user's own, or not public.
    """

    place: int
    path: str
    kind: str = ""


class Entered(NamedTuple):
    """A `jax.named_scope` that was entered in a frame: its place in the traceback, the name, and where in the code."""

    place: int
    name: str
    offset: int


Instances = tuple[Ran | Entered, ...]
"""What is known of the frames of a traceback, scopes from the outside in."""

_SPEAKING = re.compile(r"jax\.(nn|random|scipy|image|experimental(?!\.hijax)|numpy\.linalg|numpy\.fft)(\..*)?")
"""Modules of JAX whose functions are calls to speak of; the others are what programs are written in."""
_WRAPPERS = frozenset({"optax.with_extra_args_support", "equinox.filter_custom_jvp", "equinox.filter_custom_vjp"})
"""They give a function another signature or derivative, and are around everything."""
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
        self._codes: dict[int, CodeType] = {}  # of a call, by its identity
        self._names: dict[tuple[int, bool, str], tuple[str, bool]] = {}
        self._firsts: dict[Hashable, CodeType | None] = {}

    def sources(self) -> tuple[Source, ...]:
        """The text of the user's functions outside of the cell, as far as there is one."""
        codes = sorted(self._functions.values(), key=lambda code: (code.co_filename, code.co_firstlineno))
        found = {(code.co_filename, code.co_firstlineno): code for code in codes}
        texts = ((self._spans.label(code), code.co_firstlineno, _text_of(code)) for code in found.values())
        return tuple(Source(*text) for text in texts if text[0] and text[2])

    def of(self, traceback: Hashable, owner: Call | None, owned: Span | None, traced: str = "") -> Call | None:
        """The innermost call of an equation; what its traceback does not tell is what its owner's does.

        Args:
          traceback: of the equation.
          owner: the call of the equation in whose body it is.
          owned: where that stands in the cell.
          traced: the name of the function that the body was traced from.
        """
        if traceback is None:
            return owner
        instances = self._instances(traceback)
        key = (traceback, instances, id(owner), owned, traced)
        if key not in self._found:
            self._found[key] = self._find(traceback, instances, owner, owned, traced)
        return self._found[key]

    def first(self, traceback: Hashable) -> CodeType | None:
        """The user's function in which the tracing of an equation began; None if that is the cell, or a library's."""
        if traceback not in self._firsts:
            codes = [code for code, _ in traceback_frames(traceback)]
            users = [code for code in codes if self._spans.whose(code) != "library"]
            self._firsts[traceback] = users[-1] if users and not self._is_cell(users[-1]) else None
        return self._firsts[traceback]

    def loop(self, primitive: str, turns: int | None, span: Span | None, owner: Call | None) -> Call:
        """The body of a loop as a step of its own."""
        return self._step(Call(primitive, "loop", span if owner is None else None, owner, turns=turns))

    def _find(
        self, traceback: Hashable, known: Instances, owner: Call | None, owned: Span | None, traced: str
    ) -> Call | None:
        frames = list(traceback_frames(traceback))
        ran = {one.place: one for one in known if isinstance(one, Ran)}
        whose = [self._spans.whose(code) for code, _ in frames]
        outermost = next((n for n in reversed(range(len(frames))) if self._is_cell(frames[n][0])), None)
        last_user = next((n for n in range(len(frames)) if whose[n] != "library"), len(frames))
        call, start, is_whole = owner, len(frames), outermost is not None
        where = owned if owner is None or owner.kind == "function" else None
        if outermost is not None:
            call, start, where = None, outermost + 1, self._spans.place(*frames[outermost])
        elif owner is not None and (above := self._same(owner, traced, frames)) is not None:
            call, where, is_whole = above.parent, above.span, True
        writes = outermost is not None and outermost == last_user  # whether it is the user's text that we are in
        depth = len(call.steps()) if call is not None else 0
        defined: set[tuple[str, str]] = set()
        for n in reversed(range(start)):
            if depth >= _DEEPEST:
                break
            code, offset = frames[n]
            is_last = False
            if n == outermost or code.co_qualname == "<module>":
                pass  # the cell, or a stretch of a function that was taken apart, run by itself
            elif whose[n] != "library":
                place = self._spans.place(code, offset)
                if not _is_part(code, where, place):
                    path = ran[n].path if n in ran else ""
                    call = self._step(Call(_short(code.co_qualname), "function", where, call, path), code)
                    self._functions[id(code)] = code
                    depth += 1
                where, writes = place, True
            else:
                name, is_last = self._library_name(code, n < last_user, ran[n].kind if n in ran else "")
                around = (code.co_filename, code.co_qualname.rpartition(".<locals>.")[0])
                defined.add((code.co_filename, code.co_qualname))
                if name and around not in defined:  # what a function defines for itself is its inside
                    path = ran[n].path if n in ran else ""
                    call = self._step(Call(name, "library", where, call, path), code)
                    where, writes, depth = None, False, depth + 1
            for scope in known:
                if isinstance(scope, Entered) and scope.place == n:
                    entered = self._spans.place(code, scope.offset) if whose[n] != "library" else where
                    call, depth = self._step(Call(scope.name, "scope", entered, call)), depth + 1
            if is_last:
                break
        if writes and call is not None and call is not owner and where is not None and where.file and depth < _DEEPEST:
            call = self._step(Call("", "line", where, call))  # in the cell the span of the op says it
        return call if owner is None or not is_whole else self._within(owner, call)

    def _same(self, owner: Call, traced: str, frames: Sequence[tuple[CodeType, int]]) -> Call | None:
        """The call above a body that an equation in it was made in, too: that of a derivative has all frames.

        One in the function that the body was traced from has not: a function that calls itself is another call.
        """
        steps = owner.steps()
        codes = [self._codes.get(id(step)) for step in steps]
        known = next((code for code, _ in reversed(frames) if code in codes), None)
        return None if known is None or known.co_name == traced else steps[codes.index(known)]

    def _within(self, owner: Call, found: Call | None) -> Call:
        """A call in the body of what another one called; what leads to that is left out."""
        steps = found.steps() if found is not None else ()
        above = owner.steps()
        common = next(
            (n for n, (a, b) in enumerate(zip(above, steps, strict=False)) if a is not b), min(len(above), len(steps))
        )
        if found is not None and common >= len(above) - (owner.kind == "line"):
            return found
        call = owner
        for n, step in enumerate(steps[common:]):
            if n or step.kind != "line":
                call = self._step(replace(step, parent=call, span=step.span if n else None), self._codes.get(id(step)))
        return call

    def _library_name(self, code: CodeType, is_innermost: bool, kind: str) -> tuple[str, bool]:
        key = (id(code), is_innermost, kind)  # the equations keep it alive
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = library_name(code, is_innermost, kind)
        return found

    def _step(self, call: Call, code: CodeType | None = None) -> Call:
        key = (call.name, call.kind, call.span, id(call.parent), call.path, call.turns)
        known = self._known.setdefault(key, call)
        if code is not None:
            self._codes.setdefault(id(known), code)
        return known


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


def library_name(code: CodeType, is_innermost: bool, kind: str = "") -> tuple[str, bool]:
    """The public name of a library's function, "" where it is none to speak of, and whether what it calls is folded.

    Args:
      code: of the function.
      is_innermost: whether no code of the user's is called from it. What only passes on to that is left out, but for
        methods.
      kind: of a method, what the class of its object is called: that inherits it, maybe.
    """
    head, _, rest = code.co_qualname.partition(".")
    parts = [part for part in rest.split(".") if part and part != "<locals>"]
    if any(part.startswith("_") and part != "__call__" for part in parts) or "<lambda>" in parts:
        return "", False
    is_method = bool(parts) and "<locals>" not in rest
    if "<locals>" in rest and not rest.startswith("<locals>"):  # what a method defines for itself
        return "", False
    if not (is_method or is_innermost) or _TRANSPARENT & set(parts):
        return "", False
    name = (kind if is_method else "") or public_name(code.co_filename, head)
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
        and not any(part.startswith("_") or part == "internal" for part in other.split("."))
        and other.count(".") <= (2 if package == "jax" or isinstance(item, type) else 1)
        and getattr(found, "__dict__", {}).get(name) is item
    ]
    homes = [home for home in homes if _SPEAKING.fullmatch(home)] if package == "jax" else homes
    if not homes:
        return ""
    within = f"{module.__name__}."  # others may have imported it
    home = min(homes, key=lambda home: (not within.startswith(f"{home}."), home.count("."), len(home), home))
    return f"{home.removeprefix('flax.')}.{name}"


def _module_of(file: str) -> Any:
    if file not in _modules:
        for name, module in list(sys.modules.items()):
            found = getattr(module, "__dict__", {}).get("__file__")
            if isinstance(found, str):
                _modules.setdefault(found, name)
    return sys.modules.get(_modules.get(file, ""))
