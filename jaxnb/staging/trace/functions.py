"""Functions that a statement calls, taken apart where they need values: `fit(data)`, whose loop has `float(loss)` in it.

Python runs such a statement. The stretches of the function that compute are blocks then, as those of a loop of the cell
are: each of their statements becomes a function inside of the one that is taken apart, with the same variables, and a
block calls these in turn. Everything else of the function stays as it is, and so does the function itself: it has other
code while the statement runs, and only in the thread that runs it do the stretches go to the runner.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import linecache
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple

from jaxnb import _jax
from jaxnb.runtime import Undo, is_installed
from jaxnb.staging.cells.blocks import COMPOUND, Opened, Opener, leaves
from jaxnb.staging.cells.cell import CellSource, Statement, read_statement
from jaxnb.staging.cells.code import code_digest, digest_as
from jaxnb.staging.cells.parts import with_parts
from jaxnb.staging.cells.reach import functions_reached
from jaxnb.staging.trace.operands import only_consumes, order_operands

__all__ = ["PART", "Called", "call_blocks", "called_in", "line_at", "open_called"]

PART = "jaxnb part"
"""What the code of a statement of such a block is called in tracebacks."""

_BLOCK = "jaxnb block"
_RESULT = "jaxnb result"
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_SEES_FRAMES = frozenset(
    {
        *("locals", "vars", "dir", "eval", "exec", "super", "globals", "get_ipython", "breakpoint"),
        *("_getframe", "currentframe", "stack", "getframeinfo", "f_locals", "f_back", "settrace", "setprofile"),
    }
)
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Global
_STAYS = _DEFINES | ast.Nonlocal | ast.Pass | ast.Raise | ast.Assert | ast.Delete

Part = Callable[[], None]


class Called(NamedTuple):
    """A function of the user on the stack: its code, and the line at which it was."""

    code: CodeType
    line: int


def called_in(traceback: TracebackType | None, codes: Collection[CodeType]) -> tuple[Called, ...]:
    """The user's functions that were being called when something was raised, the outermost first.

    What JAX called is left out: there Python gets no values either.

    Args:
      traceback: of the exception.
      codes: of the statements, one of which called the first of them.
    """
    found: list[Called] = []
    begun = False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if any(code is one for one in codes):
            begun, found = True, []
        elif begun and _jax.in_jax(code.co_filename):
            break
        elif begun and not is_installed(code.co_filename):
            found.append(Called(code, traceback.tb_lineno))
        traceback = traceback.tb_next
    return tuple(found)


def line_at(code: CodeType, offset: int) -> int:
    """The line of the instruction at a byte offset."""
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line is not None)
    return next(lines, code.co_firstlineno)


_runners: dict[int, Callable[[bytes, int, Sequence[Part]], None]] = {}
"""What runs the blocks of opened functions, by the thread."""


class _Call:
    """What an opened function calls where a block stood; it is one of the constants of its code."""

    def __init__(self, digest: bytes) -> None:
        self._digest = digest

    def __call__(self, number: int, *parts: Part) -> None:
        __tracebackhide__ = True
        run = _runners.get(threading.get_ident())
        if run is not None and not _jax.is_tracing():
            run(self._digest, number, parts)
            return
        for part in parts:
            part()

    def __repr__(self) -> str:
        return _BLOCK


def call_blocks(
    opened: Opened,
    statement: Statement,
    namespace: dict[str, Any],
    block: Callable[[int], None],
    undo: Undo,
) -> None:
    """Gives the functions that were taken apart the code that calls for blocks, until it is undone.

    Args:
      opened: the statement that Python is about to run, taken apart.
      statement: as it was.
      namespace: where its names are looked up; the statements of blocks stand there while one runs.
      block: runs a block, in the thread that calls this.
      undo: takes the way back.
    """

    def run(digest: bytes, number: int, parts: Sequence[Part]) -> None:
        __tracebackhide__ = True
        if digest not in opened.functions:
            for part in parts:
                part()
            return
        named = dict(zip(map(_part_of, opened.blocks[number].statements), parts, strict=True))
        before = {name: namespace[name] for name in named if name in namespace}  # of a call around this one
        namespace.update(named)
        try:
            block(number)
        finally:
            for name in named:
                namespace.pop(name, None)
            namespace.update(before)

    thread = threading.get_ident()
    outer = _runners.get(thread)
    undo.add(_runners.pop, thread, None) if outer is None else undo.add(_runners.__setitem__, thread, outer)
    _runners[thread] = run
    for function in functions_reached(statement.names, namespace):
        before = function.__code__
        code = opened.functions.get(code_digest(before))
        if code is not None and code is not before and len(code.co_freevars) == len(before.co_freevars):
            undo.add(setattr, function, "__code__", before)
            function.__code__ = code


def _part_of(statement: Statement) -> str:
    """The name of the function that a statement of a block calls."""
    return statement.names.order[0]


def open_called(
    cell: CellSource, statement: Statement, namespace: Mapping[str, Any], stack: Sequence[Called]
) -> Opened | None:
    """Takes the function apart in which a statement needs values.

    Args:
      cell: that the statement stands in.
      statement: which one; Python is to run it.
      namespace: where its names are looked up.
      stack: the user's functions that were being called when that was noticed, the outermost first.

    Returns:
      None if there is no such function, its source is not at hand, or it could tell.
    """
    if not stack:
        return None
    codes = {id(each.code): each for each in stack}
    for function in functions_reached(statement.names, namespace):
        lines = {codes[id(code)].line for code in _code_within(function.__code__) if id(code) in codes}
        if not lines:
            continue
        made = _open(function, lines)
        if made is not None:
            code, blocks, turning = made
            return Opened(statement.code, blocks, turning, functions={code_digest(function.__code__): code})
    return None


def _code_within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_within(constant)


def _open(
    function: FunctionType, lines: Collection[int]
) -> tuple[CodeType, tuple[CellSource, ...], frozenset[str]] | None:
    code = function.__code__
    if code.co_flags & _GENERATORS or not _SEES_FRAMES.isdisjoint(code.co_names) or "__class__" in code.co_freevars:
        return None
    source = _source_of(code)
    if source is None:
        return None
    tree, node = source
    digest = hashlib.blake2b(code_digest(code) + repr(sorted(lines)).encode(), digest_size=16).digest()
    text = "".join(linecache.getlines(code.co_filename))
    opener = _FunctionOpener(CellSource(text, text, code.co_filename, (), digest, False), node, lines, function)
    opener.rewrite()
    if not opener.blocks:
        return None
    made = _find_code(_compiled(tree, code.co_filename), code)
    if made is None or made.co_freevars != code.co_freevars or made.co_flags & _GENERATORS:
        return None
    made = _renamed(made, code, opener.names, _Call(code_digest(code)))
    digest_as(made, code)
    return made, tuple(opener.blocks), frozenset(opener.turning)


def _source_of(code: CodeType) -> tuple[ast.Module, ast.FunctionDef] | None:
    """The module or cell in which a function stands, and its definition there; None if that is not what runs."""
    lines = linecache.getlines(code.co_filename)
    if lines and lines[0].startswith("%%"):
        lines = ["\n", *lines[1:]]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse("".join(lines))
        found = _find_code(_compiled(tree, code.co_filename), code)
    except (SyntaxError, ValueError, RecursionError):
        return None
    if found is None or code_digest(found) != code_digest(code):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if min([node.lineno, *(item.lineno for item in node.decorator_list)]) == code.co_firstlineno:
                return tree, node
    return None


def _compiled(tree: ast.Module, filename: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, filename, "exec", dont_inherit=True)


def _find_code(code: CodeType, like: CodeType) -> CodeType | None:
    place = like.co_name, like.co_firstlineno
    return next((each for each in _code_within(code) if (each.co_name, each.co_firstlineno) == place), None)


def _renamed(code: CodeType, like: CodeType, names: Collection[str], call: _Call) -> CodeType:
    """The code of an opened function: its statements are called what the function is called, and blocks are called."""
    own = f"{like.co_qualname}.<locals>."

    def outward(inner: CodeType, prefix: str) -> CodeType:
        constants = tuple(outward(item, prefix) if isinstance(item, CodeType) else item for item in inner.co_consts)
        name = own + inner.co_qualname.removeprefix(prefix) if inner.co_qualname.startswith(prefix) else None
        return inner.replace(co_consts=constants, co_qualname=name or inner.co_qualname)

    def constant(item: Any) -> Any:
        if isinstance(item, CodeType) and item.co_name in names:
            inner = outward(item, f"{own}{item.co_name}.<locals>.")
            return inner.replace(co_name=like.co_name, co_qualname=like.co_qualname)
        return call if item == _BLOCK and isinstance(item, str) else item

    return code.replace(co_consts=tuple(map(constant, code.co_consts)), co_qualname=like.co_qualname)


_VALUES = frozenset({"float", "int", "bool", "complex", "str", "repr", "format", "print", "display"})
_VALUES_OF = frozenset({"item", "tolist"})


def _unknown() -> None:
    """Stands for a variable of a function, of which nothing is known."""


_UNKNOWN = FunctionType(_unknown.__code__, {"__name__": "__main__"})
_UNKNOWN.__module__ = "__main__"


class _FunctionOpener(Opener):
    """Takes a function apart.

    Args:
      home: the file that it stands in.
      node: its definition, which is changed.
      lines: statements that hold these are taken apart.
      function: it.

    Attributes:
      names: of the functions that its statements became.
    """

    def __init__(self, home: CellSource, node: ast.FunctionDef, lines: Collection[int], function: FunctionType) -> None:
        super().__init__(home, [])
        self.names: set[str] = set()
        self._node, self._lines = node, lines
        self._parts: list[ast.stmt] = []
        self._bound: set[str] = set()
        declared = [item for item in _own(node.body) if isinstance(item, ast.Global | ast.Nonlocal)]
        self._global = {name for item in declared if isinstance(item, ast.Global) for name in item.names}
        self._outer = {name for item in declared if isinstance(item, ast.Nonlocal) for name in item.names}
        code = function.__code__
        inside = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self._known: dict[str, Any] = {**function.__globals__, **dict.fromkeys(inside, _UNKNOWN)}

    def rewrite(self) -> None:
        """Rewrites the definition."""
        node = self._node
        has_doc = ast.get_docstring(node, clean=False) is not None
        doc, body = node.body[:has_doc], node.body[has_doc:]
        body = self.stretches(body)
        if not self.blocks:
            return
        first = body[0]
        names = [_name(name, ast.Store(), first) for name in sorted(self._bound - self._global - self._outer)]
        nothing = ast.Constant(None)
        never = [ast.If(ast.Constant(False), [ast.Assign(names, nothing)], [])] if names else []
        call = ast.Assign([_name(_BLOCK, ast.Store(), first)], ast.Constant(_BLOCK))
        for made in (*never, call):
            for item in ast.walk(made):
                ast.copy_location(item, first)
        node.body = [*doc, *never, call, *self._parts, *body]

    def turned(self, node: ast.For | ast.While) -> list[ast.stmt]:
        return []

    def stretches(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        stretch: list[ast.stmt] = []
        for node in body:
            for item, inside in self._apart(node):
                if inside:
                    stretch.append(item)
                    continue
                self.close(stretch, result)
                stretch = []
                result.append(item)
        self.close(stretch, result)
        return result

    def _apart(self, node: ast.stmt) -> Iterator[tuple[ast.stmt, bool]]:
        """What a statement becomes, each with whether it can be part of a block."""
        if type(node).__name__ in COMPOUND:
            opens = leaves(node) or any(node.lineno <= line <= (node.end_lineno or 0) for line in self._lines)
            yield (self.open(node) if opens else node), not opens
        elif isinstance(node, ast.Return) and node.value is not None and _evaluates(node.value):
            yield from self._apart(ast.copy_location(ast.Assign([_name(_RESULT, ast.Store(), node)], node.value), node))
            yield ast.copy_location(ast.Return(_name(_RESULT, ast.Load(), node)), node), False
        elif isinstance(node, _STAYS | ast.Return) or leaves(node):
            yield node, False
        elif not self._takes_values(node):
            for part in with_parts(node, self.turning):
                yield part, True
        elif (ordered := order_operands(node, self._known)) is None:
            yield node, False
        else:
            yield from ordered.before
            yield ordered.after, False
            gone = [_name(name, ast.Del(), node) for name in ordered.names]
            yield ast.copy_location(ast.Delete(list(gone)), node), False

    def _takes_values(self, node: ast.stmt) -> bool:
        """Whether a statement is surely for Python, which its calls may be no less."""
        if isinstance(node, ast.Expr) and only_consumes(node, self._known):
            return True
        calls = [item.func for item in ast.walk(node) if isinstance(item, ast.Call)]
        named = (item.id for item in calls if isinstance(item, ast.Name) and item.id not in self._known)
        return not _VALUES.isdisjoint(named) or any(
            isinstance(item, ast.Attribute) and item.attr in _VALUES_OF for item in calls
        )

    def close(self, stretch: list[ast.stmt], result: list[ast.stmt]) -> None:
        begin, end = 0, len(stretch)
        while begin < end and not _evaluates(stretch[begin]):
            begin += 1
        while begin < end and not _evaluates(stretch[end - 1]):
            end -= 1
        result.extend(stretch[:begin])
        if begin < end:
            statements = tuple(map(self._part, stretch[begin:end]))
            number = len(self.blocks)
            self.blocks.append(self.cell.block(statements, number))
            names = [_name(_part_of(item), ast.Load(), stretch[begin]) for item in statements]
            call = ast.Call(_name(_BLOCK, ast.Load(), stretch[begin]), [ast.Constant(number), *names], [])
            made = ast.copy_location(ast.Expr(call), stretch[begin])
            for item in ast.walk(made):
                ast.copy_location(item, stretch[begin])
            result.append(made)
        result.extend(stretch[end:])

    def _part(self, node: ast.stmt) -> Statement:
        """Makes a statement a function inside of the one that is taken apart; gives the statement that calls it."""
        name = f"{self._node.name}, line {node.lineno}"
        while name in self.names:
            name += "'"
        self.names.add(name)
        bound = _bound_by(node)
        self._bound |= bound
        declares: list[ast.stmt] = []
        for kind, among in ((ast.Global, bound & self._global), (ast.Nonlocal, bound - self._global)):
            if among:
                declares.append(ast.copy_location(kind(sorted(among)), node))
        self._parts.append(_function(name, [*declares, node], node))
        call = ast.Expr(ast.Call(_name(name, ast.Load(), node), [], []))
        for item in ast.walk(call):
            ast.copy_location(item, node)
        made = read_statement(call, False, self.cell.filename, 0)
        takes = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)} - bound | bound
        code = made.code.replace(co_name=PART)
        return replace(made, code=code, takes=frozenset(takes), gives=frozenset(bound))


def _own(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function that are not of one inside of it."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own(list(ast.iter_child_nodes(node)))


def _evaluates(node: ast.AST) -> bool:
    """Whether something is computed, and not only named."""
    computing = ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript | ast.AugAssign
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return False
    return isinstance(node, computing) or any(map(_evaluates, ast.iter_child_nodes(node)))


def _bound_by(node: ast.stmt) -> set[str]:
    """The names that a statement binds or deletes where it stands in a function."""
    trial = ast.Module([_function("trial", [node], node)], [])
    code = next(item for item in _compiled(trial, "trial").co_consts if isinstance(item, CodeType))
    return {*code.co_varnames, *code.co_cellvars}


def _function(name: str, body: list[ast.stmt], like: ast.stmt) -> ast.stmt:
    source = ast.parse("def function(): pass").body[0]
    assert isinstance(source, ast.FunctionDef)
    source.name, source.body = name, body
    for item in (source, source.args):
        ast.copy_location(item, like)
    return source


def _name(text: str, context: ast.expr_context, like: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(text, context), like)
