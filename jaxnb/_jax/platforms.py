"""The door to the rules by which primitives are lowered for platforms that are not here.

`Traced.lower(lowering_platforms=...)` stops at the first equation that has no rule there, and takes any word for a
platform. Here such an equation becomes a call of something that is not there, and is told of.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
from jax._src.interpreters.mlir import (
    _lowerings as _rules,  # pyright: ignore[reportPrivateUsage]
    _platform_specific_lowerings as _rules_there,  # pyright: ignore[reportPrivateUsage]
)

from jaxnb._jax.eqns import all_eqns

__all__ = ["NO_RULE", "Unlowered", "lowered_by_others", "lowering_platforms", "stand_in_rules"]

NO_RULE = "jaxnb.no_rule"
"""What an equation that cannot be lowered calls, behind which its number among the refused stands."""


def lowered_by_others(closed: Any) -> bool:
    """Whether an equation of a program is lowered by a library other than JAX, which may call functions then."""
    return any(_home(eqn.primitive) not in ("jax", "jaxlib", "jaxnb") for eqn in all_eqns(closed))


def _home(primitive: Any) -> str:
    function = getattr(primitive.impl, "func", primitive.impl)  # JAX's own are partials
    return str(getattr(function, "__module__", "")).partition(".")[0]


def lowering_platforms() -> tuple[str, ...]:
    """The platforms that this JAX has rules for, whether or not they are here."""
    return tuple(sorted(_rules_there))


class Unlowered(NamedTuple):
    """An equation that could not be lowered.

    Attributes:
      primitive: what it is called.
      why: what its rule said; "" where there is no rule.
      absent: whether the rule asked for a device of the platform, and there is none here: it would do where there is.
    """

    primitive: str
    why: str = ""
    absent: bool = False


@contextmanager
def stand_in_rules(primitives: Iterable[Any], platform: str, refused: list[Unlowered]) -> Generator[None]:
    """Meanwhile what this thread lowers for a platform goes on where a primitive has no rule, or its rule refuses.

    Args:
      primitives: of the program.
      platform: one of `lowering_platforms`.
      refused: where it is put down what could not be lowered.
    """
    thread = threading.get_ident()

    def stands_in(primitive: Any, rule: Callable[..., Any] | None) -> Callable[..., Any]:
        def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
            try:
                if rule is None:
                    raise NotImplementedError(f"there is no rule for {primitive} on {platform}")
                return rule(ctx, *operands, **params)
            except Exception as error:
                if threading.get_ident() != thread:
                    raise
                told = str(error).strip().partition("\n")[0] or type(error).__name__ if rule is not None else ""
                refused.append(Unlowered(primitive.name, told, _asked_for_device(error)))
            if len(ctx.tokens_in) and ctx.tokens_out is None:  # what comes behind it in the order of effects
                ctx.set_tokens_out(ctx.tokens_in)
            return jax.ffi.ffi_lowering(f"{NO_RULE}.{len(refused) - 1}")(ctx, *operands)

        return lower

    # Public is `jax.interpreters.mlir.register_lowering` alone, whose entries cannot be asked for or taken away.
    entry = type(next(iter(_rules.values())))
    with _standing_in:
        there = _rules_there[platform]
        before = {primitive: there.get(primitive) for primitive in primitives}
        for primitive, own in before.items():
            found = own or _rules.get(primitive)
            rule = None if found is None else found.rule
            there[primitive] = entry(stands_in(primitive, rule), found is None or found.inline)
        try:
            yield
        finally:
            for primitive, own in before.items():
                if own is None:
                    del there[primitive]
                else:
                    there[primitive] = own


_standing_in = threading.RLock()  # what another thread put there must not be taken for JAX's own, and put back


def _asked_for_device(error: BaseException) -> bool:
    frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1] == "get_backend"
