import type { RulesDocument } from '../document/rules-document.js';
import { PRIVILEGES } from '../model/resource.js';
import type { ForeignRule } from './foreign-rules.js';

const ROUTINE_PRIVILEGES = ['EXECUTE', 'GRANT_EXECUTE', 'OWNERSHIP'] as const;

/** What a rule of anybody's file gives, as a rule of a document without its patterns. */
export const givenRights = {
  catalogs: (rule: ForeignRule): Pick<RulesDocument['catalogs'][number], 'allow'> => ({ allow: catalogMode(rule) }),
  schemas: (rule: ForeignRule) => ({ owner: gives(rule, 'true') }),
  tables: (rule: ForeignRule) => ({ privileges: PRIVILEGES.filter((each) => gives(rule, each)) }),
  queries: (rule: ForeignRule) => ({
    allow: (['execute', 'view', 'kill'] as const).filter((right) => gives(rule, right)),
  }),
  functions: (rule: ForeignRule) => ({ privileges: ROUTINE_PRIVILEGES.filter((each) => gives(rule, each)) }),
  procedures: (rule: ForeignRule) => ({
    privileges: (['EXECUTE', 'GRANT_EXECUTE'] as const).filter((each) => gives(rule, each)),
  }),
  sessionProperties: (rule: ForeignRule) => ({ allow: gives(rule, 'true') }),
};

function gives(rule: ForeignRule, gift: string): boolean {
  return rule.gives.includes(gift);
}

function catalogMode(rule: ForeignRule): 'all' | 'read-only' | 'none' {
  if (gives(rule, 'all') || gives(rule, 'owner')) return 'all';
  return gives(rule, 'read-only') ? 'read-only' : 'none';
}
