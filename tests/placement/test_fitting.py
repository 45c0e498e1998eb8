"""Cells that do not fit into a target: what is tried, and what is offered; a compiler is made up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

import jaxnb
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.planning import fitting, planner, simulation
from jaxnb.planning.remat_edits import scans_in
from jaxnb.program import Finding, finding_of, read_target
from jaxnb.reading import OutOfMemory, mesh_of_target
from jaxnb.reading.worker.refusals import Refusal

AVAILABLE = 10 * 2**30
Needs = Callable[[str], int]
"""What a program needs, given its StableHLO."""


def told(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, cell: str, names: dict[str, Any], mesh: Any = None, **options: Any
) -> tuple[Finding | None, list[str]]:
    """What a compiler with so much memory lets be said of a cell, and what was going on meanwhile."""

    def compiles(lower: Callable[[], Any], mesh: Any, progress: Any = None) -> Any:
        if mesh.target is None:
            raise JaxnbError("this is no compiler of CPUs.")
        needed = needs(lower().as_text()) if str(mesh.target.kind.name) == "v5e" else 2**50
        if needed > AVAILABLE:
            raise OutOfMemory(Refusal("HBM", needed, AVAILABLE), "a device")
        sizes = dict.fromkeys(("argument", "output", "alias"), 0) | {"temp": needed}
        stats = SimpleNamespace(**{f"{name}_size_in_bytes": size for name, size in sizes.items()})
        return SimpleNamespace(memory_analysis=lambda: stats), 0.0

    monkeypatch.setattr(simulation, "compile_elsewhere", compiles)
    monkeypatch.setattr(fitting, "compile_elsewhere", compiles)
    session, said = new_session(), list[str]()
    session.simulated = mesh_of_target(read_target("v5e")) if mesh is None else mesh
    given = {"jax": jax, "jnp": jnp, **names}
    before = dict(given)
    with pytest.raises(OutOfMemory) as one:
        session.stage(cell, given, StageOptions.of(options), progress=said.append)
    assert {name: given[name] for name in before} == before
    found = finding_of(one.value)
    return (None if found is None else found[0]), [text for text in said if text.startswith("trying")]


def array(*shape: int, dtype: Any = jnp.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


GB = 2**30
LOSS = """def loss(ws):
    h, _ = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)
    return jnp.mean(h ** 2)
g = jax.grad(loss)(ws)"""


def test_what_is_replaced_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs(text: str) -> int:
        return 8 * GB if "aliasing_output" in text or "buffer_donor" in text else 16 * GB

    found, tried = told(monkeypatch, needs, "p = p - 1", {"p": array(2**30)})
    assert found is not None and found.kind == "too_large" and found.fix is not None
    assert found.fix.verified and found.fix.options == "--donate p" and found.fix.edit is None
    assert "it needs 17.2 GB a device" in found.message and "8.6 GB  --donate p  fits" in found.message
    assert tried == ["trying 1 of 2: --donate p"]


def test_each_turn_of_a_scan_is_checkpointed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"ws": array(6, 64, 64, dtype=jnp.bfloat16), "x": array(8, 64, dtype=jnp.bfloat16)}
    found, _ = told(monkeypatch, lambda text: GB if "optimization_barrier" in text else 50 * GB, LOSS, names)
    # `prevent_cse=False` leaves no barrier: what was tried is told, and offered as words alone.
    assert found is not None and found.fix is not None and not found.fix.verified and found.fix.edit is None
    assert "jax.checkpoint of each turn of scan  42.9 GB too much" in found.message
    count = 0

    def second(text: str) -> int:
        nonlocal count
        count += 1
        return 50 * GB if count == 1 else GB

    found, _ = told(monkeypatch, second, LOSS, names)
    assert found is not None and found.fix is not None and found.fix.verified and found.fix.edit is not None
    assert "jax.checkpoint(lambda h, w: (jnp.tanh(h @ w), None), prevent_cse=False)" in found.fix.edit[2]


def test_other_numbers_are_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {True: 8 * GB, False: 16 * GB}
    found, _ = told(monkeypatch, lambda text: needs["bf16" in text], "y = x * 2", {"x": array(2**30)})
    assert found is not None and found.fix is not None and found.fix.verified
    assert "computes other numbers" in found.fix.text and "fits; it computes other numbers" in found.message


def test_arrays_are_cut_along_a_free_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = mesh_of_target(read_target("v5e:2x2"), {"data": 2, "model": 2})
    names = {"w": jaxnb.abstract(array(2**15, 2**15), P(), mesh.mesh), "x": array(8, 2**15)}
    cut = 'sdy.sharding = #sdy.sharding<@mesh, [{"'
    found, _ = told(monkeypatch, lambda text: 8 * GB if cut in text else 16 * GB, "y = x @ w", names, mesh, keep=("y",))
    assert found is not None and found.fix is not None and found.fix.verified
    assert "lay `w` along data, P('data', None)" in found.fix.text


def test_no_more_than_a_few_are_tried_and_what_helps_together_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs(text: str) -> int:
        donates = "aliasing_output" in text or "buffer_donor" in text
        return 20 * GB - 6 * GB * donates - 6 * GB * ("bf16" in text)

    found, tried = told(monkeypatch, needs, "p = p - 1", {"p": array(2**30)})
    assert len(tried) == 3 <= fitting.MOST_TRIED and tried[-1] == "trying what helped together"
    assert found is not None and found.fix is not None and found.fix.verified and "--donate p" in found.fix.options
    assert "it computes other numbers" in found.message


def test_an_interrupt_ends_it_and_what_is_known_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "_try", interrupted)
    found, _ = told(monkeypatch, lambda _: 16 * GB, "p = p - 1", {"p": array(2**30)})
    assert found is not None and "it was interrupted" in found.message
    assert found.fix is not None and not found.fix.verified


def test_an_error_here_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("here")

    monkeypatch.setattr(planner, "find_too_much", broken)
    found, _ = told(monkeypatch, lambda _: 16 * GB, "p = p - 1", {"p": array(2**30)})
    assert found is None


@pytest.mark.parametrize(
    ("text", "is_edited"),
    [
        ("c, ys = jax.lax.scan(body, 0., xs)", True),
        ("c, ys = jax.lax.scan(jax.checkpoint(body), 0., xs)", False),
        ("c, ys = jax.lax.scan(partial(jax.checkpoint, prevent_cse=False)(body), 0., xs)", False),
        ("@jax.checkpoint\ndef step(c, x):\n    return c + x, x\nc, ys = jax.lax.scan(step, 0., xs)", False),
        (
            "@partial(jax.checkpoint, prevent_cse=False)\ndef step(c, x):\n    return c, x\njax.lax.scan(step, 0., xs)",
            False,
        ),
        ("step = jax.remat(body)\nc, ys = jax.lax.scan(step, 0., xs)", False),
        ("c, ys = jax.lax.scan(kept, 0., xs)", False),
        ("@jax.jit\ndef step(c, x):\n    return c + x, x\nc, ys = jax.lax.scan(step, 0., xs)", True),
    ],
)
def test_a_scan_whose_turns_are_checkpointed_is_left_alone(text: str, is_edited: bool) -> None:
    def body(c: Any, x: Any) -> Any:
        return c + x, x

    names = {"jax": jax, "partial": partial, "body": body, "kept": jax.jit(jax.checkpoint(body))}
    edited = scans_in(text, names)
    assert (edited is not None) == is_edited
    if edited is not None:
        assert edited[0].count("jax.checkpoint(") == 1


def test_a_pytree_with_two_names_is_said_to_be_lost_to_both(monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"w": array(2**30)}
    names = {"params": params, "start": params, "other": {"w": array(2**30)}}
    cell = "params = jax.tree.map(lambda p: p - 1, params)"
    found, _ = told(
        monkeypatch, lambda text: 16 * GB if "donor" not in text and "aliasing" not in text else GB, cell, names
    )
    assert found is not None and found.fix is not None and found.fix.options == "--donate params"
    assert "`start` would lose the same arrays" in found.fix.text and "other" not in found.fix.text
    del names["start"]
    found, _ = told(
        monkeypatch, lambda text: 16 * GB if "donor" not in text and "aliasing" not in text else GB, cell, names
    )
    assert found is not None and found.fix is not None and "would lose" not in found.fix.text


def test_where_no_chip_has_room_the_cpu_says_what_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_it = simulation.compile_elsewhere

    def compiles(lower: Callable[[], Any], mesh: Any, progress: Any = None) -> Any:
        if mesh.target is not None:
            raise OutOfMemory(Refusal("HBM", 200 * GB, 100 * GB), "a device")
        return compile_it(lower, mesh)

    monkeypatch.setattr(simulation, "compile_elsewhere", compiles)
    monkeypatch.setattr(fitting, "compile_elsewhere", compiles)
    session = new_session()
    session.simulated = mesh_of_target(read_target("v5p"))
    cell = "a = jnp.sort(x, axis=0)\nb = jnp.sort(a @ a, axis=1)"
    with pytest.raises(OutOfMemory) as one:
        session.stage(cell, {"jnp": jnp, "x": array(2048, 2048)}, StageOptions.of({}))
    found = finding_of(one.value)
    assert found is not None
    assert "where it needs most, as compiled for CPUs, since no kind of chip has room:" in found[0].message
    assert "made by line 1" in found[0].message and found[0].line in (1, 2)
