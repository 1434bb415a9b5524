import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getOrInsert } from '../../src/kernel/collections.js';
import { readListing } from '../../src/commands/acl-import.js';
import { readForeignRulesFile } from '../../src/commands/foreign-rules-file.js';
import { readUsers, type UserLine } from '../../src/commands/users-file.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { type ProvenImport, provenImport } from '../../src/rules-files/import/proven-import.js';
import { nodeText, type Node } from '../../src/trino-rules/model/node.js';
import type { PolicyPrincipal } from '../../src/trino-rules/model/principal.js';
import type { ColumnResource } from '../../src/trino-rules/model/resource.js';
import type { Snapshot, SnapshotSettings } from '../../src/trino-rules/model/snapshot.js';
import { NOW } from '../support/snapshots/snapshot-builder.js';

/** A rules file as people publish them, with a list of its users and what `acl import` makes of both. */
export interface PublishedCase {
  name: string;
  users: string;
  rules: string;
  /** What the engine has; empty: no listing is given. */
  catalog: string;
  /** Groups, grants and policies, one a line. */
  snapshot: string;
  /** One finding a line: `line:column code rule users: what; what`. */
  report: string;
  /** The kinds of what a kept file gives otherwise than its import. */
  differences: string[];
}

export type KeptCase = Pick<PublishedCase, 'name' | 'users' | 'rules' | 'catalog' | 'differences'>;

export const SETTINGS: SnapshotSettings = {
  ownAccount: 'service-account-grantline',
  serviceAccounts: ['service-account-grantline'],
  writableCatalogs: ['lake'],
  readableCatalogs: [],
  metadataCatalog: null,
  impersonation: true,
  sessionProperties: [],
  readersMaintain: false,
  externalTableCatalogs: [],
  rawColumnCatalogs: [],
};

export function publishedCases(): PublishedCase[] {
  return casesIn('published');
}

/** Files of the kinds that people keep, written without a look at what the import can say. */
export function keptCases(): KeptCase[] {
  return casesIn('kept');
}

/** A line `--- part` begins each part of a file. */
function casesIn(folder: string): PublishedCase[] {
  const path = join(import.meta.dirname, folder);
  return readdirSync(path).map((file) => {
    const parts = new Map(
      readFileSync(join(path, file), 'utf8')
        .split(/^--- /m)
        .slice(1)
        .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]),
    );
    const part = (name: string): string => parts.get(name) ?? '';
    return {
      name: file.replace(/[.]txt$/, ''),
      users: part('users'),
      rules: part('rules'),
      catalog: part('catalog'),
      snapshot: part('snapshot'),
      report: part('report'),
      differences: part('differences').split('\n').filter(Boolean),
    };
  });
}

export interface ImportedCase extends ProvenImport {
  users: UserLine[];
  placeOf: (offset: number) => { line: number; column: number };
}

type GivenCase = Pick<PublishedCase, 'users' | 'rules'> & Partial<PublishedCase>;

const IMPORTED = new WeakMap<GivenCase, Promise<ImportedCase>>();

/** Once for each case. */
export function importCase(given: GivenCase): Promise<ImportedCase> {
  return getOrInsert(IMPORTED, given, () => readAndImported(given));
}

async function readAndImported({ users, rules, catalog = '' }: GivenCase): Promise<ImportedCase> {
  const [listed, read] = [readUsers(users), await readForeignRulesFile(Buffer.from(rules))];
  if (read.kind === 'refused') throw new Error(JSON.stringify(read.problems));
  const defaults = { settings: SETTINGS, at: NOW };
  const imported = provenImport(read, listed, defaults, new WorkBudget(2_000_000_000), readListing(catalog).names);
  return { ...imported, users: listed, placeOf: (offset) => read.placeOf(offset) };
}

export function snapshotText({ users, groups, grants, policies }: Snapshot): string {
  const userName = (id: number): string => users.find((user) => user.id === id)?.name ?? '';
  const subject = (principal: PolicyPrincipal): string => {
    if (principal.type === 'user') return userName(principal.id);
    if (principal.type === 'group') return groups.find(({ id }) => id === principal.id)?.name ?? '';
    return principal.type;
  };
  const path = ({ column, ...node }: Node & Partial<ColumnResource>): string =>
    column === undefined ? nodeText(node) || 'everything' : `${nodeText(node)}.(${column})`;
  const lines = [
    ...groups.map(({ name, members }) => `group ${name}: ${members.map(userName).join(', ')}`),
    ...grants.map((grant) => `${subject(grant.principal)}: ${grant.privileges.join(', ')} on ${path(grant.resource)}`),
    ...policies.map((policy) => {
      const detail =
        'privileges' in policy ? policy.privileges.join(', ') : 'expression' in policy ? policy.expression : '';
      const except = policy.except.length === 0 ? '' : ` but for ${policy.except.map(subject).join(', ')}`;
      return `${subject(policy.principal)}${except}: ${policy.kind} on ${path(policy.resource)}: ${detail}`.trimEnd();
    }),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

export function reportText({ findings, placeOf }: ImportedCase): string {
  return findings
    .map(({ code, people, what, rule, at }) => {
      const { line, column } = placeOf(at);
      return `${line}:${column} ${code} ${rule ?? '-'} ${people.join(', ')}: ${what.join('; ')}\n`;
    })
    .join('');
}
