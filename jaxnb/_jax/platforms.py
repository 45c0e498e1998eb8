"""The door to the rules by which primitives are lowered for platforms that are not here.

`Traced.lower(lowering_platforms=...)` stops at the first equation that has no rule there, and takes any word for a
platform. Here such an equation becomes a call of something that is not there, and is told of.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

import jax
from jax._src.interpreters.mlir import (
    _lowerings as _rules,  # pyright: ignore[reportPrivateUsage]
    _platform_specific_lowerings as _rules_there,  # pyright: ignore[reportPrivateUsage]
)

__all__ = ["NO_RULE", "lowering_platforms", "stand_in_rules"]

NO_RULE = "jaxnb.no_rule"
"""What an equation that cannot be lowered calls, behind which its number among the refused stands."""


def lowering_platforms() -> tuple[str, ...]:
    """The platforms that this JAX has rules for, whether or not they are here."""
    return tuple(sorted(_rules_there))


@contextmanager
def stand_in_rules(primitives: Iterable[Any], platform: str, refused: list[tuple[str, str]]) -> Generator[None]:
    """Meanwhile what this thread lowers for a platform goes on where a primitive has no rule, or its rule refuses.

    Args:
      primitives: of the program.
      platform: one of `lowering_platforms`.
      refused: where it is put down, of each equation that could not be lowered, what its primitive is called and what
        the rule said, "" where there is none.
    """
    there = _rules_there[platform]
    before = {primitive: there.get(primitive) for primitive in primitives}
    thread = threading.get_ident()

    def stands_in(primitive: Any, rule: Callable[..., Any] | None) -> Callable[..., Any]:
        def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
            if threading.get_ident() != thread and rule is None:
                raise NotImplementedError(f"there is no rule for {primitive} on {platform}")
            try:
                if rule is not None:
                    return rule(ctx, *operands, **params)
                told = ""
            except Exception as error:
                if threading.get_ident() != thread:
                    raise
                told = str(error).strip().partition("\n")[0] or type(error).__name__
            refused.append((primitive.name, told))
            return jax.ffi.ffi_lowering(f"{NO_RULE}.{len(refused) - 1}")(ctx, *operands)

        return lower

    # Public is `jax.interpreters.mlir.register_lowering` alone, whose entries cannot be asked for or taken away.
    entry = type(next(iter(_rules.values())))
    for primitive, own in before.items():
        found = own or _rules.get(primitive)
        there[primitive] = entry(
            stands_in(primitive, None if found is None else found.rule), found is None or found.inline
        )
    try:
        yield
    finally:
        for primitive, own in before.items():
            if own is None:
                del there[primitive]
            else:
                there[primitive] = own
