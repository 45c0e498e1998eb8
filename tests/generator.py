"""Random cells: well-formed, of bounded values, over one fixed namespace, from a small grammar of statements.

Each name has a kind, which says what may be done with it: `vec` and `mat` are float arrays of shape (3,)
and (3, 3), `ivec` integers, `bvec` booleans, `low` bfloat16, `dot` a scalar array; `int`, `float`,
`bool` and `str` are Python's; `np` is a NumPy array of shape (3,); `list` and `dict` hold `vec`s; `fun`
maps a `vec` to a `vec`. The operations average and squash, so that no chain of them blows up a rounding,
and only integers are compared, so that no rounding decides a branch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from cells import Case
from hypothesis import strategies as st

__all__ = ["SETUP", "cases"]

SETUP = """\
v = jnp.array([0.5, -1.0, 2.0])
u = jnp.array([1.5, 0.25, -0.75])
low = jnp.array([1.5, 0.25, -0.75], jnp.bfloat16)
m = jnp.array([[0.5, -0.5, 0.25], [1.0, 0.0, -1.0], [0.125, 2.0, 1.0]])
iv = jnp.array([1, -2, 3])
bv = jnp.array([True, False, True])
dot = jnp.float32(0.75)
key = jax.random.key(0)
n, lr, flag, name = 2, 0.5, True, 'a'
lst = [v, v * 0.5]
dct = {'z': v, 'a': v + 0.25}
tree = {'l': [v, (m, 'k')], 'n': 2, 'none': None}
npa = np.array([0.5, 1.5, -0.25])
npv = npa[:2]
names = ['p', 'q']
same = lst
k_global = jnp.array([0.5, 0.25, 1.0])
def halve(a):
    return a * 0.5
def scaled(a):
    return jnp.tanh(a) * k_global
def make(c):
    def inner(a, d=v):
        return (a + c + d) * 0.25
    return inner
closed = make(v * 0.5)
"""

START = {
    "vec": ("v", "u", "lst[0]", "dct['z']", "tree['l'][0]", "k_global"),
    "mat": ("m", "tree['l'][1][0]"),
    "ivec": ("iv",),
    "bvec": ("bv",),
    "low": ("low",),
    "dot": ("dot",),
    "int": ("n", "tree['n']", "len(names)", "v.ndim", "m.shape[0]"),
    "float": ("lr",),
    "bool": ("flag",),
    "str": ("name", "names[0]"),
    "np": ("npa",),
    "list": ("lst", "same"),
    "dict": ("dct",),
    "fun": ("halve", "scaled", "closed", "jnp.tanh", "jnp.abs"),
}
REBOUND = {
    "vec": ("v", "u"),
    "mat": ("m",),
    "ivec": ("iv",),
    "dot": ("dot",),
    "int": ("n",),
    "float": ("lr",),
    "str": ("name",),
}
CHANGES = (
    "v = v * 0.5",
    "v = iv",
    "low = low.astype(jnp.float16)",
    "iv = iv.astype(jnp.int8)",
    "k_global = k_global * 0.5",
    "n = n + 1",
    "lr = lr * 0.5",
    "flag = not flag",
    "npa[0] = 0.125",
    "lst.append(v * 0.25)",
    "dct['z'] = v * 0.75",
    "closed = make(v * 0.25)",
    "def halve(a):\n    return a * 0.25",
    "tree['n'] = 1",
    "v = lst[1]",
)


@dataclass(frozen=True)
class Scope:
    """What the statements so far have bound.

    Args:
      kinds: the expressions that may be read, by kind.
      own: the lists and dicts that the cell made, which it may change.
      pinned: names that a function reads, which may not be deleted.
      depth: how many blocks the next statement stands in.
      count: a counter for fresh names, shared by all scopes of a cell.
    """

    kinds: dict[str, tuple[str, ...]]
    own: tuple[str, ...] = ()
    pinned: frozenset[str] = frozenset()
    depth: int = 0
    count: list[int] = field(default_factory=lambda: [0])

    def fresh(self) -> str:
        self.count[0] += 1
        return f"t{self.count[0]}"

    def binding(self, name: str, kind: str, own: bool = False) -> Scope:
        """The scope after `name` was bound to something of `kind`."""
        kinds = {k: tuple(n for n in names if n != name) for k, names in self.kinds.items()}
        kinds[kind] = (*kinds.get(kind, ()), name)
        return replace(self, kinds=kinds, own=(*self.own, name) if own else tuple(o for o in self.own if o != name))

    def without(self, name: str) -> Scope:
        kinds = {k: tuple(n for n in names if n != name) for k, names in self.kinds.items()}
        return replace(self, kinds=kinds, own=tuple(o for o in self.own if o != name))

    def fresh_names(self) -> list[str]:
        return sorted({n for names in self.kinds.values() for n in names if n[0] == "t" and n[1:].isdigit()})


class Writer:
    """Draws statements; every method returns source and the scope after it."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    # Expressions

    def expr(self, scope: Scope, kind: str, deep: int = 2) -> str:
        if not deep or self.draw(st.integers(0, 3)) == 0:
            return self.pick(scope.kinds[kind])
        text = getattr(self, f"_{kind}")(scope, deep - 1)
        return text if deep >= 2 else f"({text})"

    def _vec(self, scope: Scope, deep: int) -> str:
        a, b = (self.expr(scope, "vec", deep) for _ in range(2))
        i, mat = self.expr(scope, "int", 0), self.expr(scope, "mat", 0)
        forms = [
            f"jnp.tanh({a})",
            f"({a} + {b}) * 0.5",
            f"({a} - {b}) * 0.5",
            f"jnp.maximum({a}, {b})",
            f"jnp.where({self.expr(scope, 'bvec', deep)}, {a}, {b})",
            f"({a} * {self.expr(scope, 'float', 0)}) * 0.5",
            f"jnp.tanh({a} * {i})",
            f"({self.expr(scope, 'mat', deep)} @ jnp.tanh({a})) * 0.25",
            f"jnp.tanh({a} + {self.expr(scope, 'np', 0)})",
            f"jnp.tanh({a} + {self.expr(scope, 'dot', deep)})",
            f"jnp.tanh({self.expr(scope, 'ivec', deep)}.astype(jnp.float32))",
            f"{self.expr(scope, 'fun', 0)}({a})",
            f"jnp.roll({a}, {i})",
            f"{a}[::-1]",
            f"{a}.astype(jnp.float32)",
            f"{self.expr(scope, 'list', 0)}[0]",
            f"next(iter({self.expr(scope, 'dict', 0)}.values()))",
            f"sum({self.expr(scope, 'list', 0)}) * 0.25",
            f"({a} if {self.test(scope)} else {b})",
            f"jax.grad(lambda a: jnp.tanh(a).sum())({a}.astype(jnp.float32))",
            f"jax.vmap(lambda r: jnp.tanh(r).sum())({self.expr(scope, 'mat', deep)}) * 0.25",
            f"jax.jit(lambda a: {self.expr(scope, 'fun', 0)}(a))({a})",
            f"jax.lax.scan(lambda c, r: (jnp.tanh(c + r), None), jnp.zeros(3), {mat}.astype(jnp.float32))[0]",
            f"jax.random.uniform(jax.random.fold_in(key, {i}), (3,))",
            f"(lambda a, k={b}: (a + k) * 0.5)({a})",
        ]
        return self.pick(forms)

    def _mat(self, scope: Scope, deep: int) -> str:
        a, b = (self.expr(scope, "mat", deep) for _ in range(2))
        forms = [
            f"({a} @ {b}) * 0.25",
            f"{a}.T",
            f"jnp.tanh({a})",
            f"({a} + {b}) * 0.5",
            f"jnp.outer(*[{self.expr(scope, 'vec', deep)}] * 2) * 0.25",
        ]
        return self.pick(forms)

    def _ivec(self, scope: Scope, deep: int) -> str:
        a, b = (self.expr(scope, "ivec", deep) for _ in range(2))
        i = self.expr(scope, "int", 0)
        return self.pick(
            [
                f"{a} + {b}",
                f"{a} * 2",
                f"({a} - {i}) % 7",
                f"{a} // 2",
                f"jnp.arange(3) + {a}",
                f"jnp.sort({a})",
                f"-{a}",
            ]
        )

    def _bvec(self, scope: Scope, deep: int) -> str:
        a, b = (self.expr(scope, "bvec", deep) for _ in range(2))
        i = self.expr(scope, "ivec", deep)
        return self.pick(
            [f"~{a}", f"{a} & {b}", f"{a} | {b}", f"({i} > {self.expr(scope, 'int', 0)})", f"({i} % 2 == 0)"]
        )

    def _low(self, scope: Scope, deep: int) -> str:
        a = self.expr(scope, "low", deep)  # only what is exact: excess precision counts as rounding (rule 1)
        return self.pick([f"-{a}", f"{a} * 0.5", f"jnp.abs({a})", f"{a}[::-1]", f"jnp.stack([{a}, low])[0]"])

    def _dot(self, scope: Scope, deep: int) -> str:
        a = self.expr(scope, "vec", deep)
        return self.pick(
            [
                f"{a}.mean()",
                f"{a}[0]",
                f"jnp.max({a})",
                f"jnp.tanh({self.expr(scope, 'dot', deep)})",
                f"jnp.tanh({a} @ {a})",
            ]
        )

    def _int(self, scope: Scope, deep: int) -> str:
        a = self.expr(scope, "int", deep)
        return self.pick(
            [
                f"({a} + 1) % 5",
                f"{a} * 2 % 7",
                "3",
                f"len({self.expr(scope, 'list', 0)})",
                f"max({a}, 1)",
                f"abs(-{a})",
            ]
        )

    def _float(self, scope: Scope, deep: int) -> str:
        a = self.expr(scope, "float", deep)
        return self.pick(
            [
                f"{a} * 0.5",
                f"({a} + 1.0) / 4",
                "0.25",
                f"min({a}, 0.75)",
                f"float({self.expr(scope, 'int', 0)}) / 8",
            ]
        )

    def _bool(self, scope: Scope, deep: int) -> str:
        return self.test(scope)

    def _str(self, scope: Scope, deep: int) -> str:
        a = self.expr(scope, "str", deep)
        return self.pick([f"{a}.upper()", f"'%d' % {self.expr(scope, 'int', 0)}", "'b'", f"'_'.join([{a}[:3], 'c'])"])

    def _np(self, scope: Scope, deep: int) -> str:
        a = self.expr(scope, "np", deep)
        return self.pick(
            [
                f"{a} * 0.5",
                f"np.tanh({a})",
                f"{a}[::-1].copy()",
                "np.linspace(0, 1, 3)",
                f"np.where({a} > 0, {a}, 0.0)",
                f"{a}.astype(np.float32)",
            ]
        )

    def _list(self, scope: Scope, deep: int) -> str:
        a, b = (self.expr(scope, "vec", deep) for _ in range(2))
        some = self.expr(scope, "list", 0)
        return self.pick(
            [
                f"[{a}, {b}]",
                f"[{a}]",
                f"{some} + [{a}]",
                f"[a * 0.5 for a in {some}]",
                f"[{a} * (i * 0.25) for i in range(3) if i != {self.expr(scope, 'int', 0)}]",
                f"jax.tree.map(lambda a: a * 0.5, {some})",
                f"list({some})",
                f"list(map({self.expr(scope, 'fun', 0)}, {some}))",
            ]
        )

    def _dict(self, scope: Scope, deep: int) -> str:
        a, b = (self.expr(scope, "vec", deep) for _ in range(2))
        some = self.expr(scope, "dict", 0)
        return self.pick(
            [
                f"{{'y': {a}, 'b': {b}}}",
                f"{{**{some}, 'n': {a}}}",
                f"{{k: c * 0.5 for k, c in {some}.items()}}",
                f"dict({some})",
                f"jax.tree.map(jnp.tanh, {some})",
            ]
        )

    def _fun(self, scope: Scope, deep: int) -> str:
        return self.pick(scope.kinds["fun"])

    def test(self, scope: Scope) -> str:
        """A condition over what is static."""
        i, s = self.expr(scope, "int", 0), self.expr(scope, "str", 0)
        forms = [
            f"{i} > 1",
            f"{s} == 'a'",
            self.pick(scope.kinds["bool"]),
            f"{self.pick(scope.kinds['vec'])}.ndim == 1",
            "isinstance(v, jax.Array)",
            f"len({self.expr(scope, 'list', 0)}) > 1",
            f"not {self.pick(scope.kinds['bool'])}",
            f"'z' in {self.expr(scope, 'dict', 0)}",
            f"0 < {i} < 4",
            "tree['none'] is None",
        ]
        return self.pick(forms)

    # Statements

    def statement(self, scope: Scope) -> tuple[str, Scope]:
        simple = [
            "assign",
            "assign",
            "assign",
            "rebind",
            "alias",
            "several",
            "augment",
            "container",
            "change",
            "walrus",
            "delete",
            "define",
            "call",
        ]
        rules = simple if scope.depth else [*simple, "host", "host", "block", "block"]
        return getattr(self, f"_{self.pick(rules)}_statement")(scope)

    def kind(self) -> str:
        return self.pick(["vec", "vec", "vec", "mat", "ivec", "bvec", "low", "dot", "int", "float", "str", "bool"])

    def _assign_statement(self, scope: Scope) -> tuple[str, Scope]:
        kind, name = self.kind(), scope.fresh()
        noted = self.pick(["", "", "", ": object"])
        return f"{name}{noted} = {self.expr(scope, kind)}", scope.binding(name, kind)

    def _rebind_statement(self, scope: Scope) -> tuple[str, Scope]:
        kind = self.pick(REBOUND)
        return f"{self.pick(REBOUND[kind])} = {self.expr(scope, kind)}", scope

    def _alias_statement(self, scope: Scope) -> tuple[str, Scope]:
        kind = self.pick(["vec", "vec", "mat", "fun", "list", "dict", "int", "vec" if scope.depth else "np"])
        old, name = self.pick(scope.kinds[kind]), scope.fresh()
        return f"{name} = {old}", scope.binding(name, kind, own=old in scope.own)

    def _several_statement(self, scope: Scope) -> tuple[str, Scope]:
        a, b, c = (scope.fresh() for _ in range(3))
        x, y = self.expr(scope, "vec"), self.expr(scope, "vec")
        form = self.pick(["chain", "tuple", "star", "nested", "rows", "swap"])
        if form == "chain":
            return f"{a} = {b} = {x}", scope.binding(a, "vec").binding(b, "vec")
        if form == "tuple":
            return f"{a}, {b} = {x}, {self.expr(scope, 'int')}", scope.binding(a, "vec").binding(b, "int")
        if form == "star":
            return f"{a}, *{b} = {x}, {y}, {self.expr(scope, 'vec', 1)}", scope.binding(a, "vec").binding(
                b, "list", own=True
            )
        if form == "nested":
            text = f"({a}, [{b}, {c}]) = ({x}, [{y}, {self.expr(scope, 'str', 1)}])"
            return text, scope.binding(a, "vec").binding(b, "vec").binding(c, "str")
        if form == "rows":
            text = f"{a}, {b}, {c} = {self.expr(scope, 'mat', 1)}"
            return text, scope.binding(a, "vec").binding(b, "vec").binding(c, "vec")
        return f"v, {a} = {self.expr(scope, 'vec', 1)}, v", scope.binding(a, "vec")

    def _augment_statement(self, scope: Scope) -> tuple[str, Scope]:
        name = self.pick([n for n in scope.kinds["vec"] if n.isidentifier()])
        return f"{name} {self.pick(['*= 0.5', '+= 0.25', '-= ' + name + ' * 0.5'])}", scope

    def _container_statement(self, scope: Scope) -> tuple[str, Scope]:
        kind, name = self.pick(["list", "dict"]), scope.fresh()
        return f"{name} = {(self._list if kind == 'list' else self._dict)(scope, 1)}", scope.binding(
            name, kind, own=True
        )

    def _change_statement(self, scope: Scope) -> tuple[str, Scope]:
        if not scope.own:
            return self._container_statement(scope)
        name = self.pick(scope.own)
        value = self.expr(scope, "vec")
        if name in scope.kinds["dict"]:
            return f"{name}[{self.expr(scope, 'str', 0)}] = {value}", scope
        return self.pick(
            [
                f"{name}.append({value})",
                f"{name}[0] = {value}",
                f"{name} += [{value}]",
                f"{name}.extend([{value}, {self.pick(scope.kinds['vec'])}])",
            ]
        ), scope

    def _walrus_statement(self, scope: Scope) -> tuple[str, Scope]:
        a, b = scope.fresh(), scope.fresh()
        return f"{a} = ({b} := {self.expr(scope, 'vec')}) * 0.5", scope.binding(a, "vec").binding(b, "vec")

    def _delete_statement(self, scope: Scope) -> tuple[str, Scope]:
        mine = [name for name in scope.fresh_names() if name not in scope.pinned]
        if not mine or scope.depth:
            return "pass", scope
        name = self.pick(mine)
        return f"del {name}", scope.without(name)

    def _define_statement(self, scope: Scope) -> tuple[str, Scope]:
        name = scope.fresh()
        inner = scope.binding("a", "vec")
        body = self.expr(inner, "vec")
        default = self.expr(scope, "vec", 1)
        form = self.pick(["lambda", "def", "default", "closure", "nonlocal", "jit", "partial"])
        text = {
            "lambda": f"{name} = lambda a: {body}",
            "def": f"def {name}(a):\n    b = {body}\n    return (a + b) * 0.5",
            "default": f"def {name}(a, d={default}, *, e=0.5):\n    return (a * e + d) * 0.5",
            "closure": f"def {name}_outer(c):\n    def f(a):\n        return (a + c) * 0.5\n    return f\n"
            f"{name} = {name}_outer({default})",
            "nonlocal": f"def {name}(a):\n    c = a * 0.5\n    def f():\n        nonlocal c\n"
            "        c = (c + a) * 0.5\n    f()\n    return c",
            "jit": f"@jax.jit\ndef {name}(a):\n    return jnp.tanh(a) * 0.5",
            "partial": f"import functools\n{name} = functools.partial(jnp.maximum, {default})",
        }[form]
        pinned = scope.pinned | set(scope.fresh_names())
        return text, replace(scope.binding(name, "fun"), pinned=pinned)

    def _call_statement(self, scope: Scope) -> tuple[str, Scope]:
        name = scope.fresh()
        return f"{name} = {self.pick(scope.kinds['fun'])}({self.expr(scope, 'vec', 1)})", scope.binding(name, "vec")

    def _host_statement(self, scope: Scope) -> tuple[str, Scope]:
        """What reads no jax value: Python runs it, with the real values."""
        name = scope.fresh()
        own = [n for n in scope.kinds["np"] if n.isidentifier()]
        form = self.pick(["np", "np", "write", "add", "print", "names", "loop", "int", "view"])
        if form == "np":
            return f"{name} = {self.expr(scope, 'np')}", scope.binding(name, "np")
        if form == "write":
            return f"{self.pick(own)}[{self.pick([0, 1, 2])}] = 0.375", scope
        if form == "add":
            return f"{self.pick(own)} *= 0.5", scope
        if form == "print":
            statics = [n for kind in ("str", "bool") for n in scope.kinds[kind] if n in ("name", "flag", "names[0]")]
            return f"print('shown', {self.pick(statics)}, n, lr, npa.sum().round(3))", scope
        if form == "names":
            return f"names.append(names[-1] + 'r')\n{name} = sorted(names)[0]", scope.binding(name, "str")
        if form == "loop":
            return f"{name} = 0\nfor _ in range(n):\n    {name} = ({name} + 2) % 5", scope.binding(name, "int")
        if form == "view":
            return f"npv[{self.pick([0, 1])}] = npa[2] * 0.5\n{name} = npa + npv.sum()", scope.binding(name, "np")
        return f"{name} = (n + 3) % 4", scope.binding(name, "int")

    def _block_statement(self, scope: Scope) -> tuple[str, Scope]:
        """A compound statement; what is first bound in it is not read behind it."""
        within = replace(scope, depth=scope.depth + 1)
        form = self.pick(["if", "for", "while", "try", "with", "match", "each"])
        loop = scope.fresh()
        if form in ("for", "while"):
            within = within.binding(loop, "int")
        if form == "each":
            within = within.binding(loop, "vec")
        first, second = self._body(within), self._body(replace(scope, depth=scope.depth + 1))
        subject = self.expr(scope, "str", 0)
        deeper = "\n".join("    " + line for line in first.splitlines())
        text = {
            "if": f"if {self.test(scope)}:\n{first}\nelse:\n{second}",
            "for": f"for {loop} in range({self.pick(['n', '2', '3'])}):\n{first}",
            "while": f"{loop} = 2\nwhile {loop}:\n{first}\n    {loop} -= 1",
            "try": f"try:\n{first}\nexcept ValueError:\n{second}\nfinally:\n    pass",
            "with": f"with jax.named_scope('part'):\n{first}",
            "match": f"match {subject}:\n    case 'never':\n        pass\n    case _:\n{deeper}",
            "each": f"for {loop} in {self.expr(scope, 'list', 0)}:\n{first}",
        }[form]
        return text, scope

    def _body(self, scope: Scope) -> str:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, 3))):
            text, scope = self.statement(scope)
            lines += text.splitlines()
        return "\n".join("    " + line for line in lines)

    def trailing(self, scope: Scope) -> str:
        kind = self.pick(["none", "vec", "mat", "dot", "list", "dict", "int", "float", "str", "np", "tuple"])
        if kind == "none":
            return ""
        if kind == "tuple":
            return f"{self.expr(scope, 'vec')}, {self.expr(scope, 'int', 0)}, {self.expr(scope, 'str', 0)}"
        return self.expr(scope, kind, 1) + self.pick(["", "", "", ";", "  # last"])


@st.composite
def cases(draw: Any) -> Case:
    """A generated cell with the state it finds, and something that changes before its third run."""
    writer, scope = Writer(draw), Scope(dict(START))
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 9))):
        text, scope = writer.statement(scope)
        lines.append(text)
    source = "\n".join([*lines, writer.trailing(scope)])
    change = draw(st.sampled_from(("", *CHANGES)))
    return Case("generated", source, setup=SETUP, change=change, reused=None, reused2=None)
