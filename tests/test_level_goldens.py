"""Every level of some small programs as it was when somebody last read it, on both versions of JAX.

`cases/levels/PROGRAM.LEVEL.txt` holds what all versions have in common, and where they differ there is a file for each,
such as `mlp.hlo.jax0.10.txt`. JAXNB_UPDATE=1 writes them anew; look at the difference before you keep it.
"""

from __future__ import annotations

import os

import jax
import pytest
from golden import CASES, check_golden
from golden_programs import GOLDEN_PROGRAMS
from level_dump import dump_level

from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.program import Program
from jaxnb.staging.session.session import Session

FOLDER = CASES / "levels"
TESTED = ("0.10", "0.12")
VERSION = ".".join(jax.__version__.split(".")[:2])
LEVELS = ("source", "jaxpr", "stablehlo", "hlo")


@pytest.fixture(scope="module", params=GOLDEN_PROGRAMS)
def staged(request) -> tuple[str, Program]:
    setup, cell = GOLDEN_PROGRAMS[request.param]
    namespace = {"__name__": "__main__"}
    exec(setup, namespace)
    program = new_session().stage(cell, namespace, StageOptions()).program
    program.level("hlo")
    return request.param, program


@pytest.mark.skipif(VERSION not in TESTED, reason=f"there are golden files for jax {' and '.join(TESTED)}")
@pytest.mark.parametrize("level", LEVELS)
def test_levels_are_as_they_were(staged: tuple[str, Program], level: str) -> None:
    name, program = staged
    text = dump_level(program, level)
    if os.environ.get("JAXNB_UPDATE") == "1":
        keep(name, level, text)
    own = FOLDER / f"{name}.{level}.jax{VERSION}.txt"
    check_golden(f"levels/{own.name if own.exists() else f'{name}.{level}.txt'}", text)


def keep(name: str, level: str, text: str) -> None:
    """Writes a file for this version, or for both where they have come to agree."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    common = FOLDER / f"{name}.{level}.txt"
    own, other = (FOLDER / f"{name}.{level}.jax{v}.txt" for v in sorted(TESTED, key=lambda v: v != VERSION))
    if common.exists():
        if common.read_text(encoding="utf-8") == text:
            return
        common.rename(other)
    own.write_text(text, encoding="utf-8", newline="\n")
    if other.exists() and other.read_text(encoding="utf-8") == text:
        other.unlink()
        own.rename(common)
