"""What each name of a cell becomes when the cell is written as a function: an import, a helper, a constant, an input.

A name that stands for code is imported or defined again. A name that stands for data is an input, unless only helpers
read it and it can be written down. A helper that reads inputs, or names that the cell binds, is defined inside the
function, where they are local: so nothing is baked in, and it reads the values that the cell gives it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jaxnb.errors import Refused
from jaxnb.runtime import is_library
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.export.helpers import (
    Helper,
    attached_to,
    find_helper,
    import_of,
    import_of_module,
    is_as_made,
    is_definition_like,
    is_pure_recipe,
    recipe_of,
)
from jaxnb.staging.export.text import block_text, literal
from jaxnb.staging.export.values import holds_array, is_array_like, leaves_of

__all__ = ["Body", "Names"]


class Body:
    """The statements of a cell as syntax, and what each one binds and reads.

    Attributes:
      nodes: the top-level statements, on lines of the cell as displayed.
      texts: the user's own text of each.
      spaced: whether a blank line stands before each.
      binds: the names that each binds, in the order of the text.
      definitions: the statement that defines each function or class which is defined once, and not read before.
      constants: the same for names bound to a literal.
      imports: positions of import statements.
    """

    def __init__(self, cell: CellSource, namespace: Mapping[str, Any], results: Mapping[str, Any]) -> None:
        self.cell = cell
        tree = ast.parse(cell.text)
        shift = cell.statements[0].span.line - _first_line(tree.body[0])
        ast.increment_lineno(tree, shift)
        self.nodes = tree.body
        self.statements = cell.statements
        lines = cell.shown.split("\n")
        self.texts: list[str] = []
        self.spaced: list[bool] = []
        after = shift
        for node in self.nodes:
            self.texts.append(block_text(lines, node, after))
            above = lines[after : _first_line(node) - 1]
            self.spaced.append(bool(self.texts[1:]) and bool(above) and not above[0].strip())
            after = node.end_lineno or after
        self.binds = [_bound_in_order(node, statement.names.binds) for node, statement in self._pairs()]
        self.imports = {i for i, node in enumerate(self.nodes) if isinstance(node, ast.Import | ast.ImportFrom)}
        self.imported = {name for i in self.imports for name in self.binds[i]}
        self.definitions: dict[str, int] = {}
        self.constants: dict[str, int] = {}
        counts: dict[str, int] = {}
        for bound in self.binds:
            for name in bound:
                counts[name] = counts.get(name, 0) + 1
        for i, node in enumerate(self.nodes):
            if len(self.binds[i]) != 1 or counts[name := self.binds[i][0]] != 1:
                continue
            if any(name in item.names.reads and not item.defines for item in self.statements[:i]):
                continue
            if isinstance(node, ast.FunctionDef | ast.ClassDef) or (
                isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
            ):
                self.definitions[name] = i
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                self.constants[name] = i
            elif isinstance(node, ast.Assign) and _makes_code(results.get(name)):
                reads = _evaluated(node.value)
                known = (
                    item in self.definitions or (item not in counts and _is_code(namespace, item)) for item in reads
                )
                if all(known):
                    self.definitions[name] = i
        self.attached = {i for i, node in enumerate(self.nodes) if attached_to(node) in self.definitions}
        self.local = {name for bound in self.binds for name in bound} - self.imported - self.definitions.keys()
        self.local -= {name for i in self.attached for name in self.binds[i]}

    def _pairs(self) -> Iterator[tuple[ast.stmt, Any]]:
        return zip(self.nodes, self.statements, strict=True)

    def surely_binds(self, index: int) -> list[str]:
        """The names that a statement binds on every way through it."""
        sure = _surely_bound(self.nodes[index])
        return [name for name in self.binds[index] if name in sure]


def _surely_bound(node: ast.stmt) -> set[str]:
    match node:
        case ast.AnnAssign(value=None):
            return set()
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr():
            names = (item for item in ast.walk(node) if isinstance(item, ast.Name))
            return {item.id for item in names if isinstance(item.ctx, ast.Store)}
        case ast.If():
            return _all_bound(node.body) & _all_bound(node.orelse)
        case ast.With():
            targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
            names = {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)}
            return names | _all_bound(node.body)
        case _:
            return set()


def _all_bound(nodes: list[ast.stmt]) -> set[str]:
    return set[str]().union(*(_surely_bound(node) for node in nodes))


def _makes_code(value: Any) -> bool:
    """Whether a value is a function, or a tree of functions such as an optimizer."""
    if value is None:
        return False
    leaves = leaves_of(value)
    return bool(leaves) and all(is_definition_like(leaf) for leaf in leaves)


def _is_code(namespace: Mapping[str, Any], name: str) -> bool:
    return name not in namespace or is_definition_like(namespace[name])


def _evaluated(node: ast.AST) -> set[str]:
    """The names that evaluating an expression reads at once."""
    if isinstance(node, ast.Lambda):
        return set()
    own = {node.id} if isinstance(node, ast.Name) else set[str]()
    return own.union(
        *(_evaluated(item) for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr | ast.keyword))
    )


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])


def _bound_in_order(node: ast.stmt, binds: frozenset[str]) -> list[str]:
    places: dict[str, tuple[int, int]] = {}
    for item in ast.walk(node):
        name = None
        match item:
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.MatchMapping(rest=name):
                pass
            case ast.ExceptHandler(name=name):
                pass
            case ast.alias():
                name = item.asname or item.name.partition(".")[0]
            case _:
                continue
        if name in binds:
            place = (getattr(item, "lineno", 0), getattr(item, "col_offset", 0))
            places[name] = min(places.get(name, place), place)
    rest = sorted(binds - places.keys())
    return [*sorted(places, key=lambda name: places[name]), *rest]


class Names:
    """What the names that a cell reaches become.

    Args:
      body: the cell.
      namespace: the names at entry.
      changed: whether the cell changes containers in place; then none of them is a constant.
    """

    def __init__(self, body: Body, namespace: Mapping[str, Any], changed: bool) -> None:
        self.body, self.namespace, self.changed = body, namespace, changed
        self.direct = frozenset[str]().union(*(item.names.reads for item in body.statements))
        self._kinds: dict[str, str] = {}
        self._helpers: dict[str, Helper] = {}
        self._below: dict[str, list[str]] = {}
        self.import_lines: dict[str, str] = {}

    def kind(self, name: str) -> str:
        """What a name of the entry becomes: "import", "helper", "constant", "data", or "" for a builtin or nothing."""
        if name not in self._kinds:
            self._kinds[name] = self._kind(name)
        return self._kinds[name]

    def _kind(self, name: str) -> str:
        if name in self.body.definitions:
            return "helper"
        if name in self.body.imported:
            return "import"
        if name not in self.namespace or name.startswith("__"):
            return ""
        value = self.namespace[name]
        if isinstance(value, types.ModuleType):
            return "import"
        if is_definition_like(value):
            if getattr(builtins, getattr(value, "__name__", None) or "", None) is value and name == value.__name__:
                return ""
            if (line := import_of(name, value)) is not None:
                self.import_lines[name] = line
                return "import"
            return "helper"
        written = name not in self.body.local and (not self.changed or _hashable(value))
        if written and name not in self.direct and literal(value) is not None and not _is_empty(value):
            return "constant"
        if written and not _hashable(value) and literal(value) is not None and not _is_empty(value):
            return "constant"
        if not is_array_like(value) and written and not _hashable_data(value) and not holds_array(value):
            text = recipe_of(name)
            if text is not None and is_as_made(text, value) and is_pure_recipe(text, self.namespace):
                self._helpers[name] = Helper.of(name, text)
                return "helper"
        return "data"

    def helper(self, name: str) -> Helper:
        """The text of a helper.

        Raises:
          Refused: if it cannot be had.
        """
        if name not in self._helpers:
            if name in self.body.definitions:
                texts = [self.body.texts[self.body.definitions[name]]]
                more = sorted(i for i in self.body.attached if attached_to(self.body.nodes[i]) == name)
                texts += [self.body.texts[i] for i in more]
                self._helpers[name] = Helper.of(name, "\n\n\n".join(texts))
            else:
                found = find_helper(name, self.namespace[name])
                self._helpers[name] = found
                if not _defines(found.text):
                    self._check_recipe(found)
        return self._helpers[name]

    def _check_recipe(self, helper: Helper) -> None:
        value = self.namespace.get(helper.name)
        held: list[Any] = [*value.args, *value.keywords.values()] if isinstance(value, functools.partial) else []
        data = [name for name in sorted(helper.reads) if self.kind(name) in ("data", "constant")]
        data = [name for name in data if not any(item is self.namespace[name] for item in held)]
        if data or not is_pure_recipe(helper.text, self.namespace):
            why = f"it was made with `{data[0]}`" if data else "making it again may do more than that"
            raise Refused(
                f"`{helper.name}` cannot be made again from its text.",
                why=f"{why}, which may have another value by now.",
                fix=f"define `{helper.name}` by `def`, with what it needs as parameters.",
            )

    def data_below(self, name: str) -> list[str]:
        """The inputs and names of the cell that a helper reads, directly or by way of other helpers."""
        if name not in self._below:
            self._below[name] = []
            found: dict[str, None] = {}
            for helper in self.closure([name]):
                for read in sorted(self.helper(helper).reads):
                    if read in self.body.local or self.kind(read) == "data":
                        found[read] = None
            self._below[name] = list(found)
        return self._below[name]

    def closure(self, names: Iterable[str]) -> list[str]:
        """The helpers among some names, and those that they read, each behind what it reads."""
        order: dict[str, None] = {}
        active: set[str] = set()

        def visit(name: str) -> None:
            if name in active or name in order or self.is_local(name) or self.kind(name) != "helper":
                return
            active.add(name)
            for read in sorted(self.helper(name).reads):
                visit(read)
            order[name] = None

        for name in names:
            visit(name)
        return list(order)

    def is_local(self, name: str) -> bool:
        """Whether a name is one that the cell binds to data."""
        return name in self.body.local

    def is_nested(self, name: str) -> bool:
        """Whether a helper must stand inside the function, because it reads what is local there."""
        return bool(self.data_below(name))

    def imports(self, names: Iterable[str], chains: Iterable[tuple[str, ...]]) -> list[str]:
        """The import lines that bind those of the names that are imported."""
        chains = list(chains)
        lines: list[str] = []
        for name in names:
            if self.is_local(name) or self.kind(name) != "import":
                continue
            if name in self.body.imported:
                continue
            value = self.namespace[name]
            if isinstance(value, types.ModuleType):
                if value.__name__ == "__main__" or not (is_library(value.__name__) or hasattr(value, "__spec__")):
                    raise Refused(
                        f"the module `{name}` cannot be imported by a file.", why="it is the notebook itself."
                    )
                lines += import_of_module(name, value, (chain for chain in chains if chain[0] == name))
            else:
                lines.append(self.import_lines[name])
        return lines


def _defines(text: str) -> bool:
    node = ast.parse(text).body[0]
    return isinstance(node, ast.FunctionDef | ast.ClassDef) or (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
    )


def _is_empty(value: Any) -> bool:
    return type(value) in (list, dict, set) and not value


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _hashable_data(value: Any) -> bool:
    """Whether a value may be a static argument: hashable, and not a tree whose leaves are code."""
    return _hashable(value) and not any(callable(leaf) for leaf in leaves_of(value))
