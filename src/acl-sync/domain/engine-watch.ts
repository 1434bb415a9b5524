import type { RulesInForce } from '../../query-engine/domain/engine-error.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { RecentVersion } from './publication-history.js';
import type { PublicationSummary } from './publication.js';

/**
 * The longest expected time until the engine uses a published text: kubelet's sync and cache (120 s), the engine's refresh (60 s,
 * `security.refresh-period` in the chart's engine values), and a margin.
 */
export const LIVE_WITHIN_MS = 210_000;
/** Rules count as broken after this number of failed probes in a row. A single probe can fail while a file is being replaced. */
const BROKEN_THRESHOLD = 3;

export interface EngineWatch {
  version: number;
  /** Number of consecutive probes that showed that the engine cannot use its rules. */
  brokenCount: number;
  /** Whether a probe has found the engine with valid rules. */
  hasWorked: boolean;
  state: EngineState;
}

/**
 * The engine's use of the published version. `unknown`: no probe was answered yet. `pending`: the engine does not use the version yet.
 * `overdue`: the engine should use the version, but uses other rules. `broken`: the engine's rules are unusable.
 */
type EngineState = 'unknown' | 'live' | 'pending' | 'overdue' | 'broken';

type WatchedVersion = Pick<PublicationSummary, 'version' | 'liveAt' | 'publishedAt' | 'edit'>;

/**
 * The newest version that the engine must use by now although it was not seen to use it or a later one, preceded by the later ones; empty:
 * there is none. @param versions the newest first
 */
export function overdueVersions<T extends Pick<PublicationSummary, 'liveAt' | 'publishedAt' | 'isFound'>>(
  versions: readonly T[],
  now: Date,
): T[] {
  const seenIndex = versions.findIndex(({ liveAt, isFound }) => liveAt !== null || isFound);
  const awaited = seenIndex === -1 ? versions : versions.slice(0, seenIndex);
  return awaited.slice(0, awaited.findIndex(({ publishedAt }) => !isWithinBound(publishedAt, now)) + 1);
}

function isWithinBound(publishedAt: Date, now: Date): boolean {
  return now.getTime() - publishedAt.getTime() <= LIVE_WITHIN_MS;
}

/** The state after one more probe. A probe without an answer changes nothing. @param awaitedSince since when the engine should use another version */
export function nextWatch(
  formerWatch: EngineWatch | null,
  latest: WatchedVersion,
  formerVersion: Pick<PublicationSummary, 'version'> | undefined,
  answer: RulesInForce,
  now: Date,
  awaitedSince = latest.publishedAt,
): EngineWatch {
  const { version, liveAt } = latest;
  const knownWatch =
    formerWatch?.version === version
      ? formerWatch
      : firstWatch(latest, formerWatch?.version === formerVersion?.version && isSettled(formerWatch));
  switch (answer) {
    case 'these':
      return { version, brokenCount: 0, hasWorked: true, state: 'live' };
    case 'others': {
      const isInTime = liveAt === null && isWithinBound(awaitedSince, now);
      return { version, brokenCount: 0, hasWorked: true, state: isInTime ? 'pending' : 'overdue' };
    }
    case 'broken': {
      const brokenCount = knownWatch.brokenCount + 1;
      return {
        ...knownWatch,
        brokenCount,
        state: brokenCount >= BROKEN_THRESHOLD ? 'broken' : knownWatch.state,
      };
    }
    case 'unclear':
    case 'unreachable':
      return knownWatch;
  }
}

/** The state before a version's first probe. @param wasFormerUsed whether the last probe found the preceding version in use */
function firstWatch({ version, edit }: WatchedVersion, wasFormerUsed: boolean): EngineWatch {
  return { version, brokenCount: 0, hasWorked: wasFormerUsed && edit === null, state: 'unknown' };
}

/**
 * The texts that running statements may use: those of the newest live version and of all later versions. A version counts as live if
 * the engine was seen to use the version, or if LIVE_WITHIN_MS have passed since its publication.
 * @param recentVersions versions, the oldest first
 * @param isProbed whether the probed engine reads the only target. If not, the engine's answers do not count
 */
export function textsInUse(recentVersions: readonly RecentVersion[], isProbed: boolean, now: Date): string[] {
  const liveIndex = recentVersions.findLastIndex((version) => isTakenAsLive(version, isProbed, now));
  return recentVersions.slice(Math.max(0, liveIndex)).map(({ text }) => text ?? '');
}

export function isTakenAsLive(
  { liveAt, publishedAt }: Pick<RecentVersion, 'liveAt' | 'publishedAt'>,
  isProbed: boolean,
  now: Date,
): boolean {
  return (isProbed && liveAt !== null) || !isWithinBound(publishedAt, now);
}

/** Whether the engine uses the published version, and did not fail at the last probe. If not, the engine is probed again soon. */
export function isSettled(engineWatch: EngineWatch | null): boolean {
  return engineWatch?.state === 'live' && engineWatch.brokenCount === 0;
}

/** Whether this version makes the engine fail. False while the engine may still use an older version. */
export function failsOnVersion(
  { state, hasWorked }: EngineWatch,
  { liveAt, publishedAt }: Pick<PublicationSummary, 'liveAt' | 'publishedAt'>,
  now: Date,
): boolean {
  const hasArrived = hasWorked || !isWithinBound(publishedAt, now);
  return state === 'broken' && liveAt === null && hasArrived;
}

/** Connectors that by default let a user create a readable table over another table's files (seen on Trino 483). */
const FILE_SHARING_CONNECTORS: readonly string[] = ['hive'];
/** Connectors with a column that contains the whole stored row (read in their sources). */
const RAW_COLUMN_CONNECTORS: readonly string[] = ['kafka', 'redis', 'elasticsearch', 'opensearch'];

const HIVE_PROPERTIES = 'hive.non-managed-table-creates-enabled=false\nhive.non-managed-table-writes-enabled=false';

/** Warnings on catalogs that the settings do not list although their connector can bypass restrictions, sorted by catalog. */
export function openCatalogFindings(
  catalogs: readonly { catalog: string; connector: string }[],
  settings: Pick<SnapshotSettings, 'externalTableCatalogs' | 'rawColumnCatalogs'>,
): Finding[] {
  const sortedCatalogs = [...catalogs].sort((a, b) => (a.catalog < b.catalog ? -1 : 1));
  return sortedCatalogs.flatMap(({ catalog, connector }): Finding[] => {
    const catalogText = `catalog ${catalog} (${connector})`;
    if (FILE_SHARING_CONNECTORS.includes(connector) && !settings.externalTableCatalogs.includes(catalog)) {
      const problem =
        'a table can be made over the files of another, so that whoever owns a schema there reads restricted ones';
      const remedy = "set these lines in the catalog's file, or list it in ACL_EXTERNAL_TABLE_CATALOGS";
      return [openCatalogFinding(`${catalogText}: ${problem}; ${remedy}`, HIVE_PROPERTIES)];
    }
    if (RAW_COLUMN_CONNECTORS.includes(connector) && !settings.rawColumnCatalogs.includes(catalog)) {
      const problem = 'columns of the connector hold whole rows, so that they show hidden and masked values';
      return [openCatalogFinding(`${catalogText}: ${problem}; list it in ACL_RAW_COLUMN_CATALOGS`)];
    }
    return [];
  });
}

function openCatalogFinding(message: string, witness?: string): Finding {
  return { code: 'catalog-open', severity: 'warning', message, ...(witness !== undefined && { witness }) };
}
