"""Golden files in `cases/`: what a view or the codec makes of a sample, kept to be read and compared.

With JAXNB_UPDATE=1 in the environment they are written anew; look at the difference before you keep it.
"""

from __future__ import annotations

import os
from pathlib import Path

CASES = Path(__file__).parent / "cases"


def check_golden(name: str, text: str) -> None:
    path = CASES / name
    if os.environ.get("JAXNB_UPDATE") == "1":
        CASES.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.read_text(encoding="utf-8") == text, f"{name} has changed; JAXNB_UPDATE=1 writes it anew"
