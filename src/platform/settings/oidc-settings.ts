import { Secret } from '../../kernel/secret.js';
import type { SettingsReader } from './settings-reader.js';

/** Matches hosts of addresses that stay on this machine. */
export const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** The identity provider at which people sign in; null: there is none. */
export function readOidc(read: SettingsReader, production: boolean, scim: { tokens: readonly Secret[] }) {
  const issuer = read.text('AUTH_OIDC_ISSUER')?.trim() ?? null;
  const publicUrl = read.url('PUBLIC_URL', ['https:', 'http:']);
  const clientId = read.text('AUTH_OIDC_CLIENT_ID');
  const clientSecret = read.secret('AUTH_OIDC_CLIENT_SECRET');
  const discoveryUrl = read.text('AUTH_OIDC_DISCOVERY_URL')?.trim();
  const scopes = (read.text('AUTH_OIDC_SCOPES') ?? 'openid profile email').trim().split(/ +/);
  const rest = {
    /** The identity provider's certificate authorities, in the same form as the engine's. */
    caFile: read.certificates('AUTH_OIDC_CA_FILE', issuer?.startsWith('https:') ?? false),
    scopes,
    /** The claim with the name that a person has on the engine. */
    usernameClaim: read.text('AUTH_OIDC_USERNAME_CLAIM') ?? 'preferred_username',
    /** The claim that identifies people permanently. */
    subjectClaim: read.text('AUTH_OIDC_SUBJECT_CLAIM') ?? 'sub',
    /** The claim that equals SCIM's `externalId`; null: accounts of SCIM are found by name. */
    externalIdClaim: read.text('AUTH_OIDC_EXTERNAL_ID_CLAIM'),
    /** The claim that decides memberships; null: no claim does. */
    groupsClaim: read.text('AUTH_OIDC_GROUPS_CLAIM'),
    /** Whether a sign-in creates a missing account. */
    createAccounts: read.flag('AUTH_OIDC_CREATE_ACCOUNTS', true),
    sessionHours: read.integer('AUTH_OIDC_SESSION_HOURS', 12, 1, 720),
    /** The least time between two rechecks of a session in use at the provider. */
    recheckMinutes: read.integer('AUTH_OIDC_RECHECK_MINUTES', 5, 1, 1440),
    /** The audience that exchanged tokens must have. */
    audience: read.text('AUTH_OIDC_AUDIENCE') ?? clientId ?? '',
    /** Whether a sign-out also signs out at the provider. */
    signOutAtProvider: read.flag('AUTH_OIDC_SIGN_OUT_AT_PROVIDER', true),
    /** Pages and origins of web clients to which people may return. */
    returnOrigins: read.originsAndPages('AUTH_OIDC_RETURN_ORIGINS'),
  };
  const tokenDays = read.integer('AUTH_OIDC_TOKEN_DAYS', 30, 1, 3650);
  const administrators = read.name('AUTH_OIDC_ADMINISTRATORS_GROUP');
  const source: 'oidc' | 'scim' | null = rest.groupsClaim !== null ? 'oidc' : scim.tokens.length > 0 ? 'scim' : null;
  if (administrators !== null && (issuer === null || source === null)) {
    read.report(
      'AUTH_OIDC_ADMINISTRATORS_GROUP',
      'needs AUTH_OIDC_ISSUER, and AUTH_OIDC_GROUPS_CLAIM or SCIM_TOKEN: else nobody says who is in it',
    );
  }
  if (issuer === null) return null;
  const missing = Object.entries({
    PUBLIC_URL: publicUrl,
    AUTH_OIDC_CLIENT_ID: clientId,
    AUTH_OIDC_CLIENT_SECRET: clientSecret,
  }).flatMap(([name, value]) => (value === null ? [name] : []));
  for (const name of missing) read.report(name, 'is required with AUTH_OIDC_ISSUER');
  if (!scopes.includes('openid')) read.report('AUTH_OIDC_SCOPES', 'must contain openid');
  if (rest.groupsClaim !== null && scim.tokens.length > 0) {
    read.report('AUTH_OIDC_GROUPS_CLAIM', 'must be empty beside SCIM_TOKEN: one of the two says who is in which group');
  }
  if (/[?#]/.test(issuer)) {
    read.report(
      'AUTH_OIDC_ISSUER',
      'must have neither a query nor a fragment (OpenID Connect Discovery 1.0 section 3)',
    );
  }
  const addresses = { AUTH_OIDC_ISSUER: issuer, AUTH_OIDC_DISCOVERY_URL: discoveryUrl, PUBLIC_URL: publicUrl };
  for (const [name, address] of Object.entries(addresses)) {
    if (typeof address === 'string' && !isSafe(address, production)) {
      read.report(name, 'must begin with https:// (http:// on loopback alone, outside production)');
    }
  }
  return {
    /** The issuer, exactly as in the discovery document. */
    issuer,
    discoveryUrl: discoveryUrl ?? `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    clientId: clientId ?? '',
    clientSecret: new Secret(clientSecret ?? ''),
    /** Public address of this service, without a final slash. */
    publicUrl: publicUrl ?? '',
    /** How long API tokens of people without a password outlive their last sign-in at the provider; null: no limit, because SCIM reports leavers. */
    tokenDays: scim.tokens.length > 0 ? null : tokenDays,
    /** The group whose members are administrators, and the source of its members; null: there is none. */
    administrators: administrators === null || source === null ? null : { name: administrators, source },
    ...rest,
  };
}

/** Whether traffic to an address is encrypted or stays on this machine. */
function isSafe(address: string, production: boolean): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && !production && LOOPBACK.test(hostname));
}
