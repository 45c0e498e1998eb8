"""Copies of what a piece reaches, so that it can be traced where no other thread looks.

The statements run in a copy of the namespace, which holds copies of the containers, objects and functions that a walk
reached: aliases are kept, classes are the same, and the functions of the user read the copies. A walk over the copies
meets everything in the same order as one over the originals, so that a recipe of the trace speaks of both.

What other threads share must not be copied: classes, what libraries hold in their modules, what is alive. A method of a
class of the user is replaced by one that runs the copy in this thread alone.
"""

from __future__ import annotations

import contextvars
import enum
import functools
import sys
import types
import weakref
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.errors import RunByPython
from jaxnb.runtime import Undo, function_of, is_library
from jaxnb.staging.cells.code import Sees, names_of
from jaxnb.staging.cells.referents import CACHED_FUNCTION, contents_of, slot_descriptors, state_of
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.mutables import BUFFERS, CELL, DICT, OBJECTS, SLOTS, mutable_of
from jaxnb.staging.objects.paths import Choices
from jaxnb.staging.objects.static import OF_WRAPPERS
from jaxnb.staging.objects.watchers import other_threads, others_look
from jaxnb.staging.trace.output_recipe import CONTAINER_NEWS
from jaxnb.staging.trace.piece import Plan
from jaxnb.staging.trace.reachable import has_plain_layout, reached_from

__all__ = ["Copies", "cannot_copy", "copies_for_others", "dispatching", "functions_of", "use"]


class Copies:
    """The copies of what one walk reached.

    Args:
      scan: the walk over the originals.

    Attributes:
      namespace: the copy of the namespace of the cell.
      homes: for each copy of a namespace, by id, the original.
      instead: the copies of functions, by the id of the original: what classes of the user hold is replaced there.
      originals: copies that a walk does not meet, as of modules, by id, with what they stand for.

    Raises:
      RunByPython: if something cannot be copied.
    """

    def __init__(self, scan: Scan) -> None:
        self._nodes = {id(node) for node in scan.nodes}
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._ours: set[int] = set()
        self._singletons: dict[str, set[int]] = {}
        self.homes: dict[int, dict[str, Any]] = {}
        self.originals: dict[int, Any] = {}
        self.instead: dict[int, Any] = {}
        self._globals: dict[int, dict[str, Any]] = {}
        self._rebound = {id(cell) for node in scan.nodes for cell in _cells_rebound(node)}
        self._modules: dict[int, types.ModuleType] = {}
        self.namespace: dict[str, Any] = {}
        self._globals[id(scan.namespace)] = self._made[id(scan.namespace)] = self.namespace
        for names in scan.namespaces:
            if id(names) in self._nodes:  # a dict of the user's in which code runs
                self._globals[id(names)] = self._made[id(names)] = {}
                continue
            module = types.ModuleType(str(names.get("__name__")))
            self._globals[id(names)] = vars(module)
            self._modules[id(names)] = module
        try:
            for names in (scan.namespace, *scan.namespaces):
                mine = self._globals[id(names)]
                self.homes[id(mine)] = names
                self._ours.add(id(mine))
                mine.clear()
                mine.update((name, self.of(item)) for name, item in list(names.items()))
            for node in scan.nodes:
                parts = _parts_of(node) if isinstance(node, type) else [node]
                for part in parts if isinstance(node, type | types.FunctionType) else ():
                    if (mine := self.of(part)) is not part:
                        self.instead[id(part)] = mine
        except RecursionError:
            raise cannot_copy("values that are nested too deeply") from None

    def is_of(self, copy: Any, value: Any) -> bool:
        """Whether this is the copy of something, or itself where there is none."""
        return self._made.get(id(value), value) is copy

    def is_held(self, value: Any) -> bool:
        """Whether an object that stays leads to copies, or to functions that read them: nobody would set them right."""
        return any(
            id(item) in self._ours or (isinstance(item, types.FunctionType) and id(item.__globals__) in self.homes)
            for item in reached_from(value)
        )

    def is_ours(self, owner: Any) -> bool:
        """Whether this is a copy, which nobody else sees."""
        return id(owner) in self._ours

    def of(self, value: Any) -> Any:
        """The copy of something, or itself where there is none."""
        key = id(value)
        if key in self._made:
            return self._made[key]
        kind = type(value)
        if kind in _SHARED:
            return value
        if kind is types.ModuleType:
            return self._module(value)
        if key not in self._nodes:
            return value
        made = self._copy(value, kind)
        if made is not value:
            self._ours.add(id(made))
        return made

    def _note(self, value: Any, made: Any) -> Any:
        self._made[id(value)] = made
        self._kept.append(value)
        return made

    def _copy(self, value: Any, kind: type) -> Any:
        if isinstance(value, type | enum.Enum) or self._is_shared(value, kind):
            return self._note(value, value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if kind is types.MethodType:
            return self._method(value)
        if kind is types.BuiltinFunctionType:
            return self._note(value, getattr(self.of(value.__self__), value.__name__))
        if isinstance(value, types.CellType):
            if self._leads_nowhere(value, set()):
                return self._note(value, value)
            cell = self._note(value, types.CellType())
            CELL.restore(cell, [(key, self.of(child)) for key, child in CELL.save(value)])
            return cell
        if isinstance(value, tuple):
            return self._tuple(value)
        if isinstance(value, frozenset):
            items = [self.of(item) for item in value]
            same = all(one is other for one, other in zip(items, value, strict=True))
            return self._note(value, value if same else kind(items))
        if isinstance(value, functools.partial):
            arguments = [self.of(item) for item in value.args]
            made = kind(self.of(value.func), *arguments, **{k: self.of(v) for k, v in value.keywords.items()})
            self._note(value, made)
            for mine, part in ((made.args, value.args), (made.keywords, value.keywords)):
                self._note(part, mine)
                self._ours.add(id(mine))
            if state_of(value) is not None:
                self._attributes(made, value)
            return made
        if (holder := mutable_of(value)) is not None:
            return self._container(value, kind, holder)
        if isinstance(value, CACHED_FUNCTION):
            raise cannot_copy("a function under functools.lru_cache")  # what it remembers is bound as itself
        if isinstance(value, weakref.ref):
            target = value()
            if self.of(target) is not target:
                raise cannot_copy("a weak reference")  # nothing else might hold the copy, and it may have a callback
            return self._note(value, value)
        if (arguments := _jax.jit_arguments(value)) is not None:
            made = self._note(value, jax.jit(self.of(value.__wrapped__), **arguments))
            self._attributes(made, value, OF_WRAPPERS)
            return made
        if _jax.jit_options(value) is not None:
            raise cannot_copy("a function jitted for a device, or by pjit")
        if isinstance(value, np.ndarray):
            return self._array(value, kind)
        if isinstance(value, BUFFERS):
            return self._note(value, value[:])
        state = state_of(value)
        if isinstance(state, dict) or slot_descriptors(kind):
            return self._object(value, kind, state)
        flat = _jax.flatten_one_level(value)
        if flat is not None:
            children = [self.of(child) for child in flat[0]]
            same = all(one is other for one, other in zip(children, flat[0], strict=True))
            return self._note(value, value if same else jax.tree_util.tree_unflatten(flat[1], children))
        return self._note(value, value)

    def _is_shared(self, value: Any, kind: type) -> bool:
        """Whether a library holds this very object in the module that it comes from, or in a class of that module.

        It may compare it by identity.
        """
        module = getattr(value, "__module__", None) if isinstance(value, types.FunctionType) else kind.__module__
        if not isinstance(module, str) or not is_library(module):
            return False
        known = self._singletons.get(module)
        if known is None:
            home = sys.modules.get(module)
            held = list(vars(home).values()) if home is not None else []
            methods = [item for own in held if isinstance(own, type) for item in list(vars(own).values())]
            known = self._singletons[module] = {id(item) for item in (*held, *methods)}
        return id(value) in known

    def _function(self, value: types.FunctionType) -> Any:
        home = self._globals.get(id(value.__globals__), value.__globals__)
        if self._leads_nowhere(value, set()):
            return self._note(value, value)
        cells = tuple(self.of(cell) for cell in value.__closure__ or ())
        if id(value) in self._made:  # one of the cells holds the function itself
            return self._made[id(value)]
        made = types.FunctionType(value.__code__, home, value.__name__, None, cells or None)
        self._note(value, made)
        functools.update_wrapper(made, value, updated=())
        made.__dict__.pop("__wrapped__", None)
        made.__defaults__ = self.of(value.__defaults__)
        made.__kwdefaults__ = self.of(value.__kwdefaults__)
        self._attributes(made, value)
        return made

    def _leads_nowhere(self, value: Any, seen: set[int]) -> bool:
        """Whether there can be no copy of anything that this holds, and no traced value in it."""
        if id(value) in seen or type(value) in _CONSTANT or isinstance(value, type):
            return True
        if isinstance(value, types.ModuleType):
            return id(vars(value)) not in self._modules
        seen.add(id(value))
        if isinstance(value, types.CellType):
            return id(value) not in self._rebound and all(self._leads_nowhere(v, seen) for v in contents_of(value))
        if not isinstance(value, types.FunctionType) or id(value.__globals__) in self._globals:
            return False
        given = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *value.__dict__.values())
        return all(self._leads_nowhere(item, seen) for item in (*(value.__closure__ or ()), *given))

    def _attributes(self, made: Any, value: Any, own: frozenset[str] = frozenset()) -> None:
        """Copies what is in the `__dict__`, but for what the copy has of its `own`."""
        mine = {key: child for key, child in made.__dict__.items() if key in own}
        found = [(key, mine[key] if key in mine else self.of(child)) for key, child in value.__dict__.items()]
        DICT.restore(made.__dict__, found)
        self._ours.add(id(made.__dict__))
        self._made.setdefault(id(value.__dict__), made.__dict__)

    def _tuple(self, value: tuple[Any, ...]) -> Any:
        items = [self.of(item) for item in value]
        state = state_of(value)
        if not state and all(one is other for one, other in zip(items, value, strict=True)):
            return self._note(value, value)
        made: Any = self._note(value, tuple.__new__(type(value), items))
        if isinstance(state, dict):
            self._attributes(made, value)
        return made

    def _container(self, value: Any, kind: type, holder: Any) -> Any:
        if kind.__new__ not in CONTAINER_NEWS:
            raise cannot_copy(f"a {kind.__name__}, which makes itself in a way of its own")
        new: Any = kind.__new__
        made: Any = new(kind)
        self._note(value, made)
        if isinstance(value, deque):
            deque.__init__(made, (), value.maxlen)
        if isinstance(value, defaultdict):
            defaultdict.__init__(made, self.of(value.default_factory))
        holder.restore(made, [(self.of(key), self.of(child)) for key, child in holder.save(value)])
        if isinstance(state_of(value), dict):
            self._attributes(made, value)
        for name, child in SLOTS.save(value):
            SLOTS.put(made, name, self.of(child))
        return made

    def _array(self, value: Any, kind: type) -> Any:
        if kind is not np.ndarray or not value.flags.writeable:
            return self._note(value, value)
        if value.base is not None:
            raise cannot_copy("a NumPy array that shares its memory")
        made = self._note(value, value.copy(order="K"))
        if value.dtype == object:
            OBJECTS.restore(made, [(place, self.of(child)) for place, child in OBJECTS.save(value)])
        return made

    def _object(self, value: Any, kind: type, state: Any) -> Any:
        if hasattr(kind, "__del__") or not has_plain_layout(kind):
            raise cannot_copy(f"a {kind.__name__}, which cannot be copied")
        made: Any = self._note(value, object.__new__(kind))
        if isinstance(state, dict):
            self._attributes(made, value)
        for name, child in SLOTS.save(value):
            SLOTS.put(made, name, self.of(child))
        return made

    def _module(self, value: types.ModuleType) -> types.ModuleType:
        made = self._modules.get(id(vars(value)), value)
        if made is not value:
            self.originals[id(made)] = value
        return made

    def _method(self, value: types.MethodType) -> Any:
        function, owner = self.of(value.__func__), self.of(value.__self__)
        same = owner is value.__self__ and function is value.__func__
        return self._note(value, value if same else types.MethodType(function, owner))


_CONSTANT = frozenset({type(None), bool, str, bytes, np.dtype, types.CodeType})
_SHARED = frozenset(
    {type(None), bool, int, float, complex, str, bytes, _jax.Array, _jax.KeyArray, np.dtype, types.CodeType}
)


def copies_for_others(plan: Plan, namespace: dict[str, Any], choices: Choices) -> Copies | None:
    """Copies of what the statements reach, where another thread of the user may look at that."""
    if not other_threads():
        return None
    scan = plan.scan(namespace, choices)
    if not others_look({id(item) for item in (namespace, *scan.namespaces, *scan.nodes)}):
        return None
    if scan.sees & Sees.NAMES:
        raise cannot_copy("all names at once")
    return Copies(scan)


def cannot_copy(what: str) -> RunByPython:
    """The error that gives a statement to Python because of `what` it reaches, while another thread is running."""
    return RunByPython(
        f"the cell reaches {what}.",
        why="another thread of yours is running, which must not see traced values, so that copies are traced.",
        fix="wait for the thread, or leave --whole out: then Python runs the statement.",
        short=f"another thread is running, and {what} cannot be copied",
    )


def functions_of(item: Any) -> Iterable[Any]:
    """What is called when an attribute of a class is used."""
    if isinstance(item, property):
        return [part for part in (item.fget, item.fset, item.fdel) if part is not None]
    inner = function_of(item)
    return [inner] if isinstance(inner, types.FunctionType) or _jax.jit_options(inner) is not None else []


def _parts_of(kind: type) -> list[Any]:
    """What is called when the attributes of a class are used."""
    return [part for item in list(vars(kind).values()) for part in functions_of(item)]


def _cells_rebound(value: Any) -> list[types.CellType]:
    """The variables around a function that it binds anew when it runs."""
    if not isinstance(value, types.FunctionType) or not value.__closure__:
        return []
    rebinds = names_of(value.__code__).rebinds
    names = value.__code__.co_freevars
    return [cell for name, cell in zip(names, value.__closure__, strict=True) if name in rebinds]


_here: contextvars.ContextVar[dict[int, Any] | None] = contextvars.ContextVar("copies of functions", default=None)


def use(instead: dict[int, Any], undo: Undo) -> None:
    """Until it is undone, `dispatching` attributes run these in this thread, by the id of what each stands for."""
    undo.add(_here.set, _here.get())
    _here.set(instead)


def dispatching(item: Any) -> Any:
    """An attribute of a class that runs the copy of a function where this thread has one, and else the function."""
    if isinstance(item, staticmethod | classmethod):
        return type(item)(dispatching(item.__func__))
    if isinstance(item, property):
        parts = [part and dispatching(part) for part in (item.fget, item.fset, item.fdel)]
        return property(parts[0], parts[1], parts[2], item.__doc__)
    if isinstance(item, functools.cached_property):
        made = functools.cached_property(dispatching(item.func))
        made.attrname = item.attrname  # type: ignore[attr-defined]
        return made
    key, here = id(item), _here

    @functools.wraps(item)
    def method(*args: Any, **kwargs: Any) -> Any:
        copies = here.get()
        return (item if copies is None else copies.get(key, item))(*args, **kwargs)

    return method
