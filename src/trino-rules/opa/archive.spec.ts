import { createHash, generateKeyPairSync, verify } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { bundleArchive, dataText, keyId } from './archive.js';
import { bundleData } from './bundle-data.js';
import { POLICY_FILES } from './policy-files.js';
import { canonicalJson } from './tree.js';

const DATA = dataText(bundleData(aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').snapshot()));

describe('a bundle', () => {
  it('holds manifest, data and policy, and equal input gives equal bytes', () => {
    const files = filesOf(bundleArchive(DATA, 'v7-0123456789ab'));

    expect([...files.keys()]).toEqual(['.manifest', 'grantline/data.json', 'grantline/policy.rego', 'system/log.rego']);
    expect(files.get('.manifest')).toBe(
      '{"rego_version":1,"revision":"v7-0123456789ab","roots":["grantline","system/log"]}',
    );
    expect(files.get('grantline/data.json')).toBe(DATA);
    expect(files.get('grantline/policy.rego')).toBe(POLICY_FILES['grantline/policy.rego']);
    expect(bundleArchive(DATA, 'v7').equals(bundleArchive(DATA, 'v7'))).toBe(true);
  });

  it.each([
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ])('is signed with %s over the digest of each file', (alg, { privateKey, publicKey }) => {
    const files = filesOf(bundleArchive(DATA, 'v7', privateKey));

    const { signatures } = JSON.parse(files.get('.signatures.json') ?? '') as { signatures: string[] };
    const [header = '', payload = '', signed = ''] = signatures[0]?.split('.') ?? [];
    expect(read(header)).toEqual({ alg, typ: 'JWT', kid: keyId(publicKey) });
    expect(keyId(publicKey)).toMatch(/^[0-9a-f]{16}$/);
    expect(read(payload)).toEqual({
      files: [...files]
        .filter(([name]) => name !== '.signatures.json')
        .map(([name, text]) => ({
          name,
          hash: createHash('sha256').update(text).digest('hex'),
          algorithm: 'SHA-256',
        })),
    });
    const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signed, 'base64url'))).toBe(true);
  });
});

describe('canonical JSON', () => {
  it('orders keys by their UTF-8 bytes, which UTF-16 does not', () => {
    const keys = ['\u{1f600}', '\uff21', 'z', 'za', 'Z', '\ud7ff'];

    const text = canonicalJson(new Map(keys.map((key) => [key, true])));

    const byBytes = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(Object.keys(JSON.parse(text) as object)).toEqual(byBytes);
    expect(keys.toSorted()).not.toEqual(byBytes);
  });

  it('escapes the line ends that Go escapes, and no other letters', () => {
    expect(canonicalJson(['\u2028 \u2029', '<&>é😀', 1.5, true])).toBe('["\\u2028 \\u2029","<&>é😀",1.5,true]');
  });

  it('keeps names that objects have anyway', () => {
    expect(canonicalJson(new Map([['__proto__', new Map([['constructor', 'S']])]]))).toBe(
      '{"__proto__":{"constructor":"S"}}',
    );
  });
});

function read(part: string): unknown {
  return JSON.parse(Buffer.from(part, 'base64url').toString());
}

function filesOf(archive: Buffer): Map<string, string> {
  const tar = gunzipSync(archive);
  const files = new Map<string, string>();
  for (let at = 0; tar[at] !== 0;) {
    const text = (from: number, length: number) =>
      tar.toString('utf8', at + from, at + from + length).split('\0')[0] ?? '';
    const size = parseInt(text(124, 12), 8);
    files.set(text(0, 100), tar.toString('utf8', at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
