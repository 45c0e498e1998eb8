"""Containers that the cell creates, filled by staged statements."""

from .case import Case

CASES = [
    Case(
        "append",
        cell="""\
l = []
l.append(x)
l.append(x * 2)""",
        rule=6,
    ),
    Case(
        "append-in-loop",
        cell="""\
losses = []
for i in range(4):
    losses.append((x * i).sum())
total = sum(losses)""",
        rule=6,
    ),
    Case(
        "extend-insert-pop",
        cell="""\
l = [x]
l.extend([x + 1, x + 2])
l.insert(0, 'first')
p = l.pop()
l.reverse()""",
        rule=6,
    ),
    Case(
        "list-item-assignment",
        cell="""\
l = [None] * 3
for i in range(3):
    l[i] = x[i]
l[0] += 1""",
        rule=6,
    ),
    Case(
        "list-concatenation-in-place",
        cell="""\
l = [x]
m = l
l += [x * 2]
l *= 2""",
        rule=6,
    ),
    Case(
        "dict-assignment",
        cell="""\
d = {}
for k in 'ba':
    d[k] = x * 2
d['b'] = d['a'] + 1""",
        rule=6,
    ),
    Case(
        "dict-update-and-pop",
        cell="""\
d = {'a': x}
d.update(b=x * 2, c=3)
a = d.pop('a')
del d['c']""",
        rule=6,
    ),
    Case(
        "dict-setdefault-append",
        cell="""\
d = {}
d.setdefault('l', []).append(x * 2)
d.setdefault('l', []).append(3)""",
        rule=6,
    ),
    Case(
        "nested-assignment",
        cell="""\
d = {'l': [{}]}
d['l'][0]['v'] = x * 2
d['l'].append(d['l'][0])""",
        rule=6,
    ),
    Case(
        "default-dict-of-lists",
        cell="""\
from collections import defaultdict
g = defaultdict(list)
for i, r in enumerate(w):
    g[i % 2].append(r)""",
        rule=6,
    ),
    Case(
        "deque-rolling",
        cell="""\
from collections import deque
d = deque(maxlen=2)
for i in range(4):
    d.append(x * i)
m = sum(d) / 2""",
        rule=6,
    ),
    Case(
        "mixed-static-and-traced",
        cell="""\
rows = []
for name, a in (('x', x), ('w', w)):
    rows.append({'name': name, 'shape': a.shape, 'mean': a.mean()})""",
        rule=6,
    ),
    Case(
        "tuple-growing",
        cell="""\
t = ()
for i in range(3):
    t += (x * i,)
t""",
    ),
    Case(
        "set-of-statics-added",
        cell="""\
s = set()
s.add(x.shape)
s.add(w.dtype.name)
y = x * 2""",
        rule=6,
    ),
    Case(
        "list-of-functions",
        cell="""\
fs = []
for k in range(2):
    def f(a, k=k):
        return a * k
    fs.append(f)
y = [f(x) for f in fs]""",
        probes=("fs[1](3)",),
    ),
    Case(
        "host-list-then-staged-append",
        cell="""\
l = [1, 2]
l.append(3)
l.append(x * 2)
n = len(l)""",
        rule=6,
    ),
    Case(
        "aliases-in-containers",
        cell="""\
a = []
b = {'a': a, 'c': (a,)}
a.append(x * 2)
b['a'].append(x)""",
        rule=5,
    ),
    Case(
        "sort-with-static-key",
        cell="""\
l = [('b', x * 2), ('a', x)]
l.sort(key=lambda p: p[0])
names = [n for n, _ in l]""",
        rule=6,
    ),
    Case(
        "clear-and-refill",
        cell="""\
l = [x]
l.clear()
l.append(x * 3)""",
        rule=6,
    ),
    Case(
        "slice-deletion",
        cell="""\
l = [x, x + 1, x + 2]
del l[1:]
l""",
        rule=6,
    ),
    Case(
        "pre-existing-list-append",
        setup="hist = []",
        cell="hist.append(x.sum())",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "pre-existing-dict-item",
        setup="p = {'a': x, 'b': w}",
        cell="p['a'] = p['a'] - 0.1 * x",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "pre-existing-nested-item",
        setup="p = {'l': [x, w]}",
        cell="""\
p['l'][0] = p['l'][0] * 2
q = p['l']""",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "pre-existing-list-seen-twice",
        setup="""\
a = []
b = a""",
        cell="""\
a.append(x * 2)
n = len(b)""",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "helper-appends-to-global",
        setup="""\
seen = []
def f(a):
    seen.append(a * 2)""",
        cell="""\
f(x)
y = x * 2""",
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
]
