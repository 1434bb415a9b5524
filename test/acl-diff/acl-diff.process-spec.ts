import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';

const MANIFEST = `---
kind: ConfigMap
data:
  rules.json: |
    {"catalogs": [{"user": "ana", "allow": "read-only"}], "queries": [{"user": "ana", "queryOwner": ".*", "allow": ["view"]}]}
`;

interface Entry {
  what: string;
  people: string[];
}

interface Differences {
  rules: { added: string[]; removed: string[] };
  access: { gained: Entry[]; lost: Entry[] };
}

describe('acl diff', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acl-diff-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const diff = async (before: string | Uint8Array, after: string | Uint8Array, ...options: string[]) => {
    const files = ['before.json', 'after.json'].map((name) => join(folder, name));
    await Promise.all([before, after].map((text, i) => writeFile(files[i] ?? '', text)));
    return runGrantline(['acl', 'diff', ...files, ...options], {});
  };
  const analysts = (members: string[]) => aSnapshot().group('analysts', members).may('SELECT', 'sales.eu.orders');
  const text = (builder: ReturnType<typeof analysts>) => compile(builder.snapshot()).text;

  it('says who gains and loses what, and ends with 1', async () => {
    const after = text(analysts(['ana', 'bo']).seesOnly('sales.eu.orders', "region = 'EU'"));
    const { code, stdout } = await diff(text(analysts(['ana'])), after);
    expect({ code, lines: stdout.split('\n') }).toEqual({
      code: 1,
      lines: expect.arrayContaining([
        '- tables {"user":"ana","catalog":"sales","schema":"eu","table":"orders","privileges":["SELECT"],"filter":"true"}',
        'gained by bo:',
        '  SELECT from sales.eu.orders',
        '  enter the catalog sales',
        'lost by ana:',
        "  now: may SELECT only those rows of sales.eu.orders for which region = 'EU'",
      ]) as unknown,
    });
  });

  it('cuts nobody off', async () => {
    const everybody = Array.from({ length: 300 }, (_, i) => `person_${i}`).sort();
    const { code, stdout } = await diff(text(aSnapshot()), text(analysts(everybody)), '--json');
    const { rules, access } = JSON.parse(stdout) as Differences;
    expect(code).toBe(1);
    expect(rules.added.length).toBeGreaterThan(0);
    expect(access.lost).toEqual([]);
    const orders = {
      kind: 'privilege',
      resource: { catalog: 'sales', schema: 'eu', table: 'orders' },
      privilege: 'SELECT',
    };
    const entry = { ...orders, what: 'SELECT from sales.eu.orders', people: everybody, strangers: [] };
    expect(access.gained).toContainEqual(entry);
    expect(access.gained.filter(({ what }) => what.startsWith('impersonate'))).toHaveLength(300);
  });

  it('takes the order of keys and sections for no difference, and ends with 0', async () => {
    const rules = text(analysts(['ana']));
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, inner]) => [key, reversed(inner)]),
      );
    };
    const other = JSON.stringify(reversed(JSON.parse(rules)), null, 4);
    expect(await diff(rules, other)).toEqual({ code: 0, stdout: 'no difference\n', stderr: '' });
    expect(JSON.parse((await diff(rules, other, '--json')).stdout)).toEqual({
      rules: { added: [], removed: [] },
      access: { gained: [], lost: [] },
    });
  });

  it('tells that rules are in another order, which decides', async () => {
    const [open, shut] = ['{"user":"bo","privileges":["SELECT"]}', '{"privileges":[]}'];
    const file = (...tables: string[]): string => `{"tables":[${tables.join()}],"queries":[{"allow":["execute"]}]}`;
    const { code, stdout } = await diff(file(open, shut), file(shut, open));
    expect({ code, lines: stdout.split('\n').slice(0, 2) }).toEqual({
      code: 1,
      lines: ['~ tables: rules are in another order', 'lost by bo:'],
    });
  });

  it('tells rules that differ from access that does', async () => {
    const rules = text(analysts(['ana']));
    const more = rules.replace('"tables":[', '"tables":[{"user":"bo","privileges":[]},');
    const { code, stdout } = await diff(rules, more);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: '+ tables {"user":"bo","privileges":[]}\nnobody gains or loses anything\n',
    });
  });

  it.each<[string, string | Uint8Array, RegExp]>([
    ['no JSON', '{"catalogs": [', /before[.]json:1:\d+ /],
    ['nothing', '', /before[.]json:1:1 /],
    ['what the engine refuses', '{"tables":[{"privileges":["READ"]}]}', /before[.]json:1:\d+ .*READ/],
    ['two rules files', MANIFEST + MANIFEST, /before[.]json:\d+:\d+ there is a second rules file/],
    ['not UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d), /before[.]json:1:2 from here on the file is not UTF-8/],
  ])('ends with 2 where a file cannot be read: %s', async (_name, broken, message) => {
    const { code, stdout, stderr } = await diff(broken, text(analysts(['ana'])));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it("reads anybody's files: an absent section opens what it gives, and a manifest holds rules", async () => {
    const { code, stdout } = await diff(
      MANIFEST,
      '{"catalogs":[{"allow":"read-only"}],"queries":[{"allow":["execute"]}]}',
    );
    expect({ code, lines: stdout.split('\n') }).toMatchObject({
      code: 1,
      lines: expect.arrayContaining([
        'gained by ana, any other user (2):',
        '  SELECT from (any other catalog).(any other schema).(any other table)',
        'lost by ana:',
        '  view queries of any other user',
      ]) as unknown,
    });
  });

  it('compares for the users of a list and their groups', async () => {
    const rules = (group: string): string =>
      JSON.stringify({
        catalogs: [
          { group, allow: 'owner' },
          { user: 'carl', allow: 'all' },
        ],
        impersonation: [{ original_user: '(a|b).*', new_user: '$1_etl' }],
        system_information: [{ user: group === 'admins' ? 'ana' : 'bo', allow: ['read'] }],
      });
    await writeFile(join(folder, 'users'), '# who is in which group\nana: admins\nbo: analysts\ncarl\n');
    const options = ['--users', join(folder, 'users')];
    const { code, stdout, stderr } = await diff(rules('admins'), rules('analysts'), ...options);
    expect(stderr).toBe('');
    expect({ code, lines: stdout.split('\n') }).toMatchObject({
      code: 1,
      lines: expect.arrayContaining([
        'gained by bo:',
        '  create and drop the catalog (any other catalog)',
        '  read system information',
        'lost by ana:',
      ]) as unknown,
    });
    expect(stdout).not.toMatch(/carl:|_etl:|any other user/);
    await writeFile(join(folder, 'users'), 'ana: admins\nbo: others\n');
    const { stderr: unlisted } = await diff(rules('admins'), rules('analysts'), ...options);
    expect(unlisted.split('\n')).toEqual([
      expect.stringMatching(/users: the rules name carl, which the list lacks: their access is not compared$/),
      expect.stringMatching(/users: the rules name the groups analysts, in which the list has nobody$/),
      '',
    ]);
    expect(await diff(rules('admins'), rules('admins'), ...options)).toMatchObject({
      code: 0,
      stdout: 'no difference\n',
    });
  });

  it('ends with 2 where a rule cannot be compared, and says which', async () => {
    const rules =
      '{"tables":[{"group":"admins","privileges":["SELECT"]},{"group":"x","privileges":[]},{"table":"(?<=x).*","privileges":[]}]}';
    const { code, stdout, stderr } = await diff(rules, '{}');
    expect({ code, stdout, lines: stderr.trimEnd().split('\n') }).toEqual({
      code: 2,
      stdout: '',
      lines: [
        expect.stringMatching(
          /before[.]json:1:21 tables\[0\]: a rule for groups can only be compared for users of a list, .* \(and 1 more\)$/,
        ),
        expect.stringMatching(
          /before[.]json:1:\d+ tables\[2\]: the names that the table "\(\?<=x\)[.]\*" matches cannot be told/,
        ),
        'name the users and their groups with --users FILE',
      ],
    });
  });

  it('ends with 2 where there is no such file, or none is named', async () => {
    const nowhere = join(folder, 'nowhere');
    expect(await runGrantline(['acl', 'diff', nowhere, nowhere], {})).toMatchObject({ code: 2, stdout: '' });
    expect(await runGrantline(['acl', 'diff', nowhere], {})).toMatchObject({ code: 2, stdout: '' });
  });
});
