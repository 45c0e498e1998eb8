"""Running the body of a `%%xmap` cell: values are taken by their terms, mapped over names, and the results bound."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxnb import _jax, reading
from jaxnb.errors import Refused
from jaxnb.named import (
    FakeMesh,
    LeafSpec,
    MapSpec,
    NamedAxisError,
    Plan,
    ResourceError,
    SerialLoop,
    bind_map,
    check_placement,
    current_mesh,
    did_you_mean,
    loops_in_scope,
    make_plan,
)
from jaxnb.staging.mapped.values import Leaf, leaf_spec, mapped_leaves, match_terms, named_positions, sizes_of, value_of

__all__ = ["CellMap", "check_places", "mesh_of"]


class CellMap:
    """The body of a cell, and how it is mapped.

    Args:
      spec: what goes in and what is bound.
      code: of a function of the inputs, and by name of the others, that returns what is bound and the last value.
      named: what it takes by name besides the notebook's own names.
      taken_in: names of the notebook that it takes by name.
      filename: of the cell.
      changes: whether the body may change objects in place.
    """

    def __init__(
        self,
        spec: MapSpec,
        code: CodeType,
        named: Sequence[tuple[str, Any]],
        taken_in: Sequence[str],
        filename: str,
        changes: bool = False,
    ) -> None:
        self.spec, self.filename, self._changes = spec, filename, changes
        self._code, self._named, self._taken_in = code, dict(named), taken_in

    def run(self) -> Any:
        """Maps the body in the namespace of the caller, and binds what is to be bound. Gives the last line's value.

        Raises:
          Refused: with a caret under the word of the header that is wrong, or with the line.
          Exception: what the body raises.
        """
        __tracebackhide__ = True
        namespace = _caller().f_globals
        spec = self.spec
        values = [value_of(spec, root, namespace) for root in spec.roots]
        leaves, trees = mapped_leaves(spec, values)
        mapped = [leaf for leaf in leaves if leaf.term is not None]
        specs = [leaf_spec(spec, leaf, np.ndim(leaf.value)) for leaf in mapped]
        sizes = sizes_of(spec, mapped)
        mesh = mesh_of(spec, namespace)
        plan = _plan(spec, sizes, mesh)
        function = FunctionType(self._code, namespace)
        by_name = {**self._named, **{name: namespace[name] for name in self._taken_in}}
        found = _Results(spec)

        def body(*at: Any) -> list[Any]:
            __tracebackhide__ = True
            if self._changes and found.ran:
                raise Refused(
                    "the cell asks for named_shape, and changes objects in place.",
                    why="its body is traced once more for each answer, and would change them each time.",
                    fix="do one of the two in a cell of its own.",
                )
            found.ran = True
            entries = iter(at)
            flat = iter([leaf.value if leaf.term is None else next(entries) for leaf in leaves])
            arguments = [jax.tree.unflatten(tree, [next(flat) for _ in range(tree.num_leaves)]) for tree in trees]
            return found.read(*function(*arguments, **by_name))

        try:
            arrays = bind_map(
                body,
                [jnp.asarray(leaf.value) for leaf in mapped],
                [leaf.place for leaf in mapped],
                specs,
                lambda: (found.specs(), [leaf.place for leaf in found.leaves]),
                sizes=sizes,
                plan=plan,
                mesh=mesh,
            )
        except NamedAxisError as error:
            raise self._told(error, found.leaves) from None
        except _jax.TRACING_ERRORS as error:
            raise self._needs_value(error) from error
        namespace.update(found.bound(arrays))
        return found.value(arrays)

    def _line_of(self, error: BaseException) -> int | None:
        """The innermost line of the body that led to an error."""
        line, traceback = None, error.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code.co_filename == self.filename and code.co_name != "<module>":
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        return line

    def _told(self, error: NamedAxisError, results: Sequence[Leaf]) -> Refused:
        """An error of the map in the words of a cell."""
        spec = self.spec
        place = re.compile(re.escape(self.filename) + r":(\d+)(?::\d+)*(?: \([^()]*\))?")
        what, why = (place.sub(r"line \1", text) for text in (error.what, error.why))
        term = next((leaf.term for leaf in results if leaf.place == error.place), None)
        if term is None:
            line = self._line_of(error)
            return Refused(f"line {line}: {what}" if line else what, why=why, fix=error.fix, line=line)
        if error.name in term.names:
            fix = "give it another resource, or none."
            return spec.refused_at(what, term, name=error.name, why=why, fix=fix)
        fix = f"write {error.name} into its brackets, or reduce over it, as jnp.sum(..., axis={error.name!r}) does."
        what = f"{error.place} varies over {error.name!r}, which is not in its brackets."
        return spec.refused_at(what, term, why=why, fix=fix)

    def _needs_value(self, error: BaseException) -> Refused:
        line = self._line_of(error)
        return Refused(
            f"line {line} needs a value that is traced." if line else "the cell needs a value that is traced.",
            why="the body of a mapped cell is traced for all positions at once, so that Python sees no values.",
            fix="use jnp.where or jax.lax.cond, or do it in a cell of its own.",
            line=line,
        )


_caller = partial(sys._getframe, 1)  # pyright: ignore[reportPrivateUsage]  # there is no public name for it


def mesh_of(spec: MapSpec, namespace: Mapping[str, Any]) -> Any:
    """The mesh that a cell is mapped on; None if there is none.

    Raises:
      Refused: if `--mesh` names no mesh.
    """
    if spec.mesh is None:
        return current_mesh()
    if isinstance(spec.mesh, str) and "=" in spec.mesh:
        return reading.make_mesh(spec.mesh)
    mesh = namespace.get(spec.mesh) if isinstance(spec.mesh, str) else spec.mesh
    if not isinstance(mesh, Mesh | FakeMesh | jax.sharding.AbstractMesh):
        known = [name for name, value in namespace.items() if isinstance(value, Mesh | FakeMesh)]
        what = f"--mesh {spec.mesh}: " + (
            "there is no such name." if mesh is None else f"it is a {type(mesh).__name__}."
        )
        raise Refused(what, why="a name is spread over the axes of a mesh.", fix=did_you_mean(str(spec.mesh), known))
    return mesh


def check_places(spec: MapSpec, mesh: Any, namespace: Mapping[str, Any]) -> None:
    """Refuses arrays that are spread over devices in another way than the map takes them.

    Raises:
      Refused: with a caret under the term.
    """
    if not spec.resources or not isinstance(mesh, Mesh):
        return
    values = [namespace[root] for root in spec.roots if root in namespace]
    if len(values) < len(spec.roots) or not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(values)):
        return
    leaves = [leaf for leaf in mapped_leaves(spec, values)[0] if leaf.term is not None]
    for leaf in leaves:
        leaf_spec(spec, leaf, np.ndim(leaf.value))
    plan = _plan(spec, sizes_of(spec, leaves), mesh)
    for leaf in leaves:
        try:
            check_placement(leaf.value, leaf.place, named_positions(leaf.term), plan)
        except ResourceError as error:
            assert leaf.term is not None
            raise spec.refused_at(error.what, leaf.term, why=error.why, fix=error.fix) from None


def _plan(spec: MapSpec, sizes: Mapping[str, int], mesh: Any) -> Plan:
    """What the names are spread over; each resource is looked at alone first, to point at it if it is wrong."""
    resources = {
        name: tuple(SerialLoop(one) if isinstance(one, int) else one for one in given) for name, given in spec.resources
    }
    loops = dict(loops_in_scope())
    for name, given in resources.items():
        try:
            make_plan({name: given}, sizes, mesh, spec.lowering, loops)
        except ResourceError as error:
            column, width = spec.places.get(("resources", name), (0, 0))
            fix = error.fix
            if mesh is None and "no mesh" in error.why:
                fix = "set one in a cell above, jax.set_mesh(mesh), or name one: --mesh mesh."
            if not width:
                raise Refused(error.what, why=error.why, fix=fix) from None
            raise spec.refused(error.what, column, width, why=error.why, fix=fix) from None
    return make_plan(resources, sizes, mesh, spec.lowering, loops)


class _Results:
    """What the body returned when it was traced last."""

    def __init__(self, spec: MapSpec) -> None:
        self._spec = spec
        self._trees: list[Any] = []
        self._shown: Any = None
        self._traced: list[Any] = []
        self.leaves: list[Leaf] = []
        self.ran = False

    def read(self, outputs: Sequence[Any], shown: Any) -> list[Any]:
        """Takes apart what the body returned: the arrays that come out."""
        self.leaves, self._trees = [], []
        for root, value in zip(self._spec.bound, outputs, strict=True):
            terms = [term for term in self._spec.outputs if term.root == root]
            found, tree = match_terms(self._spec, terms, root, value)
            for leaf in found:
                if leaf.term is None:
                    what = f"{leaf.place} is not in the header."
                    fix = f"write {root}.*[...] for all that it holds."
                    raise self._spec.refused_at(what, terms[0], fix=fix)
            self.leaves += found
            self._trees.append(tree)
        self._shown = shown
        self._traced = [jnp.asarray(leaf.value) for leaf in self.leaves]
        return self._traced

    def specs(self) -> list[LeafSpec]:
        """The spec of each array that comes out."""
        return [
            leaf_spec(self._spec, leaf, np.ndim(value), len(named_positions(leaf.term)))
            for leaf, value in zip(self.leaves, self._traced, strict=True)
        ]

    def bound(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """The names that are bound, with their values."""
        rest = iter(arrays)
        made = [jax.tree.unflatten(tree, [next(rest) for _ in range(tree.num_leaves)]) for tree in self._trees]
        return dict(zip(self._spec.bound, made, strict=True))

    def value(self, arrays: Sequence[Any]) -> Any:
        """The value of the last line, with what is bound in place of what stood at one position.

        Raises:
          Refused: if it holds something else that stands at one position only.
        """
        whole = {id(leaf.value): array for leaf, array in zip(self.leaves, arrays, strict=True)}

        def put(leaf: Any) -> Any:
            if id(leaf) in whole:
                return whole[id(leaf)]
            if _jax.is_tracer(leaf):
                raise Refused(
                    f"the last line shows {leaf.aval.str_short()}, which stands at one position only.",
                    why="outside of the cell there are only the names behind ->.",
                    fix="bind it to a name, and write that behind -> with the names of its dimensions.",
                )
            return leaf

        return jax.tree.map(put, self._shown)
