"""Donated arrays whose buffer no result takes: which, the nearest result, and why it was refused.

What a program gives up for nothing is lost all the same: the array is deleted, and no memory is saved by it. Which
result takes which buffer is read from the compiled program. A function that donates by `donate_argnums` donates nothing
where it is called inside of a compiled cell; what it says of its arguments is looked at as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend import core as jax_core

from jaxnb._jax import dtype_name
from jaxnb.findings.lints.aliasing import Aliasing, read_aliasing
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.eqns import closed_bodies
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.puts import find_puts
from jaxnb.program import Finding, Fix
from jaxnb.staging import line_reading, render_path, root_name
from jaxnb.units import format_bytes

__all__ = ["LINT", "Form", "find_donations", "refusal"]


class Form(NamedTuple):
    """What must agree for a result to be written to the buffer of an input.

    Attributes:
      shape: of the array.
      dtype: its name.
      nbytes: its size.
      sharding: how it is spread over devices; None where that is not known.
      layout: how it lies in memory; None where that is not known.
    """

    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    sharding: Any = None
    layout: Any = None

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def find_donations(traced: LintContext) -> Iterator[Finding]:
    """What a piece gives up for nothing."""
    piece = traced.piece
    if piece.donation.leaves:
        aliasing = read_aliasing(piece)
        if aliasing is not None:
            yield from _of_the_cell(traced, aliasing)
    yield from _of_functions(traced)


def _of_the_cell(traced: LintContext, aliasing: Aliasing) -> Iterator[Finding]:
    """The leaves of `--donate` that no result takes."""
    piece = traced.piece
    inputs, results = _forms(piece)
    names = piece.output_names()
    takers = {result: at for at, result in aliasing.taken.items()}
    free = [n for n in range(len(results)) if n not in takers]
    by_line: dict[int | None, list[_Vain]] = {}
    for at in aliasing.donated:
        if at in aliasing.taken or not inputs[at].nbytes:
            continue
        path = render_path(piece.paths[at])
        line = line_reading(traced.statements, root_name(piece.paths[at]))
        said, fix = refusal(
            inputs[at],
            [(f"the new {names[n]}" if names[n] == path else names[n], results[n]) for n in free],
            [render_path(piece.paths[takers[n]]) for n in takers if results[n][:2] == inputs[at][:2]],
            unused=at in aliasing.unused,
        )
        by_line.setdefault(line, []).append(_Vain(path, inputs[at].nbytes, said, fix))
    for line, vain in by_line.items():
        yield _in_vain(line, vain)


class _Vain(NamedTuple):
    """A leaf that no result takes: its path, its bytes, why in a sentence, and what would help."""

    path: str
    nbytes: int
    said: str
    fix: Fix | None


def _in_vain(line: int | None, vain: Sequence[_Vain]) -> Finding:
    """The finding on the leaves that are read on one line; each has its own reason."""
    size = format_bytes(sum(one.nbytes for one in vain))
    (first, *others), holder = vain, vain[0].path
    if not others:
        message = f"`{first.path}` is donated in vain: {first.said} {size} are given up for nothing."
        return Finding("donation", message, line, holder=holder, fix=first.fix or _LEAVE_OUT)
    alike: dict[str, list[str]] = {}
    for one in vain:
        alike.setdefault(one.said.removeprefix("it is "), []).append(one.path)
    reasons = [f"{_listed(paths[:3])}{_more(paths[3:])}: {text}" for text, paths in alike.items()]
    left = len(reasons) - _MOST
    reasons[_MOST:] = [f"And {left} more for other reasons."] if left > 0 else []
    message = f"{len(vain)} arrays are donated in vain, and {size} given up for nothing. {' '.join(reasons)}"
    same = first.fix is not None and all(one.fix == first.fix for one in vain)
    return Finding("donation", message, line, holder=holder, fix=first.fix if same else _LEAVE_OUT)


_MOST = 6
"""Reasons that are told of one line."""

_LEAVE_OUT = Fix("take it out of --donate.")


def _more(paths: Sequence[str]) -> str:
    return f" and {len(paths)} more" if paths else ""


def refusal(
    given: Form, results: Sequence[tuple[str, Form]], takers: Sequence[str] = (), *, unused: bool = False
) -> tuple[str, Fix | None]:
    """Why no result takes a buffer, in a sentence, and what would help.

    Args:
      given: what is donated.
      results: those that take no other input's buffer, each with its name or "".
      takers: other inputs whose buffer a result of this shape and dtype takes.
      unused: whether the program does not read the input.

    >>> refusal(Form((3,), "float32", 12), [("y", Form((3,), "int32", 12))])[0]
    'it is float32[3], and the nearest result is `y`, int32[3]: another dtype.'
    """
    if unused:
        return "the program does not read it.", Fix("leave it out of --donate, and use del to let it go.")
    if not results:
        if takers:
            both = ", ".join(f"`{name}`" for name in dict.fromkeys(takers))
            return f"it is {given}, and each result of this shape and dtype takes the buffer of {both}.", Fix(
                f"donating {both} is enough: take it out of --donate."
            )
        return f"it is {given}, and no result is left that could take its buffer.", None
    name, near = min(results, key=lambda item: _distance(given, item[1]))
    what = f"`{name}`" if name else "one without a name"
    if name.startswith("the new "):
        what = f"the new `{name.removeprefix('the new ')}`"
    start = f"it is {given}, and the nearest result is {what}, "
    if near[:2] == given[:2]:
        if _spread_differently(given, near):
            text = f"{start}spread as {_spread(near.sharding)}, where this is spread as {_spread(given.sharding)}."
            return text, Fix("give both the same sharding: jax.lax.with_sharding_constraint on the result.")
        if near.layout is not None and given.layout is not None and near.layout != given.layout:
            return f"{start}which lies in memory in another order.", Fix("give both the same layout.")
        return f"{start}of the same shape and dtype: the compiler did not take it.", None
    if near.shape == given.shape:
        fix = Fix(f"compute {what} in {given.dtype}, or take it out of --donate.") if name else None
        return f"{start}{near}: another dtype.", fix
    if near.dtype == given.dtype and near.nbytes == given.nbytes:
        fix = Fix(f"give {what} the shape {list(given.shape)}, or take it out of --donate.") if name else None
        return f"{start}{near}: another shape of as many numbers.", fix
    return f"{start}{near}: another shape{'' if near.dtype == given.dtype else ' and dtype'}.", None


def _distance(given: Form, other: Form) -> tuple[bool, bool, bool, int]:
    differs = given.shape != other.shape, given.dtype != other.dtype
    return (differs[0] and differs[1], differs[0], differs[1], abs(given.nbytes - other.nbytes))


def _spread_differently(one: Form, other: Form) -> bool:
    if one.sharding is None or other.sharding is None:
        return False
    if isinstance(one.sharding, jax.sharding.Sharding) and isinstance(other.sharding, jax.sharding.Sharding):
        return not one.sharding.is_equivalent_to(other.sharding, len(one.shape))
    return one.sharding != other.sharding


def _spread(sharding: Any) -> str:
    spec = getattr(sharding, "spec", None)
    return str(spec) if spec is not None else str(sharding)


def _forms(piece: Any) -> tuple[list[Form], list[Form]]:
    """The inputs and the results of a compiled piece."""
    jaxpr, compiled = piece.jaxpr.jaxpr, piece.compiled
    count = len(jax.tree.leaves(compiled.args_info))
    inputs = [v.aval for v in jaxpr.invars[len(jaxpr.invars) - count :]]
    results = [v.aval for v in jaxpr.outvars]
    return (
        _with_places(inputs, _leaves(compiled, "input_shardings"), _leaves(compiled, "input_formats")),
        _with_places(results, _leaves(compiled, "output_shardings"), _leaves(compiled, "output_formats")),
    )


def _leaves(compiled: Any, name: str) -> list[Any]:
    try:
        found = getattr(compiled, name)
    except Exception:  # not every backend tells
        return []
    return jax.tree.leaves(found[0] if name.startswith("input") else found)


def _with_places(avals: Sequence[Any], shardings: Sequence[Any], formats: Sequence[Any]) -> list[Form]:
    known = shardings if len(shardings) == len(avals) else [None] * len(avals)
    laid = formats if len(formats) == len(avals) else [None] * len(avals)
    found: list[Form] = []
    for aval, sharding, laid_out in zip(avals, known, laid, strict=True):
        several = sharding if sharding is not None and sharding.num_devices > 1 else None
        found.append(_form(aval)._replace(sharding=several, layout=getattr(laid_out, "layout", None)))
    return found


def _form(aval: Any) -> Form:
    shape: tuple[Any, ...] = tuple(getattr(aval, "shape", ()))
    dtype = getattr(aval, "dtype", None)
    if dtype is None or not all(isinstance(n, int) for n in shape):
        return Form((), type(aval).__name__, 0)
    return Form(shape, dtype_name(dtype), int(np.prod(shape, dtype=np.int64)) * int(getattr(dtype, "itemsize", 0)))


# --- functions that donate ---


def _of_functions(traced: LintContext) -> Iterator[Finding]:
    """What functions with `donate_argnums` would give up for nothing, and what they do not give up in a cell."""
    if not traced.census.giving:
        return
    jaxpr = traced.piece.jaxpr.jaxpr
    paths = traced.piece.paths
    first = len(jaxpr.invars) - len(paths)
    own = {v: at - first for at, v in enumerate(jaxpr.invars) if at >= first >= 0}
    for eqn in traced.census.giving:
        flags: Sequence[bool] = eqn.params["donated_invars"]
        if len(flags) != len(eqn.invars):
            continue
        span = traced.spans.of(eqn, None)
        line = span.line if span is not None and not span.file else None
        name = eqn.params.get("name", "a function")
        yield from _of_function(traced, eqn, flags, own, f"`{name}`", line)


def _of_function(
    traced: LintContext, eqn: Any, flags: Sequence[bool], own: dict[Any, int], name: str, line: int | None
) -> Iterator[Finding]:
    (body, *_) = closed_bodies(eqn)
    given = [_form(v.aval) for v in eqn.invars]
    left = [_form(v.aval) for v in body.jaxpr.outvars]
    held: list[str] = []
    size = 0
    for at in (at for at, flag in enumerate(flags) if flag):
        v = eqn.invars[at]
        path = render_path(traced.piece.paths[own[v]]) if type(v) is not jax_core.Literal and v in own else ""
        what = f"`{path}`" if path else f"argument {at}"
        match = next((form for form in left if form[:2] == given[at][:2]), None)
        if match is not None:
            left.remove(match)
            if path and own[v] not in _donated(traced):
                held.append(path)
                size += given[at].nbytes
        elif given[at].nbytes:
            said, fix = refusal(given[at], [("", form) for form in left])
            message = f"{name} donates {what} in vain: {said} {format_bytes(given[at].nbytes)} would be for nothing."
            yield Finding("donation", message, line, holder=path, fix=fix or Fix("take it out of donate_argnums."))
    roots = list(dict.fromkeys(path.partition("[")[0].partition(".")[0] for path in held))
    if roots:
        message = (
            f"{name} donates {_listed(roots)}, but a function that is called in a compiled cell gives nothing up "
            f"before its end: {format_bytes(size)} are held until the cell has run."
        )
        fix = Fix("let the cell give it up:", options=f"--donate {', '.join(roots)}")
        yield Finding("donation", message, line, holder=roots[0], fix=fix)


def _donated(traced: LintContext) -> Iterable[int]:
    compiled = traced.piece.compiled
    given = jax.tree.leaves(compiled.args_info) if compiled is not None else []
    return {at for at, info in enumerate(given) if info.donated}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _when(traced: LintContext) -> When:
    return When.TRACED if traced.census.giving or traced.piece.donation.leaves else When.NEVER


LINT = Lint(find_donations, _when, in_text=lambda text: find_puts(text.execution) if text.calls else ())
