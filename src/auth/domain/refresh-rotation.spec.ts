import fc from 'fast-check';
import { judgeRotation, PARENT_GRACE_MS, type RefreshRow, type RotationVerdict } from './refresh-rotation.js';

const NOW = 1_000_000;

const parent = (row: Partial<RefreshRow> = {}): RefreshRow => ({
  id: 'parent',
  parentId: null,
  issuedAt: 0,
  expiresAt: NOW + 1,
  usedAt: NOW,
  ...row,
});
const child = (row: Partial<RefreshRow> = {}): RefreshRow => ({
  id: 'child',
  parentId: 'parent',
  issuedAt: NOW,
  expiresAt: NOW + 1,
  usedAt: null,
  ...row,
});

describe('a refresh token', () => {
  it.each<[string, RefreshRow, RefreshRow | null, RotationVerdict]>([
    ['the live one', child(), child(), 'live'],
    ['the live one, at its last moment', child({ expiresAt: NOW }), child(), 'expired'],
    ['a used one, past its time', parent({ expiresAt: NOW }), child(), 'expired'],
    ['the direct parent, at once', parent(), child(), 'superseded'],
    ['the direct parent, in time', parent({ usedAt: NOW - PARENT_GRACE_MS + 1 }), child(), 'superseded'],
    ['the direct parent, too late', parent({ usedAt: NOW - PARENT_GRACE_MS }), child(), 'reuse'],
    ['a grandparent, at once', parent({ id: 'grandparent' }), child(), 'reuse'],
    ['a used one of a session without a live one', parent(), null, 'reuse'],
  ])('%s', (_, presented, current, verdict) => {
    expect(judgeRotation(presented, current, NOW, 0)).toBe(verdict);
  });

  it.each<[string, RefreshRow, number, RotationVerdict]>([
    ['the direct parent, in time', parent({ usedAt: NOW - 29_999 }), 30_000, 'repeat'],
    ['the direct parent, too late', parent({ usedAt: NOW - 30_000 }), 30_000, 'reuse'],
    ['the direct parent, after a short time to repeat', parent({ usedAt: NOW - 5_000 }), 5_000, 'superseded'],
    ['a grandparent', parent({ id: 'grandparent' }), 30_000, 'reuse'],
  ])('is repeated within the time of the setting: %s', (_, presented, repeatMs, verdict) => {
    expect(judgeRotation(presented, child(), NOW, repeatMs)).toBe(verdict);
  });

  it('is exchanged once in any history: whatever is presented when, each token rotates at most once', () => {
    const step = fc.record({ pick: fc.nat(), wait: fc.integer({ min: 0, max: 15_000 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const family: RefreshRow[] = [{ id: '0', parentId: null, issuedAt: 0, expiresAt: Infinity, usedAt: null }];
        let now = 0;
        let ended = false;
        for (const { pick, wait } of steps) {
          now += wait;
          const presented = family[pick % family.length];
          const live = family.filter(({ usedAt }) => usedAt === null);
          expect(live).toHaveLength(1);
          if (presented === undefined || ended) continue;
          const wasUsed = presented.usedAt !== null;
          const verdict = judgeRotation(presented, live[0] ?? null, now, 0);
          expect(verdict === 'live').toBe(!wasUsed);
          ended = verdict === 'reuse';
          if (verdict !== 'live') continue;
          presented.usedAt = now;
          family.push({
            id: String(family.length),
            parentId: presented.id,
            issuedAt: now,
            expiresAt: Infinity,
            usedAt: null,
          });
        }
      }),
    );
  });
});
