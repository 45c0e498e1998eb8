"""What each equation of a jaxpr costs: floating point operations, bytes moved, transcendental functions.

A table of rules counts what XLA's own analysis counts for the program as JAX lowers it, before anything is fused:
each operation reads its operands from memory and writes its results there. What has no rule is named in
`Cost.unknown` and never guessed.

Unlike XLA's, the count takes loops as often as they run. With `once=True` it counts as XLA does, loop bodies once.

>>> import jax, jax.numpy as jnp
>>> f = lambda x, w: jnp.tanh(x @ w)
>>> cost_of(jax.make_jaxpr(f)(jnp.ones((8, 16)), jnp.ones((16, 4))))
Cost(flops=1024, bytes=1152, transcendentals=32, trips=1, unknown=frozenset())
"""

from jaxnb.reading.cost.attach import with_costs
from jaxnb.reading.cost.rules import KNOWN_UNKNOWNS, RULES
from jaxnb.reading.cost.sums import sum_by_function, sum_by_line, sum_by_scope
from jaxnb.reading.cost.value import Cost
from jaxnb.reading.cost.walk import Costed, cost_of, costs_of

__all__ = [
    "KNOWN_UNKNOWNS",
    "RULES",
    "Cost",
    "Costed",
    "cost_of",
    "costs_of",
    "sum_by_function",
    "sum_by_line",
    "sum_by_scope",
    "with_costs",
]
