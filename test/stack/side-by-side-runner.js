import { createRequire } from 'node:module';

/** @type {{ default: typeof import('jest-runner').default }} */
const { default: Runner } = createRequire(import.meta.url)('jest-runner');

/** jest's own, but for two workers: one runs what shares the engines and their ConfigMap, the other what has installations of its own. */
export default class SideBySideRunner extends Runner {
  /**
   * @override
   * @type {InstanceType<typeof Runner>['runTests']}
   */
  async runTests(tests, watcher, options) {
    const hasOwn = (/** @type {{ path: string }} */ { path }) => /\/stack\/(chart|publishing|release)/.test(path);
    const groups = [tests.filter((test) => !hasOwn(test)), tests.filter(hasOwn)];
    // `maxWorkers` is one: each group has a worker of its own.
    await Promise.all(groups.map((group) => super.runTests(group, watcher, { ...options, serial: false })));
  }
}
