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
    for name in ("jaxnb", "tools", "docs", "extension"):
        left_out = shutil.ignore_patterns("__pycache__", "labextension", "node_modules")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=left_out)
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


def test_a_column_is_one_field(copy: Path) -> None:
    seconds = "    seconds: float | None = column("
    kernels = "    kernels: int | None = column('count', 'kernels that it launches', total='{} kernels')"
    write_over(copy / "jaxnb/program/structure.py", seconds, f"{kernels}\n{seconds}")
    code = """
import json
import runpy
import jsonschema
from jaxnb import views
from jaxnb.program import Computation, Level, Op, Program, Span, compare, decode, encode
from jaxnb.shell.magics import _COLUMNS
tools = {name: runpy.run_path(f"tools/{name}.py", run_name="__main__") for name in ("columns", "reference")}
def program(count):
    ops = (Op("neg", span=Span(1), flops=5, bytes=8, kernels=count), Op("sort", span=Span(2), flops=6, bytes=8))
    return Program("-y\\nsort(x)", (Level("jaxpr", (), (Computation("", ops=ops),)),))
saved = encode(program(2))
jsonschema.validate(saved, json.loads(tools["columns"]["schema"]()))
print(saved["levels"][0]["ops"]["kernels"], decode(saved) == program(2))
print(program(2).text(columns=["kernels"], order="level"))
print(program(2).costs(width=90))
print("≥2" in views.render_html(program(2), line="", columns=["kernels"]), "kernels" in _COLUMNS)
print(compare(program(2), program(3)).sums)
"""
    assert run(copy, code).splitlines() == [
        "[2, -1] True",
        "   kernels",
        "",
        "1        2 █   neg",
        "2        ?     sort",
        "        ≥2   (all)",
        "2 ops · 11 F · 16 B · ≥2 kernels",
        "line   flops   bytes  F/B kernels share         source",
        "   2     6 F     8 B  0.8       ?  55 % ███▎    sort(x)",
        "   1     5 F     8 B  0.6       2  45 % ██▊     -y",
        "kernels not known of: sort (line 2)",
        "True True",
        "2 kernels → 3 kernels (+50 %)",
    ]
    assert "flops, bytes, kernels, memory" in copy.joinpath("docs/reference.md").read_text("utf-8")
    assert '"kernels"' in copy.joinpath("extension/schema/plugin.json").read_text("utf-8")
    if node := shutil.which("node"):  # what the front end draws from
        subprocess.run([node, "schema.mjs"], cwd=copy / "extension", check=True)
        written = copy.joinpath("extension/src/schema.ts").read_text("utf-8")
        assert '"title":"kernels","unit":"count","tells":"kernels that it launches"' in written
        assert "kernels?: IndexOrNone[]" in written


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


@pytest.mark.parametrize("name", ["reference", "columns"])
def test_what_is_written_from_the_code_is_as_the_code_is(name: str) -> None:
    command = [sys.executable, f"tools/{name}.py", "--check"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
