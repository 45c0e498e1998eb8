/** A drawing to pan and zoom: what every graph stands on. */

import { button, svg } from '../dom';

const NEAR = 1.25;

export class Canvas {
  readonly element: SVGSVGElement;
  private box = { x: 0, y: 0, width: 100, height: 100 };
  private size = { x: 0, y: 0, width: 0, height: 0 };

  /** @param tallest how high it may be, in pixels. */
  constructor(label: string, signal: AbortSignal, private readonly tallest: number = 620) {
    this.element = svg('svg.drawing', { tabindex: 0, role: 'application', 'aria-label': `${label}: arrows go from op to op, enter opens, plus and minus zoom` });
    this.element.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY / 300), event);
    }, { signal, passive: false });
    this.drag(signal);
    // How large it is to be is known only once it is part of the page.
    const observer = new ResizeObserver(() => this.fit());
    observer.observe(this.element);
    signal.addEventListener('abort', () => observer.disconnect());
  }

  /** What there is to be seen. */
  resize(width: number, height: number, x = 0): void {
    this.size = { x, y: 0, width, height };
    this.fit();
  }

  private show(): void {
    const { x, y, width, height } = this.box;
    this.element.setAttribute('viewBox', `${x} ${y} ${width} ${height}`);
    this.element.classList.toggle('near', this.element.clientWidth / width > NEAR);
  }

  fit(): void {
    const width = this.size.width + 40, height = this.size.height + 40;
    // As high as the drawing is at this width, within reason.
    const wide = this.element.clientWidth || 800, tall = Math.max(160, Math.min(height * Math.min(wide / width, 1), this.tallest));
    this.element.style.height = `${tall}px`;
    // Never larger than life, and where all would be too small to read, the top of it.
    const scale = Math.max(Math.min(wide / width, tall / height, 1), 0.35);
    this.box = { width: wide / scale, height: tall / scale, x: this.size.x + width / 2 - 20 - wide / scale / 2, y: -20 };
    if (height < this.box.height) this.box.y -= (this.box.height - height) / 2;
    this.show();
  }

  /** Shows a place in the middle. */
  centre(x: number, y: number): void {
    this.box.x = x - this.box.width / 2;
    this.box.y = y - this.box.height / 2;
    this.show();
  }

  zoom(factor: number, at?: WheelEvent): void {
    const frame = this.element.getBoundingClientRect();
    const fx = at && frame.width ? (at.clientX - frame.left) / frame.width : 0.5, fy = at && frame.height ? (at.clientY - frame.top) / frame.height : 0.5;
    const { box } = this;
    const scale = Math.min(Math.max(factor, 40 / box.width), 40_000 / box.width);
    box.x += box.width * fx * (1 - scale);
    box.y += box.height * fy * (1 - scale);
    box.width *= scale;
    box.height *= scale;
    this.show();
  }

  private drag(signal: AbortSignal): void {
    let from: { x: number; y: number } | null = null;
    const { element } = this;
    const scale = () => this.box.width / (element.clientWidth || 1);
    element.addEventListener('pointerdown', event => { if (event.button === 0) from = { x: event.clientX, y: event.clientY }; }, { signal });
    element.addEventListener('pointermove', event => {
      if (!from) return;
      if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > 3 && !element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
      this.box.x -= (event.clientX - from.x) * scale();
      this.box.y -= (event.clientY - from.y) * scale();
      from = { x: event.clientX, y: event.clientY };
      this.show();
    }, { signal });
    for (const type of ['pointerup', 'pointercancel', 'lostpointercapture'] as const) element.addEventListener(type, () => { from = null; }, { signal });
  }

  /** The zoom keys; whether it was one of them. */
  key(event: KeyboardEvent): boolean {
    if (event.key === '+' || event.key === '=') this.zoom(1 / 1.3);
    else if (event.key === '-') this.zoom(1.3);
    else if (event.key === '0') this.fit();
    else return false;
    return true;
  }

  /** The drawing as a file of its own. */
  file(): string {
    const copy = this.element.cloneNode(true) as SVGSVGElement;
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    copy.setAttribute('viewBox', `${this.size.x - 20} -20 ${this.size.width + 40} ${this.size.height + 40}`);
    copy.prepend(svg('style', 'path{fill:none;stroke:#8b949e}rect{fill:#fff;stroke:#57606a}text{font:11px monospace;text-anchor:middle;fill:#1f2328}.type{fill:#57606a;font-size:10px}.label{font-weight:600}.edges text{display:none}.frames rect{fill:none}.bar{fill:#e5604d;stroke:none}'));
    return new XMLSerializer().serializeToString(copy);
  }
}

/** The buttons that zoom. */
export function zoomers(canvas: Canvas): HTMLElement[] {
  return [button('−', () => canvas.zoom(1.3), { 'aria-label': 'zoom out' }), button('+', () => canvas.zoom(1 / 1.3), { 'aria-label': 'zoom in' }), button('fit', () => canvas.fit())];
}
