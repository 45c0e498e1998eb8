"""A staged cell as plain JAX: the text of a Python file with a `@jax.jit` function, or a pure function to call.

`to_source` writes the file that a user would have written: imports, the helpers that the cell reaches, and a function
of what the cell reads. What Python runs itself stays outside the compiled part, in a function `run_<name>` that calls
it. What a pure function cannot do is refused with the reason.

Helpers that read arrays of the notebook are written inside the function, where these arrays are parameters: so no
module holds state, nothing has to be bound before a call, and a new value counts, as it does in the notebook.
"""

from __future__ import annotations

import ast
import collections
import copy
import functools
import keyword
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from jaxnb.errors import Refused
from jaxnb.runtime import is_library, is_library_class
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.cells.code import names_of
from jaxnb.staging.cells.referents import closure_of
from jaxnb.staging.export.file import File, NeedsStatic
from jaxnb.staging.export.helpers import FUTURE_FLAGS, is_definition_like
from jaxnb.staging.export.names import Body, Names
from jaxnb.staging.export.reads import bound_names, entry_reads, helpers_of, refuse_effects, refuse_odd
from jaxnb.staging.export.values import leaves_of
from jaxnb.staging.trace.gradient import DerivativeSpec
from jaxnb.staging.trace.piece import Piece

__all__ = ["as_function", "remember", "same_function", "to_source"]


def remember(cell: CellSource, namespace: Mapping[str, Any], also: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The names that a cell and the functions it reaches read, as they are now, for `to_source` after the run.

    Lists and dicts are copied, because the cell may change them; of arrays only shape and dtype are kept. `also` are
    names that are kept although no statement reads them.
    """
    kept: dict[str, Any] = {}
    copies: dict[int, Any] = {}
    todo = sorted(
        also | cell.reads | cell.binds | frozenset[str]().union(*(item.names.deletes for item in cell.statements))
    )
    todo += [name for name, value in namespace.items() if is_definition_like(value)]
    while todo:
        name = todo.pop()
        if name in kept or name not in namespace:
            continue
        kept[name] = _copied(namespace[name], copies)
        todo += sorted(_code_reads(namespace[name]))
    return {name: kept[name] for name in namespace if name in kept}


def _code_reads(value: Any) -> set[str]:
    found: set[str] = set()
    for item in [value, *(vars(value).values() if isinstance(value, type) else leaves_of(value))]:
        function = item
        while hasattr(function, "__wrapped__"):
            found |= _own_reads(function)
            function = function.__wrapped__
        if isinstance(item, functools.partial):
            found |= _code_reads(item.func)
        found |= _own_reads(function)
        if not isinstance(item, type) and not is_library_class(type(item)):
            found |= set[str]().union(*(_own_reads(part) for part in vars(type(item)).values()))
    return found


def _own_reads(function: Any) -> set[str]:
    if not isinstance(function, types.FunctionType):
        return set()
    inner = set[str]().union(*(_own_reads(item) for _, item in closure_of(function) if item is not function))
    own = set(names_of(function.__code__).reads) if not is_library(function.__globals__.get("__name__")) else set[str]()
    return own | inner


def _copied(value: Any, copies: dict[int, Any]) -> Any:
    if id(value) in copies:
        return copies[id(value)][1]
    new = value
    if isinstance(value, jax.Array):
        if not str(value.dtype).startswith("key<"):
            new = jax.ShapeDtypeStruct(value.shape, value.dtype, weak_type=bool(getattr(value, "weak_type", False)))
    elif type(value) in (list, dict, set, collections.deque, collections.OrderedDict, collections.defaultdict):
        new = copy.copy(value)
        copies[id(value)] = (value, new)
        if isinstance(new, dict):
            new.update({key: _copied(item, copies) for key, item in new.items()})
        elif isinstance(new, list):
            new[:] = [_copied(item, copies) for item in new]
    elif type(value) is tuple:
        new = tuple(_copied(item, copies) for item in value)
    copies[id(value)] = (value, new)
    return new


def to_source(
    cell: CellSource,
    pieces: Sequence[Piece],
    namespace: Mapping[str, Any],
    *,
    results: Mapping[str, Any],
    value: Any = None,
    name: str = "cell",
    asked: DerivativeSpec | None = None,
) -> str:
    """The cell as the text of a Python file that needs no jaxnb.

    Args:
      cell: that was run.
      pieces: its compiled pieces, in the order of the run; not those of blocks inside loops.
      namespace: the names when the run began, as `remember` keeps them.
      results: the names after the run.
      value: of the trailing expression.
      name: of the function.
      asked: the derivative that the run bound, too.

    Returns:
      The text. Its function `name` is under `jax.jit`, and returns the trailing value, or a dict of the names that the
      cell binds, or both, with the trailing value as "value". If Python ran statements of the cell itself, or
      results are no arrays, these stand in a function `run_<name>`, which is then the one to call.

    Raises:
      Refused: if the cell is not a function of what it reads, or a helper has no source; the message says why.
    """
    _check_name(name)
    export = File(cell, pieces, namespace, results, value, name, asked=asked)
    try:
        return export.text()
    except NeedsStatic:
        export = File(cell, pieces, namespace, results, value, name, static=True, asked=asked)
        return export.text()


def as_function(
    cell: CellSource, pieces: Sequence[Piece], namespace: Mapping[str, Any], name: str
) -> Callable[..., Any]:
    """The cell as a pure function of the data that it reads, in the order in which it reads them first.

    Args:
      cell: that was run.
      pieces: its compiled pieces.
      namespace: the names when the run began; modules, functions and classes are taken from it, and data that only
        functions read and that is no array.
      name: of the function.

    Returns:
      A function that returns the trailing value, or a dict of the names that the cell binds to data. It composes with
      `jax.jit`, `jax.grad`, `jax.vmap` and with other cells, and never writes into a notebook's names.

    Raises:
      Refused: if the cell has an effect, or reads what cannot be a parameter.
    """
    _check_name(name)
    body = Body(cell, namespace, {})
    names = Names(body, namespace, changed=False)
    refuse_odd(body, pieces, names)
    refuse_effects(body, pieces, namespace)
    every = range(len(body.nodes))
    parameters = entry_reads(every, body, names)
    nested = [item for item in helpers_of(every, body, names) if names.is_nested(item) and item not in body.definitions]
    inner: list[ast.stmt] = []
    for item in nested:
        inner += ast.parse(names.helper(item).text).body
    docstring = _says(body, parameters)
    tree = ast.parse(f"def {name}({', '.join(parameters)}):\n    {docstring!r}")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body += [*inner, *_returning(body)]
    ast.fix_missing_locations(tree)
    code = compile(tree, cell.filename, "exec", cell.statements[0].code.co_flags & FUTURE_FLAGS, dont_inherit=True)
    reached = frozenset[str]().union(*(names.helper(item).reads for item in nested), names.direct)
    own = {"__name__": namespace.get("__name__", "__main__"), "__builtins__": __builtins__}
    own |= {
        item: namespace[item] for item in sorted(reached) if item in namespace and item not in {*parameters, *nested}
    }
    own = {item: held for item, held in own.items() if item not in body.local | body.definitions.keys()}
    called = own.get(name)  # a helper may have the same name
    exec(code, own)
    made = own.pop(name)
    if called is not None:
        own[name] = called
    assert isinstance(made, types.FunctionType)
    made.__module__ = str(own["__name__"])
    return made


def same_function(one: object, other: types.FunctionType) -> bool:
    """Whether two functions of `as_function` do the same with the same helpers and data."""
    if not isinstance(one, types.FunctionType) or one.__code__ != other.__code__:
        return False
    theirs, ours = one.__globals__, other.__globals__
    return theirs.keys() == ours.keys() and all(
        theirs[name] is held or name == "__name__" for name, held in ours.items()
    )


def _says(body: Body, parameters: Sequence[str]) -> str:
    bound = [item for item in bound_names(body) if item not in body.definitions]
    if body.statements[-1].trailing and not body.cell.silent:
        returned = "the value of the last expression"
    else:
        returned = f"a dict of {', '.join(bound)}" if bound else "None"
    return f"A cell as a function of {', '.join(parameters) or 'nothing'}; returns {returned}."


def _returning(body: Body) -> list[ast.stmt]:
    """The statements of a cell as those of a function."""
    nodes = [n for n in body.nodes if not (isinstance(n, ast.ImportFrom) and n.module == "__future__")]
    last = nodes[-1]
    if isinstance(last, ast.Expr) and not body.cell.silent:
        result = ast.copy_location(ast.Return(last.value), last)
        return [*nodes[:-1], result]
    gone = {item for statement in body.statements for item in statement.names.deletes}
    bound = [item for item in bound_names(body) if item not in body.definitions and item not in gone]
    sure = {item for i in range(len(body.nodes)) for item in body.surely_binds(i)}
    if all(item in sure for item in bound):
        text = "return {" + ", ".join(f"{item!r}: {item}" for item in bound) + "}"
    else:
        text = f"_bound = locals()\nreturn {{name: _bound[name] for name in {tuple(bound)!r} if name in _bound}}"
    ending = ast.parse(text).body
    for node in ending:
        ast.increment_lineno(node, body.statements[-1].span.end_line - 1)
    return [*nodes, *ending]


def _check_name(name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise Refused(f"{name!r} is not a name that a function can have.", fix="use letters, digits and underscores.")
