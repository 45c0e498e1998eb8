"""Tracers that outlive the function that was traced: who holds them, and where they were made.

While a watch is on, a weak reference to each of JAX's traces is taken as it begins. A tracer keeps its trace alive, so
after a cell one look at these references says whether anything leaked; only then is the heap searched.
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

from jaxnb import _jax
from jaxnb.holdings import names_that_run
from jaxnb.owners import paths_to
from jaxnb.paths import Path, render_path, root_name
from jaxnb.program import Finding, Fix
from jaxnb.reach import is_library, is_own

if TYPE_CHECKING:
    from jaxnb._jax_eqns import Place

__all__ = ["Leaks", "Watch", "find_leaks", "leaks", "watch"]

Label = Callable[[str], str]
"""What the user knows a file by, such as "Cell In[3]"."""


class Leaks:
    """Watches for tracers that are left behind; `check` after each cell.

    Args:
      label: what the user knows a file by.
    """

    def __init__(self, label: Label = str) -> None:
        self._label = label
        self._traces = _jax.TraceLog()
        self._told: set[int] = set()

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
        alive = self._traces.alive()
        if not alive:
            return []
        traces = {id(trace) for trace in alive}
        ours = lambda tracer: id(_jax.trace_of(tracer)) in traces  # noqa: E731
        found = find_leaks(namespace, self._label, ours, self._told, here, self._traces.began_at)
        self._traces.forget()
        return found


def find_leaks(
    namespace: Mapping[str, Any],
    label: Label = str,
    wanted: Callable[[Any], bool] = lambda tracer: True,
    told: set[int] | None = None,
    here: str | None = None,
    began: Callable[[Any], Any] = lambda trace: None,
) -> list[Finding]:
    """The tracers that names lead to, one finding for each place that a user would name.

    Args:
      namespace: where to begin; the modules of the user that are loaded are looked through as well.
      label: what the user knows a file by.
      wanted: which tracers count.
      told: ids of those that were told already; what is found is added.
      here: the label of the cell whose lines findings may name as theirs.
      began: gives the place where a trace began, where that is known.
    """
    tracers = {id(item): item for item in gc.get_objects() if _jax.is_tracer_type(type(item)) and wanted(item)}
    told = set() if told is None else told
    told &= tracers.keys()
    paths = paths_to({**_elsewhere(), **namespace}, tracers)
    found: list[tuple[str, Finding]] = []
    for key, ways in paths.items():
        if key in told:
            continue
        told.add(key)
        holder = render_path(_best(ways))
        found.append((holder, _finding(tracers[key], holder, label, here, began)))
    return [finding for _, finding in sorted(found, key=lambda pair: pair[0])]


def _best(paths: list[Path]) -> Path:
    """The path to show: results that IPython remembers come last."""
    return min(paths, key=lambda path: (root_name(path) or "").startswith("_") or root_name(path) == "Out")


def _elsewhere() -> dict[str, Any]:
    """What is held outside of the notebook's names: by the user's modules, context variables and threads."""
    found: dict[str, Any] = {}
    for name in [name for name in sys.modules if name != "__main__" and not is_library(name)]:
        held = [(key, value) for key, value in list(vars(sys.modules[name]).items()) if not key.startswith("__")]
        found.update((f"{name}.{key}", value) for key, value in held)
    found.update((f"{var.name} (context variable)", value) for var, value in contextvars.copy_context().items())
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.ident in frames:
            found[f"thread {thread.name}"] = (vars(thread), frames[thread.ident])
    return found


def _finding(tracer: Any, holder: str, label: Label, here: str | None, began: Callable[[Any], Any]) -> Finding:
    aval: Any = getattr(tracer, "aval", None)
    what = aval.str_short() if hasattr(aval, "str_short") else "value"
    kind = _jax.transformation_of(tracer)
    function = _jax.traced_function(tracer)
    of = f"{function} ({kind})" if function and kind.startswith("jax.g") else function or kind
    place = _origin(tracer, began)
    line, origin = None, ""
    if place is not None:
        line = place.line if here is not None and label(place.file) == here else None
        origin = f"line {place.line} of {label(place.file)}"
    message = f"a traced {what} of {of} was left behind: the function has returned, and this is no array."
    return Finding("leak", message, line, holder=holder, origin=origin, fix=Fix(_advice(tracer)))


def _origin(tracer: Any, began: Callable[[Any], Any]) -> Place | None:
    """The line of the user's where the value was made; where that is not known, of the call that was traced."""
    from jaxnb._jax_eqns import eqn_places  # loads much of JAX that only a leak needs

    known = [_jax.made_at(base) for base in (tracer, *_jax.base_tracers(tracer))]
    for made in (*known, began(_jax.trace_of(tracer))):
        for place in eqn_places(made, {}) if made is not None else ():
            if not _jax.in_jax(place.file) and not is_own(place.file):
                return place
    return None


def _advice(tracer: Any) -> str:
    name = type(_jax.trace_of(tracer)).__name__
    if name.startswith(("JVP", "Linearize")):
        return "return it from the function as well: jax.value_and_grad(f, has_aux=True)."
    if name.startswith("Batch"):
        return "return it from the function: jax.vmap gives all of them."
    return "return it from the function, carry it through the scan, or look at it with jax.debug.callback."


class LeakReport:
    """The tracers that are held now; its text is what `%jaxnb leaks` prints."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = tuple(findings)

    def __str__(self) -> str:
        from jaxnb.views.text import render_findings

        return render_findings(self.findings) or "no tracer is held by anything that a name leads to"

    __repr__ = __str__


def leaks(namespace: Mapping[str, Any] | None = None, label: Label = str) -> LeakReport:
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
    log, made = Leaks(), Watch()
    log.start()
    try:
        yield made
        made.findings = log.check(namespace)
    finally:
        log.stop()
