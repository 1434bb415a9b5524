import { GrantlineProcess } from '../../support/service/grantline-process.js';
import { until } from '../running/until.js';
import { openStack } from '../stack.js';
import { ApiGateway } from './api-gateway.js';
import { DatabaseGateway } from './database-gateway.js';
import { EngineReader } from './engine-reader.js';
import { Installation, type Replica } from './installation.js';
import { KillPoint, type Moment } from './kill-point.js';
import { expectSound, grantSchema } from './publications.js';

const stack = openStack(process.env);

/** Seconds on an idle machine; each step starts a process. */
const WITHIN = 600_000;

/**
 * Before: requests to the API server, and statements that write; a read leaves everything as it was. After a step is before the next
 * one, but where the next one is of another server or connection.
 */
const COUNTED: Record<Moment, (step: string) => boolean> = {
  before: (step) => /^(GET|PATCH|INSERT|UPDATE|DELETE|COMMIT)\b/.test(step),
  after: (step) => /^(GET|PATCH|COMMIT)\b/.test(step),
};

describe('a run whose process is killed', () => {
  let installation: Installation;
  let reader: EngineReader;
  let api: ApiGateway;
  let database: DatabaseGateway;
  let replica: Replica;
  let pod: Record<string, string>;
  let ana: number;

  beforeAll(async () => {
    installation = await Installation.make(stack, 'killed');
    reader = await EngineReader.start(stack, installation.rules);
    api = await ApiGateway.start(stack.cluster);
    database = await DatabaseGateway.start(installation.database.url);
    pod = { ...(await installation.pod('acl-sync')), ...api.environment, ...database.environment };
    replica = await installation.serve({ ACL_SYNC_ENABLED: 'false' });
    ana = await installation.signUp(replica, 'ana');
  });
  afterAll(async () => {
    await installation.remove();
    await api.stop();
    await database.stop();
    await reader.stop();
  });

  /** By whether ana may read: equal grants give equal texts. */
  const texts = new Map<boolean, string | undefined>();
  let grant: number | null = null;

  /** Gives ana something, or takes it away again. */
  async function change(): Promise<void> {
    if (grant === null) {
      grant = await grantSchema(replica, ana, 'eu');
    } else {
      await replica.administrator.delete(`/api/admin/grants/${grant}`);
      grant = null;
    }
  }

  /** A run of another process. PostgreSQL releases the lock as soon as it sees that the connection is gone. */
  const nextRun = (): Promise<unknown> =>
    until('the lock is free', 120_000, async () => {
      const { status, body } = await replica.administrator.post('/api/admin/acl/sync');
      return status === 409 ? undefined : (body?.['outcome'] ?? body);
    });

  /** @returns the steps of the run, if it ended by itself; else null */
  async function killedAt(step: number, moment: Moment): Promise<string[] | null> {
    const point = new KillPoint(step, moment, COUNTED[moment]);
    api.around = point.around;
    database.around = point.around;
    const run = new GrantlineProcess(['acl', 'sync'], pod);
    point.victim = run;
    const { code } = await run.finished;
    return code === null ? null : point.steps;
  }

  it.each<Moment>(['before', 'after'])(
    '%s any of its steps is completed by the next one',
    async (moment) => {
      expect(['applied', 'no_change']).toContain(await nextRun());
      let steps: string[] | null = null;
      for (let step = 0; steps === null; step++) {
        const before = await installation.rules.read();
        texts.set(grant !== null, before.text);
        await change();
        steps = await killedAt(step, moment);

        expect(['applied', 'no_change']).toContain(await nextRun());
        const { text, former } = await installation.rules.read();
        expect(text).not.toBe(before.text);
        expect({ step, text, former }).toEqual({ step, text: texts.get(grant !== null) ?? text, former: before.text });
      }
      console.log(`killed ${moment} each of: ${steps.join(' · ')}`);
      expect(steps.filter((each) => each === 'PATCH')).toHaveLength(1);
      await expectSound(installation, reader);
    },
    WITHIN,
  );
});
