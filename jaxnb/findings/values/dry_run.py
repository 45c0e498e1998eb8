"""Trying a fix before it is shown: the cell with the fix in it is traced, on copies, and given up when it takes long.

Nobody asked for this trace, so it must not be noticed (SEMANTICS, rule 11): only code runs that is proved to have no
effects, and the names that it binds are those of a copy. Nothing is computed but small values, without jit: whether the
fix makes what the plain cell makes.
"""

from __future__ import annotations

import ast
import functools
import operator
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import apart, let_go
from jaxnb.findings.place import parse_shown
from jaxnb.findings.values.class_text import own_methods
from jaxnb.findings.values.clock import own_time
from jaxnb.findings.values.functional import (
    METHODS,
    METHODS_OF_OBJECTS,
    functions_of_modules,
    gives_attributes_only,
    held_by,
    is_functional,
    is_module_of_users,
    is_object,
    is_of_objects,
    own_attributes,
)
from jaxnb.runtime import is_library
from jaxnb.staging import ATOMS, CodeNames, Statement, first_effect, is_user_function, names_of, read_statement, resolve

__all__ = [
    "PATIENCE",
    "Trial",
    "are_the_same",
    "as_python",
    "computed",
    "harmless_nodes",
    "harmless_statements",
    "inputs_of",
    "needed_nodes",
    "outer_reads",
    "trace",
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


class Trial(NamedTuple):
    """What became of a trial.

    Attributes:
      verdict: whether the statements can be traced; None if they were not tried to the end: the code may have effects,
        the time was over, or what a statement began with is not known any more.
      made: the avals in what each name stands for that they bind, and in what the last one shows.
      small: whether all that is made on the way is small, and nothing of Python's is called back.
    """

    verdict: bool | None = None
    made: Mapping[str, Sequence[Any]] = {}
    small: bool = False

    def agrees_with(self, other: Trial) -> bool:
        """Whether both make the same, as far as both were carried out: shapes and dtypes, where a Python number has any
        of its kind."""
        return all(_are_alike(self.made[name], leaves) for name, leaves in other.made.items() if name in self.made)


def are_the_same(ours: Mapping[str, Sequence[Any]], theirs: Mapping[str, Sequence[Any]]) -> bool:
    """Whether the same numbers were computed for each name that both have, but for their rounding."""
    return all(
        len(values) == len(ours[name]) and all(map(_is_the_same, ours[name], values))
        for name, values in theirs.items()
        if name in ours
    )


def _is_the_same(one: Any, other: Any) -> bool:
    first, second = np.asarray(one), np.asarray(other)
    return first.shape == second.shape and np.allclose(
        first.astype(complex), second.astype(complex), rtol=1e-2, atol=1e-4, equal_nan=True
    )


def _are_alike(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    return len(ours) == len(theirs) and all(map(_is_alike, ours, theirs))


def _is_alike(one: Any, other: Any) -> bool:
    weak = one.weak_type or other.weak_type
    return one.shape == other.shape and (one.dtype.kind == other.dtype.kind if weak else one.dtype == other.dtype)


def traces(
    body: Sequence[ast.stmt],
    namespace: dict[str, Any],
    seconds: float | None = None,
    dynamic: tuple[str, ...] = (),
    all_of_it: bool = False,
    ends: bool = False,
) -> bool | None:
    """Whether statements of a cell can be traced; see `trace`."""
    return trace(body, namespace, seconds, dynamic, all_of_it=all_of_it, ends=ends).verdict


def trace(
    body: Sequence[ast.stmt],
    namespace: dict[str, Any],
    seconds: float | None = None,
    dynamic: tuple[str, ...] = (),
    since: int = 0,
    ran: int = 0,
    all_of_it: bool = False,
    ends: bool = False,
    objects: bool = False,
) -> Trial:
    """Traces statements of a cell, the last of them and what it depends on.

    Args:
      body: the statements of the cell with the fix in it, up to the one that failed without it.
      namespace: what they begin with; it is not changed.
      seconds: after which it is given up, by default `PATIENCE`.
      dynamic: names of Python numbers that are to be inputs.
      since: the first of the statements that is carried out again.
      ran: how many of them have run, so that the namespace has what they bound.
      all_of_it: whether statements are tried, too, that the last one does not depend on.
      ends: whether they are known to end soon by themselves: to be able to stop them takes as long as tracing them.
      objects: whether they may define classes, and change objects of flax.nnx, of which they are given copies.
    """
    nodes = _with_shown(body[since:])
    if not nodes:
        return Trial()
    statements = [_read(node) for node in nodes] if all_of_it else _needed(nodes)
    if _began_with(statements, body[since:ran]):
        return Trial()
    inputs = inputs_of(statements, namespace, objects)
    if inputs is None or not _Proof(objects).are_harmless(statements, namespace):
        return Trial()
    if not inputs.keys() >= set(dynamic):
        return Trial()
    return _traced(statements, namespace, inputs, PATIENCE if seconds is None else seconds, dynamic, ends)


_SHOWN = "__jaxnb_shown__"


def _with_shown(nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The same statements, of which the last one has a name for what it shows."""
    last = nodes[-1] if nodes else None
    if not isinstance(last, ast.Expr):
        return list(nodes)
    shown = ast.Assign([ast.Name(_SHOWN, ast.Store())], last.value)
    return [*nodes[:-1], ast.fix_missing_locations(ast.copy_location(shown, last))]


def as_python(kind: str, value: Any) -> Any:
    """What stands for the Python number that a traced value would be: an array of its kind, whose dtype gives way.

    Args:
      kind: "float", "int" or "complex"; "item" for what the value itself is.
      value: traced.
    """
    array = jax.numpy.asarray(value)
    if kind == "item":
        kind = {"i": "int", "u": "int", "f": "float", "c": "complex", "V": "float"}.get(array.dtype.kind, "")
    # Of what weak types promote: a bool and an int give a weak int, an int and a float a weak float.
    weak = {"int": (bool, 0), "float": (int, 0.0), "complex": (int, 0j)}.get(kind)
    return array.astype(weak[0]) + weak[1] if weak is not None else array.astype(bool)


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
    proof = _Proof()
    return statements if all(proof.is_harmless(statement, namespace) for statement in statements) else None


def harmless_nodes(nodes: Sequence[ast.stmt], namespace: dict[str, Any]) -> list[ast.stmt]:
    """The statements that are proved to have no effects, and read nothing that one of the others binds."""
    names, kept, left, proof = dict(namespace), list[ast.stmt](), set[str](), _Proof()
    for node in nodes:
        statement = _read(node)
        if statement.names.reads & left or not proof.is_harmless(statement, names):
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


def inputs_of(
    statements: Sequence[Statement], namespace: dict[str, Any], objects: bool = False
) -> dict[str, Any] | None:
    """What the statements read that is data, by name; None if there is data that code could change unseen.

    Args:
      statements: of a cell.
      namespace: what they begin with.
      objects: whether objects of flax.nnx are data, too.
    """
    found: dict[str, Any] = {}
    for name in sorted(frozenset[str]().union(*(statement.names.reads for statement in statements))):
        value = namespace.get(name)
        if value is None or isinstance(value, types.ModuleType | type) or _is_of_functions(value):
            continue
        if callable(value) and not (objects and is_object(value)):
            continue
        if isinstance(value, Iterator):
            return None
        try:
            leaves = jax.tree.leaves(value)
        except Exception:  # what is no pytree after all, such as a dict of keys without an order
            return None
        data = jax.Array | jax.ShapeDtypeStruct | np.ndarray | np.generic | jax.sharding.Mesh | jax.sharding.Sharding
        data = data | jax.sharding.PartitionSpec | jax.Device
        if not all(isinstance(leaf, data) or type(leaf) in ATOMS for leaf in leaves):
            return None
        found[name] = value
    return found


# --- proof that nothing is changed ---

_UNSAFE_BUILTINS = (breakpoint, compile, delattr, eval, exec, globals, input, locals, next, open, print, setattr, vars)
_CHANGING = "setitem delitem iconcat iadd isub imul imatmul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift"
_IN_PLACE = [getattr(operator, name) for name in _CHANGING.split()]
"""Functions of Python's that change their first argument."""
_SAFE_PACKAGES = (*_jax.JAX_PACKAGES, *"numpy math operator _operator functools _functools typing dataclasses".split())
_UNSAFE_METHODS = frozenset({"delete", "block_until_ready", "copy_to_host_async", "sort", "fill", "resize"})
_AT = frozenset({"set", "add", "multiply", "mul", "divide", "div", "power", "min", "max", "apply", "get", "subtract"})
_READING = frozenset({"keys", "values", "items", "get", "index", "count", "startswith", "endswith", "split", "join"})


@functools.cache
def _array_methods() -> frozenset[str]:
    return (frozenset(dir(jax.Array)) | _AT | _READING) - _UNSAFE_METHODS


class _Proof:
    """A proof that code changes nothing that there was before.

    Args:
      objects: whether it may define classes, and change objects of flax.nnx, of which it is given copies.
    """

    def __init__(self, objects: bool = False) -> None:
        self._objects = objects
        self._methods = _array_methods() | (METHODS_OF_OBJECTS if objects else METHODS)

    def are_harmless(self, statements: Sequence[Statement], namespace: dict[str, Any]) -> bool:
        """Whether statements that are carried out one after the other change nothing but the names that they bind."""
        names = dict(namespace)
        for statement in statements:
            if not self.is_harmless(statement, names):
                return False
            if self._objects:  # what was bound before is another object now
                for name in statement.names.binds:
                    names.pop(name, None)
        return True

    def is_harmless(self, statement: Statement, namespace: dict[str, Any]) -> bool:
        """Whether a statement changes nothing but the names that it binds."""
        if isinstance(statement.node, ast.ClassDef):
            return self._objects and self._makes_class(statement, statement.node, namespace)
        if isinstance(statement.node, ast.Import | ast.ImportFrom):
            return self._objects and _is_loaded(statement.node)
        for node in ast.walk(statement.node):
            if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                return False
            if isinstance(node, ast.Delete | ast.Global | ast.Nonlocal | ast.Import | ast.ImportFrom | ast.ClassDef):
                return False
        if statement.names.later_binds or first_effect(statement.names, namespace) is not None:
            return False
        return self._refers_to_harmless(statement.names, namespace, set())

    def _makes_class(self, statement: Statement, node: ast.ClassDef, namespace: dict[str, Any]) -> bool:
        own = own_methods(node, namespace, self._methods)
        if own is None or statement.names.later_binds or first_effect(statement.names, namespace) is not None:
            return False
        self._methods |= own
        return self._refers_to_harmless(statement.names, namespace, set())

    def _refers_to_harmless(
        self, names: CodeNames, namespace: dict[str, Any], seen: set[int], more: frozenset[str] = frozenset()
    ) -> bool:
        """Whether everything that code refers to is data, a function of JAX, of NumPy or of a library that changes
        nothing, or a user's function like this.

        Args:
          names: of the code.
          namespace: where they are looked up.
          seen: what was looked at, by identity.
          more: attributes that may be read of what is not known by a name.
        """
        if not names.methods <= self._methods | more:
            return False
        return all(self._is_known(resolve(chain, namespace), chain, seen) for chain in names.chains)

    def _is_functional(self, module: str) -> bool:
        return is_functional(module) or (self._objects and is_of_objects(module))

    def _is_known(self, value: Any, chain: tuple[str, ...], seen: set[int]) -> bool:
        if value is None or value is as_python or type(value) in ATOMS or id(value) in seen:
            return True
        seen.add(id(value))
        if _jax.jit_options(value) is not None and is_user_function(value.__wrapped__):
            value = value.__wrapped__
        if isinstance(value, types.FunctionType) and is_user_function(value):
            names = names_of(value.__code__)
            if names.mutates or names.binds or names.later_binds or first_effect(names, value.__globals__) is not None:
                return False
            return self._refers_to_harmless(names, value.__globals__, seen)
        if isinstance(value, types.ModuleType):
            return value.__name__.partition(".")[0] in _SAFE_PACKAGES or self._is_functional(value.__name__)
        if isinstance(value, jax.Array | np.ndarray | np.generic):
            return len(chain) == 1 or chain[-1] not in _UNSAFE_METHODS
        if _is_of_functions(value):
            parts: Any = value
            return all(self._is_known(part, ("",), seen) for part in parts)
        if isinstance(value, list | tuple | dict):
            return len(chain) == 1 or chain[-1] in _READING
        if is_module_of_users(value if isinstance(value, type) else type(value), self._objects):
            return self._is_known_module(value, seen)
        if issubclass(type(value), functools.partial):
            partial: Any = value
            return all(
                self._is_known(part, ("",), seen) for part in (partial.func, *partial.args, *partial.keywords.values())
            )
        if isinstance(value, types.BuiltinMethodType | types.MethodDescriptorType | operator.methodcaller):
            owner = getattr(value, "__self__", value)
            if not isinstance(owner, types.ModuleType | type):  # it is bound to an object, or will be
                of_array = isinstance(owner, jax.Array | np.ndarray | np.generic)
                return getattr(value, "__name__", "") in (_array_methods() if of_array else _READING)
        if any(value is one for one in _IN_PLACE):
            return False
        module = str(getattr(value, "__module__", None) or type(value).__module__)
        home = module.partition(".")[0]
        if home == "builtins" and callable(value):
            return value not in _UNSAFE_BUILTINS
        if self._is_functional(module):
            return all(self._holds_known(part, seen) for part in held_by(value))
        return home in _SAFE_PACKAGES

    def _holds_known(self, value: Any, seen: set[int]) -> bool:
        """The same as `_is_known` of what a library holds: the items of containers may be called, too."""
        if isinstance(value, list | tuple | dict) and not _is_of_functions(value):
            return all(self._holds_known(part, seen) for part in held_by(value))
        return self._is_known(value, ("",), seen)

    def _is_known_module(self, value: Any, seen: set[int]) -> bool:
        """Whether a module of the user's, or its class, only computes: its functions change nothing but their own
        object where that is made, and what it holds is known."""
        kind = value if isinstance(value, type) else type(value)
        more = own_attributes(kind, value)
        for function, makes in functions_of_modules(kind):
            if id(function) in seen:
                continue
            seen.add(id(function))
            names = names_of(function.__code__)
            changes = names.mutates and not (makes and gives_attributes_only(names, function.__code__))
            if changes or names.binds or names.later_binds or first_effect(names, function.__globals__) is not None:
                return False
            if not self._refers_to_harmless(names, function.__globals__, seen, more):
                return False
        return isinstance(value, type) or all(self._holds_known(part, seen) for part in held_by(value))


def _is_loaded(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import only binds names: the modules are there."""
    if isinstance(node, ast.Import):
        return all(name.name in sys.modules for name in node.names)
    module = sys.modules.get(node.module or "") if not node.level else None
    return module is not None and all(name.name in vars(module) for name in node.names)


def _is_of_functions(value: Any) -> bool:
    """Whether it is a named tuple of functions, such as an optimiser of optax or what haiku transforms."""
    named = isinstance(value, tuple) and hasattr(type(value), "_fields")
    return named and all(callable(part) for part in value)


# --- the trace ---


def _traced(
    statements: Sequence[Statement],
    namespace: dict[str, Any],
    inputs: dict[str, Any],
    seconds: float,
    dynamic: tuple[str, ...],
    ends: bool,
) -> Trial:
    """Traces in a thread of its own, whose contexts nobody else sees; there it can be stopped at any point."""
    outcome: list[Trial] = []
    end = own_time() + seconds
    flat, tree = jax.tree.flatten(inputs)
    numbers = {id(inputs[name]) for name in dynamic}
    places = [n for n, leaf in enumerate(flat) if _is_traced(leaf) or id(leaf) in numbers]
    begun: list[weakref.ref[Any]] = []

    def run(*arrays: Any) -> dict[str, list[Any]]:
        begun.append(weakref.ref(_jax.current_trace()))
        leaves = list(flat)
        for place, array in zip(places, arrays, strict=True):
            leaves[place] = array
        names = dict(namespace) | jax.tree.unflatten(tree, leaves)
        for statement in statements:
            exec(statement.code, names)
        bound = frozenset[str]().union(*(statement.names.binds for statement in statements))
        return {name: _numbers_in(names[name]) for name in sorted(bound) if name in names}

    def attempt() -> None:
        trial = Trial(False)
        if not ends:
            sys.settrace(_giving_up_at(end))
        try:
            with apart():
                closed, shapes = jax.make_jaxpr(run, return_shape=True)(*(flat[place] for place in places))
            sys.settrace(None)
            made = jax.tree.unflatten(jax.tree.structure(shapes), closed.out_avals)
            trial = Trial(True, made, _is_small(closed))
            del closed
        except _GivenUp:
            trial = Trial()
        except Exception:
            pass
        finally:
            sys.settrace(None)
            let_go(begun)
        outcome.append(trial)

    thread = threading.Thread(target=attempt, name=THREAD, daemon=True)
    thread.start()
    _wait_for(thread, end)
    return outcome[0] if outcome else Trial()


_MOST_EQUATIONS, _MOST_NUMBERS = 300, 1 << 14


def _is_small(closed: Any) -> bool:
    eqns = list(_jax.all_eqns(closed))
    sizes = (getattr(v.aval, "size", 0) for eqn in eqns for v in (*eqn.outvars, *eqn.invars))
    calm = not closed.effects and next(_jax.called_back(closed.eqns), None) is None
    return calm and len(eqns) <= _MOST_EQUATIONS and all(size <= _MOST_NUMBERS for size in sizes)


def computed(
    body: Sequence[ast.stmt], namespace: dict[str, Any], seconds: float, since: int = 0, ran: int = 0
) -> Mapping[str, Sequence[Any]] | None:
    """What the last of some statements, and those that it depends on, compute without jit: the numbers in what each
    name stands for that they bind, and in what the last one shows.

    Args:
      body: the statements of a cell, of which a trial has said that they are small.
      namespace: what they begin with; it is not changed.
      seconds: after which it is given up.
      since: the first of the statements that is carried out again.
      ran: how many of them have run.

    Returns:
      None if they fail, may have effects, or take too long.
    """
    nodes = _with_shown(body[since:])
    statements = _needed(nodes)
    inputs = inputs_of(statements, namespace)
    if not nodes or inputs is None or _began_with(statements, body[since:ran]):
        return None
    flat, tree = jax.tree.flatten(inputs)
    proof = _Proof()
    if not all(proof.is_harmless(statement, namespace) for statement in statements) or not all(map(_is_at_hand, flat)):
        return None
    outcome: list[Mapping[str, Sequence[Any]]] = []
    end = own_time() + seconds

    def attempt() -> None:
        found: dict[str, Sequence[Any]] | None = None
        sys.settrace(_giving_up_at(end))
        try:
            with apart(), jax.disable_jit():
                names = dict(namespace) | jax.tree.unflatten(tree, flat)
                for statement in statements:
                    exec(statement.code, names)
            sys.settrace(None)
            bound = frozenset[str]().union(*(statement.names.binds for statement in statements))
            found = {name: jax.device_get(_numbers_in(names[name])) for name in bound if name in names}
        except (_GivenUp, Exception):
            found = None  # the plain cell has no value, or it takes long
        finally:
            sys.settrace(None)
        outcome.extend([found] if found is not None else [])

    thread = threading.Thread(target=attempt, name=THREAD, daemon=True)
    thread.start()
    _wait_for(thread, end)
    return outcome[0] if outcome else None


def _wait_for(thread: threading.Thread, end: float) -> None:
    """Waits until a trial has come to its end, or its time is over."""
    while thread.is_alive() and (left := end - own_time()) > 0:
        thread.join(left)


def _is_at_hand(leaf: Any) -> bool:
    """Whether an input has a value that is small."""
    if isinstance(leaf, jax.Array):
        array: Any = leaf
        there = not array.is_deleted() and array.is_fully_addressable and array.is_ready()
        return there and array.size <= _MOST_NUMBERS
    return not isinstance(leaf, jax.ShapeDtypeStruct) and getattr(leaf, "size", 0) <= _MOST_NUMBERS


def _numbers_in(value: Any) -> list[Any]:
    """The arrays and Python numbers in a value."""
    try:
        leaves = jax.tree.leaves(value)
    except Exception:  # what is no pytree after all
        return []
    return [leaf for leaf in leaves if _is_traced(leaf) or type(leaf) in (bool, int, float, complex)]


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
        if own_time() > end:
            raise _GivenUp
        return in_users_code

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_globals.get("__name__", "__main__")
        ours = name.startswith(("jax.", "jaxnb.")) or is_library(name)
        return None if ours or frame.f_code.co_name == "__del__" else in_users_code(frame, event, argument)

    return on_call
