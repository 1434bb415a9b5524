import { getOrInsert } from '../../kernel/collections.js';
import type { ListedUser } from '../foreign/audiences.js';

/** Users and sets of users who hold something together. */
export type Holders = readonly (readonly string[])[];

interface HeldRow {
  names: ReadonlySet<string>;
  /** Whether somebody may hold it, too, because it changes nothing. */
  mayHold: (name: string) => boolean;
  /** The node that it is on. */
  at: string;
}

/** As many users of one row of a different kind make a new group. */
const MANY = 4;

/** As whom rows are written: as groups of the list first; then users who hold the same on several nodes; then users who are alike. */
export class HoldersOfRows {
  private readonly groups: string[][];
  private readonly order: ReadonlyMap<string, number>;

  constructor(
    listed: readonly ListedUser[],
    private readonly alike: ReadonlyMap<string, readonly string[]>,
  ) {
    const members = new Map<string, Set<string>>();
    for (const { name, groups } of listed)
      for (const group of groups) getOrInsert(members, group, () => new Set<string>()).add(name);
    this.groups = [...members.values()].map((names) => [...names]).filter((names) => names.length > 1);
    this.order = new Map(listed.map(({ name }, i) => [name, i]));
  }

  of(rows: readonly HeldRow[]): Holders[] {
    const covered = rows.map((row) => this.byGroups(row));
    const nodes = new Map<string, Set<string>>();
    covered.forEach(({ left }, i) =>
      getOrInsert(nodes, left.join('\0'), () => new Set<string>()).add(rows[i]?.at ?? ''),
    );
    return covered.map(({ groups, left }) => {
      const parts = new Map<readonly string[] | undefined, string[]>();
      for (const name of left) getOrInsert(parts, this.alike.get(name), () => []).push(name);
      const isOne = parts.size >= MANY || (nodes.get(left.join('\0'))?.size ?? 0) > 1;
      return [...groups, ...(isOne && left.length > 0 ? [left] : parts.values())];
    });
  }

  /** The groups that hold most of it, and nobody who may not; and who is left, in the order of the list. */
  private byGroups({ names, mayHold }: HeldRow): { groups: string[][]; left: string[] } {
    const left = new Set(names);
    const groups: string[][] = [];
    const open = names.size < 2 ? [] : this.groups.filter((members) => members.every(mayHold));
    for (;;) {
      let [best, most] = [[] as string[], 0];
      for (const members of open) {
        const count = members.filter((name) => left.has(name)).length;
        // For one user alone, a group must be about it itself.
        if (count > most && (count > 1 || members.every((name) => names.has(name)))) [best, most] = [members, count];
      }
      if (best.length === 0) break;
      groups.push(best);
      for (const name of best) left.delete(name);
    }
    return { groups, left: [...left].sort((a, b) => (this.order.get(a) ?? 0) - (this.order.get(b) ?? 0)) };
  }
}
