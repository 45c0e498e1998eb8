/** A level: its ops as rows with syntax colours, folding, and columns of what they cost. */

import { el, fill, toggle } from '../dom';
import { counted, formatShare, titleOf, visible } from '../format';
import { Linked, Target } from '../links';
import { Level } from '../model';
import { rowPieces, typeColumn } from '../pieces';
import { Group, groupsOf } from '../groups';
import { around, GROUP, HEAD, OP, readRows, Rows } from '../rows';
import { Store } from '../store';
import { adds, beginsHot, Costs, Measure, NAMES, orderOf } from '../costs';
import { Cell, edge, gutter } from './gutter';
import { ListPane } from './list';

export class LevelPane extends ListPane {
  private rows!: Rows;
  private rowOf!: Int32Array;
  private width = 0;
  private measures: Measure[] = [];
  private hits = new Set<number>();
  private by: Measure | null = null;

  constructor(store: Store, private readonly level: Level, private readonly costs: Costs, signal: AbortSignal) {
    super(store, level.name, 'tree', signal);
    store.on(state => [state.folded, state.opened, state.sort, state.ordered, state.phases, state.scope, state.promoted, state.measures], () => this.read(), signal);
    store.on(state => [state.matches], () => this.find(), signal);
    this.find();
    this.read();
  }

  protected get count(): number { return this.rows.kind.length; }

  override get tall(): number { return this.level.size + 3; }

  private read(): void {
    const { folded, opened, phases, scope, promoted, sort, measures } = this.store.state;
    const { level } = this;
    const known = this.costs.measures(this.name);
    this.measures = measures.filter(one => known.includes(one));
    const by = this.by = orderOf(this.store.state, this.costs, level);
    const costs = by && this.costs.ranks(level, by);
    this.rows = readRows(level, { folded: folded.get(this.name) ?? new Set(), phases, scope, promoted, sort: costs, opened: opened.get(this.name) ?? new Set() });
    this.rowOf = new Int32Array(level.size).fill(-1);
    this.rows.kind.forEach((kind, row) => {
      const item = this.rows.item[row];
      if (kind === OP) this.rowOf[item] = row;
      else if (kind === GROUP && !this.isOpen(item)) this.rowOf.fill(row, this.group(item).from, this.group(item).to);
    });
    this.width = typeColumn(level, this.rows);
    const shown = this.rows.kind.reduce((sum, kind, row) => {
      const group = kind === GROUP && !this.isOpen(this.rows.item[row]) ? this.group(this.rows.item[row]) : null;
      return sum + (kind === OP ? 1 : group ? group.to - group.from : 0);
    }, 0);
    const total = shown === level.size ? counted(level.size, 'op') : `${shown.toLocaleString('en-US')} of ${counted(level.size, 'op')}`;
    const { ordered } = this.store.state;
    fill(this.title, el('b', titleOf(this.name)), el('span', total), beginsHot(level) && !sort && toggle('hottest first', !!by, () => this.order(!ordered.has(this.name)),
      { title: by ? `by ${NAMES[by]}; press for the order of the module` : 'the order of the module; press for what costs most' }));
    this.head(this.measures, by);
    this.restart();
  }

  /** Whether it is shown in its own order. */
  private order(own: boolean): void {
    const ordered = new Set(this.store.state.ordered);
    if (own) ordered.add(this.name); else ordered.delete(this.name);
    this.store.set({ ordered });
  }

  private find(): void {
    this.hits = new Set(this.store.state.matches.ops.get(this.name));
    this.recycler.visible().forEach((element, row) => element.classList.toggle('hit', this.isHit(row)));
  }

  protected draw(row: number, element: HTMLElement): void {
    const { rows, level } = this;
    const item = rows.item[row], kind = rows.kind[row];
    if (kind === GROUP) return this.drawGroup(row, element);
    const bodies = kind === OP ? level.bodies(item) : [];
    element.setAttribute('role', 'treeitem');
    element.setAttribute('aria-level', String(rows.depth[row] + 1));
    if (bodies.length) element.setAttribute('aria-expanded', String(!this.isFolded(item)));
    if (kind !== OP) element.classList.add(kind === HEAD ? 'head' : 'foot');
    else if (level.phase(item) !== 'primal') element.classList.add('phase');
    element.append(gutter(this.measures, this.costs, level, kind === OP ? item : -1, bodies.length > 0 && (!!this.by || this.isFolded(item)), kind === OP ? phaseSign(level.phase(item)) : '', kind === OP ? level.line(item) : 0));
    const code = el('code');
    let sign: HTMLElement | null = bodies.length ? el('span.fold', { 'aria-hidden': 'true' }, this.isFolded(item) ? '▸' : '▾') : null;
    const note = bodies.length > 0 && this.isFolded(item) && el('span.t-note', `  {${holds(level, item, bodies)}}`);
    for (const piece of rowPieces(level, rows, row, this.width)) {
      if (piece.kind === 'plain') code.append(piece.text);
      else code.append(el('span', { class: `t-${piece.kind}`, 'data-value': piece.value }, piece.text));
      if (sign) code.append(sign);
      sign = null;
      if (note && this.by && piece.kind === 'op') code.append(note);  // what is hot is known by what it computes
    }
    if (note && !this.by) code.append(note);
    element.append(code);
  }

  private drawGroup(row: number, element: HTMLElement): void {
    const { rows, level, costs } = this;
    const { from, to, backward } = this.group(rows.item[row]);
    const open = this.isOpen(rows.item[row]);
    element.classList.add('group');
    element.setAttribute('role', 'treeitem');
    element.setAttribute('aria-level', String(rows.depth[row] + 1));
    element.setAttribute('aria-expanded', String(open));
    const cells = this.measures.map((measure): Cell => ({ measure, cost: costs.over(level, measure, withBodies(level, from, to)), whole: adds(measure) ? costs.whole(level, measure) : costs.most(level.name, measure) }));
    const [indent, label, note] = rowPieces(level, rows, row);
    const share = cells[0]?.whole && adds(cells[0].measure) ? ` · ${formatShare(cells[0].cost / cells[0].whole)}` : '';
    element.append(edge(cells, backward ? phaseSign('transposed') : '', level.line(from)),
      el('code', indent.text, el('span.fold', { 'aria-hidden': 'true' }, open ? '▾' : '▸'), el('span.t-call', label.text), el('span.t-note', note.text + share)));
  }

  private group(at: number): Group { return groupsOf(this.level).all[at]; }
  private isOpen(group: number): boolean { return this.store.state.opened.get(this.name)?.has(group) ?? false; }

  private isFolded(op: number): boolean { return this.store.state.folded.get(this.name)?.has(op) ?? false; }

  protected targetOf(row: number): Target | null {
    const item = this.rows.item[row], kind = this.rows.kind[row];
    if (kind === OP) return { kind: 'op', level: this.name, op: item };
    if (kind === GROUP) {
      const { from, to, label } = this.group(item);
      return { kind: 'ops', level: this.name, ops: Array.from({ length: to - from }, (_, at) => from + at), said: label };
    }
    const owner = this.level.owner[item];
    return owner >= 0 ? { kind: 'op', level: this.name, op: owner } : null;
  }

  protected rowsOf(linked: Linked): Map<number, boolean> {
    const found = new Map<number, boolean>();
    const add = (op: number, exact: boolean) => {
      let row = this.rowOf[op];
      if (row < 0) row = this.rowOf[around(this.level, op).find(one => this.rowOf[one] >= 0) ?? op] ?? -1;
      if (row >= 0) found.set(row, (found.get(row) ?? false) || exact);
    };
    linked.ops.get(this.name)?.forEach((exact, op) => add(op, exact));
    if (linked.value?.level === this.name) this.level.users(linked.value.value).forEach(op => add(op, true));
    return found;
  }

  protected isHit(row: number): boolean {
    const item = this.rows?.item[row], kind = this.rows?.kind[row];
    if (kind !== GROUP) return kind === OP && this.hits.has(item);
    const { from, to } = this.group(item);
    if (!this.isOpen(item)) for (let op = from; op < to; op++) if (this.hits.has(op)) return true;
    return false;
  }

  protected fold(row: number, how: 'toggle' | 'open' | 'close'): boolean {
    if (this.rows.kind[row] === GROUP) return this.foldGroup(row, how);
    const op = this.rows.item[row];
    const owns = this.rows.kind[row] === OP && this.level.bodies(op).length > 0;
    const folded = this.isFolded(op);
    if (!owns || (how === 'close' && folded)) {
      // By the left key out of a body, to the op that owns it.
      if (how !== 'close') return false;
      if (this.above(row) >= 0) { this.move(this.above(row)); return true; }
      const up = this.level.owner[this.rows.kind[row] === OP ? this.level.home[op] : op];
      if (up >= 0 && this.rowOf[up] >= 0) this.move(this.rowOf[up]);
      return up >= 0;
    }
    if (how === 'open' && !folded) { this.move(row + 1); return true; }
    const next = new Set(this.store.state.folded.get(this.name));
    if (folded) next.delete(op); else next.add(op);
    this.store.set({ folded: new Map(this.store.state.folded).set(this.name, next) });
    if (this.rowOf[op] >= 0) this.move(this.rowOf[op]);
    return true;
  }

  private foldGroup(row: number, how: 'toggle' | 'open' | 'close'): boolean {
    const open = this.isOpen(this.rows.item[row]);
    if (how === 'open' && open) { this.move(row + 1); return true; }
    if (how === 'close' && !open) {
      const up = this.above(row);
      if (up >= 0) this.move(up);
      return up >= 0;
    }
    this.openGroup(this.rows.item[row], !open);
    this.move(row);
    return true;
  }

  private openGroup(group: number, open: boolean): void {
    const next = new Set(this.store.state.opened.get(this.name));
    if (open) next.add(group); else next.delete(group);
    this.store.set({ opened: new Map(this.store.state.opened).set(this.name, next) });
  }

  /** The row of the group around a row, -1 if there is none. */
  private above(row: number): number {
    let up = row;
    while (up >= 0 && this.rows.depth[up] >= this.rows.depth[row]) up--;
    return up >= 0 && this.rows.kind[up] === GROUP ? up : -1;
  }

  /** Shows an op, unfolding what is around it. */
  show(op: number): void {
    const folded = this.store.state.folded.get(this.name);
    const closed = around(this.level, op).filter(one => folded?.has(one));
    if (closed.length) {
      const next = new Set(folded);
      closed.forEach(one => next.delete(one));
      this.store.set({ folded: new Map(this.store.state.folded).set(this.name, next) });
    }
    for (const one of [...around(this.level, op).reverse(), op]) {
      for (let row = this.rowOf[one]; row >= 0 && this.rows.kind[row] === GROUP; row = this.rowOf[one]) this.openGroup(this.rows.item[row], true);
    }
    // What costs nothing stands in no other order than that of the level.
    if (this.rowOf[op] < 0 && this.by && !around(this.level, op).some(one => this.rowOf[one] >= 0)) {
      this.store.set({ sort: null, ordered: new Set([...this.store.state.ordered, this.name]) });
      return this.show(op);
    }
    if (this.rowOf[op] >= 0) this.move(this.rowOf[op]);
  }
}

const BARE = new Set(['parameter', 'constant', 'bitcast', 'broadcast', 'tuple', 'get-tuple-element', 'copy', 'convert', 'reshape', 'transpose']);

/** Some ops, and those in their bodies. */
function withBodies(level: Level, from: number, to: number): number[] {
  const found = Array.from({ length: to - from }, (_, at) => from + at);
  for (const op of found) for (const body of level.bodies(op)) for (let at = level.start[body]; at < level.start[body + 1]; at++) found.push(at);
  return found;
}

/** What is in the bodies of an op: of a fusion what it computes, the most frequent first, of others their names. */
function holds(level: Level, op: number, bodies: number[]): string {
  if (level.opName(op) !== 'fusion') return bodies.map(body => level.computationName(body).slice(0, 30)).join(', ');
  const counts = new Map<string, number>();
  for (const body of bodies) for (let at = level.start[body]; at < level.start[body + 1]; at++) {
    const name = level.opName(at);
    if (!BARE.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const found = [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => count > 1 ? `${name} ×${count}` : name);
  return visible(found.slice(0, 6).join(', ') + (found.length > 6 ? ', …' : '') || 'moves data');
}

function phaseSign(phase: string): string {
  return { tangent: '∂', transposed: '⊤', rematerialised: '↻' }[phase] ?? '';
}
