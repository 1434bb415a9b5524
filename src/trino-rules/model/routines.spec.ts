import { aSnapshot, at } from '../../../test/support/snapshots/snapshot-builder.js';
import { AccessIndex } from '../answers/access-index.js';
import { effectiveAccess } from '../answers/effective-access.js';
import { explain } from '../answers/explanation.js';
import { holders } from '../answers/holders.js';
import { smallestChange } from '../answers/smallest-change.js';
import { compile } from '../compile/compile.js';
import { checkRules } from '../verify/check.js';
import { decide } from './decision.js';
import type { FunctionPrivilege } from '../document/rules-document.js';
import { hasAnyAccess } from './intent.js';
import { catalogMode } from './rights.js';
import type { Snapshot } from './snapshot.js';

const ana = { type: 'user', id: 1 } as const;
const asking = (path: string, kind: 'function' | 'procedure' = 'function', privilege: FunctionPrivilege = 'EXECUTE') =>
  ({ about: 'routine', kind, resource: at(path), privilege }) as const;
const runs = (snapshot: Snapshot, ...asked: Parameters<typeof asking>): boolean =>
  decide(snapshot, ana, asking(...asked)).allowed;

describe('running functions and procedures', () => {
  const story = () => aSnapshot().user('ana').may('EXECUTE_FUNCTION', 'sales.eu');

  it('is given on a catalog, a schema or one routine, and reaches down', () => {
    const snapshot = story().may('CALL_PROCEDURE', 'sales.us.load()').snapshot();
    expect([runs(snapshot, 'sales.eu.any()'), runs(snapshot, 'sales.us.any()')]).toEqual([true, false]);
    expect(runs(snapshot, 'sales.us.load()', 'procedure')).toBe(true);
    expect(runs(snapshot, 'sales.us.load()')).toBe(false);
  });

  it('is neither passed on by that nor owned by anybody', () => {
    const privileges = ['EXECUTE', 'GRANT_EXECUTE', 'OWNERSHIP'] as const;
    const held = privileges.map((privilege) => runs(story().snapshot(), 'sales.eu.any()', 'function', privilege));
    expect(held).toEqual([true, false, false]);
  });

  it('is passed on by a right of its own, which contains it and is denied alone or with it', () => {
    const passing = aSnapshot().user('ana').may('GRANT_EXECUTE_FUNCTION', 'sales');
    const both = (snapshot: Snapshot, path: string) =>
      (['EXECUTE', 'GRANT_EXECUTE'] as const).map((privilege) => runs(snapshot, path, 'function', privilege));
    const denied = passing
      .mayNot('sales.eu', 'GRANT_EXECUTE_FUNCTION')
      .mayNot('sales.us', 'EXECUTE_FUNCTION')
      .snapshot();
    expect(both(denied, 'sales.hr.any()')).toEqual([true, true]);
    expect(both(denied, 'sales.eu.any()')).toEqual([true, false]);
    expect(both(denied, 'sales.us.any()')).toEqual([false, false]);
    const { document, text } = compile(denied);
    expect(document.functions).toEqual([
      { user: 'ana', catalog: 'sales', schema: 'eu', privileges: ['EXECUTE'] },
      { catalog: 'sales', schema: 'us', privileges: [] },
      { user: 'ana', catalog: 'sales', privileges: ['GRANT_EXECUTE'] },
    ]);
    expect(checkRules(text, denied)).toEqual([]);
    expect(both(passing.seesOnly('sales.hr.t', 'true').snapshot(), 'sales.hr.any()')).toEqual([false, false]);
  });

  it('is not of service accounts, and of nobody in the metadata catalog and in system', () => {
    const snapshot = story().may('EXECUTE_FUNCTION', 'grantline').may('EXECUTE_FUNCTION', 'system').snapshot();
    expect([runs(snapshot, 'grantline.a.b()'), runs(snapshot, 'system.a.b()')]).toEqual([false, false]);
    const account = { type: 'engine', name: 'service-account-grantline' } as const;
    expect(decide(snapshot, account, asking('lake.a.b()')).allowed).toBe(false);
  });

  it('counts as reaching something, and lets into the catalog for reading', () => {
    const [with_, without] = [story().snapshot(), story().seesOnly('sales.hr.t', 'true').snapshot()];
    expect([hasAnyAccess(with_, ana), catalogMode(with_, ana, 'sales')]).toEqual([true, 'read-only']);
    expect([hasAnyAccess(without, ana), catalogMode(without, ana, 'sales')]).toEqual([false, 'none']);
  });

  it('yields to a restriction of data in the same catalog, and the explanation names it', () => {
    const snapshot = story().mayNot('sales.eu.other()').seesOnly('sales.hr.t', 'true').snapshot();
    const index = new AccessIndex(snapshot);
    const question = asking('sales.eu.sum_up()');
    expect(explain(index, ana, question)).toMatchObject({ allowed: false, grants: [{ id: 1 }], policies: [{ id: 2 }] });
    expect(smallestChange(index, ana, question)).toEqual([{ kind: 'except', policy: 2, principal: ana }]);
    expect(effectiveAccess(index, ana)).toEqual([]);
    expect(holders(index, question)).toEqual([]);
  });

  it('is explained by each deny once, be it one of routines and of data, and by what restricts data beside it', () => {
    const why = (snapshot: Snapshot) =>
      explain(new AccessIndex(snapshot), ana, asking('sales.eu.sum_up()')).policies.map(({ id }) => id);
    expect(why(story().mayNot('sales').snapshot())).toEqual([1]);
    expect(why(story().mayNot('sales').seesOnly('sales.hr.t', 'true').snapshot())).toEqual([1, 2]);
  });

  it('is not taken by a deny of routines elsewhere; that takes just what it names', () => {
    const snapshot = story().mayNot('sales.eu.other()').mayNot('sales.us', 'EXECUTE_FUNCTION').snapshot();
    expect([runs(snapshot, 'sales.eu.sum_up()'), runs(snapshot, 'sales.eu.other()')]).toEqual([true, false]);
    const index = new AccessIndex(snapshot);
    expect(explain(index, ana, asking('sales.eu.other()')).policies.map(({ id }) => id)).toEqual([1]);
    expect(effectiveAccess(index, ana).map(({ resource, access }) => [resource, access.privileges])).toEqual([
      [at('sales.eu'), ['EXECUTE_FUNCTION']],
      [at('sales.eu.other()'), []],
    ]);
  });

  it('invents no restriction of rows', () => {
    const snapshot = story().may('SELECT', 'hr').seesOnly('hr', 'true').snapshot();
    expect(effectiveAccess(new AccessIndex(snapshot), ana).map(({ access }) => access.filters)).toEqual([['true'], []]);
  });
});
