/** What is what at which level: lines, ops and values, followed by links up and down, exact or inferred. */

import { Level, Program } from './model';

/** Ops of one level, each with whether some way there has only exact links. */
export type Found = Map<number, boolean>;

/** A place that the user points at. */
export type Target =
  | { kind: 'line'; line: number }
  | { kind: 'op'; level: string; op: number }
  | { kind: 'value'; level: string; value: number }
  | { kind: 'ops'; level: string; ops: number[]; said: string };

/** Everything that a place is: lines of the cell, and ops by level; and the values that are the same. */
export interface Linked {
  target: Target;
  lines: Map<number, boolean>;
  ops: Map<string, Found>;
  value?: { level: string; value: number };
}

interface Sides { down: Map<number, [number, boolean][]>; up: Map<number, [number, boolean][]> }

/** The links of a program, indexed when they are first followed. */
export class Links {
  private pairs?: Sides[];

  constructor(private readonly program: Program) {}

  /** Everything that a place is. */
  find(target: Target): Linked {
    const found: Linked = { target, lines: new Map(), ops: new Map() };
    const { program } = this;
    if (target.kind === 'line') {
      found.lines.set(target.line, true);
      const jaxpr = program.lower[0];
      if (jaxpr) {
        found.ops.set(jaxpr.name, new Map(opsAt(jaxpr, target.line).map(op => [op, true])));
        this.spread(found, jaxpr.index);
      }
      return found;
    }
    const level = program.level(target.level);
    if (!level) return found;
    const start: Found = new Map();
    if (target.kind === 'op') start.set(target.op, true);
    else if (target.kind === 'ops') target.ops.forEach(op => start.set(op, true));
    else {
      found.value = { level: level.name, value: target.value };
      const maker = level.maker(target.value);
      if (maker >= 0) start.set(maker, true);
    }
    found.ops.set(level.name, start);
    this.spread(found, level.index);
    this.addLines(found, start.size ? level : undefined);
    return found;
  }

  /** Follows what is found at one level to all others. */
  private spread(found: Linked, from: number): void {
    const { levels } = this.program;
    for (const step of [1, -1]) {
      let here = found.ops.get(levels[from].name)!;
      for (let at = from + step; at >= 0 && at < levels.length; at += step) {
        here = this.follow(here, step > 0 ? at - 1 : at, step > 0);
        if (levels[at].name === 'source') break;
        found.ops.set(levels[at].name, here);
      }
    }
  }

  private follow(here: Found, gap: number, down: boolean): Found {
    const sides = this.index()[gap];
    const next: Found = new Map();
    for (const [op, exact] of here) {
      for (const [other, sure] of (down ? sides.down : sides.up).get(op) ?? []) {
        next.set(other, (next.get(other) ?? false) || (exact && sure));
      }
    }
    return next;
  }

  /** The lines are those of the equations; an op below that is linked to none says its own, which is a guess. */
  private addLines(found: Linked, own?: Level): void {
    const jaxpr = this.program.lower[0];
    for (const [op, exact] of (jaxpr && found.ops.get(jaxpr.name)) || []) {
      const line = jaxpr.line(op);
      if (line) found.lines.set(line, (found.lines.get(line) ?? false) || exact);
    }
    if (found.lines.size || !own) return;
    for (const op of found.ops.get(own.name)!.keys()) {
      const line = own.line(op);
      if (line) found.lines.set(line, own === jaxpr);
    }
  }

  private index(): Sides[] {
    if (this.pairs) return this.pairs;
    const { levels, data } = this.program;
    const { upper, upper_op, lower, lower_op, inferred } = data.links;
    const guessed = new Set(inferred);
    this.pairs = levels.slice(1).map((): Sides => ({ down: new Map(), up: new Map() }));
    upper.forEach((above, row) => {
      if (lower[row] !== above + 1) return;
      const a = levels[above].place(upper_op[row]);
      const b = levels[lower[row]].place(lower_op[row]);
      const sides = this.pairs![above];
      push(sides.down, a, [b, !guessed.has(row)]);
      push(sides.up, b, [a, !guessed.has(row)]);
    });
    return this.pairs;
  }
}

function push<T>(lists: Map<number, T[]>, key: number, item: T): void {
  const found = lists.get(key);
  if (found) found.push(item);
  else lists.set(key, [item]);
}

const byLine = new WeakMap<Level, Map<number, number[]>>();

/** The ops that come from a line; where none begins there, those of an expression that goes over it. */
export function opsAt(level: Level, line: number): number[] {
  let lines = byLine.get(level);
  if (!lines) {
    lines = new Map();
    for (let op = 0; op < level.size; op++) {
      const at = level.line(op);
      if (at) push(lines, at, op);
    }
    byLine.set(level, lines);
  }
  const found = lines.get(line);
  if (found) return found;
  const over: number[] = [];
  for (const [start, ops] of lines) {
    if (start < line) for (const op of ops) if (level.span(op)!.endLine >= line) over.push(op);
  }
  return over;
}

/** What became of an op of the jaxpr that no instruction bears, in words; "" if nothing is known. */
export function fateOf(program: Program, op: number): string {
  const { fates } = program.data;
  const jaxpr = program.level('jaxpr');
  const hlo = program.level('hlo');
  if (!fates || !jaxpr) return '';
  const row = fates.op.findIndex(pair => jaxpr.place(pair) === op);
  if (row < 0) return '';
  const into = fates.into[row];
  const kind = program.text(fates.kind[row]);
  if (!into.length || !hlo) return { folded: 'folded: its result was known at compile time', removed: 'removed: nothing of it is left' }[kind] ?? kind;
  const outputs = hlo.data.ops.outputs[hlo.place(into)];
  return `fused into ${outputs.length ? hlo.valueName(outputs[0]) : hlo.opName(hlo.place(into))}`;
}
