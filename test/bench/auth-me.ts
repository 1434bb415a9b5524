import { type AuthUnderTest, claimsIn } from './auth-under-test.js';
import { requestText } from './http-load.js';
import { MeasuredProcess } from './measured-process.js';
import { MeasuredSide } from './measured-side.js';
import type { Ratio } from './ratio.js';

const TURNS = 25;
const SECONDS = 1;
const MANY = 20;

/**
 * `me` by a session and by an API token, and beside a bare Fastify route with the same query, as pg's documentation writes it, and
 * prepared as ours is: over twenty connections, whose requests share statements, and over one.
 */
export async function measureMe(auth: AuthUnderTest): Promise<Ratio[]> {
  const { sid, sub } = claimsIn(auth.tokens.access_token);
  const startBare = (...name: string[]): Promise<MeasuredProcess> =>
    MeasuredProcess.start('test/bench/bare-route.js', [auth.postgres.url, sid, sub, ...name], {});
  const [bareServer, preparedServer] = [await startBare(), await startBare('me')];
  const bareRequest = requestText('GET', '/me', { token: auth.tokens.access_token });
  const byTokenRequest = auth.me(await auth.apiToken());
  const side = (server: MeasuredProcess, request: string, connections = MANY): MeasuredSide =>
    new MeasuredSide(server, () => request, connections);
  const [bare, prepared] = [side(bareServer, bareRequest), side(preparedServer, bareRequest)];
  const [ours, byToken] = [side(auth.service, auth.me()), side(auth.service, byTokenRequest)];
  const [preparedAlone, oursAlone] = [side(preparedServer, bareRequest, 1), side(auth.service, auth.me(), 1)];
  for (let turn = -2; turn < TURNS; turn += 1) {
    for (const each of [bare, ours, byToken, prepared, preparedAlone, oursAlone]) await each.turn(SECONDS, turn >= 0);
  }
  await Promise.all([bareServer.stop(), preparedServer.stop()]);
  const [perSecond, cpu] = ours.against(bare, (measured) => `me, ${measured}, against a bare Fastify + pg route`);
  const [byTokenPerSecond, byTokenCpu] = byToken.against(
    ours,
    (measured) => `me by an API token, ${measured}, against by a session`,
  );
  const their = 'the bare route with its statement prepared';
  const [preparedPerSecond, preparedCpu] = ours.against(prepared, (measured) => `me, ${measured}, against ${their}`);
  return [
    { ...perSecond, target: { atLeast: 1.1 } },
    { ...cpu, target: { atMost: 1.8 } },
    { ...preparedPerSecond, target: { atLeast: 0.65 } },
    preparedCpu,
    ...oursAlone.against(preparedAlone, (measured) => `me over one connection, ${measured}, against ${their}`),
    { ...byTokenPerSecond, target: { atLeast: 0.95 } },
    byTokenCpu,
  ];
}
