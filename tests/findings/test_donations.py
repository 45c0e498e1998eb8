"""What is donated in vain is named, with the nearest result and why it was refused; what `device_put` did is read."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from findings.donating import CELLS, SETUP, Vain
from findings.quiet_runs import traced_pieces
from jaxnb._jax_hlo import serialized_modules
from jaxnb.findings.aliasing import read_aliases, read_aliasing
from jaxnb.findings.donations import Form, find_donations, refusal
from jaxnb.findings.puts import watch_put
from jaxnb.program import Finding


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
    (module,) = serialized_modules(compiled)
    assert read_aliases(module) == {0: 1, 1: 0}


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
    x = jax.block_until_ready(jnp.arange(1000.0) * 2)
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


def test_an_array_of_numpy_may_be_shared() -> None:
    whole = np.ones(1040, np.float32)
    x = whole[(-whole.ctypes.data % 64) // 4 :][:1000]
    put = watch_put(x, may_alias=True)
    x[0] = 5
    assert (put.what == "shared") == (float(put.value[0]) == 5) and not put.deleted


def test_it_says_what_happened() -> None:
    put = watch_put(jnp.arange(1000.0), may_alias=False)
    assert str(put) == "copied: 4.0 KB anew."
    assert str(replace(put, what="shared")).endswith("may_alias=False was not heeded.")
    assert str(replace(put, what="moved", deleted=True)).endswith("the source is gone.")
