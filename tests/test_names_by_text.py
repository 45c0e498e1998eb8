"""Names that come and go, and names that code finds by their text, by frames or by modules: as in the plain cell."""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any

import numpy as np
import pytest

import jaxnb

SETUP = """
import contextvars, importlib, inspect, operator, sys, warnings
import jax, jax.numpy as jnp, numpy as np
import kept_by_text as mod
x, z, SC = jnp.linspace(0.0, 1.0, 8), 3, 2.0
variable, context = contextvars.ContextVar("by_text"), contextvars.copy_context()
def by_modules(a): return a * sys.modules["kept_by_text"].SC
def by_import(a): return a * importlib.import_module("kept_by_text").SC
def by_getter(a): return a * operator.attrgetter("SC")(mod)
def by_frame(a): return a * sys._getframe(0).f_globals["SC"]
def by_inspect(a): return a * inspect.currentframe().f_globals["SC"]
def by_globals(a): return a * by_globals.__globals__["SC"]
def of_main(a): return a * sys.modules["__main__"].SC
def to_main(v): sys.modules["__main__"].SC = v
def put(name, v): setattr(sys.modules["__main__"], name, v)
def quiet(a):
    warnings.filterwarnings("ignore", message="by text")
    return a * 2
def upd(a): return a * 3
"""

CELLS = {
    "what is deleted": ("y = x * 2\ndel z", ""),
    "what is deleted in a try": (
        "y = x * 2\ntry:\n    del z\n    gone = True\nexcept NameError:\n    gone = False",
        "",
    ),
    "what is made and deleted": ("t = x * 2\ny = t + 1\ndel t", ""),
    "a module by its name": ("y = by_modules(x)", "mod.SC = 3.0"),
    "a module by importing it": ("y = by_import(x)", "mod.SC = 3.0"),
    "a getter": ("y = by_getter(x)", "mod.SC = 3.0"),
    "a frame": ("y = by_frame(x)", "SC = 3.0"),
    "a frame by inspect": ("y = by_inspect(x)", "SC = 3.0"),
    "globals of a function": ("y = by_globals(x)", "SC = 3.0"),
    "the notebook as a module": ("y = of_main(x)\nto_main(y)\nw = of_main(x)", "SC = 3.0"),
    "a new name of the notebook": ("t = jnp.sin(x)\nput('NEW', t)\ny = NEW + 1", "del NEW"),
    "filters of warnings": ("y = quiet(x)\nn = len(warnings.filters)", "warnings.resetwarnings()"),
    "a context that comes into reach": (
        "y = upd(x)\nw = upd(y)",
        "def upd(a):\n    context.run(variable.set, a); variable.set(a)\n    return context[variable] + variable.get()",
    ),
    "an attribute that is not there": (
        "try:\n    x.nope\nexcept AttributeError as e:\n    t = str(e)\n"
        "y = x * 2, hasattr(x, 'nope'), getattr(x, 'nope', 3)",
        "",
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_it_is_as_in_the_plain_cell(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell, change = CELLS[name]
    outcomes: list[list[Any]] = []
    for staged in (False, True):
        mod, main = types.ModuleType("kept_by_text"), types.ModuleType("__main__")
        vars(mod)["SC"] = 2.0
        monkeypatch.setitem(sys.modules, "kept_by_text", mod)
        monkeypatch.setitem(sys.modules, "__main__", main)
        names, outcome = vars(main), list[Any]()
        exec(SETUP, names)
        with warnings.catch_warnings():
            for before in ("", "", change, change):
                exec(before, names)
                try:
                    jaxnb.stage(cell, names) if staged else exec(cell, names)
                except NameError as error:
                    outcome.append(str(error))
                else:
                    shown = {key: names.get(key) for key in ("y", "w", "t", "gone", "n", "NEW")}
                    outcome.append({key: shown[key] for key in shown if shown[key] is not None})
        outcomes.append(outcome)
    for plain, other in zip(*outcomes, strict=True):
        if isinstance(plain, str) or isinstance(other, str):
            assert plain == other
            continue
        assert plain.keys() == other.keys()
        for key in plain:
            if isinstance(plain[key], str | bool | int | tuple):
                assert str(plain[key]) == str(other[key]), key
            else:
                np.testing.assert_allclose(plain[key], other[key], err_msg=key)
