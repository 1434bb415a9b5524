import { type AttributePath, attributePath } from './attribute-path.js';
import { invalid, type ScimType, shown } from './scim-refusal.js';
import { MAX_TEXT } from './values.js';

export const COMPARISONS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
export type Comparison = (typeof COMPARISONS)[number];
export type Literal = string | number | boolean | null;

/** A filter (RFC 7644 section 3.4.2.2). `any`: one entry of a list fulfils all of the inner filter. */
export type Filter =
  | { kind: 'and' | 'or'; left: Filter; right: Filter }
  | { kind: 'not'; filter: Filter }
  | { kind: 'present'; path: AttributePath }
  | { kind: 'compare'; path: AttributePath; comparison: Comparison; value: Literal }
  | { kind: 'any'; path: AttributePath; filter: Filter };

/** The target of an operation of PATCH: `emails[type eq "work"].value`. */
export interface PatchPath extends AttributePath {
  filter: Filter | null;
}

/** Levels of brackets and of `not`; comparisons and logical operators together; characters, of which Node's parser takes as many of a URL. */
const LIMITS = { depth: 10, nodes: 200, length: 16_384 };

/** How many comparisons a filter makes with one entry, at most. */
export function comparisonsIn(filter: Filter): number {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return comparisonsIn(filter.left) + comparisonsIn(filter.right);
    case 'not':
    case 'any':
      return comparisonsIn(filter.filter);
    case 'present':
    case 'compare':
      return 1;
  }
}

/** @throws Refused 400 `invalidFilter` */
export function parseFilter(text: string): Filter {
  const reader = new Reader(text, 'invalidFilter');
  const filter = reader.filter(0);
  reader.end();
  return filter;
}

/** @throws Refused 400 `invalidPath` */
export function parsePatchPath(text: string): PatchPath {
  const reader = new Reader(text, 'invalidPath');
  const path = reader.target();
  reader.end();
  return path;
}

/** A word, a text in quotes, or a bracket. */
const TOKEN = /\s*(?:([^\s()[\]"]+)|("(?:[^"\\]|\\.)*")|([()[\]]))/y;

class Reader {
  private at = 0;
  private nodes = 0;
  /** The one that is next; null: the text has ended. */
  private token: { text: string; kind: 'word' | 'quoted' | 'bracket' } | null = null;

  constructor(
    private readonly text: string,
    private readonly scimType: ScimType,
  ) {
    if (text.length > LIMITS.length) throw this.fault(`it has more than ${LIMITS.length} characters`);
    this.advance();
  }

  end(): void {
    if (this.token !== null) throw this.unexpected();
  }

  target(): PatchPath {
    const path = this.path();
    if (!this.takes('[')) return { ...path, filter: null };
    if (path.sub !== null) throw this.fault('a list has no part before its brackets');
    const filter = this.filter(1);
    this.expect(']');
    const rest = this.takeWord((word) => word.startsWith('.'));
    if (rest === null) return { ...path, filter };
    const sub = attributePath(rest.slice(1));
    if (sub?.sub !== null || sub.isForeign) throw this.fault(`${shown(rest)} is no part of an attribute`);
    return { ...path, filter, sub: sub.attribute };
  }

  /** `or` binds weakest, then `and`, then `not`. */
  filter(depth: number): Filter {
    let left = this.conjunction(depth);
    while (this.takesWord('or')) left = this.node({ kind: 'or', left, right: this.conjunction(depth) });
    return left;
  }

  private conjunction(depth: number): Filter {
    let left = this.factor(depth);
    while (this.takesWord('and')) left = this.node({ kind: 'and', left, right: this.factor(depth) });
    return left;
  }

  private factor(depth: number): Filter {
    if (depth > LIMITS.depth) throw this.fault(`nested more than ${LIMITS.depth} levels deep`);
    if (this.takes('(')) return this.closed(this.filter(depth + 1), ')');
    // An attribute may be called `not`: then a bracket does not follow.
    if (this.isWord('not') && /^\s*\(/.test(this.text.slice(this.at))) {
      this.advance();
      this.expect('(');
      return this.node({ kind: 'not', filter: this.closed(this.filter(depth + 1), ')') });
    }
    return this.expression(depth);
  }

  private expression(depth: number): Filter {
    const path = this.path();
    if (this.takes('[')) return this.afterEntry({ ...path }, this.closed(this.filter(depth + 1), ']'));
    const word = this.takeWord(() => true)?.toLowerCase();
    if (word === 'pr') return this.node({ kind: 'present', path });
    const comparison = COMPARISONS.find((each) => each === word);
    if (comparison === undefined) throw this.fault(`${shown(word ?? '')} is no operator`);
    return this.node({ kind: 'compare', path, comparison, value: this.literal() });
  }

  /** Some clients ask for `emails[type eq "work"].value eq "x"`: one entry fulfils both. */
  private afterEntry(path: AttributePath, filter: Filter): Filter {
    const rest = this.takeWord((word) => word.startsWith('.'));
    if (rest === null) return this.node({ kind: 'any', path, filter });
    const sub = attributePath(rest.slice(1));
    if (sub === null) throw this.fault(`${shown(rest)} is no part of an attribute`);
    const word = this.takeWord(() => true)?.toLowerCase();
    const comparison = COMPARISONS.find((each) => each === word);
    if (word !== 'pr' && comparison === undefined) throw this.fault(`${shown(word ?? '')} is no operator`);
    const right: Filter =
      comparison === undefined
        ? { kind: 'present', path: sub }
        : { kind: 'compare', path: sub, comparison, value: this.literal() };
    return this.node({ kind: 'any', path, filter: this.node({ kind: 'and', left: filter, right }) });
  }

  private path(): AttributePath {
    const word = this.takeWord(() => true);
    const path = word === null ? null : attributePath(word);
    if (path === null) throw this.fault(word === null ? 'an attribute is missing' : `${shown(word)} is no attribute`);
    return path;
  }

  /** JSON's literals; `True` and `False` as some clients write them. */
  private literal(): Literal {
    const { token } = this;
    if (token === null || token.kind === 'bracket') throw this.unexpected();
    this.advance();
    const text =
      token.kind === 'word' && /^(true|false|null)$/i.test(token.text) ? token.text.toLowerCase() : token.text;
    try {
      const value: unknown = JSON.parse(text);
      const isText = typeof value === 'string';
      // NUL and half a surrogate pair have no place in PostgreSQL.
      if (isText && value.length > MAX_TEXT) throw this.fault(`a text has more than ${MAX_TEXT} characters`);
      if (isText && /[\0\p{Cs}]/u.test(value)) throw this.fault('a text holds a character that none may hold');
      if (isText || typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
    }
    throw this.fault(`${shown(token.text)} is no value`);
  }

  private node(filter: Filter): Filter {
    this.nodes += 1;
    if (this.nodes > LIMITS.nodes) throw this.fault(`more than ${LIMITS.nodes} comparisons and operators`);
    return filter;
  }

  private closed(filter: Filter, bracket: string): Filter {
    this.expect(bracket);
    return filter;
  }

  private expect(bracket: string): void {
    if (!this.takes(bracket)) throw this.token === null ? this.fault(`${bracket} is missing`) : this.unexpected();
  }

  private takes(bracket: string): boolean {
    if (this.token?.kind !== 'bracket' || this.token.text !== bracket) return false;
    this.advance();
    return true;
  }

  private isWord(word: string): boolean {
    return this.token?.kind === 'word' && this.token.text.toLowerCase() === word;
  }

  private takesWord(word: string): boolean {
    return this.takeWord((text) => text.toLowerCase() === word) !== null;
  }

  private takeWord(isWanted: (text: string) => boolean): string | null {
    if (this.token?.kind !== 'word' || !isWanted(this.token.text)) return null;
    const { text } = this.token;
    this.advance();
    return text;
  }

  private advance(): void {
    TOKEN.lastIndex = this.at;
    const found = TOKEN.exec(this.text);
    if (found === null) {
      if (this.text.slice(this.at).trim() !== '') throw this.fault('a text in quotes does not end');
      this.token = null;
      return;
    }
    this.at = TOKEN.lastIndex;
    const [, word, quoted, bracket = ''] = found;
    if (word !== undefined) this.token = { kind: 'word', text: word };
    else if (quoted !== undefined) this.token = { kind: 'quoted', text: quoted };
    else this.token = { kind: 'bracket', text: bracket };
  }

  private unexpected(): Error {
    return this.fault(this.token === null ? 'it ends early' : `${shown(this.token.text)} is not expected there`);
  }

  private fault(what: string): Error {
    const name = this.scimType === 'invalidPath' ? 'path' : 'filter';
    return invalid(this.scimType, `Invalid ${name} near character ${this.at}: ${what}.`);
  }
}
