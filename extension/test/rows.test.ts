import { describe, expect, test } from 'vitest';
import { Costs, orderOf } from '../src/costs';
import { Program } from '../src/model';
import { rowText } from '../src/pieces';
import { ALL, around, foldedOf, HEAD, OP, readFilters, readRows } from '../src/rows';
import { data, long, program } from './cases';

const loop = program('loop').level('jaxpr')!;

test('the rows of a level, bodies below the ops that own them', () => {
  const rows = readRows(loop, ALL);
  expect(rows.kind.map((_, row) => rowText(loop, rows, row))).toMatchInlineSnapshot(`
    [
      "main b ← xs f32[5]  1 constant",
      "  c, d = scan 0.0 b  f32[], f32[5]  → total, sums  length=5",
      "    body e f32[]  f f32[]",
      "      h = jit f  f32[]  name=g",
      "        g i f32[]",
      "          j = sin i  f32[]",
      "          return j",
      "      k = add e h  f32[]",
      "      return k, e",
      "  l = jit c  f32[]  → y  name=g",
      "    g m f32[]",
      "      n = sin m  f32[]",
      "      return n",
      "  o = jit l  f32[]  → z  name=g",
      "    g m f32[]",
      "      n = sin m  f32[]",
      "      return n",
      "  p = gt o 0.0  bool[]",
      "  q = cond p o  f32[]  → w",
      "    branch 0 r f32[]",
      "      s = neg r  f32[]",
      "      return s",
      "    branch 1 t f32[]",
      "      return t",
      "  u = mul q 2.0  f32[]",
      "  debug_print u  fmt={}",
      "  return c, d, l, o, q, b",
    ]
  `);
});

test('every op has one row', () => {
  for (const name of ['mlp', 'loop', 'neuron']) {
    for (const level of program(name).lower) {
      const rows = readRows(level, ALL);
      const ops = rows.item.filter((_, row) => rows.kind[row] === OP);
      expect([...ops].sort((a, b) => a - b)).toEqual(Array.from({ length: level.size }, (_, op) => op));
    }
  }
});

test('what is folded has no rows, nor has what is in it', () => {
  const scan = loop.data.ops.bodies.findIndex(bodies => bodies.length > 0);
  const rows = readRows(loop, { ...ALL, folded: new Set([scan]) });
  const shown = rows.item.filter((_, row) => rows.kind[row] === OP);
  expect(shown).toContain(scan);
  for (let op = 0; op < loop.size; op++) expect(shown.includes(op)).toBe(!around(loop, op).includes(scan));
});

describe('filters', () => {
  const jaxpr = program('neuron').level('jaxpr')!;
  const kept = (view: object) => {
    const rows = readRows(jaxpr, { ...ALL, ...view });
    return rows.item.filter((_, row) => rows.kind[row] === OP).map(op => jaxpr.opName(op));
  };
  test('by phase', () => expect(kept({ phases: new Set(['transposed']) })).toEqual(['tanh']));
  test('by scope', () => expect(kept({ scope: 'neuron' })).toHaveLength(4));
  test('by a scope that is not there', () => expect(kept({ scope: 'none' })).toEqual([]));
  test('what there is', () => expect(readFilters([jaxpr])).toEqual({ phases: ['primal', 'transposed'], scopes: ['neuron'], promotions: 0 }));
  test('by what the code did not ask to be converted', () => {
    const read = program('neuron');
    const level = read.level('jaxpr')!;
    const at = read.data.strings.push('promotion', 'int32 → float32') - 2;
    level.data.ops.attributes[1] = [at, at + 1];
    const rows = readRows(level, { ...ALL, promoted: true });
    expect(rows.item.filter((_, row) => rows.kind[row] === OP)).toEqual([1]);
    expect(readFilters([level]).promotions).toBe(1);
    expect(readRows(jaxpr, { ...ALL, promoted: true }).item).toHaveLength(readRows(jaxpr, ALL).item.length);
  });
});

test('the hottest first', () => {
  const level = new Program(long(50)).level('jaxpr')!;
  const rows = readRows(level, { ...ALL, sort: Float64Array.from(level.data.ops.flops!) });
  expect(rows.item.slice(0, 3)).toEqual([49, 48, 47]);
  expect(rows.item).not.toContain(0); // which costs nothing
  expect(rows.kind).not.toContain(HEAD);
});

test('a long level is folded at first, a short one is not', () => {
  expect([...foldedOf(program('loop')).get('jaxpr')!]).toEqual([]);
  const many = long(600);
  many.levels[1].computations.name.push(0);
  for (const name of ['inputs', 'outputs', 'constants', 'input_names', 'output_names']) many.levels[1].computations[name].push([]);
  many.levels[1].computations.ops = [599, 1];
  many.levels[1].ops.bodies[3] = [1];
  expect([...foldedOf(new Program(many)).get('jaxpr')!]).toEqual([3]);
});

test('bodies that hold one another end', () => {
  const some = data('loop');
  const { bodies } = some.levels[1].ops;
  bodies.forEach((_: unknown, op: number) => { bodies[op] = [1, 2, 3]; });
  const level = new Program(some).level('jaxpr')!;
  expect(readRows(level, ALL).kind.length).toBeLessThan(100);
});

test('bodies may be nested as deep as they like', () => {
  const deep = 20_000;
  const some = long(deep);
  const level = some.levels[1];
  level.computations = { name: [], inputs: [], outputs: [], constants: [], input_names: [], output_names: [], ops: [] };
  for (let at = 0; at < deep; at++) {
    level.computations.name.push(0);
    level.computations.ops.push(1);
    for (const name of ['inputs', 'outputs', 'constants', 'input_names', 'output_names']) level.computations[name].push([]);
    level.ops.bodies[at] = at + 1 < deep ? [at + 1] : [];
  }
  const read = new Program(some).level('jaxpr')!;
  const rows = readRows(read, ALL);
  expect(rows.kind.filter(kind => kind === OP)).toHaveLength(deep);
  expect(rowText(read, rows, 15_000).length).toBeLessThan(200);
});

describe('what runs as one piece', () => {
  const some = program('neuron');
  const hlo = some.level('hlo')!;
  hlo.data.ops.bytes = [64, 96, 0, 0];
  test('has the cost of all that is in it', () => {
    for (const name of ['mlp', 'loop', 'neuron']) {
      const found = program(name);
      const costs = new Costs(found);
      for (const level of found.lower) for (const measure of costs.measures(level.name)) {
        if (measure === 'memory') continue;
        const deep = costs.deep(level, measure);
        expect(level.apart.reduce((sum, op) => sum + deep[op], 0)).toBe(costs.whole(level, measure));
        expect(costs.most(level.name, measure)).toBe(Math.max(...level.apart.map(op => deep[op])));
      }
    }
  });
  test('is a row, which opens', () => {
    const fusion = hlo.data.ops.bodies.findIndex(bodies => bodies.length);
    const sort = new Costs(hlo.program).ranks(hlo, 'bytes');
    const shut = readRows(hlo, { ...ALL, sort, folded: new Set([fusion]) });
    expect(shut.kind.every(kind => kind === OP)).toBe(true);
    expect([...shut.item].sort((a, b) => sort[b] - sort[a])).toEqual(shut.item);
    const open = readRows(hlo, { ...ALL, sort });
    const at = open.item.indexOf(fusion);
    expect([open.kind[at], open.kind[at + 1], open.depth[at + 1]]).toEqual([OP, HEAD, 2]);
  });
  test('of unknown cost comes last', () => {
    const some = long(40);
    some.levels[1].ops.flops[0] = null;
    const level = new Program(some).level('jaxpr')!;
    const rows = readRows(level, { ...ALL, sort: new Costs(level.program).ranks(level, 'flops') });
    expect([rows.item.length, rows.item.at(-1)]).toEqual([40, 0]);
  });
});

describe('a level that a compiler has put in order', () => {
  const named = (name: string, count = 40) => {
    const some = long(count);
    some.levels[1].name = name;
    return new Program(some);
  };
  const order = (found: Program, state: object = {}) => orderOf({ sort: null, ordered: new Set(), measures: ['flops'], ...state } as never, new Costs(found), found.lower[0]);
  test('begins with what costs most', () => expect(order(named('hlo'))).toBe('flops'));
  test('does not if it is short', () => expect(order(named('hlo', 20))).toBe(null));
  test('does not once somebody wants its own order', () => expect(order(named('hlo'), { ordered: new Set(['hlo']) })).toBe(null));
  test('others do not', () => expect(order(named('jaxpr'))).toBe(null));
  test('is sorted by what somebody wants', () => expect(order(named('jaxpr'), { sort: 'flops' })).toBe('flops'));
  test('time says more', () => {
    const some = named('hlo');
    some.lower[0].data.ops.seconds = some.lower[0].data.ops.flops;
    expect(order(some)).toBe('seconds');
  });
});
