"""The codec: a round trip is the identity, the schema holds, and what is not ours is refused."""

from __future__ import annotations

import doctest
import json
from importlib.resources import files

import jsonschema
import pytest
from golden import CASES, check_golden
from hypothesis import given, settings, strategies as st
from sample_levels import neuron
from sample_programs import PROGRAMS, loop, mlp

from jaxnb.errors import JaxnbError
from jaxnb.program import (
    CALLS,
    PHASES,
    Assigned,
    Aval,
    Call,
    Computation,
    Fate,
    Finding,
    Fix,
    Level,
    Link,
    Op,
    Program,
    Source,
    Span,
    Timing,
    Value,
    codec,
)
from jaxnb.program.codec import MIME_TYPE, decode, encode
from jaxnb.program.laws import check_program
from jaxnb.program.occupancy import KINDS, SOURCES, Held, Memory, Noted, Saved
from jaxnb.program.structure import FORMAT_VERSION

SCHEMA = json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

texts = st.text(st.characters(codec="utf-8"), max_size=6)
numbers = st.integers(0, 2**40)
avals = st.builds(
    Aval, texts, st.lists(st.one_of(numbers, texts), max_size=3).map(tuple), st.booleans(), st.integers(0, 16)
)
axes = st.lists(st.tuples(texts, st.none() | numbers), max_size=2).map(tuple)
values = st.builds(Value, texts, st.none() | avals, st.booleans(), st.just("") | texts, st.just(()) | axes)
places = st.builds(Span, numbers, numbers, numbers, numbers, texts.filter(bool))
counts = st.none() | numbers
seconds = st.none() | st.floats(0, 1e3)
timings = st.builds(Timing, seconds, st.floats(0, 1), st.integers(0, 9), seconds, st.floats(0, 1), texts)
pairs = st.tuples(st.integers(0, 9), st.integers(0, 9))
first, last = st.integers(0, 1), st.integers(1, 2)
held = st.builds(Held, texts, st.sampled_from(KINDS), numbers, first, last, st.none() | pairs, counts)
saved = st.builds(Saved, texts, numbers, pairs, counts, st.none() | pairs, counts, st.integers(1, 9), texts, texts)
noted = st.lists(st.builds(Noted, pairs, counts, numbers), max_size=2).map(tuple)
memories = st.builds(
    Memory,
    st.sampled_from(SOURCES),
    texts,
    st.integers(0, 3),
    st.lists(numbers, min_size=3, max_size=3).map(tuple),
    st.lists(held, max_size=2).map(tuple),
    counts,
    st.lists(saved, max_size=2).map(tuple),
    noted,
    noted,
    noted,
    texts,
)
sources = st.builds(Source, texts, numbers, texts)
assigned = st.builds(Assigned, texts, places, texts, texts, numbers)


def spans(lines: int):
    return st.none() | places | st.builds(Span, st.integers(1, lines), numbers, numbers, numbers)


def calls(lines: int):
    """Calls within one another, a few deep."""
    kinds, turns = st.sampled_from(CALLS), st.none() | numbers

    def within(parents):
        return st.builds(Call, texts, kinds, spans(lines), parents, texts, turns)

    return st.recursive(within(st.none()), within, max_leaves=3)


@st.composite
def levels(draw, name: str, lines: int):
    """A level that keeps the laws: bodies are handed out once each, to a computation before them."""
    pool = tuple(draw(st.lists(values, max_size=5)))
    count = draw(st.integers(0, 5))
    entries = draw(st.integers(min(1, count), min(2, count)))
    indices = st.lists(st.integers(0, len(pool) - 1), max_size=3).map(tuple) if pool else st.just(())
    owners: dict[int, list[int]] = {}
    for body in range(entries, count):
        owners.setdefault(draw(st.integers(0, body - 1)), []).append(body)
    computations = []
    for index in range(count):
        bodies = [tuple(owners[index])] if index in owners else []
        bodies += [()] * draw(st.integers(0, 2))
        pairs = st.lists(st.tuples(texts, texts), max_size=2).map(tuple)
        made_in = st.none() | calls(lines)
        settings = st.tuples(st.sampled_from(PHASES), st.lists(texts, max_size=2).map(tuple), made_in)
        costs = st.just(()) | st.tuples(counts, counts, counts, counts, seconds)
        ops = tuple(
            Op(
                draw(texts),
                draw(indices),
                draw(indices),
                draw(pairs),
                draw(spans(lines)),
                own,
                *draw(settings),
                *draw(costs),
            )
            for own in bodies
        )
        inputs, outputs = draw(indices), draw(indices)
        names = [tuple(draw(texts) for _ in some) if draw(st.booleans()) else () for some in (inputs, outputs)]
        computations.append(Computation(draw(texts), inputs, outputs, ops, draw(indices), *names))
    return Level(name, pool, tuple(computations), entries, tuple(draw(st.lists(sources, max_size=2))))


edits = st.tuples(numbers, texts, texts)
fixes = st.builds(Fix, texts, texts, st.none() | edits, st.booleans())
findings = st.builds(Finding, texts, texts, st.none() | numbers, st.none() | places, texts, texts, st.none() | fixes)


@st.composite
def programs(draw):
    source = draw(st.text(st.sampled_from("a =\n%漢"), max_size=12))
    lines = source.count("\n") + 1
    names = draw(st.lists(texts, max_size=3, unique=True) | st.just(["jaxpr", "stablehlo", "hlo"]))
    made = tuple(draw(levels(name, lines)) for name in names)
    links, fates = [], []
    places = {
        level.name: [(at, index) for at, c in enumerate(level.computations) for index in range(len(c.ops))]
        for level in made
    }
    if places.get("jaxpr") and places.get("hlo"):
        fused = st.builds(Fate, st.sampled_from(places["jaxpr"]), st.just("fused"), st.sampled_from(places["hlo"]))
        gone = st.builds(Fate, st.sampled_from(places["jaxpr"]), st.sampled_from(["folded", "removed"]))
        fates = draw(st.lists(fused | gone, max_size=3))
    for upper, lower in zip(made, made[1:], strict=False):
        ends = [places[level.name] for level in (upper, lower)]
        if all(ends):
            pairs = st.tuples(st.sampled_from(ends[0]), st.sampled_from(ends[1]))
            some = draw(st.dictionaries(pairs, st.booleans(), max_size=3))
            links += [Link(upper.name, a, lower.name, b, exact) for (a, b), exact in some.items()]
    found = tuple(draw(st.lists(findings, max_size=2)))
    names = draw(st.none() | st.lists(assigned, max_size=2).map(tuple))
    memory = draw(st.none() | st.lists(memories, max_size=2).map(tuple))
    return Program(source, made, tuple(links), found, tuple(fates), draw(st.none() | timings), memory, names)


@settings(max_examples=80, deadline=None)
@given(programs())
def test_round_trip(program):
    check_program(program)
    data = json.loads(json.dumps(encode(program)))
    VALIDATOR.validate(data)
    assert decode(data) == program


@pytest.mark.parametrize("name", PROGRAMS)
def test_round_trip_of_the_samples(name):
    program = PROGRAMS[name]()
    data = json.loads(json.dumps(encode(program)))
    VALIDATOR.validate(data)
    assert decode(data) == program


def test_golden_of_all_levels():
    data = encode(neuron())
    VALIDATOR.validate(data)
    assert decode(json.loads(json.dumps(data))) == neuron()
    check_golden("neuron.program.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", ["mlp", "loop"])
def test_golden(name):
    """The front end's tests read these files too."""
    check_golden(f"{name}.program.json", json.dumps(encode(PROGRAMS[name]()), indent=1, ensure_ascii=False) + "\n")


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["version"] == {"const": FORMAT_VERSION}
    assert MIME_TYPE == "application/vnd.jaxnb.program.v1+json"  # front ends know it by this, whatever stands inside


def test_it_is_small():
    assert len(json.dumps(encode(mlp()), separators=(",", ":"))) < 3500


def test_some_levels_can_be_left_out():
    program = loop()
    assert decode(encode(program, levels=("source",))) == Program(
        program.source, program.levels[:1], (), program.findings
    )
    assert encode(program, levels=("source", "jaxpr")) == encode(program)


def test_a_newer_version_is_refused():
    with pytest.raises(JaxnbError) as raised:
        decode({**encode(mlp()), "version": FORMAT_VERSION + 1})
    assert str(raised.value) == (
        f"this program was saved in version {FORMAT_VERSION + 1} of the format.\n"
        f"  Why: this jaxnb reads version {FORMAT_VERSION}.\n"
        "  Try: upgrade jaxnb, or run the cell again."
    )


@pytest.mark.parametrize(
    "data", [{}, {"format": "other"}, {"version": 1}, None, 3, "text", [], [1], object(), {"format": ["jaxnb.program"]}]
)
def test_other_data_is_refused(data):
    with pytest.raises(JaxnbError, match="not a saved jaxnb program"):
        decode(data)


@pytest.mark.parametrize("version", [None, 0, -1, "1", 1.5, True, [4], 10**400])
def test_a_version_that_is_none(version):
    with pytest.raises(JaxnbError, match="saved in version"):
        decode({**encode(mlp()), "version": version})


def damaged(path: tuple, new) -> dict:
    data = json.loads(json.dumps(encode(loop())))
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return data


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("source",), 3),
        (("strings",), None),
        (("strings", 0), 7),
        (("levels", 1, "values", "name", 0), 10_000),
        (("levels", 1, "values", "name", 0), -2),
        (("levels", 1, "values", "aval"), []),
        (("levels", 1, "ops", "inputs", 0), ["a"]),
        (("levels", 1, "ops", "inputs", 0), [0.0]),
        (("levels", 1, "ops", "attributes", 0), [0]),
        (("levels", 1, "computations", "ops", 0), 1),
        (("levels", 1, "entries"), True),
        (("links", "upper_op", 0), [0]),
        (("links", "lower", 0), 0),
        (("calls",), {"name": [0], "kind": [0]}),
        (("calls",), {"name": [0], "kind": [0], "span": [-1], "parent": [0]}),
        (("levels", 1, "ops", "call"), [0]),
        (("levels", 1, "sources"), {"file": [0], "line": [1], "text": [-1]}),
        (("fates",), {"op": [[0, 0]], "kind": [0], "into": [[]]}),
        (("levels", 1, "ops", "phase"), [0]),
        (("levels", 1, "ops", "scopes"), [[0]]),
        (("levels", 1, "ops", "flops"), [1]),
        (("levels", 1, "ops", "seconds"), ["1"]),
        (("levels", 1, "values", "axes"), [[0]]),
        (("timing",), {"total": 1.0}),
        (("names",), {"name": [0]}),
        (("memory",), [{"source": "buffers"}]),
        (("spans", "line", 0), 10_000),
        (("findings",), [{"kind": "x"}]),
        (("findings",), [{"kind": "x", "message": None}]),
        (("avals",), []),
    ],
)
def test_damaged_data_is_refused(path, new):
    with pytest.raises(JaxnbError, match="the saved program is damaged"):
        decode(damaged(path, new))


def test_any_damage_is_a_jaxnb_error_or_harmless():
    """Every single entry that is replaced gives a program or a clear refusal, never another exception."""

    def replaced(data, new):
        if isinstance(data, dict):
            for key, value in data.items():
                yield {**data, key: new}
                yield from ({**data, key: inner} for inner in replaced(value, new))
        elif isinstance(data, list):
            for i, value in list(enumerate(data))[:3]:
                yield [*data[:i], new, *data[i + 1 :]]
                yield from ([*data[:i], inner, *data[i + 1 :]] for inner in replaced(value, new))

    data = json.loads(json.dumps(encode(mlp())))
    for new in (None, "x", -7, [], {}):
        for broken in replaced(data, new):
            try:
                decode(broken)
            except JaxnbError:
                pass


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places_in(data, path=()):
    yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places_in(value, (*path, key))


SAVED = {
    name: json.loads((CASES / f"{name}.program.json").read_text("utf-8")) for name in ("loop", "sharded", "neuron")
}
PLACES = {name: list(places_in(data)) for name, data in SAVED.items()}


def read(data) -> None:
    """Gives a program that can be saved, or a clear refusal."""
    try:
        program = decode(data)
    except JaxnbError as error:
        assert "saved" in str(error)
        return
    encode(program)


@given(anything, st.booleans())
def test_whatever_is_read_is_a_program_or_refused(data, claims):
    read({"format": "jaxnb.program", "version": FORMAT_VERSION, "x": data} if claims else data)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(SAVED)), st.data())
def test_a_saved_program_that_was_tampered_with_is_a_program_or_refused(name, data):
    program = json.loads(json.dumps(SAVED[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        *outer, last = data.draw(st.sampled_from([path for path in PLACES[name] if path]))
        inner = program
        try:
            for key in outer:
                inner = inner[key]
            if data.draw(st.booleans()):
                inner[last] = data.draw(anything)
            else:
                del inner[last]
        except (IndexError, KeyError, TypeError):
            continue  # an earlier change took it away
    read(program)
