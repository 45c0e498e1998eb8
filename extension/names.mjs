// Writes names.json: the names of members that the build may shorten, and only it has to know.
//
// A member may be shortened if every use of its name in src/ means a member that src/ itself declares: none of the
// browser, of Jupyter, of a saved program or of an answer of the kernel. The compiler knows what each use means.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const here = new URL('.', import.meta.url);
const at = path => fileURLToPath(new URL(path, here));
// What these declare is a form that others read or write.
const CONTRACTS = ['schema', 'lab/types', 'entries/html', 'entries/lab', 'entries/widget'].map(name => at(`src/${name}.ts`));

/** The names, in their order, and why each of the others is none of them. */
export function ownNames() {
  const config = ts.parseJsonConfigFileContent(ts.readConfigFile(at('tsconfig.json'), ts.sys.readFile).config, ts.sys, at('.'));
  const program = ts.createProgram(config.fileNames, config.options);
  const checker = program.getTypeChecker();
  const own = new Set(), foreign = new Map();

  function note(name, symbols) {
    const places = symbols.flatMap(symbol => symbol?.declarations ?? []);
    const stranger = !places.length || places.find(place => {
      const file = place.getSourceFile();
      return file.isDeclarationFile || CONTRACTS.includes(file.fileName);
    });
    if (stranger) foreign.set(name.text, stranger === true ? 'of no known type' : stranger.getSourceFile().fileName);
    else own.add(name.text);
  }

  /** What a key of an object literal or of a pattern stands for: the member of the type that is expected there. */
  function expected(type, name) {
    const found = (type.isUnionOrIntersection() ? type.types : [type]).map(one => one.getProperty(name.text)).filter(Boolean);
    return found.length ? found : [undefined];
  }

  function visit(node) {
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.name)) {
      note(node.name, expected(checker.getNonNullableType(checker.getTypeAtLocation(node.expression)), node.name).map(one => one ?? checker.getSymbolAtLocation(node.name)));
    } else if (ts.isObjectLiteralExpression(node)) {
      const type = checker.getContextualType(node);
      for (const one of node.properties) {
        if (!one.name || !ts.isIdentifier(one.name)) continue;
        // `{ tangent: '∂' }[phase]`: the keys are data.
        if (ts.isElementAccessExpression(node.parent)) foreign.set(one.name.text, 'a key that is looked up');
        else note(one.name, type ? expected(checker.getNonNullableType(type), one.name) : [checker.getSymbolAtLocation(one.name)]);
      }
    } else if (ts.isObjectBindingPattern(node)) {
      const type = checker.getTypeAtLocation(node);
      const given = node.parent.initializer ? checker.getTypeAtLocation(node.parent.initializer) : type;
      for (const one of node.elements) {
        const name = one.propertyName ?? one.name;
        if (ts.isIdentifier(name) && !one.dotDotDotToken) note(name, expected(checker.getNonNullableType(given.flags & ts.TypeFlags.Object || given.isUnionOrIntersection() ? given : type), name));
      }
    } else if (ts.isStringLiteralLike(node) && /^\w+$/.test(node.text) && keyed(node)) {
      foreign.set(node.text, 'a text that is used as a key');
    } else if (ts.isClassElement(node) && node.name && ts.isIdentifier(node.name)) {
      note(node.name, [checker.getSymbolAtLocation(node.name)]);
      // A subclass of what Jupyter gives has members that Jupyter calls.
      if (ts.isClassExpression(node.parent)) foreign.set(node.name.text, 'of a class of Jupyter');
    }
    ts.forEachChild(node, visit);
  }

  /** Whether a text names a member: its type is that of the keys of something. */
  function keyed(node) {
    return ts.isElementAccessExpression(node.parent) || ts.isLiteralTypeNode(node.parent);
  }

  for (const file of program.getSourceFiles()) if (!file.isDeclarationFile) visit(file);
  return { names: [...own].filter(name => !foreign.has(name) && name.length > 1).sort(), foreign };
}

export function writeNames() {
  const text = `${JSON.stringify(ownNames().names, null, 0).replaceAll(',', ', ')}\n`;
  const target = at('names.json');
  if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeNames();
