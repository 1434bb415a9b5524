import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

describe('a text that the engine cannot use', () => {
  const one = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
  const two = () => one().group('writers', ['bo']).may('INSERT', 'sales.eu.orders');

  let sync: SyncUnderTest;
  let worked: string | null;
  beforeEach(async () => {
    sync = new SyncUnderTest(one().snapshot());
    await sync.run();
    worked = sync.target.text;
    await sync.history.markLive(1, sync.clock.now());
    sync.snapshot = two().snapshot();
    await sync.run();
    await sync.history.markBroken(2, sync.clock.now());
  });

  it('gives way to the last one that worked', async () => {
    expect(await sync.preview()).toMatchObject({ would: 'refused', awaits: null });
    expect(await sync.run({ trigger: 'rollback' })).toMatchObject({
      kind: 'refused',
      reasons: [{ code: 'rules-broken' }],
      awaits: null,
      publication: { version: 3, trigger: 'rollback', isWithdrawal: true },
    });
    expect(sync.target.text).toBe(worked);
  });

  it('is not published again until something that it follows from changes', async () => {
    await sync.run();
    expect(await sync.run()).toMatchObject({ kind: 'refused', publication: null });
    expect(sync.target.text).toBe(worked);

    sync.snapshot = two().may('SELECT', 'sales.us.orders').snapshot();
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 4, isWithdrawal: false } });
    expect(sync.target.text).toContain('us');
  });

  it('stays where nothing before it is known to work', async () => {
    const fresh = new SyncUnderTest(one().snapshot());
    await fresh.run();
    await fresh.history.markBroken(1, fresh.clock.now());
    expect(await fresh.run()).toMatchObject({
      kind: 'refused',
      reasons: [{ code: 'rules-broken' }],
      publication: null,
    });
    expect(fresh.target.published).toHaveLength(1);
  });

  it('is published again once the engine was seen to use it', async () => {
    await sync.history.markLive(2, sync.clock.now());
    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 2 } });
  });
});
