"""`jupyter nbconvert --to jaxnb`: nbconvert's page of a notebook, with the inspector in the place of each static view.

The script goes into the page once. The programs are read from the notebook's data and rendered here; what else a
notebook holds is nbconvert's, under its own options.
"""

from __future__ import annotations

from typing import Any

from nbconvert.exporters import HTMLExporter

from jaxnb.errors import JaxnbError
from jaxnb.program import MIME_TYPE, decode
from jaxnb.shell.reports.notebook import is_staged, status_of
from jaxnb.views import has_script, render_interactive, scripts_for

__all__ = ["InspectorExporter"]


class InspectorExporter(HTMLExporter):  # type: ignore[misc]
    """nbconvert's HTML with the inspector; its options are those of `--to html`."""

    # What Jupyter's menu for exports calls it.
    export_from_notebook = "HTML with jaxnb's inspector"

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)
        # Behind all others, of which one may execute the notebook.
        self.register_preprocessor(_draw, enabled=True)


def _draw(nb: Any, resources: Any) -> tuple[Any, Any]:
    """Lets the staged cells of nbconvert's copy bring their programs as HTML, and the last of them the script."""
    if not has_script():
        return nb, resources
    views: list[str] = []
    last = None
    for cell in nb.cells:
        for output in cell.get("outputs", ()):
            if output.output_type in ("display_data", "execute_result") and is_staged(output):
                html = _rendered(output.data)
                if html is not None:
                    output.data["text/html"], last = html, output
                    views.append(html)
    if last is not None:
        last.data["text/html"] += scripts_for(views)
    return nb, resources


def _rendered(data: Any) -> str | None:
    """The inspector of an output; None of a note, or of a program that was saved without its levels."""
    try:
        program = decode(data[MIME_TYPE])
    except (JaxnbError, KeyError, TypeError):
        return None
    if not any(level.name != "source" for level in program.levels):
        return None
    return render_interactive(program, line=status_of(data), script=False)
