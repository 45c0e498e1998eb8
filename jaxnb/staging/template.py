"""What a traced piece leaves behind, as a recipe that builds it from the outputs of the program.

After a trace the namespace and the user's containers hold tracers. `Capture` turns everything that changed into a
`Template`: trees of small nodes that say "output 2", "input 0", "the list that `history` was", "a new dict with these
entries". `Template.apply` builds the same from real arrays, after the first run and after every reused one, keeping
aliases: two names for one list are two names for one new list.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import gc
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.cells.libraries import is_library
from jaxnb.cells.reach import ATOMS, state_of
from jaxnb.objects.graph import Reached, Scan
from jaxnb.objects.holders import CELL, DICT, SLOTS, Change, Holder, holder_of, slot_descriptors
from jaxnb.objects.static import PLACEMENTS

__all__ = ["Capture", "Leaked", "Template", "Unreplayable", "reached_from", "reaches_tracer"]

_FUNCTION_TEXTS = (
    "__doc__",
    "__qualname__",
    "__module__",
    "__annotations__" if sys.version_info < (3, 14) else "__annotate__",
)

_INTERMEDIATE_CODE = ("jax._src.core", "jax._src.interpreters", "jaxlib")
"""Where JAX's jaxprs, avals and executables are defined: they never change, and need not be made again."""

_CONTAINER_NEWS = (
    list.__new__,
    dict.__new__,
    set.__new__,
    deque.__new__,
    defaultdict.__new__,
    OrderedDict.__new__,
)

_SMALLEST_ID = 2**32
"""Numbers below are no addresses of objects."""

Build = Callable[["Building"], Any]


class Unreplayable(Exception):
    """A result that cannot be made anew on a reused run; the message says what it is."""


class Leaked(Exception):
    """A result that is a tracer of an inner transformation; `tracer` is it."""

    def __init__(self, tracer: Any) -> None:
        super().__init__("a tracer of an inner transformation")
        self.tracer = tracer


class Building:
    """One application of a template: the inputs and outputs of a run, and what was built so far."""

    __slots__ = ("made", "namespace", "outputs", "reached")

    def __init__(self, reached: Reached, outputs: Sequence[Any], namespace: dict[str, Any]) -> None:
        self.reached, self.outputs, self.namespace = reached, outputs, namespace
        self.made: dict[int, Any] = {}


class Template:
    """How a piece leaves the namespace.

    Attributes:
      names: for each name that is bound, how its value is built.
      annotations: what the piece adds to the annotations of the namespace.
      deleted: names that are deleted.
      changed: for each holder that was changed in place, its kind, how to find it, and the change, whose children are
        still to be built.
      elsewhere: the same for the globals of other modules: which of those that were read, what is bound and deleted.
      value: how the trailing value is built, if the piece holds the trailing expression.
      reasons: why this template must not be applied to another run than the one it was captured from, as (line, text).
      kept: objects that are bound as they are, then, and everything that they hold: other results hold the same.
    """

    def __init__(self) -> None:
        self.names: list[tuple[str, Build]] = []
        self.annotations: list[tuple[str, Build]] = []
        self.deleted: list[str] = []
        self.changed: list[tuple[Holder, Build, Change]] = []
        self.elsewhere: list[tuple[int, list[tuple[str, Build]], list[str]]] = []
        self.value: Build | None = None
        self.reasons: list[tuple[int | None, str]] = []
        self.kept: list[Any] = []

    def apply(
        self,
        reached: Reached,
        outputs: Sequence[Any],
        namespace: dict[str, Any],
        before_change: Callable[[Any, Holder, Change | None], None],
    ) -> Any:
        """Binds, deletes and changes what the piece did, and returns the trailing value.

        Everything is built before anything is changed.

        Args:
          reached: in this run, before the piece.
          outputs: of the program.
          namespace: to bind into.
          before_change: called with each object that is about to be changed in place, its kind, and the change.
        """
        building = Building(reached, outputs, namespace)
        building.made.update((id(item), item) for item in self.kept)
        bound = [(name, build(building)) for name, build in self.names]
        changed = [
            (
                holder,
                at(building),
                Change([(key, new(building)) for key, new in change.children], change.gone, change.whole),
            )
            for holder, at, change in self.changed
        ]
        elsewhere = [
            (reached.namespaces[home], [(name, build(building)) for name, build in names], gone)
            for home, names, gone in self.elsewhere
        ]
        value = self.value(building) if self.value is not None else None
        for holder, owner, change in changed:
            before_change(owner, holder, change)
            holder.apply(owner, change)
        if self.annotations:
            notes = namespace.setdefault("__annotations__", {})
            before_change(notes, DICT, None)
            notes.update((name, build(building)) for name, build in self.annotations)
        for name, item in bound:
            namespace[name] = item
        for name in self.deleted:
            namespace.pop(name, None)
        for home, names, gone in elsewhere:
            before_change(home, DICT, None)
            home.update(names)
            for name in gone:
                home.pop(name, None)
        return value


class Capture:
    """Reads the namespace after a trace. See the module's text.

    Args:
      scan: the scan whose leaves were replaced by tracers.
      tracers: the tracers, one for each leaf.
      replaced: immutable nodes that were built to hold tracers, by id, with the position of the original in the scan.
      existing: objects that existed before the piece without being scanned, by id, with a name that holds each.
      stand_ins: objects put into the namespace while tracing, by id, with what they stand for.
      trace: the one whose tracers may be results; None allows any.
    """

    def __init__(
        self,
        scan: Scan,
        tracers: Sequence[Any],
        replaced: Mapping[int, int],
        existing: Mapping[int, str],
        stand_ins: Mapping[int, Any],
        trace: object | None = None,
    ) -> None:
        self.outputs: list[Any] = []
        self._scan = scan
        self.passed_on: set[int] = set()
        self._trace = trace
        self._inputs = {id(tracer): index for index, tracer in enumerate(tracers)}
        self._nodes = {id(node): index for index, node in enumerate(scan.nodes)}
        self._replaced, self._existing, self._stand_ins = replaced, existing, stand_ins
        self._in_libraries: set[int] = set()
        self._modules: set[str] = set()
        self._places: dict[int, int] = {}
        self._builds: dict[int, Build] = {}
        self._keep: list[Any] = []
        self._open: set[int] = set()
        self._large: set[int] = set()

    def build(self, value: Any) -> Build:
        """The recipe for `value`."""
        kind = type(value)
        if kind in ATOMS:
            self.note_keys((value,))
            return _constant(value)
        known = self._builds.get(id(value))
        if known is None:
            if id(value) in self._open:
                raise Unreplayable(f"a {kind.__name__} that contains itself")
            self._keep.append(value)
            known = self._builds[id(value)] = self._new(value, kind)
        return known

    def _new(self, value: Any, kind: type) -> Build:
        key = id(value)
        if key in self._stand_ins:
            return _constant(self._stand_ins[key])
        if key in self._inputs:
            self.passed_on.add(self._inputs[key])
            return _input(self._inputs[key])
        if _jax.is_tracer(value):
            if self._trace is not None and _jax.trace_of(value) is not self._trace:
                raise Leaked(value)
            return self._output(value)
        if key in self._replaced:
            return _node(self._replaced[key])
        if key in self._nodes:
            return _node(self._nodes[key])
        if kind is _jax.TraceState:
            return lambda b: _jax.current_trace_state()
        if isinstance(value, type) and not is_library(value.__module__) and reaches_tracer(value):
            raise Unreplayable("a class that was made while staging")
        if isinstance(value, jax.Array | np.generic | types.ModuleType | type):
            return _constant(value)
        if issubclass(kind, enum.Enum):
            make = self._kind(kind)
            return lambda b: value if make(b) is kind else make(b)(value.value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.CellType):
            return self._cell(value)
        if isinstance(value, tuple):
            self._open.add(key)
            children = [self.build(child) for child in value]
            state = state_of(value)
            attributes = [(name, self.build(child)) for name, child in state.items()] if state else []
            self._open.discard(key)
            return _memoized(key, _tuple_builder(self._kind(kind), children, attributes))
        holder = holder_of(value)
        if holder is not None and kind.__new__ in _CONTAINER_NEWS:
            return self._container(value, kind, holder)
        if isinstance(value, np.ndarray):
            return _memoized(key, functools.partial(_copy_array, value.copy()))
        if _jax.jit_options(value) is not None:
            return self._jitted(value)
        if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, types.ModuleType | None):
            return _constant(value)
        flat = _jax.flatten_one_level(value)
        stateful = isinstance(state_of(value), dict) or slot_descriptors(kind)
        if flat is not None and not stateful:
            children, treedef = [self.build(child) for child in flat[0]], flat[1]
            return _memoized(key, lambda b: jax.tree_util.tree_unflatten(treedef, [child(b) for child in children]))
        if key in self._existing or (key in self._in_libraries and not _holds_tracer(value)):
            return _constant(value)
        if isinstance(value, PLACEMENTS):
            return _constant(value)
        internal = kind.__module__.partition(".")[0] in _jax.JAX_PACKAGES
        if internal and kind.__module__.startswith(_INTERMEDIATE_CODE) and not _holds_tracer(value):
            return _constant(value)
        try:
            return self._copied(value, kind)
        except Unreplayable:
            if internal and not _holds_tracer(value):
                return _constant(value)
            raise

    def _kind(self, kind: type) -> Build:
        """A class, which a reused run finds where this run found it."""
        return self.build(kind) if id(kind) in self._nodes else _constant(kind)

    def _output(self, tracer: Any) -> Build:
        place = self._places.get(id(tracer))
        if place is None:
            place = self._places[id(tracer)] = len(self.outputs)
            self.outputs.append(tracer)
        return lambda b: b.outputs[place]

    def result(self, tracer: Any) -> int:
        """The position of a tracer among the outputs, which it becomes one of."""
        self._output(tracer)
        return self._places[id(tracer)]

    def note_keys(self, keys: Iterable[Any]) -> None:
        """Remembers those keys and numbers among the results that could be the `id` of an object."""
        self._large.update(key for key in keys if type(key) is int and key > _SMALLEST_ID)

    @property
    def holds_ids(self) -> bool:
        """Whether a result holds the `id` of an object, which may be another one on the next run."""
        return any(number in known for number in self._large for known in (self._builds, self._nodes, self._existing))

    def place_of(self, value: Any) -> int | None:
        """The position among the outputs, if `value` is one."""
        return self._places.get(id(value))

    def _container(self, value: Any, kind: type, holder: Holder) -> Build:
        state: list[tuple[Any, Build]] = []
        extra: tuple[Any, ...] = ()
        if kind.__name__ == "defaultdict":
            factory = self.build(value.default_factory)
            extra = (factory,)
        if isinstance(value, deque):
            extra = (_constant(()), _constant(value.maxlen))
        make, plain = self._kind(kind), kind.__module__ in ("builtins", "collections")
        attributes: list[tuple[Any, Build]] = []
        new: Any = kind.__new__

        def build(b: Building) -> Any:
            made = b.made.get(key)
            if made is None:
                made = make(b)(*(item(b) for item in extra)) if plain else new(make(b))
                b.made[key] = made
                holder.restore(made, [(k, child(b)) for k, child in state])
                for name, child in attributes:
                    made.__dict__[name] = child(b)
            return made

        key = id(value)
        self._builds[key] = build
        state.extend((k, self.build(child)) for k, child in holder.save(value))
        self.note_keys(k for k, _ in state)
        if not plain:
            attributes.extend((k, self.build(child)) for k, child in getattr(value, "__dict__", {}).items())
        return build

    def _cell(self, value: types.CellType) -> Build:
        key, state = id(value), list[Build]()

        def build(b: Building) -> Any:
            made = b.made.get(key)
            if made is None:
                made = b.made[key] = types.CellType()
                if state:
                    made.cell_contents = state[0](b)
            return made

        self._builds[key] = build
        state.extend(self.build(child) for _, child in CELL.save(value))
        return build

    def _function(self, value: types.FunctionType) -> Build:
        home = sys.modules.get(value.__module__) if is_library(value.__module__) else None
        if home is not None and value.__module__ not in self._modules:
            self._modules.add(value.__module__)  # what it compares with `is` must stay that very object
            self._in_libraries.update(id(held) for held in list(vars(home).values()))
        if home is not None and getattr(home, value.__name__, None) is value:
            return _constant(value)
        if home is not None and not value.__closure__ and not value.__defaults__ and not value.__dict__:
            return _constant(value)
        if id(value) in self._existing:
            return _constant(value)
        key, code, name = id(value), value.__code__, value.__name__
        # a program may serve another namespace than the one it was traced in
        elsewhere = value.__globals__ if value.__globals__ is not self._scan.namespace else None
        parts: dict[str, Any] = {}
        texts = {text: getattr(value, text) for text in _FUNCTION_TEXTS}

        def build(b: Building) -> Any:
            made = b.made.get(key)
            if made is None:
                cells = tuple(cell(b) for cell in parts["closure"])
                if key in b.made:  # one of the cells holds the function itself
                    return b.made[key]
                home_globals = b.namespace if elsewhere is None else elsewhere
                made = types.FunctionType(code, home_globals, name, parts["defaults"](b), cells or None)
                b.made[key] = made
                made.__kwdefaults__ = parts["kwdefaults"](b)
                made.__dict__.update(parts["dict"](b))
                for text, item in texts.items():
                    setattr(made, text, item)
            return made

        self._builds[key] = build
        parts["closure"] = [self.build(cell) for cell in value.__closure__ or ()]
        parts["defaults"] = self.build(value.__defaults__)
        parts["kwdefaults"] = self.build(value.__kwdefaults__)
        parts["dict"] = self.build(dict(value.__dict__))
        return build

    def _jitted(self, value: Any) -> Build:
        """A jitted function is made again only where what it wraps is; otherwise it is the same function each time."""
        inner = value.__wrapped__
        if isinstance(inner, types.FunctionType) and is_library(inner.__module__) and not inner.__closure__:
            return _constant(value)
        wrapped = self.build(inner)
        if not self.outputs and id(value.__wrapped__) in self._nodes:
            return _constant(value)
        options = dict(_jax.jit_options(value) or ())
        plain = not any(options.get(name) for name in ("user_specified_in_shardings", "device", "backend"))
        if not plain:
            raise Unreplayable("a function jitted with shardings or a device")
        kept = (
            "static_argnums",
            "static_argnames",
            "donate_argnums",
            "donate_argnames",
            "keep_unused",
            "inline",
        )
        arguments = {name: options[name] for name in kept}
        return _memoized(id(value), lambda b: jax.jit(wrapped(b), **arguments))

    def _copied(self, value: Any, kind: type) -> Build:
        """Anything else is copied by the copy protocol, as `copy.copy` would, with its parts built anew."""
        if isinstance(value, types.MethodType):
            function, owner = self.build(value.__func__), self.build(value.__self__)
            return _memoized(id(value), lambda b: types.MethodType(function(b), owner(b)))
        key = id(value)
        state = state_of(value)
        if kind not in copyreg.dispatch_table and _has_plain_layout(kind):
            return self._plain_object(value, kind, state if isinstance(state, dict) else None)
        try:
            reduced = value.__reduce_ex__(4)
        except TypeError as error:
            raise Unreplayable(f"a {kind.__name__}, which cannot be copied") from error
        if isinstance(reduced, str):
            return _constant(value)
        parts = [self.build(list(item) if index in (3, 4) and item is not None else item) for index, item in
                 enumerate((*reduced, None, None, None, None)[:5])]  # fmt: skip

        def build(b: Building) -> Any:
            if key not in b.made:
                make, arguments, state, items, pairs = (part(b) for part in parts)
                made = b.made[key] = make(*arguments)
                if state is not None:
                    _set_state(made, state)
                if items:
                    made.extend(items)
                for k, v in pairs or ():
                    made[k] = v
            return b.made[key]

        return build

    def _plain_object(self, value: Any, kind: Any, state: dict[str, Any] | None) -> Build:
        key = id(value)
        attributes: list[tuple[Any, Build]] = []
        slots: list[tuple[Any, Build]] = []
        slotted = bool(slot_descriptors(kind))
        make = self._kind(kind)

        def build(b: Building) -> Any:
            made = b.made.get(key)
            if made is None:
                made = b.made[key] = object.__new__(make(b))
                if attributes:
                    DICT.restore(made.__dict__, [(k, child(b)) for k, child in attributes])
                for name, child in slots:
                    SLOTS.put(made, name, child(b))
            return made

        self._builds[key] = build
        if state is not None:
            attributes.extend((k, self.build(child)) for k, child in state.items())
        if slotted:
            slots.extend((k, self.build(child)) for k, child in SLOTS.save(value))
        elif state is None:
            if kind.__basicsize__ - 8 * bool(kind.__weakrefoffset__) == object.__basicsize__:
                return build  # it has no room to hold anything
            raise Unreplayable(f"a {kind.__name__}, whose content is out of reach")
        return build


def _set_state(made: Any, state: Any) -> None:
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        made.__dict__.update(attributes)
    for name, item in (slots or {}).items():
        object.__setattr__(made, name, item)


def _constant(value: Any) -> Build:
    return lambda b: value


def _input(index: int) -> Build:
    return lambda b: b.reached.leaves[index]


def _node(index: int) -> Build:
    return lambda b: b.reached.nodes[index]


def _copy_array(array: Any, building: Building) -> Any:
    return array.copy()


def _memoized(key: int, build: Build) -> Build:
    def once(b: Building) -> Any:
        if key not in b.made:
            b.made[key] = build(b)
        return b.made[key]

    return once


def _tuple_builder(kind: Build, children: list[Build], attributes: list[tuple[str, Build]]) -> Build:
    def build(b: Building) -> Any:
        made: Any = tuple.__new__(kind(b), [child(b) for child in children])
        for name, child in attributes:
            made.__dict__[name] = child(b)
        return made

    return build


def _has_plain_layout(kind: Any) -> bool:
    """Whether an object of this class is made by `object.__new__`, so that its attributes and slots are all it has."""
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True


def _holds_tracer(value: Any) -> bool:
    """Whether an object of JAX's own holds a tracer in a container or attribute."""
    seen: set[int] = set()
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if _jax.is_tracer(item):
            return True
        if id(item) in seen or type(item) in ATOMS or isinstance(item, types.ModuleType | type):
            continue
        seen.add(id(item))
        if (holder := holder_of(item)) is not None:
            stack.extend(child for _, child in holder.save(item))
        elif isinstance(item, tuple):
            stack.extend(item)
        elif isinstance(item, functools.partial):
            stack.extend((item.func, *item.args, *item.keywords.values()))
        elif isinstance(item, types.MethodType):
            stack.extend((item.__func__, item.__self__))
        elif isinstance(item, types.FunctionType):
            stack.extend(child for cell in item.__closure__ or () for _, child in CELL.save(cell))
        elif type(item).__module__.partition(".")[0] in _jax.JAX_PACKAGES:
            if isinstance(state := state_of(item), dict):
                stack.extend(state.values())
            stack.extend(child for _, child in SLOTS.save(item))
    return False


def reaches_tracer(value: Any) -> bool:
    """Whether an object of unknown make holds a tracer, as far as the garbage collector can follow it."""
    return any(_jax.is_tracer(item) for item in reached_from(value))


def reached_from(value: Any) -> Iterator[Any]:
    """An object of unknown make and what it holds, as far as the garbage collector can follow it."""
    seen: set[int] = set()
    stack: list[Any] = [value]
    while stack and len(seen) < 10_000:
        item = stack.pop()
        if id(item) in seen or isinstance(item, types.ModuleType | types.CodeType):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, type):
            stack.extend(vars(item).values() if not is_library(item.__module__) else ())
            continue
        if isinstance(item, types.GeneratorType | types.CoroutineType):
            frame = item.gi_frame if isinstance(item, types.GeneratorType) else item.cr_frame
            stack.extend(frame.f_locals.values() if frame is not None else ())
        elif isinstance(item, types.FunctionType):
            stack.extend(child for cell in item.__closure__ or () for _, child in CELL.save(cell))
        elif not isinstance(item, dict) or "__builtins__" not in item:
            stack.extend(gc.get_referents(item))
