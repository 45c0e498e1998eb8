"""What to do where a concrete value was needed: edits of the text, the likeliest first. Nothing is tried here.

An edit is (line, old lines, new lines), as `Fix.edit` has it; `apply_edit` carries it out.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from jaxnb.findings.place import FailedExpression
from jaxnb.findings.syntax import default_values
from jaxnb.findings.values.concretization import called_name
from jaxnb.findings.values.rewriting import Words, rewrite_if, rewrite_range, rewrite_while, truth
from jaxnb.program import Fix

__all__ = ["AS_PYTHON", "apply_edit", "as_python_number", "propose", "propose_truth"]

Edit = tuple[int, str, str]


def apply_edit(text: str, edit: Edit) -> str:
    """The text with the lines of an edit exchanged.

    Raises:
      ValueError: if the old lines do not stand there.

    >>> apply_edit("a = 1\\nb = np.sin(x)", (2, "b = np.sin(x)", "b = jnp.sin(x)"))
    'a = 1\\nb = jnp.sin(x)'
    """
    line, old, new = edit
    lines, taken = text.split("\n"), old.split("\n")
    if lines[line - 1 : line - 1 + len(taken)] != taken:
        raise ValueError(f"line {line} is not {taken[0]!r}")
    return "\n".join([*lines[: line - 1], *new.split("\n"), *lines[line - 1 + len(taken) :]])


def propose(error: BaseException, failed: FailedExpression, from_constants: bool = False) -> list[Fix]:
    """Everything that may help, the likeliest first; the last one is advice in words.

    Args:
      error: that asked for a value.
      failed: the expression that needed it.
      from_constants: whether the value was computed inside the trace, from nothing that is traced.
    """
    words = _words(failed)
    found: list[Fix] = []
    if from_constants:
        found += _at_compile_time(failed, words)
    for rule in _RULES:
        found += rule(error, failed, words)
    found += _without_whole(failed)
    kept: dict[Any, Fix] = {fix.edit or fix.text: fix for fix in reversed(found)}
    return [*reversed(kept.values()), Fix(_advice(error, failed))]


def _words(failed: FailedExpression) -> Words:
    def named(module: str, default: str) -> str:
        names = (name for name, value in failed.frame.items() if isinstance(value, types.ModuleType))
        return next((name for name in names if failed.frame[name].__name__ == module), default)

    jax = named("jax", "jax")
    return Words(failed.text, named("jax.numpy", f"{jax}.numpy"), jax, failed.frame, bool(failed.function))


# --- edits ---


def _exchange(failed: FailedExpression, node: ast.AST, new: str) -> Edit:
    """Puts another text where an expression stands."""
    place: Any = node
    lines = failed.text.split("\n")[place.lineno - 1 : place.end_lineno]
    head = lines[0].encode()[: place.col_offset].decode()
    tail = lines[-1].encode()[place.end_col_offset :].decode()
    return place.lineno, "\n".join(lines), head + new + tail


def _instead(failed: FailedExpression, first: ast.stmt, last: ast.stmt, new: list[str]) -> Edit | None:
    """Puts lines where statements stand; None if something else stands on their lines."""
    lines = failed.text.split("\n")[first.lineno - 1 : last.end_lineno]
    margin = lines[0].encode()[: first.col_offset].decode()
    behind = lines[-1].encode()[last.end_col_offset or 0 :].decode().strip()
    if margin.strip() or (behind and not behind.startswith("#")):
        return None
    return first.lineno, "\n".join(lines), "\n".join(margin + line if line else line for line in new)


def _fix(text: str, edit: Edit | None) -> list[Fix]:
    return [Fix(text, edit=edit)] if edit is not None and edit[1] != edit[2] else []


# --- rules: each gives what fits, or nothing ---

Rule = Callable[[BaseException, FailedExpression, Words], "list[Fix]"]


def _make_static(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """An argument of a jitted function that only decides about branches and sizes."""
    if isinstance(match := re.search(r"at path (\w+)", str(error)), re.Match) and "abstract array" in str(error):
        return _static_argument(failed, failed.tree, match[1])
    function = failed.above(ast.FunctionDef, ast.Lambda)
    if function is None:
        return []
    parameters = {arg.arg for arg in [*function.args.args, *function.args.kwonlyargs, *function.args.posonlyargs]}
    called = called_name(failed.node)
    plain = isinstance(failed.node, ast.Call) and isinstance(failed.node.func, ast.Name) and called != "range"
    if plain or called in ("item", "tolist"):
        return []
    wanted = [
        node.id
        for node in ast.walk(failed.node)
        if isinstance(node, ast.Name) and node.id in parameters and _is_small(failed.frame.get(node.id))
    ]
    found: list[Fix] = []
    for name in dict.fromkeys(wanted):
        found += _static_argument(failed, function, name)
    return found


def _is_small(value: Any) -> bool:
    if type(value) in (list, tuple):
        return type(value) is tuple and bool(value) and all(map(_is_small, value))
    return getattr(value, "shape", None) == () and not str(getattr(value, "dtype", "")).startswith("float")


def _static_argument(failed: FailedExpression, function: ast.AST, name: str) -> list[Fix]:
    """`static_argnames` where the function is jitted: in its decorator, or in the call of `jax.jit` that takes it."""
    text = f"make `{name}` static: it is traced anew for each value."
    named = {node.name for node in ast.walk(function) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(failed.tree):
        if isinstance(node, ast.FunctionDef) and (node is function or isinstance(function, ast.Module)):
            for decorator in node.decorator_list:
                if _is_jit(decorator):
                    old = ast.get_source_segment(failed.text, decorator) or ""
                    return _fix(text, _exchange(failed, decorator, f'{old}(static_argnames="{name}")'))
                if isinstance(decorator, ast.Call) and any(map(_is_jit, [decorator.func, *decorator.args])):
                    return _fix(text, _with_argument(failed, decorator, name))
        if isinstance(node, ast.Call) and _is_jit(node.func) and node.args:
            inside = list(ast.walk(node.args[0]))
            if function in inside or any(isinstance(item, ast.Name) and item.id in named for item in inside):
                return _fix(text, _with_argument(failed, node, name))
    return []


def _is_jit(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "jit") or (isinstance(node, ast.Name) and node.id == "jit")


def _with_argument(failed: FailedExpression, call: ast.Call, name: str) -> Edit | None:
    if any(keyword.arg and keyword.arg.startswith("static") for keyword in call.keywords):
        return None
    text = ast.get_source_segment(failed.text, call) or ""
    return _exchange(failed, call, f'{text.rstrip()[:-1].rstrip(", ")}, static_argnames="{name}")')


def propose_truth(failed: FailedExpression) -> list[Fix]:
    """Edits where the truth of an array of several items was asked for, the likeliest first."""
    words = _words(failed)
    error = ValueError()
    return [*_default(error, failed, words), *_chosen(failed, words), *_builtin(error, failed, words)]


def _default(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """`given or default` of a parameter that is None by default."""
    node = failed.node
    function = failed.above_of(node, ast.FunctionDef, ast.Lambda)
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, ast.Or) or function is None or len(node.values) != 2:
        return []
    first, second = node.values
    if not isinstance(first, ast.Name) or first.id not in _none_by_default(function.args):
        return []
    new = f"{words.of(second)} if {first.id} is None else {first.id}"
    new = new if isinstance(failed.parent(), ast.stmt) else f"({new})"
    return _fix("ask whether it is None, not whether it is true.", _exchange(failed, node, new))


def _none_by_default(arguments: ast.arguments) -> set[str]:
    """The parameters whose default is None."""
    given = default_values(arguments)
    return {one.arg for one, value in given if isinstance(value, ast.Constant) and value.value is None}


def _branch(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """A branch, loop or conditional expression on a traced condition."""
    return _chosen(failed, words) if type(error).__name__ == "TracerBoolConversionError" else []


def _chosen(failed: FailedExpression, words: Words) -> list[Fix]:
    node: ast.AST = failed.node
    above = failed.parent()
    while isinstance(above, ast.BoolOp | ast.UnaryOp):
        node, above = above, failed.parent(above)
    if isinstance(above, ast.If) and node is above.test:
        return _branch_statement(failed, above, words)
    if isinstance(above, ast.While) and node is above.test:
        lines = rewrite_while(above, words)
        edit = _instead(failed, above, above, lines) if lines is not None else None
        return _fix("let XLA turn the loop: jax.lax.while_loop.", edit)
    if isinstance(above, ast.IfExp) and node is above.test:
        new = f"{words.jnp}.where({truth(node, words)}, {words.of(above.body)}, {words.of(above.orelse)})"
        return _fix("choose with jnp.where: both sides are computed.", _exchange(failed, above, new))
    if isinstance(above, ast.Assert):
        return []
    if isinstance(node, ast.BoolOp) and len(node.values) == 2 and not _is_condition(node, words):
        first, second = (words.of(value) for value in node.values)
        sides = (first, second) if isinstance(node.op, ast.Or) else (second, first)
        new = f"{words.jnp}.where({truth(node.values[0], words)}, {', '.join(sides)})"
        return _fix("choose with jnp.where: both sides are computed.", _exchange(failed, node, new))
    if isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        new = truth(node, words)
        new = f"({new})" if isinstance(above, ast.BinOp | ast.Compare | ast.Attribute) else new
        return _fix(
            "`and`, `or`, `not`, `in` and chains of comparisons ask for one value.", _exchange(failed, node, new)
        )
    return []


def _is_condition(node: ast.BoolOp, words: Words) -> bool:
    return all(isinstance(value, ast.Compare) or truth(value, words) == words.of(value) for value in node.values)


def _branch_statement(failed: FailedExpression, statement: ast.If, words: Words) -> list[Fix]:
    while isinstance(outer := failed.parent(statement), ast.If) and outer.orelse == [statement]:
        statement = outer  # an `elif` is rewritten with the `if` that it belongs to
    body = _siblings(failed, statement)
    place = body.index(statement)
    after = body[place + 1] if place + 1 < len(body) else None
    rewritten = rewrite_if(statement, after, words)
    if rewritten is None:
        return []
    lines, takes_next = rewritten
    last = after if takes_next and after is not None else statement
    how = (
        "jax.lax.cond: one side is computed."
        if any("lax.cond" in line for line in lines)
        else ("jnp.where: both sides are computed.")
    )
    return _fix(f"choose with {how}", _instead(failed, statement, last, lines))


def _siblings(failed: FailedExpression, statement: ast.stmt) -> list[ast.stmt]:
    above: Any = failed.parent(statement)
    for name in ("body", "orelse", "finalbody"):
        body = getattr(above, name, None)
        if isinstance(body, list) and statement in body:
            return body
    return [statement]


def _loop(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """`for i in range(n)` with a traced n."""
    loop = failed.parent()
    if called_name(failed.node) != "range" or not isinstance(loop, ast.For):
        return []
    lines = rewrite_range(loop, words)
    edit = _instead(failed, loop, loop, lines) if lines is not None else None
    return _fix("let XLA turn the loop: jax.lax.fori_loop.", edit)


def _numpy(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """A function of NumPy or of `math` that `jax.numpy` has, too."""
    node = failed.node
    if isinstance(node, ast.Subscript) and type(error).__name__ == "TracerArrayConversionError":
        new = f"{words.jnp}.asarray({words.of(node.value)})[{words.of(node.slice)}]"
        return _fix("index a JAX array: NumPy's takes concrete indices only.", _exchange(failed, node, new))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    owner = failed.frame.get(node.func.value.id) if isinstance(node.func.value, ast.Name) else None
    home = _home_of(failed, node.func.value)
    if home.partition(".")[0] == "scipy" and _has(f"jax.{home}", node.func.attr):
        text = f"jax.{home} has {node.func.attr}, too."
        return _fix(text, _exchange(failed, node.func, f"{words.jax}.{home}.{node.func.attr}"))
    if not isinstance(owner, types.ModuleType) or owner.__name__ not in ("numpy", "math"):
        return []
    name = {"pow": "power", "fabs": "abs"}.get(node.func.attr, node.func.attr)
    if not _in_jax_numpy(name):
        return []
    text = f"jax.numpy has {name}, too."
    return _fix(text, _exchange(failed, node.func, f"{words.jnp}.{name}"))


def _home_of(failed: FailedExpression, node: ast.expr) -> str:
    """The module, or the object of a module, that a function is taken from, such as "scipy.stats.norm"."""
    value: Any = failed.value_of(node)
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(node, ast.Attribute):
        holder = _home_of(failed, node.value)
        return f"{holder}.{node.attr}" if holder else ""
    if isinstance(node, ast.Name) and type(value).__module__.startswith("scipy.stats"):
        return f"scipy.stats.{getattr(value, 'name', node.id)}"
    return ""


@functools.cache
def _has(module: str, name: str) -> bool:
    """Whether a module of JAX has a function of a name."""
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False


@functools.cache
def _in_jax_numpy(name: str) -> bool:
    import jax.numpy

    return hasattr(jax.numpy, name)


def _number(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """`float(x)`, `int(x)`, `x.item()`: inside a trace the array itself does."""
    node, called = failed.node, called_name(failed.node)
    if not isinstance(node, ast.Call):
        return []
    if _is_kept(failed):
        return []
    text = "keep the array: a trace has no Python numbers."
    if called == "item" and isinstance(node.func, ast.Attribute) and not node.args:
        said = "keep the array, without .item(): a trace has no Python numbers."
        return _fix(said, _exchange(failed, node, words.of(node.func.value)))
    if isinstance(node.func, ast.Name) and called in _CONVERSIONS and len(node.args) == 1:
        simple = isinstance(node.args[0], ast.Name | ast.Call | ast.Attribute | ast.Subscript)
        if called == "bool":
            new = truth(node.args[0], words)
            return _fix(text, _exchange(failed, node, new if simple else f"({new})"))
        value = words.of(node.args[0]) if simple else f"({words.of(node.args[0])})"
        other = _beside(failed, words)
        kept = [f"{value}.astype({called})", *([f"{value}.astype({other}.dtype)"] if other else []), value]
        return [fix for new in kept for fix in _fix(text, _exchange(failed, node, new))]
    return []


_CONVERSIONS = ("float", "int", "complex", "bool")


def _beside(failed: FailedExpression, words: Words) -> str:
    """The other operand of an operation of Python's on the failed expression; "" if it is none with a name."""
    above = failed.parent()
    if not isinstance(above, ast.BinOp):
        return ""
    other = above.right if above.left is failed.node else above.left
    return words.of(other) if isinstance(other, ast.Name | ast.Attribute | ast.Subscript) else ""


def as_python_number(failed: FailedExpression) -> Edit | None:
    """An edit with which a trace makes what the plain cell would have made: in the place of a Python number stands an
    array that promotes like one. It is never shown. None if no number was asked for.

    The name that it uses stands for `dry_run.as_python`.
    """
    node, called = failed.node, called_name(failed.node)
    if not isinstance(node, ast.Call):
        return None
    if called == "item" and isinstance(node.func, ast.Attribute) and not node.args:
        value = node.func.value
    elif isinstance(node.func, ast.Name) and called in _CONVERSIONS and len(node.args) == 1:
        value = node.args[0]
    else:
        return None
    text = ast.get_source_segment(failed.text, value)
    return _exchange(failed, node, f"{AS_PYTHON}({called!r}, {text})") if text else None


AS_PYTHON = "__jaxnb_as_python__"


def _is_kept(failed: FailedExpression) -> bool:
    """Whether an expression is put into what outlives the trace: an array there would be a leak."""
    above = failed.parent()
    if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and failed.node in above.args:
        return above.func.attr in ("append", "add", "extend", "insert", "put", "update", "setdefault")
    targets = (
        above.targets if isinstance(above, ast.Assign) else [above.target] if isinstance(above, ast.AugAssign) else []
    )
    return any(isinstance(one, ast.Attribute | ast.Subscript) for one in targets)


_TWO = {"max": "maximum", "min": "minimum"}
_ONE = {"max": "max", "min": "min", "sorted": "sort", "any": "any", "all": "all", "round": "round"}


def _builtin(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """`max(a, b)`, `sorted(x)`, `any(x)`: Python's own compare one item with the other."""
    node = failed.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return []
    name = node.func.id
    if len(node.args) >= 2 and name in _TWO:
        parts = [words.of(argument) for argument in node.args]
        new = functools.reduce(lambda a, b: f"{words.jnp}.{_TWO[name]}({a}, {b})", parts)
        return _fix(f"jnp.{_TWO[name]} compares arrays.", _exchange(failed, node, new))
    if len(node.args) == 1 and name in _ONE and not isinstance(node.args[0], ast.GeneratorExp):
        inner = words.of(node.args[0])
        return _fix(f"jnp.{_ONE[name]} takes arrays.", _exchange(failed, node, f"{words.jnp}.{_ONE[name]}({inner})"))
    return []


_INITIAL = {"max": "-{}.inf", "min": "{}.inf"}


def _mask(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """A reduction of the values that a boolean mask selects."""
    node = failed.node
    if type(error).__name__ != "NonConcreteBooleanIndexError" or not isinstance(node, ast.Subscript):
        return []
    values, mask, above = words.of(node.value), words.of(node.slice), failed.parent()
    call = failed.parent(above) if isinstance(above, ast.Attribute) else above
    if not isinstance(call, ast.Call):
        return []
    if isinstance(above, ast.Attribute) and not call.args and not call.keywords:
        name = above.attr
    elif call.args == [node] and not call.keywords:
        name = called_name(call) or ""
    else:
        return []
    text = "reduce the whole array, and say where: sizes cannot depend on values."
    if name == "len":
        return _fix(text, _exchange(failed, call, f"{words.jnp}.sum({mask})"))
    if name not in ("sum", "mean", "prod", "std", "var", "any", "all", "max", "min"):
        return []
    more = f", initial={_INITIAL[name].format(words.jnp)}" if name in _INITIAL else ""
    return _fix(text, _exchange(failed, call, f"{words.jnp}.{name}({values}, where={mask}{more})"))


def _index(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """A list or tuple of arrays indexed by a traced number."""
    node = failed.node
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice | ast.Tuple):
        return []
    if type(error).__name__ != "TracerIntegerConversionError":
        return []
    items = failed.value_of(node.value)
    arrays = type(items) in (list, tuple) and all(isinstance(item, jax.Array | np.ndarray) for item in items)
    maker = "stack" if arrays and not isinstance(node.value, ast.List | ast.Tuple) else "asarray"
    new = f"{words.jnp}.{maker}({words.of(node.value)})[{words.of(node.slice)}]"
    return _fix("index an array: a list takes Python's numbers only.", _exchange(failed, node, new))


def _text(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """`print` inside a trace."""
    call = getattr(failed.statement, "value", None)
    if not isinstance(failed.statement, ast.Expr) or called_name(call or failed.node) != "print":
        return []
    assert isinstance(call, ast.Call)
    if call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    pieces: list[str] = []
    values: list[str] = []
    for argument in call.args:
        pieces.append("".join(_format_of(argument, values, words)))
    form = " ".join(pieces).replace('"', '\\"')
    new = f'{words.jax}.debug.print("{form}"{"".join(f", {value}" for value in values)})'
    return _fix("print when the values are there: jax.debug.print.", _exchange(failed, call, new))


def _format_of(node: ast.expr, values: list[str], words: Words) -> Iterator[str]:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value.replace("{", "{{").replace("}", "}}").replace("\n", "\\n")
        elif isinstance(part, ast.FormattedValue) and isinstance(part.format_spec, ast.JoinedStr):
            values.append(words.of(part.value))
            spec = "".join(str(item.value) for item in part.format_spec.values if isinstance(item, ast.Constant))
            yield f"{{:{spec}}}"
        else:
            values.append(words.of(part.value if isinstance(part, ast.FormattedValue) else part))
            yield "{}"


def _at_compile_time(failed: FailedExpression, words: Words) -> list[Fix]:
    """What is computed from constants can be computed while tracing."""
    read = {node.id for node in ast.walk(failed.node) if isinstance(node, ast.Name)}
    body = _siblings(failed, failed.statement)
    before = body[: body.index(failed.statement)]
    making = [item for item in before if isinstance(item, ast.Assign) and _binds(item) & read] or [failed.statement]
    first, last = making[0], making[-1]
    lines = words.lines(body[body.index(first) : body.index(last) + 1])
    head = f"with {words.jax}.ensure_compile_time_eval():"
    edit = _instead(failed, first, last, [head, *(f"    {line}" if line else line for line in lines)])
    return _fix("it depends on no input: compute it while tracing.", edit)


def _binds(statement: ast.Assign) -> set[str]:
    nodes = (node for target in statement.targets for node in ast.walk(target))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _not_dynamic(error: BaseException, failed: FailedExpression, words: Words) -> list[Fix]:
    """A number that the header made an input, though the cell needs its value."""
    header = failed.text.split("\n")[0]
    dynamic = re.search(r" --dynamic[ =]([\w., ]*\w)", header)
    if failed.function or dynamic is None:
        return []
    listed = [name.strip() for name in dynamic[1].split(",")]
    named = {node.id for node in ast.walk(failed.node) if isinstance(node, ast.Name)}
    found: list[Fix] = []
    for name in (name for name in listed if name in named):
        others = ", ".join(other for other in listed if other != name)
        kept = header.replace(dynamic[0], f" --dynamic {others}" if others else "")
        new = f"{kept} --static {name}" if "--static" not in kept else kept.replace("--static ", f"--static {name}, ")
        text = f"make `{name}` static: it is traced anew for each value."
        found.append(Fix(text, options=f"--static {name}", edit=(1, header, new)))
    return found


def _without_whole(failed: FailedExpression) -> list[Fix]:
    """At the top of a cell Python can run the line between two pieces."""
    header = failed.text.split("\n")[0]
    if failed.function or "--whole" not in header:
        return []
    text = "leave --whole out: Python then runs this line between two programs."
    return _fix(text, (1, header, " ".join(header.replace("--whole", "").split())))


_RULES: tuple[Rule, ...] = (
    _not_dynamic,
    _index,
    _numpy,
    _make_static,
    _default,
    _branch,
    _loop,
    _mask,
    _builtin,
    _number,
    _text,
)


# --- advice in words ---

_SIZES = {
    "repeat": "total_repeat_length",
    "bincount": "length",
    "segment_sum": "num_segments",
    "segment_max": "num_segments",
    "segment_min": "num_segments",
    "segment_prod": "num_segments",
    "one_hot": "num_classes",
}
"""Functions that take the size of their result as an option of another name than `size`."""

_SHAPED = frozenset(
    "arange zeros ones full empty linspace eye reshape broadcast_to tile dynamic_slice dynamic_slice_in_dim".split()
)
"""Functions whose result has a shape that they are told."""


def _advice(error: BaseException, failed: FailedExpression) -> str:
    kind, called, above = type(error).__name__, called_name(failed.node), failed.parent()
    if isinstance(above, ast.Assert):
        return "check it with jax.experimental.checkify.check, or outside of the traced function."
    if kind == "NonConcreteBooleanIndexError":
        return "use jnp.where(mask, x, y), which keeps the size, or jnp.nonzero(mask, size=n)."
    if called in ("nonzero", "argwhere", "flatnonzero", "where", "unique"):
        return f"give {called} a size= that is always enough, or call it outside of the traced function."
    if isinstance(failed.node, ast.Subscript) and isinstance(failed.node.slice, ast.Slice | ast.Tuple):
        return "use jax.lax.dynamic_slice, whose size is fixed, a mask, or make the bound static."
    if kind == "TracerBoolConversionError":
        return "use jnp.where, jax.lax.cond or jax.lax.while_loop, or keep it out of the traced function."
    if kind == "TracerArrayConversionError":
        return "use a function of jax.numpy, jax.pure_callback, or call NumPy outside of the traced function."
    if isinstance(failed.node, ast.JoinedStr | ast.FormattedValue) or called in ("print", "str", "repr", "format"):
        return "use jax.debug.print or jax.debug.callback, which see the values when they are there."
    if called == "range":
        return "use jax.lax.fori_loop, or make the count static."
    if called in _SIZES:
        return (
            f"give {called} {_SIZES[called]}=, a size that is always enough, or call it outside of the traced function."
        )
    if called in _SHAPED:
        return (
            f"shapes are fixed while a function is traced: give {called} the largest size and mask what is over,"
            " jnp.where(jnp.arange(size) < n, x, 0), or make the size static."
        )
    if called in ("float", "complex", "item", "tolist"):
        return "keep the array: return it, and make Python's numbers of it outside of the traced function."
    return "make it static, or compute what needs it outside of the traced function."
