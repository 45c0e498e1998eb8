"""A call of a jitted function as texts, by path, and what differs between two of them, in words.

JAX's own explanation is silent where arrays were only put elsewhere, and where a function was made anew; both are part
of a signature. Nothing of the call is kept alive by it.
"""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import jax

from jaxnb._jax import Call, context_values
from jaxnb.runtime import is_library, is_own
from jaxnb.staging import ATOMS, Change, array_change, closure_of, code_digest, context_changes, place_text, told_apart

__all__ = ["Item", "Signature", "compare", "describe", "distance", "user_function"]


_CALL = "(call)"


class Item(NamedTuple):
    """One entry of a signature. Two are the same if all fields are.

    Attributes:
      kind: "array", "static", "container", "closure", "code", "option" or "context".
      text: for people.
      aval: dtype, shape and weak type, of an array.
      place: where the array was put, in short and in full.
      mark: what tells values of one text apart.
    """

    kind: str
    text: str
    aval: tuple[str, tuple[Any, ...], bool] = ("", (), False)
    place: tuple[str, str] = ("", "")
    mark: str = ""


Signature = Mapping[str, Item]


def user_function(function: Any) -> FunctionType | None:
    """The function of the user's that `jax.jit` was given, below partials, transformations and wrappers; or None."""
    for _ in range(20):
        if isinstance(function, FunctionType):
            if not is_library(function.__globals__.get("__name__", "__main__")):
                return None if is_own(function.__code__.co_filename) else function
            inner = function.__dict__.get("__wrapped__")
        elif isinstance(function, functools.partial):
            inner = function.func
        elif isinstance(function, MethodType):
            inner = function.__func__
        else:
            inner = getattr(function, "__wrapped__", None) or vars(type(function)).get("__call__")
        if inner is None:
            return None
        function = inner
    return None


def describe(call: Call, function: FunctionType) -> dict[str, Item]:
    """The signature of a call: texts and numbers only, by path."""
    found = {_CALL: Item("passed", ", ".join([*map(str, range(len(call.args))), *sorted(call.kwargs)]))}
    static = call.options.get("static_argnums", ()), call.options.get("static_argnames", ())
    for path, value, is_static in _arguments(call, *static):
        if is_static:
            found[path] = _static(value)
        else:
            found.update(_leaves(path, value))
    outer = call.function
    while isinstance(outer, functools.partial):
        found.update((f"argument {n} of the partial", _static(value)) for n, value in enumerate(outer.args))
        found.update((f"{name} of the partial", _static(value)) for name, value in outer.keywords.items())
        outer = outer.func
    for name, value in closure_of(function):
        if type(value) in ATOMS:
            found[f"{name} (closure of {function.__name__})"] = Item("closure", _shown(value))
    found[function.__name__ + " (code)"] = Item("code", code_digest(function.__code__).hex())
    found.update((name, Item("option", str(value))) for name, value in call.options.items())
    found.update((name, Item("context", value)) for name, value in context_values().items())
    return found


def _arguments(call: Call, numbers: Any, names: Any) -> Iterator[tuple[str, Any, bool]]:
    """The arguments by the names of the parameters, each with whether it is static."""
    try:
        parameters = list(inspect.signature(call.function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    static = {number % len(call.args) for number in numbers if -len(call.args) <= number < len(call.args)}
    starred = next((n for n, item in enumerate(parameters) if item.kind is item.VAR_POSITIONAL), None)
    for index, value in enumerate(call.args):
        if starred is not None and index >= starred:
            path = f"{parameters[starred].name}[{index - starred}]"
        else:
            path = parameters[index].name if index < len(parameters) else f"argument {index}"
        yield path, value, index in static or path in names
    for name, value in call.kwargs.items():
        yield name, value, name in names


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Item]]:
    """The leaves and containers of an argument, by path."""
    if value is None:
        yield path, Item("none", "None")
        return
    children, treedef = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda item: item is not value)
    if len(children) == 1 and children[0][1] is value:
        yield path, _leaf(value)
        return
    kind = type(value)
    if kind in (list, tuple):
        yield path, Item("container", f"a {kind.__name__} of {len(value)}")
    elif kind is dict:
        yield path, Item("container", "a dict" if value else "an empty dict")
    else:
        yield path, Item("container", f"a {kind.__name__}", mark=_without_addresses(str(treedef)))
    if kind in (list, tuple, dict):  # None is a container without children, and may stand where an array stands too
        pairs = value.items() if kind is dict else enumerate(value)
        for key, child in pairs:
            yield from _leaves(f"{path}[{key!r}]", child)
        return
    for keys, child in children:
        yield from _leaves(path + jax.tree_util.keystr(keys), child)


def _leaf(value: Any) -> Item:
    aval: Any = jax.typeof(value)
    kind = (aval.dtype.name, tuple(aval.shape), bool(getattr(aval, "weak_type", False)))
    committed = isinstance(value, jax.Array) and value.committed
    return Item("array", "", kind, place_text(value.sharding) if committed else ("", ""))


def _static(value: Any) -> Item:
    if type(value) in (int, float, complex):
        return Item("number", repr(value))
    if isinstance(value, FunctionType | MethodType | BuiltinFunctionType | functools.partial):
        name = getattr(value, "__qualname__", type(value).__name__)
        return Item("callable", f"the function {name}", mark=str(hash(value)))
    if type(value) in ATOMS:
        return Item("static", _shown(value))
    if type(value).__hash__ is None or isinstance(value, jax.Array):  # of a partial, which JAX tells by its identity
        return Item("static", f"a {type(value).__name__}")
    by_value = type(value).__eq__ is not object.__eq__
    return Item("static" if by_value else "object", _without_addresses(_shown(value)), mark=str(hash(value)))


def _shown(value: Any) -> str:
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__name__}"
    try:
        return reprlib.repr(value)
    except Exception:  # the user's own __repr__
        return f"a {type(value).__name__}"


def _without_addresses(text: str) -> str:
    head, *rest = text.split(" at 0x")
    return head + "".join(part.lstrip("0123456789abcdefABCDEF") for part in rest)


# --- comparing -----------------------------------------------------------------------------------------------------


def distance(old: Signature, new: Signature) -> int:
    """In how many entries two signatures differ."""
    return sum(old.get(path) != new.get(path) for path in old.keys() | new.keys())


def compare(old: Signature, new: Signature, anew: bool, place: str = "") -> list[Change]:
    """What differs between two signatures, the arguments first.

    Args:
      old: the earlier one.
      new: the later one.
      anew: whether they are those of two function objects.
      place: what the user calls the cell or file that holds the function.
    """
    found: list[Change] = []
    code = passed = False
    contexts: list[str] = []
    gone: list[str] = []
    for path in dict.fromkeys([*new, *old]):
        before, after = old.get(path), new.get(path)
        if before == after or any(path.startswith((f"{holder}[", f"{holder}.")) for holder in gone):
            continue
        kind = (after or before).kind  # type: ignore[union-attr]
        if kind == "code":
            code = True
            name = path.removesuffix(" (code)")
            where = f" ({place})" if place and not place.startswith("<") else ""
            found.append(Change("code", name, f"the code of {name} changed{where}"))
        elif kind == "context":
            contexts.append(f"{path} {before.text if before else '–'} → {after.text if after else '–'}")
        elif kind == "option":
            one, other = (item.text if item is not None else "none" for item in (before, after))
            found.append(Change("options", path, f"{path} of jax.jit {one} → {other}", one, other))
        elif kind == "passed":
            passed = True
        elif kind != "closure" or anew:
            found.append(_difference(path, before, after))
            if (
                before is None
                or after is None
                or (before.kind != after.kind and "container" in (before.kind, after.kind))
            ):
                gone.append(path)
    if passed and not found:
        found.append(Change("passed", "", "an argument is passed by name now, or no longer"))
    found += context_changes(contexts)
    if anew and not code and not any(change.kind == "closure" or "of the partial" in change.path for change in found):
        found.append(Change("anew", "", "the function was made anew, with the same code"))
    if not found:
        found.append(Change("cleared", "", "JAX had dropped what it had traced before"))
    return found


def _difference(path: str, before: Item | None, after: Item | None) -> Change:
    if before is None or after is None:
        there = after or before
        assert there is not None
        text = f"{path} is new: {_text(there)}" if after is not None else f"{path} is gone: {_text(there)} before"
        return Change("grown" if after is not None else "structure", path, text)
    if before.kind == after.kind == "array":
        return array_change(path, before.aval, after.aval, told_apart(before.place, after.place))
    text = f"{path} {_text(before)} → {_text(after)}"
    if before.kind != after.kind or before.kind == "container":
        if before.text == after.text:
            text = f"{path}: the static fields of {after.text} changed"
        grown = (
            before.kind == after.kind and before.text.startswith("a list of ") and after.text.startswith("a list of ")
        )
        sizes = [int(item.text.split()[-1]) for item in (before, after)] if grown else [0, 0]
        kind = "grown" if grown and sizes[1] > sizes[0] else "structure"
        return Change(kind, path, text, _text(before), _text(after), size=max(sizes))
    if before.text == after.text and before.kind == "callable":
        return Change("callable", path, f"{path} is another function each time: {after.text}")
    if before.text == after.text and before.kind == "object":
        return Change("hash", path, f"{path} is another object, and compares by identity: {after.text}")
    kind = {"object": "static"}.get(before.kind, before.kind)
    return Change(kind, path, text, before.text, after.text)


def _text(item: Item) -> str:
    if item.kind != "array":
        return item.text
    dtype, shape, weak = item.aval
    text = f"{'~' if weak else ''}{dtype}[{','.join(map(str, shape))}]"
    return f"{text} on {item.place[0]}" if item.place[0] else text
