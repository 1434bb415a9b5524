import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runGrantline } from '../support/service/grantline-process.js';
import { sharedFolder } from '../support/service/shared-folder.js';

const RULES = {
  catalogs: [
    { group: 'ops', catalog: 'lake', allow: 'all' },
    { catalog: 'lake', allow: 'read-only' },
  ],
  tables: [
    { group: 'ops', catalog: 'lake', privileges: ['SELECT', 'OWNERSHIP'] },
    { user: 'ana', catalog: 'lake', schema: 'dev_.*', privileges: ['SELECT'] },
  ],
  functions: [{ catalog: 'lake', function: 'query', privileges: ['EXECUTE'] }],
  queries: [{ group: 'ops', queryOwner: 'etl', allow: ['kill'] }, { allow: ['execute'] }],
  impersonation: [{ original_user: 'dash', new_user: 'a.*' }],
  system_information: [{ user: 'ana', allow: ['read'] }],
};

describe('acl explain --rules', () => {
  const folder = sharedFolder('acl-explain-');
  const [rules, users] = [join(folder, 'rules.yaml'), join(folder, 'users')];
  const explain = (...args: string[]) => runGrantline(['acl', 'explain', '--rules', rules, ...args], {});
  beforeAll(async () => {
    const text = JSON.stringify(RULES, null, 1).replaceAll('\n', '\n    ');
    await writeFile(rules, `kind: ConfigMap\nmetadata: {name: r}\ndata:\n  rules.json: |\n    ${text}\n`);
    await writeFile(users, 'ana: ops\nbo\n');
  });

  it('answers what is printed in docs/explain.md', async () => {
    const guide = await readFile('docs/explain.md', 'utf8');
    const [, command = '', output = ''] = /```sh\n.*grantline (.*)\n```\n\n```text\n(.*?)```/s.exec(guide) ?? [];
    expect((await runGrantline(command.split(' '), {})).stdout).toBe(output);
  });

  it.each([
    ['bo', 'ENTER_CATALOG --catalog lake', 'may enter the catalog lake', 'catalogs[1]'],
    ['ana', 'schema_ownership --catalog lake --schema s', 'may have OWNERSHIP of the schema lake.s', '"schemas"'],
    ['bo', 'INSERT --catalog lake --schema s --table t', 'may not INSERT into lake.s.t', 'catalogs[1]'],
    ['ana', 'SELECT --catalog lake --schema s --table t --column c', 'may SELECT from lake.s.t, column c', 'tables[0]'],
    ['bo', 'SELECT --catalog lake --schema s --table t', 'may not SELECT from lake.s.t', 'no rule of "tables" matches'],
    ['bo', 'EXECUTE_FUNCTION --catalog lake --schema s --routine query', 'may EXECUTE the function', 'functions[0]'],
    ['ana', 'KILL_QUERIES --of etl', 'may kill queries of etl', 'queries[0]'],
    ['ana', 'KILL_QUERIES', "may not kill other people's queries", 'queries[1]'],
    ['ana', 'SELECT', 'may not SELECT from everything', 'no rule of "catalogs" matches'],
    ['ana', 'schema_ownership', 'may not have OWNERSHIP of the schemas of everything', 'no rule of "catalogs" matches'],
    ['bo', 'EXECUTE_FUNCTION', 'may not EXECUTE the functions of everything', 'no rule of "catalogs" matches'],
    ['dash', 'IMPERSONATE --as ana', 'may impersonate ana', 'impersonation[0]'],
    ['ana', 'READ_SYSTEM_INFORMATION', 'may read system information', 'system_information[0]'],
    ['bo', 'SET_SESSION --property p', 'may SET SESSION p', '"system_session_properties"'],
  ])('%s %s: %s by %s', async (user, asked, answer, rule) => {
    const { code, stdout } = await explain('--users', users, '--user', user, '--privilege', ...asked.split(' '));
    const [first, second] = stdout.split('\n');
    expect({ code, first, second }).toEqual({
      code: 0,
      first: expect.stringContaining(`${user} ${answer}`) as string,
      second: expect.stringContaining(rule) as string,
    });
  });

  it('prints the place of the rule, and the section that is absent, with --json', async () => {
    const asked = ['--user', 'bo', '--privilege', 'SET_SESSION', '--property', 'p'];
    const [absent, executing] = await Promise.all([
      explain(...asked, '--json'),
      explain('--users', users, '--user', 'bo', '--privilege', 'EXECUTE_QUERIES', '--json'),
    ]);
    expect(JSON.parse(absent.stdout)).toEqual({
      ...{ allowed: true, rule: null, considered: [], grants: [], policies: [] },
      ...{ section: 'system_session_properties', absent_section: 'system_session_properties', refused_for: null },
    });
    expect(JSON.parse(executing.stdout)).toMatchObject({
      allowed: true,
      rule: { section: 'queries', index: 1, text: '{"allow":["execute"]}', line: 52, column: 7 },
      absent_section: null,
    });
  });

  it('ends with 2 and the place of a rule for groups that would decide, where nobody says who is in them', async () => {
    const { code, stderr } = await explain('--user', 'ana', '--privilege', 'SELECT', '--catalog', 'lake');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `${rules}:8:17 catalogs[0]: the rule is for groups, and those of ana are not known: name the users and their groups with --users FILE\n`,
    });
  });

  it('ends with 2 and the place of what the engine refuses', async () => {
    const refused = join(folder, 'refused.json');
    await writeFile(refused, '{\n "tables": [],\n "queries": [{"allow": ["run"]}]\n}');
    const { code, stderr } = await runGrantline(
      ['acl', 'explain', '--rules', refused, '--user', 'ana', '--privilege', 'EXECUTE_QUERIES'],
      {},
    );
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`${refused}:3:25 `) as string });
  });

  it('ends with 2 on a question that is none', async () => {
    const { code, stderr } = await explain('--user', 'ana', '--privilege', 'IMPERSONATE', '--catalog', 'Lake');
    expect({ code, lines: stderr.trim().split('\n') }).toEqual({
      code: 2,
      lines: [
        '--catalog must be lower-case, as the engine has it',
        'IMPERSONATE needs --as',
        'IMPERSONATE has no --catalog',
      ],
    });
    expect((await explain('--user', 'ana', '--privilege', 'KILL_QUERIES', '--of', 'ana')).code).toBe(2);
    const inNoCatalog = await explain('--user', 'ana', '--privilege', 'SELECT', '--schema', 's', '--table', 't');
    expect(inNoCatalog).toMatchObject({ code: 2, stderr: '--schema needs a --catalog\n' });
  });
});
