/** What is split how: named axes as strands, devices in the colours of what they hold, what they send one another. */

import { Child, el, fill, svg, table, toggle } from '../dom';
import { formatBytes, formatSeconds, visible } from '../format';
import { Linked, Target } from '../links';
import { Drawings, Flow, Grids } from '../schema';
import style from '../diagrams.css';
import { sheetOf } from '../inflate';
import { Store } from '../store';
import { kernelElement } from './kernels';

const ROW = 34, TOP = 20, NODE = 9, LETTER = 6.7;

const sheet = sheetOf(style);

/** Gives a root the style of the diagrams. */
export function adopt(root: ShadowRoot): void {
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

/** The parts of the diagrams that a program has, with what they are called. */
function partsOf({ flows, placements, ledger, processes, kernels }: Drawings): [string, string][] {
  return ([['axes', 'named axes', flows], ['devices', 'devices', placements], ['sent', 'collectives', ledger], ['processes', 'processes', processes], ['kernels', 'kernels', kernels]] as const)
    .flatMap(([name, title, some]): [string, string][] => some ? [[name, title]] : []);
}

export class DiagramPane {
  readonly element = el('div');
  private readonly bar = el('div.crumbs', { role: 'group', 'aria-label': 'diagrams' });
  private readonly body = el('div.picture');
  private marks: [Element, Target[]][] = [];

  constructor(private readonly store: Store, private readonly drawings: Drawings, root: ShadowRoot, signal: AbortSignal) {
    adopt(root);
    this.element.append(this.bar, this.body);
    store.on(state => [state.diagram], () => this.draw(), signal);
    store.on(state => [state.hot, state.pin], () => this.mark(), signal);
    store.on(state => [state.pin], () => this.choose(), signal);
    this.body.addEventListener('keydown', event => this.key(event), { signal });
    this.choose();
    this.draw();
  }

  /** A value that is kept anywhere is the one whose pieces are shown. */
  private choose(): void {
    const { diagram, pin } = this.store.state;
    const row = this.drawings.values?.value.findIndex(one => this.value(one).some(target => this.meets(pin, target))) ?? -1;
    if (row >= 0 && row !== diagram.row) this.store.set({ diagram: { ...diagram, row } });
  }

  private draw(): void {
    const { store, drawings } = this;
    const { flows, ledger, processes, kernels } = drawings;
    const { diagram } = store.state;
    const parts = partsOf(drawings);
    const part = (parts.find(([name]) => name === diagram.part) ?? parts[0])[0];
    fill(this.bar, ...parts.map(([name, title]) => toggle(title, name === part, () => store.set({ diagram: { ...diagram, part: name } }))));
    this.marks = [];
    const scrolled = this.body.querySelector('.values')?.scrollTop ?? 0;
    fill(this.body, ...(part === 'axes' ? flows!.map(flow => this.flow(flow)) : part === 'sent' ? this.sent(ledger!) : part === 'processes' ? times(processes!) : part === 'kernels' ? kernels!.map(one => kernelElement(one, this.link(el('b', visible(one.title)), this.ops(one.op), visible(one.title)))) : this.devices()));
    this.body.querySelector('[tabindex]')?.setAttribute('tabindex', '0');
    const chosen = this.body.querySelector<HTMLElement>('[aria-current=true]'), list = chosen?.closest('.values');
    if (list) list.scrollTop = Math.min(chosen!.offsetTop - 20, Math.max(scrolled, chosen!.offsetTop + 40 - list.clientHeight));
    this.mark();
  }

  /**
   * Makes an element point at what it stands for; the last target is the one that a click keeps.
   * @param label by which the keys reach it; without one only a pointer does.
   */
  private link<T extends Element>(made: T, targets: Target[], label?: string): T {
    const target = targets.at(-1) ?? null;
    const on = (type: string, to: Target | null) => made.addEventListener(type, () => this.store.point(to));
    on('pointerenter', target);
    on('pointerleave', null);
    if (target) made.addEventListener('click', () => this.store.choose(target));
    if (label !== undefined) {
      // An element of SVG that listens to the focus is reached by Tab, whatever its tabindex.
      on('focus', target);
      on('blur', null);
      made.setAttribute('tabindex', '-1');
      made.setAttribute('aria-label', label);
    }
    made.classList.add('mark');
    this.marks.push([made, targets]);
    return made;
  }

  private mark(): void {
    const { hot, pin } = this.store.state;
    for (const [element, targets] of this.marks) {
      element.classList.toggle('hot', targets.some(one => this.meets(hot, one)));
      element.classList.toggle('pin', targets.some(one => this.meets(pin, one)));
    }
  }

  private meets(linked: Linked | null, target: Target): boolean {
    if (!linked) return false;
    if (target.kind === 'line') return linked.lines.has(target.line);
    const ops = linked.ops.get(target.level);
    if (target.kind === 'op') return !!ops?.has(target.op);
    if (target.kind === 'ops') return target.ops.some(op => ops?.has(op));
    return linked.value?.value === target.value || !!ops?.has(this.store.state.program.level(target.level)!.maker(target.value));
  }

  /** Arrows go from mark to mark, enter keeps one. */
  private key(event: KeyboardEvent): void {
    const marks = [...this.body.querySelectorAll<HTMLElement>('[tabindex]')];
    const at = marks.indexOf(event.target as HTMLElement);
    const to: Record<string, number> = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: marks.length - 1, Enter: at, ' ': at };
    const next = marks[to[event.key]];
    if (at < 0 || !next) return;
    event.preventDefault();
    if (next === marks[at]) next.dispatchEvent(new MouseEvent('click'));
    else {
      marks[at].setAttribute('tabindex', '-1');
      next.setAttribute('tabindex', '0');
      next.focus();
    }
  }

  private ops(flat: number[], name = 'jaxpr'): Target[] {
    const level = this.store.state.program.level(name);
    const found: Target[] = [];
    for (let at = 0; level && at < flat.length; at += 2) {
      const op = level.place(flat.slice(at));
      if (op < level.start[flat[at] + 1]) found.push({ kind: 'op', level: name, op });
    }
    return found;
  }

  private value(value: number): Target[] { return value < 0 ? [] : [{ kind: 'value', level: 'jaxpr', value }]; }
  private line(line: number): Target[] { return line > 0 ? [{ kind: 'line', line }] : []; }

  // --- named axes ---

  private flow({ title, width, strands, knots, runs, left_out }: Flow): HTMLElement {
    const y = (row: number) => TOP + row * ROW;
    const stroke = (strand: number) => strand < 0 ? { stroke: '#8a8a8a', 'stroke-width': 1.2 } : { stroke: colour(strands.hue[strand]), 'stroke-width': strands.thick.includes(strand) ? 3.2 : 2 };
    const text = width + 14;
    const wide = text + 8 + Math.max(0, ...knots.what.map((what, at) => Math.max(what.length * LETTER, knots.said[at].length * 5.7)));
    const lines = runs.x.map((x, at) => {
      const top = y(runs.row[at]), bottom = y(runs.to[at]), end = runs.end[at];
      const bend = Math.max(bottom - ROW * 0.8, top), middle = (bend + bottom) / 2;
      const strand = runs.strand[at];
      const path = svg('path.strand', { d: `M${x} ${top}V${bend}C${x} ${middle} ${end} ${middle} ${end} ${bottom}`, ...stroke(strand) },
        svg('title', strand < 0 ? 'a dimension without a name' : visible(strands.text[strand])));
      return this.link(path, this.value(runs.value[at]));
    });
    const under: Element[] = [];
    const nodes = knots.what.map((what, row) => {
      const said = knots.said[row], left = knots.left[row], size = knots.right[row] - left, ends = knots.ends[row];
      const node = svg('g', { role: 'button' }, svg('rect', { class: knots.kind[row] === 1 ? 'knot' : 'knot end', x: left, y: y(row) - NODE / 2, width: size, height: NODE, rx: 4 }),
        ...ends.map((strand, at) => svg('circle', { cx: left + size * (at + 1) / (ends.length + 1), cy: y(row), r: 5.5, fill: colour(strands.hue[strand]) })),
        svg('text.what', { x: text, y: y(row) }, visible(what)), svg('text', { x: text, y: y(row) + 13 }, visible(said)));
      const own = [...this.ops(knots.ops[row]), ...this.value(knots.value[row])];
      const targets = own.length ? own : this.line(knots.line[row]);
      under.push(this.link(svg('rect.under', { x: 0, y: y(row) - ROW / 2, width: wide, height: ROW }), targets));
      return this.link(node, targets, `${what} ${said}`);
    });
    const legend = strands.text.map((name, at) => el('span', svg('svg', { width: 18, height: 6 }, svg('path', { d: 'M0 3H18', ...stroke(at) })), ` ${visible(name)}`));
    return el('div.flow', el('p', el('b', visible(title))), el('p.legend', ...legend),
      svg('svg', { width: wide, height: y(knots.what.length), role: 'group', 'aria-label': title }, ...under, ...lines, ...nodes),
      left_out ? el('p.note', `and ${left_out} more`) : null);
  }

  // --- devices ---

  private devices(): HTMLElement[] {
    const { diagram } = this.store.state;
    const { values, placements, meshes } = this.drawings;
    const { name, type, role, how, value } = values!;
    const chosen = Math.min(diagram.row ?? values!.first, how.length - 1);
    const rows = how.map((at, row): Child[] => {
      const { spec, bytes } = placements![at];
      return [row && role[row] === role[row - 1] ? '' : role[row], el('code', visible(name[row])), el('code', visible(type[row])), el('code', visible(spec)), formatBytes(bytes)];
    });
    const list = table(['', 'value', 'type', 'sharding', 'a device'], rows, [4]);
    list.querySelectorAll('tbody tr').forEach((row, at) => {
      const targets = this.value(value[at]);
      row.setAttribute('aria-current', String(at === chosen));
      row.addEventListener('click', () => { if (at !== chosen) this.store.set({ diagram: { ...diagram, row: at } }); });
      this.link(row, targets, `${name[at]} ${type[at]} ${placements![how[at]].spec}`);
    });
    if (chosen < 0) return [list];
    const { facts, mesh, array, held, groups, spec } = placements![how[chosen]];
    const on = meshes![mesh];
    const say = el('p.where', { role: 'status' }, 'Point at a piece or a device.');
    const tiles: [HTMLElement, number][] = [];
    const tile = (group: number, label: string, told: string) => {
      const light = (lit: boolean) => () => {
        say.textContent = told;
        for (const [one, other] of tiles) one.classList.toggle('faded', lit && other !== group);
      };
      const made = el('td.tile', { tabindex: -1, title: told, 'aria-label': told, pointerenter: light(true), focus: light(true), pointerleave: light(false), blur: light(false) }, label);
      made.style.background = colour(groups.hue[group], groups.strength[group]);
      tiles.push([made, group]);
      return made;
    };
    const pieces = array && grids(array, group => {
      const made = tile(group, visible(groups.on[group]), visible(`${groups.text[group]} on ${groups.on[group]}`));
      // Copies lie behind a piece like the cards of a pile.
      if (held.indexOf(group) !== held.lastIndexOf(group)) made.style.boxShadow = `2px 2px ${colour(groups.hue[group], 0.8)}`;
      return made;
    });
    const places = grids(on.grids, at => {
      const made = tile(held[at], visible(on.labels[at]), visible(`${on.devices[at]} holds ${groups.text[held[at]]}`));
      if (on.hues) made.style.outline = `2px solid ${colour(on.hues[at])}`;
      return made;
    });
    return [el('div.values', list), el('p', el('b', visible(`${name[chosen]} ${type[chosen]}`)), el('code', ` ${visible(spec)}`)), el('p.note', visible(facts)), say,
      el('div.sides', pieces ? el('div', el('p.note', 'the array'), ...pieces) : null, el('div', el('p.note', visible(on.title)), ...places), el('p.note', visible(on.facts)))];
  }

  // --- what is sent ---

  private sent({ title, facts, totals, rows, left_out }: NonNullable<Drawings['ledger']>): HTMLElement[] {
    const { store } = this;
    const { sort, down } = store.state.diagram;
    const keys = ['lines', 'kind', 'over', 'sent', 'times', 'total', 'why'] as const;
    const by = keys.find(key => key === sort);
    const order = rows.kind.map((_, at) => at);
    if (by) order.sort((a, b) => (rows[by][a] < rows[by][b] ? -1 : rows[by][a] > rows[by][b] ? 1 : 0) * (down ? -1 : 1));
    const head = ['line', 'collective', 'over', 'sends', 'times', 'total', 'why'].map((name, at) => {
      const key = keys[at], first = typeof rows[key][0] === 'number';
      const made = toggle(`${name}${key === by ? (down ? ' ▾' : ' ▴') : ''}`, key === by, () => store.set({ diagram: { ...store.state.diagram, sort: key, down: key === by ? !down : first } }));
      made.setAttribute('aria-label', `sort by ${name}`);
      return made;
    });
    const bytes = (count: number) => formatBytes(count) || '?';
    const list = table(head, order.map((at): Child[] => [rows.lines[at], rows.kind[at], el('span', chip(rows.hues[at]), visible(rows.over[at])), bytes(rows.sent[at]),
      rows.times[at] < 0 ? '?' : `×${rows.times[at]}`, bytes(rows.total[at]), visible(rows.why[at])]), [0, 3, 4, 5]);
    list.classList.add('ledger');
    list.querySelectorAll('tbody tr').forEach((row, place) => {
      const at = order[place];
      const targets = [...this.ops(rows.ops[at]), ...this.ops(rows.op[at], 'hlo')];
      this.link(row, targets.length ? targets : this.line(rows.line[at]), `${rows.kind[at]} over ${rows.over[at]}, ${bytes(rows.total[at])}`);
    });
    const most = Math.max(1, ...totals.bytes);
    const sums = table(['over', 'a device sends', ''], totals.axes.map((axes, at): Child[] => {
      const bar = el('span.share');
      bar.style.setProperty('--share', `${(totals.bytes[at] / most) * 100}%`);
      bar.style.background = colour(totals.hues[at][0] ?? -1);
      return [el('span', chip(totals.hues[at]), visible(axes)), bytes(totals.bytes[at]), el('td.wide', bar)];
    }), [1]);
    return [el('p', el('b', visible(title)), el('span.note', ` ${visible(facts)}`)), el('div.holders', sums), list, ...(left_out ? [el('p.note', `and ${left_out} more`)] : [])];
  }
}

/** What the run took in each process of a cluster; the weak part of a bar is what it waited for others. */
function times({ who, hue, seconds, waited }: NonNullable<Drawings['processes']>): HTMLElement[] {
  const most = Math.max(1e-9, ...seconds);
  const bar = (share: number, hue: number, strength: number) => {
    const made = el('span.share');
    made.style.setProperty('--share', `${(share / most) * 100}%`);
    made.style.background = colour(hue, strength);
    return made;
  };
  return [el('p', el('b', 'time by process'), el('span.note', ' of this run; the weak part of a bar is waiting for other processes')),
    el('div.holders', table(['process', 'took', 'waited', ''], who.map((one, at): Child[] => [el('span', chip([hue[at]]), visible(one)), formatSeconds(seconds[at]), formatSeconds(waited[at]),
      el('td.wide', bar(seconds[at] - waited[at], hue[at], 1), bar(waited[at], hue[at], 0.3))]), [1, 2]))];
}

function chip(hues: number[]): Child {
  const made = el('span.chip');
  made.style.background = `linear-gradient(${colour(hues[0] ?? -1)} 50%,${colour(hues.at(-1) ?? -1)} 50%)`;
  return made;
}

/** Hues are degrees; none is grey. */
function colour(hue: number, strength = 1): string { return `oklch(68% ${hue === -1 ? 0 : 0.135} ${+hue}/${+strength})`; }

/** Grids as tables: what stands in a cell is made of its number. */
function grids({ down, across, rows, columns, captions, cells, left_out, heights, widths }: Grids, draw: (at: number) => HTMLElement): HTMLElement[] {
  const made = cells.map((grid, at) => {
    const body = grid.map((row, line) => el('tr', el('th', { scope: 'row' }, rows[line]), ...row.map((cell, column) => {
      const one = cell < 0 ? el('td', cell === -2 ? '⋯' : '') : draw(cell);
      if (heights) one.style.height = `${16 + 12 * heights[line]}px`;
      if (widths) one.style.width = `${16 + 34 * widths[column]}px`;
      return one;
    })));
    return el('table.grid', el('caption', visible(captions[at])), el('thead', el('tr', el('td'), ...columns.map(one => el('th', { scope: 'col' }, one)))), el('tbody', ...body));
  });
  const told = [down && `${down} ↓`, across && `${across} →`].filter(Boolean).join(', ');
  return [el('p.note', visible(told)), el('div.grids', ...made), ...(left_out ? [el('p.note', `and ${left_out} more`)] : [])];
}
