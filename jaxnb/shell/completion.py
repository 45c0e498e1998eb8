"""What TAB offers in the header of a magic, in a `# jaxnb:` comment and behind `%jaxnb`.

`complete_header` is a function of the text, the cursor and the namespace; `header_matcher` makes it a matcher of
IPython's completer. Nothing that is looked at is run: no property, no `__getattr__`, and no backend is started.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import jaxnb.shell as room
from jaxnb import _jax, program
from jaxnb.program import LEVELS
from jaxnb.shell.commands import COMMANDS
from jaxnb.shell.comment import DIRECTIVES
from jaxnb.shell.header import COUNTED, GRAD_OPTIONS, JAXPR_OPTIONS, JIT_OPTIONS, XMAP_OPTIONS
from jaxnb.shell.health import platforms_installed
from jaxnb.staging import CodeNames, backend_started, names_of

__all__ = ["Offer", "complete_header", "header_matcher"]

_MAGIC = re.compile(
    r"\s*(?:%%(?:jaxnb\s+)?(?P<magic>jit|grad|xmap|jaxpr)|#\s*jaxnb\s*:\s*(?P<comment>jit|grad|xmap))(?=\s)(?P<header>.*)"
)
_OPTION = re.compile(r"(?:^|(?<=\s))(?:--(?P<long>\w[\w-]*)|-(?P<short>\w))(?=[\s=]|$)[\s=]*")
_OPTIONS = {"jit": JIT_OPTIONS, "grad": GRAD_OPTIONS, "xmap": XMAP_OPTIONS, "jaxpr": JAXPR_OPTIONS}
_MOST_ITEMS = 50


@dataclass(frozen=True, slots=True)
class Offer:
    """What may stand at the cursor.

    Attributes:
      fragment: the text before the cursor that is replaced.
      texts: what may replace it, the likeliest first.
    """

    fragment: str
    texts: tuple[str, ...]


def complete_header(text: str, line: int, column: int, namespace: Mapping[str, Any]) -> Offer | None:
    """What may stand at the cursor, if that is in something that jaxnb reads.

    Args:
      text: the whole cell.
      line: the line of the cursor in it, from 0.
      column: its place in that line.
      namespace: the user's names.

    Returns:
      None outside of headers.
    """
    lines = text.split("\n")
    if not 0 <= line < len(lines):
        return None
    before = lines[line][:column]
    if (words := re.fullmatch(r"\s*%jaxnb\s+(.*)", before)) is not None:
        return _subcommands(words[1])
    top = _top(lines)
    if line == top and (word := re.fullmatch(r"#\s*jaxnb\s*:\s*(\w*)", before)) is not None:
        return Offer(word[1], tuple(name for name in DIRECTIVES if name.startswith(word[1])))
    start, end = _header_lines(lines, top)
    found = _MAGIC.match(lines[start] + " ") if start is not None else None
    if start is None or found is None or not start <= line < end:
        return None
    if line == start and column <= found.start("header"):
        return None
    here = before[found.start("header") :] if line == start else before[2:]
    above = [found["header"], *(item[2:] for item in lines[start + 1 : line])] if line > start else []
    rest = [lines[line][column:], *(item[2:] for item in lines[max(line, start) + 1 : end])]
    word = found["magic"] or found["comment"]
    header, body = " ".join([*above, here]), "\n".join(lines[end:])
    if word == "grad" and (offer := _in_grad(header, body, namespace)) is not None:
        return offer
    if word == "xmap" and (offer := _in_xmap(header, " ".join(rest), body, namespace)) is not None:
        return offer
    return _in_header(header, " ".join(rest), _OPTIONS[word], body, namespace)


def header_matcher(shell: Any) -> Callable[[Any], Any]:
    """A matcher for `shell.Completer.custom_matchers`. It leaves every other completion alone."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    def match(context: Any) -> Any:
        offer = complete_header(context.full_text, context.cursor_line, context.cursor_position, shell.user_ns)
        if offer is None:
            return {"completions": []}
        completions = [SimpleCompletion(text, type="param") for text in offer.texts]
        found = {"completions": completions, "matched_fragment": offer.fragment, "suppress": True, "ordered": True}
        return found

    marked: Any = context_matcher(identifier="jaxnb.shell.header")
    return marked(match)


def _subcommands(words: str) -> Offer:
    *before, fragment = re.split(r"\s+", words)
    there_are: tuple[str, ...] = ()
    if not before:
        there_are = tuple(COMMANDS)
    elif len(before) == 1 and (command := COMMANDS.get(before[0])) is not None:
        there_are = (*command.words, *program.TARGET_KINDS) if before[0] == "target" else command.words
    return Offer(fragment, tuple(word for word in there_are if word.startswith(fragment)))


def _top(lines: Sequence[str]) -> int:
    """The first line that is neither blank nor a cell magic of somebody else, such as `%%time`."""
    for index, line in enumerate(lines):
        if line.strip() and not (line.startswith("%%") and _MAGIC.match(line + " ") is None):
            return index
    return 0


def _header_lines(lines: Sequence[str], top: int) -> tuple[int | None, int]:
    """Where the header begins and ends, with the `#:` lines that continue it."""
    if _MAGIC.match(lines[top] + " ") is None:
        return None, 0
    end = top + 1
    while end < len(lines) and lines[end].startswith("#:"):
        end += 1
    return top, end


def _in_grad(header: str, body: str, namespace: Mapping[str, Any]) -> Offer | None:
    """What may stand in `loss wrt w1, w2`; None behind it."""
    words = re.match(r"\s*(?P<loss>[^\s-]\S*)?(?P<by>\s+\S*)?(?P<names>\s[^-]*)?$", header)
    if words is None:
        return None
    if words["by"] is None:
        fragment = words["loss"] or ""
        return Offer(fragment, tuple(name for name in _binds(body) if name.startswith(fragment)))
    if words["names"] is None:
        fragment = words["by"].strip()
        return Offer(fragment, ("wrt",) if "wrt".startswith(fragment) else ())
    fragment = _value_fragment(words["names"], "names")
    return _values("wrt", "names", fragment, words["names"], body, namespace) if fragment is not None else None


def _in_xmap(header: str, rest: str, body: str, namespace: Mapping[str, Any]) -> Offer | None:
    """What may stand in `inputs -> outputs` and behind the options that say more of it; None elsewhere."""
    binds, reads = _binds(body), _inputs(body, namespace)
    offer = room.complete_map(header, rest, binds=binds, reads=reads, attributes=_attributes, namespace=namespace)
    return Offer(offer[0], tuple(offer[1])) if offer is not None else None


def _in_header(
    header: str, rest: str, options: Mapping[str, str], body: str, namespace: Mapping[str, Any]
) -> Offer | None:
    given = list(_OPTION.finditer(header))
    last = given[-1] if given else None
    name = (last["long"] or last["short"]) if last is not None else ""
    value = header[last.end() :] if last is not None else ""
    typing_option = last is not None and last.end() == len(header) and last.group()[-1] not in " ="
    kind = options.get(name, "flag")
    if last is not None and not typing_option and kind in ("shapes", "where"):
        offer = _sizes(kind, value, header[: last.start()] + rest, body, namespace)
        if offer is not None:
            return offer
    elif last is not None and not typing_option and kind != "flag":
        wanted = _value_fragment(value, kind)
        if wanted is not None:
            return _values(name, kind, wanted, value, body, namespace)
    fragment = re.split(r"\s", header)[-1]
    if fragment and not fragment.startswith("-"):
        close = tuple(item for item in _unused(options, header, rest) if item.lstrip("-").startswith(fragment))
        return Offer(fragment, close)
    unused = _unused(options, header[: len(header) - len(fragment)], rest)
    return Offer(fragment, tuple(item for item in unused if item.startswith(fragment)))


def _sizes(kind: str, value: str, others: str, body: str, namespace: Mapping[str, Any]) -> Offer | None:
    """What may stand in shapes, or in what is true of their sizes; None behind them."""
    text = value.lstrip()
    quote = text[:1] if text[:1] in ("'", '"') else ""
    if quote and quote in text[1:]:
        return None
    fragment = re.split(r"[;,]" if kind == "where" else ";", text[len(quote) :])[-1].lstrip()
    if kind == "where":
        names = dict.fromkeys(re.findall(r"[:,]\s*([^\W\d]\w*)(?=\s*[,;'\"]|\s*$|\s+-)", others))
        texts = [text for name in names for text in (f"{name} >= 1", f"mod({name}, 8) == 0")]
    else:
        texts = [f"{name}: {sizes}" for name in _inputs(body, namespace) if (sizes := _shape_of(namespace[name]))]
    before = "" if quote or text else '"'
    return Offer(fragment, tuple(before + text for text in texts if text.startswith(fragment)))


def _shape_of(value: Any) -> str:
    """The shape of an array with a name for its first size; "" for anything else."""
    sizes = value.shape if type(value) is _jax.Array and backend_started() else ()
    return ", ".join(["b", *map(str, sizes[1:])]) if sizes else ""


def _unused(options: Mapping[str, str], header: str, rest: str) -> list[str]:
    used = {found["long"] or found["short"] for text in (header, rest) for found in _OPTION.finditer(text)}
    return [f"--{name}" if len(name) > 1 else f"-{name}" for name in options if name not in used]


def _value_fragment(value: str, kind: str) -> str | None:
    """What is being typed of a value; None where the value is complete and an option comes next."""
    if kind == "names":
        last = value.rpartition(",")[2].lstrip() if not _inside_brackets(value) else _open_path(value)
        return None if last[-1:].isspace() and not _inside_brackets(last) else last
    return None if any(c.isspace() for c in value) else value


def _inside_brackets(text: str) -> bool:
    return text.count("[") > text.count("]")


def _open_path(value: str) -> str:
    """The path that is being typed, where its last `[` is still open: its key may hold commas and spaces."""
    start = value.rindex("[")
    return re.split(r"[\s,]", value[:start])[-1] + value[start:]


_CHOSEN = ("lower", "platforms", "columns")
"""Options whose names are not those of the namespace."""


def _values(name: str, kind: str, fragment: str, value: str, body: str, namespace: Mapping[str, Any]) -> Offer:
    if name == "level":
        return Offer(fragment, tuple(level for level in LEVELS[1:] if level.startswith(fragment)))
    if name == "export":
        return Offer(fragment, tuple(_files(fragment)))
    if name == "target":
        return Offer(fragment, tuple(item for item in program.TARGET_KINDS if item.startswith(fragment)))
    if kind == "word" and name != "interact":
        return Offer(fragment, tuple(item for item in _devices() if item.startswith(fragment)))
    if kind != "names":
        return Offer(fragment, ())
    given = {item.strip() for item in value[: len(value) - len(fragment)].split(",")}
    if name in _CHOSEN:
        known = ("auto", *COUNTED) if name == "columns" else _jax.lowering_platforms()
        names = [item for item in known if item not in given]
    elif name == "keep":
        names = [item for item in _binds(body) if item not in given]
    elif "." in fragment or "[" in fragment:
        return Offer(fragment, tuple(_paths(fragment, namespace)))
    else:
        names = [item for item in _inputs(body, namespace) if item not in given]
    return Offer(fragment, tuple(item for item in names if item.startswith(fragment)))


def _files(fragment: str) -> list[str]:
    """The folders, and the files of exported cells, whose paths begin so."""
    folder, _, begun = fragment.rpartition("/")
    with contextlib.suppress(OSError), os.scandir(f"{folder}/" if "/" in fragment else ".") as entries:
        found = sorted((entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(begun))
        start = fragment[: len(fragment) - len(begun)]
        return [f"{start}{name}{'/' * folder}" for name, folder in found if folder or name.endswith(".jaxexport")]
    return []


def _devices() -> list[str]:
    """What `--device` takes: the devices if the backend has started, otherwise the platforms that are installed."""
    if not backend_started():
        return platforms_installed()
    import jax

    found = jax.devices()
    names = [f"{device.platform}:{index}" for index, device in enumerate(found)]
    if found[0].platform != "cpu":
        names += [f"cpu:{index}" for index in range(len(jax.devices("cpu")))]
    return names


def _names_in(body: str) -> CodeNames | None:
    try:
        return names_of(compile(body, "<jaxnb completion>", "exec", dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _binds(body: str) -> list[str]:
    """The names that a cell binds, in the order of its text; also of one that is not finished."""
    names = _names_in(body)
    if names is None:
        return list(dict.fromkeys(re.findall(r"^(?:def |class )?([^\W\d]\w*)\s*(?:=[^=]|[-+*/@]=|\()", body, re.M)))
    places = {name: re.search(rf"\b{name}\b", body) for name in names.binds}
    return sorted(names.binds, key=lambda name: (found.start() if (found := places[name]) else 0, name))


def _inputs(body: str, namespace: Mapping[str, Any]) -> list[str]:
    """The names of values; where the cell can be read, those that it reads."""
    skipped = ("In", "Out", "exit", "quit", "get_ipython", "open")
    held = [
        name
        for name, value in list(namespace.items())
        if not name.startswith("_") and name not in skipped and not isinstance(value, ModuleType | type | FunctionType)
    ]
    names = _names_in(body)
    read = [name for name in held if names is not None and name in names.reads]
    return sorted(read or held)


def _paths(fragment: str, namespace: Mapping[str, Any]) -> list[str]:
    """The paths one step below the object that a path leads to so far."""
    cut = max(fragment.rfind("."), fragment.rfind("["))
    base, typed = fragment[:cut], fragment[cut:]
    found = _follow(base, namespace)
    if found is None:
        return []
    steps = [f".{name}" for name in _attributes(found[0])] if typed[0] == "." else _items(found[0])
    return [base + step for step in steps if step.startswith(typed) or step.replace("'", '"').startswith(typed)]


def _follow(path: str, namespace: Mapping[str, Any]) -> tuple[Any] | None:
    """The object that a path leads to, in a tuple; None if it cannot be reached without running code."""
    try:
        node: ast.expr = ast.parse(path, mode="eval").body
    except SyntaxError:
        return None
    steps: list[ast.expr] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        steps.append(node)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in namespace:
        return None
    value = namespace[node.id]
    for step in reversed(steps):
        try:
            if isinstance(step, ast.Attribute):
                value = _attributes(value)[step.attr]
            elif isinstance(step, ast.Subscript) and isinstance(value, dict | list | tuple):
                value = value[ast.literal_eval(step.slice)]
            else:
                return None
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return (value,)


def _attributes(value: Any) -> dict[str, Any]:
    """What an object holds by attribute, without running any of its code."""
    fields: Any = getattr(type(value), "_fields", None) if isinstance(value, tuple) else None
    if fields is not None:
        return dict(zip(fields, tuple(value), strict=False))
    found: dict[str, Any] = {}
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            member = vars(base).get(name)
            if inspect.ismemberdescriptor(member):
                try:
                    found[name] = member.__get__(value)
                except AttributeError:
                    continue  # not set yet
    state: Any = inspect.getattr_static(value, "__dict__", None)
    if state is not None:
        with contextlib.suppress(AttributeError, TypeError):
            found.update(object.__getattribute__(value, "__dict__"))
    return {name: item for name, item in found.items() if not name.startswith("_")}


def _items(value: Any) -> list[str]:
    if isinstance(value, dict):
        keys = [key for key in list(value) if isinstance(key, str | int)]
        return [f"[{key!r}]" for key in keys[:_MOST_ITEMS]]
    if isinstance(value, list | tuple):
        return [f"[{index}]" for index in range(min(len(value), _MOST_ITEMS))]
    return []
