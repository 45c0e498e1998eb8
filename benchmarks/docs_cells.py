"""How many cells of other people's notebooks are staged, refused, or got wrong.

Each notebook is run three times, each time in a process of its own: twice plainly, and once with every cell staged that
computes with JAX. After each cell all names, what was printed, the value and the exception are compared. What the two
plain runs do not agree on is left out: the second one has XLA use older instructions, which round sums differently, so
what hangs on the last bit (when a solver stops, where a chaotic path ends) is no more certain than the time of day, and
with it the whole of what its name holds. Nor is what `jax.live_arrays` counts in a cell, as a staged one holds what it
would put back if it failed.
Run with `python benchmarks/docs_cells.py DIR`; the status is 1 if a cell is wrong. Shell lines and installs are not
carried out; cells may read and write files in their notebook's folder.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import functools
import io
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Record = tuple[str, Any, np.ndarray | None]  # kind, exact facts, numbers that are compared within a tolerance
FATES = {
    "whole": "one program, and what the plain cell gives",
    "split": "in pieces, or with statements that Python ran, and what the plain cell gives",
    "refused": "not staged, with a reason; then run plainly",
    "wrong": "another value, text or exception than the plain cell's, or a crash",
    "rounding": "floats differ by more than their tolerance, and by less than 5 %",
    "follows": "differs, and reads a name that differs, or is uncertain, since an earlier cell",
    "uncertain": "two plain runs differ, or one of the three did not end in time",
    "fails plainly": "the plain cell raises: data, a package, a network or an older JAX are missing",
    "plain": "does not compute with JAX",
    "magics": "has magics or shell lines, or is no Python",
}
ADDRESS = re.compile(r"0x[0-9a-f]{4,}|<ipython-input-[^>]*>|<jaxnb cell [^>]*>|b'(?:[^'\\]|\\.)*'")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d*(?:e[+-]?\d+)?|\.\d+|\d+e[+-]?\d+|\d+|nan|inf)(?![\w.])")
NOT_BOUND = re.compile(r"_(i?\d*|i+|oh|ih|_\w*)$")  # names that IPython binds, and Python's own
SCALARS = (type(None), bool, int, str, bytes, range, slice, type(Ellipsis), np.dtype)
OPAQUE = ("matplotlib", "mpl_toolkits", "IPython", "tensorflow", "PIL", "pandas", "plotly", "logging", "tqdm")
TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-4, "complex64": 2e-4, "float16": 1e-2}
MOST_NUMBERS, MOST_OBJECTS, MOST_BYTES = 1 << 16, 20_000, 1 << 27


def read_cells(path: Path) -> list[tuple[int, str]]:
    """The code cells with their numbers from 1; those of a Markdown file are its `{code-cell}` blocks."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        block = r"^```+ *\{code-cell\}[^\n]*\n(?:---\n.*?\n---\n|(?::[^\n]*\n)*)(.*?)^```"
        return list(enumerate(re.findall(block, text, re.M | re.S), start=1))
    cells = json.loads(text).get("cells", [])
    return list(enumerate(("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), start=1))


# One run of one notebook, in a process of its own --------------------------------


def make_shell() -> Any:
    """A shell that shows nothing and leaves the machine alone."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell

    def nothing(*_: Any, **__: Any) -> list[str]:
        return []

    def keep(self: Any, result: Any = None) -> None:
        self.exec_result.result = result

    InteractiveShell.displayhook_class = type("Silent", (DisplayHook,), {"__call__": keep})
    for name in ("system", "getoutput", "showtraceback", "showsyntaxerror"):
        setattr(InteractiveShell, name, nothing)
    shell = InteractiveShell.instance()
    for name in ("pip", "conda", "uv", "sx", "system", "bash", "sh", "script"):
        for kind in ("line", "cell"):
            shell.register_magic_function(nothing, kind, name)
    return shell


def run_notebook(path: Path, staged: bool, out: Any, runs: int) -> None:
    """Runs the cells and writes to `out`, for each, what became of it and the records that changed."""
    shell = make_shell()
    hidden = {*shell.user_ns, *shell.user_ns_hidden}
    os.chdir(path.parent)
    sys.path.insert(0, "")
    before: dict[str, Record] = {}
    for number, source in read_cells(path):
        for turn in range(runs):
            result = {"cell": number, "turn": turn, **run_cell(shell, source, staged)}
            names = {n: v for n, v in shell.user_ns.items() if n not in hidden and not NOT_BOUND.match(n)}
            now = dict(walk(names)) | dict(walk({"<value>": result.pop("value")}))
            result["changed"] = {path: now[path] for path in now if not same(before.get(path), now[path])}
            result["gone"] = [path for path in before if path not in now]
            before = now
            pickle.dump(result, out)
            out.flush()


def run_cell(shell: Any, source: str, staged: bool) -> dict[str, Any]:
    """One cell: whether it was staged, how it went, and what it showed."""
    from jaxnb import Refused, stage
    from jaxnb.shell.comment import computes_with_jax, plain_cell

    result: dict[str, Any] = {"fate": "plain", "value": None, "error": "", "raised": "", "why": ""}
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
        try:
            cell = plain_cell(source, ast.parse(source))
        except SyntaxError:
            cell = None
        if cell is None:
            result["fate"] = "magics"
        elif computes_with_jax(cell, shell.user_ns):
            result["fate"] = "jax"
        if staged and result["fate"] == "jax":
            try:
                with shell.builtin_trap:
                    run = stage(source, shell.user_ns)
                wait_for_effects()
                fate = "split" if run.pieces > 1 or run.on_host else "whole"
                return {**result, "fate": fate, "value": run.value, "text": text.getvalue(), "why": run.line}
            except Refused as error:
                where = f" [line {error.line}]" if error.line else ""
                result |= {"fate": "refused", "why": f"{error.what.splitlines()[0]} {error.why}{where}"}
            except BaseException as error:
                calls = "".join(traceback.format_tb(error.__traceback__)[-2:])
                result |= {"raised": type(error).__name__, "why": f"{type(error).__name__}: {error}\n{calls}"}
            text.truncate(text.seek(0))
        done = shell.run_cell(source)  # also behind a cell that was not staged, so that the next ones find the names
        wait_for_effects()
    error = done.error_before_exec or done.error_in_exec
    quiet = shell.displayhook.semicolon_at_end_of_expression(shell.transform_cell(source)) if not error else True
    value = None if quiet else done.result
    result |= {"value": value, "text": text.getvalue(), "error": type(error).__name__ if error else ""}
    return result | {"why": result["why"] or str(error or "")}


def wait_for_effects() -> None:
    """Waits for what `jax.debug.print` still has to print."""
    if "jax" in sys.modules:
        sys.modules["jax"].effects_barrier()


# Objects as records --------------------------------------------------------------


def walk(names: Mapping[str, Any]) -> Iterator[tuple[str, Record]]:
    """A record of every object that the names reach, by the path to it; a second path to one says which was first."""
    todo = collections.deque((name, value, 0) for name, value in names.items())
    first: dict[int, str] = {}
    alive: list[Any] = []
    size = 0
    while todo and len(alive) < MOST_OBJECTS and size < MOST_BYTES:
        path, obj, depth = todo.popleft()
        if id(obj) in first:
            yield path, ("same as", first[id(obj)], None)
            continue
        alive.append(obj)
        try:
            kind, facts, numbers, edges = look(obj)
        except Exception as error:
            kind, facts, numbers, edges = "unreadable", type(error).__name__, None, ()
        if edges and not isinstance(obj, tuple):
            first[id(obj)] = path
        size += numbers.nbytes if numbers is not None else 0
        yield path, (kind, facts, numbers)
        todo.extend((path + label, child, depth + 1) for label, child in edges if depth < 12)


def look(obj: Any) -> tuple[str, Any, np.ndarray | None, Any]:
    """The record of an object, and labelled things that it holds."""
    import jax

    kind = f"{type(obj).__module__}.{type(obj).__qualname__}"
    if isinstance(obj, jax.core.Tracer):
        return "TRACER", type(obj).__name__, None, ()
    if type(obj) in SCALARS:
        return kind, ADDRESS.sub("", str(obj)), None, ()
    if type(obj) in (float, complex):
        return kind, "", np.asarray(obj), ()
    if isinstance(obj, jax.Array):
        if obj.is_deleted():
            return "jax.Array", "deleted", None, ()
        keys = jax.dtypes.issubdtype(obj.dtype, jax.dtypes.prng_key)
        facts = (str(obj.dtype), obj.shape, bool(getattr(obj, "weak_type", False)), type(obj.sharding).__name__)
        return "jax.Array", facts, sample(np.asarray(jax.random.key_data(obj) if keys else obj)), ()
    if isinstance(obj, np.ndarray | np.generic):
        facts = (str(obj.dtype), obj.shape)
        if obj.dtype.kind in "OSUMm" or obj.dtype.names:
            return kind, facts, None, (("<list>", obj.tolist()),)
        return kind, facts, sample(np.asarray(obj)), ()
    if isinstance(obj, list | tuple | collections.deque):
        return kind, len(obj), None, [(f"[{i}]", item) for i, item in enumerate(obj)]
    if isinstance(obj, Mapping):
        labels = ["".join(NUMBER.sub("#", ADDRESS.sub("", repr(key))).split())[:80] for key in obj]
        return kind, len(obj), None, [(f"[{label}]", item) for label, item in zip(labels, obj.values(), strict=True)]
    if isinstance(obj, set | frozenset):
        return kind, sorted(ADDRESS.sub("", repr(item)) for item in obj), None, ()
    if isinstance(obj, types.ModuleType | types.BuiltinFunctionType):
        return kind, obj.__name__, None, ()
    if isinstance(obj, type):
        own = vars(obj).items() if obj.__module__ == "__main__" else ()
        kept = [(f".{k}", v) for k, v in own if not k.startswith("_") or isinstance(v, types.FunctionType)]
        return "type", (obj.__module__, obj.__qualname__), None, kept
    if isinstance(obj, types.FunctionType):
        held = [("<defaults>", obj.__defaults__)]
        if obj.__module__ == "__main__":
            held += [(f"<{key}>", value) for key, value in vars(obj).items()]
            for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True):
                with contextlib.suppress(ValueError):  # an empty cell
                    held.append((f"<{name}>", cell.cell_contents))
        return kind, (obj.__module__, obj.__qualname__), None, held
    if isinstance(obj, functools.partial):
        return kind, "", None, (("<func>", obj.func), ("<args>", obj.args), ("<keywords>", obj.keywords))
    if isinstance(obj, types.MethodType):
        return kind, obj.__name__, None, (("<self>", obj.__self__),)
    if isinstance(obj, Iterator) or kind.startswith(OPAQUE):
        return kind, "", None, ()
    return kind, "", None, attributes(obj)


def attributes(obj: Any) -> list[tuple[str, Any]]:
    """An instance's attributes; what a library's class calls private (caches, ids) is its own business."""
    own = dict(getattr(obj, "__dict__", {}))
    for cls in type(obj).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            with contextlib.suppress(AttributeError):
                own.setdefault(slot, getattr(obj, slot))
    foreign = any(cls.__module__ not in ("__main__", "builtins") for cls in type(obj).__mro__)
    cached = {k for k in own if foreign and isinstance(getattr(type(obj), k, None), functools.cached_property)}
    own = {k: v for k, v in own.items() if k not in cached}
    return [(f".{k}", v) for k, v in own.items() if not k.startswith("_" if foreign else "__")]


def sample(array: np.ndarray) -> np.ndarray:
    """All of a small array, and evenly spread entries of a large one."""
    flat = array.reshape(-1)
    return flat[:: max(1, flat.size // MOST_NUMBERS)].copy()


def same(a: Record | None, b: Record | None) -> bool:
    """Whether two records are the same to the last bit."""
    if a is None or b is None or a[:2] != b[:2]:
        return a is b
    return a[2] is b[2] or (a[2] is not None and b[2] is not None and a[2].tobytes() == b[2].tobytes())


def difference(a: Record | None, b: Record | None) -> str:
    """What a plain and a staged record differ in, "" for nothing; with "~" in front if rounding may explain it."""
    if a is None or b is None:
        return "" if a is b else f"{a[0] if a else 'not there'} plain, {b[0] if b else 'not there'} staged"
    if a[:2] != b[:2]:
        if b[0] == "jax.Array" and a[0].startswith("numpy.") and a[1][1] == b[1][1] and a[2] is not None:
            return difference(("", a[1], a[2]), ("", a[1], b[2].astype(a[2].dtype)))  # rule 2, and the line says so
        return f"{a[0]} {a[1]} plain, {b[0]} {b[1]} staged"
    if same(a, b):
        return ""
    one, other = a[2], b[2]
    told = f"{one.reshape(-1)[:4]} plain, {other.reshape(-1)[:4]} staged"
    if one.dtype.kind in "biu" or one.shape != other.shape:
        return told
    if one.dtype.kind == "V" or one.itemsize == 2:
        one, other = one.astype(np.float32), other.astype(np.float32)
    finite = np.isfinite(one)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return f"{told}: nan or inf elsewhere"
    gap = np.max(np.abs(one - other)[finite], initial=0.0) / max(np.max(np.abs(one[finite]), initial=0.0), 1e-2)
    limit = TOLERANCE.get(a[2].dtype.name, 0.1)
    return "" if gap <= limit else f"{'~' if gap < 0.05 else ''}{told}: {gap:.1g} of the largest"


def text_difference(a: str, b: str) -> str:
    """The first line in which two printed texts differ, but for addresses and the last digits of numbers."""
    a, b = ADDRESS.sub("", a), ADDRESS.sub("", b)
    gap = np.inf
    if "".join(NUMBER.sub("#", a).split()) == "".join(NUMBER.sub("#", b).split()):
        one, other = (np.array([float(n) for n in NUMBER.findall(text)]) for text in (a, b))
        gap = np.nanmax(np.abs(one - other) / np.maximum(np.abs(one), 0.1), initial=0.0)
    if gap <= 1e-3:
        return ""
    lines = a.splitlines(), b.splitlines()
    counts = tuple(f"{len(text)} lines" for text in lines)
    x, y = next(((x, y) for x, y in zip(*lines, strict=False) if x != y), counts)
    return f"{'~' if gap < 0.05 else ''}printed {x[:200]!r} plain, {y[:200]!r} staged"


# Three runs, compared ------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What became of one cell in its `turn`-th run: one of `FATES`, and the line, the reason or the difference."""

    notebook: str
    cell: int
    turn: int
    fate: str
    detail: str

    def __str__(self) -> str:
        return f"{self.notebook} [{self.cell}]{' again' * self.turn}: {self.detail}"


def run_in_process(
    path: Path, how: str, seconds: float, runs: int, **environment: str
) -> tuple[list[dict[str, Any]], str]:
    """What the run of a notebook wrote, and how it ended if not well."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        command = [sys.executable, __file__, str(path), "--runs", str(runs), "--worker", how, str(out.fileno())]
        environment = {"JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0", **os.environ, "MPLBACKEND": "Agg", **environment}
        files: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": errors}
        child = subprocess.Popen(command, pass_fds=[out.fileno()], env=environment, start_new_session=True, **files)
        end = ""
        try:
            if child.wait(seconds) != 0:
                errors.seek(0)
                end = f"status {child.returncode}: {errors.read()[-300:].decode(errors='replace')}"
        except subprocess.TimeoutExpired:
            end = f"not done in {seconds:.0f} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, 9)
            child.wait()
        out.seek(0)
        results: list[dict[str, Any]] = []
        with contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                results.append(pickle.load(out))
        return results, end


def check_notebook(path: Path, name: str, seconds: float, runs: int) -> Iterator[Verdict]:
    """A verdict on every cell that all three runs reached."""
    older = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=SSE4_2"
    ran = [
        run_in_process(path, "plain", seconds, runs),
        run_in_process(path, "plain", seconds, runs, XLA_FLAGS=older),
        run_in_process(path, "staged", 2 * seconds, runs),
    ]
    states: list[dict[str, Record]] = [{}, {}, {}]
    spoilt: set[str] = set()  # names that differ since an earlier cell
    sources = dict(read_cells(path))
    unordered = any("jax.debug." in source for source in sources.values())  # which promises no order
    reached = 0
    for trio in zip(*(results for results, _ in ran), strict=False):
        touched: dict[str, None] = {}
        for state, result in zip(states, trio, strict=True):
            state.update(result["changed"])
            for gone in result["gone"]:
                state.pop(gone, None)
            touched |= dict.fromkeys([*result["changed"], *result["gone"]])
        one = trio[0]
        yield Verdict(
            name, one["cell"], one["turn"], *judge(trio, states, list(touched), spoilt, sources[one["cell"]], unordered)
        )
        reached += 1
    ends = [(how, end) for how, (results, end) in enumerate(ran) if end and len(results) == reached]
    for how, end in ends[:1]:
        fate = "wrong" if how == 2 and not end.startswith("not done") else "uncertain"
        yield Verdict(name, reached // runs + 1, reached % runs, fate, f"{'staged' if how == 2 else 'plain'}: {end}")


def judge(
    trio: tuple[dict[str, Any], ...],
    states: list[dict[str, Record]],
    touched: list[str],
    spoilt: set[str],
    source: str,
    unordered: bool,
) -> tuple[str, str]:
    """The fate of a cell, and what there is to say about it; adds to `spoilt`."""
    plain, again, staged = trio
    texts = [result["text"] for result in trio]
    if unordered:
        texts = ["\n".join(sorted(text.splitlines())) for text in texts]
    uncertain = bool(text_difference(*texts[:2])) or plain["error"] != again["error"] or "live_arrays(" in source
    found: list[tuple[str, str]] = []  # the name at the root, what differs
    if not uncertain and (told := text_difference(texts[0], texts[2])):
        found.append(("", told))
    roots = {path: re.split(r"[.\[<]", path, maxsplit=1)[0] or path for path in touched}
    unsure = {roots[path] for path in touched if difference(states[0].get(path), states[1].get(path))}
    uncertain |= bool(unsure)
    for path, root in roots.items():
        if root not in unsure and (told := difference(states[0].get(path), states[2].get(path))):
            found.append((root, f"{'~' * told.startswith('~')}{path}: {told.lstrip('~')}"))
    reads = set() if plain["fate"] == "magics" else {getattr(node, "id", "") for node in ast.walk(ast.parse(source))}
    inherited = bool(reads & spoilt)
    found = [(root, told) for root, told in found if root not in spoilt]
    spoilt |= ({root for root, _ in found} | unsure) - {"", "<value>"}
    worst = "; ".join(sorted((told for _, told in found), key=lambda told: (told.startswith("~"), len(told)))[:3])
    bad = "follows" if inherited else "wrong"
    if staged["raised"] != plain["error"] and staged["raised"]:
        return bad, f"{plain['error'] or 'runs'} plain, staged raised {staged['why']}"
    if plain["error"]:
        if staged["fate"] in ("whole", "split") and not uncertain:
            return bad, f"{plain['error']} plain, staged ran"
        return "fails plainly", f"{plain['error']}: {plain['why'][:200]}"
    if found:
        return "rounding" if bad == "wrong" and all(told.startswith("~") for _, told in found) else bad, worst
    if plain["fate"] != "jax" or staged["fate"] == "refused":
        return staged["fate"], staged["why"]
    return ("uncertain", "two plain runs differ") if uncertain else (staged["fate"], staged["why"])


def print_counts(verdicts: list[Verdict], name: str) -> None:
    counts = collections.Counter(verdict.fate for verdict in verdicts)
    print("  ".join(f"{counts[fate] or '-':>{max(len(fate), 5)}}" for fate in FATES) + f"  {name}", flush=True)


def print_summary(verdicts: list[Verdict]) -> None:
    """The totals, each reason of a refusal with its count and one example, and every cell that differs."""
    print_counts(verdicts, "in all")
    reasons = collections.defaultdict(list)
    for verdict in verdicts:
        if verdict.fate == "refused":
            reason = re.sub(r"\bline \d+", "line N", verdict.detail.partition(" [line")[0])
            reasons[re.sub(r"`[^`]*`", "`…`", reason)[:160]].append(verdict)
    for cells in sorted(reasons.values(), key=len, reverse=True):
        print(f"refused {len(cells)} times, as {cells[0]}")
    for fate in ("rounding", "follows", "wrong"):
        print("".join(f"{fate}: {verdict}\n" for verdict in verdicts if verdict.fate == fate), end="")


def main() -> int:
    told = "; ".join(f"{fate}: {meaning}" for fate, meaning in FATES.items())
    parser = argparse.ArgumentParser(description=__doc__, epilog=told)
    parser.add_argument("folder", type=Path, help="a folder of notebooks, or one of them")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one plain run of a notebook")
    parser.add_argument("--runs", type=int, default=1, help="how often each cell is run before the next one")
    parser.add_argument("--all", action="store_true", help="say of every cell what became of it")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        how, descriptor = options.worker
        with open(int(descriptor), "wb", closefd=False) as out:
            run_notebook(options.folder, how == "staged", out, options.runs)
        return 0
    folder = options.folder.resolve()
    verdicts: list[Verdict] = []
    print("  ".join(f"{fate:>5}" for fate in FATES) + "  notebook")
    for path in [folder] if folder.is_file() else sorted([*folder.rglob("*.ipynb"), *folder.rglob("*.md")]):
        if read_cells(path):
            name = str(path.relative_to(folder)) if path != folder else path.name
            found = list(check_notebook(path, name, options.timeout, options.runs))
            print_counts(found, name)
            if options.all:
                print("\n".join(f"  {verdict.fate:14} {verdict}" for verdict in found), flush=True)
            verdicts += found
    print_summary(verdicts)
    return int(any(verdict.fate == "wrong" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
