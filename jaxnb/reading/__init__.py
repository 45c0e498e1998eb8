"""From what JAX and XLA make to the data of `program`: jaxprs, StableHLO, HLO, placements, costs, data flow."""

from jaxnb.runtime.doors import door

__getattr__, __dir__ = door(__name__)
