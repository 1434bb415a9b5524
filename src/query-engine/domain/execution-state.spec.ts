import {
  changesOfPage,
  type ExecutionState,
  judgePage,
  newExecution,
  nextAction,
  publicState,
} from './execution-state.js';
import { JsonScanner } from './json-scanner.js';
import { PageRows } from './page-rows.js';
import { EngineFault } from './engine-error.js';
import type { StatementPage } from './statement-page.js';

const rowsOf = (json: string): PageRows => PageRows.scan(new JsonScanner(Buffer.from(json)));
const page: StatementPage = {
  queryId: 'q',
  nextPath: '/v1/statement/executing/q/y/1',
  columns: null,
  rows: PageRows.NONE,
  engineState: 'RUNNING',
  progressPercent: null,
  error: null,
  updateCount: null,
};
const error = { name: 'SYNTAX_ERROR', kind: 'USER_ERROR', message: 'no', line: 1, column: 2 } as const;
const finished = (updateCount: bigint | null): unknown => ({ state: 'finished', truncated: false, updateCount });

describe('judgePage', () => {
  it.each<[string, Partial<StatementPage>, unknown]>([
    ['no rows, more to come', {}, { kind: 'fetch-next' }],
    ['rows', { rows: rowsOf('[[1]]') }, { kind: 'hold' }],
    ['the last rows', { rows: rowsOf('[[1]]'), nextPath: null }, { kind: 'hold' }],
    ['the row of a writer', { rows: rowsOf('[[5]]'), updateCount: 5n }, { kind: 'fetch-next' }],
    ['the end of a reader', { nextPath: null }, { kind: 'end', ending: finished(null) }],
    ['the end of a writer', { nextPath: null, updateCount: 5n }, { kind: 'end', ending: finished(5n) }],
    ['an error, whatever else', { error, rows: rowsOf('[[1]]') }, { kind: 'end', ending: { state: 'failed' } }],
  ])('%s', (_, given, verdict) => {
    expect(judgePage({ ...page, ...given })).toMatchObject(verdict as object);
  });
});

describe('changesOfPage', () => {
  const now = new Date('2026-11-20T12:00:00Z');
  const columns = [
    { name: 'n', type: 'bigint', signature: { rawType: 'bigint' }, parsedType: { kind: 'bigint' } },
  ] as const;
  const query = { id: '', userId: 1, runAs: 'ana', sql: '', catalog: null, schema: null, traceToken: '' };
  const before: ExecutionState = {
    ...newExecution({ ...query, createdAt: now, deadlineAt: now }),
    ...{ waitingPagePath: '/old', waitingPageStart: 3, newestPageStart: 3, rowsReturned: 7, waitingSince: now },
  };
  const after = (given: Partial<StatementPage>, state = before): unknown => {
    const read = { ...page, ...given };
    return changesOfPage(judgePage(read), read, '/this', state, now);
  };

  it('rows wait where they were found, behind those that were handed out', () => {
    expect(after({ rows: rowsOf('[[1]]'), columns })).toEqual({
      ...{ columns, state: 'running', startedAt: now, progressPercent: null, engineQueryId: 'q' },
      nextPath: page.nextPath,
      waitingPagePath: '/this',
      waitingPageStart: 7,
      waitingSince: now,
    });
  });

  it('a page without rows leaves nothing pending; known columns stay known', () => {
    expect(after({}, { ...before, columns })).toMatchObject({
      columns,
      waitingPagePath: null,
      waitingSince: null,
    });
  });

  it('the end leaves the paths: where it could not be stored, its page is asked for again', () => {
    expect(after({ nextPath: null, columns })).not.toHaveProperty('nextPath');
  });

  it('rows without columns are no answer of an engine', () => {
    expect(() => after({ rows: rowsOf('[[1]]') })).toThrow(EngineFault);
  });
});

describe('publicState', () => {
  it.each([
    ['QUEUED', 'queued'],
    ['WAITING_FOR_RESOURCES', 'queued'],
    ['PLANNING', 'running'],
    ['FINISHED', 'running'],
    ['A_WORD_OF_A_LATER_VERSION', 'running'],
  ])('%s is %s while it lives', (engineState, state) => {
    expect(publicState(engineState)).toBe(state);
  });
});

const START = new Date('2026-11-20T12:00:00Z');
const later = (seconds: number): Date => new Date(START.getTime() + seconds * 1000);
const unread = {
  deadlineAt: later(3600),
  waitingSince: START,
  waitingPageStart: 10,
  rowsReturned: 10,
  isReaderWaiting: false,
  beingReadAt: new Date(0),
};
const read = { ...unread, rowsReturned: 20 };

describe('nextAction', () => {
  it.each([
    ['nothing waits', { ...unread, waitingSince: null }, 1, 'resume'],
    ['rows wait', unread, 299.999, 'wait'],
    ['rows wait for too long', unread, 300, 'abandon'],
    ['rows wait, while the ones before are still received', { ...unread, beingReadAt: later(1) }, 300, 'wait'],
    ['rows wait for too long after the ones before', { ...unread, beingReadAt: later(1) }, 301, 'abandon'],
    ['rows were handed out just now', read, 4.999, 'wait'],
    ['rows were handed out a while ago', read, 5, 'fetch-next'],
    ['a reader waits for the rows that wait', { ...unread, isReaderWaiting: true }, 300, 'wait'],
    ['a reader waits for the rows after those', { ...read, isReaderWaiting: true }, 5, 'wait'],
    ['the time is over while a reader waits', { ...unread, isReaderWaiting: true }, 3600, 'expire'],
    ['the time is over', { ...unread, waitingSince: null }, 3600, 'expire'],
    ['the time is over while rows wait', { ...read, waitingSince: later(3599) }, 3600, 'expire'],
  ])('%s', (_, state, seconds, action) => {
    expect(nextAction(state, later(seconds))).toBe(action);
  });
});
