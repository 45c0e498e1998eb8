import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';
// @ts-expect-error the build has no types
import { folded, markedSources } from '../shrink.mjs';

const HERE = fileURLToPath(new URL('..', import.meta.url));

test('sources whose members are marked fit together as they did before', () => {
  // A name that was marked at one end only, there or in what others read, is an error of types.
  const folder = mkdtempSync(join(HERE, 'node_modules/.marked-'));
  try {
    const names: string[] = [];
    for (const [path, text] of markedSources(false) as Map<string, string>) {
      const name = join(folder, path.slice(HERE.length));
      mkdirSync(dirname(name), { recursive: true });
      writeFileSync(name, text);
      names.push(name);
    }
    writeFileSync(join(folder, 'src/css.d.ts'), readFileSync(join(HERE, 'src/css.d.ts')));
    const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(join(HERE, 'tsconfig.json'), ts.sys.readFile).config, ts.sys, HERE);
    const program = ts.createProgram([...names, join(folder, 'src/css.d.ts')], { ...options, noUnusedLocals: false, noUnusedParameters: false });
    const said = ts.getPreEmitDiagnostics(program).map(one => `${one.file?.fileName.slice(folder.length)}: ${ts.flattenDiagnosticMessageText(one.messageText, ' ')}`);
    expect(said).toEqual([]);
    expect([...markedSources(false).values()].join('').match(/_\$/g)!.length).toBeGreaterThan(1000);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);

test('what a program of Lab, the browser or the kernel reads keeps its name', () => {
  const all = [...markedSources().values()].join('\n');
  for (const name of ['data.levels', 'addEventListener', 'shadowRoot', 'createRenderer', 'renderModel', 'onAfterAttach', 'activate']) {
    expect(all).toContain(name);
    expect(all).not.toContain(`${name}_$`);
  }
}, 60_000);

test('a folded script does the same', () => {
  const code = '(()=>{let f=(a)=>{switch(a.alphabet){case"alphabet":return a.length;default:return null}};' +
    'globalThis.result=[f({alphabet:"alphabet","length":3}),f({alphabet:1})?.alphabet,Math.max(1,Math.max(2,Math.max(3,4))),"alphabet".length,null,null,null,void 0,void 0,void 0]})();';
  const run = (text: string) => {
    const scope: { result?: unknown } = {};
    new Function('globalThis', text)(scope);
    return scope.result;
  };
  expect(folded(code)).not.toBe(code);
  expect(run(folded(code))).toEqual(run(code));
});
