import {
  documentRule,
  type ForeignColumn,
  type ForeignExpression,
  type ForeignRule,
  type ForeignRules,
  isColumn,
  userPattern,
} from '../check/foreign-rules.js';
import { anyName, isRegular } from '../check/foreign-language.js';
import {
  type ColumnRule,
  type ImpersonationRule,
  NO_RULES,
  QUERY_RIGHTS,
  READERS_FILTER,
  type RulesDocument,
  TABLE_PRIVILEGES,
} from '../../trino-rules/document/rules-document.js';
import { type Audiences, canBeJudged, notJudgedText } from './audiences.js';
import { literal } from '../../trino-rules/compile/name-pattern.js';
import { readJavaPattern } from '../java/java-pattern.js';
import { newUserPattern, replacementPieces } from '../java/replacement.js';
import { conjuncts } from '../../trino-rules/engine/schema-tables.js';
import { expressionProblem } from '../../trino-rules/model/sql-expression.js';

/** The rules of any file as a document, without `authorization`, `principals` and the ownership of catalogs. */
export interface ForeignDocument {
  document: RulesDocument;
  /** The rule of the file behind a rule of the document; null: an absent section gives the access. */
  sourceOf(rule: object): ForeignRule | null;
  /** Patterns whose matching names are not known. */
  unjudged: { rule: ForeignRule; at: number; message: string }[];
}

/** The engine's own functions, which everybody may execute. */
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
 * Rules as a document. A rule with a pattern that cannot be judged gives nothing to all users that it may match.
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
        ...documentRule('tables', rule, user),
        ...(rule.filter !== null && { filter: written(rule.filter) }),
        ...(columns.length > 0 && { columns }),
      };
    }),
    // The last rule changes nothing but names every listed user, so that all are compared.
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

/** Converts sections, and keeps the source of each rule. */
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

  of<Name extends Exclude<keyof RulesDocument, 'impersonation'>>(
    name: Name,
    made = (rule: ForeignRule, user: { user?: string }): RulesDocument[Name][number] => documentRule(name, rule, user),
  ): RulesDocument[Name][number][] {
    const found = this.rules.get(name);
    if (found === undefined) return this.open[name];
    return found.flatMap((rule) => {
      const { user, canBeJudged: isAudienceJudged } = this.audiences.audience(rule);
      if (user === null) return [];
      const judged = this.withoutUnjudged(rule, isAudienceJudged);
      const one = made(judged, user === undefined || !canBeJudged(user) ? {} : { user });
      this.sources.set(one, rule);
      return [one];
    });
  }

  impersonation(): RulesDocument['impersonation'] {
    const found = this.rules.get('impersonation');
    // With "principals" and without this section the engine allows all impersonation.
    if (found === undefined) return this.rules.has('principals') ? [{ new_user: '.*', allow: true }] : [];
    return found.flatMap((rule) => {
      const rules = this.impersonationOf(rule);
      for (const one of rules) this.sources.set(one, rule);
      return rules;
    });
  }

  /**
   * `new_user` is a replacement text before it is a pattern (Trino 483): `$1` is the text of the first group of `original_user`, so such a
   * rule becomes one for each listed user.
   */
  private impersonationOf(rule: ForeignRule): ImpersonationRule[] {
    const { user, canBeJudged: isAudienceJudged } = this.audiences.audience(rule);
    if (user === null) return [];
    const { text, at } = rule.patterns.get('new_user') ?? { text: '.*', at: rule.at };
    const allow = rule.gives.includes('true');
    const about = user === undefined || !canBeJudged(user) ? {} : { original_user: user };
    const closed = (place: number, message: string): ImpersonationRule[] => {
      this.unjudged.push({ rule, at: place, message });
      return [{ ...about, new_user: '.*', allow: false }];
    };
    const caller = userPattern(rule);
    if (caller !== undefined && !isAudienceJudged)
      return closed(caller.at, notJudgedText('original_user', caller.text));
    const same = newUserPattern(text, rule.patterns.has('original_user'));
    if (same !== null && isRegular(same)) return [{ ...about, new_user: same, allow }];
    const names = this.audiences.namesOf(rule);
    const each = names?.map((name) => ({
      original_user: literal(name),
      new_user: replacement(rule, name, text) ?? NO_PATTERN,
    }));
    if (same === null && each?.every(({ new_user }) => isRegular(new_user)))
      return each.map((one) => ({ ...one, allow }));
    const unlisted = names === null && text.includes('$') ? ' without a list of users' : '';
    return closed(at, `the names that the new_user ${JSON.stringify(text)} stands for cannot be told${unlisted}`);
  }

  /** A rule without the patterns that cannot be judged; with such a pattern it gives nothing. */
  private withoutUnjudged(rule: ForeignRule, isAudienceJudged: boolean): ForeignRule {
    const opaque = [...rule.patterns].filter(([, { text }]) => !canBeJudged(text));
    for (const [field, { text, at }] of opaque) this.unjudged.push({ rule, at, message: notJudgedText(field, text) });
    const patterns = new Map(
      [...rule.patterns].filter(([field, { text }]) => canBeJudged(text) && anyName(field, text) !== undefined),
    );
    // Without an owner the rule would also be about executing.
    if (opaque.some(([field]) => field === 'queryOwner')) patterns.set('queryOwner', { text: '.*', at: rule.at });
    const isWhole = isAudienceJudged && opaque.length === 0;
    return { ...rule, ...(!isWhole && NOTHING_GIVEN), patterns };
  }
}

function columnRule(
  { name, allow, mask }: ForeignColumn,
  written: (expression: ForeignExpression) => string,
): ColumnRule[] {
  if (!isColumn(name)) return [];
  return [{ name, allow, ...(mask !== null && { mask: written(mask) }) }];
}

/** The `new_user` that `java.util.regex.Matcher` makes for a name; null: it fails, or the texts of the groups are not known. */
function replacement(rule: ForeignRule, name: string, text: string): string | null {
  const matched = matchOf(userPattern(rule)?.text ?? '(?:.*)', name);
  if (matched === null) return null;
  const pieces = replacementPieces(text, matched.length - 1);
  const texts = pieces?.map((piece) => {
    if ('text' in piece) return piece.text;
    if (typeof piece.group === 'number') return matched[piece.group] ?? '';
    const named = matched.groups ?? {};
    return Object.hasOwn(named, piece.group) ? (named[piece.group] ?? '') : null;
  });
  return texts === undefined || texts.includes(null) ? null : texts.join('');
}

/** Null: the pattern may be slow, Java reads it otherwise than JavaScript, or it does not match. */
function matchOf(pattern: string, name: string): RegExpExecArray | null {
  const isSlow = /\)[*+?{]/.test(pattern) || pattern.replace(/[^*+{]/g, '').length > MAX_REPETITIONS;
  const reading = readJavaPattern(pattern);
  const isAlike = reading.kind === 'read' && reading.pattern !== null && reading.differences.length === 0;
  // JavaScript's dot also matches U+0085, and its `\s` all white space of Unicode.
  const isPlain = !name.includes('\u0085') && (/^[\0-\x7f]*$/.test(name) || !/\\s/i.test(pattern));
  if (isSlow || !isAlike || !isPlain) return null;
  try {
    return new RegExp(`^(?:${pattern})$`, /[\ud800-\udfff]/.test(pattern + name) ? 'u' : '').exec(name);
  } catch {
    return null;
  }
}

const NO_PATTERN = '(';
/** The time of a match is at most the length of the name to this power. */
const MAX_REPETITIONS = 4;

/** `(a)` as `a`: rules are compiled with parentheses around each filter. */
export function withoutParentheses(conjunct: string): string {
  const inner = conjunct.slice(1, -1);
  const isWrapped = conjunct.startsWith('(') && conjunct.endsWith(')') && expressionProblem(inner) === null;
  return isWrapped ? inner : conjunct;
}

/** The document with parentheses around each conjunct of a row filter, so that equal ones are equal texts, in any order. */
export function withComparableFilters(document: RulesDocument): RulesDocument {
  const tables = document.tables.map((rule) => {
    // The filter of those who only read restricts no rows.
    if (rule.filter === undefined || rule.filter === READERS_FILTER) return rule;
    const filter = conjuncts(rule.filter).map((conjunct) => `(${withoutParentheses(conjunct)})`);
    return { ...rule, filter: filter.join(' AND ') };
  });
  return { ...document, tables };
}

/** A conjunct of a comparable filter as it was written. */
export function shownFilter(conjunct: string): string {
  return conjunct === READERS_FILTER ? conjunct : conjunct.slice(1, -1);
}
