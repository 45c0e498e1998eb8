"""Jitted functions that still compute with what a global was when they were traced.

JAX reads a global while it traces, and never again: what is bound anew later is not noticed. Each trace of a function
writes down what the function read; a cell that calls one of them after a change is told so.
Source: https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html (pure functions).
"""

from __future__ import annotations

import ast
import re
import types
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.findings.place import parse_shown
from jaxnb.program import Finding, Fix
from jaxnb.staging import ATOMS, is_user_function, names_of, state_of

__all__ = ["Stale"]

_CALL = re.compile(r"([A-Za-z_][\w.]*\w|[A-Za-z_])\s*\(")
_MOST_FUNCTIONS, _MOST_ITEMS, _DEEPEST = 128, 32, 2


@dataclass(frozen=True, slots=True)
class _Read:
    """What a function has read.

    Attributes:
      name: as the user writes it, such as "config['rate']" or "self.gain".
      text: how it is shown; "" where that would be long.
      mark: what tells it from another value.
    """

    name: str
    text: str
    mark: Any


@dataclass(slots=True)
class _Traced:
    """A function that was traced, with what it read then."""

    given: weakref.ref[Any]
    reads: dict[str, _Read]


class Stale:
    """Writes down what traced functions have read, and compares it when they are called again."""

    def __init__(self) -> None:
        self._traced: OrderedDict[int, _Traced] = OrderedDict()
        self._changed: dict[int, frozenset[str]] = {}
        self._told: set[tuple[int, str, Any]] = set()

    def note(self, given: Any) -> None:
        """A function was traced just now.

        Args:
          given: what `jax.jit` was given: a function or a method.
        """
        if _function_of(given) is None:
            return
        self._traced[id(given)] = _Traced(weakref.ref(given), {item.name: item for item in _reads(given)})
        self._traced.move_to_end(id(given))
        while len(self._traced) > _MOST_FUNCTIONS:
            self._traced.popitem(last=False)

    def begin(self, text: str, namespace: Mapping[str, Any]) -> None:
        """A cell is about to run: what has changed by now was changed before it.

        Args:
          text: the cell as displayed.
          namespace: the names before it.
        """
        self._changed = {key: frozenset(reads) for key, reads in self._stale(text, namespace).items()}

    def _stale(self, text: str, namespace: Mapping[str, Any]) -> dict[int, dict[str, _Read]]:
        """What has changed, of the functions that a text seems to call; no others are looked at."""
        if not self._traced:
            return {}
        chains = (tuple(name.split(".")) for name in dict.fromkeys(_CALL.findall(text)))
        keys = dict.fromkeys(_key(chain, namespace) for chain in chains)
        return {key: reads for key in keys if (traced := self._traced.get(key)) and (reads := _changed(traced))}

    def check(self, text: str, namespace: Mapping[str, Any]) -> list[Finding]:
        """What to say of the calls of a cell that has run well.

        Args:
          text: the cell as displayed.
          namespace: the names now.
        """
        stale = self._stale(text, namespace)
        tree = parse_shown(text) if stale else None
        if tree is None:
            return []
        found: list[Finding] = []
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or (chain := _chain(call.func)) is None:
                continue
            key = _key(chain, namespace)
            for name, now in stale.get(key, {}).items():
                before = name in self._changed.get(key, ())
                then = self._traced[key].reads[name]
                if not before and not _is_changed_above(tree, name, call.lineno):
                    continue
                value = id(now.mark()) if isinstance(now.mark, weakref.ref) else now.mark
                if (key, name, value) not in self._told:
                    self._told.add((key, name, value))
                    found.append(_finding(".".join(chain), then, now, call.lineno))
        return found


def _finding(called: str, then: _Read, now: _Read, line: int) -> Finding:
    was = f" was {then.text}" if then.text else " was another"
    now_is = f": now it is {now.text}" if now.text and then.text else ""
    message = (
        f"`{called}` was traced when `{then.name}`{was}, and still computes with that old value{now_is}. A jitted"
        " function reads a global once."
    )
    what = then.name.rpartition(".")[2] if then.name.startswith("self.") else then.name
    fix = Fix(f"pass `{what}` as an argument, or trace anew with {called}.clear_cache().")
    return Finding("stale", message, line, holder=then.name, fix=fix)


def _changed(traced: _Traced) -> dict[str, _Read]:
    """What a function would read now, where that is another value."""
    given = traced.given()
    now = {item.name: item for item in _reads(given)} if given is not None else {}
    return {
        name: now[name] for name, then in traced.reads.items() if name in now and not _same(then.mark, now[name].mark)
    }


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, weakref.ref) and isinstance(other, weakref.ref):
        return one() is other() and one() is not None
    return type(one) is type(other) and (one is other or bool(one == other) or one != one)


def _key(chain: tuple[str, ...], namespace: Mapping[str, Any]) -> int:
    """Which function a dotted name calls, as `note` knows it."""
    value = _found(chain, namespace)
    return id(value.__wrapped__) if _jax.jit_options(value) is not None else 0


def _found(chain: tuple[str, ...], namespace: Mapping[str, Any]) -> Any:
    """What a dotted name stands for, by what modules and objects hold; nothing of theirs is run."""
    value = namespace.get(chain[0])
    for name in chain[1:]:
        held = vars(value) if isinstance(value, types.ModuleType) else state_of(value)
        value = held.get(name) if isinstance(held, dict) else None
    return value


def _function_of(given: Any) -> types.FunctionType | None:
    """The function that the user wrote, of a function, of a method, or of what `jax.jit` made of them."""
    if _jax.jit_options(given) is not None:
        given = given.__wrapped__
    given = given.__func__ if isinstance(given, types.MethodType) else given
    return given if isinstance(given, types.FunctionType) else None


def _reads(given: Any) -> Iterator[_Read]:
    """What a function reads of globals, and of the object that it is a method of."""
    function = _function_of(given)
    if function is None:
        return
    yield from _globals_of(function, 0, {id(function)})
    state = state_of(given.__self__) if isinstance(given, types.MethodType) else None
    if isinstance(state, dict):
        for name in sorted(names_of(function.__code__).attributes & state.keys()):
            if (marked := _marked(state[name])) is not None:
                yield _Read(f"self.{name}", *marked)


def _globals_of(function: types.FunctionType, depth: int, seen: set[int]) -> Iterator[_Read]:
    names = function.__globals__
    for name in sorted(names_of(function.__code__).reads):
        value = names.get(name)
        inner = _function_of(value)
        if type(value) is dict and len(value) <= _MOST_ITEMS:
            for key, item in list(dict.items(value)):
                if type(key) in ATOMS and (marked := _marked(item)) is not None:
                    yield _Read(f"{name}[{key!r}]", *marked)
        elif value is not None and (marked := _marked(value)) is not None:
            yield _Read(name, *marked)
        if inner is not None and depth < _DEEPEST and id(inner) not in seen and is_user_function(inner):
            seen.add(id(inner))
            yield from _globals_of(inner, depth + 1, seen)


def _marked(value: Any) -> tuple[str, Any] | None:
    """How a value is shown, and what tells it from another; None of what may change unseen, and of modules."""
    if type(value) in ATOMS:
        text = repr(value)
        return (text if len(text) <= 30 else ""), value
    if isinstance(value, jax.Array):
        return "", weakref.ref(value)
    function = _function_of(value)
    return ("", weakref.ref(value)) if function is not None and is_user_function(function) else None


def _chain(node: ast.expr) -> tuple[str, ...] | None:
    """`model.step` as ("model", "step")."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else None


def _is_changed_above(tree: ast.Module, name: str, line: int) -> bool:
    """Whether a line of a cell above another one gives a name, an item or an attribute of it another value."""
    root = name.partition("[")[0]
    attribute = name.removeprefix("self.") if name.startswith("self.") else ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == root and node.lineno < line:
            return True
        if not isinstance(getattr(node, "ctx", None), ast.Store) or getattr(node, "lineno", line) >= line:
            continue
        if attribute and isinstance(node, ast.Attribute) and node.attr == attribute:
            return True
        while isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name) and node.id == root:
            return True
    return False
