import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Attack, Ports } from './attacks.js';
import type { AuthUnderTest } from './auth-under-test.js';
import { openLoop, Wire } from './http-load.js';
import { median, medianRatio, quantile, type Ratio } from './ratio.js';

const TURNS = 3;
const RATE = 100;
const SECONDS = 3;
const LOGINS = 3;
const ASKED = 100;
/** Milliseconds after the last byte of an attack, after which nothing is left of it. */
const AFTER = 3_000;

interface Waits {
  me: number;
  /** Processor time of the service's one thread that answers, between a request of `me` and its answer: it queues for that. */
  work: number;
  login: number;
  /** What the attack sent, in bytes a second. */
  sent: number;
}

/**
 * p99 of another person's `me` and login under an attack and three seconds after it, against p99 at rest; nobody may be
 * refused. What is pipelined, and what is charged to nobody before it is read, has a bound in seconds.
 */
export async function measureAttack(auth: AuthUnderTest, name: string, attack: Attack): Promise<Ratio[]> {
  const { port, operationsPort } = auth.service;
  const { access_token: token } = await auth.somebodyElse();
  const turns: Record<'rest' | 'attacked' | 'after', Waits>[] = [];
  await waits(auth); // warms up
  for (let turn = 0; turn < TURNS; turn += 1) {
    const rest = await waits(auth);
    const attacked = await whileAttacked(name, { api: port, operations: operationsPort }, token, () => waits(auth));
    await pause(AFTER);
    turns.push({ rest, attacked, after: await waits(auth) });
  }
  const of = (when: keyof (typeof turns)[0], what: keyof Waits): number[] => turns.map((turn) => turn[when][what]);
  const ratio = (when: 'attacked' | 'after', what: keyof Waits, words: string, target: Ratio['target']): Ratio => ({
    what: `${words}, p99 ${when === 'after' ? 'three seconds after' : 'under'} ${attack.what}`,
    ratio: medianRatio(of(when, what), of('rest', what)),
    target,
    figures: `${median(of(when, what)).toFixed(1)} ms (${(median(of('attacked', 'sent')) / 1e6).toFixed(1)} MB/s); at rest ${median(of('rest', what)).toFixed(1)} ms`,
  });
  const me = ratio('attacked', 'me', 'me', attack.isBoundInSeconds ? null : { atMost: 4 });
  return [
    me,
    ...(attack.isBoundInSeconds
      ? [{ ...me, what: `the same in seconds`, ratio: median(of('attacked', 'me')) / 1000, target: { atMost: 1 } }]
      : []),
    ratio('after', 'me', 'me', { atMost: 2 }),
    ratio('attacked', 'work', 'processor time before an answer of me', null),
    ratio('attacked', 'login', 'login', null),
  ];
}

async function whileAttacked(
  name: string,
  { api, operations }: Ports,
  token: string,
  measure: () => Promise<Waits>,
): Promise<Waits> {
  const attack = started('attack-process.ts', [name, String(api), String(operations), token]);
  try {
    await pause(1000); // until it has begun
    const found = await measure();
    if (attack.exitCode !== null) throw new Error(`the attack ended by itself: ${name}`);
    const sent = firstLine(attack);
    attack.kill();
    return { ...found, sent: Number(await sent) };
  } finally {
    attack.kill();
  }
}

function started(script: string, args: string[]): ChildProcess {
  return spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.stdout?.once('data', (line: Buffer) => resolve(line.toString()));
    child.once('exit', () => resolve(''));
  });
}

/** The 99th percentiles, in ms: of `me` at a fixed rate, of the work before its answers, of logins one after the other. */
async function waits(auth: AuthUnderTest): Promise<Waits> {
  const { port } = auth.service;
  const me = quantile(await openLoop(port, RATE, SECONDS, auth.me()), 0.99);
  return { me, work: await work(auth), login: await slowestLogin(port, auth.login), sent: 0 };
}

async function work(auth: AuthUnderTest): Promise<number> {
  const { service } = auth;
  const wire = await Wire.open(service.port);
  const found: number[] = [];
  for (let count = 0; count < ASKED; count += 1) {
    const before = service.threadMilliseconds();
    await wire.send(auth.me());
    found.push(service.threadMilliseconds() - before);
    await pause(5);
  }
  wire.close();
  return quantile(found, 0.99);
}

async function slowestLogin(port: number, login: string): Promise<number> {
  const wire = await Wire.open(port);
  let slowest = 0;
  for (let count = 0; count < LOGINS; count += 1) {
    const start = performance.now();
    const { status, body } = await wire.send(login);
    if (status !== 200) throw new Error(`${status} ${body}`);
    slowest = Math.max(slowest, performance.now() - start);
  }
  wire.close();
  return slowest;
}
