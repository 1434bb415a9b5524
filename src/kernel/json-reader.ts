export interface JsonFault {
  code:
    | 'json-syntax'
    | 'json-duplicate-key'
    | 'json-lone-surrogate'
    | 'json-too-many-values'
    | 'json-comment'
    | 'json-trailing-comma'
    | 'json-trailing-text';
  message: string;
  at: number;
}

/** A value and its faults. `root` is null if reading stopped early; the last fault is then the reason. */
export interface JsonReading {
  root: JsonNode | null;
  faults: JsonFault[];
}

/** Limits at which reading stops. */
export interface JsonLimits {
  maxValues: number;
  /** Limit for all objects together. */
  maxMembers?: number;
  /** Limit for one object. */
  maxKeys?: number;
  maxFaults: number;
  /** Reading continues after comments, trailing commas and text behind the value. */
  isLenient?: boolean;
}

/** Reads exactly one JSON value (RFC 8259) with positions. Reports duplicate keys, of which the engine uses the last, and lone surrogates. */
export function readJson(text: string, limits: JsonLimits = UNLIMITED): JsonReading {
  const reader = new Reader(text, limits);
  try {
    const root = reader.value(0);
    reader.end();
    return { root, faults: reader.faults };
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    return { root: null, faults: error.fault === null ? reader.faults : [...reader.faults, error.fault] };
  }
}

/** Ends the reading. `fault` is null if it has been noted already. */
class Stopped extends Error {
  constructor(readonly fault: JsonFault | null) {
    super(fault?.message);
  }
}

class Unreadable extends Stopped {
  constructor(message: string, at: number) {
    super({ code: 'json-syntax', message, at });
  }
}

const UNLIMITED: JsonLimits = { maxValues: Infinity, maxFaults: Infinity };
const MAX_DEPTH = 64;
const MAX_SHOWN = 100;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const COMMENT = /(?:#|\/\/)[^\n\r]*|\/\*[^]*?\*\//y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const HEXADECIMAL = /[0-9a-fA-F]{4}/y;
const LONE_SURROGATE = /\p{Surrogate}/u;
const ESCAPED = '"\\/bfnrt';
const [QUOTE, BACKSLASH, SPACE] = [0x22, 0x5c, 0x20];

class Reader {
  readonly faults: JsonFault[] = [];
  private at = 0;
  private values = 0;
  private memberCount = 0;

  constructor(
    private readonly text: string,
    private readonly limits: JsonLimits,
  ) {}

  end(): void {
    if (this.next() === undefined) return;
    if (this.limits.isLenient !== true) throw new Unreadable('unexpected text after the JSON value', this.at);
    this.note({ code: 'json-trailing-text', message: 'unexpected text after the JSON value', at: this.at });
  }

  /** Notes a fault after which reading can continue. */
  private note(fault: JsonFault): void {
    this.faults.push(fault);
    if (this.faults.length >= this.limits.maxFaults) throw new Stopped(null);
  }

  value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new Unreadable(`nested more than ${MAX_DEPTH} levels deep`, this.at);
    const sign = this.next();
    const at = this.at;
    atMost(this.limits.maxValues, ++this.values, 'values', at);
    switch (sign) {
      case undefined:
        throw new Unreadable('unexpected end of the text: a value is missing', at);
      case '{':
        return { kind: 'object', at, members: this.members(depth) };
      case '[':
        return { kind: 'array', at, items: this.items(depth) };
      case '"':
        return { kind: 'string', at, value: this.string() };
      default:
        return this.number(at) ?? this.word(at);
    }
  }

  /** Skips white space. @returns the next character */
  private next(): string | undefined {
    do while (isSpace(this.text.charCodeAt(this.at))) this.at++;
    while (this.limits.isLenient === true && this.skipComment());
    return this.text[this.at];
  }

  private skipComment(): boolean {
    COMMENT.lastIndex = this.at;
    const comment = COMMENT.exec(this.text)?.[0];
    if (comment === undefined) return false;
    this.note({ code: 'json-comment', message: 'JSON has no comments', at: this.at });
    this.at += comment.length;
    return true;
  }

  private members(depth: number): JsonMember[] {
    const members: JsonMember[] = [];
    const seen = new Set<string>();
    this.list('}', () => {
      if (this.next() !== '"') throw new Unreadable('expected a key in double quotes', this.at);
      const at = this.at;
      atMost(this.limits.maxMembers, ++this.memberCount, 'fields', at);
      atMost(this.limits.maxKeys, members.length + 1, 'fields', at);
      const key = this.string();
      if (seen.has(key)) {
        const shown = key.length > MAX_SHOWN ? `${key.slice(0, MAX_SHOWN)}…` : key;
        this.note({ code: 'json-duplicate-key', message: `duplicate key "${shown}"`, at });
      }
      seen.add(key);
      if (this.next() !== ':') throw new Unreadable('expected a colon after the key', this.at);
      this.at++;
      members.push({ key, at, value: this.value(depth + 1) });
    });
    return members;
  }

  private items(depth: number): JsonNode[] {
    const items: JsonNode[] = [];
    this.list(']', () => items.push(this.value(depth + 1)));
    return items;
  }

  private list(close: string, readOne: () => void): void {
    this.at++;
    if (this.next() === close) {
      this.at++;
      return;
    }
    for (;;) {
      readOne();
      const sign = this.next();
      if (sign !== ',' && sign !== close) throw new Unreadable(`expected a comma or ${close}`, this.at);
      const comma = this.at++;
      if (sign === close) return;
      if (this.limits.isLenient !== true || this.next() !== close) continue;
      this.note({ code: 'json-trailing-comma', message: `a comma before ${close}`, at: comma });
      this.at++;
      return;
    }
  }

  private string(): string {
    const start = this.at;
    let hasEscapes = false;
    PLAIN.lastIndex = start + 1;
    PLAIN.test(this.text); // most strings are plain to their end
    this.at = PLAIN.lastIndex;
    for (;;) {
      const code = this.text.charCodeAt(this.at++);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        this.skipEscape();
        hasEscapes = true;
      } else if (code < SPACE) throw new Unreadable('unescaped control character in a string', this.at - 1);
      else if (Number.isNaN(code)) throw new Unreadable('unterminated string', start);
    }
    const value = hasEscapes
      ? (JSON.parse(this.text.slice(start, this.at)) as string)
      : this.text.slice(start + 1, this.at - 1);
    if (LONE_SURROGATE.test(value)) {
      this.note({ code: 'json-lone-surrogate', message: 'lone surrogate in a string', at: start });
    }
    return value;
  }

  private skipEscape(): void {
    const sign = this.text[this.at++] ?? '';
    if (sign !== 'u') {
      if (!ESCAPED.includes(sign) || sign === '') throw new Unreadable('invalid escape sequence', this.at - 2);
      return;
    }
    HEXADECIMAL.lastIndex = this.at;
    if (!HEXADECIMAL.test(this.text))
      throw new Unreadable('invalid escape sequence: \\u needs four hexadecimal digits', this.at - 2);
    this.at += 4;
  }

  private number(at: number): JsonNode | null {
    NUMBER.lastIndex = at;
    const text = NUMBER.exec(this.text)?.[0];
    if (text === undefined) return null;
    this.at += text.length;
    return { kind: 'number', at, text };
  }

  private word(at: number): JsonNode {
    const word = /^[a-z]+/.exec(this.text.slice(at, at + 6))?.[0] ?? '';
    this.at += word.length;
    if (word === 'true' || word === 'false') return { kind: 'boolean', at, value: word === 'true' };
    if (word === 'null') return { kind: 'null', at };
    throw new Unreadable('not a JSON value', at);
  }
}

function atMost(limit = Infinity, count: number, what: string, at: number): void {
  if (count > limit) throw new Stopped({ code: 'json-too-many-values', message: `more than ${limit} ${what}`, at });
}

function isSpace(code: number): boolean {
  return code === SPACE || code === 0x0a || code === 0x0d || code === 0x09;
}

/** A JSON value; `at` is its UTF-16 offset. */
export type JsonNode =
  | { kind: 'object'; at: number; members: JsonMember[] }
  | { kind: 'array'; at: number; items: JsonNode[] }
  | { kind: 'string'; at: number; value: string }
  | { kind: 'number'; at: number; text: string }
  | { kind: 'boolean'; at: number; value: boolean }
  | { kind: 'null'; at: number };

export interface JsonMember {
  key: string;
  at: number;
  value: JsonNode;
}

/** The value that `JSON.parse` returns: of equal keys the last one counts. */
export function plainValue(node: JsonNode & { kind: 'object' }): object;
export function plainValue(node: JsonNode): unknown;
export function plainValue(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.members.map(({ key, value }) => [key, plainValue(value)]));
    case 'array':
      return node.items.map(plainValue);
    case 'number':
      return Number(node.text);
    case 'null':
      return null;
    case 'string':
    case 'boolean':
      return node.value;
  }
}

/** The value of a JSON text; null also for an invalid text. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
