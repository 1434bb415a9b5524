// typescript-eslint's `strictTypeChecked` and `stylisticTypeChecked`, for which oxlint has no names, and a few of our own.
const CORE = `
  eqeqeq no-array-constructor no-console no-empty-function no-unused-expressions no-useless-constructor no-var
  prefer-const prefer-rest-params prefer-spread`;
const SYNTACTIC = `
  adjacent-overload-signatures array-type ban-tslint-comment class-literal-property-style
  consistent-generic-constructors consistent-indexed-object-style consistent-type-assertions
  consistent-type-definitions no-confusing-non-null-assertion no-duplicate-enum-values no-dynamic-delete
  no-empty-object-type no-explicit-any no-extra-non-null-assertion no-inferrable-types no-invalid-void-type
  no-misused-new no-namespace no-non-null-asserted-nullish-coalescing no-non-null-asserted-optional-chain
  no-non-null-assertion no-require-imports no-this-alias no-unnecessary-type-constraint no-unsafe-declaration-merging
  no-unsafe-function-type no-wrapper-object-types prefer-as-const prefer-for-of prefer-function-type
  prefer-literal-enum-member prefer-namespace-keyword triple-slash-reference unified-signatures`;
const TYPED = `
  await-thenable dot-notation no-array-delete no-base-to-string no-deprecated no-duplicate-type-constituents
  no-floating-promises no-for-in-array no-generated-empty-object-type no-implied-eval no-meaningless-void-operator
  no-misused-promises no-misused-spread no-mixed-enums no-redundant-type-constituents
  no-unnecessary-boolean-literal-compare no-unnecessary-condition no-unnecessary-template-expression
  no-unnecessary-type-arguments no-unnecessary-type-assertion no-unnecessary-type-conversion
  no-unnecessary-type-parameters no-unsafe-argument no-unsafe-assignment no-unsafe-call no-unsafe-enum-assignment
  no-unsafe-enum-comparison no-unsafe-member-access no-unsafe-return no-unsafe-unary-minus
  no-useless-default-assignment non-nullable-type-assertion-style only-throw-error prefer-find prefer-includes
  prefer-nullish-coalescing prefer-optional-chain prefer-promise-reject-errors prefer-reduce-type-parameter
  prefer-regexp-exec prefer-return-this-type prefer-string-starts-ends-with related-getter-setter-pairs require-await
  return-await switch-exhaustiveness-check unbound-method use-unknown-in-catch-callback-variable`;

const all = (severity, names, prefix = 'typescript/') =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [prefix + name, severity]),
  );

const clock = [
  "NewExpression[callee.name='Date'][arguments.length=0]",
  "CallExpression[callee.object.name='Date'][callee.property.name='now']",
].map((selector) => ({
  selector,
  message: 'Time is handed in: inject Clock, or take the instant as an argument.',
}));
const environment = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Settings are read in one place: src/platform/settings/settings-loader.ts.',
};
const moduleMocks = {
  selector: "CallExpression[callee.object.name='jest'][callee.property.name=/^(mock|unstable_mockModule|doMock)$/]",
  message: 'Fakes over mocks: write a fake that passes the same contract as the real thing.',
};
const RESTRICTED = 'house/restricted-syntax';

export default {
  plugins: ['typescript'],
  jsPlugins: ['./.ci/restricted-syntax.mjs'],
  categories: { correctness: 'off' },
  options: { typeAware: true, typeCheck: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  rules: {
    ...all('error', CORE, ''),
    ...all('error', SYNTACTIC),
    ...all('error', TYPED),
    'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
    'typescript/restrict-template-expressions': ['error', { allowNumber: true }],
    // Nest modules and entities are classes without members or with members that only decorators see.
    'typescript/no-extraneous-class': ['error', { allowWithDecorator: true }],
    'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    'typescript/restrict-plus-operands': [
      'error',
      { allowAny: false, allowBoolean: false, allowNullish: false, allowNumberAndString: false, allowRegExp: false },
    ],
    // Leaving a member out of a copy names it.
    'no-unused-vars': ['error', { ignoreRestSiblings: true }],
    // A file may be so long where it is one thought.
    'max-lines': ['error', 400],
    [RESTRICTED]: ['error', ...clock, environment, moduleMocks],
  },
  overrides: [
    {
      files: ['**/*.{js,cjs,mjs}'],
      rules: all('off', `${TYPED} restrict-plus-operands restrict-template-expressions`),
    },
    { files: ['src/platform/settings/settings-loader.ts'], rules: { [RESTRICTED]: ['error', ...clock] } },
    { files: ['src/kernel/clock.ts', 'src/console/browser/now.ts'], rules: { [RESTRICTED]: ['error', environment] } },
    {
      files: ['test/**/*'],
      rules: { [RESTRICTED]: ['error', moduleMocks], 'no-console': 'off' },
    },
    {
      files: ['.ci/**/*', 'dev.js', 'test/support/*.js', 'helm/*/files/*.mjs'],
      rules: { 'no-console': 'off', [RESTRICTED]: 'off' },
    },
  ],
};
