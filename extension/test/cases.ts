/** The goldens that the kernel side's tests write and read, too. */

import { readdirSync, readFileSync } from 'node:fs';
import { Program } from '../src/model';

const CASES = new URL('../../tests/cases/', import.meta.url);

export const NAMES = readdirSync(CASES).filter(name => /\.program(\.v\d+)?\.json$/.test(name));

export function data(name: string): any {
  return JSON.parse(readFileSync(new URL(name.endsWith('.json') ? name : `${name}.program.json`, CASES), 'utf8'));
}

export function program(name: string): Program {
  return new Program(data(name));
}

/** A program of one straight computation, as long as wanted: each op takes what the one before it made. */
export function long(count: number): any {
  const index = Array.from({ length: count }, (_, at) => at);
  return {
    format: 'jaxnb.program', version: 1, source: 'x = f(x)\ny = g(x)',
    strings: ['main', 'sin', 'cos', 'x', '', 'float32', ...index.map(at => `v${at}`)],
    avals: { dtype: [5], shape: [[8, 'n']], weak_type: [], itemsize: [4] },
    spans: { line: [1, 2], column: [0, 0], end_line: [1, 2], end_column: [8, 8], file: [4, 4] },
    levels: [
      { name: 'source', entries: 1, values: { name: [], aval: [], literal: [] },
        computations: { name: [0], inputs: [[]], outputs: [[]], constants: [[]], input_names: [[]], output_names: [[]], ops: [0] },
        ops: { name: [], inputs: [], outputs: [], attributes: [], span: [], bodies: [] } },
      { name: 'jaxpr', entries: 1, values: { name: [3, ...index.map(at => at + 6)], aval: [0, ...index.map(() => 0)], literal: [] },
        computations: { name: [0], inputs: [[0]], outputs: [[count]], constants: [[]], input_names: [[3]], output_names: [[]], ops: [count] },
        ops: { name: index.map(at => 1 + (at % 2)), inputs: index.map(at => [at]), outputs: index.map(at => [at + 1]),
          attributes: index.map(() => []), span: index.map(at => at % 2), bodies: index.map(() => []), flops: index.map(at => at) } }
    ],
    links: { upper: [], upper_op: [], lower: [], lower_op: [], inferred: [] },
    fates: { op: [], kind: [], into: [] }, findings: []
  };
}

/**
 * A model of 96 ops on two lines: line 1 calls `f`, which calls `block` four times and `head`, forward and then backward;
 * line 2 calls `update`.
 */
export function model(): any {
  const made = long(96);
  const at = (text: string) => { const found = made.strings.indexOf(text); return found >= 0 ? found : made.strings.push(text) - 1; };
  const called: [string, number, string][] = [['f', -1, ''], ['block', 0, 'blocks[0]'], ['block', 0, 'blocks[1]'], ['block', 0, 'blocks[2]'], ['block', 0, 'blocks[3]'], ['head', 0, 'head'], ['update', -1, '']];
  made.calls = { name: called.map(([name]) => at(name)), kind: called.map(() => at('function')), span: called.map(() => -1), parent: called.map(one => one[1]), path: called.map(one => one[2] ? at(one[2]) : -1) };
  // Eight ops a call: forward 0 to 39, backward 40 to 79 in the opposite order, then the update.
  const { ops } = made.levels[1];
  const callOf = (op: number) => op < 40 ? 1 + Math.floor(op / 8) : op < 80 ? 5 - Math.floor((op - 40) / 8) : 6;
  ops.call = ops.name.map((_: number, op: number) => callOf(op));
  ops.phase = ops.name.map((_: number, op: number) => op >= 40 && op < 80 ? at('transposed') : -1);
  ops.span = ops.name.map((_: number, op: number) => op < 80 ? 0 : 1);
  ops.flops = ops.name.map(() => 10);
  const texts = ['', 'cell', 'line', 'function', 'f', 'block', 'blocks[0…3]', 'head', 'update', 'm.py', 'x = block(x)', 'return head(x)'];
  made.trees = [{
    level: 'jaxpr', texts, measures: ['flops'],
    parent: [-1, 0, 1, 2, 3, 2, 5, 0, 7], kind: [1, 2, 3, 2, 3, 2, 3, 2, 3], name: [0, 0, 4, 0, 5, 0, 7, 0, 8], path: [0, 0, 0, 0, 6, 0, 7, 0, 0],
    file: [0, 0, 0, 9, 9, 9, 9, 0, 0], line: [0, 1, 1, 11, 11, 12, 12, 2, 2], text: [0, 0, 0, 10, 0, 11, 0, 0, 0], alike: [1, 1, 1, 1, 4, 1, 1, 1, 1],
    count: [96, 80, 80, 64, 64, 16, 16, 16, 16], backward: [40, 40, 40, 32, 32, 8, 8, 0, 0],
    total: [[960, 800, 800, 640, 640, 160, 160, 160, 160]], behind: [[400, 400, 400, 320, 320, 80, 80, 0, 0]],
    ops: ops.name.map((_: number, op: number) => ({ 5: 6, 6: 8 } as Record<number, number>)[callOf(op)] ?? 4)
  }];
  return made;
}
