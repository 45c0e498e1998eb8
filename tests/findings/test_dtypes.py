"""Values that are cut, wrap around or are widened without being asked are told on their line; what was asked is not."""

from __future__ import annotations

import jax
import pytest

from findings.casting import CAST, CLEAN, SETUP
from findings.quietly import quiet_findings
from jaxnb.program import Severity

# JAX warns of some of these itself, as the cell is traced
pytestmark = [
    pytest.mark.filterwarnings("ignore:Explicitly requested dtype:UserWarning"),
    pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning"),
]


@pytest.mark.parametrize("name", CAST)
def test_what_nobody_asked_for(name: str) -> None:
    case = CAST[name]
    kind = "wrapped" if "fit" in case.text else "dtype"
    found, _ = quiet_findings(SETUP, [case.cell], kind)
    assert [finding.line for finding in found] == [case.line]
    assert case.text in found[0].message
    assert found[0].fix is not None and case.fix in found[0].fix.text


@pytest.mark.parametrize("name", CAST)
def test_the_fix_ends_it(name: str) -> None:
    for kind in ("dtype", "wrapped"):
        assert quiet_findings(SETUP, [CAST[name].fixed], kind)[0] == []


@pytest.mark.parametrize("name", CLEAN)
def test_what_was_asked_for(name: str) -> None:
    for kind in ("dtype", "wrapped"):
        assert quiet_findings(SETUP, [CLEAN[name]], kind)[0] == []


def test_a_number_that_wraps_around_is_wrong_and_no_matter_of_speed() -> None:
    (finding,), _ = quiet_findings(SETUP, [CAST["sum that wraps"].cell], "wrapped")
    assert finding.severity is Severity.WRONG


def test_one_finding_a_line() -> None:
    found, _ = quiet_findings(SETUP, ["y = b * f + h * f"], "dtype")
    assert len(found) == 1


def test_with_64_bits_nothing_is_cut() -> None:
    with jax.enable_x64(True):
        assert quiet_findings(SETUP, ["y = f.astype(jnp.float64)\nz = jnp.zeros(8, jnp.int64) + i"], "dtype")[0] == []
        (finding,), _ = quiet_findings(SETUP, ["y = w32.astype(jnp.float32) * np.ones(8)"], "dtype")
    assert "float32 meets float64" in finding.message
