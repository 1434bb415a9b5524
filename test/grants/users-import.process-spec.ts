import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { planLine, type PlanStep } from '../../src/grants/domain/snapshot-changes.js';
import { ApiClient, registrant } from '../support/service/api-client.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { type SnapshotFiles, startSnapshotFiles } from '../support/snapshots/snapshot-files.js';

describe('a list of users', () => {
  let files: SnapshotFiles;
  beforeAll(async () => {
    files = await startSnapshotFiles();
  });
  afterAll(() => files.stop());

  const command = async (text: string | Buffer, ...options: string[]) => {
    const path = join(files.folder, 'users.txt');
    await writeFile(path, text);
    const { stderr, ...finished } = await runGrantline(['users', 'import', path, ...options], files.environment);
    const remarks = stderr.split(path).join('users.txt').split('\n').slice(1, -1);
    // On a busy machine a command takes two seconds, and tells its progress.
    return { ...finished, remarks: remarks.filter((line) => !/: \d+ s$/.test(line)) };
  };
  /** What becomes of a list; the lines of its plan, or its problems. */
  const lines = async (text: string, dryRun = false): Promise<string[]> => {
    const imported = await files.imported(text, { dryRun });
    if (imported.outcome === 'refused') return imported.problems.map(({ line, message }) => `${line}: ${message}`);
    return [...imported.plan.map(planLine), ...imported.remarks.map(({ line, message }) => `# ${line}: ${message}`)];
  };
  const accounts = async (query: string) => {
    const { body } = await files.admin.get(`/api/admin/users?${query}`);
    return body?.['items'] as Record<string, unknown>[];
  };

  it('becomes accounts in groups, by a command that tells its plan first', async () => {
    const text =
      '\ufeff# people\r\n\r\nana <ana@example.org>: analysts, sales\r\nuser:ben: analysts\r\nalice:sales\r\nengine:bi: sales\r\n';
    const plan = [
      ...['+ user ana <ana@example.org>', '+ user ben', '+ user alice:sales'],
      ...['+ group analysts', '+ member ana of analysts', '+ member ben of analysts'],
      ...['+ group sales', '+ member ana of sales'],
    ];
    const message = '"alice:sales" is taken for a name: groups stand behind a colon and a blank';
    const dry = await command(text, '--dry-run', '--json');
    expect(dry).toMatchObject({ code: 1, remarks: [] });
    const { plan: planned, ...others } = JSON.parse(dry.stdout) as { plan: PlanStep[] };
    expect(planned.map(planLine)).toEqual(plan);
    expect(others).toEqual({ outcome: 'planned', problems: [], remarks: [{ line: 5, message }], warnings: [] });
    expect(await accounts('source=import')).toEqual([]);

    expect(await command(text)).toEqual({
      code: 0,
      stdout: [...plan, 'imported: 3 accounts, 2 groups, 3 memberships\n'].join('\n'),
      remarks: [`users.txt:5:1 ${message}`],
    });
    expect(await accounts('source=import')).toMatchObject([
      { username: 'ana', email: 'ana@example.org', role: 'user', is_active: true, has_password: false },
      { username: 'ben', email: null },
      { username: 'alice:sales' },
    ]);
    expect((await files.exported()).groups).toEqual([
      { name: 'analysts', members: ['ana', 'ben'] },
      { name: 'sales', members: ['ana'] },
    ]);
    expect(await files.imported(text)).toMatchObject({ outcome: 'no_change', plan: [] });

    const { body } = await files.admin.get('/api/admin/audit?limit=9');
    expect((body?.['items'] as { event: string; details: object }[]).map(({ event }) => event).reverse()).toEqual([
      ...['account_created', 'account_created', 'account_created'],
      ...['group_created', 'member_added', 'member_added', 'group_created', 'member_added', 'users_imported'],
    ]);
    expect((body?.['items'] as object[])[0]).toMatchObject({ actor: null, details: { accounts: 3, changes: 8 } });
  });

  it('leaves accounts and groups that are there as they are', async () => {
    await files.apply({ version: 1, groups: [{ name: 'readers', members: ['bob'], description: 'they read' }] });
    expect(await lines('alice <other@example.org>: readers\ncyn: readers\nbob\n')).toEqual([
      ...['+ member alice of readers', '+ member cyn of readers'],
      '# 1: "alice" is there already, and keeps its address',
      '# 2: "cyn" is deactivated, and stays so',
    ]);
    expect(await accounts('q=cyn')).toMatchObject([{ is_active: false, source: 'local', has_password: true }]);
    expect(await accounts('q=alice%40')).toMatchObject([{ email: 'alice@example.org' }]);
    expect((await files.exported()).groups.find(({ name }) => name === 'readers')).toEqual({
      ...{ name: 'readers', members: ['alice', 'bob', 'cyn'], description: 'they read' },
    });
  });

  it('puts nobody who registered the name into groups, unless it is said whose account that is', async () => {
    await new ApiClient(files.service.url).post('/api/auth/register', registrant('erin'));
    const list = 'fay: finance\nerin <erin@example.org>: finance\nerin\n';
    const refused = await command(list);
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      remarks: [expect.stringMatching(/^users.txt:2:1 "erin" has a password/)],
    });
    expect(await accounts('q=fay')).toEqual([]);
    expect(await command('erin\n')).toMatchObject({ code: 0, stdout: 'no change\n' });
    expect(await command(list, '--with-registered')).toMatchObject({ code: 0, remarks: [] });
    expect((await files.exported()).groups.find(({ name }) => name === 'finance')?.members).toEqual(['erin', 'fay']);
    expect(await command(list)).toMatchObject({ code: 0, stdout: 'no change\n' });
  });

  it('is refused as a whole, with every line that is wrong, and nothing is written', async () => {
    const claim = {
      principal: { type: 'engine', name: 'Etl' },
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    };
    await files.admin.post('/api/admin/grants', claim);
    const before = [await accounts('limit=200'), await files.exported()];
    const text = [
      ...['fine: readers', 'ALICE', 'etl', 'service-account-grantline', 'service-account-other'],
      ...[
        '\u200bzero',
        'Mu\u0308ller',
        'x'.repeat(129),
        'eve <no address>',
        'eve <a@example.org>',
        'eve <b@example.org>',
      ],
      ...[
        '<who@example.org>',
        ': nobody',
        'Fine',
        'dora: Readers',
        'dora: a\u0000b',
        'mallory <m@example.org> x: readers',
      ],
      ...['Ünal', 'ÜNAL', 'admin: new, NEW'],
    ].join('\n');
    expect(await lines(text)).toEqual([
      '2: "ALICE" is the name of an account, which is spelled alice',
      '3: "etl" is the name of an engine principal, which is spelled Etl',
      '4: "service-account-grantline" must not begin with service-account-, as service accounts do',
      '5: "service-account-other" must not begin with service-account-, as service accounts do',
      '6: "\u200bzero" must not hold control, format or unassigned characters',
      '7: "Mu\u0308ller" must be in Unicode normalization form NFC',
      `8: "${'x'.repeat(129)}" must have 1 to 128 characters`,
      '9: "eve" has <no address>, which must be an e-mail address such as name@example.org',
      '11: "eve" has the address <a@example.org> already',
      '12: "" must have 1 to 128 characters',
      '13: "" must have 1 to 128 characters',
      '14: "Fine" differs from fine of line 1 in case only',
      '15: the group "Readers" differs from readers of line 1 in case only',
      '16: the group "a\\u0000b" must not hold control, format or unassigned characters',
      '17: "mallory <m@example.org> x" has < or >, between which an e-mail address stands, at the end of the name',
      '19: "ÜNAL" differs from Ünal of line 18 in case only',
      '20: the group "NEW" differs from new of line 20 in case only',
    ]);
    expect(await lines('gus: READERS')).toEqual(['1: the group "READERS" differs from the group readers in case only']);
    expect([await accounts('limit=200'), await files.exported()]).toEqual(before);
  });

  it('is refused by the command with the place of each line, and when it is not UTF-8', async () => {
    expect(await command('good\n\u200b\n')).toEqual({
      ...{ code: 1, stdout: '' },
      remarks: ['users.txt:2:1 "\u200b" must not hold control, format or unassigned characters'],
    });
    const ofGroups = join(files.folder, 'group.txt');
    await writeFile(ofGroups, 'ana\nanalysts:ana,ben\n');
    expect(await runGrantline(['users', 'import', ofGroups], files.environment)).toEqual({
      ...{ code: 2, stdout: '' },
      stderr: expect.stringMatching(
        /group.txt:2:1 "analysts:ana,ben" looks like a line of the engine's group file/,
      ) as string,
    });
    expect(await command(Buffer.from('m\xfcller\n', 'latin1'))).toMatchObject({ code: 2, stdout: '' });
  });

  it('makes no account of those whom the rules of the same import take for programs, so that they can be applied', async () => {
    const path = join(files.folder, 'rules.json');
    const rules = (text: string) => writeFile(path, text);
    const tables = '"tables": [{ "catalog": "sales", "privileges": ["SELECT"] }]';
    await rules(
      `{ "catalogs": [{ "catalog": "sales", "allow": "read-only" }], "schemas": [], ${tables},\n  "impersonation": [{ "original_user": "boards|otto", "new_user": "pia|quin" }]\n}`,
    );
    const list = 'pia\nquin\nboards: boards\nengine:hub\nhub: boards\n';
    const why = `because ${path}:2:21 impersonation[0] lets it act as others`;
    const remark = `"boards" gets no account, ${why}: write engine:boards: boards, or user: before the name of a person`;
    expect(await command(list, '--rules', path)).toEqual({
      code: 0,
      stdout: '+ user pia\n+ user quin\nimported: 2 accounts, 0 groups, 0 memberships\n',
      remarks: [`users.txt:3:1 ${remark}`],
    });
    const again = await command(list, '--rules', path, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ outcome: 'no_change', remarks: [{ line: 3, message: remark }] });

    const users = join(files.folder, 'users.txt');
    const imported = await runGrantline(['acl', 'import', path, '--users', users], files.environment);
    expect(imported).toMatchObject({ code: 1, stderr: expect.stringContaining(' otto: nothing is granted') as string });
    expect(await files.command(imported.stdout)).toMatchObject({ code: 0 });
    expect(await lines('boards')).toEqual(['1: "boards" is the name of an engine principal']);
    // The list has the last word about a person.
    expect(await command('user:otto\npia\n', '--dry-run', '--rules', path)).toMatchObject({ code: 1, remarks: [] });

    const privileges = '"privileges": ["SELECT", "INSERT"]';
    await rules(
      `{ "schemas": [{ "user": "dbt_prod|nele", "schema": "marts", "owner": true }],\n  "tables": [{ "user": "airflow|sam|tia|uwe", ${privileges} }, { ${privileges} }] }`,
    );
    const unmarked = 'airflow\ndbt_prod\nuser:nele\nsam <sam@example.org>\ntia: boards\nuwe\nvera\nengine:uwe\n';
    const looks = (line: number, name: string, place: string) =>
      `users.txt:${line}:1 "${name}" looks like a program, because ${path}:${place} lets it own or write, and the list has neither an address nor a group of it: write engine:${name}, or user:${name} for a person`;
    expect(await command(unmarked, '--rules', path, '--dry-run')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('+ user airflow\n+ user dbt_prod\n') as string,
      remarks: [looks(1, 'airflow', '2:14 tables[0]'), looks(2, 'dbt_prod', '1:15 schemas[0]')],
    });

    await rules('{ "impersonation": [{ "original_user": 1 }] }');
    expect(await command('rita\n', '--rules', path)).toMatchObject({ code: 2, stdout: '' });
    expect(await accounts('q=rita')).toEqual([]);
  });

  it('has addresses that somebody has already: they are not stored; nor is this, or a name that no header carries, a reason to refuse', async () => {
    expect(await lines('hal <ALICE@example.org>\nida <ida@example.org>\njon <Ida@example.org>\nŁukasz\n')).toEqual([
      ...['+ user hal', '+ user ida <ida@example.org>', '+ user jon', '+ user Łukasz'],
      '# 1: "hal" gets no address: another account has <ALICE@example.org>',
      '# 3: "jon" gets no address: another account has <Ida@example.org>',
      '# 4: "Łukasz" can run no SQL: requests to the engine carry names in letters of ISO 8859-1 (Latin-1) alone',
    ]);
  });

  it('is imported once by several at once, beside registrations of the same names', async () => {
    const names = Array.from({ length: 1_500 }, (_, i) => `many_${i}`);
    const list = (order: string[]) => order.map((name) => `${name} <${name}@example.org>: many`).join('\n');
    const registrations = names
      .filter((_, i) => i % 100 === 0)
      .map((name) => new ApiClient(files.service.url).post('/api/auth/register', registrant(name)));
    const [one, other, ...registered] = await Promise.all([
      files.imported(list(names)),
      files.imported(list([...names].reverse())),
      ...registrations,
    ]);
    expect([one.outcome, other.outcome].sort()).toEqual(['imported', 'no_change']);
    expect(registered.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    const { groups } = await files.exported();
    expect(new Set(groups.find(({ name }) => name === 'many')?.members)).toEqual(new Set(names));
  });

  it('changes no group whose members the identity provider decides, and no snapshot file does', async () => {
    const group = { name: 'by the provider', members: ['alice'] };
    await files.apply({ version: 1, groups: [group] }, { prune: true });
    const managed = `UPDATE groups SET source = 'scim' WHERE name = 'by the provider'`;
    await files.service.app.get(DataSource).query(managed);

    const message = 'the identity provider decides who is in';
    expect(await lines('bob: by the provider')).toEqual([`# null: ${message} "by the provider": nobody joins it here`]);
    const remark = (path: string) => ({ path, message: `${message} by the provider, which apply does not change` });
    const described = { ...group, members: ['bob'], description: 'pushed' };
    expect(await files.planned({ version: 1, groups: [described] }, { prune: true })).toMatchObject({
      plan: [{ action: 'change', kind: 'group', row: { name: 'by the provider', description: 'pushed' } }],
      remarks: [remark('groups[0].members')],
    });
    expect(await files.planned({ version: 1 }, { prune: true })).toMatchObject({ remarks: [remark('groups')] });
    expect((await files.exported()).groups).toEqual([{ ...group, description: 'pushed' }]);
  });
});
