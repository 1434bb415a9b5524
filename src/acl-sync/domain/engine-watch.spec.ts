import type { RulesInForce } from '../../query-engine/domain/engine-error.js';
import {
  type EngineWatch,
  failsOnVersion,
  isSettled,
  LIVE_WITHIN_MS,
  openCatalogFindings,
  nextWatch,
} from './engine-watch.js';

describe('what probes say of the published version', () => {
  const published = { version: 1, liveAt: null, publishedAt: new Date(0), edit: null };
  const afterAnswers = (...answers: RulesInForce[]) =>
    answers.reduce<EngineWatch | null>(
      (before, answer) => nextWatch(before, published, undefined, answer, new Date(0)),
      null,
    );

  it.each<[RulesInForce[], boolean]>([
    [[], false],
    [['others'], false],
    [['these'], true],
    [['these', 'unreachable'], true],
    [['these', 'broken'], false],
    [['these', 'broken', 'these'], true],
  ])('after %j it is settled: %j', (answers, expected) => {
    expect(isSettled(afterAnswers(...answers))).toBe(expected);
  });

  it('are believed for internal errors only when they come three times in a row', () => {
    expect(afterAnswers('these', 'broken', 'broken')).toMatchObject({ state: 'live' });
    expect(afterAnswers('these', 'broken', 'broken', 'broken')).toMatchObject({ state: 'broken' });
    expect(afterAnswers('broken', 'broken', 'these', 'broken')).toMatchObject({ state: 'live' });
  });

  it('make it overdue only after the time in which the engine must have read it', () => {
    expect(nextWatch(null, published, undefined, 'others', new Date(LIVE_WITHIN_MS)).state).toBe('pending');
    expect(nextWatch(null, published, undefined, 'others', new Date(LIVE_WITHIN_MS + 1)).state).toBe('overdue');
  });

  it.each<[string, RulesInForce, { former: number; edit: { textHash: string } | null }, boolean]>([
    ['is the culprit where the engine used the one before', 'these', { former: 1, edit: null }, true],
    ['is none where the engine used others', 'others', { former: 1, edit: null }, false],
    ['is none where another one was published in between', 'these', { former: 2, edit: null }, false],
    [
      'is none where it overwrote an edit, which the engine may be reading',
      'these',
      { former: 1, edit: { textHash: 'x' } },
      false,
    ],
  ])('a new version on which the engine fails at once %s', (_, answer, { former, edit }, expected) => {
    const next = { ...published, version: 3, edit };
    const watch = ['broken', 'broken', 'broken'].reduce<EngineWatch>(
      (before) => nextWatch(before, next, { version: former }, 'broken', new Date(0)),
      nextWatch(null, published, undefined, answer, new Date(0)),
    );
    expect(failsOnVersion(watch, next, new Date(0))).toBe(expected);
  });
});

describe('catalogs that lead around restrictions', () => {
  const catalogs = [
    { catalog: 'stream', connector: 'kafka' },
    { catalog: 'lake', connector: 'hive' },
    { catalog: 'ice', connector: 'iceberg' },
  ];

  it('are those of the connectors that the settings do not list, with the lines that close them', () => {
    const [lake, stream, ...more] = openCatalogFindings(catalogs, { externalTableCatalogs: [], rawColumnCatalogs: [] });

    expect(lake).toMatchObject({ code: 'catalog-open', severity: 'warning' });
    expect(lake?.message).toMatch(/^catalog lake \(hive\): .* ACL_EXTERNAL_TABLE_CATALOGS$/);
    expect(lake?.witness?.split('\n')).toEqual([
      'hive.non-managed-table-creates-enabled=false',
      'hive.non-managed-table-writes-enabled=false',
    ]);
    expect(stream?.message).toMatch(/^catalog stream \(kafka\): .* ACL_RAW_COLUMN_CATALOGS$/);
    expect(more).toEqual([]);
  });

  it('are none where they are listed', () => {
    expect(openCatalogFindings(catalogs, { externalTableCatalogs: ['lake'], rawColumnCatalogs: ['stream'] })).toEqual(
      [],
    );
  });
});
