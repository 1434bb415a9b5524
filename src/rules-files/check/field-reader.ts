import type { JsonMember, JsonNode } from '../../kernel/json-reader.js';
import { readJavaPattern } from '../java/java-pattern.js';
import { replacementPieces } from '../java/replacement.js';
import { isRefused, type PlacedFinding, type Report } from './checks.js';
import {
  booleanOf,
  describeValue,
  isGiven,
  modeOf,
  readColumns,
  readEnvironment,
  readExpression,
  textOf,
  readWord,
} from './values.js';
import { type FieldFormat, type SectionFormat, spellingHint } from './engine-format.js';
import type { ForeignPattern, ForeignRule } from './foreign-rules.js';
import { codePoints } from '../../trino-rules/document/characters.js';
import { mayMatchOver } from '../../trino-rules/document/rule-language.js';

/** Reads the fields of one rule as the engine binds them. */
export class FieldReader {
  private readonly patterns = new Map<string, ForeignPattern>();
  private readonly nodes = new Map<string, JsonNode>();
  private gives: readonly string[] = [];
  private filter: string | null = null;
  private runsAs: string | null = null;
  private columns: ForeignRule['columns'] = [];

  /** @param at the offset of the rule's brace */
  constructor(
    private readonly format: SectionFormat,
    private readonly at: number,
    members: readonly JsonMember[],
    private readonly findings: PlacedFinding[],
    private readonly trino = 0,
  ) {
    for (const { key, at: keyAt, value } of members) {
      const name = format.aliases?.[key] ?? key;
      if (!Object.hasOwn(format.fields, name)) this.reportUnknownKey(key, keyAt);
      else {
        if (this.nodes.has(name)) this.report('json-duplicate-key', `"${key}" says "${name}" a second time`, keyAt);
        this.nodes.set(name, value);
      }
    }
  }

  read(): Pick<ForeignRule, 'patterns' | 'gives' | 'filter' | 'columns'> {
    for (const [key, field] of Object.entries(this.format.fields)) this.readField(key, field, this.nodes.get(key));
    this.checkCombinations();
    const filter = this.filter === null ? null : { text: this.filter, runsAs: this.runsAs };
    return { patterns: this.patterns, gives: this.gives, filter, columns: this.columns };
  }

  private readonly report: Report = (code, message, at) => this.findings.push({ code, message, at });

  private readField(key: string, field: FieldFormat, node: JsonNode | undefined): void {
    if (field.reads === 'pattern') this.readPattern(key, field, field.isRequired === true, node);
    else if (field.reads === 'new-user') this.readPattern(key, field, true, node);
    else if (field.reads === 'catalog-mode') this.readCatalogMode(key, node);
    else if (field.reads === 'flag') this.readFlag(key, field, node);
    else if (field.reads === 'words') this.readWords(key, field, node);
    else if (isGiven(key, node, this.report)) this.readGiven(key, field.reads, node);
  }

  private readGiven(
    key: string,
    reads: 'columns' | 'expression' | 'environment' | 'text' | 'no-words',
    node: JsonNode,
  ): void {
    if (reads === 'columns') this.columns = readColumns(node, this.report);
    else if (reads === 'expression') this.filter = readExpression(key, node, this.report);
    else if (reads === 'environment') this.runsAs = readEnvironment(key, node, this.report);
    else if (reads === 'text') textOf(key, node, this.report);
    else if (node.kind !== 'array' || node.items.length > 0) {
      const message = `"${key}" is no longer supported: the engine refuses any kind in it`;
      this.report('rules-value-unknown', message, node.at);
    }
  }

  private requireValue(key: string, node: JsonNode | undefined): node is JsonNode {
    if (node !== undefined && node.kind !== 'null') return true;
    const found = node === undefined ? 'missing' : 'null';
    this.report('rules-value-missing', `"${key}" is ${found}: the engine refuses the file`, node?.at ?? this.at);
    return false;
  }

  private readPattern(key: string, field: FieldFormat, isRequired: boolean, node: JsonNode | undefined): void {
    const isThere = isRequired ? this.requireValue(key, node) : isGiven(key, node, this.report);
    if (!isThere || node === undefined) return;
    const text = textOf(key, node, this.report);
    if (text === null) return;
    if (text === '') {
      const kind = field.reads === 'pattern' ? field.matches : 'user';
      const every = ['lower-case name', 'property'].includes(kind) ? 'name' : 'user';
      const more = kind === 'group' ? ', also those without a group' : '';
      const absent = `"${key}" is empty, which the engine reads as absent: it matches every ${every}${more}`;
      if (isRequired) this.report('rules-value-missing', `"${key}" is empty: the engine refuses the file`, node.at);
      else this.report('rules-pattern-empty', absent, node.at);
      return;
    }
    const isOfUser = this.trino >= OF_USER_SINCE && ['catalog', 'schema', 'table'].includes(key);
    // `{user}` is the name of the user, which is not known: such a pattern cannot be judged.
    this.patterns.set(key, { text: isOfUser ? text.replaceAll('{user}', '(?<=)') : text, at: node.at });
    checkPattern(key, field, isOfUser ? text.replaceAll('{user}', 'user') : text, node.at, this.report);
  }

  private readCatalogMode(key: string, node: JsonNode | undefined): void {
    if (!this.requireValue(key, node)) return;
    const mode = modeOf(node);
    if (mode === null) {
      const message = `"${key}" is all, read-only or none, not ${describeValue(node)}: the engine refuses the file`;
      this.report('rules-value-unknown', message, node.at);
      return;
    }
    this.gives = [mode];
    if (mode === 'owner') {
      const message = '"owner" is no documented mode; it also allows CREATE CATALOG and DROP CATALOG';
      this.report('rule-owner-mode', message, node.at);
    }
  }

  private readFlag(key: string, field: FieldFormat & { reads: 'flag' }, node: JsonNode | undefined): void {
    this.gives = [String(field.whenAbsent)];
    if (node === undefined) {
      if (!field.whenAbsent)
        this.report('rules-value-defaulted', `"${key}" is missing; the engine takes false for it`, this.at);
      return;
    }
    if (!isGiven(key, node, this.report)) return;
    const value = booleanOf(key, node, field.whenAbsent, this.report);
    if (value !== null) this.gives = [String(value)];
  }

  private readWords(
    key: string,
    { words, isEnum }: FieldFormat & { reads: 'words' },
    node: JsonNode | undefined,
  ): void {
    if (!this.requireValue(key, node)) return;
    if (node.kind !== 'array') {
      const message = `"${key}" must be a list of ${words.join(', ')}, not ${describeValue(node)}`;
      this.report('rules-wrong-type', message, node.at);
      return;
    }
    const given: string[] = [];
    for (const item of node.items) {
      const word = readWord(key, item, words, isEnum, this.report);
      if (word === null) continue;
      if (given.includes(word)) this.report('rules-value-repeated', `"${key}" names ${word} twice`, item.at);
      else given.push(word);
    }
    this.gives = given;
  }

  /** Checks conditions on several fields. */
  private checkCombinations(): void {
    const { fields } = this.format;
    const newUser = this.patterns.get('new_user');
    if (newUser && fields['new_user']?.reads === 'new-user') {
      const original = this.patterns.get('original_user');
      const reading = original === undefined ? null : readJavaPattern(original.text);
      const groups = reading?.kind === 'read' ? reading.groups : 0;
      const problem = newUserProblem(newUser.text, original === undefined ? null : groups);
      if (problem !== null && readJavaPattern(newUser.text).kind === 'read')
        this.report('rules-new-user-unsafe', problem, newUser.at);
    }
    const owner = this.patterns.get('queryOwner');
    if (owner && this.gives.includes('execute')) {
      const message = '"queryOwner" stands beside "execute", which is not about an owner: the engine refuses the file';
      this.report('rules-query-owner-execute', message, owner.at);
    }
    if ('new_role' in fields) this.requireEither('new_user', 'new_role');
    if ('principal_to_user' in fields) this.requireEither('user', 'principal_to_user');
  }

  private requireEither(pattern: string, other: string): void {
    const node = this.nodes.get(other);
    const hasOther =
      this.patterns.has(other) || (other === 'principal_to_user' && node !== undefined && node.kind !== 'null');
    if (this.patterns.has(pattern) || hasOther) return;
    // Empty and null count as absent: one finding is enough.
    const found = [pattern, other].map((key) => this.nodes.get(key)).filter((each) => each !== undefined);
    const said = this.findings.filter(({ at }) => found.some((each) => each.at === at));
    if (said.some(({ code }) => isRefused(code))) return;
    for (const finding of said) this.findings.splice(this.findings.indexOf(finding), 1);
    const message = `"${pattern}" or "${other}" must be there: the engine refuses the file`;
    this.report('rules-value-missing', message, found[0]?.at ?? this.at);
  }

  private reportUnknownKey(key: string, at: number): void {
    const hint = spellingHint(key, Object.keys(this.format.fields));
    this.report('rules-key-unknown', `the engine refuses a file with the key "${key}" here${hint}`, at);
  }
}

/** First release of the engine in which `{user}` is the user's name. */
const OF_USER_SINCE = 484;

/**
 * `new_user` is a replacement text before it is a pattern (java.util.regex.Matcher, seen on Trino 483): `$1` is a group of
 * `original_user`, any other `$` fails when the rule is reached, and a backslash is dropped.
 * @param groups number of groups in `original_user`; null: the rule has no `original_user`, and the engine takes the text as it is
 */
function newUserProblem(text: string, groups: number | null): string | null {
  if (groups === null)
    return /\$[0-9]/.test(text)
      ? '"new_user" refers to a group, and without "original_user" nothing takes its place'
      : null;
  const [eaten] = /\\[^\\]/.exec(text.replaceAll('\\\\', '')) ?? [];
  if (eaten !== undefined)
    return `"new_user" is a replacement text first, which eats the backslash of ${eaten}; write a class such as [.]`;
  return replacementPieces(text, groups) === null
    ? `"new_user" is a replacement text first, in which $ needs the number of a group (there are ${groups}): every check that reaches this rule fails`
    : null;
}

/** Matches most patterns, which need no check. */
const PLAIN_NAMES = /^[a-z0-9_-]+(?:\|[a-z0-9_-]+)*$/;

/** Problems of one pattern, and traps: the engine matches it with whole names, by java.util.regex. */
function checkPattern(key: string, field: FieldFormat, text: string, at: number, report: Report): void {
  if (PLAIN_NAMES.test(text)) return;
  const reading = readJavaPattern(text);
  if (reading.kind === 'refused') {
    const place = text.length > 1 ? ` (character ${reading.at + 1})` : '';
    report(
      'rules-pattern-invalid',
      `"${key}" is no regular expression of Java: ${reading.reason}${place}${hint(text)}`,
      at,
    );
    return;
  }
  checkTraps(key, text, at, report);
  if (reading.kind === 'not-judged') {
    const place = `character ${reading.at + 1}`;
    report('pattern-not-judged', `"${key}" has ${reading.construct} (${place}), which this check does not read`, at);
    return;
  }
  for (const kind of ['read-differently', 'refused-by-javascript'] as const) {
    const constructs = reading.differences.filter((each) => each.kind === kind).map(({ construct }) => construct);
    if (constructs.length === 0) continue;
    const list = constructs.join(' and ');
    if (kind === 'read-differently')
      report('pattern-read-differently', `"${key}" has ${list}, which Java reads unlike other tools`, at);
    else report('pattern-java-only', `"${key}" has ${list}, which only Java's regular expressions know`, at);
  }
  const isName = field.reads === 'pattern' && field.matches === 'lower-case name';
  if (isName && reading.pattern !== null && /[A-Z]/.test(text) && !mayMatchOver(reading.pattern, LOWER_CASE, MAX_NODES))
    report('pattern-case', `the engine's names are lower-case: no name matches "${key}"`, at);
}

function checkTraps(key: string, text: string, at: number, report: Report): void {
  if (text !== text.trim())
    report('pattern-blank', `"${key}" begins or ends with white space, which is part of the name`, at);
  const glob = /(?<![\\\])}.*+?])([a-zA-Z0-9_-])\*/.exec(text);
  if (glob) {
    const [found, letter] = glob;
    report('pattern-glob', `"${key}" has ${found}, which means any number of ${String(letter)}; any text is .*`, at);
  }
  if (BARE_ALTERNATIVE.test(text)) {
    const message = `the alternatives of "${key}" reach from end to end: .* belongs to one of them alone; write (a|b).* to mean all`;
    report('pattern-alternation', message, at);
  }
  const dot = /[a-zA-Z0-9_]\.(?=[a-zA-Z0-9_])/.test(text.replace(/\\./g, '  '));
  if (dot && !text.includes('\\Q'))
    report('pattern-bare-dot', `the dot of "${key}" matches any character; a dot itself is [.]`, at);
}

/** Plain names of which only the last ends with `.*`, or only the first begins with it: `a|b.*`, `.*a|b`. */
const BARE_ALTERNATIVE = /^(?:(?:[\w-]+\|)+[\w-]+\.[*+]|\.[*+][\w-]+(?:\|[\w-]+)+)$/;

/** The likely intention behind a text that is no pattern. */
function hint(text: string): string {
  if (text.includes('{user}')) return '; {user} is newer than Trino 483 (--trino 484)';
  if (text.startsWith('*')) return '; any text is .*';
  return '';
}

const LOWER_CASE = codePoints([0x41, 0x5a]).negate();
const MAX_NODES = 2_000;
