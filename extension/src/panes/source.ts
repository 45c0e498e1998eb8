/** The cell: its lines with Python's colours, what each costs, and how many ops it became. */

import { el } from '../dom';
import { counted, visible } from '../format';
import { highlight, Token } from '../highlight';
import { Linked, Target } from '../links';
import { Store } from '../store';
import { Costs, Measure, NAMES } from '../costs';
import { gutter } from './gutter';
import { ListPane } from './list';

const LONGEST = 2000;

export class SourcePane extends ListPane {
  private lines: number[] = [];
  private measures: Measure[] = [];
  private readonly tokens: Token[][];
  private hits = new Set<number>();
  private readonly found = new Map<number, string>();

  constructor(store: Store, private readonly costs: Costs, signal: AbortSignal) {
    super(store, 'source', 'listbox', signal);
    const { program } = store.state;
    this.tokens = highlight(program.data.source);
    for (const finding of program.data.findings) if (finding.line) this.found.set(finding.line, finding.message);
    store.on(state => [state.sort, state.measures], () => this.read(), signal);
    store.on(state => [state.matches], () => this.find(), signal);
    this.find();
    this.read();
  }

  protected get count(): number { return this.lines.length; }

  private read(): void {
    const { program, sort, measures } = this.store.state;
    const known = this.costs.measures('source');
    this.measures = measures.filter(one => known.includes(one));
    this.lines = program.lines.map((_, at) => at + 1);
    if (sort) {
      const costs = this.costs.of('source', sort);
      this.lines = this.lines.filter(line => costs[line - 1] > 0).sort((a, b) => costs[b - 1] - costs[a - 1]);
    }
    const hottest = sort ? `hottest first, by ${NAMES[sort]}` : counted(program.lines.length, 'line');
    this.title.replaceChildren(el('b', 'source'), el('span', hottest));
    this.head(this.measures);
    this.restart();
  }

  private find(): void {
    this.hits = new Set(this.store.state.matches.lines);
    this.recycler.visible().forEach((element, row) => element.classList.toggle('hit', this.isHit(row)));
  }

  protected draw(row: number, element: HTMLElement): void {
    const line = this.lines[row];
    element.setAttribute('role', 'option');
    const edge = gutter(this.measures, this.costs, 'source', line - 1, '');
    edge.append(el('span.number', String(line)));
    if (this.found.has(line)) {
      element.classList.add('found');
      element.title = this.found.get(line)!.slice(0, 300);
    }
    const code = el('code');
    let length = 0;
    for (const { colour, text } of this.tokens[line - 1] ?? []) {
      if (length > LONGEST) { code.append('…'); break; }
      const piece = visible(text.slice(0, LONGEST)).replace(/\t/g, '    ');
      length += piece.length;
      code.append(colour ? el('span', { class: `py-${colour}` }, piece) : piece);
    }
    element.append(edge, code);
  }

  protected targetOf(row: number): Target | null { return { kind: 'line', line: this.lines[row] }; }

  protected rowsOf(linked: Linked): Map<number, boolean> {
    const found = new Map<number, boolean>();
    for (const [line, exact] of linked.lines) {
      const row = this.lines.indexOf(line);
      if (row >= 0) found.set(row, exact);
    }
    return found;
  }

  protected isHit(row: number): boolean { return this.hits.has(this.lines[row]); }
  protected fold(): boolean { return false; }

  /** Shows a line. */
  show(line: number): void {
    const row = this.lines.indexOf(line);
    if (row >= 0) this.move(row);
  }
}
