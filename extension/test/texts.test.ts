import { expect, test } from 'vitest';
import { formatBytes, formatCount, formatSeconds, shortType, visible } from '../src/format';
import { highlight } from '../src/highlight';
import { Program } from '../src/model';
import { search } from '../src/search';
import { long, program } from './cases';

test.each([[64, '64 B'], [1500, '1.5 KB'], [1_500_000, '1.5 MB'], [-1, '']])('%s bytes', (count, text) => expect(formatBytes(count)).toBe(text));
test.each([[512, '512'], [29_442_048, '29.4 M']])('the number %s', (count, text) => expect(formatCount(count)).toBe(text));
test.each([[0.061, '61 ms'], [0.0008, '0.8 ms'], [1.44, '1.4 s'], [5e-6, '5 µs'], [NaN, '']])('%s seconds', (seconds, text) => expect(formatSeconds(seconds)).toBe(text));
test('types are short', () => expect(['float32', 'bfloat16', 'uint8', 'key<fry>', 'bool'].map(shortType)).toEqual(['f32', 'bf16', 'u8', 'key<fry>', 'bool']));
test('what would turn or hide text is shown', () => expect(visible('a\u202eb\u0000c\n')).toBe('a\\u202eb\\u0000c\n'));

test('the tokens of a line make up the line', () => {
  const source = '%%jit --static n\nx = "a\\"b" + f(1e-3)  # no\n"""one\ntwo""" if \'open\nπ = r"\\n" @ y[0].T; s = f"{x!r}"\n\tdef g(λ): pass';
  expect(highlight(source).map(tokens => tokens.map(token => token.text).join(''))).toEqual(source.split('\n'));
});

test('Python has colours', () => {
  const colours = (line: string) => highlight(line)[0].filter(token => token.colour).map(token => `${token.colour} ${token.text}`);
  expect(colours('return f("a", 1.5)  # why')).toEqual(['keyword return', 'call f', 'string "a"', 'number 1.5', 'comment # why']);
  expect(colours('%%jit')).toEqual(['magic %%jit']);
  expect(highlight('x = """a\nb"""')[1]).toEqual([{ colour: 'string', text: 'b"""' }]);
});

test('a hostile line takes no time', () => {
  const line = `${'"\\'.repeat(20_000)}${'('.repeat(20_000)}`;
  expect(highlight(line)[0].map(token => token.text).join('')).toBe(line);
});

test('search goes across levels', () => {
  const found = search(program('neuron'), 'TANH');
  expect(found.lines).toEqual([3]);
  expect([...found.ops.keys()]).toEqual(['jaxpr', 'stablehlo', 'hlo']);
});
test('words are searched together', () => {
  const loop = program('loop');
  const jaxpr = loop.level('jaxpr')!;
  expect(search(loop, 'jit g').ops.get('jaxpr')!.map(op => jaxpr.opName(op))).toEqual(['jit', 'jit', 'jit']);
});
test('a type is found', () => expect(search(program('neuron'), 'f32[]').ops.get('jaxpr')!.length).toBe(4));
test('nothing is found by nothing', () => expect(search(program('neuron'), '  ').count).toBe(0));
test('a value is found by its name, where it is made and where it is taken', () => {
  expect(search(new Program(long(100)), 'v42').ops.get('jaxpr')).toEqual([42, 43]);
});

test('what was called is found, and said from the outside in', () => {
  const data = structuredClone(program('neuron').data);
  const at = (text: string) => data.strings.push(text) - 1;
  data.calls = { name: [at('Model.__call__'), at('jax.nn.softmax')], kind: [at('function'), at('library')], span: [-1, -1],
    parent: [-1, 0], path: [-1, at('blocks[0].attn')] };
  const jaxpr = data.levels.find(level => level.name === 'jaxpr')!;
  jaxpr.ops.call = jaxpr.ops.name.map((_, op) => [1, 0][op] ?? -1);
  const found = new Program(data);
  expect(search(found, 'softmax').ops.get('jaxpr')).toEqual([0]);
  expect(search(found, 'model.__call__').ops.get('jaxpr')).toEqual([0, 1]);
  expect(search(found, 'attn').ops.get('jaxpr')).toEqual([0]);
  expect(found.level('jaxpr')!.calls(0)).toEqual(['Model.__call__', 'jax.nn.softmax (blocks[0].attn)']);
  data.calls.parent = [1, 0];
  expect(() => new Program(data)).toThrow('before its caller');
});
