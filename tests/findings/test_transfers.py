"""What a loop copies between host and device in each turn is told on its line, with the bytes; other loops are not."""

from __future__ import annotations

import pytest

from findings.copying import CLEAN, COPYING, SETUP
from findings.quietly import quiet_findings


@pytest.mark.parametrize("name", COPYING)
def test_what_is_copied_in_each_turn(name: str) -> None:
    case = COPYING[name]
    found, _ = quiet_findings(SETUP, [case.cell], "transfer")
    assert [finding.line for finding in found] == [case.line]
    assert case.text in found[0].message
    assert found[0].fix is not None and case.fix in found[0].fix.text
    assert found[0].span is not None and found[0].span.line == case.line


@pytest.mark.parametrize("name", COPYING)
def test_the_fix_ends_it(name: str) -> None:
    assert quiet_findings(SETUP, [COPYING[name].fixed], "transfer")[0] == []


@pytest.mark.parametrize("name", CLEAN)
def test_ordinary_loops_copy_nothing_in_vain(name: str) -> None:
    assert quiet_findings(SETUP, [CLEAN[name]], "transfer")[0] == []
