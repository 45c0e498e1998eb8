"""The kernel's side of the inspector: the script in HTML, questions and answers, the widget."""

from __future__ import annotations

import base64
import doctest
import hashlib
import json
import re
import zlib

import jax
import pytest
from sample_levels import neuron
from sample_programs import PROGRAMS

import jaxnb
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Fix, Level, Program
from jaxnb.program.codec import MIME_TYPE, decode
from jaxnb.program.placement.layout import Layout
from jaxnb.shell import inspector_comm, show
from jaxnb.shell.inspector_comm import TARGET, Inspectors, answer
from jaxnb.shell.reports.notebook import is_offer
from jaxnb.shell.show import bundle, fix_of
from jaxnb.staging.session.run import Later, Run
from jaxnb.staging.session.session import Session
from jaxnb.views import interactive
from jaxnb.views.interactive import has_script, render_interactive, script_hashes, scripts_for

built = pytest.mark.skipif(not has_script(), reason="the front end is not built: make extension")


def data_of(html: str) -> dict:
    packed = re.search('<script type="application/vnd.jaxnb.program">([A-Za-z0-9+/=]*)</script>', html)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


# --- HTML with the script ---


@built
@pytest.mark.parametrize("name", ["mlp", "loop", "hostile"])
def test_the_data_is_the_program(name):
    program = PROGRAMS[name]()
    found = data_of(render_interactive(program, line="a < b", script=False))
    assert found["line"] == "a < b"
    assert decode(found["program"]) == program


@built
def test_the_previous_run_and_chosen_levels_are_in_the_data():
    found = data_of(render_interactive(neuron(), line="", levels=("source", "jaxpr"), previous=PROGRAMS["mlp"]()))
    assert [level["name"] for level in found["program"]["levels"]] == ["source", "jaxpr"]
    assert decode(found["previous"]).source == PROGRAMS["mlp"]().source


@built
def test_nothing_of_a_program_can_end_a_script():
    html = render_interactive(PROGRAMS["hostile"](), line="</script><script>alert(1)</script>")
    assert len(re.findall("<script", html)) == 2
    assert len(re.findall("</script", html)) == 2


@built
def test_the_static_view_is_in_it():
    html = render_interactive(neuron(), line="the line", script=False)
    assert "<summary>the line</summary>" in html
    assert html.startswith('<div class="jnb" data-jaxnb="') and html.endswith("</script></div>")


@built
def test_the_hash_lets_the_script_run():
    view = render_interactive(neuron(), line="", script=False)
    for views, count in (([], 0), ([view, "<p>another</p>"], 1), ([view.replace('">', '" data-diagrams="">', 1)], 2)):
        texts = re.findall("(?s)<script>(.*?)</script>", scripts_for(views))
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        assert len(texts) == count
        assert script_hashes(views) == [f"sha256-{base64.b64encode(digest).decode()}" for digest in digests]


def test_without_the_build_it_says_what_to_do(monkeypatch, tmp_path):
    interactive._script.cache_clear()
    monkeypatch.setattr(interactive, "files", lambda _: tmp_path)
    with pytest.raises(JaxnbError, match="make extension"):
        render_interactive(neuron(), line="")
    assert not has_script()
    interactive._script.cache_clear()


# --- questions ---


class Maker:
    """Makes one level."""

    names = ("jaxpr",)

    def make(self, name, above):
        return Level(name), (), ()

    def memory(self, program, made=False):
        return ()

    def assigned(self):
        return ()

    def meshes(self):
        return ()

    def layout(self):
        return Layout()

    def vmapped(self):
        return ()


def test_a_level_is_made_when_it_is_asked_for():
    program = Program("x", (Level("source", entries=0),), _maker=Maker())
    assert [
        level["name"] for level in answer({"want": "level", "level": "jaxpr"}, program, {})["program"]["levels"]
    ] == ["source", "jaxpr"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"want": "level", "level": "hlo"}, "there is no level 'hlo'"),
        ({"want": "level"}, "there is no level 'None'"),
        ({"want": "value", "name": "missing"}, "missing is not bound now"),
        ({"want": "value", "name": "__import__('os')"}, "is not bound now"),
        ({"want": "all"}, "does not know the question 'all'"),
        ({}, "does not know the question None"),
    ],
)
def test_what_cannot_be_answered_is_said(question, said):
    assert said in answer(question, Program("x"), {})["error"]


def test_what_a_value_raises_is_said():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no repr for you")

    found = answer({"want": "value", "name": "x"}, Program("x"), {"x": Broken()})
    assert "no repr for you" in found.get("error", "") or "html" in found


class Comms:
    def __init__(self):
        self.targets = {}

    def register_target(self, name, call):
        self.targets[name] = call

    def unregister_target(self, name, call):
        assert self.targets.pop(name) == call


class Shell:
    def __init__(self):
        self.kernel = type("Kernel", (), {"comm_manager": Comms()})()
        self.user_ns = {"x": 3}

    def ask(self, question):
        sent = []
        comm = type("Comm", (), {"send": staticmethod(sent.append)})()
        self.kernel.comm_manager.targets[TARGET](comm, {"content": {"data": question}})
        (said,) = sent
        return said


def test_the_last_programs_are_known_and_no_others():
    shell = Shell()
    inspectors = Inspectors(shell, most=2)
    inspectors.enter()
    ids = [inspectors.metadata(Run(pieces=1, later=Later(neuron)))[MIME_TYPE]["program"] for _ in range(3)]
    question = {"want": "level", "level": "jaxpr"}
    assert "run the cell again" in shell.ask({**question, "program": ids[0]})["error"]
    assert decode(shell.ask({**question, "program": ids[2]})["program"]) == neuron()
    inspectors.leave()
    assert shell.kernel.comm_manager.targets == {}


def test_one_program_has_one_id():
    """Of a cell that is run again and again the program is not even read."""
    inspectors = Inspectors(Shell())
    namespace = {"x": jax.numpy.ones(3)}
    first, again = (jaxnb.stage("y = x + 1.0", namespace) for _ in range(2))
    other = jaxnb.stage("z = x + 2.0", namespace)
    assert inspectors.metadata(first) == inspectors.metadata(again) != inspectors.metadata(other)
    assert inspectors.metadata(first)[MIME_TYPE]["levels"] == ["jaxpr", "stablehlo", "hlo"]
    assert not any("program" in vars(run.later) for run in (first, again, other))


@built
def test_an_output_that_draws_itself_knows_the_run_before():
    namespace = {"jnp": jax.numpy, "x": jax.numpy.ones(4)}
    inspectors = Inspectors(Shell())
    session = new_session()  # in that of the tests before, programs of the same text may have been found
    first, again = (session.stage("y = jnp.sin(x)", namespace, StageOptions()) for _ in range(2))
    other = session.stage("y = jnp.cos(x)", namespace, StageOptions())
    assert [inspectors.previous(run, "cell") for run in (first, again)] == [None, None]
    before = inspectors.previous(other, "cell")
    assert before == first.program
    assert inspectors.previous(other, None) is None
    found = data_of(bundle(other, rich=True, script=True, previous=before)["text/html"])
    assert decode(found["previous"]).source == "y = jnp.sin(x)"


@built
def test_a_program_that_is_too_long_to_be_drawn_by_the_output_is_shown_in_part(monkeypatch):
    run = jaxnb.stage("y = jnp.sin(x)", {"jnp": jax.numpy, "x": jax.numpy.ones(4)})
    run.program.level("hlo")
    assert len(data_of(bundle(run, rich=True, script=True)["text/html"])["program"]["levels"]) == 4
    whole = len(bundle(run, rich=True, script=True)["text/html"])
    monkeypatch.setattr(show, "MOST_DRAWN", whole - 1)
    levels = data_of(bundle(run, rich=True, script=True)["text/html"])["program"]["levels"]
    assert [level["name"] for level in levels] == ["source", "jaxpr"]
    monkeypatch.setattr(show, "MOST_DRAWN", 1000)
    html = bundle(run, rich=True, script=True)["text/html"]
    assert "<script" not in html and "sin" in html


@built
def test_nbconvert_draws_saved_programs_and_leaves_the_notebook_alone():
    pytest.importorskip("nbconvert")
    from nbformat import v4

    from jaxnb.shell.reports.exporter import InspectorExporter

    run = jaxnb.stage("y = jnp.sin(x)", {"jnp": jax.numpy, "x": jax.numpy.ones(4)})
    shown = [bundle(run, rich=True) for _ in range(3)]
    shown[1] = {**shown[1], MIME_TYPE: {"format": "other"}}
    nb = v4.new_notebook(cells=[v4.new_code_cell("", outputs=[v4.new_output("display_data", one)]) for one in shown])
    before = json.dumps(nb)
    page, _ = InspectorExporter(template_name="basic").from_notebook_node(nb)
    assert json.dumps(nb) == before
    assert page.count('<div class="jnb" data-jaxnb=') == 2
    assert page.count(str(scripts_for([render_interactive(neuron(), line="", script=False)]))) == 1


@pytest.mark.parametrize(
    ("fix", "line"),
    [
        (Fix("use jnp.where.", edit=(4, "if a:", "b = 1"), verified=True), "+ fix, tried: use jnp.where."),
        (Fix("make it an input.", options="--dynamic n", verified=True), "+ fix, tried: make it an input."),
        (Fix("use jnp.where.", edit=(4, "if a:", "b = 1")), None),
        (None, None),
    ],
)
def test_a_fix_is_offered_below_an_error_only_if_it_was_tried(fix, line):
    offered = fix_of(Finding("concretization", "needs a value", 4, fix=fix))
    assert (offered and offered.line) == line
    if offered is not None:
        assert offered.program.findings[0].fix == fix
        assert is_offer({"data": bundle(offered, rich=True)})
    assert not is_offer({"data": {MIME_TYPE: {"findings": "fix"}}})


def test_a_note_is_nothing_to_ask_about():
    assert Inspectors(Shell()).metadata(Run(note="2 leaks", later=Later(lambda: Program("")))) == {}


def test_a_terminal_has_nothing_to_listen_to():
    inspectors = Inspectors(type("Terminal", (), {})())
    inspectors.enter()
    inspectors.leave()


# --- the widget ---


@built
def test_the_widget_answers():
    pytest.importorskip("anywidget")
    import jax.numpy as jnp

    import jaxnb
    from jaxnb.shell.widgets import widget

    run = jaxnb.stage("y = x + 1.0", {"x": jnp.ones(3)})
    shown = widget(run)
    assert decode(shown.program) == run.program
    assert shown.line == run.line
    sent = []
    shown.send = sent.append
    shown._handle_custom_msg({"want": "level", "level": "stablehlo", "number": 7}, [])
    assert sent[0]["number"] == 7 and "error" not in sent[0]
    assert "stablehlo" in [level["name"] for level in sent[0]["program"]["levels"]]
    shown.close()
