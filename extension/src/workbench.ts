/** What opens under the line: tabs, search, options, the panes of the chosen tab, and the strip of details. */

import { button, choice, el, fill, freshId, oneStop, toggle } from './dom';
import { Costs, MEASURES, NAMES, TELLS } from './costs';
import { PHASES, titleOf, wordsOf } from './format';
import { Linked } from './links';
import { Program } from './model';
import type { Host } from './mount';
import { parts } from './parts';
import { mainOf } from './groups';
import { foldedOf, openedOf, readFilters } from './rows';
import { search } from './search';
import { Store, Tab } from './store';
import { AreasPane } from './panes/areas';
import { ComparePane } from './panes/compare';
import { Details } from './panes/details';
import { exits } from './panes/exits';
import { findingElement } from './panes/findings';
import { GraphPane } from './panes/graph';
import { LevelPane } from './panes/level';
import { MemoryPane } from './panes/memory';
import { hasModules, ModulesPane } from './panes/modules';
import { SourcePane } from './panes/source';
import { ROW } from './recycler';

const NARROW = 640;
const LEVELS = ['source', 'jaxpr', 'stablehlo', 'hlo'];
const MOST_ROWS = 25, FEWER_ROWS = 14;
const NODES = 'nodes';  // of the tree, which the source pane shows

export class Workbench {
  private readonly tabs = el('div.tabs', { role: 'tablist', 'aria-label': 'views' });
  private readonly tools = el('div.tools');
  private readonly options = el('div.options');
  private readonly levels = el('div.levels');
  private readonly view: HTMLElement;
  private readonly field = el('input', { type: 'search', placeholder: 'search   /', 'aria-label': 'search all levels', spellcheck: 'false', 'data-lm-suppress-shortcuts': 'true' });
  private readonly tally = el('span.tally', { role: 'status' });
  private readonly message = el('p.message', { role: 'status' });
  private readonly peeked = el('div.peeked');
  private costs: Costs;
  private panes: (SourcePane | LevelPane)[] = [];
  private inner = new AbortController();
  private graph: GraphPane | ModulesPane | null = null;
  private at = -1;
  private asked = false;
  private askedMemory = false;
  private alone = 1;
  /** How the panes share the width, by their names, once somebody moved a divider. */
  private readonly parts = new Map<string, number>();
  private wide = true;

  constructor(private readonly store: Store, body: HTMLElement, private readonly host: Host, signal: AbortSignal, private readonly go: (line: number) => void) {
    const id = freshId();
    this.view = el('div.view', { role: 'tabpanel', id, tabindex: -1 });
    this.costs = new Costs(store.state.program);
    body.append(el('div.bar', this.tabs, el('span.space'), this.field, this.tally, this.tools), this.options, this.levels, this.message, this.view, this.peeked);
    this.options.hidden = true;
    this.message.hidden = this.peeked.hidden = true;
    this.field.addEventListener('input', () => this.search(), { signal });
    this.field.addEventListener('keydown', event => this.searchKey(event), { signal });
    body.addEventListener('keydown', event => {
      if (event.key !== '/' || event.target === this.field || (event.target as Element).closest('input, select, textarea')) return;
      event.preventDefault();
      this.field.focus();
    }, { signal });
    store.on(state => [state.tab], () => this.draw(), signal);
    store.on(state => [state.shown], () => this.draw(), signal);
    store.on(state => [state.graph], () => { if (store.state.tab === 'graph') this.draw(); }, signal);
    store.on(state => [state.program], () => { this.costs = new Costs(store.state.program); this.draw(); }, signal);
    store.on(state => [state.measures, state.sort, state.phases, state.scope, state.promoted], () => { this.drawLevels(); this.drawOptions(); this.divide(); }, signal);
    const size = new ResizeObserver(() => {
      const wide = body.clientWidth >= NARROW || body.clientWidth === 0;
      if (wide !== this.wide) { this.wide = wide; this.draw(); }
    });
    size.observe(body);
    signal.addEventListener('abort', () => { size.disconnect(); this.inner.abort(); });
    this.wide = body.clientWidth >= NARROW || body.clientWidth === 0;
    this.draw();
    // A long program is saved without its levels: the first one is asked for at once.
    const first = this.host.levels?.[0];
    if (first && !store.state.program.lower.length) void this.toggle(first, true);
  }

  private draw(): void {
    this.inner.abort();
    this.inner = new AbortController();
    this.graph = null;
    this.panes = [];
    this.drawTabs();
    this.drawOptions();
    this.view.dataset.shows = this.store.state.tab;
    try {
      this.drawView();
    } catch (error) {
      // What stood here before would pass for what was asked for.
      console.error(error);
      this.fillView(el('p.message', `This view cannot be drawn: ${wordsOf(error)}`));
    }
  }

  private drawView(): void {
    const { tab, program, previous } = this.store.state;
    const code = tab === 'code' || tab === 'mesh';
    this.levels.hidden = !code;
    if (code) this.code(tab === 'mesh');
    else if (tab === 'costs') this.fillView(new AreasPane(this.store, this.costs, this.inner.signal).element, this.details());
    else if (tab === 'graph') {
      const { level, computation, each } = this.store.state.graph;
      const shown = program.level(level) ?? program.lower[0];
      this.graph = !each && hasModules(shown, computation) ? new ModulesPane(this.store, shown, computation, this.costs, this.inner.signal) : new GraphPane(this.store, this.inner.signal);
      this.fillView(this.graph.element, this.details());
    } else if (tab === 'memory') {
      this.fillView(new MemoryPane(this.store).element, this.details());
      // The buffers of what was compiled say more than the order of the jaxpr.
      if (!program.data.memory && !this.askedMemory && this.host.levels?.includes('hlo')) {
        this.askedMemory = true;
        void this.ask('hlo');
      }
    }
    else if (tab === 'findings') this.fillView(...program.data.findings.map(one => findingElement(program, one, this.go)));
    else if (previous) this.fillView(new ComparePane(previous, program, this.inner.signal).element);
  }

  private fillView(...children: HTMLElement[]): void { fill(this.view, ...children); }

  private details(): HTMLElement {
    const peek = this.host.peek && ((name: string) => void this.peek(name));
    return new Details(this.store, this.inner.signal, peek, linked => this.kernels(linked)).element;
  }

  /** The kernels of Pallas that something is about. */
  private kernels({ ops }: Linked): HTMLElement | null {
    const { program } = this.store.state;
    const own = ops.get('jaxpr');
    if (!own || !program.data.drawings || ![...own.keys()].some(op => program.level('jaxpr')!.opName(op) === 'pallas_call')) return null;
    const made = el('div');
    void this.brought(made, async root => made.append(...await parts.kernels!(program, root, own)));
    return made;
  }

  /** Draws what needs the script of the diagrams, which is not there before somebody wants it. */
  private async brought(made: HTMLElement, draw: (root: ShadowRoot) => Promise<void>): Promise<void> {
    try {
      if (!parts.diagrams) await this.host.bring!();
      await draw(this.view.getRootNode() as ShadowRoot);
    } catch (error) {
      console.warn(error);
      made.append(el('p.message', 'The diagrams cannot be drawn.'));
    }
  }

  /** @param diagram whether the diagrams stand beside the panes. */
  private code(diagram: boolean): void {
    const { program, shown } = this.store.state;
    this.drawLevels();
    const names = this.wide ? shown : shown.slice(Math.min(this.alone, shown.length - 1)).slice(0, 1);
    const panes = el('div.panes');
    for (const name of names) {
      const level = program.level(name);
      if (name === 'source') this.panes.push(new SourcePane(this.store, this.costs, this.inner.signal));
      else if (level) this.panes.push(new LevelPane(this.store, level, this.costs, this.inner.signal));
    }
    panes.append(...this.panes.flatMap((pane, at) => at ? [this.divider(at), pane.element] : [pane.element]));
    const most = diagram ? FEWER_ROWS : MOST_ROWS;
    const tall = () => panes.style.setProperty('--rows', `${Math.max(3, Math.min(most, Math.max(...this.panes.map(pane => pane.tall)))) * ROW + 4}px`);
    this.store.on(state => [state.opened, state.folded], tall, this.inner.signal);
    tall();
    this.fillView(diagram ? el('div.split', panes, this.diagrams()) : panes, this.details());
    this.divide();
    // Heights are known only now.
    const { pin } = this.store.state;
    if (pin) { this.store.state.pin = null; this.store.set({ pin }); }
  }

  /** The diagrams. */
  private diagrams(): HTMLElement {
    const made = el('section.diagram', { 'data-pane': 'diagram' });
    const { signal } = this.inner;
    void this.brought(made, async root => {
      // What is under vmap is known only after one more trace, for which the kernel is asked.
      const { vmapped } = this.store.state.program.data;
      if (!this.asked && this.maps && !vmapped) {
        this.asked = true;
        if (await this.ask('jaxpr')) return;
      }
      const drawn = await parts.diagrams!(this.store, root, signal);
      if (!signal.aborted) made.append(drawn);
    });
    return made;
  }

  /** Whether the cell may name an axis of `vmap`, of which its equations say nothing, and there is who can tell. */
  private get maps(): boolean { return !!this.host.maps && this.store.state.program.data.source.includes('axis_name'); }

  /** Panes share the width; with columns each keeps room for its code, and what does not fit is scrolled to. */
  private divide(): void {
    const { panes, wide } = this;
    const least = wide && panes.length > 1 ? `${this.store.state.measures.length * 5 + 16}em` : 0;
    const parent = panes[0]?.element.parentElement;
    if (!parent || this.store.state.tab !== 'code') return;
    const parts = panes.map(({ name }) => this.parts.get(name) ?? (name === 'source' && panes.length > 1 ? 3 : 4));
    const whole = parts.reduce((sum, part) => sum + part, 0);
    parent.querySelectorAll('.divider').forEach((one, at) => one.setAttribute('aria-valuenow', String(Math.round((parts.slice(0, at + 1).reduce((sum, part) => sum + part, 0) / whole) * 100))));
    parent.style.gridTemplateColumns = parts.map(part => `minmax(${least}, ${part}fr)`).join(' 5px ');
  }

  /** What stands between two panes and can be dragged, or moved by the arrow keys. */
  private divider(at: number): HTMLElement {
    const made = el('div.divider', { role: 'separator', tabindex: 0, 'aria-orientation': 'vertical', 'aria-label': 'divider', 'aria-valuenow': 50 });
    const [left, right] = [this.panes[at - 1], this.panes[at]];
    const move = (by: number) => {
      const [a, b] = [left.element.clientWidth, right.element.clientWidth];
      const whole = this.panes.reduce((sum, pane) => sum + pane.element.clientWidth, 0) || 1;
      for (const pane of this.panes) this.parts.set(pane.name, (pane.element.clientWidth / whole) * 100);
      const moved = Math.max(60, Math.min(a + b - 60, a + by));
      this.parts.set(left.name, (moved / whole) * 100);
      this.parts.set(right.name, ((a + b - moved) / whole) * 100);
      this.divide();
    };
    let from = NaN;
    made.addEventListener('pointerdown', event => { from = event.clientX; made.setPointerCapture(event.pointerId); event.preventDefault(); });
    made.addEventListener('pointermove', event => {
      if (Number.isNaN(from)) return;
      move(event.clientX - from);
      from = event.clientX;
    });
    for (const type of ['pointerup', 'pointercancel'] as const) made.addEventListener(type, () => { from = NaN; });
    made.addEventListener('keydown', event => {
      const by = { ArrowLeft: -20, ArrowRight: 20 }[event.key];
      if (!by) return;
      event.preventDefault();
      move(by);
    });
    return made;
  }

  private drawTabs(): void {
    const { program, previous, tab } = this.store.state;
    const { data } = program;
    const { findings, drawings } = data;
    const count = findings.length;
    const offered: [Tab, string][] = [['code', 'code'], ['graph', 'graph'], ['memory', 'memory']];
    // Of a program that was saved without its levels the tree and the curve are there.
    if (!program.lower.length) offered.splice(1, data.curves?.length ? 1 : 2);
    else if (drawings || this.maps) offered.splice(1, 0, ['mesh', data.layout ? 'mesh' : data.strings.includes('pallas_call') ? 'kernels' : 'axes']);
    if (MEASURES.some(measure => this.costs.tree(measure))) offered.splice(1, 0, ['costs', this.costs.tree('seconds') ? 'time' : 'costs']);
    if (count) offered.push(['findings', `findings ${count}`]);
    if (previous) offered.push(['compare', 'compare']);
    const buttons = offered.map(([name, title]) => button(title, () => this.store.set({ tab: name }),
      { role: 'tab', 'aria-selected': String(name === tab), 'aria-controls': this.view.id, tabindex: name === tab ? 0 : -1, 'data-tab': name }));
    fill(this.tabs, ...buttons);
    this.view.setAttribute('aria-label', tab);
    this.tabs.onkeydown = event => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const at = offered.findIndex(([name]) => name === this.store.state.tab);
      this.store.set({ tab: offered[(at + step + offered.length) % offered.length][0] });
      this.tabs.querySelector<HTMLElement>('[aria-selected=true]')?.focus();
    };
    const opener = button('more', () => {
      this.options.hidden = !this.options.hidden;
      opener.setAttribute('aria-expanded', String(!this.options.hidden));
    }, { 'aria-expanded': String(!this.options.hidden), title: 'filters, copies and downloads' });
    const { host } = this;
    const root = this.view.closest<HTMLElement>('.root');
    fill(this.tools, host.aside && button('beside', host.aside, { title: 'open it beside the notebook' }),
      document.fullscreenEnabled ? button('whole window', () => {
        if (document.fullscreenElement) void document.exitFullscreen();
        else void root?.requestFullscreen();
      }) : null, opener);
  }

  private drawLevels(): void {
    const { program, shown } = this.store.state;
    const saved = ['source', ...program.lower.map(level => level.name)];
    const can = LEVELS.filter(name => !saved.includes(name) && this.host.levels?.includes(name));
    const all = [...LEVELS.filter(name => saved.includes(name) || can.includes(name)), ...saved.filter(name => !LEVELS.includes(name))];
    const single = !this.wide;
    fill(this.levels, oneStop(el('div', { role: 'group', 'aria-label': 'levels' }, ...all.length < 2 ? [] : all.map(name => {
      const on = single ? shown[Math.min(this.alone, shown.length - 1)] === name : shown.includes(name);
      const missing = can.includes(name);
      return toggle(`${titleOf(name)}${missing ? ' …' : ''}`, on, () => void this.toggle(name, missing),
        { class: missing ? 'missing' : undefined, title: missing ? 'ask the kernel for this level' : undefined });
    }))), el('span.space'), ...this.columns());
  }

  /** What is shown beside each line, and by what they are ordered. */
  private columns(): (HTMLElement | null)[] {
    const { measures, sort, shown } = this.store.state;
    const known = MEASURES.filter(measure => [...shown, 'source'].some(name => this.costs.measures(name).includes(measure)));
    if (!known.length) return [];
    const columns = oneStop(el('span', { role: 'group', 'aria-label': 'columns' }, ...known.map(measure =>
      toggle(NAMES[measure], measures.includes(measure), () => this.store.set({ measures: MEASURES.filter(one => (one === measure) !== measures.includes(one)) }), { title: TELLS[measure] }))));
    const order = choice('order', [['', 'as in the program'], ...known.map((measure): [string, string] => [measure, `hottest first, by ${NAMES[measure]}`])], sort ?? '', value => {
      const by = MEASURES.find(one => one === value) ?? null;
      this.store.set({ sort: by, ordered: new Set(by ? this.store.state.ordered : LEVELS), measures: by ? MEASURES.filter(one => one === by || measures.includes(one)) : measures });
    });
    return [columns, order];
  }

  private async toggle(name: string, missing: boolean): Promise<void> {
    if (missing && !(await this.ask(name))) return;
    const { shown } = this.store.state;
    if (!this.wide) {
      const next = shown.includes(name) ? shown : inOrder([...shown, name]);
      this.alone = next.indexOf(name);
      if (next === shown) this.draw();
      else this.store.set({ shown: next });
      return;
    }
    const next = shown.includes(name) && !missing ? shown.filter(one => one !== name) : inOrder([...new Set([...shown, name])]);
    if (next.length) this.store.set({ shown: next });
  }

  /** Asks the kernel for a level; says so while it waits, and why if none comes. */
  private async ask(name: string): Promise<boolean> {
    this.say(`The kernel is making ${titleOf(name)} …`);
    try {
      const program = new Program(await this.host.ask!(name));
      if (!program.level(name)) throw new Error(`The kernel has no ${titleOf(name)} of this cell.`);
      this.store.set({ hot: null, pin: null });
      const [first] = program.lower;
      if (!this.store.state.program.lower.length) this.store.state.graph = { level: first.name, computation: mainOf(first) };
      this.store.set({ folded: foldedOf(program), opened: openedOf(program), matches: search(program, this.store.state.query), program });
      this.say('');
      return true;
    } catch (error) {
      this.say(wordsOf(error));
      const { fallback } = this.host;
      // A program that was saved with its tree shows that.
      const { lower, trees } = this.store.state.program;
      if (fallback && !lower.length && !trees.length) this.fillView(fallback());
      return false;
    }
  }

  private say(text: string): void {
    this.message.hidden = !text;
    this.message.textContent = text;
  }

  /** A look at a value: text, or treescope's page, which runs in a frame that can reach nothing. */
  private async peek(name: string): Promise<void> {
    const close = button('close', () => { this.peeked.hidden = true; this.peeked.replaceChildren(); });
    this.peeked.hidden = false;
    fill(this.peeked, el('p', el('b', name), ' ', close), el('p.note', 'asking the kernel …'));
    let shown: HTMLElement;
    try {
      const { html, text } = await this.host.peek!(name);
      shown = html ? el('iframe', { sandbox: 'allow-scripts', title: `value of ${name}`, srcdoc: html }) : el('pre', text ?? '');
    } catch (error) {
      shown = el('p.note', wordsOf(error));
    }
    fill(this.peeked, el('p', el('b', name), ' ', close), shown);
  }

  private drawOptions(): void {
    const { program, phases, scope, promoted } = this.store.state;
    const filters = readFilters(program.lower);
    const byPhase = filters.phases.length > 1 ? el('span', { role: 'group', 'aria-label': 'phases' }, el('i', 'phase '), ...filters.phases.map(phase =>
      toggle(PHASES[phase] ?? phase, phases.has(phase), () => {
        const next = new Set(phases);
        if (!next.delete(phase)) next.add(phase);
        this.store.set({ phases: next });
      }))) : null;
    const byScope = filters.scopes.length ? el('label', el('i', 'scope '), choice('scope', [['', 'all'], ...filters.scopes.slice(0, 300).map((one): [string, string] => [one, one.slice(0, 60)])], scope, value => this.store.set({ scope: value }))) : null;
    const promotions = filters.promotions ? toggle(`implicit promotions (${filters.promotions})`, promoted, () => this.store.set({ promoted: !promoted })) : null;
    const ways = el('span', { role: 'group', 'aria-label': 'copy and download' }, el('i', 'export '), ...exits(this.store, this.host.line ?? '', () => {
      if (!this.graph) this.store.set({ tab: 'graph' });
      return this.graph?.file() ?? null;
    }));
    fill(this.options, byPhase, byScope, promotions, ways);
  }

  private search(): void {
    const query = this.field.value;
    const matches = search(this.store.state.program, query);
    this.at = -1;
    this.store.set({ query, matches, tab: 'code' });
    this.count();
  }

  private count(): void {
    const { query, matches } = this.store.state;
    this.tally.textContent = !query.trim() ? '' : this.at >= 0 ? `${this.at + 1} of ${matches.count}` : matches.count ? String(matches.count) : 'none';
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.key === 'Enter') {
      event.preventDefault();
      this.next(event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      if (this.field.value) { this.field.value = ''; this.search(); }
      this.panes[0]?.move(0, true);
    } else if (event.key === 'ArrowDown') {
      event.preventDefault();
      if (this.at < 0) this.next(1);
      this.panes.find(pane => pane.element.querySelector('.cursor'))?.element.querySelector<HTMLElement>('.list')?.focus();
    }
    event.stopPropagation();
  }

  /** The next match, through the lines of the cell and then level by level. */
  private next(step: number): void {
    const { matches } = this.store.state;
    if (!matches.count) return;
    this.at = (this.at + step + matches.count + (this.at < 0 && step < 0 ? 1 : 0)) % matches.count;
    let left = this.at;
    const groups: [string, number[]][] = [['source', matches.lines], [NODES, matches.nodes], ...matches.ops];
    for (const [name, found] of groups) {
      if (left >= found.length) { left -= found.length; continue; }
      this.reveal(name, found[left]);
      break;
    }
    this.count();
  }

  private reveal(found: string, item: number): void {
    const { shown } = this.store.state;
    const name = found === NODES ? 'source' : found;
    if (!this.panes.some(pane => pane.name === name)) {
      this.alone = inOrder([...new Set([...shown, name])]).indexOf(name);
      if (shown.includes(name)) this.draw();
      else this.store.set({ shown: inOrder([...shown, name]) });
    }
    const pane = this.panes.find(one => one.name === name);
    if (found === NODES) (pane as SourcePane | undefined)?.showNode(item);
    else pane?.show(item);
  }
}

function inOrder(names: string[]): string[] {
  const place = (name: string) => (LEVELS.indexOf(name) + LEVELS.length + 1) % (LEVELS.length + 1);
  return [...names].sort((a, b) => place(a) - place(b));
}
