"""What a `pallas_call` says of itself: its grid, its windows, and the jaxprs that say where each window lies.

Pallas is imported by whoever writes a kernel, and never for its own sake: each function here is given an equation of
one, so that it is loaded already. All names were checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from traceback import walk_tb
from typing import Any, NamedTuple

from jax import tree_util

from jaxnb._jax.base import in_jax
from jaxnb._jax.eqns import argument_names, function_name, open_jaxpr, shape_and_dtype

__all__ = ["KernelArray", "KernelCall", "KernelDim", "KernelWindow", "kernel_call", "kernel_lowered", "kernel_origins"]


class KernelDim(NamedTuple):
    """One dimension of a window.

    Attributes:
      size: how many elements of the array it covers.
      unit: by how much an index of 1 moves it.
      before: the padding in front of the array, from which indices count.
      squeezed: whether the kernel's argument lacks it.
      leaf: which result of the index map is its index; None where it has an index for each element.
      fixed: whether `leaf` is the index itself.
    """

    size: int
    unit: int
    before: int = 0
    squeezed: bool = False
    leaf: int | None = 0
    fixed: bool = False


class KernelArray(NamedTuple):
    """What a kernel is given whole: an argument that index maps read, or scratch memory.

    Attributes:
      name: of the kernel's argument, "" where that is not known.
      shape: of it.
      dtype: the name of that.
      itemsize: bytes of an element.
      memory: the memory space, such as "vmem"; "" for the compiler's choice.
    """

    name: str
    shape: tuple[Any, ...]
    dtype: str
    itemsize: int
    memory: str


class KernelWindow(NamedTuple):
    """An operand or a result of which each step of the grid has a window.

    Attributes:
      array: the whole, with the name of the kernel's argument and the memory space of the window.
      dims: one for each dimension of the array.
      index_map: the jaxpr that maps a step, then the arguments for index maps, to the indices.
      buffers: how many windows its pipeline has room for; None where the kernel does not say.
    """

    array: KernelArray
    dims: tuple[KernelDim, ...]
    index_map: Any
    buffers: int | None


class KernelCall(NamedTuple):
    """A `pallas_call`.

    Attributes:
      name: of the kernel, as it was given or as its function is called.
      grid: the sizes, the last one the fastest; None for one that only the run knows.
      body: the jaxpr of a step. Its inputs are the arguments for index maps, the windows, then scratch memory.
      prefetched: the arguments for index maps.
      inputs: what it reads.
      outputs: what it writes.
      scratch: what it has beside.
      aliases: pairs of an input and the output that is written into it, both by their places in `inputs`, `outputs`.
      semantics: of each dimension of the grid, such as "parallel"; () where the kernel does not say.
      backend: "tpu" or "gpu", by whose parameters it was given; "" if by nobody's.
      interpret: whether it is interpreted.
      estimate: flops, bytes and transcendentals that its author estimates; None if there is no estimate.
      limit: bytes of VMEM that it may take at most; None where the kernel does not say.
    """

    name: str
    grid: tuple[int | None, ...]
    body: Any
    prefetched: tuple[KernelArray, ...]
    inputs: tuple[KernelWindow, ...]
    outputs: tuple[KernelWindow, ...]
    scratch: tuple[KernelArray, ...]
    aliases: tuple[tuple[int, int], ...]
    semantics: tuple[str, ...]
    backend: str
    interpret: bool
    estimate: tuple[int, int, int] | None
    limit: int | None


def kernel_call(eqn: Any) -> KernelCall:
    """What an equation of `pallas_call` says."""
    params, mapping, body = eqn.params, eqn.params["grid_mapping"], open_jaxpr(eqn.params["jaxpr"])
    names = argument_names(body) or ("",) * len(body.invars)
    spaces = [getattr(atom.aval, "memory_space", None) for atom in body.invars]
    prefetched = mapping.num_index_operands
    blocks = mapping.block_mappings
    windows = [
        _window(block, name, space)
        for block, name, space in zip(blocks, names[prefetched:], spaces[prefetched:], strict=False)
    ]
    beside = prefetched + len(blocks)
    arrays = [_array(atom.aval, name) for atom, name in zip(body.invars, names, strict=True)]
    # Operands are the sizes that only the run knows, the arguments for index maps, then the inputs.
    first = mapping.num_dynamic_grid_bounds + prefetched
    aliases = tuple((given - first, made) for given, made in params["input_output_aliases"] if given >= first)
    given, estimate = params["compiler_params"], params["cost_estimate"]
    return KernelCall(
        params["name"] or function_name(body),
        tuple(size if isinstance(size, int) else None for size in mapping.grid),
        body,
        tuple(arrays[:prefetched]),
        tuple(windows[: mapping.num_inputs]),
        tuple(windows[mapping.num_inputs :]),
        tuple(arrays[beside:]),
        aliases,
        tuple(map(_word, getattr(given, "dimension_semantics", None) or ())),
        _backend(given),
        bool(params["interpret"]),
        None if estimate is None else (estimate.flops, estimate.bytes_accessed, estimate.transcendentals),
        getattr(given, "vmem_limit_bytes", None),
    )


def kernel_origins(eqn: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What errors call the windows of the inputs and of the results of a `pallas_call`, such as `args[0]`."""
    mapping = eqn.params["grid_mapping"]
    names = tuple(block.origin for block in mapping.block_mappings)
    return names[: mapping.num_inputs], names[mapping.num_inputs :]


def kernel_lowered(error: BaseException) -> tuple[Any, tuple[Any, ...]] | None:
    """Which kernel was being lowered when an error was raised: its `pallas_call`, and the equations of its body that
    were being lowered, the innermost last; none where it is about the kernel as a whole. None where there is no kernel.

    The rules of Pallas go through a body in loops, whose frames hold the equation as `eqn`; no error says it.
    """
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        frames = [frame for frame, _ in walk_tb(one.__traceback__) if in_jax(frame.f_code.co_filename)]
        found: list[Any] = [frame.f_locals.get("eqn") for frame in frames]
        eqns = [eqn for eqn in found if hasattr(eqn, "primitive")]
        calls = [at for at, eqn in enumerate(eqns) if eqn.primitive.name == "pallas_call"]
        if calls:
            return eqns[calls[-1]], tuple(eqns[calls[-1] + 1 :])
        pending += [one.__cause__, one.__context__]
    return None


def _word(semantics: Any) -> str:
    """ "parallel", be it a text or a member of an enumeration."""
    return str(getattr(semantics, "value", semantics)).lower()


def _backend(given: Any) -> str:
    """By the module of the parameters' class: their own base class says nothing of it in jax 0.10."""
    module = type(given).__module__
    if "triton" in module or "mosaic_gpu" in module:
        return "gpu"
    return "tpu" if "mosaic" in module else ""


def _array(aval: Any, name: str) -> KernelArray:
    shape, dtype, itemsize = shape_and_dtype(getattr(aval, "inner_aval", aval))
    return KernelArray(name, shape, dtype, itemsize, _memory(getattr(aval, "memory_space", None)))


def _memory(space: Any) -> str:
    name = "" if space is None else str(getattr(space, "value", space)).lower()
    return "" if name == "default" else name


def _window(block: Any, name: str, space: Any) -> KernelWindow:
    leaves = list(_leaves(block))
    dims = tuple(_dim(dim, *leaf) for dim, leaf in zip(block.block_shape, leaves, strict=True))
    array = _array(block.array_aval, name or block.origin)._replace(memory=_memory(space))
    buffered = block.pipeline_mode
    return KernelWindow(array, dims, block.index_map_jaxpr, None if buffered is None else buffered.buffer_count)


class _Leaf(int):
    """The number of a result of an index map, which no size that was written is."""


def _leaves(block: Any) -> Iterator[tuple[int, bool]]:
    """For each dimension which result of the index map says where it starts, or where, and whether that is fixed."""
    count = len(open_jaxpr(block.index_map_jaxpr).outvars)
    indices: Any = tree_util.tree_unflatten(block.index_map_out_tree, [_Leaf(number) for number in range(count)])
    for index in indices if isinstance(indices, Sequence) else (indices,):
        start: Any = getattr(index, "start", index)  # of `pl.ds(start, size)`
        yield int(start), not isinstance(start, _Leaf)


def _dim(dim: Any, leaf: int, fixed: bool) -> KernelDim:
    from jax._src.pallas import core as pallas_core

    if isinstance(dim, pallas_core.Squeezed):
        return KernelDim(1, 1, squeezed=True, leaf=leaf, fixed=fixed)
    size = dim.block_size
    if isinstance(dim, pallas_core.Blocked):
        return KernelDim(size, size, leaf=leaf, fixed=fixed)
    if isinstance(dim, pallas_core.Element):
        return KernelDim(size, 1, dim.padding[0], leaf=leaf, fixed=fixed)
    return KernelDim(size, 1, leaf=leaf if isinstance(dim, pallas_core.BoundedSlice) else None, fixed=fixed)
