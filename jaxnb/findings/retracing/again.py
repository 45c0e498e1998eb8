"""What is compiled again in each turn of a loop, or at each call of a function, because it is made anew there.

JAX knows a function by the object that it is: a lambda under `jax.jit` in a loop is another one in each turn, and so is
the body that an eager `lax.scan` is given. Where that is made is found in the text of the cell.
Source: https://docs.jax.dev/en/latest/jit-compilation.html (caching).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxnb.findings.loops import Again, LoopText
from jaxnb.findings.retracing.compilations import Compiled, Lines
from jaxnb.findings.retracing.same_line import called_at, carried_fix, is_batch, is_carried, is_settling
from jaxnb.findings.syntax import assigned_names, first_line, in_short, stored_names
from jaxnb.program import Finding
from jaxnb.staging import advise, cost_text
from jaxnb.units import format_seconds

if TYPE_CHECKING:
    from jaxnb.findings.retracing.calls import Due

__all__ = ["BODIES", "CompiledAgain", "Made"]

BODIES = {"scan": "scan associative_scan map fori_loop", "while": "while_loop fori_loop", "cond": "cond switch"}
"""The functions of `lax` that compile an operation of a name."""


@dataclass(frozen=True, slots=True)
class Made:
    """Where the text of a cell makes a function anew.

    Attributes:
      node: the call of `jax.jit`, the definition under such a decorator, or the call that is given the function.
      called: what the user knows it by.
      what: what makes it, as written.
      when: "in each turn of the loop on line 3".
      fix: what to do.
    """

    node: ast.Call | ast.FunctionDef
    called: str
    what: str
    when: str
    fix: str


class CompiledAgain:
    """Finds in the text of a cell what makes functions anew.

    Args:
      text: the cell as displayed.
      namespace: its names once it has run.
      label: what the user knows a file by.
      here: the label of the cell.
    """

    def __init__(self, text: str, namespace: Mapping[str, Any], label: Callable[[str], str], here: str) -> None:
        self._text = LoopText.of(text, namespace)
        self._label, self._here = label, here

    # --- functions under jax.jit ---

    def made(self, due: Due) -> Finding | None:
        """What to say of a jitted function that was traced again because the cell makes it anew; None of any other.

        Args:
          due: the function, and why.
        """
        change = due.change
        if not (change.kind in ("anew", "closure") or change.path.endswith("of the partial")):
            return None
        mine = self._label(due.group.file) == self._here
        made = self.makes(due.group.title.rpartition(".")[2], due.group.line if mine else None)
        if made is None:
            return None
        times = "once" if due.tally.count == 1 else f"{due.tally.count} times"
        by = f", by `{made.what}`," if made.what != made.called else ""
        message = (
            f"`{made.called}` was traced {times} more than need be: {made.when} it is made anew{by} and JAX does not"
            f" know it again ({cost_text(due.tally.seconds)})"
        )
        return self.finding(message, made, self._lines_here(due.lines))

    def is_chosen(self, due: Due) -> bool:
        """Whether the sizes that a function was traced for are written out, as in `for width in (3, 5, 7)`: then each
        is meant, and so is its program.

        Args:
          due: the function, and why.
        """
        text, lines = self._text, self._lines_here(due.lines)
        if text is None or due.change.kind != "shape" or not lines:
            return False
        call = called_at(lines[0], due.group.title.rpartition(".")[2], text)
        loop = text.loop(call) if call is not None else None
        over = loop.iter if isinstance(loop, ast.For) else None
        return isinstance(over, ast.Tuple | ast.List) and all(isinstance(item, ast.Constant) for item in over.elts)

    def makes(self, name: str, line: int | None) -> Made | None:
        """What makes a jitted function again and again; None if that is not in the cell.

        Args:
          name: of the function that the user wrote, "<lambda>" of one without.
          line: where it begins, if that is in the cell.
        """
        text = self._text
        making = next(self._making(name, line), None)
        again = text.again(making) if text is not None and making is not None else None
        if text is None or making is None or again is None:
            return None
        called, what = self._named(making)
        function = making if isinstance(making, ast.FunctionDef) else making.args[0]
        made = f"`{called}`" if called.isidentifier() else "it"
        fix = f"make {made} once, {_outside(again)}{_as_arguments(_changing(function, again))}."
        return Made(making, called, what, text.where(again), fix)

    def _making(self, name: str, line: int | None) -> Iterator[ast.Call | ast.FunctionDef]:
        """What makes a jitted function again and again: calls of `jax.jit` that name it, or hold the lambda that begins
        on a line, and definitions under such a decorator."""
        text = self._text
        for node in text.nodes if text is not None else ():
            if isinstance(node, ast.FunctionDef):
                there = line is None or node.lineno - len(node.decorator_list) <= line <= node.lineno
                if there and node.name == name and any(self._jits(item) for item in node.decorator_list):
                    yield node
            elif isinstance(node, ast.Call) and self._jits(node.func) and node.args:
                inside = list(ast.walk(node.args[0]))
                lambdas = [item.lineno for item in inside if isinstance(item, ast.Lambda)]
                named = any(isinstance(item, ast.Name) and item.id == name for item in inside)
                attribute = any(isinstance(item, ast.Attribute) and item.attr == name for item in inside)
                if named or attribute or (name == "<lambda>" and (line is None or line in lambdas)):
                    yield node

    def _jits(self, node: ast.expr) -> bool:
        """Whether a call of this jits a function: `jax.jit`, or `functools.partial(jax.jit, static_argnums=0)`."""
        if isinstance(node, ast.Call):
            partial = ast.unparse(node.func).rpartition(".")[2] == "partial" and bool(node.args)
            return self._jits(node.args[0] if partial else node.func)
        value = self._text.value(node) if self._text is not None else None
        name = getattr(value, "__name__", "")
        return name in ("jit", "pmap", "filter_jit") and str(getattr(value, "__module__", "")).startswith(
            ("jax", "equinox")
        )

    def _named(self, making: ast.Call | ast.FunctionDef) -> tuple[str, str]:
        """What a jitted function is called by, and what makes it."""
        if isinstance(making, ast.FunctionDef):
            return making.name, f"@{in_short(making.decorator_list[0])}"
        assert self._text is not None
        names = assigned_names(self._text.parents.get(making))
        what = in_short(making)
        return (names[0] if len(names) == 1 else what), what

    def turned(self, some: Sequence[Due]) -> Iterator[Finding]:
        """What to say of functions that a line has traced again once, in another turn, where that is surely not meant:
        a carry that begins as another type than it goes on, and a last batch that is shorter.

        Args:
          some: the changes, those of one function one after the other.
        """
        told: set[str] = set()
        for due in some:
            finding = self._turned(due) if due.group.key not in told else None
            if finding is not None:
                told.add(due.group.key)
                yield finding

    def _turned(self, due: Due) -> Finding | None:
        text, change, lines = self._text, due.change, self._lines_here(due.lines)
        name = due.group.title.rpartition(".")[2]
        call = called_at(lines[0], name, text) if text is not None and lines else None
        again = text.again(call) if text is not None and call is not None else None
        if text is None or call is None or again is None or isinstance(again, ast.FunctionDef):
            return None
        if change.kind == "shape":
            fix = advise(change, due.tally, function=True, once=True) if is_batch(call, again) else None
            why = f"{change.text}, a batch of another size"
        else:
            fix = carried_fix(change.path, change.after) if is_carried(call, text) and is_settling(change) else None
            why = change.text
        if fix is None:
            return None
        given = [in_short(item) for item in call.args if change.kind == "shape" and is_batch(item, again)]
        what = f" ({', '.join(f'`{item}`' for item in given)})" if given else ""
        message = (
            f"`{in_short(call.func)}` was traced again, in a later turn of the loop on line {again.lineno}: {why}{what}"
            f" ({cost_text(due.tally.seconds)})"
        )
        return Finding("retrace", message, call.lineno, holder=change.path, fix=fix, trail=lines)

    # --- bodies of loops and branches outside of jax.jit ---

    def bodies(self, often: Sequence[Compiled]) -> Iterator[Finding]:
        """What to say of scans, loops and conditionals outside of `jax.jit` whose functions the cell makes anew.

        Args:
          often: what was compiled several times on one line.
        """
        by_line: dict[tuple[str, int], list[Compiled]] = {}
        for item in often:
            if item.name in BODIES and self._label(item.lines[0][0]) == self._here:
                by_line.setdefault(item.lines[0], []).append(item)
        for (_, line), some in by_line.items():
            made = next((made for item in some if (made := self.gives(item.name, line)) is not None), None)
            if made is not None:
                count, seconds = max(item.count for item in some), sum(item.seconds for item in some)
                message = (
                    f"`{made.what}` was compiled {count} times ({format_seconds(seconds)}): {made.when} the function"
                    " that it is given is made anew, and JAX does not know it again."
                )
                yield self.finding(message, made, self._lines_here(some[0].lines))

    def gives(self, name: str, line: int) -> Made | None:
        """What gives a scan, a loop or a conditional a function that is made anew; None if that is not in the cell.

        Args:
          name: of the operation, such as "scan".
          line: of the call.
        """
        text, call = self._text, next(self._calls(name, line), None)
        again = text.again(call) if text is not None and call is not None else None
        if text is None or call is None or again is None:
            return None
        names = assigned_names(text.parents.get(call))
        what = f"{', '.join(names)} = {ast.unparse(call.func)}(…)" if names else f"{ast.unparse(call.func)}(…)"
        called = next((name for name in names if name.strip("_")), in_short(call.func))
        if isinstance(again, ast.FunctionDef):
            fix = f"put `{again.name}` under jax.jit: then it is traced once, and not at each call."
        else:
            changing = sorted({name for item in _given(call) for name in _changing(item, again)})
            fix = f"put what the loop does under jax.jit, made once {_outside(again)}{_as_arguments(changing)}."
        return Made(call, called, what, text.where(again), fix)

    def _calls(self, name: str, line: int) -> Iterator[ast.Call]:
        """The calls on a line that compile an operation of a name, and are given a function that is made anew."""
        text = self._text
        for call in text.at(line, ast.Call) if text is not None else ():
            called = text.called(call).rpartition(".")[2] if text is not None else ""
            if called in BODIES[name].split() and any(self._is_made_anew(item, call) for item in _given(call)):
                yield call

    def _is_made_anew(self, node: ast.expr, call: ast.Call) -> bool:
        """Whether a function that a call is given is another object whenever the call runs again."""
        assert self._text is not None
        again = self._text.again(call)
        if again is None:
            return False
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Call):
            return ast.unparse(node.func).rpartition(".")[2] == "partial"
        if not isinstance(node, ast.Name):
            return False
        for item in ast.walk(again):
            if isinstance(item, ast.FunctionDef) and item.name == node.id and item is not again:
                return True
            if isinstance(item, ast.Assign) and isinstance(item.value, ast.Lambda) and node.id in assigned_names(item):
                return True
        return False

    # --- findings ---

    def _lines_here(self, lines: Lines) -> tuple[int, ...]:
        return tuple(line for file, line in lines if self._label(file) == self._here)

    def finding(self, message: str, made: Made, trail: Sequence[int] = ()) -> Finding:
        """A finding on what makes a function anew.

        Args:
          message: of it.
          made: where, and what to do.
          trail: the lines of the cell that were being carried out.
        """
        assert self._text is not None
        lines = tuple(dict.fromkeys(number for number in trail if number != first_line(made.node)))
        return self._text.finding("retrace", message, made.node, made.called, made.fix, lines)


def _outside(again: Again) -> str:
    if isinstance(again, ast.FunctionDef):
        return f"outside of `{again.name}`"
    return f"above the loop on line {again.lineno}"


def _as_arguments(names: Sequence[str]) -> str:
    few = " and ".join(f"`{name}`" for name in names[:3])
    return f", and pass {few} as {'an argument' if len(names) == 1 else 'arguments'}" if names else ""


def _changing(function: ast.AST, again: Again) -> list[str]:
    """The names that a function reads of the loop or function that makes it."""
    own = {item.arg for item in ast.walk(function) if isinstance(item, ast.arg)} | stored_names(function)
    read = {item.id for item in ast.walk(function) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
    of_self = {
        ast.unparse(item)  # an object is no argument of a jitted function: what is read of it is one
        for item in ast.walk(function)
        if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == "self"
    }
    inside = set(map(id, ast.walk(function)))
    bound: set[str] = set()
    for item in ast.walk(again):
        if id(item) in inside:
            continue
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            bound.add(item.id)
        elif isinstance(item, ast.arg) and isinstance(again, ast.FunctionDef):
            bound.add(item.arg)
    changing = (read - own) & bound
    return sorted(changing - {"self"} | of_self if "self" in changing and of_self else changing)


def _given(call: ast.Call) -> Iterator[ast.expr]:
    for item in [*call.args, *(keyword.value for keyword in call.keywords)]:
        yield from item.elts if isinstance(item, ast.List | ast.Tuple) else [item]
