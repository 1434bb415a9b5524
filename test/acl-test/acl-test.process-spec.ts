import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellBlocks } from '../support/service/built-checkout.js';
import { runGrantline } from '../support/service/grantline-process.js';

const RULES = 'docs/examples/shared-engine.json';
const LIST = ['--users', 'docs/examples/users.txt'];
const EXAMPLE = ['--guarantees', 'docs/examples/guarantees.yaml'];

describe('acl test', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acl-test-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const file = async (name: string, value: unknown): Promise<string> => {
    await writeFile(join(folder, name), JSON.stringify(value));
    return join(folder, name);
  };
  const judge = async (guarantees: object[], rules: object, ...options: string[]) =>
    runGrantline(
      [
        'acl',
        'test',
        await file('rules.json', rules),
        '--guarantees',
        await file('g.json', { guarantees }),
        ...options,
      ],
      {},
    );
  const opened = (...tables: object[]) => ({ catalogs: [{ allow: 'all' }], schemas: [], tables });
  const never = { name: 'a', kind: 'never', principal: { type: 'everyone' }, resource: { catalog: 'hr' } };

  it('says who breaks a sentence, where, and by which rule, and ends with 1, as docs/guarantees.md prints it', async () => {
    const [block] = shellBlocks(await readFile('docs/guarantees.md', 'utf8'));
    const { code, stdout } = await runGrantline(['acl', 'test', RULES, ...EXAMPLE, ...LIST], {});

    const command = ['npx --no -- grantline acl test', RULES, ...EXAMPLE, ...LIST].join(' ');
    expect(block).toEqual({
      commands: `${command} || echo "exit code $?"\n`,
      output: `${stdout}exit code ${code ?? ''}\n`,
    });
    expect(stdout).toContain(`  ana may SELECT from lake.sales.orders$… by tables[2] (${RULES}:14:5)\n`);
  });

  it('has the same for programs', async () => {
    const json = await runGrantline(['acl', 'test', RULES, ...EXAMPLE, ...LIST, '--format', 'json'], {});
    expect(JSON.parse(json.stdout)).toMatchObject({
      files: [
        {
          guarantees: [
            {
              state: 'broken',
              broken_by: 1,
              witnesses: [
                {
                  person: 'ana',
                  privilege: 'SELECT',
                  resource: { catalog: 'lake', schema: 'sales', table: 'orders$…' },
                  deciding_rule: { rule: 'tables[2]', line: 14, column: 5 },
                },
              ],
            },
            { state: 'holds' },
            { state: 'holds' },
            { state: 'holds' },
          ],
        },
      ],
    });
    const sarif = await runGrantline(['acl', 'test', RULES, ...EXAMPLE, ...LIST, '--format', 'sarif'], {});
    const { runs } = JSON.parse(sarif.stdout) as { runs: { results: unknown[] }[] };
    expect(runs[0]?.results).toEqual([expect.objectContaining({ ruleId: 'guarantee-broken', level: 'error' })]);
  });

  it('asks of somebody else, who counts as more than any number', async () => {
    const all = opened({ privileges: ['SELECT'] });
    const most = { ...never, kind: 'at_most', count: 10_000, privileges: ['SELECT'] };
    expect((await judge([most], all)).stdout).toContain('anybody else may SELECT from hr.');
    const always = { ...never, kind: 'always', privileges: ['SELECT'] };
    expect(await judge([always], all)).toMatchObject({ code: 0 });
    expect((await judge([always], opened({ user: 'ana', privileges: ['SELECT'] }))).stdout).toContain(
      'anybody else may not SELECT from hr.',
    );
    const queries = { resource: { queries: { type: 'everyone' } }, privileges: ['VIEW_QUERIES'] };
    const breach = 'anybody else may view queries of any other user by queries[0]';
    const { stdout } = await judge([{ ...never, ...queries }], { queries: [{ allow: ['view'] }] });
    expect(stdout.split('\n').map((line) => line.replace(/ \(.*/, ''))).toEqual([
      expect.stringContaining('BROKEN'),
      `  ${breach}`,
      '1 judged, 1 broken',
      '',
    ]);
  });

  it('finds two privileges that nobody may have both of', async () => {
    const at = (schema: string) => ({ resource: { catalog: 'pay', schema }, privileges: ['INSERT'] });
    const rules = opened(
      { user: 'bo|cy', catalog: 'pay', schema: 'requests', privileges: ['INSERT'] },
      { user: 'bo', catalog: 'pay', schema: 'approvals', privileges: ['INSERT'] },
    );
    const apart = { name: 'a', kind: 'apart', first: at('requests'), second: at('approvals') };
    const { code, stdout } = await judge([apart], rules);
    expect(code).toBe(1);
    expect(stdout).toContain('bo may INSERT into pay.approvals');
    expect(stdout).not.toContain('cy');
    expect(await judge([{ ...apart, except: [{ type: 'user', name: 'bo' }] }], rules)).toMatchObject({ code: 0 });
  });

  it('takes users by any name, whatever kind of principal they are', async () => {
    const rules = opened({ user: 'Ana|ana', privileges: ['SELECT'] });
    const except = [
      { type: 'user', name: 'ana' },
      { type: 'engine', name: 'Ana' },
    ];
    expect(await judge([{ ...never, except }], rules)).toMatchObject({ code: 0, stderr: '' });
  });

  it('leaves out service accounts, and says so', async () => {
    const rules = opened({ user: 'etl', privileges: ['SELECT'] });
    expect(await judge([never], rules)).toMatchObject({ code: 1 });
    const { code, stdout } = await judge([never], rules, '--service-account', 'etl');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('not about: etl') as string });
    const ofIt = { ...never, principal: { type: 'user', name: 'etl' } };
    const { stderr } = await judge([ofIt], rules, '--service-account', 'etl');
    expect(stderr).toContain('guarantees[0].principal.name is a service account, which no guarantee is about');
  });

  it.each([
    ['a group without a list', [{ ...never, principal: { type: 'group', name: 'g' } }], {}, 'names groups'],
    ['rules for groups without a list', [never], opened({ group: 'g', privileges: [] }), 'needs the users'],
    ['another kind', [{ ...never, kind: 'mostly' }], {}, 'guarantees[0].kind must be one of never'],
    ['a field of another kind', [{ ...never, count: 3 }], {}, 'guarantees[0].count is not a known field'],
    ['two of one name', [never, { ...never, name: 'A' }], {}, 'guarantees[1].name is the name of another guarantee'],
    ['rows of the engine', [{ ...never, resource: { engine: true }, unfiltered: true }], {}, 'holds no rows'],
    ['no principals', [{ name: 'a', kind: 'only', principals: [], resource: {} }], {}, 'must name at least one'],
    ['ids', [{ ...never, principal: { type: 'user', id: 3 } }], {}, 'guarantees[0].principal.id is not a known field'],
    ['a count of none', [{ ...never, kind: 'at_most', count: 0 }], {}, 'guarantees[0].count must be an integer'],
  ])('refuses %s with 2, and says why', async (_, guarantees, rules, message) => {
    const { code, stderr } = await judge(guarantees, rules);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) as string });
  });
});
