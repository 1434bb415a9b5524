import { getOrInsert } from '../../kernel/collections.js';
import { PatternCache } from '../document/pattern-cache.js';
import { matches, sizeOf } from '../document/pattern-meaning.js';
import { FRESH_PREFIX, freshAmong, openNames, spelledOut, type Spelling } from '../document/open-names.js';
import { NameClasses } from '../document/name-classes.js';
import type { Pattern } from '../document/pattern.js';
import type { RulesDocument } from '../document/rules-document.js';
import { NameTrie } from './name-trie.js';
import { sparseBitset, type SparseBitset } from './sparse-bitset.js';

const MAX_STRANGERS = 100_000;
/** To make a stranger's name, to number and to keep it: our own rules name none. */
const STEPS_PER_STRANGER = 4_000;

/**
 * All users of the evaluation, numbered: the users that the snapshot knows, every other name that a pattern of users matches,
 * witnesses of open patterns, and one stranger whom no pattern spells out. Patterns become sets of numbers at once.
 */
export class UserUniverse {
  /** Names that the snapshot does not know, in the order of their numbers, which follow those of the known. */
  readonly strangers: string[] = [];
  private readonly all: string[] = [];
  private readonly trie = new NameTrie();
  private readonly sets = new Map<string, SparseBitset>();
  private readonly open = new Map<string, Pattern>();
  private readonly allUsers: SparseBitset;
  /** From this number on they stand for users whom no pattern spells out. */
  private readonly firstUnnamed: number;

  /**
   * @param known names by their numbers; a name may occur twice.
   * @param isEvery with a stranger of every kind that open patterns tell apart
   */
  constructor(
    known: readonly string[],
    documents: readonly RulesDocument[],
    private readonly patterns = new PatternCache(),
    isEvery = false,
  ) {
    for (const name of known) this.number(name);
    for (const rules of documents) for (const pattern of userPatterns(rules)) this.learn(pattern);
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

  /** By their numbers. */
  names(): readonly string[] {
    return this.all;
  }

  /** Users that a pattern in the documents matches; an absent one matches all. */
  matching(pattern: string | undefined): SparseBitset {
    if (pattern === undefined) return this.allUsers;
    return getOrInsert(this.sets, pattern, () => sparseBitset(this.letIn(pattern)));
  }

  /** False where a pattern matches users who are not numbered here: it has `.*`, or names too many. */
  isComplete(pattern: string | undefined): boolean {
    return pattern === undefined || !this.open.has(pattern);
  }

  /** Whether a user stands for others whom no pattern spells out. */
  isUnnamed(position: number): boolean {
    return position >= this.firstUnnamed;
  }

  /** Those of this very name: two where the snapshot gives a name twice. */
  named(name: string): readonly number[] {
    return this.trie.at(name);
  }

  private learn(text: string): void {
    if (this.sets.has(text) || this.open.has(text)) return;
    const pattern = this.patterns.parse(text);
    if (!pattern.isFinite) {
      this.open.set(text, pattern);
      return;
    }
    this.patterns.budget.spend(text.length);
    const size = sizeOf(pattern);
    const known = size.names <= this.all.length ? this.trie.matching(pattern, this.patterns.budget) : null;
    if (known?.ways === size.names) {
      this.sets.set(text, sparseBitset(known.positions));
      return;
    }
    const names = spelledOut(pattern, this.spelling(text));
    if (names === null) {
      this.open.set(text, pattern);
      return;
    }
    this.sets.set(text, sparseBitset([...names].flatMap((name) => this.stranger(name))));
  }

  /** Includes what an open pattern spells out all the same, where unproved documents are compared; witnesses come last. */
  private spell(text: string, pattern: Pattern): readonly string[] {
    const { spelled, witnesses } = openNames(pattern, this.spelling(text));
    for (const name of spelled) this.stranger(name);
    return witnesses;
  }

  private spelling(text: string): Spelling {
    const { budget, maxNames } = this.patterns;
    return { budget, mostNames: Math.min(MAX_STRANGERS, maxNames(text)), stepsPerName: STEPS_PER_STRANGER };
  }

  private letIn(text: string): number[] {
    const pattern = this.open.get(text);
    if (pattern === undefined) throw new Error('a pattern of users that none of the documents holds');
    return this.all.flatMap((name, position) => (matches(pattern, name, this.patterns.budget) ? [position] : []));
  }

  private stranger(name: string): readonly number[] {
    const known = this.trie.at(name);
    if (known.length > 0) return known;
    this.strangers.push(name);
    return [this.number(name)];
  }

  private number(name: string): number {
    const position = this.all.push(name) - 1;
    this.trie.add(name, position);
    return position;
  }
}

/** Every pattern that users are matched with, also as those who are impersonated or own a query. */
function userPatterns(rules: RulesDocument): string[] {
  const { impersonation, ...others } = rules;
  const user = Object.values<readonly { user?: string }[]>(others).flatMap((section) =>
    section.map((rule) => rule.user),
  );
  const impersonating = impersonation.flatMap(({ original_user, new_user }) => [original_user, new_user]);
  const owners = rules.queries.map(({ queryOwner }) => queryOwner);
  return [...user, ...impersonating, ...owners].filter((pattern) => pattern !== undefined);
}
