import fc from 'fast-check';
import { isOpenSystemNode } from '../../src/trino-rules/model/resource.js';
import { runs } from '../support/landing.js';
import { nodes, users } from '../support/rules/asked.js';
import { anyDraft } from '../support/snapshots/any-draft.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { ENGINES } from '../support/snapshots/vocabulary.js';
import { coversMembers } from '../../src/trino-rules/model/named-others.js';
import { type Access, intentAt } from '../../src/trino-rules/model/intent.js';
import { type Node, isKillQuery, principalIn, nodeKey, parentOf } from '../../src/trino-rules/model/node.js';
import { isDataPrivilege, PRIVILEGES, PRIVILEGE_TERMS, privilegesOn } from '../../src/trino-rules/model/privilege.js';
import { type Principal, principalText } from '../../src/trino-rules/model/principal.js';
import { isServiceAccount, Principals } from '../../src/trino-rules/model/principals.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { accessDifferences } from '../../src/trino-rules/answers/access-difference.js';
import { type Draft, affectedNodes, withDraft } from '../../src/trino-rules/answers/draft.js';

const differences = (before: Snapshot, draft: Draft) =>
  [...accessDifferences(before, withDraft(before, draft), affectedNodes(before, draft))].flatMap(
    (outcome) => outcome?.differences ?? [],
  );

interface Facts {
  gained: string[];
  lost: string[];
}

/** Privileges and restrictions as facts, of which each is gained or lost by itself. */
const facts = (access: Omit<Access, 'conflictColumns'>) => ({
  given: access.privileges.flatMap((one) => (one === 'OWNERSHIP' ? ['SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP'] : [one])),
  restrictions: [
    ...access.filters.map((expression) => `filter ${expression}`),
    ...access.hiddenColumns.map((column) => `hidden ${column}`),
    ...access.masks.map(({ column, expression }) => `mask ${column} ${expression}`),
  ],
});
const only = (one: readonly string[], other: readonly string[]) => one.filter((fact) => !other.includes(fact));
const expected = (was: Access, is: Access): Facts => {
  const [before, after] = [facts(was), facts(is)];
  // Rows and columns are no matter to who owns schemas and runs routines alone.
  const both = [was, is].every(({ privileges }) =>
    privileges.some((one) => PRIVILEGE_TERMS[one].tablePrivilege !== null),
  );
  const hiddenSomewhere = [...was.hiddenColumns, ...is.hiddenColumns];
  const counted = (list: string[]) =>
    both ? list.filter((fact) => !hiddenSomewhere.some((column) => fact.startsWith(`mask ${column} `))) : [];
  return {
    gained: [...only(after.given, before.given), ...counted(only(before.restrictions, after.restrictions))],
    lost: [...only(before.given, after.given), ...counted(only(after.restrictions, before.restrictions))],
  };
};

/** Without what can only be held at a node above; a routine has no rows. In one order. */
const textAt = (node: Node, { gained, lost }: Facts): string => {
  const open = privilegesOn(node);
  const [all, mine]: (readonly string[])[] = [PRIVILEGES, open];
  const isHeld = (fact: string) => (all?.includes(fact) ? mine?.includes(fact) : open.some(isDataPrivilege));
  return JSON.stringify([gained, lost].map((facts) => facts.filter(isHeld).sort()));
};
const NOTHING = JSON.stringify([[], []]);

describe('what a draft changes', () => {
  it('is the difference of the two intents, at every node and for everybody', () => {
    const cases = anySnapshot().chain((before) =>
      anySnapshot().chain((other) => fc.tuple(fc.constant(before), anyDraft(before, other))),
    );
    fc.assert(
      fc.property(cases, ([before, draft]) => {
        const after = withDraft(before, draft);
        const listed = differences(before, draft).map(({ principal, resource, gained, lost }) => {
          const [given, taken] = [gained, lost].map((part) => (part === null ? [] : Object.values(facts(part)).flat()));
          return { principal, resource, gained: given ?? [], lost: taken ?? [] };
        });
        const engines = ENGINES.map((name): Principal => ({ type: 'engine', name })).filter(
          (engine) => !isServiceAccount(before, engine),
        );
        const everybody = [...users(before), ...engines];
        const grants = [...before.grants, ...draft.grants];
        const policies = [...before.policies, ...draft.policies];
        // What follows from other entries is said there: what all read in `system`, and the procedure that the right to kill brings.
        const ofOne = everybody.flatMap((one): Node[] => [{ as: one }, { queries: one }]);
        const asked = [...nodes({ ...before, grants, policies }), ...ofOne].filter(
          (node) => !isOpenSystemNode(node) && !isKillQuery(node),
        );
        const [formerly, then] = [new Principals(before), new Principals(after)];
        const at = (principal: Principal, node: Node) =>
          expected(intentAt(before, principal, node, formerly), intentAt(after, principal, node, then));

        const wrong = everybody.flatMap((principal) => {
          const own = listed.filter((each) => principalText(each.principal) === principalText(principal));
          const said = new Map(own.map((each) => [nodeKey(each.resource), each]));
          return asked.flatMap((node) => {
            const change = at(principal, node);
            const here = said.get(nodeKey(node));
            if (here !== undefined)
              return textAt(node, here) === textAt(node, change) ? [] : [{ principal, node, change, here }];
            // A companion that no entry of one's own names follows its base, or what is above.
            if (node.table?.includes('$') === true) return [];
            // Of a group that has its first member or loses its last one it is said of that member.
            const isOfGroup = ['group', 'everyone'].includes(principalIn(node)?.type ?? '');
            if (isOfGroup || textAt(node, change) === NOTHING) return [];
            // What is not said here changes likewise above, where it is said, or at the node above that.
            const parent = parentOf(node);
            const isAbove = parent !== null && textAt(node, at(principal, parent)) === textAt(node, change);
            const isInGroup = own.some(
              (each) =>
                principalIn(each.resource) !== undefined &&
                [formerly, then].some((principals) => coversMembers(principals, each.resource, node)) &&
                textAt(node, each) === textAt(node, change),
            );
            return isAbove || isInGroup ? [] : [{ principal, node, change }];
          });
        });
        expect(wrong).toEqual([]);
      }),
      { numRuns: Number(process.env['DRAFTS'] ?? runs(40)) },
    );
  });
});
