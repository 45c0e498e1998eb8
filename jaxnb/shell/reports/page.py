"""A notebook as one page that opens anywhere: facts, a table of the cells, then every cell with its outputs.

nbconvert makes it by the template beside this file. What a notebook holds and what its kernel sends is not trusted: of
a staged cell the program is read from its data and drawn here, and whatever is no markup of this module's is text in
the template. Nothing is loaded from a network, and nothing is run but the inspector's own script, which the page's
policy knows by its hash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import RegexLexer, using
from pygments.lexers.python import PythonLexer
from pygments.token import Name

from jaxnb.errors import JaxnbError
from jaxnb.program import MIME_TYPE, decode
from jaxnb.shell.reports.notebook import code_cells, is_offer, is_staged, needs_lab, status_of
from jaxnb.shell.reports.summary import read_summary
from jaxnb.views import (
    Html,
    element,
    has_script,
    joined,
    render_html,
    render_interactive,
    script_hashes,
    scripts_for,
    style_element,
    visible,
)

__all__ = ["render_page"]


def render_page(nb: Any, title: str, facts: Sequence[tuple[str, str]]) -> str:
    """The page.

    Args:
      nb: a notebook as nbformat 4 has it, which stays as it is.
      title: of the page; a heading that says the same at the top of the first cell is not repeated.
      facts: pairs of name and value for the head of the page, such as ("jax", "0.12.0").

    Raises:
      JaxnbError: if nbconvert is not installed.
    """
    try:
        from nbconvert.exporters import TemplateExporter
    except ImportError as error:
        raise needs_lab(error) from error
    exporter = TemplateExporter(
        template_paths=[str(Path(__file__).parent)],  # and no other, such as the folder in which it is run
        template_file="page.html.j2",
        filters={"first_line": _first_line, "markdown": _markdown, "python": _python, "with_code": _with_code},
        default_preprocessors=[],
        preprocessors=[_draw],
    )
    exporter.environment.autoescape, exporter.environment.finalize = True, _safe
    rows = [(cell, read_summary(nb.cells[index])) for cell, index in code_cells(nb)]
    page, _ = exporter.from_notebook_node(nb, {"title": title, "facts": facts, "rows": rows})
    return page


def _safe(value: Any) -> Any:
    """What the template puts into the page for a value: markup as it is, anything else as text."""
    return value if hasattr(value, "__html__") else joined([str(value)])


# --- what the template is given ---

_SHOWN = ("image/svg+xml", "image/png", "image/jpeg", "image/gif", "text/plain")


def _draw(nb: Any, resources: Any) -> tuple[Any, Any]:
    """Leaves of each output the one form that is shown, and tells of the scripts and the style that these need."""
    views: list[str] = []
    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            if output.output_type in ("display_data", "execute_result"):
                view = _view(output)
                if view is not None:
                    views.append(view)
                output.data = {"text/html": view} if view is not None else _best(output)
    first = nb.cells[0] if nb.cells else None
    if first is not None and first.cell_type == "markdown":
        heading, _, rest = first.source.lstrip().partition("\n")
        if heading.strip() == f"# {resources['title']}":
            first.source = rest
    # Every output has its style, because in a notebook it stands alone; the page needs it once.
    resources.update(
        scripts=scripts_for(views), hashes=script_hashes(views), style=style_element("program.css") if views else ""
    )
    return nb, resources


def _view(output: Any) -> Html | None:
    """What jaxnb itself draws of an output; None if it did not make it, or if its program cannot be read."""
    if is_offer(output) or not is_staged(output):
        return None
    data: Mapping[str, Any] = output.data
    program = data.get(MIME_TYPE)
    try:
        if not isinstance(program, dict):
            raise JaxnbError("there is no program.")
        read, line = decode(cast(dict[str, Any], program)), status_of(data)
        # Of a note there is nothing to inspect; without the built script the page is static.
        interactive = bool(read.levels) and has_script()
        view = render_interactive(read, line=line, script=False) if interactive else render_html(read, line=line)
    except JaxnbError:  # not saved, damaged, or of another version: its picture or text says what it was
        return None
    return Html(view.replace(style_element("program.css"), ""))


def _best(output: Any) -> dict[str, str]:
    """The best form of an output that can be trusted, a picture or a text; none of what is only there for a button."""
    if is_offer(output):
        return {}
    texts = {mime: value for mime, value in output.data.items() if isinstance(value, str)}
    mime = next((mime for mime in (*_SHOWN, *texts) if mime in texts), None)
    return {} if mime is None else {mime if mime in _SHOWN else "text/plain": texts[mime]}


# --- its filters ---


def _first_line(source: str) -> str:
    """The first line that says something; behind a magic or a comment for jaxnb, the next one too."""
    lines = [line.strip() for line in source.split("\n") if line.strip()]
    return " · ".join(lines[: 2 if re.match(r"%%|#\s*jaxnb\s*:", "".join(lines[:1])) else 1])


def _with_code(text: str) -> Html:
    """Text in which what stands between backticks is code; a text that was cut may have lost the last of them."""
    parts = text.split("`")
    if len(parts) % 2 == 0 and not text.endswith("…"):
        return joined([text])
    return joined(element("code", None, part) if index % 2 else part for index, part in enumerate(parts))


def _markdown(source: str) -> Html:
    """Markdown as HTML. HTML inside is shown, not used, and pictures are named, not loaded.

    nbconvert's own filter lets HTML through, and what cleans it afterwards knows no paragraphs.
    """
    import mistune

    render: Any = mistune.create_markdown(escape=True, plugins=["table", "strikethrough"])
    render.renderer.image = lambda text, url, title=None: element("em", None, text or "picture")
    return Html(visible(render(source)))


class _Cell(RegexLexer):
    """Python with lines of IPython; its own lexer colours nothing below a magic that it does not know."""

    flags = re.MULTILINE
    tokens: ClassVar = {"root": [(r"^[ \t]*[%!].*\n?", Name.Tag), (r"(^(?![ \t]*[%!])(.*\n|.+))+", using(PythonLexer))]}


def _python(source: str) -> Html:
    return Html(visible(highlight(source, _Cell(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n")))
