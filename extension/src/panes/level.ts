/** A level: its ops as rows with syntax colours, folding, and columns of what they cost. */

import { el } from '../dom';
import { counted, titleOf } from '../format';
import { Linked, Target } from '../links';
import { Level } from '../model';
import { rowPieces, typeColumn } from '../pieces';
import { ALL, around, HEAD, OP, readRows, Rows } from '../rows';
import { Store } from '../store';
import { Costs, Measure } from '../costs';
import { gutter } from './gutter';
import { ListPane } from './list';

export class LevelPane extends ListPane {
  private rows!: Rows;
  private rowOf!: Int32Array;
  private width = 0;
  private measures: Measure[] = [];
  private hits = new Set<number>();

  constructor(store: Store, private readonly level: Level, private readonly costs: Costs, signal: AbortSignal) {
    super(store, level.name, 'tree', signal);
    store.on(state => [state.folded, state.sort, state.phases, state.scope, state.measures], () => this.read(), signal);
    store.on(state => [state.matches], () => this.find(), signal);
    this.find();
    this.read();
  }

  protected get count(): number { return this.rows.kind.length; }

  private read(): void {
    const { folded, phases, scope, sort, measures } = this.store.state;
    const { level } = this;
    const known = this.costs.measures(this.name);
    this.measures = measures.filter(one => known.includes(one));
    const costs = sort && known.includes(sort) ? this.costs.of(this.name, sort) : null;
    this.rows = readRows(level, { ...ALL, folded: folded.get(this.name) ?? new Set(), phases, scope, sort: costs });
    this.rowOf = new Int32Array(level.size).fill(-1);
    this.rows.kind.forEach((kind, row) => { if (kind === OP) this.rowOf[this.rows.item[row]] = row; });
    this.width = typeColumn(level, this.rows);
    const shown = this.rows.kind.reduce((sum, kind) => sum + (kind === OP ? 1 : 0), 0);
    const total = shown === level.size ? counted(level.size, 'op') : `${shown.toLocaleString('en-US')} of ${counted(level.size, 'op')}`;
    this.title.replaceChildren(el('b', titleOf(this.name)), el('span', total));
    this.head(this.measures);
    this.restart();
  }

  private find(): void {
    this.hits = new Set(this.store.state.matches.ops.get(this.name));
    this.recycler.visible().forEach((element, row) => element.classList.toggle('hit', this.isHit(row)));
  }

  protected draw(row: number, element: HTMLElement): void {
    const { rows, level } = this;
    const item = rows.item[row], kind = rows.kind[row];
    const bodies = kind === OP && !this.store.state.sort ? level.bodies(item) : [];
    element.setAttribute('role', 'treeitem');
    element.setAttribute('aria-level', String(rows.depth[row] + 1));
    if (bodies.length) element.setAttribute('aria-expanded', String(!this.isFolded(item)));
    if (kind !== OP) element.classList.add(kind === HEAD ? 'head' : 'foot');
    else if (level.phase(item) !== 'primal') element.classList.add('phase');
    element.append(gutter(this.measures, this.costs, this.name, kind === OP ? item : -1, kind === OP ? phaseSign(level.phase(item)) : ''));
    const code = el('code');
    let sign: HTMLElement | null = bodies.length ? el('span.fold', { 'aria-hidden': 'true' }, this.isFolded(item) ? '▸' : '▾') : null;
    for (const piece of rowPieces(level, rows, row, this.width)) {
      if (piece.kind === 'plain') code.append(piece.text);
      else code.append(el('span', { class: `t-${piece.kind}`, 'data-value': piece.value }, piece.text));
      if (sign) code.append(sign);
      sign = null;
    }
    if (bodies.length) {
      const size = this.isFolded(item) ? el('span.t-note', `  {${bodies.map(body => level.computationName(body).slice(0, 30)).join(', ')}}`) : null;
      if (size) code.append(size);
    }
    element.append(code);
  }

  private isFolded(op: number): boolean { return this.store.state.folded.get(this.name)?.has(op) ?? false; }

  protected targetOf(row: number): Target | null {
    const item = this.rows.item[row], kind = this.rows.kind[row];
    if (kind === OP) return { kind: 'op', level: this.name, op: item };
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

  protected isHit(row: number): boolean { return this.rows?.kind[row] === OP && this.hits.has(this.rows.item[row]); }

  protected fold(row: number, how: 'toggle' | 'open' | 'close'): boolean {
    const op = this.rows.item[row];
    const owns = this.rows.kind[row] === OP && this.level.bodies(op).length > 0;
    const folded = this.isFolded(op);
    if (!owns || (how === 'close' && folded)) {
      // By the left key out of a body, to the op that owns it.
      const up = how !== 'close' ? -1 : this.level.owner[this.rows.kind[row] === OP ? this.level.home[op] : op];
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

  /** Shows an op, unfolding what is around it. */
  show(op: number): void {
    const folded = this.store.state.folded.get(this.name);
    const closed = around(this.level, op).filter(one => folded?.has(one));
    if (closed.length) {
      const next = new Set(folded);
      closed.forEach(one => next.delete(one));
      this.store.set({ folded: new Map(this.store.state.folded).set(this.name, next) });
    }
    if (this.rowOf[op] >= 0) this.move(this.rowOf[op]);
  }
}

function phaseSign(phase: string): string {
  return { tangent: '∂', transposed: '⊤', rematerialised: '↻' }[phase] ?? '';
}
