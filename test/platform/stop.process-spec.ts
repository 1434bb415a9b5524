import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { EmbeddedCluster, folderOfClusters } from '../support/database/embedded-cluster.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { NpmStart } from '../support/service/npm-start.js';
import { SteadyClients } from '../support/service/steady-clients.js';
import { heldRegistration } from './held-registration.js';

describe('the stop', () => {
  let folder: string;
  let cluster: EmbeddedCluster;
  let environment: Record<string, string>;
  beforeEach(() => {
    folder = folderOfClusters();
    cluster = new EmbeddedCluster(join(folder, 'data'));
    environment = { DATA_DIR: join(folder, 'data'), PORT: '0', OPERATIONS_PORT: '0', AUTH_BCRYPT_COST: '4' };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('by Ctrl-C at the terminal of npm start, under load: every request is answered, and nothing of ours is left', async () => {
    cluster.lay();
    const npm = new NpmStart(folder, environment);
    const url = await npm.url();
    const { registration, release } = await heldRegistration(url, cluster);
    const load = new SteadyClients(`${url}/api/openapi.json`, 8);
    await load.answered(100);

    npm.signalGroup('SIGINT');
    await load.ended;
    await release();

    expect((await registration).status).toBe(201);
    await npm.ended;
    expect(load.failures).toEqual([]);
    expect(new Set(load.answers)).toEqual(new Set([200]));
    expect(cluster.postmaster()).toBeNull();
    expect(npm.hasLeftovers).toBe(false);
  });

  it('is not cut short by further signals', async () => {
    cluster.lay();
    const service = new GrantlineProcess(['serve'], environment);
    const { registration, release } = await heldRegistration(await service.url(), cluster);

    service.signal('SIGTERM');
    await service.untilOutput(/"stopping"/);
    service.signal('SIGTERM');
    service.signal('SIGINT');
    await release();

    expect((await registration).status).toBe(201);
    expect((await service.finished).code).toBe(0);
    expect(cluster.postmaster()).toBeNull();
  });

  it('during the start leaves no database behind', async () => {
    const service = new GrantlineProcess(['serve'], environment);
    while (cluster.postmaster() === null) await new Promise((look) => setTimeout(look, 5));

    service.signal('SIGTERM');

    await service.finished;
    expect(cluster.postmaster()).toBeNull();
  });

  it('after a start that failed leaves no database behind', async () => {
    cluster.lay();
    const taken = createServer();
    await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
    const { port } = taken.address() as AddressInfo;

    const { code, stderr } = await new GrantlineProcess(['serve'], { ...environment, PORT: String(port) }).finished;

    expect(code).toBe(2);
    expect(stderr).toContain('EADDRINUSE');
    expect(cluster.postmaster()).toBeNull();
    taken.close();
  });

  it('of a command leaves no database behind', async () => {
    const command = new GrantlineProcess(['migrate'], environment);
    while (cluster.postmaster() === null) await new Promise((look) => setTimeout(look, 5));

    command.signal('SIGINT');

    expect([0, 130]).toContain((await command.finished).code);
    expect(cluster.postmaster()).toBeNull();
  });
});
