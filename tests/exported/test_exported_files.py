"""The file: whatever is done to it, it is the same, or what is wrong with it is told before JAX reads a byte."""

from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from cells_to_export import FLOATS  # pyright: ignore
from drawing import DEEP, drawn_seed

import jaxnb
from jaxnb.exported import BadFile, checking, container, loaded
from jaxnb.exported.container import MAGIC, VERSION, pack, unpack

SECTIONS = {"signature": b'{"a": 1}', "provenance": b"{}", "cell": b"", "program": bytes(range(256)) * 3}
MUTATIONS = 10_000 if DEEP else 600
RESEALED = 400 if DEEP else 40


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a cell."""
    path = tmp_path_factory.mktemp("cell") / "f"
    names = {"jnp": jnp, "x": FLOATS, "params": {"w": (FLOATS, None)}, "n": 2}
    jaxnb.stage("y = jnp.sin(x) * n + params['w'][0]\ny", names, export=str(path))
    return path.read_bytes()


def flip(draw: random.Random, data: bytearray) -> None:
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def cut(draw: random.Random, data: bytearray) -> None:
    del data[draw.randrange(len(data)) :]


def remove(draw: random.Random, data: bytearray) -> None:
    start = draw.randrange(len(data))
    del data[start : start + draw.choice((1, 2, 8, 100))]


def insert(draw: random.Random, data: bytearray) -> None:
    start = draw.randrange(len(data) + 1)
    data[start:start] = draw.randbytes(draw.choice((1, 2, 8, 100)))


def repeat(draw: random.Random, data: bytearray) -> None:
    start = draw.randrange(len(data))
    data[start:start] = data[start : start + draw.choice((1, 16, 64))]


def overwrite(draw: random.Random, data: bytearray) -> None:
    start = draw.randrange(len(data))
    data[start : start + 8] = draw.choice((b"\0" * 8, b"\xff" * 8, draw.randbytes(8)))


def swap(draw: random.Random, data: bytearray) -> None:
    """Two sections in the table, or two stretches of the file."""
    size, head = container._SECTION.size, container._HEAD.size
    if draw.random() < 0.5:
        one, other = draw.sample(range(4), 2)
        places = head + one * size, head + other * size
    else:
        places, size = (draw.randrange(len(data)), draw.randrange(len(data))), draw.choice((1, 4, 64))
    parts = [bytes(data[at : at + size]) for at in places]
    for at, part in zip(places, reversed(parts), strict=True):
        data[at : at + size] = part


def lie(draw: random.Random, data: bytearray) -> None:
    """A length, a place or a count in the head is another number."""
    size, head = container._SECTION.size, container._HEAD.size
    places = [9, 11, 13, *(head + n * size + at for n in range(4) for at in (16, 24))]
    at = draw.choice(places)
    width = "!H" if at < 13 else "!Q"
    number = draw.choice((0, 1, 2, 5, 255, len(data), len(data) + 1, len(data) - 1, 2**16 - 1, 2**31, 2**63, 2**64 - 1))
    struct.pack_into(width, data, at, number % 2 ** (8 * struct.calcsize(width)))


def join(draw: random.Random, data: bytearray) -> None:
    data += data[draw.randrange(len(data)) :]


DOES: list[Callable[[random.Random, bytearray], None]] = [
    flip, cut, remove, insert, repeat, overwrite, swap, lie, join,
]  # fmt: skip


def mutations(data: bytes, count: int) -> Iterator[bytes]:
    draw = random.Random(drawn_seed())
    for number in range(count):
        made = bytearray(data)
        for _ in range(draw.choice((1, 1, 2, 3))):
            if made:
                DOES[number % len(DOES)](draw, made)
        yield bytes(made)


def test_whatever_is_done_to_a_file_is_told(cell: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand ways to damage a file, a sample of them in an ordinary run: JAX is asked about none of them."""
    monkeypatch.setattr(loaded, "check_program", lambda *_, **__: pytest.fail("a damaged file came to JAX"))
    path, told = tmp_path / "f", 0
    for made in mutations(cell, MUTATIONS):
        if made == cell:
            continue
        path.write_bytes(made)
        with pytest.raises(BadFile) as caught:
            jaxnb.load(path)
        assert caught.value.what.startswith(str(path)) and caught.value.why.endswith(".")
        told += 1
    assert told > 0.9 * MUTATIONS


def test_every_flipped_bit_of_the_head_is_told() -> None:
    whole = pack(SECTIONS)
    for bit in range(8 * (container._HEAD.size + 4 * container._SECTION.size + 32)):
        made = bytearray(whole)
        made[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadFile):
            unpack(bytes(made))


def test_every_shorter_file_is_told() -> None:
    whole = pack(SECTIONS)
    for length in range(len(whole)):
        with pytest.raises(BadFile):
            unpack(whole[:length])


def test_what_was_packed_is_unpacked() -> None:
    assert unpack(pack(SECTIONS)) == SECTIONS and unpack(pack({"a": b""})) == {"a": b""}


def sealed(head: bytes, rest: bytes = b"") -> bytes:
    return head + hashlib.sha256(head).digest() + rest


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is no exported cell"),
    "a text": (b"hello, this is a text and no cell at all", "is no exported cell"),
    "a pickle": (b"\x80\x05\x95\x0b\x00\x00", "is no exported cell"),
    "a zip": (b"PK\x03\x04" + b"\0" * 60, "is no exported cell"),
    "an npy": (b"\x93NUMPY\x01\x00v\x00", "is no exported cell"),
    "changed line endings": (pack(SECTIONS).replace(b"\r\n", b"\n"), "its line endings were changed"),
    "the magic alone": (MAGIC, "is cut off"),
    "a newer version": (
        MAGIC + struct.pack("!HHQ", VERSION + 1, 4, 400) + b"\0" * 400,
        "this jaxnb reads those up to 2",
    ),
    "no version": (MAGIC + struct.pack("!HHQ", 0, 1, 400) + b"\0" * 400, "contradict one another"),
    "no section": (sealed(MAGIC + struct.pack("!HHQ", 1, 0, 53)), "contradict one another"),
    "too many sections": (MAGIC + struct.pack("!HHQ", 1, 60000, 2**40), "contradict one another"),
    "more behind it": (pack(SECTIONS) + b"x", "1 bytes stand behind its end"),
    "other sections": (pack({"a": b"1"}), "its sections are a"),
    "a section more": (pack({**SECTIONS, "more": b""}), "its sections are"),
    "no json": (pack({**SECTIONS, "signature": b"{"}), "is no JSON"),
    "a deep json": (pack({**SECTIONS, "signature": b"[" * 100_000}), "is no JSON"),
    "another json": (pack({**SECTIONS, "signature": b"[]"}), "has no signature that can be read"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_exported_cell_is_told(kind: str, tmp_path: Path) -> None:
    data, message = BAD[kind]
    path = tmp_path / "f"
    path.write_bytes(data)
    with pytest.raises(BadFile, match=message) as caught:
        jaxnb.load(path)
    assert "Why: " in str(caught.value) and "f" in caught.value.what


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot read .*: "[:12]):
        jaxnb.load(tmp_path / "none")
    with pytest.raises(BadFile, match="is no file"):
        jaxnb.load(tmp_path)
    with pytest.raises(BadFile, match="is no file"):
        jaxnb.load("/dev/zero")
    with pytest.raises(BadFile, match="cannot read"):
        jaxnb.load("a\0b")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(pack(SECTIONS))
    monkeypatch.setattr(container, "MOST_BYTES", 100)
    with pytest.raises(BadFile, match="the largest has 100"):
        jaxnb.load(path)


# --- files that are sealed well, and say what cannot be ---


def resealed(draw: random.Random, data: bytes) -> bytes:
    """The same file with another value somewhere in its JSON, and checksums that fit."""
    sections = unpack(data)
    name = draw.choice(("signature", "provenance", "cell"))
    told = json.loads(sections[name])
    changed(draw, told)
    return pack({**sections, name: json.dumps(told).encode()})


def changed(draw: random.Random, told: Any) -> None:
    """Changes something in what JSON holds."""
    while True:
        keys = list(told) if isinstance(told, dict) else list(range(len(told)))
        key = draw.choice(keys)
        if isinstance(told[key], dict | list) and told[key] and draw.random() < 0.8:
            told = told[key]
            continue
        others = (None, -1, 0, 7, 2**63, 0.5, "", "x", "leaf", [], {}, True, [[]], "float32", ["leaf", 99], {"a": 1})
        match draw.randrange(3):
            case 0 if isinstance(told, dict):
                del told[key]
            case 1 if isinstance(told, list):
                told.append(told[key])
            case _:
                told[key] = draw.choice(others)
        return


def test_files_that_are_sealed_well_and_say_what_cannot_be_are_told(
    cell: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded, "check_program", lambda *_, **__: None)
    draw, path, told = random.Random(drawn_seed()), tmp_path / "f", 0
    for _ in range(RESEALED):
        path.write_bytes(resealed(draw, cell))
        try:
            found = jaxnb.load(path)
            assert str(found.signature) and repr(found) and found._repr_mimebundle_()
        except jaxnb.JaxnbError as error:
            told += 1
            assert error.what
    assert told > RESEALED / 4


def edited(data: bytes, section: str, edit: Callable[[Any], Any]) -> bytes:
    sections = unpack(data)
    told = json.loads(sections[section])
    return pack({**sections, section: json.dumps(edit(told) or told).encode()})


def test_another_source_than_the_one_that_was_written_is_told(cell: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(edited(cell, "provenance", lambda told: told.update(source="import os")))
    with pytest.raises(BadFile, match="the source does not have the checksum"):
        jaxnb.load(path)


def test_a_way_to_be_called_that_is_not_known_is_told(cell: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(edited(cell, "provenance", lambda told: told.update(convention=99)))
    with pytest.raises(BadFile, match=r"called in way 99, and jax .* knows \d+ to \d+"):
        jaxnb.load(path)


# --- the process that reads a program first ---


def with_program(data: bytes, program: bytes) -> bytes:
    return pack({**unpack(data), "program": program})


@pytest.mark.parametrize("program", [b"", b"no program", b"ML\xefR" + b"\xff" * 40])
def test_what_is_no_program_is_told_by_another_process(program: bytes, cell: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(with_program(cell, program))
    with pytest.raises(BadFile, match="the program of .* cannot be used"):
        jaxnb.load(path)


def test_programs_with_flipped_bits_that_are_sealed_well_end_no_process_but_that_one(
    cell: bytes, tmp_path: Path
) -> None:
    draw, path = random.Random(drawn_seed()), tmp_path / "f"
    for _ in range(20 if DEEP else 3):
        program = bytearray(unpack(cell)["program"])
        flip(draw, program)
        path.write_bytes(with_program(cell, bytes(program)))
        try:
            jaxnb.load(path, timeout=20)
        except BadFile as error:  # some bits keep MLIR's parser busy for ever
            assert "cannot be used" in error.what or "was not read within 20 s" in error.what


def test_another_signature_than_that_of_the_program_is_told(cell: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(edited(cell, "signature", lambda told: told["leaves"][0].update(shape=[5])))
    with pytest.raises(BadFile, match="the program of .* cannot be used"):
        jaxnb.load(path)


def test_a_program_that_calls_what_is_not_kept_is_told(cell: bytes, tmp_path: Path) -> None:
    program = unpack(cell)["program"]
    from jaxnb import _jax

    text = _jax.module_text(program)
    assert "stablehlo.sine" in text
    calling = _calling(text)
    path = tmp_path / "f"
    path.write_bytes(with_program(cell, calling))
    with pytest.raises(BadFile, match="it calls `xla_python_cpu_callback`, which JAX does not promise to keep"):
        jaxnb.load(path)


def _calling(text: str) -> bytes:
    """The same program with a custom call in the place of the sine."""
    import re

    from jax._src.interpreters import mlir
    from jaxlib._jax import mlir as portable
    from jaxlib.mlir import ir

    call = r"stablehlo.custom_call @xla_python_cpu_callback(\1) : (tensor<3xf32>) -> tensor<3xf32>"
    changed = re.sub(r"stablehlo\.sine (%\w+) : tensor<3xf32>", call, text)
    assert changed != text
    with mlir.make_ir_context():
        return portable.serialize_portable_artifact(ir.Module.parse(changed), "1.13.0", True)


def test_reading_a_program_is_given_up_after_a_while(cell: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(with_program(cell, unpack(cell)["program"] + b" "))
    with pytest.raises(BadFile, match=r"was not read within 0.01 s[\s\S]*timeout=0.02"):
        jaxnb.load(path, timeout=0.01)


def test_a_file_is_read_by_another_process_once(cell: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(cell)
    assert jaxnb.load(path)(FLOATS, {"w": (FLOATS, None)}).y.shape == (3,)
    monkeypatch.setattr(checking.subprocess, "run", lambda *_, **__: pytest.fail("it was read before"))
    jaxnb.load(path)


def test_code_in_the_folder_where_a_file_is_loaded_is_not_run(cell: bytes, tmp_path: Path) -> None:
    for name in ("jax.py", "json.py", "jaxnb.py", "sitecustomize.py"):
        (tmp_path / name).write_text("open('ran', 'w').close()\nraise SystemExit(3)\n")
    (tmp_path / "f").write_bytes(cell)
    code = (
        "import os, sys, jax, jaxnb\n"
        f"os.chdir({str(tmp_path)!r})\nprint(jaxnb.load('f').signature.names)"
    )  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(jaxnb.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "('x', 'params')", done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_file_names_no_folder_of_its_author(tmp_path: Path) -> None:
    folder = tmp_path / "quite_private" / "of_mine"
    folder.mkdir(parents=True)
    (folder / "layers.py").write_text("import jax.numpy as jnp\n\ndef net(x):\n    return jnp.tanh(x) * 2\n")
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "x": FLOATS}
    exec(compile((folder / "layers.py").read_text(), str(folder / "layers.py"), "exec"), names)
    for number, options in enumerate(({}, {"shapes": {"x": "b"}})):
        path = tmp_path / str(number)
        jaxnb.stage("y = jax.jit(net)(x) + jax.nn.softmax(net(x))", dict(names), export=str(path), **options)
        for section in unpack(path.read_bytes()).values():
            assert not any(word in section for word in (b"quite_private", b"of_mine", str(tmp_path).encode()))
            assert str(Path(__file__).parent).encode() not in section and b"site-packages" not in section
        found = jaxnb.load(path)
        assert '"layers.py":4' in found.stablehlo and "layers.py:4" in found.program.text()
    assert jax.config.jax_hlo_source_file_canonicalization_regex is None  # type: ignore[attr-defined]


def test_a_program_for_another_platform_alone_is_read(tmp_path: Path) -> None:
    for platform in ("cuda", "tpu"):
        names = {"jnp": jnp, "jax": jax, "x": FLOATS}
        source = "y = jnp.linalg.qr(jnp.outer(x, x))[0] + jax.random.normal(jax.random.key(0), (3, 3))"
        jaxnb.stage(source, names, export=str(tmp_path / "f"), platforms=platform)
        assert jaxnb.load(tmp_path / "f").provenance.platforms == (platform,)
