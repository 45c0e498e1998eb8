/** The line under a cell: what happened, what it cost, what needs the user. It never wraps; the cost gives way first. */

import { el } from './dom';
import { visible } from './format';
import { Parts, Status } from './schema';

const TONES: Record<string, string> = {
  reused: 'good', staged: 'good', fix: 'good', planned: 'calm', traced: 'calm',
  retraced: 'warn', again: 'warn', host: 'warn', finding: 'warn', nothing: 'bad', wrong: 'bad'
};

/** The parts of the line as they were saved, or its text. */
export function lineElement(status: Status | undefined, text: string | undefined): HTMLElement {
  if (!status) return el('span.said', text || 'jaxnb');
  const { happened, cost, needs } = status;
  return el('span.said', { title: lineText(status) }, place('happened', happened), place('cost', cost), place('needs', needs));
}

/** The line as text. */
export function lineText({ happened, cost, needs }: Status): string {
  return [...happened, ...cost, ...needs].map(textOf).join(' · ');
}

function textOf([, sign, text]: Parts[number]): string {
  return visible(sign ? `${sign} ${text}` : text);
}

function place(name: string, parts: Parts): HTMLElement | null {
  const drawn = parts.flatMap((part, at) => {
    const tone = Object.hasOwn(TONES, part[0]) ? TONES[part[0]] : undefined;
    return [at || name !== 'happened' ? ' · ' : '', tone ? el('b', { class: tone }, textOf(part)) : textOf(part)];
  });
  return parts.length ? el('span', { class: name }, ...drawn) : null;
}
