import { grantDetails, policyDetails, sameDetails } from '../../grants/domain/audit-details.js';
import { getOrInsert } from '../../kernel/collections.js';
import { actingTargets } from '../../trino-rules/model/named-others.js';
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
 * The previous snapshot without access that changes took away: grants, memberships, active users and settings that are in both snapshots,
 * and policies that are in either. It gives only access that both give, so it may be published while the candidate is refused.
 */
export function withdrawnSnapshot(previous: Snapshot, explained: Snapshot): Snapshot {
  // A renamed user is left out: the new name had no access before, and the former name has none now.
  const active = new Map(previous.users.flatMap(({ id, name, isActive }) => (isActive ? [[id, name] as const] : [])));
  const groups = new ChangedGroups(previous, explained);
  const nodes = new PrincipalNodes(previous, explained, groups.nextId);
  const grants = joinById(previous.grants, explained.grants).flatMap(([before, after]) =>
    before && after && sameDetails(grantDetails(before), grantDetails(after))
      ? [nodes.rewriteGrant(groups.rewriteGrant(after))]
      : [],
  );
  const denied = policies(previous, explained, groups).flatMap((policy) => nodes.rewritePolicy(policy));
  return {
    users: explained.users.map((user) => ({ ...user, isActive: user.isActive && active.get(user.id) === user.name })),
    groups: [...groups.all(), ...nodes.groups()],
    grants,
    policies: denied.map((policy, i) => ({ ...policy, id: i + 1 })),
    settings: settingsOfBoth(previous.settings, explained.settings),
    at: explained.at,
  };
}

/** Settings that give only what both settings give. */
export function settingsOfBoth(previous: SnapshotSettings, explained: SnapshotSettings): SnapshotSettings {
  const both = (key: 'serviceAccounts' | 'writableCatalogs' | 'readableCatalogs' | 'sessionProperties'): string[] =>
    previous[key].filter((name) => explained[key].includes(name));
  const either = (key: 'externalTableCatalogs' | 'rawColumnCatalogs'): string[] => [
    ...new Set([...previous[key], ...explained[key]]),
  ];
  return {
    ...explained,
    serviceAccounts: [...new Set([...both('serviceAccounts'), explained.ownAccount])],
    writableCatalogs: both('writableCatalogs'),
    readableCatalogs: both('readableCatalogs'),
    sessionProperties: both('sessionProperties'),
    impersonation: previous.impersonation && explained.impersonation,
    readersMaintain: previous.readersMaintain && explained.readersMaintain,
    externalTableCatalogs: either('externalTableCatalogs'),
    rawColumnCatalogs: either('rawColumnCatalogs'),
  };
}

/**
 * Handles groups whose members changed. A grant applies to members in both snapshots, a policy to members in either: policies of each
 * snapshot name a copy of the group with that snapshot's members. If the members of everyone differ, grants to everyone
 * name a group of its common members instead.
 */
class ChangedGroups {
  private readonly changed: PairedGroup[];
  private readonly both: SnapshotGroup[];
  private readonly firstId: number;
  private readonly everyone: SnapshotGroup | null;
  /** An id above those of all groups, including the copies. */
  readonly nextId: number;

  constructor(previous: Snapshot, explained: Snapshot) {
    const paired = pairedGroups(previous, explained);
    this.changed = paired.filter(isChanged);
    this.both = paired.map(({ before, after }) => {
      const [members, engines] = [new Set(after.members), new Set(after.engines)];
      return {
        ...after,
        members: before.members.filter((member) => members.has(member)),
        engines: before.engines.filter((engine) => engines.has(engine)),
      };
    });
    this.firstId = this.both.reduce((highest, { id }) => Math.max(highest, id), 0) + 1;
    const [were, are] = [knownEngines(previous), knownEngines(explained)];
    const engines = were.filter((name) => are.includes(name));
    const id = this.firstId + 2 * this.changed.length;
    const members = explained.users.map((user) => user.id);
    const isSame = engines.length === were.length && engines.length === are.length;
    this.nextId = id + 1;
    this.everyone = isSame ? null : { id, name: 'everyone (before and after)', members, engines };
  }

  all(): SnapshotGroup[] {
    const copies = this.changed.flatMap(({ before, after }, i) => [
      { ...before, id: this.firstId + 2 * i, name: `${before.name} (before)` },
      { ...after, id: this.firstId + 2 * i + 1, name: `${after.name} (after)` },
    ]);
    return [...this.both, ...copies, ...(this.everyone === null ? [] : [this.everyone])];
  }

  rewriteGrant(grant: SnapshotGrant): SnapshotGrant {
    if (grant.principal.type !== 'everyone' || this.everyone === null) return grant;
    return { ...grant, principal: { type: 'group', id: this.everyone.id } };
  }

  /** The policy with its changed groups replaced by their copies. */
  withGroups(policy: SnapshotPolicy, when: 'before' | 'after'): SnapshotPolicy {
    const renamed = <T extends PolicyPrincipal>(subject: T): T => {
      const i = subject.type === 'group' ? this.changed.findIndex(({ before: { id } }) => id === subject.id) : -1;
      return i < 0 ? subject : { ...subject, id: this.firstId + 2 * i + (when === 'before' ? 0 : 1) };
    };
    const { as } = policy.resource;
    const changed = { ...policy, principal: renamed(policy.principal), except: policy.except.map(renamed) };
    return changed.kind === 'deny' && as !== undefined ? { ...changed, resource: { as: renamed(as) } } : changed;
  }
}

interface PairedGroup {
  before: SnapshotGroup;
  after: SnapshotGroup;
}

function pairedGroups(previous: Snapshot, explained: Snapshot): PairedGroup[] {
  return joinById(previous.groups, explained.groups).map(([before, after]) => {
    const empty = { ...(before ?? after), members: [], engines: [] };
    return { before: before ?? empty, after: after ?? empty };
  });
}

function isChanged({ before, after }: PairedGroup): boolean {
  return listing(before) !== listing(after);
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

function listing({ members, engines }: SnapshotGroup): string {
  return JSON.stringify([members, engines]);
}

function policies(previous: Snapshot, explained: Snapshot, groups: ChangedGroups): SnapshotPolicy[] {
  const kept: SnapshotPolicy[] = [];
  const changed: SnapshotPolicy[] = [];
  for (const [before, after] of joinById(previous.policies, explained.policies)) {
    const was = before && groups.withGroups(before, 'before');
    const is = after && groups.withGroups(after, 'after');
    if (was && is && sameDetails(policyDetails(was), policyDetails(is))) kept.push(is);
    else changed.push(...[was, is].flatMap((policy) => policy ?? []));
  }
  const all = [...kept, ...changed];
  return [
    ...all,
    ...changed.flatMap((policy) => hideAmbiguousMask(policy, all)),
    ...all.flatMap((policy) => denyWritingUnderMask(policy, changed)),
  ];
}

/** The privileges that a mask takes and a hidden column does not. */
const CLOSED_BY_MASKS = PRIVILEGES.filter((privilege) => PRIVILEGE_TERMS[privilege].yieldsToMasks);

/**
 * Denies what a mask closes where a changed policy masks or hides the same column: there the withdrawal hides the column, and a hidden column
 * alone would allow that writing.
 */
function denyWritingUnderMask(policy: SnapshotPolicy, changed: readonly SnapshotPolicy[]): SnapshotPolicy[] {
  if (policy.kind !== 'column_mask') return [];
  const { id, principal, except, resource } = policy;
  const { column, ...node } = resource;
  const isAffected = changed.some(
    (other) =>
      other !== policy &&
      (other.kind === 'column_mask' || other.kind === 'hidden_column') &&
      other.resource.column === column &&
      (covers(other.resource, resource) || covers(resource, other.resource)),
  );
  return isAffected ? [{ id, principal, except, kind: 'deny', resource: node, privileges: CLOSED_BY_MASKS }] : [];
}

/**
 * Hides the column of a mask that was added, removed or changed below a wider mask, because it is open which of the two applies. (Two masks
 * at the same distance hide the column anyway.)
 */
function hideAmbiguousMask(policy: SnapshotPolicy, all: readonly SnapshotPolicy[]): SnapshotPolicy[] {
  if (policy.kind !== 'column_mask' || !isBelowAnotherMask(policy, all)) return [];
  const { id, principal, except, resource } = policy;
  return [{ id, principal, except, kind: 'hidden_column', resource }];
}

/** Whether a mask stands below a wider one of the same column that shows something else. */
export function isBelowAnotherMask(policy: SnapshotPolicy, all: readonly SnapshotPolicy[]): boolean {
  return (
    policy.kind === 'column_mask' &&
    all.some(
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
 * Rewrites IMPERSONATE and query nodes, which name principals: a grant keeps the principals that the node means in both snapshots
 * (intersection), a deny on queries those that it means in either (union). Several principals become a group.
 */
class PrincipalNodes {
  private readonly both: readonly Principals[];
  private readonly ids: ReadonlyMap<string, number>;
  private readonly made = new Map<string, SnapshotGroup>();

  /** @param firstId first id of the new groups, above all others */
  constructor(
    previous: Snapshot,
    explained: Snapshot,
    private readonly firstId: number,
  ) {
    this.both = [previous, explained].map((snapshot) => new Principals(snapshot));
    this.ids = new Map(explained.users.map(({ id, name }) => [name, id]));
  }

  rewriteGrant<T extends SnapshotGrant>(grant: T): T {
    const { as, queries } = grant.resource;
    if (as !== undefined)
      return { ...grant, resource: { as: this.group(grant.resource, this.inBoth(as, actingTargets)) } };
    if (queries === undefined) return grant;
    return { ...grant, resource: { queries: this.group(grant.resource, this.inBoth(queries, ownersOf)) } };
  }

  /** A principal that is in one snapshot only gets its own deny, because putting it into a group would make it one of everyone. */
  rewritePolicy(policy: SnapshotPolicy): SnapshotPolicy[] {
    const { queries } = policy.resource;
    if (policy.kind !== 'deny' || queries === undefined) return [policy];
    const either = new Set(this.both.flatMap((principals) => ownersOf(principals, queries).map(({ name }) => name)));
    const both = this.inBoth(queries, ownersOf);
    return [
      { ...policy, resource: { queries: this.group(policy.resource, both) } },
      ...[...either]
        .filter((name) => !both.includes(name))
        .map((name) => ({ ...policy, resource: { queries: this.principal(name) } })),
    ];
  }

  groups(): SnapshotGroup[] {
    return [...this.made.values()];
  }

  private inBoth(
    named: PolicyPrincipal,
    membersOf: (principals: Principals, named: PolicyPrincipal) => Member[],
  ): string[] {
    const [before = [], after = []] = this.both.map((principals) =>
      membersOf(principals, named).map(({ name }) => name),
    );
    const are = new Set(after);
    return before.filter((name) => are.has(name));
  }

  private group(node: Node, names: readonly string[]): PolicyPrincipal {
    const [only, ...others] = names;
    if (only !== undefined && others.length === 0) return this.principal(only);
    const { id } = getOrInsert(this.made, nodeKey(node), () => {
      const next = this.firstId + this.made.size;
      return {
        id: next,
        name: `named (${next})`,
        members: names.flatMap((name) => this.ids.get(name) ?? []),
        engines: names.filter((name) => !this.ids.has(name)),
      };
    });
    return { type: 'group', id };
  }

  /** The principal with a name: a user or, if there is no account, an engine principal. */
  private principal(name: string): Principal {
    const id = this.ids.get(name);
    return id === undefined ? { type: 'engine', name } : { type: 'user', id };
  }
}

function ownersOf(principals: Principals, named: PolicyPrincipal): Member[] {
  return [...principals.owners(named).values()];
}
