"""Derivatives of a cell: `%%grad loss wrt w1, w2`.

The cell is traced as under `%%jit`. Then the jaxpr that computes the loss is differentiated with respect to the arrays
that the names hold at cell entry, and the cell and its derivative are compiled as one program.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb import _jax
from jaxnb.errors import Refused
from jaxnb.options import StageOptions
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.cells.code import names_of
from jaxnb.staging.cells.mutation import may_mutate
from jaxnb.staging.objects.paths import Path, moved_to
from jaxnb.staging.trace.builds import Build

__all__ = [
    "Derivative",
    "DerivativeSpec",
    "Tree",
    "asked_for",
    "differentiate",
    "read_loss",
    "read_tree",
    "refuse_detour",
    "value_and_derivative",
]

MOST_HESSIAN = 2**24
"""Numbers that a Hessian may hold: 64 MB in float32."""


@dataclass(frozen=True, slots=True)
class DerivativeSpec:
    """Which derivative is asked for.

    Attributes:
      loss: the name that is differentiated.
      wrt: the names of what it is differentiated by.
      has_aux: whether the name holds a tuple whose first item is the loss.
      along: the names of the directions of a directional derivative; none asks for the gradient.
      hessian: whether the second derivatives are wanted, too.
      remat: what the forward pass keeps, see `_jax.policy_of`; empty without a policy.
    """

    loss: str
    wrt: tuple[str, ...]
    has_aux: bool = False
    along: tuple[str, ...] = ()
    hessian: bool = False
    remat: tuple[str, ...] = ()

    @property
    def binds(self) -> tuple[str, ...]:
        """The names that hold the derivatives."""
        if self.along:
            return (f"d_{self.loss}",)
        first = tuple(f"d_{name}" for name in self.wrt)
        return first + (tuple(f"dd_{name}" for name in self.wrt) if self.hessian else ())

    @property
    def inputs(self) -> frozenset[str]:
        """The names that are taken in."""
        return frozenset((*self.wrt, *self.along))

    def __str__(self) -> str:
        if self.along:
            return f"derivative of {self.loss} along {', '.join(self.along)}"
        return f"gradient{' and Hessian' if self.hessian else ''} of {self.loss} wrt {', '.join(self.wrt)}"


def asked_for(options: StageOptions, cell: CellSource) -> DerivativeSpec | None:
    """The derivative that options ask for, if they do.

    Raises:
      Refused: if the cell does not bind or read the names, or uses a name that a derivative is bound to.
    """
    if options.loss is None:
        return None
    asked = DerivativeSpec(options.loss, options.wrt, options.has_aux, options.jvp, options.hessian, options.remat)
    if options.loss not in cell.binds:
        bound = sorted(cell.binds)
        close = difflib.get_close_matches(options.loss, bound, n=1)
        raise Refused(
            f"the cell does not bind `{options.loss}`.",
            why=f"it binds {', '.join(bound) or 'no name'}.",
            fix=f"did you mean {close[0]}?" if close else "bind the number that is to be differentiated to a name.",
        )
    if options.jvp and len(options.jvp) != len(options.wrt):
        raise Refused(
            f"--jvp names {_count(options.jvp, 'direction')} for {_count(options.wrt, 'name')} behind wrt.",
            why="each value needs a direction of its own, with its shape.",
        )
    for name in asked.binds:
        if name in cell.reads | cell.binds:
            raise Refused(
                f"the cell itself uses `{name}`.",
                why=f"`{name}` is bound to a derivative when the cell has run.",
                fix="use it in the next cell, or take another name.",
            )
    return asked


class Tree(NamedTuple):
    """What a name holds at cell entry, as a pytree.

    Attributes:
      name: of it.
      positions: of its leaves among the inputs of the piece; None for what is no number, such as a function.
    """

    name: str
    treedef: Any
    positions: tuple[int | None, ...]

    @property
    def inputs(self) -> list[int]:
        """The positions of the numbers."""
        return [position for position in self.positions if position is not None]

    def build(self, places: Mapping[int, Build]) -> Build:
        """How the same tree is built of results, given where the result for each input is."""
        children = [places[position] if position is not None else None for position in self.positions]

        def build(b: Any) -> Any:
            return jax.tree_util.tree_unflatten(self.treedef, [child(b) if child else None for child in children])

        return build


def read_tree(name: str, namespace: Mapping[str, Any], tracers: Sequence[Any], known: Iterable[str]) -> Tree:
    """Where the arrays that a name holds are among the inputs; called while they are replaced by tracers.

    Args:
      name: as the user wrote it.
      namespace: that holds the tracers.
      tracers: the inputs.
      known: the names that are read.

    Raises:
      Refused: if there is no value at entry that could be differentiated by.
    """
    read = sorted(set(known) & namespace.keys())
    if name not in namespace or name not in read:
        close = difflib.get_close_matches(name, read, n=1)
        raise Refused(
            f"the cell does not read a value that `{name}` has when it begins.",
            why=f"it reads {', '.join(read) or 'nothing'}.",
            fix=f"did you mean {close[0]}?" if close else "",
        )
    positions = {id(tracer): index for index, tracer in enumerate(tracers)}
    leaves, treedef = jax.tree_util.tree_flatten(namespace[name])
    found: list[int | None] = []
    for leaf in leaves:
        position = positions.get(id(leaf))
        if position is not None:
            if not jnp.issubdtype(leaf.dtype, jnp.floating):
                raise _not_real(name, leaf.aval.str_short())
        elif isinstance(leaf, bool | int | np.ndarray | np.generic | jax.Array):
            raise _not_real(name, f"the {type(leaf).__name__} {leaf!r}" if isinstance(leaf, int) else "static")
        found.append(position)
    if all(position is None for position in found):
        kind = type(namespace[name]).__name__
        raise Refused(
            f"`{name}` holds no floating-point number that could be found: it is a {kind}.",
            why="a gradient has the form of an array, or of a pytree of arrays.",
            fix=f"bind the arrays of `{name}` to a name of their own, and compute with these.",
        )
    return Tree(name, treedef, tuple(found))


def _not_real(name: str, what: str) -> Refused:
    fix = "take it out of --static." if what == "static" else f"{name} = jnp.asarray({name}, float) in a cell above."
    why = "derivatives are taken with respect to real floating-point numbers that are inputs."
    return Refused(f"`{name}` holds what no gradient can be taken by: it is {what}.", why=why, fix=fix)


def read_loss(asked: DerivativeSpec, namespace: Mapping[str, Any], line: int) -> Any:
    """The traced value that is to be differentiated.

    Raises:
      Refused: if it is none, or no real scalar.
    """
    value: Any = namespace.get(asked.loss)
    if asked.has_aux:
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise Refused(
                f"`{asked.loss}`, bound on line {line}, is no pair of a loss and what goes with it.",
                why="--has-aux says it is.",
                line=line,
            )
        value = value[0]
    if not _jax.is_tracer(value):
        fix = "with --has-aux the first item of the pair counts." if isinstance(value, tuple | list) else ""
        raise Refused(
            f"`{asked.loss}`, bound on line {line}, is a {type(value).__name__}, and not computed from what is traced.",
            why="only an array that the cell computes has a derivative.",
            fix=fix,
            line=line,
        )
    aval = value.aval
    if not jnp.issubdtype(aval.dtype, jnp.floating):
        raise Refused(
            f"`{asked.loss}`, bound on line {line}, is {aval.str_short()}.",
            why="only a real floating-point number has a gradient.",
            fix="take its real part, or its absolute value." if aval.dtype.kind == "c" else "",
            line=line,
        )
    if aval.shape and not asked.along:
        raise Refused(
            f"`{asked.loss}`, bound on line {line}, is {aval.str_short()}.",
            why="a gradient is that of a single number.",
            fix="take jnp.mean or jnp.sum of it, or ask for a directional derivative: --jvp v.",
            line=line,
        )
    return value


class Derivative(NamedTuple):
    """A differentiated piece.

    Attributes:
      traced: JAX's traced stage of the cell and its derivatives.
      names: what is bound to the derivatives, and how it is built.
      notes: what there is to say.
      places: the results that are bound, each with the name and with the position of the input that it belongs to.
    """

    traced: Any
    names: list[tuple[str, Build]]
    notes: list[str]
    places: Sequence[tuple[str, int | None, int]]

    def paths(self, inputs: Sequence[Path]) -> Iterator[tuple[Path, int]]:
        """The paths of these results, given those of the inputs."""
        for name, position, place in self.places:
            yield (None, "name", name) if position is None else moved_to(inputs[position], name), place


def differentiate(
    asked: DerivativeSpec, closed: Any, place: int, wrt: Sequence[Tree], along: Sequence[Tree], arguments: Sequence[Any]
) -> Derivative:
    """Differentiates a traced piece.

    Args:
      asked: what is wanted.
      closed: the closed jaxpr of the piece.
      place: of the loss among its results.
      wrt: what it is differentiated by.
      along: the directions, or none.
      arguments: of the run that was traced.

    Raises:
      Refused: if the Hessian would be too large, or a direction has another form than its value.
    """
    function = _jax.as_function(closed)
    order = list(dict.fromkeys(position for tree in wrt for position in tree.inputs))
    avals = closed.in_avals[len(closed.in_avals) - len(arguments) :]
    if asked.hessian:
        _check_size(wrt, sum(avals[position].size for position in order))
    for one, other in zip(wrt, along, strict=bool(along)) if along else ():
        _check_direction(one, other, avals)

    def loss_of(leaves: Sequence[Any], *parts: Any) -> tuple[Any, list[Any]]:
        every = list(leaves)
        for position, part in zip(order, parts, strict=True):
            every[position] = part
        results = function(*every)
        return results[place], results

    keeping = _keeping(asked, closed)

    def cell_and_derivative(*leaves: Any) -> list[Any]:
        parts = [leaves[position] for position in order]

        @keeping
        def of(*parts: Any) -> tuple[Any, list[Any]]:
            return loss_of(leaves, *parts)

        if along:
            directions = dict(
                zip((p for t in wrt for p in t.inputs), (p for t in along for p in t.inputs), strict=True)
            )
            tangents = [leaves[directions[position]] for position in order]
            _, tangent, results = jax.jvp(of, parts, tangents, has_aux=True)
            return [*results, tangent]
        every = tuple(range(len(order)))
        grads, results = jax.grad(of, argnums=every, has_aux=True)(*parts)
        if not asked.hessian:
            return [*results, *grads]
        rows = jax.jacfwd(jax.grad(lambda *parts: of(*parts)[0], argnums=every), argnums=every)(*parts)
        return [*results, *grads, *(block for row in rows for block in row)]

    traced = jax.jit(cell_and_derivative).trace(*arguments)
    count = len(closed.out_avals)
    if along:
        return Derivative(traced, [(asked.binds[0], _output(count))], [], [(asked.binds[0], None, count)])
    first = {position: _output(count + index) for index, position in enumerate(order)}
    names = [(f"d_{tree.name}", tree.build(first)) for tree in wrt]
    if asked.hessian:
        names += [(f"dd_{tree.name}", _rows(tree, wrt, order, count + len(order))) for tree in wrt]
    places = [(f"d_{tree.name}", at, count + order.index(at)) for tree in wrt for at in tree.inputs]
    return Derivative(traced, names, _notes(asked, closed, place, wrt, len(arguments)), places)


def _keeping(asked: DerivativeSpec, closed: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What puts the policy that is asked for around what is differentiated."""
    if not asked.remat:
        return lambda function: function
    names = _jax.checkpoint_names(closed)
    unknown = [word for word in asked.remat if word not in names]
    if unknown and (len(asked.remat) > 1 or unknown[0] not in (*_jax.POLICIES, "offload")):
        there = f"checkpoint_name calls values {', '.join(names)}" if names else "checkpoint_name gives none here"
        close = difflib.get_close_matches(unknown[0], [*_jax.POLICIES, *names], n=1)
        raise Refused(
            f"--remat {unknown[0]}: there is no such policy, and no value of that name to keep.",
            why=f"policies are {', '.join(_jax.POLICIES)}; {there}.",
            fix=f"did you mean {close[0]}?" if close else "",
        )
    return partial(jax.checkpoint, policy=_jax.policy_of(asked.remat))


def _output(place: int) -> Build:
    return lambda b: b.outputs[place]


def _rows(tree: Tree, wrt: Sequence[Tree], order: Sequence[int], start: int) -> Build:
    """The rows of a Hessian that belong to one name: a tree of blocks, or a tuple of these, one for each name."""
    blocks: list[Build] = []
    for other in wrt:
        rows = {
            position: other.build({at: _output(start + row * len(order) + n) for n, at in enumerate(order)})
            for row, position in enumerate(order)
        }
        blocks.append(tree.build(rows))
    return blocks[0] if len(blocks) == 1 else lambda b: tuple(block(b) for block in blocks)


def _check_size(wrt: Sequence[Tree], numbers: int) -> None:
    if numbers**2 > MOST_HESSIAN:
        names = ", ".join(f"`{tree.name}`" for tree in wrt)
        raise Refused(
            f"the Hessian of {names}, which hold {numbers:,} numbers, would hold {numbers**2:,}.",
            why=f"at most {MOST_HESSIAN:,} are computed.",
            fix="ask for the Hessian of fewer of them, or for products with it: jax.jvp of jax.grad.",
        )


def _check_direction(value: Tree, direction: Tree, avals: Sequence[Any]) -> None:
    both = [[avals[position] for position in tree.inputs] for tree in (value, direction)]
    forms = [[(aval.shape, aval.dtype) for aval in one] for one in both]
    if value.treedef == direction.treedef and forms[0] == forms[1]:
        return
    said = [", ".join(aval.str_short() for aval in one) for one in both]
    raise Refused(
        f"`{direction.name}` is no direction for `{value.name}`.",
        why=f"`{value.name}` holds {said[0]}; `{direction.name}` holds {said[1]}.",
        fix=f"give it the structure, shapes and dtypes of `{value.name}`.",
    )


def _notes(asked: DerivativeSpec, closed: Any, place: int, wrt: Sequence[Tree], count: int) -> list[str]:
    """Which names the loss does not depend on."""
    jaxpr = _jax.open_jaxpr(closed)
    inputs = jaxpr.invars[len(jaxpr.invars) - count :]
    needed = {jaxpr.outvars[place]} if not hasattr(jaxpr.outvars[place], "val") else set[Any]()
    for eqn in reversed(jaxpr.eqns):
        if needed.intersection(eqn.outvars):
            needed.update(var for var in eqn.invars if not hasattr(var, "val"))
    return [
        f"`{asked.loss}` does not depend on `{tree.name}`, so that its gradient is zero"
        for tree in wrt
        if not any(inputs[position] in needed for position in tree.inputs)
    ]


def refuse_detour(
    asked: DerivativeSpec,
    cell: CellSource,
    start: int,
    stop: int,
    namespace: Mapping[str, Any],
    host_lines: Iterable[int],
) -> None:
    """Refuses a piece that takes in what earlier statements of the cell made of the values at cell entry.

    Args:
      asked: the derivative.
      cell: that binds the loss.
      start: position of the first statement of the piece that does.
      stop: position behind the statement that does.
      namespace: the names.
      host_lines: that Python ran so far.

    Raises:
      Refused: naming the line whose part in the derivative would be lost.
    """
    made: dict[str, int] = {}
    wrt = set(asked.wrt)
    for statement in cell.statements[:start]:
        reads = _evaluated(statement, namespace)
        if not reads & (wrt | made.keys()) and not statement.names.binds & wrt:
            continue
        changed = set(statement.names.binds)
        if may_mutate(statement.names, namespace):
            changed |= reads
        made.update((name, statement.span.line) for name in changed - made.keys())
    for statement in cell.statements[start:stop]:
        for name in sorted(_reads(statement, namespace) & made.keys()):
            line = made[name]
            between = [host for host in sorted(host_lines) if host > line]
            raise Refused(
                f"`{asked.loss}` is computed from `{name}`, which line {line} makes outside of its program"
                + (f": Python runs line {between[0]} in between." if between else "."),
                why=f"the derivative by {', '.join(asked.wrt)} would leave out what line {line} does.",
                fix=f"move line {between[0]} below `{asked.loss}`." if between else "compute it with JAX there.",
                line=line,
            )


def _evaluated(statement: Statement, namespace: Mapping[str, Any]) -> set[str]:
    """The names whose values a statement uses when it runs; a definition does not use what its function reads."""
    node = statement.node
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        node = node.value
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        parts = [*node.args.defaults, *node.args.kw_defaults, *getattr(node, "decorator_list", [])]
        return {item.id for part in parts if part is not None for item in ast.walk(part) if isinstance(item, ast.Name)}
    if statement.names.binds and all(callable(namespace.get(name)) for name in statement.names.binds):
        return set(statement.names.reads)  # it makes a function of others, such as jax.jit does
    return _reads(statement, namespace)


def _reads(statement: Statement, namespace: Mapping[str, Any]) -> set[str]:
    """The names that a statement reads, and the functions of the namespace that it calls."""
    found: set[str] = set()
    todo = list(statement.names.reads)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            value = namespace.get(name)
            if isinstance(value, FunctionType):
                todo += names_of(value.__code__).reads
    return found


def value_and_derivative(asked: DerivativeSpec, namespace: Mapping[str, Any]) -> tuple[Any, Any]:
    """What `jax.value_and_grad` or `jax.jvp` would return: what the loss is bound to, and the derivatives."""
    found = tuple(namespace[name] for name in asked.binds if not name.startswith("dd_"))
    return namespace[asked.loss], found[0] if len(found) == 1 else found


def _count(names: Sequence[str], noun: str) -> str:
    return f"{len(names)} {noun}{'' if len(names) == 1 else 's'}"
