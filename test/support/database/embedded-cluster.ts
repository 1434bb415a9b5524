import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { codeOf } from '../../../src/platform/files/plain-file.js';
import { until } from '../service/until.js';
import { type MadeCluster, testPostgres } from './database.js';
import { roomForDatabases } from './room-for-databases.js';

/** A folder of one test's own, in which a cluster of root's may lie: its account can walk through it. */
export function folderOfClusters(): string {
  const folder = mkdtempSync(join(roomForDatabases(), 'grantline-cluster-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** The embedded database of a DATA_DIR, as its owner may look at it. */
export class EmbeddedCluster {
  constructor(private readonly dataDir: string) {}

  /** Puts one there that is made and migrated, as an earlier start has left it; `dataDir` is in a `folderOfClusters`. */
  lay({ data, passwords }: MadeCluster = testPostgres().embedded): void {
    const home = join(this.dataDir, 'postgres');
    mkdirSync(home, { recursive: true });
    execFileSync('cp', ['-a', data, join(home, 'data')]);
    writeFileSync(join(this.dataDir, 'postgres.json'), JSON.stringify({ home, passwords }), { mode: 0o600 });
  }

  /** Also where root's cluster lies outside a `dataDir` that its account cannot reach. */
  remove(): void {
    if (existsSync(join(this.dataDir, 'postgres.json'))) rmSync(this.description().home, { recursive: true });
  }

  /** The server's process id, by the file that it keeps while it runs; null: it does not run. */
  postmaster(): number | null {
    const lines = this.pidFile();
    return lines === null ? null : Number(lines[0]);
  }

  /** When no server runs any more: the process that stops it may have ended before. */
  isStopped(): Promise<void> {
    return until(() => this.postmaster() === null);
  }

  /** As the superuser, in the service's database. */
  async connect(): Promise<Client> {
    const port = this.pidFile()?.[3] ?? '';
    const { passwords } = this.description();
    const client = new Client(`postgres://postgres:${passwords.postgres}@127.0.0.1:${port}/grantline`);
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** The server's output. */
  log(): string {
    return readFileSync(join(this.description().home, 'server.log'), 'utf8');
  }

  private pidFile(): string[] | null {
    if (!existsSync(join(this.dataDir, 'postgres.json'))) return null;
    try {
      const text = readFileSync(join(this.description().home, 'data', 'postmaster.pid'), 'utf8');
      return text === '' ? null : text.split('\n'); // made, and not written yet
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null; // initdb makes and removes it, too
      throw error;
    }
  }

  private description(): { home: string; passwords: { postgres: string } } {
    return JSON.parse(readFileSync(join(this.dataDir, 'postgres.json'), 'utf8')) as {
      home: string;
      passwords: { postgres: string };
    };
  }
}
