import { positionOfCursor, type PublicationHistory } from '../../src/acl-sync/domain/publication-history.js';
import type { Run } from '../../src/acl-sync/domain/publication.js';
import type { Finding } from '../../src/trino-rules/document/finding.js';
import { at } from '../support/snapshots/a-version.js';
import { draft, type HistoryUnderTest } from './publication-history.contract.js';

function run(minute: number, outcome: Run['outcome'], overrides: Partial<Run> = {}): Run {
  return {
    at: at(minute),
    trigger: 'schedule',
    triggeredBy: null,
    outcome,
    reasons: [],
    drift: null,
    waiting: null,
    isRestore: false,
    targets: [],
    ...overrides,
  };
}

/** What every history must know of runs; PostgreSQL's and the fake run it alike. */
export function describeRunHistory(name: string, open: () => Promise<HistoryUnderTest>): void {
  describe(`the history of runs in ${name}`, () => {
    let under: HistoryUnderTest;
    let history: PublicationHistory;
    beforeEach(async () => {
      under = await open();
      history = under.history;
    });
    afterEach(() => under.close());

    it('remembers what a run has left waiting', async () => {
      const reasons: Finding[] = [{ code: 'unexplained-change', severity: 'error', message: 'a message' }];
      const waiting = { hash: 'of a text', since: at(1), reasons };
      await history.record(run(2, 'refused', { waiting }));
      expect((await history.summary()).lastRun).toEqual(run(2, 'refused', { waiting }));
    });

    it('knows that a refused restore leaves the rules as they were', async () => {
      await history.record(run(1, 'applied'));
      await history.record(run(2, 'refused', { trigger: 'restore', isRestore: true }));
      expect(await history.summary()).toMatchObject({ lastRun: { outcome: 'refused' }, refusedSince: null });
      await history.record(run(3, 'refused'));
      await history.record(run(4, 'refused', { trigger: 'restore', isRestore: true }));
      expect(await history.summary()).toMatchObject({ lastSuccessAt: at(1), refusedSince: at(3) });
    });

    it('knows that an applied restore makes no refused change possible', async () => {
      await history.record(run(1, 'refused'));
      await history.record(run(2, 'applied', { trigger: 'restore', isRestore: true }));
      expect(await history.summary()).toMatchObject({ lastSuccessAt: at(2), refusedSince: at(1) });
      await history.record(run(3, 'no_change'));
      expect(await history.summary()).toMatchObject({ refusedSince: null });
    });

    it('knows how the last run went, and since when all were refused', async () => {
      const reasons = [{ code: 'proof-difference', severity: 'error', message: 'bo may too much' }] as const;
      const drift = { foundAt: at(2), textHash: null, overwritten: false };
      await history.record(run(1, 'applied'));
      await history.record(run(2, 'refused', { reasons: [...reasons], drift }));
      await history.record(run(3, 'failed'));
      await history.record(run(4, 'refused', { reasons: [...reasons], drift }));

      expect(await history.summary()).toEqual({
        lastRun: run(4, 'refused', { reasons: [...reasons], drift }),
        lastSuccessAt: at(1),
        refusedSince: at(2),
        failedSince: null,
        live: null,
        databaseBehind: null,
      });
      await history.record(run(5, 'no_change'));
      expect(await history.summary()).toMatchObject({ lastSuccessAt: at(5), refusedSince: null });
    });

    it('lists refused and failed runs among the versions, equal ones in a row once', async () => {
      const reasons: Finding[] = [{ code: 'proof-difference', severity: 'error', message: 'bo may too much' }];
      const published = async (text: string) => history.confirm(await history.beginVersion(draft(text)), at(9));
      await history.record(run(1, 'failed'));
      const { version: first } = await published('first');
      await history.record(run(2, 'applied'));
      for (const minute of [3, 4]) await history.record(run(minute, 'refused', { reasons }));
      await history.record(run(5, 'no_change'));
      await history.record(run(6, 'refused'));
      const { version: second } = await published('second');

      const listed: unknown[] = [];
      for (let after: string | null = ''; after !== null;) {
        const { items, next } = await history.listWithRuns({ limit: 2, after: positionOfCursor(after) });
        listed.push(...items.map((each) => ('version' in each ? each.version : [each.outcome, each.at, each.reasons])));
        after = next;
      }
      expect(listed).toEqual([
        second,
        ['refused', at(6), []],
        ['refused', at(3), reasons],
        first,
        ['failed', at(1), []],
      ]);
      const below = await history.listWithRuns({ limit: 9, after: { version: second, run: 0 } });
      expect(below.items).toHaveLength(4);
    });

    it('knows since when all runs failed', async () => {
      await history.record(run(1, 'failed'));
      expect(await history.summary()).toMatchObject({ failedSince: at(1) });
      await history.record(run(2, 'refused'));
      expect(await history.summary()).toMatchObject({ failedSince: null });
      await history.record(run(3, 'failed'));
      await history.record(run(4, 'failed', { trigger: 'restore', isRestore: true }));
      expect(await history.summary()).toMatchObject({ refusedSince: at(2), failedSince: at(3) });
    });
  });
}
