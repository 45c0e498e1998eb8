"""A cell divided into what is compiled together and what Python runs between: the parts of a file."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from jaxnb.errors import Refused
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.export.names import Body, Names
from jaxnb.staging.export.reads import (
    bound_names,
    entry_reads,
    reads_of,
    refuse_odd,
    refuse_what_tells,
    refused,
    stored_roots,
)
from jaxnb.staging.export.text import listed
from jaxnb.staging.export.values import containers_in, holds_jax, is_array_like, is_array_tree
from jaxnb.staging.objects.paths import root_name
from jaxnb.staging.trace.gradient import DerivativeSpec
from jaxnb.staging.trace.piece import Piece

__all__ = ["DividedCell", "Part", "no_array"]


@dataclass(slots=True)
class Part:
    """Statements that stand together in one function: compiled, or run by Python."""

    compiled: bool
    indices: list[int]
    parameters: list[str] = field(default_factory=list[str])
    outs: list[str] = field(default_factory=list[str])
    name: str = ""


def _is_object(value: Any) -> bool:
    """Whether a value is an object with a state of its own, and no container of Python, array or function."""
    kind = type(value)
    return hasattr(value, "__dict__") and kind.__module__ not in ("builtins", "functools") and not is_array_like(value)


def _is_of_nnx(value: Any) -> bool:
    return any(kind.__module__.startswith("flax.nnx") for kind in type(value).__mro__)


def no_array(name: str, value: Any) -> Refused:
    """Why a compiled function cannot return a value."""
    kind = type(value).__name__
    if not jax.tree_util.all_leaves([value]):
        others = sorted({type(leaf).__name__ for leaf in jax.tree.leaves(value) if not is_array_like(leaf)})
        return Refused(
            f"`{name}` is a pytree, a {kind}, with leaves that are no arrays: {listed(others)}.",
            why="a function under jax.jit takes arrays only; what is missing is the cell as a function of these.",
            fix=f"arrays, rest = equinox.partition({name}, equinox.is_array) above, and combine them in the cell.",
        )
    return Refused(
        f"`{name}` is no array, and a compiled function can return nothing else.",
        why=f"it is a {kind} of Python, made between arrays.",
        fix="compute it in a cell of its own, or above the statements that compute.",
    )


class DividedCell:
    """A cell as parts, each with what it takes in and gives out.

    Args:
      cell: as it is written.
      pieces: its compiled pieces.
      namespace: the names when the run began.
      results: what it bound.
      value: of its last line.
      name: of the function to be.
      static: whether every scalar is a static argument.
      asked: the derivative that the run bound, too.

    Raises:
      Refused: it is not a pure function of arrays.
    """

    def __init__(
        self,
        cell: CellSource,
        pieces: Sequence[Piece],
        namespace: Mapping[str, Any],
        results: Mapping[str, Any],
        value: Any,
        name: str,
        static: bool = False,
        asked: DerivativeSpec | None = None,
    ) -> None:
        self.asked = asked
        self.cell, self.pieces, self.namespace = cell, pieces, namespace
        self.results, self.value, self.name, self.all_static = results, value, name, static
        self.body = Body(cell, namespace, results)
        self.changed = any(piece.recipe.changed for piece in pieces)
        self.names = Names(self.body, namespace, self.changed)
        refuse_odd(self.body, pieces, self.names)
        self.all_static |= refuse_what_tells(self.body, pieces, self.names)
        self.traced = {root_name(path) for piece in pieces for path in piece.paths}
        count = len(self.body.nodes)
        self.trailing = count - 1 if cell.statements[-1].trailing and value is not None and not cell.silent else None
        self.parts = self._divide()
        self.mutated = self._mutated() if self.changed else set[str]()
        self.parameters = entry_reads(range(count), self.body, self.names)
        self.parameters += [name for name in self._directions() if name not in self.parameters]
        self.shown = [item for item in bound_names(self.body) if self._is_returned(item)]
        self.shown += [item for item in self.parameters if item in self.mutated and item not in self.shown]
        self.left_out = [
            item
            for item in bound_names(self.body)
            if item not in self.shown and item in results and item not in self.body.definitions
        ]
        self.key = "value" if "value" not in {*bound_names(self.body), *self.parameters} else "value_"
        for part in self.parts:
            self._connect(part)
        self._settle_shown()
        if asked is not None:
            self._derive(asked)

    def _directions(self) -> Sequence[str]:
        return self.asked.along if self.asked is not None else ()

    def _derive(self, asked: DerivativeSpec) -> None:
        """Adds the derivatives to what the only part gives.

        Raises:
          Refused: if Python runs a part of the cell, or what is differentiated is no parameter of the rest.
        """
        last = [len(self.body.nodes) - 1]
        if self.trailing is None and isinstance(self.body.nodes[-1], ast.Expr):
            self.parts = [part for part in self.parts if part.compiled or part.indices != last]  # nobody sees its value
        part = self.parts[0]
        if len(self.parts) > 1:
            raise refused(
                f"Python runs a part of the cell, which has no place in a file with the {asked}",
                "its function is differentiated as a whole",
                None,
            )
        part.parameters += [name for name in asked.along if name not in part.parameters]
        for name in asked.wrt:
            if name not in part.parameters:
                raise refused(f"`{name}` is no parameter of the function that the cell is", "", None)
        part.outs += asked.binds
        self.shown += asked.binds

    def _role(self, index: int) -> str:
        bound = self.body.binds[index]
        if index in self.body.imports:
            return "import"
        if bound and self.body.definitions.get(bound[0]) == index:
            return "definition"
        if bound and self.body.constants.get(bound[0]) == index:
            return "constant"
        if index not in self.body.attached and any(p.plan.start <= index < p.plan.stop for p in self.pieces):
            node = self.body.nodes[index]
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                return "constant"
            return "compiled"
        if index in self.body.attached:
            return "definition"
        if isinstance(node := self.body.nodes[index], ast.Delete):
            return "constant" if all(isinstance(item, ast.Name) for item in node.targets) else "host"
        return "host"

    def _divide(self) -> list[Part]:
        """The statements as compiled parts and what Python runs between them."""
        roles = [self._role(i) for i in range(len(self.body.nodes))]
        parts: list[Part] = []
        for i, role in enumerate(roles):
            if role in ("compiled", "host"):
                if not parts or parts[-1].compiled != (role == "compiled"):
                    parts.append(Part(role == "compiled", []))
                parts[-1].indices.append(i)
        for part, following in itertools.pairwise(parts):
            while following.compiled and part.indices and self._belongs_to(part.indices[-1], following):
                following.indices.insert(0, part.indices.pop())
        parts = [part for part in parts if part.indices]
        divided: list[Part] = []
        for part in parts:
            before: list[int] = []
            behind: list[int] = []
            if part.compiled:
                while part.indices and self._gives_python(part.indices[0]) and not self._goes_on(part.indices):
                    before.append(part.indices.pop(0))
                while part.indices and self._gives_python(part.indices[-1]):
                    behind.insert(0, part.indices.pop())
            for compiled, indices in ((False, before), (part.compiled, part.indices), (False, behind)):
                if not indices:
                    continue
                if divided and divided[-1].compiled == compiled:
                    divided[-1].indices += indices
                else:
                    divided.append(Part(compiled, indices))
        if not any(part.compiled for part in divided):
            raise refused("the cell gives no array", "there is nothing for a compiled function to return", None)
        numbered = [part for part in divided if part.compiled]
        for number, part in enumerate(numbered, start=1):
            part.name = self.name if len(numbered) == 1 else f"{self.name}_{number}"
            inside = range(part.indices[0], part.indices[-1] + 1)
            part.indices = [i for i in inside if roles[i] != "import" and not self._is_hoisted(i)]
        return divided

    def _goes_on(self, indices: Sequence[int]) -> bool:
        """Whether a later statement binds again what the first one binds."""
        return any(name in self.body.binds[i] for name in self.body.binds[indices[0]] for i in indices[1:])

    def _belongs_to(self, index: int, part: Part) -> bool:
        """Whether a statement that Python runs starts what the compiled part behind it goes on with: `losses = []`."""
        node, bound = self.body.nodes[index], self.body.binds[index]
        if not isinstance(node, ast.Assign) or not all(isinstance(item, ast.Name) for item in node.targets):
            return False
        try:
            ast.literal_eval(node.value)
        except ValueError:
            return False
        again = {name for i in part.indices for name in self.body.binds[i]}
        return all(name in again or is_array_tree(self.results.get(name, 0)) for name in bound)

    def _is_hoisted(self, index: int) -> bool:
        bound = self.body.binds[index]
        if index in self.body.attached:
            return True
        return bool(bound) and self.body.definitions.get(bound[0]) == index and not self.names.is_nested(bound[0])

    def _gives_python(self, index: int) -> bool:
        """Whether a statement makes nothing but Python values, which a compiled function cannot return."""
        if index == self.trailing:
            return not is_array_tree(self.value)
        if isinstance(self.body.nodes[index], ast.Expr) and not self.body.binds[index]:
            return index == len(self.body.nodes) - 1 and self.trailing is None and not self.changed
        bound = self.body.binds[index]
        known = [name for name in bound if name in self.results]
        return (
            bool(known)
            and not any(is_array_tree(self.results[name]) for name in known)
            and self.body.nodes[index].__class__ in (ast.Assign, ast.AugAssign, ast.AnnAssign)
        )

    def _is_returned(self, name: str) -> bool:
        return name in self.results and name not in self.body.definitions and name not in self.body.constants

    def _mutated(self) -> set[str]:
        """The containers that the compiled statements change in place; their new value is returned.

        Raises:
          Refused: if something else than a list or dict is changed, or if it is not plain which.
        """
        count = 0
        for piece in self.pieces:
            for holder, _, _ in piece.recipe.changed:
                kind = type(holder).__name__
                if kind not in ("_List", "_Grown", "_Dict", "_OrderedDict", "_Set", "_Deque"):
                    raise self._changes_objects()
                count += 1
        compiled = [i for part in self.parts if part.compiled for i in part.indices]
        held = {n for part in self.parts if part.compiled for n in entry_reads(part.indices, self.body, self.names)}
        inside = {name for i in compiled for name in self.body.binds[i] if containers_in(self.results.get(name))}
        containers: dict[str, set[int]] = {}
        for name in held:
            value = self.results.get(name, self.namespace.get(name))
            if name in self.body.local or self.names.kind(name) == "data":
                found = containers_in(value)
                if found:
                    containers[name] = found
        names = sorted(containers)
        everywhere = entry_reads(range(len(self.body.nodes)), self.body, self.names)
        others = {name: containers_in(self.results.get(name, self.namespace.get(name))) for name in everywhere}
        containers |= {name: found for name, found in others.items() if found}
        for one in names:
            for other in sorted(containers.keys() - {one}):
                if containers[one] & containers[other]:
                    raise refused(
                        f"the cell changes containers in place, and `{one}` and `{other}` share one",
                        "the compiled function would get two of them",
                        None,
                    )
        stored = {root for i in compiled for root in stored_roots(self.body.nodes[i])}
        if not names and not inside:
            raise refused("a function that the cell calls changes a container that it keeps", "", None)
        return stored & set(names) if len(stored & {*names, *inside}) >= count else set(names)

    def _changes_objects(self) -> Refused:
        """Why a cell that changes objects is no function, and what it would be a function of."""
        read = entry_reads(range(len(self.body.nodes)), self.body, self.names)
        objects = [name for name in read if _is_object(self.namespace.get(name))]
        listing = listed([f"`{name}`" for name in objects]) or "an object that was there before"
        fix = "let the cell bind new values instead of changing these."
        if any(_is_of_nnx(self.namespace[name]) for name in objects):
            held = ", ".join(objects)
            split = f"({held})" if len(objects) > 1 else held
            fix = f"graphdef, state = nnx.split({split}) above, {held} = nnx.merge(graphdef, state) in the cell."
        return Refused(
            f"the cell changes {listing} in place: what is missing is the cell as a function of their state.",
            why="under jax.jit an object from outside would keep a traced value.",
            fix=fix,
        )

    def _connect(self, part: Part) -> None:
        """What a part takes in and gives out."""
        part.parameters = entry_reads(part.indices, self.body, self.names)
        part.parameters = [name for name in part.parameters if name not in self._constants_for(part)]
        if not part.compiled:
            return
        bound = list(dict.fromkeys(name for i in part.indices for name in self.body.binds[i]))
        bound += [name for name in part.parameters if name in self.mutated and name not in bound]
        later = self.parts[self.parts.index(part) + 1 :]
        wanted: set[str] = set()
        for other in later:
            wanted |= set(entry_reads(other.indices, self.body, self.names))
        last = not any(other.compiled for other in later)
        for name in bound:
            if name in self.body.definitions or name in self.body.constants:
                continue
            if name in wanted or (name in self.shown and (last or not self._bound_later(name, later))):
                if name in self.results and not is_array_tree(self.results[name]):
                    if name in wanted or holds_jax(self.results[name]):
                        raise no_array(name, self.results[name])
                    continue
                if name in self.results:
                    part.outs.append(name)

    def _bound_later(self, name: str, later: Sequence[Part]) -> bool:
        return any(name in self.body.binds[i] for part in later for i in part.indices)

    def _settle_shown(self) -> None:
        """Takes out of the results what is a Python value inside a compiled part."""
        given: set[str] = set()
        for part in self.parts:
            bound = {n for i in part.indices for n in self.body.binds[i]}
            given = (given - bound) | set(part.outs) if part.compiled else given | bound
        entry = set(self.parameters)
        gone = [n for n in self.shown if n not in given and not (n in entry and n in self.mutated)]
        self.shown = [name for name in self.shown if name not in gone]
        self.left_out += gone

    def _constants_for(self, part: Part) -> list[str]:
        """Names bound to literals before a part that it reads."""
        reads = {name for i in part.indices for name in reads_of(i, self.body, self.names)}
        found: list[str] = []
        for name, i in self.body.constants.items():
            if name in reads and i < part.indices[0] and i not in part.indices:
                found.append(name)
        return found
