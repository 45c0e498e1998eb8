"""Who holds the memory of the devices: arrays with the paths by which a user reaches each, and loaded programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxnb.errors import JaxnbError
from jaxnb.staging.objects.paths import Path, render_path, root_name
from jaxnb.staging.objects.referrers import paths_to
from jaxnb.staging.objects.release import CLEAR_CACHES, CLEAR_OUT, CLEAR_PROGRAMS, release_of
from jaxnb.units import format_bytes
from jaxnb.views import Head, Table, table_lines

__all__ = ["Constants", "HeldArray", "HeldProgram", "LiveBuffers", "held_arrays", "names_of_shell", "names_that_run"]

_SHOWN = 20
_REMEMBERED = ("Out", "_", "__", "___")
_KEY_BUFFER = "._base_array"
"""Where an array of keys holds its numbers."""


@dataclass(frozen=True, slots=True)
class HeldArray:
    """One array on the devices of this process.

    Attributes:
      bytes: over all these devices, copies counted.
      aval: its dtype and shape, such as `float32[64,128]`.
      holders: the paths that lead to it from names; none if only something out of reach holds it.
      remembered: whether nothing holds it but the results that IPython keeps, as `Out[3]`.
      roots: the names at which these paths begin.
      release: what lets go of it, as a user would write it; "" if nothing is known that would.
    """

    bytes: int
    aval: str
    holders: tuple[str, ...]
    remembered: bool
    roots: tuple[str, ...] = ()
    release: str = ""

    @property
    def held_by(self) -> str:
        """The holders in one phrase."""
        if not self.holders:
            return "(no name leads to it)"
        more = len(self.holders) - 3
        return ", ".join(self.holders[:3]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class HeldProgram:
    """One executable that JAX keeps loaded.

    Attributes:
      bytes: of its code and of the constants that are compiled in, over all its devices. Backends that keep code on
        the host, as the CPU does, tell of the constants alone.
      name: what it is a program of.
      cached: whether it is one that a cell will use again.
      release: what lets go of it, as a user would write it.
    """

    bytes: int
    name: str
    cached: bool
    release: str


@dataclass(frozen=True, slots=True)
class LiveBuffers:
    """The live arrays and the programs, the largest first; its text is what `%jaxnb memory` prints."""

    arrays: tuple[HeldArray, ...]
    programs: tuple[HeldProgram, ...] = ()

    @property
    def bytes(self) -> int:
        """What they take together."""
        return sum(item.bytes for item in (*self.arrays, *self.programs))

    def __str__(self) -> str:
        if not self.arrays and not self.programs:
            return "no array is alive"
        lines: list[str] = []
        if self.arrays:
            rows = [(item.bytes, item.aval, item.held_by, item.release) for item in self.arrays]
            lines += [*_table(("array", "held by", "let go by"), rows), ""]
        programs = [item for item in self.programs if item.bytes]
        if programs:
            rows = [(item.bytes, item.name, "", item.release) for item in programs]
            lines += [*_table(("program", "", "let go by"), rows), ""]
        lines.append(f"{_size(self.arrays)} in {_count(self.arrays, 'array')}")
        if self.programs:
            cached = [item for item in self.programs if item.cached]
            lines[-1] += f", {_size(self.programs)} in {_count(self.programs, 'program')}"
            if cached:
                lines.append(
                    f"{len(cached)} of these are kept for cells: {CLEAR_PROGRAMS} lets go of all, a smaller "
                    "%config JaxNB.cache_size of the oldest of each cell"
                )
            by_jax = sum(item.release == CLEAR_CACHES for item in self.programs)
            if by_jax:
                lines.append(f"{by_jax} {'are' if by_jax > 1 else 'is'} kept by JAX: {CLEAR_CACHES}")
        remembered = [item for item in self.arrays if item.remembered]
        if remembered:
            lines.append(f"{_size(remembered)} are only remembered as results of cells: {CLEAR_OUT} empties Out")
        lost = [item for item in self.arrays if not item.holders]
        if lost:
            lines.append(f"{_size(lost)} are held where no name leads: a cache, a thread, or JAX itself")
        return "\n".join(lines)

    __repr__ = __str__


def _table(head: tuple[str, ...], rows: Sequence[tuple[int, str, str, str]]) -> list[str]:
    """The first rows with their head, and how much is in the others."""
    cells: list[tuple[str, ...]] = [(format_bytes(size), *texts) for size, *texts in rows[:_SHOWN]]
    if rest := rows[_SHOWN:]:
        cells.append((format_bytes(sum(row[0] for row in rest)), f"in {len(rest)} more"))
    return table_lines(Table((Head("bytes", "number"), *map(Head, head)), tuple(cells)))


def _size(items: Iterable[HeldArray | HeldProgram]) -> str:
    return format_bytes(sum(item.bytes for item in items))


def _count(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


class Constants(NamedTuple):
    """The constants of a program, and what lets go of them."""

    arrays: list[Any]
    release: str


def held_arrays(namespace: Mapping[str, Any], programs: Mapping[str, Constants] | None = None) -> tuple[HeldArray, ...]:
    """The live arrays on the devices of this process, the largest first, with the paths that lead to each.

    Args:
      namespace: the names to begin with.
      programs: constants of programs, by what such a program is called.
    """
    import jax

    live = {id(array): array for array in jax.live_arrays() if not array.is_deleted()}
    programs = programs or {}
    elsewhere: list[tuple[Path, Any]] = [((None, "name", name), held.arrays) for name, held in programs.items()]
    paths = paths_to(namespace, live, elsewhere)
    by_buffer: dict[Any, list[Any]] = {}  # a view of a shard is an array of its own, with the buffer of the whole
    for array in sorted(live.values(), key=lambda array: (-_bytes(array), id(array) not in paths)):
        pointers = _pointers(array)
        known = next((by_buffer[pointer] for pointer in pointers if pointer in by_buffer), [])
        known.append(array)
        by_buffer.update(dict.fromkeys(pointers, known))
    groups = {id(group): group for group in by_buffer.values()}.values()
    return tuple(_held(group, paths, namespace, programs) for group in groups)


def names_that_run() -> dict[str, Any]:
    """The names of the IPython shell that runs.

    Raises:
      JaxnbError: if none does.
    """
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        raise JaxnbError("there is no shell whose names could be looked through.", fix="pass globals().")
    return names_of_shell(shell)


def names_of_shell(shell: Any) -> dict[str, Any]:
    """The names of a shell; its last results among them where `%reset` has only seemed to take them away."""
    hidden = {name: shell.user_ns_hidden.get(name) for name in _REMEMBERED[1:]}
    return {**shell.user_ns, **{name: value for name, value in hidden.items() if value is not None}}


def _held(
    arrays: list[Any],
    paths: Mapping[int, list[Path]],
    namespace: Mapping[str, Any],
    programs: Mapping[str, Constants],
) -> HeldArray:
    """Arrays of one buffer, the whole before its shards."""
    found = [path for array in arrays for path in paths.get(id(array), ())]
    roots = tuple(dict.fromkeys(root_name(path) or "" for path in found))
    named = [str(root_name(path)) if root_name(path) in programs else render_path(path) for path in found]
    names = tuple(dict.fromkeys(name.removesuffix(_KEY_BUFFER) for name in named))
    only = bool(found) and all(root in _REMEMBERED for root in roots)
    aval = arrays[0].aval.str_short()
    release = release_of(found, namespace, {name: held.release for name, held in programs.items()})
    return HeldArray(_bytes(arrays[0]), aval, names, only, roots, release)


def _bytes(array: Any) -> int:
    shape = array.sharding.shard_shape(array.shape)
    size = array.dtype.itemsize
    for length in shape:
        size *= length
    return size * len(array.sharding.addressable_devices)


def _pointers(array: Any) -> list[Any]:
    try:
        return [shard.data.unsafe_buffer_pointer() for shard in array.addressable_shards]
    except Exception:  # a kind of array that has none
        return [("array", id(array))]
