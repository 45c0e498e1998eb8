"""Random object graphs and cells that change them: classes, aliases and cycles drawn anew for every case.

Every object has `v` (an array of shape (3,)), `items` (a list of such arrays, never empty), `table` (a dict of them
that has 'a' and 'b'), `link` (another object, or itself) and the class attributes `shared` (an array) and `made` (an
int). What else it has depends on its class: see `FEATURES`. Statements keep these kinds, branch on nothing that is
traced and squash what they compute, so that a cell runs without error and no chain of operations blows up a rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from cells import Case
from hypothesis import strategies as st

__all__ = ["object_cases"]

VALUES = """\
import collections
import copy
import weakref
from dataclasses import dataclass, field
v = jnp.array([0.5, -1.0, 2.0])
u = jnp.array([1.5, 0.25, -0.75])
"""
SLOTTED = "dataclass(slots=True, weakref_slot=True)"
COMMON = ("v", "items", "table", "link")
FEATURES = {
    "s": "0.5",
    "n": "1",
    "name": "'o'",
    "array": "np.array([0.5, 0.25, 1.0], np.float32)",
    "pair": "(self.v, 1)",
    "fn": "jnp.tanh",
    "kids": "[self]",
    "seq": "",
}
SEQUENCE = """\
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        return self.items[i]
    def __setitem__(self, i, value):
        self.items[i] = value
"""
ACCUMULATOR = """\
def make(state):
    count = 0
    def acc(a):
        nonlocal state, count
        state = (state + a) * 0.5
        count += {by}
        return jnp.tanh(state * count)
    return acc
acc = make(v)
"""


RECORDS = """\
history = []
log = {'a': [], 'b': [v]}
counts = {'n': [0], 'm': 0}
recent = collections.deque([v], maxlen=2)
ref = weakref.ref(o0)
def peek():
    return jnp.tanh(o0.v + o1.items[0])
def poke(a):
    global u
    u = a
    o1.v = (o0.v + a) * 0.5
"""


@dataclass(frozen=True)
class Kind:
    """A generated class: its name, the style it is written in, and what its instances have beyond `COMMON`."""

    name: str
    style: str
    features: tuple[str, ...]
    open: bool  # whether an instance takes attributes that its class does not name


@dataclass(frozen=True)
class Scope:
    """What can be named where a statement stands.

    Args:
      objects: expressions for objects, each with its class where that is known.
      vecs: further expressions for arrays of shape (3,).
      depth: how many blocks or functions the statement stands in.
      calls: whether methods, helpers and closures may be called, and objects made: not from within one.
      count: a counter for fresh names, shared by all scopes of a cell.
    """

    objects: dict[str, Kind | None]
    vecs: tuple[str, ...]
    depth: int = 0
    calls: bool = True
    count: list[int] = field(default_factory=lambda: [0])

    def fresh(self) -> str:
        self.count[0] += 1
        return f"t{self.count[0]}"

    def holding(self, name: str, kind: Kind | None) -> Scope:
        return replace(self, objects={**self.objects, name: kind})

    def reading(self, name: str) -> Scope:
        return replace(self, vecs=(*self.vecs, name))


def indented(text: str, by: int = 1) -> str:
    return "\n".join("    " * by + line for line in text.splitlines())


class Writer:
    """Draws the classes, the graph and the statements."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.kinds: list[Kind] = []

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def often(self) -> bool:
        return self.draw(st.integers(0, 2)) > 0

    # Classes and functions

    def classes(self) -> str:
        texts = []
        for index in range(self.draw(st.integers(1, 3))):
            styles = ["plain", "slots", "dataclass", "dataclass(eq=False)", SLOTTED]
            style = self.pick([*styles, "subclass", "subclass"] if self.kinds else styles)
            own = tuple(self.draw(st.lists(st.sampled_from(list(FEATURES)), max_size=4, unique=True)))
            parent = self.pick(self.kinds) if style == "subclass" else None
            features = tuple(dict.fromkeys((*(parent.features if parent else ()), *own)))
            kind = Kind("ABC"[index], style, features, open=style not in ("slots", SLOTTED))
            texts.append(self._class(kind, parent))
            self.kinds.append(kind)
        return "".join(texts)

    def _class(self, kind: Kind, parent: Kind | None) -> str:
        inherited = parent.features if parent else ()
        own = [name for name in kind.features if name not in inherited and FEATURES[name]]
        extras = "".join(f"        self.{name} = {FEATURES[name]}\n" for name in own)
        basics = (
            "        self.items = [self.v, self.v * 0.5] if not self.items else self.items\n"
            "        self.table = {'a': self.v, 'b': self.v * 0.5} if not self.table else self.table\n"
            "        self.link = self if self.link is None else self.link\n"
        )
        if parent:
            head = f"class {kind.name}({parent.name}):\n"
            head += "    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n" + extras
        elif kind.style.startswith("dataclass"):
            fields = "".join(f"    {name}: object = None\n" for name in own)
            head = (
                f"@{kind.style}\nclass {kind.name}:\n    v: object\n    items: list = field(default_factory=list)\n"
                f"    table: dict = field(default_factory=dict)\n    link: object = None\n{fields}"
                f"    def __post_init__(self):\n{basics}{extras}"
            )
        else:
            slots = f"    __slots__ = {(*COMMON, *own, '__weakref__')!r}\n" if kind.style == "slots" else ""
            head = (
                f"class {kind.name}:\n{slots}    def __init__(self, v, items=None, table=None, link=None):\n"
                f"        self.v, self.items, self.table, self.link = v, items, table, link\n{basics}{extras}"
            )
        sequence = SEQUENCE if "seq" in kind.features and "seq" not in inherited else ""
        return f"{head}{sequence}{self._methods(kind, parent)}{kind.name}.made = 0\n{kind.name}.shared = u\n"

    def _methods(self, kind: Kind, parent: Kind | None) -> str:
        scope = Scope({"self": kind}, ("a", "self.v", "u"), depth=1, calls=False)
        above = "        a = super().step(a)\n" if parent and self.often() else ""
        both = replace(scope.holding("other", None), vecs=("self.v", "other.v", "u"))
        step, merge = indented(self._several(scope), 2), indented(self._several(both), 2)
        return (
            f"    def step(self, a):\n{above}{step}\n        return {self.vec(scope)}\n"
            f"    def merge(self, other):\n{merge}\n        return self\n"
            "    @property\n    def mean(self):\n        return sum(self.items) / len(self.items)\n"
        )

    def _several(self, scope: Scope) -> str:
        return "\n".join(self.mutation(scope) for _ in range(self.draw(st.integers(1, 2))))

    def functions(self) -> str:
        scope = Scope({"o": None, "p": None}, ("a", "o.v", "u"), depth=1, calls=False)
        bump = indented(self._several(scope))
        result = self.pick(["o", "p", "o.link"])
        fill = self.pick(["l.append(a)", "l[0] = a", "l.extend([a, a * 0.5])", "l += [a]", "l.insert(0, a)"])
        store = self.pick(["d['a'] = a", "d.update(a=a, b=a * 0.5)", "d.setdefault('h', a)", "d['b'] = d['a']"])
        return (
            f"def bump(o, p, a):\n{bump}\n    return {result}\n"
            f"def fill(l, a):\n    {fill}\n    return l\n"
            f"def store(d, a):\n    {store}\n    return len(d)\n" + ACCUMULATOR.format(by=self.pick([0, 1]))
        )

    # The graph

    def graph(self) -> tuple[str, Scope]:
        """Objects, what they hold of each other, and the names and containers that hold them too."""
        lines, objects = [], {}
        for index in range(self.draw(st.integers(2, 4))):
            kind = self.pick(self.kinds)
            objects[f"o{index}"] = kind
            lines.append(f"o{index} = {kind.name}(v * {self.pick(['1.0', '0.5', '-0.25'])})")
        names = list(objects)
        for _ in range(self.draw(st.integers(0, 4))):
            lines.append(self._tie(self.pick(names), self.pick(names)))
        lines.append(f"objs = [{', '.join(self.pick(names) for _ in range(3))}]")
        lines.append(f"reg = {{'p': {self.pick(names)}, 'q': {self.pick(names)}}}")
        lines.append(RECORDS.rstrip())
        lines.append(f"held = {self.pick(names)}.{self.pick(['items', 'table', 'link', 'v'])}")
        scope = Scope({**objects, "objs[0]": None, "objs[-1]": None, "reg['p']": None, "reg['q']": None}, ("v", "u"))
        return "\n".join(lines) + "\n", scope

    def _tie(self, a: str, b: str) -> str:
        return self.pick(
            [
                f"{a}.link, {b}.link = {b}, {a}",
                f"{a}.link = {b}",
                f"{a}.items = {b}.items",
                f"{a}.v = {b}.v",
                f"{a}.table = {b}.table",
                f"{a}.items.append({b}.v)",
                f"{a}.table['a'] = {b}.items[0]",
                f"{a}.items[0] = v",
            ]
        )

    # Expressions

    def object(self, scope: Scope, deep: int = 1) -> tuple[str, Kind | None]:
        """An expression for an object, and its class where that is known."""
        name = self.pick(scope.objects)
        kind = scope.objects[name]
        form = self.draw(st.integers(0, 5)) if deep else 0
        if form == 4:
            return f"{name}.link", None
        if form == 5 and kind is not None and "kids" in kind.features:
            return f"{name}.kids[{self.pick(['0', '-1'])}]", None
        if form == 5 and scope.calls and scope.depth == 0:
            return f"{name}.merge({self.object(scope, 0)[0]})", kind
        return name, kind

    def new(self, scope: Scope) -> tuple[str, Kind]:
        kind, a = self.pick(self.kinds), self.vec(scope, 0)
        other = self.object(scope, 0)[0]
        more = ["", f", [{a}, {self.vec(scope, 0)}]", f", link={other}", f", {other}.items", f", table={other}.table"]
        return f"{kind.name}({a}{self.pick(more)})", kind

    def vec(self, scope: Scope, deep: int = 1) -> str:
        """An expression for an array of shape (3,)."""
        if not self.draw(st.integers(0, 3)):
            return self.pick(scope.vecs)
        o, kind = self.object(scope, deep)
        features = kind.features if kind else ()
        read = [f"{o}.v", f"{o}.v", f"{o}.items[0]", f"{o}.items[-1]", f"{o}.table['a']", f"{o}.table['b']"]
        read += [f"{o}.shared", f"{o}.mean"]
        read += [f"{o}.pair[0]"] * ("pair" in features) + [f"{o}[0]"] * ("seq" in features)
        if not deep:
            return self.pick(read)
        a, b = self.vec(scope, deep - 1), self.vec(scope, deep - 1)
        forms = [
            self.pick(read),
            f"jnp.tanh({a})",
            f"({a} + {b}) * 0.5",
            f"({a} - {b}) * 0.5",
            f"jnp.maximum({a}, {b})",
            f"sum({o}.items) / len({o}.items)",
            f"sum({o}.table.values()) / len({o}.table)",
            f"jax.grad(lambda q: jnp.tanh(q * {b}).sum())({a})",
        ]
        forms += [f"jnp.tanh({a} * {o}.s)"] * ("s" in features)
        forms += [f"jnp.tanh({a} * {o}.n)"] * ("n" in features)
        forms += [f"jnp.tanh({a} + {o}.array)"] * ("array" in features)
        forms += [f"{o}.fn({a})"] * ("fn" in features)
        forms += [f"jnp.tanh({a} * len({o}.name))"] * ("name" in features)
        if scope.calls:
            forms += [
                f"{o}.step({a})",
                f"{o}.step({a})",
                f"acc({a})",
                "peek()",
                "recent[-1]",
                "log['b'][-1]",
                f"bump({o}, {self.object(scope, 0)[0]}, {a}).v",
            ]
        return self.pick(forms)

    # Statements

    def mutation(self, scope: Scope) -> str:
        """A statement that changes an object, or what it holds."""
        o, kind = self.object(scope)
        p, _ = self.object(scope)
        a, b = self.vec(scope), self.vec(scope, 0)
        key = self.pick(["'a'", "'b'", "'c'"])
        special = self._special(o, p, a, kind)
        if special and self.often():
            return self.pick(special)
        group = self.pick(["value", "value", "items", "items", "table", "link", "share"])
        forms = {
            "value": [
                f"{o}.v = {a}",
                f"{o}.v *= 0.5",
                f"{o}.v += {b} * 0.25",
                f"setattr({o}, 'v', {a})",
                f"{self.pick(self.kinds).name if self.kinds else 'type(self)'}.shared = {a}",
                f"{self.pick(self.kinds).name if self.kinds else 'type(self)'}.made += 1",
                f"{o}.v, {p}.items[0] = {a}, {b}",
                f"del {o}.v\n{o}.v = {a}" if "(" not in o and "(" not in a and ".v" not in a else f"{o}.v = {a}",
            ],
            "items": [
                f"{o}.items.append({a})",
                f"{o}.items[0] = {a}",
                f"{o}.items[-1] *= 0.5",
                f"{o}.items.extend([{a}, {b}])",
                f"{o}.items += [{a}]",
                f"{o}.items.insert(0, {a})",
                f"if len({o}.items) > 1:\n    {o}.items.pop({self.pick(['', '0'])})",
                f"{o}.items.reverse()",
                f"{o}.items[:] = [{a}]",
                f"{o}.items.clear()\n{o}.items.append(u)",
                f"{o}.items = [{a}, {b}]",
            ],
            "table": [
                f"{o}.table[{key}] = {a}",
                f"{o}.table.update(a={a}, c={b})",
                f"{o}.table.setdefault({key}, {a})",
                f"{o}.table['b'] = {o}.table.pop('a')\n{o}.table['a'] = u",
                f"{o}.table.pop('c', None)",
                f"{o}.table = {{'a': {a}, 'b': {b}}}",
                f"{o}.table['a'], {o}.table['b'] = {o}.table['b'], {o}.table['a']",
                f"{o}.table |= {{'d': {a}}}",
            ],
            "link": [
                f"{o}.link = {p}",
                f"{o}.link = {o}",
                f"{o}.link, {p}.link = {p}.link, {o}.link",
            ],
            "share": [
                f"{o}.v = {p}.v",
                f"{o}.v, {p}.v = {p}.v, {o}.v",
                f"{o}.items = {p}.items",
                f"{o}.items = list({p}.items)",
                f"{o}.items.append({p}.v)",
                f"{o}.items.extend({p}.items[:2])",
                f"{o}.table['a'] = {p}.items[0]",
                f"{o}.table = dict({p}.table)",
                f"{o}.items, {p}.items = {p}.items, {o}.items",
            ],
        }
        return self.pick(forms[group])

    def _special(self, o: str, p: str, a: str, kind: Kind | None) -> list[str]:
        """What can be done to an object of this class in particular."""
        forms = {
            "s": [f"{o}.s *= 0.5", f"{o}.s = 0.25", f"{o}.v = {o}.v * {o}.s"],
            "n": [f"{o}.n += 1", f"{o}.n = len({o}.items)"],
            "name": [f"{o}.name += 'x'", f"{o}.name = 'new'"],
            "array": [f"{o}.v = jnp.tanh({o}.v + {o}.array)"],
            "pair": [f"{o}.pair = ({a}, {o}.pair[1] + 1)", f"{o}.pair = ({p}.v, 0)", f"{o}.v = {o}.pair[0]"],
            "fn": [f"{o}.fn = jnp.sin", f"{o}.v = {o}.fn({o}.v)", f"{o}.fn = lambda q, k=u: (q + k) * 0.5"],
            "kids": [
                f"{o}.kids.append({p})",
                f"{o}.kids[0].v = {a}",
                f"{o}.kids = [{p}, {o}]",
                f"for kid in list({o}.kids):\n    kid.v = kid.v * 0.5",
            ],
            "seq": [f"{o}[0] = {a}", f"{o}[-1] = {o}[0]"],
        }
        known = [form for name in (kind.features if kind else ()) for form in forms[name]]
        if kind and kind.open:
            known += [f"{o}.free = {a}", f"{o}.__dict__['free'] = {p}", f"vars({o}).pop('free', None)"]
        return known

    def statement(self, scope: Scope) -> tuple[str, Scope]:
        simple = ["mutate", "mutate", "mutate", "mutate", "call", "call", "bind", "make", "container", "alias", "test"]
        simple += ["record", "record"]
        form = self.pick(simple if scope.depth else [*simple, "block", "block", "host"])
        return getattr(self, f"_{form}_statement")(scope)

    def _mutate_statement(self, scope: Scope) -> tuple[str, Scope]:
        return self.mutation(scope), scope

    def _call_statement(self, scope: Scope) -> tuple[str, Scope]:
        (o, _), (p, _), a = self.object(scope), self.object(scope), self.vec(scope)
        text = self.pick(
            [
                f"{o}.step({a})",
                f"{o}.merge({p})",
                f"bump({o}, {p}, {a})",
                f"fill({o}.items, {a})",
                f"store({o}.table, {a})",
                f"acc({a})",
            ]
        )
        return text, scope

    def _record_statement(self, scope: Scope) -> tuple[str, Scope]:
        """What a training loop writes down: in lists and counters that outlive the cell."""
        a, (o, _) = self.vec(scope), self.object(scope)
        text = self.pick(
            [
                f"history.append({a})",
                f"history.append({o})",
                f"log['a'].append({a})",
                f"for key in log:\n    log[key].append({a})",
                f"log.setdefault('c', []).append(jnp.sum({a}))",
                f"recent.append({a})",
                "history[:] = history[-2:]",
                "counts['m'] += 1",
                "counts['n'].append(counts['m'])",
                f"counts['m'] += len({o}.items)",
                f"history += [{a}, len(history)]",
                f"poke({a})",
            ]
        )
        return text, scope

    def _bind_statement(self, scope: Scope) -> tuple[str, Scope]:
        name = self.pick(["v", "u", scope.fresh()]) if not scope.depth else self.pick(["v", "u"])
        return f"{name} = {self.vec(scope)}", scope.reading(name)

    def _make_statement(self, scope: Scope) -> tuple[str, Scope]:
        made, kind = self.new(scope)
        place = self.pick(["name", "link", "list", "key", "item"])
        name = scope.fresh()
        if place == "name":
            return f"{name} = {made}", scope.holding(name, kind)
        target = self.object(scope, 0)[0]
        text = {
            "link": f"{target}.link = {made}",
            "list": f"objs.append({made})",
            "key": f"reg['{self.pick('pqr')}'] = {made}",
            "item": f"objs[{self.pick([0, 1])}] = {made}",
        }[place]
        return text, scope

    def _container_statement(self, scope: Scope) -> tuple[str, Scope]:
        o, p = self.object(scope)[0], self.object(scope)[0]
        text = self.pick(
            [
                f"objs.append({o})",
                f"objs[0], objs[-1] = {o}, {p}",
                "if len(objs) > 2:\n    objs.pop()",
                "objs.reverse()",
                "objs = objs[:]",
                f"reg['p'] = {o}",
                f"reg.update(q={o}, r={p})",
                f"reg.setdefault('s', {o})",
                "reg['p'], reg['q'] = reg['q'], reg['p']",
                f"objs.insert(0, {o})",
                "reg['q'] = reg.pop('p')\nreg['p'] = objs[0]",
            ]
        )
        return text, scope

    def _alias_statement(self, scope: Scope) -> tuple[str, Scope]:
        o, kind = self.object(scope)
        name = scope.fresh()
        part = self.pick(["", "", ".v", ".items", ".table", ".step"])
        if part == ".v" and self.often():
            copied = self.pick(["copy.copy", "copy.deepcopy"])
            return f"{name} = {copied}({o})", scope if scope.depth else scope.holding(name, kind)
        later = scope if scope.depth else scope.holding(name, kind) if not part else scope
        return f"{name} = {o}{part}", scope.reading(name) if part == ".v" and not scope.depth else later

    def _test_statement(self, scope: Scope) -> tuple[str, Scope]:
        """Whether two places hold one object: what a copy in place of an alias would answer otherwise."""
        (o, _), (p, _) = self.object(scope), self.object(scope)
        part = self.pick(["", ".items", ".table", ".link", ".v"])
        name = scope.fresh()
        return self.pick(
            [
                f"{name} = {o}{part} is {p}{part}",
                f"{name} = [{o}{part} is q{part} for q in objs]",
                f"{name} = (len({o}.items), list({p}.table))",
                f"{name} = ref() is {o}",
                f"{name} = (type({o}).__name__, isinstance({p}, {self.pick(self.kinds).name}))",
                f"{name} = (len(history), counts['m'], {o}.made)",
            ]
        ), scope

    def _host_statement(self, scope: Scope) -> tuple[str, Scope]:
        return self.pick(["print('shown', 3)", "import math", "label = 'l' + 'm'"]), scope

    def _block_statement(self, scope: Scope) -> tuple[str, Scope]:
        o, p = self.object(scope, 0)[0], self.object(scope, 0)[0]
        within = replace(scope, depth=scope.depth + 1)
        form = self.pick(["each", "each", "range", "is", "len", "finally", "except", "type"])
        inside = within.holding("each", None) if form == "each" else within
        first, second = self._body(inside), self._body(within)
        text = {
            "each": f"for each in {self.pick(['list(objs)', 'list(reg.values())', f'({o}, {p})'])}:\n{first}",
            "range": f"for _ in range(2):\n{first}",
            "is": f"if {o}.link is {p}:\n{first}\nelse:\n{second}",
            "len": f"if len({o}.items) > 2:\n{first}\nelse:\n{second}",
            "except": f"try:\n{first}\n    raise KeyError('k')\nexcept KeyError:\n{second}",
            "type": f"if isinstance({o}, {self.pick(self.kinds).name}):\n{first}\nelse:\n{second}",
            "finally": f"try:\n{first}\nfinally:\n{second}",
        }[form]
        return text, scope

    def _body(self, scope: Scope) -> str:
        lines = []
        for _ in range(self.draw(st.integers(1, 2))):
            text, scope = self.statement(scope)
            lines.append(text)
        return indented("\n".join(lines))

    def trailing(self, scope: Scope) -> str:
        o, p = self.object(scope, 0)[0], self.object(scope, 0)[0]
        return self.pick(["", "", "", f"{o}.v", f"{o}.items", f"{o}.table;", f"{o}.v is {p}.v", f"len({o}.items)", o])

    def change(self, names: list[str]) -> str:
        a, b = self.pick(names), self.pick(names)
        return self.pick(
            [
                f"{a}.v = {a}.v * 0.5",
                f"{a}.items[0] = u * 0.25",
                f"{a}.table['a'] = v - 1",
                "v = v * 0.5",
                f"{a}.v = {b}.v",
                f"{a}.items.append(u)",
                f"{a}.items = {b}.items",
                f"{a}.items = list({a}.items)",
                f"{a}.table.pop('c', None)",
                f"{a}.table['z'] = u",
                f"{a}.link = {b}",
                f"objs.append({a})",
                f"reg['p'] = {b}",
                f"{a}.v = {a}.v.astype(jnp.float16).astype(jnp.float32)",
                f"{a}.items = [np.float32(0.5) * u]",
                "acc = make(u)",
                f"del objs[2:]\nobjs[0] = {a}",
                f"{a}.__class__.shared = u * 0.125",
                "",
                "history.clear()",
                "history = [v]",
                "log['b'] = log['a'] = [u]",
                f"{a}.__class__.made = 3",
                "counts['m'] = 0",
                "recent.append(v)",
            ]
        )


@st.composite
def object_cases(draw: Any) -> Case:
    """Generated classes and objects, a cell that changes them, and what plain code changes between the runs."""
    writer = Writer(draw)
    classes = writer.classes()
    functions = writer.functions()
    graph, scope = writer.graph()
    names = [name for name in scope.objects if name.isidentifier()]
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 6))):
        text, scope = writer.statement(scope)
        lines.append(text)
    cell = "\n".join([*lines, writer.trailing(scope)])
    changes = tuple(writer.change(names) for _ in range(draw(st.integers(0, 2))))
    setup = VALUES + classes + functions + graph
    return Case("generated objects", cell, setup=setup, change=changes, reused=None, reused2=None)
