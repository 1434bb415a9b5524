import { loadavg } from 'node:os';
import { report } from '../stack/progress.js';
import type { AuthUnderTest } from './auth-under-test.js';
import { measureParts } from './auth-parts.js';
import type { Ratio } from './ratio.js';
import { measureRows } from './queries/measure-rows.js';
import { measureMemory, measureSmall } from './queries/measure-small.js';
import { type EngineUnderTest, QueryBench, startScripted } from './queries/query-bench.js';
import { startTrino } from './queries/real-engine.js';

/**
 * npm run bench:engine [-- memory rows small trino]: what reading results costs through the service and by our client, against
 * the engine's official clients and a loop that does the least, on a scripted engine, whose pages cost it nothing, and for
 * small statements on Trino as well. Figures and what limits them: docs/benchmarks.md.
 */
const within =
  (start: () => Promise<EngineUnderTest>, measure: (bench: QueryBench) => Promise<Ratio[]>) =>
  async (auth: AuthUnderTest): Promise<Ratio[]> => {
    const bench = await QueryBench.start(auth, start);
    try {
      return await measure(bench);
    } finally {
      await bench.stop();
    }
  };

report(
  `load before: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}`,
);
const PARTS = {
  memory: within(startScripted, measureMemory),
  rows: within(startScripted, measureRows),
  small: within(startScripted, measureSmall),
  trino: within(startTrino, measureSmall),
};
await measureParts(PARTS, process.argv.slice(2));
report(
  `load after: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}`,
);
