import type { PolicyPrincipal, Subject } from '../model/principal.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';
import { Bitset } from './bitset.js';
import { hasEffect, isClosed } from './engine-terms.js';
import { getOrInsert } from './get-or-insert.js';

/** The principals of a snapshot, numbered; what a grant or a policy names is a set of these numbers. */
export interface PrincipalIndex {
  /** Sorted by kind, then by name; a position is the bit in every set. */
  subjects: readonly Subject[];
  none: Bitset;
  /** Service accounts among them. */
  everybody: Bitset;
  serviceAccounts: Bitset;
  /** People who are active. */
  activePeople: Bitset;
  /** Members of what a grant or a policy names: active people and engine principals, never a service account. */
  resolvePrincipal(named: PolicyPrincipal): Bitset;
  /** Whose queries a node names: also of deactivated people, because what they run goes on. */
  resolveOwners(named: PolicyPrincipal): Bitset;
  /** Members of a policy's principal, without its exceptions. */
  resolvePolicy(policy: SnapshotPolicy): Bitset;
  namesOf: (people: Bitset) => string[];
  /** Of positions; one object for each single principal, who may have an outcome of their own on each of many nodes. */
  setOf: (positions: readonly number[]) => Bitset;
}

/** Numbers all principals. */
export function indexPrincipals(snapshot: Snapshot): PrincipalIndex {
  const subjects = listSubjects(snapshot);
  const positions = (pick: (subject: Subject) => boolean) =>
    Bitset.of(
      subjects.length,
      subjects.flatMap((subject, i) => (pick(subject) ? [i] : [])),
    );
  const none = positions(() => false);
  const everybody = positions(() => true);
  const serviceAccounts = positions(({ kind }) => kind === 'service-account');
  const activePeople = positions((subject) => subject.kind === 'person' && subject.isActive);
  const known = knownEngineNames(snapshot);
  const everyone = activePeople.or(positions(({ kind, name }) => kind === 'engine' && known.has(name)));

  const byUser = new Map(
    subjects.flatMap((subject, i) => (subject.kind === 'person' ? [[subject.userId, i] as const] : [])),
  );
  const byEngineName = new Map(
    subjects.flatMap(({ kind, name }, i) => (kind === 'engine' ? [[name, i] as const] : [])),
  );
  const accounts = (ids: readonly number[]) =>
    Bitset.of(
      subjects.length,
      ids.flatMap((id) => byUser.get(id) ?? []),
    );
  const people = (ids: readonly number[]) => accounts(ids).and(activePeople);
  const engines = (names: readonly string[]) =>
    Bitset.of(
      subjects.length,
      names.flatMap((name) => byEngineName.get(name) ?? []),
    );
  const byGroup = new Map(
    snapshot.groups.map((group) => {
      const active = people(group.members);
      return [group.id, group.engines.length === 0 ? active : active.or(engines(group.engines))] as const;
    }),
  );

  const resolvePrincipal = (named: PolicyPrincipal): Bitset => {
    switch (named.type) {
      case 'everyone':
        return everyone;
      case 'user':
        return people([named.id]);
      case 'group':
        return byGroup.get(named.id) ?? none;
      case 'engine': {
        const position = byEngineName.get(named.name);
        return position === undefined ? none : Bitset.of(subjects.length, [position]);
      }
    }
  };
  const groups = new Map(snapshot.groups.map(({ id, members }) => [id, members]));
  const resolveOwners = (named: PolicyPrincipal): Bitset => {
    const active = resolvePrincipal(named);
    if (named.type === 'everyone') return active.or(positions(({ kind }) => kind === 'person'));
    if (named.type === 'engine') return active;
    return active.or(accounts(named.type === 'user' ? [named.id] : (groups.get(named.id) ?? [])));
  };
  // Exceptions may be thousands of single people: one set of them, and not one for each.
  const resolvePolicy = ({ principal, except }: SnapshotPolicy): Bitset => {
    const ids: number[] = [];
    for (const excepted of except) if (excepted.type === 'user') ids.push(excepted.id);
    const others = new Set(except.filter(({ type }) => type !== 'user').map(resolvePrincipal));
    return [people(ids), ...others].reduce((rest, excepted) => rest.minus(excepted), resolvePrincipal(principal));
  };
  const namesOf = (people: Bitset) => people.members().flatMap((position) => subjects[position]?.name ?? []);
  const singles = new Map<number, Bitset>();
  const setOf = (some: readonly number[]): Bitset => {
    const make = () => Bitset.of(subjects.length, some);
    const [only] = some;
    return only !== undefined && some.length === 1 ? getOrInsert(singles, only, make) : make();
  };
  return {
    ...{ subjects, none, everybody, serviceAccounts, activePeople },
    ...{ resolvePrincipal, resolveOwners, resolvePolicy, namesOf, setOf },
  };
}

/** Engine principals that a grant with effect names or that are in a group: being named by a policy makes nobody known. */
function knownEngineNames(snapshot: Snapshot): Set<string> {
  const { grants, groups, settings, at } = snapshot;
  const live = grants.filter(
    (grant) => hasEffect(grant, at) && !isClosed(grant.resource, settings) && isOfSomebody(grant, snapshot),
  );
  const granted = live.flatMap(({ principal }) => (principal.type === 'engine' ? [principal.name] : []));
  return new Set([...granted, ...groups.flatMap(({ engines }) => engines)]);
}

/** Whether a grant of acting as others, or on queries, names a row or an engine principal; one that does not has no effect at all. */
export function isOfSomebody({ resource }: SnapshotGrant, { users, groups, settings }: Snapshot): boolean {
  const named = resource.as ?? resource.queries;
  if (named === undefined || named.type === 'everyone') return true;
  if (named.type === 'engine') return !settings.serviceAccounts.includes(named.name);
  return (named.type === 'user' ? users : groups).some(({ id }) => id === named.id);
}

function listSubjects({ users, groups, grants, policies, settings }: Snapshot): Subject[] {
  const serviceAccounts = new Set(settings.serviceAccounts);
  const engines = new Set(groups.flatMap((group) => group.engines));
  const note = (principal: PolicyPrincipal): void => {
    if (principal.type === 'engine') engines.add(principal.name);
  };
  for (const { principal, resource } of [...grants, ...policies]) {
    note(principal);
    if (resource.queries !== undefined) note(resource.queries);
  }
  for (const { except } of policies) except.forEach(note);
  const known: KnownSubject[] = [
    ...users.map(({ id, name, isActive }) => ({ kind: 'person', name, userId: id, isActive }) as const),
    ...[...engines].filter((name) => !serviceAccounts.has(name)).map((name) => ({ kind: 'engine', name }) as const),
    ...[...serviceAccounts].map((name) => ({ kind: 'service-account', name }) as const),
  ];
  known.sort((a, b) => ORDER[a.kind] - ORDER[b.kind] || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return known;
}

type KnownSubject = Exclude<Subject, { kind: 'stranger' }>;

const ORDER: Record<KnownSubject['kind'], number> = { person: 0, engine: 1, 'service-account': 2 };
