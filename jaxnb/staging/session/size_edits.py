"""Other words for a line that needs the number which a size stands for, where the cell is traced for all sizes.

Each rule looks at one expression of the line, and gives what may stand in its place. Whether the cell is traced with it
and makes what it made before is tried by who asks.
"""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxnb.errors import JaxnbError
from jaxnb.staging.cells.cell import CellSource, parse_cell

__all__ = ["Edit", "difference", "size_edits", "with_edit"]

Edit = tuple[int, str, str]
"""A line of the cell as displayed, the lines from there on, and others for them."""


class _Words(NamedTuple):
    """What the cell calls modules.

    Attributes:
      text: of the cell as displayed.
      modules: the full names of modules by what they are called.
    """

    text: str
    modules: Mapping[str, str]

    def of(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ""

    def called(self, module: str, default: str) -> str:
        """What a module is called."""
        return next((name for name, full in self.modules.items() if full == module), default)

    def owner(self, node: ast.AST) -> str:
        """The full name of the module whose attribute an expression is; "" for anything else."""
        inside = node.value if isinstance(node, ast.Attribute) else None
        return self.modules.get(self.of(inside), "") if inside is not None else ""

    @property
    def jnp(self) -> str:
        return self.called("jax.numpy", f"{self.called('jax', 'jax')}.numpy")


def size_edits(cell: CellSource, line: int, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Edit]]:
    """Edits of the statement on a line, each with what it does, the likeliest first.

    Args:
      cell: as it is.
      line: as displayed.
      namespace: in which it runs.
    """
    statement = next((one.node for one in cell.statements if one.span.line <= line <= one.span.end_line), None)
    if statement is None or not cell.shown.endswith(cell.text):
        return
    words = _Words(cell.shown, _modules(cell, namespace))
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Call | ast.BinOp)]
    on_line = [node for node in nodes if node.lineno <= line <= (node.end_lineno or node.lineno)]
    found: list[tuple[str, list[tuple[ast.expr, str]]]] = []
    for node in reversed(on_line):  # the innermost first
        found += [(why, [(place, new)]) for why, place, new in _instead(node, words)]
    all_of_numpy = [(node.func, new) for node in on_line if isinstance(node, ast.Call)
                    for _, place, new in _numpy(node, words) if place is node.func]  # fmt: skip
    if len(all_of_numpy) > 1:
        found.append(("jax.numpy has these, too.", all_of_numpy))
    for why, places in found:
        edit = _edit(cell.shown, places)
        if edit is not None:
            yield why, edit


def with_edit(cell: CellSource, edit: Edit) -> CellSource | None:
    """The cell with an edit in it; None if that is no cell."""
    line, old, new = edit
    lines, taken = cell.shown.split("\n"), old.split("\n")
    shown = "\n".join([*lines[: line - 1], *new.split("\n"), *lines[line - 1 + len(taken) :]])
    head = cell.shown[: len(cell.shown) - len(cell.text)]
    filename = f"<edited {cell.filename}>"
    try:
        return parse_cell(shown[len(head) :], filename=filename, shown=shown, offset=head.count("\n"))
    except (SyntaxError, JaxnbError):
        return None
    finally:
        linecache.cache.pop(filename, None)


def difference(shown: str, other: str) -> Edit:
    """The edit that makes one text of another, which has as many lines."""
    old, new = shown.split("\n"), other.split("\n")
    places = [at for at, (one, changed) in enumerate(zip(old, new, strict=True)) if one != changed]
    first, last = places[0], places[-1] + 1
    return first + 1, "\n".join(old[first:last]), "\n".join(new[first:last])


def _modules(cell: CellSource, namespace: Mapping[str, Any]) -> dict[str, str]:
    found = {name: value.__name__ for name, value in namespace.items() if isinstance(value, types.ModuleType)}
    for statement in cell.statements:
        if isinstance(statement.node, ast.Import):
            found |= {one.asname or one.name: one.name for one in statement.node.names}
    roots = {full: name for name, full in found.items()}
    if "jax" in roots:
        found |= {f"{roots['jax']}.{part}": f"jax.{part}" for part in ("numpy", "lax", "random")}
    return found


def _edit(shown: str, places: list[tuple[ast.expr, str]]) -> Edit | None:
    """An edit that puts texts where expressions stand."""
    first = min(node.lineno for node, _ in places)
    last = max(node.end_lineno or node.lineno for node, _ in places)
    lines = shown.split("\n")
    old = "\n".join(lines[first - 1 : last])
    starts = [0]
    for line in lines[first - 1 : last]:
        starts.append(starts[-1] + len(line.encode()) + 1)
    data = old.encode()
    for node, new in sorted(places, key=lambda one: (one[0].lineno, one[0].col_offset), reverse=True):
        begin = starts[node.lineno - first] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - first] + (node.end_col_offset or 0)
        data = data[:begin] + new.encode() + data[end:]
    made = data.decode()
    return (first, old, made) if made != old else None


# --- rules ---


def _instead(node: ast.expr, words: _Words) -> Iterator[tuple[str, ast.expr, str]]:
    for rule in _RULES if isinstance(node, ast.Call) else ():
        yield from rule(node, words)  # pyright: ignore[reportArgumentType]


def _numpy(node: ast.Call, words: _Words) -> Iterator[tuple[str, ast.expr, str]]:
    """A function of NumPy that `jax.numpy` has, too, or `math`."""
    if not isinstance(node.func, ast.Attribute) or words.owner(node.func) not in ("numpy", "math"):
        return
    name = node.func.attr
    if hasattr(jnp, name):
        yield f"jax.numpy has {name}, too.", node.func, f"{words.jnp}.{name}"
    given = node.args[0] if len(node.args) == 1 else None
    if name == "prod" and isinstance(given, ast.Attribute) and given.attr == "shape":
        yield "the size of the array is that product.", node, f"{words.of(given.value)}.size"
    if words.owner(node.func) == "numpy" and name in ("sqrt", "log", "exp", "prod", "log2", "log10"):
        math = words.called("math", "")
        if math:
            yield f"Python computes {name} of a size.", node.func, f"{math}.{name}"


def _numbers(node: ast.Call, words: _Words) -> Iterator[tuple[str, ast.expr, str]]:
    """`int(n / 2)`, `math.ceil(n / 2)`, `float(n)`: what Python's operators give of a size is a size, or a number."""
    if len(node.args) != 1 or node.keywords:
        return
    (given,) = node.args
    called = words.of(node.func).rpartition(".")[2]
    owner = words.owner(node.func)
    if owner not in ("math", "numpy", "") or (not owner and not isinstance(node.func, ast.Name)):
        return
    divided = _divided(given, words)
    if divided is not None and called in ("int", "floor", "trunc", "ceil"):
        above, below = divided
        new = f"-(-{above} // {below})" if called == "ceil" else f"{above} // {below}"
        yield "divide by //: a size divided by a number is a size.", node, f"({new})"
    if called == "int":
        yield "a size is an int already.", node, f"({words.of(given)})"
    if called == "float":
        yield "a size times 1.0 is a float.", node, f"({words.of(given)} * 1.0)"


def _divided(node: ast.expr, words: _Words) -> tuple[str, str] | None:
    """Both sides of `n / 2`, and of `n * 0.5` as that."""
    if not isinstance(node, ast.BinOp):
        return None
    left, right = words.of(node.left), words.of(node.right)
    left = left if isinstance(node.left, ast.Name | ast.Call | ast.Attribute | ast.Subscript) else f"({left})"
    if isinstance(node.op, ast.Div):
        return left, right if isinstance(node.right, ast.Name | ast.Constant) else f"({right})"
    part = node.right.value if isinstance(node.right, ast.Constant) else None
    if isinstance(node.op, ast.Mult) and type(part) is float and 0 < part < 1 and (1 / part).is_integer():
        return left, str(int(1 / part))
    return None


def _many(node: ast.Call, words: _Words) -> Iterator[tuple[str, ast.expr, str]]:
    """`jnp.array([0.0] * n)`."""
    given = node.args[0] if len(node.args) == 1 else None
    if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Mult):
        return
    sides = (given.left, given.right), (given.right, given.left)
    for one, many in sides:
        if isinstance(one, ast.List) and len(one.elts) == 1 and words.of(node.func).rpartition(".")[2] in _ARRAYS:
            new = f"{words.jnp}.full({words.of(many)}, {words.of(one.elts[0])})"
            yield "jnp.full makes an array of as many.", node, new


_ARRAYS = ("array", "asarray")


def _of_jax(node: ast.Call, words: _Words) -> Iterator[tuple[str, ast.expr, str]]:
    """Functions of JAX that are written for numbers, where it has others that are not."""
    if not isinstance(node.func, ast.Attribute) or not words.owner(node.func).startswith("jax"):
        return
    owner, args = words.of(node.func.value), [words.of(one) for one in node.args]
    given = {one.arg: words.of(one.value) for one in node.keywords}
    match node.func.attr:
        case "array_split":
            yield "jnp.split divides into equal parts.", node.func, f"{owner}.split"
        case "squeeze" if len(args) == 1 and not given:
            for axis in (0, -1, 1, 2):
                yield "say which axis has the size 1.", node, f"{owner}.squeeze({args[0]}, {axis})"
        case "choice" if len(args) == 3 and not given:
            yield (
                "jax.random.choice of a number draws by randint.",
                node,
                f"{owner}.randint({args[0]}, {args[2]}, 0, {args[1]})",
            )
        case "permutation" if len(args) == 2:
            lax = words.called("jax", "jax")
            of_number = not isinstance(node.args[1], ast.Name)
            for count, rows in (
                ((args[1], False), (f"len({args[1]})", True))
                if of_number
                else ((f"len({args[1]})", True), (args[1], False))
            ):
                order = f"{words.jnp}.argsort({lax}.random.uniform({args[0]}, ({count},)))"
                yield "sort random numbers: that draws another order.", node, f"{args[1]}[{order}]" if rows else order
        case "associative_scan" if len(args) == 2 and {*given} <= {"axis"}:
            known = {"add": "{j}.cumsum", "multiply": "{j}.cumprod", "maximum": "{l}.cummax", "minimum": "{l}.cummin"}
            known |= {"mul": known["multiply"], "max": known["maximum"], "min": known["minimum"]}
            known |= {"logaddexp": "{l}.cumlogsumexp"}
            if (name := args[0].rpartition(".")[2]) in known:
                function = known[name].format(j=words.jnp, l=words.called("jax.lax", "jax.lax"))
                yield "JAX has that scan for any size.", node, f"{function}({args[1]}, axis={given.get('axis', '0')})"
        case "indices" if len(args) == 1 and isinstance(node.args[0], ast.Tuple | ast.List) and not given:
            parts = ", ".join(f"{words.jnp}.arange({words.of(one)})" for one in node.args[0].elts)
            new = f'{words.jnp}.stack({words.jnp}.meshgrid({parts}, indexing="ij"))'
            yield "stack a grid of jnp.arange.", node, new
        case _:
            return


_RULES: tuple[Callable[[ast.Call, _Words], Iterator[tuple[str, ast.expr, str]]], ...] = (
    _numpy,
    _numbers,
    _many,
    _of_jax,
)
