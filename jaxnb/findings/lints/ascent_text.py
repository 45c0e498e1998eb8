"""Optimizers that go uphill (`"gradient"`), as the text of a cell shows: parts of optax that are put together without
the minus.

`optax.adam(rate)` has the minus in it; of `optax.scale_by_adam()` the updates still point along the gradient, and
`optax.scale(rate)` leaves them there. Source: https://optax.readthedocs.io/en/latest/api/transformations.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.loops import LoopText
from jaxnb.findings.syntax import in_short
from jaxnb.program import Finding

__all__ = ["ascents"]

_MEANT = re.compile(
    r"ascen|maximi|reward|return_|elbo|likelihood|log_?prob|adversar|attack|dual|negate|-\s*grads?\b", re.IGNORECASE
)
"""What a cell says that goes uphill on purpose, or turns the sign elsewhere."""
_SIGNED = frozenset({"scale_by_learning_rate", "scale_by_schedule", "scale_by_backtracking_linesearch", "stateless"})


def ascents(cell: CellText) -> Iterator[Finding]:
    """The optimizers of a cell whose updates point along the gradient.

    Args:
      cell: plain or staged.
    """
    text = cell.text if "scale_by_" in cell.shown and not _MEANT.search(cell.shown) else None
    for node in text.nodes if text is not None else ():
        if isinstance(node, ast.Call) and text is not None and _name(node, text) == "chain":
            yield from _uphill(node, text)


def _uphill(chain: ast.Call, text: LoopText) -> Iterator[Finding]:
    if not isinstance(text.parents.get(chain), ast.Assign):
        return  # part of something that may have the minus
    parts = [part for part in chain.args if isinstance(part, ast.Call)]
    names = [_name(part, text) for part in parts]
    if len(parts) != len(chain.args) or not all(names):
        return
    known = [name.startswith(("scale_by_", "clip", "add_", "scale", "trace", "zero_nans")) for name in names]
    scales = [part for part, name in zip(parts, names, strict=True) if name == "scale" and len(part.args) == 1]
    rated = any(name.startswith("scale_by_") and name not in _SIGNED for name in names)
    if not all(known) or _SIGNED & set(names) or len(scales) != 1 or not rated or names[-1] != "scale":
        return
    (scale,) = scales
    rate = _number(scale.args[0], text)
    above = text.parents.get(chain)
    optimizer = ast.unparse(above.targets[0]) if isinstance(above, ast.Assign) else "it"
    if rate is None or rate <= 0 or "apply_updates" not in text.shown:
        return
    given = ast.unparse(scale.args[0])
    message = (
        f"the updates of `{optimizer}` point along the gradient: `{in_short(scale)}` has no minus, and the loss grows."
    )
    fix = f"write `optax.scale(-{given})`, or `optax.scale_by_learning_rate({given})`, which has the minus in it."
    yield text.finding("gradient", message, scale, optimizer, fix)


def _name(call: ast.Call, text: LoopText) -> str:
    """The name of the function of optax that is called; "" of any other."""
    value: Any = text.value(call.func)
    return str(getattr(value, "__name__", "")) if str(getattr(value, "__module__", "")).startswith("optax") else ""


def _number(node: ast.expr, text: LoopText) -> float | None:
    """What a number is that is written, or has a name."""
    value: Any = node.value if isinstance(node, ast.Constant) else text.value(node)
    return float(value) if type(value) in (int, float) else None
