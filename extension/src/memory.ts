/** Live bytes over a program: as saved with it, or else by liveness over its first computation. */

import { Level, Program } from './model';

export interface Held { name: string; kind: string; nbytes: number; first: number; last: number; op: number; line: number; within?: string }
export interface Series {
  /** How it is known: the compiled program's buffers, or liveness over the shown level. */
  source: 'buffers' | 'liveness';
  level: Level;
  computation: number;
  live: number[];
  held: Held[];
  peak: number;
  /** The position in `live` where the peak is. */
  at: number;
  saved: Kept[];
  /** Bytes that the runtime sets aside for it, null where it does not say. */
  reserved: number | null;
  note: string;
}

/** What the forward pass keeps for the backward pass. */
export interface Kept { name: string; nbytes: number; line: number; readLine: number; within: string }

/** The series of a program, one a piece; empty where no size is known. */
export function readMemory(program: Program): Series[] {
  const given = (program.data.memory ?? []).flatMap((memory): Series[] => {
    const level = program.level(memory.level);
    if (!level || !memory.live.length || memory.computation >= level.data.computations.name.length) return [];
    const { held, saved } = memory;
    const rows = held.name.map((name, row): Held => ({
      name: program.text(name), kind: program.text(held.kind[row]), nbytes: held.nbytes[row], first: held.first[row],
      last: held.last[row], op: held.op[row].length ? level.place(held.op[row]) : -1, line: held.line[row],
      within: program.text(held.within?.[row] ?? -1)
    }));
    const kept = (saved?.name ?? []).map((name, row): Kept => ({ name: program.text(name), nbytes: saved.nbytes[row], line: saved.line[row], readLine: saved.read_line[row],
      within: program.text(saved.within?.[row] ?? -1) }));
    return [{ ...peakOf(memory.live), source: memory.source, level, computation: memory.computation, held: rows, saved: kept, reserved: memory.reserved, note: memory.note }];
  });
  if (given.length) return given;
  const level = program.level('jaxpr') ?? program.lower[0];
  return level && level.data.entries ? byLiveness(level) : [];
}

function byLiveness(level: Level): Series[] {
  const { inputs, outputs } = level.data.computations;
  const from = level.start[0], count = level.start[1] - from;
  const held: Held[] = [];
  const born = new Map<number, number>();
  const last = new Map<number, number>();
  [...inputs[0], ...level.data.computations.constants[0]].forEach(value => { born.set(value, 0); last.set(value, count); });
  for (let at = 0; at < count; at++) {
    level.data.ops.inputs[from + at].forEach(value => { if (level.maker(value) >= 0) last.set(value, at); });
    level.data.ops.outputs[from + at].forEach(value => { born.set(value, at); if (!last.has(value)) last.set(value, at); });
  }
  outputs[0].forEach(value => last.set(value, count));
  const change = new Array<number>(count + 2).fill(0);
  for (const [value, first] of born) {
    const nbytes = level.nbytes(value);
    if (nbytes <= 0) continue;
    const op = level.maker(value);
    const end = last.get(value) ?? first;
    held.push({ name: level.userName(value) || level.valueName(value), kind: op < 0 ? 'input' : outputs[0].includes(value) ? 'output' : 'temporary',
      nbytes, first, last: Math.min(end, count - 1), op, line: op < 0 ? -1 : level.line(op) || -1 });
    change[first] += nbytes;
    change[end + 1] -= nbytes;
  }
  let sum = 0;
  const live = change.slice(0, count).map(one => (sum += one));
  return live.length && held.length ? [{ ...peakOf(live), source: 'liveness', level, computation: 0, held, saved: [], reserved: null, note: '' }] : [];
}

function peakOf(live: number[]): { live: number[]; peak: number; at: number } {
  let at = 0;
  live.forEach((nbytes, place) => { if (nbytes > live[at]) at = place; });
  return { live, peak: live[at], at };
}

/** Who lives at a position, the largest first. */
export function livingAt(series: Series, at: number): Held[] {
  return series.held.filter(one => one.first <= at && at <= one.last).sort((a, b) => b.nbytes - a.nbytes);
}
