"""Running a notebook's cells in a kernel of this very interpreter.

Whatever kernels are installed, none is looked up: the one called "python3" may be another environment's. The
kernel is reached through files rather than ports, so that it needs no network, not even a loopback, and
nobody else can connect.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import jaxnb
from jaxnb import program
from jaxnb.errors import JaxnbError
from jaxnb.program import MIME_TYPE
from jaxnb.shell.reports.notebook import (
    INTERRUPTED,
    KERNEL_DIED,
    TIMED_OUT,
    Cell,
    code_cells,
    error_line,
    first_line,
    is_staged,
    needs_lab,
    read_cell,
)

__all__ = [
    "Ask",
    "CellFailed",
    "Progress",
    "complete_programs",
    "describe_devices",
    "execute_notebook",
    "last_program",
    "no_questions",
]

_TICK = 0.1  # seconds between two calls of `Progress.tick`
_ASK_SECONDS = 20  # how long the kernel may take to answer a question
_GRACE = 5  # seconds that a cell has to end once it was interrupted


class CellFailed(JaxnbError):
    """A cell raised, took too long, or took the kernel with it; the cells behind it did not run.

    Args:
      traceback: as IPython shows it, with its colours; "" where there is none.
    """

    def __init__(self, what: str, *, why: str = "", fix: str = "", traceback: str = "") -> None:
        super().__init__(what, why=why, fix=fix)
        self.traceback = traceback


class Progress(Protocol):
    """Is told what goes on while a notebook runs."""

    def begin(self, cell: Cell) -> None:
        """A cell begins."""
        ...

    def tick(self) -> None:
        """Some time has passed."""
        ...

    def end(self, cell: Cell) -> None:
        """The cell has ended; now it has its line, or its error."""
        ...


class Ask(Protocol):
    """Asks the kernel."""

    async def __call__(self, call: str, module: str = __name__) -> str:
        """What a function of a module says in the kernel; "" if it fails, or cannot be imported there."""
        ...


async def complete_programs(ask: Ask, node: Any) -> None:
    """Gets the programs that were too large to be saved in a notebook; a page has room for them."""
    for output in node.outputs:
        if is_staged(output) and MIME_TYPE not in output.data:
            line = first_line(output.data["text/plain"])
            if answer := await ask(f"last_program({node.source!r}, {line!r})"):
                output.data[MIME_TYPE] = json.loads(answer)


async def no_questions(ask: Ask) -> None:
    """Asks nothing before the first cell."""


async def execute_notebook(
    nb: Any,
    path: Path,
    *,
    progress: Progress,
    keep_going: bool = False,
    timeout: int | None = None,
    before: Callable[[Ask], Awaitable[None]] = no_questions,
    after_cell: Callable[[Ask, Any], Awaitable[None]] = complete_programs,
) -> str:
    """Runs the code cells in the notebook's folder and puts their outputs into `nb`.

    Whenever it ends, `nb` holds the outputs of the cells that ran and of no other; of a cell that did not end, the
    last output is an error that says why.

    Args:
      nb: a notebook as nbformat 4 has it.
      path: the file it came from; it is not touched.
      progress: is told what goes on.
      keep_going: whether a cell may fail without ending it all.
      timeout: seconds that one cell may take, None for any time.
      before: what the kernel is asked before the first cell.
      after_cell: what it is asked after each cell that ended, of which the node of the notebook is given.

    Returns:
      What `describe_devices` says in the kernel, "" if it cannot.

    Raises:
      CellFailed: if a cell fails and `keep_going` is not set, or if the kernel dies.
      asyncio.CancelledError: if it is cancelled, as `asyncio.run` does at Ctrl-C.
    """
    try:
        from nbclient import NotebookClient
    except ImportError as error:
        raise needs_lab(error) from error

    cells = code_cells(nb)
    for _, index in cells:
        nb.cells[index].update(outputs=[], execution_count=None)
        nb.cells[index].metadata.pop("execution", None)
    with tempfile.TemporaryDirectory(prefix="jaxnb-") as folder:
        client = NotebookClient(
            nb,
            km=_kernel_manager(folder),
            timeout=timeout,
            allow_errors=keep_going,
            interrupt_on_timeout=keep_going,
            coalesce_streams=True,
            resources={"metadata": {"path": str(path.resolve().parent)}},
        )
        async with _kernel(client), _ticking(progress):
            ask = partial(_ask, client.kc)
            await before(ask)
            for cell, index in cells:
                progress.begin(cell)
                node = nb.cells[index]
                await _run_cell(client, node, index, f"cell [{cell.number}] of {path.name}")
                await after_cell(ask, node)
                progress.end(read_cell(node, cell))
            return await ask("describe_devices()")


async def _run_cell(client: Any, node: Any, index: int, name: str) -> None:
    """Runs one cell, and turns everything that can go wrong into a `CellFailed`."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    limit, start = client.timeout, time.monotonic()
    # A cell need not end when it is interrupted, and nbclient would wait for it for ever.
    async with asyncio.timeout(None if limit is None else limit + _GRACE) as last_call:
        try:
            await client.async_execute_cell(node, index)
            if limit is not None and time.monotonic() >= start + limit:
                _explain_interrupt(node, limit)
        except CellExecutionError as error:
            traceback = next((output.traceback for output in node.outputs if output.output_type == "error"), [])
            if not error_line(node):  # IPython writes that of a magic it does not understand to stderr alone
                _say_in(node, str(error.ename), str(error.evalue))
            raise CellFailed(
                f"{name} raised {error_line(node)}",
                fix="--keep-going runs the cells behind it all the same.",
                traceback="\n".join(traceback),
            ) from None
        except (CellTimeoutError, DeadKernelError) as error:
            task = asyncio.current_task()
            if last_call.expired() or isinstance(error, CellTimeoutError):
                _say_in(node, TIMED_OUT, f"the cell did not end within {limit} s.")
                raise CellFailed(
                    f"{name} did not end within {limit} s.",
                    why="--timeout says how long a cell may take"
                    + ("." if isinstance(error, CellTimeoutError) else ", and it did not stop when interrupted."),
                    fix="give it more time.",
                ) from None
            if task is not None and task.cancelling():  # which nbclient takes for a dead kernel
                _say_in(node, INTERRUPTED, "the report was interrupted while the cell ran.")
                raise asyncio.CancelledError from None
            _say_in(node, KERNEL_DIED, "the kernel died in this cell.")
            raise CellFailed(
                f"the kernel died in {name}.", why="it crashed, was killed, or ran out of memory."
            ) from None


def _explain_interrupt(node: Any, limit: int) -> None:
    """Says of an interrupt that nobody asked for why it came."""
    for output in node.outputs:
        if output.output_type == "error" and output.ename == "KeyboardInterrupt":
            output.evalue = f"the cell did not end within {limit} s."


def _say_in(node: Any, name: str, what: str) -> None:
    """Says under a cell why it did not end."""
    from nbformat.v4 import new_output

    node.outputs.append(new_output("error", ename=name, evalue=what, traceback=[]))


def _kernel_manager(folder: str) -> Any:
    """A manager whose one kernel is IPython's in this interpreter, with its sockets in `folder`."""
    try:
        import ipykernel  # noqa: F401  # pyright: ignore[reportUnusedImport]
        from jupyter_client.jsonutil import extract_dates
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import AsyncKernelManager
        from jupyter_client.session import Session
    except ImportError as error:
        raise needs_lab(error) from error

    class Dated(Session):
        """Reads the times of messages whatever else this process has loaded: ipyparallel leaves them text, for all."""

        def deserialize(self, *args: Any, **kwargs: Any) -> Any:
            message = super().deserialize(*args, **kwargs)
            return message | {key: extract_dates(message[key]) for key in ("header", "parent_header")}

    manager: Any = AsyncKernelManager(
        kernel_name="python3",
        session=Dated(),
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),  # where none is installed, it is this interpreter's
        transport="tcp" if os.name == "nt" else "ipc",
    )
    # Without frozen modules, or the debugger that ipykernel loads warns about them.
    manager.kernel_spec.argv[1:1] = ["-X", "frozen_modules=off"]
    manager.connection_file = os.path.join(folder, "kernel.json")
    return manager


@contextlib.asynccontextmanager
async def _kernel(client: Any) -> AsyncGenerator[None, None]:
    """Starts the kernel and ends it; in a hurry if something went wrong, because it may be busy for long."""
    manager, hurry = client.km, True
    try:
        try:
            await client.async_start_new_kernel()
            await client.async_start_new_kernel_client()
        except (OSError, RuntimeError) as error:
            raise CellFailed("the kernel did not start.", why=f"{error}.") from error
        yield
        hurry = False
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        if await manager.is_alive():
            if hurry:
                await manager.shutdown_kernel(now=True)
            else:  # without the interrupt that `shutdown_kernel` begins with, of which the kernel would tell
                await manager.request_shutdown()
                await manager.finish_shutdown()
        await manager.cleanup_resources()


@contextlib.asynccontextmanager
async def _ticking(progress: Progress) -> AsyncGenerator[None, None]:
    async def tick() -> None:
        while True:
            await asyncio.sleep(_TICK)
            progress.tick()

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()


async def _ask(client: Any, call: str, module: str = __name__) -> str:
    """What a function of a module says in the kernel; "" if it fails, or cannot be imported there."""
    expression = f"__import__('importlib').import_module({module!r}).{call}"
    try:
        reply = await client.execute(
            "", silent=True, user_expressions={"answer": expression}, reply=True, timeout=_ASK_SECONDS
        )
    except TimeoutError:
        return ""
    answer = reply["content"].get("user_expressions", {}).get("answer", {})
    return str(ast.literal_eval(answer["data"]["text/plain"])) if answer.get("status") == "ok" else ""


# --- what the kernel is asked ---


def describe_devices() -> str:
    """The devices of this process's JAX, such as "cpu" or "4 × gpu (NVIDIA H200)"; "" without JAX."""
    if "jax" not in sys.modules:
        return ""
    import jax

    first, count = jax.devices()[0], jax.device_count()
    kind = "" if first.device_kind == first.platform else f" ({first.device_kind})"
    return (f"{count} × " if count > 1 else "") + first.platform + kind


def last_program(source: str, line: str) -> str:
    """The program of the last staged run as JSON; "" if that was not of this cell, and its line is another too."""
    run = jaxnb.last()
    run.program.layout()  # is saved with it
    of_this_cell = run.program.source.strip() == source.strip()
    if not of_this_cell and run.line != line:
        return ""
    return json.dumps({**program.encode(run.program), "status": program.encode_status(run.status)})
