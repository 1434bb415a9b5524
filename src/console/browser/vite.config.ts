import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, loadEnv, type Plugin } from 'vite';
import { PAGES_SOURCES } from '../../../build.js';

const ROOT = join(import.meta.dirname, '../../..');
const OUTPUT_FOLDER = join(ROOT, 'dist/console/browser');

/** Makes the build fail if it uses sources outside of the folders that build.js watches. */
const knownSourcesPlugin: Plugin = {
  name: 'known-sources',
  apply: 'build',
  buildEnd() {
    const folders = [...PAGES_SOURCES, 'node_modules'].map((folder) => join(ROOT, folder, sep));
    const foreignModules = [...this.getModuleIds()].filter(
      (id) => id.startsWith(ROOT) && !folders.some((each) => id.startsWith(each)),
    );
    if (foreignModules.length > 0)
      this.error(`PAGES_SOURCES of build.js lacks the folder of ${foreignModules.join(', ')}`);
  },
};

const compressedFiles: Plugin = {
  name: 'compressed',
  apply: 'build',
  writeBundle() {
    const names = readdirSync(OUTPUT_FOLDER, { recursive: true, encoding: 'utf8' });
    for (const name of names.filter((each) => /\.(html|js|css|svg)$/.test(each))) {
      const content = readFileSync(join(OUTPUT_FOLDER, name));
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
      writeFileSync(join(OUTPUT_FOLDER, `${name}.br`), brotliCompressSync(content, { params }));
      writeFileSync(join(OUTPUT_FOLDER, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

const { PORT = '3000' } = loadEnv('development', import.meta.dirname, 'PORT');

export default defineConfig({
  root: import.meta.dirname,
  plugins: [knownSourcesPlugin, compressedFiles],
  // For npm run start:dev: serves the sources, and forwards the API to the service.
  server: { strictPort: true, proxy: { '/api': `http://127.0.0.1:${PORT}` } },
  build: {
    outDir: OUTPUT_FOLDER,
    emptyOutDir: true,
    target: 'es2023',
    // Assets are not inlined as data: addresses, because the content security policy of the pages forbids these.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
