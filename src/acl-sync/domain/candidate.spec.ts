import { aWorld, NOW } from '../../../test/support/a-world.js';
import { prepare } from './candidate.js';

const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

describe('a candidate for publication', () => {
  it('is counted in rules and bytes', () => {
    const { text, rules, bytes } = prepare(aWorld().person('björn').may('SELECT', 'sales').snapshot(), null);
    expect(rules).toBe(text.split('\n').filter((line) => line.startsWith('{"')).length);
    expect(bytes).toBe(Buffer.from(text).length);
    expect(bytes).toBeGreaterThan(text.length);
  });

  it('has the same digest whenever the same is written down', () => {
    const snapshot = aWorld().person('ana').may('SELECT', 'sales').snapshot();
    const digest = prepare(snapshot, null).snapshotHash;
    expect(prepare({ ...snapshot, at: later(60) }, null).snapshotHash).toBe(digest);
    expect(prepare(aWorld().person('ana').may('INSERT', 'sales').snapshot(), null).snapshotHash).not.toBe(digest);
  });

  it('knows when the first grant ends by itself', () => {
    const world = aWorld().person('ana').may('SELECT', 'a');
    expect(prepare(world.snapshot(), null).nextExpiry).toBeNull();
    world.may('SELECT', 'b', { expiresAt: later(-1) });
    expect(prepare(world.snapshot(), null).nextExpiry).toBeNull();
    world.may('SELECT', 'c', { expiresAt: later(90) }).may('SELECT', 'd', { expiresAt: later(60) });
    expect(prepare(world.snapshot(), null).nextExpiry).toEqual(later(60));
  });

  it('says what to do when no target of that size can hold it', () => {
    const snapshot = aWorld().person('ana').may('SELECT', 'sales').snapshot();
    const { bytes } = prepare(snapshot, null);
    expect(prepare(snapshot, bytes).findings).toEqual([]);
    expect(prepare(snapshot, bytes - 1).findings).toEqual([
      {
        code: 'too-large',
        severity: 'error',
        message: expect.stringMatching(
          /^the rules take [\d,]+ bytes; the target holds [\d,]+\. Give fewer grants to single people .*ACL_TARGET=file/,
        ) as string,
      },
    ]);
  });
});
