"""`Run.program.names()` and `%%jit --names`."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.staging.session.session import Session


def told(program):
    return [(a.function, a.name, a.span.line, a.text, a.times) for a in program.names() if not a.span.file]


def test_names_are_found_when_asked():
    namespace = {"jnp": jnp, "x": jnp.ones(3)}
    run = jaxnb.stage("y = x * 2\nx = x + 1", namespace)
    assert told(run.program) == [("", "y", 1, "float32[3]", 1), ("", "x", 2, "float32[3]", 1)]


def test_a_cell_that_changes_what_it_depends_on_can_note_them():
    namespace = {"jnp": jnp, "x": jnp.ones(3), "n": 1}
    text = "y = jnp.tile(x, n)\nn = n + 1"
    run = jaxnb.stage(text, namespace, names=True)
    assert told(run.program) == [("", "y", 1, "float32[3]", 1)]
    run = jaxnb.stage(text, namespace)
    with pytest.raises(JaxnbError, match="--names"):
        run.program.names()


def test_noted_names_stay_with_the_program_when_it_is_reused():
    namespace = {"jnp": jnp, "jax": jax, "x": jnp.ones(3)}
    session = new_session()
    for reused in (False, True):
        run = session.stage("y = jax.jit(jnp.sin)(x)", namespace, StageOptions(names=True))
        assert run.reused is reused and told(run.program) == [("", "y", 1, "float32[3]", 1)]


def test_turns_of_a_loop_that_python_runs_are_counted_together():
    text = "for i in range(3):\n    x = x + i\n    if float(x.sum()) > 0:\n        u = x * 2"
    run = jaxnb.stage(text, {"x": jnp.ones(3)}, names=True)
    u, x = sorted(told(run.program))
    assert u == ("", "u", 4, "float32[3]", 1) and x[:4] == ("", "x", 2, "float32[3]")
    assert 1 <= x[4] <= 3  # a turn that needs no trace of its own is not seen


def test_a_session_keeps_no_names_of_the_user():
    class Names(dict):
        pass

    session, namespace = new_session(), Names(jnp=jnp, x=jnp.ones(3))
    session.stage("y = x * 2", namespace, StageOptions()).program.names()
    session.stage("z = 1", {}, StageOptions())
    reference = weakref.ref(namespace)
    del namespace
    gc.collect()
    assert reference() is None


def test_names_of_an_inspected_function():
    def double(x):
        y = x * 2
        return y

    found = told(jaxnb.inspect(double)(jnp.ones(3)))
    assert found == [("double", "x", 1, "float32[3]", 1), ("double", "y", 2, "float32[3]", 1)]
