"""What is donated in vain is named, with the nearest result and why it was refused; what `device_put` did is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from findings.donating import CELLS, SETUP, Vain
from findings.quiet_runs import names, traced_pieces
from findings.quietly import QuietSession
from jaxnb.api import new_session
from jaxnb.findings.lints.aliasing import read_aliasing
from jaxnb.findings.lints.puts import Puts, watch_put
from jaxnb.findings.lints.rules.donation import Form, find_donations, refusal
from jaxnb.options import StageOptions
from jaxnb.program import Finding
from jaxnb.reading import read_modules
from jaxnb.staging.session.session import Session


def found(cell: str, donate: tuple[str, ...], setup: str = "") -> list[Finding]:
    pieces = traced_pieces(cell, f"import functools\n{SETUP}\n{setup}", donate=donate)
    return [finding for traced in pieces for finding in find_donations(traced)]


@pytest.mark.parametrize("name", CELLS)
def test_what_is_donated_in_vain_is_named(name: str) -> None:
    case: Vain = CELLS[name]
    (finding,) = found(case.cell, case.donate, case.setup)
    assert (finding.kind, finding.line, finding.holder) == ("donation", case.line, case.holder), finding
    for text in case.said:
        assert text in finding.message
    assert finding.fix is not None and case.fix in f"{finding.fix.text} {finding.fix.options}"


@pytest.mark.parametrize("name", CELLS)
def test_a_run_tells_the_same(name: str) -> None:
    """A run asks the detector only where a first look says that there may be something."""
    case, session = CELLS[name], QuietSession()
    namespace = names(f"import functools\n{SETUP}\n{case.setup}")
    session.stage(case.cell, namespace, StageOptions(donate=case.donate), filename="<cell 1>")
    told = [finding for finding in session.found if finding.kind == "donation"]
    assert [(finding.line, finding.holder) for finding in told] == [(case.line, case.holder)]


@pytest.mark.parametrize("name", CELLS)
def test_the_clean_twin_has_none(name: str) -> None:
    case: Vain = CELLS[name]
    assert found(case.clean, case.donate if case.clean_donate is None else case.clean_donate, case.setup) == []


def test_the_option_that_is_proposed_works() -> None:
    case = CELLS["a function that donates in a cell"]
    (finding,) = found(case.cell, (), case.setup)
    assert finding.fix is not None and finding.fix.options == "--donate w"
    (traced,) = traced_pieces(case.cell, f"import functools\n{SETUP}\n{case.setup}", donate=("w",))
    aliasing = read_aliasing(traced.piece)
    assert aliasing is not None and len(aliasing.taken) == 1 and not list(find_donations(traced))


def test_a_cell_that_donates_nothing_has_nothing_to_say() -> None:
    assert found("y = (w * 2).sum()", ()) == []


def test_aliases_are_those_of_the_program() -> None:
    function = jax.jit(lambda a, b, c: (b * 2, a + 1, c.sum()), donate_argnums=(0, 1, 2))
    x, y, z = jnp.ones((4, 3)), jnp.ones(5), jnp.ones(6)
    with pytest.warns(UserWarning, match="donated"):
        compiled = function.lower(x, y, z).compile()
    (module,) = read_modules(compiled)
    assert module.aliases == {0: 1, 1: 0}


ROWS, COLUMNS = jax.P("i", None), jax.P(None, "i")
PLAIN = Form((4, 4), "float32", 64)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (PLAIN._replace(shape=(2, 8)), "another shape of as many numbers"),
        (PLAIN._replace(dtype="int32"), "another dtype"),
        (PLAIN._replace(shape=(3,), nbytes=12), "another shape."),
        (PLAIN._replace(shape=(3,), dtype="int8", nbytes=3), "another shape and dtype"),
        (PLAIN._replace(layout="column by column"), "lies in memory in another order"),
        (PLAIN._replace(sharding=COLUMNS), "spread as"),
    ],
)
def test_why_a_result_was_refused(result: Form, said: str) -> None:
    given = PLAIN._replace(layout="row by row", sharding=ROWS)
    text, _ = refusal(given, [("far", Form((9, 9), "int8", 8100)), ("near", result)])
    assert "`near`" in text and said in text


def test_another_sharding_is_told_of_a_real_program() -> None:
    if len(jax.devices()) < 2:
        pytest.skip("wants two devices")
    cell = "s = lax.with_sharding_constraint(s * 2, whole)"
    (finding,) = found(cell, ("s",))
    assert finding.holder == "s" and "spread as" in finding.message and finding.fix is not None
    assert found("s = lax.with_sharding_constraint(s * 2, rows)", ("s",)) == []


# --- jax.device_put ---

PUTS = [(False, None), (False, True), (False, False), (True, None), (True, True), (True, False)]


@pytest.mark.parametrize(("donate", "may_alias"), PUTS)
@pytest.mark.parametrize("place", ["anywhere", "the same device"])
def test_what_device_put_did_is_what_the_buffers_say(donate: bool, may_alias: bool | None, place: str) -> None:
    x: jax.Array = jax.block_until_ready(jnp.arange(1000.0) * 2)
    pointer = x.unsafe_buffer_pointer()
    device = None if place == "anywhere" else jax.devices()[0]
    if donate and may_alias:
        with pytest.raises(ValueError, match="cannot be True at the same time"):
            watch_put(x, device, donate=donate, may_alias=may_alias)
        assert not x.is_deleted()
        return
    put = watch_put(x, device, donate=donate, may_alias=may_alias)
    same = put.value.unsafe_buffer_pointer() == pointer
    assert put.what == ("moved" if same and x.is_deleted() else "shared" if same else "copied")
    assert put.deleted == x.is_deleted() and put.nbytes == 4000
    if not donate:
        assert put.what == ("copied" if may_alias is False else "shared") and not put.deleted
    elif not x.is_deleted():
        assert "donate=True gave up nothing" in str(put)
    assert np.array_equal(put.value, np.arange(1000.0) * 2)


@pytest.mark.parametrize(("donate", "may_alias"), [pair for pair in PUTS if pair != (True, True)])
def test_another_device_has_a_copy(donate: bool, may_alias: bool | None) -> None:
    if len(jax.devices()) < 2:
        pytest.skip("wants two devices")
    put = watch_put(jnp.arange(10.0), jax.devices()[1], donate=donate, may_alias=may_alias)
    assert put.what == "copied" and "anew" in str(put)
    assert ("may_alias=True could not be granted" in str(put)) == (may_alias is True and not donate)


def numbers(offset: int) -> np.ndarray[Any, Any]:
    """Bytes that lie so far behind a multiple of 64, where the CPU's devices can have their buffers."""
    whole = np.ones(1200, np.int8)
    return whole[-whole.ctypes.data % 64 + offset :][:1001]


@pytest.mark.parametrize("offset", [0, 1, 16])
@pytest.mark.parametrize("may_alias", [None, True, False])
def test_an_array_of_numpy_is_shared_if_writing_to_it_shows(may_alias: bool | None, offset: int) -> None:
    x = numbers(offset)
    put = watch_put(x, jax.devices()[0], may_alias=may_alias)
    x[0] = 5
    assert (put.what == "shared") == (int(put.value[0]) == 5) and not put.deleted
    assert ("may_alias=False was not heeded" in str(put)) == (put.what == "shared" and may_alias is False)
    assert ("may_alias=True could not be granted" in str(put)) == (put.what == "copied" and may_alias is True)


def test_a_cell_says_that_an_array_of_numpy_is_shared_all_the_same() -> None:
    cell = "n = 1\ny = jax.device_put(x, here, may_alias=False)"
    namespace: dict[str, Any] = {"jax": jax, "x": numbers(0), "here": jax.devices()[0]}
    run = new_session().stage(cell, namespace, StageOptions())
    namespace["x"][0] = 5
    told = [finding for finding in run.findings if finding.kind == "donation"]
    assert len(told) == (int(namespace["y"][0]) == 5)
    for finding in told:
        assert finding.line == 2 and "may_alias=False was not heeded" in finding.message
        assert finding.fix is not None and finding.fix.text == "copy it by jnp.array(x, copy=True)."
        copied = jnp.array(namespace["x"], copy=True)
        namespace["x"][0] = 6
        assert int(copied[0]) == 5


def test_it_says_what_happened() -> None:
    put = watch_put(jnp.arange(1000.0), may_alias=False)
    assert str(put) == "copied: 4.0 KB anew."
    assert str(replace(put, what="shared")).endswith("may_alias=False was not heeded.")
    assert str(replace(put, what="moved", deleted=True)).endswith("the source is gone.")


def test_a_pytree_is_told_array_by_array() -> None:
    tree = {"w": jnp.arange(1000.0) * 2, "b": [jnp.arange(1000.0) * 3, numbers(1)]}
    puts = watch_put(tree, may_alias=False)
    assert isinstance(puts, Puts) and puts.what == "copied" and [put.nbytes for put in puts.parts] == [4000, 1001, 4000]
    assert str(puts) == "3 arrays copied: 9.0 KB anew."
    assert jax.tree.structure(puts.value) == jax.tree.structure(tree) and np.array_equal(puts.value["w"], tree["w"])
    mixed = watch_put({"w": tree["w"], "n": numbers(1)}, donate=True)
    assert isinstance(mixed, Puts) and {put.what for put in mixed.parts} <= {"shared", "moved", "copied"}
    assert isinstance(watch_put([tree["w"]]), Puts) and str(watch_put([])) == "there is no array"
    assert jaxnb.watch_put is watch_put


WISHES = {
    # the keywords, the device, what is said, the fix; nothing is said where the wish was granted
    "donated to another device": ("donate=True", "other", "donate=True gave up nothing: the source is alive.", "del x"),
    "shared with another device": ("may_alias=True", "other", "may_alias=True could not be granted.", None),
    "donated and apart": ("donate=True, may_alias=False", "other", "donate=True gave up nothing", "del x"),
    "no wish": ("", "other", None, None),
    "apart": ("may_alias=False", "other", None, None),
    "donated here": ("donate=True", "here", None, None),
    "shared here": ("may_alias=True", "here", None, None),
    "apart here": ("may_alias=False", "here", None, None),
}


@pytest.mark.parametrize("kind", WISHES)
def test_a_cell_says_which_wish_was_not_granted(kind: str) -> None:
    if len(jax.devices()) < 2:
        pytest.skip("wants two devices")
    words, place, said, fix = WISHES[kind]
    here, other = jax.devices()[:2]
    namespace: dict[str, Any] = {"jax": jax, "x": jnp.arange(500_000.0), "here": here, "other": other}
    run = new_session().stage(f"n = 1\ny = jax.device_put(x, {place}, {words})", namespace, StageOptions())
    found = [finding for finding in run.findings if finding.kind == "donation"]
    if said is None:
        assert found == []
        return
    (finding,) = found
    assert (finding.line, finding.holder, finding.folded) == (2, "x", True)
    assert finding.message.startswith("jax.device_put of `x`: copied: 2.0 MB anew.") and said in finding.message
    assert (fix in finding.fix.text) if fix and finding.fix else finding.fix is None
    shared = {shard.data.unsafe_buffer_pointer() for shard in namespace["y"].addressable_shards}
    assert namespace["x"].unsafe_buffer_pointer() not in shared and not namespace["x"].is_deleted()


@pytest.mark.parametrize(
    "cell",
    [
        "x = jax.device_put(x, other, donate=True)",  # the name lets go of it
        "y = jax.device_put(x, other, donate=True)\ndel x\nx = None",
        "y = jax.device_put(small, other, donate=True)",
        "y = put(x, other, donate=True)",
    ],
)
def test_what_is_let_go_of_all_the_same_is_not_told(cell: str) -> None:
    if len(jax.devices()) < 2:
        pytest.skip("wants two devices")
    namespace: dict[str, Any] = {"jax": jax, "x": jnp.arange(500_000.0), "small": jnp.ones(3)}
    namespace.update(other=jax.devices()[1], put=lambda x, device, donate: x)
    run = new_session().stage(cell, namespace, StageOptions())
    assert [finding for finding in run.findings if finding.kind == "donation"] == []
