"""What the header of `%%xmap` says: which dimension of which value has which name, going in and coming out.

    images[batch, inputs], w1[inputs, hidden], params.*[...] -> loss[], h[batch, hidden]

A term is a path and, in brackets, a name for each of its dimensions in order. `_` stands for a dimension without a
name, `...` at the end for all further ones. A path leads into a pytree: `params.w1`, `layers.0.w`, `params['a b']`;
`params.*` is everything below `params`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from jaxnb.errors import BadHeader, Refused

__all__ = [
    "LOWERINGS",
    "MapSpec",
    "Pair",
    "Resource",
    "Term",
    "check_names",
    "did_you_mean",
    "read_map",
    "read_pairs",
    "read_spec",
]

Resource = str | int
"""What a name is spread over: the name of a mesh axis or of a `serial_loop`, or the turns of a loop of its own."""

_SPACE = re.compile(r"\s*")
_COMMA = re.compile(r"\s*,\s*")
_ARROW = re.compile(r"\s*->\s*")
_NAME = re.compile(r"[^\W\d]\w*")
_STEP = re.compile(
    r"\.(?P<name>[^\W\d]\w*|\d+|\*)|\[\s*(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<index>\d+))\s*\](?=[.\[])"
)
_WORD = re.compile(r"[^\s,]+")
_LOOP = re.compile(r"loop\(\s*(\d+)\s*\)")
_INTEGER = re.compile(r"\d+(?!\w)")

LOWERINGS = ("manual", "spmd")
EXAMPLE = "x[batch, inputs], w[inputs, out] -> y[batch, out]"


@dataclass(frozen=True, slots=True)
class Term:
    """One value or result with the names of its dimensions.

    Attributes:
      root: the name that holds it.
      steps: from there on: attributes and keys; "*" stands for everything below.
      names: of its dimensions in order, None for one without a name.
      open: whether further dimensions may follow.
      text: the term as it is written.
      column: where that begins in the header.
      columns: where the word for each dimension begins.
    """

    root: str
    steps: tuple[str | int, ...]
    names: tuple[str | None, ...]
    open: bool
    text: str = field(compare=False)
    column: int = field(compare=False)
    columns: tuple[int, ...] = field(compare=False)

    @property
    def path(self) -> str:
        """The part before the brackets with the names."""
        return self.text[: self.text.rindex("[")].rstrip()


class Pair(NamedTuple):
    """`name=value` in a header, with the place of the whole."""

    name: str
    value: Any
    column: int
    width: int


@dataclass(frozen=True, slots=True)
class MapSpec:
    """How a cell is mapped over named axes.

    Attributes:
      inputs: what goes in.
      outputs: what is bound.
      sizes: of names, as far as they were given.
      resources: what each name is spread over.
      mesh: the name of a mesh, axes such as `x=4, y=2`, or a mesh; None stands for that of the context.
      lowering: "manual" or "spmd".
      auto: whether the resources are to be searched for.
      hardware: what the devices are, for that search; "" stands for any.
      header: the text that all this was read from, for messages.
      places: where `--sizes` and `--resources` say something of a name, by option and name: column and width.
    """

    inputs: tuple[Term, ...]
    outputs: tuple[Term, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    resources: tuple[tuple[str, tuple[Resource, ...]], ...] = ()
    mesh: Any = None
    lowering: str = "manual"
    auto: bool = False
    hardware: str = ""
    header: str = field(default="", compare=False)
    places: dict[tuple[str, str], tuple[int, int]] = field(
        default_factory=dict[tuple[str, str], tuple[int, int]], compare=False
    )

    @property
    def roots(self) -> tuple[str, ...]:
        """The names that are taken in, each once."""
        return tuple(dict.fromkeys(term.root for term in self.inputs))

    @property
    def bound(self) -> tuple[str, ...]:
        """The names that are bound, each once."""
        return tuple(dict.fromkeys(term.root for term in self.outputs))

    @property
    def named(self) -> tuple[str, ...]:
        """The names of all axes, as they are met."""
        every = [name for term in self.inputs for name in term.names if name is not None]
        return tuple(dict.fromkeys([*every, *(name for name, _ in self.sizes)]))

    def refused(self, what: str, column: int, width: int, *, why: str = "", fix: str = "") -> Refused:
        """An error of the run, with the header and a caret under the word that it is about."""
        caret = " " * column + "^" * max(1, width)
        return Refused(f"{what}\n    {self.header}\n    {caret}" if self.header else what, why=why, fix=fix)

    def refused_at(self, what: str, term: Term, *, name: str | None = None, why: str = "", fix: str = "") -> Refused:
        """The same about a term, or about one of its names."""
        if name is not None and name in term.names:
            return self.refused(what, term.columns[term.names.index(name)], len(name), why=why, fix=fix)
        return self.refused(what, term.column, len(term.text), why=why, fix=fix)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest of the words that there are, or all of them: the last part of a message.

    >>> did_you_mean("bacth", ["batch", "out"])
    'did you mean batch?'
    """
    there_are = sorted(known)
    close = difflib.get_close_matches(word, there_are, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(there_are)}." if there_are else ""


def read_map(header: str, shown: str, shift: int) -> tuple[tuple[Term, ...], tuple[Term, ...], int]:
    """Reads `inputs -> outputs`.

    Args:
      header: the text.
      shown: the text for messages.
      shift: how many characters of that stand before `header`.

    Returns:
      The inputs, the outputs, and where the options begin.

    Raises:
      BadHeader: pointing at the word that is wrong.
    """
    reading = _Reading(header, shown, shift)
    inputs, position = reading.terms(0, "goes in")
    arrow = _ARROW.match(header, position)
    if arrow is None:
        word = _WORD.match(header, _skip(header, position))
        at = word.start() if word is not None else len(header)
        what = f"{word.group()!r} is not expected here." if word is not None else "the results are missing."
        raise reading.bad(what, at, len(word.group()) if word is not None else 1, f"write {EXAMPLE}.")
    outputs, position = reading.terms(arrow.end(), "is bound")
    if not outputs:
        fix = f"write {EXAMPLE}."
        raise reading.bad("-> wants what is bound.", arrow.start() + arrow.group().index("-"), 2, fix)
    reading.check(inputs, outputs)
    return inputs, outputs, position


def read_pairs(header: str, position: int, kind: str) -> tuple[tuple[Pair, ...], int]:
    """Reads `batch=8, hidden=4` or `batch=(x, y), hidden=loop(16)`, and where that ends.

    >>> [pair[:2] for pair in read_pairs("batch=(x, y), hidden=loop(16)", 0, "resources")[0]]
    [('batch', ('x', 'y')), ('hidden', (16,))]
    """
    found: list[Pair] = []
    while (name := _NAME.match(header, position)) is not None:
        equals = re.compile(r"\s*=\s*").match(header, name.end())
        if equals is None:
            return (), position
        value, end = (_integer if kind == "sizes" else _resources)(header, equals.end())
        if value is None:
            return (), position
        found.append(Pair(name.group(), value, name.start(), end - name.start()))
        position = end
        comma = _COMMA.match(header, position)
        if comma is None:
            break
        position = comma.end()
    return tuple(found), position


def _integer(header: str, position: int) -> tuple[int | None, int]:
    found = _INTEGER.match(header, position)
    return (int(found.group()), found.end()) if found is not None else (None, position)


def _resources(header: str, position: int) -> tuple[tuple[Resource, ...] | None, int]:
    if header[position : position + 1] != "(":
        one, end = _resource(header, position)
        return (None if one is None else (one,)), end
    position, found = _skip(header, position + 1), list[Resource]()
    while header[position : position + 1] != ")":
        one, position = _resource(header, position)
        if one is None:
            return None, position
        found.append(one)
        position = _skip(header, position)
        if header[position : position + 1] == ",":
            position = _skip(header, position + 1)
        elif header[position : position + 1] != ")":
            return None, position
    return (tuple(found) or None), position + 1


def _resource(header: str, position: int) -> tuple[Resource | None, int]:
    if (loop := _LOOP.match(header, position)) is not None:
        return int(loop[1]), loop.end()
    name = _NAME.match(header, position)
    return (name.group(), name.end()) if name is not None else (None, position)


def _skip(header: str, position: int) -> int:
    found = _SPACE.match(header, position)
    return found.end() if found is not None else position


class _Reading:
    """Reads the terms of one header."""

    def __init__(self, header: str, shown: str, shift: int) -> None:
        self.header, self.shown, self.shift = header, shown, shift

    def bad(self, what: str, column: int, width: int, fix: str = "") -> BadHeader:
        """The error that points at a word."""
        return BadHeader(what, header=self.shown, column=column + self.shift, width=width, fix=fix)

    def terms(self, position: int, does: str) -> tuple[tuple[Term, ...], int]:
        """Terms with commas between them, and where they end."""
        found: list[Term] = []
        position = _skip(self.header, position)
        while _NAME.match(self.header, position) is not None:
            term, position = self.term(position)
            found.append(term)
            comma = _COMMA.match(self.header, position)
            if comma is None:
                break
            position = comma.end()
            if _NAME.match(self.header, position) is None:
                what = f"behind the comma a term is missing that {does}."
                raise self.bad(what, comma.start() + comma.group().index(","), 1, f"write {EXAMPLE}.")
        return tuple(found), position

    def term(self, position: int) -> tuple[Term, int]:
        """The term that begins at a position, and where it ends."""
        header = self.header
        start, root = position, _NAME.match(header, position)
        assert root is not None
        position, steps = root.end(), list[str | int]()
        while (step := _STEP.match(header, position)) is not None:
            text = step["name"] or step["single"] or step["double"]
            steps.append(int(step["index"] or text) if (step["index"] or text).isdecimal() else text)
            position = step.end()
        position = _skip(header, position)
        if header[position : position + 1] != "[":
            path = header[start:position].rstrip()
            fix = f"write {path}[batch, ...], or {path}[] for a single number."
            raise self.bad(f"{path} wants its names in brackets.", start, len(path), fix)
        end = header.find("]", position)
        if end < 0 or "->" in header[position:end]:
            raise self.bad("this bracket is not closed.", position, 1, "close it behind the last name.")
        names, columns, is_open = self.names(position + 1, end)
        text = header[start : end + 1]
        columns = tuple(column + self.shift for column in columns)
        term = Term(root.group(), tuple(steps), names, is_open, text, start + self.shift, columns)
        if "*" in steps[:-1]:
            raise self.bad("* stands for everything below, so that nothing can follow.", start, len(term.path))
        return term, end + 1

    def names(self, start: int, end: int) -> tuple[tuple[str | None, ...], tuple[int, ...], bool]:
        """What stands between two brackets: the names, where they stand, and whether `...` ends them."""
        names: list[str | None] = []
        columns: list[int] = []
        text = self.header[start:end]
        if not text.strip():
            return (), (), False
        position, is_open = start, False
        for part in text.split(","):
            word, column = part.strip(), position + len(part) - len(part.lstrip())
            position += len(part) + 1
            if is_open:
                raise self.bad("`...` stands for all further dimensions.", start, end - start, "write it last.")
            if word == "...":
                is_open = True
            elif word == "_":
                names.append(None)
                columns.append(column)
            elif word.isidentifier():
                if word in names:
                    fix = "give the second dimension another name, or write _ for none."
                    raise self.bad(f"{word} names two dimensions of one value.", column, len(word), fix)
                names.append(word)
                columns.append(column)
            else:
                what = f"{word!r} is no name." if word else "a name is missing here."
                fix = "write names, _ for a dimension without one, and ... for all further ones."
                raise self.bad(what, column, max(1, len(word)), fix)
        return tuple(names), tuple(columns), is_open

    def check(self, inputs: tuple[Term, ...], outputs: tuple[Term, ...]) -> None:
        """Every value stands there once."""
        for terms, does in ((inputs, "goes in"), (outputs, "is bound")):
            seen: set[tuple[Any, ...]] = set()
            for term in terms:
                if (term.root, term.steps) in seen:
                    column = term.column - self.shift
                    raise self.bad(f"{term.path} {does} twice.", column, len(term.text), "leave one of them out.")
                seen.add((term.root, term.steps))


def read_spec(
    text: str,
    sizes: Mapping[str, int],
    resources: Mapping[str, Any] | Literal["auto"],
    mesh: Any = None,
    lowering: str = "manual",
    hardware: str = "",
) -> MapSpec:
    """What the header says, from Python values: only `inputs -> outputs` is text.

    Args:
      text: `x[batch, inputs] -> y[batch]`.
      sizes: sizes of names.
      resources: what each name is spread over: a resource or a tuple of them; a loop is its number of turns;
        "auto" has the best ones searched for.
      mesh: the name of a mesh, its axes, a mesh, or None.
      lowering: "manual" or "spmd".

    Raises:
      BadHeader: pointing at the word of `text` that is wrong.
    """
    shown = text.strip()
    inputs, outputs, position = read_map(shown, shown, 0)
    if shown[position:].strip():
        word = shown[position:].split()[0]
        column = shown.index(word, position)
        raise BadHeader(f"{word!r} is not expected here.", header=shown, column=column, width=len(word))
    if lowering not in LOWERINGS:
        raise BadHeader(f"there is no lowering {lowering!r}.", header=shown, column=0, fix=did_you_mean("", LOWERINGS))
    auto = isinstance(resources, str)
    given = {} if isinstance(resources, str) else resources
    spread = tuple((name, tuple(one) if isinstance(one, tuple | list) else (one,)) for name, one in given.items())
    spec = MapSpec(inputs, outputs, tuple(sizes.items()), spread, mesh, lowering, auto, hardware, shown)
    check_names(spec)
    return spec


def check_names(spec: MapSpec) -> None:
    """Every name that is used is one of an input, or has its size given."""
    known = spec.named
    for term in spec.outputs:
        for name, column in zip(term.names, term.columns, strict=True):
            if name is not None and name not in known:
                what = f"no input has the name {name}, and --sizes does not give its size."
                fix = did_you_mean(name, known)
                raise BadHeader(what, header=spec.header, column=column, width=len(name), fix=fix)
    for name, _ in spec.resources:
        if name not in known:
            column, width = spec.places.get(("resources", name), (0, 1))
            width = min(width, len(name)) if ("resources", name) in spec.places else width
            what = f"{name} has a resource, but no input has that name, and --sizes does not give its size."
            raise BadHeader(what, header=spec.header, column=column, width=width, fix=did_you_mean(name, known))
