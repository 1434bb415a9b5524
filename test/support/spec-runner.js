import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';

const load = createRequire(import.meta.url);
const { default: runByCircus } = load('jest-circus/runner');

register('./typescript-loader.js', import.meta.url);

// Hardly any function of a spec runs long enough to be worth optimising it as early as a server's (record 0061). Node 24 has other flags for it.
if (process.versions.node.startsWith('20.')) setFlagsFromString('--interrupt-budget=800000');

/**
 * A module with the state of one file, loaded anew.
 * @param {string} path
 * @returns {unknown}
 */
function loadForOneFile(path) {
  Reflect.deleteProperty(load.cache, path);
  Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS')); // jest-circus adds its own to those of the file before
  return load(path);
}

/**
 * What the services and processes of the file wrote and should not have written (see secrets.ts); empty: nothing.
 * @returns {Promise<string>}
 */
async function leaksOfFile() {
  /** @type {typeof import('./service/secrets.js')} */
  const secrets = await import(new URL('service/secrets.ts', import.meta.url).href);
  const leaks = secrets.leaksOfFile().map((line) => line.slice(0, 1000));
  return leaks.length === 0 ? '' : `secrets or statements of users were written:\n${leaks.slice(0, 20).join('\n')}`;
}

/**
 * Properties and samples of a file that have no seed of their own draw by this one: the first by it, each other by the next number. With
 * one for all, a sample that is drawn again in a loop would be the same each time.
 * @param {string | undefined} first a whole number
 */
async function seedProperties(first) {
  if (first === undefined) return;
  const { default: fc } = await import('fast-check');
  let next = Number(first);
  fc.configureGlobal({
    get seed() {
      return next++;
    },
  });
}

/**
 * jest's `testRunner`: a spec file by jest-circus, in plain Node instead of jest's own module system (record 0016). What is
 * imported is shared by the files that a worker runs.
 * @param {unknown} globalConfig
 * @param {unknown} config
 * @param {unknown} environment
 * @param {object} runtime
 * @param {unknown[]} others the path of the file, and how to report
 * @returns {Promise<object>} jest's TestResult
 */
export default async function runSpec(globalConfig, config, environment, runtime, ...others) {
  Reflect.deleteProperty(Error, 'prepareStackTrace'); // jest's knows no source map of what Node has loaded
  process.setSourceMapsEnabled(true);
  await seedProperties(process.env['GRANTLINE_PROPERTY_SEED']);
  const plain = Object.assign(runtime, {
    requireInternalModule: loadForOneFile,
    /** @param {object} globals */
    setGlobalsForRuntime: (globals) => Object.assign(globalThis, globals),
    unstable_shouldLoadAsEsm: () => true,
    /** @param {string} path */
    unstable_importModule: (path) => import(pathToFileURL(path).href),
  });
  /** @type {object} */
  const result = await runByCircus(globalConfig, config, environment, plain, ...others);
  const leaks = await leaksOfFile();
  return leaks === '' ? result : { ...result, testExecError: { message: leaks }, failureMessage: leaks };
}
