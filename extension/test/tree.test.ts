import { describe, expect, test } from 'vitest';
import { flame, squarify, treemap } from '../src/areas';
import { adds, Costs, firstMeasures, formatCost } from '../src/costs';
import { align, changedNodes, resized } from '../src/diff';
import { groupsOf, mainOf } from '../src/groups';
import { Program } from '../src/model';
import { openedAtFirst as opened, readModules } from '../src/modules';
import { GROUP, HEAD, OP, openedOf, readRows, ALL } from '../src/rows';
import { search } from '../src/search';
import { inside, openedAtFirst, readSource } from '../src/sourcerows';
import { model } from './cases';

const program = new Program(model());
const level = program.level('jaxpr')!;
const [tree] = program.trees;

test('a tree tells names, lines, sums and ops', () => {
  expect(tree.called(4)).toBe('block ×4  blocks[0…3]');
  expect([tree.code(1), tree.code(3)]).toEqual(['x = f(x)', 'x = block(x)']);
  expect([tree.lineOf(4), tree.lineOf(8)]).toEqual([1, 2]);
  expect([tree.cost(3, 'flops'), tree.behind(3, 'flops'), tree.cost(3, 'seconds')]).toEqual([640, 320, -1]);
  expect(tree.ops(0).length).toBe(96);
  expect(tree.ops(6)).toEqual([...Array.from({ length: 8 }, (_, at) => 32 + at), ...Array.from({ length: 8 }, (_, at) => 40 + at)]);
  expect(tree.way(0)).toEqual([1, 2, 3, 4]);
});

describe('the source', () => {
  test('opens into the lines of what it calls', () => {
    const all = new Set(Array.from({ length: tree.size }, (_, at) => at));
    const rows = readSource(program, tree, all, null);
    expect(rows.map(({ line, node, depth, call }) => [line, node, depth, call])).toEqual([[1, 1, 0, 2], [0, 3, 1, 4], [0, 5, 1, 6], [2, 7, 0, 8]]);
    expect(inside(tree, rows[1])).toEqual([]);
  });
  test('shows its lines alone where nothing is open, and the dearest first', () => {
    expect(readSource(program, tree, new Set(), null).map(row => row.line)).toEqual([1, 2]);
    const cost = ({ node }: { node: number }) => tree.cost(node, 'flops');
    expect(readSource(program, tree, new Set([1]), row => -cost(row)).length).toBe(0);
    expect(readSource(program, tree, new Set([1]), cost).map(row => row.node)).toEqual([1, 3, 5, 7]);
  });
  test('is open at first where it is dear', () => { expect([...openedAtFirst(program, tree)]).toContain(1); });
});

describe('groups', () => {
  test('are runs of one call, forward and backward apart', () => {
    const groups = groupsOf(level);
    const items = groups.items(0)!;
    expect(items.map(({ group }) => groups.all[group]).map(({ label, from, to, backward }) => [label, from, to, backward])).toEqual([
      ['f', 0, 40, false], ['f', 40, 80, true], ['update', 80, 96, false]
    ]);
    const [first] = items;
    expect(groups.all[first.group].inside.map(({ group }) => groups.all[group].label)).toEqual(['block  blocks[0]', 'block  blocks[1]', 'block  blocks[2]', 'block  blocks[3]', 'head  head']);
  });
  test('hold every op once, whatever is open', () => {
    for (const open of [new Set<number>(), openedOf(program).get('jaxpr')!, new Set(groupsOf(level).all.keys())]) {
      const rows = readRows(level, { ...ALL, opened: open });
      const seen = rows.kind.flatMap((kind, row) => {
        const group = groupsOf(level).all[rows.item[row]];
        return kind === OP ? [rows.item[row]] : kind === GROUP && !open.has(rows.item[row]) ? Array.from({ length: group.to - group.from }, (_, at) => group.from + at) : [];
      });
      expect(seen).toEqual(Array.from({ length: 96 }, (_, at) => at));
      expect(rows.kind.filter(kind => kind === HEAD).length).toBe(1);
    }
  });
  test('a short program has none', () => { expect(mainOf(level)).toBe(0); });
});

describe('areas', () => {
  const [flops] = firstMeasures(new Costs(program), ['source', 'jaxpr']);
  test('a flame is as wide as what it costs, callers above', () => {
    const found = flame(tree, null, flops);
    expect(found.map(({ row, depth, x, width }) => [row.node, depth, +x.toFixed(3), +width.toFixed(3)])).toEqual([[1, 0, 0, 0.833], [3, 1, 0, 0.667], [5, 1, 0.667, 0.167], [7, 0, 0.833, 0.167]]);
  });
  test('a map fills its room, and each stands in its caller', () => {
    const found = treemap(tree, null, flops, 1000, 400, 18);
    const top = found.filter(one => one.depth === 0);
    expect(top.reduce((sum, one) => sum + one.width * 1000 * one.height, 0)).toBeCloseTo(400_000, 0);
    for (const one of found) expect(one.x >= 0 && one.x + one.width <= 1 + 1e-9 && one.y + one.height <= 400 + 1e-6).toBe(true);
  });
  test('rectangles have the sizes that were asked for', () => {
    const sizes = [6, 6, 4, 3, 2, 2, 1];
    const found = squarify(sizes, 0, 0, 6, 4);
    found.forEach(([, , w, h], at) => expect(w * h).toBeCloseTo(sizes[at], 6));
    expect(squarify([0, 0], 0, 0, 3, 3)).toEqual([[0, 0, 0, 0], [0, 0, 0, 0]]);
  });
});

describe('modules', () => {
  test('stand in rows, the backward pass beside the forward pass, calls that do the same as one', () => {
    const { boxes, frames, flows, twoSided } = readModules(level, 0, new Set([0]));
    expect(twoSided).toBe(true);
    expect(frames.map(one => one.label)).toEqual(['f']);
    expect(boxes.map(({ label, path, alike, backward, ops }) => [label, path, alike, backward, ops.length])).toEqual([
      ['block', 'blocks[0…3]', 4, false, 32], ['block', 'blocks[0…3]', 4, true, 32], ['head', 'head', 1, false, 8], ['head', 'head', 1, true, 8], ['update', '', 1, false, 16]
    ]);
    expect(boxes[0].y).toBe(boxes[1].y);
    expect(boxes[1].x).toBeGreaterThan(boxes[0].x);
    expect(flows.map(({ from, to }) => [from, to])).toEqual([[0, 2], [2, 3], [3, 1], [1, 4]]);
  });
  test('a stack opens into its calls', () => {
    const stack = readModules(level, 0, new Set([0])).boxes[0].key;
    const { boxes } = readModules(level, 0, new Set([0, stack]));
    expect(boxes.filter(one => !one.backward).map(one => one.path || one.label)).toEqual(['blocks[0]', 'blocks[1]', 'blocks[2]', 'blocks[3]', 'head', 'update']);
    expect(new Set(boxes.flatMap(one => one.ops)).size).toBe(96);
  });
  test('a box is as high as its share says, within limits', () => {
    const { boxes } = readModules(level, 0, new Set([0]), op => op < 40 ? 10 : 1);
    const sum = (ops: number[]) => ops.reduce((total, op) => total + (op < 40 ? 10 : 1), 0);
    for (const box of boxes) expect(box.height).toBe(Math.round(38 + (96 * sum(box.ops)) / 456));
    for (const box of boxes) for (const other of boxes) if (box !== other && box.x === other.x) expect(box.y + box.height <= other.y || other.y + other.height <= box.y).toBe(true);
    expect(new Set(readModules(level, 0, new Set([0])).boxes.map(box => box.height))).toEqual(new Set([38]));
  });
  test('those that are dear are open at first', () => { expect([...opened(level, 0, () => 1)]).toContain(0); });
});

test('search finds calls and modules', () => {
  const found = search(program, 'blocks[2]');
  expect(found.ops.get('jaxpr')!.length).toBe(16);
  expect(search(program, 'head').nodes).toEqual([5, 6]);
});

test('a program without its levels has tree, sums and lines', () => {
  const { levels, ...rest } = model();
  const bare = new Program({ ...rest, levels: levels.slice(0, 1), links: { upper: [], upper_op: [], lower: [], lower_op: [], inferred: [] }, trees: rest.trees.map(({ ops, ...tree }: any) => tree) });
  const costs = new Costs(bare);
  expect(firstMeasures(costs, ['source'])).toEqual(['flops']);
  expect([...costs.of('source', 'flops')]).toEqual([800, 160]);
  expect(bare.trees[0].level).toBeUndefined();
});

test('damaged trees are told', () => {
  const broken = (change: (tree: any) => void) => { const data = model(); change(data.trees[0]); return () => new Program(data); };
  for (const change of [(t: any) => { t.parent[3] = 7; }, (t: any) => { t.name[0] = 99; }, (t: any) => { t.total[0].pop(); }, (t: any) => { t.ops.pop(); }, (t: any) => { t.measures = []; }]) {
    expect(broken(change)).toThrow(/damaged/);
  }
});

describe('two runs beside one another', () => {
  const other = model();
  other.trees[0].total[0] = [1120, 960, 960, 640, 640, 320, 320, 160, 160];
  other.avals.shape = [[16, 'n']];
  const after = new Program(other);
  test('the calls that cost something else are told, and no others', () => {
    expect(changedNodes(tree, after.trees[0], 'flops').map(({ old, depth }) => [old, depth])).toEqual([[1, 0], [2, 1], [5, 2], [6, 3]]);
    expect(changedNodes(tree, tree, 'flops')).toEqual([]);
  });
  test('ops of other sizes are the same ops', () => {
    const now = after.level('jaxpr')!;
    const steps = align(level, now);
    expect(steps.every(step => step.kind === '=')).toBe(true);
    expect(resized(level, now, steps)).toEqual({ ops: 96, sizes: [['8 → 16', 96]] });
  });
});

test('what was made in another file is of the line of the cell that called it', () => {
  const data = model();
  const file = data.strings.push('m.py') - 1;
  const { spans } = data;
  spans.line.push(40); spans.column.push(0); spans.end_line.push(40); spans.end_column.push(8); spans.file.push(file);
  data.levels[1].ops.span.fill(spans.line.length - 1);
  data.calls.span[0] = 0;
  data.calls.span[6] = 1;
  const away = new Program(data);
  const level = away.level('jaxpr')!;
  expect([level.line(0), level.line(79), level.line(90)]).toEqual([1, 1, 2]);
  expect(new Costs(away).measures('source')).toContain('flops');
});

describe('a roof', () => {
  const timed = model();
  timed.levels[1].ops.seconds = timed.levels[1].ops.name.map(() => 0.5);
  timed.derived = [{ level: 'jaxpr', column: 'roof', of: timed.levels[1].ops.name.map((_: number, op: number) => op < 8 ? 0.5 : op < 80 ? 0.25 : op < 88 ? -1 : 0), by_memory: [0] }];
  const shown = new Program(timed);
  const costs = new Costs(shown), jaxpr = shown.level('jaxpr')!;
  test('is a column, shown at first', () => expect(firstMeasures(costs, ['jaxpr'])).toEqual(['seconds', 'roof']));
  test('of several ops is what they come to in their time', () => {
    expect(costs.over(jaxpr, 'roof', [0, 8])).toBe(0.375);
    expect(costs.over(jaxpr, 'roof', [0, 80])).toBe(-1);
    expect(costs.over(jaxpr, 'roof', [0, 90])).toBe(0.25);
    expect(costs.of('source', 'roof')[0]).toBeCloseTo((8 * 0.5 + 72 * 0.25) / 80);
    expect(costs.of('source', 'roof')[1]).toBe(-1);
  });
  test('says what it is bound by', () => expect([costs.bound('jaxpr', 0), costs.bound('jaxpr', 1)]).toEqual(['bound by memory', 'bound by flops']));
  test('does not add up with what is in bodies, nor fill a flame', () => {
    expect([adds('roof'), adds('memory'), adds('flops')]).toEqual([false, false, true]);
    expect(formatCost('roof', 0.814)).toBe('81 %');
  });
  test('that no level has is told', () => expect(() => new Program({ ...timed, derived: [{ ...timed.derived[0], level: 'hlo' }] })).toThrow(/damaged/));
});
