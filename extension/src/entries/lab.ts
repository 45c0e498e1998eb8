/**
 * The plugin of JupyterLab and Notebook 7. It is its own federated module: the protocol between Lab and a prebuilt
 * extension is `init(scope)` and `get(name)`, so no bundler of Lab's is needed, and nothing of Lab is bundled.
 */

import { labPlugin, Shared } from '../lab/plugin';

type Scope = Record<string, Record<string, { get(): Promise<() => unknown> | (() => unknown) }>>;

let scope: Scope = {};

// The scripts that are loaded later stand beside this one.
const own = (document.currentScript as HTMLScriptElement | null)?.src;

/** Loads a script of the same build. */
function bring(name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.onload = resolve;
    script.onerror = () => reject(new Error(`jaxnb: ${name} could not be loaded`));
    script.src = new URL(`${name}.__JAXNB_BUILD__.js`, own).href;
    document.head.append(script);
  });
}

async function shared(name: string): Promise<any> {
  const versions = Object.values(scope[name] ?? {});
  if (!versions.length) throw new Error(`jaxnb: this Jupyter does not share ${name}`);
  return (await versions[versions.length - 1].get())();
}

const container = {
  init(given: Scope): void { scope = given; },
  async get(): Promise<() => unknown> {
    const names = ['@lumino/widgets', '@jupyterlab/rendermime', '@jupyterlab/notebook', '@jupyterlab/settingregistry'];
    const [widgets, rendermime, notebook, settings] = await Promise.all(names.map(shared));
    const found: Shared = {
      bring, Widget: widgets.Widget, IRenderMimeRegistry: rendermime.IRenderMimeRegistry,
      INotebookTracker: notebook.INotebookTracker, ISettingRegistry: settings.ISettingRegistry
    };
    const plugin = labPlugin(found);
    return () => ({ __esModule: true, default: plugin });
  }
};

((window as any)._JUPYTERLAB ??= {}).jaxnb = container;
