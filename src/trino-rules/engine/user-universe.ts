import { getOrInsert } from '../../kernel/collections.js';
import { FRESH_PREFIX, unusedFreshName, namesOfOpenPattern, spellOut } from '../document/open-names.js';
import { PatternCache } from '../document/pattern-cache.js';
import { matches } from '../document/pattern-meaning.js';
import { NameClasses } from '../document/name-classes.js';
import type { Pattern } from '../document/pattern.js';
import type { RulesDocument } from '../document/rules-document.js';
import { sparseBitset, type SparseBitset } from './sparse-bitset.js';

const MAX_UNKNOWN_NAMES = 100_000;
/** Steps of the work budget for each user name that is in rules but not in the snapshot. Only rules that Grantline did not write contain such names. */
const COST_PER_STRANGER = 4_000;
const COST_PER_NAME = 40;

/**
 * Numbers all users of an evaluation: the users of the snapshot, other names that user patterns spell out, an example name for each
 * alternative with `.*` (`b.*` in `ana|b.*`), and one invented name for all other users. A pattern's users are a set of these numbers.
 */
export class UserUniverse {
  /** Names that are not in the snapshot, in the order of their numbers. All these numbers are higher than those of the snapshot's names. */
  readonly strangers: string[] = [];
  private readonly allNames: string[] = [];
  private readonly positions = new Map<string, number[]>();
  private readonly usersByPattern = new Map<string, SparseBitset>();
  private readonly openPatterns = new Map<string, Pattern>();
  private readonly allUsers: SparseBitset;
  /** Users from this number on are invented. They represent all users whom neither `knownNames` nor a pattern spells out. */
  private readonly firstInventedUserNumber: number;

  /**
   * @param knownNames names in the order of their numbers; a name may occur twice
   * @param coversEveryNameKind whether to add a common name, such as `ab`, for each set of open patterns (`a.*` and `.*b`) that has one
   */
  constructor(
    knownNames: readonly string[],
    documents: readonly RulesDocument[],
    private readonly patterns = new PatternCache(),
    coversEveryNameKind = false,
  ) {
    for (const name of knownNames) this.addName(name);
    for (const rules of documents) for (const pattern of userPatterns(rules)) this.addPattern(pattern);
    const witnesses = [...this.openPatterns].flatMap(([text, pattern]) => this.addSpelledNames(text, pattern));
    const spelledNames = new Set(this.allNames);
    this.firstInventedUserNumber = this.allNames.length;
    const freshNames = [...this.allNames, ...witnesses].filter((name) => name.startsWith(FRESH_PREFIX));
    const freshName = unusedFreshName(new Set(freshNames));
    for (const name of [...witnesses, freshName]) if (name !== '') this.addStranger(name);
    if (coversEveryNameKind) {
      const presentNames = this.allNames.slice(this.firstInventedUserNumber);
      const openPatterns = [...this.openPatterns.values()];
      const missingNamesInput = { patterns: openPatterns, nameKind: 'any', presentNames, spelledNames } as const;
      for (const name of new NameClasses(this.patterns.budget).missingNames(missingNamesInput)) this.addStranger(name);
    }
    this.allUsers = sparseBitset(this.allNames.map((_, position) => position));
  }

  get count(): number {
    return this.allNames.length;
  }

  names(): readonly string[] {
    return this.allNames;
  }

  /** The users that match a pattern of the documents. An absent pattern matches all users. */
  usersMatching(pattern: string | undefined): SparseBitset {
    if (pattern === undefined) return this.allUsers;
    return getOrInsert(this.usersByPattern, pattern, () => {
      const openPattern = this.openPatterns.get(pattern);
      if (openPattern === undefined) throw new Error('a pattern of users that none of the documents holds');
      const isMatch = (name: string): boolean => matches(openPattern, name, this.patterns.budget);
      return sparseBitset(this.allNames.flatMap((name, position) => (isMatch(name) ? [position] : [])));
    });
  }

  /** Whether each user that a pattern can match has a number here. False if the pattern has `.*` or too many names. */
  isCompleteFor(pattern: string | undefined): boolean {
    return pattern === undefined || !this.openPatterns.has(pattern);
  }

  /** Whether the user is invented, and represents users whom no pattern spells out. */
  isRepresentative(position: number): boolean {
    return position >= this.firstInventedUserNumber;
  }

  positionsOf(name: string): readonly number[] {
    return this.positions.get(name) ?? [];
  }

  private addPattern(text: string): void {
    if (this.usersByPattern.has(text) || this.openPatterns.has(text)) return;
    const pattern = this.patterns.parse(text);
    const { budget } = this.patterns;
    const maxNames = Math.min(Math.max(MAX_UNKNOWN_NAMES, this.allNames.length), this.patterns.maxNamesOf(text));
    const names = spellOut(pattern, { budget, maxNames, stepsPerName: COST_PER_NAME });
    const stepsForStrangers = [...(names ?? [])].filter((name) => !this.positions.has(name)).length * COST_PER_STRANGER;
    if (names === null || !budget.canAfford(stepsForStrangers)) {
      this.openPatterns.set(text, pattern);
      return;
    }
    budget.spend(stepsForStrangers);
    this.usersByPattern.set(text, sparseBitset([...names].flatMap((name) => this.addStranger(name))));
  }

  /** Adds the full names in an open pattern: `ana` of `ana|b.*`. @returns an example name for each alternative with `.*` */
  private addSpelledNames(text: string, pattern: Pattern): readonly string[] {
    const { budget } = this.patterns;
    const maxNames = Math.min(MAX_UNKNOWN_NAMES, this.patterns.maxNamesOf(text));
    const limits = { budget, maxNames, stepsPerName: COST_PER_STRANGER };
    const { spelledNames, witnesses } = namesOfOpenPattern(pattern, limits);
    for (const name of spelledNames) this.addStranger(name);
    return witnesses;
  }

  private addStranger(name: string): readonly number[] {
    const knownPositions = this.positions.get(name);
    if (knownPositions !== undefined) return knownPositions;
    this.strangers.push(name);
    return [this.addName(name)];
  }

  private addName(name: string): number {
    const position = this.allNames.push(name) - 1;
    getOrInsert(this.positions, name, () => []).push(position);
    return position;
  }
}

/** All patterns of users, including impersonated users and owners of queries. */
function userPatterns(rules: RulesDocument): string[] {
  const { impersonation, ...otherSections } = rules;
  const sections = Object.values<readonly { user?: string }[]>(otherSections);
  const userFields = sections.flatMap((section) => section.map(({ user }) => user));
  const impersonationPatterns = impersonation.flatMap(({ original_user, new_user }) => [original_user, new_user]);
  const owners = rules.queries.map(({ queryOwner }) => queryOwner);
  return [...userFields, ...impersonationPatterns, ...owners].filter((pattern) => pattern !== undefined);
}
