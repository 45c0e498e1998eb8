"""`%jaxnb memory`: who holds each live array."""

from __future__ import annotations

import gc
import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from IPython.core.interactiveshell import InteractiveShell
from shells import Shell, shell

import jaxnb
from jaxnb.errors import JaxnbError
from jaxnb.staging.objects.live_buffers import HeldProgram, names_of_shell
from jaxnb.staging.session.held import memory

__all__ = ["shell"]


def holders(namespace: dict[str, Any], aval: str) -> list[tuple[str, ...]]:
    found = jaxnb.memory(namespace)
    return [item.holders for item in found.arrays if item.aval == aval]


def test_every_holder_is_named():
    class Model:
        def __init__(self, w: jax.Array) -> None:
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
    shown, part = repr(x), x.addressable_shards[0].data
    assert shown and part.shape == x.shape
    assert holders({"x": x}, "float32[29,7]") == [("x",)]


def test_results_that_ipython_remembers(shell: Shell) -> None:
    shell.run("import jax.numpy as jnp\nx = jnp.ones((3100, 1000))")
    shell.run("%%jit\ny = x + 1\ny * 2")
    said = shell.run("%jaxnb memory")
    assert re.search(r"12\.4 MB  float32\[3100,1000\]  Out\[\d+\] +%xdel _\d+\n", said)
    assert re.search(r"float32\[3100,1000\]  y +del y\n", said) and "%reset -f out empties Out" in said


def test_without_a_shell_a_namespace_is_needed() -> None:
    InteractiveShell.clear_instance()
    with pytest.raises(JaxnbError, match="globals"):
        jaxnb.memory()


def test_nothing_alive() -> None:
    assert str(jaxnb.staging.objects.live_buffers.LiveBuffers(())) == "no array is alive"


# --- ways to let go ---

SIZE = 4 * 37 * 11

HOLDERS = {
    "a name": ("x = make()", "del x"),
    "two names": ("x = make()\ny = x", "del x, y"),
    "a dict": ("d = {'w': make(), 'v': 1}", "del d['w']"),
    "a list in a dict": ("d = {'w': [make(), 2]}", "d['w'][0] = None"),
    "a tuple": ("pair = (1, make())", "del pair"),
    "an attribute": ("class M: pass\nm = M()\nm.w = make()", "del m"),
    "a closure": ("def around():\n    w = make()\n    return lambda: w\nf = around()", "del f"),
    "a default": ("def f(w=make()): return w", "del f"),
    "a result": ("make()", r"%xdel _\d+"),
    "a result with a name": ("x = make()\nx", r"del x; %xdel _\d+"),
    "a part of a result": ("(make(), 1)", r"%xdel _\d+"),
    "a staged result": ("%%jit\ny = make() * 2\ny", r"del y; %xdel _\d+"),
    "a key": ("k = jax.random.split(jax.random.key(0), 37 * 11)[:37 * 11 // 2]", "del k"),
    "a traced function": (
        "def around():\n    w = make()\n    return jax.jit(lambda v: v + w)\nf = around()\nnone = f(1.0).delete()",
        "del f; jax.clear_caches()",
    ),
}


def of_this_size() -> list[tuple[str, str]]:
    gc.collect()
    ip: Any = InteractiveShell.instance()
    found = memory(names_of_shell(ip), ip._jaxnb_magics.session)
    return [(item.aval, item.release) for item in found.arrays if item.bytes in (SIZE, 8 * (37 * 11 // 2))]


@pytest.mark.parametrize("kind", HOLDERS)
def test_what_is_written_lets_go(shell: Shell, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(jaxnb.staging.objects.live_buffers, "_SHOWN", 10_000)  # other tests may have left larger arrays
    source, way = HOLDERS[kind]
    shell.run("def make():\n    return jnp.ones((37, 11)) * 3")
    assert of_this_size() == []
    shell.run(source)
    ((_, release),) = of_this_size()
    assert re.fullmatch(way if "\\" in way else re.escape(way), release), release
    assert release in shell.run("%jaxnb memory")
    for statement in release.split("; "):
        shell.run(statement)
    assert of_this_size() == []


def test_a_cell_keeps_its_constants_until_its_programs_go(shell: Shell) -> None:
    """Programs that the devices have loaded, and what is compiled in."""
    shell.run("table = np.cumsum(np.ones(50_000, np.float32))\ndef lib(x):\n    return x + jnp.asarray(table * 2)[:3]")
    shell.run("%%jit\ny = lib(x)")
    shell.run("x = jnp.arange(3)")
    shell.run("%%jit\ny = lib(x)")
    before = programs(shell)
    assert len(before) == 2 and all("line 2: y = lib(x)" in item.name for item in before)
    said = shell.run("%jaxnb memory")
    assert "2 of these are kept for cells: %jaxnb memory clear" in said
    there = loaded(shell)
    shell.run("%config JaxNB.cache_size = 1")
    try:
        assert len(programs(shell)) == 1 and loaded(shell) == there - 1
        assert "reused" in shell.run("%%jit\ny = lib(x)")
    finally:
        shell.run("%config JaxNB.cache_size = 4")
    there = loaded(shell)
    assert "let go of 1 program" in shell.run("%jaxnb memory clear")
    assert programs(shell) == [] and loaded(shell) == there - 1
    assert "staged" in shell.run("%%jit\ny = lib(x)")


def test_a_run_that_somebody_holds_keeps_its_program(shell: Shell) -> None:
    shell.run("import jaxnb")
    shell.run("%%jit\ny = x * 3 + 1")
    shell.run("run = jaxnb.last()\nrun.program.level('hlo');")
    before = loaded(shell)
    assert "let go of 1 program" in shell.run("%jaxnb memory clear") and loaded(shell) == before
    (found,) = [item for item in others(shell) if "y = x * 3 + 1" in item.name]
    assert found.release == "del run; %jaxnb memory clear"
    shell.run("del run")
    assert loaded(shell) == before - 1


def test_constants_of_executables_are_counted_and_go_with_jaxs_caches(shell: Shell) -> None:
    shell.run("table = np.cumsum(np.ones(50_000, np.float32))\ndef thrice(v):\n    return jnp.sin(v + table)")
    shell.run("y = jax.jit(thrice)(1.0)")
    (found,) = [item for item in others(shell) if item.bytes >= 200_000]
    assert found.name == "jax.jit(thrice)" and found.release == "jax.clear_caches()"
    assert "200 KB  jax.jit(thrice)" in shell.run("%jaxnb memory")
    shell.run("jax.clear_caches()")
    assert not [item for item in others(shell) if item.bytes >= 200_000]


def test_a_compiled_function_goes_with_its_name(shell: Shell) -> None:
    shell.run("big = np.cumsum(np.ones(50_000, np.float32))")
    shell.run("compiled = jax.jit(lambda v: v + big).lower(1.0).compile()")
    (found,) = [item for item in others(shell) if item.release == "del compiled"]
    assert found.bytes >= 200_000 and found.name == "compiled"
    shell.run(found.release)
    assert not [item for item in others(shell) if item.bytes >= 200_000]


def programs(shell: Shell) -> list[HeldProgram]:
    return [item for item in held(shell) if item.cached]


def others(shell: Shell) -> list[HeldProgram]:
    return [item for item in held(shell) if not item.cached]


def loaded(shell: Shell) -> int:
    return len(held(shell))


def held(shell: Shell) -> list[HeldProgram]:
    gc.collect()
    ip: Any = shell.ip
    return list(memory(names_of_shell(ip), ip._jaxnb_magics.session).programs)
