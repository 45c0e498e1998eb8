"""New states that nobody keeps, as the text of a cell shows: of a training step, of an optimizer, of running averages.

A step gives a new state and leaves the old one as it is. Where a loop binds the new one to `_`, each of its turns
begins with the old one; where a step makes the state of its optimizer itself, each of them is the first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import jax
import numpy as np

from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.loops import LoopText
from jaxnb.findings.syntax import in_short, stored_names
from jaxnb.program import Finding

__all__ = ["lost_states"]

_WORTH = re.compile(r"\b_\b|\.init\(")
_TIMED = re.compile(r"\b(time|perf_counter|monotonic|timeit|warm\w*|bench\w*|profil\w*)\b", re.IGNORECASE)
"""What is run again and again for its time alone keeps nothing."""
_NEW = frozenset({"apply_gradients", "replace", "_replace"})
_UPDATING = frozenset({"apply_updates", "incremental_update", "tree_at"})


def lost_states(cell: CellText) -> Iterator[Finding]:
    """The new states of a cell that are lost.

    Args:
      cell: plain or staged.
    """
    text = cell.text if _WORTH.search(cell.shown) and not _TIMED.search(cell.shown) else None
    if text is None:
        return
    for node in text.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            yield from _to_nothing(node, node.value, text)
            yield from _old_state(node, node.value, text)
            yield from _averages(node, node.value, text)
        elif isinstance(node, ast.FunctionDef):
            yield from _begun_anew(node, text)


# --- of a step ---


def _to_nothing(node: ast.Assign, call: ast.Call, text: LoopText) -> Iterator[Finding]:
    """`_, loss = step(state, batch)` in a loop, where `step` gives a new state in that place."""
    target, loop = node.targets[0], text.loop(node)
    if not isinstance(target, ast.Tuple) or not isinstance(loop, ast.For | ast.While) or text.turns(loop) == 1:
        return
    function = _defined(call.func, text)
    returned = _only_returned(function) if function is not None else None
    if function is None or not isinstance(returned, ast.Tuple) or len(returned.elts) != len(target.elts):
        return
    places = [one.arg for one in function.args.args]
    for at, one in enumerate(target.elts):
        if not isinstance(one, ast.Name) or one.id != "_":
            continue
        name = _renewed(returned.elts[at], function)
        given = call.args[places.index(name)] if name in places and places.index(name) < len(call.args) else None
        if not isinstance(given, ast.Name) or given.id in stored_names(loop):
            continue
        message = (
            f"the new `{name}` that `{function.name}` gives is not kept: it is bound to `_`, and each turn of the loop"
            f" on line {loop.lineno} begins with the same `{given.id}`."
        )
        kept = ", ".join(given.id if place == at else ast.unparse(item) for place, item in enumerate(target.elts))
        yield text.finding("dropped", message, node, given.id, f"keep it: `{kept} = {in_short(call)}`.")
        return


def _defined(node: ast.expr, text: LoopText) -> ast.FunctionDef | None:
    """The only function of the cell of a name."""
    name = node.id if isinstance(node, ast.Name) else ""
    found = [one for one in text.nodes if isinstance(one, ast.FunctionDef) and one.name == name]
    return found[0] if len(found) == 1 else None


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, without what stands in functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def _only_returned(function: ast.FunctionDef) -> ast.expr | None:
    found = [one.value for one in _own(function) if isinstance(one, ast.Return)]
    return found[0] if len(found) == 1 else None


def _renewed(node: ast.expr, function: ast.FunctionDef) -> str:
    """The parameter of a function of which an expression is an update; "" of any other."""
    if isinstance(node, ast.Name):
        bound = [one for one in _own(function) if isinstance(one, ast.Assign) and _binds(one, node.id)]
        if not bound:
            return _second_of(node.id, function)
        return _renewed(bound[-1].value, function) if not isinstance(bound[-1].value, ast.Name) else ""
    if not isinstance(node, ast.Call):
        return ""
    of: ast.expr | None = None
    name = name_called(node)
    if name in _NEW and isinstance(node.func, ast.Attribute):
        of = node.func.value
    elif name in _UPDATING and node.args:
        of = node.args[1] if name == "tree_at" and len(node.args) > 1 else node.args[0]
    return of.id if isinstance(of, ast.Name) else ""


def _second_of(name: str, function: ast.FunctionDef) -> str:
    """The parameter that stands for the state in `updates, state = tx.update(grads, state)`, of the new one's name."""
    for one in _own(function):
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and name_called(one.value) == "update":
            target, given = one.targets[0], one.value.args
            second = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
            if isinstance(second, ast.Name) and second.id == name and len(given) > 1 and isinstance(given[1], ast.Name):
                return given[1].id
    return ""


def _binds(node: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


def _old_state(node: ast.Assign, call: ast.Call, text: LoopText) -> Iterator[Finding]:
    """`updates, _ = tx.update(grads, opt_state)` in a step that returns the old `opt_state`."""
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(call.func, ast.Attribute):
        return
    last, function = target.elts[1], next((one for one in text.around(node) if isinstance(one, ast.FunctionDef)), None)
    given = call.args[1] if call.func.attr == "update" and len(call.args) > 1 else None
    if not isinstance(last, ast.Name) or last.id != "_" or function is None or not isinstance(given, ast.Name):
        return
    returned = _only_returned(function)
    names = {one.id for one in ast.walk(returned) if isinstance(one, ast.Name)} if returned is not None else set[str]()
    optimizer = ast.unparse(call.func.value)
    if given.id not in names or not _remembers(text.value(call.func.value)):
        return
    if any(
        isinstance(one, ast.Name) and one.id == given.id and isinstance(one.ctx, ast.Store) for one in _own(function)
    ):
        return
    message = (
        f"the new state that `{optimizer}.update` gives is not kept: it is bound to `_`, and `{function.name}` returns"
        f" the same `{given.id}` that it was given, unchanged."
    )
    fix = f"keep it: `{ast.unparse(target.elts[0])}, {given.id} = {in_short(call)}`."
    yield text.finding("dropped", message, node, given.id, fix)


# --- of running averages ---


def _averages(node: ast.Assign, call: ast.Call, text: LoopText) -> Iterator[Finding]:
    """The updates of `batch_stats` that a differentiated function asks for and does not keep."""
    target = node.targets[0]
    asked = next((one.value for one in call.keywords if one.arg == "mutable"), None)
    if asked is None or not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not _is_apply(call):
        return
    second = target.elts[1]
    function = next((one for one in text.around(node) if isinstance(one, ast.FunctionDef)), None)
    if not isinstance(second, ast.Name) or function is None or "batch_stats" not in ast.unparse(asked):
        return
    read = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == second.id]
    others = [one for one in text.nodes if isinstance(one, ast.Call) and one is not call and _is_apply(one)]
    asking = [one for one in others if any(item.arg == "mutable" for item in one.keywords)]
    if sum(isinstance(one.ctx, ast.Load) for one in read) or asking or not _is_differentiated(function, text):
        return
    of = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else "the model"
    message = (
        f"the new batch_stats of `{of}` are not kept: `{second.id}` holds them, and `{function.name}` does not return"
        " it, so that the running averages stay as they were made."
    )
    fix = (
        f"return them, `return loss, new['batch_stats']`, with has_aux=True, and hand them to the next step of `{of}`."
    )
    yield text.finding("dropped", message, node, of, fix)


def _is_apply(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "apply"


def _is_differentiated(function: ast.FunctionDef, text: LoopText) -> bool:
    for node in text.nodes:
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
            name = text.called(node).rpartition(".")[2]
            if name in ("grad", "value_and_grad") and node.args[0].id == function.name:
                return True
    return False


# --- of an optimizer ---


def _begun_anew(function: ast.FunctionDef, text: LoopText) -> Iterator[Finding]:
    """The state of an optimizer that a step makes, uses once and does not return."""
    inside = list(_own(function))
    if any(isinstance(one, ast.For | ast.While) for one in inside) or not _in_a_loop(function, text):
        return
    for one in inside:
        made = one.value if isinstance(one, ast.Assign) else None
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute) or made.func.attr != "init":
            continue
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        optimizer = made.func.value
        if not isinstance(target, ast.Name) or not _remembers(text.value(optimizer)):
            continue
        updates = [
            item
            for item in inside
            if isinstance(item, ast.Call)
            and ast.unparse(item.func) == f"{ast.unparse(optimizer)}.update"
            and any(isinstance(part, ast.Name) and part.id == target.id for part in item.args)
        ]
        returned = [item for item in inside if isinstance(item, ast.Return)]
        names = {item.id for part in returned for item in ast.walk(part) if isinstance(item, ast.Name)}
        above = text.parents.get(updates[0]) if len(updates) == 1 else None
        bound = stored_names(above) if isinstance(above, ast.Assign) else set[str]()
        if not bound or (bound | {target.id}) & names & {target.id, *_second(above)}:
            continue
        message = (
            f"`{function.name}` makes `{target.id}` anew in every step and does not return the new one:"
            f" `{ast.unparse(optimizer)}` forgets what it has gathered, such as its momentum, each time."
        )
        fix = f"make it once, before the loop, hand it to `{function.name}` as an argument, and return the new one."
        yield text.finding("dropped", message, one, target.id, fix)


def _second(node: ast.AST | None) -> set[str]:
    """The name that the new state of `updates, state = tx.update(...)` is bound to."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[1], ast.Name):
        return {target.elts[1].id}
    return set()


def _in_a_loop(function: ast.FunctionDef, text: LoopText) -> bool:
    """Whether a loop of the cell calls a function and binds one of its arguments to a result."""
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or text.loop(node) is None:
            continue
        call = node.value
        given = {one.id for one in call.args if isinstance(one, ast.Name)}
        if isinstance(call.func, ast.Name) and call.func.id == function.name and given & stored_names(node):
            return True
    return False


def _remembers(optimizer: Any) -> bool:
    """Whether a value is an optimizer of optax that has a state."""
    if not type(optimizer).__name__.startswith("GradientTransformation"):
        return False
    with suppress(Exception):  # of what is asked of its parameters is not known here
        return bool(jax.tree.leaves(optimizer.init({"w": np.zeros((), np.float32)})))
    return False
