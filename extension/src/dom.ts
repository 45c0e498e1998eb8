/** Elements with text: nothing from a notebook ever becomes markup, because nothing here parses any. */

export type Child = Node | string | null | undefined | false;
export type Attributes = Record<string, string | number | boolean | undefined | ((event: any) => void)>;

/** An element. A function is a listener, true an attribute without a value; false and undefined are left out. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  dress(made, attributes, children);
  return made;
}

const SVG = 'http://www.w3.org/2000/svg';

/** The same for SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, tag);
  dress(made, attributes, children);
  return made;
}

function dress(made: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name, value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child) made.append(child);
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
    const area = el('textarea', { readonly: true, style: 'position:fixed;opacity:0' });
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
