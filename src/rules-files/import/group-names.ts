import { foldedName, nameProblem } from '../../kernel/name.js';
import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { ListedUser } from '../foreign/audiences.js';

/** Names for groups of users, each once: that of the group of the list whose members are the same, or a number. */
export class GroupNames {
  /** By the members, the groups of the list. */
  private readonly known = new Map<string, string[]>();
  private readonly taken = new Set<string>();

  constructor(listed: readonly ListedUser[]) {
    const members = new Map<string, string[]>();
    for (const { name, groups } of listed) {
      for (const group of groups) getOrInsert(members, group, () => []).push(name);
    }
    for (const [group, names] of members) {
      if (nameProblem(group) === null) getOrInsert(this.known, keyOf(names), () => []).push(group);
    }
  }

  take(members: readonly string[]): string {
    const named = (this.known.get(keyOf(members)) ?? []).sort().find((name) => !this.taken.has(foldedName(name)));
    const name = named ?? this.numbered();
    this.taken.add(foldedName(name));
    return name;
  }

  private numbered(): string {
    let number = 1;
    while (this.taken.has(`imported-${number}`)) number += 1;
    return `imported-${number}`;
  }
}

function keyOf(members: readonly string[]): string {
  return JSON.stringify([...new Set(members)].sort());
}
