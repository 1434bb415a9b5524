import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ATTACKS } from './attacks.js';
import type { AuthUnderTest } from './auth-under-test.js';
import { openLoop, Wire } from './http-load.js';
import { median, medianRatio, quantile, type Ratio } from './ratio.js';

const TURNS = 3;
const RATE = 100;
const SECONDS = 4;
const LOGINS = 5;

interface Waits {
  me: number;
  login: number;
}

/** p99 of another person's `me` and login under an attack, against p99 at rest. */
export async function measureAttack(auth: AuthUnderTest, name: string): Promise<Ratio[]> {
  const rest: Waits[] = [];
  const attacked: Waits[] = [];
  for (let turn = -1; turn < TURNS; turn += 1) {
    const atRest = await waits(auth);
    const script = join(import.meta.dirname, 'attack-process.ts');
    const ports = [auth.service.port, auth.service.operationsPort].map(String);
    const args = [...process.execArgv, script, name, ...ports];
    const attack = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    await pause(1000); // until it has begun
    const underAttack = await waits(auth);
    if (attack.exitCode !== null) throw new Error(`the attack ended by itself: ${name}`);
    attack.kill();
    if (turn < 0) continue; // warms up
    rest.push(atRest);
    attacked.push(underAttack);
  }
  return (['me', 'login'] as const).map((what) => {
    const [under, at] = [attacked, rest].map((turns) => turns.map((turn) => turn[what]));
    return {
      what: `${what}, p99 under attack (${ATTACKS[name]?.what ?? name}), against p99 at rest`,
      ratio: medianRatio(under ?? [], at ?? []),
      target: { atMost: 3 },
      figures: `${median(under ?? []).toFixed(1)} ms, ${median(at ?? []).toFixed(1)} ms`,
    };
  });
}

/** The 99th percentiles, in ms: of `me` at a fixed rate, of logins one after the other. */
async function waits(auth: AuthUnderTest): Promise<Waits> {
  const { port } = auth.service;
  const me = quantile(await openLoop(port, RATE, SECONDS, auth.me()), 0.99);
  return { me, login: await slowestLogin(port, auth.login) };
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
