// What esbuild leaves: members of our own types get a mark by which it may shorten them, and what a script says often
// is said once. The compiler knows what each name means, so the sources need no naming rule.
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const here = new URL('.', import.meta.url);
const at = path => fileURLToPath(new URL(path, here));
// What these declare is a form that others read or write: its names stay.
const CONTRACTS = ['schema', 'lab/types', 'entries/html', 'entries/lab', 'entries/widget'].map(name => at(`src/${name}.ts`));
const MARK = '_$';
/** What `mangleProps` of esbuild is to be. */
export const MARKED = /_\$$/;
// Of the browser; they are there before the script is.
const GLOBALS = new Set(['String', 'document', 'Infinity', 'Number', 'Object', 'Array', 'Error', 'Map', 'Int32Array', 'Uint8Array', 'Promise', 'AbortController', 'ResizeObserver', 'Set', 'Math', 'JSON', 'Float64Array', 'getComputedStyle', 'requestAnimationFrame', 'window', 'Uint32Array', 'WeakMap', 'HTMLElement', 'performance']);
const LEAST_THIS = 3;

/** The sources of the front end, each with its own members marked; by their paths. `short`: what helps size alone is done, too. */
export function markedSources(short = true) {
  const config = ts.parseJsonConfigFileContent(ts.readConfigFile(at('tsconfig.json'), ts.sys.readFile).config, ts.sys, at('.'));
  const program = ts.createProgram(config.fileNames, config.options);
  const checker = program.getTypeChecker();
  const sources = new Map();
  for (const file of program.getSourceFiles()) {
    if (!file.isDeclarationFile) sources.set(file.fileName, edited(file.text, [...marks(file, checker), ...(short ? [...selves(file), ...arrows(file), ...bareFields(file)] : [])]));
  }
  return sources;
}

/** The marks that a file needs, as edits. */
function marks(file, checker) {
  const edits = [];
  const isOwn = symbols => symbols.length > 0 && symbols.every(symbol => symbol?.declarations?.length && symbol.declarations.every(place => {
    const { fileName, isDeclarationFile } = place.getSourceFile();
    // What a class of Jupyter's is extended by, Jupyter may call; what no type names may be looked up by a text.
    const named = !ts.isObjectLiteralExpression(place.parent) || ts.isVariableDeclaration(place.parent.parent) || ts.isReturnStatement(place.parent.parent);
    return !isDeclarationFile && !CONTRACTS.includes(fileName) && named && !ts.isClassExpression(place.parent);
  }));
  const members = (type, name) => {
    const full = checker.getNonNullableType(type);
    return (full.isUnion() ? full.types : [full]).map(one => checker.getPropertyOfType(one, name)).filter(Boolean);
  };
  const mark = (name, symbols, text = MARK) => { if (isOwn(symbols)) edits.push([name.end, name.end, text]); };
  function visit(node) {
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.name)) {
      mark(node.name, members(checker.getTypeAtLocation(node.expression), node.name.text));
    } else if (ts.isObjectLiteralExpression(node)) {
      const type = checker.getContextualType(node) ?? checker.getTypeAtLocation(node);
      for (const one of node.properties) {
        if (!one.name || !ts.isIdentifier(one.name)) continue;
        mark(one.name, members(type, one.name.text), ts.isShorthandPropertyAssignment(one) ? `${MARK}: ${one.name.text}` : MARK);
      }
    } else if (ts.isObjectBindingPattern(node)) {
      const type = checker.getTypeAtLocation(node);
      const initial = node.parent.initializer;
      for (const one of node.elements) {
        const name = one.propertyName ?? one.name;
        if (!ts.isIdentifier(name) || one.dotDotDotToken) continue;
        const symbols = members(initial && ts.isVariableDeclaration(node.parent) ? checker.getTypeAtLocation(initial) : type, name.text);
        mark(name, symbols, one.propertyName ? MARK : `${MARK}: ${name.text}`);
      }
    } else if ((ts.isClassElement(node) || ts.isTypeElement(node)) && node.name && ts.isIdentifier(node.name) && !ts.isObjectLiteralExpression(node.parent)) {
      mark(node.name, [checker.getSymbolAtLocation(node.name)]);
    } else if (ts.isParameter(node) && ts.isParameterPropertyDeclaration(node, node.parent)) {
      const { name } = node;
      // The parameter keeps its name within the constructor; the member is set by hand, first of all.
      const body = node.parent.body;
      const first = body.statements.find(one => ts.isExpressionStatement(one) && ts.isCallExpression(one.expression) && one.expression.expression.kind === ts.SyntaxKind.SuperKeyword);
      const words = node.modifiers;
      edits.push([words[0].getStart(), words.at(-1).end, '']);
      const place = first ? first.end : body.getStart() + 1;
      edits.push([place, place, ` this.${name.text}${MARK} = ${name.text};`]);
      edits.push([node.parent.parent.members.pos, node.parent.parent.members.pos, ` declare ${name.text}${MARK}: ${node.questionToken ? `undefined | (${node.type.getText()})` : node.type.getText()};`]);
    }
    ts.forEachChild(node, visit);
  }
  visit(file);
  return edits;
}

/** In methods that say `this` often it gets a name, which can be short. */
function selves(file) {
  const edits = [];
  function visit(node) {
    ts.forEachChild(node, visit);
    if (!ts.isMethodDeclaration(node) && !ts.isGetAccessor(node) && !ts.isConstructorDeclaration(node) || !node.body || ts.isClassExpression(node.parent)) return;
    if (node.parent.heritageClauses?.length && ts.isConstructorDeclaration(node)) return;
    const found = [];
    const look = one => {
      if (one.kind === ts.SyntaxKind.ThisKeyword) found.push(one);
      if (!ts.isFunctionExpression(one) && !ts.isClassLike(one)) ts.forEachChild(one, look);
    };
    look(node.body);
    if (found.length < LEAST_THIS) return;
    const place = node.body.getStart() + 1;
    edits.push([place, place, ' const self_ = this;'], ...found.map(one => [one.getStart(), one.end, 'self_']));
  }
  visit(file);
  return edits;
}

/** Members without a first value need not be said. */
function bareFields(file) {
  const classes = file.statements.filter(ts.isClassDeclaration);
  return classes.flatMap(one => one.members).filter(one => ts.isPropertyDeclaration(one) && !one.initializer).map(one => [one.name.getStart(), one.name.getStart(), 'declare ']);
}

/** Functions of a module as arrows, which are shorter. None of ours is called before its module has been read. */
function arrows(file) {
  return file.statements.filter(one => ts.isFunctionDeclaration(one) && one.body && !one.asteriskToken).flatMap(one => {
    const word = one.getChildren().find(part => part.kind === ts.SyntaxKind.FunctionKeyword);
    const isAsync = one.modifiers?.some(part => part.kind === ts.SyntaxKind.AsyncKeyword);
    const begin = isAsync ? one.modifiers.find(part => part.kind === ts.SyntaxKind.AsyncKeyword).getStart() : word.getStart();
    const body = one.body.getStart();
    return [[begin, one.name.end, `const ${one.name.text} = ${isAsync ? 'async ' : ''}`], [body, body, '=> '], [one.end, one.end, ';']];
  });
}

function edited(text, edits) {
  let made = text;
  // From the end, so that places stay; of one place in the order of the list.
  const order = edits.map((edit, row) => [...edit, row]).sort((a, b) => b[0] - a[0] || b[1] - a[1] || b[3] - a[3]);
  for (const [start, end, put] of order) made = made.slice(0, start) + put + made.slice(end);
  return made;
}

/** A script, not yet with short names, in which names and texts that come often are variables. */
export function folded(code) {
  const file = ts.createSourceFile('script.js', code, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
  const taken = new Set(), uses = new Map();
  const add = (text, start, end, put) => {
    if (!uses.has(text)) uses.set(text, []);
    uses.get(text).push([start, end, put]);
  };
  function visit(node) {
    if (ts.isIdentifier(node)) taken.add(node.text);
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.name)) {
      const optional = !!node.questionDotToken;
      add(JSON.stringify(node.name.text), optional ? node.name.getStart() : node.expression.end, node.name.end, name => `[${name}]`);
      if (ts.isIdentifier(node.expression) && node.expression.text === 'Math') add(`Math.${node.name.text}`, node.getStart(), node.end, name => name);
    } else if (ts.isStringLiteral(node) && node.getText() === JSON.stringify(node.text)) {
      const { parent } = node;
      if (ts.isPropertyAssignment(parent) && parent.name === node) add(node.getText(), node.getStart(), node.end, name => `[${name}]`);
      else if (ts.isExpressionStatement(parent) || ts.isExportDeclaration(parent) || ts.isImportDeclaration(parent)) return;
      else add(node.getText(), node.getStart(), node.end, name => (ts.isCaseClause(parent) || /\w/.test(code[node.getStart() - 1]) ? ' ' : '') + name + (/\w/.test(code[node.end]) ? ' ' : ''));
    } else if (ts.isIdentifier(node) && GLOBALS.has(node.text) && !(ts.isPropertyAccessExpression(node.parent) && node.parent.name === node) && node.parent.name !== node) {
      add(node.text, node.getStart(), node.end, name => name);
    }
    if (ts.isVoidExpression(node) && node.getText() === 'void 0' || node.kind === ts.SyntaxKind.NullKeyword) {
      add(node.getText(), node.getStart(), node.end, name => name);
    }
    ts.forEachChild(node, visit);
  }
  visit(file);
  const names = freeNames(taken);
  const edits = [], said = [], done = [];
  const gain = (text, list) => list.reduce((sum, [start, end, put]) => sum + end - start - put('xx').length, 0) - text.length - 4;
  const inside = ([start, end]) => done.some(([from, to]) => start < to && from < end);
  const byGain = [...uses].map(([text, list]) => [text, list, gain(text, list)]).sort((a, b) => Number(b[0].startsWith('Math.')) - Number(a[0].startsWith('Math.')) || b[2] - a[2]);
  for (const [text, list] of byGain) {
    const left = list.filter(one => !inside(one));
    if (gain(text, left) <= 0) continue;
    const name = names.next().value;
    said.push(`${name}=${text}`);
    for (const [start, end, put] of left) { edits.push([start, end, put(name)]); if (text.startsWith('Math.')) done.push([start, end]); }
  }
  if (!said.length) return code;
  const made = edited(code, edits);
  const begin = `let ${said.join(',')};`;
  const open = /^(?:"use strict";)?\(\(\)=>\{/.exec(made);
  return open ? open[0] + begin + made.slice(open[0].length) : begin + made;
}

/** Names that nothing in the script has; esbuild makes them short. */
function* freeNames(taken) {
  for (let count = 0; ; count++) if (!taken.has(`often${count}`)) yield `often${count}`;
}
