/** A kernel of Pallas: its grid and its arrays in their blocks, what its windows move, and what is odd. */

import { Attributes, Child, el, svg, table } from '../dom';
import { visible } from '../format';
import { KernelDrawing, KernelGrid } from '../schema';

const WIDE = 132, HIGH = 104, TOP = 30, LEAST = 12, LETTER = 6.4;

/** @param title what stands above it, by default what it is called. */
export function kernelElement({ title, facts, heads, right, rows, notes, grids }: KernelDrawing, above: Child = el('b', visible(title))): HTMLElement {
  const lines = (texts: string[]) => texts.map(text => el('p', visible(text)));
  return el('section.kernel', el('p', above), ...lines(facts), el('div.sides', ...grids.map(one => picture(one))),
    el('div.scrolled', table(heads.map(visible), rows.map(row => row.map((text, at) => at ? visible(text) : el('code', visible(text)))), right)), ...lines(notes));
}

function picture({ title, below, rows, columns, empty, warned, left, at, hue, strength, label, told }: KernelGrid): SVGElement {
  const wide = Math.min(WIDE / Math.max(columns, 1), 34), high = Math.min(HIGH / Math.max(rows, 1), 26);
  const shown = new Map(at.map((cell, row) => [cell, row]));
  const tiles: Element[] = [];
  for (let cell = 0; cell < rows * columns; cell++) {
    const one = shown.get(cell);
    if (one === undefined && !empty) continue;
    const x = cell % columns * wide, y = TOP + Math.floor(cell / columns) * high;
    const size: Attributes = { x: x + 0.5, y: y + 0.5, width: Math.max(wide - 1, 0.5), height: Math.max(high - 1, 0.5), rx: 2 };
    const text = one === undefined ? '' : label[one];
    tiles.push(svg('g', svg('title', visible(one === undefined ? empty : told[one])),
      one === undefined ? svg(`rect.${warned ? 'lost' : 'none'}`, size) : svg('rect', { ...size, fill: colour(hue[one]), 'fill-opacity': strength[one] }),
      high >= LEAST && wide >= LETTER * text.length + 2 ? svg('text', { x: x + wide / 2, y: y + high / 2 }, text) : null));
  }
  const [across, down] = [Math.max(WIDE, columns * wide) + 8, TOP + Math.max(rows, 1) * high + 4];
  return svg('svg.blocks', { width: across, height: down, role: 'img', 'aria-label': visible(`${title}, ${below}`) },
    svg('text.what', { x: 0, y: 11 }, visible(title) + (left ? ' …' : '')), svg('text.said', { x: 0, y: 24 }, visible(below)), ...tiles);
}

function colour(hue: number): string { return hue === -2 ? '#d1242f' : `oklch(68% ${hue === -1 ? 0 : 0.135} ${+hue})`; }
