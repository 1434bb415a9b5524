import type { AuditEntry, AuditEventName, AuditSubject } from '../../src/audit/domain/audit-event.js';
import { grantDetails, policyDetails } from '../../src/grants/domain/audit-details.js';
import type { Publication, RunOutcome } from '../../src/acl-sync/domain/publication.js';
import { RulesTargetUnavailable } from '../../src/acl-sync/domain/rules-target.js';
import { documentOf } from '../../src/trino-rules/document/rules-reader.js';
import { FakeRulesTarget } from '../support/fakes/fake-rules-target.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const TABLE = 'lake.hr.people';
const STAGED = { kind: 'applied', reasons: [{ code: 'masks-first', severity: 'info' }] };
const AT_ONCE = { kind: 'applied', reasons: [], publication: { firstStepOf: null } };

describe('rules that give access with a mask', () => {
  const nobody = () => aSnapshot().user('ana').user('bo');
  const ana = () => nobody().everyone().seesMasked(TABLE, 'ssn', 'NULL').user('ana').may('SELECT', TABLE);
  const both = () => ana().user('bo').may('SELECT', TABLE);

  let sync: SyncUnderTest;
  /** Publishes a state whose changes are all on record. */
  const publish = async (story: ReturnType<typeof nobody>): Promise<RunOutcome> => {
    const [before, next] = [sync.snapshot, story.snapshot()];
    const record = (event: AuditEventName, type: AuditSubject['type'], id: number, details: AuditEntry['details']) =>
      sync.audited.push({ event, actor: null, origin: null, subject: { type, id: String(id), name: null }, details });
    for (const { id } of before.grants) record('grant_revoked', 'grant', id, {});
    for (const { id } of before.policies) record('policy_deleted', 'policy', id, {});
    for (const each of next.grants) record('grant_created', 'grant', each.id, grantDetails(each));
    for (const each of next.policies) record('policy_created', 'policy', each.id, policyDetails(each));
    sync.snapshot = next;
    return sync.run();
  };
  const latest = async (): Promise<Publication> => {
    const publication = await sync.history.latest();
    if (publication === null) throw new Error('nothing is published');
    return publication;
  };
  const seen = async () => sync.history.markLive((await latest()).version, sync.clock.now());
  /** Runs until all steps are published, each once the engine uses the one before. @returns the last outcome */
  const whole = async (): Promise<RunOutcome> => {
    for (;;) {
      await seen();
      const outcome = await sync.run();
      if ((await latest()).firstStepOf === null) return outcome;
    }
  };
  const mayRead = (user: string) =>
    documentOf(sync.target.text ?? '').tables.find((rule) => rule.user === user)?.privileges;

  beforeEach(async () => {
    sync = new SyncUnderTest(nobody().snapshot());
    await sync.run();
    await seen();
  });

  it('go out in steps: a filter that fails, the masks, and the access, each once the engine uses the one before', async () => {
    expect(await publish(ana())).toMatchObject(STAGED);
    expect(mayRead('ana')).toEqual([]);
    expect(await sync.run()).toMatchObject({ kind: 'no_change', reasons: STAGED.reasons });
    const first = await latest();
    expect(first.checks).toMatchObject([{ message: expect.stringContaining('1 person gets') as unknown }]);

    await seen();
    expect(await sync.run()).toMatchObject({ ...STAGED, publication: { changedAt: first.changedAt } });
    expect(mayRead('ana')).toEqual(['SELECT']);
    expect(sync.target.text).toContain('fail(');
    const second = await latest();

    await seen();
    expect(await sync.run()).toMatchObject({ ...AT_ONCE, publication: { changedAt: first.changedAt } });
    const { hash } = await latest();
    expect([first, second]).toMatchObject([{ firstStepOf: hash }, { firstStepOf: hash }]);
    expect(sync.target.text).not.toContain('fail(');
    expect(mayRead('ana')).toEqual(['SELECT']);
    expect(await sync.run()).toMatchObject({ kind: 'no_change', reasons: [] });
  });

  it('end after the longest time, where the engine was not seen to use the masks', async () => {
    await publish(ana());
    sync.clock.advance(210);
    expect(await sync.run()).toMatchObject({ kind: 'no_change' });
    sync.clock.advance(1);
    expect(await sync.run()).toMatchObject(STAGED);
    sync.clock.advance(211);
    expect(await sync.run()).toMatchObject(AT_ONCE);
  });

  it('hold up no other change: it goes out with the masks of all', async () => {
    await publish(ana());
    expect(await publish(both().group('readers', ['ana']).may('SELECT', 'lake.open.data'))).toMatchObject(STAGED);
    expect(sync.target.text).toContain('open');
    expect(await publish(nobody())).toMatchObject(AT_ONCE);
    expect(sync.target.text).not.toContain('people');
  });

  it('keep the access of those who have it', async () => {
    await publish(ana());
    await whole();
    await seen();
    expect(await publish(both())).toMatchObject(STAGED);
    expect([mayRead('bo'), mayRead('ana'), mayRead('ana|bo')]).toEqual([[], undefined, ['SELECT']]);
  });

  it('wait the longest time where several engines read them, and one of them is asked', async () => {
    sync = new SyncUnderTest(nobody().snapshot(), undefined, [new FakeRulesTarget()]);
    await sync.run();
    sync.clock.advance(1000);
    expect(await publish(ana())).toMatchObject(STAGED);
    await seen();
    expect(await sync.run()).toMatchObject({ kind: 'no_change', reasons: STAGED.reasons });
    sync.clock.advance(211);
    expect(await sync.run()).toMatchObject(STAGED);
    sync.clock.advance(211);
    expect(await sync.run()).toMatchObject(AT_ONCE);
  });

  describe('with a second target', () => {
    let other: FakeRulesTarget;
    beforeEach(async () => {
      other = new FakeRulesTarget('other');
      sync = new SyncUnderTest(nobody().snapshot(), undefined, [other]);
      await sync.run();
      sync.clock.advance(1000);
    });
    const later = (): Promise<RunOutcome> => {
      sync.clock.advance(211);
      return sync.run();
    };

    it('do not wait for one that can be read and not written', async () => {
      other.publish = () => Promise.reject(new RulesTargetUnavailable('forbidden', 'no right to write'));
      expect(await publish(ana())).toMatchObject({ kind: 'failed', outcomeElsewhere: STAGED });
      expect(await later()).toMatchObject({ kind: 'failed', outcomeElsewhere: STAGED });
      expect(await later()).toMatchObject({ kind: 'failed', outcomeElsewhere: AT_ONCE });
      expect(mayRead('ana')).toEqual(['SELECT']);
      expect(sync.target.text).not.toContain('fail(');
    });

    it('are not taken again because one comes back with older rules', async () => {
      other.failure = new RulesTargetUnavailable('unreachable', 'it does not answer');
      await publish(ana());
      await later();
      expect(await later()).toMatchObject({ kind: 'failed', outcomeElsewhere: AT_ONCE });
      other.failure = null;
      expect(await publish(ana().user('bo').may('SELECT', 'lake.open.data'))).toMatchObject(AT_ONCE);
      expect(mayRead('ana')).toEqual(['SELECT']);
      expect(other.text).toBe(sync.target.text);
    });
  });

  it('are not made for ever at a target that has other rules at each reading', async () => {
    const read = sync.target.read.bind(sync.target);
    let readings = 0;
    sync.target.read = () => {
      sync.target.editByHand(`{"catalogs":[{"user":"nobody ${++readings}","allow":"none"}]}`);
      return read();
    };
    expect(await publish(ana())).toMatchObject({ kind: 'failed', failure: { reason: 'moved' } });
    expect(readings).toBeLessThan(20);
  });

  it('go out at once over the rules of before, and in steps over an edit that cannot be read', async () => {
    sync = new SyncUnderTest(ana().snapshot());
    sync.target.editByHand('{"tables":[{"group":"all","privileges":["SELECT"]}]}');
    expect(await sync.run()).toMatchObject(AT_ONCE);
    sync.target.editByHand('{"tables":[{"group":"all","privileges":["SELECT"]}]}');
    expect(await sync.run()).toMatchObject(STAGED);
    expect(mayRead('ana')).toEqual([]);
    expect(await whole()).toMatchObject(AT_ONCE);
  });

  it('go out at once where nothing was published, no step can be made, or the step broke the engine', async () => {
    expect(await new SyncUnderTest(ana().snapshot()).run()).toMatchObject(AT_ONCE);
    sync.preparer.canStage = false;
    expect(await publish(ana())).toMatchObject(AT_ONCE);
    expect(sync.log.at('error')).toContain('first step could not be made');

    await publish(nobody());
    sync.preparer.canStage = true;
    await seen();
    expect(await publish(ana())).toMatchObject(STAGED);
    await sync.history.markBroken((await latest()).version, sync.clock.now());
    expect(await sync.run()).toMatchObject(AT_ONCE);
  });

  it('go out at once where the first step does not fit, and the log says so', async () => {
    await publish(ana());
    const step = (await latest()).bytes;
    await whole();
    const { bytes } = await latest();
    await publish(nobody());
    await seen();
    sync.target.limitBytes = Buffer.byteLength(sync.target.text ?? '') + (bytes + step) / 2;
    expect(await publish(ana())).toMatchObject(AT_ONCE);
    expect(sync.log.at('error')).toContain('first step could not be made');
  });

  it('write the masks again over an edit by hand', async () => {
    await publish(ana());
    sync.target.editByHand('{}');
    expect(await sync.run()).toMatchObject(STAGED);
    expect(mayRead('ana')).toEqual([]);
  });

  it('go out in steps where an older version is restored that gave it; a step is not restored', async () => {
    await publish(ana());
    const step = (await latest()).version;
    await whole();
    await seen();
    const { version } = await latest();
    await publish(ana().user('bo').may('SELECT', 'lake.open'));
    await publish(nobody());
    await seen();
    sync.snapshot = ana().snapshot();
    const until = new Date(sync.clock.now().getTime() + 3_600_000);
    const restore = { version, until, reason: 'the new one is slow' };
    expect(await sync.run({ trigger: 'restore', restore: { ...restore, version: step } })).toMatchObject({
      ...{ kind: 'refused', reasons: [{ code: 'restore-of-step' }] },
    });
    const first = await sync.run({ trigger: 'restore', restore });
    expect(first).toMatchObject({ kind: 'applied', reasons: [{ code: 'masks-first' }, { code: 'restored' }] });
    expect(await sync.run()).toMatchObject({ kind: 'no_change', reasons: [{ code: 'masks-first' }, {}] });
    expect(await whole()).toMatchObject({ kind: 'applied', reasons: [{ code: 'restored' }] });
    expect(mayRead('ana')).toEqual(['SELECT']);
  });
});
