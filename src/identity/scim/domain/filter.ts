import { refusal, MAX_CHARS, type ScimType, jsonExcerpt } from './values.js';

/** An attribute's path such as `name.familyName`, in lower case, because attributes are compared without case (RFC 7643 section 2.1). */
export interface AttributePath {
  attribute: string;
  /** The sub-attribute, such as `familyname`. */
  part: string | null;
  /** Whether the attribute belongs to an extension schema. Such attributes are accepted and dropped. */
  isForeign: boolean;
}

export const CORE_SCHEMAS = {
  User: 'urn:ietf:params:scim:schemas:core:2.0:User',
  Group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
} as const;

const CORE_URNS = new Set(Object.values(CORE_SCHEMAS).map((urn) => urn.toLowerCase()));
const ATTRIBUTE_NAME = /^\$?[a-z_][\w$-]*$/;

/**
 * Parses an attribute's path (RFC 7644 section 3.10), with or without the URN of its schema.
 * @returns null: the text is no path
 */
export function attributePath(text: string): AttributePath | null {
  const lowerText = text.toLowerCase();
  const urnEnd = lowerText.startsWith('urn:') ? lowerText.lastIndexOf(':') : -1;
  const isForeign = urnEnd >= 0 && !CORE_URNS.has(lowerText.slice(0, urnEnd));
  // Foreign attributes are neither read nor written, so any form of name is accepted.
  if (isForeign) return { attribute: lowerText, part: null, isForeign };
  const [attribute = '', part = null, ...extraParts] = lowerText.slice(urnEnd + 1).split('.');
  const isPath = [attribute, part ?? attribute].every((name) => ATTRIBUTE_NAME.test(name)) && extraParts.length === 0;
  return isPath ? { attribute, part, isForeign } : null;
}

/** Whether a key of a body is the URN of a core schema. The value of such a key is an object with attributes. */
export function isCoreSchema(key: string): boolean {
  return CORE_URNS.has(key.toLowerCase());
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

/** The target of a PATCH operation, such as `emails[type eq "work"].value`. `filter` is the filter in the brackets. */
export interface PatchPath extends AttributePath {
  filter: Filter | null;
}

/** Limits of a filter. `depth`: nested brackets and `not`. `nodes`: comparisons plus operators. `length`: characters, the most that Node accepts in a URL. */
const LIMITS = { depth: 10, nodes: 200, length: 16_384 };

/** The most comparisons that are needed to test a filter on one entry of a list. */
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
  const reader = new FilterReader(text, 'invalidFilter');
  const filter = reader.readFilter(0);
  reader.expectEnd();
  return filter;
}

/** @throws Refused 400 `invalidPath` */
export function parsePatchPath(text: string): PatchPath {
  const reader = new FilterReader(text, 'invalidPath');
  const path = reader.readPatchPath();
  reader.expectEnd();
  return path;
}

/** Matches a token of a filter: a word, a quoted text, or a bracket. */
const TOKEN = /\s*([^\s()[\]"]+|"(?:[^"\\]|\\.)*"|[()[\]])/y;

class FilterReader {
  private offset = 0;
  private nodeCount = 0;
  /** The next token; null: the text has ended. */
  private token: string | null = null;

  constructor(
    private readonly text: string,
    private readonly scimType: ScimType,
  ) {
    if (text.length > LIMITS.length) throw this.fault(`it has more than ${LIMITS.length} characters`);
    this.advance();
  }

  expectEnd(): void {
    if (this.token !== null) throw this.unexpectedToken();
  }

  readPatchPath(): PatchPath {
    const path = this.path();
    if (!this.takeIf('[')) return { ...path, filter: null };
    if (path.part !== null) throw this.fault('a list has no part before its brackets');
    const filter = this.readFilter(1);
    this.expect(']');
    return { ...path, filter, part: this.readSubAttribute()?.attribute ?? null };
  }

  /** Reads a filter. `and` binds stronger than `or`, and `not` binds strongest. */
  readFilter(nesting: number): Filter {
    let left = this.readConjunction(nesting);
    while (this.takeWordIf('or')) left = this.countNode({ kind: 'or', left, right: this.readConjunction(nesting) });
    return left;
  }

  private readConjunction(nesting: number): Filter {
    let left = this.readFactor(nesting);
    while (this.takeWordIf('and')) left = this.countNode({ kind: 'and', left, right: this.readFactor(nesting) });
    return left;
  }

  private readFactor(nesting: number): Filter {
    if (nesting > LIMITS.depth) throw this.fault(`nested more than ${LIMITS.depth} levels deep`);
    if (this.takeIf('(')) return this.expectClosed(this.readFilter(nesting + 1), ')');
    // `not` is the operator only before a bracket; otherwise it may be an attribute.
    if (this.token?.toLowerCase() === 'not' && /^\s*\(/.test(this.text.slice(this.offset))) {
      this.advance();
      this.expect('(');
      return this.countNode({ kind: 'not', filter: this.expectClosed(this.readFilter(nesting + 1), ')') });
    }
    return this.readExpression(nesting);
  }

  private readExpression(nesting: number): Filter {
    const path = this.path();
    if (!this.takeIf('[')) return this.readAttributeTest(path);
    const left = this.expectClosed(this.readFilter(nesting + 1), ']');
    // Some clients send `emails[type eq "work"].value eq "x"`. It means that one entry fulfils both conditions.
    const part = this.readSubAttribute();
    const filter = part === null ? left : this.countNode({ kind: 'and', left, right: this.readAttributeTest(part) });
    return this.countNode({ kind: 'any', path, filter });
  }

  /** Reads the operator after an attribute, and the value to compare with. */
  private readAttributeTest(path: AttributePath): Filter {
    const word = this.takeWord(() => true)?.toLowerCase();
    if (word === 'pr') return this.countNode({ kind: 'present', path });
    const comparison = COMPARISONS.find((each) => each === word);
    if (comparison === undefined) throw this.fault(`${jsonExcerpt(word ?? '')} is no operator`);
    return this.countNode({ kind: 'compare', path, comparison, value: this.readLiteral() });
  }

  /** Reads the sub-attribute after brackets, such as `.value`; null: no sub-attribute follows. */
  private readSubAttribute(): AttributePath | null {
    const word = this.takeWord((text) => text.startsWith('.'));
    if (word === null) return null;
    const path = attributePath(word.slice(1));
    if (path?.part !== null || path.isForeign) throw this.fault(`${jsonExcerpt(word)} is no part of an attribute`);
    return path;
  }

  private path(): AttributePath {
    const word = this.takeWord(() => true);
    const path = word === null ? null : attributePath(word);
    if (path === null)
      throw this.fault(word === null ? 'an attribute is missing' : `${jsonExcerpt(word)} is no attribute`);
    return path;
  }

  /** Reads a JSON literal. Also accepts `True` and `False`, as some clients write them. */
  private readLiteral(): Literal {
    const { token } = this;
    if (token === null || /^[()[\]]/.test(token)) throw this.unexpectedToken();
    this.advance();
    try {
      const value: unknown = JSON.parse(/^(true|false|null)$/i.test(token) ? token.toLowerCase() : token);
      const isText = typeof value === 'string';
      if (isText && value.length > MAX_CHARS) throw this.fault(`a text has more than ${MAX_CHARS} characters`);
      // PostgreSQL cannot store NUL and lone surrogates.
      if (isText && /[\0\p{Cs}]/u.test(value)) throw this.fault('a text contains a NUL character or a lone surrogate');
      if (isText || typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
    }
    throw this.fault(`${jsonExcerpt(token)} is no value`);
  }

  private countNode(filter: Filter): Filter {
    this.nodeCount += 1;
    if (this.nodeCount > LIMITS.nodes) throw this.fault(`more than ${LIMITS.nodes} comparisons and operators`);
    return filter;
  }

  private expectClosed(filter: Filter, bracket: string): Filter {
    this.expect(bracket);
    return filter;
  }

  private expect(bracket: string): void {
    if (!this.takeIf(bracket)) throw this.token === null ? this.fault(`${bracket} is missing`) : this.unexpectedToken();
  }

  private takeIf(bracket: string): boolean {
    if (this.token !== bracket) return false;
    this.advance();
    return true;
  }

  private takeWordIf(word: string): boolean {
    return this.takeWord((text) => text.toLowerCase() === word) !== null;
  }

  private takeWord(isAccepted: (text: string) => boolean): string | null {
    const { token } = this;
    if (token === null || /^["()[\]]/.test(token) || !isAccepted(token)) return null;
    this.advance();
    return token;
  }

  private advance(): void {
    TOKEN.lastIndex = this.offset;
    this.token = TOKEN.exec(this.text)?.[1] ?? null;
    if (this.token !== null) this.offset = TOKEN.lastIndex;
    else if (this.text.slice(this.offset).trim() !== '') throw this.fault('a text in quotes does not end');
  }

  private unexpectedToken(): Error {
    return this.fault(this.token === null ? 'it ends early' : `${jsonExcerpt(this.token)} is not expected there`);
  }

  private fault(problem: string): Error {
    const name = this.scimType === 'invalidPath' ? 'path' : 'filter';
    return refusal(this.scimType, `Invalid ${name} near character ${this.offset}: ${problem}.`);
  }
}

/** The most comparisons of one request. So many comparisons block the process for some tenths of a second. */
const MAX_COMPARISONS = 500_000;

/** A function that makes a predicate from a filter. The caller applies the predicate to `entryCount` entries. @throws Refused 400 `tooMany` */
export type MakeEntryMatcher = (filter: Filter, entryCount: number) => (entry: object) => boolean;

/** The function that makes the predicates of one request. Refuses a filter before the comparisons of the request exceed the limit. */
export function entryMatcherMaker(): MakeEntryMatcher {
  let comparisonCount = 0;
  return (filter, entryCount) => {
    comparisonCount += countComparisons(filter) * entryCount;
    if (comparisonCount > MAX_COMPARISONS) {
      throw refusal('tooMany', `The filters make more than ${MAX_COMPARISONS} comparisons with entries of the list.`);
    }
    return (entry) => entryMatches(filter, entry);
  };
}

/** Whether an entry fulfils a filter of PATCH. The entry's keys are in lower case; texts are compared without case (RFC 7643 section 4.1.2). */
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

function isFulfilled(comparison: Comparison, value: unknown, literal: Literal): boolean {
  if (typeof value === 'string' && typeof literal === 'string') {
    return TEXT_TESTS[comparison](value.toLowerCase(), literal.toLowerCase());
  }
  const isBooleanAsText = typeof value === 'boolean' && typeof literal === 'string';
  const isEqual = value === (isBooleanAsText ? literal.toLowerCase() === 'true' : literal);
  return comparison === 'ne' ? !isEqual : comparison === 'eq' && isEqual;
}
