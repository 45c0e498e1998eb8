"""What functions and classes of libraries read of what libraries keep, where the user or the library may change it.

It is found by the names in their code, the nearest first, and only once. Of modules plain values and functions count,
of classes the attributes that methods read, and of all functions the defaults. Where what is called comes to a few
functions, as in small packages, all data that these keep counts by content, like what is the user's: objects, arrays
and containers in modules, in closures and on functions. What a large package keeps besides is its own. A name that a
function of the module binds anew, such as a counter, is undone and moved on like the user's.
"""

from __future__ import annotations

import dis
import functools
import itertools
import operator
import os
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxnb import _jax
from jaxnb.runtime import function_of, home_of, is_closed_package, is_jax_module, is_library, name_of
from jaxnb.staging.cells.code import CodeNames, Sees, names_of
from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.referents import closure_of
from jaxnb.staging.objects.data import is_data

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = [
    "Held",
    "exactly",
    "follow_classes",
    "follow_inside",
    "function_behind",
    "has_mutable_default",
    "held_by",
    "is_closed",
    "is_plain",
    "is_short",
    "rebound_names",
]

_MOST_ITEMS = 100
_MOST_FUNCTIONS = 40
"""Functions that are looked into for one that the user calls, the nearest first."""


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a text, or a short container of such."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind in (list, tuple):
        return len(value) <= _MOST_ITEMS and all(type(item) in ATOMS for item in value)
    return (
        kind is dict
        and len(value) <= _MOST_ITEMS
        and all(type(key) is str and type(item) in ATOMS for key, item in value.items())
    )


def is_short(value: Any) -> bool:
    """Whether a value is a container that may be changed, and holds little enough to be looked through."""
    return type(value) in (list, dict, set, deque) and len(value) <= _MOST_ITEMS


def is_closed(module: types.ModuleType) -> bool:
    """Whether only the plain values of a module count."""
    return is_closed_package(name_of(module))


def function_behind(value: Any) -> types.FunctionType | None:
    """The function of a library behind a value, which may be under `jax.jit` or another transform, or in a partial."""
    while True:
        kind = type(value)
        if issubclass(kind, functools.partial):
            value = value.func
        elif kind is types.MethodType:
            value = value.__func__
        elif _jax.jit_options(value) is not None or (
            kind is types.FunctionType and is_closed_package(_home_name(value)) and "__wrapped__" in vars(value)
        ):
            value = vars(value)["__wrapped__"] if kind is types.FunctionType else value.__wrapped__
        else:
            break
    return value if type(value) is types.FunctionType and is_library(_home_name(value)) else None


def rebound_names(module: types.ModuleType) -> frozenset[str]:
    """The names of a library's module that a function in it binds anew, such as a counter."""
    spec = vars(module).get("__spec__")  # another one after a reload
    known = _rebound.get(module)
    if known is None or known[0] is not spec:
        functions: dict[int, types.FunctionType] = {}
        for value in [item for held in vars(module).values() for item in _with_attributes(held, name_of(module))]:
            while isinstance(value, types.FunctionType) and id(value) not in functions:
                if value.__globals__ is vars(module):
                    functions[id(value)] = value
                value = vars(value).get("__wrapped__")
        codes = [each.__code__ for each in functions.values()]
        for code in codes:  # which grows meanwhile
            codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
        binding = [code for code in codes if _STORES.intersection(code.co_code[::2])]
        known = _rebound[module] = spec, frozenset[str]().union(*(names_of(code).later_binds for code in binding))
    return known[1]


def _with_attributes(value: Any, home: str) -> list[Any]:
    """A value of a module and, for a class of that module, the functions that it has."""
    of_class = isinstance(value, type) and value.__module__ == home
    items = list(vars(value).values()) if of_class else [value]
    return [function_of(item.__wrapped__ if _jax.jit_options(item) is not None else item) for item in items]


_rebound: weakref.WeakKeyDictionary[types.ModuleType, tuple[Any, frozenset[str]]] = weakref.WeakKeyDictionary()
_STORES = frozenset({dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]})


class Inside(NamedTuple):
    """What some functions of a package read.

    Attributes:
      places: names in modules.
      states: names in modules of what may be data there, if the functions are few.
      binds: names in modules that few functions bind anew without reading them.
      remembering: which of few functions have a closure, attributes of their own, or a default that may be changed.
      environment: whether the environment of the process is read there.
      functions: which functions these are; their defaults count.
      attributes: names in classes.
      counted: those that few functions assign, such as a counter.
      mutates: whether one of the functions changes items or attributes of anything.
      overridable: names that are looked up in classes before they are found in others.
      awaits: how many modules there were when one was not there yet that a function imports; 0 if all were.
    """

    places: tuple[tuple[types.ModuleType, str], ...]
    states: tuple[tuple[types.ModuleType, str], ...]
    binds: tuple[tuple[types.ModuleType, str], ...]
    remembering: tuple[types.FunctionType, ...]
    environment: bool
    functions: tuple[types.FunctionType, ...]
    attributes: tuple[tuple[type, tuple[str, ...]], ...]
    counted: tuple[tuple[type, str], ...]
    overridable: tuple[tuple[type, frozenset[str]], ...]
    mutates: bool
    awaits: int


def _may_remember(function: types.FunctionType) -> bool:
    """Whether it sets something, as it may on itself, or has a default that holds more than the function was given."""
    return bool(names_of(function.__code__).sets) or has_mutable_default(function)


def has_mutable_default(function: types.FunctionType) -> bool:
    """Whether a function can keep something from call to call in a default of its arguments."""
    return any(isinstance(value, list | dict | set) for value in function.__defaults__ or ())


def _reads_environment(names: CodeNames) -> bool:
    return any(chain[:2] in (("os", "environ"), ("os", "getenv")) for chain in names.chains)


def _environment() -> dict[str, str]:
    return dict(os.environ)


class Held(tuple[Any, ...]):
    """A part of a key: objects that are compared by identity."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and len(self) == len(other) and all(map(operator.is_, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))


class _Itself:
    """Equals one object only, where that object would equal others."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return other is self.value

    __hash__ = None  # type: ignore[assignment]


_BY_IDENTITY = (types.FunctionType, staticmethod, classmethod, property, type, types.NoneType, bool)


def exactly(value: Any) -> Any:
    """What equals a list, tuple or dict only if that holds the same objects, and anything else only if it is the same.

    Such are compared at the speed of containers.
    """
    kind = type(value)
    if kind in (list, tuple):
        return kind(map(_itself, value))
    return {key: _itself(item) for key, item in value.items()} if kind is dict else _itself(value)


def _itself(value: Any) -> Any:
    return value if type(value) in _BY_IDENTITY else _Itself(value)


def held_by(values: list[Any]) -> Held:
    """The same values as a part of a key: those that are lists, tuples and dicts by what they hold."""
    found: list[Any] = []
    for value in values:
        if type(value) is dict:
            found += value
        found += value.values() if type(value) is dict else value if type(value) in (list, tuple) else [value]
    return Held(found)


def follow_inside(scan: Scan, function: types.FunctionType) -> None:
    """Visits what a function of a library, and functions and classes of its package that it uses, read."""
    found = _inside.get(function)
    if found is None or found.awaits not in (0, len(sys.modules)):
        found = _inside[function] = _Search([function]).found()
    _follow(scan, found, f"{_home_name(function)}.{function.__qualname__}")


def follow_classes(scan: Scan) -> None:
    """Visits what the classes of libraries that the walk met read, of the methods those that may be called.

    These are the special ones, and those whose names the code has.
    """
    for kind in list(scan.kinds.values()):
        bases = _open_bases(kind)
        names = {name for base in bases for name in scan.attributes & vars(base).keys()}
        known = _inside_classes.setdefault(kind, {})
        entry = frozenset(names)
        found = known.get(entry)
        if found is None or found.awaits not in (0, len(sys.modules)):
            found = known[entry] = _Search([], [kind], entry).found()
        _follow(scan, found, f"{kind.__module__}.{kind.__qualname__}")


_inside: weakref.WeakKeyDictionary[types.FunctionType, Inside] = weakref.WeakKeyDictionary()
_inside_classes: weakref.WeakKeyDictionary[type, dict[frozenset[str], Inside]] = weakref.WeakKeyDictionary()


def _follow(scan: Scan, found: Inside, text: str) -> None:
    for module, name in found.places:
        held = vars(module)
        if name in held and scan.first_seen(held, name):
            scan.library_value(module, name, held[name])
    _follow_states(scan, found, text)
    functions = [each for each in found.functions if each.__defaults__ or each.__kwdefaults__]
    looks = _looks_at_defaults([each for each in functions if scan.first_seen(each, "defaults")])
    for base, names in found.attributes:
        there = [name for name in names if name in vars(base) and scan.first_seen(base, name)]
        if there:
            looks.append(functools.partial(operator.itemgetter(*there, there[0]), vars(base)))  # a tuple, also of one
            if not found.mutates:  # else it may well remember something there
                looks += _looks_into([vars(base)[name] for name in there])
    for base, names in found.overridable:
        if scan.first_seen(base, f"{text} above"):
            looks.append(functools.partial(names.isdisjoint, vars(base)))
    if looks:
        scan.library_held(text, looks)


def _follow_states(scan: Scan, found: Inside, text: str) -> None:
    """What a small part of a package keeps as data, by content, like what is the user's."""
    for module, name in found.states:
        held = vars(module)
        if name in held and is_data(held[name]) and scan.first_seen(held, name):
            scan.library_value(module, name, held[name])
    for module, name in found.binds:
        if scan.first_seen(vars(module), f"{name} ="):
            scan.missing_name(module, name)
            scan.assigned_name(module, name)
    for function in found.remembering:
        if scan.first_seen(function, "closure"):
            scan.library_function(function, (None, "name", f"{_home_name(function)}.{function.__qualname__}"))
    for base, name in found.counted:
        if name in vars(base) and is_plain(vars(base)[name]) and scan.first_seen(base, name):
            scan.library_attribute(base, name)
    if found.environment:
        scan.library_state("os.environ", _environment)


def _looks_at_defaults(functions: list[types.FunctionType]) -> list[Callable[[], Any]]:
    """What reads the defaults: the objects themselves, and what plain containers among them hold."""
    looks: list[Callable[[], Any]] = [lambda: [*map(_DEFAULTS, functions)]] if functions else []
    for each in functions:
        if each.__kwdefaults__:
            looks.append(functools.partial(_KWDEFAULTS, each))
        if not names_of(each.__code__).mutates:  # else it may well remember something there
            looks += _looks_into([*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()])
    return looks


def _looks_into(values: list[Any]) -> list[Callable[[], Any]]:
    """What reads the plain containers among some values."""
    kinds = (dict, list)
    return [functools.partial(type(value), value) for value in values if type(value) in kinds and is_plain(value)]


_DEFAULTS, _KWDEFAULTS = operator.attrgetter("__defaults__"), operator.attrgetter("__kwdefaults__")


class _Search:
    """Follows the names in the code of functions through their package."""

    def __init__(
        self, functions: list[types.FunctionType], kinds: Collection[type] = (), names: Collection[str] = ()
    ) -> None:
        self._queue, self._seen = list(functions), {id(each) for each in functions}
        self._places: dict[tuple[int, str], tuple[types.ModuleType, str]] = {}
        self._states: dict[tuple[int, str], tuple[types.ModuleType, str]] = {}
        self._binds: dict[tuple[int, str], tuple[types.ModuleType, str]] = {}
        self._attributes: dict[type, dict[str, None]] = {}
        self._counted: dict[tuple[int, str], tuple[type, str]] = {}
        self._above: dict[type, set[str]] = {}
        self._assigned: set[str] = set()  # names of attributes that the package assigns on other objects than `self`
        self._awaits = False
        self._read: dict[str, None] = dict.fromkeys(sorted(names))
        self._kinds: dict[int, tuple[type, ...]] = {}
        for kind in kinds:
            self._kind(kind)

    def found(self) -> Inside:
        functions: list[types.FunctionType] = []
        for current in self._queue:
            home = sys.modules.get(_home_name(current))
            if home is None or vars(home) is not current.__globals__ or is_closed(home):
                continue
            if is_library(name_of(home)):
                functions.append(current)
                self._look_into(current, home)
        few = len(self._seen) < _MOST_FUNCTIONS
        remembering = [each for each in functions if each.__closure__ or vars(each) or _may_remember(each)]
        return Inside(
            tuple(self._places.values()),
            tuple(self._states.values()) if few else (),
            tuple(self._binds.values()) if few else (),
            tuple(remembering) if few else (),
            few and any(_reads_environment(names_of(each.__code__)) for each in functions),
            tuple(functions),
            tuple((base, tuple(sorted(names.keys() - self._assigned))) for base, names in self._attributes.items()),
            tuple(self._counted.values()) if few else (),
            tuple((base, frozenset(names - self._assigned)) for base, names in self._above.items()),
            any(names_of(each.__code__).mutates for each in functions),
            len(sys.modules) if self._awaits else 0,
        )

    def _look_into(self, current: types.FunctionType, home: types.ModuleType) -> None:
        names = names_of(current.__code__)
        self._assigned |= names.assigns
        by_text: set[tuple[str, ...]] = set()
        if names.sees & Sees.ATTRIBUTES:  # as `globals()["SCALE"]` does
            by_text = {(name,) for name in names.attributes & vars(home).keys()}
        for chain in sorted(names.chains.keys() | by_text):
            if chain[0].startswith("import "):  # in the function itself
                if (imported := _imported(home, chain[0])) is None:
                    self._awaits = True
                    continue
                owner, name = _owner_of(imported, chain[1:]) if chain[1:] else (imported, "")
            else:
                owner, name = _owner_of(home, chain)
            if name.startswith("__") or name not in vars(owner):
                continue
            value = vars(owner)[name]
            inner = function_behind(value)
            if isinstance(value, type):
                if _is_open(home_of(value)):
                    self._places[id(owner), name] = owner, name
                    self._kind(value)
            elif inner is not None or is_plain(value):
                if inner is None or _is_open(_home_name(inner)):
                    self._places[id(owner), name] = owner, name
                self._function(inner)
            elif _may_be_data(value):
                if type(value) is not itertools.count or not is_jax_module(name_of(owner)):  # which numbers its traces
                    self._states[id(owner), name] = owner, name
                self._kind(type(value))
        for name in sorted(names.later_binds):
            self._binds[id(home), name] = home, name
        for *before, name in names.sets:
            kind = vars(home).get(before[0]) if len(before) == 1 else None
            if isinstance(kind, type) and _is_open(home_of(kind)):
                self._counted[id(kind), name] = kind, name
        for _, value in closure_of(current):
            self._function(function_behind(value))
        for name in sorted(names.attributes - self._read.keys()):
            self._read[name] = None
            for bases in self._kinds.values():
                self._attribute(bases, name)

    def _function(self, function: types.FunctionType | None) -> None:
        if function is not None and id(function) not in self._seen and len(self._seen) < _MOST_FUNCTIONS:
            self._seen.add(id(function))
            self._queue.append(function)

    def _kind(self, kind: type) -> None:
        """A class whose objects may be used: its special methods, and what is read of it."""
        bases = _open_bases(kind)
        if not bases or id(kind) in self._kinds:
            return
        self._kinds[id(kind)] = bases
        special = {
            name
            for base in bases
            for name, item in vars(base).items()
            if name.startswith("__") and name.endswith("__") and type(item) is types.FunctionType
        }
        for name in (*sorted(special - _FOR_CLASSES), *self._read):
            self._attribute(bases, name)

    def _attribute(self, bases: tuple[type, ...], name: str) -> None:
        """A name is looked up in the classes of an object."""
        index = next((index for index, base in enumerate(bases) if name in vars(base)), None)
        if index is None:
            return
        item = vars(bases[index])[name]
        inner = function_of(item)
        if type(inner) is types.FunctionType or (is_plain(item) and not name.startswith("__")):
            self._attributes.setdefault(bases[index], {})[name] = None
            for base in bases[:index]:
                self._above.setdefault(base, set()).add(name)
            self._function(function_behind(inner))


_FOR_CLASSES = frozenset(
    {"__init_subclass__", "__class_getitem__", "__repr__", "__str__", "__reduce__", "__getstate__"}
)
"""Special methods that computing with an object does not call."""


def _open_bases(kind: type) -> tuple[type, ...]:
    """A class and its bases, those of libraries of which more than plain values counts."""
    names = [(base, home_of(base)) for base in kind.__mro__]
    return tuple(base for base, name in names if _is_open(name))


def _imported(home: types.ModuleType, text: str) -> types.ModuleType | None:
    """The module that a function of `home` imports, relative to its package or not; None if it is not there yet."""
    name, package = text.removeprefix("import "), str(vars(home).get("__package__"))
    return sys.modules.get(f"{package}.{name}" if name else package) or sys.modules.get(name)


def _owner_of(home: types.ModuleType, chain: tuple[str, ...]) -> tuple[types.ModuleType, str]:
    """The module of a package of this kind in which a dotted name is looked up last, and the name there."""
    owner = home
    for position, name in enumerate(chain[:-1]):
        held = vars(owner).get(name)
        if type(held) is not types.ModuleType or not _is_open(name_of(held)):
            return owner, chain[position]
        owner = held
    return owner, chain[-1]


def _may_be_data(value: Any) -> bool:
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        return False
    return not callable(value) or issubclass(kind, functools.partial) or not is_library(home_of(kind))


def _is_open(name: str) -> bool:
    """Whether a module is of a library of which more than plain values counts."""
    return is_library(name) and not is_closed_package(name)


def _home_name(function: types.FunctionType) -> str:
    """The name of the module in which a function looks names up."""
    return str(function.__globals__.get("__name__", "__main__"))
