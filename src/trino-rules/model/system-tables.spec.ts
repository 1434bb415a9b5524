import { aSnapshot, at } from '../../../test/support/snapshots/snapshot-builder.js';
import { privilegesProblem } from './resource.js';
import { accessDifferences } from '../answers/access-difference.js';
import { AccessIndex } from '../answers/access-index.js';
import { affectedNodes, withDraft } from '../answers/draft.js';
import { effectiveAccess } from '../answers/effective-access.js';
import { explain } from '../answers/explanation.js';
import { holders } from '../answers/holders.js';
import { smallestChange } from '../answers/smallest-change.js';
import { compile } from '../compile/compile.js';
import { Evaluator } from '../engine/evaluator.js';
import { checkRules } from '../verify/check.js';
import { decide } from './decision.js';
import { nodeText } from './node.js';
import type { Principal } from './principal.js';
import { privilegesOn } from './privilege.js';
import type { Snapshot } from './snapshot.js';

const ENGINE = { engine: true } as const;
const JDBC = 'system.jdbc.tables';
const QUERIES = 'system.runtime.queries';

/** Whether the user reads a table and executes statements, and the mode of `system`: by the grants, with a check that the rules agree. */
function access(snapshot: Snapshot, name: string, path: string) {
  const { document, text } = compile(snapshot);
  expect(checkRules(text, snapshot)).toEqual([]);
  const evaluator = new Evaluator(document);
  const id = snapshot.users.find((user) => user.name === name)?.id;
  const principal = id === undefined ? ({ type: 'engine', name } as const) : ({ type: 'user', id } as const);
  const allowed = (question: Parameters<typeof decide>[2]): boolean => {
    const { allowed } = decide(snapshot, principal, question);
    expect(evaluator.allows(name, question)).toBe(allowed);
    return allowed;
  };
  const entered = (['all', 'read-only'] as const).filter((mode) =>
    allowed({ about: 'catalog-mode', resource: { catalog: 'system' }, mode }),
  );
  return {
    reads: allowed({ about: 'privilege', privilege: 'SELECT', resource: at(path) }),
    executes: allowed({ about: 'queries', right: 'execute' }),
    mode: entered[0] ?? 'none',
  };
}

const reader = { reads: true, executes: true, mode: 'read-only' };

describe('SELECT in the catalog system', () => {
  it.each(['system', 'system.runtime', QUERIES])('on %s is held as any other, and lets its holders execute', (node) => {
    const snapshot = aSnapshot().user('ana').may('SELECT', node).user('bo').may('SELECT', 'sales').snapshot();
    expect(access(snapshot, 'ana', QUERIES)).toEqual(reader);
    expect(access(snapshot, 'ana', JDBC)).toEqual(reader);
    expect(access(snapshot, 'bo', QUERIES)).toEqual({ ...reader, reads: false });
    expect(access(snapshot, 'ana', 'sales.eu.orders')).toEqual({ ...reader, reads: false });
  });

  it('is touched by nothing that is said on everything', () => {
    const builder = aSnapshot().user('ana').may('SELECT, OWNERSHIP', '').user('bo').may('SELECT', 'system').mayNot('');
    const snapshot = builder.seesOnly('', 'x').doesNotSee('', 'query').snapshot();
    expect(access(snapshot, 'ana', QUERIES)).toEqual({ ...reader, reads: false });
    expect(access(snapshot, 'bo', QUERIES)).toEqual(reader);
    expect(
      decide(snapshot, { type: 'user', id: 2 }, { about: 'privilege', privilege: 'SELECT', resource: at(QUERIES) }),
    ).toMatchObject({ intent: { filters: [], hiddenColumns: [], policies: [] } });
  });

  it('is taken by denies, with what everybody reads there', () => {
    const builder = aSnapshot().user('ana').may('SELECT', 'sales').mayNot('system.jdbc');
    const snapshot = builder.user('bo').may('SELECT', 'sales').mayNot('system').snapshot();
    expect(access(snapshot, 'ana', JDBC)).toEqual({ ...reader, reads: false });
    expect(access(snapshot, 'ana', 'system.metadata.catalogs')).toEqual(reader);
    expect(access(snapshot, 'bo', JDBC)).toEqual({ reads: false, executes: true, mode: 'none' });
    expect(access(snapshot, 'bo', 'sales.eu.orders').reads).toBe(true);
    expect(
      decide(snapshot, { type: 'user', id: 2 }, { about: 'privilege', privilege: 'SELECT', resource: at(JDBC) }),
    ).toMatchObject({ denies: [{ source: { id: 2 } }], intent: { ungrantedSource: 'reaches-something' } });
  });

  it('is nothing where a deny leaves nothing of it', () => {
    const snapshot = aSnapshot().user('ana').may('SELECT', 'system.jdbc').mayNot('system').snapshot();
    expect(access(snapshot, 'ana', JDBC)).toEqual({ reads: false, executes: false, mode: 'none' });
  });

  it('is not needed by those who kill, whatever is denied there', () => {
    const snapshot = aSnapshot().user('ana').may('KILL_QUERIES', ENGINE).mayNot('system').snapshot();
    expect(access(snapshot, 'ana', JDBC)).toEqual({ ...reader, reads: false });
  });

  it('makes an engine principal one of everyone', () => {
    const snapshot = aSnapshot().engine('bot').may('SELECT', 'system.runtime').everyone().may('SELECT', 'sales');
    expect(access(snapshot.snapshot(), 'bot', 'sales.eu.orders')).toEqual(reader);
  });

  it('is all that can be given there', () => {
    expect(privilegesOn(at('system.runtime'))).toEqual(['SELECT']);
    expect(privilegesProblem(['SELECT', 'INSERT'], { catalog: 'system' })).toBe(
      'in the catalog system must be among SELECT, not INSERT',
    );
  });

  it('is a finding where everyone reads the runtime of all', () => {
    const findings = (node: string) => compile(aSnapshot().everyone().may('SELECT', node).snapshot()).findings;
    expect(findings('system.jdbc')).toEqual([]);
    for (const node of ['system', 'system.runtime'])
      expect(findings(node)).toMatchObject([{ code: 'runtime-open-to-everyone', severity: 'warning' }]);
  });

  it('is answered for: what somebody has, who has it, why, and what would change it', () => {
    const builder = aSnapshot().user('ana').may('SELECT', 'system.runtime').user('bo').may('SELECT', 'sales');
    const index = new AccessIndex(builder.mayNot('system').snapshot());
    const [ana, bo]: [Principal, Principal] = [
      { type: 'user', id: 1 },
      { type: 'user', id: 2 },
    ];
    const reading = (path: string) => ({ about: 'privilege', privilege: 'SELECT', resource: at(path) }) as const;
    const has = (principal: Principal) =>
      effectiveAccess(index, principal).map(({ resource, access }) => [nodeText(resource), access.privileges]);
    const who = (path: string) => holders(index, reading(path)).map(({ principal }) => principal.name);

    expect(has(ana)).toEqual([['system.runtime', ['SELECT']]]);
    expect(has(bo)).toEqual([
      ['sales', ['SELECT']],
      ['system.jdbc', []],
      ['system.metadata', []],
    ]);
    expect([who(QUERIES), who(JDBC)]).toEqual([['ana'], ['ana', 'service-account-grantline']]);
    expect(explain(index, bo, reading(JDBC))).toMatchObject({ allowed: false, grants: [], policies: [{ id: 1 }] });
    const step = (kind: 'deny' | 'grant', principal: Principal, path: string) => ({
      ...{ kind, principal, privileges: ['SELECT'] },
      resource: at(path),
    });
    expect(smallestChange(index, bo, reading(JDBC))).toEqual([{ kind: 'except', policy: 1, principal: bo }]);
    expect(smallestChange(index, bo, reading(QUERIES))).toEqual([
      step('grant', bo, QUERIES),
      { kind: 'except', policy: 1, principal: bo },
    ]);
    for (const path of [QUERIES, JDBC])
      expect(smallestChange(index, ana, reading(path))).toEqual([step('deny', ana, path)]);
    expect(smallestChange(index, ana, { ...reading(QUERIES), privilege: 'INSERT' })).toBeNull();
    expect(smallestChange(index, ana, reading('system.builtin.x'))).toBeNull();
  });

  it('is gained and lost by drafts where they say something of it', () => {
    const before = aSnapshot().user('ana').may('SELECT', 'sales').may('SELECT', 'system.runtime').snapshot();
    const deny = aSnapshot().user('ana').mayNot('system').snapshot().policies;
    const draft = {
      ...{ grants: [], revokedGrantIds: [], deletedPolicyIds: [], addedMembers: [], removedMembers: [] },
      policies: deny,
    };
    const differences = [...accessDifferences(before, withDraft(before, draft), affectedNodes(before, draft))].flatMap(
      (outcome) => outcome?.differences ?? [],
    );
    expect(differences.map(({ resource, gained, lost }) => [nodeText(resource), gained, lost?.privileges])).toEqual([
      ['system.jdbc', null, ['SELECT']],
      ['system.metadata', null, ['SELECT']],
      ['system.runtime', null, ['SELECT']],
    ]);
  });

  it('leaves no trace in the rules where nothing is said of it', () => {
    const builder = aSnapshot().user('ana').may('SELECT', 'zoo').may('SELECT', 'sales');
    const { text } = compile(builder.snapshot());
    expect(compile(builder.user('bo').mayNot('system').snapshot()).text).toBe(text);
  });
});
