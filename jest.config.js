/** For every spec: how it is run, see spec-runner.js. */
export const specs = {
  rootDir: import.meta.dirname,
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testEnvironment: 'node',
  testRunner: '<rootDir>/test/support/spec-runner.js',
  transform: {},
};

/** What boots something finds a PostgreSQL, and the service as it was built. */
export const booted = {
  ...specs,
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
};

// Small specs stand beside the source; medium and large ones under test/.
/** @type {import('jest').Config} */
export default {
  projects: [
    { ...specs, displayName: 'unit', testRegex: ['/(src|test)/(?!stack/|bench/).*\\.spec\\.ts$'] },
    { ...booted, displayName: 'int', testRegex: ['/test/(?!stack/|bench/).*\\.int-spec\\.ts$'] },
    { ...booted, displayName: 'e2e', testRegex: ['/test/(?!stack/|bench/).*\\.e2e-spec\\.ts$'] },
    // No part of `npm test`: they run on the image's Node (record 0064).
    { ...booted, displayName: 'process', testRegex: ['/test/(?!stack/|bench/).*\\.process-spec\\.ts$'] },
  ],
  // One more than the two cores of CI: specs wait for databases and processes, and for limits that end in seconds.
  maxWorkers: 3,
  testTimeout: 180_000,
};
