/** The renderer of saved programs, with the notebook's kernel behind it, and its settings. */

import type { Host, Mounted, Settings } from '../mount';
import { parts } from '../parts';
import { askKernel } from './kernel';
import { App, MimeModel, Notebook, Panel, RenderMime, SettingRegistry, Tracker, WidgetClass } from './types';

export const MIME = 'application/vnd.jaxnb.program.v1+json';
const ID = 'jaxnb:plugin';

export interface Shared {
  /** Loads a script that stands beside the plugin's: "inspector" or "diagrams". */
  bring: (name: string) => Promise<unknown>;
  Widget: WidgetClass;
  IRenderMimeRegistry: unknown;
  INotebookTracker: unknown;
  ISettingRegistry: unknown;
}

/** The plugin, made of what Lab shares. */
export function labPlugin(shared: Shared): object {
  return {
    id: ID,
    description: 'Shows what a JAX cell became.',
    autoStart: true,
    requires: [shared.IRenderMimeRegistry],
    optional: [shared.INotebookTracker, shared.ISettingRegistry],
    async activate(app: App, rendermime: RenderMime, tracker: Tracker | null, registry: SettingRegistry | null) {
      let settings: Partial<Settings> = {};
      const Renderer = rendererClass(shared, app, rendermime, tracker, () => settings);
      // Not safe in Jupyter's sense: in a notebook that is not trusted the text is shown instead.
      rendermime.addFactory({ safe: false, mimeTypes: [MIME], createRenderer: (options: object) => new Renderer(options) }, 0);
      document.addEventListener('click', event => followToCell(event, tracker), true);
      try {
        const loaded = await registry?.load(ID);
        const read = () => { settings = readSettings(loaded!.composite); };
        loaded?.changed.connect(read);
        if (loaded) read();
      } catch (error) {
        console.warn('jaxnb: the settings could not be read', error);
      }
    }
  };
}

/** A link of ours to a cell, such as those of `%jaxnb session`: Jupyter itself follows none within a notebook. */
function followToCell(event: MouseEvent, tracker: Tracker | null): void {
  const link = (event.target as Element).closest?.<HTMLAnchorElement>('.jnb a[href*="#cell-id="]');
  if (!link) return;
  const id = decodeURIComponent(link.hash.slice('#cell-id='.length));
  tracker?.forEach(({ content }) => {
    const cell = content.node.contains(link) ? content.widgets.findIndex(one => one.model.id === id) : -1;
    if (cell < 0) return;
    event.preventDefault();
    event.stopPropagation();
    content.activeCellIndex = cell;
    void content.scrollToCell(content.widgets[cell], 'center');
  });
}

function readSettings(composite: Record<string, any>): Partial<Settings> {
  return { open: composite.open === true, levels: composite.levels ?? [], measures: composite.columns ?? null };
}

/** The last two programs of each cell, so that a run can be compared with the one before it. */
const runs = new Map<string, { now: string; before: string | null }>();

function previousRun(key: string, data: unknown): unknown {
  const text = JSON.stringify({ ...(data as object), status: undefined });
  const known = runs.get(key);
  if (known?.now !== text) runs.set(key, { now: text, before: known?.now ?? null });
  const before = runs.get(key)!.before;
  return before === null ? undefined : JSON.parse(before);
}

let loading: Promise<unknown> | undefined;
let opened = 0;

function rendererClass({ Widget, bring }: Shared, app: App, rendermime: RenderMime, tracker: Tracker | null, settings: () => Partial<Settings>): new (options: object) => object {
  return class extends Widget {
    private mounted?: Mounted;
    private model?: MimeModel;

    constructor(_options: object) {
      super();
      this.addClass('jp-RenderedJaxnb');
      this.node.style.overflow = 'visible';
    }

    /** Called before this is part of the page; what the surroundings are is known only after that. */
    renderModel(model: MimeModel): Promise<void> {
      this.model = model;
      return this.isAttached ? this.load() : Promise.resolve();
    }

    onAfterAttach(): void { if (this.model) void this.load(); }

    override dispose(): void {
      this.mounted?.destroy();
      super.dispose();
    }

    /** The inspector comes with the first program that is shown. */
    private async load(): Promise<void> {
      try {
        if (!parts.mount) await (loading ??= bring('inspector'));
        if (!this.isDisposed) this.show();
      } catch (error) {
        loading = undefined;
        console.warn(error);
        this.node.replaceChildren(this.still(this.model!));
      }
    }

    private show(): void {
      const model = this.model!;
      this.mounted?.destroy();
      const data = model.data[MIME];
      const said = model.metadata[MIME] ?? {};
      const place = this.place();
      const line = String(model.data['text/plain'] ?? '').trim().split('\n')[0];
      const host: Host = { line, bring: () => bring('diagrams'), settings: settings(), fallback: () => this.still(model) };
      if (place) {
        const { panel, notebook, cell } = place;
        host.previous = previousRun(`${panel.id} ${notebook.widgets[cell].model.id}`, data);
        host.leave = () => {
          notebook.activeCellIndex = cell;
          notebook.mode = 'command';
          notebook.activate();
          notebook.widgets[cell].node.focus({ preventScroll: true });
        };
        if (typeof said.program === 'string') {
          const ask = (question: object) => askKernel(panel.sessionContext.session?.kernel, { ...question, program: said.program });
          host.levels = Array.isArray(said.levels) ? said.levels : [];
          host.ask = level => ask({ want: 'level', level }).then(answer => answer.program);
          host.peek = name => ask({ want: 'value', name });
        }
      }
      host.aside = () => this.aside(data, host, line);
      this.mounted = parts.mount!(this.node, data, host);
    }

    /** The same once more, in a tab beside the notebook. */
    private aside(data: unknown, host: Host, line: string): void {
      const beside = new Widget();
      beside.id = `jaxnb-${++opened}`;
      beside.title.label = line.slice(0, 40) || 'jaxnb';
      beside.title.closable = true;
      beside.addClass('jp-RenderedJaxnb');
      beside.node.style.cssText = 'overflow:auto;padding:8px';
      const place = document.createElement('div');
      beside.node.append(place);
      app.shell.add(beside, 'main', { mode: 'split-right' });
      parts.mount!(place, data, { ...host, aside: undefined, settings: { ...host.settings, open: true } });
    }

    /** The static view, which Lab draws: it has the first equations of a program that was too long to be saved. */
    private still(model: MimeModel): HTMLElement {
      const drawn = rendermime.createRenderer('text/html');
      void drawn.renderModel(model).then(() => drawn.node.querySelector('details')?.setAttribute('open', ''));
      return drawn.node;
    }

    private place(): { panel: Panel; notebook: Notebook; cell: number } | null {
      let found: { panel: Panel; notebook: Notebook; cell: number } | null = null;
      tracker?.forEach(panel => {
        if (found || !panel.content.node.contains(this.node)) return;
        const cell = panel.content.widgets.findIndex(one => one.node.contains(this.node));
        if (cell >= 0) found = { panel, notebook: panel.content, cell };
      });
      return found;
    }
  };
}
