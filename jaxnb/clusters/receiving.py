"""Values of a cluster in the notebook: put together from the blocks that the processes sent."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb.clusters.arrays import Block, Described, whole_of
from jaxnb.clusters.values import Parcel, parcel_blocks, unpack
from jaxnb.errors import JaxnbError

__all__ = ["put_together"]


def put_together(parts: Sequence[tuple[Parcel, np.ndarray]]) -> Any:
    """A value of which the first process sent what it is, and each process the blocks that it has.

    Raises:
      JaxnbError: if some block of an array came from nobody, or the value cannot be made here.
    """
    parcels = [replace(parcel, data=data) for parcel, data in parts]
    names = vars(sys.modules["__main__"])
    blocks = dict[int, dict[Block, np.ndarray]]()
    for parcel in parcels[1:]:
        for number, (_, there) in enumerate(parcel_blocks(parcel, names)):
            blocks.setdefault(number, {}).update(there)
    try:
        return unpack(parcels[0], names, _elsewhere, blocks, _as_numpy)["value"]
    except (ImportError, AttributeError, pickle.UnpicklingError) as error:
        raise JaxnbError(
            "the value cannot be brought here.",
            why=f"{type(error).__name__}: {error}",
            fix="import here what it is made of, or fetch a part of it: jaxnb.fetch(value['name']).",
        ) from error


def _as_numpy(described: Described, blocks: Mapping[Block, np.ndarray]) -> Any:
    whole = whole_of(described, blocks)
    if whole is None:
        raise JaxnbError(
            f"of an array of {described.dtype}{list(described.shape)} no process has some part any more.",
            fix="run the cell again that made it.",
        )
    if described.key:
        return jax.random.wrap_key_data(jnp.asarray(whole), impl=described.key)
    return np.array(whole)


def _elsewhere(number: int, path: Any) -> Any:
    raise JaxnbError("a value of the cluster holds a handle of another one.")
