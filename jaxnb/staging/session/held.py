"""Who holds the memory of the devices, programs included: what `%jaxnb memory` shows, and what lets go of programs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jaxnb.reading import code_bytes
from jaxnb.runtime import objects_of
from jaxnb.staging.objects.live_buffers import Constants, HeldProgram, LiveBuffers, held_arrays, names_that_run
from jaxnb.staging.objects.release import CLEAR_CACHES, CLEAR_PROGRAMS
from jaxnb.staging.session.current import current_session
from jaxnb.staging.session.run import Run
from jaxnb.staging.trace.piece import Piece
from jaxnb.units import format_bytes

if TYPE_CHECKING:
    from jaxnb.staging.session.session import Session

__all__ = ["clear_programs", "memory"]

_WIDEST = 40
_TRACED = "a function that JAX has traced"


def memory(namespace: Mapping[str, Any] | None = None, session: Session | None = None) -> LiveBuffers:
    """Looks up who holds each live array, and what the loaded programs take.

    Args:
      namespace: the names to begin with; None stands for those of the running IPython shell.
      session: whose programs are told apart from JAX's; None stands for the one that `jaxnb.stage` uses.

    Returns:
      The arrays on the devices of this process with the paths that lead to each, and the executables that JAX keeps
      loaded there, each with what lets go of it.

    Raises:
      JaxnbError: if no namespace is given and no shell runs.
    """
    namespace = names_that_run() if namespace is None else namespace
    session = current_session() if session is None else session
    kept, label = (list(session.programs()), session.file_label) if session is not None else ([], str)
    constants: dict[str, Constants] = {}
    for piece in kept:
        own = constants.setdefault(f"program of {_title(piece, label)}", Constants([], CLEAR_PROGRAMS))
        own.arrays.extend(piece.jaxpr.consts)
    known = {id(value) for held in constants.values() for value in held.arrays}
    constants[_TRACED] = Constants([value for value in _traced_constants() if id(value) not in known], CLEAR_CACHES)
    arrays = held_arrays(namespace, constants)
    programs = sorted(_programs(kept, namespace, label), key=lambda program: -program.bytes)
    return LiveBuffers(arrays, tuple(programs))


def clear_programs(session: Session | None = None) -> str:
    """Lets go of the programs of all cells, and says how many there were."""
    session = current_session() if session is None else session
    kept = session.programs() if session is not None else ()
    known = {id(piece.compiled.runtime_executable()) for piece in kept if piece.compiled is not None}
    before = sum(code_bytes(executable) for executable in _executables() if id(executable) in known)
    if session is not None:
        session.clear()
    gc.collect()
    count = len(known)
    size = f" with {format_bytes(before)} of code and constants" if before else ""
    return f"let go of {count} program{'' if count == 1 else 's'}{size}: cells are compiled anew"


def _traced_constants() -> Iterator[Any]:
    """The constants of all jaxprs that are alive: JAX's caches, which hold most of them, cannot be asked."""
    from jax.extend.core import ClosedJaxpr

    for value in objects_of(lambda kind: issubclass(kind, ClosedJaxpr)):
        yield from value.consts


def _executables() -> list[Any]:
    """What JAX keeps loaded on the devices that it has started."""
    from jax.extend.backend import backends

    # `live_executables` is a method of the public clients; nothing else tells of them.
    return [executable for client in backends().values() for executable in client.live_executables()]


def _programs(kept: list[Piece], namespace: Mapping[str, Any], label: Callable[[str], str]) -> Iterator[HeldProgram]:
    cells = {id(piece.compiled.runtime_executable()): piece for piece in kept if piece.compiled is not None}
    shown = {id(piece.compiled.runtime_executable()): piece for piece in _pieces_alive() if piece.compiled is not None}
    bound = _bound(namespace)
    for executable in _executables():
        size = code_bytes(executable)
        if (piece := cells.get(id(executable))) is not None:
            yield HeldProgram(size, _title(piece, label), True, CLEAR_PROGRAMS)
        elif (piece := shown.get(id(executable))) is not None:
            # The cell has another program by now: a run that somebody holds, or an output, can still be asked about it.
            names = _runs_of(piece, namespace)
            release = "; ".join([*([f"del {', '.join(names)}"] if names else []), CLEAR_PROGRAMS])
            yield HeldProgram(size, _title(piece, label), False, release)
        elif (name := bound.get(id(executable))) is not None:
            yield HeldProgram(size, name, False, f"del {name}")
        else:
            modules = executable.hlo_modules() if size else ()  # what takes nothing needs no name
            called = modules[0].name.removeprefix("jit_") if modules else ""
            yield HeldProgram(size, f"jax.jit({called})", False, CLEAR_CACHES)


def _bound(namespace: Mapping[str, Any]) -> dict[int, str]:
    """The names of functions that somebody compiled ahead, by the ids of their executables."""
    import jax

    found: dict[int, str] = {}
    for name, value in namespace.items():
        if isinstance(value, jax.stages.Compiled) and not name.startswith("_"):
            found.setdefault(id(value.runtime_executable()), name)
    return found


def _pieces_alive() -> list[Piece]:
    return objects_of(lambda kind: kind is Piece)


def _runs_of(piece: Piece, namespace: Mapping[str, Any]) -> list[str]:
    """The names of runs that can be asked about a program."""
    found: list[str] = []
    for name, value in namespace.items():
        # A run that was timed tells nothing of its pieces.
        if type(value) is Run and (value.served is None or piece in value.served.pieces) and not name.startswith("_"):
            found.append(name)
    return found


def _title(piece: Piece, label: Callable[[str], str]) -> str:
    """What a program of a cell is called: the cell, and the first of its lines."""
    cell = piece.cell
    if cell is None:
        return "program of a cell"
    statements = piece.plan.statements_of(cell)
    line = statements[0].span.line if statements else 1
    text = cell.shown.split("\n")[line - 1].strip() if line <= cell.shown.count("\n") + 1 else ""
    text = text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."
    return f"{label(cell.filename)}, line {line}: {text}"
