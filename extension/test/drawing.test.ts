import { describe, expect, test } from 'vitest';
import { align, folded, totals } from '../src/diff';
import { readGraph } from '../src/graph';
import { isotonic, layOut } from '../src/layout';
import { livingAt, readMemory } from '../src/memory';
import { Program } from '../src/model';
import { Costs } from '../src/costs';
import { data, long, program } from './cases';

const boxes = (count: number) => Array.from({ length: count }, () => ({ width: 40, height: 30 }));

/** Edges of a graph like a program's, always the same. */
function someEdges(count: number): [number, number][] {
  let seed = 7;
  const next = (limit: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
  return Array.from({ length: Math.round(count * 1.3) }, () => {
    const to = 1 + next(count - 1);
    return [Math.max(0, to - 1 - next(12)), to];
  });
}

describe('the layout', () => {
  const edges = someEdges(300);
  const laid = layOut(boxes(300), edges);
  test('puts what is made above what takes it', () => {
    for (const [from, to] of edges) expect(laid.y[from]).toBeLessThan(laid.y[to]);
  });
  test('lets no two boxes overlap', () => {
    for (let a = 0; a < 300; a++) for (let b = 0; b < a; b++) if (laid.y[a] === laid.y[b]) expect(Math.abs(laid.x[a] - laid.x[b])).toBeGreaterThanOrEqual(40);
  });
  test('stays on the canvas', () => {
    laid.x.forEach(x => { expect(x).toBeGreaterThanOrEqual(19.99); expect(x).toBeLessThanOrEqual(laid.width - 19.99); });
    laid.y.forEach(y => expect(y).toBeLessThanOrEqual(laid.height));
  });
  test('edges begin and end at their boxes', () => {
    laid.edges.forEach((points, at) => {
      const [from, to] = edges[at];
      expect([points[0], points.at(-1)]).toEqual([[laid.x[from], laid.y[from]], [laid.x[to], laid.y[to]]]);
    });
  });
  test('of nothing is nothing', () => expect(layOut([], [])).toMatchObject({ width: 0, height: 0, x: [] }));
  test('opens a circle at its first node, and puts the rest below', () => {
    const { y } = layOut(boxes(5), [[0, 1], [1, 2], [2, 3], [3, 1], [3, 4]]);
    expect([...y].sort((a, b) => a - b)).toEqual(y);
    expect(new Set(y).size).toBe(5);
  });
  test('of a circle ends', () => expect(layOut(boxes(3), [[0, 1], [1, 2], [2, 0], [1, 1]]).x).toHaveLength(3));
});

test('an isotonic regression never falls and keeps the sum', () => {
  const wanted = [3, 1, 2, 5, 4];
  const found = isotonic(wanted);
  for (let at = 1; at < found.length; at++) expect(found[at]).toBeGreaterThanOrEqual(found[at - 1]);
  expect(found.reduce((a, b) => a + b)).toBeCloseTo(15);
});

describe('the graph', () => {
  const level = program('neuron').level('jaxpr')!;
  test('has inputs by their users names, ops and outputs', () => {
    const { nodes } = readGraph(level, 0, new Set(), false);
    expect(nodes.map(node => `${node.kind} ${node.label}`)).toEqual(['input x', 'input w', 'op dot_general', 'op mul', 'op add', 'op tanh', 'output y']);
  });
  test('has edges with shapes', () => {
    const { edges } = readGraph(level, 0, new Set(), false);
    expect(edges.map(edge => edge.label)).toEqual(['f32[8]', 'f32[8]', 'f32[]', 'f32[]', 'f32[]', 'f32[]']);
  });
  test('a scope is one node until it is opened', () => {
    const closed = readGraph(level, 0, new Set(), true);
    expect(closed.nodes.filter(node => node.kind === 'scope').map(node => [node.label, node.detail])).toEqual([['neuron', '3 ops'], ['neuron ⊤', '1 op']]);
    expect(readGraph(level, 0, new Set(['neuron']), true).nodes.some(node => node.kind === 'scope')).toBe(false);
  });
  test('of a very long computation is drawn in part, and says so', () => {
    expect(readGraph(new Program(long(3100)).level('jaxpr')!, 0, new Set(), false).left).toBe(100);
  });
});

describe('memory', () => {
  test('by liveness, where it was not saved', () => {
    const some = data('neuron');
    delete some.memory;
    const [series] = readMemory(new Program(some));
    expect(series.source).toBe('liveness');
    expect(series.peak).toBe(Math.max(...series.live));
    expect(livingAt(series, series.at).reduce((sum, one) => sum + one.nbytes, 0)).toBe(series.peak);
  });
  test('at every position those who live there hold what is said', () => {
    for (const name of ['mlp', 'loop']) {
      for (const series of readMemory(program(name))) {
        if (series.source !== 'liveness') continue;
        series.live.forEach((nbytes, at) => expect(livingAt(series, at).reduce((sum, one) => sum + one.nbytes, 0)).toBe(nbytes));
      }
    }
  });
  test('as saved, where it was', () => {
    const some = data('neuron');
    some.strings.push('temp', 'output');
    const at = some.strings.length - 2;
    some.memory = [{ source: 'buffers', level: 'hlo', computation: 0, live: [64, 96],
      held: { name: [at], kind: [at + 1], nbytes: [32], first: [1], last: [1], op: [[0, 1]], line: [3] },
      saved: { name: [], nbytes: [], made: [], read: [], line: [], read_line: [] }, recomputed: [], dead: [], known: [] }];
    const [series] = readMemory(new Program(some));
    expect(series).toMatchObject({ source: 'buffers', peak: 96, at: 1 });
    expect(livingAt(series, 1)).toMatchObject([{ name: 'temp', nbytes: 32, line: 3, op: 1 }]);
    expect(livingAt(series, 0)).toEqual([]);
  });
  test('of sizes that are not known there is none', () => expect(readMemory(new Program(long(10)))).toEqual([]));
});

describe('two runs', () => {
  test('a program is like itself', () => {
    const level = program('mlp').level('jaxpr')!;
    expect(align(level, level).every(step => step.kind === '=')).toBe(true);
    expect(folded(align(level, level))).toEqual([{ kind: '…', old: level.size, new: 0 }]);
  });
  test('an op that came is told, whatever the values are called now', () => {
    const before = new Program(long(20)), some = long(21);
    some.strings = some.strings.map((text: string) => (text.startsWith('v') ? `w${text}` : text));
    expect(align(before.level('jaxpr')!, new Program(some).level('jaxpr')!).filter(step => step.kind !== '=').map(step => step.kind)).toEqual(['+']);
  });
  test('both lists are kept whole and in order', () => {
    const a = program('mlp').level('jaxpr')!, b = program('loop').level('jaxpr')!;
    const steps = align(a, b);
    expect(steps.filter(step => step.kind !== '+').map(step => step.old)).toEqual(Array.from({ length: a.size }, (_, at) => at));
    expect(steps.filter(step => step.kind !== '-').map(step => step.new)).toEqual(Array.from({ length: b.size }, (_, at) => at));
  });
  test('what they cost', () => {
    const rows = totals(new Program(long(4)), new Program(long(5)));
    expect(rows.slice(0, 2)).toEqual([{ name: 'equations', unit: 'count', old: 4, new: 5 }, { name: 'flops', unit: 'flops', old: 6, new: 10 }]);
  });
});

test('costs of lines are those of their ops', () => {
  const costs = new Costs(new Program(long(5)));
  expect([...costs.of('source', 'flops')]).toEqual([0 + 2 + 4, 1 + 3]);
  expect(costs.measures('jaxpr')).toEqual(['flops']);
  expect(costs.most('jaxpr', 'flops')).toBe(4);
});
