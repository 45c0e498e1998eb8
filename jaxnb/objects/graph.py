"""The object graph that a piece of a cell reaches, walked once a run.

`Scan` starts at the names that the code reads and follows containers, objects, functions (closures, defaults, globals)
and partials. It yields three things at once: the *leaves* that will be inputs of the program, the *parts* of its key
(everything else that could change what is traced), and the *nodes* (every object with an identity), in an order that
depends on the structure alone, so that leaf 3 of one run is leaf 3 of the next.

While tracing, `Slots` knows in addition where each leaf is held, so that a tracer can stand there instead.
"""

from __future__ import annotations

import array
import enum
import functools
import pathlib
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.cells.code import CodeNames, Sees, code_digest, names_of
from jaxnb.cells.growth import NO_GROWTH, Growth
from jaxnb.cells.reach import ATOMS, effect_of_builtin, first_effect, is_library, is_stateful, is_unchanging, state_of
from jaxnb.errors import LeakedTracer, Refused, RunByPython
from jaxnb.objects.holders import (
    BUFFER,
    CELL,
    CLASS,
    DICT,
    FUNCTION,
    GROWN_LIST,
    PARTIAL,
    SLOTS,
    Holder,
    holder_of,
    slot_descriptors,
)
from jaxnb.objects.paths import (
    ALIAS,
    ARRAY,
    ATTRIBUTES,
    CLASS_MARK,
    COMPLEX,
    CONTENT,
    FLOAT,
    FUN,
    GROWN,
    INT,
    JIT,
    NUMPY,
    OBJECT,
    OPEN,
    ROOT,
    Choices,
    Path,
    Same,
    is_below,
    render_path,
    root_name,
)
from jaxnb.objects.slots import IN_IMMUTABLE, Immutable, Method, Slot, Slots
from jaxnb.objects.static import (
    DESCRIPTORS,
    FILE_METHODS,
    NOT_CONTENT,
    NOT_VALUES,
    content_of,
    function_of,
    is_member,
    is_value,
    loaded_module,
    supported,
)

__all__ = ["CACHED_FUNCTION", "Reached", "Scan"]

CACHED_FUNCTION = type(functools.lru_cache(lambda: None))
INT32 = 2**31
FLOAT32_MAX = 3.4028234e38


class Reached(NamedTuple):
    """What a piece reaches in one run, as far as running it needs that: see `Scan`.

    `scalars` are what Python computes from the leaves before the program runs.
    """

    leaves: list[Any]
    nodes: list[Any]
    namespaces: list[dict[str, Any]]
    paths: list[Path]
    scalars: Sequence[Any] = ()


class Scan:
    """One walk over what the names reach. See the module's text.

    Args:
      namespace: the namespace of the cell.
      roots: the names to start from, in a fixed order.
      names: what the code itself refers to (for attributes of the user's modules).
      choices: which leaves are static by decision.
      hidden: names that the code binds before it reads them; what they held before does not matter.
      slots: to be filled while scanning for a trace.
      sees: what the code could tell apart besides values, as bits of `Sees`; that is then part of the key, and what
        a tracer could not stand for is static.
      growth: which lists the code only appends to; what they hold is no part of the key.

    Attributes:
      leaves: the inputs: arrays, NumPy values and Python scalars.
      paths: where each leaf is first held.
      also: where leaves are held again, filled while scanning for a trace.
      parts: the key.
      nodes: objects with an identity that results may refer to.
      namespaces: globals of other modules of the user whose names were read.
      sees: what the code, or a function of the user that it reaches, could tell apart besides values.
      dispatches_on_types: whether they call a function under `functools.singledispatch`.
      growth: which lists they only append to, filled while scanning for a trace.
      reads_grown: whether such a list was met at another place, too, where it may be read.
      grown_bases: where the places of such lists begin, as code writes them.
      methods: functions of classes, which may or may not be called, filled while scanning for a trace.
      attributes: names of attributes that they read.
      read: names of the cell's namespace that they read.
      stores: global names that they bind or delete.
      effects: what was reached that a replay would leave out, filled while scanning for a trace.
      read_by_functions: names of the cell's namespace that functions read.
      held_by_functions: whether a function, or something bound to one, holds or reads a leaf or a hidden name.
    """

    def __init__(
        self,
        namespace: dict[str, Any],
        roots: tuple[str, ...],
        names: tuple[CodeNames, ...],
        choices: Choices,
        hidden: frozenset[str] = frozenset(),
        slots: Slots | None = None,
        sees: int = Sees.ORDER | Sees.IDENTITY | Sees.ATTRIBUTES,
        growth: Growth = NO_GROWTH,
    ) -> None:
        self.namespace, self.choices, self.hidden, self.slots = namespace, choices, hidden, slots
        self.leaves: list[Any] = []
        self.paths: list[Path] = []
        self.parts: list[Any] = []
        self.nodes: list[Any] = []
        self.where: list[tuple[int, Path]] = []  # index of the first part of each value, and its path
        self.also: list[tuple[Path, int]] = []
        self._memo: dict[int, tuple[str, int]] = {}
        self._roots: set[tuple[int, str]] = set()
        self.namespaces: list[dict[str, Any]] = []
        self.sees = 0
        self.growth = NO_GROWTH
        self._growths: dict[int, Growth] = {}
        for item in names:
            self.sees |= item.sees
            self.growth |= item.growth
        self.reads_grown = False
        self.grown_bases: set[tuple[str, Any]] = set()
        self.methods: list[Method] = []
        self._grown: set[int] = set()
        self._only_grows = growth if growth.grown and not sees & (Sees.NAMES | Sees.ATTRIBUTES) else None
        self._trees: set[Path] = set()
        self.attributes = {name for item in names for name in item.attributes}
        self.read: set[str] = set()
        self.stores = {name for item in names for name in item.binds | item.later_binds | item.deletes}
        self.dispatches_on_types = False
        self.effects: list[tuple[Path, str]] = []
        self._sees = sees
        self._immutables = 0
        self._depth = 0
        self._inside: list[tuple[str, int]] = []  # children of the immutable node that is being visited
        self.read_by_functions: set[str] = set()
        self.held_by_functions = False
        try:
            self._names(roots, names, namespace)
        except RecursionError:
            raise Refused(
                "the values that this cell reads are nested too deeply to be staged.",
                why="every container on the way to an array is part of the program's key.",
                fix="keep arrays in flatter containers, or stack them into one array.",
            ) from None
        if not self.held_by_functions and self.read_by_functions:
            self.held_by_functions = any(root_name(path) in self.read_by_functions for path in self.paths)

    def leaves_below(self, text: str) -> list[int]:
        """Positions of the leaves at a path that a user wrote, or inside what stands there."""
        pairs = [*((path, index) for index, path in enumerate(self.paths)), *self.also]
        return sorted({index for path, index in pairs if is_below(render_path(path), text)})

    def reached(self) -> Reached:
        """What running the piece needs of this walk."""
        return Reached(self.leaves, self.nodes, self.namespaces, self.paths)

    # --- names ---

    def _names(self, roots: tuple[str, ...], all_names: tuple[CodeNames, ...], namespace: dict[str, Any]) -> None:
        home = namespace is self.namespace
        if not home and not any(namespace is other for other in self.namespaces):
            self.namespaces.append(namespace)
        for name in roots:
            if home and self._depth:
                self.read_by_functions.add(name)
                self.held_by_functions |= name in self.hidden
            if (home and name in self.hidden) or name not in namespace or name in NOT_VALUES:
                continue
            value = namespace[name]
            if isinstance(value, types.ModuleType):
                self._module(name, value, all_names, home, namespace)
                continue
            mark = (id(namespace), name)
            if mark in self._roots:
                continue
            self._roots.add(mark)
            if home:
                self.read.add(name)
            path: Path = (None, "name", name) if home else (namespace.get("__name__"), "global", name)
            self.parts.append((ROOT, name) if home else (ROOT, namespace.get("__name__"), name))
            self.visit(value, path, Slot(DICT, namespace, name))

    def _module(
        self,
        name: str,
        module: types.ModuleType,
        all_names: tuple[CodeNames, ...],
        home: bool,
        holder: dict[str, Any],
    ) -> None:
        mark = (id(holder), name)
        if mark not in self._roots:
            self._roots.add(mark)
            self.parts.append((ROOT, name, module))
        if not is_library(module.__name__):
            used = sorted(frozenset[str]().union(*(names.attributes for names in all_names)) & vars(module).keys())
            self._names(tuple(used), all_names, vars(module))

    # --- values ---

    def visit(self, value: Any, path: Path, slot: Slot | None) -> None:
        """Appends what `value` contributes. `slot` is where it is held, if it can be replaced there."""
        if self.slots is not None:
            self.where.append((len(self.parts), path))
        handler = _HANDLERS.get(type(value))
        if handler is not None:
            handler(self, value, path, slot)
        else:
            self._other(value, path, slot)

    def _atom(self, value: Any, path: Path, slot: Slot | None) -> None:
        self.parts.append((type(value), value))

    def _range(self, value: Any, path: Path, slot: Slot | None) -> None:
        bounds = (value.start, value.stop, value.step)
        self.parts.append((type(value), bounds, tuple(map(type, bounds))))

    def _leaf(self, value: Any, path: Path, slot: Slot | None, part: Any) -> None:
        self.parts.append(part)
        self.held_by_functions |= self._depth > 0
        if self.slots is not None:
            self.slots.leaves.append([])
            self._held("leaf", len(self.leaves), slot)
        self.leaves.append(value)
        self.paths.append(path)

    def _held(self, kind: str, index: int, slot: Slot | None) -> None:
        if slot is IN_IMMUTABLE:
            self._inside.append((kind, index))
        elif slot is not None and self.slots is not None:
            (self.slots.leaves[index] if kind == "leaf" else self.slots.built[index].slots).append(slot)

    def _alias(self, value: Any, slot: Slot | None) -> bool:
        known = self._memo.get(id(value))
        if known is None:
            return False
        self.parts.append((ALIAS, known))
        kind, index = known
        if kind == "leaf" and self.where:
            self.also.append((self.where[-1][1], index))
        if kind != "node":
            self.held_by_functions |= self._depth > 0
            if self.slots is not None:
                self._held(kind, index, slot)
        return True

    def _array(self, value: Any, path: Path, slot: Slot | None) -> None:
        if self._alias(value, slot):
            return
        if self.choices.static and path in self.choices.static:
            self._memo[id(value)] = ("node", len(self.nodes))
            self.nodes.append(value)
            self.parts.append((CONTENT, value.aval, content_of(np.asarray(value))))
            return
        if self._sees & Sees.IDENTITY:
            self._memo[id(value)] = ("leaf", len(self.leaves))
        part = (ARRAY, value.aval, value.sharding) if value.committed else (ARRAY, value.aval)
        self._leaf(value, path, slot, part)

    def _shape(self, value: Any, path: Path, slot: Slot | None) -> None:
        if not self._alias(value, slot):
            if self._sees & Sees.IDENTITY:
                self._memo[id(value)] = ("leaf", len(self.leaves))
            self._leaf(value, path, slot, (ARRAY, value))

    def _numpy(self, value: Any, path: Path, slot: Slot | None) -> None:
        if self._alias(value, slot):
            return
        if type(value) not in (np.ndarray, np.memmap) and isinstance(value, np.ndarray):
            self.nodes.append(value)
            self.parts.append(Same(value))
            self._effect(path, f"a {type(value).__name__} has operators of its own and stays as it is")
            return
        static = self._sees & Sees.CLASSES or (self.choices.static and path in self.choices.static)
        if supported(value.dtype) and not static:
            if self._sees & Sees.IDENTITY:
                self._memo[id(value)] = ("leaf", len(self.leaves))
            self._leaf(value, path, slot, (NUMPY, type(value), value.dtype, value.shape))
            return
        self._memo[id(value)] = ("node", len(self.nodes))
        self.nodes.append(value)
        if value.dtype == object:
            self.parts.append((OBJECT, Same(value) if type(value) is np.ndarray else value))
        else:
            self.parts.append((CONTENT, type(value), value.dtype, value.shape, content_of(value)))
            if value.flags.writeable:
                self._hold(value, BUFFER)

    def _float(self, value: float, path: Path, slot: Slot | None) -> None:
        beyond = not -FLOAT32_MAX <= value <= FLOAT32_MAX and value - value == 0
        if beyond or self._sees & Sees.TYPES or (self.choices.static and path in self.choices.static):
            self.parts.append((float, value.hex()))
        else:
            self._leaf(value, path, slot, FLOAT)

    def _complex(self, value: complex, path: Path, slot: Slot | None) -> None:
        if self.choices.static and path in self.choices.static:
            self.parts.append((complex, repr(value)))
        else:
            self._leaf(value, path, slot, COMPLEX)

    def _int(self, value: int, path: Path, slot: Slot | None) -> None:
        if self.choices.dynamic and path in self.choices.dynamic and 0 <= value < INT32:
            self._leaf(value, path, slot, INT)
        else:
            self.parts.append((int, value))

    def _buffer(self, value: Any, path: Path, slot: Slot | None) -> None:
        if not self._node(value, slot):
            self.parts.append((CONTENT, type(value), bytes(value)))
            self._hold(value, BUFFER)

    # --- containers ---

    def _node(self, value: Any, slot: Slot | None) -> bool:
        """Registers an object with an identity; whether it was met before."""
        if self._alias(value, slot):
            return True
        self._memo[id(value)] = ("node", len(self.nodes))
        self.nodes.append(value)
        return False

    def _hold(self, value: Any, holder: Holder) -> None:
        if self.slots is not None:
            self.slots.holders.append((value, holder))

    def _list(self, value: Any, path: Path, slot: Slot | None) -> None:
        kind = type(value)
        if kind is list and self._only_grows is not None and self._is_grown(path):
            if not self._node(value, slot):
                self.parts.append(GROWN)
                self._grown.add(id(value))
                self._hold(value, GROWN_LIST)
            return
        if self._node(value, slot):
            self.reads_grown |= id(value) in self._grown
            return
        self.parts.append((kind if kind is list else self._kind(kind), len(value)))
        holder = holder_of(value)
        assert holder is not None
        self._hold(value, holder)
        for index, child in enumerate(value):
            self.visit(child, (path, "item", index), Slot(holder, value, index))
        if kind is not list and kind is not deque and isinstance(state_of(value), dict):
            self._attributes(value, path)

    def _is_grown(self, path: Path) -> bool:
        """Whether the code only appends to the list at this path."""
        assert self._only_grows is not None
        subscripts: tuple[Any, ...] = ()
        while path[1] == "item":
            subscripts = (path[2], *subscripts)
            path = path[0]
        holder, kind, name = path
        if kind == "attr" and holder in self._trees:
            return False
        bases = [("name", name), ("attr", name)] if kind == "global" else [(kind, name)]
        grown = self._only_grows.only_grows(bases, subscripts)
        if grown:
            self.grown_bases.update(bases)
        return grown

    def _dict(self, value: Any, path: Path, slot: Slot | None) -> None:
        if self._node(value, slot):
            return
        kind = type(value)
        keys = tuple(OrderedDict.keys(value) if isinstance(value, OrderedDict) else dict.keys(value))
        if not self._sees & Sees.ORDER and kind is dict and all(type(key) is str for key in keys):
            keys = tuple(sorted(keys))
        self.parts.append((kind, keys) if kind is dict else (self._kind(kind), keys))
        if not all(type(key) is str for key in keys):
            for key in keys:
                self.parts.append(type(key))
                if type(key) not in ATOMS:
                    self.visit(key, (path, "member", key), None)
        if isinstance(value, defaultdict):
            self.visit(value.default_factory, (path, "attr", "default_factory"), None)
        holder = holder_of(value)
        assert holder is not None
        self._hold(value, holder)
        for key in keys:
            self.visit(dict.__getitem__(value, key), (path, "item", key), Slot(holder, value, key))
        if kind is not dict and isinstance(state_of(value), dict):
            self._attributes(value, path)

    def _set(self, value: Any, path: Path, slot: Slot | None) -> None:
        if self._node(value, slot):
            return
        self.parts.append((type(value), len(value)))
        if type(value) is set:
            holder = holder_of(value)
            assert holder is not None
            self._hold(value, holder)
        for child in value:
            if type(child) in (float, complex):
                self.parts.append((type(child), repr(child)))
            else:
                self.visit(child, (path, "member", None), None)

    def _tuple(self, value: Any, path: Path, slot: Slot | None) -> None:
        if not self._alias(value, slot):
            kind = type(value)
            self.parts.append((kind if kind is tuple else self._kind(kind), len(value)))
            if kind is not tuple and state_of(value) is not None:
                self._attributes(value, path)
            self._immutable(value, value, path, slot, None)

    def _immutable(self, value: Any, children: Any, path: Path, slot: Slot | None, treedef: Any) -> None:
        self.nodes.append(value)
        outer = self._inside
        inner: list[tuple[int, str, int]] = []
        for index, child in enumerate(children):
            self._inside = []
            self.visit(child, (path, "item", index), IN_IMMUTABLE)
            inner.extend((index, kind, place) for kind, place in self._inside)
        self._inside = outer
        place = self._immutables
        self._immutables += 1
        self._memo[id(value)] = ("built", place)
        if self.slots is not None:
            self.slots.built.append(Immutable(value, inner, [], treedef))
            self._held("built", place, slot)

    # --- functions and objects ---

    def _cell(self, value: types.CellType, path: Path) -> None:
        if self._node(value, None):
            return
        self._hold(value, CELL)
        try:
            content = value.cell_contents
        except ValueError:
            self.parts.append(OPEN)
            return
        self.visit(content, path, Slot(CELL, value, None))

    def _function(self, value: types.FunctionType, path: Path, slot: Slot | None) -> None:
        code, module = value.__code__, value.__globals__.get("__name__", "__main__")
        library = is_library(module)
        if library and is_member(loaded_module(module), value):
            self.parts.append(value)
            return
        if self._node(value, slot):
            self.growth |= self._growths.get(id(value), NO_GROWTH)
            return
        outer, self.growth = self.growth, NO_GROWTH
        self.parts.append((FUN, code_digest(code), value.__name__))
        self._hold(value.__dict__, DICT)
        if {"registry", "dispatch"} <= value.__dict__.keys():
            self._effect(path, "functools.singledispatch looks at the class of traced values")
            self.dispatches_on_types = True
        self._depth += 1
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            self._cell(cell, (path, "closure", name))
        if value.__defaults__:
            self._hold(value, FUNCTION)
            self.visit(value.__defaults__, (path, "defaults", None), Slot(FUNCTION, value, "__defaults__"))
        if value.__kwdefaults__:
            self.visit(value.__kwdefaults__, (path, "defaults", None), None)
        if value.__dict__:
            self.visit(value.__dict__, (path, "attributes", None), None)
        if not library:
            names = names_of(code)
            self.sees |= names.sees
            if self.slots is not None:
                self.growth |= names.growth
            self.attributes |= names.attributes
            self.stores |= names.later_binds | names.deletes
            if self.slots is not None and (effect := first_effect(names, value.__globals__)) is not None:
                self._effect(path, effect[1])
            self._names(names.order, (names,), value.__globals__)
        self._growths[id(value)] = self.growth
        self.growth |= outer
        self._depth -= 1

    def _effect(self, path: Path, text: str) -> None:
        """Remembers something that a replay would leave out."""
        if self.slots is not None:
            self.effects.append((path, text))

    def _method(self, value: types.MethodType, path: Path, slot: Slot | None) -> None:
        self.parts.append(types.MethodType)
        self._depth += 1
        self.visit(value.__func__, (path, "attr", "__func__"), None)
        self.visit(value.__self__, (path, "attr", "__self__"), None)
        self._depth -= 1

    def _partial(self, value: Any, path: Path, slot: Slot | None) -> None:
        if self._node(value, slot):
            return
        self.parts.append((type(value), tuple(value.keywords)))
        self._hold(value, PARTIAL)
        self._hold(value.__dict__, DICT)
        self._depth += 1
        self.visit(value.func, (path, "attr", "func"), None)
        self.visit(value.args, (path, "attr", "args"), Slot(PARTIAL, value, "args"))
        self.visit(value.keywords, (path, "attr", "keywords"), None)
        self._depth -= 1

    def _builtin_method(self, value: Any, path: Path, slot: Slot | None) -> None:
        owner = getattr(value, "__self__", None)
        if owner is None or isinstance(owner, types.ModuleType | type):
            self.parts.append(value)
            self.sees |= Sees.TYPES * (value in (isinstance, hasattr, getattr))
            if self.slots is not None and (effect := effect_of_builtin(value)) is not None:
                self._effect(path, effect)
            return
        self.parts.append((types.BuiltinMethodType, value.__name__))
        self.visit(owner, (path, "attr", "__self__"), None)

    def _kind(self, kind: type) -> Any:
        """A class as a part of the key: itself, or for a class of the user its name, its content being visited."""
        if is_library(kind.__module__):
            return kind
        self._class(kind, (None, "name", kind.__qualname__), None)
        return kind.__qualname__

    def _class(self, value: type, path: Path, slot: Slot | None) -> None:
        """A class of the user counts by content, so that running its definition again changes nothing."""
        if is_library(value.__module__):
            self.parts.append(value)
            return
        if self._node(value, slot):
            return
        self.parts.append((CLASS_MARK, value.__qualname__))
        self._class(type(value), (path, "attr", "__class__"), None)
        self._hold(value, CLASS)
        self._depth += 1
        for base in value.__bases__:
            self._class(base, (path, "attr", base.__name__), None)
        for name, item in list(vars(value).items()):
            if name in NOT_CONTENT or type(item).__name__ in DESCRIPTORS:
                continue
            self.parts.append(name)
            inner = function_of(item)
            outer, self.growth = self.growth, NO_GROWTH
            if isinstance(item, property):
                for part in (item.fset, item.fdel):
                    self.visit(part, (path, "attr", name), None)
            self.visit(inner, (path, "attr", name), Slot(CLASS, value, name) if inner is item else None)
            if isinstance(item, types.FunctionType):
                self.methods.append(Method(value, name, item, self.growth))
                self.growth = Growth(self.growth.grown)
            self.growth |= outer
        self._depth -= 1

    def _opaque(self, value: Any, path: Path, slot: Slot | None) -> None:
        if self._node(value, slot):
            return
        if isinstance(value, weakref.ref):
            self.parts.append(weakref.ref)
            self.visit(value(), (path, "attr", "()"), None)
            return
        if isinstance(value, types.MappingProxyType):
            self.parts.append(types.MappingProxyType)
            self.visit(dict(value), (path, "item", "…"), None)
            self._effect(path, "what a mappingproxy shows may change")
            return
        self.parts.append(Same(value))
        if not is_unchanging(value):
            self._effect(path, f"a {type(value).__name__} keeps a state that staging cannot follow")

    def _other(self, value: Any, path: Path, slot: Slot | None) -> None:
        kind = type(value)
        if _jax.is_reference(value):
            raise RunByPython(
                f"`{render_path(path)}` is a mutable array reference.",
                why="a program that is run again would have to write to the reference that is there then.",
                fix="put what reads and writes it into a function under jax.jit, and call that.",
            )
        if isinstance(value, jax.Array):
            (self._tracer if _jax.is_tracer(value) else self._array)(value, path, slot)
        elif kind is jax.ShapeDtypeStruct and self.choices.abstract:
            self._shape(value, path, slot)
        elif isinstance(value, bytearray | array.array):
            self._buffer(value, path, slot)
        elif isinstance(value, np.generic | np.ndarray):
            self._numpy(value, path, slot)
        elif isinstance(value, dict):
            self._dict(value, path, slot)
        elif isinstance(value, list | deque):
            self._list(value, path, slot)
        elif isinstance(value, tuple):
            self._tuple(value, path, slot)
        elif isinstance(value, set | frozenset):
            self._set(value, path, slot)
        elif isinstance(value, functools.partial):
            self._partial(value, path, slot)
        elif isinstance(value, type):
            self._class(value, path, slot)
        elif isinstance(value, CACHED_FUNCTION):
            self._cached(value, path, slot)
        elif (options := _jax.jit_options(value)) is not None:
            self._jitted(value, options, path, slot)
        elif isinstance(value, enum.Enum) and not is_library(kind.__module__):
            self.parts.append((self._kind(kind), value.name))
            if not self._node(value, slot):
                self.parts.append(OPEN)
        elif isinstance(value, float | int | complex | str | bytes) or is_value(value):
            self.parts.append((self._kind(kind), value))
            if isinstance(value, pathlib.Path):
                for name in FILE_METHODS & self.attributes:
                    self._effect((path, "attr", name), "the file system may change between runs")
            if state_of(value) and isinstance(value, float | int | complex | str | bytes):
                self._attributes(value, path)
        else:
            self._object(value, path, slot)

    def _module_value(self, value: types.ModuleType, path: Path, slot: Slot | None) -> None:
        """A module held as a value: itself, and of the user's own modules what the code may read of it."""
        self.parts.append(value)
        if not is_library(value.__name__):
            self._names(tuple(sorted(self.attributes & vars(value).keys())), (), vars(value))

    def _trace_state(self, value: Any, path: Path, slot: Slot | None) -> None:
        """What an object remembers of the trace that it was made under: while tracing it must be the present one."""
        self.parts.append(_jax.TraceState)
        if self.slots is not None and slot is not None and slot is not IN_IMMUTABLE:
            self.slots.trace_states.append(slot)

    def _tracer(self, value: Any, path: Path, slot: Slot | None) -> None:
        leaked = LeakedTracer(
            f"`{render_path(path)}` is a tracer that leaked out of an earlier transformation.",
            why="it stands for a value that existed only while a function was traced.",
            fix=f"run the cell that set `{render_path(path)}` again, returning the value from the function instead.",
        )
        leaked.tracer = value
        raise leaked

    def _cached(self, value: Any, path: Path, slot: Slot | None) -> None:
        """A function under `functools.lru_cache`: what it has cached is out of reach."""
        if not self._node(value, slot):
            self.parts.append(CACHED_FUNCTION)
            self._depth += 1
            self.visit(value.__wrapped__, (path, "attr", "__wrapped__"), None)
            self._depth -= 1

    def _jitted(self, value: Any, options: Any, path: Path, slot: Slot | None) -> None:
        wrapped = value.__wrapped__
        if isinstance(wrapped, types.FunctionType) and is_library(wrapped.__globals__.get("__name__", "__main__")):
            self.parts.append(value)
        elif not self._node(value, slot):
            self.parts.append((JIT, options))
            self._hold(value.__dict__, DICT)
            self._depth += 1
            self.visit(wrapped, (path, "attr", "__wrapped__"), None)
            self._depth -= 1

    def _object(self, value: Any, path: Path, slot: Slot | None) -> None:
        state = state_of(value)
        slotted = slot_descriptors(type(value))
        if is_stateful(value):
            self._effect(path, f"a {type(value).__name__} keeps a state that a replay would not move on")
        if isinstance(state, dict) and callable(value) and is_library(str(state.get("__module__", "_"))):
            self.parts.append(value)  # a library function wrapped by an object, such as jax.nn.relu
            return
        if not isinstance(state, dict) and not slotted:
            self._registered(value, path, slot)
            return
        if self._node(value, slot):
            return
        self.parts.append((OBJECT, self._kind(type(value))))
        if self.slots is not None or self._only_grows is not None:
            self._as_tree(value, path)
        self._attributes(value, path)

    def _as_tree(self, value: Any, path: Path) -> None:
        """An object that JAX takes apart: floats among its static data are compared by JAX, so they stay themselves."""
        flat = _jax.flatten_one_level(value)
        if flat is None:
            return
        self._trees.add(path)
        if self.slots is None:
            return
        children = {id(child) for child in flat[0]}
        for name, child in {**getattr(value, "__dict__", {}), **dict(SLOTS.save(value))}.items():
            if type(child) in (float, complex) and id(child) not in children:
                self.choices.static.add((path, "attr", name))
                self.choices.unsaid.add((path, "attr", name))

    def _attributes(self, value: Any, path: Path) -> None:
        state: dict[str, Any] | None = state_of(value)
        if self.slots is not None and not is_library(type(value).__module__):
            self.slots.shells.append((value, type(value), state))
        if isinstance(state, dict):
            names = tuple(state)
            if not self._sees & Sees.ATTRIBUTES and all(type(name) is str for name in names):
                names = tuple(sorted(names))
            if self.slots is not None:
                self.where.append((len(self.parts), path))
            self.parts.append((ATTRIBUTES, names))
            self._memo.setdefault(id(state), ("node", len(self.nodes)))
            self.nodes.append(state)
            self._hold(state, DICT)
            for name in names:
                self.visit(state[name], (path, "attr", name), Slot(DICT, state, name))
        slots = slot_descriptors(type(value))
        if slots:
            self._hold(value, SLOTS)
            for name, child in SLOTS.save(value):
                self.parts.append(name)
                self.visit(child, (path, "attr", name), Slot(SLOTS, value, name))

    def _registered(self, value: Any, path: Path, slot: Slot | None) -> None:
        """A pytree node whose state is out of reach, or something that holds nothing we can see."""
        flat = _jax.flatten_one_level(value)
        if flat is None:
            self._opaque(value, path, slot)
            return
        if not self._alias(value, slot):
            children, treedef = flat
            self.parts.append((type(value), treedef))
            self._immutable(value, children, path, slot, treedef)


_HANDLERS: Mapping[type, Callable[[Scan, Any, Path, Slot | None], None]] = {
    **dict.fromkeys(
        (type(None), bool, str, bytes, type(...), type(NotImplemented)),
        Scan._atom,  # pyright: ignore[reportPrivateUsage]
    ),
    range: Scan._range,  # pyright: ignore[reportPrivateUsage]
    slice: Scan._range,  # pyright: ignore[reportPrivateUsage]
    _jax.Array: Scan._array,  # pyright: ignore[reportPrivateUsage]
    np.ndarray: Scan._numpy,  # pyright: ignore[reportPrivateUsage]
    float: Scan._float,  # pyright: ignore[reportPrivateUsage]
    int: Scan._int,  # pyright: ignore[reportPrivateUsage]
    complex: Scan._complex,  # pyright: ignore[reportPrivateUsage]
    list: Scan._list,  # pyright: ignore[reportPrivateUsage]
    dict: Scan._dict,  # pyright: ignore[reportPrivateUsage]
    tuple: Scan._tuple,  # pyright: ignore[reportPrivateUsage]
    set: Scan._set,  # pyright: ignore[reportPrivateUsage]
    frozenset: Scan._set,  # pyright: ignore[reportPrivateUsage]
    deque: Scan._list,  # pyright: ignore[reportPrivateUsage]
    types.FunctionType: Scan._function,  # pyright: ignore[reportPrivateUsage]
    types.MethodType: Scan._method,  # pyright: ignore[reportPrivateUsage]
    types.BuiltinFunctionType: Scan._builtin_method,  # pyright: ignore[reportPrivateUsage]
    functools.partial: Scan._partial,  # pyright: ignore[reportPrivateUsage]
    types.ModuleType: Scan._module_value,  # pyright: ignore[reportPrivateUsage]
    _jax.TraceState: Scan._trace_state,  # pyright: ignore[reportPrivateUsage]
}
