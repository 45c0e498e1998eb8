"""Host statements thrown into the cells of the corpus: prints, plots, loops and branches on values.

Where they go and which names they read is drawn. The text of the cell is kept as it stands, and lines are put between
its statements. The plain cell is run once to find out which names hold arrays at each place.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib.util
import io
import random
import re
from string import Template
from typing import Any

import jax
import jax.numpy as jnp
from cells import Case
from differential import execute, new_namespace

__all__ = ["FLOATS", "KINDS", "Thrown", "context_of", "throw_in", "with_helpers"]

HAS_PLOTS = importlib.util.find_spec("matplotlib") is not None
HELPERS = """\
import contextlib, io, sys
def thrown_show(a):
    print("shown", a)
    return a
def thrown_sign(a):
    if jnp.sum(a) > 0.314:
        return a
    return -a
def thrown_step(a):
    print("stepping", a.ndim)
    return a * 2
"""
PLOTS = """\
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
"""
# Thresholds are such that no exact result meets them, because rounding may decide a tie.
_TEXTS = """\
print: print($name)
print several: print('several:', $name, jnp.sum($name), sep='\\n', end='!\\n')
print inside: print([$name, {'v': jnp.sum($name)}])
print joined: print(', '.join(str(v) for v in jnp.ravel($name)[:3]))
print shape: print($name.shape, $name.dtype)
fstring: print(f"{$name}")
fstring debug: print(f"{$name=}")
format: $new = f'{jnp.sum($name):.3f}'; print($new)
repr: print(repr($name), type($name).__name__)
write: sys.stdout.write(f'{jnp.sum($name)}\\n');
inline: print('yes' if jnp.sum($name) > 0.314 else 'no')
assert: assert jnp.all($name == $name), "not a number"
float: $new = float(jnp.sum(jnp.abs($name)))
item: $new = jnp.max($name).item()
item of one: $new = $name.item() if $name.size == 1 else None
int: $new = int(jnp.sum($name > 0.314))
bool: $new = bool(jnp.any($name > 0.314))
tolist: $new = $name.tolist()
numpy: $new = np.asarray($name)
numpy computes: $new = np.sum(np.abs(np.asarray($name)))
comprehension: $new = [float(v) for v in jnp.ravel($name)[:3]]
mask: $new = $name[$name > 0.314]
alias: $new = $name; print($new is $name, $new)
closure: $new = lambda: $name; print($new())
helper prints: thrown_show($name)
helper prints result: $new = thrown_show($name * 2)
helper branches: $new = thrown_sign($name)
helper speaks: $new = thrown_step($name)
if:
    if jnp.sum($name) > 0.314:
        print("positive")
    else:
        print("not positive")
elif:
    if jnp.sum($name) > 3.14:
        print("large")
    elif jnp.sum($name) > 0.314:
        $new = $name * 2
        print($new)
    else:
        $new = jnp.zeros_like($name)
if walrus:
    if ($new := jnp.sum($name)) > 0.314:
        print($new)
if binds anew:
    if jnp.sum($name) > 0.314:
        $name = $name * 2
for:
    for ${new}_i in range(3):
        ${new}_s = jnp.sum($name) * ${new}_i
        print(${new}_s)
        if ${new}_s > 1.37:
            break
for binds anew:
    for $new in range(3):
        $name = $name * 2
        if jnp.sum($name) > 3.14:
            break
    else:
        print("to the end")
for continue:
    $new = []
    for ${new}_i in range(4):
        if ${new}_i == 2:
            continue
        $new.append(jnp.sum($name) + ${new}_i)
        if $new[-1] > 1.37:
            continue
        print("small", $new[-1])
    else:
        print("all of them", len($new))
for rows:
    for $new in jnp.ravel($name)[:2]:
        print($new)
for nested:
    for ${new}_i in range(2):
        for ${new}_j, _ in zip(range(2), 'ab'):
            $new = $name * ${new}_i + ${new}_j
            if jnp.sum($new) > 1.37:
                print(${new}_i, ${new}_j, "over")
                break
        print("turn", ${new}_i)
for finally:
    for ${new}_i in range(3):
        try:
            $new = jnp.sum($name) + ${new}_i
            if $new > 1.37:
                break
        finally:
            print("turn", ${new}_i)
for deletes:
    for ${new}_i, $new in enumerate([$name, $name * 2]):
        ${new}_s = jnp.sum($new)
        print(${new}_i, ${new}_s)
        del ${new}_s
for numpy:
    $new = np.zeros(3)
    for ${new}_i in range(3):
        $new[${new}_i] = jnp.sum(jnp.abs($name)) * ${new}_i
    print($new)
for numpy lists:
    $new = []
    for ${new}_i in range(2):
        $new.append(np.asarray($name * ${new}_i))
    $new = np.stack($new).shape
while:
    $new = jnp.mean(jnp.abs($name)) + 0.7
    while $new < 9.1:
        $new = $new * 2 + 1
        print($new)
while true:
    $new = 0
    while True:
        $new += 1
        if $new > 2 or jnp.sum($name) * $new > 5.3:
            break
    print("left after", $new)
try:
    try:
        $new = float($name)
    except TypeError as error:
        print("not a scalar:", type(error).__name__)
        $new = None
try raise:
    try:
        if jnp.sum($name) > 0.314:
            raise ValueError(f"over by {jnp.sum($name)}")
        $new = jnp.abs($name)
    except ValueError as error:
        print(error)
        $new = None
    finally:
        print("tried")
try else:
    try:
        $new = jnp.sum($name)
        assert $new > 0.314, "too small"
    except AssertionError as error:
        print(error)
    else:
        print("fine", $new)
with:
    with jax.named_scope("thrown"):
        $new = jnp.sum($name)
        print($new)
with redirected:
    with contextlib.redirect_stdout(io.StringIO()) as ${new}_text:
        print($name)
    $new = len(${new}_text.getvalue()) > 0
    del ${new}_text
with suppressed:
    with contextlib.suppress(ValueError):
        $new = $name + 1
        if jnp.sum($name) > 0.314:
            raise ValueError
        print("none raised")
match:
    match bool(jnp.sum($name) > 0.314):
        case True:
            print("over", jnp.sum($name))
        case ${new}_other:
            $new = $name + 1
function:
    def $new(a):
        print("inside", jnp.sum(a))
        return a
    $new($name)
plot: plt.plot($name); plt.close()
plot drawn:
    $new = len(plt.plot($name))
    print(plt.gca().lines[-1].get_ydata(), plt.gca().lines[-1].get_color(), len(plt.gca().lines), plt.get_fignums())
    plt.close()
"""
_KIND = re.compile(r"^(\w[\w ]*):(?: (.+)|\n((?: {4}.*\n)+))", re.MULTILINE)
KINDS = {kind: line or re.sub("^ {4}", "", lines, flags=re.M).rstrip() for kind, line, lines in _KIND.findall(_TEXTS)}
FLOATS = frozenset({"float", "item", "item of one", "tolist", "comprehension", "try", "numpy computes", "for numpy"})
"""The kinds that bind Python floats or float64 from arrays of fewer bits."""

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ATTEMPTS = 12


@dataclasses.dataclass(frozen=True)
class Thrown:
    """A case with statements thrown in: the case to check, and the kinds of the statements."""

    case: Case
    kinds: frozenset[str]


def throw_in(case: Case, seed: int, leave_out: frozenset[str] = frozenset()) -> Thrown:
    """The case with drawn statements between those of its cell; the same ones for the same seed.

    Args:
      case: one whose plain cell runs.
      seed: of the draw.
      leave_out: kinds that are not drawn.

    Raises:
      AssertionError: if the plain cell fails, with every draw or with none.
    """
    draw = random.Random(f"{seed} {case.name}")
    bare = with_helpers(case)
    places = _places(case.cell)
    kinds = [kind for kind in KINDS if kind not in leave_out and (HAS_PLOTS or "plot" not in kind)]
    for _ in range(_ATTEMPTS):
        thrown = _drawn(bare, places, kinds, draw)
        if thrown.kinds and _runs_plainly(thrown.case):
            return thrown
    assert _runs_plainly(bare), f"{case.name}: the plain cell fails"
    raise AssertionError(f"{case.name}: no statement was found that can be thrown in")


def with_helpers(case: Case) -> Case:
    """The case with what thrown statements call, without expectations of what is reused, and not as one program:
    `--whole` refuses what many of them need."""
    setups = (*case.setups[1:], HELPERS + (PLOTS if HAS_PLOTS else ""))
    options = {name: value for name, value in case.options.items() if name != "whole"}
    return dataclasses.replace(case, setup=setups, reused=None, reused2=None, refused="", options=options)


def context_of(case: Case) -> contextlib.AbstractContextManager[Any]:
    """The settings of JAX that the case is run with."""
    return jax.enable_x64(True) if case.x64 else contextlib.nullcontext()


def _places(cell: str) -> list[int]:
    """The lines before which statements may be put in, counted from 0; one past the last stands for the end."""
    body = ast.parse(cell).body
    futures = [i for i, node in enumerate(body) if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    places = []
    for index, node in enumerate(body):
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
        alone = index == 0 or body[index - 1].end_lineno < first
        if alone and not (futures and index <= futures[-1]):
            places.append(first - 1)
    if not body or not isinstance(body[-1], ast.Expr):
        places.append(len(_LINES.findall(cell)))
    return [place for place in places if _keeps_statements(cell, place)]


def _keeps_statements(cell: str, place: int) -> bool:
    """Whether the cell with one `pass` more has the statements that it had; not so behind a backslash."""
    try:
        body = [ast.dump(node) for node in ast.parse(_insert(cell, {place: ["pass"]})).body]
    except SyntaxError:
        return False
    old = [ast.dump(node) for node in ast.parse(cell).body]
    return any(body[:i] + body[i + 1 :] == old for i in range(len(body)) if body[i] == "Pass()")


def _insert(cell: str, thrown: dict[int, list[str]]) -> str:
    """The cell with the given statements put before the given lines."""
    end = "\r\n" if "\r\n" in cell else "\n"
    lines = _LINES.findall(cell)
    if lines and lines[-1] == lines[-1].rstrip("\r\n") and len(lines) in thrown:
        lines[-1] += end
    text = []
    for number, line in enumerate([*lines, ""]):
        text += [end.join(statement.split("\n")) + end for statement in thrown.get(number, ())]
        text.append(line)
    return "".join(text)


def _drawn(case: Case, places: list[int], kinds: list[str], draw: random.Random) -> Thrown:
    """The case with one draw of statements, each of which runs where it stands."""
    chosen = [place for place in places if draw.random() < 0.5] or [draw.choice(places)]
    thrown: dict[int, list[str]] = {}
    used: list[str] = []
    own = {node.id for node in ast.walk(ast.parse(case.cell)) if isinstance(node, ast.Name)}
    with context_of(case):
        namespace = new_namespace(case)

        def note(place: int) -> None:
            arrays = [name for name, value in sorted(namespace.items()) if _is_array(value)]
            read = [name for name in arrays if name in own]
            for _ in range(1 + (draw.random() < 0.25)):
                for _ in range(_ATTEMPTS):
                    name = draw.choice(read if read and draw.random() < 0.85 else arrays)
                    kind = draw.choice(kinds)
                    text = Template(KINDS[kind]).substitute(name=name, new=f"thrown_{len(used)}")
                    if _runs(text, dict(namespace)):
                        thrown.setdefault(place, []).append(text)
                        used.append(kind)
                        break

        namespace["thrown_note"] = note
        with contextlib.redirect_stdout(io.StringIO()):
            execute(_insert(case.cell, {place: [f"thrown_note({place})"] for place in chosen}), namespace, "<watched>")
    return Thrown(dataclasses.replace(case, cell=_insert(case.cell, thrown)), frozenset(used))


def _is_array(value: Any) -> bool:
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer) or value.is_deleted() or not value.size:
        return False
    return jnp.issubdtype(value.dtype, jnp.inexact) or jnp.issubdtype(value.dtype, jnp.integer)


def _runs(text: str, namespace: dict[str, Any]) -> bool:
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(compile(text, "<thrown in>", "exec", dont_inherit=True), namespace)
        except Exception:
            return False
    return True


def _runs_plainly(case: Case) -> bool:
    """Whether the plain cell runs each time that it would be compared."""
    sources = [case.cell, case.again, case.cell]
    for change, _ in case.changes:
        sources += [change, case.cell]
    with context_of(case):
        namespace = new_namespace(case)
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                for source in sources:
                    execute(source, namespace, "<plain cell>")
            except Exception:
                return False
    return True
