"""What differs between the keys of two pieces of one cell, in words (SEMANTICS, rule 10)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from types import FunctionType
from typing import Any

from jaxnb import _jax
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.cells.code import CodeNames, names_of
from jaxnb.staging.cells.reach import is_user_function
from jaxnb.staging.objects.inside import Held
from jaxnb.staging.objects.paths import (
    ALIAS,
    ARRAY,
    ATTRIBUTES,
    COMPLEX,
    CONTENT,
    FLOAT,
    FUN,
    INT,
    JIT,
    NUMPY,
    OBJECT,
    ROOT,
    Path,
    holders_of,
    is_mark,
    render_path,
    root_name,
    root_of,
)
from jaxnb.staging.reuse.history import Change
from jaxnb.staging.trace.moves import is_list
from jaxnb.staging.trace.piece import Piece
from jaxnb.staging.trace.reasons import line_reading

__all__ = [
    "array_change",
    "by_path",
    "context_changes",
    "each_once",
    "explain_change",
    "find_changes",
    "line_of",
    "nearest",
    "parts_by_path",
    "path_at",
    "place_of",
    "place_text",
    "told_apart",
    "who_reads",
]

Place = Callable[[Path], str]
"""The cell or file that the function at a path stands in now, or ""."""

_TRACED = (FLOAT, COMPLEX, INT)
_CONTAINERS = (list, tuple, set, frozenset)
_WRAPPERS = ("__wrapped__", "__func__", "__self__")
_SHOWN_KEYS = 6
_MESH = "mesh_context_manager"
_WEAK_NOW = "(weakly typed now, as a Python scalar's result is)"
_WEAK_BEFORE = "(was weakly typed, as a Python scalar's result is)"


def explain_change(old: Piece, new: Piece) -> list[str]:
    """Sentences on what differs between two pieces of the same code."""
    return [change.text for change in find_changes(old, new)]


def nearest(pieces: Sequence[Piece], new: Piece) -> Piece | None:
    """The piece whose key differs from the new one's in the fewest values; of several such, the first."""
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    wanted = parts_by_path(new)

    def distance(piece: Piece) -> int:
        parts = parts_by_path(piece)
        differing = sum(parts.get(path) != wanted.get(path) for path in parts.keys() | wanted.keys())
        return differing + (piece.key[0] != new.key[0]) + len(_jax.context_names(piece.context, new.context))

    return min(pieces, key=distance)


def parts_by_path(piece: Piece) -> dict[Path, tuple[Any, ...]]:
    """The parts of a key by the path of the value that they belong to."""
    return by_path(piece.key[1:], piece.where)  # the key begins with the device


def by_path(key: Sequence[Any], where: Sequence[tuple[int, Path]]) -> dict[Path, tuple[Any, ...]]:
    """The same of what a walk found: its parts, and where those of each value begin."""
    found: dict[Path, tuple[Any, ...]] = {}
    starts = iter([*where, (len(key) + 1, None)])
    path: Any = (None, "name", "the cell")
    start, following = next(starts)
    for index, part in enumerate(key):
        while start <= index:
            path = following
            start, following = next(starts)
        if _mark(part) is not ROOT:
            found[path] = (*found.get(path, ()), part)
        elif not isinstance(part[-1], str):  # a module, which is not looked into
            found[None, "name", part[1]] = (part,)
    return found


def path_at(piece: Piece, index: int) -> Any:
    """The path of the value that the part of the key at `index` belongs to."""
    found: Any = (None, "name", "the cell")
    for first, path in piece.where:
        if first > index - 1:  # the key begins with the device
            break
        found = path
    return found


def find_changes(
    old: Piece,
    new: Piece,
    place: Place = lambda _: "",
    line: Callable[[Path], int | None] = lambda _: None,
    decided: Callable[[Path], bool] = lambda _: False,
) -> list[Change]:
    """What differs between two pieces of the same code, in the order of their keys.

    Args:
      old: the earlier one.
      new: the later one.
      place: says where the function at a path stands now.
      line: says which line of the cell reads what is at a path.
      decided: says whether an option decided that what is at a path is part of the key.
    """
    found: list[Change] = []
    texts: set[str] = set()
    if old.key and new.key and old.key[0] != new.key[0]:
        text = f"device {old.key[0]} → {new.key[0]}"
        found.append(Change("device", "device", text, str(old.key[0]), str(new.key[0])))

    def add(path: Path, before: Any, after: Any) -> None:
        change = _explain(_without_wrappers(path), before, after, place)
        if change.text not in texts:
            texts.add(change.text)
            found.append(replace(change, line=line(path), decided=decided(path)))

    olds, news = parts_by_path(old), parts_by_path(new)
    said: set[Any] = set()
    shifted: list[Path] = []
    turned: dict[Path, list[Path]] = {}
    for path in dict.fromkeys([*news, *olds]):
        one, other = olds.get(path), news.get(path)
        if one == other or ((one is None or other is None) and any(holder in said for holder in holders_of(path))):
            continue  # the same, or it came or went with what holds it
        said.add(path)
        before, after = next(pair for pair in zip_longest(one or (), other or ()) if pair[0] != pair[1])
        if _mark(before) is _mark(after) is ALIAS:
            shifted.append(path)
        elif _is_turned(before, after):
            turned.setdefault(root_of(path), []).append(path)
        else:
            add(path, before, after)
    for root, paths in turned.items():  # JAX makes all dicts of a tree anew, with sorted keys
        what = render_path(paths[0] if len(paths) == 1 else root)
        many = f", in {len(paths)} dicts" if len(paths) > 1 else ""
        found.append(Change("order", what, f"{what} has its keys in another order{many}", line=line(paths[0])))
    if not found:  # otherwise what they are the same as may only stand at another place now
        for path in shifted:
            text = f"{render_path(path)} is the same object as another input than before"
            found.append(Change("alias", render_path(path), text, line=line(path)))
    if not found and old.unlike:
        found.append(Change("computed", "", old.unlike))
    return [*found, *context_changes(_jax.context_names(old.context, new.context))]


def each_once(changes: Sequence[Change]) -> list[Change]:
    """The changes of all pieces of a cell, each once, and what modules give last: it mostly follows from the code."""
    first: dict[str, Change] = {}
    for change in changes:
        first.setdefault(change.text, change)
    return sorted(first.values(), key=lambda change: change.kind == "library")


def context_changes(sentences: Sequence[str]) -> list[Change]:
    """Changes of JAX's context, from sentences such as `jax_enable_x64 False → True`."""
    found: dict[str, Change] = {}
    for text in sentences:
        name, _, values = text.partition(" ")
        before, arrow, after = values.partition(" → ")
        if not arrow:
            found[text] = Change("import", "", text)
            continue
        if name.endswith(_MESH):
            one, other = _mesh_text(before), _mesh_text(after)
            if one != other:  # otherwise something else about the mesh is different
                name, before, after = "mesh", one, other
        text = f"{name} {before} → {after}"
        found[text] = Change("context", name, text, before, after)
    return list(found.values())


def _mesh_text(text: str) -> str:
    """The axes of the mesh that a context holds, from its `repr`: `x=4, y=2`."""
    return ", ".join(f"{name}={size}" for name, size in re.findall(r"'(\w+)': (\d+)", text)) or "none"


def _without_wrappers(path: Path) -> Path:
    """What a user calls it: the function under `jax.jit` goes by the name of the whole."""
    holder, kind, key = path
    if isinstance(holder, tuple):
        holder = _without_wrappers(holder)
        if kind == "attr" and key in _WRAPPERS:
            return holder
    return (holder, kind, key)


def line_of(path: Path, statements: Sequence[Statement], namespace: Mapping[str, Any]) -> int | None:
    """The line of the first statement that reads what is at a path, perhaps by a function that it calls."""
    name = root_name(path)
    line = line_reading(statements, name)
    if line is not None or name is None:
        return line
    for statement in statements:
        if _reads(statement.names, name, namespace, set()):
            return statement.span.line
    return None


def who_reads(cell: CellSource, piece: Piece, paths: set[Any], namespace: Mapping[str, Any]) -> dict[int, str]:
    """The statements of a piece that read what is at these paths, each with the name from which it does.

    All of them where none is seen to: an object may have a function that does.
    """
    start, statements = piece.plan.start, piece.plan.statements_of(cell)
    parts = parts_by_path(piece)
    found: dict[int, str] = {}
    for path in sorted(paths, key=render_path, reverse=True):
        root = root_of(path)
        if root[1] == "name":
            places = _statements_reading(path, statements, namespace, is_list(parts.get(path, ())))
        else:  # of a module
            places = [n for n, item in enumerate(statements) if root[2] in item.names.attributes]
        found.update((start + n, render_path(root)) for n in places or range(len(statements)))
    return found


def _statements_reading(
    path: Path, statements: Sequence[Statement], namespace: Mapping[str, Any], listed: bool
) -> list[int]:
    """Which statements read what is at a path below a name: themselves, not only to append to it, or by a function.

    Args:
      path: of what they read.
      statements: all of them.
      namespace: the globals that they run in.
      listed: whether it is a list; these are followed as they grow, and nothing else is.
    """
    name = root_name(path) or ""
    outer = (path, *holders_of(path))
    holder = next((one for one in outer if one[1] != "item"), path)
    if holder[1] == "attributes":  # of a function
        holder = next((one[0], "attr", one[2]) for one in outer if one[0] is holder)
    base, value = (holder[1], holder[2]), namespace.get(name)
    itself = [n for n, item in enumerate(statements) if name in item.names.reads]
    more: list[int] = []
    if holder[1] == "name" and isinstance(value, list | dict):
        more = [n for n in itself if statements[n].names.list_uses.touches([base])]
    elif holder[1] == "attr" and listed:
        own = [names_of(value.__code__)] if isinstance(value, FunctionType) else []
        reading = {n: _with_methods(statements[n].names, type(value)) + own for n in itself}
        more = [n for n, used in reading.items() if any(names.list_uses.touches([base]) for names in used)]
    called = (n for n, item in enumerate(statements) if _reads(item.names, name, namespace, set()))
    return more or itself or list(called)


def _with_methods(names: CodeNames, kind: type) -> list[CodeNames]:
    """What code refers to, and what the methods of a class do that it may call, and those that they may call."""
    found, seen = [names], set[str]()
    for used in found:  # which grows meanwhile
        for name in used.attributes - seen:
            seen.add(name)
            function = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
            function = function.fget if isinstance(function, property) else function
            if isinstance(function, FunctionType):
                found.append(names_of(function.__code__))
    return found


def _reads(names: CodeNames, wanted: str, namespace: Mapping[str, Any], seen: set[str]) -> bool:
    if wanted in names.reads:
        return True
    for name in names.reads - seen:
        seen.add(name)
        value = namespace.get(name)
        while callable(value) and not isinstance(value, FunctionType):
            value = getattr(value, "__wrapped__", None)
        if (
            isinstance(value, FunctionType)
            and is_user_function(value)
            and _reads(names_of(value.__code__), wanted, namespace, seen)
        ):
            return True
    return False


def place_of(path: Path, namespace: Mapping[str, Any], label: Callable[[str], str]) -> str:
    """What the user calls the cell or file that the function at a path stands in now; "" where that is not known."""
    holder, kind, key = path
    value: Any = None
    if kind == "name":
        value = namespace.get(key)
    elif kind == "global":
        value = getattr(sys.modules.get(holder), key, None)
    while value is not None and not isinstance(value, FunctionType):
        value = getattr(value, "__wrapped__", None)
    if value is None:
        return ""
    file = value.__code__.co_filename
    known = label(file)
    if known != file:
        return known
    return "" if file.startswith("<") else os.path.basename(file)


# --- one value -----------------------------------------------------------------------------------------------------


def _explain(where: Path, before: Any, after: Any, place: Place) -> Change:
    path = render_path(where)
    one, other = _mark(before), _mark(after)
    if where[1] == "attributes" and None in (before, after):
        text = f"{path} has {'attributes now' if before is None else 'no attributes any more'}"
        return Change("structure", path, text)
    if before is None:
        return Change("structure", path, f"{path} is read now and was not there before", "", _text(after))
    if after is None:
        return Change("structure", path, f"{path} was read before and is not there now", _text(before))
    if one is FUN and other is FUN:
        there = place(where)
        return Change("code", path, f"the code of {path} changed{f' ({there})' if there else ''}")
    if one is JIT and other is JIT:
        return Change("options", path, f"the jit options of {path} changed")
    if one is ROOT and isinstance(before[-1], Held):
        return Change("library", path, f"what {path} reads of its own package changed")
    if one is ROOT and other is ROOT:
        return Change("library", path, f"what {path} gives changed")
    if one is ALIAS or other is ALIAS:
        text = f"{path} is {'no longer' if one is ALIAS else 'now'} the same object as another input"
        return Change("alias", path, text)
    if one is ATTRIBUTES and other is ATTRIBUTES:
        return Change("structure", path, f"{path} {_attributes_changed(before[1], after[1])}")
    if one is ARRAY and other is ARRAY:
        shardings = [part[2] if len(part) > 2 else None for part in (before, after)]
        return array_change(path, _aval(before[1]), _aval(after[1]), told_apart(*map(place_text, shardings)))
    if one is NUMPY and other is NUMPY:
        change = array_change(path, _of_numpy(before), _of_numpy(after))
        return Change(change.kind, path, f"{path} {_text(before)} → {_text(after)}", "", "", change.axes, change.size)
    if one is dict and other is dict:
        return _keys_changed(path, before, after)
    if _text(before) == _text(after) and one is not CONTENT:
        return Change("other", path, f"{path} is another {_name_of(after)}")
    text = f"{path} {_text(before)} → {_text(after)}"
    kind, size = _kind(before, after)
    return Change(kind, path, text, _text(before), _text(after), size=size)


def _kind(before: Any, after: Any) -> tuple[str, int]:
    """What sort of change it is, and the larger size of what grows."""
    one, other = _mark(before), _mark(after)
    numbers = (int, float, complex)
    if one in numbers and other in _TRACED:
        return "dynamic", 0  # it is an input from now on
    if one in numbers and other in numbers:
        return "number", 0
    if (one in (*_TRACED, *numbers)) != (other in (*_TRACED, *numbers)) and {one, other} & {ARRAY, NUMPY}:
        return "weak", 0
    if {one, other} == {ARRAY, NUMPY}:
        return "kind", 0
    if one is CONTENT and other is CONTENT:
        return "content", 0
    if one is other and one in _CONTAINERS:
        return ("grown" if after[1] > before[1] else "structure"), max(before[1], after[1])
    if one is other and one in (str, bytes):
        return "static", 0
    return "structure" if _is_container(before) or _is_container(after) else "other", 0


def _is_container(part: Any) -> bool:
    return _mark(part) in (*_CONTAINERS, dict, OBJECT)


def _is_turned(before: Any, after: Any) -> bool:
    """Whether two parts of a key are of dicts with the same keys."""
    return _mark(before) is _mark(after) is dict and set(before[1]) == set(after[1])


def _keys_changed(path: str, before: Any, after: Any) -> Change:
    old, new = before[1], after[1]
    kind = "grown" if len(new) > len(old) and set(old) <= set(new) else "structure"
    text = f"{path} {_text(before)} → {_text(after)}"
    if max(len(old), len(new)) > _SHOWN_KEYS:
        more = [repr(key) for key in new if key not in old]
        less = [repr(key) for key in old if key not in new]
        said = [f"has {words} {_listed(keys)}" for words, keys in (("now", more), ("no longer", less)) if keys]
        text = f"{path} {' and '.join(said)}"
    return Change(kind, path, text, _text(before), _text(after), size=max(len(old), len(new)))


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _SHOWN_KEYS
    return ", ".join(texts[:_SHOWN_KEYS]) + (f" and {more} more" if more > 0 else "")


def array_change(
    path: str,
    before: tuple[str, tuple[Any, ...], bool],
    after: tuple[str, tuple[Any, ...], bool],
    places: Sequence[str] = ("", ""),
) -> Change:
    """What changed about an array.

    Args:
      path: of the array.
      before: dtype, shape and weak type.
      after: likewise.
      places: its sharding or devices before and after, each "" where it was not put anywhere.
    """
    texts = [_array_text(aval, where) for aval, where in zip((before, after), places, strict=True)]
    text, axes, size = f"{path} {texts[0]} → {texts[1]}", (), 0
    (old_type, old_shape, old_weak), (new_type, new_shape, new_weak) = before, after
    if old_shape != new_shape:
        kind = "shape" if len(old_shape) == len(new_shape) else "rank"
        if kind == "shape":
            axes = tuple(n for n, pair in enumerate(zip(old_shape, new_shape, strict=True)) if pair[0] != pair[1])
            size = max((n for n in (old_shape[axes[0]], new_shape[axes[0]]) if isinstance(n, int)), default=0)
    elif old_weak != new_weak:
        kind = "weak"
        text += f" {_WEAK_NOW if new_weak else _WEAK_BEFORE}"
    elif old_type != new_type:
        kind = "dtype"
    else:
        kind = "placement"
    return Change(kind, path, text, texts[0], texts[1], axes, size)


def _array_text(aval: tuple[str, tuple[Any, ...], bool], place: str) -> str:
    dtype, shape, weak = aval
    text = f"{'~' if weak else ''}{dtype}[{','.join(map(str, shape))}]"
    return f"{text} on {place}" if place else text


def _aval(aval: Any) -> tuple[str, tuple[Any, ...], bool]:
    return aval.dtype.name, tuple(aval.shape), bool(getattr(aval, "weak_type", False))


def _of_numpy(part: Any) -> tuple[str, tuple[Any, ...], bool]:
    return str(part[2]), tuple(part[3]), False


def _attributes_changed(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    more = [f"has .{name} now" for name in after if name not in before]
    less = [f"has no .{name} any more" for name in before if name not in after]
    return " and ".join([*more, *less]) or "has its attributes in another order"


def _mark(part: Any) -> Any:
    """What sort of part of a key it is; None for a value that is part of it as itself, as a class or function is."""
    if isinstance(part, tuple) and part:
        return part[0]
    return part if is_mark(part) else None


def _name_of(part: Any) -> str:
    named = part[0] if isinstance(part, tuple) and part else part
    return getattr(named, "__name__", str(named))


def _text(part: Any) -> str:
    """A part of a key for people."""
    mark = _mark(part)
    if mark is ARRAY:
        return _array_text(_aval(part[1]), place_text(part[2])[0] if len(part) > 2 else "")
    if mark is NUMPY:
        return f"NumPy {_array_text(_of_numpy(part), '')}"
    if mark is CONTENT:
        return "other content"
    if mark in _TRACED:
        return f"a traced {mark!r}"
    if mark is ROOT:
        return "a name"
    if mark is OBJECT:
        return f"a {getattr(part[1], '__name__', part[1])}"
    if mark is float:
        return str(float.fromhex(part[1]))
    if isinstance(part, tuple) and len(part) == 2 and isinstance(mark, type):
        if mark in _CONTAINERS:
            return f"a {mark.__name__} of {part[1]}"
        if mark is dict:
            keys = ", ".join(map(repr, part[1][:_SHOWN_KEYS]))
            return f"a dict with keys {keys}" if keys else "an empty dict"
        return repr(part[1])
    return _name_of(part)


def place_text(sharding: Any) -> tuple[str, str]:
    """Where an array was put, in short and in full: ("P('x',)", "P('x',) over x=2 of cpu:0, cpu:1"); "" for None."""
    if sharding is None:
        return "", ""
    devices = sorted(sharding.device_set, key=lambda device: device.id)
    listed = _listed([str(device) for device in devices])
    spec = getattr(sharding, "spec", None)
    if spec is None:
        return ", ".join(str(device) for device in devices[:4]), f"{type(sharding).__name__} of {listed}"
    axes = ", ".join(f"{name}={size}" for name, size in sharding.mesh.shape.items())
    return str(spec), f"{spec} over {axes} of {listed}"


def told_apart(before: tuple[str, str], after: tuple[str, str]) -> tuple[str, str]:
    """Two places in short where that tells them apart, otherwise in full."""
    return (before[0], after[0]) if before[0] != after[0] else (before[1], after[1]) if before != after else ("", "")
