import { getOrInsert } from '../../kernel/collections.js';
import type { ListedUser } from '../foreign/audiences.js';
import type { Joiner } from './joiners.js';

/** Everyone, a group of the list, or one user: whom a grant or a policy can name. */
export interface Holder {
  /** Null: everyone. */
  name: string | null;
  kind: 'everyone' | 'group' | 'user';
  /** Users of the list, and joiners. */
  members: ReadonlySet<string>;
}

export interface Application {
  holder: Holder;
  except: readonly Holder[];
}

/**
 * Finds the groups of the list that hold a row of the import, so that whoever joins one has it, too: they stand for what a rule of the
 * file gives a group, or everybody. What a joiner is to have is never left to the names of users.
 */
export class GroupCover {
  /** Groups before everyone. */
  private readonly shared: Holder[];
  private readonly groups: Holder[];
  private readonly isJoiner: ReadonlySet<string>;
  /** Joiners of two groups that nobody of the list has alone. */
  readonly isPair: ReadonlySet<string>;
  /** Who joins no group. */
  private readonly alone: string;
  /** Users, each with itself out of a group. */
  private readonly users: ReadonlyMap<string, Holder>;
  /** Programs without a group: what everyone has does not reach them before they have something of their own. */
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
   * The groups that are to hold a grant.
   * @param names who is to have it
   * @param barred pairs whom no policy could restrict: none of their groups may hold it
   * @param may whether somebody may have it, too
   * @param canDeny whether denies can keep all of these from having it, and take nothing else
   * @returns `denied`: whom a deny is to keep from it; `left`: users to whom it is to be given by name
   */
  ofGrant(
    names: ReadonlySet<string>,
    barred: ReadonlySet<string>,
    may: (name: string) => boolean,
    canDeny: (names: ReadonlySet<string>) => boolean,
  ): { holders: Holder[]; denied: Set<string>; left: string[] } {
    const left = new Set([...names].filter((name) => !this.isPair.has(name)));
    const [holders, denied] = [[] as Holder[], new Set<string>()];
    // Everyone has what the file gives to whom is in no group.
    const isForAll = names.has(this.alone) || may(this.alone);
    const open = this.shared.filter(
      ({ kind, members }) =>
        (kind !== 'everyone' || isForAll) &&
        this.hasJoiner(members, left) &&
        ![...barred].some((name) => members.has(name)),
    );
    for (;;) {
      const candidates = open.flatMap((holder) => {
        const covered = this.reached(holder, left);
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
   * The groups that a policy is to name, and their exceptions.
   * @param names to whom it is to apply
   * @param isSpared whether it may not apply to somebody else
   * @param isBeside whether somebody is spared for other rights than the policy is about: with another group, a pair's could be had
   * @param isForAll whether it may name everyone: who is in no group is among the names, or it takes what everybody has
   * @returns `left`: users to whom it is to apply by name; `missed`: to whom it cannot
   */
  ofPolicy(
    names: ReadonlySet<string>,
    isSpared: (name: string) => boolean,
    isBeside: (name: string) => boolean,
    isForAll = names.has(this.alone),
  ): { applied: Application[]; left: string[]; missed: string[] } {
    const [left, applied] = [new Set(names), [] as Application[]];
    const spared = new Map<string, boolean>();
    const isOther = (name: string): boolean => !names.has(name) && getOrInsert(spared, name, () => isSpared(name));
    for (;;) {
      const candidates = this.shared.flatMap((holder) => {
        if (holder.kind === 'everyone' && !isForAll) return [];
        if (!this.hasJoiner(holder.members, left)) return [];
        const except = this.exceptions(holder, left, isOther);
        if (except === null) return [];
        const isOpen = [...holder.members].some((name) => isAmong(except, name) && isOther(name) && isBeside(name));
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
      const [own, except] = [user.name ?? '', this.exceptions(user, left, isOther)];
      const isWhole = except !== null && ![...user.members].some((name) => left.has(name) && isAmong(except, name));
      if (isWhole && except.length > 0) applied.push({ holder: user, except });
      // Who is restricted by name stays so after leaving a group.
      else if (isWhole || left.has(own)) plain.push(own);
      else missed.push(...[...user.members].filter((name) => left.has(name)));
    }
    return { applied, missed, left: plain };
  }

  private usersOf(names: Iterable<string>): Holder[] {
    return [...new Set([...names].flatMap((name) => this.users.get(name) ?? []))];
  }

  /** Groups and users that an application to a group is to leave out; null: some of its members cannot be. */
  private exceptions(holder: Holder, wanted: ReadonlySet<string>, isOther: (name: string) => boolean): Holder[] | null {
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

  private reached({ kind, members }: Holder, left: ReadonlySet<string>): string[] {
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
