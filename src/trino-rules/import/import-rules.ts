import { resourceNameProblem } from '../../kernel/name.js';
import { getOrInsert } from '../../kernel/get-or-insert.js';
import { FRESH_PREFIX, PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { EngineSets } from '../engine/engine-sets.js';
import { UserUniverse } from '../engine/user-universe.js';
import type { Principal } from '../model/principal.js';
import { closedProblem, type Resource } from '../model/resource.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import { OutcomeReader } from './node-outcome.js';
import { accessOf, type OutcomeNode, type UserAccess } from './user-access.js';

/**
 * Grants, groups and policies that give these users what a rules document gives them, on every node that it names. Users who are
 * alike become a group. Never more access than the document gives; where grants cannot say the same, less.
 */
export function importRules(
  document: RulesDocument,
  names: readonly string[],
  { settings, at }: { settings: SnapshotSettings; at: Date },
): Snapshot {
  const patterns = new PatternCache();
  const engine = new EngineSets(document, patterns, new UserUniverse(names, [document], patterns));
  const reader = new OutcomeReader(document, patterns);
  const nodes = namedNodes(engine, settings);
  const users = [...new Set(names)].map((name, i) => ({ id: i + 1, name, isActive: true }));
  const alike = new Map<string, { access: UserAccess[]; users: Snapshot['users'][number][] }>();
  for (const user of users) {
    const access = nodes.map((node) => accessOf(outcomes(reader, user.name, node, engine.fresh)));
    getOrInsert(alike, JSON.stringify(access), () => ({ access, users: [] })).users.push(user);
  }
  const groups: SnapshotGroup[] = [];
  const grants: SnapshotGrant[] = [];
  const policies: SnapshotPolicy[] = [];
  for (const { access, users: members } of alike.values()) {
    const [first, ...others] = members;
    if (first === undefined || access.every(({ grants }) => grants.length === 0)) continue;
    let principal: Principal = { type: 'user', id: first.id };
    if (others.length > 0) {
      const id = groups.length + 1;
      groups.push({ id, name: `imported-${id}`, members: members.map((member) => member.id) });
      principal = { type: 'group', id };
    }
    for (const part of access) addRows(part, principal, grants, policies);
  }
  return { users, groups, grants, policies, settings, at };
}

/** A named node; `null` tables and schemas are the unnamed ones, which every node has. */
interface NamedNode {
  resource: Resource & { catalog: string };
  below: NamedNode[];
}

function namedNodes(engine: EngineSets, { metadataCatalog }: SnapshotSettings): NamedNode[] {
  const open = (resource: Resource, name: string) =>
    resourceNameProblem(name) === null &&
    !name.includes(FRESH_PREFIX) &&
    closedProblem(resource, metadataCatalog) === null;
  const sorted = (names: Iterable<string>) => [...new Set(names)].sort();
  return sorted(engine.catalogNames()).flatMap((catalog) => {
    if (!open({ catalog }, catalog)) return [];
    const schemas = sorted(engine.schemaNames(catalog)).flatMap((schema): NamedNode[] => {
      if (!open({ catalog, schema }, schema)) return [];
      const tables = sorted(engine.tables.branch([catalog, schema]).names()).flatMap((table): NamedNode[] =>
        open({ catalog, schema, table }, table) ? [{ resource: { catalog, schema, table }, below: [] }] : [],
      );
      return [{ resource: { catalog, schema }, below: tables }];
    });
    return [{ resource: { catalog }, below: schemas }];
  });
}

function outcomes(reader: OutcomeReader, user: string, { resource, below }: NamedNode, fresh: string): OutcomeNode {
  const { catalog, schema, table } = resource;
  const outcome =
    schema !== undefined && table !== undefined
      ? reader.table(user, { catalog, schema, table })
      : reader.unnamed(user, { catalog, schema: schema ?? fresh, table: fresh }, schema !== undefined);
  return { resource, outcome, below: below.map((node) => outcomes(reader, user, node, fresh)) };
}

function addRows(access: UserAccess, principal: Principal, grants: SnapshotGrant[], policies: SnapshotPolicy[]): void {
  for (const { resource, privileges } of access.grants) {
    grants.push({ id: grants.length + 1, principal, resource, privileges, expiresAt: null, revokedAt: null });
  }
  const base = () => ({ id: policies.length + 1, principal, except: [] });
  for (const row of access.denies) policies.push({ ...base(), kind: 'deny', ...row });
  for (const row of access.filters) policies.push({ ...base(), kind: 'row_filter', ...row });
  for (const row of access.hidden) policies.push({ ...base(), kind: 'hidden_column', ...row });
  for (const row of access.masks) policies.push({ ...base(), kind: 'column_mask', ...row });
}
