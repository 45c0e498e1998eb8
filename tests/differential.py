"""Plain against staged: a cell run both ways, in two namespaces, and all compared that a user could reach.

`look` turns any object into one neutral record: its kind, exact facts, numbers, and labelled edges to what it
holds. Comparing two namespaces, hunting for tracers and taking a snapshot are three walks over these records.
"""

from __future__ import annotations

import ast
import builtins
import collections
import collections.abc
import contextlib
import functools
import gc
import io
import itertools
import linecache
import operator
import random
import re
import tokenize
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import ml_dtypes
import numpy as np
from cells import Case
from tracers import traces_left

import jaxnb
from jaxnb._jax.tracers import TraceLog

__all__ = ["Outcome", "check_case", "check_failure", "drawn_seed", "hunt", "run_plain", "snapshot"]

Namespace = dict[str, Any]
_CELL = re.compile(r"<(jaxnb )?cell [0-9a-f]+>")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d*(?:e[+-]?\d+)?|\.\d+|\d+e[+-]?\d+|\d+|nan|inf)(?![\w.])")
_SCALARS = (type(None), bool, int, str, bytes, complex, range, slice, type(Ellipsis), type(NotImplemented))
_CLASS_SKIPPED = {"__dict__", "__weakref__", "__doc__", "__module__", "__slotnames__", "_abc_impl"}
_TOLERANCES = {  # relative and absolute
    "float64": (1e-12, 1e-12),
    "complex128": (1e-12, 1e-12),
    "float32": (2e-5, 1e-5),
    "complex64": (2e-5, 1e-5),
    "bfloat16": (2e-2, 2e-2),
    "float16": (4e-3, 4e-3),
}


# Objects as records --------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """An object as the comparison sees it.

    Args:
      kind: the exact type, by name, because each namespace has classes of its own.
      facts: what must be equal, and what a failed run must leave as it was.
      volatile: what must be equal, but is not undone (rule 8: iterators, files, random state).
      numbers: array contents or a float, compared within the tolerance of the dtype.
      edges: what the object holds, by label.
      identity: whether a user can tell this object from an equal one.
    """

    kind: str
    facts: tuple[Any, ...] = ()
    volatile: tuple[Any, ...] = ()
    numbers: np.ndarray | None = None
    edges: tuple[tuple[str, Any], ...] = ()
    identity: bool = True


def name_of(cls: type) -> str:
    module = getattr(cls, "__module__", "")
    return cls.__qualname__ if module in ("builtins", "__main__") else f"{module}.{cls.__qualname__}"


def plain_repr(obj: Any) -> str:
    return _ADDRESS.sub("0x", repr(obj))


def look(obj: Any, namespace: Namespace) -> Look:
    """The record of `obj`; `namespace` is the one whose functions must have it as their globals."""
    kind = name_of(type(obj))
    make = functools.partial(Look, kind)
    if isinstance(obj, jax.core.Tracer):
        return Look("TRACER", (type(obj).__name__,))
    if type(obj) in _SCALARS:
        return make((obj,), identity=False)
    if type(obj) is float:
        return make(numbers=np.float64(obj), identity=False)
    if isinstance(obj, jax.Array):
        return _look_array(obj)
    if isinstance(obj, np.generic):
        return make((str(obj.dtype),), numbers=np.asarray(obj), identity=False)
    if isinstance(obj, np.ndarray):
        base = (("base", obj.base),) if isinstance(obj.base, np.ndarray) else ()
        facts = (str(obj.dtype), obj.shape, obj.strides, obj.flags.writeable)
        if obj.dtype.kind in "OSUMm" or obj.dtype.names or obj.dtype == jax.dtypes.float0:
            return make((*facts, plain_repr(obj.tolist())), edges=base)
        return make(facts, numbers=np.array(obj), edges=base)
    if isinstance(obj, list | tuple | collections.deque):
        edges = tuple((f"[{i}]", item) for i, item in enumerate(obj))
        held = type(obj) is not tuple or any(look(item, namespace).identity for item in obj)
        return make((getattr(obj, "maxlen", None),), edges=edges + _attributes(obj), identity=held)
    if kind == "flax.core.frozen_dict.FrozenDict":  # reading an item of it makes a new one
        return make(edges=(("dict", obj._dict),))
    if kind.endswith("NpzFile"):  # each reading of an entry makes a new array
        return make((tuple(obj.files),))
    if isinstance(obj, collections.abc.Mapping):
        edges = tuple((f"[{plain_repr(key)}]", item) for key, item in obj.items())
        if isinstance(obj, collections.defaultdict):
            edges += (("default_factory", obj.default_factory),)
        return make(edges=edges)
    if isinstance(obj, set | frozenset):
        return make((sorted(map(plain_repr, obj)),), identity=isinstance(obj, set))
    if isinstance(obj, types.ModuleType):
        return make((obj.__name__,), identity=False)
    if isinstance(obj, type):
        return _look_class(obj)
    callable_look = _look_callable(obj, kind, namespace)
    if callable_look is not None:
        return callable_look
    flow = _look_flow(obj, kind)
    if flow is not None:
        return flow
    edges = () if isinstance(obj, jax.sharding.Mesh | jax.sharding.Sharding) else _attributes(obj)
    if not edges:
        return make((plain_repr(obj),), edges=edges, identity=False)
    return make(edges=edges)


def _look_array(obj: jax.Array) -> Look:
    if obj.is_deleted():
        return Look("jax.Array", ("deleted",))
    facts = (str(obj.dtype), obj.shape, bool(getattr(obj, "weak_type", False)), bool(obj.committed))
    facts += (obj.sharding, obj.sharding.memory_kind, tuple(sorted(device.id for device in obj.devices())))
    if jax.dtypes.issubdtype(obj.dtype, jax.dtypes.prng_key):
        return Look("jax.Array", facts, numbers=np.asarray(jax.random.key_data(obj)))
    return Look("jax.Array", facts, numbers=np.array(obj))


def _look_class(obj: type) -> Look:
    if obj.__module__ != "__main__":
        return Look("type", (name_of(obj),), identity=False)
    own = {key: value for key, value in vars(obj).items() if key not in _CLASS_SKIPPED}
    shown = {k: v for k, v in own.items() if not k.startswith("__") or isinstance(v, types.FunctionType)}
    facts = (name_of(obj), tuple(sorted(own)), tuple(name_of(base) for base in obj.__bases__), obj.__doc__)
    return Look(name_of(type(obj)), facts, edges=tuple(shown.items()))


def _look_callable(obj: Any, kind: str, namespace: Namespace) -> Look | None:
    """Functions and what wraps them: a tracer may hide in a closure, a default, or an attribute."""
    if isinstance(obj, types.FunctionType):
        facts = (obj.__qualname__, obj.__module__, obj.__doc__, obj.__globals__ is namespace)
        edges = [("defaults", obj.__defaults__), ("kwdefaults", obj.__kwdefaults__)]
        edges += [(f".{name}", value) for name, value in vars(obj).items() if name != "_clear_cache"]
        edges += [(f":{name}", value) for name, value in obj.__annotations__.items()]
        for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # an empty cell
                if (
                    name != "dispatch_cache"
                ):  # what functools.singledispatch chose before; a trace asks for more classes
                    edges.append((f"<closure {name}>", cell.cell_contents))
        return Look(kind, facts, edges=tuple(edges))
    if isinstance(obj, functools.partial):
        edges = (("func", obj.func), ("args", obj.args), ("keywords", obj.keywords))
        return Look(kind, edges=edges)
    if isinstance(obj, types.MethodType):
        return Look(kind, edges=(("func", obj.__func__), ("self", obj.__self__)), identity=False)
    if isinstance(obj, staticmethod | classmethod):
        return Look(kind, edges=(("func", obj.__func__),))
    if isinstance(obj, property):
        return Look(kind, edges=(("fget", obj.fget), ("fset", obj.fset)))
    if isinstance(obj, types.BuiltinFunctionType):
        return Look(kind, (obj.__qualname__,), identity=False)
    if callable(obj) and hasattr(obj, "__wrapped__"):
        return Look(kind, edges=(("wrapped", obj.__wrapped__),))
    return None


def _look_flow(obj: Any, kind: str) -> Look | None:
    """Things that move on by being used."""
    if isinstance(obj, random.Random):
        return Look(kind, volatile=(obj.getstate(),))
    if isinstance(obj, np.random.Generator):
        return Look(kind, volatile=(repr(obj.bit_generator.state),))
    if isinstance(obj, io.StringIO):
        return Look(kind, volatile=(obj.getvalue(), obj.tell()) if not obj.closed else ("closed",))
    if isinstance(obj, BaseException):
        return Look(kind, (str(obj),), edges=(("args", obj.args), ("cause", obj.__cause__)))
    if isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame
        local = {} if frame is None else {k: v for k, v in frame.f_locals.items() if v is not obj}
        held = tuple(sorted(local.items()))  # their order tells who looked first
        return Look(kind, volatile=(frame is None,), edges=held)
    if isinstance(obj, itertools.count):
        return Look(kind, volatile=(repr(obj),))
    if isinstance(obj, Iterator):
        return Look(kind, volatile=(operator.length_hint(obj, -1),))
    return None


def _attributes(obj: Any) -> tuple[tuple[str, Any], ...]:
    """An instance's attributes; the private ones of a library's class (caches, ids) are its own business."""
    own = dict(getattr(obj, "__dict__", {}))
    for cls in type(obj).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if not slot.startswith("__") and hasattr(obj, slot):
                own.setdefault(slot, getattr(obj, slot))
    foreign = any(cls.__module__ not in ("__main__", "builtins") for cls in type(obj).__mro__)
    return tuple((f".{name}", value) for name, value in own.items() if not (foreign and name.startswith("_")))


Seen = Callable[[Any, Namespace], Look]  # a way to look at objects: `look`, or one that knows more kinds


def as_is(obj: Any, namespace: Namespace) -> Look:
    """The ordinary way to look, which a test may replace in this module."""
    return look(obj, namespace)


def names_of(namespace: Namespace) -> list[str]:
    return [name for name in namespace if not name.startswith("__")]


def walk(namespace: Namespace, flow: bool = True, seen_as: Seen = as_is) -> Iterator[tuple[str, Any, Look]]:
    """Every object reachable, once, with the first path to it; with `flow` what generators hold, too."""
    todo = [(name, namespace[name]) for name in names_of(namespace)]
    seen: dict[int, Any] = {}
    while todo:
        path, obj = todo.pop()
        if id(obj) in seen:
            continue
        seen[id(obj)] = obj
        record = seen_as(obj, namespace)
        if record.kind == "generator" and not flow:
            record = replace(record, edges=())
        yield path, obj, record
        todo += [(path + label, child) for label, child in record.edges]


def hunt(namespace: Namespace, seen_as: Seen = as_is) -> list[str]:
    """The paths under which a tracer hides."""
    return [path for path, _, record in walk(namespace, seen_as=seen_as) if record.kind == "TRACER"]


# Comparing two objects -----------------------------------------------------------


@dataclass
class Pairing:
    """Which object of the staged namespace plays the part of which of the plain one, over all runs of a case.

    An object that is kept in one namespace and made anew in the other, or shared in one and copied in the
    other, breaks the pairing: that is rule 5.
    """

    case: Case
    plain: Namespace
    staged: Namespace
    forth: dict[int, int] = field(default_factory=dict)
    back: dict[int, int] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)  # so that no id is given out twice
    seen_as: Seen = as_is

    def holds(self, a: Any, b: Any) -> bool:
        self.alive += [a, b]
        return self.forth.setdefault(id(a), id(b)) == id(b) and self.back.setdefault(id(b), id(a)) == id(a)

    def compare(self, pairs: list[tuple[str, Any, Any]]) -> list[str]:
        """What differs between each `(path, plain, staged)`, one line each, at most twelve."""
        problems: list[str] = []
        done: set[tuple[int, int]] = set()
        todo = pairs[::-1]
        while todo and len(problems) < 12:
            path, a, b = todo.pop()
            if (id(a), id(b)) in done:
                continue
            root = re.split(r"[.\[<]", path, maxsplit=1)[0]
            if root in self.case.numpy_becomes_jax and isinstance(b, jax.Array):
                if isinstance(a, np.ndarray | np.generic):
                    if np.shape(a) != b.shape or not close(np.asarray(a), np.asarray(b), 1e-5):
                        problems.append(f"{path}: {a!r} plain, {b!r} staged")
                    continue
            one, other = self.seen_as(a, self.plain), self.seen_as(b, self.staged)
            if one.kind != other.kind:
                problems.append(f"{path}: {one.kind} plain, {other.kind} staged")
                continue
            if one.identity and root not in self.case.loose_identity and not self.holds(a, b):
                problems.append(f"{path}: not the same object, or no longer shared, as in the plain cell ({one.kind})")
            done.add((id(a), id(b)))
            if _unnamed(one.facts) != _unnamed(other.facts) or one.volatile != other.volatile:
                theirs = (one.facts + one.volatile, other.facts + other.volatile)
                problems.append(f"{path}: {one.kind} {theirs[0]} plain, {theirs[1]} staged")
            elif one.numbers is not None and not close(one.numbers, other.numbers, self.case.tolerance):
                problems.append(f"{path}: {one.numbers} plain, {other.numbers} staged")
            if [label for label, _ in one.edges] != [label for label, _ in other.edges]:
                labels = [[label for label, _ in record.edges] for record in (one, other)]
                problems.append(f"{path}: holds {labels[0]} plain, {labels[1]} staged")
                continue
            steps = zip(one.edges, other.edges, strict=True)
            todo += [(path + label, held, theirs) for (label, held), (_, theirs) in steps]
        return problems

    def compare_namespaces(self) -> list[str]:
        here, there = set(names_of(self.plain)), set(names_of(self.staged))
        problems = [f"{name}: not bound by the staged cell" for name in sorted(here - there)]
        problems += [f"{name}: not bound by the plain cell" for name in sorted(there - here)]
        shared = [name for name in names_of(self.plain) if name in there]
        problems += self.compare([(name, self.plain[name], self.staged[name]) for name in shared])
        return problems + [f"{path}: a tracer" for path in hunt(self.staged, self.seen_as)]


def close(a: np.ndarray, b: np.ndarray, relative: float | None = None) -> bool:
    """Whether two arrays of one shape agree: floats within the tolerance of their dtype, all else exactly."""
    if a.dtype.kind in "biuOSU" or a.dtype.name.startswith(("int", "uint")):
        return np.array_equal(a, b)
    low = a.dtype.name not in ("float32", "float64", "complex64", "complex128")
    rtol, atol = _TOLERANCES.get(a.dtype.name, (0.15, 0.15))
    wide = np.float32 if low else a.dtype
    if low and a.dtype not in (np.float16, ml_dtypes.bfloat16) and a.dtype.itemsize > 1:
        return np.array_equal(a, b)  # structured, void, dates
    return np.allclose(
        a.astype(wide), b.astype(wide), rtol=rtol if relative is None else relative, atol=atol, equal_nan=True
    )


def _unnamed(facts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Facts in which a cell is not called as by either side: JAX keeps the file of a function beside it."""
    return tuple(_CELL.sub("<cell>", item) if isinstance(item, str) else item for item in facts)


def same_text(a: str, b: str) -> bool:
    """Whether two displays agree up to the rounding of the floats in them, and but for addresses."""
    a, b = _ADDRESS.sub("0x", a), _ADDRESS.sub("0x", b)
    if a == b:
        return True
    if "".join(_NUMBER.sub("#", a).split()) != "".join(_NUMBER.sub("#", b).split()):
        return False
    numbers = [np.array([float(n) for n in _NUMBER.findall(text)]) for text in (a, b)]
    return np.allclose(*numbers, rtol=2e-2 if "float16" in a else 1e-4, atol=1e-4, equal_nan=True)


# Running a cell ------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a run showed: the trailing value, the text printed, and the exception if there was one."""

    value: Any = None
    text: str = ""
    error: BaseException | None = None
    run: Any = None


def ends_quietly(source: str) -> bool:
    """Whether the last token is a semicolon, which suppresses the display, as in IPython."""
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.DEDENT}
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type not in ignored]
    return bool(tokens) and tokens[-1].string == ";"


def execute(source: str, namespace: Namespace, filename: str) -> Any:
    """Run a cell as IPython would, and return the value that it would display, or None."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    tree = ast.parse(source, filename)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, filename, "exec", dont_inherit=True), namespace)
        return None
    body = ast.Module(tree.body[:-1], type_ignores=[])
    exec(compile(body, filename, "exec", dont_inherit=True), namespace)
    value = eval(compile(ast.Expression(last.value), filename, "eval", dont_inherit=True), namespace)
    return None if ends_quietly(source) else value


def _observe(action: Callable[[], Any]) -> tuple[Any, str, BaseException | None]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            return action(), text.getvalue(), None
        except Exception as error:
            return None, text.getvalue(), error


def run_plain(source: str, namespace: Namespace) -> Outcome:
    value, text, error = _observe(lambda: execute(source, namespace, "<plain cell>"))
    return Outcome(value, text, error)


def run_staged(source: str, namespace: Namespace, options: dict[str, Any]) -> Outcome:
    run, text, error = _observe(lambda: jaxnb.stage(source, namespace, **options))
    return Outcome(None if error else run.value, text, error, run)


def new_namespace(case: Case) -> Namespace:
    """A namespace in which the case's setup has been run plainly."""
    namespace: Namespace = {"__name__": "__main__", "__builtins__": builtins}
    with contextlib.redirect_stdout(io.StringIO()):
        for number, source in enumerate(case.setups):
            execute(source, namespace, f"<setup {number} of {case.name}>")
    return namespace


def _context(case: Case) -> contextlib.AbstractContextManager[Any]:
    return jax.enable_x64(True) if case.x64 else contextlib.nullcontext()


# The checks ----------------------------------------------------------------------


def check_case(case: Case) -> None:
    """Run the case plainly and staged, twice and after each change, and compare everything each time."""
    with _context(case):
        pairing = Pairing(case, new_namespace(case), new_namespace(case))
        _expect(case, "setup", pairing.compare_namespaces())
        if case.refused:
            _check_refused(case, pairing.staged)
            if isinstance(run_staged(case.cell, new_namespace(case), dict(case.options)).error, jaxnb.Refused):
                return None  # in pieces, too; then it is never run plainly
            case = replace(case, reused2=None, change=(), refused="")
        expected: list[tuple[str, bool | None]] = [("", None), (case.again, case.reused2), *case.changes]
        for number, (change, reused) in enumerate(expected, start=1):
            for namespace in (pairing.plain, pairing.staged):
                exec(compile(change, "<change>", "exec", dont_inherit=True), namespace)
            if not _check_run(case, pairing, f"run {number}", reused, changed=number > 2):
                return None
        _check_probes(case, pairing)
    return None


def _check_run(case: Case, pairing: Pairing, which: str, reused: bool | None, changed: bool) -> bool:
    """One run both ways; False when nothing is to follow, because the cell raised or was refused."""
    pairing.compare_namespaces()  # what the change made is paired as well
    before = snapshot(pairing.staged)
    known = set(names_of(pairing.staged))
    if case.stale:
        jax.clear_caches()
    plain = run_plain(case.cell, pairing.plain)
    traces = TraceLog()
    traces.start()
    staged = run_staged(case.cell, pairing.staged, dict(case.options))
    left = traces_left(traces) if staged.error is None else []
    traces.stop()
    if isinstance(staged.error, jaxnb.Refused) and case.may_refuse:
        _expect(case, f"{which}, refused", changes_since(before, pairing.staged))
        return False
    if plain.error is not None or staged.error is not None:
        _expect(case, which, compare_errors(case, plain.error, staged.error), staged.error)
        _expect(case, f"{which}, after its error", changes_since(before, pairing.staged))
        return False
    if case.raises:
        raise AssertionError(f"{case.name}: the plain cell should raise {case.raises}, and does not")
    problems = left + pairing.compare_namespaces() + pairing.compare([("value", plain.value, staged.value)])
    if not same_text(repr(plain.value), repr(staged.value)):
        problems.append(f"the display: {plain.value!r} plain, {staged.value!r} staged")
    if not same_text(plain.text, staged.text):
        problems.append(f"printed {plain.text!r} plain, {staged.text!r} staged")
    run = staged.run
    for name, value in run.outputs.items():
        if pairing.staged.get(name, run) is not value:
            problems.append(f"outputs[{name!r}] is not what the name is bound to")
    problems += [f"{n}: new, but not in outputs" for n in {*names_of(pairing.staged)} - known - {*run.outputs}]
    if reused is not None and run.reused is not reused:
        reasons = getattr(run.retrace, "reasons", ())
        problems.append(f"reused is {run.reused}, should be {reused}; retrace reasons: {list(reasons)}")
    elif changed and reused is False:
        reasons = " ".join(map(str, getattr(run.retrace, "reasons", ())))
        if not reasons or case.reason not in reasons:
            problems.append(f"retrace.reasons should say why, with {case.reason!r}: {reasons!r}")
    _expect(case, which, problems)
    return True


def _check_refused(case: Case, namespace: Namespace) -> None:
    """As one program the cell is refused, with the reason; it may still run in several pieces."""
    before = snapshot(namespace)
    for which in ("run 1", "run 2"):
        error = run_staged(case.cell, namespace, {**case.options, "whole": True}).error
        if not isinstance(error, jaxnb.Refused):
            _expect(case, which, [f"should be refused, but {'ran' if error is None else f'raised {error!r}'}"])
        if case.refused.lower() not in str(error).lower():
            _expect(case, which, [f"the refusal should speak of {case.refused!r}: {error}"])
        _expect(case, f"{which}, refused", changes_since(before, namespace))


def _check_probes(case: Case, pairing: Pairing) -> None:
    for probe in case.probes:
        answers = [eval(probe, namespace) for namespace in (pairing.plain, pairing.staged)]
        _expect(case, f"probe {probe}", pairing.compare([("value", *answers)]))


def compare_errors(case: Case, plain: BaseException | None, staged: BaseException | None) -> list[str]:
    """What is wrong with the exception of the staged cell, given that of the plain one."""
    if plain is None or staged is None or name_of(type(plain)) != name_of(type(staged)):
        return [f"raised {plain!r} plain, {staged!r} staged"]
    problems = []
    if type(plain).__name__ != case.raises:
        problems.append(f"the plain cell should raise {case.raises or 'nothing'}, and raised {plain!r}")
    if isinstance(plain, SyntaxError):
        facts = [(error.msg, error.lineno) for error in (plain, staged)]
        return problems + ([] if facts[0] == facts[1] else [f"the error says {facts[0]} plain, {facts[1]} staged"])
    if case.same_message and not same_text(str(plain), str(staged)):
        problems.append(f"the error says {str(plain)!r} plain, {str(staged)!r} staged")
    return problems


def _expect(case: Case, when: str, problems: list[str], cause: BaseException | None = None) -> None:
    if problems:
        setup = "\n".join(case.setups[1:])
        listed = "\n".join(f"  - {problem}" for problem in problems)
        shown = f"--- setup\n{setup}\n--- cell\n{case.cell}\n--- changes\n{case.changes}"
        raise AssertionError(f"{case.name}, {when}:\n{listed}\n{shown}") from cause


# Atomicity -----------------------------------------------------------------------


def snapshot(namespace: Namespace, seen_as: Seen = as_is) -> dict[str, tuple[Any, ...]]:
    """Everything reachable, by path: the object itself, its facts, what it holds, array contents."""
    shot: dict[str, tuple[Any, ...]] = {"": (None, tuple(sorted(names_of(namespace))), (), b"")}
    for path, obj, record in walk(namespace, False, seen_as):
        contents = record.numbers.tobytes() if record.numbers is not None else b""
        holds = tuple((label, id(child)) for label, child in record.edges if seen_as(child, namespace).identity)
        labels = tuple(label for label, _ in record.edges)
        shot[path] = (
            obj if record.identity else None,
            (record.kind, record.facts),
            (labels, holds),
            contents,
        )
    return shot


def changes_since(before: dict[str, tuple[Any, ...]], namespace: Namespace, seen_as: Seen = as_is) -> list[str]:
    """What is no longer as it was, one line for each path; empty where a failed cell was atomic."""
    after = snapshot(namespace, seen_as)
    changed = []
    for path in dict.fromkeys([*before, *after]):
        old, new = before.get(path), after.get(path)
        if old is None or new is None:
            changed.append(f"{path}: {'appeared' if old is None else 'went'}")
        elif old[0] is not new[0]:
            changed.append(f"{path}: is another object")
        elif old[1:] != new[1:]:
            changed.append(f"{path}: {old[1:]} became {new[1:]}")
    return changed[:12]


def check_failure(case: Case) -> None:
    """Let the case fail, at its end and in the compiler, at first and after a good run."""
    with _context(case):
        for good_runs in (0, 1):
            namespace = new_namespace(case)
            for _ in range(good_runs):
                run_staged(case.cell, namespace, dict(case.options))
                exec(case.again, namespace)
            before = snapshot(namespace)
            source = case.cell + "\nraise RuntimeError('injected')\n"
            error = run_staged(source, namespace, dict(case.options)).error
            _expect(case, f"failing after {good_runs} good runs", _wrong_error(case, error), error)
            _expect(case, f"failing after {good_runs} good runs", changes_since(before, namespace))

            namespace = new_namespace(case)
            source = case.cell + f"\ninjected = {good_runs}\n"  # a program that no other test has compiled
            for _ in range(good_runs):
                run_staged(source, namespace, dict(case.options))
                exec(case.again, namespace)
            before = snapshot(namespace)
            with _no_compiler():
                error = run_staged(source, namespace, dict(case.options)).error
            if error is not None:
                when = f"with no compiler after {good_runs} good runs"
                _expect(case, when, _wrong_error(case, error) + changes_since(before, namespace))


def _wrong_error(case: Case, error: BaseException | None) -> list[str]:
    """A failing cell raises the injected error, or its own, or is refused where it may be."""
    injected = isinstance(error, RuntimeError) and "injected" in str(error)
    refused = isinstance(error, jaxnb.Refused) and (case.refused or case.may_refuse)
    own = error is not None and case.raises == type(error).__name__
    return [] if injected or refused or own else [f"raised {error!r}, not the injected error"]


@contextlib.contextmanager
def _no_compiler() -> Iterator[None]:
    def compile_nothing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("injected into the compiler")

    lowered = jax.stages.Lowered
    original = lowered.compile
    lowered.compile = compile_nothing
    try:
        yield
    finally:
        lowered.compile = original
