// The one direction (docs/decisions/0002): controller → service → domain ← infrastructure, and modules in this order,
// each importing only earlier ones. Type-only imports count.
const MODULES = [
  'kernel',
  'trino-rules',
  'rules-files',
  'platform',
  'audit',
  'users',
  'auth',
  'grants',
  'query-engine',
  'identity',
  'acl-sync',
  'opa',
  'console',
];

const moduleOrder = MODULES.slice(0, -1).map((name, position) => ({
  name: `module-order-${name}`,
  comment: `${name} comes before ${MODULES.slice(position + 1).join(', ')}`,
  severity: 'error',
  from: { path: `^src/${name}/` },
  to: { path: `^src/(${MODULES.slice(position + 1).join('|')})/` },
}));

// Decisions: plain data in, plain data out.
const PURE = '^src/(trino-rules/|rules-files/|[^/]+/domain/|identity/[^/]+/domain/)';

// Databases, files, APIs and processes, as services and controllers do not see them.
const ADAPTERS = [
  '/infrastructure/',
  '^src/platform/(database|files)/',
  'node_modules/(@nestjs/typeorm|typeorm|pg|axios)/',
];

// What a finding rests on. Nothing of the compiler can be reached from here.
const JUDGING = '^src/(trino-rules/(engine|answers|diff|lint|verify)|rules-files/check)/';

// What is made of a snapshot: the rules document, and the bundle for OPA.
const MAKING = '^src/trino-rules/(compile|opa)/';
const POLICY_TEXT = '^src/trino-rules/opa/policy-files[.]ts$';

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    ...moduleOrder,
    {
      name: 'modules-know-nothing-of-the-roots',
      severity: 'error',
      comment: 'the table of contents, the executable and its commands stand above all modules',
      from: { path: '^src/[^/]+/', pathNot: '^src/commands/' },
      to: { path: ['^src/[^/]+[.]ts$', '^src/commands/'] },
    },
    {
      name: 'kernel-is-pure',
      severity: 'error',
      from: { path: '^src/kernel/', pathNot: '[.]spec[.]ts$' },
      to: { pathNot: ['^src/kernel/', '^(node:)?crypto$'] },
    },
    {
      name: 'domain-is-pure',
      comment:
        'decisions import the kernel, decisions, and refa; node:crypto for digests and signatures, node:buffer for UTF-8, node:zlib for archives; one file reads the fixed policy',
      severity: 'error',
      from: { path: PURE, pathNot: ['[.]spec[.]ts$', POLICY_TEXT] },
      to: { pathNot: ['^src/kernel/', PURE, 'node_modules/refa/', '^(node:)?(buffer|crypto|zlib)$'] },
    },
    {
      name: 'rules-are-libraries',
      comment: 'usable without the service: docs/decisions/0018',
      severity: 'error',
      from: { path: '^src/(trino-rules|rules-files)/', pathNot: ['[.]spec[.]ts$', POLICY_TEXT] },
      to: { pathNot: ['^src/(kernel|trino-rules|rules-files)/', 'node_modules/refa/', '^(node:)?(crypto|zlib)$'] },
    },
    {
      name: 'the-proof-shares-nothing-with-the-compiler',
      comment: 'docs/decisions/0006: what one of the two gets wrong the other must not',
      severity: 'error',
      from: { path: JUDGING, pathNot: '[.]spec[.]ts$' },
      to: { path: MAKING, reachable: true },
    },
    {
      name: 'the-proof-resolves-principals-itself',
      comment:
        'docs/decisions/0006: who a grant names is worked out three times, here, in the compiler and in the model',
      severity: 'error',
      from: { path: '^src/trino-rules/verify/', pathNot: '[.]spec[.]ts$' },
      to: { path: '^src/trino-rules/model/principals[.]ts$' },
    },
    {
      name: 'the-compiler-reads-no-specification',
      comment: 'docs/decisions/0006: it states the values that both need once more',
      severity: 'error',
      from: { path: MAKING, pathNot: '[.]spec[.]ts$' },
      to: { path: '^src/trino-rules/model/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-compiler-knows-no-proof',
      severity: 'error',
      from: { path: MAKING, pathNot: '[.]spec[.]ts$' },
      to: { path: JUDGING, reachable: true },
    },
    {
      name: 'trino-rules-order',
      comment: 'model, document, then the engine, and what judges by its answers',
      severity: 'error',
      from: { path: '^src/trino-rules/(model|document|engine)/', pathNot: '[.]spec[.]ts$' },
      to: { path: '^src/trino-rules/(answers|diff|lint|transition|verify)/' },
    },
    {
      name: 'services-see-ports',
      severity: 'error',
      from: { path: '^src/.*[.]service[.]ts$' },
      to: { path: ADAPTERS, pathNot: '^src/platform/database/transaction[.]ts$' },
    },
    {
      name: 'controllers-see-services',
      severity: 'error',
      from: { path: '^src/.*[.]controller[.]ts$' },
      to: { path: ADAPTERS, pathNot: '^src/platform/database/transaction[.]ts$' },
    },
    {
      name: 'modules-meet-at-their-service',
      comment: "another module's insides (infrastructure, controllers, DTOs) are its own business",
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: {
        path: '^src/(audit|users|auth|grants|query-engine|identity|acl-sync|opa|console)/',
        // Every way to sign in or out answers and is throttled alike.
        pathNot: [
          '^src/$1/',
          PURE,
          '[.](service|module)[.]ts$',
          '^src/auth/(auth[.]dto|throttle[.]store)[.]ts$',
          '^src/users/(user|principal-names)[.]store[.]ts$',
          '^src/grants/(guarantee|grant-use)[.]store[.]ts$',
          // OPA is a target: its gauges are those of targets, and the status of publishing shows its reports.
          '^src/acl-sync/(acl-sync[.]metrics|opa-reports[.]store)[.]ts$',
        ],
      },
    },
    {
      name: 'the-browser-and-the-service-meet-at-the-api',
      comment:
        'the pages get types from the OpenAPI document of the service, and import its lists of names and its collections alone (record 0046); it imports nothing of theirs',
      severity: 'error',
      from: { path: '^src/console/browser/' },
      to: {
        path: '^src/',
        pathNot: [
          '^src/console/browser/',
          '^src/kernel/collections[.]ts$',
          '^src/trino-rules/model/(privilege|node)[.]ts$',
          '^src/audit/domain/audit-event[.]ts$',
        ],
      },
    },
    {
      name: 'the-service-imports-no-page',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/console/browser/' },
      to: { path: '^src/console/browser/' },
    },
    {
      name: 'no-dev-dependencies',
      comment: 'what the pages need is bundled at the build',
      severity: 'error',
      from: { path: '^src/', pathNot: ['[.]spec[.]ts$', '^src/console/browser/'] },
      to: { dependencyTypes: ['npm-dev'] },
    },
    {
      name: 'not-resolvable',
      comment: 'but for the types of the API, which npm run api-types makes',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^[.]/schema[.]js$' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { conditionNames: ['import', 'require', 'node', 'default'], exportsFields: ['exports'] },
  },
};
