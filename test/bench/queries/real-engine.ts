import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from '../../stack/parts/cache.js';
import { javaHome } from '../../stack/parts/java.js';
import { installTrino } from '../../stack/parts/trino.js';
import { launchNode, untilStarted } from '../../stack/running/engine.js';
import { freePort } from '../../support/service/free-port.js';
import { Processes } from '../../stack/running/processes.js';
import type { EngineUnderTest } from './query-bench.js';

/** A Trino that believes every name, and lets everybody act as anybody. */
export async function startTrino(): Promise<EngineUnderTest> {
  const processes = new Processes(mkdtempSync(join(tmpdir(), 'grantline-bench-')));
  const home = javaHome(process.env);
  const port = await freePort();
  const lines = ['coordinator=true', 'node-scheduler.include-coordinator=true', `http-server.http.port=${port}`];
  const parts = { javaHome: home, trino: await installTrino(processes, cacheFolder(process.env), home) };
  const node = {
    name: 'trino',
    config: `${lines.join('\n')}\n`,
    accessControl: 'access-control.name=allow-all\n',
    issuer: '',
  };
  await untilStarted(await launchNode(processes, parts, node), `http://127.0.0.1:${port}`);
  return { port, stop: () => processes.stopAll() };
}
