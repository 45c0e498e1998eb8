"""Edits of the cell, as text, and what they would make of the shapes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix

__all__ = [
    "advice",
    "assigned_in",
    "bare",
    "bracketed",
    "called_again",
    "dimensions",
    "exchange",
    "exchanged",
    "function_of",
    "grown",
    "instead",
    "joined",
    "returned_of",
    "sized",
    "words_of",
]


def exchange(scene: Scene, text: str, *new: tuple[ast.AST, str]) -> Fix:
    """A fix that puts other texts where parts of the failed expression stand; in words it says the new expression.

    Args:
      scene: of the error.
      text: what is done, without a full stop; the new text follows.
      new: each part with what stands in its place.
    """
    edit = exchanged(scene.failed.text, new)
    shown = _around(scene, new)
    return Fix(f"{text}: `{shown}`." if shown else f"{text}.", edit=edit)


def exchanged(text: str, new: Sequence[tuple[ast.AST, str]]) -> tuple[int, str, str] | None:
    """An edit of the lines that these parts of a text stand on, as `Fix.edit` has it; None if it changes nothing."""
    lines = text.split("\n")
    first = min(getattr(node, "lineno", 1) for node, _ in new)
    last = max(getattr(node, "end_lineno", 1) for node, _ in new)
    old = lines[first - 1 : last]
    changed = list(old)
    for node, put in sorted(new, key=lambda one: _place(one[0]), reverse=True):
        line, column, end_line, end_column = _place(node)
        head = changed[line - first].encode()[:column].decode()
        tail = changed[end_line - first].encode()[end_column:].decode()
        changed[line - first : end_line - first + 1] = [head + put + tail]
    return (first, "\n".join(old), "\n".join(changed)) if changed != old else None


def instead(scene: Scene, text: str, node: ast.AST, new: str) -> Fix:
    """A fix that puts another text in the place of something that stands elsewhere in the cell."""
    return Fix(f"{text}: `{' '.join(new.split())}`.", edit=exchanged(scene.failed.text, [(node, new)]))


def advice(text: str) -> Fix:
    """A fix in words."""
    return Fix(text)


def _place(node: ast.AST) -> tuple[int, int, int, int]:
    found: tuple[int, ...] = tuple(
        getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
    )
    return found[0], found[1], found[2], found[3]


def _around(scene: Scene, new: Sequence[tuple[ast.AST, str]]) -> str:
    """The failed expression with the new parts in it."""
    node = scene.failed.node
    line, column, end_line, end_column = _place(node)
    inside = all(_place(node)[:2] <= _place(part)[:2] and _place(part)[2:] <= _place(node)[2:] for part, _ in new)
    if not inside or line != end_line:
        return new[0][1]
    whole = scene.failed.text.split("\n")[line - 1].encode()[column:end_column].decode()
    for part, put in sorted(new, key=lambda one: _place(one[0]), reverse=True):
        _, start, _, end = _place(part)
        coded = whole.encode()
        whole = coded[: start - column].decode() + put + coded[end - column :].decode()
    return whole


def bracketed(operand: Operand) -> str:
    """The text of an operand so that an attribute or an index can follow."""
    simple = isinstance(operand.node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    return operand.text if simple else f"({operand.text})"


def dimensions(shape: Iterable[object]) -> str:
    """A shape as JAX writes it: `(2, 3)`, `(4,)`."""
    parts = [str(size) for size in shape]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def sized(operand: Operand) -> str:
    """An operand with its shape: "`x` (2, 3)"."""
    return f"`{operand.text}` {dimensions(operand.shape or ())}"


def joined(names: Sequence[str], word: str = "and") -> str:
    """Names in a sentence: "a, b and c"."""
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def called_again(scene: Scene) -> list[ast.AST]:
    """The positional arguments of the failed call."""
    node = scene.failed.node
    return list(node.args) if isinstance(node, ast.Call) else []


def function_of(function: Any) -> str:
    """What the user calls a function that a transformation was given: its name, or "<lambda>"; "" if it is unknown."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    while hasattr(function, "func"):
        function = function.func
    return str(getattr(function, "__name__", ""))


def returned_of(scene: Scene, name: str) -> tuple[ast.expr | None, int | None]:
    """The expression that a function of this text returns, and its line; (None, None) if it is not one of this text."""
    for node in ast.walk(scene.failed.tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            ends = [item for item in _own(node) if isinstance(item, ast.Return) and item.value is not None]
            if ends:
                return ends[-1].value, ends[-1].lineno
    if name == "<lambda>":
        found = [node for node in ast.walk(scene.failed.node) if isinstance(node, ast.Lambda)]
        found = found or [node for node in ast.walk(scene.failed.tree) if isinstance(node, ast.Lambda)]
        if len(found) == 1:
            return found[0].body, found[0].body.lineno
    return None, None


def assigned_in(scope: ast.AST, name: str, before: int) -> ast.expr | None:
    """What a name was last assigned above a line of a function or of a cell; None if it was not, or not alone."""
    found: ast.Assign | None = None
    for item in ast.walk(scope):
        named = isinstance(item, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id == name for one in item.targets
        )
        if (
            isinstance(item, ast.Assign)
            and named
            and item.lineno < before
            and (found is None or item.lineno > found.lineno)
        ):
            found = item
    return found.value if found is not None else None


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def words_of(scene: Scene, module: str = "jax.numpy", default: str = "jnp") -> str:
    """What the user calls a module, such as "jnp"."""
    frame = scene.failed.frame
    named = (name for name, value in frame.items() if type(value).__name__ == "module" and value.__name__ == module)
    return next(named, default)


def _with_argument(text: str, argument: str) -> str:
    """The text of a call with one more argument."""
    inner = text.rstrip()[:-1].rstrip().rstrip(",")
    return f"{inner}{'' if inner.endswith('(') else ', '}{argument})"


def grown(scene: Scene, said: str, call: ast.Call, argument: str) -> Fix:
    """A fix that gives a call of this text one more argument."""
    return instead(scene, said, call, _with_argument(ast.get_source_segment(scene.failed.text, call) or "", argument))


def bare(node: ast.AST, text: str) -> str:
    """The text of an expression so that an attribute can follow."""
    return text if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({text})"
