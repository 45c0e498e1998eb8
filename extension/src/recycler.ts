/** A list of any length as a few elements: rows of one height, of which only those in sight exist. */

import { el } from './dom';

export const ROW = 20;
const SPARE = 6;
// Browsers lay out nothing beyond some 17 million pixels.
const TALLEST = 16_000_000;
const MOST_PRINTED = 1000;

export class Recycler {
  readonly canvas = el('div.canvas', { role: 'presentation' });
  private rows = new Map<number, HTMLElement>();
  private pool: HTMLElement[] = [];
  private count = 0;
  private widest = 0;
  private waiting = 0;

  /**
   * @param scroller the element that scrolls; it gets the canvas.
   * @param draw fills an emptied element for a row.
   */
  constructor(readonly scroller: HTMLElement, private readonly draw: (row: number, element: HTMLElement) => void, signal: AbortSignal) {
    scroller.append(this.canvas);
    scroller.addEventListener('scroll', () => {
      this.waiting ||= requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
    }, { signal, passive: true });
    const observer = new ResizeObserver(() => this.paint());
    observer.observe(scroller);
    // On paper there is no scrolling.
    addEventListener('beforeprint', () => this.paint(MOST_PRINTED), { signal });
    addEventListener('afterprint', () => this.paint(), { signal });
    signal.addEventListener('abort', () => { observer.disconnect(); cancelAnimationFrame(this.waiting); });
  }

  /** Another list: everything is drawn again. */
  reset(count: number): void {
    this.count = count;
    for (const element of this.rows.values()) this.free(element);
    this.rows.clear();
    this.paint();
  }

  /** The rows in sight. */
  visible(): ReadonlyMap<number, HTMLElement> { return this.rows; }

  /** Scrolls so that a row is in sight, in the middle if it was far away. */
  reveal(row: number): void {
    const { scroller } = this;
    const top = row * ROW;
    if (top < scroller.scrollTop) scroller.scrollTop = top < scroller.scrollTop - 3 * ROW ? top - scroller.clientHeight / 2 + ROW : top;
    else if (top + ROW > scroller.scrollTop + this.room) {
      const far = top > scroller.scrollTop + this.room + 3 * ROW;
      scroller.scrollTop = far ? top - this.room / 2 : top + ROW - this.room;
    }
    this.paint();
  }

  /** Rows that fit. */
  get page(): number { return Math.max(1, Math.floor(this.room / ROW) - 1); }

  private get room(): number { return this.scroller.clientHeight; }

  /** Draws the rows in sight, or the first ones of a page that is printed. */
  private paint(printed = 0): void {
    const first = printed ? 0 : Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - SPARE);
    const last = Math.min(this.count, printed || Math.ceil((this.scroller.scrollTop + (this.room || 25 * ROW)) / ROW) + SPARE);
    this.canvas.style.height = `${Math.min(printed ? last : this.count, TALLEST / ROW) * ROW}px`;
    for (const [row, element] of this.rows) {
      if (row >= first && row < last) continue;
      this.rows.delete(row);
      this.free(element);
    }
    for (let row = first; row < last; row++) {
      if (this.rows.has(row)) continue;
      const element = this.pool.pop() ?? el('div');
      this.rows.set(row, element);
      this.fill(row, element);
      element.style.transform = `translateY(${row * ROW}px)`;
      if (!element.isConnected) this.canvas.append(element);
    }
  }

  private fill(row: number, element: HTMLElement): void {
    element.replaceChildren();
    for (const name of element.getAttributeNames()) if (name !== 'style') element.removeAttribute(name);
    element.className = 'row';
    element.dataset.row = String(row);
    this.draw(row, element);
    // All rows are as wide as the widest one seen, so that their edges stay in sight.
    const letters = element.textContent!.length;
    if (letters > this.widest) this.canvas.style.minWidth = `max(100%, calc(${(this.widest = letters)}ch + 4em))`;
  }

  private free(element: HTMLElement): void {
    element.remove();
    if (this.pool.length < 200) this.pool.push(element);
  }
}
