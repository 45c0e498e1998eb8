"""The corpus once more, with prints, plots, loops and branches on values thrown in: staged in pieces, against plain.

What is thrown in is drawn freshly each time, into a sample of sixty cases; `JAXNB_SEED` repeats a draw (the seed is in
the test's id) and `JAXNB_DEEP=1` takes all cases.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import random
from string import Template

import pytest
from cells import CASES, Case
from differential import check_case, new_namespace, run_staged
from drawing import DEEP, drawn_seed
from thrown_in import FLOATS, HAS_PLOTS, KINDS, Thrown, context_of, throw_in, with_helpers

import jaxnb
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.staging.session.session import Session

SAMPLE = 60
SEED = drawn_seed()
NEVER_RUN = ("await", "config")  # refused in pieces, too, whatever is thrown in
POOL = [case for case in CASES if not case.raises and case.refused not in NEVER_RUN]
SAMPLED = POOL if DEEP else random.Random(SEED).sample(POOL, SAMPLE)
REUSED = [case for case in SAMPLED if case.reused2 and case.name != "id-that-is-a-key"]
"""That one has other keys in each run, which a piece behind a statement that was thrown in sees."""


def shown(case: Case) -> str:
    return f"{case.theme}-{case.name}-seed={SEED}"


def thrown_into(case: Case) -> Thrown:
    """The case with statements thrown in; it may be refused only if it is refused without them."""
    thrown = throw_in(case, SEED)
    refused = bool(case.refused or case.may_refuse) and is_refused(case)
    tolerance = case.tolerance
    if thrown.kinds & FLOATS:
        low = "float16" in thrown.case.cell + "".join(case.setups)
        tolerance = max(tolerance or 0, 2e-2 if low else 1e-4)
    return dataclasses.replace(thrown, case=dataclasses.replace(thrown.case, may_refuse=refused, tolerance=tolerance))


def is_refused(case: Case) -> bool:
    """Whether a session that has not seen the cell refuses it."""
    with context_of(case):
        namespace = new_namespace(case)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                new_session().stage(case.cell, namespace, StageOptions.of(dict(case.options)))
        except jaxnb.Refused:
            return True
    return False


@pytest.mark.parametrize("case", SAMPLED, ids=shown)
def test_pieces_give_what_plain_gives(case: Case) -> None:
    check_case(thrown_into(case).case)


@pytest.mark.parametrize("case", REUSED, ids=shown)
def test_pieces_are_reused(case: Case) -> None:
    """Once every way through the cell was taken, nothing is traced; a state that moves on may open new ways."""
    thrown = throw_in(case, SEED)
    with context_of(case):
        namespace = new_namespace(thrown.case)
        for turn in range(6):
            outcome = run_staged(thrown.case.cell, namespace, dict(thrown.case.options))
            assert outcome.error is None, f"{outcome.error!r} in\n{thrown.case.cell}"
            exec(case.again, namespace)
            if turn > 1 and outcome.run.reused:
                return
    raise AssertionError(f"{outcome.run.retrace}: {thrown.kinds} in\n{thrown.case.cell}")


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_alone(kind: str) -> None:
    if "plot" in kind and not HAS_PLOTS:
        pytest.skip("matplotlib is not installed")
    text = Template(KINDS[kind]).substitute(name="y", new="new")
    case = Case(kind, cell=f"y = x * 2\n{text}\nz = y + 1", change="x = x * 4", tolerance=1e-4)
    check_case(with_helpers(case))
