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
    "lives": "How long things live differs.",
    "given": "only what JAX is given becomes a JAX array.",
}

EXCEPTIONS: dict[str, str] = {
    "linen-state-with-metrics": "rounding",  # a gradient that is zero but for rounding
    "ntr-gradient-histogram": "rounding",  # a histogram of numbers that are all but equal
    "ntr-callbacks-list-trainer": "rounding",  # a mean of small gradients in 18 steps of adam; in 64 bits they agree
    "ntr-hyper-search-product": "rounding",  # sorts by losses that are all but equal
    "optx-least-squares": "fresh",  # its residual reads `obs`
    "fjx-trace-counter": "fresh",
    "fjx-eager-or-traced": "fresh",
    "fjx-closure-convert": "fresh",  # tells how many of the cell's own values are traced
    "fjx-cache-size-asked": "lives",
    "nde-donated-buffer-then-used": "lives",  # JAX raises ValueError where it remembers `sum`, else RuntimeError
    "optx-minimise": "lives",  # the plain run after the staged ones traces anew, and makes its static parts anew
    "nli-lineax-operators": "lives",  # plainly a structure is that of the first run, which JAX's caches have kept
    "nst-custom-vjp-clip-gradient": "fresh",  # how `jax.vjp` lays out what it keeps, where a number is an input
    "npr-mixture": "lives",  # a lazy property, which asks whether its value is a tracer
    "law-nnx-cnn-tutorial-eval-every": "lives",  # plainly `_pytree__nodes` is that of the first run
    "law-nnx-vae-with-noise-stream": "lives",
    "fin-numpyro-svi-loop-by-hand-with-guide-class": "asked",  # `not_jax_tracer`: a dict that a `while_loop` has sorted
    "kin-context-manager-own-precision-and-timer-stack": "rounding",  # XLA computes a chain of bfloat16 in float32
    "kin-weak-registry-and-finalizer-of-models": "lives",
    "fin-finalizers-and-weak-values-of-arrays": "lives",
    "fed-weakref-dies": "lives",
    "odd-del-hook": "lives",
    "lnu-black-scholes-greeks-table-and-implied": "rounding",  # the largest of the errors of rounding
    "law-nnx-decision-boundary-figure": "rounding",  # a picture of contours
    "iam-bf16-compute-fp32-master-with-dynamic-scale-object": "rounding",  # XLA computes chains of bfloat16 in float32
    "iam-kfac-like-blocks-preconditioned-by-eigendecomposition-cache": "rounding",  # condition numbers of 5e4
    "iaw-tide-harmonics-solve-by-qr-with-names": "rounding",  # the phase of an amplitude that is zero
    "iam-numpyro-gp-and-horseshoe-map-by-svi-autodelta": "asked",  # the order of a dict, as above
    "iam-effective-lr-noted-while-the-step-is-traced": "fresh",  # what is noted while a function is traced
    "iaw-counted-helper-scanned-from-the-third-run-on": "fresh",  # counts how often a function is traced
    "gc-static-self-then-plain": "fresh",  # JAX remembers what `self.a` was: the object is hashed by identity
    "iaw-kernel-inspected-by-its-jaxpr-with-a-float-in-it": "fresh",  # JAX remembers what `gamma` was
    "iam-curriculum-sampler-weights-by-loss-history-numpy-choice": "fresh",  # the residuals of `jax.vjp`
    "lpy-singledispatchmethod-on-nodes": "lives",  # what `singledispatchmethod` keeps from Python 3.13 on
    "jam-optimistix-curve-fit-with-lineax-sensitivity": "lives",  # plainly static parts are those of the first run
    "hc-stop-gradient-of-a-numpy-target": "given",  # plainly it is an array of NumPy within a class of JAX's
    "iam-diffrax-latent-fit-of-oscillator-with-eqx-params-and-checks": "rounding",  # an adaptive step more or less
    "iaw-structured-log-of-orbits-with-views": "rounding",  # the last digits in a structured array
    "kam-vmap-of-class-methods-and-bound-partials-with-static-self": "fresh",  # JAX remembers what `self.g` was
    "kam-disable-jit-and-matmul-precision-contexts-nested": "lives",  # a warning that JAX gives when it traces
    "jam-jaxopt-like-solver-class-with-jit-switch-and-implicit-diff": "fresh",  # JAX remembers what `stepsize` was
    "iam-nnx-vmapped-ensemble-with-split-states-and-disagreement": "rounding",  # the largest of two that are equal
    "iam-numpyro-nuts-with-init-strategy-and-extra-fields-report": "rounding",  # steps of a chain
    "iam-gradient-cached-clip-contrastive-two-towers": "rounding",  # a training that amplifies it
    "kdp-pinn-class-update-jitted-with-static-self-and-print-every": "rounding",  # second derivatives in float32
    "kdp-splat2d-render-vmap-with-array-snapshots": "rounding",  # the last digit that is printed
    "kbw-exception-group-of-failed-grid-points": "rounding",  # the digits of a loss that has diverged
    "mam-value-iteration-while-error-prints-every-few": "rounding",  # differences of logarithms of small errors
    "mam-linen-trainer-writes-csv-rows-and-reads-them-back": "rounding",  # adam over gradients that are all but zero
    "mam-vmc-walkers-class-local-energy-and-equilibration": "rounding",  # where it has diverged, -inf or nan
    "mam-kalman-likelihood-fitted-in-a-function-with-lists": "rounding",  # the last digit, as float64
    "mam-jacobi-eigen-sweeps-while-offdiagonal-large": "rounding",  # what is left of a norm of zero
    "mam-training-figure-with-two-axes-and-best-mark": "rounding",  # the last digit, as float64
    "mbw-singledispatch-walker-over-mixed-records": "lives",  # what `singledispatchmethod` keeps, as above
    "mbw-weak-value-cache-of-models-and-finalizer-log": "lives",
    "kbw-frozen-dataclass-hash-and-cache-keyed-by-it": "lives",  # what a function under `functools.cache` keeps
    "kbw-static-jit-args-and-trace-counters": "fresh",  # counts how often a function is traced
    "kdp-numpyro-like-svi-loop-with-progress-and-elbo": "asked",  # `not_jax_tracer`, the order of a dict, as above
    "kdp-optimistix-levenberg-marquardt-fit-and-report": "lives",  # plainly static parts are those of the first run
    "nam-truss-stiffness-assembled-by-members-and-areas-resized": "rounding",  # a root of what is zero but for rounding
    "nam-wright-fisher-drift-with-selection-mutation-and-fixation-log": "rounding",  # the last digit, as float64
    "nam-optimistix-interactive-solver-steps-with-own-table": "lives",  # static parts of the first run
    "nam-island-evolution-under-shard-map-with-migration-by-permute": "fresh",  # JAX remembers what `fitness` was
    "nam-sharp-bits-jitted-bound-method-keeps-the-old-multiplier": "fresh",  # JAX remembers what the multiplier was
    "nam-compile-prints-counted-per-shape-dtype-and-static-argument": "fresh",  # counts how often it is traced
    "nbw-ctypes-struct-buffer-shared-with-numpy-and-filled-from-jax": "rounding",  # bytes of floats
    "nbw-eigsh-of-a-linear-operator-whose-matvec-is-jitted": "fresh",  # JAX remembers what `x` was
    "ob-welford-in-float64-against-one-pass-in-float32": "rounding",  # what is left of a difference of large numbers
    "ob-char-rnn-scan-over-text-with-python-sampling-loop": "fresh",  # JAX remembers what `cell_fn` was
    "sn-why-is-loss-nan-print-everything-about-it": "rounding",  # XLA makes `log(exp(x))` `x`, as under `jax.jit`
    "sn-log-of-exp-and-x-minus-x-where-it-overflows": "rounding",  # likewise
    "sn-environment-report-for-the-bug-tracker": "rounding",  # decides a tie
    "sn-gc-and-weakref-is-my-array-freed": "lives",
    "sn-failing-solver-caught-by-the-class-of-its-error": "asked",  # an error of a solver has the class of `jax.jit`
    "sn-optimistix-tour-roots-minimise-fixedpoint-lsq": "asked",  # likewise
    "rn-custom-jvp-logistic-with-checks-by-finite-differences-and-hessian": "fresh",  # what `jax.linearize` keeps
    "ob-custom-jvp-softabs-jacfwd-jacrev-hessian-table": "fresh",  # what `jax.linearize` keeps
    "ob-pure-callback-to-scipy-io-callback-log-and-debug-print": "fresh",  # JAX remembers what `record` was
    "ob-checkify-user-checks-thrown-and-collected": "fresh",  # JAX remembers what `limits` were
    "oal-nnx-bert-like-masked-token-batches-from-sentences-with-padding": "rounding",  # a gradient of zero
    "oal-eqx-save-load-with-hyperparams-json-header-then-continue": "rounding",  # the last digit, as bytes of a file
    "oal-optimistix-curve-fit-levenberg-marquardt-bootstrap-with-aux": "lives",  # static parts of the first run
    "oal-lineax-gp-posterior-cholesky-cg-tags-and-jitter-fallback": "lives",  # structures of the first run
    "oal-pinn-equinox-poisson-hard-boundary-collocation-resampled": "fresh",  # JAX remembers what `source` was
    "oal-numpyro-hmm-forward-with-scan-and-factor-and-em-like-loop": "asked",  # the order of a dict, as above
    "oal-optimistix-root-find-no-root-raises-equinox-runtime-error": "asked",  # its text lists frames outside of jit
    "tn-lr-range-test-stops-when-the-loss-explodes-and-picks-the-steepest": "fresh",  # JAX remembers what `X` was
    "tn-matplotlib-loss-curve-axes-properties-read-back": "rounding",  # the last digit in a picture's limits
    "ob-generator-pipeline-with-send-yield-from-and-close": "lives",  # when a generator ends that nobody has any more
    "ua-closure-convert-jet-and-linearize-taylor": "fresh",  # the residuals of `jax.linearize`
    "ua-eqx-assert-max-traces-once-on-a-jitted-step": "fresh",  # refuses to be traced again
    "ua-red-max-traces-of-a-step-called-in-two-pieces": "fresh",
    "va-generic-class-with-type-parameters-and-alias": "lives",  # which alias of a generic class `typing` has kept
    "xa-kaggle-cfg-class-fold-loop-with-oof-and-best-params-saved": "rounding",  # in 64 bits they agree
    "xa-n-kmeans-plus-plus-until-assignments-repeat-with-empty-cluster-reseed": "rounding",  # in 64 bits they agree
    "xa-contextvar-holds-the-current-precision-policy": "rounding",  # XLA computes a chain of bfloat16 in float32
    "xa-linen-trainstate-subclass-with-batch-stats-and-key-replaced": "rounding",  # gradients that normalising cancels
    "xa-optax-lbfgs-with-value-and-grad-from-state-until-small-gradient": "rounding",  # line searches magnify it
    "xa-n-gp-class-fit-by-gradient-on-log-params-and-active-learning": "rounding",  # of two points alike the first
    "xa-optimistix-newton-and-minimise-options-changed": "asked",  # an error of a solver has the class of `jax.jit`
    "xa-f-jit-of-a-name-onto-itself": "fresh",  # JAX remembers what the name was
    "xa-c-disable-jit": "fresh",  # counts how often a function is traced
    "xa-m-leaked-tracer-kept-then-used": "fresh",  # tells whether JAX traces a function again
    "xa-red-stop-gradient-of-a-numpy-float32": "given",  # plainly it is a value of NumPy within a class of JAX's
    "ua-red-tour-of-the-unexpected-tracer-error": "fresh",  # tells whether JAX traces a function again
}

OPEN: dict[str, str] = {}
