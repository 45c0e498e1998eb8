"""What a traced function does only while it is traced is told on its line; what happens each time is not."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

from findings.acting import ACTING, CLEAN, SETUP
from findings.quietly import QuietSession, quiet_findings
from jaxnb.options import StageOptions


@pytest.mark.parametrize("name", ACTING)
def test_what_happens_only_once(name: str) -> None:
    case = ACTING[name]
    found, _ = quiet_findings(SETUP, [case.cell], "side_effect")
    assert [finding.line for finding in found] == [case.line]
    assert case.text in found[0].message
    assert found[0].fix is not None and case.fix in found[0].fix.text


@pytest.mark.parametrize("name", ACTING)
def test_the_fix_ends_it(name: str) -> None:
    assert quiet_findings(SETUP, [ACTING[name].fixed], "side_effect")[0] == []


@pytest.mark.parametrize("name", CLEAN)
def test_what_happens_each_time(name: str) -> None:
    assert quiet_findings(SETUP, [CLEAN[name]], "side_effect")[0] == []


def test_an_effect_elsewhere_has_its_origin() -> None:
    (finding,), _ = quiet_findings(SETUP, ["y = loud(x)"], "side_effect")
    assert finding.origin == "Cell In[0], line 10" and finding.line == 1


def test_all_that_a_function_of_another_cell_does_is_named_where_it_is_called() -> None:
    busy = "def busy(v):\n    seen.add('v')\n    n = np.random.normal()\n    return v * n * random.random()"
    (finding,), _ = quiet_findings(f"{SETUP}\n{busy}\nbusy = jax.jit(busy)", ["y = busy(x)"], "side_effect")
    assert finding.message.startswith("`seen.add('v')` adds to a container")
    place = "Cell In[0], line {}"
    (first,) = (n for n, line in enumerate(f"{SETUP}\n{busy}".split("\n"), 1) if "seen.add" in line)
    assert finding.message.endswith(
        f"The same goes for `np.random.normal()` ({place.format(first + 1)}), "
        f"`random.random()` ({place.format(first + 2)})."
    )


def test_a_function_that_was_mended_is_looked_at_again() -> None:
    session, namespace = QuietSession(), dict[str, Any](__name__="__main__")
    exec(compile(SETUP, "<mended>", "exec"), namespace)
    lines = [f"{line}\n" for line in SETUP.split("\n")]
    linecache.cache["<mended>"] = (len(SETUP), None, lines, "<mended>")
    for expected in (1, 1, 0):
        if not expected:
            namespace["loud"] = namespace["jax"].jit(lambda v: v * 2)
        session.stage("y = loud(x)", namespace, StageOptions(), filename="<cell 1>")
        assert sum(finding.kind == "side_effect" for finding in session.found) == expected
