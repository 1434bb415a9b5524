import { grantDetails, policyDetails, equalDetails } from '../../grants/domain/audit-details.js';
import { getOrInsert } from '../../kernel/collections.js';
import { impersonationTargets } from '../../trino-rules/model/named-others.js';
import { covers, depth, type Node, nodeKey } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import { type Member, Principals } from '../../trino-rules/model/principals.js';
import { PRIVILEGE_TERMS, PRIVILEGES } from '../../trino-rules/model/privilege.js';
import type {
  Snapshot,
  SnapshotGrant,
  SnapshotGroup,
  SnapshotPolicy,
  SnapshotSettings,
} from '../../trino-rules/model/snapshot.js';
import { joinById } from './explained-snapshot.js';

/**
 * A snapshot that gives only access that both snapshots give, so that it may be published while new rules are refused. A grant, membership,
 * active user or setting is kept if both snapshots have it; a policy is kept if one of them has it, because policies only take access away.
 */
export function withdrawnSnapshot(previous: Snapshot, explained: Snapshot): Snapshot {
  // A user whose name differs between the two snapshots becomes inactive: neither of the two names has access in both snapshots.
  const nameById = new Map(previous.users.flatMap(({ id, name, isActive }) => (isActive ? [[id, name] as const] : [])));
  const groups = new ChangedGroups(previous, explained);
  const nodes = new PrincipalNodes(previous, explained, groups.nextGroupId);
  const grants = joinById(previous.grants, explained.grants).flatMap(([before, after]) =>
    before && after && equalDetails(grantDetails(before), grantDetails(after))
      ? [nodes.rewriteGrant(groups.rewriteGrant(after))]
      : [],
  );
  const policiesOfBoth = bothPolicies(previous, explained, groups).flatMap((policy) => nodes.rewritePolicy(policy));
  return {
    users: explained.users.map((user) => ({ ...user, isActive: user.isActive && nameById.get(user.id) === user.name })),
    groups: [...groups.allGroups(), ...nodes.groups()],
    grants,
    policies: policiesOfBoth.map((policy, i) => ({ ...policy, id: i + 1 })),
    settings: settingsOfBoth(previous.settings, explained.settings),
    at: explained.at,
  };
}

/** Combines the settings of two snapshots. The result allows only what both settings allow. */
export function settingsOfBoth(previous: SnapshotSettings, explained: SnapshotSettings): SnapshotSettings {
  const inBoth = (key: 'serviceAccounts' | 'writableCatalogs' | 'readableCatalogs' | 'sessionProperties'): string[] =>
    previous[key].filter((name) => explained[key].includes(name));
  const valuesInEither = (key: 'externalTableCatalogs' | 'rawColumnCatalogs'): string[] => [
    ...new Set([...previous[key], ...explained[key]]),
  ];
  return {
    ...explained,
    serviceAccounts: [...new Set([...inBoth('serviceAccounts'), explained.ownAccount])],
    writableCatalogs: inBoth('writableCatalogs'),
    readableCatalogs: inBoth('readableCatalogs'),
    sessionProperties: inBoth('sessionProperties'),
    impersonation: previous.impersonation && explained.impersonation,
    readersMaintain: previous.readersMaintain && explained.readersMaintain,
    externalTableCatalogs: valuesInEither('externalTableCatalogs'),
    rawColumnCatalogs: valuesInEither('rawColumnCatalogs'),
    rulesFile: previous.rulesFile === false ? explained.rulesFile : previous.rulesFile,
  };
}

/**
 * Rewrites grants and policies for groups whose members differ between two snapshots. A grant then applies only to members in both snapshots.
 * A policy applies to the members in its own snapshot.
 */
class ChangedGroups {
  private readonly changedGroupPairs: GroupVersions[];
  private readonly commonGroups: SnapshotGroup[];
  private readonly firstNewId: number;
  private readonly everyoneGroup: SnapshotGroup | null;
  readonly nextGroupId: number;

  constructor(previous: Snapshot, explained: Snapshot) {
    const groupPairs = pairedGroups(previous, explained);
    this.changedGroupPairs = groupPairs.filter(isChanged);
    this.commonGroups = groupPairs.map(({ before, after }) => {
      const [members, engines] = [new Set(after.members), new Set(after.engines)];
      return {
        ...after,
        members: before.members.filter((member) => members.has(member)),
        engines: before.engines.filter((engine) => engines.has(engine)),
      };
    });
    this.firstNewId = this.commonGroups.reduce((maxId, { id }) => Math.max(maxId, id), 0) + 1;
    const [formerEngines, nextEngines] = [knownEngines(previous), knownEngines(explained)];
    const commonEngines = formerEngines.filter((name) => nextEngines.includes(name));
    const id = this.firstNewId + 2 * this.changedGroupPairs.length;
    const members = explained.users.map((user) => user.id);
    const isSame = commonEngines.length === formerEngines.length && commonEngines.length === nextEngines.length;
    this.nextGroupId = id + 1;
    this.everyoneGroup = isSame ? null : { id, name: 'everyone (before and after)', members, engines: commonEngines };
  }

  allGroups(): SnapshotGroup[] {
    const groupCopies = this.changedGroupPairs.flatMap(({ before, after }, i) => [
      { ...before, id: this.firstNewId + 2 * i, name: `${before.name} (before)` },
      { ...after, id: this.firstNewId + 2 * i + 1, name: `${after.name} (after)` },
    ]);
    return [...this.commonGroups, ...groupCopies, ...(this.everyoneGroup === null ? [] : [this.everyoneGroup])];
  }

  rewriteGrant(grant: SnapshotGrant): SnapshotGrant {
    if (grant.principal.type !== 'everyone' || this.everyoneGroup === null) return grant;
    return { ...grant, principal: { type: 'group', id: this.everyoneGroup.id } };
  }

  /** Puts copies of changed groups into a policy. Each copy has the group's members in the snapshot `side`. */
  withGroupCopies(policy: SnapshotPolicy, side: 'before' | 'after'): SnapshotPolicy {
    const withCopy = <T extends PolicyPrincipal>(namedPrincipal: T): T => {
      const i =
        namedPrincipal.type === 'group'
          ? this.changedGroupPairs.findIndex(({ before: { id } }) => id === namedPrincipal.id)
          : -1;
      return i < 0 ? namedPrincipal : { ...namedPrincipal, id: this.firstNewId + 2 * i + (side === 'before' ? 0 : 1) };
    };
    const { as } = policy.resource;
    const copy = { ...policy, principal: withCopy(policy.principal), except: policy.except.map(withCopy) };
    return copy.kind === 'deny' && as !== undefined ? { ...copy, resource: { as: withCopy(as) } } : copy;
  }
}

interface GroupVersions {
  before: SnapshotGroup;
  after: SnapshotGroup;
}

function pairedGroups(previous: Snapshot, explained: Snapshot): GroupVersions[] {
  return joinById(previous.groups, explained.groups).map(([before, after]) => {
    const emptyGroup = { ...(before ?? after), members: [], engines: [] };
    return { before: before ?? emptyGroup, after: after ?? emptyGroup };
  });
}

function isChanged({ before, after }: GroupVersions): boolean {
  return membersKey(before) !== membersKey(after);
}

export function changedGroupIds(previous: Snapshot, explained: Snapshot): Set<number> {
  return new Set(
    pairedGroups(previous, explained)
      .filter(isChanged)
      .map(({ before }) => before.id),
  );
}

function knownEngines(snapshot: Snapshot): string[] {
  const members = [...new Principals(snapshot).members({ type: 'everyone' }).values()];
  return members.flatMap((member) => (member.type === 'engine' ? [member.name] : []));
}

function membersKey({ members, engines }: SnapshotGroup): string {
  return JSON.stringify([members, engines]);
}

function bothPolicies(previous: Snapshot, explained: Snapshot, groups: ChangedGroups): SnapshotPolicy[] {
  const unchangedPolicies: SnapshotPolicy[] = [];
  const changedPolicies: SnapshotPolicy[] = [];
  for (const [before, after] of joinById(previous.policies, explained.policies)) {
    const formerPolicy = before && groups.withGroupCopies(before, 'before');
    const presentPolicy = after && groups.withGroupCopies(after, 'after');
    if (formerPolicy && presentPolicy && equalDetails(policyDetails(formerPolicy), policyDetails(presentPolicy)))
      unchangedPolicies.push(presentPolicy);
    else changedPolicies.push(...[formerPolicy, presentPolicy].flatMap((policy) => policy ?? []));
  }
  const allPolicies = [...unchangedPolicies, ...changedPolicies];
  return [
    ...allPolicies,
    ...changedPolicies.flatMap((policy) => hideAmbiguousMask(policy, allPolicies)),
    ...allPolicies.flatMap((policy) => denyWritingUnderMask(policy, changedPolicies)),
  ];
}

/** The privileges that a mask takes away. A hidden column takes none of them away. */
const CLOSED_BY_MASKS = PRIVILEGES.filter((privilege) => PRIVILEGE_TERMS[privilege].yieldsToMasks);

/** Denies writing where a mask applies, if the withdrawal may hide the column instead. A hidden column does not take writing away. */
function denyWritingUnderMask(policy: SnapshotPolicy, changedPolicies: readonly SnapshotPolicy[]): SnapshotPolicy[] {
  if (policy.kind !== 'column_mask') return [];
  const { id, principal, except, resource } = policy;
  const { column, ...node } = resource;
  const isAffected = changedPolicies.some(
    (other) =>
      other !== policy &&
      (other.kind === 'column_mask' || other.kind === 'hidden_column') &&
      other.resource.column === column &&
      (covers(other.resource, resource) || covers(resource, other.resource)),
  );
  return isAffected ? [{ id, principal, except, kind: 'deny', resource: node, privileges: CLOSED_BY_MASKS }] : [];
}

/** Hides the column of a changed mask if a higher node has another mask of that column, because it is uncertain which mask applies. (Two masks on the same node hide the column anyway.) */
function hideAmbiguousMask(policy: SnapshotPolicy, allPolicies: readonly SnapshotPolicy[]): SnapshotPolicy[] {
  if (policy.kind !== 'column_mask' || !isBelowAnotherMask(policy, allPolicies)) return [];
  const { id, principal, except, resource } = policy;
  return [{ id, principal, except, kind: 'hidden_column', resource }];
}

/** Whether a policy is a mask, and a higher node has a mask of the same column with a different expression. */
export function isBelowAnotherMask(policy: SnapshotPolicy, allPolicies: readonly SnapshotPolicy[]): boolean {
  return (
    policy.kind === 'column_mask' &&
    allPolicies.some(
      (other) =>
        other.kind === 'column_mask' &&
        other.resource.column === policy.resource.column &&
        other.expression !== policy.expression &&
        covers(other.resource, policy.resource) &&
        depth(other.resource) < depth(policy.resource),
    )
  );
}

/**
 * Rewrites nodes that name users (to impersonate, or as owners of queries), so that no access is added. A grant keeps only the users named in
 * both snapshots. A deny keeps all users.
 */
class PrincipalNodes {
  private readonly states: readonly Principals[];
  private readonly userIdByName: ReadonlyMap<string, number>;
  private readonly createdGroups = new Map<string, SnapshotGroup>();

  constructor(
    previous: Snapshot,
    explained: Snapshot,
    private readonly firstGroupId: number,
  ) {
    this.states = [previous, explained].map((snapshot) => new Principals(snapshot));
    this.userIdByName = new Map(explained.users.map(({ id, name }) => [name, id]));
  }

  rewriteGrant<T extends SnapshotGrant>(grant: T): T {
    const { as, queries } = grant.resource;
    if (as !== undefined)
      return { ...grant, resource: { as: this.groupOf(grant.resource, this.namesInBoth(as, impersonationTargets)) } };
    if (queries === undefined) return grant;
    return { ...grant, resource: { queries: this.groupOf(grant.resource, this.namesInBoth(queries, ownersOf)) } };
  }

  /** Splits a deny on queries: one deny for the query owners in both snapshots, and one for each other owner. */
  rewritePolicy(policy: SnapshotPolicy): SnapshotPolicy[] {
    const { queries } = policy.resource;
    if (policy.kind !== 'deny' || queries === undefined) return [policy];
    const owners = new Set(this.states.flatMap((principals) => ownersOf(principals, queries).map(({ name }) => name)));
    const ownersInBoth = this.namesInBoth(queries, ownersOf);
    return [
      { ...policy, resource: { queries: this.groupOf(policy.resource, ownersInBoth) } },
      ...[...owners]
        .filter((name) => !ownersInBoth.includes(name))
        .map((name) => ({ ...policy, resource: { queries: this.principalNamed(name) } })),
    ];
  }

  groups(): SnapshotGroup[] {
    return [...this.createdGroups.values()];
  }

  private namesInBoth(
    principal: PolicyPrincipal,
    membersOf: (principals: Principals, principal: PolicyPrincipal) => Member[],
  ): string[] {
    const [before = [], after = []] = this.states.map((principals) =>
      membersOf(principals, principal).map(({ name }) => name),
    );
    const afterNames = new Set(after);
    return before.filter((name) => afterNames.has(name));
  }

  private groupOf(node: Node, names: readonly string[]): PolicyPrincipal {
    const [only, ...others] = names;
    if (only !== undefined && others.length === 0) return this.principalNamed(only);
    const { id } = getOrInsert(this.createdGroups, nodeKey(node), () => {
      const nextId = this.firstGroupId + this.createdGroups.size;
      return {
        id: nextId,
        name: `named (${nextId})`,
        members: names.flatMap((name) => this.userIdByName.get(name) ?? []),
        engines: names.filter((name) => !this.userIdByName.has(name)),
      };
    });
    return { type: 'group', id };
  }

  /** The principal with a name: a user or, if there is no account, an engine principal. */
  private principalNamed(name: string): Principal {
    const id = this.userIdByName.get(name);
    return id === undefined ? { type: 'engine', name } : { type: 'user', id };
  }
}

function ownersOf(principals: Principals, namedPrincipal: PolicyPrincipal): Member[] {
  return [...principals.owners(namedPrincipal).values()];
}
