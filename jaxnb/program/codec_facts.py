"""What was found out about a program, as JSON and back: times, memory, names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from jaxnb.program.occupancy import Held, Memory, Noted, Saved, Saving
from jaxnb.program.structure import Assigned, Peaks, ProcessTime, Span, Timing
from jaxnb.program.tables import Interned, at, pair_of, rows_of, seconds_of, typed

__all__ = [
    "decode_memory",
    "decode_names",
    "decode_processes",
    "decode_timing",
    "encode_memory",
    "encode_names",
    "encode_processes",
    "encode_timing",
]


def encode_timing(timing: Timing) -> dict[str, Any]:
    found = {field.name: getattr(timing, field.name) for field in fields(Timing) if field.name != "peaks"}
    if timing.peaks is not None:
        products = dict(timing.peaks.products)
        found["peaks"] = {"device": timing.peaks.device, "products": products, "bandwidth": timing.peaks.bandwidth}
    return found


def encode_processes(processes: Sequence[ProcessTime]) -> dict[str, list[Any]]:
    return {item.name: [getattr(one, item.name) for one in processes] for item in fields(ProcessTime)}


def encode_names(names: Sequence[Assigned], strings: Interned[str], spans: Interned[Span]) -> dict[str, list[int]]:
    return {
        "name": [strings.index(assigned.name) for assigned in names],
        "span": [spans.index(assigned.span) for assigned in names],
        "function": [strings.index(assigned.function) for assigned in names],
        "text": [strings.index(assigned.text) for assigned in names],
        "times": [assigned.times for assigned in names],
    }


def decode_timing(data: Mapping[str, Any]) -> Timing:
    seconds = {name: seconds_of(data[name]) for name in ("total", "spread", "profiled", "unattributed")}
    spread, unattributed = seconds["spread"] or 0.0, seconds["unattributed"] or 0.0
    runs, why = typed(data["runs"], int), typed(data["why"], str)
    peaks = _decode_peaks(data["peaks"]) if "peaks" in data else None
    return Timing(seconds["total"], spread, runs, seconds["profiled"], unattributed, why, peaks)


def decode_processes(data: Mapping[str, Any]) -> tuple[ProcessTime, ...]:
    return tuple(
        ProcessTime(typed(process, int), typed(host, str), seconds_of(seconds) or 0.0, seconds_of(waited) or 0.0)
        for process, host, seconds, waited in rows_of(data, ("process", "host", "seconds", "waited"))
    )


def _decode_peaks(data: Mapping[str, Any]) -> Peaks:
    rates = [*data["products"].values(), data["bandwidth"]]
    if not data["products"] or not all(typed(rate, int, float) > 0 for rate in rates):
        raise ValueError("peaks that are not above 0")
    products = tuple((typed(dtype, str), float(rate)) for dtype, rate in data["products"].items())
    return Peaks(typed(data["device"], str), products, float(data["bandwidth"]))


def decode_names(data: Mapping[str, Any], strings: Sequence[str], spans: Sequence[Span]) -> tuple[Assigned, ...]:
    rows = rows_of(data, ("name", "span", "function", "text", "times"))
    return tuple(
        Assigned(at(strings, name), at(spans, span), at(strings, function), at(strings, text), typed(times, int))
        for name, span, function, text, times in rows
    )


# How each field of a row is written: a text by its index in the strings, a place as a pair, empty where there is none,
# a line as -1 where none is known. A column of texts of which all are empty may be left out: "text?".
_HELD = {
    "name": "text",
    "kind": "text",
    "nbytes": "",
    "first": "",
    "last": "",
    "op": "place",
    "line": "line",
    "within": "text?",
}
_SAVED = {
    "name": "text",
    "nbytes": "",
    "read": "place",
    "read_line": "line",
    "op": "place",
    "line": "line",
    "times": "",
    "label": "text",
    "policy": "text",
    "within": "text?",
}
_SAVING = {"within": "text", "line": "line", "nbytes": ""}
_NOTED = {"op": "place", "line": "line", "nbytes": ""}
_NOTES = ("recomputed", "dead", "known")

Row = TypeVar("Row", Held, Saved, Noted, Saving)


def encode_memory(memory: Memory, strings: Interned[str]) -> dict[str, Any]:
    return {
        "source": memory.source,
        "level": memory.level,
        "computation": memory.computation,
        "live": list(memory.live),
        "held": _encode_rows(memory.held, _HELD, strings),
        "reserved": memory.reserved,
        "saved": _encode_rows(memory.saved, _SAVED, strings),
        **{name: _encode_rows(getattr(memory, name), _NOTED, strings) for name in _NOTES},
        "note": memory.note,
        **({"savings": _encode_rows(memory.savings, _SAVING, strings)} if memory.savings else {}),
    }


def decode_memory(data: Mapping[str, Any], strings: Sequence[str]) -> Memory:
    return Memory(
        typed(data["source"], str),
        typed(data["level"], str),
        typed(data["computation"], int),
        tuple(typed(nbytes, int) for nbytes in data["live"]),
        _decode_rows(data["held"], Held, _HELD, strings),
        typed(data["reserved"], int, type(None)),
        _decode_rows(data["saved"], Saved, _SAVED, strings),
        *(_decode_rows(data[name], Noted, _NOTED, strings) for name in _NOTES),
        note=typed(data["note"], str),
        savings=_decode_rows(data["savings"], Saving, _SAVING, strings) if "savings" in data else (),
    )


def _encode_rows(rows: Sequence[Any], kinds: Mapping[str, str], strings: Interned[str]) -> dict[str, list[Any]]:
    def written(value: Any, kind: str) -> Any:
        if kind in ("text", "text?"):
            return strings.index(value)
        if kind == "place":
            return list(value or ())
        return -1 if value is None else value

    columns = {name: [getattr(row, name) for row in rows] for name in kinds}
    return {
        name: [written(value, kinds[name]) for value in column]
        for name, column in columns.items()
        if kinds[name] != "text?" or any(column)
    }


def _decode_rows(
    data: Mapping[str, Any], row: type[Row], kinds: Mapping[str, str], strings: Sequence[str]
) -> tuple[Row, ...]:
    def read(value: Any, kind: str) -> Any:
        if kind in ("text", "text?"):
            return at(strings, value)
        if kind == "place":
            return pair_of(value) if value else None
        return None if kind == "line" and value == -1 else typed(value, int)

    told = {name: kind for name, kind in kinds.items() if kind != "text?" or name in data}
    return tuple(
        row(**{name: read(value, kind) for (name, kind), value in zip(told.items(), values, strict=True)})
        for values in rows_of(data, list(told))
    )
