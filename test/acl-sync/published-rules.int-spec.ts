import { PublishedRulesService } from '../../src/acl-sync/published-rules.service.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

describe('the published rules', () => {
  const published = async () => {
    const sync = new SyncUnderTest(aSnapshot().user('ana').may('SELECT', 'sales').snapshot());
    await sync.run();
    return { sync, rules: new PublishedRulesService(sync.history) };
  };

  it('are read once for all questions at once, and anew for the next version', async () => {
    const { sync, rules } = await published();

    const answers = await Promise.all(Array.from({ length: 3 }, () => rules.currentVersion()));
    expect(answers[0]?.version).toBe(1);
    expect(new Set(answers.map((answer) => answer?.engine)).size).toBe(1);

    sync.snapshot = aSnapshot().user('ana').may('SELECT', 'hr').snapshot();
    await sync.run();
    expect((await rules.currentVersion())?.version).toBe(2);
  });

  it('are read again after a failure', async () => {
    const { sync, rules } = await published();
    const find = sync.history.find.bind(sync.history);
    sync.history.find = () => Promise.reject(new Error('the database is away'));
    await expect(rules.currentVersion()).rejects.toThrow('away');

    sync.history.find = find;
    expect((await rules.currentVersion())?.version).toBe(1);
  });
});
