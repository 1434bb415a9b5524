import { getOrInsert } from '../../kernel/collections.js';
import type { Holder } from '../../trino-rules/answers/holders.js';
import { compareNames } from '../../trino-rules/model/node.js';

/** How many have something through one group; null: directly, as one of everyone, or by the settings. */
export interface HolderWay {
  group: { id: number; name: string } | null;
  people: number;
  enginePrincipals: number;
}

export interface CountedHolders {
  /** By name; one more than was asked for, where there are more. */
  page: Holder[];
  people: number;
  /** Service accounts among them. */
  enginePrincipals: number;
  /** Those who have not all of the node, and something in it. */
  inside: { people: number; enginePrincipals: number };
  /** A holder of all of it counts in each of its ways. Most holders first. */
  ways: HolderWay[];
}

/** Counts all holders, who come by name, and keeps a page of them. */
export class HolderCount implements CountedHolders {
  readonly page: Holder[] = [];
  people = 0;
  enginePrincipals = 0;
  readonly inside = { people: 0, enginePrincipals: 0 };
  private readonly byGroup = new Map<number | null, HolderWay>();

  constructor(private readonly asked: { after: string | null; limit: number }) {}

  add(holder: Holder): void {
    const { principal, origins } = holder;
    const { after, limit } = this.asked;
    const count = principal.type === 'user' ? 'people' : 'enginePrincipals';
    if (this.page.length < limit && (after === null || compareNames(principal.name, after) > 0)) this.page.push(holder);
    if (holder.access.privileges.length === 0 && holder.inside.length > 0) {
      this.inside[count] += 1;
      return;
    }
    this[count] += 1;
    const groups = new Map(
      origins.map(({ through }) => (typeof through === 'object' ? [through.group.id, through.group] : [null, null])),
    );
    if (origins.length === 0) groups.set(null, null);
    for (const [id, group] of groups) {
      const reference = group && { id: group.id, name: group.name };
      getOrInsert(this.byGroup, id, () => ({ group: reference, people: 0, enginePrincipals: 0 }))[count] += 1;
    }
  }

  get ways(): HolderWay[] {
    const size = ({ people, enginePrincipals }: HolderWay): number => people + enginePrincipals;
    return [...this.byGroup.values()].sort(
      (a, b) => size(b) - size(a) || compareNames(a.group?.name ?? '', b.group?.name ?? ''),
    );
  }
}
