"""What the readers of HLO messages share: the numbers of the types, and the order in which instructions run."""

from __future__ import annotations

from jaxnb.reading.hlo.protobuf import Message, fields, message_of, read_varints

__all__ = ["PRIMITIVE_TYPES", "read_schedule"]

PRIMITIVE_TYPES = {
    1: ("bool", 1),
    2: ("int8", 1),
    3: ("int16", 2),
    4: ("int32", 4),
    5: ("int64", 8),
    6: ("uint8", 1),
    7: ("uint16", 2),
    8: ("uint32", 4),
    9: ("uint64", 8),
    10: ("float16", 2),
    11: ("float32", 4),
    12: ("float64", 8),
    15: ("complex64", 8),
    16: ("bfloat16", 2),
    17: ("token", 0),
    18: ("complex128", 16),
    19: ("float8_e5m2", 1),
    20: ("float8_e4m3fn", 1),
    21: ("int4", 1),
    22: ("uint4", 1),
    23: ("float8_e4m3b11fnuz", 1),
    24: ("float8_e5m2fnuz", 1),
    25: ("float8_e4m3fnuz", 1),
    26: ("int2", 1),
    27: ("uint2", 1),
    28: ("float8_e4m3", 1),
    29: ("float8_e3m4", 1),
    30: ("int1", 1),
    31: ("uint1", 1),
    32: ("float4_e2m1fn", 1),
    33: ("float8_e8m0fnu", 1),
}
"""The numbers of xla::PrimitiveType, with the name of the dtype and the bytes of one element; what takes less than a
byte is stored in one."""


def read_schedule(message: Message) -> dict[int, list[int]]:
    """xla::HloScheduleProto: the ids of the instructions of each computation, in the order of execution."""
    order: dict[int, list[int]] = {}
    for number, entry in fields(message):
        if number != 1:
            continue
        computation, sequence = 0, list[int]()
        for part, value in fields(message_of(entry)):
            if part == 1 and isinstance(value, int):
                computation = value
            elif part == 2:
                for inner, ids in fields(message_of(value)):
                    if inner == 1:
                        sequence.extend(read_varints(ids))
        order[computation] = sequence
    return order
