"""Who holds the memory of the devices: the live arrays, and the paths by which a user reaches each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jaxnb.errors import JaxnbError
from jaxnb.objects.owners import paths_to
from jaxnb.objects.paths import Path, render_path, root_name
from jaxnb.units import format_bytes

__all__ = ["HeldArray", "Holdings", "memory", "names_of_shell", "names_that_run"]

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
    """

    bytes: int
    aval: str
    holders: tuple[str, ...]
    remembered: bool

    @property
    def held_by(self) -> str:
        """The holders in one phrase."""
        if not self.holders:
            return "(no name leads to it)"
        more = len(self.holders) - 3
        return ", ".join(self.holders[:3]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Holdings:
    """The live arrays, the largest first; its text is what `%jaxnb memory` prints."""

    arrays: tuple[HeldArray, ...]

    @property
    def bytes(self) -> int:
        """What they take together."""
        return sum(array.bytes for array in self.arrays)

    def __str__(self) -> str:
        if not self.arrays:
            return "no array is alive"
        cells = [("bytes", "array", "held by")]
        cells += [(format_bytes(item.bytes), item.aval, item.held_by) for item in self.arrays[:_SHOWN]]
        widths = [max(len(line[index]) for line in cells) for index in range(2)]
        lines = [f"{size:>{widths[0]}}  {aval:<{widths[1]}}  {held}" for size, aval, held in cells]
        rest = self.arrays[_SHOWN:]
        if rest:
            lines.append(f"{format_bytes(sum(item.bytes for item in rest)):>{widths[0]}}  in {len(rest)} more")
        count = len(self.arrays)
        lines += ["", f"{format_bytes(self.bytes)} in {count} array{'' if count == 1 else 's'}"]
        remembered = sum(item.bytes for item in self.arrays if item.remembered)
        if remembered:
            size = format_bytes(remembered)
            lines.append(f"{size} are only remembered as results of cells: %reset -f out empties Out")
        lost = sum(item.bytes for item in self.arrays if not item.holders)
        if lost:
            lines.append(f"{format_bytes(lost)} are held where no name leads: a cache, a thread, or JAX itself")
        return "\n".join(lines)

    __repr__ = __str__


def memory(namespace: Mapping[str, Any] | None = None) -> Holdings:
    """Looks up who holds each live array.

    Args:
      namespace: the names to begin with; None stands for those of the running IPython shell.

    Returns:
      The arrays on the devices of this process, with the paths that lead to each.

    Raises:
      JaxnbError: if no namespace is given and no shell runs.
    """
    import jax

    namespace = names_that_run() if namespace is None else namespace
    live = {id(array): array for array in jax.live_arrays() if not array.is_deleted()}
    paths = paths_to(namespace, live)
    by_buffer: dict[Any, list[Any]] = {}  # a view of a shard is an array of its own, with the buffer of the whole
    for array in sorted(live.values(), key=lambda array: (-_bytes(array), id(array) not in paths)):
        pointers = _pointers(array)
        known = next((by_buffer[pointer] for pointer in pointers if pointer in by_buffer), [])
        known.append(array)
        by_buffer.update(dict.fromkeys(pointers, known))
    groups = {id(group): group for group in by_buffer.values()}.values()
    return Holdings(tuple(_held(group, paths) for group in groups))


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


def _held(arrays: list[Any], paths: Mapping[int, list[Path]]) -> HeldArray:
    """Arrays of one buffer, the whole before its shards."""
    found = [path for array in arrays for path in paths.get(id(array), ())]
    names = tuple(dict.fromkeys(render_path(path).removesuffix(_KEY_BUFFER) for path in found))
    only = bool(found) and all(root_name(path) in _REMEMBERED for path in found)
    return HeldArray(_bytes(arrays[0]), arrays[0].aval.str_short(), names, only)


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
