import { NodeTimers, SystemClock } from '../../kernel/clock.js';
import { isHeaderText } from '../../kernel/name.js';
import { SystemRandom } from '../../kernel/ids.js';
import { unlessAborted } from '../../kernel/promises.js';
import { Secret } from '../../kernel/secret.js';
import { Log, type LogFields } from '../../platform/log/log.js';
import { Connection } from '../connection.js';
import { InterfaceError, refuseUnknownOptions } from '../domain/db-api-errors.js';
import { type HeaderPrefix, sessionFor } from '../domain/engine-session.js';
import {
  BEARER_TOKEN,
  NO_SERVICE_TOKENS,
  ServiceTokenSource,
  TokenUnavailable,
  NO_OBSERVER,
} from '../domain/service-token.js';
import { OAuthServiceTokenSource } from '../infrastructure/oauth-service-token-source.js';
import { TrinoStatementClient } from '../trino-statement-client.js';

export interface ConnectOptions {
  /** `https://host:port`, with a path if a gateway serves the engine below that path. No request goes to another origin. */
  url: string;
  /** The user whose rights apply. */
  user: string;
  /** The user that the token or password belongs to. The engine must allow this user to impersonate `user`. Default: `user`. */
  originalUser?: string;
  /** Returns the Bearer token (JWT) of a request, for example `clientCredentials(…)`. Default: requests carry no token. */
  token?: TokenProvider;
  /** Password of the original user, instead of a token, for an engine with password authentication. */
  password?: string;
  /** Headers for a gateway in front of the engine, sent with every request. Headers that the client sends itself are refused. */
  headers?: Readonly<Record<string, string>>;
  /** Path of a PEM file with the only certificate authorities to trust. The file is read again when it changes. */
  caFile?: string;
  /** Sends plain HTTP marked as forwarded from https, for an engine with `http-server.process-forwarded=true`. */
  forwardedProto?: 'https';
  /** Prefix of the protocol's headers. Default: X-Trino. X-Query is for an engine with `protocol.v1.alternate-header-name=Query`. */
  headerPrefix?: HeaderPrefix;
  /** Name of the application. The engine's resource groups may select by it. */
  source?: string;
  /** Tags by which the engine's resource groups may select. */
  clientTags?: readonly string[];
  /** Credentials for systems behind the engine, by name. */
  extraCredentials?: Readonly<Record<string, string>>;
  catalog?: string;
  schema?: string;
  timeZone?: string;
  traceToken?: string;
  /** Session properties by name. A catalog's own property is named `catalog.name`. */
  properties?: Readonly<Record<string, string>>;
  /** Roles by catalog; system roles are under `system`: `{ system: 'ROLE{admin}' }`. */
  roles?: Readonly<Record<string, string>>;
  /** Compression of pages. Default none: within a data centre, gzip costs more time than it saves. */
  compression?: 'none' | 'gzip';
  /** Bytes of the largest accepted page. The engine's pages have about a megabyte, or a single larger row. Default 32 MiB. */
  maxPageBytes?: number;
  /** Called with warnings, such as an unknown type. */
  onWarning?: OnWarning;
}

const MAX_PAGE_BYTES = 2 ** 25;

/** Names of all options, to refuse unknown ones, which JavaScript would silently ignore. */
const OPTION_NAMES = (
  'url user originalUser token password headers caFile forwardedProto headerPrefix source clientTags extraCredentials ' +
  'catalog schema timeZone traceToken properties roles compression maxPageBytes onWarning'
).split(' ');

/**
 * A connection to an engine, with its own sockets. The first statement sends the first request; closing the connection ends its
 * statements. @throws InterfaceError for an invalid address, an unknown option, and credentials that would be sent over plain HTTP.
 */
export function connect(options: ConnectOptions): Connection {
  refuseUnknownOptions(options, OPTION_NAMES);
  const { user, originalUser = user, token, password = null, properties = {}, roles = {} } = options;
  const { headers = {}, clientTags = [], extraCredentials = {} } = options;
  const { origin, path, isLoopback } = addressOf(options.url);
  const forwardedProto = chosenOption(options, 'forwardedProto', ['https']) ?? null;
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
      headerPrefix: chosenOption(options, 'headerPrefix', ['X-Trino', 'X-Query']) ?? 'X-Trino',
      compression: chosenOption(options, 'compression', ['none', 'gzip']) ?? 'none',
      maxPageBytes: options.maxPageBytes ?? MAX_PAGE_BYTES,
    },
    token === undefined ? NO_SERVICE_TOKENS : new ProvidedTokens(token),
    timers,
    new SystemRandom(),
    new SystemClock(),
    warningLog(options.onWarning),
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
    const isCanonical = origin + pathname === href && !/%|\/\//.test(pathname);
    const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
    if (isCanonical && /^https?:$/.test(protocol)) return { origin, path, isLoopback };
  }
  throw new InterfaceError('the url is not http://host:port or https://host:port, with or without a path');
}

function chosenOption<Name extends keyof ConnectOptions>(
  options: ConnectOptions,
  name: Name,
  allowedValues: readonly ConnectOptions[Name][],
): ConnectOptions[Name] {
  const value = options[name];
  if (value === undefined || allowedValues.includes(value)) return value;
  throw new InterfaceError(`${name} is none of ${allowedValues.join(', ')}`);
}

/** Matches names of headers that the client sends itself, by the protocol or by HTTP. The option `headers` must not contain them. */
const PROTOCOL_HEADERS =
  /^(x-(trino|query)-(user|original-user|source|client-tags|client-capabilities|catalog|schema|trace-token|time-zone|session|role|prepared-statement|extra-credential|query-data-encoding)|authorization|x-forwarded-proto|content-type|accept-encoding|host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer)$/i;

function gatewayHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers)) {
    if (PROTOCOL_HEADERS.test(name)) throw new InterfaceError(`the header ${name} is sent by the client itself`);
    const isHeader = /^[!#$%&'*+.^`|~\w-]+$/.test(name) && typeof value === 'string' && isHeaderText(value);
    if (!isHeader) throw new InterfaceError(`the header ${JSON.stringify(name)} cannot be sent`);
  }
  return headers;
}

/**
 * A function that the client calls before every request. Returns a valid token, which may be the same for many requests.
 * @param refusedToken the last token if the engine refused it, so that the function must return another one; otherwise null
 */
export type TokenProvider = (refusedToken: string | null) => string | Promise<string>;

/** Adapts a caller's TokenProvider to the ServiceTokenSource that a connection needs. */
class ProvidedTokens extends ServiceTokenSource {
  private newestValue: string | null = null;

  constructor(private readonly provider: TokenProvider) {
    super();
  }

  override newestToken(): string | null {
    return this.newestValue;
  }

  override keepFresh(): Promise<void> {
    return Promise.resolve();
  }

  override async validToken(refusedToken: string | null = null, signal?: AbortSignal): Promise<string> {
    try {
      const token = await unlessAborted(Promise.resolve(this.provider(refusedToken)), signal);
      if (!BEARER_TOKEN.test(token)) throw new TokenUnavailable('the token has characters that no Bearer token has');
      this.newestValue = token;
      return token;
    } catch (error) {
      signal?.throwIfAborted();
      throw new TokenUnavailable(error instanceof Error ? error.message : 'unknown', { cause: error });
    }
  }
}

export type OnWarning = (message: string, fields: LogFields) => void;

/** A log that passes warnings to the caller. Drops all other entries, which are for operators of Grantline. */
function warningLog(onWarning: OnWarning = () => undefined): Log {
  const warn = (message: string, fields: LogFields = {}): void => onWarning(message, fields);
  return { debug: () => undefined, info: () => undefined, warn, error: warn, droppedLines: () => 0 };
}

export interface ClientCredentials {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string;
  /** Path of a PEM file with the provider's certificate authorities, like `caFile` of ConnectOptions. */
  caFile?: string;
  /** Called when no token can be obtained, and for a token without a usable lifetime. */
  onWarning?: OnWarning;
}

/**
 * A provider of tokens by OAuth's client-credentials grant (RFC 6749, 4.4), for any number of connections. Concurrent callers share one
 * request. A token is renewed a minute before it expires; until the new token arrives, callers get the old one.
 */
export function clientCredentials(client: ClientCredentials): TokenProvider {
  refuseUnknownOptions(client, ['tokenUrl', 'clientId', 'clientSecret', 'scope', 'caFile', 'onWarning']);
  const { tokenUrl, clientId, clientSecret, scope = null, caFile = null } = client;
  const source = new OAuthServiceTokenSource(
    { tokenUrl, clientId, clientSecret: new Secret(clientSecret), scope, caFile },
    new NodeTimers(),
    new SystemRandom(),
    new SystemClock(),
    warningLog(client.onWarning),
    NO_OBSERVER,
  );
  return (refusedToken) => source.validToken(refusedToken);
}
