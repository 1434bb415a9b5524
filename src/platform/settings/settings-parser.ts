import { resolve } from 'node:path';
import { resourceNameProblem, sessionPropertyProblem } from '../../kernel/name.js';
import { Secret } from '../../kernel/secret.js';
import { misspeltNames } from './misspelt-names.js';
import { readOidc } from './oidc-settings.js';
import { type Environment, type ReadFile, SettingsReader } from './settings-reader.js';
import { readTargets } from './target-settings.js';

/** Absolute path of the folder for development data. */
export function dataFolderOf(environment: Environment): string {
  const directory = environment['DATA_DIR']?.trim() ?? '';
  return resolve(directory === '' ? '.data' : directory);
}

/**
 * Parses texts to settings and all their problems, without side effects.
 * @param judgeSchedule says why a schedule of five or six fields cannot be used; null: it can. Only `serve` needs it, and the package `cron`
 */
export function parseSettings(
  environment: Environment,
  readFile: ReadFile = () => null,
  judgeSchedule: JudgeSchedule = () => null,
) {
  const reader = new SettingsReader('process', environment, readFile);
  const isProduction = reader.choice('NODE_ENV', 'development', ['development', 'test', 'production']) === 'production';
  reader.text('DATA_DIR');
  const directory = dataFolderOf(environment);
  const engine = readEngine(reader.forPart('engine'), reader.forPart('rules'));
  // Without tokens SCIM is off, and its routes answer 404.
  const scim = { tokens: reader.forPart('sessions').tokens('SCIM_TOKEN') };
  const settings = {
    isProduction,
    dataDir: directory,
    ...readHttp(reader.forPart('http'), isProduction),
    ...readDatabase(reader.forPart('database'), isProduction),
    auth: readAuth(reader, isProduction),
    oidc: readOidc(reader.forPart('sessions'), isProduction, scim),
    console: readConsole(reader.forPart('sessions')),
    scim,
    engine,
    queries: readQueries(reader.forPart('engine')),
    acl: readAcl(reader, isProduction, directory, engine.user, judgeSchedule),
    log: {
      level: reader.choice('LOG_LEVEL', 'info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
      format: reader.choice('LOG_FORMAT', 'json', ['pretty', 'json']),
    },
  };
  const names = [...reader.namesRead];
  const misspelt = misspeltNames(Object.keys(environment), names);
  return { settings: deepFreeze({ ...settings, misspelt }), problems: reader.problems, names };
}

function readHttp(reader: SettingsReader, isProduction: boolean) {
  const host = reader.text('HOST') ?? (isProduction ? '0.0.0.0' : '127.0.0.1');
  return {
    http: {
      host,
      port: reader.integer('PORT', 3000, 0, 65535),
      trustedProxyHops: reader.integer('TRUSTED_PROXY_HOPS', 0, 0, 16),
      corsOrigins: reader.origins('CORS_ORIGINS'),
      /** Limit for receiving a request's headers and body together. */
      requestSeconds: reader.integer('HTTP_REQUEST_TIMEOUT_SECONDS', 30, 1, 3600),
      /** The longest time for which a client may read nothing of an answer. */
      sendSeconds: reader.integer('HTTP_SEND_TIMEOUT_SECONDS', 60, 1, 3600),
    },
    operations: {
      host: reader.text('OPERATIONS_HOST') ?? host,
      port: reader.integer('OPERATIONS_PORT', 9464, 0, 65535),
    },
  };
}

function readDatabase(reader: SettingsReader, isProduction: boolean) {
  const urlOf = (name: string) => reader.url(name, ['postgres:', 'postgresql:'], reader.secret(name));
  const [url, migrationUrl] = [urlOf('DATABASE_URL'), urlOf('DATABASE_MIGRATION_URL')];
  if (isProduction && url === null) reader.report('DATABASE_URL', 'is required in production');
  if (url === null && migrationUrl !== null) reader.report('DATABASE_MIGRATION_URL', 'needs DATABASE_URL beside it');
  return {
    database: {
      /** URL for the service's role; null: the embedded database is used. */
      url: secretOf(url),
      migrationUrl: secretOf(migrationUrl ?? url),
      poolMax: reader.integer('DATABASE_POOL_MAX', 10, 2, 1000),
    },
    audit: { retentionDays: reader.integer('AUDIT_RETENTION_DAYS', 365, 1, 36500) },
  };
}

function secretOf(text: string | null): Secret | null {
  return text === null ? null : new Secret(text);
}

function readAuth(allPartsReader: SettingsReader, isProduction: boolean) {
  const hashingReader = allPartsReader.forPart('hashing');
  const reader = allPartsReader.forPart('sessions');
  const passwordSignInEnabled = reader.flag('AUTH_PASSWORD_SIGN_IN_ENABLED', true);
  if (!passwordSignInEnabled && reader.text('AUTH_OIDC_ISSUER') === null) {
    reader.report(
      'AUTH_PASSWORD_SIGN_IN_ENABLED',
      'must be true without AUTH_OIDC_ISSUER: nobody but administrators could sign in',
    );
  }
  return {
    secretKey: readSecretKey(allPartsReader.forPart('signing')),
    accessTokenTtlMin: reader.integer('AUTH_ACCESS_TOKEN_TTL_MIN', 30, 1, 1440),
    refreshTokenTtlDays: reader.integer('AUTH_REFRESH_TOKEN_TTL_DAYS', 7, 1, 365),
    bcryptCost: hashingReader.integer('AUTH_BCRYPT_COST', 12, isProduction ? 10 : 4, 15),
    hashQueueMax: hashingReader.integer('AUTH_HASH_QUEUE_MAX', 256, 64, 100000),
    registrationEnabled: reader.flag('AUTH_REGISTRATION_ENABLED', true),
    /** Whether every user with a password can use it to sign in. If false, only administrators can. */
    passwordSignInEnabled,
    /** How long an exchanged refresh token can be sent again to get the same pair of new tokens. */
    refreshRepeatSeconds: reader.integer('AUTH_REFRESH_REPEAT_SECONDS', 0, 0, 300),
    sessionMaxDays: reader.integer('AUTH_SESSION_MAX_DAYS', 30, 1, 3650),
    /** The longest lifetime of an API token. */
    tokenMaxDays: reader.integer('AUTH_TOKEN_MAX_DAYS', 365, 1, 3650),
    throttle: {
      enabled: reader.flag('AUTH_THROTTLE_ENABLED', true),
      windowSeconds: reader.integer('AUTH_THROTTLE_WINDOW_SECONDS', 900, 1, 86400),
      attemptsPerName: reader.integer('AUTH_THROTTLE_PER_NAME', 10, 1, 100000),
      attemptsPerAddress: reader.integer('AUTH_THROTTLE_PER_ADDRESS', 100, 1, 1000000),
      registerPerHour: reader.integer('AUTH_THROTTLE_REGISTER_PER_HOUR', 200, 1, 1000000),
    },
  };
}

function readConsole(reader: SettingsReader) {
  return {
    enabled: reader.flag('CONSOLE_ENABLED', true),
    idleHours: reader.integer('AUTH_CONSOLE_IDLE_HOURS', 8, 1, 720),
  };
}

const MIB = 1_048_576;

/** Reads the connections to the engine and to its token provider. @param rulesReader a reader of settings that the rules depend on */
function readEngine(reader: SettingsReader, rulesReader: SettingsReader) {
  const scheme = reader.choice('SERVICE_QUERY_SCHEME', 'http', ['http', 'https']);
  const host = reader.text('SERVICE_QUERY_HOST');
  const port = reader.integer('SERVICE_QUERY_PORT', 8080, 1, 65535);
  const isHost = host === null || (!/[/\\?#@]/.test(host) && URL.canParse(`http://${host}:${port}`)); // no scheme, path or credentials
  if (!isHost) reader.report('SERVICE_QUERY_HOST', 'must be a host name alone');
  const isJwtEnabled = rulesReader.flag('SERVICE_QUERY_JWT_ENABLED', false);
  const engineUser = rulesReader.name('SERVICE_QUERY_USER');
  const issuerUrl = reader.baseUrl('SERVICE_QUERY_JWT_ISSUER_URL');
  const clientId = reader.text('SERVICE_QUERY_JWT_CLIENT_ID');
  const clientSecret = reader.secret('SERVICE_QUERY_JWT_CLIENT_SECRET');
  const tokenUrl =
    reader.url('SERVICE_QUERY_JWT_TOKEN_URL', ['http:', 'https:']) ??
    `${issuerUrl ?? ''}/protocol/openid-connect/token`;
  const tokenCaFile = reader.certificates('SERVICE_QUERY_JWT_CA_FILE', tokenUrl.startsWith('https:'));
  const scope = reader.text('SERVICE_QUERY_JWT_SCOPE');
  const audience = reader.text('SERVICE_QUERY_JWT_AUDIENCE');
  if (isJwtEnabled) {
    const requiredSettings = {
      SERVICE_QUERY_JWT_ISSUER_URL: issuerUrl,
      ...(engineUser !== null && { SERVICE_QUERY_JWT_CLIENT_ID: clientId }),
      SERVICE_QUERY_JWT_CLIENT_SECRET: clientSecret,
      SERVICE_QUERY_HOST: host,
    };
    for (const [name, value] of Object.entries(requiredSettings)) {
      if (value === null) reader.report(name, REQUIRED_WITH_JWT);
    }
    if (engineUser === null && clientId === null) rulesReader.report('SERVICE_QUERY_JWT_CLIENT_ID', REQUIRED_WITH_JWT);
  }
  return {
    /** `http://host:port` or `https://host:port`; null: no engine is configured. */
    origin: host === null ? null : `${scheme}://${host}:${port}`,
    /** A PEM file of the certificate authorities for the engine, read again when it changes; null: those of the platform. */
    caFile: reader.certificates('SERVICE_QUERY_CA_FILE', scheme === 'https'),
    jwt: isJwtEnabled
      ? {
          issuerUrl: issuerUrl ?? '',
          /** Address that issues tokens by the client-credentials grant. */
          tokenUrl,
          /** A PEM file of the certificate authorities for the token provider; null: those of the platform. */
          caFile: tokenCaFile,
          clientId: clientId ?? '',
          clientSecret: new Secret(clientSecret ?? ''),
          /** Scope of the token request; null: no scope is sent. */
          scope,
          audience,
        }
      : null,
    /** The service's own name on the engine. */
    user: engineUser ?? (isJwtEnabled ? `service-account-${clientId ?? ''}` : 'grantline'),
    headerPrefix: reader.choice('SERVICE_QUERY_HEADER_PREFIX', 'X-Query', ['X-Query', 'X-Trino']),
    forwardedProto: reader.choice<'' | 'https'>('SERVICE_QUERY_FORWARDED_PROTO', '', ['', 'https']) || null,
    compression: reader.choice('SERVICE_QUERY_COMPRESSION', 'none', ['none', 'gzip']),
    impersonation: rulesReader.flag('SERVICE_QUERY_IMPERSONATION_ENABLED', true),
  };
}

const REQUIRED_WITH_JWT = 'is required while SERVICE_QUERY_JWT_ENABLED is true';

function readQueries(reader: SettingsReader) {
  const maxPageBytes = reader.integer('QUERY_MAX_PAGE_BYTES', 32 * MIB, 2 * MIB, 128 * MIB);
  const maxHeldBytes = reader.integer('QUERY_MAX_HELD_BYTES', 256 * MIB, 2 * MIB, 999_999_999);
  if (maxHeldBytes < maxPageBytes) reader.report('QUERY_MAX_HELD_BYTES', 'must be at least QUERY_MAX_PAGE_BYTES');
  return {
    maxRunningPerUser: reader.integer('QUERY_MAX_RUNNING_PER_USER', 5, 1, 1000),
    maxSeconds: reader.integer('QUERY_MAX_SECONDS', 3600, 1, 604800),
    /** The most rows of a query; 0: no limit. */
    maxRows: reader.integer('QUERY_MAX_ROWS', 0, 0, 999999999),
    /** The most bytes of one page of the engine. */
    maxPageBytes,
    /** The most bytes of all pages of results that this replica keeps. Each user's share is a sixth, or one page if that is more. */
    maxHeldBytes,
    retentionDays: reader.integer('QUERY_RETENTION_DAYS', 7, 1, 3650),
  };
}

export type JudgeSchedule = (cron: string) => string | null;

function readAcl(
  allPartsReader: SettingsReader,
  isProduction: boolean,
  directory: string,
  ownAccount: string,
  judgeSchedule: JudgeSchedule,
) {
  const reader = allPartsReader.forPart('rules');
  const publishingReader = allPartsReader.forPart('publishing');
  const isSyncEnabled = publishingReader.flag('ACL_SYNC_ENABLED', true);
  const syncCron = publishingReader.text('ACL_SYNC_CRON') ?? '*/5 * * * *';
  const cronProblem = /^\S+( \S+){4,5}$/.test(syncCron) ? judgeSchedule(syncCron) : 'must have five or six fields';
  // A schedule that never comes stops the CronJob of the chart (docs/operations.md, Backup and restore).
  if (isSyncEnabled && cronProblem !== null) publishingReader.report('ACL_SYNC_CRON', cronProblem);
  const { targets, opa, decisionLogs } = readTargets({
    publishingReader,
    httpReader: allPartsReader.forPart('http'),
    isProduction,
    directory,
  });
  const metadataCatalog = reader.name('ACL_METADATA_CATALOG', (name) =>
    name === 'system' ? 'is closed anyway' : resourceNameProblem(name),
  );
  // Checked at the start, because a publication run would refuse rules for the metadata catalog and for `system`.
  const catalogProblem = (name: string) =>
    name === 'system' || name === metadataCatalog
      ? 'must be neither the metadata catalog nor system'
      : resourceNameProblem(name);
  const isOpaAlone = targets.length === 0 && opa !== null;
  const hasRemoteTarget = targets.some(({ kind }) => kind === 'configmap') || (isProduction && isOpaAlone);
  if (metadataCatalog === null && hasRemoteTarget) {
    publishingReader.report(
      'ACL_METADATA_CATALOG',
      `is required with ACL_TARGET=${isOpaAlone ? 'opa' : 'configmap'} (none, if the engine has no catalog on this service's database)`,
    );
  }
  return {
    sync: {
      enabled: isSyncEnabled,
      cron: syncCron,
      onChangeSeconds: publishingReader.decimal('ACL_SYNC_ON_CHANGE_SECONDS', isOpaAlone ? 0.2 : 10, 0, 3600),
    },
    targets,
    opa,
    decisionLogs,
    /** Permissions of written files with rules or grants. */
    fileMode: reader.fileMode('ACL_FILE_MODE', 0o640),
    /** All service accounts on the engine, including the one that this service uses. */
    serviceAccounts: [...new Set([ownAccount, ...reader.names('ACL_SERVICE_ACCOUNTS')])],
    writableCatalogs: reader.names('ACL_WRITABLE_CATALOGS', catalogProblem),
    readableCatalogs: reader.names('ACL_READABLE_CATALOGS', catalogProblem),
    metadataCatalog: metadataCatalog === 'none' ? null : metadataCatalog,
    sessionProperties: reader.names('ACL_SESSION_PROPERTIES', sessionPropertyProblem),
    readersMaintain: reader.flag('ACL_READERS_MAINTAIN', false),
    externalTableCatalogs: reader.names('ACL_EXTERNAL_TABLE_CATALOGS', resourceNameProblem),
    rawColumnCatalogs: reader.names('ACL_RAW_COLUMN_CATALOGS', resourceNameProblem),
    /** The time for which published versions are kept to be restored, and the least number of versions that are kept. */
    retentionDays: reader.integer('ACL_RETENTION_DAYS', 90, 1, 36500),
    retentionVersions: reader.integer('ACL_RETENTION_VERSIONS', 100, 1, 1000000),
    maxUnexplainedPercent: reader.integer('ACL_MAX_UNEXPLAINED_PERCENT', 5, 0, 100),
    warnTableRules: reader.integer('ACL_WARN_TABLE_RULES', 3000, 1, 1000000),
  };
}

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null) deepFreeze(member);
  }
  return Object.freeze(value);
}

const SAMPLE_WORDS = /openssl|required|example|sample|placeholder|change[-_ ]?me|your[-_ ]?(secret|key)/i;

/** The signing key; null: it is missing. A missing key is a problem only for commands that sign tokens. */
function readSecretKey(reader: SettingsReader): Secret | null {
  const secretKey = reader.secret('AUTH_SECRET_KEY') ?? '';
  if (secretKey === '') reader.report('AUTH_SECRET_KEY', 'is required');
  else if (isWeakKey(secretKey)) {
    reader.report(
      'AUTH_SECRET_KEY',
      'is weak: at least 32 random bytes, such as openssl rand -base64 48; no sample, no repetition, no PEM file',
    );
  }
  return secretKey === '' ? null : new Secret(secretKey);
}

/**
 * Whether a key is too weak. A key for HS256 needs 256 bits (RFC 7518 section 3.2) that nobody else knows. The public half of a PEM file is known,
 * and other services read such files. Few different characters, sample words and repeated blocks suggest a placeholder.
 */
function isWeakKey(secret: string): boolean {
  return (
    Buffer.byteLength(secret) < 32 ||
    new Set(secret).size < 10 ||
    secret.includes('-----BEGIN ') ||
    SAMPLE_WORDS.test(secret) ||
    repetitionLength(secret) * 2 <= secret.length
  );
}

/** The length of the shortest block that gives the text by repetition. The last repetition may be cut off. */
function repetitionLength(text: string): number {
  let length = 1;
  while (!text.startsWith(text.slice(length))) length += 1;
  return length;
}
