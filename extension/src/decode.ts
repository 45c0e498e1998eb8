/** From the JSON of a saved program to columns that can be trusted: every length and index is checked once, here. */

import { Data, Level as LevelData, VERSION } from './schema';

/** Why a program cannot be shown, in words for the user. */
export class NotShown extends Error {}

/** Checks the data; what is wrong with it is said by a `NotShown`. Columns that are left out stay absent. */
export function decode(data: unknown): Data {
  const found = data as Data;
  if (!found || typeof found !== 'object' || found.format !== 'jaxnb.program') {
    throw new NotShown('This is not a saved jaxnb program. Run the cell again.');
  }
  if (!Number.isInteger(found.version) || found.version < 1 || found.version > VERSION) {
    throw new NotShown(`Saved in version ${String(found.version)} of the format; this viewer reads 1 to ${VERSION}. ` +
      'Upgrade jaxnb, or run the cell again.');
  }
  try {
    check(found);
  } catch (error) {
    throw new NotShown(`The saved program is damaged: ${error instanceof Error ? error.message : String(error)}`);
  }
  return found;
}

function check(data: Data): void {
  must(typeof data.source === 'string', 'no source');
  const strings = list(data.strings, 'strings');
  must(strings.every(text => typeof text === 'string'), 'a text that is none');
  const avals = columns(data.avals, ['dtype', 'shape', 'itemsize']);
  indices(data.avals.dtype, strings.length, 'dtype');
  must(data.avals.shape.every(Array.isArray), 'a shape that is none');
  indices(data.avals.weak_type, avals, 'weak_type');
  const spans = columns(data.spans, ['line', 'column', 'end_line', 'end_column', 'file']);
  indices(data.spans.file, strings.length, 'file');
  list(data.levels, 'levels').forEach(level => checkLevel(level, strings.length, avals, spans));
  const sizes = data.levels.map(level => level.computations.ops);
  const places = (column: number[][], level: (row: number) => number, what: string) => column.forEach((pair, row) => {
    if (pair.length === 0 && what !== 'link') return;
    must(pair.length === 2 && pair[1] >= 0 && pair[1] < sizes[level(row)]?.[pair[0]], `a ${what} to nowhere`);
  });
  columns(data.links, ['upper', 'upper_op', 'lower', 'lower_op']);
  indices(data.links.inferred, data.links.upper.length, 'inferred');
  places(data.links.upper_op, row => data.links.upper[row], 'link');
  places(data.links.lower_op, row => data.links.lower[row], 'link');
  if (data.fates) {
    columns(data.fates, ['op', 'kind', 'into']);
    indices(data.fates.kind, strings.length, 'kind');
    const at = (name: string) => data.levels.findIndex(level => level.name === name);
    places(data.fates.op, () => at('jaxpr'), 'fate');
    places(data.fates.into, () => at('hlo'), 'fate');
  }
  for (const finding of list(data.findings, 'findings')) {
    must(typeof finding?.kind === 'string' && typeof finding.message === 'string', 'a finding without a message');
    must(finding.fix === undefined || typeof finding.fix?.text === 'string', 'a fix without a text');
    must(finding.fix?.edit === undefined || Array.isArray(finding.fix.edit), 'an edit that is none');
  }
  for (const memory of data.memory ?? []) {
    const rows = columns(memory.held, ['name', 'kind', 'nbytes', 'first', 'last', 'op', 'line']);
    must(rows >= 0 && Array.isArray(memory.live), 'memory without bytes');
    for (const name of ['name', 'kind'] as const) indices(memory.held[name], strings.length, name);
    indices(memory.saved?.name ?? [], strings.length, 'saved');
  }
}

function checkLevel(level: LevelData, strings: number, avals: number, spans: number): void {
  must(typeof level.name === 'string', 'a level without a name');
  const values = columns(level.values, ['name', 'aval', 'sharding', 'axes'], 2);
  indices(level.values.name, strings, 'value');
  indices(level.values.aval, avals, 'aval', -1);
  indices(level.values.literal, values, 'literal');
  indices(level.values.sharding ?? [], strings, 'sharding', -1);
  const every = ['name', 'inputs', 'outputs', 'constants', 'ops', 'input_names', 'output_names'];
  const computations = columns(level.computations, every);
  indices(level.computations.name, strings, 'computation');
  for (const name of ['inputs', 'outputs', 'constants'] as const) {
    level.computations[name].forEach(row => indices(row, values, name));
  }
  for (const name of ['input_names', 'output_names'] as const) {
    level.computations[name].forEach(row => indices(row, strings, name));
  }
  must(Number.isInteger(level.entries) && level.entries >= 0 && level.entries <= computations, 'entries');
  const optional = ['phase', 'scopes', 'flops', 'bytes', 'transcendentals', 'times', 'seconds'];
  const ops = columns(level.ops, ['name', 'inputs', 'outputs', 'attributes', 'span', 'bodies', ...optional], 6);
  indices(level.ops.name, strings, 'op');
  indices(level.ops.span, spans, 'span', -1);
  indices(level.ops.phase ?? [], strings, 'phase', -1);
  for (const [name, limit] of [['inputs', values], ['outputs', values], ['attributes', strings],
    ['bodies', computations], ['scopes', strings]] as const) {
    level.ops[name]?.forEach(row => indices(row, limit, name));
  }
  must(level.computations.ops.reduce((sum, count) => sum + count, 0) === ops, 'ops that no computation has');
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

function list<T>(found: T[], name: string): T[] {
  must(Array.isArray(found), `${name} is no list`);
  return found;
}

/** The length that all columns share; those behind the first `needed` ones may be absent. */
function columns(table: object, names: string[], needed = names.length): number {
  must(!!table && typeof table === 'object', 'no table');
  const found = table as Record<string, unknown[]>;
  const length = list(found[names[0]], names[0]).length;
  names.forEach((name, at) => {
    if (at >= needed && found[name] === undefined) return;
    must(list(found[name], name).length === length, `${name} is not as long as ${names[0]}`);
  });
  return length;
}

function indices(row: number[], limit: number, name: string, least = 0): void {
  list(row, name);
  for (let at = 0; at < row.length; at++) {
    const index = row[at];
    if (!(index >= least && index < limit && index === (index | 0))) throw new Error(`${name} ${String(index)}`);
  }
}
