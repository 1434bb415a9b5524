import type { JsonMember, JsonNode } from '../../kernel/json-reader.js';
import { readJavaPattern } from '../java/java-pattern.js';
import { isRefused } from './checks.js';
import { readColumns } from './column-reader.js';
import type { FieldFormat, SectionFormat } from './engine-format.js';
import { readEnvironment, readExpression } from './expression-reader.js';
import type { ForeignPattern, ForeignRule } from './foreign-rules.js';
import { checkPattern } from './pattern-checks.js';
import type { PlacedFinding, Report } from './placed-finding.js';
import { spelledLike } from './spelling.js';
import { booleanOf, describeValue, isGiven, modeOf, textOf, wordOf } from './values.js';

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
      if (!Object.hasOwn(format.fields, name)) this.unknown(key, keyAt);
      else {
        const former = this.nodes.get(name);
        if (former !== undefined) {
          this.report('json-duplicate-key', `"${key}" says "${name}" a second time`, keyAt);
          this.superseded(name, former);
          if (this.nodes.size === Object.keys(format.fields).length)
            this.report('rules-key-unknown', `the engine refuses "${key}" once it has read all other keys`, keyAt);
        }
        this.nodes.set(name, value);
      }
    }
  }

  read(): Pick<ForeignRule, 'patterns' | 'gives' | 'filter' | 'columns'> {
    for (const [key, field] of Object.entries(this.format.fields)) this.field(key, field, this.nodes.get(key));
    this.together();
    const filter = this.filter === null ? null : { text: this.filter, runsAs: this.runsAs };
    return { patterns: this.patterns, gives: this.gives, filter, columns: this.columns };
  }

  private readonly report: Report = (code, message, at) => this.findings.push({ code, message, at });

  /** The engine keeps the last of a field's spellings, but reads all of them. */
  private superseded(key: string, node: JsonNode): void {
    const field = this.format.fields[key];
    const count = this.findings.length;
    if (field?.reads === 'pattern' || field?.reads === 'new-user') this.pattern(key, field, false, node);
    else if (field?.reads === 'no-words' && node.kind !== 'null') this.kinds(key, field.words, node);
    this.findings.push(...this.findings.splice(count).filter(({ code }) => isRefused(code)));
    this.patterns.delete(key);
  }

  private kinds(key: string, words: readonly string[], node: JsonNode): void {
    if (node.kind !== 'array') {
      this.report('rules-wrong-type', `"${key}" must be a list, not ${describeValue(node)}`, node.at);
      return;
    }
    for (const item of node.items) if (item.kind !== 'null') wordOf(key, item, words, true, this.report);
  }

  private field(key: string, field: FieldFormat, node: JsonNode | undefined): void {
    switch (field.reads) {
      case 'pattern':
      case 'new-user': {
        const isRequired = field.reads === 'new-user' || field.isRequired === true;
        this.pattern(key, field, isRequired, node);
        return;
      }
      case 'catalog-mode':
        this.catalogMode(key, node);
        return;
      case 'flag':
        this.flag(key, field, node);
        return;
      case 'words':
        this.words(key, field, node);
        return;
      case 'columns':
        if (isGiven(key, node, this.report)) this.columns = readColumns(node, this.report);
        return;
      case 'expression':
        if (isGiven(key, node, this.report)) {
          const text = readExpression(key, node, this.report);
          if (text !== null) this.filter = text;
        }
        return;
      case 'environment':
        if (isGiven(key, node, this.report)) this.runsAs = readEnvironment(key, node, this.report);
        return;
      case 'text':
        if (isGiven(key, node, this.report)) textOf(key, node, this.report);
        return;
      case 'no-words':
        if (!isGiven(key, node, this.report) || (node.kind === 'array' && node.items.length === 0)) return;
        this.report(
          'rules-value-unknown',
          `"${key}" is no longer supported: the engine refuses any kind in it`,
          node.at,
        );
    }
  }

  private required(key: string, node: JsonNode | undefined): node is JsonNode {
    if (node !== undefined && node.kind !== 'null') return true;
    const found = node === undefined ? 'missing' : 'null';
    this.report('rules-value-missing', `"${key}" is ${found}: the engine refuses the file`, node?.at ?? this.at);
    return false;
  }

  private pattern(key: string, field: FieldFormat, isRequired: boolean, node: JsonNode | undefined): void {
    const isThere = isRequired ? this.required(key, node) : isGiven(key, node, this.report);
    if (!isThere || node === undefined) return;
    const text = textOf(key, node, this.report);
    if (text === null) return;
    const kind = field.reads === 'pattern' ? field.matches : 'user';
    if (text === '') {
      if (isRequired) this.report('rules-value-missing', `"${key}" is empty: the engine refuses the file`, node.at);
      else
        this.report(
          'rules-pattern-empty',
          `"${key}" is empty, which the engine reads as absent: ${EMPTY[kind]}`,
          node.at,
        );
      return;
    }
    const isOfUser = this.trino >= OF_USER_SINCE && ['catalog', 'schema', 'table'].includes(key);
    // The user's own name: which one is not known, as of a pattern that is not judged.
    this.patterns.set(key, { text: isOfUser ? text.replaceAll('{user}', '(?<=)') : text, at: node.at });
    checkPattern(key, field, isOfUser ? text.replaceAll('{user}', 'user') : text, node.at, this.report);
  }

  private catalogMode(key: string, node: JsonNode | undefined): void {
    if (!this.required(key, node)) return;
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

  private flag(key: string, field: FieldFormat & { reads: 'flag' }, node: JsonNode | undefined): void {
    this.gives = [String(field.whenAbsent)];
    if (node === undefined) {
      if (field.isDocumented) return;
      this.report('rules-value-defaulted', `"${key}" is missing; the engine takes ${field.whenAbsent} for it`, this.at);
      return;
    }
    if (!isGiven(key, node, this.report)) return;
    const value = booleanOf(key, node, field.whenAbsent, this.report);
    if (value !== null) this.gives = [String(value)];
  }

  private words(key: string, { words, isEnum }: FieldFormat & { reads: 'words' }, node: JsonNode | undefined): void {
    if (!this.required(key, node)) return;
    if (node.kind !== 'array') {
      const message = `"${key}" must be a list of ${words.join(', ')}, not ${describeValue(node)}`;
      this.report('rules-wrong-type', message, node.at);
      return;
    }
    const given: string[] = [];
    for (const item of node.items) {
      const word = wordOf(key, item, words, isEnum, this.report);
      if (word === null) continue;
      if (given.includes(word)) this.report('rules-value-repeated', `"${key}" names ${word} twice`, item.at);
      else given.push(word);
    }
    this.gives = given;
  }

  /** Conditions on several fields. */
  private together(): void {
    const { fields } = this.format;
    const newUser = this.patterns.get('new_user');
    if (newUser && fields['new_user']?.reads === 'new-user') {
      const original = this.patterns.get('original_user');
      const reading = original === undefined ? null : readJavaPattern(original.text);
      const groups = reading?.kind === 'read' ? reading.groups : 0;
      if (readJavaPattern(newUser.text).kind === 'read')
        checkNewUser(newUser, original === undefined ? null : groups, this.report);
    }
    const owner = this.patterns.get('queryOwner');
    if (owner && this.gives.includes('execute')) {
      const message = '"queryOwner" stands beside "execute", which is not about an owner: the engine refuses the file';
      this.report('rules-query-owner-execute', message, owner.at);
    }
    if ('new_role' in fields) this.either('new_user', 'new_role');
    if ('principal_to_user' in fields) this.either('user', 'principal_to_user');
  }

  private either(pattern: string, other: string): void {
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

  private unknown(key: string, at: number): void {
    const near = spelledLike(key, Object.keys(this.format.fields));
    const hint = near === undefined ? '' : `; did you mean "${near}"?`;
    this.report('rules-key-unknown', `the engine refuses a file with the key "${key}" here${hint}`, at);
  }
}

/** The release of the engine that takes `{user}` for the user's name. */
const OF_USER_SINCE = 484;

const EMPTY = {
  user: 'it matches every user',
  group: 'it matches every user, also those without a group',
  role: 'it matches every user',
  'lower-case name': 'it matches every name',
  property: 'it matches every name',
};

/**
 * `new_user` is a replacement text before it is a pattern (java.util.regex.Matcher, seen on Trino 483): `$1` is a group of
 * `original_user`, any other `$` fails when the rule is reached, and a backslash is eaten.
 * @param groups how many `original_user` captures; null: there is none, and the engine takes the text as it is
 */
function checkNewUser({ text, at }: ForeignPattern, groups: number | null, report: Report): void {
  const unsafe = (message: string): void => report('rules-new-user-unsafe', message, at);
  if (groups === null) {
    if (/\$[0-9]/.test(text))
      unsafe('"new_user" refers to a group, and without "original_user" nothing takes its place');
    return;
  }
  for (const [piece, group] of text.matchAll(/\\[^]|\$([0-9])?/g)) {
    if (piece.startsWith('\\')) {
      if (piece === '\\\\') continue;
      unsafe(`"new_user" is a replacement text first, which eats the backslash of ${piece}; write a class such as [.]`);
      return;
    }
    if (group === undefined) {
      unsafe(
        '"new_user" is a replacement text first, in which $ needs the number of a group: every check that reaches this rule fails',
      );
      return;
    }
    if (Number(group) > groups) {
      unsafe(
        `"new_user" refers to group ${group}, and "original_user" captures ${groups}: every check that reaches this rule fails`,
      );
      return;
    }
  }
}
