import { join, resolve } from 'node:path';
import { resourceNameProblem, sessionPropertyProblem } from '../../kernel/name.js';
import { Secret } from '../../kernel/secret.js';
import { readOidc } from './oidc-settings.js';
import { type Environment, type ReadFile, SettingsReader } from './settings-reader.js';

/** Folder of a pod's service account (Kubernetes, "Accessing the API from a Pod"). */
const POD = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Absolute path of the folder for development data. */
export function dataDir(environment: Environment): string {
  const directory = environment['DATA_DIR']?.trim() ?? '';
  return resolve(directory === '' ? '.data' : directory);
}

/** Parses texts to settings and all their problems, without side effects. */
export function parseSettings(environment: Environment, readFile: ReadFile = () => null) {
  const read = new SettingsReader('process', environment, readFile);
  const production = read.choice('NODE_ENV', 'development', ['development', 'test', 'production']) === 'production';
  read.text('DATA_DIR');
  const directory = dataDir(environment);
  const engine = readEngine(read.forPart('engine'), read.forPart('rules'));
  const scim = readScim(read.forPart('sessions'));
  const settings = {
    production,
    dataDir: directory,
    ...readHttp(read.forPart('http'), production),
    ...readDatabase(read.forPart('database'), production),
    auth: readAuth(read, production),
    oidc: readOidc(read.forPart('sessions'), production, scim),
    console: readConsole(read.forPart('sessions')),
    scim,
    engine,
    queries: readQueries(read.forPart('engine')),
    acl: readAcl(read.forPart('rules'), read.forPart('publishing'), directory, engine.user),
    log: {
      level: read.choice('LOG_LEVEL', 'info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
      format: read.choice('LOG_FORMAT', 'json', ['pretty', 'json']),
    },
  };
  return { settings: deepFreeze(settings), problems: read.problems, names: [...read.asked] };
}

function readHttp(read: SettingsReader, production: boolean) {
  const host = read.text('HOST') ?? (production ? '0.0.0.0' : '127.0.0.1');
  return {
    http: {
      host,
      port: read.integer('PORT', 3000, 0, 65535),
      trustedProxyHops: read.integer('TRUSTED_PROXY_HOPS', 0, 0, 16),
      corsOrigins: read.origins('CORS_ORIGINS'),
      /** Limit for receiving a request's headers and body together. */
      requestSeconds: read.integer('HTTP_REQUEST_TIMEOUT_SECONDS', 30, 1, 3600),
      /** How long an answer may wait for its client to read any of it. */
      sendSeconds: read.integer('HTTP_SEND_TIMEOUT_SECONDS', 60, 1, 3600),
    },
    operations: {
      host: read.text('OPERATIONS_HOST') ?? host,
      port: read.integer('OPERATIONS_PORT', 9464, 0, 65535),
    },
  };
}

function readDatabase(read: SettingsReader, production: boolean) {
  const address = (name: string) => read.url(name, ['postgres:', 'postgresql:'], read.secret(name));
  const [url, migrationUrl] = [address('DATABASE_URL'), address('DATABASE_MIGRATION_URL')];
  if (production && url === null) read.report('DATABASE_URL', 'is required in production');
  if (url === null && migrationUrl !== null) read.report('DATABASE_MIGRATION_URL', 'needs DATABASE_URL beside it');
  return {
    database: {
      /** Null: the embedded database. */
      url: hidden(url),
      migrationUrl: hidden(migrationUrl ?? url),
      poolMax: read.integer('DATABASE_POOL_MAX', 10, 2, 1000),
    },
    audit: { retentionDays: read.integer('AUDIT_RETENTION_DAYS', 365, 1, 36500) },
  };
}

function hidden(text: string | null): Secret | null {
  return text === null ? null : new Secret(text);
}

function readAuth(reader: SettingsReader, production: boolean) {
  const hashing = reader.forPart('hashing');
  const read = reader.forPart('sessions');
  const passwordSignInEnabled = read.flag('AUTH_PASSWORD_SIGN_IN_ENABLED', true);
  if (!passwordSignInEnabled && read.text('AUTH_OIDC_ISSUER') === null) {
    read.report(
      'AUTH_PASSWORD_SIGN_IN_ENABLED',
      'must be true without AUTH_OIDC_ISSUER: nobody but administrators could sign in',
    );
  }
  return {
    secretKey: readSecretKey(reader.forPart('signing')),
    accessTokenTtlMin: read.integer('AUTH_ACCESS_TOKEN_TTL_MIN', 30, 1, 1440),
    refreshTokenTtlDays: read.integer('AUTH_REFRESH_TOKEN_TTL_DAYS', 7, 1, 365),
    bcryptCost: hashing.integer('AUTH_BCRYPT_COST', 12, production ? 10 : 4, 15),
    hashQueueMax: hashing.integer('AUTH_HASH_QUEUE_MAX', 256, 64, 100000),
    registrationEnabled: read.flag('AUTH_REGISTRATION_ENABLED', true),
    /** Whether every user with a password can sign in by it; if false, only administrators can. */
    passwordSignInEnabled,
    /** How long an exchanged refresh token still gets the same pair again. */
    refreshRepeatSeconds: read.integer('AUTH_REFRESH_REPEAT_SECONDS', 0, 0, 300),
    sessionMaxDays: read.integer('AUTH_SESSION_MAX_DAYS', 30, 1, 3650),
    /** The longest lifetime of an API token. */
    tokenMaxDays: read.integer('AUTH_TOKEN_MAX_DAYS', 365, 1, 3650),
    throttle: {
      enabled: read.flag('AUTH_THROTTLE_ENABLED', true),
      windowSeconds: read.integer('AUTH_THROTTLE_WINDOW_SECONDS', 900, 1, 86400),
      perName: read.integer('AUTH_THROTTLE_PER_NAME', 10, 1, 100000),
      perAddress: read.integer('AUTH_THROTTLE_PER_ADDRESS', 100, 1, 1000000),
      registerPerHour: read.integer('AUTH_THROTTLE_REGISTER_PER_HOUR', 200, 1, 1000000),
    },
  };
}

function readConsole(read: SettingsReader) {
  return {
    enabled: read.flag('CONSOLE_ENABLED', true),
    idleHours: read.integer('AUTH_CONSOLE_IDLE_HOURS', 8, 1, 720),
  };
}

const MIB = 1_048_576;

/** Reads the connection to the engine and its token provider. @param rules reads the settings that decide the service's name in the rules */
function readEngine(read: SettingsReader, rules: SettingsReader) {
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
function readQueries(read: SettingsReader) {
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

function readAcl(read: SettingsReader, publishing: SettingsReader, directory: string, ownAccount: string) {
  const cron = publishing.text('ACL_SYNC_CRON') ?? '*/5 * * * *';
  if (!/^\S+( \S+){4,5}$/.test(cron)) publishing.report('ACL_SYNC_CRON', 'must have five or six fields');
  const target = readTarget(publishing, directory);
  const metadataCatalog = read.name('ACL_METADATA_CATALOG', (name) =>
    name === 'system' ? 'is closed anyway' : resourceNameProblem(name),
  );
  // Problems for which a run would refuse the rules.
  const openProblem = (name: string) =>
    name === 'system' || name === metadataCatalog
      ? 'must be neither the metadata catalog nor system'
      : resourceNameProblem(name);
  if (metadataCatalog === null && target.kind === 'configmap') {
    publishing.report(
      'ACL_METADATA_CATALOG',
      "is required with ACL_TARGET=configmap (none, if the engine has no catalog on this service's database)",
    );
  }
  return {
    sync: {
      enabled: publishing.flag('ACL_SYNC_ENABLED', true),
      cron,
      onChangeSeconds: publishing.integer('ACL_SYNC_ON_CHANGE_SECONDS', 10, 0, 3600),
    },
    target,
    /** Permissions of written files with rules or grants. */
    fileMode: read.fileMode('ACL_FILE_MODE', 0o640),
    /** All service accounts, including the service's own. */
    serviceAccounts: [...new Set([ownAccount, ...read.names('ACL_SERVICE_ACCOUNTS')])],
    writableCatalogs: read.names('ACL_WRITABLE_CATALOGS', openProblem),
    readableCatalogs: read.names('ACL_READABLE_CATALOGS', openProblem),
    metadataCatalog: metadataCatalog === 'none' ? null : metadataCatalog,
    sessionProperties: read.names('ACL_SESSION_PROPERTIES', sessionPropertyProblem),
    readersMaintain: read.flag('ACL_READERS_MAINTAIN', false),
    externalTableCatalogs: read.names('ACL_EXTERNAL_TABLE_CATALOGS', resourceNameProblem),
    rawColumnCatalogs: read.names('ACL_RAW_COLUMN_CATALOGS', resourceNameProblem),
    /** How long published versions are kept to be restored, and how many of them at least. */
    retentionDays: read.integer('ACL_RETENTION_DAYS', 90, 1, 36500),
    retentionVersions: read.integer('ACL_RETENTION_VERSIONS', 100, 1, 1000000),
    maxUnexplainedPercent: read.integer('ACL_MAX_UNEXPLAINED_PERCENT', 5, 0, 100),
    warnTableRules: read.integer('ACL_WARN_TABLE_RULES', 3000, 1, 1000000),
  };
}

function readTarget(read: SettingsReader, directory: string) {
  const folder = read.text('ACL_FILE_DIRECTORY');
  const namespace = read.text('ACL_CONFIGMAP_NAMESPACE');
  const name = read.text('ACL_CONFIGMAP_NAME');
  const service = read.text('KUBERNETES_SERVICE_HOST');
  const servicePort = read.text('KUBERNETES_SERVICE_PORT');
  const pod =
    service === null ? null : `https://${service.includes(':') ? `[${service}]` : service}:${servicePort ?? '443'}`;
  const apiUrl = read.url('KUBERNETES_API_URL', ['https:', 'http:']) ?? pod;
  const caFile = read.text('KUBERNETES_CA_FILE') ?? `${POD}/ca.crt`;
  const tokenFile = read.text('KUBERNETES_TOKEN_FILE') ?? `${POD}/token`;
  if (read.choice('ACL_TARGET', 'file', ['file', 'configmap']) === 'file') {
    return { kind: 'file' as const, directory: folder === null ? join(directory, 'acl') : resolve(folder) };
  }
  for (const [key, value] of [
    ['ACL_CONFIGMAP_NAMESPACE', namespace],
    ['ACL_CONFIGMAP_NAME', name],
    ['KUBERNETES_API_URL', apiUrl],
  ] as const) {
    if (value === null) read.report(key, 'is required with ACL_TARGET=configmap');
  }
  const map = { namespace: namespace ?? '', name: name ?? '', apiUrl: apiUrl ?? '' };
  return { kind: 'configmap' as const, ...map, caFile, tokenFile };
}

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFreeze(member);
  }
  return Object.freeze(value);
}

/** The least bytes of a token, as for the key that signs sessions. */
const LEAST_TOKEN = 32;

/** Tokens for SCIM's routes, two while one is being replaced. Without tokens the routes do not exist. */
function readScim(read: SettingsReader) {
  const given = read.secret('SCIM_TOKEN');
  const tokens = given === null ? [] : given.split(',').map((token) => token.trim());
  if (tokens.length > 2) read.report('SCIM_TOKEN', 'must hold one token, or two while one is replaced');
  if (tokens.some((token) => token.length < LEAST_TOKEN))
    read.report('SCIM_TOKEN', `must have at least ${LEAST_TOKEN} characters`);
  // Fewer than 10 different characters suggest a placeholder: 32 random bytes in hexadecimal have at least 14.
  if (tokens.some((token) => token.length >= LEAST_TOKEN && new Set(token).size < 10)) {
    read.report('SCIM_TOKEN', 'is weak: at least 10 different characters, such as openssl rand -hex 32');
  }
  // Only these characters can be in a bearer token (RFC 6750 section 2.1).
  if (tokens.some((token) => !/^[\w.~+/-]+=*$/.test(token))) {
    read.report('SCIM_TOKEN', 'must consist of letters, digits and -._~+/, with = at its end at most');
  }
  return { tokens: tokens.map((token) => new Secret(token)) };
}

/** Matches texts of sample keys and placeholders. */
const SAMPLE = /openssl|required|example|sample|placeholder|change[-_ ]?me|your[-_ ]?(secret|key)/i;

/** The signing key. Null: it is missing, which is a problem only for commands that sign tokens. */
function readSecretKey(read: SettingsReader): Secret | null {
  const secretKey = read.secret('AUTH_SECRET_KEY') ?? '';
  if (secretKey === '') read.report('AUTH_SECRET_KEY', 'is required');
  else if (isWeak(secretKey)) {
    read.report(
      'AUTH_SECRET_KEY',
      'is weak: at least 32 random bytes, such as openssl rand -base64 48; no sample, no repetition, no PEM file',
    );
  }
  return secretKey === '' ? null : new Secret(secretKey);
}

/**
 * Whether a key is too weak. A key for HS256 needs 256 bits (RFC 7518 section 3.2) that nobody else has: not a PEM file (its public half
 * is known, and other services read it), a sample or a repeated block. Few different characters suggest a placeholder.
 */
function isWeak(secret: string): boolean {
  return (
    Buffer.byteLength(secret) < 32 ||
    new Set(secret).size < 10 ||
    secret.includes('-----BEGIN ') ||
    SAMPLE.test(secret) ||
    period(secret) * 2 <= secret.length
  );
}

/** The length of the shortest block whose repetition makes the text. The last repetition may be cut off. */
function period(text: string): number {
  let length = 1;
  while (!text.startsWith(text.slice(length))) length += 1;
  return length;
}
