import { grantDetails, policyDetails, sameDetails } from '../../grants/domain/audit-details.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import { accessOf } from '../../trino-rules/model/intent.js';
import { covers } from '../../trino-rules/model/principal-matching.js';
import type { PolicySubject } from '../../trino-rules/model/principal.js';
import type { Resource } from '../../trino-rules/model/resource.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import { joinById } from './join-by-id.js';

/** People and engine principals who lose something on a node, as the engine knows them. */
export interface Taking {
  resource: Resource;
  names: readonly string[];
}

export interface Takings {
  nodes: Taking[];
  /** Those of them to whom nothing is left anywhere. */
  everything: string[];
}

/**
 * Whom the explained snapshot takes something from, and where, against the previous one. It may name too many, never too few: a
 * policy that reaches somebody anew takes the whole node.
 */
export function takings(previous: Snapshot, explained: Snapshot): Takings {
  const [before, after] = [new Principals(previous), new Principals(explained)];
  const given = joinById(previous.grants, effective(explained).grants);
  const kept = given.flatMap(([was, is]): Kept[] => {
    if (was === undefined || is === undefined || !sameDetails(grantDetails(was), grantDetails(is))) return [];
    const are = after.of(is.principal);
    return [{ grant: is, names: new Set([...before.of(was.principal)].filter((name) => are.has(name))) }];
  });
  const keptById = new Map(kept.map((each) => [each.grant.id, each.names]));
  const granted = given.flatMap(([was]): Taking[] => {
    if (was === undefined) return [];
    const names = keptById.get(was.id) ?? NOBODY;
    const lost = [...before.of(was.principal)].filter((name) => !names.has(name));
    if (lost.length === 0) return [];
    const others = kept.filter(({ grant }) => includes(grant, was));
    return [{ resource: was.resource, names: lost.filter((name) => !others.some(({ names }) => names.has(name))) }];
  });
  const restricted = joinById(previous.policies, explained.policies).flatMap(([was, is]): Taking[] => {
    if (is === undefined) return [];
    const known = was !== undefined && sameDetails(policyDetails(was), policyDetails(is)) ? before.under(was) : NOBODY;
    return [{ resource: node(is.resource), names: [...after.under(is)].filter((name) => !known.has(name)) }];
  });
  // Where a mask no longer applies, the next wider one does, which may show less.
  const unmasked = joinById(previous.policies, explained.policies).flatMap(([was, is]): Taking[] => {
    if (was?.kind !== 'column_mask') return [];
    const still = is !== undefined && sameDetails(policyDetails(was), policyDetails(is)) ? after.under(is) : NOBODY;
    const wider = explained.policies.filter(
      (policy) =>
        policy.kind === 'column_mask' &&
        policy.resource.column === was.resource.column &&
        covers(policy.resource, was.resource),
    );
    const masked = new Set(wider.flatMap((policy) => [...after.under(policy)]));
    const names = [...before.under(was)].filter((name) => !still.has(name) && masked.has(name));
    return [{ resource: node(was.resource), names }];
  });
  const nodes = merged([...granted, ...restricted, ...unmasked]);
  const held = heldBy(nodes, kept, [...previous.policies.map(under(before)), ...explained.policies.map(under(after))]);
  const catalogs = nodes.map(({ resource: { catalog }, names }) => ({
    resource: { catalog },
    names: names.filter((name) => held.get(name)?.has(catalog) !== true),
  }));
  return {
    nodes: merged([...nodes, ...catalogs]),
    everything: [...held].flatMap(([name, left]) => (left.size === 0 ? [name] : [])).sort(),
  };
}

/** The catalogs in which something is left to those who lose something: of a grant outside the nodes, less the denies there. */
function heldBy(nodes: readonly Taking[], kept: readonly Kept[], policies: readonly Applied[]): Held {
  const held: Held = new Map(nodes.flatMap(({ names }) => names.map((name) => [name, new Set()])));
  for (const { grant, names } of kept) {
    const closed = nodes.filter((taking) => covers(taking.resource, grant.resource));
    const gone = new Set(closed.flatMap((taking) => taking.names));
    const denies = policies.filter(({ policy }) => policy.kind === 'deny' && covers(policy.resource, grant.resource));
    for (const name of names) {
      const left = held.get(name);
      if (left === undefined || gone.has(name)) continue;
      const applied = denies.flatMap(({ policy, names }) => (names.has(name) ? [policy] : []));
      if (accessOf(grant.privileges, applied).privileges.length > 0) left.add(grant.resource.catalog);
    }
  }
  return held;
}

/** A grant of both snapshots, and those whom it reaches in both. */
interface Kept {
  grant: SnapshotGrant;
  names: ReadonlySet<string>;
}

type Held = Map<string, Set<string>>;

interface Applied {
  policy: SnapshotPolicy;
  names: ReadonlySet<string>;
}

function under(principals: Principals): (policy: SnapshotPolicy) => Applied {
  return (policy) => ({ policy, names: principals.under(policy) });
}

/** Whether a grant gives all that the other one gives. */
function includes(grant: SnapshotGrant, { resource, privileges }: SnapshotGrant): boolean {
  return covers(grant.resource, resource) && privileges.every((privilege) => grant.privileges.includes(privilege));
}

function node({ catalog, schema, table }: Resource): Resource {
  return { catalog, ...(schema !== undefined && { schema }), ...(table !== undefined && { table }) };
}

function merged(takings: readonly Taking[]): Taking[] {
  const byNode = new Map<string, { resource: Resource; names: Set<string> }>();
  for (const { resource, names } of takings) {
    const key = JSON.stringify([resource.catalog, resource.schema, resource.table]);
    const known = byNode.get(key) ?? { resource: node(resource), names: new Set() };
    for (const name of names) known.names.add(name);
    byNode.set(key, known);
  }
  const some = [...byNode.values()].filter(({ names }) => names.size > 0);
  return some.map(({ resource, names }) => ({ resource, names: [...names].sort() }));
}

const NOBODY: ReadonlySet<string> = new Set();

/** The active people and engine principals that a snapshot's subjects resolve to. */
class Principals {
  private readonly users: Map<number, string>;
  private readonly groups: Map<number, ReadonlySet<string>>;
  private readonly everyone: ReadonlySet<string>;

  constructor({ users, groups, grants, policies }: Snapshot) {
    this.users = new Map(users.flatMap(({ id, name, isActive }) => (isActive ? [[id, name] as const] : [])));
    this.groups = new Map(
      groups.map(({ id, members }) => [id, new Set(members.flatMap((member) => this.users.get(member) ?? []))]),
    );
    const engines = [...grants, ...policies].flatMap(({ principal }) =>
      principal.type === 'engine' ? [principal.name] : [],
    );
    this.everyone = new Set([...this.users.values(), ...engines]);
  }

  of(subject: PolicySubject): ReadonlySet<string> {
    switch (subject.type) {
      case 'everyone':
        return this.everyone;
      case 'engine':
        return new Set([subject.name]);
      case 'group':
        return this.groups.get(subject.id) ?? NOBODY;
      case 'user': {
        const name = this.users.get(subject.id);
        return name === undefined ? NOBODY : new Set([name]);
      }
    }
  }

  under({ principal, except }: SnapshotPolicy): ReadonlySet<string> {
    const excepted = except.map((subject) => this.of(subject));
    return new Set([...this.of(principal)].filter((name) => !excepted.some((names) => names.has(name))));
  }
}
