import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

import { NO_RULES } from '../../../src/trino-rules/document/rules-document.js';
import type { Answer } from '../../support/service/api-client.js';
import type { Finished } from '../../support/service/grantline-process.js';
import { auditLog } from '../running/api-server.js';
import { until } from '../running/until.js';
import { openStack } from '../stack.js';
import { ApiGateway } from './api-gateway.js';
import { EngineReader } from './engine-reader.js';
import { Installation, type Replica } from './installation.js';
import { expectSound, grantSchema } from './publications.js';

const stack = openStack(process.env);
/** No two of them share letters by which the compiler would join them. */
const SCHEMAS = ['asia', 'brazil', 'canada', 'denmark'];
const WITHIN = 60_000;
/** Attempts of one run. */
const MAX_ATTEMPTS = 10;

describe('two replicas, commands and another writer of the ConfigMap, all at once', () => {
  let installation: Installation;
  let reader: EngineReader;
  let api: ApiGateway;
  let replicas: Replica[];
  let first: Replica;
  let ana: number;

  beforeAll(async () => {
    installation = await Installation.make(stack, 'conflicts');
    reader = await EngineReader.start(stack, installation.rules);
    api = await ApiGateway.start(stack.cluster);
    const always = { ACL_SYNC_ENABLED: 'true', ACL_SYNC_CRON: '* * * * * *', ACL_SYNC_ON_CHANGE_SECONDS: '1' };
    first = await installation.serve(always);
    replicas = [first, await installation.serve(always)];
    ana = await installation.signUp(first, 'ana');
    await untilText('sales', false); // the first publication gives nobody anything
  });
  afterAll(async () => {
    await installation.remove();
    await api.stop();
    await reader.stop();
  });

  const untilText = (part: string, holds: boolean): Promise<string> =>
    until(`the rules ${holds ? 'hold' : 'do not hold'} ${part}`, WITHIN, async () => {
      const { text } = await installation.rules.read();
      return text?.includes(part) === holds ? text : undefined;
    });

  const publishedCount = async (): Promise<number> =>
    (await installation.recorded()).filter(({ state }) => state === 'published').length;

  /** Repeats an action until the work has ended. */
  async function whileRepeating<T>(again: (count: number) => Promise<unknown>, work: () => Promise<T>): Promise<T> {
    const ending = new AbortController();
    const looping = (async () => {
      for (let count = 0; !ending.signal.aborted; count++) await again(count);
    })();
    try {
      return await work();
    } finally {
      ending.abort();
      await looping;
    }
  }

  /** Every way of asking for a run, at once. @returns whatever is none of the documented answers */
  async function undocumented(): Promise<unknown[]> {
    const [command, ...answers] = await Promise.all([
      installation.sync(),
      ...replicas.map(({ administrator }) => administrator.post('/api/admin/acl/sync')),
    ]);
    const { outcome } = JSON.parse(command.stdout) as { outcome: string };
    const isRight = command.code === { applied: 0, no_change: 0, failed: 2 }[outcome];
    return [...(isRight ? [] : [command]), ...answers.filter((answer) => !isDocumented(answer))];
  }

  /** Patches of Grantline's that the API server refused as stale, by its audit log. */
  const conflicts = (): number =>
    readFileSync(auditLog(stack.folder), 'utf8')
      .split('\n')
      .filter(
        (line) =>
          line.includes(`${installation.rules.namespace}/configmaps`) && line.includes('fieldManager=grantline'),
      )
      .filter((line) => (JSON.parse(line) as { responseStatus?: { code: number } }).responseStatus?.code === 409)
      .length;

  it('make one publication of each change, whoever of them is the first', async () => {
    const [before, conflictsBefore] = [await publishedCount(), conflicts()];
    const annotate = async (count: number): Promise<void> => {
      await installation.rules.patch({ metadata: { annotations: { 'example.org/count': String(count) } } });
      await pause(Math.random() * 8);
    };
    await whileRepeating(annotate, async () => {
      for (const [change, schema] of SCHEMAS.entries()) {
        const [granted] = await Promise.all([
          grantSchema(replicas[change % 2] ?? first, ana, schema),
          undocumented().then((answers) => {
            expect(answers).toEqual([]);
          }),
        ]);
        expect(granted).toBeGreaterThan(0);
        await untilText(schema, true);
      }
    });
    expect((await installation.sync()).code).toBe(0);
    expect((await publishedCount()) - before).toBe(SCHEMAS.length);
    const met = conflicts() - conflictsBefore;
    const abandoned = (await installation.recorded()).filter(({ state }) => state === 'abandoned').length;
    console.log(`${SCHEMAS.length} publications through ${met} conflicts; ${abandoned} versions abandoned`);
    expect(met).toBeGreaterThan(0);
    await expectSound(installation, reader);
  });

  it('keep what the other one writes beside the rules, and overwrite what it writes in their place', async () => {
    const before = await publishedCount();
    const meddle = async (count: number): Promise<void> => {
      if (count % 2 === 0) await installation.rules.editFormer(`copy ${count}`);
      else await installation.rules.editRules(closedRules(count));
      await pause(Math.random() * 300);
    };
    await whileRepeating(meddle, async () => {
      await grantSchema(first, ana, 'meddled');
      for (let times = 0; times < 3; times++) expect(await undocumented()).toEqual([]);
      await untilText('meddled', true);
    });
    expect((await installation.sync()).code).toBe(0); // after the run that is under way
    const { text } = await installation.rules.read();
    expect(text).toContain('meddled');
    // One more for each edit that was found in place of the rules.
    const publications = await expectSound(installation, reader);
    expect(publications.length).toBeGreaterThan(before + 1);
    expect(publications.at(-1)?.text).toBe(text);
  });
});

describe('a run that another writer outruns', () => {
  let installation: Installation;
  let reader: EngineReader;
  let api: ApiGateway;
  let pod: Record<string, string>;

  beforeAll(async () => {
    installation = await Installation.make(stack, 'outrun');
    reader = await EngineReader.start(stack, installation.rules);
    api = await ApiGateway.start(stack.cluster);
    pod = { ...(await installation.pod('acl-sync')), ...api.environment };
  });
  afterAll(async () => {
    await installation.remove();
    await api.stop();
    await reader.stop();
  });

  /** Writes between the reading and the writing of a run. @returns how often */
  async function runOutrun(times: number, write: (count: number) => Promise<unknown>): Promise<[Finished, number]> {
    let count = 0;
    api.around = async (step, forward) => {
      if (step === 'PATCH' && count < times) await write(++count);
      await forward();
    };
    return [await installation.sync(pod), count];
  }

  it('gives up after ten attempts with nothing written, and the next one publishes', async () => {
    const annotate = (count: number) =>
      installation.rules.patch({ metadata: { annotations: { 'example.org/count': String(count) } } });
    const [{ code, stdout }, attempts] = await runOutrun(Number.POSITIVE_INFINITY, annotate);
    expect({ code, attempts }).toEqual({ code: 2, attempts: MAX_ATTEMPTS });
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'failed', reasons: [{ code: 'run-moved' }] });
    expect((await installation.rules.read()).data).toEqual({});

    const [next] = await runOutrun(0, annotate);
    expect(JSON.parse(next.stdout)).toMatchObject({ outcome: 'applied' });
    expect(await expectSound(installation, reader)).toHaveLength(1);
  });

  it('keeps the text that was live when it wrote, not the one that it had read', async () => {
    const { text: published } = await installation.rules.read();
    await installation.rules.editRules(closedRules(1));
    const [{ stdout }] = await runOutrun(3, (count) => installation.rules.editRules(closedRules(1 + count)));
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'applied' });
    const { text, former } = await installation.rules.read();
    expect({ text, former }).toEqual({ text: published, former: closedRules(4) });
    expect(await expectSound(installation, reader)).toHaveLength(2);
  });
});

/** Rules that deny everything, each time with other bytes. */
function closedRules(count: number): string {
  return JSON.stringify(NO_RULES) + ' '.repeat(count);
}

function isDocumented({ status, body }: Answer): boolean {
  if (status === 200) return ['applied', 'no_change'].includes(String(body?.['outcome']));
  if (status === 503) return body?.['code'] === 'target_unavailable' && body['reason'] === 'moved';
  return status === 409 && body?.['code'] === 'sync_in_progress';
}
