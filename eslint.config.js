import { join } from 'node:path';
import prettier from 'eslint-config-prettier';
import { includeIgnoreFile } from 'eslint/config';
import tseslint from 'typescript-eslint';

const clock = [
  {
    selector: "NewExpression[callee.name='Date'][arguments.length=0]",
    message: 'Time is handed in: inject Clock, or take the instant as an argument.',
  },
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: 'Time is handed in: inject Clock, or take the instant as an argument.',
  },
];
const environment = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Settings are read in one place: src/platform/settings-loader.ts.',
};
const moduleMocks = {
  selector: "CallExpression[callee.object.name='jest'][callee.property.name=/^(mock|unstable_mockModule|doMock)$/]",
  message: 'Fakes over mocks: write a fake that passes the same contract as the real thing.',
};

export default tseslint.config(
  includeIgnoreFile(join(import.meta.dirname, '.gitignore')),
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: {
          allowDefaultProject: [
            '*.js',
            '*.cjs',
            '.dependency-cruiser.cjs',
            '.ci/*.mjs',
            'test/support/*.js',
            'helm/*/files/*.mjs',
          ],
        },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      // Nest modules and entities are classes without members or with members that only decorators see.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // Ports and settings are abstract classes so that they can be injected; plain objects may have their shape.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Leaving a member out of a copy names it.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      eqeqeq: 'error',
      'max-lines': ['error', 260],
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...clock, environment, moduleMocks],
    },
  },
  { files: ['src/platform/settings-loader.ts'], rules: { 'no-restricted-syntax': ['error', ...clock] } },
  {
    files: ['src/kernel/clock.ts', 'src/console/browser/now.ts'],
    rules: { 'no-restricted-syntax': ['error', environment] },
  },
  {
    files: ['test/**/*'],
    rules: { 'no-restricted-syntax': ['error', moduleMocks], 'no-console': 'off', 'max-lines': ['error', 300] },
  },
  { files: ['**/*.js', '**/*.cjs', '**/*.mjs'], ...tseslint.configs.disableTypeChecked },
  { files: ['.ci/**/*', 'test/support/*.js'], rules: { 'no-console': 'off', 'no-restricted-syntax': 'off' } },
  { files: ['helm/*/files/*.mjs'], rules: { 'no-console': 'off', 'no-restricted-syntax': 'off' } },
  prettier,
);
