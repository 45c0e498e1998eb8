"""What JAX's profiler recorded of instructions: how long which of them were running.

XLA names the instruction and its module in each event: on a CPU on the threads that ran it, on a GPU on the streams of
the device. Events of one thread that lie inside each other are those of a loop and of what it runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import jax

__all__ = ["Event", "read_profile", "running_together"]


class Event(NamedTuple):
    """An instruction that ran.

    Attributes:
      thread: where it ran: the name of a plane and a line of the profile.
      start: nanoseconds from some moment on.
      end: likewise.
      name: of the instruction.
    """

    thread: tuple[str, str]
    start: float
    end: float
    name: str


def read_profile(path: Path, modules: Collection[str]) -> list[Event]:
    """The instructions of some modules in a profile.

    Args:
      path: of a file `*.xplane.pb`.
      modules: their names, such as "jit_cell".
    """
    events: list[Event] = []
    with warnings.catch_warnings():
        # A type of the profiler's bindings does not say which module it is in, which Python 3.13 deprecates.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        planes = list(jax.profiler.ProfileData.from_file(str(path)).planes)
        devices = [plane for plane in planes if plane.name.startswith("/device:")]
        hosts = [plane for plane in planes if not plane.name.startswith("/device:")]
        # Where a device has events of its own, those of the host are of what started its kernels.
        for some in (devices, hosts):
            for plane in some:
                events.extend(_read_plane(plane, modules))
            if events:
                break
    return events


def _read_plane(plane: Any, modules: Collection[str]) -> Iterable[Event]:
    lines = list(plane.lines)
    # The other lines of a device say the same again, by step or by module.
    streams = [line for line in lines if line.name.startswith("Stream")] or lines
    for line in streams:
        thread = (plane.name, line.name)
        for event in line.events:
            if event.duration_ns <= 0 or event.name.startswith("end: "):
                continue
            module = instruction = None
            for key, value in event.stats:
                if key == "hlo_op":
                    instruction = value
                elif key == "hlo_module":
                    module = value
                if instruction is not None and module is not None:
                    break
            if instruction is not None and module in modules:
                yield Event(thread, event.start_ns, event.start_ns + event.duration_ns, str(instruction))


def running_together(events: Iterable[Event]) -> dict[tuple[str, ...], float]:
    """For how many seconds which instructions, and no others, were running: the innermost of each thread.

    >>> thread = ("host", "worker")
    >>> running_together([Event(thread, 0, 5e9, "while"), Event(thread, 1e9, 4e9, "dot")])
    {('while',): 2.0, ('dot',): 3.0}
    """
    threads: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        threads.setdefault(event.thread, []).append(event)
    changes: list[tuple[float, int, str]] = []
    for number, own in enumerate(threads.values()):
        changes.extend((at, number, name) for at, name in _innermost(own))
    changes.sort(key=lambda change: change[0])
    spent: dict[tuple[str, ...], float] = {}
    active: dict[int, str] = {}
    last = 0.0
    for at, number, name in changes:
        if active and at > last:
            key = tuple(sorted(set(active.values())))
            spent[key] = spent.get(key, 0.0) + (at - last) / 1e9
        if name:
            active[number] = name
        else:
            active.pop(number, None)
        last = at
    return spent


def _innermost(events: list[Event]) -> Iterable[tuple[float, str]]:
    """When which instruction becomes the innermost one of a thread; "" where none is running any more."""
    stack: list[Event] = []
    for event in sorted(events, key=lambda event: (event.start, -event.end)):
        while stack and stack[-1].end <= event.start:
            done = stack.pop()
            yield done.end, stack[-1].name if stack else ""
        stack.append(event)
        yield event.start, event.name
    while stack:
        done = stack.pop()
        yield done.end, stack[-1].name if stack else ""
