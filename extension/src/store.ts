/** The state of one inspector, and who wants to know when some of it changes. */

import { Links, Linked, Target } from './links';
import { Matches } from './search';
import { Program } from './model';
import { Measure } from './costs';

export type Tab = 'code' | 'costs' | 'mesh' | 'graph' | 'memory' | 'findings' | 'compare';

export interface State {
  program: Program;
  previous: Program | null;
  open: boolean;
  tab: Tab;
  /** The levels whose panes are shown, "source" among them. */
  shown: string[];
  /** What the pointer is over, and what was clicked. */
  hot: Linked | null;
  pin: Linked | null;
  folded: Map<string, Set<number>>;
  /** The groups of each level that show what is in them, and for "source" nodes of the tree. */
  opened: Map<string, Set<number>>;
  measures: Measure[];
  sort: Measure | null;
  /** The levels that are shown in their own order, though they begin with what costs most. */
  ordered: Set<string>;
  phases: Set<string>;
  promoted: boolean;
  scope: string;
  query: string;
  matches: Matches;
  /** What the graph shows; `each`: every op, where modules could be shown. */
  graph: { level: string; computation: number; each?: boolean };
  /** Which diagram is shown, of which value, and by what its rows are sorted. */
  diagram: { part: string; row?: number; sort?: string; down?: boolean };
}

/** What of the state a listener wants to know of. */
export type Watched = (state: State) => unknown[];

/** Holds the state. `set` calls the listeners of what changed, at once and in the order in which they came. */
export class Store {
  private listeners: { watched: Watched; call: () => void }[] = [];
  links: Links;

  constructor(public state: State) {
    this.links = new Links(state.program);
  }

  on(watched: Watched, call: () => void, signal: AbortSignal): void {
    const listener = { watched, call };
    this.listeners.push(listener);
    signal.addEventListener('abort', () => { this.listeners = this.listeners.filter(one => one !== listener); });
  }

  set(change: Partial<State>): void {
    const { state, listeners } = this;
    const before = listeners.map(one => one.watched(state));
    const { program } = state;
    Object.assign(state, change);
    if (state.program !== program) this.links = new Links(state.program);
    // What is to be called is known before the first call, which may set more.
    const due = listeners.filter(({ watched }, row) => watched(state).some((value, at) => value !== before[row][at]));
    for (const { call } of due) call();
  }

  point(target: Target | null): void {
    this.set({ hot: target && this.links.find(target) });
  }

  /** Clicked: pinned, or let go if it was pinned already. */
  choose(target: Target | null): void {
    const same = target && this.state.pin && JSON.stringify(this.state.pin.target) === JSON.stringify(target);
    this.set({ pin: target && !same ? this.links.find(target) : null });
  }
}
