import { spawnSync } from 'node:child_process';
import {
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SNAPSHOT = {
  version: 1,
  users: [{ id: 1, name: 'ana' }],
  grants: [{ principal: { type: 'user', name: 'ana' }, resource: { catalog: 'sales' }, privileges: ['SELECT'] }],
};

describe('the file that a command writes', () => {
  let folder: string;
  let out: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'command-files-'));
    out = join(folder, 'out');
    mkdirSync(out);
    writeFileSync(join(folder, 'snapshot.json'), JSON.stringify(SNAPSHOT));
    writeFileSync(join(folder, 'users'), 'ana\n');
    writeFileSync(join(folder, 'source.json'), '{"catalogs": [{"user": "ana", "catalog": "sales", "allow": "all"}]}');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const COMMANDS = {
    'acl compile': ['acl', 'compile', '--snapshot', 'snapshot.json', '--out', 'out'],
    'acl import': ['acl', 'import', 'source.json', '--users', 'users', '--out', 'out/rules.json'],
  };
  /** With that limit a write that reaches it is cut short, and the next one fails, as on a full disk; also for root. */
  interface Circumstances {
    maxBytes?: string;
    stdout?: 'pipe' | number;
    mode?: string;
  }
  const run = (args: readonly string[], { maxBytes = 'unlimited', stdout = 'pipe', mode = '' }: Circumstances = {}) =>
    spawnSync('prlimit', [`--fsize=${maxBytes}`, process.execPath, join(process.cwd(), 'dist/main.js'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', stdout, 'pipe'],
      env: { PATH: process.env['PATH'], ACL_FILE_MODE: mode },
    });

  describe.each(Object.entries(COMMANDS))('%s', (_, command) => {
    const file = (): string => join(out, 'rules.json');

    it('is what it was where the disk is full', () => {
      writeFileSync(file(), 'what was good');
      const { status, stdout, stderr } = run(command, { maxBytes: '64' });

      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toMatch(/rules.json cannot be written, and the file is what it was: EFBIG: file too large\n$/);
      expect(readFileSync(file(), 'utf8')).toBe('what was good');
      expect(readdirSync(out)).toEqual(['rules.json']);
    });

    it('stays in its folder, and has the mode of the setting', () => {
      writeFileSync(join(folder, 'outside'), 'untouched');
      symlinkSync(join(folder, 'outside'), file());
      run(command);

      expect(readFileSync(join(folder, 'outside'), 'utf8')).toBe('untouched');
      expect(lstatSync(file()).isFile()).toBe(true);
      expect(lstatSync(file()).mode & 0o777).toBe(0o640);
      run(command, { mode: '0604' });
      expect(lstatSync(file()).mode & 0o777).toBe(0o604);
    });

    it('takes the place of no device, and of no folder', () => {
      symlinkSync('/dev/null', file());
      const { status, stderr } = run(command);

      expect(status).toBe(2);
      expect(stderr).toContain('rules.json cannot be written: it is a directory, a device or a pipe');
      expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
    });
  });

  it('ends the command with 2 where it is standard output, cut off', () => {
    const descriptor = openSync(join(folder, 'printed'), 'w');
    const explanation = run(['acl', 'check', '--explain', 'json-syntax'], { maxBytes: '64', stdout: descriptor });
    closeSync(descriptor);
    const full = openSync('/dev/full', 'w');
    const check = run(['acl', 'check', 'source.json'], { stdout: full });
    closeSync(full);

    expect([explanation.status, check.status]).toEqual([2, 2]);
    expect(explanation.stderr).toBe('grantline: standard output is cut off: EFBIG: file too large\n');
    expect(check.stderr).toBe('grantline: standard output is cut off: ENOSPC: no space left on device\n');
  });
});
