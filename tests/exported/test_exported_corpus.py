"""Cells as people write them: what can be exported gives, loaded, what the cell bound; the rest says why it cannot."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cells import CASES, Case
from cells_to_export import unchecked  # noqa: F401  # pyright: ignore
from drawing import DEEP, drawn_seed

import jaxnb
from jaxnb.exported.values import LeftOut

SEED = drawn_seed()
HERE = [case for case in CASES if case.theme != "placements" and not case.raises and not case.refused]
SAMPLED = HERE if DEEP else HERE[SEED % 12 :: 12]

pytestmark = pytest.mark.usefixtures("unchecked")


def names_of(case: Case) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    for setup in case.setups:
        exec(compile(setup, "<setup>", "exec"), names)
    return names


def differs(got: Any, wanted: Any) -> str:
    """What is other than it was; what a file leaves out is not looked at."""
    if isinstance(got, LeftOut):
        return ""
    if isinstance(got, dict):
        return "" if list(got) == list(wanted) and not any(differs(got[key], wanted[key]) for key in got) else repr(got)
    if isinstance(got, list | tuple):
        fits = len(got) == len(wanted) and not any(map(differs, got, wanted))
        return "" if fits else repr(got)
    if isinstance(got, jax.Array):
        if jnp.issubdtype(got.dtype, jax.dtypes.prng_key):
            got, wanted = jax.random.key_data(got), jax.random.key_data(wanted)
        one, other = (np.asarray(value).astype(complex) for value in (got, wanted))
        fits = np.shape(got) == np.shape(wanted) and np.allclose(one, other, 1e-4, 1e-6, equal_nan=True)
        if isinstance(wanted, jax.Array):
            fits = fits and jax.typeof(got).str_short() == jax.typeof(wanted).str_short()
        return "" if fits else f"{got!r}, not {wanted!r}"
    same = type(got) is type(wanted) and (got == wanted or got != got or abs(got - wanted) <= 1e-6 * abs(wanted))
    return "" if same else f"{got!r}, not {wanted!r}"


@pytest.mark.parametrize("case", SAMPLED, ids=lambda case: f"{case.theme}-{case.name}-seed={SEED}")
def test_what_is_loaded_gives_what_the_cell_bound(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "cell.jaxexport"
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with jax.enable_x64(case.x64), quiet[0], quiet[1]:
        names, given = names_of(case), names_of(case)
        try:
            run = jaxnb.stage(case.cell, names, export=str(path), **case.options)
        except jaxnb.Refused as error:
            assert case.may_refuse or error.what.startswith("the cell cannot be exported: ")
            assert error.why and not path.exists()
            return
        loaded = jaxnb.load(path)
        results = loaded(**{name: given[name] for name in loaded.signature.names})
        found = {name: differs(value, names[name]) for name, value in results.items() if name in names}
        assert not any(found.values()), found
        arrays = {name for name, value in run.outputs.items() if isinstance(value, jax.Array)}
        assert case.options.get("keep") or arrays <= {*results}
