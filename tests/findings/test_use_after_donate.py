"""Arrays whose buffer is gone: a later use names the cell and the line that gave it away."""

from __future__ import annotations

import pytest
from shells import Shell, shell

__all__ = ["shell"]

GIVEN_AWAY = {  # the cell; what is used later; what is said
    "jit": (
        "f = jax.jit(lambda a: a + 1, donate_argnums=0)\nnew = f(x)",
        "x",
        "`x` was donated by Cell In[{n}], line 2",
    ),
    "by keyword": (
        "f = jax.jit(lambda a, b: a + b, donate_argnames='b')\nnew = f(\n    1.0,\n    b=x)",
        "x",
        "`x` was donated by Cell In[{n}], line 2",
    ),
    "in a dict": (
        "params = {'w': x, 'b': x + 1}\n"
        "f = jax.jit(lambda p: {k: v * 2 for k, v in p.items()}, donate_argnums=0)\nf(params);",
        "params['b']",
        "`params` was donated by Cell In[{n}], line 3",
    ),
    "in an object": (
        "class Box: pass\nbox = Box()\nbox.v = x\nf = jax.jit(lambda a: a + 1, donate_argnums=0)\nnew = f(box.v)",
        "box.v",
        "`box` was donated by Cell In[{n}], line 5",
    ),
    "in slots": (
        "class Box: __slots__ = ('v',)\nbox = Box()\nbox.v = x\nf = jax.jit(lambda a: a + 1, donate_argnums=0)\n"
        "new = f(box.v)",
        "box.v",
        "`box` was donated by Cell In[{n}], line 5",
    ),
    "in a parameter of nnx": (
        "from flax import nnx\np = nnx.Param(x)\nf = jax.jit(lambda a: a + 1, donate_argnums=0)\nnew = f(p[...])",
        "p[...]",
        "`p` was donated by Cell In[{n}], line 4",
    ),
    "through an alias": (
        "f = jax.jit(lambda a: a + 1, donate_argnums=0)\nx = f(x)",
        "old",
        "`old` was donated by Cell In[{n}], line 2",
    ),
    "delete": ("y = x * 2\nx.delete()", "x", "`x` was deleted by Cell In[{n}], line 2"),
    "in a function": (
        "f = jax.jit(lambda a: a + 1, donate_argnums=0)\ndef train(a):\n    return f(a)\nnew = train(x)",
        "x",
        "`x` was donated by Cell In[{n}], line 4",
    ),
    "staged": ("%%jit --donate x\nnew = x + 1", "x", "`x` was donated by Cell In[{n}], line 2"),
}
USES = ["{} + 1", "jnp.sin({})", "print({})", "z = float({}.sum())", "%%jit\nz = {} * 2", "%%jit\nz = helper({})"]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", GIVEN_AWAY)
def test_a_later_use_names_the_cell_and_the_line(shell: Shell, name: str, use: str) -> None:
    cell, later, told = GIVEN_AWAY[name]
    shell.run("x = jnp.ones(3)\nold = x\ndef helper(v):\n    return v * 2")
    if cell.startswith("%%jit"):
        shell.run("del old")
    before = shell.ip.execution_count
    shell.run(cell)
    text = shell.run(use.format(later), ok=False)
    told = told.format(n=before)
    assert told in text or told.partition(" by ")[2] in text, text
    assert text.count("its buffer is gone") == 1, text


def test_of_two_the_one_that_is_used_is_named(shell: Shell) -> None:
    shell.run("a, b = jnp.ones(2), jnp.ones(3)\nf = jax.jit(lambda v: v + 1, donate_argnums=0)\na2 = f(a)\nb2 = f(b)")
    assert "`b` was donated" in shell.run("b * 2", ok=False)
    assert "`a` was donated" in shell.run("a * 2", ok=False)


def test_what_is_made_again_is_not_spoken_of(shell: Shell) -> None:
    shell.run("x.delete()")
    shell.run("x = jnp.ones(3)")
    assert "buffer is gone" not in shell.run("x + 1")
    assert "buffer is gone" not in shell.run("1 / 0", ok=False)
    assert "buffer is gone" not in shell.run("y = missing_name + x", ok=False)
