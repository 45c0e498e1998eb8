"""A cell that is mapped over names, as the text of a file that calls `jaxnb.xmap`, or as a function (`--name`).

    @jax.jit
    def cell(images, w):
        def at_position(images, w):
            import jaxnb.numpy as jnp

            h = jnp.tanh(jnp.dot(images, w, "inputs"))
            return {"h": h}

        mapped = xmap(
            at_position,
            in_axes=(["batch", "inputs"], ["inputs", "hidden"]),
            out_axes={"h": ["batch", "hidden"]},
        )
        return mapped(images, w)

What the header names goes through the map; everything else that the cell reads is read as it is, from a parameter of
the function around it. `jnp` means `jaxnb.numpy` inside, and stays what it is for the helpers.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

import jaxnb
from jaxnb.errors import Refused
from jaxnb.named import FakeMesh, MapSpec, Term
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.export.names import Body, Names
from jaxnb.staging.export.reads import entry_reads, helpers_of, refuse_odd, refused
from jaxnb.staging.export.text import (
    format_source,
    indented,
    joined,
    listed,
    literal,
    render_imports,
    signature,
    wrapped,
)
from jaxnb.staging.export.values import abstract, can_be_static, is_array_like, leaves_of, shape_of
from jaxnb.staging.mapped.cell import Surroundings
from jaxnb.staging.mapped.values import match_terms
from jaxnb.staging.trace.piece import Piece

__all__ = ["as_mapped_function", "to_mapped_source"]

INNER = "at_position"
CALL = "__jaxnb_map__"


class _Export:
    """What both forms need to know of a cell.

    Args:
      cell: as it is written.
      spec: what its header says.
      around: what its names are before it runs.
      pieces: its compiled pieces.
      namespace: the names when the run began.
    """

    def __init__(
        self,
        cell: CellSource,
        spec: MapSpec,
        around: Surroundings,
        pieces: Sequence[Piece],
        namespace: Mapping[str, Any],
    ) -> None:
        self.cell, self.spec, self.around, self.namespace = cell, spec, around, namespace
        self.body = Body(cell, namespace, {})
        self.names = Names(self.body, namespace, changed=False)
        refuse_odd(self.body, pieces, self.names)
        if any(piece.recipe.changed for piece in pieces):
            raise refused("the cell changes objects in place that were there before", "a pure function returns", None)
        every = range(len(self.body.nodes))
        helpers = [item for item in helpers_of(every, self.body, self.names) if item not in self.body.definitions]
        self.nested = [item for item in helpers if self.names.is_nested(item)]
        self.flat = [item for item in helpers if item not in self.nested]
        for item in self.nested:
            if own := sorted(set(self.names.data_below(item)) & self.body.local):
                what = f"`{item}` reads `{own[0]}`, which the cell binds for itself"
                raise refused(what, "in a file the two would be one name", None)
        reads = entry_reads(every, self.body, self.names)
        below = [name for item in self.nested for name in self.names.data_below(item)]
        others = [name for name in dict.fromkeys([*reads, *around.taken_in, *below]) if name in namespace]
        self.parameters = list(dict.fromkeys([*spec.roots, *(name for name in others if name not in spec.roots)]))


# --- a file ---


def to_mapped_source(
    cell: CellSource,
    spec: MapSpec,
    around: Surroundings,
    pieces: Sequence[Piece],
    namespace: Mapping[str, Any],
    *,
    results: Mapping[str, Any],
    loops: Mapping[Any, int],
    mesh: Any = None,
    name: str = "cell",
) -> str:
    """The cell as the text of a Python file that needs jaxnb for `xmap` and `jaxnb.numpy`.

    Args:
      cell, spec, around, pieces: see `_Export`.
      namespace: the names when the run began, as `remember` keeps them.
      results: the names after the run.
      loops: the lengths of the `serial_loop`s of the run.
      mesh: that of the run.
      name: of the function.

    Returns:
      The text. Its function `name` is under `jax.jit`; it takes what the header lists and then what the cell reads
      besides, and `mesh` by name where names are spread over one; it returns a dict of what stands behind `->`.

    Raises:
      Refused: if the cell is not a function of what it reads, or a helper has no source; the message says why.
    """
    export = _Export(cell, spec, around, pieces, namespace)
    taken = {name, INNER, "xmap", "mesh", "jaxnb"} & {*export.parameters, *export.body.local, *export.names.direct}
    if taken := sorted(taken - _known(namespace)):
        raise refused(f"`{taken[0]}` is a name of the cell already", "the exported file needs that name", None)
    traced = {path.partition(".")[0].partition("[")[0] for piece in pieces for path in map(str, piece.paths)}
    statics = [item for item in export.parameters if _is_static(export, item, traced)]
    spread = isinstance(mesh, jax.sharding.Mesh | jax.sharding.AbstractMesh) and _has_mesh_axes(spec, mesh)
    lines = ["import jax", "from jaxnb import xmap"]
    arguments = [
        f"in_axes=({''.join(f'{_axes_of(export, root, spec.inputs, namespace)}, ' for root in spec.roots).rstrip()})",
        f"out_axes={{{', '.join(f'{out!r}: {_axes_of(export, out, spec.outputs, results)}' for out in spec.bound)}}}",
    ]
    if spec.sizes:
        arguments.append(f"axis_sizes={dict(spec.sizes)!r}")
    if spec.resources:
        text = ", ".join(f"{axis!r}: {_resources(given, loops, mesh)}" for axis, given in spec.resources)
        arguments.append(f"axis_resources={{{text}}}")
        lines += ["from jaxnb import SerialLoop"] if "SerialLoop(" in text else []
    if spread:
        arguments.append("mesh=mesh")
    elif isinstance(mesh, FakeMesh) and spec.resources:
        arguments.append(f"mesh=fake_mesh({', '.join(f'{axis}={size}' for axis, size in mesh.axes)})")
        lines.append("from jaxnb import fake_mesh")
    if spec.lowering != "manual":
        arguments.append(f"lowering={spec.lowering!r}")
    call = f"mapped = xmap(\n    {INNER},\n" + "".join(f"    {item},\n" for item in arguments) + ")"
    nested = [export.names.helper(item).text + "\n" for item in export.nested]
    result = f"return mapped({', '.join(spec.roots)})"
    about = _about(export, spread, mesh)
    inside = "\n".join([about, *nested, _inner(export), "", call, result])
    static = [*statics, *(["mesh"] if spread else [])]
    head = "@jax.jit"
    if static:
        shown = ", ".join(f'"{item}"' for item in static) + ("," if len(static) == 1 else "")
        head, lines = f"@functools.partial(jax.jit, static_argnames=({shown}))", [*lines, "import functools"]
    parameters = [*export.parameters, *(["*", "mesh=None"] if spread else [])]
    function = f"{head}\n{signature(f'def {name}', parameters, ':')}\n{indented(inside)}"
    text = _file(export, lines, function, name)
    given = [abstract(namespace[item]) for item in export.parameters]
    _check(text, name, given, {"mesh": mesh} if spread else {}, {out: results[out] for out in spec.bound})
    return format_source(text)


def _known(namespace: Mapping[str, Any]) -> set[str]:
    """Names that are in the notebook what they are in the file."""
    return {item for item in ("jaxnb", "xmap") if namespace.get(item) in (jaxnb, getattr(jaxnb, "xmap", None))}


def _file(export: _Export, lines: list[str], function: str, name: str) -> str:
    """The function with the imports, the constants and the helpers that it needs."""
    helpers = [export.names.helper(item) for item in (*export.flat, *export.nested)]
    named = {item for item, _ in export.around.named}
    below = frozenset[str]().union(*(item.reads for item in helpers))
    reads = [item for item in sorted((export.names.direct - named) | below) if item not in export.body.local]
    chains = [chain for item in export.body.statements for chain in item.names.chains]
    chains += [chain for item in helpers for chain in item.chains]
    lines = [*lines, *export.names.imports(reads, chains)]
    if "jaxnb.numpy" in function.replace("import jaxnb.numpy as", "").replace("from jaxnb.numpy", ""):
        lines.append("import jaxnb.numpy")
    kind = export.names.kind
    constants = [f"{item} = {literal(export.namespace[item])}" for item in reads if kind(item) == "constant"]
    texts = [export.names.helper(item).text for item in export.flat]
    head = [f'"""The notebook cell `{name}`, mapped over named axes: call `{name}`."""', render_imports(lines)]
    top = "\n\n".join(item for item in (*head, "\n".join(constants)) if item)
    return top + "\n\n\n" + joined([*texts, function]) + "\n"


def _about(export: _Export, spread: bool, mesh: Any) -> str:
    lines = [wrapped(f"Returns a dict of {listed([f'`{item}`' for item in export.spec.bound])}.", 80)]
    if spread:
        shape = tuple(mesh.shape.values())
        made = f"jax.make_mesh({shape!r}, {tuple(mesh.axis_names)!r})"
        lines.append(wrapped(f"Pass `mesh`, for example {made}, or call it inside of jax.set_mesh(mesh).", 80))
    last = export.body.nodes[-1]
    if isinstance(last, ast.Expr) and not export.cell.silent:
        shown = last.value
        if not (isinstance(shown, ast.Name) and shown.id in export.spec.bound):
            lines.append("The value of the last line is not returned: it is no result of the map.")
    if len(lines) == 1:
        return f'"""{lines[0]}"""'
    return '"""' + "\n\n".join(lines) + '\n"""'


def _inner(export: _Export) -> str:
    """The function of what stands at one position."""
    spec, around = export.spec, export.around
    prelude: list[str] = []
    for item, other in around.named:
        if other:
            prelude.append(f"from jaxnb.numpy import {other}" + (f" as {item}" if item != other else ""))
        else:
            prelude.append(f"import jaxnb.numpy as {item}")
    lines: list[str] = [*prelude, *([""] if prelude else [])]
    last = len(export.body.nodes) - 1
    for i, node in enumerate(export.body.nodes):
        if i == last and isinstance(node, ast.Expr):
            continue  # what it shows is no result
        block = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if lines and lines[-1] and (export.body.spaced[i] or block):
            lines.append("")
        lines.append(_with_named_numpy(export.body.texts[i], around.has_jax))
        if block:
            lines.append("")
    while lines and not lines[-1]:
        lines.pop()
    lines.append("return {" + ", ".join(f'"{out}": {out}' for out in spec.bound) + "}")
    own = [item for item in around.taken_in if item not in spec.roots]
    parameters = [*spec.roots, *(["*"] if own else []), *(f"{item}={item}" for item in own)]
    return f"{signature(f'def {INNER}', parameters, ':')}\n{indented(chr(10).join(lines))}"


def _with_named_numpy(text: str, has_jax: bool) -> str:
    """A statement in which `jax.numpy`, written out or imported, is the module whose axes may be names."""
    edits: list[tuple[int, int, int, int, str]] = []
    for node in ast.walk(ast.parse(text)):
        new = None
        match node:
            case ast.Attribute(attr="numpy", value=ast.Name(id="jax")) if has_jax:
                new = "jaxnb.numpy"
            case ast.Import() if any(item.name == "jax.numpy" and item.asname for item in node.names):
                names = [
                    ("jaxnb.numpy" if item.name == "jax.numpy" and item.asname else item.name, item.asname)
                    for item in node.names
                ]
                new = "import " + ", ".join(one + (f" as {other}" if other else "") for one, other in names)
            case ast.ImportFrom(module="jax.numpy", level=0):
                new = ast.unparse(ast.ImportFrom("jaxnb.numpy", node.names, 0))
            case ast.ImportFrom(module="jax", level=0) if any(item.name == "numpy" for item in node.names):
                own = [item for item in node.names if item.name == "numpy"]
                rest = [item for item in node.names if item.name != "numpy"]
                parts = [ast.ImportFrom("jaxnb", own, 0), *([ast.ImportFrom("jax", rest, 0)] if rest else [])]
                new = "; ".join(map(ast.unparse, parts))
            case _:
                pass
        if new is not None:
            at: Any = node
            edits.append((at.lineno, at.col_offset, at.end_lineno, at.end_col_offset, new))
    lines = text.split("\n")
    for first, start, end, stop, new in sorted(edits, reverse=True):
        head, tail = lines[first - 1].encode()[:start].decode(), lines[end - 1].encode()[stop:].decode()
        lines[first - 1 : end] = [head + new + tail]
    return "\n".join(lines)


def _resources(given: Sequence[Any], loops: Mapping[Any, int], mesh: Any) -> str:
    axes = mesh.shape if mesh is not None else {}
    texts: list[str] = []
    for one in given:
        length = getattr(one, "length", one if isinstance(one, int) else loops.get(one) if one not in axes else None)
        texts.append(repr(one) if length is None else f"SerialLoop({length})")
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _has_mesh_axes(spec: MapSpec, mesh: Any) -> bool:
    return any(one in mesh.shape for _, given in spec.resources for one in given)


def _axes_of(export: _Export, root: str, terms: Sequence[Term], values: Mapping[str, Any]) -> str:
    """The spec of a value as it would be written: one for all of it, or one for each of its leaves."""
    own = [term for term in terms if term.root == root]
    leaves, tree = match_terms(export.spec, own, root, values[root])
    texts = [_term_text(leaf.term) for leaf in leaves]
    if texts and len(set(texts)) == 1:
        return texts[0]
    return _tree_text(jax.tree.unflatten(tree, texts), root)


def _term_text(term: Term | None) -> str:
    if term is None:
        return "{}"
    entries = [repr(name) for name in term.names] + (["..."] if term.open else [])
    return f"[{', '.join(entries)}]"


def _tree_text(tree: Any, root: str) -> str:
    if isinstance(tree, str):
        return tree
    if type(tree) is dict:
        return "{" + ", ".join(f"{key!r}: {_tree_text(item, root)}" for key, item in tree.items()) + "}"
    if type(tree) in (list, tuple):
        items = [_tree_text(item, root) for item in tree]
        return f"[{', '.join(items)}]" if type(tree) is list else f"({', '.join(items)},)"
    raise Refused(
        f"`{root}` holds a {type(tree).__name__}, whose parts have different names.",
        why="in a file only lists, tuples and dicts of names can be written down.",
        fix=f"give all of it the same names, {root}.*[...], or bind its parts to names of their own.",
    )


def _is_static(export: _Export, name: str, traced: set[str]) -> bool:
    """Whether a parameter is a static argument.

    Raises:
      Refused: if it can be neither traced nor static.
    """
    value = export.namespace[name]
    if name in export.spec.roots or is_array_like(value):
        bad = [
            leaf for leaf in leaves_of(value) if not is_array_like(leaf) and not isinstance(leaf, int | float | complex)
        ]
        if not bad:
            return False
        raise Refused(
            f"`{name}` holds a {type(bad[0]).__name__}.",
            why="a function under jax.jit takes arrays, and trees of them.",
            fix="bind its arrays to names of their own.",
        )
    if type(value) in (int, float, complex) or isinstance(value, np.generic):
        return name not in traced
    leaves = leaves_of(value)
    if not jax.tree_util.all_leaves([value]) and leaves and all(is_array_like(leaf) for leaf in leaves):
        return False
    if can_be_static(value):
        return True
    raise Refused(
        f"`{name}` is a {type(value).__name__} that can be neither traced nor static.",
        why="a function under jax.jit takes arrays, trees of arrays, and hashable values that hold none.",
        fix="read its arrays into names in a cell above.",
    )


def _check(text: str, name: str, given: Sequence[Any], options: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Traces the function of the file with what the run had, and compares shapes and types.

    Raises:
      Refused: if it does not give what the run gave.
    """
    module: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    try:
        exec(compile(text, "<exported cell>", "exec", dont_inherit=True), module)
        made = module[name].eval_shape(*given, **options)
    except Exception as error:
        first = str(error).splitlines()[0] if str(error) else ""
        raise Refused(
            f"the cell as a function cannot be traced: {type(error).__name__}: {first}",
            why="one of its helpers, or what it reads, cannot be had outside of the notebook.",
        ) from error
    for out, value in wanted.items():
        if shape_of(made[out]) != shape_of(value):
            raise Refused(
                f"`{out}` would be another thing: {shape_of(made[out])[1]}, not {shape_of(value)[1]}.",
                why="a function under jax.jit treats scalars, NumPy values or containers otherwise here.",
            )


# --- a function ---


class _Call:
    """Runs the map of a cell on values that are given, whatever the notebook's names are by then."""

    def __init__(
        self, code: types.CodeType, names: Mapping[str, Any], nested: Sequence[str], bound: Sequence[str]
    ) -> None:
        self._code, self._names, self._nested, self._bound = code, dict(names), tuple(nested), tuple(bound)

    def same(self, other: object) -> bool:
        """Whether another one does the same with the same helpers and data."""
        return (
            isinstance(other, _Call)
            and (self._code, self._nested, self._bound) == (other._code, other._nested, other._bound)
            and self._names.keys() == other._names.keys()
            and all(other._names[item] is held or item == "__name__" for item, held in self._names.items())
        )

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        names = {**self._names, **given}
        for item in self._nested:  # helpers that read what is given now
            helper: types.FunctionType = self._names[item]
            copy = types.FunctionType(helper.__code__, names, helper.__name__, helper.__defaults__, helper.__closure__)
            copy.__kwdefaults__ = helper.__kwdefaults__
            names[item] = copy
        eval(self._code, names)
        return {item: names[item] for item in self._bound}


def as_mapped_function(
    cell: CellSource,
    mapped: CellSource,
    spec: MapSpec,
    around: Surroundings,
    pieces: Sequence[Piece],
    namespace: Mapping[str, Any],
    name: str,
    known: object,
) -> Callable[..., Any]:
    """The cell as a pure function of what its header lists, and then of what it reads besides.

    Args:
      cell, spec, around, pieces: see `_Export`.
      mapped: the cell as one statement, see `map_cell`.
      namespace: the names when the run began.
      name: of the function.
      known: what has that name now; it is kept if it does the same.

    Returns:
      A function that returns the value of what stands behind `->`, or a dict of several. It composes with `jax.jit`,
      `jax.grad`, `jax.vmap` and with other cells, and never writes into a notebook's names.

    Raises:
      Refused: if the cell has an effect, or reads what cannot be a parameter.
    """
    export = _Export(cell, spec, around, pieces, namespace)
    for item in export.nested:
        if not isinstance(namespace[item], types.FunctionType):
            what = f"`{item}` reads what would be a parameter, and is no plain function"
            raise refused(what, "it cannot be made to read the parameter", None)
    reached = export.names.direct.union(*(export.names.helper(item).reads for item in (*export.flat, *export.nested)))
    reached |= {*export.flat, *export.nested, *(item for item, _ in around.named)}
    own = {item: namespace[item] for item in sorted(reached) if item in namespace and item not in export.parameters}
    own |= {"__name__": namespace.get("__name__", "__main__"), "__builtins__": __builtins__}
    call = _Call(mapped.statements[0].code, own, export.nested, spec.bound)
    if isinstance(known, types.FunctionType) and call.same(known.__globals__.get(CALL)):
        return known
    given = ", ".join(f"{item!r}: {item}" for item in export.parameters)
    result = f"{CALL}({{{given}}})" + (f"[{spec.bound[0]!r}]" if len(spec.bound) == 1 else "")
    outs = listed([f"`{item}`" for item in spec.bound])
    returned = outs if len(spec.bound) == 1 else f"a dict of {outs}"
    about = f"A mapped cell as a function of {', '.join(export.parameters) or 'nothing'}; returns {returned}."
    text = f"def {name}({', '.join(export.parameters)}):\n    {about!r}\n    return {result}"
    scope: dict[str, Any] = {"__name__": own["__name__"], "__builtins__": __builtins__, CALL: call}
    exec(compile(text, cell.filename, "exec", dont_inherit=True), scope)
    return scope[name]
