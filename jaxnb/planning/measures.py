"""What would lower the memory that a planned cell needs: options, edits and other inputs, each to be tried.

A measure says how it is written, and how the cell is traced with it. Whether it helps is for the compiler to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jaxnb import _jax
from jaxnb.findings import find_donations
from jaxnb.options import StageOptions
from jaxnb.planning.remat_edits import Edited, decorated, scans_in, wrapped_gradients
from jaxnb.planning.rematerialisation import Seen
from jaxnb.reading import SimulatedMesh
from jaxnb.staging import CellSource, Piece, root_name

__all__ = ["Case", "Measure", "find_measures"]

_WORTH = 0.05
"""Of what the program needs: what saves less at best is not tried."""

Change = Callable[[str], Edited | None]


@dataclass(frozen=True, slots=True)
class Case:
    """A cell that does not fit.

    Attributes:
      cell: as it was written.
      traced: as it was traced.
      piece: of it.
      namespace: the names that it begins with.
      options: of it.
      mesh: that it is planned for.
      needed: bytes of a device.
    """

    cell: CellSource
    traced: CellSource
    piece: Piece
    namespace: dict[str, Any]
    options: StageOptions
    mesh: SimulatedMesh
    needed: int


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that may lower the peak.

    Attributes:
      name: in a few words.
      text: how it is done, in a sentence; behind it stand the options, or the edit.
      shown: options of the header that do it.
      options: the cell's with them.
      change: edits the cell as displayed; None where nothing is edited.
      names: what some names stand for instead.
      exact: whether the cell computes the same numbers.
    """

    name: str
    text: str
    shown: str = ""
    options: Callable[[StageOptions], StageOptions] = lambda options: options
    change: Change | None = None
    names: Mapping[str, Any] | None = None
    exact: bool = True


def find_measures(case: Case, gradients: Seen | None) -> Iterator[Measure]:
    """What could be tried, the cheapest first.

    Args:
      case: the cell.
      gradients: what was seen while it was traced, if it takes a gradient.
    """
    if case.options.xmap is not None:
        return  # its names say how it is spread: `--resources auto` tries all ways
    yield from _donations(case)
    if gradients is not None and gradients.gradients:
        yield from _checkpoints(case, gradients)
    yield from _spreadings(case)
    yield from _narrower(case)


def _donations(case: Case) -> Iterator[Measure]:
    for found in find_donations(case.traced, case.piece, case.needed, case.namespace):
        if found.replaced:
            names = found.donate
            yield Measure(
                f"--donate {', '.join(names)}",
                _how(found.text),
                found.options,
                lambda options, names=names: replace(options, donate=(*options.donate, *names)),
            )


def _how(text: str) -> str:
    """A donation in words, without what it saves, and with whom it takes arrays from."""
    head, _, rest = text.partition(":")
    lost = rest.partition(" less.")[2].strip()
    return f"{head}. {lost[:1].upper()}{lost[1:].removesuffix('.')}:" if lost else f"{head}:"


def _checkpoints(case: Case, seen: Seen) -> Iterator[Measure]:
    """The first that fits the cell: each turn of a scan, each call of a layer, or all that is differentiated."""
    shown, names = case.cell.shown or case.cell.text, case.namespace
    if case.options.loss is not None and not case.options.remat:
        text = "keep nothing for the backward pass but what goes in:"
        yield Measure("--remat nothing", text, "--remat nothing", lambda options: replace(options, remat=("nothing",)))
        return
    layer = next((one for one in seen.layers() if decorated(shown, one.name, names, one.kind) is not None), None)
    if any(eqn.primitive.name == "scan" for eqn in _jax.all_eqns(case.piece.jaxpr)) and scans_in(shown, names):
        yield Measure(
            "jax.checkpoint of each turn of scan",
            "let each turn keep its arguments alone:",
            change=lambda text: scans_in(text, names),
        )
    elif layer is not None:
        yield Measure(
            f"jax.checkpoint of each {layer.name}",
            "let each call keep its arguments alone:",
            change=lambda text: decorated(text, layer.name, names, layer.kind),
        )
    else:

        def policy(jax_name: str) -> str:
            return _jax.written_policy(("nothing",), jax_name)

        if wrapped_gradients(shown, names, policy) is not None:
            yield Measure(
                "jax.checkpoint of what is differentiated",
                "let the gradient keep nothing but what goes in:",
                change=lambda text: wrapped_gradients(text, names, policy),
            )


def _roots(case: Case) -> dict[str, list[tuple[int, Any]]]:
    """The inputs by the names that they are reached from, each with its bytes on a device and its leaf."""
    found: dict[str, int] = {}
    for path in case.piece.paths:
        name = root_name(path)
        if name is not None and name in case.namespace:
            found[name] = 0
    values = {name: jax.tree.leaves(case.namespace[name]) for name in found}
    arrays = {name: some for name, some in values.items() if some and all(map(_is_array, some))}
    return {name: [(_held(leaf), leaf) for leaf in some] for name, some in arrays.items()}


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | jax.ShapeDtypeStruct | np.ndarray) and hasattr(value.dtype, "itemsize")


def _spec(leaf: Any) -> tuple[tuple[str, ...], ...]:
    """The axes that cut each dimension."""
    sharding = getattr(leaf, "sharding", None)
    given = tuple(sharding.spec) if isinstance(sharding, NamedSharding) else ()
    entries = [() if one is None else (one,) if isinstance(one, str) else tuple(one) for one in given]
    return (*entries, *((),) * (len(leaf.shape) - len(entries)))


def _held(leaf: Any) -> int:
    sharding = getattr(leaf, "sharding", None)
    sizes = dict(sharding.mesh.shape) if isinstance(sharding, NamedSharding) else {}
    parts = math.prod(sizes.get(axis, 1) for axes in _spec(leaf) for axis in axes)
    return math.prod(leaf.shape) * leaf.dtype.itemsize // parts


def _spreadings(case: Case) -> Iterator[Measure]:
    """The name whose arrays take most on a device, cut along one more axis of the mesh."""
    best: tuple[int, str, str, Any] | None = None
    for name, leaves in _roots(case).items():
        for axis, size in case.mesh.axes:
            cut = jax.tree.map(
                lambda leaf, axis=axis, size=size: _cut(leaf, axis, size, case.mesh), case.namespace[name]
            )
            saved = sum(held for held, _ in leaves) - sum(map(_held, jax.tree.leaves(cut)))
            if saved >= _WORTH * case.needed and (best is None or saved > best[0]):
                best = saved, name, axis, cut
    if best is not None:
        _, name, axis, cut = best
        leaves = jax.tree.leaves(cut)
        how = f"P{tuple(leaves[0].sharding.spec)!r}" if len(leaves) == 1 else "in the first dimension that it divides"
        yield Measure(
            f"`{name}` cut along {axis}",
            f"lay `{name}` along {axis}, {how}: jaxnb.abstract of shapes, or jax.device_put of arrays, says so above.",
            names={name: cut},
        )


def _cut(leaf: Any, axis: str, size: int, mesh: SimulatedMesh) -> Any:
    spec = _spec(leaf)
    sharding = getattr(leaf, "sharding", None)
    sizes = dict(sharding.mesh.shape) if isinstance(sharding, NamedSharding) else {}
    if any(axis in axes for axes in spec) or size == 1:
        return leaf
    for at, (length, axes) in enumerate(zip(leaf.shape, spec, strict=True)):
        if length % (size * math.prod(sizes.get(one, 1) for one in axes)) == 0:
            entries = [*spec[:at], (*axes, axis), *spec[at + 1 :]]
            written = PartitionSpec(*(one[0] if len(one) == 1 else one or None for one in entries))
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh.mesh, written))
    return leaf


def _narrower(case: Case) -> Iterator[Measure]:
    """The names that hold most in 32 bits, with half of that."""
    found: dict[str, int] = {}
    for name, leaves in _roots(case).items():
        size = sum(held for held, leaf in leaves if leaf.dtype == np.float32)
        if size >= _WORTH * case.needed:
            found[name] = size
    if not found:
        return
    listed = ", ".join(f"`{name}`" for name in found)
    yield Measure(
        f"{listed} in bfloat16",
        f"hold {listed} in bfloat16: astype(jnp.bfloat16) above the cell. It computes other numbers, of 8 bits.",
        names={name: jax.tree.map(_halved, case.namespace[name]) for name in found},
        exact=False,
    )


def _halved(leaf: Any) -> Any:
    if leaf.dtype != np.float32:
        return leaf
    sharding = getattr(leaf, "sharding", None)
    kept = sharding if isinstance(sharding, NamedSharding) else None
    return jax.ShapeDtypeStruct(leaf.shape, jnp.bfloat16, sharding=kept)
