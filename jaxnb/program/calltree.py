"""The call tree of a program: from the cell's lines through the functions that they call to the ops, with sums.

Every op of a level belongs to one node, so that what the nodes cost adds up to what the level costs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxnb.program.amounts import Amount, Cost, add_costs, cost_of
from jaxnb.program.structure import Call, Level, Op, Place, Span

__all__ = [
    "Node",
    "common_call",
    "common_text",
    "folded",
    "made_in",
    "read_tree",
    "relocated",
    "together",
    "unnumbered",
]

_NUMBER = re.compile(r"(?<=\[)\d+(?=\])|(?<=_)\d+")  # of a module among its like: `blocks[0]`, `Block_0`


@dataclass(frozen=True, slots=True)
class Node:
    """A line, a function or a loop, with what it calls.

    Attributes:
      name: of the function; of a line "", and of the whole cell, too.
      kind: "cell", or one of `CALLS`.
      span: where it is written in the text of the node above; None where nobody knows, as for what is of no line.
      path: to the module that it belongs to, as `blocks[0].attn`.
      turns: of a loop; None where nobody knows.
      alike: how many calls it stands for, see `folded`.
      children: in the order in which they are first needed.
      ops: those that it has by itself, as (computation, op).
      count: how many ops it has with its children.
      backward: how many of these run backwards, or again for that.
      own: what its own ops cost, by column.
      total: what it costs with its children.
      behind: the part of this that is of the ops counted by `backward`.
    """

    name: str
    kind: str
    span: Span | None = None
    path: str = ""
    turns: int | None = 1
    alike: int = 1
    children: tuple[Node, ...] = ()
    ops: tuple[Place, ...] = ()
    count: int = 0
    backward: int = 0
    own: Cost = field(default_factory=dict[str, Amount])
    total: Cost = field(default_factory=dict[str, Amount])
    behind: Cost = field(default_factory=dict[str, Amount])

    @property
    def line(self) -> int | None:
        """The line where it is written, in the file of its span."""
        return self.span.line if self.span is not None else None

    def walk(self) -> Iterator[Node]:
        """This node and all below, each before its children."""
        yield self
        for child in self.children:
            yield from child.walk()


class _Growing:
    """A node while ops are being put into it."""

    __slots__ = ("children", "kind", "more", "name", "ops", "path", "span", "turns")

    def __init__(self, name: str, kind: str, span: Span | None, path: str = "", turns: int | None = 1) -> None:
        self.name, self.kind, self.span, self.path, self.turns = name, kind, span, path, turns
        self.children: dict[object, _Growing] = {}
        self.ops: list[tuple[Place, Op]] = []
        self.more: list[tuple[Cost, bool]] = []  # beside the columns, and whether it is of what runs backwards

    def child(self, key: object, make: Callable[[], _Growing]) -> _Growing:
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = make()
        return found


def read_tree(
    level: Level, more: Mapping[Place, Cost] | None = None, elsewhere: Iterable[tuple[Op, Cost]] = ()
) -> Node:
    """The call tree of a level, whose root is the cell.

    Below it are its lines, and below these what they call. What is of no line is a line without a span.

    Args:
      level: whose ops.
      more: what ops cost beside their columns, which is added up with these, by names of its own.
      elsewhere: likewise of what has no op in the level, each with an op that says where it was made.

    >>> ops = (Op("mul", span=Span(1), flops=3), Op("exp", span=Span(2), call=Call("f", span=Span(2))))
    >>> from jaxnb.program import Computation
    >>> tree = read_tree(Level("jaxpr", (), (Computation("main", ops=ops),)))
    >>> [(line.line, line.count, [node.name for node in line.children]) for line in tree.children]
    [(1, 1, []), (2, 1, ['f'])]
    """
    root = _Growing("", "cell", None)
    known: dict[int, tuple[_Growing, set[object]]] = {}
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            home = _home(root, op, known)
            home.ops.append(((index, at), op))
            if more and (cost := more.get((index, at))):
                home.more.append((cost, op.is_backward))
    for op, cost in elsewhere:
        _home(root, op, known).more.append((cost, op.is_backward))
    return _grown(root)


def _home(root: _Growing, op: Op, known: dict[int, tuple[_Growing, set[object]]]) -> _Growing:
    """The node that an op belongs to."""
    if op.call is None:
        return _line_of(root, op.span)
    found = known.get(id(op.call))
    if found is None:
        steps = op.call.steps()
        spans = [steps[0].span or op.span, *(step.span for step in steps[1:])]
        node = _line_of(root, spans[0])
        for step in steps:
            node = _below(node, step)
        found = known[id(op.call)] = node, set(map(_line_key, spans))
    node, called_from = found
    if op.call.kind in ("function", "loop", "scope") and _line_key(op.span) not in called_from:
        return _line_of(node, op.span)  # its text is in the cell, as the span of the op is
    return node


def _below(node: _Growing, step: Call) -> _Growing:
    if step.kind == "line" and node.kind != "line":
        return _line_of(node, step.span)
    if node.kind != "line" and step.span is not None:
        node = _line_of(node, step.span)
    key = (step.name, step.kind, step.path, step.turns)
    return node.child(key, lambda: _Growing(step.name, step.kind, step.span, step.path, step.turns))


def _line_key(span: Span | None) -> object:
    return None if span is None else (span.file, span.line)


def _line_of(node: _Growing, span: Span | None) -> _Growing:
    key = _line_key(span)
    whole = None if span is None else Span(span.line, file=span.file)
    return node.child(key, lambda: _Growing("", "line", whole))


def _grown(node: _Growing) -> Node:
    children = tuple(_unwrapped(_grown(child)) for child in node.children.values())
    own = add_costs([*(cost_of(op) for _, op in node.ops), *(cost for cost, _ in node.more)])
    backward = [op for _, op in node.ops if op.is_backward]
    behind = add_costs([*map(cost_of, backward), *(cost for cost, is_backward in node.more if is_backward)])
    return Node(
        node.name,
        node.kind,
        node.span,
        node.path,
        node.turns,
        1,
        children,
        tuple(place for place, _ in node.ops),
        len(node.ops) + sum(child.count for child in children),
        len(backward) + sum(child.backward for child in children),
        own,
        add_costs([own, *(child.total for child in children)]),
        add_costs([behind, *(child.behind for child in children)]),
    )


def _unwrapped(node: Node) -> Node:
    """A node, or the one call of a library's that it only passes everything on to."""
    if (
        node.kind == "library"
        and not node.ops
        and not node.own
        and len(node.children) == 1
        and node.children[0].kind == "library"
    ):
        return replace(node.children[0], span=node.span, path=node.children[0].path or node.path)
    return node


def folded(node: Node) -> Node:
    """The same tree, in which calls beside one another that do the same are one node for all of them.

    A call that differs in anything but the module that it is called on stays by itself.

    >>> line = Node("", "line", children=tuple(Node("f", "function", path=f"blocks[{n}]", count=3) for n in range(4)))
    >>> [(node.name, node.path, node.alike, node.count) for node in folded(line).children]
    [('f', 'blocks[0…3]', 4, 12)]
    """
    groups: dict[object, list[Node]] = {}
    for child in node.children:
        groups.setdefault(_shape(child), []).append(child)
    return replace(node, children=tuple(folded(_merged(group)) for group in groups.values()))


def _shape(node: Node) -> object:
    """What two nodes have in common that do the same."""
    named = (node.name, node.kind, node.span, node.turns, unnumbered(node.path))
    return named, node.count, node.backward, node.own.get("flops"), tuple(map(_shape, node.children))


def _merged(nodes: Sequence[Node]) -> Node:
    """One node for several of one shape."""
    if len(nodes) == 1:
        return nodes[0]
    return replace(
        together(nodes),
        path=common_text([node.path for node in nodes]),
        alike=sum(node.alike for node in nodes),
        children=tuple(_merged(column) for column in zip(*(node.children for node in nodes), strict=True)),
    )


def together(nodes: Sequence[Node]) -> Node:
    """The first of some nodes with the ops, numbers and costs of all, and without what they call."""
    return replace(
        nodes[0],
        children=(),
        ops=tuple(place for node in nodes for place in node.ops),
        count=sum(node.count for node in nodes),
        backward=sum(node.backward for node in nodes),
        own=add_costs(node.own for node in nodes),
        total=add_costs(node.total for node in nodes),
        behind=add_costs(node.behind for node in nodes),
    )


def unnumbered(text: str) -> str:
    """What texts have in common that name modules of one kind by their numbers."""
    return _NUMBER.sub("", text)


def common_text(texts: Sequence[str]) -> str:
    """One text for several that differ in the numbers of modules.

    >>> common_text(["blocks[0].attn", "blocks[3].attn"])
    'blocks[0…3].attn'
    """
    numbers = [list(map(int, column)) for column in zip(*map(_NUMBER.findall, texts), strict=True)]
    said = iter(f"{min(some)}…{max(some)}" if min(some) < max(some) else str(some[0]) for some in numbers)
    return _NUMBER.sub(lambda _: next(said), texts[0])


def made_in(op: Op) -> str:
    """Where an op was made, below the line of the cell: the innermost call, and the line of the function around it.

    >>> block = Call("Block.__call__", path="blocks[0]")
    >>> made_in(Op("dot", call=Call("nnx.Linear.__call__", "library", Span(26, file="m.py"), block, "blocks[0].up")))
    'nnx.Linear.__call__ blocks[0].up, line 26 of Block.__call__'
    >>> made_in(Op("dot"))
    ''
    """
    if op.call is None:
        return ""
    *around, last = op.call.steps()
    call = around[-1] if last.kind == "line" and around else last
    span = next((step.span for step in (last, *reversed(around)) if step.span is not None), None)
    function = next((step for step in reversed(around) if step.kind == "function"), None)
    where = ""
    if span is not None and function is not None:
        where = f", line {span.line}" + ("" if function is call else f" of {function.name}")
    return f"{call.name}{' ' if call.path else ''}{call.path}{where}"


def common_call(ops: Sequence[Op]) -> Call | None:
    """The innermost call that all of these ops were made in."""
    first = ops[0].call
    if len(ops) == 1 or first is None or all(op.call is first for op in ops):
        return first
    common = first.steps()
    for op in ops[1:]:
        steps = op.call.steps() if op.call is not None else ()
        count = next((n for n, (a, b) in enumerate(zip(common, steps, strict=False)) if a != b), len(steps))
        common = common[: min(count, len(common))]
    return common[-1] if common else None


def relocated(level: Level, move: Callable[[Span], Span]) -> Level:
    """The same level with the places of its ops, and those of the calls that they were made in, put elsewhere."""
    known: dict[int, Call] = {}

    def moved(call: Call | None) -> Call | None:
        if call is not None and id(call) not in known:
            span = None if call.span is None else move(call.span)
            known[id(call)] = replace(call, span=span, parent=moved(call.parent))
        return None if call is None else known[id(call)]

    def at_home(op: Op) -> Op:
        return replace(op, span=None if op.span is None else move(op.span), call=moved(op.call))

    computations = tuple(
        replace(computation, ops=tuple(map(at_home, computation.ops))) for computation in level.computations
    )
    return replace(level, computations=computations)
