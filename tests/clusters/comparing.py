"""Runs a cell plainly in a notebook of its own and on a cluster from another one, and says what differs.

The order is: setup; the cell twice, or once where something is changed; then each change and another run. What the
notebook of the cluster has in the end is fetched, so JAX's arrays there are NumPy's, and all else is as it was plainly.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import enum
import io
import math
import random
import re
import sys
import time
import types
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from differential import execute
from people import PersonCell

import jaxnb

__all__ = ["Notebook", "Report", "Unchanged", "check_cell", "difference"]

_TOLERANCES = {"bfloat16": 3e-2, "float16": 3e-3, "float32": 3e-5, "complex64": 3e-5}
_NAMED = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+|<(?:jaxnb )?cell [^>]*>")


class Notebook:
    """A namespace that is `__main__` while a cell of it runs."""

    def __init__(self) -> None:
        self.main = types.ModuleType("__main__")
        self.names: dict[str, Any] = vars(self.main)
        self.names["__builtins__"] = builtins
        self.drawn = random.Random(0).getstate(), np.random.RandomState(0).get_state()

    @contextlib.contextmanager
    def entered(self) -> Generator[io.StringIO]:
        """Within it, what runs belongs to this notebook; gives what is printed."""
        before, written = sys.modules["__main__"], io.StringIO()
        outside = random.getstate(), np.random.get_state()
        random.setstate(self.drawn[0])
        np.random.set_state(self.drawn[1])
        sys.modules["__main__"] = self.main
        try:
            with contextlib.redirect_stdout(written):
                yield written
        finally:
            sys.modules["__main__"] = before
            self.drawn = random.getstate(), np.random.get_state()
            random.setstate(outside[0])
            np.random.set_state(outside[1])

    def plainly(self, text: str) -> Outcome:
        """Runs a text as IPython does."""
        with self.entered() as written:
            try:
                value, error = execute(text, self.names, f"<cell {len(text)}>"), None
                jax.effects_barrier()
            except Exception as raised:
                value, error = None, raised
        return Outcome(value, written.getvalue(), error)

    def on_cluster(self, text: str, **options: Any) -> Outcome:
        """Runs a cell on the cluster, and fetches its value."""
        run = None
        with self.entered() as written:
            begun = time.perf_counter()
            try:
                run, error = jaxnb.stage(text, self.names, cluster=True, **options), None
            except Exception as raised:
                error = raised
            seconds = time.perf_counter() - begun
            value = jaxnb.fetch(run.value) if run is not None else None
        return Outcome(value, written.getvalue(), error, run, seconds)

    def bound(self) -> dict[str, Any]:
        """What was bound, fetched."""
        with self.entered():
            return {name: jaxnb.fetch(value) for name, value in self.names.items() if not name.startswith("_")}


@dataclass(frozen=True)
class Outcome:
    """What came of a text: its last value, what it printed, what it raised; of a staged one its run."""

    value: Any
    text: str
    error: Exception | None
    run: Any = None
    seconds: float = 0.0


class Unchanged(Exception):
    """A change cannot be made, such as one that treats a handle as the object."""


@dataclass
class Report:
    """What differs, one line each; and the seconds and the lines of the runs on the cluster."""

    problems: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    runs: list[Any] = field(default_factory=list)


def check_cell(cell: PersonCell, **options: Any) -> Report:
    """Runs a cell both ways.

    Args:
      cell: what to run.
      **options: of the staged run.
    """
    report, plain, other = Report(), Notebook(), Notebook()
    done = [cell.setup]
    for notebook in (plain, other):
        if (error := notebook.plainly(cell.setup).error) is not None:
            raise error
    steps = [*((f"change {number}", text) for number, text in enumerate(cell.changes, 1))] or [("run 2", "")]
    for when, change in [("run 1", ""), *steps]:
        if change:
            for notebook in (plain, other):
                if (error := notebook.plainly(change).error) is not None:
                    raise Unchanged(f"{when}: {type(error).__name__}: {error}") from error
            done.append(change)
        one, two = plain.plainly(cell.cell), other.on_cluster(cell.cell, **options)
        report.seconds.append(two.seconds)
        report.runs.append(two.run)
        problems = _errors(one.error, two.error)
        if one.text != two.text:
            problems.append(f"printed {one.text!r} plainly, {two.text!r} on the cluster")
        if one.error is not None:  # a staged cell that fails leaves all as it was
            plain = Notebook()
            for text in done:
                plain.plainly(text)
        else:
            done.append(cell.cell)
            problems += difference(one.value, two.value, "the value")
        problems += _names(plain.bound(), other.bound())
        report.problems += [f"{when}: {problem}" for problem in problems]
        if problems:
            break
    return report


def _errors(one: Exception | None, two: Exception | None) -> list[str]:
    if one is None and two is None:
        return []
    if one is None or two is None or type(one).__name__ != type(two).__name__:
        return [f"raised {one!r:.200} plainly, {two!r:.600} on the cluster"]
    return [] if str(one) == str(two) else [f"the error says {str(one)!r} plainly, {str(two)!r} on the cluster"]


def _names(plain: dict[str, Any], other: dict[str, Any]) -> list[str]:
    problems = [f"`{name}` is bound plainly only" for name in sorted(plain.keys() - other.keys())]
    problems += [f"`{name}` is bound on the cluster only" for name in sorted(other.keys() - plain.keys())]
    pairs = _Pairs()
    for name in sorted(plain.keys() & other.keys()):
        problems += pairs.compare(plain[name], other[name], name)
    return problems


def difference(one: Any, two: Any, where: str) -> list[str]:
    """What differs between a value of a plain cell and one that was fetched, one line each."""
    return _Pairs().compare(one, two, where)


class _Pairs:
    """Compares values, each pair of objects once."""

    def __init__(self) -> None:
        self._seen = dict[tuple[int, int], tuple[Any, Any]]()

    def compare(self, one: Any, two: Any, where: str) -> list[str]:
        """What differs between two values."""
        if (id(one), id(two)) in self._seen or one is two:
            return []
        self._seen[id(one), id(two)] = one, two
        if isinstance(one, jax.Array) and isinstance(two, jax.Array):  # keys, and what was never on the cluster
            return _arrays(_data(one), _data(two), where) or _equal(str(one.dtype), str(two.dtype), where)
        if isinstance(one, jax.Array):
            if not isinstance(two, np.ndarray):
                return [f"{where}: an array plainly, {type(two).__name__} on the cluster: {two!r:.200}"]
            return _arrays(np.asarray(one), two, where)
        if type(one).__qualname__ != type(two).__qualname__:
            return [f"{where}: {type(one).__name__} plainly, {type(two).__name__} on the cluster: {two!r:.200}"]
        if isinstance(one, (np.ndarray, np.generic)):
            return _arrays(np.asarray(one), np.asarray(two), where)
        if isinstance(one, enum.Enum):
            return _equal(str(one), str(two), where)
        if isinstance(one, _NAMED) or type(one).__name__ == "PjitFunction":
            return _equal(one.__name__, two.__name__, where)
        if isinstance(one, float):
            return (
                []
                if math.isclose(one, two, rel_tol=3e-5, abs_tol=3e-5) or (one != one and two != two)
                else [f"{where}: {one} plainly, {two} on the cluster"]
            )
        if isinstance(one, dict):
            found = _equal(list(map(_text, one)), list(map(_text, two)), f"the keys of {where}")
            return found or self._items(list(one.values()), list(two.values()), list(map(_text, one)), where)
        if isinstance(one, (set, frozenset)):
            return _equal(sorted(map(_text, one)), sorted(map(_text, two)), where)
        if isinstance(one, (list, tuple)):
            found = _equal(len(one), len(two), f"the length of {where}")
            return found or self._items(one, two, range(len(one)), where)
        if hasattr(one, "get_metadata") and hasattr(one, "get_value"):  # a variable of flax
            return self.compare(one.get_value(), two.get_value(), where)
        own = _attributes(one)
        if own:
            theirs = _attributes(two)
            found = _equal(list(own), list(theirs), f"the attributes of {where}")
            for one_side in (own, theirs):
                one_side.pop("_id", None)  # of flax's variables: a count over all
            return found or self._items(list(own.values()), list(theirs.values()), list(own), where)
        return _equal(_text(one), _text(two), where)

    def _items(self, ones: Any, twos: Any, keys: Any, where: str) -> list[str]:
        pairs = zip(keys, ones, twos, strict=True)
        return [problem for key, one, two in pairs for problem in self.compare(one, two, f"{where}[{key}]")]


def _attributes(value: Any) -> dict[str, Any]:
    own = dict(getattr(value, "__dict__", {})) if not isinstance(value, (type, jax.sharding.Mesh)) else {}
    if type(value).__module__.startswith("pandas."):
        return {}
    if dataclasses.is_dataclass(value) and not own:
        own = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    kinds: Any = type(value).__mro__
    for kind in kinds if type(value).__module__ == "__main__" else ():
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and not name.startswith("__"):
                own[name] = getattr(value, name)
    return own


def _data(array: jax.Array) -> np.ndarray:
    keys = jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if keys else array)


def _text(value: Any) -> str:
    return _ADDRESS.sub("", repr(value))


def _equal(one: Any, two: Any, where: str) -> list[str]:
    return [] if one == two else [f"{where}: {one!r:.300} plainly, {two!r:.300} on the cluster"]


def _arrays(one: np.ndarray, two: np.ndarray, where: str) -> list[str]:
    found = _equal((one.shape, str(one.dtype)), (two.shape, str(two.dtype)), where)
    if found:
        return found
    if one.dtype.kind in "USMmOV" and str(one.dtype) not in _TOLERANCES:
        return _equal(one.tolist(), two.tolist(), where)
    if one.dtype.kind in "biu":
        return [] if np.array_equal(one, two) else [f"{where}: {one!r:.200} plainly, {two!r:.200} on the cluster"]
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    rtol = _TOLERANCES.get(str(one.dtype), 1e-9)
    same = np.allclose(one.astype(wide), two.astype(wide), rtol=rtol, atol=rtol, equal_nan=True)
    return [] if same else [f"{where}: {one!r:.200} plainly, {two!r:.200} on the cluster"]
