"""Buffers that a cell gives up, so that its results can be computed in their memory (`--donate params`).

What is donated cannot come back (SEMANTICS, rule 8). So a cell donates only what it replaces, or names that are then
unbound; anything else that still holds a buffer is named before it is lost.
"""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax

from jaxnb.errors import Refused
from jaxnb.staging.objects.graph import Reached, Scan
from jaxnb.staging.objects.paths import render_path, root_name
from jaxnb.staging.objects.referrers import paths_to

__all__ = ["NO_DONATION", "Donation", "DonationLog", "check_donation", "plan_donation"]


@dataclass(frozen=True, slots=True)
class Donation:
    """What one piece gives up.

    Attributes:
      leaves: positions of the donated leaves, each with the number of references that places of the cell hold.
      unbound: names that the cell leaves as they are, and that are therefore unbound.
      rebound: names that the piece binds or deletes.
      notes: what is not donated, and why.
    """

    leaves: Mapping[int, int] = field(default_factory=dict[int, int])
    unbound: tuple[str, ...] = ()
    rebound: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


NO_DONATION = Donation()


_ARRAYS = (jax.Array, jax.ShapeDtypeStruct)  # a shape stands for an array


def plan_donation(
    texts: Sequence[str],
    scan: Scan,
    places: Mapping[int, int],
    kept: Collection[int],
    passed_on: Collection[int],
    rebound: frozenset[str],
    read_later: Collection[str],
) -> Donation:
    """Which leaves a piece can give up.

    Args:
      texts: the names and paths that were asked for.
      scan: of the piece.
      places: how many references there are to each leaf.
      kept: leaves that stay where they are.
      passed_on: leaves that are results.
      rebound: names that the piece binds or deletes.
      read_later: names that later statements of the cell read.

    Raises:
      Refused: if a path would be left with a deleted array.
    """
    given: dict[int, int] = {}
    unbound: list[str] = []
    kept_back: dict[str, list[str]] = {}
    for text in texts:
        arrays = [index for index in scan.leaves_below(text) if isinstance(scan.leaves[index], _ARRAYS)]
        if not arrays:
            continue
        root = re.split(r"[.\[]", text)[0]
        chosen = arrays if root in rebound else [index for index in arrays if index not in kept]
        if not chosen:
            if root in read_later:
                continue  # a later piece may give it up
            if root != text:
                raise Refused(
                    f"--donate {text}: the cell does not replace `{text}`.",
                    why=f"`{root}` would be left with a deleted array.",
                    fix=f"assign the new value to it, or donate `{root}` as a whole, which unbinds the name.",
                )
            chosen = arrays
            unbound.append(text)
        for index in arrays:
            name = render_path(scan.paths[index])
            if index in given:
                continue
            if index in passed_on:
                kept_back.setdefault("another name of the cell holds it", []).append(name)
            elif index not in chosen:
                kept_back.setdefault("the cell leaves it as it is", []).append(name)
            else:
                given[index] = places[index]
    notes = tuple(_not_donated(names, reason) for reason, names in kept_back.items())
    return Donation(given, tuple(unbound), rebound, notes)


def _not_donated(names: list[str], reason: str) -> str:
    others = len(names) - 1
    more = f" (nor {others} other{'s' if others > 1 else ''})" if others else ""
    return f"{names[0]} is not donated: {reason}{more}"


def check_donation(donation: Donation, reached: Reached, namespace: Mapping[str, Any]) -> list[str]:
    """Looks for others that hold what is about to be given up.

    Returns:
      What holds a donated array only to remember it, such as `Out[3]`: it is lost with it.

    Raises:
      Refused: if another name holds it, or if two inputs are the same buffer.
    """
    _check_buffers(donation, reached)
    suspects = [index for index, places in donation.leaves.items() if _references(reached, index) > places]
    if not suspects:
        return []
    ids = {id(reached.leaves[index]): index for index in suspects}
    remembered: list[str] = []
    for key, paths in paths_to(namespace, ids).items():
        own = reached.paths[ids[key]]
        for path in paths:
            root, text = root_name(path), render_path(path)
            if root in ("Out", "_", "__", "___"):
                remembered.append(text)
            elif root != root_name(own) and root not in donation.rebound:
                raise Refused(
                    f"`{render_path(own)}` is also held by `{text}`, which donating would leave with a deleted array.",
                    why="a donated buffer is written over by the results.",
                    fix=f"del {root}, make it a copy with jnp.copy, or leave it out of --donate.",
                )
    return remembered


_OWN_REFERENCES = 3
"""The list of leaves, and the argument and the local variable of whoever counts."""


def _references(reached: Reached, index: int) -> int:
    """How many references to a leaf are not ours."""
    leaf = reached.leaves[index]
    return sys.getrefcount(leaf) - _OWN_REFERENCES


def _check_buffers(donation: Donation, reached: Reached) -> None:
    known: dict[int, int] = {}
    for index, leaf in enumerate(reached.leaves):
        if not isinstance(leaf, jax.Array) or leaf.is_deleted():
            continue
        try:
            pointer = leaf.unsafe_buffer_pointer()
        except Exception:  # several devices, or a kind of array that has none
            continue
        other = known.setdefault(pointer, index)
        if other != index and (index in donation.leaves or other in donation.leaves) and leaf.nbytes:
            one, two = (render_path(reached.paths[place]) for place in (other, index))
            raise Refused(
                f"`{one}` and `{two}` are the same buffer, which cannot be donated and read at once.",
                why="one was made from the other without a copy.",
                fix=f"make one a copy: {two} = jnp.copy({two}).",
            )


class DonationLog:
    """What one shell has given up: which names were unbound, and where each array went.

    Args:
      label: what the user knows a file by, such as "Cell In[3]".
    """

    def __init__(self, label: Callable[[str], str]) -> None:
        self._label = label
        self._names: dict[str, tuple[str, int]] = {}
        self._arrays: dict[int, tuple[weakref.ref[Any], tuple[str, int], str]] = {}

    def array(self, value: Any, filename: str, line: int, how: str = "donated") -> None:
        """Remembers that an array was donated, or deleted, by a line of a cell."""
        key = id(value)
        self._arrays[key] = (weakref.ref(value, partial(self._arrays.pop, key)), (filename, line), how)

    def name(self, name: str, filename: str, line: int) -> None:
        """Remembers that a name was unbound."""
        self._names[name] = (filename, line)

    def bound_again(self, namespace: Mapping[str, Any]) -> None:
        """Forgets the names that are bound by now."""
        for name in [name for name in self._names if name in namespace]:
            del self._names[name]

    def where(self, value: Any) -> str | None:
        """Which line donated an array, if one did."""
        known = self._arrays.get(id(value))
        return self._text(known[1]) if known is not None and known[0]() is value else None

    def sentence(self, name: str, value: Any) -> str:
        """What to say of a name that holds an array that is known to be gone."""
        return f"`{name}` was {self._arrays[id(value)][2]} by {self.where(value)}: its buffer is gone."

    def explain(self, error: BaseException) -> str | None:
        """Why a name is not bound, or an array deleted, if an error comes of that."""
        if isinstance(error, NameError) and error.name in self._names:
            return f"`{error.name}` was donated by {self._text(self._names[error.name])}: its buffer is gone."
        if isinstance(error, RuntimeError) and "deleted" in str(error):
            traceback = error.__traceback__
            while traceback is not None:
                for name, value in traceback.tb_frame.f_locals.items():
                    if isinstance(value, jax.Array) and self.where(value) is not None:
                        return self.sentence(name, value)
                traceback = traceback.tb_next
        return None

    def _text(self, place: tuple[str, int]) -> str:
        return f"{self._label(place[0])}, line {place[1]}"
