"""The walk of a scan, written out as straight code: whether a program still serves, in a fraction of the time.

A scan builds a key from everything that a piece reaches and compares it as a whole. Once a program has been reused, the
same walk is compiled into one function of the namespace that looks at each value where it was found and leaves at the
first difference. What it accepts, the scan would have accepted; what it does not accept, or cannot be written in this
way, is left to the scan.
"""

from __future__ import annotations

import abc
import contextvars
import copyreg
import enum
import functools
import logging
import operator
import sys
import types
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.runtime import identity, is_library, is_library_class, name_of
from jaxnb.staging.cells.code import CodeNames, Sees, code_digest
from jaxnb.staging.cells.reach import ATOMS, hides
from jaxnb.staging.cells.referents import CACHED_FUNCTION, contents_of, slot_descriptors, state_of
from jaxnb.staging.objects.alive import is_alive
from jaxnb.staging.objects.containers import is_grown
from jaxnb.staging.objects.graph import Reached, Scan
from jaxnb.staging.objects.inside import exactly
from jaxnb.staging.objects.instances import tells_attributes
from jaxnb.staging.objects.leaves import FLOAT32_MAX, INT32, tells_number
from jaxnb.staging.objects.modules import class_path, used_of
from jaxnb.staging.objects.mutables import BUFFERS, SLOTS
from jaxnb.staging.objects.paths import Choices, Field, Path, Same
from jaxnb.staging.objects.registered import registered_with
from jaxnb.staging.objects.static import (
    NOT_VALUES,
    TOLD_BY_TEXT,
    content_of,
    has_docstring,
    is_library_callable,
    is_library_jit,
    is_member,
    is_value,
    loaded_module,
    log_level,
    supported,
)
from jaxnb.staging.trace.piece import Plan

__all__ = ["Guard", "make_guard"]


Guard = Callable[[dict[str, Any]], Reached | None]


def make_guard(plan: Plan, namespace: dict[str, Any], choices: Choices) -> Guard | None:
    """The walk over what `plan` reaches in this namespace, as a function; None if it cannot be written so.

    The function gives what the piece reaches in a namespace, or None where the key of a scan might be another one.
    """
    try:
        writer = _Writer(plan, namespace, choices)
        check = writer.function()
    except _Unsupported:
        return None
    paths = writer.paths

    def guard(namespace: dict[str, Any]) -> Reached | None:
        found = check(namespace)
        return Reached(*found, paths) if found is not None else None

    here = guard(namespace)
    if here is None or not _same_objects(here.leaves, writer.leaves) or not _same_objects(here.nodes, writer.nodes):
        return None
    return guard


def _same_objects(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


_TOOLS = {
    "dict_item": dict.__getitem__,
    "equal": operator.eq,
    "call": operator.call,
    "identity": identity,
    "token": abc.get_cache_token,
    "registered_with": registered_with,
    "pytrees": _jax.PYTREES,
    "copied_by": copyreg.dispatch_table,
}
_NUMBERS_AND_TEXT = (int, float, complex, str, bytes)


class _Unsupported(Exception):
    """A value that the written walk does not know."""


class _Place(NamedTuple):
    variable: str
    value: Any


class _Writer(Scan):
    """A scan that writes down what it looks at."""

    def __init__(self, plan: Plan, namespace: dict[str, Any], choices: Choices) -> None:
        self._lines: list[str] = []
        self._constants: dict[str, Any] = {}
        self._known: dict[int, str] = {}  # the constant that holds an object
        self._count = 0
        self._at: dict[Path, _Place] = {}
        self._variables: dict[int, str] = {}
        self._homes: dict[int, str] = {id(namespace): "ns"}
        self._home = "ns"
        self._now = ""
        self._leaf_variables: list[str] = []
        self._shared_leaves: list[str] = []
        self._keep: list[Any] = []
        self._states: dict[str, str] = {}
        self._looks: list[Callable[[], Any]] = []
        self._cells: dict[Path, str] = {}
        self._parts_seen: set[tuple[int, str]] = set()
        self._abstract: dict[str, str] = {}  # classes with which others can be registered
        super().__init__(
            namespace, plan.roots, plan.names, choices, plan.hidden, None, plan.sees, plan.list_uses, None, plan.ran
        )

    # --- writing ---

    def _constant(self, value: Any) -> str:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = f"c{len(self._constants)}"
            self._constants[known] = value
            self._keep.append(value)
        return known

    def _weak(self, value: Any) -> str:
        """A constant whose call gives an object that is not kept alive."""
        known = self._known.get(-id(value))
        if known is None:
            known = self._known[-id(value)] = f"w{len(self._constants)}"
            self._constants[known] = weakref.ref(value)
        return known

    def _bind(self, expression: str) -> str:
        name = f"v{self._count}"
        self._count += 1
        self._lines.append(f"{name} = {expression}")
        return name

    def _unless(self, condition: str) -> None:
        """The walk ends where the condition does not hold."""
        self._lines.append(f"if not ({condition}): return None")

    def function(self) -> Callable[[dict[str, Any]], tuple[list[Any], list[Any], list[Any]] | None]:
        """The walk as a function of the namespace."""
        for module, _ in self.modules.values():
            self._home_of(module)
        nodes = ", ".join(self._variable_of(node) for node in self.nodes)
        body = [*self._lines, f"nodes = [{nodes}]"]
        if len(self.nodes) > 1:
            body.append(f"if len(set(map(identity, nodes))) != {len(self.nodes)}: return None")
        if len(self._shared_leaves) > 1:
            shared = ", ".join(self._shared_leaves)
            body.append(f"if len(set(map(identity, [{shared}]))) != {len(self._shared_leaves)}: return None")
        if self._looks:  # there are hundreds: one loop that is not Python's asks all of them
            expected = self._constant([exactly(look()) for look in self._looks])
            body.append(f"if not all(map(equal, {expected}, map(call, {self._constant(self._looks)}))): return None")
        if self._abstract:
            seen = self._constant([abc.get_cache_token()])  # while it is that, nothing was registered with any class
            same = [f"registered_with({kind}) == {known}" for kind, known in self._abstract.items()]
            body.append(f"if token() != {seen}[0]:")
            body.append(f"    if not ({' and '.join(same)}): return None")
            body.append(f"    {seen}[0] = token()")
        homes = ", ".join(self._homes[id(other)] for other in self.namespaces)
        body.append(f"return [{', '.join(self._leaf_variables)}], nodes, [{homes}]")
        lines = "\n".join(f"        {line}" for line in body)
        text = f"def check(ns):\n    try:\n{lines}\n    except ERRORS:\n        return None\n"
        errors = Exception  # objects of the user may raise anything when they are asked
        scope: dict[str, Any] = {**self._constants, "ERRORS": errors, **_TOOLS}
        exec(compile(text, "<jaxnb guard>", "exec"), scope)
        return scope["check"]

    def _variable_of(self, node: Any) -> str:
        try:
            return self._variables[id(node)]
        except KeyError:
            raise _Unsupported from None

    # --- names ---

    def follow(self, roots: tuple[str, ...], all_names: tuple[CodeNames, ...], namespace: dict[str, Any]) -> None:
        outer, self._home = self._home, self._homes[id(namespace)]
        for name in roots:
            hidden = namespace is self.namespace and name in self.hidden
            if name not in namespace and not hidden and name not in NOT_VALUES:
                self._unless(f"{name!r} not in {self._home}")
        super().follow(roots, all_names, namespace)
        self._home = outer

    def _module(self, name: str, module: types.ModuleType, all_names: Any, home: bool, holder: dict[str, Any]) -> None:
        variable = self._bind(f"{self._home}[{name!r}]")
        self._unless(f"{variable} is {self._constant(module)}")
        if not is_library(name_of(module)):
            state = self._homes.setdefault(id(vars(module)), f"v{self._count}")
            if state == f"v{self._count}":
                self._bind(f"{variable}.__dict__")
            read = frozenset[str]().union(*(names.attributes for names in all_names))
            used = frozenset(used_of(name, module, all_names))
            if used <= read:
                self._unless(f"{state}.keys() & {self._constant(read)} == {self._constant(used)}")
            else:
                self._unless(f"{state}.keys() == {self._constant(set(vars(module)))}")
        super()._module(name, module, all_names, home, holder)

    def own_module(self, name: str, names: CodeNames) -> None:
        outer = self._home
        known = self._homes.get(id(sys.modules))
        self._home = known or self._homes.setdefault(id(sys.modules), self._bind(self._constant(sys.modules)))
        if name not in sys.modules:
            self._unless(f"{name!r} not in {self._home}")
        super().own_module(name, names)
        self._home = outer

    def library_value(self, module: types.ModuleType, name: str, value: Any) -> None:
        outer, self._home = self._home, self._home_of(module)
        super().library_value(module, name, value)
        self._home = outer

    def assigned_name(self, module: types.ModuleType, name: str) -> None:
        self._unless(f"({name!r} in {self._home_of(module)}) is {name in vars(module)}")
        super().assigned_name(module, name)

    def library_object(self, path: Path, value: Any) -> None:
        self._unless(f"{self._home}[{path[2]!r}] is {self._constant(value)}")
        super().library_object(path, value)

    def library_state(self, text: str, read: Callable[[], Any]) -> None:
        self._unless(f"{self._constant(read)}() == {self._constant(read())}")
        super().library_state(text, read)

    def missing_name(self, module: types.ModuleType, name: str) -> None:
        self._unless(f"({name!r} in {self._home_of(module)}) is {name in vars(module)}")
        super().missing_name(module, name)

    def library_function(self, function: types.FunctionType, path: Path) -> None:
        self._variables[id(function)] = self._constant(function)
        self._at[path] = _Place(self._constant(function), function)
        super().library_function(function, path)

    def library_attribute(self, kind: type, name: str) -> None:
        variable = self._variables[id(kind)] = self._constant(kind)
        self._at[class_path(kind)] = _Place(variable, kind)
        self._states[variable] = self._bind(f"{variable}.__dict__")
        super().library_attribute(kind, name)

    def library_held(self, text: str, looks: Sequence[Callable[[], Any]]) -> None:
        self._looks += looks
        super().library_held(text, looks)

    def _home_of(self, module: types.ModuleType) -> str:
        """The variable that holds the names of a library's module."""
        home = self._homes.get(id(vars(module)))
        if home is None:
            home = self._bind(f"{self._constant(module)}.__dict__")
            self._homes[id(vars(module))] = self._variables[id(vars(module))] = home
        return home

    # --- values ---

    def visit(self, value: Any, path: Path, slot: Any) -> None:
        variable = self._bind(self._access(value, path))
        known = self.memo.get(id(value))
        if known is not None:
            kind, index = known
            first = self._leaf_variables[index] if kind == "leaf" else self._variable_of(value)
            self._unless(f"{variable} is {first}")
        else:
            self._variables[id(value)] = variable
            self._at[path] = _Place(variable, value)
            self._keep.append(value)
            self._now = variable
            self._check(variable, value, path)
            self._now = variable
        super().visit(value, path, slot)

    def _access(self, value: Any, path: Path) -> str:
        outer, kind, key = path
        if kind == "member" and type(value) is str:
            return repr(value)  # of a set, which was compared as a whole
        if kind in ("name", "global"):
            return f"{self._home}[{key!r}]"
        if kind == "closure":
            return f"{self._cells[path]}.cell_contents"
        place = self._at.get(outer)
        if place is None:
            raise _Unsupported
        holder, owner = place
        if kind == "item":
            if type(owner) is np.ndarray:
                return f"{holder}[{key!r}]"
            if type(key) not in (str, int, bool, type(None), Field):
                raise _Unsupported
            if isinstance(owner, dict) and type(owner) is not dict:
                return f"dict_item({holder}, {key!r})"
            if type(owner) in (dict, list) or (
                isinstance(owner, tuple) and type(owner).__getitem__ is tuple.__getitem__
            ):
                return f"{holder}[{key!r}]"
            raise _Unsupported
        if kind == "defaults":
            return f"{holder}.__defaults__" if value is owner.__defaults__ else f"{holder}.__kwdefaults__"
        if kind == "argument":
            return f"{holder}.__args__[{key}]"
        if kind == "attributes":
            return f"{holder}.__dict__"
        if kind == "attr":
            return self._attribute(value, holder, owner, str(key))
        raise _Unsupported

    def _attribute(self, value: Any, holder: str, owner: Any, key: str) -> str:
        if key == "__annotations__" and isinstance(owner, types.FunctionType | type):
            return f"{holder}.__annotations__"
        if key == "copyreg" and isinstance(owner, type):
            return f"copied_by[{holder}]"
        if isinstance(owner, type):
            item = vars(owner)[key]
            entry = f"{self._states[holder]}[{key!r}]"
            if value is item:
                return entry
            if isinstance(item, property):
                parts = [part for part in ("fset", "fdel", "fget") if getattr(item, part) is value]
                part = next(part for part in parts if (id(item), part) not in self._parts_seen)
                self._parts_seen.add((id(item), part))
                return f"{entry}.{part}"
            return f"{entry}.{'func' if isinstance(item, functools.cached_property) else '__func__'}"
        if isinstance(owner, types.MethodType | types.BuiltinFunctionType | types.GenericAlias | defaultdict):
            return f"{holder}.{key}"
        if isinstance(owner, functools.partial) and key in ("func", "args", "keywords"):
            return f"{holder}.{key}"
        if key == "__wrapped__" and _jax.jit_options(owner) is not None:
            return f"{holder}.__wrapped__"
        if isinstance(owner, weakref.ref):
            return f"{holder}()"
        if type(owner) is contextvars.ContextVar:
            return f"{holder}.get()"
        state = state_of(owner)
        if isinstance(state, dict) and key in state and state[key] is value:
            return f"{self._states[holder]}[{key!r}]"
        descriptor = dict(slot_descriptors(type(owner))).get(key)
        if descriptor is not None and getattr(type(owner), key, None) is descriptor:
            if type(owner).__getattribute__ is object.__getattribute__:
                return f"{holder}.{key}"
            return f"{self._constant(descriptor)}.__get__({holder})"
        raise _Unsupported

    def leaf(self, value: Any, path: Path, slot: Any, part: Any) -> None:
        self._leaf_variables.append(self._now)
        if id(value) in self.memo:
            self._shared_leaves.append(self._now)
        super().leaf(value, path, slot, part)

    # --- what is looked at, by kind ---

    def _check(self, v: str, value: Any, path: Path) -> None:
        kind = type(value)
        static = self.choices.is_static(path, issubclass(kind, float | complex | np.generic))
        if issubclass(kind, types.GenericAlias | types.UnionType):
            self._unless(f"type({v}) is {self._constant(kind)} and len({v}.__args__) == {len(value.__args__)}")
            return
        if hides(value):
            raise _Unsupported
        if value is None or kind in (bool, type(...), type(NotImplemented)):
            self._unless(f"{v} is {self._constant(value)}")
        elif kind in (str, bytes):
            self._equal(v, value, kind)
        elif kind is int:
            dynamic = path in self.choices.dynamic and 0 <= value < INT32 and not tells_number(self, path)
            if dynamic:
                self._unless(f"type({v}) is int and 0 <= {v} < {INT32}")
            else:
                self._equal(v, value, kind)
        elif kind is float:
            traced = not self.in_library and (-FLOAT32_MAX <= value <= FLOAT32_MAX or value - value != 0)
            if traced and not (tells_number(self, path) or static):
                self._unless(f"type({v}) is float and (-{FLOAT32_MAX} <= {v} <= {FLOAT32_MAX} or {v} - {v} != 0)")
            else:
                self._unless(f"{v} is {self._constant(value)} or (type({v}) is float and {v}.hex() == {value.hex()!r})")
        elif kind is complex:
            fixed = static or self.in_library
            self._unless(f"type({v}) is complex" + (f" and repr({v}) == {repr(value)!r}" if fixed else ""))
        elif kind is range:
            bounds = (value.start, value.stop, value.step)
            self._unless(f"type({v}) is range and ({v}.start, {v}.stop, {v}.step) == {bounds}")
        elif isinstance(value, jax.Array):
            self._check_array(v, value, static)
        elif isinstance(value, np.ndarray | np.generic):
            self._check_numpy(v, value, static)
        elif kind is list:
            grown = self.only_grows is not None and is_grown(self, path)
            self._unless(f"type({v}) is list" + ("" if grown else f" and len({v}) == {len(value)}"))
        elif isinstance(value, dict):
            self._check_dict(v, value)
        elif kind in (set, frozenset):
            if not all(type(item) is str for item in value):
                raise _Unsupported
            self._unless(f"type({v}) is {kind.__name__} and [*{v}] == {list(value)!r}")
        elif isinstance(value, tuple):
            self._check_kind(v, value)
            self._unless(f"len({v}) == {len(value)}")
        elif kind is types.FunctionType:
            self._check_function(v, value)
        elif kind is types.MethodType:
            self._unless(f"type({v}) is {self._constant(types.MethodType)}")
        elif kind is functools.partial:
            self._unless(f"type({v}) is {self._constant(kind)}")
            self._unless(f"tuple({v}.keywords) == {tuple(value.keywords)!r}")
        elif kind is types.BuiltinFunctionType:
            owner = getattr(value, "__self__", None)
            if owner is not None and not isinstance(owner, types.ModuleType | type):
                self._unless(f"type({v}) is {self._constant(kind)} and {v}.__name__ == {value.__name__!r}")
            else:
                self._unless(f"{v} is {self._constant(value)} or {v} == {self._constant(value)}")
        elif kind is types.ModuleType:
            self._check_module(v, value)
        elif kind is _jax.TraceState:
            self._unless(f"type({v}) is {self._constant(kind)}")
        elif isinstance(value, type):
            if is_library_class(value):
                self._unless(f"{v} is {self._constant(value)}")
        else:
            self._check_other(v, value)

    def _check_module(self, v: str, value: types.ModuleType) -> None:
        """A module that something holds; of the user's own what is read was found by the names of attributes."""
        self._unless(f"{v} is {self._constant(value)}")
        if not is_library(name_of(value)):
            raise _Unsupported

    def _equal(self, v: str, value: Any, kind: type) -> None:
        self._unless(f"{v} is {self._constant(value)} or (type({v}) is {kind.__name__} and {v} == {value!r})")

    def _check_kind(self, v: str, value: Any) -> None:
        kind = type(value)
        if is_library_class(kind):
            self._unless(f"type({v}) is {self._constant(kind)}")
        else:
            self._unless(f"type({v}) is {self._weak(kind)}()")

    def _check_array(self, v: str, value: jax.Array, static: bool) -> None:
        if static or _jax.is_tracer(value):
            raise _Unsupported
        seen = f"s{self._count}"
        self._constants[seen] = [value.aval]  # the aval object that was equal last time
        aval = self._bind(f"{v}.aval")
        self._unless(f"type({v}) is {self._constant(type(value))}")
        self._lines.append(f"if {aval} is not {seen}[0]:")
        self._lines.append(f"    if {aval} != {seen}[0]: return None")
        self._lines.append(f"    {seen}[0] = {aval}")
        if value.committed:
            sharding = self._constant(value.sharding)
            self._unless(f"{v}.committed and ({v}.sharding is {sharding} or {v}.sharding == {sharding})")
        else:
            self._unless(f"not {v}.committed")
            if self.choices.lays:
                self._unless(f"{v}.sharding == {self._constant(value.sharding)}")

    def _check_numpy(self, v: str, value: Any, static: bool) -> None:
        if type(value) not in (np.ndarray, np.memmap) and isinstance(value, np.ndarray):
            raise _Unsupported
        kind, dtype = self._constant(type(value)), self._constant(value.dtype)
        self._unless(f"type({v}) is {kind} and {v}.dtype == {dtype} and {v}.shape == {value.shape}")
        if value.dtype == object:
            if value.base is not None:
                raise _Unsupported
            self._unless(f"{v}.base is None and {v}.flags.writeable is {value.flags.writeable}")
            return
        if self.tells_apart & Sees.CLASSES or static or not supported(value.dtype):
            if value.dtype.hasobject:
                raise _Unsupported
            self._unless(f"{self._constant(content_of)}({v}) == {content_of(value)!r}")

    def _check_dict(self, v: str, value: dict[Any, Any]) -> None:
        kind = type(value)
        if kind not in (dict, OrderedDict, defaultdict):
            raise _Unsupported
        keys = list(value)
        text = all(type(key) is str for key in keys)
        self._unless(f"type({v}) is {self._constant(kind)} and len({v}) == {len(value)}")
        if not text and not all(type(key) in (str, int, bool, type(None)) for key in keys):
            raise _Unsupported
        if self.tells_apart & Sees.ORDER or kind is not dict or not text:
            self._unless(f"[*{v}] == {keys!r}")
        if keys:
            self._unless(f"[*map(type, {v})] == {self._constant([type(key) for key in keys])}")

    def _check_function(self, v: str, value: types.FunctionType) -> None:
        module = value.__globals__.get("__name__", "__main__")
        library = is_library(module)
        if library and is_member(loaded_module(module), value):
            self._unless(f"{v} is {self._constant(value)}")
            return
        code, digest = self._constant(value.__code__), self._constant(code_digest)
        self._unless(f"type({v}) is {self._constant(types.FunctionType)}")
        self._check_texts(v, value)
        self._unless(f"{v}.__code__ is {code} or {digest}({v}.__code__) == {code_digest(value.__code__)!r}")
        for name in ("__defaults__", "__kwdefaults__", "__dict__"):
            self._unless(f"{v}.{name}" if getattr(value, name) else f"not {v}.{name}")
        if not library:
            home = self._homes.get(id(value.__globals__))
            if home is None:
                home = self._homes[id(value.__globals__)] = self._bind(f"{v}.__globals__")
                self._unless(f"{home}.get('__name__') == {value.__globals__.get('__name__')!r}")
            else:
                self._unless(f"{v}.__globals__ is {home}")

    def _check_texts(self, v: str, value: Any) -> None:
        self._unless(f"{v}.__name__ == {value.__name__!r} and {v}.__qualname__ == {value.__qualname__!r}")
        if value.__doc__ is None or has_docstring(value):
            self._unless(f"{v}.__doc__ == {self._constant(value.__doc__)}")

    def _check_other(self, v: str, value: Any) -> None:
        kind = type(value)
        if isinstance(value, (CACHED_FUNCTION, *BUFFERS)):
            raise _Unsupported
        if issubclass(kind, logging.Logger):
            self._unless(f"{self._constant(Same(value))}.holds({v})")
            self._unless(f"{self._constant(log_level)}({v}) == {log_level(value)}")
            return
        options = _jax.jit_options(value)
        if options is not None:
            if is_library_jit(value):
                self._unless(f"{v} is {self._constant(value)}")
            else:
                read = self._constant(_jax.jit_options)
                self._unless(f"{v} is {self._weak(value)}() or {read}({v}) == {self._constant(options)}")
            return
        if isinstance(value, enum.Enum):
            self._check_kind(v, value)
            self._unless(f"{v}.name == {value.name!r}")
            content = value.__dict__.get("_value_")
            if type(content) in ATOMS:
                self._unless(f"{v}.__dict__.get('_value_') is {self._constant(content)}")
            return
        if is_value(value) and is_library_class(kind) and not isinstance(value, _NUMBERS_AND_TEXT):
            same, kinds = self._constant(value), self._constant(kind)
            told = f" and {v}.__repr__() == {repr(value)!r}" if isinstance(value, TOLD_BY_TEXT) else ""
            self._unless(f"{v} is {same} or (type({v}) is {kinds} and {v} == {same}{told})")
            return
        if isinstance(value, weakref.ref):
            self._unless(f"type({v}) is {self._constant(kind)}")
            return
        state = state_of(value)
        if is_library_callable(value, state):
            self._unless(f"{v} is {self._constant(value)}")
        elif not isinstance(state, dict) and not slot_descriptors(kind):
            if _jax.flatten_one_level(value) is not None or isinstance(value, types.MappingProxyType | set | frozenset):
                raise _Unsupported
            if isinstance(value, (*_NUMBERS_AND_TEXT, list)) or hasattr(value, "__wrapped__"):
                raise _Unsupported
            self._unless(f"{self._constant(Same(value))}.holds({v})")
        elif is_alive(value):
            self._unless(f"{self._constant(Same(value))}.holds({v})")
        elif isinstance(value, (*_NUMBERS_AND_TEXT, list, set, frozenset)) or is_value(value):
            raise _Unsupported
        else:
            self._check_kind(v, value)

    # --- what is walked without being visited ---

    def registered(self, value: type, path: Path) -> None:
        if issubclass(type(value), abc.ABCMeta):
            kind = self._constant(value) if is_library_class(value) else f"{self._weak(value)}()"
            self._abstract[kind] = self._constant(registered_with(value))
        super().registered(value, path)

    def cell(self, value: types.CellType, path: Path) -> None:
        outer, _, name = path
        holder, function = self._at[outer]
        place = function.__code__.co_freevars.index(name)
        cell = self._bind(f"{holder}.__closure__[{place}]")
        if id(value) in self.memo:
            self._unless(f"{cell} is {self._variable_of(value)}")
            super().cell(value, path)
            return
        if not contents_of(value):
            self._unless(f"not {self._constant(contents_of)}({cell})")
        self._variables[id(value)] = self._cells[path] = cell
        self._keep.append(value)
        super().cell(value, path)

    def class_(self, value: type, path: Path, slot: Any) -> None:
        if not is_library_class(value) and id(value) not in self.memo:
            variable = self._variables.get(id(value))
            if variable is None:  # the class of something that was looked at, or a base of such a class
                variable = self._variables[id(value)] = self._bind(f"{self._weak(value)}()")
            else:
                self._unless(f"{variable} is {self._weak(value)}()")
            self._keep.append(value)
            self._at[path] = _Place(variable, value)
            bases = tuple(map(id, value.__bases__))
            self._unless(f"tuple(map(id, {variable}.__bases__)) == {bases}")
            self._states[variable] = self._bind(f"{variable}.__dict__")
            self._unless(f"len({self._states[variable]}) == {len(vars(value))}")
            self._check_texts(variable, value)
            tree, copied = value in _jax.PYTREES, value in copyreg.dispatch_table
            self._unless(f"({variable} in pytrees) is {tree} and ({variable} in copied_by) is {copied}")
        super().class_(value, path, slot)

    def bare_attributes(self, function: types.FunctionType, path: Path) -> None:
        self._variables[id(vars(function))] = self._bind(f"{self._variable_of(function)}.__dict__")
        super().bare_attributes(function, path)

    def partial_state(self, value: Any, path: Path) -> None:
        if not state_of(value):
            self._unless(f"not {self._constant(state_of)}({self._variable_of(value)})")
        super().partial_state(value, path)

    def state(self, value: Any, path: Path, known: frozenset[str] = frozenset()) -> None:
        holder = self._variable_of(value)
        state = state_of(value)
        if isinstance(state, dict):
            variable = self._bind(f"{holder}.__dict__")
            self._unless(f"len({variable}) == {len(state)}")
            if tells_attributes(self, value) or not all(type(name) is str for name in state):
                self._unless(f"tuple({variable}) == {tuple(state)!r}")
            self._variables[id(state)] = self._states[holder] = variable
            self._at[path] = _Place(holder, value)
        if len(SLOTS.save(value)) != len(slot_descriptors(type(value))):
            raise _Unsupported
        super().state(value, path, known)
