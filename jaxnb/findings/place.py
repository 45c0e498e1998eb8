"""Where in the user's text an exception was raised: the very expression, and what its names stand for there."""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from jaxnb import _jax
from jaxnb.program import Span
from jaxnb.runtime import is_library, is_own
from jaxnb.staging import state_of

__all__ = [
    "Entry",
    "FailedExpression",
    "Label",
    "find_place",
    "function_around",
    "functions_around",
    "parse_shown",
    "place_of",
    "users_frames",
]

Parents = dict[ast.AST, ast.AST]
Label = Callable[[str], str]
"""What the user knows a file by."""
Entry = tuple[FrameType, int, int]
"""A frame, the instruction that it carried out, and its line."""


@dataclass(frozen=True, slots=True)
class FailedExpression:
    """An expression that could not be evaluated.

    Attributes:
      file: the name of the cell or file.
      text: all of it, as displayed.
      tree: its syntax; the magic lines are comments in it.
      node: the expression.
      frame: the names in which it was evaluated, the local ones first.
      function: the name of the function that it stands in; "" at the top of a cell or file.
      calls: the lines of the same file that were being carried out, the outermost first.
    """

    file: str
    text: str
    tree: ast.Module
    node: ast.AST
    frame: dict[str, Any]
    function: str = ""
    calls: tuple[int, ...] = ()
    _parents: Parents = field(default_factory=dict[ast.AST, ast.AST], repr=False)

    @property
    def line(self) -> int:
        """The line, the magic line being 1."""
        return getattr(self.node, "lineno", 1)

    @property
    def span(self) -> Span:
        """The place of the expression."""
        node: Any = self.node
        first, last = self.text.splitlines()[node.lineno - 1], self.text.splitlines()[node.end_lineno - 1]
        column = len(first.encode()[: node.col_offset].decode())
        return Span(node.lineno, column, node.end_lineno, len(last.encode()[: node.end_col_offset].decode()))

    @property
    def expression(self) -> str:
        """The text of the expression."""
        return ast.get_source_segment(self.text, self.node) or ""

    def parent(self, node: ast.AST | None = None) -> ast.AST | None:
        """What a node, by default the expression, stands in."""
        if not self._parents:
            self._parents.update(
                (child, above) for above in ast.walk(self.tree) for child in ast.iter_child_nodes(above)
            )
        return self._parents.get(self.node if node is None else node)

    def above(self, *kinds: type[ast.AST]) -> Any:
        """The innermost node of one of these kinds around the expression, or None; it may be that itself."""
        return self.node if isinstance(self.node, kinds) else self.above_of(self.node, *kinds)

    def above_of(self, node: ast.AST, *kinds: type[ast.AST]) -> Any:
        """The innermost node of one of these kinds that another one stands in, or None."""
        found = self.parent(node)
        while found is not None and not isinstance(found, kinds):
            found = self.parent(found)
        return found

    @property
    def statement(self) -> ast.stmt:
        """The innermost statement around the expression."""
        return self.above(ast.stmt)

    def tracers(self) -> Iterator[Any]:
        """The tracers that names in the expression stand for, or items and attributes of these, as `state['n']`."""
        for node in ast.walk(self.node):
            value = self.value_of(node)
            if _jax.is_tracer(value):
                yield value

    def value_of(self, node: ast.AST) -> Any:
        """What a part of the expression stands for, as far as that can be told without running anything."""
        if isinstance(node, ast.Name):
            return self.frame.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            holder, key = self.value_of(node.value), node.slice.value
            if type(holder) in (list, tuple) and isinstance(key, int):
                return holder[key] if -len(holder) <= key < len(holder) else None
            return holder.get(key) if type(holder) is dict else None
        if isinstance(node, ast.Attribute):
            state = state_of(self.value_of(node.value))
            return state.get(node.attr) if isinstance(state, dict) else None
        return None


def find_place(error: BaseException, here: str = "", then: dict[str, Any] | None = None) -> FailedExpression | None:
    """The innermost expression of the user's own code in which an exception came up; None if its text is not known.

    Args:
      error: with its frames.
      here: the file name of a cell whose names were put back since.
      then: what they stood for.
    """
    frames: list[Entry] = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    mine = users_frames(frames)
    return place_of(frames, mine[-1], here, then) if mine else None


def users_frames(frames: Sequence[Entry]) -> list[int]:
    """Which of the frames of a traceback are of the user's own code."""
    return [index for index, (frame, _, _) in enumerate(frames) if _is_users(frame)]


def _is_users(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file == "<string>":  # what dataclasses and named tuples generate says that it is of the user's module
        return False
    return not (is_own(file) or _jax.in_jax(file) or is_library(frame.f_globals.get("__name__", "__main__")))


def place_of(
    frames: Sequence[Entry], index: int, here: str = "", then: dict[str, Any] | None = None
) -> FailedExpression | None:
    """The expression that one of the frames of a traceback was carrying out; None if its text is not known.

    Args:
      frames: as (frame, instruction, line), the outermost first.
      index: which of them.
      here: the file name of a cell whose names were put back since.
      then: what they stood for.
    """
    frame, instruction, _ = frames[index]
    file = frame.f_code.co_filename
    text = "".join(linecache.getlines(file))
    tree = parse_shown(text)
    node = _node_at(tree, frame.f_code, instruction) if tree is not None else None
    if tree is None or node is None:
        return None
    names = {**frame.f_globals, **frame.f_locals, **(then or {} if file == here and _is_top(frame) else {})}
    function = "" if _is_top(frame) else frame.f_code.co_name
    calls = tuple(line for other, _, line in frames[: index + 1] if other.f_code.co_filename == file)
    return FailedExpression(file, text, tree, node, names, function, calls)


def _is_top(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<module>"


def parse_shown(text: str) -> ast.Module | None:
    """The syntax of a cell as displayed: what IPython alone understands stands in it as nothing at all."""
    lines = [_without_magic(line) for line in text.splitlines(keepends=True)]
    try:
        return ast.parse("".join(lines))
    except SyntaxError:
        return None


def _without_magic(line: str) -> str:
    bare = line.lstrip()
    if not bare.startswith(("%", "!")):
        return line
    return f"{line[: len(line) - len(bare)]}pass\n" if line[0].isspace() else "#" + line[1:]


def _node_at(tree: ast.Module, code: CodeType, instruction: int) -> ast.AST | None:
    """The expression that a byte code instruction belongs to."""
    positions = list(code.co_positions())
    if not 0 <= instruction // 2 < len(positions):
        return None
    line, end, column, end_column = positions[instruction // 2]
    place = (line, column, end, end_column)
    nodes = (node for node in ast.walk(tree) if (getattr(node, "lineno", None), *_rest(node)) == place)
    found = next((node for node in nodes if not isinstance(node, ast.Expr)), None)
    # Python 3.11 gives the whole statement for a condition that is a plain name, or has a `not` before it.
    return found.test if isinstance(found, ast.If | ast.While | ast.Assert | ast.IfExp) else found


def _rest(node: Any) -> tuple[Any, ...]:
    return (
        getattr(node, "col_offset", None),
        getattr(node, "end_lineno", None),
        getattr(node, "end_col_offset", None),
    )


def functions_around(tree: ast.AST, line: int) -> Iterator[ast.FunctionDef | ast.Lambda]:
    """The functions that a line of a text stands in, the innermost last."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node.lineno <= line <= (node.end_lineno or 0):
            yield node


def function_around(shown: str, line: int) -> str:
    """The name of the function that a line of a cell stands in; "" if it is the cell's own.

    >>> function_around("def f(x):\\n    return x\\nf(1)", 2), function_around("def f(x):\\n    return x\\nf(1)", 3)
    ('f', '')
    """
    tree = parse_shown(shown)
    around = list(functions_around(tree, line)) if tree is not None else []
    return next((one.name for one in reversed(around) if isinstance(one, ast.FunctionDef)), "")
