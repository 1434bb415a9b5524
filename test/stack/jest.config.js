// Specs against the real parts, which run.ts has started. One at a time: they share one ConfigMap and two processors.
import base from '../../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/stack'],
  testRegex: ['\\.stack-spec\\.ts$'],
  testTimeout: 180_000,
  maxWorkers: 1,
};
