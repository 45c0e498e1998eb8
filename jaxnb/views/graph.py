"""A level as a graph: computations as clusters, ops as nodes, values as edges with their types.

Names and texts are the notebook's: they go into dot's HTML-like labels, and only escaped.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import graphviz

from jaxnb.program import Computation, Level, Op, Program
from jaxnb.views.diagram import Diagram
from jaxnb.views.escape import escape
from jaxnb.views.folding import Fold, Folding
from jaxnb.views.rows import MARKS, file_place, input_labels, listed, short_type
from jaxnb.views.width import clipped, printable

__all__ = ["MOST_NODES", "render_graph"]

MOST_NODES = 300

# Nodes are light with dark text on any page; what lies on the page itself has a grey that is read on white as on black.
_LINE, _TEXT = "#97a1ae", "#717c8a"
_GRAPH = {
    "bgcolor": "transparent",
    "fontname": "Helvetica",
    "fontsize": "10",
    "fontcolor": _TEXT,
    "labelloc": "b",
    "newrank": "true",  # without it nested frames are now and then more than dot can order
    "nodesep": "0.22",
    "ranksep": "0.36",
    "pad": "0.1",
}
_NODE = {
    "shape": "box",
    "style": "rounded,filled",
    "fontname": "Helvetica",
    "fontsize": "11",
    "fontcolor": "#1f2933",
    "color": "#b6c0cc",
    "fillcolor": "#f1f4f8",
    "penwidth": "0.8",
    "margin": "0.09,0.05",
    "height": "0.2",
    "width": "0.3",
}
_EDGE = {
    "fontname": "Helvetica",
    "fontsize": "9",
    "fontcolor": _TEXT,
    "color": _LINE,
    "penwidth": "0.8",
    "arrowsize": "0.55",
}
_KINDS = {
    "input": {"fillcolor": "#deebfd", "color": "#8fb4ea", "shape": "box"},
    "constant": {"fillcolor": "#e9e9ec", "color": "#b5b5bd"},
    "output": {"fillcolor": "#dcf5e3", "color": "#8ccfa0"},
    "rest": {"fillcolor": "#f7f7f8", "color": "#b6c0cc", "style": "rounded,filled,dashed"},
}
_PHASES = {
    "tangent": {"fillcolor": "#e1f5f3", "color": "#93cdc6"},
    "transposed": {"fillcolor": "#fdf1dc", "color": "#e3c184"},
    "rematerialised": {"fillcolor": "#f1e8fc", "color": "#c5a8ea"},
}
_CLUSTER = {
    "style": "rounded,filled",
    "color": _LINE,
    "fillcolor": "#8080800d",
    "penwidth": "0.8",
    "margin": "10",
    "labelloc": "t",
    "labeljust": "l",
}
_LONGEST = 40
_MOST_TYPES = 3
_MOST_ROWS = 1500  # that the edges of a computation go down, all together


def render_graph(
    program: Program,
    level: str = "jaxpr",
    *,
    computation: int | str | None = None,
    limit: int | None = MOST_NODES,
    fold: Fold = None,
) -> Diagram:
    """A level as a graph that shows itself in a notebook; `.pipe("svg")` and `.render(path)` write it.

    Every op has the line of the cell that it comes from, and every edge the type of the value that goes along it. A
    body stands in a frame of its own, and a dashed line leads to it from the op that runs it. The colour of an op says
    whether it is of the function itself, or of its derivative.

    Args:
      program: what to draw.
      level: which level; it is made if it was not yet.
      computation: to draw alone, by its index or its name; by default the entry points.
      limit: how many ops at most, or None for all. Bodies are folded into their ops first, from the inside out, and a
        note says how many ops are not drawn.
      fold: which bodies are folded, see `Fold`.

    Returns:
      A `graphviz.Digraph`, which needs no system package to be drawn.

    Raises:
      KeyError: if the program does not have that level, or the level no such computation.

    >>> from jaxnb.program import Aval, Value
    >>> values = (Value("a", Aval("float32", (3,))), Value("b", Aval("float32", (3,))))
    >>> main = Computation("main", (0,), (1,), (Op("neg", (0,), (1,)),), (), ("x",), ("y",))
    >>> graph = render_graph(Program("y = -x", (Level("jaxpr", values, (main,)),)))
    >>> "<<B>neg</B>>" in graph.source, graph.pipe("svg")[:5]
    (True, b'<?xml')
    """
    shown = program.level(level)
    roots = list(range(shown.entries)) if computation is None else [_find(shown, computation)]
    diagram = Diagram("program", graph_attr=dict(_GRAPH), node_attr=dict(_NODE), edge_attr=dict(_EDGE))
    drawing = _Drawing(shown, Folding(shown, fold, limit, roots), limit)
    for number, root in enumerate(roots):
        drawing.draw(diagram, root, f"piece {number + 1}" if len(roots) > 1 else "")
    told: list[str] = []
    if count := drawing.hidden:
        told.append(f"{count} {'op is' if count == 1 else 'ops are'} not drawn: limit=None draws all.")
    if count := drawing.far:
        told.append(f"{count} {'edge is' if count == 1 else 'edges are'} not drawn that would cross the page.")
    if told:
        diagram.attr(label="\\n".join(told))
    return diagram


def _find(level: Level, wanted: int | str) -> int:
    names = [computation.name for computation in level.computations]
    if isinstance(wanted, int) and 0 <= wanted < len(names):
        return wanted
    if wanted in names:
        return names.index(str(wanted))
    there = listed([repr(name) for name in dict.fromkeys(names)], ", ")
    raise KeyError(f"there is no computation {wanted!r} at level {level.name!r}; there are {there}")


@dataclass(slots=True)
class _Edges:
    """The edges of one computation, by the nodes that they join; parallel ones are drawn as one."""

    types: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])

    def add(self, tail: str | None, head: str, type_: str) -> None:
        if tail is not None:
            found = self.types.setdefault((tail, head), [])
            found += [type_] if type_ and type_ not in found else []

    def near(self, most: int) -> set[tuple[str, str]]:
        """The edges that can be laid out: the shortest ones, until together they go down so many rows.

        Time for a layout grows with the square of that sum and more, and what crosses a whole page is not followed by
        anybody. Edges are known in the order of their heads, so that one walk finds the row of each node.
        """
        rows: dict[str, int] = {}
        for tail, head in self.types:
            rows[head] = max(rows.get(head, 0), rows.get(tail, 0) + 1)
        first: dict[str, int] = {}
        for tail, head in self.types:
            first[tail] = min(first.get(tail, rows[head]), rows[head])
        # What nothing leads to stands just above the first that reads it.
        spans = {(tail, head): rows[head] - rows.get(tail, first[tail] - 1) for tail, head in self.types}
        kept: set[tuple[str, str]] = set()
        for edge in sorted(spans, key=lambda edge: spans[edge]):
            most -= spans[edge]
            if most < 0 and spans[edge] > 1:
                break
            kept.add(edge)
        return kept


class _Drawing:
    def __init__(self, level: Level, folding: Folding, limit: int | None) -> None:
        self.level = level
        self.folding = folding
        self.limit = limit
        self.hidden = 0
        self.far = 0
        self.drawn: dict[int, str] = {}

    def draw(self, onto: graphviz.Digraph, root: int, frame: str) -> None:
        """An entry point, in a frame where there are several."""
        if frame:
            cluster = _cluster(str(root), frame)
            self._computation(cluster, root, 0)
            onto.subgraph(cluster)
        else:
            self._computation(onto, root, 0)

    def _computation(self, onto: graphviz.Digraph, index: int, depth: int) -> str:
        """Draws a computation; the name of one of its nodes, for an edge that leads to its frame."""
        computation = self.level.computations[index]
        makers: dict[int, str] = {}
        edges = _Edges()
        anchor = self._inputs(onto, index, computation, makers)
        shown = computation.ops if self.limit is None else computation.ops[: self.limit]
        for at, op in enumerate(shown):
            node = f"op{index}_{at}"
            anchor = anchor or node
            folded = self.folding.hidden(op, depth)
            self.hidden += folded
            if op.bodies and not folded:
                self._framed(onto, node, op, depth)
            else:
                self._op(onto, node, op, folded)
            self._join(edges, makers, op.inputs, node)
            makers.update(dict.fromkeys(op.outputs, node))
        if rest := computation.ops[len(shown) :]:
            self._rest(onto, index, rest, makers, f"op{index}_{len(shown) - 1}")
        self._outputs(onto, index, computation, makers, edges)
        near = edges.near(_MOST_ROWS)
        for (tail, head), types in edges.types.items():
            if (tail, head) not in near:
                self.far += 1
                continue
            text = listed(types, ", ") if len(types) <= _MOST_TYPES else f"{types[0]} …+{len(types) - 1}"
            onto.edge(tail, head, label=_label(f" {text} ") if text else None)
        if anchor is None:
            anchor = f"in{index}"
            onto.node(anchor, "", shape="point", color=_LINE)
        return anchor

    def _inputs(
        self, onto: graphviz.Digraph, index: int, computation: Computation, makers: dict[int, str]
    ) -> str | None:
        """What goes into a computation, by the names that the user gave it."""
        values = (*computation.inputs, *computation.constants)
        first = None
        for at, (value, label) in enumerate(zip(values, input_labels(computation), strict=True)):
            kind = "input" if at < len(computation.inputs) else "constant"
            named = kind == "constant" or bool(computation.input_names)
            makers[value] = node = f"in{index}_{at}"
            first = first or node
            text = label if named else self.level.values[value].name
            onto.node(node, _label(text, short_type(self.level.values[value])), **_KINDS[kind])
        return first

    def _op(self, onto: graphviz.Digraph, node: str, op: Op, folded: int) -> None:
        """An op with its line, the literals among its operands, and how much is folded into it."""
        values = [self.level.values[value] for value in op.inputs]
        literals = listed([value.name if value.literal else "·" for value in values], ", ")
        place = f"line {op.line}" if op.line is not None else file_place(op).strip("()")
        small = [literals] if any(value.literal for value in values) else []
        small += [f"… {folded} op{'' if folded == 1 else 's'}"] if folded else []
        small += [place] if place else []
        onto.node(node, _label(op.name + MARKS.get(op.phase, ""), *small, bold=True), **_PHASES.get(op.phase, {}))

    def _rest(self, onto: graphviz.Digraph, index: int, ops: tuple[Op, ...], makers: dict[int, str], last: str) -> None:
        """One node for the ops that there is no room for. What they read is not drawn: to lay out so many edges that
        end in one node takes minutes."""
        node = f"rest{index}"
        self.hidden += len(ops) + sum(self.folding.count(op) for op in ops)
        onto.node(node, _label(f"… {len(ops)} more ops"), **_KINDS["rest"])
        onto.edge(last, node, style="dashed", arrowhead="none")
        for op in ops:
            makers.update(dict.fromkeys(op.outputs, node))

    def _outputs(
        self, onto: graphviz.Digraph, index: int, computation: Computation, makers: dict[int, str], edges: _Edges
    ) -> None:
        """What comes out of a computation; a literal that it hands out has no edge."""
        names = computation.output_names or ("",) * len(computation.outputs)
        for at, (value, name) in enumerate(zip(computation.outputs, names, strict=False)):
            node = f"out{index}_{at}"
            made = self.level.values[value]
            small = (short_type(made),) if made.literal else ()
            onto.node(node, _label(name or made.name, *small), **_KINDS["output"])
            self._join(edges, makers, (value,), node)

    def _join(self, edges: _Edges, makers: dict[int, str], values: tuple[int, ...], node: str) -> None:
        for value in values:
            # The type of an input stands in its node.
            tail = makers.get(value, "")
            edges.add(tail or None, node, "" if tail.startswith("in") else short_type(self.level.values[value]))

    def _framed(self, onto: graphviz.Digraph, node: str, op: Op, depth: int) -> None:
        """An op in one frame with its bodies, each of which has a frame in it where there are several."""
        new = [index for index in op.bodies if index not in self.drawn]
        names = [self.level.computations[index].name for index in new]
        frame = _cluster(f"of_{node}", names[0] if len(names) == 1 else "")
        self._op(frame, node, op, 0)
        for index, name in zip(new, names, strict=True):
            inner = _cluster(str(index), name) if len(new) > 1 else frame
            self.drawn[index] = self._computation(inner, index, depth + 1)
            if inner is not frame:
                frame.subgraph(inner)
        onto.subgraph(frame)
        for index in op.bodies:
            # A body that stands in the frame of an op above must not be pulled below this one.
            constraint = None if index in new else "false"
            onto.edge(node, self.drawn[index], style="dashed", arrowhead="none", constraint=constraint)


def _cluster(key: str, name: str) -> graphviz.Digraph:
    return graphviz.Digraph(f"cluster_{key}", graph_attr={"label": _label(name) if name else "", **_CLUSTER})


def _label(text: str, *small: str, bold: bool = False) -> str:
    """An HTML-like label: a text, and smaller ones below it. They cannot be markup."""
    head = _escaped(text) or " "
    lines = [f"<B>{head}</B>" if bold else head]
    lines += [f'<FONT POINT-SIZE="9" COLOR="#5d6874">{_escaped(one)}</FONT>' for one in small if one]
    return f"<{'<BR/>'.join(lines)}>"


def _escaped(text: str) -> str:
    # dot replaces \N and \G by names of its own also in such labels.
    return str(escape(clipped(printable(text), _LONGEST))).replace("\\", "\\\\")
