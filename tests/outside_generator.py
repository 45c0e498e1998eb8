"""Made-up cells that have to do with the outside: files, threads, devices, prints, logs, random states and objects.

A cell is a draw of statements from `FORMS`, some within loops, branches and functions, each over what those before it
bound. What is computed is squashed, so that no chain of operations blows up a rounding, and no draw fails. The same
seed and number give the same cell.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from string import Template

from outside_forms import FORMS, SETUP, WALKER, Form
from people.cell import PersonCell

__all__ = ["Made", "made", "smaller"]

_CHANGES = (
    "x = x * 0.5",
    "n = 3",
    "lr = 0.125",
    "npa = npa + 0.125",
    "keeper.count = 5",
    "keeper.table.clear()",
    "state['n'] = 7",
    "hist.append(0.75)",
    "np.save('data.npy', np.array([0.25, 0.125, -0.5]))",
    "np.savez('data.npz', a=np.array([1.0, 0.5, 0.25]), b=np.array([0.5, 0.25, 0.125], np.float32))",
    "np.savetxt('data.txt', np.array([0.125, 0.5, 0.75]))",
    "Path('data.json').write_text(json.dumps({'a': [0.5, 0.5, 0.25], 'n': 3}))",
    "Path('run.npy').unlink(missing_ok=True)",
    "Path('count.json').unlink(missing_ok=True)",
    "random.seed(11)",
    "log.setLevel(logging.ERROR)",
    "def told(a):\n    print('told anew')\n    return jnp.tanh(a)",
)
_START = {
    "v": ("x", "x", "w[0]", "keeper.v", "state['v']"),
    "p": ("npa", "npa", "nps"),
    "b": ("big", "spread"),
    "i": ("n", "keeper.count", "state['n']", "len(hist)"),
    "k": ("keeper", "keeper", "other"),
}
_REBOUND = "key, keeper, n, npa, other, pair, point, x"


@dataclass(frozen=True)
class Made:
    """A made-up cell in its parts.

    Args:
      name: seed and number.
      statements: of the cell, in order; each stands on lines of its own.
      setup: beside the one that all have.
      changes: made before further runs.
      watched: whether a thread of the test looks at everything.
      themes: what its statements have to do with.
    """

    name: str
    statements: tuple[str, ...]
    setup: str = ""
    changes: tuple[str, ...] = ()
    watched: bool = False
    themes: frozenset[str] = frozenset()

    @property
    def cell(self) -> PersonCell:
        """The cell as the corpus of people's cells has them."""
        text = "\n".join(self.statements) + "\n"
        return PersonCell(self.name, SETUP + self.setup, text, self.changes, watched=self.watched, theme="made up")


@dataclass(frozen=True)
class _Scope:
    """Expressions by kind, see `_START`; `bound` are the names that the cell itself bound."""

    kinds: dict[str, tuple[str, ...]]
    depth: int = 0
    bound: tuple[str, ...] = ()

    def binding(self, **names: str) -> _Scope:
        kinds = dict(self.kinds)
        for kind, name in names.items():
            kinds[kind] = (*kinds.get(kind, ()), name, name)
        return replace(self, kinds=kinds, bound=(*self.bound, *names.values()))


@dataclass
class _Writer:
    draw: random.Random
    forms: tuple[Form, ...]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    themes: set[str] = field(default_factory=set)

    def fresh(self) -> str:
        return f"t{next(self.numbers)}"

    def expression(self, scope: _Scope, kind: str, deep: int = 2) -> str:
        name = self.draw.choice(scope.kinds[kind])
        if not deep or self.draw.random() < 0.45 or kind in "ik":
            return f"({name} % 5)" if kind == "i" else name
        a, b = (self.expression(scope, kind, deep - 1) for _ in range(2))
        if kind == "p":
            return self.draw.choice(
                [f"np.tanh({a})", f"(({a} + {b}) * 0.5)", f"{a}[::-1].copy()", f"({a} - np.mean({b}))"]
            )
        if kind == "b":
            return self.draw.choice([f"jnp.tanh({a})", f"(({a} + {b}) * 0.5)", f"({a} - jnp.mean({b}))", f"({a} * lr)"])
        p = self.expression(scope, "p", 0)
        forms = [
            f"jnp.tanh({a})",
            f"(({a} + {b}) * 0.5)",
            f"((w @ {a}) * 0.25)",
            f"({a} * lr)",
            f"({a} - jnp.mean({b}))",
        ]
        return self.draw.choice([*forms, f"(({a} + jnp.asarray({p})) * 0.5)", f"jax.nn.softmax({a})", f"half({a})"])

    def statement(self, scope: _Scope) -> tuple[str, _Scope]:
        """One statement, and what can be named behind it."""
        if scope.depth < 2 and self.draw.random() < 0.2:
            return self._block(scope), scope
        themes = sorted({form.theme for form in self.forms})
        theme = self.draw.choice(themes)
        form = self.draw.choice([form for form in self.forms if form.theme == theme])
        self.themes.add(theme)
        names = {kind: self.expression(scope, kind) for kind in "vpbik"}
        again = {f"{kind}2": self.expression(scope, kind, 1) for kind in "vpbi"}
        name = self.fresh()
        text = Template(form.text).substitute(t=name, **names, **again)
        return text, scope.binding(**{form.kind: Template(form.binds).substitute(t=name)}) if form.kind else scope

    def _block(self, scope: _Scope) -> str:
        """A compound statement; what is bound in it is not read behind it."""
        inner, loop = replace(scope, depth=scope.depth + 1), self.fresh()
        form = self.draw.choice(["range", "rows", "list", "if", "value", "try", "function", "while"])
        within = {"range": inner.binding(i=loop), "while": inner.binding(i=loop), "list": inner.binding(v=loop)}
        within["function"] = inner.binding(v="a")
        within["rows"] = inner.binding(p=f"np.full(3, {loop})")
        body = self._body(within.get(form, inner))
        v, p, i = (self.expression(scope, kind, 1) for kind in "vpi")
        other = self._body(inner)
        return {
            "range": f"for {loop} in range({self.draw.choice([2, 3, 'n'])}):\n{body}",
            "rows": f"for {loop} in {p}:\n{body}",
            "list": f"for {loop} in [{v}, x]:\n{body}",
            "if": f"if {i} > 1:\n{body}\nelse:\n{other}",
            "value": f"if jnp.abs({v}).sum() > 0.3137:\n{body}\nelse:\n{other}",
            "try": f"try:\n{body}\nexcept ValueError:\n{other}\nfinally:\n    pass",
            "function": f"def {loop}(a):\n    global {_REBOUND}\n{body}\n    return a * 0.5\n{loop}({v})",
            "while": f"{loop} = 2\nwhile {loop}:\n{body}\n    {loop} -= 1",
        }[form]

    def _body(self, scope: _Scope) -> str:
        lines: list[str] = []
        for _ in range(self.draw.randint(1, 2)):
            text, scope = self.statement(scope)
            lines += text.splitlines()
        return "\n".join("    " + line for line in lines)

    def trailing(self, scope: _Scope) -> str:
        v, p, i, b = (self.expression(scope, kind, 1) for kind in "vpib")
        forms = ["", "", v, p, b, f"{v}, {i}", f"{p}, {v}", f"{v}.mean()", f"float({v}.sum())", f"keeper.count, {v}"]
        return self.draw.choice(forms)


def _is_undone_alike(form: Form) -> bool:
    """Whether a failed cell leaves nothing of it: random states, files, threads and logs are not undone."""
    return form.theme in ("numpy", "objects", "prints", "devices", "loops") and "log" not in form.text


def made(seed: int, number: int, leave_out: frozenset[str] = frozenset()) -> Made:
    """A made-up cell.

    Args:
      seed: of all cells of a run.
      number: of this one.
      leave_out: themes that are not drawn.
    """
    draw = random.Random(f"{seed} {number}")
    failing = draw.random() < 0.06
    forms = tuple(form for form in FORMS if form.theme not in leave_out)
    forms = tuple(form for form in forms if not failing or _is_undone_alike(form))
    writer, scope = _Writer(draw, forms), _Scope(dict(_START))
    statements: list[str] = []
    for _ in range(draw.randint(1, 7)):
        text, scope = writer.statement(scope)
        statements.append(text)
    if failing:
        statements.append("raise ValueError('at the end')")
    elif trailing := writer.trailing(scope):
        statements.append(trailing)
    changes = tuple(draw.sample(_CHANGES, draw.randint(1, 2)))
    walker = WALKER if draw.random() < 0.08 else ""
    name = f"seed={seed},number={number}"
    return Made(name, tuple(statements), walker, changes, draw.random() < 0.15, frozenset(writer.themes))


def smaller(cell: Made, differs: Callable[[Made], bool]) -> Made:
    """The cell with statements, changes and threads left out as long as it still differs."""
    attempts = [replace(cell, setup="", watched=False)]
    attempts += [replace(cell, changes=cell.changes[:i] + cell.changes[i + 1 :]) for i in range(len(cell.changes))]
    attempts += [
        replace(cell, statements=cell.statements[:i] + cell.statements[i + 1 :]) for i in range(len(cell.statements))
    ]
    for attempt in attempts:
        if attempt != cell and attempt.statements and differs(attempt):
            return smaller(attempt, differs)
    return cell
