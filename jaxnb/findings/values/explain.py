"""From an exception to a finding whose fix was tried: what is shown when a cell fails."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax

from jaxnb import _jax
from jaxnb.errors import Asking, JaxnbError, NeedsConcrete, unexplained
from jaxnb.findings.errors.explainer import Told, tell
from jaxnb.findings.errors.functions import called_value
from jaxnb.findings.errors.guesses import likely_guesses
from jaxnb.findings.errors.scene import Operand, Scene, read_scene, scene_of_run
from jaxnb.findings.place import FailedExpression, parse_shown
from jaxnb.findings.values import dry_run
from jaxnb.findings.values.clock import own_time
from jaxnb.findings.values.concretization import explain_needed, is_about_values
from jaxnb.findings.values.fixes import AS_PYTHON, apply_edit, as_python_number, propose
from jaxnb.program import Finding, Fix, attach, finding_of
from jaxnb.runtime import is_on_jax
from jaxnb.staging import Explained

__all__ = ["Explanation", "explain_plain", "find_needed", "try_fixes", "try_options"]

Label = Callable[[str], str]


class Known(NamedTuple):
    """What is known of an error.

    Attributes:
      finding: what there is to say, without a fix.
      fixes: what may help, the likeliest first.
      scene: of the error.
      guesses: edits that are told only if they were tried and work; they are tried first.
      unlikely: such edits, too, which are tried last.
      plain: an edit with which a trace makes what the plain cell makes; None if there is none.
      valued: whether the plain cell may have a value where the trace has none.
    """

    finding: Finding
    fixes: Sequence[Fix]
    scene: Scene
    guesses: Sequence[Fix] = ()
    unlikely: Sequence[Fix] = ()
    plain: tuple[int, str, str] | None = None
    valued: bool = False


MOST_OPERANDS = 5
"""So many operands are told."""


class Explanation(Explained):
    """What is known of an exception that a staged cell raised.

    It is read while the names are still those of the moment in which it was raised; fixes are tried when everything is
    as it was before the cell. An explanation that fails itself becomes a note: the cell's own error is what counts.

    Args:
      error: with its frames.
      here: the file name of the cell.
      source: the cell as displayed.
      label: what the user knows a file by.
    """

    def __init__(self, error: BaseException, here: str, source: str, label: Label) -> None:
        self._error, self._source = error, source
        asking = Asking(error, {}, {})
        if isinstance(error, NeedsConcrete) and error.asked is not None:
            asking, error.asked = error.asked, None
        self._known: Known | None = self._guarded(lambda: _read(asking, here, label))
        if self._known is None and not isinstance(error, JaxnbError):
            self._known = self._guarded(lambda: _read_run(error, here, source, label))

    def tell(self, namespace: dict[str, Any]) -> None:
        """Attaches the finding, with the best fix, to the exception.

        Args:
          namespace: what the cell began with; fixes are tried on a copy.
        """
        if self._known is None:
            return
        known = self._known
        tried: Tried | None = self._guarded(lambda: _tried(known, namespace, done=0))
        attach(self._error, _with_fix(known, tried.fix if tried is not None else None), self._source)
        if tried is not None and tried.late:
            _keep_untried(self._error, known, done=0)

    def _guarded(self, find: Callable[[], Any]) -> Any:
        try:
            return find()
        except jax.errors.InconclusiveDimensionOperation:  # sizes are names, which do not compare
            return None
        except Exception as fault:
            self._error.add_note(unexplained(fault))
            return None


def explain_plain(error: BaseException, label: Label, namespace: dict[str, Any]) -> tuple[Finding, str] | None:
    """The finding on an error that a plain cell raised, and the text that its lines are of; None if there is nothing to
    say.

    Args:
      error: with its frames.
      label: what the user knows a file by.
      namespace: the names as the failed statement saw them; fixes are tried on a copy.
    """
    known = _read(Asking(error, {}, {}), None, label)
    if known is None:
        return None
    scene = known.scene
    top = scene.callers[-1] if scene.callers else scene.failed
    done = sum((node.end_lineno or 0) < top.line for node in top.tree.body)
    tried = _tried(known, namespace, done)
    if tried.late:
        _keep_untried(error, known, done)
    return _with_fix(known, tried.fix), top.text


def _keep_untried(error: BaseException, known: Known, done: int) -> None:
    """Keeps with an error, whose frames are alive for as long as it is, what there was no time for."""
    error.__jaxnb_untried__ = known, done  # type: ignore[attr-defined]


def try_fixes(error: BaseException, namespace: dict[str, Any]) -> Finding | None:
    """The finding on an error with a fix that was tried for as long as it takes, within reason; None if there was time
    for all of them, or none may help.

    Args:
      error: that was explained.
      namespace: the names as they are.
    """
    known, done = getattr(error, "__jaxnb_untried__", (None, 0))
    if known is None:
        return None
    tried = _tried(known, namespace, done, _WHEN_ASKED)
    if not tried.late:
        del error.__jaxnb_untried__  # type: ignore[attr-defined]
    finding = _with_fix(known, tried.fix)
    found = finding_of(error)
    if found is not None:
        attach(error, finding, found[1])
    return finding


def _with_fix(known: Known, fix: Fix | None) -> Finding:
    """A finding with what helps, and the line that is edited among those that it shows."""
    finding, scene = known.finding, known.scene
    edited = {fix.edit[0]} if fix is not None and fix.edit is not None and fix.verified else set[int]()
    here = scene.failed.file == scene.here
    trail = sorted({*finding.trail, *(edited if here else ())})
    return replace(finding, fix=fix, trail=tuple(trail))


def find_needed(asking: Asking, here: str, label: Label) -> Finding | None:
    """The finding on an exception that asks for a concrete value, with advice that was not tried."""
    known = _read(asking, here, label)
    return replace(known.finding, fix=known.fixes[0]) if known is not None and known.fixes else None


# --- reading ---


def _read(asking: Asking, here: str | None, label: Label) -> Known | None:
    """The finding without a fix, what may help, and the scene."""
    error = asking.error
    if isinstance(error, SyntaxError | KeyboardInterrupt) or (isinstance(error, JaxnbError) and not asking.names):
        return None
    scene = read_scene(error, here, label, asking.names)
    if scene is None:
        return None
    if is_about_values(scene):
        found = explain_needed(asking, scene.here, label)
        if found is None:
            return None
        finding, failed, constant = found
        said = "" if isinstance(error, JaxnbError) else _sentence(error)
        fixes = propose(error, failed, constant)
        return Known(replace(finding, said=said), fixes, scene, plain=as_python_number(failed), valued=True)
    of_jax = _is_of_jax(scene)
    if not of_jax and not _names_array(scene):
        return None
    found = tell(scene)
    if found is None and not of_jax:
        return None
    elsewhere = isinstance(error, RuntimeError) and not isinstance(error, NotImplementedError)
    if found is None and (elsewhere or isinstance(error, jax.errors.UnexpectedTracerError)):
        return None  # what the runtime says of memory, and what leaked, have explanations of their own
    kind, told = found if found is not None else ("error", Told(_sentence(error)))
    return Known(_finding(scene, kind, told), told.fixes, scene, told.guesses, likely_guesses(scene))


def _read_run(error: BaseException, here: str, source: str, label: Label) -> Known | None:
    """The same of an error that came up while the compiled cell ran; None if there is nothing to say but its words."""
    scene = scene_of_run(error, here, source, label) if isinstance(error, RuntimeError) else None
    found = tell(scene) if scene is not None else None
    if scene is None or found is None:
        return None
    kind, told = found
    return Known(_finding(scene, kind, replace(told, about=())), told.fixes, scene)


def _is_of_jax(scene: Scene) -> bool:
    """Whether an error has to do with JAX: it raised it, ran around it, or arrays are what the expression works on."""
    error = scene.error
    if isinstance(error, AttributeError) and (error.name in dir(jax.Array) or isinstance(error.obj, jax.Array)):
        return True
    if any(_is_module_of_jax(scene.failed.value_of(node)) for node in ast.walk(scene.failed.statement)):
        return True
    named = (scene.failed.value_of(node) for node in ast.walk(scene.failed.node) if isinstance(node, ast.Name))
    if any(is_on_jax(str(getattr(one, "__module__", "") or type(one).__module__)) for one in named if one is not None):
        return True
    jax_below = any(step.module.partition(".")[0] in _jax.JAX_PACKAGES for step in scene.steps)
    return bool(jax_below or scene.under or scene.of_library or _jax.statics_of(called_value(scene)[0]) is not None)


def _names_array(scene: Scene) -> bool:
    """Whether a name in the failed expression stands for an array of JAX; for a number that a dtype does not hold, one
    in the statement around it."""
    whole = scene.failed.statement if isinstance(scene.error, OverflowError) else scene.failed.node
    names = (node for node in ast.walk(whole) if isinstance(node, ast.Name))
    return any(isinstance(scene.failed.value_of(node), jax.Array) for node in names)


def _is_module_of_jax(value: Any) -> bool:
    """Whether it is a module of JAX or of a library that stands on it."""
    if type(value).__name__ != "module":
        return False
    return value.__name__.partition(".")[0] in _jax.JAX_PACKAGES or is_on_jax(value.__name__)


def _finding(scene: Scene, kind: str, told: Told) -> Finding:
    failed = scene.failed
    ours = failed.file == scene.here
    line = told.line if told.line is not None else failed.line if ours else _calling_line(scene)
    about = scene.operands if told.about is None else told.about
    return Finding(
        kind,
        told.message,
        line,
        span=failed.span if ours and line == failed.line else None,
        origin=_origin(scene),
        trail=tuple(sorted({at for at in (line, failed.line if ours else None) if at is not None})),
        operands=tuple(_operand_texts(scene, about)),
        said="" if told.message == _sentence(scene.error) else _sentence(scene.error),
    )


def _operand_texts(scene: Scene, operands: Iterable[Operand]) -> list[str]:
    """Each with what it is and where it comes from, once; None only of what is known to be None."""
    shown: dict[str, None] = {}
    for operand in operands:
        if operand.value is None and not (operand.made and scene.is_known(operand.node)):
            continue
        if isinstance(operand.node, ast.Constant | ast.Lambda) or operand.text == "self" or _is_module(operand.value):
            continue
        made = f", {operand.made}" if operand.made else ""
        shown[f"`{_clipped(operand.text, 60)}`: {_clipped(operand.aval, 90)}{made}"] = None
    return list(shown)[:MOST_OPERANDS]


def _is_module(value: Any) -> bool:
    return type(value).__name__ in ("module", "function", "builtin_function_or_method", "PjitFunction", "type")


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


_NAMES_OF_TRANSFORMS = {
    "value_and_grad_f": "grad",
    "grad_f": "grad",
    "vmap_f": "vmap",
    "scan": "scan",
    "while_loop": "while_loop",
    "fori_loop": "fori_loop",
    "cond": "cond",
    "switch": "switch",
    "_trace_for_jit": "jit",
    "shard_map": "shard_map",
    "fun_remat": "checkpoint",
    "jacfun": "jacobian",
}


def _origin(scene: Scene) -> str:
    """In which function the expression stands, of which cell, if not of this one, and under which transformations."""
    failed = scene.failed
    parts: list[str] = []
    if failed.file != scene.here:
        parts.append(
            f"`{_clipped(' '.join(failed.expression.split()), 60)}`, line {failed.line} of {scene.label(failed.file)}"
        )
    if failed.function and not failed.function.startswith("<"):
        parts.append(f"in `{failed.function}`")
    under = dict.fromkeys(known for name in scene.under if (known := _NAMES_OF_TRANSFORMS.get(name)))
    if under:
        parts.append(f"under {', '.join(under)}")
    return " ".join(parts) if failed.function or failed.file != scene.here else ""


def _calling_line(scene: Scene) -> int | None:
    return next((caller.line for caller in scene.callers if caller.file == scene.here), None)


_ADDED = ("See https://", "-----", "This concrete value", "For simplicity, JAX has removed", "The error occurred while")
"""How lines begin that JAX adds to what it says."""


_HEADS = ("Traceback (most recent call last)", "Above is the stack outside of JIT")
"""What stands above a list of frames in a message."""


def _sentence(error: BaseException) -> str:
    """What an error says itself, without its name and without what JAX adds to every message."""
    text = str(error.args[0]) if len(error.args) == 1 and isinstance(error, KeyError) else str(error)
    kept: list[str] = []
    listed = '\n  File "' in text  # the frames of another error
    for line in text.strip().splitlines():
        if line.startswith(_ADDED):
            break
        if listed and (line.startswith("  ") or any(words in line for words in _HEADS)):
            continue
        if line.strip():
            kept.append(" ".join(line.split()))
    return _clipped(" ".join(kept), 600)


# --- fixes ---


class Tried(NamedTuple):
    """What helps, and whether there was no time to try all that may."""

    fix: Fix | None
    late: bool = False


_WHEN_ASKED = 30.0
"""Seconds that trials may take that somebody asked for."""


def _tried(known: Known, namespace: dict[str, Any], done: int, seconds: float | None = None) -> Tried:
    """The first fix that works; of those that could not be tried, the first; what was tried in vain is not told.

    Args:
      known: of the error.
      namespace: what the statements begin with; fixes are tried on a copy.
      done: how many statements of the cell have run, so that the namespace has what they bound.
      seconds: for all of them, by default what a cell may be held up.
    """
    end = own_time() + (dry_run.PATIENCE if seconds is None else seconds)
    advice, late = None, False
    expected: dry_run.Trial | None = None
    edits = [fix for fix in known.fixes if fix.edit is not None]
    words = [fix for fix in known.fixes if fix.edit is None]
    for fix in (*known.guesses, *edits, *known.unlikely, *words):
        verdict: bool | None = None
        is_guess = fix in known.guesses or fix in known.unlikely
        if fix.edit is not None:
            trial = _trial(fix.edit, known.scene, namespace, done, end)
            verdict = trial.verdict
            if verdict and known.plain is not None:
                if expected is None:
                    names = {**namespace, AS_PYTHON: dry_run.as_python}
                    expected = _trial(known.plain, known.scene, names, done, end)
                verdict = verdict and (not expected.verdict or trial.agrees_with(expected))
            if verdict and known.valued and trial.small:
                verdict = _computes_the_same(fix.edit, known.scene, namespace, done, end)
            if verdict is None and own_time() >= end:
                late = True
                fix = replace(fix, text=f"{fix.text.rstrip('.')} (there was no time to try it: %jaxnb try).")
        if verdict:
            failed = known.scene.failed
            where = f"in {known.scene.label(failed.file)}, " if failed.file != known.scene.here else ""
            return Tried(replace(fix, text=f"{where}{fix.text}", verified=True))
        if verdict is None and advice is None and not is_guess:
            advice = fix
    return Tried(advice, late)


def _trial(edit: tuple[int, str, str], scene: Scene, namespace: dict[str, Any], done: int, end: float) -> dry_run.Trial:
    """Whether the cell goes on past where it failed with an edit in it, and what it makes then."""
    failed = scene.failed
    top = scene.callers[-1] if scene.callers else failed
    if top.file != scene.here or own_time() >= end:
        return dry_run.Trial()
    try:
        if failed.file != scene.here and not _is_of(top.text, edit):
            return _trial_in_other(edit, failed, top, namespace, end)
        tree = parse_shown(apply_edit(top.text, edit))
    except ValueError:  # the lines are not those of a cell that can be edited
        return dry_run.Trial()
    if tree is None:
        return dry_run.Trial(False)
    until, since = _reach(edit, top, done)
    left = end - own_time()
    whole = dry_run.trace(tree.body, namespace, left, since=since, ran=done, all_of_it=True, objects=True)
    left = end - own_time()
    if whole.verdict is not None or until == len(tree.body) or left <= 0:
        return whole
    return dry_run.trace(tree.body[:until], namespace, left, since=since, ran=done, objects=True)


def _computes_the_same(
    edit: tuple[int, str, str], scene: Scene, namespace: dict[str, Any], done: int, end: float
) -> bool:
    """Whether the statement that failed makes the same numbers with an edit as without it and without jit; that is so
    where they are not known, too: in what cannot run without a trace, or not as quickly."""
    top = scene.callers[-1] if scene.callers else scene.failed
    tree = parse_shown(apply_edit(top.text, edit)) if _is_of(top.text, edit) else None
    if tree is None:
        return True
    until, since = _reach(edit, top, done)
    left = len(top.tree.body) - until
    plain = dry_run.computed(top.tree.body[:until], namespace, end - own_time(), since, done)
    if plain is None or own_time() >= end:
        return True
    edited = dry_run.computed(tree.body[: len(tree.body) - left], namespace, end - own_time(), since, done)
    return edited is None or dry_run.are_the_same(edited, plain)


def _reach(edit: tuple[int, str, str], top: FailedExpression, done: int) -> tuple[int, int]:
    """How many statements of a cell there are up to the one that failed, and the first that an edit changes or that has
    not run."""
    until = sum(node.lineno <= _end(top) for node in top.tree.body)
    return until, min([done, *(n for n, node in enumerate(top.tree.body) if (node.end_lineno or 0) >= edit[0])])


def _is_of(text: str, edit: tuple[int, str, str]) -> bool:
    """Whether the lines that an edit changes stand in a text."""
    line, old, _ = edit
    return text.split("\n")[line - 1 : line + old.count("\n")] == old.split("\n")


def _end(place: FailedExpression) -> int:
    return place.calls[0] if place.calls else place.line


def _trial_in_other(
    edit: tuple[int, str, str], failed: FailedExpression, top: FailedExpression, namespace: dict[str, Any], end: float
) -> dry_run.Trial:
    """The same where the edit is of a function that another cell defined."""
    tree = parse_shown(apply_edit(failed.text, edit))
    if tree is None:
        return dry_run.Trial(False)
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _around(node, edit[0])]
    if not defined:
        return dry_run.Trial()
    calling = [node for node in top.tree.body if node.lineno <= _end(top) <= (node.end_lineno or 0)]
    return (
        dry_run.trace([*defined, *calling], namespace, end - own_time(), objects=True) if calling else dry_run.Trial()
    )


def _around(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def try_options(finding: Finding, source: str, namespace: dict[str, Any]) -> Finding:
    """A finding on a retrace whose fix is an option of the header, tried. Where the value is needed it stays advice:
    the cell is split then, and what can be compiled is reused.

    Args:
      finding: as it is.
      source: the cell as displayed.
      namespace: in which it ran.
    """
    fix = finding.fix
    option, _, names = fix.options.partition(" ") if fix is not None else ("", "", "")
    if fix is None or option != "--dynamic":
        return finding
    verdict = dry_run.works(source, 0, namespace, dynamic=tuple(name.strip() for name in names.split(",")))
    return replace(finding, fix=replace(fix, verified=bool(verdict)))
