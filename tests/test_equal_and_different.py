"""Values that are equal and can be told apart all the same are parts of the key (SEMANTICS, rule 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import pytest

import jaxnb

SETUP = """
import datetime, decimal, enum, math, types, warnings
import jax, jax.numpy as jnp, ml_dtypes, numpy as np
x = jnp.arange(3.0)
class Text(str):
    def upper(self): return "own"
def warned():
    try: warnings.warn("hm")
    except UserWarning: return "raised"
    return "quiet"
"""

CASES = {
    "text-of-a-subclass-as-key": ("d = {'a': 1}", "t = [k.upper() for k in d]", "d = {Text('a'): 1}"),
    "member-as-key": (
        "E = enum.StrEnum('E', 'a b'); d = {'a': jnp.ones(1)}",
        "t = [type(k).__name__ for k in d]",
        "d = {E.a: d['a']}",
    ),
    "zeros-as-keys": ("d = {0.0: 'a'}", "t = [math.copysign(1, k) for k in d]", "d = {-0.0: 'a'}"),
    "digits": ("q = decimal.Decimal('1.0')", "t = str(q)", "q = decimal.Decimal('1.00')"),
    "zones": (
        "q = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.timezone.utc)",
        "t = q.isoformat()",
        "q = q.astimezone(datetime.timezone(datetime.timedelta(hours=1)))",
    ),
    "folds": ("q = datetime.datetime(2024, 1, 1)", "t = q.fold", "q = q.replace(fold=1)"),
    "order-of-attributes": (
        "n = types.SimpleNamespace(a=1, b=2)",
        "t = repr(n)",
        "n = types.SimpleNamespace(b=2, a=1)",
    ),
    "filters-of-warnings": ("warnings.simplefilter('ignore')", "t = warned()", "warnings.simplefilter('error')"),
    "implementation-of-keys": (
        "jax.config.update('jax_default_prng_impl', 'threefry2x32')",
        "t = str(jax.random.key(0).dtype)",
        "jax.config.update('jax_default_prng_impl', 'rbg')",
    ),
    "class-of-a-scalar": ("dt = jnp.float32", "t = type(dt(2.0)).__name__", "dt = np.float32"),
    "class-of-a-scalar-in-text": (
        "d = {'dtype': jnp.int32}",
        "z = x.astype(d['dtype']); t = str(d)",
        "d = {'dtype': np.int32}",
    ),
    "class-of-a-scalar-as-key": ("d = {jnp.float32: 1}", "t = [str(k) for k in d]", "d = {np.float32: 1}"),
    "class-of-a-scalar-of-another-package": (
        "dt = jnp.bfloat16",
        "z = x.astype(dt); t = dt.__module__",
        "dt = ml_dtypes.bfloat16",
    ),
    "class-of-a-scalar-of-a-helper": (
        "dt = jnp.float32\ndef made(): return dt(1) * np.ones(2, dt)",
        "z = made(); t = type(z).__name__",
        "dt = np.float32",
    ),
    "class-of-a-scalar-in-an-attribute": (
        "class C: dtype = jnp.float32\nc = C()",
        "z = x.astype(c.dtype); t = repr(c.dtype)",
        "C.dtype = np.float32",
    ),
    "one-object": ("u = x", "import operator; t = operator.is_(x, u)", "u = x + 0"),
}


@pytest.fixture(autouse=True)
def filters() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        yield


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name: str) -> None:
    before, cell, change = CASES[name]
    seen: list[Any] = []
    for run in (exec, jaxnb.stage):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(SETUP, names)
        exec(before, names)
        for code in ("", "", "", change):
            exec(code, names)
            run(f"{cell}\ny = x * 2", names)
            seen.append(names["t"])
    assert seen[:4] == seen[4:] and seen[2] != seen[3]


WEAK = {
    "asarray": ("c = 1.0", "z = jnp.asarray(c)", ["c = np.float32(1)", "c = np.float64(1)"]),
    "full": ("c = 4.0", "z = jnp.full((), c)", ["c = np.float32(4)"]),
    "sqrt": ("c = 4.0", "z = jnp.sqrt(c)", ["c = np.float32(4)", "c = jnp.float32(4)"]),
    "where": ("c = 4.0", "z = jnp.where(True, c, 0.0)", ["c = np.float32(4)"]),
    "jit": ("c = 1.0; f = jax.jit(lambda t: t)", "z = f(c)", ["c = np.float32(1)"]),
    "grad": ("c = 3.0", "z = jax.grad(lambda t: t * t)(c)", ["c = np.float32(3)"]),
    "cond": ("c = 3.0", "z = jax.lax.cond(True, lambda t: t + 1, lambda t: t, c)", ["c = np.float32(3)"]),
    "complex": ("c = 1 + 0j", "z = jnp.asarray(c)", ["c = np.complex64(1)"]),
    "int": ("c = 1", "z = jnp.asarray(c) * 2", ["c = np.int32(1)"]),
    "several": ("c = 1.0", "z = [jnp.asarray(c), jnp.asarray(2.0)]", ["c = np.float32(1)"]),
}


@pytest.mark.parametrize("name", WEAK)
def test_a_result_is_as_weakly_typed_as_plainly(name: str) -> None:
    """Programs that differ in nothing else are one module, whose executable they do not share."""
    before, cell, changes = WEAK[name]
    seen: list[Any] = []
    for run in (exec, jaxnb.stage):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(SETUP, names)
        exec(before, names)
        for code in ("", "", "", *changes, before):
            exec(code, names)
            run(cell, names)
            seen.append([(leaf.weak_type, leaf.dtype, leaf.tolist()) for leaf in jax.tree.leaves(names["z"])])
    half = len(seen) // 2
    assert seen[:half] == seen[half:] and seen[2] != seen[3]
