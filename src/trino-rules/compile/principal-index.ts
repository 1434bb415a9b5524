import type { PolicyPrincipal, Subject } from '../model/principal.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';
import { hasEffect, isInMetadataCatalog } from './engine-terms.js';

/** The numbered principals of a snapshot. Principals of grants and policies resolve to sets of these numbers. */
export interface PrincipalIndex {
  /** Sorted by kind, then by name. The position of a subject is its bit in every set. */
  subjects: readonly Subject[];
  emptySet: Bitset;
  allSubjects: Bitset;
  serviceAccounts: Bitset;
  activePeople: Bitset;
  /** The members of a principal: active people and engine principals, but no service accounts. */
  resolvePrincipal(principal: PolicyPrincipal): Bitset;
  /** The members of a principal as owners of queries. Deactivated people are included, because their running queries continue. */
  resolveOwners(principal: PolicyPrincipal): Bitset;
  resolvePolicy(policy: SnapshotPolicy): Bitset;
  namesOf: (people: Bitset) => string[];
  /** The set of the subjects at these positions. Sets of one subject are cached, because many nodes need the same ones. */
  setOf: (positions: readonly number[]) => Bitset;
}

export function indexPrincipals(snapshot: Snapshot): PrincipalIndex {
  const subjects = listSubjects(snapshot);
  const setsByPosition = new Map<number, Bitset>();
  const setOf = (positions: readonly number[]): Bitset => {
    const createSet = () => Bitset.of(subjects.length, positions);
    const [first] = positions;
    return first !== undefined && positions.length === 1 ? getOrInsert(setsByPosition, first, createSet) : createSet();
  };
  const subjectsWhere = (isIncluded: (subject: Subject) => boolean) =>
    setOf(subjects.flatMap((subject, position) => (isIncluded(subject) ? [position] : [])));
  const emptySet = setOf([]);
  const allSubjects = subjectsWhere(() => true);
  const activePeople = subjectsWhere((subject) => subject.kind === 'person' && subject.isActive);
  const knownEngines = knownEngineNames(snapshot);
  const everyone = activePeople.or(subjectsWhere(({ kind, name }) => kind === 'engine' && knownEngines.has(name)));

  const positionsByUserId = new Map<number, number>();
  const positionsByEngine = new Map<string, number>();
  for (const [position, subject] of subjects.entries()) {
    if (subject.kind === 'person') positionsByUserId.set(subject.userId, position);
    if (subject.kind === 'engine') positionsByEngine.set(subject.name, position);
  }
  const accountSet = (ids: readonly number[]) => setOf(ids.flatMap((id) => positionsByUserId.get(id) ?? []));
  const activeAccountSet = (ids: readonly number[]) => accountSet(ids).and(activePeople);
  const engineSet = (names: readonly string[]) => setOf(names.flatMap((name) => positionsByEngine.get(name) ?? []));
  const accountIdsByGroup = new Map(snapshot.groups.map(({ id, members }) => [id, members]));
  const membersByGroup = new Map(
    snapshot.groups.map((group) => [group.id, activeAccountSet(group.members).or(engineSet(group.engines))]),
  );

  const resolvePrincipal = (principal: PolicyPrincipal): Bitset => {
    switch (principal.type) {
      case 'everyone':
        return everyone;
      case 'user':
        return activeAccountSet([principal.id]);
      case 'group':
        return membersByGroup.get(principal.id) ?? emptySet;
      case 'engine':
        return engineSet([principal.name]);
    }
  };
  const resolveOwners = (principal: PolicyPrincipal): Bitset => {
    const activeMembers = resolvePrincipal(principal);
    if (principal.type === 'everyone') return activeMembers.or(subjectsWhere(({ kind }) => kind === 'person'));
    if (principal.type === 'engine') return activeMembers;
    const { type, id } = principal;
    return activeMembers.or(accountSet(type === 'user' ? [id] : (accountIdsByGroup.get(id) ?? [])));
  };
  // Makes one set of all excepted people instead of one for each, because a policy may except thousands of people.
  const resolvePolicy = ({ principal, except }: SnapshotPolicy): Bitset => {
    const exceptedIds = except.flatMap((excepted) => (excepted.type === 'user' ? [excepted.id] : []));
    const otherExceptions = new Set(except.filter(({ type }) => type !== 'user').map(resolvePrincipal));
    return [activeAccountSet(exceptedIds), ...otherExceptions].reduce(
      (users, excepted) => users.minus(excepted),
      resolvePrincipal(principal),
    );
  };
  return {
    ...{ subjects, emptySet, allSubjects, activePeople },
    serviceAccounts: subjectsWhere(({ kind }) => kind === 'service-account'),
    ...{ resolvePrincipal, resolveOwners, resolvePolicy, setOf },
    namesOf: (set) => set.members().flatMap((position) => subjects[position]?.name ?? []),
  };
}

/** Engine principals that are in a group, or have a grant in effect outside the metadata catalog. A policy alone is not enough. */
function knownEngineNames(snapshot: Snapshot): Set<string> {
  const { grants, groups, settings, at } = snapshot;
  const liveGrants = grants
    .filter((grant) => hasEffect(grant, at) && !isInMetadataCatalog(grant.resource, settings))
    .filter((grant) => namesExistingPrincipal(grant, snapshot));
  const grantedNames = liveGrants.flatMap(({ principal }) => (principal.type === 'engine' ? [principal.name] : []));
  return new Set([...grantedNames, ...groups.flatMap(({ engines }) => engines)]);
}

/** False if the node's principal does not exist or is a service account. The grant then has no effect. */
export function namesExistingPrincipal({ resource }: SnapshotGrant, { users, groups, settings }: Snapshot): boolean {
  const nodePrincipal = resource.as ?? resource.queries;
  if (nodePrincipal === undefined || nodePrincipal.type === 'everyone') return true;
  if (nodePrincipal.type === 'engine') return !settings.serviceAccounts.includes(nodePrincipal.name);
  return (nodePrincipal.type === 'user' ? users : groups).some(({ id }) => id === nodePrincipal.id);
}

function listSubjects({ users, groups, grants, policies, settings }: Snapshot): Subject[] {
  const serviceAccounts = new Set(settings.serviceAccounts);
  const engineNames = new Set(groups.flatMap((group) => group.engines));
  const addEngine = (principal: PolicyPrincipal): void => {
    if (principal.type === 'engine') engineNames.add(principal.name);
  };
  for (const { principal, resource } of [...grants, ...policies]) {
    addEngine(principal);
    if (resource.queries !== undefined) addEngine(resource.queries);
  }
  for (const { except } of policies) except.forEach(addEngine);
  const subjects: KnownSubject[] = [
    ...users.map(({ id, name, isActive }) => ({ kind: 'person', name, userId: id, isActive }) as const),
    ...[...engineNames].filter((name) => !serviceAccounts.has(name)).map((name) => ({ kind: 'engine', name }) as const),
    ...[...serviceAccounts].map((name) => ({ kind: 'service-account', name }) as const),
  ];
  subjects.sort((a, b) => KIND_ORDER[a.kind] - KIND_ORDER[b.kind] || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return subjects;
}

type KnownSubject = Exclude<Subject, { kind: 'stranger' }>;

const KIND_ORDER: Record<KnownSubject['kind'], number> = { person: 0, engine: 1, 'service-account': 2 };
