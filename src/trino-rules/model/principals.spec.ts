import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { AccessIndex } from '../answers/access-index.js';
import { holders } from '../answers/holders.js';
import { compile } from '../compile/compile.js';
import { isError } from '../document/finding.js';
import { Evaluator } from '../engine/evaluator.js';
import { checkRules } from '../verify/check.js';
import { decide } from './decision.js';
import type { PolicyPrincipal, Principal } from './principal.js';
import { Principals } from './principals.js';

const EVERYONE: PolicyPrincipal = { type: 'everyone' };
const engine = (name: string): Principal => ({ type: 'engine', name });
const user = (id: number): Principal => ({ type: 'user', id });
const names = (snapshot: ReturnType<typeof grantedToEveryone>, named: PolicyPrincipal) =>
  [...new Principals(snapshot).members(named).values()].map(({ name }) => name);

/** ana is active and bo is not; etl holds a live grant, old_etl an expired one, and policies name rep. */
function grantedToEveryone() {
  const minuteAgo = new Date(NOW.getTime() - 60_000);
  return aSnapshot()
    .user('ana')
    .deactivated('bo')
    .group('readers', ['ana', 'bo'])
    .engine('etl')
    .may('SELECT', 'hr')
    .engine('old_etl')
    .may('SELECT', 'hr', { expiresAt: minuteAgo })
    .engine('rep')
    .seesOnly('sales', 'true')
    .everyone()
    .mayNot('sales.vault', 'SELECT', engine('rep'), engine('spared'))
    .may('SELECT', 'sales')
    .snapshot();
}

describe('everyone', () => {
  const snapshot = grantedToEveryone();
  const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
  const reading = { about: 'privilege', privilege: 'SELECT', resource: orders } as const;
  const others = ['old_etl', 'rep', 'spared', 'nobody_knows', 'bo'];

  it('is every active account and every engine principal with a live grant', () => {
    expect(names(snapshot, EVERYONE)).toEqual(['ana', 'etl']);
  });

  it('is the same to the decision, to the list of holders, to the compiler and to the proof', () => {
    const { text, document } = compile(snapshot);
    const evaluator = new Evaluator(document);
    const asked = (name: string, principal: Principal) => ({
      decided: decide(snapshot, principal, reading).allowed,
      compiled: evaluator.hasTablePrivilege(name, 'SELECT', orders),
    });

    expect(asked('ana', user(1))).toEqual({ decided: true, compiled: true });
    expect(asked('etl', engine('etl'))).toEqual({ decided: true, compiled: true });
    for (const name of others)
      expect(asked(name, name === 'bo' ? user(2) : engine(name))).toEqual({ decided: false, compiled: false });
    const listed = holders(new AccessIndex(snapshot), reading);
    expect(listed.map(({ principal }) => principal.name)).toEqual(['ana', 'etl']);
    expect(checkRules(text, snapshot).filter(isError)).toEqual([]);
  });

  it('reaches a group as it would a member, and no group that does not exist', () => {
    expect(decide(snapshot, { type: 'group', id: 1 }, reading).allowed).toBe(true);
    expect(decide(snapshot, { type: 'group', id: 99 }, reading).allowed).toBe(false);
  });

  it('is no service account, whatever a grant names', () => {
    const settings = { ...snapshot.settings, serviceAccounts: ['etl'] };
    expect(names({ ...snapshot, settings }, EVERYONE)).toEqual(['ana']);
    expect(names({ ...snapshot, settings }, engine('etl'))).toEqual([]);
  });

  it('is proved, whatever is granted to it', () => {
    fc.assert(
      fc.property(anySnapshot(), (granted) => {
        const { text, findings } = compile(granted);
        fc.pre(!findings.some(isError));
        expect(checkRules(text, granted).filter(isError)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});

describe('a policy', () => {
  it('applies to the members of its principal that no exception names', () => {
    const [deny] = aSnapshot()
      .group('readers', ['ana', 'bo'])
      .user('cy')
      .everyone()
      .mayNot('sales', 'SELECT', { type: 'group', id: 1 })
      .snapshot().policies;
    const snapshot = aSnapshot().group('readers', ['ana', 'bo']).user('cy').snapshot();
    if (deny === undefined) throw new Error('the builder makes a policy');
    const principals = new Principals(snapshot);

    expect([...principals.membersOf(deny).keys()]).toEqual(['user:3']);
    expect(principals.policyAppliesThrough(deny, user(3))).toBe('everyone');
    expect(principals.policyAppliesThrough(deny, user(1))).toBeNull();
    expect(principals.policyAppliesThrough(deny, { type: 'group', id: 1 })).toBeNull();
  });

  it('knows an engine principal by an open grant in each part, whatever closed ones it holds before', () => {
    const snapshot = aSnapshot()
      .engine('etl')
      .may('SELECT', 'grantline')
      .may('SELECT', 'hr')
      .everyone()
      .may('SELECT', 'sales')
      .snapshot();
    const index = new AccessIndex(snapshot);

    const who = holders(index, { about: 'privilege', resource: { catalog: 'sales' }, privilege: 'SELECT' });

    expect(who.map(({ principal }) => principal.name)).toEqual(['etl']);
  });
});
