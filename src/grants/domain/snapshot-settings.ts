import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';

/** The settings that the rules depend on, out of all. */
export function snapshotSettings({
  acl,
  engine,
}: {
  acl: Omit<SnapshotSettings, 'ownAccount' | 'impersonation'>;
  engine: { user: string; impersonation: boolean };
}): SnapshotSettings {
  return {
    ownAccount: engine.user,
    serviceAccounts: acl.serviceAccounts,
    writableCatalogs: acl.writableCatalogs,
    readableCatalogs: acl.readableCatalogs,
    metadataCatalog: acl.metadataCatalog,
    impersonation: engine.impersonation,
    sessionProperties: acl.sessionProperties,
    readersMaintain: acl.readersMaintain,
    externalTableCatalogs: acl.externalTableCatalogs,
    rawColumnCatalogs: acl.rawColumnCatalogs,
  };
}
