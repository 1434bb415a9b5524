import { NodeTimers, SystemClock } from '../../kernel/clock.js';
import { isHeaderText } from '../../kernel/name.js';
import { SystemRandom } from '../../kernel/ids.js';
import { unlessAborted } from '../../kernel/promises.js';
import { Secret } from '../../kernel/secret.js';
import { Log, type LogFields } from '../../platform/log/log.js';
import { Connection } from '../connection.js';
import { InterfaceError, refuseUnknown } from '../domain/db-api-errors.js';
import { type HeaderPrefix, sessionFor } from '../domain/engine-session.js';
import {
  BEARER,
  NO_SERVICE_TOKENS,
  ServiceTokenSource,
  TokenUnavailable,
  UNOBSERVED,
} from '../domain/service-token.js';
import { OAuthServiceTokenSource } from '../infrastructure/oauth-service-token-source.js';
import { TrinoStatementClient } from '../trino-statement-client.js';

export interface ConnectOptions {
  /** `https://host:port`, with a path where a gateway has the engine below one; nothing is sent to another origin. */
  url: string;
  /** The user whose rights apply. */
  user: string;
  /** Owner of the token, if it may act as the user. Default: the user. */
  originalUser?: string;
  /** Gives the Bearer token (JWT), as `clientCredentials` does. Without it requests carry none. */
  token?: TokenProvider;
  /** Password of the original user, for an engine with password authentication; instead of a token. */
  password?: string;
  /** Headers for a gateway in front of the engine, sent with every request; none that the client sends itself. */
  headers?: Readonly<Record<string, string>>;
  /** A file in PEM: its certificate authorities are trusted and no others; read again when it changes. */
  caFile?: string;
  /** Plain HTTP that calls itself forwarded from https, for an engine with `http-server.process-forwarded=true`. */
  forwardedProto?: 'https';
  /** Default X-Trino; X-Query where the engine has `protocol.v1.alternate-header-name=Query`. */
  headerPrefix?: HeaderPrefix;
  /** Names the application to the engine, whose resource groups may select by it. */
  source?: string;
  /** The engine's resource groups may select by them. */
  clientTags?: readonly string[];
  /** Credentials for systems behind the engine, by name. */
  extraCredentials?: Readonly<Record<string, string>>;
  catalog?: string;
  schema?: string;
  timeZone?: string;
  traceToken?: string;
  /** Session properties; a catalog's own is `catalog.name`. */
  properties?: Readonly<Record<string, string>>;
  /** Roles by catalog or `system`: `{ system: 'ROLE{admin}' }`. */
  roles?: Readonly<Record<string, string>>;
  /** Compression of pages. Default none: within a data centre, gzip costs more time than it saves. */
  compression?: 'none' | 'gzip';
  /** Bytes of the largest accepted page; the engine makes pages of a megabyte, or of one row. Default 32 MiB. */
  maxPageBytes?: number;
  /** Called with warnings, such as an unknown type. */
  onWarning?: OnWarning;
}

const MAX_PAGE_BYTES = 2 ** 25;

/** All options; an unknown one would be silently ignored. */
const OPTIONS = (
  'url user originalUser token password headers caFile forwardedProto headerPrefix source clientTags extraCredentials ' +
  'catalog schema timeZone traceToken properties roles compression maxPageBytes onWarning'
).split(' ');

/**
 * A connection to an engine, with sockets of its own. Nothing is sent before a statement is; closing it ends its statements.
 * @throws InterfaceError for an address that is none, an option that is not known, and credentials that would be sent over plain HTTP.
 */
export function connect(options: ConnectOptions): Connection {
  refuseUnknown(options, OPTIONS);
  const { user, originalUser = user, token, password = null, properties = {}, roles = {} } = options;
  const { headers = {}, clientTags = [], extraCredentials = {} } = options;
  const { origin, path, isLoopback } = addressOf(options.url);
  const forwardedProto = choice(options, 'forwardedProto', ['https']) ?? null;
  const hasCredentials = token !== undefined || password !== null || Object.keys(extraCredentials).length > 0;
  if (hasCredentials && origin.startsWith('http:') && !isLoopback && forwardedProto === null)
    throw new InterfaceError("credentials are sent over https only, or with forwardedProto: 'https'");
  if (password !== null && (token !== undefined || originalUser.includes(':')))
    throw new InterfaceError('a password goes with a user without a colon, and without a token');
  if (!Array.isArray(clientTags)) throw new InterfaceError('clientTags is not a list');
  const timers = new NodeTimers();
  const client = new TrinoStatementClient(
    {
      ...{ origin, path, headers: gatewayHeaders(headers), password, user: originalUser, forwardedProto },
      caFile: options.caFile ?? null,
      headerPrefix: choice(options, 'headerPrefix', ['X-Trino', 'X-Query']) ?? 'X-Trino',
      compression: choice(options, 'compression', ['none', 'gzip']) ?? 'none',
      largestPage: options.maxPageBytes ?? MAX_PAGE_BYTES,
    },
    token === undefined ? NO_SERVICE_TOKENS : new ProvidedTokens(token),
    timers,
    new SystemRandom(),
    new SystemClock(),
    new WarningLog(options.onWarning),
  );
  const { catalog = null, schema = null, timeZone = null, traceToken = null, source } = options;
  const session = sessionFor(user, {
    ...{ catalog, schema, timeZone, traceToken, clientTags },
    ...(source === undefined ? {} : { source }),
    extraCredentials: new Map(Object.entries(extraCredentials)),
    properties: new Map(Object.entries(properties)),
    roles: new Map(Object.entries(roles)),
  });
  return new Connection(client, timers, session, () => client.close());
}

function addressOf(address: string): { origin: string; path: string; isLoopback: boolean } {
  if (URL.canParse(address)) {
    const { origin, href, protocol, pathname, hostname } = new URL(address);
    const path = pathname.replace(/\/$/, '');
    const isPlain = origin + pathname === href && !/%|\/\//.test(pathname);
    const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
    if (isPlain && /^https?:$/.test(protocol)) return { origin, path, isLoopback };
  }
  throw new InterfaceError('the url is not http://host:port or https://host:port, with or without a path');
}

function choice<Name extends keyof ConnectOptions>(
  options: ConnectOptions,
  name: Name,
  known: readonly ConnectOptions[Name][],
): ConnectOptions[Name] {
  const given = options[name];
  if (given === undefined || known.includes(given)) return given;
  throw new InterfaceError(`${name} is none of ${known.join(', ')}`);
}

/** Headers of the protocol and of HTTP itself, which would be sent twice. */
const OWN =
  /^(x-(trino|query)-(user|original-user|source|client-tags|client-capabilities|catalog|schema|trace-token|time-zone|session|role|prepared-statement|extra-credential|query-data-encoding)|authorization|x-forwarded-proto|content-type|accept-encoding|host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer)$/i;

function gatewayHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    if (OWN.test(name)) throw new InterfaceError(`the header ${name} is sent by the client itself`);
    const isHeader = /^[!#$%&'*+.^`|~\w-]+$/.test(name) && typeof value === 'string' && isHeaderText(value);
    if (!isHeader) throw new InterfaceError(`the header ${JSON.stringify(name)} cannot be sent`);
  }
  return headers;
}

/**
 * Called before every request. It returns the same token while that is valid.
 * @param refused the last token, if the engine refused it: another one is returned then
 */
export type TokenProvider = (refused: string | null) => string | Promise<string>;

/** Tokens of the caller's provider. */
class ProvidedTokens extends ServiceTokenSource {
  private newest: string | null = null;

  constructor(private readonly provider: TokenProvider) {
    super();
  }

  override last(): string | null {
    return this.newest;
  }

  override keepFresh(): Promise<void> {
    return Promise.resolve();
  }

  override async current(refused: string | null = null, signal?: AbortSignal): Promise<string> {
    try {
      const token = await unlessAborted(Promise.resolve(this.provider(refused)), signal);
      if (!BEARER.test(token)) throw new TokenUnavailable('the token has characters that no Bearer token has');
      this.newest = token;
      return token;
    } catch (error) {
      signal?.throwIfAborted();
      throw new TokenUnavailable(error instanceof Error ? error.message : 'unknown', { cause: error });
    }
  }
}

export type OnWarning = (message: string, fields: LogFields) => void;

/** Warnings go to the caller; everything else of the log is of use to Grantline's operators alone. */
export class WarningLog extends Log {
  constructor(private readonly onWarning: OnWarning = () => undefined) {
    super();
  }

  override debug(): void {
    // No caller reads it.
  }

  override info(): void {
    // No caller reads it.
  }

  override warn(message: string, fields: LogFields = {}): void {
    this.onWarning(message, fields);
  }

  override error(message: string, fields: LogFields = {}): void {
    this.onWarning(message, fields);
  }
}

export interface ClientCredentials {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string;
  /** The provider's certificate authorities, as `caFile` of the engine. */
  caFile?: string;
  /** Called when no token can be had, and for a token without a usable life. */
  onWarning?: OnWarning;
}

/**
 * Tokens by OAuth's client-credentials grant (RFC 6749, 4.4), for any number of connections: one request for all callers, renewed
 * a minute before they expire, while the valid one is handed out.
 */
export function clientCredentials(client: ClientCredentials): TokenProvider {
  refuseUnknown(client, ['tokenUrl', 'clientId', 'clientSecret', 'scope', 'caFile', 'onWarning']);
  const { tokenUrl, clientId, clientSecret, scope = null, caFile = null } = client;
  const source = new OAuthServiceTokenSource(
    { tokenUrl, clientId, clientSecret: new Secret(clientSecret), scope, caFile },
    new NodeTimers(),
    new SystemRandom(),
    new SystemClock(),
    new WarningLog(client.onWarning),
    UNOBSERVED,
  );
  return (refused) => source.current(refused);
}
