import { type JsonNode, readJson } from '../../kernel/json-reader.js';
import { type Finding, TextPositions } from './finding.js';
import { readPattern } from './pattern.js';
import {
  FUNCTION_PRIVILEGES,
  NO_RULES,
  PROCEDURE_PRIVILEGES,
  QUERY_RIGHTS,
  RULE_PATTERNS,
  SYSTEM_INFORMATION_RIGHTS,
  TABLE_PRIVILEGES,
  type ColumnRule,
  type RulesDocument,
} from './rules-document.js';

export type RulesReading = { kind: 'read'; document: RulesDocument } | { kind: 'refused'; findings: Finding[] };

/**
 * Reads `rules.json` more strictly than the engine, so that the engine understands accepted rules in the same way (Trino 483, file
 * access control). Every fault is a finding with line and column.
 */
export function readRules(source: string | Uint8Array): RulesReading {
  const text = typeof source === 'string' ? source : new TextDecoder('utf-8', { ignoreBOM: true }).decode(source);
  const invalidOffset = typeof source === 'string' ? null : firstInvalidOffset(source, text);
  if (invalidOffset !== null)
    return refusedReading(text, [{ code: 'json-encoding', message: 'the text is not UTF-8', at: invalidOffset }]);
  const faults: RuleFault[] = [];
  if (text.startsWith('\ufeff')) {
    return refusedReading(text, [
      { code: 'json-byte-order-mark', message: 'the text begins with a byte order mark', at: 0 },
    ]);
  }
  const jsonReading = readJson(text);
  faults.push(...jsonReading.faults);
  const document = jsonReading.root && readDocument(jsonReading.root, faults);
  return document !== null && faults.length === 0 ? { kind: 'read', document } : refusedReading(text, faults);
}

/** The document of a text. A text that `readRules` refuses counts as a document that gives no access. */
export function documentOf(text: string): RulesDocument {
  const reading = readRules(text);
  return reading.kind === 'read' ? reading.document : NO_RULES;
}

interface RuleFault {
  code: string;
  message: string;
  at: number;
  rule?: string;
}

function refusedReading(text: string, faults: readonly RuleFault[]): RulesReading {
  const positions = new TextPositions(text);
  const findings = faults.map(({ at, ...fault }): Finding => ({
    ...fault,
    severity: 'error',
    ...positions.positionOf(at),
  }));
  return { kind: 'refused', findings };
}

/** The offset in the decoded `text` of the first replacement for invalid bytes; null: all bytes are valid. */
export function firstInvalidOffset(bytes: Uint8Array, text: string): number | null {
  const encodedBytes = new TextEncoder().encode(text);
  const firstDifference = encodedBytes.findIndex((byte, i) => byte !== bytes[i]);
  if (firstDifference < 0 && encodedBytes.length === bytes.length) return null;
  // The bytes before the difference may end within a character, which is then decoded to a replacement character.
  const validBytes = bytes.subarray(0, firstDifference < 0 ? bytes.length : firstDifference);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(validBytes).replace(/\ufffd+$/, '').length;
}

/** Reads the value of one key of a rule; undefined: the key is absent. */
type ValueReader = (fields: RuleFieldReader, key: string) => unknown;

const readMode: ValueReader = (fields, key) =>
  fields.valueOr(key, fields.oneOf(key, ['all', 'read-only', 'none']), 'none');
const readFlag: ValueReader = (fields, key) => fields.valueOr(key, fields.boolean(key), false);
const wordListReader =
  (knownWords: readonly string[]): ValueReader =>
  (fields, key) =>
    fields.wordList(key, knownWords);
/** Reads rights over queries. The engine refuses `execute` in rules with an owner (seen on 483). */
const readQueryRights: ValueReader = (fields, key) =>
  fields.wordList(key, fields.has('queryOwner') ? QUERY_RIGHTS.filter((each) => each !== 'execute') : QUERY_RIGHTS);

/** Readers of keys whose values are no patterns, by section and key. */
const VALUE_READERS: Record<keyof RulesDocument, Record<string, ValueReader>> = {
  catalogs: { allow: readMode },
  schemas: { owner: readFlag },
  tables: {
    privileges: wordListReader(TABLE_PRIVILEGES),
    columns: readColumns,
    filter: (fields, key) => fields.text(key, /\S/),
  },
  queries: { allow: readQueryRights },
  impersonation: { allow: readFlag },
  functions: { privileges: wordListReader(FUNCTION_PRIVILEGES) },
  procedures: { privileges: wordListReader(PROCEDURE_PRIVILEGES) },
  system_information: { allow: wordListReader(SYSTEM_INFORMATION_RIGHTS) },
  system_session_properties: { allow: readFlag },
  catalog_session_properties: { allow: readFlag },
};

function readRule(
  node: JsonNode & { kind: 'object' },
  patterns: readonly string[],
  valueReaders: Record<string, ValueReader>,
  faults: RuleFault[],
): object {
  const fields = new RuleFieldReader(node, [...patterns, ...Object.keys(valueReaders)], faults);
  const fieldEntries = [
    ...patterns.map((key) => [key, key === 'new_user' ? readNewUser(fields) : fields.pattern(key)]),
    ...Object.entries(valueReaders).map(([key, readValue]) => [key, readValue(fields, key)]),
  ];
  return Object.fromEntries(fieldEntries.filter(([, value]) => value !== undefined)) as object;
}

function readDocument(root: JsonNode, faults: RuleFault[]): RulesDocument | null {
  if (root.kind !== 'object') {
    faults.push({ code: 'rules-wrong-type', message: 'the document must be one object of sections', at: root.at });
    return null;
  }
  for (const { key, at } of root.members) {
    if (!Object.hasOwn(VALUE_READERS, key)) {
      faults.push({ code: 'rules-section-unknown', message: `there is no section "${key}" here`, at });
    }
  }
  const sections = RULE_PATTERNS.map(([name, ...patterns]) => [name, readSection(name, patterns, root, faults)]);
  return Object.fromEntries(sections) as RulesDocument;
}

function readSection(
  name: keyof RulesDocument,
  patterns: readonly string[],
  root: JsonNode & { kind: 'object' },
  faults: RuleFault[],
): object[] {
  const member = root.members.findLast(({ key }) => key === name);
  if (member === undefined) {
    // If this section is absent, the engine gives no access. If another section is absent, the engine often gives access to everything.
    if (name === 'system_information') return [];
    const message = `the section "${name}" is missing; what the engine puts in its place is often "everybody may"`;
    faults.push({ code: 'rules-section-missing', message, at: root.at });
    return [];
  }
  if (member.value.kind !== 'array') {
    const message = `the section "${name}" must be a list of rules`;
    faults.push({ code: 'rules-section-not-a-list', message, at: member.value.at });
    return [];
  }
  const rules: object[] = [];
  member.value.items.forEach((item, index) => {
    const ruleFaults: RuleFault[] = [];
    if (item.kind === 'object') rules.push(readRule(item, patterns, VALUE_READERS[name], ruleFaults));
    else ruleFaults.push({ code: 'rules-wrong-type', message: 'a rule must be an object', at: item.at });
    for (const fault of ruleFaults) faults.push({ ...fault, rule: `${name}[${index}]` });
  });
  return rules;
}

/** Reads `new_user`, which the engine first reads as a replacement text: `$` refers to a group of the pattern, `\` is dropped (seen on 483). */
function readNewUser(fields: RuleFieldReader): string | undefined {
  const pattern = fields.valueOr('new_user', fields.pattern('new_user'), 'nobody');
  if (!/[$\\]/.test(pattern)) return pattern;
  const message = '"new_user" holds $ or \\, which the engine reads as a replacement text before it is a pattern';
  fields.addFault('rules-new-user-unsafe', message, fields.nodeByKey.get('new_user'));
  return undefined;
}

function readColumns(fields: RuleFieldReader): ColumnRule[] | undefined {
  const seenNames = new Set<string>();
  return fields.items('columns')?.flatMap((item) => {
    if (item.kind !== 'object') {
      fields.addFault('rules-wrong-type', 'a column must be an object', item);
      return [];
    }
    const column = new RuleFieldReader(item, ['name', 'allow', 'mask'], fields.faults);
    const name = column.valueOr('name', column.text('name'), '');
    if (name !== name.toLowerCase()) {
      column.addFault('rules-column-case', `the engine's column names are lower-case: "${name}" never matches`, item);
    }
    if (seenNames.has(name)) column.addFault('rules-column-repeated', `the column "${name}" stands twice`, item);
    seenNames.add(name);
    const allow = column.boolean('allow');
    const mask = column.text('mask', /\S/);
    return [{ name, ...(allow !== undefined && { allow }), ...(mask !== undefined && { mask }) }];
  });
}

class RuleFieldReader {
  readonly nodeByKey = new Map<string, JsonNode>();

  constructor(
    private readonly node: JsonNode & { kind: 'object' },
    knownKeys: readonly string[],
    readonly faults: RuleFault[],
  ) {
    for (const { key, at, value } of node.members) {
      if (!knownKeys.includes(key)) this.reportUnknownKey(key, at);
      else if (value.kind === 'null')
        this.addFault('rules-null', `"${key}" is null, which the engine reads as absent`, value);
      else this.nodeByKey.set(key, value);
    }
  }

  has(key: string): boolean {
    return this.nodeByKey.has(key);
  }

  pattern(key: string): string | undefined {
    const node = this.nodeByKey.get(key);
    const text = this.string(key);
    if (text === undefined) return undefined;
    const reading = readPattern(text);
    if (reading.kind === 'pattern') return text;
    if (text === '') this.addFault('rules-pattern-empty', `"${key}" is empty, which the engine reads as "any"`, node);
    else
      this.addFault('rules-pattern-unsafe', `"${key}" is not a pattern of the common subset: ${reading.reason}`, node);
    return undefined;
  }

  text(key: string, requiredPattern = /[^]/): string | undefined {
    const node = this.nodeByKey.get(key);
    const text = node && this.string(key);
    if (text === undefined || requiredPattern.test(text)) return text;
    this.addFault('rules-text-empty', `"${key}" is empty`, node);
    return undefined;
  }

  boolean(key: string): boolean | undefined {
    const node = this.nodeByKey.get(key);
    if (node === undefined || node.kind === 'boolean') return node?.value;
    this.addFault('rules-wrong-type', `"${key}" must be true or false, not ${describeNode(node)}`, node);
    return undefined;
  }

  oneOf<T extends string>(key: string, words: readonly T[]): T | undefined {
    const node = this.nodeByKey.get(key);
    return node && this.word(key, node, words);
  }

  wordList<T extends string>(key: string, words: readonly T[]): T[] {
    const readWords: T[] = [];
    for (const item of this.items(key) ?? []) {
      const word = this.word(key, item, words);
      if (word === undefined) continue;
      if (readWords.includes(word)) this.addFault('rules-value-repeated', `"${key}" names ${word} twice`, item);
      else readWords.push(word);
    }
    return this.valueOr(key, this.nodeByKey.get(key)?.kind === 'array' ? readWords : undefined, []);
  }

  items(key: string): JsonNode[] | undefined {
    const node = this.nodeByKey.get(key);
    if (node === undefined) return undefined;
    if (node.kind === 'array') return node.items;
    this.addFault('rules-wrong-type', `"${key}" must be a list, not ${describeNode(node)}`, node);
    return undefined;
  }

  /** The value, or `fallback` if it is undefined. A missing key is a fault, although the engine has defaults. */
  valueOr<T>(key: string, value: T | undefined, fallback: T): T {
    if (value === undefined && !this.node.members.some((member) => member.key === key)) {
      this.addFault('rules-value-missing', `"${key}" is missing`, this.node);
    }
    return value ?? fallback;
  }

  addFault(code: string, message: string, node: JsonNode | undefined): void {
    this.faults.push({ code, message, at: (node ?? this.node).at });
  }

  private string(key: string): string | undefined {
    const node = this.nodeByKey.get(key);
    if (node === undefined || node.kind === 'string') return node?.value;
    this.addFault('rules-wrong-type', `"${key}" must be a text, not ${describeNode(node)}`, node);
    return undefined;
  }

  private word<T extends string>(key: string, node: JsonNode, words: readonly T[]): T | undefined {
    const word = node.kind === 'string' ? words.find((each) => each === node.value) : undefined;
    if (word === undefined) {
      const foundText = node.kind === 'string' ? `"${node.value}"` : describeNode(node);
      this.addFault('rules-value-unknown', `"${key}" knows ${words.join(', ')}; not ${foundText}`, node);
    }
    return word;
  }

  private reportUnknownKey(key: string, at: number): void {
    const reason = UNSUPPORTED_KEYS.get(key) ?? 'the engine refuses a file with a key that it does not know';
    this.faults.push({ code: 'rules-key-unknown', message: `the key "${key}" is not allowed here: ${reason}`, at });
  }
}

const UNSUPPORTED_KEYS = new Map([
  ['role', 'the file access control has no roles, so the rule would never match'],
  ['original_role', 'the file access control has no roles, so the rule would never match'],
  ['group', 'groups come from another file, which cannot be checked here'],
  ['filter_environment', 'expressions run as the person who asks'],
  ['mask_environment', 'expressions run as the person who asks'],
]);

function describeNode(node: JsonNode): string {
  if (node.kind === 'number') return `the number ${node.text}`;
  if (node.kind === 'boolean') return String(node.value);
  return { object: 'an object', array: 'a list', string: 'a text', null: 'null' }[node.kind];
}
