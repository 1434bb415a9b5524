import { type JsonMember, readJson } from '../../kernel/json-reader.js';

/** Our tokens have some 330 characters; larger ones are not even decoded. */
const MAX_LENGTH = 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Whether a text has the syntax of our tokens (RFC 7515 section 3.1, RFC 7519 section 7.2): three parts in canonical
 * base64url, header and payload JSON objects without duplicate names, `alg` HS256, `typ` JWT if any, and no `crit`, since we
 * understand no extension (RFC 7515 section 4.1.11). jsonwebtoken checks the signature and little of this.
 */
export function hasJwsSyntax(token: string): boolean {
  if (token.length > MAX_LENGTH) return false;
  const parts = token.split('.');
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined) return false;
  if (decode(signature) === null) return false;
  const fields = readObject(header);
  if (fields === null || readObject(payload) === null) return false;
  const typ = textOf(fields, 'typ');
  const isJwt = typ === undefined || typ?.toUpperCase() === 'JWT';
  return textOf(fields, 'alg') === 'HS256' && isJwt && textOf(fields, 'crit') === undefined;
}

function decode(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url');
  // Node's decoder ignores foreign characters, padding and stray bits; only what it encodes itself is canonical.
  return part !== '' && bytes.toString('base64url') === part ? bytes : null;
}

/** The members of a JSON object whose names are all different; JSON.parse would silently keep the last of two. */
function readObject(part: string): JsonMember[] | null {
  const bytes = decode(part);
  if (bytes === null) return null;
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return null;
  }
  const { root, faults } = readJson(text);
  return faults.length === 0 && root?.kind === 'object' ? root.members : null;
}

function textOf(members: readonly JsonMember[], key: string): string | null | undefined {
  const member = members.find((candidate) => candidate.key === key);
  if (member === undefined) return undefined;
  return member.value.kind === 'string' ? member.value.value : null;
}
