/** Live bytes over the program, the peak, and who holds it. */

import { button, Child, el, fill, svg, table } from '../dom';
import { counted, formatBytes, visible } from '../format';
import { livingAt, readMemory, Series } from '../memory';
import { Store } from '../store';

const WIDE = 1000, TALL = 150, MOST = 30;

/** `line 1, nnx.Linear.__call__ blocks[0].up`. */
function place(line: number, within?: string): string {
  return [line > 0 ? `line ${line}` : '', visible((within ?? '').slice(0, 120))].filter(Boolean).join(', ');
}

export class MemoryPane {
  readonly element = el('div.memory');

  constructor(private readonly store: Store) {
    const found = readMemory(store.state.program);
    if (!found.length) this.element.append(el('p.note', 'No sizes are known for this program.'));
    for (const [piece, series] of found.entries()) this.element.append(this.one(series, found.length > 1 ? `piece ${piece + 1}: ` : ''));
  }

  private one(series: Series, name: string): HTMLElement {
    const { live, peak, level } = series;
    const count = live.length;
    const step = WIDE / count;
    const high = (nbytes: number) => TALL - (nbytes / (peak || 1)) * (TALL - 8);
    let path = `M0 ${TALL}`;
    let before = NaN;
    live.forEach((nbytes, at) => {
      if (nbytes !== before) path += `L${(at * step).toFixed(2)} ${high(before >= 0 ? before : nbytes).toFixed(1)}L${(at * step).toFixed(2)} ${high(nbytes).toFixed(1)}`;
      before = nbytes;
    });
    path += `L${WIDE} ${high(live[count - 1]).toFixed(1)}L${WIDE} ${TALL}Z`;
    const cursor = svg('path.here');
    const chart = svg('svg.chart', { viewBox: `0 0 ${WIDE} ${TALL}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      svg('path.area', { d: path }), cursor);
    const slider = el('input', { type: 'range', min: 0, max: count - 1, value: series.at, 'aria-label': 'position in the program' });
    const list = el('div.holders');
    const where = el('p.where');
    const show = (at: number) => {
      slider.value = String(at);
      slider.setAttribute('aria-valuetext', `op ${at + 1} of ${count}, ${formatBytes(live[at])}`);
      cursor.setAttribute('d', `M${((at + 0.5) * step).toFixed(2)} 0V${TALL}`);
      const op = level.start[series.computation] + at;
      const what = op < level.size ? level.opName(op) : '';
      where.textContent = `At op ${at + 1} of ${count}, ${visible(what.slice(0, 60))}${op < level.size && level.line(op) ? `, line ${level.line(op)}` : ''}: ${formatBytes(live[at])}${at === series.at ? ', the peak' : ''}`;
      fill(list, this.holders(series, at));
    };
    slider.addEventListener('input', () => show(Number(slider.value)));
    chart.addEventListener('click', event => {
      const frame = chart.getBoundingClientRect();
      show(Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - frame.left) / frame.width) * count))));
    });
    show(series.at);
    const source = series.source === 'buffers' ? "from the compiled program's buffers" : `by liveness over the ${level.name}`;
    return el('section', {},
      el('p', el('b', `${name}peak ${formatBytes(peak)}`), ` · ${series.reserved ? `${formatBytes(series.reserved)} set aside · ` : ''}${counted(count, 'op')} · ${source}`, el('span.note', visible(` ${series.note ?? ''}`))),
      el('div.plot', chart, slider), where, list, this.residuals(series));
  }

  private holders(series: Series, at: number): HTMLElement {
    const living = livingAt(series, at);
    const most = living[0]?.nbytes ?? 1;
    const rows = living.slice(0, MOST).map((one): Child[] => {
      const bar = el('span.share');
      bar.style.setProperty('--share', `${(one.nbytes / most) * 100}%`);
      const { op, line } = one;
      const name = visible(one.name.slice(0, 80));
      const go = () => this.store.choose(op >= 0 ? { kind: 'op', level: series.level.name, op } : { kind: 'line', line });
      return [op >= 0 || line > 0 ? button(name, go, { class: 'link' }) : el('code', name), one.kind, formatBytes(one.nbytes), el('td.wide', bar), place(line, one.within)];
    });
    if (living.length > MOST) rows.push([`… ${living.length - MOST} smaller ones`]);
    return table(['held', 'as', 'bytes', '', 'made on'], rows, [2]);
  }

  private residuals(series: Series): HTMLElement | null {
    if (!series.saved.length) return null;
    const sum = series.saved.reduce((total, one) => total + one.nbytes, 0);
    const rows = [...series.saved].sort((a, b) => b.nbytes - a.nbytes).slice(0, MOST).map((one): Child[] => [
      el('code', visible(one.name.slice(0, 80))), formatBytes(one.nbytes),
      place(one.line, one.within), one.readLine > 0 ? `read on line ${one.readLine}` : '']);
    return el('div', el('p', el('b', `saved for the backward pass: ${formatBytes(sum)}`)), table(['saved', 'bytes', 'made', 'read'], rows, [1]));
  }
}
