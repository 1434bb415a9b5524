import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';

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
    return runGrantline(['acl', 'import', file, '--users', list, ...options], {
      ACL_WRITABLE_CATALOGS: 'lake',
      SERVICE_QUERY_USER: 'service-account-grantline',
    });
  };
  const impersonation = '"impersonation":[{"original_user":"bi","new_user":"ana"}]';
  const rules = compile(aSnapshot().group('readers', ['ana', 'ben']).may('SELECT', 'sales.eu').snapshot()).text;

  it('writes a snapshot that means the same, with a group of users who are alike', async () => {
    const out = join(folder, 'out.json');
    await writeFile(out, 'grants of somebody');
    const stderr = `${out} was there, and is replaced\n`;
    expect(await importRules(rules, 'ana\nben\ncyn\n', '--out', out)).toEqual({ code: 0, stdout: '', stderr });
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
    const changed = rules.replace('"tables":[', `"tables":[${secret},`);
    const { code, stdout } = await importRules(changed, 'ana\n', '--json');
    const { snapshot, findings } = JSON.parse(stdout) as {
      snapshot: { grants: { resource: object }[] };
      findings: object[];
    };
    // What everybody reads who reaches something is all that is left.
    const granted = snapshot.grants.map(({ resource }) => resource);
    expect({ code, granted }).toEqual({
      code: 1,
      granted: [
        { catalog: 'system', schema: 'jdbc' },
        { catalog: 'system', schema: 'metadata' },
      ],
    });
    expect(findings).toContainEqual({
      code: 'import-lost',
      severity: 'warning',
      people: ['ana'],
      what: ['SELECT from sales.eu.(any other table)'],
      why: 'a grant above would also reach names that other rules decide; a listing (--catalog) tells which there are',
      instead: 'not granted',
      rule: expect.stringMatching(/^tables\[\d+\]$/) as string,
      line: expect.any(Number) as number,
      column: expect.any(Number) as number,
    });
    const text = await importRules(changed, 'ana\n');
    expect(text.stderr).toMatch(
      /rules[.]json:\d+:\d+ tables\[\d+\] ana: not granted, because a grant above would also reach names that other rules decide; a listing \(--catalog\) tells which there are:\n {2}SELECT from sales[.]eu[.]\(any other table\)\n/,
    );
  });

  it('resolves patterns of names over a listing, and says which those are', async () => {
    const secret = '{"schema":"eu","table":"secret_.*","privileges":[]}';
    const changed = rules.replace('"tables":[', `"tables":[${secret},`);
    const listing = join(folder, 'listing.csv');
    await writeFile(listing, 'table_cat,table_schem,table_name\n"sales","eu","orders"\n"sales","eu","secret_deals"\n');
    const { code, stdout } = await importRules(changed, 'ana\n', '--catalog', listing, '--json');
    const { snapshot, findings } = JSON.parse(stdout) as { snapshot: object; findings: object[] };
    expect(code).toBe(1);
    expect(snapshot).toMatchObject({ grants: [{ resource: { catalog: 'sales', schema: 'eu', table: 'orders' } }] });
    expect(findings).toMatchObject([
      { code: 'import-users-missing', people: ['ben'] },
      { code: 'import-pattern-resolved', people: ['ana'] },
    ]);
    await writeFile(listing, 'sales.eu.orders\na.b.c.d\n');
    const refused = await importRules(changed, 'ana\n', '--catalog', listing);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('listing.csv:2:1 ');
  });

  it('reads any file that the engine loads, with the groups that the list gives, out of a manifest too', async () => {
    const foreign = `{
      "catalogs": [{ "group": "analysts", "catalog": "sales", "allow": true }],
      "tables": [{ "group": "analysts", "catalog": "sales", "schema": "EU|eu", "privileges": ["select"] }],
      "queries": [{ "allow": ["execute"] }]
    }`;
    const users = '# people of sales\nana: analysts, staff\n\nben\n';
    const granted = [
      // The file has no section about schemas: everybody owns those that they may enter.
      {
        resource: { catalog: 'sales' },
        principal: { type: 'group', name: 'analysts' },
        privileges: ['SCHEMA_OWNERSHIP'],
      },
      {
        resource: { catalog: 'sales', schema: 'eu' },
        principal: { type: 'group', name: 'analysts' },
        privileges: ['SELECT'],
      },
      { resource: { engine: true }, principal: { type: 'everyone' }, privileges: ['EXECUTE_QUERIES'] },
    ];
    const bare = await importRules(foreign, users, '--json');
    // What everyone has is theirs whom the file lists.
    const listed = [{ name: 'ana' }, { name: 'ben' }];
    expect(JSON.parse(bare.stdout)).toMatchObject({ snapshot: { users: listed, grants: granted } });
    const manifest = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', data: { 'rules.json': foreign } });
    const mapped = await importRules(manifest, users, '--json');
    expect(JSON.parse(mapped.stdout)).toMatchObject({ snapshot: { grants: granted } });
    expect([bare.code, mapped.code]).toEqual([0, 0]);
  });

  it('says which users and groups the rules name and the list has not', async () => {
    const named = `{
      "catalogs": [{ "user": "ana|gone[.]away", "allow": "all" }, { "group": "sales|staff", "allow": "none" },
        { "group": "old-staff|staff", "allow": "all" }, { "user": "t-[0-9]", "allow": "all" }],
      "tables": [{ "privileges": ["SELECT"] }],
      "schemas": []
    }`;
    const { code, stderr } = await importRules(named, 'ana: staff\n');
    expect(code).toBe(1);
    expect(stderr.split('\n').filter((line) => !/^ |info:/.test(line))).toEqual([
      expect.stringMatching(
        /:2:78 error: catalogs\[1\]: kept from nobody: add them to the list, or write a deny, because/,
      ),
      expect.stringMatching(/:2:30 catalogs\[0\] gone[.]away: nothing is granted, because the list has not got them:$/),
      expect.stringMatching(
        /:3:20 catalogs\[2\]: rules for these groups match nobody, because nobody of the list is in old-staff:$/,
      ),
      '',
    ]);
  });

  it('makes an engine principal of a program of the list, which acts as others', async () => {
    const changed = rules.replace(/"impersonation":\[[^\]]*\]/, impersonation);
    const { code, stdout } = await importRules(changed, 'ana <ana@example.org>\nben\nengine:bi: boards\n', '--json');
    const { snapshot, findings } = JSON.parse(stdout) as {
      snapshot: { users: object; grants: object[] };
      findings: object;
    };
    expect({ code, findings, users: snapshot.users }).toEqual({
      code: 0,
      findings: [],
      users: [{ name: 'ana' }, { name: 'ben' }],
    });
    expect(snapshot.grants).toContainEqual({
      resource: { as: { type: 'user', name: 'ana' } },
      principal: { type: 'engine', name: 'bi' },
      privileges: ['IMPERSONATE'],
    });
    const alike = await importRules(changed, 'ana\nengine:Ana\n');
    expect(alike).toMatchObject({ code: 2, stdout: '' });
    expect(alike.stderr).toMatch(/users:2:1 "Ana" is the name of an account, not of an engine principal: /);
  });

  it('makes one of whom the rules name, with remarks alone, and none of whom the list says to be a person', async () => {
    const changed = rules.replace(/"impersonation":\[[^\]]*\]/, impersonation);
    const plain = await importRules(changed, 'ana\nben\nbi: boards\n');
    expect(plain.code).toBe(0);
    expect(plain.stderr).toMatch(
      /^\S+:\d+:\d+ info: impersonation\[0\] bi: taken for a program, because .*:\n {2}engine:bi: boards\n$/,
    );
    expect(await importRules(changed, 'ana\nben\nuser:bi: boards\n')).toMatchObject({ code: 1 });
  });

  it('ends with 2 where a file cannot be read, or is refused by the engine, and says where', async () => {
    const refused = await importRules('{\n "tables": [{ "privileges": "SELECT" }]}', 'ana\n');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/rules[.]json:2:29 "privileges" must be a list/);
    const unnamed = await importRules(rules, 'ben\na\u0007\n');
    expect(unnamed).toMatchObject({ code: 2, stdout: '' });
    expect(unnamed.stderr).toMatch(/users:2:1 /);
    expect(await importRules('', 'ana\n')).toMatchObject({ code: 2, stdout: '' });
    const nobody = await importRules(rules, '# nobody yet\n');
    expect(nobody).toMatchObject({ code: 2, stdout: '' });
    expect(nobody.stderr).toMatch(/users:1:1 there is no user in it/);
    for (const [data, place] of [
      ['rules.json: {catalogs: []}', '4:15 "rules.json" must be one text'],
      ['rules.json.bak: "{}"', '4:3 there is "rules.json.bak", but no rules file beside it'],
      ['other.json: "{}"', '1:1 there is no ConfigMap or Secret with a rules file here'],
    ]) {
      const withoutRules = await importRules(`kind: ConfigMap\nmetadata: {name: r}\ndata:\n  ${data}\n`, 'ana\n');
      expect(withoutRules).toMatchObject({ code: 2, stdout: '' });
      expect(withoutRules.stderr).toContain(`rules.json:${place}`);
    }
    const ofGroups = await importRules(rules, '# of the engine\nadmins:eve\nanalysts:ana,ben\n');
    expect(ofGroups).toMatchObject({ code: 2, stdout: '' });
    expect(ofGroups.stderr).toMatch(
      /users:2:1 "admins:eve" looks like a line of the engine's group file .*\(ana: analysts, sales\)/,
    );
    const missing = await runGrantline(['acl', 'import', join(folder, 'none'), '--users', join(folder, 'none')], {});
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(missing.stderr).not.toContain(' at ');
  });
});
