"""Calls with more arguments by position than a function of JAX or of a library takes, or without all that it needs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from jaxnb.findings.errors.edits import advice, exchange, joined, put, with_argument, words_of
from jaxnb.findings.errors.explainer import Told
from jaxnb.findings.errors.scene import Scene
from jaxnb.findings.errors.signatures import Argument, LibraryCall, read_call
from jaxnb.program import Fix
from jaxnb.staging import state_of

__all__ = ["does_not_fit"]


def does_not_fit(scene: Scene) -> Told | None:
    """More arguments by position than a function takes, or not all that it needs."""
    call = read_call(scene)
    if call is None or call.unknown:
        return None
    extra = [one for one in call.positional if one.parameter is None]
    takes_rest = any(one.kind is one.VAR_POSITIONAL for one in call.signature.parameters.values())
    if extra and not takes_rest:
        return _too_many(scene, call, extra)
    missing = _missing(call)
    return _too_few(scene, call, missing) if missing else None


def _missing(call: LibraryCall) -> list[inspect.Parameter]:
    given = {one.parameter.name for one in call.arguments if one.parameter is not None}
    return [one for one in call.parameters if one.default is one.empty and one.name not in given]


def _positional(call: LibraryCall) -> list[str]:
    return [one.name for one in call.parameters if one.kind is not one.KEYWORD_ONLY]


def _too_many(scene: Scene, call: LibraryCall, extra: list[Argument]) -> Told:
    places = _positional(call)
    named = [one for one in call.parameters if one.kind is one.KEYWORD_ONLY]
    count = len(call.positional)
    takes = f"{len(places)} argument{'s' * (len(places) != 1)} by position" + (
        f" ({', '.join(places)})" if places else ""
    )
    message = f"`{call.name}` takes {takes if places else 'no argument by position'}, and was given {count}"
    fixes: list[Fix] = []
    if named:
        pairs = list(zip(extra, _names_for(extra, named), strict=False))
        first = [name for _, name in pairs if name]
        shown = list(dict.fromkeys([*first, *(one.name for one in named)]))[:4]
        message += f": {joined([f'`{name}`' for name in shown])} are given by keyword only."
        if len(shown) == 1:
            message = message.replace(" are given by", " is given by")
        new = [(one.node, f"{name}={one.text}") for one, name in pairs if name]
        if len(new) == len(extra):
            fixes.append(exchange(scene, "give it by keyword" if len(new) == 1 else "give them by keyword", *new))
    else:
        message += "."
    function = call.positional[0]
    if function.kind == "function" and len(places) == 2:
        texts = [one.text for one in call.positional]
        new = f"{words_of(scene, 'jax', 'jax')}.vmap({texts[0]})({', '.join(texts[1:])})"
        whole = f"{call.name}(lambda args: {texts[0]}(*args), ({', '.join(texts[1:])}))"
        message = f"{message[:-1]}: what the function goes through is one argument, a tuple if there are several."
        fixes.append(put(scene.failed, "give them as one tuple", call.node, whole))
        fixes.append(put(scene.failed, "map over all of them", call.node, new))
    fixes += _in_one(scene, call, len(places))
    hint = f"give {joined([f'`{one.name}`' for one in named[:4]], 'or')} by keyword." if named else "leave it out."
    return Told(message, (*fixes, advice(hint)))


def _in_one(scene: Scene, call: LibraryCall, most: int) -> Iterator[Fix]:
    """The last arguments in one tuple, as a loop takes what it carries."""
    given = call.positional
    if most < 2 or given[0].kind != "function":
        return
    row = [one.text for one in given[most - 1 :]]
    kept = [one.text for one in given[: most - 1]] + [scene.text(one) for one in call.node.keywords]
    inner = ", ".join([*kept[: most - 1], f"({', '.join(row)})", *kept[most - 1 :]])
    yield put(scene.failed, "give what it carries in one tuple", call.node, f"{call.name}({inner})")


def _names_for(extra: list[Argument], named: list[inspect.Parameter]) -> Iterator[str]:
    """The names of parameters for arguments that were given by position: the same name, those that are needed, or the
    order in which the function has them."""
    free = [one.name for one in named]
    needed = [one.name for one in named if one.default is one.empty]
    for one in extra:
        last = one.text.rpartition(".")[2]
        found = last if last in free else next((name for name in needed if name in free), free[0] if free else "")
        if found:
            free.remove(found)
        yield found


def _too_few(scene: Scene, call: LibraryCall, missing: list[inspect.Parameter]) -> Told:
    names = [one.name for one in missing]
    verb = "is" if len(names) == 1 else "are"
    message = f"`{call.name}` needs {joined([f'`{name}`' for name in names])}, which {verb} not given"
    moved = [one for one in call.positional if one.text in names and one.parameter is not None]
    if moved:
        wrong = moved[0].parameter
        message += f": `{moved[0].text}` stands where `{wrong.name if wrong is not None else ''}` belongs"
    fixes = list(_named(scene, moved, names)) if moved else list(_filled(scene, call, names))
    if moved and not fixes:
        names = [one.parameter.name for one in moved if one.parameter is not None]
    order = ", ".join(_positional(call)[:8])
    return Told(f"{message}.", (*fixes, advice(f"give {joined(names)}: {call.name}({order}, …).")))


def _filled(scene: Scene, call: LibraryCall, names: list[str]) -> Iterator[Fix]:
    """A name of the user's, or an attribute of `self`, like the parameter that is missing."""
    frame = scene.failed.frame
    found: list[str] = []
    for name in names:
        of_self = state_of(frame.get("self")) if "self" in frame else None
        if name in frame and not callable(frame[name]):
            found.append(f"{name}={name}")
        elif isinstance(of_self, dict) and name in of_self:
            found.append(f"{name}=self.{name}")
        elif name in ("features", "out_features") and isinstance(of_self, dict):
            sizes = [key for key, value in of_self.items() if type(value) is int and not key.startswith("_")]
            found += [f"{name}=self.{sizes[0]}"] if len(sizes) == 1 else []
    if len(found) == len(names):
        new = with_argument(scene.text(call.node), ", ".join(found))
        yield exchange(scene, f"give it {joined(names)}", (call.node, new))


def _named(scene: Scene, moved: list[Argument], names: list[str]) -> Iterator[Fix]:
    still = [one.parameter for one in moved if one.parameter is not None]
    if len(moved) == len(names) and all(one.default is not one.empty for one in still):
        yield exchange(scene, "give it by its name", *((one.node, f"{one.text}={one.text}") for one in moved))
