/** The widget of a live kernel, as anywidget wants it: `jaxnb.widget(run)`. */

import { Host, mount } from '../mount';

interface Model {
  get(name: string): any;
  send(content: unknown): void;
  on(name: string, call: (...args: any[]) => void): void;
  off(name: string, call: (...args: any[]) => void): void;
}

let count = 0;

/** Questions to the kernel and their answers, by number. */
function asker(model: Model): (question: object) => Promise<any> {
  return question => new Promise((resolve, reject) => {
    const number = ++count;
    const hear = (answer: any) => {
      if (answer?.number !== number) return;
      model.off('msg:custom', hear);
      if (answer.error) reject(new Error(answer.error));
      else resolve(answer);
    };
    model.on('msg:custom', hear);
    model.send({ ...question, number });
  });
}

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const ask = asker(model);
    const host = (): Host => ({
      line: model.get('line'), levels: model.get('levels'), previous: model.get('previous') ?? undefined, settings: { open: true }, maps: true,
      ask: level => ask({ want: 'level', level }).then(answer => answer.program),
      peek: name => ask({ want: 'value', name })
    });
    const place = document.createElement('div');
    el.append(place);
    let mounted = mount(place, model.get('program'), host());
    const again = () => {
      mounted.destroy();
      mounted = mount(place, model.get('program'), host());
    };
    model.on('change:program', again);
    return () => { model.off('change:program', again); mounted.destroy(); };
  }
};
