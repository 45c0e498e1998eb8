"""State of the process and of JAX: arguments, environment, settings of NumPy and of JAX, patches."""

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
### sys-argv
---
y = x * len(sys.argv)
first = sys.argv[0]
y
---
sys.argv.append("--fast")

### os-environ-read
os.environ["MY_SCALE"] = "2"
---
y = x * float(os.environ["MY_SCALE"])
y
---
os.environ["MY_SCALE"] = "7"

### os-environ-getenv-helper
def scale():
    return float(os.getenv("GAIN", "1.5"))
---
y = x * scale()
y
---
os.environ["GAIN"] = "4"

### os-environ-set
---
os.environ["RUN_ID"] = "r1"
y = x + len(os.environ["RUN_ID"])
y

### np-geterr
---
mode = np.geterr()["divide"]
y = x * (2.0 if mode == "warn" else 3.0)
y
---
np.seterr(divide="ignore")

### np-errstate
a = np.array([1.0, 0.0])
---
with np.errstate(divide="ignore"):
    r = 1 / a
y = jnp.where(jnp.isinf(jnp.asarray(r)), 0.0, jnp.asarray(r))
y

### np-printoptions
---
np.set_printoptions(precision=2, suppress=True)
y = jnp.sin(x)
print(np.asarray(y))
---
np.set_printoptions(precision=4)

### np-printoptions-read
---
y = x / 3
s = f"{y}"
print(s)
---
np.set_printoptions(precision=3)

### jax-config-x64
---
y = jnp.arange(3.0) * 2
z = x.astype(float)
y.dtype, z.dtype
---
jax.config.update("jax_enable_x64", True)

### jax-config-matmul
a = jnp.ones((2, 2))
---
y = a @ a
jax.config.jax_default_matmul_precision
---
jax.config.update("jax_default_matmul_precision", "highest")

### jax-config-set-in-cell
---
jax.config.update("jax_numpy_rank_promotion", "warn")
y = x * 2
jax.config.jax_numpy_rank_promotion

### jax-config-bound
---
config = jax.config
y = x + 1
config is jax.config

### getcwd-and-chdir
Path("sub").mkdir()
---
here = os.path.basename(os.getcwd())
y = x * len(here[:1])
Path("made.txt").write_text("1");

### monkeypatched-library
install("acts", "import jax.numpy as jnp\ndef act(x):\n    return jnp.tanh(x)\ndef net(x):\n    return act(x) + 1\n")
import acts
---
y = acts.net(x)
y
---
acts.act = lambda x: x * 10

### monkeypatch-in-cell
install("acts2", "import jax.numpy as jnp\ndef act(x):\n    return jnp.tanh(x)\ndef net(x):\n    return act(x) + 1\n")
import acts2
---
old = acts2.act
acts2.act = lambda v: v * 2
y = acts2.net(x)
acts2.act = old
y, acts2.act is old

### module-attribute-array-set
install("store", "latest = None\n")
import store
---
store.latest = x * 3
y = store.latest + 1
y
---
x = x + 1

### module-getattr
install("dyn", "_v = {'rate': 2.0}\ndef __getattr__(name):\n    if name in _v:\n        return _v[name]\n    raise AttributeError(name)\n")
import dyn
---
y = x * dyn.rate
y
---
dyn._v["rate"] = 6.0

### sys-modules-probe
---
fast = "numpy" in sys.modules
y = x * (2 if fast else 1)
y

### recursion-and-version
---
ok = tuple(int(p) for p in jax.__version__.split(".")[:2]) >= (0, 4)
y = x if not ok else x * 2
y

### default-argument-of-module
install("defs", "OPTS = {'a': 1.0}\ndef f(x, opts=OPTS, *, k=2):\n    return x * opts['a'] * k\n")
import defs
---
y = defs.f(x)
y
---
defs.OPTS["a"] = 3.0
---
defs.f.__kwdefaults__["k"] = 5
""",
)
