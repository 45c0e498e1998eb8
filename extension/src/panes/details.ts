/** Under the panes: what the chosen op, line or value is, with its operands, costs and counterparts. */

import { button, Child, el, fill, table } from '../dom';
import { formatBytes, PHASES, shortened, visible } from '../format';
import { fateOf, Linked, Target } from '../links';
import { COLUMNS, Level, Program } from '../model';
import { Store } from '../store';
import { formatCost, NAMES } from '../costs';
import { sayLinked } from '../say';

const LONGEST = 4000;
const MOST = 24;

export class Details {
  readonly element = el('div.details');
  private readonly status = el('div.status');
  private readonly body = el('div.facts');

  /**
   * @param peek asks the kernel for a look at a value; absent where there is no kernel.
   * @param kernels draws the kernels of Pallas that something is about.
   */
  constructor(private readonly store: Store, signal: AbortSignal, private readonly peek?: (name: string) => void, private readonly kernels?: (linked: Linked) => HTMLElement | null) {
    this.element.append(this.status, this.body);
    store.on(state => [state.hot, state.pin], () => this.say(), signal);
    store.on(state => [state.pin], () => this.draw(), signal);
    this.say();
    this.draw();
  }

  private say(): void {
    const { hot, pin, program } = this.store.state;
    // What is below tells of what is pinned, and so does this.
    const linked = pin ?? hot;
    this.status.textContent = linked ? sayLinked(program, linked) : 'Point at a line or an op to see what it is at the other levels; click to keep it.';
    this.status.classList.toggle('idle', !linked);
  }

  private draw(): void {
    const { pin, program } = this.store.state;
    this.body.hidden = !pin;
    if (pin) fill(this.body, ...this.facts(program, pin), this.kernels?.(pin));
  }

  private facts(program: Program, pin: Linked): Child[] {
    const { target } = pin;
    if (target.kind === 'line') return this.line(program, pin);
    const level = program.level(target.level)!;
    if (target.kind === 'ops') return this.ops(level, target.ops, target.said);
    if (target.kind === 'value') return [this.values(level, { value: [target.value] })];
    return this.op(program, level, target.op);
  }

  private line(program: Program, linked: Linked): Child[] {
    const line = [...linked.lines.keys()][0];
    const names = program.data.names;
    const rows = names ? names.name.flatMap((name, row) => {
      const span = program.span(names.span[row]);
      return span && !span.file && span.line === line ? [[program.text(name), program.text(names.text[row])]] : [];
    }) : [];
    if (!rows.length) return [el('p', `Line ${line}: ${shortened(visible(program.lines[line - 1] ?? ''), 400)}`)];
    return [table(['name', 'is'], rows.slice(0, MOST).map(([name, text]) =>
      [el('code', clip(name)), el('code', clip(text)), this.peekButton(name)]), [], el('caption', 'names after this line'))];
  }

  /** Of ops that belong together what they cost. */
  private ops(level: Level, ops: number[], said: string): Child[] {
    const facts: [string, string][] = [['ops', ops.length.toLocaleString('en-US')]];
    const backward = ops.filter(op => level.isBackward(op)).length;
    if (backward) facts.push(['backward', backward.toLocaleString('en-US')]);
    for (const column of COLUMNS) {
      const cost = ops.reduce((sum, op) => sum + Math.max(0, level.cost(op, column)), 0);
      if (cost > 0) facts.push([NAMES[column], formatCost(column, cost)]);
    }
    const calls = level.calls(ops[0] ?? 0);
    if (calls.length) facts.push(['first in', calls.join(' › ')]);
    return [el('p', el('b', clip(said, 200))), el('dl', ...facts.flatMap(([name, text]) => [el('dt', name), el('dd', clip(text))]))];
  }

  private op(program: Program, level: Level, op: number): Child[] {
    const { inputs, outputs } = level.data.ops;
    const facts: [string, string][] = [];
    for (const column of COLUMNS) {
      const cost = level.cost(op, column);
      if (cost > 0) facts.push([NAMES[column], formatCost(column, cost)]);
    }
    for (const one of program.data.derived ?? []) {
      if (one.level === level.name && one.of[op] > 0) facts.push([NAMES[one.column], `${formatCost(one.column, one.of[op])}${one.by_memory ? ` of what this device can, bound by ${one.by_memory.includes(op) ? 'memory' : 'flops'}` : ''}`]);
    }
    const times = level.times(op);
    if (times !== 1) facts.push(['runs', times < 0 ? 'unknown: inside a while' : `${times.toLocaleString('en-US')} times`]);
    if (level.phase(op) !== 'primal') facts.push(['runs', PHASES[level.phase(op)]]);
    const calls = level.calls(op);
    if (calls.length) facts.push(['in', calls.join(' › ')]);
    const scopes = level.scopes(op);
    if (scopes.length) facts.push(['scope', scopes.join(' / ')]);
    const fate = level.name === 'jaxpr' ? fateOf(program, op) : '';
    if (fate) facts.push(['compiled', fate]);
    const span = level.span(op);
    if (span) facts.push([span.file ? 'from' : 'line', span.file ? `${span.file}, line ${span.line}` : String(span.line)]);
    for (const [name, text] of level.attributes(op).slice(0, MOST)) facts.push([name, text]);
    return [
      this.values(level, { operand: inputs[op], result: outputs[op] }),
      facts.length ? el('dl', ...facts.flatMap(([name, text]) => [el('dt', clip(name)), el('dd', clip(text))])) : null
    ];
  }

  private values(level: Level, found: Record<string, number[]>): Child {
    const rows = Object.entries(found).flatMap(([role, values]) => values.slice(0, MOST).map((value, at): Child[] => {
      const maker = level.maker(value);
      const users = level.users(value);
      const user = level.userName(value);
      const spread = [level.sharding(value), level.axes(value)].filter(Boolean).join(' · ');
      return [
        at ? '' : role + (values.length > 1 ? 's' : ''),
        this.link(clip(level.valueName(value)), 'show who makes and takes this value', { kind: 'value', level: level.name, value }),
        el('code', clip(level.type(value))),
        level.nbytes(value) >= 0 ? formatBytes(level.nbytes(value)) : '',
        spread ? el('code', clip(spread)) : '',
        level.isLiteral(value) ? 'literal' : maker < 0 ? (user ? `input ${clip(user)}` : 'input') : this.go(level, maker),
        el('span.uses', ...users.slice(0, 4).map(op => this.go(level, op)), users.length > 4 ? ` and ${users.length - 4} more` : null,
          !users.length && user ? `bound to ${clip(user)}` : null),
        user ? this.peekButton(user) : ''
      ];
    }).concat(values.length > MOST ? [['', `… ${values.length - MOST} more`]] : []));
    const spread = rows.some(row => row[4]);
    const heads = ['', 'name', 'type', 'bytes', ...(spread ? ['sharding'] : []), 'made by', 'used by', ''];
    return table(heads, spread ? rows : rows.map(row => row.filter((_, at) => at !== 4)), [3]);
  }

  private go(level: Level, op: number): Child {
    return this.link(`${clip(level.opName(op), 40)}${level.line(op) ? ` :${level.line(op)}` : ''}`, 'show this op', { kind: 'op', level: level.name, op });
  }

  private link(text: string, title: string, target: Target): Child {
    return button(text, () => this.store.set({ hot: null, pin: this.store.links.find(target) }), { class: 'link', title });
  }

  private peekButton(name: string): Child {
    const peek = this.peek;
    return peek && /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? button('value', () => peek(name), { class: 'link', title: `ask the kernel what ${name} is now` }) : '';
  }
}

function clip(text: string, most = LONGEST): string { return shortened(visible(text.slice(0, most + 1)), most); }
