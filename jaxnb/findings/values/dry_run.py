"""Trying a fix before it is shown: the cell with the fix in it is traced, on copies, and given up when it takes long.

Nobody asked for this trace, so it must not be noticed (SEMANTICS, rule 11): only code runs that is proved to have no
effects, nothing is compiled or computed, and the names that it binds are those of a copy.
"""

from __future__ import annotations

import ast
import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from types import FrameType
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import apart, let_go
from jaxnb.findings.place import parse_shown
from jaxnb.runtime import is_library
from jaxnb.staging import ATOMS, CodeNames, Statement, first_effect, is_user_function, names_of, read_statement, resolve

__all__ = [
    "PATIENCE",
    "harmless_nodes",
    "harmless_statements",
    "inputs_of",
    "needed_nodes",
    "outer_reads",
    "traces",
    "works",
]

PATIENCE = 0.2
"""Seconds for which a cell may be held up (SEMANTICS, rule 11)."""

THREAD = "jaxnb tries a fix"
"""The name of the thread that tries; what it traces is nobody's leak."""


class _GivenUp(BaseException):
    """Raised in the thread that tries, when its time is over."""


def works(
    text: str, behind: int, namespace: dict[str, Any], seconds: float | None = None, dynamic: tuple[str, ...] = ()
) -> bool | None:
    """Whether a cell can be traced from its beginning as far as it went without the fix; see `traces`.

    Args:
      text: the cell as displayed, with the fix in it.
      behind: how many of its statements are not reached.
      namespace: what the cell would begin with; it is not changed.
      seconds: after which it is given up, by default `PATIENCE`.
      dynamic: names of Python numbers that are to be inputs.
    """
    tree = parse_shown(text)
    return False if tree is None else traces(tree.body[: len(tree.body) - behind], namespace, seconds, dynamic)


def traces(
    body: Sequence[ast.stmt],
    namespace: dict[str, Any],
    seconds: float | None = None,
    dynamic: tuple[str, ...] = (),
    since: int = 0,
    ran: int = 0,
    all_of_it: bool = False,
) -> bool | None:
    """Whether statements of a cell can be traced, the last of them and what it depends on.

    Args:
      body: the statements of the cell with the fix in it, up to the one that failed without it.
      namespace: what they begin with; it is not changed.
      seconds: after which it is given up, by default `PATIENCE`.
      dynamic: names of Python numbers that are to be inputs.
      since: the first of the statements that is carried out again.
      ran: how many of them have run, so that the namespace has what they bound.
      all_of_it: whether statements are tried, too, that the last one does not depend on.

    Returns:
      None if it was not tried to the end: the code may have effects, the time was over, or what a statement began with
      is not known any more.
    """
    if not body:
        return None
    statements = [_read(node) for node in body[since:]] if all_of_it else _needed(body[since:])
    if _began_with(statements, body[since:ran]):
        return None
    inputs = inputs_of(statements, namespace)
    if inputs is None or not all(_is_harmless(statement, namespace) for statement in statements):
        return None
    if not inputs.keys() >= set(dynamic):
        return None
    return _traced(statements, namespace, inputs, PATIENCE if seconds is None else seconds, dynamic)


def _read(node: ast.stmt) -> Statement:
    return read_statement(node, False, "<a fix that is tried>", 0)


def _began_with(statements: Sequence[Statement], ran: Sequence[ast.stmt]) -> bool:
    """Whether statements read what those that have run meanwhile bound anew."""
    changed = {name for node in ran for name in _read(node).names.binds}
    bound: set[str] = set()
    for statement in statements:
        if statement.names.reads & changed - bound:
            return True
        bound |= statement.names.binds
    return False


def harmless_statements(nodes: Sequence[ast.stmt], namespace: dict[str, Any]) -> list[Statement] | None:
    """Statements as they are compiled; None if one of them may have effects."""
    statements = [_read(node) for node in nodes]
    return statements if all(_is_harmless(statement, namespace) for statement in statements) else None


def harmless_nodes(nodes: Sequence[ast.stmt], namespace: dict[str, Any]) -> list[ast.stmt]:
    """The statements that are proved to have no effects, and read nothing that one of the others binds."""
    names, kept, left = dict(namespace), list[ast.stmt](), set[str]()
    for node in nodes:
        statement = _read(node)
        if statement.names.reads & left or not _is_harmless(statement, names):
            left |= statement.names.binds
            continue
        left -= statement.names.binds
        kept.append(node)
        for name in statement.names.binds:
            names.pop(name, None)
    return kept


def needed_nodes(nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The last of some statements, and those above it that bind what it reads, directly or not."""
    statements = [_read(node) for node in nodes]
    needed, reads = list(nodes[-1:]), set(statements[-1].names.reads) if nodes else set()
    for node, statement in zip(nodes[-2::-1], statements[-2::-1], strict=True):
        if statement.names.binds & reads:
            needed.append(node)
            reads |= statement.names.reads
    return needed[::-1]


def outer_reads(nodes: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that statements read before they bind them."""
    reads, bound = set[str](), set[str]()
    for names in (_read(node).names for node in nodes):
        reads |= names.reads - bound
        bound |= names.binds
    return frozenset(reads)


def _needed(nodes: Sequence[ast.stmt]) -> list[Statement]:
    return [_read(node) for node in needed_nodes(nodes)]


def inputs_of(statements: Sequence[Statement], namespace: dict[str, Any]) -> dict[str, Any] | None:
    """What the statements read that is data, by name; None if there is data that code could change unseen."""
    found: dict[str, Any] = {}
    for name in sorted(frozenset[str]().union(*(statement.names.reads for statement in statements))):
        value = namespace.get(name)
        if value is None or isinstance(value, types.ModuleType | type) or callable(value):
            continue
        if isinstance(value, Iterator):
            return None
        try:
            leaves = jax.tree.leaves(value)
        except Exception:  # what is no pytree after all, such as a dict of keys without an order
            return None
        data = jax.Array | jax.ShapeDtypeStruct | np.ndarray | np.generic
        if not all(isinstance(leaf, data) or type(leaf) in ATOMS for leaf in leaves):
            return None
        found[name] = value
    return found


# --- proof that nothing is changed ---

_UNSAFE_BUILTINS = (breakpoint, compile, delattr, eval, exec, globals, input, locals, next, open, print, setattr, vars)
_SAFE_PACKAGES = (*_jax.JAX_PACKAGES, "numpy", "math", "operator", "functools", "typing", "dataclasses")
_UNSAFE_METHODS = frozenset({"delete", "block_until_ready", "copy_to_host_async", "sort", "fill", "resize"})
_AT = frozenset({"set", "add", "multiply", "mul", "divide", "div", "power", "min", "max", "apply", "get", "subtract"})
_READING = frozenset({"keys", "values", "items", "get", "index", "count", "startswith", "endswith", "split", "join"})


@functools.cache
def _array_methods() -> frozenset[str]:
    return (frozenset(dir(jax.Array)) | _AT | _READING) - _UNSAFE_METHODS


def _is_harmless(statement: Statement, namespace: dict[str, Any]) -> bool:
    for node in ast.walk(statement.node):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Delete | ast.Global | ast.Nonlocal | ast.Import | ast.ImportFrom | ast.ClassDef):
            return False
    if statement.names.later_binds or first_effect(statement.names, namespace) is not None:
        return False
    return _refers_to_harmless(statement.names, namespace, set())


def _refers_to_harmless(names: CodeNames, namespace: dict[str, Any], seen: set[int]) -> bool:
    """Whether everything that code refers to is data, a function of JAX or NumPy, or a user's function like this."""
    if not names.methods <= _array_methods():
        return False
    return all(_is_known(resolve(chain, namespace), chain, seen) for chain in names.chains)


def _is_known(value: Any, chain: tuple[str, ...], seen: set[int]) -> bool:
    if value is None or type(value) in ATOMS or id(value) in seen:
        return True
    seen.add(id(value))
    if _jax.jit_options(value) is not None and is_user_function(value.__wrapped__):
        value = value.__wrapped__
    if isinstance(value, types.FunctionType) and is_user_function(value):
        names = names_of(value.__code__)
        if names.mutates or names.binds or names.later_binds or first_effect(names, value.__globals__) is not None:
            return False
        return _refers_to_harmless(names, value.__globals__, seen)
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in _SAFE_PACKAGES
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return len(chain) == 1 or chain[-1] not in _UNSAFE_METHODS
    if isinstance(value, list | tuple | dict):
        return len(chain) == 1 or chain[-1] in _READING
    home = str(getattr(value, "__module__", None) or type(value).__module__).partition(".")[0]
    if home == "builtins" and callable(value):
        return value not in _UNSAFE_BUILTINS
    return home in _SAFE_PACKAGES


# --- the trace ---


def _traced(
    statements: Sequence[Statement],
    namespace: dict[str, Any],
    inputs: dict[str, Any],
    seconds: float,
    dynamic: tuple[str, ...],
) -> bool | None:
    """Traces in a thread of its own, whose contexts nobody else sees; there it can be stopped at any point."""
    outcome: list[bool] = []
    end = perf_counter() + seconds
    flat, tree = jax.tree.flatten(inputs)
    numbers = {id(inputs[name]) for name in dynamic}
    places = [n for n, leaf in enumerate(flat) if _is_traced(leaf) or id(leaf) in numbers]
    begun: list[weakref.ref[Any]] = []

    def run(*arrays: Any) -> None:
        begun.append(weakref.ref(_jax.current_trace()))
        leaves = list(flat)
        for place, array in zip(places, arrays, strict=True):
            leaves[place] = array
        names = dict(namespace) | jax.tree.unflatten(tree, leaves)
        for statement in statements:
            exec(statement.code, names)

    def attempt() -> None:
        sys.settrace(_giving_up_at(end))
        try:
            with apart():
                jax.eval_shape(run, *(flat[place] for place in places))
            outcome.append(True)
        except _GivenUp:
            pass
        except Exception:
            outcome.append(False)
        finally:
            sys.settrace(None)
            let_go(begun)

    thread = threading.Thread(target=attempt, name=THREAD, daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else None


def _is_traced(leaf: Any) -> bool:
    """Whether it is an array of numbers: one of text, dates, objects or wider floats stays what it is."""
    if not isinstance(leaf, np.ndarray | np.generic):
        return isinstance(leaf, jax.Array)
    dtype = leaf.dtype
    return dtype.kind in "biufcV" and dtype.names is None and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def _giving_up_at(end: float) -> Callable[..., Any]:
    """A trace function that stops the user's code, and no other's, when the time is over.

    An exception that is set from outside could come up in a callback of the garbage collector, and be lost there. So
    could one of a trace function in a finalizer or in a callback of ours, which is therefore not followed.
    """

    def in_users_code(frame: FrameType, event: str, argument: Any) -> Any:
        if perf_counter() > end:
            raise _GivenUp
        return in_users_code

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_globals.get("__name__", "__main__")
        ours = name.startswith(("jax.", "jaxnb.")) or is_library(name)
        return None if ours or frame.f_code.co_name == "__del__" else in_users_code(frame, event, argument)

    return on_call
