import {
  documentRule,
  type ForeignExpression,
  type ForeignRule,
  type ForeignRules,
  isColumnName,
  userPattern,
} from '../check/foreign-rules.js';
import { selectivePattern, isRegular } from '../check/foreign-language.js';
import {
  type ColumnRule,
  type ImpersonationRule,
  NO_RULES,
  QUERY_RIGHTS,
  READERS_FILTER,
  type RulesDocument,
  TABLE_PRIVILEGES,
} from '../../trino-rules/document/rules-document.js';
import { type Audiences, canBeJudged, unjudgedMessage } from './audiences.js';
import { literalPattern } from '../../trino-rules/compile/name-pattern.js';
import { readJavaPattern } from '../java/java-pattern.js';
import { newUserPattern, replacementPieces } from '../java/replacement.js';

/** A rules file of any origin as a `RulesDocument`, without `authorization`, `principals` and the ownership of catalogs. */
export interface ForeignDocument {
  document: RulesDocument;
  /** The file's rule from which a rule of the document was made; null: the rule of the document stands for an absent section. */
  sourceOf(rule: object): ForeignRule | null;
  /** Patterns that cannot be judged, so that it is not known which names they match. */
  unjudgedPatterns: { rule: ForeignRule; at: number; message: string }[];
}

/** The engine's own functions, which everybody may execute. */
export const BUILTIN_SCHEMA = { catalog: 'system', schema: 'builtin' };

/** By section: rules that give the same access as the engine gives if the section is absent. */
function absentSectionRules(user: string | undefined): RulesDocument {
  const userField = user === undefined ? {} : { user };
  return {
    ...NO_RULES,
    catalogs: [{ ...userField, allow: 'all' }],
    schemas: [{ ...userField, owner: true }],
    tables: [{ ...userField, privileges: [...TABLE_PRIVILEGES] }],
    queries: [{ ...userField, allow: [...QUERY_RIGHTS] }],
    system_session_properties: [{ ...userField, allow: true }],
    catalog_session_properties: [{ ...userField, allow: true }],
    functions: [{ ...userField, ...BUILTIN_SCHEMA, privileges: ['EXECUTE', 'GRANT_EXECUTE'] }],
    procedures: [{ ...userField, ...BUILTIN_SCHEMA, privileges: ['EXECUTE', 'GRANT_EXECUTE'] }],
  };
}

const NO_RIGHTS: Pick<ForeignRule, 'rights' | 'filter' | 'columns'> = { rights: [], filter: null, columns: [] };

/**
 * Converts the rules of a file into a document. A rule with a pattern that cannot be judged is converted into a rule that gives nothing.
 * @param toSql converts a filter or mask into text
 */
export function foreignDocument(
  rules: ForeignRules,
  audiences: Audiences,
  toSql: (expression: ForeignExpression) => string,
): ForeignDocument {
  const { everybodyPattern: user } = audiences;
  const converter = new SectionConverter(rules, audiences);
  const document: RulesDocument = {
    catalogs: converter.convert('catalogs'),
    schemas: converter.convert('schemas'),
    tables: converter.convert('tables', (rule, user) => {
      const columns = rule.columns.flatMap(({ name, allow, mask }): ColumnRule[] =>
        isColumnName(name) ? [{ name, allow, ...(mask !== null && { mask: toSql(mask) }) }] : [],
      );
      return {
        ...documentRule('tables', rule, user),
        ...(rule.filter !== null && { filter: toSql(rule.filter) }),
        ...(columns.length > 0 && { columns }),
      };
    }),
    // The added rule gives nothing. It names every listed user, because only users whom rules name are compared.
    queries: [...converter.convert('queries'), ...(user === undefined ? [] : [{ user, allow: [] }])],
    impersonation: converter.impersonation(),
    functions: converter.convert('functions'),
    procedures: converter.convert('procedures'),
    system_information: converter.convert('system_information'),
    system_session_properties: converter.convert('system_session_properties'),
    catalog_session_properties: converter.convert('catalog_session_properties'),
  };
  const { sources, unjudgedPatterns } = converter;
  return { document, sourceOf: (rule) => sources.get(rule) ?? null, unjudgedPatterns };
}

/** Converts sections of a file into sections of a document, and records the source of each rule. */
class SectionConverter {
  readonly sources = new Map<object, ForeignRule>();
  readonly unjudgedPatterns: ForeignDocument['unjudgedPatterns'] = [];
  private readonly absentSections: RulesDocument;

  constructor(
    private readonly rules: ForeignRules,
    private readonly audiences: Audiences,
  ) {
    this.absentSections = absentSectionRules(audiences.everybodyPattern);
  }

  convert<Name extends Exclude<keyof RulesDocument, 'impersonation'>>(
    name: Name,
    toRule = (rule: ForeignRule, user: { user?: string }): RulesDocument[Name][number] =>
      documentRule(name, rule, user),
  ): RulesDocument[Name][number][] {
    const fileRules = this.rules.get(name);
    if (fileRules === undefined) return this.absentSections[name];
    return fileRules.flatMap((rule) => {
      const { user, canBeJudged: isAudienceJudged } = this.audiences.audience(rule);
      if (user === null) return [];
      const judgedRule = this.withoutUnjudged(rule, isAudienceJudged);
      const convertedRule = toRule(judgedRule, user === undefined || !canBeJudged(user) ? {} : { user });
      this.sources.set(convertedRule, rule);
      return [convertedRule];
    });
  }

  impersonation(): RulesDocument['impersonation'] {
    const fileRules = this.rules.get('impersonation');
    // Without this section the engine allows all impersonation if there are "principals".
    if (fileRules === undefined) return this.rules.has('principals') ? [{ new_user: '.*', allow: true }] : [];
    return fileRules.flatMap((rule) => {
      const rules = this.impersonationOf(rule);
      for (const convertedRule of rules) this.sources.set(convertedRule, rule);
      return rules;
    });
  }

  /**
   * `new_user` is a replacement text before it is a pattern (Trino 483): `$1` is the text of the first capturing group of `original_user`.
   * A rule with `$1` therefore becomes one rule for each listed user.
   */
  private impersonationOf(rule: ForeignRule): ImpersonationRule[] {
    const { user, canBeJudged: isAudienceJudged } = this.audiences.audience(rule);
    if (user === null) return [];
    const { text, at } = rule.patterns.get('new_user') ?? { text: '.*', at: rule.at };
    const allow = rule.rights.includes('true');
    const originalField = user === undefined || !canBeJudged(user) ? {} : { original_user: user };
    const denyUnjudged = (offset: number, message: string): ImpersonationRule[] => {
      this.unjudgedPatterns.push({ rule, at: offset, message });
      return [{ ...originalField, new_user: '.*', allow: false }];
    };
    const originalUserPattern = userPattern(rule);
    if (originalUserPattern !== undefined && !isAudienceJudged)
      return denyUnjudged(originalUserPattern.at, unjudgedMessage('original_user', originalUserPattern.text));
    const fixedPattern = newUserPattern(text, rule.patterns.has('original_user'));
    if (fixedPattern !== null && isRegular(fixedPattern)) return [{ ...originalField, new_user: fixedPattern, allow }];
    const userNames = this.audiences.namesOf(rule);
    const userRules = userNames?.map((name) => ({
      original_user: literalPattern(name),
      new_user: replacedNewUser(rule, name, text) ?? INVALID_PATTERN,
    }));
    if (fixedPattern === null && userRules?.every(({ new_user }) => isRegular(new_user)))
      return userRules.map((rule) => ({ ...rule, allow }));
    const listNote = userNames === null && text.includes('$') ? ' without a list of users' : '';
    return denyUnjudged(at, `the names that the new_user ${JSON.stringify(text)} stands for cannot be told${listNote}`);
  }

  /** Removes the patterns whose matching names cannot be known. A rule that had such a pattern gives no rights afterwards. */
  private withoutUnjudged(rule: ForeignRule, isAudienceJudged: boolean): ForeignRule {
    const opaqueFields = [...rule.patterns].filter(([, { text }]) => !canBeJudged(text));
    for (const [field, { text, at }] of opaqueFields)
      this.unjudgedPatterns.push({ rule, at, message: unjudgedMessage(field, text) });
    const patterns = new Map(
      [...rule.patterns].filter(
        ([field, { text }]) => canBeJudged(text) && selectivePattern(field, text) !== undefined,
      ),
    );
    // Without `queryOwner` the rule would also decide about executing queries. So `.*` replaces a `queryOwner` that cannot be judged.
    if (opaqueFields.some(([field]) => field === 'queryOwner')) patterns.set('queryOwner', { text: '.*', at: rule.at });
    const isFullyJudged = isAudienceJudged && opaqueFields.length === 0;
    return { ...rule, ...(!isFullyJudged && NO_RIGHTS), patterns };
  }
}

/** Replaces `$1` and the like in a rule's `new_user` by parts of a user's name, as Java's `Matcher` does. Null: there is no certain result. */
function replacedNewUser(rule: ForeignRule, name: string, text: string): string | null {
  const match = matchOf(userPattern(rule)?.text ?? '(?:.*)', name);
  if (match === null) return null;
  const pieces = replacementPieces(text, match.length - 1);
  const pieceTexts = pieces?.map((piece) => {
    if ('text' in piece) return piece.text;
    if (typeof piece.group === 'number') return match[piece.group] ?? '';
    const namedGroups = match.groups ?? {};
    return Object.hasOwn(namedGroups, piece.group) ? (namedGroups[piece.group] ?? '') : null;
  });
  return pieceTexts === undefined || pieceTexts.includes(null) ? null : pieceTexts.join('');
}

/** The match of a pattern with a name. Null: no match, or the pattern may be slow or mean something else in Java than in JavaScript. */
function matchOf(pattern: string, name: string): RegExpExecArray | null {
  const mayBeSlow = /\)[*+?{]/.test(pattern) || pattern.replace(/[^*+{]/g, '').length > MAX_REPETITIONS;
  const reading = readJavaPattern(pattern);
  const hasSameMeaning = reading.kind === 'read' && reading.pattern !== null && reading.differences.length === 0;
  // JavaScript's dot matches U+0085, and its `\s` matches characters beyond ASCII. Java's do not, so such names are not matched.
  const isPlainName = !name.includes('\u0085') && (/^[\0-\x7f]*$/.test(name) || !/\\s/i.test(pattern));
  if (mayBeSlow || !hasSameMeaning || !isPlainName) return null;
  try {
    return new RegExp(`^(?:${pattern})$`, /[\ud800-\udfff]/.test(pattern + name) ? 'u' : '').exec(name);
  } catch {
    return null;
  }
}

const INVALID_PATTERN = '(';
/** The most repetitions in a pattern that JavaScript matches. The steps of a match may grow with the name's length to the power of this number. */
const MAX_REPETITIONS = 4;

/** A row filter without the parentheses that `withComparableFilters` has added. */
export function filterText(conjunct: string): string {
  return conjunct === READERS_FILTER ? conjunct : conjunct.slice(1, -1);
}
