"""Cells that are staged without a magic on top: `# jaxnb: jit` as the first line, or `%jaxnb auto on`.

The comment is turned into a cell magic before IPython reads the cell. Under `auto` a cell is looked at here, before it
runs: whether it computes with JAX, and whether Python could still run it if it were refused.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from jaxnb.errors import Refused
from jaxnb.runtime import is_jax_module, is_library
from jaxnb.staging import (
    CellSource,
    Statement,
    first_effect,
    is_user_function,
    names_of,
    parse_cell,
    refers_to_jax,
    resolve,
    runs_on_host,
)

__all__ = [
    "DIRECTIVES",
    "AutoStage",
    "Directive",
    "as_cell_magic",
    "computes_with_jax",
    "jax_statements",
    "plain_cell",
    "read_directive",
    "what_cannot_be_repeated",
]

DIRECTIVES: Mapping[str, str] = {
    "jit": "stage this cell, as %%jit does",
    "grad": "stage it and differentiate, as %%grad does",
    "xmap": "stage it with named axes, as %%xmap does",
    "off": "leave it alone where auto is on",
}
"""What may stand behind `# jaxnb:`, each with what it does."""

_COMMENT = re.compile(r"#\s*jaxnb\s*:\s*(?P<word>\S*)\s*(?P<header>.*)")


@dataclass(frozen=True, slots=True)
class Directive:
    """What the first line of a cell says to jaxnb: `# jaxnb: WORD HEADER`."""

    word: str
    header: str


def read_directive(cell: str) -> Directive | None:
    """What a comment on the first line that is not blank says, if it begins with `# jaxnb:`.

    >>> read_directive("# jaxnb: jit --static n\\ny = x * n")
    Directive(word='jit', header='--static n')
    """
    text = cell.lstrip()
    found = _COMMENT.match(text.splitlines()[0]) if text else None
    return Directive(found["word"], found["header"].strip()) if found is not None else None


def as_cell_magic(lines: list[str]) -> list[str]:
    """Turns a cell with such a comment into a `%%jaxnb` cell of as many lines; any other is left as it is.

    An input transformer of IPython (`input_transformers_cleanup`). It never raises: the magic says what is wrong.
    """
    directive = read_directive(lines[0]) if lines else None
    if directive is None or directive.word == "off":
        return lines
    body = lines[1:] or ["#\n"]  # IPython refuses a cell magic without a body; a lone comment is no mistake
    return [f"%%jaxnb {directive.word} {directive.header}".rstrip() + "\n", *body]


class AutoStage:
    """The AST transformer of IPython that stages cells while `auto` is on.

    IPython calls it right before it compiles a cell. A cell that is staged is staged there and then, and what is left
    for IPython to run only hands over the value, or raises what was raised; every other cell is left as it is, and so
    runs exactly as without jaxnb.

    Args:
      stage: stages the text of a cell and returns the value to display.
      remark: takes a line to be shown under the cell.
      namespace: gives the user's names.

    Attributes:
      about_to_run: the cell as displayed, set as it begins. None while it runs: what `%%time` and the like compile is
        left alone.
    """

    def __init__(
        self, stage: Callable[[str], Any], remark: Callable[[str], None], namespace: Callable[[], dict[str, Any]]
    ) -> None:
        self.about_to_run: str | None = None
        self._stage, self._remark, self._namespace = stage, remark, namespace
        self._value: Any = None
        self._error: BaseException | None = None

    def visit(self, tree: ast.AST) -> ast.AST:
        """Stages the cell that is about to run, if it is one to stage, and returns what then is left."""
        raw, self.about_to_run = self.about_to_run, None
        cell = plain_cell(raw, tree) if raw is not None else None
        names = self._namespace()
        if raw is None or cell is None or not computes_with_jax(cell, names):
            return tree
        effect = what_cannot_be_repeated(cell, jax_statements(cell, names)[-1], names)
        if effect is not None:
            why = f"line {effect[0]}, {effect[1]}"
            self._remark(f"not staged: {why}, and auto could not undo that; %%jit stages the cell")
            return tree
        try:
            self._value = self._stage(raw)
        except Refused as error:
            if what_cannot_be_repeated(cell, _statement_at(cell, error.line), names) is None:
                self._remark(f"ran plainly: {error.what.splitlines()[0]}")
                return tree
            self._error = error
        except BaseException as error:
            self._error = error
        return ast.parse("get_ipython()._jaxnb_magics.hand_over()")

    def hand_over(self) -> Any:
        """The value of the cell that was staged.

        Raises:
          BaseException: what it raised.
        """
        __tracebackhide__ = True
        value, error = self._value, self._error
        self._value = self._error = None
        if error is not None:
            raise error
        return value


def _statement_at(cell: CellSource, line: int | None) -> int:
    """The statement at a line; the last one where no line is known."""
    found = [index for index, statement in enumerate(cell.statements) if statement.span.line <= (line or 0)]
    return found[-1] if found else len(cell.statements) - 1


def plain_cell(raw: str, tree: ast.AST) -> CellSource | None:
    """The cell, if it is Python alone and exactly what is about to run; None for all that `auto` leaves alone.

    Those are: magics and shell lines, syntax errors, `await` and `yield` at top level, `# jaxnb: off`, and cells that
    another transformer has changed.
    """
    directive = read_directive(raw)
    if directive is not None and directive.word == "off":
        return None
    try:
        cell = parse_cell(raw, filename="<jaxnb auto>")
    except (SyntaxError, ValueError, RecursionError, Refused):
        return None
    return cell if cell.statements and ast.dump(ast.parse(raw)) == ast.dump(tree) else None


def jax_statements(cell: CellSource, namespace: Mapping[str, Any]) -> list[int]:
    """Which statements have to do with JAX and more to do than to define, as far as can be told before the cell runs.

    What the cell itself imports or makes counts: `import jax.numpy as jnp` and `y = jnp.ones(3)` may stand in one cell.
    """
    known, of_jax = _with_imports(cell, namespace)
    found: list[int] = []
    for index, statement in enumerate(cell.statements):
        names = statement.names
        if statement.kind in ("Import", "ImportFrom"):
            continue
        by_cell = bool(names.reads & of_jax)
        if not by_cell and not refers_to_jax(names, known, {}):
            of_jax -= names.binds
            continue
        of_jax |= names.binds | names.later_binds
        if _runs(statement) and (by_cell or not runs_on_host(statement, known)):
            found.append(index)
    return found


def computes_with_jax(cell: CellSource, namespace: Mapping[str, Any]) -> bool:
    """Whether a statement does more with JAX values than to look at them.

    `x`, `print(x.shape)`, `float(loss)` and `plt.plot(losses)` look: they need values, and there is nothing to compile.
    """
    known, _ = _with_imports(cell, namespace)
    body = ast.parse(cell.text).body
    return any(not _only_looks(body[index], known) for index in jax_statements(cell, namespace))


def what_cannot_be_repeated(cell: CellSource, last: int, namespace: Mapping[str, Any]) -> tuple[int, str] | None:
    """The first thing up to statement `last` that would be done twice if the cell were refused and then run plainly.

    A refused cell leaves names and objects as they were, but what was read from an iterator, a file or a random state
    is gone. Text that `print` writes may appear twice, and does not count.

    Returns:
      Its line and what it does, or None where there is nothing of the kind.
    """
    known, _ = _with_imports(cell, namespace)
    known["print"] = repr
    made: set[str] = set()
    for statement in cell.statements[: last + 1]:
        if not _runs(statement):
            if first_effect(statement.names, known) is None:
                continue
        elif (effect := _effect_of(statement, known, made)) is not None:
            return effect
        made |= statement.names.binds - known.keys()
    return None


_LOOKING_NODES = (
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Constant),
    *(ast.Starred, ast.JoinedStr, ast.FormattedValue, ast.expr_context, ast.keyword),
)
_LOOKING_BUILTINS = frozenset(
    ["print", "len", "type", "repr", "str", "isinstance", "float", "int", "bool", "id", "display", "format", "vars"]
)
_LOOKING_METHODS = frozenset(["block_until_ready", "item", "tolist", "devices", "is_deleted", "is_ready", "delete"])


def _only_looks(node: ast.AST, known: Mapping[str, Any]) -> bool:
    if isinstance(node, ast.Call):
        if not _call_looks(node.func, known):
            return False
    elif not isinstance(node, _LOOKING_NODES):
        return False
    return all(_only_looks(child, known) for child in ast.iter_child_nodes(node))


def _call_looks(function: ast.expr, known: Mapping[str, Any]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _LOOKING_BUILTINS and function.id not in known
    if not isinstance(function, ast.Attribute):
        return False
    root = function.value
    while isinstance(root, ast.Attribute):
        root = root.value
    module = known.get(root.id) if isinstance(root, ast.Name) else None
    if not isinstance(module, ModuleType):
        return function.attr in _LOOKING_METHODS
    return is_library(module.__name__) and not is_jax_module(module.__name__)


def _runs(statement: Statement) -> bool:
    """Whether a statement does more than to define or to import."""
    kinds = ("FunctionDef", "AsyncFunctionDef", "Import", "ImportFrom", "Global", "Pass")
    return statement.kind not in kinds and not statement.defines


def _effect_of(statement: Statement, known: Mapping[str, Any], made: set[str]) -> tuple[int, str] | None:
    effect = first_effect(statement.names, known)
    if effect is not None:
        return effect
    for chain in statement.calls:
        if chain is None:
            continue
        if len(chain) == 1 and chain[0] in made:
            return statement.span.line, f"{chain[0]}() may act on the outside"
        if len(chain) == 1 and chain[0] not in known and not hasattr(builtins, chain[0]):
            continue  # made by the cell from pure code, or missing
        method = _method(chain, known)
        if method is not None and (inner := first_effect(names_of(method.__code__), method.__globals__)) is not None:
            return statement.span.line, f"{'.'.join(chain)} does: {inner[1]}"
    return None


def _method(chain: tuple[str, ...], known: Mapping[str, Any]) -> FunctionType | None:
    """The user's method that a dotted name calls on an object, found without running anything."""
    value = resolve(chain[:1], known)
    if len(chain) < 2 or isinstance(value, ModuleType | type):
        return None
    found: Any = inspect.getattr_static(type(value), chain[1], None)
    return found if is_user_function(found) else None


def _with_imports(cell: CellSource, namespace: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """The namespace with what the cell imports from modules that are loaded, and the names it has from JAX."""
    known, of_jax = dict(namespace), set[str]()
    for node in ast.parse(cell.text).body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            path = alias.name if isinstance(node, ast.Import) else node.module or ""
            name = alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)
            if path.partition(".")[0] in ("jax", "jaxlib") or is_jax_module(path):
                of_jax.add(name)
            module = sys.modules.get(path if alias.asname or isinstance(node, ast.ImportFrom) else name)
            value = vars(module).get(alias.name) if module and isinstance(node, ast.ImportFrom) else module
            if value is not None:
                known[name] = value
            else:
                known.pop(name, None)
    return known, of_jax
