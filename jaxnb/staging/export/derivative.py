"""The derivative of a cell in a file: its statements as a function inside, and what `jax.grad` makes of that."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jaxnb import _jax
from jaxnb.staging.export.text import indented, signature
from jaxnb.staging.trace.gradient import DerivativeSpec

__all__ = ["differentiated"]


def differentiated(
    asked: DerivativeSpec, parameters: Sequence[str], lines: Sequence[str], taken: Collection[str]
) -> list[str]:
    """The lines of a function that returns its dict of results with the derivatives in it.

    Args:
      asked: which derivative.
      parameters: of the function.
      lines: of the function without derivatives; the last returns a dict.
      taken: names that these lines use.
    """
    inner, given = (next(name for name in (word, f"{word}_", f"{word}__") if name not in taken) for word in _WORDS)
    own = [name for name in parameters if name not in asked.along or name in asked.wrt]
    loss = f"{asked.loss}[0]" if asked.has_aux else asked.loss
    returned = lines[-1].removeprefix("return ")
    body = "\n".join([*lines[:-1], f"return {loss}, {returned}"])
    call = ", ".join(own)
    places = ", ".join(str(own.index(name)) for name in asked.wrt) + ("," if len(asked.wrt) == 1 else "")
    kept = f"jax.checkpoint({inner}, policy={_jax.written_policy(asked.remat)})" if asked.remat else inner
    made = [signature(f"def {inner}", own, ":"), indented(body), ""]
    if asked.along:
        wrt, along = (", ".join(names) + ("," if len(names) == 1 else "") for names in (asked.wrt, asked.along))
        moved = f"lambda {', '.join(asked.wrt)}: {inner}({call})"
        made.append(f"_, {asked.binds[0]}, {given} = jax.jvp({moved}, ({wrt}), ({along}), has_aux=True)")
    else:
        first = ", ".join(asked.binds[: len(asked.wrt)]) + ("," if len(asked.wrt) == 1 else "")
        made.append(f"({first}), {given} = jax.grad({kept}, argnums=({places}), has_aux=True)({call})")
    if asked.hessian:
        second = asked.binds[len(asked.wrt) :]
        names = ", ".join(second) + ("," if len(second) == 1 else "")
        made.append(f"({names}), _ = jax.hessian({kept}, argnums=({places}), has_aux=True)({call})")
        if len(second) == 1:
            made.append(f"({second[0]},) = {second[0]}")
    items = ", ".join(f'"{name}": {name}' for name in asked.binds)
    return [*made, f"return {{**{given}, {items}}}"]


_WORDS = ("forward", "given")
