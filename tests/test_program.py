"""The laws of a `Program`: what `check_program` lets through and what it names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_programs import PROGRAMS, loop

from jaxnb.program import Aval, Computation, Level, Link, Op, Program, Span, Value, check_program


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
