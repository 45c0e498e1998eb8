/** This run beside the previous one of the cell: what it costs, and the ops that came and went. */

import { Child, el, table } from '../dom';
import { align, folded, Step, totals } from '../diff';
import { counted, formatIn } from '../format';
import { Level, Program } from '../model';
import { rowText } from '../pieces';
import { Recycler } from '../recycler';
import { OP } from '../rows';

export class ComparePane {
  readonly element = el('div.compare');

  constructor(before: Program, after: Program, signal: AbortSignal) {
    const rows = totals(before, after).map(({ name, unit, old, new: now }): Child[] => {
      const show = (value: number) => value < 0 ? '–' : formatIn(unit, value);
      const change = old > 0 && now >= 0 && old !== now ? `${now > old ? '+' : '−'}${Math.abs((now / old - 1) * 100).toFixed(now / old > 0.9 && now / old < 1.1 ? 1 : 0)} %` : old === now ? 'same' : '';
      return [el('th', { scope: 'row' }, name), show(old), show(now), change];
    });
    this.element.append(table(['', 'previous', 'this', 'change'], rows, [1, 2, 3]));
    const [old, now] = [before.lower[0], after.lower[0]];
    if (!old || !now || old.name !== now.name) return;
    const steps = align(old, now);
    const changed = steps.filter(step => step.kind !== '=').length;
    this.element.append(el('p', changed ? `${counted(changed, 'op')} of the ${now.name} came or went:` : `The ${now.name} is the same, op by op.`));
    if (!changed) return;
    const shown = folded(steps);
    const list = el('div.list', { role: 'list', tabindex: 0, 'aria-label': 'what changed' });
    list.style.height = `${Math.min(shown.length, 24) * 20 + 2}px`;
    this.element.append(list);
    new Recycler(list, (row, element) => draw(shown[row], old, now, element), signal).reset(shown.length);
  }
}

function draw(step: Step, old: Level, now: Level, element: HTMLElement): void {
  element.setAttribute('role', 'listitem');
  if (step.kind === '…') return void element.append(el('code', el('span.t-note', `    … ${counted(step.old, 'op')} the same`)));
  const level = step.kind === '-' ? old : now;
  const op = step.kind === '-' ? step.old : step.new;
  element.classList.add(step.kind === '-' ? 'gone' : step.kind === '+' ? 'came' : 'same');
  element.append(el('code', `${step.kind === '=' ? ' ' : step.kind}  ${rowText(level, { kind: [OP], item: [op], depth: [0] }, 0, 48).trimEnd()}`));
}
