/** The diagrams of a saved program, checked once: what is drawn as text is text, and what is an index leads somewhere. */

import { columns, indices, list, must } from './decode';
import { Program } from './model';
import { Drawings, Grids } from './schema';

/** Throws where the diagrams are damaged. */
export function checkDrawings(program: Program, { flows = [], meshes = [], placements = [], values, ledger, processes, kernels = [] }: Drawings): void {
  const sizes: Record<string, number> = { values: program.level('jaxpr')?.data.values.name.length ?? 0, placements: placements.length };
  for (const { title, strands, knots, runs } of flows) {
    texts({ title });
    sizes.strands = columns(strands, 'text:string hue:number', sizes);
    indices(strands.thick, sizes.strands, 'thick');
    sizes.rows = columns(knots, 'left:number right:number what:string said:string kind:number line:number ops:number* value:values- ends:strands*', sizes);
    columns(runs, 'x:number row:rows end:number to:rows strand:strands- value:values-', sizes);
  }
  for (const { title, facts, grids, labels, devices, hues } of meshes) {
    texts({ title, facts });
    checkGrids(grids, columns({ labels, devices, hues }, 'labels:string devices:string hues?:number', sizes));
  }
  for (const { spec, facts, mesh, array, held, groups } of placements) {
    texts({ spec, facts });
    const count = columns(groups, 'text:string on:string hue:number strength:number', sizes);
    indices([mesh], meshes.length, 'mesh');
    indices(held, count, 'held');
    must(held.length === meshes[mesh].labels.length, 'devices that hold nothing known');
    if (array) checkGrids(array, count);
  }
  if (values) columns(values, 'value:values- role:string name:string type:string how:placements', sizes);
  if (processes) columns(processes, 'who:string hue:number seconds:number waited:number', sizes);
  for (const { op, title, facts, heads, right, rows, notes, grids } of kernels) {
    indices(op, Number.MAX_SAFE_INTEGER, 'op');
    columns({ all: [title, ...list(facts, 'facts'), ...list(notes, 'notes')] }, 'all:string', {});
    const count = columns({ heads }, 'heads:string', {});
    indices(right, count, 'right');
    for (const row of list(rows, 'rows')) must(columns({ row }, 'row:string', {}) === count, 'rows of other columns');
    for (const grid of list(grids, 'grids')) {
      texts({ title: grid.title, below: grid.below, empty: grid.empty });
      indices([grid.rows, grid.columns], 99, 'cells');
      columns(grid, 'at:cells hue:number strength:number label:string told:string', { cells: grid.rows * grid.columns });
    }
  }
  if (ledger) {
    texts({ title: ledger.title, facts: ledger.facts });
    columns(ledger.totals, 'axes:string bytes:number hues:number*', sizes);
    columns(ledger.rows, 'line:number op:number* ops:number* hues:number* lines:string kind:string over:string sent:number times:number total:number why:string', sizes);
  }
}

function texts(found: Record<string, unknown>): void { columns({ all: Object.values(found) }, 'all:string', {}); }

function checkGrids({ down, across, rows, columns: heads, captions, cells, heights, widths }: Grids, count: number): void {
  texts({ down, across });
  const sizes = {};
  columns({ captions, cells }, 'captions:string cells', sizes);
  columns({ heads, widths }, 'heads:string widths?:number', sizes);
  columns({ rows, heights }, 'rows:string heights?:number', sizes);
  for (const grid of cells) {
    must(list(grid, 'cells').length === rows.length, 'rows without a label');
    for (const row of grid) {
      indices(row, count, 'cells', -2);
      must(row.length === heads.length, 'columns without a label');
    }
  }
}
