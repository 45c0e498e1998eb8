"""Lowering a cell for platforms that are not here: no compiler is needed for it, and nothing runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from jaxnb import _jax
from jaxnb.errors import JaxnbError
from jaxnb.program import Level, Link, LoweredFor, Place, Platforms, Program, Refusal
from jaxnb.reading import link_stablehlo, read_stablehlo
from jaxnb.staging.levels.lowering_stages import Stage, kept_names

__all__ = ["lower_for", "platform_names"]

_ALIASES = {"gpu": "cuda"}

Below = tuple[Level, tuple[Link, ...]]
"""A level, and its links to the one above."""


def platform_names(wanted: Sequence[str]) -> tuple[str, ...]:
    """The platforms that are meant, each once, as JAX calls them.

    Args:
      wanted: such as "tpu", "cuda", "rocm", "cpu"; "gpu" is "cuda".

    Raises:
      JaxnbError: naming one that there is not.
    """
    known = _jax.lowering_platforms()
    names = tuple(dict.fromkeys(_ALIASES.get(name, name) for name in wanted))
    if not names:
        raise JaxnbError("no platform was named.", fix=f"some of {', '.join(known)}.")
    for name in names:
        if name not in known:
            raise JaxnbError(f"there is no platform {name!r} to lower for.", fix=f"some of {', '.join(known)}.")
    return names


def lower_for(
    program: Program, stages: Sequence[Stage], wanted: Sequence[str], join: Callable[[list[Below]], Below]
) -> Platforms:
    """A program as it is lowered for several platforms.

    Args:
      program: with the levels "source" and "jaxpr".
      stages: its pieces.
      wanted: the platforms.
      join: makes one level of those of the pieces, and their links.

    Raises:
      JaxnbError: as `platform_names`.
    """
    above = tuple(level for level in program.levels if level.name in ("source", "jaxpr"))
    links = tuple(link for link in program.links if link.upper == "source" and link.lower == "jaxpr")
    bare = replace(program, levels=above, links=links, fates=(), timing=None, findings=(), _maker=None)
    return Platforms(tuple(_lowered(bare, stages, name, join) for name in platform_names(wanted)))


def _lowered(
    program: Program, stages: Sequence[Stage], platform: str, join: Callable[[list[Below]], Below]
) -> LoweredFor:
    made: list[Below] = []
    told: list[_jax.Unlowered] = []
    for stage in stages:
        traced = stage.numbered()
        primitives = {eqn.primitive for eqn in _jax.all_eqns(traced.jaxpr)}
        with warnings.catch_warnings(), _jax.stand_in_rules(primitives, platform, told):
            warnings.simplefilter("ignore")
            try:
                lowered = _jax.lower_elsewhere(traced, (platform,))
            except Exception as error:
                why = str(error).strip().partition("\n")[0] or type(error).__name__
                return LoweredFor(platform, program, why=why)
        names = kept_names(stage, lowered), stage.jaxpr.computations[0].output_names
        named = read_stablehlo(lowered.compiler_ir("stablehlo"), *names)
        made.append((named.level, link_stablehlo(stage.closed_jaxpr, stage.jaxpr, named)))
    level, links = join(made)
    whole = replace(program, levels=(*program.levels, level), links=(*program.links, *links))
    return LoweredFor(platform, whole, tuple(_refusals(whole, platform, told)))


def _refusals(program: Program, platform: str, told: Sequence[_jax.Unlowered]) -> Iterator[Refusal]:
    above = dict(program.level("jaxpr").placed())
    meant: dict[Place, list[Place]] = {}
    for link in program.links:
        if link.lower == "stablehlo":
            meant.setdefault(link.lower_op, []).append(link.upper_op)
    seen: set[Place] = set()
    for place, op in program.level("stablehlo").placed():
        target = dict(op.attributes).get("call_target_name", "")
        if not target.startswith(_jax.NO_RULE):
            continue
        one = told[int(target.rpartition(".")[2])]
        linked = meant.get(place, [])
        for upper in [each for each in linked if above[each].name == one.primitive] or linked[:1]:
            if upper not in seen:
                seen.add(upper)
                yield Refusal(platform, one.primitive, above[upper].cell_line, upper, one.why, one.absent)
