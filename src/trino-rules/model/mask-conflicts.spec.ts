import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { MaskConflicts } from './mask-conflicts.js';
import type { SnapshotPolicy } from './snapshot.js';

const TABLE = 'sales.eu.people';
const ana = { type: 'user', id: 1 } as const;
const bo = { type: 'user', id: 2 } as const;

/** Policies 1 and 2 mask one column for two teams that share bo; policy 1 also masks it for ana. */
function masks() {
  return aSnapshot()
    .group('one', ['ana', 'bo'])
    .seesMasked(TABLE, 'ssn', "'1'")
    .group('two', ['bo', 'cy'])
    .seesMasked(TABLE, 'ssn', "'2'");
}

/** The conflict of policy `id`, or of the last one. */
function conflictOf({ policies, ...rest }: ReturnType<ReturnType<typeof masks>['snapshot']>, id = policies.length) {
  return new MaskConflicts({ policies, ...rest }).conflictOf(id);
}

describe('masks that contradict each other', () => {
  it('are those of one column with another expression, for a principal of both', () => {
    expect(conflictOf(masks().snapshot(), 1)).toEqual({ otherPolicyId: 2, principal: 'bo' });
    expect(conflictOf(masks().snapshot(), 2)).toEqual({ otherPolicyId: 1, principal: 'bo' });
  });

  it('are of one node and column, and say something else', () => {
    const third = () => masks().user('ana');
    expect(conflictOf(third().seesMasked(TABLE, 'name', "'3'").snapshot())).toBeNull();
    expect(conflictOf(third().seesMasked('sales.eu', 'ssn', "'3'").snapshot())).toBeNull();
    expect(conflictOf(third().seesMasked(TABLE, 'ssn', "'1'").snapshot())).toBeNull();
    expect(conflictOf(third().doesNotSee(TABLE, 'ssn').snapshot())).toBeNull();
    expect(conflictOf(third().seesMasked(TABLE, 'ssn', "'3'").snapshot())).toEqual({
      otherPolicyId: 1,
      principal: 'ana',
    });
  });

  it('are none between teams without a common principal, nor for one that either excepts', () => {
    const apart = (...except: (typeof bo)[]) =>
      masks()
        .everyone()
        .seesMasked('hr.a.b', 'c', "'1'")
        .group('three', ['bo', 'dee'])
        .seesMasked('hr.a.b', 'c', "'2'", ...except);
    expect(conflictOf(apart().snapshot())).toEqual({ otherPolicyId: 3, principal: 'bo' });
    expect(conflictOf(apart(bo).snapshot())).toEqual({ otherPolicyId: 3, principal: 'dee' });
    expect(conflictOf(masks().user('dee').seesMasked(TABLE, 'ssn', "'3'").snapshot())).toBeNull();
    expect(conflictOf(masks().everyone().seesMasked(TABLE, 'ssn', "'1'", bo).snapshot())).toEqual({
      otherPolicyId: 2,
      principal: 'cy',
    });
  });

  it('are found for an engine principal that is granted nothing yet, and for no service account', () => {
    const both = (name: string) =>
      aSnapshot().everyone().seesMasked(TABLE, 'ssn', "'1'").engine(name).seesMasked(TABLE, 'ssn', "'2'").snapshot();
    expect(conflictOf(both('etl'))).toEqual({ otherPolicyId: 1, principal: 'etl' });
    expect(conflictOf(both('service-account-grantline'))).toBeNull();
  });

  it('may stay as they were where the former policy had them for the same principals, and grow for nobody', () => {
    const conflicts = new MaskConflicts(masks().snapshot());
    const former = masks().snapshot().policies[0];
    const of = (change: Partial<Extract<SnapshotPolicy, { kind: 'column_mask' }>>) =>
      conflicts.conflictOf(1, former?.kind === 'column_mask' ? { ...former, ...change } : null);
    expect(of({})).toBeNull();
    expect(of({ principal: ana })).toEqual({ otherPolicyId: 2, principal: 'bo' });
    expect(of({ except: [bo] })).toEqual({ otherPolicyId: 2, principal: 'bo' });
    expect(of({ expression: "'0'" })).toEqual({ otherPolicyId: 2, principal: 'bo' });
    expect(of({ resource: { catalog: 'sales', column: 'ssn' } })).toEqual({ otherPolicyId: 2, principal: 'bo' });
  });
});
