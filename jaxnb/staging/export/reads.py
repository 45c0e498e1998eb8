"""What the statements of a cell read and bind, and what no function can do for them."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxnb.errors import Refused
from jaxnb.staging.cells.code import Sees
from jaxnb.staging.cells.effects import first_effect
from jaxnb.staging.cells.mutation import may_mutate
from jaxnb.staging.export.helpers import Helper
from jaxnb.staging.export.names import Body, Names
from jaxnb.staging.export.values import leaves_of
from jaxnb.staging.trace.piece import Piece

__all__ = [
    "bound_names",
    "entry_reads",
    "helpers_of",
    "reads_of",
    "refuse_changed",
    "refuse_effects",
    "refuse_odd",
    "refuse_what_tells",
    "refused",
    "stored_roots",
]

_MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "add", "discard"}
)


def refuse_odd(body: Body, pieces: Sequence[Piece], names: Names) -> None:
    """Refuses what would mean something else inside a function, or on another call."""
    if not pieces:
        raise Refused(
            "no statement at the top of the cell was compiled.", why="Python ran them.", fix="copy the cell as it is."
        )
    for node, statement in zip(body.nodes, body.statements, strict=True):
        line = statement.span.line
        for item in ast.walk(node):
            if isinstance(item, ast.Global):
                raise refused(f"line {line} declares `{item.names[0]}` global", "a function has names of its own", line)
            if isinstance(item, ast.ImportFrom) and item.names[0].name == "*":
                raise refused(f"line {line} imports *", "that is allowed only at the top of a module", line)
        if statement.names.later_binds:
            raise refused(f"line {line} makes a function that binds globals", "a pure function writes none", line)
        if statement.names.sees & Sees.NAMES:
            raise refused(
                f"line {line} looks up names as text", "globals(), locals() or eval would not see the same", line
            )
    for name in sorted(body.local):
        first = next(i for i, bound in enumerate(body.binds) if name in bound)
        for statement in body.statements[: first + 1]:
            known = names.kind(name) == "data"
            reads = statement.names.reads_first if name in body.binds[first] else statement.names.reads
            early = name in (statement.names.reads if statement is not body.statements[first] else reads)
            if early and not statement.defines and not known and (name in names.namespace or hasattr(_BUILTINS, name)):
                line = statement.span.line
                raise refused(f"line {line} reads `{name}`, a function, and the cell then binds it", "", line)
    for piece in pieces:
        for line, reason in piece.reasons:
            where = f"line {line}, " if line is not None else ""
            raise refused(f"{where}{reason}", "another run would not be the same", line)
        if piece.recipe.says_values:
            raise refused("the cell prints or logs values in a helper", "a compiled function has them too late", None)
        if piece.recipe.elsewhere:
            raise refused("the cell binds names of another module", "a pure function writes none", None)


_BUILTINS = __builtins__ if isinstance(__builtins__, types.ModuleType) else types.SimpleNamespace(**__builtins__)


def refused(what: str, why: str, line: int | None) -> Refused:
    return Refused(f"{what}.", why=f"{why}." if why else "", line=line)


def refuse_what_tells(body: Body, pieces: Sequence[Piece], names: Names) -> bool:
    """Refuses code that could tell a traced value from what it stands for; True if it could tell a traced scalar."""
    every = range(len(body.nodes))
    found = [statement.names for statement in body.statements]
    helpers = [names.helper(item) for item in helpers_of(every, body, names)]
    words = frozenset[str]().union(*(item.reads | item.attributes for item in found))
    words = words.union(*({word for chain in item.chains for word in chain} for item in helpers))
    sees = 0
    for item in [*found, *(piece.plan for piece in pieces)]:
        sees |= item.sees
    if "Tracer" in words:
        raise refused("the cell asks whether a value is a tracer", "under jax.jit the answer is another one", None)
    if "id" in words and "id" not in {*names.namespace, *body.local}:
        raise refused("the cell asks for the id of an object", "under jax.jit arrays are other objects", None)
    data = {name: names.namespace[name] for name in entry_reads(every, body, names) if name in names.namespace}
    leaves = [leaf for value in data.values() for leaf in leaves_of(value)]
    types_count = bool(
        sees & (Sees.TYPES | Sees.CLASSES) or words & {"isinstance", "type", "hasattr", "getattr", "issubclass"}
    )
    if types_count and any(isinstance(leaf, np.ndarray | np.generic) for leaf in leaves):
        raise refused(
            "the cell looks at the type of a value, and takes in NumPy values",
            "under jax.jit these are JAX arrays",
            None,
        )
    if any(_compares_objects(item) for node in body.nodes for item in ast.walk(node)):
        raise refused(
            "the cell asks by `is` whether two values are one", "under jax.jit arrays are other objects", None
        )
    if sees & Sees.IDENTITY:
        arrays = [id(leaf) for leaf in leaves if isinstance(leaf, jax.Array | jax.ShapeDtypeStruct)]
        if len(set(arrays)) < len(arrays):
            raise refused("the cell can tell that two of its inputs are one array", "jax.jit hands on two", None)
    return types_count


def refuse_changed(body: Body, helpers: Sequence[Helper], constants: Sequence[str], changed: bool) -> None:
    """Refuses code that changes what was written down as a constant, or keeps values in a default argument."""
    nodes = [*body.nodes, *(node for helper in helpers for node in ast.parse(helper.text).body)]
    for node in nodes:
        for name in sorted(stored_roots(node) & set(constants)):
            raise refused(f"`{name}` is changed by a function that reads it", "a pure function keeps nothing", None)
        if changed and isinstance(node, ast.FunctionDef):
            defaults = [*node.args.defaults, *(item for item in node.args.kw_defaults if item)]
            if any(isinstance(item, ast.List | ast.Dict | ast.Set) for item in defaults):
                what = f"`{node.name}` may change its default argument"
                raise refused(what, "a pure function keeps nothing", None)


def refuse_effects(body: Body, pieces: Sequence[Piece], namespace: Mapping[str, Any]) -> None:
    for piece in pieces:
        if piece.recipe.changed:
            raise refused("the cell changes objects in place that were there before", "a pure function returns", None)
    traced = {i for piece in pieces for i in range(piece.plan.start, piece.plan.stop)}
    for i, statement in enumerate(body.statements):
        if i in traced or statement.defines or statement.kind in ("FunctionDef", "ClassDef", "Import", "ImportFrom"):
            continue
        line = statement.span.line
        effect = first_effect(statement.names, namespace)
        if effect is not None:
            raise refused(f"line {line}, {effect[1]}", "a pure function only returns", line)
        if may_mutate(statement.names, namespace):
            raise refused(f"line {line} may change an object in place", "a pure function only returns", line)
    for i, statement in enumerate(body.statements):
        for name in sorted(statement.names.deletes):
            if any(name in later.names.reads for later in body.statements[i + 1 :]):
                raise refused(f"the cell reads `{name}` after it deleted it", "a local name cannot be had again", None)
    deleted = {name for statement in body.statements for name in statement.names.deletes}
    if gone := sorted(name for name in deleted if name in namespace):
        raise refused(f"the cell deletes `{gone[0]}`, which it did not bind", "a pure function only returns", None)


def bound_names(body: Body) -> list[str]:
    """The names that the statements bind, imports aside, in order."""
    return list(dict.fromkeys(n for i, names in enumerate(body.binds) if i not in body.imports for n in names))


def reads_of(index: int, body: Body, names: Names) -> list[str]:
    """The names that a statement reads, in the order of the text; those of functions that it calls come last."""
    statement = body.statements[index]
    places: dict[str, tuple[int, int]] = {}
    for item in ast.walk(body.nodes[index]):
        if isinstance(item, ast.Name) and item.id in statement.names.reads:
            place = (item.lineno, item.col_offset)
            places[item.id] = min(places.get(item.id, place), place)
    order = dict.fromkeys(sorted(places, key=lambda name: places[name]))
    for name in list(order):
        if name not in body.local and names.kind(name) == "helper":
            order |= dict.fromkeys(names.data_below(name))
    return list(order)


def entry_reads(indices: Iterable[int], body: Body, names: Names) -> list[str]:
    """The data that statements read before they bind it, in the order of first read."""
    found: dict[str, None] = {}
    bound: set[str] = set()
    maybe: set[str] = set()
    for i in indices:
        statement = body.statements[i]
        inside = set(body.binds[i])
        node = body.nodes[i]
        defined = bool(body.binds[i]) and body.binds[i][0] in body.definitions
        if defined or isinstance(node, ast.FunctionDef) or _is_lambda(node):
            bound |= inside
            continue  # it reads when it is called
        for name in reads_of(i, body, names):
            if name in bound or (name in inside and name not in statement.names.reads_first):
                continue
            if name in names.namespace and names.kind(name) == "data":
                found[name] = None
            elif name in body.local and name not in names.namespace:
                found.setdefault(name, None)
        bound |= set(body.surely_binds(i))
        maybe |= inside
    for name in sorted(maybe - bound):
        if name in names.namespace and names.kind(name) == "data":
            found[name] = None
    return [name for name in found if name in names.namespace or not _only_bound_here(name, indices, body)]


def _only_bound_here(name: str, indices: Iterable[int], body: Body) -> bool:
    first = min((i for i, bound in enumerate(body.binds) if name in bound), default=-1)
    return first in set(indices) or first == -1 or first >= min(indices, default=0)


def _is_lambda(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)


def helpers_of(indices: Iterable[int], body: Body, names: Names) -> list[str]:
    """The helpers that statements reach, each behind what it reads."""
    wanted: dict[str, None] = {}
    for i in indices:
        wanted |= dict.fromkeys(name for name in reads_of(i, body, names) if name not in body.local)
        wanted |= dict.fromkeys(sorted(body.statements[i].names.reads - body.local))
    return names.closure(wanted)


def stored_roots(node: ast.stmt) -> set[str]:
    """Names whose items the statement assigns or deletes, or on which it calls a method that changes them."""
    found: set[str] = set()
    for item in ast.walk(node):
        target: ast.expr | None = None
        if isinstance(item, ast.Subscript | ast.Attribute) and isinstance(item.ctx, ast.Store | ast.Del):
            target = item.value
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr in _MUTATORS:
            target = item.func.value
        elif isinstance(item, ast.AugAssign):
            target = item.target
        while isinstance(target, ast.Subscript | ast.Attribute):
            target = target.value
        if isinstance(target, ast.Name):
            found.add(target.id)
    return found


def _compares_objects(node: ast.AST) -> bool:
    """Whether an expression asks by `is` of two things neither of which is a constant."""
    if not (isinstance(node, ast.Compare) and any(isinstance(item, ast.Is | ast.IsNot) for item in node.ops)):
        return False
    return not any(isinstance(item, ast.Constant) for item in (node.left, *node.comparators))
