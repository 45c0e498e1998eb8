"""Arguments in another form than a function of JAX or of a library takes: its own name for them, one tuple for what is
given apart, a function for what was called, an integer for a float, a place for each."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence

import numpy as np

from jaxnb.findings.errors.calls import bound_to
from jaxnb.findings.errors.edits import advice, bracketed, exchange, exchanged, joined, put
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import bare_function, definition_of, results_of
from jaxnb.findings.errors.scene import Scene
from jaxnb.findings.errors.signatures import Argument, LibraryCall, kind_of_parameter, read_call
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix
from jaxnb.runtime import is_library
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]

# --- names of arguments ---

_ALSO_CALLED: dict[str, tuple[str, ...]] = {
    "dim": ("axis", "dimension"),
    "dims": ("axis", "axes"),
    "axes": ("axis",),
    "keepdim": ("keepdims",),
    "size": ("shape",),
    "shape": ("new_sizes", "sizes"),
    "low": ("minval",),
    "high": ("maxval",),
    "a_min": ("min",),
    "a_max": ("max",),
    "amin": ("min",),
    "amax": ("max",),
    "input": ("a", "x", "arr"),
    "other": ("y", "b"),
    "tensors": ("arrays", "tup"),
    "n": ("num", "length", "N"),
    "steps": ("num", "length"),
    "seed": ("key", "rngs"),
    "rng": ("key", "rngs"),
    "rngs": ("key", "rng"),
    "key": ("rngs", "rng"),
    "lr": ("learning_rate",),
    "p": ("rate", "p"),
    "rate": ("p",),
    "units": ("features", "out_features", "output_size"),
    "bias": ("use_bias", "with_bias"),
    "use_bias": ("with_bias",),
    "in_features": ("in_size",),
    "out_features": ("features", "out_size", "output_size"),
    "argnum": ("argnums",),
    "in_axis": ("in_axes",),
    "out_axis": ("out_axes",),
    "initial": ("init", "init_val"),
}
"""What others call an argument, and what it may be called here."""

_MOST_SHOWN = 8


def _unknown_names(scene: Scene) -> Told | None:
    """Arguments by names that the function does not have."""
    call = read_call(scene)
    if call is None or not call.unknown:
        return None
    wrong = [str(one.keyword.arg) for one in call.unknown if one.keyword is not None]
    free = [one.name for one in call.parameters if not any(one is given.parameter for given in call.arguments)]
    pairs = {name: _own_name(name, free) for name in wrong}
    listed = joined([f"`{name}`" for name in wrong], "or")
    message = f"`{call.name}` has no argument {listed}: "
    known = [(name, own) for name, own in pairs.items() if own is not None]
    if known:
        message += joined([f"`{name}` is called `{own}` here" for name, own in known]) + "."
    else:
        names = [one.name for one in call.parameters]
        message += f"it takes {', '.join(names[:_MOST_SHOWN])}{' and others' * (len(names) > _MOST_SHOWN)}."
    fixes = [*_renamed(scene, call, pairs)] if known else []
    left = [name for name, own in pairs.items() if own is None]
    hint = (
        f"leave out {joined([f'`{name}`' for name in left])}."
        if left
        else f"write {joined([str(n) for _, n in known])}."
    )
    return Told(message, (*fixes, advice(hint)))


def _own_name(name: str, free: Sequence[str]) -> str | None:
    """What the function calls an argument that others call by another name."""
    also = next((one for one in _ALSO_CALLED.get(name, ()) if one in free), None)
    close = difflib.get_close_matches(name, free, 1, 0.7)
    return also or (close[0] if close else None)


def _renamed(scene: Scene, call: LibraryCall, pairs: dict[str, str | None]) -> Iterator[Fix]:
    new: list[tuple[ast.AST, str]] = []
    for one in call.unknown:
        keyword = one.keyword
        own = pairs.get(str(keyword.arg)) if keyword is not None else None
        if keyword is not None and own is not None:
            new.append((keyword, f"{own}={one.text}"))
    if len(new) == len(call.unknown):
        yield exchange(scene, "call it by its own name" if len(new) == 1 else "call them by their own names", *new)


# --- one tuple ---


def _given_apart(scene: Scene) -> Told | None:
    """`jnp.zeros(n, m)`, `jnp.stack(a, b)`: several arguments where one tuple of them is taken."""
    call = read_call(scene)
    if call is None:
        return None
    given = call.positional
    for place, one in enumerate(given):
        kind = one.kind
        last = _end_of_row(call, place, kind)
        if kind not in ("arrays", "shape") or last - place < 2:
            continue
        row = given[place:last]
        name = one.parameter.name if one.parameter is not None else ""
        what = "arrays" if kind == "arrays" else "sizes" if "shape" in name or "size" in name else name
        second = given[place + 1]
        message = (
            f"`{call.name}` takes its {what} together, in one tuple `{name}`, and"
            f" {joined([f'`{r.text}`' for r in row])} are given apart"
        )
        message += f": `{second.text}` stands where `{second.parameter.name}` belongs." if second.parameter else "."
        text = f"({', '.join(item.text for item in row)})"
        pairs = [(row[0].node, text)]
        fix = _joined_up(scene, call, row, text) or exchange(scene, "give them in one tuple", *pairs)
        return Told(message, (fix, advice(f"give them in one tuple: {text}.")))
    return None


def _end_of_row(call: LibraryCall, place: int, kind: str) -> int:
    """Up to where the arguments from a place on may be one tuple: as many as leave the function what else it needs."""
    given = call.positional
    names = [str(one.keyword.arg) for one in call.arguments if one.keyword is not None]
    first = given[place]
    if kind == "arrays" and not (first.is_array or _is_of_arrays(first)):
        return place
    last = place
    while last < len(given) and _may_be_in(given[last], kind):
        last += 1
    while last - place >= 2:
        second = given[place + 1]
        wanted = second.kind if second.parameter is not None else ""
        fits = wanted == "integer" and second.is_integer and call.binds(len(given), names)
        if not fits and call.binds(len(given) - (last - place) + 1, names):
            return last
        last -= 1
    return place


def _may_be_in(one: Argument, kind: str) -> bool:
    if kind == "arrays":
        return one.is_array or _is_of_arrays(one) or (one.parameter is None and isinstance(one.value, int | float))
    concrete = isinstance(one.value, np.ndarray) and one.value.shape == () and one.value.dtype.kind in "iu"
    return (one.is_integer or concrete) and bool(one.value > 0 or one.kind != "shape")


def _is_of_arrays(one: Argument) -> bool:
    """Whether nothing speaks against that it is an array: an expression whose value is not known."""
    return not one.is_known and isinstance(one.node, ast.BinOp | ast.Call | ast.Subscript)


def _joined_up(scene: Scene, call: LibraryCall, row: list[Argument], text: str) -> Fix | None:
    """An edit that puts a tuple where the first and the last of some arguments stand, and what is between them."""
    first, last = row[0].node, row[-1].node
    if first.lineno != last.end_lineno:
        return None
    whole = ast.Name("")
    whole.lineno, whole.col_offset = first.lineno, first.col_offset
    whole.end_lineno, whole.end_col_offset = last.end_lineno or first.lineno, last.end_col_offset or 0
    return exchange(scene, "give them in one tuple", (whole, text))


# --- each in its place ---


def _misplaced(scene: Scene) -> Told | None:
    """`jnp.full(n, jnp.float32, 0.5)`: arguments that would fit if each were given for another parameter."""
    call = read_call(scene)
    if call is None or not scene.steps:
        return None
    wrong = [one for one in call.positional if one.is_known and _cannot_be(one)]
    if not wrong:
        return None
    places = _places(call)
    first = wrong[0]
    name = first.parameter.name if first.parameter is not None else ""
    takes = ", ".join(one.name for one in call.parameters[:_MOST_SHOWN])
    is_what = "a dtype" if first.is_dtype else describe(first.value)
    what = f"`{first.text}` is {is_what}" if first.text != is_what else f"`{first.text}`"
    verb = ", and stands" if first.text != is_what else " stands"
    message = f"{what}{verb} where `{name}` of `{call.name}` belongs: it takes ({takes})."
    fixes: list[Fix] = []
    if places is not None and call.binds(places[0], [name for name, _ in places[1]]):
        whole = [one.text for one in call.positional[: places[0]]]
        kept = [scene.text(one) for one in call.node.keywords]
        order = [one.name for one in call.parameters]
        rows = [name for name, _ in places[1]] == order[places[0] : places[0] + len(places[1])]
        inner = [*whole, *(one.text if rows else f"{name}={one.text}" for name, one in places[1]), *kept]
        new = f"{call.name}({', '.join(inner)})"
        fixes.append(put(scene.failed, "give each in its place" if rows else "give each its name", call.node, new))
    return Told(message, (*fixes, advice("give each argument in its place, or by its name.")))


def _cannot_be(one: Argument) -> bool:
    """Whether an argument is certainly none of what its parameter takes."""
    if one.parameter is None or one.value is None:
        return False
    if one.kind == "dtype":
        return not one.is_dtype and (one.is_float or one.is_integer or one.is_shape) and not one.is_array
    if one.kind == "shape":
        return one.is_dtype or one.is_float or (one.is_array and len(one.value.shape) > 1)
    return one.is_dtype and one.parameter.name in ("fill_value", "minval", "maxval", "axis", "num", "k")


def _places(call: LibraryCall) -> tuple[int, list[tuple[str, Argument]]] | None:
    """How many arguments stay where they are, and the parameters of the others: shapes for shapes, dtypes for dtypes,
    and what is left in its order."""
    given = call.positional
    stays = next((n for n, one in enumerate(given) if _cannot_be(one)), len(given))
    stays = min(stays, next((n for n, one in enumerate(given) if one.kind == "shape" and not _is_size(one)), stays))
    free = [one for one in call.parameters if one.name not in {a.parameter.name for a in given[:stays] if a.parameter}]
    named = {str(one.keyword.arg) for one in call.arguments if one.keyword is not None}
    free = [one for one in free if one.name not in named]
    found: list[tuple[str, Argument]] = []
    for one in given[stays:]:
        wanted = "dtype" if one.is_dtype else "shape" if one.is_shape else "other"
        fitting = [
            p
            for p in free
            if (kind_of_parameter(p) if kind_of_parameter(p) in ("dtype", "shape") else "other") == wanted
        ]
        if not fitting:
            return None
        found.append((fitting[0].name, one))
        free.remove(fitting[0])
    order = [one.name for one in call.parameters]
    return stays, sorted(found, key=lambda pair: order.index(pair[0]))


def _is_size(one: Argument) -> bool:
    return one.is_shape or one.is_integer


# --- integers ---


def _no_integer(scene: Scene) -> Told | None:
    """A float where an axis, a size or a number of something is taken."""
    call = read_call(scene)
    if call is None or not scene.steps:
        return None
    found = next(_floats(scene, call), None)
    if found is None:
        return None
    argument, name = found
    value = float(np.asarray(argument.value)) if argument.is_known and not _is_traced(argument) else None
    shown = f" {value!r}" if value is not None and argument.text != repr(value) else ""
    message = f"`{argument.text}` is the float{shown}, and `{name}` of `{call.name}` is an integer."
    if value is None:
        message = f"`{argument.text}` is {describe(argument.value)}, and `{name}` of `{call.name}` is an integer."
    fixes = list(_integers(scene, argument)) if value is not None and value == int(value) else []
    return Told(message, (*fixes, advice("give an integer: // divides without a remainder, int(...) cuts it off.")))


def _is_traced(argument: Argument) -> bool:
    return argument.is_array and not isinstance(argument.value, np.generic | np.ndarray)


def _floats(scene: Scene, call: LibraryCall) -> Iterator[tuple[Argument, str]]:
    for one in call.arguments:
        parameter = one.parameter
        rest = parameter is None and one.keyword is None
        kind = one.kind
        if not (kind in ("integer", "shape") or (rest and _takes_sizes(call)) or _is_axis(one)):
            continue
        name = parameter.name if parameter is not None else "shape"
        if isinstance(one.value, float | np.floating):
            yield one, name
        elif isinstance(one.node, ast.Tuple | ast.List):
            values = one.value if isinstance(one.value, tuple | list) else [None] * len(one.node.elts)
            for item, value in zip(one.node.elts, values, strict=False):
                known = scene.failed.value_of(item) if value is None else value
                known = item.value if isinstance(item, ast.Constant) else known
                if isinstance(known, float | np.floating):
                    yield Argument(item, scene.text(item), known, parameter), name


def _is_axis(one: Argument) -> bool:
    return one.parameter is not None and one.parameter.name in ("axis", "axes", "argnums", "in_axes")


def _takes_sizes(call: LibraryCall) -> bool:
    """Whether a method takes sizes or axes apart, such as `x.reshape(2, 3)`."""
    return call.name.rpartition(".")[2] in ("reshape", "transpose", "view", "permute")


def _integers(scene: Scene, argument: Argument) -> Iterator[Fix]:
    made = bound_to(scene.failed, argument.node)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div):
        left, right = scene.text(made.left), scene.text(made.right)
        yield put(scene.failed, "divide without a remainder", made, f"{left} // {right}")
    yield exchange(scene, "make an integer of it", (argument.node, f"int({argument.text})"))


# --- functions that were called ---


def _called(scene: Scene) -> Told | None:
    """`lax.scan(body(c, x), ...)`: the result of a call where the function itself is taken."""
    place, call = _around(scene)
    if call is None or place is None:
        return None
    results = list(_results(scene, call, place))
    if not results:
        return None
    names = joined([f"`{said}`" for said in dict.fromkeys(scene.text(one.func) for one, _ in results)])
    taken = joined(list(dict.fromkeys(f"`{name}`" for _, name in results)))
    first = scene.text(results[0][0])
    shown = scene.text(call.func)
    several = len(results) > 1
    what = "functions" if several else "a function"
    message = (
        f"`{shown}` takes {what} for {taken}, and calls {'them' if several else 'it'} itself: `{first}` calls {names}"
        f" first, and gives {'their results' if several else 'its result'}."
    )
    new = [(one, scene.text(one.func)) for one, _ in results]
    fixes = [_exchange_in(scene, call, new)]
    return Told(message, (*fixes, advice(f"give the function itself: {scene.text(results[0][0].func)}.")))


def _exchange_in(scene: Scene, call: ast.Call, new: list[tuple[ast.Call, str]]) -> Fix:
    edit = exchanged(scene.failed.text, new)
    text = scene.text(call)
    for node, instead in new:
        text = text.replace(scene.text(node), instead, 1)
    return Fix(f"give the function itself: `{text}`.", edit=edit)


def _around(scene: Scene) -> tuple[FailedExpression | None, ast.Call | None]:
    """The call that is given the result of another one: the failed expression, or what a call in it stands in."""
    node = scene.failed.node
    if not isinstance(node, ast.Call):
        return None, None
    if any(_is_result(scene, scene.failed, item) for item in (*node.args, *(one.value for one in node.keywords))):
        return scene.failed, node
    above = scene.failed.parent(node)
    above = above if isinstance(above, ast.Call) else None
    return (scene.failed, above) if above is not None and not scene.steps and node is not above.func else (None, None)


def _is_result(scene: Scene, place: FailedExpression, node: ast.AST) -> bool:
    """Whether it calls a function of the user's that makes no function."""
    if not isinstance(node, ast.Call):
        return False
    function = place.value_of(node.func)
    bare = bare_function(function)
    if bare is None or not hasattr(bare, "__code__") or is_library(getattr(bare, "__module__", None) or "__main__"):
        return False
    return not any(
        _makes_function(place, definition_of(scene, function), one)
        for one in results_of(definition_of(scene, function))
    )


def _makes_function(place: FailedExpression, function: ast.AST | None, result: ast.expr) -> bool:
    """Whether what a function returns looks like a function: a lambda, one that it defines, or a call of a library."""
    if isinstance(result, ast.Lambda):
        return True
    inner = (
        {one.name for one in ast.walk(function) if isinstance(one, ast.FunctionDef)} if function is not None else set()
    )
    if isinstance(result, ast.Name):
        bound = bound_to(place, result, function)
        if bound is not None and bound is not result:
            return _makes_function(place, None, bound)
        return result.id in inner or callable(place.frame.get(result.id))
    return isinstance(result, ast.Call) and callable(place.value_of(result.func)) and _is_transform(result)


def _is_transform(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in (
        "partial",
        "jit",
        "vmap",
        "grad",
        "value_and_grad",
        "checkpoint",
        "remat",
        "custom_vjp",
        "custom_jvp",
    )


def _results(scene: Scene, call: ast.Call, place: FailedExpression) -> Iterator[tuple[ast.Call, str]]:
    """The calls that stand where a function of JAX takes functions, with the names of the parameters."""
    read = read_call(scene, call)
    if read is None:
        return
    for one in read.arguments:
        if one.parameter is None:
            continue
        name = one.parameter.name
        if one.kind == "function" and not (one.is_known and callable(one.value)) and _is_result(scene, place, one.node):
            assert isinstance(one.node, ast.Call)
            yield one.node, name
        elif one.kind == "functions" and isinstance(one.node, ast.Tuple | ast.List):
            values = one.value if isinstance(one.value, tuple | list) else [None] * len(one.node.elts)
            for item, value in zip(one.node.elts, values, strict=False):
                if not callable(value) and isinstance(item, ast.Call) and _is_result(scene, place, item):
                    yield item, name


# --- what arrays have that is no method ---


def _called_attribute(scene: Scene) -> Told | None:
    """`x.size(0)`, `x.shape()`: an attribute of an array that is a number or a tuple, and was called."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or scene.steps or not isinstance(node.func, ast.Attribute):
        return None
    holder = scene.operands[0] if scene.operands else None
    name = node.func.attr
    if holder is None or not holder.is_array or callable(getattr(np.ndarray, name, None)):
        return None
    if name not in ("shape", "size", "ndim", "dtype", "T", "mT", "real", "imag", "nbytes", "itemsize", "sharding"):
        return None
    text = bracketed(holder)
    what = {"shape": "the tuple of its sizes", "dtype": "its dtype", "size": "an int, how many elements it has"}
    message = f"`{text}.{name}` is no method: it is {what.get(name, 'a value')}, and is not called."
    fixes: list[Fix] = []
    if len(node.args) == 1 and name in ("size", "shape") and not node.keywords:
        fixes.append(exchange(scene, "take the size of that axis", (node, f"{text}.shape[{scene.text(node.args[0])}]")))
    elif not node.args and not node.keywords:
        fixes.append(exchange(scene, "do not call it", (node, f"{text}.{name}")))
        if name == "size":
            fixes.reverse()
    return Told(message, (*fixes, advice(f"write {text}.{name} without brackets behind it.")), (holder,))


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("no-function", (*_BAD, AttributeError), _called),
    Explainer("keyword", (TypeError,), _unknown_names),
    Explainer("apart", _BAD, _given_apart),
    Explainer("misplaced", _BAD, _misplaced),
    Explainer("no-integer", _BAD, _no_integer),
    Explainer("call", (TypeError,), _called_attribute),
)
