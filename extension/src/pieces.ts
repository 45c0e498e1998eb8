/** A row as pieces of text that know what they are: what the panes colour and what is copied. */

import { counted, shortened, visible } from './format';
import { Level } from './model';
import { groupsOf } from './groups';
import { FOOT, GROUP, HEAD, OP, Rows } from './rows';

export type Kind = 'plain' | 'op' | 'name' | 'literal' | 'type' | 'bound' | 'note' | 'body' | 'attribute';
export interface Piece { kind: Kind; text: string; value?: number }

const MOST_OPERANDS = 12;
const LONGEST_NAME = 60;
const LONGEST_ATTRIBUTE = 80;

/** The pieces of a row. */
export function rowPieces(level: Level, rows: Rows, row: number, width = 0): Piece[] {
  const item = rows.item[row];
  const indent: Piece = { kind: 'plain', text: '  '.repeat(Math.min(rows.depth[row], 40)) };
  const kind = rows.kind[row];
  if (kind === GROUP) return [indent, ...groupPieces(level, item)];
  return [indent, ...(kind === HEAD ? headPieces(level, item) : kind === FOOT ? footPieces(level, item) : opPieces(level, item, width - indent.text.length))];
}

/** `c:f32[8] = add a b`: results, the op, its operands, their types, the attributes. */
export function opPieces(level: Level, op: number, width = 0): Piece[] {
  const { inputs, outputs } = level.data.ops;
  const pieces: Piece[] = values(level, outputs[op], ', ');
  if (pieces.length) pieces.push({ kind: 'plain', text: ' = ' });
  pieces.push({ kind: 'op', text: name(level.opName(op)) });
  if (inputs[op].length) pieces.push({ kind: 'plain', text: ' ' }, ...values(level, inputs[op], ' '));
  const types = outputs[op].slice(0, 4).map(value => level.type(value)).filter(Boolean).join(', ');
  if (types) {
    const spare = width - pieces.reduce((sum, piece) => sum + piece.text.length, 0);
    pieces.push({ kind: 'plain', text: ' '.repeat(Math.max(2, spare)) }, { kind: 'type', text: name(types) });
  }
  const bound = level.home[op] < level.data.entries ? outputs[op].map(value => level.userName(value)).filter(Boolean).join(', ') : '';
  if (bound) pieces.push({ kind: 'plain', text: '  ' }, { kind: 'bound', text: `→ ${name(bound)}` });
  const times = level.times(op);
  if (times > 1) pieces.push({ kind: 'plain', text: '  ' }, { kind: 'note', text: `×${times.toLocaleString('en-US')}` });
  const said = level.attributes(op).map(([key, text]) => `${key}=${text}`).join(' ');
  if (said) pieces.push({ kind: 'plain', text: '  ' }, { kind: 'attribute', text: shortened(visible(said.slice(0, 400)), LONGEST_ATTRIBUTE) });
  return pieces;
}

/** `Block.__call__  blocks[0] · 61 eqns`. */
function groupPieces(level: Level, at: number): Piece[] {
  const { label, from, to, backward } = groupsOf(level).all[at];
  return [{ kind: 'body', text: name(label) }, { kind: 'note', text: `  ${counted(to - from, level.name === 'jaxpr' ? 'eqn' : 'op')}${backward ? ', backward' : ''}` }];
}

function headPieces(level: Level, at: number): Piece[] {
  const { inputs, input_names, constants } = level.data.computations;
  const pieces: Piece[] = [{ kind: 'body', text: name(level.computationName(at)) }, { kind: 'plain', text: ' ' }];
  inputs[at].slice(0, MOST_OPERANDS).forEach((value, place) => {
    if (place) pieces.push({ kind: 'plain', text: '  ' });
    pieces.push({ kind: 'name', text: name(level.valueName(value)), value });
    const user = level.program.text(input_names[at][place] ?? -1);
    if (user) pieces.push({ kind: 'plain', text: ' ' }, { kind: 'bound', text: `← ${name(user)}` });
    const type = level.type(value);
    if (type) pieces.push({ kind: 'plain', text: ' ' }, { kind: 'type', text: name(type) });
  });
  if (inputs[at].length > MOST_OPERANDS) pieces.push({ kind: 'note', text: `  … ${inputs[at].length - MOST_OPERANDS} more` });
  if (constants[at].length) pieces.push({ kind: 'note', text: `  ${constants[at].length} constant${constants[at].length > 1 ? 's' : ''}` });
  return pieces;
}

function footPieces(level: Level, at: number): Piece[] {
  const { outputs } = level.data.computations;
  return [{ kind: 'note', text: 'return ' }, ...values(level, outputs[at], ', ')];
}

function values(level: Level, found: number[], separator: string): Piece[] {
  const pieces: Piece[] = [];
  found.slice(0, MOST_OPERANDS).forEach((value, place) => {
    if (place) pieces.push({ kind: 'plain', text: separator });
    pieces.push({ kind: level.isLiteral(value) ? 'literal' : 'name', text: name(level.valueName(value)), value });
  });
  if (found.length > MOST_OPERANDS) pieces.push({ kind: 'note', text: ` … ${found.length - MOST_OPERANDS} more` });
  return pieces;
}

function name(text: string): string {
  return shortened(visible(text.slice(0, 2 * LONGEST_NAME)), LONGEST_NAME);
}

/** Where types begin so that most of them align: no wider than `most`, read off the first rows. */
export function typeColumn(level: Level, rows: Rows, most = 44): number {
  let width = 0;
  for (let row = 0; row < Math.min(rows.kind.length, 400); row++) {
    if (rows.kind[row] !== OP) continue;
    const pieces = opPieces(level, rows.item[row]);
    const at = pieces.findIndex(piece => piece.kind === 'type');
    if (at < 0) continue;
    const length = pieces.slice(0, at - 1).reduce((sum, piece) => sum + piece.text.length, 0) + 2 * rows.depth[row];
    if (length <= most) width = Math.max(width, length);
  }
  return width + 2;
}

/** A row as text. */
export function rowText(level: Level, rows: Rows, row: number, width = 0): string {
  return rowPieces(level, rows, row, width).map(piece => piece.text).join('').trimEnd();
}
