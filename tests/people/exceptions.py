"""Cells that differ from the plain cell, and why: documented kinds, and what is still to be mended.

`KINDS` are the reasons for which a cell may differ, each with words of the README's "What differs from a plain
cell". `EXCEPTIONS` names the cells, each with its kind. `OPEN` names cells that differ because of a known fault, with
the number of the item and a few words; a cell of it that is as plain must be taken out.
"""

from __future__ import annotations

__all__ = ["EXCEPTIONS", "KINDS", "OPEN"]

KINDS = {
    "rounding": "Floats agree within a tolerance for their dtype: XLA fuses operations.",
    "asked": "A library that asks whether a value is traced goes the way that it goes under `jax.jit`",
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
    "nde-donated-buffer-then-used": "forgotten",  # JAX raises ValueError where it remembers `sum`, else RuntimeError
    "optx-minimise": "forgotten",  # the plain run after the staged ones traces anew, and makes its static parts anew
    "nli-lineax-operators": "forgotten",  # plainly a structure is that of the first run, which JAX's caches have kept
    "nst-custom-vjp-clip-gradient": "fresh",  # how `jax.vjp` lays out what it keeps, where a number is an input
    "npr-mixture": "forgotten",  # a lazy property, which asks whether its value is a tracer
    "law-nnx-cnn-tutorial-eval-every": "forgotten",  # plainly `_pytree__nodes` is that of the first run
    "law-nnx-vae-with-noise-stream": "forgotten",
    "fin-numpyro-svi-loop-by-hand-with-guide-class": "asked",  # `not_jax_tracer`: a dict that a `while_loop` has sorted
    "kin-context-manager-own-precision-and-timer-stack": "rounding",  # XLA computes a chain of bfloat16 in float32
    "kin-weak-registry-and-finalizer-of-models": "freed",
    "fin-finalizers-and-weak-values-of-arrays": "freed",
    "fed-weakref-dies": "freed",
    "odd-del-hook": "freed",
    "lnu-black-scholes-greeks-table-and-implied": "rounding",  # the largest of the errors of rounding
    "gc-static-self-then-plain": "fresh",  # JAX remembers what `self.a` was: the object is hashed by identity
}

OPEN: dict[str, str] = {
    "gb-optimistix-root-in-loop-over-strikes": "8: a rule for derivatives that JAX keeps in a jaxpr holds two tracers",
    "gd-attrgetter-of-module": "2: what is read there is no part of the key",
    "gd-attribute-of-array-under-try": "an error that the cell catches is that of a tracer",
    "gd-bytes-under-try": "an error that the cell catches is that of a tracer",
    "gd-calendar-firstweekday": "2: what is read there is no part of the key",
    "gd-class-annotations": "2: what is read there is no part of the key",
    "gd-class-doc-and-name": "2: what is read there is no part of the key",
    "gd-copyreg-between": "2: what is read there is no part of the key",
    "gd-del-global-in-helper": "whether the name is there is not asked",
    "gd-enum-value-changed": "2: what is read there is no part of the key",
    "gd-fail-class-bases": "9: not undone",
    "gd-fail-contextvar": "9: not undone",
    "gd-fail-memoryview": "9: not undone",
    "gd-fail-numpy-shape": "9: not undone",
    "gd-function-annotations": "2: what is read there is no part of the key",
    "gd-function-doc": "2: what is read there is no part of the key",
    "gd-getdoc": "2: what is read there is no part of the key",
    "gd-import-module-put": "what is set on a module that is found by its name",
    "gd-message-of-operator": "an error that the cell catches is that of a tracer",
    "gd-message-of-str-list-dict": "an error that the cell catches is that of a tracer",
    "gd-module-getattr-with-state": "a module's __getattr__ is called once more",
    "gd-numpy-print-options": "2: what is read there is no part of the key",
    "gd-pytree-registered-between": "2: what is read there is no part of the key",
}
