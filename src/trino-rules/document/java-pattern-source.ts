import { CharSet } from 'refa';
import type { PatternPiece } from './pattern.js';

/** A construct that JavaScript's regular expressions refuse or read differently. */
export interface PatternDifference {
  kind: 'refused-by-javascript' | 'read-differently';
  /** As it is written. */
  construct: string;
}

export class JavaPatternRefused extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/** Escape sequences, to step over them, and quotations, which Java writes as escape sequences before it reads anything else. */
const QUOTATION = /\\Q([^]*?)(?:\\E|$)|\\[^]/g;

const COMMENTS = /(?:[ \t\n\v\f\r]|#[^\n\r\u0085\u2028\u2029]*)*/y;

/** The text of one pattern, and what reading has found out about the whole of it. */
export class PatternSource {
  at = 0;
  groups = 0;
  isOpaque = false;
  /** `(?x)`: white space is skipped, and what # begins, to the end of its line; in classes, too. */
  hasComments = false;
  readonly differences: PatternDifference[] = [];
  private readonly names = new Set<string>();

  private readonly text: string;

  constructor(written: string) {
    this.text = written.replace(QUOTATION, (escaped, quoted: string | undefined) => {
      if (quoted === undefined) return escaped;
      this.differs('read-differently', '\\Q…\\E');
      return quoted
        .replace(/[\0-\x7f]/g, (sign) => (/[a-zA-Z0-9]/.test(sign) ? sign : `\\${sign}`))
        .replace(/^[0-9]/, (digit) => `\\x3${digit}`);
    });
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** The next UTF-16 unit; empty at the end. */
  peek(ahead = 0): string {
    if (ahead === 0) this.skipComments();
    return this.text[this.at + ahead] ?? '';
  }

  /** Takes the next character, which is one code point; empty at the end. */
  next(): string {
    this.skipComments();
    return this.nextEscaped();
  }

  /** As `next`, also in comments: what stands behind a backslash is never skipped. */
  nextEscaped(): string {
    const code = this.text.codePointAt(this.at);
    if (code === undefined) return '';
    const character = String.fromCodePoint(code);
    this.at += character.length;
    return character;
  }

  /** What has been read since `start`. */
  since(start: number): string {
    return this.text.slice(start, this.at);
  }

  take(text: string): boolean {
    this.skipComments();
    if (!this.text.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  /** @param pattern sticky, and matches the empty text */
  match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.at += found.length;
    return found;
  }

  private skipComments(): void {
    if (this.hasComments) this.match(COMMENTS);
  }

  /** Up to the closing `>`, which is taken. */
  groupName(): string {
    const start = this.at;
    const name = this.match(/(?:[a-zA-Z][a-zA-Z0-9]*)?/y);
    if (name === '' || !this.take('>')) throw new JavaPatternRefused('the name of a group is not closed by >', start);
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

  differs(kind: PatternDifference['kind'], construct: string): void {
    if (!this.differences.some((each) => each.construct === construct)) this.differences.push({ kind, construct });
  }

  literal(character: string, ignoresCase: boolean): PatternPiece {
    // Java ignores the case of ASCII letters alone, unless told otherwise.
    if (!ignoresCase || !/^[a-zA-Z]$/.test(character)) return { kind: 'literal', text: character };
    return { kind: 'class', oneOf: character.toLowerCase() + character.toUpperCase() };
  }

  set(units: CharSet | null): PatternPiece {
    if (units !== null) return { kind: 'set', units };
    this.isOpaque = true;
    return { kind: 'choice', options: [[]] };
  }
}
