import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { KubernetesClient } from '../running/kubernetes-client.js';
import { until } from '../running/until.js';
import { openStack } from '../stack.js';
import { ApiGateway } from './api-gateway.js';
import { EngineReader } from './engine-reader.js';
import { Installation, type Replica } from './installation.js';
import { expectSound, grantSchema } from './publications.js';

const stack = openStack(process.env);

/** So long the API server takes a token after its end. */
const LEEWAY_SECONDS = 60;

describe('a bound token that expires within a run', () => {
  let installation: Installation;
  let reader: EngineReader;
  let api: ApiGateway;
  let replica: Replica;
  let ana: number;
  let tokenFile: string;
  let bound: string;

  beforeAll(async () => {
    installation = await Installation.make(stack, 'token');
    reader = await EngineReader.start(stack, installation.rules);
    api = await ApiGateway.start(stack.cluster);
    const pod = await installation.pod('api');
    tokenFile = pod['KUBERNETES_TOKEN_FILE'] ?? '';
    bound = (await readFile(tokenFile, 'utf8')).trim();
    replica = await installation.serve({
      ACL_SYNC_ENABLED: 'false',
      ...api.environment,
      KUBERNETES_TOKEN_FILE: tokenFile,
    });
    ana = await installation.signUp(replica, 'ana');
    expect(await run()).toMatchObject({ status: 200, body: { outcome: 'applied' } });
  });
  afterAll(async () => {
    await installation.remove();
    await api.stop();
    await reader.stop();
  });

  const run = () => replica.administrator.post('/api/admin/acl/sync');

  /** Lets the run read with a token that is valid for a moment still, and write when the API server takes it no more. */
  async function expireBeforePatch(meanwhile: () => Promise<void>): Promise<void> {
    const short = await expiring(bound, LEEWAY_SECONDS - 5);
    await writeFile(tokenFile, short);
    api.around = async (step, forward) => {
      if (step === 'PATCH') {
        api.around = (_, next) => next();
        await untilRefused(short);
        await meanwhile();
      }
      await forward();
    };
  }

  it('is read again, and the run publishes with the renewed one', async () => {
    await grantSchema(replica, ana, 'renewed');
    await expireBeforePatch(() => writeFile(tokenFile, bound));
    expect(await run()).toMatchObject({ status: 200, body: { outcome: 'applied' } });
    expect((await installation.rules.read()).text).toContain('renewed');
    await expectSound(installation, reader);
  });

  it('fails the run where it was not renewed, and the next one publishes what that one was to', async () => {
    const before = await installation.rules.read();
    await grantSchema(replica, ana, 'not_renewed');
    await expireBeforePatch(() => Promise.resolve());
    const { status, body } = await run();
    expect({ status, body }).toMatchObject({
      status: 503,
      body: { code: 'target_unavailable', reason: 'unauthorized' },
    });
    expect(await installation.rules.read()).toEqual(before);
    expect((await installation.runs()).at(-1)).toEqual({ outcome: 'failed', reasons: ['run-unauthorized'] });

    await writeFile(tokenFile, bound);
    expect(await run()).toMatchObject({ status: 200, body: { outcome: 'applied' } });
    expect((await installation.rules.read()).former).toBe(before.text);
    await expectSound(installation, reader);
  });

  /** Waits until the API server answers 401: it keeps a token that it has seen valid for ten seconds. */
  async function untilRefused(token: string): Promise<void> {
    const client = new KubernetesClient(stack.cluster, token);
    const { namespace, name } = installation.rules;
    await until('the token has expired', 90_000, async () => {
      const { status } = await client.send('GET', `/api/v1/namespaces/${namespace}/configmaps/${name}`);
      return status === 401 ? true : undefined;
    });
  }
});

/** The same token with another end, signed as the API server signs. @param secondsAgo when it ended */
async function expiring(token: string, secondsAgo: number): Promise<string> {
  const key = createPrivateKey(await readFile(join(stack.folder, 'kubernetes', 'service-accounts.key')));
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const kid = createHash('sha256').update(spki).digest('base64url');
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { iat: number };
  const exp = Math.floor(Date.now() / 1000) - secondsAgo;
  const parts = [
    { alg: 'RS256', kid },
    { ...claims, iat: exp - 600, nbf: exp - 600, exp },
  ];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
}
