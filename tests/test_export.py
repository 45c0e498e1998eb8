"""A cell as plain JAX gives what the cell gave: as the text of a file, and as a function.

The corpus is sampled, every fourth case from a drawn start; `JAXNB_SEED` repeats a draw and `JAXNB_DEEP=1` takes all.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import dataclasses
import inspect
import io
import linecache
import re
import types
from typing import Any

import differential
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cells import CASES, Case
from drawing import DEEP, drawn_seed

import jaxnb
from jaxnb.errors import Refused
from jaxnb.options import StageOptions
from jaxnb.runtime import libraries
from jaxnb.staging.cells.cell import parse_cell
from jaxnb.staging.export import function as export, text as export_text
from jaxnb.staging.export.helpers import attached_to
from jaxnb.staging.session.session import Session

SEED = drawn_seed()
OWN_CACHE = ("cached-table-compared", "cached-table-compared-by-a-function", "cached-table-made-by-the-cell")
"""What compares or counts what a cache keeps, which a file has for itself."""
ELSEWHERE = ("scalars-made-like-others",)
"""What makes arrays on another device, where a function under `jax.jit` makes all on its own."""
HERE = [case for case in CASES if case.theme != "placements" and case.name not in OWN_CACHE + ELSEWHERE]
COMMITTED = ("reference-that-is-made-and-read", "computed-while-tracing")
"""What the cell commits to its device, and `jax.jit` does not."""
SAMPLED = [case for case in (HERE if DEEP else HERE[SEED % 4 :: 4]) if not case.refused]
REFUSED: collections.Counter[str] = collections.Counter()
EXPORTED: list[str] = []
FUNCTIONS: list[str] = []


@dataclasses.dataclass
class Recorded:
    """A run, and what an export needs of it."""

    run: Any
    cell: Any
    pieces: Any
    before: dict[str, Any]
    after: dict[str, Any]
    text: str

    def source(self, name: str = "cell") -> str:
        return export.to_source(
            self.cell, self.pieces, self.before, results=self.after, value=self.run.value, name=name
        )

    def function(self, name: str = "f") -> Any:
        return export.as_function(self.cell, self.pieces, self.before, name)


class Recorder(Session):
    """A session that keeps what a run worked with."""

    seen: Any = None

    def _describe(self, running: Any, *more: Any) -> Any:
        self.seen = running
        return super()._describe(running, *more)


class NotStaged(Exception):
    """The cell raised, or was refused."""


def record(source: str, namespace: dict[str, Any], **options: Any) -> Recorded:
    session = Recorder()
    try:
        before = export.remember(parse_cell(source, filename="<cell to come>"), namespace)
        with contextlib.redirect_stdout(io.StringIO()) as text:
            run = session.stage(source, namespace, StageOptions.of(options))
    except Exception as error:
        raise NotStaged from error
    running = session.seen
    if running is None:
        raise NotStaged
    pieces = [ran.piece for ran in running.ran.values() if ran.cell is running.cell]
    after = {name: namespace[name] for name in {**run.outputs, **before} if name in namespace}
    return Recorded(run, running.cell, pieces, before, after, text.getvalue())


def cells(*setup: str) -> dict[str, Any]:
    """A namespace in which some cells were run."""
    forget_cells()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, source in enumerate((*setup,)):
        differential.execute(source, namespace, f"<cell {number}>")
    return namespace


def forget_cells() -> None:
    for name in [name for name in linecache.cache if name.startswith("<")]:
        del linecache.cache[name]


def module_of(text: str) -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "<exported>", "exec", dont_inherit=True), module)
    return module


# The corpus ----------------------------------------------------------------------


def plainly(monkeypatch: pytest.MonkeyPatch, committed: bool = True) -> None:
    """Compares functions by kind, dicts without the order of their keys, which `jax.jit` sorts, and arrays without
    what says where they lie: one program gives all of them alike."""
    look = differential.look

    def loosely(obj: Any, namespace: dict[str, Any]) -> differential.Look:
        record = look(obj, namespace)
        if isinstance(obj, types.FunctionType):
            return differential.Look(record.kind, identity=False)
        if isinstance(obj, jax.Array) and len(record.facts) > 1:
            return dataclasses.replace(record, facts=record.facts[: 4 if committed else 3])
        facts = tuple(re.sub(r"\w+\.<locals>\.", "", fact) if type(fact) is str else fact for fact in record.facts)
        record = dataclasses.replace(record, kind=record.kind.rpartition("<locals>.")[2], facts=facts)
        if isinstance(obj, dict):
            return dataclasses.replace(record, edges=tuple(sorted(record.edges, key=lambda edge: edge[0])))
        return record

    monkeypatch.setattr(differential, "look", loosely)
    monkeypatch.setattr(differential.Pairing, "holds", lambda *_: True)


def entry_of(case: Case, module: dict[str, Any]) -> dict[str, Any]:
    """The state before the cell, made with the classes of the exported file."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for source in case.setups:
            for node in ast.parse(source).body:
                defined = node.name if isinstance(node, ast.ClassDef) else attached_to(node)
                if isinstance(module.get(defined), type):
                    namespace[defined] = module[defined]
                else:
                    differential.execute(ast.unparse(node), namespace, "<entry>")
    return namespace


def check_function(case: Case, recorded: Recorded, namespace: dict[str, Any]) -> None:
    """Calls the cell as a function, without `jit`, and compares what it returns."""
    try:
        function = recorded.function()
    except Refused:
        return
    arguments = entry_of(case, namespace)
    before = differential.snapshot(arguments)
    try:
        given = function(*(arguments[name] for name in inspect.signature(function).parameters))
    except Exception as error:
        raise AssertionError(f"{error!r}\n{case.setup}\n----\n{case.cell}") from error
    trailing = recorded.cell.statements[-1].trailing and not recorded.cell.silent
    given = {"value": given} if trailing else given
    expected = recorded.after | ({"value": recorded.run.value} if trailing else {})
    pairing = differential.Pairing(case, namespace, arguments)
    loosely = dataclasses.replace(case, numpy_becomes_jax=tuple(given), tolerance=case.tolerance or 1e-4)
    pairing.case = loosely
    pairs = [(name, expected[name], value) for name, value in given.items() if name in expected]
    problems = [
        text for text in pairing.compare(pairs) if "jax.Array plain, numpy." not in text
    ]  # it was not under jit
    assert not problems, f"{problems}\n{case.cell}"
    assert not differential.changes_since(before, arguments)
    FUNCTIONS.append(case.name)


@pytest.mark.parametrize("case", SAMPLED, ids=lambda case: f"{case.theme}-{case.name}-seed={SEED}")
def test_file_gives_what_the_run_gave(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    plainly(monkeypatch, case.name not in COMMITTED)
    monkeypatch.setattr(libraries, "_known_packages", {})  # other tests may have had modules of the same names
    forget_cells()
    with differential._context(case):
        namespace = differential.new_namespace(case)
        try:
            recorded = record(case.cell, namespace, **case.options)
        except NotStaged:
            return
        check_function(case, recorded, namespace)
        try:
            text = recorded.source()
        except Refused as refused:
            REFUSED[re.sub(r"`[^`]*`|line \d+|\[.*", "…", refused.what)] += 1
            return
        module = module_of(text)
        function = module.get("run_cell") or module["cell"]
        arguments = entry_of(case, module)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            given = function(*(arguments[name] for name in inspect.signature(function).parameters))
        if "Returns a dict" not in function.__doc__:
            given = {} if "Returns nothing" in function.__doc__ else {"value": given}
        value = recorded.run.value
        expected = recorded.after | ({"value_": value} if "value" in recorded.run.outputs else {"value": value})
        pairing = differential.Pairing(case, namespace, module)
        problems = pairing.compare([(name, expected[name], value) for name, value in given.items()])
        assert not problems, f"{problems}\n{case.cell}\n{text}"
        assert differential.same_text(recorded.text, printed.getvalue())
        for name, value in recorded.run.outputs.items():
            said = name in given or f"`{name}`" in function.__doc__ or re.search(rf"\b{name}\b", text)
            assert said or isinstance(value, types.ModuleType) or name.startswith("__"), f"{name} is lost\n{text}"
        EXPORTED.append(case.name)


def test_much_of_the_corpus_is_exported(capsys: pytest.CaptureFixture[str]) -> None:
    refused = sum(REFUSED.values())
    with capsys.disabled():
        print(f"\nexported {len(EXPORTED)}, refused {refused}, as functions {len(FUNCTIONS)} (seed {SEED})")
        for reason, count in REFUSED.most_common():
            print(f"  {count:3} {reason}")
    if len(EXPORTED) + refused > 100:
        assert len(EXPORTED) > refused


# Goldens -------------------------------------------------------------------------

README = """\
import jax, jax.numpy as jnp
images, labels = jnp.ones((8, 64)), jnp.arange(8)
k1, k2 = jax.random.split(jax.random.key(0))
w1, b1, w2 = jax.random.normal(k1, (64, 128)) * 0.1, jnp.zeros(128), jax.random.normal(k2, (128, 10)) * 0.1
"""


def test_loss_of_a_network() -> None:
    recorded = record(
        """\
# forward
hidden = jnp.tanh(images @ w1 + b1)
logits = hidden @ w2
loss = -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])
loss
""",
        cells(README),
    )
    assert same(
        recorded.source("loss_cell"),
        '''\
"""The notebook cell `loss_cell` as plain JAX: call `loss_cell`."""

import jax
import jax.numpy as jnp


@jax.jit
def loss_cell(images, w1, b1, w2, labels):
    """Returns a dict of `hidden`, `logits` and `loss`, and the value of the last
    expression as `value`.
    """
    # forward
    hidden = jnp.tanh(images @ w1 + b1)
    logits = hidden @ w2
    loss = -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])
    return {"hidden": hidden, "logits": logits, "loss": loss, "value": loss}
''',
    )


def test_helpers_and_a_static_int() -> None:
    recorded = record(
        "y = layer(x, w)[:n]\ny.sum()",
        cells(
            "import jax, jax.numpy as jnp\nfrom functools import partial\nx, w = jnp.ones(4), jnp.ones((4, 4))",
            "n = 3\nscale = 0.5\nshift = jnp.ones(4)",
            "# squashes\n@partial(jax.jit, static_argnames='power')\n"
            "def squash(v, power=2):\n    return jnp.tanh(v) ** power",
            'def layer(v, w):\n    """One\n  layer."""\n    return squash(v @ w) * scale + shift',
        ),
    )
    assert same(
        recorded.source(),
        '''\
"""The notebook cell `cell` as plain JAX: call `cell`."""

import functools
import jax
import jax.numpy as jnp
from functools import partial

scale = 0.5


# squashes
@partial(jax.jit, static_argnames="power")
def squash(v, power=2):
    return jnp.tanh(v) ** power


@functools.partial(jax.jit, static_argnames=("n",))
def cell(x, w, n, shift):
    """Returns a dict of `y`, and the value of the last expression as `value`."""

    def layer(v, w):
        """One
        layer."""
        return squash(v @ w) * scale + shift

    y = layer(x, w)[:n]
    value = y.sum()
    return {"y": y, "value": value}
''',
    )


def test_host_statements_around() -> None:
    recorded = record(
        "n = len(names)\ny = jnp.sin(x) * n\ntotal = y.sum()\nprint('done', n)",
        cells("import jax, jax.numpy as jnp\nx = jnp.ones(3)\nnames = ('a', 'b')"),
    )
    assert same(
        recorded.source(),
        '''\
"""The notebook cell `cell` as plain JAX: call `run_cell`."""

import functools
import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames=("n",))
def cell(x, n):
    y = jnp.sin(x) * n
    total = y.sum()
    return y, total


def run_cell(names, x):
    """Returns a dict of `n`, `y` and `total`."""
    n = len(names)
    y, total = cell(x, n)
    print("done", n)
    return {"n": n, "y": y, "total": total}
''',
    )


def same(text: str, golden: str) -> bool:
    """Whether a file is the one that is expected; its layout counts where there is a formatter."""
    if export_text.format_source("x = ''") == "x = ''":
        return _without_layout(text) == _without_layout(golden)
    assert text == golden
    return True


def _without_layout(text: str) -> list[str]:
    return " ".join(ast.unparse(ast.parse(text)).replace("'", '"').split()).split()


def test_text_needs_no_formatter(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = record("y = x * 2\nz = y + x\nz", cells("import jax.numpy as jnp\nx = jnp.ones(3)"))
    formatted = recorded.source()
    monkeypatch.setattr(export_text.shutil, "which", lambda *_, **__: None)
    assert recorded.source() == formatted


def test_strings_of_several_lines_keep_their_text() -> None:
    text = 'y = x * len("""a\n  b\nc""")\ntext = f"""{1}\n  two"""\nz = (x +\n  y)\nz'
    recorded = record(text, cells("import jax.numpy as jnp\nx = jnp.ones(3)"))
    module = module_of(recorded.source())
    given = (module.get("run_cell") or module["cell"])(jnp.ones(3))
    assert given["y"].tolist() == [7.0] * 3
    assert given["value"].tolist() == [8.0] * 3


def test_changed_containers_are_returned() -> None:
    recorded = record("history.append((x**2).mean())", cells("import jax.numpy as jnp\nx = jnp.ones(3)\nhistory = []"))
    text = recorded.source()
    assert "changes `history` in place" in text
    own: list[Any] = []
    assert len(module_of(text)["cell"](x=jnp.ones(3), history=own)["history"]) == 1
    assert own == []


# Refusals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setup", "cell", "said"),
    [
        ("f = eval('lambda a: a * 2')", "y = f(x)", "`f`"),
        ("class Box:\n    pass\nbox = Box()\nbox.w = x", "y = box.w * 2", "Box"),
        ("def f(a):\n    global count\n    count = 1\n    return a", "y = f(x)", "count"),
    ],
)
def test_what_no_file_can_do_is_refused(setup: str, cell: str, said: str) -> None:
    recorded = record(cell, cells("import jax.numpy as jnp\nx = jnp.ones(3)", setup))
    with pytest.raises(Refused, match=re.escape(said)):
        recorded.source()


def test_names_of_functions_are_checked() -> None:
    recorded = record("y = x * 2", cells("import jax.numpy as jnp\nx = jnp.ones(3)"))
    for name in ("a b", "def"):
        with pytest.raises(Refused):
            recorded.function(name)
        with pytest.raises(Refused):
            recorded.source(name)


# Functions -----------------------------------------------------------------------


SETUP = """\
import jax, jax.numpy as jnp
x, w = jnp.arange(3.0), jnp.eye(3)
k = jnp.ones(3)
def helper(v):
    return v * k
"""


def test_function_has_a_signature_and_checks_its_arguments() -> None:
    f = record("y = helper(w @ x)\ny.sum()", cells(SETUP)).function("loss")
    assert f.__name__ == "loss"
    assert list(inspect.signature(f).parameters) == ["w", "x", "k"]
    assert "w, x, k" in f.__doc__
    one = f(jnp.eye(3), jnp.ones(3), jnp.ones(3))
    assert float(one) == float(f(k=jnp.ones(3), x=jnp.ones(3), w=jnp.eye(3))) == 3.0
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'k'"):
        f(jnp.eye(3), jnp.ones(3))
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        f(jnp.eye(3), jnp.ones(3), jnp.ones(3), z=1)


def test_function_without_trailing_value_returns_a_dict() -> None:
    f = record("y = w @ x\nz = y * 2", cells(SETUP)).function()
    given = f(jnp.eye(3), jnp.ones(3))
    assert list(given) == ["y", "z"]
    assert given["z"].tolist() == [2.0] * 3


def test_function_composes() -> None:
    namespace = cells(SETUP)
    f = record("y = helper(w @ x)\n(y**2).sum()", namespace).function()
    w, x, k = jnp.eye(3) * 2, jnp.arange(3.0), jnp.ones(3) * 3
    np.testing.assert_allclose(jax.grad(f, argnums=1)(w, x, k), 2 * 36 * x)
    np.testing.assert_allclose(jax.jit(f)(w, x, k), f(w, x, k))
    xs = jnp.stack([x, x + 1])
    np.testing.assert_allclose(jax.vmap(f, (None, 0, None))(w, xs, k), [f(w, x, k), f(w, x + 1, k)])
    namespace["f"] = f
    runs = [jaxnb.stage("g = jax.grad(f, argnums=1)(w, x, k)", namespace) for _ in range(2)]
    np.testing.assert_allclose(namespace["g"], 2 * jnp.arange(3.0))
    assert [run.reused for run in runs] == [False, True]


def test_function_leaves_the_namespace_alone() -> None:
    namespace = cells(SETUP)
    f = record("def inner(v):\n    return v + x\ny = inner(helper(w @ x))\ny", namespace).function()
    before = differential.snapshot(namespace)
    f(jnp.eye(3) * 5, jnp.ones(3), jnp.ones(3))
    jax.jit(f)(jnp.eye(3) * 5, jnp.ones(3), jnp.ones(3))
    assert not differential.changes_since(before, namespace)
    namespace["k"] = None
    assert f(jnp.eye(3), jnp.ones(3), jnp.ones(3) * 4).tolist() == [5.0] * 3


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("print('now')\ny = x * 2", "print"),
        ("history.append(x * 2)", "in place"),
        ("y = x * 2\ndel w", "deletes `w`"),
        ("def g():\n    global x\n    x = 1\ny = x * 2", "global"),
    ],
)
def test_function_of_a_cell_with_effects_is_refused(cell: str, said: str) -> None:
    recorded = record(cell, cells(SETUP, "history = []"))
    with pytest.raises(Refused, match=said):
        recorded.function()


def test_a_container_that_was_filled_since_is_not_written_as_it_was_made() -> None:
    setup = "import jax.numpy as jnp\nx = jnp.ones(3)", "acts = {'sin': jnp.sin}"
    assert "acts = {" in record("y = acts['sin'](x)", cells(*setup)).source()
    with pytest.raises(Refused, match="acts"):
        record("y = acts['sin'](x)", cells(*setup, "acts['cos'] = jnp.cos")).source()


@pytest.mark.parametrize("other", ["await wait()", "return 1", "y = ("])
def test_cells_that_only_a_notebook_or_nobody_can_run_stand_beside_others(other: str) -> None:
    namespace = cells("import jax.numpy as jnp\nx = jnp.ones(3)", "acts = {'sin': jnp.sin}")
    linecache.cache["<another cell>"] = (len(other), None, [other + "\n"], "<another cell>")
    assert "acts = {" in record("y = acts['sin'](x)", namespace).source()
