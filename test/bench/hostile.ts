import { fork } from 'node:child_process';
import fc from 'fast-check';
import { checkRules } from '../../src/acl-sync/proof/check.js';
import { anyRules } from '../support/any-rules.js';
import { aWorld } from '../support/a-world.js';
import { anyWorld } from '../support/any-world.js';
import { hostileDocuments } from '../support/hostile-documents.js';
import { cpuMs } from './judging.js';

/**
 * npm run bench:acl -- hostile: what the check of documents costs that ask for as much work as one mebibyte can, and of 10,000
 * random ones; each hostile one in a process of its own, whose peak memory is its own.
 */
const RANDOM = 10_000;
const small = aWorld().group('readers', ['ana', 'bo']).may('SELECT', 'lake.eu').snapshot();
const [asked] = process.argv.slice(2);
if (asked === undefined) {
  let slowest = 0;
  for (const name of Object.keys(hostileDocuments())) slowest = Math.max(slowest, await apart(name));
  console.log(
    `the slowest hostile document took ${(slowest / 1_000).toFixed(1)} s of processor time (target: 10 s, 1 GiB)`,
  );
  console.log(`${RANDOM} random documents: the slowest took ${random().toFixed(0)} ms`);
} else {
  const text = hostileDocuments()[asked] ?? '';
  const began = cpuMs();
  const findings = checkRules(text, small);
  const took = cpuMs() - began;
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(
    `${asked}: ${(took / 1_000).toFixed(1)} s, ${peak} MiB, ${findings.length} findings (${findings[0]?.code ?? 'none'})`,
  );
  process.send?.(took);
}

function apart(name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = fork(import.meta.filename, [name], { execArgv: [...process.execArgv, '--max-old-space-size=900'] });
    let took: number | null = null;
    child.once('message', (answer: number) => (took = answer));
    child.once('exit', () => (took === null ? reject(new Error(`${name}: the check did not end`)) : resolve(took)));
  });
}

function random(): number {
  const documents = fc.sample(fc.tuple(anyRules(), anyWorld()), RANDOM);
  return documents.reduce((slowest, [rules, snapshot]) => {
    const began = cpuMs();
    checkRules(JSON.stringify(rules), snapshot);
    return Math.max(slowest, cpuMs() - began);
  }, 0);
}
