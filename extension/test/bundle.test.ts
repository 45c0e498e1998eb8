import { readdirSync, readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';

const PACKAGE = new URL('../../jaxnb/', import.meta.url);
const STATIC = readdirSync(new URL('labextension/static/', PACKAGE)).map(name => `labextension/static/${name}`);
const REMOTE = STATIC.find(name => name.includes('remoteEntry'))!;
// What an output that draws itself takes: with roofs, what is sent, hot fusions, what checkpoints save, and kernels.
const MOST = 94_000;
const MOST_COMPRESSED = 46_000;

// What Lab reads as it starts, and what comes with programs that have any: meshes, what is sent, times of processes, kernels.
const MOST_OF: [string, number][] = [['remoteEntry', 8_000], ['diagrams', 15_500]];

test.each(['assets/inspector.js', 'assets/widget.js', 'assets/diagrams.js', ...STATIC])('%s is small', path => {
  const text = readFileSync(new URL(path, PACKAGE));
  const small = deflateSync(text).length;
  console.log(`${path}: ${text.length.toLocaleString('en-US')} bytes minified, ${small.toLocaleString('en-US')} compressed`);
  expect(text.length).toBeLessThanOrEqual(MOST_OF.find(([name]) => path.includes(name))?.[1] ?? MOST);
  expect(small).toBeLessThanOrEqual(MOST_COMPRESSED);
});

test('nothing parses markup, evaluates text or asks a network', () => {
  const folder = new URL('../src/', import.meta.url);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(one => one.endsWith('.ts'))) {
    const code = readFileSync(new URL(name, folder), 'utf8').replace(/\/\/.*|\/\*[^]*?\*\//g, '');
    expect(code, name).not.toMatch(/innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|\beval\(|new Function|\bfetch\(|XMLHttpRequest|WebSocket|new Worker|import\(/);
  }
});

test('scripts that belong together say so by one mark', () => {
  const marks = ['assets/inspector.js', 'assets/widget.js', 'assets/diagrams.js', ...STATIC].map(path =>
    /jaxnb ([0-9a-f]{16})["'`]/.exec(readFileSync(new URL(path, PACKAGE), 'utf8'))?.[1]);
  expect(new Set(marks).size).toBe(1);
  expect(STATIC.filter(path => path.includes(marks[0]!)).length).toBe(2);
});

test('Lab finds the remote entry and the schema where the manifest says', () => {
  const manifest = JSON.parse(readFileSync(new URL('labextension/package.json', PACKAGE), 'utf8'));
  expect(`labextension/${manifest.jupyterlab._build.load}`).toBe(REMOTE);
  expect(JSON.parse(readFileSync(new URL(`labextension/schemas/${manifest.name}/plugin.json`, PACKAGE), 'utf8')).title).toBe('jaxnb');
});
