"""`%jaxnb` and its subcommands, as functions and in a shell."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from shells import Shell, shell

import jaxnb
from jaxnb._jax import Broken, contract
from jaxnb._jax.contract import Name
from jaxnb.errors import BadHeader, JaxnbError
from jaxnb.shell.commands import COMMANDS, DeviceList, DeviceRow, auto, devices, help_text, run_command
from jaxnb.shell.health import Facts, backend_started, doctor, find_problems, platforms_installed

# --- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "word", "said"),
    [
        ("docter", "docter", "did you mean doctor?"),
        (
            "zzz",
            "zzz",
            "there are session, doctor, devices, mesh, target, targets, cluster, sharding, collectives, timeline,",
        ),
        ("auto onn", "onn", "did you mean on?"),
        ("auto on off", "off", "takes one word"),
        ("doctor now", "now", "leave it out"),
    ],
)
def test_wrong_words_are_pointed_at(line: str, word: str, said: str) -> None:
    with pytest.raises(BadHeader) as caught:
        run_command(line, None)
    error = caught.value
    assert said in str(error) and error.header == f"%jaxnb {line}"
    assert error.header[error.column : error.column + error.width] == word


def test_help_names_every_subcommand(shell: Shell) -> None:
    for text in (help_text(), shell.run("%jaxnb help"), shell.run("%jaxnb")):
        assert all(magic in text for magic in ("%%jit?", "%%grad?", "%%xmap?", "%%jaxpr?"))
        assert all(f"%jaxnb {name}" in text for name in COMMANDS)


def test_a_wrong_subcommand_in_a_shell(shell: Shell) -> None:
    text = shell.run("%jaxnb devicess", ok=False)
    assert "UsageError" in text and "^^^^^^^^" in text and "did you mean devices?" in text and "Traceback" not in text


def test_a_comment_and_a_line_magic_are_no_cell_magic(shell: Shell) -> None:
    assert "there is no 'doctor' for a cell" in shell.run("%%jaxnb doctor\ny = x", ok=False)
    assert "    %%jaxnb doctor" in shell.run("%%jaxnb doctor\ny = x", ok=False)
    assert "staged" in shell.run("%%jaxnb jit --static n\ny = x * n")


def test_auto_needs_the_extension() -> None:
    InteractiveShell.clear_instance()
    with pytest.raises(JaxnbError, match="not loaded"):
        auto(True)


def test_auto_as_a_function(shell: Shell) -> None:
    assert auto() is False and auto(True) is True and auto() is True
    assert "staged" in shell.run("y = x * 2")
    assert auto(False) is False


# --- devices -------------------------------------------------------------------------------------------------------


def test_devices_of_this_process(shell: Shell) -> None:
    found = devices()
    assert [row.name for row in found.rows[:8]] == [f"cpu:{index}" for index in range(8)]
    assert [row.default for row in found.rows].count(True) == 1 and not found.started
    text = shell.run("%jaxnb devices")
    assert "cpu:7" in text and "default" in text and "not reported" in text and "started" not in text
    shell.run("jax.config.update('jax_default_device', jax.devices()[3])")
    try:
        assert [row.name for row in devices().rows if row.default] == ["cpu:3"]
    finally:
        shell.run("jax.config.update('jax_default_device', None)")


def test_memory_as_text() -> None:
    rows = (
        DeviceRow("gpu:0", "H200", 0, (1_500_000, 150_000_000_000), True),
        DeviceRow("gpu:1", "H200", 1, (None, None), False),
    )
    text = str(DeviceList(rows, started=True))
    first, second = text.splitlines()[1:3]
    assert "1.5 MB of 150 GB" in first and first.endswith("default") and second.endswith("not reported")
    assert text.endswith("this started the backend")


def test_looking_at_devices_says_that_it_starts_the_backend() -> None:
    code = (
        "from jaxnb.shell.health import doctor, backend_started; from jaxnb.shell.commands import devices;"
        "a = str(doctor()); before = backend_started(); b = str(devices()); c = str(doctor());"
        "print(before, 'not started' in a, 'this started the backend' in b, 'not started' in c)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True", "False"]


# --- doctor --------------------------------------------------------------------------------------------------------


def test_doctor_in_a_shell(shell: Shell) -> None:
    text = shell.run("%jaxnb doctor")
    for name in ("jaxnb", "Python", "jax", "jaxlib", "numpy", "IPython", "front end", "extension", "backend"):
        assert any(line.startswith(name) for line in text.splitlines()), name
    assert (
        "IPython without a front end" in text
        and "loaded: %%grad, %%jaxnb, %%jaxpr, %%jit, %%xmap" in text
        and "auto is off" in text
    )
    assert "cpu, 8 devices" in text and "force_host_platform_device_count=8" in text
    assert str(doctor(shell.ip)) == text.rstrip("\n")


def test_doctor_outside_ipython_imports_nothing_new() -> None:
    code = (
        "import jaxnb.shell.health as d, sys; r = d.doctor();"
        "print('IPython' in sys.modules, d.backend_started()); print(r)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False False") and "none: plain Python" in done.stdout
    assert "not loaded: %load_ext jaxnb" in done.stdout


def test_platforms_and_backend() -> None:
    assert platforms_installed()[0] == "cpu" and isinstance(backend_started(), bool)


GOOD = Facts(
    versions={"Python": "3.12.1", "jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.1.0", "IPython": "8.24.0"},
    environment={"NPROC": "32"},
)


def with_versions(**versions: str | None) -> Facts:
    return replace(GOOD, versions={**GOOD.versions, **versions})


GONE = Name("jax._src.gone", "base.is_tracer", "tell a tracer from an array", "way to ask")

PROBLEMS: dict[str, tuple[Facts, str | None]] = {
    "none": (GOOD, None),
    "newest": (with_versions(jax="0.12.0.1", jaxlib="0.12.0.1", IPython="9.18.1"), None),
    "old jax": (with_versions(jax="0.9.2", jaxlib="0.9.2"), "outside 0.10 to 0.12"),
    "new jax": (with_versions(jax="0.13.0", jaxlib="0.13.0"), "outside 0.10 to 0.12"),
    "jaxlib of another version": (with_versions(jaxlib="0.11.0"), "do not belong together"),
    "jaxlib newer": (with_versions(jax="0.10.1"), "do not belong together"),
    "no jaxlib": (with_versions(jaxlib=None), "jaxlib is not installed"),
    "old IPython": (with_versions(IPython="8.23.0"), "IPython 8.23.0 is older than 8.24"),
    "old numpy": (with_versions(numpy="1.26.4"), "numpy 1.26.4 is older than 2.0"),
    "virtual devices": (replace(GOOD, cpu_devices=8, environment={}), "NPROC is not set"),
    "few threads": (replace(GOOD, cpu_devices=8, environment={"NPROC": "2"}), "NPROC is 2"),
    "enough threads": (replace(GOOD, cpu_devices=8), None),
    "virtual devices on 0.12": (
        replace(with_versions(jax="0.12.0", jaxlib="0.12.0"), cpu_devices=8, environment={}),
        None,
    ),
    "gpu without plugin": (replace(GOOD, gpu_seen=True), "NVIDIA GPU"),
    "gpu with plugin": (replace(GOOD, gpu_seen=True, plugins={"jax-cuda12-plugin": "0.10.2"}), None),
    "plugin of another version": (replace(GOOD, plugins={"jax-cuda12-plugin": "0.9.0"}), "jax-cuda12-plugin 0.9.0"),
    "a private name is gone": (
        replace(GOOD, broken=[Broken(GONE, "there is no jax._src.gone")]),
        "in jax 0.10.2 there is no jax._src.gone.",
    ),
    "jit disabled": (replace(GOOD, jit_disabled=True), "JAX_DISABLE_JIT"),
}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_known_bad_combinations(kind: str) -> None:
    facts, said = PROBLEMS[kind]
    found = find_problems(facts)
    assert [said in problem.what for problem in found] == ([True] if said else []), found
    assert all("Why: " in str(problem) and "Try: " in str(problem) for problem in found)


def test_a_private_name_that_is_gone_is_told_with_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dict(doctor().rows)["insides of jax"] == "as jaxnb knows them"
    monkeypatch.setattr(contract, "CONTRACT", (*contract.CONTRACT, GONE))
    report = doctor()
    (problem,) = [problem for problem in report.problems if "gone" in problem.what]
    assert problem.why == "jaxnb needs it to tell a tracer from an array; JAX has no public way to ask."
    assert "jax>=0.10,<0.13" in problem.fix and "1 names" not in str(report)
    facts = replace(GOOD, broken=[Broken(GONE, "there is no jax._src.gone")], unloadable=frozenset({"base"}))
    assert "jaxnb._jax.base does not load" in find_problems(facts)[0].why


@pytest.mark.parametrize(
    ("lost", "loads"),
    [
        ("jax._src.tree_util._registry", False),
        ("jax._src.interpreters.partial_eval.DynamicJaxprTrace", False),
        ("jax._src.api._device_get", True),
    ],
)
def test_the_command_says_what_broke_also_where_jaxnb_does_not_load(lost: str, loads: bool) -> None:
    owner, _, name = lost.rpartition(".")
    code = (
        f"import jax, sys, importlib; delattr(importlib.import_module({owner!r}), {name!r});"
        "from jaxnb.shell.cli import main; sys.exit(main(['doctor']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == ""
    assert f"there is no {lost}." in done.stdout and "1 name is missing" in done.stdout
    assert ("jaxnb._jax.base does not load" in done.stdout) != loads


def test_the_extension_says_what_broke() -> None:
    code = (
        "import jax, jax._src.interpreters.partial_eval as home; del home.DynamicJaxprTrace\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.instance().run_cell('%load_ext jaxnb')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "this version of jax is another inside" in done.stdout and "DynamicJaxprTrace" in done.stdout


def test_the_command_without_a_problem() -> None:
    done = subprocess.run([sys.executable, "-m", "jaxnb.shell.cli", "doctor"], capture_output=True, text=True)
    assert done.stdout.startswith("jaxnb ") and done.returncode == int("problem: " in done.stdout)


def test_front_ends_are_told_apart(shell: Shell, monkeypatch: Any) -> None:
    def front_end() -> str:
        return dict(doctor(shell.ip).rows)["front end"]

    monkeypatch.setattr(shell.ip, "kernel", object(), raising=False)
    monkeypatch.delenv("VSCODE_PID", raising=False)
    assert front_end() == "a Jupyter kernel"
    monkeypatch.setenv("VSCODE_PID", "1")
    assert front_end() == "VS Code"
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    assert front_end() == "Colab"


def test_promote_says_which_dtype_comes_of_several(shell: Shell) -> None:
    said = shell.run("%jaxnb promote bfloat16 int32 weak-float")
    assert "bfloat16" in said.splitlines()[0]
    assert "did you mean bfloat16?" in shell.run("%jaxnb promote bfloat15", ok=False)
    shell.run("import jax.numpy as jnp\nh, count = jnp.ones(2, jnp.float16), 3")
    assert "float16, weak-int, bfloat16 → float32" in shell.run("%jaxnb promote h count bf16")
    assert jaxnb.promote(shell.ns["h"], 2.5).dtype == "float16"
