import { duration, report } from '../stack/progress.js';
import { scimGroup, scimUser } from '../support/service/scim-client.js';
import type { AuthUnderTest } from './auth-under-test.js';
import type { Ratio } from './ratio.js';
import { idIn, ScimUnderTest, type Sending, withinLimit } from './scim-load.js';

/** As many as a provider sends at once. */
const CONNECTIONS = 4;
const MEMBERS_OF_A_GROUP = 100;
/** Members in one request. */
const CHUNK = 20;
const LIMIT_SECONDS = 300;

/** The first synchronisation, as Microsoft Entra makes it: each person is looked for and made, then groups, then their members; one group has everybody. */
export async function measureSync(
  auth: AuthUnderTest,
  { users, groups, rate }: { users: number; groups: number; rate: number },
): Promise<Ratio[]> {
  const scim = await ScimUnderTest.start(auth);
  const sending = { connections: CONNECTIONS, rate };
  let requests = 0;
  const { me, seconds } = await scim.withLatency(`${users} people and ${groups} groups come`, async () => {
    const began = performance.now();
    const done = (what: string) => report(`  ${what} after ${duration(performance.now() - began)}`);
    const people = await pushedPeople(scim, sending, users);
    done(`${people.length} people`);
    const bodies = Array.from({ length: groups }, (_, group) => scimGroup(`group ${group}`));
    const [everybody = '', ...others] = await scim.made(sending, '/Groups', bodies);
    done(`${groups} groups`);
    const joins = [
      ...chunks(people, 100).map((ids) => scim.patch(everybody, 'add', ids)),
      ...others.flatMap((group, at) =>
        chunks(membersOf(people, at), CHUNK).map((ids) => scim.patch(group, 'add', ids)),
      ),
    ];
    await scim.send(sending, joins);
    done('their members');
    requests = people.length * 2 + groups + joins.length;
  });
  await scim.service.stop();
  const figures = `${seconds.toFixed(0)} s, ${requests} requests, ${(requests / seconds).toFixed(0)}/s`;
  return [withinLimit('seconds of a first synchronisation', seconds, LIMIT_SECONDS, figures), me];
}

/** Their ids. */
async function pushedPeople(scim: ScimUnderTest, sending: Sending, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, person) => `person.${person}@example.org`);
  const ids: string[] = [];
  const requests = names.flatMap((name, person) => [
    scim.request('GET', `/Users?filter=${encodeURIComponent(`userName eq "${name}"`)}`),
    scim.request(
      'POST',
      '/Users',
      scimUser(name, {
        displayName: `Person ${person}`,
        name: { givenName: 'Person', familyName: String(person) },
        emails: [{ value: name, type: 'work', primary: true }],
      }),
    ),
  ]);
  await scim.send(sending, requests, (body, place) => {
    if (place % 2 === 1) ids[(place - 1) / 2] = idIn(body);
  });
  return ids;
}

function membersOf(people: readonly string[], group: number): string[] {
  const first = (group * 37) % people.length;
  return [...people.slice(first), ...people].slice(0, Math.min(MEMBERS_OF_A_GROUP, people.length));
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}
