/** The diagrams as a script of their own: it comes with programs that have any, and waits until an inspector asks. */

import { checkDrawings } from '../drawings';
import { inflate } from '../inflate';
import { Program } from '../model';
import { DiagramPane, adopt } from '../panes/diagram';
import { kernelElement } from '../panes/kernels';
import { parts } from '../parts';
import { Drawings } from '../schema';

async function drawingsOf(program: Program): Promise<Drawings> {
  const drawings = JSON.parse(await inflate(program.data.drawings!));
  checkDrawings(program, drawings);
  return drawings;
}

parts.diagrams = async (store, root, signal) => new DiagramPane(store, await drawingsOf(store.state.program), root, signal).element;

parts.kernels = async (program, root, ops) => {
  adopt(root);
  const { kernels = [] } = await drawingsOf(program);
  return kernels.filter(({ op }) => ops.has(program.level('jaxpr')!.place(op))).map(one => kernelElement(one));
};
