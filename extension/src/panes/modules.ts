/** The graph of modules: what calls what and what flows between, forward at the left, backward mirrored at the right. */

import { button, choice, el, fill, svg } from '../dom';
import { Costs, formatCost, Measure } from '../costs';
import { counted, formatBytes, formatShare, shortened, visible } from '../format';
import { groupsOf, mainOf } from '../groups';
import { Target } from '../links';
import { Level } from '../model';
import { Box, Flow, Modules, openedAtFirst, readModules, WIDE } from '../modules';
import { Store } from '../store';
import { Canvas, zoomers } from './canvas';
import { lineColour } from './gutter';

const LETTERS = 30, FAT = 14, LETTER = 4.9;

/** Whether a computation is one that is better seen as modules. */
export function hasModules(level: Level, computation: number): boolean {
  return groupsOf(level).isOfCalls(computation);
}

export class ModulesPane {
  readonly element = el('div.graph');
  private readonly bar = el('div.crumbs');
  private readonly canvas: Canvas;
  private opened = new Set<number>();
  private drawn!: Modules;
  private shapes: SVGGElement[] = [];
  private current = -1;
  /** The texts on flows: where their middle is, and half of their width. */
  private written: [number, number, number][] = [];
  private readonly measure: Measure | undefined;

  constructor(private readonly store: Store, private readonly level: Level, private readonly computation: number, private readonly costs: Costs, signal: AbortSignal) {
    this.canvas = new Canvas('modules', signal, 760);
    this.element.append(this.bar, this.canvas.element);
    this.canvas.element.addEventListener('keydown', event => this.key(event), { signal });
    store.on(state => [state.hot, state.pin], () => this.mark(), signal);
    const known = costs.measures(level.name);
    this.measure = known.includes('seconds') ? 'seconds' : known.includes('flops') ? 'flops' : known[0];
    this.opened = openedAtFirst(level, computation, op => this.measure ? this.costOf(op) : 1);
    this.draw();
  }

  private draw(): void {
    const { level, computation } = this;
    const drawn = this.drawn = readModules(level, computation, this.opened, op => this.costOf(op));
    this.shapes = drawn.boxes.map((box, at) => this.box(box, at));
    this.written = [];
    const fat = new Set([...drawn.flows].sort((a, b) => b.nbytes - a.nbytes).slice(0, FAT));
    const most = Math.max(1, ...drawn.flows.map(flow => flow.nbytes));
    const frames = drawn.frames.map(({ key, label, x, y, width, height }) => svg('g.frame', { click: () => this.toggle(key) },
      svg('rect', { x, y, width, height, rx: 6 }), svg('text', { x: x + 8, y: y + 15 }, `▾ ${shortened(visible(label), 60)}`), svg('title', 'press to close')));
    fill(this.canvas.element, svg('g.frames', ...frames), svg('g.edges', ...[...drawn.flows].sort((a, b) => b.nbytes - a.nbytes).map(flow => this.flow(flow, most, fat.has(flow))).reverse()), svg('g', ...this.shapes));
    const left = Math.min(-110, ...drawn.frames.map(one => one.x));
    this.canvas.resize(drawn.width - left, drawn.height, left);
    const levels = choice('level', this.store.state.program.lower.map(one => [one.name, one.name]), level.name, name => this.store.set({ graph: { level: name, computation: mainOf(this.store.state.program.level(name)!) } }));
    const pieces = level.data.entries > 1 ? choice('computation', Array.from({ length: Math.min(level.data.entries, 200) }, (_, at) => [at, `piece ${at + 1}`]), computation,
      at => this.store.set({ graph: { level: level.name, computation: Number(at) } })) : null;
    const { owner, home } = level;
    const up = owner[computation];
    fill(this.bar, levels, pieces, up >= 0 ? button('‹ back', () => this.store.set({ graph: { level: level.name, computation: home[up] } })) : null,
      el('b', visible(level.computationName(computation).slice(0, 60))), drawn.twoSided ? el('span.note', 'forward left, backward right') : null, el('span.space'),
      button('each op', () => this.store.set({ graph: { level: level.name, computation, each: true } }), { title: 'the graph of all equations' }), ...zoomers(this.canvas));
    this.mark();
  }

  /** What an op costs with its bodies, where anything is known. */
  private costOf(op: number): number { return this.measure ? this.costs.deep(this.level, this.measure)[op] : 0; }

  private box(box: Box, at: number): SVGGElement {
    const { level, measure } = this;
    const [first] = box.ops;
    const cost = box.ops.reduce((sum, op) => sum + this.costOf(op), 0), middle = box.height / 2;
    const share = measure ? cost / (this.costs.whole(level, measure) || 1) : 0;
    const opens = box.key !== -1 || this.body(box) >= 0;
    const said = [box.path, counted(box.ops.reduce((sum, op) => level.bodies(op).reduce((all, body) => all + groupsOf(level).sizes[body], sum + 1), 0), 'eqn'), share > 0 ? formatShare(share) : ''].filter(Boolean).join(' · ');
    const name = `${box.label}${box.alike > 1 ? ` ×${box.alike}` : ''}`;
    return svg('g', { class: `node ${box.own ? 'op' : 'scope'}${opens ? ' opens' : ''}${box.backward ? ' back' : ''}`, transform: `translate(${box.x} ${box.y})`,
      click: () => { this.current = at; this.store.choose(this.target(box)); }, dblclick: () => this.open(box),
      pointerenter: () => this.store.point(this.target(box)), pointerleave: () => this.store.point(null) },
      svg('title', visible(`${name}\n${said}${measure ? `\n${formatCost(measure, cost)}` : ''}`)),
      svg('rect', { width: WIDE, height: box.height, rx: 4 }),
      svg('rect.strip', { width: 3, height: box.height - 4, x: box.backward ? WIDE - 4 : 1, y: 2, rx: 1, style: `fill:${lineColour(level.line(first))};stroke:none` }),
      share > 0 ? svg('rect.bar', { x: 6, y: box.height - 5, height: 2.5, width: Math.max(1, (WIDE - 12) * share) }) : null,
      svg('text.label', { x: WIDE / 2, y: middle - 4 }, `${shortened(visible(name), LETTERS)}${opens ? ' ▸' : ''}`),
      svg('text.type', { x: WIDE / 2, y: middle + 9 }, shortened(visible(said), LETTERS + 4)));
  }

  private flow(flow: Flow, most: number, fat: boolean): SVGElement {
    const { boxes } = this.drawn;
    const from = boxes[flow.from], to = boxes[flow.to];
    const text = `${this.level.type(flow.value)}${flow.count > 1 ? ` +${flow.count - 1}` : ''} ${formatBytes(flow.nbytes)}`;
    const half = text.length * LETTER / 2;
    const mid = (box: Box) => box.y + box.height / 2;
    const rows = Math.abs(to.y - from.y);
    let d: string, x: number, y: number;
    if (from.x === to.x) {
      const down = to.y > from.y;
      const near = !boxes.some(one => one.x === from.x && one !== from && one !== to && (one.y - from.y) * (one.y - to.y) < 0);
      if (near) {
        const [a, b] = down ? [from.y + from.height, to.y] : [from.y, to.y + to.height];
        [x, y] = [from.x + WIDE / 2, (a + b) / 2];
        d = `M${x} ${a}V${b}`;
      } else {
        const out = Math.min(84, 14 + rows / 7);
        const edge = from.x > 0 ? from.x + WIDE : from.x;
        const away = from.x > 0 ? edge + out : edge - out;
        // Beside the boxes, where it can be read.
        x = edge + Math.sign(away - edge) * Math.max(out * 0.75, half + 4);
        y = (mid(from) + mid(to)) / 2;
        d = `M${edge} ${mid(from)}C${away} ${mid(from)} ${away} ${mid(to)} ${edge} ${mid(to)}`;
      }
    } else {
      const [a, b] = from.x < to.x ? [from.x + WIDE, to.x] : [from.x, to.x + WIDE];
      [x, y] = [(a + b) / 2, (mid(from) + mid(to)) / 2];
      d = `M${a} ${mid(from)}C${x} ${mid(from)} ${x} ${mid(to)} ${b} ${mid(to)}`;
    }
    // A text over another is none: it shows under the pointer.
    const free = fat && this.written.every(([x0, y0, half0]) => Math.abs(y - y0) > 9 || Math.abs(x - x0) > half + half0);
    if (free) this.written.push([x, y, half]);
    return svg('g', { class: boxes[flow.to].backward && !boxes[flow.from].backward ? 'residual' : '' },
      svg('title', visible(`${boxes[flow.from].label} → ${boxes[flow.to].label}\n${text}`)),
      svg('path', { d, 'stroke-width': (0.7 + 4 * Math.sqrt(flow.nbytes / most)).toFixed(1) }),
      svg(free ? 'text.fat' : 'text', { x, y: y + 3 }, text));
  }

  private target({ ops, label }: Box): Target {
    const level = this.level.name;
    return ops.length === 1 ? { kind: 'op', level, op: ops[0] } : { kind: 'ops', level, ops, said: label };
  }

  /** The body of a loop that is all of a box, -1 if it is none. */
  private body({ ops }: Box): number {
    const owners = ops.filter(op => this.level.bodies(op).length);
    return owners.length === 1 ? this.level.bodies(owners[0])[0] : -1;
  }

  private open(box: Box): void {
    if (box.key !== -1) this.toggle(box.key);
    else if (this.body(box) >= 0) this.store.set({ graph: { level: this.level.name, computation: this.body(box) } });
  }

  private toggle(key: number): void {
    if (!this.opened.delete(key)) this.opened.add(key);
    this.draw();
  }

  private mark(): void {
    const linked = this.store.state.hot ?? this.store.state.pin;
    const found = linked?.ops.get(this.level.name);
    this.shapes.forEach((shape, at) => {
      shape.classList.toggle('hot', !!found && this.drawn.boxes[at].ops.some(op => found.has(op)));
      shape.classList.toggle('cursor', at === this.current);
    });
  }

  private key(event: KeyboardEvent): void {
    const { boxes } = this.drawn;
    const box = boxes[this.current];
    const near = (dx: number, dy: number) => {
      const far = (one: Box) => ((one.x - (box?.x ?? 0)) * dx + (one.y - (box?.y ?? -1)) * dy);
      const ahead = boxes.map((_, at) => at).filter(at => at !== this.current && far(boxes[at]) > 0);
      const across = (one: Box) => Math.abs((one.x - (box?.x ?? 0)) * dy) + Math.abs((one.y - (box?.y ?? 0)) * dx);
      ahead.sort((a, b) => far(boxes[a]) + 3 * across(boxes[a]) - far(boxes[b]) - 3 * across(boxes[b]));
      if (!ahead.length) return;
      this.current = ahead[0];
      this.canvas.centre(boxes[this.current].x + WIDE / 2, boxes[this.current].y);
      this.store.point(this.target(boxes[this.current]));
      this.mark();
    };
    const ways: Record<string, () => void> = { ArrowLeft: () => near(-1, 0), ArrowRight: () => near(1, 0), ArrowUp: () => near(0, -1), ArrowDown: () => near(0, 1),
      Enter: () => { if (box) this.open(box); } };
    if (ways[event.key]) ways[event.key]();
    else if (!this.canvas.key(event)) return;
    event.preventDefault();
  }

  /** The drawing as a file of its own. */
  file(): string { return this.canvas.file(); }
}
