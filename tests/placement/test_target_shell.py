"""Targets where no compiler need be: what is asked and refused, the worker of one that is gone, what compilers say."""

from __future__ import annotations

import dataclasses
import doctest
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P
from sample_kernels import product
from shells import Shell, shell

import jaxnb
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError, Refused
from jaxnb.options import StageOptions
from jaxnb.program import (
    Axis,
    Collective,
    Cycles,
    Footprint,
    Hiding,
    Mesh,
    Padded,
    Plan,
    Program,
    find_hardware,
    read_kernel_room,
    read_target,
)
from jaxnb.program.placement import kernel_room
from jaxnb.reading import SimulatedMesh, find_compilers, has_worker, mesh_of_target
from jaxnb.reading.placement import simulated
from jaxnb.reading.worker import compilers, refusals, workers
from jaxnb.reading.worker.compilers import Compiler, check_compiler, environment_of
from jaxnb.reading.worker.refusals import NotCompiled, OutOfMemory, read_refusal
from jaxnb.shell.health import Facts, find_problems
from jaxnb.shell.targets import set_target
from jaxnb.staging import target_mesh
from jaxnb.views import render_plan
from jaxnb.views.plans import hiding_text, kernel_room_text

__all__ = ["shell"]


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Makes it so that these versions are installed, on a Linux machine."""
    versions: dict[str, str | None] = {
        "jax": "0.10.2",
        "jaxlib": "0.10.2",
        "libtpu": "0.0.42.1",
        "jax-cuda12-plugin": "0.10.2",
        "jax-cuda12-pjrt": "0.10.2",
        "nvidia-cuda-nvcc-cu12": "12.9.86",
    }
    monkeypatch.setattr(compilers, "_version", versions.get)
    monkeypatch.setattr(compilers, "_pinned", {"libtpu": "0.0.42.*"}.get)
    monkeypatch.setattr(compilers.sys, "platform", "linux")
    monkeypatch.setattr(compilers.platform, "machine", lambda: "x86_64")
    return versions


# --- which compilers are there ---


def test_a_compiler_that_is_there(there: dict[str, str | None]) -> None:
    tpu, cuda = find_compilers()
    assert (str(tpu), tpu.wrong, tpu.installed) == ("libtpu 0.0.42.1", "", True)
    assert str(cuda).startswith("jax-cuda12-plugin 0.10.2, jax-cuda12-pjrt 0.10.2, nvidia-cuda-nvcc")
    assert check_compiler("tpu") == tpu and check_compiler("cuda") == cuda


@pytest.mark.parametrize(
    ("platform", "changes", "why", "fix"),
    [
        ("tpu", {"libtpu": None}, "libtpu is not installed", 'pip install "jaxnb[tpu]"'),
        ("cuda", {"jax-cuda12-pjrt": None}, "jax-cuda12-pjrt is not installed", 'pip install "jaxnb[cuda]"'),
        (
            "cuda",
            {"jax-cuda12-plugin": None, "jax-cuda12-pjrt": None},
            "jax-cuda12-plugin and jax-cuda12-pjrt are not installed",
            'pip install "jaxnb[cuda]"',
        ),
        (
            "tpu",
            {"libtpu": "0.0.43"},
            "libtpu 0.0.43 does not belong to jax 0.10.2, which wants 0.0.42.*",
            "jaxnb[tpu]",
        ),
        ("cuda", {"jax-cuda12-plugin": "0.11.0"}, "jax-cuda12-plugin 0.11.0 does not belong to jaxlib 0.10.2", "jaxnb"),
    ],
)
def test_compilers_that_do_not_serve(
    there: dict[str, str | None], platform: str, changes: dict[str, str | None], why: str, fix: str
) -> None:
    there.update(changes)
    with pytest.raises(JaxnbError, match=f"nothing here compiles for a {'TPU' if platform == 'tpu' else 'GPU'}") as one:
        check_compiler(platform)
    assert why in str(one.value) and fix in one.value.fix


@pytest.mark.parametrize(
    ("system", "machine", "wrong"),
    [("darwin", "arm64", ["tpu", "cuda"]), ("linux", "aarch64", ["tpu"]), ("win32", "AMD64", ["tpu", "cuda"])],
)
def test_machines_that_compilers_do_not_run_on(
    there: dict[str, str | None], monkeypatch: pytest.MonkeyPatch, system: str, machine: str, wrong: list[str]
) -> None:
    monkeypatch.setattr(compilers.sys, "platform", system)
    monkeypatch.setattr(compilers.platform, "machine", lambda: machine)
    found = {one.platform: one for one in find_compilers() if one.wrong}
    assert list(found) == wrong and f"this is {system} on {machine}" in found["tpu"].wrong
    assert "it needs no accelerator" in found["tpu"].fix


def test_the_environment_of_a_compiler_keeps_the_flags_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_mine=1")
    assert environment_of("cuda")["XLA_FLAGS"].startswith("--xla_mine=1 --xla_gpu_autotune_level=0 ")
    assert environment_of("tpu")["ALLOW_MULTIPLE_LIBTPU_LOAD"] == "1"
    assert workers._environment(1, "tpu")["JAX_PLATFORMS"] == "cpu"


def test_the_doctor_says_what_there_is(there: dict[str, str | None]) -> None:
    rows = dict(jaxnb.doctor().rows)
    assert rows["target tpu"] == "libtpu 0.0.42.1" and rows["target cuda"].startswith("jax-cuda12-plugin")
    there["libtpu"] = None
    assert dict(jaxnb.doctor().rows)["target tpu"] == "libtpu is not installed"
    wrong = Compiler("tpu", {"libtpu": "1"}, "libtpu 1 does not belong to jax 2, which wants 3", 'pip install "x".')
    assert [str(one) for one in find_problems(Facts({"jax": "0.10.2", "jaxlib": "0.10.2"}, compilers=[wrong]))] == [
        "libtpu 1 does not belong to jax 2, which wants 3.\n"
        '  Why: what it compiles may not be read, and %jaxnb target refuses it.\n  Try: pip install "x".'
    ]


# --- meshes of targets ---


def test_a_mesh_has_all_devices_of_its_target() -> None:
    target = read_target("v5e:4x4")
    assert str(mesh_of_target(target)) == "x=4, y=4 (16 devices of v5e:4x4)"
    assert str(mesh_of_target(read_target("h100"))) == "1 device of h100"
    assert mesh_of_target(read_target("h100")).mesh.empty
    with pytest.raises(JaxnbError, match="data=2, model=4 are 8 devices, and v5e:4x4 has 16") as one:
        mesh_of_target(target, {"data": 2, "model": 4})
    assert "multiply to 16" in one.value.fix
    with pytest.raises(JaxnbError, match="has 1"):
        mesh_of_target(read_target("h100"), {"x": 8})


def test_axes_that_fit_are_kept() -> None:
    known = SimulatedMesh((("data", 2), ("model", 8)), explicit=True)
    kept = target_mesh("v5e:4x4", known)
    assert kept.axes == known.axes and kept.explicit and target_mesh("v5e:2x2", known).axes == (("x", 2), ("y", 2))
    assert target_mesh("v5e", known).axes == () and target_mesh("v5e:4x4", known, {"a": 16}).axes == (("a", 16),)
    with jax.set_mesh(jaxnb.make_mesh("p=4, q=2")):
        assert target_mesh("h100:1x8").axes == (("p", 4), ("q", 2))


def test_what_a_device_of_a_mesh_is() -> None:
    assert mesh_of_target(read_target("v5e")).device is not None and SimulatedMesh((("x", 2),)).device is None
    assert SimulatedMesh((("x", 2),), hardware="h100").device is find_hardware("h100")
    mesh = mesh_of_target(read_target("v5e:2x2"))
    assert (mesh.platform, mesh.without_target().platform) == ("tpu", "cpu")


def test_a_spec_on_one_device_is_refused() -> None:
    session = new_session()
    session.simulated = mesh_of_target(read_target("h100"))
    x = jaxnb.abstract(jax.ShapeDtypeStruct((8, 8), jnp.float32), P("x"), "x=8")
    with pytest.raises(Refused, match="the mesh has no such axis") as one:
        session.stage("y = x * 2", {"x": x}, StageOptions())
    assert "leave the spec out" in one.value.fix


# --- commands ---


@pytest.fixture
def none_installed(there: dict[str, str | None]) -> None:
    there.update({"libtpu": None, "jax-cuda12-plugin": None})


def test_targets_are_listed(there: dict[str, str | None], shell: Shell) -> None:
    text = str(set_target(new_session(), ""))
    assert text.startswith("no target is set: cells run") and "compiler for tpu: libtpu 0.0.42.1" in text
    for name in ("v4:4x4x4", "v5e:4x4", "tpu7x:4x4x4", "h100:1x8", "2 devices a chip", "NVIDIA H100 SXM5"):
        assert name in text
    assert "no target is set" in shell.run("%jaxnb target")


def test_a_target_is_set_and_ended(there: dict[str, str | None]) -> None:
    session = new_session()
    shown = str(set_target(session, "v5e:4x4"))
    assert "v5e:4x4: a device is TPU v5e with 16.9 GB" in shown and session.simulated is not None
    assert "cells are compiled for x=4, y=4 (16 devices of v5e:4x4)" in str(set_target(session, ""))
    assert "1 device of h100" in str(set_target(session, "h100"))
    assert "for h100 no longer: they run again" in str(set_target(session, "off")) and session.simulated is None
    assert set_target(session, "off") == "no target is set: cells run"
    session.simulated = SimulatedMesh((("x", 4),))
    assert "cells are planned for x=4" in str(set_target(session, "off")) and session.simulated is not None


def test_a_mesh_is_laid_on_a_target(there: dict[str, str | None], shell: Shell) -> None:
    assert "v5p:8x8x16" in shell.run("%jaxnb mesh x=64, y=16 --target v5p:8x8x16")
    assert "v5p:8x8x16" in shell.run("%jaxnb mesh")
    assert "x=1024 (1,024 devices of v5p:8x8x16)" in shell.run("%jaxnb mesh x=1024") + shell.run("%jaxnb target")
    for header, said in (
        ("x=64 --target v5p:8x8x16", "x=64 are 64 devices, and v5p:8x8x16 has 1,024"),
        ("x=16 --target v5e:4x4 --simulate", "--simulate does not go with --target"),
        ("x=16 --target v5e:4x4 --hardware h100", "--hardware does not go with --target"),
        ("x=16 --target v5e:4x4 --devices 8", "--devices does not go with --target"),
        ("x=16 --target v9", "there is no target 'v9'"),
    ):
        assert said in shell.run(f"%jaxnb mesh {header}", ok=False)
    assert "no longer" in shell.run("%jaxnb mesh off") and "no target is set" in shell.run("%jaxnb target")


def test_without_a_compiler_nothing_is_set(none_installed: None, shell: Shell) -> None:
    for line in ("%jaxnb target v5e:4x4", "%jaxnb mesh x=16 --target v5e:4x4"):
        text = shell.run(line, ok=False)
        assert "nothing here compiles for a TPU" in text and 'pip install "jaxnb[tpu]"' in text
    assert "no target is set" in shell.run("%jaxnb target") and not has_worker("tpu")
    assert 'pip install "jaxnb[cuda]"' in shell.run("%%jit --target h100\ny = x * 2", ok=False) and "y" not in shell.ns


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("%%jit --target v5", "did you mean v5p or v5e"),
        ("%%jit --target v5e:3x3", "a host has 2x2 chips"),
        ("%%jit --target", "--target wants a word"),
        ("%%jit --target h100 --time", "--time does not go with a target"),
        ("%%jit --target h100 --export f.jaxexport", "the cell cannot be exported"),
        ("%jaxnb target v5e:4x4 v5e:2x2", "is more than one target"),
    ],
)
def test_headers_that_cannot_be(there: dict[str, str | None], shell: Shell, header: str, said: str) -> None:
    text = shell.run(f"{header}\ny = x * 2" if header.startswith("%%") else header, ok=False)
    assert said in text and "y" not in shell.ns
    assert "no target is set" in shell.run("%jaxnb target")


def test_a_named_mesh_is_none_of_a_target(there: dict[str, str | None], shell: Shell) -> None:
    shell.ns["m"] = jaxnb.make_mesh("p=4")
    text = shell.run("%%xmap x[i] -> y[i] --mesh m --target v5e:2x2\ny = x", ok=False)
    assert "--mesh names a mesh of devices that are there" in text and "lays axes on the target" in text


# --- what compilers say ---


@pytest.mark.parametrize(
    ("message", "memory", "needed", "available"),
    [
        (
            "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 17.50G "
            "of 15.75G hbm. Exceeded hbm capacity by 1.75G.",
            "HBM",
            int(17.5 * 2**30),
            int(15.75 * 2**30),
        ),
        (
            "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (53.67G) "
            "exceeds available HBM (15.75G).",
            "HBM",
            int(53.67 * 2**30),
            int(15.75 * 2**30),
        ),
        (
            "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 131.83M of 128.00M vmem.",
            "VMEM",
            int(131.83 * 2**20),
            128 * 2**20,
        ),
    ],
)
def test_refusals_for_memory_are_read(message: str, memory: str, needed: int, available: int) -> None:
    found = read_refusal(message)
    assert found is not None and (found.memory, found.needed, found.available) == (memory, needed, available)


def test_the_window_of_a_kernel_that_is_too_large_is_told() -> None:
    found = read_refusal(
        "RESOURCE_EXHAUSTED: Allocation (size=268435456) would exceed memory (size=134217728) :: #allocation2 [shape = "
        "'u8[268435456]{0}', space=vmem, size = 0x10000000, scoped, tag = 'input window allocation for operator input "
        "0. The window shape is f32[8192,8192].'] :: _lambda_.1"
    )
    assert found is not None and (found.memory, found.needed) == ("VMEM", 268435456)
    error = OutOfMemory(found, "a device of v5e")
    assert error.what == "the program does not fit: it needs 268 MB of VMEM, and a device of v5e has 134 MB for it."
    assert "134 MB are too much. input window allocation for operator input 0." in error.why
    assert "smaller blocks" in error.fix


@pytest.mark.parametrize("message", ["INTERNAL: RET_CHECK failure", "RESOURCE_EXHAUSTED: too many threads", ""])
def test_other_errors_are_no_refusals(message: str) -> None:
    assert read_refusal(message) is None


@pytest.mark.parametrize(
    ("told", "kind", "said"),
    [
        ({"stage": "topology", "message": "INVALID"}, JaxnbError, "the compiler knows no v5e:2x2."),
        ({"stage": "compile", "message": "INTERNAL: no"}, NotCompiled, "the program cannot be compiled for v5e:2x2."),
        (
            {"stage": "compile", "message": "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 2G of 1G"},
            OutOfMemory,
            "it needs 2.1 GB of HBM, and a device of v5e:2x2 has 1.1 GB for it.",
        ),
    ],
)
def test_what_a_worker_could_not_do_is_told(told: dict[str, Any], kind: type, said: str) -> None:
    error = workers._refused({"error": "JaxRuntimeError", **told}, mesh_of_target(read_target("v5e:2x2")))
    assert type(error) is kind and said in str(error)


def test_a_callback_is_for_devices_of_this_process(there: dict[str, str | None]) -> None:
    def told(x: Any) -> Any:
        jax.debug.print("{}", x.sum())
        return x * 2

    with pytest.raises(JaxnbError, match="cannot be lowered for v5e") as one:
        jaxnb.target(told, "v5e")(jax.ShapeDtypeStruct((8, 8), jnp.float32))
    assert "calls back into Python" in one.value.why and "--simulate" in one.value.fix


def test_a_function_wants_the_compiler_first(none_installed: None) -> None:
    with pytest.raises(JaxnbError, match="nothing here compiles for a TPU"):
        jaxnb.target(lambda x: x * 2, "v5e:2x2")(jax.ShapeDtypeStruct((8, 8), jnp.float32))


# --- plans ---


def plan_of(**changes: Any) -> Plan:
    target = read_target("v5e:2x2")
    plan = Plan(
        Mesh((Axis("x", 4),)),
        Footprint(2**30, 2**30, 2**29, 2**31),
        lambda: Program("", ()),
        target.hardware,
        target=target,
        cycles=Cycles(3_000_000, 12, 2),
    )
    return dataclasses.replace(plan, **changes)


def text_of(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> str:
    from jaxnb.program import Ledger, Timeline
    from jaxnb.program.placement import estimate

    monkeypatch.setattr(Plan, "ledger", Ledger((), plan.mesh))
    monkeypatch.setattr(Plan, "hiding", ())
    monkeypatch.setattr(Plan, "timeline", Timeline(0.0, (), ()))
    monkeypatch.setattr(Plan, "estimate", lambda self, _=None: estimate.Estimate(find_hardware("tpu-v5e"), (), ()))
    return render_plan(plan)


def test_a_plan_says_what_fits_and_what_the_compiler_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of(plan_of(), monkeypatch)
    assert text.startswith("on x=4: 4 devices of v5e:2x2, by its own compiler\n")
    assert "TPU v5e has 16.9 GB, 13.2 GB free" in text and "(537 MB of them in place of inputs)" in text
    assert "cycles   3,000,000, at 1.5 GHz 2.0 ms: the compiler's own estimate of 12 instructions" in text
    assert "nothing of 2 fusions" in text and "what is sent is not in it" in text


def test_a_plan_says_by_how_much_it_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(footprint=Footprint(2**34, 0, 0, 2**34), cycles=Cycles(3, 1, endless=True))
    assert plan.fits is False
    text = text_of(plan, monkeypatch)
    assert "TOO MUCH by 17.4 GB: TPU v5e has 16.9 GB" in text and "at least 3, at 1.5 GHz" in text


def test_a_plan_of_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    one = read_target("h100")
    plan = plan_of(mesh=Mesh(()), target=one, hardware=one.hardware, cycles=None)
    assert text_of(plan, monkeypatch).startswith("on 1 device of h100, by its own compiler\nmemory ")


def test_a_plan_names_what_is_wasted_and_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    padding = (
        Padded("x", "float32[1000000,3]", 12_000_000, 512_000_000, True),
        Padded("jit(f)/jvp()/mul", "float32[7]", 28, 512, False),
    )
    text = text_of(plan_of(padding=padding), monkeypatch)
    assert "padding  x float32[1000000,3] takes 512 MB for 12.0 MB" in text and "mul" not in text
    one = Collective("all-reduce", 1, (0, 0), 3, (), ("x",), 4, 8, 12, 1, False, False, "")
    waited, beside = Hiding(one, 2e-3, 2e-3, False), Hiding(dataclasses.replace(one, line=4), 1e-3, 0.0, True)
    assert hiding_text([waited, beside]) == (
        "at least 2.0 ms of 3.0 ms of sending, beside which nothing runs: line 3 all-reduce over x (2.0 ms)"
    )
    assert hiding_text([beside]).startswith("for no collective, at best") and hiding_text([]) == ""
    assert hiding_text([waited] * 5).endswith(", and 2 more")


def test_a_plan_says_what_kernels_take(monkeypatch: pytest.MonkeyPatch) -> None:
    program = product("scale")
    text = text_of(plan_of(make_program=lambda: program), monkeypatch)
    assert (
        "kernel   scale, line 1: 393 KB of VMEM (2 windows of scale.w 262 KB, 2 of scale.y 65.5 KB, 2 of scale.x "
        "32.8 KB, scratch 32.8 KB); it may have 16.8 MB, and up to 134 MB by vmem_limit_bytes" in text
    )
    (kernel,) = program.kernels()
    wide = dataclasses.replace(kernel.windows[0], block=(4096, 1024), shape=(8192, 1024))
    room = read_kernel_room(dataclasses.replace(kernel, windows=(wide,), scratch=()), read_target("v4"))
    assert room is not None and not room.fits
    assert kernel_room_text(room) == (
        "scale, line 1: 33.6 MB of VMEM (2 windows of scale.x 33.6 MB), TOO MUCH by 16.8 MB; it may have 16.8 MB"
    )
    asked = dataclasses.replace(kernel, limit=2**40)
    assert read_kernel_room(asked, read_target("v6e")).limit == 128 * 2**20  # type: ignore[union-attr]
    assert read_kernel_room(kernel, read_target("h100")) is None  # it was written for TPUs
    plain = read_kernel_room(dataclasses.replace(kernel, backend=""), read_target("h100"))
    assert plain is not None and (plain.memory, plain.needed, plain.limit) == ("shared memory", 180224, 232448)


def test_the_examples_of_the_modules() -> None:
    assert (
        doctest.testmod(kernel_room).failed
        == doctest.testmod(refusals).failed
        == doctest.testmod(simulated).failed
        == 0
    )


@pytest.fixture(scope="module", autouse=True)
def nobody_compiled() -> Iterator[None]:
    """No test here starts a compiler, whether or not one is installed."""
    yield
    assert not has_worker("tpu") and not has_worker("cuda")
