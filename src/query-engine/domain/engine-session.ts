import { isHeaderText } from '../../kernel/name.js';
import { NamedError } from '../../kernel/errors.js';

/** The user of a statement, and the session state that carries over from one statement to the next. */
export interface EngineSession {
  /** The user whose rights apply, or the service itself. Never empty, because the engine would run an empty one as the service account. */
  user: string;
  /** Name of the application. The engine's resource groups may select by it. */
  source: string;
  catalog: string | null;
  schema: string | null;
  traceToken: string | null;
  timeZone: string | null;
  /** Tags by which the engine's resource groups may select. */
  clientTags: readonly string[];
  /** Credentials for systems behind the engine, by name. */
  extraCredentials: ReadonlyMap<string, string>;
  /** Session properties by name; a catalog's own property is `catalog.name`. */
  properties: ReadonlyMap<string, string>;
  roles: ReadonlyMap<string, string>;
  preparedStatements: ReadonlyMap<string, string>;
}

export function sessionFor(user: string, given: Partial<Omit<EngineSession, 'user'>> = {}): EngineSession {
  return {
    user,
    source: 'grantline',
    catalog: null,
    schema: null,
    traceToken: null,
    timeZone: null,
    clientTags: [],
    extraCredentials: new Map(),
    properties: new Map(),
    roles: new Map(),
    preparedStatements: new Map(),
    ...given,
  };
}

/** The names of the request headers; the engine refuses a request that mixes the two (Trino 483). */
export type HeaderPrefix = 'X-Query' | 'X-Trino';

/** A session that headers cannot carry. The message names the field, not its content. */
export class InvalidSession extends NamedError {
  constructor(readonly field: string) {
    super(`the ${field} is empty or has characters that no header can carry`);
  }
}

/**
 * The session as request headers with one prefix. The service is always named as the original user, so that the engine applies
 * its impersonation rules whether it verifies tokens or not.
 *
 * @throws InvalidSession when a name is empty or has characters that a header cannot carry.
 */
export function sessionHeaders(session: EngineSession, prefix: HeaderPrefix, service: string): Record<string, string> {
  const headers: Record<string, string> = {
    [`${prefix}-User`]: headerText(session.user, 'user'),
    [`${prefix}-Original-User`]: headerText(service, 'original user'),
    [`${prefix}-Source`]: headerText(session.source, 'source'),
    // Without these, times are cut to milliseconds, types are named without precision, and `number` is sent as another type.
    [`${prefix}-Client-Capabilities`]: 'PARAMETRIC_DATETIME,NUMBER',
  };
  if (session.catalog !== null) headers[`${prefix}-Catalog`] = headerText(session.catalog, 'catalog');
  if (session.schema !== null) headers[`${prefix}-Schema`] = headerText(session.schema, 'schema');
  if (session.traceToken !== null) headers[`${prefix}-Trace-Token`] = headerText(session.traceToken, 'trace token');
  if (session.timeZone !== null) headers[`${prefix}-Time-Zone`] = headerText(session.timeZone, 'time zone');
  if (session.clientTags.length > 0) {
    const isList = session.clientTags.every((tag) => !tag.includes(','));
    headers[`${prefix}-Client-Tags`] = headerText(isList ? session.clientTags.join(',') : '', 'client tags');
  }
  if (session.extraCredentials.size > 0) headers[`${prefix}-Extra-Credential`] = pairs(session.extraCredentials);
  if (session.properties.size > 0) headers[`${prefix}-Session`] = pairs(session.properties);
  if (session.roles.size > 0) headers[`${prefix}-Role`] = pairs(session.roles);
  if (session.preparedStatements.size > 0) headers[`${prefix}-Prepared-Statement`] = pairs(session.preparedStatements);
  return headers;
}

function headerText(value: string, field: string): string {
  if (isHeaderText(value)) return value;
  throw new InvalidSession(field);
}

function pairs(map: ReadonlyMap<string, string>): string {
  return [...map].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join(',');
}

/** Session changes in a response's headers: USE, SET SESSION, SET ROLE, PREPARE and their opposites. */
export interface SessionChange {
  catalog: string | null;
  schema: string | null;
  setProperties: readonly [string, string][];
  clearedProperties: readonly string[];
  setRoles: readonly [string, string][];
  addedStatements: readonly [string, string][];
  removedStatements: readonly string[];
}

/** @param header returns a response header by its lower-case name. Values of a repeated header are joined by commas. */
export function readSessionChange(header: (name: string) => string | null, prefix: HeaderPrefix): SessionChange {
  const of = (name: string): string | null => header(`${prefix}-${name}`.toLowerCase());
  return {
    catalog: of('Set-Catalog'),
    schema: of('Set-Schema'),
    setProperties: readPairs(of('Set-Session')),
    clearedProperties: readNames(of('Clear-Session')),
    setRoles: readPairs(of('Set-Role')),
    addedStatements: readPairs(of('Added-Prepare')),
    removedStatements: readNames(of('Deallocated-Prepare')),
  };
}

/** The session for the next statement of the same connection. */
export function sessionAfter(session: EngineSession, change: SessionChange): EngineSession {
  return {
    ...session,
    catalog: change.catalog ?? session.catalog,
    schema: change.schema ?? session.schema,
    properties: updated(session.properties, change.setProperties, change.clearedProperties),
    roles: updated(session.roles, change.setRoles, []),
    preparedStatements: updated(session.preparedStatements, change.addedStatements, change.removedStatements),
  };
}

function updated(
  map: ReadonlyMap<string, string>,
  set: readonly [string, string][],
  removed: readonly string[],
): ReadonlyMap<string, string> {
  const next = new Map([...map, ...set]);
  for (const name of removed) next.delete(name);
  return next;
}

/** Reads `name=value` pairs. Values are percent-encoded, so commas and equals signs are always separators. */
function readPairs(value: string | null): [string, string][] {
  return (value ?? '').split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at === -1 ? [] : [[decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))] satisfies [string, string]];
  });
}

function readNames(value: string | null): string[] {
  return (value ?? '')
    .split(',')
    .map(decoded)
    .filter((name) => name !== '');
}

/** Decodes percent-encoding by Java, which writes a space as `+`. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim().replaceAll('+', ' '));
  } catch {
    return text.trim();
  }
}
