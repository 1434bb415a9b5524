import { getOrInsert } from '../../kernel/collections.js';
import { foldedName, nameProblem } from '../../kernel/name.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import type { SnapshotGroup, SnapshotUser } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import type { Joiner } from './joiners.js';

/** A principal to which a grant or a policy can apply: everyone, a listed group, or one user. */
interface Grantee {
  /** Name of the group or the user; null: everyone. */
  name: string | null;
  kind: 'everyone' | 'group' | 'user';
  /** Names of all users in the principal: listed users and hypothetical ones (`Joiner`). */
  members: ReadonlySet<string>;
}

interface PolicyUse {
  grantee: Grantee;
  except: readonly Grantee[];
}

/** Chooses the principals of each imported grant or policy: groups or everyone where possible, otherwise single users. */
export class GroupCover {
  private readonly groupsAndEveryone: Grantee[];
  private readonly groups: Grantee[];
  private readonly joinerNames: ReadonlySet<string>;
  /** Hypothetical users in a combination of groups that no listed user has. */
  readonly unlistedJoiners: ReadonlySet<string>;
  /** Name of the hypothetical user who is in no group. */
  private readonly ungroupedJoiner: string;
  /** Listed users by name. The name of a hypothetical copy (`Joiner`) leads to the listed user. */
  private readonly userByName: ReadonlyMap<string, Grantee>;
  /** Programs without a group. A grant to everyone includes them only if they also have a grant of their own. */
  private readonly ungroupedPrograms: ReadonlySet<string>;

  constructor(listedUsers: readonly ListedUser[], joiners: readonly Joiner[]) {
    const groupNames = new Set(joiners.flatMap(({ groups }) => groups));
    const membersByGroup = new Map<string, Set<string>>([...groupNames].map((group) => [group, new Set()]));
    const allUsers = [...listedUsers, ...joiners];
    for (const { name, groups } of allUsers) for (const group of groups) membersByGroup.get(group)?.add(name);
    this.groups = [...membersByGroup].map(([name, members]) => ({ kind: 'group', name, members }));
    const everyone: Grantee = { kind: 'everyone', name: null, members: new Set(allUsers.map(({ name }) => name)) };
    this.groupsAndEveryone = [...this.groups, everyone];
    this.joinerNames = new Set(joiners.filter(({ realName }) => realName === undefined).map(({ name }) => name));
    this.unlistedJoiners = new Set(joiners.filter(({ isUnlisted }) => isUnlisted).map(({ name }) => name));
    this.ungroupedJoiner =
      joiners.find(({ groups, realName }) => groups.length === 0 && realName === undefined)?.name ?? '';
    const namesByUser = new Map<string, Set<string>>();
    for (const { name, realName = name } of allUsers)
      if (!this.joinerNames.has(name)) getOrInsert(namesByUser, realName, () => new Set<string>()).add(name);
    const users = [...namesByUser].map(([name, members]): Grantee => ({ kind: 'user', name, members }));
    this.userByName = new Map(users.flatMap((user) => [...user.members].map((name) => [name, user])));
    const isUngroupedProgram = ({ groups, isEngine }: ListedUser): boolean =>
      isEngine === true && !groups.some((group) => groupNames.has(group));
    this.ungroupedPrograms = new Set(listedUsers.filter(isUngroupedProgram).map(({ name }) => name));
  }

  /**
   * Chooses the groups that get a grant. Everyone counts as a group.
   * @param holders people who must get the grant
   * @param barredJoiners hypothetical users (`Joiner`) whose groups are not chosen
   * @param canDeny whether denies can take away this grant alone from these people
   * @returns `denied`: people from whom denies must take the grant; `uncoveredNames`: users who need a grant of their own
   */
  coverGrant(
    holders: ReadonlySet<string>,
    barredJoiners: ReadonlySet<string>,
    mayHave: (name: string) => boolean,
    canDeny: (names: ReadonlySet<string>) => boolean,
  ): { grantees: Grantee[]; denied: Set<string>; uncoveredNames: string[] } {
    const uncoveredNames = new Set([...holders].filter((name) => !this.unlistedJoiners.has(name)));
    const [grantees, denied] = [[] as Grantee[], new Set<string>()];
    // A grant to everyone also applies to people without a group. `ungroupedJoiner` (a made-up user) stands for them.
    const mayCoverEveryone = holders.has(this.ungroupedJoiner) || mayHave(this.ungroupedJoiner);
    const eligibleGrantees = this.groupsAndEveryone.filter(
      ({ kind, members }) =>
        (kind !== 'everyone' || mayCoverEveryone) &&
        this.hasHypotheticalUser(members, uncoveredNames) &&
        ![...barredJoiners].some((name) => members.has(name)),
    );
    for (;;) {
      const candidates = eligibleGrantees.flatMap((grantee) => {
        const coveredNames = this.namesReachedBy(grantee, uncoveredNames);
        if (!coveredNames.some((name) => this.joinerNames.has(name))) return [];
        const excess = [...grantee.members].filter((name) => !holders.has(name) && !denied.has(name) && !mayHave(name));
        return [{ grantee, covered: coveredNames, excess, gain: coveredNames.length - excess.length }];
      });
      candidates.sort((a, b) => b.gain - a.gain);
      const bestCandidate = candidates.find(({ excess }) => canDeny(new Set([...denied, ...excess])));
      if (bestCandidate === undefined) break;
      grantees.push(bestCandidate.grantee);
      for (const name of bestCandidate.covered) uncoveredNames.delete(name);
      for (const name of bestCandidate.excess) denied.add(name);
    }
    const users = this.usersOf(uncoveredNames).filter(({ name }) => uncoveredNames.has(name ?? ''));
    for (const { members } of users) {
      const excess = [...members].filter((name) => !holders.has(name) && !denied.has(name) && !mayHave(name));
      if (canDeny(new Set([...denied, ...excess]))) for (const name of excess) denied.add(name);
    }
    return { grantees, denied, uncoveredNames: users.flatMap(({ name }) => name ?? []) };
  }

  /**
   * Chooses the principals that a policy names, and their exceptions.
   * @param targetNames people to whom the policy must apply
   * @param isExcepted whether a person must be excepted
   * @param lacksDeniedRights whether a person has none of the rights that the policy takes away
   * @returns `uncoveredNames`: users whom the policy must name one by one; `unreachedNames`: people to whom the policy cannot apply
   */
  coverPolicy(
    targetNames: ReadonlySet<string>,
    isExcepted: (name: string) => boolean,
    lacksDeniedRights: (name: string) => boolean,
    mayNameEveryone = targetNames.has(this.ungroupedJoiner),
  ): { policyUses: PolicyUse[]; uncoveredNames: string[]; unreachedNames: string[] } {
    const [uncoveredNames, policyUses] = [new Set(targetNames), [] as PolicyUse[]];
    const exceptedFlagByName = new Map<string, boolean>();
    const mustBeExcepted = (name: string): boolean =>
      !targetNames.has(name) && getOrInsert(exceptedFlagByName, name, () => isExcepted(name));
    for (;;) {
      const candidates = this.groupsAndEveryone.flatMap((grantee) => {
        if (grantee.kind === 'everyone' && !mayNameEveryone) return [];
        if (!this.hasHypotheticalUser(grantee.members, uncoveredNames)) return [];
        const except = this.exceptionsOf(grantee, uncoveredNames, mustBeExcepted);
        if (except === null) return [];
        const leavesUnlistedUncovered = [...grantee.members].some(
          (name) => isMemberOfAny(except, name) && mustBeExcepted(name) && lacksDeniedRights(name),
        );
        const coveredNames = [...grantee.members].filter(
          (name) =>
            uncoveredNames.has(name) &&
            !isMemberOfAny(except, name) &&
            !(leavesUnlistedUncovered && this.unlistedJoiners.has(name)),
        );
        return coveredNames.some((name) => this.joinerNames.has(name))
          ? [{ grantee, except, covered: coveredNames, gain: coveredNames.length - except.length }]
          : [];
      });
      const [best] = candidates.sort((a, b) => b.gain - a.gain);
      if (best === undefined) break;
      policyUses.push(best);
      for (const name of best.covered) uncoveredNames.delete(name);
    }
    const unreachedNames = [...uncoveredNames].filter((name) => this.joinerNames.has(name));
    const namedUsers: string[] = [];
    for (const user of this.usersOf(uncoveredNames)) {
      const [ownName, except] = [user.name ?? '', this.exceptionsOf(user, uncoveredNames, mustBeExcepted)];
      const isFullyCovered =
        except !== null && ![...user.members].some((name) => uncoveredNames.has(name) && isMemberOfAny(except, name));
      if (isFullyCovered && except.length > 0) policyUses.push({ grantee: user, except });
      else if (isFullyCovered || uncoveredNames.has(ownName)) namedUsers.push(ownName);
      else unreachedNames.push(...[...user.members].filter((name) => uncoveredNames.has(name)));
    }
    return { policyUses, unreachedNames, uncoveredNames: namedUsers };
  }

  private usersOf(names: Iterable<string>): Grantee[] {
    return [...new Set([...names].flatMap((name) => this.userByName.get(name) ?? []))];
  }

  /** Users and groups to except from `grantee`. Null: no useful exceptions were found. */
  private exceptionsOf(
    grantee: Grantee,
    targetNames: ReadonlySet<string>,
    mustBeExcepted: (name: string) => boolean,
  ): Grantee[] | null {
    const except: Grantee[] = [];
    const namesToExcept = new Set([...grantee.members].filter(mustBeExcepted));
    const namesToReach = new Set([...grantee.members].filter((name) => targetNames.has(name)));
    while (namesToExcept.size > 0) {
      let [best, bestGain] = [null as Grantee | null, -Infinity];
      for (const candidate of [...this.usersOf(namesToExcept), ...this.groups]) {
        const exceptedCount = countIn(namesToExcept, candidate);
        const gain = exceptedCount - countIn(namesToReach, candidate);
        if (candidate !== grantee && exceptedCount > 0 && gain > bestGain) [best, bestGain] = [candidate, gain];
      }
      if (best === null || namesToReach.size === 0) return null;
      except.push(best);
      for (const name of best.members) {
        namesToExcept.delete(name);
        namesToReach.delete(name);
      }
    }
    return except;
  }

  private namesReachedBy({ kind, members }: Grantee, uncoveredNames: ReadonlySet<string>): string[] {
    const coveredNames = [...uncoveredNames].filter((name) => members.has(name));
    return kind === 'everyone' ? coveredNames.filter((name) => !this.ungroupedPrograms.has(name)) : coveredNames;
  }

  private hasHypotheticalUser(members: ReadonlySet<string>, uncoveredNames: ReadonlySet<string>): boolean {
    return [...uncoveredNames].some((name) => this.joinerNames.has(name) && members.has(name));
  }
}

function isMemberOfAny(grantees: readonly Grantee[], name: string): boolean {
  return grantees.some(({ members }) => members.has(name));
}

function countIn(names: ReadonlySet<string>, { members }: Grantee): number {
  let count = 0;
  for (const name of names) if (members.has(name)) count += 1;
  return count;
}

/** The users and groups of an import. Groups are created on first use: listed ones with their names, others as `imported-1` and so on. */
export class ImportedPrincipals {
  readonly users: SnapshotUser[];
  readonly groups: SnapshotGroup[] = [];
  readonly groupIds = new Map<string, number>();
  readonly renamedGroups = new Map<string, string>();
  private readonly userIds: ReadonlyMap<string, number>;
  private readonly addedGroups = new Map<string, Principal>();
  /** Names of all groups, also of those without grants. */
  private readonly takenNames: Set<string>;

  constructor(private readonly listedUsers: readonly ListedUser[]) {
    const accountNames = new Set(listedUsers.filter(({ isEngine }) => isEngine !== true).map(({ name }) => name));
    this.users = [...accountNames].map((name, i) => ({ id: i + 1, name, isActive: true }));
    this.userIds = new Map(this.users.map(({ id, name }) => [name, id]));
    this.takenNames = new Set(listedUsers.flatMap(({ groups }) => groups.map(foldedName)));
  }

  /** The principal for users with these names: the single user, or an additional group. */
  principalOf(names: readonly string[]): Principal {
    const [firstName, ...otherNames] = names;
    if (firstName !== undefined && otherNames.length === 0) return this.userPrincipal(firstName);
    return getOrInsert(this.addedGroups, JSON.stringify([...names].sort()), () => ({
      type: 'group',
      id: this.createGroup(this.newGroupName(), names),
    }));
  }

  toPrincipal({ kind, name }: Grantee): PolicyPrincipal {
    if (name === null) return { type: 'everyone' };
    if (kind === 'user') return this.userPrincipal(name);
    const id = getOrInsert(this.groupIds, name, () => {
      const isNameFree = !this.groups.some((group) => foldedName(group.name) === foldedName(name));
      const newName = isNameFree && nameProblem(name) === null ? name : this.newGroupName();
      if (newName !== name) this.renamedGroups.set(name, newName);
      return this.createGroup(
        newName,
        this.listedUsers.filter(({ groups }) => groups.includes(name)).map((user) => user.name),
      );
    });
    return { type: 'group', id };
  }

  userPrincipal(name: string): Principal {
    const id = this.userIds.get(name);
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

  private newGroupName(): string {
    let groupNumber = 1;
    while (this.takenNames.has(`imported-${groupNumber}`)) groupNumber += 1;
    this.takenNames.add(`imported-${groupNumber}`);
    return `imported-${groupNumber}`;
  }
}
