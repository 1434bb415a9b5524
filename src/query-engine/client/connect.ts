import { SystemClock } from '../../kernel/clock.js';
import { SystemRandom } from '../../kernel/random.js';
import { NodeTimers } from '../../platform/infrastructure/node-timers.js';
import { Connection } from '../connection.js';
import { InterfaceError } from '../domain/db-api-errors.js';
import { type HeaderPrefix, sessionFor } from '../domain/engine-session.js';
import { NO_SERVICE_TOKENS } from '../domain/service-token-source.js';
import { TrinoStatementClient } from '../infrastructure/trino-statement-client.js';
import { ProvidedTokens, type TokenProvider } from './provided-tokens.js';
import { type OnWarning, WarningLog } from './warning-log.js';

export interface ConnectOptions {
  /** `http://host:port` or `https://host:port`; nothing is sent to another origin. */
  url: string;
  /** Whose rights apply. */
  user: string;
  /** Whom the token is of, where that is somebody else, who may act as the user. Default: the user. */
  originalUser?: string;
  /** Of the Bearer token (JWT), such as `clientCredentials` gives. Without it requests carry none. */
  token?: TokenProvider;
  /** A file in PEM: its certificate authorities are trusted and no others; read again when it changes. */
  caFile?: string;
  /** For an engine with `http-server.process-forwarded=true`: plain HTTP that calls itself forwarded from https. */
  forwardedProto?: 'https';
  /** Default X-Trino; X-Query where the engine has `protocol.v1.alternate-header-name=Query`. */
  headerPrefix?: HeaderPrefix;
  /** Names the application to the engine, whose resource groups may select by it. */
  source?: string;
  catalog?: string;
  schema?: string;
  timeZone?: string;
  traceToken?: string;
  /** Session properties; a catalog's own is `catalog.name`. */
  properties?: Readonly<Record<string, string>>;
  /** By catalog, or `system`: `{ system: 'ROLE{admin}' }`. */
  roles?: Readonly<Record<string, string>>;
  /** Of pages between engine and client. Default none: within a data centre, gzip costs more time than it saves. */
  compression?: 'none' | 'gzip';
  /**
   * Takes large results from where the engine spools them, if it does: from the engine itself, and from these origins of its store.
   * No token is sent there. Default: the engine sends all rows itself.
   */
  spooling?: { origins: readonly string[] };
  /** Bytes of the largest page that is taken; the engine makes pages of a megabyte, or of one row. Default 32 MiB. */
  maxPageBytes?: number;
  /** Called for what is odd and no error, such as a type that is not known. */
  onWarning?: OnWarning;
}

const MAX_PAGE_BYTES = 2 ** 25;

/**
 * A connection to an engine, with sockets of its own. Nothing is sent before a statement is; closing it ends its statements.
 * @throws InterfaceError for an address that is none, and for a token that would be sent over plain HTTP.
 */
export function connect(options: ConnectOptions): Connection {
  const { user, originalUser = user, token, properties = {}, roles = {} } = options;
  const origin = originOf(options.url);
  const forwardedProto = options.forwardedProto ?? null;
  if (token !== undefined && origin.startsWith('http:') && forwardedProto === null)
    throw new InterfaceError("a token is sent over https only, or with forwardedProto: 'https'");
  const timers = new NodeTimers();
  const client = new TrinoStatementClient(
    {
      ...{ origin, user: originalUser, forwardedProto, caFile: options.caFile ?? null },
      headerPrefix: options.headerPrefix ?? 'X-Trino',
      compression: options.compression ?? 'none',
      spooling: options.spooling ?? null,
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
    ...{ catalog, schema, timeZone, traceToken },
    ...(source === undefined ? {} : { source }),
    properties: new Map(Object.entries(properties)),
    roles: new Map(Object.entries(roles)),
  });
  return new Connection(client, timers, session, () => client.close());
}

function originOf(address: string): string {
  if (URL.canParse(address)) {
    const { origin, href, protocol } = new URL(address);
    if (`${origin}/` === href && /^https?:$/.test(protocol)) return origin;
  }
  throw new InterfaceError('the url is not http://host:port or https://host:port');
}
