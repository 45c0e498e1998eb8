"""The first nan or inf of a run (`%%jit --nans`): which equation gave it, of which operands, on which line.

It costs another run of the program, and some compiling; so it is done where it was asked for, and only where a result
holds a nan or inf that the inputs did not have. An inf or nan that the cell writes itself, as a mask does, is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.eqns import Eqns
from jaxnb.findings.lints.nan_causes import cause_of, expression_at, function_at
from jaxnb.findings.lints.nan_fixes import propose, try_fix
from jaxnb.findings.lints.recomputed import OutOfTime, nonfinite
from jaxnb.findings.lints.replay import Origin, Replay
from jaxnb.findings.values import dry_run
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Fix, Op
from jaxnb.staging import CellSource, Execution, Held, Session

__all__ = ["Rerun", "find_nans", "read_nans", "rerunning"]

_MOST_STATEMENTS = 16
_PATIENCE = 1.0  # seconds for each statement of a fix that is tried; the user waits for what was asked for

Rerun = Callable[[str], Sequence[Any] | None]
"""Runs another text of the cell on the same inputs; gives what it bound, or None where that cannot be done."""


def read_nans(execution: Execution, entry: dict[str, Any], patience: float | None = None) -> list[Finding]:
    """What there is to say about the nans and infs in the results of a run.

    Args:
      execution: the run, which has ended well and has held the inputs of its pieces (`Execution.held`). A piece that a
        loop of the cell ran several times is looked at as it was in the last turn.
      entry: the names before the run.
      patience: seconds for each piece; see `find_nans`.
    """
    rerun = rerunning(execution.cell, entry, execution.options)
    found: list[Finding] = []
    for piece in execution.pieces:
        try:
            found += find_nans(LintContext.of(execution, piece), execution.held[id(piece)], rerun, patience) or []
        except Exception as error:  # the cell has run
            said = str(error).strip().partition("\n")[0]
            found.append(_not_looked_for(f"{type(error).__name__}: {said}"))
    return found


def find_nans(
    traced: LintContext, held: Held, rerun: Rerun | None = None, patience: float | None = None
) -> list[Finding] | None:
    """What there is to say about the nans and infs in the results of a piece: at most one of a kind and line.

    Args:
      traced: the piece, after it ran.
      held: its program, with the inputs that it had; see `jaxnb.staging.levels.timing.hold_inputs`.
      rerun: tries a fix; None leaves each of them advice.
      patience: seconds after which the search is given up, between two programs; None for as long as it takes.

    Returns:
      None if it was given up before anything of the forward pass was found.
    """
    if held.why:
        said = held.why.removeprefix("not measured, because ").removeprefix("not measured: ")
        return [] if held.compiled is None and held.why.startswith("nothing") else [_not_looked_for(said)]
    if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in held.inputs):
        return [_not_looked_for("the cell donated what it reads to a later piece.")]
    results = traced.results if _all_there(traced.results) else _run_again(held)
    bad = nonfinite(results)
    if not any(one.nan or one.inf for one in bad):
        return []
    eqns = Eqns(traced.piece, traced.level)
    replay = Replay(eqns, held.inputs, patience)
    forward: dict[Any, Finding] = {}
    backward: dict[Any, Finding] = {}
    names = eqns.results()
    for at, kind in [(at, kind) for at, one in enumerate(bad) for kind in ("nan", "inf") if kind in one]:
        try:
            origin = replay.origin(at, kind)
        except OutOfTime:
            return list(forward.values()) or None
        if origin is None:
            forward.setdefault(None, _unexplained(names[at], kind))
            continue
        finding = _finding(eqns, origin, names[at], kind)
        if finding is not None:
            derived = origin.place is not None and eqns.is_backward(origin.place)
            place = origin.place or ("input", origin.input)
            told = (backward if derived else forward).setdefault(place, finding)
            if told is finding and rerun is not None and origin.place is not None:
                fixes = propose(eqns, origin, traced.cell.shown)
                (backward if derived else forward)[place] = replace(told, fix=try_fix(fixes, traced.cell, rerun))
    return list((forward or backward).values())


def rerunning(cell: CellSource, entry: dict[str, Any], options: StageOptions) -> Rerun:
    """Runs changed texts of a cell on what it began with, on copies of the names, where that is proved to be harmless.

    Args:
      cell: that ran.
      entry: the names before it did.
      options: of its run; what it measures or looks for is left out.
    """
    plain = StageOptions(
        static=options.static,
        dynamic=options.dynamic,
        loss=options.loss,
        wrt=options.wrt,
        has_aux=options.has_aux,
        jvp=options.jvp,
        hessian=options.hessian,
        xmap=options.xmap,
        device=options.device,
    )
    at = cell.shown.rstrip().rfind(cell.text.rstrip())

    def run(shown: str) -> Sequence[Any] | None:
        if at < 0 or len(cell.statements) > _MOST_STATEMENTS:
            return None
        if not all(dry_run.works(shown, behind, entry, _PATIENCE) for behind in range(len(cell.statements))):
            return None
        try:
            return list(Session().stage(shown[at:], dict(entry), plain).outputs.values())
        except Exception:  # what does not run is no fix
            return None

    return run


def _not_looked_for(why: str) -> Finding:
    return Finding("nans", f"nans were not looked for: {why.rstrip('.')}.")


def _all_there(results: Sequence[Any]) -> bool:
    return bool(results) and not any(
        one is None or (isinstance(one, jax.Array) and one.is_deleted()) for one in results
    )


def _run_again(held: Held) -> Sequence[Any]:
    given = [
        jax.device_put(leaf, leaf.sharding, may_alias=False) if at in held.donated else leaf
        for at, leaf in enumerate(held.inputs)
    ]
    return held.compiled(*given)


def _finding(eqns: Eqns, origin: Origin, name: str, kind: str) -> Finding | None:
    """What to say of one origin; None if the nan or inf was meant."""
    if origin.place is None:
        if origin.input is None:
            return _handed(eqns, origin, name) if kind == "nan" else None
        if not eqns.inputs[origin.input]:
            return None
        path = eqns.inputs[origin.input]
        message = f"{_named(name)} holds {kind}, and so did the input `{path}`, from which it comes."
        return Finding("nans", message, None, holder=path)
    op = eqns.op(origin.place)
    backward = eqns.is_backward(origin.place)
    where = "backward" if backward else "forward"
    what = _named(name) if name else "a derivative" if backward else "a result"
    cause = f"{cause}; " if (cause := cause_of(eqns, origin)) else ""
    parts = [f"{what} holds {kind}: {cause}in the {where} pass `{op.name}` gave {origin.kind}{_element(origin)}"]
    parts.append(_turns(origin))
    told = [_statistics(value) for value in origin.operands if _is_number(value)]
    parts.append(f". It had {'; and '.join(told)}" if told else "")
    if origin.then is not None and origin.then.place is not None:
        then = eqns.op(origin.then.place)
        line = eqns.line(origin.then.place)
        at = f" on line {line}" if line is not None else ""
        parts.append(f". Of that, `{then.name}`{at} made nan{_turns(origin.then)}")
    fixes = propose(eqns, origin, eqns.piece.cell.shown if eqns.piece.cell is not None else "")
    return Finding(
        "nans",
        "".join(parts) + ".",
        eqns.line(origin.place),
        span=op.span if op.span is not None and not op.span.file else None,
        holder=name,
        origin=_elsewhere(op) or _inside(eqns, eqns.line(origin.place)),
        fix=Fix(fixes[-1].text) if fixes else None,
    )


def _handed(eqns: Eqns, origin: Origin, name: str) -> Finding | None:
    """What to say of a nan that a function has put in because it has no value; what the cell writes is meant."""
    cell, place = eqns.piece.cell, origin.handed
    if place is None or cell is None or "nan" in cell.shown.lower():
        return None
    line, called = eqns.line(place), name_called(expression_at(eqns, place))
    advice = "give it more than one value, or a smaller ddof." if called in ("std", "var", "cov") else ""
    cause = "there are no more values than ddof takes away, it divides by 0" if advice else "it has no value for this"
    message = f"{_named(name)} holds nan: `{called or eqns.op(place).name}` gives nan, as {cause}."
    return Finding("nans", message, line, holder=name, origin=_inside(eqns, line), fix=Fix(advice) if advice else None)


def _inside(eqns: Eqns, line: int | None) -> str:
    return f"in `{function}`" if (function := function_at(eqns, line)) else ""


def _unexplained(name: str, kind: str) -> Finding:
    message = f"{_named(name)} holds {kind}, but not where its equations are computed one by one: rounding decides."
    return Finding("nans", message, holder=name)


def _named(name: str) -> str:
    return f"`{name}`" if name else "a result"


def _elsewhere(op: Op) -> str:
    return f"line {op.span.line} of {op.span.file}" if op.span is not None and op.span.file else ""


def _turns(origin: Origin) -> str:
    """In which iteration it was, for each loop around it."""
    texts = [
        f" in iteration {turn} (from 0) of a loop" + (f" of {length}" if length is not None else "")
        for turn, length in origin.iterations
    ]
    return "".join(texts[:1] + [text.replace(" in ", " inside of it in ", 1) for text in texts[1:]])


def _element(origin: Origin) -> str:
    """Of which numbers the first one was made, where the equation works element by element."""
    result = np.asarray(jax.device_get(origin.result))
    wrong = np.isnan(result) if origin.kind == "nan" else np.isinf(result)
    values = [np.asarray(jax.device_get(value)) for value in origin.operands if _is_number(value)]
    if not wrong.any() or not values or any(value.shape not in ((), result.shape) for value in values):
        return ""
    at = tuple(int(n) for n in np.argwhere(wrong)[0])
    texts = [f"{_number(value[at] if value.shape else value[()])}" for value in values]
    where = f" at [{', '.join(map(str, at))}]" if at else ""
    return f" of {' and '.join(texts)}{where}"


def _is_number(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return isinstance(value, int | float | complex) or (dtype is not None and jnp.issubdtype(dtype, np.number))


def _statistics(value: Any) -> str:
    """`float32[3] from 0 to 1, mean 0.5, 1 inf`."""
    array = jnp.asarray(value)
    text = f"{array.dtype.name}[{','.join(map(str, array.shape))}]"
    if not array.size:
        return text
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        array, text = jnp.abs(array), f"{text}, its absolute values"
    return text + "".join(_facts(array))


def _facts(array: Any) -> Iterator[str]:
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        yield f" from {int(array.min())} to {int(array.max())}"
        return
    wide = array.astype(jnp.promote_types(array.dtype, jnp.float32))
    finite = jnp.isfinite(wide)
    nans, infs, count = (int(n) for n in (jnp.isnan(wide).sum(), jnp.isinf(wide).sum(), finite.sum()))
    if count == 1 == array.size:
        yield f" {_number(wide.ravel()[0])}"
    elif count:
        low, high = (
            _number(n) for n in (jnp.where(finite, wide, jnp.inf).min(), jnp.where(finite, wide, -jnp.inf).max())
        )
        yield f" from {low} to {high}, mean {_number(jnp.where(finite, wide / count, 0).sum())}"
    if nans:
        yield f", {nans} nan"
    if infs:
        yield f", {infs} inf"


def _number(value: Any) -> str:
    value = np.asarray(value)
    if value.dtype.kind in "iub":
        return str(int(value))
    return f"{complex(value):.4g}" if value.dtype.kind == "c" else f"{float(value):.4g}"
