"""What a traced function does besides computing (`"side_effect"`): it happens while JAX traces it, and then no more.

The functions that a cell has traced are found in its text: those that it hands to `jax.jit`, `lax.scan` and the like,
those under such a decorator, and those of other cells that are jitted. What they do is read from their text, and that
of the user's functions that they call. A statement of the cell itself is run by Python each time, and never counts.
"""

from __future__ import annotations

import ast
import builtins
import random
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jaxnb._jax import is_reference
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.lint import Lint, Text, When, only_defines
from jaxnb.findings.lints.written import Written
from jaxnb.findings.syntax import default_values, first_line
from jaxnb.program import Finding, Fix, Span
from jaxnb.staging import CellSource, CodeNames, Statement, is_user_function, names_of

__all__ = ["LINT", "may_act", "side_effects"]

_ONCE_A_CALL = frozenset(["jit", "pmap"])
_ONCE_FOR_ALL = frozenset("vmap scan fori_loop while_loop cond switch map associative_scan".split())
_CALLBACKS = frozenset(["callback", "io_callback", "pure_callback"])
_GROWS = frozenset(["append", "extend", "add", "update", "insert"])
_STATIC = frozenset(["shape", "dtype", "ndim", "size", "aval"])
_SEEDED = frozenset(["default_rng", "RandomState", "Generator", "Random", "SeedSequence", "PCG64"])
_DEEPEST = 4

_Function = ast.FunctionDef | ast.Lambda


def may_act(statements: Iterable[Statement], namespace: Mapping[str, Any]) -> bool:
    """Whether `side_effects` could find anything in functions that statements define or reach; quick, and never wrong
    when it says no.

    Args:
      statements: of a cell.
      namespace: the names as they are before they run, or after.
    """
    seen: set[int] = set()
    for statement in statements:
        defines = any(type(constant) is types.CodeType for constant in statement.code.co_consts)
        if _names_act(statement.names, namespace, seen, defines, 0):
            return True
    return False


_ACTING_MODULES = frozenset(["time", "random", "datetime", "logging"])
_ACTING_BUILTINS = frozenset(["print", "open", "input"])


def _names_act(names: CodeNames, namespace: Mapping[str, Any], seen: set[int], own: bool, depth: int) -> bool:
    """Whether code acts by what it reads, if it is code of a function, its `own`, or of functions that it reaches."""
    if own and (names.mutates or not _ACTING_BUILTINS.isdisjoint(names.reads)):
        return True
    for name in names.reads:
        value = namespace.get(name)
        kind = type(value)
        if kind is types.ModuleType:
            module = value.__name__  # type: ignore[union-attr]
            if own and (module in _ACTING_MODULES or (module.startswith("numpy") and "random" in names.attributes)):
                return True
        elif kind is types.FunctionType or kind.__name__ == "PjitFunction":
            function: Any = getattr(value, "__wrapped__", value)
            if own and getattr(function, "__module__", None) in _ACTING_MODULES:
                return True
            if id(function) in seen or depth > _DEEPEST or not is_user_function(function):
                continue
            seen.add(id(function))
            kept = any(type(item) in (list, dict, set) for item in function.__defaults__ or ())
            if kept and not _GROWS.isdisjoint(names_of(function.__code__).attributes):
                return True
            if _names_act(names_of(function.__code__), function.__globals__, seen, True, depth + 1):
                return True
        elif own and _acts(value, kind, names):
            return True
    return False


def _acts(value: Any, kind: type, names: CodeNames) -> bool:
    if kind in (list, dict, set):
        return not _GROWS.isdisjoint(names.attributes)
    if kind is types.BuiltinFunctionType or kind is types.MethodType:
        owner = type(value.__self__).__module__ if value.__self__ is not None else ""
        return value.__module__ in _ACTING_MODULES or owner.partition(".")[0] in (*_ACTING_MODULES, "numpy")
    module = value.__module__ if isinstance(value, type) else kind.__module__
    return module in _ACTING_MODULES or module.startswith("numpy.random")


@dataclass(frozen=True, slots=True)
class _Traced:
    """A function that is traced: its text, by what, where it is called, the names that it sees, and whether it is a
    method of an object, which is not traced."""

    node: _Function
    by: str
    call: ast.expr
    file: str
    names: Mapping[str, Any]
    bound: bool = False


def side_effects(cell: CellSource, namespace: Mapping[str, Any], label: Callable[[str], str] = str) -> list[Finding]:
    """What the functions that a cell has traced do while they are traced; one finding for each line.

    Args:
      cell: that ran.
      namespace: the names as they are then.
      label: what the user knows a file by.
    """
    reading = _Reading(cell, namespace, label)
    by_line: dict[int | None, list[Finding]] = {}
    for traced in reading.traced():
        for finding in reading.effects(traced, traced.call, traced.node, traced.file, traced.names):
            by_line.setdefault(finding.line, []).append(finding)
    return [_together(some) for some in by_line.values()]


def _together(found: Sequence[Finding]) -> Finding:
    """The first of the findings of one line, which names what the others are about: functions of other cells may do
    many things."""
    first, *others = found
    rest = dict.fromkeys((item.holder, item.origin) for item in others)
    rest.pop((first.holder, first.origin), None)
    if not rest:
        return first
    shown = [f"`{text}`{f' ({origin})' if origin else ''}" for text, origin in list(rest)[:_MOST]]
    more = f" and {len(rest) - _MOST} more" if len(rest) > _MOST else ""
    return replace(first, message=f"{first.message} The same goes for {', '.join(shown)}{more}.")


_MOST = 4
"""Further effects of one line that are named."""


class _Reading:
    """One cell, and the functions that it names."""

    def __init__(self, cell: CellSource, namespace: Mapping[str, Any], label: Callable[[str], str]) -> None:
        self.cell, self.namespace, self.label = cell, namespace, label
        self.written = Written()
        self.nodes = [node for statement in cell.statements for node in ast.walk(statement.node)]
        self.own: dict[str, _Function] = {}
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef):
                self.own[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                self.own.update((name.id, node.value) for name in node.targets if isinstance(name, ast.Name))
        self._seen: set[int] = set()

    def traced(self) -> Iterator[_Traced]:
        """The functions that the cell has traced."""
        called = {node.func.id for node in self.nodes if _calls_name(node)}  # type: ignore[attr-defined]
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef) and node.name in called:
                for decorator in node.decorator_list:
                    by = self._transform(decorator)
                    if by:
                        yield _Traced(node, by, decorator, self.cell.filename, self.namespace)
            elif isinstance(node, ast.Call):
                yield from self._handed_on(node)

    def _handed_on(self, call: ast.Call) -> Iterator[_Traced]:
        by = self._transform(call.func)
        if by:
            for arg in [*call.args, *(keyword.value for keyword in call.keywords)]:
                for item in arg.elts if isinstance(arg, ast.List | ast.Tuple) else [arg]:
                    found = self._function(item, self.namespace)
                    method = self._method(item) if found is None else None
                    if found is not None:
                        yield _Traced(found[0], by, call, found[1], found[2])
                    elif method is not None:
                        yield _Traced(method, by, call, self.cell.filename, self.namespace, bound=True)
        elif isinstance(call.func, ast.Name) and call.func.id not in self.own:
            value = self.namespace.get(call.func.id)
            wrapped = getattr(value, "__wrapped__", None) if type(value).__name__ == "PjitFunction" else None
            found = self._text(wrapped)
            if found is not None:
                yield _Traced(found[0], "jit", call, found[1], found[2])

    def _method(self, node: ast.expr) -> ast.FunctionDef | None:
        """The method of a class of the cell that `self.name` is inside of it."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or node.value.id != "self":
            return None
        for item in self.nodes:
            if isinstance(item, ast.ClassDef) and any(one is node for one in ast.walk(item)):
                methods = (one for one in item.body if isinstance(one, ast.FunctionDef))
                return next((one for one in methods if one.name == node.attr), None)
        return None

    def _transform(self, node: ast.expr) -> str:
        """The name of what traces a function, such as "scan"; "" if a call of this traces none."""
        if isinstance(node, ast.Call):  # @partial(jax.jit, static_argnums=0), @jax.jit(static_argnums=0)
            name = _dotted(node.func)
            inner = node.args[0] if name.endswith("partial") and node.args else node.func
            return self._transform(inner) if not isinstance(inner, ast.Call) else ""
        value = _resolved(node, self.namespace)
        name = getattr(value, "__name__", "")
        of_jax = str(getattr(value, "__module__", "")).startswith("jax")
        return name if of_jax and name in _ONCE_A_CALL | _ONCE_FOR_ALL else ""

    def _function(self, node: ast.expr, names: Mapping[str, Any]) -> tuple[_Function, str, Mapping[str, Any]] | None:
        if isinstance(node, ast.Lambda):
            return node, self.cell.filename, self.namespace
        if isinstance(node, ast.Name) and names is self.namespace and node.id in self.own:
            return self.own[node.id], self.cell.filename, self.namespace
        return self._text(names.get(node.id)) if isinstance(node, ast.Name) else None

    def _text(self, function: Any) -> tuple[_Function, str, Mapping[str, Any]] | None:
        """The text of a function of the user's."""
        if not isinstance(function, types.FunctionType) or not is_user_function(function):
            return None
        code = function.__code__
        tree = self.written.tree(code.co_filename)
        for node in ast.walk(tree) if tree is not None else ():
            if not isinstance(node, ast.FunctionDef | ast.Lambda) or first_line(node) != code.co_firstlineno:
                continue
            if getattr(node, "name", "<lambda>") == code.co_name:
                return node, code.co_filename, function.__globals__
        return None

    def _kept(self, node: _Function) -> dict[str, Any]:
        """The arguments of a function whose default is a container, which all calls share that do not give them."""
        args = node.args
        kinds: dict[type, Any] = {ast.List: list, ast.Dict: dict, ast.Set: set}
        found = {arg.arg: kinds[type(default)]() for arg, default in default_values(args) if type(default) in kinds}
        places = [arg.arg for arg in (*args.posonlyargs, *args.args)]
        for call in self.nodes if found else ():
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == getattr(node, "name", None):
                given = {*places[: len(call.args)], *(item.arg or "" for item in call.keywords)}
                found = {name: value for name, value in found.items() if name not in given}
        return found

    def effects(
        self,
        traced: _Traced,
        at: ast.expr,
        node: _Function,
        file: str,
        names: Mapping[str, Any],
        depth: int = 0,
    ) -> Iterator[Finding]:
        """What a function does, and what those that it calls do; `at` is where the cell leaves its own text."""
        if id(node) in self._seen or depth > _DEEPEST:
            return
        self._seen.add(id(node))
        local, kept = _local_names(node), self._kept(node)
        local -= {*kept, *(("self",) if traced.bound and node is traced.node else ())}
        names = {**names, **kept} if kept else names
        skipped = _given_to_callbacks(node)
        for item in _walk(node, skipped):
            what = _effect(item, local, names)
            if what is not None:
                yield self._finding(traced, at, item, file, what)
            elif isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id not in local:
                inner = self._function(item.func, names)
                if inner is not None:
                    here = item if file == self.cell.filename else at
                    yield from self.effects(traced, here, *inner, depth + 1)

    def _finding(self, traced: _Traced, call: ast.expr, node: ast.AST, file: str, what: tuple[str, str]) -> Finding:
        kind, fix = what
        mine = file == self.cell.filename
        at: Any = node if mine else call
        text = ast.unparse(node)
        text = text if len(text) <= 40 else text[:37] + "..."
        when = "not on every call" if traced.by in _ONCE_A_CALL else "not for each turn or row"
        message = f"`{text}` {kind} while jax.{_path(traced.by)} traces the function: once a trace, {when}."
        span = Span(at.lineno, at.col_offset, at.end_lineno or at.lineno, at.end_col_offset or 0)
        origin = "" if mine else f"{self.label(file)}, line {getattr(node, 'lineno', 0)}"
        return Finding("side_effect", message, at.lineno, span, holder=text, origin=origin, fix=Fix(fix))


def _path(by: str) -> str:
    return by if by in ("jit", "vmap", "pmap") else f"lax.{by}"


def _calls_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _local_names(node: _Function) -> set[str]:
    arguments = node.args
    found = {item.arg for item in [*arguments.args, *arguments.posonlyargs, *arguments.kwonlyargs]}
    found |= {item.arg for item in (arguments.vararg, arguments.kwarg) if item is not None}
    outer: set[str] = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            found.add(item.id)
        elif isinstance(item, ast.arg):
            found.add(item.arg)
        elif isinstance(item, ast.Global | ast.Nonlocal):
            outer.update(item.names)
    return found - outer


def _given_to_callbacks(node: ast.AST) -> set[int]:
    """What runs on every call after all: functions that `jax.debug.callback` and the like are given."""
    found: set[int] = set()
    names: set[str] = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Call) and _dotted(item.func).rpartition(".")[2] in _CALLBACKS:
            found.update(id(arg) for arg in item.args)
            names.update(arg.id for arg in item.args if isinstance(arg, ast.Name))
    found.update(id(item) for item in ast.walk(node) if isinstance(item, ast.FunctionDef) and item.name in names)
    return found


def _walk(node: ast.AST, skipped: set[int]) -> Iterator[ast.AST]:
    body: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]  # type: ignore[attr-defined]
    waiting = body[::-1]
    while waiting:
        item = waiting.pop()
        if id(item) in skipped:
            continue
        yield item
        waiting.extend(reversed(list(ast.iter_child_nodes(item))))


def _effect(node: ast.AST, local: set[str], names: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a statement or call does besides computing, and what to do instead."""
    if isinstance(node, ast.AugAssign):
        target = node.target
        root = _root(target)
        # what is written to an array reference the program writes, each time
        refers = isinstance(target, ast.Subscript) and is_reference(_resolved(target.value, names))
        if root is not None and root not in local and not refers and _untraced(node.value, local):
            return "counts", "count outside of the function, or return the count as a result."
        return None
    if not isinstance(node, ast.Call):
        return None
    func = node.func
    if isinstance(func, ast.Name) and func.id not in local:
        value = names.get(func.id, getattr(builtins, func.id, None))
        if value is print:
            return "prints", "use jax.debug.print, which prints values on every call."
        if value is open or value is input:
            return "reads or writes", "do it outside of the function, and pass what was read as an argument."
        return _library(value, node)
    if not isinstance(func, ast.Attribute):
        return None
    root = _root(func)
    if root is None or root in local:
        return None
    if func.attr in _GROWS and isinstance(names.get(root), list | dict | set) and isinstance(func.value, ast.Name):
        if node.args and all(_untraced(arg, local) for arg in node.args):
            return "adds to a container", "do it outside of the function, or return what is to be kept."
        return None
    return _library(_resolved(func, names), node)


def _library(value: Any, call: ast.Call) -> tuple[str, str] | None:
    """What calling something of the standard library or NumPy does."""
    owner = getattr(value, "__self__", None)
    module = str(getattr(value, "__module__", None) or type(owner).__module__)
    name = getattr(value, "__name__", "")
    drawing = isinstance(owner, random.Random | np.random.RandomState | np.random.Generator)
    if drawing or module.startswith("numpy.random") or module == "random":
        if name in _SEEDED and call.args:
            return None  # a state of its own, from a seed
        return "draws", "draw with jax.random, from a key that is an argument."
    if module == "time":
        return "reads the clock", "do it outside of the function, around a call of jax.block_until_ready."
    if module == "datetime" or (isinstance(owner, type) and owner.__module__ == "datetime"):
        return ("reads the clock", "read it outside of the function.") if name in ("now", "today", "utcnow") else None
    if module == "logging" or type(owner).__module__ == "logging":
        return "logs", "use jax.debug.callback, which runs on every call."
    return None


def _untraced(node: ast.expr, local: set[str]) -> bool:
    """Whether an expression holds nothing that is traced: constants, names from outside, shapes and dtypes."""
    if isinstance(node, ast.Attribute) and node.attr in _STATIC:
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return True
    if isinstance(node, ast.Name):
        return node.id not in local
    return all(_untraced(item, local) for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr))


def _root(node: ast.AST) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _resolved(node: ast.AST, names: Mapping[str, Any]) -> Any:
    """What a dotted name is; attributes are read of modules, classes and what draws only, as others may act."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    value = _resolved(node.value, names)
    plain = types.ModuleType | type | random.Random | np.random.RandomState | np.random.Generator
    if isinstance(value, plain) or type(value).__module__ == "logging":
        return getattr(value, node.attr, None)
    return None


def _called(cell: CellSource, statements: Sequence[Statement]) -> list[Statement]:
    """The definitions of a cell, run by Python, that traced statements reach by name."""
    makers = _makers_of(cell.statements)
    found: dict[int, Statement] = {}
    todo = [name for item in statements for name in item.names.order]
    seen: set[str] = set()
    while todo:
        if (name := todo.pop()) not in seen:
            seen.add(name)
            for maker in makers.get(name, ()):
                found[id(maker)] = maker
                todo += maker.names.order
    return [item for item in found.values() if only_defines(item)]


_latest: list[Any] = [None, {}]  # of which cell, since it is asked for each piece: who binds each of its names


def _makers_of(statements: tuple[Statement, ...]) -> Mapping[str, Sequence[Statement]]:
    if _latest[0] is not statements:
        makers: dict[str, list[Statement]] = {}
        for item in statements:
            for name in item.names.binds:
                makers.setdefault(name, []).append(item)
        _latest[:] = [statements, makers]
    return _latest[1]


def _when(traced: LintContext) -> When:
    statements = [*traced.statements, *_called(traced.cell, traced.statements)]
    return When.TRACED if may_act(statements, traced.namespace) else When.NEVER


def _in_text(text: Text) -> Iterator[Finding]:
    execution = text.execution
    if execution.options.xmap is not None:
        return
    if text.hinted or (text.calls and may_act(text.by_python, execution.namespace)):
        yield from side_effects(execution.cell, execution.namespace, execution.label)


LINT = Lint(when=_when, in_text=_in_text)
