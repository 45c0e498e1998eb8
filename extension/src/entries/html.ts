/** The script in HTML: in the place of each static view that carries its program, the inspector. The view stays if not. */

import { inflate } from '../inflate';
import { mount } from '../mount';

// The build puts the hash of this script here: of several versions in one notebook each takes its own views.
const OWN = '__JAXNB_HASH__';

async function take(view: HTMLElement): Promise<void> {
  view.dataset.taken = OWN;
  const packed = view.querySelector('script[type="application/vnd.jaxnb.program"]');
  if (!packed) return;
  const data = JSON.parse(await inflate(packed.textContent ?? '')) as { program: unknown; line: string; previous?: unknown };
  const place = document.createElement('div');
  const open = view.querySelector('details')?.open ?? false;
  view.append(place);
  mount(place, data.program, { line: data.line, previous: data.previous, settings: { open } });
  for (const child of Array.from(view.children)) if (child instanceof HTMLElement && child !== place) child.hidden = true;
}

function takeAll(): void {
  const roots = new Set<ParentNode>([document]);
  const here = (self ?? document).getRootNode();
  if (here instanceof ShadowRoot) roots.add(here);
  for (const root of roots) {
    root.querySelectorAll<HTMLElement>(`.jnb[data-jaxnb="${OWN}"]:not([data-taken])`).forEach(view => {
      take(view).catch(error => console.warn('jaxnb: the static view stays:', error));
    });
  }
}

const self = document.currentScript;
takeAll();
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', takeAll);
