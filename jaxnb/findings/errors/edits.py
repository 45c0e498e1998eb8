"""Edits of the user's text, which are tried before they are shown, and the words that explanations are made of."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix

__all__ = [
    "advice",
    "bare",
    "bracketed",
    "dimensions",
    "exchange",
    "exchanged",
    "joined",
    "lines_put",
    "put",
    "segment",
    "sized",
    "with_argument",
    "with_more",
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


def segment(place: FailedExpression, node: ast.AST) -> str:
    """The text of a part of a cell, as it stands there."""
    return ast.get_source_segment(place.text, node) or ast.unparse(node)


def put(place: FailedExpression, said: str, node: ast.AST, new: str) -> Fix:
    """A fix that puts another text in the place of a part of a cell; in words it says the new text."""
    return Fix(f"{said}: `{' '.join(new.split())}`.", edit=exchanged(place.text, [(node, new)]))


def with_argument(call: str, argument: str) -> str:
    """The text of a call with one more argument.

    >>> with_argument("jnp.sum(x, )", "axis=0"), with_argument("f()", "x")
    ('jnp.sum(x, axis=0)', 'f(x)')
    """
    inner = call.rstrip()[:-1].rstrip().rstrip(",")
    return f"{inner}{'' if inner.endswith('(') else ', '}{argument})"


def with_more(place: FailedExpression, said: str, call: ast.Call, argument: str) -> Fix:
    """A fix that gives a call one more argument."""
    return put(place, said, call, with_argument(segment(place, call), argument))


def lines_put(place: FailedExpression, first: int, last: int, new: list[str]) -> tuple[int, str, str]:
    """An edit that puts other lines where some of a text stand, counted from 1, both ends among them."""
    return first, "\n".join(place.text.split("\n")[first - 1 : last]), "\n".join(new)


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
    return bare(operand.node, operand.text)


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


def words_of(scene: Scene, module: str = "jax.numpy", default: str = "jnp") -> str:
    """What the user calls a module, such as "jnp"."""
    frame = scene.failed.frame
    named = (name for name, value in frame.items() if type(value).__name__ == "module" and value.__name__ == module)
    return next(named, default)


def bare(node: ast.AST, text: str) -> str:
    """The text of an expression so that an attribute can follow."""
    return text if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({text})"
