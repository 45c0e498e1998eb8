"""A cell under sliders: as one moves, the compiled cell runs again with another number, and nothing is traced.

The runs take place in a copy of the names, so that a slider binds nothing; a button binds what the cell would bind with
the numbers that the sliders show. A cell that changes objects in place, or has another effect, is refused: its runs
could not be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from jaxnb.api import stage
from jaxnb.errors import JaxnbError
from jaxnb.staging import Run

__all__ = ["Moved", "read_ranges", "sliders"]

_RANGE = re.compile(r"\s*([^\W\d]\w*)\s*=\s*([-+.\w]+?)\s*\.\.\s*([-+.\w]+)\s*")
_PROBE = "cell_under_sliders"
_STEPS = 100


def read_ranges(text: str) -> dict[str, tuple[float, float]]:
    """What stands behind `--interact`.

    Raises:
      JaxnbError: where a part is no range, or an empty one.

    >>> read_ranges("lr=0.001..0.1, n=1..9")
    {'lr': (0.001, 0.1), 'n': (1, 9)}
    """
    ranges: dict[str, tuple[float, float]] = {}
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        try:
            low, high = (_number(number) for number in found.groups()[1:]) if found else (1.0, 0.0)
        except ValueError:
            low, high = 1.0, 0.0
        if found is None or not low < high:
            raise JaxnbError(f"--interact {part.strip()}: this is no range.", fix="write --interact lr=0.001..0.1.")
        ranges[found[1]] = (low, high)
    return ranges


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


class Moved:
    """A cell that runs again and again with other numbers, without a front end.

    Args:
      source: the cell.
      namespace: the names that it reads; only `bind` writes there.
      names: the numbers that are moved; each is bound to an int, a float, or an array of shape ().
      options: as for `jaxnb.stage`.

    Raises:
      JaxnbError: if a name is not bound to a number.
      Refused: if the cell cannot be staged, or has effects.
    """

    def __init__(self, source: str, namespace: dict[str, Any], names: tuple[str, ...], **options: Any) -> None:
        # An int would be a part of the program; here it is an input, as what moves.
        self.options = {**options, "dynamic": tuple({*options.get("dynamic", ()), *names})}
        self.source, self.namespace = source, namespace
        for name in names:
            value = namespace.get(name)
            if isinstance(value, bool) or not (isinstance(value, int | float) or getattr(value, "shape", None) == ()):
                said = "is not bound" if name not in namespace else f"is {type(value).__name__}"
                raise JaxnbError(f"`{name}` cannot be moved by a slider: it {said}, not a number.")
        # Asking for the cell as a function refuses what has effects, and then takes back what the run has changed.
        self.first = stage(source, dict(namespace), name=_PROBE, **self.options)

    def run(self, **numbers: float) -> Run:
        """The cell with other numbers of the types that they had; nothing is bound."""
        return stage(self.source, {**self.namespace, **self._typed(numbers)}, **self.options)

    def bind(self, **numbers: float) -> Run:
        """Binds the numbers, and runs the cell as it is."""
        self.namespace.update(self._typed(numbers))
        return stage(self.source, self.namespace, **self.options)

    def _typed(self, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Numbers as what the names are bound to: an array of another dtype would have to be traced."""
        typed: dict[str, Any] = {}
        for name, number in numbers.items():
            before = self.namespace[name]
            if isinstance(before, int | float):
                typed[name] = type(before)(number)
            else:
                import jax.numpy as jnp

                typed[name] = jnp.asarray(number, before.dtype)
        return typed


def sliders(source: str, namespace: dict[str, Any], ranges: Mapping[str, tuple[float, float]], **options: Any) -> Any:
    """Sliders over the numbers of a cell, its value below them, and a button that binds: `%%jit --interact`.

    Args:
      source: the cell.
      namespace: the names that it reads, and that the button binds.
      ranges: for each name the least and the largest number.
      **options: as for `jaxnb.stage`.

    Returns:
      An `ipywidgets.VBox`.

    Raises:
      JaxnbError: if a name is not bound to a number, or the cell cannot be staged or has effects.
    """
    import ipywidgets as widgets
    from IPython.display import display

    moved = Moved(source, namespace, tuple(ranges), **options)
    controls = {name: _slider(widgets, name, namespace[name], low, high) for name, (low, high) in ranges.items()}
    shown, line = widgets.Output(), widgets.Label()
    button = widgets.Button(description="Bind", tooltip="bind these numbers and what the cell makes of them")

    def numbers() -> dict[str, float]:
        return {name: control.value for name, control in controls.items()}

    def show(run: Run) -> None:
        line.value = run.line
        shown.clear_output(wait=True)
        with shown:
            if run.value is not None:
                display(run.value)
            else:
                for name, value in run.outputs.items():
                    print(f"{name} = {value}")

    def guarded(act: Callable[..., Run]) -> Callable[[Any], None]:
        def call(_: Any) -> None:
            try:
                show(act(**numbers()))
            except JaxnbError as error:
                line.value = str(error).partition("\n")[0]

        return call

    for control in controls.values():
        control.observe(guarded(moved.run), "value")
    button.on_click(guarded(moved.bind))
    show(moved.first)
    return widgets.VBox([*controls.values(), widgets.HBox([button, line]), shown])


def _slider(widgets: Any, name: str, value: Any, low: float, high: float) -> Any:
    whole = isinstance(value, int) or getattr(getattr(value, "dtype", None), "kind", "f") in "iu"
    kind = widgets.IntSlider if whole else widgets.FloatSlider
    step = max(1, round((high - low) / _STEPS)) if whole else (high - low) / _STEPS
    start = min(max(value if isinstance(value, int | float) else value.item(), low), high)
    more = {} if whole else {"readout_format": ".4g"}
    return kind(value=start, min=low, max=high, step=step, description=name, continuous_update=True, **more)
