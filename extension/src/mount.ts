/** One inspector in one element: the quiet line, and under it the panes. Every front end calls this. */

import { el, fill } from './dom';
import { NotShown } from './decode';
import { mainOf } from './groups';
import { lineElement, lineText } from './line';
import { Program } from './model';
import { foldedOf, openedOf } from './rows';
import { search } from './search';
import { Costs, firstMeasures, Measure, MEASURES } from './costs';
import { Store } from './store';
import { followTheme } from './theme';
import { Workbench } from './workbench';
import { findingElement } from './panes/findings';
import { Look } from './lab/types';
import { sheet } from './sheet';

/** `measures` are null where what is known decides. */
export interface Settings { open: boolean; levels: string[]; measures: Measure[] | null }
export const DEFAULTS: Settings = { open: false, levels: ['source', 'jaxpr'], measures: null };

/** What the surroundings can do for an inspector. Whatever is absent is not offered. */
export interface Host {
  /** What was done, in one line, for programs that were saved without it. */
  line?: string;
  settings?: Partial<Settings>;
  /** The previous run of the same cell, as data. */
  previous?: unknown;
  /** The levels that the kernel can make, beside those in the data. */
  levels?: string[];
  /** Asks the kernel for the whole program down to a level, as data. */
  ask?: (level: string) => Promise<unknown>;
  /** Asks the kernel for a look at a value: text, or a page for a sandboxed frame. */
  peek?: (name: string) => Promise<Look>;
  /** What to show of a program that was saved without its levels, where nobody can be asked for them. */
  fallback?: () => HTMLElement;
  /** Whether what is asked can trace the cell once more, for the names of `vmap`. */
  maps?: boolean;
  /** Brings the script of the diagrams, where it is not in the page. */
  bring?: () => Promise<unknown>;
  /** Opens the same inspector beside the notebook. */
  aside?: () => void;
  /** Gives the focus back to the notebook. */
  leave?: () => void;
}

export interface Mounted { destroy(): void }

const MOST_BRIEF = 3;

/** Draws a saved program into an element, which it empties first. Data that cannot be shown is said, not thrown. */
export function mount(element: HTMLElement, data: unknown, host: Host = {}): Mounted {
  const controller = new AbortController();
  const { signal } = controller;
  element.replaceChildren();
  // Keys in here are ours: `dd` in the search field must not delete the cell.
  element.setAttribute('data-lm-suppress-shortcuts', 'true');
  const shadow = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
  const root = el('div.root');
  shadow.adoptedStyleSheets = [sheet];
  fill(shadow, root);
  followTheme(element, theme => { root.dataset.theme = theme; }, signal);
  try {
    const program = new Program(data);
    const { status } = program.data;
    draw(root, program, status ? { ...host, line: lineText(status) } : host, signal);
  } catch (error) {
    if (!(error instanceof NotShown)) throw error;
    root.append(host.line ? el('div.line.plain', lineElement(undefined, host.line)) : '', el('p.note', error.message));
  }
  return { destroy: () => { controller.abort(); shadow.replaceChildren(); } };
}

function draw(root: HTMLElement, program: Program, host: Host, signal: AbortSignal): void {
  const settings = { ...DEFAULTS, ...host.settings };
  const levels = program.levels.map(level => level.name);
  const shown = settings.levels.filter(name => levels.includes(name) || name === 'source');
  const own = program.lower[0]?.name;
  if (own && !shown.some(name => name !== 'source')) shown.push(own);
  const store = new Store({
    program, previous: previousOf(host), open: settings.open, tab: 'code', shown, hot: null, pin: null,
    folded: foldedOf(program), opened: openedOf(program),
    measures: settings.measures ? MEASURES.filter(one => settings.measures!.includes(one)) : firstMeasures(new Costs(program), shown), sort: null, ordered: new Set(),
    phases: new Set(), scope: '', promoted: false, query: '', matches: search(program, ''), graph: { level: own ?? '', computation: program.lower[0] ? mainOf(program.lower[0]) : 0 }, diagram: { part: '' }
  });
  if (!program.data.source && !program.levels.length) {
    root.append(el('div.line', lineElement(program.data.status, host.line)), ...program.data.findings.map(one => findingElement(program, one, () => undefined)));
    return;
  }
  const body = el('div.body');
  body.hidden = true;
  const line = el('button.line', { type: 'button', 'aria-expanded': 'false', click: () => store.set({ open: !store.state.open }) },
    el('span.arrow', { 'aria-hidden': 'true' }), lineElement(program.data.status, host.line));
  let bench: Workbench | undefined;
  const go = (at: number) => {
    store.set({ open: true, tab: 'code' });
    store.set({ pin: store.links.find({ kind: 'line', line: at }) });
  };
  const brief = el('div.brief', ...program.data.findings.filter(one => !one.folded).slice(0, MOST_BRIEF).map(one => findingElement(program, one, go)));
  const open = () => {
    body.hidden = !store.state.open;
    line.setAttribute('aria-expanded', String(store.state.open));
    // Nothing is built for an inspector that nobody opens.
    if (store.state.open) bench ??= new Workbench(store, body, host, signal, go);
  };
  store.on(state => [state.open], open, signal);
  root.append(line, brief, body);
  root.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.preventDefault();
    if (store.state.pin) store.set({ pin: null, hot: null });
    else if (host.leave) host.leave();
    else line.focus();
  }, { signal });
  open();
}

function previousOf(host: Host): Program | null {
  try {
    return host.previous ? new Program(host.previous) : null;
  } catch {
    return null; // what cannot be read cannot be compared with
  }
}
