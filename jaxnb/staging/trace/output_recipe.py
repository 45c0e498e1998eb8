"""What a traced piece leaves behind, as a recipe that builds it from the outputs of the program.

After a trace the namespace and the user's containers hold tracers. `Capture` turns everything that changed into an
`OutputRecipe`: trees of small nodes that say "output 2", "input 0", "the list that `history` was", "a new dict with
these entries". `OutputRecipe.apply` builds the same from real arrays, after the first run and after every reused one,
keeping aliases: two names for one list are two names for one new list.
"""

from __future__ import annotations

import contextvars
import copyreg
import enum
import functools
import gc
import operator
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import (
    JitCall,
    NumpyValue,
    array_of,
    drop_consts,
    handed_on,
    is_jaxpr,
    iterates_array,
    keys_of,
    tracer_of,
)
from jaxnb.runtime import is_library, is_library_class
from jaxnb.staging.cells.reach import ATOMS, hides
from jaxnb.staging.cells.referents import contents_of, slot_descriptors, state_of
from jaxnb.staging.objects.graph import Reached, Scan
from jaxnb.staging.objects.journal import Journal
from jaxnb.staging.objects.mutables import DICT, OBJECTS, SLOTS, Change, Mutable, State, mutable_of
from jaxnb.staging.objects.static import OF_WRAPPERS, PLACEMENTS
from jaxnb.staging.trace.arrays import copy_of, view_of
from jaxnb.staging.trace.before import Before
from jaxnb.staging.trace.builds import (
    Build,
    Building,
    constant,
    input_of,
    memoized,
    node_of,
    set_state,
    tuple_of,
)
from jaxnb.staging.trace.exceptions import blank_exception, fields_of
from jaxnb.staging.trace.reachable import (
    has_plain_layout,
    holds_tracer,
    is_data,
    reached_from,
    reaches_tracer,
    stands_for_a_value,
)
from jaxnb.staging.trace.size_questions import SizeQuestions

__all__ = [
    "CONTAINER_NEWS",
    "SMALLEST_ID",
    "Capture",
    "Leaked",
    "OutputRecipe",
    "Unreplayable",
]

_FUNCTION_TEXTS = ("__doc__", "__qualname__", "__module__")
_NOTES = "__annotations__" if sys.version_info < (3, 14) else "__annotate__"

_INTERMEDIATE_CODE = ("jax._src.core", "jax._src.interpreters", "jaxlib")
"""Where JAX's jaxprs, avals and executables are defined: they never change, and need not be made again."""

CONTAINER_NEWS = (
    list.__new__,
    dict.__new__,
    set.__new__,
    deque.__new__,
    defaultdict.__new__,
    OrderedDict.__new__,
)

SMALLEST_ID = 2**32
"""Numbers below are no addresses of objects."""


class Unreplayable(Exception):
    """A result that cannot be made anew on a reused run; the message says what it is.

    Attributes:
      of_trace: whether it serves in the trace alone.
    """

    def __init__(self, text: str, of_trace: bool = False) -> None:
        super().__init__(text)
        self.of_trace = of_trace


class Leaked(Exception):
    """A result that is a tracer of an inner transformation; `tracer` is it."""

    def __init__(self, tracer: Any) -> None:
        super().__init__("a tracer of an inner transformation")
        self.tracer = tracer


class OutputRecipe:
    """How a piece leaves the namespace.

    Attributes:
      names: for each name that is bound, how its value is built.
      annotations: what the piece adds to the annotations of the namespace.
      deleted: names that are deleted.
      changed: for each holder that was changed in place, its kind, which node it is, and the change, whose children are
        still to be built.
      elsewhere: the same for the globals of other modules: which of those that were read, what is bound and deleted.
      said: what is printed and logged, in order: what says it, and how the values that it takes are built.
      says_values: whether the values of the program are among them.
      value: how the trailing value is built, if the piece holds the trailing expression.
      reasons: why this recipe must not be applied to another run than the one it was captured from, as (line, text).
      kept: objects that are bound as they are, then, and everything that they hold: other results hold the same.
    """

    def __init__(self) -> None:
        self.names: list[tuple[str, Build]] = []
        self.annotations: list[tuple[str, Build]] = []
        self.deleted: list[str] = []
        self.changed: list[tuple[Mutable, int, Change]] = []
        self._orders: list[tuple[int, list[Any], list[Any]]] = []  # of each such dict, the keys before and after
        self._puts: list[tuple[Mutable, int, Any, Build]] = []  # the children of those that only get children
        self._rest: list[tuple[Mutable, int, Change]] = []
        self.elsewhere: list[tuple[int, list[tuple[str, Build]], list[str]]] = []
        self.said: list[tuple[Callable[..., None], Build]] = []
        self.says_values = False
        self.value: Build | None = None
        self.reasons: list[tuple[int | None, str]] = []
        self.kept: list[Any] = []

    def change(self, holder: Mutable, node: int, change: Change, before: State, after: State) -> None:
        """Notes that a holder was changed in place, from one state to another; the children of `change` are built.

        What moves a key of a dict to the end, or sorts the keys, does not show where they stood so before: a replay is
        right for a dict in the order of the trace, and for one as the trace has left it, but for no other.
        """
        self.changed.append((holder, node, change))
        if holder is DICT and len(before) > 1:
            one, other = ([key for key, _ in state] for state in (before, after))
            if set(one) == set(other):
                self._orders.append((node, one, other))
        if holder.keyed and not change.whole and not change.gone:
            self._puts.extend((holder, node, key, new) for key, new in change.children)
        else:
            self._rest.append((holder, node, change))

    def in_order(self, nodes: Sequence[Any]) -> bool:
        """Whether the dicts that are changed have their keys in an order for which the recipe is right."""
        return all([*nodes[node]] in (one, other) for node, one, other in self._orders)

    def apply(
        self,
        reached: Reached,
        outputs: Sequence[Any],
        namespace: dict[str, Any],
        journal: Journal,
        before_saying: Callable[[], None] = lambda: None,
    ) -> Any:
        """Binds, deletes and changes what the piece did, says what it said, and returns the trailing value.

        Everything is built before anything is changed.

        Args:
          reached: in this run, before the piece.
          outputs: of the program.
          namespace: to bind into.
          journal: saves each object that is about to be changed in place.
          before_saying: called once, if anything is said.
        """
        building = Building(reached, outputs, namespace)
        building.made.update((id(item), item) for item in self.kept)
        bound = [(name, build(building)) for name, build in self.names]
        nodes = reached.nodes
        puts = [(holder, nodes[node], key, new(building)) for holder, node, key, new in self._puts]
        changed = [
            (
                holder,
                nodes[node],
                Change([(key, new(building)) for key, new in change.children], change.gone, change.whole),
            )
            for holder, node, change in self._rest
        ]
        elsewhere = [
            (reached.namespaces[home], [(name, build(building)) for name, build in names], gone)
            for home, names, gone in self.elsewhere
        ]
        value = self.value(building) if self.value is not None else None
        journal.record_puts(puts)
        for holder, owner, key, child in puts:
            holder.put(owner, key, child)
        for holder, owner, change in changed:
            journal.record(owner, holder, change)
            holder.apply(owner, change)
        if self.annotations:
            notes = namespace.setdefault("__annotations__", {})
            journal.record(notes, DICT)
            notes.update((name, build(building)) for name, build in self.annotations)
        for name, item in bound:
            namespace[name] = item
        for name in self.deleted:
            namespace.pop(name, None)
        for home, names, gone in elsewhere:
            journal.record(home, DICT)
            home.update(names)
            for name in gone:
                home.pop(name, None)
        if self.said:
            before_saying()
            for say, values in self.said:
                say(*values(building))
        return value


class Capture:
    """Reads the namespace after a trace. See the module's text.

    Args:
      scan: the scan whose leaves were replaced by tracers.
      held: what stands for each leaf: a tracer, or a `NumpyValue`.
      replaced: immutable nodes that were built to hold tracers, by id, with the position of the original in the scan.
      existing: objects that existed before the piece without being scanned, by id, with a name that holds each.
      stand_ins: objects put into the namespace while tracing, by id, with what they stand for.
      before: tells what was there before the trace from what was made by it.
      trace: the one whose tracers may be results; None allows any.
      homes: namespaces that are copies, by id, with the originals; classes that are made with them cannot be results.
      calls: of functions under `jax.jit`.
      lifts: ids of the tracers by which JAX computes with what NumPy has computed.

    Attributes:
      sizes: what was asked of sizes that are names, if there are any.
    """

    def __init__(
        self,
        scan: Scan,
        held: Sequence[Any],
        replaced: Mapping[int, int],
        existing: Mapping[int, str],
        stand_ins: Mapping[int, Any],
        before: Before,
        trace: object | None = None,
        homes: Mapping[int, dict[str, Any]] | None = None,
        calls: Sequence[JitCall] = (),
        lifts: Collection[int] = (),
    ) -> None:
        self._homes, self._calls = homes, calls
        self._lifts, self._lifted = lifts, dict[int, Any]()
        self.outputs: list[Any] = []
        self._scan = scan
        self.passed_on: set[int] = set()
        self.intermediate: list[Any] = []
        self._trace = trace
        self._inputs = {id(stand_in): index for index, stand_in in enumerate(held)}
        self._nodes = {id(node): index for index, node in enumerate(scan.nodes)}
        self._replaced, self._existing, self._stand_ins = replaced, existing, stand_ins
        self._before = before
        self._annotations: dict[int, int] | None = None
        self._clean: dict[int, Any] = {}
        self._places: dict[int, int] = {}
        self._builds: dict[int, Build] = {}
        self._attributes: dict[int, list[Build]] = {}
        self._keep: list[Any] = []
        self._open: set[int] = set()
        self._large: set[int] = set()
        self._remembered: dict[int, Any] | None = None
        self.sizes: SizeQuestions | None = None

    def build(self, value: Any) -> Build:
        """The recipe for `value`."""
        kind = type(value)
        if kind in ATOMS:
            self.note_keys((value,))
            return constant(value)
        known = self._builds.get(id(value))
        if known is None:
            if id(value) in self._open:
                raise Unreplayable(f"a {kind.__name__} that contains itself")
            self._keep.append(value)
            known = self._builds[id(value)] = self._new(value, kind)
            if id(value) in self._attributes:  # it is also the `__dict__` of an object
                self._attributes[id(value)].append(known)
        return known

    def _new(self, value: Any, kind: type) -> Build:
        key = id(value)
        if self.sizes is not None and (made := self.sizes.build(value, self.build)) is not None:
            return made
        if key in self._stand_ins:
            return constant(self._stand_ins[key])
        if key in self._inputs:
            self.passed_on.add(self._inputs[key])
            return input_of(self._inputs[key])
        if kind is NumpyValue:
            return self._output(tracer_of(value))
        if _jax.is_tracer(value):
            if self._trace is not None and _jax.trace_of(value) is not self._trace:
                raise Leaked(value)
            return self._traced(value)
        if key in self._replaced:
            return node_of(self._replaced[key])
        if key in self._nodes:
            return node_of(self._nodes[key])
        if kind is dict and (owner := self._annotated().get(key)) is not None:
            return lambda b: getattr(b.reached.nodes[owner], _NOTES)
        if hides(value):
            if self._was_there(value):
                return constant(value)
            raise Unreplayable(f"a {kind.__name__}, which does not say what it is")
        if issubclass(kind, contextvars.Token | contextvars.Context) and not self._before.holds(value):
            raise Unreplayable(f"a {kind.__name__} of context variables", of_trace=True)
        if kind is _jax.TraceState:
            return lambda b: _jax.current_trace_state()
        if isinstance(value, type) and self._is_made_here(value):
            raise Unreplayable("a class that was made while staging")
        if isinstance(value, np.generic | types.ModuleType | type):
            return constant(value)
        if isinstance(value, jax.Array):  # one that is made was not traced, as under `jax.ensure_compile_time_eval`
            return constant(value) if self._before.holds(value) else memoized(key, lambda b: value.copy())
        if is_jaxpr(value) and not self._before.holds(value):
            drop_consts(value, self._is_of_another_trace)
        if self._was_there(value) or self._is_remembered(value):
            return constant(value)
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
            return memoized(key, tuple_of(self._kind(kind), children, attributes))
        holder = mutable_of(value)
        if holder is not None and kind.__new__ in CONTAINER_NEWS:
            return self._container(value, kind, holder)
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            return self._objects(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if _jax.jit_options(value) is not None:
            return self._jitted(value)
        if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, types.ModuleType | None):
            return constant(value)
        flat = _jax.flatten_one_level(value)
        stateful = isinstance(state_of(value), dict) or slot_descriptors(kind) or issubclass(kind, functools.partial)
        if flat is not None and not stateful:
            children, treedef = [self.build(child) for child in flat[0]], flat[1]
            return memoized(key, lambda b: jax.tree_util.tree_unflatten(treedef, [child(b) for child in children]))
        if key in self._existing:
            return constant(value)
        if isinstance(value, PLACEMENTS):
            return constant(value)
        internal = kind.__module__.partition(".")[0] in _jax.JAX_PACKAGES
        if internal and kind.__module__.startswith(_INTERMEDIATE_CODE) and not holds_tracer(value):
            return self._intermediate(value)
        try:
            return self._copied(value, kind)
        except Unreplayable:
            if internal and not holds_tracer(value):
                return self._intermediate(value)
            raise

    def _intermediate(self, value: Any) -> Build:
        """What JAX has made, such as a jaxpr with rules for derivatives, stays the same."""
        self.intermediate.append(value)
        return constant(value)

    def _array(self, value: np.ndarray) -> Build:
        """An array that was computed while tracing; a view is one of an array that is made in the same way."""
        base, writeable = value.base, value.flags.writeable
        if type(base) is np.ndarray and type(value) is np.ndarray and base.flags.forc and not value.dtype.hasobject:
            form = (value.shape, value.dtype, value.strides, value.ctypes.data - base.ctypes.data)
            around = self.build(base)
            return memoized(id(value), lambda b: view_of(around(b), form, writeable))
        copy = value.copy(order="K")
        return memoized(id(value), lambda b: copy_of(copy, writeable))

    def _was_there(self, value: Any) -> bool:
        """Whether the plain cell would find this very object, not make it: it was there, and has taken in no tracer."""
        if not self._before.holds(value):
            return False
        seen: dict[int, Any] = {}
        for item in reached_from(value, lambda item: id(item) in self._nodes or id(item) in self._clean):
            if _jax.is_tracer_type(type(item)):
                return False
            seen[id(item)] = item
        self._clean.update(seen)
        return True

    def _is_remembered(self, value: Any) -> bool:
        """Whether a function under `jax.jit` gives this very object with each call, as a static part of its result."""
        if self._remembered is None:
            self._remembered = {}
            known = set[int]()  # structures, of which JAX keeps one for all equal calls
            for function, arguments, tree in self._calls:
                if id(tree) not in known and self._before.holds(function) and self._is_same_call(arguments):
                    known.add(id(tree))
                    for item in gc.get_referents(tree):
                        parts = list(reached_from(item, lambda item: type(item) is str or self._before.holds(item)))
                        for part in filter(is_jaxpr, parts):
                            drop_consts(part, self._is_of_another_trace)
                        if not any(map(stands_for_a_value, parts)):
                            self._remembered.update((id(part), part) for part in parts)
        return id(value) in self._remembered

    def _is_same_call(self, arguments: Any) -> bool:
        """Whether the plain cell calls a function with equal static arguments each time: none is made by it alone."""
        try:
            leaves, tree = jax.tree.flatten(arguments)
        except Exception:  # whatever classes of the user raise, such as keys of a dict that have no order
            return False
        roots = [*leaves, *gc.get_referents(tree)]
        parts = (part for root in roots for part in reached_from(root, self._is_equal_again))
        return all(type(part).__eq__ is not object.__eq__ for part in parts)

    def _is_equal_again(self, item: Any) -> bool:
        traced = isinstance(item, jax.Array) or stands_for_a_value(item)
        return traced or type(item) in ATOMS or is_data(item) or self._before.holds(item)

    def _is_of_another_trace(self, value: Any) -> bool:
        return _jax.is_tracer(value) and _jax.trace_of(value) is not self._trace

    def _is_made_here(self, kind: type) -> bool:
        """Whether each run makes a class anew, or whether it holds what only this trace has."""
        if not self._before.holds(kind) or (not is_library_class(kind) and reaches_tracer(kind)):
            return True
        homes = self._homes or {}  # a method may read names of a namespace that is a copy
        return any(id(getattr(item, "__globals__", None)) in homes for item in list(vars(kind).values()))

    def _kind(self, kind: type) -> Build:
        """A class, which a reused run finds where this run found it."""
        return self.build(kind) if id(kind) in self._nodes else constant(kind)

    def _traced(self, tracer: Any) -> Build:
        """What the program computes, or the input or other result that eager execution hands on instead."""
        source = handed_on(tracer)
        if id(source) in self._lifts:  # a function that gives its operand has made an Array of NumPy's value
            if id(tracer) not in self._lifted:
                self._lifted[id(tracer)] = array_of(source)
            return self._output(self._lifted[id(tracer)])
        index = self._inputs.get(id(source))
        if index is None and (keys := keys_of(source)) is not None:  # a key has one array, which it gives each time
            held = self.build(keys)
            return lambda b: jax.random.key_data(held(b))
        if index is None:
            return self._output(source)
        if not isinstance(self._scan.leaves[index], jax.Array):
            return self._output(tracer)
        self.passed_on.add(index)
        return input_of(index)

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
        for key in keys:
            if type(key) in (tuple, frozenset):
                self.note_keys(key)
            elif type(key) is int and key > SMALLEST_ID:
                self._large.add(key)

    def holds_ids(self, asked: Collection[int]) -> bool:
        """Whether a result holds the `id` of an object, which may be another one on the next run.

        Args:
          asked: ids that the statements were given.
        """
        every = (self._builds, self._nodes, self._existing, asked)
        return any(number in known for number in self._large for known in every)

    def place_of(self, value: Any) -> int | None:
        """The position among the outputs, if `value` is one."""
        place = self._places.get(id(value))
        return self._places.get(id(handed_on(value))) if place is None else place

    def makes(self, value: Any) -> bool:
        """Whether `value` is a result, or part of one, that was not there before."""
        return id(value) in self._builds and id(value) not in self._nodes

    def _container(self, value: Any, kind: type, holder: Mutable) -> Build:
        state: list[tuple[Any, Build]] = []
        make: Build = self._kind(kind)
        new: Any = kind.__new__
        init: Any = None  # sets what no item and no attribute is
        attributes: list[tuple[Any, Build]] = []
        slots: list[tuple[Any, Build]] = []
        given: list[Build] = []
        if isinstance(value, defaultdict):
            init, given = defaultdict.__init__, [self.build(value.default_factory)]
        elif isinstance(value, deque):
            init, given = deque.__init__, [constant(()), constant(value.maxlen)]

        def build(b: Building) -> Any:
            made = b.made.get(key)
            if made is None:
                made = b.made[key] = new(make(b))
                if init is not None:
                    init(made, *(item(b) for item in given))
                holder.restore(made, [(k, child(b)) for k, child in state])
                for name, child in attributes:
                    made.__dict__[name] = child(b)
                for name, child in slots:
                    SLOTS.put(made, name, child(b))
            return made

        key = id(value)
        self._builds[key] = build
        state.extend((k, self.build(child)) for k, child in holder.save(value))
        self.note_keys(k for k, _ in state)
        attributes.extend((k, self.build(child)) for k, child in (state_of(value) or {}).items())
        slots.extend((k, self.build(child)) for k, child in SLOTS.save(value))
        return build

    def _objects(self, value: Any) -> Build:
        """A NumPy array of objects, each of which is built anew."""
        if type(value) is not np.ndarray or value.dtype != object or value.base is not None:
            raise Unreplayable("an array of objects that is no simple one")
        key, state, writeable = id(value), list[tuple[Any, Build]](), value.flags.writeable

        def build(b: Building) -> Any:
            made = b.made.get(key)
            if made is None:
                made = b.made[key] = np.empty_like(value)
                OBJECTS.restore(made, [(place, child(b)) for place, child in state])
                made.flags.writeable = writeable
            return made

        self._builds[key] = build
        state.extend((place, self.build(child)) for place, child in OBJECTS.save(value))
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
        state.extend(self.build(child) for child in contents_of(value))
        return build

    def _function(self, value: types.FunctionType) -> Build:
        home = sys.modules.get(value.__module__) if is_library(value.__module__) else None
        if home is not None and getattr(home, value.__name__, None) is value:
            return constant(value)
        if id(value) in self._existing:
            return constant(value)
        key, code, name = id(value), value.__code__, value.__name__
        # a program may serve another namespace than the one it was traced in
        elsewhere = value.__globals__ if value.__globals__ is not self._scan.namespace else None
        if elsewhere is not None and self._homes is not None:
            elsewhere = self._homes.get(id(elsewhere), elsewhere)
        parts: dict[str, Any] = {}
        texts = {text: getattr(value, text) for text in _FUNCTION_TEXTS}
        notes = self._notes(value)

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
                made.__dict__.update((name, item(b)) for name, item in parts["dict"])
                for text, item in texts.items():
                    setattr(made, text, item)
                setattr(made, _NOTES, notes(b))
            return made

        self._builds[key] = build
        parts["closure"] = [self.build(cell) for cell in value.__closure__ or ()]
        parts["defaults"] = self.build(value.__defaults__)
        parts["kwdefaults"] = self.build(value.__kwdefaults__)
        parts["dict"] = [(name, self.build(item)) for name, item in value.__dict__.items()]
        return build

    def _notes(self, value: types.FunctionType) -> Build:
        """The annotations of a function: each that is made has its own, unless they are those of one that was there."""
        notes = getattr(value, _NOTES)
        if id(notes) in self._annotated():
            return self.build(notes)
        if type(notes) is not dict or self._was_there(notes):
            return constant(notes)
        self._keep.append(notes)
        return memoized(id(notes), lambda b: dict(notes))

    def _annotated(self) -> dict[int, int]:
        """The annotations of functions in reach, by id, with the position of the function; who wraps it shares them."""
        if self._annotations is None:
            functions = [
                (index, node) for index, node in enumerate(self._scan.nodes) if type(node) is types.FunctionType
            ]
            wanted = functions if _NOTES == "__annotations__" else []
            self._annotations = {id(getattr(node, _NOTES)): index for index, node in wanted}
        return self._annotations

    def _jitted(self, value: Any) -> Build:
        """A jitted function is made anew, with what is set on it; one of a library's function stays the same."""
        inner = value.__wrapped__
        if isinstance(inner, types.FunctionType) and is_library(inner.__module__) and not inner.__closure__:
            return constant(value)
        wrapped = self.build(inner)
        arguments = _jax.jit_arguments(value)
        if arguments is None:
            raise Unreplayable("a function jitted for a device, or by pjit")
        key, attributes = id(value), list[tuple[str, Build]]()

        def build(b: Building) -> Any:
            if key not in b.made:
                function = wrapped(b)
                if key in b.made:  # a closure of the function holds what is made of it
                    return b.made[key]
                made = b.made[key] = jax.jit(function, **arguments)
                made.__dict__.update((name, item(b)) for name, item in attributes)
            return b.made[key]

        self._builds[key] = build
        items = list(value.__dict__.items())
        attributes.extend((name, self.build(item)) for name, item in items if name not in OF_WRAPPERS)
        return build

    def _copied(self, value: Any, kind: type) -> Build:
        """Anything else is copied by the copy protocol, as `copy.copy` would, with its parts built anew."""
        if isinstance(value, weakref.ref):
            return self._weak(value)
        if kind is types.MappingProxyType:
            shown = self.build(gc.get_referents(value)[0])
            return memoized(id(value), lambda b: types.MappingProxyType(shown(b)))
        if isinstance(value, types.MethodType):
            owner = self.build(value.__self__)
            if _jax.is_tracer(value.__self__) and (name := _name_of_method(value)) is not None:
                return memoized(id(value), lambda b: getattr(owner(b), name))
            function = self.build(value.__func__)
            return memoized(id(value), lambda b: types.MethodType(function(b), owner(b)))
        if kind in (staticmethod, classmethod):
            function = self.build(value.__func__)
            return memoized(id(value), lambda b: kind(function(b)))
        if kind is property:
            parts = [self.build(part) for part in (value.fget, value.fset, value.fdel, value.__doc__)]
            return memoized(id(value), lambda b: property(*(part(b) for part in parts)))
        if kind is types.UnionType:
            members = self.build(value.__args__)
            return memoized(id(value), lambda b: functools.reduce(operator.or_, members(b)))
        if isinstance(value, BaseException):
            return self._exception(value, kind)
        key = id(value)
        state = state_of(value)
        if kind not in copyreg.dispatch_table and has_plain_layout(kind):
            return self._plain_object(value, kind, state if isinstance(state, dict) else None)
        try:
            reduced = value.__reduce_ex__(4)
        except TypeError as error:
            raise Unreplayable(f"a {kind.__name__}, which cannot be copied") from error
        if isinstance(reduced, str):
            return constant(value)
        self._before.look_again()  # the parts were made just now
        if reduced[0] is iter and type(iter(*reduced[1])) is not kind:
            raise Unreplayable(f"a {kind.__name__}, which cannot be copied")  # it would become one of a list
        if kind is type(iter(())) and iterates_array(value):
            raise Unreplayable("a generator, which cannot be copied")
        parts = [self.build(list(item) if index in (3, 4) and item is not None else item) for index, item in
                 enumerate((*reduced, None, None, None, None)[:5])]  # fmt: skip

        def build(b: Building) -> Any:
            if key not in b.made:
                make, arguments, state, items, pairs = (part(b) for part in parts)
                made = b.made[key] = make(*arguments)
                if state is not None:
                    set_state(made, state)
                if items:
                    made.extend(items)
                for k, v in pairs or ():
                    made[k] = v
            return b.made[key]

        return build

    def _weak(self, value: Any) -> Build:
        """A weak reference to what this run builds for its target."""
        target, callback = value(), value.__callback__
        if target is None:
            return constant(value)
        held, calls = self.build(target), self.build(callback)
        kind: Any = weakref.KeyedRef if type(value) is weakref.KeyedRef else weakref.ref
        more = [self.build(value.key)] if kind is weakref.KeyedRef else []

        def build(b: Building) -> Any:
            there, call = held(b), calls(b)
            return value if there is target and call is callback else kind(there, call, *(item(b) for item in more))

        return memoized(id(value), build)

    def _exception(self, value: BaseException, kind: type) -> Build:
        key, fields, attributes = id(value), list[tuple[Any, Build]](), list[tuple[str, Build]]()
        make, held = self._kind(kind), self.build(getattr(value, "exceptions", ()))

        def build(b: Building) -> Any:
            made = b.made.get(key)
            if made is None:
                made = b.made[key] = blank_exception(make(b), value, held(b))
                for field, item in fields:
                    field.__set__(made, item(b))
                made.__dict__.update((name, item(b)) for name, item in attributes)
            return made

        self._builds[key] = build
        fields.extend((field, self.build(item)) for field, item in fields_of(value))
        slots = dict(slot_descriptors(kind))
        fields.extend((slots[name], self.build(item)) for name, item in SLOTS.save(value))
        attributes.extend((name, self.build(item)) for name, item in value.__dict__.items())
        return build

    def _plain_object(self, value: Any, kind: Any, state: dict[str, Any] | None) -> Build:
        key = id(value)
        attributes: list[tuple[Any, Build]] = []
        slots: list[tuple[Any, Build]] = []
        slotted = bool(slot_descriptors(kind))
        make = self._kind(kind)
        shared: list[Build] = []  # what builds the `__dict__`, if anything else holds it

        def build(b: Building) -> Any:
            made = b.made.get(key)
            if made is None:
                made = b.made[key] = object.__new__(make(b))
                if shared:
                    object.__setattr__(made, "__dict__", shared[0](b))
                elif attributes:
                    DICT.restore(made.__dict__, [(k, child(b)) for k, child in attributes])
                for name, child in slots:
                    SLOTS.put(made, name, child(b))
            return made

        self._builds[key] = build
        if state is not None:
            is_own = not any(id(state) in known for known in (self._attributes, self._builds, self._nodes))
            shared = self._attributes.setdefault(id(state), shared)
            if is_own:
                attributes.extend((k, self.build(child)) for k, child in state.items())
            else:
                shared.append(self.build(state))
        if slotted:
            slots.extend((k, self.build(child)) for k, child in SLOTS.save(value))
        elif state is None:
            if kind.__basicsize__ - 8 * bool(kind.__weakrefoffset__) == object.__basicsize__:
                return build  # it has no room to hold anything
            raise Unreplayable(f"a {kind.__name__}, whose content is out of reach")
        return build


def _name_of_method(method: types.MethodType) -> str | None:
    """The attribute of an object whose class a method comes from, as far as the classes tell."""
    named = [vars(kind).items() for kind in type(method.__self__).__mro__]
    return next((name for items in named for name, item in items if item is method.__func__), None)
