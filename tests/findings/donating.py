"""Cells that donate in vain, each with what is to be said of it and a twin that donates well."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CELLS", "SETUP", "Vain"]

SETUP = """
w, b = jnp.ones((8, 4)), jnp.ones(32)
p = {"a": jnp.ones(3), "n": jnp.arange(3)}
mesh = jax.make_mesh((len(jax.devices()),), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
rows, whole = (jax.sharding.NamedSharding(mesh, jax.P(*spec)) for spec in (("i",), ()))
s = jax.device_put(jnp.ones((8 * len(jax.devices()), 4)), rows)
"""


@dataclass(frozen=True)
class Vain:
    """A cell and what is found in it.

    Attributes:
      cell: the staged cell.
      donate: what it gives up.
      line: of the finding.
      holder: the path that is given up for nothing.
      said: fragments of the message.
      fix: a fragment of the fix and its options.
      clean: the cell as it should have been, without a finding.
      clean_donate: what that gives up.
      setup: what runs first, besides `SETUP`.
    """

    cell: str
    donate: tuple[str, ...]
    line: int
    holder: str
    said: tuple[str, ...]
    fix: str
    clean: str
    clean_donate: tuple[str, ...] | None = None
    setup: str = ""


CELLS = {
    "a number": Vain(
        "y = b[0] + 1\nw = (w * 2).sum() + y",
        ("w",),
        2,
        "w",
        ("it is float32[8,4]", "the new `w`, float32[]: another shape", "128 B are given up for nothing"),
        "take it out of --donate",
        "y = b[0] + 1\nw = w * 2 + y",
    ),
    "another dtype": Vain(
        "w = (w * 2).astype(jnp.bfloat16)",
        ("w",),
        1,
        "w",
        ("the new `w`, bfloat16[8,4]: another dtype",),
        "compute the new `w` in float32",
        "w = (w.astype(jnp.bfloat16) * 2).astype(w.dtype)",
    ),
    "integers": Vain(
        "y = w > 0\nz = (w * 2).astype(jnp.int16)",
        ("w",),
        1,
        "w",
        ("int16[8,4]: another dtype",),
        "in float32",
        "y = w > 0\nz = w * 2",
    ),
    "one of two": Vain(
        "w = w + 1\nb = (b * 2).sum()",
        ("w", "b"),
        2,
        "b",
        ("`b` is donated in vain", "float32[]: another shape"),
        "take it out of --donate",
        "w = w + 1\nb = b * 2",
    ),
    "several leaves of one name": Vain(
        "new = {'a': p['a'].astype(jnp.bfloat16), 'n': p['n'].sum()}",
        ("p",),
        1,
        "p['a']",
        (
            "2 arrays are donated in vain, and 24 B given up for nothing.",
            "`p['a']`: float32[3], and the nearest result is `new['a']`, bfloat16[3]: another dtype.",
            "`p['n']`: int32[3], and the nearest result is",
        ),
        "take it out of --donate",
        "new = {'a': p['a'] * 2, 'n': p['n'] + 1}",
    ),
    "two for one": Vain(
        "w = w + v",
        ("w", "v"),
        1,
        "w",
        ("each result of this shape and dtype takes the buffer of `v`",),
        "donating `v` is enough",
        "w, v = w + v, w - v",
        setup="v = jnp.ones((8, 4))",
    ),
    "not read": Vain(
        "y = b * w.shape[0]",
        ("w",),
        1,
        "w",
        ("the program does not read it",),
        "use del",
        "y = w * w.shape[0]",
    ),
    "a leaf of a tree": Vain(
        "p = {'a': p['a'] * 2, 'n': p['n'].sum()}",
        ("p",),
        1,
        "p['n']",
        ("it is int32[3]", "another"),
        "take it out of --donate",
        "p = {'a': p['a'] * 2, 'n': p['n'] + 1}",
    ),
    "a slice": Vain(
        "b = b[1:]",
        ("b",),
        1,
        "b",
        ("the new `b`, float32[31]: another shape",),
        "take it out of --donate",
        "b = jnp.roll(b, 1)",
    ),
    "a longer one": Vain(
        "b = jnp.concatenate([b, b])",
        ("b",),
        1,
        "b",
        ("the new `b`, float32[64]: another shape",),
        "take it out of --donate",
        "b = b + b",
    ),
    "only read": Vain(
        "y = w @ jnp.ones(4)",
        ("w",),
        1,
        "w",
        ("`y`, float32[8]: another shape",),
        "take it out of --donate",
        "y = w @ jnp.ones((4, 4))",
    ),
    "another shape and dtype": Vain(
        "y = jnp.argmax(w, axis=1)",
        ("w",),
        1,
        "w",
        ("`y`, int32[8]: another shape and dtype",),
        "take it out of --donate",
        "y = w - jnp.max(w, axis=1, keepdims=True)",
    ),
    "a function with donate_argnums": Vain(
        "y = b * 2\nw = f(w, b)",
        (),
        2,
        "b",
        ("`f` donates `b` in vain", "128 B would be for nothing"),
        "take it out of donate_argnums",
        "y = b * 2\nw, b = g(w, b)",
        ("w", "b"),
        "f = jax.jit(lambda w, b: w * 2 + b.sum(), donate_argnums=(1,))\n"
        "f.__wrapped__.__name__ = 'f'\n"
        "g = jax.jit(lambda w, b: (w * 2 + b.sum(), b * 2), donate_argnums=(0, 1))",
    ),
    "a function that donates in a cell": Vain(
        "y = b * 2\nw = step(w)",
        (),
        2,
        "w",
        ("`step` donates `w`, but a function that is called in a compiled cell gives nothing up", "128 B are held"),
        "--donate w",
        "y = b * 2\nw = step(w)",
        ("w",),
        "@functools.partial(jax.jit, donate_argnums=0)\ndef step(w):\n    return w * 2",
    ),
    "a function that donates a tree": Vain(
        "q = step(q)",
        (),
        1,
        "q",
        ("`step` donates `q`", "are held until the cell has run"),
        "--donate q",
        "q = step(q)",
        ("q",),
        "@functools.partial(jax.jit, donate_argnums=0)\ndef step(q):\n    return jax.tree.map(lambda a: a * 2, q)\n"
        "q = {'u': jnp.ones(3), 'v': jnp.ones(4)}",
    ),
    "a function that returns another dtype": Vain(
        "w = step(w)",
        (),
        1,
        "w",
        ("`step` donates `w` in vain", "float16[8,4]: another dtype"),
        "take it out of donate_argnums",
        "w = good(w)",
        None,
        "@functools.partial(jax.jit, donate_argnums=0)\ndef step(w):\n    return (w * 2).astype(jnp.float16)\n"
        "@jax.jit\ndef good(w):\n    return (w * 2).astype(jnp.float16)",
    ),
}
