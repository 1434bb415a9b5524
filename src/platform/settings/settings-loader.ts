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
import { dataDir, parseSettings } from './settings-parser.js';
import { type Environment, type Part, SettingsReader } from './settings-reader.js';
import type { Settings } from './settings.js';

/** Reports every problem of unusable settings at once. The command line then exits with code 78 (EX_CONFIG). */
export class SettingsRefused extends NamedError {
  constructor(readonly problems: readonly string[]) {
    super(`these settings cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const DATABASE: readonly Part[] = ['process', 'database'];
const PUBLISHING: readonly Part[] = [...DATABASE, 'rules', 'publishing'];

/** The parts of the settings that each command uses. Problems of other parts are ignored. */
export const NEEDS = {
  serve: ['process', 'database', 'http', 'signing', 'hashing', 'sessions', 'engine', 'rules', 'publishing'],
  migrate: DATABASE,
  'users create-admin': [...DATABASE, 'hashing'],
  'users import': PUBLISHING,
  'acl sync': PUBLISHING,
  'acl approve': PUBLISHING,
  'acl restore': PUBLISHING,
  'acl explain': PUBLISHING,
  'acl status': PUBLISHING,
  'acl compile': ['rules'],
  'acl import': ['rules'],
  'snapshot export': PUBLISHING,
  'snapshot apply': PUBLISHING,
} as const satisfies Record<string, readonly Part[]>;

export type SettingsUser = keyof typeof NEEDS;

/**
 * Reads the process's environment, the files that `…_FILE` settings name and, outside production, the development secret.
 * @throws SettingsRefused with all problems that concern the command.
 */
export async function loadSettings(command: SettingsUser, environment: Environment = process.env): Promise<Settings> {
  const needed: readonly Part[] = NEEDS[command];
  const given = { ...environment };
  const lacks = (name: string): boolean => (given[name] ?? '').trim() === '';
  if (lacks('LOG_FORMAT')) given['LOG_FORMAT'] = process.stdout.isTTY ? 'pretty' : 'json';
  const mayGenerate = given['NODE_ENV'] !== 'production' && needed.includes('signing');
  if (mayGenerate && lacks('AUTH_SECRET_KEY') && lacks('AUTH_SECRET_KEY_FILE')) {
    given['AUTH_SECRET_KEY'] = await developmentSecret(dataDir(given));
  }
  const { settings, problems } = parseSettings(given, readFile);
  const own = problems.filter(({ part }) => needed.includes(part));
  if (own.length > 0) throw new SettingsRefused(own.map(({ text }) => text));
  return settings;
}

/** Options of a command that works on the configured database or through the API of a running service. */
export interface RemoteOptions {
  url?: string;
  tokenFile?: string;
}

/** Address and token of the service, for a command that works through its API. */
export interface RemoteAccess {
  /** The address without a final slash. */
  url: string;
  token: Secret;
}

/**
 * The service to use. Its address must be https or of this machine, because anybody who reads the token on the way could use it.
 *
 * @param given the command line's address; undefined: `GRANTLINE_URL` and `GRANTLINE_TOKEN` or `GRANTLINE_TOKEN_FILE` count
 * @returns null: nothing names a service
 * @throws SettingsRefused
 */
export function loadRemoteAccess({ url: given, tokenFile }: RemoteOptions): RemoteAccess | null {
  const named = tokenFile !== undefined && { GRANTLINE_TOKEN: undefined, GRANTLINE_TOKEN_FILE: tokenFile };
  const read = new SettingsReader('process', { ...process.env, ...named }, readFile);
  const address = given ?? read.text('GRANTLINE_URL');
  if (address === null) {
    if (tokenFile === undefined) return null;
    throw new SettingsRefused(['--token-file is for a service: --url or GRANTLINE_URL names it']);
  }
  const name = given === undefined ? 'GRANTLINE_URL' : '--url';
  const url = URL.canParse(address) ? new URL(address) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    `${url.username}${url.password}${url.search}${url.hash}` !== ''
  )
    read.report(name, 'must be the address of a service: https://HOST');
  else if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    read.report(name, 'must begin with https://: over plain HTTP the token can be read on the way');
  const token = read.secret('GRANTLINE_TOKEN');
  if (token === null) read.report('GRANTLINE_TOKEN', `or GRANTLINE_TOKEN_FILE is required with ${name}: an API token`);
  else if (!/^[!-~]+$/.test(token)) read.report('GRANTLINE_TOKEN', 'must be an API token');
  if (url === null || token === null || read.problems.length > 0)
    throw new SettingsRefused(read.problems.map(({ text }) => text));
  return { url: `${url.origin}${url.pathname.replace(/\/$/, '')}`, token: new Secret(token) };
}

/** The service accounts and catalogs that the environment names, for a command that needs no settings. */
export function loadServiceSettings(): ServiceSettings {
  const read = new SettingsReader('rules', process.env, readFile);
  const metadataCatalog = read.text('ACL_METADATA_CATALOG')?.trim();
  return {
    serviceAccounts: read.list('ACL_SERVICE_ACCOUNTS'),
    writableCatalogs: read.list('ACL_WRITABLE_CATALOGS'),
    readableCatalogs: read.list('ACL_READABLE_CATALOGS'),
    metadataCatalog: metadataCatalog === undefined || metadataCatalog === 'none' ? null : metadataCatalog,
    externalTableCatalogs: read.list('ACL_EXTERNAL_TABLE_CATALOGS'),
    rawColumnCatalogs: read.list('ACL_RAW_COLUMN_CATALOGS'),
  };
}

/** The largest file with one setting, in bytes. */
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
