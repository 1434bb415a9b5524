import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { AccessIndex } from '../answers/access-index.js';
import { effectiveAccess } from '../answers/effective-access.js';
import { explain } from '../answers/explanation.js';
import { holders } from '../answers/holders.js';
import { smallestChange } from '../answers/smallest-change.js';
import { compile } from '../compile/compile.js';
import { Evaluator } from '../engine/evaluator.js';
import { checkRules } from '../verify/check.js';
import { decide } from './decision.js';
import type { Principal } from './principal.js';
import { PRIVILEGE_TERMS } from './privilege.js';
import { readSnapshot } from './snapshot-file.js';

const ENGINE = { engine: true } as const;
const KILL_QUERY = 'system.runtime.kill_query()';
const VIEW = { about: 'queries', right: 'view' } as const;
const KILL = { about: 'queries', right: 'kill' } as const;
const user = (id: number): Principal => ({ type: 'user', id });

/** ana views and kills, bo lost the second to a deny, and everyone views nothing. */
function operators() {
  return aSnapshot()
    .group('operators', ['ana', 'bo'], ['warden'])
    .may('VIEW_QUERIES, KILL_QUERIES', ENGINE)
    .user('bo')
    .mayNot(ENGINE, 'KILL_QUERIES')
    .user('cy')
    .may('READ_SYSTEM_INFORMATION', ENGINE);
}

describe('rights over the engine', () => {
  const snapshot = operators().snapshot();
  const index = new AccessIndex(snapshot);

  it('stand in one rule for each person, and open system for reading to those who kill', () => {
    const { document, text } = compile(snapshot);
    expect(document.queries).toEqual([
      { user: 'ana|warden', allow: ['execute', 'view', 'kill'] },
      { user: 'service-account-grantline', allow: ['execute'] },
      { user: 'bo', allow: ['view'] },
    ]);
    expect(document.system_information).toEqual([{ user: 'cy', allow: ['read'] }]);
    const evaluator = new Evaluator(document);
    const kills = PRIVILEGE_TERMS.CALL_PROCEDURE.questionAt({
      catalog: 'system',
      schema: 'runtime',
      routine: 'kill_query',
    });
    const may = ['ana', 'bo', 'cy', 'warden'].map((name) => [
      evaluator.allows(name, kills),
      evaluator.hasQueryRight(name, 'execute'),
      evaluator.catalogMode(name, 'system'),
    ]);
    const [all, none] = [
      [true, true, 'read-only'],
      [false, false, 'none'],
    ];
    expect(may).toEqual([all, none, none, all]);
    expect(checkRules(text, snapshot)).toEqual([]);
  });

  it('bring the procedure that kills, which is also granted and denied by itself', () => {
    const builder = aSnapshot().user('ana').may('KILL_QUERIES', ENGINE).mayNot(KILL_QUERY).user('bo');
    const apart = builder.may('CALL_PROCEDURE', KILL_QUERY).group('operators', ['cy']).may('KILL_QUERIES', ENGINE);
    const snapshot = apart.snapshot();
    const { document, text } = compile(snapshot);
    const where = { catalog: 'system', schema: 'runtime', procedure: 'kill_query' };
    expect(document.procedures).toEqual([{ user: 'bo|cy', ...where, privileges: ['EXECUTE'] }]);
    // Killing through the engine's API is not a statement, so it does not include executing queries.
    const executing = document.queries.filter(({ allow }) => allow.includes('execute')).map(({ user }) => user);
    expect(executing).toEqual(['cy', 'bo|service-account-grantline']);
    expect(checkRules(text, snapshot)).toEqual([]);

    const index = new AccessIndex(snapshot);
    const call = PRIVILEGE_TERMS.CALL_PROCEDURE.questionAt({
      catalog: 'system',
      schema: 'runtime',
      routine: 'kill_query',
    });
    const allowed = [1, 2, 3].map((id) => [
      decide(snapshot, user(id), call).allowed,
      decide(snapshot, user(id), KILL).allowed,
    ]);
    expect(allowed).toEqual([
      [false, true],
      [true, false],
      [true, true],
    ]);
    expect(holders(index, call).map(({ principal }) => principal.name)).toEqual(['bo', 'cy']);
    expect(explain(index, user(1), call)).toMatchObject({ allowed: false, policies: [{ id: 1 }] });
    expect(explain(index, user(3), call)).toMatchObject({ allowed: true, grants: [{ id: 3 }] });
    expect(smallestChange(index, user(1), call)).toEqual([{ kind: 'except', policy: 1, principal: user(1) }]);
    const reader = aSnapshot().user('ana').may('SELECT', 'system').snapshot();
    expect(decide(reader, user(1), call).grants).toEqual([]);
    expect(smallestChange(index, user(2), call)).toEqual([{ kind: 'revoke', grant: 2 }]);
    expect(smallestChange(index, user(3), call)).toMatchObject([{ kind: 'deny', privileges: ['CALL_PROCEDURE'] }]);
  });

  it('let people execute who reach nothing, and a deny leaves executing to those who reach something', () => {
    const builder = aSnapshot().group('idle', ['ana', 'bo', 'cy']).may('EXECUTE_QUERIES', ENGINE);
    builder.user('bo').mayNot(ENGINE, 'EXECUTE_QUERIES').user('cy').mayNot(ENGINE, 'EXECUTE_QUERIES');
    const snapshot = builder.may('SELECT', 'sales').snapshot();
    const { document, text } = compile(snapshot);
    expect(document.queries).toEqual([{ user: 'ana|cy|service-account-grantline', allow: ['execute'] }]);
    expect(new Evaluator(document).catalogMode('ana', 'system')).toBe('read-only');
    expect(checkRules(text, snapshot)).toEqual([]);

    const index = new AccessIndex(snapshot);
    const [execute, except] = [PRIVILEGE_TERMS.EXECUTE_QUERIES.questionAt(ENGINE), { kind: 'except', policy: 1 }];
    expect(explain(index, user(1), execute)).toMatchObject({ allowed: true, grants: [{ id: 1 }] });
    expect(explain(index, user(2), execute)).toMatchObject({ allowed: false, policies: [{ id: 1 }] });
    const changes = [1, 2, 3].map((id) => smallestChange(index, user(id), execute));
    expect(changes).toMatchObject([[{ kind: 'deny', privileges: ['EXECUTE_QUERIES'] }], [except], null]);
    expect(smallestChange(new AccessIndex(aSnapshot().user('dee').snapshot()), user(1), execute)).toEqual([
      { kind: 'grant', principal: user(1), resource: ENGINE, privileges: ['EXECUTE_QUERIES'] },
    ]);
    expect(holders(index, execute).map(({ principal }) => principal.name)).toEqual([
      ...['ana', 'cy', 'service-account-grantline'],
    ]);
  });

  it('leave no trace in the rules where nobody has one', () => {
    const builder = aSnapshot().user('ana').may('SELECT', 'sales');
    const { text } = compile(builder.snapshot());
    expect(compile(builder.may('KILL_QUERIES', ENGINE, { expiresAt: NOW }).snapshot()).text).toBe(text);
    expect(text).not.toContain('system_information');
  });

  it('are explained by grant and deny, and are an entry of what somebody has', () => {
    expect(decide(snapshot, user(2), KILL)).toMatchObject({
      allowed: false,
      grants: [{ source: { id: 1 } }],
      denies: [{ source: { id: 1 } }],
    });
    expect(explain(index, user(2), KILL)).toMatchObject({ allowed: false, policies: [{ id: 1 }] });
    expect(smallestChange(index, user(2), KILL)).toEqual([{ kind: 'except', policy: 1, principal: user(2) }]);
    expect(smallestChange(index, user(1), VIEW)).toEqual([
      { kind: 'deny', principal: user(1), resource: ENGINE, privileges: ['VIEW_QUERIES'] },
    ]);
    expect(effectiveAccess(index, user(1)).map(({ resource, access }) => [resource, access.privileges])).toEqual([
      [ENGINE, ['VIEW_QUERIES', 'KILL_QUERIES']],
    ]);
    expect(holders(index, KILL).map(({ principal }) => principal.name)).toEqual(['ana', 'warden']);
  });

  it('cannot be shutting nodes down for a group or everyone, in no file either', () => {
    const write = { about: 'system-information', right: 'write' } as const;
    expect(smallestChange(index, { type: 'group', id: 1 }, write)).toBeNull();
    const read = (principal: object, resource: object = ENGINE) =>
      readSnapshot(
        {
          version: 1,
          groups: [{ name: 'operators' }],
          grants: [{ principal, resource, privileges: ['WRITE_SYSTEM_INFORMATION'] }],
        },
        { settings: snapshot.settings, at: NOW },
      );
    const message = 'WRITE_SYSTEM_INFORMATION can be granted to a user or an engine principal alone';
    for (const principal of [{ type: 'group', name: 'operators' }, { type: 'everyone' }])
      expect(read(principal)).toEqual({ kind: 'refused', problems: [{ path: 'grants[0].principal', message }] });
    expect(read({ type: 'engine', name: 'warden' }).kind).toBe('read');
    expect(read({ type: 'engine', name: 'warden' }, { catalog: 'sales' }).kind).toBe('refused');
  });

  it('are a finding where everyone views all queries', () => {
    const { findings } = compile(operators().everyone().may('VIEW_QUERIES', ENGINE).snapshot());
    expect(findings).toMatchObject([{ code: 'queries-open-to-everyone', severity: 'warning' }]);
  });

  it('make an engine principal known, and a deny makes none', () => {
    const granted = operators().engine('etl').may('READ_SYSTEM_INFORMATION', ENGINE).everyone().may('SELECT', 'sales');
    const snapshot = granted.engine('stranger').mayNot(ENGINE).snapshot();
    const reads = (name: string) =>
      decide(
        snapshot,
        { type: 'engine', name },
        { about: 'privilege', privilege: 'SELECT', resource: { catalog: 'sales' } },
      ).allowed;
    expect([reads('etl'), reads('stranger')]).toEqual([true, false]);
    expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
  });
});
