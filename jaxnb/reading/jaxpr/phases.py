"""What an equation is to a derivative, and what it stands in: read from the name that JAX keeps with it."""

from __future__ import annotations

from typing import Any

from jaxnb import _jax
from jaxnb._jax import Forward, eqn_scope

__all__ = ["Setting", "read_settings"]

_LOOPS = frozenset({"scan", "while", "cond", "shard_map"})
# Names that JAX itself puts there; every other one is of a jax.named_scope.
_REMATERIALISED = "rematted_computation"
_OWN = frozenset({_REMATERIALISED, "checkpoint", "remat"})

# Linear in every operand, or in each of two; and linear in the first.
_LINEAR = frozenset(
    [
        "add",
        "add_any",
        "sub",
        "neg",
        "convert_element_type",
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "transpose",
        "reduce_sum",
        "copy",
        "copy_p",
        "pad",
        "concatenate",
        "slice",
        "rev",
        "expand_dims",
        "real",
        "imag",
        "cumsum",
        "reduce_window_sum",
        "psum",
        "pvary",
        "mul",
        "dot_general",
        "conv_general_dilated",
    ]
)
_LINEAR_IN_FIRST = frozenset({"div", "gather", "dynamic_slice", "dynamic_update_slice", "scatter-add"})
_CALLS = frozenset({"jit", "closed_call", "eval_jaxpr"})


class Setting:
    """What the equations of a jaxpr have from the one that owns it.

    Attributes:
      phase: one of `program.PHASES`.
      scopes: from the outside in.
    """

    __slots__ = ("phase", "scopes")

    def __init__(self, phase: str = "primal", scopes: tuple[str, ...] = ()) -> None:
        self.phase = phase
        self.scopes = scopes

    def inside(self, primitive: str) -> Setting:
        """The setting of the bodies of an equation with this one."""
        return Setting(self.phase, (*self.scopes, primitive)) if primitive in _LOOPS else self


def read_settings(jaxpr: Any, owner: Setting) -> list[Setting]:
    """The setting of each equation of an open jaxpr.

    What JAX differentiated backwards is told by "transpose" in its name, what it computes again by the name of
    its checkpoint. In what is differentiated forwards, the function and its derivative have one name; there, the
    equations that are linear in inputs that nothing else but such equations use are the derivative.
    """
    known: dict[int, tuple[Setting, bool]] = {}  # by identity: neighbours share the object that holds their name
    settings: list[Setting] = []
    forward: list[bool] = []
    for eqn in jaxpr.eqns:
        scope = id(eqn_scope(eqn))
        if scope not in known:
            parts = tuple(_jax.name_parts(eqn))
            setting = _setting(parts, owner)
            known[scope] = setting, (True, "jvp") in parts and setting.phase == "primal"
        setting, is_forward = known[scope]
        settings.append(setting)
        forward.append(is_forward)
    if any(forward) and not any(setting.phase == "transposed" for setting in settings):
        for index in _tangents(jaxpr, forward):
            settings[index] = Setting("tangent", settings[index].scopes)
    return settings


def _setting(parts: tuple[tuple[bool, str], ...], owner: Setting) -> Setting:
    if not parts:
        return owner
    transforms = {name for is_transform, name in parts if is_transform}
    if (False, _REMATERIALISED) in parts:
        phase = "rematerialised"
    else:
        phase = "transposed" if "transpose" in transforms else owner.phase
    scopes = tuple(
        name for is_transform, name in parts if (name == "vmap" if is_transform else name and name not in _OWN)
    )
    return Setting(phase, (*owner.scopes, *scopes))


def _tangents(jaxpr: Any, forward: list[bool]) -> list[int]:
    """The equations of a derivative among those that are differentiated forwards."""
    depends: dict[Any, int] = {}  # on which values from outside, as bits
    linear = _Linear()
    results: dict[int, list[int]] = {}
    count = 0
    for index, eqn in enumerate(jaxpr.eqns):
        if not forward[index]:
            continue
        for atom in eqn.invars:
            if not hasattr(atom, "val") and atom not in depends:
                depends[atom] = 1 << count
                count += 1
        results[index] = linear.equation(eqn, linear.read(eqn.invars, depends))
        depends.update(zip(eqn.outvars, results[index], strict=True))
    return [index for index, masks in results.items() if masks and all(mask & ~linear.bad for mask in masks)]


class _Linear(Forward[int]):
    """On which values from outside a value depends, as bits; `bad` are those that something is not linear in."""

    nothing = bad = 0

    def join(self, one: int, other: int) -> int:
        return one | other

    def equation(self, eqn: Any, ins: list[int]) -> list[int]:
        return super().equation(eqn, ins) if eqn.primitive.name in _CALLS else self.other(eqn, ins)

    def other(self, eqn: Any, ins: list[int]) -> list[int]:
        everything = 0
        for position, mask in enumerate(ins):
            everything |= mask
            if not _is_linear(eqn.primitive.name, position):
                self.bad |= mask
        return [everything] * len(eqn.outvars)


def _is_linear(primitive: str, position: int) -> bool:
    if primitive == "select_n":
        return position > 0
    return primitive in _LINEAR or (primitive in _LINEAR_IN_FIRST and position == 0)
