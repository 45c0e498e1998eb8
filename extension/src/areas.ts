/** A call tree as areas: a flame, in which what is called stands below its caller, and a map, in which it stands inside. */

import type { Measure } from './costs';
import { inside, SourceRow } from './sourcerows';
import { Tree } from './tree';

/** A row of the tree with what it costs, and where it is drawn: `x` and `width` as parts of 1. */
export interface Area { row: SourceRow; depth: number; cost: number; behind: number; x: number; width: number; y: number; height: number }

const DEEPEST = 24, LEAST = 0.002;

/** What is drawn below a row; the whole cell without one. */
function children(tree: Tree, row: SourceRow | null): SourceRow[] {
  return inside(tree, row ?? { line: 0, node: 0, depth: -1, call: -1 });
}

function costOf(tree: Tree, { node }: SourceRow, measure: Measure): number { return Math.max(0, tree.cost(node, measure)); }

function area(tree: Tree, row: SourceRow, measure: Measure, depth: number, x: number, width: number, y: number, height: number): Area {
  return { row, depth, cost: costOf(tree, row, measure), behind: tree.behind(row.node, measure), x, width, y, height };
}

/** The flame: rows of height 1, callers above. What is too narrow to be seen is left out. */
export function flame(tree: Tree, root: SourceRow | null, measure: Measure): Area[] {
  const found: Area[] = [];
  const add = (rows: SourceRow[], depth: number, from: number, scale: number) => {
    let x = from;
    for (const row of rows) {
      const width = costOf(tree, row, measure) * scale;
      if (width >= LEAST && depth < DEEPEST) {
        found.push(area(tree, row, measure, depth, x, width, depth, 1));
        add(children(tree, row), depth + 1, x, scale);
      }
      x += width;
    }
  };
  const whole = root ? costOf(tree, root, measure) : Math.max(0, tree.cost(0, measure));
  if (whole > 0) add(root ? [root] : children(tree, null), 0, 0, 1 / whole);
  return found;
}

/** The map: each area holds those of what it calls, below a margin for its name; `wide` and `tall` are in pixels. */
export function treemap(tree: Tree, root: SourceRow | null, measure: Measure, wide: number, tall: number, margin: number): Area[] {
  const found: Area[] = [];
  const fit = (rows: SourceRow[], depth: number, x: number, y: number, w: number, h: number) => {
    const ranked = rows.filter(row => costOf(tree, row, measure) > 0).sort((a, b) => costOf(tree, b, measure) - costOf(tree, a, measure));
    const costs = ranked.map(row => costOf(tree, row, measure));
    squarify(costs, x, y, w, h).forEach(([left, top, width, height], at) => {
      if (width < 3 || height < 3) return;
      found.push(area(tree, ranked[at], measure, depth, left / wide, width / wide, top, height));
      if (depth < 6 && width > 40 && height > 2 * margin) fit(children(tree, ranked[at]), depth + 1, left + 2, top + margin, width - 4, height - margin - 2);
    });
  };
  fit(root ? children(tree, root) : children(tree, null), 0, 0, 0, wide, tall);
  return found;
}

/** Rectangles of given sizes that fill one, as square as can be, after Bruls, Huizing and van Wijk (2000). */
export function squarify(sizes: number[], x: number, y: number, w: number, h: number): [number, number, number, number][] {
  const found: [number, number, number, number][] = [];
  const whole = sizes.reduce((sum, one) => sum + one, 0);
  if (!(whole > 0) || w <= 0 || h <= 0) return sizes.map(() => [x, y, 0, 0]);
  const scale = (w * h) / whole;
  for (let at = 0; at < sizes.length;) {
    const side = Math.min(w, h);
    let sum = 0, worst = Infinity, end = at;
    while (end < sizes.length) {
      const next = sum + sizes[end] * scale;
      const [most, least] = [sizes[at] * scale, sizes[end] * scale];
      const ratio = Math.max((side * side * most) / (next * next), (next * next) / (side * side * least));
      if (ratio > worst) break;
      [worst, sum] = [ratio, next];
      end++;
    }
    const thick = side > 0 ? sum / side : 0;
    let along = 0;
    for (; at < end; at++) {
      const length = thick > 0 ? (sizes[at] * scale) / thick : 0;
      found.push(w < h ? [x + along, y, length, thick] : [x, y + along, thick, length]);
      along += length;
    }
    if (w < h) { y += thick; h -= thick; } else { x += thick; w -= thick; }
  }
  return found;
}
