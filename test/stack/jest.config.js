// Specs against the real parts, which run.ts has started. One at a time: they share one ConfigMap and two processors.
import { booted } from '../../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...booted,
  roots: ['<rootDir>/test'],
  testRegex: ['/test/stack/.*\\.stack-spec\\.ts$'],
  testTimeout: 180_000,
  maxWorkers: 1,
};
