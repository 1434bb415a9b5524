import { getOrInsert } from '../../kernel/collections.js';
import { foldedName, nameProblem } from '../../kernel/name.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import type { SnapshotGroup, SnapshotUser } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import type { Holder } from './group-cover.js';

/** The users and groups of an import. Groups are made as they are asked for: those of the list by their names, others by numbers. */
export class ImportedPrincipals {
  readonly users: SnapshotUser[];
  readonly groups: SnapshotGroup[] = [];
  /** By their names in the list. */
  readonly ofList = new Map<string, number>();
  /** Of these, those whose names are taken or can be none here, and the names that they have got. */
  readonly renamed = new Map<string, string>();
  private readonly ids: ReadonlyMap<string, number>;
  private readonly numbered = new Map<string, Principal>();
  /** Also those to which nothing is granted. */
  private readonly taken: Set<string>;

  constructor(private readonly listed: readonly ListedUser[]) {
    const accounts = new Set(listed.filter(({ isEngine }) => isEngine !== true).map(({ name }) => name));
    this.users = [...accounts].map((name, i) => ({ id: i + 1, name, isActive: true }));
    this.ids = new Map(this.users.map(({ id, name }) => [name, id]));
    this.taken = new Set(listed.flatMap(({ groups }) => groups.map(foldedName)));
  }

  /** A single user, or a new group of these. */
  of(names: readonly string[]): Principal {
    const [first, ...others] = names;
    if (first !== undefined && others.length === 0) return this.user(first);
    return getOrInsert(this.numbered, JSON.stringify([...names].sort()), () => ({
      type: 'group',
      id: this.group(this.nextName(), names),
    }));
  }

  holder({ kind, name }: Holder): PolicyPrincipal {
    if (name === null) return { type: 'everyone' };
    if (kind === 'user') return this.user(name);
    const id = getOrInsert(this.ofList, name, () => {
      const isFree = !this.groups.some((group) => foldedName(group.name) === foldedName(name));
      const own = isFree && nameProblem(name) === null ? name : this.nextName();
      if (own !== name) this.renamed.set(name, own);
      return this.group(
        own,
        this.listed.filter(({ groups }) => groups.includes(name)).map((user) => user.name),
      );
    });
    return { type: 'group', id };
  }

  user(name: string): Principal {
    const id = this.ids.get(name);
    return id === undefined ? { type: 'engine', name } : { type: 'user', id };
  }

  private group(name: string, members: readonly string[]): number {
    const id = this.groups.length + 1;
    const users = members.map((member) => this.user(member));
    this.groups.push({
      id,
      name,
      members: users.flatMap((user) => (user.type === 'user' ? [user.id] : [])),
      engines: users.flatMap((user) => (user.type === 'engine' ? [user.name] : [])),
    });
    return id;
  }

  private nextName(): string {
    let number = 1;
    while (this.taken.has(`imported-${number}`)) number += 1;
    this.taken.add(`imported-${number}`);
    return `imported-${number}`;
  }
}
