import { Secret } from '../../kernel/secret.js';
import type { SettingsReader } from './settings-reader.js';
import type { Settings } from './settings.js';

/** Bytes of a token, as of the key that signs sessions. */
const LEAST = 32;

/** One token, or two while one is replaced. */
export function readScim(read: SettingsReader): Settings['scim'] {
  const given = read.secret('SCIM_TOKEN');
  const tokens = given === null ? [] : given.split(',').map((token) => token.trim());
  if (tokens.length > 2) read.problem('SCIM_TOKEN', 'must hold one token, or two while one is replaced');
  if (tokens.some((token) => token.length < LEAST))
    read.problem('SCIM_TOKEN', `must have at least ${LEAST} characters`);
  // Of a placeholder: 32 random bytes in hexadecimal have 14 at least.
  if (tokens.some((token) => token.length >= LEAST && new Set(token).size < 10)) {
    read.problem('SCIM_TOKEN', 'is weak: at least 10 different characters, such as openssl rand -hex 32');
  }
  // As a header carries it (RFC 6750 section 2.1).
  if (tokens.some((token) => !/^[\w.~+/-]+=*$/.test(token))) {
    read.problem('SCIM_TOKEN', 'must consist of letters, digits and -._~+/, with = at its end at most');
  }
  return { tokens: tokens.map((token) => new Secret(token)) };
}
