"""What runs again and again in the text of a cell: its loops, the functions in them, and how many turns there are."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.findings.place import function_around, parse_shown
from jaxnb.findings.syntax import first_line
from jaxnb.program import Finding, Fix
from jaxnb.runtime import is_library

__all__ = ["Again", "Function", "Loop", "LoopText", "ends_soon"]

Loop = ast.For | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Function = ast.FunctionDef | ast.Lambda
Again = Loop | ast.FunctionDef
"""What makes that something runs more than once: a loop, or a function that is called."""

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.While, *_COMPREHENSIONS)
_ONE_FOR_EACH = frozenset({"enumerate", "reversed", "tqdm", "trange", "sorted", "list", "tuple", "iter"})


class LoopText:
    """The text of a cell, with what its names stand for once it has run.

    Args:
      shown: the cell as displayed.
      tree: its syntax.
      namespace: the names.
    """

    def __init__(self, shown: str, tree: ast.Module, namespace: Mapping[str, Any]) -> None:
        self.shown, self.tree, self.namespace = shown, tree, namespace

    @classmethod
    def of(cls, text: str, namespace: Mapping[str, Any]) -> LoopText | None:
        """A cell as displayed; None if its text is no Python.

        Args:
          text: of it.
          namespace: the names once it has run.
        """
        tree = parse_shown(text)
        return None if tree is None else cls(text, tree, namespace)

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """Everything in it, as `ast.walk` gives it."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """What each node stands in."""
        return {child: above for above in self.nodes for child in ast.iter_child_nodes(above)}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, the innermost first."""
        while (above := self.parents.get(node)) is not None:
            yield above
            node = above

    def again(self, node: ast.AST) -> Again | None:
        """The innermost loop that runs a node in each turn, or the function that does at each call."""
        below = node
        for above in self.around(node):
            if isinstance(above, _LOOPS) and _is_each_turn(above, below):
                return above
            if isinstance(above, ast.FunctionDef) and below in above.body:
                return above
            below = above
        return None

    def loop(self, node: ast.AST) -> Loop | None:
        """The innermost loop that runs a node in each turn, where no function stands between."""
        found = self.again(node)
        return None if isinstance(found, ast.FunctionDef) else found

    def each_turn(self, loop: Loop) -> Iterator[ast.expr]:
        """The expressions that each turn of a loop evaluates: not those under an `if` or behind an inner loop's
        `else`, nor in functions that are only defined."""
        if isinstance(loop, ast.While):
            yield from _evaluated(loop.test)
        for item in loop.body if isinstance(loop, ast.For | ast.While) else _elements(loop):
            yield from _evaluated(item)

    def at(self, line: int, *kinds: type[ast.AST]) -> Iterator[Any]:
        """The nodes of some kinds that begin on a line, or go on there, the outermost first."""
        for node in ast.walk(self.tree):
            if isinstance(node, kinds):
                found: Any = node
                if first_line(found) <= line <= (found.end_lineno or 0):
                    yield found

    def value(self, node: ast.AST) -> Any:
        """What a name stands for, or an attribute of a module, or an item by a written key; nothing of the user's
        runs."""
        if isinstance(node, ast.Name):
            return self.namespace.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            return vars(owner).get(node.attr) if isinstance(owner, types.ModuleType) else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            whole, key = self.value(node.value), node.slice.value
            if type(whole) is dict:
                return whole.get(key)
            if type(whole) in (list, tuple) and isinstance(key, int) and -len(whole) <= key < len(whole):
                return whole[key]
        return None

    def called(self, call: ast.AST) -> str:
        """The name of the function of JAX that a call calls, such as "jax.jit"; "" of any other."""
        value: Any = self.value(call.func) if isinstance(call, ast.Call) else None
        module = str(getattr(value, "__module__", None))
        return f"{module}.{value.__name__}" if module.startswith("jax") and hasattr(value, "__name__") else ""

    def turns(self, loop: ast.AST | None) -> int | None:
        """How many turns a loop takes, if its text and the sizes of what it goes over say so."""
        if isinstance(loop, ast.For):
            return None if _may_end_early(loop) else self._length(loop.iter)
        if isinstance(loop, _COMPREHENSIONS):
            sizes = [self._length(item.iter) for item in loop.generators]
            return None if len(sizes) != 1 or loop.generators[0].ifs else sizes[0]
        return None

    def _length(self, node: ast.expr) -> int | None:
        if isinstance(node, ast.List | ast.Tuple):
            return None if any(isinstance(item, ast.Starred) for item in node.elts) else len(node.elts)
        if not isinstance(node, ast.Call):
            return _size_of(self.value(node))
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        args = node.args
        if name in ("range", "arange", "trange"):
            numbers = [self._number(item) for item in args]
            whole = [item for item in numbers if item is not None]
            return len(range(*whole)) if len(whole) == len(numbers) in (1, 2, 3) and whole[2:] != [0] else None
        if name == "zip":
            sizes = [self._length(item) for item in args]
            known = [item for item in sizes if item is not None]
            return min(known) if known and len(known) == len(sizes) else None
        if name in ("items", "keys", "values") and isinstance(node.func, ast.Attribute):
            return _size_of(self.value(node.func.value))
        if name == "linspace" and len(args) == 3:
            return self._number(args[2])
        if name == "split" and len(args) == 2:  # of jax.random
            return self._number(args[1])
        return self._length(args[0]) if name in _ONE_FOR_EACH and args else None

    def _number(self, node: ast.expr) -> int | None:
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            below = self._number(node.operand)
            return None if below is None else -below
        if isinstance(node, ast.BinOp):
            left, right = self._number(node.left), self._number(node.right)
            return _computed(node.op, left, right) if left is not None and right is not None else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
            return self._length(node.args[0])
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            array, axis = self.value(node.value.value), self._number(node.slice)
            shape = array.shape if isinstance(array, jax.Array | np.ndarray) else ()
            return int(shape[axis]) if axis is not None and -len(shape) <= axis < len(shape) else None
        value = self.value(node)
        return value if type(value) is int else None

    def finding(
        self, kind: str, message: str, node: ast.AST, holder: str, fix: str, trail: tuple[int, ...] = ()
    ) -> Finding:
        """What there is to say of a part of the cell, with the function that it stands in.

        Args:
          kind: of the finding.
          message: of it.
          node: the part.
          holder: what the user knows it by.
          fix: what to do, in words.
          trail: further lines that are shown.
        """
        line = first_line(node)
        name = function_around(self.shown, line)
        origin = f"in `{name}`" if name and getattr(node, "name", "") != name else ""
        return Finding(kind, message, line, holder=holder, origin=origin, fix=Fix(fix), trail=trail)

    def where(self, again: Again) -> str:
        """When something runs again: "in each turn of the loop on line 3", or "at each call of `fit`"."""
        if isinstance(again, ast.FunctionDef):
            return f"at each call of `{again.name}`"
        return f"in each turn of the loop on line {again.lineno}"


_MOST_TURNS = 1000


def ends_soon(nodes: Sequence[ast.AST], text: LoopText, before: Mapping[str, Any]) -> bool:
    """Whether the text says of statements that they end after few turns of their loops, whatever they compute.

    Args:
      nodes: of the cell.
      text: the cell.
      before: what the names that it reads stood for when it began: their functions could do anything.
    """
    inside = [item for one in nodes for item in ast.walk(one)]
    defined = {item.name: item.lineno for item in inside if isinstance(item, ast.FunctionDef)}
    written = [one.value for one in inside if isinstance(one, ast.Constant) and type(one.value) is int]
    longest = max([*map(_longest, [*before.values(), *written])], default=0)
    turns = 1
    for node in inside:
        if isinstance(node, ast.While) or (isinstance(node, ast.Name) and node.id == "iter"):
            return False
        if isinstance(node, _LOOPS):
            over = [one.iter for one in ast.walk(node) if isinstance(one, ast.For | ast.comprehension)]
            known = text.turns(node)
            turns *= known if known else longest if all(map(_goes_over_data, over)) else _MOST_TURNS + 1
        if isinstance(node, ast.Name) and node.id not in defined and not _runs_nothing_own(before.get(node.id)):
            return False
        if isinstance(node, ast.FunctionDef):  # of a function that calls itself, or a later one, who knows
            names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
            if any(defined[name] >= node.lineno for name in names & defined.keys()):
                return False
    return turns <= _MOST_TURNS


def _longest(value: Any) -> int:
    """How often a loop over a value, or over a part of it, can turn at most."""
    if isinstance(value, jax.Array | np.ndarray):
        return max(value.shape, default=0)
    if type(value) is int:
        return value
    items = [*value] if type(value) in (list, tuple) else [*value.values()] if type(value) is dict else []
    return max([len(items), *map(_longest, items)])


def _goes_over_data(node: ast.expr) -> bool:
    """Whether a loop goes over what has a name, or a part of that, or as often, and not over what is made for it."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        given = [of] if name in ("items", "keys", "values") and of is not None else node.args
        return name in (*_ONE_FOR_EACH, "zip", "range", "items", "keys", "values") and all(map(_goes_over_data, given))
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name | ast.Constant)


def _runs_nothing_own(value: Any) -> bool:
    """Whether a value is data, or of a library's."""
    if type(value) in (list, tuple):
        return all(map(_runs_nothing_own, value))
    if type(value) is dict:
        return all(map(_runs_nothing_own, value.values()))
    if value is None or isinstance(value, types.ModuleType | jax.Array | np.ndarray | np.generic):
        return True
    value = value.__wrapped__ if _jax.jit_options(value) is not None else value
    home = value.__module__ if isinstance(value, types.FunctionType | type) else type(value).__module__
    return type(home) is str and is_library(home) and not isinstance(value, functools.partial)


def _is_each_turn(loop: Any, below: ast.AST) -> bool:
    """Whether a part of a loop runs in each turn: what it goes over is made once."""
    if isinstance(loop, ast.For):
        return below in loop.body
    if isinstance(loop, ast.While):
        return below in loop.body or below is loop.test
    return not (isinstance(below, ast.comprehension) and below is loop.generators[0])


def _elements(loop: Any) -> list[ast.expr]:
    parts = [loop.key, loop.value] if isinstance(loop, ast.DictComp) else [loop.elt]
    return parts if not any(item.ifs for item in loop.generators) else []


def _evaluated(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions in a node that are evaluated whenever it is."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Try | ast.Match):
        return
    if isinstance(node, ast.If | ast.IfExp):
        yield from _evaluated(node.test)
        return
    if isinstance(node, ast.BoolOp):
        yield from _evaluated(node.values[0])
        return
    if isinstance(node, ast.expr):
        yield node
    inside = [node.iter, *node.body] if isinstance(node, ast.For) else ast.iter_child_nodes(node)
    for item in inside:
        yield from _evaluated(item)


def _may_end_early(loop: ast.For) -> bool:
    return any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop))


def _size_of(value: Any) -> int | None:
    if type(value) in (list, tuple, dict, set, range, str):
        return len(value)
    if isinstance(value, jax.Array | np.ndarray) and value.ndim:
        return int(value.shape[0])
    return None


def _computed(op: ast.operator, left: int, right: int) -> int | None:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return left // right if right else None
        case _:
            return None
