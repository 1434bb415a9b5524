import type { Secret } from '../../kernel/secret.js';

/** All settings, parsed once at the start and frozen. Names and meanings: `.env.example`. */
export abstract class Settings {
  abstract readonly production: boolean;
  abstract readonly dataDir: string;
  abstract readonly http: {
    host: string;
    port: number;
    trustedProxyHops: number;
    corsOrigins: readonly string[];
    /** Limit for receiving a request's headers and body together. */
    requestSeconds: number;
    /** How long an answer may wait for its client to read any of it. */
    sendSeconds: number;
  };
  abstract readonly operations: { host: string; port: number };
  /** `url` null: the embedded database. */
  abstract readonly database: { url: Secret | null; migrationUrl: Secret | null; poolMax: number };
  abstract readonly auth: {
    /** Null: the command signs no tokens. */
    secretKey: Secret | null;
    accessTokenTtlMin: number;
    refreshTokenTtlDays: number;
    bcryptCost: number;
    hashQueueMax: number;
    registrationEnabled: boolean;
    /** False: of those with a password, administrators alone sign in by it. */
    passwordSignInEnabled: boolean;
    sessionMaxDays: number;
    /** How long an exchanged refresh token gets the same pair again. */
    refreshRepeatSeconds: number;
    /** How long API tokens can be made for. */
    tokenMaxDays: number;
    throttle: {
      enabled: boolean;
      windowSeconds: number;
      perName: number;
      perAddress: number;
      registerPerHour: number;
    };
  };
  /** The identity provider at which people sign in; null: there is none. */
  abstract readonly oidc: {
    /** Exactly as in its discovery document. */
    issuer: string;
    discoveryUrl: string;
    clientId: string;
    clientSecret: Secret;
    /** The provider's certificate authorities, as `caFile` of the engine. */
    caFile: string | null;
    scopes: readonly string[];
    /** The claim that names people as the engine does. */
    usernameClaim: string;
    /** The claim that tells people apart for good. */
    subjectClaim: string;
    /** The claim that SCIM has as `externalId`; null: people whom SCIM pushes are found by name. */
    externalIdClaim: string | null;
    /** The claim that memberships follow; null: none does. */
    groupsClaim: string | null;
    /** The group whose members are administrators, and how they come into it; null: there is none. */
    administrators: { name: string; source: 'oidc' | 'scim' } | null;
    /** False: only people with an account sign in. */
    createAccounts: boolean;
    sessionHours: number;
    /** Between two times that the provider is asked for a session in use, at least. */
    recheckMinutes: number;
    /** The audience that exchanged tokens must have. */
    audience: string;
    /** How long API tokens of people without a password outlive their last sign-in at the provider; null: SCIM reports leavers. */
    tokenDays: number | null;
    /** Whether a sign-out continues at the provider. */
    signOutAtProvider: boolean;
    /** Pages and origins of web clients that people come back to. */
    returnOrigins: readonly string[];
    /** Public address of this service, without a final slash. */
    publicUrl: string;
  } | null;
  /** The web console. */
  abstract readonly console: { enabled: boolean; idleHours: number };
  /** Tokens that open the routes of SCIM, two while one is replaced; none: there are no such routes. */
  abstract readonly scim: { tokens: readonly Secret[] };
  abstract readonly audit: { retentionDays: number };
  abstract readonly engine: {
    /** `http://host:port` or `https://host:port`; null: no engine is configured. */
    origin: string | null;
    /** The engine's certificate authorities in PEM, read again when they change; null: the platform's own. */
    caFile: string | null;
    jwt: {
      issuerUrl: string;
      /** Address of the client-credentials grant. */
      tokenUrl: string;
      /** The provider's certificate authorities, as `caFile` of the engine. */
      caFile: string | null;
      clientId: string;
      clientSecret: Secret;
      /** Scope of that request; null: none. */
      scope: string | null;
      audience: string | null;
    } | null;
    /** The service's own name on the engine. */
    user: string;
    headerPrefix: 'X-Query' | 'X-Trino';
    forwardedProto: 'https' | null;
    compression: 'none' | 'gzip';
    impersonation: boolean;
  };
  abstract readonly queries: {
    maxRunningPerUser: number;
    maxSeconds: number;
    /** 0: no limit. */
    maxRows: number;
    /** One page of the engine. */
    maxPageBytes: number;
    /** All pages that this replica holds; a sixth of it, or one page, for each user. */
    maxHeldBytes: number;
    retentionDays: number;
  };
  abstract readonly acl: {
    sync: { enabled: boolean; cron: string; onChangeSeconds: number };
    target:
      | { kind: 'file'; directory: string }
      | {
          kind: 'configmap';
          namespace: string;
          name: string;
          apiUrl: string;
          caFile: string;
          tokenFile: string;
        };
    /** Permissions of files with rules or grants. */
    fileMode: number;
    /** Every service account, the own one among them. */
    serviceAccounts: readonly string[];
    writableCatalogs: readonly string[];
    readableCatalogs: readonly string[];
    metadataCatalog: string | null;
    sessionProperties: readonly string[];
    readersMaintain: boolean;
    externalTableCatalogs: readonly string[];
    rawColumnCatalogs: readonly string[];
    /** How long published versions can be restored, and how many of them at least. */
    retentionDays: number;
    retentionVersions: number;
    maxUnexplainedPercent: number;
    warnTableRules: number;
  };
  abstract readonly log: { level: string; format: 'pretty' | 'json' };
}
