"""The wire format of protocol buffers: the fields of a message, without a library and without a copy."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Message", "fields", "message_of", "read_varints"]

Message = memoryview
"""The bytes of a message, or of a field that holds text or another message."""


def fields(message: Message) -> Iterator[tuple[int, int | Message]]:
    """The fields of a message in their order: the number of each, and an integer or a view of its bytes.

    A field of fixed width comes as its 4 or 8 bytes. What a field means is for the caller to know.

    Raises:
      ValueError: if the bytes are not a message.

    >>> [(number, value if isinstance(value, int) else bytes(value)) for number, value in
    ...     fields(memoryview(bytes.fromhex("089601120568656c6c6f")))]
    [(1, 150), (2, b'hello')]
    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 2:
            size, at = _varint(message, at)
            if at + size > end:
                raise ValueError(f"a field of {size} bytes in a message that ends after {end - at}")
            yield tag >> 3, message[at : at + size]
            at += size
        elif kind == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            if at + size > end:
                raise ValueError("a number that ends after its message")
            yield tag >> 3, message[at : at + size]
            at += size
        else:
            raise ValueError(f"a field of wire type {kind}")


def read_varints(value: int | Message) -> list[int]:
    """The integers of a repeated field: packed in its bytes, or one that stands alone."""
    if isinstance(value, int):
        return [value]
    found: list[int] = []
    at = 0
    while at < len(value):
        number, at = _varint(value, at)
        found.append(number)
    return found


def message_of(value: int | Message) -> Message:
    """The bytes of a field that holds text or another message.

    Raises:
      ValueError: if it is a number.
    """
    if isinstance(value, int):
        raise ValueError(f"the number {value} where a message should be")
    return value


def _varint(message: Message, at: int) -> tuple[int, int]:
    """The integer that begins at a place, and the place behind it."""
    if at < len(message) and message[at] < 0x80:  # nearly all are this short
        return message[at], at + 1
    number = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("an integer without an end")
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return number, at
        shift += 7
