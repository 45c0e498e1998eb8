"""Data as a short text that no parser takes for markup."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

__all__ = ["pack", "unpack"]


def pack(data: object) -> str:
    """Data as compressed JSON in base64, which a browser unpacks by itself.

    >>> unpack(pack({"x": [1, 2]}))
    {'x': [1, 2]}
    """
    text = json.dumps(data, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(text: str) -> Any:
    """The data that `pack` packed."""
    return json.loads(zlib.decompress(base64.b64decode(text)))
