import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { startCluster } from '../running/cluster.js';
import type { ApiServer } from '../running/api-server.js';
import { Processes } from '../running/processes.js';
import { until } from '../running/until.js';
import { chartStack, openStack } from '../stack.js';
import { Installation } from './installation.js';
import { grantSchema } from './publications.js';

const stack = openStack(process.env);
/** The target is looked at every minute, and given 20 s. */
const WITHIN = 120_000;

interface Interruption {
  begin: (api: ApiServer) => void;
  end: (api: ApiServer) => Promise<void> | void;
}

const INTERRUPTIONS: Record<string, Interruption> = {
  'takes connections and does not answer': {
    begin: (api) => api.signal('SIGSTOP'),
    end: (api) => api.signal('SIGCONT'),
  },
  'is killed, and started again at the same address': {
    begin: (api) => api.signal('SIGKILL'),
    end: (api) => api.startAgain(),
  },
};

/** What one service did, which ran all the while. */
interface Seen {
  reasons: string[];
  publications: number;
  former: string | undefined;
  before: string | undefined;
}

async function interrupted({ begin, end }: Interruption): Promise<Seen> {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'stopped-api-server-')));
  const cluster = await startCluster(processes, stack.parts);
  const installation = await Installation.make(chartStack(processes, stack.parts, cluster), 'stopped');
  try {
    const schedule = { ACL_SYNC_ENABLED: 'true', ACL_SYNC_CRON: '*/5 * * * * *', ACL_SYNC_ON_CHANGE_SECONDS: '1' };
    const replica = await installation.serve(schedule);
    const ana = await installation.signUp(replica, 'ana');
    const untilHealth = (state: string) =>
      until(`the target is ${state}`, WITHIN, async () =>
        (await replica.health('target')) === state ? true : undefined,
      );
    const untilPublished = (schema: string) =>
      until(`${schema} is published`, WITHIN, async () =>
        (await installation.rules.read()).text?.includes(schema) === true ? true : undefined,
      );
    await grantSchema(replica, ana, 'earlier');
    await untilPublished('earlier');
    await untilHealth('up');
    const { text: before } = await installation.rules.read();

    begin(cluster.api);
    await grantSchema(replica, ana, 'meanwhile');
    await untilHealth('degraded');
    const failed = (await installation.runs()).filter(({ outcome }) => outcome === 'failed');
    await end(cluster.api);

    await untilPublished('meanwhile');
    await untilHealth('up');
    const recorded = (await installation.recorded()).filter(({ state }) => state === 'published');
    return {
      reasons: [...new Set(failed.flatMap(({ reasons }) => reasons))],
      publications: recorded.filter(({ text }) => text.includes('meanwhile')).length,
      former: (await installation.rules.read()).former,
      before,
    };
  } finally {
    await installation.remove();
    await processes.stopAll();
  }
}

describe('the API server', () => {
  let seen: PromiseSettledResult<Seen>[];
  // Side by side: each takes more than a minute.
  beforeAll(async () => {
    seen = await Promise.allSettled(Object.values(INTERRUPTIONS).map(interrupted));
  }, 4 * WITHIN);

  it.each(Object.keys(INTERRUPTIONS))(
    '%s: the service is degraded, and publishes once it is back, without a restart',
    (name) => {
      const story = seen[Object.keys(INTERRUPTIONS).indexOf(name)];
      if (story?.status !== 'fulfilled') throw story?.reason;
      const { before, ...rest } = story.value;
      expect(before).toContain('earlier');
      expect(rest).toEqual({ reasons: ['run-unreachable'], publications: 1, former: before });
    },
  );
});
