import { getOrInsert } from '../../kernel/collections.js';
import { PatternCache } from '../document/pattern-cache.js';
import { matches } from '../document/pattern-meaning.js';
import { FRESH_PREFIX, freshAmong, openNames, spelledOut } from '../document/open-names.js';
import { NameClasses } from '../document/name-classes.js';
import type { Pattern } from '../document/pattern.js';
import type { RulesDocument } from '../document/rules-document.js';
import { sparseBitset, type SparseBitset } from './sparse-bitset.js';

const MAX_STRANGERS = 100_000;
/** Steps for each name that the snapshot does not contain. Grantline's own rules have no such names. */
const STEPS_PER_STRANGER = 4_000;
const STEPS_PER_NAME = 40;

/**
 * Numbers all users of an evaluation: those of the snapshot, all other names that patterns of users match, witnesses of open
 * patterns, and one stranger whom no pattern spells out. Patterns become sets of numbers.
 */
export class UserUniverse {
  /** Names that the snapshot does not contain, in the order of their numbers, which follow those of its own names. */
  readonly strangers: string[] = [];
  private readonly all: string[] = [];
  private readonly positions = new Map<string, number[]>();
  private readonly sets = new Map<string, SparseBitset>();
  private readonly open = new Map<string, Pattern>();
  private readonly allUsers: SparseBitset;
  /** The first number of users who represent others that no pattern spells out. */
  private readonly firstUnnamed: number;

  /**
   * @param known names in the order of their numbers; a name may occur twice
   * @param isEvery adds a stranger of every kind that open patterns tell apart
   */
  constructor(
    known: readonly string[],
    documents: readonly RulesDocument[],
    private readonly patterns = new PatternCache(),
    isEvery = false,
  ) {
    for (const name of known) this.number(name);
    for (const rules of documents) for (const pattern of userPatterns(rules)) this.learnPattern(pattern);
    const witnesses = [...this.open].flatMap(([text, pattern]) => this.spell(text, pattern));
    const spelled = new Set(this.all);
    this.firstUnnamed = this.all.length;
    const fresh = freshAmong(new Set([...this.all, ...witnesses].filter((name) => name.startsWith(FRESH_PREFIX))));
    for (const name of [...witnesses, fresh]) if (name !== '') this.stranger(name);
    if (isEvery) {
      const present = this.all.slice(this.firstUnnamed);
      const request = { patterns: [...this.open.values()], kind: 'any', present, spelled } as const;
      for (const name of new NameClasses(this.patterns.budget).missing(request)) this.stranger(name);
    }
    this.allUsers = sparseBitset(this.all.map((_, position) => position));
  }

  get count(): number {
    return this.all.length;
  }

  /** All names, in the order of their numbers. */
  names(): readonly string[] {
    return this.all;
  }

  /** Users whom a pattern of the documents matches; an absent one matches all. */
  matching(pattern: string | undefined): SparseBitset {
    if (pattern === undefined) return this.allUsers;
    return getOrInsert(this.sets, pattern, () => sparseBitset(this.strangersFor(pattern)));
  }

  /** False if a pattern may match users without a number: it has `.*`, or too many names. */
  isComplete(pattern: string | undefined): boolean {
    return pattern === undefined || !this.open.has(pattern);
  }

  /** Whether a user represents users whom no pattern spells out. */
  isUnnamed(position: number): boolean {
    return position >= this.firstUnnamed;
  }

  /** Numbers of the users with this name. */
  named(name: string): readonly number[] {
    return this.positions.get(name) ?? [];
  }

  private learnPattern(text: string): void {
    if (this.sets.has(text) || this.open.has(text)) return;
    const pattern = this.patterns.parse(text);
    const { budget, maxNames } = this.patterns;
    const mostNames = Math.min(Math.max(MAX_STRANGERS, this.all.length), maxNames(text));
    const names = spelledOut(pattern, { budget, mostNames, stepsPerName: STEPS_PER_NAME });
    const strangers = [...(names ?? [])].filter((name) => !this.positions.has(name)).length * STEPS_PER_STRANGER;
    if (names === null || !budget.canAfford(strangers)) {
      this.open.set(text, pattern);
      return;
    }
    budget.spend(strangers);
    this.sets.set(text, sparseBitset([...names].flatMap((name) => this.stranger(name))));
  }

  /** Adds the names that an open pattern spells out. @returns its witnesses */
  private spell(text: string, pattern: Pattern): readonly string[] {
    const { budget, maxNames } = this.patterns;
    const mostNames = Math.min(MAX_STRANGERS, maxNames(text));
    const { spelled, witnesses } = openNames(pattern, { budget, mostNames, stepsPerName: STEPS_PER_STRANGER });
    for (const name of spelled) this.stranger(name);
    return witnesses;
  }

  private strangersFor(text: string): number[] {
    const pattern = this.open.get(text);
    if (pattern === undefined) throw new Error('a pattern of users that none of the documents holds');
    return this.all.flatMap((name, position) => (matches(pattern, name, this.patterns.budget) ? [position] : []));
  }

  private stranger(name: string): readonly number[] {
    const known = this.positions.get(name);
    if (known !== undefined) return known;
    this.strangers.push(name);
    return [this.number(name)];
  }

  private number(name: string): number {
    const position = this.all.push(name) - 1;
    getOrInsert(this.positions, name, () => []).push(position);
    return position;
  }
}

/** All patterns of users, also of impersonated ones and of owners of queries. */
function userPatterns(rules: RulesDocument): string[] {
  const { impersonation, ...others } = rules;
  const user = Object.values<readonly { user?: string }[]>(others).flatMap((section) =>
    section.map((rule) => rule.user),
  );
  const impersonating = impersonation.flatMap(({ original_user, new_user }) => [original_user, new_user]);
  const owners = rules.queries.map(({ queryOwner }) => queryOwner);
  return [...user, ...impersonating, ...owners].filter((pattern) => pattern !== undefined);
}
