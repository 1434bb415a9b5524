import { JsonScanner } from './json-scanner.js';
import { PageRows } from './page-rows.js';
import { isRepeated, judgePage, stateAfter, publicState } from './page-verdict.js';
import type { ExecutionState } from './query-store.js';
import { EngineFault } from './statement-client.js';
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
  updateType: null,
  updateCount: null,
};
const error = { name: 'SYNTAX_ERROR', kind: 'USER_ERROR', message: 'no', line: 1, column: 2 } as const;
const finished = (updateCount: bigint | null): unknown => ({ state: 'finished', truncated: false, updateCount });

describe('judgePage', () => {
  it.each<[string, Partial<StatementPage>, unknown]>([
    ['no rows, more to come', {}, { kind: 'ask-again' }],
    ['rows', { rows: rowsOf('[[1]]') }, { kind: 'hold' }],
    ['the last rows', { rows: rowsOf('[[1]]'), nextPath: null }, { kind: 'hold' }],
    ['the row of a writer', { rows: rowsOf('[[5]]'), updateType: 'INSERT', updateCount: 5n }, { kind: 'ask-again' }],
    ['the end of a reader', { nextPath: null }, { kind: 'end', ending: finished(null) }],
    [
      'the end of a writer',
      { nextPath: null, updateType: 'INSERT', updateCount: 5n },
      { kind: 'end', ending: finished(5n) },
    ],
    ['an error, whatever else', { error, rows: rowsOf('[[1]]') }, { kind: 'end', ending: { state: 'failed' } }],
  ])('%s', (_, given, verdict) => {
    expect(judgePage({ ...page, ...given })).toMatchObject(verdict as object);
  });
});

describe('isRepeated', () => {
  const last = { path: '/1', nextPath: '/2', rows: 1, size: 4 };
  it.each<[string, string, string | null, string, boolean]>([
    ['the next page', '/2', '/3', '[[1]]', false],
    ['the last page', '/2', null, '[[1]]', false],
    ['the same path once more', '/1', '/2', '[[1]]', true],
    ['an older answer at the next path', '/2', '/2', '[[7]]', true],
    ['other rows at a path that leads to itself', '/2', '/2', '[[1],[2]]', false],
    ['no rows', '/2', '/2', '[]', false],
  ])('%s', (_, path, nextPath, rows, repeated) => {
    expect(isRepeated({ ...page, nextPath, rows: rowsOf(rows) }, path, last)).toBe(repeated);
    expect(isRepeated({ ...page, nextPath, rows: rowsOf(rows) }, path, null)).toBe(false);
  });
});

describe('stateAfter', () => {
  const now = new Date('2026-11-20T12:00:00Z');
  const columns = [{ name: 'n', type: 'bigint', signature: { rawType: 'bigint' }, shape: { kind: 'bigint' } }] as const;
  const before: ExecutionState = {
    id: '',
    userId: 1,
    runAs: 'ana',
    catalog: null,
    schema: null,
    traceToken: '',
    deadlineAt: now,
    columns: null,
    nextPath: null,
    pagePath: '/old',
    pageStart: 3,
    newestFrom: 3,
    rowsReturned: 7,
    waitingSince: now,
  };
  const after = (given: Partial<StatementPage>, state = before): unknown => {
    const read = { ...page, ...given };
    return stateAfter(judgePage(read), read, '/this', state, now);
  };

  it('rows wait where they were found, behind those that were handed out', () => {
    expect(after({ rows: rowsOf('[[1]]'), columns })).toEqual({
      columns,
      nextPath: page.nextPath,
      pagePath: '/this',
      pageStart: 7,
      waitingSince: now,
    });
  });

  it('a page without rows leaves nothing pending; known columns stay known', () => {
    expect(after({}, { ...before, columns })).toMatchObject({
      columns,
      pagePath: null,
      pageStart: 3,
      waitingSince: null,
    });
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
