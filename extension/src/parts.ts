/** What comes as a script of its own and not with every inspector, by what it does. */

import type { mount } from './mount';
import type { Program } from './model';
import type { Store } from './store';

export interface Parts {
  /** Makes the diagrams of a program as an element under `root`. */
  diagrams?: (store: Store, root: ShadowRoot, signal: AbortSignal) => Promise<HTMLElement>;
  /** Draws those kernels of Pallas that are among some ops of the level jaxpr. */
  kernels?: (program: Program, root: ShadowRoot, ops: ReadonlySet<number> | ReadonlyMap<number, unknown>) => Promise<HTMLElement[]>;
  /** The inspector itself, which JupyterLab loads when the first one is shown. */
  mount?: typeof mount;
}

// Scripts of several versions may be in one page, and short names differ among them: the build says which belong together.
export const parts = ((globalThis as unknown as Record<string, Parts>)['jaxnb __JAXNB_BUILD__'] ??= {});
