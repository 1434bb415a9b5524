import type { JsonNode } from '../../kernel/json-reader.js';
import { readPattern } from './pattern.js';

export interface RuleFault {
  code: string;
  message: string;
  at: number;
}

/** Reads the fields of one rule; each fault is recorded with its place, and reading goes on so that all are found. */
export class RuleFieldReader {
  private readonly nodes = new Map<string, JsonNode>();

  constructor(
    private readonly node: JsonNode & { kind: 'object' },
    known: readonly string[],
    private readonly faults: RuleFault[],
  ) {
    for (const { key, at, value } of node.members) {
      if (!known.includes(key)) this.unknown(key, at);
      else if (value.kind === 'null')
        this.fault('rules-null', `"${key}" is null, which the engine reads as absent`, value);
      else this.nodes.set(key, value);
    }
  }

  pattern(key: string): string | undefined {
    const node = this.nodes.get(key);
    if (node === undefined) return undefined;
    const text = this.string(key);
    if (text === undefined) return undefined;
    if (text === '') {
      this.fault('rules-pattern-empty', `"${key}" is empty, which the engine reads as "any"`, node);
      return undefined;
    }
    const reading = readPattern(text);
    if (reading.kind === 'pattern') return text;
    this.fault('rules-pattern-unsafe', `"${key}" is not a pattern of the common subset: ${reading.reason}`, node);
    return undefined;
  }

  /** SQL, which white space is not. */
  expression(key: string): string | undefined {
    return this.text(key, /\S/);
  }

  /** @param something what it must hold at least; by default any character, as a name. */
  text(key: string, something = /[^]/): string | undefined {
    const node = this.nodes.get(key);
    const text = node && this.string(key);
    if (text === undefined || something.test(text)) return text;
    this.fault('rules-text-empty', `"${key}" is empty`, node);
    return undefined;
  }

  boolean(key: string): boolean | undefined {
    const node = this.nodes.get(key);
    if (node === undefined || node.kind === 'boolean') return node?.value;
    this.fault('rules-wrong-type', `"${key}" must be true or false, not ${described(node)}`, node);
    return undefined;
  }

  oneOf<T extends string>(key: string, words: readonly T[]): T | undefined {
    const node = this.nodes.get(key);
    return node && this.word(key, node, words);
  }

  listOf<T extends string>(key: string, words: readonly T[]): T[] | undefined {
    const read: T[] = [];
    for (const item of this.items(key) ?? []) {
      const word = this.word(key, item, words);
      if (word === undefined) continue;
      if (read.includes(word)) this.fault('rules-value-repeated', `"${key}" names ${word} twice`, item);
      else read.push(word);
    }
    return this.nodes.get(key)?.kind === 'array' ? read : undefined;
  }

  items(key: string): JsonNode[] | undefined {
    const node = this.nodes.get(key);
    if (node === undefined) return undefined;
    if (node.kind === 'array') return node.items;
    this.fault('rules-wrong-type', `"${key}" must be a list, not ${described(node)}`, node);
    return undefined;
  }

  /** The value, or `instead` after a fault: what the engine would put in place of an absent value is never relied on. */
  required<T>(key: string, value: T | undefined, instead: T): T {
    if (value === undefined && !this.node.members.some((member) => member.key === key)) {
      this.fault('rules-value-missing', `"${key}" is missing`, this.node);
    }
    return value ?? instead;
  }

  fault(code: string, message: string, node: JsonNode | undefined): void {
    this.faults.push({ code, message, at: (node ?? this.node).at });
  }

  place(key: string): JsonNode | undefined {
    return this.nodes.get(key);
  }

  private string(key: string): string | undefined {
    const node = this.nodes.get(key);
    if (node === undefined || node.kind === 'string') return node?.value;
    this.fault('rules-wrong-type', `"${key}" must be a text, not ${described(node)}`, node);
    return undefined;
  }

  private word<T extends string>(key: string, node: JsonNode, words: readonly T[]): T | undefined {
    const word = node.kind === 'string' ? words.find((each) => each === node.value) : undefined;
    if (word === undefined) {
      const found = node.kind === 'string' ? `"${node.value}"` : described(node);
      this.fault('rules-value-unknown', `"${key}" knows ${words.join(', ')}; not ${found}`, node);
    }
    return word;
  }

  private unknown(key: string, at: number): void {
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
