import { getOrInsert } from '../../kernel/collections.js';
import { foldedName, nameProblem } from '../../kernel/name.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import type { SnapshotGroup, SnapshotUser } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import type { Joiner } from './joiners.js';

/** A principal that a grant or a policy can name: everyone, a listed group, or one user. */
interface Holder {
  /** Null: everyone. */
  name: string | null;
  kind: 'everyone' | 'group' | 'user';
  /** Users of the list, and joiners. */
  members: ReadonlySet<string>;
}

interface Application {
  holder: Holder;
  except: readonly Holder[];
}

/**
 * Chooses the principals of each imported grant or policy: listed groups where rules give access to groups, so that new members have
 * it, too, and everyone where rules give it to everybody. The access of joiners is never granted to users by name.
 */
export class GroupCover {
  private readonly shared: Holder[];
  private readonly groups: Holder[];
  private readonly isJoiner: ReadonlySet<string>;
  /** Joiners in a combination of groups that no listed user is in. */
  readonly isPair: ReadonlySet<string>;
  /** The joiner without a group. */
  private readonly alone: string;
  /** Listed users, each under its own name and those of the joiners that represent it after leaving a group. */
  private readonly users: ReadonlyMap<string, Holder>;
  /** Programs without a group: everyone includes them only if they also have a grant of their own. */
  private readonly unknown: ReadonlySet<string>;

  constructor(listed: readonly ListedUser[], joiners: readonly Joiner[]) {
    const named = new Set(joiners.flatMap(({ groups }) => groups));
    const members = new Map<string, Set<string>>([...named].map((group) => [group, new Set()]));
    const everybody = [...listed, ...joiners];
    for (const { name, groups } of everybody) for (const group of groups) members.get(group)?.add(name);
    this.groups = [...members].map(([name, of]) => ({ kind: 'group', name, members: of }));
    const everyone: Holder = { kind: 'everyone', name: null, members: new Set(everybody.map(({ name }) => name)) };
    this.shared = [...this.groups, everyone];
    this.isJoiner = new Set(joiners.filter(({ knownAs }) => knownAs === undefined).map(({ name }) => name));
    this.isPair = new Set(joiners.filter(({ isPair }) => isPair).map(({ name }) => name));
    this.alone = joiners.find(({ groups, knownAs }) => groups.length === 0 && knownAs === undefined)?.name ?? '';
    const own = new Map<string, Set<string>>();
    for (const { name, knownAs = name } of everybody)
      if (!this.isJoiner.has(name)) getOrInsert(own, knownAs, () => new Set<string>()).add(name);
    const users = [...own].map(([name, of]): Holder => ({ kind: 'user', name, members: of }));
    this.users = new Map(users.flatMap((user) => [...user.members].map((name) => [name, user])));
    const isUnknown = ({ groups, isEngine }: ListedUser): boolean =>
      isEngine === true && !groups.some((group) => named.has(group));
    this.unknown = new Set(listed.filter(isUnknown).map(({ name }) => name));
  }

  /**
   * Chooses the groups that get a grant.
   * @param names people who must get it
   * @param barred joiners that no policy can restrict: none of their groups may get it
   * @param may whether a person outside of `names` may get it, too
   * @param canDeny whether denies can take it from all of these people, without taking anything else
   * @returns `denied`: people who need a deny; `left`: users who get it by name
   */
  coverGrant(
    names: ReadonlySet<string>,
    barred: ReadonlySet<string>,
    may: (name: string) => boolean,
    canDeny: (names: ReadonlySet<string>) => boolean,
  ): { holders: Holder[]; denied: Set<string>; left: string[] } {
    const left = new Set([...names].filter((name) => !this.isPair.has(name)));
    const [holders, denied] = [[] as Holder[], new Set<string>()];
    // Everyone includes people without a group.
    const isForAll = names.has(this.alone) || may(this.alone);
    const open = this.shared.filter(
      ({ kind, members }) =>
        (kind !== 'everyone' || isForAll) &&
        this.hasJoiner(members, left) &&
        ![...barred].some((name) => members.has(name)),
    );
    for (;;) {
      const candidates = open.flatMap((holder) => {
        const covered = this.namesReached(holder, left);
        if (!covered.some((name) => this.isJoiner.has(name))) return [];
        const more = [...holder.members].filter((name) => !names.has(name) && !denied.has(name) && !may(name));
        return [{ holder, covered, more, gain: covered.length - more.length }];
      });
      candidates.sort((a, b) => b.gain - a.gain);
      const best = candidates.find(({ more }) => canDeny(new Set([...denied, ...more])));
      if (best === undefined) break;
      holders.push(best.holder);
      for (const name of best.covered) left.delete(name);
      for (const name of best.more) denied.add(name);
    }
    const users = this.usersOf(left).filter(({ name }) => left.has(name ?? ''));
    for (const { members } of users) {
      const more = [...members].filter((name) => !names.has(name) && !denied.has(name) && !may(name));
      if (canDeny(new Set([...denied, ...more]))) for (const name of more) denied.add(name);
    }
    return { holders, denied, left: users.flatMap(({ name }) => name ?? []) };
  }

  /**
   * Chooses the groups that a policy names, and their exceptions.
   * @param names people to whom it must apply
   * @param isSpared whether a person must be excepted
   * @param losesOnlyYielding whether the policy would take from a person only rights that yield to it: another group may give them
   * @param isForAll whether it may name everyone
   * @returns `left`: users to whom it applies by name; `missed`: people to whom it cannot apply
   */
  coverPolicy(
    names: ReadonlySet<string>,
    isSpared: (name: string) => boolean,
    losesOnlyYielding: (name: string) => boolean,
    isForAll = names.has(this.alone),
  ): { applied: Application[]; left: string[]; missed: string[] } {
    const [left, applied] = [new Set(names), [] as Application[]];
    const spared = new Map<string, boolean>();
    const isOther = (name: string): boolean => !names.has(name) && getOrInsert(spared, name, () => isSpared(name));
    for (;;) {
      const candidates = this.shared.flatMap((holder) => {
        if (holder.kind === 'everyone' && !isForAll) return [];
        if (!this.hasJoiner(holder.members, left)) return [];
        const except = this.exceptionsOf(holder, left, isOther);
        if (except === null) return [];
        const isOpen = [...holder.members].some(
          (name) => isAmong(except, name) && isOther(name) && losesOnlyYielding(name),
        );
        const covered = [...holder.members].filter(
          (name) => left.has(name) && !isAmong(except, name) && !(isOpen && this.isPair.has(name)),
        );
        return covered.some((name) => this.isJoiner.has(name))
          ? [{ holder, except, covered, gain: covered.length - except.length }]
          : [];
      });
      const [best] = candidates.sort((a, b) => b.gain - a.gain);
      if (best === undefined) break;
      applied.push(best);
      for (const name of best.covered) left.delete(name);
    }
    const missed = [...left].filter((name) => this.isJoiner.has(name));
    const plain: string[] = [];
    for (const user of this.usersOf(left)) {
      const [own, except] = [user.name ?? '', this.exceptionsOf(user, left, isOther)];
      const isWhole = except !== null && ![...user.members].some((name) => left.has(name) && isAmong(except, name));
      if (isWhole && except.length > 0) applied.push({ holder: user, except });
      // A restriction by name also holds after leaving a group.
      else if (isWhole || left.has(own)) plain.push(own);
      else missed.push(...[...user.members].filter((name) => left.has(name)));
    }
    return { applied, missed, left: plain };
  }

  private usersOf(names: Iterable<string>): Holder[] {
    return [...new Set([...names].flatMap((name) => this.users.get(name) ?? []))];
  }

  /** Exceptions of a policy for a group; null: some of its members cannot be left out. */
  private exceptionsOf(
    holder: Holder,
    wanted: ReadonlySet<string>,
    isOther: (name: string) => boolean,
  ): Holder[] | null {
    const except: Holder[] = [];
    const others = new Set([...holder.members].filter(isOther));
    const kept = new Set([...holder.members].filter((name) => wanted.has(name)));
    while (others.size > 0) {
      let [best, most] = [null as Holder | null, -Infinity];
      for (const other of [...this.usersOf(others), ...this.groups]) {
        const count = countIn(others, other);
        const gain = count - countIn(kept, other);
        if (other !== holder && count > 0 && gain > most) [best, most] = [other, gain];
      }
      if (best === null || kept.size === 0) return null;
      except.push(best);
      for (const name of best.members) {
        others.delete(name);
        kept.delete(name);
      }
    }
    return except;
  }

  private namesReached({ kind, members }: Holder, left: ReadonlySet<string>): string[] {
    const covered = [...left].filter((name) => members.has(name));
    return kind === 'everyone' ? covered.filter((name) => !this.unknown.has(name)) : covered;
  }

  private hasJoiner(members: ReadonlySet<string>, left: ReadonlySet<string>): boolean {
    return [...left].some((name) => this.isJoiner.has(name) && members.has(name));
  }
}

function isAmong(holders: readonly Holder[], name: string): boolean {
  return holders.some(({ members }) => members.has(name));
}

function countIn(names: ReadonlySet<string>, { members }: Holder): number {
  let count = 0;
  for (const name of names) if (members.has(name)) count += 1;
  return count;
}

/** The users and groups of an import. Groups are created on first use: listed ones with their names, others as `imported-1` and so on. */
export class ImportedPrincipals {
  readonly users: SnapshotUser[];
  readonly groups: SnapshotGroup[] = [];
  /** Ids of the listed groups, by name. */
  readonly ofList = new Map<string, number>();
  /** New names of listed groups whose own names are in use or invalid. */
  readonly renamed = new Map<string, string>();
  private readonly ids: ReadonlyMap<string, number>;
  private readonly numbered = new Map<string, Principal>();
  /** Names of all groups, also of those without grants. */
  private readonly taken: Set<string>;

  constructor(private readonly listed: readonly ListedUser[]) {
    const accounts = new Set(listed.filter(({ isEngine }) => isEngine !== true).map(({ name }) => name));
    this.users = [...accounts].map((name, i) => ({ id: i + 1, name, isActive: true }));
    this.ids = new Map(this.users.map(({ id, name }) => [name, id]));
    this.taken = new Set(listed.flatMap(({ groups }) => groups.map(foldedName)));
  }

  /** The single user, or an additional group of these users. */
  principalOf(names: readonly string[]): Principal {
    const [first, ...others] = names;
    if (first !== undefined && others.length === 0) return this.userPrincipal(first);
    return getOrInsert(this.numbered, JSON.stringify([...names].sort()), () => ({
      type: 'group',
      id: this.createGroup(this.nextName(), names),
    }));
  }

  toPrincipal({ kind, name }: Holder): PolicyPrincipal {
    if (name === null) return { type: 'everyone' };
    if (kind === 'user') return this.userPrincipal(name);
    const id = getOrInsert(this.ofList, name, () => {
      const isFree = !this.groups.some((group) => foldedName(group.name) === foldedName(name));
      const own = isFree && nameProblem(name) === null ? name : this.nextName();
      if (own !== name) this.renamed.set(name, own);
      return this.createGroup(
        own,
        this.listed.filter(({ groups }) => groups.includes(name)).map((user) => user.name),
      );
    });
    return { type: 'group', id };
  }

  userPrincipal(name: string): Principal {
    const id = this.ids.get(name);
    return id === undefined ? { type: 'engine', name } : { type: 'user', id };
  }

  private createGroup(name: string, members: readonly string[]): number {
    const id = this.groups.length + 1;
    const users = members.map((member) => this.userPrincipal(member));
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
