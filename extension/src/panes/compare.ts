/** This run beside the previous one of the cell: what it costs, and the ops that came and went. */

import { Child, el, table } from '../dom';
import { align, changedNodes, folded, resized, Step, totals } from '../diff';
import { formatCost, MEASURES, NAMES } from '../costs';
import { counted, formatIn } from '../format';
import { Level, Program } from '../model';
import { rowText } from '../pieces';
import { Recycler } from '../recycler';
import { OP } from '../rows';
import { Tree } from '../tree';

export class ComparePane {
  readonly element = el('div.compare');

  constructor(before: Program, after: Program, signal: AbortSignal) {
    const rows = totals(before, after).map(({ name, unit, old, new: now }): Child[] => {
      const show = (value: number) => value < 0 ? '–' : formatIn(unit, value);
      const change = old > 0 && now >= 0 && old !== now ? `${now > old ? '+' : '−'}${Math.abs((now / old - 1) * 100).toFixed(now / old > 0.9 && now / old < 1.1 ? 1 : 0)} %` : old === now ? 'same' : '';
      return [el('th', { scope: 'row' }, name), show(old), show(now), change];
    });
    this.element.append(table(['', 'previous', 'this', 'change'], rows, [1, 2, 3]));
    this.ops(before, after, signal);
    this.tree(before, after);
  }

  /** What came, what went, and what has other sizes, in the order of the program. */
  private ops({ lower: [old] }: Program, { lower: [now] }: Program, signal: AbortSignal): void {
    if (!old || !now || old.name !== now.name) return;
    const steps = align(old, now);
    const changed = steps.filter(step => step.kind !== '=').length;
    const { ops, sizes } = resized(old, now, steps);
    if (ops) this.element.append(el('p', el('b', sizes.slice(0, 4).map(([text]) => text).join(', ')), ` in ${counted(ops, 'op')}${changed ? '' : '; nothing else'}`));
    if (changed || !ops) this.element.append(el('p', changed ? `${counted(changed, 'op')} of the ${now.name} came or went:` : `The ${now.name} is the same, op by op.`));
    if (!changed) return;
    const shown = folded(steps);
    const list = el('div.list', { role: 'list', tabindex: 0, 'aria-label': 'what changed' });
    list.style.height = `${Math.min(shown.length, 24) * 20 + 2}px`;
    this.element.append(list);
    new Recycler(list, (row, element) => draw(shown[row], old, now, element), signal).reset(shown.length);
  }

  /** What costs something else, by the calls. */
  private tree({ trees: [old] }: Program, { trees: [now] }: Program): void {
    const measure = now && (MEASURES.find(one => one !== 'seconds' && now.data.measures.includes(one) && old?.data.measures.includes(one)));
    if (!old || !now || !measure) return;
    const pairs = changedNodes(old, now, measure);
    const said = (tree: Tree, node: number) => tree.kind(node) === 'line' ? `${tree.line(node) || ''}  ${tree.code(node)}` : tree.called(node);
    const cost = (tree: Tree, node: number) => node < 0 ? '–' : formatCost(measure, tree.cost(node, measure)) || '0';
    const rows = pairs.slice(0, MOST).map((pair): Child[] => [
      el('code', { class: pair.old < 0 ? 'came' : pair.new < 0 ? 'gone' : undefined }, `${'  '.repeat(pair.depth)}${pair.old < 0 ? '+ ' : pair.new < 0 ? '- ' : ''}${pair.new < 0 ? said(old, pair.old) : said(now, pair.new)}`),
      pair.old < 0 ? '–' : String(old.data.count[pair.old]), pair.new < 0 ? '–' : String(now.data.count[pair.new]), cost(old, pair.old), cost(now, pair.new)]);
    if (pairs.length > MOST) rows.push([`… ${pairs.length - MOST} more`]);
    if (rows.length) this.element.append(table(['by calls', 'ops before', 'now', `${NAMES[measure]} before`, 'now'], rows, [1, 2, 3, 4]));
  }
}

const MOST = 40;

function draw(step: Step, old: Level, now: Level, element: HTMLElement): void {
  element.setAttribute('role', 'listitem');
  if (step.kind === '…') return void element.append(el('code', el('span.t-note', `    … ${counted(step.old, 'op')} the same`)));
  const level = step.kind === '-' ? old : now;
  const op = step.kind === '-' ? step.old : step.new;
  element.classList.add(step.kind === '-' ? 'gone' : step.kind === '+' ? 'came' : 'same');
  element.append(el('code', `${step.kind === '=' ? ' ' : step.kind}  ${rowText(level, { kind: [OP], item: [op], depth: [0] }, 0, 48).trimEnd()}`));
}
