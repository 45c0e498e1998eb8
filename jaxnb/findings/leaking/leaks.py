"""Tracers that outlive the function that was traced: who holds them, and where they were made.

While a watch is on, a weak reference to each of JAX's traces is taken as it begins. A tracer keeps its trace alive, so
after a cell one look at these references says whether anything leaked; only then is the heap searched.
"""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any

from jaxnb import _jax, views
from jaxnb.findings.leaking.holder_text import holder_text, scope_of
from jaxnb.findings.leaking.roots import held_elsewhere
from jaxnb.findings.leaking.tracers import Began, advice, describe, is_dead, origin_of, running_traces
from jaxnb.findings.lints.hidden import hidden_reader
from jaxnb.program import Finding, Fix
from jaxnb.runtime import objects_of
from jaxnb.staging import Path, label_of, names_that_run, paths_to, root_name

__all__ = ["Leaks", "Watch", "explain_tracer", "find_leaks", "is_dead", "leaks", "watch"]

Label = Callable[[str], str]
"""What the user knows a file by, such as "Cell In[3]"."""


class Told:
    """What was said of which tracers, which are held weakly."""

    def __init__(self) -> None:
        self._findings: dict[int, tuple[weakref.ref[Any], Finding]] = {}

    def get(self, tracer: Any) -> Finding | None:
        """The finding that was told of a tracer."""
        known = self._findings.get(id(tracer))
        return known[1] if known is not None and known[0]() is tracer else None

    def add(self, tracer: Any, finding: Finding) -> None:
        """This was told of it."""
        key = id(tracer)
        self._findings[key] = (weakref.ref(tracer, lambda gone: self._drop(key, gone)), finding)

    def _drop(self, key: int, gone: weakref.ref[Any]) -> None:
        if key in self._findings and self._findings[key][0] is gone:
            del self._findings[key]


class Leaks:
    """Watches for tracers that are left behind; `check` after each cell.

    Args:
      label: what the user knows a file by.
    """

    def __init__(self, label: Label = str) -> None:
        self._label = label
        self._traces = _jax.TraceLog()
        self._told = Told()

    def start(self) -> None:
        """From now on traces are remembered, weakly."""
        self._traces.start()

    def stop(self) -> None:
        """No longer."""
        self._traces.stop()

    def check(self, namespace: Mapping[str, Any], here: str | None = None) -> list[Finding]:
        """What was left behind since the last check, each leak once; nothing is searched if no trace is alive.

        Args:
          namespace: where holders are looked for.
          here: the label of the cell that ran, whose lines findings may name as theirs.
        """
        if not self._traces.alive():
            return []
        gc.collect()
        running = running_traces()  # another thread may be tracing
        traces = {id(trace) for trace in self._traces.alive()} - running
        if not traces:
            return []
        found = find_leaks(
            namespace,
            self._label,
            lambda tracer: id(_jax.trace_of(tracer)) in traces,
            self._told,
            here,
            self._traces.began_at,
        )
        self._traces.forget(running)
        return found

    def explain_tracer(self, tracer: Any, namespace: Mapping[str, Any], here: str | None = None) -> Finding:
        """What there is to say of a tracer that is used after its trace has ended: what was told, if it was.

        Args:
          tracer: the one at hand.
          namespace: where its holder is looked for.
          here: the label of the cell that ran, whose lines the finding may name as its own.
        """
        return explain_tracer(tracer, namespace, self._label, here, self._told, self._traces.began_at)


def find_leaks(
    namespace: Mapping[str, Any],
    label: Label = str,
    wanted: Callable[[Any], bool] | None = None,
    told: Told | None = None,
    here: str | None = None,
    began: Began = lambda trace: None,
) -> list[Finding]:
    """The tracers that names lead to, one finding for each leak.

    Tracers that one line made for one holder, or that one frame, traceback or cache holds, are one leak.

    Args:
      namespace: where to begin; the modules of the user that are loaded are looked through as well.
      label: what the user knows a file by.
      wanted: which tracers count; those whose trace has ended if None.
      told: what was told already, to which what is found is added.
      here: the label of the cell whose lines findings may name as theirs.
      began: gives the place where a trace began, where that is known.
    """
    running = running_traces() if wanted is None else set[int]()
    wanted = wanted or (lambda tracer: id(_jax.trace_of(tracer)) not in running)
    told = Told() if told is None else told
    tracers = _live_tracers()
    groups: dict[Any, list[tuple[Any, Path]]] = {}
    # What a jaxpr has for constants, as solvers keep those of functions that they differentiated, nobody comes upon.
    for key, ways in _paths(namespace, tracers, _jax.JAXPRS).items():
        tracer, path = tracers[key], min(ways, key=_rank)
        if not wanted(tracer) or told.get(tracer) is not None:
            continue
        origin = origin_of(tracer, label, here, began)
        group = scope_of(path) or (_root(path), origin.place, describe(tracer).partition(" of ")[2])
        groups.setdefault(group, []).append((tracer, path))
    found: list[Finding] = []
    for leak in groups.values():
        leak.sort(key=lambda pair: _prominence(*pair))
        finding = _finding(leak, label, here, began)
        found.append(finding)
        for tracer, _ in leak:
            told.add(tracer, finding)
    return found


def _live_tracers() -> dict[int, Any]:
    return {id(item): item for item in objects_of(_jax.is_tracer_type)}


def _paths(
    namespace: Mapping[str, Any], tracers: Mapping[int, Any], closed: tuple[type, ...] = ()
) -> dict[int, list[Path]]:
    """The paths to tracers. None leads through another one: a tracer that leaked keeps those that it came from."""
    return paths_to(namespace, tracers, held_elsewhere(tracers), hidden_reader, closed)


def explain_tracer(
    tracer: Any,
    namespace: Mapping[str, Any],
    label: Label = str,
    here: str | None = None,
    told: Told | None = None,
    began: Began = lambda trace: None,
) -> Finding:
    """Describes a tracer whose trace has ended: who holds it, where it was made, and what to do instead.

    Args:
      tracer: the one at hand.
      namespace: where its holder is looked for.
      label: what the user knows a file by.
      here: the label of the cell that ran, whose lines the finding may name as its own.
      told: what was told of which tracers before.
      began: gives the place where a trace began, where that is known.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> kept = []
      >>> _ = jax.jit(lambda x: kept.append(x) or x)(jnp.ones(3))
      >>> explain_tracer(kept[0], {"kept": kept}).holder
      'kept[0]'
    """
    known = told.get(tracer) if told is not None else None
    if known is not None:
        return replace(known, line=origin_of(tracer, label, here, began).in_cell if here is not None else None)
    ways = _paths(namespace, _live_tracers()).get(id(tracer), [])
    path: Path = min(ways, key=_rank) if ways else (None, "place", "")
    finding = _finding([(tracer, path)], label, here, began)
    if told is not None:
        told.add(tracer, finding)
    return finding


def _rank(path: Path) -> int:
    """Which of several holders to name: the user's names, then what is elsewhere, then what IPython remembers."""
    name = root_name(path)
    if name is None:
        return 2
    return 3 if name == "Out" else int(name.startswith("_"))


def _root(path: Path) -> Any:
    while isinstance(path[0], tuple):
        path = path[0]
    return path


def _prominence(tracer: Any, path: Path) -> tuple[bool, bool]:
    """What stands for the others of one leak: a variable with a name, rather computed than an argument."""
    return holder_text(path).startswith("the "), _jax.arguments_of(tracer)[1]


def _finding(leak: list[tuple[Any, Path]], label: Label, here: str | None, began: Began) -> Finding:
    tracer, path = leak[0]
    origin = origin_of(tracer, label, here, began)
    message = f"{describe(tracer)} was left behind: the function has returned, and this is no array."
    fix = Fix(advice(tracer, path, scope_of(path), origin.name))
    return Finding("leak", message, origin.in_cell, holder=_holders(leak), origin=origin.text(label), fix=fix)


def _holders(leak: list[tuple[Any, Path]]) -> str:
    """The holder; of several the first ones, and how many more there are."""
    texts = list(dict.fromkeys(holder_text(path) for _, path in leak))
    if scope_of(leak[0][1]):
        return texts[0]
    more = f" and {len(texts) - 2} more" if len(texts) > 2 else ""
    return ", ".join(texts[:2]) + more


class LeakReport:
    """The tracers that are held now; its text is what `%jaxnb leaks` prints."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = tuple(findings)

    def __str__(self) -> str:
        return views.render_findings(self.findings) or "no tracer is held by anything that a name leads to"

    __repr__ = __str__


def _label_of_shell(filename: str) -> str:
    """What the running IPython shell, if there is one, calls the cell that it compiled under this name."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    return label_of(filename, shell) if shell is not None else filename


def leaks(namespace: Mapping[str, Any] | None = None, label: Label = _label_of_shell) -> LeakReport:
    """Looks for tracers that outlived the function that was traced.

    Args:
      namespace: the names to begin with; None stands for those of the running IPython shell.
      label: what the user knows a file by.

    Raises:
      JaxnbError: if no namespace is given and no shell runs.
    """
    gc.collect()
    return LeakReport(find_leaks(names_that_run() if namespace is None else namespace, label))


class Watch:
    """What `watch` found: `findings`, filled when its block ends."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []


@contextlib.contextmanager
def watch(namespace: Mapping[str, Any]) -> Generator[Watch]:
    """Looks for leaked tracers of what runs inside.

    Args:
      namespace: where holders are looked for, such as `globals()`.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> kept = []
      >>> with watch({"kept": kept}) as found:
      ...     _ = jax.jit(lambda x: kept.append(x) or x)(jnp.ones(3))
      >>> [finding.holder for finding in found.findings]
      ['kept[0]']
    """
    log, made = Leaks(_label_of_shell), Watch()
    log.start()
    try:
        yield made
        made.findings = log.check(namespace)
    finally:
        log.stop()
