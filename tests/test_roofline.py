"""What a timed program does of what its device can: with times and peaks put in, and the measurement itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import pytest
from shells import Shell, shell

import jaxnb
from jaxnb.program import (
    Aval,
    Call,
    Computation,
    Level,
    Link,
    Op,
    Peaks,
    Program,
    Roof,
    Span,
    Timing,
    Value,
    decode,
    encode,
    read_roofline,
    read_tree,
    roof_of,
)
from jaxnb.staging import known_peaks, measure_peaks, peaks_file
from jaxnb.staging.levels import peaks as module
from jaxnb.views import encode_drawn, render_costs

VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
)
PEAKS = Peaks("made up", (("float32", 1000.0), ("bfloat16", 4000.0)), 100.0)
F32 = Value("a", Aval("float32", (4,), itemsize=4))
BF16 = Value("b", Aval("bfloat16", (4,), itemsize=2))


def of_instructions(*ops: Op, peaks: Peaks | None = PEAKS) -> Program:
    """One equation above each instruction."""
    lower = Level("hlo", (F32, BF16), (Computation("main", ops=ops),))
    upper = Level("jaxpr", (F32, BF16), (Computation("main", ops=tuple(replace(op, bytes=1) for op in ops)),))
    links = tuple(Link("jaxpr", (0, n), "hlo", (0, n)) for n in range(len(ops)))
    return Program("a\nb\nc", (upper, lower), links, timing=Timing(1.0, runs=3, peaks=peaks))


def instruction(line: int, flops: int | None, moved: int | None, seconds: float | None, **more: Any) -> Op:
    known: dict[str, Any] = {"outputs": (0,), "flops": flops, "bytes": moved, "transcendentals": 0, "seconds": seconds}
    return Op("dot", span=Span(line), **{**known, **more})


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (instruction(1, 100, 20, 0.4), Roof(0.5, "memory")),  # 0.2 s for the bytes, 0.1 s for the flops
        (instruction(1, 100, 2, 0.4), Roof(0.25, "flops")),
        (instruction(1, 0, 20, 0.4), Roof(0.5, "memory")),
        (instruction(1, 400, 2, 0.4, outputs=(1,)), Roof(0.25, "flops")),  # at the peak of its dtype
        (instruction(1, 400, 2, 0.4, outputs=(1,), inputs=(0,)), Roof(1.0, "flops")),  # of what is multiplied
        (instruction(1, 100, 20, 0.1), Roof(2.0, "memory")),  # what lies in a cache
        (instruction(1, None, 20, 0.4), None),
        (instruction(1, 100, None, 0.4), None),
        (instruction(1, 100, 20, None), None),
        (instruction(1, 100, 20, 0.0), None),
        (instruction(1, 100, 20, 0.4, times=None), None),  # of a loop that is counted once
    ],
)
@pytest.mark.parametrize("level", ["jaxpr", "hlo"])
def test_achieved_over_attainable(op: Op, expected: Roof | None, level: str) -> None:
    program = of_instructions(op, instruction(2, 1, 1, 0.3))
    roofs = read_roofline(program, program.level(level))
    assert roofs is not None
    found = roofs.of([(0, 0)])
    assert (found and found.bound) == (expected and expected.bound)
    if found is not None and expected is not None:
        assert found.share == pytest.approx(expected.share)
        flops, moved, seconds = op.flops or 0, op.bytes or 0, op.seconds or 1
        rate = PEAKS.rate("float32" if op.outputs == (0,) or op.inputs else "bfloat16")
        if flops:  # as it is written in books
            assert found.share == pytest.approx(flops / seconds / min(rate, flops / moved * PEAKS.bandwidth))


def test_several_ops_are_as_far_below_their_roofs_as_their_times_say() -> None:
    program = of_instructions(instruction(1, 100, 20, 0.4), instruction(1, 100, 2, 0.4), instruction(2, None, 1, 0.1))
    roofs = read_roofline(program, program.level("hlo"))
    assert roofs is not None
    assert roofs.of([(0, 0), (0, 1)]) == Roof(pytest.approx(0.375), "memory")
    assert roofs.of([(0, 0), (0, 2)]) is None
    assert str(Roof(0.81, "memory")) == "81 % of what this device can, bound by memory"


def test_the_table_has_a_column_once_there_are_peaks() -> None:
    ops = instruction(1, 100, 20, 0.4), instruction(2, 100, 2, 0.4), instruction(3, None, 1, 0.1)
    text = render_costs(of_instructions(*ops[:2]), width=100)
    assert "roof" in text.split("\n")[1]
    assert "50 % mem" in text and "25 % flop" in text
    assert "roof: 38 % of what this device can, bound by memory (made up: 1.0 KF/s float32, 4.0 KF/s" in text
    unknown = render_costs(of_instructions(*ops), width=100)
    assert "50 % mem" in unknown and "not known of all ops" in unknown
    assert "roof" not in render_costs(of_instructions(*ops, peaks=None), width=100)
    untimed = of_instructions(*(replace(op, seconds=None) for op in ops))
    assert "roof" not in render_costs(untimed, width=100)
    assert "roof" not in render_costs(of_instructions(*ops[:2]), width=40).split("\n")[1]  # where there is no room


def called() -> Program:
    """Lines that call functions, in which one call's roof is not known."""
    dear, cheap, dark = (Call(name, span=Span(line)) for name, line in (("dear", 1), ("cheap", 1), ("dark", 2)))
    program = of_instructions(
        instruction(1, 100, 20, 0.4, call=dear),
        instruction(1, 100, 2, 0.4, call=cheap),
        instruction(2, None, 1, 0.1, call=dark),
        instruction(2, 0, 0, 0.1),
        instruction(3, 400, 2, 0.0),
    )
    return program


@pytest.mark.parametrize("level", ["jaxpr", "hlo"])
def test_sums_of_a_call_tree_have_the_roofs_of_their_ops(level: str) -> None:
    program = called()
    shown = program.level(level)
    roofs = read_roofline(program, shown)
    assert roofs is not None
    tree = read_tree(shown, roofs.costs())
    for node in tree.walk():
        places = [place for inner in node.walk() for place in inner.ops]
        expected, found = roofs.of(places), roof_of(node.total)
        assert (found and found.bound) == (expected and expected.bound)
        assert (found and found.share) == pytest.approx(expected and expected.share)
    text = render_costs(program, width=110, depth=2, level=level)
    assert "50 % mem" in text and "25 % flop" in text and "38 % mem" in text


def test_a_viewer_has_the_roofs_by_op_and_by_call() -> None:
    data = encode_drawn(called())
    VALIDATOR.validate(data)
    assert [(one["level"], one["column"]) for one in data["derived"]] == [("jaxpr", "roof"), ("hlo", "roof")]
    assert data["derived"][1]["of"] == [0.5, 0.25, -1, 0, 0]
    assert data["derived"][1]["by_memory"] == [0]
    tree = data["trees"][0]
    shares = tree["total"][tree["measures"].index("roof")]
    named = {tree["texts"][name]: share for name, share in zip(tree["name"], shares, strict=True)}
    assert (named["dear"], named["cheap"], named["dark"]) == (0.5, 0.25, -1)
    assert shares[tree["line"].index(1)] == 0.375
    without = encode_drawn(of_instructions(instruction(1, 100, 20, 0.4), peaks=None))
    assert "derived" not in without


def test_peaks_are_saved_with_the_program() -> None:
    program = of_instructions(instruction(1, 100, 20, 0.4))
    data = json.loads(json.dumps(encode(program)))
    assert decode(data) == program
    data["timing"]["peaks"]["bandwidth"] = 0
    with pytest.raises(jaxnb.JaxnbError):
        decode(data)


# --- on this machine -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("JAXNB_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, "_known", {})
    monkeypatch.setattr(module, "_SECONDS", 0.05)
    monkeypatch.setattr(module, "_ELEMENTS", 1 << 20)
    monkeypatch.setattr(module, "_LONG", 0.002)
    yield tmp_path


def test_what_was_measured_is_kept_and_saved(folder: Path) -> None:
    device = jax.devices()[0]
    assert known_peaks(device) is None
    module._known.clear()
    first, second = measure_peaks(device), measure_peaks(device)
    assert dict(first.products).keys() >= {"float32", "bfloat16"}
    for a, b in zip(
        (*dict(first.products).values(), first.bandwidth), (*dict(second.products).values(), second.bandwidth)
    ):
        assert 0 < a < 10 * b < 100 * a  # other work on the machine slows either
    assert known_peaks(device) == second
    module._known.clear()
    assert known_peaks(device) == second
    assert peaks_file() == folder / "peaks.json"
    assert all(jax.__version__ in key for key in json.loads(peaks_file().read_text()))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"KEY": 3}', '{"KEY": {"products": {}, "bandwidth": 1}}'])
def test_what_cannot_be_read_was_never_measured(folder: Path, text: str) -> None:
    device = jax.devices()[0]
    peaks_file().write_text(text.replace("KEY", module._key(device)))
    assert known_peaks(device) is None


def test_a_timed_cell_tells_its_roofs(folder: Path) -> None:
    names = {"jnp": jnp, "x": jnp.ones((512, 512)), "layer": lambda x: jnp.tanh(x @ x)}
    cell = "y = layer(x)\nz = y @ y + 1"
    assert "roof" not in str(jaxnb.stage(cell, names, time=True).costs())
    module._known[module._key(jax.devices()[0])] = peaks = Peaks("cpu", (("float32", 1e12),), 1e11)
    run = jaxnb.stage(cell, names, time=True)
    assert run.program.timing is not None and run.program.timing.peaks == peaks
    assert "of what this device can, bound by" in " ".join(run.costs(depth=3).split())
    roofs = read_roofline(run.program, run.program.level("jaxpr"))
    assert roofs is not None
    whole = roofs.of([place for node in read_tree(run.program.level("jaxpr")).walk() for place in node.ops])
    assert whole is not None and whole.share > 0
    for level in ("jaxpr", "hlo"):  # at which a fusion has the times of all in it
        (line,) = [line for line in run.costs(level).split("\n") if line.endswith("z = y @ y + 1")]
        assert " flop " in line or " mem " in line
    again = decode(json.loads(json.dumps(encode(run.program))))
    assert again.costs(depth=3) == run.costs(depth=3)


def test_the_magic_measures_and_says_so(shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxnb.staging.levels.peaks._products", lambda dtype: 2e12 if dtype == "float32" else 4e12)
    monkeypatch.setattr("jaxnb.staging.levels.peaks._bandwidth", lambda device: 3e10)
    assert "measured" not in shell.run("%jaxnb devices")
    text = shell.run("%jaxnb devices --measure")
    assert "products of float32" in text and "2.0 Tflops/s" in text and "30.0 GB/s" in text
    assert "takes '--mesure'" not in text and "--measure" in shell.run("%jaxnb devices --mesure", ok=False)
