"""The wire format of protocol buffers, which optimised modules are read from."""

from __future__ import annotations

import doctest

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, strategies as st

from jaxnb._jax.hlo import serialized_modules
from jaxnb.reading.hlo import protobuf
from jaxnb.reading.hlo.decode import read_module
from jaxnb.reading.hlo.protobuf import fields, read_varints
from jaxnb.reading.hlo.read import read_hlo

numbers = st.integers(0, 2**64 - 1)


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


@given(st.lists(st.tuples(st.integers(1, 2**20), numbers | st.binary(max_size=300)), max_size=6))
def test_fields_come_back(message):
    data = b"".join(field(number, value) for number, value in message)
    found = [(number, value if isinstance(value, int) else bytes(value)) for number, value in fields(memoryview(data))]
    assert found == message


@given(st.lists(numbers, max_size=8))
def test_packed_integers_come_back(some):
    assert read_varints(memoryview(b"".join(map(varint, some)))) == tuple(some)


def test_a_number_that_stands_alone():
    assert read_varints(7) == (7,)


@given(st.binary(max_size=60))
def test_other_bytes_are_refused_or_read(data):
    """Never another exception than ValueError, and never a field beyond the end."""
    try:
        assert sum(len(value) for _, value in fields(memoryview(data)) if not isinstance(value, int)) <= len(data)
    except ValueError:
        pass


def test_integers_of_an_instruction_may_stand_alone_or_together():
    """Protocol buffers write lists either way, and fields in any order."""
    alone = field(36, 3) + field(36, 300) + field(2, b"tuple") + field(35, 7)
    together = field(35, 7) + field(36, varint(3) + varint(300)) + field(2, b"tuple") + field(99, b"unknown")
    for instruction in (alone, together):
        module = read_module(field(6, 5) + field(3, field(6, 7) + field(5, 5) + field(2, instruction)))
        (item,) = module.instructions()
        assert (item.identity, item.opcode, item.operands) == (7, "tuple", (3, 300))
        assert module.computations[module.entry].root == 7


@pytest.mark.parametrize("data", [b"", field(6, 1), field(6, 1) + field(3, field(5, 2))])
def test_a_module_without_an_entry_is_refused(data):
    with pytest.raises(ValueError, match="without an entry computation"):
        read_module(data)


@pytest.mark.parametrize("data", [field(6, b"text"), field(3, 4), field(3, field(2, field(1, 8)))])
def test_a_field_of_another_kind_is_refused(data):
    with pytest.raises(ValueError, match="where a"):
        read_module(data)


def test_a_module_that_is_cut_off_is_refused():
    compiled = jax.jit(lambda x: jnp.tanh(x @ x).sum()).lower(jnp.ones((4, 4))).compile()
    (module,) = serialized_modules(compiled)
    whole = [op.name for op in read_hlo(read_module(module)).level.ops()]
    assert whole
    refused = 0
    for stop in range(0, len(module), 37):
        try:
            read = [op.name for op in read_hlo(read_module(module[:stop])).level.ops()]
        except ValueError as error:
            assert str(error)
            refused += 1
        else:
            assert read == whole  # it ends behind a field, and those that are gone say nothing of operations
    assert refused > len(module) // 37 // 2


@pytest.mark.parametrize("number, kind", [(field(8, b"\x00"), 11), (field(9, b""), 12), (field(4, b""), 4)])
def test_a_constant_that_is_cut_short_is_refused(number: bytes, kind: int):
    constant = field(2, b"constant") + field(3, field(2, kind)) + field(8, number)
    with pytest.raises(ValueError, match="a number is not there"):
        read_module(field(6, 5) + field(3, field(5, 5) + field(2, constant)))
