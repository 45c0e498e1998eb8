"""One trace of a stretch of statements: tracers in, tracers out, and everything put back.

The statements run in the user's own namespace, with tracers standing where the arrays stood. What changed is captured
as a recipe; then the namespace and every object are what they were.
"""

from __future__ import annotations

import contextvars
import functools
import types
import weakref
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import CodeType
from typing import Any

import jax

from jaxnb import _jax
from jaxnb._jax import (
    JitCall,
    Notes,
    TraceWatch,
    answer_as_eager,
    default_device,
    eqn_places,
    note_jit_calls,
    note_on_host,
    place_of,
    watch_trace,
)
from jaxnb.errors import RunByPython
from jaxnb.runtime import Undo
from jaxnb.staging.cells.append_only import NO_USES, ListUses
from jaxnb.staging.cells.blocks import TURN, counting_code
from jaxnb.staging.cells.cell import CellSource, Statement, only_assigns
from jaxnb.staging.cells.code import Sees
from jaxnb.staging.cells.reach import ATOMS, refers_to_jax
from jaxnb.staging.cells.referents import CACHED_FUNCTION, state_of
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.journal import restore_changed, restore_names, restore_shell
from jaxnb.staging.objects.mutables import CLASS, CONTEXT, GROWN_LIST, SLOTS, same_state
from jaxnb.staging.objects.paths import Choices, Path, render_path, root_name
from jaxnb.staging.objects.slots import Slot, Slots
from jaxnb.staging.objects.static import ASKS_CACHE, kept_by
from jaxnb.staging.trace.before import Before
from jaxnb.staging.trace.branches import Branches
from jaxnb.staging.trace.called_back import CalledBack, NotCalled, read_called_back
from jaxnb.staging.trace.caught import may_catch, note_caught
from jaxnb.staging.trace.choosing import choose_by_plain_class
from jaxnb.staging.trace.copies import Copies, cannot_copy, copies_for_others, dispatching, functions_of, use
from jaxnb.staging.trace.diagnosis import Attempt
from jaxnb.staging.trace.donation import Donation, plan_donation
from jaxnb.staging.trace.ended import MissingName, ReadsGrown, StopAt
from jaxnb.staging.trace.functions import Called, called_in, counting_turns
from jaxnb.staging.trace.gradient import DerivativeSpec, Tree, read_loss, read_tree
from jaxnb.staging.trace.instances import InstanceLog
from jaxnb.staging.trace.moves import moved, rebound
from jaxnb.staging.trace.noticing import Importing, Noticing
from jaxnb.staging.trace.output_paths import changed_at, output_paths
from jaxnb.staging.trace.output_recipe import SMALLEST_ID, Capture, Leaked, OutputRecipe, Unreplayable
from jaxnb.staging.trace.piece import Plan
from jaxnb.staging.trace.reachable import reached_from, reaches_tracer, stands_for_a_value
from jaxnb.staging.trace.reasons import keeps_traced, line_changing, where_held
from jaxnb.staging.trace.recorder import Recorder
from jaxnb.staging.trace.refused import refuse_generators, refuse_metadata
from jaxnb.staging.trace.side_effects import SideEffects
from jaxnb.staging.trace.size_questions import SizeQuestions
from jaxnb.staging.trace.tracer_patches import TracerPatches, ValueNeeded
from jaxnb.staging.trace.turns import BUDGET, Turns
from jaxnb.staging.trace.written_out import LARGE, Loop, WrittenOut, long_loop

__all__ = ["MissingName", "ReadsGrown", "StopAt", "Trace", "by_python"]


class Trace:
    """The state of one attempt."""

    def __init__(
        self,
        cell: CellSource,
        plan: Plan,
        namespace: dict[str, Any],
        choices: Choices,
        donate: tuple[str, ...] = (),
        asked: DerivativeSpec | None = None,
    ) -> None:
        self.copies = copies_for_others(plan, namespace, choices)
        original = namespace
        if self.copies is not None:
            namespace = self.copies.namespace
        self.cell, self.namespace, self.choices, self.donate = cell, namespace, choices, donate
        self.asked = asked
        self.trees: dict[str, Tree] = {}
        self.loss_place = 0
        self.slots = Slots()
        instead = self.copies.instead if self.copies is not None else None
        self.scan = plan.scan(namespace, choices, self.slots, instead)
        wanted = replace(
            plan,
            sees=self.scan.sees | plan.sees | (Sees.IDENTITY if donate else 0),
            list_uses=NO_USES if choices.no_growth else self.scan.list_uses | ListUses(cell.grown),
            hidden=frozenset() if self.scan.sees & Sees.NAMES else plan.hidden,
        )
        if wanted != plan:
            plan = wanted
            self.slots = Slots()
            self.scan = plan.scan(namespace, choices, self.slots, instead)
        if self.scan.reads_grown:
            plan = replace(plan, list_uses=NO_USES)
            self.slots = Slots()
            self.scan = plan.scan(namespace, choices, self.slots, instead)
        self.plan = plan
        self.walked = self.scan if self.copies is None else self._walk_of(original, self.copies)
        refuse_generators(self.scan, plan)
        refuse_metadata(self.scan)
        self.tracers: list[Any] = []
        self.held: list[Any] = []
        self.recorder: Recorder | None = None
        self.capture: Capture | None = None
        self.recipe = OutputRecipe()
        self.replaced: dict[int, int] = {}
        self.made: list[tuple[Path, Any]] = []
        self.output_paths: list[tuple[Path, int]] = []
        self.built: list[Any] = []
        self.current: Statement | None = None
        self.index: int | None = None
        self.watch: TraceWatch | None = None
        self.config: dict[str, Any] = {}
        self.annotations: dict[str, Any] = {}
        self.whole = False
        self.outside = SideEffects()
        self.noticing = Noticing()
        self.saw: list[tuple[int | None, str]] = []
        self.splits = False
        self.budget: int | None = BUDGET
        self.kept: set[int] = set()
        self.caches_kept: set[int] = set()
        self.moves: set[Path] = set()
        self.reads_grown = False
        self.here = False
        self.asked_where: int | None = None
        self.guards: list[Any] = []
        self.called: list[Any] = []
        self.branches: Branches | None = None
        self.checks: list[tuple[int, bool]] = []
        self.said_numbers: list[int] = []
        self.notes, self.instances = Notes(), InstanceLog()
        self.sets = ""
        self.names_then: dict[str, Any] = {}
        self.eqns_then: list[Any] = []
        self.stack: tuple[Called, ...] = ()
        self._running: tuple[CodeType, ...] = ()  # of the statement that is traced
        self.over: list[weakref.ref[Any]] = []
        self.called_back: CalledBack | None = None
        self.stand_ins: TracerPatches | None = None
        self.questions: SizeQuestions | None = None

    def _walk_of(self, original: dict[str, Any], copies: Copies) -> Scan:
        """The walk over the originals, which must have met the same as that over the copies, in the same order."""
        scan = self.plan.scan(original, self.choices)
        same = len(scan.nodes) == len(self.scan.nodes) and len(scan.namespaces) == len(self.scan.namespaces)
        if (
            not (same and all(map(copies.is_of, self.scan.nodes, scan.nodes)))
            or self.scan.strays
            or [id(leaf) for leaf in scan.leaves] != [id(leaf) for leaf in self.scan.leaves]
        ):
            raise cannot_copy("objects that refer to each other in a way of their own")
        return scan

    def _lies(self) -> Any:
        """How every array of the plain cell lies, where none is bound to a device and nothing names one."""
        arrays = [leaf for leaf in self.scan.leaves if isinstance(leaf, jax.Array)]
        if not self.here or self.copies is not None or not jax.sharding.get_abstract_mesh().empty:
            return None
        sharding = jax.sharding.SingleDeviceSharding(default_device())
        if any(array.committed or array.sharding != sharding for array in arrays):
            return None
        if self.asked_where is None:
            self.asked_where = self.index
        return sharding

    def _identify(self, value: Any) -> Any:
        """What was there in the place of a value whose id is asked for.

        That two ids are the same is part of the key; what they are is not: numbers in reach must not be compared to it.
        """
        if self.copies is not None or not self.plan.sees & Sees.IDENTITY or self._may_know_ids:
            self.noticing.stop("it asks for the id of an object")
        place = self.replaced.get(id(value))
        return self.scan.nodes[place] if place is not None else value

    def _numbers(self) -> Iterable[tuple[Any, float | int]]:
        leaves = zip(self.tracers, self.scan.leaves, self.scan.paths, strict=True)
        return ((t, leaf) for t, leaf, at in leaves if type(leaf) in (float, int) and at not in self.choices.fixed)

    def _keep_called(self, results: Sequence[Any]) -> None:
        self.called.extend(results)

    def _is_there(self, tracer: Any, sharding: Any) -> bool:
        """Whether what a tracer stands for is committed to a sharding; of what is computed nobody knows."""
        index = next((index for index, one in enumerate(self.tracers) if one is tracer), None)
        if index is None:
            self.noticing.stop("where a value lies decides which object device_put gives")
            return False
        leaf = self.scan.leaves[index]
        return bool(leaf.committed and leaf.sharding == sharding)

    @functools.cached_property
    def _may_know_ids(self) -> bool:
        """Whether the statements reach numbers that could be ids of objects."""
        return any(_holds_id(part) for part in self.scan.parts)

    def attempt(self) -> Attempt:
        """What a diagnosis of a failure needs to know."""
        line = self.current.span.line if self.current is not None else 1
        caught = self.watch is not None and len(self.watch.errors) > 1
        return Attempt(self.cell, line, self.tracers, self.scan.paths, self.names_then, caught)

    # --- tracers in, tracers out ---

    def install(self) -> None:
        """Puts the tracers where the leaves are held."""
        for places, stand_in in zip(self.slots.leaves, self.held, strict=True):
            for slot in places:
                slot.holder.put(slot.owner, slot.key, stand_in)
        for slot in self.slots.trace_states:
            slot.holder.put(slot.owner, slot.key, _jax.current_trace_state())
        nodes = {id(node): index for index, node in enumerate(self.scan.nodes)}
        for owner, name, function, list_uses in self.scan.methods:
            if list_uses.touches(self.scan.grown_bases):
                guard = self._guard(function)
                self.replaced[id(guard)] = nodes[id(function)]
                if self.copies is None:
                    CLASS.put(owner, name, guard)
                else:
                    self.copies.instead[id(vars(owner)[name])] = guard
        if self.copies is not None:
            self._dispatch(self.copies)
        for node in self.slots.built:
            if not node.children or not any(self._is_new(kind, place) for _, kind, place in node.children):
                self.built.append(node.value)
                continue
            items = list(node.value) if node.treedef is None else (_jax.flatten_one_level(node.value) or ([], None))[0]
            for position, kind, place in node.children:
                items[position] = self.held[place] if kind == "leaf" else self.built[place]
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

    def _dispatch(self, copies: Copies) -> None:
        """Classes are shared with the other threads: their functions become such as run the copies in this one."""
        for node in self.scan.nodes:
            for name, item in list(vars(node).items()) if issubclass(type(node), type) else ():
                if any(copies.instead.get(id(part), part) is not part for part in functions_of(item)):
                    CLASS.put(node, name, dispatching(item))

    def _guard(self, function: types.FunctionType) -> Any:
        """What stands in for a method that reads a list which the code only appends to: it says that it was called."""

        @functools.wraps(function)
        def guard(*args: Any, **kwargs: Any) -> Any:
            self.reads_grown = True  # should the code catch everything
            raise ReadsGrown

        self.guards.append(guard)
        return guard

    def _is_new(self, kind: str, place: int) -> bool:
        return kind == "leaf" or self.built[place] is not self.slots.built[place].value

    def loose(self) -> set[int]:
        """Leaves that could not be replaced: at one of their places, or no slot and no rebuilt node holds them."""
        held = {i for i, places in enumerate(self.slots.leaves) if places}
        inside = self._with_inside(held, [bool(node.slots) for node in self.slots.built])
        free = set(range(len(self.scan.leaves))) - inside | self.slots.fixed
        return free if self.copies is None else free | self._seen_by_others(self.copies)

    def reached_by(self, statement: Statement) -> Scan:
        """A walk of what one statement reaches."""
        names, roots = statement.names, tuple(sorted(statement.names.reads))
        alone = replace(self.plan, roots=roots, names=(names,), sees=0, list_uses=NO_USES, ran=None)
        return alone.scan(self.namespace, self.choices, Slots())

    def compares_cached(self) -> tuple[int, str] | None:
        """The first statement that uses a function under `functools.lru_cache` in a way that a program could not.

        It may get an input from it, and compare objects: the function gives the value itself, for which something else
        stands at all places that staging knows. Or the cell asks how often such functions were called.
        """
        cached = {id(node): node for node in self.scan.nodes if _is_cached(node)}
        if cached and not ASKS_CACHE.isdisjoint(self.scan.attributes | self.cell.attributes):
            keeping, short = set(cached), "functools counts what it calls"
        elif self.scan.sees & Sees.IDENTITY:
            leaves = {id(leaf) for leaf in self.scan.leaves if type(leaf) not in ATOMS}  # equal ints may be one object
            keeping = {key for key, node in cached.items() if not leaves.isdisjoint(kept_by(node))}
            short = "it may compare what functools keeps"
        else:
            return None
        for index in range(self.plan.start, self.plan.stop) if keeping else ():
            names = self.cell.statements[index].names
            roots = tuple(name for name in self.plan.roots if name in names.reads)
            alone = replace(self.plan, roots=roots, names=(names,)).scan(self.namespace, self.choices)
            if any(id(node) in keeping for node in alone.nodes):
                return index, short
        return None

    def _seen_by_others(self, copies: Copies) -> set[int]:
        """Leaves that something holds which is no copy, such as a class."""

        def seen(slots: list[Slot]) -> bool:
            return any(not copies.is_ours(slot.owner) for slot in slots)

        leaves = {i for i, places in enumerate(self.slots.leaves) if seen(places)}
        return self._with_inside(leaves, [seen(node.slots) for node in self.slots.built])

    def _still_held(self) -> set[int]:
        """Leaves that the same places hold as before the statements ran, by way of what they did to these places."""
        held = {i for i, places in enumerate(self.slots.leaves) if any(s.holds(self.held[i]) for s in places)}
        nodes = [any(slot.holds(self.built[i]) for slot in node.slots) for i, node in enumerate(self.slots.built)]
        return self._with_inside(held, nodes)

    def _with_inside(self, leaves: set[int], nodes: list[bool]) -> set[int]:
        """These leaves, and those inside of these rebuilt nodes."""
        for index in range(len(self.slots.built) - 1, -1, -1):
            for _, kind, place in self.slots.built[index].children if nodes[index] else ():
                if kind == "leaf":
                    leaves.add(place)
                else:
                    nodes[place] = True
        return leaves

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
            frozenset([name for name, _ in self.recipe.names] + self.recipe.deleted),
            frozenset[str]().union(*(statement.names.reads for statement in later)),
        )

    # --- running the statements ---

    def run(self, tracers: Sequence[Any]) -> list[Any]:
        """What JAX traces: the statements, run in the namespace. Returns the tracers that are results.

        They run in a copy of the context: a context variable that had no value could not be put back.
        """
        __tracebackhide__ = True
        return contextvars.copy_context().run(self._run, tracers)

    def _run(self, tracers: Sequence[Any]) -> list[Any]:
        __tracebackhide__ = True
        namespace, plan = self.namespace, self.plan
        self.tracers = list(tracers)
        answer_as_eager(
            _jax.current_trace(),
            hands_on=self.asked is None and bool(plan.sees & Sees.IDENTITY),
            no_arrays=[t for t, leaf in zip(tracers, self.scan.leaves, strict=True) if not isinstance(leaf, jax.Array)],
            is_there=self._is_there,
            on_callback=self._keep_called,
        )
        self.over.append(weakref.ref(_jax.current_trace()))
        if self.splits and self.budget is not None:
            _jax.notice_equations(LARGE // 16, self.check_loops)
        self.config = _jax.config_values()
        saved = [(owner, holder, holder.save(owner)) for owner, holder in self.slots.holders]
        entry = dict(namespace)
        noted = namespace.get("__annotations__")
        self.annotations = dict(noted) if isinstance(noted, dict) else {}
        others = [(other, dict(other)) for other in self.scan.namespaces]
        named = (*self.asked.wrt, *self.asked.along) if self.asked is not None else ()
        to_jax = {index for name in named for index in self.scan.leaves_below(name)}
        stand_ins = TracerPatches(
            self.scan.leaves,
            self.tracers,
            self.outside,
            lambda index: render_path(self.scan.paths[index]),
            to_jax,
            self._lies,
            self.choices.on_host,
            self._identify,
            self.questions,
        )
        self.held, self.recorder, self.stand_ins = stand_ins.held, stand_ins.recorder, stand_ins
        note_on_host(_jax.current_trace(), self.recorder.lifts)
        if self.questions is not None:
            self.questions.take_scalars(self.tracers, self.scan.leaves)
        self.noticing.lets_look = not self.splits
        with Undo() as back:
            kept = {key: item for node in filter(_is_cached, self.scan.nodes) for key, item in kept_by(node).items()}
            there = Before(kept)
            back.add(there.__exit__, None, None, None)
            there.__enter__()
            for other, names in others:
                back.add(restore_names, other, names)
            if isinstance(noted, dict):
                back.add(restore_names, noted, self.annotations)
            back.add(restore_names, namespace, entry, self._is_ours)
            for function in filter(_is_cached, self.scan.nodes):
                back.add(self._forget_since, function, function.cache_info().currsize)
            for owner, holder, state in saved:
                back.add(restore_changed, owner, holder, state)
            for shell in self.slots.shells:
                back.add(restore_shell, *shell)
            back.add(stand_ins.close)
            if self.choices.on_host and self.choices.branches and self.asked is None:
                self.branches = Branches(_jax.current_trace(), self._numbers())
                back.add(self.branches.close)
            back.add(there.end_generators)  # before anything is put back: what they do at their end is part of that
            if self.copies is not None:
                use(self.copies.instead, back)
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
            context = contextvars.copy_context()
            reads_class = bool(self.scan.sees & Sees.CLASS_READ)
            choosing = choose_by_plain_class(
                self.scan.dispatchers, stand_ins.class_of, stand_ins.need, self.noticing.stop
            )
            seen = self.scan.attributes | self.cell.attributes
            watching = watch_trace(self.cell.filename, stand_ins, reads_class, seen)
            with watching as watch, note_jit_calls() as calls, choosing:
                self.watch = watch
                try:
                    codes = [statement.code for statement in self.statements]
                    catches = may_catch(codes, self.scan.nodes)
                    with note_caught(_jax.current_trace(), seen) if catches else nullcontext(()) as caught:
                        value = self._statements(stand_ins, caught)
                except BaseException as error:
                    self.names_then = dict(namespace)
                    self.eqns_then = list(_jax.equations_so_far()) if isinstance(error, _NEEDING) else []
                    self.stack = called_in(error.__traceback__, self._running)
                    raise
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
            self._refuse_context(context)
            self._keep_cached(there)
            self.called_back = self._called_back(there)
            self._capture(before, before_elsewhere, placed, stand_ins, there, calls, value)
            if self.donate:
                self.kept = self._still_held()
            assert self.capture is not None
            return self.capture.outputs

    def _keep_cached(self, there: Before) -> None:
        """What functions under `functools.lru_cache` keep stays with them, and is bound as itself, if all is plain."""
        for function in filter(_is_cached, self.scan.nodes if self.copies is None else ()):
            kept = kept_by(function)
            if not any(map(reaches_tracer, kept.values())):
                self.caches_kept.add(id(function))
                there.keep(kept)

    def _forget_since(self, function: Any, size: int) -> None:
        if function.cache_info().currsize != size and id(function) not in self.caches_kept:
            function.cache_clear()  # it may have cached a tracer

    def _refuse_context(self, before: contextvars.Context) -> None:
        """A context variable that was set, and that the walk has not met with a value."""
        followed = {id(owner) for owner, holder in self.slots.holders if holder is CONTEXT}
        for variable, value in contextvars.copy_context().items():
            if id(variable) not in followed and before.get(variable, _ABSENT) is not value:
                raise RunByPython(
                    f"the cell sets the context variable `{variable.name}`.",
                    why="they are traced in a context of their own, of which staging follows what had a value.",
                    fix="leave --whole out: then Python runs it.",
                    short="it sets a context variable",
                )

    def _called_back(self, there: Before) -> CalledBack | None:
        """What the program will call while it runs."""
        eqns = list(_jax.equations_so_far())
        inputs = {id(item): place for items in (self.tracers, self.held) for place, item in enumerate(items)}
        try:
            found = read_called_back(eqns, self.scan, self.namespace, there.holds, inputs)
        except NotCalled as error:
            index = self.statement_of(eqns, error.eqn)
            refused = by_python(self.cell.statements[index], error.short)
            self.index = index
            raise refused from None
        if found is not None and found.changes is not None and self.splits:
            after = self.statement_of(eqns, found.changes) + 1
            if after < self.plan.stop:
                raise StopAt(after)  # what comes then may read what it changes
        return found._replace(changes=None) if found is not None else None

    def statement_of(self, eqns: Iterable[Any], eqn: Any) -> int:
        """Which statement an equation comes from; one that no line of the cell made is of the statement before it."""
        found = self.plan.start
        spans = [(index, self.cell.statements[index].span) for index in range(self.plan.start, self.plan.stop)]
        for each in eqns:
            lines = [place.line for place in eqn_places(each) if place.file == self.cell.filename]
            here = [index for index, span in spans if lines and span.line <= lines[-1] <= span.end_line]
            found = here[0] if here and here[0] > found else found
            if each is eqn:
                break
        return found

    def check_loops(self, eqns: Iterable[Any]) -> None:
        """Raises a `WrittenOut` if a function is called whose loop should not be written out."""
        loop = long_loop(eqns, self.cell.filename)
        if loop is not None:
            raise WrittenOut(loop)

    def calling(self, loop: Loop) -> int:
        """The index of the statement that calls the function of a loop."""
        place = place_of(*loop.call)
        line = place.line if place is not None else 0
        running = range(self.plan.start, self.plan.stop)
        return max((i for i in running if self.cell.statements[i].span.line <= line), default=self.plan.start)

    def _statements(self, stand_ins: TracerPatches, caught: Sequence[str]) -> Any:
        __tracebackhide__ = True
        namespace, statements = self.namespace, self.cell.statements
        value = None
        turns = Turns(self.budget)
        for index in range(self.plan.start, self.plan.stop):
            statement = self.current = statements[index]
            self.index = index
            if (
                index > self.plan.start
                and not (self.whole or statement.defines or (self.choices.joins and only_assigns(statement)))
                and not refers_to_jax(statement.names, namespace, stand_ins.plain)
            ):
                raise StopAt(index)
            stand_ins.line = statement.span.line
            self.outside.begin()
            counting = counting_code(self.cell, statement) if self.splits and self.budget is not None else None
            self._running = (statement.code,) if counting is None else (counting,)
            if statement.trailing:
                value = eval(statement.code, namespace)
            elif counting is None and statement.takes and self.splits and self.budget is not None:
                with counting_turns(turns.begin()):
                    exec(statement.code, namespace)
            elif counting is None:
                exec(statement.code, namespace)
            else:
                namespace[TURN] = turns.begin()
                try:
                    exec(counting, namespace)
                finally:
                    namespace.pop(TURN, None)
            if self.sets:
                raise by_python(statement, self.sets)
            if isinstance(self.noticing.touched, Importing):
                raise self.noticing.touched
            if self.noticing.touched is not None:  # the statement has caught what was raised then
                raise by_python(statement, self.noticing.touched.short)
            if caught and not (self.watch is not None and self.watch.errors):  # which is explained otherwise
                raise by_python(statement, caught[0])
            for tracer, _ in self.outside.promised.values():
                raise ValueNeeded(tracer, "its text is wanted")
            if self.outside.unsure:
                self._saw(statement, "it prints or displays something")
            if self.outside.filters_warnings():
                raise by_python(statement, "it changes which warnings are given")
            if self.outside.drew():
                self._saw(statement, "it draws from a random state")
            while self.noticing.looked:
                self._saw(statement, self.noticing.looked.pop())
            if _jax.config_values() != self.config:
                self._restore_config(statement)
        self.index = None
        return value

    def _saw(self, statement: Statement, short: str) -> None:
        """A statement depends on what another run would find otherwise: Python runs it, or it is traced each time."""
        if self.splits:
            raise by_python(statement, short)
        self.saw.append((statement.span.line, short))

    def spread(self, tracer: Any) -> bool:
        """Whether a tracer is taken to stand for an array on several devices."""
        return self.stand_ins is not None and self.stand_ins.is_spread(tracer)

    def on_setting(self, short: str) -> None:
        """Called when the statements are about to set something in JAX of which a jaxpr knows nothing."""
        self.sets = short  # their own `except` may catch what is raised
        assert self.current is not None
        raise by_python(self.current, short)

    def _restore_config(self, statement: Statement) -> None:
        _jax.restore_config(self.config)
        raise RunByPython(
            f"line {statement.span.line} changes jax.config while the cell is being staged.",
            why="the configuration is part of what a program is compiled for; it cannot change half way.",
            fix="change it in a cell of its own, before this one.",
            line=statement.span.line,
            short="it changes jax.config",
        )

    def _is_ours(self, name: str) -> bool:
        """Whether the statements may have bound, changed or deleted a name; otherwise another thread did."""
        if name == "__builtins__" and name not in self.scan.stores:
            return False  # it is `exec` that binds it, and all of the shell hangs on it
        known = (self.scan.stores, self.scan.read, self.plan.roots, self.plan.hidden, TracerPatches.NAMES)
        if self.scan.sees & Sees.NAMES or name.startswith("__") or any(name in names for names in known):
            return True
        if stands_for_a_value(self.namespace.get(name)):
            return True  # it was bound by its text
        return any(item.kind == "ImportFrom" and not item.names.binds for item in self.statements)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is traced."""
        return self.plan.statements_of(self.cell)

    def _capture(
        self,
        before: dict[str, Any],
        before_elsewhere: list[dict[str, Any]],
        placed: list[Any],
        stand_ins: TracerPatches,
        there: Before,
        calls: list[JitCall],
        value: Any,
    ) -> None:
        existing = {id(item): name for name, item in before.items()}
        own = _jax.current_trace()
        originals, homes = stand_ins.originals, None
        if self.copies is not None:
            originals, homes = {**originals, **self.copies.originals}, self.copies.homes
        lifts = stand_ins.recorder.lifts
        capture = Capture(self.scan, self.held, self.replaced, existing, originals, there, own, homes, calls, lifts)
        capture.sizes = self.questions
        recipe = self.recipe
        annotations = self.namespace.pop("__annotations__", None)
        before.pop("__annotations__", None)
        for name, item in (annotations or {}).items():
            if self.annotations.get(name, _ABSENT) is not item:
                recipe.annotations.append((name, self._build(capture, item, "an annotation")))
        for name, item in list(self.namespace.items()):
            if before.get(name, _ABSENT) is not item and self._is_ours(name):
                recipe.names.append((name, self._build(capture, item, f"`{name}`")))
                self.moves |= rebound((None, "name", name), before.get(name), item)
                self.made.append(((None, "name", name), item))
        recipe.deleted = [name for name in before if name not in self.namespace and self._is_ours(name)]
        for home, (names, old) in enumerate(zip(self.scan.namespaces, before_elsewhere, strict=True)):
            new = {name: item for name, item in names.items() if old.get(name, _ABSENT) is not item}
            gone = [name for name in old if name not in names]
            if new or gone:
                what = f"`{names.get('__name__')}.{{}}`"
                builds = [(name, self._build(capture, item, what.format(name))) for name, item in new.items()]
                recipe.elsewhere.append((home, builds, gone))
                self.made.extend(((names.get("__name__"), "global", name), item) for name, item in new.items())
        nodes = {id(node): index for index, node in enumerate(self.scan.nodes)}
        for owner, holder, state in placed:
            now = holder.save(owner)
            if not same_state(now, state):
                self._changed(capture, owner, holder, state, now, nodes.get(id(owner)))
        recipe.value = self._build(capture, value, "the trailing value") if value is not None else None
        recipe.said = [(item.say, self._build(capture, item.values, "what is printed")) for item in self.outside.said]
        recipe.says_values = any(_jax.is_tracer(value) for item in self.outside.said for value in item.values)
        if self.asked is not None:
            lines = [item.span.line for item in self.statements if self.asked.loss in item.names.binds]
            self.loss_place = capture.result(read_loss(self.asked, self.namespace, lines[-1]))
        self.checks = self.branches.checks(capture.result) if self.branches is not None else []
        said = [value for item in self.outside.said for value in item.values]
        self.said_numbers = [capture.result(value) for value in said if _jax.number_class(value) is not None]
        for tracer in self.called:
            capture.result(tracer)  # XLA would call no function whose results nobody takes
        if capture.holds_ids(stand_ins.ids):
            raise RunByPython(
                "the cell keeps the id of an object.",
                why="a run that reuses the program may find or make another object, with another id.",
                fix="use the object itself as the key, or a name.",
                line=self.statements[-1].span.line if len(self.statements) == 1 else None,
                short="it keeps the id of an object",
            )
        if self.copies is not None and any(map(self.copies.is_held, capture.intermediate)):
            raise cannot_copy("what JAX has made of a function of yours")
        self.capture, self.output_paths = capture, [*output_paths(capture, self.made, value)]

    def _changed(self, capture: Capture, owner: Any, holder: Any, state: Any, now: Any, node: int | None) -> None:
        if node is None:
            line = self.current.span.line if self.current else None
            raise RunByPython(
                f"the cell changes a {type(owner).__name__} in place that staging does not follow yet.",
                why="it is held by a function, a partial or a class.",
                fix="return the new value and bind it to a name.",
                line=line,
            )
        path = self.slots.held_at.get(id(owner))
        if path is not None and holder is not GROWN_LIST:
            self.moves |= moved(path, holder, state, now)
        if holder is GROWN_LIST:
            now = [(None, item) for item in owner[state[0][0] :]]
        change = holder.change(state, now)
        self.made.extend(changed_at(self.slots, owner, holder, change))
        capture.note_keys(key for key, _ in change.children)
        kind = "an attribute" if holder in (SLOTS, CLASS) else f"an item of a {type(owner).__name__}"
        children = [
            (key, self._build(capture, child, f"`{key}`" if isinstance(key, str) else kind))
            for key, child in change.children
        ]
        self.recipe.change(holder, node, change._replace(children=children), state, now)

    def _build(self, capture: Capture, item: Any, what: str) -> Any:
        try:
            return capture.build(item)
        except Leaked as leak:
            line = self.current.span.line if self.current else None
            raise keeps_traced(what, leak.tracer, self.namespace, line) from None
        except Unreplayable as error:
            if self.copies is not None:
                raise cannot_copy(str(error)) from None
            if reaches_tracer(item) or error.of_trace:
                raise RunByPython(
                    f"{what} holds {error}{', with traced values inside' * (not error.of_trace)}.",
                    why="such an object cannot be made anew from the results of a program.",
                    fix="make it in a cell of its own without %%jit.",
                    line=self.current.span.line if self.current else None,
                ) from None
            path = where_held(self.namespace, item)
            line = line_changing(self.statements, root_name(path)) if path is not None else None
            held = f"`{render_path(path)}`" if path is not None else what
            root = root_name(path) if path is not None else None
            binding = [index for index, other in enumerate(self.statements) if root in other.names.binds]
            if self.splits and binding:  # Python makes anew on each run what no replay can
                self.index = self.plan.start + binding[-1]
                raise by_python(self.statements[binding[-1]], f"{held} holds {error}") from None
            last = self.statements[-1].span.line
            self.recipe.reasons.append((line if path is not None else last, f"{held} holds {error}"))
            self.recipe.kept.extend(reached_from(item))
            return lambda b: item


def by_python(statement: Statement, short: str) -> RunByPython:
    """The error that gives a statement to Python for a reason."""
    line = statement.span.line
    what = f"line {line} cannot be part of a program: {short}."
    return RunByPython(what, fix="leave --whole out: then Python runs it.", line=line, short=short)


def _holds_id(part: Any) -> bool:
    """Whether a part of a key holds a number that could be the id of an object."""
    if type(part) in (tuple, frozenset):
        return any(map(_holds_id, part))
    return type(part) is int and part > SMALLEST_ID


_ABSENT = object()
_NEEDING = ValueNeeded, *_jax.TRACING_ERRORS


def _is_cached(node: Any) -> bool:
    return issubclass(type(node), CACHED_FUNCTION)


def _is_replaced(item: Any, kind: type, state: Any) -> bool:
    return type(item) is not kind or state_of(item) is not state
