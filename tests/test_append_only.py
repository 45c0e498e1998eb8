"""Lists that a cell only appends to: read off the code, and staged without tracing again as they grow."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb.staging.cells.append_only import ANY, ListUses, uses_of
from jaxnb.staging.cells.code import names_of


def use_of(text: str, name: str) -> tuple[tuple[Any, ...], str]:
    code = compile(text, "<test>", "exec")
    [found] = [(place[1:], use) for place, use in uses_of(code) if place[0] == ("name", name)]
    return found


@pytest.mark.parametrize(
    ("text", "subscripts", "use"),
    [
        ("h.append(v)", (), "grown"),
        ("h.extend([v, w])", (), "grown"),
        ("h += [v]", (), "grown"),
        ("h['a'].append(v)", ("a",), "grown"),
        ("h[k + 1].append(f(v)[0])", (ANY,), "grown"),
        ("h['a'][0].append(v)", ("a", 0), "grown"),
        ("h.setdefault('a', []).append(v)", ("a",), "grown"),
        ("h.setdefault(k, []).extend(v)", (ANY,), "grown"),
        ("h['b'].setdefault('a', []).append(v)", ("b", "a"), "grown"),
        ("h.setdefault('a', [v]).append(v)", (), "touched"),
        ("h.setdefault('a', w).append(v)", (), "touched"),
        ("h.setdefault('a', []).pop()", ("a",), "touched"),
        ("y = h.setdefault('a', [])", ("a",), "touched"),
        ("h['a'] = v", (), "written"),
        ("h[k] = v", (), "written"),
        ("y = h[-1]", (-1,), "touched"),
        ("h.pop()", (), "touched"),
        ("f(h)", (), "touched"),
        ("y = h.append", (), "touched"),
        ("del h[0]", (), "touched"),
        ("h[0] += 1", (), "touched"),
        ("h = h + [v]", (), "touched"),
        ("for a in h: pass", (), "touched"),
        ("y = len(h)", (), "touched"),
        ("y = v in h", (), "touched"),
        ("y = h or v", (), "touched"),
        ("h[a if b else c].append(v)", (), "touched"),
        ("y = h is None", (), "touched"),
        ("[h.append(v) for v in w]", (), "grown"),
        ("h.sort()", (), "touched"),
        ("f(*h)", (), "touched"),
        ("y = (h, v)", (), "touched"),
    ],
)
def test_what_code_does_with_a_name(text: str, subscripts: tuple[Any, ...], use: str) -> None:
    if text.startswith("["):
        assert names_of(compile(text, "<test>", "exec")).list_uses.grown == {(("name", "h"),)}
    else:
        assert use_of(text, "h") == (subscripts, use)


@pytest.mark.parametrize(
    ("text", "base", "subscripts", "answer"),
    [
        ("h.append(v)", "h", (), True),
        ("h.append(v)\ny = h[0]", "h", (), False),
        ("h.append(v)\nh[0] = v", "h", (), False),
        ("h.append(v)\nh[0].append(v)", "h", (), False),
        ("d['a'].append(v)", "d", ("a",), True),
        ("d['a'].append(v)", "d", ("b",), False),
        ("d['a'].append(v)\nd['n'] = v", "d", ("a",), True),
        ("d['a'].append(v)\ny = d['b']", "d", ("a",), True),
        ("d['a'].append(v)\ny = d['a']", "d", ("a",), False),
        ("d['a'].append(v)\ny = d[k]", "d", ("a",), False),
        ("d['a'].append(v)\nf(d)", "d", ("a",), False),
        ("d['a'].append(v)\nd.clear()", "d", ("a",), False),
        ("d[k].append(v)", "d", ("a",), True),
        ("d[1].append(v)", "d", (True,), False),
    ],
)
def test_a_list_only_grows_where_nothing_reads_it(
    text: str, base: str, subscripts: tuple[Any, ...], answer: bool
) -> None:
    list_uses = names_of(compile(text, "<test>", "exec")).list_uses
    assert list_uses.only_grows([("name", base)], subscripts) is answer


def test_uses_add_up() -> None:
    one = names_of(compile("h.append(v)", "<test>", "exec")).list_uses
    other = names_of(compile("y = h[0]", "<test>", "exec")).list_uses
    assert one.only_grows([("name", "h")], ()) and not (one | other).only_grows([("name", "h")], ())
    assert (one | ListUses()) is one


# --- staged --------------------------------------------------------------------------------------------------------

SETUP = """\
import jax, jax.numpy as jnp
w = jnp.ones(3)
history, log = [], {'loss': [], 'norm': []}
class Trainer:
    def __init__(self):
        self.w, self.losses, self.log = jnp.ones(3), [], {'w': []}
    def step(self):
        self.w = self.w * 0.9
        self.losses.append(self.w.sum())
        self.log['w'].append(self.w)
        return self.w
trainer = Trainer()
def make():
    seen = []
    def step(v):
        seen.append(v * 2)
        return v
    return step, lambda: seen
step, seen = make()
"""


@pytest.mark.parametrize(
    ("cell", "lists"),
    [
        ("w = w * 0.9\nhistory.append(w.sum())", ["history"]),
        ("w = w * 0.9\nhistory += [w.sum(), w]", ["history"]),
        ("for i in range(3):\n    w = w * 0.9\n    history.append(w)", ["history"]),
        ("w = w * 0.9\nlog['loss'].append(w.sum())\nlog['norm'].extend([w, w])", ["log['loss']", "log['norm']"]),
        ("w = w * 0.9\nfor k in ('loss', 'norm'):\n    log[k].append(w)", ["log['loss']", "log['norm']"]),
        ("y = trainer.step()", ["trainer.losses", "trainer.log['w']"]),
        ("w = step(w * 0.9)", ["seen()"]),
    ],
)
def test_a_growing_list_does_not_trace_again(cell: str, lists: list[str]) -> None:
    spaces: list[dict[str, Any]] = [{"__name__": "__main__"} for _ in range(2)]
    for space in spaces:
        exec(SETUP, space)
    for turn in range(5):
        exec(cell, spaces[0])
        assert jaxnb.stage(cell, spaces[1]).reused == (turn > 0)
    for text in lists:
        plain, staged = (eval(text, space) for space in spaces)
        assert len(plain) == len(staged) > 0
        assert all(jnp.allclose(a, b) for a, b in zip(plain, staged, strict=True))


@pytest.mark.parametrize(
    "again",
    ["other = history", "trainer.losses = history", "log['history'] = history", "box = (history,)"],
)
def test_a_growing_list_that_is_read_by_another_name_is_read(again: str) -> None:
    cell = "w = w * 0.9\nhistory.append(w)\nn = len(other), len(trainer.losses), len(log['history']), len(box[0])"
    spaces: list[dict[str, Any]] = [{"__name__": "__main__"} for _ in range(2)]
    for space in spaces:
        exec(SETUP, space)
        exec("other, trainer.losses, log['history'], box = [], [], [], ([],)", space)
    for turn in range(4):
        if turn == 2:
            for space in spaces:
                exec(again, space)
        exec(cell, spaces[0])
        jaxnb.stage(cell, spaces[1])
        assert spaces[0]["n"] == spaces[1]["n"]


def test_a_failed_cell_leaves_a_growing_list_as_it_was() -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, space)
    cell = "w = w * 0.9\nhistory.append(w)\nhistory.append(w * 2)\n"
    jaxnb.stage(cell, space)
    before = list(space["history"])
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage(cell + "import math\n1 / 0", space)
    assert len(space["history"]) == 2 and all(a is b for a, b in zip(before, space["history"], strict=True))


def test_what_a_list_holds_that_a_method_of_the_cell_reads_is_looked_at_first() -> None:
    """What a hook changed in a trace that was given up could not be taken back, since nobody had seen the hook."""
    setup = """
class Loop:
    def __init__(self):
        self.hooks, self.total = [], jnp.ones(2)

    def on(self, hook):
        self.hooks.append(hook)
        return hook

    def run(self):
        for _ in range(3):
            self.total = self.total * 0.5
            for hook in self.hooks:
                hook(self.total.sum())

loop, best = Loop(), []

@loop.on
def watch(loss):
    best.append(loss)
    if loss < 0.3:
        best.append(-1.0)
"""
    names: dict[str, Any] = {"jnp": jnp}
    exec(setup, names)
    jaxnb.stage("loop.run()\nprint(len(best))", names)
    assert [float(loss) for loss in names["best"]] == [1.0, 0.5, 0.25, -1.0]
