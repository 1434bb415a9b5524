import { invalid, MAX_TEXT, type ScimType, jsonExcerpt } from './values.js';

/** An attribute's path such as `name.familyName`, in lower case, because attributes are compared without case (RFC 7643 section 2.1). */
export interface AttributePath {
  attribute: string;
  sub: string | null;
  /** Whether the attribute belongs to an extension schema. Such attributes are accepted and dropped. */
  isForeign: boolean;
}

export const CORE_SCHEMAS = {
  User: 'urn:ietf:params:scim:schemas:core:2.0:User',
  Group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
} as const;

const CORE = new Set(Object.values(CORE_SCHEMAS).map((urn) => urn.toLowerCase()));
const ATTRIBUTE_NAME = /^\$?[a-z_][\w$-]*$/;

/**
 * Parses an attribute's path (RFC 7644 section 3.10), with or without the URN of its schema.
 * @returns null: the text is no path
 */
export function attributePath(text: string): AttributePath | null {
  const lower = text.toLowerCase();
  const end = lower.startsWith('urn:') ? lower.lastIndexOf(':') : -1;
  const isForeign = end >= 0 && !CORE.has(lower.slice(0, end));
  // Foreign attributes are neither read nor written, so any form of name is accepted.
  if (isForeign) return { attribute: lower, sub: null, isForeign };
  const [attribute = '', sub = null, ...more] = lower.slice(end + 1).split('.');
  const isPath = [attribute, sub ?? attribute].every((name) => ATTRIBUTE_NAME.test(name)) && more.length === 0;
  return isPath ? { attribute, sub, isForeign } : null;
}

/** Whether a key of a body is the URN of a core schema. Its value then contains attributes. */
export function isCoreSchema(key: string): boolean {
  return CORE.has(key.toLowerCase());
}

export const COMPARISONS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
export type Comparison = (typeof COMPARISONS)[number];
export type Literal = string | number | boolean | null;

/** A filter (RFC 7644 section 3.4.2.2). `any`: at least one entry of a list fulfils the whole inner filter. */
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

/** `depth`: nested brackets and `not`. `nodes`: comparisons plus operators. `length`: characters, as many as Node allows in a URL. */
const LIMITS = { depth: 10, nodes: 200, length: 16_384 };

/** The most comparisons that a filter makes with one entry. */
export function countComparisons(filter: Filter): number {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return countComparisons(filter.left) + countComparisons(filter.right);
    case 'not':
    case 'any':
      return countComparisons(filter.filter);
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

/** A word, a quoted text, or a bracket. */
const TOKEN = /\s*([^\s()[\]"]+|"(?:[^"\\]|\\.)*"|[()[\]])/y;

class Reader {
  private at = 0;
  private nodes = 0;
  /** The next token; null: the text has ended. */
  private token: string | null = null;

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
    if (!this.takeIf('[')) return { ...path, filter: null };
    if (path.sub !== null) throw this.fault('a list has no part before its brackets');
    const filter = this.filter(1);
    this.expect(']');
    return { ...path, filter, sub: this.subAttribute()?.attribute ?? null };
  }

  /** `or` binds weakest, then `and`, then `not`. */
  filter(depth: number): Filter {
    let left = this.conjunction(depth);
    while (this.takeWordIf('or')) left = this.node({ kind: 'or', left, right: this.conjunction(depth) });
    return left;
  }

  private conjunction(depth: number): Filter {
    let left = this.factor(depth);
    while (this.takeWordIf('and')) left = this.node({ kind: 'and', left, right: this.factor(depth) });
    return left;
  }

  private factor(depth: number): Filter {
    if (depth > LIMITS.depth) throw this.fault(`nested more than ${LIMITS.depth} levels deep`);
    if (this.takeIf('(')) return this.expectClosed(this.filter(depth + 1), ')');
    // `not` is the operator only before a bracket; otherwise it may be an attribute.
    if (this.token?.toLowerCase() === 'not' && /^\s*\(/.test(this.text.slice(this.at))) {
      this.advance();
      this.expect('(');
      return this.node({ kind: 'not', filter: this.expectClosed(this.filter(depth + 1), ')') });
    }
    return this.expression(depth);
  }

  private expression(depth: number): Filter {
    const path = this.path();
    if (!this.takeIf('[')) return this.test(path);
    const left = this.expectClosed(this.filter(depth + 1), ']');
    // Some clients send `emails[type eq "work"].value eq "x"`: one entry must fulfil both conditions.
    const sub = this.subAttribute();
    const filter = sub === null ? left : this.node({ kind: 'and', left, right: this.test(sub) });
    return this.node({ kind: 'any', path, filter });
  }

  /** The operator after an attribute, with its value. */
  private test(path: AttributePath): Filter {
    const word = this.takeWord(() => true)?.toLowerCase();
    if (word === 'pr') return this.node({ kind: 'present', path });
    const comparison = COMPARISONS.find((each) => each === word);
    if (comparison === undefined) throw this.fault(`${jsonExcerpt(word ?? '')} is no operator`);
    return this.node({ kind: 'compare', path, comparison, value: this.literal() });
  }

  /** The sub-attribute after brackets, such as `.value`; null: there is none. */
  private subAttribute(): AttributePath | null {
    const word = this.takeWord((text) => text.startsWith('.'));
    if (word === null) return null;
    const path = attributePath(word.slice(1));
    if (path?.sub !== null || path.isForeign) throw this.fault(`${jsonExcerpt(word)} is no part of an attribute`);
    return path;
  }

  private path(): AttributePath {
    const word = this.takeWord(() => true);
    const path = word === null ? null : attributePath(word);
    if (path === null)
      throw this.fault(word === null ? 'an attribute is missing' : `${jsonExcerpt(word)} is no attribute`);
    return path;
  }

  /** A JSON literal, or `True` or `False`, as some clients write them. */
  private literal(): Literal {
    const { token } = this;
    if (token === null || /^[()[\]]/.test(token)) throw this.unexpected();
    this.advance();
    try {
      const value: unknown = JSON.parse(/^(true|false|null)$/i.test(token) ? token.toLowerCase() : token);
      const isText = typeof value === 'string';
      if (isText && value.length > MAX_TEXT) throw this.fault(`a text has more than ${MAX_TEXT} characters`);
      // PostgreSQL cannot store NUL and lone surrogates.
      if (isText && /[\0\p{Cs}]/u.test(value)) throw this.fault('a text holds a character that none may hold');
      if (isText || typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
    }
    throw this.fault(`${jsonExcerpt(token)} is no value`);
  }

  private node(filter: Filter): Filter {
    this.nodes += 1;
    if (this.nodes > LIMITS.nodes) throw this.fault(`more than ${LIMITS.nodes} comparisons and operators`);
    return filter;
  }

  private expectClosed(filter: Filter, bracket: string): Filter {
    this.expect(bracket);
    return filter;
  }

  private expect(bracket: string): void {
    if (!this.takeIf(bracket)) throw this.token === null ? this.fault(`${bracket} is missing`) : this.unexpected();
  }

  private takeIf(bracket: string): boolean {
    if (this.token !== bracket) return false;
    this.advance();
    return true;
  }

  private takeWordIf(word: string): boolean {
    return this.takeWord((text) => text.toLowerCase() === word) !== null;
  }

  private takeWord(isWanted: (text: string) => boolean): string | null {
    const { token } = this;
    if (token === null || /^["()[\]]/.test(token) || !isWanted(token)) return null;
    this.advance();
    return token;
  }

  private advance(): void {
    TOKEN.lastIndex = this.at;
    this.token = TOKEN.exec(this.text)?.[1] ?? null;
    if (this.token !== null) this.at = TOKEN.lastIndex;
    else if (this.text.slice(this.at).trim() !== '') throw this.fault('a text in quotes does not end');
  }

  private unexpected(): Error {
    return this.fault(this.token === null ? 'it ends early' : `${jsonExcerpt(this.token)} is not expected there`);
  }

  private fault(what: string): Error {
    const name = this.scimType === 'invalidPath' ? 'path' : 'filter';
    return invalid(this.scimType, `Invalid ${name} near character ${this.at}: ${what}.`);
  }
}

/** The most comparisons of one request. So many block the process for some tenths of a second. */
const MOST_COMPARISONS = 500_000;

/** Makes a predicate of a filter for a number of entries. @throws Refused 400 `tooMany` */
export type EntryMatchers = (filter: Filter, entries: number) => (entry: object) => boolean;

/** Makes the predicates of one request, and counts their comparisons before they run. */
export function entryMatchers(): EntryMatchers {
  let comparisons = 0;
  return (filter, entries) => {
    comparisons += countComparisons(filter) * entries;
    if (comparisons > MOST_COMPARISONS) {
      throw invalid('tooMany', `The filters make more than ${MOST_COMPARISONS} comparisons with entries of the list.`);
    }
    return (entry) => entryMatches(filter, entry);
  };
}

/** Whether an entry fulfils a filter of PATCH. Its keys are in lower case; texts are compared without case (RFC 7643 section 4.1.2). */
function entryMatches(filter: Filter, entry: object): boolean {
  switch (filter.kind) {
    case 'and':
      return entryMatches(filter.left, entry) && entryMatches(filter.right, entry);
    case 'or':
      return entryMatches(filter.left, entry) || entryMatches(filter.right, entry);
    case 'not':
      return !entryMatches(filter.filter, entry);
    case 'present':
      return valueOf(entry, filter.path.attribute) !== null;
    case 'compare':
      return isFulfilled(filter.comparison, valueOf(entry, filter.path.attribute), filter.value);
    case 'any':
      return false;
  }
}

function valueOf(entry: object, attribute: string): unknown {
  return Object.hasOwn(entry, attribute) ? (entry as Record<string, unknown>)[attribute] : null;
}

const TEXT_TESTS: Record<Comparison, (a: string, b: string) => boolean> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  co: (a, b) => a.includes(b),
  sw: (a, b) => a.startsWith(b),
  ew: (a, b) => a.endsWith(b),
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
};

function isFulfilled(comparison: Comparison, value: unknown, wanted: Literal): boolean {
  if (typeof value === 'string' && typeof wanted === 'string') {
    return TEXT_TESTS[comparison](value.toLowerCase(), wanted.toLowerCase());
  }
  const isText = typeof value === 'boolean' && typeof wanted === 'string';
  const isEqual = value === (isText ? wanted.toLowerCase() === 'true' : wanted);
  return comparison === 'ne' ? !isEqual : comparison === 'eq' && isEqual;
}
