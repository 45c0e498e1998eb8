"""A concrete value was needed: which expression asked for it, of what it was computed, and on which lines.

JAX's own message says that some tracer was converted. What a user needs is the expression, the inputs behind it, and
the lines in between; all of these are there while the exception's frames are alive.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxnb import _jax
from jaxnb._jax import History, history_of
from jaxnb.errors import Asking
from jaxnb.findings.errors.scene import Scene
from jaxnb.findings.place import FailedExpression, find_place
from jaxnb.program import Finding
from jaxnb.staging import ValueNeeded, culprit_of

__all__ = ["explain_needed", "is_about_values", "reason_of_condition"]

Label = Callable[[str], str]


def is_about_values(scene: Scene) -> bool:
    """Whether an exception says that something of a trace should have been concrete: by its class, by the check of JAX
    that raised it, or because code that knows no tracers was given one."""
    error = scene.error
    if isinstance(error, (ValueNeeded, *_jax.TRACING_ERRORS)):
        return True
    if not isinstance(error, TypeError | IndexError | ValueError) or isinstance(error, _jax.SHOWN_ERRORS):
        return False
    traced = _traced(scene.failed)
    if not traced:
        return False
    if scene.steps and not _jax.RAISING["size-static"].isdisjoint(scene.inside):
        return any(_is_whole(tracer.aval.dtype) for tracer in traced)
    node = scene.failed.node
    if _jax.are_frames_removed(error) and _SIZED.fullmatch(called_name(node) or ""):
        return any(_is_whole(tracer.aval.dtype) for tracer in traced)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):  # as many of a list
        sides = (node.left, node.right)
        return any(isinstance(side, ast.List) or type(scene.failed.value_of(side)) in (list, str) for side in sides)
    return not scene.steps and _knows_no_tracers(scene.failed)


def _traced(failed: FailedExpression) -> list[Any]:
    """The tracers that an expression names, and those in a tuple or list that it gives to a function."""
    found, node = list(failed.tracers()), failed.node
    given = [*node.args, *(item.value for item in node.keywords)] if isinstance(node, ast.Call) else []
    for value in (failed.value_of(one) for one in given):
        found += [item for item in value if _jax.is_tracer(item)] if type(value) in (tuple, list) else []
    return found


def _knows_no_tracers(failed: FailedExpression) -> bool:
    """Whether an expression asks Python itself, or what is written in C, for an item, a text or a result."""
    node = failed.node
    if isinstance(node, ast.Subscript):
        written = isinstance(node.value, ast.Dict | ast.List | ast.Tuple | ast.Constant)
        return written or type(failed.value_of(node.value)) in (list, tuple, dict, str, bytes, range)
    if isinstance(node, ast.JoinedStr | ast.FormattedValue):
        return True
    return isinstance(node, ast.Call) and isinstance(failed.value_of(node.func), types.BuiltinFunctionType | type)


def explain_needed(asking: Asking, here: str, label: Label) -> tuple[Finding, FailedExpression, bool] | None:
    """The finding on an exception that asks for a concrete value, the place, and whether the value is a constant of the
    program; None if the place is not known.

    Args:
      asking: the exception, with the frames in which it came up.
      here: the file name of the cell that ran.
      label: what the user knows a file by.
    """
    error, inputs = asking.error, asking.inputs
    failed = find_place(error, here, asking.names)
    if failed is None:
        return None
    wanted = _wanted(error, failed)
    history = _joined([history_of(tracer) for tracer in wanted])
    what = f"a traced {shown}" if (shown := _aval_of(error, wanted)) else "something traced"
    names = _inputs_behind(history, inputs)
    constant = history.constant and bool(wanted)
    made = ", which is made of constants inside the trace" if constant else ""
    ours = failed.file == here
    where = f" of {label(failed.file)}" if not ours else ""
    message = f"`{_short(failed.expression)}`{where} needs the value of {what}{made}: {reason_of(error, failed)}."
    line = failed.line if ours else _calling_line(error, here)
    lines = _lines_behind(history, here)
    finding = Finding(
        "concretization",
        message,
        line,
        span=failed.span if ours else None,
        holder=names.replace("`", ""),
        origin=_origin(failed, next(iter(wanted), None), history, here, label, inputs),
        trail=tuple(sorted(lines - ({failed.line} if ours else set()))),
    )
    return finding, failed, constant


def _wanted(error: BaseException, failed: FailedExpression) -> list[Any]:
    """The tracers whose values were asked for, the one that tells the most first."""
    culprit = culprit_of(error)
    named = _traced(failed)
    if isinstance(error, ValueNeeded):
        return [error.tracer] if error.tracer is not None else named
    if type(error).__name__ == "TracerBoolConversionError" and named and not isinstance(failed.node, ast.Call):
        return named
    sizes = [tracer for tracer in named if tracer.aval.shape == () and _is_whole(tracer.aval.dtype)]
    return sizes or named or ([culprit] if culprit is not None else [])


def _aval_of(error: BaseException, wanted: list[Any]) -> str:
    """The aval of what was asked for, such as "bool[]": JAX says it of conditions; "" if it is not known."""
    said = re.search(r"(?:traced array with shape|must be concrete; got) (\w+\[[^]]*\])", str(error))
    if said is not None:
        return said[1]
    aval: Any = getattr(next(iter(wanted), None), "aval", None)
    return aval.str_short() if hasattr(aval, "str_short") else ""


def _is_whole(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, np.integer) or str(dtype) == "bool"


def _joined(histories: list[History]) -> History:
    arguments = {id(item.tracer): item for history in histories for item in history.arguments}
    eqns = {id(eqn): eqn for history in histories for eqn in history.eqns}
    return History(tuple(arguments.values()), tuple(eqns.values()), all(history.constant for history in histories))


def _inputs_behind(history: History, inputs: Mapping[int, str]) -> str:
    """The inputs of the cell, and the arguments of functions traced inside it, by the names that the user gave."""
    own = [f"`{inputs[id(item.tracer)]}`" for item in history.arguments if id(item.tracer) in inputs]
    inner: dict[str, list[str]] = {}
    for item in history.arguments:
        if id(item.tracer) not in inputs and item.name and not item.name.startswith(("dyn_args", "args[", "leaves[")):
            inner.setdefault(item.function, []).append(f"`{item.name}`")
    told = [
        f"{_listed(sorted(set(names)))} of {'a lambda' if function == '<lambda>' else f'`{function}`'}"
        for function, names in inner.items()
    ]
    return _listed([*sorted(set(own)), *told])


def _listed(names: list[str]) -> str:
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _lines_behind(history: History, here: str) -> set[int]:
    """The lines of the cell on which the value came about."""
    found: set[int] = set()
    for eqn in history.eqns:
        place = next((place for place in _jax.eqn_places(eqn) if place.file == here), None)
        if place is not None:
            found.add(place.line)
    return found


def _origin(
    failed: FailedExpression, tracer: Any, history: History, here: str, label: Label, inputs: Mapping[int, str]
) -> str:
    """In which traced function the expression stands, and of which cell, if not of this one."""
    around = next((item.traced_for for item in history.arguments if id(item.tracer) not in inputs), "")
    if tracer is not None and _jax.is_batched(tracer):
        around = "vmap"
    inside = f"in `{failed.function}`" if failed.function and not failed.function.startswith("<") else ""
    under = f"under {around}" if around else ""
    where = f"line {failed.line} of {label(failed.file)}" if failed.file != here else ""
    return " ".join(part for part in (where, inside, under) if part)


def _calling_line(error: BaseException, here: str) -> int | None:
    line, traceback = None, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == here:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"


# --- the reason ---


def reason_of(error: BaseException, failed: FailedExpression) -> str:
    """Who asks for the value, as a clause."""
    if isinstance(error, ValueNeeded):
        return error.what
    kind, node, above = type(error).__name__, failed.node, failed.parent()
    if kind == "NonConcreteBooleanIndexError":
        return "as a boolean mask it decides how large the result is"
    if kind == "TracerArrayConversionError":
        return "NumPy computes with values"
    if kind == "TracerBoolConversionError":
        return reason_of_condition(node, above)
    called = called_name(node)
    if called in ("float", "int", "complex", "bool"):
        return f"{called}() makes a Python number of it"
    if called in ("item", "tolist"):
        return f".{called}() makes Python numbers of it"
    if called == "range":
        return "range() counts up to it"
    if isinstance(node, ast.Subscript):
        sliced = isinstance(node.slice, ast.Slice | ast.Tuple)
        return "a slice has to have a size" if sliced else "a list, tuple or dict is indexed by a Python value"
    if isinstance(node, ast.JoinedStr | ast.FormattedValue):
        return "text is made of it"
    if called is not None and _SIZED.fullmatch(called):
        return f"{called}() needs the size of its result"
    if "as an abstract array" in str(error):
        return "it is an argument of a traced function, and no array"
    if called is not None and isinstance(node, ast.Call):
        return f"{called}() wants it as a Python number"
    return "a size or a Python number is made from it"


def reason_of_condition(node: ast.AST, above: ast.AST | None) -> str:
    """Who asks for a truth, as a clause: the expression and what it stands in."""
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
        return "`in` compares it with one item after the other"
    if isinstance(node, ast.BoolOp):
        return f"`{'or' if isinstance(node.op, ast.Or) else 'and'}` chooses by it"
    while isinstance(above, ast.BoolOp | ast.UnaryOp):
        node, above = above, None
    if isinstance(node, ast.Call) and (name := called_name(node)) in ("max", "min", "sorted", "any", "all", "bool"):
        return f"{name}() compares values"
    if isinstance(above, ast.While):
        return "a loop goes on as long as it holds"
    if isinstance(above, ast.Assert):
        return "an assertion tests it"
    if isinstance(above, ast.IfExp):
        return "a conditional expression chooses by it"
    if isinstance(above, ast.comprehension):
        return "it decides what a comprehension takes in"
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return "a chain of comparisons is an `and`"
    return "a branch tests it"


def called_name(node: ast.AST) -> str | None:
    """The last part of what a call calls, such as "zeros" of `jnp.zeros(n)`."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else None


_SIZED = re.compile(
    "zeros|ones|full|empty|arange|linspace|logspace|geomspace|eye|identity|tri|iota|reshape|broadcast_to|tile|repeat"
    "|one_hot|normal|uniform|randint|bernoulli|choice|permutation|split|array_split|nonzero|flatnonzero|argwhere|unique"
    "|where|top_k|pad"
)
"""Functions that take a size from the value of an argument."""
