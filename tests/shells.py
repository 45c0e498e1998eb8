"""A real IPython shell with the extension loaded, for the tests of what a user of IPython sees."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

__all__ = ["ESCAPES", "SETUP", "Shell", "shell"]

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
SETUP = "import jax, jax.numpy as jnp, numpy as np\nx = jnp.arange(3.0)\nw = jnp.ones((3, 2))\nn = 2"


class Shell:
    """An IPython shell of its own; `run` returns what a cell printed, without colours."""

    def __init__(self) -> None:
        InteractiveShell.clear_instance()
        self.ip = InteractiveShell.instance()
        self.ns = self.ip.user_ns

    def run(self, cell: str, ok: bool | None = True) -> str:
        with capture_output() as caught:
            result = self.ip.run_cell(cell, store_history=True)
        shown = "".join(str(item.data.get("text/plain", "")) + "\n" for item in caught.outputs)
        text = ESCAPES.sub("", caught.stdout + caught.stderr + shown)
        assert ok is None or result.success == ok, text
        return text


@pytest.fixture
def shell() -> Iterator[Shell]:
    made = Shell()
    made.run("%load_ext jaxnb")
    made.run(SETUP)
    yield made
    made.run("%unload_ext jaxnb", ok=None)
    InteractiveShell.clear_instance()
