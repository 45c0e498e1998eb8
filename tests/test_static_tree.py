"""The static view of a program too long for it: its call tree, not its first equations."""

from __future__ import annotations

import functools
import html
import re

import jax.numpy as jnp
from models.steps import STEPS

import jaxnb
from jaxnb.program import Program, read_tree
from jaxnb.shell.show import MOST_SAVED, bundle
from jaxnb.staging import Run
from jaxnb.views import render_html


@functools.cache
def run_of() -> Run:
    step = STEPS["transformer"]
    run = jaxnb.stage(step.cell, step.names())
    run.program.level("jaxpr")
    return run


def rows(text: str) -> list[str]:
    """Its rows as text, each with what stands beside it."""
    pairs = re.findall(r'<div class="r[^"]*"><pre>(.*?)</pre><pre>(.*?)</pre></div>', text, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", f"{left} | {right}")) for left, right in pairs]


def view(program: Program, limit: int | None) -> list[str]:
    return rows(render_html(program, line="staged", limit=limit))


def test_a_long_program_begins_with_its_calls():
    program = run_of().program
    found = view(program, 30)
    assert found[0].split()[:3] == ["ops", "flops", "bytes"]
    tree = read_tree(program.level("jaxpr"))
    dearest = max(tree.children, key=lambda node: node.total["flops"].number or 0)
    assert found[1].split()[0] == str(dearest.count)
    assert found[1].endswith("→ token_loss")
    assert any("Block.__call__ ×2  blocks[0…1]" in row for row in found)
    assert found[-1].split()[0] == str(tree.count) and found[-1].endswith("(all)")
    assert not any(" = dot_general " in row for row in found)
    assert len(found) <= 32


def test_where_there_is_room_its_equations_stand_beside_the_lines():
    found = view(run_of().program, None)
    assert any("dot_general" in row for row in found)
    short = jaxnb.stage("def f(x):\n    return x * 2\ny = f(x)", {"x": jnp.ones(3)})
    assert not any("→ f" in row for row in view(short.program, 30))


def test_what_a_notebook_keeps_begins_with_the_calls():
    data = bundle(run_of(), rich=True)
    text = data["text/html"]
    assert rows(text)[1].endswith("→ token_loss")
    assert len(text) < MOST_SAVED
