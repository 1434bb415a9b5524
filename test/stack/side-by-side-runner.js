import { createRequire } from 'node:module';

/** @type {{ default: typeof import('jest-runner').default }} */
const { default: Runner } = createRequire(import.meta.url)('jest-runner');

/** jest's own, but for two workers: one for specs that share the engines and their ConfigMap, one for specs that start their own parts. */
export default class SideBySideRunner extends Runner {
  /**
   * @override
   * @type {InstanceType<typeof Runner>['runTests']}
   */
  async runTests(tests, watcher, options) {
    const hasOwn = (/** @type {{ path: string }} */ { path }) =>
      /\/stack\/(chart|clients|fuzz|java|opa|publishing|release|scim)/.test(path);
    const groups = [tests.filter((test) => !hasOwn(test)), tests.filter(hasOwn)];
    // `maxWorkers` is one: each group has a worker of its own.
    await Promise.all(groups.map((group) => super.runTests(group, watcher, { ...options, serial: false })));
  }
}
