import { describe, expect, test } from 'vitest';
import { fateOf, Links, opsAt } from '../src/links';
import { program } from './cases';

const neuron = program('neuron');
const links = new Links(neuron);
const names = (level: string, ops?: Map<number, boolean>) => [...(ops ?? [])].map(([op, exact]) => `${neuron.level(level)!.opName(op)}${exact ? '' : ' inferred'}`);

describe('an equation', () => {
  const found = links.find({ kind: 'op', level: 'jaxpr', op: 3 });
  test('is its counterpart one level down', () => expect(names('stablehlo', found.ops.get('stablehlo'))).toEqual(['tanh']));
  test('is two instructions two levels down, one of them inferred', () => {
    expect(names('hlo', found.ops.get('hlo'))).toEqual(expect.arrayContaining(['tanh']));
    expect([...found.ops.get('hlo')!.values()]).toContain(false);
  });
  test('comes from a line', () => expect([...found.lines]).toEqual([[3, true]]));
});

test('an instruction leads back to the equation that leads to it', () => {
  for (const level of neuron.lower) {
    for (let op = 0; op < level.size; op++) {
      for (const [other, ops] of links.find({ kind: 'op', level: level.name, op }).ops) {
        for (const [there, exact] of ops) {
          expect(links.find({ kind: 'op', level: other, op: there }).ops.get(level.name)?.get(op)).toBe(exact);
        }
      }
    }
  }
});

test('a line is all that came from it', () => {
  const found = links.find({ kind: 'line', line: 3 });
  expect(found.ops.get('jaxpr')!.size).toBe(4);
  expect(found.ops.get('hlo')!.size).toBeGreaterThan(1);
});

test('a line without equations is nothing', () => expect(links.find({ kind: 'line', line: 1 }).ops.get('jaxpr')!.size).toBe(0));

test('a value is the op that makes it', () => {
  const level = neuron.level('jaxpr')!;
  const value = level.data.ops.outputs[2][0];
  const found = links.find({ kind: 'value', level: 'jaxpr', value });
  expect(names('jaxpr', found.ops.get('jaxpr'))).toEqual(['add']);
});

test('lines in another file are not lines of the cell', () => {
  const jaxpr = program('loop').level('jaxpr')!;
  const from = opsAt(jaxpr, 3).map(op => jaxpr.opName(op));
  expect(from).not.toContain('jit');
});

test('what became of an equation without an instruction is told', () => {
  expect(fateOf(neuron, 1)).toMatch(/^folded/);
  expect(fateOf(neuron, 2)).toBe('fused into add_tanh_fusion');
  expect(fateOf(neuron, 0)).toBe('');
});
