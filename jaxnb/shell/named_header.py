"""The header of `%%xmap`, whole: `x[batch, inputs], w[inputs, out] -> y[batch, out] --resources batch=x`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jaxnb.errors import BadHeader
from jaxnb.named import LOWERINGS, MapSpec, Pair, check_names, did_you_mean, read_map
from jaxnb.shell.header import XMAP_OPTIONS, parse_header

__all__ = ["parse_xmap"]


def parse_xmap(header: str, magic: str = "%%xmap") -> dict[str, Any]:
    """Reads the header of `%%xmap`.

    >>> found = parse_xmap("x[i], y[i] -> z[] --sizes j=4 --block")
    >>> [term.path for term in found["xmap"].inputs], found["xmap"].sizes, found["block"]
    (['x', 'y'], (('j', 4),), True)

    Args:
      header: the text behind the magic's name.
      magic: its name, for messages.

    Returns:
      The `MapSpec` under "xmap", and the other options by the names of `StageOptions`.

    Raises:
      BadHeader: pointing at the word that is wrong.
    """
    shown, shift = f"{magic} {header}".rstrip(), len(magic) + 1
    inputs, outputs, position = read_map(header, shown, shift)
    options = parse_header(header, XMAP_OPTIONS, magic, position)
    auto = options.get("resources") == "auto"
    if auto:
        del options["resources"]
    hardware = options.pop("hardware", "")
    if hardware and not auto:
        column = header.index("--hardware") + shift
        what, fix = "--hardware is for the search of --resources auto.", "leave it out."
        raise BadHeader(what, header=shown, column=column, width=len("--hardware"), fix=fix)
    pairs = {option: options.pop(option, ()) for option in ("sizes", "resources")}
    mesh, lowering = options.pop("mesh", None), options.pop("lowering", "manual")
    if lowering not in LOWERINGS:
        column = header.index(lowering, header.index("--lowering") + len("--lowering")) + shift
        fix = did_you_mean(lowering, LOWERINGS)
        raise BadHeader(
            f"there is no lowering {lowering!r}.", header=shown, column=column, width=len(lowering), fix=fix
        )
    places = _check_pairs(pairs, shown, shift)
    sizes, resources = (tuple((pair.name, pair.value) for pair in pairs[option]) for option in ("sizes", "resources"))
    spec = MapSpec(inputs, outputs, sizes, resources, mesh, lowering, auto, hardware, shown, places)
    check_names(spec)
    return {"xmap": spec, **options}


def _check_pairs(pairs: Mapping[str, Sequence[Pair]], shown: str, shift: int) -> dict[tuple[str, str], tuple[int, int]]:
    """Where each name stands in `--sizes` and `--resources`; in each of them once."""
    places: dict[tuple[str, str], tuple[int, int]] = {}
    for option, found in pairs.items():
        for pair in found:
            place = pair.column + shift, pair.width
            if (option, pair.name) in places:
                what = f"--{option} says two things of {pair.name}."
                raise BadHeader(what, header=shown, column=place[0], width=place[1], fix="leave one of them out.")
            places[option, pair.name] = place
    return places
