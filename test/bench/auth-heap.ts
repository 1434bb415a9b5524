import type { AuthUnderTest } from './auth-under-test.js';
import { closedLoop } from './http-load.js';
import type { Ratio } from './ratio.js';

const FEW = 10_000;
const MIB = 2 ** 20;

/** The heap after a forced collection, after many `me` requests and after few, in one process. */
export async function measureHeap(auth: AuthUnderTest, requests: number): Promise<Ratio[]> {
  const service = await auth.another({});
  const heapAfter = async (count: number): Promise<number> => {
    let left = count;
    await closedLoop(service.port, 20, (_, last) => {
      if (last !== null && last.status !== 200) throw new Error(`${last.status} ${last.body}`);
      return (left -= 1) >= 0 ? auth.me() : null;
    });
    return service.heap();
  };
  const few = await heapAfter(FEW);
  const many = await heapAfter(requests - FEW);
  await service.stop();
  const thousands = (count: number): string => count.toLocaleString('en-GB');
  return [
    {
      what: `heap after ${thousands(requests)} me requests, against after ${thousands(FEW)}`,
      ratio: many / few,
      target: { atMost: 1.1 },
      figures: `${(many / MIB).toFixed(1)} MiB, ${(few / MIB).toFixed(1)} MiB`,
    },
  ];
}
