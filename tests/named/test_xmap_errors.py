"""Every refusal, and that its message says what, which argument, why, and what to do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

import jaxnb.nn
import jaxnb.numpy as nnp
import jaxnb.random
from jaxnb import JaxnbError, NamedShape, SerialLoop, fake_mesh, named_shape, serial_loop, xmap
from jaxnb.named.specs import LeafSpec, read_prefix

x8, x83 = jnp.ones(8), jnp.ones((8, 3))


def ident(x):
    return x


fake = fake_mesh(x=4, y=2)


def nested_shadow():
    return xmap(lambda x: xmap(ident, ["i"], ["i"])(jnp.ones(3)) + x, ["i"], ["i", None])(x8)


def other_mesh_inside():
    def inner(x):
        return xmap(ident, ["k"], ["k"], mesh=fake_mesh(x=2))(jnp.ones(4)) + x

    return xmap(inner, ["i"], ["i", None], mesh=fake, axis_resources={"i": "x"})(x8)


def over_a_loop():
    return xmap(lambda x: lax.psum(x, "i"), ["i"], [], axis_resources={"i": SerialLoop(2)})(x8)


def meeting(x, y):
    z = x + y  # where they meet
    return z


CASES = {
    "name twice": (lambda: xmap(ident, ["i", "i"], ["i"]), ["in_axes = ['i', 'i']", "twice", "Try:"]),
    "integer name": (
        lambda: xmap(ident, [3], [3]),
        ["in_axes: 3 cannot be the name", "integers mean positions"],
    ),
    "dots first": (lambda: xmap(ident, [..., "i"], ["i"]), ["before its end", "{1: 'batch'}"]),
    "negative": (lambda: xmap(ident, {-1: "i"}, ["i"]), ["negative dimension -1", "count dimensions from 0"]),
    "no spec": (lambda: xmap(ident, "i", ["i"]), ["in_axes = 'i' is no axis spec"]),
    "out undefined": (
        lambda: xmap(ident, ["batch"], (["bacth"],)),
        ["out_axes[0] has the name 'bacth'", "not defined", "did you mean 'batch'?"],
    ),
    "resource undefined": (
        lambda: xmap(ident, ["batch"], ["batch"], axis_resources={"btch": "x"}),
        ["axis_resources gives a resource to 'btch'", "did you mean 'batch'?"],
    ),
    "bad lowering": (lambda: xmap(ident, ["i"], ["i"], lowering="auto"), ["lowering = 'auto'"]),
    "bad size": (lambda: xmap(ident, {}, {}, axis_sizes={"i": -1}), ["axis_sizes['i'] = -1"]),
    "structure": (
        lambda: xmap(ident, ({"a": ["i"]},), ["i"])({"b": x8}),
        ["in_axes", "structure of the arguments"],
    ),
    "too many arguments": (lambda: xmap(ident, (["i"], ["i"]), ["i"])(x8), ["structure of the arguments"]),
    "sizes disagree": (
        lambda: xmap(lambda a, b: a, (["i"], ({"w": ["i", ...]})), ["i"])(x8, {"w": jnp.ones((7, 2))}),
        ["'i' has size 8 in argument 'a' (dimension 0) and 7 in argument 'b'['w'] (dimension 0)", "Try:"],
    ),
    "size given otherwise": (
        lambda: xmap(ident, ["i"], ["i"], axis_sizes={"i": 9})(x8),
        ["size 9 in axis_sizes and 8 in argument 'x'"],
    ),
    "size unknown": (
        lambda: xmap(lambda d: jnp.ones(2), {"a": ["i"]}, {})({}),
        ["structure of the arguments"],
    ),
    "empty tree": (
        lambda: xmap(lambda d, y: y, (["i"], {}), {})({}, x8),
        ["the size of 'i' is not known", "pass axis_sizes={'i': ...}"],
    ),
    "rank": (
        lambda: xmap(ident, ["i"], ["i"])(x83),
        ["argument 'x' has 2 dimensions, and in_axes asserts 1", "`...`"],
    ),
    "rank of results": (
        lambda: xmap(ident, ["i", None], ["i"])(x83),
        ["result has 2 dimensions, and out_axes asserts 1"],
    ),
    "beyond": (lambda: xmap(ident, {2: "i"}, {})(x83), ["names dimension 2 'i'", "name dimensions 0 to 1"]),
    "no results": (lambda: xmap(lambda x: (), ["i"], ["i"])(x8), ["returns no arrays"]),
    "no mesh": (
        lambda: xmap(ident, ["i"], ["i"], axis_resources={"i": "x"})(x8),
        ["axis_resources['i'] uses 'x'", "there is no mesh", "jax.set_mesh"],
    ),
    "no such mesh axis": (
        lambda: xmap(ident, ["i"], ["i"], axis_resources={"i": "xx"}, mesh=fake)(x8),
        ["axis_resources['i'] uses 'xx'", "the mesh has the axes 'x', 'y'", "did you mean 'x'?"],
    ),
    "resource twice": (
        lambda: xmap(ident, ["i"], ["i"], axis_resources={"i": ("x", "x")}, mesh=fake)(x8),
        ["axis_resources['i'] uses 'x' twice"],
    ),
    "not divisible": (
        lambda: xmap(ident, ["i"], ["i"], axis_resources={"i": ("x", SerialLoop(4))}, mesh=fake)(x8),
        ["'i' has size 8, and axis_resources['i'] cuts it into 16 parts"],
    ),
    "two names, one resource": (
        lambda: xmap(meeting, (["i"], ["j"]), ["i", "j"], axis_resources={"i": "x", "j": "x"}, mesh=fake)(x8, x8),
        ["`add` at", "test_xmap_errors.py:", "varies over 'i' and 'j', which share the resource 'x'"],
    ),
    "two names of nested maps, one resource": (
        lambda: xmap(
            lambda x: xmap(lambda y: x * y, ["j"], ["j"], axis_resources={"j": "x"}, mesh=fake)(x8),
            ["i"],
            ["i", None],
            axis_resources={"i": "x"},
            mesh=fake,
        )(x8),
        ["`mul` at", "varies over 'j' and 'i', which share the resource 'x'"],
    ),
    "broadcast over a taken resource": (
        lambda: xmap(lambda a, b: a, (["i"], ["j"]), ["i", "j"], axis_resources={"i": "x", "j": "x"}, mesh=fake)(
            x8, x8
        ),
        ["broadcast over 'j', whose resource 'x' already cuts it along 'i'"],
    ),
    "shadowed": (nested_shadow, ["the name 'i' is bound by an enclosing map", "rename it"]),
    "another mesh inside": (other_mesh_inside, ["the mesh inside a map is {'x': 2}", "outermost map"]),
    "collective over a loop": (
        over_a_loop,
        ["exchanges values over 'i', which goes turn by turn", "test_xmap_errors.py:", "no turn can wait"],
    ),
    "escapes": (
        lambda: xmap(lambda x, y: {"a": jnp.sin(x) * y}, (["i"], ["j"]), {"a": ["j"]})(x8, x8),
        [
            "the result['a'] varies over 'i', which its out_axes lack",
            "came in with argument 'x'",
            "test_xmap_errors.py:",
        ],
    ),
    "escapes, made inside": (
        lambda: xmap(lambda x: lax.axis_index("k") + lax.psum(x, "i"), ["i"], [], axis_sizes={"k": 2})(x8),
        ["varies over 'k'", "came in by `axis_index` at", "test_xmap_errors.py:"],
    ),
    "unbound axis": (
        lambda: xmap(lambda x: nnp.sum(x, "bach"), ["batch"], [])(x8),
        ["sum(axis=...): the name 'bach' is not bound here", "did you mean 'batch'?"],
    ),
    "axis twice": (lambda: xmap(lambda x: nnp.sum(x, ("i", "i")), ["i"], [])(x8), ["has an axis twice"]),
    "no dimension": (
        lambda: xmap(lambda x: nnp.sum(x, ("i", 1)), ["i"], [])(x8),
        ["there is no dimension 1"],
    ),
    "positions only": (
        lambda: xmap(lambda x: nnp.swapaxes(x, "i", 0), ["i", None], [None])(x83),
        ["swapaxes(axis1='i')", "takes positions only", "all_gather"],
    ),
    "axes of two arrays": (
        lambda: xmap(lambda x: nnp.tensordot(x, x, ((0,), ("i",))), ["i", None], [])(x83),
        ["tensordot(axes=((0,), ('i',)))", "takes positions only", "all_gather"],
    ),
    "two axes for a scan": (
        lambda: xmap(lambda x: nnp.cumsum(x, ("i", 0)), ["i", None], ["i", None])(x83),
        ["cumsum(axis=('i', 0)): there is more than one axis"],
    ),
    "not one position": (
        lambda: xmap(lambda x: nnp.squeeze(x, "i"), ["i"], [])(x8),
        ["squeeze(axis='i')", "8 positions", "reduce it"],
    ),
    "laid out": (
        lambda: xmap(lambda x: x + nnp.linspace(0, 1, 5, axis="i"), ["i"], ["i"])(x8),
        ["linspace(axis='i'): there are 5 entries", "8 positions"],
    ),
    "loop length": (lambda: SerialLoop(0), ["SerialLoop got the length 0"]),
    "fake mesh": (lambda: fake_mesh(x=0), ["the size 0 for 'x'"]),
    "named shape": (lambda: NamedShape(2, i=-1), ["extent -1 for 'i'"]),
    "one hot": (
        lambda: xmap(lambda x: jaxnb.nn.one_hot(1, 7, axis="i") + x, ["i"], ["i"])(x8),
        ["7 classes", "size 8"],
    ),
    "random": (
        lambda: xmap(lambda k: jaxnb.random.normal(k, NamedShape(i=7)), {}, ["i"], axis_sizes={"i": 8})(
            jax.random.key(0)
        ),
        ["gives 'i' the size 7", "it has size 8 here"],
    ),
    "stack": (
        lambda: xmap(lambda x: nnp.stack([x, x], "i"), ["i"], ["i"])(x8),
        ["there are 2 entries", "8 positions"],
    ),
    "einsum sizes": (
        lambda: xmap(lambda x: nnp.einsum("a{i},a{i}->", x, x[:2]), ["i", None], [])(x83),
        ["pairs dimension 0 of size 3 with dimension 0 of size 2"],
    ),
    "einsum letters": (
        lambda: xmap(lambda x: nnp.einsum("ab{i}->a", x), ["i", None], [None])(x83),
        ["gives 2 letters"],
    ),
    "einsum result": (
        lambda: xmap(lambda x: nnp.einsum("a{i}->b", x), ["i", None], [None])(x83),
        ["has 'b', which no operand has"],
    ),
    "einsum arrow": (
        lambda: xmap(lambda x: nnp.einsum("a{i}", x), ["i", None], [None])(x83),
        ["has no '->'"],
    ),
    "initializer": (
        lambda: jaxnb.nn.initializers.lecun_normal("inptus", 0)(jax.random.key(0), NamedShape(3, inputs=4)),
        ["no name 'inptus'", "did you mean 'inputs'?"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusals(case):
    wrong, fragments = CASES[case]
    with pytest.raises(JaxnbError) as refusal:
        wrong()
    message = str(refusal.value)
    for fragment in fragments:
        assert fragment in message, message
    assert "\n  Why: " in message and "\n  Try: " in message, message
    assert isinstance(refusal.value, ValueError)


def test_another_sharding_is_refused(mesh):
    x = jax.device_put(x83, NamedSharding(mesh, P("y")))
    f = xmap(lambda x: x * 2, ["i", ...], ["i", ...], axis_resources={"i": "x"}, mesh=mesh)
    with pytest.raises(JaxnbError, match="(?s)argument 'x' is spread as.*takes it as.*device_put"):
        f(x)
    np.testing.assert_array_equal(f(jax.device_put(x, NamedSharding(mesh, P("x", None)))), 2 * x83)
    np.testing.assert_array_equal(f(jax.device_put(x83, NamedSharding(mesh, P()))), 2 * x83)


def test_a_name_in_scope_is_only_where_it_is_bound():
    with serial_loop("turns", 2):
        f = xmap(lambda x: x + 1, ["i"], ["i"], axis_resources={"i": "turns"})
        np.testing.assert_array_equal(f(x8), x8 + 1)
    with pytest.raises(JaxnbError, match="'turns', which is no resource here"):
        f(x8)


def test_a_question_without_an_answer():
    def body(x):
        def inside(c, a):
            return (c + (lax.psum(x, "i") if "i" in named_shape(c).named else x), None)

        return lax.scan(inside, jnp.zeros(()), jnp.ones(2))[0]

    with pytest.raises(JaxnbError, match="named_shape has no answer"):
        xmap(body, ["i"], ["i"])(x8)


@pytest.mark.parametrize(
    ("spec", "tree", "read"),
    [
        (["i", ...], (1,), [LeafSpec(((0, "i"),))]),
        ((["i"], {}), (1, 2), [LeafSpec(((0, "i"),), 1), LeafSpec()]),
        (
            ({"w": ["i"]}, {1: "j"}),
            ({"w": 1}, [2, 3]),
            [LeafSpec(((0, "i"),), 1), LeafSpec(((1, "j"),)), LeafSpec(((1, "j"),))],
        ),
        ((None, [None, "i"]), (1, 2), [LeafSpec(), LeafSpec(((1, "i"),), 2)]),
        ({"w": ["i"]}, ({"w": 1},), [LeafSpec(((0, "i"),), 1)]),
        ([["i"], []], (1, 2), [LeafSpec(((0, "i"),), 1), LeafSpec((), 0)]),
        (("i", "j"), (1,), [LeafSpec(((0, "i"), (1, "j")), 2)]),
    ],
)
def test_specs(spec, tree, read):
    assert read_prefix(spec, tree, "in_axes") == read


def test_any_hashable_is_a_name():
    class Axis:
        pass

    i, j = Axis(), frozenset({1})
    f = xmap(lambda x: nnp.sum(x, (i,)) + lax.axis_index(j), [i, j], [j])
    np.testing.assert_array_equal(f(x83), 8 + np.arange(3))
