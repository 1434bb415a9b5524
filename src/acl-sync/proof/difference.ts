import type { Privilege } from '../../grants/domain/privilege.js';
import type { Subject } from '../../grants/domain/subject.js';
import { countMembers, members, wordAt, type Words } from './people-set.js';

/** A place in the tree where the rules were asked; a level that nobody has named yet has a fresh name. */
export interface Place {
  catalog: string;
  schema?: string;
  table?: string;
}

/** One thing that the rules either give somebody or do not. */
export type Aspect =
  | { about: 'catalog-mode'; place: Place; mode: 'all' | 'read-only' }
  | { about: 'schema-ownership'; place: Place }
  | { about: 'privilege'; place: Place; privilege: Privilege }
  | { about: 'row-filter'; place: Place; expression: string }
  | { about: 'hidden-column'; place: Place; column: string }
  | { about: 'column-mask'; place: Place; column: string; expression: string }
  | { about: 'queries'; right: 'execute' | 'view' | 'kill' }
  | { about: 'impersonation'; newUser: string }
  | { about: 'routine'; kind: 'function' | 'procedure'; place: Place; name: string; privilege: string }
  | { about: 'session-property'; property: string; catalog: string | null };

/** What takes away from a SELECT that somebody has. */
export type Restriction = Extract<Aspect, { about: 'row-filter' | 'hidden-column' | 'column-mask' }>;

export function isRestriction(aspect: Aspect): aspect is Restriction {
  return aspect.about === 'row-filter' || aspect.about === 'hidden-column' || aspect.about === 'column-mask';
}

/** Where rules and grants disagree: by the rules somebody has something that the grants do not give, or the other way round. */
export interface Difference {
  aspect: Aspect;
  somebody: Subject;
  /** How many more it concerns in just the same way. */
  others: number;
  byRules: boolean;
}

/** Collects differences and stops keeping them when there are more than anybody reads. */
export class Differences {
  readonly found: Difference[] = [];
  total = 0;

  constructor(
    private readonly list: readonly Subject[],
    private readonly keep: number,
  ) {}

  /** Compares two sets at some of their words, and of these only those among `among`. */
  compare(
    aspect: () => Aspect,
    active: Uint32Array,
    byRules: Words | null,
    byGrants: Words | null,
    among: Words | null = null,
  ): void {
    const extra = new Tally();
    const missing = new Tally();
    for (const index of active) {
      const rules = byRules === null ? 0 : wordAt(byRules, index);
      const grants = byGrants === null ? 0 : wordAt(byGrants, index);
      const differ = (rules ^ grants) & (among === null ? -1 : wordAt(among, index));
      if (differ === 0) continue;
      extra.add(index, differ & rules);
      missing.add(index, differ & grants);
    }
    if (extra.count > 0) this.add(aspect, extra, true);
    if (missing.count > 0) this.add(aspect, missing, false);
  }

  private add(aspect: () => Aspect, { first, count }: Tally, byRules: boolean): void {
    const somebody = this.list[first];
    if (somebody === undefined) return;
    this.total++;
    if (this.found.length < this.keep) this.found.push({ aspect: aspect(), somebody, others: count - 1, byRules });
  }
}

/** Counts people, and remembers the first. */
class Tally {
  first = -1;
  count = 0;

  add(index: number, word: number): void {
    if (word === 0) return;
    const [first = -1] = members(index, word);
    if (this.count === 0) this.first = first;
    this.count += countMembers(word);
  }
}
