"""Cells that are spread oddly over devices, each with what is to be said of it and a twin of which nothing is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CELLS", "CLEAN", "SETUP", "Odd"]

SETUP = """
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
devices = np.array(jax.devices()[:8])
mesh, line = Mesh(devices.reshape(4, 2), ("x", "y")), Mesh(devices, ("d",))
typed = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
wsc = lax.with_sharding_constraint
def put(shape, *spec, mesh=mesh):
    return jax.device_put(np.ones(shape, np.float32), NamedSharding(mesh, P(*spec)))
rows, both, columns = put((512, 1024), "x"), put((512, 1024), "x", "y"), put((512, 1024), None, "y")
across = put((512, 1024), None, ("x", "y"))
batch, w = put((512, 512), "d", mesh=line), put((512, 512), None, "d", mesh=line)
here, numpy = jnp.ones((512, 1024)), np.ones((512, 1024), np.float32)
"""


@dataclass(frozen=True)
class Odd:
    """A cell and what is found in it.

    Attributes:
      cell: the staged cell.
      line: of the finding.
      said: fragments of the message.
      clean: the cell as it might have been, without a finding.
      fix: a fragment of the fix after it was tried; "" where none is.
      holder: the input that it is about.
      setup: what runs first, besides `SETUP`.
    """

    cell: str
    line: int
    said: tuple[str, ...]
    clean: str
    fix: str = ""
    holder: str = ""
    setup: str = ""


_LAYERED = (
    "loss = lambda layers: lax.scan(jax.checkpoint(lambda h, layer: (jnp.tanh(h @ layer), None)), batch, layers)[0]\n"
)

CELLS = {
    "a value that a function needs whole": Odd(
        "y = jnp.cumsum(jnp.tanh(both), 0)",
        1,
        ("float32[512,1024] is gathered over x", "holds 1.0 MB of it, and sends 786 KB"),
        "y = jnp.cumsum(jnp.tanh(across), 0)",
        "takes otherwise: a device sends 459 KB instead of 786 KB",
    ),
    "an input that a function needs whole": Odd(
        "y = jnp.cumsum(both, 0)",
        1,
        ("for cumsum, `both` is gathered over x",),
        "y = jnp.cumsum(across, 0)",
        "both = jax.device_put(both, jax.NamedSharding(mesh, jax.P(None, ('x', 'y')))): a device sends 0 B instead of",
        "both",
    ),
    "full rematerialisation": Odd(
        "y = jax.sharding.reshard(e * 2, NamedSharding(typed, P(None, 'y')))",
        1,
        ("to spread float32[512,1024] anew, XLA gathers it on every device over x and then cuts it again", "1.6 MB"),
        "y = jax.sharding.reshard(e * 2, NamedSharding(typed, P('x', 'y')))",
        "spread it otherwise there: a device sends 0 B instead of 1.6 MB",
        setup="e = put((512, 1024), 'x', mesh=typed)",
    ),
    "a parameter in the backward pass": Odd(
        f"{_LAYERED}g = jax.grad(lambda w: loss(w).sum())(layers)",
        1,
        ("the backward pass gathers `layers` whole on every device, 3 times: a device sends 2.8 MB",),
        f"{_LAYERED}g = jax.grad(lambda w: loss(w).sum())(copies)",
        "layers = jax.device_put(layers, jax.NamedSharding(line, jax.P())): a device sends 5.5 MB instead of 11.0 MB, "
        "and at its peak a device holds",
        "layers",
        setup="layers, copies = put((3, 512, 512), None, 'd', mesh=line), put((3, 512, 512), mesh=line)",
    ),
    "an array on one device": Odd(
        "y = both * here",
        1,
        ("`here` lies on cpu:0, and is cut up and sent to 8 devices in each run: 2.1 MB",),
        "y = both * columns",
        "here = jax.device_put(here, jax.NamedSharding(mesh, jax.P('x', 'y'))): nothing is moved in a run then",
        "here",
    ),
    "an array of NumPy": Odd(
        "y = both + numpy",
        1,
        ("`numpy` lies on the host",),
        "y = both + columns",
        "numpy = jax.device_put(numpy, jax.NamedSharding(mesh, jax.P('x', 'y'))): nothing is moved in a run then",
        "numpy",
    ),
    "an axis that nothing is split over": Odd(
        "h = rows * 2\ny = jnp.tanh(h) + 1",
        1,
        ("nothing is split over the axis y of the mesh: its 2 devices hold and compute the same",),
        "h = both * 2\ny = jnp.tanh(h) + 1",
        "rows = jax.device_put(rows, jax.NamedSharding(mesh, jax.P(",
        "rows",
    ),
    "a large result that nobody asked for": Odd(
        "y = jnp.full((1024, 1024), both.sum())",
        1,
        ("`y`, float32[1024,1024], is computed and held whole by each of 8 devices: 4.2 MB each",),
        "y = wsc(jnp.full((1024, 1024), both.sum()), NamedSharding(mesh, P('x')))",
        "spread it otherwise there: at its peak a device holds",
        "y",
    ),
    "a print inside a function": Odd(
        "@jax.jit\ndef f(v):\n    jax.debug.callback(lambda v: None, v)\n    return v * 2\ny = f(both)",
        3,
        ("jax.debug.callback takes float32[512,1024] whole", "it is copied to the host, in each run"),
        "@jax.jit\ndef f(v):\n    jax.debug.callback(lambda v: None, v.sum())\n    return v * 2\ny = f(both)",
        "let each device have its piece: a device sends 0 B instead of 1.8 MB",
    ),
    "a function of Python": Odd(
        "@jax.jit\ndef f(v):\n    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((512, 1024), 'float32'), v)\n"
        "y = f(both)",
        3,
        ("jax.pure_callback takes float32[512,1024] whole",),
        "@jax.jit\ndef f(v):\n    return jnp.sin(v)\ny = f(both)",
    ),
}

_STEP = "l, g = jax.value_and_grad(lambda v: jnp.mean(jnp.tanh({} @ v) ** 2))({})\n"

CLEAN = {
    "one device": "y = jnp.cumsum(here, 0)",
    "data parallel": _STEP.format("batch", "v") + "v = v - g",
    "tensor parallel": "h = jnp.tanh(whole @ w)\ny = h @ w.T",
    "FSDP": (
        "@jax.jit\ndef step(u):\n    g = jax.grad(lambda v: jnp.mean(jnp.tanh(large @ v) ** 2))(u)\n"
        "    return u - wsc(g, NamedSharding(line, P('d')))\nu = step(u)"
    ),
    "collectives of one's own": (
        "f = lambda v: lax.all_gather(v, 'd')\n"
        "y = jax.shard_map(f, mesh=line, in_specs=P('d'), out_specs=P(None, 'd'))(batch)"
    ),
    "copies that were asked for": "y = wsc(both * 1, NamedSharding(mesh, P()))",
    "small values": "y = jnp.cumsum(both[:8, :8], 0)\nz = wsc(small * 2, NamedSharding(mesh, P('x')))",
    "named axes": (
        "f = jaxnb.xmap(jnp.tanh, in_axes=['b', ...], out_axes=['b', ...], axis_resources={'b': 'd'}, mesh=line)\n"
        "y = f(batch)"
    ),
}
"""Cells of which nothing is to be said; they begin with `SETUP` and `MORE`."""

MORE = """
import jaxnb
v, whole, u = put((512, 512), mesh=line), put((512, 512), mesh=line), put((512, 512), 'd', mesh=line)
large, small = put((4096, 512), 'd', mesh=line), jnp.ones((8, 2))
"""
