/** A pane of rows: pointing, choosing, walking by keys, and the marks of what is linked. Levels and the source are such. */

import { el, fill, freshId } from '../dom';
import { Linked, Target } from '../links';
import { Measure } from '../costs';
import { Recycler } from '../recycler';
import { counterparts } from '../say';
import { Store } from '../store';
import { columnHeads } from './gutter';

export abstract class ListPane {
  readonly element: HTMLElement;
  readonly title = el('div.title');
  private readonly heads = el('div.heads', { role: 'group', 'aria-label': 'sort by' });
  protected readonly scroller: HTMLElement;
  protected readonly recycler: Recycler;
  private readonly id = freshId();
  private cursor = -1;
  private over = '';
  private marks = new Map<number, boolean>();
  private pinned = new Map<number, boolean>();

  constructor(protected readonly store: Store, readonly name: string, role: string, protected readonly signal: AbortSignal) {
    this.scroller = el('div.list', { role, tabindex: 0, 'aria-label': name });
    this.element = el('section', { class: `pane ${name === 'source' ? 'source' : 'level'}`, 'data-pane': name }, this.title, this.heads, this.scroller);
    this.recycler = new Recycler(this.scroller, (row, element) => this.drawRow(row, element), signal);
    const on = (type: string, call: (event: any) => void) => this.scroller.addEventListener(type, call, { signal });
    on('pointerover', (event: PointerEvent) => this.point(event));
    on('pointerleave', () => { this.over = ''; this.store.point(null); });
    on('click', (event: MouseEvent) => this.click(event));
    on('keydown', (event: KeyboardEvent) => this.key(event));
    on('focus', () => { if (this.cursor < 0 && this.count) this.move(0); });
    store.on(state => [state.hot], () => this.mark(), signal);
    store.on(state => [state.pin], () => this.markPinned(), signal);
  }

  /** How many rows there are. */
  protected abstract get count(): number;
  /** How many rows it wants to show. */
  get tall(): number { return this.count; }
  /** Fills a row. */
  protected abstract draw(row: number, element: HTMLElement): void;
  /** What a row is. */
  protected abstract targetOf(row: number): Target | null;
  /** The rows of what is linked, each with whether that is exact. */
  protected abstract rowsOf(linked: Linked): Map<number, boolean>;
  /** Whether a search found the row. */
  protected abstract isHit(row: number): boolean;
  /** Folds or unfolds a row, or by a key goes to the row around it; true if that was something to do. */
  protected abstract fold(row: number, how: 'toggle' | 'open' | 'close'): boolean;

  /** The heads of the columns, by which rows are sorted. */
  protected head(measures: Measure[], sort: Measure | null): void {
    fill(this.heads, ...columnHeads(this.store, measures, this.name, sort));
    this.heads.hidden = !measures.length;
  }

  /** Begins anew with as many rows as there are now. */
  protected restart(): void {
    if (this.cursor >= this.count) this.cursor = -1;
    this.marks.clear();
    this.pinned = this.store.state.pin ? this.rowsOf(this.store.state.pin) : new Map();
    this.recycler.reset(this.count);
  }

  /** Puts the cursor on a row and shows it. */
  move(row: number, focus = false): void {
    const before = this.cursor;
    this.cursor = Math.max(0, Math.min(this.count - 1, row));
    this.recycler.reveal(this.cursor);
    for (const one of [before, this.cursor]) this.recycler.visible().get(one)?.classList.toggle('cursor', one === this.cursor);
    this.scroller.setAttribute('aria-activedescendant', `${this.id}-${this.cursor}`);
    if (focus) this.scroller.focus({ preventScroll: true });
    this.store.point(this.targetOf(this.cursor));
    const { hot } = this.store.state;
    if (hot) this.recycler.visible().get(this.cursor)?.setAttribute('aria-description', counterparts(hot).join(', '));
  }

  private drawRow(row: number, element: HTMLElement): void {
    element.id = `${this.id}-${row}`;
    element.setAttribute('aria-posinset', String(row + 1));
    element.setAttribute('aria-setsize', String(this.count));
    this.draw(row, element);
    element.classList.toggle('cursor', row === this.cursor);
    element.classList.toggle('hit', this.isHit(row));
    this.dress(row, element);
  }

  /** Exact links have a solid bar, inferred ones a dashed bar and a sign. */
  private dress(row: number, element: HTMLElement): void {
    const hot = this.marks.get(row), pin = this.pinned.get(row);
    const sure = hot ?? pin;
    element.classList.toggle('hot', hot !== undefined);
    element.classList.toggle('pin', pin !== undefined);
    element.classList.toggle('inferred', sure === false);
    element.setAttribute('aria-selected', String(pin !== undefined));
    const linked = this.store.state.hot ?? this.store.state.pin;
    const value = linked?.value?.level === this.name ? String(linked.value.value) : null;
    element.querySelectorAll<HTMLElement>('[data-value]').forEach(one => one.classList.toggle('same', one.dataset.value === value));
  }

  private mark(): void {
    const { hot } = this.store.state;
    this.marks = hot ? this.rowsOf(hot) : new Map();
    this.recycler.visible().forEach((element, row) => this.dress(row, element));
  }

  private markPinned(): void {
    const { pin } = this.store.state;
    this.pinned = pin ? this.rowsOf(pin) : new Map();
    const own = pin && pin.target.kind === 'line' ? this.name === 'source' : pin && pin.target.kind !== 'line' && pin.target.level === this.name;
    if (this.pinned.size && !own) this.recycler.reveal(Math.min(...this.pinned.keys()));
    this.recycler.visible().forEach((element, row) => this.dress(row, element));
  }

  private at(event: Event): { row: number; value: number } | null {
    const hit = event.target as HTMLElement;
    const row = hit.closest?.<HTMLElement>('.row')?.dataset.row;
    const value = hit.closest?.<HTMLElement>('[data-value]')?.dataset.value;
    return row === undefined ? null : { row: Number(row), value: value === undefined ? -1 : Number(value) };
  }

  private target(at: { row: number; value: number }): Target | null {
    return at.value >= 0 ? { kind: 'value', level: this.name, value: at.value } : this.targetOf(at.row);
  }

  private point(event: PointerEvent): void {
    const at = this.at(event);
    const key = at ? `${at.row} ${at.value}` : '';
    if (key === this.over) return;
    this.over = key;
    this.store.point(at && this.target(at));
  }

  private click(event: MouseEvent): void {
    const at = this.at(event);
    if (!at || String(getSelection() ?? '').length > 1) return;
    if ((event.target as Element).closest('.fold')) return void this.fold(at.row, 'toggle');
    this.move(at.row);
    this.store.choose(this.target(at));
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const by: Record<string, () => void> = {
      ArrowDown: () => this.move(this.cursor + 1),
      ArrowUp: () => this.move(this.cursor - 1),
      PageDown: () => this.move(this.cursor + this.recycler.page),
      PageUp: () => this.move(this.cursor - this.recycler.page),
      Home: () => this.move(0),
      End: () => this.move(this.count - 1),
      ArrowRight: () => void this.fold(this.cursor, 'open'),
      ArrowLeft: () => void this.fold(this.cursor, 'close'),
      ' ': () => void this.fold(this.cursor, 'toggle'),
      Enter: () => this.store.choose(this.targetOf(this.cursor))
    };
    if (!by[event.key]) return;
    event.preventDefault();
    by[event.key]();
  }
}
