import type { PolicyPrincipal, Subject } from '../model/principal.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';
import { hasEffect, isClosed } from './engine-terms.js';

/** The numbered principals of a snapshot. Principals of grants and policies resolve to sets of these numbers. */
export interface PrincipalIndex {
  /** Sorted by kind, then by name; a position is the bit in every set. */
  subjects: readonly Subject[];
  none: Bitset;
  /** All principals, also service accounts. */
  everybody: Bitset;
  serviceAccounts: Bitset;
  activePeople: Bitset;
  /** Members of a principal: active people and engine principals, never a service account. */
  resolvePrincipal(named: PolicyPrincipal): Bitset;
  /** Owners of queries: also deactivated people, because their running queries continue. */
  resolveOwners(named: PolicyPrincipal): Bitset;
  resolvePolicy(policy: SnapshotPolicy): Bitset;
  namesOf: (people: Bitset) => string[];
  /** The set of these positions; a single one always gives the same object, because it may be asked for on many nodes. */
  setOf: (positions: readonly number[]) => Bitset;
}

export function indexPrincipals(snapshot: Snapshot): PrincipalIndex {
  const subjects = listSubjects(snapshot);
  const singles = new Map<number, Bitset>();
  const setOf = (positions: readonly number[]): Bitset => {
    const make = () => Bitset.of(subjects.length, positions);
    const [only] = positions;
    return only !== undefined && positions.length === 1 ? getOrInsert(singles, only, make) : make();
  };
  const where = (pick: (subject: Subject) => boolean) =>
    setOf(subjects.flatMap((subject, position) => (pick(subject) ? [position] : [])));
  const none = setOf([]);
  const everybody = where(() => true);
  const activePeople = where((subject) => subject.kind === 'person' && subject.isActive);
  const known = knownEngineNames(snapshot);
  const everyone = activePeople.or(where(({ kind, name }) => kind === 'engine' && known.has(name)));

  const byUser = new Map<number, number>();
  const byEngineName = new Map<string, number>();
  for (const [position, subject] of subjects.entries()) {
    if (subject.kind === 'person') byUser.set(subject.userId, position);
    if (subject.kind === 'engine') byEngineName.set(subject.name, position);
  }
  const accounts = (ids: readonly number[]) => setOf(ids.flatMap((id) => byUser.get(id) ?? []));
  const people = (ids: readonly number[]) => accounts(ids).and(activePeople);
  const engines = (names: readonly string[]) => setOf(names.flatMap((name) => byEngineName.get(name) ?? []));
  const groups = new Map(snapshot.groups.map(({ id, members }) => [id, members]));
  const byGroup = new Map(snapshot.groups.map((group) => [group.id, people(group.members).or(engines(group.engines))]));

  const resolvePrincipal = (named: PolicyPrincipal): Bitset => {
    switch (named.type) {
      case 'everyone':
        return everyone;
      case 'user':
        return people([named.id]);
      case 'group':
        return byGroup.get(named.id) ?? none;
      case 'engine':
        return engines([named.name]);
    }
  };
  const resolveOwners = (named: PolicyPrincipal): Bitset => {
    const active = resolvePrincipal(named);
    if (named.type === 'everyone') return active.or(where(({ kind }) => kind === 'person'));
    if (named.type === 'engine') return active;
    return active.or(accounts(named.type === 'user' ? [named.id] : (groups.get(named.id) ?? [])));
  };
  // Exceptions may be thousands of single people, so they become one set, and not one set each.
  const resolvePolicy = ({ principal, except }: SnapshotPolicy): Bitset => {
    const ids = except.flatMap((excepted) => (excepted.type === 'user' ? [excepted.id] : []));
    const others = new Set(except.filter(({ type }) => type !== 'user').map(resolvePrincipal));
    return [people(ids), ...others].reduce((rest, excepted) => rest.minus(excepted), resolvePrincipal(principal));
  };
  return {
    ...{ subjects, none, everybody, activePeople },
    serviceAccounts: where(({ kind }) => kind === 'service-account'),
    ...{ resolvePrincipal, resolveOwners, resolvePolicy, setOf },
    namesOf: (set) => set.members().flatMap((position) => subjects[position]?.name ?? []),
  };
}

/** Engine principals that have a grant with effect or are in a group. A policy does not make an engine principal known. */
function knownEngineNames(snapshot: Snapshot): Set<string> {
  const { grants, groups, settings, at } = snapshot;
  const live = grants.filter(
    (grant) => hasEffect(grant, at) && !isClosed(grant.resource, settings) && namesExistingPrincipal(grant, snapshot),
  );
  const granted = live.flatMap(({ principal }) => (principal.type === 'engine' ? [principal.name] : []));
  return new Set([...granted, ...groups.flatMap(({ engines }) => engines)]);
}

/** Whether the principal in a grant's node exists; without it the grant has no effect. */
export function namesExistingPrincipal({ resource }: SnapshotGrant, { users, groups, settings }: Snapshot): boolean {
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
