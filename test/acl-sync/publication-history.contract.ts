import {
  positionOfCursor,
  type PublicationDraft,
  type PublicationHistory,
} from '../../src/acl-sync/domain/publication-history.js';
import { at } from '../support/snapshots/a-version.js';

export interface HistoryUnderTest {
  history: PublicationHistory;
  close(): Promise<void>;
}

export function draft(text: string): PublicationDraft {
  return {
    text,
    hash: `hash of ${text}`,
    rules: 3,
    bytes: text.length,
    diff: { added: [`tables {"user":"${text}"}`], removed: [] },
    checks: [{ code: 'a-remark', severity: 'info', message: 'a message', rule: 'tables[0]' }],
    trigger: 'schedule',
    triggeredBy: null,
    snapshot: '{}',
    snapshotHash: 'digest',
    snapshotAt: at(0),
    position: '7:700',
    compiler: 'a build',
    changedAt: at(0),
    access: null,
    isWithdrawal: false,
    restored: null,
    begunAt: at(0),
    isWritten: true,
    isFound: false,
    firstStepOf: null,
    highestNamed: 0,
    edit: null,
  };
}

/** What every history must do; PostgreSQL's and the fake run it alike. */
export function describePublicationHistory(name: string, open: () => Promise<HistoryUnderTest>): void {
  describe(`the history of publications in ${name}`, () => {
    let under: HistoryUnderTest;
    let history: PublicationHistory;
    beforeEach(async () => {
      under = await open();
      history = under.history;
    });
    afterEach(() => under.close());

    const versions = async () => (await history.list({ limit: 200, after: null })).items.map(({ version }) => version);
    const published = async (text: string, minute: number) =>
      history.confirm(await history.beginVersion(draft(text)), at(minute));

    it('begins empty', async () => {
      expect(await history.latest()).toBeNull();
      expect(await versions()).toEqual([]);
      expect(await history.summary()).toEqual({
        lastRun: null,
        lastSuccessAt: null,
        refusedSince: null,
        failedSince: null,
        live: null,
        databaseBehind: null,
      });
    });

    it('shows a publication once it has happened, as it was begun', async () => {
      const version = await history.beginVersion(draft('first'));
      expect(await history.find(version)).toBeNull();
      expect(await history.latest()).toBeNull();
      expect([await history.hashOf(version), await history.hashOf(version + 1)]).toEqual(['hash of first', null]);

      await history.confirm(version, at(1));

      const { snapshot, position, begunAt, isWritten, highestNamed: after, ...shown } = draft('first');
      expect(await history.latest()).toEqual({ ...shown, version, publishedAt: at(1), liveAt: null, brokenAt: null });
      expect(await history.find(version)).toEqual(await history.latest());
    });

    it('remembers what a version changed', async () => {
      const lost = [{ what: 'SELECT from a.b.c', people: ['ana'], others: 2 }];
      const access = {
        gained: [],
        lost,
        gainedInAll: 0,
        lostInAll: 1,
        peopleGaining: 0,
        peopleLosing: 2,
        changedPairs: 3,
        allPairs: 9,
      };
      const { version } = await history.confirm(await history.beginVersion({ ...draft('x'), access }), at(3));
      expect(await history.find(version)).toMatchObject({ access });
    });

    it('counts upwards and lists the newest first, without texts', async () => {
      const numbers: number[] = [];
      for (const text of ['a', 'b', 'c']) numbers.unshift((await published(text, 1)).version);

      expect(await versions()).toEqual(numbers);
      const { items, next } = await history.list({ limit: 2, after: null });
      expect(items).toHaveLength(2);
      expect(items[0]).not.toHaveProperty('text');
      expect(next).not.toBeNull();
      expect((await history.list({ limit: 2, after: positionOfCursor(next ?? '') })).items).toMatchObject([
        { hash: 'hash of a' },
      ]);
    });

    it('learns from the live text how a run ended that died in between', async () => {
      await published('before', 1);
      await history.beginVersion(draft('tried first'));
      const happened = await history.beginVersion(draft('written'));
      const abandoned = await history.beginVersion(draft('tried last'));

      await history.settleBegun([{ text: 'written' }], at(5));

      expect(await history.latest()).toMatchObject({ version: happened, text: 'written', publishedAt: at(5) });
      expect(await history.find(abandoned)).toBeNull();
    });

    it('publishes an abandoned version whose write arrives late, until another one is published', async () => {
      await published('before', 1);
      const first = await history.beginVersion(draft('first'));
      const second = await history.beginVersion(draft('second'));
      await history.settleBegun([{ text: 'before' }], at(2));
      expect(await history.find(second)).toBeNull();

      await history.settleBegun([{ text: 'second' }], at(3));
      expect(await history.latest()).toMatchObject({ version: second, publishedAt: at(3) });
      await history.settleBegun([{ text: 'first' }], at(4));
      expect(await history.find(first)).toBeNull();
    });

    it('gives out each published version once to be reported, with the restore that it follows', async () => {
      const { version } = await published('before', 1);
      const restored = { version, until: at(59), reason: 'a test' };
      const edit = { textHash: 'digest of an edit' };
      const again = await history.beginVersion({ ...draft('again'), restored, edit });
      await history.beginVersion(draft('never written'));
      await history.settleBegun([{ text: 'again' }], at(3));
      const last = await history.confirm(await history.beginVersion({ ...draft('again'), isWritten: false }), at(4));

      expect(await history.find(again)).toMatchObject({ edit });
      expect(await history.takeUnreported()).toEqual([
        { publication: await history.find(version), isWritten: true, formerRestore: null },
        { publication: await history.find(again), isWritten: true, formerRestore: null },
        {
          publication: last,
          isWritten: false,
          formerRestore: { ...restored, ended: null, publication: again },
        },
      ]);
      expect(await history.takeUnreported()).toEqual([]);
    });

    it('publishes nothing where the live text belongs to no publication', async () => {
      const { version } = await published('before', 1);
      await history.beginVersion(draft('tried'));
      await history.settleBegun([{ text: null }], at(2));
      expect(await versions()).toEqual([version]);
    });

    it('remembers which version the engine was first seen to use, and when', async () => {
      const first = await published('first', 1);
      await published('second', 2);
      await history.markLive(first.version, at(3));
      await history.markLive(first.version, at(4));

      expect((await history.find(first.version))?.liveAt).toEqual(at(3));
      expect((await history.summary()).live).toMatchObject({ version: 1, hash: first.hash, confirmedAt: at(3) });
    });

    it('publishes a version that the target says it has held, whatever an edit by hand put in its place', async () => {
      await published('first', 1);
      const version = await history.beginVersion(draft('second'));
      const { hash } = draft('second');
      await history.settleBegun([{ text: 'by hand' }], at(2));
      await history.settleBegun(
        [{ text: 'by hand', namedVersion: { generation: version, hash: 'of another database' } }],
        at(2),
      );
      expect(await history.latest()).toMatchObject({ text: 'first' });
      await history.settleBegun([{ text: 'by hand', namedVersion: { generation: version, hash } }], at(3));
      expect(await history.latest()).toMatchObject({ version, text: 'second', publishedAt: at(3) });
    });

    it('gives the snapshot behind the newest version: of a restored one the older one, none while a found one is in force', async () => {
      const made = async (given: Partial<PublicationDraft>) =>
        (await history.confirm(await history.beginVersion({ ...draft('any'), ...given }), at(1))).version;
      expect(await history.newestAccess()).toBeNull();
      const first = await made({ snapshot: '{"version":1}', snapshotHash: 'one' });
      await history.beginVersion({ ...draft('only begun'), snapshotHash: 'never' });
      expect(await history.newestAccess()).toEqual({ version: first, snapshotHash: 'one' });

      const until = { until: at(59), reason: 'a test' };
      const again = await made({ snapshotHash: 'of now', restored: { version: first, ...until } });
      const twice = await made({ snapshotHash: 'of now', restored: { version: again, ...until } });
      expect(await history.newestAccess()).toEqual({ version: twice, snapshotHash: 'one' });
      expect(await history.accessSnapshot(twice)).toBe('{"version":1}');
      const contradicted = (version: number, snapshotHash: string) => history.isContradicted({ version, snapshotHash });
      expect([await contradicted(twice, 'one'), await contradicted(twice, 'of now')]).toEqual([false, true]);
      expect(await contradicted(twice + 1, 'one')).toBe(false);

      const found = await made({ isFound: true });
      expect(await history.newestAccess()).toBeNull();
      expect(await contradicted(twice, 'of now')).toBe(false);
      await made({ isWithdrawal: true });
      expect(await history.newestAccess()).toBeNull();
      expect(await history.accessSnapshot(found)).toBeNull();
      const approved = await made({ snapshotHash: 'approved' });
      expect(await history.newestAccess()).toEqual({ version: approved, snapshotHash: 'approved' });
      expect(await history.accessSnapshot(approved + 1)).toBeNull();
    });

    it('removes what is past, and nothing that is in force, restored, broken or needed to measure from', async () => {
      const first = await published('restored later', 1);
      await published('past', 2);
      const broken = await published('broken', 3);
      await history.markBroken(broken.version, at(3));
      const used = await published('in force when the days began', 4);
      await history.markLive(used.version, at(4));
      const restored = { version: first.version, until: at(59), reason: 'a test' };
      await history.confirm(await history.beginVersion({ ...draft('restored later'), restored }), at(6));
      await published('last', 7);
      const before = await versions();
      expect(await history.removePast(at(5), 1)).toBe(0); // nothing of it is reported yet
      await history.takeUnreported();

      expect(await history.removePast(at(5), 6)).toBe(0);
      expect(await history.removePast(at(1), 1)).toBe(0);
      expect(await history.removePast(at(5), 1)).toBe(1);
      expect(await versions()).toEqual(before.filter((version) => version !== first.version + 1));
      expect(await history.removePast(at(5), 1)).toBe(0);
    });
  });
}
