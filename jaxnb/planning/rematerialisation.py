"""What a gradient takes under other policies for what its forward pass keeps: each is traced, compiled and compared.

Nothing is bound, and nothing runs unless times are asked for. A policy is tried as the edit that would give it, where
one can be written: then the cell with that edit is what is compiled. Elsewhere, as where the gradient is taken in a
file, JAX is made to differentiate as if the edit stood there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from io import StringIO
from types import CodeType, FunctionType
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.planning.remat_edits import checkpoint_name_in, decorated, scans_in, wrapped_gradients
from jaxnb.program import Finding, Fix, RematPolicies, RematPolicy
from jaxnb.reading import residuals
from jaxnb.runtime import is_library
from jaxnb.staging import (
    CellSource,
    Piece,
    Progress,
    Session,
    compile_piece,
    hold_inputs,
    is_user_function,
    run_seconds,
)

__all__ = ["Seen", "below_magics", "try_policies"]

_LAYERS = 2  # functions that are tried as layers


@dataclass(frozen=True, slots=True)
class _Variant:
    """A policy, and how the cell is traced with it.

    Attributes:
      name: of the policy.
      text: the cell as displayed with the edit; None for the cell itself.
      options: of it.
      around: called for what is in force while it is traced.
      fix: what gives it.
    """

    name: str
    text: str | None
    options: StageOptions
    around: Callable[[], Any]
    fix: Fix


_Ways = tuple[_Variant, ...]
"""The ways to have one policy, of which the first that can be traced counts."""


def try_policies(
    session: Session,
    cell: CellSource,
    namespace: dict[str, Any],
    options: StageOptions,
    progress: Progress,
    *,
    time: bool = False,
) -> RematPolicies:
    """Compiles a cell that takes a gradient for every policy that there is for what the forward pass keeps.

    Args:
      session: that traces it.
      cell: which one.
      namespace: the names that it would begin with.
      options: of it; with `loss` and `wrt` the gradient of a name that it binds counts.
      progress: called with what is going on.
      time: whether each is run, too, on what the names stand for now, and measured.

    Raises:
      Refused: if the cell cannot be traced as a whole.
      JaxnbError: if nothing is differentiated in it.
    """
    __tracebackhide__ = True
    if options.xmap is not None or options.jvp:
        raise JaxnbError("policies are tried on gradients of cells that are not mapped over names.")
    trial = _Trial(session, cell, namespace, options, time)
    progress("tracing")
    seen = Seen(namespace)
    with seen.watched():
        base = trial.traced(None, trial.options)
    if base is None or not seen.gradients:
        raise JaxnbError(
            "no gradient is taken in the cell.",
            why="policies say what a forward pass keeps for the backward pass.",
            fix="%jaxnb remat loss wrt params takes the gradient of a name that the last cell bound.",
        )
    progress("compiling the cell as it is")
    if (same := _compiled_like(session, base)) is not None:
        base.has_compiled(same.compiled, 0.0, 0.0)
    now = trial.measured("as it is", base, None)
    found, variants = [now], list(_variants(trial, base, seen))
    for number, variant in enumerate(variants, start=1):
        progress(f"trying {number} of {len(variants)}: {variant[0].name}")
        found.append(_tried(trial, variant, base, now))
    findings = (*_rules(seen), *_undone(found))
    return RematPolicies(_what(options), tuple(found), findings, cell.shown or cell.text)


def _what(options: StageOptions) -> str:
    return f"the gradient of {options.loss} wrt {', '.join(options.wrt)}" if options.loss else "the gradient"


class _Trial:
    """One cell, traced and compiled in many forms."""

    def __init__(
        self, session: Session, cell: CellSource, namespace: dict[str, Any], options: StageOptions, time: bool
    ) -> None:
        self.session, self.cell, self.namespace, self.options, self._time = session, cell, namespace, options, time

    def traced(self, text: str | None, options: StageOptions) -> Piece | None:
        """The cell, or another text in its place, as one piece that is not compiled yet."""
        cell = self.cell if text is None else self.session.parse(below_magics(text, self.cell))
        with _jax.apart(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # the cell has said it
            whole = self.session.trace_whole(cell, self.namespace, options, runs=True)
        return None if whole is None else whole[1]

    def measured(self, name: str, piece: Piece, now: RematPolicy | None, fix: Fix | None = None) -> RematPolicy:
        """What a piece takes, compiled."""
        compile_piece(piece)
        figures = piece.read_figures()
        kept = sum(one.nbytes for one in residuals(piece.jaxpr) if one.made is not None)
        again = None
        if figures.flops is not None and (now is None or now.flops is not None):
            again = figures.flops - (now.flops or 0) if now is not None else 0
        seconds = self._seconds(piece) if self._time else None
        piece.has_compiled(None, 0.0, 0.0)  # an executable has memory of its own
        return RematPolicy(name, figures.peak, kept, again, figures.flops, seconds, fix=fix)

    def _seconds(self, piece: Piece) -> float | None:
        reached = piece.take_walk()
        ready = piece.ready(reached, self.namespace) if reached is not None else None
        if ready is None:
            return None
        values = ready.leaves if piece.prelude is None else piece.prelude.arguments(ready.leaves, ready.scalars)
        given = values if piece.placing is None else piece.placing.arguments(values)
        return run_seconds(hold_inputs(piece, given))


def _compiled_like(session: Session, piece: Piece) -> Piece | None:
    """A program of the session that is compiled, for such inputs, and is the same; None if there is none."""
    text = ""
    for other in session.programs():
        same = other.compiled is not None and other.cell is not None and other.cell.digest == _digest_of(piece)
        if same and (other.key, other.donation.leaves) == (piece.key, piece.donation.leaves):
            text = text or _text_of(piece)
            if _text_of(other) == text:
                return other
    return None


def _digest_of(piece: Piece) -> bytes:
    return piece.cell.digest if piece.cell is not None else b""


def _text_of(piece: Piece) -> str:
    return _ADDRESS.sub("", str(piece.jaxpr))


_ADDRESS = re.compile(r"0x[0-9a-f]+")


def below_magics(text: str, cell: CellSource) -> str:
    """The text of a cell without the magic lines above it, which the session gets without them."""
    offset = len((cell.shown or cell.text).split("\n")) - len(cell.text.rstrip("\n").split("\n"))
    return "\n".join(text.split("\n")[max(0, offset) :])


def _tried(trial: _Trial, ways: _Ways, base: Piece, now: RematPolicy) -> RematPolicy:
    why = ""
    for way in ways:
        try:
            with way.around():
                piece = trial.traced(way.text, way.options)
            if piece is not None and piece.result_types == base.result_types:
                return trial.measured(way.name, piece, now, replace(way.fix, verified=True))
            why = "its results would have other types"
        except Exception as error:  # of code that the policy does not fit
            why = re.split(r"\n|(?<=\w)\. ", str(error).strip() or type(error).__name__)[0]
    return RematPolicy(ways[-1].name, why=why)


# --- what is tried ---


def _variants(trial: _Trial, base: Piece, seen: Seen) -> Generator[_Ways]:
    words: list[tuple[str, tuple[str, ...]]] = [
        (word.replace("_", " "), (word,)) for word in ("nothing", "dots", "dots_without_batch", "everything")
    ]
    names = tuple(_jax.checkpoint_names(base.jaxpr))
    if names:
        words.append((", ".join(names), names))
    if _can_offload():
        words.append(("offload", ("offload",)))
    own = trial.options.remat
    if own:
        without = replace(trial.options, remat=())
        yield (_Variant("no policy", None, without, nullcontext, Fix("leave --remat out.")),)
    for name, policy in words:
        if policy != own:
            yield _of_whole(trial, name, policy)
    for layer in seen.layers()[:_LAYERS]:
        yield _of_layer(trial, layer)
    if any(eqn.primitive.name == "scan" for eqn in _jax.all_eqns(base.jaxpr)):
        yield _of_scans(trial)


def _can_offload() -> bool:
    kinds = {memory.kind for memory in jax.devices()[0].addressable_memories()}
    return jax.default_backend() != "cpu" and "pinned_host" in kinds


def _of_whole(trial: _Trial, name: str, policy: tuple[str, ...]) -> _Ways:
    """A policy for all that is differentiated."""
    if trial.options.loss is not None:
        options = replace(trial.options, remat=policy)
        fix = Fix("above the cell:", options=f"--remat {', '.join(policy)}")
        return (_Variant(name, None, options, nullcontext, fix),)
    shown = trial.cell.shown or trial.cell.text
    edit = wrapped_gradients(shown, trial.namespace, partial(_jax.written_policy, policy))
    wrap = partial(jax.checkpoint, policy=_jax.policy_of(policy))
    around = partial(_jax.differentiated_in, wrap)
    if edit is None:
        how = f"differentiate jax.checkpoint(f, policy={_jax.written_policy(policy)}) where f is differentiated now."
        return (_Variant(name, None, trial.options, around, Fix(how)),)
    text, changed = edit
    how = (
        f"differentiate jax.checkpoint(lambda w: f(w, ...), policy={_jax.written_policy(policy)}): what is no array"
        " must not pass through it."
    )
    return (
        _Variant(name, text, trial.options, nullcontext, Fix("let the gradient keep that:", edit=changed)),
        _Variant(name, None, trial.options, around, Fix(how)),
    )


def _of_layer(trial: _Trial, layer: _Layer) -> _Ways:
    """A function of which each call keeps its arguments alone."""
    name = f"each {layer.name}"
    edit = decorated(trial.cell.shown or trial.cell.text, layer.name, trial.namespace, layer.kind)
    if edit is None:
        fix = Fix(f"write {layer.decorator} above {layer.name}, where it is defined.")
        return (_Variant(name, None, trial.options, layer.wrapped, fix),)
    text, changed = edit
    fix = Fix(f"write {layer.decorator} above {layer.name}, with static_argnums for what is no array.")
    return (
        _Variant(name, text, trial.options, nullcontext, Fix("let each call keep its arguments alone:", edit=changed)),
        _Variant(name, None, trial.options, layer.wrapped, fix),
    )


def _of_scans(trial: _Trial) -> _Ways:
    """Loops of which each turn keeps its arguments alone."""
    edit = scans_in(trial.cell.shown or trial.cell.text, trial.namespace)
    if edit is not None:
        text, changed = edit
        fix = Fix("let each turn keep its arguments alone:", edit=changed)
        return (_Variant("each turn of scan", text, trial.options, nullcontext, fix),)
    fix = Fix("scan over jax.checkpoint(body) where body is scanned now.")
    return (_Variant("each turn of scan", None, trial.options, _jax.checkpointed_scans, fix),)


# --- what is differentiated ---


@dataclass(frozen=True, slots=True)
class _Layer:
    """A function that is called again and again by what is differentiated.

    Attributes:
      name: as its users write it: `layer`, `Block.__call__`.
      kind: whose checkpoint fits it: "jax", "nnx", "linen" or "equinox".
      owner: what has it as an attribute: a class; None for a function of the namespace.
      namespace: of the cell.
    """

    name: str
    kind: str
    owner: type | None
    namespace: dict[str, Any]

    @property
    def decorator(self) -> str:
        return f"@{checkpoint_name_in(self.namespace, self.kind)}"

    @contextmanager
    def wrapped(self) -> Generator[None]:
        """While it is in force each call is checkpointed."""
        attribute = self.name.rpartition(".")[2]
        plain: Any = self.owner.__dict__[attribute] if self.owner is not None else self.namespace[attribute]
        changed = _lifted(self.kind, plain) if self.kind in ("nnx", "linen") else _filtered(plain)
        if self.owner is not None:
            type.__setattr__(self.owner, attribute, changed)
        else:
            self.namespace[attribute] = changed
        try:
            yield
        finally:
            if self.owner is not None:
                type.__setattr__(self.owner, attribute, plain)
            else:
                self.namespace[attribute] = plain


def _lifted(kind: str, function: Any) -> Any:
    """A method of a module of flax in flax's own checkpoint, which takes care of the module's state."""
    remat = sys.modules[f"flax.{kind}"].remat

    @wraps(function)
    def wrapped(owner: Any, *args: Any, **kwargs: Any) -> Any:
        static = tuple(n for n, arg in enumerate(args, start=1) if not _is_tree_of_arrays(arg))
        given = partial(function, **kwargs) if kwargs else function
        return remat(given, static_argnums=static)(owner, *args)

    return wrapped


def _is_tree_of_arrays(value: Any) -> bool:
    return all(isinstance(leaf, jax.Array | np.ndarray) for leaf in jax.tree.leaves(value))


def _filtered(function: Any) -> Any:
    """A function whose arrays are those of a checkpoint; what else it is given stays as it is."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = jax.tree.flatten((args, kwargs))
        at = [n for n, leaf in enumerate(leaves) if isinstance(leaf, jax.Array | np.ndarray)]

        def inner(arrays: Sequence[Any]) -> Any:
            given = list(leaves)
            for n, array in zip(at, arrays, strict=True):
                given[n] = array
            args, kwargs = jax.tree.unflatten(structure, given)
            return function(*args, **kwargs)

        return jax.checkpoint(inner)([leaves[n] for n in at])

    return wrapped


@dataclass(slots=True)
class _Called:
    """Calls of a function: how often another one called it at the most, how much they did, and whom one called."""

    times: int = 0
    work: int = 0
    children: dict[CodeType, int] = field(default_factory=dict[CodeType, int])


class Seen:
    """What happens while the function is traced that is differentiated: whose calls come again, which functions have
    rules of their own.

    Attributes:
      gradients: how many gradients were taken.
      rules: functions with a rule of their own for the backward pass, which do not say that it may be left out.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._calls: dict[CodeType, _Called] = {}
        self._inside = 0
        self.gradients = 0
        self.rules: dict[int, Any] = {}

    @contextmanager
    def watched(self) -> Generator[None]:
        """Watches what is traced inside."""
        before = sys.getprofile()
        token = _watching.set(self)
        try:
            with _jax.differentiated_in(_watch), _jax.calls_of_rules(_note_rule):
                yield
        finally:
            _watching.reset(token)
            sys.setprofile(before)

    def note_rule(self, function: Any, leaves_out: bool) -> None:
        """A function with a rule of its own is called; whether that is left out where only the result is used."""
        if self._inside and not leaves_out and is_user_function(function):
            self.rules[id(function)] = function

    def run(self, function: Callable[..., Any], args: Any, options: Any) -> Any:
        """Calls what is differentiated, and counts whose calls come again."""
        self.gradients += 1
        self._inside += 1
        before, stack = sys.getprofile(), [_Called()]

        def profile(frame: Any, event: str, _: Any) -> None:
            code, module = frame.f_code, frame.f_globals.get("__name__")
            if code.co_name.startswith("<") or is_library(module) or _jax.in_jax(code.co_filename):
                stack[-1].work += event == "call"
            elif event == "call":
                found = self._calls.setdefault(code, _Called())
                stack[-1].children[code] = times = stack[-1].children.get(code, 0) + 1
                found.times = max(found.times, times)
                stack.append(_Called())
            elif event == "return" and len(stack) > 1:
                work = stack.pop().work
                self._calls.setdefault(code, _Called()).work += work
                stack[-1].work += work

        sys.setprofile(profile)
        try:
            return function(*args, **options)
        finally:
            sys.setprofile(before)
            self._inside -= 1

    def layers(self) -> list[_Layer]:
        """The functions of the user's that are called more than once, those that do the most first."""
        owners = {function.__code__: layer for function, layer in self._functions()}
        again = [code for code, called in self._calls.items() if called.times > 1 and code in owners]
        return [owners[code] for code in sorted(again, key=lambda code: -self._calls[code].work)]

    def _functions(self) -> Generator[tuple[FunctionType, _Layer]]:
        for name, value in list(self._namespace.items()):
            if isinstance(value, FunctionType) and is_user_function(value) and value.__name__ == name:
                yield value, _Layer(name, "jax", None, self._namespace)
            elif isinstance(value, type) and value.__name__ == name:
                for attribute, function in list(vars(value).items()):
                    if attribute == "__init__":
                        continue
                    function = getattr(function, "__wrapped__", function)
                    if isinstance(function, FunctionType) and is_user_function(function):
                        yield function, _Layer(f"{name}.{attribute}", _kind_of(value), value, self._namespace)


# Not in the closures of what stands for functions of JAX: what a trace reaches and changes is put back.
_watching: ContextVar[Seen] = ContextVar("what is seen of a gradient")


def _note_rule(function: Any, leaves_out: bool) -> None:
    _watching.get().note_rule(function, leaves_out)


def _watch(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **options: _watching.get().run(function, args, options)


def _kind_of(kind: type) -> str:
    """Whose checkpoint fits the methods of a class."""
    homes = {f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__}
    if any(home.startswith("flax.nnx") for home in homes):
        return "nnx"
    if any(home.startswith("flax.linen") for home in homes):
        return "linen"
    return "equinox" if any(home.startswith("equinox") for home in homes) else "jax"


def _undone(found: Sequence[RematPolicy]) -> Generator[Finding]:
    if jax.default_backend() == "cpu" and jax.__version_info__ < (0, 11) and any(one.again for one in found[1:]):
        yield Finding(
            "remat",
            "XLA for CPUs computes once what is to be computed again, before jax 0.11: peaks are lower elsewhere.",
        )


def _rules(seen: Seen) -> Generator[Finding]:
    for function in seen.rules.values():
        name = function.__name__
        yield Finding(
            "remat",
            f"`{name}` has a forward rule of its own, which runs twice where its residuals are not kept: in the forward"
            " pass, of which only the result is used, and again.",
            fix=Fix(f"{name}.defvjp(..., optimize_remat=True) has the forward pass compute only the result."),
        )
