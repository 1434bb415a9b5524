import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, loadEnv, type Plugin } from 'vite';
import { PAGES_SOURCES } from '../../../build.js';

const ROOT = join(import.meta.dirname, '../../..');
const OUT = join(ROOT, 'dist/console/browser');

/** Fails on sources outside of the folders that build.js watches for changes. */
const knownSources: Plugin = {
  name: 'known-sources',
  apply: 'build',
  buildEnd() {
    const folders = [...PAGES_SOURCES, 'node_modules'].map((folder) => join(ROOT, folder, sep));
    const others = [...this.getModuleIds()].filter(
      (id) => id.startsWith(ROOT) && !folders.some((each) => id.startsWith(each)),
    );
    if (others.length > 0) this.error(`PAGES_SOURCES of build.js lacks the folder of ${others.join(', ')}`);
  },
};

/** Writes the compressed forms beside each file, at the highest level. */
const compressed: Plugin = {
  name: 'compressed',
  apply: 'build',
  writeBundle() {
    const names = readdirSync(OUT, { recursive: true, encoding: 'utf8' });
    for (const name of names.filter((each) => /\.(html|js|css|svg)$/.test(each))) {
      const content = readFileSync(join(OUT, name));
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
      writeFileSync(join(OUT, `${name}.br`), brotliCompressSync(content, { params }));
      writeFileSync(join(OUT, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

const { PORT = '3000' } = loadEnv('development', import.meta.dirname, 'PORT');

export default defineConfig({
  root: import.meta.dirname,
  plugins: [knownSources, compressed],
  // npm run start:dev: pages of the sources, and the service's API.
  server: { strictPort: true, proxy: { '/api': `http://127.0.0.1:${PORT}` } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: 'es2023',
    // The content security policy of the pages forbids data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
