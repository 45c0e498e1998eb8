"""What is told of dtypes, keys, truths, branches and loops in cells that are not of the corpus."""

from __future__ import annotations

import linecache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxnb import _jax
from jaxnb.api import new_session
from jaxnb.findings.values import dry_run
from jaxnb.findings.values.explain import explain_plain
from jaxnb.options import StageOptions
from jaxnb.program import Finding, finding_of


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(dry_run, "PATIENCE", 60.0)


def told(cell: str) -> Finding:
    """What is told of a cell that fails."""
    names: dict[str, Any] = {
        **{"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, "lax": lax},
        **{"x": jnp.array([0.5, 1.5, 2.5]), "n": jnp.arange(3), "z": jnp.array([1j, 2.0]), "mask": jnp.arange(3) > 1},
        **{"key": jax.random.key(0), "old": jax.random.PRNGKey(0), "names": np.array(["a", "b"])},
    }
    with pytest.raises(Exception) as caught, _jax.unfiltered_tracebacks():
        new_session().stage(cell, names, StageOptions(), shown=cell)
    found = finding_of(caught.value)
    assert found is not None, repr(caught.value)
    return found[0]


EDITS = [
    ("r = (x > 0 & x < 1).sum()", "dtype-refused", "(x > 0) & (x < 1)"),
    ("r = (x > 0 & n < 5).sum()", "truth", "(x > 0) & (n < 5)"),
    ("r = jnp.take(x, x)", "index-dtype", "x.astype(int)"),
    ("r = lax.sin(n)", "dtype-refused", "n.astype(float)"),
    ("r = jnp.floor(z)", "dtype-refused", "jnp.abs(z)"),
    ("r = 2 * -mask", "dtype-refused", "~mask"),
    ("r = x * (mask - mask)", "dtype-refused", "mask ^ mask"),
    ("r = lax.concatenate([x, n], 0)", "dtypes-differ", "jnp.concatenate"),
    ("r = lax.pad(x, 0, ((1, 1, 0),))", "dtypes-differ", "jnp.array(0, x.dtype)"),
    ("r = lax.clamp(0, x, 1)", "dtypes-differ", "jnp.array(0, x.dtype)"),
    ("r = x.at[1.5].set(0)", "index-dtype", "int(1.5)"),
    ("k = 3\nr = x[k / 2]", "index-dtype", "k // 2"),
    ("r = x[x]", "index-dtype", "x.astype(int)"),
    ("r = jnp.zeros(3, x)", "no-dtype", "x.dtype"),
    ('r = jnp.ones(3, "flaot32")', "no-dtype", "float32"),
    ('r = z.astype("complx64")', "no-dtype", "complex64"),
    ("r = jnp.zeros(2) + names", "no-numbers", "np.unique(names, return_inverse=True)[1]"),
    ("r = jax.random.normal(jax.random.split(key), (3,))", "keys", "jax.random.split(key)[0]"),
    ("ks = jax.random.split(key, 4)\nr = jax.random.uniform(ks, (4, 2))", "keys", "jax.random.uniform(key, (2,))"),
    ("r = jax.random.normal((3,), key)", "no-key", "jax.random.normal(key, (3,))"),
    ("r = jax.random.split(7)", "no-key", "jax.random.key(7)"),
    ("r = jax.random.key(x[0])", "seed", "x[0].astype(int)"),
    ("r = key + 1", "key-number", "jax.random.fold_in(key, 1)"),
    ("r = key[0]", "key-index", "jax.random.key_data(key)[0]"),
    ("r = (x > 0) and (x < 2)", "truth", "(x > 0) & (x < 2)"),
    ("r = 0 < x < 2", "truth", "(0 < x) & (x < 2)"),
    ("r = 1 if x > 0 else 2", "truth", "jnp.where(x > 0, 1, 2)"),
    ("r = max(x, n)", "truth", "jnp.maximum(x, n)"),
    ("def f(x, m=None):\n    m = m or x\n    return m\n\nr = f(x, x)", "truth", "x if m is None else m"),
    ("r = lax.cond(x[0] > 0, x, -x)", "predicate", "jnp.where(x[0] > 0, x, -x)"),
    ("r = lax.cond(True, lambda x: x, lambda x: 0.0, x)", "branches", "jnp.full_like(x, 0.0)"),
    ("r = lax.cond(True, lambda x: (x, 1), lambda x: (x, 1.0), x)", "branches", "jnp.float32(1)"),
    ("r = lax.cond(True, lambda: x[:, None], lambda: x)", "branches", "reshape((3, 1))"),
    ("r = lax.cond(True, lambda: x, lambda: x, x)", "branch-arguments", "lax.cond(True, lambda: x, lambda: x)"),
    ("r = lax.switch(x[0] / 2, [jnp.sin, jnp.cos], x)", "predicate", "astype(int)"),
    ('r = lax.scan(lambda c, t: (c, t), x, {"k": range(3)})', "carried", "jnp.arange(3)"),
    ("r = lax.fori_loop(0, 3, lambda c, i: c + x[i], 0.0)", "loop-order", "lambda i, c: c + x[i]"),
    ("r = lax.fori_loop(0, 3, lambda i, c: c.reshape(1, 3), x)", "carry", "c.reshape((3,))"),
    ("r = jax.vmap(lambda a: a)(range(3))", "no-array", "jnp.asarray(range(3))"),
]


@pytest.mark.parametrize(("cell", "kind", "edit"), EDITS)
def test_an_edit_is_found_and_works(cell: str, kind: str, edit: str) -> None:
    finding = told(cell)
    assert finding.kind == kind, finding
    assert finding.fix is not None
    assert finding.fix.verified, finding.fix
    assert edit in (finding.fix.edit or ("", "", ""))[2]


ADVICE = [
    ('r = x["a"]', "index-dtype", "the str 'a'"),
    ("r = lax.select(x, x, x)", "error", ""),
    ('r = jnp.array(["one", "two"])', "no-rows", "'one'"),
    ("r = jnp.array([[1, 2], [3]])", "no-rows", "2 and 1"),
    ("r = -key", "key-number", "key<fry>[]"),
    ("r = jnp.sin(key)", "key-number", "key<fry>[]"),
    ("r = jnp.uint8(300)", "overflow", "255"),
    ("r = jnp.array([2**40])", "overflow", "2147483647"),
    ("if x > 0:\n    r = 1", "truth", "`x > 0` is bool[3], 3 items"),
    ('r = lax.fori_loop(0, 3, lambda i, c: c, {"f": jnp.sin})', "carried", "`jnp.sin`"),
    ("r = lax.switch(0, [], x)", "predicate", "at least one"),
]


@pytest.mark.parametrize(("cell", "kind", "fact"), ADVICE)
def test_what_is_wrong_is_said(cell: str, kind: str, fact: str) -> None:
    finding = told(cell)
    assert finding.kind == kind, finding
    assert fact in finding.message


SHY = """
asked = []
class Shy:
    def __getattr__(self, name):
        asked.append(name)
        raise AttributeError(name)

shy = Shy()
r = {}
"""


@pytest.mark.parametrize(
    "call",
    [
        "jax.random.normal(shy, (2,))",
        "jax.random.key(shy)",
        "jnp.zeros(3, shy)",
        "lax.dynamic_slice(jnp.ones(3), (shy,), (1,))",
        "jnp.array([shy])",
        "jnp.sin(shy)",
    ],
)
def test_nothing_of_the_users_is_run(call: str) -> None:
    text = SHY.format(call)
    names: dict[str, Any] = {"__name__": "__main__", "jax": jax, "jnp": jnp, "lax": lax}
    linecache.cache["<shy>"] = (len(text), None, text.splitlines(keepends=True), "<shy>")
    with pytest.raises(Exception) as caught, _jax.unfiltered_tracebacks():
        exec(compile(text, "<shy>", "exec"), names)
    asked = list(names["asked"])
    found = explain_plain(caught.value, lambda _: "the cell", names)
    assert found is not None
    assert names["asked"] == asked
