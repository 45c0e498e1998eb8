/** Numbers and types as people read them. */

const UNITS: [number, string][] = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'K']];

/** `1.5 MB`, `64 B`; "" for what is not known. */
export function formatBytes(count: number): string {
  return count < 0 ? '' : scaled(count, ' ', 'B');
}

/** `29.4 M`, `512`: a count of anything. */
export function formatCount(count: number): string {
  return count < 0 ? '' : scaled(count, ' ', '').trimEnd();
}

/** `61 ms`, `0.8 ms`, `1.4 s`, as the kernel side writes durations. */
export function formatSeconds(seconds: number): string {
  if (!(seconds >= 0)) return '';
  if (seconds >= 1) return `${seconds.toFixed(1)} s`;
  if (seconds >= 0.01) return `${(seconds * 1e3).toFixed(0)} ms`;
  if (seconds >= 1e-4) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (seconds >= 1e-6 || seconds === 0) return `${(seconds * 1e6).toFixed(0)} µs`;
  return `${(seconds * 1e9).toFixed(0)} ns`;
}

/** A number by what it counts: bytes, seconds, a share, or anything. */
export function formatIn(unit: string, count: number): string {
  return unit === 'share' ? formatShare(count) : unit === 'bytes' ? formatBytes(count) : unit === 'seconds' ? formatSeconds(count) : formatCount(count);
}

function scaled(count: number, gap: string, unit: string): string {
  for (const [size, letter] of UNITS) {
    if (count >= size) {
      const number = count / size;
      return `${number >= 100 ? number.toFixed(0) : number.toFixed(1)}${gap}${letter}${unit}`;
    }
  }
  return `${count}${gap}${unit}`;
}

/** `12 %`, `< 1 %`. */
export function formatShare(share: number): string {
  return share > 0 && share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`;
}

/** `1 line`, `2 lines`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

const LETTERS: Record<string, string> = { bfloat: 'bf', float: 'f', uint: 'u', int: 'i', complex: 'c' };

/** `float32` as JAX abbreviates it: `f32`. */
export function shortType(dtype: string): string {
  return dtype.replace(/\b(bfloat|float|uint|int|complex)(?=\d)/g, name => LETTERS[name]);
}

// C0 and C1 controls but tab and newline, and the marks that turn the direction of the text around them.
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text with control characters as escapes: a browser would drop them or obey them. */
export function visible(text: string): string {
  return text.replace(CONTROL, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The beginning of a text, with a mark where it was cut. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** What people call the phases of a derivative. */
export const PHASES: Record<string, string> = { primal: 'forward', tangent: 'forward, for a derivative', transposed: 'backward', rematerialised: 'backward, computed again' };

/** What people call a level. */
export function titleOf(level: string): string { return { stablehlo: 'StableHLO', hlo: 'HLO' }[level] ?? level; }

/** What an error says. */
export function wordsOf(error: unknown): string { return error instanceof Error ? error.message : String(error); }
