import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const OUT = join(import.meta.dirname, '../../../dist/console/browser');

/** Beside each file what the service sends to browsers that take it: compressed once, as small as it gets. */
const compressed: Plugin = {
  name: 'compressed',
  closeBundle() {
    const names = readdirSync(OUT, { recursive: true, encoding: 'utf8' });
    for (const name of names.filter((each) => /\.(html|js|css|svg)$/.test(each))) {
      const content = readFileSync(join(OUT, name));
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
      writeFileSync(join(OUT, `${name}.br`), brotliCompressSync(content, { params }));
      writeFileSync(join(OUT, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

export default defineConfig({
  root: import.meta.dirname,
  plugins: [compressed],
  logLevel: 'error',
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: 'es2023',
    // The policy of the pages allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
