/** What ops and lines cost, by measure: columns of the data, and the bytes that live while an op runs. */

import { Column, Level, Program } from './model';
import { formatIn } from './format';
import { readMemory } from './memory';
import { COLUMNS as KNOWN } from './schema';
import type { State } from './store';
import type { Tree } from './tree';

export type Measure = typeof KNOWN[number]['name'];
export const MEASURES = KNOWN.map(one => one.name);

const said = (key: 'title' | 'tells' | 'unit') => Object.fromEntries(KNOWN.map(one => [one.name, one[key]])) as Record<Measure, string>;
export const NAMES = said('title');
export const TELLS = said('tells');
export const UNITS = said('unit');

const DERIVED = new Set<string>(KNOWN.flatMap(one => one.of === 'derived' ? [one.name] : []));

/** Whether what several ops have is the sum: not of a share, nor of what lives at one time. */
export function adds(measure: Measure): boolean { return measure !== 'memory' && UNITS[measure] !== 'share'; }

/** What is shown at first: time if it was measured, or else flops, and what is known of few programs. */
export function firstMeasures(costs: Costs, levels: string[]): Measure[] {
  const known = new Set([...levels, 'source'].flatMap(level => costs.measures(level)));
  return MEASURES.filter(one => DERIVED.has(one) && known.has(one) || one === (known.has('seconds') ? 'seconds' : 'flops'));
}

export function formatCost(measure: Measure, cost: number): string { return cost > 0 ? formatIn(UNITS[measure], cost) : ''; }

const SCHEDULED = ['hlo'], SCREENFUL = 25;

/** Whether a level begins with what costs most: a long one, whose order is a compiler's and says nothing of the cell. */
export function beginsHot(level: Level): boolean { return SCHEDULED.includes(level.name) && level.apart.length > SCREENFUL; }

/** By what a level is sorted, as the user wants it or by itself; null for its own order. */
export function orderOf({ sort, ordered, measures }: State, costs: Costs, level: Level): Measure | null {
  const known = costs.measures(level.name);
  if (sort) return known.includes(sort) ? sort : null;
  if (!beginsHot(level) || ordered.has(level.name)) return null;
  const ranks = known.filter(adds);
  return ranks.find(one => one === 'seconds') ?? ranks.find(one => measures.includes(one)) ?? ranks[0] ?? null;
}

/** Costs of a program, added up once for each measure and level. */
export class Costs {
  private known = new Map<string, Float64Array>();
  private largest = new Map<string, number>();

  constructor(private readonly program: Program) {}

  /** The tree in which a measure is known: of the topmost level that has it. */
  tree(measure: Measure): Tree | undefined { return this.program.trees.find(tree => tree.data.measures.includes(measure)); }

  /** The measures of which a level, or the source, knows something. */
  measures(level: string): Measure[] {
    return MEASURES.filter(measure => this.of(level, measure).some(one => one > 0));
  }

  /** One number an op, or for "source" one a line with line 1 first; -1 where nothing is known. */
  of(level: string, measure: Measure): Float64Array {
    const key = `${level} ${measure}`;
    let found = this.known.get(key);
    if (!found) {
      found = level === 'source' ? this.ofLines(measure) : this.ofOps(this.program.level(level), measure);
      this.known.set(key, found);
    }
    return found;
  }

  /** The largest, for the heat; of a level of what it runs as one piece. */
  most(level: string, measure: Measure): number {
    const key = `${level} ${measure}`;
    let most = this.largest.get(key);
    if (most === undefined) {
      most = 0;
      const of = this.program.level(level);
      const costs = of && level !== 'source' ? this.deep(of, measure) : this.of(level, measure);
      for (const cost of of && level !== 'source' ? of.apart.map(op => costs[op]) : costs) if (cost > most) most = cost;
      this.largest.set(key, most);
    }
    return most;
  }

  /** The same for levels with what the bodies of an op cost, where that adds up. */
  deep(level: Level, measure: Measure): Float64Array {
    const key = `${level.name} ${measure} deep`;
    let found = this.known.get(key);
    if (!found) {
      found = this.of(level.name, measure).map(cost => Math.max(0, cost));
      // A body stands behind the op that owns it: from the end all that is inside is known.
      for (let op = adds(measure) ? level.size - 1 : -1; op >= 0; op--) {
        const up = level.owner[level.home[op]];
        if (up >= 0 && up < op) found[up] += found[op];
      }
      this.known.set(key, found);
    }
    return found;
  }

  /** What ops are ranked by: of what nobody knows next to nothing, so that it comes last and is still there. */
  ranks(level: Level, measure: Measure): Float64Array {
    const known = this.of(level.name, measure);
    return this.deep(level, measure).map((cost, op) => cost || (known[op] < 0 && adds(measure) && measure !== 'seconds' ? 1e-9 : 0));
  }

  /** What all ops cost. */
  whole(level: Level, measure: Measure): number {
    return this.of(level.name, measure).reduce((sum, cost) => sum + Math.max(0, cost), 0);
  }

  /** What some ops of a level cost together: of memory the most, and of a roof what they come to in their time. */
  over(level: Level, measure: Measure, ops: number[]): number {
    const costs = this.of(level.name, measure);
    if (measure === 'memory') return Math.max(-1, ...ops.map(op => costs[op]));
    if (adds(measure)) return ops.reduce((sum, op) => sum + Math.max(0, costs[op]), 0);
    const whole = ops.reduce((sum, op) => sum + Math.max(0, level.cost(op, 'seconds')), 0);
    return ops.some(op => costs[op] < 0) || !whole ? -1 : ops.reduce((sum, op) => sum + costs[op] * Math.max(0, level.cost(op, 'seconds')), 0) / whole;
  }

  private derived(level: string, measure: Measure) { return this.program.data.derived?.find(one => one.level === level && one.column === measure); }

  /** What keeps an op from being faster, or a node of the first tree; "" where its roof is not known. */
  bound(level: string, at: number): string {
    const found = level === 'source' ? this.program.trees[0]?.data : this.derived(level, 'roof');
    return found?.by_memory ? `bound by ${found.by_memory.includes(at) ? 'memory' : 'flops'}` : '';
  }

  private ofOps(level: Level | undefined, measure: Measure): Float64Array {
    const costs = new Float64Array(level?.size ?? 0).fill(-1);
    if (!level) return costs;
    if (measure !== 'memory') {
      const column = this.derived(level.name, measure)?.of ?? level.data.ops[measure as Column];
      column?.forEach((cost, op) => { costs[op] = cost ?? -1; });
      return costs;
    }
    for (const series of readMemory(this.program)) {
      if (series.level !== level) continue;
      const from = level.start[series.computation];
      series.live.forEach((nbytes, at) => { if (from + at < level.start[series.computation + 1]) costs[from + at] = nbytes; });
    }
    return costs;
  }

  /** Of the topmost level that knows; of memory what a line's values hold at the peak. */
  private ofLines(measure: Measure): Float64Array {
    const costs = new Float64Array(this.program.lines.length).fill(-1);
    const add = (line: number, cost: number) => {
      if (line > 0 && line <= costs.length && cost >= 0) costs[line - 1] = Math.max(0, costs[line - 1]) + cost;
    };
    if (measure === 'memory') {
      for (const series of readMemory(this.program)) {
        for (const one of series.held) if (one.first <= series.at && series.at <= one.last) add(one.line, one.nbytes);
      }
      return costs;
    }
    const level = this.program.lower.find(one => one.columns.includes(measure as Column));
    const tree = level ? undefined : this.tree(measure);
    const only = !tree && DERIVED.has(measure) && this.program.lower.find(one => this.derived(one.name, measure));
    if (only) {
      const lines = new Map<number, number[]>();
      for (let op = 0; op < only.size; op++) lines.set(only.line(op), [...lines.get(only.line(op)) ?? [], op]);
      lines.forEach((ops, line) => add(line, this.over(only, measure, ops)));
    }
    for (const node of tree?.children[0] ?? []) if (!tree!.file(node)) add(tree!.line(node), tree!.cost(node, measure));
    if (level) for (let op = 0; op < level.size; op++) add(level.line(op), level.cost(op, measure as Column));
    return costs;
  }
}
