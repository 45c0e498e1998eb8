"""Cells that differ from the plain cell, and why: documented kinds, and what is still to be mended.

`KINDS` are the reasons for which a cell may differ, each with words of the README's "What differs from a plain
cell". `EXCEPTIONS` names the cells, each with its kind. `OPEN` names cells that differ because of a known fault, with
the number of the item and a few words; a cell of it that is as plain must be taken out.
"""

from __future__ import annotations

__all__ = ["EXCEPTIONS", "KINDS", "OPEN"]

KINDS = {
    "rounding": "Floats agree within a tolerance for their dtype: XLA fuses operations.",
    "refused": "Refused are top-level `await`, magics and shell lines inside the cell",
    "fresh": "a function that JAX traces inside of a cell belongs to the cell.",
    "forgotten": "What a library keeps in a cache or a lazy property in a staged statement is computed again",
    "freed": "What a staged statement made lives until the cell ends",
}

EXCEPTIONS: dict[str, str] = {
    "linen-state-with-metrics": "rounding",  # a gradient that is zero but for rounding
    "ntr-gradient-histogram": "rounding",  # a histogram of numbers that are all but equal
    "ntr-hyper-search-product": "rounding",  # sorts by losses that are all but equal
    "optx-least-squares": "fresh",  # its residual reads `obs`
    "fjx-trace-counter": "fresh",
    "fjx-eager-or-traced": "fresh",
    "fjx-closure-convert": "fresh",  # tells how many of the cell's own values are traced
    "fjx-cache-size-asked": "forgotten",
    "optx-minimise": "forgotten",  # the plain run after the staged ones traces anew, and makes its static parts anew
    "npr-mixture": "forgotten",  # a lazy property, which asks whether its value is a tracer
    "fed-weakref-dies": "freed",
    "odd-del-hook": "freed",
}

OPEN: dict[str, str] = {
    "nde-donated-buffer-then-used": "9: the use of a donated array raises RuntimeError, plainly ValueError",
    "nli-lineax-operators": "5: structures that two operators share are two on the second run",
    "nst-custom-vjp-clip-gradient": "5: what `jax.vjp` keeps is laid out otherwise once a number is an input",
}
