"""Arrays whose buffer is gone: which line of which cell gave it away, said when somebody uses one later.

JAX deletes the buffers of donated arguments and says so only when an array is used again, without a word on where that
happened. Before a cell runs, the arrays that its names lead to are noted, weakly; after it, those that are deleted are
put down to the cell, and to the line that hands them over.
"""

from __future__ import annotations

import ast
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
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
    found_of: dict[type, _Look | None] = {}
    left = _MOST
    for name in named:
        if name.startswith("_"):
            continue
        stack, seen = [namespace[name]], set[int]()
        while stack and left:
            value = stack.pop()
            kind = type(value)
            try:
                look = found_of[kind]
            except KeyError:
                look = found_of[kind] = _look_of(kind)
            if look is None or id(value) in seen:
                continue
            seen.add(id(value))
            left -= 1
            if look is _is_array:
                yield name, value
            else:
                stack += look(value)


_Look = Callable[[Any], Iterable[Any]]
"""Gives what an object holds."""
_roles: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def _is_array(value: Any) -> Iterable[Any]:
    return ()


def _look_of(kind: type) -> _Look | None:
    """What the objects of a class are asked for when arrays are looked for; None if they hold none."""
    role = _roles.get(kind)
    if role is None:
        role = _roles[kind] = _role_of(kind)
    slots = tuple(get for _, get in slot_descriptors(kind)) if role == "object" else ()
    return partial(_in_slots, slots) if slots else _LOOKS[role]


def _role_of(kind: type) -> str:
    """What an object of a class is; nothing of the class is run."""
    if kind in ATOMS or _jax.is_tracer_type(kind):
        return "nothing"
    if issubclass(kind, jax.Array):
        return "array"
    if kind is list or kind is dict:
        return kind.__name__
    if issubclass(kind, tuple):
        return "tuple"
    return "nothing" if str(kind.__module__).partition(".")[0] in _CLOSED else "object"


def _in_state(value: Any) -> Iterable[Any]:
    state = state_of(value)
    return state.values() if isinstance(state, dict) else ()


def _in_slots(slots: tuple[Any, ...], value: Any) -> Iterable[Any]:
    found = list(_in_state(value)) if type(value).__dictoffset__ else []
    for slot in slots:
        try:
            found.append(slot.__get__(value))
        except AttributeError:  # nothing was assigned yet
            continue
    return found


_LOOKS: dict[str, _Look | None] = {
    "nothing": None,
    "array": _is_array,
    "list": list.__iter__,
    "tuple": tuple.__iter__,
    "dict": dict.values,
    "object": _in_state,
}
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
