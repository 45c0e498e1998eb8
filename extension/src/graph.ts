/** One computation as nodes and edges; ops of a named scope are one node until it is opened. */

import { Level } from './model';

export interface Node {
  kind: 'input' | 'op' | 'scope' | 'output';
  label: string;
  detail: string;
  /** Of an op; of a scope those that it holds; none of an input. */
  ops: number[];
  /** Of an input or output. */
  value: number;
  scope: string;
}

export interface Edge { from: number; to: number; label: string; value: number }

const MOST = 3000;

/**
 * The graph of a computation.
 * @param opened scopes, as their names joined by "/", that are shown by what they hold.
 * @param grouped whether ops of one named scope are one node at all.
 */
export function readGraph(level: Level, computation: number, opened: ReadonlySet<string>, grouped: boolean): { nodes: Node[]; edges: Edge[]; left: number } {
  const nodes: Node[] = [];
  const maker = new Map<number, number>();
  const byScope = new Map<string, number>();
  const backward = (op: number) => level.phase(op) === 'transposed' ? ' ⊤' : '';
  const { inputs, outputs } = level.data.computations;
  const first = level.start[computation];
  const last = Math.min(level.start[computation + 1], first + MOST);
  const used = new Set<number>();
  for (let op = first; op < last; op++) level.data.ops.inputs[op].forEach(value => used.add(value));
  outputs[computation].forEach(value => used.add(value));
  for (const value of inputs[computation]) {
    if (!used.has(value)) continue;
    const user = level.userName(value);
    maker.set(value, nodes.push({ kind: 'input', label: user || level.valueName(value), detail: level.type(value), ops: [], value, scope: '' }) - 1);
  }
  const home: number[] = [];
  for (let op = first; op < last; op++) {
    const scope = grouped ? shownScope(level.scopes(op), opened) : '';
    // The backward pass of a scope is a node of its own: it comes after what follows the scope.
    const key = scope + backward(op);
    let at = scope ? byScope.get(key) : undefined;
    if (at === undefined) {
      at = nodes.push({ kind: scope ? 'scope' : 'op', label: scope ? key.split('/').at(-1)! : level.opName(op),
        detail: level.data.ops.outputs[op].slice(0, 2).map(value => level.type(value)).join(' '), ops: [], value: -1, scope }) - 1;
      if (scope) byScope.set(key, at);
    }
    nodes[at].ops.push(op);
    home[op - first] = at;
    level.data.ops.outputs[op].forEach(value => maker.set(value, at!));
  }
  for (const node of nodes) if (node.kind === 'scope') node.detail = `${node.ops.length} op${node.ops.length === 1 ? '' : 's'}`;
  const edges: Edge[] = [];
  const seen = new Set<string>();
  const join = (value: number, to: number) => {
    const from = maker.get(value);
    if (from === undefined || from === to) return;
    const key = `${from} ${to} ${value}`;
    if (seen.has(key)) return;
    seen.add(key);
    edges.push({ from, to, label: level.type(value), value });
  };
  for (let op = first; op < last; op++) level.data.ops.inputs[op].forEach(value => join(value, home[op - first]));
  outputs[computation].forEach(value => {
    const user = level.userName(value);
    join(value, nodes.push({ kind: 'output', label: user || level.valueName(value), detail: level.type(value), ops: [], value, scope: '' }) - 1);
  });
  return { nodes, edges, left: level.start[computation + 1] - last };
}

/** The outermost scope around an op that is not opened, "" if all are. */
function shownScope(scopes: string[], opened: ReadonlySet<string>): string {
  let path = '';
  for (const scope of scopes) {
    path = path ? `${path}/${scope}` : scope;
    if (!opened.has(path)) return path;
  }
  return '';
}
