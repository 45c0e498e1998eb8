// Writes src/schema.ts: the types of a saved program and its columns, from the one contract,
// jaxnb/program/program.schema.json.
import { readFileSync, writeFileSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = new URL('.', import.meta.url);
export const contract = JSON.parse(readFileSync(new URL('../jaxnb/program/program.schema.json', here), 'utf8'));

/** The TypeScript type of a schema; only the words that the contract uses are known. */
function typeOf(schema, indent = '') {
  if (schema.$ref) return nameOf(schema.$ref.split('/').at(-1));
  if ('const' in schema) return typeof schema.const === 'number' ? 'number' : JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map(one => JSON.stringify(one)).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map(one => typeOf({ ...schema, type: one }, indent)).join(' | ');
  if (schema.prefixItems) return `[${schema.prefixItems.map(one => typeOf(one, indent)).join(', ')}]`;
  if (schema.type === 'array') {
    const item = typeOf(schema.items, indent);
    return item.includes(' ') && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === 'object' && !schema.properties) return `Record<string, ${typeOf(schema.additionalProperties, indent)}>`;
  if (schema.type === 'object') {
    const inner = `${indent}  `;
    const rows = Object.entries(schema.properties).map(([name, one]) => {
      const doc = one.description ? `${inner}/** ${one.description} */\n` : '';
      return `${doc}${inner}${name}${schema.required?.includes(name) ? '' : '?'}: ${typeOf(one, inner)};\n`;
    });
    return `{\n${rows.join('')}${indent}}`;
  }
  const plain = { string: 'string', boolean: 'boolean', number: 'number', integer: 'number', null: 'null' }[schema.type];
  if (!plain) throw new Error(`schema.mjs does not know ${JSON.stringify(schema)}`);
  return plain;
}

function nameOf(definition) {
  return definition.split('_').map(word => word[0].toUpperCase() + word.slice(1)).join('');
}

function columnsOf(columns) {
  const ofOps = columns.filter(one => one.of === 'op').map(one => JSON.stringify(one.name));
  return [
    '/** What is shown beside ops and lines, the most telling first. */',
    `export const COLUMNS = [\n${columns.map(one => `  ${JSON.stringify(one)}`).join(',\n')}\n] as const;\n`,
    `/** The columns of the data. */\nexport type OpColumn = ${ofOps.join(' | ')};\n`
  ].join('\n');
}

export function typesOf(schema) {
  const parts = Object.entries(schema.$defs).map(([name, one]) => `export type ${nameOf(name)} = ${typeOf(one)};\n`);
  const version = schema.properties.version.const;
  return [
    '// Written by schema.mjs from jaxnb/program/program.schema.json. Change that, not this.\n',
    `/** The version of the format that is understood. */\nexport const VERSION = ${version};\n`,
    columnsOf(schema['x-columns']),
    ...parts,
    `export type Data = ${typeOf(schema)};\n`
  ].join('\n');
}

export function writeTypes() {
  const target = new URL('src/schema.ts', here);
  const text = typesOf(contract);
  if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeTypes();
