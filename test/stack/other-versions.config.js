// On the image's Node and the oldest PostgreSQL that is promised: what meets either of them in `npm test`, once more (record 0062), and
// the built program as processes, here alone (record 0064).
import { booted } from '../../jest.config.js';

/** Functions over data: the access rules, the commands that read and compare them, what a run decides, and the guides' examples. */
const OVER_DATA = [
  '<rootDir>/test/(trino-rules|acl-(check|diff|explain|import))/.*\\.(int|e2e)-spec\\.ts$',
  '<rootDir>/test/acl-sync/.*\\.e2e-spec\\.ts$',
  '<rootDir>/test/[^/]+\\.e2e-spec\\.ts$',
];

/** What a landing waits for: the processes, and the folders of sockets and of the database's own ways; the others follow with `.ci/run --all`. */
const SUITES =
  process.env['GRANTLINE_LANDING'] === undefined
    ? '/test/(?!stack/|bench/).*\\.(int|e2e|process)-spec\\.ts$'
    : '/test/((?!stack/|bench/).*\\.process|(faults|platform|query-engine)/.*\\.(int|e2e))-spec\\.ts$';

/** @type {import('jest').Config} */
export default {
  ...booted,
  roots: ['<rootDir>/test'],
  testRegex: [SUITES, '/test/stack/other-versions\\.int-spec\\.ts$'],
  testPathIgnorePatterns: OVER_DATA,
  maxWorkers: 3,
  testTimeout: 180_000,
};
