import { execFile } from 'node:child_process';
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { ClientGenerators } from '../parts/client-generators.js';

/** In the environment: where the generators are, as JSON. */
export const GENERATORS = 'GRANTLINE_CLIENT_GENERATORS';

const COMPILER_OPTIONS = {
  ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: false, skipLibCheck: false },
  ...{ module: 'nodenext', target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'], types: [] },
};

const GENERATOR_OPTIONS = {
  input: 'openapi.json',
  output: { path: 'client', importFileExtension: '.js' },
  logs: { level: 'silent' },
};

const run = promisify(execFile);

function generators(): ClientGenerators {
  const { [GENERATORS]: found } = process.env;
  if (found === undefined) throw new Error(`${GENERATORS} is not set: run this through npm run test:clients`);
  return JSON.parse(found) as ClientGenerators;
}

/** Makes a TypeScript client of `openapi.json` in that folder and compiles it with the walk. @returns how to run the walk */
export async function typescriptWalk(folder: string): Promise<[program: string, ...args: string[]]> {
  const modules = join(generators().typescript, 'node_modules');
  symlinkSync(modules, join(folder, 'node_modules'));
  copyFileSync(join(import.meta.dirname, 'walk.txt'), join(folder, 'walk.ts'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ['walk.ts'] }),
  );
  const node = (script: string, ...args: string[]) =>
    run(process.execPath, [join(modules, script), ...args], { cwd: folder });
  writeFileSync(join(folder, 'openapi-ts.config.mjs'), `export default ${JSON.stringify(GENERATOR_OPTIONS)}`);
  await node('@hey-api/openapi-ts/bin/run.js');
  await node('typescript/bin/tsc', '--project', '.');
  return [process.execPath, join(folder, 'walk.js')];
}

/** Makes a Python client of `openapi.json` in that folder, with no part left out. @returns how to run the walk */
export async function pythonWalk(folder: string): Promise<[program: string, ...args: string[]]> {
  const bin = join(generators().python, 'bin');
  const python = join(bin, 'python');
  const env = { PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`, HOME: folder };
  const generate = [
    'generate',
    '--path',
    'openapi.json',
    '--output-path',
    'client',
    '--meta',
    'none',
    '--fail-on-warning',
  ];
  await run(python, ['-m', 'openapi_python_client', ...generate], { cwd: folder, env });
  await run(python, ['-m', 'compileall', '-q', 'client'], { cwd: folder, env });
  copyFileSync(join(import.meta.dirname, 'walk.py'), join(folder, 'walk.py'));
  return [python, join(folder, 'walk.py')];
}
