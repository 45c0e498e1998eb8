"""All values of a cluster on disk: arrays by orbax, each process its own blocks, and what holds them as a parcel."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb.clusters.arrays import Block, Described, as_described, make_array
from jaxnb.clusters.values import Parcel, pack, parcel_blocks, unpack
from jaxnb.errors import JaxnbError

__all__ = ["load_values", "save_values"]

_VALUES, _ARRAYS = "values.pickle", "arrays"


def save_values(folder: str, values: Mapping[Any, Any], namespace: dict[str, Any], rank: int) -> None:
    """Writes values into a folder; every process of the job calls this with its own.

    Args:
      folder: which all processes see; it is there when it is complete.
      values: by key.
      namespace: whose functions are among them.
      rank: of this process.

    Raises:
      JaxnbError: if orbax is missing, or something cannot be written.
    """
    aside, part = dict[int, Any](), f"{folder}.part"
    parcel = pack(values, namespace, aside=aside)
    try:
        if rank == 0 or aside:
            os.makedirs(part, exist_ok=True)
        if aside:
            with _checkpointer() as checkpointer:
                checkpointer.save(
                    os.path.join(part, _ARRAYS), {str(n): array for n, array in aside.items()}, force=True
                )
                checkpointer.wait_until_finished()
        if rank == 0:
            with open(os.path.join(part, _VALUES), "wb") as file:
                pickle.dump((sorted(aside), parcel), file)
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(part, folder)
    except OSError as error:
        raise JaxnbError(
            f"the checkpoint cannot be written to {folder}.",
            why=f"{error.strerror or error}.",
            fix="give a folder that all processes can write to, and that has room.",
        ) from error


def load_values(folder: str, namespace: dict[str, Any], values: Callable[[int, Any], Any]) -> dict[Any, Any]:
    """The values that were written into a folder, on the devices of this job, by key.

    Raises:
      JaxnbError: if orbax is missing, the folder is no checkpoint, or the devices are too few.
    """
    try:
        with open(os.path.join(folder, _VALUES), "rb") as file:
            spread, parcel = pickle.load(file)
    except (OSError, pickle.UnpicklingError, EOFError, ValueError) as error:
        raise JaxnbError(f"{folder} is no checkpoint of a cluster.", why=f"{type(error).__name__}: {error}") from error
    assert isinstance(parcel, Parcel)
    told = [described for described, _ in parcel_blocks(parcel, namespace)]
    arrays = dict[str, Any]()
    if spread:
        wanted = {str(n): _struct(told[n]) for n in spread}
        with _checkpointer() as checkpointer:
            arrays = checkpointer.restore(os.path.join(folder, _ARRAYS), wanted)
    made = iter(range(len(told)))

    def make(described: Described, blocks: Mapping[Block, np.ndarray]) -> Any:
        number = str(next(made))
        return as_described(arrays[number], described) if number in arrays else make_array(described, blocks)

    return unpack(parcel, namespace, values, make=make)


def _struct(described: Described) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(described.shape, jnp.dtype(described.dtype), sharding=described.sharding)


def _checkpointer() -> Any:
    try:
        import orbax.checkpoint as orbax
    except ImportError as error:
        raise JaxnbError(
            "checkpoints need orbax, which is not installed.", fix="pip install orbax-checkpoint"
        ) from error
    return orbax.StandardCheckpointer()
