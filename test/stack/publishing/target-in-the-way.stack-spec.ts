import { until } from '../running/until.js';
import { openStack } from '../stack.js';
import { ApiGateway } from './api-gateway.js';
import { EngineReader } from './engine-reader.js';
import { Installation, type Replica } from './installation.js';
import { expectSound, grantSchema } from './publications.js';

const stack = openStack(process.env);
const LIMIT_BYTES = 1_048_576;

describe('a ConfigMap that cannot be written', () => {
  let installation: Installation;
  let reader: EngineReader;
  let api: ApiGateway;
  let replica: Replica;
  let pod: Record<string, string>;
  let ana: number;

  beforeAll(async () => {
    installation = await Installation.make(stack, 'faults');
    reader = await EngineReader.start(stack, installation.rules);
    api = await ApiGateway.start(stack.cluster);
    replica = await installation.serve({ ACL_SYNC_ENABLED: 'false', ...api.environment });
    pod = await installation.pod('acl-sync');
    ana = await installation.signUp(replica, 'ana');
    await expectApplied();
  });
  afterAll(async () => {
    await installation.remove();
    await api.stop();
    await reader.stop();
  });

  const run = () => replica.administrator.post('/api/admin/acl/sync');

  async function expectApplied(): Promise<void> {
    expect(await run()).toMatchObject({ status: 200, body: { outcome: 'applied' } });
  }

  /** The route, and the command as the CronJob's pod runs it. */
  async function expectFailed(reason: string): Promise<void> {
    const { status, body } = await run();
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'target_unavailable', reason } });
    expect(body?.['audit_id']).toMatch(/^[0-9a-f-]{36}$/);
    const { code, stdout, stderr } = await installation.sync(pod);
    expect({ code, stderr }).toMatchObject({ code: 2 });
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'failed', reasons: [{ code: `run-${reason}` }] });
    const outcome = { outcome: 'failed', reasons: [`run-${reason}`] };
    expect((await installation.runs()).slice(-2)).toEqual([outcome, outcome]);
  }

  it('because it was deleted: 503, and all that was granted meanwhile is published into the next one', async () => {
    await installation.rules.delete();
    await grantSchema(replica, ana, 'deleted');
    await expectFailed('missing');

    await installation.rules.create();
    await expectApplied();
    const { text, former } = await installation.rules.read();
    expect(text).toContain('deleted');
    expect(former).toBeUndefined();
    await expectSound(installation, reader);
  });

  it('because it was deleted and made again between reading and writing: the run begins again', async () => {
    await grantSchema(replica, ana, 'made_again');
    api.around = async (step, forward) => {
      if (step === 'PATCH') {
        api.around = (_, next) => next();
        await installation.rules.delete();
        await installation.rules.create();
      }
      await forward();
    };
    await expectApplied();
    const { text, former } = await installation.rules.read();
    expect(text).toContain('made_again');
    expect(former).toBeUndefined();
    await expectSound(installation, reader);
  });

  it('because it is immutable: 503 until it is made anew', async () => {
    const { text: live } = await installation.rules.read();
    await installation.rules.patch({ immutable: true });
    await grantSchema(replica, ana, 'immutable');
    await expectFailed('immutable');
    expect((await installation.rules.read()).text).toBe(live);

    await installation.rules.delete();
    await installation.rules.create();
    await expectApplied();
    expect((await installation.rules.read()).text).toContain('immutable');
    await expectSound(installation, reader);
  });

  it('because another key leaves no room: 503 until that is gone', async () => {
    const before = await installation.rules.read();
    const room = LIMIT_BYTES - Buffer.byteLength((before.text ?? '') + (before.former ?? ''));
    expect((await installation.rules.patch({ data: { notes: 'x'.repeat(room) } })).status).toBe(200);
    await grantSchema(replica, ana, 'too_large');
    await expectFailed('too-large');
    expect((await installation.rules.read()).text).toBe(before.text);

    await installation.rules.patch({ data: { notes: null } });
    await expectApplied();
    expect((await installation.rules.read()).former).toBe(before.text);
    await expectSound(installation, reader);
  });

  it('because the account lost its right: 503 and which one is missing, until it is back', async () => {
    const before = await installation.rules.read();
    const binding = await installation.unbindRole();
    await grantSchema(replica, ana, 'forbidden');
    await until('the API server refuses', 60_000, async () => ((await run()).status === 503 ? true : undefined));
    await expectFailed('forbidden');
    expect((await installation.sync(pod)).stderr).toContain('TRINO_ACL_TARGET_DENIED');

    await installation.administrator.expect('POST', ...binding);
    await until('the API server allows', 60_000, async () => ((await run()).status === 200 ? true : undefined));
    expect((await installation.rules.read()).former).toBe(before.text);
    await expectSound(installation, reader);
  });

  it('an edit by hand is overwritten, reported once, and kept beside the rules', async () => {
    const { text: published } = await installation.rules.read();
    const edit = '{"catalogs": []}';
    await installation.rules.editRules(edit);
    const status = async () => (await replica.administrator.get('/api/admin/acl/status')).body;
    const { version } = (await status())?.['published'] as { version: number };
    await expectApplied();
    const { text, former } = await installation.rules.read();
    expect({ text, former }).toEqual({ text: published, former: edit });
    expect((await status())?.['published']).toMatchObject({ version: version + 1 });
    await replica.process.untilOutput(/TRINO_ACL_SYNC_DRIFT/);
    expect(await run()).toMatchObject({ status: 200, body: { outcome: 'no_change' } });

    // An edit of the copy alone concerns nobody.
    await installation.rules.editFormer('notes');
    expect(await run()).toMatchObject({ status: 200, body: { outcome: 'no_change' } });
    expect((await installation.rules.read()).former).toBe('notes');
    await expectSound(installation, reader);
  });
});
