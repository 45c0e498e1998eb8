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
