"""Which program serves a run, which are kept, and in words why none did."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxnb import _jax
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.runtime import memory_maps, most_memory_maps
from jaxnb.staging.cells.cell import parse_cell
from jaxnb.staging.objects.paths import render_path
from jaxnb.staging.reuse.cache import CodeRecord, explain_change, find_piece, with_other_numbers
from jaxnb.staging.session.plan import make_plan
from jaxnb.staging.session.run import Run
from jaxnb.staging.session.session import Session
from jaxnb.staging.trace.piece import Piece
from jaxnb.staging.trace.stage import trace_piece

Namespace = dict[str, Any]
HOME = {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, "functools": functools, "NS": SimpleNamespace}


def piece_of(cell: str, ns: Namespace, record: CodeRecord | None = None, device: Any = None) -> Piece:
    source = parse_cell(cell, filename="<test cell>")
    plan = make_plan(source, 0, len(source.statements), frozenset())
    return trace_piece(source, plan, ns, (record or CodeRecord()).choices, _jax.trace_context(), device)


def namespace(setup: str) -> Namespace:
    ns = dict(HOME, x=jnp.ones(3))
    exec(setup, ns)
    return ns


# --- in words ------------------------------------------------------------------------------------------------------

CHANGES = {
    "dtype": ("", "x = x.astype(jnp.bfloat16)", "y = x * 2", "x float32[3] → bfloat16[3]"),
    "shape": ("", "x = jnp.ones((2, 4))", "y = x * 2", "x float32[3] → float32[2,4]"),
    "weak type": ("", "x = jnp.asarray(1.0)", "y = x * 2", "x float32[3] → ~float32[]"),
    "NumPy to JAX": ("a = np.ones(3, 'f')", "a = x", "y = x * a", "a NumPy float32[3] → float32[3]"),
    "NumPy shape": (
        "a = np.ones(3, 'f')",
        "a = np.ones((1, 3), 'f')",
        "y = x * a",
        "a NumPy float32[3] → NumPy float32[1,3]",
    ),
    "text": ("s = 'a'", "s = 'b'", "y = x if s == 'a' else -x", "s 'a' → 'b'"),
    "bool": ("s = True", "s = False", "y = x if s else -x", "s True → False"),
    "None": ("s = None", "s = 'b'", "y = x if s is None else -x", "s None → 'b'"),
    "int": ("n = 2", "n = 3", "y = x ** n", "n 2 → 3"),
    "int to float": ("n = 2", "n = 2.5", "y = x * n", "n 2 → a traced float"),
    "static float": ("c = 2.0", "c = 3.0", "y = x if c > 1 else -x", "c 2.0 → 3.0"),
    "length": (
        "l = [x]",
        "l = [x, x + 1]",
        "y = sum(l)",
        "l a list of 1 → a list of 2",
    ),
    "list to tuple": ("l = [x]", "l = (x,)", "y = l[0]", "l a list of 1 → a tuple of 1"),
    "keys": (
        "d = {'a': x}",
        "d = {'b': x}",
        "y = [v for v in d.values()]",
        "d a dict with keys 'a' → a dict with keys 'b'",
    ),
    "inside": ("d = {'a': [x, 1]}", "d = {'a': [x, 2]}", "y = d['a'][0] * d['a'][1]", "d['a'][1] 1 → 2"),
    "attribute": ("o = NS(n=1)", "o = NS(n=2)", "y = x * o.n", "o.n 1 → 2"),
    "function": ("def f(a): return a", "def f(a): return -a", "y = f(x)", "the code of f changed"),
    "closure": (
        "f = (lambda k: lambda a: a * k)(2)",
        "f = (lambda k: lambda a: a * k)(3)",
        "y = f(x)",
        "k (closure of f) 2 → 3",
    ),
    "default": ("def f(a, k=2): return a * k", "def f(a, k=3): return a * k", "y = f(x)", "f (defaults)[0] 2 → 3"),
    "jit": (
        "g = lambda a, n: a * n\nf = jax.jit(g)",
        "f = jax.jit(g, static_argnums=1)",
        "y = f(x, 2)",
        "the jit options of f changed",
    ),
    "alias": ("z = x", "z = x + 1", "y = x is z\nw = x + z", "z is no longer the same object as another input"),
    "no alias": ("z = x + 1", "z = x", "y = x is z\nw = x + z", "z is now the same object as another input"),
    "content": (
        "a = np.array(['a', 'b'])",
        "a = np.array(['a', 'c'])",
        "y = x * len(a[1])",
        "a other content → other content",
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_changed_is_said(kind: str) -> None:
    setup, change, cell, said = CHANGES[kind]
    ns = namespace(setup)
    record = CodeRecord()
    old = piece_of(cell, ns, record)
    exec(change, ns)
    new = piece_of(cell, ns, record)
    assert explain_change(old, new) == said.split("|")


@pytest.mark.parametrize("kind", CHANGES)
def test_what_did_not_change_is_not_said(kind: str) -> None:
    ns = namespace(CHANGES[kind][0])
    cell = CHANGES[kind][2]
    assert explain_change(piece_of(cell, ns), piece_of(cell, ns)) == []


def test_several_changes_are_several_sentences() -> None:
    ns = namespace("s, d = 'a', {'n': 1}")
    cell = "y = (x if s == 'a' else -x) * d['n']"
    old = piece_of(cell, ns)
    exec("s, x, d = 'b', jnp.ones(4), {'n': 2}", ns)
    assert set(explain_change(old, piece_of(cell, ns))) == {"s 'a' → 'b'", "x float32[3] → float32[4]", "d['n'] 1 → 2"}


ANYTHING = {
    "nothing": "del v",
    "class": "v = float",
    "class of containers": "v = dict",
    "own class": "class v: pass",
    "own object": "class C: pass\nv = C()",
    "number": "v = 2.0",
    "int": "v = 3",
    "complex": "v = 1j",
    "None": "v = None",
    "text": "v = 'a'",
    "empty tuple": "v = ()",
    "tuple": "v = (1, 2)",
    "list": "v = [1, [2]]",
    "set": "v = {1, 2}",
    "dict": "v = {'a': 1}",
    "dict of classes": "v = {'a': dict, 2: list}",
    "function": "def v(): return 1",
    "built-in function": "v = len",
    "jitted function": "v = jax.jit(lambda a: a)",
    "method": "v = [].append",
    "partial": "v = functools.partial(max, 1)",
    "module": "import json as v",
    "array": "v = jnp.ones(3)",
    "key": "v = jax.random.key(0)",
    "NumPy": "v = np.ones(3)",
    "NumPy number": "v = np.float32(2)",
    "NumPy objects": "v = np.array([None, 1], object)",
    "buffer": "v = bytearray(b'abc')",
    "range": "v = range(3)",
    "slice": "v = slice(1, 2)",
    "dtype": "v = np.dtype('f')",
    "decimal": "import decimal\nv = decimal.Decimal(1)",
    "enum": "import enum\nclass E(enum.Enum):\n    A = 1\nv = E.A",
    "data class": "import dataclasses\n@dataclasses.dataclass\nclass C:\n    k: float = 2.0\nv = C()",
    "weak reference": "import weakref\nv = weakref.ref(jnp)",
    "sharding": "v = jax.sharding.PartitionSpec('x')",
}


def test_whatever_becomes_of_a_value_can_be_said() -> None:
    pieces: list[Piece] = []
    for text in ANYTHING.values():
        ns = namespace("v = 1\nseen = lambda *a: 1.0")
        exec(text, ns)
        pieces.append(piece_of("y = x * seen(v)" if "v" in ns else "y = x * seen(1)", ns))
    for old in pieces:
        for new in pieces:
            said = explain_change(old, new)
            assert all(said) and (bool(said) or old.key == new.key)


def test_the_device_and_the_context_are_said() -> None:
    ns, (one, other) = namespace(""), jax.devices("cpu")[:2]
    reasons = explain_change(piece_of("y = x * 2", ns, device=one), piece_of("y = x * 2", ns, device=other))
    assert reasons == [f"device {one} → {other}"]
    session = new_session()
    session.stage("y = x @ x", ns, StageOptions())
    with jax.default_matmul_precision("highest"):
        run = session.stage("y = x @ x", ns, StageOptions())
    assert run.retrace is not None and "default_matmul_precision" in run.retrace.reasons[0]


def test_a_sharding_is_said() -> None:
    ns = namespace("")
    ns["x"] = jax.device_put(jnp.ones(8), jax.devices("cpu")[0])
    old = piece_of("y = x * 2", ns)
    mesh = jax.sharding.Mesh(jax.devices("cpu")[:4], ("i",))
    ns["x"] = jax.device_put(jnp.ones(8), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i")))
    (reason,) = explain_change(old, piece_of("y = x * 2", ns))
    assert reason.startswith("x float32[8] on ") and reason.endswith(f"on {ns['x'].sharding.spec}")


# --- ints ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ("n = 3", {"n"}),
        ("n, d = 3, {'m': 5}", {"n", "d['m']"}),
        ("", set()),
        ("n = 3.0", None),
        ("n = True", None),
        ("n, s = 3, 'b'", None),
        ("n, x = 3, jnp.ones(4)", None),
        ("n, d = 3, {'m': 4, 'k': 5}", None),
    ],
)
def test_numbers_that_changed_alone(change: str, paths: set[str] | None) -> None:
    ns = namespace("n, s, d = 2, 'a', {'m': 4}")
    record = CodeRecord()
    old = piece_of("y = x * n * d['m'] * len(s)", ns, record)
    exec(change, ns)
    found = with_other_numbers(record, [old], ns, None)
    assert (None if found is None else {render_path(path) for path in found[1]}) == (paths or None)


# --- finding and keeping -------------------------------------------------------------------------------------------


def test_a_piece_is_found_where_nothing_of_its_key_changed() -> None:
    record, ns = CodeRecord(), namespace("lr, f = 0.5, lambda a: a + 1")
    piece = piece_of("y = f(x) * lr", ns, record)
    record.use(piece, 4)

    def found(**changes: Any) -> bool:
        here = {**ns, **changes}
        pair = find_piece(record, 0, here, _jax.trace_context(), None)
        assert pair is None or (pair[0] is piece and len(pair[1].leaves) == len(piece.paths))
        return pair is not None

    assert found() and found(x=jnp.zeros(3)) and found(lr=0.1) and found(unread=1)
    assert not found(x=jnp.zeros(4)) and not found(lr="a") and not found(f=jnp.sin)
    assert find_piece(record, 1, ns, _jax.trace_context(), None) is None
    with jax.default_matmul_precision("highest"):
        assert not found()
    assert find_piece(record, 0, ns, _jax.trace_context(), jax.devices("cpu")[1]) is None


def test_a_piece_that_must_not_be_replayed_is_not_found() -> None:
    record, ns = CodeRecord(), namespace("import random")
    record.use(piece_of("r = random.random()\ny = x * r", ns, record), 4)
    assert record.pieces[0].reasons and find_piece(record, 0, ns, _jax.trace_context(), None) is None


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_the_most_recently_used_are_kept(limit: int) -> None:
    record, ns = CodeRecord(), namespace("")
    pieces = []
    for size in range(1, 6):
        ns["x"] = jnp.ones(size)
        pieces.append(piece_of("y = x * 2", ns, record))
        record.use(pieces[-1], limit)
        if size > 1 and limit > 1:
            record.use(pieces[0], limit)  # the first is used again and again
    kept = [*pieces[-(limit - 1) :], pieces[0]] if limit > 1 else pieces[-1:]
    assert [piece.n_outputs for piece in record.pieces] == [1] * limit and set(map(id, record.pieces)) == set(
        map(id, kept)
    )
    assert record.starting_at(0) == record.pieces[::-1] and record.last[0] is record.pieces[-1]


class Beginning:
    """A piece as far as it matters when it is dropped."""

    def __init__(self, start: int) -> None:
        self.plan, self.used = SimpleNamespace(start=start), 0

    def note_use(self, run: int) -> None:
        self.used = run


def test_the_limit_is_one_of_each_start() -> None:
    record = CodeRecord()
    pieces: list[Any] = [Beginning(start) for start in (0, 2, 0, 2, 0)]
    for piece in pieces:
        record.use(piece, 2)
    assert record.pieces == pieces[1:] and record.starting_at(2) == [pieces[3], pieces[1]]


LOOP = "for f in fs:\n    v = f(x)\n    print(f'{v.sum():.4f}')"
"""Python prints in each turn: what stands before is a piece of its own, with one program for each function."""


def turn(number: int) -> Any:
    """A function with a code of its own."""
    made: Namespace = {}
    exec(f"def f(a): return a * {number} + {number % 3}", made)
    return made["f"]


def run_loop(session: Session, ns: Namespace, functions: Sequence[Any], cell: str = LOOP) -> Run:
    """Runs the loop over these functions; what it binds and prints is what the plain one does."""
    plain, printed, staged = dict(ns, fs=functions), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(cell, plain)
    ns["fs"] = functions
    with contextlib.redirect_stdout(staged):
        run = session.stage(cell, ns, StageOptions())
    assert staged.getvalue() == printed.getvalue()
    np.testing.assert_allclose(ns["v"], plain["v"], rtol=1e-6)
    return run


@pytest.mark.parametrize("count", [2, 5, 12])
def test_the_turns_of_a_loop_do_not_push_out_one_another(count: int) -> None:
    session, ns, functions = new_session(cache_size=4), namespace(""), [turn(number) for number in range(count)]
    assert not run_loop(session, ns, functions).reused
    for here in (functions, functions, functions[::-1], functions):
        assert run_loop(session, ns, here).reused
    assert len(list(session.programs())) == count
    ns["x"] = jnp.linspace(0.0, 1.0, 6)  # and one run with other arrays does not push out what the last one needed
    assert not run_loop(session, ns, functions).reused
    assert run_loop(session, ns, functions).reused


def test_the_turns_of_a_loop_inside_a_loop_do_not_push_out_one_another() -> None:
    session, ns, functions = new_session(cache_size=4), namespace(""), [turn(number) for number in range(6)]
    cell = "for n in range(2):\n    for f in fs:\n        v = f(x) + n\n        print(f'{v.sum():.4f}')"
    run_loop(session, ns, functions, cell)
    run_loop(session, ns, functions, cell)
    assert run_loop(session, ns, functions, cell).reused


def test_a_loop_keeps_what_two_runs_have_used_and_no_more() -> None:
    session, ns = new_session(cache_size=4), namespace("")
    for run in range(6):
        assert not run_loop(session, ns, [turn(5 * run + number) for number in range(5)]).reused
        assert len(list(session.programs())) == min(5 * (run + 1), 10)
    few = [turn(25)]
    for _ in range(3):
        assert run_loop(session, ns, few).reused  # one that needs few is back at the limit
    session.keep_programs(4)
    assert len(list(session.programs())) == 4


def test_a_loop_that_never_comes_to_rest_is_bounded_and_what_is_said_of_it_is_true() -> None:
    session, ns, functions = new_session(cache_size=4), namespace(""), [turn(number) for number in range(70)]
    run_loop(session, ns, functions)
    assert len(list(session.programs())) == 64
    run = run_loop(session, ns, functions)
    assert run.retrace is not None and len(list(session.programs())) == 64
    assert "there was a program for this before, and only 64 are kept" in run.retrace.reasons
    session.keep_programs(128)  # as it is told to
    assert not run_loop(session, ns, functions).reused
    assert run_loop(session, ns, functions).reused


def test_a_smaller_limit_leaves_a_loop_what_its_last_run_used() -> None:
    session, ns = new_session(cache_size=8), namespace("")
    older, functions = [turn(number) for number in range(3)], [turn(10 + number) for number in range(5)]
    run_loop(session, ns, older)
    for _ in range(2):
        run_loop(session, ns, functions)
    assert len(list(session.programs())) == 8
    session.keep_programs(2)
    assert len(list(session.programs())) == 5 and run_loop(session, ns, functions).reused


def test_a_block_that_runs_once_a_run_keeps_no_more_than_the_limit() -> None:
    record = CodeRecord(in_loop=True)
    pieces: list[Any] = [Beginning(0) for _ in range(6)]
    for run, piece in enumerate(pieces):
        record.use(piece, 4, run)
    assert record.pieces == pieces[-4:]


def test_programs_of_old_cells_go_where_the_process_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes memory maps, of which Linux allows some 65,000; XLA ends the process that wants more."""
    session, ns = new_session(), namespace("")
    cells = [f"y = x + {number}" for number in range(6)]
    for cell in cells:
        session.stage(cell, ns, StageOptions())
    assert len(list(session.programs())) == 6
    monkeypatch.setattr("jaxnb.staging.session.session.memory_maps", lambda: 10_000 * len(list(session.programs())))
    monkeypatch.setattr("jaxnb.staging.session.session.most_memory_maps", lambda: 65_530)
    session.stage("y = x * 2", ns, StageOptions())
    assert len(list(session.programs())) == 3
    assert session.stage("y = x * 2", ns, StageOptions()).reused
    assert session.stage(cells[-1], ns, StageOptions()).reused
    assert not session.stage(cells[0], ns, StageOptions()).reused
    monkeypatch.setattr("jaxnb.staging.session.session.memory_maps", lambda: 60_000)  # whatever takes them
    session.stage("y = x * 3", ns, StageOptions())
    assert session.stage("y = x * 3", ns, StageOptions()).reused


def test_a_process_tells_its_memory_maps() -> None:
    count, most = memory_maps(), most_memory_maps()
    assert count >= 0
    assert most is None or count < most


def test_a_block_does_not_take_over_which_statement_around_it_needed_a_value() -> None:
    record = CodeRecord()
    path = (None, "name", "n")
    record.choices.make_static([path], needed_at=7)
    entered = record.enter(0, parse_cell("x = x + n", filename="cell"))
    assert path in entered.choices.needed
    assert not entered.choices.needed_at
    assert record.choices.needed_at == {path: 7}


def test_a_loop_with_fewer_statements_than_the_cell_traces_anew_with_other_sizes() -> None:
    from jax.experimental import sparse

    cell = (
        "idx = jnp.asarray(edges[:, ::-1])\n"
        "A = sparse.BCOO((jnp.ones(len(edges)), idx), shape=(n, n))\n"
        "deg = jnp.zeros(n).at[edges[:, 0]].add(1.0)\n"
        "M = A * jnp.where(deg > 0, 1 / deg, 0)[None, :]\n"
        "r = jnp.full(n, 1 / n)\n"
        "for i in range(iters):\n"
        "    new = damp * (M @ r) + (1 - damp) / n\n"
        "    delta = jnp.abs(new - r).sum()\n"
        "    r = new\n"
        "    if delta < 1e-2:\n"
        "        break\n"
    )
    edges = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 0]])
    names: dict[str, Any] = {"np": np, "jnp": jnp, "sparse": sparse, "edges": edges, "n": 4, "damp": 0.85, "iters": 6}
    session = new_session()
    for change in ("", "damp = 0.5", "edges = np.concatenate([edges, [[1, 3]]])"):
        exec(change, names)
        plain = dict(names)
        exec(cell, plain)
        session.stage(cell, names, StageOptions())
        np.testing.assert_allclose(names["r"], plain["r"], rtol=1e-5)


COUNTING = {
    "a tuple made anew, whose aliases end with the first run": (
        "from collections import namedtuple\nS = namedtuple('S', 'm v t')\nzero = jnp.zeros(2)\nst = S(zero, zero, 0)",
        "st = st._replace(m=st.m + 1, v=st.v - 1, t=st.t + 1)\nw = st.m / st.t",
    ),
    "an object made anew": (
        "from dataclasses import dataclass, replace\n@dataclass(frozen=True)\nclass S:\n    m: object\n    o: object\n"
        "    t: int = 0\nzero = jnp.zeros(2)\nst = S(zero, zero)",
        "st = replace(st, m=st.m + 1, o=st.o - 1, t=st.t + 1)\nw = st.m / st.t",
    ),
    "a class, met behind an object of it": (
        "class A:\n    made = 0\n    def __init__(self, w): self.w, self.log = w, []; A.made += 1\na = A(jnp.ones(2))",
        "b = A(a.w * 2)\na.log = [*a.log[-1:], 1]\nw = b.w + a.w\nprint(A.made)",
    ),
    "a function, of statements that the first run took apart": (
        "def f(x, *, store=[]):\n    store.append(x)\n    del store[:-3]\n    f.calls += 1\n    return sum(store)\n"
        "f.calls = 0\nx = jnp.arange(3.0)",
        "w = [f(e) for e in x]\nheld = f.__kwdefaults__['store']\nu = sum(e * e for e in held)\nprint(f.calls)",
    ),
}


@pytest.mark.parametrize("case", COUNTING)
def test_what_a_cell_counts_up_is_an_input_from_the_second_run_on_whatever_else_differs_then(case: str) -> None:
    setup, cell = COUNTING[case]
    session, ns, plain = new_session(), dict(HOME), dict(HOME)
    for space in (ns, plain):
        exec(setup, space)
    for turn_number in range(4):
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(cell, plain)
        with contextlib.redirect_stdout(said):
            run = session.stage(cell, ns, StageOptions())
        assert said.getvalue() == printed.getvalue()
        np.testing.assert_allclose(np.asarray(ns["w"]), np.asarray(plain["w"]), rtol=1e-6)
        assert run.reused or turn_number < 2, run.status
