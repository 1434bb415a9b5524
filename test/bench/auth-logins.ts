import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { hashSync } from 'bcryptjs';
import { type AuthUnderTest, BCRYPT_COST, PASSWORD } from './auth-under-test.js';
import { closedLoop, openLoop } from './http-load.js';
import { median, medianRatio, quantile, type Ratio } from './ratio.js';

/** Logins on all cores beside cores ÷ the time of one hash that has the machine for itself. */
export async function measureLogins({ service, login }: AuthUnderTest): Promise<Ratio[]> {
  const cores = availableParallelism();
  const possible: number[] = [];
  const logins: number[] = [];
  for (let turn = 0; turn < 9; turn += 1) {
    const start = performance.now();
    for (let hash = 0; hash < 6; hash += 1) hashSync(PASSWORD, BCRYPT_COST);
    possible.push((cores * 6000) / (performance.now() - start));
    const end = performance.now() + 4000;
    const { count, seconds } = await closedLoop(service.port, cores * 4, (_, last) => {
      if (last !== null && last.status !== 200) throw new Error(`${last.status} ${last.body}`);
      return performance.now() < end ? login : null;
    });
    logins.push(count / seconds);
  }
  const figures = `${median(logins).toFixed(2)}/s, ${cores} cores × ${(median(possible) / cores).toFixed(2)}/s`;
  const what = 'logins per second, against cores ÷ time of one hash';
  return [{ what, ratio: medianRatio(logins, possible), target: { atLeast: 0.92 }, figures }];
}

const RATE = 100;
const SECONDS = 6;
const STORMERS = 100;
/** Ten times as impatient as Retry-After asks. */
const IMPATIENCE_MS = 100;

/**
 * `me` at a fixed rate: at rest, in the second in which a hundred logins come at once, and while more people sign in than the
 * queue of the hashing pool takes.
 */
export async function measureStorm(auth: AuthUnderTest): Promise<Ratio[]> {
  // The shortest queue there is: it is full at once, and empty again soon enough for the next turn.
  const service = await auth.another({ AUTH_HASH_QUEUE_MAX: '64' });
  const waits = (seconds: number): Promise<number[]> => openLoop(service.port, RATE, seconds, auth.me());
  const rest: number[] = [];
  const burst: number[] = [];
  const storm: number[] = [];
  for (let turn = -1; turn < 5; turn += 1) {
    const atRest = quantile(await waits(SECONDS), 0.99);
    let storming = true;
    let busy = 0;
    const stormed = closedLoop(service.port, STORMERS, async (_, last) => {
      if (last?.status === 503) {
        busy += 1;
        await pause(IMPATIENCE_MS);
      }
      return storming ? auth.login : null;
    });
    const longest = Math.max(...(await waits(1)));
    if (busy < STORMERS) throw new Error('the queue was hardly ever full');
    const inStorm = quantile(await waits(SECONDS), 0.99);
    storming = false;
    await stormed;
    if (turn < 0) continue; // warms up
    rest.push(atRest);
    burst.push(longest);
    storm.push(inStorm);
  }
  await service.stop();
  const at = `${median(rest).toFixed(1)} ms at ${RATE}/s`;
  return [
    {
      what: 'me, p99 while logins fill the queue, against p99 at rest',
      ratio: medianRatio(storm, rest),
      target: { atMost: 3 },
      figures: `${median(storm).toFixed(1)} ms, ${at}`,
    },
    {
      what: `the longest me when ${STORMERS} logins come at once, against p99 at rest`,
      ratio: medianRatio(burst, rest),
      target: null,
      figures: `${median(burst).toFixed(1)} ms, ${at}`,
    },
  ];
}
