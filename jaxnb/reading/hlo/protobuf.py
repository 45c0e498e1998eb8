"""The wire format of protocol buffers: the fields of a message, without a library and without a copy."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Field", "bytes_of", "fields", "integer_of", "read_varints", "text_of"]

Field = int | memoryview
"""An integer, or the bytes of what a field holds otherwise: text, another message, many integers."""


def fields(message: Field) -> Iterator[tuple[int, Field]]:
    """The fields of a message in their order: the number of each, and an integer or a view of its bytes.

    A field of fixed width comes as its 4 or 8 bytes. What a field means is for the caller to know.

    Raises:
      ValueError: if the bytes are not a message.

    >>> [(number, value if isinstance(value, int) else bytes(value)) for number, value in
    ...     fields(memoryview(bytes.fromhex("089601120568656c6c6f")))]
    [(1, 150), (2, b'hello')]
    """
    message = bytes_of(message)
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


def read_varints(field: Field) -> tuple[int, ...]:
    """The integers of a repeated field: packed in its bytes, or one that stands alone."""
    if isinstance(field, int):
        return (field,)
    found: list[int] = []
    at = 0
    while at < len(field):
        number, at = _varint(field, at)
        found.append(number)
    return tuple(found)


def integer_of(field: Field) -> int:
    """The integer that a field is.

    Raises:
      ValueError: if it is none.
    """
    if not isinstance(field, int):
        raise ValueError(f"a field of {len(field)} bytes where an integer should be")
    return field


def text_of(field: Field) -> str:
    """The text of a field; what is not UTF-8 is replaced.

    Raises:
      ValueError: if it is a number.
    """
    return str(bytes_of(field), "utf-8", "replace")


def bytes_of(field: Field) -> memoryview:
    """The bytes of a field that holds text or another message.

    Raises:
      ValueError: if it is a number.
    """
    if isinstance(field, int):
        raise ValueError(f"the number {field} where a message should be")
    return field


def _varint(message: memoryview, at: int) -> tuple[int, int]:
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
