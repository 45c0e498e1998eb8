"""`%jaxnb memory`: who holds each live array."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest
from IPython.core.interactiveshell import InteractiveShell
from shells import Shell, shell

import jaxnb
from jaxnb.errors import JaxnbError

__all__ = ["shell"]


def holders(namespace, aval):
    found = jaxnb.memory(namespace)
    return [item.holders for item in found.arrays if item.aval == aval]


def test_every_holder_is_named():
    class Model:
        def __init__(self, w):
            self.w = w

    w = jnp.ones((17, 3))
    namespace = {
        "model": Model(w),
        "params": {"w": [w]},
        "f": lambda: w,
        "keys": jax.random.split(jax.random.key(0), 19),
    }
    assert holders(namespace, "float32[17,3]") == [("model.w", "w (closure of f)", "params['w'][0]")]
    assert holders(namespace, "uint32[19,2]") == [("keys",)]


def test_what_no_name_leads_to_is_said():
    hidden = iter([jnp.ones((23, 5))])
    found = jaxnb.memory({})
    assert [item.holders for item in found.arrays if item.aval == "float32[23,5]"] == [()]
    assert "held where no name leads" in str(found)
    del hidden


def test_shards_are_not_counted_again():
    x = jnp.ones((29, 7))
    repr(x), x.addressable_shards[0].data
    assert holders({"x": x}, "float32[29,7]") == [("x",)]


def test_results_that_ipython_remembers(shell: Shell) -> None:
    shell.run("import jax.numpy as jnp\nx = jnp.ones((3100, 1000))")
    shell.run("%%jit\ny = x + 1\ny * 2")
    said = shell.run("%jaxnb memory")
    assert re.search(r"12\.4 MB  float32\[3100,1000\]  Out\[\d+\]\n", said)
    assert "12.4 MB  float32[3100,1000]  y\n" in said and "%reset -f out empties Out" in said


def test_without_a_shell_a_namespace_is_needed() -> None:
    InteractiveShell.clear_instance()
    with pytest.raises(JaxnbError, match="globals"):
        jaxnb.memory()


def test_nothing_alive() -> None:
    assert str(jaxnb.objects.holdings.Holdings(())) == "no array is alive"
