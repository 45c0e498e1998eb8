"""A cell that is wrong as people wrote it, the right one beside it, and what has to be said of the wrong one.

>>> text = '''
... ### rows-by-rows raises=TypeError line=2
... # https://docs.jax.dev/
... import jax.numpy as jnp
... x, w = jnp.ones((2, 3)), jnp.ones((4, 3))
... ---
... h = x + 0
... y = x @ w
... ---
... h = x + 0
... y = x @ w.T
... ---
... cause: contract; 3 and 4|3 against 4
... names: x; w
... fix: w.T
... '''
>>> written("shapes", text)[0].names
('x', 'w')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["ErrorCase", "written"]

_HEAD = re.compile(r"^### (?P<name>\S+)(?P<options>.*)$", re.MULTILINE)
_RULE = re.compile(r"^---[ ]*\n", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class ErrorCase:
    """A wrong cell.

    Args:
      name: unique over all.
      kind: the module that it stands in, such as "shapes".
      source: address of the page or thread in which the mistake was seen.
      setup: run plainly first, as one cell.
      cell: the wrong cell.
      twin: the right one, which must run and of which nothing must be said. It differs by the smallest edit.
      raises: name of the class of the exception that the plain cell raises; "" if it runs and is silently wrong.
      line: of the cell where the cause stands, from 1; of an error in a function of the cell, the line in there.
      cause: what the explanation has to contain, each part in one of several wordings.
      names: the user's names that have to be said; `a|b` for either of two.
      fix: what the edit or the advice has to contain, in one of several wordings; () where there is nothing to advise.
      needs: libraries without which it is skipped.
      devices: how many devices it needs at least.
      x64: with 64-bit types enabled.
      staged_runs: whether the staged cell is right though the plain one fails.
    """

    name: str
    kind: str
    source: str
    setup: str
    cell: str
    twin: str
    raises: str
    line: int
    cause: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    fix: tuple[str, ...]
    needs: tuple[str, ...] = ()
    devices: int = 1
    x64: bool = False
    staged_runs: bool = False

    def __repr__(self) -> str:
        return f"ErrorCase({self.name!r}, ...)"


def written(kind: str, text: str, prelude: str = "", **common: Any) -> tuple[ErrorCase, ...]:
    """The cases of a kind, from one text.

    A case begins with a line `### name options` and the address of its source as a comment. Parted by lines `---`
    follow the setup, the wrong cell, the right cell, and what has to be said: `cause`, `names` and `fix`, one line
    each; parts that all have to be there are parted by `;`, and wordings of which one is enough by `|`.

    Args:
      kind: of all of them.
      text: the cases.
      prelude: stands before every setup.
      common: options of all of them.
    """
    heads = list(_HEAD.finditer(text))
    found: list[ErrorCase] = []
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        body = text[head.end() : following.start() if following else len(text)].lstrip("\n")
        source, _, body = body.partition("\n")
        assert source.startswith("# http"), f"{head['name']}: no source"
        setup, cell, twin, said = _RULE.split(body)
        told = dict(line.split(": ", 1) for line in said.strip().splitlines() if ": " in line)
        options: dict[str, Any] = dict(common)
        for option in head["options"].split():
            key, _, value = option.partition("=")
            if key in ("devices", "line"):
                options[key] = int(value)
            elif key == "needs":
                options[key] = tuple(value.split(","))
            else:
                options[key] = value or True
        found.append(
            ErrorCase(
                name=head["name"],
                kind=kind,
                source=source.removeprefix("# "),
                setup=prelude + setup,
                cell=cell.rstrip("\n"),
                twin=twin.rstrip("\n"),
                raises=options.pop("raises", ""),
                line=options.pop("line", 1),
                cause=tuple(_wordings(part) for part in _parts(told.get("cause", ""))),
                names=tuple(_parts(told.get("names", ""))),
                fix=_wordings(told.get("fix", "")),
                **options,
            )
        )
    return tuple(found)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _wordings(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|") if part.strip())
