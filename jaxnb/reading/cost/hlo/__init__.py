"""What each instruction of an optimised HLO module costs: flops, bytes and transcendental functions, by a table.

The table counts what XLA's own analysis of the compiled module counts, with two differences. XLA gives sums only, and
here each instruction has its own cost, so that a sum over instructions counts nothing twice: what is computed in a
fusion is said by the instructions in it, and what it reads and writes by the fusion, because nothing inside moves to
memory. And a loop counts as often as it runs, where XLA knows that; otherwise once, and `times` is None.

Of the branches of a conditional only the dearest counts. What has no rule, such as a custom call, has no cost: it is
never guessed.
"""

from jaxnb.reading.cost.hlo.attach import with_hlo_costs
from jaxnb.reading.cost.hlo.rules import RULES, Unit
from jaxnb.reading.cost.hlo.stablehlo import with_stablehlo_costs
from jaxnb.reading.cost.hlo.units import read_units

__all__ = ["RULES", "Unit", "read_units", "with_hlo_costs", "with_stablehlo_costs"]
