import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { NamedError } from '../../kernel/errors.js';
import { Secret } from '../../kernel/secret.js';
import type { ServiceSettings } from '../../rules-files/check/file-invariants.js';
import { readInputFile } from '../files/input-file.js';
import { readPlainFile } from '../files/plain-file.js';
import { createFile } from '../files/whole-file.js';
import { LOOPBACK } from './oidc-settings.js';
import { dataFolderOf, type JudgeSchedule, parseSettings } from './settings-parser.js';
import { type Environment, type SettingsPart, SettingsReader } from './settings-reader.js';
import type { Settings } from './settings.js';

/** Error that lists every problem of the settings at once. It makes a command exit with code 78 (EX_CONFIG). */
export class SettingsRefused extends NamedError {
  constructor(readonly problems: readonly string[]) {
    super(`these settings cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const DATABASE_PARTS: readonly SettingsPart[] = ['process', 'database'];
const PUBLISHING_PARTS: readonly SettingsPart[] = [...DATABASE_PARTS, 'rules', 'publishing'];

/** The parts of the settings that each command uses. A command ignores problems of other parts. */
export const PARTS_BY_COMMAND = {
  serve: ['process', 'database', 'http', 'signing', 'hashing', 'sessions', 'engine', 'rules', 'publishing'],
  migrate: DATABASE_PARTS,
  'users create-admin': [...DATABASE_PARTS, 'hashing'],
  'users import': PUBLISHING_PARTS,
  'acl sync': PUBLISHING_PARTS,
  'acl approve': PUBLISHING_PARTS,
  'acl restore': PUBLISHING_PARTS,
  'acl explain': PUBLISHING_PARTS,
  'acl status': PUBLISHING_PARTS,
  'acl compile': ['rules'],
  'acl import': ['rules'],
  'snapshot export': PUBLISHING_PARTS,
  'snapshot apply': PUBLISHING_PARTS,
} as const satisfies Record<string, readonly SettingsPart[]>;

export type SettingsCommand = keyof typeof PARTS_BY_COMMAND;

/**
 * Reads the process's environment, the files that `…_FILE` settings name and, outside production, the development secret.
 * @param judgeSchedule as in `parseSettings`
 * @throws SettingsRefused with all problems that concern the command.
 */
export async function loadSettings(
  command: SettingsCommand,
  environment: Environment = process.env,
  judgeSchedule?: JudgeSchedule,
): Promise<Settings> {
  const neededParts: readonly SettingsPart[] = PARTS_BY_COMMAND[command];
  const usedEnvironment = { ...environment };
  const isBlank = (name: string): boolean => (usedEnvironment[name] ?? '').trim() === '';
  if (isBlank('LOG_FORMAT')) usedEnvironment['LOG_FORMAT'] = process.stdout.isTTY ? 'pretty' : 'json';
  const mayGenerateSecret = usedEnvironment['NODE_ENV'] !== 'production' && neededParts.includes('signing');
  if (mayGenerateSecret && isBlank('AUTH_SECRET_KEY') && isBlank('AUTH_SECRET_KEY_FILE')) {
    usedEnvironment['AUTH_SECRET_KEY'] = await developmentSecret(dataFolderOf(usedEnvironment));
  }
  const { settings, problems } = parseSettings(usedEnvironment, readFile, judgeSchedule);
  const relevantProblems = problems.filter(({ part }) => neededParts.includes(part));
  if (relevantProblems.length > 0) throw new SettingsRefused(relevantProblems.map(({ text }) => text));
  return settings;
}

/** Options of a command that works on the configured database or through the API of a running service. */
export interface RemoteOptions {
  url?: string;
  tokenFile?: string;
}

/** Address and token for a command that works through the API of a running service. */
export interface RemoteAccess {
  /** The address without a final slash. */
  url: string;
  token: Secret;
}

/**
 * Address and token by the options and the environment. The address must be https or of this machine, so that nobody can read the token.
 * @param url the command line's address; undefined: `GRANTLINE_URL` is used
 * @returns null: no service is named
 * @throws SettingsRefused
 */
export function loadRemoteAccess({ url: givenUrl, tokenFile }: RemoteOptions): RemoteAccess | null {
  const tokenSettings = tokenFile !== undefined && { GRANTLINE_TOKEN: undefined, GRANTLINE_TOKEN_FILE: tokenFile };
  const reader = new SettingsReader('process', { ...process.env, ...tokenSettings }, readFile);
  const address = givenUrl ?? reader.text('GRANTLINE_URL');
  if (address === null) {
    if (tokenFile === undefined) return null;
    throw new SettingsRefused(['--token-file is for a service: --url or GRANTLINE_URL names it']);
  }
  const name = givenUrl === undefined ? 'GRANTLINE_URL' : '--url';
  const url = URL.canParse(address) ? new URL(address) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    `${url.username}${url.password}${url.search}${url.hash}` !== ''
  )
    reader.report(name, 'must be the address of a service: https://HOST');
  else if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    reader.report(name, 'must begin with https://: over plain HTTP the token can be read on the way');
  const token = reader.secret('GRANTLINE_TOKEN');
  if (token === null)
    reader.report('GRANTLINE_TOKEN', `or GRANTLINE_TOKEN_FILE is required with ${name}: an API token`);
  else if (!/^[!-~]+$/.test(token)) reader.report('GRANTLINE_TOKEN', 'must be an API token');
  if (url === null || token === null || reader.problems.length > 0)
    throw new SettingsRefused(reader.problems.map(({ text }) => text));
  return { url: `${url.origin}${url.pathname.replace(/\/$/, '')}`, token: new Secret(token) };
}

/** The service accounts and catalogs in the environment, for a command that needs no other settings. */
export function loadServiceSettings(): ServiceSettings {
  const reader = new SettingsReader('rules', process.env, readFile);
  const metadataCatalog = reader.text('ACL_METADATA_CATALOG')?.trim();
  return {
    serviceAccounts: reader.list('ACL_SERVICE_ACCOUNTS'),
    writableCatalogs: reader.list('ACL_WRITABLE_CATALOGS'),
    readableCatalogs: reader.list('ACL_READABLE_CATALOGS'),
    metadataCatalog: metadataCatalog === undefined || metadataCatalog === 'none' ? null : metadataCatalog,
    externalTableCatalogs: reader.list('ACL_EXTERNAL_TABLE_CATALOGS'),
    rawColumnCatalogs: reader.list('ACL_RAW_COLUMN_CATALOGS'),
  };
}

/** The most bytes of a file that contains one setting. */
const MAX_BYTES = 64_000;

function readFile(path: string): string | null {
  const file = readInputFile(path, MAX_BYTES);
  return file.kind === 'read' ? file.bytes.toString() : null;
}

/**
 * The signing secret of a machine without settings, never used in production. It is made once and kept beside the development data, so that
 * sessions survive a restart. If two processes start together, both use the secret that was written first.
 */
export async function developmentSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, 'development-secret');
  mkdirSync(dataDir, { recursive: true });
  await createFile(file, randomBytes(48).toString('base64'), 0o600);
  return readPlainFile(file).trim();
}
