import { type AuthUnderTest, claimsIn } from './auth-under-test.js';
import { closedLoop, requestText } from './http-load.js';
import { MeasuredProcess } from './measured-process.js';
import { median, medianRatio, type Ratio } from './ratio.js';

const TURNS = 25;
const SECONDS = 1;
const CONNECTIONS = 20;

interface Side {
  server: MeasuredProcess;
  request: string;
  perSecond: number[];
  /** Microseconds of processor time for one request, of all threads of the server. */
  cpu: number[];
}

/** `me` by a session and by an API token, and beside a bare Fastify route with the same query, as pg's documentation writes it, and prepared as ours is. */
export async function measureMe(auth: AuthUnderTest): Promise<Ratio[]> {
  const { sid, sub } = claimsIn(auth.tokens.access_token);
  const bareRoute = async (...name: string[]): Promise<Side> => ({
    server: await MeasuredProcess.start('test/bench/bare-route.js', [auth.postgres.url, sid, sub, ...name], {}),
    request: requestText('GET', '/me', { token: auth.tokens.access_token }),
    perSecond: [],
    cpu: [],
  });
  const [bare, prepared] = [await bareRoute(), await bareRoute('me')];
  const ours: Side = { server: auth.service, request: auth.me(), perSecond: [], cpu: [] };
  const byToken: Side = { ...ours, request: auth.me(await auth.apiToken()), perSecond: [], cpu: [] };
  for (let turn = -2; turn < TURNS; turn += 1) {
    for (const side of [bare, ours, byToken, prepared]) await measure(side, turn >= 0);
  }
  await Promise.all([bare.server.stop(), prepared.server.stop()]);
  const [perSecond, cpu] = compared('me', ours, 'a bare Fastify + pg route', bare);
  const [byTokenPerSecond, byTokenCpu] = compared('me by an API token', byToken, 'me by a session', ours);
  return [
    { ...perSecond, target: { atLeast: 0.6 } },
    { ...cpu, target: { atMost: 1.8 } },
    ...compared('me', ours, 'the bare route with its statement prepared', prepared),
    { ...byTokenPerSecond, target: { atLeast: 0.95 } },
    byTokenCpu,
  ];
}

async function measure({ server, request, perSecond, cpu }: Side, counts: boolean): Promise<void> {
  const before = server.cpuSeconds();
  const end = performance.now() + SECONDS * 1000;
  const { count, seconds } = await closedLoop(server.port, CONNECTIONS, (_, last) => {
    if (last !== null && last.status !== 200) throw new Error(`${last.status} ${last.body}`);
    return performance.now() < end ? request : null;
  });
  if (!counts) return; // the first turns warm up
  perSecond.push(count / seconds);
  cpu.push(((server.cpuSeconds() - before) / count) * 1e6);
}

function compared(our: string, ours: Side, their: string, theirs: Side): [perSecond: Ratio, cpu: Ratio] {
  return [
    {
      what: `${our}, requests per second, against ${their}`,
      ratio: medianRatio(ours.perSecond, theirs.perSecond),
      target: null,
      figures: `${median(ours.perSecond).toFixed(0)}/s, ${median(theirs.perSecond).toFixed(0)}/s`,
    },
    {
      what: `${our}, processor time per request, against ${their}`,
      ratio: medianRatio(ours.cpu, theirs.cpu),
      target: null,
      figures: `${median(ours.cpu).toFixed(0)} µs, ${median(theirs.cpu).toFixed(0)} µs`,
    },
  ];
}
