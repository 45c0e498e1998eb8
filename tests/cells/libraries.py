"""What code reads of installed modules that a user can change counts like what names hold (rule 4)."""

from .case import Case

LIBRARY = """\
import sys, types
def new_module(name, text):
    made = types.ModuleType(name)
    made.__file__ = '/usr/lib/python3/site-packages/somelib/__init__.py'
    sys.modules[name] = made
    exec(text, made.__dict__)
    return made

lib = new_module('somelib', '''
import jax.numpy as jnp
import numpy as np
class Config:
    def __init__(self):
        self.lr, self.steps = 0.5, 3
SCALE, N, NAME, COUNT, PAIR = 2.0, 3, "a", 0, (1, 2.0)
D, NESTED, LOG, CONFIG = {"k": 2.0, "n": 3}, {"a": {"b": [1.0, 2]}}, [], Config()
W, TABLE, LOGGED, HOOKS = jnp.ones(3), np.arange(3.0), [], {}
OPTS, _SERVED, _CACHE = {"a": 1.0}, {"rate": 2.0}, {}
def double(v): return v * 2
def scaled(v, by=2.0, opts=OPTS, *, plus=1): return v * by * opts["a"] + plus
def remembering(v, seen={}):
    seen[len(seen)] = 1
    return v * 2
def twice(v): return Model()(Model()(v))
def __getattr__(name):
    if name in _SERVED:
        return _SERVED[name]
    raise AttributeError(name)
class Base:
    depth = 2
    def step(self, v): return v * SCALE
class Model(Base):
    def __call__(self, v):
        for _ in range(self.depth):
            v = self.step(v)
        return v
    def again(self, v): return self(v) + self.shift
    shift = 1
def faster(self, v): return v * 7 + N
class Listed:
    items = [1]
    def all(self): return self.items
model = Model()
''')
lib.sub = new_module('somelib.sub', 'K, L = 3.0, [1]')
"""

READ = {
    "a number": ("y = x * lib.SCALE", "lib.SCALE += 1"),
    "an int": ("y = x * lib.N", "lib.N += 1"),
    "text": ("y = x * (2 if lib.NAME == 'a' else 3)", "lib.NAME += 'b'"),
    "an item": ("y = x * lib.D['k']", "lib.D['k'] += 1"),
    "a nested item": ("y = x * lib.NESTED['a']['b'][0]", "lib.NESTED['a']['b'][0] += 1"),
    "an attribute of an object": ("y = x * lib.CONFIG.lr", "lib.CONFIG.lr += 1"),
    "another object": ("y = x * lib.CONFIG.steps", "lib.CONFIG = lib.Config()\nlib.CONFIG.steps = 5"),
    "an array in place": ("y = x + lib.TABLE", "lib.TABLE[0] += 5"),
    "a submodule": ("y = x * lib.sub.K", "lib.sub.K += 1"),
    "a list": ("y = x * len(lib.sub.L)", "lib.sub.L.append(2)"),
    "a function put there": ("y = lib.double(x)", "lib.double = lambda v: v * 3"),
    "a default": ("y = lib.scaled(x)", "lib.scaled.__defaults__ = (3.0, lib.OPTS)"),
    "a default that is a dict": ("y = lib.scaled(x)", "lib.OPTS['a'] += 1"),
    "a default by keyword": ("y = lib.scaled(x)", "lib.scaled.__kwdefaults__['plus'] += 1"),
    "an attribute of a class": ("y = lib.model(x)", "lib.Base.depth += 1"),
    "an attribute above that of a class": ("y = lib.model(x)", "lib.Model.depth = 1\nlib.Base.depth += 1"),
    "an attribute of a class in a function": ("y = lib.twice(x)", "lib.Base.depth += 1"),
    "an attribute that a called method reads": ("y = lib.model.again(x)", "lib.Model.shift += 1"),
    "what a method reads": ("y = lib.model(x)", "lib.SCALE += 1"),
    "a list of a class": ("y = x * len(lib.Listed().all())", "lib.Listed.items.append(2)"),
    "a method that is put there": ("m = lib.Model()\ny = m(x)", "lib.Base.step = lib.faster"),
    "a name that is served": ("y = x * lib.rate", "lib._SERVED['rate'] += 1"),
    "a name that was served": ("y = x * lib.rate", "lib.rate = 5.0"),
    "a helper": ("y = helper(x)", "lib.SCALE += 1"),
    "an import in a helper": ("y = importing(x)", "lib.SCALE += 1\nlib.sub.K += 1"),
    "getattr": ("y = x * getattr(lib, 'SCALE')", "lib.SCALE += 1"),
    "vars": ("y = x * vars(lib)['SCALE']", "lib.SCALE += 1"),
    "another name": ("m = lib\ny = x * m.SCALE", "lib.SCALE += 1"),
    "arguments of the process": ("y = x * len(sys.argv)", "sys.argv.append('more')"),
    "errors of numpy": ("y = x * (1 if np.geterr()['divide'] == 'warn' else 2)", "np.seterr(divide='ignore')"),
    "printing of numpy": ("y = x * np.get_printoptions()['precision']", "np.set_printoptions(precision=4)"),
    "context of decimal": ("y = x * float(decimal.Decimal(1) / 3)", "decimal.getcontext().prec = 4"),
    "context of decimal for a number": ("y = x * float(third(1))", "decimal.getcontext().rounding = 'ROUND_UP'"),
    "context of decimal in a helper": ("y = divided(x)", "decimal.getcontext().prec = 3"),
    "context of decimal by another name": (
        "with localcontext() as c:\n    y = x * float(c.divide(1, 3))",
        "decimal.getcontext().prec = 5",
    ),
    "errors of numpy by another name": ("y = x * len(geterr()['over'])", "np.seterr(over='ignore')"),
    "configuration of jax": (
        "y = x * (2 if jax.config.jax_debug_key_reuse else 3)",
        "jax.config.update('jax_debug_key_reuse', True)",
    ),
}
HELPERS = """\
def helper(v):
    return v * lib.SCALE

def importing(v):
    import somelib
    from somelib.sub import K
    return v * somelib.SCALE * K

import decimal
from decimal import localcontext
from numpy import geterr
one = decimal.Decimal(1)
def divided(v):
    return v * float(one / 3)

def third(n):
    return decimal.Decimal(n) / decimal.Decimal(3)
"""
BACK = """\
sys.argv[:] = [word for word in sys.argv if word != 'more']
np.seterr(divide='warn', over='warn')
decimal.getcontext().prec, decimal.getcontext().rounding = 28, 'ROUND_HALF_EVEN'
np.set_printoptions(precision=8)
jax.config.update('jax_debug_key_reuse', False)"""

CASES = [
    *(
        Case(f"library-{name}", setup=(LIBRARY, HELPERS, BACK), cell=cell, change=(change, "x = x + 1"), reused=None)
        for name, (cell, change) in READ.items()
    ),
    Case(
        "library-remembers-in-a-default",
        setup=LIBRARY,
        cell="y = lib.remembering(x)",
        change="x = x + 1",
    ),
    Case(
        "library-array",
        setup=LIBRARY,
        cell="y = x * lib.W",
        change=("lib.W = lib.W + 1", "lib.W = lib.W * 2"),
        probes=("lib.W",),
        rule=4,
    ),
    Case(
        "library-list-appended-to",
        setup=LIBRARY,
        cell="lib.LOGGED.append(x * 2)\ny = x + 1",
        change=("x = x + 1",),
        probes=("lib.LOGGED", "len(lib.LOGGED)"),
        rule=6,
    ),
    Case(
        "library-registry-changed",
        setup=LIBRARY,
        cell="lib.HOOKS['a'] = x * 2\nlib.CONFIG.out = x + 1\ny = x",
        probes=("lib.HOOKS", "lib.CONFIG.out"),
        reused2=None,
        rule=6,
    ),
    Case(
        "library-attributes-assigned",
        setup=LIBRARY,
        cell="lib.NEW = x * 2\nlib.COUNT += 1\nlib.sub.K = lib.sub.K * x\nz = x * lib.COUNT",
        probes=("lib.NEW", "lib.COUNT", "lib.sub.K"),
        reused2=None,
        rule=6,
    ),
    Case(
        "library-attribute-deleted",
        setup=LIBRARY,
        cell="y = x * lib.SCALE\ndel lib.NAME",
        again="lib.NAME = 'b'",
        probes=("hasattr(lib, 'NAME')",),
        reused2=None,
        rule=6,
    ),
    Case(
        "library-attribute-put-back-after-failure",
        setup=LIBRARY,
        cell="lib.NEW = x * 2\nlib.SCALE = 7.0\nlib.LOGGED.append(x)\ny = x + undefined",
        raises="NameError",
        probes=("hasattr(lib, 'NEW')", "lib.SCALE", "lib.LOGGED"),
        rule=8,
    ),
]
