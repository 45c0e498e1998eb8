/** Two runs of a cell, aligned: which ops stayed, went and came, and what that costs. */

import { Measure, NAMES, UNITS } from './costs';
import { Column, COLUMNS, Level, Program } from './model';
import { readMemory } from './memory';
import { Tree } from './tree';

export interface Step { kind: '=' | '-' | '+' | '…'; old: number; new: number }

/** The ops of two levels in one list. Long programs are aligned by their ends, and what lies between is old, then new. */
export function align(before: Level, after: Level, most = 4_000_000): Step[] {
  const a = signatures(before), b = signatures(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const steps: Step[] = [];
  for (let at = 0; at < head; at++) steps.push({ kind: '=', old: at, new: at });
  const rows = a.length - head - tail, columns = b.length - head - tail;
  if (rows * columns > most) {
    for (let at = 0; at < rows; at++) steps.push({ kind: '-', old: head + at, new: -1 });
    for (let at = 0; at < columns; at++) steps.push({ kind: '+', old: -1, new: head + at });
  } else {
    between(a, b, head, rows, columns, steps);
  }
  for (let at = tail; at > 0; at--) steps.push({ kind: '=', old: a.length - at, new: b.length - at });
  return steps;
}

/** The longest common subsequence of what lies between the common ends. */
function between(a: string[], b: string[], head: number, rows: number, columns: number, steps: Step[]): void {
  const wide = columns + 1;
  const best = new Uint32Array((rows + 1) * wide);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      best[i * wide + j] = a[head + i] === b[head + j] ? best[(i + 1) * wide + j + 1] + 1
        : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
    }
  }
  let i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && a[head + i] === b[head + j]) steps.push({ kind: '=', old: head + i++, new: head + j++ });
    else if (j >= columns || (i < rows && best[(i + 1) * wide + j] >= best[i * wide + j + 1])) steps.push({ kind: '-', old: head + i++, new: -1 });
    else steps.push({ kind: '+', old: -1, new: head + j++ });
  }
}

/** What an op is without the names of its values, which two runs call differently, and without their sizes. */
function signatures(level: Level): string[] {
  const found: string[] = [];
  const shape = (value: number) => level.type(value).replace(/\d+(?=[,\]])/g, '·');
  for (let op = 0; op < level.size; op++) {
    const types = level.data.ops.outputs[op].map(shape);
    const taken = level.data.ops.inputs[op].map(value => level.isLiteral(value) ? level.type(value).includes('[]') && level.valueName(value) : shape(value));
    found.push([level.computationName(level.home[op]), level.opName(op), ...taken, '>', ...types].join(' '));
  }
  return found;
}

/** The sizes that changed in ops that are the same otherwise: `16 → 8` and in how many, the most frequent first. */
export function resized(before: Level, after: Level, steps: Step[]): { ops: number; sizes: [string, number][] } {
  const counts = new Map<string, number>();
  let ops = 0;
  const types = (level: Level, op: number) => [...level.data.ops.inputs[op], ...level.data.ops.outputs[op]].map(value => level.type(value).match(/\d+(?=[,\]])/g) ?? []);
  for (const { kind, old, new: now } of steps) {
    if (kind !== '=') continue;
    const a = types(before, old), b = types(after, now);
    const found = new Set<string>();
    a.forEach((sizes, at) => sizes.forEach((size, axis) => { if (b[at]?.[axis] !== undefined && b[at][axis] !== size) found.add(`${size} → ${b[at][axis]}`); }));
    if (found.size) ops++;
    for (const one of found) counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  return { ops, sizes: [...counts].sort((x, y) => y[1] - x[1]) };
}

/** A row of two trees beside one another: `old` and `new` are nodes, -1 where there is none. */
export interface Pair { old: number; new: number; depth: number }

/** The nodes that cost something else, or are in one of the trees only, below those that they stand in. */
export function changedNodes(before: Tree, after: Tree, measure: Measure): Pair[] {
  const key = (tree: Tree, node: number) => `${tree.kind(node)} ${tree.kind(node) === 'line' ? tree.code(node) : `${tree.name(node)} ${tree.path(node)}`}`;
  const same = (old: number, now: number) => before.data.count[old] === after.data.count[now] && before.cost(old, measure) === after.cost(now, measure);
  const pairs: Pair[] = [];
  const walk = (old: number, now: number, depth: number) => {
    const left = new Map(before.children[old].map(node => [key(before, node), node]));
    for (const node of after.children[now]) {
      const other = left.get(key(after, node)) ?? -1;
      left.delete(key(after, node));
      if (other >= 0 && same(other, node)) continue;
      // Deep down it is told only where there are other ops.
      if (other >= 0 && depth > 3 && before.data.count[other] === after.data.count[node]) continue;
      pairs.push({ old: other, new: node, depth });
      if (other >= 0) walk(other, node, depth + 1);
    }
    for (const node of left.values()) pairs.push({ old: node, new: -1, depth });
  };
  walk(0, 0, 0);
  return pairs;
}

/** The steps with long runs of the same left out, but for a few around what changed. */
export function folded(steps: Step[], context = 2): Step[] {
  const near = new Uint8Array(steps.length);
  steps.forEach((step, at) => {
    if (step.kind !== '=') near.fill(1, Math.max(0, at - context), at + context + 1);
  });
  const shown: Step[] = [];
  steps.forEach((step, at) => {
    if (near[at]) shown.push(step);
    else if (shown.at(-1)?.kind !== '…') shown.push({ kind: '…', old: 1, new: 0 });
    else shown.at(-1)!.old++;
  });
  return shown;
}

export interface Total { name: string; unit: string; old: number; new: number }

/** What the two cost as a whole; -1 where it is not known. */
export function totals(before: Program, after: Program): Total[] {
  // Of a program that was saved without its levels the tree has the sums.
  const sum = ({ lower: [level], trees: [tree] }: Program, column: Column) => {
    if (!level?.columns.includes(column)) return tree?.cost(0, column) ?? -1;
    let total = 0;
    for (let op = 0; op < level.size; op++) total += Math.max(0, level.cost(op, column));
    return total;
  };
  const count = ({ lower: [level], trees: [tree] }: Program) => level?.size ?? tree?.data.count[0] ?? -1;
  const rows: Total[] = [{ name: 'equations', unit: 'count', old: count(before), new: count(after) }];
  for (const column of COLUMNS) {
    if (column !== 'seconds') rows.push({ name: NAMES[column], unit: UNITS[column], old: sum(before, column), new: sum(after, column) });
  }
  const peak = (program: Program) => Math.max(-1, ...program.data.curves?.map(one => one.peak) ?? readMemory(program).map(one => one.peak));
  rows.push({ name: 'peak memory', unit: 'bytes', old: peak(before), new: peak(after) });
  rows.push({ name: 'time', unit: 'seconds', old: before.data.timing?.total ?? -1, new: after.data.timing?.total ?? -1 });
  return rows.filter(row => row.old >= 0 || row.new >= 0);
}
