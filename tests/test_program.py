"""The laws of a `Program`: what `check_program` lets through and what it names."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest
from sample_levels import neuron
from sample_programs import PROGRAMS, loop

from jaxnb.program import Aval, Computation, Fate, Level, Link, Op, Program, Span, Value
from jaxnb.program.coverage import Coverage
from jaxnb.program.laws import check_program


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_samples_keep_the_laws(name):
    check_program(PROGRAMS[name]())


def with_level(level: Level, source: str = "x") -> Program:
    return Program(source, (level,))


def op(**fields) -> Op:
    return Op("neg", **fields)


VALUE = (Value("a"),)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (Program("x", (Level("a", entries=0), Level("a", entries=0))), "two levels have one name"),
        (with_level(Level("jaxpr")), "fewer computations than entry points"),
        (with_level(Level("jaxpr", VALUE, (Computation("m", inputs=(1,)),))), "value 1 is not there"),
        (with_level(Level("jaxpr", VALUE, (Computation("m", outputs=(-1,)),))), "value -1 is not there"),
        (with_level(Level("jaxpr", VALUE, (Computation("m", constants=(7,)),))), "value 7 is not there"),
        (with_level(Level("jaxpr", VALUE, (Computation("m", ops=(op(inputs=(3,)),)),))), "op 'neg': value 3"),
        (
            with_level(Level("jaxpr", VALUE, (Computation("m", ops=(op(outputs=(3,)),)),))),
            "op 'neg': value 3",
        ),
        (
            with_level(Level("jaxpr", (), (Computation("m", ops=(op(bodies=(1,)),)),))),
            "missing, shared or above",
        ),
        (
            with_level(Level("jaxpr", (), (Computation("m", ops=(op(bodies=(0,)),)),))),
            "missing, shared or above",
        ),
        (
            with_level(Level("jaxpr", (), (Computation("m", ops=(op(bodies=(1, 1)),)), Computation("b")))),
            "missing, shared or above",
        ),
        (with_level(Level("jaxpr", (), (Computation("m"), Computation("b")))), "that nothing owns"),
        (
            with_level(Level("jaxpr", (), (Computation("m", ops=(op(span=Span(2)),)),))),
            "line 2 is not in the source",
        ),
        (with_level(Level("jaxpr", (), (Computation("m", ops=(op(phase="later"),)),))), "phase 'later' is none of"),
        (
            with_level(Level("jaxpr", VALUE, (Computation("m", inputs=(0,), input_names=("x", "y")),))),
            "2 input names for 1 inputs",
        ),
        (
            with_level(Level("jaxpr", VALUE, (Computation("m", outputs=(0, 0), output_names=("x",)),))),
            "1 output names for 2 outputs",
        ),
    ],
)
def test_a_broken_law_is_named(program, message):
    with pytest.raises(ValueError, match=message):
        check_program(program)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (Link("source", (0, 0), "hlo", (0, 0)), "names a level that is not there"),
        (Link("jaxpr", (0, 0), "source", (0, 0)), "not neighbours"),
        (Link("source", (0, 99), "jaxpr", (0, 0)), "names an op that is not there"),
        (Link("source", (0, 0), "jaxpr", (-1, 0)), "names an op that is not there"),
    ],
)
def test_a_broken_link_is_named(link, message):
    with pytest.raises(ValueError, match=message):
        check_program(replace(loop(), links=(link,)))


def test_a_link_that_occurs_twice_is_named():
    link = neuron().links[0]
    with pytest.raises(ValueError, match="occurs twice"):
        check_program(replace(neuron(), links=(link, replace(link, exact=not link.exact))))


@pytest.mark.parametrize(
    ("fate", "message"),
    [
        (Fate((0, 0), "lost"), "none of folded, fused, removed"),
        (Fate((0, 99), "removed"), "names an op that is not there"),
        (Fate((0, 0), "fused", (7, 0)), "names an op that is not there"),
        (Fate((0, 0), "fused"), "and nothing else, is fused into something"),
        (Fate((0, 0), "folded", (0, 0)), "and nothing else, is fused into something"),
    ],
)
def test_a_fate_that_cannot_be_is_named(fate, message):
    check_program(neuron())
    with pytest.raises(ValueError, match=message):
        check_program(replace(neuron(), fates=(fate,)))


def test_coverage_of_what_is_there():
    program = neuron()
    assert program.coverage() == Coverage(1.0, 1.0, 1.0, None)
    assert str(program.coverage()) == "eqn→line 100 %, stablehlo→eqn 100 %, hlo→eqn 100 %, time→eqn –"
    without = replace(program, links=tuple(link for link in program.links if link.lower != "hlo"))
    assert without.coverage().hlo_eqn == 0.0
    assert loop().coverage().stablehlo_eqn is None


def test_links_lead_down_and_back():
    program = neuron()
    assert program.linked("source", (0, 0), "hlo") == {(0, 0): True, (0, 1): False, (1, 0): True, (1, 1): True}
    assert program.linked("hlo", (0, 1), "jaxpr") == {(0, 3): False}
    assert program.linked("hlo", (1, 0), "source") == {(0, 0): True}
    assert program.linked("jaxpr", (0, 1), "hlo") == {}
    assert program.linked("jaxpr", (0, 1), "jaxpr") == {(0, 1): True}
    with pytest.raises(KeyError, match="no level 'ptx'"):
        program.linked("jaxpr", (0, 1), "ptx")


def test_a_copy_has_the_levels_that_were_made():
    whole = neuron()
    program = Program(whole.source, whole.levels[:2], _maker=Counting())
    for copied in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert copied == program and copied.level_names == ("source", "jaxpr")


class Counting:
    """Makes the levels of `neuron`, and counts how often."""

    names = ("stablehlo", "hlo")

    def __init__(self):
        self.asked = []

    def make(self, name, above):
        whole = neuron()
        assert above.levels[-1].name == {"stablehlo": "jaxpr", "hlo": "stablehlo"}[name]
        self.asked.append(name)
        fates = whole.fates if name == "hlo" else ()
        return whole.level(name), tuple(link for link in whole.links if link.lower == name), fates


def test_a_level_is_made_when_first_asked_for_and_then_kept():
    whole, maker = neuron(), Counting()
    upper = tuple(link for link in whole.links if link.lower == "jaxpr")
    program = Program(whole.source, whole.levels[:2], upper, _maker=maker)
    assert program.level_names == ("source", "jaxpr", "stablehlo", "hlo")
    program.level("jaxpr")
    assert maker.asked == [] and program != whole
    assert [op.name for op in program.ops("hlo")] == [op.name for op in whole.ops("hlo")]
    assert maker.asked == ["stablehlo", "hlo"]
    program.coverage()
    program.level("stablehlo")
    assert maker.asked == ["stablehlo", "hlo"]
    assert program == whole
    check_program(program)


def test_a_span_in_another_file_may_have_any_line():
    check_program(with_level(Level("jaxpr", (), (Computation("m", ops=(op(span=Span(99, file="h.py")),)),))))


def test_a_level_that_is_not_there():
    with pytest.raises(KeyError, match="no level 'hlo' in this program; made so far: source, jaxpr"):
        loop().level("hlo")
    with pytest.raises(KeyError, match="made so far: none"):
        Program("x").level("jaxpr")


def test_avals():
    assert str(Aval("float32", (64, "n"), weak_type=True)) == "~float32[64,n]"
    assert Aval("float32", (3, 4), itemsize=4).nbytes == 48
    assert Aval("float32", (3, "n"), itemsize=4).nbytes is None
    assert Aval("key<fry>", (3,)).nbytes is None
    assert Aval("float32", (0, 4), itemsize=4).nbytes == 0


def test_str_draws_the_program():
    assert "scan" in str(loop())
