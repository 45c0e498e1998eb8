"""Meshes, PartitionSpecs and arrays that do not go together, and arrays on devices of their own."""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import argument_of, bound_to, leaf_paths, name_called
from jaxnb.findings.errors.edits import advice, bare, dimensions, joined, put, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import definition_of, name_of, result_of
from jaxnb.findings.errors.rules.across_devices import mapping, quoted
from jaxnb.findings.errors.scene import Operand, Scene, Step
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]

P = jax.sharding.PartitionSpec


def _spec_text(spec: Any) -> str:
    """A spec as a user writes it."""
    return f"P({', '.join(_entry(one) for one in spec)})"


def _entry(entry: Any) -> str:
    if isinstance(entry, tuple):
        return f"({', '.join(map(_entry, entry))}{',' if len(entry) == 1 else ''})"
    return f'"{entry}"' if isinstance(entry, str) else str(entry)


def _sizes(mesh: Any, entry: Any) -> dict[Any, int]:
    """The mesh axes that an entry of a spec names, each with its size."""
    names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
    return {name: dict(mesh.shape).get(name, 1) for name in names}


def _axis_words(sizes: dict[Any, int]) -> str:
    """Which mesh axes these are: "the mesh axis 'x' (4 devices)"."""
    shown = [f"{name!r} ({size})" for name, size in sizes.items()]
    return f"the mesh {'axis' if len(shown) == 1 else 'axes'} {joined(shown)}"


def _whose(scene: Scene, shape: Sequence[int], at: str = "") -> str:
    """Which of the operands, or which part of one, has a shape, in the user's words."""
    for operand in scene.operands:
        if at and operand.value is not None and not operand.is_array:
            return f"`{operand.text}{at}`"
        if operand.is_array and operand.shape == tuple(shape):
            return f"`{operand.text}`"
    for operand in scene.operands:
        if isinstance(operand.value, dict | list | tuple):
            found = leaf_paths(operand.value, lambda leaf: getattr(leaf, "shape", None) == tuple(shape))
            if (path := next(found, None)) is not None:
                return f"`{operand.text}{path}`"
    return ""


def _what(scene: Scene, step: Step | None, shape: Sequence[int]) -> str:
    """What was to be sharded: an operand, a result of a jitted function, or a value in one."""
    about = str(step.names.get("what_aval", "")) if step is not None else ""
    at = str(step.names.get("name") or "") if step is not None else ""
    if "output" in about:
        return f"the result{at.removeprefix('result')} of {_called_function(scene)}, by its out_shardings,"
    return _whose(scene, shape, at if at.startswith(("[", ".")) else "") or f"the array {dimensions(shape)}"


def _called_function(scene: Scene) -> str:
    node = scene.failed.node
    if isinstance(node, ast.Call):
        inner = node.func.args[0] if isinstance(node.func, ast.Call) and node.func.args else node.func
        return f"`{segment(scene.failed, inner)}`"
    return "the function"


def _indivisible(scene: Scene) -> Told | None:
    step, about = scene.step(*RAISING["indivisible"]), scene.step(*RAISING["sharding-of-value"])
    if step is None and about is None:
        return None
    shape = step.names.get("global_shape") if step is not None else about.names.get("shape")  # type: ignore[union-attr]
    sharding = step.names.get("self") if step is not None else about.names.get("s")  # type: ignore[union-attr]
    spec, mesh = getattr(sharding, "spec", None), getattr(sharding, "mesh", None)
    if spec is None or mesh is None or not isinstance(shape, tuple):
        return None
    parts = [math.prod(_sizes(mesh, entry).values()) for entry in spec]
    axis = next((n for n, (size, part) in enumerate(zip(shape, parts, strict=False)) if size % part), None)
    if axis is None:
        return None
    size, part = shape[axis], parts[axis]
    message = (
        f"axis {axis} of {_what(scene, about, shape)} has size {size}, which is not divisible by the {part} parts that"
        f" {_spec_text(spec)} cuts it into: {_axis_words(_sizes(mesh, spec[axis]))}. The shape is {dimensions(shape)}."
    )
    return Told(message, (_divisible(size, part),))


def _divisible(size: int, part: int) -> Fix:
    above = -(-size // part) * part
    below = f" or drop down to {above - part}" if above > part else ""
    return advice(
        f"make it a multiple of {part}: pad to {above}{below}; or leave that axis whole, with None in its place in"
        " the spec."
    )


def _too_long(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["sharding-of-value"])
    if step is None:
        return None
    sharding, shape = step.names.get("s"), step.names.get("shape")
    spec = getattr(sharding, "spec", None)
    if spec is None or not isinstance(shape, tuple) or len(spec) <= len(shape):
        return None
    message = (
        f"{_what(scene, step, shape)} has rank {len(shape)}, shape {dimensions(shape)}, and {_spec_text(spec)} has"
        f" {len(spec)} entries: a spec has at most one for each axis."
    )
    named = [entry for entry in spec if entry is not None]
    fitting = [P(*named[: len(shape)])] if len(named) <= len(shape) and named else [P(*spec[len(spec) - len(shape) :])]
    fixes = [*_other_specs(scene, sharding, [*fitting, P()])]
    return Told(message, (*fixes, advice(f"take a shorter spec, such as {_spec_text(fitting[0])} or P().")))


def _other_specs(scene: Scene, sharding: Any, specs: Iterable[Any]) -> Iterator[Fix]:
    """The failed call with another spec in the place of its sharding."""
    for n, argument in enumerate(scene.failed.node.args if isinstance(scene.failed.node, ast.Call) else ()):
        if (n and scene.failed.value_of(argument) is sharding) or name_called(argument) == "NamedSharding":
            mesh = next((key for key, value in scene.failed.frame.items() if value is sharding.mesh), None)
            if mesh is None:
                return
            for spec in specs:
                new = (
                    f"{_word(scene, jax.sharding.NamedSharding, 'jax.sharding.NamedSharding')}({mesh},"
                    f" {_written(scene, spec)})"
                )
                yield put(scene.failed, "shard it by a spec that fits", argument, new)
            return


def _written(scene: Scene, spec: Any) -> str:
    return f"{_word(scene, P, 'jax.sharding.PartitionSpec')}{_spec_text(spec)[1:]}"


def _word(scene: Scene, value: Any, default: str) -> str:
    """What the user calls a class."""
    return next((key for key, one in scene.failed.frame.items() if one is value), default)


def _unknown_axis(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["mesh-axis"])
    if step is None:
        return None
    mesh, axis, spec = (step.names.get(key) for key in ("mesh", "r", "pspec"))
    known = tuple(getattr(mesh, "axis_names", ()))
    name = next((key for key, value in scene.failed.frame.items() if value is mesh and not key.startswith("_")), "")
    message = f"the mesh{f' `{name}`' if name else ''} has no axis {axis!r}: its axes are {quoted(known)}."
    if isinstance(spec, P):
        message = message[:-1] + f", and the spec is {_spec_text(spec)}."
    used = {one for entry in spec or () for one in (entry if isinstance(entry, tuple) else (entry,))}
    free = [one for one in known if one not in used]
    close = difflib.get_close_matches(str(axis), [str(one) for one in free], 1)
    place = next((n for n, entry in enumerate(spec or ()) if axis == entry or axis in (entry or ())), 0)
    candidates = list(dict.fromkeys([*close, *(one for one in known[place : place + 1] if one in free), *free]))
    fixes = [
        put(scene.failed, "name an axis of the mesh", node, f'"{one}"')
        for one in candidates
        for node in _constants(scene, axis)[:1]
    ]
    return Told(message, (*fixes, advice(f"name one of {quoted(known)}, or make the mesh with that axis.")))


def _constants(scene: Scene, value: Any) -> list[ast.Constant]:
    return [node for node in ast.walk(scene.failed.node) if isinstance(node, ast.Constant) and node.value == value]


def _axis_twice(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["mesh-axis-twice"])
    if step is None:
        return None
    spec = step.names.get("pspec")
    axes = list(step.names.get("multiple_uses") or ())
    if spec is None or not axes:
        return None
    message = (
        f"{_spec_text(spec)} names the mesh axis {quoted(axes)} more than once: an axis of the mesh can cut only one"
        " dimension of an array."
    )
    fixes = [
        put(scene.failed, "leave one of them whole", node, "None")
        for node in reversed(_constants(scene, axes[0])[1:])
        if not isinstance(scene.failed.parent(node), ast.Tuple)
    ]
    return Told(message, (*fixes, advice("keep one of them and put None in the other place, or name another axis.")))


def _mesh(scene: Scene) -> Told | None:
    """Mesh shapes that do not fit the devices or the names."""
    step = scene.step(*RAISING["mesh"])
    if step is None or not step.module.startswith("jax."):
        return None
    names = step.names.get("axis_names")
    names = (names,) if isinstance(names, str) else tuple(names or ())
    devices = step.names.get("devices")
    shape = step.names.get("new_axis_shapes") or step.names.get("new_axis_sizes")
    if step.name == "make_mesh" and isinstance(shape, tuple):
        count, wanted = len(list(devices or jax.devices())), math.prod(shape)
        if len(shape) != len(names):
            message = f"the mesh shape {dimensions(shape)} has {len(shape)} axes, and {len(names)} names are given."
            return Told(message, (advice("give each axis of the mesh a name."),))
        if wanted <= count:
            return None
        message = f"a mesh of shape {dimensions(shape)} takes {wanted} devices, and there are {count}."
        node = argument_of(scene.failed.node, 0, "axis_shapes") or argument_of(scene.failed.node, -1, "axis_sizes")
        fits = [_fitting(shape, count)]
        fixes = [
            put(scene.failed, "make a mesh of the devices there are", node, dimensions(one)) for one in fits if node
        ]
        return Told(message, (*fixes, advice(f"choose sizes whose product is {count}, or ask for fewer devices.")))
    rank = getattr(devices, "ndim", None)
    if devices is None or rank is None or rank == len(names):
        return None
    message = (
        f"the devices of a mesh stand in an array with one dimension for each axis: there are {len(names)} axes,"
        f" {quoted(names)}, and the devices have {rank} dimension{'s' if rank != 1 else ''}, shape"
        f" {dimensions(devices.shape)}."
    )
    count = devices.size
    shape = _fitting((count,) * len(names), count)
    node = argument_of(scene.failed.node, 0, "devices")
    fixes = []
    if node is not None and names:
        numpy = words_of(scene, "numpy", "")
        text = segment(scene.failed, node)
        if numpy:
            new = f"{numpy}.array({text}).reshape{dimensions(shape)}"
            fixes.append(put(scene.failed, "give the devices that shape", node, new))
        whole = f"{words_of(scene, 'jax', 'jax')}.make_mesh({dimensions(shape)}, {_entry(names)})"
        fixes.append(put(scene.failed, "let JAX arrange them", scene.failed.node, whole))
    return Told(message, (*fixes, advice("reshape the devices, or use jax.make_mesh.")), ())


def _fitting(shape: Sequence[int], count: int) -> tuple[int, ...]:
    """Sizes as close as possible to a shape whose product is the number of devices, the last one cut first."""
    sizes, left = [], count
    for n, size in enumerate(shape):
        rest = len(shape) - n - 1
        if not rest:
            sizes.append(left)
            continue
        fits = [d for d in range(1, left + 1) if left % d == 0 and d <= size]
        wanted = left // 2 if rest and size >= left and left % 2 == 0 and left > 1 else size
        sizes.append(max((d for d in fits if d <= wanted), default=1))
        left //= sizes[-1]
    return tuple(sizes)


def _prefix(scene: Scene) -> Told | None:
    """`in_shardings` or `out_shardings` of another structure than the arguments or the results."""
    step = scene.step(*RAISING["prefix"])
    if step is None:
        return None
    shardings, tree = step.names.get("shardings"), step.names.get("tree")
    word = "out_shardings" if "out_shardings" in str(step.names.get("what")) else "in_shardings"
    if not isinstance(shardings, list | tuple) or tree is None:
        return None
    takes = tree.num_leaves if not step.names.get("tupled_args") else len(tree.children())
    name = _called_function(scene)
    kind = "arguments" if word == "in_shardings" else "results"
    message = f"{word} has {len(shardings)} entr{'y' if len(shardings) == 1 else 'ies'}, and {name} has {takes} {kind}."
    node = _keyword(scene, word)
    fixes: list[Fix] = []
    missing = takes - len(shardings)
    if isinstance(node, ast.Tuple | ast.List) and missing > 0:
        items = [segment(scene.failed, item) for item in node.elts]
        for filled in (["None"] * missing + items, items + ["None"] * missing):
            fixes.append(put(scene.failed, "one entry for each", node, f"({', '.join(filled)})"))
    return Told(message, (*fixes, advice("give one entry for each argument; None leaves it to JAX.")))


def _keyword(scene: Scene, name: str) -> ast.expr | None:
    for node in (scene.failed.node, getattr(scene.failed.node, "func", None)):
        made = bound_to(scene.failed, node)
        if isinstance(made, ast.Call):
            found = next((item.value for item in made.keywords if item.arg == name), None)
            if found is not None:
                return found
    return None


# --- devices ---


def _devices(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["devices"])
    fails = step.names.get("fails") if step is not None else None
    if step is None or not isinstance(fails, list | tuple) or type(scene.error) is not ValueError:
        return None
    arrays = [operand for operand in scene.arrays if _device_ids(operand.value)]
    sets = {tuple(_device_ids(one.value)): one for one in reversed(arrays)}
    if len(sets) > 1:
        (one_ids, one), (two_ids, two) = sorted(sets.items(), key=lambda item: arrays.index(item[1]))[:2]
        message = (
            f"`{one.text}` lies on {_ids(one_ids)} and `{two.text}` on {_ids(two_ids)}: one computation runs on one"
            " set of devices."
        )
        return Told(message, (*_moved(scene, one, two), advice(_put_advice(two.text))), (one, two))
    return _inner_devices(scene, arrays, fails)


def _inner_devices(scene: Scene, arrays: Sequence[Operand], fails: Sequence[Any]) -> Told | None:
    """A value within the function, such as that of a sharding constraint, on other devices than the arguments."""
    held = [operand for operand in arrays if getattr(operand.value, "committed", True)]
    inner = [fail for fail in fails if getattr(fail, "source_info", None) is not None]
    if not inner or not held:
        return None
    one = held[0]
    ids = tuple(device.id for device in inner[0].da)
    where = str(getattr(inner[0], "source_info_str", "")).strip()
    name, line = _called_function(scene), where.rpartition(":")[0].rpartition(":")[2]
    at = f" on line {line}" if line.isdigit() else ""
    made_by = str(getattr(inner[0].source_info, "eqn_name", "")).replace("_", " ") or "a value"
    what = f"the {made_by}"
    message = (
        f"`{one.text}` lies on {_ids(tuple(_device_ids(one.value)))}, and {what} in {name}{at} is for {_ids(ids)}: one"
        " computation runs on one set of devices."
    )
    fixes: list[Fix] = []
    made = bound_to(scene.failed, one.node)
    if name_called(made) == "device_put" and isinstance(made, ast.Call) and made.args:
        fixes.append(put(scene.failed, "leave it uncommitted", made, segment(scene.failed, made.args[0])))
    hint = "put it on the devices of that mesh with jax.device_put, or do not commit it to a device of its own."
    return Told(message, (*fixes, advice(hint)), (one,))


def _device_ids(value: Any) -> list[int]:
    devices = getattr(getattr(value, "sharding", None), "device_set", None)
    return sorted(device.id for device in devices) if devices else []


def _ids(ids: Sequence[int]) -> str:
    if len(ids) == 1:
        return f"device {ids[0]}"
    shown = ", ".join(map(str, ids[:8])) + (", …" if len(ids) > 8 else "")
    return f"the {len(ids)} devices {shown}"


def _moved(scene: Scene, one: Operand, two: Operand) -> Iterator[Fix]:
    jax_word = words_of(scene, "jax", "jax")
    pair = (one, two) if len(_device_ids(one.value)) <= len(_device_ids(two.value)) else (two, one)
    first, second = pair
    if not isinstance(first.node, ast.expr) or not isinstance(second.node, ast.Name | ast.Attribute | ast.Subscript):
        return
    sharding = getattr(second.value, "sharding", None)
    target = f"{second.text}.sharding"
    if len(getattr(sharding, "device_set", ())) > 1 and isinstance(sharding, jax.sharding.NamedSharding):
        mesh = next((key for key, value in scene.failed.frame.items() if value is sharding.mesh), None)
        named = _word(scene, jax.sharding.NamedSharding, "jax.sharding.NamedSharding")
        target = f"{named}({mesh}, {_written(scene, P())})" if mesh else target
    yield put(scene.failed, "put it on the same devices", first.node, f"{jax_word}.device_put({first.text}, {target})")


def _put_advice(text: str) -> str:
    return f"move one of them first: jax.device_put(x, {text}.sharding)."


# --- constraints ---


def _explicit_constraint(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["auto-axes"])
    if step is None:
        return None
    sharding = step.names.get("s")
    mesh = step.names.get("mesh")
    axes = list(getattr(mesh, "explicit_axes", ()) or getattr(mesh, "axis_names", ()))
    message = (
        f"`with_sharding_constraint` is for Auto axes of a mesh, and {quoted(axes)} of"
        f" {_spec_text(getattr(sharding, 'spec', ()))} is an Explicit one: there the sharding is part of the type."
    )
    node = scene.failed.node
    fixes: list[Fix] = []
    if isinstance(node, ast.Call):
        word = words_of(scene, "jax", "jax")
        fixes.append(put(scene.failed, "change the sharding", node.func, f"{word}.sharding.reshard"))
    return Told(message, (*fixes, advice("use jax.sharding.reshard, or make the mesh with AxisType.Auto.")))


def _no_mesh(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["no-mesh"])
    spec = step.names.get("x") if step is not None else None
    if not isinstance(spec, P):
        return None
    name = name_called(scene.failed.node) or "with_sharding_constraint"
    message = (
        f"`{name}` got the PartitionSpec {_spec_text(spec)} alone, and there is no mesh in the context that it could"
        " be of."
    )
    fixes: list[Fix] = []
    meshes = [key for key, value in scene.failed.frame.items() if isinstance(value, jax.sharding.Mesh)]
    node = scene.failed.node
    used = {one for entry in spec for one in (entry if isinstance(entry, tuple) else (entry,))} - {None}
    meshes = [key for key in meshes if not key.startswith("_") and used <= set(scene.failed.frame[key].axis_names)]
    for mesh in meshes[:1]:
        for argument in [*node.args[1:2]] if isinstance(node, ast.Call) else []:
            named = _word(scene, jax.sharding.NamedSharding, "jax.sharding.NamedSharding")
            new = f"{named}({mesh}, {segment(scene.failed, argument)})"
            fixes.append(put(scene.failed, "say of which mesh", argument, new))
    hint = "pass NamedSharding(mesh, spec), or set the mesh around it: with jax.set_mesh(mesh)."
    return Told(message, (*fixes, advice(hint)))


# --- shard_map ---


def _inputs(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["shard-map-inputs"])
    if step is None:
        return None
    mesh: Any = step.names.get("mesh")
    specs: list[Any] = list(step.names.get("in_specs_flat") or ())
    values: list[Any] = list(step.names.get("xs") or ())
    function = name_of(step.names.get("f")) or "the function"
    operands = _given_operands(scene)
    for n, (spec, value) in enumerate(zip(specs, values, strict=False)):
        shape = tuple(getattr(value, "shape", ()))
        if not isinstance(spec, P):
            continue
        parameter = _parameter(scene, step, n)
        whose = _argument_text(operands, n, shape, parameter)
        at = f"in_specs[{n}]={_spec_text(spec)}" if len(specs) > 1 else f"in_specs={_spec_text(spec)}"
        if len(spec) > len(shape):
            kind = "a scalar, rank 0" if not shape else f"of rank {len(shape)}, shape {dimensions(shape)}"
            message = (
                f"{whose} is {kind}, and {at} of `shard_map` has {len(spec)} entr{'y' if len(spec) == 1 else 'ies'}"
                " for its axes."
            )
            return Told(
                message,
                (
                    *_short_spec(scene, n, spec, len(shape)),
                    advice("take a spec with at most one entry for each axis; P() for a scalar."),
                ),
            )
        for axis, entry in enumerate(spec):
            sizes = _sizes(mesh, entry)
            part = math.prod(sizes.values())
            if shape[axis] % part:
                message = (
                    f"axis {axis} of {whose}, shape {dimensions(shape)}, has size {shape[axis]}, which is not divisible"
                    f" by {part}: {at} of `{function}` cuts it over {_axis_words(sizes)}."
                )
                return Told(message, (_divisible(shape[axis], part),))
    return None


def _given_operands(scene: Scene) -> list[Operand]:
    node = scene.failed.node
    if not isinstance(node, ast.Call):
        return []
    found = [scene.argument(n, "") for n in range(len(node.args))]
    return [one for one in found if one is not None]


def _argument_text(operands: Sequence[Operand], n: int, shape: Sequence[int], parameter: str) -> str:
    fits = [one for one in operands if one.is_array and one.shape == tuple(shape)]
    by_place = operands[n] if n < len(operands) else None
    one = by_place if by_place in fits or not fits else fits[0]
    text = f"`{one.text}`" if one is not None else f"argument {n}"
    named = one is not None and one.text == parameter
    return text if named or not parameter else f"{text} (`{parameter}`)"


def _parameter(scene: Scene, step: Step, n: int) -> str:
    code = getattr(getattr(step.names.get("f"), "__func__", step.names.get("f")), "__code__", None)
    if code is None:
        return ""
    names = list(code.co_varnames[: code.co_argcount])
    names = names[1:] if hasattr(step.names.get("f"), "__self__") else names
    return names[n] if n < len(names) else ""


def _short_spec(scene: Scene, n: int, spec: Any, rank: int) -> Iterator[Fix]:
    node = _keyword(scene, "in_specs")
    if isinstance(node, ast.Tuple | ast.List) and n < len(node.elts):
        yield put(scene.failed, "shorten the spec", node.elts[n], _written(scene, P(*list(spec)[:rank])))


def _outputs(scene: Scene) -> Told | None:
    """A result with fewer axes than its spec has entries."""
    step = mapping(scene)
    if step is None or type(scene.error.__context__).__name__ != "_SpecError":
        return None
    specs, fails = step.names.get("out_specs"), step.names.get("fails")
    name = name_of(step.names.get("f")) or "the function"
    avals = [fail for fail in fails or () if isinstance(getattr(fail, "shape", None), tuple)]
    if not avals:
        return None
    shape = avals[0].shape
    kind = "a scalar, rank 0," if not shape else f"of rank {len(shape)}, shape {dimensions(shape)},"
    shown = _spec_text(specs) if isinstance(specs, P) else str(specs)
    message = (
        f"what `{name}` returns on each device is {kind} and out_specs={shown} has an entry for an axis that it lacks."
    )
    value = result_of(definition_of(scene, step.names.get("f")))
    fixes: list[Fix] = []
    if value is not None and not isinstance(value, ast.Tuple | ast.Dict):
        text = segment(scene.failed, value)
        index = ", ".join(["None"] if not shape else ["None", "..."])
        fixes.append(put(scene.failed, "give it an axis of size 1", value, f"{bare(value, text)}[{index}]"))
    return Told(
        message,
        (
            *fixes,
            advice("give the result an axis, as with x[None], or reduce it over the mesh and take out_specs=P()."),
        ),
        (),
    )


# --- explicit sharding ---


def _explicit(scene: Scene) -> Told | None:
    """Operations whose result could be sharded in several ways, or in none."""
    if type(scene.error).__name__ != "ShardingTypeError":
        return None
    typed = [(operand, jax.typeof(operand.value)) for operand in scene.arrays]
    shown = [f"`{operand.text}` {_typed(aval)}" for operand, aval in typed]
    about = tuple(operand for operand, _ in typed)
    rule = scene.steps[-1].name if scene.steps else ""
    step = scene.step(*RAISING["sharded-contraction"])
    if step is not None:
        axes = {one for key in ("lhs_contracting_spec", "rhs_contracting_spec") for one in step.names.get(key) or ()}
        named = quoted(sorted(axes - {None}, key=str))
        message = (
            f"{joined(shown)} are both sharded over {named} along the axis that is summed over, so it is ambiguous"
            " how the result is sharded."
        )
        return Told(
            message,
            (
                *_matmul(scene, about, typed),
                advice("say it: jnp.matmul(a, b, out_sharding=…), or jax.sharding.reshard one of them."),
            ),
            about,
        )
    if scene.step(*RAISING["sharded-indexing"]) is not None:
        message = (
            f"{joined(shown) or 'the operands'}: the sharding of the result of indexing one by the other is ambiguous."
        )
        return Told(message, (*_gather(scene, typed), advice("say it: x.at[index].get(out_sharding=…).")), about)
    if (step := scene.step(*RAISING["sharded-reshape"])) is not None:
        sizes = step.names.get("new_sizes")
        to = f" to {dimensions(sizes)}" if isinstance(sizes, tuple) else ""
        message = (
            f"`reshape` of {joined(shown)}{to} merges or splits an axis that is sharded, so the sharding of the"
            " result is not determined."
        )
        return Told(
            message,
            (
                *_reshaped(scene, typed, sizes),
                advice("say it: jax.lax.reshape(x, sizes, out_sharding=…), or jax.sharding.reshard first."),
            ),
            about,
        )
    if len(typed) > 1 and rule:
        what = name_called(scene.failed.node)
        result = f"the result of `{what}`" if what else "their result"
        message = (
            f"{joined(shown)} are sharded along different dimensions: {result} would have one mesh axis on two of them."
        )
        return Told(
            message,
            (*_resharded(scene, typed), advice("reshard one of them first: jax.sharding.reshard(x, spec).")),
            about,
        )
    return None


def _typed(aval: Any) -> str:
    return str(aval.str_short()) if hasattr(aval, "str_short") else str(aval)


def _spec_of(aval: Any) -> Any:
    return getattr(getattr(aval, "sharding", None), "spec", None)


def _mesh_word(scene: Scene, spec: Any, value: Any) -> str:
    """A sharding of a spec on the mesh of an array, in the user's words."""
    mesh = getattr(jax.typeof(value).sharding, "mesh", None)
    found = [
        key
        for key, one in scene.failed.frame.items()
        if isinstance(one, jax.sharding.Mesh) and mesh is not None and one.abstract_mesh == mesh
    ]
    if not found:
        return _written(scene, spec)
    return (
        f"{_word(scene, jax.sharding.NamedSharding, 'jax.sharding.NamedSharding')}({found[0]}, {_written(scene, spec)})"
    )


def _matmul(scene: Scene, about: Sequence[Operand], typed: Sequence[tuple[Operand, Any]]) -> Iterator[Fix]:
    node = scene.failed.node
    if len(typed) != 2 or not isinstance(node, ast.BinOp):
        return
    (one, first), (two, second) = typed
    if len(first.shape) < 1 or len(second.shape) < 1:
        return
    rows = list(_spec_of(first) or ())[:-1]
    columns = list(_spec_of(second) or ())[-1:] if len(second.shape) > 1 else []
    numpy = words_of(scene)
    for spec in dict.fromkeys([P(*rows, *columns), P(*[None] * (len(rows) + len(columns)))]):
        new = f"{numpy}.matmul({one.text}, {two.text}, out_sharding={_mesh_word(scene, spec, one.value)})"
        yield put(scene.failed, "say how the result is sharded", node, new)


def _gather(scene: Scene, typed: Sequence[tuple[Operand, Any]]) -> Iterator[Fix]:
    node = scene.failed.node
    if not isinstance(node, ast.Subscript) or len(typed) != 2:
        return
    (table, of_table), (index, of_index) = typed
    spec = P(*[*(_spec_of(of_index) or ()), *list(_spec_of(of_table) or ())[1:]])
    new = f"{table.text}.at[{index.text}].get(out_sharding={_mesh_word(scene, spec, table.value)})"
    yield put(scene.failed, "say how the result is sharded", node, new)


def _reshaped(scene: Scene, typed: Sequence[tuple[Operand, Any]], sizes: Any) -> Iterator[Fix]:
    if not typed or not isinstance(sizes, tuple):
        return
    one, aval = typed[0]
    axes = [entry for entry in _spec_of(aval) or () if entry is not None]
    lax = f"{words_of(scene, 'jax', 'jax')}.lax"
    for spec in [P(axes[0], *[None] * (len(sizes) - 1)) if axes else P(), P(*[None] * len(sizes))]:
        new = f"{lax}.reshape({one.text}, {dimensions(sizes)}, out_sharding={_mesh_word(scene, spec, one.value)})"
        yield put(scene.failed, "say how the result is sharded", scene.failed.node, new)


def _resharded(scene: Scene, typed: Sequence[tuple[Operand, Any]]) -> Iterator[Fix]:
    (one, first), (two, _) = typed[:2]
    spec = _spec_of(first)
    if spec is None or not isinstance(two.node, ast.expr):
        return
    word = words_of(scene, "jax", "jax")
    new = f"{word}.sharding.reshard({two.text}, {_mesh_word(scene, spec, one.value)})"
    yield put(scene.failed, "shard both in the same way", two.node, new)


EXPLAINERS = (
    Explainer("indivisible", (ValueError,), _indivisible, inside=RAISING["indivisible"] | RAISING["sharding-of-value"]),
    Explainer("spec-rank", (ValueError,), _too_long, inside=RAISING["sharding-of-value"]),
    Explainer("mesh-axis", (ValueError,), _unknown_axis, inside=RAISING["mesh-axis"]),
    Explainer("mesh-axis-twice", (Exception,), _axis_twice, inside=RAISING["mesh-axis-twice"]),
    Explainer("mesh", (ValueError,), _mesh, inside=RAISING["mesh"]),
    Explainer("shardings", (ValueError,), _prefix, inside=RAISING["prefix"]),
    Explainer("devices", (ValueError,), _devices, inside=RAISING["devices"]),
    Explainer("explicit-constraint", (ValueError,), _explicit_constraint, inside=RAISING["auto-axes"]),
    Explainer("no-mesh", (RuntimeError,), _no_mesh, inside=RAISING["no-mesh"]),
    Explainer("shard-map-inputs", (ValueError,), _inputs, inside=RAISING["shard-map-inputs"]),
    Explainer("shard-map-outputs", (ValueError,), _outputs, inside=RAISING["shard-map"]),
    Explainer("explicit-sharding", (Exception,), _explicit, inside=RAISING["explicit-sharding"]),
)
