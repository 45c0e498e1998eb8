"""Graphs of levels: what is in them, that names stay names, and that they are drawn without a system package."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shutil
import stat
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import graphviz
import pytest
from golden import check_golden
from graphviz.backend import dot_command
from sample_costs import hostile_graph, measured, unrolled
from sample_levels import neuron
from sample_programs import PROGRAMS, loop, many, split

from jaxnb.program import Program
from jaxnb.staging.session.run import Later, Run
from jaxnb.views.diagram import Diagram
from jaxnb.views.graph import render_graph

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def no_dot(monkeypatch, tmp_path):
    """A PATH on which there is neither dot nor graphviz-pure."""
    monkeypatch.setenv("PATH", str(tmp_path))


def drawn(graph: graphviz.Digraph) -> list[str]:
    """The texts of a graph as they are drawn."""
    root = ElementTree.fromstring(graph.pipe("svg"))
    return ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("name", "program"), [("loop", loop), ("measured", measured), ("split", split), ("hostile", hostile_graph)]
)
def test_source_golden(name, program):
    check_golden(f"{name}.dot", render_graph(program()).source)


@pytest.mark.parametrize("level", ["jaxpr", "stablehlo", "hlo"])
def test_every_level_is_drawn(level, no_dot):
    graph = render_graph(neuron(), level)
    texts = drawn(graph)
    assert isinstance(graph, graphviz.Digraph)
    for op in neuron().level(level).ops():
        assert any(text.startswith(op.name) for text in texts)
    assert "line 3" in texts and "x" in texts and "w" in texts
    assert "f32[]" in texts and "f32[8]" in texts


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"empty"}))
def test_every_sample_is_drawn(name, no_dot):
    assert render_graph(PROGRAMS[name]()).pipe("svg").startswith(b"<?xml")


def test_every_value_is_an_edge_with_its_type():
    graph = render_graph(measured(), limit=None)
    edges = re.findall(r"(\w+) -> (\w+)(?: \[label=<(.*?)>\])?", graph.source)
    assert ("op0_0", "op0_1", " f32[100,20 | batch:20, i] ") in edges
    assert ("in0_0", "op0_0", "") in edges and ("op0_3", "out0_0", " f32[| batch:20] ") in edges
    assert not [edge for edge in edges if edge[1] == "op0_7"]  # it takes only a literal, which stands in the node


def test_bodies_are_clusters():
    source = render_graph(loop()).source
    assert source.count("subgraph cluster_") == len(loop().level("jaxpr").computations) - 1 + 1  # cond: two and a frame
    assert {"body", "g", "branch 0", "branch 1"} <= set(drawn(render_graph(loop())))


def test_the_limit_folds_bodies_and_says_so():
    graph = render_graph(many(), limit=400)
    texts = drawn(graph)
    assert graph.source.count("subgraph") == 0
    assert "… 350 ops" in texts and "350 ops are not drawn: limit=None draws all." in texts
    whole = render_graph(many(30), limit=None)
    assert "not drawn" not in whole.source and whole.source.count("<B>") == 32


def test_a_huge_program_is_drawn_in_part(no_dot):
    graph = render_graph(unrolled())
    texts = drawn(graph)
    assert len(graph.source) < 100_000
    assert "… 99700 more ops" in texts and "99700 ops are not drawn: limit=None draws all." in texts and "y" in texts


def test_an_edge_across_the_page_is_left_out():
    program = unrolled(200)
    level = program.level("jaxpr")
    main = level.computations[0]
    ops = [replace(op, inputs=(*main.inputs, *range(1, at + 1))) for at, op in enumerate(main.ops)]
    dense = Program("", (replace(level, computations=(replace(main, ops=tuple(ops)),)),))
    graph = render_graph(dense)
    assert "edges are not drawn that would cross the page." in graph.source
    for at in range(199):
        assert f"op0_{at} -> op0_{at + 1}" in graph.source
    assert graph.source.count("->") < 2000


def test_one_computation():
    source = render_graph(loop(), computation="body").source
    assert "scan" not in source and "<B>add</B>" in source
    assert render_graph(loop(), computation=1).source == source
    with pytest.raises(KeyError, match=r"no computation 'nothing' at level 'jaxpr'; there are 'main', 'body', 'g'"):
        render_graph(loop(), computation="nothing")
    with pytest.raises(KeyError, match="no level 'hlo'"):
        render_graph(loop(), "hlo")


def test_names_are_only_text(no_dot):
    graph = render_graph(hostile_graph())
    root = ElementTree.fromstring(graph.pipe("svg"))
    texts = drawn(graph)
    for text in (
        '"',
        "\\",
        "<b>x</b>",
        "&lt;",
        "a\\nb",
        'x" ]; evil [label="',
        "\\N\\G",
        "漢字",
        "]",
        "}",
        "--",
        r"\x1b[2J",
    ):
        assert texts.count(text) >= 3, text  # an input, an op, an output
    nodes = [group for group in root.iter(f"{SVG}g") if group.get("class") == "node"]
    assert len(nodes) == 3 * 14
    assert all(re.fullmatch(r"(in|out|op)0_\d+", group.find(f"{SVG}title").text) for group in nodes)
    assert not list(root.iter(f"{SVG}a")) and not list(root.iter(f"{SVG}script"))


def test_it_shows_itself_in_a_notebook(no_dot, capfd):
    graph = measured().graph()
    bundle = graph._repr_mimebundle_()
    assert set(bundle) == {"image/svg+xml"} and "<svg" in bundle["image/svg+xml"]
    assert graph.pipe("png")[:4] == b"\x89PNG"
    assert capfd.readouterr() == ("", "")  # what dot warns of does not go into the notebook


def test_a_run_has_a_graph():
    run = Run(later=Later(loop))
    assert run.graph().source == loop().graph("jaxpr").source
    assert run.graph("source").source == loop().graph("source").source


def test_it_is_written_to_a_file(no_dot, tmp_path):
    written = Path(measured().graph().render(str(tmp_path / "picture"), format="svg"))
    assert written.read_text(encoding="utf-8").startswith("<?xml")


def test_a_dot_on_the_path_wins(monkeypatch, tmp_path):
    fake = tmp_path / "dot"
    fake.write_text("#!/bin/sh\n/bin/cat > /dev/null\necho from the path\n", encoding="utf-8")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assert Diagram().pipe("svg") == b"from the path\n"


def test_a_command_that_the_user_set_is_kept(monkeypatch, no_dot):
    monkeypatch.setattr(dot_command, "DOT_BINARY", Path("my-dot"))
    with pytest.raises(graphviz.ExecutableNotFound, match="my-dot"):
        Diagram().pipe("svg")
    assert dot_command.DOT_BINARY == Path("my-dot")


def test_graphviz_itself_is_left_as_it_was(no_dot):
    assert Diagram().pipe("svg")
    assert dot_command.DOT_BINARY == Path("dot")
    assert shutil.which("dot") is None
    with pytest.raises(graphviz.ExecutableNotFound):
        graphviz.Digraph().pipe("svg")
