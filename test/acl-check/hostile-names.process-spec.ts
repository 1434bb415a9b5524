import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runGrantline } from '../support/service/grantline-process.js';
import { sharedFolder } from '../support/service/shared-folder.js';

/** A line for a CI that takes commands from the log, colours, a C1 control, and text from right to left. */
const HOSTILE = 'a\n::error::owned\r\u001b[31m\u009b2J\u202e.json';
const HOSTILE_PATTERN = 'a\n::error::owned\u009b2J\u202e';
const SHOWN = 'a ::error::owned �[31m�2J�.json';
const COMMANDING = /\n::|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

describe('what files call things, and how they are called, in a terminal', () => {
  const folder = sharedFolder('hostile-names-');
  const path = (name: string): string => join(folder, name);
  const run = (...args: string[]) => runGrantline(args, {});
  beforeAll(async () => {
    const rules = (user: string): string => JSON.stringify({ catalogs: [{ user, allow: 'all' }] });
    await writeFile(path(HOSTILE), rules('['));
    await writeFile(path('before.json'), rules('ana'));
    await writeFile(path('after.json'), JSON.stringify({ catalogs: [{ user: HOSTILE_PATTERN, allow: 'all' }] }));
    await writeFile(path('users'), 'ana');
  });

  it.each([
    ['a file that is found wrong', ['check', HOSTILE], 1],
    ['a file that is not there', ['check', `none ${HOSTILE}`], 2],
    ['rules that are refused', ['diff', HOSTILE, 'before.json'], 2],
    ['a list that is not there', ['diff', 'before.json', 'before.json', '--users', `none ${HOSTILE}`], 2],
    ['a snapshot that is not there', ['compile', '--out', 'out', '--snapshot', `none ${HOSTILE}`], 2],
    ['a result that cannot be written', ['import', 'before.json', '--users', 'users', '--out', `none/${HOSTILE}`], 2],
    ['an option', ['check', `--${HOSTILE}`], 2],
  ])('%s is one line, without commands', async (_, [command = '', ...args], expected) => {
    const given = args.map((arg) => (arg.startsWith('--') ? arg : path(arg)));
    const { code, stdout, stderr } = await run('acl', command, ...given);
    expect([code, stdout + stderr]).toEqual([expected, expect.stringContaining(SHOWN)]);
    expect(stdout + stderr).not.toMatch(COMMANDING);
  });

  it('a name that is a command to a CI is none', async () => {
    const { stdout } = await run('acl', 'check', '::error::owned', '##[error]', '##vso[task.complete]');
    expect(stdout).toContain('�:error::owned:1:1: error: cannot be read');
    expect(stdout).not.toMatch(/^\s*::|##/m);
  });

  it('rules that differ are lines without commands', async () => {
    const { code, stdout } = await run('acl', 'diff', path('before.json'), path('after.json'));
    expect([code, stdout]).toEqual([1, expect.stringContaining('+ catalogs ')]);
    expect(stdout).not.toMatch(COMMANDING);
  });

  it('are whole in JSON, and escaped', async () => {
    for (const format of ['json', 'sarif']) {
      const { stdout } = await run('acl', 'check', path(HOSTILE), '--format', format);
      expect(stdout).not.toMatch(COMMANDING);
      expect(JSON.stringify(JSON.parse(stdout))).toContain(format === 'json' ? '\u202e' : encodeURIComponent('\u202e'));
    }
    const { stdout } = await run('acl', 'diff', path('before.json'), path('after.json'), '--json');
    expect(stdout).not.toMatch(COMMANDING);
    expect(JSON.stringify(JSON.parse(stdout))).toContain('\u009b2J\u202e');
  });
});
