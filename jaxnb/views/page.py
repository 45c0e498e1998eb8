"""A notebook as one page that opens anywhere: facts, a table of the cells, then every cell with its outputs.

Nothing is loaded from a network, and nothing is run but the inspector's own script, which the page's policy knows by
its hash. Of HTML only jaxnb's own is let in, under a MIME type that the caller has to give on purpose; whatever else a
notebook holds is shown as text or as a picture.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from jaxnb.views.escape import Html, element, escape, joined
from jaxnb.views.interactive import script_hashes, scripts_for
from jaxnb.views.markup import highlight_python, render_markdown
from jaxnb.views.style import style_element

__all__ = ["ERROR_TEXT", "TRUSTED_HTML", "PageCell", "render_page"]

# For what jaxnb rendered itself in this run, never for what a notebook holds.
TRUSTED_HTML = "text/html; jaxnb"
ERROR_TEXT = "application/vnd.jupyter.error"

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/svg+xml"})
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class PageCell:
    """A cell of the notebook.

    Attributes:
      kind: "markdown" or "code".
      source: its text.
      outputs: pairs of MIME type and content in the order in which they came. Pictures are in base64, as
        notebooks hold them, SVG as text; `TRUSTED_HTML` goes in as it is; of any other type the content is
        shown as text.
      outcome: what became of the cell, in a few words, for the table at the top.
      numbers: for the table: time to trace and compile, time to run, memory; "" for what is not known.
      findings: for the table, which says how many there are and shows the first.
      failed: whether it ended in an error that nobody wanted.
    """

    kind: str
    source: str
    outputs: Sequence[tuple[str, str]] = ()
    outcome: str = ""
    numbers: tuple[str, str, str] = ("", "", "")
    findings: Sequence[str] = ()
    failed: bool = False


def render_page(title: str, cells: Sequence[PageCell], facts: Sequence[tuple[str, str]] = ()) -> str:
    """The page.

    Args:
      title: of the page; a heading that says the same at the top of the first cell is not repeated.
      cells: in their order; code cells are numbered from 1.
      facts: pairs of name and value for the head of the page, such as ("jax", "0.12.0").

    >>> page = render_page("Digits", [PageCell("code", "1 + 1", [("text/plain", "2")])])
    >>> page.startswith("<!DOCTYPE html><html") and "<pre>2</pre>" in page
    True
    """
    cells = _without_title(cells, title)
    numbers = _numbers(cells)
    shown = [content for cell in cells for mime, content in cell.outputs if mime == TRUSTED_HTML]
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        # Should anything have slipped through, the browser still neither runs nor loads it.
        element("meta", {"http-equiv": "Content-Security-Policy", "content": _policy(script_hashes(shown))}),
        element("title", None, title.replace("`", "")),
        style_element("page.css"),
        style_element("table.css"),
        *([_PROGRAM_STYLE] if shown else ()),
    )
    body = element(
        "body",
        None,
        element("header", None, element("h1", None, _with_code(title)), _facts(facts)),
        _contents(cells, numbers),
        element("main", None, *(_cell(cell, number) for cell, number in zip(cells, numbers, strict=True))),
        element("footer", None, "Made by jaxnb. This page needs no network and no kernel."),
        scripts_for(shown),
    )
    return Html("<!DOCTYPE html>") + element("html", {"lang": "en"}, head, body)


# Every output has this style, because in a notebook it stands alone; the page needs it once.
_PROGRAM_STYLE = style_element("program.css")

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def _policy(hashes: Sequence[str]) -> str:
    allowed = " ".join(f"'{one}'" for one in hashes)
    return f"{_POLICY}; script-src {allowed}" if hashes else _POLICY


def _without_title(cells: Sequence[PageCell], title: str) -> Sequence[PageCell]:
    if not cells or cells[0].kind != "markdown":
        return cells
    first, _, rest = cells[0].source.lstrip().partition("\n")
    if first.strip() != f"# {title}":
        return cells
    return [replace(cells[0], source=rest), *cells[1:]]


def _numbers(cells: Sequence[PageCell]) -> list[int | None]:
    count = 0
    numbers: list[int | None] = []
    for cell in cells:
        count += cell.kind == "code"
        numbers.append(count if cell.kind == "code" else None)
    return numbers


def _facts(facts: Sequence[tuple[str, str]]) -> Html:
    if not facts:
        return Html()
    pairs = (element("div", None, element("dt", None, name), element("dd", None, value)) for name, value in facts)
    return element("dl", None, *pairs)


_COLUMNS = ("", "cell", "outcome", "trace + compile", "run", "memory", "findings")


def _contents(cells: Sequence[PageCell], numbers: Sequence[int | None]) -> Html:
    """A table of the code cells of which something became; of all, where that is said of none."""
    listed = [(cell, number) for cell, number in zip(cells, numbers, strict=True) if number is not None]
    listed = [item for item in listed if item[0].outcome] or listed
    if not listed:
        return Html()
    head = element("thead", None, element("tr", None, *(element("th", None, name) for name in _COLUMNS)))
    body = element("tbody", None, *(_table_row(cell, number) for cell, number in listed))
    return element("nav", None, element("table", None, head, body))


def _table_row(cell: PageCell, number: int) -> Html:
    """A row; where there is little room each cell of it names its column, and the ones that say nothing go."""
    return element(
        "tr",
        {"class": "bad"} if cell.failed else None,
        element("td", None, element("a", {"href": f"#cell-{number}"}, f"[{number}]")),
        element("td", None, element("code", None, _first_line(cell.source))),
        element("td", None, cell.outcome),
        *(
            element("td", {"data-name": name}, text) if text else element("td", {"class": "none"}, "–")
            for name, text in zip(_COLUMNS[3:], cell.numbers, strict=False)
        ),
        _findings(cell.findings),
    )


def _findings(findings: Sequence[str]) -> Html:
    if not findings:
        return element("td", {"class": "none"}, "–")
    return element("td", None, element("b", None, f"{len(findings)}"), " ", _with_code(findings[0]))


def _with_code(text: str) -> Html:
    """Text in which what stands between backticks is code; a text that was cut may have lost the last of them."""
    parts = text.split("`")
    if len(parts) % 2 == 0 and not text.endswith("…"):
        return escape(text)
    return joined(element("code", None, part) if index % 2 else part for index, part in enumerate(parts))


def _first_line(source: str) -> str:
    """The first line that says something; behind a magic or a comment for jaxnb, the next one too."""
    lines = [line.strip() for line in source.split("\n") if line.strip()]
    if len(lines) > 1 and re.match(r"%%|#\s*jaxnb\s*:", lines[0]):
        return f"{lines[0]} · {lines[1]}"
    return lines[0] if lines else ""


def _cell(cell: PageCell, number: int | None) -> Html:
    if number is None:
        return element("section", {"class": "md"}, render_markdown(cell.source))
    link = element("a", {"href": f"#cell-{number}"}, f"[{number}]")
    code = element("pre", None, highlight_python(cell.source))
    return element(
        "section",
        {"id": f"cell-{number}"},
        element("div", {"class": "in"}, link, code),
        *_outputs(cell.outputs),
    )


def _outputs(outputs: Iterable[tuple[str, str]]) -> Iterable[Html]:
    for mime, content in outputs:
        if mime == TRUSTED_HTML:
            yield element("div", {"class": "out"}, Html(content.replace(_PROGRAM_STYLE, "")))
        elif mime in _IMAGES and (url := _data_url(mime, content)):
            yield element("div", {"class": "out"}, element("img", {"src": url, "alt": "output of the cell"}))
        else:
            kind = "out err" if mime == ERROR_TEXT else "out"
            text = _ANSI.sub("", content).rstrip("\n")
            yield element("div", {"class": kind}, element("pre", None, text))


def _data_url(mime: str, content: str) -> str:
    """A picture as a URL that holds it, "" if it is not one. Scripts in an SVG do not run in an `img`."""
    if mime == "image/svg+xml":
        return f"data:{mime};base64,{b64encode(content.encode()).decode()}"
    return f"data:{mime};base64,{''.join(content.split())}" if _BASE64.fullmatch(content) else ""
