"""Containers that names, attributes and items hold, changed in place (rule 6)."""

from ._objects import BOX, LAYER, TRAINER
from .case import Case

CASES = [
    # Containers held by names, attributes and items
    Case(
        "obj-history-append",
        setup="history = []",
        cell="""\
loss = (x ** 2).mean()
history.append(loss)""",
        change=("history.clear()", "x = x * 0.5", "history = ['start']"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-history-attribute-append",
        setup=TRAINER
        + """\
trainer.history = []
def fit(t, a):
    t.history.append(t.step(a))""",
        cell="fit(trainer, x)",
        change=("trainer.w = w", "old, trainer.history = trainer.history, []"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-self-history-append",
        setup="""\
class Log:
    def __init__(self):
        self.history = []
    def add(self, v):
        self.history.append(v)
        return len(self.history)
log = Log()""",
        cell="""\
n = log.add(x.sum())
m = log.add(x.mean())""",
        change=("log.history.pop()", "log = Log()"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-log-item-append",
        setup="log = {'loss': [], 'norm': []}",
        cell="""\
log['loss'].append((x ** 2).mean())
log['norm'].append(jnp.abs(x).max())""",
        change=("log['loss'].clear()", "x = x + 1"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-log-append-in-loop-over-keys",
        setup="log = {'a': [], 'b': []}",
        cell="""\
metrics = {'a': x.sum(), 'b': x.max()}
for key, value in metrics.items():
    log[key].append(value)""",
        change="log['b'] = log['a']",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-append-through-alias",
        setup=BOX + "history = []\nbox = Box(history)",
        cell="""\
box.v.append(x.sum())
history.append(x.max())
same = box.v is history""",
        change="history = list(history)",
        reused=None,
        reused2=None,
        rule=5,
    ),
    Case(
        "obj-append-object",
        setup=BOX + "made = []",
        cell="""\
made.append(Box(x * 2))
last = made[-1]""",
        change="made[0].v = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-append-in-loop",
        setup="history = [x.sum()]",
        cell="""\
for k in range(3):
    history.append(history[-1] * 0.5)""",
        change="history[:] = [x.max()]",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-append-then-mean",
        setup="history = []",
        cell="""\
history.append(x.sum())
average = sum(history) / len(history)""",
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-append-on-item-of-attribute",
        setup=BOX + "box = Box({'l': [[], []]})",
        cell="""\
box.v['l'][0].append(x)
box.v['l'][1].append(box.v['l'][0][-1] * 2)""",
        change="box.v['l'][0] = box.v['l'][1]",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-list-methods",
        setup="l = [x, x + 1, x + 2]",
        cell="""\
l.insert(0, x * 2)
last = l.pop()
l.extend([last * 0.5])
l += [x]
del l[1]""",
        change="l[:] = [x, x, x]",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-list-remove-and-reverse",
        setup="l = ['a', x, 'b', w]",
        cell="""\
l.remove('b')
l.reverse()
l.append('b')
y = l[1] * 2""",
        change="l[:] = ['a', x + 1, 'b', w]",
        reused=None,
        reused2=None,
        rule=6,
        again="l[:] = ['a', x, 'b', w]",
    ),
    Case(
        "obj-list-fixed-window",
        setup="window = [x, x, x]",
        cell="""\
window.append(window[-1] * 0.5)
window.pop(0)
mean = sum(window) / 3""",
        change="window[0] = x * 2",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-dict-methods",
        setup="d = {'a': x, 'b': w}",
        cell="""\
d.update(a=d['a'] * 2, c=x)
b = d.pop('b')
d.setdefault('b', b * 0.5)
key, value = d.popitem()
d.setdefault('a', 'unused')""",
        change="d.clear()\nd.update(a=x, b=w)",
        again="d.clear()\nd.update(a=x, b=w)",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-dict-clear-and-refill",
        setup="d = {'a': x, 'b': w}\nalias = d",
        cell="""\
new = {k: v * 0.5 for k, v in d.items()}
d.clear()
d.update(new)""",
        change="d['a'] = x",
        rule=5,
    ),
    Case(
        "obj-dict-del",
        setup="d = {'a': x, 'tmp': w}",
        cell="""\
y = d['tmp'] @ d['a']
del d['tmp']""",
        again="d['tmp'] = w",
        change="d['tmp'] = w * 2",
        rule=6,
    ),
    Case(
        "obj-dict-merge-in-place",
        setup="d = {'a': x}\ne = d",
        cell="d |= {'b': d['a'] * 2}",
        change="del d['b']",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-augmented-attribute-and-item",
        setup=BOX + "box = Box(x)\nd = {'a': x}\nl = [x]",
        cell="""\
box.v += 1
d['a'] *= 0.5
l[0] -= box.v""",
        change="box.v = d['a']",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-state-counter-item",
        setup="state = {'n': 0, 'w': x}",
        cell="""\
state['n'] += 1
state['w'] = state['w'] * 0.5""",
        change=("state['w'] = x", "state['n'] = 0"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-best-so-far",
        setup="best = {'loss': jnp.float32(jnp.inf), 'w': x * 0}",
        cell="""\
loss = (x ** 2).mean()
better = loss < best['loss']
best['w'] = jnp.where(better, x, best['w'])
best['loss'] = jnp.minimum(loss, best['loss'])""",
        change="x = x * 0.5",
        rule=6,
    ),
    Case(
        "obj-default-dict-append",
        setup="from collections import defaultdict\nlog = defaultdict(list)",
        cell="""\
log['loss'].append(x.sum())
log['norm'].append(x.max())""",
        change="log['loss'] = [x.min()]",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-counter-dict",
        setup="from collections import Counter\nseen = Counter()",
        cell="""\
seen['runs'] += 1
y = x * seen['runs']""",
        change="seen.clear()",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-deque-maxlen-append",
        setup="from collections import deque\nrecent = deque([x, x + 1], maxlen=2)",
        cell="""\
recent.append(recent[-1] * 0.5)
mean = sum(recent) / len(recent)""",
        change="recent[0] = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-deque-growing",
        setup="from collections import deque\nrecent = deque(maxlen=3)",
        cell="recent.append(x.sum())",
        change=("x = x * 2", "recent.popleft()"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-deque-rotate",
        setup="from collections import deque\nring = deque([x, x + 1, x + 2])",
        cell="""\
ring.rotate(1)
ring[0] = ring[0] * 0.5""",
        change="ring[1] = x",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-ordered-dict-move",
        setup="from collections import OrderedDict\nod = OrderedDict(a=x, b=w)",
        cell="""\
od.move_to_end('a')
od['a'] = od['a'] * 2""",
        change="od['b'] = w * 2",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-set-of-objects",
        setup=BOX + "a, b = Box(x), Box(x * 2)\nchosen = {a}",
        cell="""\
chosen.add(b)
b.v = b.v + 1
n = len(chosen)""",
        reused2=None,
        may_refuse=True,
        rule=6,
    ),
    Case(
        "obj-set-subclass",
        setup=BOX + "class Bag(set):\n    pass\na, bag = Box(x), Bag()\nbag.add(a)\nbag.w = x",
        cell="""\
a.v = a.v + bag.w
bag.add(Box(x * 2))
bag.w = bag.w * 2
n, there = len(bag), a in bag""",
        change="bag.clear()\nbag.add(a)",
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-list-subclass",
        setup="""\
class History(list):
    def mean(self):
        return sum(self) / len(self)
h = History([x])
h.name = 'h'""",
        cell="""\
h.append(h[-1] * 0.5)
m = h.mean()""",
        change=("h[:] = [x]", "h.name = 'g'"),
        reused=None,
        reused2=None,
        rule=6,
    ),
    Case(
        "obj-dict-subclass",
        setup="""\
class Dot(dict):
    def __getattr__(self, name):
        return self[name]
    def __setattr__(self, name, value):
        self[name] = value
p = Dot(w=w, b=x)""",
        cell="""\
p.b = x @ p.w + p.b
p.b = jnp.tanh(p.b)""",
        change="p.b = x",
        rule=6,
    ),
    Case(
        "obj-dict-of-objects",
        setup=LAYER + "layers = {'in': Layer(w, x), 'out': Layer(w * 0.5, x)}",
        cell="""\
a = x
for name, layer in layers.items():
    layer.b = layer.b * 0.5
    a = layer(a)""",
        change="layers['out'].w = w",
        rule=6,
    ),
    Case(
        "obj-simple-namespace",
        setup="import types\ncfg = types.SimpleNamespace(lr=0.1, w=x, tags=['a'])",
        cell="""\
cfg.w = cfg.w - cfg.lr * x
cfg.seen = True""",
        change="cfg.lr = 0.2",
        reused=None,
        reused2=None,
        rule=6,
    ),
]
