/** The left edge of a row: the colour of its line, a sign, and a number with a bar for each measure. */

import { button, el } from '../dom';
import { Costs, formatCost, Measure, NAMES, TELLS, UNITS } from '../costs';
import { Level } from '../model';
import { Store } from '../store';

/** What stands in a column: a cost, of what whole it is a part, and how much of it runs backwards, and a word about it. */
export interface Cell { measure: Measure; cost: number; whole: number; behind?: number; note?: string }

/** The edge for an op, with what is in its bodies or without; at -1 it is empty, so that the code behind it stays aligned. */
export function gutter(measures: Measure[], costs: Costs, level: Level, at: number, deep: boolean, sign: string, line = 0): HTMLElement {
  return edge(measures.map((measure): Cell => ({ measure, cost: at < 0 ? -1 : (deep ? costs.deep(level, measure) : costs.of(level.name, measure))[at] ?? -1, whole: costs.most(level.name, measure), note: measure === 'roof' ? costs.bound(level.name, at) : '' })), sign, line);
}

/** By the golden angle lines beside one another are far apart in colour; grey is what is of no line. */
export function lineColour(line: number): string { return line > 0 ? `hsl(${Math.round(line * 137.5 + 70) % 360} 55% 55%)` : '#8b949e'; }

/** An edge: a strip in the colour of a line of the cell, 0 for none, a sign, and the columns. */
export function edge(cells: Cell[], sign: string, line: number): HTMLElement {
  const strip = el('span.strip');
  if (line > 0) strip.style.background = lineColour(line);
  return el('span.edge', strip, el('span.sign', sign), ...cells.map(({ measure, cost, whole, behind = 0, note }) => {
    const parts = behind > 0 ? `, ${formatCost(measure, behind)} of it backward` : note ? `, ${note}` : '';
    const cell = el('span.num', { title: cost > 0 ? `${NAMES[measure]}: ${formatCost(measure, cost)}${parts}` : undefined }, formatCost(measure, cost));
    if (cost > 0 && whole > 0) {
      const share = Math.min(1, UNITS[measure] === 'share' ? cost : cost / whole);
      cell.style.setProperty('--part', share.toFixed(3));
      cell.style.setProperty('--ahead', `${Math.round((1 - Math.min(1, behind / cost)) * 100)}%`);
    }
    return cell;
  }));
}

/** What stands above the columns of a level: a press sorts by one, the dearest first, and another one no more. */
export function columnHeads(store: Store, measures: Measure[], level: string, sort: Measure | null): HTMLElement[] {
  return [el('span.strip'), el('span.sign'), ...measures.map(measure => button(`${NAMES[measure]}${measure === sort ? ' ▾' : ''}`,
    () => store.set(measure === sort ? { sort: null, ordered: new Set([...store.state.ordered, level]) } : { sort: measure }),
    { class: 'num', 'aria-label': NAMES[measure], 'aria-pressed': String(measure === sort), title: `${TELLS[measure]}; press for the hottest first` }))];
}
