import { getOrInsert } from '../../kernel/collections.js';
import type { EngineSets } from '../engine/engine-sets.js';
import { addWord, type Bitset } from '../engine/sparse-bitset.js';
import { type PolicyPrincipal, principalText } from '../model/principal.js';

/** To keep a set for a member. */
const STEPS_PER_MEMBER = 10;

/** Users by the positions of those over whom grants or denies give or take something. All that name the same principal are one set. */
export class UsersByNamed {
  private readonly byPrincipal = new Map<string, Bitset>();
  private readonly byPosition = new Map<number, Bitset[]>();

  /** @param resolve positions of the members of a principal */
  constructor(
    private readonly engine: EngineSets,
    private readonly resolve: (named: PolicyPrincipal) => Iterable<number>,
  ) {}

  add(named: PolicyPrincipal, users: readonly number[]): void {
    const set = getOrInsert(this.byPrincipal, principalText(named), () => this.setFor(named));
    this.engine.spend(users.length);
    for (const user of users) addWord(set, user >>> 5, 1 << (user & 31));
  }

  positions(): Iterable<number> {
    return this.byPosition.keys();
  }

  /** Sets of users over one position, paid for to be added up. */
  at(position: number): readonly Bitset[] {
    const sets = this.byPosition.get(position) ?? [];
    this.engine.spend(sets.length * this.engine.width);
    return sets;
  }

  private setFor(named: PolicyPrincipal): Bitset {
    const set = new Uint32Array(this.engine.width);
    for (const position of this.resolve(named)) {
      this.engine.spend(STEPS_PER_MEMBER);
      getOrInsert(this.byPosition, position, () => []).push(set);
    }
    return set;
  }
}
