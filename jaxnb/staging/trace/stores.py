"""Where byte code binds names: read from a code object, without running it.

>>> def f(x):
...     y, z = x
...     return y
>>> [store.name for stores in stores_of(f.__code__).values() for store in stores]
['y', 'z']
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType

from jaxnb.program import Span

__all__ = ["Store", "enclosing", "is_comprehension", "parameters_of", "stores_of"]


@dataclass(frozen=True, slots=True)
class Store:
    """One name, or one place such as `self.x` or `params["w"]`, that an instruction binds.

    Attributes:
      name: as written.
      span: of what is written there; without columns where Python kept none. The file is not set.
      kind: "local", "global" or "name", which says where the value is found afterwards; "place" for an attribute or an
        item.
    """

    name: str
    span: Span
    kind: str


_KINDS = {"STORE_FAST": "local", "STORE_DEREF": "local", "STORE_NAME": "name", "STORE_GLOBAL": "global"}
_PLACES = frozenset({"STORE_ATTR", "STORE_SUBSCR"})
# Python 3.13 joins two instructions in one; the names are a pair.
_FIRST_OF_TWO = frozenset({"STORE_FAST_LOAD_FAST"})
_BOTH = frozenset({"STORE_FAST_STORE_FAST"})
_COMPREHENSIONS = re.compile(r"(\.<locals>)?\.?<(listcomp|setcomp|dictcomp|genexpr)>$")


def is_comprehension(code: CodeType) -> bool:
    """Whether this is the body of a comprehension or generator expression, with a frame of its own."""
    return _COMPREHENSIONS.search(code.co_qualname) is not None


def enclosing(code: CodeType) -> str:
    """The function or class that code stands in as its user calls it: "" at the top of a cell or file."""
    name = code.co_qualname
    while (shorter := _COMPREHENSIONS.sub("", name)) != name:
        name = shorter
    return name.rpartition("<locals>.")[2] if name != "<module>" else ""


def stores_of(code: CodeType) -> dict[int, tuple[Store, ...]]:
    """What each instruction binds, by its offset.

    Left out is what is no assignment: `import`, `def` and `class`, and the variables of comprehensions.
    """
    found: dict[int, tuple[Store, ...]] = {}
    text = linecache.getlines(code.co_filename)
    instructions = list(dis.get_instructions(code))
    inlined = [(ins.argval, ins.positions) for ins in instructions if ins.opname == "LOAD_FAST_AND_CLEAR"]
    own = is_comprehension(code)
    for ins in instructions:
        if ins.opname in _PLACES:
            span = _span(ins.positions, text)
            written = _written(span, text)
            stores = [Store(written, span, "place")] if written else []
        else:
            stores = _names(ins, text)
            if own or inlined:
                stores = [
                    store
                    for store in stores
                    if not (own and store.kind == "local" and ins.opname != "STORE_DEREF")
                    and not (
                        store.kind == "local"
                        and any(name == store.name and _within(ins.positions, place) for name, place in inlined)
                    )
                ]
        if stores:
            found[ins.offset] = tuple(stores)
    return found


def _names(ins: dis.Instruction, text: list[str]) -> list[Store]:
    span = _span(ins.positions, text)
    if ins.opname in _BOTH:
        first, second = ins.argval
        if not _is_all_of(first, span, text):
            return []
        # What is told is where the first stands, which may be on either side of the second.
        return [Store(first, span, "local"), Store(second, _beside(span, second, text), "local")]
    if ins.opname in _FIRST_OF_TWO:
        name, kind = ins.argval[0], "local"
    elif ins.opname in _KINDS:
        name, kind = ins.argval, _KINDS[ins.opname]
    else:
        return []
    return [Store(name, span, kind)] if _is_all_of(name, span, text) else []


def _is_all_of(name: str, span: Span, text: list[str]) -> bool:
    """Whether a name is what stands there; of `def f` and `import f` it is but a part."""
    if span == Span(span.line, 0, span.end_line):  # there are no columns, or nothing is written
        return not (name.startswith("__") and name.endswith("__"))
    if span.line != span.end_line:
        return False
    written = _written(span, text)
    return written == name or (written.startswith("__") and name.endswith(written))  # `__x` of a class is mangled


def _within(positions: dis.Positions | None, outer: dis.Positions | None) -> bool:
    if positions is None or outer is None or None in (*positions, *outer):
        return False
    (line, end, column, end_column), (first, last, left, right) = positions, outer
    return (first, left) <= (line, column) and (end, end_column) <= (last, right)


def _span(positions: dis.Positions | None, text: list[str]) -> Span:
    """A position of an instruction, which counts bytes, as a span, which counts characters."""
    if positions is None or positions.lineno is None:
        return Span(1)
    line, end = positions.lineno, positions.end_lineno or positions.lineno
    if positions.col_offset is None or positions.end_col_offset is None:
        return Span(line, 0, end)
    return Span(line, _column(text, line, positions.col_offset), end, _column(text, end, positions.end_col_offset))


def _column(text: list[str], line: int, byte: int) -> int:
    if not 0 < line <= len(text):
        return byte
    return len(text[line - 1].encode()[:byte].decode(errors="ignore"))


def _written(span: Span, text: list[str]) -> str:
    """What stands at a span of one line, "" where that is not known."""
    if span.line != span.end_line or not span.end_column or span.line > len(text):
        return ""
    return text[span.line - 1][span.column : span.end_column]


def _beside(span: Span, name: str, text: list[str]) -> Span:
    """Where a name stands next to a span, behind it or before; the line alone if it is not there."""
    line = text[span.line - 1] if span.line <= len(text) and span.end_column else ""
    word = re.compile(rf"\b{re.escape(name)}\b")
    found = word.search(line, span.end_column) or word.search(line)
    if found is None:
        return Span(span.line, 0, span.line)
    return Span(span.line, found.start(), span.line, found.end())


def parameters_of(code: CodeType) -> Mapping[str, Span]:
    """The parameters of a function, in their order, each with the place where it stands."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    places = _parameter_places(code) if count else {}
    line = Span(code.co_firstlineno, 0, code.co_firstlineno)
    return {name: places.get(name, line) for name in code.co_varnames[:count]}


def _parameter_places(code: CodeType) -> dict[str, Span]:
    text, first = linecache.getlines(code.co_filename), code.co_firstlineno
    try:
        block = inspect.getblock(text[first - 1 :])
        tree = ast.parse(textwrap.dedent("".join(block)))
    except (SyntaxError, IndexError):  # a lambda in the midst of an expression, or text that has changed since
        return {}
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    function = next((node for node in functions if node.name == code.co_name), None)
    if function is None:
        return {}
    indent = len(block[0]) - len(block[0].lstrip())
    found = function.args
    every = [*found.posonlyargs, *found.args, *found.kwonlyargs, *filter(None, (found.vararg, found.kwarg))]
    places: dict[str, Span] = {}
    for item in every:
        line = item.lineno + first - 1
        column = _column(text, line, item.col_offset + indent)
        places[item.arg] = Span(line, column, line, column + len(item.arg))
    return places
