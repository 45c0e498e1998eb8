"""What TAB offers in headers, as a function of text and cursor, and through IPython's completer."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from shells import Shell, shell

from jaxnb import fake_mesh
from jaxnb.shell.completion import complete_header
from jaxnb.shell.header import JIT_OPTIONS, XMAP_OPTIONS

Pair = namedtuple("Pair", "left right")


@dataclass
class Config:
    layers: int = 2
    name: str = "a"


class Guarded:
    __slots__ = ("_hidden", "kept", "unset")

    def __init__(self) -> None:
        self.kept, self._hidden = 1, 2

    @property
    def dangerous(self) -> Any:
        raise AssertionError("completion ran a property")

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("completion ran __getattr__")


NAMESPACE: dict[str, Any] = {
    "cfg": Config(),
    "params": {"w": np.ones(3), "b c": 1, 3: Config()},
    "pair": Pair(Config(), [1, 2]),
    "guarded": Guarded(),
    "n": 2,
    "m": 3,
    "np": np,
    "Config": Config,
    "_private": 1,
    "In": [],
    "mesh": fake_mesh(rows=4, columns=2),
}
MAP = [f"--{name}" if len(name) > 1 else f"-{name}" for name in XMAP_OPTIONS]
ALL = tuple(f"--{name}" if len(name) > 1 else f"-{name}" for name in JIT_OPTIONS)


def offered(text: str) -> tuple[str, list[str]] | None:
    """What is offered at the `|`."""
    before, _, after = text.partition("|")
    line = before.count("\n")
    column = len(before) - before.rfind("\n") - 1
    offer = complete_header(before + after, line, column, NAMESPACE)
    return None if offer is None else (offer.fragment, list(offer.texts))


@pytest.mark.parametrize(
    ("text", "fragment", "texts"),
    [
        ("%%jit |\ny = n", "", list(ALL)),
        ("%%jit --st|\ny = n", "--st", ["--static", "--strict"]),
        ("%%jit st|", "st", ["--static", "--strict"]),
        ("%%jit --block --b|", "--b", []),
        ("%%jit --block -|", "-", [name for name in ALL if name != "--block"]),
        ("%%jit -| --whole", "-", [name for name in ALL if name != "--whole"]),
        ("%%jit\n#: --whole\n#: --w|\ny = n", "--w", ["--where"]),
        ("%%jit --shapes 'x: b, 3' --where |", "", ['"b >= 1', '"mod(b, 8) == 0']),
        ("%%jit --shapes 'x: b, 3' --where 'b >= 1, m|", "m", ["mod(b, 8) == 0"]),
        ("%%jit --shapes 'x: b, 3' --bl|", "--bl", ["--block"]),
        ("%%jit --whole\n#: --bl|\ny = n", "--bl", ["--block"]),
        (
            "%%jaxpr |",
            "",
            [
                "--static",
                "--dynamic",
                "--shapes",
                "--where",
                "--target",
                "--level",
                "--lower",
                "--order",
                "--columns",
                "-o",
            ],
        ),
        ("%%jit --target v5|\ny = x", "v5", ["v5e", "v5p"]),
        ("%%xmap n[i] -> y[i] --target h|\ny = n", "h", ["h100", "h200"]),
        ("%jaxnb target a100|", "a100", ["a100-40gb", "a100"]),
        ("%%jaxpr --lower cu|", "cu", ["cuda"]),
        ("%%jaxpr --lower tpu, c|", "c", ["cpu", "cuda"]),
        ("%%jaxpr --columns flops, b|", "b", ["bytes"]),
        ("%%jaxpr --level |", "", ["jaxpr", "stablehlo", "hlo"]),
        ("%%jaxpr --level st|", "st", ["stablehlo"]),
        ("%%time\n%%jit --blo|", "--blo", ["--block"]),
        ("# jaxnb: |\ny = n", "", ["jit", "grad", "xmap", "off"]),
        ("# jaxnb: j|", "j", ["jit"]),
        ("# jaxnb: jit --blo|\ny = n", "--blo", ["--block"]),
        ("%%capture\n# jaxnb: jit --blo|", "--blo", ["--block"]),
        ("%%jit --static |\ny = n + q", "", ["n"]),
        ("%%jit --static |\ny = (", "", ["cfg", "guarded", "m", "mesh", "n", "pair", "params"]),
        ("%%jit --static n, |\ny = n + m", "", ["m"]),
        ("%%jit --static n,p|\ny = (", "p", ["pair", "params"]),
        ("%%jit --static n |\ny = n", "", [name for name in ALL if name != "--static"]),
        ("%%jit --static=c|\ny = cfg", "c", ["cfg"]),
        ("%%jit --static n, cfg.|\ny = cfg", "cfg.", ["cfg.layers", "cfg.name"]),
        ("%%jit --donate params[|\ny = n", "params[", ["params['w']", "params['b c']", "params[3]"]),
        ("%%jit --donate params['b |\ny = n", "params['b ", ["params['b c']"]),
        ('%%jit --donate params["w|\ny = n', 'params["w', ["params['w']"]),
        ("%%jit --dynamic params[3].l|", "params[3].l", ["params[3].layers"]),
        ("%%jit --static pair.|", "pair.", ["pair.left", "pair.right"]),
        ("%%jit --static pair.left.|", "pair.left.", ["pair.left.layers", "pair.left.name"]),
        ("%%jit --static pair.right[|", "pair.right[", ["pair.right[0]", "pair.right[1]"]),
        ("%%jit --static guarded.|", "guarded.", ["guarded.kept"]),
        ("%%jit --static guarded.dangerous.|", "guarded.dangerous.", []),
        ("%%jit --static nowhere.|", "nowhere.", []),
        ("%%jit --static n().|", "n().", []),
        ("%%jit --keep |\nz = n\ny = z\ndef f(): pass", "", ["z", "y", "f"]),
        ("%%jit --keep z, |\nz = n\ny = z", "", ["y"]),
        ("%%jit --keep |\nz = n\ny, = (", "", ["z"]),
        ("%%jit -o |", "", []),
        ("%%jit -o run |", "", [name for name in ALL if name != "-o"]),
        ("%%grad |\nloss = n\ny = 1", "", ["loss", "y"]),
        ("%%grad lo|\nloss = n", "lo", ["loss"]),
        ("%%grad loss |\nloss = n", "", ["wrt"]),
        ("%%grad loss w|\nloss = n", "w", ["wrt"]),
        ("%%grad loss wrt |\nloss = n * m", "", ["m", "n"]),
        ("%%grad loss wrt n, |\nloss = n * m", "", ["m"]),
        ("%%grad loss wrt n --v|\nloss = n * m", "--v", ["--value-and"]),
        ("%%grad loss wrt n --value-and --h|\nloss = n", "--h", ["--has-aux", "--hessian", "--here"]),
        ("%%grad loss wrt n --jvp |\nloss = n * m", "", ["m", "n"]),
        ("# jaxnb: grad loss w|\nloss = n", "w", ["wrt"]),
        ("%%xmap |\ny = n * m", "", ["m", "n"]),
        ("%%xmap n[i], |\ny = n * m", "", ["m"]),
        ("%%xmap pa|\ny = params", "pa", ["params"]),
        ("%%xmap params.|\ny = params", "params.", ["params.*", "params.w"]),
        ("%%xmap pair.left.|\ny = pair", "pair.left.", ["pair.left.*", "pair.left.layers", "pair.left.name"]),
        ("%%xmap guarded.|\ny = guarded", "guarded.", ["guarded.*", "guarded.kept"]),
        ("%%xmap n[|\ny = n", "", ["_", "..."]),
        ("%%xmap n[batch, i], m[b|\ny = n", "b", ["batch"]),
        ("%%xmap n[batch, i], m[batch, |\ny = n", "", ["i", "_", "..."]),
        ("%%xmap n[b|] -> y[batch]\ny = n", "b", ["batch"]),
        ("%%xmap n[i] |\ny = n", "", ["->"]),
        ("%%xmap n[i] -> |\nz = n\ny = z", "", ["z", "y"]),
        ("%%xmap n[i] -> z[i], |\nz = n\ny = z", "", ["y"]),
        ("%%xmap n[i, j] -> y[|\ny = n", "", ["i", "j", "_", "..."]),
        ("%%xmap n[i] -> y[k|] --sizes kind=3\ny = n", "k", ["kind"]),
        ("%%xmap n[i] -> y[i] -|\ny = n", "-", MAP),
        ("%%xmap n[i] -> y[i] --lowering |\ny = n", "", ["manual", "spmd"]),
        ("%%xmap n[i] -> y[i] --mesh |\ny = n", "", ["mesh"]),
        ("%%xmap n[i, j] -> y[i] --resources |\ny = n", "", ["i=", "j=", "auto"]),
        ("%%xmap n[i] -> y[i] --mesh a=4, b=2 --resources i=|\ny = n", "", ["a", "b", "loop("]),
        ("%%xmap n[i] -> y[i] --resources auto --hardware tpu-v5|\ny = n", "tpu-v5", ["tpu-v5e", "tpu-v5p"]),
        ("%%xmap n[i, j] -> y[i] --resources i=rows, |\ny = n", "", ["j="]),
        ("%%xmap n[i, j] -> y[i] --mesh mesh --resources i=|\ny = n", "", ["rows", "columns", "loop("]),
        ("%%xmap n[i, j] -> y[i] --resources i=(rows, c|) --mesh mesh\ny = n", "c", ["columns"]),
        ("%%xmap n[i] -> y[i] --sizes |\ny = n", "", ["i="]),
        ("%%xmap n[i] -> y[i] --mesh mesh --bl|\ny = n", "--bl", ["--block"]),
        ("# jaxnb: xmap n[i] -> |\ny = n", "", ["y"]),
        (
            "%jaxnb |",
            "",
            [
                "session",
                "doctor",
                "devices",
                "mesh",
                "target",
                "targets",
                "cluster",
                "sharding",
                "collectives",
                "timeline",
                "axes",
                "kernels",
                "ptx",
                "promote",
                "gradient",
                "remat",
                "memory",
                "leaks",
                "retraces",
                "try",
                "auto",
                "help",
            ],
        ),
        ("x = 1\n%jaxnb d|", "d", ["doctor", "devices"]),
        ("%jaxnb auto |", "", ["on", "off"]),
        ("%jaxnb mesh |", "", ["off"]),
        ("%jaxnb auto of|", "of", ["off"]),
        ("%jaxnb nonsense o|", "o", []),
        ("%jaxnb auto on |", "", []),
        ("%jaxnb auto on o|", "o", []),
    ],
)
def test_what_is_offered(text: str, fragment: str, texts: list[str]) -> None:
    assert offered(text) == (fragment, texts)


@pytest.mark.parametrize(
    "text",
    ["|", "y|", "%%jit|", "%%ji|", "%%jit\ny|", "%%jit --static n\ny = n.|", "# jaxnb|", "%%time -|", "%%jitter --|"]
    + ["y = 1\n# jaxnb: |", "# a remark |", "%jaxnb|", "#: --|", "%%timeit -n 3\ny = --|"],
)
def test_elsewhere_nothing_is_said(text: str) -> None:
    assert offered(text) is None


def test_devices_are_listed_only_once_a_backend_runs() -> None:
    code = (
        "import jax; from jaxnb.shell.completion import complete_header as c;"
        "from jaxnb.staging.session.backend import backend_started as b;"
        "t = '%%jit --device '; print(c(t, 0, len(t), {}).texts, b()); jax.devices(); print(c(t, 0, len(t), {}).texts)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first.startswith("('cpu',") and first.endswith("False") and "'cpu:7'" in second


PIECES = [
    "%%jit",
    "%%jaxpr",
    "%%xmap ",
    "->",
    "# jaxnb:",
    " jit",
    "%jaxnb ",
    "#:",
    "\n",
    " ",
    "--static",
    "=",
    ",",
    "n",
    "params['",
    "[",
    ".",
]


@settings(max_examples=500, database=None)
@given(
    st.lists(st.sampled_from([*PIECES, "cfg", "'", "]", "--keep", "-o", "-", "é", "%%time\n"]), max_size=12), st.data()
)
def test_any_text_gets_an_answer_that_fits_the_cursor(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    lines = text.split("\n")
    line = data.draw(st.integers(0, len(lines) - 1))
    column = data.draw(st.integers(0, len(lines[line])))
    offer = complete_header(text, line, column, NAMESPACE)
    if offer is not None:
        assert lines[line][:column].endswith(offer.fragment)


# --- through IPython -----------------------------------------------------------------------------------------------


def tab(shell: Shell, text: str) -> list[str]:
    """What a notebook puts in place of the text, for each thing that is offered at the `|`."""
    before, _, after = text.partition("|")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(shell.ip.Completer.completions(before + after, len(before)))
    return [(before + after)[: item.start] + item.text + (before + after)[item.end :] for item in found]


def test_in_a_notebook(shell: Shell) -> None:
    assert tab(shell, "%%jit --stat|\ny = x") == ["%%jit --static\ny = x"]
    assert tab(shell, "%%jit --static |\ny = x * n") == ["%%jit --static n\ny = x * n", "%%jit --static x\ny = x * n"]
    assert tab(shell, "%%jit --keep |\nfresh = x") == ["%%jit --keep fresh\nfresh = x"]
    assert "%%jit --device cpu:7" in tab(shell, "%%jit --device cpu:|")
    assert tab(shell, "%jaxnb doc|") == ["%jaxnb doctor"]
    assert tab(shell, "# jaxnb: jit --who|\ny = x") == ["# jaxnb: jit --whole\ny = x"]
    shell.run("params = {'w1': x, 'w2': w}")
    assert tab(shell, "%%jit --donate params['|\ny = x") == [
        "%%jit --donate params['w1']\ny = x",
        "%%jit --donate params['w2']\ny = x",
    ]


def test_elsewhere_ipython_completes_as_before(shell: Shell) -> None:
    assert any("arange" in text for text in tab(shell, "%%jit\ny = jnp.ara|"))
    assert "%%jit" in tab(shell, "%%ji|")


def test_in_a_terminal(shell: Shell) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert shell.ip.complete("--blo", "%%jit --blo", 11)[1] == ["--block"]


def test_unloading_takes_the_matcher_away(shell: Shell) -> None:
    shell.run("%reload_ext jaxnb")
    assert len(shell.ip.Completer.custom_matchers) == 1
    shell.run("%unload_ext jaxnb")
    assert shell.ip.Completer.custom_matchers == [] and tab(shell, "%%jit --blo|") == []
