import { FakeBundleSource } from '../../test/support/fakes/fake-bundle-source.js';
import { FakeTimers } from '../../test/support/fakes/fake-timers.js';
import { Refused } from '../kernel/errors.js';
import { type BundleAnswer, BundlesService } from './bundles.service.js';

describe('bundles', () => {
  let source: FakeBundleSource;
  let timers: FakeTimers;
  let bundles: BundlesService;
  beforeEach(() => {
    source = new FakeBundleSource();
    timers = new FakeTimers();
    bundles = new BundlesService(source, timers);
  });

  const tag = (version: number): string => `"v${version}-0123456789ab"`;
  const publish = (version: number): Promise<void> => {
    source.publish(version, false);
    return bundles.probe();
  };
  const ask = (known?: string, seconds = 0, waiting = new AbortController(), address = '10.0.0.1'): Promise<string> =>
    bundles.answer(known, seconds, waiting, address).then(textOf, (error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      return `${error.code} ${error.details.quota?.name ?? ''}`.trim();
    });
  const textOf = ({ archive, tag: given }: BundleAnswer): string =>
    archive === null ? `unchanged ${given}` : Buffer.from(archive).toString();

  it('are made once a version', async () => {
    await publish(1);
    await bundles.probe();
    expect(await Promise.all([ask(), ask()])).toEqual(Array(2).fill('the bundle v1-0123456789ab'));
    await publish(2);
    expect(await ask(tag(1))).toBe('the bundle v2-0123456789ab');
    expect(source.made).toEqual(['v1-0123456789ab', 'v2-0123456789ab']);
  });

  it('that the client knows are not sent again, by any of its tags', async () => {
    await publish(1);
    expect(await ask(`"other", W/${tag(1)}`)).toBe(`unchanged ${tag(1)}`);
    expect(await ask('"other"')).toBe('the bundle v1-0123456789ab');
  });

  it('are awaited by who knows the newest', async () => {
    await publish(1);
    const held = ask(tag(1), 30);
    timers.advance(29_999);
    await publish(2);
    expect(await held).toBe('the bundle v2-0123456789ab');
  });

  it('are awaited from this process without delay', async () => {
    bundles.onModuleInit();
    await publish(1);
    const held = ask(tag(1), 30);
    source.publish(2, true);
    expect(await held).toBe('the bundle v2-0123456789ab');
  });

  it('are awaited no longer than was preferred', async () => {
    await publish(1);
    const held = ask(tag(1), 30);
    timers.advance(30_000);
    expect(await held).toBe(`unchanged ${tag(1)}`);
  });

  it('are awaited before the first publication, too', async () => {
    await bundles.probe();
    expect(await ask()).toBe('no_publication');
    const [held, late] = [ask(undefined, 30), ask(undefined, 10)];
    timers.advance(10_000);
    expect(await late).toBe('no_publication');
    await publish(1);
    expect(await held).toBe('the bundle v1-0123456789ab');
  });

  it('are awaited by everybody while the first one of the process is made', async () => {
    const held = ask();
    await publish(1);
    expect(await held).toBe('the bundle v1-0123456789ab');
  });

  it('of the former version stay when the next one cannot be made, which is tried again', async () => {
    await publish(1);
    const held = ask(tag(1), 30);
    source.failure = new Error('out of memory');
    await expect(publish(2)).rejects.toThrow('out of memory');
    expect(bundles.intervalMs()).toBe(10_000);
    expect(await ask()).toBe('the bundle v1-0123456789ab');
    source.failure = null;
    await bundles.probe();
    expect(await held).toBe('the bundle v2-0123456789ab');
    expect(bundles.intervalMs()).toBe(400);
  });

  it('are given to who has the one before, also while the database is away', async () => {
    await publish(1);
    await publish(2);
    source.failure = new Error('database away');
    expect(await ask(tag(1))).toBe('the bundle v2-0123456789ab');
  });

  it('are not replaced by earlier ones of a replica that is behind', async () => {
    await publish(1);
    source.publish(2, false);
    expect(await ask(`${tag(1)}, ${tag(2)}`)).toBe(`unchanged ${tag(2)}`);
    source.publish(3, false);
    source.failure = new Error('database away');
    expect(await ask(tag(3))).toBe('busy');
    expect(await ask(tag(1))).toBe('the bundle v2-0123456789ab');
    source.failure = null;
    expect(await ask(tag(3))).toBe(`unchanged ${tag(3)}`);
  });

  it('are not replaced by earlier ones where the database is restored to an earlier state, which is recorded', async () => {
    await publish(7);
    const held = ask(tag(7), 30);
    await publish(5);
    expect(await held).toBe('busy');
    expect(await ask(`W/${tag(6)}, ${tag(7)}`, 30)).toBe('busy');
    expect(source.found).toEqual([tag(7), `W/${tag(6)}, ${tag(7)}`]);
    await publish(8);
    expect(await ask(tag(7))).toBe('the bundle v8-0123456789ab');
  });

  it('of another database are not replaced by those of the same or a higher number, and are recorded', async () => {
    const foreignTag = `"v5-${source.foreignHash}"`;
    await publish(5);
    expect(await ask(foreignTag)).toBe('busy');
    await publish(6);
    expect(await ask(foreignTag)).toBe('busy');
    expect(source.found).toEqual([foreignTag, foreignTag]);
    expect(await ask()).toBe('the bundle v6-0123456789ab');
  });

  it('are not replaced by earlier ones, of which the first is being made', async () => {
    const held = ask(tag(7));
    await publish(5);
    expect(await held).toBe('busy');
  });

  it('end all waits at a stop, and no other begins', async () => {
    await publish(1);
    const held = ask(tag(1), 30);
    bundles.onModuleDestroy();
    expect(await held).toBe(`unchanged ${tag(1)}`);
    expect(await ask(tag(1), 30)).toBe('busy');
    expect(await ask(tag(1))).toBe(`unchanged ${tag(1)}`);
  });

  it('are awaited by 256 requests at most, of which some go', async () => {
    await publish(1);
    const waits = Array.from({ length: 256 }, () => new AbortController());
    const held = waits.map((waiting) => ask(tag(1), 30, waiting));
    expect(await ask(tag(1), 30)).toBe('too_many_requests held-requests');
    expect(await ask()).toBe('the bundle v1-0123456789ab');
    waits[7]?.abort();
    await held[7];
    const next = ask(tag(1), 30);
    await publish(2);
    expect(new Set(await Promise.all([...held.filter((_, at) => at !== 7), next]))).toEqual(
      new Set(['the bundle v2-0123456789ab']),
    );
  });

  it('are sent 50 times a second, but for those who waited, and once to each address', async () => {
    await publish(1);
    const held = Array.from({ length: 60 }, () => ask(tag(1), 30));
    await publish(2);
    expect(new Set(await Promise.all(held))).toEqual(new Set(['the bundle v2-0123456789ab']));
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask()));
    expect(answers.map((answer) => answer.startsWith('the bundle')).lastIndexOf(true)).toBe(49);
    expect(answers.slice(50)).toEqual(Array(10).fill('too_many_requests bundles'));
    expect(await ask(tag(2))).toBe(`unchanged ${tag(2)}`);
    const askElsewhere = (): Promise<string> => ask(tag(1), 30, new AbortController(), '10.0.0.2');
    expect([await askElsewhere(), await askElsewhere()]).toEqual([
      'the bundle v2-0123456789ab',
      'too_many_requests bundles',
    ]);
    timers.advance(1_000);
    expect(await ask()).toBe('the bundle v2-0123456789ab');
  });
});
