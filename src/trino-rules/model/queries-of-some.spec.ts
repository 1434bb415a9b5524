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
import { KILL_QUERY } from './node.js';
import { PRIVILEGE_TERMS } from './privilege.js';
import { readSnapshot, writeSnapshot } from './snapshot-file.js';
import type { Snapshot } from './snapshot.js';

const TEAM = { queries: { type: 'group', id: 1 } } as const;
const EVERYONE = { queries: { type: 'everyone' } } as const;
const ENGINE = { engine: true } as const;
const BOTH = 'VIEW_QUERIES, KILL_QUERIES';
const ofUser = (id: number) => ({ queries: { type: 'user', id } }) as const;
const ofEngine = (name: string) => ({ queries: { type: 'engine', name } }) as const;

/** ana, bo and cy, who was deactivated, are the team, with the program etl; dee leads it. */
function team() {
  return aSnapshot().group('team', ['ana', 'bo', 'cy'], ['etl']).deactivated('cy').may('SELECT', 'sales').user('dee');
}

/** Owners whose queries a user views (`v` before the name) and kills (`k`) by the specification. Checks that the proved rules give the same. */
function queriesOf(snapshot: Snapshot, holder: string): string[] {
  const { text, document } = compile(snapshot);
  expect(checkRules(text, snapshot).filter(({ severity }) => severity === 'error')).toEqual([]);
  const evaluator = new Evaluator(document);
  const user = snapshot.users.find(({ name }) => name === holder);
  const principal =
    user === undefined ? ({ type: 'engine', name: holder } as const) : ({ type: 'user', id: user.id } as const);
  const names = [...snapshot.users.map(({ name }) => name), 'etl', 'stranger'].filter((name) => name !== holder);
  return names.flatMap((owner) => {
    const rights = (['view', 'kill'] as const).filter((right) => {
      const question = { about: 'queries', right, owner } as const;
      const { allowed } = decide(snapshot, principal, question);
      expect([holder, owner, evaluator.allows(holder, question)]).toEqual([holder, owner, allowed]);
      return allowed;
    });
    return rights.length === 0 ? [] : [`${rights.map(([letter]) => letter).join('')} ${owner}`];
  });
}

describe('rights over the queries of some', () => {
  it('are over those of a group, of deactivated members, too, and of nobody else', () => {
    const snapshot = team().may(BOTH, TEAM).snapshot();
    expect(queriesOf(snapshot, 'dee')).toEqual(['vk ana', 'vk bo', 'vk cy', 'vk etl']);
    expect(queriesOf(snapshot, 'ana')).toEqual([]);
    expect(compile(snapshot).document.queries).toEqual([
      { user: 'dee', queryOwner: 'ana|bo|cy|etl', allow: ['view', 'kill'] },
      { user: 'ana|bo|dee|etl|service-account-grantline', allow: ['execute'] },
    ]);
  });

  it('are over those of one, and of everyone, which is nobody whom nothing knows', () => {
    const one = team().may('VIEW_QUERIES', ofUser(1)).may('KILL_QUERIES', ofEngine('stranger'));
    expect(queriesOf(one.snapshot(), 'dee')).toEqual(['v ana', 'k stranger']);
    expect(queriesOf(team().may('KILL_QUERIES', EVERYONE).snapshot(), 'dee')).toEqual([
      ...['k ana', 'k bo', 'k cy', 'k etl'],
    ]);
  });

  it('add up with those over all, and denies take from either', () => {
    const all = team().may('VIEW_QUERIES', ENGINE).may('KILL_QUERIES', TEAM).mayNot(ofUser(2));
    expect(queriesOf(all.snapshot(), 'dee')).toEqual(['vk ana', 'vk cy', 'vk etl', 'v stranger']);
    expect(queriesOf(all.mayNot(ENGINE, 'VIEW_QUERIES').snapshot(), 'dee')).toEqual(['k ana', 'k cy', 'k etl']);
    const spared = team().may(BOTH, TEAM).everyone().mayNot(EVERYONE, 'KILL_QUERIES', { type: 'user', id: 4 });
    expect(queriesOf(spared.snapshot(), 'dee')).toEqual(['vk ana', 'vk bo', 'vk cy', 'vk etl']);
  });

  it('are held by groups, engine principals and everyone, and end', () => {
    const held = team().everyone().may('VIEW_QUERIES', ofEngine('etl')).engine('bot').may('KILL_QUERIES', ofUser(1));
    expect(queriesOf(held.snapshot(), 'ana')).toEqual(['v etl']);
    expect(queriesOf(held.snapshot(), 'bot')).toEqual(['k ana', 'v etl']);
    const ended = team().may(BOTH, TEAM, { expiresAt: NOW }).may(BOTH, TEAM, { revokedAt: NOW });
    expect(queriesOf(ended.snapshot(), 'dee')).toEqual([]);
  });

  it('let who kills execute and call the procedure, as long as there is somebody left, and who views do nothing more', () => {
    const may = (snapshot: Snapshot) => {
      const evaluator = new Evaluator(compile(snapshot).document);
      expect(queriesOf(snapshot, 'dee')).toBeDefined();
      const call = PRIVILEGE_TERMS.CALL_PROCEDURE.questionAt(KILL_QUERY);
      return [evaluator.hasQueryRight('dee', 'execute'), evaluator.allows('dee', call)];
    };
    expect(may(team().may('KILL_QUERIES', ofUser(1)).snapshot())).toEqual([true, true]);
    expect(may(team().may('KILL_QUERIES', ofUser(1)).mayNot('system.runtime.kill_query()').snapshot())).toEqual([
      ...[false, false],
    ]);
    expect(may(team().may('KILL_QUERIES', ofUser(1)).mayNot(TEAM).snapshot())).toEqual([false, false]);
    expect(
      may(
        team()
          .group('empty', [])
          .user('dee')
          .may('KILL_QUERIES', { queries: { type: 'group', id: 2 } })
          .snapshot(),
      ),
    ).toEqual([...[false, false]]);
    expect(may(team().may('VIEW_QUERIES', TEAM).snapshot())).toEqual([false, false]);
  });

  it('are told where they are given and where a deny takes a part, and turned round by one change', () => {
    const snapshot = team().may(BOTH, TEAM).mayNot(ofUser(2), 'KILL_QUERIES').snapshot();
    const [index, dee] = [new AccessIndex(snapshot), { type: 'user', id: 4 } as const];
    expect(effectiveAccess(index, dee).map(({ resource, access }) => [resource, access.privileges])).toEqual([
      [TEAM, ['VIEW_QUERIES', 'KILL_QUERIES']],
      [ofUser(2), ['VIEW_QUERIES']],
    ]);
    const killing = (owner: string) => ({ about: 'queries', right: 'kill', owner }) as const;
    expect(explain(index, dee, killing('bo'))).toMatchObject({ allowed: false, policies: [{ id: 1 }] });
    expect(explain(index, dee, killing('ana'))).toMatchObject({ allowed: true, grants: [{ id: 2 }] });
    expect(holders(index, killing('cy')).map(({ principal }) => principal)).toEqual([{ ...dee, name: 'dee' }]);
    expect(smallestChange(index, dee, killing('bo'))).toEqual([{ kind: 'except', policy: 1, principal: dee }]);
    expect(smallestChange(index, dee, killing('ana'))).toMatchObject([{ kind: 'deny', resource: ofUser(1) }]);
    expect(smallestChange(index, dee, killing('stranger'))).toMatchObject([
      { kind: 'grant', resource: ofEngine('stranger'), privileges: ['KILL_QUERIES'] },
    ]);
    expect(smallestChange(index, dee, killing('service-account-grantline'))).toBeNull();
  });

  it('are written in files by name', () => {
    const snapshot = team().may(BOTH, TEAM).mayNot(ofUser(2), 'KILL_QUERIES').snapshot();
    const written = writeSnapshot(snapshot);
    expect(written).toMatchObject({
      grants: [{}, { resource: { queries: { type: 'group', name: 'team' } } }],
      policies: [{ resource: { queries: { type: 'user', name: 'bo' } } }],
    });
    expect(readSnapshot(written, snapshot)).toEqual({ kind: 'read', snapshot });
  });
});
