"""A level as plain text that is the same on every machine: what is asked of it, without names, paths and times.

One line an op, numbered within its computation:

     2  L3  add #1:float32[5,4] in2:float32[4] -> float32[5,4]  {dimensions=(1,)}  =0.4  fused into 0.7  20F 176B

says that it is of line 3, adds what op 1 and the third input give, is exactly linked to op 4 of computation 0 of the
level above (`~` if that was inferred), and what became of it and what it costs.
"""

from __future__ import annotations

from jaxnb.program import Computation, Level, Op, PlacedOp, Program

__all__ = ["dump_level"]


def dump_level(program: Program, name: str) -> str:
    """A level with its links to the level above, its fates and its costs."""
    level = program.level(name)
    placed = {op.place: op for op in program.ops(name)}
    fates = {fate.op: fate for fate in program.fates} if name == "jaxpr" else {}
    lines: list[str] = []
    for index, computation in enumerate(level.computations):
        known = _operands(level, computation)
        inputs = [_input(level, computation, at) for at in range(len(computation.inputs))]
        lines.append(f"{index} {computation.name}({', '.join(inputs)})")
        for at, op in enumerate(computation.ops):
            parts = [f"{at:4}  {_line(op)} {op.name} {_flow(level, op, known)}".rstrip(), *_details(op)]
            parts.append(_links(placed[index, at], name))
            if (fate := fates.get((index, at))) is not None:
                parts.append(fate.kind + (f" into {fate.into[0]}.{fate.into[1]}" if fate.into is not None else ""))
            if name == "jaxpr":
                parts.append(_costs(op))
            lines.append("  ".join(part for part in parts if part))
        results = [known.get(i) or level.values[i].name for i in computation.outputs]
        lines.append(f"      return {' '.join(results)}".rstrip())
    return "\n".join(lines) + "\n"


def _operands(level: Level, computation: Computation) -> dict[int, str]:
    """What each value is called: by the op that makes it, or as an input."""
    known = {value: f"const{at}" for at, value in enumerate(computation.constants)}
    known.update((value, f"in{at}") for at, value in enumerate(computation.inputs))
    for at, op in enumerate(computation.ops):
        for number, value in enumerate(op.outputs):
            known[value] = f"#{at}" + (f".{number}" if len(op.outputs) > 1 else "")
    return known


def _type(level: Level, value: int) -> str:
    found = level.values[value]
    axes = ",".join(f"{axis}={size}" for axis, size in found.axes)
    spread = f"@{found.sharding}" if found.sharding else ""
    return f"{found.aval}{f'<{axes}>' if axes else ''}{spread}"


def _input(level: Level, computation: Computation, at: int) -> str:
    name = computation.input_names[at] if computation.input_names else ""
    return f"{name}: {_type(level, computation.inputs[at])}" if name else _type(level, computation.inputs[at])


def _line(op: Op) -> str:
    if op.span is None:
        return "--"
    return f"L{op.span.line}" if not op.span.file else f"L{op.span.line} of {op.span.file}"


def _flow(level: Level, op: Op, known: dict[int, str]) -> str:
    operands = [f"{known.get(i) or level.values[i].name}:{_type(level, i)}" for i in op.inputs]
    results = [_type(level, i) for i in op.outputs]
    return " ".join([*operands, *(["->", *results] if results else [])])


def _details(op: Op) -> list[str]:
    attributes = ", ".join(f"{name}={text}" for name, text in sorted(op.attributes))
    phase = op.phase if op.phase != "primal" else ""
    bodies = f"runs {','.join(map(str, op.bodies))}" if op.bodies else ""
    return [f"{{{attributes}}}" if attributes else "", bodies, phase, "/".join(op.scopes)]


def _links(op: PlacedOp, level: str) -> str:
    ends = sorted((link.upper_op, link.exact) for link in op.links if link.lower == level)
    return " ".join(f"{'=' if exact else '~'}{place[0]}.{place[1]}" for place, exact in ends)


def _costs(op: Op) -> str:
    numbers = [
        f"{count}{letter}" for count, letter in ((op.flops, "F"), (op.bytes, "B"), (op.transcendentals, "T")) if count
    ]
    if op.flops is None:
        numbers = ["?"]
    return " ".join(numbers) + ("" if op.times == 1 else f" x{'?' if op.times is None else op.times}")
