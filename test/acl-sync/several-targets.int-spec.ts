import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Candidate } from '../../src/acl-sync/domain/candidate.js';
import { RulesTargetUnavailable } from '../../src/acl-sync/domain/rules-target.js';
import { FakeRulesTarget } from '../support/fakes/fake-rules-target.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
const writersToo = () => readers().group('writers', ['bo']).may('INSERT', 'sales.eu.orders');
const GONE = new RulesTargetUnavailable('unreachable', 'the API server does not answer');

describe('a run with several targets', () => {
  let other: FakeRulesTarget;
  let sync: SyncUnderTest;
  beforeEach(() => {
    other = new FakeRulesTarget('other');
    sync = new SyncUnderTest(readers().snapshot(), undefined, [other]);
  });

  const versions = () => sync.history.rows.filter(({ state }) => state === 'published').length;
  const states = async () =>
    (await sync.history.summary()).lastRun?.targets.map(({ target, held, failure }) => [
      target,
      held?.revision.split('-')[0] ?? null,
      failure?.reason ?? null,
    ]);

  it('writes the same version to each', async () => {
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 1 } });

    expect(other.text).toBe(sync.target.text);
    expect(other.written).toEqual(sync.target.written);
    expect(await states()).toEqual([
      ['fake', 'v1', null],
      ['other', 'v1', null],
    ]);
    expect(await sync.run()).toMatchObject({ kind: 'no_change' });
    expect(other.published).toHaveLength(1);
  });

  it.each(['first', 'second'])(
    'publishes to one while the %s cannot be reached, and gives it the current version later',
    async (which) => {
      await sync.run();
      const [away, there] = which === 'first' ? [sync.target, other] : [other, sync.target];
      away.failure = GONE;
      sync.snapshot = writersToo().snapshot();

      const failed = await sync.run();

      expect(failed).toMatchObject({
        kind: 'failed',
        failure: { reason: 'unreachable' },
        outcomeElsewhere: { kind: 'applied', publication: { version: 2 } },
      });
      expect(there.text).toBe((await sync.history.latest())?.text);
      const published = sync.audited.map(({ event }) => event).filter((event) => event.startsWith('publication_'));
      expect(published).toEqual(['publication_applied', 'publication_applied', 'publication_failed']);
      expect(await sync.run()).toMatchObject({ kind: 'failed', outcomeElsewhere: { kind: 'no_change' } });

      away.failure = null;
      expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 2 } });
      expect(away.text).toBe(there.text);
      expect(away.written).toEqual(there.written);
      expect(versions()).toBe(2);
      expect(sync.audited.map(({ event }) => event)).not.toContain('drift_found');
    },
  );

  it('knows the version of a run that died, also where another one followed elsewhere', async () => {
    await sync.run();
    sync.snapshot = writersToo().snapshot();
    const [confirm, record] = [sync.history.confirm.bind(sync.history), sync.history.record.bind(sync.history)];
    sync.history.confirm = () => Promise.reject(new Error('the database is gone'));
    sync.history.record = () => Promise.reject(new Error('the database is gone'));
    other.beforePublish = () => (other.failure = GONE);
    await expect(sync.run()).rejects.toThrow('the database is gone');
    Object.assign(sync.history, { confirm, record });
    [other.failure, other.beforePublish] = [null, () => undefined];
    sync.snapshot = writersToo().user('ana').may('DELETE', 'sales.eu.orders').snapshot();
    expect(await sync.preview()).toMatchObject({ would: 'publish' });

    sync.target.failure = GONE;
    expect(await sync.run()).toMatchObject({ kind: 'failed', outcomeElsewhere: { publication: { version: 3 } } });
    sync.target.failure = null;
    expect(sync.target.written).toMatchObject({ generation: 2 });

    expect(await sync.preview()).toMatchObject({ would: 'publish' });
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 4 } });
    expect(sync.target.text).toBe(other.text);
    expect((await sync.history.summary()).databaseBehind).toBeNull();
  });

  it('fails as with one target where none can be reached', async () => {
    await sync.run();
    sync.target.failure = GONE;
    other.failure = GONE;
    sync.snapshot = writersToo().snapshot();

    expect(await sync.run()).toMatchObject({
      kind: 'failed',
      failure: { reason: 'unreachable' },
      outcomeElsewhere: null,
    });
    expect(versions()).toBe(1);
    expect(await states()).toEqual([
      ['fake', 'v1', 'unreachable'],
      ['other', 'v1', 'unreachable'],
    ]);

    [sync.target.failure, other.failure] = [null, null];
    expect(await sync.run()).toMatchObject({ kind: 'applied' });
    expect(other.text).toBe(sync.target.text);
  });

  it('gives a target that was added later the current version', async () => {
    const alone = new SyncUnderTest(readers().snapshot());
    await alone.run();
    const [first] = alone.history.rows;
    if (first !== undefined) sync.history.rows.push(first);
    sync.history.runs.push(...alone.history.runs);
    Object.assign(sync.target, { text: alone.target.text, written: alone.target.written });
    sync.clock.advance(1000);

    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 1 } });

    expect(other.text).toBe(sync.target.text);
    expect(versions()).toBe(1);
  });

  it('finds an edit by hand at any of them, and overwrites it by a new version for all', async () => {
    await sync.run();
    const before = sync.target.text;
    other.editByHand('{}');

    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 2 } });

    expect(other.text).toBe(before);
    expect(sync.target.written).toMatchObject({ generation: 2 });
    expect(sync.audited.map(({ event }) => event)).toContain('drift_found');
  });

  it('finds an edit at a target that was behind', async () => {
    await sync.run();
    other.failure = GONE;
    sync.snapshot = writersToo().snapshot();
    await sync.run();
    other.failure = null;
    other.editByHand('{}');

    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 3 } });
    expect(other.text).toBe(sync.target.text);
    expect(sync.audited.map(({ event }) => event)).toContain('drift_found');
  });

  it('does not wait for a target that is late, and gives it the version when it answers', async () => {
    await sync.run();
    sync.snapshot = writersToo().snapshot();
    const read = other.read.bind(other);
    let answer = (): void => undefined;
    other.read = async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return read();
    };

    const run = sync.run();
    await sync.timers.untilWaiting();
    sync.timers.advance(1_000);
    await sync.target.untilWritten(2);
    expect(other.written).toMatchObject({ generation: 1 });
    other.read = read;
    answer();

    expect(await run).toMatchObject({ kind: 'applied', publication: { version: 2 } });
    expect(other.text).toBe(sync.target.text);
  });

  it('gives the version to a target whose every answer is late', async () => {
    await sync.run();
    sync.snapshot = writersToo().snapshot();
    const read = other.read.bind(other);
    const answers: (() => void)[] = [];
    let asked = (): void => undefined;
    other.read = async () => {
      await new Promise<void>((resolve) => {
        answers.push(resolve);
        asked();
      });
      return read();
    };

    const run = sync.run();
    await sync.timers.untilWaiting();
    sync.timers.advance(1_000);
    await sync.target.untilWritten(2);
    const isAskedAgain = new Promise<void>((resolve) => (asked = resolve));
    answers.shift()?.();
    await isAskedAgain;
    sync.timers.advance(1_000);
    await nextTurn();
    answers.shift()?.();

    expect(await run).toMatchObject({ kind: 'applied', publication: { version: 2 } });
    expect(other.text).toBe(sync.target.text);
  });

  it('publishes to the others while one keeps changing', async () => {
    await sync.run();
    sync.snapshot = writersToo().snapshot();
    let edits = 0;
    other.beforePublish = () => other.editByHand(`edit ${++edits}`);

    expect(await sync.run()).toMatchObject({
      kind: 'failed',
      failure: { reason: 'moved' },
      outcomeElsewhere: { kind: 'applied' },
    });
    expect(sync.target.text).toBe((await sync.history.latest())?.text);
  });

  it('refuses rules that one of them cannot hold', async () => {
    await sync.run();
    other.limitBytes = 1_000;
    sync.snapshot = writersToo().snapshot();

    expect(await sync.run()).toMatchObject({ kind: 'refused', reasons: [{ code: 'too-large' }] });
  });

  it('tells a refusal before a failed target, because it waits for a person', async () => {
    await sync.run();
    other.failure = GONE;
    sync.snapshot = writersToo().snapshot();
    sync.preparer.tamper = (candidate: Candidate) => ({
      ...candidate,
      findings: [{ code: 'not-proved', severity: 'error', message: 'it gives more than the grants' }],
    });

    expect(await sync.run()).toMatchObject({ kind: 'refused' });
    expect(await states()).toEqual([
      ['fake', 'v1', null],
      ['other', 'v1', 'unreachable'],
    ]);
  });
});
