/** The diagrams as a script of their own: it comes with programs that have any, and waits until an inspector asks. */

import { checkDrawings } from '../drawings';
import { inflate } from '../inflate';
import { DiagramPane } from '../panes/diagram';
import { parts } from '../parts';

parts.diagrams = async (store, root, signal) => {
  const { program } = store.state;
  const drawings = JSON.parse(await inflate(program.data.drawings!));
  checkDrawings(program, drawings);
  return new DiagramPane(store, drawings, root, signal).element;
};
