import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { runGrantline } from '../support/grantline-process.js';
import { aSnapshot } from '../support/snapshot-builder.js';

describe('acl import', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acl-import-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const importRules = async (rules: string, users: string, ...options: string[]) => {
    const [file, list] = [join(folder, 'rules.json'), join(folder, 'users')];
    await writeFile(file, rules);
    await writeFile(list, users);
    return runGrantline(['acl', 'import', file, '--users', list, ...options], { ACL_WRITABLE_CATALOGS: 'lake' });
  };
  const rules = compile(aSnapshot().group('readers', ['ana', 'ben']).may('SELECT', 'sales.eu').snapshot()).text;

  it('writes a snapshot that means the same, with a group of users who are alike', async () => {
    const out = join(folder, 'out.json');
    expect(await importRules(rules, 'ana\nben\ncyn\n', '--out', out)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual({
      version: 1,
      users: [{ name: 'ana' }, { name: 'ben' }],
      groups: [{ name: 'imported-1', members: ['ana', 'ben'] }],
      grants: [
        {
          resource: { catalog: 'sales', schema: 'eu' },
          principal: { type: 'group', name: 'imported-1' },
          privileges: ['SELECT'],
        },
      ],
      policies: [],
    });
  });

  it('lists what grants cannot say, with its place, and gives less instead', async () => {
    const secret = '{"schema":"eu","table":"secret_.*","privileges":[]}';
    const { code, stdout } = await importRules(rules.replace('"tables":[', `"tables":[${secret},`), 'ana\n', '--json');
    const { snapshot, findings } = JSON.parse(stdout) as { snapshot: { grants: unknown[] }; findings: object[] };
    expect({ code, grants: snapshot.grants }).toEqual({ code: 1, grants: [] });
    expect(findings).toContainEqual({
      code: 'import-lost',
      what: 'SELECT from sales.eu.(any other table)',
      people: ['ana'],
      rule: expect.stringMatching(/^tables\[\d+\]$/) as string,
      line: expect.any(Number) as number,
      column: expect.any(Number) as number,
    });
  });

  it('ends with 2 where a file cannot be read', async () => {
    expect(await importRules('{"catalogs":[]}', 'ana\n')).toMatchObject({ code: 2, stdout: '' });
    expect(await importRules(rules, 'a\u0007\n')).toMatchObject({ code: 2, stdout: '' });
  });
});
