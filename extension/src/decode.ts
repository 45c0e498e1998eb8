/** From the JSON of a saved program to columns that can be trusted: every length and index is checked once, here. */

import { wordsOf } from './format';
import { COLUMNS, Data, Level as LevelData, Tree as TreeData, VERSION } from './schema';

/** Why a program cannot be shown, in words for the user. */
export class NotShown extends Error {}

/** Checks the data; what is wrong with it is said by a `NotShown`. Columns that are left out stay absent. */
export function decode(data: unknown): Data {
  const found = data as Data;
  if (!found || typeof found !== 'object' || found.format !== 'jaxnb.program') {
    throw new NotShown('This is not a saved jaxnb program. Run the cell again.');
  }
  if (found.version !== VERSION) {
    throw new NotShown(`Saved in version ${String(found.version)} of the format; this viewer reads ${VERSION}. ` +
      'Upgrade jaxnb, or run the cell again.');
  }
  try {
    check(found);
  } catch (error) {
    throw new NotShown(`The saved program is damaged: ${wordsOf(error)}`);
  }
  return found;
}

function check(data: Data): void {
  must(typeof data.source === 'string', 'no source');
  const strings = list(data.strings, 'strings').length;
  must(data.strings.every(text => typeof text === 'string'), 'a text that is none');
  const sizes: Record<string, number> = { strings };
  sizes.avals = columns(data.avals, 'dtype:strings shape itemsize', sizes);
  must(data.avals.shape.every(Array.isArray), 'a shape that is none');
  indices(data.avals.weak_type, sizes.avals, 'weak_type');
  sizes.spans = columns(data.spans, 'line column end_line end_column file:strings', sizes);
  sizes.calls = data.calls?.name?.length ?? 0;
  if (data.calls) columns(data.calls, 'name:strings kind:strings span:spans- parent?:calls- path?:strings- turns?', sizes);
  must(data.calls?.parent?.every((parent, at) => parent < at) ?? true, 'a call that is before its caller');
  list(data.levels, 'levels').forEach(level => checkLevel(level, sizes));
  const counts = data.levels.map(level => level.computations.ops);
  const places = (column: number[][], level: (row: number) => number, what: string) => column.forEach((pair, row) => {
    if (pair.length === 0 && what !== 'link') return;
    must(pair.length === 2 && pair[1] >= 0 && pair[1] < counts[level(row)]?.[pair[0]], `a ${what} to nowhere`);
  });
  const { links, fates } = data;
  indices(links.inferred, columns(links, 'upper upper_op lower lower_op', sizes), 'inferred');
  places(links.upper_op, row => links.upper[row], 'link');
  places(links.lower_op, row => links.lower[row], 'link');
  if (fates) {
    columns(fates, 'op kind:strings into', sizes);
    const at = (name: string) => data.levels.findIndex(level => level.name === name);
    places(fates.op, () => at('jaxpr'), 'fate');
    places(fates.into, () => at('hlo'), 'fate');
  }
  for (const { kind, message, fix } of list(data.findings, 'findings')) {
    must(typeof kind === 'string' && typeof message === 'string', 'a finding without a message');
    must(fix === undefined || typeof fix?.text === 'string', 'a fix without a text');
    must(fix?.edit === undefined || Array.isArray(fix.edit), 'an edit that is none');
  }
  if (data.status) for (const place of [data.status.happened, data.status.cost, data.status.needs]) {
    must(list(place, 'a place of the line').every(part => list(part, 'a part').length === 3 && part.every(one => typeof one === 'string')), 'a part that is no text');
  }
  for (const { positions, layers, rows } of list(data.curves ?? [], 'curves')) {
    columns(layers, 'label:string kind:string', {});
    must(layers.units.length === layers.label.length && layers.units.every(one => list(one, 'units').length === positions.length), 'layers of other positions');
    columns(rows, 'name:string kind:string nbytes:number count:number line:number within:string saves?:number', {});
  }
  for (const tree of list(data.trees ?? [], 'trees')) checkTree(tree, data);
  for (const found of list(data.derived ?? [], 'derived')) {
    const count = data.levels.find(one => one.name === found.level)?.ops.name.length ?? -1;
    must(columns(found, 'of:number', {}) === count && COLUMNS.some(one => one.name === found.column), 'a column that no level has');
    indices(found.by_memory ?? [], count, 'by_memory');
  }
  for (const { held, live, saved, note } of data.memory ?? []) {
    columns(held, 'name:strings kind:strings nbytes first last op line within?:strings', sizes);
    must(Array.isArray(live) && typeof (note ?? '') === 'string', 'memory without bytes');
    indices(saved?.name ?? [], strings, 'saved');
    indices(saved?.within ?? [], strings, 'within');
  }
}

function checkTree(tree: TreeData, data: Data): void {
  const sizes: Record<string, number> = { texts: columns(tree, 'texts:string', {}), nodes: tree.parent?.length ?? 0 };
  const count = columns(tree, 'parent:nodes- kind:texts name:texts path:texts file:texts line:number text:texts count:number backward:number alike?:number turns?:number', sizes);
  must(count > 0 && tree.parent.every((parent, at) => parent < at && (parent >= 0 || !at)), 'a node that is before the one above it');
  const measures = columns(tree, 'measures:string', {});
  for (const costs of [tree.total, tree.behind]) must(list(costs, 'costs').length === measures && costs.every(one => list(one, 'costs').length === count), 'costs of other nodes');
  indices(tree.by_memory ?? [], count, 'by_memory');
  if (!tree.ops) return;
  const level = data.levels.find(one => one.name === tree.level);
  must(columns(tree, 'ops:nodes', sizes) === level?.ops.name.length, 'ops that no level has');
}

function checkLevel({ name, entries, values, computations, ops }: LevelData, known: Record<string, number>): void {
  must(typeof name === 'string', 'a level without a name');
  const sizes = { ...known };
  sizes.values = columns(values, 'name:strings aval:avals- sharding?:strings- axes?', sizes);
  indices(values.literal, sizes.values, 'literal');
  sizes.computations = columns(computations,
    'name:strings inputs:values* outputs:values* constants:values* ops input_names:strings* output_names:strings*', sizes);
  must(Number.isInteger(entries) && entries >= 0 && entries <= sizes.computations, 'entries');
  const count = columns(ops, 'name:strings inputs:values* outputs:values* attributes:strings* span:spans- bodies:computations* ' +
    `phase?:strings- scopes?:strings* call?:calls- times? ${COLUMNS.map(one => `${one.name}?`).join(' ')}`, sizes);
  must(computations.ops.reduce((sum, one) => sum + one, 0) === count, 'ops that no computation has');
}

export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

export function list<T>(found: T[], name: string): T[] {
  must(Array.isArray(found), `${name} is no list`);
  return found;
}

/**
 * The length that all columns of a table share.
 * @param form their names. Behind a colon stands what they are indices of; a minus says that -1 is none, a star that
 *   each row is a list of them, and a question mark that the column may be absent. What has no size is a type.
 */
export function columns(table: object, form: string, sizes: Record<string, number>): number {
  must(!!table && typeof table === 'object', 'no table');
  const found = table as Record<string, any[]>;
  let length = -1;
  for (const [, name, absent, of, way] of form.matchAll(/(\w+)(\??):?(\w*)([-*]?)/g)) {
    const column = found[name];
    if (absent && column === undefined) continue;
    if (length < 0) length = list(column, name).length;
    must(list(column, name).length === length, `${name} is not as long as the others`);
    if (of) for (const row of way === '*' ? column : [column]) {
      if (of in sizes) indices(row, sizes[of], name, way === '-' ? -1 : 0);
      else must(list(row, name).every(one => typeof one === of), `${name} is of another type`);
    }
  }
  return length;
}

export function indices(row: number[], limit: number, name: string, least = 0): void {
  list(row, name);
  for (let at = 0; at < row.length; at++) {
    const index = row[at];
    if (!(index >= least && index < limit && index === (index | 0))) throw new Error(`${name} ${String(index)}`);
  }
}
