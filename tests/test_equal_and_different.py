"""Values that are equal and can be told apart all the same are parts of the key (SEMANTICS, rule 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import jaxnb

SETUP = """
import datetime, decimal, enum, math, types, warnings
import jax, jax.numpy as jnp
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
