/** Where the time goes, or what else is counted: the call tree as a flame or a map, to point at and to go into. */

import { button, choice, el, fill, toggle } from '../dom';
import { Area, flame, treemap } from '../areas';
import { adds, Costs, formatCost, Measure, MEASURES, NAMES } from '../costs';
import { formatShare } from '../format';
import { SourceRow } from '../sourcerows';
import { Store } from '../store';
import { Tree } from '../tree';
import { lineColour } from './gutter';
import { targetOf } from './source';

const TALL = 22, MAP_TALL = 400, MARGIN = 18;

export class AreasPane {
  readonly element = el('div.areas');
  private readonly bar = el('div.crumbs');
  private readonly place = el('div.place', { role: 'group', 'aria-label': 'what costs most' });
  private readonly known: Measure[];
  private measure: Measure;
  private map = false;
  private way: SourceRow[] = [];

  constructor(private readonly store: Store, private readonly costs: Costs, signal: AbortSignal) {
    this.known = MEASURES.filter(measure => adds(measure) && costs.tree(measure));
    this.measure = store.state.sort && this.known.includes(store.state.sort) ? store.state.sort : this.known[0];
    this.element.append(this.bar, this.place);
    const size = new ResizeObserver(() => { if (this.map) this.draw(); });
    size.observe(this.place);
    signal.addEventListener('abort', () => size.disconnect());
    store.on(state => [state.hot, state.pin], () => this.mark(), signal);
    this.draw();
  }

  private get tree(): Tree { return this.costs.tree(this.measure)!; }

  private draw(): void {
    const { tree, measure, way } = this;
    const root = way.at(-1) ?? null;
    const wide = this.place.clientWidth || 1000;
    const areas = this.map ? treemap(tree, root, measure, wide, MAP_TALL, MARGIN) : flame(tree, root, measure);
    const unit = this.map ? 1 : TALL;
    this.place.classList.toggle('map', this.map);
    this.place.style.height = `${this.map ? MAP_TALL : TALL * (1 + Math.max(0, ...areas.map(one => one.depth)))}px`;
    fill(this.place, ...areas.map(one => this.area(one, unit)));
    const steps = [null, ...way].map((row, at) => at === way.length ? el('b', this.named(row)) : button(this.named(row), () => this.go(way.slice(0, at)), { class: 'link' }));
    const whole = tree.cost(root?.node ?? 0, measure);
    fill(this.bar, choice('measure', this.known.map(one => [one, NAMES[one]]), measure, one => { this.measure = one as Measure; this.way = []; this.draw(); }),
      toggle('flame', !this.map, () => { this.map = false; this.draw(); }), toggle('map', this.map, () => { this.map = true; this.draw(); }),
      ...steps.flatMap((step, at) => at ? [' › ', step] : [step]), el('span.note', ` ${formatCost(measure, whole)}`), el('span.space'),
      el('span.note', 'a press goes into it · pale: backward'));
    this.mark();
  }

  private go(way: SourceRow[]): void {
    this.way = way;
    this.draw();
    this.place.querySelector<HTMLElement>('button')?.focus({ preventScroll: true });
  }

  private named(row: SourceRow | null): string {
    if (!row) return 'cell';
    const { tree } = this;
    if (row.call >= 0) return tree.called(row.call);
    return tree.kind(row.node) === 'line' ? tree.code(row.node) : tree.called(row.node);
  }

  private area({ row, cost, behind, x, width, y, height, depth }: Area, unit: number): HTMLElement {
    const { tree, measure } = this;
    const line = tree.kind(row.node) === 'line' && tree.line(row.node) ? `${tree.line(row.node)}  ` : '';
    const name = row.call >= 0 && tree.kind(row.node) === 'line' ? `${line}${tree.called(row.call)}` : `${line}${this.named(row)}`;
    const share = formatShare(cost / (tree.cost(0, measure) || 1));
    const back = behind > 0 ? `, ${formatShare(behind / cost)} of it backward` : '';
    const made = el('button.area', { type: 'button', 'data-node': row.node, 'data-call': row.call, title: `${name}${row.call >= 0 ? `\n${tree.code(row.node)}` : ''}\n${formatCost(measure, cost)}, ${share}${back}`,
      click: () => this.press(row), pointerenter: () => this.store.point(targetOf(tree, row)), pointerleave: () => this.store.point(null) },
      el('span', `${name} `), el('span.note', share));
    const colour = lineColour(tree.lineOf(row.node));
    made.style.cssText = `left:${x * 100}%;width:${width * 100}%;top:${y * unit}px;height:${height * unit - 1}px`;
    made.style.setProperty('--hue', colour);
    made.style.setProperty('--ahead', `${Math.round((1 - (cost > 0 ? behind / cost : 0)) * 100)}%`);
    made.style.setProperty('--depth', String(Math.min(depth, 6)));
    return made;
  }

  /** Goes into what has something inside, and pins it. */
  private press(row: SourceRow): void {
    const target = targetOf(this.tree, row);
    if (target) this.store.set({ pin: this.store.links.find(target) });
    const above: SourceRow[] = [];
    const { parent } = this.tree.data;
    // What was passed on the way down from where one stands now.
    for (let at = parent[row.node]; at > 0 && at !== (this.way.at(-1)?.node ?? 0) && at !== (this.way.at(-1)?.call ?? -1); at = parent[at]) {
      const shown = this.place.querySelector<HTMLElement>(`[data-node="${at}"]`);
      if (shown) above.unshift({ line: 0, node: at, depth: 0, call: Number(shown.dataset.call) });
    }
    if (this.tree.children[row.node].length && this.way.at(-1)?.node !== row.node) this.go([...this.way, ...above, row]);
  }

  private mark(): void {
    const { hot, pin } = this.store.state;
    const ops = (hot ?? pin)?.ops.get(this.tree.data.level);
    const nodes = new Set<number>();
    if (ops && ops.size < 20_000) for (const op of ops.keys()) for (const node of this.tree.way(op)) nodes.add(node);
    this.place.querySelectorAll<HTMLElement>('[data-node]').forEach(one => one.classList.toggle('hot', nodes.has(Number(one.dataset.node))));
  }
}
