import { isSameRestore, restoreInEffect, type RecordedRestore, restoreChanges, type RestoreEnd } from './restore.js';

const at = (hour: number) => new Date(Date.UTC(2026, 10, 20, hour));
const restore = { version: 1, until: at(14), reason: 'the new one is slow' };
const kept = (given: Partial<RecordedRestore> = {}): RecordedRestore => ({ ...restore, ended: null, ...given });

describe('a restore', () => {
  it('lasts until its time, or its end', () => {
    expect(restoreInEffect({ restored: kept() }, at(13))).toMatchObject(restore);
    expect(restoreInEffect({ restored: kept() }, at(14))).toBeNull();
    expect(restoreInEffect({ restored: kept({ ended: 'hand' }) }, at(13))).toBeNull();
    expect(restoreInEffect(null, at(13))).toBeNull();
  });

  it('is the same only with its version, its time and its reason, while it lasts', () => {
    expect(isSameRestore({ restored: kept() }, restore)).toBe(true);
    for (const other of [{ version: 2 }, { until: at(15) }, { reason: 'another' }, { ended: 'time' as const }])
      expect(isSameRestore({ restored: kept(other) }, restore)).toBe(false);
    expect(isSameRestore({ restored: null }, null)).toBe(true);
    expect(isSameRestore({ restored: null }, restore)).toBe(false);
  });

  it.each<[string, RecordedRestore | null, number, RestoreEnd]>([
    ['when its time is over', null, 14, 'time'],
    ['when the grants deny what it gives', null, 13, 'contradicted'],
    ['when another takes its place', kept({ version: 2 }), 13, 'replaced'],
  ])('ends %s', (_, restored, hour, how) => {
    const former = { ...kept(), publication: 7 };
    const { begun, ended } = restoreChanges(former, { version: 8, restored, publishedAt: at(hour) });
    expect(ended).toEqual({ version: 1, publication: 7, how });
    expect(begun).toEqual(restored && { ...restored, publication: 8 });
  });

  it('neither ends nor begins where a version publishes it again, or where it has ended before', () => {
    const next = { version: 8, publishedAt: at(13) };
    const former = { ...kept(), publication: 7 };
    expect(restoreChanges(former, { ...next, restored: kept() })).toEqual({ begun: null, ended: null });
    expect(restoreChanges({ ...former, ended: 'hand' }, { ...next, restored: null })).toEqual({
      begun: null,
      ended: null,
    });
  });
});
