"""What a user of IPython sees: loading, headers, output, errors, and bad input, on a real shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from IPython.utils.capture import capture_output
from shells import ESCAPES, Shell, shell

import jaxnb

# --- loading -------------------------------------------------------------------------------------------------------


def test_loading_prints_one_line_with_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # in which no cluster runs
    text = Shell().run("%load_ext jaxnb")
    assert re.fullmatch(r"jaxnb [\d.]+ · jax [\d.]+ · jaxlib [\d.]+ · Python [\d.]+\n", text)


def test_unloading_removes_every_trace() -> None:
    shell = Shell()
    shell.run("%load_ext jaxnb")
    shell.run("%unload_ext jaxnb")
    before = {
        "line": set(shell.ip.magics_manager.magics["line"]),
        "cell": set(shell.ip.magics_manager.magics["cell"]),
        "registry": set(shell.ip.magics_manager.registry),
        "events": {name: list(found) for name, found in shell.ip.events.callbacks.items()},
        "configurables": list(shell.ip.configurables),
        "attributes": set(vars(shell.ip)),
        "transformers": [*shell.ip.input_transformers_cleanup, *shell.ip.ast_transformers],
        "matchers": list(shell.ip.Completer.custom_matchers),
    }
    shell.run("%load_ext jaxnb")
    assert "jit" in shell.ip.magics_manager.magics["cell"]
    shell.run("%unload_ext jaxnb")
    assert before == {
        "line": set(shell.ip.magics_manager.magics["line"]),
        "cell": set(shell.ip.magics_manager.magics["cell"]),
        "registry": set(shell.ip.magics_manager.registry),
        "events": {name: list(found) for name, found in shell.ip.events.callbacks.items()},
        "configurables": list(shell.ip.configurables),
        "attributes": set(vars(shell.ip)),
        "transformers": [*shell.ip.input_transformers_cleanup, *shell.ip.ast_transformers],
        "matchers": list(shell.ip.Completer.custom_matchers),
    }


def test_reloading_keeps_the_session(shell: Shell) -> None:
    shell.run("%%jit\ny = x @ w")
    shell.run("%reload_ext jaxnb")
    assert shell.run("%%jit\ny = x @ w").startswith("✓ reused")


# --- what is shown -------------------------------------------------------------------------------------------------


def test_the_line_comes_after_the_cells_own_output(shell: Shell) -> None:
    text = shell.run("%%jit\nprint('first')\ny = x @ w\ny")
    value, line = text.index("Array("), text.index("● staged · ")
    assert text.index("first") < value < line and "run " in text
    assert shell.ns["Out"][shell.ip.execution_count - 1] is shell.ns["y"]


def test_a_semicolon_suppresses_the_value_and_nothing_waits(shell: Shell) -> None:
    text = shell.run("%%jit\ny = x @ w\ny;")
    assert "Array" not in text and "dispatched" in text


def test_the_line_says_reused_and_why_retraced(shell: Shell) -> None:
    shell.run("%%jit\ny = x @ w")
    assert shell.run("%%jit\ny = x @ w").startswith("✓ reused · ")
    shell.run("x = x.astype(jnp.bfloat16)")
    assert "retraced: x float32[3] → bfloat16[3]" in shell.run("%%jit\ny = x @ w")


def test_diff_says_what_changed_since_the_run_before(shell: Shell) -> None:
    assert "same" not in shell.run("%%jit --diff\ny = jnp.tanh(x)")
    text = shell.run("%%jit --diff\ny = jnp.tanh(x) * 2")
    assert "1 op → 2 ops (×2)" in text and "2  + c = mul b 2.0  f32[3]" in text
    assert "the same jaxpr, op by op" in shell.run("%%jit --diff\ny = jnp.tanh(x) * 2")


def test_the_line_says_flops_and_memory(shell: Shell) -> None:
    assert " · peak 24 B · 3 flops · 1 input → 1 name · 1 eqn" in shell.run("%%jit\ny = x * 2")


def test_config_switches_the_line_off(shell: Shell) -> None:
    shell.run("%config JaxNB.display = 'none'")
    assert shell.run("%%jit\ny = x @ w") == ""


def test_time_and_capture_stack(shell: Shell) -> None:
    text = shell.run("%%time\n%%jit\ny = x * 3\ny")
    assert "Wall time" in text and "staged" in text
    assert shell.run("%%capture out\n%%jit\nprint('inside')\ny = x * 4") == ""
    assert "inside" in shell.ns["out"].stdout and len(shell.ns["out"].outputs) == 1


def test_timeit_prints_one_line_of_ours(shell: Shell) -> None:
    text = shell.run("%%timeit -n 7 -r 2\n%%jit\ny = x * 5")
    lines = [line for line in text.splitlines() if "staged" in line or "reused" in line]
    assert len(lines) == 1 and lines[0].startswith("● staged · reused 13 more times · trace")
    text = shell.run("%%timeit -n 1 -r 2\n# jaxnb: jit\ny = x * 5")
    assert text.count(" · reused 1 more time · ") == 1 and "more times" not in text
    text = shell.run("%%timeit -n 3 -r 1\n%%jit --whole\ny = x * np.random.rand()")
    assert "↻ traced again · run 3 times, traced 2 more times · " in text and text.count("traced again") == 1


def test_two_staged_cells_in_one_are_two_lines(shell: Shell) -> None:
    text = shell.run(
        "for _ in range(3):\n"
        "    get_ipython().run_cell_magic('jit', '', 'y = x * 6')\n"
        "    get_ipython().run_cell_magic('jit', '', 'z = x * 7')"
    )
    assert text.count("staged") == 2 and text.count("reused 2 more times") == 2


def test_prun_stacks(shell: Shell) -> None:
    text = shell.run("%%prun -q -T /dev/null\n%%jit\ny = x * 8\ny")
    assert text.count("staged") == 1 and float(shell.ns["y"][1]) == 8.0


@pytest.mark.parametrize("below", ["%%time", "%%capture out", "%%timeit -n 2", "%%bash", "\n# why\n%%time"])
@pytest.mark.parametrize("above", ["%%jit", "%%jit --static n\n#: --keep y", "# jaxnb: jit", "%%jaxpr"])
def test_a_magic_that_belongs_above_is_not_staged(shell: Shell, above: str, below: str) -> None:
    text = shell.run(f"{above}\n{below}\ny = x * 3", ok=False)
    name = below.split()[-1] if "why" in below else below.split()[0]
    assert f"Try: put {name} above {above.splitlines()[0].partition(' --')[0]}." in text.replace("%%jaxnb", "# jaxnb:")
    assert "y" not in shell.ns
    assert "keep one of them" in shell.run(f"{above}\n%%grad y wrt x\ny = x.sum()", ok=False)


def test_errors_inside_stacked_magics_show_the_cell(shell: Shell) -> None:
    for above in ("%%time", "%%capture out", "%%prun -q -T /dev/null"):
        text = shell.run(f"{above}\n%%jit\ny = x @ jnp.ones(7)", ok=None)
        if "capture" in above:  # IPython captures tracebacks too
            text = ESCAPES.sub("", shell.ns["out"].stdout)
        assert "y = x @ jnp.ones(7)" in text and "dot_general requires" in text and "staging.py" not in text


def test_autoreload_makes_new_code_count(shell: Shell, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "jaxnb_reloaded.py"
    file.write_text("import jax.numpy as jnp\ndef f(a):\n    return jnp.sin(a)\n")
    shell.run("%load_ext autoreload")
    shell.run("%autoreload 2")
    try:
        shell.run("import jaxnb_reloaded")
        shell.run("%%jit\ny = jaxnb_reloaded.f(x) * 0 + 1")
        assert shell.run("%%jit\ny = jaxnb_reloaded.f(x) * 0 + 1").startswith("✓ reused")
        file.write_text("import jax.numpy as jnp\ndef f(a):\n    return jnp.cos(a) + 1e30 * 0 + 2\n")
        os.utime(file, (time.time() + 10, time.time() + 10))
        text = shell.run("%%jit\ny = jaxnb_reloaded.f(x) * 0 + 1")
        assert text.startswith("↻ retraced") and float(shell.ns["y"][0]) == 1.0
        assert "cos" in str(jaxnb.last().program)
    finally:
        shell.run("%autoreload 0")
        sys.modules.pop("jaxnb_reloaded", None)


def test_help_shows_examples(shell: Shell) -> None:
    for magic, fragments in {
        "%%jit": ["Stages the cell", "--static", "Examples:", "%%jit --device cpu:1"],
        "%%jaxpr": ["Traces an expression", "Examples:", "%jaxpr jnp.sin(x) @ w"],
        "%jaxnb": ["%jaxnb doctor", "# jaxnb: jit"],
    }.items():
        text = shell.run(f"{magic}?")
        assert all(fragment in text for fragment in fragments), text


def test_config_explains_the_settings(shell: Shell) -> None:
    text = shell.run("%config JaxNB")
    for name, words in {
        "cache_size": "programs are kept",
        "display": "under a staged cell",
        "auto": "plain cell",
    }.items():
        assert f"JaxNB.{name}" in text and words in text
    shell.run("%config JaxNB.display = 'nonsense'", ok=None)  # IPython says what is wrong, and nothing is changed
    assert "staged" in shell.run("%%jit\ny = x @ w")
    shell.run("%config JaxNB.display = 'none'")
    shell.run("%reload_ext jaxnb")
    assert shell.run("%%jit\ny = x @ w") == ""


def test_rich_front_ends_get_html_and_json(shell: Shell) -> None:
    shell.ip.display_formatter.active_types = ["text/plain", "text/html"]
    for _ in range(2):
        with capture_output() as caught:
            shell.ip.run_cell("%%jit\ny = jnp.sin(x) @ w")
        (data,) = [item.data for item in caught.outputs]
        assert {"text/plain", "text/html", "application/vnd.jaxnb.program.v1+json"} == set(data)
        assert data["text/plain"] in data["text/html"].replace("&gt;", ">") and "<script" not in data["text/html"]
        assert "dot_general" in data["text/html"]
    assert data["text/plain"].startswith("✓ reused")


LOOKED_AT = {
    "jaxnb.last()": "● staged",
    "jaxnb.last().program": "◇ program · 2 eqns",
    "jaxnb.inspect(lambda v: jnp.sin(v) @ w)(x)": "◇ program · 2 eqns",
}


@pytest.mark.parametrize("cell", LOOKED_AT)
def test_a_run_or_program_that_a_cell_ends_with_is_shown_as_the_inspector(shell: Shell, cell: str) -> None:
    shell.run("import jaxnb")
    shell.run("%%jit\ny = jnp.sin(x) @ w")
    text = shell.run(cell)
    assert LOOKED_AT[cell] in text and "dot_general" in text and "Level(" not in text
    shell.ip.display_formatter.active_types = ["text/plain", "text/html"]
    data, metadata = shell.ip.display_formatter.format(shell.ip.ev(cell))
    assert {"text/plain", "text/html", "application/vnd.jaxnb.program.v1+json"} == set(data)
    assert metadata["application/vnd.jaxnb.program.v1+json"]["levels"] == ["jaxpr", "stablehlo", "hlo"]


def test_without_the_extension_they_show_themselves_as_text_and_html(shell: Shell) -> None:
    run = jaxnb.stage("y = jnp.sin(x) @ w", dict(shell.ns))
    shell.run("%unload_ext jaxnb")
    for shown in (run, run.program):
        data, _ = shell.ip.display_formatter.mimebundle_formatter(shown)
        assert "dot_general" in data["text/plain"] and "dot_general" in data["text/html"]
    assert repr(run.program) == "<jaxnb.Program of 1 line: jaxpr (2 ops); can be made: stablehlo, hlo>"


def test_a_run_that_computed_nothing_is_its_line(shell: Shell) -> None:
    shell.run("import jaxnb")
    shell.run("%%jit\nv = 1")
    assert shell.run("jaxnb.last()").strip().endswith("○ nothing compiled: Python ran every statement")


@pytest.mark.parametrize("count", [3, 40, 90, 400])
def test_an_output_saves_at_most_15_kb(shell: Shell, count: int) -> None:
    shell.ip.display_formatter.active_types = ["text/plain", "text/html"]
    with capture_output() as caught:
        shell.ip.run_cell(f"%%jaxpr\ny = x\nfor _ in range({count}):\n    y = jnp.sin(y) * 0.5")
    (data,) = [item.data for item in caught.outputs]
    kept = {name: part for name, part in data.items() if name != "text/plain"}
    assert sum(len(json.dumps(part)) for part in kept.values()) <= 15_500
    saved = [level["name"] for level in data["application/vnd.jaxnb.program.v1+json"]["levels"]]
    assert saved == (["source", "jaxpr"] if count <= 40 else ["source"])


def test_jaxpr_shows_and_binds_nothing(shell: Shell) -> None:
    text = shell.run("%jaxpr jnp.sin(x) * 2")
    assert "sin a" in text and "nothing was compiled" in text
    before = set(shell.ns)
    text = shell.run("%%jaxpr\nfresh = jnp.cos(x)\nfresh.sum()")
    assert (
        "cos" in text and "reduce_sum" in text and "fresh" not in shell.ns and set(shell.ns) - before <= {"_i4", "_i5"}
    )


def test_inspect_traces_a_function() -> None:
    import jax.numpy as jnp

    def double(a: Any) -> Any:
        return jnp.sin(a) * 2

    program = jaxnb.inspect(double)(jnp.ones(3))
    assert [op.name for op in program.level("jaxpr").ops()] == ["sin", "mul"]
    assert [op.line for op in program.level("jaxpr").ops()] == [2, 2]


def test_last_and_output_name(shell: Shell) -> None:
    shell.run("%%jit -o run\ny = x * 2\ny.sum()")
    run = shell.ns["run"]
    assert run is jaxnb.last() and list(run.outputs) == ["y"] and float(run.value) == 6.0
    assert run.timings.trace > 0 and run.timings.compile > 0 and not run.reused
    assert [level.name for level in run.program.levels] == ["source", "jaxpr"]
    assert repr(run).startswith("<jaxnb.Run ● staged")


# --- options -------------------------------------------------------------------------------------------------------


def test_options_with_lists_and_continued_headers(shell: Shell) -> None:
    shell.run("a, b = 1.5, 2.5")
    shell.run("%%jit --static a, b\n#: --keep y\n#: --block\nz = x * a\ny = z * b")
    assert "y" in shell.ns and "z" not in shell.ns
    shell.run("a = 3.5")
    assert "retraced: a 1.5 → 3.5" in shell.run("%%jit --static a, b\n#: --keep y\n#: --block\nz = x * a\ny = z * b")


def test_device_moves_and_counts_bytes(shell: Shell) -> None:
    text = shell.run("%%jit --device cpu:1\ny = x @ w\nz = jnp.ones(2)")
    assert "moved 36 B" in text
    assert {d.id for name in "yz" for d in shell.ns[name].devices()} == {1}
    assert {d.id for d in shell.ns["x"].devices()} == {0}


def test_whole_refuses_two_pieces(shell: Shell) -> None:
    text = shell.run("%%jit --whole\ny = x * 2\nprint('between')\nz = y * 3", ok=False)
    assert "Refused" in text and "line 3" in text and "y" not in shell.ns


# --- errors --------------------------------------------------------------------------------------------------------


def test_tracebacks_show_the_cells_own_lines(shell: Shell) -> None:
    shell.run("def helper(a):\n    return a @ jnp.ones(7)")
    text = shell.run("%%jit\n\ny = x * 2\nz = helper(y)", ok=False)
    assert "----> 4 z = helper(y)" in text and "----> 2     return a @ jnp.ones(7)" in text
    assert "dot_general requires contracting dimensions" in text
    assert "site-packages" not in text and "staging.py" not in text
    again = shell.run("%tb")
    assert "----> 4 z = helper(y)" in again and "staging.py" not in again
    assert shell.ip.InteractiveTB.tb.tb_frame.f_code.co_name in ("<module>", "helper")


def test_a_traceback_of_a_rerun_names_the_present_cell(shell: Shell) -> None:
    for _ in range(2):
        plain = shell.run("1 / 0", ok=False)
        number = int(re.search(r"Cell In\[(\d+)\]", plain).group(1)) + 1
        text = shell.run("%%jit\ny = x @ jnp.ones(9)", ok=False)
        assert f"Cell In[{number}], line 2" in text


BAD = {
    "unknown option": ("%%jit --statc n\ny = x", ["--statc", "^^^^^^^", "did you mean --static?"]),
    "option twice": ("%%jit --block --block\ny = x", ["given twice"]),
    "option without its word": ("%%jit --device\ny = x", ["--device wants a word"]),
    "a name that is not read": ("%%jit --static q\ny = x", ["does not read `q`", "it reads x"]),
    "a name that is not bound": ("%%jit --keep q\ny = x * 2", ["does not bind `q`"]),
    "unknown device": ("%%jit --device xpu:3\ny = x", ["no device 'xpu:3'", "cpu:0"]),
    "device number": ("%%jit --device cpu:99\ny = x", ["no device 'cpu:99'", "cpu:7"]),
    "syntax": ("%%jit\ny = x\nz = (y", ["line 3", "SyntaxError: '(' was never closed"]),
    "await": ("%%jit\nawait x", ["line 2 awaits at top level"]),
    "yield": ("%%jit\ny = x\nyield y", ["line 3", "'yield' outside function"]),
    "return": ("%%jit\nreturn x", ["line 2", "'return' outside function"]),
    "magic inside": ("%%jit\ny = x\n%time y", ["line 3 is a magic or shell line"]),
    "shell inside": ("%%jit\nfiles = !ls\ny = x", ["line 2 is a magic or shell line"]),
    "deleted array": ("%%jit\ny = gone * 2", ["`gone` was deleted"]),
    "string array": ("%%jit\ny = jnp.asarray(words)", ["words", "line 2"]),
    "config": ("%%jit --whole\njax.config.update('jax_enable_x64', True)\ny = x", ["line 2 changes jax.config"]),
    "value needed": (
        "%%jit\ny = jax.vmap(lambda a: 1 if a > 1 else 2)(x)",
        ["`a > 1` needs the value of a traced bool[]", "fed by x, under vmap", "jnp.where(a > 1, 1, 2)"],
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_gets_one_clear_message_and_loses_nothing(shell: Shell, kind: str) -> None:
    shell.run("gone = x + 1\ngone.delete()\nwords = np.array(['a', 'b'])")
    cell, fragments = BAD[kind]
    before = {name: value for name, value in shell.ns.items() if not name.startswith("_") and name not in ("In", "Out")}
    text = shell.run(cell, ok=False)
    for fragment in fragments:
        assert fragment in text, text
    assert "jaxnb/" not in text and "site-packages" not in text, text
    after = {name: value for name, value in shell.ns.items() if not name.startswith("_") and name not in ("In", "Out")}
    assert after.keys() == before.keys() and all(after[name] is before[name] for name in before)


def test_empty_and_comment_only_cells_say_so(shell: Shell) -> None:
    assert "cell body is empty" in shell.run("%%jit\n", ok=None)
    assert "nothing compiled: the cell holds no statement" in shell.run("%%jit\n# only words")


def test_a_cell_can_be_taken_away_as_a_file(shell: Shell) -> None:
    shell.run("%%jit\nh = jnp.tanh(x)  # hidden\nloss = h.sum()\nloss")
    text = jaxnb.last().to_source("loss_of")
    assert "@jax.jit\ndef loss_of(x):" in text and "h = jnp.tanh(x)  # hidden" in text
    away: dict[str, Any] = {}
    exec(text, away)
    assert float(away["loss_of"](shell.ns["x"])["loss"]) == float(shell.ns["loss"])
    shell.run("%%jit\nimport math")
    with pytest.raises(jaxnb.JaxnbError, match="cannot be written"):
        jaxnb.last().to_source()


def test_outside_ipython() -> None:
    code = (
        "import jaxnb, jax.numpy as jnp; ns = {'jnp': jnp, 'x': jnp.ones(3)};"
        "run = jaxnb.stage('y = x * 2\\ny.sum()', ns); print(run.value, jaxnb.last() is run)\n"
        "try: jaxnb.stage('if x.sum() > 0: z = 1', ns, whole=True)\n"
        "except jaxnb.Refused as error: print(error.line, 'z' in ns)\n"
        "try: jaxnb.stage('y = x', ns, statc='n')\n"
        "except jaxnb.JaxnbError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second, third = done.stdout.splitlines()[:3]
    assert (first, second) == ("6.0 True", "1 False") and "no option 'statc'" in third


# --- progress ------------------------------------------------------------------------------------------------------


def test_progress_appears_after_a_while_and_is_wiped_out(monkeypatch: Any) -> None:
    from jaxnb.shell.progress import Progress

    written: list[str] = []

    class Screen:
        def write(self, text: str) -> None:
            written.append(text)

        def flush(self) -> None: ...

        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Screen())
    quick = Progress(object(), delay=0.2)
    quick("tracing")
    quick.silence()
    assert written == []
    slow = Progress(object(), delay=0.05)
    slow("compiling")
    time.sleep(0.4)
    slow.silence()
    assert re.match(r"\rcompiling … 0\.\d s", written[0]) and written[-1] == "\r\x1b[K"


@pytest.mark.parametrize("level", ["jaxpr", "stablehlo", "hlo"])
def test_a_cell_is_shown_at_the_level_that_is_asked_for(shell: Shell, level: str) -> None:
    text = shell.run(f"%%jaxpr --level {level}\nh = jnp.tanh(x @ w)\nloss = (h**2).sum()")
    assert text.startswith("◇ traced only: nothing was ") and " · 4 eqns\n" in text
    assert ("nothing was compiled" in text) == (level != "hlo")
    assert "2  h = jnp.tanh(x @ w)" in text
    assert "tanh" in text.partition("2  h = ")[2].partition("3  loss")[0].replace("jnp.tanh", "")
    assert "reduce" in text.partition("3  loss = ")[2]
    assert "h" not in shell.ns
    assert "did you mean" in shell.run("%%jaxpr --levl hlo\nx", ok=False)
    assert "there is no such level" in shell.run("%%jaxpr --level hlow\nx", ok=False)


def test_a_level_in_its_own_order_and_what_it_costs(shell: Shell) -> None:
    text = shell.run("%%jaxpr --order level --columns flops, bytes\nh = jnp.tanh(x @ w)\nloss = (h**2).sum()")
    assert re.search(r"^ +flops +bytes", text, re.MULTILINE) and "(all)" in text
    rows = [line for line in text.splitlines() if " = " in line]
    assert [row.split(" = ")[1].split()[0] for row in rows] == ["dot_general", "tanh", "integer_pow", "reduce_sum"]
    assert "there is no such order" in shell.run("%%jaxpr --order up\nx", ok=False)
    assert "there is no such column" in shell.run("%%jaxpr --columns flop\nx", ok=False)


# --- what is measured ----------------------------------------------------------------------------------------------


def test_time_says_what_each_line_took(shell: Shell) -> None:
    text = shell.run("%%jit --time -o timed\ny = jnp.sort(jnp.tanh(x @ jnp.ones((3, 2000))))\ntotal = y.sum()")
    assert re.search(r" · timed [\d.]+ [um]s( ± [\d.]+ [um]s)? in \d+ runs? · peak ", text)
    assert re.search(r"^line +flops +bytes +F/B +time share +source$", text, re.MULTILINE)
    program = shell.ns["timed"].program
    seconds = sum(op.seconds for op in program.ops("jaxpr") if op.seconds is not None)
    assert program.timing.total > 0 and abs(seconds - program.timing.total) < 0.02 * program.timing.total
    assert program.coverage().time_eqn > 0.98


def test_what_was_asked_for_is_an_output_of_its_own(shell: Shell) -> None:
    shell.ip.display_formatter.active_types = list(shell.ip.display_formatter.format_types)
    with capture_output() as caught:
        shell.ip.run_cell("%%jit --time\ny = jnp.tanh(x)")
        shell.ip.run_cell("%%jit --time --diff\ny = jnp.tanh(x) + 1")
    first, costs, second, again, diff = [item.data for item in caught.outputs]
    assert "text/html" in first and "text/html" in second and "\n" not in first["text/plain"]
    assert costs["text/plain"].splitlines()[1].startswith("line") and "tanh" in costs["text/plain"]
    assert again["text/plain"].splitlines()[1].startswith("line") and "1 added" in diff["text/plain"]


def test_time_does_nothing_twice(shell: Shell) -> None:
    text = shell.run("%%jit --time\njax.debug.print('seen {}', x.sum())\ny = x * 2")
    assert text.count("seen") == 1 and "not measured, because a further run would repeat" in text


def test_time_of_donated_inputs(shell: Shell) -> None:
    before = np.asarray(shell.ns["x"])
    assert "timed" in shell.run("%%jit --time --donate x\nx = x * 2 + 1")
    assert np.array_equal(shell.ns["x"], before * 2 + 1)
