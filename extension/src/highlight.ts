/** Python's tokens, as far as colours need them. */

export type Colour = '' | 'keyword' | 'string' | 'number' | 'comment' | 'magic' | 'call';
export interface Token { colour: Colour; text: string }

const KEYWORDS = new Set(('False None True and as assert async await break class continue def del elif else except ' +
  'finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield').split(' '));
const TRIPLE = /(?:[rbfuRBFU]{0,2})("""|''')/y;
const STRING = /[rbfuRBFU]{0,2}(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)/y;
const NUMBER = /(?:0[xXbBoO][\da-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?j?)/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/yu;
const REST = /[^\p{L}_\d"'#.]+|./yu;

/** The lines of a cell as tokens; lines of IPython have one colour. */
export function highlight(source: string): Token[][] {
  let open = '';
  return source.split('\n').map(line => {
    const tokens: Token[] = [];
    let at = 0;
    if (!open && /^\s*[%!]/.test(line)) return [{ colour: 'magic', text: line }];
    while (at < line.length) {
      if (open) {
        const end = line.indexOf(open, at);
        const stop = end < 0 ? line.length : end + 3;
        tokens.push({ colour: 'string', text: line.slice(at, stop) });
        if (end >= 0) open = '';
        at = stop;
        continue;
      }
      if (line[at] === '#') {
        tokens.push({ colour: 'comment', text: line.slice(at) });
        break;
      }
      const triple = match(TRIPLE, line, at);
      if (triple) {
        open = triple.slice(-3);
        tokens.push({ colour: 'string', text: triple });
        at += triple.length;
        continue;
      }
      const [colour, text] = next(line, at);
      tokens.push({ colour, text });
      at += text.length;
    }
    return tokens;
  });
}

function next(line: string, at: number): [Colour, string] {
  let text = /["'rbfuRBFU]/.test(line[at]) ? match(STRING, line, at) : '';
  if (text) return ['string', text];
  text = match(NAME, line, at);
  if (text) return [KEYWORDS.has(text) ? 'keyword' : line[at + text.length] === '(' ? 'call' : '', text];
  text = /[\d.]/.test(line[at]) ? match(NUMBER, line, at) : '';
  if (text && text !== '.') return ['number', text];
  return ['', match(REST, line, at) || line[at]];
}

function match(pattern: RegExp, line: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0] ?? '';
}
