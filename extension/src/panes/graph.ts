/** The graph of one computation: laid out when it is opened, to pan and zoom, its scopes and bodies to go into. */

import { button, choice, el, fill, svg } from '../dom';
import { formatBytes, shortened, visible } from '../format';
import { Canvas, zoomers } from './canvas';
import { Edge, Node, readGraph } from '../graph';
import { Laid, layOut } from '../layout';
import { Target } from '../links';
import { Level } from '../model';
import { Store } from '../store';

const LETTER = 6.7, TALL = 34, MOST_LABEL = 26;
// How wide the letters of shapes on edges are.
const SMALL = 4.9;

export class GraphPane {
  readonly element = el('div.graph');
  private readonly bar = el('div.crumbs');
  private readonly canvas: Canvas;
  private nodes: Node[] = [];
  private laid!: Laid;
  private shapes: SVGGElement[] = [];
  private current = -1;
  private opened = new Set<string>();
  private grouped: boolean | null = null;
  /** What is written on edges, by height: where each text begins and ends. */
  private written = new Map<number, [number, number][]>();

  constructor(private readonly store: Store, signal: AbortSignal) {
    this.canvas = new Canvas('graph', signal);
    this.element.append(this.bar, this.canvas.element);
    store.on(state => [state.hot, state.pin], () => this.mark(), signal);
    this.canvas.element.addEventListener('keydown', event => this.key(event), { signal });
    this.draw();
  }

  /** Of a program that was saved without its levels, what was chosen then is none. */
  private get level(): Level {
    const { program, graph } = this.store.state;
    return program.level(graph.level) ?? program.lower[0];
  }

  private draw(): void {
    const { level } = this;
    const { computation } = this.store.state.graph;
    if (this.grouped === null) this.grouped = level.start[computation + 1] - level.start[computation] > 40 && !!level.data.ops.scopes;
    const { nodes, edges, left } = readGraph(level, computation, this.opened, this.grouped);
    this.nodes = nodes;
    this.laid = layOut(nodes.map(boxOf), edges.map(edge => [edge.from, edge.to]));
    this.shapes = nodes.map((node, at) => this.node(node, at));
    this.written.clear();
    const lines = svg('g.edges', ...edges.map((edge, at) => this.edge(edge, at)));
    fill(this.canvas.element, lines, svg('g', ...this.shapes));
    this.crumbs(left);
    this.canvas.resize(this.laid.width, this.laid.height);
    this.mark();
  }

  private node(node: Node, at: number): SVGGElement {
    const { width, height } = boxOf(node);
    const x = this.laid.x[at], y = this.laid.y[at];
    const opens = this.opensInto(node);
    return svg('g', { class: `node ${node.kind}${opens ? ' opens' : ''}`, transform: `translate(${x - width / 2} ${y - height / 2})`,
      click: () => { this.current = at; this.store.choose(this.target(node)); }, dblclick: () => this.open(node),
      pointerenter: () => this.store.point(this.target(node)), pointerleave: () => this.store.point(null) },
      svg('title', `${visible(node.label.slice(0, 500))} ${node.detail.slice(0, 500)}`),
      svg('rect', { width, height, rx: node.kind === 'op' || node.kind === 'scope' ? 4 : height / 2 }),
      svg('text.label', { x: width / 2, y: 14 }, `${label(node)}${opens ? ' ▸' : ''}`),
      svg('text.type', { x: width / 2, y: 27 }, shortened(node.detail, MOST_LABEL)));
  }

  private edge(edge: Edge, at: number): SVGElement {
    const points = this.laid.edges[at].map(([x, y]) => [x, y]);
    points[0][1] += TALL / 2;
    points[points.length - 1][1] -= TALL / 2;
    let path = `M${points[0].join(' ')}`;
    for (let step = 1; step < points.length; step++) {
      const [x0, y0] = points[step - 1], [x1, y1] = points[step];
      const middle = (y0 + y1) / 2;
      path += `C${x0} ${middle} ${x1} ${middle} ${x1} ${y1}`;
    }
    const size = this.level.nbytes(edge.value);
    const thick = size > 0 ? Math.min(4, 0.8 + Math.log10(size) / 3) : 0.8;
    const [free, shape] = this.shapeOn(edge, points[0], points[1]);
    // What only a pointer brings up is made when it comes: there are hundreds of edges.
    const group = svg('g', { pointerenter: () => {
      if (group.querySelector('title')) return;
      group.append(svg('title', `${visible(this.level.valueName(edge.value).slice(0, 200))} ${edge.label} ${formatBytes(size)}`));
      if (!free) group.append(shape());
    } }, svg('path', { d: path, 'stroke-width': thick.toFixed(1) }), free && shape());
    return group;
  }

  /** The shape in the middle of the way to the next layer; where others stand already it shows only under the pointer. */
  private shapeOn({ label }: Edge, [x0, y0]: number[], [x1, y1]: number[]): [boolean, () => SVGElement] {
    const x = (x0 + x1) / 2, y = Math.round((y0 + y1) / 2);
    const text = shortened(label, MOST_LABEL);
    const half = (text.length * SMALL) / 2;
    const there = this.written.get(y) ?? [];
    const free = there.every(([from, to]) => x + half < from || to < x - half);
    if (free) this.written.set(y, [...there, [x - half, x + half]]);
    return [free, () => svg(free ? 'text.free' : 'text', { x, y: y + 3 }, text)];
  }

  private crumbs(left: number): void {
    const { level } = this;
    const { computation } = this.store.state.graph;
    const way: number[] = [computation];
    for (let owner = level.owner[computation]; owner >= 0 && way.length < 50; owner = level.owner[level.home[owner]]) way.unshift(level.home[owner]);
    const levels = choice('level', this.store.state.program.lower.map(one => [one.name, one.name]), level.name, name => this.store.set({ graph: { level: name, computation: 0 } }));
    const steps = way.flatMap((one, at) => [at ? ' › ' : ' ', one === computation ? el('b', visible(level.computationName(one).slice(0, 60)))
      : button(visible(level.computationName(one).slice(0, 60)), () => this.go(one), { class: 'link' })]);
    const entries = level.data.entries > 1 && way.length === 1 ? choice('computation',
      Array.from({ length: Math.min(level.data.entries, 200) }, (_, at) => [at, `piece ${at + 1}`]), computation, at => this.go(Number(at))) : null;
    fill(this.bar, levels, entries, ...steps, ...[...this.opened].map(scope => button(`${visible(scope.slice(0, 60))} ×`, () => this.reopen(scope), { 'aria-label': `close scope ${scope.slice(0, 60)}` })), left > 0 ? el('span.note', ` … ${left} more ops are not drawn`) : null, el('span.space'),
      this.store.state.graph.each ? button('modules', () => this.store.set({ graph: { level: level.name, computation } })) : null,
      level.data.ops.scopes ? el('label', el('input', { type: 'checkbox', checked: !!this.grouped, change: () => { this.grouped = !this.grouped; this.opened = new Set(); this.draw(); } }), 'by scope') : null,
      ...zoomers(this.canvas));
  }

  private go(computation: number): void { this.store.set({ graph: { ...this.store.state.graph, level: this.level.name, computation } }); }

  private opensInto(node: Node): boolean {
    return node.kind === 'scope' || (node.kind === 'op' && this.level.bodies(node.ops[0]).length > 0);
  }

  private open(node: Node): void {
    if (node.kind === 'scope') this.reopen(node.scope, node.ops[0]);
    else if (node.kind === 'op') {
      const [body] = this.level.bodies(node.ops[0]);
      if (body !== undefined) this.go(body);
    }
  }

  /** Opens a scope, or closes it with all that is in it; the cursor stays at an op of it. */
  private reopen(scope: string, op = -1): void {
    if (!this.opened.delete(scope)) this.opened.add(scope);
    this.draw();
    this.current = this.nodes.findIndex(node => node.ops.includes(op));
    this.mark();
  }

  private target({ value, ops }: Node): Target {
    const level = this.level.name;
    return value >= 0 ? { kind: 'value', level, value } : { kind: 'op', level, op: ops[0] };
  }

  private mark(): void {
    const linked = this.store.state.hot ?? this.store.state.pin;
    const found = linked?.ops.get(this.level.name);
    this.shapes.forEach((shape, at) => {
      const exact = this.nodes[at].ops.map(op => found?.get(op)).filter(one => one !== undefined);
      shape.classList.toggle('hot', exact.length > 0);
      shape.classList.toggle('inferred', exact.length > 0 && !exact.some(Boolean));
      shape.classList.toggle('cursor', at === this.current);
    });
  }

  private key(event: KeyboardEvent): void {
    const ways: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const node = this.nodes[this.current];
    if (ways[event.key]) this.step(...ways[event.key]);
    else if (event.key === 'Enter' && node) this.opensInto(node) ? this.open(node) : this.store.choose(this.target(node));
    else if (event.key === 'Backspace') {
      const owner = this.level.owner[this.store.state.graph.computation];
      if (owner >= 0) this.go(this.level.home[owner]);
    } else if (!this.canvas.key(event)) return;
    event.preventDefault();
  }

  /** The cursor goes to the nearest node that way. */
  private step(dx: number, dy: number): void {
    const { x, y } = this.laid;
    const hereX = x[this.current] ?? this.laid.width / 2, hereY = y[this.current] ?? -100;
    let best = -1, least = Infinity;
    this.nodes.forEach((_, at) => {
      const along = (x[at] - hereX) * dx + (y[at] - hereY) * dy;
      const across = Math.abs((x[at] - hereX) * dy) + Math.abs((y[at] - hereY) * dx);
      if (at !== this.current && along > 1 && along + 3 * across < least) { least = along + 3 * across; best = at; }
    });
    if (best < 0) return;
    this.current = best;
    this.canvas.centre(x[best], y[best]);
    this.store.point(this.target(this.nodes[best]));
    this.mark();
  }

  /** The drawing as a file of its own. */
  file(): string { return this.canvas.file(); }
}

function label(node: Node): string { return shortened(visible(node.label.slice(0, 100)), MOST_LABEL); }

function boxOf(node: Node): { width: number; height: number } {
  const letters = Math.max(label(node).length + 2, Math.min(node.detail.length, MOST_LABEL) * 0.92);
  return { width: Math.max(36, letters * LETTER + 12), height: TALL };
}
