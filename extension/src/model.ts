/** A decoded program with the facts that the panes ask for; they stay columns, because a level can have 100,000 ops. */

import { COLUMNS as KNOWN, Data, Level as LevelData, OpColumn } from './schema';
import { decode } from './decode';
import { shortType } from './format';
import { Tree } from './tree';

/** Those of the data: memory is known by other means. */
export type Column = OpColumn;
export const COLUMNS: Column[] = KNOWN.flatMap(one => one.of === 'op' ? [one.name] : []);

export interface Span { line: number; column: number; endLine: number; endColumn: number; file: string }

/** One level: ops are counted through all computations, values and computations as in the data. */
export class Level {
  readonly size: number;
  /** The first op of each computation, and at the end how many there are. */
  readonly start: Int32Array;
  /** The computation of each op. */
  readonly home: Int32Array;
  /** The op that owns each computation, -1 for entries. */
  readonly owner: Int32Array;
  private makers?: Int32Array;
  private pieces?: number[];
  private readers?: Map<number, number[]>;
  private readonly literals: Set<number>;

  constructor(readonly program: Program, readonly index: number, readonly data: LevelData) {
    const counts = data.computations.ops;
    this.size = data.ops.name.length;
    this.start = new Int32Array(counts.length + 1);
    this.home = new Int32Array(this.size);
    counts.forEach((count, at) => {
      this.start[at + 1] = this.start[at] + count;
      this.home.fill(at, this.start[at], this.start[at + 1]);
    });
    this.owner = new Int32Array(counts.length).fill(-1);
    data.ops.bodies.forEach((bodies, op) => bodies.forEach(body => {
      if (body >= data.entries && this.owner[body] === -1 && this.home[op] !== body) this.owner[body] = op;
    }));
    this.literals = new Set(data.values.literal);
  }

  get name(): string { return this.data.name; }

  opName(op: number): string { return this.program.text(this.data.ops.name[op]); }
  valueName(value: number): string { return this.program.text(this.data.values.name[value]); }
  isLiteral(value: number): boolean { return this.literals.has(value); }
  computationName(at: number): string { return this.program.text(this.data.computations.name[at]); }

  /** The bodies that an op owns; in damaged data another one may name them, too. */
  bodies(op: number): number[] { return this.data.ops.bodies[op].filter(body => this.owner[body] === op); }

  /** `f32[64,128]`, with `~` where it is weakly typed; "" where nothing is known. */
  type(value: number): string { return this.program.type(this.data.values.aval[value]); }

  /** Bytes of a value, -1 where they are not known. */
  nbytes(value: number): number { return this.program.nbytes(this.data.values.aval[value]); }

  sharding(value: number): string { return this.program.text(this.data.values.sharding?.[value] ?? -1); }

  /** The named axes that a value varies over: `x=4 y`. */
  axes(value: number): string {
    const pairs = this.data.values.axes?.[value] ?? [];
    const said: string[] = [];
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      said.push(this.program.text(pairs[at]) + (pairs[at + 1] < 0 ? '' : `=${pairs[at + 1]}`));
    }
    return said.join(' ');
  }

  /** Whether an op converts what the code did not ask to be converted. */
  promotes(op: number): boolean { return this.data.ops.attributes[op].some((text, at) => at % 2 === 0 && this.program.text(text) === 'promotion'); }

  /** How many ops do. */
  get promotions(): number {
    this.promoting ??= this.data.ops.attributes.filter((_, op) => this.promotes(op)).length;
    return this.promoting;
  }

  private promoting: number | null = null;

  attributes(op: number): [string, string][] {
    const texts = this.data.ops.attributes[op];
    const pairs: [string, string][] = [];
    for (let at = 0; at + 1 < texts.length; at += 2) {
      pairs.push([this.program.text(texts[at]), this.program.text(texts[at + 1])]);
    }
    return pairs;
  }

  /** The calls that an op was made in, the outermost first: `Block.__call__ (blocks[0])`. */
  calls(op: number): string[] {
    const { calls } = this.program.data;
    const said: string[] = [];
    for (let at = this.data.ops.call?.[op] ?? -1; calls && at >= 0; at = calls.parent?.[at] ?? -1) {
      const path = this.program.text(calls.path?.[at] ?? -1);
      const name = this.program.text(calls.name[at]);
      if (name) said.unshift(path ? `${name} (${path})` : name);
    }
    return said;
  }

  phase(op: number): string { return this.program.text(this.data.ops.phase?.[op] ?? -1) || 'primal'; }
  /** Whether an op runs backwards, or again for that. */
  isBackward(op: number): boolean { return ['transposed', 'rematerialised'].includes(this.phase(op)); }
  scopes(op: number): string[] { return (this.data.ops.scopes?.[op] ?? []).map(at => this.program.text(at)); }
  span(op: number): Span | null { return this.program.span(this.data.ops.span[op]); }

  /** The line in the cell; of what was made in other files that which called it; 0 where there is none. */
  line(op: number): number {
    const { calls } = this.program.data;
    let found = this.program.cellLine(this.data.ops.span[op]);
    for (let at = this.data.ops.call?.[op] ?? -1; !found && calls && at >= 0; at = calls.parent?.[at] ?? -1) found = this.program.cellLine(calls.span[at]);
    return found;
  }

  /** What an op costs, -1 where it is not known. */
  cost(op: number, column: Column): number { return this.data.ops[column]?.[op] ?? -1; }

  /** How often an op runs, -1 where nobody knows. */
  times(op: number): number { return this.data.ops.times?.[op] ?? 1; }

  /** The columns in which something is known. */
  get columns(): Column[] { return COLUMNS.filter(column => this.data.ops[column]?.some(one => (one ?? -1) > 0)); }

  /**
   * The ops that run one by one: those of the entries, and those in the bodies of what costs nothing by itself, as loops.
   * A fusion is one piece, and what is in it is not among them.
   */
  get apart(): number[] {
    if (!this.pieces) {
      this.pieces = [];
      const waiting = Array.from({ length: this.data.entries }, (_, at) => at);
      for (const at of waiting) for (let op = this.start[at]; op < this.start[at + 1]; op++) {
        const bodies = this.bodies(op);
        if (bodies.length && !COLUMNS.some(column => this.cost(op, column) > 0)) waiting.push(...bodies);
        else this.pieces.push(op);
      }
    }
    return this.pieces;
  }

  /** The op that makes a value, -1 for inputs, constants and literals. */
  maker(value: number): number {
    if (!this.makers) {
      this.makers = new Int32Array(this.data.values.name.length).fill(-1);
      this.data.ops.outputs.forEach((outputs, op) => outputs.forEach(one => { this.makers![one] = op; }));
    }
    return this.makers[value];
  }

  /** The ops that take a value, in their order. */
  users(value: number): number[] {
    if (!this.readers) {
      this.readers = new Map();
      this.data.ops.inputs.forEach((inputs, op) => inputs.forEach(one => {
        const found = this.readers!.get(one);
        if (!found) this.readers!.set(one, [op]);
        else if (found.at(-1) !== op) found.push(op);
      }));
    }
    return this.readers.get(value) ?? [];
  }

  /** The user's name for an input or output of an entry, "" if there is none. */
  userName(value: number): string {
    const { inputs, outputs, input_names, output_names } = this.data.computations;
    for (let at = 0; at < this.data.entries; at++) {
      const names: string[] = [];
      outputs[at].forEach((one, place) => { if (one === value) names.push(this.program.text(output_names[at][place] ?? -1)); });
      inputs[at].forEach((one, place) => { if (one === value) names.push(this.program.text(input_names[at][place] ?? -1)); });
      const said = names.filter(Boolean).join(', ');
      if (said) return said;
    }
    return '';
  }

  /** Op `at` of a computation, counted through the level. */
  place(pair: number[]): number { return this.start[pair[0]] + pair[1]; }
}

/** The cell and its levels. */
export class Program {
  readonly data: Data;
  readonly lines: string[];
  readonly levels: Level[];
  /** The call trees of levels; of a program that was saved without its levels that of the first. */
  readonly trees: Tree[];
  private readonly types = new Map<number, string>();

  /** Throws `NotShown` where the data cannot be shown. */
  constructor(data: unknown) {
    this.data = decode(data);
    this.lines = this.data.source.split('\n');
    this.levels = this.data.levels.map((level, at) => new Level(this, at, level));
    this.trees = (this.data.trees ?? []).map(tree => new Tree(this, tree));
  }

  text(at: number): string { return at < 0 ? '' : this.data.strings[at] ?? ''; }
  level(name: string): Level | undefined { return this.levels.find(level => level.name === name); }

  /** The levels below the source, which have panes. */
  get lower(): Level[] { return this.levels.filter(level => level.name !== 'source'); }

  type(aval: number): string {
    if (aval < 0) return '';
    let known = this.types.get(aval);
    if (known === undefined) {
      const { dtype, shape, weak_type } = this.data.avals;
      known = `${weak_type.includes(aval) ? '~' : ''}${shortType(this.text(dtype[aval]))}[${shape[aval].join(',')}]`;
      this.types.set(aval, known);
    }
    return known;
  }

  nbytes(aval: number): number {
    if (aval < 0) return -1;
    const { shape, itemsize } = this.data.avals;
    const sizes = shape[aval];
    if (!itemsize[aval] || sizes.some(size => typeof size !== 'number')) return -1;
    return (sizes as number[]).reduce((product, size) => product * size, itemsize[aval]);
  }

  /** The line of a span in the cell, 0 if it is none. */
  cellLine(at: number): number { return at < 0 || this.text(this.data.spans.file[at]) ? 0 : this.data.spans.line[at]; }

  span(at: number): Span | null {
    if (at < 0) return null;
    const { line, column, end_line, end_column, file } = this.data.spans;
    return { line: line[at], column: column[at], endLine: end_line[at] || line[at], endColumn: end_column[at],
      file: this.text(file[at]) };
  }
}
