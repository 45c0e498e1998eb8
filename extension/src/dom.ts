/** Elements with text: nothing from a notebook ever becomes markup, because nothing here parses any. */

export type Child = Node | string | null | undefined | false;
export type Attributes = Record<string, string | number | boolean | undefined | ((event: any) => void)>;

/** A tag, and classes behind it: `div.row.hot`. */
type Tag<K extends string> = K | `${K}.${string}`;

/** What is in an element: attributes, which may be left out, and children. */
type Content = [Attributes, ...Child[]] | Child[];

/** An element. A function is a listener, true an attribute without a value; false and undefined are left out. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: Tag<K>, ...content: Content): HTMLElementTagNameMap[K] {
  return make('http://www.w3.org/1999/xhtml', tag, content) as HTMLElementTagNameMap[K];
}

/** The same for SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: Tag<K>, ...content: Content): SVGElementTagNameMap[K] {
  return make('http://www.w3.org/2000/svg', tag, content) as SVGElementTagNameMap[K];
}

function make(space: string, tag: string, content: Content): Element {
  const [name, ...classes] = tag.split('.');
  const made = document.createElementNS(space, name);
  if (classes.length) made.setAttribute('class', classes.join(' '));
  for (const one of content) {
    if (!one) continue;
    if (typeof one === 'string' || one instanceof Node) made.append(one);
    else for (const [key, value] of Object.entries(one)) {
      if (typeof value === 'function') made.addEventListener(key, value);
      else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : String(value));
    }
  }
  return made;
}

/** A list to choose from: values and what they are called. */
export function choice(label: string, options: [string | number, string][], chosen: string | number, act: (value: string) => void): HTMLSelectElement {
  const made = el('select', { 'aria-label': label, change: () => act(made.value) },
    ...options.map(([value, text]) => el('option', { value, selected: value === chosen }, text)));
  return made;
}

/** A button that is pressed or not. */
export function toggle(label: string, pressed: boolean, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return button(label, act, { 'aria-pressed': String(pressed), ...attributes });
}

/** Makes the buttons of a group one stop of the Tab key, between which the arrow keys go. */
export function oneStop<T extends HTMLElement>(group: T): T {
  const buttons = [...group.querySelectorAll<HTMLElement>('button')];
  const stop = (at: number) => buttons.forEach((one, place) => { one.tabIndex = place === at ? 0 : -1; });
  stop(0);
  group.addEventListener('focusin', event => stop(buttons.indexOf(event.target as HTMLElement)));
  group.addEventListener('keydown', event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !buttons.length) return;
    event.preventDefault();
    buttons[(buttons.indexOf(event.target as HTMLElement) + step + buttons.length) % buttons.length].focus();
  });
  return group;
}

/** A table: its heads, of which an empty one is no heading, and its rows of cells. */
export function table(heads: Child[], rows: Child[][], right: number[] = [], first: Child = null): HTMLElement {
  const side = (at: number) => ({ class: right.includes(at) ? 'right' : undefined });
  return el('table', first,
    el('thead', el('tr', ...heads.map((head, at) => head ? el('th', { ...side(at), scope: 'col' }, head) : el('td.wide')))),
    el('tbody', ...rows.map(row => el('tr', ...row.map((cell, at) => cell instanceof HTMLTableCellElement ? cell : el('td', side(at), cell))))));
}

/** Replaces all children. What had the focus hands it to what has its place or its name now. */
export function fill(parent: Element | ShadowRoot, ...children: Child[]): void {
  const focused = (parent.getRootNode() as ShadowRoot).activeElement;
  const name = focused && parent !== focused && parent.contains(focused) ? nameOf(focused) : null;
  parent.replaceChildren(...children.filter((child): child is Node | string => !!child));
  if (name !== null) [...parent.querySelectorAll<HTMLElement>('button, select, input, [tabindex]')].find(one => nameOf(one) === name)?.focus({ preventScroll: true });
}

function nameOf(element: Element): string {
  return element.getAttribute('aria-label') ?? element.textContent!.replace(/[ …]+$/, '');
}

let count = 0;
/** An id that no other element of the page has. */
export function freshId(): string { return `jnb-${++count}`; }

/** A button; the label is its text. */
export function button(label: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return el('button', { type: 'button', click: act, ...attributes }, label);
}

/** Puts a text on the clipboard; where that is refused, by the way that old pages use. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { readonly: true });
    area.style.cssText = 'position:fixed;opacity:0';
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

/** Offers a file for download. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
