"""The header of `%%xmap`, whole: `x[batch, inputs], w[inputs, out] -> y[batch, out] --resources batch=x`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from jaxnb.cells.named_spec import MapSpec, Pair, did_you_mean, read_map
from jaxnb.errors import BadHeader
from jaxnb.shell.header import XMAP_OPTIONS, parse_header

__all__ = ["parse_xmap", "read_spec"]

LOWERINGS = ("manual", "spmd")


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
    _check_names(spec)
    return {"xmap": spec, **options}


def read_spec(
    text: str,
    sizes: Mapping[str, int],
    resources: Mapping[str, Any] | Literal["auto"],
    mesh: Any = None,
    lowering: str = "manual",
    hardware: str = "",
) -> MapSpec:
    """The same from Python values, for functions: only `inputs -> outputs` is text.

    Args:
      text: `x[batch, inputs] -> y[batch]`.
      sizes: sizes of names.
      resources: what each name is spread over: a resource or a tuple of them; a loop is its number of turns;
        "auto" has the best ones searched for.
      mesh: the name of a mesh, its axes, a mesh, or None.
      lowering: "manual" or "spmd".

    Raises:
      BadHeader: pointing at the word of `text` that is wrong.
    """
    shown = text.strip()
    inputs, outputs, position = read_map(shown, shown, 0)
    if shown[position:].strip():
        word = shown[position:].split()[0]
        column = shown.index(word, position)
        raise BadHeader(f"{word!r} is not expected here.", header=shown, column=column, width=len(word))
    if lowering not in LOWERINGS:
        raise BadHeader(f"there is no lowering {lowering!r}.", header=shown, column=0, fix=did_you_mean("", LOWERINGS))
    auto = isinstance(resources, str)
    given = {} if isinstance(resources, str) else resources
    spread = tuple((name, tuple(one) if isinstance(one, tuple | list) else (one,)) for name, one in given.items())
    spec = MapSpec(inputs, outputs, tuple(sizes.items()), spread, mesh, lowering, auto, hardware, shown)
    _check_names(spec)
    return spec


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


def _check_names(spec: MapSpec) -> None:
    """Every name that is used is one of an input, or has its size given."""
    known = spec.named
    for term in spec.outputs:
        for name, column in zip(term.names, term.columns, strict=True):
            if name is not None and name not in known:
                what = f"no input has the name {name}, and --sizes does not give its size."
                fix = did_you_mean(name, known)
                raise BadHeader(what, header=spec.header, column=column, width=len(name), fix=fix)
    for name, _ in spec.resources:
        if name not in known:
            column, width = spec.places.get(("resources", name), (0, 1))
            width = min(width, len(name)) if ("resources", name) in spec.places else width
            what = f"{name} has a resource, but no input has that name, and --sizes does not give its size."
            raise BadHeader(what, header=spec.header, column=column, width=width, fix=did_you_mean(name, known))
