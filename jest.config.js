// Small tests stand beside the source; medium (*.int-spec.ts) and large (*.e2e-spec.ts) ones under test/.
/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testRegex: ['/src/.*\\.spec\\.ts$', '/test/(?!stack/|bench/).*\\.(int|e2e)?-?spec\\.ts$'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2022',
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
  // jest leaves a core idle otherwise; specs wait for databases and processes more than they compute.
  maxWorkers: 2,
  testTimeout: 60_000,
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
};
