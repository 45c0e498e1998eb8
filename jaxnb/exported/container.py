"""The file of an exported cell: sections of bytes, each found and checked before anybody reads what it says.

    89 "JNBX" 0D 0A 1A 0A       what it is; a transfer as text, or one that was cut, shows in it
    version, sections           two bytes each
    length of the file          eight bytes
    for each section            name (16 bytes), where it begins, how long it is (eight bytes each), its SHA-256
    SHA-256 of all that
    the sections                one behind the other, without gaps

Numbers have their highest byte first. A checksum tells damage, not who wrote the file.

>>> unpack(pack({"signature": b"{}"}))["signature"]
b'{}'
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from jaxnb.errors import JaxnbError

__all__ = ["MOST_BYTES", "VERSION", "BadFile", "pack", "read_file", "unpack", "write_file"]

MAGIC = b"\x89JNBX\r\n\x1a\n"
VERSION = 2
"""The newest; a file has the first in which it can be written, so that an older jaxnb may read it."""
MOST_BYTES = 2**31
"""Of a whole file: StableHLO itself cannot be larger."""
MOST_SECTIONS = 16

_HEAD = struct.Struct("!9sHHQ")
_SECTION = struct.Struct("!16sQQ32s")
_DIGEST = 32
_AGAIN = "export the cell again, or copy the file again."


class BadFile(JaxnbError):
    """A file is not, or is no longer, an exported cell. Nothing in it was run."""


def pack(sections: Mapping[str, bytes], version: int = 1) -> bytes:
    """The bytes of a file.

    Args:
      sections: by their names, of 16 characters of ASCII at most.
      version: 2 for a program whose sizes have names.
    """
    start = _HEAD.size + len(sections) * _SECTION.size + _DIGEST
    table, at = list[bytes](), start
    for name, data in sections.items():
        table.append(_SECTION.pack(name.encode("ascii"), at, len(data), hashlib.sha256(data).digest()))
        at += len(data)
    head = _HEAD.pack(MAGIC, version, len(sections), at) + b"".join(table)
    return b"".join([head, hashlib.sha256(head).digest(), *sections.values()])


def unpack(data: bytes, name: str = "the file") -> dict[str, bytes]:
    """The sections of a file, every one of which is as it was written.

    Args:
      data: the whole file.
      name: what messages call it.

    Raises:
      BadFile: saying what is wrong with it.
    """
    if not data.startswith(MAGIC[: max(1, len(data))]):
        why = "it does not begin as one does."
        if data[:1] == MAGIC[:1] and data[1:5] == MAGIC[1:5]:
            why = "its line endings were changed, as a transfer of text does."
        raise BadFile(f"{name} is no exported cell.", why=why, fix="give the path of a file that --export wrote.")
    if len(data) < _HEAD.size:
        raise _cut(name, len(data), _HEAD.size + _DIGEST)
    _, version, count, length = _HEAD.unpack_from(data)
    if version > VERSION:
        raise BadFile(
            f"{name} is of version {version}, and this jaxnb reads those up to {VERSION}.",
            why="a newer jaxnb wrote it, or it is damaged.",
            fix="install the newest jaxnb, or export the cell with this one.",
        )
    start = _HEAD.size + count * _SECTION.size + _DIGEST
    if not 0 < count <= MOST_SECTIONS or version < 1 or length < start:
        raise _damaged(name, "its first bytes contradict one another")
    if len(data) < start:
        raise _cut(name, len(data), length)
    head = data[: start - _DIGEST]
    if hashlib.sha256(head).digest() != data[start - _DIGEST : start]:
        raise _damaged(name, "its table of sections does not have the checksum that was written")
    if len(data) < length:
        raise _cut(name, len(data), length)
    if len(data) > length:
        raise _damaged(name, f"{len(data) - length:,} bytes stand behind its end")
    found, at = dict[str, bytes](), start
    for number in range(count):
        label, begin, size, digest = _SECTION.unpack_from(head, _HEAD.size + number * _SECTION.size)
        try:
            text = label.rstrip(b"\0").decode("ascii")
        except UnicodeDecodeError:
            raise _damaged(name, f"section {number} has no name") from None
        if begin != at or size > length - at or text in found or not text.isidentifier():
            raise _damaged(name, f"section {number} does not stand where the one before it ends")
        found[text] = data[at : at + size]
        if hashlib.sha256(found[text]).digest() != digest:
            raise _damaged(name, f"its section {text!r} does not have the checksum that was written")
        at += size
    if at != length:
        raise _damaged(name, "its sections are shorter than the file")
    return found


def _cut(name: str, have: int, want: int) -> BadFile:
    return BadFile(f"{name} is cut off.", why=f"it has {have:,} bytes of {want:,} or more.", fix=_AGAIN)


def _damaged(name: str, why: str) -> BadFile:
    return BadFile(f"{name} is damaged.", why=f"{why}.", fix=_AGAIN)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, if it can be an exported cell by its size.

    Raises:
      BadFile: if it cannot be read, or is too large.
    """
    name, path = str(path), os.path.expanduser(path)
    try:
        told = os.stat(path)
        if not stat.S_ISREG(told.st_mode):
            raise BadFile(f"{name} is no file.", why="it is a folder, a device or a pipe.")
        if told.st_size > MOST_BYTES:
            why = f"it has {told.st_size:,} bytes, and the largest has {MOST_BYTES:,}."
            raise BadFile(f"{name} is no exported cell.", why=why)
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadFile(f"cannot read {name}.", why=f"{why}.") from error


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file as a whole: what was there before stays until the new one is complete.

    Raises:
      JaxnbError: if it cannot be written, or is too large to be read again.
    """
    target = Path(path).expanduser()
    if len(data) > MOST_BYTES:
        raise JaxnbError(
            f"{target} would have {len(data):,} bytes.", why=f"an exported cell has at most {MOST_BYTES:,}."
        )
    made = ""
    try:
        handle, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(made, 0o666 & ~umask)
        os.replace(made, target)
    except (OSError, ValueError) as error:
        with suppress(OSError):
            if made:
                os.unlink(made)
        why = getattr(error, "strerror", None) or str(error)
        raise JaxnbError(
            f"cannot write {target}.", why=f"{why}.", fix="give a path in a folder that exists."
        ) from error
