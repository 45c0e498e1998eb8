"""A cell that fails leaves as they were what names alone do not show (SEMANTICS, rule 8)."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb.staging.objects.process import process_back
from jaxnb.staging.session import session as session_module

STATEMENTS = {
    "frame-column": ("df['a'] = [7.0, 8.0]", "df.to_dict()"),
    "frame-new-column": ("df['c'] = df['a'] + 1", "list(df.columns)"),
    "frame-item": ("df.loc[0, 'a'] = 5.0", "df.to_dict()"),
    "frame-deleted-column": ("del df['a']", "df.to_dict()"),
    "frame-index": ("df.index = ['p', 'q']", "list(df.index)"),
    "frame-in-a-container": ("box['df'].iloc[1, 0] = 9.0", "df.to_dict()"),
    "frame-by-a-helper": ("fill(df)", "df.to_dict()"),
    "series": ("series.iloc[0] = 9.0", "list(series)"),
    "reference": ("ref[...] = ref[...] * 2", "ref[...].tolist()"),
    "reference-item": ("ref[0] = 9.0", "ref[...].tolist()"),
    "reference-by-a-helper": ("bump(ref)", "ref[...].tolist()"),
    "library-attribute": ("lib.SCALE = 9.0", "lib.SCALE"),
    "library-new-attribute": ("lib.NEW = 1", "hasattr(lib, 'NEW')"),
    "library-deleted-attribute": ("del lib.SCALE", "hasattr(lib, 'SCALE')"),
    "library-attribute-by-a-helper": ("set_scale()", "lib.SCALE"),
    "library-attribute-traced": ("lib.SCALE = x * 2", "repr(lib.SCALE)"),
    "own-module-attribute": ("own.K = 9", "own.K"),
    "own-module-global": ("own.change()", "own.K"),
    "defaults": ("helper.__defaults__ = (7.0,)", "helper.__defaults__"),
    "docstring-of-function": ("helper.__doc__ = 'changed'", "helper.__doc__"),
    "names-of-function": (
        "helper.__name__ = helper.__qualname__ = helper.__module__ = 'changed'",
        "(helper.__name__, helper.__qualname__, helper.__module__)",
    ),
    "defaults-traced": ("helper.__defaults__ = (x,)", "helper.__defaults__"),
    "new-defaults-traced": ("plain.__defaults__ = (x * 2,)", "plain.__defaults__"),
    "keyword-defaults": ("helper.__kwdefaults__ = {'k': 7.0}", "helper.__kwdefaults__"),
    "keyword-default": ("helper.__kwdefaults__['k'] = x", "helper.__kwdefaults__"),
    "dict-of-function": ("helper.calls = 1", "vars(helper)"),
    "set-on-partial": ("part.calls += 1; part.w = x * 2", "vars(part)"),
    "set-on-jitted": ("jitted.calls += 1; jitted.w = x * 2", "(jitted.calls, hasattr(jitted, 'w'))"),
    "set-on-cached": ("cached.calls += 1; cached.w = x * 2", "(cached.calls, hasattr(cached, 'w'))"),
    "constructor": ("Foo()", "Foo.made"),
    "constructor-of-a-metaclass": ("Made()", "made"),
    "derived-class": ("class Sub(Base): pass", "list(Base.known)"),
    "derived-class-of-a-metaclass": ("class Sub(Made): pass", "made"),
    "what-a-class-is-told": ("class Owner:\n    told = Told()", "made"),
    "setter": ("foo.value = 3", "made"),
    "body-of-a-match": ("match made:\n    case [*_]: made.append(1)", "made"),
    "what-a-match-binds": ("match (made, 1):\n    case (q, 1): q.append(1)", "made"),
    "walrus": ("if (q := made) is not None: q.append(1)", "made"),
    "list-of-own-module": ("own.L.append(1)", "own.L"),
    "list-in-own-module": ("own.conf['a'].append(1)", "own.conf"),
    "function-of-own-module": ("own.add()", "own.L"),
    "method-of-a-ufunc": ("np.add.at(array, [0], 5)", "array.tolist()"),
    "out-of-a-ufunc": ("np.add(array, 1, array)", "array.tolist()"),
    "operator-of-objects": ("sorted([counts, counts])", "Counts.n"),
    "operator-of-an-object": ("number = float(counts)", "Counts.n"),
    "operator-in-a-container": ("text = '{}'.format(table['a']['b'])", "Counts.n"),
    "environment": ("os.environ['JAXNB_UNDONE'] = '1'", "os.environ.get('JAXNB_UNDONE')"),
    "working-folder": ("os.chdir('/')", "os.getcwd()"),
    "where-modules-are": ("sys.path.append('undone'); sys.argv.append('undone')", "'undone' in sys.path + sys.argv"),
    "how-numpy-computes": ("old = np.seterr(all='ignore')", "np.geterr()"),
    "how-numpy-prints": ("np.set_printoptions(precision=2)", "np.get_printoptions()['precision']"),
    "decimal-numbers": ("decimal.getcontext().prec = 7", "decimal.getcontext().prec"),
    "warnings": ("warnings.filterwarnings('ignore', message='undone')", "len(warnings.filters)"),
    "level-of-a-logger": ("logging.getLogger('undone').setLevel(10)", "logging.getLogger('undone').level"),
    "how-deep": ("sys.setrecursionlimit(sys.getrecursionlimit() + 1)", "sys.getrecursionlimit()"),
    "exec": ("exec('made.append(1)')", "made"),
    "globals": ("globals()['made'].append(1)", "made"),
    "set-on-member": ("Kind.A.calls += 1; Kind.A.w = x * 2", "vars(Kind.A)"),
}

SETUP = """
import decimal, logging, os, sys, warnings
import jax, jax.numpy as jnp, numpy as np, pandas as pd
x = jnp.arange(3.0)
df = pd.DataFrame({'a': [1.0, 2.0], 'b': [3, 4]})
series = pd.Series([1.0, 2.0])
box = {'df': df}
ref = jax.new_ref(jnp.ones(3))
def fill(frame):
    frame['a'] = 0.0
def bump(r):
    r[1] = r[0] + 5.0
def set_scale():
    lib.SCALE = 5.0
def helper(v, w=1.0, *, k=2.0):
    return v * w * k
def plain(v):
    return v
import enum, functools
part, jitted, cached = functools.partial(plain, 1), jax.jit(lambda v: v), functools.lru_cache(lambda v: v)
part.calls = jitted.calls = cached.calls = 0
made = []
class Foo:
    made = []
    def __init__(self): Foo.made.append(1)
    def __setattr__(self, name, value): made.append(value)
foo = object.__new__(Foo)
class Meta(type):
    def __call__(cls, *args):
        made.append(cls.__name__)
        return super().__call__(*args)
    def __init__(cls, *args):
        super().__init__(*args)
        made.append("class")
class Made(metaclass=Meta): pass
class Base:
    known = {}
    def __init_subclass__(cls): Base.known[cls.__name__] = cls
class Counts:
    n = 0
    def __lt__(self, other): Counts.n += 1; return False
    def __float__(self): Counts.n += 1; return 1.0
    def __format__(self, form): Counts.n += 1; return "c"
counts, array = Counts(), np.zeros(3)
table = {"a": {"b": counts}}
class Told:
    def __set_name__(self, owner, name): made.append(name)
class Kind(enum.Enum):
    A = 1
    def __init__(self, v): self.calls = 0
"""


@pytest.fixture
def namespace() -> Iterator[dict[str, Any]]:
    back = process_back()  # what the good cells change
    lib, own = types.ModuleType("somelib_undone"), types.ModuleType("own_undone")
    lib.__file__ = "/usr/lib/python3/site-packages/somelib_undone.py"
    exec("SCALE = 2.0", vars(lib))
    exec("K = 1\nL, conf = [], {'a': []}\ndef change():\n    global K\n    K = 5\n    return K", vars(own))
    exec("def add():\n    L.append(1)", vars(own))
    sys.modules.update({lib.__name__: lib, own.__name__: own})
    names: dict[str, Any] = {"__name__": "__main__", "lib": lib, "own": own}
    pytest.importorskip("pandas")
    exec(SETUP, names)
    yield names
    back()


@pytest.mark.parametrize("end", ["raise RuntimeError('stop')", "y = x * undefined", "y = jnp.zeros(3) @ jnp.zeros(4)"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_failed_cell_undoes(name: str, end: str, namespace: dict[str, Any]) -> None:
    statement, shown = STATEMENTS[name]
    before = repr(eval(shown, namespace))
    with pytest.raises(Exception):  # noqa: B017
        jaxnb.stage(f"{statement}\nprint('x')\nz = x + 1\n{end}", namespace)
    assert repr(eval(shown, namespace)) == before


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_good_cell_does_not(name: str, namespace: dict[str, Any]) -> None:
    statement, shown = STATEMENTS[name]
    before = repr(eval(shown, namespace))
    jaxnb.stage(f"{statement}\nz = x + 1", namespace)
    assert repr(eval(shown, namespace)) != before


def test_an_interrupt_after_everything_is_bound_is_not_one_of_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(session_module, "total", interrupted)
    namespace: dict[str, Any] = {"__name__": "__main__", "jnp": jnp, "x": jnp.arange(3.0)}
    run = jaxnb.stage("y = x * 2\ny.sum()", namespace)
    assert namespace["y"].tolist() == [0.0, 2.0, 4.0] and run.value == 6.0 and run.outputs.keys() == {"y"}
    assert "interrupted" in run.note


def test_an_interrupt_before_that_leaves_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(jax, "block_until_ready", interrupted)
    namespace: dict[str, Any] = {"__name__": "__main__", "jnp": jnp, "x": jnp.arange(3.0)}
    with pytest.raises(KeyboardInterrupt):
        jaxnb.stage("x = x * 2\ny = x", namespace, block=True)
    assert namespace["x"].tolist() == [0.0, 1.0, 2.0] and "y" not in namespace


GIVING = """
import functools, jax, jax.numpy as jnp
from flax import nnx
@functools.partial(jax.jit, donate_argnums=0)
def update(params, g):
    return {name: item - 0.1 * g for name, item in params.items()}
params, step, g = {"w": jnp.ones(3), "b": jnp.zeros(())}, 0, jnp.ones(())
model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
@functools.partial(nnx.jit, donate_argnums=0)
def double(model, x):
    model.kernel[...] = model.kernel[...] * 2
    return model(x).sum()
x = jnp.ones(2)
"""
FAILING = {
    "in one piece": "step += 1\nparams = update(params, g)\ny = jnp.zeros(3) + jnp.zeros(4)",
    "in a later piece": "step += 1\nparams = update(params, g)\nprint(float(params['w'].sum()))\ny = 1 / 0",
    "in a loop": "for step in 1, 2, 3:\n    params = update(params, g)\n    print(params['b'])\n    assert step < 3",
    "in a model": "step += 1\nloss = double(model, x)\nprint(float(loss))\nraise KeyError(step)",
}


@pytest.mark.parametrize("cell", FAILING.values(), ids=FAILING)
def test_what_the_cell_has_donated_is_not_lost_with_it(cell: str) -> None:
    """The old array is gone and cannot be put back: what the cell has done stays, as in the plain cell."""
    plain: dict[str, Any] = {}
    staged: dict[str, Any] = {}
    errors: list[Exception] = []
    for names, run in ((plain, exec), (staged, jaxnb.stage)):
        exec(GIVING, names)
        for _ in range(2):
            with pytest.raises(Exception) as caught:
                run(cell, names)
            errors.append(caught.value)
    assert type(errors[0]) is type(errors[3])
    assert any("had donated" in note for note in errors[3].__notes__)
    for name in ("params", "step"):
        assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.allclose(a, b)), plain[name], staged[name])), name
    assert jnp.allclose(plain["model"].kernel[...], staged["model"].kernel[...])


NNX = """
from flax import nnx
import jax, jax.numpy as jnp, optax
x, cap = jnp.ones(8), 10
model = nnx.Linear(8, 2, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
norm, drop = nnx.BatchNorm(8, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(3))
def double(m):
    m.kernel[...] = m.kernel[...] * 2
    assert cap > 5
    return m(x)
def epoch(n):
    for i in range(n):
        loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).sum())(model)
        opt.update(model, grads)
        assert i != cap
    return loss
def forward(v):
    y = drop(norm(v[None]))
    assert cap > 5
    return y
"""


@pytest.mark.parametrize("cell", ["y = double(model)", "y = epoch(3)", "y = forward(x)"])
def test_modules_that_a_failing_function_has_changed_are_as_before(cell: str) -> None:
    nnx = pytest.importorskip("flax.nnx")
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(NNX, names)
    jaxnb.stage(cell, names)

    def state() -> Any:
        held = (names["model"], names["opt"], names["norm"], names["drop"])
        return [jax.random.key_data(v) if jax.dtypes.issubdtype(v.dtype, jax.dtypes.prng_key) else v
                for v in jax.tree.leaves(nnx.state(held))]  # fmt: skip

    before = [value.tolist() for value in state()]
    names["cap"] = 1
    with pytest.raises(AssertionError):
        jaxnb.stage(cell, names)
    assert [value.tolist() for value in state()] == before
