"""The functions of JAX in which its errors come up, by what they are about.

An error of JAX is mostly a plain `TypeError` or `ValueError`: which check it failed is told by the frame that raised
it, and by nothing else that stays the same from version to version. `tests/contract` looks each name up.
"""

from __future__ import annotations

from typing import Any

import jax

__all__ = ["RAISING", "TELLING", "are_frames_removed", "donated_of", "is_pmapped", "statics_of", "unflattened"]

RAISING: dict[str, frozenset[str]] = {
    "broadcast": frozenset(
        {"promote_shapes", "broadcast_shapes", "_broadcast_arrays", "_try_broadcast_shapes", "broadcasting_shape_rule"}
    ),
    "lax": frozenset({"broadcasting_shape_rule", "_select_shape_rule", "_try_broadcast_shapes"}),
    "contraction": frozenset({"_dot_general_shape_rule", "dot_general", "dot", "matmul", "tensordot", "vdot", "inner"}),
    "concatenation": frozenset({"_concatenate_shape_rule", "concatenate"}),
    "stacking": frozenset({"_stack_shape_rule", "stack"}),
    "reshape": frozenset({"_compute_newshape", "_reshape_shape_rule", "reshape"}),
    "broadcast-to": frozenset({"_broadcast_to"}),
    "axis": frozenset({"canonicalize_axis", "_canonicalize_axis_allow_named", "canonicalize_axis_tuple"}),
    "convolution": frozenset({"_conv_general_dilated_shape_rule", "conv_general_dilated", "conv_shape_tuple"}),
    "mask": frozenset({"expand_bool_indices", "_expand_bool_indices"}),
    "indices": frozenset({"_parse_indices", "from_raw_indices"}),
    "carry": frozenset({"_check_carry_type"}),
    "body": frozenset({"_create_jaxpr"}),
    "scan-length": frozenset({"_infer_scan_length"}),
    "branches": frozenset({"_check_branch_outputs"}),
    "gradient-input": frozenset({"_check_input_dtype_revderiv", "_check_input_dtype_grad"}),
    "gradient-output": frozenset({"_check_scalar"}),
    "gradient-dtype": frozenset({"_check_output_dtype_revderiv", "_check_output_dtype_grad"}),
    "gradient": frozenset({"value_and_grad_f", "grad_f"}),
    "jacobian": frozenset({"_check_input_dtype_jacrev", "_check_input_dtype_jacfwd"}),
    "cotangent": frozenset({"_vjp_check_ct_avals"}),
    "callable": frozenset({"check_callable"}),
    "reverse-while": frozenset({"_while_transpose_error"}),
    "mapped-sizes": frozenset({"_mapped_axis_size"}),
    "mapped": frozenset({"vmap_f"}),
    "mapped-result": frozenset({"matchaxis"}),
    "abstract": frozenset({"_infer_input_type", "_infer_params"}),
    "returned": frozenset({"_check_returned_jaxtypes"}),
    "argnames": frozenset({"_validate_argnames", "_validate_argnums"}),
    "prng": frozenset({"_check_prng_key", "_check_prng_key_data"}),
    "axis-name": frozenset({"axis_size", "axis_index", "_psum"}),
    "tree": frozenset({"tree_map", "flatten_up_to"}),
    "linearize": frozenset({"linearize"}),
    "arraylike": frozenset({"check_arraylike", "check_arraylike_or_none"}),
    "mapped-structure": frozenset({"flatten_axes"}),
    "mapping": frozenset({"vmap", "pmap", "_prepare_pmap"}),
    "axis-names": frozenset({"axis_size", "_check_axis_names"}),
    "pmap-sizes": frozenset(
        {"_common_shard_shape", "pjit_check_aval_sharding", "_fun", "_mapped_axis_size", "_squeeze_shape_rule"}
    ),
    "divisibility": frozenset({"_check_divisibility"}),
    "reduced": frozenset({"_axis_size"}),
    "permutation": frozenset({"_transpose_shape_rule"}),
    "static-compare": frozenset({"__eq__", "_infer_params"}),
    "static-hash": frozenset({"_infer_params"}),
    "donated": frozenset({"_pjit_call_impl_python"}),
    "custom": frozenset({"__call__"}),
    "custom-call": frozenset({"process_custom_vjp_call", "process_custom_jvp_call"}),
    "custom-typed": frozenset({"typeof", "_str_abstractify"}),
    "custom-forward": frozenset({"_flatten_fwd"}),
    "custom-backward": frozenset({"_flatten_bwd"}),
    "custom-jvp": frozenset({"_flatten_jvp"}),
    "custom-mode": frozenset({"raise_custom_vjp_error_on_jvp"}),
    "static-first": frozenset({"_prepend_static_args"}),
    "flattening": frozenset({"tree_flatten", "tree_map", "tree_leaves", "flatten", "_infer_params", "cache_miss"}),
    "unflattening": frozenset({"tree_map", "tree_unflatten", "unflatten"}),
    "registration": frozenset({"register_dataclass", "_register_dataclass"}),
    "tree-function": frozenset({"tree_map", "tree_map_with_path"}),
    "size-static": frozenset(
        {
            "canonicalize_shape",
            "canonicalize_dim",
            "concrete_or_error",
            "validate_slices",
            "_verify_params_are_hashable",
        }
    ),
    "indivisible": frozenset({"_common_shard_shape"}),
    "sharding-of-value": frozenset({"pjit_check_aval_sharding"}),
    "mesh-axis": frozenset({"_check_mesh_resource_axis"}),
    "mesh-axis-twice": frozenset({"_check_unique_resources"}),
    "mesh": frozenset({"make_mesh", "__new__"}),
    "prefix": frozenset({"flatten_axis_resources"}),
    "devices": frozenset({"_run_python_pjit"}),
    "auto-axes": frozenset({"check_shardings_are_auto"}),
    "no-mesh": frozenset({"_create_sharding_for_array"}),
    "shard-map-inputs": frozenset({"_check_specs_vs_args"}),
    "shard-map": frozenset({"wrapped", "_shard_map_impl"}),
    "shard-map-results": frozenset({"f_wrapped"}),
    "shard-map-checks": frozenset({"_shmap_checks"}),
    "varying": frozenset({"pvary"}),
    "named-axis": frozenset({"_check_axis_names"}),
    "explicit-sharding": frozenset({"call_sharding_rule", "call_shape_dtype_sharding_rule"}),
    "sharded-contraction": frozenset({"_dot_general_sharding_rule"}),
    "sharded-indexing": frozenset({"_gather_sharding_rule"}),
    "sharded-reshape": frozenset({"_reshape_sharding_rule"}),
    "callback-result": frozenset({"_check_shape_dtype"}),
    "callback-mapped": frozenset({"ffi_batching_rule", "io_callback_batching_rule"}),
    "callback-derived": frozenset({"pure_callback_jvp_rule", "pure_callback_transpose_rule", "io_callback_jvp_rule"}),
    "callback-run": frozenset({"_wrapped_callback", "pure_callback_impl", "io_callback_impl"}),
    "print": frozenset({"debug_print"}),
    "deleted": frozenset({"_check_if_deleted"}),
    "accepted-dtype": frozenset({"naryop_dtype_rule", "unop_dtype_rule"}),
    "same-dtype": frozenset({"check_same_dtypes", "_pad_dtype_rule"}),
    "truth": frozenset({"check_bool_conversion"}),
    "typed": frozenset({"typeof", "shaped_abstractify", "_str_abstractify"}),
    "starts": frozenset({"_dynamic_slice_dtype_rule", "_dynamic_update_slice_dtype_rule"}),
    "indexer": frozenset({"from_index", "_gather_dtype_rule"}),
    "integer-power": frozenset({"_integer_pow_dtype_rule"}),
    "dtype": frozenset({"check_and_canonicalize_user_dtype"}),
    "transform": frozenset({"fft"}),
    "no-number": frozenset({"_infer_input_type", "bind", "dtype", "array", "asarray"}),
    "key-shape": frozenset({"_check_prng_key", "fold_in", "_key"}),
    "key-numbers": frozenset(
        {
            *("check_for_prngkeys", "naryop_dtype_rule", "unop_dtype_rule", "to_numeric_dtype", "to_inexact_dtype"),
            *("_least_upper_bound", "_dtype_and_weaktype", "_pad_dtype_rule"),
        }
    ),
    "key-data": frozenset({"__array__"}),
    "kernel-block": frozenset({"to_block_mapping"}),
    "kernel": frozenset({"_trace_kernel_to_jaxpr"}),
    "kernel-store": frozenset({"_swap_abstract_eval"}),
    "seed": frozenset({"_key", "random_seed", "threefry_seed", "_threefry_seed"}),
}
"""Names of functions of JAX, by the check that they make."""

TELLING = frozenset({"jax._src.shard_map"})
"""Modules whose inner functions, though they only call on what the user gave, hold what an error is about."""


def are_frames_removed(error: BaseException) -> bool:
    """Whether JAX has cut its own frames out of an error, as it does outside of IPython; all that tells is a note."""
    return any("JAX has removed its internal frames" in str(note) for note in getattr(error, "__notes__", ()))


def unflattened(value: Any) -> Any:
    """A pytree of avals that JAX's checks hold flat, with its structure apart; anything else as it is.

    The class is private and was renamed: `FlatTree`, then `Pytree`. Both have the parts `vals` and `tree`.
    """
    leaves, tree = getattr(value, "vals", None), getattr(value, "tree", None)
    return value if leaves is None or tree is None else jax.tree.unflatten(tree, list(leaves))


def statics_of(function: Any) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
    """The places and names of the static arguments of what `jax.jit` made of a function; None of anything else.

    The only way to them is the state that is pickled; both versions have it.
    """
    if type(function).__name__ != "PjitFunction":
        return None
    state = function.__getstate__()
    return tuple(state["static_argnums"]), tuple(state["static_argnames"])


def donated_of(function: Any) -> tuple[int, ...]:
    """The places of the arguments that what `jax.jit` made of a function may overwrite."""
    if type(function).__name__ != "PjitFunction":
        return ()
    return tuple(getattr(function.__getstate__()["global_cache_key"], "donate_argnums", ()))


def is_pmapped(function: Any) -> bool:
    """Whether it is what `jax.pmap` made of a function: that has no class of its own."""
    return getattr(function, "__globals__", {}).get("__name__") == "jax._src.pmap"
