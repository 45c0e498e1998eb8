"""Functions that a statement calls, taken apart where they need values: `fit(data)`, whose loop holds `float(loss)`.

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
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import CellType, CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple

from jaxnb import _jax
from jaxnb.runtime import Undo, is_installed
from jaxnb.staging.cells.blocks import COMPOUND, Counter, Opened, Opener, leaves
from jaxnb.staging.cells.cell import CellSource, Statement, read_statement
from jaxnb.staging.cells.code import code_digest, digest_as, names_of
from jaxnb.staging.cells.parts import statement_name, with_parts
from jaxnb.staging.cells.reach import functions_reached
from jaxnb.staging.objects.mutables import CELL
from jaxnb.staging.trace.operands import only_consumes, order_operands

__all__ = [
    "PART",
    "Called",
    "call_blocks",
    "called_in",
    "counting_turns",
    "is_statement_of",
    "line_at",
    "open_called",
    "opened_again",
    "sees_called",
]

PART = "jaxnb part"
"""What the code of a statement of such a block is called in tracebacks."""

_BLOCK = "jaxnb block"
_RESULT = "jaxnb result"
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_SEES_FRAMES = frozenset(
    {
        *("locals", "vars", "dir", "eval", "exec", "super", "globals", "get_ipython", "breakpoint", "set_trace"),
        *("_getframe", "currentframe", "stack", "getframeinfo", "f_locals", "f_back", "settrace", "setprofile"),
    }
)
_SEES_CALLED = frozenset({"f_locals", "tb_frame", "walk_tb", "walk_stack", "TracebackException", "StackSummary"})
"""By what code sees the variables of functions that it has called, which would be those of a statement of theirs."""
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


class Runs(NamedTuple):
    """What goes on where an opened function runs.

    Attributes:
      block: runs a block: of which function (the fingerprint of its code), its number, what its statements bind before
        they read it, and the functions that they became.
      turned: is told of each turn of a loop: its first and last line, and of which function.
      active: the functions (their fingerprints) of which blocks are running, in all that goes on in the thread.
    """

    block: Callable[[bytes, int, Sequence[Sequence[str]], Sequence[Part]], None]
    turned: Callable[[int, int, bytes], None]
    active: list[bytes]


_runs: dict[int, Runs] = {}
"""By the thread."""


class _Call:
    """What an opened function calls where a block stood; it is one of the constants of its code."""

    def __init__(self, digest: bytes, home: bytes) -> None:
        self._digest, self._home = digest, home

    def __call__(self, number: int, fresh: Sequence[Sequence[str]], *parts: Part) -> None:
        __tracebackhide__ = True
        runs = self._runs_here()
        try:
            if runs is None or self._digest in runs.active:  # it calls itself: each of its calls would be staged apart
                for part in parts:
                    part()
                return
            runs.active.append(self._digest)
            try:
                runs.block(self._digest, number, fresh, parts)
            finally:
                runs.active.pop()
        except NameError as error:
            if (local := _as_of_local(error, parts)) is None:
                raise
            raise local.with_traceback(error.__traceback__) from error.__cause__

    def turned(self, line: int, end_line: int) -> None:
        """A loop turns once more."""
        runs = self._runs_here()
        if runs is not None:
            runs.turned(line, end_line, self._home)

    def _runs_here(self) -> Runs | None:
        return None if _jax.is_tracing() else _runs.get(threading.get_ident())

    def turns(self, number: int) -> None:
        """A loop that is traced turns once more."""
        count = _counts.get(threading.get_ident())
        if count is not None:
            count(number)

    def __repr__(self) -> str:
        return _BLOCK


_counts: dict[int, Callable[[int], None]] = {}
"""What the loops of statements that became functions call while these are traced, by the thread; see `turns`."""


@contextmanager
def counting_turns(count: Callable[[int], None]) -> Generator[None]:
    """The loops of statements that became functions are counted."""
    thread = threading.get_ident()
    before = _counts.get(thread)
    _counts[thread] = count
    try:
        yield
    finally:
        _counts.pop(thread, None)
        if before is not None:
            _counts[thread] = before


_NOT_BOUND = "cannot access free variable '{name}' where it is not associated with a value in enclosing scope"


def _as_of_local(error: NameError, parts: Sequence[Part]) -> UnboundLocalError | None:
    """The error of a local variable that is not bound, where a statement met it as one of the function around it."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    codes = [part.__code__ for part in parts if isinstance(part, FunctionType)]
    if last is None or last.tb_frame.f_code not in codes or str(error) != _NOT_BOUND.format(name=error.name):
        return None
    told = UnboundLocalError(f"cannot access local variable '{error.name}' where it is not associated with a value")
    told.name, told.__context__ = error.name, error.__context__
    told.__suppress_context__ = error.__suppress_context__
    return told


@contextmanager
def _emptied(parts: Sequence[Part], fresh: Sequence[Sequence[str]]) -> Generator[None]:
    """Empties variables that statements bind before they read them: what they were is not part of any key then.

    They are as before where the statements raise.
    """
    kept: list[tuple[CellType, Any]] = []
    for part, names in zip(parts, fresh, strict=True):
        assert isinstance(part, FunctionType)
        cells = dict(zip(part.__code__.co_freevars, part.__closure__ or (), strict=True))
        for cell in (cells[name] for name in names):
            if state := CELL.save(cell):
                kept.append((cell, state))
                CELL.delete(cell, None)
    try:
        yield
    except BaseException:
        for cell, state in kept:
            if not CELL.save(cell):
                CELL.restore(cell, state)
        raise


def call_blocks(
    opened: Opened,
    reached: Iterable[FunctionType],
    namespace: dict[str, Any],
    block: Callable[[int], None],
    turned: Callable[[int, int, bytes], None],
    undo: Undo,
) -> None:
    """Gives the functions that were taken apart the code that calls for blocks, until it is undone.

    Args:
      opened: the statement that Python is about to run, taken apart.
      reached: the functions that it may call.
      namespace: where it runs; the statements of blocks stand there while one runs.
      block: runs a block, in the thread that calls this.
      turned: is told of each turn of a loop: its first and last line, and the function.
      undo: takes the way back.
    """

    functions = opened.functions or {}

    def run(digest: bytes, number: int, fresh: Sequence[Sequence[str]], parts: Sequence[Part]) -> None:
        __tracebackhide__ = True
        if digest not in functions:
            for part in parts:
                part()
            return
        named = dict(zip(map(_part_of, opened.blocks[number].statements), parts, strict=True))
        before = {name: namespace[name] for name in named if name in namespace}  # of a call around this one
        namespace.update(named)
        try:
            with _emptied(parts, fresh):
                block(number)
        finally:
            for name in named:
                namespace.pop(name, None)
            namespace.update(before)

    thread = threading.get_ident()
    outer = _runs.get(thread)
    undo.add(_runs.pop, thread, None) if outer is None else undo.add(_runs.__setitem__, thread, outer)
    _runs[thread] = Runs(run, turned, outer.active if outer is not None else [])
    for function in reached:
        before = function.__code__
        code, _ = functions.get(code_digest(before), (None, None))
        if code is not None and code is not before and _place_of(code) == _place_of(before):
            undo.add(setattr, function, "__code__", before)
            function.__code__ = code


def _place_of(code: CodeType) -> tuple[Any, ...]:
    return code.co_filename, code.co_firstlineno, code.co_freevars


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
        try:
            made = _open(function, lines, cell)
        except (SyntaxError, ValueError, RecursionError):  # a statement that can stand only where it does
            made = None
        if made is not None:
            code, blocks, turning = made
            offsets = frozenset(line - code.co_firstlineno for line in lines)
            functions = {code_digest(function.__code__): (code, offsets)}
            return Opened(statement.code, blocks, turning, functions=functions)
    return None


def sees_called(cell: CellSource, namespace: Mapping[str, Any]) -> bool:
    """Whether the cell, or a function that it may call, looks into frames of functions that it has called.

    Args:
      cell: as a whole.
      namespace: where its names are looked up.
    """
    reached = (each for item in cell.statements for each in functions_reached(item.names, namespace))
    codes = (cell.attributes, *(names_of(function.__code__).attributes for function in reached))
    return not all(map(_SEES_CALLED.isdisjoint, codes))


def opened_again(
    cell: CellSource,
    statement: Statement,
    namespace: Mapping[str, Any],
    opened: Opened,
    reached: Iterable[FunctionType],
) -> Opened | None:
    """The same for a function with the same code at another place, such as one of a cell that was edited above it; None
    if the one that was taken apart is among those that the statement may call (`reached`)."""
    there: Opened | None = None
    for function in reached:
        code = function.__code__
        made, offsets = (opened.functions or {}).get(code_digest(code), (None, frozenset[int]()))
        if made is not None and (made is code or _place_of(made) == _place_of(code)):
            return None
        if made is not None and there is None:
            stack = [Called(code, code.co_firstlineno + offset) for offset in offsets]
            there = open_called(cell, statement, namespace, stack)
    return there


def _code_within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_within(constant)


class _Source(NamedTuple):
    """Where the code of a function, or of a statement of it, comes from.

    Attributes:
      tree: the module or cell.
      node: the definition in it.
      body: its statements.
      shared: variables that other functions may read.
      home: the fingerprint of the function.
      first: the line at which the function begins.
    """

    tree: ast.Module
    node: ast.FunctionDef
    body: list[ast.stmt]
    shared: frozenset[str]
    home: bytes
    first: int


_sources: dict[int, tuple[weakref.ref[CodeType], _Source]] = {}
"""Of statements that became functions, by the id of their code."""


def _remember(code: CodeType, source: _Source) -> None:
    key = id(code)
    _sources[key] = (weakref.ref(code, partial(_sources.pop, key)), source)


def _open(
    function: FunctionType, lines: Collection[int], around: CellSource
) -> tuple[CodeType, tuple[CellSource, ...], frozenset[str]] | None:
    code = function.__code__
    if code.co_flags & _GENERATORS or not _SEES_FRAMES.isdisjoint(code.co_names) or "__class__" in code.co_freevars:
        return None
    known = _sources.get(id(code))
    source = known[1] if known is not None else _source_of(code)
    if source is None or (known is not None and type(source.body[-1]).__name__ not in COMPOUND):
        return None
    within = repr(sorted(line - source.first for line in lines))  # it is as it was wherever the function stands
    digest = hashlib.blake2b(code_digest(code) + within.encode(), digest_size=16).digest()
    text = "".join(linecache.getlines(code.co_filename))
    names = names_of(code)
    attributes, grown = around.attributes | names.attributes, around.grown | names.list_uses.grown
    home = CellSource(text, text, code.co_filename, (), digest, False, 0, attributes, grown)
    opener = _FunctionOpener(home, source, lines, function)
    opener.rewrite()
    if not opener.blocks:
        return None
    made = _find_code(_compiled(source.tree, code.co_filename), source.node.name, code.co_firstlineno)
    if made is None or made.co_freevars != code.co_freevars or made.co_flags & _GENERATORS:
        return None
    made = opener.named(made, code, _Call(code_digest(code), source.home))
    digest_as(made, code)
    if known is not None:
        _remember(made, source)
    return made, tuple(opener.blocks), frozenset(opener.turning)


def _source_of(code: CodeType) -> _Source | None:
    """Where a function is defined; None if that is not at hand, or not what runs."""
    lines = linecache.getlines(code.co_filename)
    if lines and lines[0].startswith("%%"):
        lines = ["\n", *lines[1:]]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse("".join(lines))
        found = _find_code(_compiled(tree, code.co_filename), code.co_name, code.co_firstlineno)
    except (SyntaxError, ValueError, RecursionError):
        return None
    digest = code_digest(code)
    if found is None or code_digest(found) != digest:
        return None
    shared = frozenset(code.co_freevars) | frozenset(code.co_cellvars)
    named = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == code.co_name)
    for node in named:
        if min([node.lineno, *(item.lineno for item in node.decorator_list)]) == code.co_firstlineno:
            return _Source(tree, node, node.body, shared, digest, code.co_firstlineno)
    return None


def is_statement_of(outer: CodeType, inner: CodeType) -> bool:
    """Whether one code is of a function that was taken apart, or of a statement of it, and the other of a statement."""
    known = _sources.get(id(inner))
    return known is not None and outer.co_qualname == inner.co_qualname and outer.co_filename == inner.co_filename


def _compiled(tree: ast.Module, filename: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, filename, "exec", dont_inherit=True)


def _find_code(code: CodeType, name: str, line: int) -> CodeType | None:
    return next((each for each in _code_within(code) if (each.co_name, each.co_firstlineno) == (name, line)), None)


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
      source: its definition, which is changed.
      lines: statements that hold these are taken apart.
      function: it.
    """

    def __init__(self, home: CellSource, source: _Source, lines: Collection[int], function: FunctionType) -> None:
        super().__init__(home, [])
        self._source, self._lines = source, lines
        self._called = function.__code__.co_name
        self._parts: dict[str, ast.FunctionDef] = {}
        self._bodies: dict[str, list[ast.stmt]] = {}
        self._bound: set[str] = set()
        declared = [item for item in _own(source.body) if isinstance(item, ast.Global | ast.Nonlocal)]
        self._global = {name for item in declared if isinstance(item, ast.Global) for name in item.names}
        self._outer = {name for item in declared if isinstance(item, ast.Nonlocal) for name in item.names}
        code = function.__code__
        inside = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self._known: dict[str, Any] = {**function.__globals__, **dict.fromkeys(inside, _UNKNOWN)}

    def caught(self, part: ast.ExceptHandler | ast.match_case) -> list[ast.stmt]:
        return []  # the globals of a function are not the cell's

    def rewrite(self) -> None:
        """Rewrites the definition."""
        node = self._source.node
        has_doc = ast.get_docstring(node, clean=False) is not None
        doc, body = self._source.body[:has_doc], self._source.body[has_doc:]
        body = self.stretches(body)
        if not self.blocks:
            return
        first = body[0]
        names: list[ast.expr] = []
        names += [_name(name, ast.Store(), first) for name in sorted(self._bound - self._global - self._outer)]
        never: list[ast.stmt] = []
        if names:
            binding: ast.stmt = ast.Assign(names, ast.Constant(None))
            never.append(_placed(ast.If(ast.Constant(False), [binding], []), first))
        node.body = [*doc, *never, _to_blocks(first), *self._parts.values(), *body]

    def named(self, code: CodeType, like: CodeType, call: _Call) -> CodeType:
        """The code of the rewritten definition: its statements are called what the function is called, and blocks are
        called by `call`."""

        def known(item: Any) -> Any:
            return call if isinstance(item, str) and item == _BLOCK else item

        def constant(item: Any) -> Any:
            if not isinstance(item, CodeType):
                return known(item)
            made = _outward(item)
            if item.co_name not in self._parts:
                return made
            own = tuple(map(known, made.co_consts))
            made = made.replace(co_consts=own, co_name=like.co_name, co_qualname=like.co_qualname)
            part = {"node": self._parts[item.co_name], "body": self._bodies[item.co_name]}
            _remember(made, self._source._replace(**part))
            return made

        constants = tuple(map(constant, code.co_consts))
        return code.replace(co_consts=constants, co_name=like.co_name, co_qualname=like.co_qualname)

    def turned(self, node: ast.For | ast.While) -> list[ast.stmt]:
        return [_told("turned", node.body[0], node.lineno, node.end_lineno)]

    def apart(self, node: ast.stmt) -> Iterator[tuple[ast.stmt, bool]]:
        if type(node).__name__ in COMPOUND:
            opens = leaves(node) or any(node.lineno <= line <= (node.end_lineno or 0) for line in self._lines)
            yield (self.open(node) if opens else node), not opens
        elif isinstance(node, ast.Return) and node.value is not None and _evaluates(node.value):
            yield from self.apart(ast.copy_location(ast.Assign([_name(_RESULT, ast.Store(), node)], node.value), node))
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
            fresh: Any = ast.Constant(None)
            fresh.value = self._fresh(stretch[begin:end])
            call = ast.Call(_name(_BLOCK, ast.Load(), stretch[begin]), [ast.Constant(number), fresh, *names], [])
            result.append(_placed(ast.Expr(call), stretch[begin]))
        result.extend(stretch[end:])

    def _fresh(self, nodes: Sequence[ast.stmt]) -> tuple[tuple[str, ...], ...]:
        """For each of some statements the variables that it surely binds before any of them has read them."""
        touched, found = self._global | self._source.shared, list[tuple[str, ...]]()
        for node in nodes:
            names = [item for item in ast.walk(node) if isinstance(item, ast.Name)]
            read = {item.id for item in names if not isinstance(item.ctx, ast.Store)}
            binds = isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None)
            simple = binds and not any(map(_is_scope, ast.walk(node)))
            bound = {item.id for item in names} - read - touched if simple else set[str]()
            found.append(tuple(sorted(bound)))
            touched |= {item.id for item in names}
        return tuple(found)

    def _part(self, node: ast.stmt) -> Statement:
        """Makes a statement a function inside of the one that is taken apart; gives the statement that calls it."""
        name = statement_name(self._called, node.lineno - self._source.first)
        while name in self._parts:
            name += "'"
        node = _Unannotated().visit(node)
        bound = _bound_by(node)
        self._bound |= bound
        declares: list[ast.stmt] = []
        for kind, among in ((ast.Global, bound & self._global), (ast.Nonlocal, bound - self._global)):
            if among:
                declares.append(ast.copy_location(kind(sorted(among)), node))
        self._bodies[name] = [*declares, node]
        counter = _TurnCounter()
        body = [*declares, counter.visit(node)]
        self._parts[name] = _function(name, [_to_blocks(node), *body] if counter.loops else body, node)
        call = _placed(ast.Expr(ast.Call(_name(name, ast.Load(), node), [], [])), node)
        made = read_statement(call, False, self.cell.filename, 0)
        takes = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)} | bound
        code = made.code.replace(co_name=PART)
        return replace(made, code=code, takes=frozenset(takes), gives=frozenset(bound))


class _Unannotated(ast.NodeTransformer):
    """Leaves out the annotations of variables, which a function does not evaluate: those of others have none."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            return node  # they have variables of their own
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)


class _TurnCounter(Counter):
    def call(self, like: ast.stmt, number: int) -> ast.stmt:
        return _told("turns", like, number)


def _to_blocks(like: ast.stmt) -> ast.stmt:
    """A statement that binds what is called for blocks."""
    return _placed(ast.Assign([_name(_BLOCK, ast.Store(), like)], ast.Constant(_BLOCK)), like)


def _told(method: str, like: ast.stmt, *numbers: int | None) -> ast.stmt:
    """A statement that tells numbers to what is called for blocks."""
    told = ast.Attribute(_name(_BLOCK, ast.Load(), like), method, ast.Load())
    return _placed(ast.Expr(ast.Call(told, [ast.Constant(number) for number in numbers], [])), like)


_WITHIN_PART = re.compile(r"[^.]+, line \d+'*\.<locals>\.")


def _outward(code: CodeType) -> CodeType:
    """Code as if the statements around it were no functions."""
    constants = tuple(_outward(item) if isinstance(item, CodeType) else item for item in code.co_consts)
    return code.replace(co_consts=constants, co_qualname=_WITHIN_PART.sub("", code.co_qualname))


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


def _function(name: str, body: list[ast.stmt], like: ast.stmt) -> ast.FunctionDef:
    source = ast.parse("def function(): pass").body[0]
    assert isinstance(source, ast.FunctionDef)
    source.name, source.body = name, body
    for item in (source, source.args):
        ast.copy_location(item, like)
    return source


def _is_scope(node: ast.AST) -> bool:
    return isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)


def _placed(node: Any, like: ast.AST) -> Any:
    """A syntax node with all that is in it where another one stands."""
    for item in ast.walk(node):
        ast.copy_location(item, like)
    return node


def _name(text: str, context: ast.expr_context, like: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(text, context), like)
