"""Who holds memory over the order of a program, as plain data for a viewer: layers that stand on one another.

What was passed in stands at the bottom, by the names that people gave it, then results, what the forward pass keeps for
the backward pass, by the modules that made it, and at the top what is only there for a while.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from jaxnb.program import Held, Memory, Op, Program, common_text, is_residual, unnumbered

__all__ = ["encode_curves", "thinned"]

_SAMPLES = 160
_FINE = 500  # parts of the peak that are told apart
_MOST_LAYERS = {"input": 4, "output": 3, "residual": 5, "temporary": 1}  # by kind, in the order from the bottom
_MOST_ROWS = 14
_NUMBERED = re.compile(r"(_fusion)?(\.\d+|\.clone|\.remat\d*)*$")
_MOST_MAKERS = 2  # of several values together
_REST = {"input": "other inputs", "output": "results", "residual": "kept for backward", "temporary": "temporaries"}


def encode_curves(program: Program, samples: int = _SAMPLES) -> list[dict[str, Any]]:
    """The layers of each piece of a program, of as many positions as can be told apart; `$defs/curve` says the form.

    No level is made for this: where the buffers were not read yet, it is told by the order of the jaxpr.

    Args:
      program: whose memory it is.
      samples: how many positions at most; the peak is one of them.
    """
    return [found for memory in program.occupancy() if (found := _encode(program, memory, samples))]


def _encode(program: Program, memory: Memory, samples: int) -> dict[str, Any] | None:
    count = len(memory.live)
    if not memory.peak or not count:
        return None
    held = [one for one in memory.held if one.nbytes]
    ops = _ops_of(program, memory)
    kinds = [_kind(one, ops) for one in held]
    plain = {text: unnumbered(text) for text in {one.within for one in held}}
    results, at = _named(program), memory.peak_at
    roots = [_root(one, kind, results) for one, kind in zip(held, kinds, strict=True)]
    layers, of = _layers(held, kinds, roots, at, plain)
    positions = _positions(memory.live, samples)
    series = [[0] * count for _ in layers]
    for one, layer in zip(held, of, strict=True):
        series[layer][one.first] += one.nbytes
        if one.last + 1 < count:
            series[layer][one.last + 1] -= one.nbytes
    for row in series:
        row[:] = itertools.accumulate(row)
    living = [found for found in zip(held, kinds, roots, strict=True) if found[0].first <= at <= found[0].last]
    return {
        "source": memory.source,
        "level": memory.level,
        "computation": memory.computation,
        "count": count,
        "peak": memory.peak,
        **({"reserved": memory.reserved} if memory.reserved is not None else {}),
        "at": at,
        "turn": _turn([op.is_backward for op in ops]),
        "positions": positions,
        "unit": (unit := max(1, memory.peak // _FINE)),
        "layers": {
            "label": [label for _, label in layers],
            "kind": [kind for kind, _ in layers],
            "units": [[round(row[place] / unit) for place in positions] for row in series],
        },
        "rows": _rows(living, plain, memory, ops),
    }


def thinned(curve: Mapping[str, Any], samples: int) -> dict[str, Any]:
    """The same curve with so many positions at most, of neighbours the one where the most lives."""
    rows = curve["layers"]["units"]
    kept = _positions([sum(column) for column in zip(*rows, strict=True)], samples)
    layers = {**curve["layers"], "units": [[row[at] for at in kept] for row in rows]}
    return {**curve, "positions": [curve["positions"][at] for at in kept], "layers": layers}


def _ops_of(program: Program, memory: Memory) -> Sequence[Op]:
    """Those of the positions, () where their level is not there."""
    level = next((level for level in program.levels if level.name == memory.level), None)
    if level is None or memory.computation >= len(level.computations):
        return ()
    return level.computations[memory.computation].ops


def _kind(one: Held, ops: Sequence[Op]) -> str:
    """What a layer can be: as `Held.kind`, and "residual" for what is made forwards and last read backwards."""
    if one.kind in ("input", "constant"):
        return "input"
    if one.kind == "output":
        return "output"
    return "residual" if is_residual(one, ops) else "temporary"


def _turn(backward: Sequence[bool]) -> int:
    """Where the backward pass begins: with most of the forward pass before it, since XLA may move some of either."""
    last = max((at for at, one in enumerate(backward) if one), default=-1)
    best, score, most = -1, 0, -1
    for at in range(last + 1):
        if score > most:
            best, most = at, score
        score += -1 if backward[at] else 1
    return best


def _named(program: Program) -> frozenset[str]:
    """What begins the names that people gave to results."""
    level = next((level for level in program.levels if level.name == "jaxpr"), None)
    names = [name for c in level.computations[: level.entries] for name in c.output_names] if level is not None else []
    return frozenset(Held(name, "output", 0, 0, 0).root for name in names if name)


def _root(one: Held, kind: str, results: frozenset[str]) -> str:
    """The name that all parts of one value of the user's begin with, "" for what has none."""
    found = one.root if kind in ("input", "output") and one.kind != "constant" else ""
    return found if kind == "input" or found in results else ""


def _label(one: Held, kind: str, root: str, plain: Mapping[str, str]) -> str:
    """What the values of a layer have in common: the beginning of their names, or the call that they come from."""
    if kind == "residual":
        return plain[one.within] or (f"line {one.line}" if one.line is not None else "")
    return root


def _layers(
    held: Sequence[Held], kinds: Sequence[str], roots: Sequence[str], peak_at: int, plain: Mapping[str, str]
) -> tuple[list[tuple[str, str]], list[int]]:
    """The layers as (kind, label) from the bottom, and of each value its layer."""
    sizes: dict[tuple[str, str], int] = {}
    keys = [(kind, _label(one, kind, root, plain)) for one, kind, root in zip(held, kinds, roots, strict=True)]
    for one, key in zip(held, keys, strict=True):
        alive = one.first <= peak_at <= one.last
        sizes[key] = sizes.get(key, 0) + (one.nbytes if alive else one.nbytes // 16)
    layers: list[tuple[str, str]] = []
    place: dict[tuple[str, str], int] = {}
    for kind, most in _MOST_LAYERS.items():
        found = sorted((key for key in sizes if key[0] == kind), key=lambda key: -sizes[key])
        named = [key for key in found if key[1]][:most]
        for key in named:
            place[key] = len(layers)
            texts = [one.within for one, other in zip(held, keys, strict=True) if other == key]
            layers.append((kind, common_text(texts) if kind == "residual" and key[1] == plain[texts[0]] else key[1]))
        if len(named) < len(found):
            place.update({key: len(layers) for key in found if key not in place})
            layers.append((kind, _REST[kind]))
    return layers, [place[key] for key in keys]


def _positions(live: Sequence[int], samples: int) -> list[int]:
    """Positions to be drawn: of each stretch the one where the most lives."""
    count = len(live)
    if count <= samples:
        return list(range(count))
    edges = [count * n // samples for n in range(samples + 1)]
    return [max(range(a, b), key=live.__getitem__) for a, b in itertools.pairwise(edges)]


def _made_by(held: Sequence[Held], ops: Sequence[Op]) -> str:
    """What several values are called: by the ops that make most of them, and a fusion by what it is made of."""
    found: Counter[str] = Counter()
    for one in held:
        op = ops[one.first] if one.op is not None and one.first < len(ops) else None
        # The values of a jaxpr have no names that say anything, those of an executable say what was fused.
        name = _NUMBERED.sub("", one.name) if op is None or op.name == "fusion" or op.bodies else op.name
        found[name if op is not None else ""] += one.nbytes
    names = [name for name, _ in found.most_common(_MOST_MAKERS) if name]
    return ", ".join(names) + (", …" if names and len(found) > _MOST_MAKERS else "") or "values"


def _rows(
    living: Sequence[tuple[Held, str, str]], plain: Mapping[str, str], memory: Memory, ops: Sequence[Op]
) -> dict[str, list[Any]]:
    """Who lives at the peak, values of one origin together, and what `jax.checkpoint` around their function would
    save."""
    groups: dict[tuple[str, str, int | None, str], list[Held]] = {}
    for one, kind, root in living:
        key = (kind, root, None, "") if root else (kind, "", one.line, plain[one.within])
        groups.setdefault(key, []).append(one)
    ranked = sorted(groups.items(), key=lambda item: -sum(one.nbytes for one in item[1]))
    shown, rest = ranked[:_MOST_ROWS], [one for _, some in ranked[_MOST_ROWS:] for one in some]
    if rest:
        shown.append((("", "the rest", None, ""), rest))
    sizes = [sum(one.nbytes for one in some) for _, some in shown]
    savings = {(one.line, unnumbered(one.within)): one.nbytes for one in memory.savings}
    saves = [savings.get((line, text), 0) if kind == "residual" else 0 for (kind, _, line, text), _ in shown]
    return {
        **({"saves": saves} if any(saves) else {}),
        "name": [some[0].name if len(some) == 1 else root or _made_by(some, ops) for (_, root, _, _), some in shown],
        "kind": [kind for (kind, _, _, _), _ in shown],
        "nbytes": sizes,
        "count": [len(some) for _, some in shown],
        "line": [-1 if line is None else line for (_, _, line, _), _ in shown],
        "within": [common_text([one.within for one in some]) if text else "" for (_, _, _, text), some in shown],
    }
