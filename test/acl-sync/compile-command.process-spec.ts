import { generateKeyPairSync, verify } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { runGrantline } from '../support/service/grantline-process.js';

describe('acl compile', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acl-compile-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const compile = async (snapshot: string, ...options: string[]) => {
    const file = join(folder, 'snapshot');
    await writeFile(file, snapshot);
    const all = ['acl', 'compile', '--snapshot', file, '--out', join(folder, 'out'), ...options];
    return runGrantline(all, { ACL_WARN_TABLE_RULES: '2' });
  };
  const alice = `
version: 1
users: [{id: 1, name: alice}]
grants: [{principal: {type: user, name: alice}, resource: {catalog: sales}, privileges: [SELECT]}]
settings: {own_account: service-account-grantline}
`;

  it('compiles a snapshot file, and reports size and time', async () => {
    const { code, stdout } = await compile(alice, '--json');

    const text = await readFile(join(folder, 'out', 'rules.json'), 'utf8');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      file: join(folder, 'out', 'rules.json'),
      bytes: Buffer.byteLength(text),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      findings: [{ code: 'many-table-rules', severity: 'warning' }],
    });
    expect(text).toContain('{"user":"alice","catalog":"sales","privileges":["SELECT"],"filter":"true"}');
    expect((await compile(alice)).stdout).toMatch(/rules[.]json: \d+ rules, \d+ bytes, compiled in \d+ ms/);
    expect(await readFile(join(folder, 'out', 'rules.json'), 'utf8')).toBe(text);
  });

  it('refuses what is longer than it may be, and writes nothing', async () => {
    const { code, stdout } = await compile(alice, '--json', '--max-bytes', '1000');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      file: null,
      findings: [{ code: 'too-large' }, { code: 'many-table-rules' }],
    });
    await expect(readFile(join(folder, 'out', 'rules.json'))).rejects.toThrow('ENOENT');
    expect(await compile(alice, '--max-bytes', 'many')).toMatchObject({ code: 2, stdout: '' });
  });

  it('makes the bundle that OPA reads, signed with a key, and equal bytes without one', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = join(folder, 'key.pem');
    await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const bundle = join(folder, 'out', 'grantline.tar.gz');

    const { code, stdout } = await compile(alice, '--target', 'opa', '--signing-key', key, '--json');
    const archive = await readFile(bundle);
    const { hash } = JSON.parse(stdout) as { hash: string };
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ file: bundle, bytes: archive.length, findings: [] });
    const files = gunzipSync(archive).toString('latin1');
    expect(files).toContain(`"revision":"v0-${hash.slice(0, 12)}"`);
    expect(files).toContain('"grants":{"ualice":{"sales":{"":{"":"S"}}}}');
    const [, header = '', payload = '', signed = ''] =
      /"signatures":\["([\w-]+)\.([\w-]+)\.([\w-]+)"/.exec(files) ?? [];
    const verifier = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from(`${header}.${payload}`), verifier, Buffer.from(signed, 'base64url'))).toBe(
      true,
    );

    const again = await compile(alice, '--target', 'opa');
    expect(again.stdout).toMatch(/grantline[.]tar[.]gz: revision v0-[0-9a-f]{12}, \d+ bytes, compiled in \d+ ms/);
    const unsigned = await readFile(bundle);
    expect(gunzipSync(unsigned).includes('.signatures.json')).toBe(false);
    expect((await compile(alice, '--target', 'opa')).code).toBe(0);
    expect((await readFile(bundle)).equals(unsigned)).toBe(true);
  });

  it('signs with no key that OPA could not use', async () => {
    const key = join(folder, 'key.pem');
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
    await writeFile(key, weak.export({ type: 'pkcs8', format: 'pem' }));
    const { code, stdout, stderr } = await compile(alice, '--target', 'opa', '--signing-key', key);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`${key}: no private key in PEM`);
    expect((await compile(alice, '--target', 'opa', '--signing-key', join(folder, 'none'))).code).toBe(2);
    expect((await compile(alice, '--target', 'opa', '--max-bytes', '1000')).code).toBe(2);
    expect((await compile(alice, '--target', 'rego')).code).toBe(2);
    await expect(readFile(join(folder, 'out', 'grantline.tar.gz'))).rejects.toThrow('ENOENT');
  });

  it('lists every problem of a file that is no snapshot, and ends with 2', async () => {
    const { code, stdout, stderr } = await compile('{version: 2, users: [{id: 1}]}');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('version must be 1');
    expect(stderr).toContain('users[0].name');
    expect((await compile('version: [')).code).toBe(2);
    expect((await runGrantline(['acl', 'compile', '--snapshot', join(folder, 'none'), '--out', folder], {})).code).toBe(
      2,
    );
    expect((await runGrantline(['acl', 'compile'], {})).code).toBe(2);
  });
});
