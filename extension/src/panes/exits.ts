/** Ways out: the program as text, page, JSON and, of a graph, as a picture. */

import { button, copy, download } from '../dom';
import { programPage, programText } from '../export';
import { Store } from '../store';

/** The buttons; `picture` draws the graph as SVG. */
export function exits(store: Store, line: string, picture: () => string | null): HTMLElement[] {
  const { program } = store.state;
  const copied = button('copy text', () => void copy(programText(program, line)).then(() => {
    copied.textContent = 'copied';
    setTimeout(() => { copied.textContent = 'copy text'; }, 1500);
  }));
  const save = (title: string, name: string, type: string, text: () => string | null) => button(title, () => {
    const made = text();
    if (made !== null) download(name, type, made);
  }, { 'aria-label': `download ${title}` });
  return [
    copied,
    save('HTML', 'program.html', 'text/html', () => programPage(program, line)),
    save('JSON', 'program.json', 'application/json', () => JSON.stringify(program.data)),
    ...(program.lower.length ? [save('SVG', 'graph.svg', 'image/svg+xml', picture)] : [])
  ];
}
