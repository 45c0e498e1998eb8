"""Gradients that are zero because something stops them, derivatives by integers, and what a backward pass wastes.

A gradient that is zero whatever the inputs are is put into the program as zeros; the equations of the function say
where the derivative ended. A gradient that some number keeps from being zero is never told of, so that a comparison in
a mask or an argmax in a metric is not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import jax
from jax.extend import core as jax_core

from jaxnb import _jax
from jaxnb._jax import eqn_frames, eqn_scope, name_parts, open_jaxpr, shape_and_dtype
from jaxnb.findings.lints.ascent_text import ascents
from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.lints.census import FLOATS, census_of, is_zero, jaxprs_of
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.gradient_blockers import Flow, follow, stop_text
from jaxnb.findings.lints.gradient_text import gradients_in_words
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.program import Finding, Fix, Span
from jaxnb.reading import computations, is_recomputed, nbytes, peak_bytes, residuals
from jaxnb.runtime import is_own
from jaxnb.staging import Piece, Statement, leaves_of, render_path, root_name
from jaxnb.units import format_bytes

__all__ = ["LARGE", "LINT", "find_gradients"]

LARGE = 256 * 2**20
"""Bytes that a line may keep for the backward pass before that is told."""

_DEAR = frozenset({"dot_general", "conv_general_dilated", "sort", "while", "scan", "custom_vjp_call"})
"""What is not computed twice lightly."""


def find_gradients(traced: LintContext) -> Iterator[Finding]:
    """What there is to say about the derivatives in a piece."""
    if traced.census.marks:
        reading = _Reading(traced)
        if traced.piece.derivative is not None and not traced.piece.derivative.along:
            yield from reading.of_the_cell()
        yield from reading.of_functions()
        yield from reading.without_a_backward_pass()
        if "rematted_computation" in traced.census.marks:
            yield from reading.rules_run_twice()
        if reading.large_values():
            yield from reading.large_residuals()
    if traced.census.marks or "allow_int" in traced.cell.text:
        yield from _integers(traced)


def _peak(piece: Piece) -> int | None:
    """The bytes that a piece takes at its peak: what it keeps for a backward pass is among them."""
    if piece.figures is not None:
        return piece.figures.peak
    return None if piece.compiled is None else peak_bytes(piece.compiled)


def _may_stop(traced: LintContext) -> bool:
    """Whether `find_gradients` could find a gradient that is zero, or a rule that runs twice; quick, and never wrong
    when it says no."""
    if "rematted_computation" in traced.census.marks:
        return True
    jaxpr = open_jaxpr(traced.piece.jaxpr)
    if traced.piece.derivative is not None and any(map(is_zero, jaxpr.outvars)):
        return True
    filled = (eqn for _, census, _ in jaxprs_of(jaxpr) for eqn in census.zeros)
    return any(_zeros_of(eqn) is not None for eqn in filled) or next(_only_forward(jaxpr), None) is not None


def _may_waste(traced: LintContext) -> bool:
    """The same of what large values are kept for a backward pass, and of derivatives by integers, after a run."""
    peak = _peak(traced.piece)
    if peak is None or peak >= LARGE:
        return True
    return next(_bound_float0(traced.statements, traced.namespace), None) is not None


def _integers(traced: LintContext) -> Iterator[Finding]:
    """Names bound to the derivative by an integer, whose dtype is float0."""
    for name, statement in _bound_float0(traced.statements, traced.namespace):
        message = f"`{name}` holds a derivative by an integer: its dtype is float0, and it has no numbers."
        fix = Fix("take derivatives by floats: convert the argument, or leave it out of argnums.")
        yield Finding("gradient", message, statement.span.line, holder=name, fix=fix)


def _bound_float0(statements: Iterable[Statement], namespace: Mapping[str, Any]) -> Iterator[tuple[str, Statement]]:
    for statement in statements:
        for name in sorted(statement.names.binds):
            value = namespace.get(name)
            if isinstance(value, jax.Array | FunctionType):
                continue  # a float0 is NumPy's
            if any(getattr(leaf, "dtype", None) == jax.dtypes.float0 for _, leaf in leaves_of(value)):
                yield name, statement


class _Reading:
    """The equations of a piece that have to do with derivatives."""

    def __init__(self, traced: LintContext) -> None:
        self._traced = traced
        self._known: dict[int, tuple[bool, bool]] = {}
        self._jaxpr = open_jaxpr(traced.piece.jaxpr)
        self._jaxprs = [(one, census, next(iter(owners), None)) for one, census, owners in jaxprs_of(self._jaxpr)]
        self._told: set[Hashable] = set()

    def of_the_cell(self) -> Iterator[Finding]:
        """Gradients of `%%grad` that are zero though the loss is computed from what they are taken by."""
        derivative = self._traced.piece.derivative
        assert derivative is not None
        for path, var, result in self._gradients(derivative.wrt):
            if not self._is_zero(result):
                continue
            flow = follow(self._jaxpr.eqns, var, self._is_forward)
            if flow.stops:
                yield self._stopped(f"the gradient by `{path}` is zero", path, flow.stops[0], None)

    def of_functions(self) -> Iterator[Finding]:
        """Gradients that `jax.grad` and its kin gave inside of the cell, and that are zero."""
        results = self._jaxpr.outvars
        names = {id(results[at]): name for name, at in self._traced.piece.results}
        told = self._told
        for jaxpr, census, owner in self._jaxprs:
            for eqn in census.zeros:
                call = _zeros_of(eqn)
                if call is None or (call == () and owner is None):
                    continue
                for flow in self._stopped_flows(jaxpr, eqn, call):
                    path = flow.stops[0]
                    if id(path[-1]) in told or (_is_meant(path) and self._goes_back(jaxpr, call)):
                        continue
                    told.add(id(path[-1]))
                    name = names.get(id(eqn.outvars[0]), "") if owner is None else ""
                    what = f"`{name}`" if name else f"a gradient, {_form(eqn.outvars[0].aval)},"
                    yield self._stopped(f"{what} is zero", name, path, owner)
                    break

    def without_a_backward_pass(self) -> Iterator[Finding]:
        """Gradients by numbers that are zero: JAX writes such a zero down, and there is no equation that fills it in.

        What is differentiated has no backward pass then. The same is true of a sum, whose derivative is 1.
        """
        for jaxpr, owner in _only_forward(self._jaxpr):
            calls: dict[Hashable, tuple[str, list[Any]]] = {}
            for eqn in jaxpr.eqns:
                if self._is_forward(eqn) and (asked := _asked_by(eqn)) is not None:
                    calls.setdefault(asked[0], (asked[1], []))[1].append(eqn)
            for name, inside in calls.values():
                flows = [flow for flow in _flows_of_numbers(inside) if flow.stops]
                path = flows[0].stops[0] if flows and not _is_sum(inside) else None
                if path is not None and id(path[-1]) not in self._told:
                    self._told.add(id(path[-1]))
                    what = f"the gradient of `{name}`" if name.isidentifier() else "a gradient"
                    yield self._stopped(f"{what} is zero", "", path, owner)

    def rules_run_twice(self) -> Iterator[Finding]:
        """Functions with a `jax.custom_vjp` under `jax.checkpoint`, whose forward rule runs in both passes."""
        again = dict.fromkeys(self._line(eqn, owner) for eqn, owner in self._rules(True))
        first = {self._line(eqn, owner) for eqn, owner in self._rules(False)} if again else set[int | None]()
        for line in again:
            if line is not None and line in first:
                message = (
                    "a function with a custom_vjp is called under jax.checkpoint: its forward rule runs twice, in the "
                    "forward pass too, where what it keeps is thrown away."
                )
                fix = Fix("define it with f.defvjp(fwd, bwd, optimize_remat=True): the function itself runs first.")
                yield Finding("gradient", message, line, fix=fix)

    def large_values(self) -> bool:
        """Whether what differentiated functions compute is as large as to be worth a look at what is kept of it."""
        peak = _peak(self._traced.piece)
        if peak is not None and peak < LARGE:
            return False
        forward = (eqn for jaxpr, _, _ in self._jaxprs for eqn in jaxpr.eqns if self._is_forward(eqn))
        return sum(nbytes(v.aval) for eqn in forward for v in eqn.outvars) >= LARGE

    def large_residuals(self) -> Iterator[Finding]:
        """What lines keep for the backward pass that could be computed again."""
        visited = computations(self._traced.piece.jaxpr)
        sizes: dict[int, int] = {}
        names: dict[int, list[str]] = {}
        functions: dict[int, str] = {}
        for kept in residuals(visited):
            if kept.made is None or kept.policy or kept.label or kept.origin is None:
                continue
            eqn = visited[kept.origin[0]].jaxpr.eqns[kept.origin[1]]
            top = visited[kept.made[0]].jaxpr.eqns[kept.made[1]]
            reader = visited[kept.read[0]].jaxpr.eqns[kept.read[1]].primitive.name
            if reader == "remat2":
                continue  # it is what a checkpoint starts from
            line = self._line(eqn, None) or self._line(top, None)
            if line is not None and eqn.primitive.name not in _DEAR:
                sizes[line] = sizes.get(line, 0) + kept.nbytes
                names.setdefault(line, []).append(f"`{eqn.primitive.name}`")
                functions.setdefault(line, _function_of(eqn) or _function_of(top))
        for line, size in sizes.items():
            if size >= LARGE:
                what = ", ".join(dict.fromkeys(names[line]))
                message = (
                    f"{format_bytes(size)} of {what} are kept for the backward pass, and are cheap to compute again."
                )
                what = (
                    f"put {functions[line]} under jax.checkpoint: "
                    if functions[line]
                    else ("put these lines into a function, and that under jax.checkpoint: ")
                )
                fix = Fix(f"{what}it then keeps its arguments alone.")
                yield Finding("gradient", message, line, fix=fix)

    # --- helpers ---

    def _marks(self, eqn: Any) -> tuple[bool, bool]:
        """Whether an equation is of a differentiated function, and whether it is of a backward pass."""
        key = id(eqn_scope(eqn))
        if key not in self._known:
            transforms = {name for is_transform, name in name_parts(eqn) if is_transform}
            self._known[key] = "jvp" in transforms, "transpose" in transforms
        return self._known[key]

    def _is_forward(self, eqn: Any) -> bool:
        return self._marks(eqn) == (True, False)

    def _is_zero(self, atom: Any) -> bool:
        """Whether a result is zero whatever the inputs are."""
        if type(atom) is jax_core.Literal:
            return is_zero(atom)
        return any(atom in eqn.outvars and _zeros_of(eqn) is not None for eqn in self._jaxpr.eqns)

    def _gradients(self, wrt: Sequence[str]) -> Iterator[tuple[str, Any, Any]]:
        """For each leaf that `%%grad` differentiates by: its path, its input, and its gradient among the results."""
        piece, jaxpr = self._traced.piece, self._jaxpr
        first = len(jaxpr.invars) - len(piece.paths)
        inputs = {render_path(path): jaxpr.invars[first + at] for at, path in enumerate(piece.paths)}
        leaves: list[str] = []
        for name in wrt:
            tree = self._traced.namespace.get(f"d_{name}")
            paths = jax.tree_util.tree_flatten_with_path(tree)[0]
            leaves += [name + jax.tree_util.keystr(path) for path, _ in paths]
        if piece.derivative is not None and piece.derivative.hessian:
            return
        own = {render_path(path) for path in piece.paths if root_name(path) in wrt}
        if not leaves or not set(leaves) <= own or len(leaves) > len(jaxpr.outvars):
            return
        for path, result in zip(leaves, jaxpr.outvars[len(jaxpr.outvars) - len(leaves) :], strict=True):
            yield path, inputs[path], result

    def _stopped_flows(self, jaxpr: Any, zeros: Any, call: Any) -> Iterator[Flow]:
        """How values of the form of a zero gradient end in what the same call of `jax.grad` differentiated."""
        form = shape_and_dtype(zeros.outvars[0].aval)
        inside = [eqn for eqn in jaxpr.eqns if self._is_forward(eqn) and (not call or call in set(eqn_frames(eqn)))]
        made = {v for eqn in inside for v in eqn.outvars}
        read = dict.fromkeys(v for eqn in inside for v in eqn.invars if type(v) is not jax_core.Literal)
        for var in read:
            if var in made or shape_and_dtype(var.aval) != form:
                continue
            flow = follow(inside, var)
            last = flow.reached - {var} - set(read)  # a loss is among these if the derivative gets there
            if flow.stops and not last:
                yield flow

    def _goes_back(self, jaxpr: Any, call: Any) -> bool:
        """Whether the same call of `jax.grad` has another gradient, which is not zero."""
        return any(self._marks(eqn)[1] and (not call or call in set(eqn_frames(eqn))) for eqn in jaxpr.eqns)

    def _rules(self, again: bool) -> Iterator[tuple[Any, Any]]:
        """The equations of forward rules, in the forward pass or where it is computed again."""
        for jaxpr, _, owner in self._jaxprs:
            for eqn in jaxpr.eqns:
                marked = is_recomputed(eqn) if again else self._is_forward(eqn)
                if marked and eqn.primitive.name not in ("remat_opt", "closed_call") and _is_of_rule(eqn):
                    yield eqn, owner

    def _stopped(self, what: str, holder: str, path: tuple[Any, ...], owner: Any) -> Finding:
        stop = path[-1]
        span = next((found for eqn in reversed(path) if (found := self._span(eqn)) is not None), None)
        line = span.line if span is not None else self._line(owner, None) if owner is not None else None
        on = f" on line {line}" if line is not None else ""
        message = f"{what}: the derivative ends{on} at {stop_text(stop)}."
        return Finding("gradient", message, line, span=span, holder=holder, fix=_fix_of(stop))

    def _span(self, eqn: Any) -> Span | None:
        span = self._traced.spans.of(eqn, None)
        return span if span is not None and not span.file else None

    def _line(self, eqn: Any, owner: Any) -> int | None:
        for one in (eqn, owner):
            span = self._span(one) if one is not None else None
            if span is not None:
                return span.line
        return None


def _is_meant(path: tuple[Any, ...]) -> bool:
    """Whether a derivative ends where somebody has it end: a part of the parameters may be meant to stay as it is."""
    return path[-1].primitive.name == "stop_gradient"


def _function_of(eqn: Any) -> str:
    """The function of the user's in which an equation was made, in backticks; "" at the top of a cell."""
    for code, _ in eqn_frames(eqn):
        if not _jax.in_jax(code.co_filename):
            name = code.co_name
            return "the lambda" if name == "<lambda>" else f"`{name}`" if name.isidentifier() else ""
    return ""


def _fix_of(stop: Any) -> Fix:
    name = stop.primitive.name
    if name == "stop_gradient":
        return Fix("take stop_gradient away, or put stop_gradient(…) only around what is to stay as it is.")
    if name in ("argmax", "argmin"):
        return Fix("use a smooth choice, jax.nn.softmax or logsumexp, where a gradient is wanted.")
    if name in ("round", "floor", "ceil", "sign", "convert_element_type"):
        straight = "let the gradient pass as if it were not there: x + jax.lax.stop_gradient(jnp.round(x) - x)"
        smooth = (
            "take a smooth function, such as jnp.tanh or a hinge" if name == "sign" else "interpolate, for an index"
        )
        return Fix(f"{straight}; or {smooth}.")
    return Fix("use a smooth function, such as jax.nn.sigmoid, where a gradient is wanted.")


def _zeros_of(eqn: Any) -> Any:
    """The frame of the user's that asked for a derivative which JAX then filled with zeros.

    Returns:
      The frame; () if it is none of the user's, as with `%%grad` and where `jax.jit` called it; None of any other
      equation.
    """
    if eqn.primitive.name != "broadcast_in_dim" or not is_zero(eqn.invars[0]):
        return None
    filled = False
    for frame in eqn_frames(eqn):
        code = frame[0]
        if _jax.in_jax(code.co_filename):
            filled = filled or code.co_name == "instantiate_zeros"
        elif not filled:
            return None
        elif not is_own(code.co_filename):
            return frame
        else:
            return ()
    return () if filled else None


def _only_forward(jaxpr: Any, owner: Any = None) -> Iterator[tuple[Any, Any]]:
    """The jaxprs in which functions are differentiated and nothing is of a backward pass, each with the outermost
    equation that it stands in; not those that an equation of a differentiated function runs."""
    census = census_of(jaxpr)
    if census.forward:
        yield jaxpr, owner
    for one in census.inner if "jvp" in census.marks else ():
        if "jvp" in one.census.marks and not any(name == "jvp" for _, name in name_parts(one.eqn)):
            yield from _only_forward(open_jaxpr(one.body), owner or one.eqn)


def _asked_by(eqn: Any) -> tuple[Hashable, str] | None:
    """Which call of `jax.grad` or `jax.value_and_grad` made an equation, and the name of the function that it
    differentiates; None of none of them, and of derivatives of derivatives."""
    function, found = "", False
    for frame in eqn_frames(eqn):
        code = frame[0]
        if not _jax.in_jax(code.co_filename):
            if found:
                return frame, function or str(eqn.params.get("name", ""))  # that of a jitted function
            function = code.co_name
        elif code.co_name == "value_and_grad_f":
            if found:
                return None
            found = True
    return ((), function or str(eqn.params.get("name", ""))) if found else None


def _flows_of_numbers(inside: Sequence[Any]) -> Iterator[Flow]:
    """Where the numbers go that a differentiated function is given, as far as derivatives do, if not to its result."""
    made = {v for eqn in inside for v in eqn.outvars}
    read = dict.fromkeys(v for eqn in inside for v in eqn.invars if type(v) is not jax_core.Literal)
    for var in read:
        if var not in made and _is_number(var):
            flow = follow(inside, var)
            if not flow.reached - {var} - set(read):
                yield flow
    for eqn in [one for one in inside if one.primitive.name == "jit"]:
        body = open_jaxpr(eqn.params["jaxpr"])
        for atom, var in zip(eqn.invars, body.invars, strict=True):
            if type(atom) is jax_core.Literal and _is_number(atom):  # a number that the cell itself has made
                flow = follow(body.eqns, var)
                if flow.reached.isdisjoint(v for v in body.outvars if type(v) is not jax_core.Literal):
                    flow.stops = [(eqn, *path) for path in flow.stops]
                    yield flow


def _is_number(atom: Any) -> bool:
    return getattr(atom.aval, "shape", None) == () and getattr(atom.aval, "dtype", None) in FLOATS


def _is_sum(inside: Sequence[Any]) -> bool:
    """Whether a number may go into the result by sums alone, of which nothing is left in a backward pass."""
    made = {v for eqn in inside for v in eqn.outvars}
    read = {v for eqn in inside for v in eqn.invars if type(v) is not jax_core.Literal}
    sums = [eqn for eqn in inside if _adds(eqn)]
    return any(follow(sums, var).reached - {var} - read for var in read - made if _is_number(var))


def _adds(eqn: Any) -> bool:
    if eqn.primitive.name == "jit":
        return all(map(_adds, eqn.params["jaxpr"].eqns))
    return eqn.primitive.name in _SUMS


_SUMS = frozenset({"add", "add_any", "sub", "convert_element_type", "reshape", "squeeze", "copy"})


def _is_of_rule(eqn: Any) -> bool:
    """Whether JAX made an equation while it ran a rule of a `jax.custom_vjp`."""
    for code, _ in eqn_frames(eqn):
        if not _jax.in_jax(code.co_filename):
            return False
        if code.co_name == "process_custom_vjp_call":
            return True
    return False


def _form(aval: Any) -> str:
    shape, dtype, _ = shape_and_dtype(aval)
    return f"{dtype}[{','.join(map(str, shape))}]"


def _when(traced: LintContext) -> When:
    if traced.census.marks and _may_stop(traced):
        return When.TRACED
    return When.RAN if traced.census.marks or "allow_int" in traced.cell.text else When.NEVER


def _in_words(cell: CellText) -> Iterator[Finding]:
    yield from gradients_in_words(cell)
    yield from ascents(cell)


LINT = Lint(find_gradients, _when, _may_waste, in_words=_in_words)
