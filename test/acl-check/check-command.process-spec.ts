import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GrantlineProcess, runGrantline } from '../support/service/grantline-process.js';
import { sharedFolder } from '../support/service/shared-folder.js';

/** Every section is there; somebody may run queries. */
const NOTHING = {
  ...{ catalogs: [], schemas: [], tables: [], system_session_properties: [], catalog_session_properties: [] },
  queries: [{ user: 'ana', allow: ['execute'] }],
};

describe('grantline acl check', () => {
  const folder = sharedFolder('acl-check-');
  let good: string;
  let bad: string;
  beforeAll(async () => {
    good = await file('good.json', '{"catalogs": [{"user": "ana", "allow": "all"}]}');
    bad = await file('bad rules.json', '{\n  "catalogs": [{"user": "", "catalog": "lake", "allow": "all"}]\n}');
  });

  const file = async (name: string, content: string | Uint8Array): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  };
  const check = (...args: string[]) => runGrantline(['acl', 'check', ...args], {});

  it('ends with 0 without errors, 1 with one, 2 where a file cannot be read, and checks the others', async () => {
    expect((await check(good)).code).toBe(0);
    expect((await check(good, bad)).code).toBe(1);
    const { code, stdout } = await check(join(folder, 'none.json'), folder, bad, '--format', 'json');
    expect(code).toBe(2);
    const { findings, files } = JSON.parse(stdout) as { findings: { code: string; file: string }[]; files: string[] };
    expect(files).toEqual([join(folder, 'none.json'), folder, bad]);
    expect(findings.map((finding) => finding.code)).toEqual(
      expect.arrayContaining(['file-unreadable', 'rules-pattern-empty']),
    );
    expect(findings.filter((finding) => finding.code === 'file-unreadable')).toHaveLength(2);
  });

  it('ends with 1 from the severity that --fail-on names, whatever the format', async () => {
    const info = await file('info.json', JSON.stringify({ ...NOTHING, system_session_properties: undefined }));
    const warning = await file('warning.json', JSON.stringify({ ...NOTHING, queries: [] }));
    const codes = async (...args: string[]) => (await check(...args)).code;
    for (const [path, error, warned, informed] of [
      [info, 0, 0, 1],
      [warning, 0, 1, 1],
      [bad, 1, 1, 1],
    ] as const) {
      expect([path, await codes(path)]).toEqual([path, error]);
      expect([path, await codes(path, '--fail-on', 'error')]).toEqual([path, error]);
      expect([path, await codes(path, '--fail-on', 'warning')]).toEqual([path, warned]);
      expect([path, await codes(path, '--fail-on', 'info', '--format', 'sarif')]).toEqual([path, informed]);
    }
    expect(await codes(info, join(folder, 'none.json'), '--fail-on', 'info')).toBe(2);
    const { stderr, code } = await check(good, '--fail-on', 'note');
    expect([code, stderr]).toEqual([2, expect.stringContaining('Allowed choices are error, warning, info')]);
  });

  it('is held up by nothing that is endless', async () => {
    const yaml = await file('long.yaml', `kind: ConfigMap\ndata: {}\n${'# no end\n'.repeat(1_000_000)}`);
    const { code, stdout } = await check('/dev/zero', yaml, good);
    expect(code).toBe(2);
    expect(stdout).toContain('/dev/zero:1:1: error: cannot be read: is a device');
    expect(stdout).toContain(`${yaml}:1:1: error: more than 8 MB of YAML: write it as JSON`);
  });

  it('says every two seconds that it goes on', async () => {
    const child = spawn(process.execPath, ['dist/main.js', 'acl', 'check', '-'], { stdio: ['pipe', 'ignore', 'pipe'] });
    const [report] = (await once(child.stderr, 'data')) as [Buffer];
    expect(report.toString()).toBe('checking: 2 s\n');
    child.stdin.end('{"catalogs": [{"user": "ana", "allow": "all"}]}');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('ends with 2 on wrong usage', async () => {
    for (const args of [[], ['--format', 'xml', good], ['--explain', 'no-such-code'], ['--no-such-option', good]]) {
      expect({ args, code: (await check(...args)).code }).toEqual({ args, code: 2 });
    }
  });

  it('shows the line, with a caret below the place', async () => {
    const { stdout } = await check(bad);
    expect(stdout).toContain(`${bad}:2:25: error: "user" is empty`);
    expect(stdout).toContain(
      '\n  2 |   "catalogs": [{"user": "", "catalog": "lake", "allow": "all"}]\n    |                         ^\n',
    );
    expect(stdout).toMatch(/1 file checked: 1 error, 3 warnings, 2 info\n$/);
  });

  it('reads standard input, and finds places in manifests', async () => {
    const manifest = 'kind: ConfigMap\nmetadata: {name: r}\ndata:\n  rules.json: |\n    {"tables":\n      null}\n';
    const { code, stdout } = await new GrantlineProcess(
      ['acl', 'check', '-', '--format', 'json'],
      {},
      { input: manifest },
    ).finished;
    expect(code).toBe(1);
    const { findings } = JSON.parse(stdout) as { findings: object[] };
    expect(findings).toContainEqual({
      file: '-',
      line: 6,
      column: 7,
      code: 'rules-section-null',
      severity: 'error',
      message:
        'the section "tables" is null, which the engine reads as absent: everybody has every privilege on every table',
      rule: null,
      witness: null,
    });
  });

  it('reads other encodings as the engine does', async () => {
    const text = '{"catalogs": [{"user": "ana", "allow": "read_only"}]}';
    const codes = async (name: string, bytes: Uint8Array) => {
      const { stdout } = await check(await file(name, bytes), '--format', 'json');
      const { findings } = JSON.parse(stdout) as { findings: { code: string; line: number; column: number }[] };
      return findings
        .filter(({ code }) => !code.startsWith('rules-section'))
        .map(({ code, line, column }) => `${line}:${column} ${code}`);
    };
    const mark = '1:1 json-byte-order-mark';
    const value = '1:40 rules-value-unknown';
    expect(await codes('mark', Buffer.from(`\ufeff${text}`))).toEqual([mark, value]);
    expect(await codes('utf-16', Buffer.from(`\ufeff${text}`, 'utf16le'))).toEqual([mark, value]);
    expect(await codes('utf-16-without-mark', Buffer.from(text, 'utf16le'))).toEqual([mark, value]);
    const manifest = `\ufeffkind: ConfigMap\ndata:\n  rules.json: '${text}'\n`;
    expect(await codes('manifest', Buffer.from(manifest))).toEqual(['3:55 rules-value-unknown']);
    const latin = Buffer.from(text.replace('ana', 'än'), 'latin1');
    expect(await codes('latin-1', latin)).toEqual(['1:25 json-encoding', '1:39 rules-value-unknown']);
  });

  it('prints a SARIF log', async () => {
    const { code, stdout } = await check(good, bad, '--format', 'sarif');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      version: '2.1.0',
      runs: [
        {
          tool: { driver: { name: 'grantline acl check' } },
          results: expect.arrayContaining([
            expect.objectContaining({
              ruleId: 'rules-pattern-empty',
              level: 'error',
              locations: [
                {
                  physicalLocation: {
                    artifactLocation: { uri: expect.stringMatching(/bad%20rules\.json$/) as string },
                    region: { startLine: 2, startColumn: 25 },
                  },
                  logicalLocations: [{ fullyQualifiedName: 'catalogs[0]' }],
                },
              ],
            }),
          ]) as object[],
        },
      ],
    });
  });

  it('checks service accounts and catalogs that the command line or the environment names', async () => {
    const rules = await file(
      'service.json',
      '{"catalogs": [{"user": "svc", "allow": "all"}],\n "schemas": [{"user": "svc", "owner": true}],\n' +
        ' "tables": [{"user": "svc", "privileges": ["SELECT", "OWNERSHIP"]}], "queries": [{"allow": ["execute"]}]}',
    );
    const options = ['--service-account', 'svc,other', '--writable-catalog', 'lake', '--metadata-catalog', 'meta'];
    const expected = ['invariant-metadata-catalog', 'invariant-section-missing', 'invariant-writable-catalog'];
    const codesOf = (stdout: string): string[] => {
      const { findings } = JSON.parse(stdout) as { findings: { code: string }[] };
      return [...new Set(findings.map(({ code }) => code).filter((code) => code.startsWith('invariant')))].sort();
    };
    expect(codesOf((await check(rules, ...options, '--format', 'json')).stdout)).toEqual(expected);
    const environment = {
      ACL_SERVICE_ACCOUNTS: 'svc,other',
      ACL_WRITABLE_CATALOGS: 'lake',
      ACL_METADATA_CATALOG: 'meta',
    };
    const { stdout } = await runGrantline(['acl', 'check', rules, '--format', 'json'], environment);
    expect(codesOf(stdout)).toEqual(expected);
    expect(codesOf((await check(rules, '--format', 'json')).stdout)).toEqual([]);
  });

  it('explains a code', async () => {
    const { code, stdout } = await check('--explain', 'dead-rule');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^dead-rule \(warning\)\n\nThe first rule that matches decides/);
  });

  it('finds in the example of docs/checks.md what is printed there', async () => {
    const [, command = '', output = ''] =
      /npx --no -- grantline (acl check .*)\n```\n\n```text\n([^]*?)```/.exec(
        await readFile('docs/checks.md', 'utf8'),
      ) ?? [];
    const { code, stdout } = await runGrantline(command.split(' '), {});
    expect({ code, stdout }).toEqual({ code: 1, stdout: output });
  });
});
