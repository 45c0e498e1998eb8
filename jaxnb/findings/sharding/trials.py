"""Trying other shardings: the cell with a constraint at a line, or an input spread otherwise, is compiled and compared.

Compiling takes longer than a cell may be held up, so this is done for those who ask what the sharding of a run was,
and never while a cell runs. Nothing is run or bound: only shapes and shardings are compiled, and only where the code
of the cell is proved to have no effects, as for every fix that is tried (see `dry_run`). It is done in a process of its
own (see `planning`), for the program as it is, too: what XLA writes about variants is not for the user, and what it
writes about the program itself is evidence, which in this process would go to wherever everybody's errors go.
"""

from __future__ import annotations

import itertools
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import jax
import numpy as np

from jaxnb._jax import apart, given_shardings, lower_elsewhere
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.place import parse_shown
from jaxnb.findings.sharding.edits import constrained, with_keyword, with_operand
from jaxnb.findings.sharding.lints import Problem, find_problems
from jaxnb.findings.values.dry_run import harmless_statements, inputs_of
from jaxnb.findings.values.fixes import apply_edit
from jaxnb.program import Finding, Fix, count_traffic
from jaxnb.reading import (
    PLATFORM,
    SimulatedMesh,
    end_worker,
    has_worker,
    peak_bytes,
    read_hlo,
    read_modules,
    read_spec,
    simulated,
    spec_text,
    the_worker,
    with_hlo_costs,
)
from jaxnb.staging import DerivativeSpec, leaves_of
from jaxnb.units import format_bytes, format_flops

__all__ = ["PATIENCE", "tried_findings"]

PATIENCE = 10.0
"""Seconds for the trials of one piece."""

_MOST = 6  # specs that are tried for one problem


@dataclass(frozen=True, slots=True)
class _Measure:
    """What a compiled program takes of each device."""

    sent: int
    peak: int
    flops: int


def tried_findings(
    traced: LintContext, seconds: float | None = None, progress: Callable[[str], None] = lambda _: None
) -> tuple[Finding, ...]:
    """What is odd about how a piece is spread, with the fix that helps most of those that were tried.

    Args:
      traced: the piece, with the names as they are now.
      seconds: after which no further trial is begun; None for `PATIENCE`.
      progress: called with what is going on.
    """
    end = perf_counter() + (PATIENCE if seconds is None else seconds)
    problems = find_problems(traced)
    if not problems:
        return ()
    stays = has_worker()
    try:
        if any(problem.gain == "sent" for problem in problems):
            progress("asking XLA what it warns of")
            problems = find_problems(traced, _warnings(traced))
        trial = _Trial(traced)
        found: list[Finding] = []
        for number, problem in enumerate(problems, start=1):
            progress(f"trying other shardings: {number} of {len(problems)}")
            now = perf_counter()
            found.append(trial.best(problem, now + (end - now) / (len(problems) - number + 1)))
        return tuple(found)
    finally:
        if not stays:
            end_worker()


def _warnings(traced: LintContext) -> Sequence[str]:
    """What XLA writes while it partitions a program, which is compiled once more for that; none where it cannot be."""
    piece, found = traced.piece, _mesh_name(traced.namespace, traced)
    if piece.simulated is not None or found is None:
        return ()
    mesh = simulated(found[1])
    changed = piece.numbered()
    try:
        return the_worker(mesh.size).compile(lower_elsewhere(changed, (PLATFORM,)), mesh).warnings
    except Exception:  # what is written for another platform alone
        return ()


class _Trial:
    """The trials of one piece."""

    def __init__(self, traced: LintContext) -> None:
        self._text = traced.cell.shown
        self._names = dict(traced.namespace)
        self._mesh = _mesh_name(self._names, traced)
        self._before: _Measure | None = None
        planned = traced.piece.simulated
        self._where = None if self._mesh is None else simulated(self._mesh[1])
        if planned is not None:  # trials are partitioned for the CPU, also where the program is for a target
            self._where = planned.without_target()
        self._there = traced.piece.simulated is None
        self._asked = traced.piece.derivative
        self._jax = next(
            (name for name, value in self._names.items() if isinstance(value, types.ModuleType) and value is jax), ""
        )

    def best(self, problem: Problem, end: float) -> Finding:
        """The finding with the fix that made least of what is to be less; as it was if none did."""
        finding, best = problem.finding, None
        if self._mesh is None or self._where is None:
            return finding
        found: list[tuple[int, Fix]] = []
        for fix, text, spread in self._changes(problem):
            if perf_counter() > end:
                break
            if self._before is None:
                self._before = _measured(self._text, self._names, {}, self._where, self._there, self._asked)
                if self._before is None:
                    return finding
            after = _measured(text, self._names, spread, self._where, self._there, self._asked)
            if after is not None and _is_better(problem, after, self._before):
                left = after.sent if problem.gain in ("padding", "moved") else getattr(after, problem.gain)
                found.append((left, replace(fix, text=f"{fix.text} {self._told(problem, after)}", verified=True)))
                if not left:
                    break
        best = min(found, key=lambda item: item[0], default=None)
        return finding if best is None else replace(finding, fix=best[1])

    def _told(self, problem: Problem, after: _Measure) -> str:
        """What a change does, in a few words."""
        before = self._before
        assert before is not None
        if problem.gain == "moved":
            return "nothing is moved in a run then"
        if problem.gain == "padding":
            sent = f", and {_SAID['sent']} {_numbers('sent', after, before)}"
            return "all pieces are of one size then" + (sent if after.sent < 0.9 * before.sent else "")
        price = f", and {_SAID['peak']} {_numbers('peak', after, before)}" if problem.trades else ""
        return f"{_SAID[problem.gain]} {_numbers(problem.gain, after, before)}{price}"

    def _put(self, problem: Problem, mesh_name: str, mesh: Any) -> Iterator[tuple[Fix, str, dict[str, Any]]]:
        """An input that lies where the program takes it."""
        entries = [names[0] if len(names) == 1 else names or None for names in problem.cuts]
        while entries and entries[-1] is None:
            entries.pop()
        spec, (path,) = jax.sharding.PartitionSpec(*entries), problem.inputs
        if path.isidentifier() and isinstance(self._names.get(path), jax.Array | np.ndarray):
            called = self._jax or "jax"
            how = f"{path} = {called}.device_put({path}, {_written(spec, mesh_name, called)})"
            sharding = jax.sharding.NamedSharding(mesh, spec)
            yield Fix(f"put it there once, in a cell above: {how}:"), self._text, {path: sharding}

    def _changes(self, problem: Problem) -> Iterator[tuple[Fix, str, dict[str, Any]]]:
        """What may help: a fix, the cell with it, and the inputs that it spreads otherwise."""
        assert self._mesh is not None
        name, mesh = self._mesh
        if problem.local:
            edit = with_keyword(self._text, problem.local, "partitioned=True", problem.line)
            if edit is not None:
                yield Fix("let each device have its piece:", edit=edit), apply_edit(self._text, edit), {}
            return
        if problem.gain == "moved":
            yield from self._put(problem, name, mesh)
            return
        if problem.line is not None and self._jax and problem.operand[0]:
            function, shape = problem.operand
            for spec in itertools.islice(_specs(shape, mesh), _MOST):
                written = _written(spec, name, self._jax)
                edit = with_operand(self._text, problem.line, function, written, mesh, self._jax)
                if edit is not None:
                    yield Fix(f"spread what {function} takes otherwise:", edit=edit), apply_edit(self._text, edit), {}
        if problem.line is not None and self._jax:
            for spec in itertools.islice(_specs(problem.shape, mesh), _MOST):
                written = _written(spec, name, self._jax)
                edit = constrained(self._text, problem.line, written, mesh, self._jax)
                if edit is not None:
                    yield Fix("spread it otherwise there:", edit=edit), apply_edit(self._text, edit), {}
        for path in problem.inputs:
            yield from self._spread_input(path, name, mesh)

    def _spread_input(self, path: str, mesh_name: str, mesh: Any) -> Iterator[tuple[Fix, str, dict[str, Any]]]:
        """An input that is spread otherwise; one in a pytree together with all others of that, if they are alike."""
        root = re.split(r"[.\[]", path)[0]
        leaves = [leaf for _, leaf in leaves_of(self._names.get(root))]
        kinds = jax.Array | jax.ShapeDtypeStruct
        if not leaves or not all(isinstance(leaf, kinds) and leaf.shape == leaves[0].shape for leaf in leaves):
            return
        old, called = getattr(leaves[0].sharding, "spec", None), self._jax or "jax"
        for spec in itertools.islice(_specs(leaves[0].shape, mesh), _MOST):
            if old is not None and _is_same(spec, old, leaves[0].ndim):
                continue
            sharding = jax.sharding.NamedSharding(mesh, spec)
            put = f"{called}.device_put" if self._there else "jaxnb.abstract"
            how = f"{root} = {put}({root}, {_written(spec, mesh_name, called)})"
            yield Fix(f"spread it otherwise, in a cell above: {how}:"), self._text, {root: sharding}


_SAID = {"sent": "a device sends", "peak": "at its peak a device holds", "flops": "a device computes"}


def _numbers(gain: str, after: _Measure, before: _Measure) -> str:
    show = format_flops if gain == "flops" else format_bytes
    return f"{show(getattr(after, gain))} instead of {show(getattr(before, gain))}"


def _is_better(problem: Problem, after: _Measure, before: _Measure) -> bool:
    """Whether a tenth is saved of what is to be less, if that can be measured, and nothing else becomes much more."""
    others = {"sent", "peak", "flops"} - {problem.gain} - ({"peak"} if problem.trades else set())
    if any(getattr(after, one) > 1.5 * getattr(before, one) + 4096 for one in others):
        return False
    return problem.gain in ("padding", "moved") or getattr(after, problem.gain) < 0.9 * getattr(before, problem.gain)


def _measured(
    text: str,
    names: Mapping[str, Any],
    spread: Mapping[str, Any],
    mesh: SimulatedMesh,
    there: bool,
    asked: DerivativeSpec | None = None,
) -> _Measure | None:
    """What a cell takes when it is compiled; None if it was not, because it may have effects or fails.

    Args:
      text: of the cell as displayed.
      names: what it begins with.
      spread: other shardings for some of its inputs.
      mesh: that it is partitioned for.
      there: whether the devices of the mesh are there, and arrays lie on them.
      asked: the derivative that it computes, too; that of second order, or along directions, is not tried.
    """
    if asked is not None and (asked.along or asked.hessian):
        return None
    tree = parse_shown(text)
    namespace = dict(names)
    statements = harmless_statements(tree.body, namespace) if tree is not None else None
    inputs = inputs_of(statements, namespace) if statements is not None else None
    if statements is None or inputs is None:
        return None
    flat, structure = jax.tree.flatten(inputs)
    moved = {id(leaf): sharding for path, sharding in spread.items() for leaf in jax.tree.leaves(inputs[path])}
    arrays = jax.Array | jax.ShapeDtypeStruct
    places = [n for n, leaf in enumerate(flat) if isinstance(leaf, arrays) or id(leaf) in moved]
    given = [flat[n] for n in places]
    given = [_abstract(leaf) for leaf in given] if there else mesh.place(given, [""] * len(given))
    for at, place in enumerate(places):
        sharding = moved.get(id(flat[place]))
        if sharding is not None:
            given[at] = jax.ShapeDtypeStruct(given[at].shape, given[at].dtype, sharding=sharding)

    def computed(local: dict[str, Any]) -> Any:
        local = dict(namespace) | local
        for statement in statements:
            exec(statement.code, local)
        made = {name for statement in statements for name in statement.names.binds}
        return local, [
            leaf for name in sorted(made) for _, leaf in leaves_of(local.get(name)) if isinstance(leaf, jax.Array)
        ]

    def run(*arrays: Any) -> Any:
        leaves = list(flat)
        for place, array in zip(places, arrays, strict=True):
            leaves[place] = array
        given = jax.tree.unflatten(structure, leaves)
        if asked is None:
            return computed(given)[1]

        name, has_aux = asked.loss, asked.has_aux

        def loss(wrt: dict[str, Any]) -> Any:
            local, made = computed({**given, **wrt})
            return local[name][0] if has_aux else local[name], made

        return jax.value_and_grad(loss, has_aux=True)({path: given[path] for path in asked.wrt})

    try:
        with nullcontext() if there else mesh.ambient():
            with apart():
                traced = jax.jit(run).trace(*given)
            return _measure(lower_elsewhere(traced, (PLATFORM,)), mesh)
    except Exception:  # what does not compile is no fix
        return None


def _measure(lowered: Any, mesh: SimulatedMesh) -> _Measure | None:
    compiled = the_worker(mesh.size).compile(lowered, mesh)
    (module,) = read_modules(compiled)
    level = with_hlo_costs(read_hlo(module).level, module)
    sent = count_traffic(level, mesh.size)[1]
    flops = sum(op.flops or 0 for op in level.ops())
    return None if sent is None else _Measure(sent, peak_bytes(compiled) or 0, flops)


def _abstract(array: Any) -> Any:
    if not isinstance(array, jax.Array):
        return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))
    sharding = array.sharding if len(array.sharding.device_set) > 1 or array.committed else None
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding, weak_type=array.weak_type)


def _is_same(spec: Any, other: Any, rank: int) -> bool:
    """Whether two specs cut an array alike, however they are written."""
    return read_spec(spec, rank) == read_spec(other, rank)


# --- specs ---


def _specs(shape: Sequence[int], mesh: Any) -> Iterator[jax.sharding.PartitionSpec]:
    """Specs that divide a shape: all axes along one dimension, two of them along two, one alone, and none."""
    axes = [name for name, size in mesh.shape.items() if size > 1]
    found: dict[Any, None] = {}

    def add(entries: Mapping[int, tuple[Any, ...]]) -> None:
        parts = {at: math.prod(mesh.shape[name] for name in names) for at, names in entries.items()}
        if all(shape[at] % count == 0 and shape[at] >= count for at, count in parts.items()):
            listed = [entries.get(at) for at in range(max(entries, default=-1) + 1)]
            told = [names[0] if names is not None and len(names) == 1 else names for names in listed]
            found[jax.sharding.PartitionSpec(*told)] = None

    for one, other in itertools.permutations(range(len(shape)), 2):
        if len(axes) > 1:
            add({one: (axes[0],), other: (axes[1],)})
    for at in range(len(shape)):
        add({at: tuple(axes)})
    for at, name in itertools.product(range(len(shape)), axes):
        add({at: (name,)})
    add({})
    yield from found


def _written(spec: jax.sharding.PartitionSpec, mesh: str, jax_name: str) -> str:
    """A sharding as a user writes it; the mesh of all cells need not be said."""
    told = f"{jax_name}.{spec_text(spec)}"
    return f"{jax_name}.NamedSharding({mesh}, {told})" if mesh else told


def _mesh_name(names: Mapping[str, Any], traced: LintContext) -> tuple[str, Any] | None:
    """The mesh that the arrays of a piece lie on, and what it is called: "" if it is the one of all cells."""
    if traced.piece.simulated is not None:
        return "", traced.piece.simulated.mesh
    shardings = given_shardings(traced.piece.traced)
    own = next((sharding.mesh for sharding in shardings if isinstance(sharding, jax.sharding.NamedSharding)), None)
    ambient = jax.sharding.get_mesh()
    if not ambient.empty and own in (None, ambient):
        return "", ambient
    name = next((name for name, value in names.items() if isinstance(value, jax.sharding.Mesh) and value == own), None)
    return None if name is None else (name, own)
