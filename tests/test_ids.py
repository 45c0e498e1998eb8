"""Numbers in the names of equations: they come back from what was lowered and compiled, and change nothing else."""

from __future__ import annotations

import doctest
import re

import jax
import jax.numpy as jnp
import pytest
from test_readers import PROGRAMS, trace

from jaxnb import _jax_hlo
from jaxnb._jax_eqns import body_jaxprs, open_jaxpr
from jaxnb.readers import ids
from jaxnb.readers.hlo import read_hlo
from jaxnb.readers.ids import number_equations, read_name, with_ids
from jaxnb.readers.stablehlo import read_stablehlo

X = jnp.arange(4.0)


def two_wheres(x):
    y = jnp.where(x > 0, x, 0.0)
    return jnp.where(x > 1, y, 0.0) + jax.nn.softmax(x)


def lower(function, *args, named=True):
    traced = jax.jit(function).trace(*args)
    return (_jax_hlo.with_jaxpr(traced, with_ids(traced.jaxpr)) if named else traced).lower()


def names_of(named):
    return [name for found in named.names for name in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_equation_has_one_number(name):
    closed = trace(*PROGRAMS[name])
    numbers, seen = number_equations(closed), {}
    stack = [open_jaxpr(closed)]
    while stack:
        jaxpr = stack.pop()
        for index, eqn in enumerate(jaxpr.eqns):
            assert seen.setdefault(numbers.first(jaxpr) + index, eqn) is eqn
            stack.extend(body for _, body in body_jaxprs(eqn.params))
    assert sorted(seen) == list(range(numbers.count))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_the_same_and_the_jaxpr_untouched(name):
    """But for names, the StableHLO is what it would have been, byte for byte."""
    source, inputs = PROGRAMS[name]
    code = compile(source, "Cell In[7]", "exec")

    def cell(inputs):
        space = {"jax": jax, "jnp": jnp, **inputs}
        exec(code, space)
        made = {n: v for n, v in space.items() if not n.startswith("__")}
        return [leaf for leaf in jax.tree.leaves(made) if isinstance(leaf, jax.Array)]

    traced = jax.jit(cell).trace(inputs)
    before = str(traced.jaxpr), [id(eqn) for eqn in traced.jaxpr.eqns]
    named = with_ids(traced.jaxpr)
    plain, numbered = traced.lower(), _jax_hlo.with_jaxpr(traced, named).lower()
    assert re.sub(r"0x[0-9a-f]+|\b\d{9,}\b", "", numbered.as_text()) == re.sub(
        r"0x[0-9a-f]+|\b\d{9,}\b", "", plain.as_text()
    )
    assert (str(traced.jaxpr), [id(eqn) for eqn in traced.jaxpr.eqns]) == before
    assert not any("eqn" in str(eqn.source_info.name_stack) for eqn in traced.jaxpr.eqns)


def test_what_jax_shares_stays_shared():
    """jnp.where is one function of the module, called twice: the number of the call tells which call it is."""
    lowered = lower(two_wheres, X)
    assert lowered.as_text().count("func.func private @_where") == 1
    paths = [read_name(name).path for name in names_of(read_stablehlo(lowered.compiler_ir())) if "select" in name]
    assert len(set(paths)) == 2
    (outer, inner), (other_outer, other_inner) = sorted(paths)
    assert outer != other_outer and inner == other_inner


def test_a_jaxpr_that_stands_in_two_places_stays_one_object():
    shared = jax.jit(jnp.sin)
    closed = jax.make_jaxpr(lambda x: shared(x) + shared(x * 2))(X)
    bodies = [open_jaxpr(eqn.params["jaxpr"]) for eqn in with_ids(closed).eqns if "jaxpr" in eqn.params]
    assert len(bodies) == 2 and bodies[0] is bodies[1]


def test_what_the_user_named_is_named_as_before():
    """Profiles show the same names; the numbers stand between them."""

    def model(x):
        with jax.named_scope("encoder"):
            h = jnp.tanh(x)
            with jax.named_scope("head"):
                return jax.vmap(lambda a: jnp.sin(a) * 2)(h).sum()

    def texts(lowered):
        module = _jax_hlo.serialized_modules(lowered.compile())[0]
        return {read_name(part).plain for name in names_of(read_hlo(module)) for part in name.split(";")}

    function = jax.value_and_grad(model)
    numbered, plain = texts(lower(function, X)), texts(lower(function, X, named=False))
    assert numbered == plain
    assert any("encoder" in name and "head" in name for name in numbered)


def test_each_instruction_tells_its_equation():
    traced = jax.jit(two_wheres).trace(X)
    module = _jax_hlo.serialized_modules(lower(two_wheres, X).compile())[0]
    paths = {read_name(part).path for name in names_of(read_hlo(module)) for part in name.split(";")}
    count = len(traced.jaxpr.eqns)
    assert {path[0] for path in paths if path} <= set(range(count))
    assert len({path[0] for path in paths if path}) > count / 2


def test_donation_and_results_are_as_before():
    function = jax.jit(lambda x, y: (x + y, x * y), donate_argnums=0)
    results = []
    for named in (False, True):
        x, y = jnp.arange(6.0), jnp.ones(6)
        traced = function.trace(x, y)
        stage = _jax_hlo.with_jaxpr(traced, with_ids(traced.jaxpr)) if named else traced
        results.append(([list(map(float, out)) for out in stage.lower().compile()(x, y)], x.is_deleted()))
    assert results[0] == results[1] and results[0][1]


@pytest.mark.parametrize(
    ("name", "path", "last", "plain"),
    [
        ("jit(f)/sin", (), "jit(f)/sin", "jit(f)/sin"),
        ("jit(f)/eqn0/sin", (0,), "sin", "jit(f)/sin"),
        ("jit(f)/jvp()/eqn12", (12,), "", "jit(f)/jvp()"),
        ("jit(f)/eqn/eqns3/eqn4x/sin", (), "jit(f)/eqn/eqns3/eqn4x/sin", "jit(f)/eqn/eqns3/eqn4x/sin"),
        ("", (), "", ""),
    ],
)
def test_names(name, path, last, plain):
    assert read_name(name) == (path, last, plain)


def test_examples():
    assert doctest.testmod(ids).failed == 0
