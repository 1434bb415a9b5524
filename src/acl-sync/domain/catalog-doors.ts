import type { Finding } from '../../trino-rules/document/finding.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';

/** A catalog of the engine, and the connector that serves it. */
export interface EngineCatalogKind {
  catalog: string;
  connector: string;
}

/** By Hive's defaults a table can be made over the files of another one, and read (seen on 483). */
const SHARES_FILES: readonly string[] = ['hive'];
/** A column holds the whole row as it was stored (read in the connectors' sources). */
const RAW_COLUMNS: readonly string[] = ['kafka', 'redis', 'elasticsearch', 'opensearch'];

const HIVE_PROPERTIES = 'hive.non-managed-table-creates-enabled=false\nhive.non-managed-table-writes-enabled=false';

/** A warning for each catalog whose connector leads around restrictions and that the settings lack, by name. */
export function openCatalogs(
  catalogs: readonly EngineCatalogKind[],
  settings: Pick<SnapshotSettings, 'externalTableCatalogs' | 'rawColumnCatalogs'>,
): Finding[] {
  const sorted = [...catalogs].sort((a, b) => (a.catalog < b.catalog ? -1 : 1));
  return sorted.flatMap(({ catalog, connector }): Finding[] => {
    const named = `catalog ${catalog} (${connector})`;
    if (SHARES_FILES.includes(connector) && !settings.externalTableCatalogs.includes(catalog)) {
      const way =
        'a table can be made over the files of another, so that whoever owns a schema there reads restricted ones';
      const cure = "set these lines in the catalog's file, or list it in ACL_EXTERNAL_TABLE_CATALOGS";
      return [open(`${named}: ${way}; ${cure}`, HIVE_PROPERTIES)];
    }
    if (RAW_COLUMNS.includes(connector) && !settings.rawColumnCatalogs.includes(catalog)) {
      const way = 'columns of the connector hold whole rows, so that they show hidden and masked values';
      return [open(`${named}: ${way}; list it in ACL_RAW_COLUMN_CATALOGS`)];
    }
    return [];
  });
}

function open(message: string, witness?: string): Finding {
  return { code: 'catalog-open', severity: 'warning', message, ...(witness !== undefined && { witness }) };
}
