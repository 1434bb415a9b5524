import { nameProblem } from '../../kernel/name.js';
import { type Node, withNamed } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { SnapshotDecoder, type SnapshotProblem } from './snapshot-decoder.js';
import { SnapshotNames } from './snapshot-names.js';
import { SnapshotRows } from './snapshot-rows.js';
import { encodeSettings, decodeSettings } from './snapshot-settings.js';
import type { Snapshot, SnapshotSettings, SnapshotUser } from './snapshot.js';

export type SnapshotReading = { kind: 'read'; snapshot: Snapshot } | { kind: 'refused'; problems: SnapshotProblem[] };

/** Defaults for the settings and the time that a file does not give. */
export interface SnapshotDefaults {
  settings: SnapshotSettings;
  at: Date;
  /** What is said of a name that no user has. Default: that it names none of the file. */
  unknownUser?: (name: string) => string;
}

/**
 * Reads the snapshot form (version 1) out of a value that JSON or YAML was parsed to, and lists every problem at once. Rows
 * without an id are numbered after the highest one given; principals and members are ids or names.
 */
export function readSnapshot(value: unknown, defaults: SnapshotDefaults): SnapshotReading {
  const form = new SnapshotDecoder();
  const file = form.object(value, '', ['version', 'users', 'groups', 'grants', 'policies', 'settings', 'at']);
  if (form.problems.some(({ path }) => path === '')) return { kind: 'refused', problems: form.problems };
  if (file.version !== 1) form.refuse('version', 'must be 1');
  const settings = decodeSettings(form, file.settings ?? {}, defaults.settings);
  const users = numbered(form, file.users, 'users', (row, path, id): SnapshotUser => {
    const { name, is_active } = form.object(row, path, ['id', 'name', 'is_active']);
    const isActive = is_active === undefined || form.boolean(is_active, `${path}.is_active`);
    return { id, name: form.text(name, `${path}.name`, nameProblem), isActive };
  });
  const named = numbered(form, file.groups, 'groups', (row, path, id) => {
    const { name, members } = form.object(row, path, ['id', 'name', 'members', 'description']);
    return { id, name: form.text(name, `${path}.name`, nameProblem), listed: members ?? [], path };
  });
  const names = new SnapshotNames(form, users, named, settings, defaults.unknownUser);
  const groups = named.map(({ id, name, listed, path }) => {
    const listing = form.list(listed, `${path}.members`, (member, at) => names.member(member, at));
    const members = listing.flatMap((member) => (member.type === 'user' ? [member.id] : []));
    const engines = listing.flatMap((member) => (member.type === 'engine' ? [member.name] : []));
    return { id, name, members: [...new Set(members)], engines: [...new Set(engines)] };
  });
  const rows = new SnapshotRows(form, names, settings);
  const grants = numbered(form, file.grants, 'grants', (row, path, id) => rows.grant(row, path, id));
  const policies = numbered(form, file.policies, 'policies', (row, path, id) => rows.policy(row, path, id));
  const at = file.at === undefined ? defaults.at : form.instant(file.at, 'at');
  if (form.problems.length > 0) return { kind: 'refused', problems: form.problems };
  return { kind: 'read', snapshot: { users, groups, grants, policies, settings, at } };
}

/** The snapshot as a plain JSON value of the same form, with names for principals and members; reading it gives the same. */
export function writeSnapshot({ users, groups, grants, policies, settings, at }: Snapshot): object {
  const userNames = new Map(users.map(({ id, name }) => [id, name]));
  const groupNames = new Map(groups.map(({ id, name }) => [id, name]));
  const principal = (named: PolicyPrincipal): object => {
    if (named.type === 'user') return { type: 'user', name: userNames.get(named.id) };
    if (named.type === 'group') return { type: 'group', name: groupNames.get(named.id) };
    return named;
  };
  const node = (resource: Node): object => withNamed(resource, principal);
  return {
    version: 1,
    users: users.map(({ id, name, isActive }) => ({ id, name, is_active: isActive })),
    groups: groups.map(({ id, name, members, engines }) => ({
      id,
      name,
      members: [...members.map((member) => userNames.get(member)), ...engines.map((engine) => ({ engine }))],
    })),
    grants: grants.map((grant) => ({
      id: grant.id,
      principal: principal(grant.principal),
      resource: node(grant.resource),
      privileges: grant.privileges,
      expires_at: grant.expiresAt?.toISOString() ?? null,
      revoked_at: grant.revokedAt?.toISOString() ?? null,
    })),
    policies: policies.map((policy) => ({
      ...policy,
      resource: node(policy.resource),
      principal: principal(policy.principal),
      except: policy.except.map(principal),
    })),
    settings: encodeSettings(settings),
    at: at.toISOString(),
  };
}

/** Reads a list of rows that may carry an id each. */
function numbered<T>(
  form: SnapshotDecoder,
  value: unknown,
  path: string,
  read: (row: unknown, path: string, id: number) => T,
): T[] {
  const rows = form.list(value ?? [], path, (row, at) => ({ row, at, given: givenId(row) }));
  const ids = rows.flatMap(({ given, at }) => (given === undefined ? [] : [form.id(given, `${at}.id`)]));
  let next = ids.reduce((highest, id) => Math.max(highest, id), 0);
  const seen = new Set<unknown>();
  return rows.map(({ row, at, given }) => {
    if (given !== undefined && seen.has(given)) form.refuse(`${at}.id`, 'is the id of another row');
    seen.add(given);
    return read(row, at, typeof given === 'number' ? given : ++next);
  });
}

function givenId(row: unknown): unknown {
  return typeof row === 'object' && row !== null && 'id' in row ? row.id : undefined;
}
