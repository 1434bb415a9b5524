import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { bundleArchive, dataText, keyId } from '../../src/trino-rules/opa/archive.js';
import { bundleData } from '../../src/trino-rules/opa/bundle-data.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { checkBundle } from '../../src/trino-rules/verify/bundle-proof.js';
import { isLanding, runs, shareOf } from '../support/landing.js';
import { requestOf } from '../support/opa/plugin-question.js';
import { withFault } from '../support/rules/document-fault.js';
import { Chance } from '../support/snapshots/chance.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { balancedCases } from './opa/balanced-cases.js';
import { opaProgram, OpaServer, type VerificationKeys } from './opa/opa-server.js';
import { faultyPolicies } from './opa/policy-faults.js';
import { canonical, type World, worlds } from './opa/worlds.js';

const POLICY = 'src/trino-rules/opa/policy';
const TESTS = 'test/stack/opa/policy_test.rego';
const SEED = Number(process.env['GRANTLINE_PROPERTY_SEED'] ?? 1);
const QUESTIONS = 350;
const ASKERS = 4;
const DEADLINE = 1_800_000;

const folders: string[] = [];
const servers: OpaServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

async function started(keys: VerificationKeys | null = null): Promise<OpaServer> {
  const server = await OpaServer.start(keys);
  servers.push(server);
  return server;
}

function opa(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(opaProgram(), args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return { status, output: stdout + stderr };
}

function textOf(snapshot: Snapshot): string {
  return dataText(bundleData(snapshot));
}

/** The questions of a world that OPA answers otherwise. */
async function wrongAnswers(server: OpaServer, { asked }: World): Promise<unknown[]> {
  const wrong: unknown[] = [];
  const work = asked.values();
  const ask = async (): Promise<void> => {
    for (const { question, answer } of work) {
      const given = await server.ask(`grantline/${question.entryPoint}`, requestOf(question));
      if (canonical(given) !== canonical(answer)) wrong.push({ question, answer, given });
    }
  };
  await Promise.all(Array.from({ length: ASKERS }, ask));
  return wrong;
}

describe('stock OPA', () => {
  it(
    'decides as the intent, by bundles that it downloads, in the shapes of the plugin',
    async () => {
      const server = await started();
      let decisions = 0;
      const answers = new Map<string, Set<boolean>>();
      for (const [number, world] of [...worlds(runs(360), QUESTIONS, SEED)].entries()) {
        await server.publish(bundleArchive(textOf(world.made), `v${number}`), `v${number}`);
        const wrong = await wrongAnswers(server, world);
        expect({ snapshot: world.made, wrong }).toEqual({ snapshot: world.made, wrong: [] });
        decisions += world.asked.length;
        for (const { question, answer } of world.asked) {
          const isYes = Array.isArray(answer) ? answer.length > 0 : answer !== false && answer !== null;
          const kind = `${question.entryPoint} ${question.action.operation}`;
          answers.set(kind, (answers.get(kind) ?? new Set()).add(isYes));
        }
      }
      console.log(`OPA: ${decisions} decisions, none wrong`);
      expect(decisions).toBeGreaterThanOrEqual(runs(100_000));
      // Agreement on nothing but refusals would show little. A share of the worlds may miss a rare right.
      const alike = [...answers].filter(([, given]) => given.size < 2).map(([kind]) => kind);
      const unvaried = alike.filter((kind) => !NEVER.test(kind) && kind !== 'batch FilterViewQueryOwnedBy');
      expect(isLanding ? unvaried.slice(6) : unvaried).toEqual([]);
    },
    DEADLINE,
  );

  it('decides about names of any length without more memory', async () => {
    const server = await started();
    await server.publish(bundleArchive(textOf(aSnapshot().user('ana').may('SELECT', 'sales').snapshot()), 'v1'), 'v1');
    const table = { catalogName: 'sales', schemaName: 'eu', tableName: `a${'$'.repeat(20_000)}` };
    const action = { operation: 'CreateView', resource: { table } };
    expect(await server.ask('grantline/allow', requestOf({ entryPoint: 'allow', user: 'ana', action }))).toBe(false);
    expect(server.memory('VmHWM')).toBeLessThan(200);
  });

  it('takes a bundle that is signed, and keeps the last one when a signature is wrong or missing', async () => {
    const pairs = [
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ];
    const [rsa, ec] = pairs;
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const server = await started(
      Object.fromEntries(pairs.map(({ publicKey }) => [keyId(publicKey), verifierOf(publicKey)])),
    );
    const data = textOf(
      // Keys whose order differs by UTF-16 and by UTF-8, and line ends that Go escapes.
      ['\u{1f600}', '\uff21', 'a\u2028b\u2029c', '<&>']
        .reduce((all, name) => all.user(name).may('SELECT', { catalog: name }), aSnapshot())
        .snapshot(),
    );
    for (const [revision, pair] of [
      ['v1', rsa],
      ['v2', ec],
    ] as const) {
      await server.publish(bundleArchive(data, revision, pair?.privateKey), revision);
      expect(await server.activeRevision()).toBe(revision);
    }

    const changed = gunzipSync(bundleArchive(data, 'v5', rsa?.privateKey))
      .toString('latin1')
      .replace('"<&>"', '"<&<"');
    for (const [bundle, refusal] of [
      [bundleArchive(data, 'v3'), /bundle missing .signatures.json file/],
      [bundleArchive(data, 'v4', stranger.privateKey), /verification key corresponding to ID \w+ not found/],
      [gzipSync(Buffer.from(changed, 'latin1')), /digest mismatch/],
    ] as const) {
      server.serve(bundle, `refused ${String(refusal)}`);
      await server.until(() => Promise.resolve(refusal.test(server.log)));
      expect(await server.activeRevision()).toBe('v2');
    }
  }, 120_000);
});

/** Nobody may, or nobody is asked who may not. */
const NEVER = /Catalog$|CreateFunction|DropFunction|Authorization|FutureOperation/;

function verifierOf(key: KeyObject): VerificationKeys[string] {
  const text = key.export({ type: 'spki', format: 'pem' }).toString();
  return { key: text, algorithm: key.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256' };
}

describe('the policy', () => {
  it('is strict, formatted and at most 300 lines', () => {
    expect(opa('check', '--strict', POLICY)).toEqual({ status: 0, output: '' });
    expect(opa('fmt', '--diff', POLICY, TESTS)).toEqual({ status: 0, output: '' });
    const lines = readFileSync(join(POLICY, 'policy.rego'), 'utf8').split('\n');
    expect(lines.filter((line) => !/^\s*(#|$)/.test(line)).length).toBeLessThanOrEqual(300);
  });

  it(
    'passes its tests, which find each planted fault',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'grantline-policy-'));
      folders.push(folder);
      writeFileSync(join(folder, 'worlds.json'), JSON.stringify(balancedCases(3)));
      const policy = readFileSync(join(POLICY, 'policy.rego'), 'utf8');
      const file = join(folder, 'policy.rego');
      const test = (text: string) => {
        writeFileSync(file, text);
        return opa('test', '--timeout', '120s', file, join(POLICY, 'system'), TESTS, join(folder, 'worlds.json'));
      };
      const { status, output } = test(policy);
      expect({ status, output }).toMatchObject({ status: 0, output: expect.stringContaining('PASS: 4/4') as string });

      const faults = faultyPolicies(policy);
      expect(faults.length).toBeGreaterThanOrEqual(100);
      const missed = shareOf(faults).filter(({ text }) => test(text).status === 0);
      expect(missed.map(({ fault }) => fault)).toEqual([]);
    },
    DEADLINE,
  );
});

describe('the proof', () => {
  it(
    'finds each fault planted in the data, or OPA answers as meant all the same',
    async () => {
      const server = await started();
      const seen = { found: 0, harmless: 0 };
      // A little more than half of the faults change what the data say.
      for (const [number, world] of [...worlds(runs(150), 60, SEED + 1)].entries()) {
        if (seen.found >= runs(200)) break;
        const chance = new Chance(number + SEED);
        for (let slip = 0; slip < 4; slip++) {
          const text = withFault(textOf(world.made), chance);
          if (checkBundle(text, world.made).length > 0) {
            seen.found++;
            continue;
          }
          seen.harmless++;
          const revision = `v${number}-${slip}`;
          await server.publish(bundleArchive(text, revision), revision);
          const wrong = await wrongAnswers(server, world);
          expect({ snapshot: world.made, text, wrong }).toEqual({ snapshot: world.made, text, wrong: [] });
        }
      }
      console.log(`planted in the data: ${seen.found} found, ${seen.harmless} without effect`);
      expect(seen.found).toBeGreaterThanOrEqual(runs(200));
    },
    DEADLINE,
  );
});
