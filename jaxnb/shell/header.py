"""The header of a magic: options and lists of names, with errors that point at the word.

One parser serves every magic. Text is taken as it stands: no `{x}` or `$x` is expanded, lists may have spaces after
their commas, and lines that begin with `#:` at the top of the cell continue the header.

>>> parse_header("--static n, cfg.k --block -o run", JIT_OPTIONS)
{'static': ('n', 'cfg.k'), 'block': True, 'o': 'run'}
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from jaxnb import named
from jaxnb.errors import BadHeader
from jaxnb.options import Option, stage_options
from jaxnb.program import COLUMNS

__all__ = [
    "CLUSTER_OPTIONS",
    "COUNTED",
    "GRAD_OPTIONS",
    "JAXPR_OPTIONS",
    "JIT_OPTIONS",
    "MESH_OPTIONS",
    "XMAP_OPTIONS",
    "documented",
    "full_header",
    "options_of",
    "parse_grad",
    "parse_header",
]

_Method = TypeVar("_Method", bound=Callable[..., Any])

_RESULT = Option("name", "bind the Run under this name", "jit grad xmap", "run")

COUNTED = [name for name, column in COLUMNS.items() if column.in_text and not column.measured]
"""The columns that are known of what was only traced."""

_BEFORE: Mapping[str, Mapping[str, Option]] = {
    "xmap": {
        "sizes": Option("sizes", "sizes of names that no input has", "xmap", "batch=8"),
        "resources": Option(
            "resources",
            "what a name is spread over: axes of the mesh, or loop(4) for four turns. They never change a result. auto "
            "tries all axes, shows them by time and memory, and runs the best",
            "xmap",
            "batch=x, hidden=(y, z)",
        ),
        "mesh": Option(
            "mesh",
            "the name of a mesh, or its axes, x=4, y=2; by default the one that jax.set_mesh has set. For auto it need "
            "not be there: then the cell is planned, and binds nothing",
            "xmap",
            "m",
        ),
        "hardware": Option("word", "what the devices are, for auto: h100, tpu-v5e, ...", "xmap", "h100"),
        "lowering": Option(
            "word", "manual writes collectives out, spmd leaves them to XLA's partitioner", "xmap", "spmd"
        ),
    },
    "mesh": {
        "explicit": Option("flag", "axes of which the types of arrays tell the sharding", "mesh"),
        "simulate": Option("flag", "a mesh that is not there, for which cells are planned", "mesh"),
        "hardware": Option("word", "what its devices are: h100, tpu-v5e, ...", "mesh", "h100"),
        "target": Option(
            "word", "a machine that is not there, by whose own compiler cells are compiled", "mesh", "v5p:8x8x16"
        ),
        "devices": Option("number", "how many virtual CPU devices there are to be", "mesh", "8"),
    },
    "cluster": {
        "n": Option("number", "how many processes", "cluster", "4"),
        "devices": Option("number", "how many virtual CPU devices each has", "cluster", "2"),
        "profile": Option("word", "of ipyparallel, which says how processes are started", "cluster", "slurm"),
        "host": Option("word", "the address at which they reach the notebook", "cluster", "127.0.0.1"),
    },
}
"""Options of the shell's own that stand before those of `StageOptions`, by magic; "mesh" is `%jaxnb mesh`, "cluster" is
`%jaxnb cluster`."""

_BEHIND: Mapping[str, Mapping[str, Option]] = {
    "jit": {
        "interact": Option(
            "word",
            "put the cell under sliders; nothing is traced as they move, and nothing bound but by their button",
            "jit",
            "lr=0.001..0.1",
        ),
        "o": _RESULT,
    },
    "grad": {"o": _RESULT},
    "xmap": {"o": _RESULT},
    "jaxpr": {
        "level": Option(
            "word",
            "what to show: jaxpr (the default); stablehlo, for which it is lowered; hlo, for which it is compiled",
            "jaxpr",
            "stablehlo",
        ),
        "lower": Option(
            "names",
            "what it is lowered to on platforms that need not be here, side by side: tpu, cuda, rocm, cpu",
            "jaxpr",
            "tpu, cuda",
        ),
        "order": Option(
            "word",
            "beside the lines of the cell (source, the default), or in its own order (level)",
            "jaxpr",
            "level",
        ),
        "columns": Option(
            "names",
            f"what it costs: {', '.join(COUNTED)}, or auto, which shows what there is room for",
            "jaxpr",
            "flops, bytes",
        ),
        "o": Option("name", "bind the Program under this name", "jaxpr", "program"),
    },
}


def options_of(magic: str) -> dict[str, Option]:
    """All options of a magic by name, in the order in which they are listed: first what it alone has."""
    shared = {name: row for name, row in stage_options().items() if magic in row.magics.split()}
    alone = {name: row for name, row in shared.items() if row.magics == magic}
    return {**alone, **_BEFORE.get(magic, {}), **shared, **_BEHIND.get(magic, {})}


def documented(magic: str) -> Callable[[_Method], _Method]:
    """Writes the options of a magic into its docstring, for `{usage}` and `{options}`."""

    def write(method: _Method) -> _Method:
        rows = options_of(magic)
        own = {name: row for name, row in rows.items() if magic in ("jit", "jaxpr") or row.magics == magic}
        text = str(method.__doc__)
        before = text.partition("{usage}")[0].rpartition("\n")[2]
        words = [f"[{_listed([name])}{' ' if row.example else ''}{row.example}]" for name, row in own.items()]
        usage = _filled(" ".join(word.replace(" ", "\0") for word in words), before, 18)
        options = "\n".join(_filled(row.text, f"{'':8}{_listed([name]):<12}", 20) for name, row in own.items())
        method.__doc__ = text.format(usage=usage[len(before) :].replace("\0", " "), options=options.lstrip())
        return method

    return write


def _filled(text: str, before: str, indent: int) -> str:
    """Text behind what stands before it, in lines as wide as those of a docstring."""
    filler = textwrap.TextWrapper(120, before, " " * indent, break_on_hyphens=False, break_long_words=False)
    return filler.fill(text)


def _kinds(magic: str) -> dict[str, str]:
    return {name: row.kind for name, row in options_of(magic).items()}


JIT_OPTIONS = _kinds("jit")
"""The options of `%%jit`, each with what follows it: nothing, a word, a number, a name, or names and paths."""

GRAD_OPTIONS = _kinds("grad")
"""The options of `%%grad`, behind `loss wrt w1, w2`."""

XMAP_OPTIONS = _kinds("xmap")
"""The options of `%%xmap`, behind `inputs -> outputs`. Its cell is one program always."""

MESH_OPTIONS = _kinds("mesh")
"""The options of `%jaxnb mesh`, behind `x=4, y=2`."""

CLUSTER_OPTIONS = _kinds("cluster")
"""The options of `%jaxnb cluster start`."""

JAXPR_OPTIONS = _kinds("jaxpr")

_WORD = re.compile(r"\S+")
_QUOTED = re.compile(r"'[^']+'|\"[^\"]+\"")
_AUTO = re.compile(r"auto(?=\s|$)")
_AXES = re.compile(r"[^\W\d]\w*\s*=\s*[^\s,]+(?:\s*,\s*[^\W\d]\w*\s*=\s*[^\s,]+)*")
_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[[^\]]*\])*")


def full_header(line: str, body: str) -> str:
    """The header with the `#:` lines at the top of the body."""
    parts = [line.strip()]
    for text in body.splitlines():
        if not text.startswith("#:"):
            break
        parts.append(text[2:].strip())
    return " ".join(part for part in parts if part)


def parse_grad(header: str, magic: str = "%%grad", options: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Reads the header of `%%grad`: `loss wrt w1, w2`, and options.

    >>> parse_grad("loss wrt w1, w2 --hessian")
    {'loss': 'loss', 'wrt': ('w1', 'w2'), 'hessian': True}

    Args:
      header: the text behind the magic's name.
      magic: its name, for messages.
      options: that there are, by default those of `%%grad`.

    Raises:
      BadHeader: pointing at the word that is wrong.
    """
    shown, shift, wanted = f"{magic} {header}".rstrip(), len(magic) + 1, f"{magic} loss wrt w1, w2"
    words = [*_WORD.finditer(header), None, None]
    for word, what in zip(words[:2], ("the name of the loss", "wrt, and what to differentiate by"), strict=True):
        text = word.group() if word is not None else ""
        good = text == "wrt" if word is words[1] else text.isidentifier()
        if word is None or not good or (word is words[0] and text == "wrt"):
            at = word.start() if word is not None else len(header)
            what = f"{magic} wants {what}" + (f", not {text!r}." if text else ".")
            raise BadHeader(what, header=shown, column=at + shift, width=max(1, len(text)), fix=f"write {wanted}.")
    loss, by = words[0], words[1]
    assert loss is not None and by is not None
    names, position = _value(header, by.end(), "names")
    if not names:
        what = "wrt wants a name, or several with commas."
        raise BadHeader(what, header=shown, column=by.start() + shift, width=3, fix=f"write {wanted}.")
    for name in names:
        if not name.isidentifier():
            column = header.index(name, by.end()) + shift
            fix = f"bind it to a name above, w = {name}, and use that in the cell."
            raise BadHeader(f"{name!r} is no name.", header=shown, column=column, width=len(name), fix=fix)
    rest = parse_header(header, GRAD_OPTIONS if options is None else options, magic, position)
    return {"loss": loss.group(), "wrt": names, **rest}


def parse_header(header: str, options: Mapping[str, str], magic: str = "%%jit", position: int = 0) -> dict[str, Any]:
    """Reads the options in a header.

    Args:
      header: the text behind the magic's name.
      options: the options that there are, see `JIT_OPTIONS`.
      magic: its name, for messages.
      position: where the options begin.

    Returns:
      What was given, by the names of `StageOptions`.

    Raises:
      BadHeader: pointing at the word that is wrong.
    """
    shown = f"{magic} {header}".rstrip()
    shift = len(magic) + 1
    found: dict[str, Any] = {}
    while (word := _WORD.search(header, position)) is not None:
        text = word.group()
        column = word.start() + shift
        if not text.startswith("-"):
            fix = _meant(text, options) or f"options begin with --; {magic} takes {_listed(options)}."
            raise BadHeader(f"{text!r} is no option.", header=shown, column=column, width=len(text), fix=fix)
        name, _, joined = text.lstrip("-").partition("=")
        kind = options.get(name) if text.startswith("--" if len(name) > 1 else "-") else None
        if kind is None:
            fix = _meant(name, options) or f"{magic} takes {_listed(options)}."
            raise BadHeader(f"there is no option {text!r}.", header=shown, column=column, width=len(text), fix=fix)
        field = name.replace("-", "_")
        if field in found:
            raise BadHeader(f"{text} is given twice.", header=shown, column=column, width=len(text))
        position = word.end()
        if kind == "flag":
            found[field] = True
            continue
        if joined:
            position = word.end() - len(joined)
        try:
            value, position = _sizes(header, position, kind) if kind in _OF_SIZES else _value(header, position, kind)
        except named.BadShape as bad:
            raise _at_word(bad, shown, column, len(text), shift) from None
        if not value:
            what = _WANTED[kind]
            raise BadHeader(f"{text} wants {what}.", header=shown, column=column, width=len(text))
        found[field] = value
    if "shapes" in found or "where" in found:
        try:
            named.check_shapes(found.get("shapes", ()), found.get("where", ()))
        except named.BadShape as bad:
            raise _at_word(bad, shown, shift, len(header), shift) from None
    return found


_OF_SIZES = ("shapes", "where")
_QUOTES = re.compile(r"\"([^\"]*)(\"?)|'([^']*)('?)")
_UP_TO_OPTION = re.compile(r"(?:(?!\s--?[^\W\d]).)*", re.DOTALL)


def _sizes(header: str, position: int, kind: str) -> tuple[Any, int]:
    """Shapes, or what is true of their sizes: in quotes, or up to the next option."""
    start = position + len(header[position:]) - len(header[position:].lstrip())
    found = _QUOTES.match(header, start)
    if found is not None and (found[2] or found[4]):
        group = 1 if found[1] is not None else 3
    elif found is not None:
        quote = named.Placed.of(header[start], start)
        raise named.BadShape("the quotes are not closed.", quote, fix="close them.")
    else:
        found, group = _UP_TO_OPTION.match(header, start), 0
        if found is None or header.startswith("-", start):
            return None, start
    text = found.group(group)
    if not text.strip():
        return None, found.end()
    read: Any = named.read_shapes if kind == "shapes" else named.read_where
    return read(text, found.start(group)), found.end()


def _at_word(bad: named.BadShape, shown: str, column: int, width: int, shift: int) -> BadHeader:
    """The error on a size, which points at the word where its place is known, otherwise at the option."""
    if bad.at is not None:
        column, width = bad.at + shift, len(bad.word)
    what = f"{bad.what} {bad.why[:1].upper()}{bad.why[1:]}{'' if not bad.why or bad.why.endswith('.') else '.'}".strip()
    return BadHeader(what, header=shown, column=column, width=width, fix=bad.fix)


_WANTED: Mapping[str, str] = {
    "names": "a name, or several with commas",
    "name": "a name",
    "word": "a word",
    "path": "a path; one with spaces stands in quotes",
    "number": "a number from 1",
    "sizes": "batch=8, or several with commas",
    "shapes": 'names with their sizes: "images: b, 784; labels: b"',
    "where": 'what is true of sizes: "b >= 1, mod(b, 8) == 0"',
    "resources": "batch=x, hidden=(y, z) or rows=loop(4), or several with commas; or auto",
    "mesh": "the name of a mesh, or its axes: x=4, y=2",
}


def _value(header: str, position: int, kind: str) -> tuple[Any, int]:
    while position < len(header) and header[position].isspace():
        position += 1
    if kind == "resources" and (auto := _AUTO.match(header, position)) is not None:
        return "auto", auto.end()
    if kind == "mesh":
        if (axes := _AXES.match(header, position)) is not None:
            return axes.group(), axes.end()
        kind = "name"
    if kind in ("sizes", "resources"):
        return named.read_pairs(header, position, kind)
    if kind == "number":
        number = _WORD.match(header, position)
        text = number.group() if number is not None else ""
        return (int(text) if text.isdecimal() else None), position + len(text)
    if kind == "path" and (quoted := _QUOTED.match(header, position)) is not None:
        return quoted.group()[1:-1], quoted.end()
    if kind in ("word", "path"):
        word = _WORD.match(header, position)
        return (word.group(), word.end()) if word is not None and not word.group().startswith("-") else (None, position)
    names: list[str] = []
    while (path := _PATH.match(header, position)) is not None:
        names.append(path.group())
        position = path.end()
        comma = re.compile(r"\s*,\s*").match(header, position)
        if kind == "name" or comma is None:
            break
        position = comma.end()
    if kind == "name":
        return (names[0] if names else None), position
    return tuple(names), position


def _listed(options: Iterable[str]) -> str:
    return ", ".join(f"--{name}" if len(name) > 1 else f"-{name}" for name in options)


def _meant(text: str, options: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(text.lstrip("-"), options, n=1)
    return f"did you mean {_listed(close)}?" if close else ""
