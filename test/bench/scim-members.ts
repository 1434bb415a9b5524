import { Client } from 'pg';
import { scimGroup } from '../support/service/scim-client.js';
import { MANY_PEOPLE } from '../support/service/scim-members.js';
import type { AuthUnderTest } from './auth-under-test.js';
import { median, quantile, type Ratio } from './ratio.js';
import { ScimUnderTest, withinLimit } from './scim-load.js';

const CLIENTS = 32;
/** Changes of each client. */
const CHANGES = 200;
/** Each client's own, which it adds and removes in turns. */
const OWN = 10;
const SINGLE = 200;
const LIMIT_MS = 50;
const ONE = { connections: 1 };

/** One member more or less in a group of all, alone and by many clients at once; afterwards the members are those that the last changes left. */
export async function measureMembers(auth: AuthUnderTest, count: number): Promise<Ratio[]> {
  const scim = await ScimUnderTest.start(auth);
  const ids = await filled(auth.postgres.migrationUrl, count);
  const members = ids.map((value) => ({ value }));
  const [large = '', small = ''] = await scim.made(ONE, '/Groups', [
    scimGroup('all of them', { members }),
    scimGroup('ten of them', { members: members.slice(0, 10) }),
  ]);
  const single = async (group: string): Promise<number[]> => {
    const [id = ''] = ids;
    const requests = Array.from({ length: SINGLE }, (_, at) =>
      scim.patch(group, at % 2 === 0 ? 'remove' : 'add', [id]),
    );
    return scim.send(ONE, requests);
  };
  await single(small); // warms up
  const [ofSmall, ofLarge] = [await single(small), await single(large)];

  const expected = new Set(ids);
  let took: number[] = [];
  const { me } = await scim.withLatency(`${CLIENTS} clients change one group`, async () => {
    const clients = Array.from({ length: CLIENTS }, (_, client) =>
      changesOf(ids.slice(client * OWN, (client + 1) * OWN)),
    );
    for (const { left, gone } of clients) {
      for (const id of left) expected.add(id);
      for (const id of gone) expected.delete(id);
    }
    const sent = clients.map(({ changes }) =>
      scim.send(
        ONE,
        changes.map(({ op, id }) => scim.patch(large, op, [id])),
      ),
    );
    took = (await Promise.all(sent)).flat();
  });
  await assertMembers(scim, large, expected);
  await scim.service.stop();
  const figures = (times: number[]) =>
    `p99 ${quantile(times, 0.99).toFixed(1)} ms, median ${median(times).toFixed(1)} ms`;
  return [
    withinLimit(`ms of one member more among ${count}`, quantile(ofLarge, 0.99), LIMIT_MS, figures(ofLarge)),
    {
      what: `one member more among ${count}, against among 10`,
      ratio: median(ofLarge) / median(ofSmall),
      target: null,
      figures: `${median(ofLarge).toFixed(1)} ms, ${median(ofSmall).toFixed(1)} ms`,
    },
    {
      what: `the same by ${CLIENTS} clients at once, against one after the other`,
      ratio: median(took) / (median(ofLarge) * CLIENTS),
      target: null,
      figures: figures(took),
    },
    me,
  ];
}

interface Change {
  op: 'add' | 'remove';
  id: string;
}

/** All members at first; each leaves and joins again, and where that comes to an end says who is left. */
function changesOf(own: readonly string[]): { changes: Change[]; left: string[]; gone: string[] } {
  const isIn = new Map(own.map((id) => [id, true]));
  const changes = Array.from({ length: CHANGES }, (_, at): Change => {
    const id = own[(at * 7 + Math.floor(at / OWN)) % own.length] ?? '';
    const op = isIn.get(id) === true ? 'remove' : 'add';
    isIn.set(id, op === 'add');
    return { op, id };
  });
  return {
    changes,
    left: own.filter((id) => isIn.get(id) === true),
    gone: own.filter((id) => isIn.get(id) !== true),
  };
}

async function assertMembers(scim: ScimUnderTest, group: string, expected: ReadonlySet<string>): Promise<void> {
  const found: string[] = [];
  await scim.send(ONE, [scim.request('GET', `/Groups/${group}`)], (body) => {
    const { members } = JSON.parse(body) as { members: { value: string }[] };
    found.push(...members.map(({ value }) => value));
  });
  const wrong =
    [...expected].filter((id) => !found.includes(id)).length + found.filter((id) => !expected.has(id)).length;
  if (wrong > 0) throw new Error(`${wrong} members are lost or were not removed`);
}

/** People whom SCIM made, without their requests. @returns their ids */
async function filled(url: string, count: number): Promise<string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ id: number }>(MANY_PEOPLE, [count]);
  await client.end();
  return rows.map(({ id }) => String(id));
}
