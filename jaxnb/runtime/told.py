"""Whether a library tells the user what it asks, or only chooses by it what it does."""

from __future__ import annotations

import dis
import functools
from types import CodeType, FrameType

from jaxnb.runtime.libraries import is_library

__all__ = ["tells"]


def tells(frame: FrameType) -> bool:
    """Whether code of the user is handed the answer that a library asks for, or a text if it is true.

    Args:
      frame: of the function that calls another one, such as `isinstance`.
    """
    asking: FrameType | None = frame
    while asking is not None and is_library(asking.f_globals.get("__name__", "__main__")):
        told = _told(asking.f_code, asking.f_lasti)
        if told != _ANSWER:
            return told == _TEXT
        asking = asking.f_back
    return True


_ANSWER = "the answer"
_TEXT = "a text"
_IDLE = ("CACHE", "UNARY_NOT", "TO_BOOL", "NOT_TAKEN")


@functools.lru_cache(maxsize=512)
def _told(code: CodeType, offset: int) -> str | None:
    call, *then = _from(code, offset)
    if call.opname == "PRECALL":  # of a call that Python 3.11 has specialised
        del then[0]
    if not then or then[0].opname == "RETURN_VALUE":
        return _ANSWER
    if not (then[0].opname.startswith("POP_JUMP") and then[0].opname.endswith(("IF_TRUE", "IF_FALSE"))):
        return None
    true = then[1:] if then[0].opname.endswith("IF_FALSE") else _from(code, then[0].argval)
    returns = [item.opname for item in true[:2]] == ["LOAD_CONST", "RETURN_VALUE"]
    returns = returns or (bool(true) and true[0].opname == "RETURN_CONST")
    return _TEXT if returns and type(true[0].argval) is str else None


def _from(code: CodeType, offset: int) -> list[dis.Instruction]:
    return [item for item in dis.get_instructions(code) if item.offset >= offset and item.opname not in _IDLE]
