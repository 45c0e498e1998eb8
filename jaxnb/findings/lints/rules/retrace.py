"""Functions that a staged cell traces again in each turn of a loop (`"retrace"`): its program has a copy for each.

A loop of a staged cell is traced turn by turn. A function under `jax.jit`, or the body of a `lax.scan`, is in the
program once, if JAX knows it again. It does not where the function is made anew, where an argument is static, and where
shapes or types differ; then each turn is traced, and compiled, on its own, as it is in a plain cell.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jaxnb._jax import argument_names, eqn_places, open_jaxpr, traced_name
from jaxnb.findings.lints.census import Census, Inner
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.static_floats import static_floats
from jaxnb.findings.lints.written import own_place
from jaxnb.findings.loops import LoopText
from jaxnb.findings.retracing.again import BODIES, CompiledAgain
from jaxnb.findings.retracing.same_line import called_at, is_batch, is_carried, static_argument
from jaxnb.findings.syntax import in_short
from jaxnb.program import Finding, Fix

__all__ = ["FEW", "LINT", "copied_functions"]

FEW = 4
"""So many copies of a function are told, unless they differ in what is surely not meant."""
_TOLD = frozenset({"jit", *BODIES})


class _Copies(NamedTuple):
    """The functions of one name that one line has put into a program: their jaxprs, each once, how many calls there
    are, and the lines that led there."""

    primitive: str
    name: str
    line: int
    jaxprs: Sequence[Any]
    calls: int
    trail: tuple[int, ...]


def copied_functions(traced: LintContext) -> Iterator[Finding]:
    """The functions that one line of a cell has traced again and again, with why.

    Args:
      traced: the piece.
    """
    found = list(_copies(traced))
    text = LoopText.of(traced.cell.shown, traced.namespace) if found else None
    if text is None:
        return
    here = traced.cell.filename
    again = CompiledAgain(traced.cell.shown, traced.namespace, str, here)
    for some in found:
        finding = _of_avals(some, text) if some.primitive == "jit" else None
        finding = finding or (_of_statics(some, text) if some.primitive == "jit" else None)
        if finding is None and len(some.jaxprs) >= FEW and not _differing(some):
            made = again.makes(some.name, None) if some.primitive == "jit" else again.gives(some.primitive, some.line)
            if made is not None:
                what = made.called if some.primitive == "jit" else made.what
                message = (
                    f"`{what}` is traced {some.calls} times, and in the program as often: {made.when} the function is"
                    " made anew, and JAX does not know it again."
                )
                finding = again.finding(message, made, (some.line, *some.trail))
        if finding is not None:
            yield finding


def _copies(traced: LintContext) -> Iterator[_Copies]:
    groups: dict[tuple[Any, ...], list[Inner]] = {}
    for inner in _suspects(traced.census):
        place = own_place(inner.eqn)
        if place is not None and place.file == traced.cell.filename:
            primitive, body = inner.eqn.primitive.name, open_jaxpr(inner.body)
            # A derivative of a loop is another loop, of other types; those of a jitted function are what is told.
            types = () if primitive == "jit" else tuple(_text(var.aval) for var in body.invars)
            groups.setdefault((primitive, traced_name(body), place.line, types), []).append(inner)
    for (primitive, name, line, _), some in groups.items():
        jaxprs = list({id(jaxpr): jaxpr for jaxpr in (open_jaxpr(item.body) for item in some)}.values())
        calls = len({id(item.eqn) for item in some})
        if len(jaxprs) > 1 and (primitive != "cond" or len(jaxprs) >= FEW):
            places = eqn_places(some[-1].eqn)
            trail = tuple(place.line for place in places if place.file == traced.cell.filename)
            yield _Copies(primitive, name, line, jaxprs, calls, trail)


def _suspects(census: Census) -> list[Inner]:
    """What is in a piece of functions of which there are several."""
    names: dict[str, int] = {}
    some = [item for item in census.inner if item.eqn.primitive.name in _TOLD]
    for item in some:
        name = _name(item)
        names[name] = names.get(name, 0) + 1
    return [item for item in some if names[_name(item)] > 2]


def _name(inner: Inner) -> str:
    name = inner.eqn.primitive.name
    return str(inner.eqn.params.get("name", "")) if name == "jit" else name


# --- why ---


def _differing(some: _Copies) -> dict[int, list[Any]]:
    """The inputs that are of several types, each with these, in the order of the calls."""
    sizes = {len(jaxpr.invars) for jaxpr in some.jaxprs}
    if len(sizes) != 1:
        return {-1: []}
    found: dict[int, list[Any]] = {}
    for place in range(sizes.pop()):
        avals = [jaxpr.invars[place].aval for jaxpr in some.jaxprs]
        if len({_text(aval) for aval in avals}) > 1:
            found[place] = avals
    return found


def _text(aval: Any) -> str:
    return aval.str_short() if hasattr(aval, "str_short") else str(aval)


def _of_avals(some: _Copies, text: LoopText) -> Finding | None:
    """What to say of a function whose arguments differ in shape or type from turn to turn."""
    call = called_at(some.line, some.name, text)
    again = text.again(call) if call is not None else None
    if call is None or again is None or isinstance(again, ast.FunctionDef):
        return None
    differing = _differing(some)
    if -1 in differing:
        return _of_structure(some, call) if is_carried(call, text) else None
    names = argument_names(some.jaxprs[0])
    if not differing or not names:
        return None
    shapes = [[tuple(getattr(aval, "shape", ())) for aval in avals] for avals in differing.values()]
    place, avals = next(iter(differing.items()))
    which, times = names[place], f"traced {len(some.jaxprs)} times, and in the program as often"
    if all(len(set(one)) == 1 for one in shapes):
        if not is_carried(call, text) or avals[0].shape or not getattr(avals[0], "weak_type", False):
            return None
        first, second = _text(avals[0]), _text(avals[1])
        message = f"`{some.name}` is {times}: `{which}` is {first}, and {second} in the next turn."
        fix = f"begin with arrays of one dtype, such as jnp.{avals[-1].dtype.name}(…), instead of Python numbers."
        return _finding(message, some, call, which, fix)
    grows = len(some.jaxprs) >= FEW and all(_grows_evenly(one) for one in shapes)
    if not grows and not is_batch(call, again):
        return None
    first, second = _text(avals[0]), _text(avals[1] if grows else avals[-1])
    given = _argument(call, which, names)
    what = f"`{which}`, which is given `{given}`," if given != which else f"`{which}`"
    message = f"`{some.name}` is {times}: each shape of {what} has a program of its own: {first}, then {second}."
    fix = f"keep to one shape: pad `{which}` and mask what is padded, or drop the rest."
    return _finding(message, some, call, which, fix)


def _of_structure(some: _Copies, call: ast.Call) -> Finding | None:
    names = [set(argument_names(jaxpr)) for jaxpr in some.jaxprs]
    new = sorted(names[-1] - names[0])
    root = new[0].partition("[")[0].partition(".")[0] if new else ""
    if not root or not names[0] or any(not item.startswith(root) for item in new):
        return None
    message = (
        f"`{some.name}` is traced {len(some.jaxprs)} times, and in the program as often: `{root}` has another structure"
        f" in the first turn, without `{new[0]}`."
    )
    fix = f"begin with the same keys and dtypes: zeros such as jnp.zeros(()) can stand for `{new[0]}` at the start."
    return _finding(message, some, call, root, fix)


def _grows_evenly(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether one axis grows by the same amount from each call to the next."""
    if len({len(shape) for shape in shapes}) != 1:
        return False
    steps = {tuple(b - a for a, b in zip(one, other, strict=True)) for one, other in itertools.pairwise(shapes)}
    return len(steps) == 1 and sum(step != 0 for step in next(iter(steps))) == 1


def _of_statics(some: _Copies, text: LoopText) -> Finding | None:
    """What to say of a function that has a static argument, which is another in each turn."""
    call = called_at(some.line, some.name, text)
    found = static_argument(call, text) if call is not None and len(some.jaxprs) >= FEW else None
    if call is None or found is None or _differing(some):
        return None
    name, fix = found
    message = (
        f"`{some.name}` is traced {len(some.jaxprs)} times, and in the program as often: its argument `{name}` is"
        " static, and each value of it has a program of its own."
    )
    return _finding(message, some, call, name, fix)


def _argument(call: ast.Call, which: str, names: Sequence[str]) -> str:
    """How an argument is written in the call; its own name where that is long."""
    roots = list(dict.fromkeys(name.partition("[")[0].partition(".")[0] for name in names))
    place = roots.index(which.partition("[")[0].partition(".")[0])
    return in_short(call.args[place]) if place < len(call.args) else which


def _finding(message: str, some: _Copies, call: ast.Call, holder: str, fix: str) -> Finding:
    return Finding("retrace", message, call.lineno, holder=holder, fix=Fix(fix))


def _when(traced: LintContext) -> When:
    return When.TRACED if _suspects(traced.census) else When.NEVER


LINT = Lint(copied_functions, _when, in_words=static_floats)
