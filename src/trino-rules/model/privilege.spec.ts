import { aSnapshot, at } from '../../../test/support/snapshots/snapshot-builder.js';
import { privilegesProblem } from './resource.js';
import { compile } from '../compile/compile.js';
import { Evaluator } from '../engine/evaluator.js';
import { checkRules } from '../verify/check.js';
import { decide } from './decision.js';
import { kindOf, type NamedNode, type Node, nodeText } from './node.js';
import {
  isDataPrivilege,
  isRoutinePrivilege,
  PRIVILEGE_TERMS,
  PRIVILEGES,
  type Privilege,
  privilegesOn,
  privilegesTakenBy,
  privilegesGivenBy,
} from './privilege.js';

const inTree = (path: string): NamedNode => {
  const { as: _as, queries: _queries, ...node } = at(path);
  return node;
};
const BO = { type: 'user', id: 1, name: 'bo' } as const;

/** Everything and one of each kind, from the widest down. */
const NODES: NamedNode[] = [
  ...['', 'sales', 'sales.eu', 'sales.eu.orders', 'sales.eu.query()'].map(inTree),
  { engine: true },
  { queries: BO },
  { as: BO },
];
const everyOne = NODES.flatMap((node) =>
  privilegesOn(node).map((privilege) => ({ privilege, path: nodeText(node), node })),
);
const EXECUTE = { about: 'queries', right: 'execute' } as const;
const ana = { type: 'user', id: 2 } as const;
const bi = { type: 'engine', name: 'bi' } as const;

/** One that can hold the privilege, and its name. */
const holderOf = (privilege: Privilege) =>
  PRIVILEGE_TERMS[privilege].holderTypes.includes('user') ? ([ana, 'ana'] as const) : ([bi, bi.name] as const);
const granting = (privilege: Privilege) =>
  holderOf(privilege)[0] === bi ? aSnapshot().user('bo').engine(bi.name) : aSnapshot().user('bo').user('ana');

// Decision, compiler and proof each have their own list of privileges: this test fails if one of them lacks a privilege.
describe('every privilege, on every level', () => {
  it.each(everyOne)('$privilege on $path, granted alone, is what it asks about', ({ privilege, node }) => {
    const [holder, name] = holderOf(privilege);
    const snapshot = granting(privilege).may(privilege, node).snapshot();
    const question = PRIVILEGE_TERMS[privilege].questionAt(node);
    const { document, text } = compile(snapshot);

    expect(decide(snapshot, holder, question)).toMatchObject({ allowed: true, grants: [{ source: { id: 1 } }] });
    expect(new Evaluator(document).allows(name, question)).toBe(true);
    expect(new Evaluator(document).allows(name, EXECUTE)).toBe(decide(snapshot, holder, EXECUTE).allowed);
    expect(checkRules(text, snapshot)).toEqual([]);
  });

  it.each(everyOne)('$privilege on $path, denied, is lost with what it takes', ({ privilege, node }) => {
    const [holder, name] = holderOf(privilege);
    const snapshot = granting(privilege).may(privilegesOn(node).join(), node).mayNot(node, privilege).snapshot();
    // A deny of a right over data takes routines, too: restrictions win.
    const lost = new Set([
      ...privilegesTakenBy([privilege]),
      ...(isDataPrivilege(privilege) ? PRIVILEGES.filter(isRoutinePrivilege) : []),
    ]);
    const evaluator = new Evaluator(compile(snapshot).document);

    for (const other of privilegesOn(node)) {
      const question = PRIVILEGE_TERMS[other].questionAt(node);
      const isYielding = isDataPrivilege(privilege) && PRIVILEGE_TERMS[other].yieldsToRestrictions;
      const comesWithKilling = other === 'EXECUTE_QUERIES' && !lost.has('KILL_QUERIES');
      const isLeft = comesWithKilling || (!lost.has(other) && !isYielding);
      expect([decide(snapshot, holder, question).allowed, evaluator.allows(name, question)]).toEqual([isLeft, isLeft]);
    }
  });

  it.each(PRIVILEGES)('%s is on one of these nodes', (privilege) => {
    expect(everyOne.map((each) => each.privilege)).toContain(privilege);
  });

  it.each(PRIVILEGES)('%s is refused on a level that it is not for', (privilege) => {
    const levels: Node[] = [{ as: { type: 'everyone' } }, ...NODES];
    const refused = levels.filter((node) => privilegesProblem([privilege], node)?.includes(privilege));
    expect(refused.map(kindOf)).toEqual(
      levels.map(kindOf).filter((kind) => !PRIVILEGE_TERMS[privilege].nodeKinds.includes(kind)),
    );
    expect(refused).not.toEqual([]);
  });

  it.each(PRIVILEGES)('%s is lost with anything that it contains', (privilege) => {
    const contained = [...privilegesGivenBy([privilege])];
    expect(contained.filter((other) => !privilegesTakenBy([other]).has(privilege))).toEqual([]);
  });
});
