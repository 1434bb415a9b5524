import { PublishedSizeForecast } from '../../src/acl-sync/published-rules.service.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

describe('the forecast of size', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) => `sales.eu.${(i * 7919).toString(36)}x${i}`).reduce(
      (builder, path, i) => builder.user(`p${i % 7}`).may('SELECT', path),
      aSnapshot(),
    );
  const little = { bytes: 100, isWide: false };
  let sync: SyncUnderTest;
  let compiled: number;
  /** The forecast for a snapshot next to the published one, on a target of a multiple of that size. */
  const forecast = async (share: number, growth = little, next = sync.snapshot) => {
    const bytes = Buffer.byteLength(sync.target.text ?? '');
    sync.target.limitBytes = Math.round(bytes * share);
    const result = new PublishedSizeForecast(sync.history, sync.preparer, sync.targets).forecast(
      () => Promise.resolve(next),
      () => Promise.resolve(growth),
    );
    return result;
  };

  beforeEach(async () => {
    sync = new SyncUnderTest(many(60).snapshot());
    await sync.run();
    compiled = 0;
    const { compile } = sync.preparer.tasks;
    sync.preparer.tasks.compile = (snapshot, limit) => {
      compiled++;
      return compile(snapshot, limit);
    };
  });

  it('returns null without compiling where there is capacity', async () => {
    expect(await forecast(10)).toBeNull();
    expect(await forecast(10, { bytes: 0, isWide: true }, many(500).snapshot())).toBeNull();
    expect(compiled).toBe(0);
  });

  it('warns by what is published when room runs out, without compiling', async () => {
    expect(await forecast(1.9)).toMatchObject({ fits: true, message: expect.stringContaining('%') as unknown });
    expect(compiled).toBe(0);
  });

  it('compiles where the guess does not fit, and believes the rules, not the guess', async () => {
    expect(await forecast(1.9, { bytes: 1e6, isWide: false })).toMatchObject({ fits: true });
    const message = expect.stringContaining('Give fewer grants to single people') as unknown;
    expect(await forecast(1.9, { bytes: 0, isWide: true }, many(300).snapshot())).toMatchObject({
      fits: false,
      message,
    });
    expect(compiled).toBe(2);
  });

  it('returns null for a target without a limit, and for a first small snapshot', async () => {
    const empty = new SyncUnderTest(aSnapshot().snapshot());
    const of = new PublishedSizeForecast(empty.history, sync.preparer, empty.targets);
    const ask = (bytes: number) =>
      of.forecast(
        () => Promise.resolve(empty.snapshot),
        () => Promise.resolve({ bytes, isWide: true }),
      );
    expect(await ask(1e9)).toBeNull();
    empty.target.limitBytes = 100_000;
    expect(await ask(1000)).toBeNull();
    expect(compiled).toBe(0);
    expect(await ask(200_000)).toBeNull();
    expect(compiled).toBe(1);
  });
});
