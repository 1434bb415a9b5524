import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

/**
 * As tsconfig.json has it; the map is for stack traces.
 * @type {import('@swc/core').Options}
 */
const OPTIONS = {
  configFile: false,
  swcrc: false,
  sourceMaps: 'inline',
  module: { type: 'es6' },
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
    keepClassNames: true,
  },
};

/**
 * An import of `x.js` is `x.ts` where there is no such file.
 * @type {import('node:module').ResolveHook}
 */
export function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts')) {
    const written = new URL(specifier, context.parentURL);
    const source = new URL(written.href.replace(/js$/, 'ts'));
    if (!existsSync(written) && existsSync(source)) return { url: source.href, format: 'module', shortCircuit: true };
  }
  return next(specifier, context);
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { code } = await transformFile(fileURLToPath(url), OPTIONS);
  return { format: 'module', source: code, shortCircuit: true };
}
