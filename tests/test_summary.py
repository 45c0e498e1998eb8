"""What a row of the report's table says of a cell, from the line, the program, the errors and the times it left."""

from __future__ import annotations

import doctest

import jax.numpy as jnp
import pytest
from nbformat import v4
from sample_programs import mlp

import jaxnb.shell.reports.summary
from jaxnb.program import Finding, Program
from jaxnb.program.codec import MIME_TYPE, encode
from jaxnb.program.status import Part, Status
from jaxnb.shell.reports.notebook import is_staged
from jaxnb.shell.reports.summary import Summary, read_line, read_status, read_summary
from jaxnb.staging.session.run import Retrace, Run, Timings
from jaxnb.views import render_html

LINE = "staged · 5 inputs → 3 names · 23 eqns · trace 9 ms, compile 61 ms, run 0.8 ms"


def cell(source, *outputs, ran=1, tags=(), **metadata):
    node = v4.new_code_cell(source, outputs=list(outputs), execution_count=ran)
    node.metadata.update(metadata, tags=list(tags))
    return node


def shown(line, *findings, **damage):
    program = {**encode(mlp()), "findings": [{"kind": kind, "message": text} for kind, text in findings], **damage}
    return v4.new_output("display_data", {MIME_TYPE: program, "text/html": "<b>", "text/plain": f"{line}\n\nmore"})


def noticed(line, *findings):
    program = encode(Program("", findings=tuple(Finding(kind, text) for kind, text in findings)))
    return v4.new_output("display_data", {MIME_TYPE: program, "text/html": "<b>", "text/plain": line})


def times(begin, end):
    return {"iopub.execute_input": begin, "shell.execute_reply": end}


ERROR = v4.new_output("error", ename="ValueError", evalue="no\nmore", traceback=["..."])
DIED = v4.new_output("error", ename="KernelDied", evalue="it died.", traceback=[])


@pytest.mark.parametrize(
    ("node", "read"),
    [
        (
            cell("a", execution=times("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.500Z")),
            Summary("plain", run="1.5 s"),
        ),
        (cell("a"), Summary("plain")),
        (cell("a", execution={"iopub.execute_input": 3}), Summary("plain")),
        (cell("a", execution=times("soon", "late")), Summary("plain")),
        (cell("a", execution=times("2026-01-01T00:00:00", "2026-01-01T00:00:01Z")), Summary("plain")),
        (cell("a", execution=[3]), Summary("plain")),
        (cell("a", noticed("1 leak", ("leak", "left behind"))), Summary("plain", findings=("left behind",))),
        (
            cell("%%jit\na", shown(LINE), noticed("1 leak", ("leak", "left behind"))),
            Summary("staged whole", "70 ms", "0.8 ms", findings=("left behind",)),
        ),
        (cell("%%jit\na"), Summary("staged, line not shown")),
        (
            cell("%%jaxpr --lower tpu, cuda\na", execution=times("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")),
            Summary("lowered for tpu, cuda"),
        ),
        (cell("%%jaxpr\na"), Summary("traced only")),
        (cell("# jaxnb: jit --static n\na"), Summary("staged, line not shown")),
        (cell("%%jit\na", shown(LINE)), Summary("staged whole", "70 ms", "0.8 ms")),
        (
            cell("%%jit\na", shown(LINE, ("retrace", "retraced: y"), ("static", "static: `a`"), ("x64", "b"))),
            Summary("staged whole", "70 ms", "0.8 ms", findings=("b",)),
        ),
        (
            cell("%%jit\na", shown(f"{LINE} · static: a", levels=3)),
            Summary("staged whole", "70 ms", "0.8 ms", findings=("static: a",)),
        ),
        (cell("%%timeit\na", shown(f"{LINE} · reused 9 more times")), Summary("staged whole", "70 ms", "0.8 ms")),
        (cell("%jaxpr x\n%jaxpr y", *[shown("traced only · 1 eqn")] * 2), Summary("traced only (and 1 more)")),
        (cell("%%jit\na", ERROR), Summary("failed", findings=("ValueError: no",), failed=True)),
        (cell("a", ERROR, tags=["raises-exception"]), Summary("failed as meant", findings=("ValueError: no",))),
        (
            cell("a", DIED, ran=None, tags=["raises-exception"]),
            Summary("failed", findings=("KernelDied: it died.",), failed=True),
        ),
        (cell("a", ran=None), Summary("not run")),
        (cell(" \n"), Summary("empty")),
    ],
)
def test_what_became_of_a_cell(node, read):
    assert read_summary(node) == read


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (Run(pieces=1, timings=Timings(0.009, 0.01, 0.051, 0.0008)), Summary("staged whole", "70 ms", "0.8 ms")),
        (Run(pieces=1, timings=Timings(0.009, 0.01, 1.2)), Summary("staged whole", "1.2 s")),
        (Run(pieces=3, timings=Timings(50e-6, 0, 70e-6)), Summary("3 pieces", "0.1 ms")),
        (Run(pieces=1, reused=True, timings=Timings(run=1.5)), Summary("reused", "", "1.5 s")),
        (Run(pieces=2, reused=True), Summary("reused · 2 pieces")),
        (
            Run(pieces=1, transferred=7, donated=1_500_000, retrace=Retrace(("a · b", "c")), timings=Timings(1, 1, 1)),
            Summary("retraced: a · b (and 1 more)", "3.0 s"),
        ),
        (
            Run(pieces=1, reused=True, findings=(Finding("static", "static: a"), Finding("x64", "64 · bits"))),
            Summary("reused", findings=("64 · bits",)),
        ),
        (
            Run(pieces=1, retrace=Retrace(("r",)), findings=(Finding("not-reusable", "not reusable: line 3"),)),
            Summary("traced again", "0 us", findings=("not reusable: line 3",)),
        ),
        (Run(note="nothing compiled: the cell only defines", note_kind="defined"), Summary("nothing compiled")),
        (Run(note="ran plainly: JAX_DISABLE_JIT is set"), Summary("plain")),
        (Run(note="something new · 3", note_kind="planned"), Summary("something new · 3")),
    ],
)
def test_the_line_is_read_as_a_run_writes_it(made, read):
    assert read_status(made.status) == read


def test_memory_where_the_line_knows_it():
    line = LINE.replace(" · trace", " · peak 1.5 MB · trace")
    assert read_line(line) == Summary("staged whole", "70 ms", "0.8 ms", "1.5 MB")


@pytest.mark.parametrize(
    "line",
    ["x" * 10_000, "staged · 1 input → 1 name", LINE.replace("61", "1.2.3"), " · " * 5_000, "", LINE + " · " * 999],
)
def test_a_forged_line_is_only_text(line):
    summary = read_line(line)
    assert len(summary.outcome) <= 160 and all(len(text) <= 160 for text in summary.findings)


def test_what_is_partly_on_the_host_is_not_staged_whole() -> None:
    happened = (Part("staged", "staged"), Part("host", "partly on the host: line 2, print needs values"))
    assert read_status(Status(happened)).outcome == "staged · partly on the host"


def test_tables_and_diagrams_are_no_staged_cells() -> None:
    ran = jaxnb.stage("y = x + 1", {"x": jnp.ones(3)})
    table = '<div class="jnb"><p>1 cell</p><table></table></div>'
    for html, staged in ((str(render_html(ran.program, line=ran.status)), True), (table, False)):
        assert is_staged({"data": {"text/html": html, "text/plain": "text"}}) == staged


@pytest.mark.parametrize(
    ("times", "staging"),
    [
        ("trace 9 ms, compile 61 ms (cache hit), run 0.8 ms", "70 ms"),
        ("trace 9 ms, compile 61 ms for b=8, c=2, run 0.8 ms", "70 ms"),
        ("compile 61 ms for b=8, run 0.8 ms", "61 ms"),
        ("run 0.8 ms", ""),
    ],
)
def test_times_of_programs_for_all_sizes_and_of_the_cache_are_read(times: str, staging: str) -> None:
    told = read_line(f"staged · 1 input → 1 name · 7 eqns · {times}")
    assert (told.staging, told.run) == (staging, "0.8 ms")
