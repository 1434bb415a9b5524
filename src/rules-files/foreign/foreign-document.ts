import { documentRules } from '../check/document-rules.js';
import { anyName } from '../check/foreign-language.js';
import type { ForeignColumn, ForeignExpression, ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import {
  NO_RULES,
  QUERY_RIGHTS,
  TABLE_PRIVILEGES,
  type ColumnRule,
  type RulesDocument,
} from '../../trino-rules/document/rules-document.js';
import { isJudged, notJudged, type Audiences } from './audiences.js';
import { impersonationRules } from './impersonation.js';

/** The rules of any file in Grantline's own form; without `authorization`, `principals` and the ownership of catalogs. */
export interface ForeignDocument {
  document: RulesDocument;
  /** The rule of the file that a rule of the document was made of; null: an absent section opens what it gives. */
  sourceOf(rule: object): ForeignRule | null;
  /** Patterns whose matching names are not known. */
  unjudged: { rule: ForeignRule; at: number; message: string }[];
}

/** Where the engine itself has functions, which it executes for everybody without asking. */
export const BUILTIN = { catalog: 'system', schema: 'builtin' };

/** The access that absent sections give. */
function whenAbsent(user: string | undefined): RulesDocument {
  const everybody = user === undefined ? {} : { user };
  return {
    ...NO_RULES,
    catalogs: [{ ...everybody, allow: 'all' }],
    schemas: [{ ...everybody, owner: true }],
    tables: [{ ...everybody, privileges: [...TABLE_PRIVILEGES] }],
    queries: [{ ...everybody, allow: [...QUERY_RIGHTS] }],
    system_session_properties: [{ ...everybody, allow: true }],
    catalog_session_properties: [{ ...everybody, allow: true }],
    functions: [{ ...everybody, ...BUILTIN, privileges: ['EXECUTE', 'GRANT_EXECUTE'] }],
    procedures: [{ ...everybody, ...BUILTIN, privileges: ['EXECUTE', 'GRANT_EXECUTE'] }],
  };
}

const NOTHING_GIVEN: Pick<ForeignRule, 'gives' | 'filter' | 'columns'> = { gives: [], filter: null, columns: [] };

/**
 * A rule with a pattern that cannot be judged gives nothing to whomever it may be about: the engine never gives less there.
 * @param written a filter or mask as text
 */
export function foreignDocument(
  rules: ForeignRules,
  audiences: Audiences,
  written: (expression: ForeignExpression) => string,
): ForeignDocument {
  const { everybody } = audiences;
  const sections = new SectionsOfFile(rules, audiences);
  const document: RulesDocument = {
    catalogs: sections.of('catalogs'),
    schemas: sections.of('schemas'),
    tables: sections.of('tables', (rule, user) => {
      const columns = rule.columns.flatMap((column) => columnRule(column, written));
      return {
        ...documentRules.tables(rule, user),
        ...(rule.filter !== null && { filter: written(rule.filter) }),
        ...(columns.length > 0 && { columns }),
      };
    }),
    // As without the last; but every listed user is named, and so compared.
    queries: [...sections.of('queries'), ...(everybody === undefined ? [] : [{ user: everybody, allow: [] }])],
    impersonation: sections.impersonation(),
    functions: sections.of('functions'),
    procedures: sections.of('procedures'),
    system_information: sections.of('system_information'),
    system_session_properties: sections.of('system_session_properties'),
    catalog_session_properties: sections.of('catalog_session_properties'),
  };
  return { document, sourceOf: (rule) => sections.sources.get(rule) ?? null, unjudged: sections.unjudged };
}

/** Turns the sections of a file into those of a document, and keeps the source of each rule. */
class SectionsOfFile {
  readonly sources = new Map<object, ForeignRule>();
  readonly unjudged: ForeignDocument['unjudged'] = [];
  private readonly open: RulesDocument;

  constructor(
    private readonly rules: ForeignRules,
    private readonly audiences: Audiences,
  ) {
    this.open = whenAbsent(audiences.everybody);
  }

  of<Name extends keyof typeof documentRules>(
    name: Name,
    made: (typeof documentRules)[Name] = documentRules[name],
  ): RulesDocument[Name][number][] {
    const found = this.rules.get(name);
    if (found === undefined) return this.open[name];
    return found.flatMap((rule) => {
      const { user, isJudged: isAudienceJudged } = this.audiences.audience(rule);
      // Which queries of others may be viewed or killed is no question of executing one.
      if (user === null) return [];
      const judged = this.judged(rule, isAudienceJudged);
      const one = made(judged, user === undefined || !isJudged(user) ? {} : { user });
      this.sources.set(one, rule);
      return [one];
    });
  }

  impersonation(): RulesDocument['impersonation'] {
    const found = this.rules.get('impersonation');
    // Beside "principals" the engine takes impersonation to be decided there.
    if (found === undefined) return this.rules.has('principals') ? [{ new_user: '.*', allow: true }] : [];
    return found.flatMap((rule) => {
      const { rules, problem } = impersonationRules(rule, this.audiences);
      for (const one of rules) this.sources.set(one, rule);
      if (problem !== null) this.unjudged.push({ rule, ...problem });
      return rules;
    });
  }

  /** Keeps the patterns whose matching names are known; with any other, the rule gives nothing. */
  private judged(rule: ForeignRule, isAudienceJudged: boolean): ForeignRule {
    const opaque = [...rule.patterns].filter(([, { text }]) => !isJudged(text));
    for (const [field, { text, at }] of opaque) this.unjudged.push({ rule, at, message: notJudged(field, text) });
    const patterns = new Map(
      [...rule.patterns].filter(([field, { text }]) => isJudged(text) && anyName(field, text) !== undefined),
    );
    // Without its owner it would be a rule about executing, too.
    if (opaque.some(([field]) => field === 'queryOwner')) patterns.set('queryOwner', { text: '.*', at: rule.at });
    const isWhole = isAudienceJudged && opaque.length === 0;
    return { ...rule, ...(!isWhole && NOTHING_GIVEN), patterns };
  }
}

/** The engine's column names are lower-case: any other restricts nothing. */
function columnRule(
  { name, allow, mask }: ForeignColumn,
  written: (expression: ForeignExpression) => string,
): ColumnRule[] {
  if (name !== name.toLowerCase() || name === '') return [];
  return [{ name, allow, ...(mask !== null && { mask: written(mask) }) }];
}
