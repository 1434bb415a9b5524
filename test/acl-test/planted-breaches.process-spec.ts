import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishedCases } from '../acl-import/published-cases.js';
import { runGrantline } from '../support/service/grantline-process.js';

const at = (schema: string, ...privileges: string[]) => ({ resource: { catalog: 'planted', schema }, privileges });
const BOSS = { type: 'user', name: 'boss' };

/** A sentence of each kind, which hold once boss has these rights. */
const SENTENCES = [
  { name: 'nobody reads salaries', kind: 'never', principal: { type: 'everyone' }, ...at('salaries', 'SELECT') },
  { name: 'only boss writes books', kind: 'only', principals: [BOSS], ...at('books', 'INSERT') },
  { name: 'boss reads the mart', kind: 'always', principal: BOSS, ...at('mart', 'SELECT') },
  {
    ...{ name: 'nobody asks and approves', kind: 'apart' },
    ...{ first: at('requests', 'INSERT'), second: at('approvals', 'INSERT') },
  },
  { name: 'at most one reads secrets', kind: 'at_most', count: 1, ...at('secrets', 'SELECT') },
];
const rule = (user: string, schema: string, ...privileges: string[]) => ({
  ...{ user, catalog: 'planted', schema, privileges },
});
const RIGHTS = [rule('boss', 'mart|secrets', 'SELECT'), rule('boss', 'books|requests', 'INSERT')];

/** What breaks each of them as the first rule for tables, and by whom. */
const BREACHES = [
  { person: 'mallory', planted: { ...rule('mallory|trudy', 'salaries', 'SELECT'), table: 'bonus' } },
  { person: 'mallory', planted: rule('mal(lory)', 'books', 'INSERT') },
  { person: 'boss', planted: { ...rule('boss', 'mart'), table: 'kpi' } },
  { person: 'boss', planted: rule('bos[s]', 'appr(ovals)', 'INSERT') },
  { person: 'mallory', planted: rule('mallory', 'secrets', 'SELECT') },
];

/** As they are, a sentence is broken in one, and names of whom nobody lists cannot be told in the other. */
const LEFT_OUT = ['staging-and-production', 'impersonation-for-a-notebook'];
const CASES = publishedCases().filter(({ name, rules }) => rules.includes('"tables": [') && !LEFT_OUT.includes(name));

interface TestedFile {
  file: string;
  guarantees: {
    name: string;
    state: string;
    witnesses: { person: string; deciding_rule: { rule: string; line: number; column: number } | null }[];
  }[];
}

describe('acl test, on files as people publish them', () => {
  let folder: string;
  let users: string;
  let guarantees: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'planted-breaches-'));
    const listed = CASES.flatMap((each) => each.users.split('\n')).filter(Boolean);
    users = await written(
      'users.txt',
      [...new Map(listed.map((line) => [line.split(':')[0], line])).values()].join('\n'),
    );
    guarantees = await written('guarantees.json', JSON.stringify({ guarantees: SENTENCES }));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const written = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const judged = (files: readonly string[], ...more: string[]) =>
    runGrantline(['acl', 'test', ...files, '--guarantees', guarantees, '--users', users, ...more], {});
  const planted = CASES.map((each, i) => {
    const { person, planted: first } = BREACHES[i % BREACHES.length] ?? { person: '', planted: {} };
    const text = withRules(each.rules, [first, ...RIGHTS]);
    const before = text.slice(0, text.indexOf(JSON.stringify(first))).split('\n');
    const place = { rule: 'tables[0]', line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    return { name: each.name, text, person, place, sentence: SENTENCES[i % SENTENCES.length]?.name ?? '' };
  });
  const plantedFiles = () => Promise.all(planted.map(({ name, text }) => written(name, text)));

  it('has twenty of them, and all sentences hold in each', async () => {
    expect(CASES.length).toBeGreaterThanOrEqual(20);
    const files = CASES.map(({ name, rules }) => written(`${name}-with-rights`, withRules(rules, RIGHTS)));
    const { code, stdout, stderr } = await judged(await Promise.all(files));

    expect(stdout.split('\n').filter((line) => line.includes('BROKEN'))).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`${SENTENCES.length * CASES.length} judged, 0 broken\n`);
  });

  it('finds the one breach in each, as text', async () => {
    const { code, stdout } = await judged(await plantedFiles());

    expect(code).toBe(1);
    expect(stdout).toContain(`${SENTENCES.length * CASES.length} judged, ${CASES.length} broken\n`);
    for (const { name, person, place, sentence } of planted) {
      const file = join(folder, name);
      const [, told = ''] = stdout.split(`${file}: BROKEN  ${sentence}\n`);
      const breaches = told.slice(0, told.search(/^\S/m)).split('\n');
      const by = ` by ${place.rule} (${file}:${place.line}:${place.column})`;
      expect(breaches.filter((line) => line.startsWith(`  ${person} may `) && line.endsWith(by))).not.toEqual([]);
    }
  });

  it('finds the same, as JSON and as SARIF', async () => {
    const files = await plantedFiles();
    const json = await judged(files, '--format', 'json');
    const sarif = await judged(files, '--format', 'sarif');

    expect([json.code, sarif.code]).toEqual([1, 1]);
    const tested = (JSON.parse(json.stdout) as { files: TestedFile[] }).files;
    const [{ results }] = (JSON.parse(sarif.stdout) as { runs: [{ results: object[] }] }).runs;
    for (const [i, { name, person, place, sentence }] of planted.entries()) {
      const broken = tested[i]?.guarantees.filter(({ state }) => state === 'broken');
      expect(broken).toMatchObject([{ name: sentence }]);
      expect(broken?.[0]?.witnesses).toContainEqual(expect.objectContaining({ person, deciding_rule: place }));
      const { line: startLine, column: startColumn } = place;
      const uri = expect.stringContaining(name) as unknown;
      const physicalLocation = { artifactLocation: { uri }, region: { startLine, startColumn } };
      expect(results).toContainEqual(
        expect.objectContaining({
          ...{ ruleId: 'guarantee-broken', level: 'error', properties: { guarantee: sentence } },
          locations: [
            expect.objectContaining({ physicalLocation: expect.objectContaining(physicalLocation) as unknown }),
          ],
        }),
      );
    }
  });
});

/** The file with further rules for tables before its own, and with a catalog that these users enter. */
function withRules(text: string, rules: readonly object[]): string {
  const entered = { user: 'boss|mallory|trudy', catalog: 'planted', allow: 'all' };
  return withFirst(withFirst(text, 'catalogs', [entered]), 'tables', rules);
}

/** Of a section that a file has twice, the engine reads the last. */
function withFirst(text: string, section: string, rules: readonly object[]): string {
  const heading = `"${section}": [`;
  const at = text.lastIndexOf(heading);
  if (at < 0) return text;
  const rest = text.slice(at + heading.length).trimStart();
  const listed = rules.map((each) => JSON.stringify(each)).join(', ');
  return `${text.slice(0, at)}${heading}${listed}${rest.startsWith(']') ? '' : ', '}${rest}`;
}
