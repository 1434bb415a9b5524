import { nameProblem, resourceNameProblem, sessionPropertyProblem } from '../../kernel/name.js';
import type { SnapshotDecoder } from './snapshot-decoder.js';
import type { SnapshotSettings } from './snapshot.js';

/** Reads the settings of a snapshot file; what is left out is taken from `defaults`. */
export function decodeSettings(form: SnapshotDecoder, value: unknown, defaults: SnapshotSettings): SnapshotSettings {
  const given = form.object(value, 'settings', FIELDS);
  const list = (field: Field, read: (item: unknown, path: string) => string, otherwise: readonly string[]) =>
    given[field] === undefined ? otherwise : form.list(given[field], `settings.${field}`, read);
  const account = (item: unknown, path: string) => form.text(item, path, nameProblem);
  const property = (item: unknown, path: string) => form.text(item, path, sessionPropertyProblem);
  const catalog = (item: unknown, path: string) => form.text(item, path, resourceNameProblem);
  const { own_account, metadata_catalog, impersonation } = given;
  const ownAccount = own_account === undefined ? defaults.ownAccount : account(own_account, 'settings.own_account');
  const metadataCatalog = metadata_catalog === undefined ? defaults.metadataCatalog : metadata_catalog;
  const closed = metadataCatalog === null ? null : catalog(metadataCatalog, 'settings.metadata_catalog');
  if (closed === 'system') form.refuse('settings.metadata_catalog', 'is closed anyway');
  const open = (item: unknown, path: string) => {
    const name = catalog(item, path);
    if (name === closed || name === 'system') form.refuse(path, 'must be neither the metadata catalog nor system');
    return name;
  };
  const { readers_maintain } = given;
  return {
    ownAccount,
    serviceAccounts: [...new Set([ownAccount, ...list('service_accounts', account, defaults.serviceAccounts)])],
    writableCatalogs: list('writable_catalogs', open, defaults.writableCatalogs),
    readableCatalogs: list('readable_catalogs', open, defaults.readableCatalogs),
    metadataCatalog: closed,
    impersonation:
      impersonation === undefined ? defaults.impersonation : form.boolean(impersonation, 'settings.impersonation'),
    sessionProperties: list('session_properties', property, defaults.sessionProperties),
    readersMaintain:
      readers_maintain === undefined
        ? defaults.readersMaintain
        : form.boolean(readers_maintain, 'settings.readers_maintain'),
    externalTableCatalogs: list('external_table_catalogs', catalog, defaults.externalTableCatalogs),
    rawColumnCatalogs: list('raw_column_catalogs', catalog, defaults.rawColumnCatalogs),
  };
}

export function encodeSettings(settings: SnapshotSettings): Record<Field, unknown> {
  return {
    own_account: settings.ownAccount,
    service_accounts: settings.serviceAccounts,
    writable_catalogs: settings.writableCatalogs,
    readable_catalogs: settings.readableCatalogs,
    metadata_catalog: settings.metadataCatalog,
    impersonation: settings.impersonation,
    session_properties: settings.sessionProperties,
    readers_maintain: settings.readersMaintain,
    external_table_catalogs: settings.externalTableCatalogs,
    raw_column_catalogs: settings.rawColumnCatalogs,
  };
}

const FIELDS = [
  'own_account',
  'service_accounts',
  'writable_catalogs',
  'readable_catalogs',
  'metadata_catalog',
  'impersonation',
  'session_properties',
  'readers_maintain',
  'external_table_catalogs',
  'raw_column_catalogs',
] as const;
type Field = (typeof FIELDS)[number];
