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
  /** `tables[12]` */
  place: string;
  /** Offset of its opening brace. */
  at: number;
  /** By field; absent where the engine reads any name. */
  patterns: ReadonlyMap<string, ForeignPattern>;
  /** Words of `privileges` or `allow`, a catalog's mode, `true` or `false`. */
  gives: readonly string[];
  /** A row filter; null: none. */
  filter: ForeignExpression | null;
  /** Columns that are hidden or masked, each once. */
  columns: readonly ForeignColumn[];
  /** The engine refuses the rule, so what it matches and gives is not known. */
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
  /** The identity that the engine evaluates it as; null: the user of the session. */
  runsAs: string | null;
}

export interface ForeignColumn {
  name: string;
  /** False: it is hidden. */
  allow: boolean;
  mask: ForeignExpression | null;
}

export function userPattern({ patterns }: ForeignRule): ForeignPattern | undefined {
  return patterns.get('user') ?? patterns.get('original_user');
}

export function groupPattern({ patterns }: ForeignRule): ForeignPattern | undefined {
  return patterns.get('group') ?? patterns.get('original_group');
}

/** The pattern of roles. The engine's file access control knows no roles, so the rule never matches. */
export function rolePattern({ patterns }: ForeignRule): ForeignPattern | undefined {
  return patterns.get('role') ?? patterns.get('original_role');
}

/** Column names of the engine are lower-case: other names restrict nothing. */
export function isColumn(name: string): boolean {
  return name !== '' && name === name.toLowerCase();
}

/** The sections of a file, without those that are absent or null. */
export type ForeignRules = ReadonlyMap<SectionName, readonly ForeignRule[]>;

/**
 * SQL that depends on the identity of an expression: sub-queries, and functions of catalogs. The current user is that of the session under
 * any identity (seen on 483).
 */
const OF_IDENTITY =
  /\b(?:current_(?!(?:user|date|time|timestamp)\b)[a-z_]+|select|table|values|with(?!\s+time\s+zone\b))\b|[.]\s*(?:\w+|"[^"]*")\s*\(/i;

const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"/g;
/** Quoted text, in which line breaks mean themselves, or white space between tokens. */
const QUOTED_OR_SPACE = new RegExp(`${QUOTED.source}|[ \\t\\r\\n]+`, 'g');
const QUOTED_OR_BLANK = new RegExp(`${QUOTED.source}|--[^\\r\\n]*|\\/\\*[^]*?\\*\\/|[\\t\\r\\n]`, 'g');
/** Matches the start of a comment, in which a quote has no meaning. */
const COMMENT = /--|\/\*/;

/** Whether the result depends on the identity that evaluates it. */
export function isOfIdentity({ text, runsAs }: ForeignExpression): boolean {
  if (runsAs === null) return false;
  const words = COMMENT.test(text) ? text : text.replace(QUOTED, (quoted) => quoted.charAt(0).repeat(2));
  return OF_IDENTITY.test(words);
}

/** The SQL without line breaks and tabs outside quotes, which policies cannot hold. SQL with comments is unchanged. */
export function inOneLine(sql: string): string {
  return COMMENT.test(sql) ? sql : sql.replace(QUOTED_OR_SPACE, (found) => (/^(?:['"]| +$)/.test(found) ? found : ' '));
}

/** Why the text is no SQL expression, with places; unlike in a policy, comments and line breaks are allowed. */
export function foreignSyntaxProblem(sql: string): string | null {
  const blank = (found: string): string =>
    /^['"]/.test(found) ? found.replace(/[^'"]/g, '_') : ' '.repeat(found.length);
  return syntaxProblem(sql.replace(QUOTED_OR_BLANK, blank));
}

type Section = Exclude<keyof RulesDocument, 'impersonation'>;

const wordsOf =
  (key: string, words: readonly string[]) =>
  (rule: ForeignRule): object => ({ [key]: words.filter((word) => gives(rule, word)) });

const isAllowed = (rule: ForeignRule): object => ({ allow: gives(rule, 'true') });

/** What a rule gives, by its section. */
const GIVEN: Record<Section, (rule: ForeignRule) => object> = {
  catalogs: (rule) => ({ allow: catalogMode(rule) }),
  schemas: (rule) => ({ owner: gives(rule, 'true') }),
  tables: wordsOf('privileges', TABLE_PRIVILEGES),
  queries: wordsOf('allow', QUERY_RIGHTS),
  functions: wordsOf('privileges', FUNCTION_PRIVILEGES),
  procedures: wordsOf('privileges', PROCEDURE_PRIVILEGES),
  system_information: wordsOf('allow', SYSTEM_INFORMATION_RIGHTS),
  system_session_properties: isAllowed,
  catalog_session_properties: isAllowed,
};

const OBJECTS = new Map(RULE_PATTERNS.map(([section, , ...objects]) => [section, objects]));

/** The same rule as a rule of a document with this pattern of users, without filter and columns. */
export function documentRule<Name extends Section>(
  section: Name,
  rule: ForeignRule,
  user: { user?: string },
): RulesDocument[Name][number] {
  const patterns = (OBJECTS.get(section) ?? []).flatMap((key) => {
    const text = rule.patterns.get(key)?.text;
    return text === undefined ? [] : [[key, text]];
  });
  return { ...user, ...Object.fromEntries(patterns), ...GIVEN[section](rule) } as RulesDocument[Name][number];
}

function gives(rule: ForeignRule, gift: string): boolean {
  return rule.gives.includes(gift);
}

export function catalogMode(rule: ForeignRule): 'all' | 'read-only' | 'none' {
  if (gives(rule, 'all') || gives(rule, 'owner')) return 'all';
  return gives(rule, 'read-only') ? 'read-only' : 'none';
}

export function givesSomething({ gives }: ForeignRule): boolean {
  return gives.some((right) => right !== 'none' && right !== 'false');
}
