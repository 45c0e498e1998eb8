"""A `Program` as JSON and back, in columns of equal length, one list a field: small, and quick to load.

`program.schema.json` is the contract that the front end reads too. Texts, avals and spans that occur often
are stored once, in tables, and meant by their index; -1 means none.

    {"format": "jaxnb.program", "version": 1, "source": "...",
     "strings": [...], "avals": {"dtype": [...], ...}, "spans": {"line": [...], ...},
     "levels": [{"name": "jaxpr", "entries": 1, "values": {...}, "computations": {...}, "ops": {...}}],
     "links": {...}, "fates": {...}, "findings": [{...}], "timing": {...}, "memory": [{...}], "names": {...},
     "layout": {...}, "vmapped": [{...}], "kernels": [{...}], "calls": {...}}

The ops of a level stand in one run of columns, computation after computation; `computations.ops` says how
many each computation has. What says nothing is left out: fates, calls, costs, times, named axes, memory, names,
layouts, kernels. For a viewer, which draws no diagram by itself, `views.drawings` adds "drawings"; they follow from the
rest, and are not read back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

import jaxnb.program as room
from jaxnb.errors import JaxnbError
from jaxnb.program.codec_facts import (
    decode_memory,
    decode_names,
    decode_processes,
    decode_timing,
    encode_memory,
    encode_names,
    encode_processes,
    encode_timing,
)
from jaxnb.program.laws import check_program
from jaxnb.program.program import Program
from jaxnb.program.structure import (
    COLUMNS,
    FORMAT_VERSION,
    PHASES,
    Aval,
    Call,
    Computation,
    Fate,
    Finding,
    Fix,
    Level,
    Link,
    Op,
    Source,
    Span,
    Value,
)
from jaxnb.program.tables import (
    Interned,
    at,
    columns_of,
    each_once,
    indices_of,
    pair_of,
    pairs_of,
    rows_of,
    seconds_of,
    texts_of,
    typed,
)
from jaxnb.runtime import collection_put_off

__all__ = ["FORMAT", "MIME_TYPE", "decode", "encode"]

FORMAT = "jaxnb.program"
MIME_TYPE = "application/vnd.jaxnb.program.v1+json"
"""What notebooks and front ends know a saved program by; the version of the format stands inside."""

# The last fields of an op, each with the number that is not worth saving.
_NUMBERS: dict[str, Any] = {
    field.name: field.default for field in fields(Op) if field.name in COLUMNS or field.name == "times"
}


def encode(program: Program, levels: Collection[str] | None = None) -> dict[str, Any]:
    """The program as lists, dicts, strings, numbers and booleans, ready for `json.dumps`.

    Nothing in it should be changed: rows that are alike may be one list.

    Args:
      program: no level of it is made for this.
      levels: the names of those that are saved, of which each but the first is the one below another; by default all
        that were made.

    >>> encode(Program("x = 1"))["version"]
    1
    """
    if levels is not None:
        program = _with_levels(program, levels)
    with collection_put_off():
        return _encode(program)


def _with_levels(program: Program, names: Collection[str]) -> Program:
    """The same program as if no other levels had been made."""
    links = tuple(link for link in program.links if link.upper in names and link.lower in names)
    kept = tuple(level for level in program.levels if level.name in names)
    fates = program.fates if {"jaxpr", "hlo"} <= {level.name for level in kept} else ()
    memory = program.made_memory
    if memory is not None and not all(piece.level in names for piece in memory):
        memory = None  # its positions are those of a level that is not there
    kernels = program.made_kernels if "jaxpr" in names else None
    facts = (program.timing, memory, program.made_names, program.made_layout, program.made_vmapped, kernels)
    return Program(program.source, kept, links, program.findings, fates, *facts, processes=program.processes)


def _encode(program: Program) -> dict[str, Any]:
    strings: Interned[str] = Interned()
    avals: Interned[Aval] = Interned()
    spans: Interned[Span] = Interned()
    calls: Interned[Call] = Interned()
    levels = [_encode_level(level, strings, avals, spans, calls) for level in program.levels]
    findings = [_encode_finding(finding, spans) for finding in program.findings]
    facts: dict[str, Any] = {}
    if program.timing is not None:
        facts["timing"] = encode_timing(program.timing)
    if program.processes:
        facts["processes"] = encode_processes(program.processes)
    if (memory := program.made_memory) is not None:
        facts["memory"] = [encode_memory(piece, strings) for piece in memory]
    if (names := program.made_names) is not None:
        facts["names"] = encode_names(names, strings, spans)
    if layout := program.made_layout:
        facts["layout"] = room.encode_layout(layout, strings)
    if vmapped := program.made_vmapped:
        facts["vmapped"] = [
            {"name": strings.index(name), "level": _encode_level(level, strings, avals, spans, calls)}
            for name, level in vmapped
        ]
    if kernels := program.made_kernels:
        facts["kernels"] = room.encode_kernels(kernels)
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
        **_encode_fates(program.fates, strings),
        "findings": findings,
        **facts,
        **_encode_calls(calls, strings, spans),
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


def _encode_fates(fates: Sequence[Fate], strings: Interned[str]) -> dict[str, Any]:
    if not fates:
        return {}
    return {
        "fates": {
            "op": [list(fate.op) for fate in fates],
            "kind": [strings.index(fate.kind) for fate in fates],
            "into": [[] if fate.into is None else list(fate.into) for fate in fates],
        }
    }


def _encode_calls(calls: Interned[Call], strings: Interned[str], spans: Interned[Span]) -> dict[str, Any]:
    """The calls that ops name, each behind the one that it was made in."""
    if not calls.places:
        return {}
    rows = calls.items()
    return {
        "calls": {
            "name": strings.indices(call.name for call in rows),
            "kind": strings.indices(call.kind for call in rows),
            "span": each_once(spans.index, [call.span for call in rows]),
            **_within(rows, calls),
            **_said("path", [call.path for call in rows], strings),
            **({} if all(call.turns == 1 for call in rows) else {"turns": [_or_none(call.turns) for call in rows]}),
        }
    }


def _within(rows: Sequence[Call], calls: Interned[Call]) -> dict[str, list[int]]:
    """The call around each; no column if there are none."""
    return {"parent": [calls.index(call.parent) for call in rows]} if any(call.parent for call in rows) else {}


def _or_none(number: int | None) -> int:
    return -1 if number is None else number


def _encode_level(
    level: Level, strings: Interned[str], avals: Interned[Aval], spans: Interned[Span], calls: Interned[Call]
) -> dict[str, Any]:
    ops = list(level.ops())
    computations = level.computations
    return {
        "name": level.name,
        "entries": level.entries,
        "values": {
            "name": strings.indices(value.name for value in level.values),
            "aval": each_once(avals.index, [value.aval for value in level.values]),
            "literal": [i for i, value in enumerate(level.values) if value.literal],
            **_said("sharding", [value.sharding for value in level.values], strings),
            **_encode_axes(level, strings),
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
            "name": strings.indices(op.name for op in ops),
            "inputs": [list(op.inputs) for op in ops],
            "outputs": [list(op.outputs) for op in ops],
            "attributes": _attributes(ops, strings),
            "span": each_once(spans.index, [op.span for op in ops]),
            "bodies": each_once(list, [op.bodies for op in ops]),
            **_said("phase", ["" if op.phase == PHASES[0] else op.phase for op in ops], strings),
            **_scopes(ops, strings),
            **_called(ops, calls),
            **_numbers(ops),
        },
        **_encode_sources(level.sources, strings),
    }


def _encode_sources(sources: Sequence[Source], strings: Interned[str]) -> dict[str, Any]:
    if not sources:
        return {}
    return {
        "sources": {
            "file": [strings.index(source.file) for source in sources],
            "line": [source.line for source in sources],
            "text": [strings.index(source.text) for source in sources],
        }
    }


def _said(name: str, texts: list[str], strings: Interned[str]) -> dict[str, list[int]]:
    """A column of texts, of which -1 stands for the empty one; no column if all of them are."""
    return {name: [strings.index(text or None) for text in texts]} if any(texts) else {}


def _numbers(ops: Sequence[Op]) -> dict[str, list[Any]]:
    """The columns of numbers but for those in which all are the usual one. Where it is counted -1 stands for None."""
    found: dict[str, list[Any]] = {}
    for name, usual in _NUMBERS.items():
        numbers = [getattr(op, name) for op in ops]
        if any(number != usual for number in numbers):
            found[name] = numbers if _measured(name) else [-1 if number is None else number for number in numbers]
    return found


def _measured(name: str) -> bool:
    return name in COLUMNS and COLUMNS[name].measured


def _encode_axes(level: Level, strings: Interned[str]) -> dict[str, list[list[int]]]:
    """Of each value the name and the size of each axis in turn, -1 where the size is not known."""
    if not any(value.axes for value in level.values):
        return {}
    rows = ([(strings.index(name), -1 if size is None else size) for name, size in v.axes] for v in level.values)
    return {"axes": [[number for pair in row for number in pair] for row in rows]}


def _attributes(ops: Sequence[Op], strings: Interned[str]) -> list[list[int]]:
    def row(attributes: tuple[tuple[str, str], ...]) -> list[int]:
        return strings.indices(text for pair in attributes for text in pair)

    return each_once(row, [op.attributes for op in ops])


def _scopes(ops: Sequence[Op], strings: Interned[str]) -> dict[str, list[list[int]]]:
    found = each_once(strings.indices, [op.scopes for op in ops])
    return {"scopes": found} if any(found) else {}


def _called(ops: Sequence[Op], calls: Interned[Call]) -> dict[str, list[int]]:
    """The column of calls; no column if there are none."""

    def index(call: Call | None) -> int:
        for step in call.steps() if call is not None else ():
            calls.index(step)
        return calls.index(call)

    found = each_once(index, [op.call for op in ops])
    return {"call": found} if any(place >= 0 for place in found) else {}


def _encode_finding(finding: Finding, spans: Interned[Span]) -> dict[str, Any]:
    """Findings are few and differ much: objects, without the fields that say nothing."""
    data: dict[str, Any] = {"kind": finding.kind, "message": finding.message}
    if finding.line is not None:
        data["line"] = finding.line
    if finding.span is not None:
        data["span"] = spans.index(finding.span)
    data |= {key: text for key in ("holder", "origin", "said") if (text := getattr(finding, key))}
    if finding.operands:
        data["operands"] = list(finding.operands)
    if finding.trail:
        data["trail"] = list(finding.trail)
    if finding.folded:
        data["folded"] = True
    if (fix := finding.fix) is not None:
        edit = {} if fix.edit is None else {"edit": list(fix.edit)}
        data["fix"] = {"text": fix.text, "options": fix.options, "verified": fix.verified, **edit}
    return data


def decode(data: object) -> Program:
    """The program that `encode` made the data from: `decode(encode(p)) == p`.

    Raises:
      JaxnbError: if the data is not a program, is damaged, or was written by another version of the format.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise JaxnbError(
            "this is not a saved jaxnb program.",
            why=f'its "format" is not {FORMAT!r}.' if isinstance(data, dict) else f"it is a {type(data).__name__}.",
            fix="run the cell again.",
        )
    version = data.get("version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise JaxnbError(
            f"this program was saved in version {version!r} of the format.",
            why=f"this jaxnb reads version {FORMAT_VERSION}.",
            fix="upgrade jaxnb, or run the cell again.",
        )
    try:
        with collection_put_off():
            program = _decode(data)
        check_program(program)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise JaxnbError(
            "the saved program is damaged.", why=f"{type(error).__name__}: {error}", fix="run the cell again."
        ) from error
    return program


def _decode(data: Mapping[str, Any]) -> Program:
    strings = [typed(text, str) for text in data["strings"]]
    columns = data["avals"]
    weak = set(columns["weak_type"])
    names = ("dtype", "shape", "itemsize")
    avals = [
        Aval(at(strings, dtype), tuple(typed(n, int, str) for n in shape), i in weak, typed(itemsize, int))
        for i, (dtype, shape, itemsize) in enumerate(rows_of(columns, names))
    ]
    names = ("line", "column", "end_line", "end_column", "file")
    spans = [
        Span(*(typed(number, int) for number in numbers), file=at(strings, file))
        for *numbers, file in rows_of(data["spans"], names)
    ]
    calls = _decode_calls(data.get("calls"), strings, spans)
    levels = tuple(_decode_level(level, strings, avals, spans, calls) for level in data["levels"])
    inferred = set(data["links"]["inferred"])
    names = ("upper", "upper_op", "lower", "lower_op")
    links = tuple(
        Link(
            at(levels, upper).name,
            pair_of(upper_op),
            at(levels, lower).name,
            pair_of(lower_op),
            i not in inferred,
        )
        for i, (upper, upper_op, lower, lower_op) in enumerate(rows_of(data["links"], names))
    )
    findings = tuple(_decode_finding(finding, spans) for finding in data["findings"])
    empty: dict[str, list[Any]] = {"op": [], "kind": [], "into": []}
    fates = tuple(
        Fate(pair_of(op), at(strings, kind), pair_of(into) if into else None)
        for op, kind, into in rows_of(data.get("fates", empty), ("op", "kind", "into"))
    )
    timing = decode_timing(data["timing"]) if "timing" in data else None
    memory = tuple(decode_memory(piece, strings) for piece in data["memory"]) if "memory" in data else None
    names = decode_names(data["names"], strings, spans) if "names" in data else None
    layout, vmapped = None, None
    if "layout" in data:
        layout = room.decode_layout(data["layout"], strings)
    if "vmapped" in data:
        vmapped = tuple(
            (at(strings, one["name"]), _decode_level(one["level"], strings, avals, spans, calls))
            for one in data["vmapped"]
        )
    kernels = room.decode_kernels(data["kernels"]) if "kernels" in data else None
    facts = (timing, memory, names, layout, vmapped, kernels)
    processes = decode_processes(data["processes"]) if "processes" in data else ()
    return Program(typed(data["source"], str), levels, links, findings, fates, *facts, processes=processes)


def _decode_calls(data: Mapping[str, Any] | None, strings: Sequence[str], spans: Sequence[Span]) -> list[Call]:
    calls: list[Call] = []
    if data is None:
        return calls
    count = len(data["name"])
    parents, turns = data.get("parent", [-1] * count), data.get("turns", [1] * count)
    texts = columns_of(data, ("name", "kind", "span"))
    for name, kind, span, parent, path, often in zip(
        *texts, parents, _heard(data, "path", strings), turns, strict=True
    ):
        where = None if span == -1 else at(spans, span)
        above = None if parent == -1 else at(calls, parent)
        turning = None if often == -1 else typed(often, int)
        calls.append(Call(at(strings, name), at(strings, kind), where, above, path, turning))
    return calls


def _decode_level(
    data: Mapping[str, Any],
    strings: Sequence[str],
    avals: Sequence[Aval],
    spans: Sequence[Span],
    calls: Sequence[Call],
) -> Level:
    literal = set(data["values"]["literal"])
    values = tuple(
        Value(at(strings, name), None if aval == -1 else at(avals, aval), i in literal, sharding, axes)
        for i, (name, aval, sharding, axes) in enumerate(
            zip(
                *columns_of(data["values"], ("name", "aval")),
                _heard(data["values"], "sharding", strings),
                _decode_axes(data["values"], strings),
                strict=True,
            )
        )
    )
    names = ("name", "inputs", "outputs", "attributes", "span", "bodies")
    ops = [
        Op(
            at(strings, name),
            indices_of(inputs),
            indices_of(outputs),
            pairs_of(texts_of(attributes, strings)),
            None if span == -1 else at(spans, span),
            indices_of(bodies),
            phase or PHASES[0],
            texts_of(scopes, strings),
            None if call == -1 else at(calls, call),
            *numbers,
        )
        for name, inputs, outputs, attributes, span, bodies, phase, scopes, call, *numbers in zip(
            *columns_of(data["ops"], names),
            _heard(data["ops"], "phase", strings),
            data["ops"].get("scopes", [()] * len(data["ops"]["name"])),
            data["ops"].get("call", [-1] * len(data["ops"]["name"])),
            *(_read_numbers(data["ops"], name, usual) for name, usual in _NUMBERS.items()),
            strict=True,
        )
    ]
    names = ("name", "inputs", "outputs", "ops", "constants", "input_names", "output_names")
    computations: list[Computation] = []
    start = 0
    for name, inputs, outputs, count, constants, *user_names in rows_of(data["computations"], names):
        computations.append(
            Computation(
                at(strings, name),
                indices_of(inputs),
                indices_of(outputs),
                tuple(ops[start : start + count]),
                indices_of(constants),
                *(texts_of(texts, strings) for texts in user_names),
            )
        )
        start += count
    if start != len(ops):
        raise ValueError(f"level {data['name']!r} has {len(ops)} ops, its computations have {start}")
    sources = tuple(
        Source(at(strings, file), typed(line, int), at(strings, text))
        for file, line, text in (rows_of(data["sources"], ("file", "line", "text")) if "sources" in data else ())
    )
    return Level(typed(data["name"], str), values, tuple(computations), typed(data["entries"], int), sources)


def _decode_finding(data: Mapping[str, Any], spans: Sequence[Span]) -> Finding:
    fix = data.get("fix")
    if fix is not None:
        edit = fix.get("edit")
        if edit is not None:
            line, old, new = edit
            edit = (typed(line, int), typed(old, str), typed(new, str))
        fix = Fix(typed(fix["text"], str), typed(fix["options"], str), edit, typed(fix["verified"], bool))
    return Finding(
        typed(data["kind"], str),
        typed(data["message"], str),
        typed(data.get("line"), int, type(None)),
        at(spans, data["span"]) if "span" in data else None,
        typed(data.get("holder", ""), str),
        typed(data.get("origin", ""), str),
        fix,
        tuple(typed(line, int) for line in data.get("trail", ())),
        typed(data.get("folded", False), bool),
        tuple(typed(text, str) for text in data.get("operands", ())),
        typed(data.get("said", ""), str),
    )


def _heard(columns: Mapping[str, Any], name: str, strings: Sequence[str]) -> list[str]:
    """What `_said` wrote; a column that is not there is full of empty texts."""
    if name not in columns:
        return [""] * len(columns["name"])
    return ["" if index == -1 else at(strings, index) for index in columns[name]]


def _read_numbers(columns: Mapping[str, Any], name: str, usual: int | None) -> list[Any]:
    """What `_numbers` wrote of one column."""
    if name not in columns:
        return [usual] * len(columns["name"])
    if _measured(name):
        return [seconds_of(number) for number in columns[name]]
    return [None if number == -1 else typed(number, int) for number in columns[name]]


def _decode_axes(columns: Mapping[str, Any], strings: Sequence[str]) -> list[tuple[tuple[str, int | None], ...]]:
    if "axes" not in columns:
        return [()] * len(columns["name"])
    return [
        tuple(
            (at(strings, name), None if size == -1 else typed(size, int))
            for name, size in zip(row[::2], row[1::2], strict=True)
        )
        for row in columns["axes"]
    ]
