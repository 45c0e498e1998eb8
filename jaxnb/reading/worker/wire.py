"""Messages between two processes over a pipe: a JSON object, and blocks of bytes behind it.

>>> import io
>>> pipe = io.BytesIO()
>>> send(pipe, {"do": "compile"}, b"one", b"")
>>> _ = pipe.seek(0)
>>> receive(pipe)
({'do': 'compile'}, [b'one', b''])
"""

from __future__ import annotations

import json
import struct
from typing import Any, Protocol

__all__ = ["Closed", "receive", "send"]

_LENGTH = struct.Struct("!Q")


class Closed(Exception):
    """The other end is gone."""


class _Pipe(Protocol):
    def write(self, data: bytes, /) -> object: ...

    def read(self, count: int, /) -> bytes: ...

    def flush(self) -> None: ...


def send(pipe: _Pipe, told: dict[str, Any], *blocks: bytes) -> None:
    """Writes one message.

    Raises:
      Closed: if nobody reads it.
    """
    head = json.dumps({**told, "blocks": [len(block) for block in blocks]}).encode()
    try:
        pipe.write(_LENGTH.pack(len(head)) + head)
        for block in blocks:
            pipe.write(block)
        pipe.flush()
    except (OSError, ValueError) as error:
        raise Closed from error


def receive(pipe: _Pipe) -> tuple[dict[str, Any], list[bytes]]:
    """Reads one message, and waits for it.

    Raises:
      Closed: if none comes any more, or only a part of one.
    """
    head = json.loads(_exactly(pipe, _LENGTH.unpack(_exactly(pipe, _LENGTH.size))[0]))
    return head, [_exactly(pipe, count) for count in head.pop("blocks")]


def _exactly(pipe: _Pipe, count: int) -> bytes:
    try:
        data = pipe.read(count)
    except (OSError, ValueError) as error:
        raise Closed from error
    if len(data) != count:
        raise Closed
    return data
