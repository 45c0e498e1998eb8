import { describe, expect, test } from 'vitest';
import { decode, NotShown } from '../src/decode';
import { VERSION } from '../src/schema';
import { contract, typesOf } from '../schema.mjs';
import { readFileSync } from 'node:fs';
import { data, NAMES } from './cases';

test.each(NAMES)('%s, which the kernel side wrote, is read', name => {
  expect(decode(data(name)).format).toBe('jaxnb.program');
});

test('the types are those of the contract', () => {
  expect(readFileSync(new URL('../src/schema.ts', import.meta.url), 'utf8')).toBe(typesOf(contract));
  expect(VERSION).toBe(contract.properties.version.const);
});

test('a newer version is refused, and told so', () => {
  expect(() => decode({ ...data('mlp'), version: VERSION + 1 })).toThrow(`Saved in version ${VERSION + 1} of the format`);
});

test.each([null, 3, {}, { format: 'other' }])('what is no program is refused: %s', some => {
  expect(() => decode(some)).toThrow('not a saved jaxnb program');
});

describe('damage', () => {
  test.each<[string, (some: any) => void]>([
    ['a text that is none', some => { some.strings[0] = 3; }],
    ['an index beyond a table', some => { some.levels[1].values.name[0] = 9999; }],
    ['a negative index', some => { some.levels[1].ops.inputs[0] = [-1]; }],
    ['an index that is a text', some => { some.levels[1].ops.inputs[0] = ['0']; }],
    ['a fraction as index', some => { some.levels[1].ops.inputs[0] = [0.5]; }],
    ['columns of two lengths', some => { some.levels[1].ops.name.pop(); }],
    ['a link to nowhere', some => { some.links.lower_op[0] = [0, 999]; }],
    ['a link without an end', some => { some.links.lower_op[0] = []; }],
    ['ops that no computation has', some => { some.levels[1].computations.ops[0] += 1; }],
    ['no values', some => { some.levels[1].values = null; }],
    ['a finding without a message', some => { some.findings = [{ kind: 'x' }]; }]
  ])('%s is refused', (_, damage) => {
    const some = data('loop');
    damage(some);
    expect(() => decode(some)).toThrow(NotShown);
  });

  test('every entry that is replaced gives a program or a clear refusal', () => {
    const whole = data('mlp');
    for (const broken of replaced(whole, 3)) {
      for (const some of broken) {
        try {
          decode(some);
        } catch (error) {
          expect(error).toBeInstanceOf(NotShown);
        }
      }
    }
  });
});

/** The data with one entry after the other replaced, a few of each list. */
function* replaced(some: any, depth: number): Generator<any[]> {
  if (depth === 0 || some === null || typeof some !== 'object') return;
  for (const key of Object.keys(some).slice(0, 12)) {
    const put = (value: any) => Array.isArray(some) ? some.map((one, at) => (String(at) === key ? value : one)) : { ...some, [key]: value };
    yield [null, 'x', -7, [], {}].map(put);
    for (const inner of replaced(some[key], depth - 1)) yield inner.map(put);
  }
}
