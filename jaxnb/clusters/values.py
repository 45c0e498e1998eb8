"""Values on their way from one process to another: whatever cloudpickle takes, and what it does not know.

- Functions of the notebook read the names of the process in which they arrive, as they read those of the notebook.
- Arrays are only named in the stream; their blocks travel beside it, see `arrays`.
- Devices are told by their place among all, so that a mesh of eight devices of one process is, elsewhere, the mesh of
  the eight devices of four processes.
- A handle is what it stands for, in the processes that hold that.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import pickle
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CellType, FunctionType, ModuleType
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np

from jaxnb import _jax
from jaxnb.clusters.arrays import Block, Described, blocks_of, blocks_on, describe, make_array
from jaxnb.clusters.classes import reduce_class, reduce_object
from jaxnb.errors import JaxnbError

__all__ = ["Packer", "Parcel", "needed_on", "pack", "packed_alone", "parcel_blocks", "parts_of", "unpack"]

_NAMES, _MODULE, _ARRAY, _DEVICE, _VALUE = "names", "module", "array", "device", "value"


@dataclass(frozen=True)
class Parcel:
    """Names with what they stand for, ready to be sent.

    Attributes:
      head: what the arrays among them are, pickled.
      body: the names one after the other, pickled, with what each stands for.
      data: the blocks of the arrays and the buffers of NumPy's, one behind the other.
      blocks: of each array the blocks that are in `data`, with where each begins.
      buffers: where the buffers begin and end.
      uses: of each name the numbers of the arrays that were met in it.
      spread: whether an array lies on several devices.
    """

    head: bytes
    body: bytes
    data: np.ndarray
    blocks: tuple[tuple[tuple[Block, int], ...], ...] = ()
    buffers: tuple[tuple[int, int], ...] = ()
    uses: tuple[tuple[Any, frozenset[int]], ...] = ()
    spread: bool = False

    @property
    def nbytes(self) -> int:
        """How much is sent."""
        return len(self.head) + len(self.body) + self.data.nbytes


class Packer(cloudpickle.Pickler):
    """Pickles values of a namespace.

    Args:
      namespace: whose functions are to read the names of where they arrive.
      names_value: gives the id and the path of what a handle stands for; None for what is none.
      array: what stands for an array in the stream; by default its number among the `arrays`.

    Attributes:
      reads: the names of the namespace that the functions read which were pickled.
      arrays: those that were met, in the order of their numbers.
      met: the numbers of those that were met since somebody emptied it.
    """

    def __init__(
        self,
        file: io.BytesIO,
        namespace: dict[str, Any],
        names_value: Callable[[Any], tuple[int, Any] | None] = lambda _: None,
        array: Callable[[Any], Any] | None = None,
        buffers: Callable[[pickle.PickleBuffer], Any] | None = None,
    ) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers)
        self._namespace, self._names_value = namespace, names_value
        self._array = array or self._number
        self._marker = _Names()
        self.globals_ref[id(namespace)] = self._marker
        self.reads: set[str] = set()
        self.arrays: list[Any] = []
        self.met: set[int] = set()
        self._numbers: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> Any:
        """What stands for an object in the stream, where it is not pickled itself."""
        if obj is self._marker or obj is self._namespace:
            return (_NAMES,)
        if type(obj) is _NamesOf:
            return _MODULE, obj.module
        if isinstance(obj, jax.Device):
            return _DEVICE, obj.platform, jax.devices(obj.platform).index(obj)
        if (named := self._names_value(obj)) is not None:
            return _VALUE, *named
        if isinstance(obj, jax.Array) and not _jax.is_tracer(obj):
            return _ARRAY, self._array(obj)
        return None

    def reducer_override(self, obj: Any) -> Any:
        """How functions are pickled: without the names that they read; and classes: as they are."""
        if type(obj) is FunctionType:
            self.globals_ref.setdefault(id(obj.__globals__), _names_of(obj.__globals__))
        made: Any = super().reducer_override(obj)
        if type(obj) is FunctionType and isinstance(made, tuple):
            state, slots = made[2]  # of cloudpickle: what stands in the function, and what makes it one
            if obj.__globals__ is self._namespace:
                self.reads |= set(slots.get("__globals__", ()))
            elif type(self.globals_ref[id(obj.__globals__)]) is not _NamesOf:
                return made
            return (*made[:2], (state, {**slots, "__globals__": {}}), *made[3:])
        if isinstance(obj, type):
            return reduce_class(obj, made)
        return reduce_object(obj) if made is NotImplemented else made

    def _number(self, array: Any) -> int:
        number = self._numbers.setdefault(id(array), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)
        self.met.add(number)
        return number


class _Names(dict[str, Any]):
    """Stands for the namespace, whose functions cloudpickle gives names of their own."""


class _NamesOf(dict[str, Any]):
    """Stands for the names of a module that can be imported; functions made by it read them where they arrive."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module


def _names_of(names: dict[str, Any]) -> dict[str, Any]:
    """What stands for the names that a function reads: those of a module, or its own."""
    name = names.get("__name__")
    if not isinstance(name, str) or name == "__main__" or names.get("__spec__") is None:
        return {}
    return _NamesOf(name) if getattr(sys.modules.get(name), "__dict__", None) is names else {}


def packed_alone(value: Any, namespace: dict[str, Any], names_value: Any, array: Callable[[Any], Any]) -> Any:
    """What is the same while a value is, and the names that its functions read.

    Args:
      value: any.
      namespace: whose functions it may hold.
      names_value: as of a `Packer`.
      array: what stands for an array.

    Raises:
      Exception: whatever pickling it raises.
    """
    file, digest = io.BytesIO(), hashlib.blake2b(digest_size=16)

    def add(buffer: pickle.PickleBuffer) -> bool:
        digest.update(buffer.raw())
        return False

    packer = Packer(file, namespace, names_value, array, add)
    packer.dump(value)
    digest.update(file.getvalue())
    return digest.digest(), packer.reads


def parts_of(value: Any, namespace: dict[str, Any], names_value: Any) -> frozenset[int]:
    """The ids of the objects in a value that somebody may change, and that others may hold, too.

    Raises:
      Exception: whatever pickling it raises.
    """
    memos = list[dict[int, Any]]()
    for _ in range(2):  # what is made only to be pickled is another object the second time
        packer = Packer(io.BytesIO(), namespace, names_value, id, lambda _: False)
        packer.dump(value)
        memos.append(packer.memo.copy())
    one, two = memos
    return frozenset(number for number, (_, part) in one.items() if number in two and _is_changed(part))


def _is_changed(part: Any) -> bool:
    if isinstance(part, (type, FunctionType, ModuleType)):
        return False
    return isinstance(part, (list, dict, set, bytearray, deque, np.ndarray, CellType)) or bool(_vars_of(part))


def _vars_of(value: Any) -> dict[str, Any]:
    """The attributes of an object that it keeps in a dictionary."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}


def pack(
    values: Mapping[Any, Any],
    namespace: dict[str, Any],
    names_value: Callable[[Any], tuple[int, Any] | None] = lambda _: None,
    needs: Callable[[Described, Any], Sequence[Block]] | None = None,
    *,
    spread: bool = True,
    aside: dict[int, Any] | None = None,
) -> Parcel:
    """Packs names with what they stand for. What two of them share is one object where it arrives, too.

    Args:
      values: by name.
      namespace: whose functions they hold.
      names_value: as of a `Packer`.
      needs: the blocks of an array that the receiver needs; by default all that there are.
      spread: whether it is told how arrays lie on devices.
      aside: takes the arrays that lie on several devices, by their numbers; then they are not in the parcel.

    Raises:
      JaxnbError: naming what cannot be sent.
    """
    file, buffers = io.BytesIO(), list[Any]()

    def keep(buffer: pickle.PickleBuffer) -> bool:
        buffers.append(buffer.raw())
        return False

    packer, uses = Packer(file, namespace, names_value, buffers=keep), list[tuple[Any, frozenset[int]]]()
    for name, value in values.items():
        packer.met = set()
        try:
            packer.dump((name, value))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise cannot_be_sent(name, value, error) from error
        uses.append((name, frozenset(packer.met)))
    told, parts, places, at = list[Described](), list[Any](), list[Any](), 0
    for array in packer.arrays:
        described, data = describe(array)
        if aside is not None and described.sharding is not None:
            aside[len(told)] = data
            told.append(described)
            places.append(())
            continue
        there = blocks_of(data)
        wanted = list(there) if needs is None else needs(described, data)
        found = list[tuple[Block, int]]()
        for block in wanted:
            item = there[block] if block in there else _cut(there[described.whole], block)
            parts.append(np.ascontiguousarray(item).reshape(-1).view(np.uint8))
            found.append((block, at))
            at += parts[-1].nbytes
        told.append(described if spread else replace(described, sharding=None, device=None))
        places.append(tuple(found))
    ends = list[tuple[int, int]]()
    for buffer in buffers:
        parts.append(np.frombuffer(buffer, np.uint8))
        ends.append((at, at + parts[-1].nbytes))
        at += parts[-1].nbytes
    head = io.BytesIO()
    Packer(head, namespace).dump(told)
    data = np.concatenate(parts) if parts else np.empty(0, np.uint8)
    on_many = any(one.sharding is not None for one in told)
    return Parcel(head.getvalue(), file.getvalue(), data, tuple(places), tuple(ends), tuple(uses), on_many)


def cannot_be_sent(name: str, value: Any, error: BaseException) -> JaxnbError:
    """What is said of a value that cannot be pickled."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return JaxnbError(
        f"`{name}` cannot be sent to the processes of the cluster: it is a {kind}.",
        why=f"{type(error).__name__}: {error}".strip().rstrip(".").partition("\n")[0] + ".",
        fix=f"make `{name}` in a %%jit --cluster cell, where it is needed, or leave it out of what the cell reads.",
    )


def unpack(
    parcel: Parcel,
    namespace: dict[str, Any],
    values: Callable[[int, Any], Any],
    more: Mapping[int, Mapping[Block, np.ndarray]] | None = None,
    make: Callable[[Described, Mapping[Block, np.ndarray]], Any] = make_array,
) -> dict[Any, Any]:
    """What a parcel holds, by name, with its arrays on the devices of this process.

    Args:
      parcel: as it came.
      namespace: of this process.
      values: what a handle stands for here, by its id and path.
      more: blocks that are not in the parcel, by the number of the array.
      make: makes an array of its blocks.

    Raises:
      JaxnbError: if a device is not there.
    """
    blocks = parcel_blocks(parcel, namespace)
    arrays = [make(one, {**there, **(more or {}).get(n, {})}) for n, (one, there) in enumerate(blocks)]
    buffers = [parcel.data[start:stop].copy() for start, stop in parcel.buffers]
    stream, found = io.BytesIO(parcel.body), dict[Any, Any]()
    unpickler = _Unpickler(stream, namespace, values, arrays, buffers)
    while stream.tell() < len(parcel.body):
        name, value = unpickler.load()
        found[name] = value
    return found


def parcel_blocks(parcel: Parcel, namespace: dict[str, Any]) -> list[tuple[Described, dict[Block, np.ndarray]]]:
    """What the arrays of a parcel are, each with the blocks that are in it.

    Raises:
      JaxnbError: if a device is not there.
    """
    told = _Unpickler(io.BytesIO(parcel.head), namespace, lambda number, path: None).load()
    return [
        (one, {block: _view(parcel.data, one, block, at) for block, at in places})
        for one, places in zip(told, parcel.blocks, strict=True)
    ]


class _Unpickler(pickle.Unpickler):
    def __init__(
        self,
        file: io.BytesIO,
        namespace: dict[str, Any],
        values: Callable[[int, Any], Any],
        arrays: Sequence[Any] = (),
        buffers: Sequence[Any] = (),
    ) -> None:
        super().__init__(file, buffers=buffers)
        self._namespace, self._values, self._arrays = namespace, values, arrays

    def persistent_load(self, pid: Any) -> Any:
        kind, *rest = pid
        if kind == _NAMES:
            return self._namespace
        if kind == _MODULE:
            return vars(importlib.import_module(rest[0]))
        if kind == _ARRAY:
            return self._arrays[rest[0]]
        if kind == _VALUE:
            return self._values(*rest)
        platform, place = rest
        devices = _devices(platform)
        if place >= len(devices):
            raise _no_device(place, len(devices))
        return devices[place]


def _no_device(place: int, count: int) -> JaxnbError:
    return JaxnbError(
        f"device {place} is not there: the cluster has {count}.",
        why="a mesh or an array of the notebook lies on more devices.",
        fix="start the cluster with more: %jaxnb cluster start -n 4 --devices 2.",
    )


def _devices(platform: str) -> list[Any]:
    try:
        return jax.devices(platform)
    except RuntimeError:  # the notebook plans on CPU devices for a cluster of others
        return jax.devices()


def _view(data: np.ndarray, described: Described, block: Block, at: int) -> np.ndarray:
    dtype = jnp.dtype(described.dtype)
    shape = [stop - start for start, stop in block]
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return data[at : at + size].view(dtype).reshape(shape)


def _cut(whole: np.ndarray, block: Block) -> np.ndarray:
    return whole[tuple(slice(*part) for part in block)]


def needed_on(ranks: Sequence[int], rank: int) -> Callable[[Described, Any], Sequence[Block]]:
    """The blocks of an array that one process needs, given which process has each device."""

    def needs(described: Described, data: Any) -> Sequence[Block]:
        if described.sharding is None:
            return [described.whole]
        every = jax.devices(next(iter(described.sharding.device_set)).platform)
        places = {device: every.index(device) for device in described.sharding.device_set}
        if beyond := [place for place in places.values() if place >= len(ranks)]:
            raise _no_device(min(beyond), len(ranks))
        own = [device for device, place in places.items() if ranks[place] == rank]
        return blocks_on(described.sharding, described.shape, own)

    return needs
