"""Objects that are too many, too deep, too strange, or in other hands: a clear answer, and nothing lost."""

from __future__ import annotations

import threading
import time
from typing import Any

import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb.errors import Refused
from jaxnb.staging.trace.stage import MANY


def space(**more: Any) -> dict[str, Any]:
    return {"__name__": "__main__", "jnp": jnp, "x": jnp.ones(3), **more}


def test_very_many_inputs_are_staged_and_their_cost_is_said() -> None:
    array = jnp.float32(1)
    ns = space(many=[array + i for i in range(20)] * (MANY // 20 + 1))
    cell = "y = many[0] + many[-1]"
    run = jaxnb.stage(cell, ns)
    assert [finding.message for finding in run.findings if finding.kind == "cost"] == [
        f"{len(ns['many']):,} inputs are looked at and handed over on every run: stack them into fewer arrays"
    ]
    assert "stack them" in run.line and jaxnb.stage(cell, ns).reused and float(ns["y"]) == 21.0


@pytest.mark.parametrize("cell", ["y = x + 1 if deep else x", "first = deep['a']\ny = x + 1"])
def test_very_deep_values_are_left_to_python(cell: str) -> None:
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(5000):
        inner["a"] = inner = {}
    inner["a"] = jnp.ones(3)
    ns = space(deep=deep)
    with pytest.raises(Refused, match="nested too deeply"):
        jaxnb.stage("y = x + 1 if deep else x", ns, whole=True)
    assert set(ns) == {"__name__", "__builtins__", "jnp", "x", "deep"}
    jaxnb.stage(cell, ns)
    assert (ns["y"] == ns["x"] + 1).all() and ns["deep"] is deep and ns.get("first", deep["a"]) is deep["a"]


def test_another_thread_that_writes_to_the_namespace_is_neither_undone_nor_replayed() -> None:
    ns = space(turns=0)
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            ns["turns"] += 1
            ns[f"seen_{ns['turns'] % 5}"] = ns["turns"]
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        cell = "y = x\nfor _ in range(200):\n    y = jnp.sin(y) * 2"
        first = jaxnb.stage(cell, ns)
        before = ns["turns"]
        again = jaxnb.stage(cell, ns)
        assert first.outputs.keys() >= {"y"} and again.reused and ns["turns"] >= before
    finally:
        stop.set()
        thread.join()
    assert ns["seen_1"] > ns["turns"] - 10 and "isinstance" not in ns
