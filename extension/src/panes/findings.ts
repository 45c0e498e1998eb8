/** What was found: line, cause, fix. A fix that was tried can be copied. */

import { button, copy, el } from '../dom';
import { shortened, visible } from '../format';
import { Program } from '../model';
import { Data } from '../schema';

type Finding = Data['findings'][number];

/** A finding as an element; `go` shows its line. */
export function findingElement(program: Program, finding: Finding, go: (line: number) => void): HTMLElement {
  const { line, fix, trail } = finding;
  const head = el('p', el('b', text(finding.kind)), ' ');
  if (line) head.append(button(`line ${line}`, () => go(line), { class: 'link' }), ' ');
  head.append(...coded(text(finding.message)));
  const parts: (HTMLElement | null)[] = [head];
  const lines = [...new Set([...(trail ?? []), ...(line ? [line] : [])])].filter(one => program.lines[one - 1] !== undefined).sort((a, b) => a - b).slice(-12);
  if (trail?.length || finding.span !== undefined) {
    parts.push(el('pre', ...lines.flatMap(one => [el('span', { class: one === line ? 'hit' : 'fed' }, `${one === line ? '▸' : ' '} ${String(one).padStart(3)}  ${shortened(visible(program.lines[one - 1]), 300)}`), '\n'])));
  }
  const leak = finding.kind === 'leak';
  if (finding.holder) parts.push(el('p', leak ? 'held by ' : 'fed by ', el('code', text(finding.holder))));
  if (finding.origin) parts.push(el('p', leak ? 'made at ' : '', el('code', text(finding.origin))));
  if (fix) {
    const edit = fix.edit;
    const way = el('p', el('b', fix.verified ? 'fix, tried: ' : 'advice: '), ...coded(text(fix.text)), fix.options ? ' ' : null, fix.options ? el('code', text(fix.options)) : null);
    parts.push(way);
    if (edit) {
      parts.push(el('pre.edit', {},
        ...text(edit[1]).split('\n').flatMap(one => [el('del', `- ${one}`), '\n']),
        ...text(edit[2]).split('\n').flatMap(one => [el('ins', `+ ${one}`), '\n'])));
    }
    const what = edit ? edit[2] : fix.options;
    if (fix.verified && what) {
      const press = button('copy the fix', () => void copy(what).then(() => { press.textContent = 'copied'; }));
      way.append(' ', press);
    }
  }
  return el('div.finding', ...parts);
}

function text(some: string): string { return visible(String(some).slice(0, 4000)); }

/** Text in which what stands between backticks is code. */
function coded(some: string): (string | HTMLElement)[] {
  const parts = some.split('`');
  if (parts.length % 2 === 0) return [some];
  return parts.map((part, at) => at % 2 ? el('code', part) : part);
}
