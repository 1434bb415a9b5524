import { Secret } from '../../kernel/secret.js';
import type { SettingsReader } from './settings-reader.js';

/** Matches hosts of addresses that stay on this machine. */
export const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Settings of the identity provider at which people sign in; null: no provider is configured. */
export function readOidc(reader: SettingsReader, isProduction: boolean, scim: { tokens: readonly Secret[] }) {
  const issuer = reader.text('AUTH_OIDC_ISSUER')?.trim() ?? null;
  const publicUrl = reader.baseUrl('PUBLIC_URL');
  const clientId = reader.text('AUTH_OIDC_CLIENT_ID');
  const clientSecret = reader.secret('AUTH_OIDC_CLIENT_SECRET');
  const discoveryUrl = reader.text('AUTH_OIDC_DISCOVERY_URL')?.trim();
  const scopes = (reader.text('AUTH_OIDC_SCOPES') ?? 'openid profile email').trim().split(/ +/);
  const otherSettings = {
    /** A PEM file of the certificate authorities for the identity provider; null: those of the platform. */
    caFile: reader.certificates('AUTH_OIDC_CA_FILE', issuer?.startsWith('https:') ?? false),
    scopes,
    /** The claim that contains a person's name on the engine. */
    usernameClaim: reader.text('AUTH_OIDC_USERNAME_CLAIM') ?? 'preferred_username',
    /** The claim that identifies people permanently. */
    subjectClaim: reader.text('AUTH_OIDC_SUBJECT_CLAIM') ?? 'sub',
    /** The claim that contains SCIM's `externalId` of a person; null: accounts of SCIM are found by name. */
    externalIdClaim: reader.text('AUTH_OIDC_EXTERNAL_ID_CLAIM'),
    /** The claim that lists a person's groups; null: groups do not come from a claim. */
    groupsClaim: reader.text('AUTH_OIDC_GROUPS_CLAIM'),
    createAccounts: reader.flag('AUTH_OIDC_CREATE_ACCOUNTS', true),
    sessionHours: reader.integer('AUTH_OIDC_SESSION_HOURS', 12, 1, 720),
    /** The least time between two requests to the provider about a session in use. */
    recheckMinutes: reader.integer('AUTH_OIDC_RECHECK_MINUTES', 5, 1, 1440),
    /** The audience that exchanged tokens must have. */
    audience: reader.text('AUTH_OIDC_AUDIENCE') ?? clientId ?? '',
    signOutAtProvider: reader.flag('AUTH_OIDC_SIGN_OUT_AT_PROVIDER', true),
    /** Pages and origins of web clients to which people may return. */
    returnOrigins: reader.originsAndPages('AUTH_OIDC_RETURN_ORIGINS'),
  };
  const tokenDays = reader.integer('AUTH_OIDC_TOKEN_DAYS', 30, 1, 3650);
  const administrators = reader.name('AUTH_OIDC_ADMINISTRATORS_GROUP');
  const source: 'oidc' | 'scim' | null =
    otherSettings.groupsClaim !== null ? 'oidc' : scim.tokens.length > 0 ? 'scim' : null;
  if (administrators !== null && (issuer === null || source === null)) {
    reader.report(
      'AUTH_OIDC_ADMINISTRATORS_GROUP',
      'needs AUTH_OIDC_ISSUER, and AUTH_OIDC_GROUPS_CLAIM or SCIM_TOKEN: else nobody says who is in it',
    );
  }
  if (issuer === null) return null;
  const missingSettings = Object.entries({
    PUBLIC_URL: publicUrl,
    AUTH_OIDC_CLIENT_ID: clientId,
    AUTH_OIDC_CLIENT_SECRET: clientSecret,
  }).flatMap(([name, value]) => (value === null ? [name] : []));
  for (const name of missingSettings) reader.report(name, 'is required with AUTH_OIDC_ISSUER');
  if (!scopes.includes('openid')) reader.report('AUTH_OIDC_SCOPES', 'must contain openid');
  if (otherSettings.groupsClaim !== null && scim.tokens.length > 0) {
    reader.report(
      'AUTH_OIDC_GROUPS_CLAIM',
      'must be empty beside SCIM_TOKEN: one of the two says who is in which group',
    );
  }
  if (/[?#]/.test(issuer)) {
    reader.report(
      'AUTH_OIDC_ISSUER',
      'must have neither a query nor a fragment (OpenID Connect Discovery 1.0 section 3)',
    );
  }
  const addresses = { AUTH_OIDC_ISSUER: issuer, AUTH_OIDC_DISCOVERY_URL: discoveryUrl, PUBLIC_URL: publicUrl };
  for (const [name, address] of Object.entries(addresses)) {
    if (typeof address === 'string' && !isSafeAddress(address, isProduction)) {
      reader.report(name, 'must begin with https:// (http:// on loopback alone, outside production)');
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
    /** For accounts without a password: days after the last sign-in for which API tokens work. Null: no limit, because SCIM reports who leaves. */
    tokenDays: scim.tokens.length > 0 ? null : tokenDays,
    /** The group whose members are administrators, and the source of these members; null: no group is configured. */
    administrators: administrators === null || source === null ? null : { name: administrators, source },
    ...otherSettings,
  };
}

/** Whether an address is https or, outside production, http on this machine. */
function isSafeAddress(address: string, isProduction: boolean): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && !isProduction && LOOPBACK.test(hostname));
}
