import type { PublicationHistory } from '../../src/acl-sync/domain/publication-history.js';
import { at } from '../support/snapshots/a-version.js';
import { draft, type HistoryUnderTest } from './publication-history.contract.js';

/** From which version every history measures what follows; PostgreSQL's and the fake run it alike. */
export function describeBaseline(name: string, open: () => Promise<HistoryUnderTest>): void {
  describe(`the baseline in ${name}`, () => {
    let under: HistoryUnderTest;
    let history: PublicationHistory;
    beforeEach(async () => {
      under = await open();
      history = under.history;
    });
    afterEach(() => under.close());

    const published = async (text: string, minute: number) =>
      history.confirm(await history.beginVersion(draft(text)), at(minute));

    it('measures from the newest version that was published whole', async () => {
      expect(await history.baseline()).toBeNull();
      await published('whole', 1);
      const less = await history.beginVersion({ ...draft('less'), isWithdrawal: true });
      await history.confirm(less, at(2));
      await history.beginVersion(draft('never happened'));

      expect(await history.latest()).toMatchObject({ text: 'less', isWithdrawal: true });
      const { text, hash, snapshot, snapshotAt, position, compiler } = draft('whole');
      expect(await history.baseline()).toEqual({
        text,
        hash,
        snapshot,
        at: snapshotAt,
        position,
        compiler,
        approved: [],
        isFound: false,
      });
    });

    it('measures from a later snapshot that gives the same version, which itself stays as it is', async () => {
      const { version } = await published('whole', 1);
      const before = await history.latest();
      for (const digits of ['8', '9']) {
        const later = { snapshot: `{"${digits}":1}`, at: at(Number(digits)), position: `${digits}:900`, compiler: 'b' };
        await history.addLaterSnapshot(version, { ...later, snapshotHash: digits });
        expect(await history.baseline()).toMatchObject({ text: 'whole', ...later });
      }
      expect(await history.latest()).toEqual(before);
      expect(await history.accessSnapshot(version)).toBe('{}');
    });

    it('measures from no first step', async () => {
      await published('whole', 1);
      const step = await history.beginVersion({ ...draft('masks first'), firstStepOf: 'hash of next' });
      expect(await history.confirm(step, at(2))).toMatchObject({ firstStepOf: 'hash of next' });
      expect(await history.baseline()).toMatchObject({ text: 'whole' });
    });

    it('has the texts since a time, from the one that was published then', async () => {
      for (const minute of [1, 2, 3]) await published(`text ${minute}`, minute);
      const since = async (minute: number) => (await history.publishedSince(at(minute))).map(({ text }) => text);
      expect(await since(0)).toEqual(['text 1', 'text 2', 'text 3']);
      expect(await since(2)).toEqual(['text 2', 'text 3']);
      expect(await since(9)).toEqual(['text 3']);
      expect((await history.publishedSince(at(3)))[0]).toMatchObject({ publishedAt: at(3), liveAt: null });
    });

    it('measures from no version that was put back', async () => {
      const { version } = await published('whole', 1);
      const restored = { version, until: at(59), reason: 'the new one is slow' };
      const again = await history.confirm(await history.beginVersion({ ...draft('whole again'), restored }), at(2));
      expect(again).toMatchObject({ text: 'whole again', restored: { ...restored, ended: null } });
      expect(await history.baseline()).toMatchObject({ text: 'whole' });

      await history.endRestore(again.version, 'hand');
      await history.endRestore(again.version, 'time');
      expect(await history.latest()).toMatchObject({ restored: { ...restored, ended: 'hand' } });
    });

    it('measures from no version that broke the engine, but from one before it that worked', async () => {
      const worked = await published('worked', 1);
      await history.markLive(worked.version, at(2));
      await published('never seen', 3);
      const broken = await published('broken', 4);
      await history.markBroken(broken.version, at(5));
      await history.markBroken(broken.version, at(6));

      expect(await history.isBroken('hash of broken')).toBe(true);
      expect(await history.isBroken('hash of worked')).toBe(false);
      expect(await history.latest()).toMatchObject({ text: 'broken', brokenAt: at(5) });
      expect(await history.baseline()).toMatchObject({ text: 'worked' });
      await published('next', 7);
      expect(await history.baseline()).toMatchObject({ text: 'next' });
    });

    it('takes a text for broken only while the engine was never seen to use it', async () => {
      const first = await published('text', 1);
      await history.markBroken(first.version, at(2));
      await history.markLive(first.version, at(3));
      expect(await history.isBroken('hash of text')).toBe(false);
      const again = await published('text', 4);
      await history.markBroken(again.version, at(5));
      expect(await history.isBroken('hash of text')).toBe(false);
    });

    it('goes on above a version that the target names, and measures from one that was found there', async () => {
      await published('first', 1);
      const found = await history.beginVersion({ ...draft('found'), isFound: true, highestNamed: 8 });
      await history.confirm(found, at(2));
      expect(found).toBe(9);
      expect(await history.highestVersion()).toBe(9);
      expect(await history.baseline()).toMatchObject({ text: 'found', isFound: true });
      expect(await history.summary()).toMatchObject({
        databaseBehind: { version: 9, hash: 'hash of found', foundAt: at(2) },
      });
      const less = await history.beginVersion({ ...draft('less'), isWithdrawal: true, highestNamed: 9 });
      await history.confirm(less, at(3));
      await history.markBroken(less, at(4));
      expect(await history.baseline()).toMatchObject({ text: 'found' });

      const { version } = await published('approved', 5);
      expect(version).toBe(11);
      expect(await history.summary()).toMatchObject({ databaseBehind: null });
    });

    it('keeps approvals for what follows that version, and for nothing later', async () => {
      await history.approve('before there is a version', null, at(0));
      await published('whole', 1);
      await history.approve('one', null, at(2));
      await history.approve('one', null, at(3));
      await history.approve('two', null, at(3));
      expect((await history.baseline())?.approved.toSorted()).toEqual(['one', 'two']);

      await published('next', 4);
      expect((await history.baseline())?.approved).toEqual([]);
    });
  });
}
