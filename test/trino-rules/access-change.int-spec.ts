import fc from 'fast-check';
import { runs } from '../support/landing.js';
import { anyFault } from '../support/rules/document-fault.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { type ChangedAccess, compareAccess } from '../../src/trino-rules/diff/access-change.js';

describe('the change of access', () => {
  it('names whatever an answer changes for', () => {
    fc.assert(
      fc.property(anySnapshot(), anyFault(), (snapshot, change) => {
        const previous = compile(snapshot).document;
        const next = change(previous);
        const { gained, lost } = compareAccess(previous, next, { maxFacts: Infinity, maxPeople: Infinity });
        const [had, has] = [new Evaluator(previous), new Evaluator(next)];
        for (const { resource } of snapshot.grants) {
          const { catalog, schema, table } = resource;
          if (catalog === undefined || schema === undefined || table === undefined || schema === 'information_schema')
            continue;
          for (const { name } of snapshot.users) {
            const where = { catalog, schema, table };
            const isListed = (changes: readonly ChangedAccess[], ...nodes: string[]): boolean =>
              changes.some(
                (each) => nodes.map((node) => `INSERT into ${node}`).includes(each.what) && each.people.includes(name),
              );
            const exactly = `${catalog}.${schema}.${table}`;
            const anyOther = [
              `${catalog}.${schema}`,
              `${catalog}.(any other schema)`,
              '(any other catalog).(any other schema)',
            ];
            const [did, does] = [had, has].map((each) => each.hasTablePrivilege(name, 'INSERT', where));
            const direction = did === does ? 'none' : does ? 'gained' : 'lost';
            if (direction === 'none')
              expect([isListed(gained, exactly), isListed(lost, exactly)]).toEqual([false, false]);
            else {
              const changes = direction === 'gained' ? gained : lost;
              const unnamed = anyOther.flatMap((other) => [`${other}.(any other table)`, `${other}.${table}`]);
              expect(isListed(changes, exactly, ...unnamed)).toBe(true);
            }
          }
        }
      }),
      { numRuns: runs(75) },
    );
  });
});
