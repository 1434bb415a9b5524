import { type AuthUnderTest, PASSWORD } from './auth-under-test.js';
import { closedLoop, openLoop, requestText } from './http-load.js';
import { median, medianRatio, quantile, type Ratio } from './ratio.js';

/** Within AUTH_THROTTLE_PER_ADDRESS: every one of them is a correct login, and none is throttled. */
const FLOOD = 90;
const LOGINS = 20;
const ME_RATE = 100;
const ME_SECONDS = 6;
const TURNS = 3;

/** Another user's login from another address and another user's `me`, at rest and while one address has 90 correct logins in flight. */
export async function measureSignInFlood(auth: AuthUnderTest): Promise<Ratio[]> {
  const service = await auth.another({
    AUTH_THROTTLE_ENABLED: 'true',
    AUTH_THROTTLE_PER_NAME: '1000', // instead of ten accounts
    TRUSTED_PROXY_HOPS: '1',
  });
  const login = (address: string): string =>
    requestText('POST', '/api/auth/login', {
      body: { username: 'measured', password: PASSWORD },
      headers: { 'X-Forwarded-For': address },
    });
  const me = (): Promise<number[]> => openLoop(service.port, ME_RATE, ME_SECONDS, auth.me());
  const logins = async (): Promise<number[]> => {
    const waits: number[] = [];
    let sentAt = 0;
    await closedLoop(service.port, 1, (_, last) => {
      if (last !== null) {
        if (last.status !== 200) throw new Error(`${last.status} ${last.body}`);
        waits.push(performance.now() - sentAt);
      }
      sentAt = performance.now();
      return waits.length < LOGINS ? login(`203.0.113.${waits.length}`) : null;
    });
    return waits;
  };
  const p99 = {
    restLogin: [] as number[],
    floodLogin: [] as number[],
    restMe: [] as number[],
    floodMe: [] as number[],
  };
  await me(); // warms up
  for (let turn = 0; turn < TURNS; turn += 1) {
    p99.restLogin.push(quantile(await logins(), 0.99));
    p99.restMe.push(quantile(await me(), 0.99));
    let flooding = true;
    let correct = 0;
    const flood = closedLoop(service.port, FLOOD, (_, last) => {
      if (last?.status === 200) correct += 1;
      else if (last !== null) throw new Error(`${last.status} ${last.body}`);
      return flooding ? login('198.51.100.1') : null;
    });
    p99.floodLogin.push(quantile(await logins(), 0.99));
    p99.floodMe.push(quantile(await me(), 0.99));
    if (correct === 0) throw new Error('no login succeeded');
    flooding = false;
    await flood;
  }
  await service.stop();
  const figures = (attacked: number[], rest: number[]): string =>
    `${median(attacked).toFixed(0)} ms, at rest ${median(rest).toFixed(0)} ms`;
  return [
    {
      what: `a login elsewhere, p99 while one address has ${FLOOD} correct logins in flight, against p99 at rest`,
      ratio: medianRatio(p99.floodLogin, p99.restLogin),
      target: { atMost: 3 },
      figures: figures(p99.floodLogin, p99.restLogin),
    },
    {
      what: 'me, p99 in the same flood, against p99 at rest',
      ratio: medianRatio(p99.floodMe, p99.restMe),
      target: { atMost: 3 },
      figures: figures(p99.floodMe, p99.restMe),
    },
  ];
}
