import type { JsonMember, JsonNode } from '../../kernel/json-reader.js';
import { readJavaPattern } from '../java/java-pattern.js';
import { replacementPieces } from '../java/replacement.js';
import { readingOf } from './foreign-language.js';
import { isRefused, type PlacedFinding, type ReportFinding } from './checks.js';
import {
  readBoolean,
  describeValue,
  isGiven,
  readMode,
  readColumns,
  readEnvironment,
  readExpression,
  readText,
  readWord,
} from './values.js';
import { type FieldFormat, type SectionFormat, spellingHint } from './engine-format.js';
import type { ForeignPattern, ForeignRule } from './foreign-rules.js';
import { codePoints } from '../../trino-rules/document/characters.js';
import { mayMatchOnly } from '../../trino-rules/document/rule-language.js';

/** Reads the fields of one rule as the engine binds them. */
export class FieldReader {
  private readonly patterns = new Map<string, ForeignPattern>();
  private readonly nodeByKey = new Map<string, JsonNode>();
  private rights: readonly string[] = [];
  private filter: string | null = null;
  private runsAs: string | null = null;
  private columns: ForeignRule['columns'] = [];

  /** @param at the offset of the rule's brace */
  constructor(
    private readonly format: SectionFormat,
    private readonly at: number,
    members: readonly JsonMember[],
    private readonly findings: PlacedFinding[],
    private readonly trinoVersion = 0,
  ) {
    for (const { key, at: keyAt, value } of members) {
      const name = format.aliases?.[key] ?? key;
      if (!Object.hasOwn(format.fields, name)) {
        const hint = spellingHint(key, Object.keys(format.fields));
        this.report('rules-key-unknown', `the engine refuses a file with the key "${key}" here${hint}`, keyAt);
      } else {
        if (this.nodeByKey.has(name)) this.report('json-duplicate-key', `"${key}" says "${name}" a second time`, keyAt);
        this.nodeByKey.set(name, value);
      }
    }
  }

  readRule(): Pick<ForeignRule, 'patterns' | 'rights' | 'filter' | 'columns'> {
    for (const [key, field] of Object.entries(this.format.fields)) this.readField(key, field, this.nodeByKey.get(key));
    this.checkFieldPairs();
    const filter = this.filter === null ? null : { text: this.filter, runsAs: this.runsAs };
    return { patterns: this.patterns, rights: this.rights, filter, columns: this.columns };
  }

  private readonly report: ReportFinding = (code, message, at) => this.findings.push({ code, message, at });

  private readField(key: string, field: FieldFormat, node: JsonNode | undefined): void {
    if (field.kind === 'pattern') this.readPattern(key, field, field.isRequired === true, node);
    else if (field.kind === 'new-user') this.readPattern(key, field, true, node);
    else if (field.kind === 'catalog-mode') this.readCatalogMode(key, node);
    else if (field.kind === 'flag') this.readFlag(key, field, node);
    else if (field.kind === 'words') this.readWords(key, field, node);
    else if (!isGiven(key, node, this.report)) return;
    else if (field.kind === 'columns') this.columns = readColumns(node, this.report);
    else if (field.kind === 'expression') this.filter = readExpression(key, node, this.report);
    else if (field.kind === 'environment') this.runsAs = readEnvironment(key, node, this.report);
    else if (field.kind === 'text') readText(key, node, this.report);
    else if (node.kind !== 'array' || node.items.length > 0) {
      const message = `"${key}" is no longer supported: the engine refuses any kind in it`;
      this.report('rules-value-unknown', message, node.at);
    }
  }

  private requireValue(key: string, node: JsonNode | undefined): node is JsonNode {
    if (node !== undefined && node.kind !== 'null') return true;
    const absenceText = node === undefined ? 'missing' : 'null';
    this.report('rules-value-missing', `"${key}" is ${absenceText}: the engine refuses the file`, node?.at ?? this.at);
    return false;
  }

  private readPattern(key: string, field: FieldFormat, isRequired: boolean, node: JsonNode | undefined): void {
    const isPresent = isRequired ? this.requireValue(key, node) : isGiven(key, node, this.report);
    if (!isPresent || node === undefined) return;
    const text = readText(key, node, this.report);
    if (text === null) return;
    if (text === '') {
      const kind = field.kind === 'pattern' ? field.nameKind : 'user';
      const matchedKind = ['lower-case name', 'property'].includes(kind) ? 'name' : 'user';
      const groupNote = kind === 'group' ? ', also those without a group' : '';
      const message = `"${key}" is empty, which the engine reads as absent: it matches every ${matchedKind}${groupNote}`;
      if (isRequired) this.report('rules-value-missing', `"${key}" is empty: the engine refuses the file`, node.at);
      else this.report('rules-pattern-empty', message, node.at);
      return;
    }
    const mayNameUser = this.trinoVersion >= USER_PLACEHOLDER_SINCE && ['catalog', 'schema', 'table'].includes(key);
    // `{user}` is the user's name, which is not known. A look-behind in its place marks the pattern as one that cannot be judged.
    this.patterns.set(key, { text: mayNameUser ? text.replaceAll('{user}', '(?<=)') : text, at: node.at });
    checkPattern(key, field, mayNameUser ? text.replaceAll('{user}', 'user') : text, node.at, this.report);
  }

  private readCatalogMode(key: string, node: JsonNode | undefined): void {
    if (!this.requireValue(key, node)) return;
    const mode = readMode(node);
    if (mode === null) {
      const message = `"${key}" is all, read-only or none, not ${describeValue(node)}: the engine refuses the file`;
      this.report('rules-value-unknown', message, node.at);
      return;
    }
    this.rights = [mode];
    if (mode === 'owner') {
      const message = '"owner" is no documented mode; it also allows CREATE CATALOG and DROP CATALOG';
      this.report('rule-owner-mode', message, node.at);
    }
  }

  private readFlag(key: string, field: FieldFormat & { kind: 'flag' }, node: JsonNode | undefined): void {
    this.rights = [String(field.whenAbsent)];
    if (node === undefined) {
      if (!field.whenAbsent)
        this.report('rules-value-defaulted', `"${key}" is missing; the engine takes false for it`, this.at);
      return;
    }
    if (!isGiven(key, node, this.report)) return;
    const value = readBoolean(key, node, field.whenAbsent, this.report);
    if (value !== null) this.rights = [String(value)];
  }

  private readWords(key: string, { words, isEnum }: FieldFormat & { kind: 'words' }, node: JsonNode | undefined): void {
    if (!this.requireValue(key, node)) return;
    if (node.kind !== 'array') {
      const message = `"${key}" must be a list of ${words.join(', ')}, not ${describeValue(node)}`;
      this.report('rules-wrong-type', message, node.at);
      return;
    }
    const rights: string[] = [];
    for (const item of node.items) {
      const word = readWord(key, item, words, isEnum, this.report);
      if (word === null) continue;
      if (rights.includes(word)) this.report('rules-value-repeated', `"${key}" names ${word} twice`, item.at);
      else rights.push(word);
    }
    this.rights = rights;
  }

  private checkFieldPairs(): void {
    const { fields } = this.format;
    const newUserPattern = this.patterns.get('new_user');
    if (newUserPattern && fields['new_user']?.kind === 'new-user') {
      const originalUserPattern = this.patterns.get('original_user');
      const reading = originalUserPattern === undefined ? null : readJavaPattern(originalUserPattern.text);
      const groupCount = reading?.kind === 'read' ? reading.groupCount : 0;
      const problem = newUserProblem(newUserPattern.text, originalUserPattern === undefined ? null : groupCount);
      if (problem !== null && readJavaPattern(newUserPattern.text).kind === 'read')
        this.report('rules-new-user-unsafe', problem, newUserPattern.at);
    }
    const ownerPattern = this.patterns.get('queryOwner');
    if (ownerPattern && this.rights.includes('execute')) {
      const message = '"queryOwner" stands beside "execute", which is not about an owner: the engine refuses the file';
      this.report('rules-query-owner-execute', message, ownerPattern.at);
    }
    if ('new_role' in fields) this.requireEither('new_user', 'new_role');
    if ('principal_to_user' in fields) this.requireEither('user', 'principal_to_user');
  }

  private requireEither(firstKey: string, secondKey: string): void {
    const node = this.nodeByKey.get(secondKey);
    const hasAlternative =
      this.patterns.has(secondKey) || (secondKey === 'principal_to_user' && node !== undefined && node.kind !== 'null');
    if (this.patterns.has(firstKey) || hasAlternative) return;
    // The finding `rules-value-missing` replaces milder findings about the two fields.
    const nodes = [firstKey, secondKey].map((key) => this.nodeByKey.get(key)).filter((each) => each !== undefined);
    const earlierFindings = this.findings.filter(({ at }) => nodes.some((each) => each.at === at));
    if (earlierFindings.some(({ code }) => isRefused(code))) return;
    for (const finding of earlierFindings) this.findings.splice(this.findings.indexOf(finding), 1);
    const message = `"${firstKey}" or "${secondKey}" must be there: the engine refuses the file`;
    this.report('rules-value-missing', message, nodes[0]?.at ?? this.at);
  }
}

/** First release of the engine in which `{user}` is the user's name. */
const USER_PLACEHOLDER_SINCE = 484;

/**
 * `new_user` is a replacement text for java.util.regex.Matcher (seen on Trino 483): `$1` is the text of a capturing group of
 * `original_user`, and any other `$` fails.
 * @param groupCount number of capturing groups in `original_user`; null: there is no `original_user`, and the engine takes the text as it is
 */
function newUserProblem(text: string, groupCount: number | null): string | null {
  if (groupCount === null)
    return /\$[0-9]/.test(text)
      ? '"new_user" refers to a group, and without "original_user" nothing takes its place'
      : null;
  const [lostEscape] = /\\[^\\]/.exec(text.replaceAll('\\\\', '')) ?? [];
  if (lostEscape !== undefined)
    return `"new_user" is a replacement text first, which eats the backslash of ${lostEscape}; write a class such as [.]`;
  return replacementPieces(text, groupCount) === null
    ? `"new_user" is a replacement text first, in which $ needs the number of a group (there are ${groupCount}): every check that reaches this rule fails`
    : null;
}

/** Matches plain names and alternatives of them (`a|b`). Most patterns are of this kind, and need no check. */
const PLAIN_NAMES_PATTERN = /^[a-z0-9_-]+(?:\|[a-z0-9_-]+)*$/;

function checkPattern(key: string, field: FieldFormat, text: string, at: number, report: ReportFinding): void {
  if (PLAIN_NAMES_PATTERN.test(text)) return;
  const reading = readingOf(text);
  if (reading.kind === 'refused') {
    const place = text.length > 1 ? ` (character ${reading.at + 1})` : '';
    const problem = `${reading.reason}${place}${patternHint(text)}`;
    report('rules-pattern-invalid', `"${key}" is no regular expression of Java: ${problem}`, at);
    return;
  }
  checkTraps(key, text, at, report);
  if (reading.kind === 'not-judged' || reading.pattern === null) {
    const isUnknown = reading.kind === 'not-judged';
    const construct = isUnknown ? `${reading.construct} (character ${reading.at + 1})` : 'too large a look-ahead';
    report('pattern-not-judged', `"${key}" has ${construct}, which this check does not read`, at);
    return;
  }
  for (const kind of ['read-differently', 'refused-by-javascript'] as const) {
    const constructs = reading.differences.filter((each) => each.kind === kind).map(({ construct }) => construct);
    if (constructs.length === 0) continue;
    const constructList = constructs.join(' and ');
    if (kind === 'read-differently')
      report('pattern-read-differently', `"${key}" has ${constructList}, which Java reads unlike other tools`, at);
    else report('pattern-java-only', `"${key}" has ${constructList}, which only Java's regular expressions know`, at);
  }
  const isName = field.kind === 'pattern' && field.nameKind === 'lower-case name';
  if (isName && /[A-Z]/.test(text) && !mayMatchOnly(reading.pattern, LOWER_CASE, MAX_NODES))
    report('pattern-case', `the engine's names are lower-case: no name matches "${key}"`, at);
}

function checkTraps(key: string, text: string, at: number, report: ReportFinding): void {
  if (text !== text.trim())
    report('pattern-blank', `"${key}" begins or ends with white space, which is part of the name`, at);
  const glob = /(?<![\\\])}.*+?])([a-zA-Z0-9_-])\*/.exec(text);
  if (glob) {
    const [globText, letter] = glob;
    report('pattern-glob', `"${key}" has ${globText}, which means any number of ${String(letter)}; any text is .*`, at);
  }
  if (BARE_ALTERNATIVE.test(text)) {
    const message = `the alternatives of "${key}" reach from end to end: .* belongs to one of them alone; write (a|b).* to mean all`;
    report('pattern-alternation', message, at);
  }
  const hasBareDot = /[a-zA-Z0-9_]\.(?=[a-zA-Z0-9_])/.test(text.replace(/\\./g, '  '));
  if (hasBareDot && !text.includes('\\Q'))
    report('pattern-bare-dot', `the dot of "${key}" matches any character; a dot itself is [.]`, at);
}

/** Alternatives without parentheses, of which only one has `.*` or `.+`: `a|b.*` or `.*a|b`. */
const BARE_ALTERNATIVE = /^(?:(?:[\w-]+\|)+[\w-]+\.[*+]|\.[*+][\w-]+(?:\|[\w-]+)+)$/;

/** The end of a message about an invalid pattern: a hint at the likely intention. */
function patternHint(text: string): string {
  if (text.includes('{user}')) return '; {user} is newer than Trino 483 (--trino 484)';
  if (text.startsWith('*')) return '; any text is .*';
  return '';
}

const LOWER_CASE = codePoints([0x41, 0x5a]).negate();
const MAX_NODES = 2_000;
