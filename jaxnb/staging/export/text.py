"""Python text for exported cells: statements cut out of their source, indented anew, literals, imports, formatting."""

from __future__ import annotations

import ast
import inspect
import io
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "block_text",
    "format_source",
    "import_lines",
    "indented",
    "joined",
    "listed",
    "literal",
    "render_imports",
    "returned_dict",
    "signature",
    "split_comments",
    "statement",
    "wrapped",
]

WIDTH = 88
_CONSTANT_SIZE = 400


def block_text(lines: Sequence[str], node: ast.stmt, after: int) -> str:
    """The user's own text of a top-level statement, with the comments above it and behind it.

    Args:
      lines: of the source, without line ends.
      node: the statement.
      after: the last line that belongs to what stands before it; 0 for the first statement.
    """
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    last = node.end_lineno or first
    text = list(lines[first - 1 : last])
    if first <= after or node.col_offset:  # behind a semicolon
        text[0] = _cut(text[0], node.col_offset)
    tail = _cut(lines[last - 1], node.end_col_offset or 0)
    text[-1] = text[-1].removesuffix(tail)
    remark = tail.lstrip("; \t")
    if remark.startswith("#"):
        text[-1] += f"  {remark.rstrip()}"
    above = [line.strip() for line in lines[after : first - 1]]
    while above and not above[0]:
        above.pop(0)
    return "\n".join([*above, *text])


def _cut(line: str, column: int) -> str:
    return line.encode()[column:].decode()


def indented(text: str, by: str = "    ") -> str:
    """The same statements, indented; what lies inside a string of several lines stays where it is."""
    inside: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
        name = tokenize.tok_name[token.type]
        if name in ("FSTRING_START", "TSTRING_START"):
            opened.append(token.start[0])
        elif name in ("FSTRING_END", "TSTRING_END"):
            inside.update(range(opened.pop() + 1, token.end[0] + 1))
        elif name == "STRING":
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    lines = text.split("\n")
    return "\n".join(line if not line or n in inside else by + line for n, line in enumerate(lines, start=1))


def literal(value: Any) -> str | None:
    """A small value of Python's own types as it would be written, or None."""
    try:
        text = _literal(value)
    except RecursionError:
        return None  # it holds itself
    return text if text is not None and len(text) <= _CONSTANT_SIZE else None


def _literal(value: Any) -> str | None:
    kind = type(value)
    if kind in (int, bool, str, bytes, type(None), type(...)):
        return "..." if value is ... else repr(value)
    if kind is float:
        return repr(value) if value - value == 0 else f'float("{value}")'
    if kind in (list, tuple, set):
        items = [_literal(item) for item in value]
        if None in items or (kind is set and not items):
            return None
        inner = ", ".join(str(item) for item in items)
        if kind is tuple:
            return f"({inner},)" if len(items) == 1 else f"({inner})"
        return f"[{inner}]" if kind is list else f"{{{inner}}}"
    if kind is dict:
        pairs = [(_literal(key), _literal(item)) for key, item in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    return None


def signature(head: str, parameters: Sequence[str], tail: str) -> str:
    """`head(parameters)tail`, on one line or on several."""
    line = f"{head}({', '.join(parameters)}){tail}"
    if len(line) <= WIDTH:
        return line
    inner = "    " + ", ".join(parameters)
    if len(inner) <= WIDTH:
        return f"{head}(\n{inner}\n){tail}"
    return f"{head}(\n" + "".join(f"    {name},\n" for name in parameters) + f"){tail}"


def wrapped(text: str, width: int) -> str:
    """A sentence on lines of at most `width` characters."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def render_imports(lines: Iterable[str]) -> str:
    """Imports as one sorted block: `import` before `from`, those of `__future__` first."""
    plain: set[str] = set()
    given: dict[str, set[str]] = {}
    for line in lines:
        if line.startswith("from "):
            module, _, names = line.removeprefix("from ").partition(" import ")
            given.setdefault(module, set()).add(names)
        else:
            plain.add(line)
    future = given.pop("__future__", None)
    block = sorted(plain, key=lambda line: (line.split()[1], line))
    for module, names in sorted(given.items()):
        line = f"from {module} import {', '.join(sorted(names))}"
        block.append(line if len(line) <= WIDTH else signature(f"from {module} import ", sorted(names), ""))
    parts = [f"from __future__ import {', '.join(sorted(future))}"] if future else []
    return "\n\n".join([*parts, *(["\n".join(block)] if block else [])])


def format_source(text: str) -> str:
    """The text as ruff or black would format it, where one of them is installed; otherwise as it is."""
    here = Path(sys.executable).parent
    for tool, arguments in (("ruff", ["format", "--stdin-filename", "cell.py", "-"]), ("black", ["-q", "-"])):
        program = shutil.which(tool, path=str(here)) or shutil.which(tool)
        if program is None:
            continue
        try:
            done = subprocess.run(
                [program, *arguments], input=text, capture_output=True, check=False, timeout=20, encoding="utf-8"
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and _same_code(done.stdout, text):
            return done.stdout
    return text


def _same_code(one: str, other: str) -> bool:
    """Whether two texts are the same code, but for white space in docstrings."""
    try:
        trees = [ast.parse(text) for text in (one, other)]
    except SyntaxError:
        return False
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str(text)) as constant), *_]):
                constant.value = inspect.cleandoc(text)
            case ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str(text)) as constant), *_]):
                constant.value = inspect.cleandoc(text)
            case _:
                pass
    return ast.dump(trees[0]) == ast.dump(trees[1])


def import_lines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        dots = "." * node.level + (node.module or "")
        return [f"from {dots} import {ast.unparse(alias)}" for alias in node.names]
    assert isinstance(node, ast.Import)
    return [f"import {ast.unparse(alias)}" for alias in node.names]


def split_comments(text: str) -> tuple[list[str], str]:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.Expr)
    return text.split("\n")[: node.lineno - 1], ast.get_source_segment(text, node.value) or ast.unparse(node.value)


def statement(head: str, expression: str) -> str:
    """`head expression`, in brackets where it would not be one statement otherwise."""
    plain = f"{head} {expression}"
    probe = plain if not head.startswith("return") else f"_ = {expression}"
    try:
        if len(ast.parse(probe).body) == 1:
            return plain
    except SyntaxError:
        pass
    return f"{head} (\n{indented(expression)}\n)"


def returned_dict(pairs: Sequence[tuple[str, str]]) -> str:
    line = "return {" + ", ".join(f'"{key}": {text}' for key, text in pairs) + "}"
    if len(line) <= 84:
        return line
    return "return {\n" + "".join(f'    "{key}": {text},\n' for key, text in pairs) + "}"


def listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def joined(blocks: Sequence[str]) -> str:
    """Definitions with two blank lines around those that have a body, and none between assignments."""
    text = ""
    before = ""
    for block in blocks:
        short = not any(line.startswith(("def ", "class ", "@")) for line in block.split("\n"))
        text += ("" if not before else "\n" if short and before == "short" else "\n\n\n") + block
        before = "short" if short else "long"
    return text
