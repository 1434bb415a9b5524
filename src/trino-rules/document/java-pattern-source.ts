import type { Pattern } from './pattern.js';

/** A construct that JavaScript's regular expressions refuse or read differently. */
export interface PatternDifference {
  kind: 'refused-by-javascript' | 'read-differently';
  /** As it is written. */
  construct: string;
}

export type JavaPatternReading =
  | {
      kind: 'read';
      /** Null: it needs look-behind, back-references or the like, so its language is not judged here. */
      readonly pattern: Pattern | null;
      /** How many capturing groups it has. */
      groups: number;
      /** Constructs that JavaScript's regular expressions refuse or read differently. */
      differences: readonly PatternDifference[];
      /** It has `\N{…}`, which Java refuses where no character has that name; the names are not known here. */
      namesCharacter: boolean;
    }
  | { kind: 'refused'; reason: string; /** In characters. */ at: number };

export class JavaPatternRefused extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/** The flags that `(?idmsucxU)` turns on, by their letters. */
export type JavaFlag = 'i' | 'd' | 'm' | 's' | 'u' | 'c' | 'x' | 'U';

/** Escape sequences, to step over them, and quotations, which Java writes as escape sequences before it reads anything else. */
const QUOTATION = /\\Q([^]*?)(?:\\E|$)|\\[^]/g;

/** Deeper groups and classes, and longer chains of intersections, are not judged. */
export const MAX_JUDGED_DEPTH = 200;
/** The stack of Java ends between 1,000 and 1,500 groups, and that of Node not far from there. */
export const MAX_DEPTH = 800;

/** Stands behind the end, twice, as in Java's own reading. */
const END = 0;

/**
 * The code points of one pattern and the place that has been reached. Reads as the methods of java.util.regex.Pattern with the same
 * names do, which decides what `(?x)` skips where.
 */
export class PatternSource {
  at = 0;
  groups = 0;
  /** It has a construct that is not judged as a language. */
  isOpaque = false;
  /** A construct with the name of a character, of which Java alone knows whether there is one. */
  namesCharacter = false;
  flags: ReadonlySet<JavaFlag> = new Set();
  readonly differences: PatternDifference[] = [];
  private readonly names = new Set<string>();
  private readonly codes: number[];
  private readonly length: number;

  constructor(written: string) {
    const text = written.replace(QUOTATION, (escaped, quoted: string | undefined) => {
      if (quoted === undefined) return escaped;
      this.differs('read-differently', '\\Q…\\E');
      return quoted
        .replace(/[\0-\x7f]/g, (sign) => (/[a-zA-Z0-9]/.test(sign) ? sign : `\\${sign}`))
        .replace(/^[0-9]/, (digit) => `\\x3${digit}`);
    });
    this.codes = Array.from(text, (character) => character.codePointAt(0) ?? END);
    this.length = this.codes.length;
    this.codes.push(END, END);
  }

  get isAtEnd(): boolean {
    return this.at >= this.length;
  }

  /** A backslash was the last character: its escape sequence took the end for a character. */
  get isBeyondEnd(): boolean {
    return this.at > this.length;
  }

  /** The next character, as a text; empty at the end. */
  peek(): string {
    this.skipComments();
    return this.isAtEnd ? '' : String.fromCodePoint(this.code(this.at));
  }

  /** A character from here, whatever `(?x)` skips. */
  raw(ahead: number): string {
    return this.at + ahead >= this.length ? '' : String.fromCodePoint(this.code(this.at + ahead));
  }

  /** Takes the next character; its code point. */
  read(): number {
    this.skipComments();
    return this.code(this.at++);
  }

  /** Steps over one character and peeks at the next. */
  next(): string {
    this.at++;
    return this.peek();
  }

  /** The character after the next one, both taken. */
  skip(): number {
    this.at += 2;
    return this.code(this.at - 1);
  }

  /** Takes the next character where it is this one. */
  take(sign: string): boolean {
    if (this.peek() !== sign) return false;
    this.at++;
    return true;
  }

  /** Up to the next `}`, as it is written, which is taken; null: there is none. */
  throughBrace(): string | null {
    const start = this.at;
    this.codes[this.length] = BRACE;
    while (this.read() !== BRACE);
    this.codes[this.length] = END;
    return this.at > this.length ? null : this.written(start, this.at - 1);
  }

  written(start: number, end: number): string {
    const codes = this.codes.slice(start, Math.min(end, this.length));
    return codes.map((code) => String.fromCodePoint(code)).join('');
  }

  /** From its first character, up to the closing `>`, which is taken. */
  groupName(first: number): string {
    const start = this.at - 1;
    if (!/^[a-zA-Z]$/.test(String.fromCodePoint(first)))
      throw new JavaPatternRefused('the name of a group begins with a letter', start);
    let name = '';
    let code = first;
    do {
      name += String.fromCodePoint(code);
      code = this.read();
    } while (/^[a-zA-Z0-9]$/.test(String.fromCodePoint(code)));
    if (code !== 0x3e) throw new JavaPatternRefused('the name of a group is not closed by >', start);
    return name;
  }

  addGroup(name: string | null): void {
    this.groups += 1;
    if (name === null) return;
    if (this.names.has(name)) throw new JavaPatternRefused(`the group ${name} is already there`, this.at);
    this.names.add(name);
  }

  hasGroup(name: string): boolean {
    return this.names.has(name);
  }

  has(flag: JavaFlag): boolean {
    return this.flags.has(flag);
  }

  differs(kind: PatternDifference['kind'], construct: string): void {
    if (!this.differences.some((each) => each.construct === construct)) this.differences.push({ kind, construct });
  }

  private code(at: number): number {
    return this.codes[at] ?? this.endsTooEarly();
  }

  private endsTooEarly(): never {
    throw new JavaPatternRefused('it ends in the middle', this.length);
  }

  /** White space, and what `#` begins, to the end of its line. */
  private skipComments(): void {
    if (!this.has('x')) return;
    for (;;) {
      while (isSpace(this.codes[this.at])) this.at++;
      if (this.codes[this.at] !== 0x23) return;
      this.at++;
      while (this.at < this.codes.length && !this.endsLine(this.codes[this.at])) this.at++;
      if (this.at > this.length) this.at = this.length;
    }
  }

  private endsLine(code: number | undefined): boolean {
    if (code === 0x0a || code === END) return true;
    return !this.has('d') && (code === 0x0d || code === 0x85 || code === 0x2028 || code === 0x2029);
  }
}

const BRACE = 0x7d;

function isSpace(code: number | undefined): boolean {
  return code === 0x20 || (code !== undefined && code >= 0x09 && code <= 0x0d);
}
