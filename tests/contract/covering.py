"""What the tests of the contract share: which names each covers, private modules without their types, and traces."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import pytest

__all__ = ["covers", "inside", "only", "private", "spy"]

_F = TypeVar("_F", bound=Callable[..., Any])


def covers(*names: str) -> Callable[[_F], _F]:
    """Says which rows of the contract a test holds JAX to, each by as much of the end of its path as is unique."""
    assert names

    def decorate(test: _F) -> _F:
        return test

    return decorate


def private(module: str) -> Any:
    """A private module of JAX, such as `private("core")`."""
    return importlib.import_module(f"jax._src.{module}")


def inside(look: Callable[..., Any], *arguments: Any) -> Any:
    """What a look at the tracers of a function gives, while it is traced to a jaxpr."""
    found: list[Any] = []

    def traced(*tracers: Any) -> Any:
        found.append(look(*tracers))
        return tracers

    jax.make_jaxpr(traced)(*arguments)
    return found[0]


def spy(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[tuple[Any, ...]]:
    """The positional arguments of each call that comes by a function, in whose place another stands from now on."""
    original, calls = getattr(owner, name), list[tuple[Any, ...]]()

    def stand_in(*arguments: Any, **keywords: Any) -> Any:
        calls.append(arguments)
        return original(*arguments, **keywords)

    monkeypatch.setattr(owner, name, stand_in)
    return calls


def only(closed_jaxpr: Any, primitive: str) -> Any:
    """The one equation of a primitive in a jaxpr."""
    (found,) = [eqn for eqn in closed_jaxpr.eqns if eqn.primitive.name == primitive]
    return found
