import { Secret } from '../../kernel/secret.js';
import type { SettingsReader } from './settings-reader.js';

const MIB = 1_048_576;

/** Reads the connection to the engine and its token provider. @param rules reads the settings that decide the service's name in the rules */
export function readEngine(read: SettingsReader, rules: SettingsReader) {
  const scheme = read.choice('SERVICE_QUERY_SCHEME', 'http', ['http', 'https']);
  const host = read.text('SERVICE_QUERY_HOST');
  const port = read.integer('SERVICE_QUERY_PORT', 8080, 1, 65535);
  if (host !== null && !URL.canParse(`http://${host}:${port}`)) read.report('SERVICE_QUERY_HOST', 'is no host name');
  const enabled = rules.flag('SERVICE_QUERY_JWT_ENABLED', false);
  const user = rules.name('SERVICE_QUERY_USER');
  const issuerUrl = read.url('SERVICE_QUERY_JWT_ISSUER_URL', ['http:', 'https:']);
  const clientId = read.text('SERVICE_QUERY_JWT_CLIENT_ID');
  const clientSecret = read.secret('SERVICE_QUERY_JWT_CLIENT_SECRET');
  const tokenUrl =
    read.url('SERVICE_QUERY_JWT_TOKEN_URL', ['http:', 'https:']) ?? `${issuerUrl ?? ''}/protocol/openid-connect/token`;
  const tokenCaFile = read.certificates('SERVICE_QUERY_JWT_CA_FILE', tokenUrl.startsWith('https:'));
  const scope = read.text('SERVICE_QUERY_JWT_SCOPE');
  const audience = read.text('SERVICE_QUERY_JWT_AUDIENCE');
  if (enabled) {
    const needed = {
      SERVICE_QUERY_JWT_ISSUER_URL: issuerUrl,
      ...(user !== null && { SERVICE_QUERY_JWT_CLIENT_ID: clientId }),
      SERVICE_QUERY_JWT_CLIENT_SECRET: clientSecret,
      SERVICE_QUERY_HOST: host,
    };
    for (const [name, value] of Object.entries(needed)) {
      if (value === null) read.report(name, REQUIRED_WITH_JWT);
    }
    if (user === null && clientId === null) rules.report('SERVICE_QUERY_JWT_CLIENT_ID', REQUIRED_WITH_JWT);
  }
  return {
    /** `http://host:port` or `https://host:port`; null: no engine is configured. */
    origin: host === null ? null : `${scheme}://${host}:${port}`,
    /** The engine's certificate authorities in PEM, read again when they change; null: the platform's own. */
    caFile: read.certificates('SERVICE_QUERY_CA_FILE', scheme === 'https'),
    jwt: enabled
      ? {
          issuerUrl: issuerUrl ?? '',
          /** Address of the client-credentials grant. */
          tokenUrl,
          /** The token provider's certificate authorities, in the same form as the engine's. */
          caFile: tokenCaFile,
          clientId: clientId ?? '',
          clientSecret: new Secret(clientSecret ?? ''),
          /** Scope of the token request; null: none. */
          scope,
          audience,
        }
      : null,
    /** The service's own name on the engine. */
    user: user ?? (enabled ? `service-account-${clientId ?? ''}` : 'grantline'),
    headerPrefix: read.choice('SERVICE_QUERY_HEADER_PREFIX', 'X-Query', ['X-Query', 'X-Trino']),
    forwardedProto: read.choice<'' | 'https'>('SERVICE_QUERY_FORWARDED_PROTO', '', ['', 'https']) || null,
    compression: read.choice('SERVICE_QUERY_COMPRESSION', 'none', ['none', 'gzip']),
    impersonation: rules.flag('SERVICE_QUERY_IMPERSONATION_ENABLED', true),
  };
}

const REQUIRED_WITH_JWT = 'is required while SERVICE_QUERY_JWT_ENABLED is true';

/** Limits of queries. */
export function readQueries(read: SettingsReader) {
  const maxPageBytes = read.integer('QUERY_MAX_PAGE_BYTES', 32 * MIB, 2 * MIB, 128 * MIB);
  const maxHeldBytes = read.integer('QUERY_MAX_HELD_BYTES', 256 * MIB, 2 * MIB, 999_999_999);
  if (maxHeldBytes < maxPageBytes) read.report('QUERY_MAX_HELD_BYTES', 'must be at least QUERY_MAX_PAGE_BYTES');
  return {
    maxRunningPerUser: read.integer('QUERY_MAX_RUNNING_PER_USER', 5, 1, 1000),
    maxSeconds: read.integer('QUERY_MAX_SECONDS', 3600, 1, 604800),
    /** The most rows of a query; 0: no limit. */
    maxRows: read.integer('QUERY_MAX_ROWS', 0, 0, 999999999),
    /** The most bytes of one page of the engine. */
    maxPageBytes,
    /** The most bytes of all pages that this replica holds. Each user's share is a sixth, or one page if that is more. */
    maxHeldBytes,
    retentionDays: read.integer('QUERY_RETENTION_DAYS', 7, 1, 3650),
  };
}
