"""Training loops in the style of each library: the staged notebook learns what the plain one learns.

The cells of a recipe run in two namespaces: all plainly in one, the training step staged in the other.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import hunt
from drawing import DEEP
from training import RECIPES, Recipe

import jaxnb

# That of the differential tests for float32. Rounding alone moves these loops by 1.3e-6 at most, see
# `test_tolerance_is_well_above_rounding`: they are well conditioned, so a wrong key, a stale moment or a step too
# many would stand out by orders of magnitude.
TOLERANCE = 2e-5

Namespace = dict[str, Any]


@dataclass
class Trained:
    """A notebook after its training cell has run often enough."""

    namespace: Namespace
    losses: np.ndarray
    parameters: list[np.ndarray]
    exact: Any
    runs: list[jaxnb.Run]


def begin(recipe: Recipe) -> Namespace:
    namespace: Namespace = {"__name__": "__main__"}
    for cell in recipe.setups:
        exec(compile(cell, f"<{recipe.name}>", "exec"), namespace)
    return namespace


def read(recipe: Recipe, namespace: Namespace, runs: list[jaxnb.Run]) -> Trained:
    losses = np.array(eval(recipe.losses, namespace))
    parameters = [np.asarray(leaf) for leaf in jax.tree.leaves(eval(recipe.parameters, namespace))]
    return Trained(namespace, losses, parameters, eval(recipe.exact, namespace), runs)


@functools.cache
def plain(recipe: Recipe) -> Trained:
    namespace, step = begin(recipe), compile(recipe.step, "<step>", "exec")
    for _ in range(recipe.runs):
        exec(step, namespace)
    return read(recipe, namespace, [])


@functools.cache
def staged(recipe: Recipe) -> Trained:
    namespace = begin(recipe)
    runs = [jaxnb.stage(recipe.step, namespace) for _ in range(recipe.runs)]
    return read(recipe, namespace, runs)


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """How far two arrays are apart, relative to the largest entry."""
    assert a.shape == b.shape and a.dtype == b.dtype
    if a.dtype.kind != "f":
        return float(np.any(a != b))
    return float(np.max(np.abs(a - b)) / max(np.max(np.abs(a)), np.finfo(a.dtype).tiny))


def explain(run: jaxnb.Run) -> str:
    """Why a run was not reused: its line, the reasons, and what could not be replayed."""
    reasons = run.retrace.reasons if run.retrace is not None else ()
    kept = [f"line {f.line}: {f.message}" for f in run.findings if f.kind == "not-reusable"]
    return "\n  ".join((run.line, *reasons, *kept))


every_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)


@every_recipe
def test_losses_of_every_step_agree(recipe: Recipe) -> None:
    ours, theirs = staged(recipe).losses, plain(recipe).losses
    assert len(ours) == len(theirs) == recipe.runs
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE)
    assert ours[-1] < ours[0] / 4


@every_recipe
def test_parameters_and_counters_agree(recipe: Recipe) -> None:
    ours, theirs = staged(recipe), plain(recipe)
    assert repr(ours.exact) == repr(theirs.exact)
    assert len(ours.parameters) == len(theirs.parameters)
    distances = [apart(a, b) for a, b in zip(ours.parameters, theirs.parameters, strict=True)]
    assert max(distances) <= TOLERANCE, distances
    assert hunt(ours.namespace) == []


@every_recipe
def test_accuracy_is_the_same_and_good(recipe: Recipe) -> None:
    accuracies: list[float] = []
    for trained in (plain(recipe), staged(recipe)):
        exec(compile(recipe.evaluate, "<evaluate>", "exec"), trained.namespace)
        accuracies.append(float(trained.namespace["accuracy"]))
    for _ in range(2):
        jaxnb.stage(recipe.evaluate, trained.namespace)
        accuracies.append(float(trained.namespace["accuracy"]))
    assert len(set(accuracies)) == 1, accuracies
    assert accuracies[0] > 0.9


@every_recipe
def test_reused_from_the_third_step_on(recipe: Recipe) -> None:
    again = [(number, run) for number, run in enumerate(staged(recipe).runs, 1) if number >= 3 and not run.reused]
    told = "\n".join(f"run {number}: {explain(run)}" for number, run in again[:3])
    assert not again, f"{len(again)} runs of {recipe.step!r} were traced again, first of all\n{told}"


@every_recipe
def test_failed_step_changes_nothing(recipe: Recipe) -> None:
    """A step that fails after it has computed, and then one that does not: the history is that of the plain loop."""
    namespace = begin(recipe)
    cell = recipe.step + "\n1 / divisor"
    namespace["divisor"] = 1
    for _ in range(3):
        jaxnb.stage(cell, namespace)
    before = read(recipe, namespace, [])
    namespace["divisor"] = 0
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage(cell, namespace)
    after = read(recipe, namespace, [])
    assert repr(after.exact) == repr(before.exact)
    for a, b in zip([after.losses, *after.parameters], [before.losses, *before.parameters], strict=True):
        np.testing.assert_array_equal(a, b)
    assert hunt(namespace) == []
    if "next(" in recipe.step:  # an iterator that has advanced is not taken back
        return
    namespace["divisor"] = 1
    jaxnb.stage(cell, namespace)
    np.testing.assert_allclose(eval(recipe.losses, namespace), plain(recipe).losses[:4], rtol=TOLERANCE)


@pytest.mark.skipif(not DEEP, reason="measures the recipes, not jaxnb; runs with JAXNB_DEEP=1")
@every_recipe
def test_tolerance_is_well_above_rounding(recipe: Recipe) -> None:
    """The plain loop once more, each pixel moved by up to one unit in the last place, anew on every step."""
    namespace, step = begin(recipe), compile(recipe.step, "<step>", "exec")
    images, generator = namespace["x_train"], np.random.default_rng(0)
    for _ in range(recipe.runs):
        moved = 1 + generator.integers(-1, 2, images.shape) * 2.0**-23
        namespace["x_train"] = images * jnp.asarray(moved, jnp.float32)
        exec(step, namespace)
    rounded, exact = read(recipe, namespace, []), plain(recipe)
    pairs = zip([rounded.losses, *rounded.parameters], [exact.losses, *exact.parameters], strict=True)
    distances = [apart(a, b) for a, b in pairs]
    assert max(distances) < TOLERANCE / 5, distances
