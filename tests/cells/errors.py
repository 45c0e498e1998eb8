"""What the cell raises, the staged cell raises too, and nothing has changed (rule 8)."""

from .case import Case

CASES = [
    Case(
        "error-shapes",
        cell="""\
y = x * 2
z = x + jnp.ones(4)""",
        raises="TypeError",
        rule=8,
    ),
    Case("error-dot-shapes", cell="z = w @ jnp.ones(4)", raises="TypeError", rule=8),
    Case("error-broadcast-reshape", cell="z = x.reshape(2, 2)", raises="TypeError", rule=8),
    Case("error-concatenate", cell="z = jnp.concatenate([x, w])", raises="TypeError", rule=8),
    Case("error-too-many-indices", cell="z = x[0, 0]", raises="IndexError", rule=8),
    Case(
        "error-name",
        cell="""\
y = x * 2
z = y + undefined_name""",
        raises="NameError",
        rule=8,
    ),
    Case(
        "error-name-in-helper",
        setup="""\
def f(a):
    return a * missing""",
        cell="y = f(x)",
        raises="NameError",
        rule=8,
    ),
    Case(
        "error-use-after-delete",
        cell="""\
t = x * 2
del t
y = t""",
        raises="NameError",
        rule=8,
    ),
    Case(
        "error-delete-unknown",
        cell="""\
y = x * 2
del nothing""",
        raises="NameError",
        rule=8,
    ),
    Case(
        "error-unbound-local",
        cell="""\
def f():
    y = z
    z = x
f()""",
        raises="UnboundLocalError",
        rule=8,
    ),
    Case(
        "error-zero-division-host",
        cell="""\
y = x * 2
n = 1 / 0""",
        raises="ZeroDivisionError",
        rule=8,
    ),
    Case(
        "error-zero-division-of-ints",
        setup="n = 0",
        cell="y = x * (1 // n)",
        raises="ZeroDivisionError",
        rule=8,
    ),
    Case(
        "error-key",
        setup="p = {'a': x}",
        cell="""\
y = x * 2
z = p['missing']""",
        raises="KeyError",
        rule=8,
    ),
    Case("error-index-of-list", cell="z = [x][3]", raises="IndexError", rule=8),
    Case("error-unpack", cell="a, b = x", raises="ValueError", rule=8),
    Case("error-unpack-list", cell="a, b = [x]", raises="ValueError", rule=8),
    Case(
        "error-attribute-of-array",
        cell="y = x.no_such_thing",
        raises="AttributeError",
        same_message=False,
        rule=8,
    ),
    Case("error-attribute-of-module", cell="y = jnp.no_such_function(x)", raises="AttributeError", rule=8),
    Case("error-attribute-of-none", setup="none = None", cell="y = none.shape", raises="AttributeError", rule=8),
    Case("error-assert", cell="assert x.shape == (4,), f'got {x.shape}'", raises="AssertionError", rule=8),
    Case(
        "error-own-exception",
        cell="""\
class Mine(Exception):
    pass
y = x * 2
raise Mine('own', 3)""",
        raises="Mine",
        rule=8,
    ),
    Case(
        "error-from-cause",
        cell="""\
try:
    {}['a']
except KeyError as e:
    raise ValueError('bad key') from e""",
        raises="ValueError",
        rule=8,
    ),
    Case(
        "error-in-called-function",
        cell="""\
def f(a):
    return g(a)
def g(a):
    raise RuntimeError('deep')
y = f(x)""",
        raises="RuntimeError",
        rule=8,
    ),
    Case(
        "error-wrong-arguments",
        cell="""\
def f(a):
    return a
y = f(x, x)""",
        raises="TypeError",
        rule=8,
    ),
    Case("error-not-callable", setup="n = 3", cell="y = n(x)", raises="TypeError", rule=8),
    Case("error-string-plus-array", cell="y = x + 'a'", raises="TypeError", same_message=False, rule=8),
    Case("error-immutable-array", cell="x[0] = 1", raises="TypeError", same_message=False, rule=8),
    Case(
        "error-import",
        cell="""\
import no_such_module_here
y = x""",
        raises="ModuleNotFoundError",
        rule=8,
    ),
    Case("error-value-of-jax", cell="y = jnp.zeros((-1,))", raises="TypeError", rule=8),
    Case("error-dtype", cell="y = x.astype('no_dtype')", raises="TypeError", rule=8),
    Case(
        "error-einsum",
        cell="y = jnp.einsum('ij,j->k', w, x)",
        raises="ValueError",
        same_message=False,
        rule=8,
    ),
    Case("error-grad-of-vector", cell="g = jax.grad(lambda a: a * 2)(x)", raises="TypeError", rule=8),
    Case(
        "error-scan-carry",
        cell="jax.lax.scan(lambda c, a: (x, a), 0.0, x)",
        raises="TypeError",
        same_message=False,
        rule=8,
    ),
    Case(
        "error-after-host-writes",
        setup="""\
a = np.zeros(3)
l = []""",
        cell="""\
a[0] = 9
l.append(1)
y = x * a
raise KeyError('late')""",
        raises="KeyError",
        rule=8,
    ),
    Case(
        "error-after-binding-and-deleting",
        setup="""\
n = 1
keep = [x]""",
        cell="""\
y = x * 2
n = n + 1
del keep
raise ValueError('end')""",
        raises="ValueError",
        rule=8,
    ),
    Case(
        "error-after-view-write",
        setup="""\
a = np.zeros(4)
v = a[1:]
d = {'a': []}""",
        cell="""\
v[:] = 3
d['a'].append(x)
z = x + jnp.ones(5)""",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "error-after-object-write",
        setup="""\
import types
cfg = types.SimpleNamespace(n=1)""",
        cell="""\
cfg.n = 5
cfg.new = 1
y = x * cfg.n
1 / 0""",
        raises="ZeroDivisionError",
        rule=8,
    ),
    Case(
        "error-in-finally-order",
        cell="""\
log = []
try:
    y = x + jnp.ones(9)
finally:
    log.append('f')""",
        raises="TypeError",
        rule=8,
    ),
    Case(
        "error-stop-iteration",
        setup="it = iter([])",
        cell="""\
y = x * 2
n = next(it)""",
        raises="StopIteration",
        rule=8,
    ),
    Case(
        "error-recursion",
        cell="""\
def f(a):
    return f(a)
y = f(1)""",
        raises="RecursionError",
        same_message=False,
        rule=8,
    ),
    Case(
        "error-exception-group",
        cell="""\
y = x * 2
raise ExceptionGroup('several', [ValueError('a'), TypeError('b')])""",
        raises="ExceptionGroup",
        rule=8,
    ),
    Case(
        "error-syntax",
        cell="""\
y = x *
z = 1""",
        raises="SyntaxError",
        rule=8,
    ),
    Case(
        "error-syntax-later-line",
        cell="""\
y = x * 2
z = (1,
for""",
        raises="SyntaxError",
        rule=8,
    ),
    Case(
        "error-indentation",
        cell="""\
y = x
  z = 1""",
        raises="IndentationError",
        rule=8,
    ),
    Case(
        "error-unclosed-string",
        cell="""\
y = x
s = 'open""",
        raises="SyntaxError",
        rule=8,
    ),
    Case(
        "error-return-at-top",
        cell="""\
y = x * 2
return y""",
        raises="SyntaxError",
        may_refuse=True,
        rule=8,
    ),
    Case(
        "error-yield-at-top",
        cell="""\
y = x * 2
yield y""",
        raises="SyntaxError",
        may_refuse=True,
        rule=8,
    ),
    Case(
        "error-break-outside",
        cell="""\
y = x
break""",
        raises="SyntaxError",
        rule=8,
    ),
    Case(
        "error-nonlocal-at-top",
        cell="""\
nonlocal q
q = x""",
        raises="SyntaxError",
        rule=8,
    ),
    Case("error-assign-to-literal", cell="3 = x", raises="SyntaxError", rule=8),
]
