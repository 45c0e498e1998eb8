/** The state of one inspector, and who wants to know when some of it changes. */

import { Links, Linked, Target } from './links';
import { Matches } from './search';
import { Program } from './model';
import { Measure } from './costs';

export type Tab = 'code' | 'graph' | 'memory' | 'findings' | 'compare';

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
  measures: Measure[];
  sort: Measure | null;
  phases: Set<string>;
  scope: string;
  query: string;
  matches: Matches;
  /** What the graph shows. */
  graph: { level: string; computation: number };
}

/** Holds the state. `set` calls the listeners of what changed, at once and in the order in which they came. */
export class Store {
  private listeners: { keys: (keyof State)[]; call: () => void }[] = [];
  links: Links;

  constructor(public state: State) {
    this.links = new Links(state.program);
  }

  on(keys: (keyof State)[], call: () => void, signal: AbortSignal): void {
    const listener = { keys, call };
    this.listeners.push(listener);
    signal.addEventListener('abort', () => { this.listeners = this.listeners.filter(one => one !== listener); });
  }

  set(change: Partial<State>): void {
    const changed = (Object.keys(change) as (keyof State)[]).filter(key => this.state[key] !== change[key]);
    if (!changed.length) return;
    Object.assign(this.state, change);
    if (changed.includes('program')) this.links = new Links(this.state.program);
    for (const { keys, call } of [...this.listeners]) if (keys.some(key => changed.includes(key))) call();
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
