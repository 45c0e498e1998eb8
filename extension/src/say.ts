/** What something is, in words: for the strip below, and for a screen reader. */

import { counted, formatBytes, shortened, titleOf, visible } from './format';
import { Linked } from './links';
import { Level, Program } from './model';
import { rowText } from './pieces';
import { OP } from './rows';

/** One line about an op. */
export function sayOp(level: Level, op: number): string {
  const size = level.data.ops.outputs[op].reduce((sum, value) => sum + Math.max(0, level.nbytes(value)), 0);
  return rowText(level, { kind: [OP], item: [op], depth: [0] }, 0).trim() + (size ? ` · ${formatBytes(size)}` : '');
}

/** What something is, and how much of it there is at other levels. */
export function sayLinked(program: Program, linked: Linked): string {
  const { target } = linked;
  let self = '';
  if (target.kind === 'line') self = `line ${target.line}`;
  else {
    const level = program.level(target.level)!;
    if (target.kind === 'op') self = sayOp(level, target.op);
    else if (target.kind === 'ops') self = `${target.said} · ${counted(target.ops.length, 'op')}`;
    else self = [shortened(visible(level.valueName(target.value).slice(0, 61)), 60), level.type(target.value), formatBytes(level.nbytes(target.value))].filter(Boolean).join(' ');
  }
  return [self, ...counterparts(linked)].join(' · ');
}

/** Its lines, and how many ops it is at the other levels. */
export function counterparts({ target, lines, ops }: Linked): string[] {
  const parts: string[] = [];
  if (target.kind !== 'line' && lines.size) parts.push(lines.size > 4 ? counted(lines.size, 'line') : `line ${[...lines.keys()].join(', ')}`);
  for (const [name, found] of ops) {
    if ((target.kind !== 'line' && target.level === name) || !found.size) continue;
    const guessed = [...found.values()].filter(exact => !exact).length;
    parts.push(`${found.size} in ${titleOf(name)}${guessed ? ` (${guessed === found.size ? '' : `${guessed} `}≈ inferred)` : ''}`);
  }
  return parts;
}
