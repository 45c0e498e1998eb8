"""Exported programs: what JAX keeps of one, in which version it is written, what it calls; and what the cache tells."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from covering import covers, private

from jaxnb import _jax
from jaxnb._jax import exporting, persistent
from jaxnb.errors import ChangedJax

FLOATS = jax.ShapeDtypeStruct((3,), "float32")


def double(x: Any) -> list[Any]:
    return [x * 2, jnp.sum(x)]


@covers(
    "Exported._get_vjp",
    "_has_named_shardings",
    "_in_named_shardings",
    "_out_named_shardings",
    "calling_convention_version",
    "mlir_module_serialized",
    "module_kept_var_idx",
    "nr_devices",
    "uses_global_constants",
)
def test_what_is_kept_of_an_exported_function_can_be_called() -> None:
    parts = _jax.export_flat(double, [FLOATS])
    assert (parts.kept, parts.devices, parts.platforms, parts.constants) == ((0,), 1, (jax.default_backend(),), False)
    assert _jax.CONVENTIONS[0] <= parts.convention <= _jax.CONVENTIONS[1]
    call = _jax.call_of(
        parts, [((3,), np.dtype("float32"))], [((3,), np.dtype("float32"), False), ((), np.dtype("float32"), True)]
    )
    twice, total = jax.jit(call)(jnp.arange(3.0))
    assert twice.tolist() == [0, 2, 4] and total == 3
    assert (twice.weak_type, total.weak_type) == (False, True)


def test_a_program_for_several_platforms_is_called_too() -> None:
    parts = _jax.export_flat(double, [FLOATS], ("cuda", "cpu", "tpu"))
    assert parts.platforms == ("cuda", "cpu", "tpu")
    call = _jax.call_of(
        parts, [((3,), np.dtype("float32"))], [((3,), np.dtype("float32"), False), ((), np.dtype("float32"), True)]
    )
    assert jax.jit(call)(jnp.ones(3))[1] == 3


@covers("mlir.refine_polymorphic_shapes")
def test_a_program_for_all_sizes_is_checked_at_some() -> None:
    scope = jax.export.SymbolicScope()
    (twice,), (b,) = (jax.export.symbolic_shape(text, scope=scope) for text in ("2*b", "b"))
    floats = np.dtype("float32")
    parts = _jax.export_flat(lambda x: [jnp.concatenate([x, x])], [jax.ShapeDtypeStruct((b,), floats)])
    for size, fits in ((twice, True), (b, False)):
        call = jax.jit(_jax.call_of(parts, [((b,), floats)], [((size,), floats, False)]))
        lowered = call.lower(jax.ShapeDtypeStruct((3,), floats))
        if fits:
            _jax.check_refined(lowered)
            assert call(jnp.ones(5))[0].shape == (10,)
        else:
            with pytest.raises(ValueError, match="refine"):
                _jax.check_refined(lowered)


def test_a_jax_that_keeps_more_of_one_is_told_as_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dataclasses.fields(jax.export.Exported)
    more = dataclasses.make_dataclass("More", ["made_up"])
    monkeypatch.setattr(exporting.dataclasses, "fields", lambda _: (*known, *more.__dataclass_fields__.values()))
    with pytest.raises(ChangedJax, match="made_up"):
        _jax.call_of(_jax.ExportedParts(b"", 10, (), ("cpu",)), [], [])


@covers("mlir.serialize_portable_artifact", "mlir.deserialize_portable_artifact")
def test_a_program_is_written_in_a_version_that_older_ones_read() -> None:
    parts = _jax.export_flat(lambda x: [jnp.linalg.cholesky(x)], [jax.ShapeDtypeStruct((3, 3), "float32")])
    assert parts.stablehlo == _jax.STABLEHLO and f"StableHLO_v{_jax.STABLEHLO}".encode() in parts.module
    assert "func.func public @main" in _jax.module_text(parts.module)
    with pytest.raises(ValueError):
        _jax.module_text(b"no module")


@covers("_CUSTOM_CALL_TARGETS_GUARANTEED_STABLE", "Operation.attributes", "Operation.regions")
def test_what_a_program_calls_is_told_also_inside_of_loops() -> None:
    def looped(x: Any) -> list[Any]:
        return [jax.lax.fori_loop(0, 3, lambda _, a: jnp.linalg.qr(a)[0], x)]

    calls = _jax.custom_calls(_jax.export_flat(looped, [jax.ShapeDtypeStruct((3, 3), "float32")]).module)
    assert calls and calls <= _jax.stable_targets()
    assert "tf.call_tf_function" not in _jax.stable_targets()
    assert not any("python" in name or "callback" in name for name in _jax.stable_targets())


def test_the_names_of_the_events_of_the_cache_are_those_that_jax_tells() -> None:
    said = "".join(Path(private(name).__file__).read_text("utf-8") for name in ("compiler", "compilation_cache"))
    assert all(event in said for event in persistent.CACHE_EVENTS)
    assert [persistent.cache_setting(name) for name in ("enabled", "seconds")] == [True, 1.0]
    assert exporting.STABLEHLO == _jax.STABLEHLO
