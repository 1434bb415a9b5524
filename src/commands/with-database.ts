import { type Database, openDatabase } from '../platform/database/database.js';
import { createPino, PinoLog } from '../platform/log/pino-log.js';
import type { Log } from '../platform/log/log.js';
import { loadSettings, type SettingsUser } from '../platform/settings/settings-loader.js';
import type { Settings } from '../platform/settings/settings.js';
import { Lifetime } from './lifetime.js';
import { remark } from './output.js';

/** The context of a command that uses the database. */
export interface CommandContext {
  settings: Settings;
  /** To standard error: standard output is the command's answer. */
  log: Log;
  database: Database;
  lifetime: Lifetime;
}

/** These may begin with an empty database. Any other one, in the wrong folder, would answer out of it. */
const CREATORS: ReadonlySet<SettingsUser> = new Set<SettingsUser>(['migrate', 'users create-admin']);

export function mayCreate(command: SettingsUser): boolean {
  return CREATORS.has(command);
}

/** Runs a command's work on the database, which is released also when the work fails or a signal ends it. */
export async function withDatabase<T>(
  command: SettingsUser,
  work: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const settings = await loadSettings(command);
  const log = new PinoLog(createPino({ ...settings.log, level: 'warn' }, process.stderr));
  const lifetime = new Lifetime(log);
  return lifetime.run(async () => {
    const opening = openDatabase(settings, { mayCreate: mayCreate(command), report: remark });
    const database = await lifetime.open(opening, (opened) => opened.release());
    remark(`database: ${database.name}`);
    return work({ settings, log, database, lifetime });
  });
}
