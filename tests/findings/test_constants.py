"""A large array that is part of a program is told, with its name and line; an input never is."""

from __future__ import annotations

import pytest

from findings.baking import BAKED, CLEAN, SETUP
from findings.quietly import quiet_findings


@pytest.mark.parametrize("name", BAKED)
def test_a_large_constant(name: str) -> None:
    case = BAKED[name]
    found, _ = quiet_findings(SETUP, (*case.before, case.cell), "constant")
    assert [finding.line for finding in found] == [case.line]
    assert case.text in found[0].message
    assert found[0].fix is not None and case.fix in found[0].fix.text


@pytest.mark.parametrize("name", BAKED)
def test_the_fix_makes_it_an_input(name: str) -> None:
    assert quiet_findings(SETUP, [BAKED[name].fixed], "constant")[0] == []


@pytest.mark.parametrize("name", CLEAN)
def test_inputs_are_no_constants(name: str) -> None:
    assert quiet_findings(SETUP, [CLEAN[name]], "constant")[0] == []


def test_a_helper_elsewhere_is_the_origin() -> None:
    (finding,), _ = quiet_findings(SETUP, ["y = helper(x)"], "constant")
    assert finding.origin == "Cell In[0], line 8" and finding.holder == "jnp.asarray(np.arange(500000))"
