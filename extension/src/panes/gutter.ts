/** The left edge of a row: a sign, and a cell with heat for each measure. */

import { el } from '../dom';
import { Costs, formatCost, Measure, NAMES } from '../costs';

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
