import { IMAGE_NODE } from '../stack/parts/image.js';
import { type AuthUnderTest, tokensIn } from './auth-under-test.js';
import { type Answered, closedLoop, requestText, Wire } from './http-load.js';
import { imageNode } from './image-node.js';
import type { MeasuredProcess } from './measured-process.js';
import { median, medianRatio, type Ratio } from './ratio.js';

const TURNS = 3;
const LOGINS = 100;
const ME = 40_000;
const REFRESHES = 2_000;
const MIB = 2 ** 20;

class Runs {
  readonly resident: number[] = [];
  readonly heap: number[] = [];
  /** Microseconds of processor time of one `me`. */
  readonly cpu: number[] = [];

  constructor(
    readonly node: string,
    readonly environment: Record<string, string>,
  ) {}
}

/** Memory after the same load in processes of their own: of this Node, and of the image's with and without the image's environment. */
export async function measureMemory(auth: AuthUnderTest): Promise<Ratio[]> {
  const { node, environment } = await imageNode();
  const [here, image] = [new Runs(process.execPath, {}), new Runs(node, environment)];
  const byDefault = new Runs(node, {});
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const runs of [here, image, byDefault]) await run(auth, runs);
  }
  const against = `Node ${process.version}'s`;
  const ratio = (what: string, measured: 'resident' | 'heap', ours: Runs): Ratio => ({
    what: `${what} after the load on the image's Node ${IMAGE_NODE.version}, against ${against}`,
    ratio: medianRatio(ours[measured], here[measured]),
    target: { atMost: 1.3 },
    figures: `${mebibytes(ours[measured])}, ${mebibytes(here[measured])}`,
  });
  return [
    ratio('memory', 'resident', image),
    ratio('heap, collected,', 'heap', image),
    { ...ratio("memory without the image's environment", 'resident', byDefault), target: null },
    {
      what: `me on the image's Node, processor time per request, against ${against}`,
      ratio: medianRatio(image.cpu, here.cpu),
      target: null,
      figures: `${median(image.cpu).toFixed(0)} µs, ${median(here.cpu).toFixed(0)} µs`,
    },
    {
      what: "the same with the image's environment, against without",
      ratio: medianRatio(image.cpu, byDefault.cpu),
      target: null,
      figures: `${median(image.cpu).toFixed(0)} µs, ${median(byDefault.cpu).toFixed(0)} µs`,
    },
  ];
}

async function run(auth: AuthUnderTest, { node, environment, resident, heap, cpu }: Runs): Promise<void> {
  const service = await auth.another(environment, node);
  await send(service, 8, LOGINS, () => auth.login);
  const before = service.cpuSeconds();
  await send(service, 20, ME, () => auth.me());
  cpu.push(((service.cpuSeconds() - before) / ME) * 1e6);
  await refresh(service, auth.login);
  resident.push(service.residentBytes());
  heap.push(await service.heap());
  await service.stop();
}

async function refresh(service: MeasuredProcess, login: string): Promise<void> {
  const wire = await Wire.open(service.port);
  let live = tokensIn(await wire.send(login)).refresh_token;
  wire.close();
  await send(service, 1, REFRESHES, (last) => {
    if (last !== null) live = tokensIn(last).refresh_token;
    return requestText('POST', '/api/auth/refresh', { body: { refresh_token: live } });
  });
}

async function send(
  service: MeasuredProcess,
  connections: number,
  count: number,
  next: (last: Answered | null) => string,
): Promise<void> {
  let left = count;
  await closedLoop(service.port, connections, (_, last) => {
    if (last !== null && last.status !== 200) throw new Error(`${last.status} ${last.body}`);
    return (left -= 1) >= 0 ? next(last) : null;
  });
}

function mebibytes(values: readonly number[]): string {
  return `${(median(values) / MIB).toFixed(0)} MiB`;
}
