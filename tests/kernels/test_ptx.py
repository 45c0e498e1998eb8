"""What is read of the kernels that XLA wrote for a GPU, and how they are chosen and shown; no compiler is needed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

import pytest

from jaxnb import views
from jaxnb.errors import JaxnbError
from jaxnb.program import Computation, Launch, Level, Op, Program, Ptx, Span, Value
from jaxnb.reading.worker.kernel_code import KernelCode, read_launches

SEQUENCE = """\
001: kCopy         [source       | next=003 (2)] kCopy
002: kWhile        [prev=001 (1) | next=007 (1)]
  body:
    003: kDynamicSliceFusion [source       | next=004 (2)] params=1, results=1
    004: kCustomKernel [] loop_add_fusion_1 grid: [8192, 2, 1] threads: [64, 1, 1]  shared_memory: 768 bytes
005: kConvolution  [prev=005 (1) | next=007 (1)] kConvolution
006: kAllReduceStart [source | sink] kAllReduceStart
007: kAllReduceDone [source | sink] kAllReduceDone
008: kCustomKernel [source | sink] kern grid: [1, 1, 1] threads: [1, 1, 1]  shared_memory: 0 bytes
009: kNorm [source | sink] kNorm
"""
OPS = {1: "copy.1", 2: "while", 3: "slice", 4: "loop_add_fusion.1", 5: "conv.1", 6: "all-reduce", 8: "pallas", 9: "n"}
METADATA = "".join(
    f'thunk_metadata {{\n  thunk_info {{\n    profile_annotation: "{op}"\n    thunk_id: {number}\n  }}\n}}\n'
    for number, op in OPS.items()
)
PTX = ".version 8.8\n.target sm_90a\n\n.visible .entry {}(\n\t.param .u64 p\n)\n{{\n\tret;\n}}\n\n"
FILES = {
    "module_0001.jit_f.thunk_sequence.txt": SEQUENCE,
    "module_0001.jit_f.thunk_metadata.txt": METADATA,
    "module_0001.jit_f.1.ptx": PTX.format("loop_add_fusion_1"),
    "module_0001.jit_f.3.ptx": PTX.format("kern"),
}


def test_launches_by_instruction() -> None:
    found = read_launches(FILES)
    assert [(one.op, one.kernel) for one in found] == [
        ("copy.1", ""),
        ("loop_add_fusion.1", "loop_add_fusion_1"),
        ("conv.1", ""),
        ("all-reduce", ""),
        ("pallas", "kern"),
        ("n", ""),
    ]
    assert found[1].grid == (8192, 2, 1) and found[1].threads == (64, 1, 1) and found[1].shared == 768
    assert ".entry loop_add_fusion_1" in found[1].ptx
    for one, said in zip((0, 2, 3, 5), ("driver", "cuDNN", "NCCL", "XLA runs it as Norm"), strict=True):
        assert said in found[one].why
    assert read_launches({}) == []


def test_the_program_is_compiled_once_for_all_kernels() -> None:
    asked: list[int] = []

    def dump() -> dict[str, str]:
        asked.append(1)
        return FILES

    code = KernelCode(dump)
    assert not asked
    assert code.launches() is code.launches() and asked == [1]


class Maker:
    def launches(self) -> Sequence[Launch]:
        return read_launches(FILES)

    def assembled(self, launch: Launch) -> Launch:
        return replace(launch, registers=214, spilled=(8, 12) if launch.op == "pallas" else (0, 0))


def op(name: str, at: int, line: int, *bodies: int) -> Op:
    return Op(name, (), (at,), span=Span(line), bodies=bodies)


def program() -> Program:
    names = ("copy.1", "loop_add_fusion.1", "conv.1", "all-reduce", "pallas", "n", "while", "bitcast", "add.3", "slice")
    main = (op("copy", 0, 1), op("while", 6, 2, 1), op("convolution", 2, 3), op("custom-call", 4, 5))
    hlo = Level(
        "hlo",
        tuple(map(Value, names)),
        (
            Computation("main", ops=(*main, op("bitcast", 7, 6))),
            Computation("body", ops=(op("fusion", 1, 2, 2),)),
            Computation("fused", ops=(op("add", 8, 4),)),
        ),
    )
    kernel = Computation("kernel", ops=(Op("exp", span=Span(9)),))
    jaxpr = Level("jaxpr", (), (Computation("main", ops=(Op("pallas_call", span=Span(5), bodies=(1,)),)), kernel))
    return Program("\n".join(f"a{n} = {n}" for n in range(1, 10)), (jaxpr, hlo)).with_ptx(Maker())


def test_kernels_of_instructions_and_of_lines() -> None:
    made = program()

    def ops(asked: str | int | None) -> list[str]:
        return [one.op for one in made.ptx(asked).items]

    assert ops("loop_add_fusion.1") == ops("loop_add_fusion_1") == ops("%loop_add_fusion.1") == ["loop_add_fusion.1"]
    assert ops("while") == ops("add.3") == ops(2) == ops(4) == ["loop_add_fusion.1"]
    assert ops(5) == ops(9) == ops("kern") == ["pallas"]
    assert made.ptx("bitcast")[0].why == "bitcast launches nothing: it only says where a value lies."
    assert len(made.ptx()) == 6 and made.ptx()[1].line == 2
    with pytest.raises(JaxnbError, match="no instruction 'loop_ad_fusion'") as one:
        made.ptx("loop_ad_fusion")
    assert "did you mean loop_add_fusion" in one.value.fix
    with pytest.raises(JaxnbError, match="line 6 has no kernels") as one:
        made.ptx(6)
    assert "nothing of it that is launched" in one.value.why and "lines 2, 5" in one.value.fix


def test_text_and_html() -> None:
    made = program()
    text = made.text("ptx", op="kern", width=200)
    assert text.startswith("pallas · line 5: a5 = 5\nkernel kern · 1 block of 1 thread · 214 registers a thread ·")
    assert "spills 8 bytes a thread and reads back 12" in text and text.endswith("    ret;\n}")
    table = made.text("ptx", width=200)
    assert "8,192 × 2" in table and "cuDNN computes the convolution" in table and "768 B" in table
    html = made.ptx("kern").html
    assert "<pre" in html and ".visible .entry kern" in html and "<table" in made.ptx().html
    many = Ptx(tuple(Launch(f"loop_fusion.{n}", f"loop_fusion_{n}", grid=(n + 1,), registers=16) for n in range(284)))
    lines = views.render_ptx(many, width=80).splitlines()
    assert max(map(len, lines)) <= 80 and "registers" in lines[0] and "blocks" in lines[0] and "kernel" not in lines[1]
    assert "… 220 more launches" in " ".join(lines) and "loop_fusion.283" in views.render_ptx(many, limit=None)
    assert "loop_fusion.63<" in many.html and "loop_fusion.64<" not in many.html and "… 220 more" in many.html
    long = Ptx((Launch("f", "f", "\n".join(f"add {n};" for n in range(1000)), grid=(1,), threads=(1,)),), "f")
    assert "… 800 more lines" in str(long) and len(views.render_ptx(long, limit=None).splitlines()) > 1000
    assert "no kernels" in str(Ptx(())) and "no kernels" in Ptx(()).html


def test_what_has_no_ptx_says_so() -> None:
    made = program()
    for other in (Program("x = 1"), pickle.loads(pickle.dumps(made))):
        with pytest.raises(JaxnbError, match="there is no PTX of this program") as one:
            other.ptx()
        assert "CPUs and TPUs have none" in one.value.why and "--target h100" in one.value.fix
    assert made.with_ptx(None) is made
