"""Host statements (rule 2): what reads no jax value is run by Python, on every run, and NumPy stays NumPy."""

from .case import Case

CASES = [
    Case(
        "numpy-float64",
        cell="""\
a = np.arange(3.0) / 3
b = a.sum()
y = x * a""",
        rule=2,
    ),
    Case(
        "numpy-before-between-after",
        cell="""\
a = np.ones(3)
y = x * a
b = a * 2
z = y + b
c = b.mean()""",
        rule=2,
    ),
    Case(
        "numpy-only",
        cell="""\
a = np.linspace(0, 1, 5)
b = a[1:3]
b[0] = 9""",
        reused2=None,
        rule=2,
    ),
    Case(
        "numpy-in-place-write",
        setup="a = np.zeros(3)",
        cell="""\
a[0] = 7
a += 1
y = x + a""",
        rule=2,
    ),
    Case(
        "numpy-view",
        setup="a = np.arange(3.0)",
        cell="""\
v = a[1:]
v[:] = 5
y = x * a""",
        rule=2,
    ),
    Case(
        "numpy-in-place-after-use",
        setup="a = np.arange(3.0)",
        cell="""\
y = x * a
a[:] = 0
z = x + a""",
        rule=2,
    ),
    Case(
        "numpy-alias-in-place",
        setup="a = np.arange(3.0)",
        cell="""\
b = a
b *= 2
y = x * a""",
        rule=2,
    ),
    Case(
        "numpy-in-container-in-place",
        setup="d = {'a': np.zeros(3)}",
        cell="""\
d['a'][1] = 4
y = x * d['a']""",
        rule=2,
    ),
    Case(
        "numpy-int64-stays",
        cell="""\
i = np.arange(3)
n = i.dtype.itemsize
y = x[i]""",
        rule=2,
    ),
    Case(
        "numpy-bool-mask",
        cell="""\
mask = np.array([True, False, True])
y = x[mask]""",
        rule=2,
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "numpy-scalar",
        cell="""\
s = np.float64(0.1) * 3
y = x * s""",
        rule=2,
    ),
    Case(
        "numpy-structured-and-strings",
        cell="""\
names = np.array(['a', 'b'])
up = np.char.upper(names)
y = x * len(names)""",
        rule=2,
    ),
    Case(
        "numpy-beside-jax",
        setup="a = np.arange(3.0)",
        cell="z = (a * 2, x * a)",
        rule=2,
    ),
    Case(
        "numpy-result-of-staged-statement",
        setup="a = np.arange(3.0)",
        cell="z = a + x.ndim",
        rule=2,
    ),
    Case(
        "numpy-of-static-shape",
        cell="""\
n = x.shape[0]
idx = np.arange(n)
y = x * idx""",
        rule=2,
    ),
    Case(
        "numpy-shape-changes",
        cell="""\
n = x.shape[0]
idx = np.arange(n)
y = x * idx
q = 1""",
        change="x = jnp.ones(4)",
        reused=False,
        reason="x",
        rule=2,
    ),
    Case(
        "numpy-new-values-each-run",
        setup="a = np.zeros(3)",
        cell="""\
a = a + 1
y = x * a""",
        rule=2,
    ),
    Case(
        "numpy-new-shape-each-run",
        setup="a = np.zeros(3)",
        cell="""\
a = np.append(a, 1.0)
y = a.sum() * x""",
        reused2=None,
        rule=2,
    ),
    Case(
        "iterator-advances",
        setup="it = iter([1.5, 2.5, 3.5, 4.5])",
        cell="""\
n = next(it)
y = x * n""",
        probes=("next(it)",),
        rule=2,
    ),
    Case(
        "iterator-of-ints-advances",
        setup="""\
import itertools
it = itertools.count(2)""",
        cell="""\
n = next(it)
y = x * n
q = 1""",
        change=(
            "pass",
            "pass",
        ),
        reused2=False,
        reused=(
            None,
            None,
        ),
        rule=3,
    ),
    Case(
        "iterator-of-arrays",
        setup="it = iter([np.ones(3), np.zeros(3), np.ones(3)])",
        cell="""\
a = next(it)
y = x * a""",
        rule=2,
    ),
    Case(
        "iterator-of-jax-arrays",
        setup="it = iter([x, x * 2, x * 3])",
        cell="""\
a = next(it)
y = x * a
q = 1""",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "generator-advances",
        setup="""\
def batches():
    n = 0.0
    while True:
        n += 1.5
        yield n
gen = batches()""",
        cell="""\
a = next(gen)
y = x * a""",
        probes=("next(gen)",),
        rule=2,
    ),
    Case(
        "print-host",
        setup="n = 3",
        cell="""\
print('start')
y = x * 2
print('end', n)
n""",
        rule=2,
    ),
    Case(
        "print-static-result",
        cell="""\
n = x.shape
print(n)
y = x * 2""",
        rule=2,
    ),
    Case(
        "print-shape-directly",
        cell="""\
print(x.shape, x.dtype)
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "print-fstring-of-shape",
        cell="""\
print(f'{x.shape=} {len(x):03d}')
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case("print-with-separators", cell=("print('a', 1, None, [2], sep='-', end='!\\n')\ny = x"), rule=5),
    Case(
        "print-in-helper-with-array",
        setup="""\
def f(a):
    print('called with', a.shape)
    return a * 2""",
        cell="y = f(x)",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "print-loop",
        cell="""\
for i in range(3):
    print(i)
y = x * i""",
        rule=2,
    ),
    Case("sys-stdout-write", cell=("import sys\n_ = sys.stdout.write('hello\\n')\ny = x * 2"), rule=2),
    Case(
        "random-of-python",
        setup="""\
import random
rng = random.Random(0)""",
        cell="""\
r = rng.random()
y = x * r""",
        probes=("rng.random()",),
        rule=2,
    ),
    Case(
        "random-int-of-python",
        setup="""\
import random
rng = random.Random(0)""",
        cell="""\
k = rng.randint(1, 3)
y = x * k""",
        reused2=None,
        rule=2,
    ),
    Case(
        "random-choice-and-shuffle",
        setup="""\
import random
rng = random.Random(3)""",
        cell="""\
order = [0, 1, 2]
rng.shuffle(order)
y = [x[i] for i in order]""",
        reused2=None,
        rule=2,
    ),
    Case(
        "random-of-numpy",
        setup="rng = np.random.default_rng(0)",
        cell="""\
noise = rng.normal(size=3)
y = x + noise""",
        probes=("rng.normal()",),
        rule=2,
    ),
    Case(
        "random-of-numpy-in-staged-statement",
        setup="rng = np.random.default_rng(0)",
        cell="z = x * 2\ny = z + rng.normal(size=3)",
        rule=6,
    ),
    Case(
        "stringio",
        setup=("import io\nf = io.StringIO('1.5\\n2.5\\n3.5\\n')"),
        cell="""\
line = f.readline()
scale = float(line)
y = x * scale""",
        probes=("f.read()",),
        rule=2,
    ),
    Case(
        "csv-and-json",
        cell=(
            "import csv, json, io\n"
            "rows = list(csv.reader(io.StringIO('1,2\\n3,4')))\n"
            "a = np.array(rows, float)\n"
            "cfg = json.loads('{\"k\": 2}')\n"
            "y = a * cfg['k'] + x[:2]"
        ),
        rule=2,
    ),
    Case(
        "temporary-file",
        cell="""\
import tempfile, os
with tempfile.TemporaryDirectory() as d:
    p = os.path.join(d, 'a.npy')
    np.save(p, np.arange(3.0))
    a = np.load(p)
    del p
del d
y = x * a""",
        rule=2,
    ),
    Case(
        "python-counting",
        cell="""\
words = 'a b a'.split()
count = {}
for v in words:
    count[v] = count.get(v, 0) + 1
y = x * count['a']""",
        rule=2,
    ),
    Case(
        "collections",
        cell="""\
from collections import Counter, defaultdict
c = Counter('abca')
g = defaultdict(list)
g[1].append(2)
y = x * c['a']""",
        rule=2,
    ),
    Case(
        "string-work",
        cell="""\
name = 'layer_{}'.format(3).upper()
parts = name.split('_')
y = {name: x * int(parts[1])}""",
        rule=2,
    ),
    Case(
        "datetime-free-decimal-and-fraction",
        cell="""\
from fractions import Fraction
from decimal import Decimal
q = Fraction(1, 3)
d = Decimal('0.1')
y = x * float(q)""",
        rule=2,
    ),
    Case(
        "math-of-static",
        cell="""\
import math
n = math.ceil(math.sqrt(10))
y = x.reshape(1, -1) * n""",
        rule=2,
    ),
    Case(
        "host-list-mutated-then-staged",
        setup="names = ['a', 'b']",
        cell="""\
names.append('c')
y = {n: x for n in names}""",
        reused2=None,
        rule=2,
    ),
    Case(
        "host-dict-of-static-mutated",
        setup="cfg = {'n': 1}",
        cell="""\
cfg['n'] += 1
y = x * cfg['n']""",
        reused2=None,
        rule=2,
    ),
    Case(
        "host-object-attribute",
        setup="""\
import types
cfg = types.SimpleNamespace(n=1)""",
        cell="""\
cfg.n = 4
y = x * cfg.n""",
        reused2=None,
        rule=2,
    ),
    Case(
        "host-function-of-earlier-cell",
        setup="""\
def load(n):
    return np.arange(n) * 0.5""",
        cell="""\
a = load(3)
y = x * a""",
        rule=2,
    ),
    Case(
        "host-function-keeps-state",
        setup="""\
state = {'n': 0.5}
def tick():
    state['n'] += 1
    return state['n']""",
        cell="""\
n = tick()
y = x + n""",
        rule=2,
    ),
    Case(
        "host-list-aliases-survive",
        cell="""\
a = [1, 2]
b = a
b.append(3)
y = x * len(a)""",
        rule=5,
    ),
    Case(
        "host-then-rebind-by-staged",
        cell="""\
a = np.ones(3)
b = a
a = x * a""",
        rule=2,
    ),
    Case(
        "staged-static-to-host-and-back",
        cell="""\
n, m = w.shape
perm = np.random.default_rng(0).permutation(n)
y = w[perm]
k = int(perm.sum()) + m
z = y * k""",
        rule=2,
    ),
    Case(
        "time-is-read",
        cell="""\
import time
t0 = time.perf_counter()
y = x * 2
del t0""",
        rule=2,
    ),
    Case(
        "jax-array-made-inside-only",
        setup="n = 3",
        cell="y = jnp.zeros(n) + 1",
        change="n = 4",
        reused=False,
        reason="n",
        rule=2,
    ),
    Case(
        "host-matrix-work",
        cell="""\
q, r = np.linalg.qr(np.eye(3) * 2.0)
y = x @ q""",
        rule=2,
    ),
    Case(
        "numpy-argument-to-jnp-function",
        setup="a = np.arange(3, dtype=np.float32)",
        cell="""\
y = jnp.dot(a, a)
z = jnp.asarray(a)""",
        change="a = a + 1",
        rule=2,
    ),
    Case(
        "numpy-dtype-changes",
        setup="a = np.arange(3, dtype=np.float32)",
        cell="y = jnp.sum(a)",
        change="a = a.astype(np.int32)",
        reused=False,
        reason="a",
        rule=2,
    ),
    Case(
        "jax-asarray-of-list",
        setup="values = [1, 2, 3]",
        cell="y = jnp.array([1.0, 2, 3]) + jnp.asarray(values)",
        change="values[0] = 5",
        reused=None,
    ),
    Case(
        "host-assert-and-delete",
        setup="n = 3",
        cell="""\
assert n == 3
del n
y = x""",
        again="n = 3",
        reused2=None,
        rule=5,
    ),
    Case(
        "global-python-seed-free-uuid",
        cell="""\
import hashlib
h = hashlib.md5(b'abc').hexdigest()[:4]
y = {h: x * 2}""",
        rule=2,
    ),
    Case(
        "memoryview-and-bytes",
        cell="""\
b = bytearray(b'abc')
b[0] = 65
m = memoryview(b)[1:]
n = len(m)
y = x * n
m.release()
del m""",
        rule=2,
    ),
    Case(
        "effects-barrier-before-a-read",
        setup="seen = []",
        cell="""\
jax.debug.callback(lambda v: seen.append(1), jnp.ones(()))
jax.effects_barrier()
z = jnp.ones(2) * len(seen)""",
        reused2=None,
        rule=2,
    ),
    Case(
        "effects-barrier-in-helper",
        setup="""\
seen = []
def count(v):
    jax.debug.callback(lambda v: seen.append(1), v)
    jax.effects_barrier()
    return v * len(seen)""",
        cell="y = count(x)",
        reused2=None,
        rule=2,
    ),
    Case(
        "enable-x64-around-numpy",
        setup="v, third = np.linspace(0, 1, 5), 1 / 3",
        cell="""\
with jax.enable_x64(True):
    wide = jnp.asarray(v)
    more = wide.cumsum() * third
narrow = more.astype(jnp.float32)""",
        reused2=None,
        rule=2,
    ),
    Case(
        "enable-x64-in-helper",
        setup="""\
third = 1 / 3
def exact(v):
    with jax.enable_x64(True):
        return (jnp.asarray(v, jnp.float64) + third).sum()""",
        cell="y = exact(np.linspace(0, 1, 5))\nz = x * y.astype(x.dtype)",
        rule=2,
    ),
    Case(
        "transfer-guard-refuses",
        cell="""\
with jax.transfer_guard("disallow"):
    a = jnp.sin(x)
    try:
        b = a + np.ones(3, np.float32)
        told = ""
    except Exception as error:
        told = type(error).__name__""",
        reused2=None,
        rule=2,
    ),
    Case(
        "vars-and-dir-of-the-cell",
        cell="""\
both = x + 1
vars()["gamma"] = both * 2
known = "both" in dir() and "delta" not in dir()
gamma""",
        reused2=None,
        rule=2,
    ),
    Case(
        "deleted-by-the-cell",
        cell="""\
y = x * 2
z = y + 1
y.delete()
try:
    y + 1
    told = ""
except RuntimeError as error:
    told = "deleted" in str(error)
wide = x * y.shape[0]""",
        reused2=None,
        rule=2,
    ),
    Case(
        "deleted-before-a-later-run",
        setup="v = x * 3",
        cell="""\
try:
    z = v + 1
except RuntimeError:
    z = x""",
        change="v.delete()",
        reused=None,
        rule=2,
    ),
]
