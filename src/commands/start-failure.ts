import type { Database } from '../platform/database/database.js';
import { codeOf } from '../platform/files/plain-file.js';

/** An address to listen on, with the settings that decide it. */
export interface ListenAddress {
  host: string;
  port: number;
  settingNames: { host: string; port: string };
}

/** Listens on an address. @throws Error that names the setting and what to do */
export async function listenOn(
  address: ListenAddress,
  listen: (endpoint: { host: string; port: number }) => Promise<unknown>,
): Promise<void> {
  try {
    await listen({ host: address.host, port: address.port });
  } catch (error) {
    throw withAdvice(error, listenFailure(codeOf(error), address));
  }
}

/** Advice about a failure to listen; null: the error explains itself. */
export function listenFailure(code: string | null, { host, port, settingNames }: ListenAddress): string | null {
  const endpointText = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const unknownHostAdvice = `the name ${host} is not known: set ${settingNames.host} to an address of this machine`;
  const advice: Partial<Record<string, string>> = {
    EADDRINUSE: `${endpointText} is in use: end the other process, or set another ${settingNames.port} (0: any free one)`,
    EACCES: `this account may not listen on port ${port}: set ${settingNames.port} to 1024 or more`,
    EADDRNOTAVAIL: `${host} is no address of this machine: set ${settingNames.host} to one, such as 127.0.0.1 or 0.0.0.0`,
    ENOTFOUND: unknownHostAdvice,
    EAI_AGAIN: unknownHostAdvice,
  };
  return advice[code ?? ''] ?? null;
}

/** Runs work on the database. @throws Error that names the setting and what to do, if the database cannot be reached or refuses the connection */
export async function runOnDatabase<T>(
  { name }: Pick<Database, 'name'>,
  work: () => Promise<T>,
  setting = 'DATABASE_URL',
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const advice = databaseFailure(error, setting);
    throw withAdvice(error, advice && `cannot use the database ${name}: ${advice}`);
  }
}

/** Advice about an error of the driver or of PostgreSQL; null: the error is not about reaching the database. */
export function databaseFailure(error: unknown, setting: string): string | null {
  const code = codeOf(error) ?? '';
  const message = error instanceof Error ? error.message : '';
  const match = FAILURES.find(({ codes, messages }) => codes?.test(code) === true || messages?.test(message) === true);
  return match === undefined ? null : match.advice(setting, message);
}

interface KnownFailure {
  /** Matches error codes of Node or PostgreSQL (SQLSTATE). */
  codes?: RegExp;
  messages?: RegExp;
  advice: (setting: string, message: string) => string;
}

const FAILURES: readonly KnownFailure[] = [
  {
    codes: /^ECONNREFUSED$/,
    advice: (setting) => `nothing listens there: start PostgreSQL, or correct host and port of ${setting}`,
  },
  {
    codes: /^(ENOTFOUND|EAI_AGAIN)$/,
    advice: (setting) => `its host name is not known: correct the host of ${setting}, or the DNS of this machine`,
  },
  {
    codes: /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
    messages:
      /^(timeout expired|timeout exceeded when trying to connect|Connection terminated due to connection timeout)/,
    advice: (setting) =>
      `it does not answer: look at the network between (firewall, network policy), and at ${setting}`,
  },
  {
    codes: /^ECONNRESET$/,
    messages: /^Connection terminated unexpectedly/,
    advice: (setting) => `the connection was cut: is it PostgreSQL that listens there? See its log, and ${setting}`,
  },
  {
    messages: /^The server does not support SSL connections/,
    advice: (setting) => `it speaks no TLS: turn TLS on there, or take sslmode out of ${setting}`,
  },
  {
    codes: /^28/,
    messages: /^(SASL|password authentication failed|no pg_hba\.conf entry)|client password must be a string/,
    advice: (setting, message) =>
      `it refuses the sign-in (${message}): correct role, password or sslmode of ${setting}`,
  },
  {
    codes: /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|^ERR_(TLS|SSL)|^EPROTO$/,
    advice: (setting, message) =>
      `its certificate is not accepted (${message}): name the CA with sslrootcert=FILE in ${setting}, and the host that the certificate is for`,
  },
  { codes: /^3D000$/, advice: (setting, message) => `${message}: create it, or correct the name in ${setting}` },
  {
    codes: /^42501$/,
    advice: (_, message) =>
      `${message}: DATABASE_MIGRATION_URL needs the role that owns the schema; "grantline migrate" gives the other one its rights`,
  },
  { codes: /^ENOENT$/, advice: (setting, message) => `a file that ${setting} names cannot be read (${message})` },
  { codes: /^53300$/, advice: () => 'it has no connection left: raise max_connections, or lower DATABASE_POOL_MAX' },
  { codes: /^57P03$/, advice: () => 'it is starting or stopping: try again' },
];

/** An error with advice and the original's code, because people search for the code. */
function withAdvice(error: unknown, advice: string | null): unknown {
  if (advice === null) return error;
  const code = codeOf(error);
  return new Error(code === null ? advice : `${advice} (${code})`, { cause: error });
}
