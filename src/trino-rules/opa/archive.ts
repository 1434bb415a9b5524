import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { POLICY_FILES } from './policy-files.js';
import { canonicalJson, type Json, type JsonTree } from './tree.js';

export function dataText(data: JsonTree): string {
  return canonicalJson(new Map([['access', data]]));
}

/**
 * The bundle that OPA downloads: a `tar.gz` of manifest, policy, data and, if there is a key, a signature. Equal input gives equal bytes,
 * except with a P-256 key, whose signatures differ each time.
 * @param data as `dataText` writes it
 * @param key RSA or P-256
 */
export function bundleArchive(data: string, revision: string, key: KeyObject | null = null): Buffer {
  const manifest = new Map<string, Json>([
    ['revision', revision],
    ['roots', ['grantline', 'system/log']],
    ['rego_version', 1],
  ]);
  const files = new Map([
    ['.manifest', canonicalJson(manifest)],
    ['grantline/data.json', data],
    ...Object.entries(POLICY_FILES),
  ]);
  if (key !== null)
    files.set('.signatures.json', canonicalJson(new Map([['signatures', [bundleSignature(files, key)]]])));
  return gzipSync(Buffer.concat([...[...files].map(([name, text]) => tarEntry(name, text)), Buffer.alloc(1024)]));
}

/** The id of a key in signatures, by which OPA chooses among its keys: the first 16 digits of the SHA-256 of the public key. */
export function keyId(key: KeyObject): string {
  const publicKey = key.type === 'public' ? key : createPublicKey(key);
  const keyBytes = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(keyBytes).digest('hex').slice(0, 16);
}

/** A JWT with the digests of the files. JSON files must have canonical texts, because OPA computes their digests from canonical texts. */
export function bundleSignature(files: ReadonlyMap<string, string>, key: KeyObject): string {
  const isRsa = key.asymmetricKeyType === 'rsa';
  const digests = [...files].map(([name, text]) => ({
    name,
    hash: createHash('sha256').update(text).digest('hex'),
    algorithm: 'SHA-256',
  }));
  const header = { alg: isRsa ? 'RS256' : 'ES256', typ: 'JWT', kid: keyId(key) };
  const signedText = [header, { files: digests }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signatureBytes = sign('sha256', Buffer.from(signedText), isRsa ? key : { key, dsaEncoding: 'ieee-p1363' });
  return `${signedText}.${signatureBytes.toString('base64url')}`;
}

const BLOCK_SIZE = 512;

function tarEntry(name: string, text: string): Buffer {
  const content = Buffer.from(text);
  const header = Buffer.alloc(BLOCK_SIZE);
  const octalField = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octalField(0o644, 8), 100);
  header.write(octalField(0, 8) + octalField(0, 8) + octalField(content.length, 12) + octalField(0, 12), 108);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(octalField(checksum, 7), 148);
  return Buffer.concat([header, content, Buffer.alloc(-content.length & (BLOCK_SIZE - 1))]);
}
