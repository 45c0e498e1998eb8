"""Attributes of modules that the class of the module computes, and clocks that count who asks them."""

from .case import Case

_MODULE = """\
import types
class M(types.ModuleType):
    reads = 0
    @property
    def lr(self):
        type(self).reads += 1
        return 0.5 + type(self).reads
mod = M("mod")
mod.k = jnp.float32(2.0)
def f(v): return v * mod.lr
"""

CASES = [
    Case(
        "module-that-counts-reads",
        setup=_MODULE,
        cell="y = x * mod.lr\nz = y * mod.lr",
        probes=("M.reads",),
        reused2=None,
        rule=2,
    ),
    Case(
        "module-that-counts-reads-of-a-function",
        setup=_MODULE,
        cell="y = f(x) + 1\nz = y * 2",
        probes=("M.reads",),
        reused2=None,
        rule=2,
    ),
    Case(
        "module-of-a-class-of-its-own",
        setup=_MODULE,
        cell="y = x * mod.k",
        change="mod.k = mod.k + 1",
        probes=("M.reads",),
        rule=4,
    ),
    Case(
        "clock-that-counts",
        setup="""\
import time
from unittest import mock
class Clock:
    ticks = 0
    def __call__(self):
        self.ticks += 1
        return float(self.ticks)
clock = Clock()""",
        cell="""\
with mock.patch("time.perf_counter", clock):
    a = time.perf_counter()
    y = jnp.sin(x) * 2
    b = time.perf_counter()
d = b - a""",
        probes=("clock.ticks",),
        reused2=None,
        rule=2,
    ),
]
