"""What an inspector in the notebook asks of the kernel: levels that were not saved, and a look at a value.

The output under a cell names its program by an id. Of the last few programs the kernel still knows which is meant;
for an older one, or after a restart, the inspector is told to have the cell run again. Each question comes on a comm of
its own, and its answer closes it.
"""

from __future__ import annotations

import secrets
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jaxnb import program as programs, views
from jaxnb.errors import JaxnbError
from jaxnb.program import LEVELS, Program
from jaxnb.staging import Run

__all__ = ["TARGET", "Inspectors", "answer", "wants_script"]

TARGET = "jaxnb.inspector"
_MOST_KEPT = 16
_LONGEST_TEXT = 4000


class Inspectors:
    """The programs that inspectors of one shell may ask about.

    Args:
      shell: in which comms arrive and names are looked up. One without a kernel, such as a terminal, asks nothing.
      most: how many programs are kept; each keeps what its further levels are made of.
    """

    def __init__(self, shell: Any, most: int = _MOST_KEPT) -> None:
        self._shell = shell
        self._most = most
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self._drawn: OrderedDict[str, tuple[Program, Program | None]] = OrderedDict()

    def enter(self) -> None:
        """Begins to listen."""
        manager = _comms_of(self._shell)
        if manager is not None:
            manager.register_target(TARGET, self._opened)

    def leave(self) -> None:
        """Stops to listen, and forgets all programs."""
        self.forget()
        manager = _comms_of(self._shell)
        if manager is not None:
            manager.unregister_target(TARGET, self._opened)

    def forget(self) -> None:
        """Forgets all programs: outputs that ask for more are told to have their cell run again."""
        self._asked.clear()
        self._drawn.clear()

    def metadata(self, run: Run) -> dict[str, Any]:
        """The metadata of an output that shows a run: an id, and the levels that can be asked for.

        What makes the run's program is kept for the questions that come back, and none of the values that it bound. No
        program is read for this: a cell that is run again and again is not looked at each time.
        """
        make = run.later.make_nameless or run.later.make_program
        if make is None or not (run.pieces or run.shown.as_text):
            return {}
        served = run.served
        same = (key for key, asked in self._asked.items() if served is not None and asked.served is served)
        found = next(same, None) or secrets.token_hex(8)
        if found not in self._asked:
            self._asked[found] = _Asked(make, served)
        self._asked.move_to_end(found)
        while len(self._asked) > self._most:
            self._asked.popitem(last=False)
        return {programs.MIME_TYPE: {"program": found, "levels": list(LEVELS[1:])}}

    def previous(self, run: Run, cell_id: str | None) -> Program | None:
        """What a cell was before it became what it is now, for an output that draws itself; None if nothing is known.

        Args:
          run: of the cell, whose program is kept until another one takes its place.
          cell_id: as the front end told it.
        """
        if cell_id is None or not run.pieces:
            return None
        program = run.program
        now, before = self._drawn.pop(cell_id, (None, None))
        self._drawn[cell_id] = program, before if now == program else now
        while len(self._drawn) > self._most:
            self._drawn.popitem(last=False)
        return self._drawn[cell_id][1]

    def _opened(self, comm: Any, message: Mapping[str, Any]) -> None:
        question = message["content"]["data"]
        asked = self._asked.get(str(question.get("program")))
        if asked is None:
            comm.send({"error": "The kernel does not know this program any more: run the cell again."})
        else:
            comm.send(answer(question, asked.program(), self._shell.user_ns))


@dataclass(slots=True)
class _Asked:
    """A program that may be asked about: what makes it, and what the runs that share it were served by."""

    make: Callable[[], Program]
    served: object | None
    made: Program | None = None

    def program(self) -> Program:
        if self.made is None:
            self.made = self.make()
        return self.made


def answer(question: Mapping[str, Any], program: Program, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an inspector: data under "program", a value as "html" or "text", or an "error" in words.

    Args:
      question: `{"want": "level", "level": name}` or `{"want": "value", "name": name}`.
      program: that the inspector shows; the level is made if it was not yet.
      namespace: in which a name is looked up.

    >>> answer({"want": "level", "level": "hlo"}, Program("x"), {})["error"]
    "there is no level 'hlo' in this program; made so far: none"
    """
    try:
        if question.get("want") == "level":
            name = str(question.get("level"))
            program.level(name)
            if name == "hlo":
                program.memory()
            if "axis_name" in program.source:
                with suppress(JaxnbError):  # a cell that cannot be traced again has no diagram of its maps
                    program.vmapped()
            return {"program": views.encode_drawn(program)}
        if question.get("want") == "value":
            return _look(str(question.get("name")), namespace)
        return {"error": f"jaxnb does not know the question {question.get('want')!r}."}
    # Making a level runs the compiler, and looking at a value runs the user's code: whatever comes is shown as it is.
    except KeyError as error:
        return {"error": str(error.args[0]) if error.args else repr(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:_LONGEST_TEXT]}"}


def wants_script(setting: str, cell_id: str | None) -> bool:
    """Whether an output's HTML has to bring the inspector's script, because nothing in the front end draws the JSON.

    Args:
      setting: "static", "interactive", or "auto", which is interactive in VS Code and Colab.
      cell_id: as the front end told it; VS Code's are URIs.

    >>> wants_script("auto", "vscode-notebook-cell:/a.ipynb#W0")
    True
    """
    if setting != "auto":
        return setting == "interactive"
    return str(cell_id).startswith("vscode-notebook-cell:") or "google.colab" in sys.modules


def _look(name: str, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """A value as treescope's page, if it is installed, or as text."""
    if name not in namespace:
        return {"error": f"{name} is not bound now."}
    value = namespace[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what treescope is told of its imports is not for who looks at a value
        try:
            import treescope  # pyright: ignore[reportMissingImports]
        except ImportError:
            text = repr(value)
            return {"text": text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"}
        return {"html": treescope.render_to_html(value)}


def _comms_of(shell: Any) -> Any:
    """The kernel's comm manager, or None where there is no kernel."""
    return getattr(getattr(shell, "kernel", None), "comm_manager", None)
