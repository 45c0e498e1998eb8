"""Functions of the host that compiled code calls: what they were promised to return, and what they raise."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import string
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxnb import _jax
from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import argument_of, calls_named, name_called, named_like
from jaxnb.findings.errors.edits import advice, joined, put, segment, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene, abstract_text, is_array
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]

_LIBRARIES = tuple(path for name, path in sysconfig.get_paths().items() if name in ("purelib", "platlib"))
_CALLING = ("pure_callback", "io_callback", "callback")
_WHOLE = ("expand_dims", "broadcast_all", "legacy_vectorized")
"""What `vmap_method` may be that hands the host whole batches."""


def _name(scene: Scene) -> str:
    return name_called(scene.failed.node) or next((one for one in _CALLING if one in scene.inside), "the callback")


# --- the promise ---


def _promise(scene: Scene) -> Told | None:
    """A promise that is none: no shapes and dtypes, or 64-bit types where there are none."""
    name, given = _name(scene), scene.argument(1, "result_shape_dtypes")
    if isinstance(scene.error, AttributeError):
        if given is None:
            return None
        step = scene.step("pure_callback", "io_callback")
        value = step.names.get("result_shape_dtypes") if step is not None else given.value
        what = f"{type(value).__name__} {value!r}" if isinstance(value, list | tuple) else abstract_text(value)
        message = (
            f"the second argument of `{name}` says with which shape and dtype the function returns: `{given.text}` is"
            f" the {what}, which has no dtype."
        )
        word = f"{words_of(scene, 'jax', 'jax')}.ShapeDtypeStruct"
        holder = given.text.removesuffix(".shape") if given.text.endswith(".shape") else ""
        dtype = f"{holder}.dtype" if holder else f"{words_of(scene)}.float32"
        fix = put(scene.failed, "promise a shape and a dtype", given.node, f"{word}({given.text}, {dtype})")
        return Told(message, (fix, advice("promise jax.ShapeDtypeStruct(shape, dtype).")))
    wide = _wide(scene, given)
    if given is None or not wide:
        return None
    message = f"`{name}` is promised {joined(wide)}, and 64-bit types are off: jax_enable_x64 is not set."
    fixes = [
        put(scene.failed, "promise 32 bits", node, ast.unparse(node).replace("64", "32"))
        for node in ast.walk(given.node)
        if isinstance(node, ast.Attribute | ast.Name) and ast.unparse(node).endswith("64")
    ]
    return Told(message, (*fixes, advice('promise float32, or set jax.config.update("jax_enable_x64", True).')))


def _wide(scene: Scene, given: Operand | None) -> list[str]:
    step = scene.step(*RAISING["callback-result"])
    seen = [one for one in (step.names.values() if step is not None else ()) if is_array(one)]
    return [str(one.dtype) for one in seen if str(one.dtype).endswith("64")] or (["64 bits"] if given else [])


# --- transformations ---


def _mapped(scene: Scene) -> Told | None:
    name, node = _name(scene), scene.failed.node
    ordered = argument_of(node, -1, "ordered")
    if scene.step("io_callback_batching_rule") is not None and ordered is not None:
        message = f"`{name}` with ordered=True cannot run under `vmap`: the order of the calls is not defined there."
        fixes = [put(scene.failed, "give up the order", ordered, "False")]
        return Told(message, (*fixes, advice("pass ordered=False, or call it outside of vmap.")), ())
    if not isinstance(node, ast.Call):
        return None
    message = f"`{name}` is called under `vmap`, and vmap_method does not say how the function takes a batch."
    given = argument_of(node, -1, "vmap_method")
    said = "call it once for each element"
    fix = (
        put(scene.failed, said, given, '"sequential"')
        if given is not None
        else with_more(scene.failed, said, node, 'vmap_method="sequential"')
    )
    hint = 'pass vmap_method="sequential", or "broadcast_all" if the function takes whole batches.'
    return Told(message, (fix, advice(hint)))


def _derived(scene: Scene) -> Told | None:
    name = _name(scene)
    function = scene.argument(0, "callback")
    whose = f" `{function.text}`" if function is not None and isinstance(function.node, ast.Name) else ""
    message = (
        f"`{name}` has no derivative: JAX does not see what the host function{whose} computes, and a gradient goes"
        " through it."
    )
    hint = (
        "give it one with jax.custom_jvp or jax.custom_vjp, compute it in jnp, or cut the gradient:"
        " jax.lax.stop_gradient on its arguments."
    )
    return Told(message, (advice(hint),))


# --- while the program runs ---


@dataclass(frozen=True, slots=True)
class _Raised:
    """What the text of a runtime error keeps of the Python error in a callback.

    Attributes:
      frames: file, line and function of each frame, the outermost first.
      text: the error's last lines, with its class.
    """

    frames: tuple[tuple[str, int, str], ...]
    text: str

    @property
    def host(self) -> tuple[tuple[str, int, str], ...]:
        """The frames of what was called, behind those of JAX."""
        last = max(n for n, (file, _, _) in enumerate(self.frames) if _jax.in_jax(file))
        return self.frames[last + 1 :]


_FRAME = re.compile(r'^ *File "(?P<file>[^"]*)", line (?P<line>\d+), in (?P<name>.+)$', re.MULTILINE)


def _raised(error: BaseException) -> _Raised | None:
    text = str(error)
    found = list(_FRAME.finditer(text))
    frames = tuple((one["file"], int(one["line"]), one["name"].strip()) for one in found)
    if not any(name in RAISING["callback-run"] and _jax.in_jax(file) for file, _, name in frames):
        return None
    rest = text[found[-1].end() :].split("\n")
    kept = [line.strip() for line in rest if line.strip() and not line.startswith("  ")]
    return _Raised(frames, " ".join(kept) or type(error).__name__)


def _ran(scene: Scene) -> Told | None:
    raised = _raised(scene.error)
    if raised is None or (raised.host and raised.host[-1][0].startswith(_LIBRARIES)):
        return None
    eqns = _callbacks(scene)
    if raised.host:
        return _of_host(scene, raised, eqns)
    refused = re.search(
        r"(?P<what>shape|dtype) for return value #(?P<n>\d+): Expected: (?P<promised>.+), Actual: (?P<got>.+)",
        raised.text,
    )
    if refused:
        return _refused(scene, refused, eqns)
    counted = re.search(r"number of outputs.*Expected: (\d+), Actual: (\d+)", raised.text)
    if counted:
        fits = [one for one in eqns if len(one.params["result_avals"]) == int(counted[1])] or eqns
        name, line, call = _of(scene, fits[0] if fits else None)
        message = f"{name} returned {counted[2]} arrays, and `{_caller(call)}` promised {counted[1]}."
        return Told(message, (advice("promise a pytree of the structure that the function returns."),), (), line)
    return _never_ran(scene, raised, eqns)


def _callbacks(scene: Scene) -> list[Any]:
    """The equations of the program that call the host."""
    step = scene.step(*RAISING["devices"])
    params = getattr(step.names.get("p") if step is not None else None, "params", None)
    if not isinstance(params, dict) or "jaxpr" not in params:
        return []
    return [eqn for eqn in _jax.all_eqns(params["jaxpr"]) if "callback" in eqn.primitive.name]


def _function_of(eqn: Any) -> Any:
    return getattr(eqn.params.get("callback"), "callback_func", None)


def _of(scene: Scene, eqn: Any) -> tuple[str, int | None, ast.Call | None]:
    """What the user calls the host function of an equation, and the line and the call that made it."""
    function = _function_of(eqn) if eqn is not None else None
    name = str(getattr(function, "__name__", ""))
    shown = "the lambda" if name == "<lambda>" else f"`{name}`" if name else "the host function"
    places = list(_jax.eqn_places(eqn)) if eqn is not None else []
    lines = {place.line for place in places if place.file == scene.failed.file}
    calls = list(calls_named(scene.failed.tree, *_CALLING))
    found = [call for call in calls if any(call.lineno <= line <= (call.end_lineno or 0) for line in lines)]
    if not found and eqn is None and len(calls) == 1:
        found = calls
    call = found[0] if found else None
    if name == "" and call is not None and call.args:
        shown = f"`{segment(scene.failed, call.args[0])}`"
    line = call.lineno if call is not None and scene.failed.file == scene.here else None
    return shown, line, call


def _caller(call: ast.Call | None) -> str:
    return name_called(call) or "the callback"


def _refused(scene: Scene, refused: re.Match[str], eqns: list[Any]) -> Told:
    n, what, promised, got = int(refused["n"]), refused["what"], refused["promised"], refused["got"]

    def fits(eqn: Any) -> bool:
        avals = eqn.params["result_avals"]
        return n < len(avals) and str(getattr(avals[n], what)) == promised

    eqn = next((one for one in eqns if fits(one)), None)
    name, line, call = _of(scene, eqn)
    whole = f" ({abstract_text(eqn.params['result_avals'][n])})" if eqn is not None else ""
    which = f" as result {n}" if n or (eqn is not None and len(eqn.params["result_avals"]) > 1) else ""
    message = f"{name} returned the {what} {got}{which}, and `{_caller(call)}` promised {promised}{whole}."
    fixes = list(_promised(scene, call, what, got))
    wanted = f"jax.ShapeDtypeStruct({got}, …)" if what == "shape" else f"the dtype {got}"
    cast = (
        f"or return {promised}: .astype({promised})" if what == "dtype" else f"or return an array of shape {promised}"
    )
    return Told(message, (*fixes, advice(f"promise {wanted}, {cast}.")), (), line)


def _promised(scene: Scene, call: ast.Call | None, what: str, got: str) -> Iterator[Fix]:
    given = argument_of(call, 1, "result_shape_dtypes")
    if given is None or name_called(given) != "ShapeDtypeStruct":
        return
    part = argument_of(given, 0, "shape") if what == "shape" else argument_of(given, 1, "dtype")
    if part is not None:
        new = got if what == "shape" else f"{words_of(scene)}.{got}"
        yield put(scene.failed, "promise what it returns", part, new)


def _of_host(scene: Scene, raised: _Raised, eqns: list[Any]) -> Told:
    file, line, function = raised.host[-1]
    first = raised.host[0]
    eqn = next((one for one in eqns if _is_code(_function_of(one), first)), eqns[0] if len(eqns) == 1 else None)
    name, at, call = _of(scene, eqn)
    name = f"`{first[2]}`" if name == "the host function" and first[2] != "<lambda>" else name
    text = " ".join(linecache.getline(file, line).split())
    where = f"line {line}" if file == scene.here else f"line {line} of {scene.label(file)}"
    inside = f", in `{function}`," if function not in (first[2], "<lambda>") else ""
    given = _given(eqn)
    message = (
        f"{name} raised {raised.text.rstrip('. ')} on {where}{inside} when the program called it{given}: `{text}`."
    )
    fixes: list[Fix] = []
    method = eqn.params.get("vmap_method") if eqn is not None else None
    node = argument_of(call, -1, "vmap_method")
    method = node.value if method is None and isinstance(node, ast.Constant) else method
    if method in _WHOLE and node is not None:
        fixes.append(put(scene.failed, "call it once for each element", node, '"sequential"'))
        message = message[:-1] + f'; vmap_method="{method}" hands it the whole batch.'
        fixes.append(advice('pass vmap_method="sequential", or let the function take a batch.'))
    fixes.append(advice(f"mend `{text}` in `{function}`, or the values that it is given."))
    return Told(message, tuple(fixes), (), at)


def _given(eqn: Any) -> str:
    avals = [abstract_text(var.aval) for var in eqn.invars] if eqn is not None else []
    return f" with {joined(avals)}" if 0 < len(avals) < 5 else ""


def _is_code(function: Any, frame: tuple[str, int, str]) -> bool:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and (code.co_filename, code.co_name) == (frame[0], frame[2])


def _never_ran(scene: Scene, raised: _Raised, eqns: list[Any]) -> Told | None:
    """A function that could not even be called with what it is given."""
    for eqn in eqns or [None]:
        name, line, call = _of(scene, eqn)
        count = len(eqn.invars) if eqn is not None else max(0, len(call.args) - 2) if call is not None else 0
        function = _function_of(eqn) if eqn is not None else None
        takes = _takes(function)
        refused = takes is not None and takes != count if eqn is not None else raised.text.startswith("TypeError")
        if not refused or call is None:
            continue
        caller = _caller(call)
        wanted = f", and it takes {takes}" if takes is not None else f": {raised.text.removeprefix('TypeError: ')}"
        message = (
            f"`{caller}` calls {name} with {count} argument{'s' if count != 1 else ''}{wanted}. The second argument of"
            " the call is the shape and dtype of the result, what follows are the arguments."
        )
        fixes: list[Fix] = []
        given = argument_of(call, 1, "result_shape_dtypes")
        if given is not None and len(call.args) == 2 and takes in (None, count + 1):
            fixes.append(with_more(scene.failed, "hand the argument over, too", call, segment(scene.failed, given)))
        hint = f"call {caller}(f, jax.ShapeDtypeStruct(shape, dtype), *arguments)."
        return Told(message, (*fixes, advice(hint)), (), line)
    name, line, _ = _of(scene, eqns[0] if len(eqns) == 1 else None)
    return Told(f"{name}, which the program called, raised {raised.text}", (), (), line)


def _takes(function: Any) -> int | None:
    """How many arguments a function has to be given; None if that is not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len([one for one in places if one.default is one.empty])


# --- debug.print ---


def _print(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["print"])
    text = step.names.get("fmt") if step is not None else None
    if step is None or not isinstance(text, str):
        return None
    given, named = step.names.get("args") or (), dict(step.names.get("kwargs") or {})
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError:
        return Told(
            f"the format {text!r} of `debug.print` is not one of str.format: {scene.error}.",
            (advice("write fields in braces, and {{ or }} for a brace."),),
        )
    roots = [re.split(r"[.\[]", name)[0] for name in fields]
    missing = [name for name in roots if name and not name.isdigit() and name not in named]
    if missing:
        near = named_like(missing[0], [name for name in named if name not in roots] or named)
        known = f"; it is given {joined([f'`{name}`' for name in named])}" if named else ""
        message = (
            f"the format of `debug.print` has the field {{{missing[0]}}}, and no argument of that name is given{known}."
        )
        fixes = [*_renamed(scene, text, missing[0], near)] if near is not None else []
        return Told(message, (*fixes, advice(f"pass {missing[0]}=…, or name a field that is given.")))
    places = sum(not name for name in roots) or (max((int(n) for n in roots if n.isdigit()), default=-1) + 1)
    texts = [scene.text(node) for node in getattr(scene.failed.node, "args", [])[1:]]
    if len(given) > places:
        left = joined([f"`{one}`" for one in texts[places:]]) or f"{len(given) - places} arguments"
        old = re.findall(r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]", text)
        style = f"; {joined(old)} is no field, as fields are written {{}}" if old else ""
        message = (
            f"the format {text!r} of `debug.print` has {places} fields for {len(given)} arguments, so {left} would"
            f" not be used{style}."
        )
        fixes = []
        node = argument_of(scene.failed.node, 0, "fmt")
        if isinstance(node, ast.Constant):
            new = text
            for one in old:
                new = new.replace(one, "{}", 1)
            new = new if old else text + " {}" * (len(given) - places)
            fixes = [put(scene.failed, "write fields in braces", node, _quoted(scene, node, new))]
        return Told(message, (*fixes, advice("write a field {} for each argument.")))
    if len(given) < places:
        message = f"the format {text!r} of `debug.print` has {places} fields, and {len(given)} arguments are given."
        return Told(message, (advice("pass an argument for each field {}."),))
    unused = [name for name in named if name not in roots]
    if unused:
        message = f"the format {text!r} of `debug.print` has no field for {joined([f'`{name}`' for name in unused])}."
        return Told(message, (advice(f"add {{{unused[0]}}} to the format."),))
    return None


def _renamed(scene: Scene, text: str, wrong: str, right: str) -> Iterator[Fix]:
    node = argument_of(scene.failed.node, 0, "fmt")
    if isinstance(node, ast.Constant):
        new = re.sub(r"\{" + re.escape(wrong) + r"(?=[}.:!\[])", "{" + right, text)
        yield put(scene.failed, "name the field that is given", node, _quoted(scene, node, new))


def _quoted(scene: Scene, node: ast.Constant, new: str) -> str:
    """A string in the quotes that the old one has."""
    single = segment(scene.failed, node).startswith("'")
    shown = repr(new)
    return shown if single or '"' in new or not shown.startswith("'") else f'"{shown[1:-1]}"'


_RUNTIME = (RuntimeError, ValueError)

EXPLAINERS = (
    Explainer("callback-promise", (AttributeError, ValueError, TypeError), _promise, inside=RAISING["callback-result"]),
    Explainer("callback-mapped", (NotImplementedError, ValueError), _mapped, inside=RAISING["callback-mapped"]),
    Explainer("callback-derived", (ValueError,), _derived, inside=RAISING["callback-derived"]),
    Explainer("print-format", (KeyError, ValueError, IndexError), _print, inside=RAISING["print"]),
    Explainer("callback", _RUNTIME, _ran),
)
