import type { LogMarker } from '../kernel/log-marker.js';
import { Secret } from '../kernel/secret.js';
import { joinEmbeddedPostgres } from './infrastructure/embedded-postgres.js';
import type { Settings } from './settings.js';

/** How the service's role reaches the database in use; the password is in it. */
export class DatabaseUrl extends Secret {}

/** The database in use: the configured one, or the embedded one, which may stop after its `release`. */
export interface Database {
  url: string;
  migrationUrl: string;
  release(): Promise<void>;
}

/** @throws Error with a readable message when the embedded database cannot start. */
export async function openDatabase(settings: Settings, report: (line: LogMarker) => void): Promise<Database> {
  const { url, migrationUrl } = settings.database;
  if (url === null || migrationUrl === null) return joinEmbeddedPostgres(settings.dataDir, report);
  return { url: url.reveal(), migrationUrl: migrationUrl.reveal(), release: () => Promise.resolve() };
}
