/** Search across all levels: by the texts that ops are made of, each of which is looked at once. */

import { Level, Program } from './model';

/** Where a search hit: lines of the cell, nodes of the first call tree, and ops of a level in their order. */
export interface Matches { lines: number[]; nodes: number[]; ops: Map<string, number[]>; count: number }

/** Lines and ops that hold a text, whatever the case; several words must all be found. */
export function search(program: Program, query: string): Matches {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found: Matches = { lines: [], nodes: [], ops: new Map(), count: 0 };
  if (!words.length) return found;
  program.lines.forEach((line, at) => {
    const low = line.toLowerCase();
    if (words.every(word => low.includes(word))) found.lines.push(at + 1);
  });
  const [tree] = program.trees;
  for (let node = 1; node < (tree?.size ?? 0); node++) {
    const low = (tree.kind(node) === 'line' ? tree.file(node) ? tree.code(node) : '' : tree.called(node)).toLowerCase();
    if (words.every(word => low.includes(word))) found.nodes.push(node);
  }
  const low = program.data.strings.map(text => text.toLowerCase());
  for (const level of program.lower) {
    const hits = words.map(word => matcher(level, low, word));
    const ops: number[] = [];
    for (let op = 0; op < level.size; op++) if (hits.every(hit => hit(op))) ops.push(op);
    if (ops.length) found.ops.set(level.name, ops);
    found.count += ops.length;
  }
  found.count += found.lines.length + found.nodes.length;
  return found;
}

function matcher(level: Level, low: string[], word: string): (op: number) => boolean {
  const text = new Uint8Array(low.length);
  low.forEach((one, at) => { if (one.includes(word)) text[at] = 1; });
  const { calls } = level.program.data;
  const type = new Uint8Array(level.program.data.avals.dtype.length);
  for (let at = 0; at < type.length; at++) if (level.program.type(at).toLowerCase().includes(word)) type[at] = 1;
  const called = new Uint8Array(calls?.name.length ?? 0);  // a call comes behind the one around it
  calls?.name.forEach((one, at) => {
    const paths = calls.path?.[at] ?? -1, parent = calls.parent?.[at] ?? -1;
    called[at] = text[one] || (paths >= 0 && text[paths]) || (parent >= 0 && called[parent]) ? 1 : 0;
  });
  const { name, outputs, inputs, attributes, scopes, call } = level.data.ops;
  const values = level.data.values;
  const named = (value: number) => text[values.name[value]] === 1;
  const made = (value: number) => named(value) || (values.aval[value] >= 0 && type[values.aval[value]] === 1);
  return op => text[name[op]] === 1 || outputs[op].some(made) || inputs[op].some(named) ||
    attributes[op].some(at => text[at] === 1) || !!scopes?.[op].some(at => text[at] === 1) ||
    (!!call && call[op] >= 0 && called[call[op]] === 1);
}
