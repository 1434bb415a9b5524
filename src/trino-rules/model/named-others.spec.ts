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
import { targetsByImpersonator } from './named-others.js';
import { Principals } from './principals.js';
import { readSnapshot } from './snapshot-file.js';
import type { Snapshot } from './snapshot.js';

const EVERYONE = { as: { type: 'everyone' } } as const;
const VIEWERS = { as: { type: 'group', id: 1 } } as const;
const asUser = (id: number) => ({ as: { type: 'user', id } }) as const;
const engine = (name: string) => ({ type: 'engine', name }) as const;
const as = (newUser: string) => ({ about: 'impersonation', newUser }) as const;

/** dash acts as the viewers ana and bo, and not as cy, who was deactivated; etl is a viewer, too. */
function viewers() {
  return aSnapshot()
    .group('viewers', ['ana', 'bo', 'cy'], ['etl'])
    .deactivated('cy')
    .may('SELECT', 'sales')
    .user('dee')
    .engine('dash')
    .may('IMPERSONATE', VIEWERS);
}

/** Names that the actor may impersonate by the specification. Checks that the rules are proved and give the same. */
function actedAs(snapshot: Snapshot, actor: string): string[] {
  const { text, document } = compile(snapshot);
  expect(checkRules(text, snapshot)).toEqual([]);
  const engines = [...snapshot.groups.flatMap((group) => group.engines), 'dash', 'dash2', 'bot', 'stranger'];
  const accounts = snapshot.users.map(({ name }) => name);
  const others = [...new Set([...accounts, ...engines, ...snapshot.settings.serviceAccounts])].filter(
    (name) => name !== actor,
  );
  const evaluator = new Evaluator(document);
  return others.filter((name) => {
    const { allowed } = decide(snapshot, engine(actor), as(name));
    expect([name, evaluator.allows(actor, as(name))]).toEqual([name, allowed]);
    return allowed;
  });
}

describe('acting as others', () => {
  it('is as the active members of a group, and as nobody else', () => {
    expect(actedAs(viewers().snapshot(), 'dash')).toEqual(['ana', 'bo', 'etl']);
    expect(actedAs(viewers().snapshot(), 'stranger')).toEqual([]);
  });

  it('is as one account, whether it reaches something or not, or as one engine principal that is known', () => {
    const one = aSnapshot()
      .user('ana')
      .engine('dash')
      .may('IMPERSONATE', asUser(1))
      .may('IMPERSONATE', { as: engine('bot') });
    expect(actedAs(one.snapshot(), 'dash')).toEqual(['ana']);
    expect(actedAs(one.engine('bot').may('SELECT', 'sales').snapshot(), 'dash')).toEqual(['ana', 'bot']);
  });

  it('is as everyone but oneself, strangers, service accounts and others that act', () => {
    const all = viewers().engine('dash').may('IMPERSONATE', EVERYONE).engine('dash2').may('IMPERSONATE', asUser(1));
    expect(actedAs(all.snapshot(), 'dash')).toEqual(['ana', 'bo', 'dee', 'etl']);
    expect(actedAs(all.snapshot(), 'dash2')).toEqual(['ana']);
  });

  it('makes no chain of two, not where the second is named, and not where a deny takes all that it has', () => {
    const chain = viewers()
      .engine('dash2')
      .may('IMPERSONATE', { as: engine('dash') });
    expect(actedAs(chain.snapshot(), 'dash2')).toEqual([]);
    expect(actedAs(chain.engine('dash').mayNot(EVERYONE).snapshot(), 'dash2')).toEqual([]);
  });

  it('ends with the grant: the principal can be acted as again', () => {
    const ended = viewers().engine('bot').may('SELECT', 'hr').may('IMPERSONATE', asUser(1), { revokedAt: NOW });
    const all = ended.engine('dash2').may('IMPERSONATE', EVERYONE, { expiresAt: NOW });
    expect(actedAs(all.snapshot(), 'bot')).toEqual([]);
    expect(actedAs(all.engine('dash2').may('IMPERSONATE', EVERYONE).snapshot(), 'dash2')).toEqual([
      'ana',
      'bo',
      'dee',
      'etl',
      'bot',
    ]);
  });

  it('is less whom a deny names, of this principal or of everyone but it', () => {
    const denied = viewers()
      .engine('dash')
      .mayNot(asUser(2))
      .everyone()
      .mayNot({ as: engine('etl') });
    expect(actedAs(denied.snapshot(), 'dash')).toEqual(['ana']);
    const excepted = viewers().everyone().mayNot(VIEWERS, undefined, engine('dash'));
    expect(actedAs(excepted.snapshot(), 'dash')).toEqual(['ana', 'bo', 'etl']);
  });

  it('leaves out and reports names that the engine cannot hold, and publishes the others', () => {
    const snapshot = viewers()
      .group('odd', ['x$y', 'a\\b', 'u.v'], [])
      .engine('dash')
      .may('IMPERSONATE', { as: { type: 'group', id: 2 } });
    expect(actedAs(snapshot.snapshot(), 'dash')).toEqual(['ana', 'bo', 'u.v', 'etl']);
    const withoutFile = snapshot.with({ rulesFile: false }).snapshot();
    const names = (asked: Snapshot) =>
      [...(targetsByImpersonator(asked, new Principals(asked)).get('dash') ?? [])].filter((name) => /[$\\]/.test(name));
    expect(names(withoutFile)).toEqual(['x$y', 'a\\b']);
    expect(explain(new AccessIndex(withoutFile), engine('dash'), as('x$y')).allowed).toBe(true);
    const { text, findings } = compile(withoutFile);
    expect(checkRules(text, withoutFile)).toEqual([]);
    expect(
      findings.filter(({ code }) => code === 'acting-name').map(({ severity, message }) => [severity, message]),
    ).toEqual(['a\\b', 'x$y'].map((name) => ['warning', expect.stringContaining(`acts as ${name}:`) as string]));
  });

  it('is a finding where it is as nobody', () => {
    const { findings } = compile(aSnapshot().deactivated('cy').engine('dash').may('IMPERSONATE', asUser(1)).snapshot());
    expect(findings).toMatchObject([{ code: 'acting-as-nobody', severity: 'warning' }]);
  });

  it('is held by no account, no group and no service account, whatever a snapshot says', () => {
    const snapshot = aSnapshot().user('ana').user('bo').may('IMPERSONATE', asUser(1));
    snapshot
      .group('team', ['bo'], ['bot'])
      .may('IMPERSONATE', asUser(1))
      .engine('service-account-grantline')
      .may('IMPERSONATE', EVERYONE);
    for (const actor of ['bot', 'service-account-grantline']) expect(actedAs(snapshot.snapshot(), actor)).toEqual([]);
    const { document } = compile(snapshot.snapshot());
    expect(document.impersonation).toEqual([]);
    expect(decide(snapshot.snapshot(), { type: 'user', id: 2 }, as('ana')).allowed).toBe(false);
  });

  it('is beside the own account: switched off, these grants still hold', () => {
    const snapshot = viewers().with({ impersonation: false }).snapshot();
    expect(actedAs(snapshot, 'dash')).toEqual(['ana', 'bo', 'etl']);
    expect(actedAs(snapshot, 'service-account-grantline')).toEqual([]);
    expect(actedAs(viewers().snapshot(), 'service-account-grantline')).toEqual(['ana', 'bo']);
  });

  it('reaches nothing by itself, and leaves no trace in the rules once it has ended', () => {
    const { text, document } = compile(viewers().snapshot());
    expect(new Evaluator(document).hasQueryRight('dash', 'execute')).toBe(false);
    const without = aSnapshot()
      .group('viewers', ['ana', 'bo', 'cy'], ['etl'])
      .deactivated('cy')
      .may('SELECT', 'sales')
      .user('dee');
    const before = compile(without.snapshot()).text;
    expect(text).not.toBe(before);
    expect(compile(without.engine('dash').may('IMPERSONATE', VIEWERS, { expiresAt: NOW }).snapshot()).text).toBe(
      before,
    );
  });

  it('makes the principal known, and a deny, an exception or being named makes none', () => {
    const open = viewers().everyone().may('SELECT', 'hr').engine('unknown').mayNot(EVERYONE);
    const snapshot = open
      .engine('dash2')
      .may('IMPERSONATE', { as: engine('named') })
      .snapshot();
    const reads = (name: string) =>
      decide(snapshot, engine(name), { about: 'privilege', privilege: 'SELECT', resource: { catalog: 'hr' } }).allowed;
    expect(['dash', 'etl', 'unknown', 'named'].map(reads)).toEqual([true, true, false, false]);
    expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
  });

  it('is one entry of what somebody has, by the node that was granted, and found by who', () => {
    const snapshot = viewers().engine('dash').mayNot(asUser(2)).snapshot();
    const index = new AccessIndex(snapshot);
    expect(effectiveAccess(index, engine('dash')).map(({ resource, access }) => [resource, access.privileges])).toEqual(
      [
        [VIEWERS, ['IMPERSONATE']],
        [asUser(2), []],
      ],
    );
    const who = (name: string) =>
      holders(index, as(name)).map(({ principal, origins }) => [
        principal.name,
        origins.map(({ source }) => source.id),
      ]);
    expect(who('ana')).toEqual([
      ['dash', [2]],
      ['service-account-grantline', []],
    ]);
    expect(who('bo')).toEqual([['service-account-grantline', []]]);
    expect(holders(index, { about: 'anything', resource: VIEWERS }).map(({ principal }) => principal.name)).toEqual([
      'dash',
    ]);
  });

  it('is shown at each member that a deny on another group takes', () => {
    const snapshot = viewers()
      .group('others', ['bo', 'dee'])
      .engine('dash')
      .mayNot({ as: { type: 'group', id: 2 } })
      .snapshot();
    const entries = effectiveAccess(new AccessIndex(snapshot), engine('dash'));
    expect(entries.map(({ resource, access }) => [resource, access.privileges])).toEqual([
      [VIEWERS, ['IMPERSONATE']],
      [asUser(2), []],
    ]);
  });

  it('is explained, with the smallest change', () => {
    const snapshot = viewers()
      .engine('dash')
      .mayNot(asUser(2))
      .engine('dash2')
      .may('IMPERSONATE', asUser(1))
      .snapshot();
    const index = new AccessIndex(snapshot);
    const why = (actor: string, name: string) => {
      const { allowed, grants, policies } = explain(index, engine(actor), as(name));
      const steps = smallestChange(index, engine(actor), as(name));
      return { allowed, grants: grants.map(({ id }) => id), policies: policies.map(({ id }) => id), steps };
    };
    const dash = engine('dash');
    expect(why('dash', 'ana')).toEqual({
      ...{ allowed: true, grants: [2], policies: [] },
      steps: [{ kind: 'deny', principal: dash, resource: asUser(1), privileges: ['IMPERSONATE'] }],
    });
    expect(why('dash', 'bo')).toEqual({
      ...{ allowed: false, grants: [2], policies: [1] },
      steps: [{ kind: 'except', policy: 1, principal: dash }],
    });
    expect(why('dash', 'cy')).toMatchObject({
      allowed: false,
      steps: [{ kind: 'activate', user: 3 }],
    });
    expect(why('dash2', 'ana').steps).toEqual([{ kind: 'revoke', grant: 3 }]);
    expect(why('dash2', 'dee').steps).toEqual([
      { kind: 'grant', principal: engine('dash2'), resource: asUser(4), privileges: ['IMPERSONATE'] },
    ]);
    for (const name of ['dash', 'stranger', 'service-account-grantline']) expect(why('dash2', name).steps).toBeNull();
    expect(smallestChange(index, { type: 'user', id: 1 }, as('bo'))).toBeNull();
  });

  it('is explained by the deny that would take it where nobody acts, too', () => {
    const index = new AccessIndex(
      aSnapshot().user('ana').engine('dash').mayNot(EVERYONE).may('SELECT', 'hr').snapshot(),
    );
    expect(explain(index, engine('dash'), as('ana')).policies).toMatchObject([{ id: 1 }]);
    expect(smallestChange(index, engine('dash'), as('ana'))).toMatchObject([{ kind: 'grant' }, { kind: 'except' }]);
  });

  it.each([
    [{ type: 'everyone' }, EVERYONE],
    [{ type: 'group', name: 'viewers' }, EVERYONE],
    [{ type: 'user', name: 'ana' }, EVERYONE],
  ])('cannot be given to %j in a file', (principal, resource) => {
    const rows = { version: 1, users: [{ name: 'ana' }], groups: [{ name: 'viewers' }] };
    const { settings } = viewers().snapshot();
    const read = (named: object) =>
      readSnapshot(
        { ...rows, grants: [{ principal: named, resource, privileges: ['IMPERSONATE'] }] },
        { settings, at: NOW },
      );
    const message = 'IMPERSONATE can be granted to an engine principal alone';
    expect(read(principal)).toEqual({ kind: 'refused', problems: [{ path: 'grants[0].principal', message }] });
    expect(read(engine('dash')).kind).toBe('read');
  });
});
