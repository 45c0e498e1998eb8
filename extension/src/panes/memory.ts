/** Live bytes over the program by who holds them, the peak, and where the backward pass begins. */

import { button, Child, el, fill, svg, table } from '../dom';
import { counted, formatBytes, visible } from '../format';
import { Held, livingAt, readMemory, Series } from '../memory';
import { Curve } from '../schema';
import { Store } from '../store';

const WIDE = 1000, TALL = 150, MOST = 30;
const HUES: Record<string, [number, number]> = { input: [212, 62], output: [150, 42], residual: [28, 70], temporary: [0, 0] };

/** `line 1, nnx.Linear.__call__ blocks[0].up`. */
function place(line: number, within?: string): string {
  return [line > 0 ? `line ${line}` : '', visible((within ?? '').slice(0, 120))].filter(Boolean).join(', ');
}

/** The colour of a layer: one hue a kind, in steps. */
function colourOf(kind: string, at: number): string {
  const [hue, strong] = HUES[kind] ?? HUES.temporary;
  return `hsl(${hue + (at % 6) * (strong ? 5 : 0)} ${strong}% ${48 + (at % 6) * 7}%)`;
}

interface Layer { label: string; kind: string; nbytes: number[]; colour: string }

/** What is drawn of a piece: the layers that were told, or all that lives as one. */
interface Chart { live: number[]; positions: number[]; count: number; peak: number; at: number; layers: Layer[]; turn: number; source: string; level: string }

export class MemoryPane {
  readonly element = el('div.memory');

  constructor(private readonly store: Store) {
    const { program } = store.state;
    const { curves = [] } = program.data;
    const found = readMemory(program);
    const seriesOf = (curve: Curve) => found.find(one => one.level.name === curve.level && one.computation === curve.computation && (one.source === 'buffers') === (curve.source === 'buffers'));
    // Where nothing is known of who holds it there is one area.
    const pieces: [Chart, Series | undefined, Curve | null][] = curves.length ? curves.map(one => [chartOf(one), seriesOf(one), one]) : found.map(one => [plainChart(one), one, null]);
    if (!pieces.length) this.element.append(el('p.note', 'No sizes are known for this program.'));
    pieces.forEach(([chart, series, curve], piece) => this.element.append(this.one(chart, series, curve, pieces.length > 1 ? `piece ${piece + 1}: ` : '')));
  }

  private one(chart: Chart, series: Series | undefined, curve: Curve | null, name: string): HTMLElement {
    const { count, peak, layers, positions } = chart;
    const x = (at: number) => (at / positions.length) * WIDE;
    const high = (nbytes: number) => TALL - (nbytes / (peak || 1)) * (TALL - 8);
    const below = positions.map(() => 0);
    const areas = layers.map(({ nbytes, colour, label }) => {
      let up = '', down = '';
      nbytes.forEach((one, at) => {
        const end = x(at + 1);
        down = `L${end.toFixed(1)} ${high(below[at]).toFixed(1)}L${x(at).toFixed(1)} ${high(below[at]).toFixed(1)}${down}`;
        below[at] += one;
        up += `L${x(at).toFixed(1)} ${high(below[at]).toFixed(1)}L${end.toFixed(1)} ${high(below[at]).toFixed(1)}`;
      });
      return svg('path.layer', { d: `M${up.slice(1)}${down}Z`, fill: colour }, svg('title', visible(label)));
    });
    const cursor = svg('path.here');
    const turn = chart.turn > 0 ? svg('path.turn', { d: `M${((chart.turn / count) * WIDE).toFixed(1)} 0V${TALL}` }) : null;
    const drawing = svg('svg.chart', { viewBox: `0 0 ${WIDE} ${TALL}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, ...areas, turn, cursor);
    const axis = el('div.axis', el('span', formatBytes(peak)), el('span', formatBytes(Math.round(peak / 2))), el('span', '0'));
    const slider = el('input', { type: 'range', min: 0, max: Math.max(0, count - 1), value: chart.at, 'aria-label': 'position in the program' });
    const list = el('div.holders');
    const where = el('p.where');
    const show = (at: number) => {
      slider.value = String(at);
      const near = positions.reduce((best, one, index) => Math.abs(one - at) < Math.abs(positions[best] - at) ? index : best, 0);
      const nbytes = series?.live[at] ?? chart.live[near];
      slider.setAttribute('aria-valuetext', `op ${at + 1} of ${count}, ${formatBytes(nbytes)}`);
      cursor.setAttribute('d', `M${(((at + 0.5) / count) * WIDE).toFixed(2)} 0V${TALL}`);
      const op = series ? series.level.start[series.computation] + at : -1;
      const what = series && op < series.level.size ? `, ${visible(series.level.opName(op).slice(0, 60))}${series.level.line(op) ? `, line ${series.level.line(op)}` : ''}` : '';
      where.textContent = `At op ${at + 1} of ${count}${what}: ${formatBytes(nbytes)}${at === chart.at ? ', the peak' : ''}`;
      if (series && (at !== chart.at || !curve)) fill(list, this.holders(series, at));
      else if (curve) fill(list, at === chart.at ? rowsOf(curve) : this.layersAt(chart, near));
    };
    slider.addEventListener('input', () => show(Number(slider.value)));
    drawing.addEventListener('click', event => {
      const frame = drawing.getBoundingClientRect();
      show(Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - frame.left) / frame.width) * count))));
    });
    show(chart.at);
    const source = chart.source === 'buffers' ? "from the compiled program's buffers" : `by liveness over the ${chart.level}`;
    const legend = curve ? el('p.legend', ...layers.map(({ label, colour }) => {
      const mark = el('span.mark');
      mark.style.background = colour;
      return el('span', mark, visible(label.slice(0, 80)));
    }), chart.turn > 0 ? el('span.note', '┊ backward begins') : null) : null;
    const reserved = series?.reserved ?? curve?.reserved;
    return el('section', {},
      el('p', el('b', `${name}peak ${formatBytes(reserved ?? peak)}`), ` · ${reserved ? `${formatBytes(peak)} of it alive at most · ` : ''}${counted(count, 'op')} · ${source}`, el('span.note', visible(` ${series?.note ?? ''}`))),
      el('div.plot', axis, drawing, slider), legend, where, list, series ? this.residuals(series) : null);
  }

  /** What the layers come to where the values themselves are not there. */
  private layersAt(chart: Chart, near: number): HTMLElement {
    const rows = chart.layers.filter(one => one.nbytes[near] > 0).map((one): Child[] => [visible(one.label), one.kind, formatBytes(one.nbytes[near]), share(one.nbytes[near] / (chart.live[near] || 1))]);
    return table(['held', 'as', 'bytes', ''], rows.reverse(), [2]);
  }

  private holders(series: Series, at: number): HTMLElement {
    const living = livingAt(series, at);
    const most = living[0]?.nbytes ?? 1;
    const rows = living.slice(0, MOST).map((one): Child[] =>
      [this.named(series, one), one.kind, formatBytes(one.nbytes), share(one.nbytes / most), place(one.line, one.within)]);
    if (living.length > MOST) rows.push([`… ${living.length - MOST} smaller ones`]);
    return table(['held', 'as', 'bytes', '', 'made on'], rows, [2]);
  }

  private named(series: Series, { op, line, name: full }: Held): Child {
    const name = visible(full.slice(0, 80));
    const go = () => this.store.choose(op >= 0 ? { kind: 'op', level: series.level.name, op } : { kind: 'line', line });
    return op >= 0 || line > 0 ? button(name, go, { class: 'link' }) : el('code', name);
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

/** A bar in a cell of its own. */
function share(part: number): HTMLElement {
  const bar = el('span.share');
  bar.style.setProperty('--share', `${part * 100}%`);
  return el('td.wide', bar);
}

/** Who lives at the peak, values of one origin together: `8 × jax.nn.gelu, line 26 of Block.__call__`. */
function rowsOf({ rows, peak }: Curve): HTMLElement {
  const { name, kind, nbytes, count, line, within, saves } = rows;
  const most = Math.max(1, ...nbytes);
  return table(['held', 'as', 'bytes', '', 'made on'], name.map((one, at): Child[] => [
    el('code', visible(count[at] > 1 ? `${count[at]} × ${one}` : one).slice(0, 80)), kind[at], `${formatBytes(nbytes[at])}  ${Math.round((nbytes[at] / (peak || 1)) * 100)} %`,
    share(nbytes[at] / most), el('td', place(line[at], within[at]), saves?.[at] ? el('span.note', ` · jax.checkpoint around ${visible(within[at].split(/[ ,]/, 1)[0].slice(0, 80))} would save ${formatBytes(saves[at])}`) : null)]), [2]);
}

function chartOf({ positions, count, peak, at, layers, turn, source, level, unit }: Curve): Chart {
  const nbytes = layers.units.map(row => row.map(one => one * unit));
  const seen: Record<string, number> = {};
  return { positions, count, peak, at, turn, source, level, live: positions.map((_, place) => nbytes.reduce((sum, one) => sum + one[place], 0)),
    layers: layers.label.map((label, layer): Layer => {
      const kind = layers.kind[layer];
      seen[kind] = (seen[kind] ?? -1) + 1;
      return { label, kind, nbytes: nbytes[layer], colour: colourOf(kind, seen[kind]) };
    }) };
}

function plainChart({ live, peak, at, source, level }: Series): Chart {
  const positions = live.map((_, place) => place);
  return { live, positions, count: live.length, peak, at, turn: -1, source, level: level.name, layers: [{ label: 'live', kind: 'input', nbytes: live, colour: 'color-mix(in srgb, var(--accent) 30%, transparent)' }] };
}
