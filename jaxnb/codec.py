"""A `Program` as JSON and back, in columns of equal length, one list a field: small, and quick to load.

`program.schema.json` is the contract that the front end reads too. Texts, avals and spans that occur often
are stored once, in tables, and meant by their index; -1 means none.

    {"format": "jaxnb.program", "version": 1, "source": "...",
     "strings": [...], "avals": {"dtype": [...], ...}, "spans": {"line": [...], ...},
     "levels": [{"name": "jaxpr", "entries": 1, "values": {...}, "computations": {...}, "ops": {...}}],
     "links": {...}, "findings": [{...}]}

The ops of a level stand in one run of columns, computation after computation; `computations.ops` says how
many each computation has.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from jaxnb.errors import JaxnbError
from jaxnb.program import (
    FORMAT_VERSION,
    Aval,
    Computation,
    Finding,
    Fix,
    Level,
    Link,
    Op,
    Program,
    Span,
    Value,
    check_program,
)

__all__ = ["FORMAT", "MIME_TYPE", "decode", "encode"]

FORMAT = "jaxnb.program"
MIME_TYPE = "application/vnd.jaxnb.program.v1+json"

T = TypeVar("T", bound=Hashable)


class _Table(Generic[T]):
    """Items that are stored once; `index` adds what is new."""

    def __init__(self) -> None:
        self.places: dict[T, int] = {}

    def index(self, item: T | None) -> int:
        return -1 if item is None else self.places.setdefault(item, len(self.places))

    def items(self) -> list[T]:
        return list(self.places)


def encode(program: Program) -> dict[str, Any]:
    """The program as lists, dicts, strings, numbers and booleans, ready for `json.dumps`.

    >>> encode(Program("x = 1"))["version"]
    1
    """
    strings: _Table[str] = _Table()
    avals: _Table[Aval] = _Table()
    spans: _Table[Span] = _Table()
    levels = [_encode_level(level, strings, avals, spans) for level in program.levels]
    findings = [_encode_finding(finding, spans) for finding in program.findings]
    level_names = [level.name for level in program.levels]
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "source": program.source,
        "levels": levels,
        "links": {
            "upper": [level_names.index(link.upper) for link in program.links],
            "upper_op": [list(link.upper_op) for link in program.links],
            "lower": [level_names.index(link.lower) for link in program.links],
            "lower_op": [list(link.lower_op) for link in program.links],
            "inferred": [i for i, link in enumerate(program.links) if not link.exact],
        },
        "findings": findings,
        "avals": {
            "dtype": [strings.index(aval.dtype) for aval in avals.items()],
            "shape": [list(aval.shape) for aval in avals.items()],
            "weak_type": [i for i, aval in enumerate(avals.items()) if aval.weak_type],
            "itemsize": [aval.itemsize for aval in avals.items()],
        },
        "spans": {
            "line": [span.line for span in spans.items()],
            "column": [span.column for span in spans.items()],
            "end_line": [span.end_line for span in spans.items()],
            "end_column": [span.end_column for span in spans.items()],
            "file": [strings.index(span.file) for span in spans.items()],
        },
        "strings": strings.items(),
    }


def _encode_level(
    level: Level, strings: _Table[str], avals: _Table[Aval], spans: _Table[Span]
) -> dict[str, Any]:
    ops = list(level.ops())
    computations = level.computations
    return {
        "name": level.name,
        "entries": level.entries,
        "values": {
            "name": [strings.index(value.name) for value in level.values],
            "aval": [avals.index(value.aval) for value in level.values],
            "literal": [i for i, value in enumerate(level.values) if value.literal],
        },
        "computations": {
            "name": [strings.index(c.name) for c in computations],
            "inputs": [list(c.inputs) for c in computations],
            "outputs": [list(c.outputs) for c in computations],
            "constants": [list(c.constants) for c in computations],
            "input_names": [[strings.index(name) for name in c.input_names] for c in computations],
            "output_names": [[strings.index(name) for name in c.output_names] for c in computations],
            "ops": [len(c.ops) for c in computations],
        },
        "ops": {
            "name": [strings.index(op.name) for op in ops],
            "inputs": [list(op.inputs) for op in ops],
            "outputs": [list(op.outputs) for op in ops],
            "attributes": [[strings.index(text) for pair in op.attributes for text in pair] for op in ops],
            "span": [spans.index(op.span) for op in ops],
            "bodies": [list(op.bodies) for op in ops],
        },
    }


def _encode_finding(finding: Finding, spans: _Table[Span]) -> dict[str, Any]:
    """Findings are few and differ much: objects, without the fields that say nothing."""
    data: dict[str, Any] = {"kind": finding.kind, "message": finding.message}
    if finding.line is not None:
        data["line"] = finding.line
    if finding.span is not None:
        data["span"] = spans.index(finding.span)
    data |= {key: text for key in ("holder", "origin") if (text := getattr(finding, key))}
    if (fix := finding.fix) is not None:
        edit = {} if fix.edit is None else {"edit": list(fix.edit)}
        edit = {} if fix.edit is None else {"edit": list(fix.edit)}
        data["fix"] = {"text": fix.text, "options": fix.options, "verified": fix.verified, **edit}
    return data


def decode(data: Mapping[str, Any]) -> Program:
    """The program that `encode` made the data from: `decode(encode(p)) == p`.

    Raises:
      JaxnbError: if the data is not a program, is damaged, or was written by a newer jaxnb.
    """
    if data.get("format") != FORMAT:
        raise JaxnbError(
            "this is not a saved jaxnb program.",
            why=f'its "format" is not {FORMAT!r}.',
            fix="run the cell again.",
        )
    version = data.get("version")
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise JaxnbError(
            f"this program was saved in version {version!r} of the format.",
            why=f"this jaxnb reads versions 1 to {FORMAT_VERSION}.",
            fix="upgrade jaxnb, or run the cell again.",
        )
    try:
        program = _decode(data)
        check_program(program)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise JaxnbError(
            "the saved program is damaged.", why=f"{type(error).__name__}: {error}", fix="run the cell again."
        ) from error
    return program


def _decode(data: Mapping[str, Any]) -> Program:
    strings: list[str] = data["strings"]
    columns = data["avals"]
    weak = set(columns["weak_type"])
    avals = [
        Aval(_at(strings, dtype), tuple(shape), i in weak, itemsize)
        for i, (dtype, shape, itemsize) in enumerate(
            zip(columns["dtype"], columns["shape"], columns["itemsize"], strict=True)
        )
    ]
    columns = data["spans"]
    names = ("line", "column", "end_line", "end_column", "file")
    names = ("line", "column", "end_line", "end_column", "file")
    spans = [
        Span(line, column, end_line, end_column, _at(strings, file))
        for line, column, end_line, end_column, file in zip(*(columns[key] for key in names), strict=True)
    ]
    levels = tuple(_decode_level(level, strings, avals, spans) for level in data["levels"])
    columns = data["links"]
    inferred = set(columns["inferred"])
    names = ("upper", "upper_op", "lower", "lower_op")
    links = tuple(
        Link(_at(levels, upper).name, _pair(upper_op), _at(levels, lower).name, _pair(lower_op))
        for upper, upper_op, lower, lower_op in zip(*(columns[key] for key in names), strict=True)
    )
    links = tuple(replace(link, exact=False) if i in inferred else link for i, link in enumerate(links))
    findings = tuple(_decode_finding(finding, spans) for finding in data["findings"])
    return Program(data["source"], levels, links, findings)


def _decode_level(
    data: Mapping[str, Any], strings: Sequence[str], avals: Sequence[Aval], spans: Sequence[Span]
) -> Level:
    columns = data["values"]
    literal = set(columns["literal"])
    values = tuple(
        Value(_at(strings, name), None if aval == -1 else _at(avals, aval), i in literal)
        for i, (name, aval) in enumerate(zip(columns["name"], columns["aval"], strict=True))
    )
    columns = data["ops"]
    names = ("name", "inputs", "outputs", "attributes", "span", "bodies")
    ops = [
        Op(
            _at(strings, name),
            tuple(inputs),
            tuple(outputs),
            _pairs(_texts(attributes, strings)),
            None if span == -1 else _at(spans, span),
            tuple(bodies),
        )
        for name, inputs, outputs, attributes, span, bodies in zip(
            *(columns[key] for key in names), strict=True
        )
    ]
    columns = data["computations"]
    names = ("name", "inputs", "outputs", "ops", "constants", "input_names", "output_names")
    computations: list[Computation] = []
    start = 0
    for name, inputs, outputs, count, constants, input_names, output_names in zip(
        *(columns[key] for key in names), strict=True
    ):
        computations.append(
            Computation(
                _at(strings, name),
                tuple(inputs),
                tuple(outputs),
                tuple(ops[start : start + count]),
                tuple(constants),
                _texts(input_names, strings),
                _texts(output_names, strings),
            )
        )
        start += count
    if start != len(ops):
        raise ValueError(f"level {data['name']!r} has {len(ops)} ops, its computations have {start}")
    return Level(data["name"], values, tuple(computations), data["entries"])


def _decode_finding(data: Mapping[str, Any], spans: Sequence[Span]) -> Finding:
    fix = data.get("fix")
    if fix is not None:
        edit = fix.get("edit")
        if edit is not None:
            line, old, new = edit
            edit = (line, old, new)
        fix = Fix(fix["text"], fix["options"], edit, fix["verified"])
    span = _at(spans, data["span"]) if "span" in data else None
    return Finding(
        data["kind"],
        data["message"],
        data.get("line"),
        span,
        data.get("holder", ""),
        data.get("origin", ""),
        fix,
    )


def _at(items: Sequence[Any], index: int) -> Any:
    """An item of a table; a negative index is an error here, not the end of the list."""
    if index < 0:
        raise IndexError(f"index {index} into a table of {len(items)}")
    return items[index]


def _texts(indices: Iterable[int], strings: Sequence[str]) -> tuple[str, ...]:
    return tuple(_at(strings, index) for index in indices)


def _pair(items: Sequence[int]) -> tuple[int, int]:
    first, second = items
    return first, second


def _pairs(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(texts[::2], texts[1::2], strict=True))
