/** The left edge of a row: a sign, and a cell with heat for each measure. */

import { button, el } from '../dom';
import { Costs, formatCost, Measure, NAMES, TELLS } from '../costs';
import { Store } from '../store';

/** The edge for an op or a line; at -1 it is empty, so that the code behind it stays aligned. */
export function gutter(measures: Measure[], costs: Costs, level: string, at: number, sign: string): HTMLElement {
  const edge = el('span.edge', el('span.sign', sign));
  for (const measure of measures) {
    const cost = at < 0 ? -1 : costs.of(level, measure)[at] ?? -1;
    const cell = el('span.num', { title: cost > 0 ? `${NAMES[measure]}: ${formatCost(measure, cost)}` : undefined }, formatCost(measure, cost));
    const most = costs.most(level, measure);
    if (cost > 0 && most > 0) cell.style.setProperty('--share', `${Math.round(Math.sqrt(cost / most) * 45)}%`);
    edge.append(cell);
  }
  return edge;
}

/** What stands above the columns: a press sorts by one, the dearest first, and another one no more. */
export function columnHeads(store: Store, measures: Measure[]): HTMLElement[] {
  const { sort } = store.state;
  return [el('span.sign'), ...measures.map(measure => button(`${NAMES[measure]}${measure === sort ? ' ▾' : ''}`,
    () => store.set({ sort: measure === sort ? null : measure }),
    { class: 'num', 'aria-label': NAMES[measure], 'aria-pressed': String(measure === sort), title: `${TELLS[measure]}; press for the hottest first` }))];
}
