/** The cell: its lines with Python's colours, what each costs, and, opened, the lines of what they call. */

import { el } from '../dom';
import { counted, visible } from '../format';
import { highlight, Token } from '../highlight';
import { Linked, Target } from '../links';
import { Store } from '../store';
import { Costs, Measure, NAMES } from '../costs';
import { inside, readSource, SourceRow } from '../sourcerows';
import { Tree } from '../tree';
import { Cell, edge } from './gutter';
import { ListPane } from './list';

const LONGEST = 2000;

/** What a row is: its line, or the ops below its node; where these are not there, the line of the cell above it. */
export function targetOf(tree: Tree | undefined, { line, node }: SourceRow): Target | null {
  if (line) return { kind: 'line', line };
  const level = tree!.level;
  if (level) return { kind: 'ops', level: level.name, ops: tree!.ops(node), said: tree!.kind(node) === 'line' ? tree!.code(node) : tree!.called(node) };
  const cell = tree!.lineOf(node);
  return cell ? { kind: 'line', line: cell } : null;
}

export class SourcePane extends ListPane {
  private rows: SourceRow[] = [];
  private rowOf = new Map<number, number>();
  private measures: Measure[] = [];
  private readonly tokens: Token[][];
  private hits = new Set<number>();
  private nodeHits = new Set<number>();
  private readonly found = new Map<number, string>();
  private readonly foundAt = new Map<number, string>();
  private readonly tree: Tree | undefined;

  constructor(store: Store, private readonly costs: Costs, signal: AbortSignal) {
    super(store, 'source', store.state.program.trees.length ? 'tree' : 'listbox', signal);
    const { program } = store.state;
    this.tree = program.trees[0];
    this.tokens = highlight(program.data.source);
    for (const finding of program.data.findings) {
      if (finding.line) this.found.set(finding.line, finding.message);
      const span = program.span(finding.span ?? -1);
      if (!span?.file || !this.tree) continue;
      // Of a function's line, which may be in the tree several times.
      for (let node = 1; node < this.tree.size; node++) {
        if (this.tree.kind(node) === 'line' && this.tree.file(node) === span.file && this.tree.line(node) === span.line) this.foundAt.set(node, finding.message);
      }
    }
    store.on(state => [state.sort, state.measures, state.opened], () => this.read(), signal);
    store.on(state => [state.matches], () => this.find(), signal);
    this.find();
    this.read();
  }

  protected get count(): number { return this.rows.length; }

  private get opened(): Set<number> { return this.store.state.opened.get('source') ?? new Set(); }

  private read(): void {
    const { program, sort, measures } = this.store.state;
    const known = this.costs.measures('source');
    this.measures = measures.filter(one => known.includes(one));
    this.rows = readSource(program, this.tree, this.opened, sort && (row => this.cost(row, sort)));
    this.rowOf = new Map(this.rows.map(({ node }, row) => [node, row]));
    const hottest = sort ? `hottest first, by ${NAMES[sort]}` : counted(program.lines.length, 'line');
    this.title.replaceChildren(el('b', 'source'), el('span', hottest));
    this.head(this.measures, sort);
    this.restart();
  }

  private cost({ line, node }: SourceRow, measure: Measure): number {
    if (this.tree?.data.measures.includes(measure)) return node < 0 ? -1 : this.tree.cost(node, measure);
    return line ? this.costs.of('source', measure)[line - 1] ?? -1 : -1;
  }

  private find(): void {
    this.hits = new Set(this.store.state.matches.lines);
    this.nodeHits = new Set(this.store.state.matches.nodes);
    this.recycler.visible().forEach((element, row) => element.classList.toggle('hit', this.isHit(row)));
  }

  protected draw(row: number, element: HTMLElement): void {
    const { tree, costs } = this;
    const { line, node, depth, call } = this.rows[row];
    const opens = this.opens(row);
    element.setAttribute('role', tree ? 'treeitem' : 'option');
    if (tree) element.setAttribute('aria-level', String(depth + 1));
    if (opens) element.setAttribute('aria-expanded', String(this.opened.has(node)));
    const cells = this.measures.map((measure): Cell => {
      const own = node >= 0 && tree!.cost(node, measure) >= 0;
      return { measure, cost: this.cost(this.rows[row], measure), behind: own ? tree!.behind(node, measure) : 0,
        whole: own ? tree!.cost(0, measure) : costs.most('source', measure), note: own && measure === 'roof' ? costs.bound('source', node) : '' };
    });
    const left = edge(cells, '', line || (node >= 0 ? tree!.lineOf(node) : 0));
    left.append(el('span.number', line ? String(line) : ''));
    const finding = line ? this.found.get(line) : this.foundAt.get(node);
    if (finding) {
      element.classList.add('found');
      element.title = finding.slice(0, 300);
    }
    const code = el('code');
    if (tree) code.append('  '.repeat(depth), el(opens ? 'span.fold' : 'span.gap', { 'aria-hidden': 'true' }, opens ? (this.opened.has(node) ? '▾' : '▸') : ''));
    if (line) this.colour(code, this.tokens[line - 1] ?? []);
    else if (tree!.kind(node) === 'line') {
      code.append(el('span.t-note', tree!.line(node) ? `${tree!.line(node)}  ` : ''));
      this.colour(code, highlight(tree!.code(node))[0] ?? []);
    } else code.append(el('span.t-call', tree!.called(node)));
    if (call >= 0) code.append(el('span.t-call', `   → ${tree!.called(call)}`));
    element.append(left, code);
  }

  private colour(code: HTMLElement, tokens: Token[]): void {
    let length = 0;
    for (const { colour, text } of tokens) {
      if (length > LONGEST) { code.append('…'); break; }
      const piece = visible(text.slice(0, LONGEST)).replace(/\t/g, '    ');
      length += piece.length;
      code.append(colour ? el('span', { class: `py-${colour}` }, piece) : piece);
    }
  }

  private opens(row: number): boolean { return !!this.tree && inside(this.tree, this.rows[row]).length > 0; }

  protected targetOf(row: number): Target | null {
    return targetOf(this.tree, this.rows[row]);
  }

  protected rowsOf(linked: Linked): Map<number, boolean> {
    const found = new Map<number, boolean>();
    const add = (row: number | undefined, exact: boolean) => {
      if (row !== undefined) found.set(row, (found.get(row) ?? false) || exact);
    };
    this.rows.forEach(({ line }, row) => { if (linked.lines.has(line)) add(row, linked.lines.get(line)!); });
    if (linked.target.kind !== 'line') linked.ops.get(this.tree?.data.level ?? '')?.forEach((exact, op) => {
      for (const node of this.tree!.way(op)) if (this.rowOf.has(node)) add(this.rowOf.get(node), exact);
    });
    return found;
  }

  protected isHit(row: number): boolean {
    const { line, node, call } = this.rows[row];
    return line > 0 && this.hits.has(line) || this.nodeHits.has(node) || this.nodeHits.has(call);
  }

  protected fold(row: number, how: 'toggle' | 'open' | 'close'): boolean {
    const { node, depth } = this.rows[row];
    const open = this.opened.has(node);
    if (how === 'close' && !open || !this.opens(row)) {
      if (how !== 'close') return false;
      let up = row;
      while (up >= 0 && this.rows[up].depth >= depth) up--;
      if (up >= 0) this.move(up);
      return up >= 0;
    }
    if (how === 'open' && open) { this.move(row + 1); return true; }
    this.set(node, !open);
    this.move(this.rowOf.get(node) ?? row);
    return true;
  }

  private set(node: number, open: boolean): void {
    const next = new Set(this.opened);
    if (open) next.add(node); else next.delete(node);
    this.store.set({ opened: new Map(this.store.state.opened).set('source', next) });
  }

  /** Shows a line. */
  show(line: number): void {
    const row = this.rows.findIndex(one => one.line === line);
    if (row >= 0) this.move(row);
  }

  /** Shows a node, opening what is above it. */
  showNode(node: number): void {
    const { parent } = this.tree!.data;
    const next = new Set(this.opened);
    for (let at = parent[node]; at > 0; at = parent[at]) next.add(at);
    this.store.set({ opened: new Map(this.store.state.opened).set('source', next) });
    const row = this.rowOf.get(node) ?? this.rows.findIndex(one => one.call === node);
    if (row >= 0) this.move(row);
  }
}
