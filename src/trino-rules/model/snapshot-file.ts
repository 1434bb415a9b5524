import { nameProblem, resourceNameProblem, sessionPropertyProblem } from '../../kernel/name.js';
import { guaranteeFields, GuaranteeReader } from './guarantee-file.js';
import { type Node, withNamed } from './node.js';
import { byName, type PolicyPrincipal } from './principal.js';
import { Principals } from './principals.js';
import { SnapshotDecoder, type SnapshotProblem } from './snapshot-decoder.js';
import { SnapshotNames, SnapshotRows } from './snapshot-rows.js';
import type { Snapshot, SnapshotSettings, SnapshotUser } from './snapshot.js';

export type SnapshotReading = { kind: 'read'; snapshot: Snapshot } | { kind: 'refused'; problems: SnapshotProblem[] };

/** Defaults for the settings and the time that a file does not give. */
export interface SnapshotDefaults {
  settings: SnapshotSettings;
  at: Date;
  /** Message for a name that no user has. */
  unknownUser?: (name: string) => string;
}

/**
 * Reads the snapshot form (version 1) out of a value that JSON or YAML was parsed to, and lists every problem at once. Rows
 * without an id are numbered after the highest one given; principals and members are ids or names.
 */
export function readSnapshot(value: unknown, defaults: SnapshotDefaults): SnapshotReading {
  const form = new SnapshotDecoder();
  const file = form.object(value, '', KEYS);
  if (form.problems.some(({ path }) => path === '')) return { kind: 'refused', problems: form.problems };
  if (file.version !== 1) form.addProblem('version', 'must be 1');
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
  const reader = new GuaranteeReader(form, names, rows);
  const guarantees = numbered(form, file.guarantees, 'guarantees', (row, path, id) => reader.guarantee(row, path, id));
  const at = file.at === undefined ? defaults.at : form.instant(file.at, 'at');
  if (form.problems.length > 0) return { kind: 'refused', problems: form.problems };
  const given = guarantees.length > 0 && { guarantees };
  return { kind: 'read', snapshot: { users, groups, grants, policies, settings, at, ...given } };
}

const KEYS = ['version', 'users', 'groups', 'grants', 'policies', 'guarantees', 'settings', 'at'] as const;

/** The snapshot as a plain JSON value of the same form, with names for principals and members; reading it gives the same. */
export function writeSnapshot(snapshot: Snapshot): object {
  const { users, groups, grants, policies, settings, at, guarantees } = snapshot;
  const principals = new Principals(snapshot);
  const principal = (named: PolicyPrincipal): object => byName(principals.named(named));
  const node = (resource: Node): object => withNamed(resource, principal);
  return {
    version: 1,
    users: users.map(({ id, name, isActive }) => ({ id, name, is_active: isActive })),
    groups: groups.map(({ id, name, members, engines }) => ({
      id,
      name,
      members: [...members.map((member) => principals.user(member)?.name), ...engines.map((engine) => ({ engine }))],
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
    settings: Object.fromEntries(Object.entries(FIELDS).map(([field, key]) => [field, settings[key]])),
    at: at.toISOString(),
    ...(guarantees && { guarantees: guarantees.map((each) => ({ id: each.id, ...guaranteeFields(each, principal) })) }),
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
    if (given !== undefined && seen.has(given)) form.addProblem(`${at}.id`, 'is the id of another row');
    seen.add(given);
    return read(row, at, typeof given === 'number' ? given : ++next);
  });
}

function givenId(row: unknown): unknown {
  return typeof row === 'object' && row !== null && 'id' in row ? row.id : undefined;
}

const FIELDS = {
  own_account: 'ownAccount',
  service_accounts: 'serviceAccounts',
  writable_catalogs: 'writableCatalogs',
  readable_catalogs: 'readableCatalogs',
  metadata_catalog: 'metadataCatalog',
  impersonation: 'impersonation',
  session_properties: 'sessionProperties',
  readers_maintain: 'readersMaintain',
  external_table_catalogs: 'externalTableCatalogs',
  raw_column_catalogs: 'rawColumnCatalogs',
} as const satisfies Record<string, keyof SnapshotSettings>;

type Field = keyof typeof FIELDS;
type Value<F extends Field> = SnapshotSettings[(typeof FIELDS)[F]];
type Reader<T> = (value: unknown, path: string) => T;

/** Reads the settings of a snapshot file; absent ones are taken from `defaults`. */
function decodeSettings(form: SnapshotDecoder, value: unknown, defaults: SnapshotSettings): SnapshotSettings {
  const given = form.object(value, 'settings', Object.keys(FIELDS) as Field[]);
  const read = <F extends Field>(field: F, reader: Reader<Value<F>>): Value<F> =>
    given[field] === undefined ? defaults[FIELDS[field]] : reader(given[field], `settings.${field}`);
  const text = (problemOf: (text: string) => string | null) => (item: unknown, path: string) =>
    form.text(item, path, problemOf);
  const list = (reader: Reader<string>) => (items: unknown, path: string) => form.list(items, path, reader);
  const flag = (item: unknown, path: string) => form.boolean(item, path);
  const [account, catalog] = [text(nameProblem), text(resourceNameProblem)];
  const ownAccount = read('own_account', account);
  const closed = read('metadata_catalog', (name, path) => (name === null ? null : catalog(name, path)));
  if (closed === 'system') form.addProblem('settings.metadata_catalog', 'is closed anyway');
  const open = (item: unknown, path: string) => {
    const name = catalog(item, path);
    if (name === closed || name === 'system') form.addProblem(path, 'must be neither the metadata catalog nor system');
    return name;
  };
  return {
    ownAccount,
    serviceAccounts: [...new Set([ownAccount, ...read('service_accounts', list(account))])],
    writableCatalogs: read('writable_catalogs', list(open)),
    readableCatalogs: read('readable_catalogs', list(open)),
    metadataCatalog: closed,
    impersonation: read('impersonation', flag),
    sessionProperties: read('session_properties', list(text(sessionPropertyProblem))),
    readersMaintain: read('readers_maintain', flag),
    externalTableCatalogs: read('external_table_catalogs', list(catalog)),
    rawColumnCatalogs: read('raw_column_catalogs', list(catalog)),
  };
}
