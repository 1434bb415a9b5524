import { isObject } from '../../kernel/json-reader.js';
import { nameProblem, resourceNameProblem, sessionPropertyProblem } from '../../kernel/name.js';
import { guaranteeFields, GuaranteeReader } from './guarantee-file.js';
import { type Node, mapPrincipal } from './node.js';
import { principalWithoutId, type PolicyPrincipal } from './principal.js';
import { Principals } from './principals.js';
import { SnapshotDecoder, type SnapshotProblem } from './snapshot-decoder.js';
import { SnapshotPrincipalReader, SnapshotRowReader } from './snapshot-rows.js';
import type { Snapshot, SnapshotSettings, SnapshotUser } from './snapshot.js';

export type SnapshotReading = { kind: 'read'; snapshot: Snapshot } | { kind: 'refused'; problems: SnapshotProblem[] };

export interface SnapshotDefaults {
  settings: SnapshotSettings;
  at: Date;
  /** The message for a user whom the file names but does not list. */
  unknownUserMessage?: (name: string) => string;
}

/**
 * Reads a snapshot file (version 1) from its parsed JSON or YAML value, and lists all problems at once. Rows without an id are numbered
 * after the highest id in the file. Principals and members are ids or names.
 */
export function readSnapshot(value: unknown, defaults: SnapshotDefaults): SnapshotReading {
  const decoder = new SnapshotDecoder();
  const file = decoder.object(value, '', FILE_FIELDS);
  if (decoder.problems.some(({ path }) => path === '')) return { kind: 'refused', problems: decoder.problems };
  if (file.version !== 1) decoder.addProblem('version', 'must be 1');
  const settings = decodeSettings(decoder, file.settings ?? {}, defaults.settings);
  const users = readRows(decoder, file, 'users', (row, path, id): SnapshotUser => {
    const { name, is_active } = decoder.object(row, path, ['id', 'name', 'is_active']);
    const isActive = is_active === undefined || decoder.boolean(is_active, `${path}.is_active`);
    return { id, name: decoder.text(name, `${path}.name`, nameProblem), isActive };
  });
  const groupRows = readRows(decoder, file, 'groups', (row, path, id) => {
    const { name, members } = decoder.object(row, path, ['id', 'name', 'members', 'description']);
    return { id, name: decoder.text(name, `${path}.name`, nameProblem), memberValues: members ?? [], path };
  });
  const principals = new SnapshotPrincipalReader(decoder, users, groupRows, settings, defaults.unknownUserMessage);
  const groups = groupRows.map(({ id, name, memberValues, path }) => {
    const readMember = (item: unknown, itemPath: string) => principals.readMember(item, itemPath);
    const memberList = decoder.list(memberValues, `${path}.members`, readMember);
    const members = memberList.flatMap((member) => (member.type === 'user' ? [member.id] : []));
    const engines = memberList.flatMap((member) => (member.type === 'engine' ? [member.name] : []));
    return { id, name, members: [...new Set(members)], engines: [...new Set(engines)] };
  });
  const rowReader = new SnapshotRowReader(decoder, principals, settings);
  const grants = readRows(decoder, file, 'grants', (row, path, id) => rowReader.readGrant(row, path, id));
  const policies = readRows(decoder, file, 'policies', (row, path, id) => rowReader.readPolicy(row, path, id));
  const guaranteeReader = new GuaranteeReader(decoder, rowReader);
  const guarantees = readRows(decoder, file, 'guarantees', (row, path, id) =>
    guaranteeReader.readGuarantee(row, path, id),
  );
  const at = file.at === undefined ? defaults.at : decoder.instant(file.at, 'at');
  if (decoder.problems.length > 0) return { kind: 'refused', problems: decoder.problems };
  const guaranteesIfAny = guarantees.length > 0 && { guarantees };
  return { kind: 'read', snapshot: { users, groups, grants, policies, settings, at, ...guaranteesIfAny } };
}

const FILE_FIELDS = ['version', 'users', 'groups', 'grants', 'policies', 'guarantees', 'settings', 'at'] as const;

/** The snapshot as a JSON value that `readSnapshot` reads back, with names for principals and members. */
export function writeSnapshot(snapshot: Snapshot): object {
  const { users, groups, grants, policies, settings, at, guarantees } = snapshot;
  const principals = new Principals(snapshot);
  const principalForm = (principal: PolicyPrincipal): object =>
    principalWithoutId(principals.principalWithName(principal));
  const nodeForm = (resource: Node): object => mapPrincipal(resource, principalForm);
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
      principal: principalForm(grant.principal),
      resource: nodeForm(grant.resource),
      privileges: grant.privileges,
      expires_at: grant.expiresAt?.toISOString() ?? null,
      revoked_at: grant.revokedAt?.toISOString() ?? null,
    })),
    policies: policies.map((policy) => ({
      ...policy,
      resource: nodeForm(policy.resource),
      principal: principalForm(policy.principal),
      except: policy.except.map(principalForm),
    })),
    settings: Object.fromEntries(Object.entries(SETTING_FIELDS).map(([field, key]) => [field, settings[key]])),
    at: at.toISOString(),
    ...(guarantees && {
      guarantees: guarantees.map((row) => ({ id: row.id, ...guaranteeFields(row, principalForm) })),
    }),
  };
}

/** Reads the rows in a field of the file. Rows without an id get a new id. */
function readRows<T>(
  decoder: SnapshotDecoder,
  file: Partial<Record<(typeof FILE_FIELDS)[number], unknown>>,
  field: 'users' | 'groups' | 'grants' | 'policies' | 'guarantees',
  readRow: (row: unknown, path: string, id: number) => T,
): T[] {
  const rows = decoder.list(file[field] ?? [], field, (row, rowPath) => ({
    row,
    rowPath,
    givenId: isObject(row) ? row['id'] : undefined,
  }));
  const ids = rows.flatMap(({ givenId: id, rowPath }) => (id === undefined ? [] : [decoder.id(id, `${rowPath}.id`)]));
  let lastId = ids.reduce((maximum, id) => Math.max(maximum, id), 0);
  const seenIds = new Set<unknown>();
  return rows.map(({ row, rowPath, givenId }) => {
    if (givenId !== undefined && seenIds.has(givenId)) decoder.addProblem(`${rowPath}.id`, 'is the id of another row');
    seenIds.add(givenId);
    return readRow(row, rowPath, typeof givenId === 'number' ? givenId : ++lastId);
  });
}

const SETTING_FIELDS = {
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
  rules_file: 'rulesFile',
} as const satisfies Record<string, keyof SnapshotSettings>;

type SettingField = keyof typeof SETTING_FIELDS;
type SettingValue<F extends SettingField> = SnapshotSettings[(typeof SETTING_FIELDS)[F]];
type ValueReader<T> = (value: unknown, path: string) => T;

/** Reads the settings of a snapshot file; absent ones are taken from `defaults`. */
function decodeSettings(decoder: SnapshotDecoder, value: unknown, defaults: SnapshotSettings): SnapshotSettings {
  const fields = decoder.object(value, 'settings', Object.keys(SETTING_FIELDS) as SettingField[]);
  const readSetting = <F extends SettingField>(field: F, read: ValueReader<SettingValue<F>>): SettingValue<F> =>
    fields[field] === undefined ? defaults[SETTING_FIELDS[field]] : read(fields[field], `settings.${field}`);
  const textReader = (problemOf: (text: string) => string | null) => (item: unknown, path: string) =>
    decoder.text(item, path, problemOf);
  const listReader = (readItem: ValueReader<string>) => (items: unknown, path: string) =>
    decoder.list(items, path, readItem);
  const readFlag = (item: unknown, path: string) => decoder.boolean(item, path);
  const [readAccount, readCatalog] = [textReader(nameProblem), textReader(resourceNameProblem)];
  const ownAccount = readSetting('own_account', readAccount);
  const metadataCatalog = readSetting('metadata_catalog', (name, path) =>
    name === null ? null : readCatalog(name, path),
  );
  if (metadataCatalog === 'system') decoder.addProblem('settings.metadata_catalog', 'is closed anyway');
  const readOpenCatalog = (item: unknown, path: string) => {
    const name = readCatalog(item, path);
    if (name === metadataCatalog || name === 'system')
      decoder.addProblem(path, 'must be neither the metadata catalog nor system');
    return name;
  };
  return {
    ownAccount,
    serviceAccounts: [...new Set([ownAccount, ...readSetting('service_accounts', listReader(readAccount))])],
    writableCatalogs: readSetting('writable_catalogs', listReader(readOpenCatalog)),
    readableCatalogs: readSetting('readable_catalogs', listReader(readOpenCatalog)),
    metadataCatalog,
    impersonation: readSetting('impersonation', readFlag),
    sessionProperties: readSetting('session_properties', listReader(textReader(sessionPropertyProblem))),
    readersMaintain: readSetting('readers_maintain', readFlag),
    externalTableCatalogs: readSetting('external_table_catalogs', listReader(readCatalog)),
    rawColumnCatalogs: readSetting('raw_column_catalogs', listReader(readCatalog)),
    rulesFile: readSetting('rules_file', readFlag),
  };
}
