/** A computation as modules: calls as boxes that open, forward at the left and backward beside it, and what flows. */

import { groupsOf } from './groups';
import { Level } from './model';

export interface Box {
  /** Whether it is what a call does by itself. */
  own: boolean;
  backward: boolean;
  label: string;
  path: string;
  ops: number[];
  /** How many calls it stands for. */
  alike: number;
  /** What opens it: a number for `opened`; -1 where nothing is in it. */
  key: number;
  x: number; y: number; width: number; height: number;
}

/** An open call around its boxes. */
export interface Frame { key: number; label: string; x: number; y: number; width: number; height: number }

export interface Flow { from: number; to: number; nbytes: number; value: number; count: number }

export interface Modules { boxes: Box[]; frames: Frame[]; flows: Flow[]; width: number; height: number; twoSided: boolean }

export const WIDE = 210, TALL = 38;
const TALLER = 96;  // what a box of the whole cost is higher by
const GAP = 16, HEAD = 22, PAD = 10, BETWEEN = 150, LEAST_STACK = 3, SIDE = 90;
// What is open at first: so many rows, of what is worth it, and stacks of so many.
const MOST_FIRST = 12, WORTH = 0.03, MOST_STACK = 6;
const NUMBER = /(?<=\[)\d+(?=\])|(?<=_)\d+/g;

/** A call in the hierarchy: what it does itself, what it calls, in the order of their first ops. */
interface Part { call: number; label: string; path: string; own: [number[], number[]]; parts: Part[]; first: number; forward: number; backward: number; stack: Part[] }

/** A part, or what it does by itself, by its first op. */
interface Row { at: number; part: Part; own: boolean }

const hierarchies = new WeakMap<Level, Map<number, Part>>();

/** What a computation calls, one in another; made once. */
function hierarchy(level: Level, computation: number): Part {
  let all = hierarchies.get(level);
  if (!all) hierarchies.set(level, all = new Map());
  let found = all.get(computation);
  if (!found) all.set(computation, found = made(level, computation));
  return found;
}

function made(level: Level, computation: number): Part {
  const groups = groupsOf(level);
  const { calls } = level.program.data;
  const make = (call: number, first: number): Part => ({ call, first, label: call < 0 ? '' : groups.nameOf(call), path: call < 0 ? '' : level.program.text(calls?.path?.[call] ?? -1),
    own: [[], []], parts: [], forward: 0, backward: 0, stack: [] });
  const root = make(-1, level.start[computation]);
  const known = new Map<number, Part>();
  for (let op = level.start[computation]; op < level.start[computation + 1]; op++) {
    const side = level.isBackward(op) ? 1 : 0;
    let at = root;
    for (const call of groups.chainOf(op)) {
      let next = known.get(call);
      if (!next) { known.set(call, next = make(call, op)); at.parts.push(next); }
      if (side) at.backward++; else at.forward++;
      at = next;
    }
    if (side) at.backward++; else at.forward++;
    // A loop is no part of what a call does beside it.
    const body = groups.bodyOf(op);
    if (body === undefined) at.own[side].push(op);
    else at.parts.push({ ...make(-1, op), ...named(level, op, body), own: side ? [[], [op]] : [[op], []], forward: 1 - side, backward: side });
  }
  // What all of it is made in is the caller's.
  let top = root;
  while (top.parts.length === 1 && !top.own[0].length && !top.own[1].length) [top] = top.parts;
  stacked(top);
  return top;
}

/** What the op of a body is called: the function that runs there, and how often. */
function named(level: Level, op: number, body: number): { label: string; path: string } {
  const groups = groupsOf(level);
  const around = groups.chainOf(op).length;
  let names: string[] = [];
  for (let inner = level.start[body]; inner < level.start[body + 1] && names.length < 2; inner++) {
    const chain = groups.chainOf(inner).slice(around, around + 2);
    if (chain.length > names.length) names = chain.map(call => groups.nameOf(call));
  }
  const [loop, called] = names;
  return called ? { label: called, path: loop } : { label: loop ?? level.opName(op), path: '' };
}

/** Calls beside one another that do the same stand for all of them. */
function stacked(part: Part): void {
  const found: Part[] = [];
  const same = (one: Part) => `${one.label} ${one.path.replace(NUMBER, '')} ${one.forward} ${one.backward} ${one.parts.length}`;
  for (const one of part.parts) {
    const before = found.at(-1);
    if (before && same(before) === same(one)) before.stack.push(one);
    else found.push(one);
    stacked(one);
  }
  part.parts = found.flatMap(one => one.stack.length + 1 >= LEAST_STACK ? [one] : [one, ...one.stack.splice(0)]);
}

function opsOf(part: Part, side: number): number[] {
  return [...part.own[side], ...part.parts.flatMap(one => opsOf(one, side)), ...part.stack.flatMap(one => opsOf(one, side))];
}

/** Numbers for `opened`: of a call, and of a stack of them. */
const keyOf = (part: Part) => part.stack.length ? -2 - part.call : part.call;
const insideOf = (part: Part): Part[] => part.stack.length ? [{ ...part, stack: [] }, ...part.stack] : part.parts;

/** What is open at first: the dearest, until there is enough to see. */
export function openedAtFirst(level: Level, computation: number, cost: (op: number) => number): Set<number> {
  const top = hierarchy(level, computation);
  const sizes = new Map<Part, number>();
  const size = (part: Part): number => {
    let found = sizes.get(part);
    if (found === undefined) sizes.set(part, found = [...part.own.flat()].reduce((sum, op) => sum + cost(op), 0) + [...part.parts, ...part.stack].reduce((sum, one) => sum + size(one), 0));
    return found;
  };
  const found = new Set<number>();
  const waiting = [...top.parts];
  let count = waiting.length;
  while (waiting.length) {
    const part = waiting.reduce((a, b) => size(b) > size(a) ? b : a);
    waiting.splice(waiting.indexOf(part), 1);
    const parts = insideOf(part);
    if (!parts.length || parts.length > MOST_STACK && part.stack.length || count + parts.length > MOST_FIRST || size(part) < WORTH * size(top)) continue;
    found.add(keyOf(part));
    count += parts.length - 1;
    waiting.push(...parts);
  }
  return found;
}

/** The boxes, as high as their share of the costs says, where they stand, and what flows between them. */
export function readModules(level: Level, computation: number, opened: ReadonlySet<number>, cost: (op: number) => number = () => 0): Modules {
  let whole = 0;
  for (let op = level.start[computation]; op < level.start[computation + 1]; op++) whole += cost(op);
  const top = hierarchy(level, computation);
  const boxes: Box[] = [], frames: Frame[] = [];
  const twoSided = top.backward > 0;
  const right = WIDE + BETWEEN;
  const home = new Map<number, number>();
  let y = 0;
  const put = (part: Part, own: boolean, key: number) => {
    let tallest = 0;
    for (const side of [0, 1]) {
      const ops = own ? part.own[side] : opsOf(part, side);
      if (!ops.length) continue;
      const height = Math.round(TALL + TALLER * ops.reduce((sum, op) => sum + cost(op), 0) / (whole || 1));
      const names = own ? [...new Set(ops.map(op => level.opName(op)))].slice(0, 4).join(', ') : part.label;
      const label = own ? names : part.label;
      const path = own ? '' : part.stack.length ? common([part.path, ...part.stack.map(one => one.path)]) : part.path;
      boxes.push({ own, backward: side === 1, label, path, ops, alike: own ? 1 : 1 + part.stack.length, key, x: side ? right : 0, y, width: WIDE, height });
      ops.forEach(op => home.set(op, boxes.length - 1));
      tallest = Math.max(tallest, height);
    }
    if (tallest) y += tallest + GAP;
  };
  const walk = (part: Part, depth: number) => {
    // What a call does by itself stands where its first op is.
    const rows = part.parts.map((one): Row => ({ at: one.first, part: one, own: false }));
    const first = part.own[0][0] ?? part.own[1][0];
    if (first !== undefined) rows.push({ at: part.own[0].length ? first : Infinity, part, own: true });
    rows.sort((a, b) => a.at - b.at);
    for (const row of rows) {
      if (row.own) put(row.part, true, -1);
      else place(row.part, depth);
    }
  };
  const place = (part: Part, depth: number) => {
    const key = keyOf(part), inside = insideOf(part);
    if (!inside.length || !opened.has(key)) return put(part, false, inside.length ? key : -1);
    const from = y;
    y += HEAD;
    if (part.stack.length) inside.forEach(one => place(one, depth + 1));
    else walk(part, depth + 1);
    const label = part.stack.length ? `${part.label} ×${part.stack.length + 1}` : `${part.label}${part.path ? `  ${part.path}` : ''}`;
    frames.push({ key, label, x: -PAD - (8 - depth) * 3, y: from, width: (part.backward ? right + WIDE : WIDE) + 2 * (PAD + (8 - depth) * 3), height: y - from - GAP + PAD });
    y += PAD;
  };
  walk(top, 0);
  return { boxes, frames: frames.reverse(), flows: flows(level, computation, home), width: (twoSided ? right + WIDE : WIDE) + SIDE, height: y, twoSided };
}

/** What goes from box to box: all values between two of them are one flow. */
function flows(level: Level, computation: number, home: Map<number, number>): Flow[] {
  const found = new Map<number, Flow>();
  const seen = new Set<string>();
  for (let op = level.start[computation]; op < level.start[computation + 1]; op++) {
    const to = home.get(op);
    for (const value of level.data.ops.inputs[op]) {
      const from = home.get(level.maker(value));
      if (from === undefined || to === undefined || from === to || seen.has(`${value} ${to}`)) continue;
      seen.add(`${value} ${to}`);
      const nbytes = Math.max(0, level.nbytes(value));
      const key = from * 100_000 + to;
      const flow = found.get(key);
      if (!flow) found.set(key, { from, to, nbytes, value, count: 1 });
      else {
        if (nbytes > Math.max(0, level.nbytes(flow.value))) flow.value = value;
        flow.nbytes += nbytes;
        flow.count++;
      }
    }
  }
  return [...found.values()];
}

/** `blocks[0…3].attn`: one text for several that differ in numbers. */
function common(texts: string[]): string {
  const numbers = texts.map(text => (text.match(NUMBER) ?? []).map(Number));
  let at = 0;
  return texts[0].replace(NUMBER, () => {
    const column = numbers.map(row => row[at] ?? 0);
    at++;
    const least = Math.min(...column), most = Math.max(...column);
    return least < most ? `${least}…${most}` : String(least);
  });
}
