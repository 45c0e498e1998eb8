/** Runs of ops that were made in one call: what a long computation is folded by, in its own order. */

import { visible } from './format';
import { Level } from './model';

/** Ops `from` to `to` (which is not in it), and what of it folds further. */
export interface Group { from: number; to: number; label: string; backward: boolean; inside: Item[] }

/** An op, or a group by its number. */
export interface Item { op: number; group: number }

const LEAST = 40, MOST_FIRST = 24, NEARLY_ALL = 0.9;
// How many ops a body has that is worth a place of its own.
const BODY = 8;

/** The groups of one level, found when a computation is first shown. */
export class Groups {
  readonly all: Group[] = [];
  private readonly of = new Map<number, Item[]>();
  private readonly chains = new Map<number, number[]>();
  /** How many ops a computation has, with those in its bodies. */
  readonly sizes: number[];

  constructor(private readonly level: Level) {
    const { start, owner, home } = level;
    this.sizes = new Array<number>(start.length - 1).fill(0);
    this.sizes.forEach((_, body) => {
      for (let at = body, depth = 0; depth < 50; at = home[owner[at]], depth++) {
        this.sizes[at] += start[body + 1] - start[body];
        if (owner[at] < 0) break;
      }
    });
  }

  /** The body of an op that is worth a place of its own, undefined if there is none. */
  bodyOf(op: number): number | undefined { return this.level.bodies(op).find(body => this.sizes[body] >= BODY); }

  /** Whether a computation is large, be it by what is in its bodies, and made by calls or loops. */
  isOfCalls(computation: number): boolean {
    const { start, data } = this.level;
    if (!data.ops.call || this.sizes[computation] < LEAST) return false;
    for (let op = start[computation]; op < start[computation + 1]; op++) if (this.chainOf(op).length || this.bodyOf(op) !== undefined) return true;
    return false;
  }

  /** What a computation is made of; null if it is short, or nothing is known of calls. */
  items(computation: number): Item[] | null {
    const { start, data } = this.level;
    if (!data.ops.call || start[computation + 1] - start[computation] < LEAST) return null;
    let found = this.of.get(computation);
    if (!found) this.of.set(computation, found = this.split(start[computation], start[computation + 1], 0));
    return found;
  }

  /** Those that are open at first: the dearest, until there is enough to see. */
  opened(): Set<number> {
    const found = new Set<number>();
    const waiting: number[] = [];
    let count = 0;
    const show = (items: Item[]) => {
      count += items.length;
      for (const { group } of items) if (group >= 0) waiting.push(group);
    };
    for (let entry = 0; entry < this.level.data.entries; entry++) show(this.items(entry) ?? []);
    if (!count) show(this.items(mainOf(this.level)) ?? []);
    const { seconds, flops } = this.level.data.ops;
    const costs = seconds ?? flops ?? [];
    const size = (group: number) => {
      const { from, to } = this.all[group];
      let sum = (to - from) * 1e-9;
      for (let op = from; op < to; op++) sum += Math.max(0, costs[op] ?? 0);
      return sum;
    };
    while (waiting.length) {
      const group = waiting.reduce((a, b) => size(b) > size(a) ? b : a);
      waiting.splice(waiting.indexOf(group), 1);
      if (count + this.all[group].inside.length > MOST_FIRST) continue;
      found.add(group);
      show(this.all[group].inside);
    }
    return found;
  }

  private split(from: number, to: number, depth: number): Item[] {
    const items: Item[] = [];
    for (let first = from; first < to;) {
      const key = this.key(first, depth);
      let end = first + 1;
      while (end < to && key >= 0 && this.key(end, depth) === key) end++;
      if (end - first < 2) items.push({ op: first, group: -1 });
      else if (first === from && end === to) return this.split(from, to, depth + 1);
      else items.push({ op: first, group: this.group(first, end, depth) });
      first = end;
    }
    return items;
  }

  private group(from: number, to: number, depth: number): number {
    let deep = depth;
    while (this.shared(from, to, deep + 1)) deep++;
    const made: Group = { from, to, label: this.label(from, deep), backward: this.level.isBackward(from), inside: [] };
    const at = this.all.push(made) - 1;
    made.inside = this.split(from, to, deep + 1);
    return at;
  }

  private shared(from: number, to: number, depth: number): boolean {
    const key = this.key(from, depth);
    for (let op = from; op < to; op++) if (this.key(op, depth) !== key) return false;
    return key >= 0;
  }

  /** What tells the runs at a depth apart: the line of the cell, then call by call, forward or backward; -1 beyond. */
  private key(op: number, depth: number): number {
    const step = depth ? this.chainOf(op)[depth - 1] ?? -1 : this.level.line(op);
    return step < 0 ? -1 : 2 * step + (this.level.isBackward(op) ? 1 : 0);
  }

  /** The calls that an op was made in, the outermost first, without the lines between them. */
  chainOf(op: number): number[] {
    const call = this.level.data.ops.call?.[op] ?? -1;
    let found = this.chains.get(call);
    if (!found) {
      const { calls } = this.level.program.data;
      found = [];
      for (let at = call; calls && at >= 0; at = calls.parent?.[at] ?? -1) if (this.level.program.text(calls.name[at])) found.unshift(at);
      this.chains.set(call, found);
    }
    return found;
  }

  private label(op: number, depth: number): string {
    const { program } = this.level;
    if (!depth) return visible(`${this.level.line(op) || ''}  ${(program.lines[this.level.line(op) - 1] ?? '(elsewhere)').trim().slice(0, 200)}`);
    const call = this.chainOf(op)[depth - 1];
    const path = program.text(program.data.calls!.path?.[call] ?? -1);
    return visible(`${this.nameOf(call)}${path ? `  ${path}` : ''}`.slice(0, 200));
  }

  /** `Block.__call__`; of a loop with its turns. */
  nameOf(call: number): string {
    const { program } = this.level;
    const { name, kind, turns } = program.data.calls!;
    const many = turns?.[call] ?? 1;
    return `${program.text(name[call])}${program.text(kind[call]) === 'loop' && many > 1 ? `, ${many} turns` : ''}`;
  }
}

/** The ops whose bodies hold nearly all of a level, from outside in: of a step under `jax.jit` the one that calls it. */
export function wayToMain(level: Level): number[] {
  const found: number[] = [];
  const { start } = level;
  const { sizes } = groupsOf(level);
  for (let at = 0; at < level.data.computations.name.length && found.length < 20;) {
    const [from, to] = [start[at], start[at + 1]];
    if (to - from >= LEAST) break;
    let most = -1, size = NEARLY_ALL * sizes[at];
    for (let op = from; op < to; op++) for (const body of level.bodies(op)) if (sizes[body] > size) [most, size] = [op, sizes[body]];
    if (most < 0) break;
    found.push(most);
    [at] = level.bodies(most);
  }
  return found;
}

/** The computation that holds most of a level. */
export function mainOf(level: Level): number {
  const last = wayToMain(level).at(-1);
  return last === undefined ? 0 : level.bodies(last)[0];
}

const known = new WeakMap<Level, Groups>();

/** The groups of a level. */
export function groupsOf(level: Level): Groups {
  let found = known.get(level);
  if (!found) known.set(level, found = new Groups(level));
  return found;
}
