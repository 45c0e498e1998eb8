"""A cell as somebody wrote it in a notebook: what stands before it, its text, and what is changed between its runs.

>>> written("import jax.numpy as jnp", "### add\\nx = jnp.ones(3)\\n---\\ny = x + 1\\n---\\nx = x * 2")
(PersonCell(name='add', ...),)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["PersonCell", "written"]

_HEAD = re.compile(r"^### (?P<name>\S+)(?P<options>.*)$", re.MULTILINE)
_RULE = re.compile(r"^---[ ]*$", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class PersonCell:
    """A cell of the corpus.

    Args:
      name: unique over the corpus.
      setup: run plainly first, as one cell.
      cell: the text that is run plainly on one side and staged on the other.
      changes: plain texts, each run before a further run.
      needs: libraries without which it is skipped.
      devices: how many devices it needs at least.
      watched: whether a thread looks at everything while the cell runs.
      x64: with 64-bit types enabled.
      tolerance: relative tolerance in place of that of the dtype.
      warm: whether nothing may be traced in the third unchanged run; False where a state opens new ways.
      theme: the module that it stands in.
    """

    name: str
    setup: str
    cell: str
    changes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    devices: int = 1
    watched: bool = False
    x64: bool = False
    tolerance: float | None = None
    warm: bool = True
    theme: str = ""

    def __repr__(self) -> str:
        return f"PersonCell(name={self.name!r}, ...)"


def written(prelude: str, text: str, **common: Any) -> tuple[PersonCell, ...]:
    """The cells of a theme, from one text.

    A cell begins with a line `### name options`, then comes its setup, a line `---`, the cell itself, and after further
    such lines what is changed before further runs. Options are words (`watched`, `x64`, `cold`) or `key=value`
    (`devices=4`, `tolerance=1e-3`, `needs=optax,flax`).

    Args:
      prelude: what stands before each setup.
      text: the cells.
      **common: fields that all of them have.
    """
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found: list[PersonCell] = []
    for head, end in zip(heads, ends, strict=True):
        setup, cell, *changes = (part.strip("\n") for part in _RULE.split(text[head.end() : end]))
        fields: dict[str, Any] = {**common, **_options(head["options"])}
        found.append(PersonCell(head["name"], f"{prelude.strip()}\n{setup}\n", cell + "\n", tuple(changes), **fields))
    return tuple(found)


def _options(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for word in text.split():
        key, _, value = word.partition("=")
        if key == "needs":
            fields[key] = tuple(value.split(","))
        elif key in ("devices", "tolerance"):
            fields[key] = {"devices": int, "tolerance": float}[key](value)
        elif word == "cold":
            fields["warm"] = False
        elif word in ("watched", "x64"):
            fields[word] = True
        else:
            raise ValueError(f"unknown option {word!r} of {text!r}")
    return fields
