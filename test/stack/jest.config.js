// Specs against the real parts, which run.ts has started. One at a time, and one beside them that shares no engine.
import { booted } from '../../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...booted,
  runner: '<rootDir>/test/stack/side-by-side-runner.js',
  roots: ['<rootDir>/test'],
  testRegex: ['/test/stack/.*\\.stack-spec\\.ts$'],
  testTimeout: 180_000,
  maxWorkers: 1,
};
