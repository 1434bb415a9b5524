import { anyName } from '../check/foreign-language.js';
import type { ForeignColumn, ForeignExpression, ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import type { SectionName } from '../check/engine-format.js';
import { givenRights } from '../check/given-rights.js';
import { anyOf } from '../compile/name-pattern.js';
import { NO_RULES, type ColumnRule, type RulesDocument, type TableRule } from '../document/rules-document.js';
import type { RuleAt } from '../engine/deciding-rule.js';
import { PRIVILEGES } from '../model/resource.js';
import { importFinding, type ImportFinding } from './import-finding.js';
import { isJudged, type ListedUsers } from './listed-users.js';
import { inOneLine, policyProblem } from './policy-expression.js';

/** The rules of any file as they apply to listed users, who are named one by one: groups and roles are resolved. */
export interface ListedRules {
  document: RulesDocument;
  /** The rule of the file that a rule was made of; null: an absent section opens what it gives. */
  sourceOf(rule: RuleAt): ForeignRule | null;
  /** Rules that could not be judged, and give nothing here. */
  findings: ImportFinding[];
  /** Why no policies restrict as this rule does; null: they can. */
  problemOf(rule: TableRule): string | null;
}

/** What the engine opens by the absence of a section. */
function whenAbsent(user: string): RulesDocument {
  return {
    ...NO_RULES,
    catalogs: [{ user, allow: 'all' }],
    schemas: [{ user, owner: true }],
    tables: [{ user, privileges: [...PRIVILEGES] }],
    queries: [{ user, allow: ['execute', 'view', 'kill'] }],
    system_session_properties: [{ user, allow: true }],
    catalog_session_properties: [{ user, allow: true }],
  };
}

/** A control character, which is in no name. */
const NOBODY = '\u0001';
const NOTHING_GIVEN: Pick<ForeignRule, 'gives' | 'filter' | 'columns'> = { gives: [], filter: null, columns: [] };

/** A rule with a pattern that cannot be judged denies whatever it may match: the engine never gives less there. */
export function listedRules(rules: ForeignRules, listed: ListedUsers): ListedRules {
  const findings: ImportFinding[] = [];
  const problems = new Map<TableRule, string>();
  const sources = new Map<object, ForeignRule>();
  const everybody = anyOfListed(listed.users.map(({ name }) => name));
  const open = whenAbsent(everybody);
  const section = <Name extends SectionName & keyof RulesDocument>(
    name: Name,
    made: (rule: ForeignRule, user: { user: string }) => RulesDocument[Name][number],
  ): RulesDocument[Name][number][] => {
    const found = rules.get(name);
    if (found === undefined) return open[name];
    return found.flatMap((rule) => {
      const { names, isJudged: isAudienceJudged } = listed.audience(rule);
      // Which queries of others may be viewed or killed is no question of executing one.
      if (names.length === 0 || rule.patterns.has('queryOwner')) return [];
      const unjudged = [...rule.patterns].filter(([, { text }]) => !isJudged(text));
      for (const [key, { text, at }] of unjudged) {
        const why = `the names that the ${key} ${JSON.stringify(text)} matches cannot be told`;
        findings.push(importFinding('import-pattern-not-judged', names, rule.gives, why, { rule: rule.place, at }));
      }
      const patterns = new Map([...rule.patterns].filter(([, { text }]) => isJudged(text)));
      const isWhole = isAudienceJudged && unjudged.length === 0;
      const one = made({ ...rule, ...(!isWhole && NOTHING_GIVEN), patterns }, { user: anyOf(names) });
      sources.set(one, rule);
      return [one];
    });
  };
  const document: RulesDocument = {
    ...NO_RULES,
    catalogs: section('catalogs', (rule, user) => ({
      ...user,
      ...texts(rule, 'catalog'),
      ...givenRights.catalogs(rule),
    })),
    schemas: section('schemas', (rule, user) => ({
      ...user,
      ...texts(rule, 'catalog', 'schema'),
      ...givenRights.schemas(rule),
    })),
    tables: section('tables', (rule, user) => {
      const columns = rule.columns.flatMap(columnRule);
      const table: TableRule = {
        ...user,
        ...texts(rule, 'catalog', 'schema', 'table'),
        ...givenRights.tables(rule),
        ...(rule.filter !== null && { filter: inOneLine(rule.filter.text) }),
        ...(columns.length > 0 && { columns }),
      };
      const problem = policyProblem(expressionsOf(rule), columns);
      if (problem !== null) problems.set(table, problem);
      return table;
    }),
    queries: [
      ...section('queries', (rule, user) => ({
        ...user,
        ...givenRights.queries(rule),
      })),
      // As without it; but every listed user is named, and so compared.
      { user: everybody, allow: [] },
    ],
    functions: section('functions', (rule, user) => ({
      ...user,
      ...texts(rule, 'catalog', 'schema', 'function'),
      ...givenRights.functions(rule),
    })),
    procedures: section('procedures', (rule, user) => ({
      ...user,
      ...texts(rule, 'catalog', 'schema', 'procedure'),
      ...givenRights.procedures(rule),
    })),
    system_session_properties: section('system_session_properties', (rule, user) => ({
      ...user,
      ...texts(rule, 'property'),
      ...givenRights.sessionProperties(rule),
    })),
    catalog_session_properties: section('catalog_session_properties', (rule, user) => ({
      ...user,
      ...texts(rule, 'catalog', 'property'),
      ...givenRights.sessionProperties(rule),
    })),
  };
  return {
    document,
    sourceOf: ({ section: name, index }) => sources.get(document[name][index] ?? {}) ?? null,
    findings,
    problemOf: (rule) => problems.get(rule) ?? null,
  };
}

function anyOfListed(names: readonly string[]): string {
  return names.length === 0 ? NOBODY : anyOf(names);
}

function texts<Key extends string>({ patterns }: ForeignRule, ...keys: Key[]): Partial<Record<Key, string>> {
  const read: Partial<Record<Key, string>> = {};
  for (const key of keys) {
    const text = anyName(key, patterns.get(key)?.text);
    if (text !== undefined) read[key] = text;
  }
  return read;
}

/** The engine's column names are lower-case: any other restricts nothing. */
function columnRule({ name, allow, mask }: ForeignColumn): ColumnRule[] {
  if (name !== name.toLowerCase() || name === '') return [];
  return [{ name, allow, ...(mask !== null && { mask: inOneLine(mask.text) }) }];
}

function expressionsOf({ filter, columns }: ForeignRule): ForeignExpression[] {
  return [filter, ...columns.map(({ allow, mask }) => (allow ? mask : null))].filter((each) => each !== null);
}
