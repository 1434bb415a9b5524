import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signIn } from '../support/service/api-client.js';
import { administrator, people } from '../support/service/administrator.js';
import { duringTransaction } from '../support/database/concurrent-transaction.js';
import { startService } from '../support/service/service.js';
import { ACL, PublishingService } from './publishing-service.js';

describe('publishing through the API', () => {
  const publishing = new PublishingService();
  const { live, grant, sync, status, audited } = publishing;
  const logged = (message: string) => publishing.service.logLines.filter((line) => line.includes(`"${message}"`));

  it('publishes what was granted to names that differ in the case of letters beyond ASCII', async () => {
    const names = ['ünal', 'Ünal', 'alice_k', 'alice_\u212a']; // the sign of the kelvin, whose lower case is k
    for (const [i, name] of names.entries()) {
      const granted = {
        principal: { type: 'engine', name },
        resource: { catalog: `sales_${i}` },
        privileges: ['SELECT'],
      };
      expect((await publishing.admin.post('/api/admin/grants', granted)).status).toBe(201);
    }

    expect(await sync()).toMatchObject({ outcome: 'applied', reasons: [] });
  });

  it('shows what it would publish, publishes it, and records it in audit trail, log and status', async () => {
    await grant('alice', 'orders');

    const { body: shown } = await publishing.admin.post(`${ACL}/preview`);
    expect(shown).toMatchObject({ would: 'publish', drift: false, checks: [] });
    expect((shown?.['diff'] as { rules: { added: string[] } }).rules.added).toContain(
      'tables {"user":"alice","catalog":"sales","schema":"eu","table":"orders","privileges":["SELECT"],"filter":"true"}',
    );
    await expect(live()).rejects.toThrow('ENOENT');
    expect(await status()).toMatchObject({ last_run_at: null, published: null });

    const body = await sync();

    expect(body).toMatchObject({ outcome: 'applied', reasons: [], publication: { version: 1, trigger: 'route' } });
    expect(await live()).toContain(
      '{"user":"alice","catalog":"sales","schema":"eu","table":"orders","privileges":["SELECT"],"filter":"true"}',
    );
    await expect(live('rules.json.bak')).rejects.toThrow('ENOENT');
    expect(await status()).toMatchObject({
      last_outcome: 'applied',
      last_run_at: '2026-11-20T12:00:00.000Z',
      last_success_at: '2026-11-20T12:00:00.000Z',
      published: { version: 1, bytes: Buffer.byteLength(await live()) },
      live: null,
      drift: null,
      refused_since: null,
      next_run_at: null,
      target: `file ${publishing.directory}/rules.json`,
    });
    expect(logged('TRINO_ACL_SYNC_APPLIED')).toHaveLength(1);
    expect(await audited('publication_applied')).toMatchObject([
      { actor: { username: 'admin' }, subject: { type: 'publication', id: '1' }, details: { trigger: 'route' } },
    ]);
    const { body: publications } = await publishing.admin.get(`${ACL}/publications`);

    // Nothing has changed since.
    expect((await publishing.admin.post(`${ACL}/preview`)).body).toMatchObject({
      would: 'no_change',
      diff: { rules: { added: [], removed: [] } },
    });
    expect(await sync()).toMatchObject({ outcome: 'no_change', publication: { version: 1 } });
    await expect(live('rules.json.bak')).rejects.toThrow('ENOENT');
    expect((await publishing.admin.get(`${ACL}/publications`)).body).toEqual(publications);
    expect(logged('TRINO_ACL_SYNC_NO_CHANGE')).toHaveLength(1);
  });

  it('overwrites an edit by hand, keeps it beside, and reports it once; what is kept may be edited', async () => {
    await grant('alice', 'orders');
    await sync();
    const published = await live();
    await writeFile(join(publishing.directory, 'rules.json'), '{}');
    expect((await publishing.admin.post(`${ACL}/preview`)).body).toMatchObject({ would: 'publish', drift: true });

    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { version: 2 } });

    expect(await live()).toBe(published);
    expect(await live('rules.json.bak')).toBe('{}');
    expect(await status()).toMatchObject({ drift: { found_at: '2026-11-20T12:00:00.000Z', overwritten: true } });
    expect(await audited('drift_found')).toHaveLength(1);
    expect(logged('TRINO_ACL_SYNC_DRIFT')).toHaveLength(1);
    expect(await sync()).toMatchObject({ outcome: 'no_change' });
    expect(await status()).toMatchObject({ drift: null });

    await writeFile(join(publishing.directory, 'rules.json.bak'), 'mine');
    expect(await sync()).toMatchObject({ outcome: 'no_change' });
    expect(await live('rules.json.bak')).toBe('mine');
  });

  it('compares its first version with rules of another that it replaces', async () => {
    await grant('alice', 'orders');
    const bob = '{ "user": "bob", "catalog": "sales"';
    await writeFile(
      join(publishing.directory, 'rules.json'),
      `{ "catalogs": [${bob}, "allow": "read-only" }], "schemas": [], "tables": [${bob}, "privileges": ["SELECT"] }] }`,
    );

    const { body: preview } = await publishing.admin.post(`${ACL}/preview`);
    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { version: 1 } });

    const { body } = await publishing.admin.get(`${ACL}/publications/1`);
    expect(preview).toMatchObject({ drift: true, diff: { access: body?.['access'] } });
    const { gained, lost } = body?.['access'] as Record<'gained' | 'lost', { what: string; people: string[] }[]>;
    expect(gained).toContainEqual(
      expect.objectContaining({ what: 'SELECT from sales.eu.orders', people: ['alice'] }) as object,
    );
    expect(lost.filter(({ what }) => what.startsWith('SELECT from sales.')).flatMap(({ people }) => people)).toContain(
      'bob',
    );
    expect(await audited('publication_applied')).toMatchObject([
      { details: { access: { people_losing: expect.any(Number) as number } } },
    ]);
    expect(logged('TRINO_ACL_SYNC_APPLIED').join()).toContain('"people_losing":');
  });

  it('overwrites what the database cannot hold', async () => {
    await grant('alice', 'orders');
    await sync();
    const published = await live();
    const edits = [
      '\0'.repeat(512), // as a crash of the disk leaves it
      published.replace(/"alice"/g, '"al\\u0000ice"'),
    ];
    for (const [at, edited] of edits.entries()) {
      await writeFile(join(publishing.directory, 'rules.json'), edited);
      const version = at + 2;

      expect(await sync()).toMatchObject({ outcome: 'applied', publication: { version } });

      expect(await live()).toBe(published);
      expect(await live('rules.json.bak')).toBe(edited);
      expect(await status()).toMatchObject({ drift: { overwritten: true } });
      expect((await publishing.admin.get(`${ACL}/publications/${version}?against=1`)).status).toBe(200);
      expect(await sync()).toMatchObject({ outcome: 'no_change' });
    }
  });

  it('takes over a text that another database has published', async () => {
    await grant('alice', 'orders');
    const { body } = await publishing.admin.post(`${ACL}/preview`);
    await sync();
    const text = await live();
    const other = await startService({
      ACL_FILE_DIRECTORY: publishing.directory,
      ACL_WRITABLE_CATALOGS: 'lake',
      SERVICE_QUERY_USER: 'service-account-grantline',
    });
    const otherAdmin = await administrator(other);
    const { alice } = await people(other, 'alice', 'bob');
    await otherAdmin.post('/api/admin/grants', {
      principal: { type: 'user', id: alice },
      resource: { catalog: 'sales', schema: 'eu', table: 'orders' },
      privileges: ['SELECT'],
    });

    expect((await otherAdmin.post(`${ACL}/sync`)).body).toMatchObject({
      outcome: 'no_change',
      publication: { version: 2, is_found: false, hash: body?.['hash'] },
    });
    expect(await live()).toBe(text);
    await expect(live('rules.json.bak')).rejects.toThrow('ENOENT');
    await other.stop();
  });

  it('fails with the reason when the target cannot be written', async () => {
    await grant('alice', 'orders');
    await rm(publishing.directory, { recursive: true });
    await writeFile(publishing.directory, 'a file where the folder should be');

    for (const route of ['sync', 'preview']) {
      expect((await publishing.admin.post(`${ACL}/${route}`)).body).toMatchObject({
        status: 503,
        code: 'target_unavailable',
        reason: 'unreachable',
        audit_id: null,
      });
    }
    expect((await publishing.admin.post(`${ACL}/sync`)).status).toBe(503);

    expect(await status()).toMatchObject({
      last_outcome: 'failed',
      last_reasons: [{ code: 'run-unreachable' }],
      last_success_at: null,
    });
    expect(await audited('publication_failed')).toHaveLength(1);
    expect(logged('TRINO_ACL_SYNC_FAILED')).toHaveLength(2);
    await rm(publishing.directory);
    expect(await sync()).toMatchObject({ outcome: 'applied' });
    expect(await status()).toMatchObject({ last_outcome: 'applied', last_reasons: [] });
  });

  it('does not begin while another run is under way', async () => {
    const answer = await duringTransaction(publishing.service.database.url, async (other) => {
      await other.query('SELECT pg_advisory_xact_lock(7471060)');
      return () => publishing.admin.post(`${ACL}/sync`);
    });
    expect(answer.body).toMatchObject({ status: 409, code: 'sync_in_progress' });
    expect(await sync()).toMatchObject({ outcome: 'applied' });
  });

  it('is for administrators alone', async () => {
    const alice = publishing.admin.as((await signIn(publishing.admin, 'alice')).access_token);
    expect((await alice.post(`${ACL}/sync`)).status).toBe(403);
    expect((await alice.post(`${ACL}/preview`)).status).toBe(403);
    for (const path of ['status', 'publications', 'publications/1']) {
      expect((await alice.get(`${ACL}/${path}`)).status).toBe(403);
    }
  });
});
