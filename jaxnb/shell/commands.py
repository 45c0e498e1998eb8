"""What `%jaxnb SUBCOMMAND` does: each is a function here or in `health.py`, and the magic prints what it returns."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jaxnb.shell as room
from jaxnb import findings, staging, views
from jaxnb.api import open_session
from jaxnb.errors import BadHeader, JaxnbError
from jaxnb.findings import leaks, retraces
from jaxnb.program import Peaks, finding_of
from jaxnb.shell.health import doctor
from jaxnb.shell.journal import Journal
from jaxnb.shell.progress import Progress
from jaxnb.staging import backend_started, names_of_shell
from jaxnb.units import format_bytes, format_flops
from jaxnb.views import Head, Table, table_lines

__all__ = ["COMMANDS", "Command", "DeviceList", "DeviceRow", "auto", "devices", "help_text", "run_command"]


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand of `%jaxnb`.

    Attributes:
      summary: what it does, in one line.
      run: called with the shell and the word behind it, which is "" or one of `words`, and returns a text, or what
        shows itself.
      words: what may stand behind it.
      free: what else may stand behind it, as `help` writes it; then `run` gets all of it, and reads it itself.
    """

    summary: str
    run: Callable[[Any, str], Any]
    words: tuple[str, ...] = ()
    free: str = ""


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device. `memory` is the bytes in use and the bytes that there are, each None where it is not known."""

    name: str
    kind: str
    process: int
    memory: tuple[int | None, int | None]
    default: bool


@dataclass(frozen=True, slots=True)
class DeviceList:
    """The devices that JAX sees; its text is what `%jaxnb devices` prints.

    Attributes:
      rows: the devices, those of the default backend first.
      started: whether looking for them started the backend.
      peaks: what the default device was measured to do at most, if that was asked for.
    """

    rows: tuple[DeviceRow, ...]
    started: bool
    peaks: Peaks | None = None

    def __str__(self) -> str:
        rows = tuple(
            (row.name, row.kind, str(row.process), _memory_text(row.memory), "default" if row.default else "")
            for row in self.rows
        )
        lines = table_lines(Table((*map(Head, ("device", "kind", "process", "memory", "")),), rows))
        told = [*lines, *(["", "this started the backend"] if self.started else [])]
        return "\n".join([*told, "", *_peaks_lines(self.peaks)] if self.peaks is not None else told)

    __repr__ = __str__


def devices(measure: bool = False) -> DeviceList:
    """Lists the devices that JAX sees. Starts the backend if it has not started yet, and says so.

    Args:
      measure: whether to measure what the default device can do at most, which takes some seconds. It is kept in the
        user's cache folder, and from then on the costs of timed cells say what they achieve of it.

    Raises:
      RuntimeError: JAX's own, if no backend can be started.
    """
    import jax
    from jax.extend.backend import backends

    started = not backend_started()
    default = _default_device()
    own = jax.devices()
    found = [*own]
    for name in backends():
        found += [device for device in jax.devices(name) if device not in found]
    peaks = staging.measure_peaks(default) if measure else None
    return DeviceList(tuple(_row(device, device == default) for device in found), started, peaks)


def _peaks_lines(peaks: Peaks) -> list[str]:
    rows = [(f"products of {dtype}", f"{format_flops(rate)}/s") for dtype, rate in peaks.products]
    rows.append(("memory, read and written", f"{format_bytes(int(peaks.bandwidth))}/s"))
    heads = Head(f"measured at most on {peaks.device}"), Head("", "number")
    return table_lines(Table(heads, tuple(rows)))


def auto(on: bool | None = None, shell: Any = None) -> bool:
    """Switches on or off that every plain cell which computes with JAX is staged.

    While it is on, these run as they would without jaxnb: cells that have nothing to do with JAX; cells with a magic or
    a shell line (`%%capture` runs its body as a cell of its own, and that is staged), a syntax error, or `await` or
    `yield` at top level; and cells whose first line is `# jaxnb: off`. A cell that `%%jit` would refuse is run plainly,
    and one line says why; text that it had printed before it was refused then appears twice. So that nothing else is
    done twice, a cell is left to Python, with a line that says so, if it does something that cannot be undone (reads an
    iterator or a file, draws from a random state of Python or NumPy) before the last statement that has to do with JAX,
    or in it. An error in a staged cell undoes what the cell did.

    Args:
      on: True or False; None changes nothing.
      shell: the IPython shell; None stands for the one that is running.

    Returns:
      Whether it is on now.

    Raises:
      JaxnbError: if the extension is not loaded.
    """
    if shell is None:
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
    magics = getattr(shell, "_jaxnb_magics", None)
    if magics is None:
        raise JaxnbError("the extension is not loaded.", fix="run %load_ext jaxnb in IPython.")
    if on is not None:
        magics.settings.auto = on
    return magics.settings.auto


def help_text() -> str:
    """What `%jaxnb help` prints: the subcommands, and where to read on."""
    behind = {name: "|".join(filter(None, [command.free, *command.words])) for name, command in COMMANDS.items()}
    rows = tuple((f"%jaxnb {name} {behind[name]}".rstrip(), command.summary) for name, command in COMMANDS.items())
    lines = table_lines(Table((Head(), Head()), rows))
    more = [
        "%%jit?, %%grad?, %%xmap? and %%jaxpr? explain the magics; %config JaxNB lists the settings.",
        "A cell whose first line is `# jaxnb: jit --static n` is staged as by %%jit --static n.",
    ]
    return "\n".join([*lines, "", *more])


def _promote(shell: Any, rest: str) -> Any:
    names, words = shell.user_ns, rest.replace(",", " ").split()
    return findings.promote(*(names[word] if _has_dtype(names.get(word)) else word for word in words))


def _has_dtype(value: Any) -> bool:
    """Whether a word that names this means it, and not a dtype: arrays, numbers."""
    return (hasattr(value, "dtype") and hasattr(value, "shape")) or type(value) in (bool, int, float, complex)


def run_command(line: str, shell: Any) -> Any:
    """Runs a subcommand and returns what is to be shown: a text, or what shows itself and has a text.

    Args:
      line: the text behind `%jaxnb`; nothing at all asks for help.
      shell: the IPython shell.

    Raises:
      BadHeader: pointing at the word that is wrong, with what there is instead.
      JaxnbError: what the subcommand raises.
    """
    words = line.split()
    if not words:
        return help_text()
    command = COMMANDS.get(words[0])
    if command is None:
        raise _bad(line, words[0], f"there is no subcommand {words[0]!r}.", tuple(COMMANDS))
    if command.free:
        return command.run(shell, line.strip().removeprefix(words[0]).strip())
    for word in words[1:]:
        if word not in command.words:
            what = f"{words[0]} does not take {word!r}."
            raise _bad(line, word, what, command.words)
    if len(words) > 2:
        raise _bad(line, words[2], f"{words[0]} takes one word.", command.words)
    return command.run(shell, words[1] if len(words) == 2 else "")


def _bad(line: str, word: str, what: str, there_are: tuple[str, ...]) -> BadHeader:
    header = f"%jaxnb {line.strip()}"
    close = difflib.get_close_matches(word, there_are, n=1)
    listed = f"there {'is' if len(there_are) == 1 else 'are'} {', '.join(there_are)}." if there_are else ""
    fix = f"did you mean {close[0]}? {listed}" if close else listed or "leave it out."
    return BadHeader(what, header=header, column=header.rindex(word), width=len(word), fix=fix)


def _auto(shell: Any, word: str) -> str:
    if auto(None if not word else word == "on", shell):
        return (
            "auto is on: plain cells that compute with jax are staged; `# jaxnb: off` as the first line leaves one out"
        )
    return "auto is off: cells are staged by %%jit or by `# jaxnb: jit` as their first line"


def _leaks(shell: Any, _: str) -> str:
    magics = getattr(shell, "_jaxnb_magics", None)
    return str(leaks(names_of_shell(shell), magics.label_of if magics is not None else str))


def _retraces(shell: Any, _: str) -> str:
    magics = getattr(shell, "_jaxnb_magics", None)
    return str(retraces(magics.session if magics is not None else None))


def _try(shell: Any, _: str) -> str:
    """What helps against the last error, tried for as long as it takes."""
    error = getattr(sys, "last_value", None)
    told = finding_of(error) if error is not None else None
    if error is None or told is None:
        return "there is no error that was explained"
    findings.try_fixes(error, names_of_shell(shell))
    finding, source = told
    if (after := finding_of(error)) is not None and after[0] != finding:
        return views.render_findings([after[0]], source=source)
    if finding.fix is not None and finding.fix.verified:
        return "the fix of the last error was tried when that was explained: it works"
    return "there is nothing left to try against the last error"


def _session(shell: Any, _: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    return (magics.journal if magics is not None else Journal()).report()


def _memory(shell: Any, word: str) -> str:
    magics = getattr(shell, "_jaxnb_magics", None)
    if word:
        return magics.clear_programs() if magics is not None else staging.clear_programs()
    return str(staging.memory(names_of_shell(shell), magics.session if magics is not None else None))


def _mesh(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    return room.set_mesh(magics.session if magics is not None else open_session(), text)


def _cluster(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    progress = Progress(shell)
    try:
        session = magics.session if magics is not None else open_session()
        return room.cluster_command(text, session, shell.user_ns, progress)
    finally:
        progress.silence()


def _target(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    return room.set_target(magics.session if magics is not None else open_session(), text)


def _targets(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    last = magics.session.last if magics is not None else None
    if last is None or not text:
        what = "no cell has run yet." if last is None else "%jaxnb targets wants machines to compare."
        raise JaxnbError(what, fix="run a cell under %%jit, then %jaxnb targets v5e:4x4 v6e:4x4.")
    progress = Progress(shell)
    try:
        return last.targets(*text.replace(",", " ").split(), progress=progress)
    finally:
        progress.silence()


def _sharding(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    progress = Progress(shell)
    try:
        last = magics.session.last if magics is not None else None
        return room.sharding_command(text, names_of_shell(shell), last, progress)
    finally:
        progress.silence()


def _collectives(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    return room.collectives_command(text, magics.session.last if magics is not None else None)


def _timeline(shell: Any, _: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    return room.timeline_command(magics.session.last if magics is not None else None)


def _remat(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    progress = Progress(shell)
    try:
        return room.remat_command(text, magics.session.last if magics is not None else None, progress)
    finally:
        progress.silence()


def _gradient(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    return room.gradient_command(text, magics.session.last if magics is not None else None)


def _axes(shell: Any, _: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    return room.axes_command(magics.session.last if magics is not None else None)


def _kernels(shell: Any, _: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    return room.kernels_command(magics.session.last if magics is not None else None)


def _ptx(shell: Any, text: str) -> Any:
    magics = getattr(shell, "_jaxnb_magics", None)
    progress = Progress(shell)
    progress("compiling once more")
    try:
        return room.ptx_command(text, magics.session.last if magics is not None else None)
    finally:
        progress.silence()


COMMANDS: Mapping[str, Command] = {
    "session": Command(
        "all staged cells at a glance: what was traced again, what ran in Python, what each costs", _session
    ),
    "doctor": Command("what is installed, loaded and set, and what is known to go wrong", lambda s, _: str(doctor(s))),
    "devices": Command(
        "the devices, their memory, and which is the default; --measure: what that can do at most",
        lambda _, word: str(devices(measure=bool(word))),
        ("--measure",),
    ),
    "mesh": Command(
        "the mesh of all cells from now on; alone, which it is",
        _mesh,
        ("off",),
        "x=4, y=2 [--simulate [--hardware h100]] [--target v5e:4x4] [--devices 8] [--explicit]",
    ),
    "target": Command(
        "a machine that is not there: cells are compiled by its own compiler, and not run; alone, which there are",
        _target,
        ("off",),
        "v5e:4x4",
    ),
    "targets": Command(
        "the last cell on machines that are not there, side by side: memory, times, what is sent",
        _targets,
        free="v5e:4x4 h100",
    ),
    "cluster": Command(
        "processes, here or elsewhere, that run cells together; alone, how they are",
        _cluster,
        ("status", "restart", "use", "off", "stop"),
        "start -n 2 --devices 4, attach, checkpoint DIR --every 10m, restore",
    ),
    "sharding": Command("which piece of it is on which device; alone, of the last run", _sharding, free="params"),
    "collectives": Command("what devices sent one another in the last run, and why", _collectives, free="--on h100"),
    "timeline": Command("of the last cell for a target: what a device computes and sends, side by side", _timeline),
    "axes": Command("the named axes of the last run as strands: where each ends, where values meet", _axes),
    "kernels": Command(
        "kernels of Pallas in the last run: what each step of their grids reads and writes, and what that moves",
        _kernels,
    ),
    "ptx": Command(
        "the kernels of a fusion or a line of the last cell for a GPU target; alone, what it launches",
        _ptx,
        free="FUSION, or a line",
    ),
    "promote": Command("which dtype comes of several that meet, and why", _promote, free="bfloat16 int32 weak-float"),
    "gradient": Command(
        "what is differentiated, by equation: known ahead, tangent, transposed; alone, in the last run",
        _gradient,
        free="loss wrt params",
    ),
    "remat": Command(
        "what a gradient would take if it kept less for its backward pass, by policies; alone, that of the last run",
        _remat,
        free="loss wrt params [--time]",
    ),
    "memory": Command(
        "who holds memory, and how to let go of it; clear: let go of the programs of all cells", _memory, ("clear",)
    ),
    "leaks": Command("the tracers that something still holds, and where they were made", _leaks),
    "retraces": Command("what was traced, how often and why, and what to do about it", _retraces),
    "try": Command("fixes of the last error that there was no time to try", _try),
    "auto": Command("whether every plain cell that computes with jax is staged", _auto, ("on", "off")),
    "help": Command("this list", lambda _, __: help_text()),
}
"""The subcommands, in the order of the help."""


def _default_device() -> Any:
    import jax

    default: Any = jax.config.jax_default_device  # type: ignore[attr-defined]
    if default is None:
        return jax.local_devices()[0]
    return jax.local_devices(backend=default)[0] if isinstance(default, str) else default


def _row(device: Any, default: bool) -> DeviceRow:
    memory: tuple[int | None, int | None] = (None, None)
    if device.process_index == _this_process():
        stats = device.memory_stats() or {}
        memory = (stats.get("bytes_in_use"), stats.get("bytes_limit"))
    return DeviceRow(_name(device), device.device_kind, device.process_index, memory, default)


def _name(device: Any) -> str:
    """What `--device` takes: the platform, and the place among its devices."""
    import jax

    return f"{device.platform}:{jax.devices(device.platform).index(device)}"


def _this_process() -> int:
    import jax

    return jax.process_index()


def _memory_text(memory: tuple[int | None, int | None]) -> str:
    used, limit = memory
    if used is None and limit is None:
        return "not reported"
    if limit is None or used is None:
        return f"{format_bytes(used)} in use" if used is not None else f"of {format_bytes(limit or 0)}"
    return f"{format_bytes(used)} of {format_bytes(limit)}"
