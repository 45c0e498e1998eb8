"""A cell mapped over named axes: `%%xmap x[batch, i] -> y[batch]`.

The body of the cell becomes the body of a function, in which its names are local, and the cell one statement that maps
this function and binds the results. So everything that `%%jit` does with a statement is done with it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import jax
import jax.numpy as jnp

from jaxnb.errors import Refused
from jaxnb.named import MapSpec, did_you_mean, loops_in_scope, numpy as named_numpy
from jaxnb.options import StageOptions
from jaxnb.program import Span
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.cells.code import CodeNames, names_of
from jaxnb.staging.mapped.run import CellMap, check_places, mesh_of

__all__ = ["Surroundings", "map_cell", "outside_of", "surroundings_of"]

NUMPY = "jaxnb numpy"
"""The name by which the code of a body calls for `jaxnb.numpy`; no user can write it."""

_VALUE = "jaxnb value"
_MARK = "jaxnb map"
_STRAIGHT = frozenset({"Assign", "AnnAssign", "AugAssign", "Expr", "Delete", "Assert", "Raise"})

_NAMED: Mapping[int, str] = {
    id(jnp): "",
    **{id(getattr(jnp, name)): name for name in named_numpy.__all__ if hasattr(jnp, name)},
}
"""What `jaxnb.numpy` has another meaning for, by the id of what JAX has there: the name of it; "" is the module."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the notebook's names are to a cell that is mapped.

    Attributes:
      named: the names that mean `jax.numpy` or one of its functions, each with what `jaxnb.numpy` calls it.
      taken_in: the names that the cell binds, but reads before that.
      has_jax: whether the name `jax` means JAX.
    """

    named: tuple[tuple[str, str], ...] = ()
    taken_in: tuple[str, ...] = ()
    has_jax: bool = False


def surroundings_of(cell: CellSource, spec: MapSpec, namespace: Mapping[str, Any]) -> Surroundings:
    """What the names that a cell reads are before it runs."""
    own = cell.binds | set(spec.roots)
    named = ((name, _NAMED.get(id(namespace[name]))) for name in sorted(cell.reads - own) if name in namespace)
    taken_in = (name for name in sorted(cell.binds - set(spec.roots)) if name in namespace and _read_first(name, cell))
    has_jax = "jax" in cell.binds or namespace.get("jax") is jax
    return Surroundings(tuple((name, other) for name, other in named if other is not None), tuple(taken_in), has_jax)


def outside_of(cell: CellSource, options: StageOptions, namespace: Mapping[str, Any]) -> Any:
    """What the program of a mapped cell depends on besides its code and its values: the mesh, and loops in scope.

    Raises:
      Refused: if there is no such mesh, if the inputs are spread in another way than the map takes them, or if the
        map would run on another device than asked for.
    """
    spec = options.xmap
    assert spec is not None
    mesh = mesh_of(spec, namespace)
    check_places(spec, mesh, namespace)
    if options.device is not None and spec.resources and mesh is not None:
        raise Refused(
            f"--device {options.device}: the names of the cell are spread over a mesh.",
            why="a mesh has devices of its own.",
            fix="leave one of the two out.",
        )
    return (mesh, loops_in_scope()) if spec.resources else None


def _read_first(name: str, cell: CellSource) -> bool:
    """Whether a cell may read a name that it binds before it has done so."""
    for index, statement in enumerate(cell.statements):
        names = statement.names
        if statement.defines:
            if name in names.binds:
                return False
        elif name in names.reads_first:
            return True
        elif name in names.binds:
            later = cell.statements[index + 1 :] if statement.kind not in _STRAIGHT else ()
            return any(name in item.names.reads for item in later)
    return False


def map_cell(cell: CellSource, spec: MapSpec, around: Surroundings) -> CellSource:
    """The cell as one statement that maps its body.

    Args:
      cell: as it is written.
      spec: what goes in and what is bound, see `MapSpec`.
      around: what its names are before it runs.

    Raises:
      Refused: if the cell does not bind what is to be bound, or cannot be a function.
    """
    known = cell.binds | set(spec.roots)
    for term in spec.outputs:
        if term.root not in known:
            what = f"the cell does not bind `{term.root}`."
            raise spec.refused_at(what, term, why=f"it binds {_listed(cell.binds)}.", fix=_near(term.root, cell.binds))
    first = cell.statements[0].span.line
    _refuse_global(_parsed(cell), known)
    names = _names_read(cell, spec, around)
    body = _compiled(cell, spec, around)
    named = [(name, getattr(named_numpy, other) if other else named_numpy) for name, other in around.named]
    changes = names.mutates or bool(names.list_uses.grown)
    mapped = CellMap(spec, body, [*named, (NUMPY, named_numpy)], around.taken_in, cell.filename, changes)
    span = Span(first, 0, cell.statements[-1].span.end_line, cell.statements[-1].span.end_column)
    call, node = _call(mapped, cell, first)
    statement = Statement(span, call, names, False, (), True, "Expr", node)
    digest = hashlib.blake2b(cell.digest + repr(around).encode(), digest_size=16).digest()
    return replace(cell, statements=(statement,), digest=digest)


def _lines(node: ast.stmt) -> list[int]:
    return [node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))]


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "no name"


def _near(name: str, known: frozenset[str]) -> str:
    near = did_you_mean(name, known)
    return near if near.startswith("did") else "bind it, or leave it out behind ->."


def _refuse_global(tree: ast.Module, local: frozenset[str] | set[str]) -> None:
    """A function of the cell that declares one of its names global would bind another one than the cell reads."""
    for node in ast.walk(tree):
        meant = [name for name in node.names if name in local] if isinstance(node, ast.Global) else []
        if isinstance(node, ast.Global) and meant:
            raise Refused(
                f"line {node.lineno} declares `{meant[0]}` global.",
                why="the names of a cell under %%xmap are local; only those behind -> are bound.",
                fix=f"return the value, or write nonlocal {meant[0]}.",
                line=node.lineno,
            )


def _names_read(cell: CellSource, spec: MapSpec, around: Surroundings) -> CodeNames:
    """What the statement refers to: the names that go in, and what the body reads of the notebook."""
    every = (*spec.roots, *around.taken_in)
    loads = ast.Expr(ast.Tuple([ast.Name(name, ast.Load()) for name in every], ast.Load()))
    function = _function(_parsed(cell).body, _arguments(every, ()))
    module = ast.fix_missing_locations(ast.Module([function, loads], []))
    return replace(names_of(_compile(module, cell)), binds=frozenset(spec.bound), deletes=frozenset())


def _compiled(cell: CellSource, spec: MapSpec, around: Surroundings) -> CodeType:
    """The code of the body: a function that returns what is bound, and the value of the last line."""
    body: list[ast.stmt] = _Renamed(around.has_jax).visit(_parsed(cell)).body
    last = body[-1]
    value = body.pop() and last.value if isinstance(last, ast.Expr) else ast.Constant(None)
    outputs = ast.Tuple([ast.Name(name, ast.Load()) for name in spec.bound], ast.Load())
    shown = ast.Assign([ast.Name(_VALUE, ast.Store())], value)
    result = ast.Return(ast.Tuple([outputs, ast.Name(_VALUE, ast.Load())], ast.Load()))
    at = cell.statements[-1].span
    for item in (shown, *shown.targets, value, *ast.walk(result)):
        if not hasattr(item, "lineno"):
            _place(item, at)
    parameters = _arguments(spec.roots, (*(name for name, _ in around.named), *around.taken_in, NUMPY))
    module = ast.fix_missing_locations(ast.Module([_function([*body, shown, result], parameters)], []))
    code = _compile(module, cell)
    return next(item for item in code.co_consts if isinstance(item, CodeType) and item.co_name == "cell")


def _parsed(cell: CellSource) -> ast.Module:
    """The tree of a cell, with the lines as displayed, and without `global`, which says nothing at its top."""
    tree = ast.parse(cell.text)
    ast.increment_lineno(tree, cell.statements[0].span.line - min(_lines(tree.body[0])))
    tree.body = [item for item in tree.body if not isinstance(item, ast.Global)] or [ast.Pass()]
    return tree


def _place(node: ast.AST, span: Span) -> None:
    for name, value in (
        ("lineno", span.line),
        ("end_lineno", span.end_line),
        ("col_offset", span.column),
        ("end_col_offset", span.end_column),
    ):
        setattr(node, name, value)


def _arguments(positional: tuple[str, ...], by_name: tuple[str, ...]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in positional],
        kwonlyargs=[ast.arg(name) for name in by_name],
        kw_defaults=[None] * len(by_name),
        defaults=[],
    )


def _function(body: list[ast.stmt], arguments: ast.arguments) -> ast.stmt:
    made: Any = ast.FunctionDef  # Python 3.12 wants type parameters
    function = made(name="cell", args=arguments, body=body, decorator_list=[], type_params=[])
    _place(function, Span(min(_lines(body[0])) if hasattr(body[0], "lineno") else 1, 0, 0, 0))
    function.end_lineno = function.lineno
    return function


def _compile(module: ast.Module, cell: CellSource) -> CodeType:
    try:
        return compile(module, cell.filename, "exec", cell.flags, dont_inherit=True)
    except SyntaxError as error:
        raise Refused(
            f"line {error.lineno} cannot stand in a cell under %%xmap: {error.msg}.",
            why="such a cell is a function.",
            line=error.lineno,
        ) from None


def _call(mapped: CellMap, cell: CellSource, line: int) -> tuple[CodeType, ast.stmt]:
    """The code that runs the map: an expression whose value is that of the cell's last line."""
    run = ast.Call(ast.Attribute(ast.Constant(_MARK), "run", ast.Load()), [], [])
    for item in ast.walk(run):
        _place(item, Span(line, 0, line, 0))
    code = compile(ast.Expression(run), cell.filename, "eval", cell.flags, dont_inherit=True)
    constants = tuple(mapped if item == _MARK else item for item in code.co_consts)
    return code.replace(co_consts=constants), ast.copy_location(ast.Expr(run), run)


class _Renamed(ast.NodeTransformer):
    """Makes `jax.numpy`, written out or imported in the cell, the module whose axes may be names."""

    def __init__(self, has_jax: bool) -> None:
        self._has_jax = has_jax

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self._has_jax and node.attr == "numpy" and isinstance(node.value, ast.Name) and node.value.id == "jax":
            return ast.copy_location(ast.Name(NUMPY, ast.Load()), node)
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> Any:
        own = [name for name in node.names if name.name == "jax.numpy" and name.asname]
        rest = [name for name in node.names if name not in own]
        kept = [ast.copy_location(ast.Import(rest), node)] if rest else []
        return [*kept, *(_bound(str(name.asname), node) for name in own)]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.level == 0 and node.module == "jax.numpy":
            return ast.copy_location(ast.ImportFrom("jaxnb.numpy", node.names, 0), node)
        own = [name for name in node.names if node.module == "jax" and name.name == "numpy" and not node.level]
        rest = [name for name in node.names if name not in own]
        kept = [ast.copy_location(ast.ImportFrom(node.module, rest, node.level), node)] if rest else []
        return [*kept, *(_bound(name.asname or name.name, node) for name in own)]


def _bound(name: str, node: ast.stmt) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Name(NUMPY, ast.Load()))
    return ast.fix_missing_locations(ast.copy_location(made, node))
