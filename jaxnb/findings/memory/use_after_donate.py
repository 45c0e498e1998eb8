"""Arrays whose buffer is gone: which line of which cell gave it away, said when somebody uses one later.

JAX deletes the buffers of donated arguments and says so only when an array is used again, without a word on where that
happened. Before a cell runs, the arrays that its names lead to are noted, weakly; after it, those that are deleted are
put down to the cell, and to the line that hands them over.
"""

from __future__ import annotations

import ast
import enum
import re
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.findings.place import find_place, parse_shown
from jaxnb.program import Finding, Fix
from jaxnb.staging import ATOMS, DonationLog, slot_descriptors, state_of

__all__ = ["Deletions", "explain_lost"]

_MOST = 1_000
"""Objects that are looked at before and after a cell."""


class Deletions:
    """Notices what a cell deletes.

    Args:
      lost: where it is remembered.
    """

    def __init__(self, lost: DonationLog) -> None:
        self._lost = lost
        self._before: list[tuple[str, weakref.ref[Any]]] = []
        self._gone: set[int] = set()
        self._text = ""

    def begin(self, text: str, namespace: Mapping[str, Any]) -> None:
        """Notes the arrays that a cell can reach by the names in its text."""
        self._text = text
        found = list(_arrays(text, namespace))
        self._gone = {id(array) for _, array in found if array.is_deleted()}
        self._before = [(name, weakref.ref(array)) for name, array in found if not array.is_deleted()]

    def end(self, where: str, namespace: Mapping[str, Any]) -> None:
        """Remembers those that were deleted since, as given away by a line of the cell that is called `where`."""
        before, self._before = self._before, []
        found = [(name, array) for name, reference in before if (array := reference()) is not None]
        found += [(name, array) for name, array in _arrays(self._text, namespace) if id(array) not in self._gone]
        gone = [(name, array) for name, array in found if array.is_deleted() and self._lost.where(array) is None]
        if not gone:
            return
        lines = _lines_handing_over(self._text)
        for array in {id(array): array for _, array in gone}.values():
            line, how = max(lines.get(name, (1, "donated")) for name, other in gone if other is array)
            self._lost.array(array, where, line, how)


def _arrays(text: str, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arrays that the names in a text lead to, each with these names."""
    named = [name for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)) if name in namespace]
    roles: dict[type, _Role] = {}
    seen = set[tuple[str, int]]()
    for name in named:
        if name.startswith("_"):
            continue
        stack = [namespace[name]]
        while stack and len(seen) < _MOST:
            value = stack.pop()
            kind = type(value)
            role = roles.get(kind)
            if role is None:
                role = roles[kind] = _roles.get(kind) or _roles.setdefault(kind, _role_of(kind))
            if role is _Role.NOTHING or (key := (name, id(value))) in seen:
                continue
            seen.add(key)
            if role is _Role.ARRAY:
                yield name, value
            elif role is _Role.LIST:
                stack += value
            elif role is _Role.TUPLE:
                stack += tuple.__iter__(value)
            elif role is _Role.DICT:
                stack += value.values()
            else:
                stack += _held_by(value, kind)


def _held_by(value: Any, kind: type) -> Iterator[Any]:
    if kind.__dictoffset__ and isinstance(state := state_of(value), dict):
        yield from state.values()
    for _, descriptor in slot_descriptors(kind):
        try:
            yield descriptor.__get__(value)
        except AttributeError:  # nothing was assigned yet
            continue


class _Role(enum.Enum):
    """What an object is when arrays are looked for."""

    NOTHING, ARRAY, LIST, TUPLE, DICT, OBJECT = range(6)


_roles: weakref.WeakKeyDictionary[type, _Role] = weakref.WeakKeyDictionary()


def _role_of(kind: type) -> _Role:
    """What the objects of a class are; nothing of the class is run."""
    if kind in ATOMS or _jax.is_tracer_type(kind):
        return _Role.NOTHING
    if issubclass(kind, jax.Array):
        return _Role.ARRAY
    if kind is list or kind is dict:
        return _Role.LIST if kind is list else _Role.DICT
    if issubclass(kind, tuple):
        return _Role.TUPLE
    return _Role.NOTHING if str(kind.__module__).partition(".")[0] in _CLOSED else _Role.OBJECT


_CLOSED = ("builtins", "numpy", "jax", "jaxlib", "IPython", "matplotlib", "pandas")
"""Whose objects hold no arrays that a user would name."""


def _lines_handing_over(text: str) -> dict[str, tuple[int, str]]:
    """For each name the last line on which it is handed to a call, or its `delete` is called, and which of these."""
    tree = parse_shown(text)
    found: dict[str, tuple[int, str]] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call):
            handed = [(value, "donated") for value in (*node.args, *(keyword.value for keyword in node.keywords))]
            if isinstance(node.func, ast.Attribute):
                handed.append((node.func.value, "deleted" if node.func.attr == "delete" else "donated"))
            for argument, how in handed:
                for name in _names_in(argument):
                    found[name] = max(found.get(name, (0, "")), (node.lineno, how))
    return found


def explain_lost(error: BaseException | None, lost: DonationLog, here: str = "") -> Finding | None:
    """What to say of an error that comes of a buffer which is gone; None of any other.

    Args:
      error: with its frames.
      lost: what is known to be gone.
      here: the file name of the cell that ran.
    """
    reason = lost.explain(error) if isinstance(error, NameError) else None
    line = None
    holder = error.name if isinstance(error, NameError) else ""
    if reason is None and isinstance(error, RuntimeError | ValueError) and "deleted" in str(error):
        asked = find_place(error)
        if asked is not None:
            line = asked.line if asked.file == here else None
            reached = _arrays(asked.expression, asked.frame)
            holder, gone = next((pair for pair in reached if lost.where(pair[1]) is not None), ("", None))
            reason = lost.sentence(holder, gone) if gone is not None else None
        reason = reason or lost.explain(error)
    if reason is None:
        return None
    fix = Fix("use the result that took its place, or hand over a copy: jnp.copy(x).")
    return Finding("deleted", reason, line, holder=holder or "", fix=fix)


def _names_in(node: ast.AST) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
