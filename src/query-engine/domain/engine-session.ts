import { isHeaderText } from '../../kernel/name.js';
import { NamedError } from '../../kernel/errors.js';

/** The user of a statement, and the session state that carries over from one statement to the next. */
export interface EngineSession {
  /** The user whose rights apply, or the service itself. Never empty, because the engine would then use the service account. */
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

export function sessionFor(user: string, overrides: Partial<Omit<EngineSession, 'user'>> = {}): EngineSession {
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
    ...overrides,
  };
}

/** The prefix of the request headers. The engine refuses a request with both prefixes (Trino 483). */
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
 * @throws InvalidSession when a name is empty or has characters that a header cannot carry.
 */
export function sessionHeaders(session: EngineSession, prefix: HeaderPrefix, account: string): Record<string, string> {
  const headers: Record<string, string> = {
    [`${prefix}-User`]: headerText(session.user, 'user'),
    [`${prefix}-Original-User`]: headerText(account, 'original user'),
    [`${prefix}-Source`]: headerText(session.source, 'source'),
    // Without these capabilities the engine cuts times to milliseconds, omits the precision of types, and sends `number` as another type.
    [`${prefix}-Client-Capabilities`]: 'PARAMETRIC_DATETIME,NUMBER',
  };
  if (session.catalog !== null) headers[`${prefix}-Catalog`] = headerText(session.catalog, 'catalog');
  if (session.schema !== null) headers[`${prefix}-Schema`] = headerText(session.schema, 'schema');
  if (session.traceToken !== null) headers[`${prefix}-Trace-Token`] = headerText(session.traceToken, 'trace token');
  if (session.timeZone !== null) headers[`${prefix}-Time-Zone`] = headerText(session.timeZone, 'time zone');
  if (session.clientTags.length > 0) {
    const canBeJoined = session.clientTags.every((tag) => !tag.includes(','));
    headers[`${prefix}-Client-Tags`] = headerText(canBeJoined ? session.clientTags.join(',') : '', 'client tags');
  }
  if (session.extraCredentials.size > 0) headers[`${prefix}-Extra-Credential`] = pairsText(session.extraCredentials);
  if (session.properties.size > 0) headers[`${prefix}-Session`] = pairsText(session.properties);
  if (session.roles.size > 0) headers[`${prefix}-Role`] = pairsText(session.roles);
  if (session.preparedStatements.size > 0)
    headers[`${prefix}-Prepared-Statement`] = pairsText(session.preparedStatements);
  return headers;
}

function headerText(value: string, field: string): string {
  if (isHeaderText(value)) return value;
  throw new InvalidSession(field);
}

function pairsText(map: ReadonlyMap<string, string>): string {
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

/** Reads a response's session changes. @param headerValue returns a header's value by its lower-case name; if the header is repeated, its values joined by commas */
export function readSessionChange(headerValue: (name: string) => string | null, prefix: HeaderPrefix): SessionChange {
  const changeHeader = (name: string): string | null => headerValue(`${prefix}-${name}`.toLowerCase());
  return {
    catalog: changeHeader('Set-Catalog'),
    schema: changeHeader('Set-Schema'),
    setProperties: readPairs(changeHeader('Set-Session')),
    clearedProperties: readNames(changeHeader('Clear-Session')),
    setRoles: readPairs(changeHeader('Set-Role')),
    addedStatements: readPairs(changeHeader('Added-Prepare')),
    removedStatements: readNames(changeHeader('Deallocated-Prepare')),
  };
}

/** The session for the next statement of the same connection. */
export function sessionAfter(session: EngineSession, change: SessionChange): EngineSession {
  return {
    ...session,
    catalog: change.catalog ?? session.catalog,
    schema: change.schema ?? session.schema,
    properties: withChanges(session.properties, change.setProperties, change.clearedProperties),
    roles: withChanges(session.roles, change.setRoles, []),
    preparedStatements: withChanges(session.preparedStatements, change.addedStatements, change.removedStatements),
  };
}

function withChanges(
  currentMap: ReadonlyMap<string, string>,
  assignedPairs: readonly [string, string][],
  removedNames: readonly string[],
): ReadonlyMap<string, string> {
  const changedMap = new Map([...currentMap, ...assignedPairs]);
  for (const name of removedNames) changedMap.delete(name);
  return changedMap;
}

/** Reads `name=value` pairs. Values are percent-encoded, so commas and equals signs are always separators. */
function readPairs(value: string | null): [string, string][] {
  return (value ?? '').split(',').flatMap((pair) => {
    const equalsAt = pair.indexOf('=');
    return equalsAt === -1
      ? []
      : [[decodeValue(pair.slice(0, equalsAt)), decodeValue(pair.slice(equalsAt + 1))] satisfies [string, string]];
  });
}

function readNames(value: string | null): string[] {
  return (value ?? '')
    .split(',')
    .map(decodeValue)
    .filter((name) => name !== '');
}

/** Decodes a value that Java percent-encoded. Java writes a space as `+`. */
function decodeValue(text: string): string {
  try {
    return decodeURIComponent(text.trim().replaceAll('+', ' '));
  } catch {
    return text.trim();
  }
}
