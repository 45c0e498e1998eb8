/** The rows of the source pane: the lines of the cell, which open into the lines of what they call. */

import { Program } from './model';
import type { Measure } from './costs';
import { Tree } from './tree';

/** A line of the cell (else 0), its node in the tree (else -1), and the one call whose lines it opens into (else -1). */
export interface SourceRow { line: number; node: number; depth: number; call: number }

const MOST_FIRST = 16;

/** The rows; by `sort` the dearest first, of which lines that cost nothing are left out. */
export function readSource(program: Program, tree: Tree | undefined, opened: ReadonlySet<number>, sort: ((row: SourceRow) => number) | null): SourceRow[] {
  const rows: SourceRow[] = [];
  const ranked = (found: SourceRow[]) => !sort ? found : found.filter(row => sort(row) > 0).sort((a, b) => sort(b) - sort(a));
  const add = (found: SourceRow[]) => {
    for (const row of ranked(found)) {
      rows.push(row);
      if (tree && opened.has(row.node)) add(inside(tree, row));
    }
  };
  add(linesOf(program, tree));
  return rows;
}

function linesOf(program: Program, tree: Tree | undefined): SourceRow[] {
  const nodes = new Map<number, number>();
  for (const node of tree?.children[0] ?? []) if (!tree!.file(node)) nodes.set(tree!.line(node), node);
  const row = (line: number, node: number): SourceRow => ({ line, node, depth: 0, call: node < 0 ? -1 : onlyCall(tree!, node) });
  const found = program.lines.map((_, at) => row(at + 1, nodes.get(at + 1) ?? -1));
  const elsewhere = (tree?.children[0] ?? []).filter(node => tree!.file(node) || !tree!.line(node));
  return [...found, ...elsewhere.map(node => row(0, node))];
}

/** The one thing that a line calls, -1 if it calls nothing or several. */
function onlyCall(tree: Tree, node: number): number {
  const { children } = tree;
  return tree.kind(node) === 'line' && children[node].length === 1 && tree.kind(children[node][0]) !== 'line' ? children[node][0] : -1;
}

/** What a row opens into: lines in the order of the text. */
export function inside(tree: Tree, { node, call, depth }: SourceRow): SourceRow[] {
  const at = call >= 0 ? call : node;
  if (at < 0) return [];
  const { children } = tree;
  const files = new Set(children[at].filter(child => tree.kind(child) === 'line').map(child => tree.file(child)));
  const place = (child: number) => tree.kind(child) === 'more' ? Infinity : tree.line(child);
  const ordered = files.size === 1 ? [...children[at]].sort((a, b) => place(a) - place(b)) : children[at];
  return ordered.map((child): SourceRow => ({ line: 0, node: child, depth: depth + 1, call: onlyCall(tree, child) }));
}

/** Those that are open at first: the dearest, until there is enough to see. */
export function openedAtFirst(program: Program, tree: Tree | undefined): Set<number> {
  const found = new Set<number>();
  if (!tree) return found;
  const [measure] = tree.data.measures as Measure[];
  const size = ({ node }: SourceRow) => node < 0 ? 0 : measure ? tree.cost(node, measure) : tree.data.count[node];
  const waiting = linesOf(program, tree);
  let count = waiting.length;
  while (waiting.length) {
    const row = waiting.reduce((a, b) => size(b) > size(a) ? b : a);
    waiting.splice(waiting.indexOf(row), 1);
    const more = inside(tree, row);
    if (!more.length || count + more.length > MOST_FIRST) continue;
    found.add(row.node);
    count += more.length;
    waiting.push(...more);
  }
  return found;
}
