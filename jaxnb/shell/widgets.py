"""The inspector as a widget of a live kernel: `jaxnb.widget(run)`.

The output under a cell needs no widget. This is for where the kernel should stay at hand, such as marimo, and for
layouts of widgets. It is an anywidget, which is asked for only here; once the kernel is gone a widget shows nothing.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jaxnb import program as programs, views
from jaxnb.errors import JaxnbError
from jaxnb.shell.inspector_comm import answer
from jaxnb.staging import Run

__all__ = ["widget"]


def widget(run: Run, *, previous: Run | None = None, namespace: dict[str, Any] | None = None) -> Any:
    """An open inspector of a run. Its further levels are made when they are first looked at.

    Args:
      run: what to look at, such as `jaxnb.last()`.
      previous: a run to compare it with.
      namespace: where names are looked up whose values are asked for; by default the values that the run bound.

    Returns:
      An `anywidget.AnyWidget`; display it, or put it into other widgets.

    Raises:
      JaxnbError: if anywidget is not installed, or jaxnb's front end was never built.
    """
    try:
        import anywidget  # pyright: ignore[reportMissingImports]
        import traitlets
    except ImportError as error:
        raise JaxnbError(
            "the widget needs anywidget, which is not installed.", fix="run: pip install anywidget."
        ) from error

    assets = files("jaxnb").joinpath("assets")
    script, diagrams = assets.joinpath("widget.js"), assets.joinpath("diagrams.js")
    if not script.is_file() or not diagrams.is_file():
        raise JaxnbError(
            "the widget's script is not there.",
            why="this jaxnb runs from a source tree in which the front end was not built.",
            fix="run `make extension`, or install jaxnb again.",
        )
    program = run.program
    names = run.outputs if namespace is None else namespace

    class Inspector(anywidget.AnyWidget):  # type: ignore[misc]
        """Asks nothing of the kernel until somebody looks."""

        _esm = f"{diagrams.read_text(encoding='utf-8')}\n{script.read_text(encoding='utf-8')}"
        program = traitlets.Dict().tag(sync=True)
        line = traitlets.Unicode().tag(sync=True)
        levels = traitlets.List().tag(sync=True)
        previous = traitlets.Dict(None, allow_none=True).tag(sync=True)

    before = [] if previous is None else views.encode_trees(previous.program)
    shown = Inspector(
        program={**views.encode_drawn(program), "status": programs.encode_status(run.status)},
        line=run.line,
        levels=[name for name in program.level_names if name != "source"],
        previous=None if previous is None else {**programs.encode(previous.program), "trees": before},
    )

    def reply(_: Any, question: dict[str, Any], buffers: Any) -> None:
        shown.send({**answer(question, program, names), "number": question.get("number")})

    shown.on_msg(reply)
    return shown
