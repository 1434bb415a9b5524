import type { RulesInForce } from '../../query-engine/domain/engine-error.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { PublicationSummary } from './publication.js';

/**
 * The longest expected time until the engine uses a published text: kubelet's sync and cache (120 s), the engine's refresh (60 s,
 * `security.refresh-period` in the chart's engine values), and a margin.
 */
export const LIVE_WITHIN_MS = 210_000;
/** Broken answers until the rules count as broken. One is not enough, because the engine can read a file while it is replaced. */
const BROKEN_THRESHOLD = 3;

export interface EngineWatch {
  version: number;
  /** Number of consecutive broken answers. */
  brokenTimes: number;
  /** Whether the engine used valid rules after this version was published, or the version before until then. */
  hasWorked: boolean;
  state: EngineState;
}

/**
 * `unknown`: no probe was answered yet. `pending`: the engine still uses other rules, within the allowed time. `overdue`: it uses
 * other rules. `broken`: it cannot use its rules file.
 */
type EngineState = 'unknown' | 'live' | 'pending' | 'overdue' | 'broken';

type Watched = Pick<PublicationSummary, 'version' | 'liveAt' | 'publishedAt' | 'edit'>;

/**
 * The result after one more probe. No answer changes nothing.
 * @param former the version before the published one; undefined: none
 */
export function nextWatch(
  before: EngineWatch | null,
  latest: Watched,
  former: Pick<PublicationSummary, 'version'> | undefined,
  answer: RulesInForce,
  now: Date,
): EngineWatch {
  const { version, liveAt, publishedAt } = latest;
  const known =
    before?.version === version ? before : firstOf(latest, before?.version === former?.version && isSettled(before));
  switch (answer) {
    case 'these':
      return { version, brokenTimes: 0, hasWorked: true, state: 'live' };
    case 'others': {
      const isDue = liveAt === null && now.getTime() - publishedAt.getTime() <= LIVE_WITHIN_MS;
      return { version, brokenTimes: 0, hasWorked: true, state: isDue ? 'pending' : 'overdue' };
    }
    case 'broken': {
      const brokenTimes = known.brokenTimes + 1;
      return { ...known, brokenTimes, state: brokenTimes >= BROKEN_THRESHOLD ? 'broken' : known.state };
    }
    case 'unclear':
    case 'unreachable':
      return known;
  }
}

/** @param wasUsed whether the engine used the version before at the last probe, so that only an edit by hand can have come between */
function firstOf({ version, edit }: Watched, wasUsed: boolean): EngineWatch {
  return { version, brokenTimes: 0, hasWorked: wasUsed && edit === null, state: 'unknown' };
}

/** Whether the engine used the published version at the last probe. Otherwise it is probed again soon. */
export function isSettled(watch: EngineWatch | null): boolean {
  return watch?.state === 'live' && watch.brokenTimes === 0;
}

/** Whether the engine fails on this version, and not on a text that it read before. */
export function failsOnVersion(
  { state, hasWorked }: EngineWatch,
  { liveAt, publishedAt }: Pick<PublicationSummary, 'liveAt' | 'publishedAt'>,
  now: Date,
): boolean {
  const hasArrived = hasWorked || now.getTime() - publishedAt.getTime() > LIVE_WITHIN_MS;
  return state === 'broken' && liveAt === null && hasArrived;
}

/** Connectors in which, by default, a readable table can be created over another table's files (seen on 483). */
const SHARES_FILES: readonly string[] = ['hive'];
/** Connectors with a column that contains the whole stored row (read in their sources). */
const RAW_COLUMNS: readonly string[] = ['kafka', 'redis', 'elasticsearch', 'opensearch'];

const HIVE_PROPERTIES = 'hive.non-managed-table-creates-enabled=false\nhive.non-managed-table-writes-enabled=false';

/** Warnings, by name, on catalogs whose connector can bypass restrictions and that the settings do not list. */
export function openCatalogs(
  catalogs: readonly { catalog: string; connector: string }[],
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
