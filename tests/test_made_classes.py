"""Classes that a library makes of what the user wrote: they say that they are the library's, and are not."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

import jaxnb

SETUP = """
import dataclasses, types
import jax.numpy as jnp
gain, seen, x = 2.0, [], jnp.ones(3)
class User:
    def run(self, x):
        seen.append(gain)
        return x * gain
By_a_table = dataclasses.make_dataclass("By_a_table", [("a", float, 1.0)], bases=(User,))
By_a_body = types.new_class("By_a_body", (User,))
By_functions = dataclasses.make_dataclass("By_functions", [], namespace={"run": lambda self, x: x * gain})
static = {"run": staticmethod(lambda x: x * gain)}
By_a_static_method = dataclasses.make_dataclass("By_a_static_method", [], namespace=static)
class By_a_name_that_is_none:
    __module__ = ["nowhere"]
    def run(self, x): return x * gain
class By_a_name_of_others:
    __module__ = "collections"
    def run(self, x): return x * gain
class By_a_module_that_is_none:
    __module__ = "collections.lazy_jaxnb"
    def run(self, x): return x * gain
class Meta(type): ...
By_a_metaclass = types.new_class("By_a_metaclass", (User,), {"metaclass": Meta})
made = {name: kind() for name, kind in list(globals().items()) if name.startswith("By_")}
"""


def _home() -> dict[str, Any]:
    home: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, home)
    return home


@pytest.mark.parametrize("how", ["made[{!r}]", "{}()"], ids=["object", "class"])
@pytest.mark.parametrize("name", re.findall(r"\bBy_\w+(?= =|:)", SETUP))
def test_what_their_functions_read_counts(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "collections.lazy_jaxnb", object())  # as lazy modules may be
    cell = f"y = {how.format(name)}.run(x)"
    plain, staged = _home(), _home()
    lines: list[str] = []
    for change in ("", "", "gain = 5.0", "", "gain = 7.0"):
        for home in (plain, staged):
            exec(change, home)
        exec(cell, plain)
        lines.append(jaxnb.stage(cell, staged).line)
        assert staged["y"].tolist() == plain["y"].tolist() and staged["seen"] == plain["seen"], lines
    assert "staged" in lines[0] and "reused" in lines[-1]


@pytest.mark.parametrize("way", ["property", "functools.cached_property"])
def test_properties_count(way: str) -> None:
    setup = (
        "import functools\nMade = dataclasses.make_dataclass('Made', [], namespace={'p': WAY(lambda self: x * gain)})"
    )
    home = _home()
    exec(setup.replace("WAY", way), home)
    for gain in (2.0, 2.0, 5.0, 7.0):  # it may be a constant of the program until it first changes
        home["gain"] = gain
        line = jaxnb.stage("y = Made().p + 1", home).line
        assert home["y"].tolist() == [gain + 1] * 3
    assert "reused" in line


def test_what_they_change_is_undone_where_the_cell_fails() -> None:
    home = _home()
    exec("def __init__(self): seen.append('made')\nUser.__init__ = __init__", home)
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage("y = By_a_body().run(x)\nz = 1 // 0", home)
    assert home["seen"] == [] and "y" not in home
