import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { TestAuthority } from '../../../test/support/fakes/test-authority.js';
import { parseSettings as parse } from './settings-parser.js';
import { scheduleProblem } from './sync-schedule.js';

const SECRET = 'a-secret-of-32-bytes-0123456789-abc';

const OIDC = {
  AUTH_OIDC_ISSUER: 'https://sso.example.org/realms/data',
  AUTH_OIDC_CLIENT_ID: 'grantline',
  AUTH_OIDC_CLIENT_SECRET: 'the secret of the client',
  PUBLIC_URL: 'https://grantline.example.org',
};

const parseSettings = (environment: Record<string, string>) => {
  const { settings, problems } = parse(environment);
  return { settings, problems: problems.map(({ text }) => text) };
};

describe('settings', () => {
  it('has a default for everything but the secret', () => {
    expect(parseSettings({}).problems).toEqual(['AUTH_SECRET_KEY is required']);
    expect(parseSettings({ AUTH_SECRET_KEY: SECRET }).problems).toEqual([]);
  });

  it('finds names that are a letter or two off, and leaves those of other programs alone', () => {
    const names = ['AUTH_REGISTRATION_ENABELD', 'ACL_SYNC_ENABLE', 'ACL_SYNC_CRON', 'AUTH_PORT', 'PATH', 'HOSTS'];
    const { settings } = parse(Object.fromEntries(names.map((name) => [name, 'x'])));

    expect(settings.misspelt).toEqual([
      { name: 'AUTH_REGISTRATION_ENABELD', resembles: 'AUTH_REGISTRATION_ENABLED' },
      { name: 'ACL_SYNC_ENABLE', resembles: 'ACL_SYNC_ENABLED' },
    ]);
  });

  it('lists everything that production lacks at once', () => {
    const { problems } = parseSettings({
      NODE_ENV: 'production',
      ACL_TARGET: 'configmap',
      SERVICE_QUERY_JWT_ENABLED: 'true',
      PORT: 'x',
    });

    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      'SERVICE_QUERY_JWT_ISSUER_URL',
      'SERVICE_QUERY_JWT_CLIENT_SECRET',
      'SERVICE_QUERY_HOST',
      'SERVICE_QUERY_JWT_CLIENT_ID',
      'PORT',
      'DATABASE_URL',
      'AUTH_SECRET_KEY',
      'ACL_CONFIGMAP_NAMESPACE',
      'ACL_CONFIGMAP_NAME',
      'KUBERNETES_API_URL',
      'ACL_METADATA_CATALOG',
    ]);
  });

  it.each([
    ['https://app.example.org', true],
    ['https://app.example.org/', true],
    ['https://app.example.org/signed-in?tab=2, https://other.example.org', true],
    ['https://app.example.org/#x', false],
    ['https://me@app.example.org/', false],
    ['https://APP.example.org/', false],
    ['app.example.org', false],
    ['https://app.example.org/*', false],
    ['javascript:alert(1)', false],
  ])('takes pages and origins to come back to: %s', (AUTH_OIDC_RETURN_ORIGINS, isTaken) => {
    const { problems } = parseSettings({ AUTH_SECRET_KEY: SECRET, ...OIDC, AUTH_OIDC_RETURN_ORIGINS });
    expect(problems).toEqual(
      isTaken ? [] : [expect.stringMatching(/^AUTH_OIDC_RETURN_ORIGINS holds ".*", which is no origin/)],
    );
  });

  it('refuses a token of SCIM of few characters, and an issuer that has a query', () => {
    const given = { AUTH_SECRET_KEY: SECRET, PUBLIC_URL: 'https://grantline.example.org' };
    const oidc = { AUTH_OIDC_CLIENT_ID: 'grantline', AUTH_OIDC_CLIENT_SECRET: 'x' };
    expect(parseSettings({ ...given, SCIM_TOKEN: '0123'.repeat(12) }).problems).toEqual([
      expect.stringMatching(/^SCIM_TOKEN is weak/),
    ]);
    for (const end of ['?realm=people', '#people', '?']) {
      expect(parseSettings({ ...given, ...oidc, AUTH_OIDC_ISSUER: `https://id.example.org/${end}` }).problems).toEqual([
        expect.stringMatching(/^AUTH_OIDC_ISSUER must have neither/),
      ]);
    }
  });

  describe('with the target opa', () => {
    const pem = ({ privateKey }: { privateKey: KeyObject }): string =>
      privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const rsa = pem(generateKeyPairSync('rsa', { modulusLength: 2048 }));
    const small = pem(generateKeyPairSync('rsa', { modulusLength: 1024 }));
    const [p256, p384] = ['P-256', 'P-384'].map((namedCurve) => pem(generateKeyPairSync('ec', { namedCurve })));
    const OPA = {
      AUTH_SECRET_KEY: SECRET,
      ACL_TARGET: 'file,opa',
      OPA_TOKEN: `${SECRET},0123456789abcdef0123456789abcdef`,
      OPA_BUNDLE_SIGNING_KEY_FILE: '/etc/key.pem',
    };
    const problemsOf = (environment: Record<string, string>, file?: string) =>
      parse({ ...OPA, ...environment }, () => file ?? rsa).problems.map(({ text }) => text);

    it.each([rsa, p256])('takes two tokens and a private key', (file) => {
      const { settings, problems } = parse(OPA, () => file ?? null);
      expect(problems).toEqual([]);
      expect(settings.acl.targets).toHaveLength(1);
      expect(settings.acl.opa?.tokens.map((token) => token.reveal())).toEqual(OPA.OPA_TOKEN.split(','));
      expect(settings.acl.opa?.signingKey?.reveal()).toBe(file);
    });

    it.each([small, p384, 'no key', generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' })])(
      'refuses other keys',
      (file) => {
        expect(problemsOf({}, String(file))).toEqual([
          expect.stringMatching(/^OPA_BUNDLE_SIGNING_KEY_FILE points at a file that holds no private key/),
        ]);
      },
    );

    it('publishes changes at once where it is alone, and reads decimals', () => {
      const parsed = (given: Record<string, string>) => parse({ ...OPA, ...given }, () => rsa).settings;
      const seconds = (given: Record<string, string>) => parsed(given).acl.sync.onChangeSeconds;
      expect([seconds({ ACL_TARGET: 'opa' }), seconds({}), seconds({ ACL_TARGET: 'file' })]).toEqual([0.2, 10, 10]);
      expect(seconds({ ACL_TARGET: 'opa', ACL_SYNC_ON_CHANGE_SECONDS: '1.5' })).toBe(1.5);
      expect(parsed({ ACL_TARGET: 'opa' }).acl.targets).toEqual([]);
    });

    it('needs token and key in production, and alone there the metadata catalog', () => {
      expect(problemsOf({ ACL_TARGET: 'opa', NODE_ENV: 'production', DATABASE_URL: 'postgres://h/d' })).toEqual([
        expect.stringMatching(/^ACL_METADATA_CATALOG is required with ACL_TARGET=opa/),
      ]);
      const none = { OPA_TOKEN: '', OPA_BUNDLE_SIGNING_KEY_FILE: '' };
      expect(problemsOf(none)).toEqual([]);
      expect(problemsOf({ ...none, NODE_ENV: 'production', DATABASE_URL: 'postgres://h/d' })).toEqual([
        'OPA_TOKEN is required in production with ACL_TARGET=opa',
        'OPA_BUNDLE_SIGNING_KEY_FILE is required in production with ACL_TARGET=opa',
      ]);
      expect(problemsOf({ ...none, NODE_ENV: 'production', DATABASE_URL: 'postgres://h/d', ACL_TARGET: '' })).toEqual(
        [],
      );
    });

    it('refuses a short token, and three', () => {
      expect(problemsOf({ OPA_TOKEN: 'short' })).toEqual(['OPA_TOKEN must have at least 32 characters']);
      expect(problemsOf({ OPA_TOKEN: Array(3).fill(SECRET).join() })).toEqual([
        'OPA_TOKEN must hold one token, or two while one is replaced',
      ]);
    });
  });

  it.each([
    'short',
    'a'.repeat(64),
    'changemechangemechangemechangeme',
    '  # required in production: openssl rand -base64 48; a new key signs everybody out',
    'openssl rand -base64 48 | tr -d 0123456789',
    'please-change-me-0123456789-abcdefghij',
    '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----',
    '0123456789abcdef0123456789abcdef',
    'Tr0ub4dor&3-Tr0ub4dor&3-Tr0ub4dor&3-Tr0u',
  ])('refuses the weak secret %j', (secret) => {
    expect(parseSettings({ AUTH_SECRET_KEY: secret }).problems).toHaveLength(1);
  });

  it.each(['SERVICE_QUERY_USER', 'ACL_SERVICE_ACCOUNTS', 'ACL_WRITABLE_CATALOGS', 'ACL_METADATA_CATALOG'])(
    'refuses invisible characters in %s',
    (name) => {
      const { problems } = parseSettings({ AUTH_SECRET_KEY: SECRET, [name]: 'etl\u202e' });
      expect(problems).toEqual([expect.stringContaining(`${name} holds`)]);
    },
  );

  it.each([SECRET, 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJ+', '9b1c'.repeat(4) + 'e07a35d2c8f41b60'])(
    'takes the secret %j',
    (secret) => expect(parseSettings({ AUTH_SECRET_KEY: secret }).problems).toEqual([]),
  );

  it.each([
    ['without a provider', { SCIM_TOKEN: '0123456789abcdef'.repeat(2) }],
    ['where nobody says who is in it', OIDC],
  ])('takes no group of administrators %s', (_, more) => {
    const given = { AUTH_SECRET_KEY: SECRET, AUTH_OIDC_ADMINISTRATORS_GROUP: 'chiefs', ...more };
    expect(parseSettings(given).problems).toEqual([expect.stringMatching(/^AUTH_OIDC_ADMINISTRATORS_GROUP needs/)]);
  });

  it('closes sign-in by password only where people sign in elsewhere', () => {
    const { problems } = parseSettings({ AUTH_SECRET_KEY: SECRET, AUTH_PASSWORD_SIGN_IN_ENABLED: 'false' });
    expect(problems).toEqual([expect.stringMatching(/^AUTH_PASSWORD_SIGN_IN_ENABLED must be true without AUTH_OIDC/)]);
  });

  it.each([
    ['ACL_METADATA_CATALOG', 'system', 'is closed anyway'],
    ['ACL_METADATA_CATALOG', 'Meta', 'must be lower-case, as the engine has it'],
    ['ACL_WRITABLE_CATALOGS', 'lake,meta', 'must be neither the metadata catalog nor system'],
    ['ACL_READABLE_CATALOGS', 'system', 'must be neither the metadata catalog nor system'],
    ['ACL_READABLE_CATALOGS', 'Lake', 'must be lower-case, as the engine has it'],
  ])('refuses what every run would refuse: %s=%s', (name, value, problem) => {
    const { problems } = parseSettings({ AUTH_SECRET_KEY: SECRET, ACL_METADATA_CATALOG: 'meta', [name]: value });
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} holds .*, which ${problem}$`))]);
  });

  it('keeps the marker of the rules out of the session properties that people may set', () => {
    const { problems } = parseSettings({
      AUTH_SECRET_KEY: SECRET,
      ACL_SESSION_PROPERTIES: 'join_distribution_type,grantline_rules_x',
    });
    expect(problems).toEqual([
      expect.stringMatching(/^ACL_SESSION_PROPERTIES holds "grantline_rules_x", which is reserved/),
    ]);
  });

  it('names the own account after the client, and counts it among the service accounts', () => {
    const { settings } = parseSettings({
      AUTH_SECRET_KEY: SECRET,
      SERVICE_QUERY_JWT_ENABLED: 'true',
      SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
      ACL_SERVICE_ACCOUNTS: 'service-account-etl',
    });

    expect(settings.engine.user).toBe('service-account-grantline');
    expect(settings.acl.serviceAccounts).toEqual(['service-account-grantline', 'service-account-etl']);
  });

  it.each([
    ['@daily', 'must have five or six fields'],
    ['61 * * * *', 'is no schedule: Field value (61) is out of range'],
    ['*/5 * * * someday', 'is no schedule: Unknown alias: som'],
    ['0 0 30 2 *', 'is no schedule: Something went wrong. No execution date was found in the next 8 years.'],
  ])('refuses the schedule %j', (cron, problem) => {
    const { problems } = parse({ AUTH_SECRET_KEY: SECRET, ACL_SYNC_CRON: cron }, undefined, scheduleProblem);
    expect(problems.map(({ text }) => text)).toEqual([`ACL_SYNC_CRON ${problem}`]);
  });

  it.each(['http://trino', 'trino/path', 'ana:secret@trino', 'trino:8443'])('refuses the engine host %j', (host) => {
    const { problems } = parseSettings({ AUTH_SECRET_KEY: SECRET, SERVICE_QUERY_HOST: host });
    expect(problems).toEqual(['SERVICE_QUERY_HOST must be a host name alone']);
  });

  it('takes a schedule that never comes while ACL_SYNC_ENABLED is false, as a restore has it', () => {
    const given = { AUTH_SECRET_KEY: SECRET, ACL_SYNC_CRON: '0 0 31 2 *', ACL_SYNC_ENABLED: 'false' };
    expect(parse(given, undefined, scheduleProblem).problems).toEqual([]);
  });

  it.each(['rw-r-----', '640 ', '1777', '0666', '0440', '0x1a0'])('refuses the file mode %j', (mode) => {
    expect(parseSettings({ AUTH_SECRET_KEY: SECRET, ACL_FILE_MODE: mode }).problems).toEqual([
      expect.stringContaining('ACL_FILE_MODE must be octal'),
    ]);
  });

  it.each([
    ['', 0o640],
    ['0600', 0o600],
    ['644', 0o644],
  ])('reads the file mode %j', (text, mode) => {
    const { settings } = parseSettings({ AUTH_SECRET_KEY: SECRET, ACL_FILE_MODE: text });
    expect(settings.acl.fileMode).toBe(mode);
  });

  it('takes TLS for the engine and the provider, each with its authorities', () => {
    const authority = new TestAuthority().pem;
    const { settings, problems } = parse(
      {
        AUTH_SECRET_KEY: SECRET,
        SERVICE_QUERY_HOST: 'trino.engine.svc',
        SERVICE_QUERY_PORT: '8443',
        SERVICE_QUERY_SCHEME: 'https',
        SERVICE_QUERY_CA_FILE: '/etc/engine.crt',
        SERVICE_QUERY_JWT_ENABLED: 'true',
        SERVICE_QUERY_JWT_ISSUER_URL: 'https://idp.example.org/realms/data',
        SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
        SERVICE_QUERY_JWT_CLIENT_SECRET: 'x',
        SERVICE_QUERY_JWT_CA_FILE: '/etc/provider.crt',
      },
      () => authority,
    );
    expect(problems).toEqual([]);
    expect(settings.engine).toMatchObject({
      origin: 'https://trino.engine.svc:8443',
      caFile: '/etc/engine.crt',
      jwt: { caFile: '/etc/provider.crt' },
    });
  });

  it.each([
    ['http', 'SERVICE_QUERY_CA_FILE', 'any', 'is of no use without https'],
    ['https', 'SERVICE_QUERY_CA_FILE', null, 'points at a file that cannot be read'],
    ['https', 'SERVICE_QUERY_CA_FILE', 'no certificate', 'points at a file that holds no certificate in PEM'],
    ['https', 'SERVICE_QUERY_JWT_CA_FILE', 'any', 'is of no use without https'],
  ])('refuses with scheme %s a %s that holds %j', (scheme, name, content, problem) => {
    const given = { AUTH_SECRET_KEY: SECRET, SERVICE_QUERY_SCHEME: scheme, [name]: '/etc/ca.crt' };
    expect(parse(given, () => content).problems.map(({ text }) => text)).toEqual([`${name} ${problem}`]);
  });

  it('is frozen to the bottom', () => {
    const { settings } = parseSettings({ AUTH_SECRET_KEY: SECRET });

    expect(Object.isFrozen(settings.auth.throttle)).toBe(true);
  });
});
