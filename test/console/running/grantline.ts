import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { EmbeddedCluster, folderOfClusters } from '../../support/database/embedded-cluster.js';
import { FakeTrino } from '../../support/fakes/fake-trino.js';
import { administratorOf } from '../../support/service/administrator.js';
import { ApiClient } from '../../support/service/api-client.js';
import { type Finished, GrantlineProcess } from '../../support/service/grantline-process.js';
import { leaksOfFile, TEST_SECRET } from '../../support/service/secrets.js';

/** The built service as `npm start` runs it, on its embedded PostgreSQL, in front of an engine that tests script. */
export class Grantline {
  /** Without a session. */
  readonly anonymous: ApiClient;

  private constructor(
    readonly url: string,
    readonly engine: FakeTrino,
    private readonly environment: Record<string, string>,
    private readonly process: GrantlineProcess,
    private readonly folder: string,
  ) {
    this.anonymous = new ApiClient(url);
  }

  /** Nothing is published but by hand. @param environment overrides the tests' settings */
  static async start(environment: Record<string, string> = {}): Promise<Grantline> {
    const engine = new FakeTrino();
    const { hostname, port } = new URL(await engine.listen());
    const folder = folderOfClusters();
    const whole = {
      NODE_ENV: 'test',
      DATA_DIR: join(folder, 'data'),
      AUTH_SECRET_KEY: TEST_SECRET,
      AUTH_BCRYPT_COST: '4',
      AUTH_THROTTLE_REGISTER_PER_HOUR: '1000000',
      ACL_SYNC_ENABLED: 'false',
      // Files that share a service write many rows straight into its database.
      ACL_MAX_UNEXPLAINED_PERCENT: '100',
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
      PORT: '0',
      OPERATIONS_PORT: '0',
      ...environment,
    };
    const process = new GrantlineProcess(['serve'], whole);
    return new Grantline(await process.url(), engine, whole, process, folder);
  }

  /** Makes the administrator `admin` by the command line, as the first one is made. */
  createAdministrator(): Promise<ApiClient> {
    return administratorOf(this.url, this.environment);
  }

  /** A command beside the service. @param build the folder of another build */
  command(args: readonly string[], build = '.'): Promise<Finished> {
    return new GrantlineProcess(args, this.environment, { folder: build }).finished;
  }

  /** The service's database, as the superuser: for rows that are too many for the API. */
  database(): Promise<Client> {
    return new EmbeddedCluster(join(this.folder, 'data')).connect();
  }

  /** Somebody's sessions go on, in which they proved who they are too long ago for what asks for a recent proof. */
  async letProofsAge(username: string): Promise<void> {
    const database = await this.database();
    await database.query(
      `UPDATE sessions SET proved_at = now() - interval '1 hour'
        WHERE user_id = (SELECT id FROM users WHERE username = $1) AND proved_at IS NOT NULL`,
      [username],
    );
    await database.end();
  }

  /** @throws Error if the service wrote a secret or a statement anywhere, or did not end well */
  async stop(): Promise<void> {
    this.process.signal('SIGTERM');
    const { code } = await this.process.finished;
    await this.engine.close();
    new EmbeddedCluster(join(this.folder, 'data')).remove();
    rmSync(this.folder, { recursive: true, force: true });
    const leaks = leaksOfFile();
    if (leaks.length > 0) throw new Error(`secrets or statements were written:\n${leaks.slice(0, 20).join('\n')}`);
    if (code !== 0) throw new Error(`the service ended with ${code}`);
  }
}
