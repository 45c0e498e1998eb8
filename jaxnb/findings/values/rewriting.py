"""Branches and loops on traced values, written with `jnp.where`, `lax.cond`, `lax.while_loop` and `lax.fori_loop`.

Each function gives the lines that stand for a statement, or None where it does more than these can express: returns
from within a loop, changes of objects, names that come to be in one branch only.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxnb.findings.syntax import stored_names

__all__ = ["Words", "rewrite_if", "rewrite_range", "rewrite_while", "truth"]

_BOOLEAN = re.compile(
    "any|all|isnan|isinf|isfinite|isclose|allclose|array_equal|isin|logical_and|logical_or|logical_not|logical_xor"
    "|equal|not_equal|greater|greater_equal|less|less_equal|signbit"
)
"""Functions and methods that give booleans."""


@dataclass(frozen=True, slots=True)
class Words:
    """The text that is rewritten, and what the names of JAX are in it.

    Attributes:
      text: of the cell or file.
      jnp: the name of `jax.numpy`.
      jax: the name of `jax`.
      names: what the names stand for, as far as that is known.
      local: whether it stands in a function, where a name that is not read any more is of no use to anybody.
    """

    text: str
    jnp: str
    jax: str
    names: dict[str, Any]
    local: bool = True

    def free(self, name: str) -> str:
        """A name like this one that does not stand for anything yet."""
        while name in self.names:
            name += "_"
        return name

    def of(self, node: ast.AST) -> str:
        """The text of a node, on one line."""
        segment = ast.get_source_segment(self.text, node) or ast.unparse(node)
        bare = isinstance(node, ast.Tuple) and not segment.startswith("(")
        return ast.unparse(node) if bare or "\n" in segment else segment

    def lines(self, body: Sequence[ast.stmt]) -> list[str]:
        """The lines of statements, without their indentation."""
        first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        lines = self.text.splitlines()[first - 1 : last]
        if body[0].col_offset and lines[0][: body[0].col_offset].strip():  # `if a: b = 1`, on one line
            return [self.of(statement) for statement in body]
        return textwrap.dedent("\n".join(lines)).splitlines()


def truth(node: ast.AST, words: Words) -> str:
    """A condition as an array of booleans, such as `(0 < x) & (x < 1)` for `0 < x < 1`."""
    if isinstance(node, ast.BoolOp):
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return sign.join(_bracketed(truth(part, words), part) for part in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "~" + _bracketed(truth(node.operand, words), node.operand)
    if isinstance(node, ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            found = _is_in(node, words)
            return found if isinstance(node.ops[0], ast.In) else f"~{found}"
        operands = [node.left, *node.comparators]
        parts = [
            ast.unparse(ast.Compare(operands[n], [op], [operands[n + 1]])) if len(node.ops) > 1 else words.of(node)
            for n, op in enumerate(node.ops)
        ]
        return " & ".join(f"({part})" for part in parts) if len(parts) > 1 else parts[0]
    return words.of(node) if _is_boolean(node, words) else f"{_operand(node, words)} != 0"


def _is_in(node: ast.Compare, words: Words) -> str:
    container = node.comparators[0]
    items = words.of(container)
    if isinstance(container, ast.Tuple | ast.List | ast.Set):
        items = f"{words.jnp}.array([{', '.join(words.of(item) for item in container.elts)}])"
    return f"{words.jnp}.isin({words.of(node.left)}, {items})"


def _is_boolean(node: ast.AST, words: Words) -> bool:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return _BOOLEAN.fullmatch(name) is not None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return True
    if isinstance(node, ast.Name):
        value = words.names.get(node.id)
        return isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool"
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _bracketed(text: str, node: ast.AST) -> str:
    simple = isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript) and "!= 0" not in text
    return text if simple or text.startswith("~") else f"({text})"


def _operand(node: ast.AST, words: Words) -> str:
    text = words.of(node)
    return text if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript) else f"({text})"


# --- branches ---


def rewrite_if(node: ast.If, after: ast.stmt | None, words: Words) -> tuple[list[str], bool] | None:
    """The lines for a branch, and whether they stand for the `return` behind it as well.

    Args:
      node: the first `if` of a chain of `elif`.
      after: the statement behind it.
      words: of the text.
    """
    branches, other = _chain(node)
    if all(isinstance(body[-1], ast.Return) and len(body) == 1 for _, body in branches):
        takes_next = not other
        last = other if other else [after] if isinstance(after, ast.Return) else []
        if len(last) != 1 or not isinstance(last[0], ast.Return):
            return None
        results = [getattr(body[-1], "value", None) for _, body in branches] + [last[0].value]
        if any(result is None for result in results):
            return None
        return [f"return {_chosen([test for test, _ in branches], results, words)}"], takes_next
    simple = _as_assignments(branches, other, words)
    if simple is not None:
        return simple, False
    if len(branches) == 1:
        general = _as_cond(branches[0][0], branches[0][1], other, words)
        if general is not None:
            return general, False
    return None


def _chain(node: ast.If) -> tuple[list[tuple[ast.expr, list[ast.stmt]]], list[ast.stmt]]:
    branches = [(node.test, node.body)]
    other = node.orelse
    while len(other) == 1 and isinstance(other[0], ast.If):
        branches.append((other[0].test, other[0].body))
        other = other[0].orelse
    return branches, other


def _chosen(tests: Sequence[ast.AST], results: Sequence[Any], words: Words) -> str:
    """`jnp.where(a, x, jnp.where(b, y, z))`; with `lax.cond` where the results are not single arrays."""
    if any(isinstance(result, ast.Tuple | ast.List | ast.Dict) for result in results):
        text = f"lambda: {words.of(results[-1])}"
        for test, result in zip(reversed(tests), reversed(results[:-1]), strict=True):
            text = f"lambda: {words.jax}.lax.cond({truth(test, words)}, lambda: {words.of(result)}, {text})"
        return text.removeprefix("lambda: ")
    return _where(tests, [words.of(result) for result in results], words)


def _where(tests: Sequence[ast.AST], results: Sequence[str], words: Words) -> str:
    text = results[-1]
    for test, result in zip(reversed(tests), reversed(results[:-1]), strict=True):
        text = f"{words.jnp}.where({truth(test, words)}, {result}, {text})"
    return text


def _as_assignments(
    branches: Sequence[tuple[ast.expr, list[ast.stmt]]], other: list[ast.stmt], words: Words
) -> list[str] | None:
    """Branches that only assign to names: one `jnp.where` for each name."""
    read = [_assigned_once(body, words) for body in [*(body for _, body in branches), other]]
    if any(values is None for values in read):
        return None
    values = [found for found in read if found is not None]
    names = list(dict.fromkeys(name for found in values for name in found))
    if any(name not in found and name not in words.names for name in names for found in values):
        return None
    tests = [test for test, _ in branches]
    texts = [_where(tests, [found.get(name, name) for found in values], words) for name in names]
    return [f"{', '.join(names)} = {', '.join(texts)}"]


def _assigned_once(body: Sequence[ast.stmt], words: Words) -> dict[str, str] | None:
    """What a body assigns to which name, as texts; None if it does anything else, or reads what it has assigned."""
    found: dict[str, str] = {}
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], words.of(statement.value)
        elif isinstance(statement, ast.AugAssign):
            target = statement.target
            value = f"{words.of(target)} {_SIGNS[type(statement.op)]} {_factor(statement.value, words)}"
        else:
            return None
        if not isinstance(target, ast.Name) or target.id in found:
            return None
        if {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)} & found.keys():
            return None
        if isinstance(statement.value, ast.Tuple | ast.List | ast.Dict | ast.Set):
            return None
        found[target.id] = value
    return found


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


def _factor(node: ast.expr, words: Words) -> str:
    text = words.of(node)
    return f"({text})" if isinstance(node, ast.BinOp | ast.BoolOp | ast.IfExp | ast.Compare) else text


def _as_cond(test: ast.expr, body: list[ast.stmt], other: list[ast.stmt], words: Words) -> list[str] | None:
    """Two functions of the names that the branches bind, and a `lax.cond` that calls one of them."""
    if not (_is_plain(body) and _is_plain(other)):
        return None
    names = sorted(_bound_in(body) | _bound_in(other))
    fresh = [name for name in names if name not in words.names]
    if not names or any(name not in _bound_in(body) & _bound_in(other) for name in fresh):
        return None
    known = [name for name in names if name not in fresh]
    result, given = ", ".join(names), ", ".join(known)
    then, otherwise = words.free("then"), words.free("otherwise")
    lines = [f"def {then}({given}):", *_indented(words.lines(body)), f"    return {result}"]
    lines += [f"def {otherwise}({given}):", *_indented(words.lines(other) if other else []), f"    return {result}"]
    operands = f", {given}" if given else ""
    return [*lines, f"{result} = {words.jax}.lax.cond({truth(test, words)}, {then}, {otherwise}{operands})"]


# --- loops ---


def rewrite_while(node: ast.While, words: Words) -> list[str] | None:
    """A `while` as `lax.while_loop`: what its body assigns is carried from turn to turn."""
    carried = _carried(node.body, words)
    if node.orelse or carried is None:
        return None
    given = ", ".join(carried)
    test = truth(node.test, words)
    going_on, turn = words.free("going_on"), words.free("turn")
    if len(carried) == 1:
        cond = [f"def {going_on}({given}):", f"    return {test}"]
        step = [f"def {turn}({given}):"]
        call = f"{given} = {words.jax}.lax.while_loop({going_on}, {turn}, {given})"
    else:
        cond = [f"def {going_on}(carry):", f"    {given} = carry", f"    return {test}"]
        step = [f"def {turn}(carry):", f"    {given} = carry"]
        call = f"{given} = {words.jax}.lax.while_loop({going_on}, {turn}, ({given}))"
    return [*cond, *step, *_indented(words.lines(node.body)), f"    return {given}", call]


def rewrite_range(node: ast.For, words: Words) -> list[str] | None:
    """A `for` over a range as `lax.fori_loop`."""
    carried = _carried(node.body, words)
    call = node.iter
    if node.orelse or carried is None or not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call):
        return None
    if not words.local:
        return None  # the plain loop leaves its counter behind, too
    if call.keywords or not 1 <= len(call.args) <= 2:
        return None
    first = words.of(call.args[0]) if len(call.args) == 2 else "0"
    given, index = ", ".join(carried), node.target.id
    if index in carried:
        return None
    unpack, argument = ([], given) if len(carried) == 1 else ([f"    {given} = carry"], "carry")
    start, turn = given if len(carried) == 1 else f"({given})", words.free("turn")
    return [
        f"def {turn}({index}, {argument}):",
        *unpack,
        *_indented(words.lines(node.body)),
        f"    return {given}",
        f"{given} = {words.jax}.lax.fori_loop({first}, {words.of(call.args[-1])}, {turn}, {start})",
    ]


def _carried(body: list[ast.stmt], words: Words) -> list[str] | None:
    """The names that a loop's body binds and that were there before; None if the body is more than assignments."""
    if not _is_plain(body):
        return None
    bound = _bound_in(body)
    names = sorted(name for name in bound if name in words.names)
    if not words.local and len(names) < len(bound):
        return None  # the plain loop leaves the others behind, too
    return names or None


def _is_plain(body: Sequence[ast.stmt]) -> bool:
    """Whether statements do nothing but bind names."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if not all(isinstance(name, ast.Name | ast.Tuple) for name in targets):
                    return False
            elif isinstance(node, ast.Pass | ast.If | ast.For):
                continue
            elif isinstance(node, ast.stmt | ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await):
                return False
    return True


def _bound_in(body: Sequence[ast.stmt]) -> set[str]:
    return set[str]().union(*map(stored_names, body))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]
