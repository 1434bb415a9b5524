import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';

/** The embedded database of a DATA_DIR, as its owner may look at it. */
export class EmbeddedCluster {
  constructor(private readonly dataDir: string) {}

  /** The server's process id, by the file that it keeps while it runs; null: it does not run. */
  postmaster(): number | null {
    const lines = this.pidFile();
    return lines === null ? null : Number(lines[0]);
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

  /** What the server has said. */
  log(): string {
    return readFileSync(join(this.description().home, 'server.log'), 'utf8');
  }

  private pidFile(): string[] | null {
    if (!existsSync(join(this.dataDir, 'postgres.json'))) return null;
    const file = join(this.description().home, 'data', 'postmaster.pid');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : null;
  }

  private description(): { home: string; passwords: { postgres: string } } {
    return JSON.parse(readFileSync(join(this.dataDir, 'postgres.json'), 'utf8')) as {
      home: string;
      passwords: { postgres: string };
    };
  }
}
