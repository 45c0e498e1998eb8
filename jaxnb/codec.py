"""A `Program` as JSON and back, in columns of equal length, one list a field: small, and quick to load.

`program.schema.json` is the contract that the front end reads too. Texts, avals and spans that occur often
are stored once, in tables, and meant by their index; -1 means none.

    {"format": "jaxnb.program", "version": 2, "source": "...",
     "strings": [...], "avals": {"dtype": [...], ...}, "spans": {"line": [...], ...},
     "levels": [{"name": "jaxpr", "entries": 1, "values": {...}, "computations": {...}, "ops": {...}}],
     "links": {...}, "fates": {...}, "findings": [{...}]}

The ops of a level stand in one run of columns, computation after computation; `computations.ops` says how
many each computation has. Version 1 has neither fates, nor how values are spread, nor phases and scopes of ops;
a column of these is also left out where it would say nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from jaxnb.errors import JaxnbError
from jaxnb.program import (
    FORMAT_VERSION,
    PHASES,
    Aval,
    Computation,
    Fate,
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
"""What notebooks and front ends know a saved program by; the version of the format stands inside."""

T = TypeVar("T", bound=Hashable)


class _Table(Generic[T]):
    """Items that are stored once; `index` adds what is new."""

    def __init__(self) -> None:
        self.places: dict[T, int] = {}

    def index(self, item: T | None) -> int:
        return -1 if item is None else self.places.setdefault(item, len(self.places))

    def items(self) -> list[T]:
        return list(self.places)


def encode(program: Program, levels: Collection[str] | None = None) -> dict[str, Any]:
    """The program as lists, dicts, strings, numbers and booleans, ready for `json.dumps`.

    Args:
      program: no level of it is made for this.
      levels: the names of those that are saved, of which each but the first is the one below another; by default all
        that were made.

    >>> encode(Program("x = 1"))["version"]
    2
    """
    if levels is not None:
        program = _with_levels(program, levels)
    return _encode(program)


def _with_levels(program: Program, names: Collection[str]) -> Program:
    """The same program as if no other levels had been made."""
    links = tuple(link for link in program.links if link.upper in names and link.lower in names)
    kept = tuple(level for level in program.levels if level.name in names)
    fates = program.fates if {"jaxpr", "hlo"} <= {level.name for level in kept} else ()
    return Program(program.source, kept, links, program.findings, fates)


def _encode(program: Program) -> dict[str, Any]:
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
        "fates": {
            "op": [list(fate.op) for fate in program.fates],
            "kind": [strings.index(fate.kind) for fate in program.fates],
            "into": [[] if fate.into is None else list(fate.into) for fate in program.fates],
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


def _encode_level(level: Level, strings: _Table[str], avals: _Table[Aval], spans: _Table[Span]) -> dict[str, Any]:
    ops = list(level.ops())
    computations = level.computations
    return {
        "name": level.name,
        "entries": level.entries,
        "values": {
            "name": [strings.index(value.name) for value in level.values],
            "aval": [avals.index(value.aval) for value in level.values],
            "literal": [i for i, value in enumerate(level.values) if value.literal],
            **_said("sharding", [value.sharding for value in level.values], strings),
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
            **_said("phase", ["" if op.phase == PHASES[0] else op.phase for op in ops], strings),
            **_scopes(ops, strings),
        },
    }


def _said(name: str, texts: list[str], strings: _Table[str]) -> dict[str, list[int]]:
    """A column of texts, of which -1 stands for the empty one; no column if all of them are."""
    return {name: [strings.index(text or None) for text in texts]} if any(texts) else {}


def _scopes(ops: Sequence[Op], strings: _Table[str]) -> dict[str, list[list[int]]]:
    found = [[strings.index(scope) for scope in op.scopes] for op in ops]
    return {"scopes": found} if any(found) else {}


def _encode_finding(finding: Finding, spans: _Table[Span]) -> dict[str, Any]:
    """Findings are few and differ much: objects, without the fields that say nothing."""
    data: dict[str, Any] = {"kind": finding.kind, "message": finding.message}
    if finding.line is not None:
        data["line"] = finding.line
    if finding.span is not None:
        data["span"] = spans.index(finding.span)
    data |= {key: text for key in ("holder", "origin") if (text := getattr(finding, key))}
    if finding.trail:
        data["trail"] = list(finding.trail)
    if (fix := finding.fix) is not None:
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
    strings = [_typed(text, str) for text in data["strings"]]
    columns = data["avals"]
    weak = set(columns["weak_type"])
    names = ("dtype", "shape", "itemsize")
    avals = [
        Aval(_at(strings, dtype), tuple(_typed(n, int, str) for n in shape), i in weak, _typed(itemsize, int))
        for i, (dtype, shape, itemsize) in enumerate(_rows(columns, names))
    ]
    names = ("line", "column", "end_line", "end_column", "file")
    spans = [
        Span(*(_typed(number, int) for number in numbers), file=_at(strings, file))
        for *numbers, file in _rows(data["spans"], names)
    ]
    levels = tuple(_decode_level(level, strings, avals, spans) for level in data["levels"])
    inferred = set(data["links"]["inferred"])
    names = ("upper", "upper_op", "lower", "lower_op")
    links = tuple(
        Link(
            _at(levels, upper).name,
            _pair(upper_op),
            _at(levels, lower).name,
            _pair(lower_op),
            i not in inferred,
        )
        for i, (upper, upper_op, lower, lower_op) in enumerate(_rows(data["links"], names))
    )
    findings = tuple(_decode_finding(finding, spans) for finding in data["findings"])
    empty: dict[str, list[Any]] = {"op": [], "kind": [], "into": []}
    fates = tuple(
        Fate(_pair(op), _at(strings, kind), _pair(into) if into else None)
        for op, kind, into in _rows(data.get("fates", empty), ("op", "kind", "into"))
    )
    return Program(_typed(data["source"], str), levels, links, findings, fates)


def _decode_level(
    data: Mapping[str, Any], strings: Sequence[str], avals: Sequence[Aval], spans: Sequence[Span]
) -> Level:
    literal = set(data["values"]["literal"])
    values = tuple(
        Value(_at(strings, name), None if aval == -1 else _at(avals, aval), i in literal, sharding)
        for i, (name, aval, sharding) in enumerate(
            zip(*_columns(data["values"], ("name", "aval")), _heard(data["values"], "sharding", strings), strict=True)
        )
    )
    names = ("name", "inputs", "outputs", "attributes", "span", "bodies")
    ops = [
        Op(
            _at(strings, name),
            _indices(inputs),
            _indices(outputs),
            _pairs(_texts(attributes, strings)),
            None if span == -1 else _at(spans, span),
            _indices(bodies),
            phase or PHASES[0],
            _texts(scopes, strings),
        )
        for name, inputs, outputs, attributes, span, bodies, phase, scopes in zip(
            *_columns(data["ops"], names),
            _heard(data["ops"], "phase", strings),
            data["ops"].get("scopes", [()] * len(data["ops"]["name"])),
            strict=True,
        )
    ]
    names = ("name", "inputs", "outputs", "ops", "constants", "input_names", "output_names")
    computations: list[Computation] = []
    start = 0
    for name, inputs, outputs, count, constants, *user_names in _rows(data["computations"], names):
        computations.append(
            Computation(
                _at(strings, name),
                _indices(inputs),
                _indices(outputs),
                tuple(ops[start : start + count]),
                _indices(constants),
                *(_texts(texts, strings) for texts in user_names),
            )
        )
        start += count
    if start != len(ops):
        raise ValueError(f"level {data['name']!r} has {len(ops)} ops, its computations have {start}")
    return Level(_typed(data["name"], str), values, tuple(computations), _typed(data["entries"], int))


def _decode_finding(data: Mapping[str, Any], spans: Sequence[Span]) -> Finding:
    fix = data.get("fix")
    if fix is not None:
        edit = fix.get("edit")
        if edit is not None:
            line, old, new = edit
            edit = (_typed(line, int), _typed(old, str), _typed(new, str))
        fix = Fix(_typed(fix["text"], str), _typed(fix["options"], str), edit, _typed(fix["verified"], bool))
    return Finding(
        _typed(data["kind"], str),
        _typed(data["message"], str),
        _typed(data.get("line"), int, type(None)),
        _at(spans, data["span"]) if "span" in data else None,
        _typed(data.get("holder", ""), str),
        _typed(data.get("origin", ""), str),
        fix,
        tuple(_typed(line, int) for line in data.get("trail", ())),
    )


def _rows(columns: Mapping[str, Any], names: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    """The rows of some columns, which must be of one length."""
    return zip(*_columns(columns, names), strict=True)


def _columns(columns: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    return [columns[name] for name in names]


def _heard(columns: Mapping[str, Any], name: str, strings: Sequence[str]) -> list[str]:
    """What `_said` wrote; a column that is not there is full of empty texts."""
    if name not in columns:
        return [""] * len(columns["name"])
    return ["" if index == -1 else _at(strings, index) for index in columns[name]]


def _typed(value: Any, *types: type) -> Any:
    """The value, if it is of one of these types; True is no number here, and 1.0 no index."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise TypeError(f"{value!r} where {' or '.join(t.__name__ for t in types)} should be")
    return value


def _at(items: Sequence[T], index: int) -> T:
    """An item of a table; a negative index is an error here, not the end of the list."""
    if index < 0:
        raise IndexError(f"index {index} into a table of {len(items)}")
    return items[index]


def _indices(indices: Iterable[int]) -> tuple[int, ...]:
    return tuple(_typed(index, int) for index in indices)


def _texts(indices: Iterable[int], strings: Sequence[str]) -> tuple[str, ...]:
    return tuple(_at(strings, index) for index in indices)


def _pair(items: Sequence[int]) -> tuple[int, int]:
    first, second = _indices(items)
    return first, second


def _pairs(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(texts[::2], texts[1::2], strict=True))
