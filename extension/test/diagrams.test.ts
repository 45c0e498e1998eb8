import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkDrawings } from '../src/drawings';
import { Program } from '../src/model';
import { Drawings } from '../src/schema';
import { data } from './cases';

const WHOLE: Drawings = JSON.parse(readFileSync(new URL('../../tests/cases/sharded.drawings.json', import.meta.url), 'utf8'));
const PROGRAM = new Program(data('sharded'));
const KERNEL: Drawings = JSON.parse(readFileSync(new URL('../../tests/cases/kernel.drawings.json', import.meta.url), 'utf8'));

test('what the kernel side drew is drawn here', () => {
  expect(() => checkDrawings(PROGRAM, WHOLE)).not.toThrow();
  expect(() => checkDrawings(PROGRAM, {})).not.toThrow();
  expect(() => checkDrawings(new Program(data('kernel')), KERNEL)).not.toThrow();
});

test.each<[string, (some: any) => void]>([
  ['a text that is an object', some => { some.flows[0].knots.what[0] = { onclick: 'hit()' }; }],
  ['a title that is none', some => { some.flows[0].title = { onload: 'hit()' }; }],
  ['a position that is a text', some => { some.flows[0].runs.x[0] = 'url(//there)'; }],
  ['a hue that is a text', some => { some.placements[0].groups.hue[0] = 'red;background:url(//there)'; }],
  ['a strand that is not there', some => { some.flows[0].knots.ends[0] = [9]; }],
  ['a row that is not there', some => { some.flows[0].runs.to[0] = 99; }],
  ['a value that is not there', some => { some.values.value[1] = 9999; }],
  ['a placement that is not there', some => { some.values.how[0] = 99; }],
  ['a mesh that is not there', some => { some.placements[0].mesh = 5; }],
  ['a piece that is not there', some => { some.placements[1].held[0] = 99; }],
  ['devices that hold nothing known', some => { some.placements[1].held.pop(); }],
  ['a cell that is not there', some => { some.meshes[0].grids.cells[0][0][0] = 99; }],
  ['a row without a label', some => { some.meshes[0].grids.rows.pop(); }],
  ['a label that is an object', some => { some.meshes[0].labels[0] = { style: 'x' }; }],
  ['a collective that lacks its bytes', some => { some.ledger.rows.total.pop(); }],
  ['an axis that is an object', some => { some.ledger.totals.axes[0] = { onclick: 'hit()' }; }]
])('%s is refused', (_, damage) => {
  const some = structuredClone(WHOLE);
  damage(some);
  expect(() => checkDrawings(PROGRAM, some)).toThrow();
});

test.each<[string, (some: any) => void]>([
  ['a step that is not there', some => { some.grids[0].at[0] = 99; }],
  ['a hue that is a text', some => { some.grids[0].hue[0] = 'red;background:url(//there)'; }],
  ['a grid without end', some => { some.grids[0].rows = 1e9; }],
  ['a row of other columns', some => { some.rows[0].pop(); }],
  ['an op that is none', some => { some.op = ['x', 0]; }]
])('%s of a kernel is refused', (_, damage) => {
  const some: any = structuredClone(KERNEL);
  damage(some.kernels[0]);
  expect(() => checkDrawings(PROGRAM, some)).toThrow();
});

test.each([['devices', WHOLE, 100], ['kernels', KERNEL, 60]] as const)('no text of %s passes as anything else', (_, drawn, least) => {
  const count = { texts: 0 };
  const visit = (some: any): void => {
    for (const key of Object.keys(some)) {
      const kept = some[key];
      if (typeof kept === 'string') {
        count.texts++;
        some[key] = { onclick: 'hit()' };
        expect(() => checkDrawings(PROGRAM, whole), `${key}: ${kept}`).toThrow();
        some[key] = kept;
      } else if (kept && typeof kept === 'object') visit(kept);
    }
  };
  const whole = structuredClone(drawn) as Drawings;
  visit(whole);
  expect(count.texts).toBeGreaterThan(least);
});
