/** The call tree of a level as saved: lines, what they call, and what each of these costs. */

import { Level, Program } from './model';
import type { Measure } from './costs';
import { Tree as Data } from './schema';
import { visible } from './format';

export class Tree {
  readonly size: number;
  readonly children: number[][];
  private below?: Map<number, number[]>;

  constructor(readonly program: Program, readonly data: Data) {
    this.size = data.parent.length;
    this.children = data.parent.map(() => []);
    data.parent.forEach((parent, at) => { if (parent >= 0) this.children[parent].push(at); });
  }

  get level(): Level | undefined { return this.data.ops && this.program.level(this.data.level); }

  private text(at: number): string { return visible(this.data.texts[at].slice(0, 300)); }
  kind(node: number): string { return this.data.texts[this.data.kind[node]]; }
  name(node: number): string { return this.text(this.data.name[node]); }
  path(node: number): string { return this.text(this.data.path[node]); }
  file(node: number): string { return this.data.texts[this.data.file[node]]; }
  line(node: number): number { return this.data.line[node]; }

  /** Of a line its text. */
  code(node: number): string {
    return this.file(node) ? this.text(this.data.text[node]) : this.line(node) ? visible((this.program.lines[this.line(node) - 1] ?? '').trim().slice(0, 300)) : '(elsewhere)';
  }

  /** `Block.__call__ ×4 blocks[0…3]`, `scan, 12 turns`. */
  called(node: number): string {
    const turns = this.data.turns?.[node] ?? 1, alike = this.data.alike?.[node] ?? 1;
    if (this.kind(node) === 'more') return `… ${alike} more`;
    const name = `${this.name(node)}${this.kind(node) === 'loop' && turns >= 0 ? `, ${turns} turns` : ''}${alike > 1 ? ` ×${alike}` : ''}`;
    return this.path(node) ? `${name}  ${this.path(node)}` : name;
  }

  /** The nearest line of the cell that a node is or stands below, 0 if there is none. */
  lineOf(node: number): number {
    for (let at = node; at > 0; at = this.data.parent[at]) if (this.kind(at) === 'line' && !this.file(at)) return this.line(at);
    return 0;
  }

  /** What a node costs with all below, -1 where nobody knows; the part of it that runs backwards. */
  cost(node: number, measure: Measure): number { return this.data.total[this.data.measures.indexOf(measure)]?.[node] ?? -1; }
  behind(node: number, measure: Measure): number { return this.data.behind[this.data.measures.indexOf(measure)]?.[node] ?? 0; }

  /** The ops of a node and all below, as long as the level is there. */
  ops(node: number): number[] {
    if (!this.below) {
      const below = this.below = new Map<number, number[]>();
      this.data.ops?.forEach((home, op) => {
        for (let at = home; at >= 0; at = this.data.parent[at]) {
          const found = below.get(at);
          if (found) found.push(op); else below.set(at, [op]);
        }
      });
    }
    return this.below.get(node) ?? [];
  }

  /** The nodes from below the cell to the one that an op belongs to. */
  way(op: number): number[] {
    const found: number[] = [];
    for (let at = this.data.ops?.[op] ?? 0; at > 0; at = this.data.parent[at]) found.unshift(at);
    return found;
  }
}
