import { type JsonNode, readJson } from '../../kernel/json-reader.js';
import { type Finding, TextPositions } from './finding.js';
import { readPattern } from './pattern.js';
import {
  FUNCTION_PRIVILEGES,
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
 * Reads `rules.json` more strictly than the engine, so that accepted rules mean the same there (Trino 483, file access control). Every
 * fault is a finding with line and column.
 */
export function readRules(source: string | Uint8Array): RulesReading {
  const text = typeof source === 'string' ? source : decode(source);
  if (typeof text !== 'string') return { kind: 'refused', findings: [text] };
  const faults: PlacedFault[] = [];
  if (text.startsWith('\ufeff')) {
    return refused(text, [{ code: 'json-byte-order-mark', message: 'the text begins with a byte order mark', at: 0 }]);
  }
  const json = readJson(text);
  faults.push(...json.faults);
  const document = json.root && readDocument(json.root, faults);
  return document !== null && faults.length === 0 ? { kind: 'read', document } : refused(text, faults);
}

interface RuleFault {
  code: string;
  message: string;
  at: number;
}

type PlacedFault = RuleFault & { rule?: string };

function refused(text: string, faults: readonly PlacedFault[]): RulesReading {
  const positions = new TextPositions(text);
  const findings = faults.map(({ at, ...fault }): Finding => ({ ...fault, severity: 'error', ...positions.of(at) }));
  return { kind: 'refused', findings };
}

function decode(bytes: Uint8Array): string | Finding {
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const again = new TextEncoder().encode(lenient);
  const bad = again.findIndex((byte, at) => byte !== bytes[at]);
  if (bad < 0 && again.length === bytes.length) return lenient;
  const before = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, bad < 0 ? bytes.length : bad));
  const position = new TextPositions(before).of(before.length);
  return { code: 'json-encoding', severity: 'error', message: 'the text is not UTF-8', ...position };
}

/** Reads the value of one key; undefined: it is absent. */
type ValueReader = (fields: RuleFieldReader, key: string) => unknown;

const mode: ValueReader = (fields, key) =>
  fields.required(key, fields.oneOf(key, ['all', 'read-only', 'none']), 'none');
const flag: ValueReader = (fields, key) => fields.required(key, fields.boolean(key), false);
const words =
  (known: readonly string[]): ValueReader =>
  (fields, key) =>
    fields.words(key, known);
/** The engine refuses `execute` in rules with an owner (seen on 483). */
const rights: ValueReader = (fields, key) =>
  fields.words(key, fields.has('queryOwner') ? QUERY_RIGHTS.filter((each) => each !== 'execute') : QUERY_RIGHTS);

/** The keys of each section that follow its patterns. */
const VALUES: Record<keyof RulesDocument, Record<string, ValueReader>> = {
  catalogs: { allow: mode },
  schemas: { owner: flag },
  tables: {
    privileges: words(TABLE_PRIVILEGES),
    columns: readColumns,
    filter: (fields, key) => fields.expression(key),
  },
  queries: { allow: rights },
  impersonation: { allow: flag },
  functions: { privileges: words(FUNCTION_PRIVILEGES) },
  procedures: { privileges: words(PROCEDURE_PRIVILEGES) },
  system_information: { allow: words(SYSTEM_INFORMATION_RIGHTS) },
  system_session_properties: { allow: flag },
  catalog_session_properties: { allow: flag },
};

function readRule(
  node: JsonNode & { kind: 'object' },
  patterns: readonly string[],
  values: Record<string, ValueReader>,
  faults: RuleFault[],
): object {
  const fields = new RuleFieldReader(node, [...patterns, ...Object.keys(values)], faults);
  const read = [
    ...patterns.map((key) => [key, key === 'new_user' ? newUser(fields) : fields.pattern(key)]),
    ...Object.entries(values).map(([key, value]) => [key, value(fields, key)]),
  ];
  return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as object;
}

function readDocument(root: JsonNode, faults: PlacedFault[]): RulesDocument | null {
  if (root.kind !== 'object') {
    faults.push({ code: 'rules-wrong-type', message: 'the document must be one object of sections', at: root.at });
    return null;
  }
  for (const { key, at } of root.members) {
    if (!Object.hasOwn(VALUES, key)) {
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
  faults: PlacedFault[],
): object[] {
  const member = root.members.findLast(({ key }) => key === name);
  if (member === undefined) {
    // This is the only section that is closed when absent.
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
    const own: RuleFault[] = [];
    if (item.kind === 'object') rules.push(readRule(item, patterns, VALUES[name], own));
    else own.push({ code: 'rules-wrong-type', message: 'a rule must be an object', at: item.at });
    for (const fault of own) faults.push({ ...fault, rule: `${name}[${index}]` });
  });
  return rules;
}

/** `new_user` is a replacement text before it is a pattern: `$` refers to a group, `\` is dropped (seen on 483). */
function newUser(fields: RuleFieldReader): string | undefined {
  const pattern = fields.required('new_user', fields.pattern('new_user'), 'nobody');
  if (!/[$\\]/.test(pattern)) return pattern;
  const message = '"new_user" holds $ or \\, which the engine reads as a replacement text before it is a pattern';
  fields.addFaultAt('rules-new-user-unsafe', message, 'new_user');
  return undefined;
}

function readColumns(fields: RuleFieldReader): ColumnRule[] | undefined {
  const seen = new Set<string>();
  return fields.items('columns')?.flatMap((item) => {
    if (item.kind !== 'object') {
      fields.addFault('rules-wrong-type', 'a column must be an object', item);
      return [];
    }
    const column = fields.within(item, ['name', 'allow', 'mask']);
    const name = column.required('name', column.text('name'), '');
    if (name !== name.toLowerCase()) {
      column.addFault('rules-column-case', `the engine's column names are lower-case: "${name}" never matches`, item);
    }
    if (seen.has(name)) column.addFault('rules-column-repeated', `the column "${name}" stands twice`, item);
    seen.add(name);
    const allow = column.boolean('allow');
    const mask = column.expression('mask');
    return [{ name, ...(allow !== undefined && { allow }), ...(mask !== undefined && { mask }) }];
  });
}

/** Reads the fields of one rule and collects all faults. */
class RuleFieldReader {
  private readonly nodes = new Map<string, JsonNode>();

  constructor(
    private readonly node: JsonNode & { kind: 'object' },
    known: readonly string[],
    private readonly faults: RuleFault[],
  ) {
    for (const { key, at, value } of node.members) {
      if (!known.includes(key)) this.reportUnknownKey(key, at);
      else if (value.kind === 'null')
        this.addFault('rules-null', `"${key}" is null, which the engine reads as absent`, value);
      else this.nodes.set(key, value);
    }
  }

  has(key: string): boolean {
    return this.nodes.has(key);
  }

  /** A reader for an object inside the rule. */
  within(node: JsonNode & { kind: 'object' }, known: readonly string[]): RuleFieldReader {
    return new RuleFieldReader(node, known, this.faults);
  }

  pattern(key: string): string | undefined {
    const node = this.nodes.get(key);
    const text = this.string(key);
    if (text === undefined) return undefined;
    const reading = readPattern(text);
    if (reading.kind === 'pattern') return text;
    if (text === '') this.addFault('rules-pattern-empty', `"${key}" is empty, which the engine reads as "any"`, node);
    else
      this.addFault('rules-pattern-unsafe', `"${key}" is not a pattern of the common subset: ${reading.reason}`, node);
    return undefined;
  }

  /** A text that is not only white space. */
  expression(key: string): string | undefined {
    return this.text(key, /\S/);
  }

  text(key: string, something = /[^]/): string | undefined {
    const node = this.nodes.get(key);
    const text = node && this.string(key);
    if (text === undefined || something.test(text)) return text;
    this.addFault('rules-text-empty', `"${key}" is empty`, node);
    return undefined;
  }

  boolean(key: string): boolean | undefined {
    const node = this.nodes.get(key);
    if (node === undefined || node.kind === 'boolean') return node?.value;
    this.addFault('rules-wrong-type', `"${key}" must be true or false, not ${described(node)}`, node);
    return undefined;
  }

  oneOf<T extends string>(key: string, words: readonly T[]): T | undefined {
    const node = this.nodes.get(key);
    return node && this.word(key, node, words);
  }

  /** A required list of distinct words. */
  words<T extends string>(key: string, words: readonly T[]): T[] {
    const read: T[] = [];
    for (const item of this.items(key) ?? []) {
      const word = this.word(key, item, words);
      if (word === undefined) continue;
      if (read.includes(word)) this.addFault('rules-value-repeated', `"${key}" names ${word} twice`, item);
      else read.push(word);
    }
    return this.required(key, this.nodes.get(key)?.kind === 'array' ? read : undefined, []);
  }

  items(key: string): JsonNode[] | undefined {
    const node = this.nodes.get(key);
    if (node === undefined) return undefined;
    if (node.kind === 'array') return node.items;
    this.addFault('rules-wrong-type', `"${key}" must be a list, not ${described(node)}`, node);
    return undefined;
  }

  /** The value, or `instead` after a fault: defaults of the engine are not used. */
  required<T>(key: string, value: T | undefined, instead: T): T {
    if (value === undefined && !this.node.members.some((member) => member.key === key)) {
      this.addFault('rules-value-missing', `"${key}" is missing`, this.node);
    }
    return value ?? instead;
  }

  addFault(code: string, message: string, node: JsonNode | undefined): void {
    this.faults.push({ code, message, at: (node ?? this.node).at });
  }

  addFaultAt(code: string, message: string, key: string): void {
    this.addFault(code, message, this.nodes.get(key));
  }

  private string(key: string): string | undefined {
    const node = this.nodes.get(key);
    if (node === undefined || node.kind === 'string') return node?.value;
    this.addFault('rules-wrong-type', `"${key}" must be a text, not ${described(node)}`, node);
    return undefined;
  }

  private word<T extends string>(key: string, node: JsonNode, words: readonly T[]): T | undefined {
    const word = node.kind === 'string' ? words.find((each) => each === node.value) : undefined;
    if (word === undefined) {
      const found = node.kind === 'string' ? `"${node.value}"` : described(node);
      this.addFault('rules-value-unknown', `"${key}" knows ${words.join(', ')}; not ${found}`, node);
    }
    return word;
  }

  private reportUnknownKey(key: string, at: number): void {
    const reason = NOT_OURS.get(key) ?? 'the engine refuses a file with a key that it does not know';
    this.faults.push({ code: 'rules-key-unknown', message: `the key "${key}" is not allowed here: ${reason}`, at });
  }
}

const NOT_OURS = new Map([
  ['role', 'the file access control has no roles, so the rule would never match'],
  ['original_role', 'the file access control has no roles, so the rule would never match'],
  ['group', 'groups come from another file, which cannot be checked here'],
  ['filter_environment', 'expressions run as the person who asks'],
  ['mask_environment', 'expressions run as the person who asks'],
]);

function described(node: JsonNode): string {
  if (node.kind === 'number') return `the number ${node.text}`;
  if (node.kind === 'boolean') return String(node.value);
  return { object: 'an object', array: 'a list', string: 'a text', null: 'null' }[node.kind];
}
