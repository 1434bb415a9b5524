import { writeFileSync } from 'node:fs';
import { bundleArchive, dataText } from '../../src/trino-rules/opa/archive.js';
import { bundleData } from '../../src/trino-rules/opa/bundle-data.js';
import { checkBundle } from '../../src/trino-rules/verify/bundle-proof.js';
import { cpuMs } from './judging.js';
import { type Grants, worldOf } from './opa-world.js';
import { median } from './ratio.js';

const ROUNDS = 7;

/** Milliseconds of processor time, medians of seven rounds in one process, as in a service. */
export interface Making {
  data: number;
  json: number;
  archive: number;
  proof: number;
  dataBytes: number;
  peakMiB: number;
}

/** `opa-making.ts GRANTS FILE`: makes and proves the data, leaves the data in the file, and prints `Making`. */
const [grants = '', file = ''] = process.argv.slice(2);
const world = worldOf(Number(grants) as Grants);
const times: Record<'data' | 'json' | 'archive' | 'proof', number[]> = { data: [], json: [], archive: [], proof: [] };
let text = '';
for (let round = 0; round < ROUNDS; round++) {
  const data = timed('data', () => bundleData(world));
  text = timed('json', () => dataText(data));
  timed('archive', () => bundleArchive(text, 'v1'));
  const findings = timed('proof', () => checkBundle(text, world));
  if (findings.length > 0) throw new Error(findings.map(({ message }) => message).join('\n'));
}
writeFileSync(file, text);
const [data = 0, json = 0, archive = 0, proof = 0] = [times.data, times.json, times.archive, times.proof].map(median);
const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
const making: Making = { data, json, archive, proof, dataBytes: Buffer.byteLength(text), peakMiB };
console.log(JSON.stringify(making));

function timed<T>(what: keyof typeof times, work: () => T): T {
  const began = cpuMs();
  const result = work();
  times[what].push(cpuMs() - began);
  return result;
}
