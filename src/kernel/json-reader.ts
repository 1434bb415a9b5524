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
  /** UTF-16 offset in the text. */
  at: number;
}

/** A value and its faults. `root` is null if reading stopped early; the last fault is then the reason. */
export interface JsonReading {
  root: JsonNode | null;
  faults: JsonFault[];
}

export interface JsonLimits {
  maxValues: number;
  /** The most members of all objects together. */
  maxMembers?: number;
  /** The most members of each object. */
  maxKeys?: number;
  maxFaults: number;
  /** Whether reading continues after comments, trailing commas and text behind the value. They are faults in any case. */
  isLenient?: boolean;
}

/** Reads exactly one JSON value (RFC 8259) with positions. Lone surrogates are faults, and so are duplicate keys (the engine uses the last). */
export function readJson(text: string, limits: JsonLimits = UNLIMITED): JsonReading {
  const reader = new Reader(text, limits);
  try {
    const root = reader.readValue(0);
    reader.expectEnd();
    return { root, faults: reader.faults };
  } catch (error) {
    if (!(error instanceof ReadingStopped)) throw error;
    return { root: null, faults: error.fault === null ? reader.faults : [...reader.faults, error.fault] };
  }
}

/** Thrown to end the reading. `fault` is null if the fault is already in `faults`. */
class ReadingStopped extends Error {
  constructor(readonly fault: JsonFault | null) {
    super(fault?.message);
  }
}

class JsonSyntaxError extends ReadingStopped {
  constructor(message: string, at: number) {
    super({ code: 'json-syntax', message, at });
  }
}

const UNLIMITED: JsonLimits = { maxValues: Infinity, maxFaults: Infinity };
const MAX_DEPTH = 64;
const MAX_SHOWN_LENGTH = 100;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const COMMENT = /(?:#|\/\/)[^\n\r]*|\/\*[^]*?\*\//y;
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y;
const HEXADECIMAL = /[0-9a-fA-F]{4}/y;
const LONE_SURROGATE = /\p{Surrogate}/u;
const ESCAPE_CHARACTERS = '"\\/bfnrt';
const [QUOTE, BACKSLASH, SPACE] = [0x22, 0x5c, 0x20];

class Reader {
  readonly faults: JsonFault[] = [];
  private at = 0;
  private valueCount = 0;
  private memberCount = 0;

  constructor(
    private readonly text: string,
    private readonly limits: JsonLimits,
  ) {}

  expectEnd(): void {
    if (this.nextCharacter() === undefined) return;
    if (this.limits.isLenient !== true) throw new JsonSyntaxError('unexpected text after the JSON value', this.at);
    this.addFault({ code: 'json-trailing-text', message: 'unexpected text after the JSON value', at: this.at });
  }

  /** Adds a fault after which reading can continue. */
  private addFault(fault: JsonFault): void {
    this.faults.push(fault);
    if (this.faults.length >= this.limits.maxFaults) throw new ReadingStopped(null);
  }

  readValue(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new JsonSyntaxError(`nested more than ${MAX_DEPTH} levels deep`, this.at);
    const character = this.nextCharacter();
    const at = this.at;
    checkLimit(this.limits.maxValues, ++this.valueCount, 'values', at);
    switch (character) {
      case undefined:
        throw new JsonSyntaxError('unexpected end of the text: a value is missing', at);
      case '{':
        return { kind: 'object', at, members: this.readMembers(depth) };
      case '[': {
        const items: JsonNode[] = [];
        this.readList(']', () => items.push(this.readValue(depth + 1)));
        return { kind: 'array', at, items };
      }
      case '"':
        return { kind: 'string', at, value: this.readString() };
      default:
        return this.readNumber(at) ?? this.readLiteral(at);
    }
  }

  /** Skips white space, and comments if `isLenient`. @returns the next character */
  private nextCharacter(): string | undefined {
    do while (isSpace(this.text.charCodeAt(this.at))) this.at++;
    while (this.limits.isLenient === true && this.skipComment());
    return this.text[this.at];
  }

  private skipComment(): boolean {
    COMMENT.lastIndex = this.at;
    const comment = COMMENT.exec(this.text)?.[0];
    if (comment === undefined) return false;
    this.addFault({ code: 'json-comment', message: 'JSON has no comments', at: this.at });
    this.at += comment.length;
    return true;
  }

  private readMembers(depth: number): JsonMember[] {
    const members: JsonMember[] = [];
    const seenKeys = new Set<string>();
    this.readList('}', () => {
      if (this.nextCharacter() !== '"') throw new JsonSyntaxError('expected a key in double quotes', this.at);
      const at = this.at;
      checkLimit(this.limits.maxMembers, ++this.memberCount, 'fields', at);
      checkLimit(this.limits.maxKeys, members.length + 1, 'fields', at);
      const key = this.readString();
      if (seenKeys.has(key)) {
        const shownKey = key.length > MAX_SHOWN_LENGTH ? `${key.slice(0, MAX_SHOWN_LENGTH)}…` : key;
        this.addFault({ code: 'json-duplicate-key', message: `duplicate key "${shownKey}"`, at });
      }
      seenKeys.add(key);
      if (this.nextCharacter() !== ':') throw new JsonSyntaxError('expected a colon after the key', this.at);
      this.at++;
      members.push({ key, at, value: this.readValue(depth + 1) });
    });
    return members;
  }

  private readList(closingCharacter: string, readItem: () => void): void {
    this.at++;
    if (this.nextCharacter() === closingCharacter) {
      this.at++;
      return;
    }
    for (;;) {
      readItem();
      const character = this.nextCharacter();
      if (character !== ',' && character !== closingCharacter)
        throw new JsonSyntaxError(`expected a comma or ${closingCharacter}`, this.at);
      const commaAt = this.at++;
      if (character === closingCharacter) return;
      if (this.limits.isLenient !== true || this.nextCharacter() !== closingCharacter) continue;
      this.addFault({ code: 'json-trailing-comma', message: `a comma before ${closingCharacter}`, at: commaAt });
      this.at++;
      return;
    }
  }

  private readString(): string {
    const quoteAt = this.at;
    let hasEscapes = false;
    PLAIN_TEXT.lastIndex = quoteAt + 1;
    PLAIN_TEXT.test(this.text); // most strings are plain to their end
    this.at = PLAIN_TEXT.lastIndex;
    for (;;) {
      const code = this.text.charCodeAt(this.at++);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        this.skipEscape();
        hasEscapes = true;
      } else if (code < SPACE) throw new JsonSyntaxError('unescaped control character in a string', this.at - 1);
      else if (Number.isNaN(code)) throw new JsonSyntaxError('unterminated string', quoteAt);
    }
    const value = hasEscapes
      ? (JSON.parse(this.text.slice(quoteAt, this.at)) as string)
      : this.text.slice(quoteAt + 1, this.at - 1);
    if (LONE_SURROGATE.test(value)) {
      this.addFault({ code: 'json-lone-surrogate', message: 'lone surrogate in a string', at: quoteAt });
    }
    return value;
  }

  private skipEscape(): void {
    const character = this.text[this.at++] ?? '';
    if (character !== 'u') {
      if (!ESCAPE_CHARACTERS.includes(character) || character === '')
        throw new JsonSyntaxError('invalid escape sequence', this.at - 2);
      return;
    }
    HEXADECIMAL.lastIndex = this.at;
    if (!HEXADECIMAL.test(this.text))
      throw new JsonSyntaxError('invalid escape sequence: \\u needs four hexadecimal digits', this.at - 2);
    this.at += 4;
  }

  private readNumber(at: number): JsonNode | null {
    NUMBER.lastIndex = at;
    const text = NUMBER.exec(this.text)?.[0];
    if (text === undefined) return null;
    this.at += text.length;
    return { kind: 'number', at, text };
  }

  private readLiteral(at: number): JsonNode {
    const literal = /^[a-z]+/.exec(this.text.slice(at, at + 6))?.[0] ?? '';
    this.at += literal.length;
    if (literal === 'true' || literal === 'false') return { kind: 'boolean', at, value: literal === 'true' };
    if (literal === 'null') return { kind: 'null', at };
    throw new JsonSyntaxError('not a JSON value', at);
  }
}

function checkLimit(limit = Infinity, count: number, noun: string, at: number): void {
  if (count > limit)
    throw new ReadingStopped({ code: 'json-too-many-values', message: `more than ${limit} ${noun}`, at });
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

/** The value that `JSON.parse` returns: the last of several equal keys counts. */
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

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of an object's field; undefined: the field is absent, or `value` is no object. */
export function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** JSON with the keys of every object sorted, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}

/** The parsed text, or null if it is not JSON. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
