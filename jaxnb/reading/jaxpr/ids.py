"""A number for each equation, put into its name before it is lowered, and read back from what was made of it.

JAX hands the name of an equation down to StableHLO (as a location) and XLA hands it on (as `op_name`), through
inlining, fusion and most rewriting. With its number in it,

    jit(cell)/jvp()/eqn27/jit(_where)/eqn93/select_n

says that this is equation 93, inside what equation 27 called. Equations are numbered by the jaxpr that they stand
in, and a jaxpr that several equations call (`jnp.where`, which JAX traces once) has one range of numbers and stays
one object, so that it is lowered once as before: which call it was is told by the numbers before.

Numbers depend on the jaxpr alone. So they can be found again without keeping anything.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from jaxnb import _jax
from jaxnb._jax import body_jaxprs, open_jaxpr

__all__ = ["Name", "Numbers", "number_equations", "read_name", "split_joined", "with_ids"]

_PREFIX = "eqn"
_ID = re.compile(r"eqn(\d+)")
_MAPPED = re.compile(r"((?:vmap\()+)eqn(\d+)(\)+)")  # in the body of an `xmap`, which is vectorised as it is lowered


class Numbers:
    """The numbers of all equations of a program.

    Attributes:
      count: how many there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: dict[int, int] = {}
        self._jaxprs: list[Any] = []  # alive, so that no other object gets their ids

    def first(self, jaxpr: Any) -> int:
        """The number of the first equation of an open jaxpr of the program; the others follow in their order."""
        return self._first[id(jaxpr)]

    def add(self, jaxpr: Any) -> bool:
        """Numbers the equations of an open jaxpr; False if that has been done."""
        if id(jaxpr) in self._first:
            return False
        self._first[id(jaxpr)] = self.count
        self._jaxprs.append(jaxpr)
        self.count += len(jaxpr.eqns)
        return True


def number_equations(closed_jaxpr: Any) -> Numbers:
    """Numbers every equation of a jaxpr and of the jaxprs in it."""
    numbers = Numbers()
    stack = [open_jaxpr(closed_jaxpr)]
    while stack:
        jaxpr = stack.pop()
        if numbers.add(jaxpr):
            stack.extend(body for eqn in reversed(jaxpr.eqns) for _, body in reversed([*body_jaxprs(eqn.params)]))
    return numbers


def with_ids(closed_jaxpr: Any) -> Any:
    """The same jaxpr with the number of each equation in its name; the one that was given is left as it is.

    >>> import jax
    >>> named = with_ids(jax.make_jaxpr(lambda x: x + 1)(1.0))
    >>> [str(eqn.source_info.name_stack) for eqn in named.eqns]
    ['eqn0']
    """
    numbers = number_equations(closed_jaxpr)

    def named(eqn: Any, jaxpr: Any, index: int, params: Any) -> Any:
        return _jax.named_eqn(eqn, f"{_PREFIX}{numbers.first(jaxpr) + index}", params)

    try:
        return _jax.with_changed(closed_jaxpr, named)
    except AttributeError as error:
        _jax.warn_of_change(error, "what is lowered is not linked to its equations")
        return closed_jaxpr


class Name(NamedTuple):
    """The name of an operation or instruction, taken apart.

    Attributes:
      path: the numbers in it, the outermost equation first.
      last: what stands behind the last number, such as "select_n"; the whole name where there is no number.
      plain: the name without numbers, as it would be without jaxnb.
    """

    path: tuple[int, ...]
    last: str
    plain: str


def read_name(name: str) -> Name:
    """Takes a name apart.

    >>> read_name("jit(cell)/jvp()/eqn27/jit(_where)/eqn93/select_n")
    Name(path=(27, 93), last='select_n', plain='jit(cell)/jvp()/jit(_where)/select_n')
    """
    path: list[int] = []
    plain: list[str] = []
    last = 0
    for part in name.split("/"):
        if found := _ID.fullmatch(part):
            path.append(int(found[1]))
            last = len(plain)
        elif found := _MAPPED.fullmatch(part):
            path.append(int(found[2]))
            plain.append(found[1] + found[3])
            last = len(plain)
        else:
            plain.append(part)
    return Name(tuple(path), "/".join(plain[last:]), "/".join(plain))


def split_joined(names: str) -> list[str]:
    """The names of everything that XLA made one instruction of: it joins them by semicolons.

    A semicolon in a scope of the user's is no such joint: what stands behind it does not begin as a name does.

    >>> split_joined("jit(f)/eqn0/mul;jit(f)/a;b/eqn1/add")
    ['jit(f)/eqn0/mul', 'jit(f)/a;b/eqn1/add']
    >>> split_joined("jit(f)/(jvp()/eqn0/psum:eqn1/psum)")
    ['jit(f)/jvp()/eqn0/psum', 'jit(f)/eqn1/psum']
    """
    found: list[str] = []
    root = names.split("/", 1)[0]
    for part in names.split(";"):
        first = part.split("/", 1)[0]
        if not found or first == root or _ID.fullmatch(first):
            found.append(part)
        else:
            found[-1] += f";{part}"
    return [name for joined in found if joined for name in _spelled_out(joined)]


def _spelled_out(name: str) -> list[str]:
    """The names of collectives that XLA sends together: it writes what they have in common once, `f/(a:b)`."""
    start = name.find("/(")
    if start < 0 or not name.endswith(")"):
        return [name]
    parts, depth = [""], 0
    for character in name[start + 2 : -1]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:  # the bracket behind `/` is closed before the end
            return [name]
        if character == ":" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [f"{name[:start]}/{part}" for part in parts] if len(parts) > 1 else [name]
