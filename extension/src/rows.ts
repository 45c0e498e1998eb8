/** The visible rows of a level: computations one in another, as folded, filtered and sorted as the user wants. */

import { beginsHot } from './costs';
import { groupsOf, Item, wayToMain } from './groups';
import { Level, Program } from './model';
import { openedAtFirst } from './sourcerows';

export const HEAD = 0, OP = 1, FOOT = 2, GROUP = 3;

/** Rows as columns: what each is, which op, computation or group, how deep it stands. */
export interface Rows { kind: number[]; item: number[]; depth: number[] }

export interface View {
  /** Ops whose bodies are not shown. */
  folded: ReadonlySet<number>;
  /** Only ops of these phases; all if empty. */
  phases: ReadonlySet<string>;
  /** Only ops in this scope; all if "". */
  scope: string;
  /** Whether only conversions are shown that the code did not ask for. */
  promoted: boolean;
  /** What each op costs with its bodies: what runs as one piece, the dearest first. */
  sort: Float64Array | null;
  /** Groups that show what is in them; null where ops are not grouped. */
  opened: ReadonlySet<number> | null;
}

export const ALL: View = { folded: new Set(), phases: new Set(), scope: '', promoted: false, sort: null, opened: null };

/** The rows to show. An op that the filters leave out stays if something in its bodies does not. */
export function readRows(level: Level, view: View): Rows {
  const rows: Rows = { kind: [], item: [], depth: [] };
  const kept = keptOps(level, view);
  // A stack of our own: how deep bodies stand in one another is up to the data.
  type Step = { kind: number; item: number; depth: number };
  const stack: Step[] = [];
  const groups = groupsOf(level);
  const push = (items: Item[], depth: number) => {
    for (let at = items.length - 1; at >= 0; at--) {
      const { op, group } = items[at];
      stack.push(group < 0 ? { kind: OP, item: op, depth } : { kind: GROUP, item: group, depth });
    }
  };
  const enter = (computation: number, depth: number) => {
    stack.push({ kind: FOOT, item: computation, depth: depth + 1 });
    const items = kept || !view.opened ? null : groups.items(computation);
    if (items) push(items, depth + 1);
    else for (let op = level.start[computation + 1] - 1; op >= level.start[computation]; op--) {
      if (!kept || kept[op]) stack.push({ kind: OP, item: op, depth: depth + 1 });
    }
    stack.push({ kind: HEAD, item: computation, depth });
  };
  const costs = view.sort;
  if (costs) push(level.apart.filter(op => (!kept || kept[op]) && costs[op] > 0).sort((a, b) => costs[b] - costs[a] || a - b).map((op): Item => ({ op, group: -1 })), 1);
  else for (let entry = level.data.entries - 1; entry >= 0; entry--) enter(entry, 0);
  while (stack.length) {
    const { kind, item, depth } = stack.pop()!;
    add(rows, kind, item, depth);
    if (kind === GROUP && view.opened?.has(item)) push(groups.all[item].inside, depth + 1);
    if (kind === OP && !view.folded.has(item)) level.bodies(item).reverse().forEach(body => enter(body, depth + 1));
  }
  return rows;
}

function add(rows: Rows, kind: number, item: number, depth: number): void {
  rows.kind.push(kind);
  rows.item.push(item);
  rows.depth.push(depth);
}

/** For each op 2 if the filters let it through, 1 if only something inside it does; null if there is no filter. */
function keptOps(level: Level, view: View): Uint8Array | null {
  const promoted = view.promoted && level.promotions > 0;
  if (!view.phases.size && !view.scope && !promoted) return null;
  const kept = new Uint8Array(level.size);
  for (let op = 0; op < level.size; op++) {
    if (view.phases.size && !view.phases.has(level.phase(op))) continue;
    if (promoted && !level.promotes(op)) continue;
    if (view.scope && !level.scopes(op).includes(view.scope)) continue;
    kept[op] = 2;
    for (let up = level.owner[level.home[op]]; up >= 0 && !kept[up]; up = level.owner[level.home[up]]) kept[up] = 1;
  }
  return kept;
}

/** The ops around an op, which have to be unfolded for it to be seen. */
export function around(level: Level, op: number): number[] {
  const found: number[] = [];
  for (let up = level.owner[level.home[op]]; up >= 0 && found.length < level.size; up = level.owner[level.home[up]]) found.push(up);
  return found;
}

const MOST_UNFOLDED = 400;

/** What is folded at first, level by level: all bodies of a level that is long, or begins with what costs most. */
export function foldedOf(program: Program): Map<string, Set<number>> {
  return new Map(program.lower.map(level => {
    const folded = new Set<number>();
    const open = new Set(wayToMain(level));
    if (level.size > MOST_UNFOLDED || beginsHot(level)) level.data.ops.bodies.forEach((bodies, op) => { if (bodies.length && !open.has(op)) folded.add(op); });
    return [level.name, folded];
  }));
}

/** The groups that are open at first, level by level, and the lines. */
export function openedOf(program: Program): Map<string, Set<number>> {
  return new Map([['source', openedAtFirst(program, program.trees[0])], ...program.lower.map((level): [string, Set<number>] => [level.name, groupsOf(level).opened()])]);
}

/** What there is to filter by. */
export function readFilters(levels: Level[]): { phases: string[]; scopes: string[]; promotions: number } {
  const phases = new Set<string>();
  const scopes = new Set<string>();
  for (const level of levels) {
    for (let op = 0; op < level.size; op++) {
      if (level.data.ops.phase) phases.add(level.phase(op));
      if (level.data.ops.scopes && scopes.size < 500) level.scopes(op).forEach(scope => scopes.add(scope));
    }
  }
  return { phases: [...phases], scopes: [...scopes].sort(), promotions: Math.max(0, ...levels.map(level => level.promotions)) };
}
