"""The order of a dict's keys is part of the key of a program wherever code could tell it; the executable stays."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import jaxnb

SETUP = """
import collections, dataclasses, functools, itertools, json, operator
import jax, jax.numpy as jnp
class Params(dict): pass
params = {"w": jnp.ones(2), "b": jnp.ones(2) * 3}
"""
TURNED = "params = {'b': params['b'], 'w': params['w']}"

TOLD = {
    "reduce": "t = functools.reduce(lambda a, k: a * 2 + params[k], params, 0.0)",
    "max": "t = max(params, key=len)",
    "sorted": "t = sorted(params, key=len)",
    "deque": "t = collections.deque(params, maxlen=1)",
    "ordered-dict": "t = collections.OrderedDict(params)",
    "user-dict": "t = collections.UserDict(params)",
    "own-dict": "t = Params(params)",
    "chain": "t = [*itertools.chain(params)]",
    "json": "t = json.dumps({k: 1 for k in params})",
    "join": "t = ''.join(params)",
    "tuple-of-all": "t = (*params,)",
    "unpacked": "p, *q = params; t = p, q",
    "two-names": "p, q = params; t = p, q",
    "extended": "t = []; t.extend(params)",
    "added-in-place": "t = []; t += params",
    "slice-assigned": "t = []; t[:] = params",
    "formatted": "t = '{}'.format({k: 1 for k in params})",
    "items": "t = [*params.items()]",
}
OF_LIBRARIES = {
    "flatten_dict": "import flax\nt = flax.traverse_util.flatten_dict(params)",
    "path_aware_map": "from flax.traverse_util import path_aware_map\nt = path_aware_map(lambda p, v: v * 2, params)",
    "freeze": "from flax.core import freeze\nt = freeze(params)",
    "state": "from flax import nnx\nt = nnx.State(params)",
    "pformat": "import equinox as eqx\nt = eqx.tree_pformat(params)",
}
OWN_NODES = """
class Node:
    def __init__(self, w, **options): self.w, self.options = w, options
jax.tree_util.register_pytree_node(
    Node, lambda n: ((n.w,), tuple(n.options.items())), lambda options, w: Node(w[0], **dict(options))
)
node = Node(params["w"], a=1, b=2)
"""
UNTOLD = {
    "tree_map": "t = jax.tree.map(jnp.sin, params)",
    "leaves": "t = jax.tree.leaves(params)",
    "gradient": "t = jax.grad(lambda p: (p['w'] * p['b']).sum())(params)",
    "jit": "t = jax.jit(lambda p: p['w'] + p['b'])(params)",
}


def home() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, names)
    return names


def check(cell: str) -> dict[str, Any]:
    plain, staged = home(), home()
    cell += "\ny = params['w'] * 2"
    for change in ("", "", TURNED):
        for names in (plain, staged):
            exec(change, names)
        exec(cell, plain)
        jaxnb.stage(cell, staged)
        assert repr(staged["t"]) == repr(plain["t"])
        assert type(staged["t"]) is type(plain["t"]) or type(plain["t"]).__name__ == "Params"
    return staged


@pytest.mark.parametrize("name", TOLD)
def test_python_and_its_library(name: str) -> None:
    check(TOLD[name])


@pytest.mark.parametrize("name", OF_LIBRARIES)
def test_libraries(name: str) -> None:
    pytest.importorskip("flax")
    pytest.importorskip("equinox")
    check(OF_LIBRARIES[name])


def test_functions_that_take_a_node_apart() -> None:
    names = home()
    exec(OWN_NODES, names)
    for change in ("", "", "node.options = {'b': 2, 'a': 1}"):
        exec(change, names)
        jaxnb.stage("y = params['w'] * 2\nt = jax.tree.map(lambda v: v + 1, node).options", names)
        assert [*names["t"]] == [*names["node"].options]


@pytest.mark.parametrize("name", UNTOLD)
def test_jax_takes_them_sorted(name: str) -> None:
    check(UNTOLD[name])
    run = jaxnb.last()
    assert run is not None and run.reused


def test_a_program_that_comes_out_the_same_is_not_compiled_again() -> None:
    names = home()
    for change in ("", TURNED):
        exec(change, names)
        run = jaxnb.stage("t = [*params.values()]\ny = params['w'] * 2", names)
        assert not run.reused
    session = jaxnb.staging.current_session()
    assert session is not None
    first, second = (piece.compiled for piece in session.programs())
    assert first is second


def test_whether_two_names_are_one_object_is_asked_by_operator_too() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("import operator, jax.numpy as jnp\nw = jnp.ones(2)\nu = w\nv = w + 0", names)
    jaxnb.stage("y = w * 2\nt = operator.is_(w, u), operator.is_not(w, v), operator.is_(u, v)", names)
    assert names["t"] == (True, True, False)


def test_a_program_whose_constants_are_arguments_is_like_no_other() -> None:
    cell = "y = jax.jit(lambda v: v + np.full((600, 600), float(k)))(x)"
    code = f"""
import jax, jax.numpy as jnp, jaxnb, numpy as np
names = {{"jax": jax, "np": np, "x": jnp.ones((600, 600)), "k": 1}}
for names["k"] in (1, 2, 3):
    jaxnb.stage({cell!r}, names)
    print(float(names["y"][0, 0]))
"""
    environment = {**os.environ, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["2.0", "3.0", "4.0"]
