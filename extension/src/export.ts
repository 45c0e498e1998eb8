/** The whole program as text, and as a page of text that opens anywhere. */

import { visible } from './format';
import { Program } from './model';
import { rowText, typeColumn } from './pieces';
import { ALL, readRows } from './rows';

/** Every level, all bodies shown, one under the other. */
export function programText(program: Program, line: string): string {
  const parts = [line, program.data.source];
  for (const level of program.lower) {
    const rows = readRows(level, ALL);
    const width = typeColumn(level, rows);
    const lines = rows.kind.map((_, row) => rowText(level, rows, row, width));
    parts.push(`# ${level.name}\n${lines.join('\n')}`);
  }
  for (const finding of program.data.findings) parts.push(`${finding.line ? `line ${finding.line}: ` : ''}${finding.kind}: ${finding.message}`);
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

/** The same as a page: built as a document, so that text stays text. */
export function programPage(program: Program, line: string): string {
  const page = document.implementation.createHTMLDocument(visible(line.slice(0, 120)));
  const put = (tag: string, text: string, parent: Element = page.body) => {
    const made = page.createElement(tag);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  const charset = page.createElement('meta');
  charset.setAttribute('charset', 'utf-8');
  page.head.prepend(charset);
  put('style', 'body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:1100px;padding:0 1em;color-scheme:light dark}' +
    'pre{font:12px/1.6 ui-monospace,monospace;overflow:auto}summary{font-weight:600;cursor:pointer}', page.head);
  put('p', visible(line));
  put('pre', visible(program.data.source));
  for (const finding of program.data.findings) put('p', visible(`${finding.line ? `line ${finding.line}: ` : ''}${finding.kind}: ${finding.message}`));
  for (const level of program.lower) {
    const rows = readRows(level, ALL);
    const width = typeColumn(level, rows);
    const part = put('details', '');
    put('summary', `${level.name} · ${level.size} ops`, part);
    put('pre', rows.kind.map((_, row) => rowText(level, rows, row, width)).join('\n'), part);
  }
  return `<!DOCTYPE html>\n${page.documentElement.outerHTML}`;
}
