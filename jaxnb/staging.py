"""One piece of a cell, traced: its statements become a jaxpr, and what they left behind becomes a template.

The statements run in the user's own namespace, with tracers standing where the arrays stood, so that helpers, closures
and containers see what they would see in the plain cell. Whatever happens, everything is put back before this returns.
"""

from __future__ import annotations

import functools
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.blocks import TURN, counting_code
from jaxnb.cell import CellSource, Statement
from jaxnb.code import Sees, names_of
from jaxnb.devices import move
from jaxnb.diagnosis import Attempt, culprit_of, explain_needed_value, only_tracing_raises
from jaxnb.donation import NO_DONATION, Donation, plan_donation
from jaxnb.errors import Refused, RunByPython
from jaxnb.gradient import Asked, Derivative, Tree, differentiate, read_loss, read_tree
from jaxnb.graph import CACHED_FUNCTION
from jaxnb.growth import NO_GROWTH
from jaxnb.holders import CLASS, GROWN_LIST, SLOTS, same_state
from jaxnb.journal import restore_shell
from jaxnb.lifted import narrowed_to, numpy_results
from jaxnb.outside import Outside
from jaxnb.paths import Choices, render_path, root_name
from jaxnb.piece import Piece, Plan
from jaxnb.prelude import Cut, OutOfReach, find_prelude
from jaxnb.reach import refers_to_jax, state_of
from jaxnb.reasons import find_reasons, line_changing, where_held
from jaxnb.scalars import scalars_that_show
from jaxnb.slots import Slot, Slots
from jaxnb.stand_ins import StandIns, ValueNeeded
from jaxnb.template import Capture, Leaked, Template, Unreplayable, reaches_tracer

__all__ = ["Failed", "MissingName", "StopAt", "restore_names", "trace_piece"]


class StopAt(Exception):
    """A statement turned out to read nothing of JAX: the piece ends before it, and Python runs it."""

    def __init__(self, index: int) -> None:
        self.index = index


class Failed(Exception):
    """A statement raised while it was traced. Whether it does so on real values, too, only Python can tell.

    Attributes:
      error: what it raised.
      index: which statement; None if it was none of them alone.
      short: what could not be done, in a few words.
    """

    def __init__(self, error: Exception, index: int | None, short: str = "it cannot be traced") -> None:
        self.error, self.index, self.short = error, index, short


class _TooLong(BaseException):
    """A loop turned so often that its program would grow out of hand."""


class MissingName(Exception):
    """A name that was taken for one that the piece binds itself is read first; its value is an input."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Trace:
    """The state of one attempt."""

    def __init__(
        self,
        cell: CellSource,
        plan: Plan,
        namespace: dict[str, Any],
        choices: Choices,
        donate: tuple[str, ...] = (),
        asked: Asked | None = None,
    ) -> None:
        self.cell, self.namespace, self.choices, self.donate = cell, namespace, choices, donate
        self.asked = asked
        self.trees: dict[str, Tree] = {}
        self.loss_place = 0
        self.slots = Slots()
        self.scan = plan.scan(namespace, choices, self.slots)
        wanted = replace(
            plan,
            sees=self.scan.sees | plan.sees | (Sees.IDENTITY if donate else 0),
            growth=NO_GROWTH if choices.no_growth else self.scan.growth,
            hidden=frozenset() if self.scan.sees & Sees.NAMES else plan.hidden,
        )
        if wanted != plan:
            plan = wanted
            self.slots = Slots()
            self.scan = plan.scan(namespace, choices, self.slots)
        if self.scan.reads_grown:
            plan = replace(plan, growth=NO_GROWTH)
            self.slots = Slots()
            self.scan = plan.scan(namespace, choices, self.slots)
        self.plan = plan
        self._refuse_generators()
        if self.scan.dispatches_on_types:
            raise RunByPython(
                "the cell calls a function under functools.singledispatch.",
                why="it looks at the class of its argument, which while staging is that of a tracer.",
                fix="call the implementation that you mean by its own name.",
            )
        self.tracers: list[Any] = []
        self.capture: Capture | None = None
        self.template = Template()
        self.replaced: dict[int, int] = {}
        self.named_outputs: list[tuple[str, int]] = []
        self.built: list[Any] = []
        self.current: Statement | None = None
        self.index: int | None = None
        self.watch: _jax.TraceWatch | None = None
        self.config: dict[str, Any] = {}
        self.annotations: dict[str, Any] = {}
        self.whole = False
        self.outside = Outside()
        self.splits = False
        self.kept: set[int] = set()
        self.reads_grown = False
        self.guards: list[Any] = []

    def _refuse_generators(self) -> None:
        """A generator that is advanced while tracing would keep tracers in its frame, and cannot be set back."""
        sends = any("send" in names.attributes for names in self.plan.names)
        for node in self.scan.nodes:
            if isinstance(node, types.GeneratorType) and (sends or _computes_with_jax(node)):
                raise RunByPython(
                    f"the cell advances the generator `{node.__qualname__}`, which computes with JAX.",
                    why="it would keep traced values in its frame, and it cannot be set back.",
                    fix="advance it in a cell of its own without %%jit, or make the values in a list.",
                )

    def attempt(self) -> Attempt:
        """What a diagnosis of a failure needs to know."""
        line = self.current.span.line if self.current is not None else 1
        return Attempt(self.cell, line, self.tracers, self.scan.paths)

    # --- tracers in, tracers out ---

    def install(self) -> None:
        """Puts the tracers where the leaves are held."""
        for places, tracer in zip(self.slots.leaves, self.tracers, strict=True):
            for slot in places:
                slot.holder.put(slot.owner, slot.key, tracer)
        for slot in self.slots.trace_states:
            slot.holder.put(slot.owner, slot.key, _jax.current_trace_state())
        nodes = {id(node): index for index, node in enumerate(self.scan.nodes)}
        for owner, name, function, growth in self.scan.methods:
            if growth.touches(self.scan.grown_bases):
                guard = self._guard(function)
                self.replaced[id(guard)] = nodes[id(function)]
                CLASS.put(owner, name, guard)
        for node in self.slots.built:
            if not node.children or not any(self._is_new(kind, place) for _, kind, place in node.children):
                self.built.append(node.value)
                continue
            items = list(node.value) if node.treedef is None else (_jax.flatten_one_level(node.value) or ([], None))[0]
            for position, kind, place in node.children:
                items[position] = self.tracers[place] if kind == "leaf" else self.built[place]
            if node.treedef is not None:
                new = jax.tree_util.tree_unflatten(node.treedef, items)
            else:
                new = tuple.__new__(type(node.value), items)
                if isinstance(state := state_of(node.value), dict):
                    new.__dict__ = state
            self.built.append(new)
            self.replaced[id(new)] = nodes[id(node.value)]
            for slot in node.slots:
                slot.holder.put(slot.owner, slot.key, new)

    def _guard(self, function: types.FunctionType) -> Any:
        """The same method, which remembers that it was called: it reads a list that the code only appends to."""

        @functools.wraps(function)
        def guard(*args: Any, **kwargs: Any) -> Any:
            self.reads_grown = True
            return function(*args, **kwargs)

        self.guards.append(guard)
        return guard

    def _is_new(self, kind: str, place: int) -> bool:
        return kind == "leaf" or self.built[place] is not self.slots.built[place].value

    def loose(self) -> set[int]:
        """Leaves that no slot and no rebuilt node holds: they could not be replaced."""
        held = {i for i, places in enumerate(self.slots.leaves) if places}
        reachable = [bool(node.slots) for node in self.slots.built]
        for index in range(len(self.slots.built) - 1, -1, -1):
            for _, kind, place in self.slots.built[index].children if reachable[index] else ():
                if kind == "leaf":
                    held.add(place)
                else:
                    reachable[place] = True
        return set(range(len(self.scan.leaves))) - held

    def _still_held(self) -> set[int]:
        """Leaves that the same places hold as before the statements ran, by way of what they did to these places."""
        held = {i for i, places in enumerate(self.slots.leaves) if any(_holds(s, self.tracers[i]) for s in places)}
        inside = [any(_holds(slot, self.built[i]) for slot in node.slots) for i, node in enumerate(self.slots.built)]
        for index in range(len(self.slots.built) - 1, -1, -1):
            for _, kind, place in self.slots.built[index].children if inside[index] else ():
                if kind == "leaf":
                    held.add(place)
                else:
                    inside[place] = True
        return held

    def donation(self) -> Donation:
        """What the piece gives up of what the user named."""
        assert self.capture is not None
        within = [place for node in self.slots.built for _, kind, place in node.children if kind == "leaf"]
        # whatever a name holds is held once more by the copy of the names that a failed run is set back to
        places = {
            i: len(slots) + within.count(i) + sum(slot.owner is self.namespace for slot in slots)
            for i, slots in enumerate(self.slots.leaves)
        }
        later = self.cell.statements[self.plan.stop :]
        return plan_donation(
            self.donate,
            self.scan,
            places,
            self.kept,
            self.capture.passed_on,
            frozenset([name for name, _ in self.template.names] + self.template.deleted),
            frozenset[str]().union(*(statement.names.reads for statement in later)),
        )

    # --- running the statements ---

    def run(self, tracers: Sequence[Any]) -> list[Any]:
        """What JAX traces: the statements, run in the namespace. Returns the tracers that are results."""
        __tracebackhide__ = True
        namespace, plan = self.namespace, self.plan
        self.tracers = list(tracers)
        self.config = _jax.config_values()
        saved = [(owner, holder, holder.save(owner)) for owner, holder in self.slots.holders]
        entry = dict(namespace)
        noted = namespace.get("__annotations__")
        self.annotations = dict(noted) if isinstance(noted, dict) else {}
        cached = [(node, node.cache_info().currsize) for node in self.scan.nodes if isinstance(node, CACHED_FUNCTION)]
        others = [(other, dict(other)) for other in self.scan.namespaces]
        stand_ins = StandIns(self.scan.leaves, self.tracers)
        try:
            self.install()
            for name in plan.hidden:
                namespace.pop(name, None)
            if self.asked is not None:
                reads = self.scan.read_by_functions.union(*(item.reads for item in plan.names)) - plan.hidden
                for name in (*self.asked.wrt, *self.asked.along):
                    known = reads if name in self.asked.wrt else self.scan.read
                    self.trees[name] = read_tree(name, namespace, self.tracers, known & self.scan.read)
            for home in (namespace, *self.scan.namespaces):
                stand_ins.install(home)
            before = dict(namespace)
            before_elsewhere = [dict(other) for other in self.scan.namespaces]
            placed = [(owner, holder, holder.save(owner)) for owner, holder in self.slots.holders]
            asked = (stand_ins.on_text, stand_ins.on_missing)
            with _jax.watch_trace(self.cell.filename, *asked, stand_ins.plain) as watch:
                self.watch = watch
                value = self._statements(stand_ins)
            stand_ins.check(watch)
            for item, kind, state in self.slots.shells:
                if _is_replaced(item, kind, state):
                    part = "class" if type(item) is not kind else "__dict__"
                    raise RunByPython(
                        f"the cell gives a {kind.__name__} another {part}.",
                        why="staging follows what an object holds by these two.",
                        fix="assign to its attributes, or do it in a cell of its own without %%jit.",
                        line=self.current.span.line if self.current else None,
                    )
            self._capture(before, before_elsewhere, placed, stand_ins, value)
            if self.donate:
                self.kept = self._still_held()
            assert self.capture is not None
            return self.capture.outputs
        finally:
            stand_ins.asked.clear()
            for item, kind, state in self.slots.shells:
                restore_shell(item, kind, state)
            for owner, holder, state in reversed(saved):
                if not same_state(holder.save(owner), state):
                    holder.restore(owner, state)
            for function, size in cached:
                if function.cache_info().currsize != size:
                    function.cache_clear()  # it may have cached a tracer
            restore_names(namespace, entry, self._is_ours)
            if isinstance(noted, dict) and noted != self.annotations:
                noted.clear()
                noted.update(self.annotations)
            for other, names in others:
                restore_names(other, names)

    def _statements(self, stand_ins: StandIns) -> Any:
        __tracebackhide__ = True
        namespace, statements = self.namespace, self.cell.statements
        value = None
        turns = _Turns()
        for index in range(self.plan.start, self.plan.stop):
            statement = self.current = statements[index]
            self.index = index
            if (
                index > self.plan.start
                and not (self.whole or statement.defines)
                and not refers_to_jax(statement.names, namespace, stand_ins.plain)
            ):
                raise StopAt(index)
            stand_ins.line = statement.span.line
            self.outside.begin()
            counting = counting_code(self.cell, statement) if self.splits else None
            if statement.trailing:
                value = eval(statement.code, namespace)
            elif counting is None:
                exec(statement.code, namespace)
            else:
                namespace[TURN] = turns.begin()
                try:
                    exec(counting, namespace)
                finally:
                    namespace.pop(TURN, None)
            if self.outside.spoke and self.splits:
                raise _by_python(statement, "it prints or displays something")
            if _jax.config_values() != self.config:
                self._restore_config(statement)
        self.index = None
        return value

    def _restore_config(self, statement: Statement) -> None:
        _jax.restore_config(self.config)
        error = RunByPython(
            f"line {statement.span.line} changes jax.config while the cell is being staged.",
            why="the configuration is part of what a program is compiled for; it cannot change half way.",
            fix="change it in a cell of its own, before this one.",
            line=statement.span.line,
        )
        error.short = "it changes jax.config"
        raise error

    def _is_ours(self, name: str) -> bool:
        """Whether the statements may have bound, changed or deleted a name; otherwise another thread did."""
        known = (self.scan.stores, self.scan.read, self.plan.roots, self.plan.hidden, StandIns.NAMES)
        if self.scan.sees & Sees.NAMES or name.startswith("__") or any(name in names for names in known):
            return True
        return any(item.kind == "ImportFrom" and not item.names.binds for item in self.statements)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is traced."""
        return self.cell.statements[self.plan.start : self.plan.stop]

    def _capture(
        self,
        before: dict[str, Any],
        before_elsewhere: list[dict[str, Any]],
        placed: list[Any],
        stand_ins: StandIns,
        value: Any,
    ) -> None:
        existing = {id(item): name for name, item in before.items()}
        own = _jax.current_trace()
        capture = Capture(self.scan, self.tracers, self.replaced, existing, stand_ins.originals, own)
        template = self.template
        annotations = self.namespace.pop("__annotations__", None)
        before.pop("__annotations__", None)
        for name, item in (annotations or {}).items():
            if self.annotations.get(name, _ABSENT) is not item:
                template.annotations.append((name, self._build(capture, item, "an annotation")))
        for name, item in list(self.namespace.items()):
            if before.get(name, _ABSENT) is not item and self._is_ours(name):
                template.names.append((name, self._build(capture, item, f"`{name}`")))
                if (place := capture.place_of(item)) is not None:
                    self.named_outputs.append((name, place))
        template.deleted = [name for name in before if name not in self.namespace and self._is_ours(name)]
        for home, (names, old) in enumerate(zip(self.scan.namespaces, before_elsewhere, strict=True)):
            new = {name: item for name, item in names.items() if old.get(name, _ABSENT) is not item}
            gone = [name for name in old if name not in names]
            if new or gone:
                what = f"`{names.get('__name__')}.{{}}`"
                builds = [(name, self._build(capture, item, what.format(name))) for name, item in new.items()]
                template.elsewhere.append((home, builds, gone))
        nodes = {id(node): index for index, node in enumerate(self.scan.nodes)}
        for owner, holder, state in placed:
            now = holder.save(owner)
            if not same_state(now, state):
                self._changed(capture, owner, holder, state, now, nodes.get(id(owner)))
        template.value = self._build(capture, value, "the trailing value") if value is not None else None
        if self.asked is not None:
            lines = [item.span.line for item in self.statements if self.asked.loss in item.names.binds]
            self.loss_place = capture.result(read_loss(self.asked, self.namespace, lines[-1]))
        self.capture = capture

    def _changed(self, capture: Capture, owner: Any, holder: Any, state: Any, now: Any, node: int | None) -> None:
        if node is None:
            line = self.current.span.line if self.current else None
            raise RunByPython(
                f"the cell changes a {type(owner).__name__} in place that staging does not follow yet.",
                why="it is held by a function, a partial or a class.",
                fix="return the new value and bind it to a name.",
                line=line,
            )
        if holder is GROWN_LIST:
            now = [(None, item) for item in owner[state[0][0] :]]
        change = holder.change(state, now)
        kind = "an attribute" if holder in (SLOTS, CLASS) else f"an item of a {type(owner).__name__}"
        children = [
            (key, self._build(capture, child, f"`{key}`" if isinstance(key, str) else kind))
            for key, child in change.children
        ]
        self.template.changed.append((holder, lambda b: b.reached.nodes[node], change._replace(children=children)))

    def _build(self, capture: Capture, item: Any, what: str) -> Any:
        try:
            return capture.build(item)
        except Leaked as leak:
            raise Refused(
                f"{what} keeps a traced value of {_jax.transformation_of(leak.tracer)}.",
                why="it existed only while a function was transformed; the plain cell leaves a leaked tracer there.",
                fix="return it from the function (has_aux=True for grad), or carry it through scan.",
                line=self.current.span.line if self.current else None,
            ) from None
        except Unreplayable as error:
            if reaches_tracer(item):
                raise RunByPython(
                    f"{what} holds {error}, with traced values inside.",
                    why="such an object cannot be made anew from the results of a program.",
                    fix="make it in a cell of its own without %%jit.",
                    line=self.current.span.line if self.current else None,
                ) from None
            path = where_held(self.namespace, item)
            line = line_changing(self.statements, root_name(path)) if path is not None else None
            held = f"`{render_path(path)}`" if path is not None else what
            last = self.statements[-1].span.line
            self.template.reasons.append((line if path is not None else last, f"{held} holds {error}"))
            return lambda b: item


_MOST_TURNS = 32
"""Beyond this a loop is not written out: its body is staged once, and Python turns it."""


class _Turns:
    """Counts how often the loops of one statement turn."""

    def __init__(self) -> None:
        self._count = 0

    def begin(self) -> Callable[[], None]:
        """A statement begins. Gives what its loops call at each turn."""
        self._count = 0
        return self._turn

    def _turn(self) -> None:
        self._count += 1
        if self._count > _MOST_TURNS:
            raise _TooLong


def _by_python(statement: Statement, short: str) -> RunByPython:
    line = statement.span.line
    error = RunByPython(
        f"line {line} cannot be part of a program: {short}.", fix="leave --whole out: then Python runs it.", line=line
    )
    error.short = short
    return error


_ABSENT = object()
MANY = 10_000
"""Inputs from which on a cell is told that they cost time."""


def _is_replaced(item: Any, kind: type, state: Any) -> bool:
    return type(item) is not kind or state_of(item) is not state


def _holds(slot: Slot, value: Any) -> bool:
    return any(child is value and key == slot.key for key, child in slot.holder.save(slot.owner))


def _computes_with_jax(generator: types.GeneratorType[Any, Any, Any]) -> bool:
    frame = generator.gi_frame
    return frame is not None and refers_to_jax(names_of(generator.gi_code), {**frame.f_globals, **frame.f_locals}, {})


def restore_names(
    namespace: dict[str, Any], entry: dict[str, Any], ours: Callable[[str], bool] = lambda name: True
) -> None:
    """Makes a namespace what it was: the same names, in the same order, with the same values.

    Names that are not `ours` are left as they are.
    """
    for name in [name for name in list(namespace) if name not in entry and ours(name)]:
        del namespace[name]
    for name, item in entry.items():
        if (name not in namespace or namespace[name] is not item) and ours(name):
            namespace[name] = item
    if set(namespace) == set(entry) and list(namespace) != list(entry):
        for name in entry:
            namespace[name] = namespace.pop(name)


def trace_piece(
    cell: CellSource,
    plan: Plan,
    namespace: dict[str, Any],
    choices: Choices,
    context: tuple[Any, ...],
    device: Any = None,
    whole: bool = False,
    donate: tuple[str, ...] = (),
    asked: Asked | None = None,
    splits: bool = False,
) -> Piece:
    """Traces the statements of `plan`.

    Args:
      cell: that they belong to.
      plan: which ones.
      namespace: where they run; it is afterwards as it was.
      choices: which scalars are static; what turns out to be needed is added.
      context: JAX's ambient context.
      device: where the program will run, or None.
      whole: trace every statement, also those that Python would run.
      donate: names and paths whose buffers the program may write over.
      asked: the derivative that the program is to compute, too.
      splits: Python may run single statements: one that prints or turns many times is not traced to the end.

    Raises:
      StopAt: if a statement inside turned out to be one that Python runs.
      MissingName: if a hidden name was read first.
      NeedsConcrete: if a statement needs the value of something traced.
      Failed: if a statement raises something else, and may be left to Python.
      Exception: whatever the cell itself raises.
    """
    __tracebackhide__ = True
    scalars_freed = False
    while True:
        trace = _Trace(cell, plan, namespace, choices, donate, asked)
        trace.whole, trace.splits = whole, splits
        loose = trace.loose()
        if loose:
            choices.make_static(trace.scan.paths[index] for index in loose)
            continue
        start = time.perf_counter()
        try:
            traced = _run_trace(trace, device)
        except RunByPython as error:
            error.index = trace.index
            raise
        except (StopAt, Refused):
            raise
        except _TooLong:
            assert trace.current is not None and trace.index is not None
            error = _by_python(trace.current, f"a loop of more than {_MOST_TURNS} turns")
            error.index = trace.index
            raise error from None
        except SystemExit:
            if trace.watch is None or not trace.watch.errors:
                raise
            _explain(trace, ValueNeeded(None, "the cell caught an error that only tracing raises"))
            raise
        except NameError as error:
            if error.name in plan.hidden and error.name in namespace:
                raise MissingName(error.name) from None
            if not scalars_freed and (free := _scalars(trace)):
                scalars_freed = True
                choices.make_static(free, trace.index)
                continue
            if trace.watch is not None and trace.watch.errors:
                _explain(trace, error)
            if splits:
                raise Failed(error, trace.index) from error
            raise
        except (ValueNeeded, *_jax.TRACING_ERRORS) as error:
            free = _scalars_behind(trace, error)
            if not free and not scalars_freed:
                scalars_freed, free = True, _scalars(trace)  # it may stand in a trace of its own, which hides them
            if free:
                choices.make_static(free, trace.index)
                continue
            _explain(trace, error)
            raise
        except Exception as error:
            if not scalars_freed and (free := _scalars(trace)):
                scalars_freed = True
                choices.make_static(free, trace.index)
                continue
            if only_tracing_raises(error) or (trace.watch is not None and trace.watch.errors):
                _explain(trace, error)
            if splits:
                raise Failed(error, trace.index) from error
            raise
        assert trace.capture is not None
        if trace.reads_grown:
            choices.no_growth = True
            trace.outside.take_back()
            continue
        derivative = _differentiate(trace, traced, device) if asked is not None else None
        if derivative is not None:
            traced = derivative.traced
        try:
            cut = _cut(trace, traced) if choices.on_host else None
        except OutOfReach:
            choices.make_static(_scalars(trace))
            trace.outside.take_back()
            continue
        free = _scalars_that_show(trace, traced, cut.hosted if cut is not None else frozenset())
        if cut is None:
            passed_on = {trace.scan.paths[index] for index in trace.capture.passed_on if _is_python(trace, index)}
            free |= passed_on & _scalars(trace)
        if not free:
            trace.outside.release()
            piece = _finish(trace, traced, context, device, time.perf_counter() - start)
            if derivative is not None:
                piece.derivative = trace.asked
                trace.template.names.extend(derivative.names)
                piece.notes.extend(("gradient", None, note) for note in derivative.notes)
            donation = trace.donation() if donate else NO_DONATION
            piece.notes.extend(("donate", None, note) for note in donation.notes)
            piece.rebuild(cut, donation, trace.scan.leaves)
            return piece
        choices.make_static(free)
        trace.outside.take_back()


def _explain(trace: _Trace, error: BaseException) -> None:
    try:
        explain_needed_value(trace.attempt(), error)
    except RunByPython as needed:
        needed.index = trace.index
        raise


def _run_trace(trace: _Trace, device: Any) -> Any:
    __tracebackhide__ = True

    def cell(*leaves: Any) -> list[Any]:
        __tracebackhide__ = True
        return trace.run(leaves)

    # A name that only this trace uses keeps JAX's caches from handing out what they saw of other tracers.
    own = object() if trace.scan.held_by_functions else None
    leaves = trace.scan.leaves if device is None else move(trace.scan.leaves, device)[0]
    outside = trace.outside
    try:
        with outside, _jax.unfiltered_tracebacks(), _jax.user_context(own):
            traced = jax.jit(cell).trace(*leaves)
    except (StopAt, MissingName, RunByPython, ValueNeeded, _TooLong, *_jax.TRACING_ERRORS):
        outside.take_back()
        raise
    except Exception:
        if trace.splits:
            outside.take_back()  # Python runs the statement
        else:
            outside.release()
        raise
    return traced


def _differentiate(trace: _Trace, traced: Any, device: Any) -> Derivative:
    assert trace.asked is not None
    leaves = trace.scan.leaves if device is None else move(trace.scan.leaves, device)[0]
    wrt, along = ([trace.trees[name] for name in names] for names in (trace.asked.wrt, trace.asked.along))
    return differentiate(trace.asked, traced.jaxpr, trace.loss_place, wrt, along, leaves)


def _scalars(trace: _Trace) -> set[Any]:
    """Paths of the Python scalars that are traced and not fixed by an option."""
    pairs = zip(trace.scan.paths, trace.scan.leaves, strict=True)
    return {path for path, leaf in pairs if _is_scalar(leaf) and path not in trace.choices.fixed}


def _is_scalar(leaf: Any) -> bool:
    return type(leaf) in (float, int, complex) or isinstance(leaf, np.generic)


def _is_python(trace: _Trace, index: int) -> bool:
    return type(trace.scan.leaves[index]) in (float, int, complex)


def _scalars_behind(trace: _Trace, error: BaseException) -> set[Any]:
    """Paths of the Python scalars whose value the error asked for; all of them if that cannot be told."""
    tracer = culprit_of(error)
    free = _scalars(trace)
    if tracer is None or not trace.tracers:
        return free
    sources, _ = _jax.sources_of(tracer, trace.tracers)
    if not sources or not all(_is_scalar(trace.scan.leaves[index]) for index in sources):
        return set()
    return {trace.scan.paths[index] for index in sources} & free


def _cut(trace: _Trace, traced: Any) -> Cut | None:
    """What Python computes before the program, if there are Python scalars among the leaves.

    Raises:
      OutOfReach: if these scalars give what the trace cannot stand for.
    """
    paths, fixed = trace.scan.paths, trace.choices.fixed
    scalars = [index for index in range(len(paths)) if _is_python(trace, index) and paths[index] not in fixed]
    if not scalars:
        return None
    cut = find_prelude(traced.jaxpr, scalars, [render_path(path) for path in trace.scan.paths])
    cut.prelude.values(trace.scan.leaves)
    return cut


def _scalars_that_show(trace: _Trace, traced: Any, hosted: frozenset[Any]) -> set[Any]:
    leaves = trace.scan.leaves
    floats = {i for i, leaf in enumerate(leaves) if type(leaf) in (float, complex)}
    ints = {i for i, leaf in enumerate(leaves) if type(leaf) is int}
    if not floats and not ints:
        return set()
    jaxpr = traced.jaxpr.jaxpr
    shown = scalars_that_show(_Tail(jaxpr, len(leaves)), floats, ints, range(len(jaxpr.outvars)), hosted)
    return {trace.scan.paths[index] for index in shown} & _scalars(trace)


class _Tail:
    """A jaxpr seen without the constants that JAX puts before its arguments."""

    def __init__(self, jaxpr: Any, count: int) -> None:
        self.invars, self.outvars, self.eqns = (
            jaxpr.invars[len(jaxpr.invars) - count :],
            jaxpr.outvars,
            jaxpr.eqns,
        )


def _finish(trace: _Trace, traced: Any, context: tuple[Any, ...], device: Any, seconds: float) -> Piece:
    assert trace.capture is not None
    scan = trace.scan
    piece = Piece(
        plan=trace.plan,
        key=(device, *scan.parts),
        context=context,
        paths=scan.paths,
        where=scan.where,
        traced=traced,
        template=trace.template,
        jaxpr=traced.jaxpr,
        n_outputs=len(traced.jaxpr.out_avals),
        seconds=seconds,
    )
    piece.reasons.extend(trace.template.reasons)
    piece.reasons.extend(find_reasons(trace.cell, trace.statements, trace.namespace, scan, traced.jaxpr))
    piece.reasons.sort(key=lambda reason: reason[0] or len(trace.cell.shown))
    _note_numpy(trace, piece)
    if len(scan.leaves) > MANY:
        text = f"{len(scan.leaves):,} inputs are looked at and handed over on every run: stack them into fewer arrays"
        piece.notes.append(("cost", None, text))
    static = sorted((render_path(path) for path in _made_static(trace)), key=lambda text: (len(text), text))
    if static:
        more = f" and {len(static) - 3} more" if len(static) > 3 else ""
        piece.notes.append(("static", None, f"static: {', '.join(sorted(static[:3]))}{more}"))
    return piece


def _made_static(trace: _Trace) -> set[Any]:
    """Paths of the scalars in reach that were made static because the cell could tell their value."""
    reached = {path for _, path in trace.scan.where}
    return (trace.choices.static - trace.choices.fixed - trace.choices.unsaid) & reached


def _note_numpy(trace: _Trace, piece: Piece) -> None:
    """Notes what NumPy values lose in staged statements: their kind, and bits."""
    leaves = trace.scan.leaves
    jaxpr = _Tail(piece.jaxpr.jaxpr, len(leaves))
    foreign = {i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray | np.generic)}
    results = numpy_results(jaxpr.invars, jaxpr.eqns, jaxpr.outvars, foreign)
    for name, place in trace.named_outputs:
        if place in results:
            lines = [item.span.line for item in trace.statements if name in item.names.binds]
            text = f"`{name}` is a jax.Array, where the plain cell binds a NumPy value"
            piece.notes.append(("numpy", lines[-1] if lines else None, text))
    for index in sorted(foreign):
        narrowed = narrowed_to(leaves[index])
        if narrowed is not None:
            name, dtype = render_path(trace.scan.paths[index]), leaves[index].dtype
            piece.notes.append(("x64", None, f"`{name}` is {dtype} and becomes {narrowed} in staged statements"))
