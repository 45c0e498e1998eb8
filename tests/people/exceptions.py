"""Cells that differ from the plain cell, and why: documented kinds, and what is still to be mended.

`KINDS` are the reasons for which a cell may differ, each with the words of the README's "What differs from a plain
cell". `EXCEPTIONS` names the cells, each with its kind. `OPEN` names cells that differ because of a known fault, with
the number of the item and a few words; a cell of it that is as plain must be taken out.
"""

from __future__ import annotations

__all__ = ["EXCEPTIONS", "KINDS", "OPEN"]

KINDS = {
    "rounding": "Floats agree within a tolerance for their dtype: XLA fuses operations.",
    "refused": "Refused are top-level await, magics, and a value that a function under jax.vmap needs.",
    "fresh": "A function under jax.jit that reads a global array keeps, in a plain cell, the value that it saw first.",
    "forgotten": "What a library keeps in a cache or a lazy property in a staged statement is computed again.",
}

EXCEPTIONS: dict[str, str] = {
    "linen-state-with-metrics": "rounding",  # a gradient that is zero but for rounding
    "optx-least-squares": "fresh",  # its residual reads `obs`
    "optx-minimise": "forgotten",  # the plain run after the staged ones traces anew, and makes its static parts anew
    "npr-mixture": "forgotten",  # a lazy property, which asks whether its value is a tracer
}


def _open(told: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in told.items() for name in names.split()}


OPEN = _open(
    {
        "2: what a function of JAX does to JAX itself is not done again": """
            fed-printoptions-of-text fed-pytree-registered-once""",
        "5: a class that a helper makes is made once, not on each run": "fpy-class-getitem-and-subscript",
        "5: a method of an array that is kept is that of a tracer": "fed-lambda-kept-with-result",
        "6: a jitted function is told that a constant is a tracer": "fjx-closure-convert",
        "7: the cache of a jitted function is not filled, so that it is traced again": """
            fjx-trace-counter fjx-cache-size-asked fjx-eager-or-traced""",
        "8: what a piece made lives until the cell ends": """
            fed-weakref-dies odd-del-hook""",
    }
)
