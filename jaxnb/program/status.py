"""The line under a cell as data: what happened, what it cost, and what needs the user, in this order.

Text, HTML and the front end draw the same parts, and a saved notebook keeps them beside the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jaxnb.errors import JaxnbError

__all__ = ["SIGNS", "TONES", "Part", "Status", "decode_status", "encode_status"]

SIGNS = {
    "reused": "✓",
    "staged": "●",
    "retraced": "↻",
    "again": "↻",
    "host": "◐",
    "loop": "⟲",
    "nothing": "○",
    "defined": "○",
    "planned": "◇",
    "traced": "◇",
    "fix": "+",
    "wrong": "!",
    "finding": "!",
}
"""The sign of each kind of part that has one: it tells them apart where there are no colours."""

TONES = {
    "reused": "good",
    "staged": "good",
    "retraced": "warn",
    "again": "warn",
    "host": "warn",
    "nothing": "bad",
    "planned": "calm",
    "traced": "calm",
    "fix": "good",
    "wrong": "bad",
    "finding": "warn",
}
"""The colour of each kind that has one: "good", "calm", "warn" or "bad"."""

_BETWEEN = " · "
_ANSI = {"good": "32", "calm": "34", "warn": "33", "bad": "31", "": "2"}


@dataclass(frozen=True, slots=True)
class Part:
    """A phrase of the line.

    Attributes:
      kind: such as "reused", "host", "peak" or "finding"; its sign is in `SIGNS`, its colour in `TONES`.
      text: a few words, without the sign.
    """

    kind: str
    text: str

    @property
    def sign(self) -> str:
        """One character, or ""."""
        return SIGNS.get(self.kind, "")

    @property
    def tone(self) -> str:
        """The name of the colour, or ""."""
        return TONES.get(self.kind, "")

    def __str__(self) -> str:
        return f"{self.sign} {self.text}" if self.sign else self.text


@dataclass(frozen=True, slots=True)
class Status:
    """The line under a cell. Its text is on one line, whatever the parts hold.

    Attributes:
      happened: `reused`, `staged`, `retraced: x 1347→256`, `partly on the host: line 3, np.load`.
      cost: the most telling first, since the last are left out where there is no room.
      needs: what the user should look at.

    >>> status = Status((Part("staged", "staged"),), (Part("time", "run 2 ms"), Part("eqns", "7 eqns")))
    >>> str(status)
    '● staged · run 2 ms · 7 eqns'
    >>> status.text(24)
    '● staged · run 2 ms · …'
    """

    happened: tuple[Part, ...]
    cost: tuple[Part, ...] = ()
    needs: tuple[Part, ...] = ()

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None, *, colours: bool = False) -> str:
        """The line as text.

        Args:
          width: how many characters at most; of the cost the last parts go first, then all else is cut.
          colours: whether ANSI escapes colour it.
        """
        if width is None and not colours:
            text = _BETWEEN.join([f"{part.sign} {part.text}" if part.sign else part.text for part in self.parts()])
            if text.isprintable() and "  " not in text and text == text.strip():
                return text
        fitted = self if width is None else self._fitted(width)
        return _BETWEEN.join([_drawn(part, colours) for part in fitted.parts()])

    def parts(self) -> Iterable[Part]:
        """All of them, in their order."""
        return (*self.happened, *self.cost, *self.needs)

    def adding(self, *parts: Part) -> Status:
        """The same, with more to say of what happened."""
        return Status((*self.happened, *parts), self.cost, self.needs)

    def _fitted(self, width: int) -> Status:
        if _length(self.parts()) <= width:
            return self
        for count in range(len(self.cost) - 1, -1, -1):
            cost = (*self.cost[:count], Part("more", "…"))
            if _length((*self.happened, *cost, *self.needs)) <= width:
                return Status(self.happened, cost, self.needs)
        kept = min(_length(self.needs), width // 2) + len(_BETWEEN) if self.needs else 0
        happened = _cut(self.happened, width - kept)
        return Status(happened, (), _cut(self.needs, width - _length(happened) - len(_BETWEEN)))


def _length(parts: Iterable[Part]) -> int:
    return len(_BETWEEN.join(_one_line(str(part)) for part in parts))


def _cut(parts: Sequence[Part], width: int) -> tuple[Part, ...]:
    """As many of the parts as there is room for, the last of them cut."""
    kept: list[Part] = []
    for part in parts:
        room = width - _length(kept) - len(_BETWEEN) * bool(kept)
        text, sign = _one_line(part.text), len(part.sign) + bool(part.sign)
        if len(text) + sign > room:
            return (*kept, Part(part.kind, text[: room - sign - 1] + "…")) if room > sign + 1 else tuple(kept)
        kept.append(part)
    return tuple(kept)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _drawn(part: Part, colours: bool) -> str:
    text = _one_line(str(part))
    return f"\x1b[{_ANSI[part.tone]}m{text}\x1b[0m" if colours else text


def encode_status(status: Status) -> dict[str, list[list[str]]]:
    """The line as JSON: of each place the parts as kind, sign and text.

    >>> encode_status(Status((Part("reused", "reused"),)))["happened"]
    [['reused', '✓', 'reused']]
    """

    def rows(parts: Sequence[Part]) -> list[list[str]]:
        return [[part.kind, part.sign, _one_line(part.text)] for part in parts]

    return {"happened": rows(status.happened), "cost": rows(status.cost), "needs": rows(status.needs)}


def decode_status(data: object) -> Status:
    """What `encode_status` made the data from.

    Raises:
      JaxnbError: if the data is damaged.
    """
    try:
        found = cast(Mapping[str, Any], data)
        places = [[Part(*_texts(row)) for row in found[name]] for name in ("happened", "cost", "needs")]
    except (KeyError, TypeError, ValueError) as error:
        raise JaxnbError(
            "the saved line is damaged.", why=f"{type(error).__name__}: {error}", fix="run the cell again."
        ) from error
    return Status(*map(tuple, places))


def _texts(row: Any) -> tuple[str, str]:
    kind, _, text = row
    if not (isinstance(kind, str) and isinstance(text, str)):
        raise TypeError("a part that is no text")
    return kind, text
