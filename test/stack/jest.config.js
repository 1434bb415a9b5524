// Specs against the real parts, which run.ts has started, and the suites about the database once more, on the oldest PostgreSQL
// that is promised. One at a time: they share one ConfigMap and two processors.
import { booted } from '../../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...booted,
  roots: ['<rootDir>/test'],
  testRegex: [
    '/test/stack/.*\\.stack-spec\\.ts$',
    '/test/(audit|auth|grants|users)/.*\\.(int|e2e)-spec\\.ts$',
    '/test/(platform/schema|acl-sync/(postgres-sync-lock|publication-history))\\.int-spec\\.ts$',
  ],
  testTimeout: 180_000,
  maxWorkers: 1,
};
