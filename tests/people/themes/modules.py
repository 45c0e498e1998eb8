"""Modules of the user's own, state of installed modules, and settings of the process."""

from ..cell import written

PRELUDE = """
import os, sys, importlib, textwrap
import jax, jax.numpy as jnp, numpy as np
from pathlib import Path
def install(name, text):
    Path("site-packages").mkdir(exist_ok=True)
    Path(f"site-packages/{name}.py").write_text(textwrap.dedent(text))
    importlib.invalidate_caches()
def helper(name, text):
    Path(f"{name}.py").write_text(textwrap.dedent(text))
    importlib.invalidate_caches()
sys.path.append(os.path.abspath("site-packages"))
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### own-module-function
helper("mymath", "import jax.numpy as jnp\ndef act(x):\n    return jnp.tanh(x) * 2\n")
import mymath
---
y = mymath.act(x)
y.sum()
---
x = x + 1

### own-module-constant
helper("mycfg", "SCALE = 2.0\nBIAS = 1\n")
import mycfg
---
y = x * mycfg.SCALE + mycfg.BIAS
y
---
mycfg.SCALE = 3.0
---
mycfg.BIAS = 10

### own-module-array
helper("mytab", "import jax.numpy as jnp\nTABLE = jnp.arange(4.0)\ndef look(i):\n    return TABLE[i]\n")
import mytab
i = jnp.array([1, 2])
---
y = mytab.look(i)
y
---
mytab.TABLE = mytab.TABLE * 10

### own-module-reloaded
helper("hot", "def f(x):\n    return x + 1\n")
import hot
---
y = hot.f(x)
y
---
helper("hot", "def f(x):\n    return x * 100 + 5\n"); importlib.reload(hot)

### from-import-in-cell
helper("late", "import jax.numpy as jnp\nK = jnp.float32(3)\ndef g(x):\n    return x * K\n")
---
from late import g, K
y = g(x)
y, K
---
x = x * 2

### import-inside-function
helper("lazy", "CALLS = []\ndef h(x):\n    CALLS.append(1)\n    return x - 1\n")
def run(x):
    import lazy
    return lazy.h(x)
---
y = run(x)
import lazy
len(lazy.CALLS)

### module-registry-appended
helper("reg", "REGISTRY = []\ndef register(v):\n    REGISTRY.append(v)\n    return v\n")
import reg
---
y = reg.register(x * 2)
len(reg.REGISTRY), reg.REGISTRY[-1] is y
---
x = x + 1

### installed-scale
install("somelib", "SCALE = 2.0\ndef apply(x):\n    return x * SCALE\n")
import somelib
---
y = somelib.apply(x)
y
---
somelib.SCALE = 5.0

### installed-dict
install("confs", "D = {'k': 1.0, 'on': True}\ndef f(x):\n    return x * D['k'] if D['on'] else -x\n")
import confs
---
y = confs.f(x)
y
---
confs.D["k"] = 4.0
---
confs.D["on"] = False

### installed-switch
install("modes", "_mode = 'train'\ndef set_mode(m):\n    global _mode\n    _mode = m\ndef drop(x):\n    return x * 0.5 if _mode == 'train' else x\n")
import modes
---
y = modes.drop(x)
y
---
modes.set_mode("eval")

### installed-set-in-cell
install("modes2", "_mode = 'train'\ndef set_mode(m):\n    global _mode\n    _mode = m\ndef mode():\n    return _mode\n")
import modes2
---
before = modes2.mode()
modes2.set_mode("eval")
y = x * (2 if modes2.mode() == "eval" else 3)
before, y
---
modes2.set_mode("train")

### installed-sentinel
install("sent", "class _Missing: pass\nMISSING = _Missing()\nTAGS = frozenset({'a'})\ndef pick(v=MISSING):\n    return v\n")
import sent
---
y = x + 1
tag = sent.pick()
tag is sent.MISSING

### installed-counter
install("ctr", "count = 0\ndef step(x):\n    global count\n    count += 1\n    return x + count\n")
import ctr
---
y = ctr.step(x)
y, ctr.count

### installed-class-attribute
install("shapes", "class Model:\n    depth = 2\n    def __call__(self, x):\n        for _ in range(self.depth):\n            x = x * 2\n        return x\n")
from shapes import Model
m = Model()
---
y = m(x)
y
---
Model.depth = 3
---
m.depth = 1

### installed-context-manager
install("ctxs", "import contextlib\nLEVEL = 1\n@contextlib.contextmanager\ndef level(n):\n    global LEVEL\n    old, LEVEL = LEVEL, n\n    try:\n        yield\n    finally:\n        LEVEL = old\ndef up(x):\n    return x * LEVEL\n")
import ctxs
---
with ctxs.level(3):
    y = ctxs.up(x)
z = ctxs.up(x)
y, z, ctxs.LEVEL

### package-with-submodules
Path("pkg").mkdir()
Path("pkg/__init__.py").write_text("from .core import run\n")
Path("pkg/core.py").write_text("from . import opts\ndef run(x):\n    return x ** opts.POWER\n")
Path("pkg/opts.py").write_text("POWER = 2\n")
importlib.invalidate_caches()
import pkg, pkg.opts
---
y = pkg.run(x)
y
---
pkg.opts.POWER = 3
""",
)
