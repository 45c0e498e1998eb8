"""The door to `jax.export` without its own file format, which wants a package more and reads all that it is given.

What `jax.export.export` makes is kept as the bytes of its StableHLO, in the version that the oldest supported jax
reads, and a few numbers; from these the same `jax.export.Exported` is made again. All was checked on jax 0.10.2 and
0.12.0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
from jax import core as jax_core, export
from jax._src.export import _export  # which custom calls are kept stable, nothing public says
from jax._src.interpreters.mlir import refine_polymorphic_shapes
from jax.interpreters import mlir as _mlir
from jaxlib._jax import mlir as _portable  # an `Exported` gives its module as text alone

from jaxnb.errors import ChangedJax

__all__ = [
    "CONVENTIONS",
    "STABLEHLO",
    "ExportedParts",
    "call_of",
    "check_refined",
    "custom_calls",
    "export_flat",
    "module_text",
    "stable_targets",
]

STABLEHLO = "1.13.0"
"""The version of StableHLO that is written: jax 0.10 reads it, and so will those after it, for five years."""

CONVENTIONS = (
    export.minimum_supported_calling_convention_version,
    export.maximum_supported_calling_convention_version,
)
"""The first and the last way to call an exported program that this JAX knows."""


class ExportedParts(NamedTuple):
    """What is kept of an exported function.

    Attributes:
      module: the portable bytes of its StableHLO.
      convention: how it is called, a version of JAX's own.
      kept: the positions of the arguments that the module takes.
      platforms: that it was lowered for.
      devices: how many it runs on.
      constants: whether the module asks for its sizes or its platform when it is called.
      stablehlo: the version of the module.
    """

    module: bytes
    convention: int
    kept: tuple[int, ...]
    platforms: tuple[str, ...]
    devices: int = 1
    constants: bool = False
    stablehlo: str = STABLEHLO


def export_flat(
    function: Callable[..., Sequence[Any]], avals: Sequence[Any], platforms: Sequence[str] | None = None
) -> ExportedParts:
    """Exports a function of arrays that returns a list of arrays. Where its operations come from is told by names of
    files and lines, without the folders, which are nobody's business who is given the file.

    Args:
      function: which one.
      avals: a `jax.ShapeDtypeStruct` for each argument.
      platforms: that it is lowered for; None for the default one.
    """
    with _without_folders():
        exported = export.export(jax.jit(function, keep_unused=True), platforms=platforms)(*avals)
    module = _older(exported.mlir_module_serialized)
    return ExportedParts(
        module or exported.mlir_module_serialized,
        exported.calling_convention_version,
        exported.module_kept_var_idx,
        tuple(exported.platforms),
        exported.nr_devices,
        exported.uses_global_constants,
        STABLEHLO if module else "newer",
    )


_REMOVED = "jax_hlo_source_file_canonicalization_regex"


@contextmanager
def _without_folders() -> Generator[None]:
    before: Any = getattr(jax.config, _REMOVED)
    jax.config.update(_REMOVED, r"^.*[/\\]")
    try:
        yield
    finally:
        jax.config.update(_REMOVED, before)


def _older(module: bytes) -> bytes:
    """The same module in the version `STABLEHLO`; b"" where it holds what that does not know."""
    try:
        with _mlir.make_ir_context():
            return _portable.serialize_portable_artifact(
                _portable.deserialize_portable_artifact(module), STABLEHLO, True
            )
    except (RuntimeError, ValueError):
        return b""


def call_of(
    parts: ExportedParts,
    arguments: Sequence[tuple[tuple[int, ...], Any]],
    results: Sequence[tuple[tuple[int, ...], Any, bool]],
) -> Callable[..., list[Any]]:
    """The function that was exported. Nothing is parsed before it is called or traced.

    Args:
      parts: what was kept of it.
      arguments: the shape and dtype of each.
      results: likewise, and whether it is weakly typed.

    Raises:
      ChangedJax: if this JAX keeps an exported function otherwise.
    """
    into = tuple(jax_core.ShapedArray(*one) for one in arguments)
    out = tuple(jax_core.ShapedArray(shape, dtype, weak_type=weak) for shape, dtype, weak in results)
    told: dict[str, Any] = {
        "fun_name": "cell",
        "in_tree": jax.tree.structure(((0,) * len(into), {})),
        "in_avals": into,
        "out_tree": jax.tree.structure([0] * len(out)),
        "out_avals": out,
        "_has_named_shardings": True,
        "_in_named_shardings": (None,) * len(into),
        "_out_named_shardings": (None,) * len(out),
        "in_shardings_hlo": (None,) * len(into),
        "out_shardings_hlo": (None,) * len(out),
        "nr_devices": parts.devices,
        "platforms": parts.platforms,
        "ordered_effects": (),
        "unordered_effects": (),
        "disabled_safety_checks": (),
        "mlir_module_serialized": parts.module,
        "calling_convention_version": parts.convention,
        "module_kept_var_idx": parts.kept,
        "uses_global_constants": parts.constants,
        "_get_vjp": None,
    }
    fields = [field.name for field in dataclasses.fields(export.Exported)]
    if unknown := [name for name in fields if name not in told]:
        raise ChangedJax(
            "an exported program cannot be called.",
            why=f"jax {jax.__version__} keeps more of one than is known here: {', '.join(unknown)}.",
            fix="use a version of JAX that jaxnb knows.",
        )
    made: Any = export.Exported(**{name: told[name] for name in fields})
    return made.call


def check_refined(lowered: Any) -> None:
    """Whether a program that was lowered for some sizes has these in every shape that follows from them.

    Raises:
      ValueError: if it has not.
    """
    try:
        refine_polymorphic_shapes(lowered.compiler_ir("stablehlo"))
    except ValueError as error:
        raise ValueError(str(error.__cause__ or error).partition("\n")[0]) from None


def module_text(module: bytes) -> str:
    """Portable StableHLO as text.

    Raises:
      ValueError: if JAX cannot read it.
    """
    with _mlir.make_ir_context():
        return _mlir.module_to_string(_read(module))


def custom_calls(module: bytes) -> set[str]:
    """What the operations of portable StableHLO call beside its own functions: targets of custom calls, and the names
    of operations by which a program speaks with a host.

    Raises:
      ValueError: if JAX cannot read it.
    """
    with _mlir.make_ir_context():
        return set(_calls(_read(module).operation))


def stable_targets() -> frozenset[str]:
    """The custom calls that JAX promises to keep as they are, none of which calls Python."""
    kept: set[str] = _export._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE  # pyright: ignore[reportPrivateUsage]
    return frozenset(kept) - {"tf.call_tf_function"}


_SPEAKS = ("stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv")


def _read(module: bytes) -> Any:
    try:
        return _portable.deserialize_portable_artifact(module)
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def _calls(operation: Any) -> Iterator[str]:
    waiting = [operation]
    while waiting:
        each = waiting.pop()
        if each.name == "stablehlo.custom_call":
            yield str(each.attributes["call_target_name"]).strip('"')
        elif each.name in _SPEAKS:
            yield each.name
        waiting += [inner.operation for region in each.regions for block in region for inner in block]
