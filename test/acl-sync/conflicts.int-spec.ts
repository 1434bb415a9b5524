import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
const writersToo = () => readers().group('writers', ['bo']).may('INSERT', 'sales.eu.orders');

describe('a run beside another writer of the target', () => {
  let sync: SyncUnderTest;
  beforeEach(() => {
    sync = new SyncUnderTest(readers().snapshot());
  });

  const events = () => sync.audited.map(({ event }) => event);

  it('starts again when the target changed meanwhile, and keeps the other text as the backup', async () => {
    await sync.run();
    sync.snapshot = writersToo().snapshot();
    let concurrentEdits = 9;
    sync.target.beforePublish = () => {
      if (concurrentEdits-- > 0) sync.target.editByHand(`edit ${concurrentEdits}`);
    };

    expect(await sync.run()).toMatchObject({ kind: 'applied' });

    expect(sync.target.former).toBe('edit 0');
    expect(events()).toContain('drift_found');
    expect(sync.history.rows.filter(({ state }) => state === 'published')).toHaveLength(2);
  });

  it('writes the same publication again while another writer leaves the rules alone', async () => {
    let otherWrites = 9;
    sync.target.beforePublish = () => {
      if (otherWrites-- > 0) sync.target.editByHand(sync.target.text); // a label, an annotation, another key
    };

    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 1 } });
    expect(sync.history.rows).toHaveLength(1);

    sync.snapshot = writersToo().snapshot();
    otherWrites = 10;
    expect(await sync.run()).toMatchObject({ kind: 'failed', failure: { reason: 'moved' } });
    expect(otherWrites).toBe(0);
  });

  it('gives up after ten tries', async () => {
    let concurrentEdits = 0;
    sync.target.beforePublish = () => sync.target.editByHand(`edit ${++concurrentEdits}`);

    expect(await sync.run()).toMatchObject({ kind: 'failed', failure: { reason: 'moved' } });
    expect(concurrentEdits).toBe(10);
  });

  it('has published where only the answer was lost', async () => {
    sync.target.beforePublish = () => {
      sync.target.beforePublish = () => undefined;
      sync.target.editByHand(sync.history.rows.at(-1)?.text ?? '');
    };

    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 1 } });
    expect(events()).toEqual(['publication_applied']);
    expect(sync.history.rows).toHaveLength(1);
  });
});
