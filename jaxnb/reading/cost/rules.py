"""The table of rules by the name of the primitive, and the primitives that have none, each with the reason."""

from __future__ import annotations

from jaxnb.reading.cost import collectives, contractions, elementwise, linalg, movement, randomness, reductions
from jaxnb.reading.cost.context import Rule

__all__ = ["KNOWN_UNKNOWNS", "RULES"]

RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **contractions.RULES,
    **reductions.RULES,
    **movement.RULES,
    **linalg.RULES,
    **randomness.RULES,
    **collectives.RULES,
}
"""Of primitives whose equations hold no jaxpr to walk."""

_REASONS = {
    "iterates until it has converged, which depends on the values": """
        eig eigh igamma igamma_grad_a igammac random_gamma regularized_incomplete_beta schur svd
    """,
    "is a call into a library or into another program, of which JAX knows nothing": """
        call_exported cudnn_fusion dot_product_attention_bwd dot_product_attention_bwd_wrapper
        dot_product_attention_fp8_bwd dot_product_attention_fp8_bwd_wrapper dot_product_attention_fp8_fwd
        dot_product_attention_fp8_fwd_wrapper dot_product_attention_fwd dot_product_attention_fwd_wrapper ffi_call
        scaled_matmul scaled_matmul_wrapper tpu_custom_call
    """,
    "runs a kernel over a grid, of which only its author knows what it moves": "core_map",
    "runs on the host, outside of the program": """
        check debug_callback debug_print inspect_sharding io_callback pure_callback
    """,
    "stands in a jaxpr only while something is derived or traced, and not in what is compiled": """
        call_hi_primitive_linearized create_linear custom_jvp_call_jaxpr custom_lin remat_opt stage unreachable
        zeros_like
    """,
    "takes as long as the matrix has entries, which its shape does not tell": """
        bcoo_dot_general bcoo_dot_general_sampled bcoo_extract bcoo_fromdense bcoo_sort_indices bcoo_spdot_general
        bcoo_sum_duplicates bcoo_todense bcoo_transpose bcsr_dot_general bcsr_extract bcsr_fromdense bcsr_todense
        coo_fromdense coo_matmat coo_matvec coo_spmm coo_spmv coo_todense csr_fromdense csr_matmat csr_matvec csr_spmm
        csr_spmv csr_todense spsolve todense
    """,
    "works on references, and becomes other primitives before it is compiled": """
        accum_grad_in_ref pin run_scoped run_state unpin with_memory_space_constraint
    """,
    "is half of an asynchronous collective": """
        all_gather_done all_gather_reduced_start all_gather_start all_to_all_done all_to_all_start pbroadcast_done
        pbroadcast_start ppermute_done ppermute_start precv psend psum_done psum_invariant_start psum_start
        reduce_scatter_done reduce_scatter_start unreduced_psum_start unreduced_reduce_scatter_start
    """,
    "works on a mutable object, and becomes other primitives before it is compiled": """
        box_get box_set log_extend log_read new_box new_log
    """,
    "stands in the body of an `xmap`, which is counted as the program that it becomes": "named_dot take_own",
    "belongs to shapes with symbols": "dim_as_value shape_assertion",
    "has no rule yet": """
        approx_top_k broadcast_to cholesky_update iota_2x32_shape ormqr pbroadcast_dynamic philox2x32
        philox4x32 ragged_dot_general scaled_dot select_and_gather_add symmetric_product threefry4x32
        tridiagonal_solve unreduced_pmax unreduced_pmin
    """,
}

KNOWN_UNKNOWNS: dict[str, str] = {
    name: reason for reason, names in _REASONS.items() for name in names.split() if name not in RULES
}
"""Primitives that `Cost.unknown` names, each with the reason, which completes a sentence that begins with the name."""
