"""What a module keeps and its functions read: changed by the user or by itself, it is as in the plain cell."""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.staging.session.session import Session

CHANGED_BY_ITSELF = {
    "counter": (
        """\
n = 0
def step(x):
    global n
    n += 1
    return x + n
""",
        "lib.n",
    ),
    "attribute of a class": (
        """\
class C:
    n = 0
def step(x):
    C.n += 1
    return x + C.n
""",
        "lib.C.n",
    ),
    "counter in a dict": (
        """\
S = {'n': 0}
def step(x):
    S['n'] += 1
    return x + S['n']
""",
        "lib.S['n']",
    ),
    "list that grows": (
        """\
L = []
def step(x):
    L.append(1)
    return x + len(L)
""",
        "len(lib.L)",
    ),
    "itertools.count": (
        """\
import itertools
c = itertools.count()
def step(x):
    return x + next(c)
""",
        "repr(lib.c)",
    ),
    "counter of a method": (
        """\
n = 0
class M:
    def __call__(self, x):
        global n
        n += 1
        return x + n
step = M()
""",
        "lib.n",
    ),
    "counter of an object": (
        """\
class St: pass
s = St(); s.n = 0
def step(x):
    s.n += 1
    return x + s.n
""",
        "lib.s.n",
    ),
    "lazy array": (
        """\
import jax.numpy as jnp
t = None
def step(x):
    global t
    if t is None:
        t = jnp.ones(4) * 3
    return x + t
""",
        "lib.t",
    ),
    "lazy NumPy array": (
        """\
import numpy as np
t = None
def step(x):
    global t
    if t is None:
        t = np.ones(4) * 3
    return x + t
""",
        "lib.t",
    ),
    "last array": (
        """\
last = None
def step(x):
    global last
    last = x * 2
    return x + 1
""",
        "lib.last",
    ),
    "first array": (
        """\
def step(x):
    global last
    last = x * 2
    return x + 1
""",
        "lib.last",
    ),
    "array that follows": (
        """\
last = 0.0
def step(x):
    global last
    y = x + last
    last = y
    return y
""",
        "lib.last",
    ),
    "average": (
        """\
ema = 0.0
def step(x):
    global ema
    ema = 0.9 * ema + 0.1 * float(2.5)
    return x * ema
""",
        "lib.ema",
    ),
    "first time": (
        """\
first = True
def step(x):
    global first
    if first:
        first = False
        return x
    return x * 2
""",
        "lib.first",
    ),
    "fresh names": (
        """\
n = 0
def _fresh(p):
    global n
    n += 1
    return f'{p}_{n}'
def step(x):
    return {_fresh('w'): x * 2}
""",
        "lib.n",
    ),
    "random.Random": (
        """\
import random
r = random.Random(0)
def step(x):
    return x + r.random()
""",
        "0",
    ),
    "NumPy generator": (
        """\
import numpy as np
r = np.random.default_rng(0)
def step(x):
    return x + r.normal()
""",
        "0",
    ),
    "counter on the function": (
        """\
def step(x):
    step.n = getattr(step, 'n', 0) + 1
    return x + step.n
""",
        "lib.step.n",
    ),
    "cache": (
        """\
import functools
@functools.lru_cache
def f(n):
    global hits
    hits += 1
    return n * 2
hits = 0
def step(x):
    return x + f(3)
""",
        "lib.hits",
    ),
    "counter in a default": (
        """\
def step(x, s=[0]):
    s[0] += 1
    return x + s[0]
""",
        "lib.step.__defaults__",
    ),
    "counter in a closure": (
        """\
def make():
    n = 0
    def step(x):
        nonlocal n
        n += 1
        return x + n
    return step
step = make()
""",
        "lib.step.__closure__[0].cell_contents",
    ),
    "two numbers": (
        """\
n = 0
m = 5
def step(x):
    global n, m
    n, m = m, n + 1
    return x + n
""",
        "(lib.n, lib.m)",
    ),
    "counter of a decorated function": (
        """\
import functools
def d(f):
    @functools.wraps(f)
    def g(*a):
        return f(*a)
    return g
n = 0
@d
def step(x):
    global n
    n += 1
    return x + n
""",
        "lib.n",
    ),
}
"""Modules with a `step` that moves on what they keep, and what shows it."""

CHANGED_BY_USERS = {
    "object": (
        """\
class Cfg:
    def __init__(self): self.scale = 2.0
cfg = Cfg()
def step(x):
    return x * cfg.scale
""",
        "lib.cfg.scale = 3.0",
    ),
    "namespace": (
        """\
from types import SimpleNamespace
cfg = SimpleNamespace(scale=2.0)
def step(x):
    return x * cfg.scale
""",
        "lib.cfg.scale = 3.0",
    ),
    "dataclass": (
        """\
from dataclasses import dataclass
@dataclass
class Cfg:
    scale: float = 2.0
cfg = Cfg()
def step(x):
    return x * cfg.scale
""",
        "lib.cfg.scale = 3.0",
    ),
    "array changed in place": (
        """\
import numpy as np
T = np.arange(4.0)
def step(x):
    return x * T
""",
        "lib.T[1] = 30.0",
    ),
    "another NumPy array": (
        """\
import numpy as np
T = np.arange(4.0)
def step(x):
    return x * T
""",
        "lib.T = lib.T + 5",
    ),
    "another JAX array": (
        """\
import jax.numpy as jnp
T = jnp.arange(4.0)
def step(x):
    return x * T
""",
        "lib.T = lib.T + 5",
    ),
    "dict in a dict": (
        """\
D = {'a': {'b': 2.0}}
def step(x):
    return x * D['a']['b']
""",
        "lib.D['a']['b'] = 3.0",
    ),
    "arrays in a dict": (
        """\
import numpy as np
D = {'a': np.ones(4)}
def step(x):
    return x * D['a']
""",
        "lib.D['a'] = np.full(4, 7.0)",
    ),
    "attribute of a class": (
        """\
class Cfg:
    scale = 2.0
def step(x):
    return x * Cfg.scale
""",
        "lib.Cfg.scale = 3.0",
    ),
    "class method": (
        """\
class Cfg:
    scale = 2.0
    @classmethod
    def get(cls): return cls.scale
def step(x):
    return x * Cfg.get()
""",
        "lib.Cfg.scale = 3.0",
    ),
    "dict of a class": (
        """\
class Cfg:
    d = {'s': 2.0}
def step(x):
    return x * Cfg.d['s']
""",
        "lib.Cfg.d['s'] = 3.0",
    ),
    "environment": (
        """\
import os
def step(x):
    return x * float(os.environ.get('LIBSC', '2'))
""",
        "import os; os.environ['LIBSC'] = '3'",
    ),
    "context variable": (
        """\
import contextvars
sc = contextvars.ContextVar('sc', default=2.0)
def step(x):
    return x * sc.get()
""",
        "lib.sc.set(3.0)",
    ),
    "setter": (
        """\
_s = 2.0
def set_scale(v):
    global _s
    _s = v
def step(x):
    return x * _s
""",
        "lib.set_scale(3.0)",
    ),
    "setter of an object": (
        """\
class _C: pass
_c = _C()
_c.s = 2.0
def set_scale(v):
    _c.s = v
def step(x):
    return x * _c.s
""",
        "lib.set_scale(3.0)",
    ),
    "registered function": (
        """\
R = {}
def register(n, f):
    R[n] = f
register('a', lambda x: x * 2)
def step(x):
    return R['a'](x)
""",
        "lib.register('a', lambda x: x * 3)",
    ),
    "function registered by a decorator": (
        """\
R = {}
def register(n):
    def d(f):
        R[n] = f
        return f
    return d
@register('a')
def _a(x): return x * 2
def step(x):
    return R['a'](x)
""",
        "lib.R['a'] = lambda x: x * 3",
    ),
    "hooks": (
        """\
H = []
def step(x):
    for h in H: x = h(x)
    return x + 1
""",
        "lib.H.append(lambda x: x * 3)",
    ),
    "context on a stack": (
        """\
import contextlib
_stack = []
@contextlib.contextmanager
def scaled(s):
    _stack.append(s)
    yield
    _stack.pop()
def step(x):
    return x * (_stack[-1] if _stack else 2.0)
""",
        "c = lib.scaled(3.0); c.__enter__()",
    ),
    "thread-local": (
        """\
import threading
_l = threading.local()
def set_scale(s): _l.s = s
def step(x):
    return x * getattr(_l, 's', 2.0)
""",
        "lib.set_scale(3.0)",
    ),
    "tuple": (
        """\
T = (1.0, 2.0)
def step(x):
    return x * T[1]
""",
        "lib.T = (1.0, 3.0)",
    ),
    "member of an enumeration": (
        """\
import enum
class M(enum.Enum):
    A = 2.0
    B = 3.0
mode = M.A
def step(x):
    return x * mode.value
""",
        "lib.mode = lib.M.B",
    ),
    "named tuple": (
        """\
import collections
C = collections.namedtuple('C', 's t')
c = C(2.0, 1)
def step(x):
    return x * c.s
""",
        "lib.c = lib.c._replace(s=3.0)",
    ),
    "replaced function": (
        """\
def act(x): return x * 2
def step(x):
    return act(x)
""",
        "lib.act = lambda x: x * 3",
    ),
    "replaced method": (
        """\
class A:
    def go(self, x): return x * 2
a = A()
def step(x):
    return a.go(x)
""",
        "lib.A.go = lambda self, x: x * 3",
    ),
    "object in an object": (
        """\
import types
sub = types.SimpleNamespace(c=types.SimpleNamespace(s=2.0))
def step(x):
    return x * sub.c.s
""",
        "lib.sub.c.s = 3.0",
    ),
    "partial": (
        """\
import functools
def f(x, s): return x * s
g = functools.partial(f, s=2.0)
def step(x):
    return g(x)
""",
        "import functools; lib.g = functools.partial(lib.f, s=3.0)",
    ),
    "decorated function": (
        """\
import functools
def d(f):
    @functools.wraps(f)
    def g(*a): return f(*a)
    return g
S = 2.0
@d
def step(x):
    return x * S
""",
        "lib.S = 3.0",
    ),
    "function under vmap": (
        """\
import jax
S = 2.0
def f(x): return x * S
g = jax.vmap(f)
def step(x):
    return g(x)
""",
        "lib.S = 3.0",
    ),
    "function under grad": (
        """\
import jax
S = 2.0
def f(x): return (x * S).sum()
step = jax.grad(f)
""",
        "lib.S = 3.0",
    ),
    "lambda": (
        """\
S = 2.0
step = lambda x: (lambda y: y * S)(x)
""",
        "lib.S = 3.0",
    ),
    "property": (
        """\
class A:
    s = 2.0
    @property
    def sc(self): return self._g()
    def _g(self): return S
S = 2.0
a = A()
def step(x):
    return x * a.sc
""",
        "lib.S = 3.0",
    ),
    "subclass of dict": (
        """\
class RcParams(dict): pass
rc = RcParams(s=2.0)
def step(x):
    return x * rc['s']
""",
        "lib.rc['s'] = 3.0",
    ),
    "ordered dict": (
        """\
import collections
rc = collections.OrderedDict(s=2.0)
def step(x):
    return x * rc['s']
""",
        "lib.rc['s'] = 3.0",
    ),
    "defaultdict": (
        """\
import collections
rc = collections.defaultdict(lambda: 2.0)
def step(x):
    return x * rc.get('s', 2.0)
""",
        "lib.rc['s'] = 3.0",
    ),
    "set of flags": (
        """\
flags = set()
def step(x):
    return x * (3.0 if 'fast' in flags else 2.0)
""",
        "lib.flags.add('fast')",
    ),
    "level of a logger": (
        """\
import logging
log = logging.getLogger('zz')
def step(x):
    return x * (3.0 if log.isEnabledFor(10) else 2.0)
""",
        "lib.log.setLevel(10)",
    ),
    "list in a closure": (
        """\
def make():
    s = [2.0]
    def set_s(v): s[0] = v
    def step(x): return x * s[0]
    return set_s, step
set_s, step = make()
""",
        "lib.set_s(3.0)",
    ),
    "number in a closure": (
        """\
def make():
    s = 2.0
    def set_s(v):
        nonlocal s
        s = v
    def step(x): return x * s
    return set_s, step
set_s, step = make()
""",
        "lib.set_s(3.0)",
    ),
    "attribute of a function": (
        """\
def step(x):
    return x * step.s
step.s = 2.0
""",
        "lib.step.s = 3.0",
    ),
}
"""Modules with a `step` that reads what they keep, and what changes that."""

SETUP = "import jax, jax.numpy as jnp, numpy as np\nx = jnp.arange(4.0)\n"
_names = (f"kept_by_module_{number}" for number in itertools.count())


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where modules can be imported from, as installed ones or as the user's own."""
    found = tmp_path / ("site-packages" if request.param == "installed" else "src")
    found.mkdir()
    monkeypatch.syspath_prepend(str(found))
    return found


def imported(folder: Path, text: str) -> dict[str, Any]:
    """A namespace with a new module of this text as `lib`."""
    name = next(_names)
    (folder / f"{name}.py").write_text(text)
    importlib.invalidate_caches()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(f"{SETUP}import {name} as lib", namespace)
    return namespace


def same(one: Any, other: Any) -> bool:
    leaves = [np.asarray(value) for value in (*(one.values() if isinstance(one, dict) else [one]),)]
    others = [np.asarray(value) for value in (*(other.values() if isinstance(other, dict) else [other]),)]
    keys = list(one) == list(other) if isinstance(one, dict) else True
    return keys and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(leaves, others, strict=True))


@pytest.mark.parametrize("folder", ["installed", "own"], indirect=True)
@pytest.mark.parametrize("text, shown", CHANGED_BY_ITSELF.values(), ids=CHANGED_BY_ITSELF)
def test_what_a_module_moves_on_itself_moves_on(folder: Path, text: str, shown: str) -> None:
    session, plain, staged = new_session(), imported(folder, text), imported(folder, text)
    for run in range(5):
        exec("y = lib.step(x)", plain)
        session.stage("y = lib.step(x)", staged, StageOptions())
        assert same(plain["y"], staged["y"]), f"run {run}: {plain['y']} plain, {staged['y']} staged"
        assert repr(eval(shown, plain)) == repr(eval(shown, staged)), f"run {run}"


@pytest.mark.parametrize("folder", ["installed", "own"], indirect=True)
@pytest.mark.parametrize("text, change", CHANGED_BY_USERS.values(), ids=CHANGED_BY_USERS)
def test_what_is_changed_in_a_module_is_seen(
    folder: Path, text: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBSC", "2")  # is put back afterwards
    session, namespace = new_session(), imported(folder, text)
    for run in range(4):
        if run == 2:
            exec(change, namespace)
        session.stage("y = lib.step(x)", namespace, StageOptions())
        exec("expected = lib.step(x)", namespace)
        assert same(namespace["expected"], namespace["y"]), f"run {run}"


@pytest.mark.parametrize("folder", ["installed"], indirect=True)
def test_what_a_large_package_keeps_is_no_tracer_whatever_else_has_leaked(folder: Path) -> None:
    calls = "".join(f"def f{n}(x): return f{n + 1}(x)\n" for n in range(60))
    text = f"last = None\n{calls}def f60(x):\n    global last\n    last = x * 2\n    return x + 1\n"
    session, plain, staged = new_session(), imported(folder, text), imported(folder, text)
    exec("kept = []\njax.jit(lambda v: kept.append(v * 2))(x)", plain)
    for _ in range(3):
        exec("y = lib.f0(x)", plain)
        session.stage("y = lib.f0(x)", staged, StageOptions())
        assert repr(plain["lib"].last) == repr(staged["lib"].last)


IN_THE_PROCESS = {
    "by the cell": "sys.meta_path.append(f)\ny = given_up(x)\nsys.meta_path.remove(f)",
    "in a block": "try:\n    sys.meta_path.append(f)\n    y = given_up(x)\nfinally:\n    sys.meta_path.remove(f)",
    "by a function": "y = outside(x)\nsys.meta_path.remove(f)",
    "by one that imports": "y = imports(x)\nsys.meta_path.remove(f)",
    "by one that imports the list": "y = imports_list(x)\nsys.meta_path.remove(f)",
    "that is read": "y = x * len(sys.meta_path)",
    "that is read by a function": "y = reads(x)",
}
HOOKS = """
import sys, jax, jax.numpy as jnp
class Finder:
    def find_spec(self, name, path=None, target=None): return None
f, x = Finder(), jnp.arange(3.0)
def given_up(x):
    y = x * len(sys.meta_path)
    return y + 1 if y.sum() > 1 else y
def outside(x):
    sys.meta_path.append(f)
    return given_up(x)
def imports(x):
    import sys
    sys.meta_path.append(f)
    return given_up(x)
def imports_list(x):
    from sys import meta_path
    meta_path.append(f)
    return given_up(x)
def reads(x):
    import sys
    return x * len(sys.meta_path)
"""


@pytest.mark.parametrize("cell", IN_THE_PROCESS.values(), ids=IN_THE_PROCESS)
def test_a_list_of_the_process_is_followed(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    exec(HOOKS, plain)
    exec(HOOKS, staged)
    session = new_session()
    for _ in range(3):
        before = [*sys.meta_path]
        exec(cell, plain)
        assert sys.meta_path == before
        run = session.stage(cell, staged, StageOptions())
        assert sys.meta_path == before
        assert np.array_equal(plain["y"], staged["y"]), run.line
        sys.meta_path.append(plain["Finder"]())


def test_a_list_of_the_process_that_is_read_is_no_reason_to_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(HOOKS, names)
    session = new_session()
    runs = [session.stage("y = reads(x)", names, StageOptions()) for _ in range(2)]
    assert [run.reused for run in runs] == [False, True] and runs[0].pieces == 1
    sys.meta_path.append(names["f"])
    assert session.stage("y = reads(x)", names, StageOptions()).pieces == 1
    assert names["y"][1] == len(sys.meta_path)
