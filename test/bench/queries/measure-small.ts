import { median, medianRatio, type Ratio } from '../ratio.js';
import type { QueryBench } from './query-bench.js';
import type { Reader } from './reader.js';

const TIMES = 1_000;
const BATCH = 20;
const MANY = 10_000_000;
const FEW = 100_000;

/** `SELECT 1` a thousand times with each client, in turns of twenty. */
export async function measureSmall({ raw, official, ours, streams }: QueryBench): Promise<Ratio[]> {
  const waits = new Map<Reader, number[]>(
    [raw.parsed, official.javascript, ours, streams.ndjson].map((one) => [one, []]),
  );
  for (let done = -BATCH; done < TIMES; done += BATCH) {
    for (const [reader, all] of waits) {
      const batch: number[] = [];
      for (let count = 0; count < BATCH; count += 1) batch.push((await reader.read('SELECT 1')).all);
      if (done >= 0) all.push(median(batch)); // the first batch warms up
    }
  }
  const compare = (one: Reader, other: Reader): Ratio => {
    const [mine, theirs] = [waits.get(one) ?? [], waits.get(other) ?? []];
    const figures = `${median(mine).toFixed(2)}, ${median(theirs).toFixed(2)} ms`;
    return {
      what: `SELECT 1: ${one.name}, against ${other.name}`,
      ratio: medianRatio(mine, theirs),
      target: null,
      figures,
    };
  };
  return [compare(ours, raw.parsed), compare(ours, official.javascript), compare(streams.ndjson, official.javascript)];
}

/** The service's peak memory after ten million rows, against after a hundred thousand. */
export async function measureMemory({ service, streams }: QueryBench): Promise<Ratio[]> {
  await streams.ndjson.read(`SELECT narrow ${FEW}`);
  const before = service.peakBytes();
  await streams.ndjson.read(`SELECT narrow ${MANY}`);
  const after = service.peakBytes();
  const figures = `${(after / 2 ** 20).toFixed(0)}, ${(before / 2 ** 20).toFixed(0)} MiB`;
  return [
    {
      what: 'peak memory at 10,000,000 rows, against 100,000',
      ratio: after / before,
      target: { atMost: 1.3 },
      figures,
    },
  ];
}
