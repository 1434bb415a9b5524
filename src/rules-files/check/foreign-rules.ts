import type { SectionName } from './engine-format.js';
import { syntaxProblem } from '../../trino-rules/model/sql-expression.js';
import {
  FUNCTION_PRIVILEGES,
  PROCEDURE_PRIVILEGES,
  QUERY_RIGHTS,
  RULE_PATTERNS,
  type RulesDocument,
  SYSTEM_INFORMATION_RIGHTS,
  TABLE_PRIVILEGES,
} from '../../trino-rules/document/rules-document.js';

/** A rule of any rules file, as the engine would apply it. */
export interface ForeignRule {
  section: SectionName;
  index: number;
  /** The rule's place, such as `tables[12]`. */
  place: string;
  /** Offset of the rule's opening brace. */
  at: number;
  /** Patterns by field. An absent field matches any name. */
  patterns: ReadonlyMap<string, ForeignPattern>;
  /** The rights that the rule gives: words of `privileges` or `allow`, a catalog's mode, `true` or `false`. */
  rights: readonly string[];
  /** The rule's row filter; null: the rule has no filter. */
  filter: ForeignExpression | null;
  /** Hidden and masked columns without duplicates. */
  columns: readonly ForeignColumn[];
  /** Whether the engine refuses the rule. Its patterns and rights are then incomplete. */
  isRefused: boolean;
  /** The rule on one line, cut if it is long. */
  text: string;
}

export interface ForeignPattern {
  text: string;
  at: number;
}

export interface ForeignExpression {
  text: string;
  /** The identity as which the engine evaluates the expression; null: the user of the session. */
  runsAs: string | null;
}

export interface ForeignColumn {
  name: string;
  allow: boolean;
  mask: ForeignExpression | null;
}

export function userPattern({ patterns }: ForeignRule): ForeignPattern | undefined {
  return patterns.get('user') ?? patterns.get('original_user');
}

export function groupPattern({ patterns }: ForeignRule): ForeignPattern | undefined {
  return patterns.get('group') ?? patterns.get('original_group');
}

/** The pattern of roles. The engine's file access control knows no roles, so a rule with one never matches. */
export function rolePattern({ patterns }: ForeignRule): ForeignPattern | undefined {
  return patterns.get('role') ?? patterns.get('original_role');
}

/** Whether a column of the engine can have this name. Column names are lower-case; a restriction of any other name has no effect. */
export function isColumnName(name: string): boolean {
  return name !== '' && name === name.toLowerCase();
}

/** The sections of a file, without those that are absent or null. */
export type ForeignRules = ReadonlyMap<SectionName, readonly ForeignRule[]>;

/**
 * Matches SQL whose result may depend on the identity that evaluates it: sub-queries, functions of catalogs, and words like `current_groups`.
 * `current_user` is not matched: it is the session's user under any identity (seen on 483).
 */
const IDENTITY_DEPENDENT =
  /\b(?:current_(?!(?:user|date|time|timestamp)\b)[a-z_]+|select|table|values|with(?!\s+time\s+zone\b))\b|[.]\s*(?:\w+|"[^"]*")\s*\(/i;

const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"/g;
const QUOTED_OR_SPACE = new RegExp(`${QUOTED.source}|[ \\t\\r\\n]+`, 'g');
const QUOTED_OR_BLANK = new RegExp(`${QUOTED.source}|--[^\\r\\n]*|\\/\\*[^]*?\\*\\/|[\\t\\r\\n]`, 'g');
/** Matches the start of a comment, in which a quote has no meaning. */
const COMMENT = /--|\/\*/;

/** Whether an expression runs with the identity of one fixed user (`runsAs`), and its result may depend on that identity. */
export function usesIdentity({ text, runsAs }: ForeignExpression): boolean {
  if (runsAs === null) return false;
  const unquotedSql = COMMENT.test(text) ? text : text.replace(QUOTED, (quotation) => quotation.charAt(0).repeat(2));
  return IDENTITY_DEPENDENT.test(unquotedSql);
}

/** Replaces line breaks and tabs outside quotes by spaces, because policies cannot hold them. SQL with comments is unchanged. */
export function toOneLine(sql: string): string {
  return COMMENT.test(sql) ? sql : sql.replace(QUOTED_OR_SPACE, (match) => (/^(?:['"]| +$)/.test(match) ? match : ' '));
}

/** The reason why a text is no SQL expression, with the position; null: none. Allows comments and line breaks, unlike policies. */
export function foreignSyntaxProblem(sql: string): string | null {
  const blankOut = (match: string): string =>
    /^['"]/.test(match) ? match.replace(/[^'"]/g, '_') : ' '.repeat(match.length);
  return syntaxProblem(sql.replace(QUOTED_OR_BLANK, blankOut));
}

type Section = Exclude<keyof RulesDocument, 'impersonation'>;

const wordsFieldConverter =
  (key: string, words: readonly string[]) =>
  (rule: ForeignRule): object => ({ [key]: words.filter((word) => hasRight(rule, word)) });

const givenFlagField = (rule: ForeignRule): object => ({ allow: hasRight(rule, 'true') });

/** For each section: converts the rights of a rule into fields of a rule in a `RulesDocument`. */
const RIGHT_FIELDS: Record<Section, (rule: ForeignRule) => object> = {
  catalogs: (rule) => ({ allow: catalogMode(rule) }),
  schemas: (rule) => ({ owner: hasRight(rule, 'true') }),
  tables: wordsFieldConverter('privileges', TABLE_PRIVILEGES),
  queries: wordsFieldConverter('allow', QUERY_RIGHTS),
  functions: wordsFieldConverter('privileges', FUNCTION_PRIVILEGES),
  procedures: wordsFieldConverter('privileges', PROCEDURE_PRIVILEGES),
  system_information: wordsFieldConverter('allow', SYSTEM_INFORMATION_RIGHTS),
  system_session_properties: givenFlagField,
  catalog_session_properties: givenFlagField,
};

const OBJECT_FIELDS_BY_SECTION = new Map(RULE_PATTERNS.map(([section, , ...objects]) => [section, objects]));

/** Converts a rule into a document rule with this pattern of users, without filter and columns. */
export function documentRule<Name extends Section>(
  section: Name,
  rule: ForeignRule,
  user: { user?: string },
): RulesDocument[Name][number] {
  const patterns = (OBJECT_FIELDS_BY_SECTION.get(section) ?? []).flatMap((key) => {
    const text = rule.patterns.get(key)?.text;
    return text === undefined ? [] : [[key, text]];
  });
  return { ...user, ...Object.fromEntries(patterns), ...RIGHT_FIELDS[section](rule) } as RulesDocument[Name][number];
}

function hasRight(rule: ForeignRule, right: string): boolean {
  return rule.rights.includes(right);
}

export function catalogMode(rule: ForeignRule): 'all' | 'read-only' | 'none' {
  if (hasRight(rule, 'all') || hasRight(rule, 'owner')) return 'all';
  return hasRight(rule, 'read-only') ? 'read-only' : 'none';
}

export function givesSomething({ rights }: ForeignRule): boolean {
  return rights.some((right) => right !== 'none' && right !== 'false');
}

/** A pattern that matches no user, because no name has a control character. */
export const NO_USER_PATTERN = '\u0001';
