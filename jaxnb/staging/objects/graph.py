"""The object graph that a piece of a cell reaches, walked once a run.

`Scan` starts at the names that the code reads and follows containers, objects, functions (closures, defaults, globals)
and partials. It yields three things at once: the *leaves* that will be inputs of the program, the *parts* of its key
(everything else that could change what is traced), and the *nodes* (every object with an identity), in an order that
depends on the structure alone, so that leaf 3 of one run is leaf 3 of the next.

While tracing, `Slots` knows in addition where each leaf is held, so that a tracer can stand there instead.
"""

from __future__ import annotations

import abc
import builtins
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxnb.errors import RunByPython
from jaxnb.runtime import is_library, name_of
from jaxnb.staging.cells.append_only import NO_USES, ListUses
from jaxnb.staging.cells.code import CodeNames, Sees
from jaxnb.staging.cells.deep import deep_walk
from jaxnb.staging.cells.reach import hides
from jaxnb.staging.cells.referents import state_of
from jaxnb.staging.objects import functions, inside, instances, modules
from jaxnb.staging.objects.kinds import HANDLERS, other
from jaxnb.staging.objects.mutables import DICT, Mutable
from jaxnb.staging.objects.paths import ALIAS, ROOT, Choices, Path, is_below, item_keys, root_name
from jaxnb.staging.objects.registered import follow_registered
from jaxnb.staging.objects.slots import IN_IMMUTABLE, Immutable, Method, Slot, Slots
from jaxnb.staging.objects.static import NOT_VALUES

__all__ = ["Reached", "Scan"]


_DEEPEST = 200
"""How deep values may be nested in one another; functions that read one another do not count."""


_UNORDERED = {
    *("jax", "jaxlib", "jaxnb", "ml_dtypes", "numpy"),
    *("abc", "builtins", "cmath", "contextlib", "dataclasses", "enum", "functools", "math", "numbers", "operator"),
    *("random", "time", "types", "typing"),
}
"""Packages that take dicts by their sorted keys, or take none; of some functions the name counts, such as `asdict`."""


class Reached(NamedTuple):
    """What a piece reaches in one run, as far as running it needs that: see `Scan`.

    `scalars` are what Python computes from the leaves before the program runs.
    """

    leaves: list[Any]
    nodes: list[Any]
    namespaces: list[dict[str, Any]]
    paths: list[Path]
    scalars: Sequence[Any] = ()


_BUILTINS = dict(vars(builtins))


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
      list_uses: which lists the code only appends to; what they hold is no part of the key.
      instead: what stands for functions of which there are copies, by their id.
      ran: fingerprints of the code that ran in a trace; what other functions of the user read is left out. None if
        every function that may run counts.

    Attributes:
      leaves: the inputs: arrays, NumPy values and Python scalars.
      paths: where each leaf is first held.
      also: where leaves are held again, filled while scanning for a trace.
      parts: the key.
      nodes: objects with an identity that results may refer to.
      modules: of libraries, those of which the code reads or assigns values, each with their names.
      kinds: classes of libraries, of objects and as values.
      namespaces: globals of other modules of the user whose names were read.
      sees: what the code, or a function of the user that it reaches, could tell apart besides values.
      dispatchers: functions under `functools.singledispatch` that they may call.
      list_uses: which lists they only append to, filled while scanning for a trace.
      reads_grown: whether such a list was met at another place, too, where it may be read.
      grown_bases: where the places of such lists begin, as code writes them.
      methods: functions of classes, which may or may not be called, filled while scanning for a trace.
      attributes: names of attributes that they read.
      uses: the same, each with the method of the user's that reads them if it is called, or None; filled while scanning
        for a trace, as are the next two.
      uses_of: what is behind each function, by id.
      constructs: whether a class is reached as a value, so that the code may make objects of it.
      read: names of the cell's namespace that they read.
      stores: global names that they bind or delete.
      effects: what was reached that a replay would leave out, filled while scanning for a trace.
      alive: those of them that are alive, filled while scanning for a trace.
      moving: those of them that a trace which is given up would move on.
      read_by_functions: names of the cell's namespace that functions read.
      strays: whether a function of which there is a copy is held where it is not replaced, and reads values.
      getters: whether an `attrgetter` or `methodcaller` was met, of which the code does not show what it reads.
      handed_on: the name of a module that the code has as a value; None if there is none.
      sets_attributes: whether the code assigns attributes of other objects than `self`.
      bare: functions of the user that have no attributes so far, and their paths.
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
        list_uses: ListUses = NO_USES,
        instead: Mapping[int, Any] | None = None,
        ran: frozenset[bytes] | None = None,
    ) -> None:
        self.ran = ran
        self.closed: set[int] = set()  # functions that did not run
        self.instead = instead or {}
        self.strays = False
        self.namespace, self.choices, self.hidden, self.slots = namespace, choices, hidden, slots
        self.leaves: list[Any] = []
        self.paths: list[Path] = []
        self.parts: list[Any] = []
        self.nodes: list[Any] = []
        self.where: list[tuple[int, Path]] = []  # index of the first part of each value, and its path
        self.also: list[tuple[Path, int]] = []
        self.memo: dict[int, tuple[str, int]] = {}
        self._roots: set[tuple[int, str]] = set()
        self.getters = False
        self.handed_on: str | None = None
        self._states_read: set[tuple[Any, str]] = set()
        self.namespaces: list[dict[str, Any]] = []
        self.modules: dict[int, tuple[types.ModuleType, set[str]]] = {}
        self.kinds: dict[int, type] = {}
        self.in_library = 0
        self.fixed: tuple[str, ...] = ()  # marks numbers that are never inputs
        self.sees = 0
        self.list_uses = NO_USES
        self.list_uses_of: dict[int, ListUses] = {}
        for item in names:
            self.sees |= item.sees
            self.list_uses |= item.list_uses
        self.reads_grown = False
        self.grown_bases: set[tuple[str, Any]] = set()
        self.methods: list[Method] = []
        self.grown: set[int] = set()
        self.only_grows = list_uses if list_uses.grown and not sees & (Sees.NAMES | Sees.ATTRIBUTES) else None
        self.trees: set[Path] = set()
        self.attributes = {name for item in names for name in item.attributes}
        self.uses: set[tuple[str | None, frozenset[str]]] = {(None, item.attributes) for item in names}
        self.uses_of: dict[int, set[tuple[str | None, frozenset[str]]]] = {}
        self.constructs = any("type" in item.reads or "__class__" in item.attributes for item in names)
        self.read: set[str] = set()
        self.stores = {name for item in names for name in item.binds | item.later_binds | item.deletes}
        self.dispatchers: list[types.FunctionType] = []
        self.effects: list[tuple[Path, str]] = []
        self.moving: set[tuple[Path, str]] = set()
        self.alive: list[tuple[Path, str]] = []
        self.tells_apart = sees
        self._immutables = 0
        self.depth = 0
        self.inside: list[tuple[str, int]] = []  # children of the immutable node that is being visited
        self.read_by_functions: set[str] = set()
        self.held_by_functions = False
        self.nesting = 0
        self.sets_attributes = any(map(functions.sets_attributes, names))
        self.bare: list[tuple[types.FunctionType, Path]] = []
        try:
            with deep_walk():
                self.follow(roots, names, namespace)
                for item in names:
                    modules.follow_imported(self, item)
                modules.hold_modules(self)
                for function, path in self.bare if self.sets_attributes else ():
                    self.bare_attributes(function, path)
        except RecursionError:
            raise RunByPython(
                "the values that this cell reads are nested too deeply to be staged.",
                short="what it reads is nested too deeply",
                why="every container on the way to an array is part of the program's key.",
                fix="keep arrays in flatter containers, or stack them into one array.",
            ) from None
        if not self.held_by_functions and self.read_by_functions:
            self.held_by_functions = any(root_name(path) in self.read_by_functions for path in self.paths)

    def leaves_below(self, text: str) -> list[int]:
        """Positions of the leaves at a path that a user wrote, or inside what stands there."""
        pairs = [*((path, index) for index, path in enumerate(self.paths)), *self.also]
        return sorted({index for path, index in pairs if is_below(path, text)})

    def reached(self) -> Reached:
        """What running the piece needs of this walk."""
        return Reached(self.leaves, self.nodes, self.namespaces, self.paths)

    # --- names ---

    def follow(self, roots: tuple[str, ...], all_names: tuple[CodeNames, ...], namespace: dict[str, Any]) -> None:
        """Visits what `roots` are in a namespace, for code that refers to `all_names`."""
        home = namespace is self.namespace
        if not home and not any(namespace is other for other in self.namespaces):
            self.namespaces.append(namespace)
        for name in roots:
            if home and self.depth:
                self.read_by_functions.add(name)
                self.held_by_functions |= name in self.hidden
            if (home and name in self.hidden) or name in NOT_VALUES:
                continue
            if name not in namespace:
                if name in vars(builtins):
                    self._builtin(name)
                continue
            value = namespace[name]
            if issubclass(type(value), types.ModuleType) and not hides(value):
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

    def _builtin(self, name: str) -> None:
        """A name that no namespace has: of the built-in ones those that the user has added or replaced."""
        value = vars(builtins)[name]
        if value is not _BUILTINS.get(name, _BUILTINS) and self.first_seen(vars(builtins), name):
            self.library_value(builtins, name, value)

    def _module(
        self,
        name: str,
        module: types.ModuleType,
        all_names: tuple[CodeNames, ...],
        home: bool,
        holder: dict[str, Any],
    ) -> None:
        if self.first_seen(holder, name):
            self.parts.append((ROOT, name, module))
        if any((name,) in names.chains for names in all_names):
            self.handed_on = name
        if not is_library(name_of(module)):
            modules.refuse_computed(name, module, all_names)
            self.follow(modules.used_of(name, module, all_names), all_names, vars(module))
        else:
            modules.follow_library(self, name, module, all_names)

    def own_module(self, name: str, names: CodeNames) -> None:
        """A module that a function imports; of the user's own what the function may read of it is visited."""
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType) and not is_library(name_of(module)) and not hides(module):
            self._module(name, module, (names,), False, sys.modules)

    def first_seen(self, held: object, name: str) -> bool:
        """Whether the name of a module, of a class or of something of a function is met for the first time."""
        mark = (id(held), name)
        seen = mark in self._roots
        self._roots.add(mark)
        return not seen

    def library_value(self, module: types.ModuleType, name: str, value: Any) -> None:
        """What a module of a library holds under a name."""
        modules.library_value(self, module, name, value)

    def missing_name(self, module: types.ModuleType, name: str) -> None:
        """A name that a module of a library does not hold, and may give all the same."""
        self.parts.append((ROOT, module.__name__, name, name in vars(module)))

    def library_held(self, text: str, looks: Sequence[Callable[[], Any]]) -> None:
        """What functions and classes of a library hold, as `looks` give it, to be compared by identity."""
        if self.slots is not None:
            self.where.append((len(self.parts), (None, "name", text)))
        self.parts.append((ROOT, text, inside.held_by([look() for look in looks])))

    def assigned_name(self, module: types.ModuleType, name: str) -> None:
        """A name of a library's module that the code assigns or deletes."""
        self.modules.setdefault(id(module), (module, set()))[1].add(name)

    def library_object(self, path: Path, value: Any) -> None:
        """A function, class or module that a module of a library holds: it counts as itself."""
        if self.slots is not None:
            self.where.append((len(self.parts), path))
        self.parts.append((ROOT, *path[::2], value))
        if issubclass(type(value), type):
            self.registered(value, path)

    def calls_library(self, module: str) -> None:
        """Something of a library, whose code is not looked at: it may tell in which order a dict has its keys."""
        if not self.sees & Sees.ORDER and module.partition(".")[0] not in _UNORDERED:
            self.sees |= Sees.ORDER

    def library_function(self, function: types.FunctionType, path: Path) -> None:
        """What a function of a library remembers: data in its closure, and attributes."""
        modules.library_function(self, function, path)

    def library_attribute(self, kind: type, name: str) -> None:
        """A plain attribute of a library's class that the library assigns."""
        modules.library_attribute(self, kind, name)

    def library_state(self, text: str, read: Callable[[], Any]) -> None:
        """A state that is behind a function of a library, which is asked."""
        if (ROOT, text) not in self._states_read:
            self._states_read.add((ROOT, text))
            if self.slots is not None:
                self.where.append((len(self.parts), (None, "name", text)))
            self.parts.append((ROOT, text, read()))

    # --- what the handlers of `kinds` report ---

    def visit(self, value: Any, path: Path, slot: Slot | None) -> None:
        """Appends what `value` contributes. `slot` is where it is held, if it can be replaced there."""
        if self.slots is not None:
            self.where.append((len(self.parts), path))
        if self.nesting > _DEEPEST:
            raise RecursionError
        self.nesting += 1
        HANDLERS.get(type(value), other)(self, value, path, slot)
        self.nesting -= 1

    # what is walked without being visited

    def cell(self, value: types.CellType, path: Path) -> None:
        """What a closure holds under one name."""
        functions.cell(self, value, path)

    def class_(self, value: type, path: Path, slot: Slot | None) -> None:
        """A class: the value itself, that of an object, or a base of one."""
        functions.class_(self, value, path, slot)

    def registered(self, value: type, path: Path) -> None:
        """What is registered with a class, if it is an abstract one."""
        if issubclass(type(value), abc.ABCMeta):
            follow_registered(self, value, path)

    def bare_attributes(self, function: types.FunctionType, path: Path) -> None:
        """The attributes of a function that has none so far, and may have some when the code has run."""
        attributes = vars(function)
        if id(attributes) not in self.memo:
            self.memo[id(attributes)] = ("node", len(self.nodes))
            self.nodes.append(attributes)
            if self.slots is not None:
                self.slots.held_at[id(attributes)] = (path, "attributes", None)

    def partial_state(self, value: Any, path: Path) -> None:
        """What is set on a partial, whose state is there, but empty, as soon as anybody has asked for it."""
        state = state_of(value)
        if state:
            self.state(value, path)
        elif state is not None:
            self.hold(state, DICT)

    def state(self, value: Any, path: Path, known: frozenset[str] = frozenset()) -> None:
        """The state of an object; attributes that are `known` follow from what the key has of it otherwise."""
        instances.state(self, value, path, known)

    def leaf(self, value: Any, path: Path, slot: Slot | None, part: Any) -> None:
        """An input, and what the key has of it."""
        self.parts.append(part)
        self.held_by_functions |= self.depth > 0
        if self.slots is not None:
            self.slots.leaves.append([])
            self.held("leaf", len(self.leaves), slot)
        self.leaves.append(value)
        self.paths.append(path)

    def held(self, kind: str, index: int, slot: Slot | None) -> None:
        """A leaf, or an immutable container of some (`kind` is "built"), is held here."""
        if slot is IN_IMMUTABLE:
            self.inside.append((kind, index))
        elif self.slots is not None and slot is not None:
            (self.slots.leaves[index] if kind == "leaf" else self.slots.built[index].slots).append(slot)
        elif self.slots is not None and kind == "leaf":
            self.slots.fixed.add(index)

    def alias(self, value: Any, slot: Slot | None) -> bool:
        """Whether a value was met before; then that is what the key has of it."""
        known = self.memo.get(id(value))
        if known is None:
            return False
        self.parts.append((ALIAS, known))
        kind, index = known
        if kind == "leaf" and self.where:
            self.also.append((self.where[-1][1], index))
        if kind != "node":
            self.held_by_functions |= self.depth > 0
            if self.slots is not None:
                self.held(kind, index, slot)
        return True

    def node(self, value: Any, slot: Slot | None) -> bool:
        """Registers an object with an identity; whether it was met before."""
        if self.alias(value, slot):
            return True
        self.memo[id(value)] = ("node", len(self.nodes))
        self.nodes.append(value)
        if self.slots is not None and self.where:
            self.slots.held_at[id(value)] = self.where[-1][1]
        return False

    def hold(self, value: Any, holder: Mutable) -> None:
        """Something whose content the code may change in place."""
        if self.slots is not None:
            self.slots.holders.append((value, holder))
            self.slots.held_at.setdefault(id(value), self.where[-1][1] if self.where else (None, "name", ""))

    def immutable(self, value: Any, children: Any, path: Path, slot: Slot | None, treedef: Any) -> None:
        """A container that must be built anew to hold a tracer: a tuple, or a pytree node with its `treedef`."""
        self.nodes.append(value)
        children = [*children]
        outer = self.inside
        inner: list[tuple[int, str, int]] = []
        for index, child in zip(item_keys(value, len(children)), children, strict=True):
            self.inside = []
            self.visit(child, (path, "item", index), IN_IMMUTABLE)
            inner.extend((index, kind, place) for kind, place in self.inside)
        self.inside = outer
        place = self._immutables
        self._immutables += 1
        self.memo[id(value)] = ("built", place)
        if self.slots is not None:
            self.slots.built.append(Immutable(value, inner, [], treedef))
            self.held("built", place, slot)

    def living(self, path: Path, text: str) -> None:
        """Remembers something that is alive: calls on it are Python's."""
        if self.slots is not None:
            self.effects.append((path, text))
            self.alive.append((path, text))
            self.moving.add((path, text))

    def effect(self, path: Path, text: str, moves: bool = False) -> None:
        """Remembers something that a replay would leave out; `moves` if a trace that is given up would move it on."""
        if self.slots is not None:
            self.effects.append((path, text))
            if moves:
                self.moving.add((path, text))
