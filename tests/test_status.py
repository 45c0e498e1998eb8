"""The line under a cell: its three places, how it is cut where there is no room, and how it is kept."""

from __future__ import annotations

import doctest
import json
import sys
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

import jaxnb
import jaxnb.program.status
import jaxnb.views.line
from jaxnb.errors import JaxnbError
from jaxnb.program import Finding, Program
from jaxnb.program.codec import decode, encode
from jaxnb.program.status import SIGNS, TONES, Part, Status, decode_status, encode_status
from jaxnb.shell.show import bundle, terminal_of
from jaxnb.staging.session.run import Retrace, Run, Timings
from jaxnb.views.line import line_element

VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
)
PARTS = st.lists(st.builds(Part, st.sampled_from([*SIGNS, "peak", "eqns"]), st.text(max_size=60)), max_size=5)
LINES = st.builds(Status, PARTS.map(tuple), PARTS.map(tuple), PARTS.map(tuple))
FULL = Status(
    (Part("retraced", "retraced: x 1347→256"), Part("host", "partly on the host: line 3, np.load")),
    (Part("time", "trace 9 ms, compile 61 ms, run 0.8 ms"), Part("peak", "peak 1.6 MB"), Part("eqns", "20 eqns")),
    (Part("finding", "1 finding: `key` was used on line 2 already, line 4"),),
)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (Run(pieces=1, reused=True), "✓ reused · dispatched · 0 inputs → 0 names · 0 eqns"),
        (Run(pieces=1, timings=Timings(1, 1, 1, 1)), "● staged · trace 1.0 s, compile 2.0 s, run 1.0 s · "),
        (Run(pieces=1, retrace=Retrace(("x 1347→256", "y"))), "↻ retraced: x 1347→256 (and 1 more) · "),
        (
            Run(pieces=2, reused=True, on_host=((3, "np.load"), (4, "print"))),
            "✓ reused · ◐ partly on the host: line 3, np.load (and 1 line more) · 2 pieces · dispatched",
        ),
        (Run(pieces=1, loops=(14, 1)), "● staged · ⟲ loop of 14 turns · ⟲ loop of 1 turn · trace"),
        (Run(note="nothing compiled: why", on_host=((1, "print"),)), "○ nothing compiled: line 1, print"),
        (
            Run(pieces=1, findings=(Finding("static", "b1 (closure of optimizer.tx[1])", folded=True),)),
            "● staged · trace",
        ),
    ],
)
def test_what_happened_comes_first_and_then_what_it_cost(run: Run, said: str) -> None:
    assert run.line.startswith(said) and "static" not in run.line


def test_what_needs_the_user_comes_last() -> None:
    findings = (
        Finding("x64", "`a` is float64 and becomes float32 in staged statements"),
        Finding("not-reusable", "not reusable: line 3, it has an effect"),
        Finding("key", "`key` was used on line 2 already: what is drawn is not independent.", 4, folded=True),
        Finding("dtype", "more", folded=True),
    )
    assert Run(pieces=1, findings=findings).line.endswith(
        " · ! not reusable: line 3, it has an effect · ! `a` is float64 and becomes float32 in staged statements"
        " · ! `key` was used on line 2 already, line 4 · ! 1 finding: more"
    )


def test_no_two_kinds_of_outcome_look_alike_without_colours() -> None:
    assert len({SIGNS[kind] for kind in ("reused", "staged", "retraced", "host", "nothing", "planned", "finding")}) == 7
    assert TONES["nothing"] != TONES["staged"] and set(TONES) <= set(SIGNS)


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (200, str(FULL)),
        (130, "↻ retraced: x 1347→256 · ◐ partly on the host: line 3, np.load · … · ! 1 finding: "),
        (60, "↻ retraced: x 1347→256 · ! 1 finding: `key` was used on lin…"),
        (40, "↻ retraced: x 13… · ! 1 finding: `key` …"),
        (20, "↻ retr… · ! 1 findi…"),
    ],
)
def test_of_the_cost_the_last_goes_first(width: int, said: str) -> None:
    text = FULL.text(width)
    assert len(text) <= width and text.startswith(said)


@given(LINES, st.integers(20, 200))
def test_it_is_one_line_and_no_longer_than_the_terminal(status: Status, width: int) -> None:
    text = status.text(width)
    assert len(text) <= width and len(text.splitlines()) <= 1
    assert len(status.text(width, colours=True).splitlines()) <= 1


@given(LINES)
def test_it_is_kept_with_the_program(status: Status) -> None:
    data = json.loads(json.dumps({**encode(Program("x = 1")), "status": encode_status(status)}))
    VALIDATOR.validate(data)
    assert str(decode_status(data["status"])) == str(status) and decode(data) == Program("x = 1")


@pytest.mark.parametrize("data", [None, 3, {}, {"happened": [], "cost": []}, {"happened": 3, "cost": [], "needs": []}])
def test_a_damaged_one_is_said_to_be(data: Any) -> None:
    with pytest.raises(JaxnbError, match="damaged"):
        decode_status(data)


@given(LINES)
def test_the_html_says_what_the_text_says(status: Status) -> None:
    reader = _Reader()
    reader.feed(line_element(status))
    said = "".join(reader.words)
    assert [said, reader.title] == [_shown(str(status))] * 2


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.title = ""

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.title = dict(attrs).get("title") or self.title


def _shown(text: str) -> str:
    from jaxnb.views.escape import escape

    reader = _Reader()
    reader.feed(escape(text))
    return "".join(reader.words)


def test_a_saved_output_holds_it() -> None:
    import jax.numpy as jnp

    run = jaxnb.stage("y = x + 1", {"x": jnp.ones(3)})
    data = bundle(run, rich=True)
    (program,) = (value for mime, value in data.items() if mime.endswith("+json"))
    assert decode_status(program["status"]) == run.status and str(line_element(run.status)) in data["text/html"]
    again = jaxnb.stage("y = x + 1", {"x": jnp.ones(3)})
    assert data["text/plain"] == run.line and again.line != run.line


def test_colours_are_those_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        colors = "Linux"

    assert terminal_of(Shell()) == {}
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal_of(Shell()) == {"width": 59, "colours": True}
    Shell.colors = "NoColor"
    assert terminal_of(Shell()) == {"width": 59, "colours": False}
    coloured = bundle(Run(pieces=1), rich=False, width=59, colours=True)["text/plain"]
    assert coloured.startswith("\x1b[32m● staged\x1b[0m · ")
