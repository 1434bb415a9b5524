import { readFileSync } from 'node:fs';
import { developmentSecret } from './infrastructure/development-secret.js';
import { dataDir, parseSettings } from './settings-parser.js';
import type { Environment } from './settings-reader.js';
import type { Settings } from './settings.js';

/** Settings that cannot be used: every problem at once. The command line answers it with exit code 78 (EX_CONFIG). */
export class SettingsRefused extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`these settings cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'SettingsRefused';
  }
}

/** Secrets that may also be given as `NAME_FILE`. */
const SECRETS = [
  'AUTH_SECRET_KEY',
  'DATABASE_URL',
  'DATABASE_MIGRATION_URL',
  'SERVICE_QUERY_JWT_CLIENT_SECRET',
] as const;

/**
 * Reads the process's environment, the files that `…_FILE` names, and, outside production, the development secret.
 * @throws SettingsRefused with all problems.
 */
export async function loadSettings(environment: Environment = process.env): Promise<Settings> {
  const problems: string[] = [];
  const resolved: Record<string, string | undefined> = { ...environment };
  for (const name of SECRETS) {
    const file = environment[`${name}_FILE`];
    if (file === undefined || file === '') continue;
    if ((environment[name] ?? '') !== '') {
      problems.push(`${name} and ${name}_FILE are both set`);
      continue;
    }
    try {
      resolved[name] = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    } catch {
      problems.push(`${name}_FILE points at a file that cannot be read`);
    }
  }
  if (environment['NODE_ENV'] !== 'production' && (resolved['AUTH_SECRET_KEY'] ?? '') === '' && problems.length === 0) {
    resolved['AUTH_SECRET_KEY'] = await developmentSecret(dataDir(resolved));
  }
  if ((resolved['LOG_FORMAT'] ?? '') === '') resolved['LOG_FORMAT'] = process.stdout.isTTY ? 'pretty' : 'json';
  const { settings, problems: found } = parseSettings(resolved);
  if (problems.length + found.length > 0) throw new SettingsRefused([...problems, ...found]);
  return settings;
}

/**
 * Only what rules follow from, for commands that need neither a database nor a secret; what is wrong with the rest does not
 * concern them.
 * @throws SettingsRefused
 */
export function loadRuleSettings(environment: Environment = process.env): Pick<Settings, 'acl' | 'engine'> {
  const { settings, problems } = parseSettings(environment);
  const found = problems.filter((problem) =>
    /^(ACL_(?!CONFIGMAP|FILE|SYNC|TARGET)|SERVICE_QUERY_IMPERSONATION)/.test(problem),
  );
  if (found.length > 0) throw new SettingsRefused(found);
  return settings;
}
