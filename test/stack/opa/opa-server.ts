import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** In the environment: the folder with `opa`. */
export const OPA = 'GRANTLINE_OPA';

export function opaProgram(): string {
  const folder = process.env[OPA];
  if (folder === undefined) throw new Error(`${OPA} is not set: run this through npm run test:opa`);
  return join(folder, 'opa');
}

/** Public keys by their id, with the algorithm. */
export type VerificationKeys = Readonly<Record<string, { key: string; algorithm: 'RS256' | 'ES256' }>>;

/** Stock OPA as a server, which downloads its bundle from here by long polling. */
export class OpaServer {
  /** Of OPA, so far. */
  log = '';
  private readonly waiting: (() => void)[] = [];
  private bundle: Uint8Array = Buffer.alloc(0);
  private revision = '';

  private constructor(
    private readonly folder: string,
    private readonly bundles: Server,
    private readonly url: string,
  ) {}

  private process: ChildProcess | null = null;

  static async start(keys: VerificationKeys | null = null): Promise<OpaServer> {
    const folder = mkdtempSync(join(tmpdir(), 'grantline-opa-'));
    const bundles = createServer();
    const port = await freePort();
    const opa = new OpaServer(folder, bundles, `http://127.0.0.1:${port}/v1/data`);
    bundles.on('request', (request, response: ServerResponse) => {
      opa.answer(request.headers['if-none-match'], response);
    });
    bundles.listen(0, '127.0.0.1');
    await once(bundles, 'listening');
    const config = {
      services: { grantline: { url: `http://127.0.0.1:${(bundles.address() as AddressInfo).port}` } },
      bundles: {
        grantline: {
          service: 'grantline',
          resource: 'grantline.tar.gz',
          polling: { min_delay_seconds: 0, max_delay_seconds: 1, long_polling_timeout_seconds: 30 },
          ...(keys !== null && { signing: {} }),
        },
      },
      ...(keys !== null && { keys }),
    };
    const file = join(folder, 'config.json');
    writeFileSync(file, JSON.stringify(config));
    const args = ['run', '--server', '--addr', `127.0.0.1:${port}`, '--log-level', 'error', '--config-file', file];
    opa.process = spawn(opaProgram(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const output of [opa.process.stdout, opa.process.stderr])
      output?.on('data', (text: Buffer) => (opa.log += text.toString()));
    return opa;
  }

  /** Serves a bundle from now on; also to a request that waits. */
  serve(bundle: Uint8Array, revision: string): void {
    this.bundle = bundle;
    this.revision = revision;
    for (const send of this.waiting.splice(0)) send();
  }

  /** Serves a bundle and waits until it decides. */
  async publish(bundle: Uint8Array, revision: string): Promise<void> {
    this.serve(bundle, revision);
    await this.until(async () => (await this.activeRevision()) === revision);
  }

  /** MiB of its memory: `VmRSS` now, `VmHWM` the most so far. */
  memory(field: 'VmRSS' | 'VmHWM'): number {
    const status = readFileSync(`/proc/${String(this.process?.pid)}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? NaN) / 1024;
  }

  async activeRevision(): Promise<unknown> {
    return this.ask('system/bundles/grantline/manifest/revision', {});
  }

  /** The result; undefined is null. */
  async ask(path: string, body: object): Promise<unknown> {
    const response = await fetch(`${this.url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return ((await response.json()) as { result?: unknown }).result ?? null;
  }

  async until(holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 30_000;
    while (!(await holds().catch(() => false))) {
      if (performance.now() > deadline) throw new Error(`OPA is not where it should be: ${this.log}`);
      await pause(10);
    }
  }

  async stop(): Promise<void> {
    this.process?.kill();
    if (this.process?.exitCode === null) await once(this.process, 'exit');
    this.bundles.closeAllConnections();
    this.bundles.close();
    rmSync(this.folder, { recursive: true });
  }

  private answer(known: string | undefined, response: ServerResponse): void {
    const send = (): void => {
      if (this.revision === '' || known === `"${this.revision}"`) {
        this.waiting.push(send);
        return;
      }
      const headers = { 'content-type': 'application/vnd.openpolicyagent.bundles', etag: `"${this.revision}"` };
      response.writeHead(200, headers).end(this.bundle);
    };
    send();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
