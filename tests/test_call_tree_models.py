"""The laws of the call tree on steps of larger models, and the names that their authors would look for."""

from __future__ import annotations

import json

import pytest
from models.larger import LARGER

import jaxnb
from jaxnb.program import COUNTED, Level, Node, Program, decode, encode, folded, read_tree

_NAMES_ONLY = ("get-tuple-element", "tuple", "parameter", "constant")


def named(known: Program) -> set[str]:
    return {f"{node.name} {node.path}".strip() for node in known.tree().walk()}


def agrees(tree: Node, level: Level) -> None:
    """Each op has one place, and sums are those of the ops."""
    ops = list(level.ops())
    assert sorted(place for node in tree.walk() for place in node.ops) == [
        (at, n) for at, made in enumerate(level.computations) for n in range(len(made.ops))
    ]
    assert tree.count == len(ops)
    for column in COUNTED:
        numbers = [number for op in ops if (number := getattr(op, column)) is not None]
        amount = tree.total.get(column)
        assert (amount.number if amount is not None else None) == (sum(numbers) if numbers else None)
    for node in tree.walk():
        assert node.count == len(node.ops) + sum(child.count for child in node.children)


@pytest.mark.parametrize("name", LARGER)
def test_laws_hold_and_names_are_there(name: str) -> None:
    """In one test, because to stage a model takes seconds."""
    step = LARGER[name]
    run = jaxnb.stage(step.cell, step.names())
    assert not run.on_host
    known = run.program
    assert set(step.calls) <= named(known)
    assert not [name for name in named(known) if ".internal" in name]
    for level in map(known.level, ("jaxpr", "stablehlo", "hlo")):
        tree = read_tree(level)
        agrees(tree, level)
        agrees(folded(tree), level)
    assert 300 <= known.tree().count <= 10_000
    assert all(line.span is not None and not line.span.file for line in known.tree().children)
    hlo = known.level("hlo")
    computing = [op for entry in hlo.computations[: hlo.entries] for op in entry.ops if op.name not in _NAMES_ONLY]
    assert sum(op.span is not None for op in computing) >= 0.98 * len(computing)
    assert sum(op.call is not None for op in computing) >= 0.9 * len(computing)
    again = decode(json.loads(json.dumps(encode(known))))
    assert again.tree() == known.tree()
    assert again.costs(depth=6, width=120) == known.costs(depth=6, width=120)
