import {
  FUNCTION_PRIVILEGES,
  PROCEDURE_PRIVILEGES,
  QUERY_RIGHTS,
  SYSTEM_INFORMATION_RIGHTS,
  TABLE_PRIVILEGES,
  type RulesDocument,
} from '../../trino-rules/document/rules-document.js';
import type { ForeignRule } from './foreign-rules.js';

type Section = Exclude<keyof RulesDocument, 'impersonation'>;
type Made<Name extends Section> = (rule: ForeignRule, user: { user?: string }) => RulesDocument[Name][number];

/** Rules of anybody's file as those of a document, for such a user: what they match and what they give, but no filters and columns. */
export const documentRules: { [Name in Section]: Made<Name> } = {
  catalogs: (rule, user) => ({ ...user, ...texts(rule, 'catalog'), allow: catalogMode(rule) }),
  schemas: (rule, user) => ({ ...user, ...texts(rule, 'catalog', 'schema'), owner: gives(rule, 'true') }),
  tables: (rule, user) => ({
    ...user,
    ...texts(rule, 'catalog', 'schema', 'table'),
    privileges: TABLE_PRIVILEGES.filter((each) => gives(rule, each)),
  }),
  queries: (rule, user) => ({
    ...user,
    ...texts(rule, 'queryOwner'),
    allow: QUERY_RIGHTS.filter((right) => gives(rule, right)),
  }),
  functions: (rule, user) => ({
    ...user,
    ...texts(rule, 'catalog', 'schema', 'function'),
    privileges: FUNCTION_PRIVILEGES.filter((each) => gives(rule, each)),
  }),
  procedures: (rule, user) => ({
    ...user,
    ...texts(rule, 'catalog', 'schema', 'procedure'),
    privileges: PROCEDURE_PRIVILEGES.filter((each) => gives(rule, each)),
  }),
  system_information: (rule, user) => ({
    ...user,
    allow: SYSTEM_INFORMATION_RIGHTS.filter((right) => gives(rule, right)),
  }),
  system_session_properties: (rule, user) => ({ ...user, ...texts(rule, 'property'), allow: gives(rule, 'true') }),
  catalog_session_properties: (rule, user) => ({
    ...user,
    ...texts(rule, 'catalog', 'property'),
    allow: gives(rule, 'true'),
  }),
};

function texts<Key extends string>({ patterns }: ForeignRule, ...keys: Key[]): Partial<Record<Key, string>> {
  const read: Partial<Record<Key, string>> = {};
  for (const key of keys) {
    const pattern = patterns.get(key);
    if (pattern) read[key] = pattern.text;
  }
  return read;
}

function gives(rule: ForeignRule, gift: string): boolean {
  return rule.gives.includes(gift);
}

export function catalogMode(rule: ForeignRule): 'all' | 'read-only' | 'none' {
  if (gives(rule, 'all') || gives(rule, 'owner')) return 'all';
  return gives(rule, 'read-only') ? 'read-only' : 'none';
}
