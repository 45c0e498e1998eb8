"""Training loops as people write them in a notebook, one module a library, collected in `RECIPES`."""

from __future__ import annotations

from . import equinox_module, flax_nnx, nested_dicts, trainer_class
from .recipe import Recipe

__all__ = ["RECIPES", "Recipe"]

RECIPES: tuple[Recipe, ...] = (
    *nested_dicts.RECIPES,
    *trainer_class.RECIPES,
    *equinox_module.RECIPES,
    *flax_nnx.RECIPES,
)
