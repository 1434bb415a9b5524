import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { databaseAccount, packagedBinaries } from '../../src/platform/database/embedded-cluster.js';
import { joinEmbeddedPostgres } from '../../src/platform/database/embedded-postgres.js';
import { readPlainFile } from '../../src/platform/files/plain-file.js';
import { developmentSecret } from '../../src/platform/settings/settings-loader.js';
import { EmbeddedCluster, folderOfClusters } from '../support/database/embedded-cluster.js';
import { until } from '../support/service/until.js';

// As root the database runs as an account without rights: the attacker here controls that account.
const account = databaseAccount();

describe('the embedded database', () => {
  let folder: string;
  let dataDir: string;
  let home: string;
  let cluster: EmbeddedCluster;
  beforeEach(() => {
    folder = folderOfClusters();
    dataDir = join(folder, 'data');
    home = join(dataDir, 'postgres');
    cluster = new EmbeddedCluster(dataDir);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const joinDatabase = () => joinEmbeddedPostgres(dataDir, () => undefined, ['fsync=off']);
  const asAccount = (program: string, ...args: string[]): number | null =>
    spawnSync(program, args, account === null ? {} : { uid: account.uid, gid: account.gid }).status;
  /** As earlier versions left it: the home belongs to the account. */
  const earlierHome = () => {
    if (account !== null) chownSync(home, account.uid, account.gid);
    chmodSync(home, 0o700);
  };
  const answers = async (url: string): Promise<unknown> => {
    const client = new Client(url);
    await client.connect();
    const { rows } = await client.query('SELECT 1 AS one');
    await client.end();
    return rows;
  };

  it('lies in a folder that its account cannot change, but for its data', async () => {
    const database = await joinDatabase();
    await database.release();

    expect(readdirSync(home).sort()).toEqual(['data', 'server.log']);
    expect(statSync(home).uid).toBe(process.getuid?.());
    expect(statSync(home).mode & 0o777).toBe(account === null ? 0o700 : 0o711);
    expect(statSync(join(home, 'data')).uid).toBe(account?.uid ?? process.getuid?.());
    expect(statSync(join(home, 'server.log')).mode & 0o777).toBe(0o600);
    if (account !== null) {
      expect(asAccount('rm', '-f', join(home, 'server.log'))).not.toBe(0);
      expect(asAccount('mv', join(home, 'data'), join(home, 'old'))).not.toBe(0);
      expect(asAccount('ln', '-s', '/etc/shadow', join(home, 'other.log'))).not.toBe(0);
    }
  });

  it('takes over a home that belonged to its account, and joins a server that runs there', async () => {
    cluster.lay();
    const first = await joinDatabase();
    earlierHome();
    const second = await joinDatabase();

    expect(statSync(home).uid).toBe(process.getuid?.());
    expect(await answers(second.url)).toEqual([{ one: 1 }]);
    await first.release();
    expect(cluster.postmaster()).not.toBeNull();
    await second.release();
    expect(cluster.postmaster()).toBeNull();
  });

  it('writes no log through a link that its account has left', async () => {
    cluster.lay();
    const target = join(folder, 'target');
    writeFileSync(target, 'untouched\n', { mode: 0o600 });
    earlierHome();
    expect(asAccount('ln', '-s', target, join(home, 'server.log'))).toBe(0);

    await expect(joinDatabase()).rejects.toThrow(/server\.log is a link/);

    expect(readFileSync(target, 'utf8')).toBe('untouched\n');
    rmSync(join(home, 'server.log'));
    await (await joinDatabase()).release();
  });

  it('writes no log into a file that has a second name', async () => {
    cluster.lay();
    const target = join(folder, 'target');
    writeFileSync(join(home, 'server.log'), '');
    spawnSync('ln', [join(home, 'server.log'), target]);

    await expect(joinDatabase()).rejects.toThrow(/server\.log is a link/);
  });

  it('follows no link in the place of its data', async () => {
    cluster.lay();
    spawnSync('mv', [join(home, 'data'), join(folder, 'elsewhere')]);
    symlinkSync(join(folder, 'elsewhere'), join(home, 'data'));

    await expect(joinDatabase()).rejects.toThrow(/data is a link/);
  });

  it('signals only processes of its account, whatever the pid file has', async () => {
    cluster.lay();
    const database = await joinDatabase();
    const pid = cluster.postmaster() ?? 0;
    // An ordinary user's own processes are within that user's reach anyway: there the number is one of root's.
    const victim = spawn('sleep', ['600'], { stdio: 'ignore' });
    const number = account === null ? 1 : (victim.pid ?? 0);
    const file = join(home, 'data', 'postmaster.pid');
    const [, ...rest] = readFileSync(file, 'utf8').split('\n');
    asAccount('sh', '-c', `printf '%s\n' "$1" > '${file}'`, 'sh', [number, ...rest].join('\n'));

    await database.release();

    expect(victim.exitCode).toBeNull();
    expect(victim.signalCode).toBeNull();
    const gone = new Promise((ended) => victim.on('exit', (_, signal) => ended(signal)));
    victim.kill('SIGKILL');
    expect(await gone).toBe('SIGKILL');
    process.kill(pid, 'SIGQUIT');
    await until(() => spawnSync('kill', ['-0', String(pid)]).status !== 0);
  });

  it('starts although the pid file of a crashed server names a process of another account', async () => {
    cluster.lay();
    const file = join(home, 'data', 'postmaster.pid');
    const text = [account === null ? 1 : process.pid, join(home, 'data'), 1, 1, '', '127.0.0.1', '', ''].join('\\n');
    asAccount('sh', '-c', `umask 077; printf '${text}' > '${file}'`);

    const database = await joinDatabase();

    expect(await answers(database.url)).toEqual([{ one: 1 }]);
    await database.release();
    expect(cluster.postmaster()).toBeNull();
  });

  it('is not held by a pipe in the place of the pid file', () => {
    const file = join(folder, 'postmaster.pid');
    spawnSync('mkfifo', [file]);

    expect(() => readPlainFile(file)).toThrow('is a link, or is not a file');
  });

  it('is stopped when all processes leave at the same time', async () => {
    const present = await Promise.all([joinDatabase(), joinDatabase(), joinDatabase()]);

    await Promise.all(present.map((database) => database.release()));

    expect(cluster.postmaster()).toBeNull();
  });

  it('is stopped by a process whose connection to it was lost', async () => {
    cluster.lay();
    const database = await joinDatabase();
    const owner = await cluster.connect();
    await owner.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
    await owner.end();

    await database.release();

    expect(cluster.postmaster()).toBeNull();
  });

  it('runs programs that its account cannot reach from copies that it cannot change', async () => {
    const { initdb } = await packagedBinaries();
    const closed = join(folder, 'closed');
    cpSync(dirname(dirname(initdb)), closed, { recursive: true, verbatimSymlinks: true });
    chmodSync(closed, 0o700);
    const program = (name: string): string => join(closed, 'bin', name);
    const binaries = { initdb: program('initdb'), pg_ctl: program('pg_ctl'), postgres: program('postgres') };

    const database = await joinEmbeddedPostgres(dataDir, () => undefined, ['fsync=off'], binaries);
    expect(await answers(database.url)).toEqual([{ one: 1 }]);
    await database.release();

    if (account === null) return;
    const copies = join(home, 'native');
    const owners = readdirSync(copies, { recursive: true, encoding: 'utf8' }).map((path) =>
      lstatSync(join(copies, path)),
    );
    expect(owners.filter(({ uid, mode }) => uid !== 0 || (!isLink(mode) && (mode & 0o022) !== 0))).toEqual([]);
    expect(readdirSync(copies)).toHaveLength(1);
  });

  it('refuses a DATA_DIR that its account may change', async () => {
    mkdirSync(dataDir);
    if (account === null) return;
    chownSync(dataDir, account.uid, account.gid);
    await expect(joinDatabase()).rejects.toThrow(`can be changed by ${account.name}`);
    chownSync(dataDir, 0, 0);
    chmodSync(folder, 0o777);
    await expect(joinDatabase()).rejects.toThrow(`can be changed by ${account.name}`);
    chmodSync(folder, 0o1777); // as /tmp
    cluster.lay();
    await (await joinDatabase()).release();
  });

  it.each(['postgres.json', 'development-secret'])(
    'refuses %s when it is a link, also one to nothing',
    async (name) => {
      const target = join(folder, 'target');
      mkdirSync(dataDir);
      symlinkSync(target, join(dataDir, name));
      const use = name === 'postgres.json' ? joinDatabase : () => developmentSecret(dataDir);

      await expect(use()).rejects.toThrow(`${name} is a link`);
      writeFileSync(target, JSON.stringify({ home: join(folder, 'other'), passwords: {} }));
      await expect(use()).rejects.toThrow(`${name} is a link`);

      expect(readdirSync(folder).sort()).toEqual(['data', 'target']);
      expect(lstatSync(join(dataDir, name)).isSymbolicLink()).toBe(true);
    },
  );
});

const isLink = (mode: number): boolean => (mode & 0o170000) === 0o120000;
