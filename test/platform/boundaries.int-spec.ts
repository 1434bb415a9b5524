import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { sharedFolder } from '../support/service/shared-folder.js';

const require = createRequire(import.meta.url);
const { forbidden } = require('../../.dependency-cruiser.cjs') as { forbidden: { name: string }[] };

/** For each rule, a file that breaks it. Type-only imports count, so most breaches are type-only. */
const BREACHES: Record<string, [file: string, text: string]> = {
  'no-circular': ['src/kernel/ring-a.ts', `import { b } from './ring-b.js'; export const a = (): unknown => b;`],
  'module-order-kernel': [
    'src/kernel/order.ts',
    `import type { Log } from '../platform/log/log.js'; export type A = Log;`,
  ],
  'module-order-trino-rules': [
    'src/trino-rules/order.ts',
    `import type { Log } from '../platform/log/log.js'; export type A = Log;`,
  ],
  'module-order-rules-files': [
    'src/rules-files/order.ts',
    `import type { Log } from '../platform/log/log.js'; export type A = Log;`,
  ],
  'module-order-platform': [
    'src/platform/order.ts',
    `import type { Planted } from '../audit/planted.service.js'; export type A = Planted;`,
  ],
  'module-order-audit': [
    'src/audit/order.ts',
    `import type { Planted } from '../users/planted.service.js'; export type A = Planted;`,
  ],
  'module-order-users': [
    'src/users/order.ts',
    `import type { Planted } from '../auth/planted.service.js'; export type A = Planted;`,
  ],
  'module-order-auth': [
    'src/auth/order.ts',
    `import type { Planted } from '../grants/planted.service.js'; export type A = Planted;`,
  ],
  'module-order-grants': [
    'src/grants/order.ts',
    `import type { Planted } from '../query-engine/planted.service.js'; export type A = Planted;`,
  ],
  'module-order-query-engine': [
    'src/query-engine/order.ts',
    `import type { Planted } from '../acl-sync/planted.service.js'; export type A = Planted;`,
  ],
  'module-order-identity': [
    'src/identity/order.ts',
    `import type { Planted } from '../acl-sync/planted.service.js'; export type A = Planted;`,
  ],
  'module-order-acl-sync': [
    'src/acl-sync/order.ts',
    `import type { Planted } from '../console/planted.service.js'; export type A = Planted;`,
  ],
  'module-order-opa': [
    'src/opa/order.ts',
    `import type { Planted } from '../console/planted.service.js'; export type A = Planted;`,
  ],
  'the-browser-and-the-service-meet-at-the-api': [
    'src/console/browser/reach.ts',
    `import type { Planted } from '../planted.service.js'; export type A = Planted;`,
  ],
  'the-service-imports-no-page': [
    'src/console/reach.ts',
    `import { now } from './browser/now.js'; export const a = now;`,
  ],
  'modules-know-nothing-of-the-roots': [
    'src/users/root.ts',
    `import type { AppModule } from '../app.module.js'; export type A = AppModule;`,
  ],
  'kernel-is-pure': [
    'src/kernel/impure.ts',
    `import type { AxiosInstance } from 'axios'; export type A = AxiosInstance;`,
  ],
  'domain-is-pure': [
    'src/grants/domain/impure.ts',
    `import type { Injectable } from '@nestjs/common'; export type A = typeof Injectable;`,
  ],
  'rules-are-libraries': [
    'src/trino-rules/document/framework.ts',
    `import type { Injectable } from '@nestjs/common'; export type A = typeof Injectable;`,
  ],
  'trino-rules-order': [
    'src/trino-rules/engine/upwards.ts',
    `import type { Finding } from '../verify/check.js'; export type A = Finding;`,
  ],
  'the-proof-shares-nothing-with-the-compiler': [
    'src/trino-rules/verify/proof-of-nothing.ts',
    `import type { AnyOf } from '../document/detour.js'; export type A = AnyOf;`,
  ],
  'the-proof-resolves-principals-itself': [
    'src/trino-rules/verify/borrowed.ts',
    `import type { Principals } from '../model/principals.js'; export type A = Principals;`,
  ],
  'the-compiler-reads-no-specification': [
    'src/trino-rules/compile/shortcut.ts',
    `import { accessOf } from '../model/intent.js'; export const a = accessOf;`,
  ],
  'the-compiler-knows-no-proof': [
    'src/trino-rules/compile/detour.ts',
    `import type { prove } from '../verify/proof.js'; export type A = typeof prove;`,
  ],
  'services-see-ports': [
    'src/users/impure.service.ts',
    `import type { DataSource } from 'typeorm'; export type A = DataSource;`,
  ],
  'controllers-see-services': [
    'src/users/impure.controller.ts',
    `import type { Planted } from './infrastructure/planted.js'; export type A = Planted;`,
  ],
  'modules-meet-at-their-service': [
    'src/auth/reach.ts',
    `import type { Planted } from '../users/infrastructure/planted.js'; export type A = Planted;`,
  ],
  'no-dev-dependencies': [
    'src/platform/dev.ts',
    `import type { Parameters } from 'fast-check'; export type A = Parameters;`,
  ],
  'not-resolvable': ['src/platform/nowhere.ts', `import type { A } from './nowhere-at-all.js'; export type B = A;`],
};

const SUPPORT: Record<string, string> = {
  'src/kernel/ring-b.ts': `import { a } from './ring-a.js'; export const b = (): unknown => a;`,
  ...Object.fromEntries(
    ['audit', 'users', 'auth', 'grants', 'query-engine', 'acl-sync', 'console'].map((module) => [
      `src/${module}/planted.service.ts`,
      'export interface Planted { it: true }',
    ]),
  ),
  'src/trino-rules/document/detour.ts': `import type { patternOfNames } from '../compile/name-pattern.js'; export type PatternOfNames = typeof patternOfNames;`,
  'src/users/infrastructure/planted.ts': 'export interface Planted { it: true }',
};

/** What the breaches import is there by its name alone: the tree itself is cruised by `npm run check`. */
describe('module boundaries', () => {
  const folder = sharedFolder('grantline-boundaries-');
  const planted = { ...SUPPORT, ...Object.fromEntries(Object.values(BREACHES)) };

  const plant = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };

  it('has a planted breach for every rule', () => {
    expect(Object.keys(BREACHES).sort()).toEqual(forbidden.map((rule) => rule.name).sort());
  });

  it('finds each planted breach, by the rule that it breaks', () => {
    for (const name of ['tsconfig.json', 'package.json', '.dependency-cruiser.cjs']) cpSync(name, join(folder, name));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    for (const [file, text] of Object.entries(planted)) {
      plant(file, text);
      for (const [, path = ''] of text.matchAll(/from '(\.[^']+)\.js'/g)) {
        const imported = `${join(dirname(file), path)}.ts`;
        if (!Object.hasOwn(planted, imported) && existsSync(imported)) plant(imported, 'export {};');
      }
    }
    const cruise = [
      'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
      '--config',
      '.dependency-cruiser.cjs',
      'src',
    ];

    const run = spawnSync(process.execPath, [...cruise, '--output-type', 'json'], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 1e9,
    });
    const { summary } = JSON.parse(run.stdout) as {
      summary: { violations: { from: string; rule: { name: string } }[] };
    };
    const found = summary.violations.map((violation) => `${violation.rule.name} ${violation.from}`);

    const expected = Object.entries(BREACHES).map(([rule, [file]]) => `${rule} ${file}`);
    expect(expected.filter((breach) => !found.includes(breach))).toEqual([]);
    // What is imported has been found, but for what is nowhere.
    expect(found.filter((breach) => breach.startsWith('not-resolvable'))).toEqual(
      expected.filter((breach) => breach.startsWith('not-resolvable')),
    );
  });
});
