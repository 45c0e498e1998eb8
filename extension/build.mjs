// Builds the front end into the Python package: the script for HTML, the widget, and the prebuilt extension of Lab.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { deflateSync } from 'node:zlib';
import esbuild from 'esbuild';
import { writeTypes } from './schema.mjs';
import { folded, MARKED, markedSources } from './shrink.mjs';

const here = new URL('.', import.meta.url);
const at = path => fileURLToPath(new URL(path, here));
const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8'));

// The style sheet comes deflated; `src/sheet.ts` inflates it.
const styles = {
  name: 'styles',
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await esbuild.transform(readFileSync(path, 'utf8'), { loader: 'css', minify: true, target: 'es2022', charset: 'ascii' });
      return { contents: deflateSync(code.trim(), { level: 9 }).toString('base64'), loader: 'text' };
    });
  }
};

writeTypes();
const sources = markedSources();
const marked = {
  name: 'marked',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({ contents: sources.get(path.replaceAll('\\', '/')), loader: 'ts' }));
  }
};

// The scripts of one page hand objects to one another: what is short in one is as short in all.
const ENTRIES = ['html', 'widget', 'lab', 'inspector', 'diagrams'];
const { mangleCache } = await esbuild.build({
  entryPoints: ENTRIES.map(entry => at(`src/entries/${entry}.ts`)), bundle: true, write: false, outdir: at('.'), format: 'esm',
  target: 'es2022', mangleProps: MARKED, mangleCache: {}, plugins: [styles, marked], logLevel: 'error'
});

async function bundle(entry, format) {
  // A page of HTML may be written in any encoding; what Lab and anywidget load is UTF-8.
  const charset = entry === 'html' || entry === 'diagrams' ? 'ascii' : 'utf8';
  const { outputFiles } = await esbuild.build({
    entryPoints: [at(`src/entries/${entry}.ts`)], bundle: true, minifySyntax: true, minifyWhitespace: true, write: false, format,
    target: 'es2022', charset, legalComments: 'none', keepNames: false, mangleProps: MARKED, mangleCache, plugins: [styles, marked], tsconfigRaw: { compilerOptions: { alwaysStrict: false } }
  });
  // Names are given last, so that the most used ones are the shortest.
  const { code } = await esbuild.transform(folded(outputFiles[0].text.trim()), {
    minify: true, target: 'es2022', charset, format: format === 'esm' ? 'esm' : undefined
  });
  return code.trim();
}

const hashOf = text => createHash('sha256').update(text).digest('hex').slice(0, 16);

function put(path, text) {
  mkdirSync(new URL('.', new URL(path, here)), { recursive: true });
  writeFileSync(at(path), text);
  return Buffer.byteLength(text);
}

const sizes = {};

const inPage = text => {
  if (/<\/script|<!--/i.test(text)) throw new Error('the script would end the element that it stands in');
  return text;
};
const bare = inPage(await bundle('diagrams', 'iife'));
const inspector = await bundle('inspector', 'iife');
const build = hashOf(bare + inspector + JSON.stringify(mangleCache));
const built = text => text.replaceAll('__JAXNB_BUILD__', build);
sizes.diagrams = put('../jaxnb/assets/diagrams.js', built(bare));

const script = built(inPage(await bundle('html', 'iife')));
const hash = hashOf(script);
sizes.html = put('../jaxnb/assets/inspector.js', `/*jaxnb ${hash}*/${script.replaceAll('__JAXNB_HASH__', hash)}`);
sizes.widget = put('../jaxnb/assets/widget.js', built(await bundle('widget', 'esm')));

const lab = built(await bundle('lab', 'iife'));
const remote = `static/remoteEntry.${hashOf(lab)}.js`;
rmSync(at('../jaxnb/labextension'), { recursive: true, force: true });
sizes.lab = put(`../jaxnb/labextension/${remote}`, lab);
sizes.inspector = put(`../jaxnb/labextension/static/inspector.${build}.js`, built(inspector));
put(`../jaxnb/labextension/static/diagrams.${build}.js`, built(bare));
const { name, version, description, license } = manifest;
put('../jaxnb/labextension/package.json', `${JSON.stringify({
  name, version, description, license,
  jupyterlab: { extension: true, schemaDir: 'schema', outputDir: 'labextension', _build: { load: remote, extension: './extension' } }
}, null, 2)}\n`);
put(`../jaxnb/labextension/schemas/${name}/plugin.json`, readFileSync(at('schema/plugin.json'), 'utf8'));
put(`../jaxnb/labextension/schemas/${name}/package.json.orig`, `${JSON.stringify(manifest, null, 2)}\n`);
put('../jaxnb/labextension/install.json', `${JSON.stringify({
  packageManager: 'python', packageName: 'jaxnb', uninstallInstructions: 'Use your Python package manager to uninstall jaxnb.'
}, null, 2)}\n`);
console.log(Object.entries(sizes).map(([entry, size]) => `${entry} ${(size / 1000).toFixed(1)} KB`).join(', '));
