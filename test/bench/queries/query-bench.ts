import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from '../../stack/parts/cache.js';
import { installEngineClients, JDBC_JAR, READ_ROWS } from '../../stack/parts/engine-clients.js';
import { javaHome } from '../../stack/parts/java.js';
import { Processes } from '../../stack/running/processes.js';
import type { AuthUnderTest } from '../auth-under-test.js';
import { imageNode } from '../image-node.js';
import { MeasuredProcess } from '../measured-process.js';
import { Reader } from './reader.js';

/** The engine that all read from. */
export interface EngineUnderTest {
  port: number;
  stop(): Promise<void>;
}

/** An engine, the service in front of it, on the image's Node, and every client on this one, each in a process of its own. */
export class QueryBench {
  private constructor(
    readonly service: MeasuredProcess,
    private readonly engine: EngineUnderTest,
    /** JSON.parse of each page and nothing else; and without even that. */
    readonly raw: { parsed: Reader; bytes: Reader },
    /** The engine's own clients, straight at it. */
    readonly official: { javascript: Reader; python: Reader; go: Reader; jdbc: Reader },
    /** Our DB-API, straight at the engine. */
    readonly ours: Reader,
    /** Clients of the service's streams. */
    readonly streams: { ndjson: Reader; csv: Reader; parsed: Reader },
  ) {}

  static async start(auth: AuthUnderTest, startEngine: () => Promise<EngineUnderTest>): Promise<QueryBench> {
    const clients = await installed();
    const python = join(clients.python, 'bin', 'python');
    const engine = await startEngine();
    const { node, environment } = await imageNode();
    const settings = {
      SERVICE_QUERY_HOST: '127.0.0.1',
      SERVICE_QUERY_PORT: String(engine.port),
      SERVICE_QUERY_HEADER_PREFIX: 'X-Trino',
    };
    const service = await auth.another({ ...environment, ...settings }, node);
    const address = `127.0.0.1:${engine.port}`;
    const stream = (mode: string): Reader =>
      Reader.program(mode, 'read-service.ts', `127.0.0.1:${service.port}`, auth.tokens.access_token, mode);
    return new QueryBench(
      service,
      engine,
      {
        parsed: Reader.program('JSON.parse', 'read-raw.ts', address, 'parsed'),
        bytes: Reader.program('bytes alone', 'read-raw.ts', address, 'bytes'),
      },
      {
        javascript: Reader.program('JavaScript', 'read-trino-client.ts', address, clients.javascript),
        python: Reader.start('Python', python, [READ_ROWS.python, address]),
        go: Reader.start('Go', join(clients.go, 'read-rows'), [address]),
        jdbc: Reader.start('JDBC', clients.java, ['-cp', join(clients.jdbc, JDBC_JAR), READ_ROWS.java, address]),
      },
      Reader.program('ours', 'read-grantline.ts', address),
      { ndjson: stream('ndjson'), csv: stream('csv'), parsed: stream('parsed') },
    );
  }

  get readers(): Reader[] {
    return [this.raw, this.official, { ours: this.ours }, this.streams].flatMap((group) => Object.values(group));
  }

  async stop(): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.stop()));
    await this.service.stop();
    await this.engine.stop();
  }
}

/** An engine whose pages cost it nothing. */
export function startScripted(): Promise<EngineUnderTest> {
  return MeasuredProcess.start('test/bench/queries/scripted-engine.ts', [], {});
}

async function installed() {
  const folder = mkdtempSync(join(tmpdir(), 'grantline-bench-'));
  const processes = new Processes(folder);
  try {
    const home = javaHome(process.env);
    const clients = await installEngineClients(processes, cacheFolder(process.env), home);
    return { ...clients, java: join(home, 'bin', 'java') };
  } finally {
    await processes.stopAll();
    rmSync(folder, { recursive: true, force: true });
  }
}
