"""Lowered and compiled programs: their inputs, their names, their modules, and compiling for other machines."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from covering import covers, private
from jax.sharding import PartitionSpec as P
from jaxlib.mlir import ir

from jaxnb._jax import base, compile, eqns, hlo, platforms, watch
from jaxnb.reading.hlo.decode import read_module


def product(x: Any, unused: Any, y: Any) -> Any:
    with jax.named_scope("mine"):
        return jnp.sin(x) * y


def split() -> jax.sharding.NamedSharding:
    return jax.sharding.NamedSharding(jax.make_mesh((2,), ("x",)), P("x"))


@covers("Traced._params", "Traced._lojax")
def test_another_jaxpr_can_be_lowered_in_the_place_of_one() -> None:
    traced: Any = jax.jit(product).trace(1.0, 2.0, 3.0)
    closed = traced.jaxpr
    traced.lower()
    named = [hlo.named_eqn(eqn, f"n{place}", eqn.params) for place, eqn in enumerate(closed.eqns)]
    changed = hlo.with_jaxpr(traced, hlo.with_eqns(closed, named))
    assert "/n0" not in traced.lower().as_text(debug_info=True) and "/n0" in changed.lower().as_text(debug_info=True)
    assert float(changed.lower().compile()(1.0, 2.0, 3.0)) == float(product(1.0, 2.0, 3.0))
    assert traced.jaxpr is closed and changed.jaxpr is not closed


@covers("Traced._meta_tys_flat", "MetaTy.sharding")
def test_a_traced_function_knows_how_its_inputs_are_spread() -> None:
    sharding = split()
    array = jax.device_put(np.ones(4), sharding)
    traced = jax.jit(product).trace(array, 1.0, np.ones(4))
    assert hlo.given_shardings(traced)[0] == sharding and hlo.given_shardings(traced)[2] is None
    assert [bool(text) for text in hlo.input_shardings(traced)] == [True, False, False]


@covers("Traced._consts")
def test_code_that_lowers_a_function_which_has_closed_over_a_tracer_is_told() -> None:
    told: list[str] = []

    class Asked:
        def __getattr__(self, name: str) -> Any:
            return lambda *_: told.append(name)

    asked: Any = Asked()

    def look(x: Any) -> Any:
        with watch.watch_trace(__file__, asked):
            namespace = {"jax": jax, "x": x}
            exec("jax.jit(lambda y: x * y).lower(1.0)", namespace)
        return x

    jax.make_jaxpr(look)(1.0)
    traced: Any = jax.jit(lambda y: jnp.ones(3) + y).trace(1.0)
    assert isinstance(traced._consts, list | tuple) and "on_lowered" in told


@covers("Lowered._lowering", "MeshComputation.compile_args", "MeshComputation.const_args")
def test_a_lowered_program_knows_which_inputs_it_takes() -> None:
    lowered: Any = jax.jit(product).lower(1.0, 2.0, 3.0)
    assert hlo.kept_inputs(lowered) == [0, 2] and compile.place_inputs(lowered, ["x", "y"]) == ["x", None, "y"]
    assert compile.spreads_freely(lowered) == ([True, True], [True])
    sharding, constant = split(), jnp.arange(4.0)
    lowered = jax.jit(lambda x: x + constant, in_shardings=sharding).lower(jnp.ones(4))
    assert lowered._lowering.const_args is not None and lowered._lowering.compile_args["ordered_effects"] == []
    assert compile.spreads_freely(lowered)[0] == [False]


def test_a_lowered_program_knows_what_its_module_does_not_tell() -> None:
    strong, weak = (jax.jit(lambda: jnp.asarray(value)).lower() for value in (np.float32(1), 1.0))
    assert compile.module_of(strong) == compile.module_of(weak)
    given = compile.given_of(strong), compile.given_of(weak)
    assert None not in given and given[0] != given[1]


@covers("dispatch.prim_requires_devices_during_lowering")
def test_callbacks_are_lowered_for_devices_that_are_not_there() -> None:
    sharding = jax.sharding.NamedSharding(jax.sharding.AbstractMesh((2,), ("x",)), P("x"))
    kind = jax.ShapeDtypeStruct((4,), jnp.float32)

    def traced() -> Any:
        return jax.jit(lambda x: jax.pure_callback(lambda y: y, kind, x)).trace(kind.update(sharding=sharding))

    wanting = private("dispatch").prim_requires_devices_during_lowering
    before = set(wanting)
    with pytest.raises(ValueError):
        traced().lower(lowering_platforms=("cpu",))
    assert "stablehlo.custom_call" in hlo.lower_elsewhere(traced(), ("cpu",)).as_text()
    assert wanting == before and {"pure_callback", "io_callback"} <= {primitive.name for primitive in wanting}


def locations(operation: Any) -> list[Any]:
    found = [operation.location]
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                found += locations(inner)
    return found


@covers("LoweringRuleContext.tokens_in", "LoweringRuleContext.tokens_out", "LoweringRuleContext.set_tokens_out")
@covers("ModuleContext.get_backend")
def test_a_rule_that_asks_for_a_device_is_told_from_one_that_refuses() -> None:
    def function(x: Any) -> Any:
        return jax.experimental.io_callback(abs, x, x, ordered=True) + 1

    traced = jax.jit(function).trace(jnp.ones(3))
    refused: list[platforms.Unlowered] = []
    primitives = {eqn.primitive for eqn in eqns.all_eqns(traced.jaxpr)}
    with platforms.stand_in_rules(primitives, "tpu", refused):
        text = hlo.lower_elsewhere(traced, ("tpu",)).as_text()
    assert [(one.primitive, one.absent) for one in refused] == [("io_callback", True)] and "stablehlo.add" in text


@covers("mlir._lowerings", "mlir._platform_specific_lowerings", "LoweringRuleEntry.rule", "LoweringRuleEntry.inline")
def test_equations_without_a_rule_are_told_and_the_others_lowered() -> None:
    assert {"cpu", "cuda", "rocm", "tpu"} <= set(platforms.lowering_platforms())
    traced = jax.jit(lambda x: (jnp.linalg.eigvals(x), jnp.sin(x))).trace(jnp.eye(3))
    with pytest.raises(NotImplementedError, match="eig"):
        traced.lower(lowering_platforms=("tpu",))
    refused: list[platforms.Unlowered] = []
    primitives = {eqn.primitive for eqn in eqns.all_eqns(traced.jaxpr)}
    with platforms.stand_in_rules(primitives, "tpu", refused):
        text = hlo.lower_elsewhere(traced, ("tpu",)).as_text()
    assert refused == [platforms.Unlowered("eig")] and f"{platforms.NO_RULE}.0" in text and "stablehlo.sine" in text
    with pytest.raises(NotImplementedError, match="eig"):
        traced.lower(lowering_platforms=("tpu",))
    assert "lapack" in traced.lower().as_text()


@covers("ir.NameLoc", "NameLoc.name_str", "NameLoc.child_loc", "ir.CallSiteLoc", "ir.FusedLoc")
@covers("CallSiteLoc.callee", "FusedLoc.locations")
def test_operations_have_locations_with_the_names_of_equations() -> None:
    module: Any = jax.jit(product).lower(1.0, 2.0, 3.0).compiler_ir("stablehlo")
    found = {hlo.location_name(location) for location in locations(module.operation)}
    assert any(name.endswith("mine/sin") for name in found) and all(not name.endswith(":") for name in found)
    with module.context:
        inner = ir.Location.name("jit(f)/sin")
        around = ir.Location.name("sin:", childLoc=inner)
        assert hlo.location_name(around) == "jit(f)/sin"
        call = ir.Location.callsite(inner, [ir.Location.name("caller")])
        assert isinstance(call, ir.CallSiteLoc) and hlo.location_name(call) == "jit(f)/sin"
        fused = ir.Location.fused([inner, ir.Location.name("other")])
        assert isinstance(fused, ir.FusedLoc) and hlo.location_name(fused) == "jit(f)/sin"
        assert hlo.location_name(ir.Location.unknown()) == ""


@covers("LoadedExecutable.hlo_modules", "HloModule.as_serialized_hlo_module_proto", "HloModule.name")
def test_a_compiled_program_has_its_modules_as_messages() -> None:
    compiled = jax.jit(product).lower(1.0, 2.0, 3.0).compile()
    (message,) = hlo.serialized_modules(compiled)
    (name,) = hlo.module_names(compiled)
    assert name == "jit_product" and name.encode() in message and b"mine/sin" in message


@covers("HloModule.computations", "HloComputation.instructions", "HloInstruction.opcode")
def test_an_optimised_program_tells_the_kinds_of_its_instructions() -> None:
    compiled = jax.jit(lambda x: (x @ x).at[0].set(0.0)).lower(jnp.ones((2, 2))).compile()
    kinds = ("kDynamicUpdateSlice", "kDot", "kParameter", "kScatter")
    assert [hlo.has_instruction(compiled, kind) for kind in kinds] == [True, True, True, False]


@covers("HloModule.as_serialized_hlo_module_proto")
def test_the_fields_of_a_module_are_where_they_are_read() -> None:
    def turns(x: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) @ y, x)

    (message,) = hlo.serialized_modules(jax.jit(turns).lower(jnp.ones((4, 4))).compile())
    module = read_module(message)
    loops = [item for item in module.instructions() if item.trips]
    assert [(loop.opcode, loop.trips, len(loop.called)) for loop in loops] == [("while", 3, 2)]
    entry = module.computations[module.entry]
    assert [item.shape.sizes for item in entry.parameters()] == [(4, 4)] and entry.root in entry.instructions
    assert any(item.op_name.endswith("/sin") for item in module.instructions())


@covers("ir.Module.operation", "Operation.write_bytecode", "Device.client", "Client.compile_and_load")
@covers("_jax.DeviceList", "CompileOptions.executable_build_options", "LoadedExecutable.get_parameter_shardings")
@covers("ExecutableBuildOptions.allow_spmd_sharding_propagation_to_output", "LoadedExecutable.get_output_shardings")
@covers("ExecutableBuildOptions.allow_spmd_sharding_propagation_to_parameters", "parse_flatten_op_sharding")
def test_a_program_is_compiled_for_devices_from_its_bytecode() -> None:
    mesh = jax.sharding.AbstractMesh((2,), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, P("x"))
    shapes = [jax.ShapeDtypeStruct((4,), jnp.float32, sharding=sharding), jax.ShapeDtypeStruct((4,), jnp.float32)]
    traced = jax.jit(lambda x, y: x * y).trace(*shapes)
    lowered = hlo.lower_elsewhere(traced, ("cpu",))
    module, (inputs, results) = compile.module_of(lowered), compile.spreads_freely(lowered)
    assert module.startswith(b"ML\xefR") and inputs == [False, True]
    executable = compile.compile_module(module, 2, inputs, results)
    told = compile.told_specs(executable, {"x": 2})
    assert told[0][0] == [["x"]] and told[1] == [[["x"]]]


@covers("CompileOnlyPyClient.compile", "ir.Module.parse")
def test_a_module_is_read_from_bytecode_for_a_client_that_only_compiles() -> None:
    """Whether one does is for `tests/targets` to say, where a compiler is installed."""
    module = compile.module_of(hlo.lower_elsewhere(jax.jit(jnp.sin).trace(1.0), ("tpu",)))
    with compile.make_ir_context():
        assert "stablehlo.sine" in str(ir.Module.parse(module))
    told = str(importlib.import_module("jaxlib._jax").CompileOnlyPyClient.compile.__doc__)
    assert "computation: object, executable_devices: DeviceList, compile_options: CompileOptions" in told


@covers("ShapedArray.update", "core.Literal")
def test_what_a_program_holds_can_be_dropped() -> None:
    constant = jnp.arange(4.0)
    closed: Any = jax.make_jaxpr(lambda x: x + constant)(jnp.ones(4))
    assert base.captured_arrays(closed) and base.captured_arrays(closed)[0] is constant
    hlo.drop_consts(closed, lambda value: value is constant)
    assert base.captured_arrays(closed) == [] and eqns.open_jaxpr(closed).eqns


@covers("Traced._params")
def test_what_is_missing_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="has no object._params"):
        try:
            raise AttributeError("_params", name="_params", obj=object())
        except AttributeError as error:
            hlo.warn_of_change(error, "nothing is linked")
