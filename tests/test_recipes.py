"""The recipes of CONTRIBUTING.md, each performed on a copy of the package: one place, and it works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and what stands beside it."""
    for name in ("jaxnb", "tools", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "labextension"))
    return tmp_path


def run(copy: Path, code: str) -> str:
    """What a program prints that imports the copy."""
    done = subprocess.run(
        [sys.executable, "-c", f"import jaxnb\nassert {str(copy)!r} in jaxnb.__file__\n{code}"],
        env={**os.environ, "PYTHONPATH": str(copy)},
        cwd=copy,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def write_over(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def test_a_lint_is_one_module(copy: Path) -> None:
    copy.joinpath("jaxnb/findings/lints/rules/tangent.py").write_text(
        "from jaxnb.findings.lints.lint import Lint\nfrom jaxnb.program import Finding\n\n\n"
        "def find(traced):\n    for eqn in traced.piece.jaxpr.eqns:\n        if eqn.primitive.name == 'tan':\n"
        "            yield Finding('tangent', 'a tangent has poles.', 1)\n\n\nLINT = Lint(find)\n"
    )
    code = """
import jax.numpy as jnp
from jaxnb.shell.magics import JaxNB
from traitlets.config import Config
names = {"jnp": jnp, "x": jnp.ones(3)}
print([(f.kind, f.folded) for f in jaxnb.stage("y = jnp.tan(x)", names).findings])
print([f.kind for f in jaxnb.stage("y = jnp.sin(x)", names).findings])
print(JaxNB(shown_findings=["tangent"]).shown_findings)
"""
    assert run(copy, code).splitlines() == ["[('tangent', True)]", "[]", "['tangent']"]
    assert "tangent" in run(copy, "import runpy\nprint(runpy.run_path('tools/reference.py')['reference']())")


def test_a_cost_rule_is_one_entry(copy: Path) -> None:
    write_over(
        copy / "jaxnb/reading/cost/movement.py",
        "RULES: dict[str, Rule] = {",
        "RULES: dict[str, Rule] = {\n    'approx_top_k': lambda eqn, context: Cost(flops=7.0),",
    )
    code = """
from jaxnb.reading.cost.rules import KNOWN_UNKNOWNS, RULES
print("approx_top_k" in RULES, "approx_top_k" in KNOWN_UNKNOWNS)
"""
    assert run(copy, code) == "True False"


def test_an_option_of_a_magic_is_one_row(copy: Path) -> None:
    write_over(
        copy / "jaxnb/options.py",
        "    strict: bool = _row(",
        "    loud: bool = _row(False, 'flag', 'say everything twice', _CELLS)\n    strict: bool = _row(",
    )
    code = """
from jaxnb.shell.completion import complete_header
from jaxnb.shell.header import GRAD_OPTIONS, JIT_OPTIONS, parse_header
from jaxnb.shell.magics import JaxnbMagics
from jaxnb.options import StageOptions
print(parse_header("--loud", JIT_OPTIONS), "loud" in GRAD_OPTIONS, StageOptions.of({"loud": True}).loud)
print(complete_header("%%jit --lou", 0, 11, {}).texts)
print("--loud      say everything twice" in JaxnbMagics.jit.__doc__, "[--loud]" in JaxnbMagics.jit.__doc__)
"""
    assert run(copy, code).splitlines() == ["{'loud': True} True True", "('--loud',)", "True True"]
    assert "`--loud`" in run(copy, "import runpy\nprint(runpy.run_path('tools/reference.py')['reference']())")


def test_the_reference_is_as_the_code_is() -> None:
    command = [sys.executable, "tools/reference.py", "--check"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
