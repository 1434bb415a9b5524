import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';

/** A catalog of the engine, and the connector that serves it. */
export interface EngineCatalogKind {
  catalog: string;
  connector: string;
}

/** A catalog whose connector leads around restrictions, and what closes that. */
export interface CatalogDoor extends EngineCatalogKind {
  /** The setting of this service that lists such catalogs. */
  setting: 'ACL_EXTERNAL_TABLE_CATALOGS' | 'ACL_RAW_COLUMN_CATALOGS';
  /** Instead, or besides, in the catalog's own file; null: nothing there closes it. */
  properties: string | null;
}

/** By Hive's defaults a table can be made over the files of another one, and read (seen on 483). */
const SHARES_FILES: readonly string[] = ['hive'];
/** A column holds the whole row as it was stored (read in the connectors' sources). */
const RAW_COLUMNS: readonly string[] = ['kafka', 'redis', 'elasticsearch', 'opensearch'];

const HIVE_PROPERTIES = 'hive.non-managed-table-creates-enabled=false, hive.non-managed-table-writes-enabled=false';

/** The catalogs that the settings lack, by name. */
export function catalogDoors(
  catalogs: readonly EngineCatalogKind[],
  settings: Pick<SnapshotSettings, 'externalTableCatalogs' | 'rawColumnCatalogs'>,
): CatalogDoor[] {
  const doors = catalogs.flatMap(({ catalog, connector }): CatalogDoor[] => {
    if (SHARES_FILES.includes(connector) && !settings.externalTableCatalogs.includes(catalog))
      return [{ catalog, connector, setting: 'ACL_EXTERNAL_TABLE_CATALOGS', properties: HIVE_PROPERTIES }];
    if (RAW_COLUMNS.includes(connector) && !settings.rawColumnCatalogs.includes(catalog))
      return [{ catalog, connector, setting: 'ACL_RAW_COLUMN_CATALOGS', properties: null }];
    return [];
  });
  return doors.sort((a, b) => (a.catalog < b.catalog ? -1 : 1));
}
