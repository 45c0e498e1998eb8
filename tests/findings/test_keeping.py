"""Where the text of a cell keeps what leaks, and where it reads that."""

from __future__ import annotations

import pytest

from jaxnb.findings.leaking.keeping import keeping_lines, reading_line

CELLS = [  # the cell; the holder; the lines that keep it; the line that reads it behind the function
    ("def f(x):\n    y = x\n    seen.append(y)\nf(1)\nz = sum(seen)", "seen[0]", (3,), 5),
    ("def f(x):\n    cache['a'] = x\n    return x\nf(1)\nz = cache", "cache['a']", (2,), 5),
    ("class M:\n    def run(self, x):\n        self.last = x\nm = M()\nm.run(1)\nz = m.last", "m.last", (3,), 6),
    ("f = lambda x: seen.append(x)\nf(1)", "seen[0]", (1,), None),
    ("def f(x):\n    other.append(x)\nf(1)\nz = other", "seen[0]", (), None),
    ("seen = []\nseen.append(1)", "seen[0]", (), None),
    ("def f(x:", "seen[0]", (), None),
]


@pytest.mark.parametrize(("cell", "holder", "keeping", "reading"), CELLS)
def test_the_lines_are_found(cell: str, holder: str, keeping: tuple[int, ...], reading: int | None) -> None:
    assert keeping_lines(cell, holder) == keeping
    assert reading_line(cell, holder, 4) == reading
