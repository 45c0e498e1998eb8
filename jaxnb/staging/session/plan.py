"""Which statements of a cell make a piece, which Python runs, and which names a piece takes in."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxnb.staging.cells.blocks import COMPOUND
from jaxnb.staging.cells.cell import CellSource, Statement, calls_for_effect, only_assigns, tells_only_shapes
from jaxnb.staging.cells.code import Sees
from jaxnb.staging.cells.effects import direct_effect, first_unseen, resolve
from jaxnb.staging.cells.reach import hides, refers_to_jax
from jaxnb.staging.trace.piece import Plan

__all__ = ["DEFINITIONS", "find_stop", "make_plan", "runs_on_host", "why_python"]

DEFINITIONS = frozenset({"FunctionDef", "AsyncFunctionDef", "ClassDef", "Import", "ImportFrom", "Global", "Pass"})
_STRAIGHT = frozenset({"Assign", "AnnAssign", "AugAssign", "Expr", "Delete", "Assert", "Raise"})

_MOST = 500
"""Statements of one piece: what XLA takes for a program grows faster than the program does."""

_MAKERS: Mapping[int, Any] = {
    id(maker): maker
    for maker in (
        jax.jit,
        jax.grad,
        jax.value_and_grad,
        jax.vmap,
        jax.checkpoint,
        jax.jacfwd,
        jax.jacrev,
        jax.hessian,
        jax.custom_jvp,
        jax.custom_vjp,
        jax.device_put,
        jax.devices,
        functools.partial,
    )
}
"""Functions, by id, that make functions or place arrays, and compute nothing: a statement that only calls these is run
by Python, so that what it makes has the identity and the placement that the plain cell gives it."""


def runs_on_host(
    statement: Statement, namespace: Mapping[str, Any], plain: Mapping[int, object] = {}, *, makes: bool = True
) -> bool:
    """Whether Python runs the statement itself, with the real values (SEMANTICS, rule 2).

    Args:
      statement: which one.
      namespace: the globals that it would run in.
      plain: what stands for NumPy values and Python scalars while tracing, by the id of the tracer.
      makes: whether it runs those that only make arrays, too.
    """
    if statement.kind in DEFINITIONS or statement.defines or (makes and _only_makes(statement, namespace)):
        return True
    return not refers_to_jax(statement.names, namespace, plain)


def _only_makes(statement: Statement, namespace: Mapping[str, Any]) -> bool:
    if statement.kind not in ("Assign", "AnnAssign") or not statement.calls:
        return False
    for chain in statement.calls:
        if chain is None:
            return False
        if id(resolve(chain, namespace)) not in _MAKERS:
            return False
    return True


def why_python(statement: Statement, namespace: Mapping[str, Any], within: bool = False) -> tuple[int, str] | None:
    """Why Python should run a statement that has to do with JAX, as far as that can be told before it is traced.

    That goes for calls whose value nobody takes, such as `print(loss)` and `plt.plot(losses)`, and for whatever a trace
    would not notice: iterators, random states of objects, clocks. Files, sockets, processes and threads are noticed
    when a trace is about to touch them, see `trace.noticing`. Loops and branches are taken apart then. The
    answer is the line and the reason in a few words.

    Args:
      statement: which one.
      namespace: the globals that it would run in.
      within: whether statements that are traced stand before it, so that it may tell shapes without being one alone.
    """
    if statement.defines or statement.kind in DEFINITIONS:
        return None
    if statement.kind in COMPOUND or statement.kind == "Expr":
        for name, call in calls_for_effect(statement.node):
            if within and resolve(name, namespace) is print and tells_only_shapes(call):
                continue
            if (reason := direct_effect(name, namespace)) is not None:
                return call.lineno, reason
    return first_unseen(statement.names, namespace)


def find_stop(
    cell: CellSource,
    start: int,
    namespace: Mapping[str, Any],
    breaks: set[int],
    splits: bool = True,
    joins: bool = False,
) -> int:
    """Where a piece that begins with statement `start` ends, as far as can be told before it is traced.

    A statement that only reads results of the piece might read plain Python values; it is taken in, and `StopAt` is
    raised while tracing if so. `joins` says that assignments are taken in that Python could run.
    """
    known = dict(namespace)  # with the functions that the piece itself defines
    try:
        return _find_stop(cell, start, known, breaks, splits, joins)
    finally:
        known.clear()  # its functions have it as their globals, a cycle that would hold every array


def _find_stop(
    cell: CellSource, start: int, namespace: dict[str, Any], breaks: set[int], splits: bool, joins: bool
) -> int:
    pending: set[str] = set()
    for index in range(start, len(cell.statements)):
        statement = cell.statements[index]
        if splits and isinstance(statement.node, ast.FunctionDef) and statement.defines:
            namespace[statement.node.name] = FunctionType(_code_in(statement), namespace)
        if index > start:
            if splits and index - start >= _MOST:
                return index
            if splits and why_python(statement, namespace, within=True) is not None:
                return index
            if index in breaks or (statement.kind in DEFINITIONS and not statement.defines):
                return index
            takes = statement.names.reads | statement.takes
            joined = statement.defines or (joins and only_assigns(statement))
            if not joined and not takes & pending and runs_on_host(statement, namespace):
                return index
        pending |= statement.names.binds | statement.names.later_binds | statement.gives
        pending |= {name for name in statement.names.reads if _is_mutable(namespace.get(name))}
    return len(cell.statements)


def _code_in(statement: Statement) -> CodeType:
    """The code of the function that a statement defines."""
    name = statement.node.name if isinstance(statement.node, ast.FunctionDef) else ""
    return next(item for item in statement.code.co_consts if isinstance(item, CodeType) and item.co_name == name)


def _is_mutable(value: Any) -> bool:
    """Whether a statement that reads a value could put something traced into it."""
    return hides(value) or not isinstance(
        value, jax.Array | np.generic | str | bytes | int | float | type | FunctionType | ModuleType
    )


def make_plan(
    cell: CellSource, start: int, stop: int, forced: frozenset[str], also: frozenset[str] = frozenset()
) -> Plan:
    """The names that statements `start` to `stop` read, and those that they bind before they read them.

    Args:
      forced: names that were seen to be read first.
      also: names that are taken in although no statement reads them.
    """
    statements = cell.statements[start:stop]
    names = tuple(statement.names for statement in statements)
    reads = frozenset[str]().union(*(item.reads for item in names))
    bound = frozenset[str]().union(*(item.binds for item in names))
    reads |= _deleted_first(statements)
    hidden: frozenset[str] = frozenset()
    if not any(item.sees & Sees.NAMES for item in names):
        deleted = frozenset[str]().union(*(item.deletes for item in names))
        hidden = bound - forced - deleted
        hidden -= _read_first(hidden, statements)
    return Plan(start, stop, tuple(sorted(reads | also)), hidden, names)


def _deleted_first(statements: tuple[Statement, ...]) -> frozenset[str]:
    """The names that are deleted where no statement before that surely binds them: whether they are there matters."""
    bound: set[str] = set()
    found: set[str] = set()
    for statement in statements:
        found |= statement.names.deletes - bound - statement.names.binds
        if statement.kind in _STRAIGHT or statement.defines:
            bound |= statement.names.binds
    return frozenset(found)


def _read_first(wanted: frozenset[str], statements: tuple[Statement, ...]) -> set[str]:
    """The names whose value at entry is surely, or for all we can see, read."""
    found: set[str] = set()
    undecided = set(wanted)
    handlers = [(index, item.names.reads) for index, item in enumerate(statements) if item.names.handles_errors]
    for index, statement in enumerate(statements):
        if not undecided:
            break
        names = statement.names
        if statement.defines:  # what a function reads is read when it is called
            undecided -= names.binds
            continue
        read, bound = undecided & names.reads_first, undecided & names.binds
        found |= read
        if statement.kind not in _STRAIGHT:
            # A branch may leave a name as it was. Then the next read fails while tracing, and the name is forced;
            # but not where an `except` of the cell could take that failure for an answer.
            found |= {name for name in bound if any(at > index and name in reads for at, reads in handlers)}
        undecided -= read | bound
    return found
