"""What `jax.device_put` did with a buffer: whether it is shared, was moved, or was copied.

`donate` and `may_alias` are wishes. Where source and target are on one device, JAX may answer `donate=True` by sharing
the buffer and leave the source alive; where they are on different ones it copies, whatever was asked; and an array of
NumPy that lies at a multiple of 64 bytes is shared with the CPU even with `may_alias=False`. So it is read from the
buffers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import jax
import numpy as np

from jaxnb.findings.lints.rules.constant import LARGE
from jaxnb.program import Finding, Fix
from jaxnb.staging import Statement, resolve
from jaxnb.units import format_bytes

if TYPE_CHECKING:
    from jaxnb.staging import Execution

__all__ = ["Put", "Puts", "find_puts", "watch_put"]


@dataclass(frozen=True, slots=True)
class Put:
    """What became of one array.

    Attributes:
      value: what `jax.device_put` returned.
      what: "shared", if source and result are alive and have a buffer in common; "moved", if the result has the buffer
        of a source that is gone; "copied" otherwise.
      deleted: whether the source is gone.
      donate: what was asked for.
      may_alias: likewise.
      nbytes: of the array.
    """

    value: Any
    what: str
    deleted: bool
    donate: bool
    may_alias: bool | None
    nbytes: int

    def __str__(self) -> str:
        """A sentence or two, which say where a wish was not granted."""
        size = format_bytes(self.nbytes)
        if self.what == "shared":
            text = f"shared: both arrays have the same buffer of {size}."
            if self.donate:
                text += " donate=True gave up nothing: the source is alive."
            elif self.may_alias is False:
                text += " may_alias=False was not heeded."
        elif self.what == "moved":
            text = f"moved: the result has the buffer of {size}, and the source is gone."
        else:
            gone = ", and the source is gone" if self.deleted else ""
            text = f"copied: {size} anew{gone}."
            if self.donate and not self.deleted:
                text += " donate=True gave up nothing: the source is alive."
            elif self.may_alias:
                text += " may_alias=True could not be granted."
        return text


@dataclass(frozen=True, slots=True)
class Puts:
    """What became of the arrays of a pytree.

    Attributes:
      value: what `jax.device_put` returned.
      parts: of each leaf, in the order of `jax.tree.leaves`.
    """

    value: Any
    parts: tuple[Put, ...]

    @property
    def what(self) -> str:
        """What happened to all of them, see `Put`; "mixed" if not the same to all, "" if there is none."""
        found = {part.what for part in self.parts}
        return found.pop() if len(found) == 1 else "mixed" if found else ""

    def __str__(self) -> str:
        """A line for each thing that happened, with how many arrays it happened to."""
        groups: dict[tuple[str, bool], list[Put]] = {}
        for part in self.parts:
            groups.setdefault((part.what, part.deleted), []).append(part)
        lines: list[str] = []
        for some in groups.values():
            count = f"{len(some)} array{'' if len(some) == 1 else 's'}"
            lines.append(f"{count} {replace(some[0], nbytes=sum(part.nbytes for part in some))}")
        return "\n".join(lines) or "there is no array"


@overload
def watch_put(
    x: jax.Array | np.ndarray[Any, Any], device: Any = None, *, donate: bool = False, may_alias: bool | None = None
) -> Put: ...
@overload
def watch_put(x: Any, device: Any = None, *, donate: bool = False, may_alias: bool | None = None) -> Put | Puts: ...
def watch_put(x: Any, device: Any = None, *, donate: bool = False, may_alias: bool | None = None) -> Put | Puts:
    """Calls `jax.device_put`, waits for it, and says what it did with the buffers.

    Args:
      x: an array of JAX or NumPy, or a pytree of them.
      device: where to, as `jax.device_put` takes it.
      donate: let JAX reuse the buffers, and give up `x`.
      may_alias: let the result share the buffers of `x`; None leaves that to JAX.

    Returns:
      A `Put`, or `Puts` of a pytree, whose `value` is what `jax.device_put` gave.

    Raises:
      ValueError: from JAX, if both `donate` and `may_alias` are True.

    >>> print(watch_put(jax.numpy.ones(3), may_alias=False))
    copied: 12 B anew.
    >>> watch_put({"w": jax.numpy.ones(3)}, may_alias=True).what
    'shared'
    """
    leaves, form = jax.tree.flatten(x)
    jax.block_until_ready([leaf for leaf in leaves if isinstance(leaf, jax.Array)])
    before = [_buffers(leaf) for leaf in leaves]
    value = jax.block_until_ready(jax.device_put(x, device, donate=donate, may_alias=may_alias))
    results = jax.tree.leaves(value)
    parts = [
        _read(leaf, had, result, donate, may_alias) for leaf, had, result in zip(leaves, before, results, strict=True)
    ]
    return parts[0] if jax.tree.structure(0) == form else Puts(value, tuple(parts))


def _read(x: Any, before: frozenset[int], value: Any, donate: bool, may_alias: bool | None) -> Put:
    """What became of one array, by the buffers that it had before, and by those of the result."""
    deleted = isinstance(x, jax.Array) and x.is_deleted()
    same = bool(before & _buffers(value))
    what = ("moved" if deleted else "shared") if same else "copied"
    return Put(value, what, deleted, donate, may_alias, int(getattr(x, "nbytes", 0)))


def find_puts(execution: Execution) -> Iterator[Finding]:
    """Statements `y = jax.device_put(x, ...)` of a cell whose `donate` or `may_alias` was not granted.

    What was given up, and what is bound anew, has been let go of whatever JAX did. A copy of less than `LARGE` bytes is
    not told.

    Args:
      execution: the run, which has ended well.
    """
    statements = [item for item in execution.cell.statements if item.span.line in execution.host_lines]
    for statement in statements:
        for put, name in _puts_of(statement, execution.cell.statements, execution.namespace):
            alive = put.donate and not put.deleted
            refused = put.what == "copied" and put.nbytes >= LARGE and (alive or put.may_alias)
            if not refused and (put.what != "shared" or put.may_alias is not False or put.donate):
                continue
            fix = Fix("copy it by jnp.array(x, copy=True).") if not refused else None
            if refused and alive:
                fix = Fix(f"del {name} lets go of it.")
            yield Finding("donation", f"jax.device_put of `{name}`: {put}", statement.span.line, holder=name, fix=fix)


def _puts_of(
    statement: Statement, every: Sequence[Statement], namespace: Mapping[str, Any]
) -> Iterator[tuple[Put, str]]:
    """What the call of a statement did, and the name of its source; nothing where that cannot be told any more."""
    node = statement.node
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Call):
        return
    call, target = node.value, node.targets[0]
    source = call.args[0] if call.args else None
    if not isinstance(target, ast.Name) or not isinstance(source, ast.Name) or target.id == source.id:
        return
    chain = statement.calls[0]
    if chain is None or resolve(chain, namespace) is not jax.device_put:
        return
    if any(item.names.binds & {target.id, source.id} for item in every if item.span.line > statement.span.line):
        return
    wishes = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
    donate, may_alias = wishes.get("donate", False), wishes.get("may_alias")
    if donate is not True and not isinstance(may_alias, bool):
        return  # no wish: its buffers need not be waited for
    x, value = namespace.get(source.id), namespace.get(target.id)
    if not isinstance(x, jax.Array | np.ndarray) or not isinstance(value, jax.Array) or value.is_deleted():
        return
    before = frozenset[int]() if isinstance(x, jax.Array) and x.is_deleted() else _buffers(x)
    yield _read(x, before, value, donate is True, may_alias if isinstance(may_alias, bool) else None), source.id


def _buffers(x: Any) -> frozenset[int]:
    """Where the parts of an array lie in memory; none of an empty one."""
    if isinstance(x, np.ndarray):
        return frozenset({x.ctypes.data} if x.nbytes else ())
    if not isinstance(x, jax.Array) or not x.nbytes:
        return frozenset()
    return frozenset(shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards)
