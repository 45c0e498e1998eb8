"""Kernels of Pallas that cannot be traced: blocks and index maps that do not fit their arrays, what a kernel writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jaxnb._jax import RAISING
from jaxnb.findings.errors.block_specs import block_spec_node, is_call_of
from jaxnb.findings.errors.edits import advice, bare, dimensions, exchange, joined, put, segment, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import definition_of, making, parameter_names, result_of, said_name
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]

_ORIGIN = re.compile(r"(?P<role>args|outputs)(?:\[(?P<place>\d+)\])?")
_INDICES = "ijklmn"


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of an operand or a result.

    Attributes:
      name: of what it is, as the user wrote it.
      option: "in_specs[0]" or "out_specs".
      shape: of the whole array.
      sizes: of the block; () where it has none.
      spec: the call of `BlockSpec` in the text; None if it does not stand there.
      block, index_map: what that is given.
    """

    name: str
    option: str
    shape: tuple[Any, ...]
    sizes: tuple[Any, ...]
    spec: ast.Call | None
    block: ast.expr | None
    index_map: ast.expr | None

    @property
    def line(self) -> int | None:
        """Where it is written."""
        return None if self.spec is None else self.spec.lineno


def _call(scene: Scene) -> ast.Call | None:
    """The `pallas_call` that an error is about."""
    found = next(iter(making(scene, "pallas_call")), None)
    return found if isinstance(found, ast.Call) and is_call_of(found, "pallas_call") else None


def _kernel(scene: Scene, call: ast.Call | None) -> Any:
    """The kernel itself, as far as it is known."""
    return scene.failed.value_of(call.args[0]) if call is not None and call.args else None


def _read(scene: Scene) -> _Block | None:
    """The block that was being read, from the frame that did it."""
    step = scene.step(*RAISING["kernel-block"])
    found = _ORIGIN.match(str(step.names.get("origin", ""))) if step is not None else None
    if step is None or found is None:
        return None
    spec = step.names.get("self")
    role, place = found["role"], int(found["place"] or 0)
    shape = tuple(getattr(step.names.get("array_aval"), "shape", ()))
    sizes = tuple(getattr(spec, "block_shape", None) or ())
    call = _call(scene)
    name = "in_specs" if role == "args" else "out_specs"
    node = block_spec_node(scene.failed.tree, call, name, place) if call is not None else None
    made = node if isinstance(node, ast.Call) and is_call_of(node, "BlockSpec") else None
    option = name if role == "outputs" and found["place"] is None else f"{name}[{place}]"
    block, index_map = (_argument(made, at, key) for at, key in enumerate(("block_shape", "index_map")))
    return _Block(_named(scene, call, role, place), option, shape, sizes, made, block, index_map)


def _argument(call: ast.Call | None, place: int, name: str) -> ast.expr | None:
    if call is None:
        return None
    named = next((one.value for one in call.keywords if one.arg == name), None)
    return named if named is not None else call.args[place] if place < len(call.args) else None


def _named(scene: Scene, call: ast.Call | None, role: str, place: int) -> str:
    """`x` for what the kernel is given, and "the result `o`" for what it writes, by the kernel's own name."""
    node = scene.failed.node
    given = node.args if isinstance(node, ast.Call) and node is not call else []
    if role == "args":
        return f"`{scene.text(given[place])}`" if place < len(given) else f"operand {place}"
    names = parameter_names(_kernel(scene, call))
    at = len(given) + place
    return f"the result `{names[at]}`" if given and at < len(names) else "the result"


def _about(scene: Scene) -> tuple[Operand, ...]:
    """The arrays that the kernel is given."""
    return tuple(one for one in scene.operands if one.is_array)


# --- the rank of a block ---


def _rank(scene: Scene) -> Told | None:
    found = _read(scene)
    if found is None or not found.sizes or len(found.sizes) == len(found.shape):
        return None
    has, rank = len(found.sizes), len(found.shape)
    message = (
        f"the block of {found.name} in `{found.option}` has {has} size{'s' * (has != 1)}, "
        f"{dimensions(map(_size, found.sizes))}, and {found.name} has {rank}, shape {dimensions(found.shape)}: "
        "a block has a size for each dimension, None for one that the kernel shall not see."
    )
    fixes = [*_ranked(scene, found)]
    return Told(
        message, (*fixes, advice("give the block a size for each dimension.")), _about(scene), _own(scene, found)
    )


def _size(size: Any) -> str:
    """A size of a block as it is written."""
    return str(getattr(size, "block_size", size))


def _own(scene: Scene, found: _Block) -> int | None:
    return found.line if scene.failed.file == scene.here else None


def _ranked(scene: Scene, found: _Block) -> Iterator[Fix]:
    """The block with as many sizes as there are dimensions, and with it as many indices."""
    block, rank = found.block, len(found.shape)
    if not isinstance(block, ast.Tuple | ast.List):
        return
    sizes = [segment(scene.failed, one) for one in block.elts]
    result = result_of(_function(scene, found))
    indices = _items(scene, result)
    more = rank - len(sizes)
    whole = [str(size) for size in found.shape]
    for front in (False, True) if more > 0 else (False,):
        kept = sizes[:rank]
        own = [*whole[:more], *kept] if front and more > 0 else [*kept, *whole[len(kept) :]]
        new: list[tuple[ast.AST, str]] = [(block, dimensions(own))]
        if result is not None and len(indices) != rank:
            zeros = ["0"] * max(more, 0)
            steps = [*zeros, *indices] if front else [*indices[:rank], *zeros]
            new.append((result, dimensions(steps[:rank])))
        yield exchange(scene, "give it a size for each dimension", *new)


# --- index maps ---


def _function(scene: Scene, found: _Block) -> Any:
    """The syntax of an index map."""
    node = found.index_map
    if isinstance(node, ast.Lambda) or node is None:
        return node
    return definition_of(scene, scene.failed.value_of(node))


def _items(scene: Scene, result: ast.expr | None) -> list[str]:
    """The texts of the indices that an index map returns."""
    if result is None:
        return []
    items = result.elts if isinstance(result, ast.Tuple | ast.List) else [result]
    return [segment(scene.failed, one) for one in items]


def _index_map(scene: Scene) -> Told | None:
    step, found = scene.step(*RAISING["kernel-block"]), _read(scene)
    if step is None or found is None:
        return None
    made = step.names.get("unflat_avals")
    if made is None:
        return _arguments(scene, found, step.names.get("index_map_avals"))
    rank = len(found.sizes or found.shape)
    try:
        count = len(made)
    except TypeError:
        count = 1
    if count != rank:
        return _counted(scene, found, count, rank)
    wrong = [(at, one) for at, one in enumerate(step.names.get("out_avals") or ()) if not _is_index(one)]
    return _no_index(scene, found, *wrong[0]) if wrong else None


def _counted(scene: Scene, found: _Block, count: int, rank: int) -> Told:
    message = (
        f"the index map of {found.name} in `{found.option}` returns {count} ind{'ices' if count != 1 else 'ex'}, and "
        f"its block has {rank} dimension{'s' * (rank != 1)}, {dimensions(map(_size, found.sizes or found.shape))}: "
        "it says for each which block it is."
    )
    result, fixes = result_of(_function(scene, found)), list[Fix]()
    items = _items(scene, result)
    if result is not None:
        zeros = ["0"] * max(rank - count, 0)
        for steps in ([*items, *zeros][:rank], [*zeros, *items][-rank:]):
            fixes.append(exchange(scene, "return an index for each", (result, dimensions(steps))))
    hint = "return an index for each dimension of the block; 0 where the block is the whole of it."
    return Told(message, (*fixes, advice(hint)), _about(scene), _own(scene, found))


def _is_index(aval: Any) -> bool:
    return getattr(aval, "shape", None) == () and str(getattr(aval, "dtype", "")) in ("int32", "int64")


def _no_index(scene: Scene, found: _Block, at: int, aval: Any) -> Told:
    what = aval.str_short() if hasattr(aval, "str_short") else str(aval)
    message = (
        f"the index map of {found.name} in `{found.option}` returns {what} in place {at}: an index is a whole number, "
        "int32, and counts blocks."
    )
    result, fixes = result_of(_function(scene, found)), list[Fix]()
    nodes = ast.walk(result) if result is not None else ()
    divided = [one for one in nodes if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div)]
    for one in divided[:1]:
        new = f"{segment(scene.failed, one.left)} // {segment(scene.failed, one.right)}"
        fixes.append(exchange(scene, "divide whole numbers", (one, new)))
    hint = "compute with the indices of the grid and Python's integers: // and %, not /."
    return Told(message, (*fixes, advice(hint)), _about(scene), _own(scene, found))


def _arguments(scene: Scene, found: _Block, given: Any) -> Told | None:
    """An index map that takes another number of arguments than the grid has dimensions."""
    function = _function(scene, found)
    if given is None or not isinstance(function, ast.Lambda | ast.FunctionDef):
        return None
    taken = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if len(taken) == len(given) or function.args.vararg is not None:
        return None
    count = len(given)
    message = (
        f"the index map of {found.name} in `{found.option}` takes {len(taken)} argument{'s' * (len(taken) != 1)}, "
        f"({', '.join(taken)}), and the grid has {count} dimension{'s' * (count != 1)}: it is given an index of each."
    )
    fixes = list(_with_arguments(scene, found, function, taken, count)) if isinstance(function, ast.Lambda) else []
    hint = "give it an argument for each dimension of the grid."
    return Told(message, (*fixes, advice(hint)), _about(scene), _own(scene, found))


def _with_arguments(
    scene: Scene, found: _Block, function: ast.Lambda, taken: Sequence[str], count: int
) -> Iterator[Fix]:
    """The index map with more arguments, which move it along dimensions of which the block covers a part; or fewer."""
    free = [name for name in _INDICES if name not in taken]
    names = [*taken, *free][:count]
    items = _items(scene, function.body)
    added = [name for name in names if name not in taken]
    moved = list(items)
    for at, (item, size, whole) in enumerate(zip(items, found.sizes, found.shape, strict=False)):
        if item == "0" and added and _size(size).isdigit() and int(_size(size)) < whole:
            moved[at] = added.pop(0)
    for body in dict.fromkeys((dimensions(moved), dimensions(items))):
        yield exchange(scene, "take an index of each", (function, f"lambda {', '.join(names)}: {body}"))


# --- what a kernel writes ---


def _stored(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["kernel-store"])
    if step is None:
        return None
    ref: Any = step.names.get("expected_out_ty")
    value: Any = step.names.get("val_aval")
    if not hasattr(ref, "dtype") or not hasattr(value, "dtype"):
        return None
    statement = scene.failed.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    given = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Subscript):
        return None
    name, where = segment(scene.failed, target.value), scene.text(target)
    shapes = f"`{where}` is {ref.str_short()}, and what is written there is {value.str_short()}"
    if ref.shape != value.shape:
        hint = "write an array of that shape, or to a part of the ref, as `o[:8, :] = x`; jnp.broadcast_to fills it."
        return Told(f"{shapes}: a ref takes arrays of its own shape alone, and broadcasts none.", (advice(hint),), ())
    fixes: list[Fix] = []
    if given is not None:
        text = f"{bare(given, segment(scene.failed, given))}.astype({name}.dtype)"
        fixes.append(put(scene.failed, "convert it", given, text))
    hint = f"convert it: .astype({name}.dtype), or give out_shape that dtype."
    return Told(f"{shapes}: a ref converts nothing that is written to it.", (*fixes, advice(hint)), ())


def _returned(scene: Scene) -> Told | None:
    """A kernel that returns what it should write."""
    step = scene.step(*RAISING["kernel"])
    if step is None or scene.steps[-1] is not step:
        return None
    call = _call(scene)
    kernel = _kernel(scene, call)
    function = definition_of(scene, kernel)
    result, names = result_of(function), parameter_names(kernel)
    if result is None or not names:
        return None
    message = (
        f"{said_name(kernel, 'the kernel')} returns a value: a kernel returns None, and writes what it makes to the "
        f"refs of its results, here `{names[-1]}`."
    )
    fixes: list[Fix] = []
    for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
        if isinstance(node, ast.Return) and node.value is result:
            text = f"{names[-1]}[...] = {segment(scene.failed, result)}"
            fixes.append(put(scene.failed, "write it", node, text))
    line = result.lineno if scene.failed.file == scene.here else None
    return Told(message, (*fixes, advice(f"write it: {names[-1]}[...] = ...")), (), line)


def _no_out_shape(scene: Scene) -> Told | None:
    """A `pallas_call` that is not told what it makes."""
    call = scene.failed.node
    if not isinstance(call, ast.Call) or not is_call_of(call, "pallas_call"):
        return None
    inside = scene.inside - {"reraise_with_filtered_traceback"}  # it has not begun
    if inside or len(call.args) > 1 or any(one.arg in ("out_shape", None) for one in call.keywords):
        return None
    outer = scene.failed.parent(call)
    given = outer.args if isinstance(outer, ast.Call) and outer.func is call else []
    arrays = [one for one in given if isinstance(one, ast.Name | ast.Attribute)]
    message = (
        "`pallas_call` lacks `out_shape`: the shapes and dtypes of what the kernel writes, which it does not find out "
        "by itself."
    )
    jax = words_of(scene, "jax", "jax")
    fixes = [
        with_more(
            scene.failed,
            f"give it those of `{name}`",
            call,
            f"out_shape={jax}.ShapeDtypeStruct({name}.shape, {name}.dtype)",
        )
        for name in (scene.text(one) for one in arrays[:1])
    ]
    names = joined([f"`{scene.text(one)}`" for one in given]) if given else ""
    hint = f"give it one ShapeDtypeStruct for each result{f' of {names}' if names else ''}."
    return Told(message, (*fixes, advice(hint)))


EXPLAINERS = (
    Explainer("block-rank", (ValueError,), _rank, inside=RAISING["kernel-block"]),
    Explainer("index-map", (ValueError, TypeError), _index_map, inside=RAISING["kernel-block"]),
    Explainer("kernel-write", (ValueError,), _stored, inside=RAISING["kernel-store"]),
    Explainer("kernel-result", (ValueError,), _returned, inside=RAISING["kernel"]),
    Explainer("out-shape", (TypeError,), _no_out_shape),
)
